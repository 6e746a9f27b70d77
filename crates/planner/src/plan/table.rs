//! How a table is read: its access method, the ranges of its index, what is locked.

use crate::explain::parts_used;
use crate::expr::{Expr, Listed, Slot};
use catalog::VirtualTableDef;
use record::KeyRestore;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// How rows are read and locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Consistent read.
    None,
    /// FOR SHARE.
    Share(LockWait),
    /// FOR UPDATE and DML.
    Exclusive(LockWait),
}

/// What to do when a row is locked by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// Wait.
    Block,
    /// 3572.
    NoWait,
    /// Leave the row out.
    SkipLocked,
}

/// Reads one table.
#[derive(Debug)]
pub struct TableNode {
    /// Number of the node in the plan, for what the executor remembers of it.
    pub id: u32,
    /// Position in [`Plan::tables`](super::Plan::tables).
    pub table: u32,
    /// Alias, for EXPLAIN.
    pub alias: Box<str>,
    /// How.
    pub access: Access,
    /// How the used columns come back from the index's entries, when they all do: then rows are not fetched, whatever the ranges turn out to hold.
    pub cover: Option<Box<KeyRestore>>,
    /// What the index's entries are asked before their rows are fetched.
    pub key_filter: Option<Box<KeyFilter>>,
    /// (column, slot) of the columns that are used.
    pub columns: Vec<(u32, Slot)>,
    /// Condition on this table's row (may read outer slots).
    pub filter: Option<Expr>,
    /// The ranges that are read say all that the filter does, where they come out exact.
    pub filter_is_ranges: bool,
    /// What is left to do where those ranges come out exact.
    pub exact: Option<Box<ExactRead>>,
    /// Locking.
    pub lock: LockMode,
    /// Expected rows per execution, for EXPLAIN.
    pub rows: f64,
    /// Share of them that pass the filter, in percent, for EXPLAIN.
    pub filtered: f64,
    /// Indexes that could have been used, for EXPLAIN.
    pub possible: Vec<u32>,
    /// Stop after this many rows have passed (LIMIT pushed down); a hint for batch sizes.
    pub rows_hint: Option<u64>,
    /// DML target: the row's primary key goes into this slot.
    pub keep_key: Option<Slot>,
    /// DML target whose rows are changed where they lie ([`Update::in_place`](super::Update::in_place)): so many of `columns`, the first ones, are read, for the condition.
    pub columns_tested: Option<usize>,
    /// Where it is looked up for each row of a nested loop: whether many of them may be looked up together.
    pub key_batches: KeyBatches,
}

/// Less than all that a table node does: what its ranges say whole is not tested where they come out exact, and columns that nobody else reads are not read.
#[derive(Debug)]
pub struct ExactRead {
    /// How many of [`TableNode::columns`] are read: the first ones.
    pub columns: usize,
    /// How these come back from the index's entries, when they all do.
    pub cover: Option<KeyRestore>,
    /// What is left of the filter.
    pub filter: Option<Expr>,
}

/// What is read and tested of a table's rows.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'p> {
    /// (column, slot) of the columns.
    pub columns: &'p [(u32, Slot)],
    /// How they come back from the index's entries; `None`: rows are fetched.
    pub cover: Option<&'p KeyRestore>,
    /// The condition.
    pub filter: Option<&'p Expr>,
}

impl TableNode {
    /// What is read and tested in ranges that hold the rows which the access asks for and (`exact`) no others.
    #[inline]
    pub fn reading(&self, exact: bool) -> Reading<'_> {
        match self.exact.as_deref().filter(|_| exact) {
            Some(read) => Reading {
                columns: &self.columns[..read.columns],
                cover: read.cover.as_ref().or(self.cover.as_deref()),
                filter: read.filter.as_ref(),
            },
            None => Reading { columns: &self.columns, cover: self.cover.as_deref(), filter: self.filter.as_ref() },
        }
    }

    /// The same of a read that locks: it needs the rows, but does not test either what exact ranges say.
    #[inline]
    pub fn reading_locked(&self, exact: bool) -> Reading<'_> {
        let filter = self.reading(exact).filter;
        let columns = match self.columns_tested {
            None => self.columns.len(),
            Some(_) if filter.is_none() => 0,
            Some(tested) => tested,
        };
        Reading { columns: &self.columns[..columns], cover: None, filter }
    }

    /// Whether rows are not fetched, at least where the ranges come out exact.
    pub fn is_covering(&self) -> bool {
        self.cover.is_some() || self.exact.as_ref().is_some_and(|read| read.cover.is_some())
    }
}

/// Whether the keys of many left rows are looked up together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyBatches {
    /// One by one.
    Never,
    /// Where the left rows come by chunks.
    ByCost,
    /// The statement or the session asks for it: MySQL's batched key access.
    Always,
}

/// A condition that the entries of a secondary index tell: part of the table's filter, which holds all the same.
#[derive(Debug)]
pub struct KeyFilter {
    /// How its columns come back from an entry.
    pub restore: KeyRestore,
    /// (column, slot) of them.
    pub columns: Vec<(u32, Slot)>,
    /// The condition; it neither warns nor fails.
    pub filter: Expr,
}

/// Reads a computed table.
#[derive(Debug)]
pub struct VirtualNode {
    /// Its definition; the session makes the rows.
    pub table: &'static VirtualTableDef,
    /// Alias, for EXPLAIN.
    pub alias: Box<str>,
    /// (column, slot) of the columns that are used.
    pub columns: Vec<(u32, Slot)>,
    /// (position in the table's keys, values): the column is one of them. The conditions stay in a filter above.
    pub keys: Vec<(u32, Vec<Expr>)>,
    /// Expected rows per execution, for EXPLAIN.
    pub rows: f64,
}

/// An access method.
#[derive(Debug)]
pub enum Access {
    /// Every row, in primary key order.
    Full {
        /// Descending.
        backward: bool,
        /// That order is wanted: the primary key's index is of use.
        ordered: bool,
    },
    /// Ranges of an index.
    Index {
        /// Position in the table's indexes.
        index: u32,
        /// Ranges; all of the index when `None`.
        ranges: Option<RangeSpec>,
        /// Descending.
        backward: bool,
        /// At most one row matches a given key (unique index, all parts by equality).
        unique: bool,
        /// Only the first (or last) row is wanted: MIN/MAX.
        first_only: bool,
    },
    /// One entry, or two, of each group of entries that have the leading parts of an index in common; the index covers.
    Groups(Groups),
    /// Rows that several indexes find, fetched once each, in primary key order.
    Merge {
        /// Whether a row is in any arm, or in all.
        kind: MergeKind,
        /// What each index reads.
        arms: Vec<MergeArm>,
    },
}

impl Access {
    /// Whether it reads one row at most, by a unique key. (A parameter beside `<=>` may be NULL, of which there may be more.)
    pub fn is_of_one_row(&self) -> bool {
        matches!(self, Access::Index { ranges: Some(spec), unique: true, .. } if spec.is_point())
    }
}

/// Groups of entries that have the leading parts of an index in common, and what is read of each.
#[derive(Clone, Debug)]
pub struct Groups {
    /// Position in the table's indexes.
    pub index: u32,
    /// How many parts.
    pub parts: u32,
    /// Ranges of those parts: the groups in them are read, or all.
    pub ranges: Option<RangeSpec>,
    /// The filter asks for nothing but the parts in common.
    pub alike: bool,
    /// Ranges of the parts behind: the first that find a row count. Where there are none, all of a group, which is alike then.
    pub within: Vec<RangeSpec>,
    /// Which entries.
    pub ends: GroupEnds,
}

impl Groups {
    /// The parts that ranges bound behind those in common.
    pub(crate) fn bounded_within(&self) -> Range<usize> {
        let parts = self.parts as usize;
        parts..parts + self.within.first().map_or(0, parts_used)
    }

    /// All parts that ranges bound.
    pub(crate) fn bounded(&self) -> impl Iterator<Item = usize> {
        (0..self.ranges.as_ref().map_or(0, parts_used)).chain(self.bounded_within())
    }
}

/// Which entries of a group are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupEnds {
    /// All in the ranges: a skip scan.
    All,
    /// The first.
    First,
    /// The last.
    Last,
    /// Both.
    Both,
}

/// How indexes are merged; the names are those that EXPLAIN gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeKind {
    /// In all arms.
    Intersection,
    /// In any arm, each of which comes in the order of the primary key.
    Union,
    /// In any arm.
    SortUnion,
}

impl MergeKind {
    /// The name that EXPLAIN gives.
    pub fn name(self) -> &'static str {
        match self {
            MergeKind::Intersection => "intersect",
            MergeKind::Union => "union",
            MergeKind::SortUnion => "sort_union",
        }
    }
}

/// One of the indexes that are merged.
#[derive(Clone, Debug)]
pub struct MergeArm {
    /// Position in the table's indexes.
    pub index: u32,
    /// Its ranges.
    pub ranges: RangeSpec,
}

/// Ranges of an index: a disjunction.
#[derive(Clone, Debug)]
pub struct RangeSpec {
    /// Alternatives; their union is read.
    pub any: Vec<PrefixRange>,
}

impl RangeSpec {
    /// Whether it is one value for each of the leading parts.
    pub fn is_point(&self) -> bool {
        matches!(self.any.as_slice(), [only] if only.interval.is_none() && only.points.iter().all(|p| p.len() == 1))
    }

    /// The bounds.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.any.iter().flat_map(|prefix| {
            let points = prefix.points.iter().flatten();
            let intervals = prefix.interval.iter().flat_map(|interval| {
                let bounds = interval.low.iter().chain(&interval.high).map(|(bound, _)| bound);
                bounds.chain(interval.like.iter().map(|(pattern, _)| pattern)).chain(&interval.except)
            });
            points.chain(intervals)
        })
    }
}

/// Bounds on the leading parts of an index.
#[derive(Clone, Debug, Default)]
pub struct PrefixRange {
    /// For each leading part the values it may have (one: equality; more: IN).
    pub points: Vec<Points>,
    /// Bounds on the next part.
    pub interval: Option<Interval>,
}

impl PrefixRange {
    /// Whether values that are left out divide it.
    pub fn is_divided(&self) -> bool {
        self.interval.as_ref().is_some_and(|interval| !interval.except.is_empty())
    }
}

/// The values that an index part may have: the list of the condition that says so, where one does.
#[derive(Clone, Debug)]
pub struct Points {
    values: Listed,
    /// Of which of them NULL is a value (IS NULL, `<=>`), where it is of any; else NULL matches nothing.
    null_safe: Option<Arc<[bool]>>,
}

impl Points {
    /// One value.
    pub fn one(value: Expr, null_safe: bool) -> Points {
        Points { values: value.into(), null_safe: null_safe.then(|| Arc::from([true])) }
    }

    /// Those of several, one after the other.
    pub(crate) fn joined<'p>(all: impl Iterator<Item = &'p Points> + Clone) -> Points {
        let values = all.clone().flatten().cloned().collect();
        let flags = || all.clone().flat_map(|points| (0..points.len()).map(|at| points.is_null_safe(at)));
        Points { values, null_safe: flags().any(|flag| flag).then(|| flags().collect()) }
    }

    /// Every so many-th of them.
    pub(crate) fn thinned(&self, step: usize) -> Points {
        let values = self.values.iter().step_by(step).cloned().collect();
        Points { values, null_safe: self.null_safe.as_ref().map(|flags| flags.iter().step_by(step).copied().collect()) }
    }

    /// Whether NULL is a value of the one at this place.
    pub fn is_null_safe(&self, at: usize) -> bool {
        self.null_safe.as_ref().is_some_and(|flags| flags.get(at) == Some(&true))
    }

    /// Whether NULL is a value of any.
    pub fn has_null_safe(&self) -> bool {
        self.null_safe.is_some()
    }

    /// Whether all are literals and parameters.
    pub fn are_values(&self) -> bool {
        self.values.are_values()
    }
}

impl Deref for Points {
    type Target = [Expr];

    fn deref(&self) -> &[Expr] {
        &self.values
    }
}

impl From<Listed> for Points {
    fn from(values: Listed) -> Points {
        Points { values, null_safe: None }
    }
}

impl<'p> IntoIterator for &'p Points {
    type Item = &'p Expr;
    type IntoIter = std::slice::Iter<'p, Expr>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.iter()
    }
}

/// Bounds on one index part; the tightest of each side counts.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// Lower bounds: value, included.
    pub low: Vec<(Expr, bool)>,
    /// Upper bounds: value, included.
    pub high: Vec<(Expr, bool)>,
    /// LIKE pattern with its escape: its literal prefix bounds both sides.
    pub like: Option<(Expr, Option<char>)>,
    /// NULL is left out although no lower bound says so.
    pub not_null: bool,
    /// Values that are left out: the interval is read in as many pieces as they leave.
    pub except: Vec<Expr>,
}

impl Interval {
    /// Whether nothing but single values, and NULL, are left out.
    pub fn is_nearly_all(&self) -> bool {
        self.low.is_empty() && self.high.is_empty() && self.like.is_none()
    }
}
