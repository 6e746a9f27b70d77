//! LOAD DATA [LOCAL] INFILE: the file's lines as rows of an INSERT.

use crate::client_session::ClientSession;
use crate::context::Planning;
use crate::error_map::{Outcome, executor_error};
use crate::lock_tables::share_of;
use crate::temporary::Changed;
use crate::variables::find;
use executor::StatementContext;
use memory::Excess;
use mysql_error::{SqlError, codes};
use parser::ast::{LoadData, LoadDuplicates, LoadTarget};
use protocol::{Capabilities, ClientGone, OkReply, ResultSink};
use types::{Charset, Value};

/// FIELDS and LINES with MySQL's defaults filled in.
struct Format {
    field_end: Vec<u8>,
    enclosed: Option<u8>,
    escape: Option<u8>,
    line_start: Vec<u8>,
    line_end: Vec<u8>,
}

impl Format {
    fn new(load: &LoadData<'_>) -> Result<Format, SqlError> {
        let one = |text: Option<&[u8]>, default: Option<u8>| match text {
            None => Ok(default),
            Some([]) => Ok(None),
            Some([byte]) => Ok(Some(*byte)),
            Some(_) => Err(codes::wrong_field_terminators()),
        };
        let format = &load.format;
        Ok(Format {
            field_end: format.fields_terminated.unwrap_or(b"\t").to_vec(),
            enclosed: one(format.enclosed, None)?,
            escape: one(format.escaped, Some(b'\\'))?,
            line_start: format.lines_starting.unwrap_or(b"").to_vec(),
            line_end: format.lines_terminated.unwrap_or(b"\n").to_vec(),
        })
    }
}

/// Where the bytes come from: packets of the client.
struct Upload<'a, 's> {
    sink: &'a mut ResultSink<'s>,
    buffer: Vec<u8>,
    at: usize,
    ended: bool,
    gone: Option<ClientGone>,
    /// There was no memory for a line: nothing more is read from here.
    starved: Option<Excess>,
}

impl Upload<'_, '_> {
    /// Reads more bytes; false at the end of the file.
    fn fill(&mut self) -> bool {
        if self.ended || self.starved.is_some() {
            return false;
        }
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        let (_, client) = self.sink.client();
        match client.read_packet() {
            Ok([]) => self.ended = true,
            Ok(bytes) => match memory::reserve(&mut self.buffer, bytes.len()) {
                Ok(()) => self.buffer.extend_from_slice(bytes),
                Err(excess) => self.starved = Some(excess),
            },
            Err(gone) => {
                self.gone = Some(gone);
                self.ended = true;
            }
        }
        !self.ended && self.starved.is_none()
    }

    /// Reads the rest of the upload away, so that the connection can go on after an error.
    fn drain(&mut self) {
        self.buffer = Vec::new();
        while !self.ended {
            match self.sink.client().1.read_packet() {
                Ok([]) => self.ended = true,
                Ok(_) => {}
                Err(gone) => {
                    self.gone = Some(gone);
                    self.ended = true;
                }
            }
        }
    }

    /// Appends to a field.
    fn push(&mut self, field: &mut Vec<u8>, byte: u8) {
        match memory::reserve(field, 1) {
            Ok(()) => field.push(byte),
            Err(excess) => self.starved = Some(excess),
        }
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.at..]
    }
}

/// One line's fields; `None` is NULL (`\N`, or the bare word NULL where fields may be enclosed).
type Fields = Vec<Option<Vec<u8>>>;

/// Reads the next line into fields. `None` at the end of the file.
fn read_line(upload: &mut Upload<'_, '_>, format: &Format) -> Option<Fields> {
    if !skip_line_start(upload, format) {
        return None;
    }
    let mut fields = Fields::new();
    let mut any = false;
    loop {
        let (field, end) = read_field(upload, format);
        any |= field.as_ref().is_none_or(|f| !f.is_empty()) || end != FieldEnd::File;
        if end != FieldEnd::File || any {
            fields.push(field);
        }
        match end {
            FieldEnd::Field => {}
            FieldEnd::Line => return Some(fields),
            FieldEnd::File => return any.then_some(fields),
        }
    }
}

/// Skips to behind LINES STARTING BY; false when it does not come any more.
fn skip_line_start(upload: &mut Upload<'_, '_>, format: &Format) -> bool {
    if format.line_start.is_empty() {
        return true;
    }
    loop {
        if let Some(at) = find_bytes(upload.rest(), &format.line_start) {
            upload.at += at + format.line_start.len();
            return true;
        }
        if !upload.fill() {
            return false;
        }
    }
}

fn find_bytes(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum FieldEnd {
    Field,
    Line,
    File,
}

/// Whether the unread bytes start with `wanted`, reading more where they are too few to tell.
fn starts_with(upload: &mut Upload<'_, '_>, wanted: &[u8]) -> bool {
    if wanted.is_empty() {
        return false;
    }
    while upload.rest().len() < wanted.len() && wanted.starts_with(upload.rest()) {
        if !upload.fill() {
            return false;
        }
    }
    upload.rest().starts_with(wanted)
}

fn next_byte(upload: &mut Upload<'_, '_>) -> Option<u8> {
    if upload.starved.is_some() {
        return None;
    }
    while upload.rest().is_empty() {
        if !upload.fill() {
            return None;
        }
    }
    let byte = upload.buffer[upload.at];
    upload.at += 1;
    Some(byte)
}

fn read_field(upload: &mut Upload<'_, '_>, format: &Format) -> (Option<Vec<u8>>, FieldEnd) {
    let mut field = Vec::new();
    let enclosed = format.enclosed.is_some_and(|quote| {
        let starts = starts_with(upload, &[quote]);
        upload.at += usize::from(starts);
        starts
    });
    let mut null = false;
    let mut inside = enclosed;
    loop {
        if !inside {
            if starts_with(upload, &format.field_end) {
                upload.at += format.field_end.len();
                return (finish(field, null, enclosed, format), FieldEnd::Field);
            }
            if starts_with(upload, &format.line_end) {
                upload.at += format.line_end.len();
                return (finish(field, null, enclosed, format), FieldEnd::Line);
            }
        }
        let Some(byte) = next_byte(upload) else { return (finish(field, null, enclosed, format), FieldEnd::File) };
        if Some(byte) == format.escape {
            match next_byte(upload) {
                None => upload.push(&mut field, byte),
                Some(b'N') if field.is_empty() && !enclosed => null = true,
                Some(b'0') => upload.push(&mut field, 0),
                Some(b'b') => upload.push(&mut field, 8),
                Some(b'n') => upload.push(&mut field, b'\n'),
                Some(b'r') => upload.push(&mut field, b'\r'),
                Some(b't') => upload.push(&mut field, b'\t'),
                Some(b'Z') => upload.push(&mut field, 26),
                Some(other) => upload.push(&mut field, other),
            }
            continue;
        }
        if inside && Some(byte) == format.enclosed {
            // A doubled quote is a quote; otherwise the enclosed part ends here.
            if starts_with(upload, &[byte]) {
                upload.at += 1;
                upload.push(&mut field, byte);
            } else {
                inside = false;
            }
            continue;
        }
        upload.push(&mut field, byte);
    }
}

fn finish(field: Vec<u8>, null: bool, enclosed: bool, format: &Format) -> Option<Vec<u8>> {
    let is_word = format.enclosed.is_some() && !enclosed && field == b"NULL";
    if (null && field.is_empty()) || is_word { None } else { Some(field) }
}

impl ClientSession {
    /// LOAD DATA.
    pub(crate) fn load_data(&mut self, load: &LoadData<'_>, _sql: &[u8], sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        if load.xml || !load.partitions.is_empty() || !load.set.is_empty() {
            return Err(codes::not_supported_yet("this form of LOAD DATA").into());
        }
        if !load.local {
            return Err(codes::not_supported_yet("LOAD DATA without LOCAL").into());
        }
        let allowed = find("local_infile").is_some_and(|d| self.shared().variables.get(d) == Value::Int(1));
        if !allowed || !sink.capabilities().contains(Capabilities::LOCAL_FILES) {
            return Err(SqlError::with_message(
                3948,
                "Loading local data is disabled; this must be enabled on both the client and server sides",
            )
            .into());
        }
        let format = Format::new(load)?;
        let mut columns = Vec::new();
        for target in load.columns {
            match target {
                LoadTarget::Column(name) => columns.push(*name),
                LoadTarget::User(_) => return Err(codes::not_supported_yet("LOAD DATA into user variables").into()),
            }
        }
        let ignore = load.on_duplicate != LoadDuplicates::Replace;
        let replace = load.on_duplicate == LoadDuplicates::Replace;
        let planning = Planning { core: &self.core, engine: &self.engine, params: &[], param_types: &[] };
        let plan = planner::plan_load(&load.table, &columns, replace, ignore, &planning)?;
        self.core.check_accesses(&plan.accesses)?;
        let charsets = self.load_charsets(load, &columns, &plan.tables[0].def)?;
        let width = if columns.is_empty() {
            plan.tables[0].def.columns.iter().filter(|c| c.visibility == catalog::Visibility::Visible).count()
        } else {
            columns.len()
        };
        if self.transaction.restricted {
            self.check_restrictions(&plan)?;
        }
        match Changed::by(&plan) {
            Changed::Temporary => self.begin_temporary_change(),
            _ => self.announce(lock_manager::WaitsFor::GlobalReadLock)?,
        }
        self.ensure_transaction();
        self.admit_work(admission::Work::Long)?;
        for (no, table) in plan.tables.iter().enumerate() {
            self.use_table(table, share_of(&plan, no))?;
        }
        self.use_views(&plan)?;
        self.engine.statement_start();

        protocol::reply::write_infile_request(load.file, sink.packets());
        sink.flush().map_err(|_| codes::query_interrupted())?;
        let mut upload = Upload { sink, buffer: Vec::new(), at: 0, ended: false, gone: None, starved: None };
        for _ in 0..load.ignore_lines {
            if read_line(&mut upload, &format).is_none() {
                break;
            }
        }
        let result = executor::execute_load(&plan, &mut self.engine, &mut self.core, &mut self.scratch, &mut || {
            let fields = read_line(&mut upload, &format);
            match upload.starved {
                Some(excess) => Err(excess.into()),
                None => Ok(fields.map(|fields| row_values(fields, width, &charsets))),
            }
        });
        upload.drain();
        let gone = upload.gone;
        let sequence = sink.client().1.reply_sequence();
        sink.packets().set_sequence(sequence);
        let changes = result.map_err(|error| executor_error(error, || self.core.stop_error()))?;
        match gone {
            None => {}
            Some(ClientGone::NoMemory) => return Err(codes::out_of_resources().into()),
            Some(_) => return Err(codes::query_interrupted().into()),
        }
        self.statement_done()?;
        let warnings = self.core.diagnostics.warning_count();
        let skipped = changes.records.saturating_sub(changes.affected);
        let info = format!("Records: {}  Deleted: {}  Skipped: {skipped}  Warnings: {warnings}", changes.records, changes.deleted);
        self.core.row_count = changes.affected as i64;
        let ok = OkReply {
            affected_rows: changes.affected,
            status: self.server_status(),
            warnings,
            info: info.as_bytes(),
            ..OkReply::default()
        };
        sink.ok(&ok);
        Ok(())
    }
}

/// The fields of a line as values of `width` columns: what is missing is NULL, what is too much is left out.
fn row_values(fields: Fields, width: usize, charsets: &[Charset]) -> Vec<Value> {
    let fields = fields.into_iter().take(width).zip(charsets);
    let mut values: Vec<Value> = fields.map(|(field, charset)| field.map_or(Value::Null, |text| text_of(text, *charset))).collect();
    values.resize(width, Value::Null);
    values
}

/// A field as the server holds it.
fn text_of(field: Vec<u8>, charset: Charset) -> Value {
    if charset.is_utf8_bytes() { Value::bytes(field) } else { Value::bytes(&*charset.decode_lossy(&field)) }
}

impl ClientSession {
    /// What the file's fields are in, column by column: bytes stay bytes, and a file of bytes is in what its columns are.
    fn load_charsets(&mut self, load: &LoadData<'_>, columns: &[&str], def: &catalog::TableDef) -> Result<Vec<Charset>, SqlError> {
        let file = match load.charset {
            Some(name) => {
                let charset = Charset::from_name(name).ok_or_else(|| codes::unknown_character_set(name))?;
                if let Some(warning) = planner::charsets::of_charset(name) {
                    self.core.warn(warning.into());
                }
                charset
            }
            None => match find("character_set_database").map(|definition| self.core.variables.get(definition)) {
                Some(Value::Bytes(name)) => Charset::from_name(&name.to_text()).unwrap_or(Charset::Utf8mb4),
                _ => Charset::Utf8mb4,
            },
        };
        let of = |column: &catalog::ColumnDef| {
            let own = column.ty.collation.charset();
            match (column.ty.is_character(), file) {
                (false, _) => Charset::Binary,
                (true, Charset::Binary) => own,
                (true, file) => file,
            }
        };
        let visible = || def.columns.iter().filter(|c| c.visibility == catalog::Visibility::Visible);
        Ok(match columns {
            [] => visible().map(of).collect(),
            names => names.iter().map(|name| def.column_index(name).map_or(Charset::Binary, |at| of(&def.columns[at]))).collect(),
        })
    }
}
