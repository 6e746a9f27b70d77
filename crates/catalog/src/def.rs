//! Definitions: what a database, a table, a column and an index are, as the dictionary stores them.
//!
//! # Invariants
//! 1. `indexes[0]` of a table is its primary index. Without a primary key it is named `GEN_CLUST_INDEX`, has no parts, and rows are
//!    keyed by a hidden 8-byte row id.
//! 2. `columns` are in the order of `SELECT *`; a column's position is also its position in the current row layout.
//! 3. `schema_version` grows with each change of the columns; rows keep the version they were written with (`row_versions.rs`).

use crate::histogram::Histogram;
use crate::row_versions::RowVersions;
use base::{IndexId, PageNo, TableId};
use record::KeyPart;
use std::sync::Arc;
use types::{Charset, Collation, ColumnType, Value};

/// A database (MySQL: schema).
#[derive(Debug, Clone, PartialEq)]
pub struct DatabaseDef {
    /// Name, compared byte by byte.
    pub name: String,
    /// Character set of tables that name none.
    pub charset: Charset,
    /// Collation of tables that name none.
    pub collation: Collation,
}

/// What a column holds when an INSERT names no value for it.
#[derive(Debug, Clone, PartialEq)]
pub enum DefaultValue {
    /// No default: error 1364 in strict mode, the type's implicit default otherwise.
    None,
    /// `DEFAULT NULL`, also implied for nullable columns without a DEFAULT clause.
    Null,
    /// A constant, already converted to the column's type.
    Constant(Value),
    /// `CURRENT_TIMESTAMP(n)` with the column's own precision.
    CurrentTimestamp,
    /// `(expression)`, as text: see [`Generated::text`].
    Expression(String),
}

/// What a generated column is computed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// The expression as `SHOW CREATE TABLE` writes it, which reads the same under every `sql_mode`.
    pub text: String,
    /// STORED, else VIRTUAL. Rows hold the value of either.
    pub stored: bool,
}

/// Who sees a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Visibility {
    /// Everybody.
    #[default]
    Visible,
    /// Who names it: `INVISIBLE`.
    Invisible,
    /// Nobody: it holds the values of a functional index. Such columns come last.
    Hidden,
}

/// What was written of a column, is shown, and changes nothing here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WrittenColumn {
    /// Its character set or collation: shown also where it is the table's.
    pub collation: bool,
    /// `COLUMN_FORMAT`.
    pub format: Option<ColumnFormat>,
    /// `STORAGE`.
    pub storage: Option<Storage>,
}

/// `COLUMN_FORMAT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnFormat {
    /// `FIXED`.
    Fixed,
    /// `DYNAMIC`.
    Dynamic,
}

/// `STORAGE` of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// `DISK`.
    Disk,
    /// `MEMORY`.
    Memory,
}

/// What was written of an index, is shown, and changes nothing here; and whether it was written at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WrittenIndex {
    /// `USING BTREE`.
    pub btree: bool,
    /// `KEY_BLOCK_SIZE`; 0 where none is.
    pub block_size: u32,
    /// Nobody wrote it: it was made for a foreign key, which may be gone, and goes when another index serves. Not in definitions of format 4 and before, where only the key tells ([`ForeignKeyDef::made_index`]).
    pub made_for_key: bool,
}

/// A CHECK constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckDef {
    /// Name, unique in its database; compared without case.
    pub name: String,
    /// The condition: see [`Generated::text`].
    pub text: String,
    /// Not `NOT ENFORCED`.
    pub enforced: bool,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDef {
    /// Name as written; compared without case.
    pub name: String,
    /// Type, with nullability, character set and collation.
    pub ty: ColumnType,
    /// Default.
    pub default: DefaultValue,
    /// `ON UPDATE CURRENT_TIMESTAMP`.
    pub on_update_now: bool,
    /// `AUTO_INCREMENT`.
    pub auto_increment: bool,
    /// `COMMENT`.
    pub comment: String,
    /// Schema version that added the column (0 for those of CREATE TABLE). Rows of older versions hold `instant_default`.
    pub added_in: u16,
    /// The value that rows written before `added_in` show.
    pub instant_default: Value,
    /// What it is computed from.
    pub generated: Option<Generated>,
    /// Who sees it.
    pub visibility: Visibility,
    /// How its values were spread when somebody had that counted.
    pub histogram: Option<Arc<Histogram>>,
    /// What is shown of it and changes nothing.
    pub written: WrittenColumn,
}

impl ColumnDef {
    /// A column of CREATE TABLE of which only name and type are said.
    pub fn new(name: impl Into<String>, ty: ColumnType) -> ColumnDef {
        ColumnDef {
            name: name.into(),
            ty,
            default: DefaultValue::None,
            on_update_now: false,
            auto_increment: false,
            comment: String::new(),
            added_in: 0,
            instant_default: Value::Null,
            generated: None,
            visibility: Visibility::Visible,
            histogram: None,
            written: WrittenColumn::default(),
        }
    }

    /// Whether it is computed whenever it is read: no row holds it.
    pub fn is_virtual(&self) -> bool {
        self.generated.as_ref().is_some_and(|generated| !generated.stored)
    }
}

/// An index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexDef {
    /// Name; `PRIMARY` for the primary key. Compared without case.
    pub name: String,
    /// Id of its B+tree.
    pub id: IndexId,
    /// Its root page.
    pub root: PageNo,
    /// Whether keys without NULL are unique.
    pub unique: bool,
    /// User-declared parts; the primary key's parts follow implicitly in secondary indexes.
    pub parts: Vec<KeyPart>,
    /// `COMMENT`.
    pub comment: String,
    /// The planner passes it by: `INVISIBLE`.
    pub invisible: bool,
    /// What was written of it.
    pub written: WrittenIndex,
}

impl IndexDef {
    /// An index that has no tree yet.
    pub fn new(name: impl Into<String>, unique: bool, parts: Vec<KeyPart>) -> IndexDef {
        IndexDef {
            name: name.into(),
            id: IndexId::NONE,
            root: PageNo::NONE,
            unique,
            parts,
            comment: String::new(),
            invisible: false,
            written: WrittenIndex::default(),
        }
    }
}

/// What becomes of the rows that refer to a row which is deleted, or whose key changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ReferenceAction {
    /// Not said, or `NO ACTION`: the change is refused.
    NoAction = 0,
    /// The change is refused.
    Restrict = 1,
    /// They go, or change, too.
    Cascade = 2,
    /// Their columns become NULL.
    SetNull = 3,
    /// Kept and shown; the change is refused.
    SetDefault = 4,
}

impl ReferenceAction {
    /// The action of a number on disk.
    pub fn from_u8(number: u8) -> Option<ReferenceAction> {
        use ReferenceAction::{Cascade, NoAction, Restrict, SetDefault, SetNull};
        [NoAction, Restrict, Cascade, SetNull, SetDefault].into_iter().find(|action| *action as u8 == number)
    }

    /// Its words in SQL.
    pub fn words(self) -> &'static str {
        match self {
            ReferenceAction::NoAction => "NO ACTION",
            ReferenceAction::Restrict => "RESTRICT",
            ReferenceAction::Cascade => "CASCADE",
            ReferenceAction::SetNull => "SET NULL",
            ReferenceAction::SetDefault => "SET DEFAULT",
        }
    }

    /// Whether rows that refer are changed.
    pub fn changes_rows(self) -> bool {
        matches!(self, ReferenceAction::Cascade | ReferenceAction::SetNull)
    }
}

/// A foreign key, kept by the table that refers (the child). The parent is known by its name: it need not be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKeyDef {
    /// Name, unique in its database; compared without case.
    pub name: String,
    /// The columns that refer, by position.
    pub columns: Vec<usize>,
    /// Database of the parent.
    pub parent_database: String,
    /// The parent.
    pub parent_table: String,
    /// What is referred to, by name, in the order of `columns`.
    pub parent_columns: Vec<String>,
    /// ON DELETE.
    pub on_delete: ReferenceAction,
    /// ON UPDATE.
    pub on_update: ReferenceAction,
    /// Name of the index that was made for the key because there was none, and which goes when another serves; empty when there is none.
    pub made_index: String,
}

impl ForeignKeyDef {
    /// The key as SHOW CREATE TABLE has it, behind the table that has it; `quoted` writes names.
    pub fn text(&self, def: &TableDef, quoted: impl Fn(&str) -> String) -> String {
        let list = |names: Vec<&str>| names.into_iter().map(&quoted).collect::<Vec<_>>().join(", ");
        let columns = list(self.columns.iter().map(|column| def.columns[*column].name.as_str()).collect());
        let parent_columns = list(self.parent_columns.iter().map(String::as_str).collect());
        let database = if self.parent_database == def.database { String::new() } else { format!("{}.", quoted(&self.parent_database)) };
        let (name, parent) = (quoted(&self.name), quoted(&self.parent_table));
        let action = |when: &str, action: ReferenceAction| match action {
            ReferenceAction::NoAction => String::new(),
            action => format!(" ON {when} {}", action.words()),
        };
        let (on_delete, on_update) = (action("DELETE", self.on_delete), action("UPDATE", self.on_update));
        format!("CONSTRAINT {name} FOREIGN KEY ({columns}) REFERENCES {database}{parent} ({parent_columns}){on_delete}{on_update}")
    }

    /// The key as errors name it: with its table, all names in backquotes, and without `SET DEFAULT`, as in MySQL.
    pub fn described(&self, def: &TableDef) -> String {
        let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
        let told = |action| if action == ReferenceAction::SetDefault { ReferenceAction::NoAction } else { action };
        let told = ForeignKeyDef { on_delete: told(self.on_delete), on_update: told(self.on_update), ..self.clone() };
        format!("{}.{}, {}", quoted(&def.database), quoted(&def.name), told.text(def, quoted))
    }

    /// Whether this is the parent's name.
    pub fn refers_to(&self, database: &str, table: &str) -> bool {
        self.parent_database == database && self.parent_table == table
    }
}

/// Names of columns, indexes and constraints compare without case.
pub fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || (!a.is_ascii() && a.to_lowercase() == b.to_lowercase())
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableDef {
    /// Id, never reused.
    pub id: TableId,
    /// Database.
    pub database: String,
    /// Name.
    pub name: String,
    /// Columns in order.
    pub columns: Vec<ColumnDef>,
    /// Indexes, primary first.
    pub indexes: Vec<IndexDef>,
    /// Version of the row layout that new rows are written with.
    pub schema_version: u16,
    /// Default character set of new columns.
    pub charset: Charset,
    /// Default collation of new columns.
    pub collation: Collation,
    /// `COMMENT`.
    pub comment: String,
    /// Value of the `AUTO_INCREMENT=` option at creation; the running counter is the engine's.
    pub auto_increment_start: u64,
    /// Microseconds since the epoch, UTC.
    pub created_micros: i64,
    /// Options that are kept and shown and change nothing here, as written (`ROW_FORMAT=DYNAMIC`, `STATS_PERSISTENT=0` …).
    pub shown_options: Vec<(String, String)>,
    /// CHECK constraints, in the order of their names.
    pub checks: Vec<CheckDef>,
    /// Foreign keys, in the order of their names.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// What rows of older schema versions hold, where `added_in` does not tell it.
    pub row_versions: RowVersions,
}

/// Name of the primary index of a table without a primary key.
pub const HIDDEN_PRIMARY: &str = "GEN_CLUST_INDEX";

impl TableDef {
    /// A table that has no id yet, with the defaults of what CREATE TABLE may leave out.
    pub fn new(database: impl Into<String>, name: impl Into<String>, columns: Vec<ColumnDef>, indexes: Vec<IndexDef>) -> TableDef {
        TableDef {
            id: TableId::NONE,
            database: database.into(),
            name: name.into(),
            columns,
            indexes,
            schema_version: 0,
            charset: Charset::Utf8mb4,
            collation: Collation::DEFAULT,
            comment: String::new(),
            auto_increment_start: 1,
            created_micros: 0,
            shown_options: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            row_versions: RowVersions::default(),
        }
    }

    /// Position of the column with this name (without case).
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().take_while(|c| c.visibility != Visibility::Hidden).position(|c| same_name(&c.name, name))
    }

    /// The index that begins with exactly these columns, whole and in this order; `unique`: and has no others, and is unique.
    pub fn index_on(&self, columns: &[usize], unique: bool) -> Option<usize> {
        self.indexes.iter().position(|index| {
            let fits = if unique { index.unique && index.parts.len() == columns.len() } else { index.parts.len() >= columns.len() };
            fits && columns.iter().zip(&index.parts).all(|(column, part)| part.column == *column && part.prefix_chars.is_none())
        })
    }

    /// Position of the index with this name (without case).
    pub fn index_no(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|i| i.name.eq_ignore_ascii_case(name))
    }

    /// Whether rows are keyed by a hidden row id.
    pub fn has_hidden_key(&self) -> bool {
        self.indexes[0].parts.is_empty()
    }

    /// Whether a row of it is computed or judged by expressions that the definition holds.
    pub fn has_expressions(&self) -> bool {
        let of_column = |c: &ColumnDef| c.generated.is_some() || matches!(c.default, DefaultValue::Expression(_));
        !self.checks.is_empty() || self.columns.iter().any(of_column)
    }

    /// How many columns there are for users: those behind functional indexes come after them.
    pub fn user_columns(&self) -> usize {
        self.columns.iter().take_while(|c| c.visibility != Visibility::Hidden).count()
    }

    /// Position of the AUTO_INCREMENT column.
    pub fn auto_increment_column(&self) -> Option<usize> {
        self.columns.iter().position(|c| c.auto_increment)
    }
}
