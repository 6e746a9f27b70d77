//! What share of a table's rows a condition lets pass: by a histogram of the column where there is one, by a few rows of the table where they are looked at
//! (`sample.rs`), otherwise by a guess. Of the rows that another table's rows lead to, by those (`join/partners.rs`).

use crate::access::{Path, reads_only};
use crate::binder::{Binder, Relation, Source};
use crate::explain::parts_used;
use crate::expr::{CmpOp, Expr, ExprKind};
use crate::join::Through;
use crate::sample::{ColumnOf, Sample, SampleOf};
use catalog::TableEntry;
use catalog::histogram::{Histogram, Order};
use std::collections::HashMap;
use std::sync::Arc;
use types::{Collation, ColumnType, TypeKind, Value};

/// The least share that is told: a value that nobody has seen may be there.
const SHARE_MIN: f64 = 1e-6;

/// Rows from which on some of them are looked at: of a smaller table a guess is not far off.
const SAMPLED_MIN: u64 = 256;

/// Rows of a table in which fewer are looked up by keys.
const LARGE_MIN: u64 = 1_000_000;

/// Answers that are remembered for a statement: looking through more would take as long as asking again.
const TOLD_MAX: usize = 64;

/// Values of a list from which on only so many of them are looked for among the rows: the rest is taken to be like these.
const LISTED_MAX: usize = 16;

/// Guessed share of rows for which a condition holds.
pub fn selectivity(e: &Expr) -> f64 {
    match &e.kind {
        ExprKind::Compare(CmpOp::Eq | CmpOp::NullSafeEq, ..) => 0.1,
        ExprKind::Compare(CmpOp::Ne, ..) => 0.9,
        ExprKind::Compare(..) => 0.33,
        ExprKind::Between { negated: false, .. } => 0.11,
        ExprKind::InList { list, negated: false, .. } => (0.1 * list.len() as f64).min(0.5),
        ExprKind::InRows(rows) if !rows.negated => (0.05 * rows.list.len() as f64).min(0.5),
        ExprKind::IsNull { negated: false, .. } => 0.1,
        ExprKind::IsNull { negated: true, .. } => 0.9,
        ExprKind::Like { negated: false, .. } => 0.11,
        ExprKind::And(list) => list.iter().map(selectivity).product(),
        ExprKind::Or(list) => list.iter().map(selectivity).sum::<f64>().min(1.0),
        _ => 0.5,
    }
}

/// Shares of the rows below and above which a column's conditions so far leave none: (from, to).
type Bounds = HashMap<usize, (f64, f64)>;

/// What a sample's values told of a question: all of them are looked at, and each way to read the table asks the same.
#[derive(Debug)]
pub struct Told {
    sample: Arc<Sample>,
    question: Question,
    share: f64,
}

/// What a sample may be asked.
#[derive(Debug, PartialEq)]
enum Question {
    /// How many values match a pattern.
    Like(Collation, Box<[u8]>, Option<char>),
    /// How many are just this one.
    Equal(Order, Value),
    /// How many are smaller, or (`true`) the same.
    Below(Order, Value, bool),
}

impl Question {
    fn ask(&self, sample: &Sample) -> f64 {
        match self {
            Question::Like(collation, pattern, escape) => sample.like(*collation, pattern, *escape),
            Question::Equal(order, value) => sample.equal(*order, value),
            Question::Below(order, value, included) => sample.below(*order, value, *included),
        }
    }
}

/// Which rows a share is of.
#[derive(Clone, Copy)]
struct Rows<'r> {
    /// Rows of this relation:
    relation: &'r Relation,
    /// those that rows of another table lead to, each as often as it is led to; all of them where `None`.
    through: Option<Through>,
}

impl<'r> Rows<'r> {
    fn all(relation: &'r Relation) -> Rows<'r> {
        Rows { relation, through: None }
    }
}

/// What is known of a column.
enum Spread<'a> {
    Histogram(&'a Histogram),
    Sample(Arc<Sample>),
}

impl Spread<'_> {
    fn equal(&self, binder: &Binder<'_>, order: Order, value: Value) -> Option<f64> {
        match self {
            Spread::Histogram(histogram) => histogram.equal(order, &value),
            Spread::Sample(sample) => Some(binder.ask(sample, Question::Equal(order, value))),
        }
    }

    fn below(&self, binder: &Binder<'_>, order: Order, value: Value, included: bool) -> Option<f64> {
        match self {
            Spread::Histogram(histogram) => histogram.below(order, &value, included),
            Spread::Sample(sample) => Some(binder.ask(sample, Question::Below(order, value, included))),
        }
    }

    fn equal_to_any(&self) -> f64 {
        match self {
            Spread::Histogram(histogram) => {
                let distinct: u64 = histogram.buckets.iter().map(|bucket| bucket.distinct).sum();
                histogram.not_null() / distinct.max(1) as f64
            }
            Spread::Sample(sample) => sample.equal_to_any(),
        }
    }

    fn not_null(&self) -> f64 {
        match self {
            Spread::Histogram(histogram) => histogram.not_null(),
            Spread::Sample(sample) => sample.not_null(),
        }
    }

    /// Shares below this are not told: nobody has seen so little.
    fn least(&self) -> f64 {
        match self {
            Spread::Histogram(_) => SHARE_MIN,
            Spread::Sample(sample) => sample.least(),
        }
    }
}

impl Binder<'_> {
    /// The share of each of the conditions on a relation, as if those before it held: two bounds of one column are an interval.
    pub fn shares(&self, relation: &Relation, conditions: &[Expr]) -> Vec<f64> {
        let mut bounds = Bounds::new();
        conditions.iter().map(|e| self.share(Rows::all(relation), e, &mut bounds)).collect()
    }

    /// The share of the rows that another table's rows lead to for which these conditions hold; `None` where rows tell of none of them.
    pub(crate) fn share_through(&self, relation: &Relation, conditions: &[Expr], through: Through) -> Option<f64> {
        let rows = Rows { relation, through: Some(through) };
        let (mut bounds, mut share, mut is_told) = (Bounds::new(), 1.0, false);
        for e in conditions {
            let told = self.told_share(rows, e, &mut bounds);
            is_told |= told.is_some();
            share *= told.map_or_else(|| selectivity(e), |told| told.clamp(SHARE_MIN, 1.0));
        }
        is_told.then_some(share)
    }

    /// Share of the rows of a path that pass the conditions its ranges do not stand for.
    pub(crate) fn filtered_share(&self, relation: &Relation, conditions: &[Expr], path: &Path) -> f64 {
        let mut left: Vec<&Expr> = conditions.iter().filter(|e| !self.is_in_ranges(relation, e, path)).collect();
        if path.unique && path.ranges.as_ref().is_none_or(|ranges| ranges.constant) {
            // Of one row there is nothing to know.
            return left.into_iter().map(selectivity).product();
        }
        let mut share = 1.0;
        if let Some(partners) = self.partners_of_row(relation, path).filter(|_| path.unique) {
            // Of all that the conditions on this relation alone say, another one's rows have told.
            share = partners.share;
            left.retain(|e| !reads_only(e, relation));
        }
        let mut bounds = Bounds::new();
        share * left.into_iter().map(|e| self.share(Rows::all(relation), e, &mut bounds)).product::<f64>()
    }

    /// Whether the ranges of a path say what a condition says: it reads no column of the relation but those that they bound.
    fn is_in_ranges(&self, relation: &Relation, e: &Expr, path: &Path) -> bool {
        let Source::Base(table) = relation.source else { return false };
        let storage = &self.tables[table as usize].storage;
        let columns = |index: u32, bounded: usize| storage.indexes[index as usize].full_parts.iter().take(bounded).map(|part| part.column);
        let bounded: Vec<usize> = match (&path.ranges, path.index, &path.merge) {
            (_, Some(index), _) if let Some(groups) = &path.groups => {
                let parts = &storage.indexes[index as usize].full_parts;
                groups.bounded().filter_map(|at| Some(parts.get(at)?.column)).collect()
            }
            (Some(ranges), Some(index), _) => columns(index, ranges.point_parts + usize::from(ranges.has_interval)).collect(),
            (_, _, Some(merge)) => merge.arms.iter().flat_map(|arm| columns(arm.index, parts_used(&arm.ranges))).collect(),
            _ => return false,
        };
        let is_bounded = |column: usize| bounded.contains(&column);
        let (mut some, mut all) = (false, true);
        e.walk_computed(&mut |e| match &e.kind {
            ExprKind::Slot(slot) => {
                if let Some(column) = relation.column_of(*slot) {
                    some = true;
                    all &= is_bounded(column);
                }
            }
            ExprKind::Subquery(..) => all = false,
            _ => {}
        });
        some && all
    }

    fn share(&self, rows: Rows<'_>, e: &Expr, bounds: &mut Bounds) -> f64 {
        self.told_share(rows, e, bounds).map_or_else(|| selectivity(e), |share| share.clamp(SHARE_MIN, 1.0))
    }

    /// What histograms and rows tell of a condition.
    fn told_share(&self, rows: Rows<'_>, e: &Expr, bounds: &mut Bounds) -> Option<f64> {
        if !matches!(rows.relation.source, Source::Base(_)) {
            return None;
        }
        let own = |e: &Expr| self.share(rows, e, &mut Bounds::new());
        match &e.kind {
            ExprKind::And(list) => Some(list.iter().map(|e| self.share(rows, e, bounds)).product()),
            // As if the branches had nothing to do with each other.
            ExprKind::Or(list) => Some(1.0 - list.iter().map(|e| 1.0 - own(e)).product::<f64>()),
            ExprKind::Not(e) => Some(1.0 - own(e)),
            ExprKind::Compare(op, _, a, b) => {
                if let (CmpOp::Eq, ExprKind::Slot(a), ExprKind::Slot(b)) = (op, &a.kind, &b.kind)
                    && let Some(partners) = self.known_partners(*a, *b).or_else(|| self.known_partners(*b, *a))
                {
                    return Some(partners.pairs);
                }
                let ((at, ty, spread), op, constant) = match self.spread(rows, a) {
                    Some(column) => (column, *op, b),
                    None => (self.spread(rows, b)?, op.flipped(), a),
                };
                let Some((order, value)) = self.constant(ty, constant) else {
                    // Some value that is not known yet.
                    return match op {
                        CmpOp::Eq if is_other_column(rows.relation, constant) => Some(spread.equal_to_any()),
                        _ => None,
                    };
                };
                let least = spread.least();
                match op {
                    CmpOp::Eq | CmpOp::NullSafeEq => spread.equal(self, order, value),
                    CmpOp::Ne => Some(spread.not_null() - spread.equal(self, order, value)?),
                    CmpOp::Lt | CmpOp::Le => narrowed(at, &spread, None, Some(spread.below(self, order, value, op == CmpOp::Le)?), bounds),
                    CmpOp::Gt | CmpOp::Ge => narrowed(at, &spread, Some(spread.below(self, order, value, op == CmpOp::Gt)?), None, bounds),
                }
                .map(|share| if matches!(op, CmpOp::Eq | CmpOp::NullSafeEq) { share } else { share.max(least) })
            }
            ExprKind::Between { operand, low, high, negated, .. } => {
                let (at, ty, spread) = self.spread(rows, operand)?;
                let ((order, low), (other, high)) = (self.constant(ty, low)?, self.constant(ty, high)?);
                let (from, to) = (spread.below(self, order, low, false)?, spread.below(self, other, high, true)?);
                let share = match negated {
                    true => Some(spread.not_null() - (to - from).max(0.0)),
                    false => narrowed(at, &spread, Some(from), Some(to), bounds),
                };
                share.map(|share| share.max(spread.least()))
            }
            ExprKind::InList { operand, list, negated, .. } => {
                let (_, ty, spread) = self.spread(rows, operand)?;
                let step = list.len().div_ceil(LISTED_MAX).max(1);
                let mut share = 0.0;
                for item in list.iter().step_by(step) {
                    let (order, value) = self.constant(ty, item)?;
                    share += spread.equal(self, order, value)?;
                }
                share *= list.len() as f64 / list.len().div_ceil(step).max(1) as f64;
                Some(if *negated { spread.not_null() - share } else { share })
            }
            ExprKind::IsNull { operand, negated } => {
                let (_, _, spread) = self.spread(rows, operand)?;
                let share = if *negated { spread.not_null() } else { 1.0 - spread.not_null() };
                Some(share.max(spread.least()))
            }
            ExprKind::Like { operand, pattern, escape, negated, collation } => {
                let (at, ty, spread) = self.spread(rows, operand)?;
                let sample = match (spread, &rows.relation.source) {
                    (Spread::Sample(sample), _) => sample,
                    // Buckets do not tell of patterns.
                    (Spread::Histogram(_), Source::Base(table)) => self.sample(*table, at)?,
                    _ => return None,
                };
                let Some(Value::Bytes(pattern)) = self.known_value(pattern) else { return None };
                if !crate::ranges::is_string(ty) {
                    return None;
                }
                let share = self.ask(&sample, Question::Like(*collation, Box::from(&*pattern), *escape));
                Some(if *negated { sample.not_null() - share } else { share }.max(sample.least()))
            }
            _ => None,
        }
    }

    /// What a sample tells, remembered for the statement.
    fn ask(&self, sample: &Arc<Sample>, question: Question) -> f64 {
        let is_it = |known: &&Told| Arc::ptr_eq(&known.sample, sample) && known.question == question;
        if let Some(known) = self.told.borrow().iter().find(is_it) {
            return known.share;
        }
        let share = question.ask(sample);
        let mut told = self.told.borrow_mut();
        if told.len() < TOLD_MAX {
            told.push(Told { sample: Arc::clone(sample), question, share });
        }
        share
    }

    /// What is known of a column: with its position and type.
    fn spread<'s>(&'s self, rows: Rows<'_>, e: &Expr) -> Option<(usize, &'s ColumnType, Spread<'s>)> {
        let (ExprKind::Slot(slot), Source::Base(table)) = (&e.kind, &rows.relation.source) else { return None };
        let at = rows.relation.column_of(*slot)?;
        let column = &self.tables[*table as usize].def.columns[at];
        let spread = match (rows.through, column.histogram.as_deref()) {
            (Some(through), _) => Spread::Sample(self.sample_through(through, *table, at)?),
            (None, Some(histogram)) => Spread::Histogram(histogram),
            (None, None) => Spread::Sample(self.sample(*table, at)?),
        };
        Some((at, &column.ty, spread))
    }

    /// Some rows of a column, remembered for the statement.
    fn sample(&self, table: u32, column: usize) -> Option<Arc<Sample>> {
        let entry = &self.tables[table as usize];
        let total = self.context.rows_estimate(entry);
        if total < SAMPLED_MIN || is_long(entry.def.columns[column].ty.kind) {
            return None;
        }
        let of = SampleOf { column: column_of(entry, column), through: None };
        self.remembered(of, total, &mut || Sample::of(self.context.sample(entry, column)?, total as f64))
    }

    /// What a column holds in the rows that some rows of another table lead to, each as often as it is led to; NULL where there is none.
    fn sample_through(&self, through: Through, table: u32, column: usize) -> Option<Arc<Sample>> {
        let (entry, referring) = (&self.tables[table as usize], &self.tables[through.table as usize]);
        if is_long(entry.def.columns[column].ty.kind) {
            return None;
        }
        let keys = self.sample(through.table, through.column)?;
        let [part] = entry.def.indexes[0].parts.as_slice() else { return None };
        let ty = &entry.def.columns[part.column].ty;
        let (rows, total) = (self.context.rows_estimate(entry), self.context.rows_estimate(referring));
        let of = SampleOf { column: column_of(entry, column), through: Some(column_of(referring, through.column)) };
        self.remembered(of, rows.saturating_add(total), &mut || {
            // Each key of a large table may be one more page to read.
            let one_of = if rows < LARGE_MIN { 1 } else { 4 };
            let mut values = self.context.column_of_keys(entry, &keys.as_keys(ty, part, one_of), column)?;
            values.resize(keys.count().div_ceil(one_of), Value::Null);
            Sample::of(values, total as f64)
        })
    }

    /// A sample, which the search asks for many times; `rows` are those of the tables that are read for it.
    fn remembered(&self, of: SampleOf, rows: u64, take: &mut dyn FnMut() -> Option<Sample>) -> Option<Arc<Sample>> {
        if let Some(known) = self.samples.borrow().get(&of) {
            return known.clone();
        }
        let sample = self.context.kept_sample(&of, rows, take);
        self.samples.borrow_mut().insert(of, sample.clone());
        sample
    }

    /// A value that is known while planning, and how a column compares with it.
    fn constant(&self, ty: &ColumnType, e: &Expr) -> Option<(Order, Value)> {
        let value = self.known_value(e).filter(|value| !value.is_null())?;
        let value = match ty.kind {
            TypeKind::Timestamp => self.as_instant(value),
            // Read here, not beside each of the values that it is compared with.
            TypeKind::Date | TypeKind::DateTime => crate::keys::local_time(&value).map_or(value, Value::DateTime),
            _ => value,
        };
        let of = match &value {
            Value::Timestamp(_) => ty.clone(),
            Value::Date(_) | Value::DateTime(_) => ColumnType::temporal(types::TypeKind::DateTime, 6),
            Value::Bytes(_) => ColumnType::varchar(1, ty.collation),
            Value::Int(_) | Value::UInt(_) => ColumnType::bigint(),
            Value::Decimal(_) => ColumnType::decimal(65, 30),
            _ => e.ty.clone(),
        };
        Some((Order::with(ty, &of)?, value))
    }

    /// A date as the instant that a TIMESTAMP column holds.
    fn as_instant(&self, value: Value) -> Value {
        match crate::keys::local_time(&value) {
            Some(local) => self.context.zone().to_timestamp(local).map_or(value, Value::Timestamp),
            None => value,
        }
    }
}

fn column_of(entry: &TableEntry, column: usize) -> ColumnOf {
    ColumnOf { table: entry.def.id, schema_version: entry.def.schema_version, column }
}

/// Whether values of this kind are too long to be looked at.
fn is_long(kind: TypeKind) -> bool {
    use TypeKind::*;
    matches!(kind, Json | TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob)
}

/// Whether it is a column, and not one of this relation.
fn is_other_column(relation: &Relation, e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Slot(slot) if relation.column_of(slot).is_none())
}

/// The share of what a column's conditions so far have left that is between two more bounds.
fn narrowed(column: usize, spread: &Spread<'_>, from: Option<f64>, to: Option<f64>, bounds: &mut Bounds) -> Option<f64> {
    let had = bounds.get(&column).copied().unwrap_or((0.0, spread.not_null()));
    let has = (from.map_or(had.0, |from| from.max(had.0)), to.map_or(had.1, |to| to.min(had.1)));
    let known = bounds.insert(column, has).is_some();
    let (before, now) = ((had.1 - had.0).max(SHARE_MIN), (has.1 - has.0).max(0.0));
    // The first bound speaks of all rows, a further one of what is left.
    Some(if known { now / before } else { now })
}
