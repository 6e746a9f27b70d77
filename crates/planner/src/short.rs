//! Recognition of short plans: statements that need no operators, only a key and a row.
//!
//! A short plan stands beside the ordinary one. At execution its parameters may turn out not to fit
//! the key exactly (a string for a number, NULL, a value out of range); then the ordinary plan runs.

use crate::dml::in_place::may_run_latched;
use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::slots_of;
use crate::plan::{
    Access, Aggregate, AggregateKind, Body, InsertSource, Interval, LimitSpec, LockMode, Node, Plan, Points, PrefixRange, Query, RangeSpec,
    SortKey, TableNode,
};
use catalog::IndexDef;
use record::{KeyPart, KeyRestore};
use types::{TypeKind, Value};

/// A short plan.
#[derive(Debug)]
pub enum ShortPlan {
    /// `SELECT columns FROM t WHERE primary key = …`, perhaps with a LIMIT; a locking one, or one `AND` with other conditions, by any unique key.
    PointGet(PointGet),
    /// `SELECT columns FROM t WHERE primary key IN (…)`, in key order.
    MultiPointGet(ShortRange),
    /// `SELECT columns FROM t WHERE` bounds on an index, in its order, perhaps with a LIMIT; with one that stands ready bounds may be missing.
    Range(ShortRange),
    /// The same with `ORDER BY columns`, perhaps DISTINCT.
    SortedRange(SortedRange),
    /// `SELECT aggregates of columns FROM t WHERE` bounds on an index, or of all rows; MIN or MAX of the first row there.
    RangeAggregate(RangeAggregate),
    /// `UPDATE t SET … WHERE unique key = …`, perhaps `AND` other conditions, perhaps with a LIMIT.
    PointUpdate(PointWrite),
    /// `DELETE FROM t WHERE unique key = …`, likewise.
    PointDelete(PointWrite),
    /// `INSERT INTO t VALUES` rows of constants and parameters, perhaps with ON DUPLICATE KEY UPDATE. What it needs is in the ordinary plan.
    Insert,
}

impl ShortPlan {
    /// Whether no growth of the table would make another plan better: what goes by the primary key, or finds one row by another.
    #[inline]
    pub fn suits_any_size(&self) -> bool {
        match self {
            ShortPlan::PointGet(_) | ShortPlan::MultiPointGet(_) => true,
            ShortPlan::PointUpdate(_) | ShortPlan::PointDelete(_) | ShortPlan::Insert => true,
            ShortPlan::Range(range) => range.index == 0 || range.is_of_one_row(),
            ShortPlan::SortedRange(sorted) => sorted.range.index == 0,
            ShortPlan::RangeAggregate(aggregate) => aggregate.range.index == 0,
        }
    }

    /// Whether another plan may be better where a LIMIT lets more rows through: a whole secondary index is read in its order until it is satisfied.
    pub fn rests_on_limit(&self) -> bool {
        matches!(self, ShortPlan::Range(range) if range.index != 0 && range.limit.is_some() && range.is_unbounded())
    }

    /// Whether rows are made of index entries.
    pub fn is_covering(&self) -> bool {
        match self {
            ShortPlan::PointGet(_) | ShortPlan::MultiPointGet(_) => false,
            ShortPlan::PointUpdate(_) | ShortPlan::PointDelete(_) | ShortPlan::Insert => false,
            ShortPlan::Range(range) => range.cover.is_some(),
            ShortPlan::SortedRange(sorted) => sorted.range.cover.is_some(),
            ShortPlan::RangeAggregate(aggregate) => aggregate.range.cover.is_some(),
        }
    }
}

/// The row that a statement finds by the whole key of a unique index.
#[derive(Debug)]
pub struct PointRow {
    /// Position in [`Plan::tables`].
    pub table: u32,
    /// Position in the table's indexes.
    pub index: u32,
    /// A constant or parameter for each key part.
    pub key: Vec<Expr>,
    /// What is asked of it besides: whose it is, whether it was deleted, the version that was seen.
    pub tested: Option<Tested>,
}

/// A condition that may be tested under the row's latch.
#[derive(Debug)]
pub struct Tested {
    /// (column, slot) of the columns that it reads.
    pub columns: Vec<(u32, Slot)>,
    /// The condition.
    pub filter: Expr,
}

/// A read of one row.
#[derive(Debug)]
pub struct PointGet {
    /// Which. By the primary key, unless it is locked or tested: other consistent reads by another are a [`ShortRange`].
    pub row: PointRow,
    /// Columns to emit.
    pub columns: Vec<u32>,
    /// Locking.
    pub lock: LockMode,
    /// Constants and parameters. (What applications ask for by an id they ask for with LIMIT 1.) One that keeps the row out is the ordinary plan's.
    pub limit: Option<LimitSpec>,
}

/// Rows past which aggregates of all rows of a table are no short plan.
const SHORT_ROWS_MAX: f64 = 1000.0;

/// A read of index ranges.
#[derive(Debug)]
pub struct ShortRange {
    /// Position in [`Plan::tables`].
    pub table: u32,
    /// Position in the table's indexes.
    pub index: u32,
    /// Ranges.
    pub spec: RangeSpec,
    /// What they are when they are all rows of one key of a secondary index, read without locks.
    pub key: Option<WantedKey>,
    /// Descending.
    pub backward: bool,
    /// Locking.
    pub lock: LockMode,
    /// Columns to emit.
    pub columns: Vec<u32>,
    /// How the columns that are emitted, sorted by or aggregated come back from the index's entries, when they all do: then rows are not
    /// fetched. Conditions on others are what the ranges say.
    pub cover: Option<KeyRestore>,
    /// Rows to emit: constants and parameters.
    pub limit: Option<LimitSpec>,
}

impl ShortRange {
    /// Whether the ranges are all of the index.
    pub fn is_unbounded(&self) -> bool {
        self.spec.any.iter().any(|any| any.points.is_empty() && any.interval.is_none())
    }

    /// Whether it finds one row at most, by a unique key, and locks nothing.
    #[inline]
    pub fn is_of_one_row(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.is_unique)
    }
}

/// Constants and parameters that the leading parts of a secondary index equal.
#[derive(Debug)]
pub struct WantedKey {
    /// One for each part.
    pub values: Vec<Expr>,
    /// They are all parts of a unique index.
    pub is_unique: bool,
}

/// A read of index ranges that is sorted as the rows are stored.
#[derive(Debug)]
pub struct SortedRange {
    /// The rows and the columns to emit.
    pub range: ShortRange,
    /// The order.
    pub order: Vec<KeyPart>,
    /// Of rows that are equal in the order only the first is emitted.
    pub distinct: bool,
}

/// Aggregates over index ranges.
#[derive(Debug)]
pub struct RangeAggregate {
    /// The rows.
    pub range: ShortRange,
    /// For each aggregate of the plan's group: the column that it reads; none for COUNT(*).
    pub arguments: Vec<Option<u32>>,
}

/// A change of one row.
#[derive(Debug)]
pub struct PointWrite {
    /// Which.
    pub row: PointRow,
    /// As of [`PointGet`]; without an offset.
    pub limit: Option<LimitSpec>,
}

/// Finds the short form of a plan.
pub fn recognise(plan: &Plan) -> Option<ShortPlan> {
    // Checks and actions of foreign keys read and write other rows, which a short plan does not; but for an INSERT's, which looks for those that its rows refer to.
    if !plan.subplans.is_empty() || plan.foreign_keys.is_some() && !matches!(plan.body, Body::Insert(_)) {
        return None;
    }
    match &plan.body {
        Body::Query(q) => query(plan, q),
        Body::Update(u) => {
            let (Node::Table(t), Some(_)) = (&u.input, &u.in_place) else { return None };
            Some(ShortPlan::PointUpdate(point_write(plan, t, &u.limit)?))
        }
        Body::Delete(d) => {
            let (Node::Table(t), [_], false) = (&d.input, d.targets.as_slice(), d.ignore) else { return None };
            Some(ShortPlan::PointDelete(point_write(plan, t, &d.limit)?))
        }
        Body::Insert(i) => {
            let constant =
                |value: &Option<Expr>| value.as_ref().is_none_or(|e| matches!(e.kind, ExprKind::Literal(_) | ExprKind::Param(_)));
            let constants = match &i.source {
                InsertSource::Values(rows) => rows.iter().flatten().all(constant),
                InsertSource::Literals(_) => true,
                InsertSource::Query(_) | InsertSource::External(_) => false,
            };
            // A duplicate is an error, is changed where it lies, or goes (what foreign keys have to say of that is the ordinary plan's). IGNORE leaves it out; what it leaves out of several rows, and what it tells of them once, is the ordinary plan's.
            let ignores_one = i.source.rows_known() == Some(1) && i.on_duplicate.is_empty();
            let refers_freely = !(i.ignore || i.replace) || plan.foreign_keys.is_none();
            let on_duplicate = i.on_duplicate.is_empty() || i.met.is_some();
            let plain = i.rules.is_none() && on_duplicate && refers_freely && (!i.ignore || ignores_one);
            (constants && plain).then_some(ShortPlan::Insert)
        }
    }
}

fn query(plan: &Plan, q: &Query) -> Option<ShortPlan> {
    match &q.root {
        Node::Table(t) => {
            let columns = output_columns(q, t)?;
            if let Some(row) = row_read(plan, t) {
                return Some(ShortPlan::PointGet(PointGet { row, columns, lock: t.lock, limit: None }));
            }
            let range = short_range(plan, t, columns, &[], None, Extent::Ranges)?;
            let parts = plan.tables[t.table as usize].def.indexes[0].parts.len();
            let points = range.index == 0 && range.spec.any.iter().all(|a| a.interval.is_none() && a.points.len() == parts);
            Some(if points { ShortPlan::MultiPointGet(range) } else { ShortPlan::Range(range) })
        }
        Node::Limit { input, limit } => {
            let Node::Table(t) = &**input else { return None };
            let columns = output_columns(q, t)?;
            if limit_stands_ready(limit)
                && let Some(row) = row_read(plan, t)
            {
                return Some(ShortPlan::PointGet(PointGet { row, columns, lock: t.lock, limit: Some(limit.clone()) }));
            }
            // Of the table's first rows, or its last ones, no more are read than the limit lets through.
            let ends_soon = t.lock == LockMode::None && limit.count.is_some();
            let extent = if ends_soon { Extent::All } else { Extent::Ranges };
            Some(ShortPlan::Range(short_range(plan, t, columns, &[], Some(limit), extent)?))
        }
        Node::Sort { input, keys, limit, .. } => sorted(plan, q, input, keys, limit.as_ref()),
        Node::Group(group) => {
            let (t, limit) = match &group.input {
                Node::Table(t) => (t, None),
                // MIN or MAX of what an index is sorted by.
                Node::Limit { input, limit } if is_of_one(limit) => match &**input {
                    Node::Table(t) => (t, Some(limit)),
                    _ => return None,
                },
                _ => return None,
            };
            if !group.implicit || !group.carried.is_empty() {
                return None;
            }
            let arguments = group.aggregates.iter().map(|(_, a)| argument(t, a)).collect::<Option<Vec<_>>>()?;
            let read: Vec<u32> = arguments.iter().flatten().copied().collect();
            // Values of many rows are taken up faster by columns.
            let all_rows = matches!(t.access, Access::Full { .. } | Access::Index { ranges: None, .. });
            if all_rows && limit.is_none() && t.rows > SHORT_ROWS_MAX && !read.is_empty() {
                return None;
            }
            Some(ShortPlan::RangeAggregate(RangeAggregate {
                range: short_range(plan, t, Vec::new(), &read, limit, Extent::All)?,
                arguments,
            }))
        }
        _ => None,
    }
}

/// The column that a slot of a table node holds.
fn column_of(t: &TableNode, e: &Expr) -> Option<u32> {
    let ExprKind::Slot(s) = e.kind else { return None };
    t.columns.iter().find(|(_, slot)| *slot == s).map(|(column, _)| *column)
}

/// The columns of the result, if it has nothing else.
fn output_columns(q: &Query, t: &TableNode) -> Option<Vec<u32>> {
    q.output.iter().map(|e| column_of(t, e)).collect()
}

/// The column that an aggregate reads; the inner `None` is COUNT(*).
fn argument(t: &TableNode, a: &Aggregate) -> Option<Option<u32>> {
    use AggregateKind::{Avg, BitAnd, BitOr, BitXor, Count, CountStar, Max, Min, Sum};
    match (a.kind, a.args.as_slice()) {
        (CountStar, _) => Some(None),
        (Count | Sum | Avg | Min | Max | BitAnd | BitOr | BitXor, [only]) if !a.distinct => column_of(t, only).map(Some),
        _ => None,
    }
}

/// How much of an index a short plan may read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Ranges only.
    Ranges,
    /// All of it, too: all rows are wanted, or a limit ends the read.
    All,
}

/// `read` are columns that are read though not emitted.
fn short_range(
    plan: &Plan,
    t: &TableNode,
    columns: Vec<u32>,
    read: &[u32],
    limit: Option<&LimitSpec>,
    extent: Extent,
) -> Option<ShortRange> {
    let whole = RangeSpec { any: vec![PrefixRange::default()] };
    let (index, spec, backward) = match &t.access {
        Access::Index { first_only: true, .. } if limit.is_none() => return None,
        Access::Index { index, ranges: Some(spec), backward, .. } => (index, spec, backward),
        Access::Index { index, ranges: None, backward, .. } if extent == Extent::All => (index, &whole, backward),
        Access::Full { backward, .. } if extent == Extent::All => (&0, &whole, backward),
        _ => return None,
    };
    if t.keep_key.is_some() || !t.filter_is_ranges || !is_of_values(spec, limit.is_some()) || !limit.is_none_or(limit_stands_ready) {
        return None;
    }
    let entry = &plan.tables[t.table as usize];
    let is_plain = *index != 0 && t.lock == LockMode::None;
    let key = is_plain.then(|| wanted_key(&entry.def.indexes[*index as usize], spec)).flatten();
    let storage = &entry.storage;
    let cover = (*index != 0 && t.lock == LockMode::None)
        .then(|| columns.iter().chain(read).map(|column| *column as usize))
        .and_then(|needed| KeyRestore::new(storage.layout(), &storage.indexes[*index as usize].full_parts, needed));
    Some(ShortRange {
        table: t.table,
        index: *index,
        spec: spec.clone(),
        key,
        backward: *backward,
        lock: t.lock,
        columns,
        cover,
        limit: limit.cloned(),
    })
}

/// ORDER BY columns, over all rows or over distinct ones.
fn sorted(plan: &Plan, q: &Query, input: &Node, keys: &[SortKey], limit: Option<&LimitSpec>) -> Option<ShortPlan> {
    // Slots of a DISTINCT are computed from the table's.
    let (t, computed) = match input {
        Node::Table(t) => (t, None),
        Node::Distinct { input, .. } => {
            let Node::Project { input, exprs, .. } = &**input else { return None };
            let Node::Table(t) = &**input else { return None };
            (t, Some(exprs))
        }
        _ => return None,
    };
    let column = |e: &Expr| match computed {
        None => column_of(t, e),
        Some(exprs) => match e.kind {
            ExprKind::Slot(s) => exprs.iter().find(|(slot, _)| *slot == s).and_then(|(_, e)| column_of(t, e)),
            _ => None,
        },
    };
    let columns = q.output.iter().map(column).collect::<Option<Vec<u32>>>()?;
    let def = &plan.tables[t.table as usize].def;
    let mut order = Vec::with_capacity(keys.len());
    for key in keys {
        let at = column(&key.expr)? as usize;
        let ty = &def.columns[at].ty;
        let sorts = ty.kind.is_numeric() && ty.kind != TypeKind::Bit || ty.kind.is_temporal() || ty.kind.is_string();
        if !sorts || ty.kind.is_string() && ty.collation != key.collation {
            return None;
        }
        order.push(KeyPart { column: at, prefix_chars: None, descending: key.descending });
    }
    let ordered = |column: &u32| order.iter().any(|part| part.column == *column as usize);
    if computed.is_some() && !(columns.iter().all(ordered) && order.iter().all(|part| columns.contains(&(part.column as u32)))) {
        return None;
    }
    if t.lock != LockMode::None {
        return None;
    }
    let sorted_by: Vec<u32> = order.iter().map(|part| part.column as u32).collect();
    let range = short_range(plan, t, columns, &sorted_by, limit, Extent::Ranges)?;
    Some(ShortPlan::SortedRange(SortedRange { range, order, distinct: computed.is_some() }))
}

/// The row of a node that reads one by a unique key.
fn point_row(plan: &Plan, t: &TableNode) -> Option<PointRow> {
    let Access::Index { index, ranges: Some(spec), unique: true, .. } = &t.access else { return None };
    let def = &plan.tables[t.table as usize].def.indexes[*index as usize];
    let wanted = wanted_key(def, spec)?;
    let is_whole = if *index == 0 { wanted.values.len() == def.parts.len() } else { wanted.is_unique };
    if !is_whole || !is_of_values(spec, false) {
        return None;
    }
    let tested = if t.filter_is_ranges { None } else { Some(tested(plan, t)?) };
    Some(PointRow { table: t.table, index: *index, key: wanted.values, tested })
}

/// What is left of a node's condition where its ranges come out exact.
fn tested(plan: &Plan, t: &TableNode) -> Option<Tested> {
    let filter = t.reading(true).filter.filter(|filter| may_run_latched(filter))?;
    let mut slots = Vec::new();
    slots_of(filter, &plan.subplans, &mut slots);
    slots.sort_unstable();
    slots.dedup();
    let column = |slot: Slot| t.columns.iter().find(|(_, own)| *own == slot).copied();
    Some(Tested { columns: slots.into_iter().map(column).collect::<Option<_>>()?, filter: filter.clone() })
}

/// The row of a read that is shortest so.
fn row_read(plan: &Plan, t: &TableNode) -> Option<PointRow> {
    point_row(plan, t).filter(|row| row.index == 0 || t.lock != LockMode::None || row.tested.is_some())
}

/// The key of an index that ranges are all of. (Not of parts that hold the beginnings of strings only.)
fn wanted_key(index: &IndexDef, spec: &RangeSpec) -> Option<WantedKey> {
    let values = values_equalled(spec)?;
    let parts = index.parts.get(..values.len())?;
    let is_unique = index.unique && parts.len() == index.parts.len();
    let has_whole_values = !parts.is_empty() && parts.iter().all(|part| part.prefix_chars.is_none());
    has_whole_values.then_some(WantedKey { values, is_unique })
}

/// The value that each part equals, where ranges say that and no more.
fn values_equalled(spec: &RangeSpec) -> Option<Vec<Expr>> {
    let [PrefixRange { points, interval: None }] = spec.any.as_slice() else { return None };
    let only = |points: &Points| match &**points {
        [value] => Some(value.clone()),
        _ => None,
    };
    points.iter().map(only).collect()
}

/// A change of the row that a node reads, if it is one by a unique key.
fn point_write(plan: &Plan, t: &TableNode, limit: &Option<Expr>) -> Option<PointWrite> {
    let limit = limit.clone().map(|count| LimitSpec { count: Some(count), offset: None });
    let row = point_row(plan, t)?;
    limit.as_ref().is_none_or(limit_stands_ready).then_some(PointWrite { row, limit })
}

/// LIMIT 1, as a constant.
fn is_of_one(limit: &LimitSpec) -> bool {
    limit.offset.is_none() && limit.count.as_ref().is_some_and(|count| matches!(count.kind, ExprKind::Literal(Value::Int(1))))
}

fn limit_stands_ready(limit: &LimitSpec) -> bool {
    [&limit.count, &limit.offset].into_iter().all(|e| e.as_ref().is_none_or(stands_ready))
}

/// Whether an expression is a value, without a row and without being computed.
fn stands_ready(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Literal(_) | ExprKind::Param(_))
}

/// Whether values that stand ready bound ranges, and not whether a column is NULL; that it is not may, `limited` to few rows, be all that is asked of a part.
fn is_of_values(spec: &RangeSpec, limited: bool) -> bool {
    let is_of_values = |points: &Points| points.are_values() && !points.has_null_safe();
    let has_ends = |interval: &Interval| {
        !(interval.low.is_empty() && interval.high.is_empty()) || limited && interval.not_null && interval.like.is_none()
    };
    spec.any.iter().all(|any| {
        any.points.iter().all(is_of_values)
            && any.interval.iter().all(|interval| {
                has_ends(interval)
                    && interval.low.iter().chain(&interval.high).all(|(e, _)| stands_ready(e))
                    && interval.except.iter().all(stands_ready)
            })
    })
}
