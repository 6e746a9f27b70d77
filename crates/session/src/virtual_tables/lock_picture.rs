//! One moment of locks and transactions, which all tables about them that a statement reads show.

use super::intentions::{TableIntention, intentions};
use super::lock_data::lock_data;
use crate::context::Core;
use catalog::{CatalogError, TableEntry};
use engine::{IndexId, TransactionInfo};
use lock_manager::{LockInfo, LockWait};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Locks that a picture holds at most (those of the last key are whole).
const LOCKS_MAX: usize = 200_000;
/// What has no id of its own (a transaction that has not written) is numbered from here, as in MySQL.
const READ_ONLY_TXN: u64 = 1 << 48;

/// Locks, waits and transactions, with what they belong to.
pub(crate) struct LockPicture {
    /// The locks.
    pub locks: Vec<ShownLock>,
    /// The locks on whole tables that follow from them and from metadata locks.
    pub intentions: Vec<TableIntention>,
    /// The waits, between them.
    pub waits: Vec<LockWait>,
    /// The transactions that have done something.
    pub transactions: Vec<TransactionInfo>,
}

/// A lock as tables show it.
pub(crate) struct ShownLock {
    /// What the lock manager knows.
    pub info: LockInfo,
    /// `ENGINE_LOCK_ID`: the same lock has the same id in every picture.
    pub id: String,
    /// Table and number of the index; `None` for the dictionary's own, and for what was dropped meanwhile.
    pub table: Option<(Arc<TableEntry>, usize)>,
}

impl ShownLock {
    /// `ENGINE_TRANSACTION_ID`.
    pub fn transaction(&self) -> u64 {
        transaction_id(self.info.txn.0, self.info.owner)
    }

    /// `THREAD_ID`: threads are numbered as their connections; the engine's own have none.
    pub fn thread(&self) -> Option<u64> {
        Some(self.info.client).filter(|client| *client != 0)
    }

    /// `LOCK_DATA`.
    pub fn data(&self) -> Option<String> {
        self.table.as_ref().map(|(entry, index)| lock_data(entry, *index, &self.info.key))
    }

    /// A number for `OBJECT_INSTANCE_BEGIN`: MySQL's is an address and only told apart.
    pub fn instance(&self) -> u64 {
        hash(&self.info) >> 16
    }
}

/// The id that tables show for a transaction.
pub(crate) fn transaction_id(txn: u64, owner: u64) -> u64 {
    if txn == 0 { READ_ONLY_TXN + owner } else { txn }
}

fn hash(lock: &LockInfo) -> u64 {
    let mut hasher = DefaultHasher::new();
    (lock.owner, lock.index, &lock.key, lock.mode_name(), lock.granted).hash(&mut hasher);
    hasher.finish()
}

/// The tables that indexes belong to, and the indexes' numbers in them.
pub(crate) fn tables_of_indexes(core: &Core, mut indexes: Vec<IndexId>) -> executor::Result<HashMap<IndexId, (Arc<TableEntry>, usize)>> {
    indexes.sort_unstable();
    indexes.dedup();
    let mut tables = HashMap::new();
    for (index, table) in core.shared.engine.tables_of_indexes(&indexes) {
        match core.shared.catalog.table_by_id(table) {
            Ok(Some(entry)) => {
                if let Some(no) = entry.storage.indexes.iter().position(|i| i.id == index) {
                    tables.insert(index, (entry, no));
                }
            }
            Ok(None) | Err(CatalogError::UnknownDatabase(_) | CatalogError::UnknownTable { .. }) => {}
            Err(error) => return Err(core.catalog_error(error)),
        }
    }
    Ok(tables)
}

impl LockPicture {
    /// The picture of the running statement: taken when it is first asked for, the same until the statement ends.
    pub(crate) fn of(core: &mut Core) -> executor::Result<Arc<LockPicture>> {
        if let Some(picture) = &core.lock_picture {
            return Ok(Arc::clone(picture));
        }
        let picture = Arc::new(LockPicture::take(core)?);
        core.lock_picture = Some(Arc::clone(&picture));
        Ok(picture)
    }

    fn take(core: &Core) -> executor::Result<LockPicture> {
        let engine = &core.shared.engine;
        let snapshot = engine.locks().snapshot(LOCKS_MAX);
        let tables = tables_of_indexes(core, snapshot.locks.iter().map(LockInfo::table_index).collect())?;
        let shown = |info: LockInfo| {
            let id = format!("{}:{}:{:016x}", info.owner, info.index.0, hash(&info));
            ShownLock { id, table: tables.get(&info.table_index()).cloned(), info }
        };
        let locks: Vec<ShownLock> = snapshot.locks.into_iter().map(shown).collect();
        let mut owners: Vec<u64> = locks.iter().map(|lock| lock.info.owner).collect();
        owners.sort_unstable();
        let mut transactions = engine.transactions();
        transactions.retain(|t| !t.txn.is_none() || t.view_open || owners.binary_search(&t.owner).is_ok());
        let intentions = intentions(core, &locks, &transactions)?;
        Ok(LockPicture { locks, intentions, waits: snapshot.waits, transactions })
    }
}
