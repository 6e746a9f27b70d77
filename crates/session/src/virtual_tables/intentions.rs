//! Locks on whole tables as `performance_schema.data_locks` shows them: IX of who changes a table or locks its rows against everybody, IS of who locks them against writers.
//!
//! There are none here: what they keep apart in MySQL metadata locks do. They follow from these and from the row locks, when somebody looks.
//!
//! # Invariants
//! 1. Whoever holds or awaits a row lock of a table has one of them on it, and so has who has changed it, whatever row locks that took.

use super::lock_picture::{ShownLock, transaction_id};
use crate::context::Core;
use base::TableId;
use catalog::{CatalogError, TableEntry};
use engine::TransactionInfo;
use lock_manager::LockMode;
use lock_manager::metadata::{Protects, Share};
use lock_manager::shares::HoldKind;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// An intention lock, which is always granted.
pub(crate) struct TableIntention {
    /// `ENGINE_LOCK_ID`.
    pub id: String,
    /// `ENGINE_TRANSACTION_ID`.
    pub transaction: u64,
    /// `THREAD_ID`: the engine's own have none.
    pub thread: Option<u64>,
    /// The table.
    pub table: Arc<TableEntry>,
    /// Against everybody: IX; else IS.
    pub exclusive: bool,
}

impl TableIntention {
    /// `LOCK_MODE`.
    pub fn mode_name(&self) -> &'static str {
        if self.exclusive { "IX" } else { "IS" }
    }

    /// A number for `OBJECT_INSTANCE_BEGIN`: MySQL's is an address and only told apart.
    pub fn instance(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.id.hash(&mut hasher);
        hasher.finish() >> 16
    }
}

/// By owner, table and mode: whose connection it is, and the table.
type Found = BTreeMap<(u64, TableId, bool), (u64, Arc<TableEntry>)>;

/// The intention locks of a moment: by owner, then by table.
pub(super) fn intentions(core: &Core, locks: &[ShownLock], transactions: &[TransactionInfo]) -> executor::Result<Vec<TableIntention>> {
    let mut found = Found::new();
    for lock in locks {
        let Some((table, _)) = &lock.table else { continue };
        let shared = matches!(lock.info.mode, LockMode::Shared | LockMode::SharedGap | LockMode::SharedNextKey);
        let exclusive = !shared || lock.info.is_auto_increment();
        found.entry((lock.info.owner, table.def.id, exclusive)).or_insert_with(|| (lock.info.client, Arc::clone(table)));
    }
    let numbers: HashMap<u64, u64> = transactions.iter().map(|t| (t.owner, t.txn.0)).collect();
    for lock in core.shared.engine.locks().metadata_locks() {
        // Who has changed nothing has locked rows, or read them only, whatever its statement might have done.
        if numbers.get(&lock.owner).is_none_or(|txn| *txn == 0) {
            continue;
        }
        let (Protects::Table(id), HoldKind::Share(Share::Write), None) = (lock.protects, lock.kind, lock.awaited) else { continue };
        match core.shared.catalog.table_by_id(id) {
            Ok(Some(table)) => _ = found.entry((lock.owner, id, true)).or_insert((lock.client, table)),
            Ok(None) | Err(CatalogError::UnknownDatabase(_) | CatalogError::UnknownTable { .. }) => {}
            Err(error) => return Err(core.catalog_error(error)),
        }
    }
    let shown = |((owner, table_id, exclusive), (client, table)): ((u64, TableId, bool), (u64, Arc<TableEntry>))| TableIntention {
        id: format!("{owner}:{}:{}", table_id.0, if exclusive { "IX" } else { "IS" }),
        transaction: transaction_id(numbers.get(&owner).copied().unwrap_or(0), owner),
        thread: Some(client).filter(|client| *client != 0),
        table,
        exclusive,
    };
    Ok(found.into_iter().map(shown).collect())
}
