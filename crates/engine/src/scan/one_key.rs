//! The one row of a whole unique key, where nothing but rows is locked.
//!
//! While a locking scan goes over the entries of the key, it may go from one row to another, and to an entry before those that were looked at: then none of the rows that the scan has come by
//! has the key any more, and yet there was one at any time. So where no row was found the scan looks again, until it has seen that there was none.
//!
//! # Invariants
//! 1. Two looks in a row that find the same entries, and behind them the same versions, none of which has the key or may get it back, show that there was no row when the second one began: a row
//!    that had the key then has an entry, which that look came by, and its version is another one than at the end of the first.
//! 2. Who looks again finds something that has changed, or that the row is there. So it ends when the key stands still for two looks.

use crate::Result;
use crate::scan::{EntryBatch, Scan};
use crate::table::Table;
use record::header::RowHeader;

/// What was seen behind an entry: its key, whether it is marked, and the newest version of its row.
type Seen = (Vec<u8>, bool, Option<RowHeader>);

/// What a look for the row of a unique key came by.
#[derive(Default)]
pub(crate) struct OneKey {
    /// The entries of this look.
    entries: EntryBatch,
    /// What the look before came to, if no row may have the key.
    before: Option<Vec<Seen>>,
}

impl OneKey {
    /// The look comes by these entries.
    pub(crate) fn comes_by(&mut self, batch: &EntryBatch) {
        self.entries.extend(batch);
    }

    /// The look begins anew.
    pub(crate) fn begin_again(&mut self) {
        self.entries.clear();
    }
}

impl Scan<'_> {
    /// A look has found no row: whether there is to be another.
    pub(crate) fn looks_again(&self, table: &Table, look: &mut OneKey) -> Result<bool> {
        let index = &table.indexes[self.state.index_no];
        let (mut seen, mut all_are_left) = (Vec::with_capacity(look.entries.len()), true);
        for no in 0..look.entries.len() {
            let entry = look.entries.entry(no);
            all_are_left &= self.session.is_left_behind(table, index, &entry)?;
            seen.push((entry.key.to_vec(), entry.marked, self.session.engine.newest(table, entry.primary_key)?));
        }
        look.begin_again();
        let is_shown = seen.is_empty() || all_are_left && look.before.as_ref() == Some(&seen);
        look.before = all_are_left.then_some(seen);
        Ok(!is_shown)
    }
}
