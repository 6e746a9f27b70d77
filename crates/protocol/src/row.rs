//! Rows of a result, text or binary, written from raw values straight into the send buffer.
//!
//! A statement is compiled over [`RowWriter`] (static dispatch), so there is no call through a table per column.
//! Columns are written in order, each exactly once; [`RowWriter::end`] closes the packet.

use crate::codec::{put_lenenc_bytes, put_lenenc_int};
use crate::rows::TEXT_WINDOW;
use crate::writer::PacketWriter;
use types::{ColumnType, Date, DateTime, Time};

/// Bytes of an integer column in a binary row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntBytes {
    /// TINYINT.
    One,
    /// SMALLINT, YEAR.
    Two,
    /// MEDIUMINT, INT.
    Four,
    /// BIGINT.
    Eight,
}

/// Writes one row; see the module's text.
pub trait RowWriter {
    /// NULL.
    fn null(&mut self);
    /// A signed integer of a column that has `width` bytes on the wire.
    fn int(&mut self, value: i64, width: IntBytes);
    /// An unsigned integer of a column that has `width` bytes on the wire.
    fn uint(&mut self, value: u64, width: IntBytes);
    /// An integer of a ZEROFILL column, padded to `digits` in text.
    fn zerofill(&mut self, value: u64, width: IntBytes, digits: u8);
    /// FLOAT with `decimals` fixed digits, or [`types::DECIMALS_NOT_FIXED`].
    fn float(&mut self, value: f32, decimals: u8);
    /// DOUBLE with `decimals` fixed digits, or [`types::DECIMALS_NOT_FIXED`].
    fn double(&mut self, value: f64, decimals: u8);
    /// FLOAT of a ZEROFILL column of type `ty`: its text is filled up.
    fn zerofill_float(&mut self, value: f32, ty: &ColumnType) {
        self.float(value, ty.decimals);
    }
    /// DOUBLE of a ZEROFILL column of type `ty`: its text is filled up.
    fn zerofill_double(&mut self, value: f64, ty: &ColumnType) {
        self.double(value, ty.decimals);
    }
    /// A string of bytes: every character, binary, BIT, ENUM, SET and JSON type, and DECIMAL that is already text.
    fn bytes(&mut self, value: &[u8]);
    /// A string of bytes that `write` appends, for values that are formatted in place (DECIMAL).
    fn bytes_with(&mut self, write: impl FnOnce(&mut Vec<u8>))
    where
        Self: Sized;
    /// A string of bytes that begins a window of others, for those who can copy all of it sooner than its part.
    #[inline]
    fn short_bytes(&mut self, window: &[u8; TEXT_WINDOW], length: usize) {
        self.bytes(&window[..length.min(TEXT_WINDOW)]);
    }
    /// DECIMAL as a whole number and how many of its digits are behind the point. False, and nothing is written, where that must be formatted by the caller.
    #[inline]
    fn decimal(&mut self, _unscaled: i64, _scale: u8) -> bool {
        false
    }
    /// DATE.
    fn date(&mut self, value: Date);
    /// DATETIME or TIMESTAMP with `decimals` digits of the fraction.
    fn datetime(&mut self, value: DateTime, decimals: u8);
    /// TIME with `decimals` digits of the fraction.
    fn time(&mut self, value: Time, decimals: u8);
    /// Closes the row.
    fn end(self)
    where
        Self: Sized;
}

/// Appends what `write` appends, with its length before it.
#[inline]
fn put_with_length(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.push(0);
    write(out);
    let length = out.len() - at - 1;
    if length < 251 {
        out[at] = length as u8;
    } else {
        widen_length(out, at, length);
    }
}

#[cold]
fn widen_length(out: &mut Vec<u8>, at: usize, length: usize) {
    let mut prefix = Vec::with_capacity(9);
    put_lenenc_int(&mut prefix, length as u64);
    out.splice(at..=at, prefix);
}

/// What `write` appends, as ZEROFILL shows it.
pub fn filled(ty: &ColumnType, write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    let at = out.len();
    write(out);
    ty.fill_up(at, out);
}

/// A row of the text protocol.
#[derive(Debug)]
pub struct TextRow<'w> {
    out: &'w mut PacketWriter,
}

impl<'w> TextRow<'w> {
    /// Opens a row.
    #[inline]
    pub fn begin(out: &'w mut PacketWriter) -> Self {
        out.begin();
        Self { out }
    }

    #[inline]
    fn with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        put_with_length(self.out.payload(), write);
    }
}

impl RowWriter for TextRow<'_> {
    #[inline]
    fn null(&mut self) {
        self.out.payload().push(0xFB);
    }

    #[inline]
    fn int(&mut self, value: i64, _width: IntBytes) {
        self.with(|out| types::write_i64(value, out));
    }

    #[inline]
    fn uint(&mut self, value: u64, _width: IntBytes) {
        self.with(|out| types::write_u64(value, out));
    }

    fn zerofill(&mut self, value: u64, _width: IntBytes, digits: u8) {
        self.with(|out| types::write_padded(value, digits, out));
    }

    fn float(&mut self, value: f32, decimals: u8) {
        self.with(|out| types::write_float(value, decimals, out));
    }

    fn double(&mut self, value: f64, decimals: u8) {
        self.with(|out| types::write_double(value, decimals, out));
    }

    fn zerofill_float(&mut self, value: f32, ty: &ColumnType) {
        self.with(|out| filled(ty, |out| types::write_float(value, ty.decimals, out), out));
    }

    fn zerofill_double(&mut self, value: f64, ty: &ColumnType) {
        self.with(|out| filled(ty, |out| types::write_double(value, ty.decimals, out), out));
    }

    #[inline]
    fn bytes(&mut self, value: &[u8]) {
        if self.out.room_for_value(value.len()) {
            put_lenenc_bytes(self.out.payload(), value);
        }
    }

    #[inline]
    fn bytes_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.with(write);
    }

    fn date(&mut self, value: Date) {
        self.with(|out| value.write_to(out));
    }

    fn datetime(&mut self, value: DateTime, decimals: u8) {
        self.with(|out| value.write_to(decimals, out));
    }

    fn time(&mut self, value: Time, decimals: u8) {
        self.with(|out| value.write_to(decimals, out));
    }

    #[inline]
    fn end(self) {
        self.out.end_row();
    }
}

/// The NULL bitmap of a binary row starts at bit 2.
pub(crate) const NULL_BITMAP_OFFSET: usize = 2;

/// A row of the binary protocol.
#[derive(Debug)]
pub struct BinaryRow<'w> {
    out: &'w mut PacketWriter,
    /// Where the NULL bitmap begins.
    bitmap: usize,
    column: usize,
    column_count: usize,
}

impl<'w> BinaryRow<'w> {
    /// Opens a row of `column_count` columns.
    #[inline]
    pub fn begin(out: &'w mut PacketWriter, column_count: usize) -> Self {
        // The first byte of a row, and which of its columns are NULL.
        let head_bytes = 1 + (column_count + 7 + NULL_BITMAP_OFFSET) / 8;
        let bitmap = out.begin_with_zeros(head_bytes) + 1;
        Self { out, bitmap, column: 0, column_count }
    }

    #[inline]
    fn next(&mut self) -> &mut Vec<u8> {
        assert!(self.column < self.column_count, "more values than the row's {} columns", self.column_count);
        self.column += 1;
        self.out.payload()
    }

    #[inline]
    fn integer(&mut self, value: u64, width: IntBytes) {
        let bytes = value.to_le_bytes();
        let out = self.next();
        match width {
            IntBytes::One => out.extend_from_slice(&bytes[..1]),
            IntBytes::Two => out.extend_from_slice(&bytes[..2]),
            IntBytes::Four => out.extend_from_slice(&bytes[..4]),
            IntBytes::Eight => out.extend_from_slice(&bytes),
        }
    }
}

impl RowWriter for BinaryRow<'_> {
    #[inline]
    fn null(&mut self) {
        let bit = self.column + NULL_BITMAP_OFFSET;
        let at = self.bitmap + bit / 8;
        self.next()[at] |= 1 << (bit % 8);
    }

    #[inline]
    fn int(&mut self, value: i64, width: IntBytes) {
        self.integer(value as u64, width);
    }

    #[inline]
    fn uint(&mut self, value: u64, width: IntBytes) {
        self.integer(value, width);
    }

    fn zerofill(&mut self, value: u64, width: IntBytes, _digits: u8) {
        self.integer(value, width);
    }

    fn float(&mut self, value: f32, _decimals: u8) {
        self.next().extend_from_slice(&value.to_le_bytes());
    }

    fn double(&mut self, value: f64, _decimals: u8) {
        self.next().extend_from_slice(&value.to_le_bytes());
    }

    #[inline]
    fn bytes(&mut self, value: &[u8]) {
        let fits = self.out.room_for_value(value.len());
        let out = self.next();
        if fits {
            put_lenenc_bytes(out, value);
        }
    }

    #[inline]
    fn bytes_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        put_with_length(self.next(), write);
    }

    fn date(&mut self, value: Date) {
        put_datetime_binary(self.next(), DateTime::from_date(value));
    }

    fn datetime(&mut self, value: DateTime, _decimals: u8) {
        put_datetime_binary(self.next(), value);
    }

    fn time(&mut self, value: Time, _decimals: u8) {
        put_time_binary(self.next(), value);
    }

    #[inline]
    fn end(self) {
        assert_eq!(self.column, self.column_count, "a binary row must have all its columns");
        self.out.end_row();
    }
}

/// Appends a binary DATE, DATETIME or TIMESTAMP: as many fields as are not zero at the end.
pub fn put_datetime_binary(out: &mut Vec<u8>, value: DateTime) {
    let year = value.year().to_le_bytes();
    let date = [year[0], year[1], value.month(), value.day()];
    let time = [value.hour(), value.minute(), value.second()];
    if value.microsecond() != 0 {
        out.push(11);
        out.extend_from_slice(&date);
        out.extend_from_slice(&time);
        out.extend_from_slice(&value.microsecond().to_le_bytes());
    } else if time != [0; 3] {
        out.push(7);
        out.extend_from_slice(&date);
        out.extend_from_slice(&time);
    } else if date != [0; 4] {
        out.push(4);
        out.extend_from_slice(&date);
    } else {
        out.push(0);
    }
}

/// Appends a binary TIME.
pub fn put_time_binary(out: &mut Vec<u8>, value: Time) {
    if value == Time::default() {
        out.push(0);
        return;
    }
    out.push(if value.microsecond() == 0 { 8 } else { 12 });
    out.push(u8::from(value.is_negative()));
    out.extend_from_slice(&(value.hour() / 24).to_le_bytes());
    out.extend_from_slice(&[(value.hour() % 24) as u8, value.minute(), value.second()]);
    if value.microsecond() != 0 {
        out.extend_from_slice(&value.microsecond().to_le_bytes());
    }
}
