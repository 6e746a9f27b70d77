//! Calls of aggregate functions.

use crate::bind_expr::bits::aggregate_type;
use crate::binder::{Binder, Result};
use crate::charsets;
use crate::expr::{Expr, ExprKind};
use crate::func::Func;
use crate::members::{bare_zero, is_computed, member_number, replace, sorting};
use crate::plan::{Aggregate, AggregateKind, SortKey};
use crate::typing;
use crate::widths;
use mysql_error::codes;
use parser::ast;
use types::{Collation, ColumnType, Decimal, TypeKind};

/// Digits that MySQL computes with together.
const AVERAGE_GROUP: u8 = 9;

impl<'c> Binder<'c> {
    #[inline(never)]
    pub(super) fn aggregate(&mut self, call: &ast::AggregateCall<'_>) -> Result<Expr> {
        if let Some(over) = call.over {
            return self.window_aggregate(call, over);
        }
        let kind = kind_of(call)?;
        let Some(scope) = self.scopes.last_mut() else { return Err(codes::invalid_group_func_use()) };
        if !scope.aggregates_allowed || scope.in_aggregate {
            return Err(codes::invalid_group_func_use());
        }
        scope.in_aggregate = true;
        let args = match kind {
            AggregateKind::JsonArray => self.document_args(call.args),
            AggregateKind::JsonObject => self.names_and_documents(call.args),
            _ => self.exprs(call.args),
        };
        let order = args.and_then(|args| {
            let mut order = Vec::with_capacity(call.order_by.len());
            for item in call.order_by {
                let expr = match item.expr.kind {
                    ast::ExprKind::Literal(ast::Literal::Int(n)) => match args.get((n as usize).wrapping_sub(1)) {
                        Some(arg) => arg.clone(),
                        None => return Err(codes::bad_field_error(n, "order clause")),
                    },
                    _ => self.expr(&item.expr)?,
                };
                let collation = expr.ty.collation;
                order.push(SortKey { expr, descending: item.descending, collation });
            }
            Ok((args, sorting(order)))
        });
        let scope = self.scope();
        scope.in_aggregate = false;
        let (args, order) = order?;
        let aggregate = self.aggregate_of(call, kind, args, order)?;
        let ty = aggregate.ty.clone();
        // The same aggregate written twice is computed once.
        let text = format!("{aggregate:?}");
        if let Some(slot) = self.scope().aggregate_slots.get(&text) {
            return Ok(Expr::slot(*slot, ty));
        }
        let slot = self.new_slot(ty.clone());
        let scope = self.scope();
        scope.aggregates.push((slot, aggregate));
        scope.aggregate_slots.insert(text, slot);
        Ok(Expr::slot(slot, ty))
    }

    /// A value that is taken as it was computed, not as it is shown (into user variables and documents): an average has all digits that MySQL divides
    /// with, which come by nine, and a zero of computed zeros has none behind the point.
    pub(crate) fn as_computed(&mut self, e: Expr) -> Expr {
        use AggregateKind::{Avg, Max, Min, Sum};
        let ExprKind::Slot(own) = e.kind else { return bare_zero(e) };
        let aggregates = self.scopes.last().map_or(&[][..], |scope| &scope.aggregates);
        let Some((_, aggregate)) = aggregates.iter().find(|(of, a)| *of == own && a.ty.kind == TypeKind::Decimal) else { return e };
        let zero_is_bare = matches!(aggregate.kind, Avg | Max | Min | Sum) && aggregate.args.iter().all(is_computed);
        let mut taken = e;
        if aggregate.kind == Avg {
            let mut average = aggregate.clone();
            let decimals = average.ty.decimals.next_multiple_of(AVERAGE_GROUP).min(Decimal::SCALE_MAX);
            average.ty.length += u32::from(decimals.saturating_sub(average.ty.decimals));
            average.ty.decimals = decimals;
            let ty = average.ty.clone();
            let slot = self.new_slot(ty.clone());
            self.scope().aggregates.push((slot, average));
            taken = Expr::slot(slot, ty);
        }
        if !zero_is_bare {
            return taken;
        }
        let ty = taken.ty.clone();
        Expr { kind: ExprKind::Func(Func::BareZero, vec![taken]), ty }
    }

    /// An aggregate over bound arguments, with its type.
    pub(super) fn aggregate_of(
        &self,
        call: &ast::AggregateCall<'_>,
        kind: AggregateKind,
        mut args: Vec<Expr>,
        order: Vec<SortKey>,
    ) -> Result<Aggregate> {
        use AggregateKind as K;
        if matches!(kind, K::Sum | K::Avg | K::BitAnd | K::BitOr | K::BitXor | K::StdPop | K::StdSamp | K::VarPop | K::VarSamp) {
            let of_bits = matches!(kind, K::BitAnd | K::BitOr | K::BitXor);
            let number = |e| if of_bits { self.document_bits(e) } else { self.document_number(e) };
            args = args.into_iter().map(member_number).map(number).collect();
        }
        let first = args.first().map(|a| a.ty.clone()).unwrap_or_else(ColumnType::bigint);
        let ty = match kind {
            AggregateKind::CountStar | AggregateKind::Count => widths::whole(widths::ANY, false).not_null(),
            AggregateKind::Sum => typing::sum(&first),
            AggregateKind::Avg => typing::avg(&first, self.context.div_precision_increment()),
            AggregateKind::Min | AggregateKind::Max | AggregateKind::AnyValue => ColumnType { nullable: true, ..typing::unfilled(&first) },
            AggregateKind::GroupConcat => {
                args.iter_mut().for_each(|e| replace(e, charsets::bits_as_bytes));
                let mut strings: Vec<&Expr> = args.iter().filter(|e| typing::is_string_class(&e.ty)).collect();
                if strings.iter().any(|e| charsets::is_bytes(e)) {
                    let as_text = self.text_beats_bytes(strings.iter().copied());
                    strings.retain(|e| as_text != charsets::is_bytes(e));
                }
                let collation = match strings.first() {
                    Some(e) if charsets::is_bytes(e) => Collation::Binary,
                    Some(_) if typing::is_string_class(&first) => {
                        self.joined_collation(self.collation_for(&strings, "group_concat"), &strings)?
                    }
                    _ => self.connection_collation(),
                };
                charsets::joined(Func::Concat, collation, &mut args);
                let kind = if collation == Collation::Binary { TypeKind::LongBlob } else { TypeKind::LongText };
                ColumnType { collation, ..ColumnType::new(kind) }
            }
            AggregateKind::BitAnd | AggregateKind::BitOr | AggregateKind::BitXor => aggregate_type(args.first())?,
            AggregateKind::JsonArray | AggregateKind::JsonObject => ColumnType::new(TypeKind::Json),
            _ => ColumnType::double(),
        };
        let collation = if typing::is_string_class(&first) { first.collation } else { Collation::Binary };
        let separator = match call.separator {
            Some(s) => String::from_utf8_lossy(s).into_owned(),
            None => ",".to_owned(),
        };
        Ok(Aggregate { kind, distinct: call.distinct, args, ty, collation, order, separator: separator.into() })
    }
}

/// Which aggregate a call is.
pub(super) fn kind_of(call: &ast::AggregateCall<'_>) -> Result<AggregateKind> {
    use ast::AggregateFn as F;
    Ok(match call.func {
        F::Count if call.args.is_empty() => AggregateKind::CountStar,
        F::Count => AggregateKind::Count,
        F::Sum => AggregateKind::Sum,
        F::Avg => AggregateKind::Avg,
        F::Min => AggregateKind::Min,
        F::Max => AggregateKind::Max,
        F::GroupConcat => AggregateKind::GroupConcat,
        F::BitAnd => AggregateKind::BitAnd,
        F::BitOr => AggregateKind::BitOr,
        F::BitXor => AggregateKind::BitXor,
        F::StdPop => AggregateKind::StdPop,
        F::StdSamp => AggregateKind::StdSamp,
        F::VarPop => AggregateKind::VarPop,
        F::VarSamp => AggregateKind::VarSamp,
        F::JsonArrayAgg => AggregateKind::JsonArray,
        F::JsonObjectAgg => AggregateKind::JsonObject,
    })
}
