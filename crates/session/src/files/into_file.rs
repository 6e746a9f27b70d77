//! SELECT … INTO OUTFILE and INTO DUMPFILE: the rows go to a file on the server's disk.
//!
//! # Invariants
//! 1. A statement that fails leaves no file behind.

use super::format::Format;
use super::row_text::{Buffers, Writing};
use super::{not_created, not_written};
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::reply::row_output::{put_column, put_value};
use crate::statement::plan_cache::CachedPlan;
use crate::variables::variable;
use env::outside;
use executor::{RowConsumer, StatementContext};
use lock_manager::Cancel;
use mysql_error::{SqlError, codes};
use parser::ast::{Query, SelectInto, Statement};
use planner::Plan;
use planner::plan::OutputColumn;
use protocol::{ResultSink, RowWriter};
use record::RowRef;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use types::{Charset, ColumnType, TimeZone, Value};

/// How a file is written, as the session's variables say.
struct Pace {
    /// Bytes that are gathered before they are written (`select_into_buffer_size`).
    piece_bytes: usize,
    /// Whether each piece is brought to the disk (`select_into_disk_sync`), and how long it is waited then (`select_into_disk_sync_delay`).
    sync: Option<Duration>,
    cancel: Arc<Cancel>,
}

/// A file that is being written.
struct FileRows {
    writing: Writing,
    file: File,
    pace: Pace,
    name: String,
    zone: Arc<TimeZone>,
    buffers: Buffers,
    /// Rows there may be.
    rows_left: u64,
    rows_written: u64,
    columns: Vec<ColumnType>,
}

impl FileRows {
    fn flush(&mut self) -> executor::Result<()> {
        self.file.write_all(&self.buffers.out).map_err(|error| not_written(&self.name, &error))?;
        self.buffers.out.clear();
        if let Some(delay) = self.pace.sync {
            self.file.sync_data().map_err(|error| not_written(&self.name, &error))?;
            if !delay.is_zero() {
                // Who is killed meanwhile hears of it at the next row.
                self.pace.cancel.sleep_until(Instant::now().checked_add(delay));
            }
        }
        Ok(())
    }

    /// Fails when there was no memory for a value of the row.
    fn check_row(&mut self) -> executor::Result<()> {
        self.buffers.starved.take().map_or(Ok(()), |excess| Err(excess.into()))
    }

    fn count_row(&mut self) -> executor::Result<()> {
        if self.rows_left == 0 {
            return Err(codes::too_many_rows().into());
        }
        self.rows_left -= 1;
        self.rows_written += 1;
        Ok(())
    }
}

impl RowConsumer for FileRows {
    fn begin(&mut self, _: &[OutputColumn]) -> executor::Result<()> {
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> executor::Result<()> {
        self.count_row()?;
        let mut row = self.writing.begin(&mut self.buffers);
        for (ty, value) in self.columns.iter().zip(values) {
            put_value(&mut row, ty, value, &*self.zone);
        }
        row.end();
        self.check_row()?;
        if self.buffers.out.len() >= self.pace.piece_bytes { self.flush() } else { Ok(()) }
    }

    fn record(&mut self, stored: RowRef<'_>, columns: &[u32]) -> executor::Result<bool> {
        self.count_row()?;
        let mut row = self.writing.begin(&mut self.buffers);
        let mut space = Vec::new();
        for column in columns {
            put_column(&mut row, stored.column_in(*column as usize, &mut space)?, &*self.zone)?;
        }
        row.end();
        self.check_row()?;
        Ok(self.buffers.out.len() >= self.pace.piece_bytes)
    }

    fn drain(&mut self) -> executor::Result<()> {
        self.flush()
    }
}

/// What the statement says of its file.
struct Wanted {
    /// As the statement has it.
    name: String,
    path: PathBuf,
    format: Option<Format>,
    charset: Option<Charset>,
}

fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// Whether a column is too wide for fields of a fixed width.
fn is_endless(ty: &ColumnType) -> bool {
    ty.kind.is_blob() && ty.bytes_max() > 65_535
}

impl ClientSession {
    /// A query whose rows go to a file.
    pub(crate) fn select_into_file(
        &mut self,
        statement: &Statement<'_>,
        query: &Query<'_>,
        sql: &[u8],
        sink: &mut ResultSink<'_>,
    ) -> Result<(), Outcome> {
        self.core.require_file()?;
        let wanted = self.wanted_file(query)?;
        self.shared().status.com_select.inc();
        let plan = self.plan_and_enter(
            |plan: &CachedPlan| Some(plan.work),
            |session, tries| {
                let plan = session.plan(statement, sql)?;
                session.may_run(&plan)?;
                if tries == 0 {
                    session.warn_of(&plan.plan);
                }
                if wanted.format.as_ref().is_some_and(Format::is_fixed) && plan.plan.columns.iter().any(|column| is_endless(&column.ty)) {
                    return Err(codes::blobs_and_no_terminated().into());
                }
                Ok(plan)
            },
        )?;
        self.limit_time(&plan.plan);
        let rows = self.write_rows(&plan.plan, &wanted)?;
        self.statement_done()?;
        // The file tells of rows, too.
        self.settle()?;
        self.reply_ok(rows, sink);
        Ok(())
    }

    fn wanted_file(&mut self, query: &Query<'_>) -> Result<Wanted, SqlError> {
        Ok(match query.into {
            Some(SelectInto::Outfile { path, charset, format }) => {
                let charset = match charset {
                    Some(name) => {
                        let charset = Charset::from_name(name).ok_or_else(|| codes::unknown_character_set(name))?;
                        self.warn_if(planner::charsets::of_charset(name));
                        Some(charset)
                    }
                    None => None,
                };
                let format = Format::new(format)?;
                if format.is_beyond_ascii() {
                    self.warn_if(Some(SqlError::with_message(1638, "Non-ASCII separator arguments are not fully supported")));
                }
                Wanted { name: shown(path), path: self.core.secure_path(path, true)?, format: Some(format), charset }
            }
            Some(SelectInto::Dumpfile(path)) => {
                Wanted { name: shown(path), path: self.core.secure_path(path, true)?, format: None, charset: None }
            }
            _ => return Err(codes::not_supported_yet("this statement here")),
        })
    }

    fn pace_of_files(&self) -> Pace {
        let core = &self.core;
        let delay = || Duration::from_millis(core.number(variable!("select_into_disk_sync_delay")));
        Pace {
            piece_bytes: core.number(variable!("select_into_buffer_size")) as usize,
            sync: (core.number(variable!("select_into_disk_sync")) != 0).then(delay),
            cancel: Arc::clone(&core.cancel),
        }
    }

    /// Runs the query inside the session's transaction; how many rows are in the file.
    fn write_rows(&mut self, plan: &Plan, wanted: &Wanted) -> Result<u64, Outcome> {
        let writing = Writing::new(wanted.format.clone(), &plan.columns, wanted.charset);
        if writing.is_ambiguous() {
            let text =
                "First character of the FIELDS TERMINATED string is ambiguous; please use non-optional and non-empty FIELDS ENCLOSED BY";
            self.warn_if(Some(SqlError::with_message(1475, text)));
        }
        let file = outside::create(&wanted.path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => codes::file_exists_error(&wanted.name),
            _ => not_created(&wanted.path.to_string_lossy(), &error),
        })?;
        let mut rows = FileRows {
            writing,
            file,
            pace: self.pace_of_files(),
            name: wanted.name.clone(),
            zone: Arc::clone(&self.core.settings.zone),
            buffers: Buffers::default(),
            rows_written: 0,
            rows_left: if wanted.format.is_some() { u64::MAX } else { 1 },
            columns: plan.columns.iter().map(|column| column.ty.clone()).collect(),
        };
        let result = self.run_entered(|params, engine, core, scratch| executor::execute(plan, params, engine, core, scratch, &mut rows));
        let result = result.and_then(|outcome| rows.flush().map(|()| outcome));
        for (column, row, missing) in std::mem::take(&mut rows.buffers.lossy) {
            let name = plan.columns.get(column).map_or("", |column| &column.name);
            self.core.warn(codes::truncated_wrong_value_for_field("string", missing, name, row).into());
        }
        match result {
            Ok(executor::Outcome::Rows { count }) => {
                // What OFFSET passes over counts as found, and is not written.
                self.core.found_rows = count;
                Ok(rows.rows_written)
            }
            Ok(executor::Outcome::Changes(_)) => Ok(0),
            Err(error) => {
                drop(rows);
                // Best effort: it may be gone already.
                let _ = outside::remove(&wanted.path);
                Err(self.failed_run(error))
            }
        }
    }
}
