//! ENUM and SET where a number is wanted, and as keys of a sort: they count as the number of their member, the bits of their members.
//! Hexadecimal and bit literals are strings of bytes that count as unsigned integers there.

use crate::expr::{ArithOp, CastTo, Expr, ExprKind};
use crate::func::Func;
use crate::plan::SortKey;
use crate::typing::{self, Class, class};
use types::{Collation, ColumnType, TypeKind, Value};

/// What an operand of arithmetic, of a comparison with a number, or of a sum counts as.
pub fn member_number(e: Expr) -> Expr {
    if is_text_moment(&e) {
        return moment_of_text(e);
    }
    if !typing::has_members(&e.ty) {
        return hexadecimal_number(e);
    }
    let ty = ColumnType { nullable: e.ty.nullable, ..ColumnType::double() };
    Expr { kind: ExprKind::Cast(Box::new(e), CastTo::Double), ty }
}

/// Puts what `change` makes of an expression in its place.
pub fn replace(e: &mut Expr, change: impl FnOnce(Expr) -> Expr) {
    let whole = std::mem::replace(e, Expr::literal(Value::Null, ColumnType::new(TypeKind::Null)));
    *e = change(whole);
}

/// Whether a function of dates and times makes text here, because its operand is text or a number.
pub fn is_text_moment(e: &Expr) -> bool {
    e.ty.kind == TypeKind::Char && matches!(e.kind, ExprKind::DateAdd { .. } | ExprKind::Func(Func::AddTime | Func::SubTime, _))
}

/// Such text as the number that the date or time is: `DATE_ADD('2024-01-31', INTERVAL 1 DAY) + 0` is 20240201.
pub fn moment_of_text(e: Expr) -> Expr {
    let ty = ColumnType { nullable: e.ty.nullable, ..ColumnType::double() };
    Expr { kind: ExprKind::Func(Func::TextMoment, vec![e]), ty }
}

/// Text as the number that it begins with, and a hexadecimal literal as the number that it is.
pub fn text_number(e: Expr) -> Expr {
    let e = hexadecimal_number(e);
    if typing::is_number(&e.ty) {
        return e;
    }
    let ty = ColumnType { nullable: e.ty.nullable, ..ColumnType::double() };
    Expr { kind: ExprKind::Cast(Box::new(e), CastTo::Double), ty }
}

/// The type of a hexadecimal or bit literal: a binary string that says it is unsigned, as MySQL tells clients. Only literals are.
pub fn hexadecimal_type(bytes: usize) -> ColumnType {
    ColumnType { unsigned: true, ..typing::string(bytes as u64, Collation::Binary).not_null() }
}

/// The arguments of a function that asks which of them are equal: where some are numbers all count as numbers. A parameter of no type is as the others are.
pub fn numbers_beside_numbers(args: &mut [Expr]) {
    if !args.iter().any(|arg| typing::is_number(&arg.ty)) {
        return;
    }
    let is_open = |e: &Expr| matches!(e.kind, ExprKind::Param(_)) && e.ty.kind == TypeKind::Null;
    for arg in args.iter_mut().filter(|arg| !typing::is_number(&arg.ty) && !is_open(arg)) {
        replace(arg, |e| text_number(member_number(e)));
    }
}

/// A hexadecimal or bit literal as the number that it is where numbers are wanted; anything else as it is.
pub fn hexadecimal_number(e: Expr) -> Expr {
    match typing::hexadecimal_value(&e) {
        Some(value) => Expr::literal(Value::UInt(value), ColumnType::bigint_unsigned().not_null()),
        None => e,
    }
}

/// What is stored into a column: a hexadecimal literal, an ENUM or a SET is a number to numeric columns, a date that a function has chosen is its text, and the
/// text of a computed zero has no fraction.
pub fn stored_in(e: Expr, column: &ColumnType) -> Expr {
    if column.kind.stores_numbers() { as_stored_number(hexadecimal_number(e)) } else { chosen_in(e, column) }
}

/// The same of what a query gives.
pub fn store_chosen(sources: &mut [Expr], columns: &[&ColumnType]) {
    for (e, column) in sources.iter_mut().zip(columns) {
        replace(e, |e| stored_in(e, column));
    }
}

/// What is stored into a column of no numbers: a member into a BIT is its number, a BIT column into a TEXT or BLOB its bytes (into other strings, and computed, its digits).
fn chosen_in(e: Expr, column: &ColumnType) -> Expr {
    if column.kind == TypeKind::Bit && typing::has_members(&e.ty) {
        return as_stored_number(e);
    }
    if e.ty.kind == TypeKind::Bit && column.kind.is_blob() && matches!(e.kind, ExprKind::Slot(_)) {
        let bytes = u64::from(e.ty.length.div_ceil(8));
        let ty = ColumnType { nullable: e.ty.nullable, ..typing::string(bytes, Collation::Binary) };
        return Expr { kind: ExprKind::Cast(Box::new(e), CastTo::Binary { length: None }), ty };
    }
    text_in(e, column)
}

/// What is stored into a column of text: a moment with all the fraction digits of its type, which the value alone does not tell.
fn text_in(e: Expr, column: &ColumnType) -> Expr {
    if !typing::is_string_class(column) {
        return e;
    }
    let has_fraction = (1..=6).contains(&e.ty.decimals) && matches!(class(&e.ty), Class::DateTime | Class::Time);
    if !has_fraction || !column.kind.is_string() || typing::has_members(column) {
        return bare_zero(e);
    }
    let collation = if column.collation == Collation::Binary { Collation::DEFAULT } else { column.collation };
    let ty = ColumnType { nullable: e.ty.nullable, ..typing::string(u64::from(typing::display_chars(&e.ty)), collation) };
    Expr { kind: ExprKind::Cast(Box::new(e), CastTo::Char { length: None, collation }), ty }
}

/// A zero that MySQL has computed as a product, a quotient, a remainder or a difference has no digits behind the point until somebody gives it those of its type.
/// Storing into a text column, a user variable or a document does not: `1 * 0.0` is `0` there, where `0.0` and `0.0 + 0` are `0.0`.
pub fn bare_zero(e: Expr) -> Expr {
    if e.ty.kind != TypeKind::Decimal || !is_computed(&e) {
        return e;
    }
    let ty = e.ty.clone();
    Expr { kind: ExprKind::Func(Func::BareZero, vec![e]), ty }
}

/// Whether a zero that comes of an expression is such a one, whichever of its operands it is.
pub fn is_computed(e: &Expr) -> bool {
    let either = |e: &Expr| e.ty.kind.is_integer() || is_computed(e);
    let computes = |op: ArithOp| matches!(op, ArithOp::Mul | ArithOp::Div | ArithOp::Mod | ArithOp::Sub);
    match &e.kind {
        ExprKind::Arith(op, ..) => computes(*op),
        ExprKind::Run(_, links) => links.last().is_some_and(|link| computes(link.op)),
        ExprKind::Func(Func::Mod, _) => true,
        ExprKind::Neg(operand) => is_computed(operand),
        ExprKind::Func(Func::Abs, args) => args.iter().all(is_computed),
        ExprKind::Func(Func::If, args) => args.iter().skip(1).all(either),
        ExprKind::Func(Func::IfNull | Func::Coalesce, args) => args.iter().all(either),
        _ => false,
    }
}

/// A date or time that IF, COALESCE and their like have chosen of their operands: MySQL takes such a value as text, where one of a column, a
/// literal or a function of dates is a number of its digits (`IF(1, DATE'2024-01-31', NULL)` is 2024 in a BIGINT, `DATE'2024-01-31'` 20240131).
fn is_chosen_date(e: &Expr) -> bool {
    let chooses = match &e.kind {
        ExprKind::Case { .. } => true,
        ExprKind::Func(func, _) => {
            matches!(func, Func::If | Func::IfNull | Func::Coalesce | Func::NullIf | Func::Greatest | Func::Least | Func::AnyValue)
        }
        _ => false,
    };
    chooses && (e.ty.kind.has_date() || e.ty.kind == TypeKind::Time)
}

fn as_stored_number(e: Expr) -> Expr {
    if typing::has_members(&e.ty) {
        let ty = ColumnType { nullable: e.ty.nullable, ..ColumnType::bigint_unsigned() };
        return Expr { kind: ExprKind::Cast(Box::new(e), CastTo::Unsigned), ty };
    }
    if !is_chosen_date(&e) {
        return e;
    }
    let collation = Collation::DEFAULT;
    let ty = ColumnType { nullable: e.ty.nullable, ..typing::string(u64::from(typing::display_chars(&e.ty)), collation) };
    Expr { kind: ExprKind::Cast(Box::new(e), CastTo::Char { length: None, collation }), ty }
}

/// Keys of a sort, with ENUM and SET by number.
pub fn sorting(mut keys: Vec<SortKey>) -> Vec<SortKey> {
    for key in &mut keys {
        if typing::has_members(&key.expr.ty) {
            let ty = ColumnType { nullable: key.expr.ty.nullable, ..ColumnType::bigint_unsigned() };
            let member = std::mem::replace(&mut key.expr, Expr::literal(Value::Null, ty.clone()));
            key.expr = Expr { kind: ExprKind::Cast(Box::new(member), CastTo::Unsigned), ty };
            key.collation = Collation::Binary;
        }
    }
    keys
}
