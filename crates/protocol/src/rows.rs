//! [`RowRun`]: many rows one behind the other, into room that is made for several of them at once.
//!
//! A row by itself ([`crate::row::TextRow`]) asks the buffer for room at each byte. Here there is room for a row whose strings are short before it begins, so
//! numbers and strings up to [`TEXT_WINDOW`] bytes are stored in words of a fixed size, past their own end: what lies there is written next. A longer string
//! makes its own room.
//!
//! # Invariants
//! 1. At each field there is room for it and for what may follow in the row, `FIELD_ROOM` bytes for each column, unless a field makes its own.
//! 2. When the run ends, the writer has the whole rows and nothing behind them.

use crate::codec::lenenc_int;
use crate::packet::{FRAME_PAYLOAD_MAX, HEADER_BYTES};
use crate::result::FLUSH_BYTES;
use crate::row::{IntBytes, NULL_BITMAP_OFFSET, RowWriter, filled, put_datetime_binary, put_time_binary};
use crate::writer::PacketWriter;
use types::{ColumnType, DECIMAL_ROOM, DIGITS_ROOM, Date, DateTime, Time};

/// Strings up to this length are copied in one piece of this length.
pub const TEXT_WINDOW: usize = 32;
/// Room of a field that is no long string.
const FIELD_ROOM: usize = 1 + DECIMAL_ROOM;
/// Room is made for as many bytes as the run has, up to so many.
const GROWTH_BYTES: usize = 4 * 1024;

const _: () = assert!(FIELD_ROOM > TEXT_WINDOW && FIELD_ROOM > DIGITS_ROOM + 1);

/// Rows that are being written; see the module's text.
#[derive(Debug)]
pub struct RowRun<'w> {
    out: &'w mut PacketWriter,
    /// Where the run begins.
    start: usize,
    /// Where the row begins, or the next one if none is open.
    row: usize,
    /// Where the next byte goes.
    at: usize,
    /// Room for a row whose strings are short.
    row_room: usize,
    column_count: usize,
    /// A value found no memory: its row is left out.
    starved: bool,
    /// Where fields of the rarer types are formatted.
    scratch: Vec<u8>,
}

impl<'w> RowRun<'w> {
    /// Rows of so many columns, behind what the writer has.
    pub fn begin(out: &'w mut PacketWriter, column_count: usize) -> Self {
        let at = out.len();
        let row_room = HEADER_BYTES + 1 + bitmap_bytes(column_count) + column_count * FIELD_ROOM;
        Self { out, start: at, row: at, at, row_room, column_count, starved: false, scratch: Vec::new() }
    }

    /// Opens a text row.
    #[inline(always)]
    pub fn text_row<'r>(&'r mut self) -> TextRunRow<'r, 'w> {
        self.begin_row();
        TextRunRow { run: self }
    }

    /// Opens a binary row.
    #[inline(always)]
    pub fn binary_row<'r>(&'r mut self) -> BinaryRunRow<'r, 'w> {
        self.begin_row();
        let bitmap = self.at + 1;
        let end = bitmap + bitmap_bytes(self.column_count);
        self.out.payload()[self.at..end].fill(0);
        self.at = end;
        BinaryRunRow { run: self, bitmap, column: 0 }
    }

    /// Whether what was written is to be looked at: it is enough to be sent, or a row found no memory.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.at >= FLUSH_BYTES || self.starved
    }

    #[inline(always)]
    fn begin_row(&mut self) {
        self.row = self.at;
        if self.out.len() - self.at < self.row_room {
            self.grow(self.row_room);
        }
        self.at += HEADER_BYTES;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, bytes: usize) {
        let (at, written) = (self.at, self.at - self.start);
        self.out.payload().resize(at + bytes.max(written.min(GROWTH_BYTES)), 0);
    }

    /// Room for a field that is no long string.
    #[inline(always)]
    fn field(&mut self) -> &mut [u8; FIELD_ROOM] {
        let at = self.at;
        self.out.payload()[at..].first_chunk_mut().expect("room for each column (invariant 1)")
    }

    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: [u8; N], count: usize) {
        const { assert!(N <= FIELD_ROOM) };
        self.field()[..N].copy_from_slice(&bytes);
        self.at += count;
    }

    #[inline(always)]
    fn text_number(&mut self, negative: bool, magnitude: u64) {
        let sign = usize::from(negative);
        let room = self.field();
        room[1] = b'-';
        let digits = room[1 + sign..].first_chunk_mut().expect("a field has more room");
        let count = sign + types::put_digits(magnitude, digits);
        room[0] = count as u8;
        self.at += 1 + count;
    }

    #[inline(always)]
    fn integer(&mut self, value: u64, width: IntBytes) {
        let count = match width {
            IntBytes::One => 1,
            IntBytes::Two => 2,
            IntBytes::Four => 4,
            IntBytes::Eight => 8,
        };
        self.put(value.to_le_bytes(), count);
    }

    #[inline(always)]
    fn short_bytes(&mut self, window: &[u8; TEXT_WINDOW], length: usize) {
        let length = length.min(TEXT_WINDOW);
        let room = self.field();
        room[0] = length as u8;
        room[1..=TEXT_WINDOW].copy_from_slice(window);
        self.at += 1 + length;
    }

    #[inline(always)]
    fn decimal(&mut self, unscaled: i64, scale: u8) -> bool {
        let room = self.field();
        let text = room[1..].first_chunk_mut().expect("a field has the room");
        let Some(count) = types::put_decimal(unscaled, scale, text) else { return false };
        room[0] = count as u8;
        self.at += 1 + count;
        true
    }

    #[inline]
    fn bytes(&mut self, value: &[u8]) {
        if value.len() > TEXT_WINDOW {
            return self.long_bytes(value);
        }
        let room = self.field();
        room[0] = value.len() as u8;
        room[1..=value.len()].copy_from_slice(value);
        self.at += 1 + value.len();
    }

    #[inline(never)]
    fn long_bytes(&mut self, value: &[u8]) {
        let (prefix, prefix_bytes) = lenenc_int(value.len() as u64);
        let room = prefix_bytes + value.len() + self.row_room;
        if self.out.len() - self.at < room {
            // Small growth is not asked for, as in a row by itself.
            if room >= memory::LARGE_BYTES {
                self.out.payload().truncate(self.at);
                if !self.out.room_for_value(room) {
                    self.starved = true;
                    return self.grow(self.row_room);
                }
            }
            self.grow(room);
        }
        let at = self.at + prefix_bytes;
        self.out.payload()[self.at..at].copy_from_slice(&prefix[..prefix_bytes]);
        self.out.payload()[at..at + value.len()].copy_from_slice(value);
        self.at = at + value.len();
    }

    /// A field that is formatted elsewhere first: of the rarer types.
    fn bytes_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        write(&mut text);
        self.bytes(&text);
        self.scratch = text;
    }

    /// A field of the binary protocol that says itself how long it is: at most [`FIELD_ROOM`] bytes.
    fn packed_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut packed = std::mem::take(&mut self.scratch);
        packed.clear();
        write(&mut packed);
        self.field()[..packed.len()].copy_from_slice(&packed);
        self.at += packed.len();
        self.scratch = packed;
    }

    #[inline(always)]
    fn end_row(&mut self) {
        let length = self.at - self.row - HEADER_BYTES;
        if length >= FRAME_PAYLOAD_MAX || self.starved {
            return self.end_unusual_row();
        }
        let sequence = self.out.sequence();
        let header = (length as u32) | u32::from(sequence) << 24;
        let row = self.row;
        self.out.payload()[row..row + HEADER_BYTES].copy_from_slice(&header.to_le_bytes());
        self.out.set_sequence(sequence.wrapping_add(1));
        self.row = self.at;
    }

    #[cold]
    #[inline(never)]
    fn end_unusual_row(&mut self) {
        if self.starved {
            self.at = self.row;
            return;
        }
        self.out.payload().truncate(self.at);
        self.out.end_from(self.row);
        (self.row, self.at) = (self.out.len(), self.out.len());
    }
}

impl Drop for RowRun<'_> {
    fn drop(&mut self) {
        self.out.payload().truncate(self.row);
    }
}

const fn bitmap_bytes(column_count: usize) -> usize {
    (column_count + 7 + NULL_BITMAP_OFFSET) / 8
}

/// A text row of a run.
#[derive(Debug)]
pub struct TextRunRow<'r, 'w> {
    run: &'r mut RowRun<'w>,
}

impl RowWriter for TextRunRow<'_, '_> {
    #[inline(always)]
    fn null(&mut self) {
        self.run.put([0xFB], 1);
    }

    #[inline(always)]
    fn int(&mut self, value: i64, _width: IntBytes) {
        self.run.text_number(value < 0, value.unsigned_abs());
    }

    #[inline(always)]
    fn uint(&mut self, value: u64, _width: IntBytes) {
        self.run.text_number(false, value);
    }

    fn zerofill(&mut self, value: u64, _width: IntBytes, digits: u8) {
        self.run.bytes_with(|out| types::write_padded(value, digits, out));
    }

    fn float(&mut self, value: f32, decimals: u8) {
        self.run.bytes_with(|out| types::write_float(value, decimals, out));
    }

    fn double(&mut self, value: f64, decimals: u8) {
        self.run.bytes_with(|out| types::write_double(value, decimals, out));
    }

    fn zerofill_float(&mut self, value: f32, ty: &ColumnType) {
        self.run.bytes_with(|out| filled(ty, |out| types::write_float(value, ty.decimals, out), out));
    }

    fn zerofill_double(&mut self, value: f64, ty: &ColumnType) {
        self.run.bytes_with(|out| filled(ty, |out| types::write_double(value, ty.decimals, out), out));
    }

    #[inline]
    fn bytes(&mut self, value: &[u8]) {
        self.run.bytes(value);
    }

    fn bytes_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.run.bytes_with(write);
    }

    #[inline(always)]
    fn short_bytes(&mut self, window: &[u8; TEXT_WINDOW], length: usize) {
        self.run.short_bytes(window, length);
    }

    #[inline(always)]
    fn decimal(&mut self, unscaled: i64, scale: u8) -> bool {
        self.run.decimal(unscaled, scale)
    }

    #[inline]
    fn date(&mut self, value: Date) {
        let text = value.text();
        let room = self.run.field();
        room[0] = text.len() as u8;
        room[1..=text.len()].copy_from_slice(&text);
        self.run.at += 1 + text.len();
    }

    fn datetime(&mut self, value: DateTime, decimals: u8) {
        self.run.bytes_with(|out| value.write_to(decimals, out));
    }

    fn time(&mut self, value: Time, decimals: u8) {
        self.run.bytes_with(|out| value.write_to(decimals, out));
    }

    #[inline(always)]
    fn end(self) {
        self.run.end_row();
    }
}

/// A binary row of a run.
#[derive(Debug)]
pub struct BinaryRunRow<'r, 'w> {
    run: &'r mut RowRun<'w>,
    /// Where the NULL bitmap begins.
    bitmap: usize,
    column: usize,
}

impl<'w> BinaryRunRow<'_, 'w> {
    #[inline(always)]
    fn next(&mut self) -> &mut RowRun<'w> {
        assert!(self.column < self.run.column_count, "more values than the row's {} columns", self.run.column_count);
        self.column += 1;
        self.run
    }
}

impl RowWriter for BinaryRunRow<'_, '_> {
    #[inline(always)]
    fn null(&mut self) {
        let bit = self.column + NULL_BITMAP_OFFSET;
        let at = self.bitmap + bit / 8;
        self.next().out.payload()[at] |= 1 << (bit % 8);
    }

    #[inline(always)]
    fn int(&mut self, value: i64, width: IntBytes) {
        self.next().integer(value as u64, width);
    }

    #[inline(always)]
    fn uint(&mut self, value: u64, width: IntBytes) {
        self.next().integer(value, width);
    }

    fn zerofill(&mut self, value: u64, width: IntBytes, _digits: u8) {
        self.next().integer(value, width);
    }

    fn float(&mut self, value: f32, _decimals: u8) {
        self.next().put(value.to_le_bytes(), 4);
    }

    fn double(&mut self, value: f64, _decimals: u8) {
        self.next().put(value.to_le_bytes(), 8);
    }

    #[inline]
    fn bytes(&mut self, value: &[u8]) {
        self.next().bytes(value);
    }

    fn bytes_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.next().bytes_with(write);
    }

    #[inline(always)]
    fn short_bytes(&mut self, window: &[u8; TEXT_WINDOW], length: usize) {
        self.next().short_bytes(window, length);
    }

    #[inline(always)]
    fn decimal(&mut self, unscaled: i64, scale: u8) -> bool {
        let written = self.run.decimal(unscaled, scale);
        self.column += usize::from(written);
        written
    }

    fn date(&mut self, value: Date) {
        self.next().packed_with(|out| put_datetime_binary(out, DateTime::from_date(value)));
    }

    fn datetime(&mut self, value: DateTime, _decimals: u8) {
        self.next().packed_with(|out| put_datetime_binary(out, value));
    }

    fn time(&mut self, value: Time, _decimals: u8) {
        self.next().packed_with(|out| put_time_binary(out, value));
    }

    #[inline(always)]
    fn end(self) {
        assert_eq!(self.column, self.run.column_count, "a binary row must have all its columns");
        self.run.end_row();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{BinaryRow, TextRow};
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Field {
        Null,
        Int(i64, IntBytes),
        UInt(u64, IntBytes),
        Zerofill(u64),
        Double(f64),
        Decimal(i64, u8),
        Bytes(Vec<u8>),
        Date(u8),
        DateTime(u32),
        Time(i64),
    }

    fn put(mut row: impl RowWriter, fields: &[Field], by_words: bool) {
        for field in fields {
            match field {
                Field::Null => row.null(),
                Field::Int(value, width) => row.int(*value, *width),
                Field::UInt(value, width) => row.uint(*value, *width),
                Field::Zerofill(value) => row.zerofill(*value, IntBytes::Four, 10),
                Field::Double(value) => row.double(*value, types::DECIMALS_NOT_FIXED),
                Field::Decimal(unscaled, scale) => {
                    if !row.decimal(*unscaled, *scale) {
                        row.bytes_with(|out| types::Decimal::new(i128::from(*unscaled), *scale).write_to(out));
                    }
                }
                Field::Bytes(bytes) if by_words && bytes.len() <= TEXT_WINDOW => {
                    let mut window = [b'?'; TEXT_WINDOW];
                    window[..bytes.len()].copy_from_slice(bytes);
                    row.short_bytes(&window, bytes.len());
                }
                Field::Bytes(bytes) => row.bytes(bytes),
                Field::Date(day) => row.date(Date::from_fields(2024, 1, *day)),
                Field::DateTime(fraction) => row.datetime(DateTime::from_fields(Date::from_fields(2024, 2, 29), 1, 2, 3, *fraction), 6),
                Field::Time(micros) => row.time(Time::from_micros(*micros), 6),
            }
        }
        row.end();
    }

    fn field() -> impl Strategy<Value = Field> {
        let width = || prop_oneof![Just(IntBytes::One), Just(IntBytes::Two), Just(IntBytes::Four), Just(IntBytes::Eight)];
        // Any number of digits is as likely.
        let number = || (any::<u64>(), 0u32..64).prop_map(|(bits, shift)| bits >> shift);
        prop_oneof![
            Just(Field::Null),
            (number(), any::<bool>(), width())
                .prop_map(|(n, minus, width)| Field::Int(if minus { (n as i64).wrapping_neg() } else { n as i64 }, width)),
            (number(), width()).prop_map(|(n, width)| Field::UInt(n, width)),
            any::<u32>().prop_map(|n| Field::Zerofill(u64::from(n))),
            any::<i32>().prop_map(|n| Field::Double(f64::from(n) / 8.0)),
            (number(), any::<bool>(), 0u8..31)
                .prop_map(|(n, minus, scale)| Field::Decimal(if minus { (n as i64).wrapping_neg() } else { n as i64 }, scale)),
            proptest::collection::vec(any::<u8>(), 0..70).prop_map(Field::Bytes),
            (0usize..70_000).prop_map(|length| Field::Bytes(vec![b'x'; length])),
            (0u8..32).prop_map(Field::Date),
            (0u32..1_000_000).prop_map(Field::DateTime),
            (-3_020_399_000_000i64..3_020_399_000_000).prop_map(Field::Time),
        ]
    }

    fn check(rows: &[Vec<Field>], columns: usize) {
        for binary in [false, true] {
            let (mut one_by_one, mut together) = (PacketWriter::new(), PacketWriter::new());
            for out in [&mut one_by_one, &mut together] {
                out.set_sequence(250);
                out.packet(b"what came before");
            }
            let mut run = RowRun::begin(&mut together, columns);
            for fields in rows {
                if binary {
                    put(BinaryRow::begin(&mut one_by_one, columns), fields, false);
                    put(run.binary_row(), fields, true);
                } else {
                    put(TextRow::begin(&mut one_by_one), fields, false);
                    put(run.text_row(), fields, true);
                }
                assert_eq!(run.is_full(), one_by_one.len() >= FLUSH_BYTES);
            }
            drop(run);
            assert!(one_by_one.bytes() == together.bytes(), "binary: {binary}");
            assert_eq!(one_by_one.sequence(), together.sequence());
        }
    }

    proptest! {
        #[test]
        fn a_run_is_the_same_bytes_as_its_rows((columns, rows) in (1usize..12).prop_flat_map(|columns| {
            (Just(columns), proptest::collection::vec(proptest::collection::vec(field(), columns), 0..40))
        })) {
            check(&rows, columns);
        }
    }

    #[test]
    fn rows_longer_than_a_frame_are_cut_into_frames() {
        let long = |length| vec![Field::Int(7, IntBytes::Four), Field::Bytes(vec![b'y'; length]), Field::Decimal(-5, 2)];
        check(&[long(3), long(FRAME_PAYLOAD_MAX), long(250), long(FRAME_PAYLOAD_MAX - 20), long(1 << 16)], 3);
    }

    #[test]
    fn a_row_that_is_not_closed_leaves_no_byte() {
        let mut out = PacketWriter::new();
        out.packet(b"before");
        let length = out.len();
        let mut run = RowRun::begin(&mut out, 2);
        run.text_row().int(1, IntBytes::Four);
        drop(run);
        assert_eq!((out.len(), out.sequence()), (length, 1));
    }
}
