//! Values that are known when a statement is planned: of constants, and how far two bounds are from each other.

use crate::expr::{ArithOp, Expr, ExprKind, Slot, Unit};
use crate::plan::Interval;
use types::Value;

/// The value of a constant, as far as it is known at planning: integer arithmetic is done.
pub(crate) fn known_value(e: &Expr, params: &[Value]) -> Option<Value> {
    match &e.kind {
        ExprKind::Literal(v) => Some(v.clone()),
        ExprKind::Param(n) => params.get(*n as usize).cloned(),
        ExprKind::Arith(op, a, b) => match (op, known_value(a, params)?, known_value(b, params)?) {
            (ArithOp::Add, Value::Int(a), Value::Int(b)) => a.checked_add(b).map(Value::Int),
            (ArithOp::Sub, Value::Int(a), Value::Int(b)) => a.checked_sub(b).map(Value::Int),
            _ => None,
        },
        ExprKind::DateAdd { date, amount, unit, negated } => {
            let amount = match known_value(amount, params)? {
                Value::Bytes(text) => std::str::from_utf8(&text).ok()?.trim().parse::<i64>().ok()?,
                Value::Int(n) => n,
                _ => return None,
            };
            shifted(known_value(date, params)?, if *negated { amount.checked_neg()? } else { amount }, *unit)
        }
        _ => None,
    }
}

/// A date some days, months or years on.
fn shifted(date: Value, by: i64, unit: Unit) -> Option<Value> {
    let at = match &date {
        Value::Date(date) => types::DateTime::from_date(*date),
        Value::DateTime(at) => *at,
        Value::Bytes(text) => types::parse_datetime(text, types::SqlMode::NONE)?,
        _ => return None,
    };
    Some(Value::DateTime(match unit {
        Unit::Day => at.add_micros(by.checked_mul(86_400_000_000)?)?,
        Unit::Week => at.add_micros(by.checked_mul(7 * 86_400_000_000)?)?,
        Unit::Month => at.add_months(by)?,
        Unit::Quarter => at.add_months(by.checked_mul(3)?)?,
        Unit::Year => at.add_months(by.checked_mul(12)?)?,
        _ => return None,
    }))
}

/// Integers between `x + a` and `x + b`, where both bounds hang on the same column of an earlier table.
pub(super) fn width(interval: &Interval, params: &[Value]) -> Option<f64> {
    fn linear(e: &Expr, params: &[Value]) -> Option<(Option<Slot>, i64)> {
        match &e.kind {
            ExprKind::Slot(s) => Some((Some(*s), 0)),
            ExprKind::Arith(op @ (ArithOp::Add | ArithOp::Sub), a, b) => {
                let (slot, at) = linear(a, params)?;
                let Value::Int(by) = known_value(b, params)? else { return None };
                let at = if *op == ArithOp::Add { at.checked_add(by) } else { at.checked_sub(by) };
                Some((slot, at?))
            }
            _ => match known_value(e, params)? {
                Value::Int(i) => Some((None, i)),
                _ => None,
            },
        }
    }
    let ([(low, _)], [(high, _)]) = (interval.low.as_slice(), interval.high.as_slice()) else { return None };
    let ((x, from), (y, to)) = (linear(low, params)?, linear(high, params)?);
    (x == y).then(|| (to.saturating_sub(from) as f64).max(1.0))
}
