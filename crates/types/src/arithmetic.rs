//! The arithmetic operators on values: exact for integers and decimals, doubles as soon as an operand is one or is a string.
//!
//! NULL in, NULL out. Temporal operands are converted first ([`numeric_operand`]): a date is the number of its digits.

use crate::{Decimal, Value, parse_double_prefix};

/// Why an operation has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArithmeticError {
    /// 1690: the kind's name for the message, such as `BIGINT UNSIGNED`.
    OutOfRange(&'static str),
    /// The result is NULL, with warning 1365 under ERROR_FOR_DIVISION_BY_ZERO.
    DivisionByZero,
}

/// The operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArithmeticOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `DIV`
    IntegerDivide,
    /// `%`
    Modulo,
}

const BIGINT: &str = "BIGINT";
const BIGINT_UNSIGNED: &str = "BIGINT UNSIGNED";
const DECIMAL: &str = "DECIMAL";
const DOUBLE: &str = "DOUBLE";

/// What arithmetic needs to know of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArithmeticContext {
    /// `div_precision_increment`.
    pub division_scale_increment: u8,
    /// NO_UNSIGNED_SUBTRACTION.
    pub signed_subtraction: bool,
}

impl Default for ArithmeticContext {
    fn default() -> Self {
        ArithmeticContext { division_scale_increment: 4, signed_subtraction: false }
    }
}

/// A value as arithmetic sees it: integers, decimals and doubles as they are, strings as doubles, temporal values as numbers (with a
/// fraction as decimals).
pub fn numeric_operand(value: &Value) -> Value {
    let with_fraction = |number: i64, microsecond: u32| {
        if microsecond == 0 {
            return Value::Int(number);
        }
        let micros = i128::from(number.unsigned_abs()) * 1_000_000 + i128::from(microsecond);
        Value::Decimal(Decimal::new(if number < 0 { -micros } else { micros }, 6))
    };
    match value {
        Value::Bytes(text) => Value::Double(parse_double_prefix(text)),
        Value::Float(v) => Value::Double(f64::from(*v)),
        Value::Date(v) => Value::Int(v.to_number() as i64),
        Value::DateTime(v) => with_fraction(v.to_number() as i64, v.microsecond()),
        Value::Time(v) => with_fraction(v.to_number(), v.microsecond()),
        other => other.clone(),
    }
}

/// Applies an operator.
#[inline]
pub fn arithmetic(op: ArithmeticOp, a: &Value, b: &Value, context: ArithmeticContext) -> Result<Value, ArithmeticError> {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Int(x), Value::Int(y)) => signed(op, *x, *y, context),
        (Value::Int(_) | Value::UInt(_), Value::Int(_) | Value::UInt(_)) => mixed(op, a, b, context),
        (Value::Double(x), Value::Double(y)) => double(op, *x, *y),
        (Value::Int(_) | Value::UInt(_) | Value::Decimal(_), Value::Int(_) | Value::UInt(_) | Value::Decimal(_)) => {
            decimal(op, &as_decimal(a), &as_decimal(b), context)
        }
        (
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_),
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_),
        ) => double(op, crate::compare::to_f64(a), crate::compare::to_f64(b)),
        (Value::Timestamp(_), _) | (_, Value::Timestamp(_)) => {
            // The caller shows it in its zone first; as a number it is its seconds.
            double(op, crate::compare::to_f64(a), crate::compare::to_f64(b))
        }
        _ => arithmetic(op, &numeric_operand(a), &numeric_operand(b), context),
    }
}

fn as_decimal(value: &Value) -> Decimal {
    match value {
        Value::Int(v) => Decimal::from(*v),
        Value::UInt(v) => Decimal::from(*v),
        Value::Decimal(v) => v.clone(),
        _ => Decimal::ZERO,
    }
}

#[inline]
fn signed(op: ArithmeticOp, x: i64, y: i64, context: ArithmeticContext) -> Result<Value, ArithmeticError> {
    let result = match op {
        ArithmeticOp::Add => x.checked_add(y),
        ArithmeticOp::Subtract => x.checked_sub(y),
        ArithmeticOp::Multiply => x.checked_mul(y),
        ArithmeticOp::Divide => return decimal(op, &Decimal::from(x), &Decimal::from(y), context),
        ArithmeticOp::IntegerDivide | ArithmeticOp::Modulo if y == 0 => return Err(ArithmeticError::DivisionByZero),
        ArithmeticOp::IntegerDivide => x.checked_div(y),
        // The remainder of the one case that overflows is 0.
        ArithmeticOp::Modulo => Some(x.wrapping_rem(y)),
    };
    result.map(Value::Int).ok_or(ArithmeticError::OutOfRange(BIGINT))
}

/// At least one operand is unsigned: so is the result, except of a remainder, which has the sign and type of its left operand.
fn mixed(op: ArithmeticOp, a: &Value, b: &Value, context: ArithmeticContext) -> Result<Value, ArithmeticError> {
    let wide = |value: &Value| match value {
        Value::Int(v) => i128::from(*v),
        Value::UInt(v) => i128::from(*v),
        _ => 0,
    };
    let (x, y) = (wide(a), wide(b));
    let result = match op {
        ArithmeticOp::Add => x + y,
        ArithmeticOp::Subtract => x - y,
        ArithmeticOp::Multiply => x.checked_mul(y).ok_or(ArithmeticError::OutOfRange(BIGINT_UNSIGNED))?,
        ArithmeticOp::Divide => return decimal(op, &as_decimal(a), &as_decimal(b), context),
        ArithmeticOp::IntegerDivide | ArithmeticOp::Modulo if y == 0 => return Err(ArithmeticError::DivisionByZero),
        ArithmeticOp::IntegerDivide => x / y,
        ArithmeticOp::Modulo => x % y,
    };
    let is_signed =
        (op == ArithmeticOp::Subtract && context.signed_subtraction) || (op == ArithmeticOp::Modulo && matches!(a, Value::Int(_)));
    if is_signed {
        i64::try_from(result).map(Value::Int).map_err(|_| ArithmeticError::OutOfRange(BIGINT))
    } else {
        u64::try_from(result).map(Value::UInt).map_err(|_| ArithmeticError::OutOfRange(BIGINT_UNSIGNED))
    }
}

fn decimal(op: ArithmeticOp, x: &Decimal, y: &Decimal, context: ArithmeticContext) -> Result<Value, ArithmeticError> {
    let divides = matches!(op, ArithmeticOp::Divide | ArithmeticOp::IntegerDivide | ArithmeticOp::Modulo);
    if divides && y.is_zero() {
        return Err(ArithmeticError::DivisionByZero);
    }
    let result = match op {
        ArithmeticOp::Add => x.add(y),
        ArithmeticOp::Subtract => x.sub(y),
        ArithmeticOp::Multiply => x.mul(y),
        ArithmeticOp::Divide => x.div(y, u32::from(context.division_scale_increment)),
        ArithmeticOp::Modulo => x.rem(y),
        ArithmeticOp::IntegerDivide => {
            let quotient = x.div_integer(y).ok_or(ArithmeticError::OutOfRange(BIGINT))?;
            return quotient.to_i64().map(Value::Int).map_err(|_| ArithmeticError::OutOfRange(BIGINT));
        }
    };
    result.map(Value::Decimal).ok_or(ArithmeticError::OutOfRange(DECIMAL))
}

fn double(op: ArithmeticOp, x: f64, y: f64) -> Result<Value, ArithmeticError> {
    let divides = matches!(op, ArithmeticOp::Divide | ArithmeticOp::IntegerDivide | ArithmeticOp::Modulo);
    if divides && y == 0.0 {
        return Err(ArithmeticError::DivisionByZero);
    }
    let result = match op {
        ArithmeticOp::Add => x + y,
        ArithmeticOp::Subtract => x - y,
        ArithmeticOp::Multiply => x * y,
        ArithmeticOp::Divide => x / y,
        ArithmeticOp::Modulo => x % y,
        ArithmeticOp::IntegerDivide => {
            let quotient = (x / y).trunc();
            // 2^63 is the first double past BIGINT.
            let in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&quotient);
            return if in_range { Ok(Value::Int(quotient as i64)) } else { Err(ArithmeticError::OutOfRange(BIGINT)) };
        }
    };
    if result.is_finite() { Ok(Value::Double(result)) } else { Err(ArithmeticError::OutOfRange(DOUBLE)) }
}

/// `-value`.
pub fn negate(value: &Value) -> Result<Value, ArithmeticError> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Int(v) => v.checked_neg().map(Value::Int).ok_or(ArithmeticError::OutOfRange(BIGINT)),
        Value::UInt(v) => i64::try_from(-i128::from(*v)).map(Value::Int).map_err(|_| ArithmeticError::OutOfRange(BIGINT)),
        Value::Decimal(v) => Ok(Value::Decimal(v.negate())),
        Value::Double(v) => Ok(Value::Double(-v)),
        Value::Timestamp(_) => Ok(Value::Double(-crate::compare::to_f64(value))),
        other => negate(&numeric_operand(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Date;

    fn check(op: ArithmeticOp, a: Value, b: Value, expect: Result<Value, ArithmeticError>) {
        assert_eq!(arithmetic(op, &a, &b, ArithmeticContext::default()), expect, "{a:?} {op:?} {b:?}");
    }

    #[test]
    fn operators_by_hand() {
        use ArithmeticError::*;
        use ArithmeticOp::*;
        let dec = |unscaled, scale| Value::Decimal(Decimal::new(unscaled, scale));
        check(Add, Value::Int(i64::MAX), Value::Int(1), Err(OutOfRange("BIGINT")));
        check(Add, Value::UInt(u64::MAX), Value::Int(1), Err(OutOfRange("BIGINT UNSIGNED")));
        check(Subtract, Value::Int(1), Value::UInt(2), Err(OutOfRange("BIGINT UNSIGNED")));
        check(Subtract, Value::UInt(3), Value::Int(2), Ok(Value::UInt(1)));
        check(Multiply, dec(15, 1), dec(1555, 3), Ok(dec(23325, 4)));
        check(Divide, Value::Int(10), Value::Int(4), Ok(dec(2_500_000_000, 9)));
        check(Divide, Value::Int(1), Value::Int(0), Err(DivisionByZero));
        check(IntegerDivide, Value::Int(-7), Value::Int(2), Ok(Value::Int(-3)));
        check(IntegerDivide, dec(75, 1), Value::Int(2), Ok(Value::Int(3)));
        check(IntegerDivide, Value::Int(i64::MIN), Value::Int(-1), Err(OutOfRange("BIGINT")));
        check(Modulo, Value::Int(-7), Value::Int(3), Ok(Value::Int(-1)));
        check(Modulo, Value::Int(i64::MIN), Value::Int(-1), Ok(Value::Int(0)));
        check(Modulo, dec(55, 1), Value::Int(2), Ok(dec(15, 1)));
        check(Add, Value::from("1.5x"), Value::Int(1), Ok(Value::Double(2.5)));
        check(Multiply, Value::Double(1e308), Value::Int(10), Err(OutOfRange("DOUBLE")));
        check(Add, Value::Date(Date::from_fields(2024, 1, 2)), Value::Int(1), Ok(Value::Int(20_240_103)));
        check(Add, Value::Null, Value::Int(1), Ok(Value::Null));
        assert_eq!(negate(&Value::Int(i64::MIN)), Err(OutOfRange("BIGINT")));
        assert_eq!(negate(&Value::UInt(1 << 63)), Ok(Value::Int(i64::MIN)));
        let signed = ArithmeticContext { signed_subtraction: true, ..ArithmeticContext::default() };
        assert_eq!(arithmetic(Subtract, &Value::UInt(1), &Value::UInt(2), signed), Ok(Value::Int(-1)));
    }
}
