//! Units of time: EXTRACT, TIMESTAMPDIFF, adding an INTERVAL.

use crate::convert::{self, number};
use crate::exec::Exec;
use crate::functions::temporal::{DAY, SECOND, is_dated, moment, says_no_day};
use crate::run::Result;
use mysql_error::codes;
use planner::expr::{Expr, Unit};
use types::{DateTime, Decimal, SqlMode, Time, TypeKind, Value};

/// The least number that has too many digits for a time.
const DATED: i64 = 10_000_000;

impl Exec<'_> {
    /// `EXTRACT(unit FROM v)`.
    pub fn extract(&mut self, unit: Unit, e: &Expr, v: &Value) -> Result<Value> {
        if v.is_null() {
            return Ok(Value::Null);
        }
        use Unit as U;
        // A number or a text counts as a time where hours and less are asked for, unless it has a date.
        let timed = match v {
            Value::Time(_) => true,
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) => {
                !e.ty.is_year_column() && convert::to_f64(v, &*self.context) < 1e7
            }
            Value::Bytes(text) => !is_dated(v) && !says_no_day(text),
            _ => false,
        };
        let is_refused = |at: DateTime| self.is_refused_zero(at);
        // So a date as text has hours, which are 0; with other delimiters than dashes MySQL reads a time.
        let time_of_date = match v {
            Value::Bytes(text) if !text.iter().any(|b| matches!(b, b'/' | b'.')) && is_dated(v) => {
                types::parse_datetime(text, SqlMode::NONE).map(DateTime::time)
            }
            Value::Int(n) if *n >= DATED && !e.ty.is_year_column() => {
                types::datetime_from_number(*n, SqlMode::NONE).map(|(at, _)| at.time())
            }
            _ => None,
        };
        let dated = matches!(unit, U::Year | U::Quarter | U::Month | U::Week | U::Day | U::YearMonth)
            || matches!(unit, U::DayHour | U::DayMinute | U::DaySecond | U::DayMicrosecond) && !timed;
        let at = if dated {
            match v {
                Value::Bytes(b) => types::parse_datetime(b, SqlMode::NONE).filter(|at| !is_refused(*at)),
                Value::Int(0) if !e.ty.is_year_column() => Some(DateTime::ZERO),
                Value::Int(_) | Value::UInt(_) if !e.ty.is_year_column() && unit != U::Day => {
                    types::datetime_from_number(convert::to_i64(v, &*self.context), SqlMode::NONE).map(|(at, _)| at)
                }
                other => moment(other, &e.ty, &*self.context),
            }
        } else {
            None
        };
        if dated && at.is_none() {
            return self.bad_temporal("datetime", v);
        }
        // Nor has a text hours that says a day which there is not.
        let no_day = |text: &[u8]| says_no_day(text) && types::parse_datetime(text, SqlMode::NONE).is_none_or(is_refused);
        if let Value::Bytes(text) = v
            && !dated
            && no_day(text)
        {
            return self.bad_temporal("datetime", v);
        }
        let at = at.unwrap_or(DateTime::ZERO);
        let t = if dated {
            at.time()
        } else {
            let of_year = e.ty.is_year_column().then(|| Time::from_micros(0));
            match of_year.or(time_of_date).or_else(|| convert::to_time(v, &*self.context)) {
                Some(t) => t,
                None => return self.bad_temporal("time", v),
            }
        };
        let (h, m, s, us) = (i64::from(t.hour()), i64::from(t.minute()), i64::from(t.second()), i64::from(t.microsecond()));
        let sign = if t.is_negative() { -1 } else { 1 };
        let d = i64::from(at.day());
        Ok(Value::Int(match unit {
            U::Year => i64::from(at.year()),
            U::Quarter => (i64::from(at.month()) + 2) / 3,
            U::Month => i64::from(at.month()),
            U::Week => {
                return Ok(at.date().week(self.context.default_week_format()).map_or(Value::Null, |(_, w)| Value::Int(i64::from(w))));
            }
            U::Day => d,
            U::YearMonth => i64::from(at.year()) * 100 + i64::from(at.month()),
            U::Hour => h * sign,
            U::Minute => m * sign,
            U::Second => s * sign,
            U::Microsecond => us * sign,
            U::SecondMicrosecond => (s * SECOND + us) * sign,
            U::MinuteSecond => (m * 100 + s) * sign,
            U::MinuteMicrosecond => ((m * 100 + s) * SECOND + us) * sign,
            U::HourMinute => (h * 100 + m) * sign,
            U::HourSecond => ((h * 100 + m) * 100 + s) * sign,
            U::HourMicrosecond => (((h * 100 + m) * 100 + s) * SECOND + us) * sign,
            U::DayHour => (d * 100 + h) * sign,
            U::DayMinute => ((d * 100 + h) * 100 + m) * sign,
            U::DaySecond => (((d * 100 + h) * 100 + m) * 100 + s) * sign,
            U::DayMicrosecond => ((((d * 100 + h) * 100 + m) * 100 + s) * SECOND + us) * sign,
        }))
    }

    /// `TIMESTAMPDIFF(unit, a, b)`: whole units from a to b.
    pub fn timestamp_diff(&mut self, unit: Unit, (from, a): (&Expr, &Value), (to, b): (&Expr, &Value)) -> Result<Value> {
        if a.is_null() || b.is_null() {
            return Ok(Value::Null);
        }
        let Some(x) = moment(a, &from.ty, &*self.context) else { return self.bad_temporal("datetime", a) };
        self.cut_temporal("datetime", a)?;
        let Some(y) = moment(b, &to.ty, &*self.context) else { return self.bad_temporal("datetime", b) };
        self.cut_temporal("datetime", b)?;
        let (Some(p), Some(q)) = (x.to_micros(), y.to_micros()) else { return Ok(Value::Null) };
        let micros = q - p;
        use Unit as U;
        let months = || {
            let (from, to, sign) = if micros >= 0 { (x, y, 1) } else { (y, x, -1) };
            let mut n = (i64::from(to.year()) - i64::from(from.year())) * 12 + i64::from(to.month()) - i64::from(from.month());
            if (to.day(), to.micros_of_day()) < (from.day(), from.micros_of_day()) {
                n -= 1;
            }
            n * sign
        };
        Ok(Value::Int(match unit {
            U::Microsecond => micros,
            U::Second => micros / SECOND,
            U::Minute => micros / (60 * SECOND),
            U::Hour => micros / (3600 * SECOND),
            U::Day => micros / DAY,
            U::Week => micros / (7 * DAY),
            U::Month => months(),
            U::Quarter => months() / 3,
            _ => months() / 12,
        }))
    }

    /// `date ± INTERVAL amount unit`.
    pub fn date_add(&mut self, date: &Expr, amount: &Expr, unit: Unit, negated: bool, e: &Expr) -> Result<Value> {
        let v = self.eval(date)?;
        if v.is_null() {
            return Ok(v);
        }
        let at = moment(&v, &date.ty, &*self.context);
        if at.is_none() && !matches!(v, Value::Time(_)) {
            return self.bad_temporal("datetime", &v);
        }
        self.cut_temporal("datetime", &v)?;
        let n = self.eval(amount)?;
        if n.is_null() {
            return Ok(n);
        }
        // What has a number beside its text is that, but for a unit of several parts.
        let n = if unit.has_parts() { n } else { convert::member_number(&n, &amount.ty).map_or(n, Value::UInt) };
        let Some((months, micros)) = self.interval(&n, amount, unit)? else {
            if unit.has_parts() && !matches!(e.ty.kind, TypeKind::Date | TypeKind::Time) {
                self.past_its_range("DATETIME", e)?;
            }
            return Ok(Value::Null);
        };
        let (months, micros) = if negated { (months.saturating_neg(), micros.saturating_neg()) } else { (months, micros) };
        if let (Value::Time(t), TypeKind::Time) = (&v, e.ty.kind) {
            let sum = Time::from_micros(t.micros().saturating_add(micros));
            return match sum == sum.clamp_range() {
                true => Ok(Value::Time(sum)),
                false => self.past_its_range("TIME", e).map(|()| Value::Null),
            };
        }
        let date_only = match &v {
            Value::Date(_) => true,
            Value::Bytes(b) => types::parse_datetime_full(b, SqlMode::NONE).is_some_and(|p| !p.has_time),
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) | Value::Float(_) => {
                // What is behind the point says nothing of this.
                let whole =
                    convert::number(&v, &*self.context).and_then(|n| convert::number_decimal(&n)?.truncate(0).to_i64().ok()).unwrap_or(0);
                types::datetime_from_number(whole, self.context.sql_mode()).is_some_and(|(_, has_time)| !has_time)
            }
            _ => false,
        };
        let Some(at) = at else { return self.bad_temporal("datetime", &v) };
        if at == DateTime::ZERO {
            // Of a zero date there is nothing to say; a text that is one is no date.
            return if let Value::Bytes(_) = v { self.bad_temporal("datetime", &v) } else { Ok(Value::Null) };
        }
        let result = if months != 0 || matches!(unit, Unit::Month | Unit::Quarter | Unit::Year | Unit::YearMonth) {
            at.add_months(months)
        } else {
            at.add_micros(micros)
        };
        let Some(at) = result else {
            if e.ty.kind == TypeKind::Date {
                return self.past_its_range("DATE", e).map(|()| Value::Null);
            }
            if at.month() != 0 && at.day() != 0 {
                self.tell(codes::datetime_function_overflow("datetime"))?;
            }
            return Ok(Value::Null);
        };
        let whole_days =
            micros % DAY == 0 && matches!(unit, Unit::Day | Unit::Week | Unit::Month | Unit::Quarter | Unit::Year | Unit::YearMonth);
        Ok(match e.ty.kind {
            TypeKind::Date => Value::Date(at.date()),
            TypeKind::DateTime => Value::DateTime(at),
            TypeKind::Time => Value::Time(at.time()),
            _ if date_only && whole_days => {
                let mut out = Vec::new();
                at.date().write_to(&mut out);
                Value::from(out.as_slice())
            }
            _ => self.temporal_text(Value::DateTime(at)),
        })
    }

    /// (months, microseconds) of an interval.
    fn interval(&mut self, n: &Value, e: &Expr, unit: Unit) -> Result<Option<(i64, i64)>> {
        use Unit as U;
        let (of_months, factor) = match unit {
            U::Microsecond => (false, 1),
            U::Minute => (false, 60 * SECOND),
            U::Hour => (false, 3600 * SECOND),
            U::Day => (false, DAY),
            U::Week => (false, 7 * DAY),
            U::Month => (true, 1),
            U::Quarter => (true, 3),
            U::Year => (true, 12),
            U::Second => {
                self.demand_decimal(n)?;
                let micros = match (n, number(n, &*self.context)) {
                    (_, Some(convert::Number::Int(i))) => i.checked_mul(SECOND),
                    // What is behind the microseconds is cut.
                    (Value::Bytes(text), _) => micros_of(&Decimal::parse(text).value),
                    (_, Some(n)) => convert::number_decimal(&n).and_then(|d| micros_of(&d)),
                    (_, None) => None,
                };
                return Ok(micros.map(|m| (0, m)));
            }
            _ => return Ok(self.interval_of_parts(n, e, unit)),
        };
        let amount = self.bits_of_operand(n, e)?.cast_signed().checked_mul(factor);
        let amount = if of_months { amount.filter(|m| m.unsigned_abs() < 1_000_000).map(|m| (m, 0)) } else { amount.map(|m| (0, m)) };
        if amount.is_none() {
            self.tell(codes::datetime_function_overflow("datetime"))?;
        }
        Ok(amount)
    }

    /// The same of a unit of several parts.
    fn interval_of_parts(&self, n: &Value, e: &Expr, unit: Unit) -> Option<(i64, i64)> {
        use Unit as U;
        // `a:b:c`: numbers with anything between; missing ones are the leading.
        let text = self.text_of(n, e);
        let negative = text.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'-');
        let numbers: Vec<(i64, usize)> = text
            .split(|b| !b.is_ascii_digit())
            .filter(|p| !p.is_empty())
            .map(|p| (p.iter().fold(0i64, |n, d| n.saturating_mul(10).saturating_add(i64::from(d - b'0'))), p.len()))
            .collect();
        let factors: &[i64] = match unit {
            U::SecondMicrosecond => &[SECOND, 1],
            U::MinuteMicrosecond => &[60 * SECOND, SECOND, 1],
            U::MinuteSecond => &[60 * SECOND, SECOND],
            U::HourMicrosecond => &[3600 * SECOND, 60 * SECOND, SECOND, 1],
            U::HourSecond => &[3600 * SECOND, 60 * SECOND, SECOND],
            U::HourMinute => &[3600 * SECOND, 60 * SECOND],
            U::DayMicrosecond => &[DAY, 3600 * SECOND, 60 * SECOND, SECOND, 1],
            U::DaySecond => &[DAY, 3600 * SECOND, 60 * SECOND, SECOND],
            U::DayMinute => &[DAY, 3600 * SECOND, 60 * SECOND],
            U::DayHour => &[DAY, 3600 * SECOND],
            _ => &[12, 1],
        };
        if numbers.len() > factors.len() {
            return None;
        }
        let mut total = 0i64;
        for ((value, digits), factor) in numbers.iter().rev().zip(factors.iter().rev()) {
            // Digits after the point are a fraction: .5 is 500000 microseconds.
            let value = if *factor == 1 && unit != U::YearMonth && *digits < 6 { value * 10i64.pow(6 - *digits as u32) } else { *value };
            total = total.checked_add(value.checked_mul(*factor)?)?;
        }
        let total = if negative { -total } else { total };
        Some(if unit == U::YearMonth { (total, 0) } else { (0, total) })
    }
}

/// Microseconds of a number of seconds.
fn micros_of(seconds: &Decimal) -> Option<i64> {
    seconds.truncate(6).rescale(6).and_then(|micros| i64::try_from(micros.as_i128()?.0).ok())
}
