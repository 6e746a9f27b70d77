//! Result types of expressions, by MySQL's rules.
//!
//! The kind [`TypeKind::Null`] stands for NULL and for parameters whose type is not known yet; it
//! yields to any other type.

use crate::expr::{ArithOp, CastTo, Expr, ExprKind, SubqueryKind};
use crate::func::Func;
use crate::widths;
use types::{Collation, ColumnType, DECIMALS_NOT_FIXED, Decimal, TypeKind};

/// Classes of types that expressions distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// NULL or unknown.
    Unknown,
    /// Integers, BIT, YEAR.
    Int,
    /// DECIMAL.
    Decimal,
    /// FLOAT, DOUBLE.
    Double,
    /// DATE, DATETIME, TIMESTAMP.
    DateTime,
    /// TIME.
    Time,
    /// Character and binary strings, ENUM, SET, JSON.
    String,
}

/// Whether bit operations take an expression by its bytes: a binary string, but not a hexadecimal or bit literal, which is a number there.
pub fn has_bits_of_bytes(e: &Expr) -> bool {
    let literal = e.ty.unsigned && matches!(e.kind, ExprKind::Literal(_));
    e.ty.is_bytes() && !literal
}

/// The number that a hexadecimal or bit literal is.
pub fn hexadecimal_value(e: &Expr) -> Option<u64> {
    match &e.kind {
        ExprKind::Literal(types::Value::Bytes(bytes)) if e.ty.unsigned && bytes.len() <= 8 => {
            Some(bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)))
        }
        _ => None,
    }
}

/// The type of a value that is no longer the column's own: a number without the zeros that the column fills it up with.
pub fn unfilled(ty: &ColumnType) -> ColumnType {
    ColumnType { zerofill: ty.is_year_column(), ..ty.clone() }
}

/// The type of [`types::whole_text`].
pub fn whole_text(nullable: bool) -> ColumnType {
    ColumnType { nullable, ..ColumnType::decimal(21, 1) }
}

/// A text that rows have beside a column of whole numbers, as the number that it says: numbers of many digits that are neighbours are the same DOUBLE. (MySQL has all digits
/// where it looks into an index.) Anything else as it is; a constant has its number by other ways.
#[inline]
pub fn text_beside_whole(text: Expr, other: &Expr) -> Expr {
    if !is_whole_column(other) || text.is_settled() { text } else { any_text_beside_whole(text, other) }
}

/// The same of constants, too: a subquery's rows may be of them.
pub fn any_text_beside_whole(text: Expr, other: &Expr) -> Expr {
    // Hexadecimal literals, members, documents and moments are other numbers than their texts.
    let is_text = is_string_class(&text.ty) && text.ty.kind != TypeKind::Json && !text.ty.unsigned && !has_members(&text.ty);
    if !is_whole_column(other) || !is_text || crate::members::is_text_moment(&text) {
        return text;
    }
    let ty = whole_text(text.ty.nullable);
    Expr { kind: ExprKind::Func(Func::WholeText, vec![text]), ty }
}

fn is_whole_column(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Slot(_)) && e.ty.kind.is_integer()
}

/// Whether a text that is compared with something is told of once in a statement if it says no number, not for each row: a literal or a parameter
/// beside a number that rows have.
pub fn is_told_once(text: &Expr, other: &Expr) -> bool {
    let text = match &text.kind {
        ExprKind::Func(Func::WholeOperand | Func::DecimalOperand | Func::YearOperand, of) if matches!(of[0].kind, ExprKind::Param(_)) => {
            &of[0]
        }
        _ => text,
    };
    let constant = matches!(text.kind, ExprKind::Literal(types::Value::Bytes(_)) | ExprKind::Param(_)) && is_string_class(&text.ty);
    let number = is_number(&other.ty) && other.ty.kind != TypeKind::Bit;
    constant && !text.ty.unsigned && number && !other.is_constant()
}

/// Whether a text tells nobody where it is no DOUBLE or INTEGER, as in MySQL: that of a TEXT or BLOB column, and of functions that give one of their arguments. (As a DECIMAL, or in a CAST, it does.)
pub fn says_nothing_as_number(text: &Expr) -> bool {
    match &text.kind {
        ExprKind::Slot(_) => text.ty.kind.is_blob(),
        ExprKind::Func(Func::Coalesce | Func::IfNull | Func::Greatest | Func::Least, _) => text.ty.kind.is_string(),
        // IF asks the one that it takes.
        ExprKind::Func(Func::If, args) => args[1..].iter().any(says_nothing_as_number),
        _ => false,
    }
}

/// Class of a type.
pub fn class(ty: &ColumnType) -> Class {
    match ty.kind {
        TypeKind::Null => Class::Unknown,
        k if k.is_integer() => Class::Int,
        TypeKind::Bit | TypeKind::Year => Class::Int,
        TypeKind::Decimal => Class::Decimal,
        TypeKind::Float | TypeKind::Double => Class::Double,
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => Class::DateTime,
        TypeKind::Time => Class::Time,
        _ => Class::String,
    }
}

/// Whether values are texts that count as the numbers of their members.
pub fn has_members(ty: &ColumnType) -> bool {
    matches!(ty.kind, TypeKind::Enum | TypeKind::Set)
}

/// Whether values are numbers.
pub fn is_number(ty: &ColumnType) -> bool {
    matches!(class(ty), Class::Int | Class::Decimal | Class::Double)
}

/// (integer digits, scale) of a value of this type seen as a decimal.
pub fn decimal_digits(ty: &ColumnType) -> (u32, u8) {
    match ty.kind {
        TypeKind::TinyInt => (3, 0),
        TypeKind::SmallInt => (5, 0),
        TypeKind::MediumInt => (8, 0),
        TypeKind::Int => (10, 0),
        // Of its characters one is for the sign.
        TypeKind::BigInt => ((display_chars(ty) - u32::from(!ty.unsigned)).max(1), 0),
        TypeKind::Year => (4, 0),
        TypeKind::Bit => (ty.length.max(1), 0),
        TypeKind::Decimal => (ty.length.saturating_sub(u32::from(ty.decimals)), ty.decimals),
        TypeKind::Date => (8, 0),
        TypeKind::Time => (6, ty.decimals),
        TypeKind::DateTime | TypeKind::Timestamp => (14, ty.decimals),
        _ => (20, 0),
    }
}

/// DECIMAL with these digits, cut to MySQL's limits.
pub fn decimal(integer_digits: u32, scale: u32) -> ColumnType {
    let scale = scale.min(30);
    ColumnType::decimal((integer_digits + scale).clamp(1, 65), scale as u8)
}

fn nullable(ty: ColumnType, nullable: bool) -> ColumnType {
    ColumnType { nullable, ..ty }
}

/// Type of an operand in arithmetic: temporal values become numbers, strings doubles.
fn as_number(ty: &ColumnType) -> ColumnType {
    match class(ty) {
        Class::DateTime | Class::Time => {
            let (digits, scale) = decimal_digits(ty);
            if scale == 0 { widths::whole(digits + 1, false) } else { decimal(digits, u32::from(scale)) }
        }
        Class::String if ty.kind == TypeKind::Bit => ColumnType::bigint_unsigned(),
        Class::String => ColumnType::double(),
        _ => ty.clone(),
    }
}

/// Type of `a op b`.
pub fn arithmetic(op: ArithOp, a: &ColumnType, b: &ColumnType, div_increment: u8) -> ColumnType {
    let null = a.nullable || b.nullable;
    if op.is_bitwise() {
        return nullable(widths::whole(widths::ANY, true), null);
    }
    let (mut a, mut b) = (as_number(a), as_number(b));
    if class(&a) == Class::Unknown {
        a = b.clone();
    } else if class(&b) == Class::Unknown {
        b = a.clone();
    }
    if class(&a) == Class::Unknown {
        return ColumnType::double();
    }
    let unsigned = a.unsigned || b.unsigned;
    let double = class(&a) == Class::Double || class(&b) == Class::Double;
    let exact = class(&a) == Class::Decimal || class(&b) == Class::Decimal;
    let ((ai, asc), (bi, bsc)) = (decimal_digits(&a), decimal_digits(&b));
    let (asc, bsc) = (u32::from(asc), u32::from(bsc));
    let ty = match op {
        ArithOp::IntDiv if class(&a) == Class::Double => widths::whole(22, unsigned),
        ArithOp::IntDiv => widths::whole(ai + u32::from(!unsigned), unsigned),
        _ if double => of_doubles(op, &a, &b, div_increment),
        ArithOp::Div => decimal(ai + bsc, asc + u32::from(div_increment)),
        ArithOp::Add | ArithOp::Sub if exact => decimal(ai.max(bi) + 1, asc.max(bsc)),
        ArithOp::Mul if exact => decimal(ai + bi, asc + bsc),
        ArithOp::Mod if exact => decimal(ai.max(bi), asc.max(bsc)),
        ArithOp::Mod => widths::whole(ai.max(bi) + 1, a.unsigned),
        ArithOp::Mul => widths::whole(ai + bi + u32::from(!unsigned), unsigned),
        _ => widths::whole(ai.max(bi) + 1 + u32::from(!unsigned), unsigned),
    };
    // Division and modulo by zero yield NULL.
    nullable(ty, null || matches!(op, ArithOp::Div | ArithOp::IntDiv | ArithOp::Mod))
}

/// What an operator makes of a floating number: it shows as many digits as the operands, where all of them show a fixed number (`FLOAT(M,D)`, PI()).
fn of_doubles(op: ArithOp, a: &ColumnType, b: &ColumnType, div_increment: u8) -> ColumnType {
    let digits = |ty: &ColumnType| match class(ty) {
        Class::Double => Some(ty.decimals).filter(|digits| *digits < DECIMALS_NOT_FIXED),
        Class::Decimal => Some(ty.decimals),
        Class::Int => Some(0),
        _ => None,
    };
    let Some((a, b)) = digits(a).zip(digits(b)) else { return ColumnType::double() };
    let more = if op == ArithOp::Div { div_increment } else { 0 };
    ColumnType { length: 22, decimals: (a.max(b) + more).min(Decimal::SCALE_MAX), ..ColumnType::double() }
}

/// Type of `-a`.
pub fn negation(a: &ColumnType) -> ColumnType {
    let a = as_number(a);
    match class(&a) {
        Class::Int | Class::Unknown => nullable(widths::whole(decimal_digits(&a).0 + 1, false), a.nullable),
        Class::Double if a.kind == TypeKind::Float && a.decimals >= DECIMALS_NOT_FIXED => nullable(ColumnType::double(), a.nullable),
        _ => ColumnType { unsigned: false, ..a },
    }
}

/// Characters needed to print a value of the type.
pub fn display_chars(ty: &ColumnType) -> u32 {
    match ty.kind {
        TypeKind::Null => 0,
        // With room for a sign.
        TypeKind::TinyInt => 4 - u32::from(ty.unsigned),
        TypeKind::SmallInt => 6 - u32::from(ty.unsigned),
        TypeKind::MediumInt => 9 - u32::from(ty.unsigned),
        TypeKind::Int => 11 - u32::from(ty.unsigned),
        // What is computed says how many; a column has any.
        TypeKind::BigInt if ty.length > 0 => ty.length,
        TypeKind::BigInt => 20,
        TypeKind::Decimal => ty.length + 2,
        TypeKind::Float => 12,
        TypeKind::Double => 22,
        TypeKind::Date => 10,
        TypeKind::Time => 10 + if ty.decimals > 0 { 1 + u32::from(ty.decimals) } else { 0 },
        TypeKind::DateTime | TypeKind::Timestamp => 19 + if ty.decimals > 0 { 1 + u32::from(ty.decimals) } else { 0 },
        TypeKind::Year => 4,
        TypeKind::Enum | TypeKind::Set => {
            let lengths = ty.member_list().iter().map(|m| m.to_text().chars().count() as u32);
            if ty.kind == TypeKind::Enum { lengths.max().unwrap_or(1) } else { lengths.map(|l| l + 1).sum::<u32>().max(1) }
        }
        // As MySQL, which counts each byte of a TEXT for a character: what REPLACE() makes of it may be longer.
        _ => ty.length,
    }
}

/// Bytes that a value's text takes at most.
pub fn display_bytes(ty: &ColumnType) -> u32 {
    let per_char = if is_string_class(ty) && !ty.kind.is_blob() { ty.collation.charset().bytes_per_char_max() } else { 1 };
    display_chars(ty).saturating_mul(per_char)
}

/// A character string type: VARCHAR up to 65535/4 characters, else TEXT.
pub fn string(chars: u64, collation: Collation) -> ColumnType {
    let per_char = u64::from(collation.charset().bytes_per_char_max());
    let chars = chars.min(u64::from(u32::MAX) / 4);
    if chars * per_char <= 65_535 {
        return ColumnType::varchar(chars as u32, collation);
    }
    let kind = match (collation == Collation::Binary, chars * per_char <= 16_777_215) {
        (false, true) => TypeKind::MediumText,
        (false, false) => TypeKind::LongText,
        (true, true) => TypeKind::MediumBlob,
        (true, false) => TypeKind::LongBlob,
    };
    ColumnType { collation, ..ColumnType::new(kind) }
}

/// What text in a user variable is of.
pub fn of_variable(collation: Collation) -> ColumnType {
    string(16_383, collation)
}

/// What a temporal function makes of a string or a number: a date or a time as text, in MySQL a CHAR.
pub fn temporal_string(collation: Collation) -> ColumnType {
    ColumnType { kind: TypeKind::Char, ..string(29, collation) }
}

/// Common type of values that one expression may return (CASE, COALESCE, UNION, …).
pub fn common<'t>(types: impl Iterator<Item = &'t ColumnType>) -> ColumnType {
    let mut result: Option<ColumnType> = None;
    for ty in types {
        result = Some(match result {
            None => ty.clone(),
            Some(so_far) => pair(&so_far, ty),
        });
    }
    result.map_or_else(|| ColumnType::new(TypeKind::Null), |ty| unfilled(&ty))
}

fn pair(a: &ColumnType, b: &ColumnType) -> ColumnType {
    let null = a.nullable || b.nullable;
    let (ca, cb) = (class(a), class(b));
    if ca == Class::Unknown {
        return nullable(b.clone(), null || a.nullable);
    }
    if cb == Class::Unknown {
        return nullable(a.clone(), true);
    }
    if a.kind == b.kind && a.unsigned == b.unsigned && a.kind != TypeKind::Enum && a.kind != TypeKind::Set {
        let mut ty = a.clone();
        ty.length = a.length.max(b.length);
        if a.kind == TypeKind::BigInt {
            ty.length = common_width(a, b);
        }
        if a.kind == TypeKind::Decimal {
            let ((ai, s), (bi, t)) = (decimal_digits(a), decimal_digits(b));
            ty = decimal(ai.max(bi), u32::from(s.max(t)));
        } else {
            ty.decimals = a.decimals.max(b.decimals);
        }
        ty.collation = merged_collation(a, b);
        // Of several hexadecimal literals none is a literal any more.
        ty.unsigned &= !ty.kind.is_string();
        return nullable(ty, null);
    }
    let ty = match (ca, cb) {
        (Class::Int, Class::Int) => integers(a, b),
        (Class::Int | Class::Decimal, Class::Int | Class::Decimal) => {
            let ((ai, s), (bi, t)) = (decimal_digits(a), decimal_digits(b));
            decimal(ai.max(bi), u32::from(s.max(t)))
        }
        (Class::Double, Class::Int) if a.kind == TypeKind::Float && (is_small(b) || b.kind == TypeKind::BigInt) => a.clone(),
        (Class::Int, Class::Double) if b.kind == TypeKind::Float && is_small(a) => b.clone(),
        (Class::Int | Class::Decimal | Class::Double, Class::Int | Class::Decimal | Class::Double) => ColumnType::double(),
        (Class::DateTime, Class::DateTime) => ColumnType::temporal(TypeKind::DateTime, a.decimals.max(b.decimals)),
        (Class::DateTime, Class::Time) | (Class::Time, Class::DateTime) => {
            ColumnType::temporal(TypeKind::DateTime, a.decimals.max(b.decimals))
        }
        _ => {
            let collation = merged_collation(a, b);
            if a.kind.is_blob() || b.kind.is_blob() || a.kind == TypeKind::Json || b.kind == TypeKind::Json {
                let kind = match collation {
                    Collation::Binary => TypeKind::LongBlob,
                    _ => TypeKind::LongText,
                };
                ColumnType { collation, ..ColumnType::new(kind) }
            } else {
                let width = if collation == Collation::Binary { display_bytes } else { display_chars };
                string(u64::from(width(a).max(width(b))), collation)
            }
        }
    };
    nullable(ty, null)
}

/// Whether a FLOAT stays one beside an integer of this type, on either side of it. Beside INT it is a DOUBLE, beside a BIGINT where it comes second.
fn is_small(ty: &ColumnType) -> bool {
    matches!(ty.kind, TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Year)
}

/// Characters of a BIGINT that is one of two integers, as [`ColumnType::length`] has them: 0 where one is any column's.
fn common_width(a: &ColumnType, b: &ColumnType) -> u32 {
    let any = |ty: &ColumnType| ty.kind == TypeKind::BigInt && ty.length == 0;
    if any(a) || any(b) { 0 } else { display_chars(a).max(display_chars(b)) }
}

/// Type of one of two integers. Beside a signed one, an unsigned one takes the next larger type; past BIGINT that is a DECIMAL.
fn integers(a: &ColumnType, b: &ColumnType) -> ColumnType {
    const STEPS: [TypeKind; 5] = [TypeKind::TinyInt, TypeKind::SmallInt, TypeKind::MediumInt, TypeKind::Int, TypeKind::BigInt];
    let step = |ty: &ColumnType| match ty.kind {
        TypeKind::TinyInt => 0,
        TypeKind::SmallInt | TypeKind::Year => 1,
        TypeKind::MediumInt => 2,
        TypeKind::Int => 3,
        _ => 4,
    };
    let is_unsigned = |ty: &ColumnType| ty.unsigned || matches!(ty.kind, TypeKind::Year | TypeKind::Bit);
    let (sa, sb) = (step(a), step(b));
    let (kind, unsigned) = match (is_unsigned(a), is_unsigned(b)) {
        (true, true) => (sa.max(sb), true),
        (false, false) => (sa.max(sb), false),
        (a_unsigned, _) => {
            let (unsigned, step, other) = if a_unsigned { (a, sa, sb) } else { (b, sb, sa) };
            match step {
                4 => return decimal(decimal_digits(a).0.max(decimal_digits(b).0), 0),
                // A YEAR fits a SMALLINT, with sign or without.
                _ if unsigned.kind == TypeKind::Year => (step.max(other), false),
                _ if other > step => (other, false),
                _ => (step + 1, false),
            }
        }
    };
    let kind = STEPS[kind];
    // An INT beside an unsigned one may have more digits than either says.
    let has_digits = |ty: &ColumnType| matches!(ty.kind, TypeKind::BigInt | TypeKind::Bit);
    let length = if kind == TypeKind::BigInt && (has_digits(a) || has_digits(b)) { common_width(a, b) } else { 0 };
    ColumnType { unsigned, length, ..ColumnType::new(kind) }
}

fn merged_collation(a: &ColumnType, b: &ColumnType) -> Collation {
    match (is_string_class(a), is_string_class(b)) {
        (true, true) => {
            if a.collation == Collation::Binary || b.collation == Collation::Binary {
                Collation::Binary
            } else if b.collation.charset() != a.collation.charset() && b.collation.charset().holds_all_of(a.collation.charset()) {
                b.collation
            } else {
                a.collation
            }
        }
        (true, false) => a.collation,
        (false, true) => b.collation,
        _ => Collation::DEFAULT,
    }
}

/// Whether the class is [`Class::String`].
pub fn is_string_class(ty: &ColumnType) -> bool {
    class(ty) == Class::String
}

/// COLLATE was said.
pub const EXPLICIT: u8 = 0;
/// Columns and user variables; in a UNION also what was cast.
pub const IMPLICIT: u8 = 2;
/// What the system says of itself.
pub const SYSTEM: u8 = 3;
/// Literals, and functions of them.
pub const COERCIBLE: u8 = 4;

/// NULL.
pub const IGNORABLE: u8 = 6;

/// How strongly an expression holds to its collation, by MySQL's numbers: 5 are numbers, 6 is NULL.
pub fn coercibility(expr: &Expr) -> u8 {
    coercibility_with(expr, COERCIBLE)
}

/// The same where results are merged. There casts count as columns.
pub fn coercibility_in_union(expr: &Expr) -> u8 {
    coercibility_with(expr, IMPLICIT)
}

fn coercibility_with(expr: &Expr, of_casts: u8) -> u8 {
    match &expr.kind {
        ExprKind::Collate(..) => EXPLICIT,
        ExprKind::Literal(types::Value::Null) => IGNORABLE,
        ExprKind::Literal(_) | ExprKind::Param(_) => COERCIBLE,
        // Bytes clash with nothing. They win over a column's text where they were made bytes, not where a literal was written so.
        ExprKind::Cast(..) if expr.ty.collation == Collation::Binary && is_string_class(&expr.ty) => IMPLICIT,
        ExprKind::UserVariable(_) | ExprKind::AssignVariable(..) => IMPLICIT,
        ExprKind::SystemVariable(..) => SYSTEM,
        ExprKind::Func(Func::User | Func::CurrentUser | Func::CurrentRole | Func::Version | Func::Database, _) => SYSTEM,
        _ if !is_string_class(&expr.ty) => 5,
        ExprKind::Func(func, _) if crate::charsets::makes_own_text(*func) => COERCIBLE,
        ExprKind::DateAdd { .. } => COERCIBLE,
        ExprKind::Slot(_) => IMPLICIT,
        ExprKind::Subquery(_, kind) => match **kind {
            SubqueryKind::Scalar { coercibility } => coercibility,
            _ => COERCIBLE,
        },
        ExprKind::Cast(_, CastTo::Char { .. } | CastTo::Binary { .. }) if of_casts < COERCIBLE => of_casts,
        _ => {
            let mut strongest = COERCIBLE;
            expr.for_each_child(&mut |c| {
                if is_string_class(&c.ty) {
                    strongest = strongest.min(coercibility_with(c, of_casts));
                }
            });
            strongest
        }
    }
}

/// Why strings cannot be merged into one column of a UNION.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnionClash {
    /// Two COLLATE clauses disagree.
    Explicit(Collation, Collation),
    /// Neither of two columns gives way.
    Implicit,
}

/// Two strings that have no collation in common, with how strongly each holds to its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clash {
    /// The one before.
    pub left: (u8, Collation),
    /// The one behind.
    pub right: (u8, Collation),
}

/// MySQL's word for a coercibility.
pub fn coercibility_name(rank: u8) -> &'static str {
    match rank {
        EXPLICIT => "EXPLICIT",
        1 => "NONE",
        IMPLICIT => "IMPLICIT",
        SYSTEM => "SYSCONST",
        COERCIBLE => "COERCIBLE",
        5 => "NUMERIC",
        _ => "IGNORABLE",
    }
}

/// Which of two strings of different character sets (neither of them bytes) decides: the one that holds to its collation more strongly, if it has
/// all characters of the other or the other gives way; else the one that has.
fn across_charsets(a: (u8, Collation), b: (u8, Collation)) -> Option<(u8, Collation)> {
    let has_all = |x: (u8, Collation), y: (u8, Collation)| x.1.charset().holds_all_of(y.1.charset());
    if a.0 == EXPLICIT && b.0 == EXPLICIT {
        None
    } else if a.0 <= b.0 && (has_all(a, b) || (a.0 < b.0 && b.0 >= SYSTEM)) {
        Some(a)
    } else if b.0 <= a.0 && (has_all(b, a) || (b.0 < a.0 && a.0 >= SYSTEM)) {
        Some(b)
    } else if a.0 == b.0 && a.0 >= COERCIBLE {
        Some(a)
    } else {
        None
    }
}

/// Coercibility and collation of a column that a UNION makes of these; `None` when none of them is a string.
pub fn union_collation<'t>(parts: impl Iterator<Item = (u8, &'t ColumnType)>) -> Result<Option<(u8, Collation)>, UnionClash> {
    let mut best: Option<(u8, Collation)> = None;
    // Two have clashed: an explicit one may still decide.
    let mut clashed = false;
    for (rank, ty) in parts.filter(|(_, ty)| is_string_class(ty)) {
        let collation = ty.collation;
        best = Some(match best {
            None => (rank, collation),
            Some((r, c)) if c == collation => (r.min(rank), c),
            // Bytes win over text that is not stronger.
            Some((r, c)) if c == Collation::Binary => {
                if rank < r {
                    (rank, collation)
                } else {
                    (r, c)
                }
            }
            Some((r, c)) if collation == Collation::Binary && r < rank => (r, c),
            Some(_) if collation == Collation::Binary => {
                clashed = false;
                (rank, collation)
            }
            Some((r, c)) if c.charset() != collation.charset() => match across_charsets((r, c), (rank, collation)) {
                Some(decides) => decides,
                None if r == EXPLICIT && rank == EXPLICIT => return Err(UnionClash::Explicit(c, collation)),
                None => {
                    clashed = true;
                    (r, c)
                }
            },
            Some((r, c)) if r < rank => (r, c),
            Some((r, _)) if rank < r => (rank, collation),
            Some((EXPLICIT, c)) => return Err(UnionClash::Explicit(c, collation)),
            Some((r, c)) if c.is_binary() => (r, c),
            Some((r, _)) if collation.is_binary() => (r, collation),
            Some((r, c)) => {
                clashed |= r < COERCIBLE;
                (r, c)
            }
        });
    }
    match best {
        Some((EXPLICIT, _)) => Ok(best),
        _ if clashed => Err(UnionClash::Implicit),
        _ => Ok(best),
    }
}

/// The collation two string operands are compared under; `Err` with both when they clash (1267).
pub fn comparison_collation<'e>(operands: impl Iterator<Item = &'e Expr>) -> Result<Collation, Clash> {
    comparison_collation_by(operands, coercibility)
}

/// The same, where more is known of how strongly they hold to theirs.
pub fn comparison_collation_by<'e>(operands: impl Iterator<Item = &'e Expr>, rank: impl Fn(&Expr) -> u8) -> Result<Collation, Clash> {
    let mut best: Option<(u8, Collation)> = None;
    for e in operands {
        if !is_string_class(&e.ty) {
            continue;
        }
        let (rank, collation) = (rank(e), e.ty.collation);
        let clash = |left| Clash { left, right: (rank, collation) };
        best = Some(match best {
            None => (rank, collation),
            Some((r, c)) if c == collation => (r.min(rank), c),
            Some(so_far @ (_, c)) if c != Collation::Binary && collation != Collation::Binary && c.charset() != collation.charset() => {
                across_charsets(so_far, (rank, collation)).ok_or(clash(so_far))?
            }
            Some((r, c)) if r < rank => (r, c),
            Some((r, _)) if rank < r => (rank, collation),
            Some((r, c)) => {
                if r == EXPLICIT {
                    return Err(clash((r, c)));
                }
                let bin = [c, collation].into_iter().find(|x| *x == Collation::Binary);
                // Of utf8mb4_bin and utf8mb4_0900_bin, one of which pads, neither gives way.
                let by_character = [c, collation].into_iter().find(|x| x.is_binary()).filter(|_| c.is_binary() != collation.is_binary());
                match bin.or(by_character) {
                    Some(b) => (r, b),
                    None if r >= COERCIBLE => (r, c),
                    None => return Err(clash((r, c))),
                }
            }
        });
    }
    Ok(best.map_or(Collation::DEFAULT, |(_, c)| c))
}

/// Result type of SUM.
pub fn sum(arg: &ColumnType) -> ColumnType {
    match class(arg) {
        Class::Int | Class::Decimal => {
            let (i, s) = decimal_digits(arg);
            decimal(i + 22, u32::from(s))
        }
        Class::DateTime | Class::Time if arg.decimals == 0 => decimal(decimal_digits(arg).0 + 22, 0),
        Class::DateTime | Class::Time => decimal(decimal_digits(arg).0 + 22, u32::from(arg.decimals)),
        _ => sum_of_doubles(arg, 0),
    }
}

/// SUM, or AVG with the digits that it shows more, of floating numbers.
fn sum_of_doubles(arg: &ColumnType, more: u8) -> ColumnType {
    // What a double holds for certain, and MySQL's two more.
    const DIGITS: u32 = 17;
    if class(arg) != Class::Double || arg.decimals >= DECIMALS_NOT_FIXED {
        return ColumnType::double();
    }
    let decimals = (arg.decimals + more).min(Decimal::SCALE_MAX);
    ColumnType { length: DIGITS + u32::from(decimals), decimals, ..ColumnType::double() }
}

/// Result type of AVG.
pub fn avg(arg: &ColumnType, div_increment: u8) -> ColumnType {
    match class(arg) {
        Class::Int | Class::Decimal | Class::DateTime | Class::Time => {
            let (i, s) = decimal_digits(arg);
            decimal(i, u32::from(s) + u32::from(div_increment))
        }
        _ => sum_of_doubles(arg, div_increment),
    }
}

/// Fraction digits that a float type shows, for results of numeric functions.
pub const FLOAT_DECIMALS: u8 = DECIMALS_NOT_FIXED;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_follows_mysqls_precision_rules() {
        let check = |op, a: ColumnType, b: ColumnType, expect: &str| assert_eq!(arithmetic(op, &a, &b, 4).to_string(), expect);
        let d = |p, s| ColumnType::decimal(p, s);
        check(ArithOp::Add, d(5, 2), d(4, 3), "decimal(7,3)");
        check(ArithOp::Mul, d(5, 2), d(4, 3), "decimal(9,5)");
        check(ArithOp::Div, d(5, 2), d(4, 3), "decimal(12,6)");
        check(ArithOp::Add, ColumnType::bigint(), ColumnType::bigint(), "bigint");
        check(ArithOp::Add, ColumnType::bigint().unsigned(), ColumnType::bigint(), "bigint unsigned");
        check(ArithOp::Add, ColumnType::varchar(3, Collation::DEFAULT), ColumnType::bigint(), "double");
        check(ArithOp::BitAnd, ColumnType::int(), ColumnType::int(), "bigint unsigned");
    }

    #[test]
    fn common_types() {
        let check = |list: &[ColumnType], expect: &str| assert_eq!(common(list.iter()).to_string(), expect);
        check(&[ColumnType::int(), ColumnType::bigint()], "bigint");
        check(&[ColumnType::int(), ColumnType::decimal(10, 2)], "decimal(12,2)");
        check(&[ColumnType::int(), ColumnType::double()], "double");
        check(&[ColumnType::int(), ColumnType::varchar(3, Collation::DEFAULT)], "varchar(11)");
        check(&[ColumnType::new(TypeKind::Date), ColumnType::temporal(TypeKind::DateTime, 3)], "datetime(3)");
        check(&[ColumnType::new(TypeKind::Null), ColumnType::int()], "int");
    }
}
