//! Rows from index keys: as much of a row as the key's parts tell.
//!
//! A covering scan reads no rows: it puts the columns that are wanted back from the key into a row of the table's current layout, so that
//! whoever reads rows reads these too.
//!
//! # Invariants
//! 1. A restored column has the very bytes that the row has from which the key was made (a property test compares them).
//! 2. What was not asked for is NULL, or zero where it cannot be.

use crate::key::{self, KeyPart, NULL_LEAD, VALUE_LEAD};
use crate::layout::{NARROW_ROW_BYTES_MAX, RowLayout};
use crate::place::Place;
use crate::row::RowRef;
use base::Malformed;
use std::ops::Range;
use std::sync::Arc;
use types::ColumnType;

/// Room that is left for restored strings: a key has far fewer bytes.
const TEXT_BYTES_MAX: usize = 1 << 14;

/// How columns of a table are put back from the keys of one of its indexes.
#[derive(Debug, Clone)]
pub struct KeyRestore {
    layout: Arc<RowLayout>,
    /// Leading parts of the key, up to the last one that is wanted.
    parts: Vec<Part>,
    /// A row in which nothing is restored; variable columns are all empty.
    blank: Vec<u8>,
    /// Whether strings are restored.
    has_texts: bool,
}

#[derive(Debug, Clone)]
struct Part {
    part: KeyPart,
    ty: ColumnType,
    /// Bytes of a value's key; 0 where they vary.
    bytes: usize,
    /// Where the column goes, when it is wanted.
    place: Option<Place>,
}

/// A restored row, and what is needed to make the next one.
#[derive(Debug, Default)]
pub struct RestoreBuffer {
    row: Vec<u8>,
    /// Restored strings, and for each the number of its variable column and its place in `texts`.
    texts: Vec<u8>,
    found: Vec<(u32, Range<usize>)>,
    upright: Vec<u8>,
}

impl KeyRestore {
    /// Whether [`KeyRestore::new`] has an answer.
    pub fn is_possible(layout: &RowLayout, parts: &[KeyPart], columns: impl IntoIterator<Item = usize>) -> bool {
        layout.fixed_row_bytes() + TEXT_BYTES_MAX <= NARROW_ROW_BYTES_MAX
            && columns.into_iter().all(|column| part_of(layout, parts, column).is_some())
    }

    /// How `columns` of rows of `layout` come back from keys that consist of `parts`; `None` when some of them do not.
    pub fn new(layout: &Arc<RowLayout>, parts: &[KeyPart], columns: impl IntoIterator<Item = usize>) -> Option<KeyRestore> {
        if layout.fixed_row_bytes() + TEXT_BYTES_MAX > NARROW_ROW_BYTES_MAX {
            return None;
        }
        let mut wanted: Vec<Option<Place>> = vec![None; parts.len()];
        for column in columns {
            let at = part_of(layout, parts, column)?;
            wanted[at] = Some(layout.place(column)?);
        }
        let count = wanted.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let mut blank = vec![0; layout.fixed_row_bytes()];
        let header = layout.fresh_header();
        blank[..header.len()].copy_from_slice(&header);
        for place in (0..layout.column_count()).filter_map(|column| layout.place(column)) {
            blank[place.null_at as usize] |= place.null_mask;
        }
        let parts: Vec<Part> = parts[..count]
            .iter()
            .zip(wanted)
            .map(|(part, place)| {
                let ty = layout.column_type(part.column).clone();
                Part { part: *part, bytes: crate::raw::fixed_bytes(&ty).unwrap_or(0), ty, place }
            })
            .collect();
        let has_texts = parts.iter().any(|part| part.place.is_some_and(|place| !place.fixed));
        Some(KeyRestore { layout: Arc::clone(layout), parts, blank, has_texts })
    }

    /// Whether nothing is wanted: rows are only counted.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Prepares a buffer for rows of this plan.
    pub fn begin(&self, buffer: &mut RestoreBuffer) {
        buffer.row.clear();
        buffer.row.extend_from_slice(&self.blank);
        buffer.texts.clear();
        buffer.found.clear();
    }

    /// The row of a key, in a buffer that was prepared.
    #[inline]
    pub fn row<'b>(&'b self, key: &[u8], buffer: &'b mut RestoreBuffer) -> Result<RowRef<'b>, Malformed> {
        let mut rest = key;
        for part in &self.parts {
            if part.bytes == 0 {
                rest = self.variable(part, rest, buffer)?;
                continue;
            }
            let flip = if part.part.descending { 0xff } else { 0 };
            let mut is_null = false;
            if part.ty.nullable {
                let (lead, after) = rest.split_first().ok_or(Malformed)?;
                is_null = lead_is_null(lead ^ flip)?;
                rest = after;
            }
            let bytes = if is_null { 0 } else { part.bytes };
            let (own, after) = rest.split_at_checked(bytes).ok_or(Malformed)?;
            rest = after;
            if let Some(place) = &part.place {
                set_null(&mut buffer.row, place, is_null);
                if !is_null {
                    let to = &mut buffer.row[place.at as usize..(place.at + place.bytes) as usize];
                    key::stored_of_fixed(&part.ty, own, to);
                    if flip != 0 {
                        to.iter_mut().for_each(|byte| *byte = !*byte);
                    }
                }
            }
        }
        if self.has_texts {
            self.put_texts(buffer);
        }
        Ok(RowRef::new(&self.layout, &buffer.row))
    }

    /// Reads a part of variable length.
    fn variable<'k>(&self, part: &Part, key: &'k [u8], buffer: &mut RestoreBuffer) -> Result<&'k [u8], Malformed> {
        let bytes = key::part_bytes(&part.ty, &part.part, key)?;
        let (own, rest) = key.split_at(bytes);
        let Some(place) = &part.place else { return Ok(rest) };
        let mut own = own;
        if part.part.descending {
            buffer.upright.clear();
            buffer.upright.extend(own.iter().map(|byte| !byte));
            own = &buffer.upright;
        }
        let mut is_null = false;
        if part.ty.nullable {
            let (lead, after) = own.split_first().ok_or(Malformed)?;
            is_null = lead_is_null(*lead)?;
            own = after;
        }
        set_null(&mut buffer.row, place, is_null);
        let start = buffer.texts.len();
        if !is_null {
            part.ty.collation.decode_key(own, &mut buffer.texts).ok_or(Malformed)?;
        }
        if buffer.texts.len() > TEXT_BYTES_MAX {
            return Err(Malformed);
        }
        buffer.found.push((place.at, start..buffer.texts.len()));
        Ok(rest)
    }

    /// Puts the strings that were read behind the row's fixed part, in the order of their columns.
    fn put_texts(&self, buffer: &mut RestoreBuffer) {
        let RestoreBuffer { row, texts, found, .. } = buffer;
        let (ends_at, count) = (self.layout.ends_at(), self.layout.variable_count());
        row.truncate(ends_at + 2 * count);
        found.sort_unstable_by_key(|(number, _)| *number);
        let mut next = found.iter().peekable();
        let mut end = 0u16;
        for number in 0..count {
            if let Some((_, text)) = next.next_if(|(at, _)| *at as usize == number) {
                row.extend_from_slice(&texts[text.clone()]);
                end += text.len() as u16;
            }
            row[ends_at + 2 * number..][..2].copy_from_slice(&end.to_le_bytes());
        }
        texts.clear();
        found.clear();
    }
}

/// The part that a column comes back from.
fn part_of(layout: &RowLayout, parts: &[KeyPart], column: usize) -> Option<usize> {
    layout.place(column)?;
    parts.iter().position(|part| part.column == column && part.reversible(layout.column_type(column)))
}

#[inline]
fn lead_is_null(lead: u8) -> Result<bool, Malformed> {
    match lead {
        NULL_LEAD => Ok(true),
        VALUE_LEAD => Ok(false),
        _ => Err(Malformed),
    }
}

#[inline]
fn set_null(row: &mut [u8], place: &Place, is_null: bool) {
    let bits = &mut row[place.null_at as usize];
    if is_null {
        *bits |= place.null_mask;
    } else {
        *bits &= !place.null_mask;
    }
}
