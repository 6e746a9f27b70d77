//! What can be wrong with a text.

use std::fmt;

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

    /// 1235: recognised, not carried out.
    #[must_use]
    pub fn unsupported(what: &str) -> ParseError {
        ParseError::new(1235, "42000", format!("This version of MySQL doesn't yet support '{what}'"))
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code, self.sqlstate, self.message)
    }
}

impl std::error::Error for ParseError {}
