//! What a statement changes: INSERT and LOAD DATA, UPDATE, DELETE.

use super::{Node, Query};
use crate::expr::{Expr, Slot};
use crate::literal_rows::LiteralRows;
use crate::row_rules::RowRules;
use record::ColumnSet;

/// INSERT or REPLACE.
#[derive(Debug)]
pub struct Insert {
    /// Target, position in [`Plan::tables`](super::Plan::tables).
    pub table: u32,
    /// Where rows come from.
    pub source: InsertSource,
    /// For each table column: what it gets.
    pub columns: Vec<InsertColumn>,
    /// The table's columns in the order in which they get their values, where that is another one than their own: as the statement names them, then the others.
    pub order: Option<Box<[u32]>>,
    /// REPLACE.
    pub replace: bool,
    /// IGNORE.
    pub ignore: bool,
    /// ON DUPLICATE KEY UPDATE: (column, value); the values read the existing row through `existing_slots`, the new one through `new_slots`.
    pub on_duplicate: Vec<(u32, Expr)>,
    /// What is needed where the existing row may be changed where it lies.
    pub met: Option<Met>,
    /// First slot of the new row (one per table column).
    pub new_slots: Slot,
    /// First slot of the existing row (one per table column).
    pub existing_slots: Slot,
    /// What `on_duplicate` reads of the SELECT's tables: (position in the source's row, slot).
    pub source_slots: Vec<(u32, Slot)>,
    /// What the table's definition computes and asks of the new row.
    pub rules: Option<Box<RowRules>>,
}

impl Insert {
    /// The `nth` column to get its value: [`Insert::order`].
    #[inline]
    pub fn nth_column(&self, nth: usize) -> usize {
        self.order.as_ref().map_or(nth, |order| order[nth] as usize)
    }
}

/// Rows to insert.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // One per plan.
pub enum InsertSource {
    /// VALUES: for each row one entry per given column; `None` is DEFAULT.
    Values(Vec<Vec<Option<Expr>>>),
    /// VALUES of plain literals.
    Literals(LiteralRows),
    /// SELECT.
    Query(Query),
    /// Rows are handed in at execution (LOAD DATA).
    External(Box<Load>),
}

impl InsertSource {
    /// How many rows there are, where the statement says it: of VALUES.
    pub fn rows_known(&self) -> Option<usize> {
        match self {
            InsertSource::Values(rows) => Some(rows.len()),
            InsertSource::Literals(rows) => Some(rows.len()),
            InsertSource::Query(_) | InsertSource::External(_) => None,
        }
    }
}

/// What LOAD DATA makes of a line.
#[derive(Debug)]
pub struct Load {
    /// Where its fields go, in order.
    pub fields: Vec<LoadField>,
    /// SET: (column, value), in the order written; the values read the row through [`Insert::new_slots`], and later ones see earlier ones' results.
    pub set: Vec<(u32, Expr)>,
}

/// Where a field of a file goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadField {
    /// To a column of the table.
    Column(u32),
    /// To a user variable.
    Variable(Box<str>),
}

/// Where a column of an inserted row comes from.
#[derive(Clone, Debug)]
pub enum InsertColumn {
    /// Position in the source row.
    Source(u32),
    /// Not given: the default applies.
    Default,
}

/// See [`Insert::order`].
pub(crate) fn order_of(columns: &[InsertColumn]) -> Option<Box<[u32]>> {
    let place = |column: &u32| match columns[*column as usize] {
        InsertColumn::Source(at) => at,
        InsertColumn::Default => u32::MAX,
    };
    let mut order: Box<[u32]> = (0..columns.len() as u32).collect();
    order.sort_by_key(place);
    (!order.is_sorted()).then_some(order)
}

/// UPDATE.
#[derive(Debug)]
pub struct Update {
    /// Finds the rows; the target tables' nodes have `keep_key`.
    pub input: Node,
    /// Targets.
    pub targets: Vec<UpdateTarget>,
    /// Evaluate everything first, then change: needed when changes could move rows in the scanned index, or for joins.
    pub buffered: bool,
    /// Each row may be changed where it lies, by its key.
    pub in_place: Option<InPlace>,
    /// The target whose new values the assignments to those behind it read: that of the table that the join begins with, where nothing else goes by them.
    pub shown: Option<usize>,
    /// LIMIT.
    pub limit: Option<Expr>,
    /// IGNORE.
    pub ignore: bool,
}

/// What the row needs that has a new one's key, and is changed where it lies.
#[derive(Debug)]
pub struct Met {
    /// Of the row itself.
    pub in_place: InPlace,
    /// Columns of the new row that the values are computed from.
    pub new_reads: Vec<u32>,
}

/// What the rows need that an UPDATE changes where they lie.
#[derive(Debug)]
pub struct InPlace {
    /// Columns that the new values are computed from.
    pub reads: Vec<u32>,
    /// Columns that may change: those that are set, and those that tell when that was.
    pub changes: ColumnSet,
}

/// A table of an UPDATE.
#[derive(Debug)]
pub struct UpdateTarget {
    /// Position in [`Plan::tables`](super::Plan::tables).
    pub table: u32,
    /// First slot of its row: all columns are read, one slot each.
    pub first_slot: Slot,
    /// (column, new value), in the order written; later ones see earlier ones' results.
    pub set: Vec<(u32, Expr)>,
    /// Slot of the row's primary key.
    pub key_slot: Slot,
    /// What the table's definition computes and asks of the changed row.
    pub rules: Option<Box<RowRules>>,
    /// Another target is the same table, under another name: a row may be changed by both.
    pub shared: bool,
}

/// DELETE.
#[derive(Debug)]
pub struct Delete {
    /// Finds the rows; the target tables' nodes have `keep_key`.
    pub input: Node,
    /// Targets.
    pub targets: Vec<DeleteTarget>,
    /// Find all rows first, then delete: a subquery reads the table again.
    pub buffered: bool,
    /// LIMIT.
    pub limit: Option<Expr>,
    /// IGNORE.
    pub ignore: bool,
}

/// A table of a DELETE.
#[derive(Debug)]
pub struct DeleteTarget {
    /// Position in [`Plan::tables`](super::Plan::tables).
    pub table: u32,
    /// Slot of the row's primary key.
    pub key_slot: Slot,
}
