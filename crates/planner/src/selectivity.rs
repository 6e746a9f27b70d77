//! What share of a table's rows a condition lets pass: by a histogram of the column where there is one, otherwise by a guess.

use crate::access::known_value;
use crate::binder::{Binder, Relation, Source};
use crate::expr::{CmpOp, Expr, ExprKind};
use catalog::histogram::{Histogram, Order};
use std::collections::HashMap;
use types::{ColumnType, Value};

/// The least share that is told: a value that nobody has seen may be there.
const SHARE_MIN: f64 = 1e-6;

/// Guessed share of rows for which a condition holds.
pub fn selectivity(e: &Expr) -> f64 {
    match &e.kind {
        ExprKind::Compare(CmpOp::Eq | CmpOp::NullSafeEq, ..) => 0.1,
        ExprKind::Compare(CmpOp::Ne, ..) => 0.9,
        ExprKind::Compare(..) => 0.33,
        ExprKind::Between { negated: false, .. } => 0.11,
        ExprKind::InList { list, negated: false, .. } => (0.1 * list.len() as f64).min(0.5),
        ExprKind::InRows { list, negated: false, .. } => (0.05 * list.len() as f64).min(0.5),
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

impl Binder<'_> {
    /// The share of each of the conditions on a relation, as if those before it held: two bounds of one column are an interval.
    pub fn shares(&self, relation: &Relation, conditions: &[Expr]) -> Vec<f64> {
        let told = match relation.source {
            Source::Base(table) => self.tables[table as usize].def.columns.iter().any(|column| column.histogram.is_some()),
            _ => false,
        };
        if !told {
            return conditions.iter().map(selectivity).collect();
        }
        let mut bounds = Bounds::new();
        conditions.iter().map(|e| self.share(relation, e, &mut bounds)).collect()
    }

    fn share(&self, relation: &Relation, e: &Expr, bounds: &mut Bounds) -> f64 {
        self.told_share(relation, e, bounds).map_or_else(|| selectivity(e), |share| share.clamp(SHARE_MIN, 1.0))
    }

    /// What histograms tell of a condition.
    fn told_share(&self, relation: &Relation, e: &Expr, bounds: &mut Bounds) -> Option<f64> {
        let own = |e: &Expr| self.share(relation, e, &mut Bounds::new());
        match &e.kind {
            ExprKind::And(list) => Some(list.iter().map(|e| self.share(relation, e, bounds)).product()),
            // As if the branches had nothing to do with each other.
            ExprKind::Or(list) => Some(1.0 - list.iter().map(|e| 1.0 - own(e)).product::<f64>()),
            ExprKind::Not(e) => Some(1.0 - own(e)),
            ExprKind::Compare(op, _, a, b) => {
                let ((at, ty, histogram), op, constant) = match self.histogram(relation, a) {
                    Some(column) => (column, *op, b),
                    None => (self.histogram(relation, b)?, op.flipped(), a),
                };
                let (order, value) = self.constant(ty, constant)?;
                match op {
                    CmpOp::Eq | CmpOp::NullSafeEq => histogram.equal(order, &value),
                    CmpOp::Ne => Some(histogram.not_null() - histogram.equal(order, &value)?),
                    CmpOp::Lt | CmpOp::Le => narrowed(at, histogram, None, Some(histogram.below(order, &value, op == CmpOp::Le)?), bounds),
                    CmpOp::Gt | CmpOp::Ge => narrowed(at, histogram, Some(histogram.below(order, &value, op == CmpOp::Gt)?), None, bounds),
                }
            }
            ExprKind::Between { operand, low, high, negated, .. } => {
                let (at, ty, histogram) = self.histogram(relation, operand)?;
                let ((order, low), (other, high)) = (self.constant(ty, low)?, self.constant(ty, high)?);
                let (from, to) = (histogram.below(order, &low, false)?, histogram.below(other, &high, true)?);
                match negated {
                    true => Some(histogram.not_null() - (to - from).max(0.0)),
                    false => narrowed(at, histogram, Some(from), Some(to), bounds),
                }
            }
            ExprKind::InList { operand, list, negated, .. } => {
                let (_, ty, histogram) = self.histogram(relation, operand)?;
                let mut share = 0.0;
                for item in list {
                    let (order, value) = self.constant(ty, item)?;
                    share += histogram.equal(order, &value)?;
                }
                Some(if *negated { histogram.not_null() - share } else { share })
            }
            ExprKind::IsNull { operand, negated } => {
                let (_, _, histogram) = self.histogram(relation, operand)?;
                Some(if *negated { histogram.not_null() } else { histogram.nulls })
            }
            _ => None,
        }
    }

    /// The histogram of a column: with its position and type.
    fn histogram(&self, relation: &Relation, e: &Expr) -> Option<(usize, &ColumnType, &Histogram)> {
        let (ExprKind::Slot(slot), Source::Base(table)) = (&e.kind, &relation.source) else { return None };
        let at = relation.slots.iter().position(|s| s.as_ref() == Some(slot))?;
        let column = &self.tables[*table as usize].def.columns[at];
        Some((at, &column.ty, column.histogram.as_deref()?))
    }

    /// A value that is known while planning, and how a column compares with it.
    fn constant(&self, ty: &ColumnType, e: &Expr) -> Option<(Order, Value)> {
        let value = known_value(e, self.context.params()).filter(|value| !value.is_null())?;
        let of = match &value {
            Value::Date(_) | Value::DateTime(_) => ColumnType::temporal(types::TypeKind::DateTime, 6),
            Value::Bytes(_) => ColumnType::varchar(1, ty.collation),
            Value::Int(_) | Value::UInt(_) => ColumnType::bigint(),
            Value::Decimal(_) => ColumnType::decimal(65, 30),
            _ => e.ty.clone(),
        };
        Some((Order::with(ty, &of)?, value))
    }
}

/// The share of what a column's conditions so far have left that is between two more bounds.
fn narrowed(column: usize, histogram: &Histogram, from: Option<f64>, to: Option<f64>, bounds: &mut Bounds) -> Option<f64> {
    let had = bounds.get(&column).copied().unwrap_or((0.0, histogram.not_null()));
    let has = (from.map_or(had.0, |from| from.max(had.0)), to.map_or(had.1, |to| to.min(had.1)));
    let known = bounds.insert(column, has).is_some();
    let (before, now) = ((had.1 - had.0).max(SHARE_MIN), (has.1 - has.0).max(0.0));
    // The first bound speaks of all rows, a further one of what is left.
    Some(if known { now / before } else { now })
}
