//! What testing conditions costs, beside reading the rows: comparing texts takes as long as reading several rows, searching in long ones as many hundred.
//!
//! In the units of `access.rs`, measured on tables of WordPress (rows of 1.6 KiB, `utf8mb4_unicode_520_ci`): a scan that tests a number takes 40 ns a row, one that
//! compares a text 100 ns more, LIKE 70 to 110 more for short ones and 2 µs for an article, YEAR() 85 (docs/performance.md, What the planner's costs are).

use crate::expr::{Expr, ExprKind};
use crate::ranges::{Ranges, Said};
use crate::selectivity::selectivity;
use crate::typing::is_string_class;
use types::{ColumnType, TypeKind};

/// Comparing two texts.
const TEXT_COST: f64 = 4.0;
/// Comparing with a further text of a list.
const LISTED_COST: f64 = 1.0;
/// Searching in a text that may be long.
const LONG_TEXT_COST: f64 = 50.0;
/// Calling a function.
const CALL_COST: f64 = 4.0;

/// Testing conditions on a row, one after the other as long as they hold.
pub(super) fn of_any(conditions: &[Expr]) -> f64 {
    after_each_other(conditions.iter().map(|e| (e, selectivity(e))))
}

/// Testing them on a row that ranges lead to: what these say holds of all, and most of it is not tested.
pub(super) fn behind(ranges: &Ranges, conditions: &[Expr]) -> f64 {
    let holds = |(e, said): (_, &Said)| (e, if *said == Said::All { 1.0 } else { selectivity(e) });
    let tested = conditions.iter().zip(&ranges.said).zip(&ranges.left).filter(|(_, left)| !**left);
    after_each_other(tested.map(|(condition, _)| holds(condition)))
}

fn after_each_other<'e>(tests: impl Iterator<Item = (&'e Expr, f64)>) -> f64 {
    let (mut cost, mut left) = (0.0, 1.0);
    for (e, share) in tests {
        cost += left * of(e);
        left *= share;
    }
    cost
}

/// One condition. Of a subquery nothing: it is asked of what the others leave, on whichever way that was found.
fn of(e: &Expr) -> f64 {
    let mut cost = match &e.kind {
        ExprKind::Compare(_, _, a, b) if is_string_class(&a.ty) && is_string_class(&b.ty) => TEXT_COST,
        ExprKind::Between { operand, .. } if is_string_class(&operand.ty) => 2.0 * TEXT_COST,
        ExprKind::InList { operand, list, .. } if is_string_class(&operand.ty) => TEXT_COST + LISTED_COST * list.len() as f64,
        ExprKind::Like { operand, .. } => {
            if may_be_long(&operand.ty) {
                LONG_TEXT_COST
            } else {
                TEXT_COST
            }
        }
        ExprKind::Func(..) => CALL_COST,
        _ => 0.0,
    };
    match &e.kind {
        ExprKind::InList { operand, list, .. } if list.are_values() => cost += of(operand),
        _ => e.for_each_child(&mut |child| cost += of(child)),
    }
    cost
}

fn may_be_long(ty: &ColumnType) -> bool {
    use TypeKind::{Blob, Json, LongBlob, LongText, MediumBlob, MediumText, Text};
    matches!(ty.kind, Text | MediumText | LongText | Blob | MediumBlob | LongBlob | Json)
}
