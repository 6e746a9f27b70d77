//! What can go wrong in the dictionary.

use engine::BuildError;
use types::{ColumnType, Value};

/// Result of a catalogue call.
pub type Result<T> = std::result::Result<T, CatalogError>;

/// A catalogue error.
#[derive(Debug, Clone, PartialEq)]
pub enum CatalogError {
    /// No such database.
    UnknownDatabase(String),
    /// The database exists.
    DatabaseExists(String),
    /// No such table.
    UnknownTable {
        /// Database.
        database: String,
        /// Table.
        table: String,
    },
    /// The table exists.
    TableExists(String),
    /// Rows of the table have the same key in an index that is to be unique.
    DuplicateEntry {
        /// Name of the index behind that of its table, as `t.PRIMARY`.
        index: String,
        /// The key's parts: the value, its type, and how many characters of it count.
        key: Vec<(Value, ColumnType, Option<u32>)>,
    },
    /// Beside the build of an index more rows were changed than may be noted.
    TooManyChanges {
        /// The index's name.
        index: String,
    },
    /// Another foreign key of the database has the name.
    DuplicateForeignKey(String),
    /// A definition in the dictionary cannot be read.
    Damaged(String),
    /// The engine failed.
    Engine(engine::Error),
}

impl From<engine::Error> for CatalogError {
    fn from(error: engine::Error) -> CatalogError {
        CatalogError::Engine(error)
    }
}

impl From<BuildError> for CatalogError {
    /// Duplicates are described by the caller, who knows the definitions.
    fn from(error: BuildError) -> CatalogError {
        match error {
            BuildError::Duplicate { .. } => CatalogError::DuplicateEntry { index: String::new(), key: Vec::new() },
            BuildError::TooManyChanges => CatalogError::TooManyChanges { index: String::new() },
            BuildError::Engine(error) => CatalogError::Engine(error),
            BuildError::Convert(what) => CatalogError::Damaged(what),
        }
    }
}

impl std::fmt::Display for CatalogError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CatalogError::UnknownDatabase(name) => write!(f, "unknown database {name}"),
            CatalogError::DatabaseExists(name) => write!(f, "database {name} exists"),
            CatalogError::UnknownTable { database, table } => write!(f, "unknown table {database}.{table}"),
            CatalogError::TableExists(name) => write!(f, "table {name} exists"),
            CatalogError::DuplicateEntry { index, .. } => write!(f, "duplicate entry for key {index}"),
            CatalogError::TooManyChanges { index } => write!(f, "too many rows were changed while index {index} was built"),
            CatalogError::DuplicateForeignKey(name) => write!(f, "another foreign key is named {name}"),
            CatalogError::Damaged(what) => write!(f, "damaged definition: {what}"),
            CatalogError::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CatalogError {}
