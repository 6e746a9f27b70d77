//! CAST, CONVERT and date arithmetic with INTERVAL.

use crate::binder::{Binder, Result};
use crate::charsets::named_charset;
use crate::expr::{CastTo, Expr, ExprKind, Unit};
use crate::func::Func;
use crate::members::{hexadecimal_number, is_text_moment, moment_of_text};
use crate::typing::{self, Class, class};
use crate::widths;
use mysql_error::codes;
use parser::ast;
use types::{Collation, ColumnType, TypeKind, Value};

/// Bits that FLOAT may ask for at most.
const FLOAT_PRECISION_MAX: u64 = 53;

impl<'c> Binder<'c> {
    #[inline(never)]
    pub(super) fn cast(&mut self, operand: Expr, ty: &ast::DataType<'_>) -> Result<Expr> {
        use ast::DataTypeKind as K;
        let target = match ty.kind {
            K::BigInt | K::Int | K::SmallInt | K::MediumInt | K::TinyInt => {
                if ty.unsigned {
                    CastTo::Unsigned
                } else {
                    CastTo::Signed
                }
            }
            K::Decimal => {
                let precision = ty.length.unwrap_or(10);
                let scale = ty.decimals.unwrap_or(0);
                if scale > 30 {
                    return Err(codes::too_big_scale(scale, "CAST", 30));
                }
                if precision > 65 {
                    return Err(codes::too_big_precision(precision, "CAST", 65));
                }
                if u64::from(scale) > precision {
                    return Err(codes::m_bigger_than_d("CAST"));
                }
                CastTo::Decimal { precision: if precision == 0 { 10 } else { precision as u8 }, scale: scale as u8 }
            }
            K::Double => CastTo::Double,
            K::Float => match ty.length {
                Some(bits) if bits > FLOAT_PRECISION_MAX => return Err(codes::too_big_precision(bits, "CAST", FLOAT_PRECISION_MAX)),
                Some(bits) if bits > ast::FLOAT_BITS_MAX => CastTo::Double,
                _ => CastTo::Float,
            },
            K::Date => CastTo::Date,
            K::Time => CastTo::Time { fraction: fraction(ty)? },
            K::DateTime | K::Timestamp => CastTo::DateTime { fraction: fraction(ty)? },
            K::Year => CastTo::Year,
            K::Char | K::VarChar => {
                let charset = ty.charset.map(|name| named_charset(self, name)).transpose()?;
                let collation = match charset {
                    _ if ty.binary => charset.unwrap_or_else(|| self.connection_collation().charset()).binary_collation(),
                    Some(charset) => charset.default_collation(),
                    None => self.connection_collation(),
                };
                if collation == Collation::Binary {
                    CastTo::Binary { length: ty.length.map(|l| l as u32) }
                } else {
                    // A length that no text has is none.
                    CastTo::Char { length: ty.length.and_then(|l| u32::try_from(l).ok()), collation }
                }
            }
            K::Binary | K::VarBinary => CastTo::Binary { length: ty.length.map(|l| l as u32) },
            K::Json => CastTo::Json,
            _ => return Err(codes::not_supported_yet("CAST to this type")),
        };
        let operand = match target {
            CastTo::Decimal { .. } | CastTo::Double | CastTo::Float if is_text_moment(&operand) => moment_of_text(operand),
            CastTo::Signed | CastTo::Unsigned | CastTo::Double | CastTo::Float | CastTo::Decimal { .. } | CastTo::Year => {
                hexadecimal_number(operand)
            }
            _ => operand,
        };
        Ok(self.cast_to(operand, target))
    }

    /// What `CAST(… AT TIME ZONE …)` casts: the time in UTC, the only zone that MySQL knows there.
    pub(super) fn at_time_zone(&mut self, args: &[ast::Expr<'_>]) -> Result<Expr> {
        let [at, ast::Expr { kind: ast::ExprKind::Literal(ast::Literal::String(zone)), .. }] = args else {
            return Err(codes::unknown_time_zone(""));
        };
        if *zone != b"+00:00" && !zone.eq_ignore_ascii_case(b"UTC") {
            return Err(codes::unknown_time_zone(String::from_utf8_lossy(zone)));
        }
        let at = self.expr(at)?;
        let literal = matches!(at.kind, ExprKind::Literal(Value::DateTime(_) | Value::Null));
        if at.ty.kind != TypeKind::Timestamp && !literal {
            return Err(codes::invalid_cast("TIMESTAMP WITH TIME ZONE"));
        }
        let ty = ColumnType::temporal(TypeKind::DateTime, at.ty.decimals);
        Ok(Expr { kind: ExprKind::Func(Func::AtTimeZone, vec![at]), ty })
    }

    pub(super) fn cast_to(&mut self, operand: Expr, target: CastTo) -> Expr {
        let chars = u64::from(typing::display_chars(&operand.ty));
        let null = operand.ty.nullable;
        let ty = match target {
            CastTo::Signed => widths::whole(widths::ANY, false),
            CastTo::Unsigned => widths::whole(widths::ANY, true),
            CastTo::Double => ColumnType::double(),
            CastTo::Float => ColumnType::new(TypeKind::Float),
            CastTo::Decimal { precision, scale } => ColumnType::decimal(u32::from(precision), scale),
            CastTo::Date => ColumnType::new(TypeKind::Date),
            CastTo::Time { fraction } => ColumnType::temporal(TypeKind::Time, fraction),
            CastTo::DateTime { fraction } => ColumnType::temporal(TypeKind::DateTime, fraction),
            CastTo::Moment => ColumnType::temporal(TypeKind::DateTime, 6),
            CastTo::Year => ColumnType::new(TypeKind::Year),
            CastTo::Json => ColumnType::new(TypeKind::Json),
            CastTo::Char { length, collation } => typing::string(length.map_or(chars, u64::from), collation),
            CastTo::Binary { length } => {
                let of = crate::charsets::charset_of_text(&operand.ty).map_or(4, types::Charset::bytes_per_char_max);
                typing::string(length.map_or(chars * u64::from(of), u64::from), Collation::Binary)
            }
        };
        // Bytes may be no text.
        let may_fail =
            matches!(target, CastTo::Char { .. }) && crate::charsets::charset_of_text(&operand.ty) == Some(types::Charset::Binary);
        let temporal = may_fail || matches!(target, CastTo::Date | CastTo::Time { .. } | CastTo::DateTime { .. } | CastTo::Year);
        Expr { kind: ExprKind::Cast(Box::new(operand), target), ty: ColumnType { nullable: null || temporal, ..ty } }
    }

    #[inline(never)]
    pub(super) fn date_add(
        &mut self,
        date: &ast::Expr<'_>,
        amount: &ast::Expr<'_>,
        unit: ast::IntervalUnit,
        negated: bool,
    ) -> Result<Expr> {
        let date = self.expr(date)?;
        let amount = hexadecimal_number(self.expr(amount)?);
        let whole_days = matches!(unit, Unit::Day | Unit::Week | Unit::Month | Unit::Quarter | Unit::Year | Unit::YearMonth);
        let with_days = matches!(unit, Unit::DayHour | Unit::DayMinute | Unit::DaySecond | Unit::DayMicrosecond);
        let micros = matches!(
            unit,
            Unit::Microsecond | Unit::SecondMicrosecond | Unit::MinuteMicrosecond | Unit::HourMicrosecond | Unit::DayMicrosecond
        );
        let of_amount = if unit == Unit::Second { string_amount_decimals(&amount) } else { 0 };
        let decimals = if micros { 6 } else { date.ty.decimals.min(6).max(of_amount) };
        let ty = match date.ty.kind {
            TypeKind::Date if whole_days => ColumnType::new(TypeKind::Date),
            TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => ColumnType::temporal(TypeKind::DateTime, decimals),
            TypeKind::Time if !whole_days && !with_days => ColumnType::temporal(TypeKind::Time, decimals),
            TypeKind::Time => ColumnType::temporal(TypeKind::DateTime, decimals),
            // A string stays a string: with or without a time part as the value says.
            _ => typing::temporal_string(self.connection_collation()),
        };
        let kind = ExprKind::DateAdd { date: Box::new(date), amount: Box::new(amount), unit, negated };
        Ok(Expr { kind, ty: ColumnType { nullable: true, ..ty } })
    }
}

pub(super) fn fraction(ty: &ast::DataType<'_>) -> Result<u8> {
    let digits = ty.length.unwrap_or(0);
    if digits > 6 { Err(codes::too_big_precision(digits, "CAST", 6)) } else { Ok(digits as u8) }
}

/// Fraction digits that an amount of seconds brings: its scale, six for strings and doubles.
fn string_amount_decimals(e: &Expr) -> u8 {
    match class(&e.ty) {
        Class::Decimal => e.ty.decimals.min(6),
        Class::Int => 0,
        _ => 6,
    }
}
