//! Rows as the lines of a file: SELECT … INTO OUTFILE and DUMPFILE.
//!
//! # Invariants
//! 1. What is written can be read by LOAD DATA with the same FIELDS and LINES, wherever the format can tell values apart at all.

use super::format::{Format, width_written};
use crate::reply::charsets::conversion;
use memory::Excess;
use planner::plan::OutputColumn;
use protocol::{IntBytes, RowWriter};
use types::{Charset, Date, DateTime, Time, TypeKind};

/// What is known of a column.
pub(super) struct Column {
    /// It is enclosed, and what would end it is escaped.
    is_string: bool,
    /// What its text is put into, where that is not UTF-8.
    charset: Option<Charset>,
    /// Its bytes where nothing stands between fields.
    width: usize,
}

/// How rows are written.
pub(super) struct Writing {
    format: Format,
    /// DUMPFILE: values as they are.
    raw: bool,
    columns: Vec<Column>,
    /// What is written before a byte of a string.
    before: [Option<u8>; 256],
    /// The same of numbers.
    before_in_numbers: [Option<u8>; 256],
}

/// Escapes that mean something else than the character behind the escape character.
const MEANINGFUL: &[u8] = b"ntrb0ZN";
/// What numbers are made of.
const NUMERIC: &[u8] = b".0123456789e+-";

/// Whether a separator that begins so may look like a part of a value.
fn is_ambiguous(first: u8) -> bool {
    MEANINGFUL.contains(&first) || NUMERIC.contains(&first)
}

impl Writing {
    /// Lines of a format, or values as they are. `charset` is what the statement says text is put into.
    pub fn new(format: Option<Format>, columns: &[OutputColumn], charset: Option<Charset>) -> Writing {
        let raw = format.is_none();
        let format = format.unwrap_or(Format {
            field_end: Vec::new(),
            enclosed: None,
            optionally: false,
            escape: None,
            line_start: Vec::new(),
            line_end: Vec::new(),
        });
        let columns = columns
            .iter()
            .map(|column| {
                let ty = &column.ty;
                let own = charset.filter(|charset| *charset != Charset::Binary).unwrap_or(ty.collation.charset());
                Column {
                    is_string: ty.kind == TypeKind::Bit || !(ty.kind.is_numeric() || ty.kind == TypeKind::Year),
                    charset: conversion(ty, charset.filter(|charset| *charset != Charset::Binary)),
                    width: width_written(ty, own),
                }
            })
            .collect();
        // What stands before a byte: the escape character; a quote that would mean something else behind it is doubled.
        let mut before = [None; 256];
        let mut before_in_numbers = [None; 256];
        if let Some(escape) = format.escape {
            before[0] = Some(escape);
            before[usize::from(escape)] = Some(escape);
            if let Some(end) = format.line_end.first() {
                before[usize::from(*end)] = Some(escape);
            }
            match (format.enclosed, format.field_end.first()) {
                (Some(quote), _) => {
                    let with = if MEANINGFUL.contains(&quote) { quote } else { escape };
                    before[usize::from(quote)] = Some(with);
                    before_in_numbers[usize::from(quote)] = Some(with).filter(|_| !format.optionally && NUMERIC.contains(&quote));
                }
                (None, Some(end)) if !is_ambiguous(*end) => before[usize::from(*end)] = Some(escape),
                _ => {}
            }
        }
        Writing { format, raw, columns, before, before_in_numbers }
    }

    /// Whether what ends a field may look like a part of it.
    pub fn is_ambiguous(&self) -> bool {
        let always_enclosed = self.format.enclosed.is_some() && !self.format.optionally;
        !always_enclosed && self.format.field_end.first().is_some_and(|first| is_ambiguous(*first))
    }

    /// Opens a row.
    pub fn begin<'w>(&'w self, buffers: &'w mut Buffers) -> FileRow<'w> {
        buffers.row += 1;
        buffers.out.extend_from_slice(&self.format.line_start);
        FileRow { writing: self, buffers, no: 0 }
    }
}

/// What is being written.
#[derive(Default)]
pub(super) struct Buffers {
    /// Lines not yet in the file.
    pub out: Vec<u8>,
    field: Vec<u8>,
    row: u64,
    /// There was no memory for a value: the row that is being written is not whole.
    pub starved: Option<Excess>,
    /// Values that the file's character set has not all of, as many as a statement may warn of: column, row, what is missing.
    pub lossy: Vec<(usize, u64, String)>,
}

impl Buffers {
    /// Room for a value of so many bytes, in a field of at least `width`, with all that may stand around it.
    fn make_room(&mut self, bytes: usize, width: usize, format: &Format) -> Result<(), Excess> {
        let around = 2 + format.field_end.len() + format.line_end.len() + format.line_start.len();
        // Each byte may be escaped.
        memory::reserve(&mut self.out, bytes.saturating_mul(2).saturating_add(width).saturating_add(around))
    }
}

/// `max_error_count`.
const LOSSY_MAX: usize = 1024;

/// Bytes as a warning shows them.
fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes.iter().take(6) {
        match byte {
            b' '..=b'~' => text.push(char::from(*byte)),
            other => text.push_str(&format!("\\x{other:02X}")),
        }
    }
    if bytes.len() > 6 { text + "..." } else { text }
}

/// A row that is being written.
pub(super) struct FileRow<'w> {
    writing: &'w Writing,
    buffers: &'w mut Buffers,
    no: usize,
}

impl FileRow<'_> {
    fn separate(&mut self) {
        if self.no > 0 {
            self.buffers.out.extend_from_slice(&self.writing.format.field_end);
        }
        self.no += 1;
    }

    /// Notes what a character set has not of a value.
    fn note_lossy(&mut self, charset: Charset, value: &[u8]) {
        let held = charset.valid_prefix_bytes(value);
        if held < value.len() && self.buffers.lossy.len() < LOSSY_MAX {
            self.buffers.lossy.push((self.no, self.buffers.row, shown(&value[held..])));
        }
    }

    /// A value of up to `bytes_max` bytes, whose text `write` appends.
    fn value_within(&mut self, bytes_max: usize, write: impl FnOnce(&mut Vec<u8>)) {
        self.buffers.field.clear();
        match memory::reserve(&mut self.buffers.field, bytes_max) {
            Ok(()) => self.value(write),
            Err(excess) => self.buffers.starved = Some(excess),
        }
    }

    /// A value whose text `write` appends: a short one, or one that there is room for.
    fn value(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let column = self.writing.columns.get(self.no);
        let format = &self.writing.format;
        self.buffers.field.clear();
        write(&mut self.buffers.field);
        let width = if format.is_fixed() && !self.writing.raw { column.map_or(0, |column| column.width) } else { 0 };
        if let Err(excess) = self.buffers.make_room(self.buffers.field.len(), width, format) {
            self.buffers.starved = Some(excess);
            return;
        }
        self.separate();
        if self.writing.raw {
            self.buffers.out.extend_from_slice(&self.buffers.field);
            return;
        }
        let is_string = column.is_some_and(|column| column.is_string);
        let quote = format.enclosed.filter(|_| is_string || !format.optionally);
        self.buffers.out.extend(quote);
        let before = if is_string { &self.writing.before } else { &self.writing.before_in_numbers };
        let Buffers { out, field, .. } = &mut *self.buffers;
        for byte in field.iter() {
            out.extend(before[usize::from(*byte)]);
            out.push(if *byte == 0 && before[0].is_some() { b'0' } else { *byte });
        }
        self.buffers.out.extend(quote);
        if format.is_fixed() {
            // As wide as the value is, without what was put before its bytes.
            self.buffers.out.resize(self.buffers.out.len() + width.saturating_sub(self.buffers.field.len()), b' ');
        }
    }
}

impl RowWriter for FileRow<'_> {
    fn null(&mut self) {
        let column = self.writing.columns.get(self.no);
        let format = &self.writing.format;
        let width = if format.is_fixed() && !self.writing.raw { column.map_or(0, |column| column.width) } else { 0 };
        if let Err(excess) = self.buffers.make_room(0, width, format) {
            self.buffers.starved = Some(excess);
            return;
        }
        self.separate();
        if self.writing.raw {
            self.buffers.out.push(0);
        } else if format.is_fixed() {
            self.buffers.out.resize(self.buffers.out.len() + column.map_or(0, |column| column.width), b' ');
        } else if let Some(escape) = format.escape {
            self.buffers.out.extend_from_slice(&[escape, b'N']);
        } else {
            self.buffers.out.extend_from_slice(b"NULL");
        }
    }

    fn int(&mut self, value: i64, _: IntBytes) {
        self.value(|out| types::write_i64(value, out));
    }

    fn uint(&mut self, value: u64, _: IntBytes) {
        self.value(|out| types::write_u64(value, out));
    }

    fn zerofill(&mut self, value: u64, _: IntBytes, digits: u8) {
        self.value(|out| types::write_padded(value, digits, out));
    }

    fn float(&mut self, value: f32, decimals: u8) {
        self.value(|out| types::write_float(value, decimals, out));
    }

    fn double(&mut self, value: f64, decimals: u8) {
        self.value(|out| types::write_double(value, decimals, out));
    }

    fn zerofill_float(&mut self, value: f32, ty: &types::ColumnType) {
        self.value(|out| protocol::filled(ty, |out| types::write_float(value, ty.decimals, out), out));
    }

    fn zerofill_double(&mut self, value: f64, ty: &types::ColumnType) {
        self.value(|out| protocol::filled(ty, |out| types::write_double(value, ty.decimals, out), out));
    }

    fn bytes(&mut self, value: &[u8]) {
        let charset = self.writing.columns.get(self.no).and_then(|column| column.charset);
        match charset {
            Some(charset) if !value.is_ascii() => {
                self.note_lossy(charset, value);
                // What is no character becomes one byte for each.
                self.value_within(value.len(), |out| charset.encode(value, out));
            }
            _ => self.value_within(value.len(), |out| out.extend_from_slice(value)),
        }
    }

    fn bytes_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let charset = self.writing.columns.get(self.no).and_then(|column| column.charset);
        match charset {
            Some(_) => {
                let mut text = Vec::new();
                write(&mut text);
                self.bytes(&text);
            }
            None => self.value(write),
        }
    }

    fn date(&mut self, value: Date) {
        self.value(|out| value.write_to(out));
    }

    fn datetime(&mut self, value: DateTime, decimals: u8) {
        self.value(|out| value.write_to(decimals, out));
    }

    fn time(&mut self, value: Time, decimals: u8) {
        self.value(|out| value.write_to(decimals, out));
    }

    fn end(self) {
        self.buffers.out.extend_from_slice(&self.writing.format.line_end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::ColumnType;

    fn format(field_end: &[u8]) -> Format {
        Format {
            field_end: field_end.to_vec(),
            enclosed: None,
            optionally: false,
            escape: Some(b'\\'),
            line_start: Vec::new(),
            line_end: b"\n".to_vec(),
        }
    }

    fn column() -> OutputColumn {
        OutputColumn { name: "c".into(), ty: ColumnType::new(TypeKind::LongBlob), ..OutputColumn::default() }
    }

    /// A value that there is no memory for fails its row, whichever buffer it is that cannot grow: that of the field, or that of the lines, where it may take twice as much.
    #[test]
    fn a_value_past_the_memory_of_the_statement_is_told() {
        const MIB: usize = 1 << 20;
        for (format, bytes, limit, fits) in [
            (Some(format(b",")), MIB, 8 * MIB, true),
            (Some(format(b",")), MIB, MIB / 2, false),
            (Some(format(b",")), MIB, 3 * MIB / 2, false),
            (None, MIB, 8 * MIB, true),
            (None, MIB, MIB / 2, false),
        ] {
            let writing = Writing::new(format, &[column()], None);
            let mut buffers = Buffers::default();
            let value = vec![0; bytes];
            memory::begin_statement(limit as u64);
            let mut row = writing.begin(&mut buffers);
            row.bytes(&value);
            row.end();
            memory::begin_statement(u64::MAX);
            assert_eq!(buffers.starved.is_none(), fits, "{bytes} bytes within {limit}");
            assert_eq!(buffers.out.len() >= bytes, fits);
            assert!(fits || buffers.out.capacity() < bytes, "{} bytes were taken", buffers.out.capacity());
        }
    }
}
