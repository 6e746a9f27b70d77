//! Columns of computed tables, in few words.

use catalog::{VirtualColumn, VirtualTableDef};
use types::{ByteString, Collation, ColumnType, TypeKind};

/// Tables of `information_schema` whose columns head a result as the statement writes them; all others are views to MySQL, which have names of
/// their own. As MySQL 9.7 answers, table by table.
const NAMED_AS_WRITTEN: [&str; 29] = [
    "APPLICABLE_ROLES",
    "COLLATIONS",
    "COLUMN_PRIVILEGES",
    "ENABLED_ROLES",
    "ENGINES",
    "INNODB_COLUMNS",
    "INNODB_FOREIGN",
    "INNODB_FT_BEING_DELETED",
    "INNODB_FT_CONFIG",
    "INNODB_FT_DELETED",
    "INNODB_FT_INDEX_CACHE",
    "INNODB_FT_INDEX_TABLE",
    "INNODB_INDEXES",
    "INNODB_METRICS",
    "INNODB_SESSION_TEMP_TABLESPACES",
    "INNODB_TABLES",
    "INNODB_TABLESPACES",
    "INNODB_TABLESTATS",
    "INNODB_VIRTUAL",
    "OPTIMIZER_TRACE",
    "PLUGINS",
    "PROCESSLIST",
    "PROFILING",
    "ROLE_COLUMN_GRANTS",
    "ROLE_ROUTINE_GRANTS",
    "ROLE_TABLE_GRANTS",
    "SCHEMA_PRIVILEGES",
    "TABLE_PRIVILEGES",
    "USER_PRIVILEGES",
];

/// Whether a table of `information_schema` gives its columns their own names, however a statement writes them.
pub(super) fn has_own_names(name: &str) -> bool {
    !NAMED_AS_WRITTEN.contains(&name)
}

/// Columns by name and type.
pub(super) fn columns(list: Vec<(&'static str, ColumnType)>) -> Vec<VirtualColumn> {
    list.into_iter().map(|(name, ty)| VirtualColumn { name, ty }).collect()
}

/// A table of `information_schema`. `keys` are the names of the columns that rows are looked up by.
pub(super) fn information_schema(name: &'static str, keys: &[&str], rows: f64, list: Vec<(&'static str, ColumnType)>) -> VirtualTableDef {
    define(super::INFORMATION_SCHEMA, name, keys, rows, true, list)
}

/// A table of `performance_schema`.
pub(super) fn performance_schema(name: &'static str, rows: f64, list: Vec<(&'static str, ColumnType)>) -> VirtualTableDef {
    define(super::PERFORMANCE_SCHEMA, name, &[], rows, false, list)
}

/// A table of another database: its rows are nobody's dictionary.
pub(super) fn define_in(database: &'static str, name: &'static str, columns: Vec<VirtualColumn>) -> VirtualTableDef {
    VirtualTableDef { database, name, columns, keys: Vec::new(), rows: 10.0, is_view: false, is_dictionary: false }
}

fn define(
    database: &'static str,
    name: &'static str,
    keys: &[&str],
    rows: f64,
    is_view: bool,
    list: Vec<(&'static str, ColumnType)>,
) -> VirtualTableDef {
    let columns = columns(list);
    let position = |key: &&str| columns.iter().position(|c| c.name == *key).expect("a key is a column") as u32;
    let keys = keys.iter().map(position).collect();
    // As MySQL answers, table by table; what it computes itself is no dictionary's.
    let computed = ["ENGINES", "PLUGINS", "PROCESSLIST", "OPTIMIZER_TRACE", "PROFILING", "KEYWORDS"];
    let is_dictionary = is_view
        && !computed.contains(&name)
        && !name.starts_with("INNODB_")
        && !["USER_PRIVILEGES", "SCHEMA_PRIVILEGES", "TABLE_PRIVILEGES", "COLUMN_PRIVILEGES"].contains(&name);
    VirtualTableDef { database, name, columns, keys, rows, is_view: is_view && has_own_names(name), is_dictionary }
}

/// Text compared by its bytes: names of databases and tables.
pub(super) fn bytes_text(characters: u32) -> ColumnType {
    ColumnType::varchar(characters, Collation::Utf8mb3Bin)
}

/// Text compared without case: most of `information_schema`.
pub(super) fn folded(characters: u32) -> ColumnType {
    ColumnType::varchar(characters, Collation::Utf8mb3GeneralCi)
}

/// Text of `performance_schema`.
pub(super) fn text(characters: u32) -> ColumnType {
    ColumnType::varchar(characters, Collation::DEFAULT)
}

/// Long text as sessions write it.
pub(super) fn long_words(kind: TypeKind) -> ColumnType {
    ColumnType { collation: Collation::DEFAULT, ..ColumnType::new(kind) }
}

/// Long text compared by its bytes.
pub(super) fn long_text(kind: TypeKind) -> ColumnType {
    ColumnType { collation: Collation::Utf8mb3Bin, ..ColumnType::new(kind) }
}

/// Long text compared without case.
pub(super) fn long_folded(kind: TypeKind) -> ColumnType {
    ColumnType { collation: Collation::Utf8mb3GeneralCi, ..ColumnType::new(kind) }
}

/// VARBINARY.
pub(super) fn octets(length: u32) -> ColumnType {
    ColumnType { length, ..ColumnType::new(TypeKind::VarBinary) }
}

/// A count or an id.
pub(super) fn count() -> ColumnType {
    ColumnType::bigint_unsigned()
}

/// INT.
pub(super) fn int() -> ColumnType {
    ColumnType::int()
}

/// INT UNSIGNED.
pub(super) fn unsigned_int() -> ColumnType {
    ColumnType::int().unsigned()
}

/// DATETIME.
pub(super) fn datetime() -> ColumnType {
    ColumnType::new(TypeKind::DateTime)
}

/// SET.
pub(super) fn some_of(members: &[&str], collation: Collation) -> ColumnType {
    ColumnType::with_members(TypeKind::Set, members.iter().map(|m| ByteString::from(*m)), collation)
}

/// ENUM.
pub(super) fn one_of(members: &[&str], collation: Collation) -> ColumnType {
    ColumnType::with_members(TypeKind::Enum, members.iter().map(|m| ByteString::from(*m)), collation)
}
