//! Orders that reading an index yields.

use crate::binder::Relation;
use crate::expr::{CmpOp, Expr, ExprKind};
use crate::plan::SortKey;
use crate::ranges::{Ranges, is_string};
use crate::typing::is_string_class;
use record::KeyPart;
use types::TypeKind;

/// What a key part gives an order by: (column, descending). The order of prefixes is not that of the values: such a part is no column.
pub(super) fn ordering_part(part: &KeyPart) -> (u32, bool) {
    (if part.prefix_chars.is_some() { u32::MAX } else { part.column as u32 }, part.descending)
}

/// Leading parts that hold one value in what is read. A parameter of another or yet unknown type may turn out to be a number: against a text
/// column that bounds nothing, and the rows come in the order of the whole index. A date may be two instants.
pub(super) fn sure_points(ranges: &Ranges, relation: &Relation, parts: &[(u32, bool)]) -> usize {
    let Some(prefix) = ranges.spec.any.first() else { return 0 };
    let sure = |column: u32, e: &Expr| {
        let ty = &relation.columns[column as usize].ty;
        match ty.kind {
            TypeKind::Timestamp => e.ty.kind == TypeKind::Timestamp,
            _ => !is_string(ty) || !matches!(e.kind, ExprKind::Param(_)) || is_string(&e.ty),
        }
    };
    prefix.points.iter().zip(parts).take_while(|(points, (column, _))| points.iter().all(|value| sure(*column, value))).count()
}

/// Whether reading an index in key order yields the wanted order: `Some(backward)`.
pub(super) fn order_matches(
    order: &[SortKey],
    relation: &Relation,
    parts: &[(u32, bool)],
    points: usize,
    conditions: &[Expr],
) -> Option<bool> {
    if order.is_empty() {
        return None;
    }
    let fixed = fixed_columns(relation, conditions);
    let mut at = 0;
    let mut backward: Option<bool> = None;
    for key in order {
        let ExprKind::Slot(slot) = key.expr.kind else {
            if key.expr.is_constant() {
                continue;
            }
            return None;
        };
        let column = relation.column_of(slot)? as u32;
        if fixed.contains(&column) {
            continue;
        }
        // Parts with one value do not disturb the order.
        while at < parts.len() && parts[at].0 != column && (at < points || fixed.contains(&parts[at].0)) {
            at += 1;
        }
        if at >= parts.len() {
            // Past a unique key every order holds; without knowing uniqueness the key is not matched.
            return None;
        }
        if parts[at].0 != column || key.collation != relation.columns[column as usize].ty.collation && is_string_class(&key.expr.ty) {
            return None;
        }
        let this = key.descending != parts[at].1;
        match backward {
            None => backward = Some(this),
            Some(b) if b != this => return None,
            _ => {}
        }
        at += 1;
    }
    Some(backward.unwrap_or(false))
}

/// Columns that conditions leave one value.
fn fixed_columns(relation: &Relation, conditions: &[Expr]) -> Vec<u32> {
    let column = |e: &Expr| match e.kind {
        ExprKind::Slot(slot) => relation.column_of(slot).map(|column| column as u32),
        _ => None,
    };
    let fixed = |condition: &Expr| {
        let ExprKind::Compare(CmpOp::Eq, collation, a, b) = &condition.kind else { return None };
        // In a comparison with conversion several values may equal one constant ('01' = 1).
        let one_value = |column: u32, constant: &Expr| {
            let ty = &relation.columns[column as usize].ty;
            let is_text = is_string_class(ty);
            constant.is_constant() && is_text == is_string_class(&constant.ty) && (!is_text || *collation == ty.collation)
        };
        match (column(a), column(b)) {
            (Some(column), None) if one_value(column, b) => Some(column),
            (None, Some(column)) if one_value(column, a) => Some(column),
            _ => None,
        }
    };
    conditions.iter().filter_map(fixed).collect()
}
