//! JSON_VALUE: a value of a document as an SQL type, or what the statement says instead.

use crate::errors::{Error, out_of_range};
use crate::exec::Exec;
use crate::functions::json_functions::unquoted;
use crate::functions::temporal::{round_datetime, round_time};
use crate::run::Result;
use crate::{convert, document};
use json::View;
use mysql_error::SqlError;
use planner::expr::{CastTo, Expr, ExprKind};
use planner::func::Func;
use types::{Collation, Decimal, Value};

/// What the arguments say of a missing or wrong value, as the binder wrote it down.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Instead {
    Null,
    Error,
    Default,
}

impl Exec<'_> {
    /// `args`: document, path, what to do instead, defaults on empty and on error, and a cast that says the type.
    #[inline(never)]
    pub(super) fn json_value(&mut self, args: &[Expr]) -> Result<Value> {
        let [_, path, Expr { kind: ExprKind::Literal(Value::Int(codes)), .. }, on_empty, on_error, template] = args else {
            return Err(crate::errors::internal("arguments of JSON_VALUE"));
        };
        let ExprKind::Cast(_, target) = &template.kind else { return Err(crate::errors::internal("type of JSON_VALUE")) };
        let instead = |code: i64| match code & 3 {
            0 => Instead::Null,
            1 => Instead::Error,
            _ => Instead::Default,
        };
        let (empty, wrong) = (instead(*codes), instead(codes >> 2));
        let path = self.path_arg(path)?;
        let document = match self.document_arg(Func::JsonValue, args, 0) {
            Ok(document) => document,
            // A text that is no document is an error of the value; an argument of another type one of the statement.
            Err(Error::Sql(e)) if matches!(e.code, 3141 | 3157) && wrong != Instead::Error => return self.value_instead(wrong, on_error),
            Err(e) => return Err(e),
        };
        let (Some(document), Some(path)) = (document, path) else { return Ok(Value::Null) };
        let found = path.find(View::new(&document))?;
        match found.as_slice() {
            [] if empty == Instead::Error => Err(refused(3966, b"22035", "No value was found by 'json_value' on the specified path.")),
            [] => self.value_instead(empty, on_empty),
            [value] if value.is_null() => Ok(Value::Null),
            [value] => match self.value_as(*value, *target)? {
                Some(value) => Ok(value),
                None if wrong == Instead::Error => Err(out_of_range(type_word(*target), "json_value")),
                None => self.value_instead(wrong, on_error),
            },
            _ if wrong == Instead::Error => {
                Err(refused(3967, b"22034", "More than one value was found by 'json_value' on the specified path."))
            }
            _ => self.value_instead(wrong, on_error),
        }
    }

    fn value_instead(&mut self, instead: Instead, default: &Expr) -> Result<Value> {
        if instead == Instead::Default { self.eval(default) } else { Ok(Value::Null) }
    }

    /// A value as a type; `None` where it is no value of the type.
    fn value_as(&mut self, view: View<'_>, target: CastTo) -> Result<Option<Value>> {
        let text = |view| match unquoted(view)? {
            Value::Bytes(text) => Ok::<_, Error>(text),
            _ => Ok(types::ByteString::new()),
        };
        Ok(match target {
            CastTo::Json => Some(Value::Json(view.bytes().into())),
            CastTo::Char { length, .. } => {
                let text = text(view)?;
                let fits = length.is_none_or(|length| Collation::DEFAULT.chars_prefix_bytes(&text, length as usize) == text.len());
                fits.then_some(Value::Bytes(text))
            }
            CastTo::Binary { length } => {
                let text = text(view)?;
                length.is_none_or(|length| text.len() <= length as usize).then_some(Value::Bytes(text))
            }
            _ => match document::sql_scalar(view.bytes()) {
                Some(value) => self.scalar_as(value, target),
                None => None,
            },
        })
    }

    fn scalar_as(&self, value: Value, target: CastTo) -> Option<Value> {
        let context = &*self.context;
        // A string must be a number to its end, without spaces.
        let number = match &value {
            Value::Bytes(text) => {
                let parsed = types::parse_double(text);
                let whole = !text.is_empty() && parsed.consumed == text.len() && !parsed.overflow && !text[0].is_ascii_whitespace();
                whole.then(|| (Decimal::parse(text).value, parsed.value))
            }
            Value::Date(_) | Value::Time(_) | Value::DateTime(_) => None,
            Value::Double(v) => Some((Decimal::from_f64(*v).unwrap_or_else(|| Decimal::max_value(65, 0)), *v)),
            other => convert::number(other, context)
                .as_ref()
                .map(|n| (convert::number_decimal(n).unwrap_or(Decimal::ZERO), convert::number_f64(n))),
        };
        match target {
            CastTo::Signed | CastTo::Unsigned | CastTo::Year => {
                let (decimal, double) = number?;
                let digits_only = |text: &[u8]| text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-');
                if matches!(&value, Value::Bytes(text) if !digits_only(text)) || double.abs() > 2e19 {
                    return None;
                }
                // Halves of doubles go to the even neighbour, as where they are cast.
                let rounded =
                    if matches!(value, Value::Double(_)) { Decimal::from_f64(double.round_ties_even())? } else { decimal.round(0) };
                match target {
                    CastTo::Signed => rounded.to_i64().ok().map(Value::Int),
                    CastTo::Unsigned => rounded.to_u64().ok().map(Value::UInt),
                    _ => rounded.to_u64().ok().filter(|year| *year == 0 || (1901..=2155).contains(year)).map(Value::UInt),
                }
            }
            CastTo::Decimal { precision, scale } => {
                let decimal = number?.0.rescale(scale)?;
                decimal.fits(u32::from(precision), scale).then_some(Value::Decimal(decimal))
            }
            CastTo::Double => number.map(|(_, double)| Value::Double(double)),
            CastTo::Float => {
                number.map(|(_, double)| Value::Float(double as f32)).filter(|v| !matches!(v, Value::Float(f) if f.is_infinite()))
            }
            CastTo::Date | CastTo::DateTime { .. } | CastTo::Time { .. } => {
                if !matches!(value, Value::Bytes(_) | Value::Date(_) | Value::Time(_) | Value::DateTime(_)) {
                    return None;
                }
                match target {
                    CastTo::Time { fraction } => {
                        convert::to_time(&value, context).map(|time| Value::Time(round_time(time, fraction, context.sql_mode())))
                    }
                    CastTo::DateTime { fraction } => {
                        convert::to_datetime(&value, context).map(|at| Value::DateTime(round_datetime(at, fraction, context.sql_mode())))
                    }
                    _ => convert::to_datetime(&value, context).map(|at| Value::Date(at.date())),
                }
            }
            CastTo::Json | CastTo::Char { .. } | CastTo::Binary { .. } => None,
        }
    }
}

fn refused(code: u16, sqlstate: &[u8; 5], message: &str) -> Error {
    SqlError { code, sqlstate: *sqlstate, message: message.into() }.into()
}

/// What message 1690 calls a type.
fn type_word(target: CastTo) -> &'static str {
    match target {
        CastTo::Signed => "SIGNED",
        CastTo::Unsigned => "UNSIGNED",
        CastTo::Decimal { .. } => "DECIMAL",
        CastTo::Double => "DOUBLE",
        CastTo::Float => "FLOAT",
        CastTo::Date => "DATE",
        CastTo::Time { .. } => "TIME",
        CastTo::DateTime { .. } => "DATETIME",
        CastTo::Year => "YEAR",
        CastTo::Json => "JSON",
        CastTo::Char { .. } | CastTo::Binary { .. } => "STRING",
    }
}
