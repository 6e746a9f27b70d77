//! Access paths: which index reads one table, at what cost.

mod condition_cost;
mod constants;
mod loose;
mod merge;
mod order;
mod pushed;
mod skip;

pub use merge::Merge;

use crate::binder::{Binder, Relation, Source};
use crate::dives::rows_in;
use crate::expr::{Expr, ExprKind, Slot};
use crate::keys::BoundValues;
use crate::plan::{Groups, Interval, Points, SortKey};
use crate::ranges::{Ranges, Sargs, Scope as RangeScope};
use crate::switches::Switch;
use catalog::{IndexDef, TableEntry};
use order::{order_matches, ordering_part, sure_points};
use parser::ast::IndexHintKind;
use record::{KeyPart, KeyRestore};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use types::{ColumnType, LocalTime, Value};

// Costs are in units of reading the next row of a scan, which took 10 to 20 ns of processor time where these were measured (docs/performance.md,
// What the planner's costs are): of tables of TPC-H and of the Join Order Benchmark's shapes, in memory.

/// Cost of reading the next row of a scan.
pub const ROW_COST: f64 = 1.0;
/// Cost of an entry of a covering scan, of the shortest and of long keys: less than a row's.
const ENTRY_COST: (f64, f64) = (0.5, 0.9);
/// Cost of an entry where it is to be hardly cheaper than a row.
const ALMOST_ROW_COST: f64 = 0.99 * ROW_COST;
/// Bytes of a key that counts as long.
const LONG_KEY_BYTES: f64 = 1000.0;
/// Cost of fetching the row behind a secondary entry.
const FETCH_COST: f64 = 16.0;
/// Cost of descending to a range.
const SEEK_COST: f64 = 3.0;

/// Rows that every table is taken to have at least.
const ROWS_MIN: f64 = 1000.0;
/// Reading all rows of a table locks them all: worth this much more than their number.
const LOCKED_SCAN: f64 = 10.0;

/// Reading all rows where that is refused.
const UNSAFE: f64 = 1e9;

/// Descending to the rows of a key, for each row of a join: 8 where the keys come in order, 23 where they do not.
const PROBE_SEEK: f64 = 16.0;
/// A row of the primary index that the key finds, where it may find several.
const PROBE_ROW: f64 = 8.0;
/// A covering entry that the key finds.
const PROBE_ENTRY: f64 = 2.0;
/// A row behind a secondary entry that the key finds.
const PROBE_FETCH: f64 = 15.0;

impl Path {
    /// Cost of one execution for a row of a join: measured against the scans and hash tables that would do the same for all rows together.
    /// `rows`: how many are read.
    pub fn probe_cost(&self, rows: f64) -> f64 {
        let (Some(index), Some(ranges)) = (self.index, &self.ranges) else { return self.cost };
        let seeks = ranges.spec.any.len().max(1) as f64;
        let each = match index {
            _ if self.covering => PROBE_ENTRY,
            0 if self.unique => 0.0,
            0 => PROBE_ROW,
            _ => PROBE_FETCH,
        };
        seeks * PROBE_SEEK + rows * each
    }

    /// Whether the first row that its ranges lead to passes, where they come out exact.
    pub fn tests_nothing(&self) -> bool {
        self.ranges.as_ref().is_some_and(|ranges| ranges.left.iter().all(|left| *left))
    }
}

/// A way to read a table.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// Index; `None` for all rows in primary order.
    pub index: Option<u32>,
    /// Ranges.
    pub ranges: Option<Rc<Ranges>>,
    /// Rows are not fetched, at least where the ranges come out exact.
    pub covering: bool,
    /// At most one row per key.
    pub unique: bool,
    /// Rows read per execution.
    pub rows: f64,
    /// Cost per execution.
    pub cost: f64,
    /// Read backward (for ORDER BY).
    pub backward: bool,
    /// The rows come in the wanted order.
    pub ordered: bool,
    /// Several indexes, where `index` is `None`.
    pub merge: Option<Merge>,
    /// Ranges behind free parts of the index, where `ranges` is `None`.
    pub groups: Option<Groups>,
    /// Entries are asked before their rows are fetched.
    pub asks_entries: bool,
}

/// Order wanted from a single-table (or first) access.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'w> {
    /// Sort keys.
    pub order: &'w [SortKey],
    /// Rows that will be taken, if limited.
    pub limit: Option<f64>,
    /// Cost of sorting one row otherwise.
    pub sort_cost: f64,
}

struct TableScope<'s> {
    relation: &'s Relation,
    /// Slots that have a value before the table is read; `None` for everything foreign.
    blocked: &'s BTreeSet<Slot>,
    binder: &'s Binder<'s>,
}

impl RangeScope for TableScope<'_> {
    fn column_of(&self, slot: Slot) -> Option<(u32, &ColumnType)> {
        let at = self.relation.column_of(slot)?;
        Some((at as u32, &self.relation.columns[at].ty))
    }

    fn is_available(&self, expr: &Expr) -> bool {
        if expr.is_value() {
            return true;
        }
        if expr.any(&mut |e| e.is_volatile_call() || self.binder.is_reassigned(e)) {
            return false;
        }
        let mut slots = Vec::new();
        crate::logical::slots_of(expr, &self.binder.subplans, &mut slots);
        slots.iter().all(|s| !self.blocked.contains(s))
    }
}

/// What is known of the ways to read a table under some conditions, whatever order is wanted: kept for who asks for another one.
#[derive(Default)]
pub(crate) struct Ways {
    sargs: OnceCell<Sargs>,
    /// Cost of testing the conditions on a row that nothing is known of.
    tests: OnceCell<f64>,
    /// Share of the rows that they let pass.
    share: OnceCell<f64>,
    /// What each index is read for, by its number.
    indexes: RefCell<Vec<Option<Rc<IndexRead>>>>,
}

/// A table that is to be read, and what is asked of it.
struct TableRead<'t> {
    entry: &'t TableEntry,
    relation: &'t Relation,
    conditions: &'t [Expr],
    scope: &'t TableScope<'t>,
    /// What is known already.
    ways: &'t Ways,
    /// What is usable of the conditions.
    sargs: &'t Sargs,
    /// Rows that it has, and that it is taken to have.
    counted: f64,
    total: f64,
    wanted: Option<Wanted<'t>>,
    locks: bool,
    sees_invisible: bool,
    /// A hint forces some index.
    forced: bool,
    /// Reading all rows is taken for so many times as expensive as it is.
    all_rows_worth: f64,
    /// Some index has a range.
    has_range: bool,
    /// Cost of testing the conditions on a row that nothing is known of.
    tests: f64,
}

impl<'t> TableRead<'t> {
    fn new(
        entry: &'t TableEntry,
        scope: &'t TableScope<'t>,
        conditions: &'t [Expr],
        ways: &'t Ways,
        wanted: Option<Wanted<'t>>,
    ) -> TableRead<'t> {
        let relation = scope.relation;
        let sargs = ways.sargs.get_or_init(|| Sargs::collect(conditions, scope));
        let context = scope.binder.context;
        // A small table may grow while its plan is cached: below this an index is preferred as if it had grown already.
        let counted = (context.rows_estimate(entry) as f64).max(1.0);
        let sees_invisible = context.switches().has(Switch::UseInvisibleIndexes);
        let visible = entry.def.indexes.iter().filter(|index| sees_invisible || !index.invisible);
        let mut leading = visible.filter_map(|index| index.parts.first());
        TableRead {
            entry,
            relation,
            conditions,
            scope,
            ways,
            sargs,
            counted,
            total: counted.max(ROWS_MIN),
            wanted,
            locks: relation.keep_key.is_some() || !matches!(relation.lock, crate::plan::LockMode::None),
            sees_invisible,
            forced: relation.hints.iter().any(|(kind, indexes)| *kind == IndexHintKind::Force && !indexes.is_empty()),
            // `sql_safe_updates` refuses to read all rows of what is changed: any key is better.
            all_rows_worth: if relation.keep_key.is_some() && context.safe_updates() { UNSAFE } else { 1.0 },
            has_range: leading.any(|first| sargs.bounds(range_part(first))),
            tests: *ways.tests.get_or_init(|| condition_cost::of_any(conditions)),
        }
    }

    /// Whether an index may be used.
    fn allows(&self, no: u32) -> bool {
        allows(self.relation, self.entry, no, self.sees_invisible)
    }

    /// Whether reading an index with these parts, of which so many have one value, yields the wanted order: `Some(backward)`.
    fn is_ordered(&self, parts: &[(u32, bool)], points: usize) -> Option<bool> {
        order_matches(self.wanted?.order, self.relation, parts, points, self.conditions)
    }

    /// The same of an index, with the primary key's parts behind its own.
    fn is_ordered_by(&self, no: u32, points: usize) -> Option<bool> {
        self.wanted.filter(|wanted| !wanted.order.is_empty())?;
        let indexes = &self.entry.def.indexes;
        let behind = if no == 0 { [].iter() } else { indexes[0].parts.iter() };
        let parts: Vec<(u32, bool)> = indexes[no as usize].parts.iter().chain(behind).map(ordering_part).collect();
        self.is_ordered(&parts, points)
    }

    /// Whether the wanted order is one of this table's rows alone.
    fn orders_by_own(&self) -> bool {
        self.wanted.is_none_or(|wanted| wanted.order.iter().all(|key| reads_only(&key.expr, self.relation)))
    }
}

/// The cheapest way to read a table so far.
struct Cheapest<'b, 't> {
    binder: &'b Binder<'b>,
    of: &'b TableRead<'t>,
    /// Share of the rows that the conditions let pass, where rows would be sorted: what goes on matters only for that.
    selectivity: f64,
    /// What it costs.
    least: f64,
    path: Path,
}

impl<'b, 't> Cheapest<'b, 't> {
    /// Begins with a way that is always open.
    fn new(binder: &'b Binder<'b>, of: &'b TableRead<'t>, mut first: Path) -> Cheapest<'b, 't> {
        let sorted = of.wanted.is_some_and(|wanted| !wanted.order.is_empty());
        let share = || binder.shares(of.relation, of.conditions).iter().product();
        let selectivity = if sorted { *of.ways.share.get_or_init(share) } else { 1.0 };
        first.cost += first.rows * of.tests;
        let least = cost_in_order(binder, of, selectivity, &mut first);
        Cheapest { binder, of, selectivity, least, path: first }
    }

    /// Takes a way that costs less, with what sorting its rows would cost. `preferred`: a hint wants it.
    fn consider(&mut self, mut path: Path, preferred: bool) {
        path.cost += path.rows * path.ranges.as_ref().map_or(self.of.tests, |ranges| condition_cost::behind(ranges, self.of.conditions));
        let mut cost = cost_in_order(self.binder, self.of, self.selectivity, &mut path);
        if preferred {
            cost *= 1e-6;
        }
        if cost < self.least {
            (self.least, self.path) = (cost, path);
        }
    }
}

/// What a way costs, with sorting its rows where they do not come in the wanted order. Leaves it the rows that go on.
fn cost_in_order(binder: &Binder<'_>, of: &TableRead<'_>, selectivity: f64, path: &mut Path) -> f64 {
    let mut cost = path.cost;
    // The growth that is expected counts for the way, and for what must be sorted on it, not for how many rows go on.
    let grown = path.rows;
    path.rows = path.rows.min(of.counted);
    if let Some(wanted) = of.wanted
        && !wanted.order.is_empty()
    {
        if !path.ordered {
            let sorted = (grown * selectivity).max(1.0);
            cost += sorted * (sorted + 1.0).log2() * wanted.sort_cost;
        } else if let Some(limit) = wanted.limit.filter(|_| binder.context.switches().has(Switch::PreferOrderingIndex)) {
            // Only as much is read as the limit needs. What the ranges say is in the path's rows already.
            let share = binder.filtered_share(of.relation, of.conditions, path);
            let matching = (path.rows * share.max(1e-6)).max(1.0);
            cost *= (limit / matching).min(1.0);
        }
    }
    cost
}

/// What an index is read for, whatever order is wanted.
struct IndexRead {
    /// Its entries are enough.
    covering: bool,
    /// Cost of an entry, with the row behind it where that is fetched.
    per_row: f64,
    /// The way by ranges, where conditions make some, with how many leading parts surely have one value.
    ranged: Option<(Path, usize)>,
}

impl<'c> Binder<'c> {
    /// The best access path to a relation. `blocked` are the slots of relations that are read later (its own included).
    pub fn best_path(&self, relation: &Relation, conditions: &[Expr], blocked: &BTreeSet<Slot>, wanted: Option<Wanted<'_>>) -> Path {
        self.paths(relation, conditions, blocked, wanted, &Ways::default()).0
    }

    /// The best access path and the indexes that had usable conditions. `ways` keeps what others will ask for who want another order of the same.
    pub(crate) fn paths(
        &self,
        relation: &Relation,
        conditions: &[Expr],
        blocked: &BTreeSet<Slot>,
        wanted: Option<Wanted<'_>>,
        ways: &Ways,
    ) -> (Path, Vec<u32>) {
        if let Source::Virtual(table) = relation.source {
            return (self.virtual_path(table, relation, conditions, blocked), Vec::new());
        }
        let Source::Base(table) = relation.source else { return (path_of_made_rows(&relation.source), Vec::new()) };
        let entry = &self.tables[table as usize];
        let scope = TableScope { relation, blocked, binder: self };
        let of = TableRead::new(entry, &scope, conditions, ways, wanted);
        let mut possible = Vec::new();
        let mut best = Cheapest::new(self, &of, all_rows_path(&of));
        let indexes = 0..entry.def.indexes.len() as u32;
        for no in indexes.clone() {
            if let Some(path) = self.index_path(&of, no) {
                if path.ranges.is_some() {
                    possible.push(no);
                }
                best.consider(path, of.forced);
            }
        }
        for no in indexes {
            if self.may_skip(&of, no, best.least)
                && of.allows(no)
                && let Some((path, hinted)) = self.skip_path(&of, no)
            {
                possible.push(no);
                best.consider(path, of.forced || hinted);
            }
        }
        if let Some((path, hinted)) = self.merge_path(&of) {
            possible.extend(path.merge.iter().flat_map(|merge| &merge.arms).map(|arm| arm.index));
            best.consider(path, hinted);
        }
        possible.sort_unstable();
        possible.dedup();
        (best.path, possible)
    }

    /// The way by one index, without skipping: its ranges where conditions make some, otherwise all of it where that serves something.
    fn index_path(&self, of: &TableRead<'_>, no: u32) -> Option<Path> {
        if !of.allows(no) || (no == 0 && of.entry.def.indexes[0].parts.is_empty()) {
            return None;
        }
        let read = self.index_read(of, no);
        let Some((path, sure)) = &read.ranged else { return whole_index_path(of, no, &read) };
        let order = of.is_ordered_by(no, *sure);
        let declared = of.entry.def.indexes[no as usize].parts.len();
        let ordered = order.is_some() || (path.unique && *sure >= declared && of.orders_by_own());
        Some(Path { backward: order == Some(true), ordered, ..path.clone() })
    }

    /// What is known of reading an index.
    fn index_read(&self, of: &TableRead<'_>, no: u32) -> Rc<IndexRead> {
        let at = no as usize;
        if let Some(Some(known)) = of.ways.indexes.borrow().get(at) {
            return Rc::clone(known);
        }
        let covering = no != 0 && !of.locks && covers(of.entry, at, of.relation);
        let per_row = if no == 0 {
            ROW_COST
        } else if covering {
            entry_cost(of.entry, at)
        } else {
            FETCH_COST
        };
        let parts = self.entry_parts(of.entry, at);
        let ranges = of.sargs.ranges_for(&parts);
        let ranged = ranges.map(|ranges| self.ranges_path(of, no, (covering, per_row), &parts, ranges));
        let read = Rc::new(IndexRead { covering, per_row, ranged });
        let mut indexes = of.ways.indexes.borrow_mut();
        indexes.resize(of.entry.def.indexes.len(), None);
        indexes[at] = Some(Rc::clone(&read));
        read
    }

    /// The way by ranges of an index on these parts: its own, and the primary key's where they count. With how many of them surely have one value.
    /// `whole`: whether its entries are enough, and what one costs.
    fn ranges_path(&self, of: &TableRead<'_>, no: u32, whole: (bool, f64), parts: &[(u32, bool)], ranges: Rc<Ranges>) -> (Path, usize) {
        let index = &of.entry.def.indexes[no as usize];
        let declared = index.parts.len();
        let unique = index.unique
            && ranges.point_parts >= declared
            && parts[..declared].iter().all(|p| !p.1)
            && all_points_not_null(&ranges, declared);
        let told = if unique { None } else { self.referring_rows(of.relation, no, &ranges, of.total) };
        let rows = told.unwrap_or_else(|| self.estimate_rows(of.entry, no as usize, &ranges, declared, unique, of.total));
        let count = ranges.spec.any.len().max(1) as f64;
        let sure = if ranges.single { sure_points(&ranges, of.relation, parts) } else { 0 };
        let covering = whole.0 || self.covers_beside_ranges(of, no, &ranges);
        let per_row = if covering && !whole.0 { entry_cost(of.entry, no as usize) } else { whole.1 };
        let mut path = Path {
            index: Some(no),
            unique,
            covering,
            rows,
            cost: SEEK_COST * count.max(1.0).min(rows.max(1.0) + 1.0) + rows * per_row,
            ranges: Some(ranges),
            ..Path::default()
        };
        if no != 0 && !covering && !(of.locks && self.changes_read_rows) && self.context.switches().has(Switch::IndexConditionPushdown) {
            self.ask_entries(&mut path, of.entry, of.relation, of.conditions, of.locks);
        }
        (path, sure)
    }

    /// Whether the entries of an index are enough where ranges in it come out exact, though they would not be to test all conditions.
    fn covers_beside_ranges(&self, of: &TableRead<'_>, no: u32, ranges: &Ranges) -> bool {
        if no == 0 || of.locks || of.relation.only_tested.is_empty() || !ranges.left.contains(&true) {
            return false;
        }
        let read = self.read_where_exact(of.relation, of.conditions, ranges);
        let parts = &of.entry.storage.indexes[no as usize].full_parts;
        KeyRestore::is_possible(of.entry.storage.layout(), parts, read.iter().map(|column| *column as usize))
    }

    fn estimate_rows(&self, entry: &TableEntry, index_no: usize, ranges: &Ranges, declared: usize, unique: bool, total: f64) -> f64 {
        let values_per_point: f64 =
            ranges.spec.any.iter().map(|a| a.points.iter().map(|p| p.len() as f64).product::<f64>()).sum::<f64>().max(1.0);
        if unique {
            return values_per_point.min(total);
        }
        if ranges.constant
            && let Some(rows) = self.dive(entry, index_no, ranges)
        {
            self.note_dive(entry, index_no, &ranges.spec, rows);
            return rows.clamp(0.0, total).max(if rows == 0.0 { 0.5 } else { 1.0 });
        }
        let mut rows = self.rows_per_key(entry, index_no, ranges.point_parts).unwrap_or_else(|| {
            // Without an index to look at: a key of n parts of which k are given leaves N^(1 - k/n).
            let parts = if entry.def.indexes[index_no].unique { declared } else { declared + 1 } as f64;
            let given = (ranges.point_parts.min(declared)) as f64;
            total.powf((1.0 - given / parts).max(0.0))
        });
        if ranges.has_interval {
            let width = match ranges.spec.any.as_slice() {
                [only] => only.interval.as_ref().and_then(|i| self.width(i)),
                _ => None,
            };
            rows = match width {
                // As many keys as integers between the bounds.
                Some(w) => self.rows_per_key(entry, index_no, ranges.point_parts + 1).map_or(rows * 0.1, |each| (each * w).min(rows)),
                None if ranges.spec.any.iter().any(|any| any.interval.as_ref().is_some_and(Interval::is_nearly_all)) => rows * 0.9,
                None => rows * 0.1,
            };
        }
        (rows * values_per_point).clamp(1.0, total)
    }

    /// Rows that share the leading parts of an index, remembered for the statement: the search asks many times.
    fn rows_per_key(&self, entry: &TableEntry, index_no: usize, parts: usize) -> Option<f64> {
        let key = (std::ptr::from_ref(entry).addr(), index_no, parts);
        let known = self.densities.borrow().get(&key).copied();
        known.unwrap_or_else(|| {
            let rows = if parts == 0 { None } else { self.context.rows_per_key(entry, index_no, parts) };
            self.densities.borrow_mut().insert(key, rows);
            rows
        })
    }

    /// Estimates by looking into the index, when the values are known.
    fn dive(&self, entry: &TableEntry, index_no: usize, ranges: &Ranges) -> Option<f64> {
        rows_in(self.context, entry, index_no, &ranges.spec, &mut KnownValues(self))
    }
}

/// Bounds as far as planning knows their values.
struct KnownValues<'b, 'c>(&'b Binder<'c>);

impl BoundValues for KnownValues<'_, '_> {
    fn value(&mut self, bound: &Expr) -> Option<Value> {
        self.0.known_value(bound)
    }

    fn zone(&self) -> &dyn LocalTime {
        self.0.context.zone()
    }
}

/// Whether hints and visibility let an index be used.
fn allows(relation: &Relation, entry: &TableEntry, no: u32, sees_invisible: bool) -> bool {
    let hinted = |(kind, numbers): &(IndexHintKind, Vec<u32>)| numbers.contains(&no) == (*kind != IndexHintKind::Ignore);
    (sees_invisible || !entry.def.indexes[no as usize].invisible) && relation.hints.iter().all(hinted)
}

/// Whether all columns of a relation that are used come back from the entries of an index.
fn covers(entry: &TableEntry, index_no: usize, relation: &Relation) -> bool {
    let used = relation.slots.iter().enumerate().filter_map(|(column, slot)| slot.map(|_| column));
    KeyRestore::is_possible(entry.storage.layout(), &entry.storage.indexes[index_no].full_parts, used)
}

/// Cost of an entry of a covering scan: shorter keys are read sooner.
fn entry_cost(entry: &TableEntry, index_no: usize) -> f64 {
    let parts = &entry.storage.indexes[index_no].full_parts;
    let bytes: u64 = parts.iter().map(|p| crate::explain::key_bytes(&entry.def.columns[p.column].ty, p.prefix_chars)).sum();
    let (short, long) = ENTRY_COST;
    short + (long - short) * (bytes as f64 / LONG_KEY_BYTES).min(1.0)
}

/// All rows in primary order.
fn all_rows_path(of: &TableRead<'_>) -> Path {
    let primary = &of.entry.def.indexes[0];
    let parts: Vec<(u32, bool)> = primary.parts.iter().map(ordering_part).collect();
    // A range of the primary key begins where its bounds say, in the same order: reading from the end of the table is never better.
    let bounded = of.allows(0) && of.sargs.ranges_for(&range_parts(primary)).is_some_and(|ranges| ranges.spec.any.len() == 1);
    let order = if bounded { None } else { of.is_ordered(&parts, 0) };
    Path {
        rows: of.total,
        cost: of.total * ROW_COST * of.all_rows_worth * if of.locks { LOCKED_SCAN } else { 1.0 },
        backward: order == Some(true),
        ordered: order.is_some(),
        ..Path::default()
    }
}

/// All entries of an index, where they are enough, come in the wanted order, or a hint forces an index.
fn whole_index_path(of: &TableRead<'_>, no: u32, read: &IndexRead) -> Option<Path> {
    let order = of.is_ordered_by(no, 0);
    if !read.covering && order.is_none() && !of.forced {
        return None;
    }
    // Where some index has a range, reading all of another is taken for no cheaper than reading all rows: the plan serves other values, too.
    let per_row = if read.covering && of.has_range { read.per_row.max(ALMOST_ROW_COST) } else { read.per_row };
    Some(Path {
        index: Some(no),
        covering: read.covering,
        rows: of.total,
        cost: of.total * per_row * of.all_rows_worth,
        backward: order == Some(true),
        ordered: order.is_some(),
        ..Path::default()
    })
}

/// The way to rows that no index leads to: those of a derived table, of JSON_TABLE.
fn path_of_made_rows(source: &Source) -> Path {
    let rows = match source {
        Source::Derived(_, _, rows) | Source::Cte(_, _, rows, _) => *rows,
        Source::JsonTable(..) => crate::json_table::ROWS,
        _ => 100.0,
    };
    Path { rows: rows.max(1.0), cost: rows.max(1.0), ..Path::default() }
}

impl Binder<'_> {
    /// The parts of an index's entries as ranges see them: behind its own the primary key's, unless those are switched off.
    fn entry_parts(&self, entry: &TableEntry, no: usize) -> Vec<(u32, bool)> {
        let mut parts = range_parts(&entry.def.indexes[no]);
        if no != 0 && self.context.switches().has(Switch::UseIndexExtensions) {
            parts.extend(range_parts(&entry.def.indexes[0]));
        }
        parts
    }
}

/// The leading parts of an index as ranges see them.
fn range_parts(index: &IndexDef) -> Vec<(u32, bool)> {
    index.parts.iter().map(range_part).collect()
}

/// A key part as ranges see it: (column, prefix only).
fn range_part(part: &KeyPart) -> (u32, bool) {
    (part.column as u32, part.prefix_chars.is_some())
}

fn all_points_not_null(ranges: &Ranges, parts: usize) -> bool {
    ranges.spec.any.iter().all(|a| !a.points.iter().take(parts).any(Points::has_null_safe))
}

/// Whether an expression reads nothing but this table: then a single row of it leaves nothing to order, however many rows others add to it.
pub(crate) fn reads_only(expr: &Expr, relation: &Relation) -> bool {
    let mut is_foreign = |e: &Expr| match e.kind {
        ExprKind::Slot(slot) => relation.column_of(slot).is_none(),
        ExprKind::Subquery(..) => true,
        _ => false,
    };
    !expr.any(&mut is_foreign)
}
