//! Values that are known when a statement is planned: of constants, and how far two bounds are from each other.
//!
//! # Invariants
//! 1. They make estimates, and nothing else: the statement evaluates its bounds when it runs, each time.
//! 2. An estimate holds as long as the plan does. What is of the moment (the time, variables) has moved on by then: such a plan says so
//!    ([`crate::Plan::drifts`]), and is not kept for long. What indexes tell of parameters is asked again for other values (`dives.rs`).

use crate::binder::Binder;
use crate::expr::{ArithOp, Expr, ExprKind, Slot};
use crate::plan::Interval;
use types::Value;

impl Binder<'_> {
    /// The value of an expression, as far as it is known at planning.
    pub(crate) fn known_value(&self, e: &Expr) -> Option<Value> {
        match &e.kind {
            ExprKind::Literal(v) => Some(v.clone()),
            ExprKind::Param(n) => self.context.params().get(*n as usize).cloned(),
            _ if e.is_settled() => {
                let value = self.context.value_now(e)?;
                if e.any(&mut is_of_the_moment) {
                    self.drifts.set(true);
                }
                Some(value)
            }
            _ => None,
        }
    }

    /// Integers between `x + a` and `x + b`, where both bounds hang on the same column of an earlier table.
    pub(super) fn width(&self, interval: &Interval) -> Option<f64> {
        let ([(low, _)], [(high, _)]) = (interval.low.as_slice(), interval.high.as_slice()) else { return None };
        let ((x, from), (y, to)) = (self.linear(low)?, self.linear(high)?);
        (x == y).then(|| (to.saturating_sub(from) as f64).max(1.0))
    }

    /// A column and how much is added to it.
    fn linear(&self, e: &Expr) -> Option<(Option<Slot>, i64)> {
        match &e.kind {
            ExprKind::Slot(s) => Some((Some(*s), 0)),
            ExprKind::Arith(op @ (ArithOp::Add | ArithOp::Sub), a, b) => {
                let (slot, at) = self.linear(a)?;
                let Value::Int(by) = self.known_value(b)? else { return None };
                let at = if *op == ArithOp::Add { at.checked_add(by) } else { at.checked_sub(by) };
                Some((slot, at?))
            }
            _ => match self.known_value(e)? {
                Value::Int(i) => Some((None, i)),
                _ => None,
            },
        }
    }
}

/// Whether it may have another value when the same statement runs again, its parameters being the same.
fn is_of_the_moment(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::UserVariable(_) | ExprKind::SystemVariable(..) => true,
        ExprKind::Func(f, _) => f.tells_the_time() || f.tells_of_before(),
        _ => false,
    }
}
