//! Constants: numbers, strings with introducers, dates, hexadecimal and bit literals.

use crate::binder::{Binder, Result};
use crate::charsets::named_charset;
use crate::expr::{CastTo, Expr, ExprKind};
use crate::members::{hexadecimal_type, member_number};
use crate::typing;
use crate::widths;
use mysql_error::{SqlError, codes};
use parser::ast;
use types::{Charset, Collation, ColumnType, Decimal, TypeKind, Value};

impl<'c> Binder<'c> {
    #[inline(never)]
    pub(super) fn literal(&mut self, literal: ast::Literal<'_>) -> Result<Expr> {
        use ast::Literal as L;
        let connection = self.connection_collation();
        let text = |bytes: &[u8], collation: Collation| {
            let chars = std::str::from_utf8(bytes).map_or(bytes.len(), |s| s.chars().count());
            Expr::literal(Value::bytes(bytes), typing::string(chars as u64, collation).not_null())
        };
        Ok(match literal {
            L::Null => Expr::literal(Value::Null, ColumnType::new(TypeKind::Null)),
            L::Bool(b) => Expr::literal(Value::bool(b), widths::whole(widths::TRUTH, false).not_null()),
            L::Int(n) => {
                let digits = n.checked_ilog10().unwrap_or(0) + 1;
                match i64::try_from(n) {
                    Ok(i) => Expr::literal(Value::Int(i), widths::whole(digits + 1, false).not_null()),
                    Err(_) => Expr::literal(Value::UInt(n), widths::whole(digits, true).not_null()),
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
                // NATIONAL text is utf8mb3's.
                let of = if matches!(literal, L::National(_)) { Collation::Utf8mb3GeneralCi } else { connection };
                if of != Collation::Binary && std::str::from_utf8(s).is_err() {
                    return Err(invalid_text(of.charset(), s));
                }
                match of.charset() {
                    Charset::Latin1 | Charset::Ascii => text(&of.charset().fit(s), of),
                    _ => text(s, of),
                }
            }
            L::Hex(s) | L::Bit(s) => Expr::literal(Value::bytes(s), hexadecimal_type(s.len())),
            L::Introduced(i) => {
                let charset = named_charset(self, i.charset)?;
                // The statement's text has been converted from the client's character set; an introducer is about the bytes that were sent.
                let mut sent = Vec::new();
                let bytes = if i.quoted && !self.context.client_charset().is_utf8_bytes() && !i.value.is_ascii() {
                    self.context.client_charset().encode(i.value, &mut sent);
                    &sent
                } else {
                    i.value
                };
                match charset.decode(bytes) {
                    Ok(known) => text(&known, charset.default_collation()),
                    Err(_) if charset == Charset::Ascii => {
                        self.warnings.push(invalid_text(charset, bytes).into());
                        text(&charset.decode_lossy(bytes), charset.default_collation())
                    }
                    Err(_) => return Err(invalid_text(charset, bytes)),
                }
            }
            L::Date(s) => {
                let at = types::parse_datetime(s, self.sql_mode());
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
            L::Timestamp(s) => match types::parse_datetime(s, self.sql_mode()) {
                Some(at) => {
                    let digits = fraction_digits(s);
                    Expr::literal(Value::DateTime(at), ColumnType::temporal(TypeKind::DateTime, digits).not_null())
                }
                None => return Err(codes::wrong_value("DATETIME", String::from_utf8_lossy(s))),
            },
        })
    }

    /// An operand of arithmetic: there a hexadecimal literal is an unsigned integer, a bit literal one with a sign.
    pub(super) fn number(&mut self, e: &ast::Expr<'_>) -> Result<Expr> {
        let operand = self.expr(e)?;
        Ok(self.as_number(operand, e))
    }

    /// The same of what is bound already; `e` is its text.
    pub(super) fn as_number(&mut self, operand: Expr, e: &ast::Expr<'_>) -> Expr {
        if matches!(operand.kind, ExprKind::UserVariable(_)) && operand.ty.kind == TypeKind::Decimal {
            // As MySQL reckons: with as many digits as a DECIMAL has.
            return self.cast_to(operand, CastTo::Decimal { precision: 65, scale: 30 });
        }
        if operand.ty.kind == TypeKind::Json {
            let named = self.named_document(operand, e);
            return self.document_number(named);
        }
        let number = member_number(operand);
        match (&number.kind, &e.kind) {
            (ExprKind::Literal(Value::UInt(bits)), ast::ExprKind::Literal(ast::Literal::Bit(_))) if i64::try_from(*bits).is_ok() => {
                Expr::literal(Value::Int(bits.cast_signed()), ColumnType::bigint().not_null())
            }
            _ => number,
        }
    }
}

fn invalid_text(charset: Charset, bytes: &[u8]) -> SqlError {
    let shown: String = bytes[charset.valid_prefix_bytes(bytes)..].iter().take(3).map(|b| format!("{b:02X}")).collect();
    codes::invalid_character_string(charset.name(), shown)
}

pub(super) fn fraction_digits(text: &[u8]) -> u8 {
    match text.iter().position(|b| *b == b'.') {
        Some(at) => text[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count().min(6) as u8,
        None => 0,
    }
}
