//! Temporal functions.

use crate::convert::{self, datetime_of_micros, local_time, number};
use crate::exec::Exec;
use crate::run::Result;
use mysql_error::codes;
use planner::expr::{Expr, Unit};
use planner::func::Func;
use types::{Date, DateTime, Decimal, LocalTime, SqlMode, Time, Timestamp, TypeKind, Value};

/// English month names.
const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
/// English day names, Monday first.
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

impl Exec<'_> {
    /// The local time of the statement's start.
    fn now(&self) -> DateTime {
        local_time(Timestamp::from_micros(self.context.statement_micros()), &*self.context)
    }

    fn fraction_arg(&mut self, args: &[Expr]) -> Result<u8> {
        match args.first() {
            None => Ok(0),
            Some(a) => {
                let n = self.int_arg(a)?.unwrap_or(0);
                if n > 6 {
                    return Err(codes::too_big_precision(n, "now", 6).into());
                }
                Ok(n.max(0) as u8)
            }
        }
    }

    /// A date and time argument; `None` for NULL and for what is none (with a warning).
    fn datetime_arg(&mut self, e: &Expr) -> Result<Option<DateTime>> {
        let v = self.eval(e)?;
        if v.is_null() {
            return Ok(None);
        }
        // Parts of dates may be zero where only parts are asked for.
        let at = match &v {
            Value::Bytes(b) => types::parse_datetime(b, SqlMode::NONE),
            other => convert::to_datetime(other, &*self.context),
        };
        if at.is_none() {
            self.bad_temporal("datetime", &v)?;
        }
        Ok(at)
    }

    fn time_arg(&mut self, e: &Expr) -> Result<Option<Time>> {
        let v = self.eval(e)?;
        if v.is_null() {
            return Ok(None);
        }
        let t = convert::to_time(&v, &*self.context);
        if t.is_none() {
            self.bad_temporal("time", &v)?;
        }
        Ok(t)
    }

    fn days_arg(&mut self, e: &Expr) -> Result<Option<Date>> {
        Ok(self.datetime_arg(e)?.map(DateTime::date).filter(|d| d.month() > 0 && d.day() > 0))
    }

    /// Calls a temporal function.
    #[inline(never)]
    pub fn call_temporal(&mut self, func: Func, args: &[Expr], e: &Expr) -> Result<Value> {
        use Func as F;
        let int = |n: i64| Ok(Value::Int(n));
        match func {
            F::Now => {
                let digits = self.fraction_arg(args)?;
                Ok(Value::DateTime(self.now().truncate(digits)))
            }
            F::SysDate => {
                let digits = self.fraction_arg(args)?;
                let now = local_time(Timestamp::from_micros(self.context.current_micros()), &*self.context);
                Ok(Value::DateTime(now.truncate(digits)))
            }
            F::CurDate => Ok(Value::Date(self.now().date())),
            F::CurTime => {
                let digits = self.fraction_arg(args)?;
                Ok(Value::Time(self.now().time().truncate(digits)))
            }
            F::UtcTimestamp | F::UtcDate | F::UtcTime => {
                let digits = self.fraction_arg(args)?;
                let utc = datetime_of_micros(self.context.statement_micros());
                Ok(match func {
                    F::UtcDate => Value::Date(utc.date()),
                    F::UtcTime => Value::Time(utc.time().truncate(digits)),
                    _ => Value::DateTime(utc.truncate(digits)),
                })
            }
            F::DateOf => {
                let v = self.eval(&args[0])?;
                match convert::to_datetime(&v, &*self.context) {
                    Some(at) => Ok(Value::Date(at.date())),
                    None if v.is_null() => Ok(v),
                    None => self.bad_temporal("datetime", &v),
                }
            }
            F::TimeOf => Ok(self.time_arg(&args[0])?.map_or(Value::Null, Value::Time)),
            F::Timestamp => {
                let Some(at) = self.datetime_arg(&args[0])? else { return Ok(Value::Null) };
                match args.get(1) {
                    None => Ok(Value::DateTime(at)),
                    Some(a) => {
                        let Some(t) = self.time_arg(a)? else { return Ok(Value::Null) };
                        Ok(at.add_micros(t.micros()).map_or(Value::Null, Value::DateTime))
                    }
                }
            }
            F::Year | F::Quarter | F::Month | F::Day => {
                let Some(at) = self.datetime_arg(&args[0])? else { return Ok(Value::Null) };
                int(match func {
                    F::Year => i64::from(at.year()),
                    F::Quarter => (i64::from(at.month()) + 2) / 3,
                    F::Month => i64::from(at.month()),
                    _ => i64::from(at.day()),
                })
            }
            F::Hour | F::Minute | F::Second | F::Microsecond => {
                let Some(t) = self.time_arg(&args[0])? else { return Ok(Value::Null) };
                int(match func {
                    F::Hour => i64::from(t.hour()),
                    F::Minute => i64::from(t.minute()),
                    F::Second => i64::from(t.second()),
                    _ => i64::from(t.microsecond()),
                })
            }
            F::DateDiff => {
                let (Some(a), Some(b)) = (self.days_arg(&args[0])?, self.days_arg(&args[1])?) else { return Ok(Value::Null) };
                Ok(a.to_days().zip(b.to_days()).map_or(Value::Null, |(x, y)| Value::Int(x - y)))
            }
            F::TimeDiff => self.time_diff(args),
            F::AddTime | F::SubTime => self.add_time(args, func == F::SubTime, e),
            F::DateFormat => {
                let Some(at) = self.datetime_arg(&args[0])? else { return Ok(Value::Null) };
                let Some(format) = self.text_arg(&args[1])? else { return Ok(Value::Null) };
                Ok(format_datetime(at, at.time(), &String::from_utf8_lossy(&format)).map_or(Value::Null, Value::from))
            }
            F::TimeFormat => {
                let Some(t) = self.time_arg(&args[0])? else { return Ok(Value::Null) };
                let Some(format) = self.text_arg(&args[1])? else { return Ok(Value::Null) };
                Ok(format_datetime(DateTime::ZERO, t, &String::from_utf8_lossy(&format)).map_or(Value::Null, Value::from))
            }
            F::StrToDate => self.str_to_date(args, e),
            F::UnixTimestamp => self.unix_timestamp(args, e),
            F::FromUnixtime => self.unixtime_to_datetime(args),
            F::LastDay => {
                let Some(at) = self.datetime_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(at.date().last_day().map_or(Value::Null, Value::Date))
            }
            F::DayOfWeek | F::WeekDay | F::DayOfYear | F::Week | F::WeekOfYear | F::YearWeek | F::DayName | F::ToDays | F::ToSeconds => {
                let Some(at) = self.datetime_arg(&args[0])? else { return Ok(Value::Null) };
                let mode = match (func, args.get(1)) {
                    (_, Some(a)) => self.int_arg(a)?.unwrap_or(0).rem_euclid(8) as u8,
                    (F::Week, None) => self.context.default_week_format(),
                    _ => 0,
                };
                let d = at.date();
                let value = match func {
                    F::DayOfWeek => d.weekday().map(|w| i64::from((w + 1) % 7 + 1)),
                    F::WeekDay => d.weekday().map(i64::from),
                    F::DayOfYear => d.day_of_year().map(i64::from),
                    F::Week => d.week(mode).map(|(_, w)| i64::from(w)),
                    F::WeekOfYear => d.week(3).map(|(_, w)| i64::from(w)),
                    F::YearWeek => d.year_week(mode).map(|(y, w)| i64::from(y) * 100 + i64::from(w)),
                    F::ToSeconds => d.to_days().map(|n| n * 86_400 + at.micros_of_day() / SECOND),
                    F::DayName => return Ok(d.weekday().map_or(Value::Null, |w| Value::from(DAYS[usize::from(w)]))),
                    _ => d.to_days(),
                };
                Ok(value.map_or(Value::Null, Value::Int))
            }
            F::MonthName => {
                let Some(at) = self.datetime_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(match at.month() {
                    0 => Value::Null,
                    m => Value::from(MONTHS[usize::from(m) - 1]),
                })
            }
            F::FromDays => {
                let Some(n) = self.int_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(Date::from_days(n).filter(|_| n > 0).map_or(Value::Null, Value::Date))
            }
            F::MakeDate => {
                let (Some(year), Some(day)) = (self.int_arg(&args[0])?, self.int_arg(&args[1])?) else { return Ok(Value::Null) };
                let year = match year {
                    0..=69 => year + 2000,
                    70..=99 => year + 1900,
                    _ => year,
                };
                if !(0..=9999).contains(&year) || day < 1 {
                    return Ok(Value::Null);
                }
                let first = Date::from_fields(year as u16, 1, 1);
                Ok(first.add_days(day - 1).map_or(Value::Null, Value::Date))
            }
            F::MakeTime => {
                let (Some(h), Some(m)) = (self.int_arg(&args[0])?, self.int_arg(&args[1])?) else { return Ok(Value::Null) };
                let Some(s) = self.double_arg(&args[2])? else { return Ok(Value::Null) };
                if !(0..60).contains(&m) || !(0.0..60.0).contains(&s) {
                    return Ok(Value::Null);
                }
                let micros = (h.unsigned_abs().min(1000) * 3600 + m as u64 * 60) as i64 * SECOND + (s * 1e6).round() as i64;
                Ok(Value::Time(Time::from_micros(if h < 0 { -micros } else { micros }).clamp_range()))
            }
            F::SecToTime => {
                let v = self.eval(&args[0])?;
                if v.is_null() {
                    return Ok(v);
                }
                let micros = (convert::to_f64(&v) * 1e6).round().clamp(-4e12, 4e12) as i64;
                Ok(Value::Time(Time::from_micros(micros).clamp_range()))
            }
            F::TimeToSec => {
                let Some(t) = self.time_arg(&args[0])? else { return Ok(Value::Null) };
                int(t.micros() / SECOND)
            }
            F::PeriodAdd | F::PeriodDiff => {
                let (Some(a), Some(b)) = (self.int_arg(&args[0])?, self.int_arg(&args[1])?) else { return Ok(Value::Null) };
                let months = |p: i64| {
                    let year = p / 100;
                    let year = if year < 70 {
                        year + 2000
                    } else if year < 100 {
                        year + 1900
                    } else {
                        year
                    };
                    year * 12 + p % 100 - 1
                };
                if func == F::PeriodDiff {
                    return int(months(a) - months(b));
                }
                let n = months(a) + b;
                int(n.div_euclid(12) * 100 + n.rem_euclid(12) + 1)
            }
            F::ConvertTz => {
                let Some(at) = self.datetime_arg(&args[0])? else { return Ok(Value::Null) };
                let Some(zones) = self.texts(&args[1..])? else { return Ok(Value::Null) };
                let zone = |z: &[u8]| match z {
                    b"SYSTEM" => Some(types::TimeZone::utc()),
                    z => std::str::from_utf8(z).ok().and_then(types::TimeZone::parse),
                };
                let (Some(from), Some(to)) = (zone(&zones[0]), zone(&zones[1])) else { return Ok(Value::Null) };
                let utc = at.to_unix_micros().and_then(|local| from.local_to_utc(local));
                Ok(utc.map_or(Value::Null, |utc| Value::DateTime(to.to_local(Timestamp::from_micros(utc)))))
            }
            _ => Err(crate::errors::internal(&format!("function {} is not implemented", func.name()))),
        }
    }

    fn time_diff(&mut self, args: &[Expr]) -> Result<Value> {
        let (a, b) = (self.eval(&args[0])?, self.eval(&args[1])?);
        if a.is_null() || b.is_null() {
            return Ok(Value::Null);
        }
        let dated = |v: &Value| match v {
            Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_) => true,
            Value::Bytes(t) => t.len() >= 8 && (t[..8].contains(&b'-') && !t.starts_with(b"-")),
            _ => false,
        };
        if dated(&a) != dated(&b) {
            return Ok(Value::Null);
        }
        let difference = if dated(&a) {
            match (convert::to_datetime(&a, &*self.context), convert::to_datetime(&b, &*self.context)) {
                (Some(x), Some(y)) => x.to_micros().zip(y.to_micros()).map(|(x, y)| x - y),
                _ => None,
            }
        } else {
            match (convert::to_time(&a, &*self.context), convert::to_time(&b, &*self.context)) {
                (Some(x), Some(y)) => Some(x.micros() - y.micros()),
                _ => None,
            }
        };
        Ok(difference.map_or(Value::Null, |d| Value::Time(Time::from_micros(d).clamp_range())))
    }

    fn add_time(&mut self, args: &[Expr], subtract: bool, e: &Expr) -> Result<Value> {
        let a = self.eval(&args[0])?;
        let Some(t) = self.time_arg(&args[1])? else { return Ok(Value::Null) };
        if a.is_null() {
            return Ok(a);
        }
        let shift = if subtract { -t.micros() } else { t.micros() };
        let as_text = !e.ty.kind.is_temporal();
        let dated = match &a {
            Value::DateTime(_) | Value::Timestamp(_) | Value::Date(_) => true,
            Value::Bytes(b) => b.len() > 8 && b[1..].contains(&b'-'),
            _ => false,
        };
        let result = if dated {
            convert::to_datetime(&a, &*self.context).and_then(|at| at.add_micros(shift)).map_or(Value::Null, Value::DateTime)
        } else {
            convert::to_time(&a, &*self.context).map_or(Value::Null, |x| Value::Time(Time::from_micros(x.micros() + shift).clamp_range()))
        };
        Ok(if as_text { self.temporal_text(result) } else { result })
    }

    /// A temporal result of a string operand is a string, with a fraction only when there is one.
    fn temporal_text(&self, v: Value) -> Value {
        if v.is_null() {
            return v;
        }
        let micros = match &v {
            Value::DateTime(at) => i64::from(at.microsecond()),
            Value::Time(t) => t.micros() % SECOND,
            _ => 0,
        };
        let mut out = Vec::new();
        convert::append_text(&v, if micros == 0 { 0 } else { 6 }, &*self.context, &mut out);
        Value::from(out.as_slice())
    }

    fn unix_timestamp(&mut self, args: &[Expr], e: &Expr) -> Result<Value> {
        let Some(arg) = args.first() else { return Ok(Value::Int(self.context.statement_micros() / SECOND)) };
        let v = self.eval(arg)?;
        let micros = match &v {
            Value::Null => return Ok(v),
            Value::Timestamp(t) => t.micros(),
            other => {
                let Some(at) = convert::to_datetime(other, &*self.context) else {
                    self.bad_temporal("datetime", &v)?;
                    return Ok(Value::Int(0));
                };
                match at.to_unix_micros().and_then(|m| self.context.local_to_utc(m)) {
                    Some(m) if m >= 0 => m,
                    _ => 0,
                }
            }
        };
        if e.ty.kind == TypeKind::Decimal {
            let d = Decimal::new(i128::from(micros), 6);
            return Ok(Value::Decimal(d.truncate(i32::from(e.ty.decimals)).rescale(e.ty.decimals).unwrap_or(d)));
        }
        Ok(Value::Int(micros.div_euclid(SECOND)))
    }

    fn unixtime_to_datetime(&mut self, args: &[Expr]) -> Result<Value> {
        let v = self.eval(&args[0])?;
        let micros = match number(&v, &*self.context) {
            None => return Ok(Value::Null),
            Some(convert::Number::Int(i)) => i.checked_mul(SECOND),
            Some(n) => {
                let f = convert::number_f64(&n) * 1e6;
                (f.abs() < 9e18).then_some(f.round() as i64)
            }
        };
        // 3001-01-18 23:59:59.999999 is MySQL's last.
        let Some(micros) = micros.filter(|m| (0..=32_536_771_199_999_999).contains(m)) else { return Ok(Value::Null) };
        let at = datetime_of_micros(micros + i64::from(self.context.offset_at_utc(micros)) * SECOND);
        match args.get(1) {
            None => Ok(Value::DateTime(at)),
            Some(f) => {
                let Some(format) = self.text_arg(f)? else { return Ok(Value::Null) };
                Ok(format_datetime(at, at.time(), &String::from_utf8_lossy(&format)).map_or(Value::Null, Value::from))
            }
        }
    }

    fn str_to_date(&mut self, args: &[Expr], e: &Expr) -> Result<Value> {
        let Some(parts) = self.texts(args)? else { return Ok(Value::Null) };
        let (text, format) = (String::from_utf8_lossy(&parts[0]).into_owned(), String::from_utf8_lossy(&parts[1]).into_owned());
        let Some(p) = parse_by_format(&text, &format) else {
            return self.bad_temporal("datetime", &Value::from(text.as_str()));
        };
        let mode = self.context.sql_mode();
        Ok(match e.ty.kind {
            TypeKind::Time => Value::Time(p.time()),
            kind => {
                let (year, month, day) = p.date();
                match Date::new(year as u16, month as u8, day as u8, mode) {
                    None => return self.bad_temporal("datetime", &Value::from(text.as_str())),
                    Some(d) if kind == TypeKind::Date => Value::Date(d),
                    Some(d) => Value::DateTime(DateTime::from_fields(d, p.hour() as u8, p.minute as u8, p.second as u8, p.micros as u32)),
                }
            }
        })
    }

    /// `EXTRACT(unit FROM v)`.
    pub fn extract(&mut self, unit: Unit, v: &Value) -> Result<Value> {
        if v.is_null() {
            return Ok(Value::Null);
        }
        use Unit as U;
        let dated = matches!(unit, U::Year | U::Quarter | U::Month | U::Week | U::Day | U::YearMonth)
            || matches!(unit, U::DayHour | U::DayMinute | U::DaySecond | U::DayMicrosecond) && !matches!(v, Value::Time(_));
        let at = if dated {
            match v {
                Value::Bytes(b) => types::parse_datetime(b, SqlMode::NONE),
                other => convert::to_datetime(other, &*self.context),
            }
        } else {
            None
        };
        if dated && at.is_none() {
            return self.bad_temporal("datetime", v);
        }
        let at = at.unwrap_or(DateTime::ZERO);
        let t = if dated {
            at.time()
        } else {
            match convert::to_time(v, &*self.context) {
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
    pub fn timestamp_diff(&mut self, unit: Unit, a: &Value, b: &Value) -> Result<Value> {
        if a.is_null() || b.is_null() {
            return Ok(Value::Null);
        }
        let (x, y) = (convert::to_datetime(a, &*self.context), convert::to_datetime(b, &*self.context));
        let (Some(x), Some(y)) = (x, y) else { return Ok(Value::Null) };
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
        let n = self.eval(amount)?;
        if v.is_null() || n.is_null() {
            return Ok(Value::Null);
        }
        let Some((months, micros)) = self.interval(&n, amount, unit) else { return Ok(Value::Null) };
        let (months, micros) = if negated { (-months, -micros) } else { (months, micros) };
        if let (Value::Time(t), TypeKind::Time) = (&v, e.ty.kind) {
            let sum = Time::from_micros(t.micros().saturating_add(micros));
            return Ok(Value::Time(sum.clamp_range()));
        }
        let date_only = match &v {
            Value::Date(_) => true,
            Value::Bytes(b) => types::parse_datetime_full(b, SqlMode::NONE).is_some_and(|p| !p.has_time),
            _ => false,
        };
        let Some(at) = convert::to_datetime(&v, &*self.context) else { return self.bad_temporal("datetime", &v) };
        let result = if months != 0 || matches!(unit, Unit::Month | Unit::Quarter | Unit::Year | Unit::YearMonth) {
            at.add_months(months)
        } else {
            at.add_micros(micros)
        };
        let Some(at) = result else {
            self.warn(1441, "Datetime function: datetime field overflow".to_owned());
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
    fn interval(&self, n: &Value, e: &Expr, unit: Unit) -> Option<(i64, i64)> {
        use Unit as U;
        let whole = || convert::to_i64(n, &*self.context);
        let times = |factor: i64| whole().checked_mul(factor).map(|m| (0, m));
        let months = |factor: i64| whole().checked_mul(factor).filter(|m| m.abs() < 1_000_000).map(|m| (m, 0));
        match unit {
            U::Microsecond => times(1),
            U::Second => match number(n, &*self.context)? {
                convert::Number::Int(i) => i.checked_mul(SECOND).map(|m| (0, m)),
                other => {
                    let f = convert::number_f64(&other) * 1e6;
                    (f.abs() < 9e18).then_some((0, f.round() as i64))
                }
            },
            U::Minute => times(60 * SECOND),
            U::Hour => times(3600 * SECOND),
            U::Day => times(DAY),
            U::Week => times(7 * DAY),
            U::Month => months(1),
            U::Quarter => months(3),
            U::Year => months(12),
            _ => {
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
                    let value =
                        if *factor == 1 && unit != U::YearMonth && *digits < 6 { value * 10i64.pow(6 - *digits as u32) } else { *value };
                    total = total.checked_add(value.checked_mul(*factor)?)?;
                }
                let total = if negative { -total } else { total };
                Some(if unit == U::YearMonth { (total, 0) } else { (0, total) })
            }
        }
    }
}

/// Rounds to fraction digits.
pub fn round_datetime(at: DateTime, digits: u8) -> DateTime {
    at.round(digits).unwrap_or_else(|| at.truncate(digits))
}

/// Rounds to fraction digits.
pub fn round_time(t: Time, digits: u8) -> Time {
    t.round(digits)
}

/// DATE_FORMAT.
fn format_datetime(at: DateTime, t: Time, format: &str) -> Option<String> {
    use std::fmt::Write;
    let d = at.date();
    let mut out = String::new();
    let hour12 = |h: u32| if h.is_multiple_of(12) { 12 } else { h % 12 };
    let (h, m, s) = (t.hour(), t.minute(), t.second());
    let half = if h % 24 < 12 { "AM" } else { "PM" };
    if t.is_negative() {
        out.push('-');
    }
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let Some(f) = chars.next() else {
            out.push('%');
            break;
        };
        // Writing to a string cannot fail.
        let _ = match f {
            'Y' => write!(out, "{:04}", d.year()),
            'y' => write!(out, "{:02}", d.year() % 100),
            'm' => write!(out, "{:02}", d.month()),
            'c' => write!(out, "{}", d.month()),
            'M' | 'b' => {
                if d.month() == 0 {
                    return None;
                }
                let name = MONTHS[usize::from(d.month()) - 1];
                write!(out, "{}", if f == 'M' { name } else { &name[..3] })
            }
            'd' => write!(out, "{:02}", d.day()),
            'e' => write!(out, "{}", d.day()),
            'D' => {
                let suffix = match d.day() {
                    11..=13 => "th",
                    n => match n % 10 {
                        1 => "st",
                        2 => "nd",
                        3 => "rd",
                        _ => "th",
                    },
                };
                write!(out, "{}{suffix}", d.day())
            }
            'W' | 'a' => {
                let name = DAYS[usize::from(d.weekday()?)];
                write!(out, "{}", if f == 'W' { name } else { &name[..3] })
            }
            'w' => write!(out, "{}", (d.weekday()? + 1) % 7),
            'j' => write!(out, "{:03}", d.day_of_year()?),
            'H' => write!(out, "{h:02}"),
            'k' => write!(out, "{h}"),
            'h' | 'I' => write!(out, "{:02}", hour12(h)),
            'l' => write!(out, "{}", hour12(h)),
            'i' => write!(out, "{m:02}"),
            'S' | 's' => write!(out, "{s:02}"),
            'f' => write!(out, "{:06}", t.microsecond()),
            'p' => write!(out, "{half}"),
            'r' => write!(out, "{:02}:{m:02}:{s:02} {half}", hour12(h)),
            'T' => write!(out, "{h:02}:{m:02}:{s:02}"),
            'U' => write!(out, "{:02}", d.week(0)?.1),
            'u' => write!(out, "{:02}", d.week(1)?.1),
            'V' => write!(out, "{:02}", d.week(2)?.1),
            'v' => write!(out, "{:02}", d.week(3)?.1),
            'X' => write!(out, "{:04}", d.week(2)?.0),
            'x' => write!(out, "{:04}", d.week(3)?.0),
            other => write!(out, "{other}"),
        };
    }
    Some(out)
}

/// Fields that STR_TO_DATE reads.
#[derive(Default)]
struct Fields {
    year: i64,
    month: i64,
    day: i64,
    day_of_year: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    twelve: bool,
    pm: bool,
}

impl Fields {
    fn hour(&self) -> i64 {
        if self.twelve { self.hour % 12 + if self.pm { 12 } else { 0 } } else { self.hour }
    }

    fn time(&self) -> Time {
        Time::from_micros((self.hour() * 3600 + self.minute * 60 + self.second) * SECOND + self.micros)
    }

    fn date(&self) -> (i64, i64, i64) {
        if let Some(n) = self.day_of_year
            && let Some(d) = Date::from_fields(self.year as u16, 1, 1).add_days(n - 1)
        {
            return (i64::from(d.year()), i64::from(d.month()), i64::from(d.day()));
        }
        (self.year, self.month, self.day)
    }
}

fn parse_by_format(text: &str, format: &str) -> Option<Fields> {
    let mut out = Fields::default();
    let mut rest = text.trim_start();
    let mut chars = format.chars();
    fn digits<'t>(rest: &mut &'t str, max: usize) -> Option<&'t str> {
        let n = rest.bytes().take(max).take_while(u8::is_ascii_digit).count();
        if n == 0 {
            return None;
        }
        let (d, r) = rest.split_at(n);
        *rest = r;
        Some(d)
    }
    fn number(rest: &mut &str, max: usize, low: i64, high: i64) -> Option<i64> {
        let n: i64 = digits(rest, max)?.parse().ok()?;
        (low..=high).contains(&n).then_some(n)
    }
    fn name(rest: &mut &str, names: &[&str], short: bool) -> Option<usize> {
        for (i, n) in names.iter().enumerate() {
            let n = if short { &n[..3] } else { n };
            if rest.get(..n.len()).is_some_and(|r| r.eq_ignore_ascii_case(n)) {
                *rest = &rest[n.len()..];
                return Some(i);
            }
        }
        None
    }
    while let Some(c) = chars.next() {
        if c.is_whitespace() {
            rest = rest.trim_start();
            continue;
        }
        if rest.is_empty() {
            // Missing trailing fields are zero.
            break;
        }
        if c != '%' {
            rest = rest.strip_prefix(c)?;
            continue;
        }
        rest = rest.trim_start();
        match chars.next()? {
            'Y' => {
                let d = digits(&mut rest, 4)?;
                out.year = d.parse().ok()?;
                if d.len() <= 2 {
                    out.year += if out.year < 70 { 2000 } else { 1900 };
                }
            }
            'y' => {
                let n = number(&mut rest, 2, 0, 99)?;
                out.year = n + if n < 70 { 2000 } else { 1900 };
            }
            'm' | 'c' => out.month = number(&mut rest, 2, 0, 12)?,
            'M' => out.month = name(&mut rest, &MONTHS, false)? as i64 + 1,
            'b' => out.month = name(&mut rest, &MONTHS, true)? as i64 + 1,
            'd' | 'e' => out.day = number(&mut rest, 2, 0, 31)?,
            'D' => {
                out.day = number(&mut rest, 2, 0, 31)?;
                rest = rest.get(2..)?;
            }
            'j' => out.day_of_year = Some(number(&mut rest, 3, 1, 366)?),
            'W' => {
                name(&mut rest, &DAYS, false)?;
            }
            'a' => {
                name(&mut rest, &DAYS, true)?;
            }
            'w' => {
                number(&mut rest, 1, 0, 6)?;
            }
            'H' | 'k' => out.hour = number(&mut rest, 2, 0, 23)?,
            'h' | 'I' | 'l' => {
                out.hour = number(&mut rest, 2, 1, 12)?;
                out.twelve = true;
            }
            'i' => out.minute = number(&mut rest, 2, 0, 59)?,
            's' | 'S' => out.second = number(&mut rest, 2, 0, 59)?,
            'f' => {
                let d = digits(&mut rest, 6)?;
                out.micros = d.parse::<i64>().ok()? * 10i64.pow(6 - d.len() as u32);
            }
            'p' => {
                out.pm = rest.get(..2)?.eq_ignore_ascii_case("pm");
                if !out.pm && !rest.get(..2)?.eq_ignore_ascii_case("am") {
                    return None;
                }
                out.twelve = true;
                rest = &rest[2..];
            }
            'T' | 'r' => {
                out.hour = number(&mut rest, 2, 0, 23)?;
                rest = rest.strip_prefix(':')?;
                out.minute = number(&mut rest, 2, 0, 59)?;
                rest = rest.strip_prefix(':')?;
                out.second = number(&mut rest, 2, 0, 59)?;
            }
            '%' => rest = rest.strip_prefix('%')?,
            _ => return None,
        }
    }
    Some(out)
}
