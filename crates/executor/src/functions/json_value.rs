//! JSON_VALUE: a value of a document as an SQL type, or what the statement says instead.

use crate::document_cast::{TWO_TO_63, moment_of_text, time_of_text};
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
use types::{Collation, Decimal, SqlMode, Value};

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
            Err(Error::Sql(e)) if e.code == 3141 && wrong != Instead::Error => {
                self.warn(e.code, e.message);
                return self.value_instead(wrong, on_error);
            }
            Err(e) => return Err(e),
        };
        let (Some(document), Some(path)) = (document, path) else { return Ok(Value::Null) };
        let found = path.find(View::new(&document), &|| self.check_cancel())?;
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
        match target {
            CastTo::Signed | CastTo::Unsigned | CastTo::Year => self.whole_as(&value, target),
            CastTo::Decimal { precision, scale } => {
                let decimal = match &value {
                    // Blanks may stand around it.
                    Value::Bytes(text) => {
                        let text = text.trim_ascii();
                        let parsed = types::parse_double(text);
                        let is_number = !text.is_empty() && parsed.consumed == text.len() && !parsed.overflow;
                        is_number.then(|| Decimal::parse(text).value)?
                    }
                    Value::Double(v) => Decimal::from_f64(*v).unwrap_or_else(|| Decimal::max_value(65, 0)),
                    other => self.decimal_of(other)?,
                };
                // Rounding may carry it past the type.
                let fits = decimal.truncate(i32::from(scale)).fits(u32::from(precision), scale);
                fits.then(|| decimal.rescale(scale).map(Value::Decimal))?
            }
            CastTo::Double => self.double_of(&value).map(Value::Double),
            CastTo::Float => {
                let float = self.double_of(&value)? as f32;
                float.is_finite().then_some(Value::Float(float))
            }
            CastTo::Date | CastTo::DateTime { .. } | CastTo::Moment | CastTo::Time { .. } => self.moment_as(&value, target),
            CastTo::Json | CastTo::Char { .. } | CastTo::Binary { .. } => None,
        }
    }

    fn decimal_of(&self, value: &Value) -> Option<Decimal> {
        if document::is_moment(value) {
            return None;
        }
        convert::number(value, &*self.context).as_ref().and_then(convert::number_decimal)
    }

    fn double_of(&self, value: &Value) -> Option<f64> {
        match value {
            // An empty text is zero; blanks may stand before a number only.
            Value::Bytes(text) => {
                let parsed = types::parse_double(text);
                (parsed.consumed == text.len() && !parsed.overflow).then_some(parsed.value)
            }
            Value::Double(v) => Some(*v),
            value if document::is_moment(value) => None,
            other => convert::number(other, &*self.context).as_ref().map(convert::number_f64),
        }
    }

    fn whole_as(&self, value: &Value, target: CastTo) -> Option<Value> {
        let number = match value {
            Value::Bytes(text) => {
                let text = text.trim_ascii_start();
                let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
                let is_whole = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
                is_whole.then(|| Decimal::parse(text).value)?
            }
            // Halves of doubles go to the even neighbour, as where they are cast; what is no signed integer is none.
            Value::Double(v) if (-TWO_TO_63..TWO_TO_63).contains(v) => Decimal::from_f64(v.round_ties_even())?,
            Value::Double(_) => return None,
            other => self.decimal_of(other)?.round(0),
        };
        match target {
            CastTo::Signed => number.to_i64().ok().map(Value::Int),
            CastTo::Unsigned => number.to_u64().ok().map(Value::UInt),
            _ => number.to_u64().ok().filter(|year| *year == 0 || (1901..=2155).contains(year)).map(Value::UInt),
        }
    }

    /// A moment, of which digits that the type has not are cut off.
    fn moment_as(&self, value: &Value, target: CastTo) -> Option<Value> {
        let context = &*self.context;
        match (value, target) {
            (Value::Bytes(text), CastTo::Time { .. }) => drop(time_of_text(text)?),
            (Value::Bytes(text), CastTo::DateTime { .. }) => {
                let parsed = types::parse_datetime_full(text, context.sql_mode()).filter(|parsed| !parsed.truncated)?;
                let has_time = parsed.has_time && !text.contains(&b'T') || text.iter().all(u8::is_ascii_digit);
                has_time.then_some(())?;
            }
            (Value::Bytes(text), _) => drop(moment_of_text(text, context.sql_mode())?),
            (Value::Time(_), CastTo::Time { .. }) | (Value::Date(_) | Value::DateTime(_), CastTo::Date | CastTo::DateTime { .. }) => {}
            _ => return None,
        }
        let cut = SqlMode::TIME_TRUNCATE_FRACTIONAL;
        match target {
            CastTo::Time { fraction } => convert::to_time(value, context).map(|time| Value::Time(round_time(time, fraction, cut))),
            CastTo::DateTime { fraction } => {
                convert::to_datetime(value, context).map(|at| Value::DateTime(round_datetime(at, fraction, cut)))
            }
            _ => convert::to_datetime(value, context).map(|at| Value::Date(at.date())),
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
        CastTo::DateTime { .. } | CastTo::Moment => "DATETIME",
        CastTo::Year => "YEAR",
        CastTo::Json => "JSON",
        CastTo::Char { .. } | CastTo::Binary { .. } => "STRING",
    }
}
