//! Checking a table: every tree is sound, entries and rows agree, and every page that an index owns is reached from it.
//!
//! # Not here
//! What the rows should be; whether pages owned by nobody's index are orphans (`Catalog::free_orphans`).

use crate::engine::{COUNTERS_INDEX, Engine};
use crate::external::EXTERNAL;
use crate::table::{ENTRY_DELETED, Table, entry_value, split_entry};
use crate::version::header;
use crate::{Error, Result};
use base::IndexId;
use btree::{BTree, CheckError};
use record::header::DELETE_MARK;

/// What [`Engine::check_table`] counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableCheck {
    /// Rows whose newest version is live.
    pub rows: u64,
    /// Rows whose newest version is a deletion that purge has not removed yet.
    pub rows_deleted: u64,
    /// Indexes, primary first.
    pub indexes: Vec<IndexCheck>,
}

/// What was counted of one index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexCheck {
    /// The index.
    pub id: IndexId,
    /// Entries marked as left behind, which purge has not removed yet. Of the primary index: deleted rows.
    pub entries_deleted: u64,
    /// Pages that the space map says are the index's.
    pub pages_owned: u64,
    /// Pages of the tree, and of the overflow chains of its newest row versions. Chains of older versions are not counted.
    pub pages_reached: u64,
}

fn broken(error: CheckError) -> Error {
    match error {
        CheckError::Error(error) => error.into(),
        CheckError::Broken { page, what } => Error::Corruption { page, what },
    }
}

impl Engine {
    /// Checks all indexes of a table against each other. Nobody may write the table meanwhile; transactions may stand open on it.
    pub fn check_table(&self, table: &Table) -> Result<TableCheck> {
        let mut check = TableCheck::default();
        let mut primary = self.check_tree(&table.primary().tree)?;
        // Entries that the newest, live versions must have, per secondary index.
        let mut wanted: Vec<Vec<Vec<u8>>> = vec![Vec::new(); table.indexes.len()];
        let mut cursor = table.primary().tree.cursor();
        cursor.first()?;
        while cursor.valid() {
            let (key, value) = cursor.entry();
            let row = header(value)?;
            if row.flags & EXTERNAL != 0 {
                primary.pages_reached += self.chain_pages(table, value)?;
            }
            if row.flags & DELETE_MARK != 0 {
                check.rows_deleted += 1;
            } else {
                check.rows += 1;
                for (index, wanted) in table.indexes.iter().zip(&mut wanted).skip(1) {
                    let mut entry = Vec::new();
                    self.with_full_row(table, value, |row| table.secondary_key(index, row, key, &mut entry))??;
                    wanted.push(entry);
                }
            }
            cursor.next()?;
        }
        drop(cursor);
        primary.entries_deleted = check.rows_deleted;
        check.indexes.push(primary);
        for (index, wanted) in table.indexes.iter().zip(&mut wanted).skip(1) {
            let mut counted = self.check_tree(&index.tree)?;
            wanted.sort_unstable();
            let mut wanted = wanted.iter();
            let mut cursor = index.tree.cursor();
            cursor.first()?;
            while cursor.valid() {
                let (entry, value) = cursor.entry();
                split_entry(entry, value)?;
                if entry_value(value)?.0 & ENTRY_DELETED != 0 {
                    counted.entries_deleted += 1;
                } else if wanted.next().is_none_or(|wanted| wanted != entry) {
                    return Err(Error::corrupt(format!(
                        "index {} of table {}: entries and rows disagree at {entry:02x?}",
                        index.id, table.id
                    )));
                }
                cursor.next()?;
            }
            if let Some(missing) = wanted.next() {
                return Err(Error::corrupt(format!("index {} of table {}: no entry {missing:02x?}", index.id, table.id)));
            }
            check.indexes.push(counted);
        }
        Ok(check)
    }

    /// Checks the tree of the AUTO_INCREMENT counters.
    pub fn check_counters(&self) -> Result<IndexCheck> {
        self.check_tree(&BTree::open(&self.pool, &self.space, COUNTERS_INDEX, self.counters.root()))
    }

    fn check_tree(&self, tree: &BTree) -> Result<IndexCheck> {
        let stats = tree.check().map_err(broken)?;
        Ok(IndexCheck {
            id: tree.index,
            entries_deleted: 0,
            pages_owned: self.space.pages_of(tree.index),
            pages_reached: stats.leaf_pages + stats.inner_pages,
        })
    }

    /// Compares the space map in memory with its pages, and returns the indexes that own pages. Nobody may write meanwhile.
    pub fn check_space(&self) -> Result<Vec<IndexId>> {
        self.space.check()?;
        Ok(self.space.owners())
    }

    /// Bytes of undo records that rollback, readers or purge may still need.
    pub fn undo_live_bytes(&self) -> u64 {
        self.undo.live_bytes()
    }
}
