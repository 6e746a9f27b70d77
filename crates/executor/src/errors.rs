//! What a statement can fail with, and the errors this crate raises itself.

use mysql_error::{SqlError, codes};

/// A failed statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// An error in MySQL's terms.
    Sql(SqlError),
    /// An error of the storage engine; the session's error map names it and decides what is undone.
    Engine(engine::Error),
}

impl From<SqlError> for Error {
    fn from(e: SqlError) -> Error {
        Error::Sql(e)
    }
}

impl From<json::Error> for Error {
    fn from(e: json::Error) -> Error {
        match e {
            json::Error::Malformed => codes::invalid_json_binary_data().into(),
            json::Error::TooDeep => codes::json_document_too_deep().into(),
            json::Error::TooBig => codes::json_value_too_big().into(),
            json::Error::Memory(excess) => excess.into(),
        }
    }
}

impl From<engine::Error> for Error {
    fn from(e: engine::Error) -> Error {
        Error::Engine(e)
    }
}

impl From<::memory::Excess> for Error {
    fn from(excess: ::memory::Excess) -> Error {
        match excess {
            ::memory::Excess::Statement => out_of_sort_memory(),
            _ => out_of_memory(),
        }
    }
}

impl From<::spill::Failure> for Error {
    /// MySQL's errors of temporary files are those of its system library: 1, 2 and 3.
    fn from(failure: ::spill::Failure) -> Error {
        let (code, what) = match failure.operation {
            ::spill::Operation::Create => (1, "Can't create/write to file"),
            ::spill::Operation::Read => (2, "Error reading file"),
            ::spill::Operation::Write => (3, "Error writing file"),
        };
        let number = failure.error.raw_os_error().unwrap_or(if env::is_disk_full(&failure.error) { 28 } else { 5 });
        let text = if number == 28 { "No space left on device".to_owned() } else { failure.error.to_string() };
        SqlError::with_message(code, format!("{what} '{}' (OS errno {number} - {text})", failure.path)).into()
    }
}

impl From<base::Malformed> for Error {
    fn from(_: base::Malformed) -> Error {
        // A column of the row may have been one that is computed.
        let failure = crate::computed::take_failure();
        Error::Sql(failure.unwrap_or_else(|| SqlError::with_message(1712, "Index or row bytes are corrupted")))
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Sql(e) => e.fmt(f),
            Error::Engine(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

/// 1038: a statement has no more room of its own.
#[cold]
pub fn out_of_sort_memory() -> Error {
    codes::out_of_sortmemory().into()
}

/// 1041: the server has no more room.
#[cold]
pub fn out_of_memory() -> Error {
    codes::out_of_resources().into()
}

/// 1690: a result that its type cannot hold.
#[cold]
pub fn out_of_range(kind: &str, what: &str) -> Error {
    SqlError::with_message(1690, format!("{kind} value is out of range in '{what}'")).into()
}

/// 3636.
#[cold]
pub fn cte_recursion(iterations: u64) -> Error {
    SqlError::with_message(
        3636,
        format!("Recursive query aborted after {iterations} iterations. Try increasing @@cte_max_recursion_depth to a larger value."),
    )
    .into()
}

/// 1242.
#[cold]
pub fn subquery_rows() -> Error {
    codes::subquery_no_1_row().into()
}

/// A broken promise between planner and executor.
#[cold]
pub fn internal(what: &str) -> Error {
    SqlError::with_message(1815, format!("Internal error: {what}")).into()
}
