//! LOAD DATA [LOCAL] INFILE: the file's lines as rows of an INSERT.

use super::format::{Format, width_read};
use super::input::{Failure, Input, Source};
use super::lines::{Line, Lines};
use super::{no_stat, not_found, not_read};
use crate::client_session::ClientSession;
use crate::context::Planning;
use crate::error_map::Outcome;
use crate::variables::variable;
use engine::HandlerCall;
use env::outside;
use executor::{LoadLines, LoadRow, LoadText, StatementContext, UserVariable};
use mysql_error::{SqlError, codes};
use parser::ast::{LoadData, LoadDuplicates, LoadTarget};
use planner::Plan;
use planner::plan::{Body, InsertSource, LoadField};
use protocol::{Capabilities, ClientGone, OkReply, ResultSink};
use std::io;
use types::{Charset, TypeKind, Value};

/// What is known of a field before it is read.
struct Field {
    /// What it is in.
    charset: Charset,
    /// Its bytes, where nothing stands between fields.
    width: usize,
    /// It would be made of bytes, and is no bytes (3144).
    refused: bool,
}

/// A plan, and what is known of the file that it reads.
struct Planned {
    plan: Plan,
    fields: Vec<Field>,
    /// What the file is in.
    file: Charset,
}

impl AsRef<Plan> for Planned {
    fn as_ref(&self) -> &Plan {
        &self.plan
    }
}

impl ClientSession {
    /// LOAD DATA.
    pub(crate) fn load_data(&mut self, load: &LoadData<'_>, sql: &[u8], sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        if load.xml {
            return Err(codes::not_supported_yet("LOAD XML").into());
        }
        if load.local {
            let allowed = self.shared().number(variable!("local_infile")) == 1;
            if !allowed || !sink.capabilities().contains(Capabilities::LOCAL_FILES) {
                return Err(codes::client_local_files_disabled().into());
            }
        } else {
            // Not 1227, as where a file is written.
            self.core.require_file().map_err(|_| self.core.access_denied())?;
        }
        if !load.partitions.is_empty() {
            return Err(SqlError::with_message(1747, "PARTITION () clause on non partitioned table").into());
        }
        let format = Format::new(&load.format)?;
        if format.is_beyond_ascii() {
            self.core.warn(SqlError::with_message(1638, "Non-ASCII separator arguments are not fully supported").into());
        }
        // The client's file cannot be asked for twice: its rows that do not go in are left out.
        let ignore = load.on_duplicate == LoadDuplicates::Ignore || (load.local && load.on_duplicate == LoadDuplicates::Default);
        let Planned { plan, fields, file } = self.plan_and_enter(
            |_| Some(admission::Work::Long),
            |session, tries| {
                let plan = session.plan_load(load, sql, ignore)?;
                session.core.check_accesses(&plan.accesses)?;
                let file = session.charset_of_file(load, tries)?;
                Ok(Planned { fields: fields_of(&plan, &format, file)?, plan, file })
            },
        )?;

        let source = if load.local {
            protocol::reply::write_infile_request(load.file, sink.packets());
            sink.flush().map_err(|_| codes::query_interrupted())?;
            Source::Client(sink)
        } else {
            Source::Disk(self.open_file(load.file)?)
        };
        let widths = fields.iter().map(|field| field.width).collect();
        let mut lines = Lines::new(Input::new(source), format, fields.len(), widths);
        lines.skip_lines(load.ignore_lines);
        let mut lines = FileLines { lines, fields: &fields, file, name: load.file };
        let result = self.run_entered(|_, engine, core, scratch| executor::execute_load(&plan, engine, core, scratch, &mut lines));
        let FileLines { mut lines, .. } = lines;
        lines.input.finish();
        let gone = lines.input.failure();
        drop(lines);
        let changes = result.map_err(|error| self.failed_run(error))?;
        if let Some(failure) = gone {
            return Err(self.failed_run(failed(failure, load.file)));
        }
        if let Some(id) = changes.generated_id {
            self.core.note_generated(id);
        }
        self.engine.handler_counts().add(HandlerCall::Write, changes.records);
        self.statement_done()?;
        let warnings = self.core.diagnostics.warning_count();
        let skipped = changes.records.saturating_sub(changes.affected - changes.deleted);
        let info = format!("Records: {}  Deleted: {}  Skipped: {skipped}  Warnings: {warnings}", changes.records, changes.deleted);
        self.core.row_count = changes.affected as i64;
        let session_state = self.session_state();
        let ok = OkReply {
            affected_rows: changes.affected,
            last_insert_id: changes.generated_id.or(changes.row_id).unwrap_or(0),
            status: self.server_status(),
            warnings,
            info: info.as_bytes(),
            session_state: &session_state,
        };
        sink.ok(&ok);
        Ok(())
    }

    /// The plan. What lines are read into is text, whatever it was before.
    fn plan_load(&mut self, load: &LoadData<'_>, sql: &[u8], ignore: bool) -> Result<Plan, SqlError> {
        let mut before = Vec::new();
        for target in load.columns {
            if let LoadTarget::User(name) = target {
                let name: Box<str> = name.to_lowercase().into();
                let text = UserVariable { value: Value::from(""), collation: self.core.settings.collation };
                before.push((name.clone(), self.core.user_variables.insert(name, text)));
            }
        }
        let give_back = |session: &mut ClientSession, before: Vec<(Box<str>, Option<UserVariable>)>| {
            for (name, value) in before.into_iter().rev() {
                match value {
                    Some(value) => session.core.user_variables.insert(name, value),
                    None => session.core.user_variables.remove(&name),
                };
            }
        };
        self.lending(before, give_back, |session| {
            let planning = Planning { core: &session.core, engine: &session.engine, params: &[], param_types: &[] };
            planner::plan_load(load, sql, ignore, &planning)
        })
    }

    /// The file on the server's disk.
    fn open_file(&self, name: &[u8]) -> Result<std::fs::File, SqlError> {
        let path = self.core.secure_path(name, false)?;
        let shown = path.to_string_lossy();
        outside::open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => no_stat(&shown, &error),
            io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput => codes::textfile_not_readable(&shown),
            _ => not_found(&shown, &error),
        })
    }

    /// What the file is in. What is to be said of that is said at the first of the statement's tries.
    fn charset_of_file(&mut self, load: &LoadData<'_>, tries: usize) -> Result<Charset, SqlError> {
        Ok(match load.charset {
            Some(name) => {
                let charset = Charset::from_name(name).ok_or_else(|| codes::unknown_character_set(name))?;
                if let Some(warning) = planner::charsets::of_charset(name).filter(|_| tries == 0) {
                    self.core.warn(warning.into());
                }
                charset
            }
            None => match self.core.variables.get(variable!("character_set_database")) {
                Value::Bytes(name) => Charset::from_name(&name.to_text()).unwrap_or(Charset::Utf8mb4),
                _ => Charset::Utf8mb4,
            },
        })
    }
}

/// What is known of the fields, one by one: bytes stay bytes, and a file of bytes is in what its columns are.
fn fields_of(plan: &Plan, format: &Format, file: Charset) -> Result<Vec<Field>, SqlError> {
    let Body::Insert(insert) = &plan.body else { return Ok(Vec::new()) };
    let InsertSource::External(into) = &insert.source else { return Ok(Vec::new()) };
    let def = &plan.tables[insert.table as usize].def;
    let mut fields = Vec::with_capacity(into.fields.len());
    for field in &into.fields {
        let LoadField::Column(at) = field else {
            if format.is_fixed() {
                return Err(SqlError::with_message(1409, "Can't load value from file with fixed size rows to variable"));
            }
            fields.push(Field { charset: file, width: 0, refused: false });
            continue;
        };
        let ty = &def.columns[*at as usize].ty;
        if format.is_fixed() && ty.kind.is_blob() && ty.bytes_max() > 65_535 {
            return Err(codes::blobs_and_no_terminated());
        }
        let own = ty.collation.charset();
        let charset = match (ty.is_character(), file) {
            (false, _) => Charset::Binary,
            (true, Charset::Binary) => own,
            (true, file) => file,
        };
        fields.push(Field { charset, width: width_read(ty, own), refused: file == Charset::Binary && ty.kind == TypeKind::Json });
    }
    Ok(fields)
}

/// The lines as the executor takes them.
struct FileLines<'f, 'a, 's> {
    lines: Lines<'a, 's>,
    fields: &'f [Field],
    file: Charset,
    name: &'f [u8],
}

impl LoadLines for FileLines<'_, '_, '_> {
    fn next(&mut self) -> executor::Result<bool> {
        if self.lines.next().is_some() {
            return Ok(true);
        }
        self.lines.input.failure().map_or(Ok(false), |failure| Err(failed(failure, self.name)))
    }

    fn is_whole(&self) -> bool {
        let line = self.lines.line();
        line.len() == self.fields.len() && !line.has_more
    }

    #[inline]
    fn text(&self, field: usize) -> LoadText<'_> {
        match self.lines.line().field(field) {
            None => LoadText::Null,
            Some(_) if self.fields[field].refused => LoadText::Other,
            // The same in every character set that a file may be in.
            Some(text) if text.is_ascii() || self.file == Charset::Utf8mb4 && std::str::from_utf8(text).is_ok() => LoadText::Text(text),
            Some(_) => LoadText::Other,
        }
    }

    fn row(&self) -> executor::Result<LoadRow> {
        row_of(self.lines.line(), self.fields, self.file)
    }
}

/// A line as values.
fn row_of(line: &Line, fields: &[Field], file: Charset) -> executor::Result<LoadRow> {
    let mut values = Vec::with_capacity(fields.len());
    for (text, known) in line.fields().zip(fields) {
        values.push(match text {
            Some(text) => {
                refuse_foreign(text, file)?;
                if known.refused {
                    return Err(codes::invalid_json_charset(file.name()).into());
                }
                text_of(text, known.charset)
            }
            None => Value::Null,
        });
    }
    Ok(LoadRow { fields: values, has_more: line.has_more })
}

/// 1300 for a byte that no character of the file begins with, whatever the column is.
fn refuse_foreign(text: &[u8], file: Charset) -> Result<(), SqlError> {
    let longest = match file {
        Charset::Utf8mb4 => 0xF4,
        Charset::Utf8mb3 => 0xEF,
        _ => return Ok(()),
    };
    let mut at = 0;
    while let Some(bad) = std::str::from_utf8(&text[at..]).err().map(|error| at + error.valid_up_to()) {
        if !(0xC2..=longest).contains(&text[bad]) {
            let before = String::from_utf8_lossy(&text[..bad]);
            return Err(codes::invalid_character_string(file.name(), before));
        }
        // It begins one that does not go on: a byte by itself.
        at = bad + 1;
    }
    Ok(())
}

/// What a failure to read is told as.
fn failed(failure: Failure, name: &[u8]) -> executor::Error {
    match failure {
        Failure::Gone(ClientGone::NoMemory) => codes::out_of_resources().into(),
        Failure::Gone(ClientGone::PacketTooLarge) => codes::net_packet_too_large().into(),
        Failure::Gone(ClientGone::Protocol) => codes::net_packets_out_of_order().into(),
        Failure::Gone(ClientGone::Disconnected) => codes::query_interrupted().into(),
        Failure::Starved(excess) => excess.into(),
        Failure::Io(error) => not_read(&String::from_utf8_lossy(name), &error).into(),
    }
}

/// A field as the server holds it.
fn text_of(field: &[u8], charset: Charset) -> Value {
    if charset.is_utf8_bytes() { Value::bytes(field) } else { Value::bytes(&*charset.decode_lossy(field)) }
}
