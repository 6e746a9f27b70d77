//! CAST and CONVERT: a value as another type, with what MySQL says of what is lost.

use crate::convert::{self, member_number, number, number_decimal};
use crate::errors::{internal, out_of_range};
use crate::eval::owned_text;
use crate::exec::Exec;
use crate::functions::temporal;
use crate::run::Result;
use mysql_error::codes;
use planner::expr::{CastTo, Expr, ExprKind};
use types::{ByteString, Charset, Collation, Decimal, Value};

impl Exec<'_> {
    /// The value of `from` as another type.
    #[inline(never)]
    pub(crate) fn cast(&mut self, v: Value, from: &Expr, to: CastTo) -> Result<Value> {
        if v.is_null() {
            return Ok(v);
        }
        let v = match member_number(&v, &from.ty) {
            Some(number) if goes_by_number(to) => Value::UInt(number),
            _ => v,
        };
        let v = match (v, to) {
            (v, CastTo::Json) => return self.cast_to_document(v, from),
            (Value::Json(document), to) if !matches!(to, CastTo::Char { .. } | CastTo::Binary { .. }) => {
                let v = self.cast_document(&document, from, to)?;
                if v.is_null() {
                    return Ok(v);
                }
                v
            }
            (v, _) => v,
        };
        match to {
            CastTo::Signed => Ok(Value::Int(self.cast_bits(&v, false)? as i64)),
            CastTo::Unsigned => Ok(Value::UInt(self.cast_bits(&v, true)?)),
            CastTo::Double => {
                self.demand_double(&v, from)?;
                Ok(Value::Double(convert::to_f64(&v, &*self.context)))
            }
            CastTo::Float => self.cast_float(&v, from, to),
            CastTo::Decimal { precision, scale } => self.cast_decimal(&v, from, precision, scale),
            CastTo::Date => self.cast_date(&v, from),
            CastTo::DateTime { fraction } => match temporal::moment(&v, &from.ty, &*self.context) {
                Some(at) if temporal::has_refused_zeros(at, self.context.sql_mode()) => Ok(Value::Null),
                Some(at) => {
                    self.cut_temporal("datetime", &v)?;
                    Ok(Value::DateTime(temporal::round_datetime(at, fraction, self.context.sql_mode())))
                }
                None => self.bad_temporal("datetime", &v),
            },
            CastTo::Moment => Ok(convert::to_datetime(&v, &*self.context).map_or(Value::Null, Value::DateTime)),
            // A YEAR has no time of its own.
            CastTo::Time { .. } if from.ty.is_year_column() && !v.is_null() => Ok(Value::Time(types::Time::from_micros(0))),
            CastTo::Time { fraction } => match convert::to_time(&v, &*self.context) {
                Some(t) => {
                    self.cut_temporal("time", &v)?;
                    Ok(Value::Time(temporal::round_time(t, fraction, self.context.sql_mode())))
                }
                None => self.bad_temporal("time", &v),
            },
            CastTo::Year => self.cast_year(&v),
            CastTo::Char { length, collation } => self.cast_char(v, from, length, collation),
            CastTo::Binary { length } => self.cast_binary(v, from, length),
            CastTo::Json => Err(internal("a cast to JSON")),
        }
    }

    /// The day of a value that is not NULL: of CAST, and of DATE().
    pub(crate) fn cast_date(&mut self, v: &Value, from: &Expr) -> Result<Value> {
        match temporal::moment(v, &from.ty, &*self.context) {
            Some(at) if temporal::has_refused_zeros(at, self.context.sql_mode()) => Ok(Value::Null),
            Some(at) => {
                self.cut_temporal("date", v)?;
                Ok(Value::Date(at.date()))
            }
            None => self.bad_temporal("date", v),
        }
    }

    /// The bits of an integer.
    fn cast_bits(&mut self, v: &Value, unsigned: bool) -> Result<u64> {
        Ok(match v {
            Value::Bytes(b) => self.integer_of_text(b, unsigned)?,
            Value::Double(_) | Value::Float(_) => {
                let d = convert::to_f64(v, &*self.context).round_ties_even();
                if unsigned && d >= 0.0 { d as u64 } else { (d as i64) as u64 }
            }
            Value::Int(i) => *i as u64,
            Value::UInt(u) => *u,
            Value::Decimal(d) => {
                let d = d.round(0);
                if unsigned && !d.is_negative() { d.to_u64().unwrap_or_else(|b| b) } else { d.to_i64().unwrap_or_else(|b| b) as u64 }
            }
            other => convert::to_u64(other, &*self.context),
        })
    }

    /// The bits of a text that is cast to an integer: a number that only the other sign has is taken by its bits.
    fn integer_of_text(&mut self, b: &[u8], unsigned: bool) -> Result<u64> {
        let (bits, clean) = convert::integer_prefix(b, true);
        if !clean {
            self.truncated("INTEGER", b)?;
        }
        let text = b.trim_ascii();
        let negative = text.first() == Some(&b'-');
        let past_all = !clean && bits == if negative { i64::MIN as u64 } else { u64::MAX };
        match unsigned {
            _ if past_all => {}
            true if negative && text.len() > 1 => {
                self.warn(1105, "Cast to unsigned converted negative integer to its positive complement".to_owned());
            }
            false if !negative && bits > i64::MAX as u64 => {
                self.warn(1105, "Cast to signed converted positive out-of-range integer to its negative complement".to_owned());
            }
            _ => {}
        }
        Ok(bits)
    }

    fn cast_float(&mut self, v: &Value, from: &Expr, to: CastTo) -> Result<Value> {
        self.demand_double(v, from)?;
        match convert::to_f64(v, &*self.context) as f32 {
            f if f.is_finite() => Ok(Value::Float(f)),
            _ => {
                let whole = Expr { kind: ExprKind::Cast(Box::new(from.clone()), to), ty: from.ty.clone() };
                Err(out_of_range("DOUBLE", &self.spelled(&whole, || "cast".to_owned())))
            }
        }
    }

    fn cast_decimal(&mut self, v: &Value, from: &Expr, precision: u8, scale: u8) -> Result<Value> {
        self.demand_decimal_of(v, from)?;
        let context = &*self.context;
        let d = match v {
            Value::Bytes(b) => Some(Decimal::parse(b).value),
            other => number(other, context).as_ref().and_then(number_decimal),
        };
        // More digits than a decimal has are past its range, too.
        let negative = d.as_ref().map_or_else(|| convert::to_f64(v, context) < 0.0, Decimal::is_negative);
        if d.is_none() {
            let mut shown = Vec::new();
            convert::append_text(v, from.ty.decimals, context, &mut shown);
            self.truncated("DECIMAL", &shown)?;
        }
        if let Some(d) = d.and_then(|d| d.rescale(scale)).filter(|d| d.fits(u32::from(precision), scale)) {
            return Ok(Value::Decimal(d));
        }
        let max = Decimal::max_value(u32::from(precision), scale);
        let whole = Expr { kind: ExprKind::Cast(Box::new(from.clone()), CastTo::Decimal { precision, scale }), ty: from.ty.clone() };
        self.tell(codes::warn_data_out_of_range(self.spelled(&whole, || "cast".to_owned()), 1))?;
        Ok(Value::Decimal(if negative { max.negate() } else { max }))
    }

    fn cast_year(&mut self, v: &Value) -> Result<Value> {
        let n = match v {
            // A time is one of today.
            Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_) | Value::Time(_) => {
                convert::to_datetime(v, &*self.context).map_or(0, |at| i64::from(at.year()))
            }
            Value::Bytes(b) => match convert::integer_prefix(b, false) {
                (n, true) => n as i64,
                _ if !b.first().is_some_and(u8::is_ascii_digit) => {
                    let message = format!("Incorrect YEAR value: '{}'", b.to_text());
                    self.warn(1525, message);
                    return Ok(Value::Null);
                }
                (n, _) => {
                    self.truncated("YEAR", b)?;
                    n as i64
                }
            },
            other => convert::to_i64(other, &*self.context),
        };
        Ok(match n {
            0 => Value::UInt(0),
            1..=69 => Value::UInt(2000 + n as u64),
            70..=99 => Value::UInt(1900 + n as u64),
            1901..=2155 => Value::UInt(n as u64),
            _ => {
                self.truncated("YEAR", n.to_string().as_bytes())?;
                Value::Null
            }
        })
    }

    fn cast_char(&mut self, v: Value, from: &Expr, length: Option<u32>, collation: Collation) -> Result<Value> {
        let charset = collation.charset();
        if length.is_some_and(|n| n as usize > self.context.max_allowed_packet()) {
            return self.too_long("cast_as_char");
        }
        let bytes = owned_text(v, &from.ty, &*self.context);
        if let Some(invalid) = convert::no_text(&bytes, &from.ty, charset) {
            self.warn(1300, format!("Invalid {} character string: '{invalid}'", charset.name()));
            if charset.is_unicode() {
                return Ok(Value::Null);
            }
        }
        let bytes = convert::to_charset(bytes, &from.ty, charset);
        match length {
            Some(n) => {
                let keep = Collation::DEFAULT.chars_prefix_bytes(&bytes, n as usize);
                if keep < bytes.len() {
                    self.cut_by_cast(charset, n, &bytes[..keep], &bytes)?;
                }
                Ok(Value::from(&bytes[..keep]))
            }
            None if convert::charset_of(&from.ty) == Charset::Binary => self.text_of_bytes(&bytes),
            None => Ok(Value::Bytes(ByteString::from(bytes))),
        }
    }

    fn cast_binary(&mut self, v: Value, from: &Expr, length: Option<u32>) -> Result<Value> {
        if length.is_some_and(|n| n as usize > self.context.max_allowed_packet()) {
            return self.too_long("cast_as_binary");
        }
        let bytes = owned_text(v, &from.ty, &*self.context);
        let mut bytes = convert::to_charset(bytes, &from.ty, Charset::Binary);
        if let Some(n) = length {
            if bytes.len() > n as usize {
                self.cut_by_cast(Charset::Binary, n, &bytes[..n as usize], &bytes)?;
            }
            let missing = (n as usize).saturating_sub(bytes.len());
            memory::reserve(&mut bytes, missing)?;
            bytes.resize(n as usize, 0);
        }
        Ok(Value::Bytes(ByteString::from(bytes)))
    }
}

/// Whether what has a number beside its text (a member of an ENUM) is cast by that. A moment is made of the text.
fn goes_by_number(to: CastTo) -> bool {
    match to {
        CastTo::Signed | CastTo::Unsigned | CastTo::Double | CastTo::Float | CastTo::Decimal { .. } | CastTo::Year => true,
        CastTo::Char { .. }
        | CastTo::Binary { .. }
        | CastTo::Date
        | CastTo::DateTime { .. }
        | CastTo::Moment
        | CastTo::Time { .. }
        | CastTo::Json => false,
    }
}
