//! Cuts input into statements: at the delimiter, `\G` or `\g` outside of quotes and comments.

/// How a statement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Delimiter or `\g`: print a table.
    Table,
    /// `\G`: print a line per column.
    Vertical,
}

/// Where the scanner stands at the end of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Inside {
    /// Nowhere special.
    #[default]
    Statement,
    /// A quoted string or name, by its quote.
    Quote(u8),
    /// `/* … */`
    Comment,
}

/// Collects lines and gives out statements: bytes, because strings of a dump need not be UTF-8.
#[derive(Debug)]
pub struct Splitter {
    text: Vec<u8>,
    /// What is before it was given out.
    start: usize,
    /// What is before it was looked at: each byte is once, however many lines a statement has.
    seen: usize,
    inside: Inside,
    /// Whether the scanner has met something beside blanks and comments since the last statement.
    has_begun: bool,
    /// What ends a statement.
    pub delimiter: Vec<u8>,
}

impl Default for Splitter {
    fn default() -> Self {
        Self { text: Vec::new(), start: 0, seen: 0, inside: Inside::default(), has_begun: false, delimiter: b";".to_vec() }
    }
}

impl Splitter {
    /// Adds a line, which comes without its end. Lines are whole, so that nothing the scanner knows (`*/`, a delimiter) is cut in two.
    pub fn push_line(&mut self, line: &[u8]) {
        self.text.drain(..self.start);
        self.seen -= self.start;
        self.start = 0;
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
    }

    /// Whether no statement has begun: only blanks and comments wait.
    pub fn is_empty(&self) -> bool {
        !self.has_begun && self.inside == Inside::Statement && self.text[self.seen..].trim_ascii().is_empty()
    }

    /// Forgets what waits.
    pub fn clear(&mut self) {
        *self = Self { delimiter: std::mem::take(&mut self.delimiter), ..Self::default() };
    }

    /// What waits, without a delimiter, as a last statement.
    pub fn take_rest(&mut self) -> Option<Vec<u8>> {
        let rest = (!self.is_empty()).then(|| self.text[self.start..].trim_ascii().to_vec());
        self.clear();
        rest
    }

    /// The next whole statement, without its delimiter.
    pub fn take_statement(&mut self) -> Option<(Vec<u8>, Ending)> {
        while let Some((length, ending)) = self.find_end() {
            let statement = self.text[self.start..self.seen].trim_ascii().to_vec();
            self.seen += length;
            self.start = self.seen;
            self.has_begun = false;
            if !statement.is_empty() {
                return Some((statement, ending));
            }
        }
        None
    }

    /// Where the scanner stands at the end of what waits; for the prompt.
    pub fn inside(&self) -> Inside {
        self.inside
    }

    /// Goes on to the next ending; its length.
    fn find_end(&mut self) -> Option<(usize, Ending)> {
        while let Some(rest) = self.text.get(self.seen..).filter(|rest| !rest.is_empty()) {
            self.seen += match self.inside {
                // What is behind a backslash ends nothing.
                Inside::Quote(b'\'' | b'"') if rest[0] == b'\\' => rest.len().min(2),
                Inside::Quote(quote) => {
                    // Doubled quotes reopen at once, which comes to the same.
                    if rest[0] == quote {
                        self.inside = Inside::Statement;
                    }
                    1
                }
                Inside::Comment if rest.starts_with(b"*/") => {
                    self.inside = Inside::Statement;
                    2
                }
                Inside::Comment => 1,
                Inside::Statement => {
                    if !self.delimiter.is_empty() && rest.starts_with(&self.delimiter) {
                        return Some((self.delimiter.len(), Ending::Table));
                    }
                    match rest {
                        [b'\\', b'G', ..] => return Some((2, Ending::Vertical)),
                        [b'\\', b'g', ..] => return Some((2, Ending::Table)),
                        [b'/', b'*', ..] => {
                            self.inside = Inside::Comment;
                            // What servers read of comments: `/*! … */` and hints.
                            self.has_begun |= matches!(rest.get(2), Some(b'!' | b'+'));
                            2
                        }
                        [b'#', ..] => line_bytes(rest),
                        [b'-', b'-', after, ..] if after.is_ascii_whitespace() => line_bytes(rest),
                        [byte, ..] => {
                            if let b'\'' | b'"' | b'`' = byte {
                                self.inside = Inside::Quote(*byte);
                            }
                            self.has_begun |= !byte.is_ascii_whitespace();
                            1
                        }
                        [] => 0,
                    }
                }
            };
        }
        None
    }
}

/// Bytes to the end of the line, and over it.
fn line_bytes(text: &[u8]) -> usize {
    text.iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(splitter: &mut Splitter, text: &str) {
        text.split('\n').for_each(|line| splitter.push_line(line.as_bytes()));
    }

    fn split(text: &str) -> (Vec<String>, Inside) {
        let mut splitter = Splitter::default();
        push(&mut splitter, text);
        let mut statements = Vec::new();
        while let Some((statement, ending)) = splitter.take_statement() {
            let statement = String::from_utf8(statement).expect("text");
            statements.push(if ending == Ending::Vertical { format!("{statement} [G]") } else { statement });
        }
        (statements, splitter.inside())
    }

    #[test]
    fn statements_end_only_outside_of_quotes_and_comments() {
        for (text, expect, inside) in [
            ("select 1; select 2;", &["select 1", "select 2"][..], Inside::Statement),
            ("select ';', \"a;\\\";\", `;`;", &["select ';', \"a;\\\";\", `;`"], Inside::Statement),
            ("select 'it''s;';", &["select 'it''s;'"], Inside::Statement),
            ("select 1 -- no; end\n;", &["select 1 -- no; end"], Inside::Statement),
            ("select 1 # no; end\n;", &["select 1 # no; end"], Inside::Statement),
            ("select 2--1;", &["select 2--1"], Inside::Statement),
            ("select /* ; */ 1;;;", &["select /* ; */ 1"], Inside::Statement),
            ("select /*/ ; */ 1;", &["select /*/ ; */ 1"], Inside::Statement),
            ("select 'ü€😀;' \\G", &["select 'ü€😀;' [G]"], Inside::Statement),
            ("select `\\`;", &["select `\\`"], Inside::Statement),
            ("select 'open", &[], Inside::Quote(b'\'')),
            ("select /* open", &[], Inside::Comment),
            ("select 'ends in \\", &[], Inside::Quote(b'\'')),
        ] {
            let (statements, at) = split(text);
            assert_eq!((statements.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), at), (expect, inside), "{text}");
        }
    }

    #[test]
    fn bytes_stay_what_they_are() {
        let mut splitter = Splitter::default();
        splitter.push_line(b"insert '\xff\xfe;\x80'; select \xc3");
        splitter.push_line(b"\xa4;");
        assert_eq!(splitter.take_statement(), Some((b"insert '\xff\xfe;\x80'".to_vec(), Ending::Table)));
        assert_eq!(splitter.take_statement(), Some((b"select \xc3\n\xa4".to_vec(), Ending::Table)));
    }

    #[test]
    fn no_statement_has_begun_by_a_comment() {
        for (text, is_empty) in [
            ("", true),
            (" \n\t", true),
            ("-- a\n# b\n--\n/* c\n */ ", true),
            ("select 1; -- a", true),
            ("select 1;;  ", true),
            ("/* a", false),
            ("/*! set a = 1 */", false),
            ("/*+ a */", false),
            ("--1", false),
            ("'", false),
            ("select 1; select", false),
        ] {
            let mut splitter = Splitter::default();
            push(&mut splitter, text);
            while splitter.take_statement().is_some() {}
            assert_eq!(splitter.is_empty(), is_empty, "{text}");
            assert_eq!(splitter.take_rest().is_none(), is_empty, "{text}");
            assert!(splitter.is_empty() && splitter.inside() == Inside::Statement, "{text}");
        }
    }

    #[test]
    fn each_byte_is_looked_at_once() {
        let mut splitter = Splitter::default();
        let lines = 1000;
        for _ in 0..lines {
            splitter.push_line(b"(1, 'a'),");
            let before = splitter.seen;
            assert_eq!(splitter.take_statement(), None);
            assert_eq!((splitter.seen - before, splitter.seen), (10, splitter.text.len()));
        }
        splitter.push_line(b";");
        assert_eq!(splitter.take_statement().map(|(statement, _)| statement.len()), Some(10 * lines - 1));
    }

    #[test]
    fn the_delimiter_can_be_changed() {
        let mut splitter = Splitter { delimiter: b"//".to_vec(), ..Splitter::default() };
        splitter.push_line(b"begin a; b; end // select 1;");
        assert_eq!(splitter.take_statement(), Some((b"begin a; b; end".to_vec(), Ending::Table)));
        assert_eq!(splitter.take_statement(), None);
        assert_eq!(splitter.take_rest().as_deref(), Some(&b"select 1;"[..]));
    }
}
