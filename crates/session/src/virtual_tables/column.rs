//! Columns of computed tables, in few words.

use catalog::{VirtualColumn, VirtualTableDef};
use types::{ByteString, Collation, ColumnType, TypeKind};

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
    VirtualTableDef { database, name, columns, keys, rows, is_view, is_dictionary }
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
