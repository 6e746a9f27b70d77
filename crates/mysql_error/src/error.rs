//! The error of a statement as the client sees it, and the condition list entry for SHOW WARNINGS.

use crate::table::lookup;
use std::fmt;

/// An error as MySQL clients see it: number, SQLSTATE, text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// MySQL's error number, such as 1062.
    pub code: u16,
    /// Five characters, such as `23000`.
    pub sqlstate: [u8; 5],
    /// The text with all holes filled.
    pub message: String,
}

impl SqlError {
    /// An error with a text of the caller's; the SQLSTATE comes from the table (`HY000` when the number is not in it).
    #[cold]
    pub fn with_message(code: u16, message: impl Into<String>) -> Self {
        let sqlstate = lookup(code).map_or(*b"HY000", |info| info.sqlstate);
        SqlError { code, sqlstate, message: message.into() }
    }

    /// The SQLSTATE as text.
    pub fn sqlstate_str(&self) -> &str {
        std::str::from_utf8(&self.sqlstate).unwrap_or("HY000")
    }

    /// The same condition as a warning of the given level.
    pub fn into_warning(self, level: WarningLevel) -> Warning {
        Warning { level, code: self.code, message: self.message }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code, self.sqlstate_str(), self.message)
    }
}

impl std::error::Error for SqlError {}

/// How grave an entry of the condition list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WarningLevel {
    /// Shown only when `sql_notes` is on.
    Note,
    /// Something was adjusted.
    Warning,
    /// The statement failed with it.
    Error,
}

impl WarningLevel {
    /// The word in the first column of SHOW WARNINGS.
    pub fn as_str(self) -> &'static str {
        match self {
            WarningLevel::Note => "Note",
            WarningLevel::Warning => "Warning",
            WarningLevel::Error => "Error",
        }
    }
}

/// One entry of the condition list (SHOW WARNINGS).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Note, warning or error.
    pub level: WarningLevel,
    /// MySQL's error number.
    pub code: u16,
    /// The text.
    pub message: String,
}

impl From<SqlError> for Warning {
    fn from(error: SqlError) -> Self {
        error.into_warning(WarningLevel::Warning)
    }
}
