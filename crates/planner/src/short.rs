//! Recognition of short plans: statements that need no operators, only a key and a row.
//!
//! A short plan stands beside the ordinary one. At execution its parameters may turn out not to fit
//! the key exactly (a string for a number, NULL, a value out of range); then the ordinary plan runs.

use crate::expr::{CmpOp, Expr, ExprKind, Slot};
use crate::plan::{Access, Body, LockMode, Node, Plan, RangeSpec, TableNode};

/// A short plan.
#[derive(Debug)]
pub enum ShortPlan {
    /// `SELECT columns FROM t WHERE primary key = …`.
    PointGet(PointGet),
    /// `SELECT columns FROM t WHERE primary key IN (…)`.
    MultiPointGet(ShortRange),
    /// `SELECT columns FROM t WHERE` bounds on the primary key.
    Range(ShortRange),
    /// `UPDATE t SET … WHERE primary key = …`.
    PointUpdate(PointWrite),
    /// `DELETE FROM t WHERE primary key = …`.
    PointDelete(PointWrite),
}

/// A read by primary key.
#[derive(Debug)]
pub struct PointGet {
    /// Position in [`Plan::tables`].
    pub table: u32,
    /// A constant or parameter for each key part.
    pub key: Vec<Expr>,
    /// Columns to emit.
    pub columns: Vec<u32>,
    /// Locking.
    pub lock: LockMode,
}

/// A read of primary key ranges.
#[derive(Debug)]
pub struct ShortRange {
    /// Position in [`Plan::tables`].
    pub table: u32,
    /// Ranges.
    pub spec: RangeSpec,
    /// Columns to emit.
    pub columns: Vec<u32>,
}

/// A change by primary key.
#[derive(Debug)]
pub struct PointWrite {
    /// Position in [`Plan::tables`].
    pub table: u32,
    /// A constant or parameter for each key part.
    pub key: Vec<Expr>,
}

/// Finds the short form of a plan.
pub fn recognise(plan: &Plan) -> Option<ShortPlan> {
    if !plan.subplans.is_empty() {
        return None;
    }
    match &plan.body {
        Body::Query(q) => {
            let Node::Table(t) = &q.root else { return None };
            let columns = q
                .output
                .iter()
                .map(|e| match e.kind {
                    ExprKind::Slot(s) => t.columns.iter().find(|(_, slot)| *slot == s).map(|(c, _)| *c),
                    _ => None,
                })
                .collect::<Option<Vec<u32>>>()?;
            if let Some(key) = point_key(plan, t) {
                return Some(ShortPlan::PointGet(PointGet { table: t.table, key, columns, lock: t.lock }));
            }
            let Access::Index { index: 0, ranges: Some(spec), backward: false, covering: false, .. } = &t.access else { return None };
            if t.lock != LockMode::None || !filter_is_ranges(plan, t, spec) {
                return None;
            }
            let parts = plan.tables[t.table as usize].def.indexes[0].parts.len();
            let points = spec.any.iter().all(|a| a.interval.is_none() && a.points.len() == parts);
            let range = ShortRange { table: t.table, spec: spec.clone(), columns };
            Some(if points { ShortPlan::MultiPointGet(range) } else { ShortPlan::Range(range) })
        }
        Body::Update(u) => {
            let (Node::Table(t), [target], None, false) = (&u.input, u.targets.as_slice(), &u.limit, u.ignore) else { return None };
            let key = point_key(plan, t)?;
            let key_parts = &plan.tables[t.table as usize].def.indexes[0].parts;
            let moves = target.set.iter().any(|(c, _)| key_parts.iter().any(|p| p.column == *c as usize));
            let plain = target.set.iter().all(|(_, e)| {
                !e.any(&mut |x| matches!(x.kind, ExprKind::Subquery(..) | ExprKind::AssignVariable(..) | ExprKind::NoDefault(_)))
                    && !e.any(&mut |x| matches!(&x.kind, ExprKind::Func(f, _) if f.is_volatile()))
            });
            (plain && !moves).then_some(ShortPlan::PointUpdate(PointWrite { table: t.table, key }))
        }
        Body::Delete(d) => {
            let (Node::Table(t), [_], None, false) = (&d.input, d.targets.as_slice(), &d.limit, d.ignore) else { return None };
            let key = point_key(plan, t)?;
            Some(ShortPlan::PointDelete(PointWrite { table: t.table, key }))
        }
        Body::Insert(_) => None,
    }
}

/// The key of a node that reads one row by its whole primary key and tests nothing else.
fn point_key(plan: &Plan, t: &TableNode) -> Option<Vec<Expr>> {
    let Access::Index { index: 0, ranges: Some(spec), unique: true, .. } = &t.access else { return None };
    let [only] = spec.any.as_slice() else { return None };
    let parts = &plan.tables[t.table as usize].def.indexes[0].parts;
    if only.interval.is_some() || only.points.len() != parts.len() {
        return None;
    }
    let mut key = Vec::with_capacity(parts.len());
    for points in &only.points {
        let [point] = points.as_slice() else { return None };
        if point.null_safe || !matches!(point.value.kind, ExprKind::Literal(_) | ExprKind::Param(_)) {
            return None;
        }
        key.push(point.value.clone());
    }
    filter_is_ranges(plan, t, spec).then_some(key)
}

/// Whether the filter says no more than the ranges do.
fn filter_is_ranges(plan: &Plan, t: &TableNode, spec: &RangeSpec) -> bool {
    let Some(filter) = &t.filter else { return true };
    let [only] = spec.any.as_slice() else { return false };
    let parts = &plan.tables[t.table as usize].def.indexes[0].parts;
    let mut conjuncts = Vec::new();
    filter.clone().into_conjuncts(&mut conjuncts);
    let constant = |e: &Expr| matches!(e.kind, ExprKind::Literal(_) | ExprKind::Param(_));
    let part_of = |e: &Expr| -> Option<usize> {
        let ExprKind::Slot(s) = e.kind else { return None };
        let column = t.columns.iter().find(|(_, slot): &&(u32, Slot)| *slot == s)?.0;
        parts.iter().position(|p| p.column == column as usize && p.prefix_chars.is_none())
    };
    let mut point_conditions = vec![0; only.points.len()];
    for c in &conjuncts {
        match &c.kind {
            ExprKind::Compare(op, _, a, b) => {
                let (part, op) = match (part_of(a), part_of(b)) {
                    (Some(p), None) if constant(b) => (p, *op),
                    (None, Some(p)) if constant(a) => (p, op.flipped()),
                    _ => return false,
                };
                match op {
                    CmpOp::Eq if part < only.points.len() => point_conditions[part] += 1,
                    CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge if part == only.points.len() && only.interval.is_some() => {}
                    _ => return false,
                }
            }
            ExprKind::Between { operand, low, high, negated: false, .. } => match part_of(operand) {
                Some(p) if p == only.points.len() && only.interval.is_some() && constant(low) && constant(high) => {}
                _ => return false,
            },
            ExprKind::InList { operand, list, negated: false, .. } => match part_of(operand) {
                Some(p) if p < only.points.len() && list.iter().all(constant) => point_conditions[p] += 1,
                _ => return false,
            },
            _ => return false,
        }
    }
    point_conditions.iter().all(|n| *n == 1) && !only.points.iter().flatten().any(|p| p.null_safe)
}
