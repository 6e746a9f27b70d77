//! Arithmetic over columns.

use crate::arithmetic::arithmetic;
use crate::batch::column::{Column, Data};
use crate::batch::expression::{Filler, Vector};
use crate::context::StatementContext;
use planner::expr::ArithOp;
use types::{ColumnType, Decimal, Value};

/// `a op b` for some rows, of an expression of type `ty`; `None` when a row has no result (overflow, division by zero).
pub fn arithmetic_columns(
    op: ArithOp,
    a: &Vector<'_>,
    b: &Vector<'_>,
    ty: &ColumnType,
    rows: &[u16],
    len: usize,
    context: &dyn StatementContext,
) -> Option<Column> {
    if matches!(op, ArithOp::Add | ArithOp::Sub | ArithOp::Mul)
        && let (Some(x), Some(y)) = (Exact::of(a), Exact::of(b))
    {
        if x.scale.is_none() && y.scale.is_none() {
            let values = integers(op, &x, &y, rows, len)?;
            return Some(with_nulls(Column::of(Data::Int(values), len), a, b, rows));
        }
        // Past 128 bits: below, digit by digit.
        if let Some((values, scale)) = decimals(op, &x, &y, rows, len) {
            return Some(with_nulls(Column::of(Data::Decimal(values, scale), len), a, b, rows));
        }
    }
    if matches!(op, ArithOp::Add | ArithOp::Sub | ArithOp::Mul)
        && (is_double(a) || is_double(b))
        && let (Some(x), Some(y)) = (doubles(a), doubles(b))
    {
        let mut out = vec![0.0; len];
        let mut finite = true;
        for row in rows {
            let at = usize::from(*row);
            let (p, q) = (x(at), y(at));
            let result = match op {
                ArithOp::Add => p + q,
                ArithOp::Sub => p - q,
                _ => p * q,
            };
            finite &= result.is_finite();
            out[at] = result;
        }
        return finite.then(|| with_nulls(Column::of(Data::Double(out), len), a, b, rows));
    }
    let mut out = Filler::new(len);
    for row in rows {
        let at = usize::from(*row);
        out.put(at, &arithmetic(op, &a.value(at), &b.value(at), ty, context).ok()?);
    }
    Some(out.finish())
}

fn with_nulls(mut column: Column, a: &Vector<'_>, b: &Vector<'_>, rows: &[u16]) -> Column {
    if a.has_nulls() || b.has_nulls() {
        for row in rows {
            let at = usize::from(*row);
            if a.is_null(at) || b.is_null(at) {
                column.set_null(at);
            }
        }
    }
    column
}

/// An operand of signed integers or of decimals of one scale.
struct Exact<'v> {
    values: Values<'v>,
    /// `None` for integers.
    scale: Option<u8>,
}

enum Values<'v> {
    Ints(&'v [i64]),
    Decimals(&'v [i128]),
    Constant(i128),
}

impl<'v> Exact<'v> {
    fn of(vector: &'v Vector<'_>) -> Option<Exact<'v>> {
        let (values, scale) = match (vector, vector.column().map(Column::data)) {
            (_, Some(Data::Int(values))) => (Values::Ints(values), None),
            (_, Some(Data::Decimal(values, scale))) => (Values::Decimals(values), Some(*scale)),
            (Vector::Constant(Value::Int(i)), _) => (Values::Constant(i128::from(*i)), None),
            (Vector::Constant(Value::Decimal(d)), _) => {
                let (unscaled, scale) = d.as_i128()?;
                (Values::Constant(unscaled), Some(scale))
            }
            _ => return None,
        };
        Some(Exact { values, scale })
    }

    #[inline]
    fn at(&self, at: usize) -> i128 {
        match &self.values {
            Values::Ints(values) => i128::from(values[at]),
            Values::Decimals(values) => values[at],
            Values::Constant(value) => *value,
        }
    }
}

fn integers(op: ArithOp, x: &Exact<'_>, y: &Exact<'_>, rows: &[u16], len: usize) -> Option<Vec<i64>> {
    let mut out = vec![0; len];
    for row in rows {
        let at = usize::from(*row);
        // Two integers of 64 bits: nothing overflows 128.
        let (p, q) = (x.at(at), y.at(at));
        let result = match op {
            ArithOp::Add => p + q,
            ArithOp::Sub => p - q,
            _ => p * q,
        };
        out[at] = i64::try_from(result).ok()?;
    }
    Some(out)
}

fn decimals(op: ArithOp, x: &Exact<'_>, y: &Exact<'_>, rows: &[u16], len: usize) -> Option<(Vec<i128>, u8)> {
    let (own, other) = (x.scale.unwrap_or(0), y.scale.unwrap_or(0));
    let mut out = vec![0; len];
    if op == ArithOp::Mul {
        let scale = own + other;
        if scale > Decimal::SCALE_MAX {
            return None;
        }
        for row in rows {
            let at = usize::from(*row);
            out[at] = product(x.at(at), y.at(at))?;
        }
        return Some((out, scale));
    }
    let scale = own.max(other);
    let power = |digits: u8| 10i128.checked_pow(u32::from(digits));
    let (up_x, up_y) = (power(scale - own)?, power(scale - other)?);
    for row in rows {
        let at = usize::from(*row);
        let (p, q) = (product(x.at(at), up_x)?, product(y.at(at), up_y)?);
        out[at] = if op == ArithOp::Add { p.checked_add(q)? } else { p.checked_sub(q)? };
    }
    Some((out, scale))
}

/// A product; factors of 64 bits, the usual ones, need no check.
#[inline]
fn product(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => Some(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b),
    }
}

fn is_double(v: &Vector<'_>) -> bool {
    matches!(v, Vector::Constant(Value::Double(_) | Value::Float(_)))
        || matches!(v.column().map(Column::data), Some(Data::Double(_) | Data::Float(_)))
}

/// An operand as doubles.
fn doubles<'v>(vector: &'v Vector<'_>) -> Option<Box<dyn Fn(usize) -> f64 + 'v>> {
    Some(match (vector, vector.column().map(Column::data)) {
        (_, Some(Data::Double(values))) => Box::new(|at| values[at]),
        (_, Some(Data::Float(values))) => Box::new(|at| f64::from(values[at])),
        (_, Some(Data::Int(values))) => Box::new(|at| values[at] as f64),
        (_, Some(Data::UInt(values))) => Box::new(|at| values[at] as f64),
        (Vector::Constant(value), _) if !value.is_null() => {
            let number = match value {
                Value::Double(d) => *d,
                Value::Float(f) => f64::from(*f),
                Value::Int(i) => *i as f64,
                Value::UInt(u) => *u as f64,
                _ => return None,
            };
            Box::new(move |_| number)
        }
        _ => return None,
    })
}
