//! Normalised texts of statements, as STATEMENT_DIGEST_TEXT() shows them: words in upper case, names in backticks, `?` for literals, one space
//! between all of them, lists of literals and of rows of literals folded.
//!
//! Written from the manual ("Performance Schema Statement Digests and Sampling") and from what a running MySQL 9.7 answers
//! (`tests/sql/expr/digest_texts.slt`). It goes by the tokens, not by the tree: MySQL folds while it reads, and what it shows of odd places
//! (`SELECT (1) - 1, (2)`) follows from the order of tokens alone.
//!
//! # Invariants
//! 1. Texts that differ only in literals, in the length of lists of them, in white space, comments and the case of words have one digest text.
//! 2. A digest text stands for at most [`DIGEST_BYTES_MAX`] bytes of MySQL's record of tokens; what comes behind is left out, and never read again.

mod tables;

use bumpalo::Bump;

use self::tables::{CALLS, HINTS, OPENERS, SCOPES, shown, sign, takes_sign};
use crate::ast::Statement;
use crate::error::ParseError;
use crate::fingerprint::takes_hints;
use crate::keyword::Kw;
use crate::lexer::{ESCAPED, Lexer, Tok, Token};
use crate::mode::SqlMode;
use crate::text;
use crate::words::mysql_word;

/// `max_digest_length` of a MySQL that was told nothing else. A token takes two bytes of it, a name four and its length.
const DIGEST_BYTES_MAX: usize = 1024;

/// Number of an item in ORDER BY or GROUP BY: larger ones are literals like others.
const ORDINAL_MAX: u64 = i32::MAX as u64;

/// The digest text of a statement.
///
/// # Errors
/// What [`crate::parse`] says of a text that is no statement, 1065 for none, 1064 for a second statement and for parameters. Statements that are
/// recognised and not carried out (1235) have a digest.
pub fn digest_text(sql: &[u8], mode: SqlMode) -> Result<String, ParseError> {
    check(sql, mode)?;
    let mut digest = Digest { mode, pieces: Vec::new(), bytes: 0, full: false, depth: 0, ordinals: Vec::new() };
    digest.read(sql);
    Ok(digest.text())
}

/// Whether a text is one statement without parameters.
fn check(sql: &[u8], mode: SqlMode) -> Result<(), ParseError> {
    let rest = match crate::parse(sql, mode, &Bump::new()) {
        Ok(parsed) if matches!(parsed.statement, Statement::Empty) => {
            let first = Lexer::new(sql, mode).next();
            if first.tok == Tok::Eof {
                return Err(ParseError::new(1065, "42000", "Query was empty".to_owned()));
            }
            return Err(ParseError::syntax(sql, first.start as usize));
        }
        Ok(parsed) => parsed.rest,
        Err(e) if e.code == 1235 => sql.len(),
        Err(e) => return Err(e),
    };
    let mut lexer = Lexer::new(sql, mode);
    loop {
        let token = lexer.next();
        match token.tok {
            Tok::Eof => return Ok(()),
            Tok::Question => return Err(ParseError::syntax(sql, token.start as usize)),
            _ if token.start as usize >= rest => return Err(ParseError::syntax(sql, token.start as usize)),
            _ => {}
        }
    }
}

/// What stands in a digest text.
#[derive(Clone, PartialEq, Eq)]
enum Piece {
    /// `?`
    Value,
    /// `?, ...`
    Values,
    /// `(?)`
    Row,
    /// `(?) /* , ... */`
    Rows,
    /// `(...)`, of several values.
    Wide,
    /// `(...) /* , ... */`
    Wides,
    /// The number of an item.
    Ordinal(u64),
    /// A word or a sign.
    Word(&'static str),
    /// A name, shown in backticks.
    Name(String),
    /// A name with its signs around it.
    Marked(String),
}

impl Piece {
    /// Bytes of MySQL's record.
    fn bytes(&self) -> usize {
        match self {
            Piece::Name(name) | Piece::Marked(name) => 4 + name.len(),
            _ => 2,
        }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self, Piece::Word(own) if *own == word)
    }
}

struct Digest {
    mode: SqlMode,
    pieces: Vec<Piece>,
    bytes: usize,
    full: bool,
    /// Parentheses around.
    depth: u32,
    /// At which depths a list of ORDER BY, GROUP BY or PARTITION BY is open.
    ordinals: Vec<u32>,
}

impl Digest {
    fn read(&mut self, sql: &[u8]) {
        let mut lexer = Lexer::new(sql, self.mode);
        let (mut before, mut before_kw) = (Tok::Eof, Kw::NO_WORD);
        loop {
            let token = lexer.next();
            match token.tok {
                Tok::Eof | Tok::Semicolon => return,
                Tok::Hint if takes_hints(before_kw) => {
                    let inside = sql.get(token.start as usize + 3..(token.end as usize).saturating_sub(2));
                    self.hint(inside.unwrap_or_default());
                    continue;
                }
                Tok::Hint => continue,
                _ => self.token(sql, token, before, lexer),
            }
            (before, before_kw) = (token.tok, token.kw);
        }
    }

    /// `ahead` stands behind the token.
    fn token(&mut self, sql: &[u8], token: Token, before: Tok, mut ahead: Lexer<'_>) {
        let bytes = slice(sql, token);
        match token.tok {
            Tok::Ident | Tok::Keyword => self.word(sql, token, before, ahead),
            Tok::Quoted => self.push(Piece::Name(unquoted(bytes, token))),
            Tok::Int => {
                let number = std::str::from_utf8(bytes).ok().and_then(|digits| digits.parse::<u64>().ok());
                match number.filter(|n| *n <= ORDINAL_MAX && self.expects_ordinal() && ends_item(ahead.next())) {
                    Some(number) => self.push(Piece::Ordinal(number)),
                    None => self.number(),
                }
            }
            Tok::Decimal | Tok::Float | Tok::Hex | Tok::Bit => self.number(),
            Tok::String | Tok::NString | Tok::NullN | Tok::Question => self.value(),
            Tok::UserVar => self.push(marked(bytes, token)),
            Tok::At => self.push(Piece::Word("@?")),
            Tok::LParen => {
                self.depth += 1;
                self.push(Piece::Word("("));
            }
            Tok::RParen => {
                self.ordinals.retain(|depth| *depth < self.depth);
                self.depth = self.depth.saturating_sub(1);
                self.close();
            }
            other => {
                if let Some(sign) = sign(other) {
                    self.push(Piece::Word(sign));
                }
            }
        }
    }

    fn word(&mut self, sql: &[u8], token: Token, before: Tok, mut ahead: Lexer<'_>) {
        let text = String::from_utf8_lossy(slice(sql, token)).into_owned();
        let next_byte = sql.get(token.end as usize).copied().unwrap_or(0);
        let next = ahead.next();
        let dotted = next_byte == b'.'
            && sql.get(token.end as usize + 1).is_some_and(|b| b.is_ascii_alphanumeric() || *b >= 0x80 || b"_$".contains(b));
        let word = match before {
            Tok::Dot => None,
            Tok::AtAt => SCOPES.iter().copied().find(|scope| next.tok == Tok::Dot && scope.eq_ignore_ascii_case(&text)),
            _ if dotted => None,
            _ => match CALLS.iter().find(|(call, _)| call.eq_ignore_ascii_case(&text)) {
                Some((_, call)) => {
                    let called = next_byte == b'(' || self.mode.has(SqlMode::IGNORE_SPACE) && next.tok == Tok::LParen;
                    called.then_some(*call)
                }
                None => mysql_word(&text).map(shown),
            },
        };
        match word {
            None => self.push(Piece::Name(text)),
            Some("NULL") if self.is_expression_start(self.pieces.len()) => self.value(),
            Some("NOT") if self.mode.has(SqlMode::HIGH_NOT_PRECEDENCE) => self.push(Piece::Word("!")),
            Some(word) => {
                if word == "BY" && self.last().is_some_and(|p| ["GROUP", "ORDER", "PARTITION"].iter().any(|by| p.is_word(by))) {
                    self.ordinals.push(self.depth);
                } else if word == "SELECT" || word == "LIMIT" {
                    self.ordinals.retain(|depth| *depth < self.depth);
                }
                self.push(Piece::Word(word));
            }
        }
    }

    /// `/*+ … */`.
    fn hint(&mut self, inside: &[u8]) {
        let mut lexer = Lexer::new(inside, self.mode);
        let mut first = true;
        loop {
            let token = lexer.next();
            if token.tok == Tok::Eof {
                break;
            }
            if std::mem::take(&mut first) {
                self.push(Piece::Word("/*+"));
            }
            let bytes = slice(inside, token);
            match token.tok {
                Tok::Ident | Tok::Keyword => {
                    let text = String::from_utf8_lossy(bytes).into_owned();
                    self.push(match HINTS.iter().find(|hint| hint.eq_ignore_ascii_case(&text)) {
                        Some(hint) => Piece::Word(hint),
                        None => Piece::Name(text),
                    });
                }
                Tok::UserVar => {
                    // `table@block` is one name of two.
                    let block = unquoted(bytes.get(1..).unwrap_or_default(), token);
                    match self.pieces.last().cloned() {
                        Some(Piece::Name(table)) if !self.full => {
                            self.pop();
                            self.push(Piece::Marked(format!("`{table}`@`{block}`")));
                        }
                        _ => self.push(Piece::Marked(format!("@`{block}`"))),
                    }
                }
                _ => self.token(inside, token, Tok::Eof, lexer),
            }
        }
        if !first {
            self.push(Piece::Word("*/"));
        }
    }

    fn last(&self) -> Option<&Piece> {
        self.pieces.last()
    }

    fn push(&mut self, piece: Piece) {
        let bytes = self.bytes + piece.bytes();
        if self.full || bytes > DIGEST_BYTES_MAX {
            self.full = true;
            return;
        }
        self.bytes = bytes;
        self.pieces.push(piece);
    }

    fn pop(&mut self) {
        if let Some(piece) = self.pieces.pop() {
            self.bytes -= piece.bytes();
        }
    }

    /// A number takes the signs before it with it.
    fn number(&mut self) {
        while !self.full
            && let [.., before, sign] = self.pieces.as_slice()
            && (sign.is_word("-") || sign.is_word("+"))
            && matches!(before, Piece::Word(word) if takes_sign(word))
        {
            self.pop();
        }
        self.value();
    }

    fn value(&mut self) {
        if let [.., Piece::Value | Piece::Values, Piece::Word(",")] = self.pieces.as_slice()
            && !self.full
        {
            self.pop();
            self.pop();
            return self.push(Piece::Values);
        }
        self.push(Piece::Value);
    }

    /// A closing parenthesis, which may end a row of values.
    fn close(&mut self) {
        let mut row = match self.pieces.as_slice() {
            [.., Piece::Word("("), Piece::Value] if !self.full => Piece::Row,
            [.., Piece::Word("("), Piece::Values] if !self.full => Piece::Wide,
            _ => return self.push(Piece::Word(")")),
        };
        self.pop();
        self.pop();
        if self.last().is_some_and(|p| p.is_word("IN")) {
            row = Piece::Wide;
        }
        let folded = match (self.pieces.as_slice(), &row) {
            ([.., Piece::Row | Piece::Rows, Piece::Word(",")], Piece::Row) => Some(Piece::Rows),
            ([.., Piece::Wide | Piece::Wides, Piece::Word(",")], Piece::Wide) => Some(Piece::Wides),
            _ => None,
        };
        if folded.is_some() {
            self.pop();
            self.pop();
        }
        self.push(folded.unwrap_or(row));
    }

    /// Whether a number here is that of an item, if nothing follows it.
    fn expects_ordinal(&self) -> bool {
        if self.ordinals.last() != Some(&self.depth) {
            return false;
        }
        match self.pieces.as_slice() {
            [.., Piece::Value | Piece::Values, Piece::Word(",")] => false,
            [.., Piece::Word("," | "BY")] => true,
            _ => false,
        }
    }

    /// Whether an expression begins behind the first `count` pieces, so that NULL is a literal there, not part of a definition or of IS NULL.
    fn is_expression_start(&self, count: usize) -> bool {
        let Some(Piece::Word(word)) = count.checked_sub(1).and_then(|at| self.pieces.get(at)) else { return false };
        if *word == "NOT" {
            return self.is_expression_start(count - 1);
        }
        takes_sign(word) || OPENERS.contains(word)
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            if at > 0 && !self.pieces[at - 1].is_word("@@") {
                out.push(' ');
            }
            match piece {
                Piece::Value => out.push('?'),
                Piece::Values => out.push_str("?, ..."),
                Piece::Row => out.push_str("(?)"),
                Piece::Rows => out.push_str("(?) /* , ... */"),
                Piece::Wide => out.push_str("(...)"),
                Piece::Wides => out.push_str("(...) /* , ... */"),
                Piece::Ordinal(number) => out.push_str(&number.to_string()),
                Piece::Word(word) => out.push_str(word),
                Piece::Marked(text) => out.push_str(text),
                Piece::Name(name) => {
                    out.push('`');
                    out.push_str(name);
                    out.push('`');
                }
            }
        }
        out
    }
}

fn slice(sql: &[u8], token: Token) -> &[u8] {
    sql.get(token.start as usize..token.end as usize).unwrap_or_default()
}

/// A name without its quotation marks.
fn unquoted(bytes: &[u8], token: Token) -> String {
    let quote = bytes.first().copied().unwrap_or(0);
    if !b"`\"'".contains(&quote) || bytes.len() < 2 {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let inside = &bytes[1..bytes.len() - 1];
    if !token.has(ESCAPED) {
        return String::from_utf8_lossy(inside).into_owned();
    }
    let mut out = Vec::new();
    text::unescape(inside, quote, SqlMode::NO_BACKSLASH_ESCAPES, |part| out.extend_from_slice(part));
    String::from_utf8_lossy(&out).into_owned()
}

/// A user variable, or the host of an account: its name counts only in backticks.
fn marked(bytes: &[u8], token: Token) -> Piece {
    match bytes.get(1..) {
        Some(name) if name.first() == Some(&b'`') => Piece::Marked(format!("@`{}`", unquoted(name, token))),
        _ => Piece::Word("@?"),
    }
}

/// Whether nothing of an item of ORDER BY follows.
fn ends_item(next: Token) -> bool {
    match next.tok {
        Tok::Comma | Tok::RParen | Tok::Semicolon | Tok::Eof => true,
        Tok::Keyword => !matches!(
            next.kw,
            Kw::AND
                | Kw::OR
                | Kw::XOR
                | Kw::IS
                | Kw::NOT
                | Kw::IN
                | Kw::LIKE
                | Kw::BETWEEN
                | Kw::DIV
                | Kw::MOD
                | Kw::REGEXP
                | Kw::RLIKE
                | Kw::SOUNDS
                | Kw::MEMBER
                | Kw::COLLATE
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(sql: &str) -> String {
        digest_text(sql.as_bytes(), SqlMode(0)).unwrap_or_else(|e| e.to_string())
    }

    #[test]
    fn folds_values_lists_and_rows() {
        for (sql, wanted) in [
            ("select 1", "SELECT ?"),
            ("SELECT 'a', -1, NULL FROM t -- x", "SELECT ?, ... FROM `t`"),
            ("SELECT * FROM t WHERE a IN (1) OR b IS NOT NULL", "SELECT * FROM `t` WHERE `a` IN (...) OR `b` IS NOT NULL"),
            ("INSERT INTO t VALUES (1,2),(3,4)", "INSERT INTO `t` VALUES (...) /* , ... */"),
            ("SELECT a FROM t ORDER BY 1, 'x', 2 LIMIT 1, 2", "SELECT `a` FROM `t` ORDER BY 1 , ?, ... LIMIT ?, ..."),
            ("SELECT Count(*), count FROM t WHERE - 1", "SELECT COUNT ( * ) , `count` FROM `t` WHERE - ?"),
        ] {
            assert_eq!(digest(sql), wanted, "{sql}");
        }
    }

    #[test]
    fn has_a_bound() {
        let long = |names: usize| digest(&format!("SELECT a{}", ", a".repeat(names)));
        assert_eq!(long(145).len(), 880, "the last that fits");
        assert_eq!(long(146), format!("{} ,", long(145)), "the comma fits, the name does not");
        assert_eq!(long(146), long(100_000));
        assert_eq!(digest(&format!("SELECT 1{}", ",1".repeat(100_000))), "SELECT ?, ...");
    }

    #[test]
    fn wants_one_statement() {
        for sql in ["", "SELECT 1; SELECT 2", "SELECT ?", ";", "SELEC 1"] {
            assert!(digest_text(sql.as_bytes(), SqlMode(0)).is_err(), "{sql}");
        }
        assert_eq!(digest("SELECT 1;"), "SELECT ?");
    }

    /// Digests of texts that are none of a statement's must not panic either.
    #[test]
    fn takes_any_bytes() {
        for sql in
            ["/*+ @ ( */", "SELECT /*+ @`x` a@b ( */ 1", "` ``x`", "@@", "@`a", "'", "- - 1 ) ) ( , ,", "NOT NULL NOT NULL", "\u{0}\u{7f}é"]
        {
            let mut digest = Digest { mode: SqlMode(0), pieces: Vec::new(), bytes: 0, full: false, depth: 0, ordinals: Vec::new() };
            digest.read(sql.as_bytes());
            let _ = digest.text();
        }
    }
}
