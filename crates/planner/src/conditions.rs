//! Makes conditions: comparisons, conjunctions, negation.

use crate::expr::{CastTo, CmpOp, Expr, ExprKind, SubqueryKind};
use crate::func::Func;
use crate::typing::{self, is_number, is_string_class};
use crate::widths;
use types::{Collation, ColumnType, SqlMode, TypeKind, Value};

/// `INT(1)`, the type of conditions.
pub fn bool_type(nullable: bool) -> ColumnType {
    ColumnType { nullable, ..widths::whole(widths::TRUTH, false) }
}

/// A conjunction or disjunction, flattened.
pub fn logic(make: fn(Vec<Expr>) -> ExprKind, mut list: Vec<Expr>) -> Expr {
    if list.len() == 1 {
        return list.remove(0);
    }
    let null = list.iter().any(|e| e.ty.nullable);
    Expr { kind: make(list), ty: bool_type(null) }
}

/// `NOT a`, pushed into what has a negated form.
pub fn not(a: Expr) -> Expr {
    let ty = bool_type(a.ty.nullable);
    let kind = match a.kind {
        ExprKind::IsNull { operand, negated } => ExprKind::IsNull { operand, negated: !negated },
        ExprKind::IsTruth { operand, truth, negated } => ExprKind::IsTruth { operand, truth, negated: !negated },
        ExprKind::Between { operand, low, high, negated, collation } => {
            ExprKind::Between { operand, low, high, negated: !negated, collation }
        }
        ExprKind::InList { operand, list, negated, collation } => ExprKind::InList { operand, list, negated: !negated, collation },
        ExprKind::InRows(mut rows) => {
            rows.negated = !rows.negated;
            ExprKind::InRows(rows)
        }
        ExprKind::Like { operand, pattern, escape, negated, collation } => {
            ExprKind::Like { operand, pattern, escape, negated: !negated, collation }
        }
        ExprKind::Compare(op, collation, l, r) if let Some(op) = op.negated() => ExprKind::Compare(op, collation, l, r),
        ExprKind::Subquery(n, mut kind) => {
            match &mut *kind {
                SubqueryKind::Exists { negated } | SubqueryKind::In { negated, .. } => *negated = !*negated,
                _ => return Expr { kind: ExprKind::Not(Box::new(Expr { kind: ExprKind::Subquery(n, kind), ty: ty.clone() })), ty },
            }
            ExprKind::Subquery(n, kind)
        }
        kind => ExprKind::Not(Box::new(Expr { kind, ty: a.ty })),
    };
    Expr { kind, ty }
}

/// `a op b`.
pub fn compare_expr(op: CmpOp, collation: Collation, a: Expr, b: Expr) -> Expr {
    let null = op != CmpOp::NullSafeEq && (a.ty.nullable || b.ty.nullable);
    Expr { kind: ExprKind::Compare(op, collation, Box::new(a), Box::new(b)), ty: bool_type(null) }
}

/// A constant compared with a temporal column is converted once, here: a string, a number of a date's digits; a number compared with a YEAR counts as a year.
pub fn temporal_constant(constant: Expr, other: &Expr) -> Expr {
    if is_number(&constant.ty) && is_moment_column(other) {
        return moment_operand(constant, other.ty.kind);
    }
    if other.ty.is_year_column() && matches!(other.kind, ExprKind::Slot(_)) {
        return match constant.kind {
            ExprKind::Literal(value) => match types::year_operand(value) {
                year @ Value::UInt(_) => Expr::literal(year, ColumnType::bigint_unsigned().not_null()),
                value => Expr::literal(value, constant.ty),
            },
            ExprKind::Param(_) => operand(Func::YearOperand, constant),
            // As MySQL, in which a variable's decimal is none.
            ExprKind::UserVariable(_) if constant.ty.kind == TypeKind::Decimal => constant,
            _ if constant.is_settled() && may_be_year(&constant.ty) => operand(Func::YearOperand, constant),
            _ => constant,
        };
    }
    if !matches!(other.kind, ExprKind::Slot(_)) {
        return constant;
    }
    if other.ty.kind == TypeKind::Time && constant.ty.kind.has_date() && constant.is_settled() {
        let decimals = constant.ty.decimals;
        let ty = ColumnType { nullable: constant.ty.nullable, ..ColumnType::temporal(TypeKind::Time, decimals) };
        return Expr { kind: ExprKind::Cast(Box::new(constant), CastTo::Time { fraction: decimals }), ty };
    }
    let ExprKind::Literal(Value::Bytes(bytes)) = &constant.kind else { return constant };
    match other.ty.kind {
        TypeKind::Date | TypeKind::DateTime => match types::parse_datetime(bytes, SqlMode::NONE) {
            Some(at) if other.ty.kind == TypeKind::Date && at.micros_of_day() == 0 => {
                Expr::literal(Value::Date(at.date()), ColumnType::new(TypeKind::Date).not_null())
            }
            Some(at) => Expr::literal(Value::DateTime(at), ColumnType::temporal(TypeKind::DateTime, 6).not_null()),
            None => constant,
        },
        _ => constant,
    }
}

/// The same of a subquery that has one value for all rows: what that is to be is found when it is asked.
pub fn temporal_subquery(value: Expr, other: &Expr) -> Expr {
    if is_number(&value.ty) && is_moment_column(other) {
        return operand(Func::MomentOperand, value);
    }
    let is_year = other.ty.is_year_column() && matches!(other.kind, ExprKind::Slot(_));
    if is_year && may_be_year(&value.ty) { operand(Func::YearOperand, value) } else { value }
}

/// What is compared with what rows have, as MySQL: a YEAR beside a date as the moment at which that year begins, a TIME beside a text as the text that it is
/// shown as. (Beside a constant the constant becomes a year or a time.)
pub fn beside_rows(e: Expr, other: &Expr, collation: Collation) -> Expr {
    let is_constant = other.is_settled() || matches!(other.kind, ExprKind::Func(Func::YearOperand, _));
    let nullable = e.ty.nullable;
    if e.ty.is_year_column() && other.ty.kind.has_date() && !is_constant {
        let ty = ColumnType { nullable, ..ColumnType::temporal(TypeKind::DateTime, 0) };
        Expr { kind: ExprKind::Func(Func::YearMoment, vec![e]), ty }
    } else if e.ty.kind == TypeKind::Time && is_string_class(&other.ty) && other.ty.kind != TypeKind::Json && !is_constant {
        let ty = ColumnType { nullable, ..typing::string(u64::from(typing::display_chars(&e.ty)), collation) };
        Expr { kind: ExprKind::Cast(Box::new(e), CastTo::Char { length: None, collation }), ty }
    } else {
        e
    }
}

/// A constant that becomes what the function makes of it when it is asked.
fn operand(func: Func, constant: Expr) -> Expr {
    let ty = constant.ty.clone();
    Expr { kind: ExprKind::Func(func, vec![constant]), ty }
}

/// Whether what is computed may name a year.
fn may_be_year(ty: &ColumnType) -> bool {
    is_number(ty) && ty.kind != TypeKind::Year
        || is_string_class(ty) && ty.kind != TypeKind::Json
        || matches!(ty.kind, TypeKind::Date | TypeKind::DateTime)
}

/// Whether an expression is a column of dates or of moments.
pub fn is_moment_column(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Slot(_)) && matches!(e.ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp)
}

/// A number compared with such a column, as the moment whose digits it has: 20240131, 240131 and 20240131000000 are one day. Zero, and what has no date's digits,
/// stays a number.
fn moment_operand(constant: Expr, column: TypeKind) -> Expr {
    let number = match &constant.kind {
        ExprKind::Literal(number) => number,
        _ if constant.is_settled() => return operand(Func::MomentOperand, constant),
        _ => return constant,
    };
    let Some(at) = types::moment_operand(number) else { return constant };
    match column {
        TypeKind::Date => Expr::literal(Value::Date(at.date()), ColumnType::new(TypeKind::Date).not_null()),
        _ => Expr::literal(Value::DateTime(at), ColumnType::temporal(TypeKind::DateTime, 0).not_null()),
    }
}

/// A conjunction of conditions, or nothing.
pub fn conjunction(mut list: Vec<Expr>) -> Option<Expr> {
    match list.len() {
        0 => None,
        1 => list.pop(),
        _ => Some(logic(ExprKind::And, list)),
    }
}
