//! Prepared transactions (XA): detached from the session that prepared them, until any session commits them or rolls them back.
//!
//! # Invariants
//! 1. An XID names at most one branch: one that a session works on, or a prepared one.
//! 2. A prepared transaction keeps a slot, a lock owner and its shares of metadata locks: checkpoints, readers and those who wait for its
//!    rows take it for a running one.
//! 3. A checkpoint reads the slots, then the detached transactions, and nobody takes one over meanwhile (`Engine::handover`): one that moves is found. A branch is listed as prepared from before its slot settles after the `PREPARE` record until after its `COMMIT` record, or until just
//!    before it is logged that its rollback begins (a step that takes nothing back, before anything is). A checkpoint reads the slots first and this list second: it never takes a prepared
//!    transaction for one that is to be rolled back, nor one that is half rolled back for a prepared one.
//! 4. A restart finds row locks again by the ids in rows. Locks of reads and gaps are not logged and do not survive it, as in MySQL. A branch
//!    that has changed nothing has no record in the log and is forgotten by a restart.
//! 5. A restart finds the tables whose metadata locks a branch shares by the names that `PREPARE` and the checkpoint give (`changed_tables.rs`), without looking at its changes, however many. Only where nobody has
//!    named them (a directory of an older format, a branch of that time, thousands of tables) its undo is walked before anything is served.
//!
//! # Start at
//! [`Session::prepare`], [`Session::commit_prepared`].

use crate::changed_tables::{self, Named};
use crate::engine::Engine;
use crate::format::Feature;
use crate::log_op::LogOp;
use crate::rollback::StepBack;
use crate::session::Session;
use crate::slots::Slot;
use crate::undo_record::UndoRecord;
use crate::{Error, Result};
use base::{TableId, TxnId, UndoPtr};
use lock_manager::Owner;
use lock_manager::metadata::Share;
use lock_manager::shares::SharedTables;
use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;
use sync::{CachePadded, Mutex, Rank};

/// Id of a branch of a distributed transaction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Xid {
    /// Format; 1 when the client gives none.
    pub format_id: u64,
    /// The transaction.
    pub gtrid: Box<[u8]>,
    /// The branch of it.
    pub bqual: Box<[u8]>,
}

/// What a transaction takes along when it leaves its session.
pub(crate) struct Detached {
    /// None for a branch that has changed nothing.
    pub(crate) txn: TxnId,
    pub(crate) last_undo: UndoPtr,
    /// The tables that it has changed.
    pub(crate) named: Named,
    /// Names the transaction to those who ask whether it runs.
    _slot: Arc<CachePadded<Slot>>,
    pub(crate) owner: Arc<Owner>,
    /// Shares of the metadata locks of the tables it used; given back when it ends.
    tables: SharedTables,
}

/// A branch with a name.
enum Branch {
    /// A session works on it: it has not prepared it yet, or is ending it. With the transaction as long as recovery must take it for prepared.
    Claimed(TxnId, Named),
    /// Prepared; nobody works on it.
    Prepared(Box<Detached>),
}

impl Branch {
    fn listed(&self) -> (TxnId, &Named) {
        match self {
            Branch::Claimed(txn, named) => (*txn, named),
            Branch::Prepared(detached) => (detached.txn, &detached.named),
        }
    }
}

const SHARDS: usize = 16;

/// All branches, by name.
pub(crate) struct Branches {
    shards: [CachePadded<Mutex<HashMap<Xid, Branch>>>; SHARDS],
    hasher: foldhash::fast::RandomState,
}

impl Branches {
    pub(crate) fn new() -> Branches {
        let shard = |_| CachePadded::new(Mutex::new(Rank::Leaf, HashMap::new()));
        Branches { shards: std::array::from_fn(shard), hasher: foldhash::fast::RandomState::default() }
    }

    fn shard(&self, xid: &Xid) -> &Mutex<HashMap<Xid, Branch>> {
        &self.shards[self.hasher.hash_one(xid) as usize % SHARDS]
    }

    /// Gives a new branch its name; `false` when the name is taken.
    fn claim(&self, xid: &Xid) -> bool {
        let mut shard = self.shard(xid).lock();
        if shard.contains_key(xid) {
            return false;
        }
        shard.insert(xid.clone(), Branch::Claimed(TxnId::NONE, None));
        true
    }

    /// Says whether recovery is to take a branch that a session works on for prepared.
    pub(crate) fn list(&self, xid: &Xid, txn: TxnId, named: Named) {
        let old = self.shard(xid).lock().insert(xid.clone(), Branch::Claimed(txn, named));
        assert!(matches!(old, Some(Branch::Claimed(..))), "a branch is listed by the session that works on it");
    }

    /// Lets go of a prepared branch.
    pub(crate) fn put(&self, xid: Xid, detached: Detached) {
        self.shard(&xid).lock().insert(xid, Branch::Prepared(Box::new(detached)));
    }

    /// Takes a prepared branch to end it; it stays listed. `found` is called before it leaves the detached ones.
    fn take(&self, xid: &Xid, found: impl FnOnce(&Detached)) -> Option<Box<Detached>> {
        let mut shard = self.shard(xid).lock();
        let branch = shard.get_mut(xid)?;
        let Branch::Prepared(detached) = branch else { return None };
        found(detached);
        let claimed = Branch::Claimed(detached.txn, detached.named.clone());
        match std::mem::replace(branch, claimed) {
            Branch::Prepared(detached) => Some(detached),
            Branch::Claimed(..) => None,
        }
    }

    /// The name is free again.
    pub(crate) fn release(&self, xid: &Xid) {
        self.shard(xid).lock().remove(xid);
    }

    /// Prepared transactions that nobody works on.
    pub(crate) fn detached(&self) -> Vec<(TxnId, UndoPtr)> {
        let mut all = Vec::new();
        for shard in &self.shards {
            for branch in shard.lock().values() {
                if let Branch::Prepared(detached) = branch
                    && !detached.txn.is_none()
                {
                    all.push((detached.txn, detached.last_undo));
                }
            }
        }
        all.sort_unstable();
        all
    }

    /// Transactions that recovery must take for prepared, in order.
    pub(crate) fn listed(&self) -> Vec<(TxnId, Xid, Named)> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock();
            let listed = shard.iter().map(|(xid, branch)| (xid, branch.listed())).filter(|(_, (txn, _))| !txn.is_none());
            all.extend(listed.map(|(xid, (txn, named))| (txn, xid.clone(), named.clone())));
        }
        all.sort_unstable();
        all
    }

    /// The tables that a branch is known to have changed.
    #[cfg(test)]
    pub(crate) fn named(&self, xid: &Xid) -> Named {
        self.shard(xid).lock().get(xid).and_then(|branch| branch.listed().1.clone())
    }

    fn prepared(&self) -> Vec<Xid> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock();
            all.extend(shard.iter().filter(|(_, branch)| matches!(branch, Branch::Prepared(_))).map(|(xid, _)| xid.clone()));
        }
        all.sort_unstable();
        all
    }
}

impl Session {
    /// Gives the name to a branch that this session begins; `false` when there is one of that name. To be given back by
    /// [`Session::release_xid`], unless the branch is prepared.
    pub fn claim_xid(&self, xid: &Xid) -> bool {
        self.engine.branches.claim(xid)
    }

    /// The branch of that name has ended.
    pub fn release_xid(&self, xid: &Xid) {
        self.engine.branches.release(xid);
    }

    /// Prepares the running transaction, which then belongs to no session: it waits, over a crash too, for [`Session::commit_prepared`] or
    /// [`Session::rollback_prepared`]. Durable as far as the flush policy demands when it returns. `tables` are the shares of metadata
    /// locks that stay with it.
    ///
    /// After an error the name is free, and there is no transaction.
    pub fn prepare(&mut self, xid: &Xid, tables: SharedTables) -> Result<()> {
        assert!(self.in_transaction(), "prepare outside a transaction");
        let named = match self.log_prepared(xid) {
            Ok(named) => named,
            Err(error) => {
                self.engine.branches.release(xid);
                return Err(error);
            }
        };
        let (txn, last_undo, owner) = self.detach();
        self.engine.put_detached(xid.clone(), (txn, last_undo), named, owner, tables);
        self.leave_slot();
        Ok(())
    }

    /// The tables of the branch, as they are named in the log.
    fn log_prepared(&mut self, xid: &Xid) -> Result<Named> {
        if self.running.is_half_undone() {
            self.rollback()?;
            return Err(Error::Io("a statement of the transaction could not be taken back; the transaction was rolled back".into()));
        }
        let txn = self.running.id;
        if txn.is_none() {
            return Ok(None);
        }
        if let Err(error) = self.engine.allows(Feature::PreparedTransactions) {
            self.rollback()?;
            return Err(error);
        }
        let named = if self.engine.allows(Feature::PreparedTables).is_ok() { self.running.tables.named() } else { None };
        let mut tables = Vec::new();
        if let Some(named) = &named {
            changed_tables::put(named, &mut tables);
        }
        let prepare = LogOp::Prepare { txn, format_id: xid.format_id, gtrid: &xid.gtrid, bqual: &xid.bqual, tables: &tables };
        let unsettled = self.slot.unsettle();
        let lsn = self.engine.log(&mut self.buffers.undo, &prepare);
        // It is what is listed that changes; the slot says the same.
        self.engine.branches.list(xid, txn, named.clone());
        drop(unsettled);
        self.make_durable(lsn).map(|()| named)
    }

    /// Commits a prepared transaction; `false` when none has that name. The session must be outside a transaction.
    pub fn commit_prepared(&mut self, xid: &Xid) -> Result<bool> {
        let Some(tables) = self.take_over(xid) else { return Ok(false) };
        // What cannot be made durable stops the process, and recovery decides.
        self.commit()?;
        self.engine.branches.release(xid);
        drop(tables);
        Ok(true)
    }

    /// Rolls a prepared transaction back; `false` when none has that name. The session must be outside a transaction.
    pub fn rollback_prepared(&mut self, xid: &Xid) -> Result<bool> {
        let Some(tables) = self.take_over_to_roll_back(xid) else { return Ok(false) };
        // What fails is tried again without the session; the name is free either way.
        let rolled_back = self.rollback();
        self.engine.branches.release(xid);
        drop(tables);
        rolled_back?;
        // A crash must not bring back a branch, and its locks, that nobody remembers.
        self.make_log_durable()?;
        Ok(true)
    }
}

impl Session {
    /// Makes a prepared transaction the session's; the shares of metadata locks are the caller's.
    pub(crate) fn take_over(&mut self, xid: &Xid) -> Option<SharedTables> {
        let engine = Arc::clone(&self.engine);
        let _handover = engine.handover.read();
        let detached = engine.branches.take(xid, |detached| self.attach(detached.txn, detached.last_undo, Arc::clone(&detached.owner)))?;
        Some(detached.tables)
    }

    /// The same to roll it back. From here on recovery does so too: what the first step changes (secondary entries, all rows of a run but the first) is logged
    /// before that step is, and a log that ends in between must not show a branch that can be committed without them.
    pub(crate) fn take_over_to_roll_back(&mut self, xid: &Xid) -> Option<SharedTables> {
        let tables = self.take_over(xid)?;
        self.engine.branches.list(xid, TxnId::NONE, None);
        let (txn, next) = (self.running.id, self.running.last_undo);
        if !txn.is_none() {
            self.log_step(StepBack { txn, next });
        }
        Some(tables)
    }
}

impl Engine {
    /// The names of prepared transactions, in order.
    pub fn prepared_xids(&self) -> Vec<Xid> {
        self.branches.prepared()
    }

    /// Makes a transaction that recovery found prepared wait for its end again.
    pub(crate) fn restore_prepared(&self, txn: TxnId, last_undo: UndoPtr, xid: Xid, named: Named) {
        // Found by those who wait for its rows.
        let owner = self.locks.register(txn);
        let tables = SharedTables::new(&owner);
        self.put_detached(xid, (txn, last_undo), named, owner, tables);
    }

    fn put_detached(&self, xid: Xid, (txn, last_undo): (TxnId, UndoPtr), named: Named, owner: Arc<Owner>, tables: SharedTables) {
        let slot = self.slots.register_detached(owner.number());
        if !txn.is_none() {
            slot.start(txn, last_undo);
        }
        self.branches.put(xid, Detached { txn, last_undo, named, _slot: slot, owner, tables });
    }

    /// Shares the metadata locks of the tables that prepared transactions have changed. Before statements are served; the table source is set.
    pub(crate) fn share_tables_of_prepared(&self) -> Result<()> {
        for xid in self.branches.prepared() {
            let Some(mut detached) = self.branches.take(&xid, |_| ()) else { continue };
            let result = self.share_tables(&detached).map(|tables| detached.tables = tables);
            self.branches.put(xid, *detached);
            result?;
        }
        Ok(())
    }

    fn share_tables(&self, detached: &Detached) -> Result<SharedTables> {
        let named = detached.named.as_ref().map(|named| named.iter().copied().collect());
        let tables = match named.map_or_else(|| self.tables_of(detached.last_undo), Ok) {
            Err(Error::Corruption { what, .. }) => {
                (self.config.on_warning)(&format!(
                    "prepared transaction {}: {what}; it can be committed, not rolled back, and DDL of all tables waits for its end",
                    detached.txn
                ));
                self.source.get().map_or(Ok(Vec::new()), |source| source.table_ids())?.into_iter().collect()
            }
            other => other?,
        };
        let mut shared = SharedTables::new(&detached.owner);
        for id in tables {
            if let Some(table) = self.table_by_id(id)? {
                // Before anybody else is there.
                if !shared.share_now(&table.lock, Share::Write, detached.txn.0 as usize) {
                    return Err(Error::LockNotAvailable);
                }
            }
        }
        Ok(shared)
    }

    /// The tables that the undo records from here back name.
    fn tables_of(&self, last_undo: UndoPtr) -> Result<BTreeSet<TableId>> {
        let mut tables = BTreeSet::new();
        let mut at = last_undo;
        while !at.is_none() {
            let found = self.undo.read(at, |bytes| UndoRecord::decode(bytes).map(|record| (record.table, record.previous)))?;
            let (table, previous) = found.map_err(|_| Error::corrupt("undo record"))?;
            tables.insert(table);
            at = previous;
        }
        Ok(tables)
    }
}
