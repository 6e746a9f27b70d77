//! The lines of a file as fields.
//!
//! # Invariants
//! 1. A field that says NULL (`\N`, or the bare word NULL) is `None`; one that is not there is not in the list.
//! 2. Of a line with more fields than are wanted only the wanted ones are kept in memory.

use super::format::Format;
use super::input::Input;

/// One line. Its memory is the next one's.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The bytes of its fields, one behind the other.
    bytes: Vec<u8>,
    /// Where each ends, and whether it says NULL; at most as many as are wanted.
    ends: Vec<(usize, bool)>,
    /// It had more.
    pub has_more: bool,
}

impl Line {
    /// Its fields.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        let mut start = 0;
        self.ends.iter().map(move |(end, null)| {
            let field = &self.bytes[start..*end];
            start = *end;
            (!null).then_some(field)
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// One of them; `None` says NULL.
    #[inline]
    pub fn field(&self, no: usize) -> Option<&[u8]> {
        let (end, null) = self.ends[no];
        let start = if no == 0 { 0 } else { self.ends[no - 1].0 };
        (!null).then(|| &self.bytes[start..end])
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.has_more = false;
    }

    /// What was read last is a field.
    fn end_field(&mut self, null: bool) {
        self.ends.push((self.bytes.len(), null));
    }
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum End {
    Field,
    Line,
    File,
}

/// Reads lines.
pub(super) struct Lines<'a, 's> {
    /// The bytes.
    pub input: Input<'a, 's>,
    format: Format,
    /// Bytes that may mean something outside of enclosed fields.
    special: [bool; 256],
    /// Fields of a line that are wanted.
    wanted: usize,
    /// Their widths, where they have no separators.
    widths: Vec<usize>,
    /// Nothing tells the end of a line but the number of its fields.
    counted: bool,
    /// The bytes that end a field and a line, where each is one byte and nothing else does.
    ends: Option<(u8, u8)>,
    line: Line,
}

impl<'a, 's> Lines<'a, 's> {
    /// Lines of `wanted` fields; `widths` are used where the format is of fixed widths.
    pub fn new(input: Input<'a, 's>, format: Format, wanted: usize, widths: Vec<usize>) -> Lines<'a, 's> {
        let mut special = [false; 256];
        let firsts = [format.field_end.first(), format.line_end.first(), format.escape.as_ref()];
        for byte in firsts.into_iter().flatten() {
            special[usize::from(*byte)] = true;
        }
        let counted = !format.is_fixed() && (format.line_end.is_empty() || format.line_end == format.field_end);
        let ends = match (format.field_end.as_slice(), format.line_end.as_slice(), format.enclosed) {
            ([field], [line], None) if field != line && ![Some(*field), Some(*line)].contains(&format.escape) => Some((*field, *line)),
            _ => None,
        };
        Lines { input, format, special, wanted, widths, counted, ends, line: Line::default() }
    }

    /// Passes by whole lines.
    pub fn skip_lines(&mut self, count: u64) {
        for _ in 0..count {
            let more = if self.counted || self.format.line_end.is_empty() { self.next().is_some() } else { self.skip_to_end_of_line() };
            if !more {
                return;
            }
        }
    }

    /// The line that was read last.
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// The next line; `None` at the end of the file (or when reading has failed).
    pub fn next(&mut self) -> Option<&Line> {
        if !self.skip_line_start() {
            return None;
        }
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        let found = if self.format.is_fixed() { self.fixed(&mut line) } else { self.separated(&mut line) };
        self.line = line;
        (found && !self.input.has_failed()).then_some(&self.line)
    }

    /// Whether there is a line.
    fn separated(&mut self, line: &mut Line) -> bool {
        let mut any = false;
        loop {
            let start = line.bytes.len();
            let (null, end) = self.field(&mut line.bytes, start);
            if self.input.has_failed() {
                return false;
            }
            let is_empty = line.bytes.len() == start;
            any |= null || !is_empty || end != End::File;
            if !any {
                return false;
            }
            if line.ends.len() < self.wanted {
                line.end_field(null);
            } else {
                line.bytes.truncate(start);
                // Nothing behind the last terminator is no field too many.
                line.has_more |= null || !is_empty || end == End::Field;
            }
            if end != End::Field || (self.counted && line.ends.len() >= self.wanted) {
                return true;
            }
        }
    }

    /// Skips to behind LINES STARTING BY; false when it does not come any more.
    fn skip_line_start(&mut self) -> bool {
        self.format.line_start.is_empty() || skip_behind(&mut self.input, &self.format.line_start)
    }

    fn skip_to_end_of_line(&mut self) -> bool {
        skip_behind(&mut self.input, &self.format.line_end)
    }

    /// Reads a field into `field`, from `start` on, and what ends it; whether it says NULL.
    fn field(&mut self, field: &mut Vec<u8>, start: usize) -> (bool, End) {
        if let Some(end) = self.plain_field(field) {
            return (false, end);
        }
        let enclosed = self.format.enclosed.is_some_and(|quote| starts_with(&mut self.input, &[quote]));
        self.input.skip(usize::from(enclosed));
        let mut null = false;
        let end = loop {
            let quote = self.format.enclosed.filter(|_| enclosed);
            let is_plain = |byte: u8| match quote {
                Some(quote) => byte != quote && Some(byte) != self.format.escape,
                None => !self.special[usize::from(byte)],
            };
            let rest = self.input.rest();
            let run = rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len());
            if run > 0 {
                self.input.push(field, run);
                continue;
            }
            let Some(byte) = next_byte(&mut self.input) else {
                // Never closed: it was no quote.
                if let Some(quote) = quote {
                    field.insert(start, quote);
                }
                break End::File;
            };
            if Some(byte) == quote {
                self.input.skip(1);
                if starts_with(&mut self.input, &[byte]) {
                    self.input.skip(1);
                    self.input.push_byte(field, byte);
                } else if let Some(end) = self.separator() {
                    break end;
                } else {
                    // It does not end the field: it is one of its characters.
                    self.input.push_byte(field, byte);
                }
                continue;
            }
            if quote.is_none()
                && let Some(end) = self.separator()
            {
                break end;
            }
            self.input.skip(1);
            if Some(byte) != self.format.escape {
                self.input.push_byte(field, byte);
                continue;
            }
            null |= self.escaped(field, byte);
        };
        // The word alone means NULL only where values can be enclosed.
        let field = &field[start..];
        let word = !enclosed && self.format.enclosed.is_some() && field == b"NULL";
        (word || (null && field == b"N"), end)
    }

    /// Reads a field that has nothing special in it and that ends in what is at hand, which is most of them.
    #[inline]
    fn plain_field(&mut self, field: &mut Vec<u8>) -> Option<End> {
        let (field_end, line_end) = self.ends?;
        let rest = self.input.rest();
        let run = rest.iter().position(|byte| self.special[usize::from(*byte)])?;
        let end = match rest[run] {
            byte if byte == field_end => End::Field,
            byte if byte == line_end => End::Line,
            _ => return None,
        };
        self.input.push(field, run);
        self.input.skip(usize::from(!self.input.has_failed()));
        Some(end)
    }

    /// What stands behind an escape character; whether it is the N of NULL.
    fn escaped(&mut self, field: &mut Vec<u8>, escape: u8) -> bool {
        let Some(byte) = next_byte(&mut self.input) else {
            self.input.push_byte(field, escape);
            return false;
        };
        self.input.skip(1);
        let meant = match byte {
            b'0' => 0,
            b'b' => 8,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'Z' => 26,
            other => other,
        };
        self.input.push_byte(field, meant);
        byte == b'N'
    }

    /// Reads a separator (or the end of the file), if there is one.
    fn separator(&mut self) -> Option<End> {
        if starts_with(&mut self.input, &self.format.field_end) {
            self.input.skip(self.format.field_end.len());
            return Some(End::Field);
        }
        if starts_with(&mut self.input, &self.format.line_end) {
            self.input.skip(self.format.line_end.len());
            return Some(End::Line);
        }
        next_byte(&mut self.input).is_none().then_some(End::File)
    }

    /// A line of fields of fixed widths.
    fn fixed(&mut self, line: &mut Line) -> bool {
        if next_byte(&mut self.input).is_none() {
            return false;
        }
        let mut read = false;
        for no in 0..self.wanted {
            let width = self.widths.get(no).copied().unwrap_or(0);
            let start = line.bytes.len();
            let field = &mut line.bytes;
            let mut null = false;
            while field.len() - start < width {
                if starts_with(&mut self.input, &self.format.line_end) {
                    break;
                }
                let Some(byte) = next_byte(&mut self.input) else { break };
                self.input.skip(1);
                read = true;
                if Some(byte) == self.format.escape {
                    null |= self.escaped(field, byte);
                } else {
                    self.input.push_byte(field, byte);
                }
            }
            if self.input.has_failed() {
                return false;
            }
            if field.len() == start && width > 0 {
                break;
            }
            let null = null && field[start..] == *b"N";
            line.end_field(null);
        }
        if !self.format.line_end.is_empty() {
            line.has_more = !starts_with(&mut self.input, &self.format.line_end) && next_byte(&mut self.input).is_some();
            self.skip_to_end_of_line();
        } else if !read {
            // Fields of no width, and nothing that ends a line: each byte would be left to the next line for ever.
            return false;
        }
        true
    }
}

/// Skips to behind a text; false when it does not come any more.
fn skip_behind(input: &mut Input<'_, '_>, wanted: &[u8]) -> bool {
    loop {
        let rest = input.rest();
        if let Some(at) = rest.windows(wanted.len()).position(|window| window == wanted) {
            input.skip(at + wanted.len());
            return true;
        }
        // It may begin in the last bytes at hand.
        let keep = rest.len().min(wanted.len() - 1);
        input.skip(input.rest().len() - keep);
        if !input.fill() {
            return false;
        }
    }
}

/// Whether the unread bytes start with `wanted`, reading more where they are too few to tell.
#[inline]
fn starts_with(input: &mut Input<'_, '_>, wanted: &[u8]) -> bool {
    if wanted.is_empty() {
        return false;
    }
    while input.rest().len() < wanted.len() && wanted.starts_with(input.rest()) {
        if !input.fill() {
            return false;
        }
    }
    input.rest().starts_with(wanted)
}

/// The next byte, unread.
#[inline]
fn next_byte(input: &mut Input<'_, '_>) -> Option<u8> {
    while input.rest().is_empty() {
        if !input.fill() {
            return None;
        }
    }
    input.rest().first().copied()
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
