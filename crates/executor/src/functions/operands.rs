//! What values are compared or stored as: functions that the binder puts in.

use super::not_answered;
use crate::convert;
use crate::exec::Exec;
use crate::run::Result;
use mysql_error::{SqlError, codes};
use planner::expr::Expr;
use planner::func::Func;
use std::borrow::Cow;
use types::{ByteString, Charset, Decimal, Value};

impl Exec<'_> {
    /// Calls one of them.
    #[inline(never)]
    pub(super) fn call_operand(&mut self, func: Func, args: &[Expr], e: &Expr) -> Result<Value> {
        use Func as F;
        match func {
            F::PadChar => {
                let v = self.eval(&args[0])?;
                Ok(match v {
                    Value::Bytes(text) => Value::Bytes(padded(text, args[0].ty.length as usize)),
                    other => other,
                })
            }
            F::BareZero => Ok(match self.eval(&args[0])? {
                Value::Decimal(d) if d.is_zero() => Value::Decimal(Decimal::ZERO),
                other => other,
            }),
            F::TextMoment => Ok(match self.eval(&args[0])? {
                Value::Bytes(text) => convert::moment_number(&text, &*self.context).map_or(Value::Null, Value::Double),
                other => other,
            }),
            F::WholeOperand | F::DecimalOperand => Ok(match self.eval(&args[0])? {
                Value::Bytes(text) => types::number_operand(&text, func == F::DecimalOperand).unwrap_or(Value::Bytes(text)),
                other => other,
            }),
            F::WholeText => match self.eval(&args[0])? {
                text @ Value::Bytes(_) => {
                    self.odd_number("DOUBLE", &text, &args[0])?;
                    let Value::Bytes(text) = text else { return Ok(Value::Null) };
                    Ok(Value::Decimal(types::whole_text(&text)))
                }
                other => Ok(other),
            },
            F::TextOfBytes => match self.eval(&args[0])? {
                Value::Bytes(bytes) => text_of_bytes(bytes, e.ty.collation.charset()),
                other => Ok(other),
            },
            F::NoDocument => match self.eval(&args[0])? {
                Value::Bytes(_) => Err(codes::invalid_json_charset("binary").into()),
                other => Ok(other),
            },
            F::YearMoment => Ok(match self.eval(&args[0])? {
                Value::UInt(year) => {
                    let year = u16::try_from(year).unwrap_or(0);
                    Value::DateTime(types::DateTime::from_date(types::Date::from_fields(year, 0, 0)))
                }
                other => other,
            }),
            F::YearOperand => Ok(types::year_operand(self.eval(&args[0])?)),
            F::MomentOperand => {
                let number = self.eval(&args[0])?;
                Ok(types::moment_operand(&number).map_or(number, Value::DateTime))
            }
            _ => Err(not_answered(func)),
        }
    }
}

/// Bytes as text of a character set; 3854 where they are none.
fn text_of_bytes(bytes: ByteString, to: Charset) -> Result<Value> {
    match to.decode(&bytes) {
        Ok(Cow::Borrowed(_)) => {}
        Ok(Cow::Owned(text)) => return Ok(Value::bytes(text)),
        Err(_) => return Err(cannot_convert(&bytes, Charset::Binary, to).into()),
    }
    Ok(Value::Bytes(bytes))
}

/// 3854 of bytes of a character set that are no text of another.
#[cold]
pub fn cannot_convert(bytes: &[u8], from: Charset, to: Charset) -> SqlError {
    const SHOWN: usize = 6;
    let shown = bytes.iter().take(SHOWN).map(|byte| match byte {
        b' '..=b'~' => char::from(*byte).to_string(),
        byte => format!("\\x{byte:02X}"),
    });
    let more = if bytes.len() > SHOWN { "..." } else { "" };
    codes::cannot_convert_string(shown.collect::<String>() + more, from.name(), to.name())
}

/// A text with spaces up to so many characters.
fn padded(text: ByteString, chars: usize) -> ByteString {
    let own = text.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
    if own >= chars {
        return text;
    }
    let mut padded = text.to_vec();
    padded.resize(padded.len() + chars - own, b' ');
    padded.into()
}
