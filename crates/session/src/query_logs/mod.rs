//! The logs of statements: the general query log, of what clients send, and the slow query log, of what took long.
//!
//! Both are files in MySQL's format, which `mysqldumpslow` and `pt-query-digest` read (`log_output=FILE`), tables (`TABLE`: `mysql.general_log`, `mysql.slow_log`), or both.
//!
//! # Invariants
//! 1. While both are off a command pays one relaxed load ([`QueryLogs::is_on`]): no clock is read, nothing is counted.
//! 2. An entry is made in its session's own memory and reaches the file by one append. No latch is held meanwhile, so entries need nothing of those before them: `use db;`
//!    stands in each entry of a session that has a database.
//! 3. A log that cannot be written stops no statement: the server's log tells of it once, and entries are lost until there is room again.
//! 4. Profiles of a session's statements (`counters/profiles.rs`) are taken on the same way: while nobody keeps any they cost nothing more.
//! 5. No password reaches a log: texts that do not parse are left out, those of others go through [`without_secrets`].
//!
//! # Start at
//! `commands.rs` (what a session does for a command while a log is on), then `slow.rs` and `general.rs` for the formats, `log_file.rs` for the files, `log_tables.rs` and `log_rows.rs` for the tables.
//!
//! [`without_secrets`]: crate::accounts::without_secrets

mod commands;
mod general;
mod log_file;
mod log_rows;
mod log_tables;
mod parameters;
mod slow;
mod text;
mod throttle;

use crate::shared::Shared;
use crate::variables::{Definition, variable};
use log_file::LogFile;
use log_tables::{Complain, LogTables};
use mysql_error::{SqlError, codes};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use sync::atomic::{AtomicU32, Ordering};
use sync::{CachePadded, Mutex, Rank};
use throttle::Throttle;
use types::Value;

pub(crate) use commands::Logged;
pub(crate) use log_rows::row;

/// Which log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Log {
    /// The general query log.
    General,
    /// The slow query log.
    Slow,
}

impl Log {
    /// The variable of its file's name.
    pub(crate) fn file_variable(self) -> &'static Definition {
        match self {
            Log::General => variable!("general_log_file"),
            Log::Slow => variable!("slow_query_log_file"),
        }
    }

    /// Which log's file a variable names.
    pub(crate) fn of_file_variable(name: &str) -> Option<Log> {
        [Log::General, Log::Slow].into_iter().find(|log| log.file_variable().name == name)
    }

    fn switch(self) -> &'static Definition {
        match self {
            Log::General => variable!("general_log"),
            Log::Slow => variable!("slow_query_log"),
        }
    }

    const fn ending(self) -> &'static str {
        match self {
            Log::General => ".log",
            Log::Slow => "-slow.log",
        }
    }

    const fn bit(self) -> u32 {
        match self {
            Log::General => GENERAL,
            Log::Slow => SLOW,
        }
    }
}

/// The general log is written.
const GENERAL: u32 = 1;
/// The slow log is written.
const SLOW: u32 = 2;
/// `log_slow_extra`.
const EXTRA: u32 = 4;
/// `log_slow_admin_statements`.
const ADMIN: u32 = 8;
/// `log_queries_not_using_indexes`.
const NO_INDEX: u32 = 16;
/// `log_raw`: passwords as they came, in the general log.
const RAW: u32 = 32;
/// `log_output` has FILE.
const FILE: u32 = 64;
/// `log_output` has TABLE.
const TABLE: u32 = 128;
/// A session keeps profiles of its statements.
const PROFILED: u32 = 256;

/// What a server says of itself at the head of a log, and where its files lie.
#[derive(Debug, Clone)]
pub struct Place {
    /// Where files without a directory lie.
    pub data_dir: PathBuf,
    /// The machine's name, which names the files.
    pub host: String,
    /// The program.
    pub program: PathBuf,
    /// Where it listens.
    pub port: u16,
    /// The same as a file.
    pub socket: PathBuf,
}

/// The logs of a server.
pub struct QueryLogs {
    /// [`GENERAL`] and the others. Relaxed: a statement that runs while a log is switched may be in it or not. On a line of its own, as every command reads it.
    settings: CachePadded<AtomicU32>,
    general: LogFile,
    slow: LogFile,
    tables: LogTables,
    throttle: Mutex<Throttle>,
    /// Sessions that keep profiles. Under it [`PROFILED`] changes.
    profilers: Mutex<u32>,
    place: OnceLock<Place>,
    errors: OnceLock<Complain>,
}

impl QueryLogs {
    pub(crate) fn new() -> QueryLogs {
        QueryLogs {
            settings: CachePadded::new(AtomicU32::new(0)),
            general: LogFile::new(),
            slow: LogFile::new(),
            tables: LogTables::new(),
            throttle: Mutex::new(Rank::Leaf, Throttle::default()),
            profilers: Mutex::new(Rank::Leaf, 0),
            place: OnceLock::new(),
            errors: OnceLock::new(),
        }
    }

    /// Whether any log is written, or any session keeps profiles: one load.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.settings.load(Ordering::Relaxed) & (GENERAL | SLOW | PROFILED) != 0
    }

    /// A session begins to keep profiles, or ends it: [`crate::counters::profiles`].
    pub(crate) fn count_profiler(&self, begins: bool) {
        let mut profilers = self.profilers.lock();
        *profilers = if begins { *profilers + 1 } else { profilers.saturating_sub(1) };
        if *profilers > 0 {
            self.settings.fetch_or(PROFILED, Ordering::Relaxed);
        } else {
            self.settings.fetch_and(!PROFILED, Ordering::Relaxed);
        }
    }

    /// Whether any log is written.
    pub(crate) fn is_written(&self) -> bool {
        self.settings.load(Ordering::Relaxed) & (GENERAL | SLOW) != 0
    }

    fn has(&self, bit: u32) -> bool {
        self.settings.load(Ordering::Relaxed) & bit != 0
    }

    fn file(&self, log: Log) -> &LogFile {
        match log {
            Log::General => &self.general,
            Log::Slow => &self.slow,
        }
    }

    /// Writes an entry to where `log_output` says: made as a line of the file, and as a row of the table.
    fn write(&self, log: Log, entry: impl FnOnce() -> Vec<u8>, row: impl FnOnce() -> Vec<u8>) {
        if self.has(FILE) {
            self.append(log, &entry());
        }
        if self.has(TABLE) {
            self.tables.push(log, &row());
        }
    }

    /// Rows of a log's table.
    pub(crate) fn open_table(&self, log: Log) -> std::io::Result<Option<std::io::Take<std::fs::File>>> {
        self.tables.open(log)
    }

    /// TRUNCATE TABLE of a log's table.
    pub(crate) fn truncate_table(&self, log: Log) -> std::io::Result<()> {
        self.tables.truncate(log)
    }

    /// Rows of the tables that were lost.
    pub(crate) fn table_rows_lost(&self) -> u64 {
        self.tables.lost()
    }

    /// Whether a log's table is written: it may not be dropped or renamed then.
    pub(crate) fn is_table_written(&self, log: Log) -> bool {
        self.has(log.bit()) && self.has(TABLE)
    }

    /// Appends an entry to a log's file.
    fn append(&self, log: Log, entry: &[u8]) {
        if let Some(complaint) = self.file(log).append(entry) {
            self.complain(&complaint);
        }
    }

    fn complain(&self, text: &str) {
        if let Some(errors) = self.errors.get() {
            errors(text);
        }
    }

    /// A file's path as the operating system finds it.
    fn path(&self, name: &str) -> PathBuf {
        match self.place.get() {
            Some(place) => place.data_dir.join(name),
            None => PathBuf::from(name),
        }
    }

    /// The head of a file that is opened.
    fn head(&self, shared: &Shared) -> String {
        let said = |definition| crate::variables::show(definition, &shared.variables.get(definition));
        let (version, comment) = (said(variable!("version")), said(variable!("version_comment")));
        let (program, port, socket) = match self.place.get() {
            Some(place) => (place.program.display().to_string(), place.port, place.socket.display().to_string()),
            None => (String::new(), 0, String::new()),
        };
        // The manual's tools take these three lines for no entry by their words.
        format!(
            "{program}, Version: {version} ({comment}). started with:\nTcp port: {port}  Unix socket: {socket}\nTime                 Id Command    Argument\n"
        )
    }
}

/// `log_output` as a set.
pub(crate) fn writes_to(shared: &Shared, place: &str) -> bool {
    match shared.variables.get(variable!("log_output")) {
        Value::Bytes(list) => list.to_text().split(',').any(|word| word == place),
        _ => false,
    }
}

impl Shared {
    /// Says where the logs of statements lie and who is told when one fails; puts in force what the settings say of them. Once, before there are sessions.
    pub fn begin_query_logs(&self, place: Place, errors: Box<dyn Fn(&str) + Send + Sync>) {
        let logs = &self.query_logs;
        // Told a second time they stay what they were.
        let errors: Complain = Arc::from(errors);
        logs.tables.place(&place.data_dir, &errors);
        let _ = logs.errors.set(errors);
        let _ = logs.place.set(place);
        for log in [Log::General, Log::Slow] {
            if self.log_name(log).is_empty() {
                self.variables.set(log.file_variable(), Value::from(self.default_log_name(log)));
            }
            if let Err(error) = self.apply_query_log(log) {
                // As in MySQL the server starts, and writes no log.
                let name = log.switch().name;
                logs.complain(&format!("{}. {name} is off: fix the cause, then say SET GLOBAL {name}=ON", error.message));
                self.variables.set(log.switch(), Value::Int(0));
                self.apply_log_settings();
            }
        }
    }

    /// What a log's file is called unless it is said.
    pub(crate) fn default_log_name(&self, log: Log) -> String {
        match self.query_logs.place.get() {
            Some(place) => place.data_dir.join(format!("{}{}", place.host, log.ending())).display().to_string(),
            None => String::new(),
        }
    }

    fn log_name(&self, log: Log) -> String {
        match self.variables.get(log.file_variable()) {
            Value::Bytes(name) => name.to_text().into_owned(),
            _ => String::new(),
        }
    }

    /// Puts a changed variable of the logs in force; the file of a log that is switched on is opened.
    pub(crate) fn apply_query_log_variable(&self, definition: &Definition) -> Result<(), SqlError> {
        match definition.name {
            "general_log" | "general_log_file" => self.apply_query_log(Log::General),
            "slow_query_log" | "slow_query_log_file" => self.apply_query_log(Log::Slow),
            "log_output" => [Log::General, Log::Slow].into_iter().try_for_each(|log| self.apply_query_log(log)),
            "log_slow_extra" | "log_slow_admin_statements" | "log_queries_not_using_indexes" | "log_raw" => {
                self.apply_log_settings();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Opens or closes a log's file as the variables say.
    fn apply_query_log(&self, log: Log) -> Result<(), SqlError> {
        let logs = &self.query_logs;
        let path = logs.path(&self.log_name(log));
        // One that is open goes on as it is: FLUSH opens it anew.
        if self.is_in_file(log) && !logs.file(log).is_open_at(&path) {
            logs.file(log).open(&path, logs.head(self).as_bytes()).map_err(|error| cannot_use(&path, &error))?;
        }
        self.apply_log_settings();
        if !self.is_in_file(log) {
            logs.file(log).close();
        }
        Ok(())
    }

    fn is_written(&self, log: Log) -> bool {
        self.number(log.switch()) == 1 && !writes_to(self, "NONE") && (writes_to(self, "FILE") || writes_to(self, "TABLE"))
    }

    fn is_in_file(&self, log: Log) -> bool {
        self.is_written(log) && writes_to(self, "FILE")
    }

    /// Writes what waits for the tables of logs: the server ends.
    pub fn end_query_logs(&self) {
        self.query_logs.tables.flush();
    }

    fn apply_log_settings(&self) {
        let mut settings = 0;
        for log in [Log::General, Log::Slow] {
            settings |= if self.is_written(log) { log.bit() } else { 0 };
        }
        for (place, bit) in [("FILE", FILE), ("TABLE", TABLE)] {
            settings |= if writes_to(self, place) { bit } else { 0 };
        }
        if settings & TABLE != 0
            && settings & (GENERAL | SLOW) != 0
            && let Err(error) = self.query_logs.tables.begin()
        {
            self.query_logs.complain(&format!("no thread writes the log tables ({error}); rows are written when the tables are read"));
        }
        for (switch, bit) in [
            (variable!("log_slow_extra"), EXTRA),
            (variable!("log_slow_admin_statements"), ADMIN),
            (variable!("log_queries_not_using_indexes"), NO_INDEX),
            (variable!("log_raw"), RAW),
        ] {
            settings |= if self.number(switch) == 1 { bit } else { 0 };
        }
        let profilers = self.query_logs.profilers.lock();
        let profiled = if *profilers > 0 { PROFILED } else { 0 };
        self.query_logs.settings.store(settings | profiled, Ordering::Relaxed);
        drop(profilers);
        self.connections.set_slow_counted(settings & SLOW != 0);
    }

    /// FLUSH GENERAL LOGS, FLUSH SLOW LOGS: the file is opened anew by its name, which may be another file's by now.
    pub(crate) fn reopen_query_log(&self, log: Log) -> Result<(), SqlError> {
        if !self.is_in_file(log) {
            return Ok(());
        }
        let path = self.query_logs.path(&self.log_name(log));
        let opened = self.query_logs.file(log).open(&path, self.query_logs.head(self).as_bytes());
        opened.map_err(|error| {
            let told = cannot_use(&path, &error);
            self.query_logs.complain(&format!("{}; {} goes on in the file that was open", told.message, log.switch().name));
            told
        })
    }

    /// Whether a log's file may have this name: 1231 for one of settings, and for a directory that is not there. (A file that is not there yet is made.)
    pub(crate) fn check_log_name(&self, definition: &Definition, value: &Value) -> Result<(), SqlError> {
        let wrong = |shown: &str| codes::wrong_value_for_var(definition.name, shown);
        let Value::Bytes(text) = value else { return Err(wrong("NULL")) };
        let name = text.to_text();
        let path = self.query_logs.path(&name);
        let directory = path.parent().unwrap_or(Path::new("/"));
        let is_settings = [".cnf", ".ini"].iter().any(|ending| name.to_ascii_lowercase().ends_with(ending));
        if name.is_empty() || is_settings || env::outside::is_directory(&path) || !env::outside::is_directory(directory) {
            return Err(wrong(&name));
        }
        Ok(())
    }
}

fn cannot_use(path: &Path, error: &std::io::Error) -> SqlError {
    let number = error.raw_os_error().unwrap_or(0);
    let text = error.to_string();
    let why = text.split(" (os error").next().unwrap_or_default();
    SqlError::with_message(29, format!("File '{}' not found (OS errno {number} - {why})", path.display()))
}
