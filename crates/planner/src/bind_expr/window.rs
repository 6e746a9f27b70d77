//! Calls of window functions, and the windows they name.

use crate::binder::{Binder, Clause, InWindow, NamedWindow, Result};
use crate::charsets;
use crate::expr::{ArithOp, CastTo, Expr, ExprKind};
use crate::func::Func;
use crate::plan::{AggregateKind, SortKey};
use crate::typing;
use crate::widths;
use crate::window::{Bound, BoundWindow, Frame, WindowCall, WindowFunction};
use mysql_error::codes;
use parser::ast;
use types::{Collation, ColumnType, TypeKind, Value};

/// What a window without a name is called in errors.
const UNNAMED: &str = "<unnamed window>";

impl<'c> Binder<'c> {
    /// Binds the WINDOW clause of the block.
    pub(crate) fn bind_windows(&mut self, windows: &[ast::NamedWindow<'_>]) -> Result<()> {
        for (at, window) in windows.iter().enumerate() {
            if windows[..at].iter().any(|other| other.name.eq_ignore_ascii_case(window.name)) {
                return Err(codes::window_duplicate_name(window.name));
            }
        }
        let mut left: Vec<&ast::NamedWindow<'_>> = windows.iter().collect();
        // A window may extend one that is named after it; what is left when none can be bound goes in a circle.
        while !left.is_empty() {
            let before = left.len();
            let mut waiting = Vec::new();
            for window in left {
                let waits = window
                    .spec
                    .base
                    .is_some_and(|base| windows.iter().any(|w| w.name.eq_ignore_ascii_case(base)) && self.named_window(base).is_none());
                if waits {
                    waiting.push(window);
                    continue;
                }
                let bound = self.window_or_later(window.name, window.spec);
                self.scope().named_windows.push(bound);
            }
            if waiting.len() == before {
                return Err(codes::window_circularity());
            }
            left = waiting;
        }
        Ok(())
    }

    fn named_window(&self, name: &str) -> Option<&NamedWindow> {
        self.scopes.last()?.named_windows.iter().find(|window| window.name.eq_ignore_ascii_case(name))
    }

    /// A window; what is wrong with its keys or its frame is kept for when the rest of the block is bound, and another window stands for it.
    fn window_or_later(&mut self, name: &str, spec: &ast::WindowSpec<'_>) -> NamedWindow {
        let outside = self.scope().in_window.clone();
        self.window_spec(name, spec).unwrap_or_else(|error| {
            let scope = self.scope();
            scope.in_window = outside;
            scope.window_error.get_or_insert(error);
            NamedWindow { name: name.into(), partition: Vec::new(), order: Vec::new(), frame: None }
        })
    }

    fn window_spec(&mut self, name: &str, spec: &ast::WindowSpec<'_>) -> Result<NamedWindow> {
        let (mut partition, mut order) = (Vec::new(), Vec::new());
        if let Some(base) = spec.base {
            let Some(extended) = self.named_window(base) else { return Err(codes::window_no_such_window(base)) };
            if !spec.partition_by.is_empty() {
                return Err(codes::window_no_child_partitioning());
            }
            if extended.frame.is_some() {
                return Err(codes::window_no_inherit_frame(base));
            }
            if !spec.order_by.is_empty() && !extended.order.is_empty() {
                return Err(codes::window_no_redefine_order_by(name, base));
            }
            partition.clone_from(&extended.partition);
            order.clone_from(&extended.order);
        }
        let outside = self.scope().in_window.replace(InWindow::Specification(name.into()));
        for e in spec.partition_by {
            partition.push(self.window_key(name, e, false, Clause::WindowPartition)?);
        }
        for item in spec.order_by {
            order.push(self.window_key(name, &item.expr, item.descending, Clause::WindowOrder)?);
        }
        let frame = spec.frame.map(|frame| self.window_frame(name, frame, &order)).transpose()?;
        self.scope().in_window = outside;
        let sorting = crate::members::sorting;
        Ok(NamedWindow { name: name.into(), partition: sorting(partition), order: sorting(order), frame })
    }

    fn window_key(&mut self, name: &str, e: &ast::Expr<'_>, descending: bool, clause: Clause) -> Result<SortKey> {
        let position = match e.kind {
            ast::ExprKind::Literal(ast::Literal::Int(_)) => true,
            // The kind of a literal is the same for all texts that the plan serves.
            ast::ExprKind::Param(n) => self.is_lifted(n) && self.context.param_types()[n as usize].kind == TypeKind::BigInt,
            _ => false,
        };
        if position {
            return Err(codes::window_illegal_order_by(name));
        }
        // Names of items mean nothing there.
        let around = std::mem::replace(&mut self.scope().clause, clause);
        let bound = self.expr(e);
        self.scope().clause = around;
        let expr = bound?;
        let collation = if typing::is_string_class(&expr.ty) { expr.ty.collation } else { Collation::Binary };
        Ok(SortKey { expr, descending, collation })
    }

    fn window_frame(&mut self, name: &str, frame: ast::Frame<'_>, order: &[SortKey]) -> Result<Frame> {
        use ast::FrameBound as B;
        if frame.unit == ast::FrameUnit::Groups {
            return Err(codes::not_supported_yet("GROUPS"));
        }
        if frame.exclude {
            return Err(codes::not_supported_yet("EXCLUDE"));
        }
        let end = frame.end.unwrap_or(B::CurrentRow);
        match (frame.start, end) {
            (B::UnboundedFollowing, _) => return Err(codes::window_frame_start_illegal(name)),
            (_, B::UnboundedPreceding) => return Err(codes::window_frame_end_illegal(name)),
            (B::Following(..), B::CurrentRow | B::Preceding(..)) | (B::CurrentRow, B::Preceding(..)) => {
                return Err(codes::window_frame_illegal(name));
            }
            _ => {}
        }
        let rows = frame.unit == ast::FrameUnit::Rows;
        let mut bound = |bound| -> Result<Bound> {
            let (amount, unit, after) = match bound {
                B::UnboundedPreceding | B::UnboundedFollowing => return Ok(Bound::Unbounded),
                B::CurrentRow => return Ok(if rows { Bound::Row } else { Bound::Peers }),
                B::Preceding(amount, unit) => (amount, unit, false),
                B::Following(amount, unit) => (amount, unit, true),
            };
            let amount = self.expr(amount)?;
            if !rows {
                return self.value_bound(name, amount, unit, after, order);
            }
            if unit.is_some() {
                return Err(codes::window_rows_interval_use(name));
            }
            if !amount.ty.kind.is_integer() && amount.ty.kind != TypeKind::Null {
                return Err(codes::window_frame_illegal(name));
            }
            Ok(if after { Bound::Following(amount) } else { Bound::Preceding(amount) })
        };
        Ok(Frame { start: bound(frame.start)?, end: bound(end)? })
    }

    /// `RANGE n PRECEDING` and `FOLLOWING`.
    fn value_bound(&mut self, name: &str, amount: Expr, unit: Option<ast::IntervalUnit>, after: bool, order: &[SortKey]) -> Result<Bound> {
        let [key] = order else { return Err(codes::window_range_frame_order_type(name)) };
        let temporal = matches!(key.expr.ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time);
        if !temporal && !typing::is_number(&key.expr.ty) {
            return Err(codes::window_range_frame_order_type(name));
        }
        // Before it in the order is less, or more where the order descends.
        let add = after != key.descending;
        let own = key.expr.clone();
        let limit = match (unit, temporal) {
            (None, true) => return Err(codes::window_range_frame_temporal_type(name)),
            (Some(_), false) => return Err(codes::window_range_frame_numeric_type(name)),
            (Some(_), true) if is_null_or_negative(&amount) => return Err(codes::window_frame_illegal(name)),
            (Some(unit), true) => {
                let ty = ColumnType { nullable: true, ..own.ty.clone() };
                let kind = ExprKind::DateAdd { date: Box::new(own), amount: Box::new(amount), unit, negated: !add };
                Expr { kind, ty }
            }
            (None, false) => {
                // As decimals whole numbers do not run over.
                let own = if own.ty.kind.is_integer() { self.cast_to(own, CastTo::Decimal { precision: 65, scale: 0 }) } else { own };
                let op = if add { ArithOp::Add } else { ArithOp::Sub };
                let ty = typing::arithmetic(op, &own.ty, &amount.ty, self.context.div_precision_increment());
                Expr { kind: ExprKind::Arith(op, Box::new(own), Box::new(amount)), ty }
            }
        };
        Ok(Bound::Value { limit, after })
    }

    /// Whether a window function may stand here; `name` is its name.
    fn check_window_use(&self, name: &str) -> Result<()> {
        let refused = Err(codes::window_invalid_window_func_use(name));
        let Some(scope) = self.scopes.last() else { return refused };
        match &scope.in_window {
            Some(InWindow::Specification(window)) => Err(codes::window_nested_in_window_spec(window)),
            Some(InWindow::Arguments) => refused,
            None if scope.in_aggregate || !scope.aggregates_allowed || !matches!(scope.clause, Clause::Fields | Clause::OrderBy) => refused,
            None => Ok(()),
        }
    }

    /// ROW_NUMBER() OVER … and the like.
    #[inline(never)]
    pub(super) fn window_function(&mut self, call: &ast::WindowCall<'_>) -> Result<Expr> {
        use ast::WindowFn as W;
        let name = match call.func {
            W::RowNumber => "row_number",
            W::Rank => "rank",
            W::DenseRank => "dense_rank",
            W::PercentRank => "percent_rank",
            W::CumeDist => "cume_dist",
            W::Ntile => "ntile",
            W::Lag => "lag",
            W::Lead => "lead",
            W::FirstValue => "first_value",
            W::LastValue => "last_value",
            W::NthValue => "nth_value",
        };
        self.check_window_use(name)?;
        if call.ignore_nulls {
            return Err(codes::not_supported_yet("IGNORE NULLS"));
        }
        if call.from_last {
            return Err(codes::not_supported_yet("FROM LAST"));
        }
        // What counts must stand there as a number; a bare name would be a variable of a stored program.
        let counts = match call.func {
            W::Ntile => call.args.first(),
            W::Lag | W::Lead | W::NthValue => call.args.get(1),
            _ => None,
        };
        if let Some(ast::Expr { kind: ast::ExprKind::Column(column), .. }) = counts {
            return Err(if call.func == W::NthValue { codes::wrong_arguments(name) } else { codes::sp_undeclared_var(column.column) });
        }
        let args = self.in_window_arguments(|b| b.exprs(call.args))?;
        // The value is looked at where it is not zero.
        let counted = match call.func {
            W::Ntile => args.first(),
            W::NthValue => args.get(1),
            _ => None,
        };
        if let Some(Expr { kind: ExprKind::Param(n), .. }) = counted {
            self.by_value(*n)?;
        }
        let nullable = |ty: &ColumnType| ColumnType { nullable: true, ..ty.clone() };
        let mut args = args.into_iter();
        let mut argument = || args.next().unwrap_or_else(|| Expr::literal(Value::Null, ColumnType::new(TypeKind::Null)));
        let count = widths::whole(widths::ANY, true).not_null();
        let (function, ty) = match call.func {
            W::RowNumber => (WindowFunction::RowNumber, count),
            W::Rank => (WindowFunction::Rank, count),
            W::DenseRank => (WindowFunction::DenseRank, count),
            W::PercentRank => (WindowFunction::PercentRank, ColumnType::double().not_null()),
            W::CumeDist => (WindowFunction::CumeDist, ColumnType::double().not_null()),
            W::Ntile => (WindowFunction::Ntile(argument()), nullable(&count)),
            W::FirstValue | W::LastValue | W::NthValue => {
                let value = argument();
                let ty = nullable(&typing::unfilled(&value.ty));
                let function = match call.func {
                    W::FirstValue => WindowFunction::First(value),
                    W::LastValue => WindowFunction::Last(value),
                    _ => WindowFunction::Nth(value, argument()),
                };
                (function, ty)
            }
            W::Lag | W::Lead => {
                let ahead = call.func == W::Lead;
                let mut value = argument();
                let distance = (call.args.len() > 1).then(&mut argument);
                let mut default = (call.args.len() > 2).then(&mut argument);
                let mut ty = nullable(&typing::unfilled(&value.ty));
                if let Some(default) = &mut default {
                    ty = nullable(&self.common_type([&value, &*default].into_iter(), if ahead { "lead" } else { "lag" })?);
                    let text =
                        |e: &Expr| if typing::is_string_class(&ty) { charsets::text_of_bytes(e.clone(), ty.collation) } else { e.clone() };
                    let converted = |e: &Expr| Expr { kind: ExprKind::Func(Func::Coalesce, vec![text(e)]), ty: ty.clone() };
                    (value, *default) = (converted(&value), converted(default));
                }
                (WindowFunction::Neighbour { value, distance, default, ahead }, ty)
            }
        };
        self.over(call.over, function, ty)
    }

    /// SUM(…) OVER … and the like.
    pub(super) fn window_aggregate(&mut self, call: &ast::AggregateCall<'_>, over: ast::Over<'_>) -> Result<Expr> {
        use ast::AggregateFn as F;
        let name = match call.func {
            F::Count => "count",
            F::Sum => "sum",
            F::Avg => "avg",
            F::Min => "min",
            F::Max => "max",
            F::GroupConcat => "group_concat",
            F::BitAnd => "bit_and",
            F::BitOr => "bit_or",
            F::BitXor => "bit_xor",
            F::StdPop => "std",
            F::StdSamp => "stddev_samp",
            F::VarPop => "variance",
            F::VarSamp => "var_samp",
            F::JsonArrayAgg => "json_arrayagg",
            F::JsonObjectAgg => "json_objectagg",
        };
        self.check_window_use(name)?;
        let kind = super::aggregate::kind_of(call)?;
        if call.func == F::GroupConcat {
            return Err(codes::not_supported_yet("group_concat as window function"));
        }
        if call.distinct {
            return Err(codes::not_supported_yet("<window function>(DISTINCT ..)"));
        }
        let args = self.in_window_arguments(|b| match kind {
            AggregateKind::JsonArray => b.document_args(call.args),
            AggregateKind::JsonObject => b.names_and_documents(call.args),
            _ => b.exprs(call.args),
        })?;
        let aggregate = self.aggregate_of(call, kind, args, Vec::new())?;
        let ty = aggregate.ty.clone();
        self.over(over, WindowFunction::Aggregate(aggregate), ty)
    }

    /// Binds arguments of a window function, where no other may stand.
    fn in_window_arguments(&mut self, bind: impl FnOnce(&mut Self) -> Result<Vec<Expr>>) -> Result<Vec<Expr>> {
        let outside = self.scope().in_window.replace(InWindow::Arguments);
        let args = bind(self)?;
        self.scope().in_window = outside;
        Ok(args)
    }

    /// Adds a call to its window; its value is a slot.
    fn over(&mut self, over: ast::Over<'_>, function: WindowFunction, ty: ColumnType) -> Result<Expr> {
        let window = match over {
            ast::Over::Named(name) => self.named_window(name).cloned().ok_or_else(|| codes::window_no_such_window(name))?,
            ast::Over::Spec(spec) => self.window_or_later(UNNAMED, spec),
        };
        let NamedWindow { name, partition, order, frame } = window;
        let whole = if order.is_empty() { Bound::Unbounded } else { Bound::Peers };
        let frame = frame.unwrap_or(Frame { start: Bound::Unbounded, end: whole });
        let call = WindowCall { function, frame, window: name.clone() };
        let slot = self.new_slot(ty.clone());
        let text = format!("{partition:?}{order:?}");
        let windows = &mut self.scope().windows;
        match windows.iter_mut().find(|w| format!("{:?}{:?}", w.partition, w.order) == text) {
            Some(window) => window.calls.push((slot, call)),
            None => windows.push(BoundWindow { name, partition, order, calls: vec![(slot, call)] }),
        }
        Ok(Expr::slot(slot, ty))
    }

    /// The alias of the select item with a window function that an expression of another clause reads.
    pub(crate) fn window_alias(&mut self, e: &Expr) -> Option<String> {
        let scope = self.scopes.last()?;
        let of_window = |e: &Expr| {
            e.any(&mut |x| matches!(x.kind, ExprKind::Slot(s) if scope.windows.iter().any(|w| w.calls.iter().any(|(slot, _)| *slot == s))))
        };
        if !of_window(e) {
            return None;
        }
        let alias = scope.aliases.iter().find(|(_, item)| of_window(item) && e.any(&mut |x| crate::alike::same(x, item)));
        Some(alias.map_or_else(String::new, |(name, _)| name.clone()))
    }
}

/// Whether an interval's amount is one that no frame ends at.
fn is_null_or_negative(amount: &Expr) -> bool {
    match &amount.kind {
        ExprKind::Literal(Value::Null) => true,
        ExprKind::Literal(Value::Int(n)) => *n < 0,
        ExprKind::Literal(Value::Decimal(d)) => d.is_negative(),
        ExprKind::Neg(of) => matches!(of.kind, ExprKind::Literal(Value::Int(1..) | Value::Decimal(_) | Value::Double(_))),
        _ => false,
    }
}
