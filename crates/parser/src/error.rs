//! What can be wrong with a text.

use std::fmt;

/// Characters of the text that a syntax error quotes.
const NEAR_CHARS_MAX: usize = 80;

/// Why a text is not a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// MySQL's error number.
    pub code: u16,
    /// SQLSTATE.
    pub sqlstate: &'static str,
    /// MySQL's message.
    pub message: String,
}

impl ParseError {
    /// An error with this number, state and text.
    #[must_use]
    pub fn new(code: u16, sqlstate: &'static str, message: String) -> ParseError {
        ParseError { code, sqlstate, message }
    }

    /// 1436: the statement nests too deep, or its expressions are too tall, for the stack that there is.
    #[cold]
    #[must_use]
    pub fn too_deep() -> ParseError {
        ParseError::new(1436, "HY000", "Thread stack overrun: the statement nests too deeply; simplify the statement".into())
    }

    /// Whether it is that one.
    #[must_use]
    pub fn is_too_deep(&self) -> bool {
        self.code == 1436
    }

    /// 1064 at byte `at` of `sql`: the text from there, cut to 80 characters, and its line. MySQL takes blanks before a text, and blanks and
    /// semicolons behind it, off before it reads it, and shows text up to a zero byte.
    #[must_use]
    pub fn syntax(sql: &[u8], at: usize) -> ParseError {
        let blanks = sql.iter().take_while(|&&b| is_blank(b)).count();
        let sql = without_end(sql);
        let at = at.min(sql.len());
        // Four bytes a character at most, and no more than needed of a long text.
        let near = &sql[at..sql.len().min(at + 4 * NEAR_CHARS_MAX)];
        let near = near.split(|&b| b == 0).next().unwrap_or_default();
        let near: String = String::from_utf8_lossy(near).chars().take(NEAR_CHARS_MAX).collect();
        let line = 1 + memchr::memchr_iter(b'\n', sql.get(blanks..at).unwrap_or_default()).count();
        let message = format!(
            "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near '{near}' at line {line}"
        );
        ParseError::new(1064, "42000", message)
    }

    /// 1235: recognised, not carried out.
    #[must_use]
    pub fn unsupported(what: &str) -> ParseError {
        ParseError::new(1235, "42000", format!("This version of MySQL doesn't yet support '{what}'"))
    }
}

fn is_blank(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}

/// `sql` without blanks and semicolons at its end.
pub(crate) fn without_end(sql: &[u8]) -> &[u8] {
    &sql[..sql.iter().rposition(|&b| b != b';' && !is_blank(b)).map_or(0, |last| last + 1)]
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code, self.sqlstate, self.message)
    }
}

impl std::error::Error for ParseError {}
