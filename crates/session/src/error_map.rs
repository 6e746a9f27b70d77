//! Engine and catalogue errors in MySQL's terms, and how much of the transaction is undone. The only place that names them.

use catalog::CatalogError;
use mysql_error::{SqlError, codes};
use types::{ColumnType, Value};

/// How much a failed statement undoes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undo {
    /// The statement's own changes.
    Statement,
    /// The whole transaction with `innodb_rollback_on_timeout`, else the statement's own changes: a row lock was not granted in time.
    OnTimeout,
    /// The whole transaction.
    Transaction,
}

/// A failure and its consequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What the client is told.
    pub error: SqlError,
    /// What is undone.
    pub undo: Undo,
}

impl Outcome {
    fn statement(error: SqlError) -> Outcome {
        Outcome { error, undo: Undo::Statement }
    }

    /// Whether the statement as a whole was stopped (killed, timed out, at shutdown, out of memory), where others fail for one of several tables. Who
    /// was stopped has a mark that stays until the statement ends, and ends whatever the statement begins next.
    pub(crate) fn is_stop(&self) -> bool {
        matches!(self.error.code, 1317 | 3024 | 1053 | 1038 | 1041)
    }
}

impl From<SqlError> for Outcome {
    fn from(error: SqlError) -> Outcome {
        Outcome::statement(error)
    }
}

/// Names an engine error. `killed` is what a cancelled statement is told (1317, 3024 or 1053).
pub fn engine_error(error: engine::Error, killed: impl FnOnce() -> SqlError) -> Outcome {
    use engine::Error;
    match error {
        // The executor names the key's values; this is for callers that cannot.
        Error::DuplicateKey { index_no } => Outcome::statement(codes::dup_entry("", format!("index {index_no}"))),
        Error::Deadlock | Error::Changed => Outcome { error: codes::lock_deadlock(), undo: Undo::Transaction },
        Error::LockWaitTimeout => Outcome { error: codes::lock_wait_timeout(), undo: Undo::OnTimeout },
        Error::LockNotAvailable => Outcome::statement(codes::lock_nowait()),
        Error::Killed => Outcome::statement(killed()),
        Error::RowTooLarge => Outcome::statement(SqlError::with_message(
            1118,
            "Row size too large. The maximum row size for the used table type, not counting BLOBs, is 8126.",
        )),
        Error::TableGone(_) => Outcome::statement(SqlError::with_message(1412, "Table definition has changed, please retry transaction")),
        Error::DiskFull => Outcome::statement(SqlError::with_message(1114, "The table is full: no space left on device")),
        Error::LogFailed => Outcome { error: storage_error(5, &error), undo: Undo::Transaction },
        Error::Corruption { .. } => Outcome::statement(SqlError::with_message(1712, format!("Index is corrupted: {error}"))),
        Error::NotSealed { .. } => Outcome::statement(codes::not_supported_yet(error.to_string())),
        Error::NoFrames => Outcome::statement(SqlError::with_message(1041, "Out of memory: every page of the buffer pool is in use")),
        Error::Io(_) | Error::UndoGone => Outcome::statement(storage_error(5, &error)),
        Error::ReadOnlyTransaction => Outcome::statement(codes::cant_execute_in_read_only_transaction()),
        Error::NoSavepoint => Outcome::statement(SqlError::with_message(1305, "SAVEPOINT does not exist")),
        // The engine's errors may grow; an unknown one is still an error.
        other => Outcome::statement(storage_error(168, &other)),
    }
}

fn storage_error(number: u32, error: &engine::Error) -> SqlError {
    SqlError::with_message(1030, format!("Got error {number} - '{error}' from storage engine"))
}

/// Names a catalogue error.
pub fn catalog_error(error: CatalogError, killed: impl FnOnce() -> SqlError) -> Outcome {
    match error {
        CatalogError::UnknownDatabase(name) => Outcome::statement(codes::bad_db_error(name)),
        CatalogError::DatabaseExists(name) => Outcome::statement(codes::db_create_exists(name)),
        CatalogError::UnknownTable { database, table } => Outcome::statement(codes::no_such_table(database, table)),
        CatalogError::TableExists(name) => Outcome::statement(codes::table_exists_error(name)),
        CatalogError::DuplicateEntry { index, key } => {
            let parts = key.iter().map(|(value, ty, prefix_chars)| (value, ty, *prefix_chars));
            Outcome::statement(codes::dup_entry(executor::entry_text(parts, write), index))
        }
        CatalogError::TooManyChanges { index } => Outcome::statement(codes::innodb_online_log_too_big(index)),
        CatalogError::DuplicateForeignKey(name) => Outcome::statement(codes::fk_dup_name(name)),
        CatalogError::Damaged(what) => Outcome::statement(SqlError::with_message(1712, format!("Index is corrupted: {what}"))),
        CatalogError::Engine(error) => engine_error(error, killed),
    }
}

/// A value in an error's text, with all digits that its type has behind the seconds.
fn write(value: &Value, ty: &ColumnType, out: &mut Vec<u8>) {
    match value {
        Value::Time(time) => time.write_to(ty.decimals.min(6), out),
        Value::DateTime(at) => at.write_to(ty.decimals.min(6), out),
        other => crate::reply::value_text::write(other, out),
    }
}

/// Names an executor error.
pub fn executor_error(error: executor::Error, killed: impl FnOnce() -> SqlError) -> Outcome {
    match error {
        executor::Error::Sql(error) => {
            let undo = if error.code == 1213 { Undo::Transaction } else { Undo::Statement };
            Outcome { error, undo }
        }
        executor::Error::Engine(error) => engine_error(error, killed),
    }
}

/// A parse error as it is sent.
pub fn parse_error(error: parser::ParseError) -> SqlError {
    let mut sqlstate = *b"HY000";
    if let Ok(bytes) = error.sqlstate.as_bytes().try_into() {
        sqlstate = bytes;
    }
    SqlError { code: error.code, sqlstate, message: error.message }
}
