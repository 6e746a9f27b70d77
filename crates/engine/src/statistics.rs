//! How many rows share the leading parts of an index key, and which values a column has, from a few samples.
//!
//! A key sampled by row stands in a group of its own size, so large groups are met more often; the mean of `1 / size` over such samples is
//! distinct keys per row whatever the distribution, and its inverse the rows that a key finds, taken by chance.

use crate::external::EXTERNAL;
use crate::range::KeyRange;
use crate::session::Session;
use crate::table::Table;
use crate::{Error, Result};
use record::RowHeader;
use std::ops::ControlFlow;
use types::Value;

/// Keys looked at.
const SAMPLES: u32 = 8;

/// Places of a table at which rows are looked at for the values of a column, and how many at each.
const PLACES: u32 = 32;
const ROWS_OF_PLACE: usize = 16;

impl Session {
    /// About how many entries of an index share the values of its first `parts` parts, those of the primary key behind a secondary one
    /// included. `None` when the index is empty.
    pub fn rows_per_key(&self, table: &Table, index_no: usize, parts: usize) -> Result<Option<f64>> {
        let index = &table.indexes[index_no];
        let parts = &index.full_parts[..parts.min(index.full_parts.len())];
        let (mut shares, mut sizes) = (0.0, 0.0);
        let mut samples = 0.0;
        for i in 0..SAMPLES {
            let share = (f64::from(i) + 0.5) / f64::from(SAMPLES);
            let Some(key) = index.tree.key_near(share)? else { continue };
            let mut end = 0;
            for part in parts {
                end += record::key::part_bytes(table.layout().column_type(part.column), part, &key[end..])
                    .map_err(|_| Error::corrupt("index key shorter than its parts"))?;
            }
            let size = self.estimate(table, index_no, &KeyRange::prefix(&key[..end]))?;
            shares += 1.0 / size.max(1) as f64;
            sizes += size.max(1) as f64;
            samples += 1.0;
        }
        // Rows of a key taken by chance, and of one taken by a row by chance: the same where all keys have as many. Otherwise those that are asked for are
        // likely to be among the frequent ones; between the two neither is far off.
        Ok((samples > 0.0).then(|| (samples / shares * (sizes / samples)).sqrt()))
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
        table.primary().tree.get_ascending(keys.iter().map(Vec::as_slice), |_, stored| {
            match stored.map_or(Ok(None), |stored| stored_value(table, stored, column)) {
                Ok(value) => values.extend(value),
                Err(error) => damage = Some(error),
            }
            if damage.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        damage.map_or(Ok(values), Err)
    }
}

/// What a column holds in a row as it lies in its leaf; `None` of one that is deleted, or too long to be there whole.
fn stored_value(table: &Table, stored: &[u8], column: usize) -> Result<Option<Value>> {
    let header = RowHeader::read(stored).map_err(|_| Error::corrupt("row shorter than its header"))?;
    if header.is_deleted() || header.flags & EXTERNAL != 0 {
        return Ok(None);
    }
    table.row_ref(stored)?.value(column).map(Some).map_err(|_| Error::corrupt("a row that cannot be read"))
}
