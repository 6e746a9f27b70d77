//! How many rows share the leading parts of an index key, and which values a column has, from a few samples; what tools are told of an index.
//!
//! A key sampled by row stands in a group of its own size, so large groups are met more often; the mean of `1 / size` over such samples is
//! distinct keys per row whatever the distribution, and its inverse the rows that a key finds, taken by chance.

use crate::engine::Engine;
use crate::range::KeyRange;
use crate::session::Session;
use crate::table::{ENTRY_DELETED, Table, entry_value};
use crate::write::external::EXTERNAL;
use crate::{Error, Result};
use record::{KeyPart, RowHeader};
use std::ops::{Bound, ControlFlow};
use types::Value;

/// Keys looked at.
const SAMPLES: u32 = 8;

/// Leaves up to which an index is counted through: as many as MySQL looks at of a large one.
const PAGES_FEW: u64 = 20;

/// Places of a table at which rows are looked at for the values of a column, and how many at each.
const PLACES: u32 = 32;
const ROWS_OF_PLACE: usize = 16;

impl Session {
    /// About how many entries of an index share the values of its first `parts` parts, those of the primary key behind a secondary one
    /// included. `None` when the index is empty.
    pub fn rows_per_key(&self, table: &Table, index_no: usize, parts: usize) -> Result<Option<f64>> {
        rows_per_key(table, index_no, parts)
    }

    /// What a column holds in some rows, NULLs included: of rows from all over the table, as they are now, whoever has written them and whether
    /// or not that is committed. No view is opened. Rows that are too long for their leaf are left out.
    pub fn sample_column(&self, table: &Table, column: usize) -> Result<Vec<Value>> {
        let mut values = Vec::new();
        for place in 0..PLACES {
            let share = (f64::from(place) + 0.5) / f64::from(PLACES);
            let mut damage = None;
            table.primary().tree.values_near(share, ROWS_OF_PLACE, &mut |stored| match stored_value(table, stored, column) {
                Ok(value) => values.extend(value),
                Err(error) => damage = Some(error),
            })?;
            if let Some(error) = damage {
                return Err(error);
            }
        }
        Ok(values)
    }

    /// What a column holds in the rows that have one of these keys of the primary index, which ascend: as they are now, like [`Session::sample_column`].
    pub fn column_of_keys(&self, table: &Table, keys: &[Vec<u8>], column: usize) -> Result<Vec<Value>> {
        let mut values = Vec::new();
        let mut damage = None;
        table.primary().tree.get_ascending(keys, |_, stored| {
            match stored.map_or(Ok(None), |stored| stored_value(table, stored, column)) {
                Ok(value) => values.extend(value),
                Err(error) => damage = Some(error),
            }
            if damage.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        damage.map_or(Ok(values), Err)
    }
}

/// What an index holds, as far as a look at some of it tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFigures {
    /// Pages, those of rows that are too long for their leaf included.
    pub pages: u64,
    /// Those of them that are not above the leaves.
    pub leaf_pages: u64,
    /// How many different values there are of the first part of [`crate::Index::full_parts`], of the first two, and so on.
    pub distinct: Vec<u64>,
    /// Entries: different whole keys.
    pub entries: u64,
    /// Leaves that were looked at.
    pub pages_seen: u64,
}

impl Engine {
    /// What an index holds: counted where it has few pages, else estimated as statements are planned by. Entries whose transaction has not ended count.
    pub fn index_figures(&self, table: &Table, index_no: usize) -> Result<IndexFigures> {
        let index = &table.indexes[index_no];
        let pages = self.space.pages_of(index.id);
        let leaf_pages = pages.saturating_sub(index.tree.inner_pages()).max(1);
        let (distinct, entries, pages_seen) = if leaf_pages <= PAGES_FEW {
            let (distinct, entries) = counted(table, index_no)?;
            (distinct, entries, leaf_pages)
        } else {
            let (distinct, entries) = estimated(table, index_no)?;
            (distinct, entries, u64::from(SAMPLES))
        };
        Ok(IndexFigures { pages, leaf_pages, distinct, entries, pages_seen })
    }
}

/// Different values of the leading parts, and entries, by going through all of them.
fn counted(table: &Table, index_no: usize) -> Result<(Vec<u64>, u64)> {
    let index = &table.indexes[index_no];
    let mut distinct = vec![0; index.full_parts.len()];
    let mut entries = 0;
    let (mut before, mut ends_before) = (Vec::new(), Vec::new());
    let mut cursor = index.tree.cursor();
    cursor.first()?;
    while cursor.valid() {
        let (key, value) = cursor.entry();
        if !is_deleted(index_no, value)? {
            entries += 1;
            let ends = part_ends(table, &index.full_parts, key)?;
            let is_same = |at: &usize| ends_before.get(*at).is_some_and(|end: &usize| key[..ends[*at]] == before[..*end]);
            let same = (0..ends.len()).take_while(is_same).count();
            distinct[same..].iter_mut().for_each(|count| *count += 1);
            before.clear();
            before.extend_from_slice(key);
            ends_before = ends;
        }
        cursor.next()?;
    }
    Ok((distinct, entries))
}

/// The same by samples: a longer prefix has no fewer values than a shorter one.
fn estimated(table: &Table, index_no: usize) -> Result<(Vec<u64>, u64)> {
    let parts = table.indexes[index_no].full_parts.len();
    let entries = entries_in(table, index_no, &KeyRange::all())?;
    let mut distinct = Vec::with_capacity(parts);
    for count in 1..=parts {
        let each = rows_per_key(table, index_no, count)?.unwrap_or(1.0).max(1.0);
        let values = (entries as f64 / each).round() as u64;
        let least = distinct.last().copied().unwrap_or(1);
        distinct.push(values.max(least).min(entries));
    }
    Ok((distinct, entries))
}

fn is_deleted(index_no: usize, value: &[u8]) -> Result<bool> {
    match index_no {
        0 => Ok(RowHeader::read(value).map_err(|_| Error::corrupt("row shorter than its header"))?.is_deleted()),
        _ => Ok(entry_value(value)?.0 & ENTRY_DELETED != 0),
    }
}

/// Where each part of a key ends.
fn part_ends(table: &Table, parts: &[KeyPart], key: &[u8]) -> Result<Vec<usize>> {
    let mut ends = Vec::with_capacity(parts.len());
    let mut end = 0;
    for part in parts {
        end += record::key::part_bytes(table.layout().column_type(part.column), part, &key[end..])
            .map_err(|_| Error::corrupt("index key shorter than its parts"))?;
        ends.push(end);
    }
    Ok(ends)
}

/// Entries of a range, by a look at the tree's inner pages; delete-marked ones count.
pub(crate) fn entries_in(table: &Table, index_no: usize, range: &KeyRange) -> Result<u64> {
    let counted = table.indexes[index_no].tree.count_estimate(Bound::Included(&range.lower), range.upper_bound());
    match counted.map_err(Error::from) {
        // A damaged page fails those who need it; whoever plans may come to do without.
        Err(Error::Corruption { .. }) => Ok(table.rows_estimate()),
        other => other,
    }
}

/// See [`Session::rows_per_key`].
fn rows_per_key(table: &Table, index_no: usize, parts: usize) -> Result<Option<f64>> {
    let index = &table.indexes[index_no];
    let parts = &index.full_parts[..parts.min(index.full_parts.len())];
    let (mut shares, mut sizes) = (0.0, 0.0);
    let mut samples = 0.0;
    for i in 0..SAMPLES {
        let share = (f64::from(i) + 0.5) / f64::from(SAMPLES);
        let Some(key) = index.tree.key_near(share)? else { continue };
        let end = part_ends(table, parts, &key)?.last().copied().unwrap_or(0);
        let size = entries_in(table, index_no, &KeyRange::prefix(&key[..end]))?;
        shares += 1.0 / size.max(1) as f64;
        sizes += size.max(1) as f64;
        samples += 1.0;
    }
    // Rows of a key taken by chance, and of one taken by a row by chance: the same where all keys have as many. Otherwise those that are asked for are
    // likely to be among the frequent ones; between the two neither is far off.
    Ok((samples > 0.0).then(|| (samples / shares * (sizes / samples)).sqrt()))
}

/// What a column holds in a row as it lies in its leaf; `None` of one that is deleted, or too long to be there whole.
fn stored_value(table: &Table, stored: &[u8], column: usize) -> Result<Option<Value>> {
    let header = RowHeader::read(stored).map_err(|_| Error::corrupt("row shorter than its header"))?;
    if header.is_deleted() || header.flags & EXTERNAL != 0 {
        return Ok(None);
    }
    table.row_ref(stored)?.value(column).map(Some).map_err(|_| Error::corrupt("a row that cannot be read"))
}
