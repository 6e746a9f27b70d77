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
    /// A quoted string or name.
    Quote(char),
    /// `/* … */`
    Comment,
}

/// Collects lines and gives out statements.
#[derive(Debug)]
pub struct Splitter {
    text: String,
    /// What ends a statement.
    pub delimiter: String,
}

impl Default for Splitter {
    fn default() -> Self {
        Self { text: String::new(), delimiter: ";".to_owned() }
    }
}

impl Splitter {
    /// Adds input.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Whether only blanks wait.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Forgets what waits.
    pub fn clear(&mut self) {
        self.text.clear();
    }

    /// What waits, without a delimiter, as a last statement.
    pub fn take_rest(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.text);
        let rest = rest.trim();
        (!rest.is_empty()).then(|| rest.to_owned())
    }

    /// The next whole statement, without its delimiter.
    pub fn take_statement(&mut self) -> Option<(String, Ending)> {
        loop {
            let (end, length, ending) = self.find_end().ok()?;
            let statement = self.text[..end].trim().to_owned();
            self.text.drain(..end + length);
            if !statement.is_empty() {
                return Some((statement, ending));
            }
        }
    }

    /// Where the scanner stands at the end of what waits; for the prompt.
    pub fn inside(&self) -> Inside {
        self.find_end().err().unwrap_or_default()
    }

    /// Start and length of the first ending, or where the scanner stands at the end.
    fn find_end(&self) -> Result<(usize, usize, Ending), Inside> {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if !self.delimiter.is_empty() && self.text[at..].starts_with(&self.delimiter) {
                return Ok((at, self.delimiter.len(), Ending::Table));
            }
            match bytes[at] {
                quote @ (b'\'' | b'"' | b'`') => {
                    at = end_of_quote(bytes, at).ok_or(Inside::Quote(char::from(quote)))?;
                    continue;
                }
                b'/' if bytes.get(at + 1) == Some(&b'*') => {
                    let end = self.text[at + 2..].find("*/").ok_or(Inside::Comment)?;
                    at += end + 4;
                    continue;
                }
                b'#' => {
                    at = line_end(bytes, at);
                    continue;
                }
                b'-' if bytes.get(at + 1) == Some(&b'-') && bytes.get(at + 2).is_none_or(|b| b.is_ascii_whitespace()) => {
                    at = line_end(bytes, at);
                    continue;
                }
                b'\\' => match bytes.get(at + 1) {
                    Some(b'G') => return Ok((at, 2, Ending::Vertical)),
                    Some(b'g') => return Ok((at, 2, Ending::Table)),
                    _ => {}
                },
                _ => {}
            }
            // To the next character: the delimiter is compared at character boundaries only.
            at += 1;
            while !self.text.is_char_boundary(at) {
                at += 1;
            }
        }
        Err(Inside::Statement)
    }
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |end| at + end + 1)
}

/// The byte after the closing quote. Doubled quotes reopen at once, which comes to the same.
fn end_of_quote(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = bytes[start];
    let mut at = start + 1;
    while at < bytes.len() {
        if bytes[at] == b'\\' && quote != b'`' {
            at += 2;
        } else if bytes[at] == quote {
            return Some(at + 1);
        } else {
            at += 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> (Vec<String>, Inside) {
        let mut splitter = Splitter::default();
        splitter.push(text);
        let mut statements = Vec::new();
        while let Some((statement, ending)) = splitter.take_statement() {
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
            ("select 'ü€😀;' \\G", &["select 'ü€😀;' [G]"], Inside::Statement),
            ("select 'open", &[], Inside::Quote('\'')),
            ("select /* open", &[], Inside::Comment),
            ("select 'ends in \\", &[], Inside::Quote('\'')),
        ] {
            let (statements, at) = split(text);
            assert_eq!((statements.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), at), (expect, inside), "{text}");
        }
    }

    #[test]
    fn the_delimiter_can_be_changed() {
        let mut splitter = Splitter { delimiter: "//".to_owned(), ..Splitter::default() };
        splitter.push("begin a; b; end // select 1;");
        assert_eq!(splitter.take_statement(), Some(("begin a; b; end".to_owned(), Ending::Table)));
        assert_eq!(splitter.take_statement(), None);
        assert_eq!(splitter.take_rest().as_deref(), Some("select 1;"));
    }
}
