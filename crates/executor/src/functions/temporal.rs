//! Temporal functions.

mod format;
mod interval;

use self::format::{asks_for_days, format_datetime, get_format, parse_by_format};
use crate::context::StatementContext;
use crate::convert::{self, datetime_of_micros, local_time, number};
use crate::exec::Exec;
use crate::run::Result;
use mysql_error::{SqlError, codes};
use planner::expr::Expr;
use planner::func::Func;
use types::{ColumnType, Date, DateTime, Decimal, LocalTime, SqlMode, Time, Timestamp, TypeKind, Value};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

impl Exec<'_> {
    /// Names of days and months.
    fn time_names(&self) -> &'static crate::locales::Names {
        crate::locales::LOCALES.get(self.context.lc_time_names()).unwrap_or(&crate::locales::LOCALES[0]).names
    }

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
        self.moment_arg(e, "datetime", false)
    }

    /// The same of a function that looks at the date.
    fn date_arg(&mut self, e: &Expr) -> Result<Option<DateTime>> {
        self.moment_arg(e, "date", false)
    }

    /// The same where only parts are asked for: numbers, too, may be dates whose parts are zero.
    fn parts_arg(&mut self, e: &Expr) -> Result<Option<DateTime>> {
        self.moment_arg(e, "date", true)
    }

    fn moment_arg(&mut self, e: &Expr, kind: &str, partial: bool) -> Result<Option<DateTime>> {
        let v = self.eval(e)?;
        if v.is_null() {
            return Ok(None);
        }
        // Parts of dates may be zero where only parts are asked for; a text that is all zero is a date where the mode has such.
        let at = match &v {
            Value::Bytes(b) if kind == "datetime" => {
                let mode = self.context.sql_mode();
                types::parse_datetime(b, mode.among(SqlMode::TIME_TRUNCATE_FRACTIONAL)).filter(|at| !self.is_refused_zero(*at))
            }
            Value::Bytes(b) => types::parse_datetime(b, SqlMode::NONE).filter(|at| !self.is_refused_zero(*at)),
            Value::Int(_) | Value::UInt(_) if partial && !e.ty.is_year_column() => parts_of_number(convert::to_i64(&v, &*self.context)),
            Value::Decimal(_) | Value::Double(_) if partial && convert::to_f64(&v, &*self.context).abs() < 101.0 => {
                parts_of_number(convert::to_f64(&v, &*self.context) as i64)
            }
            other => moment(other, &e.ty, &*self.context),
        };
        match at {
            None => drop(self.bad_temporal(kind, &v)?),
            Some(_) => self.cut_temporal(kind, &v)?,
        }
        Ok(at)
    }

    /// Whether it is the zero date, and the mode has none.
    pub(super) fn is_refused_zero(&self, at: DateTime) -> bool {
        at == DateTime::ZERO && self.context.sql_mode().contains(SqlMode::NO_ZERO_DATE)
    }

    fn time_arg(&mut self, e: &Expr) -> Result<Option<Time>> {
        let v = self.eval(e)?;
        if v.is_null() {
            return Ok(None);
        }
        let t = if e.ty.is_year_column() { Some(Time::from_micros(0)) } else { convert::to_time(&v, &*self.context) };
        match t {
            None => drop(self.bad_temporal("time", &v)?),
            Some(_) => self.cut_temporal("time", &v)?,
        }
        Ok(t)
    }

    fn days_arg(&mut self, e: &Expr) -> Result<Option<Date>> {
        Ok(self.date_arg(e)?.map(DateTime::date).filter(|d| d.month() > 0 && d.day() > 0))
    }

    /// Calls a temporal function.
    #[inline(never)]
    pub(super) fn call_temporal(&mut self, func: Func, args: &[Expr], e: &Expr) -> Result<Value> {
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
                if v.is_null() { Ok(v) } else { self.cast_date(&v, &args[0]) }
            }
            F::TimeOf => Ok(self.time_arg(&args[0])?.map_or(Value::Null, Value::Time)),
            F::Timestamp => {
                let Some(at) = self.datetime_arg(&args[0])? else { return Ok(Value::Null) };
                if has_refused_zeros(at, self.context.sql_mode()) {
                    return Ok(Value::Null);
                }
                match args.get(1) {
                    None => Ok(Value::DateTime(at)),
                    Some(a) => {
                        let Some(t) = self.time_arg(a)? else { return Ok(Value::Null) };
                        Ok(at.add_micros(t.micros()).map_or(Value::Null, Value::DateTime))
                    }
                }
            }
            F::Year | F::Quarter | F::Month | F::Day => {
                let Some(at) = self.parts_arg(&args[0])? else { return Ok(Value::Null) };
                int(match func {
                    F::Year => return Ok(Value::UInt(u64::from(at.year()))),
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
            F::TimeDiff => self.time_diff(args, e),
            F::AddTime | F::SubTime => self.add_time(args, func == F::SubTime, e),
            F::DateFormat => {
                let Some(at) = self.datetime_arg(&args[0])? else { return Ok(Value::Null) };
                let Some(format) = self.text_arg(&args[1])?.filter(|format| !format.is_empty()) else { return Ok(Value::Null) };
                formatted(format_datetime(at, at.time(), &String::from_utf8_lossy(&format), self.time_names()))
            }
            F::TimeFormat => {
                let v = self.eval(&args[0])?;
                if v.is_null() {
                    return Ok(v);
                }
                let at = if is_dated(&v) { convert::to_datetime(&v, &*self.context) } else { None };
                // What is a date as text is no time of minutes and seconds; a number that is no time may be a date.
                let time = match (&v, at) {
                    (Value::Bytes(_), Some(at)) => Some(at.time()),
                    (Value::Bytes(_), None) => convert::to_time(&v, &*self.context),
                    _ => {
                        let time = convert::to_time(&v, &*self.context);
                        time.or_else(|| convert::to_datetime(&v, &*self.context).map(DateTime::time))
                    }
                };
                let Some(t) = time else { return self.bad_temporal("datetime", &v) };
                let Some(format) = self.text_arg(&args[1])?.filter(|format| !format.is_empty()) else { return Ok(Value::Null) };
                let format = String::from_utf8_lossy(&format);
                if asks_for_days(&format) {
                    return Ok(Value::Null);
                }
                formatted(format_datetime(at.unwrap_or(DateTime::ZERO), t, &format, self.time_names()))
            }
            F::StrToDate => self.str_to_date(args, e),
            F::UnixTimestamp => self.unix_timestamp(args, e),
            F::FromUnixtime => self.unixtime_to_datetime(args),
            F::LastDay => {
                let Some(at) = self.parts_arg(&args[0])? else { return Ok(Value::Null) };
                if at.month() == 0 {
                    return self.bad_temporal("date", &Value::bytes(at.date().to_string()));
                }
                Ok(at.date().last_day().map_or(Value::Null, Value::Date))
            }
            F::DayOfWeek | F::WeekDay | F::DayOfYear | F::Week | F::WeekOfYear | F::YearWeek | F::DayName | F::ToDays | F::ToSeconds => {
                let Some(at) = self.date_arg(&args[0])? else { return Ok(Value::Null) };
                let mode = match (func, args.get(1)) {
                    (_, Some(a)) => match self.int_arg(a)? {
                        // A negative one is mode 0 that counts days before the first week to their own year.
                        Some(mode) if mode < 0 && func == F::YearWeek => {
                            let week = at.date().week(0);
                            return Ok(week.map_or(Value::Null, |(y, w)| Value::Int(i64::from(y) * 100 + i64::from(w))));
                        }
                        Some(mode) => mode.max(0).rem_euclid(8) as u8,
                        // As MySQL answers where the mode is NULL.
                        None => return int(0),
                    },
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
                    F::DayName => return Ok(d.weekday().map_or(Value::Null, |w| Value::from(self.time_names().days[usize::from(w)]))),
                    _ => d.to_days(),
                };
                Ok(value.map_or(Value::Null, Value::Int))
            }
            F::MonthName => {
                let Some(at) = self.parts_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(match at.month() {
                    0 => Value::Null,
                    m => Value::from(self.time_names().months[usize::from(m) - 1]),
                })
            }
            F::FromDays => {
                let Some(n) = self.int_arg(&args[0])? else { return Ok(Value::Null) };
                match Date::from_days(n).filter(|_| n > 0) {
                    Some(date) => Ok(Value::Date(date)),
                    None => self.past_its_range("DATE", e).map(|()| Value::Null),
                }
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
                let micros = (h.unsigned_abs().min(1000) * 3600 + m as u64 * 60) as i64 * SECOND + self.whole(s * 1e6) as i64;
                // MySQL tells it without its sign.
                self.clamped(if h < 0 { -micros } else { micros }, micros, e.ty.decimals)
            }
            F::SecToTime => {
                let v = self.eval(&args[0])?;
                self.demand_decimal(&v)?;
                let Some(micros) = self.micros_of_seconds(&v) else { return Ok(Value::Null) };
                // Up to the last microsecond of the last second.
                if micros.abs() < Time::MAX.micros() + SECOND {
                    return Ok(Value::Time(Time::from_micros(micros)));
                }
                let mut shown = Vec::new();
                convert::append_text(&v, args[0].ty.decimals, &*self.context, &mut shown);
                self.truncated("time", &shown)?;
                Ok(Value::Time(Time::from_micros(micros).clamp_range()))
            }
            F::TimeToSec => {
                let Some(t) = self.time_arg(&args[0])? else { return Ok(Value::Null) };
                int(t.micros() / SECOND)
            }
            F::PeriodAdd | F::PeriodDiff => {
                let (Some(a), Some(b)) = (self.int_arg(&args[0])?, self.int_arg(&args[1])?) else { return Ok(Value::Null) };
                // A period is a year and a month.
                let is_period = |p: i64| p > 0 && (1..=12).contains(&(p % 100));
                if !is_period(a) || func == F::PeriodDiff && !is_period(b) {
                    let message = format!("Incorrect arguments to {}", func.name());
                    return Err(mysql_error::SqlError::with_message(1210, message).into());
                }
                let with_century = |year: u64| match year {
                    0..70 => year + 2000,
                    70..100 => year + 1900,
                    _ => year,
                };
                let months = |period: i64| {
                    let period = period.unsigned_abs();
                    with_century(period / 100) * 12 + period % 100 - 1
                };
                if func == F::PeriodDiff {
                    return int(months(a).wrapping_sub(months(b)) as i64);
                }
                // As MySQL counts: in 64 bits without a sign.
                match months(a).wrapping_add_signed(b) {
                    0 => int(0),
                    n => int(with_century(n / 12).wrapping_mul(100).wrapping_add(n % 12 + 1) as i64),
                }
            }
            F::AtTimeZone => {
                let v = self.eval(&args[0])?;
                let at = match &v {
                    Value::Timestamp(at) => Some(types::TimeZone::utc().to_local(*at)),
                    other => convert::to_datetime(other, &*self.context)
                        .and_then(|at| self.context.local_to_utc(at.to_unix_micros()?))
                        .map(datetime_of_micros),
                };
                // MySQL 9.7 loses the fraction.
                Ok(at.map_or(Value::Null, |at| Value::DateTime(at.truncate(0))))
            }
            F::ConvertTz => {
                let Some(at) = self.datetime_arg(&args[0])? else { return Ok(Value::Null) };
                let Some(zones) = self.texts(&args[1..])? else { return Ok(Value::Null) };
                let zone = |z: &[u8]| match z {
                    b"SYSTEM" => Some(types::TimeZone::utc()),
                    z => std::str::from_utf8(z).ok().and_then(types::TimeZone::parse),
                };
                let (Some(from), Some(to)) = (zone(&zones[0]), zone(&zones[1])) else { return Ok(Value::Null) };
                // What no TIMESTAMP holds stays as it is.
                let utc = at.to_unix_micros().and_then(|local| from.local_to_utc(local));
                Ok(utc.map_or(Value::Null, |utc| match utc {
                    SECOND..=TIMESTAMP_MICROS_MAX => Value::DateTime(to.to_local(Timestamp::from_micros(utc))),
                    _ => Value::DateTime(at),
                }))
            }
            F::GetFormat => {
                let Some(texts) = self.texts(args)? else { return Ok(Value::Null) };
                Ok(get_format(&texts[0], &texts[1]).map_or(Value::Null, Value::from))
            }
            _ => Err(super::not_answered(func)),
        }
    }

    fn time_diff(&mut self, args: &[Expr], e: &Expr) -> Result<Value> {
        let (a, b) = (self.eval(&args[0])?, self.eval(&args[1])?);
        if a.is_null() || b.is_null() {
            return Ok(Value::Null);
        }
        for v in [&a, &b] {
            if let Value::Bytes(text) = v {
                if convert::to_time(v, &*self.context).is_none() && convert::to_datetime(v, &*self.context).is_none() {
                    return self.bad_temporal("datetime", v);
                }
                if text.contains(&b':') && types::parse_time_full(text).is_some_and(|parsed| parsed.out_of_range) && !is_dated(v) {
                    return Ok(Value::Null);
                }
            }
        }
        // A day that its month has not counts, too.
        let invalid = |v: &Value| match v {
            Value::Bytes(text) if says_no_day(text) => types::parse_datetime(text, SqlMode::ALLOW_INVALID_DATES).filter(|at| at.day() > 0),
            _ => None,
        };
        let dated = |v: &Value| is_dated(v) || invalid(v).is_some();
        let both_dated = dated(&a);
        if both_dated != dated(&b) {
            return Ok(Value::Null);
        }
        let difference = if both_dated {
            let moment = |v: &Value| invalid(v).or_else(|| convert::to_datetime(v, &*self.context));
            match (moment(&a), moment(&b)) {
                (Some(x), Some(y)) => x.to_micros().zip(y.to_micros()).map(|(x, y)| x - y),
                _ => None,
            }
        } else {
            match (convert::to_time(&a, &*self.context), convert::to_time(&b, &*self.context)) {
                (Some(x), Some(y)) => Some(x.micros() - y.micros()),
                _ => None,
            }
        };
        match difference {
            Some(difference) => self.clamped(difference, difference, e.ty.decimals),
            None => Ok(Value::Null),
        }
    }

    fn add_time(&mut self, args: &[Expr], subtract: bool, e: &Expr) -> Result<Value> {
        let a = self.eval(&args[0])?;
        if a.is_null() {
            return Ok(a);
        }
        let no_day = matches!(&a, Value::Bytes(text) if says_no_day(text));
        // A number that is no time may be a day.
        let no_time = |a: &Value, context| convert::to_time(a, context).is_none();
        let is_number = !matches!(a, Value::Bytes(_));
        let dated = is_dated(&a) || is_number && no_time(&a, &*self.context) && convert::to_datetime(&a, &*self.context).is_some();
        if no_day || !dated && no_time(&a, &*self.context) {
            return self.bad_temporal("datetime", &a);
        }
        let Some(t) = self.time_arg(&args[1])? else { return Ok(Value::Null) };
        let shift = if subtract { -t.micros() } else { t.micros() };
        let as_text = !e.ty.kind.is_temporal();
        let result = if dated {
            let Some(at) = convert::to_datetime(&a, &*self.context) else { return Ok(Value::Null) };
            if at.month() == 0 || at.day() == 0 {
                return Ok(Value::Null);
            }
            match at.add_micros(shift) {
                Some(at) => Value::DateTime(at),
                None => return self.past_its_range("DATETIME", e).map(|()| Value::Null),
            }
        } else {
            let Some(x) = convert::to_time(&a, &*self.context) else { return Ok(Value::Null) };
            let sum = Time::from_micros(x.micros().saturating_add(shift));
            if sum != sum.clamp_range() {
                self.past_its_range("TIME", e)?;
                // A text stops at the end.
                if !as_text {
                    return Ok(Value::Null);
                }
            }
            Value::Time(sum.clamp_range())
        };
        if !as_text {
            return Ok(result);
        }
        match &a {
            // A date shows as many digits as what is added has.
            Value::Date(_) if args[1].ty.kind.is_temporal() => {
                let mut out = Vec::new();
                convert::append_text(&result, args[1].ty.decimals.min(6), &*self.context, &mut out);
                Ok(Value::from(out.as_slice()))
            }
            _ => Ok(self.temporal_text(result)),
        }
    }

    /// The result of an expression is past the range of its type: 6527.
    #[cold]
    fn past_its_range(&mut self, kind: &str, e: &Expr) -> Result<()> {
        let shown = self.spelled(e, || kind.to_lowercase());
        self.tell(SqlError { code: 6527, sqlstate: *b"22008", message: format!("{kind} value is out of range in '{shown}'") })
    }

    /// So many microseconds as a TIME: as much of them as one holds. `decimals`: digits of the fraction that are told of what is too much.
    fn clamped(&mut self, micros: i64, told: i64, decimals: u8) -> Result<Value> {
        let time = Time::from_micros(micros).clamp_range();
        if time.micros() != micros {
            self.truncated("time", long_time(told, decimals).as_bytes())?;
        }
        Ok(Value::Time(time))
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
            Value::Int(0) | Value::UInt(0) => 0,
            other => match moment(other, &arg.ty, &*self.context) {
                Some(at) => {
                    self.cut_temporal("datetime", &v)?;
                    let utc = at.to_unix_micros().and_then(|m| self.context.local_to_utc(m));
                    utc.filter(|m| (SECOND..=TIMESTAMP_MICROS_MAX).contains(m)).unwrap_or(0)
                }
                None => {
                    self.bad_temporal("datetime", &v)?;
                    0
                }
            },
        };
        if e.ty.kind == TypeKind::Decimal {
            let d = Decimal::new(i128::from(micros), 6);
            return Ok(Value::Decimal(d.truncate(i32::from(e.ty.decimals)).rescale(e.ty.decimals).unwrap_or(d)));
        }
        Ok(Value::Int(micros.div_euclid(SECOND)))
    }

    fn unixtime_to_datetime(&mut self, args: &[Expr]) -> Result<Value> {
        let v = self.eval(&args[0])?;
        self.demand_decimal(&v)?;
        let seconds = match &v {
            Value::Bytes(text) => Some(convert::Number::Decimal(Decimal::parse(text).value)),
            v => number(v, &*self.context),
        };
        let micros = match seconds {
            None => return Ok(Value::Null),
            Some(convert::Number::Int(i)) => i.checked_mul(SECOND),
            Some(convert::Number::Decimal(d)) if d.is_negative() => None,
            Some(convert::Number::Decimal(d)) => {
                let cut = self.context.sql_mode().contains(SqlMode::TIME_TRUNCATE_FRACTIONAL);
                let micros = if cut { d.truncate(6) } else { d.round(6) };
                micros.rescale(6).and_then(|micros| i64::try_from(micros.as_i128()?.0).ok())
            }
            Some(n) => {
                let f = convert::number_f64(&n) * 1e6;
                (f.abs() < 9e18).then_some(self.whole(f) as i64)
            }
        };
        let Some(micros) = micros.filter(|m| (0..=TIMESTAMP_MICROS_MAX).contains(m)) else { return Ok(Value::Null) };
        let at = datetime_of_micros(micros + i64::from(self.context.offset_at_utc(micros)) * SECOND);
        match args.get(1) {
            None => Ok(Value::DateTime(at)),
            Some(f) => {
                let Some(format) = self.text_arg(f)?.filter(|format| !format.is_empty()) else { return Ok(Value::Null) };
                formatted(format_datetime(at, at.time(), &String::from_utf8_lossy(&format), self.time_names()))
            }
        }
    }

    /// A number of microseconds without its fraction: rounded, or cut where the mode says so.
    fn whole(&self, micros: f64) -> f64 {
        if self.context.sql_mode().contains(SqlMode::TIME_TRUNCATE_FRACTIONAL) { micros.trunc() } else { micros.round() }
    }

    /// A number of seconds as microseconds, at most some; `None` for NULL.
    fn micros_of_seconds(&self, v: &Value) -> Option<i64> {
        const SOME: f64 = 4e12;
        let decimal = match number(v, &*self.context)? {
            convert::Number::Decimal(d) => d,
            n => return Some(self.whole(convert::number_f64(&n) * 1e6).clamp(-SOME, SOME) as i64),
        };
        let cut = self.context.sql_mode().contains(SqlMode::TIME_TRUNCATE_FRACTIONAL);
        let micros = if cut { decimal.truncate(6) } else { decimal.round(6) };
        match micros.rescale(6).and_then(|micros| micros.as_i128()) {
            Some((micros, _)) => Some(micros.clamp(-(SOME as i128), SOME as i128) as i64),
            None => Some(if decimal.is_negative() { -SOME as i64 } else { SOME as i64 }),
        }
    }

    /// NULL for a text that is not as the format of STR_TO_DATE says.
    fn not_of_format(&mut self, text: &str, of: TypeKind) -> Result<Value> {
        let kind = if of == TypeKind::Time { "time" } else { "datetime" };
        let message = format!("Incorrect {kind} value: '{text}' for function str_to_date");
        self.tell(mysql_error::SqlError::with_message(codes::ER_WRONG_VALUE_FOR_TYPE, message))?;
        Ok(Value::Null)
    }

    fn str_to_date(&mut self, args: &[Expr], e: &Expr) -> Result<Value> {
        let Some(parts) = self.texts(args)? else { return Ok(Value::Null) };
        let (text, format) = (String::from_utf8_lossy(&parts[0]).into_owned(), String::from_utf8_lossy(&parts[1]).into_owned());
        let kind = e.ty.kind;
        let Some((p, rest)) = parse_by_format(&text, &format) else { return self.not_of_format(&text, kind) };
        let value = match kind {
            TypeKind::Time => Value::Time(p.time()),
            _ => {
                let date = p.date().and_then(|(year, month, day)| Date::new(year as u16, month as u8, day as u8, self.context.sql_mode()));
                match date {
                    None => return self.not_of_format(&text, kind),
                    Some(d) if kind == TypeKind::Date => Value::Date(d),
                    Some(d) => Value::DateTime(DateTime::from_fields(d, p.hour() as u8, p.minute as u8, p.second as u8, p.micros as u32)),
                }
            }
        };
        if !rest.trim_ascii().is_empty() {
            let kind = match kind {
                TypeKind::Time => "time",
                TypeKind::Date => "date",
                _ => "datetime",
            };
            self.truncated(kind, text.as_bytes())?;
        }
        Ok(value)
    }
}

/// The last microsecond that a TIMESTAMP holds in conversions: 3001-01-18 23:59:59.999999.
const TIMESTAMP_MICROS_MAX: i64 = 32_536_771_199_999_999;

/// The date and time that a value of this type names; a YEAR is its first day.
pub fn moment(v: &Value, ty: &ColumnType, context: &dyn StatementContext) -> Option<DateTime> {
    match v {
        Value::UInt(year) if ty.is_year_column() => Some(DateTime::from_date(Date::from_fields(*year as u16, 1, 1))),
        _ => convert::to_datetime(v, context),
    }
}

/// Microseconds as a time of any length. Six digits of a fraction are those that somebody may have written: without zeros behind them.
fn long_time(micros: i64, decimals: u8) -> String {
    let (seconds, fraction) = (micros.unsigned_abs() / 1_000_000, micros.unsigned_abs() % 1_000_000);
    let sign = if micros < 0 { "-" } else { "" };
    let mut text = format!("{sign}{:02}:{:02}:{:02}.{fraction:06}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if decimals < 6 {
        text.truncate(text.len() - 6 + usize::from(decimals));
        return text.trim_end_matches('.').to_owned();
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Whether a cast makes NULL of a date in these modes: a zero one, or one of which a part is zero.
pub(crate) fn has_refused_zeros(at: DateTime, mode: SqlMode) -> bool {
    (at.month() == 0 || at.day() == 0) && !at.date().is_allowed(mode)
}

/// The date of a number whose month or day may be zero: 1 is 2000-00-01.
fn parts_of_number(n: i64) -> Option<DateTime> {
    let n = if (0..=100).contains(&n) { n + 20_000_000 } else { n };
    types::datetime_from_number(n, SqlMode::NONE).map(|(at, _)| at)
}

/// Whether a value that may be a time or a date with time is the latter.
fn is_dated(v: &Value) -> bool {
    /// The least number that has a date and a time.
    const DATED: i64 = 10_000_000_000;
    let has_date = |n: i64| n >= DATED && parts_of_number(n).is_some();
    match v {
        Value::DateTime(_) | Value::Timestamp(_) | Value::Date(_) => true,
        Value::Bytes(text) => is_dated_text(text),
        Value::Int(n) => has_date(*n),
        Value::UInt(n) => i64::try_from(*n).is_ok_and(has_date),
        _ => false,
    }
}

/// The same of a text: what begins as a time with its colons is one, so are few digits and what says no date.
fn is_dated_text(text: &[u8]) -> bool {
    /// Fewer digits say hours, minutes and seconds.
    const DIGITS_MIN: usize = 5;
    let few = text.iter().take(DIGITS_MIN).all(u8::is_ascii_digit) && text.len() < DIGITS_MIN;
    let mark = text.iter().skip(1).find(|b| b.is_ascii_punctuation());
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let timed = mark == Some(&b':') && digits < DIGITS_MIN && types::parse_time_full(text).is_some_and(|parsed| !parsed.truncated);
    !few && !timed && types::parse_datetime(text, SqlMode::NONE).is_some_and(|at| at.day() > 0)
}

/// Whether a text would be a date, or one with a time, if there were such a day.
fn says_no_day(text: &[u8]) -> bool {
    /// More digits than a time has.
    const DIGITS_MIN: usize = 8;
    let dashes = text.iter().skip(1).filter(|b| **b == b'-').count();
    !is_dated_text(text) && (dashes > 1 || text.len() >= DIGITS_MIN && text.iter().all(u8::is_ascii_digit))
}

/// What DATE_FORMAT and its like make: NULL where a part has no name.
fn formatted(made: Option<Vec<u8>>) -> Result<Value> {
    match (made, memory::excess()) {
        (Some(text), _) => Ok(Value::Bytes(text.into())),
        (None, memory::Excess::None) => Ok(Value::Null),
        (None, excess) => Err(excess.into()),
    }
}

/// Rounds to fraction digits, or cuts where the mode says so.
pub fn round_datetime(at: DateTime, digits: u8, mode: SqlMode) -> DateTime {
    let cut = at.truncate(digits);
    if mode.contains(SqlMode::TIME_TRUNCATE_FRACTIONAL) { cut } else { at.round(digits).unwrap_or(cut) }
}

/// Rounds to fraction digits, or cuts where the mode says so.
pub fn round_time(t: Time, digits: u8, mode: SqlMode) -> Time {
    if mode.contains(SqlMode::TIME_TRUNCATE_FRACTIONAL) { t.truncate(digits) } else { t.round(digits) }
}
