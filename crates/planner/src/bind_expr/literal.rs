//! Constants: numbers, strings with introducers, dates, hexadecimal and bit literals.

use crate::binder::{Binder, Result};
use crate::expr::{CastTo, Expr, ExprKind};
use crate::members::member_number;
use crate::typing;
use mysql_error::{SqlError, codes};
use parser::ast;
use types::{Charset, Collation, ColumnType, Decimal, TypeKind, Value};

impl<'c> Binder<'c> {
    #[inline(never)]
    pub(super) fn literal(&mut self, literal: ast::Literal<'_>) -> Result<Expr> {
        use ast::Literal as L;
        let connection = self.context.connection_collation();
        let text = |bytes: &[u8], collation: Collation| {
            let chars = std::str::from_utf8(bytes).map_or(bytes.len(), |s| s.chars().count());
            Expr::literal(Value::bytes(bytes), typing::string(chars as u64, collation).not_null())
        };
        Ok(match literal {
            L::Null => Expr::literal(Value::Null, ColumnType::new(TypeKind::Null)),
            L::Bool(b) => Expr::literal(Value::bool(b), ColumnType { length: 1, ..ColumnType::bigint() }.not_null()),
            L::Int(n) => {
                let length = n.checked_ilog10().unwrap_or(0) + 1;
                match i64::try_from(n) {
                    Ok(i) => Expr::literal(Value::Int(i), ColumnType { length, ..ColumnType::bigint() }.not_null()),
                    Err(_) => Expr::literal(Value::UInt(n), ColumnType { length, ..ColumnType::bigint_unsigned() }.not_null()),
                }
            }
            L::Decimal(s) => {
                let value = Decimal::parse(s.as_bytes()).value;
                let scale = value.scale();
                let digits = s.bytes().filter(u8::is_ascii_digit).count() as u32;
                let ty = ColumnType::decimal(digits.clamp(1, 65).max(u32::from(scale)), scale).not_null();
                Expr::literal(Value::Decimal(value), ty)
            }
            L::Float(s) => {
                let value: f64 = s.parse().map_err(|_| codes::illegal_value_for_type("double", s))?;
                if value.is_infinite() {
                    return Err(codes::illegal_value_for_type("double", s));
                }
                Expr::literal(Value::Double(value), ColumnType::double().not_null())
            }
            L::String(s) | L::National(s) => {
                if connection.charset() == Charset::Utf8mb4 && std::str::from_utf8(s).is_err() {
                    return Err(invalid_text("utf8mb4", s));
                }
                text(s, connection)
            }
            L::Hex(s) | L::Bit(s) => text(s, Collation::Binary),
            L::Introduced(i) => {
                // What is ASCII is the same text in all of these.
                let ascii = i.value.is_ascii() && ["latin1", "ascii"].iter().any(|name| name.eq_ignore_ascii_case(i.charset));
                let charset = if ascii { Charset::Utf8mb4 } else { charset_of(i.charset)? };
                if charset == Charset::Utf8mb4 && std::str::from_utf8(i.value).is_err() {
                    return Err(invalid_text("utf8mb4", i.value));
                }
                text(i.value, charset.default_collation())
            }
            L::Date(s) => {
                let at = types::parse_datetime(s, self.context.sql_mode());
                match at {
                    Some(at) => Expr::literal(Value::Date(at.date()), ColumnType::new(TypeKind::Date).not_null()),
                    None => return Err(codes::wrong_value("DATE", String::from_utf8_lossy(s))),
                }
            }
            L::Time(s) => match types::parse_time(s) {
                Some(t) => {
                    let digits = fraction_digits(s);
                    Expr::literal(Value::Time(t), ColumnType::temporal(TypeKind::Time, digits).not_null())
                }
                None => return Err(codes::wrong_value("TIME", String::from_utf8_lossy(s))),
            },
            L::Timestamp(s) => match types::parse_datetime(s, self.context.sql_mode()) {
                Some(at) => {
                    let digits = fraction_digits(s);
                    Expr::literal(Value::DateTime(at), ColumnType::temporal(TypeKind::DateTime, digits).not_null())
                }
                None => return Err(codes::wrong_value("DATETIME", String::from_utf8_lossy(s))),
            },
        })
    }

    /// An operand of arithmetic: there a hexadecimal or bit literal is an unsigned integer.
    pub(super) fn number(&mut self, e: &ast::Expr<'_>) -> Result<Expr> {
        if let ast::ExprKind::Literal(ast::Literal::Hex(s) | ast::Literal::Bit(s)) = e.kind
            && s.len() <= 8
        {
            let value = s.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
            return Ok(Expr::literal(Value::UInt(value), ColumnType::bigint_unsigned().not_null()));
        }
        let operand = self.expr(e)?;
        if matches!(operand.kind, ExprKind::UserVariable(_)) && operand.ty.kind == TypeKind::Decimal {
            // As MySQL reckons: with as many digits as a DECIMAL has.
            return Ok(self.cast_to(operand, CastTo::Decimal { precision: 65, scale: 30 }));
        }
        if operand.ty.kind == TypeKind::Json {
            let named = self.named_document(operand, e);
            return Ok(self.document_number(named));
        }
        Ok(member_number(operand))
    }
}

pub(super) fn charset_of(name: &str) -> Result<Charset> {
    // utf8mb3 text is utf8mb4 text; `utf8` is its old name.
    if ["utf8", "utf8mb3"].iter().any(|n| n.eq_ignore_ascii_case(name)) {
        return Ok(Charset::Utf8mb4);
    }
    Charset::from_name(name).ok_or_else(|| codes::unknown_character_set(name))
}

fn invalid_text(charset: &str, bytes: &[u8]) -> SqlError {
    let bad = std::str::from_utf8(bytes).map_or_else(|e| e.valid_up_to(), |_| 0);
    let shown: String = bytes[bad..].iter().take(6).map(|b| format!("\\x{b:02X}")).collect();
    codes::invalid_character_string(charset, shown)
}

pub(super) fn fraction_digits(text: &[u8]) -> u8 {
    match text.iter().position(|b| *b == b'.') {
        Some(at) => text[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count().min(6) as u8,
        None => 0,
    }
}
