//! Conditions over a chunk, in SQL's three values.

use crate::batch::chunk::Chunk;
use crate::batch::column::{Column, Data};
use crate::batch::expression::Vector;
use crate::batch::like::Pattern;
use crate::convert::{self, compare};
use crate::exec::Exec;
use crate::subquery::holds;
use planner::expr::{CmpOp, Expr, ExprKind};
use std::cmp::Ordering;
use types::{Collation, DateTime, Decimal, SqlMode, Value};

/// Items from which a list of strings is looked up by keys.
const KEYED_LIST_MIN: usize = 4;

/// A condition that is not true.
pub const FALSE: u8 = 0;
/// A true condition.
pub const TRUE: u8 = 1;
/// An unknown condition.
pub const NULL: u8 = 2;

/// Conditions of the rows of a chunk, by place.
pub type Truths = Vec<u8>;

fn truth_of(value: Option<bool>) -> u8 {
    value.map_or(NULL, u8::from)
}

impl Exec<'_> {
    /// The truth of a condition for some rows; `None` when a row needs the evaluator.
    pub(super) fn truths(&mut self, e: &Expr, chunk: &Chunk, rows: &[u16]) -> Option<Truths> {
        if !self.kernels {
            return None;
        }
        let mut out = vec![NULL; chunk.len()];
        match &e.kind {
            ExprKind::And(list) => self.junction(list, FALSE, chunk, rows, &mut out)?,
            ExprKind::Or(list) => self.junction(list, TRUE, chunk, rows, &mut out)?,
            ExprKind::Not(a) => {
                out = self.truths(a, chunk, rows)?;
                out.iter_mut().filter(|t| **t != NULL).for_each(|t| *t ^= 1);
            }
            ExprKind::Xor(a, b) => {
                let x = self.truths(a, chunk, rows)?;
                let y = self.truths(b, chunk, rows)?;
                for row in rows {
                    let at = usize::from(*row);
                    out[at] = if x[at] == NULL || y[at] == NULL { NULL } else { x[at] ^ y[at] };
                }
            }
            ExprKind::Compare(op, collation, a, b) => {
                let x = self.vector(a, chunk, rows)?;
                let y = self.vector(b, chunk, rows)?;
                self.compare_vectors(*op, *collation, &x, &y, rows, &mut out)?;
            }
            ExprKind::IsNull { operand, negated } => {
                let x = self.vector(operand, chunk, rows)?;
                fill(rows, &mut out, |at| x.is_null(at) != *negated);
            }
            ExprKind::IsTruth { operand, truth, negated } => {
                let x = self.truths(operand, chunk, rows)?;
                fill(rows, &mut out, |at| (x[at] == u8::from(*truth)) != *negated);
            }
            ExprKind::Between { operand, low, high, negated, collation } => {
                let x = self.vector(operand, chunk, rows)?;
                let low = self.vector(low, chunk, rows)?;
                let high = self.vector(high, chunk, rows)?;
                let mut below = vec![NULL; chunk.len()];
                self.compare_vectors(CmpOp::Ge, *collation, &x, &low, rows, &mut out)?;
                self.compare_vectors(CmpOp::Le, *collation, &x, &high, rows, &mut below)?;
                let flip = u8::from(*negated);
                let below = &below[..out.len()];
                fill_truths(rows, &mut out, |at, above| {
                    let both = if (above == FALSE) | (below[at] == FALSE) { FALSE } else { (above | below[at]).min(NULL) };
                    if both == NULL { NULL } else { both ^ flip }
                });
            }
            ExprKind::InList { operand, list, negated, collation } => {
                let x = self.vector(operand, chunk, rows)?;
                self.in_list(&x, list, *collation, chunk, rows, &mut out)?;
                if *negated {
                    out.iter_mut().filter(|t| **t != NULL).for_each(|t| *t ^= 1);
                }
            }
            ExprKind::Like { operand, pattern, escape, negated, collation } => {
                let x = self.vector(operand, chunk, rows)?;
                let y = self.vector(pattern, chunk, rows)?;
                let escape = escape.map(u32::from);
                let context = &*self.context;
                if let (Some(Data::Bytes(texts)), Vector::Constant(Value::Bytes(pattern))) = (x.column().map(Column::data), &y) {
                    let pattern = Pattern { collation: *collation, text: pattern, escape };
                    pattern.look(texts, rows, |at, matched| out[at] = u8::from(matched != *negated));
                    null_where(&x, rows, &mut out);
                } else {
                    for row in rows {
                        let at = usize::from(*row);
                        let (v, p) = (x.value(at), y.value(at));
                        if !v.is_null() && !p.is_null() {
                            let (v, p) = (convert::text(&v, &operand.ty, context), convert::text(&p, &pattern.ty, context));
                            out[at] = u8::from(collation.like(&v, &p, escape) != *negated);
                        }
                    }
                }
            }
            _ => match self.vector(e, chunk, rows)? {
                Vector::Constant(value) if convert::is_odd_number(&value) => return None,
                Vector::Constant(value) => out.fill(truth_of(convert::truth(&value))),
                vector => match vector.column().map(Column::data) {
                    Some(Data::Int(values)) => {
                        fill(rows, &mut out, |at| values[at] != 0);
                        null_where(&vector, rows, &mut out);
                    }
                    _ => {
                        for row in rows {
                            let at = usize::from(*row);
                            let value = vector.value(at);
                            if convert::is_odd_number(&value) {
                                return None;
                            }
                            out[at] = truth_of(convert::truth(&value));
                        }
                    }
                },
            },
        }
        Some(out)
    }

    /// AND and OR: a part is evaluated for the rows that no earlier part has decided. `decisive` is what decides.
    fn junction(&mut self, list: &[Expr], decisive: u8, chunk: &Chunk, rows: &[u16], out: &mut [u8]) -> Option<()> {
        out.fill(decisive ^ 1);
        let mut open: Option<Vec<u16>> = None;
        for (number, part) in list.iter().enumerate() {
            let asked = open.as_deref().unwrap_or(rows);
            let truths = self.truths(part, chunk, asked)?;
            let last = number + 1 == list.len();
            // Unknown rows stay: a later part may decide them, or warn of them.
            let mut left = Vec::with_capacity(if last { 0 } else { asked.len() });
            for row in asked {
                let at = usize::from(*row);
                let truth = truths[at];
                if truth == decisive {
                    out[at] = decisive;
                } else {
                    if truth == NULL {
                        out[at] = NULL;
                    }
                    if !last {
                        left.push(*row);
                    }
                }
            }
            if left.is_empty() {
                break;
            }
            open = Some(left);
        }
        Some(())
    }

    fn in_list(&mut self, x: &Vector<'_>, list: &[Expr], collation: Collation, chunk: &Chunk, rows: &[u16], out: &mut [u8]) -> Option<()> {
        // Integers in a list of integers: one look at the sorted list.
        if let Some(Data::Int(values)) = x.column().map(Column::data)
            && let Some(mut integers) = self.constant_integers(list)
        {
            integers.sort_unstable();
            fill(rows, out, |at| integers.binary_search(&values[at]).is_ok());
            null_where(x, rows, out);
            return Some(());
        }
        // Strings in a list of strings: one look at the sorted keys.
        if list.len() >= KEYED_LIST_MIN
            && let Some(Data::Bytes(_)) = x.column().map(Column::data)
            && let Some(keys) = self.constant_keys(list, collation)
            && let Some(column) = x.column()
        {
            let mut key = Vec::new();
            for row in rows {
                key.clear();
                column.append_key(usize::from(*row), collation, &mut key);
                out[usize::from(*row)] = u8::from(keys.binary_search(&key).is_ok());
            }
            null_where(x, rows, out);
            return Some(());
        }
        let mut open: Vec<u16> = rows.iter().copied().filter(|row| !x.is_null(usize::from(*row))).collect();
        open.iter().for_each(|row| out[usize::from(*row)] = FALSE);
        let mut equal = vec![NULL; chunk.len()];
        for item in list {
            if open.is_empty() {
                break;
            }
            let y = self.vector(item, chunk, &open)?;
            self.compare_vectors(CmpOp::Eq, collation, x, &y, &open, &mut equal)?;
            open.retain(|row| {
                let at = usize::from(*row);
                match equal[at] {
                    TRUE => out[at] = TRUE,
                    NULL => out[at] = NULL,
                    _ => {}
                }
                equal[at] != TRUE
            });
        }
        Some(())
    }

    /// The items of a list as sorted keys, when all are strings that stand ready.
    fn constant_keys(&self, list: &[Expr], collation: Collation) -> Option<Vec<Vec<u8>>> {
        let key = |item: &Expr| {
            let value = match &item.kind {
                ExprKind::Literal(value) => value,
                ExprKind::Param(n) => self.params.get(*n as usize)?,
                _ => return None,
            };
            let Value::Bytes(_) = value else { return None };
            let mut key = Vec::new();
            crate::hash_key::append(value, collation, &mut key);
            Some(key)
        };
        let mut keys = list.iter().map(key).collect::<Option<Vec<_>>>()?;
        keys.sort_unstable();
        Some(keys)
    }

    /// The items of a list, when all are integers that stand ready.
    fn constant_integers(&self, list: &[Expr]) -> Option<Vec<i64>> {
        list.iter()
            .map(|item| match &item.kind {
                ExprKind::Literal(Value::Int(i)) => Some(*i),
                ExprKind::Param(n) => match self.params.get(*n as usize) {
                    Some(Value::Int(i)) => Some(*i),
                    _ => None,
                },
                _ => None,
            })
            .collect()
    }

    /// `a op b` for some rows; `None` when a row has to be told of.
    pub(super) fn compare_vectors(
        &self,
        op: CmpOp,
        collation: Collation,
        a: &Vector<'_>,
        b: &Vector<'_>,
        rows: &[u16],
        out: &mut [u8],
    ) -> Option<()> {
        if compare_typed(op, collation, a, b, rows, out) {
            if op == CmpOp::NullSafeEq {
                if a.has_nulls() || b.has_nulls() {
                    for row in rows {
                        let at = usize::from(*row);
                        let (x, y) = (a.is_null(at), b.is_null(at));
                        if x || y {
                            out[at] = u8::from(x && y);
                        }
                    }
                }
            } else {
                null_where(a, rows, out);
                null_where(b, rows, out);
            }
            return Some(());
        }
        let context = &*self.context;
        for row in rows {
            let at = usize::from(*row);
            let (x, y) = (a.value(at), b.value(at));
            if self.may_be_odd(&x, &y, matches!((a, b), (Vector::Constant(_), _) | (_, Vector::Constant(_)))) {
                return None;
            }
            out[at] = if op == CmpOp::NullSafeEq {
                u8::from(match (x.is_null(), y.is_null()) {
                    (true, true) => true,
                    (false, false) => compare(&x, &y, collation, context) == Some(Ordering::Equal),
                    _ => false,
                })
            } else {
                truth_of(compare(&x, &y, collation, context).map(|order| holds(op, order)))
            };
        }
        Some(())
    }
}

/// Sets the truth of some rows.
#[inline]
fn fill(rows: &[u16], out: &mut [u8], test: impl Fn(usize) -> bool) {
    if rows.len() == out.len() {
        // By an index that is seen to be in the bounds of columns as long as `out`: such loops become vector instructions.
        #[allow(clippy::needless_range_loop)]
        for at in 0..out.len() {
            out[at] = u8::from(test(at));
        }
    } else {
        for row in rows {
            let at = usize::from(*row);
            out[at] = u8::from(test(at));
        }
    }
}

/// Changes the truth of some rows.
#[inline]
fn fill_truths(rows: &[u16], out: &mut [u8], change: impl Fn(usize, u8) -> u8) {
    if rows.len() == out.len() {
        #[allow(clippy::needless_range_loop)]
        for at in 0..out.len() {
            out[at] = change(at, out[at]);
        }
    } else {
        for row in rows {
            let at = usize::from(*row);
            out[at] = change(at, out[at]);
        }
    }
}

/// Those of some rows that pass a test, without branches that would be mispredicted.
#[inline]
pub(super) fn rows_where(rows: &[u16], test: impl Fn(usize) -> bool) -> Vec<u16> {
    let mut left = vec![0; rows.len()];
    let mut count = 0;
    for row in rows {
        left[count] = *row;
        count += usize::from(test(usize::from(*row)));
    }
    left.truncate(count);
    left
}

/// Unknown where the operand is NULL.
fn null_where(x: &Vector<'_>, rows: &[u16], out: &mut [u8]) {
    if x.has_nulls() {
        for row in rows {
            let at = usize::from(*row);
            if x.is_null(at) {
                out[at] = NULL;
            }
        }
    }
}

/// Compares by the order of plain values.
#[inline]
fn ordered<T: PartialOrd>(op: CmpOp, rows: &[u16], out: &mut [u8], x: impl Fn(usize) -> T, y: impl Fn(usize) -> T) {
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq => fill(rows, out, |at| x(at) == y(at)),
        CmpOp::Ne => fill(rows, out, |at| x(at) != y(at)),
        CmpOp::Lt => fill(rows, out, |at| x(at) < y(at)),
        CmpOp::Le => fill(rows, out, |at| x(at) <= y(at)),
        CmpOp::Gt => fill(rows, out, |at| x(at) > y(at)),
        CmpOp::Ge => fill(rows, out, |at| x(at) >= y(at)),
    }
}

fn strings<'s>(
    op: CmpOp,
    collation: Collation,
    rows: &[u16],
    out: &mut [u8],
    x: impl Fn(usize) -> &'s [u8],
    y: impl Fn(usize) -> &'s [u8],
) {
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq => fill(rows, out, |at| collation.equal(x(at), y(at))),
        CmpOp::Ne => fill(rows, out, |at| !collation.equal(x(at), y(at))),
        _ => fill(rows, out, |at| holds(op, collation.compare(x(at), y(at)))),
    }
}

/// The comparisons that have a loop of their own; NULLs are the caller's. Whether this was one.
fn compare_typed(op: CmpOp, collation: Collation, a: &Vector<'_>, b: &Vector<'_>, rows: &[u16], out: &mut [u8]) -> bool {
    match (a.column(), b.column()) {
        (Some(x), Some(y)) => compare_columns(op, collation, x.data(), y.data(), rows, out),
        (Some(x), None) => match b {
            Vector::Constant(value) => compare_with(op, collation, x.data(), value, rows, out),
            _ => false,
        },
        (None, Some(y)) => match a {
            Vector::Constant(value) => compare_with(op.flipped(), collation, y.data(), value, rows, out),
            _ => false,
        },
        (None, None) => false,
    }
}

fn compare_columns(op: CmpOp, collation: Collation, x: &Data, y: &Data, rows: &[u16], out: &mut [u8]) -> bool {
    let len = out.len();
    /// Two columns of one type.
    macro_rules! plain {
        ($x:expr, $y:expr) => {{
            let (x, y) = (&$x[..len], &$y[..len]);
            ordered(op, rows, out, |at| x[at], |at| y[at])
        }};
    }
    match (x, y) {
        (Data::Int(x), Data::Int(y)) => plain!(x, y),
        (Data::UInt(x), Data::UInt(y)) => plain!(x, y),
        (Data::Int(x), Data::UInt(y)) => ordered(op, rows, out, |at| i128::from(x[at]), |at| i128::from(y[at])),
        (Data::UInt(x), Data::Int(y)) => ordered(op, rows, out, |at| i128::from(x[at]), |at| i128::from(y[at])),
        (Data::Double(x), Data::Double(y)) => plain!(x, y),
        (Data::Decimal(x, scale), Data::Decimal(y, other)) if scale == other => plain!(x, y),
        (Data::Date(x), Data::Date(y)) => plain!(x, y),
        (Data::Time(x), Data::Time(y)) => plain!(x, y),
        (Data::DateTime(x), Data::DateTime(y)) => plain!(x, y),
        (Data::Timestamp(x), Data::Timestamp(y)) => plain!(x, y),
        (Data::Bytes(x), Data::Bytes(y)) => strings(op, collation, rows, out, |at| x.get(at), |at| y.get(at)),
        _ => return false,
    }
    true
}

fn compare_with(op: CmpOp, collation: Collation, x: &Data, value: &Value, rows: &[u16], out: &mut [u8]) -> bool {
    let len = out.len();
    /// A column and a value of its type.
    macro_rules! plain {
        ($x:expr, $y:expr) => {{
            let (x, y) = (&$x[..len], $y);
            ordered(op, rows, out, |at| x[at], |_| y)
        }};
    }
    match (x, value) {
        (_, Value::Null) => out.fill(NULL),
        (Data::Int(x), Value::Int(y)) => plain!(x, *y),
        (Data::UInt(x), Value::UInt(y)) => plain!(x, *y),
        (Data::Int(x), Value::UInt(y)) => match i64::try_from(*y) {
            Ok(y) => plain!(x, y),
            Err(_) => return false,
        },
        (Data::UInt(x), Value::Int(y)) => match u64::try_from(*y) {
            Ok(y) => plain!(x, y),
            Err(_) => return false,
        },
        (Data::Double(x), Value::Double(y)) => plain!(x, *y),
        (Data::Double(x), Value::Int(y)) => plain!(x, *y as f64),
        (Data::Int(x), Value::Double(y)) => ordered(op, rows, out, |at| x[at] as f64, |_| *y),
        (Data::Decimal(x, scale), Value::Decimal(y)) => match exact(y, *scale) {
            Some(y) => plain!(x, y),
            None => return false,
        },
        (Data::Decimal(x, scale), Value::Int(y)) => match exact(&Decimal::from(*y), *scale) {
            Some(y) => plain!(x, y),
            None => return false,
        },
        (Data::Date(x), Value::Date(y)) => plain!(x, *y),
        (Data::Time(x), Value::Time(y)) => plain!(x, *y),
        (Data::DateTime(x), Value::DateTime(y)) => plain!(x, *y),
        (Data::Timestamp(x), Value::Timestamp(y)) => plain!(x, *y),
        (Data::Date(x), Value::DateTime(y)) => ordered(op, rows, out, |at| DateTime::from_date(x[at]).packed(), |_| y.packed()),
        (Data::DateTime(x), Value::Date(y)) => ordered(op, rows, out, |at| x[at].packed(), |_| DateTime::from_date(*y).packed()),
        (Data::Date(x), Value::Bytes(y)) => match types::parse_datetime(y, SqlMode::DEFAULT) {
            Some(y) => ordered(op, rows, out, |at| DateTime::from_date(x[at]).packed(), |_| y.packed()),
            None => return false,
        },
        (Data::DateTime(x), Value::Bytes(y)) => match types::parse_datetime(y, SqlMode::DEFAULT) {
            Some(y) => ordered(op, rows, out, |at| x[at].packed(), |_| y.packed()),
            None => return false,
        },
        (Data::Bytes(x), Value::Bytes(y)) => strings(op, collation, rows, out, |at| x.get(at), |_| y),
        _ => return false,
    }
    true
}

/// The unscaled integer of a decimal at a scale that shows all its digits.
fn exact(value: &Decimal, scale: u8) -> Option<i128> {
    if value.scale() > scale {
        return None;
    }
    value.rescale(scale)?.as_i128().map(|(unscaled, _)| unscaled)
}
