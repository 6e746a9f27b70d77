//! ORDER BY of columns over an index range, perhaps DISTINCT: rows are kept and sorted as they are stored, and only what is sent is decoded.
//!
//! # Invariants
//! 1. The head of a row's sort key, eight bytes as a number, orders as the key does; rows with equal heads are compared in full.
//! 2. What does not fit into [`BYTES_MAX`] is left to the ordinary plan, which accounts for its memory.

use crate::errors::Error;
use crate::execute::Outcome;
use crate::run::Result;
use crate::short::ShortRun;
use crate::short::range::{Next, exact_bounds, for_each_row, limits};
use catalog::TableEntry;
use engine::RowBatch;
use planner::short::SortedRange;
use record::{KeyPart, key};
use std::cmp::Ordering;
use types::{Collation, ColumnType, TypeKind};

/// Bytes of rows that are sorted here.
const BYTES_MAX: usize = 1 << 20;
/// Bytes of rows for which a session keeps its buffers.
const BYTES_KEPT: usize = 64 << 10;

/// A row in the sort.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    head: u64,
    /// Where its whole key lies; empty when the order is one string, which is compared as it is.
    key: (u32, u32),
    row: u32,
}

/// Buffers of a sort.
#[derive(Debug, Default)]
pub(crate) struct SortBuffers {
    rows: RowBatch,
    entries: Vec<Entry>,
    keys: Vec<u8>,
}

/// Runs the plan; `None` when the ordinary plan must.
#[inline(never)]
pub(crate) fn run(sorted: &SortedRange, run: ShortRun<'_>) -> Result<Option<Outcome>> {
    let range = &sorted.range;
    let mut key = std::mem::take(&mut run.scratch.key);
    let Some(bounds) = exact_bounds(range, &run, &mut key) else { return Ok(None) };
    let ShortRun { plan, params, session, context, scratch, consumer } = run;
    let (offset, count) = limits(range.limit.as_ref(), params)?;
    let entry = &plan.tables[range.table as usize];
    let mut buffers = std::mem::take(&mut scratch.sort);
    buffers.rows.clear();
    let rows = &mut buffers.rows;
    let check_cancel = |_| if context.is_cancelled() { Err(Error::Sql(context.cancel_error())) } else { Ok(()) };
    for_each_row(range, bounds, u64::MAX, plan, session, check_cancel, |row, _| {
        rows.push_row(row);
        Ok(if rows.bytes() > BYTES_MAX { Next::Stop } else { Next::Row })
    })?;
    if buffers.rows.bytes() > BYTES_MAX {
        return Ok(None);
    }
    buffers.sort(&sorted.order, entry, sorted.distinct)?;
    consumer.begin(&plan.columns)?;
    let mut sent = 0;
    for place in buffers.entries.iter().skip(usize::try_from(offset).unwrap_or(usize::MAX)) {
        if sent == count {
            break;
        }
        sent += 1;
        if consumer.record(buffers.rows.row(&entry.storage, place.row as usize)?, &range.columns)? {
            consumer.drain()?;
        }
    }
    let passed_over = offset.min(buffers.entries.len() as u64);
    if buffers.rows.bytes() <= BYTES_KEPT {
        scratch.sort = buffers;
    }
    scratch.key = key;
    Ok(Some(Outcome::Rows { count: sent + passed_over }))
}

impl SortBuffers {
    fn sort(&mut self, order: &[KeyPart], entry: &TableEntry, distinct: bool) -> Result<()> {
        let SortBuffers { rows, entries, keys } = self;
        entries.clear();
        keys.clear();
        let text = match order {
            [part] if is_text(&entry.def.columns[part.column].ty) => Some(part),
            _ => None,
        };
        let mut space = Vec::new();
        for no in 0..rows.len() {
            let row = rows.row(&entry.storage, no)?;
            let start = keys.len();
            let head = match text {
                Some(part) => {
                    let head = text_head(&entry.def.columns[part.column].ty, row.bytes_in(part.column, &mut space)?);
                    if part.descending { !head } else { head }
                }
                None => {
                    key::encode_columns(row, order, keys)?;
                    head_of(&keys[start..])
                }
            };
            entries.push(Entry { head, key: (start as u32, keys.len() as u32), row: no as u32 });
        }
        entries.sort_unstable_by_key(|e| (e.head, e.row));
        let mut damaged = None;
        let compare_rows = |part: &KeyPart, a: u32, b: u32| -> Result<Ordering> {
            let (a, b) = (rows.row(&entry.storage, a as usize)?, rows.row(&entry.storage, b as usize)?);
            let collation = entry.def.columns[part.column].ty.collation;
            let (mut space, mut other) = (Vec::new(), Vec::new());
            Ok(compare_texts(collation, a.bytes_in(part.column, &mut space)?, b.bytes_in(part.column, &mut other)?))
        };
        let mut compare = |a: &Entry, b: &Entry| match text {
            None => keys[a.key.0 as usize..a.key.1 as usize].cmp(&keys[b.key.0 as usize..b.key.1 as usize]),
            Some(part) => match compare_rows(part, a.row, b.row) {
                Ok(ordering) => {
                    if part.descending {
                        ordering.reverse()
                    } else {
                        ordering
                    }
                }
                Err(error) => {
                    damaged = Some(error);
                    Ordering::Equal
                }
            },
        };
        // What the heads do not tell apart.
        for equal in entries.chunk_by_mut(|a, b| a.head == b.head).filter(|equal| equal.len() > 1) {
            equal.sort_unstable_by(|a, b| compare(a, b).then(a.row.cmp(&b.row)));
        }
        if distinct {
            entries.dedup_by(|b, a| a.head == b.head && compare(a, b).is_eq());
        }
        damaged.map_or(Ok(()), Err)
    }
}

/// Whether the stored bytes are the string itself.
fn is_text(ty: &ColumnType) -> bool {
    ty.kind.is_string() && ty.kind != TypeKind::Binary
}

fn compare_texts(collation: Collation, a: Option<&[u8]>, b: Option<&[u8]>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => collation.compare(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

/// First bytes of a key as a number. A shorter key is filled up with zeros, which changes nothing: no key is the beginning of another.
fn head_of(key: &[u8]) -> u64 {
    let mut head = [0; 8];
    let count = key.len().min(8);
    head[..count].copy_from_slice(&key[..count]);
    u64::from_be_bytes(head)
}

/// The head of a string column's key.
#[inline]
fn text_head(ty: &ColumnType, text: Option<&[u8]>) -> u64 {
    // NULL comes first; where it can come, it takes a byte.
    let Some(text) = text else { return 0 };
    let head = ty.collation.key_head(text);
    if ty.nullable { head >> 8 | 1 << 56 } else { head }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_order_as_strings_do() {
        let texts = [
            "",
            "a",
            "A",
            "abcdefgh",
            "abcdefghijklm",
            "abcdefghijklmn",
            "ab-cdefghijkl",
            "été",
            "etf",
            "\u{200d}\u{200d}\u{200d}\u{200d}\u{200d}z",
            "漢字漢字漢字",
            "zzzzzzzzzzzzzzz",
        ];
        for collation in
            [Collation::DEFAULT, Collation::Binary, Collation::Utf8mb4Bin, Collation::Utf8mb4GeneralCi, Collation::Utf8mb40900AsCs]
        {
            for nullable in [false, true] {
                let ty = ColumnType { nullable, ..ColumnType::varchar(100, collation) };
                let head = |text: &str| text_head(&ty, Some(text.as_bytes()));
                for a in texts {
                    for b in texts {
                        let order = collation.compare(a.as_bytes(), b.as_bytes());
                        assert!(head(a).cmp(&head(b)) == order || head(a) == head(b), "{a:?} {b:?} {collation:?}");
                    }
                }
            }
        }
    }
}
