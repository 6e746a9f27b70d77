//! Arithmetic on two values: pure, so that rows one by one and columns by the batch come to the same result.
//!
//! What has no result (division by zero, out of range) is a [`Fault`]: who evaluates row by row turns it into MySQL's warning or error, a batch
//! lets the rows be evaluated one by one.

use crate::context::StatementContext;
use crate::convert::{self, Number, number, number_decimal, number_f64};
use planner::expr::ArithOp;
use types::{ColumnType, Decimal, SqlMode, TypeKind, Value};

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The divisor is zero.
    DivisionByZero,
    /// Past the range of this type.
    OutOfRange(&'static str),
    /// A string says no number, or more than one: [`lenient`] has what it is taken for, with a warning or an error.
    NotANumber,
}

/// Operands with strings made the doubles that they are taken for.
pub fn lenient(v: &Value) -> Value {
    match v {
        Value::Bytes(text) => Value::Double(types::parse_double_prefix(text)),
        other => other.clone(),
    }
}

/// `a op b`, of an expression of type `ty`.
#[inline]
pub fn arithmetic(op: ArithOp, a: &Value, b: &Value, ty: &ColumnType, context: &dyn StatementContext) -> Result<Value, Fault> {
    if a.is_null() || b.is_null() {
        return Ok(Value::Null);
    }
    if let (Value::Int(x), Value::Int(y)) = (a, b) {
        let result = match op {
            ArithOp::Add => x.checked_add(*y),
            ArithOp::Sub => x.checked_sub(*y),
            ArithOp::Mul => x.checked_mul(*y),
            _ => return other(op, a, b, ty, context),
        };
        return result.map(Value::Int).ok_or(Fault::OutOfRange("BIGINT"));
    }
    other(op, a, b, ty, context)
}

#[inline(never)]
fn other(op: ArithOp, a: &Value, b: &Value, ty: &ColumnType, context: &dyn StatementContext) -> Result<Value, Fault> {
    if convert::is_odd_number(a) || convert::is_odd_number(b) {
        return Err(Fault::NotANumber);
    }
    if matches!(op, ArithOp::BitAnd | ArithOp::BitOr | ArithOp::BitXor | ArithOp::ShiftLeft | ArithOp::ShiftRight) {
        let (x, y) = (convert::to_u64(a, context), convert::to_u64(b, context));
        return Ok(Value::UInt(match op {
            ArithOp::BitAnd => x & y,
            ArithOp::BitOr => x | y,
            ArithOp::BitXor => x ^ y,
            ArithOp::ShiftLeft => x.checked_shl(y.min(64) as u32).unwrap_or(0),
            _ => x.checked_shr(y.min(64) as u32).unwrap_or(0),
        }));
    }
    let (Some(x), Some(y)) = (number(a, context), number(b, context)) else { return Ok(Value::Null) };
    let (Number::Int(_) | Number::UInt(_), Number::Int(_) | Number::UInt(_)) = (&x, &y) else {
        return wide(op, &x, &y, ty, context);
    };
    let widened = |n: &Number| match n {
        Number::Int(i) => i128::from(*i),
        Number::UInt(u) => i128::from(*u),
        _ => 0,
    };
    let (i, j) = (widened(&x), widened(&y));
    let mut unsigned = matches!(x, Number::UInt(_)) || matches!(y, Number::UInt(_));
    let result = match op {
        ArithOp::Add => i.checked_add(j),
        ArithOp::Sub => {
            unsigned &= !context.sql_mode().contains(SqlMode::NO_UNSIGNED_SUBTRACTION);
            i.checked_sub(j)
        }
        ArithOp::Mul => i.checked_mul(j),
        ArithOp::Div => return wide(op, &x, &y, ty, context),
        ArithOp::IntDiv | ArithOp::Mod if j == 0 => return Err(Fault::DivisionByZero),
        ArithOp::IntDiv => i.checked_div(j),
        _ => {
            unsigned = matches!(x, Number::UInt(_));
            i.checked_rem(j)
        }
    };
    let fits = result.and_then(|r| if unsigned { u64::try_from(r).ok().map(Value::UInt) } else { i64::try_from(r).ok().map(Value::Int) });
    fits.ok_or(Fault::OutOfRange(if unsigned { "BIGINT UNSIGNED" } else { "BIGINT" }))
}

/// With a decimal or a double on a side, and quotients.
fn wide(op: ArithOp, x: &Number, y: &Number, ty: &ColumnType, context: &dyn StatementContext) -> Result<Value, Fault> {
    if matches!(x, Number::Double(_)) || matches!(y, Number::Double(_)) {
        let (p, q) = (number_f64(x), number_f64(y));
        let result = match op {
            ArithOp::Add => p + q,
            ArithOp::Sub => p - q,
            ArithOp::Mul => p * q,
            _ if q == 0.0 => return Err(Fault::DivisionByZero),
            ArithOp::Div => p / q,
            ArithOp::Mod => p % q,
            _ => {
                let d = (p / q).trunc();
                if !(-9.3e18..=1.9e19).contains(&d) {
                    return Err(Fault::OutOfRange("BIGINT"));
                }
                return Ok(if d > i64::MAX as f64 { Value::UInt(d as u64) } else { Value::Int(d as i64) });
            }
        };
        return if result.is_finite() { Ok(Value::Double(result)) } else { Err(Fault::OutOfRange("DOUBLE")) };
    }
    let (Some(p), Some(q)) = (number_decimal(x), number_decimal(y)) else { return Err(Fault::OutOfRange("DECIMAL")) };
    let result = match op {
        ArithOp::Add => p.add(&q),
        ArithOp::Sub => p.sub(&q),
        ArithOp::Mul => p.mul(&q),
        _ if q.is_zero() => return Err(Fault::DivisionByZero),
        // A quotient is rounded to the scale of its type before it is used further.
        ArithOp::Div => {
            let quotient = p.div(&q, u32::from(context.div_precision_increment()));
            let scale = (ty.kind == TypeKind::Decimal).then_some(ty.decimals);
            quotient.and_then(|d| scale.map_or(Some(d.clone()), |s| d.rescale(s)))
        }
        ArithOp::Mod => p.rem(&q),
        _ => match p.div_integer(&q) {
            Some(d) => {
                return match (d.to_i64(), d.to_u64()) {
                    (Ok(i), _) => Ok(Value::Int(i)),
                    (_, Ok(u)) => Ok(Value::UInt(u)),
                    _ => Err(Fault::OutOfRange("BIGINT")),
                };
            }
            None => None,
        },
    };
    result.map(Value::Decimal).ok_or(Fault::OutOfRange("DECIMAL"))
}

/// `-v`, of an expression of type `ty`.
pub fn negated(v: &Value, ty: &ColumnType, context: &dyn StatementContext) -> Result<Value, Fault> {
    if convert::is_odd_number(v) {
        return Err(Fault::NotANumber);
    }
    Ok(match number(v, context) {
        None => Value::Null,
        Some(Number::Int(i)) => Value::Int(i.checked_neg().ok_or(Fault::OutOfRange("BIGINT"))?),
        Some(Number::UInt(u)) => match i64::try_from(-i128::from(u)) {
            Ok(n) => Value::Int(n),
            Err(_) if ty.kind == TypeKind::Decimal => Value::Decimal(Decimal::new(-i128::from(u), 0)),
            Err(_) => return Err(Fault::OutOfRange("BIGINT")),
        },
        Some(Number::Decimal(d)) => Value::Decimal(d.negate()),
        Some(Number::Double(d)) => Value::Double(-d),
    })
}
