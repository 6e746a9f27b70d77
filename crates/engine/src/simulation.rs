//! What only the crash simulator uses: a process that dies between the halves of a commit, background work done by hand, and
//! the bugs that it plants to prove that it would find them.

use crate::Result;
use crate::engine::Engine;
use crate::prepared::Xid;
use crate::purge::rounds::BATCH;
use crate::purge::{Postponed, Why};
use crate::session::Session;
use crate::warm::{DumpStatus, LoadStatus};
use base::{Lsn, PageNo, TxnId};
use env::Disk;
use std::sync::Arc;

/// The process dies between the halves of this session's commit.
pub fn leave_commit(session: &mut Session) {
    session.abandon();
}

/// Takes back so many changes of a prepared transaction (none: a part of the newest), as a rollback does that is cut off, and makes that durable; one that has
/// none left is rolled back to its end. Not `told`: a bug, the log does not say that it begins. `false` when none has that name.
pub fn roll_back_prepared_in_part(session: &mut Session, xid: &Xid, changes: u64, told: bool) -> Result<bool> {
    let taken = if told { session.take_over_to_roll_back(xid) } else { session.take_over(xid) };
    let Some(tables) = taken else { return Ok(false) };
    let engine = Arc::clone(&session.engine);
    engine.branches.list(xid, TxnId::NONE, None);
    let undone = if changes == 0 { session.undo_newest_in_part() } else { session.undo_stretch(changes) };
    let undone = match undone {
        Ok(0) => session.rollback(),
        undone => {
            session.abandon();
            undone.map(drop)
        }
    };
    engine.branches.release(xid);
    drop(tables);
    undone?;
    session.make_log_durable()?;
    Ok(true)
}

/// Indexes of tables have ids from here on.
pub const FIRST_INDEX: u32 = crate::engine::FIRST_USER_INDEX;

/// Entries that rollbacks have left to purge, and purge has not dealt with.
pub fn leftovers(engine: &Engine) -> usize {
    engine.leftovers.snapshot().len()
}

/// Waits for all that a snapshot of this session waits for before it is opened: what its transaction has built on, and who had its locks before it.
pub fn settle_for_a_snapshot(session: &mut Session) -> Result<()> {
    session.settle()?;
    session.await_earlier_holders()
}

/// Shares the metadata locks of the tables of prepared transactions, as the start of the background threads does.
pub fn share_tables_of_prepared(engine: &Engine) -> Result<()> {
    engine.share_tables_of_prepared()
}

/// Writes cold undo out when there is more of it than memory should hold, as a background thread does. Returns the bytes written.
pub fn spill_undo(engine: &Engine) -> Result<u64> {
    match engine.undo.wants_spill() {
        true => Ok(engine.undo.spill()?),
        false => Ok(0),
    }
}

/// Writes the AUTO_INCREMENT counters that moved into their tree, as the purge thread does.
pub fn write_counters(engine: &Engine) -> Result<()> {
    engine.counters.write_back()
}

/// Where the list of the pages in memory is.
pub const PAGE_LIST: &str = crate::warm::FILE_DEFAULT;

/// Writes the list of the pages in memory, as the thread of warm starts does.
pub fn write_page_list(engine: &Engine) -> DumpStatus {
    engine.dump_pages_here()
}

/// Puts a list of any pages in its place, as of another directory.
pub fn write_foreign_page_list(disk: &dyn Disk, pages: &[PageNo]) -> std::io::Result<()> {
    crate::warm::write_list(disk, pages)
}

/// Reads the pages of the list, as the thread of warm starts does at a start.
pub fn read_page_list(engine: &Engine) -> LoadStatus {
    engine.load_pages_here()
}

/// Undo that is released cannot be read any more from that moment on. Not while what recovery found is still to be counted (a disk may fail that): who counts looks at what was released
/// meanwhile.
pub fn forget_released_undo(engine: &Engine) {
    if engine.uncounted.lock().is_none() {
        engine.undo.forget_released_at_once();
    }
}

/// A bug: a record is reserved in the log and never filled.
pub fn leave_hole(engine: &Engine) {
    std::mem::forget(engine.wal.reserve(16));
}

/// A bug: the session forgets what it has met that is not durable.
pub fn forget_dependencies(session: &Session) {
    session.dependencies.clear();
}

/// A bug: commits up to `lsn` are shown to readers before they are durable.
pub fn show_undurable(engine: &Engine, lsn: Lsn) {
    engine.txns.finish_durable(lsn);
}

/// A bug: a restart does not take the row locks of prepared transactions again.
pub fn unlock_prepared(engine: &Engine) {
    for (txn, _) in engine.branches.detached() {
        engine.txns.release(txn);
    }
}

/// A bug: the session forgets which tables its transaction has changed.
pub fn name_no_tables(session: &mut Session) {
    session.running.tables.clear();
}

/// A bug: row locks go before the commit record is in the log.
pub fn unlock_early(session: &Session) {
    if session.has_writes() {
        session.engine.txns.release(session.running.id);
    }
}

/// A bug: writers lead an old view past the place where an older one goes on further back.
pub fn lose_older_skips(engine: &Engine) {
    engine.prune.loses_older_skips.store(true, sync::atomic::Ordering::Relaxed);
}

/// A bug: the build of an index forgets the keys of changes that its snapshot does not see yet.
pub fn forget_unseen(build: &crate::OnlineBuild<'_>) {
    build.forgets_unseen.store(true, sync::atomic::Ordering::Relaxed);
}

/// A bug: what finished between snapshots is purged without a look at what they need.
pub fn prune_needed(engine: &Arc<Engine>) {
    prune_blindly(engine, |session, mut work| {
        engine.read_all(session, &mut work) && {
            let records: Vec<base::UndoPtr> = work.records.iter().map(|(address, _)| *address).collect();
            engine.purge_between(session, work, &records)
        }
    });
}

/// A bug: the rows that transactions have deleted which are kept for a snapshot go without a look at who sees them.
pub fn prune_rows_of_kept(engine: &Arc<Engine>) {
    prune_blindly(engine, |session, mut work| {
        if engine.read_all(session, &mut work) {
            let records: Vec<base::UndoPtr> = work.records.iter().map(|(address, _)| *address).collect();
            engine.purge_records(session, work.finished, Why::NeededByNobody, records.into_iter());
        }
        false
    });
}

/// Deals with all that finished between snapshots; what `purge` does not want is kept.
fn prune_blindly(engine: &Arc<Engine>, mut purge: impl FnMut(&mut Session, Postponed) -> bool) {
    let Some(views) = engine.txns.snapshots(engine.config.prune_lag).filter(|views| !views.is_empty()) else { return };
    let mut session = engine.connect();
    for shard in 0..engine.history.shard_count() {
        engine.history.look_again(shard, views.oldest());
        for finished in engine.history.take_between(shard, BATCH, |finished| views.settled(finished.txn)) {
            if !purge(&mut session, Postponed::new(shard, finished)) {
                engine.history.keep(shard, finished, base::UndoPtr::NONE);
            }
        }
    }
}
