//! Statements that change rows.

use super::{ColumnRef, Expr, FileFormat, Limit, ObjectName, OrderItem, Query, TableRef, With};

/// INSERT or REPLACE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Insert<'a> {
    /// REPLACE.
    pub replace: bool,
    /// IGNORE.
    pub ignore: bool,
    /// LOW_PRIORITY, DELAYED, HIGH_PRIORITY were written; without effect.
    pub priority: bool,
    /// DELAYED was; it is told of.
    pub delayed: bool,
    /// Optimizer hints.
    pub hints: &'a [&'a str],
    /// The table.
    pub table: ObjectName<'a>,
    /// `PARTITION (…)`.
    pub partitions: &'a [&'a str],
    /// Columns; with SET those assigned. `None` when no list was written (`()` is an empty list).
    pub columns: Option<&'a [ColumnRef<'a>]>,
    /// The rows.
    pub source: InsertSource<'a>,
    /// `AS alias [(columns)]`.
    pub row_alias: Option<RowAlias<'a>>,
    /// ON DUPLICATE KEY UPDATE.
    pub on_duplicate: &'a [Assignment<'a>],
}

/// Where inserted rows come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InsertSource<'a> {
    /// VALUES lists, or the one of SET. `DEFAULT` stands as [`super::ExprKind::Default`].
    Values(&'a [&'a [Expr<'a>]]),
    /// A long VALUES of plain literals.
    Literals(LiteralRows<'a>),
    /// A query.
    Query(&'a Query<'a>),
}

/// Rows of plain literals, all with the same number of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiteralRows<'a> {
    /// Fields of a row.
    pub width: usize,
    /// The fields of all rows.
    pub fields: &'a [PlainLiteral<'a>],
}

/// A field of [`LiteralRows`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainLiteral<'a> {
    /// NULL.
    Null,
    /// Digits, perhaps behind a minus, perhaps with a point between them.
    Number(&'a [u8]),
    /// A string of the connection's character set, which is UTF-8, with escapes resolved.
    String(&'a [u8]),
}

impl<'a> PlainLiteral<'a> {
    /// Its text; of NULL none.
    pub fn text(&self) -> &'a [u8] {
        match self {
            PlainLiteral::Null => &[],
            PlainLiteral::Number(text) | PlainLiteral::String(text) => text,
        }
    }
}

/// Alias of the new row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowAlias<'a> {
    /// Its name.
    pub name: &'a str,
    /// Column names, if written.
    pub columns: &'a [&'a str],
}

/// `column = value`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assignment<'a> {
    /// Target.
    pub column: ColumnRef<'a>,
    /// New value; [`super::ExprKind::Default`] for DEFAULT.
    pub value: Expr<'a>,
}

/// UPDATE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Update<'a> {
    /// WITH.
    pub with: Option<&'a With<'a>>,
    /// IGNORE.
    pub ignore: bool,
    /// LOW_PRIORITY; without effect.
    pub low_priority: bool,
    /// Optimizer hints.
    pub hints: &'a [&'a str],
    /// The tables; one [`TableRef::Table`] in the single-table form.
    pub tables: &'a [TableRef<'a>],
    /// SET.
    pub assignments: &'a [Assignment<'a>],
    /// WHERE.
    pub filter: Option<&'a Expr<'a>>,
    /// ORDER BY (single-table form).
    pub order_by: &'a [OrderItem<'a>],
    /// LIMIT (single-table form).
    pub limit: Option<Limit<'a>>,
}

/// DELETE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delete<'a> {
    /// WITH.
    pub with: Option<&'a With<'a>>,
    /// IGNORE.
    pub ignore: bool,
    /// LOW_PRIORITY; without effect.
    pub low_priority: bool,
    /// QUICK; without effect.
    pub quick: bool,
    /// Optimizer hints.
    pub hints: &'a [&'a str],
    /// Tables rows are deleted from: names or aliases of `from`; empty in the single-table form.
    pub targets: &'a [ObjectName<'a>],
    /// The tables read; exactly one [`TableRef::Table`] in the single-table form.
    pub from: &'a [TableRef<'a>],
    /// WHERE.
    pub filter: Option<&'a Expr<'a>>,
    /// ORDER BY (single-table form).
    pub order_by: &'a [OrderItem<'a>],
    /// LIMIT (single-table form).
    pub limit: Option<Limit<'a>>,
}

/// LOAD DATA (or LOAD XML, which sets `xml`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadData<'a> {
    /// LOAD XML.
    pub xml: bool,
    /// LOW_PRIORITY or CONCURRENT; without effect.
    pub priority: bool,
    /// LOCAL: the client sends the file.
    pub local: bool,
    /// File name.
    pub file: &'a [u8],
    /// REPLACE or IGNORE.
    pub on_duplicate: LoadDuplicates,
    /// The table.
    pub table: ObjectName<'a>,
    /// `PARTITION (…)`.
    pub partitions: &'a [&'a str],
    /// CHARACTER SET.
    pub charset: Option<&'a str>,
    /// FIELDS and LINES.
    pub format: FileFormat<'a>,
    /// IGNORE n LINES.
    pub ignore_lines: u64,
    /// Columns and user variables.
    pub columns: &'a [LoadTarget<'a>],
    /// SET.
    pub set: &'a [Assignment<'a>],
}

/// What LOAD DATA does with duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoadDuplicates {
    /// Error; with LOCAL as IGNORE.
    Default,
    /// IGNORE.
    Ignore,
    /// REPLACE.
    Replace,
}

/// Where a field of the file goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadTarget<'a> {
    /// A column.
    Column(&'a str),
    /// `@name`.
    User(&'a str),
}

/// CALL.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call<'a> {
    /// The procedure.
    pub name: ObjectName<'a>,
    /// Arguments.
    pub args: &'a [Expr<'a>],
}
