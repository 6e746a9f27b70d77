//! `mysql.general_log` and `mysql.slow_log`: rows that `log_output=TABLE` has written, read from their files one by one.

use super::{MYSQL, database};
use crate::context::Core;
use crate::query_logs::{Log, row};
use catalog::{VirtualRequest, VirtualRow, VirtualTableDef};
use executor::VirtualRows;
use mysql_error::SqlError;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Take};

/// The log that a table shows.
pub(crate) fn log_of(database: &str, name: &str) -> Option<Log> {
    match name {
        "general_log" if database == MYSQL => Some(Log::General),
        "slow_log" if database == MYSQL => Some(Log::Slow),
        _ => None,
    }
}

/// What MySQL says of it.
pub(crate) fn comment_of(def: &VirtualTableDef) -> Option<&'static str> {
    log_of(def.database, def.name).map(|log| match log {
        Log::General => "General log",
        Log::Slow => "Slow log",
    })
}

/// The function of a table's rows.
pub(super) fn general(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    rows(core, Log::General, "general_log")
}

/// The same.
pub(super) fn slow(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    rows(core, Log::Slow, "slow_log")
}

fn rows(core: &mut Core, log: Log, name: &'static str) -> executor::Result<VirtualRows> {
    let def = database(MYSQL).map(|database| database.table(name)).transpose()?;
    let opened = core.shared.query_logs.open_table(log).map_err(|error| failed(name, &error))?;
    Ok(match (def, opened) {
        (Some(def), Some(file)) => Box::new(Rows { def, file: BufReader::new(file), line: Vec::new() }),
        _ => Box::new(std::iter::empty()),
    })
}

struct Rows {
    def: &'static VirtualTableDef,
    file: BufReader<Take<File>>,
    line: Vec<u8>,
}

impl Iterator for Rows {
    type Item = executor::Result<VirtualRow>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.line.clear();
            match self.file.read_until(b'\n', &mut self.line) {
                Ok(0) => return None,
                // A line that is there in part was cut off by a crash.
                Ok(_) => match row(self.def, &self.line) {
                    Some(row) => return Some(Ok(row)),
                    None => continue,
                },
                Err(error) => {
                    // Once: then there is no more.
                    self.file.get_mut().set_limit(0);
                    return Some(Err(failed(self.def.name, &error).into()));
                }
            }
        }
    }
}

fn failed(name: &str, error: &io::Error) -> SqlError {
    let number = error.raw_os_error().unwrap_or(0);
    let text = error.to_string();
    let why = text.split(" (os error").next().unwrap_or_default();
    SqlError::with_message(1024, format!("Error reading file 'mysql.{name}' (OS errno {number} - {why})"))
}
