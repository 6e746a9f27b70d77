//! Arithmetic on two values: pure, so that rows one by one and columns by the batch come to the same result.
//!
//! What has no result (division by zero, out of range) is a [`Fault`]: who evaluates row by row turns it into MySQL's warning or error, a batch
//! lets the rows be evaluated one by one. The former is here, too: [`Exec::arith`].

use crate::bits;
use crate::context::StatementContext;
use crate::convert::{self, Number, number, number_decimal, number_f64};
use crate::errors::out_of_range;
use crate::exec::Exec;
use crate::run;
use mysql_error::codes;
use planner::explain::Names;
use planner::expr::{ArithOp, Expr, ExprKind, Link};
use types::{ColumnType, Decimal, SqlMode, TypeKind, Value};

/// Longest expression that a message shows.
const SPELLED_BYTES_MAX: usize = 400;

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The divisor is zero.
    DivisionByZero,
    /// Past the range of this type.
    OutOfRange(&'static str),
    /// A string says no number, or more than one: [`lenient`] has what it is taken for, with a warning or an error.
    NotANumber,
    /// Strings of bytes whose bits cannot be combined: they differ in length.
    UnequalLengths,
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
    if op.is_bitwise() {
        return bitwise(op, a, b, ty, context);
    }
    // DIV takes texts for decimals, of which an empty one is none.
    let empty = |v: &Value| op == ArithOp::IntDiv && matches!(v, Value::Bytes(text) if text.trim_ascii().is_empty());
    if convert::is_odd_number(a) || convert::is_odd_number(b) || empty(a) || empty(b) {
        return Err(Fault::NotANumber);
    }
    let (Some(x), Some(y)) = (number(a, context), number(b, context)) else { return Ok(Value::Null) };
    let whole = |n: &Number| matches!(n, Number::Int(_) | Number::UInt(_));
    // A moment whose fraction is zero is a decimal, too, where its type has digits for one.
    if ty.kind == TypeKind::Decimal || !whole(&x) || !whole(&y) {
        return wide(op, &x, &y, ty);
    }
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
        ArithOp::Div => return wide(op, &x, &y, ty),
        ArithOp::IntDiv | ArithOp::Mod if j == 0 => return Err(Fault::DivisionByZero),
        // The lowest BIGINT is no quotient in MySQL.
        ArithOp::IntDiv => i.checked_div(j).filter(|quotient| unsigned || *quotient != i128::from(i64::MIN)),
        _ => {
            unsigned = matches!(x, Number::UInt(_));
            i.checked_rem(j)
        }
    };
    let fits = result.and_then(|r| if unsigned { u64::try_from(r).ok().map(Value::UInt) } else { i64::try_from(r).ok().map(Value::Int) });
    fits.ok_or(Fault::OutOfRange(if unsigned { "BIGINT UNSIGNED" } else { "BIGINT" }))
}

/// Bit by bit: of strings where the type says so, else of numbers with 64 bits.
fn bitwise(op: ArithOp, a: &Value, b: &Value, ty: &ColumnType, context: &dyn StatementContext) -> Result<Value, Fault> {
    let shift = matches!(op, ArithOp::ShiftLeft | ArithOp::ShiftRight);
    if let (Value::Bytes(x), Value::Bytes(y)) = (a, b)
        && ty.kind.is_string()
        && !shift
    {
        let both = match op {
            ArithOp::BitAnd => bits::combined(x, y, |x, y| x & y),
            ArithOp::BitOr => bits::combined(x, y, |x, y| x | y),
            _ => bits::combined(x, y, |x, y| x ^ y),
        };
        return both.map(|bytes| Value::Bytes(bytes.into())).ok_or(Fault::UnequalLengths);
    }
    // What is no integer as it stands is told of.
    let odd = |v: &Value| match v {
        Value::Bytes(text) => !convert::integer_prefix(text, true).1,
        Value::Decimal(d) => d.to_i64().is_err(),
        _ => false,
    };
    let shifted = shifted_bytes(op, a, ty);
    if odd(b) || shifted.is_none() && odd(a) {
        return Err(Fault::NotANumber);
    }
    let y = convert::to_u64(b, context);
    if let Some(bytes) = shifted {
        let bytes = if op == ArithOp::ShiftLeft { bits::shifted_left(bytes, y) } else { bits::shifted_right(bytes, y) };
        return Ok(Value::Bytes(bytes.into()));
    }
    let x = convert::to_u64(a, context);
    Ok(Value::UInt(match op {
        ArithOp::BitAnd => x & y,
        ArithOp::BitOr => x | y,
        ArithOp::BitXor => x ^ y,
        ArithOp::ShiftLeft => x.checked_shl(y.min(64) as u32).unwrap_or(0),
        _ => x.checked_shr(y.min(64) as u32).unwrap_or(0),
    }))
}

/// What an operator of type `ty` shifts when that is not a number.
pub fn shifted_bytes<'v>(op: ArithOp, a: &'v Value, ty: &ColumnType) -> Option<&'v [u8]> {
    match a {
        Value::Bytes(bytes) if matches!(op, ArithOp::ShiftLeft | ArithOp::ShiftRight) && ty.kind.is_string() => Some(&bytes[..]),
        _ => None,
    }
}

/// With a decimal or a double on a side, and quotients.
fn wide(op: ArithOp, x: &Number, y: &Number, ty: &ColumnType) -> Result<Value, Fault> {
    // DIV divides decimals, whatever its operands are.
    let decimals = op == ArithOp::IntDiv && number_decimal(x).is_some() && number_decimal(y).is_some();
    if !decimals && (matches!(x, Number::Double(_)) || matches!(y, Number::Double(_))) {
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
        // A quotient is rounded to the scale of its type before it is used further; the type has `div_precision_increment` in it.
        ArithOp::Div if ty.kind == TypeKind::Decimal => {
            p.div(&q, u32::from(ty.decimals.saturating_sub(p.scale()))).and_then(|quotient| quotient.rescale(ty.decimals))
        }
        ArithOp::Div => p.div(&q, 0),
        ArithOp::Mod => p.rem(&q),
        _ => match p.div_integer(&q) {
            Some(d) => {
                return match ty.unsigned {
                    true => d.to_u64().map(Value::UInt).map_err(|_| Fault::OutOfRange("BIGINT UNSIGNED")),
                    false => d.to_i64().map(Value::Int).map_err(|_| Fault::OutOfRange("BIGINT")),
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

/// What gave the operands of arithmetic.
fn operands(e: &Expr) -> (&Expr, &Expr) {
    match &e.kind {
        ExprKind::Arith(_, a, b) => (a, b),
        // Arithmetic that was put in for something else: nothing is known of them.
        _ => (e, e),
    }
}

impl Exec<'_> {
    /// `a op b`, with what is to be told of its operands.
    #[inline]
    pub fn arith(&mut self, op: ArithOp, a: &Value, b: &Value, e: &Expr) -> run::Result<Value> {
        match arithmetic(op, a, b, &e.ty, &*self.context) {
            Ok(v) => Ok(v),
            Err(Fault::DivisionByZero) => self.division_by_zero(),
            Err(Fault::OutOfRange(kind)) => Err(out_of_range(kind, &self.spelled(e, || spell(op, a, b)))),
            Err(Fault::UnequalLengths) => Err(codes::invalid_bitwise_operands_size().into()),
            Err(Fault::NotANumber) if op.is_bitwise() => {
                let (of_a, of_b) = operands(e);
                if shifted_bytes(op, a, &e.ty).is_some() {
                    let count = self.bits_of_operand(b, of_b)?;
                    return self.arith(op, a, &Value::UInt(count), e);
                }
                let (x, y) = (self.bits_of_operand(a, of_a)?, self.bits_of_operand(b, of_b)?);
                self.arith(op, &Value::UInt(x), &Value::UInt(y), e)
            }
            Err(Fault::NotANumber) => {
                let (of_a, of_b) = operands(e);
                for (v, of) in [(a, of_a), (b, of_b)] {
                    if op == ArithOp::IntDiv { self.demand_decimal_of(v, of)? } else { self.odd_number("DOUBLE", v, of)? }
                }
                self.arith(op, &lenient(a), &lenient(b), e)
            }
        }
    }

    /// `first op a op b …`.
    #[inline(never)]
    pub(crate) fn arith_run(&mut self, first: &Expr, links: &[Link]) -> run::Result<Value> {
        planner::check_stack()?;
        let mut v = self.eval(first)?;
        for (n, link) in links.iter().enumerate() {
            let operand = self.eval(&link.operand)?;
            v = match arithmetic(link.op, &v, &operand, &link.ty, &*self.context) {
                Ok(v) => v,
                Err(_) => self.arith(link.op, &v, &operand, &step(first, links, n, &v))?,
            };
        }
        Ok(v)
    }

    /// x/0 is NULL; with ERROR_FOR_DIVISION_BY_ZERO a warning, or an error where a strict statement changes rows.
    fn division_by_zero(&mut self) -> run::Result<Value> {
        if self.context.sql_mode().contains(SqlMode::ERROR_FOR_DIVISION_BY_ZERO) {
            self.tell(codes::division_by_zero())?;
        }
        Ok(Value::Null)
    }

    /// `-v`.
    #[inline(never)]
    pub fn negate(&mut self, v: &Value, e: &Expr) -> run::Result<Value> {
        if convert::is_odd_number(v) {
            let of = if let ExprKind::Neg(of) = &e.kind { of } else { e };
            self.odd_number("DOUBLE", v, of)?;
            return self.negate(&lenient(v), e);
        }
        negated(v, &e.ty, &*self.context).map_err(|_| {
            let values = || {
                let mut shown = Vec::new();
                convert::append_text(v, e.ty.decimals, &*self.context, &mut shown);
                format!("-({})", String::from_utf8_lossy(&shown))
            };
            out_of_range("BIGINT", &self.spelled(e, values))
        })
    }

    /// An expression as messages show it: with the names of columns, or else (in expressions of a table's definition, and long ones) with its values.
    #[cold]
    #[inline(never)]
    pub(crate) fn spelled(&self, e: &Expr, values: impl FnOnce() -> String) -> String {
        fn with_values(e: &mut Expr, params: &[Value]) {
            if let ExprKind::Param(n) = e.kind
                && let Some(value) = params.get(n as usize)
            {
                e.kind = ExprKind::Literal(value.clone());
            }
            // The sign is an operator to MySQL.
            let amount = match &e.kind {
                ExprKind::Literal(Value::Int(n)) if *n < 0 => Some(Value::UInt(n.unsigned_abs())),
                ExprKind::Literal(Value::Decimal(d)) if d.is_negative() => Some(Value::Decimal(d.abs())),
                _ => None,
            };
            if let Some(amount) = amount {
                e.kind = ExprKind::Neg(Box::new(Expr { kind: ExprKind::Literal(amount), ty: e.ty.clone() }));
                return;
            }
            e.for_each_child_mut(&mut |child| with_values(child, params));
        }
        let mut shown = e.clone();
        with_values(&mut shown, self.params);
        let text = Names::of(self.plan).text(&shown, true);
        // What an operator computes in between has no name.
        if text.len() > SPELLED_BYTES_MAX || text.contains("<value>") { values() } else { text }
    }
}

/// An operator of a run as an operation of its own, where there is something to tell of it. What a message would not show is left out of its left operand, which
/// came to `v`.
#[cold]
fn step(first: &Expr, links: &[Link], n: usize, v: &Value) -> Expr {
    let a = match links[..n].last() {
        None => first.clone(),
        Some(before) if n < SPELLED_BYTES_MAX / 4 => {
            Expr { kind: ExprKind::Run(Box::new(first.clone()), links[..n].to_vec()), ty: before.ty.clone() }
        }
        Some(before) => Expr::literal(v.clone(), before.ty.clone()),
    };
    Expr { kind: ExprKind::Arith(links[n].op, Box::new(a), Box::new(links[n].operand.clone())), ty: links[n].ty.clone() }
}

fn spell(op: ArithOp, a: &Value, b: &Value) -> String {
    let show = |v: &Value| match v {
        Value::Int(i) => i.to_string(),
        Value::UInt(u) => u.to_string(),
        Value::Double(d) => d.to_string(),
        Value::Decimal(d) => {
            let mut out = Vec::new();
            d.write_to(&mut out);
            String::from_utf8_lossy(&out).into_owned()
        }
        Value::Bytes(b) => format!("'{}'", b.to_text()),
        other => format!("{other:?}"),
    };
    format!("({} {} {})", show(a), op.symbol(), show(b))
}
