//! Dates that TIMESTAMP columns are compared with: as the session's clocks show them, where the column holds instants.

use super::fit::{Fit, fit_micros};
use types::{ColumnType, DateTime, LocalTime, SqlMode, Timestamp, Value};

/// The date and time that a value stands for where it is compared with one.
pub(crate) fn local_time(value: &Value) -> Option<DateTime> {
    match value {
        Value::DateTime(at) => Some(*at),
        Value::Date(date) => Some(DateTime::from_date(*date)),
        Value::Bytes(text) => types::parse_datetime(text, SqlMode::NONE),
        _ => None,
    }
}

/// How a date compares with what the column holds, from below and from above: the same, but where clocks are set back or forward.
pub(super) fn fit_instants(ty: &ColumnType, value: &Value, zone: &dyn LocalTime) -> (Fit, Fit) {
    let Some(local) = local_time(value) else { return (Fit::Unusable, Fit::Unusable) };
    if local == DateTime::ZERO {
        let zero = Fit::Exact(Value::Timestamp(Timestamp::ZERO));
        return (zero.clone(), zero);
    }
    // What is no day of the calendar is between two instants.
    let Some(micros) = local.to_unix_micros().filter(|micros| DateTime::from_unix_micros(*micros) == Some(local)) else {
        return (Fit::Unusable, Fit::Unusable);
    };
    let (first, last) = zone.instants_of(micros);
    (fit_instant(ty, first), fit_instant(ty, last))
}

fn fit_instant(ty: &ColumnType, micros: i64) -> Fit {
    if micros <= Timestamp::ZERO.micros() {
        // The zero date alone is before it.
        return Fit::Above(Value::Timestamp(Timestamp::ZERO));
    }
    if micros > Timestamp::MAX.micros() {
        return Fit::AboveAll;
    }
    fit_micros(ty, micros, |micros| Value::Timestamp(Timestamp::from_micros(micros)))
}
