//! How many rows share the leading parts of an index key, from a few samples.
//!
//! A key sampled by row stands in a group of its own size, so large groups are met more often; the mean of `1 / size` over such samples is
//! distinct keys per row whatever the distribution, and its inverse the rows that a key finds.

use crate::range::KeyRange;
use crate::session::Session;
use crate::table::Table;
use crate::{Error, Result};

/// Keys looked at.
const SAMPLES: u32 = 8;

impl Session {
    /// About how many entries of an index share the values of its first `parts` parts, those of the primary key behind a secondary one
    /// included. `None` when the index is empty.
    pub fn rows_per_key(&self, table: &Table, index_no: usize, parts: usize) -> Result<Option<f64>> {
        let index = &table.indexes[index_no];
        let parts = &index.full_parts[..parts.min(index.full_parts.len())];
        let mut shares = 0.0;
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
            samples += 1.0;
        }
        Ok((samples > 0.0).then(|| samples / shares))
    }
}
