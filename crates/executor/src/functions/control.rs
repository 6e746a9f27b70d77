//! Control flow, and choices among values.

use super::{not_answered, pair_collation};
use crate::convert::{coerce, compare, is_number, member_beside};
use crate::exec::Exec;
use crate::run::Result;
use planner::expr::{Expr, ExprKind};
use planner::func::Func;
use planner::typing::hexadecimal_value;
use std::cmp::Ordering;
use types::{Collation, TypeKind, Value};

impl Exec<'_> {
    /// Calls one of them.
    #[inline(never)]
    pub(super) fn call_control(&mut self, func: Func, args: &[Expr], e: &Expr) -> Result<Value> {
        use Func as F;
        match func {
            F::If => {
                let chosen = if self.is_true(&args[0])? { &args[1] } else { &args[2] };
                self.eval_as(chosen, e)
            }
            F::IfNull | F::Coalesce => {
                for a in args {
                    let v = self.eval(a)?;
                    match coerce(v, &a.ty, &e.ty, &*self.context) {
                        Value::Null => {}
                        // As text it has all the digits of a DOUBLE.
                        Value::Float(n) => return Ok(Value::Double(f64::from(n))),
                        v => return Ok(v),
                    }
                }
                Ok(Value::Null)
            }
            F::NullIf => {
                let a = self.eval(&args[0])?;
                let b = self.eval(&args[1])?;
                let collation = pair_collation(&args[0], &args[1]);
                let (of_a, of_b) = (counted_beside(&a, &args[0], &b), counted_beside(&b, &args[1], &a));
                let (x, y) = (of_a.as_ref().unwrap_or(&a), of_b.as_ref().unwrap_or(&b));
                let odd = self.odd_pair(x, &args[0], y, &args[1], true);
                self.tell_odd(odd)?;
                let (said_by_a, said_by_b) = (said_beside(x, &args[1]), said_beside(y, &args[0]));
                let (x, y) = (said_by_a.as_ref().unwrap_or(x), said_by_b.as_ref().unwrap_or(y));
                Ok(if compare(x, y, collation, &*self.context) == Some(Ordering::Equal) { Value::Null } else { a })
            }
            F::Greatest | F::Least => {
                let mut best: Option<Value> = None;
                for a in args {
                    let v = self.eval(a)?;
                    if v.is_null() {
                        return Ok(v);
                    }
                    let v = coerce(v, &a.ty, &e.ty, &*self.context);
                    let better = match &best {
                        None => true,
                        Some(b) => {
                            let order = compare(&v, b, e.ty.collation, &*self.context);
                            order == Some(if func == F::Greatest { Ordering::Greater } else { Ordering::Less })
                        }
                    };
                    if better {
                        best = Some(v);
                    }
                }
                Ok(best.unwrap_or_default())
            }
            F::IsNull => Ok(Value::bool(self.eval(&args[0])?.is_null())),
            F::Interval => {
                let n = self.eval(&args[0])?;
                if n.is_null() {
                    return Ok(Value::Int(-1));
                }
                let mut count = 0;
                for a in &args[1..] {
                    let v = self.eval(a)?;
                    if !v.is_null() && compare(&n, &v, Collation::Binary, &*self.context) == Some(Ordering::Less) {
                        break;
                    }
                    count += 1;
                }
                Ok(Value::Int(count))
            }
            F::AnyValue => self.eval(&args[0]),
            _ => Err(not_answered(func)),
        }
    }
}

/// The number that a text says beside a column of whole numbers or of decimals, with all its digits: compared as doubles neighbours would be equal.
fn said_beside(v: &Value, other: &Expr) -> Option<Value> {
    let decimal = other.ty.kind == TypeKind::Decimal;
    match v {
        Value::Bytes(said) if matches!(other.kind, ExprKind::Slot(_)) && (decimal || other.ty.kind.is_integer()) => {
            types::number_operand(said, decimal)
        }
        _ => None,
    }
}

/// What a value counts as beside another one, if that is not itself: beside a number an ENUM, a SET and a hexadecimal or bit literal are numbers.
fn counted_beside(v: &Value, of: &Expr, other: &Value) -> Option<Value> {
    match hexadecimal_value(of) {
        Some(number) if is_number(other) => Some(Value::UInt(number)),
        _ => member_beside(v, &of.ty, other),
    }
}
