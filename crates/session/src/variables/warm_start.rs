//! Warm starts as clients see them: the variables of the list of the buffer pool's pages, and in MySQL's words how its writing and its reading stand.

use crate::error_map::Outcome;
use crate::shared::Shared;
use crate::variables::{Definition, variable};
use engine::{DumpStatus, Engine, LoadStatus, WarmSettings};
use mysql_error::{SqlError, codes};
use types::{DateTime, LocalTime, TimeZone, Timestamp, Value};

/// What is behind the name of a list that is being written; MySQL names that file when it cannot make it.
const INCOMPLETE: &str = ".incomplete";

/// Puts the variables in force.
pub(super) fn apply(shared: &Shared) -> Result<(), SqlError> {
    let file = match shared.variables.get(variable!("innodb_buffer_pool_filename")) {
        Value::Bytes(name) => name.to_text().into_owned(),
        _ => String::new(),
    };
    shared.engine.set_warm_start(WarmSettings {
        file,
        percent: shared.number(variable!("innodb_buffer_pool_dump_pct")),
        keeps: shared.number(variable!("innodb_buffer_pool_dump_at_shutdown")) == 1,
        loads: shared.number(variable!("innodb_buffer_pool_load_at_startup")) == 1,
        ..WarmSettings::default()
    });
    Ok(())
}

/// 1231: NULL names no file.
pub(super) fn not_null(_: &Shared, definition: &'static Definition, value: &Value) -> Result<(), Outcome> {
    if value.is_null() { Err(codes::wrong_value_for_var(definition.name, "NULL").into()) } else { Ok(()) }
}

/// A variable that has something done when it is switched on, and is off again at once.
pub(super) fn when_on(shared: &Shared, definition: &'static Definition, done: fn(&Engine)) {
    if shared.number(definition) == 1 {
        shared.variables.set(definition, Value::Int(0));
        done(&shared.engine);
    }
}

impl Shared {
    /// Sessions are served: the pages of the list are read from now on, and lists written.
    pub(crate) fn begin_warm_start(&self) {
        let begun = apply(self).map_err(|error| error.to_string());
        let begun = begun.and_then(|()| self.engine.begin_warm_start().map_err(|error| format!("{error:?}")));
        if let (Err(error), Some(notes)) = (begun, self.notes()) {
            notes(&format!("the list of the buffer pool's pages is neither read nor written: {error}"));
        }
    }

    fn path_of(&self, file: &str) -> String {
        let directory = match self.variables.get(variable!("datadir")) {
            Value::Bytes(directory) => directory.to_text().into_owned(),
            _ => String::new(),
        };
        format!("{}/{file}", directory.trim_end_matches('/'))
    }
}

/// `Innodb_buffer_pool_dump_status`.
pub(crate) fn dump_status(shared: &Shared) -> String {
    match shared.engine.dump_status() {
        DumpStatus::NotBegun => "Dumping of buffer pool not started".to_owned(),
        DumpStatus::Running(file) => format!("Dumping buffer pool(s) to {}", shared.path_of(&file)),
        DumpStatus::Done(at) => format!("Buffer pool(s) dump completed at {}", moment(at)),
        DumpStatus::Failed(file, why) => {
            format!("Cannot open '{}{INCOMPLETE}' for writing: {}", shared.path_of(&file), words(&why))
        }
    }
}

/// `Innodb_buffer_pool_load_status`.
pub(crate) fn load_status(shared: &Shared) -> String {
    match shared.engine.load_status() {
        LoadStatus::NotBegun => "Loading of buffer pool not started".to_owned(),
        LoadStatus::Begun(file) => format!("Loading buffer pool(s) from {}", shared.path_of(&file)),
        LoadStatus::Running(done, all) => format!("Loaded {done}/{all} pages"),
        LoadStatus::Done(at) => format!("Buffer pool(s) load completed at {}", moment(at)),
        LoadStatus::Empty(at, file) => format!("Buffer pool(s) load completed at {} ({} was empty)", moment(at), shared.path_of(&file)),
        LoadStatus::Unreadable(file, why) => format!("Cannot open '{}' for reading: {}", shared.path_of(&file), words(&why)),
        LoadStatus::Malformed(file) => format!("Error parsing '{}', unable to load buffer pool (stage 1)", shared.path_of(&file)),
        LoadStatus::Aborted => "Buffer pool(s) load aborted on request".to_owned(),
    }
}

/// The system's words for an error, without its number.
fn words(why: &str) -> &str {
    why.split(" (os error").next().unwrap_or_default()
}

/// A moment as MySQL writes it here: `261128  9:43:19`, by the system's clock and zone.
fn moment(micros: i64) -> String {
    let local = TimeZone::system().to_local(Timestamp::from_micros(micros));
    written(local)
}

fn written(local: DateTime) -> String {
    let date = local.date();
    let (hour, minute, second) = (local.hour(), local.minute(), local.second());
    format!("{:02}{:02}{:02} {hour:2}:{minute:02}:{second:02}", date.year() % 100, date.month(), date.day())
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Date;

    #[test]
    fn moments_are_as_mysql_writes_them() {
        let at = |hour, minute, second| written(DateTime::from_fields(Date::from_fields(2026, 11, 8), hour, minute, second, 5));
        assert_eq!(at(10, 43, 9), "261108 10:43:09");
        assert_eq!(at(9, 0, 59), "261108  9:00:59");
    }
}
