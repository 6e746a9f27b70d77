//! Statements that change definitions.

use super::{Expr, ObjectName, Query, Span};

/// CREATE DATABASE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreateDatabase<'a> {
    /// No error when it exists.
    pub if_not_exists: bool,
    /// Its name.
    pub name: &'a str,
    /// Options.
    pub options: DatabaseOptions<'a>,
}

/// ALTER DATABASE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlterDatabase<'a> {
    /// Its name; the current one when absent.
    pub name: Option<&'a str>,
    /// Options.
    pub options: DatabaseOptions<'a>,
}

/// Options of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DatabaseOptions<'a> {
    /// CHARACTER SET.
    pub charset: Option<&'a str>,
    /// COLLATE.
    pub collation: Option<&'a str>,
    /// ENCRYPTION.
    pub encryption: Option<&'a [u8]>,
    /// READ ONLY = 0 | 1.
    pub read_only: Option<bool>,
}

/// CREATE TABLE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CreateTable<'a> {
    /// TEMPORARY.
    pub temporary: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Its name.
    pub name: ObjectName<'a>,
    /// LIKE another table; everything below is empty then.
    pub like: Option<ObjectName<'a>>,
    /// Columns.
    pub columns: &'a [ColumnDef<'a>],
    /// Keys written as elements of their own; those of a column are in its attributes.
    pub keys: &'a [KeyDef<'a>],
    /// Foreign keys.
    pub foreign_keys: &'a [ForeignKey<'a>],
    /// CHECK constraints of the table.
    pub checks: &'a [Check<'a>],
    /// Table options.
    pub options: &'a [TableOption<'a>],
    /// PARTITION BY …, as text; not carried out (1235).
    pub partition_by: Option<&'a str>,
    /// AS SELECT.
    pub select: Option<CreateSelect<'a>>,
}

/// The query of CREATE TABLE … SELECT.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CreateSelect<'a> {
    /// IGNORE, REPLACE or neither.
    pub duplicates: super::LoadDuplicates,
    /// The query.
    pub query: &'a Query<'a>,
}

/// A column definition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ColumnDef<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub ty: DataType<'a>,
    /// Everything after the type.
    pub attributes: ColumnAttributes<'a>,
}

/// Attributes of a column; of repeated ones the last counts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ColumnAttributes<'a> {
    /// NULL (`true`), NOT NULL (`false`), or neither.
    pub nullable: Option<bool>,
    /// DEFAULT.
    pub default: Option<&'a ColumnDefault<'a>>,
    /// ON UPDATE CURRENT_TIMESTAMP, with its fractional digits.
    pub on_update_now: Option<u8>,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// PRIMARY KEY.
    pub primary_key: bool,
    /// `UNIQUE [KEY]`.
    pub unique: bool,
    /// Plain KEY is the same as PRIMARY KEY; kept apart only in error messages, so it sets `primary_key`.
    pub comment: Option<&'a [u8]>,
    /// COLLATE.
    pub collation: Option<&'a str>,
    /// GENERATED ALWAYS AS.
    pub generated: Option<&'a Generated<'a>>,
    /// VISIBLE (`true`), INVISIBLE (`false`).
    pub visible: Option<bool>,
    /// CHECK constraints.
    pub checks: &'a [Check<'a>],
    /// REFERENCES.
    pub references: Option<&'a References<'a>>,
    /// SRID.
    pub srid: Option<u32>,
    /// COLUMN_FORMAT FIXED, DYNAMIC or DEFAULT.
    pub column_format: Option<&'a str>,
    /// STORAGE DISK, MEMORY or DEFAULT.
    pub storage: Option<&'a str>,
}

/// Default of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ColumnDefault<'a> {
    /// A literal, with sign where written; NULL as [`super::Literal::Null`].
    Literal(Expr<'a>),
    /// CURRENT_TIMESTAMP or NOW, with its fractional digits.
    Now(u8),
    /// `(expr)`.
    Expr(Expr<'a>),
}

/// A generated column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Generated<'a> {
    /// Its expression.
    pub expr: Expr<'a>,
    /// STORED, else VIRTUAL.
    pub stored: bool,
}

/// CHECK.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Check<'a> {
    /// CONSTRAINT name.
    pub name: Option<&'a str>,
    /// The condition.
    pub expr: Expr<'a>,
    /// Not NOT ENFORCED.
    pub enforced: bool,
}

/// A type as written. Also the target of CAST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataType<'a> {
    /// Which.
    pub kind: DataTypeKind,
    /// First number in parentheses: display width, characters, bits, precision or fractional seconds.
    pub length: Option<u64>,
    /// Second number in parentheses.
    pub decimals: Option<u32>,
    /// UNSIGNED (ZEROFILL sets it too).
    pub unsigned: bool,
    /// ZEROFILL.
    pub zerofill: bool,
    /// CHARACTER SET, ASCII (`latin1`), UNICODE (`ucs2`), NATIONAL (`utf8mb3`), BYTE (`binary`).
    pub charset: Option<&'a str>,
    /// COLLATE directly after the character set.
    pub collation: Option<&'a str>,
    /// BINARY after a character type: the `_bin` collation.
    pub binary: bool,
    /// Members of ENUM and SET.
    pub members: &'a [&'a [u8]],
    /// SERIAL: BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE.
    pub serial: bool,
}

/// FLOAT with more bits of precision than these is a DOUBLE.
pub const FLOAT_BITS_MAX: u64 = 24;

/// The types. Synonyms are resolved (INTEGER is `Int`, BOOL is `TinyInt` of length 1, DEC is `Decimal`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum DataTypeKind {
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    Decimal,
    Float,
    Double,
    Bit,
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Char,
    VarChar,
    Binary,
    VarBinary,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    TinyText,
    Text,
    MediumText,
    LongText,
    Enum,
    Set,
    Json,
    Vector,
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
}

/// A key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeyDef<'a> {
    /// Which.
    pub kind: KeyKind,
    /// CONSTRAINT name.
    pub constraint: Option<&'a str>,
    /// Index name.
    pub name: Option<&'a str>,
    /// Its parts.
    pub parts: &'a [KeyPart<'a>],
    /// Options.
    pub options: KeyOptions<'a>,
}

/// Kinds of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum KeyKind {
    Primary,
    Unique,
    Index,
    FullText,
    Spatial,
}

/// A part of a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeyPart<'a> {
    /// Column or expression.
    pub target: KeyTarget<'a>,
    /// DESC.
    pub descending: bool,
}

/// What a key part indexes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KeyTarget<'a> {
    /// A column, with a prefix length.
    Column(&'a str, Option<u32>),
    /// `(expr)`.
    Expr(&'a Expr<'a>),
}

/// Options of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyOptions<'a> {
    /// USING BTREE | HASH, upper case.
    pub using: Option<&'a str>,
    /// COMMENT.
    pub comment: Option<&'a [u8]>,
    /// KEY_BLOCK_SIZE.
    pub key_block_size: Option<u64>,
    /// WITH PARSER.
    pub parser: Option<&'a str>,
    /// INVISIBLE.
    pub invisible: bool,
}

/// A foreign key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForeignKey<'a> {
    /// CONSTRAINT name.
    pub constraint: Option<&'a str>,
    /// Index name.
    pub name: Option<&'a str>,
    /// Columns.
    pub columns: &'a [&'a str],
    /// The other side.
    pub references: References<'a>,
    /// How many keys of the statement come before it: an index that is made for it has its place there.
    pub keys_before: usize,
}

/// REFERENCES.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct References<'a> {
    /// Parent table.
    pub table: ObjectName<'a>,
    /// Parent columns.
    pub columns: &'a [&'a str],
    /// ON DELETE.
    pub on_delete: Option<ReferenceAction>,
    /// ON UPDATE.
    pub on_update: Option<ReferenceAction>,
}

/// Actions of a foreign key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are SQL's.
pub enum ReferenceAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
    SetDefault,
}

/// A table option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableOption<'a> {
    /// ENGINE.
    Engine(&'a str),
    /// `[DEFAULT] CHARACTER SET`.
    Charset(&'a str),
    /// `[DEFAULT] COLLATE`.
    Collate(&'a str),
    /// AUTO_INCREMENT.
    AutoIncrement(u64),
    /// COMMENT.
    Comment(&'a [u8]),
    /// ROW_FORMAT, upper case.
    RowFormat(&'a str),
    /// KEY_BLOCK_SIZE.
    KeyBlockSize(u64),
    /// An option that changes nothing here: its name in upper case, and its value as text.
    Other(&'a str, &'a str),
}

/// CREATE INDEX.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CreateIndex<'a> {
    /// The table.
    pub table: ObjectName<'a>,
    /// The key; it always has a name.
    pub key: KeyDef<'a>,
    /// ALGORITHM.
    pub algorithm: Option<&'a str>,
    /// LOCK.
    pub lock: Option<&'a str>,
}

/// DROP INDEX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropIndex<'a> {
    /// The table.
    pub table: ObjectName<'a>,
    /// The index; "PRIMARY" for the primary key.
    pub name: &'a str,
    /// ALGORITHM.
    pub algorithm: Option<&'a str>,
    /// LOCK.
    pub lock: Option<&'a str>,
}

/// DROP TABLE or VIEW.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropTable<'a> {
    /// TEMPORARY.
    pub temporary: bool,
    /// IF EXISTS.
    pub if_exists: bool,
    /// The tables.
    pub names: &'a [ObjectName<'a>],
}

/// WITH CHECK OPTION of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewCheck {
    /// LOCAL.
    Local,
    /// CASCADED, also when neither is written.
    Cascaded,
}

/// CREATE VIEW or ALTER VIEW.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CreateView<'a> {
    /// OR REPLACE.
    pub or_replace: bool,
    /// ALTER VIEW.
    pub alter: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// ALGORITHM, upper case.
    pub algorithm: Option<&'static str>,
    /// DEFINER.
    pub definer: Option<super::Account<'a>>,
    /// SQL SECURITY INVOKER (`true`) or DEFINER.
    pub invoker: Option<bool>,
    /// WITH CHECK OPTION.
    pub check: Option<ViewCheck>,
    /// Its name.
    pub name: ObjectName<'a>,
    /// Column names, if written.
    pub columns: &'a [&'a str],
    /// The query.
    pub query: &'a Query<'a>,
    /// Text of the query.
    pub span: Span,
}

/// ALTER TABLE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AlterTable<'a> {
    /// The table.
    pub name: ObjectName<'a>,
    /// What to do, in order.
    pub actions: &'a [AlterAction<'a>],
    /// ALGORITHM, upper case.
    pub algorithm: Option<&'a str>,
    /// LOCK, upper case.
    pub lock: Option<&'a str>,
}

/// Where a column goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnPosition<'a> {
    /// At the end, or where it was.
    Default,
    /// FIRST.
    First,
    /// AFTER.
    After(&'a str),
}

/// One action of ALTER TABLE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AlterAction<'a> {
    /// ADD COLUMN; one for each when several stand in parentheses.
    AddColumn(&'a ColumnDef<'a>, ColumnPosition<'a>),
    /// DROP COLUMN.
    DropColumn(&'a str),
    /// MODIFY COLUMN.
    ModifyColumn(&'a ColumnDef<'a>, ColumnPosition<'a>),
    /// CHANGE COLUMN old new-definition.
    ChangeColumn(&'a str, &'a ColumnDef<'a>, ColumnPosition<'a>),
    /// RENAME COLUMN old TO new.
    RenameColumn(&'a str, &'a str),
    /// ALTER COLUMN SET DEFAULT.
    SetDefault(&'a str, &'a ColumnDefault<'a>),
    /// ALTER COLUMN DROP DEFAULT.
    DropDefault(&'a str),
    /// ALTER COLUMN SET VISIBLE (`true`) or INVISIBLE.
    SetColumnVisible(&'a str, bool),
    /// ADD INDEX and keys.
    AddKey(&'a KeyDef<'a>),
    /// DROP INDEX.
    DropKey(&'a str),
    /// DROP PRIMARY KEY.
    DropPrimaryKey,
    /// RENAME INDEX old TO new.
    RenameKey(&'a str, &'a str),
    /// ALTER INDEX VISIBLE (`true`) or INVISIBLE.
    SetKeyVisible(&'a str, bool),
    /// ADD FOREIGN KEY.
    AddForeignKey(&'a ForeignKey<'a>),
    /// DROP FOREIGN KEY.
    DropForeignKey(&'a str),
    /// ADD CHECK.
    AddCheck(&'a Check<'a>),
    /// DROP CHECK.
    DropCheck(&'a str),
    /// DROP CONSTRAINT.
    DropConstraint(&'a str),
    /// ALTER CHECK or `CONSTRAINT [NOT] ENFORCED`.
    SetEnforced(&'a str, bool),
    /// RENAME TO.
    Rename(ObjectName<'a>),
    /// CONVERT TO CHARACTER SET; `None` for DEFAULT.
    ConvertCharset(Option<&'a str>, Option<&'a str>),
    /// ORDER BY.
    OrderBy(&'a [super::OrderItem<'a>]),
    /// A table option.
    Option(TableOption<'a>),
    /// FORCE.
    Force,
    /// ENABLE KEYS (`true`), DISABLE KEYS.
    EnableKeys(bool),
    /// WITH VALIDATION (`true`), WITHOUT VALIDATION.
    Validation(bool),
    /// DISCARD or IMPORT TABLESPACE, partition work, SECONDARY_LOAD …; not carried out (1235).
    Unsupported(&'static str),
}

/// Kinds of stored programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramKind {
    /// PROCEDURE
    Procedure,
    /// FUNCTION
    Function,
    /// TRIGGER
    Trigger,
    /// EVENT
    Event,
}
