//! Purge between snapshots: what a finished transaction left behind goes although an old view does not see the transaction, when no view needs it.
//!
//! A view that idles for an hour needs one version of each row, not those that were made since (`txn::Snapshots`). Two things see to it:
//! - who writes a row whose older versions nobody needs says in his undo record how readers go on who do not see the version he replaces
//!   ([`Session::plan_skip`], `skip_plan.rs`): so a chain is as long as there are versions that are needed, plus two; with his commit he tells which records nobody comes by any more;
//! - purge takes a transaction none of whose undo records is on the way of a view to a row that it sees, removes what it left behind, and releases its undo.
//!
//! # Invariants
//! 1. A version is left out of a chain only under a version that all but the old views see, and that is not taken back: it has finished.
//! 2. An undo record is released only when no open view comes by it on its way to a row that it sees, whether the row's newest version stays or is rolled back. Who
//!    meets a released record sees nothing behind it (`version.rs`).
//! 3. What is released stays released: views only close, and those opened later see what was settled.
//! 4. Pruning need not survive a crash: no view does.

use crate::Result;
use crate::engine::Engine;
use crate::purge::Why;
use crate::purge::history::{Finished, LeftBehind};
use crate::purge::rounds::BATCH;
use crate::session::Session;
use crate::undo_record::{Change, OldHeader, UndoRecord};
use crate::version::{Chain, Headers, header, is_nothing};
use crate::write::external::EXTERNAL;
use crate::{Error, purge::Postponed};
use base::{TxnId, UndoPtr};
use lock_manager::metadata::Share;
use record::header::{DELETE_MARK, RowHeader};
use smallvec::SmallVec;
use std::sync::Arc;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Mutex, Rank};
use txn::Snapshots;

/// Transactions that finish between two looks of writers at the views, at least, and places for views that one of them may pay for.
const LOOK_AFTER_MIN: u64 = 16;
const PLACES_PER_TRANSACTION: u64 = 8;
/// Versions of a row that purge looks at, at most; a row with more keeps them.
const LOOK_STEPS_MAX: usize = 64;

/// The views that writers and purge go by.
pub(crate) struct Prune {
    /// Whether a view lags. Relaxed: a writer that misses the change does a moment longer as before.
    on: AtomicBool,
    /// Grows when the views change; release, after them.
    generation: AtomicU64,
    views: Mutex<Option<Arc<Snapshots>>>,
    /// The transaction number from which on writers look at the views again; relaxed.
    look_next: AtomicU64,
    /// Transactions purged between snapshots.
    pub(crate) pruned: AtomicU64,
    /// A bug that the simulator plants: a skip to what a newer old view sees leads straight there, past the skip that an older one needs. Looked at where it matters only.
    pub(crate) loses_older_skips: AtomicBool,
    /// Times that somebody looked at all open views for a version that a rollback or purge met.
    #[cfg(test)]
    pub(crate) looks_at_views: AtomicU64,
    /// Transactions whose records were looked at between snapshots.
    #[cfg(test)]
    pub(crate) looked_at: AtomicU64,
    /// Looks at a row, whether a view comes by a record of it.
    #[cfg(test)]
    pub(crate) looks_at_rows: AtomicU64,
}

impl Prune {
    pub(crate) fn new() -> Prune {
        let views = Mutex::new(Rank::Leaf, None);
        let zero = || AtomicU64::new(0);
        Prune {
            on: AtomicBool::new(false),
            generation: zero(),
            views,
            look_next: zero(),
            pruned: zero(),
            loses_older_skips: AtomicBool::new(false),
            #[cfg(test)]
            looks_at_views: zero(),
            #[cfg(test)]
            looked_at: zero(),
            #[cfg(test)]
            looks_at_rows: zero(),
        }
    }

    /// Whether some view lagged when somebody last looked.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Brings a session's copy of the views up to date, of the generation beside it.
    pub(crate) fn copy_views(&self, generation: &mut u64, views: &mut Option<Arc<Snapshots>>) {
        let now = self.generation.load(Ordering::Acquire);
        if *generation != now {
            (*generation, *views) = (now, self.views.lock().clone());
        }
    }

    /// There is no history to prune.
    pub(crate) fn off(&self) {
        self.set(None);
    }

    fn set(&self, views: Option<Arc<Snapshots>>) {
        if views.is_none() && !self.on.load(Ordering::Relaxed) {
            return;
        }
        let on = views.is_some();
        *self.views.lock() = views;
        self.generation.fetch_add(1, Ordering::Release);
        self.on.store(on, Ordering::Relaxed);
    }
}

/// What an undo record tells by itself of who needs it.
enum Glance {
    /// Nobody comes by it but a rollback.
    RollbackOnly,
    /// It is left to the ordinary purge.
    NeverBetween,
    /// It replaced the version that an old view sees.
    FirstChange,
    /// Whether a view comes by it is to be looked for. Beside what it left: whether it leads by its skip to a row that an old view sees, and so one comes by it until readers are led past it.
    Leaves(Left, bool),
}

impl Glance {
    /// Whether it tells that its transaction stays until somebody leads past the record.
    fn keeps(&self) -> bool {
        matches!(self, Glance::NeverBetween | Glance::FirstChange | Glance::Leaves(_, true))
    }

    /// Whether the record may have left something behind beside itself.
    fn leaves_more(&self) -> bool {
        !matches!(self, Glance::RollbackOnly | Glance::Leaves(Left::Nothing, _))
    }
}

/// What a change left behind beside its undo record.
enum Left {
    Nothing,
    Entries,
    Row,
}

/// What an undo record tells by itself.
fn glance(views: &Snapshots, record: &UndoRecord<'_>) -> Glance {
    let (old, left) = match record.change {
        Change::Insert | Change::InsertRun { .. } | Change::Chain { .. } => return Glance::RollbackOnly,
        Change::Update { old, .. } if old.flags & EXTERNAL != 0 => return Glance::NeverBetween,
        Change::Delete { external, .. } if !external.is_empty() => return Glance::NeverBetween,
        Change::Update { old, old_keys: [], .. } => (old, Left::Nothing),
        Change::Update { old, .. } => (old, Left::Entries),
        Change::Delete { old, .. } => (old, Left::Row),
    };
    let shows_row =
        |old: &OldHeader| old.flags & DELETE_MARK == 0 && views.blind_to(record.txn).any(|view| view.sees(old.txn, TxnId::NONE));
    if shows_row(&old) {
        return Glance::FirstChange;
    }
    match &record.change {
        // Who does not see the version that it replaced sees no row.
        Change::Update { skip: Some(skip), .. } if is_nothing(&skip.old.into()) && matches!(left, Left::Nothing) => Glance::RollbackOnly,
        Change::Update { skip: Some(skip), .. } => Glance::Leaves(left, shows_row(&skip.old)),
        _ => Glance::Leaves(left, false),
    }
}

pub(crate) fn decode(bytes: &[u8]) -> Result<UndoRecord<'_>> {
    UndoRecord::decode(bytes).map_err(|_| Error::corrupt("undo record"))
}

impl Engine {
    /// Looks for views that lag. For all workers, and for writers.
    pub(crate) fn look_for_lagging_views(&self) {
        if self.allows(crate::format::Feature::PrunedVersions).is_err() {
            return;
        }
        // None: a view is just being opened. The views of the last round are as good.
        let Some(views) = self.txns.snapshots(self.config.prune_lag) else { return };
        self.prune.set((!views.is_empty()).then(|| Arc::new(views)));
    }

    /// For writers that have just finished a transaction, while a view lags: looks at the views again when enough have finished since somebody did. A row that changes all the
    /// while is skipped over only while the copy of the views sees who wrote it last: a copy that is old keeps all its versions.
    pub(crate) fn refresh_lagging_views(&self) {
        let (now, next) = (self.txns.finished_now().0, self.prune.look_next.load(Ordering::Relaxed));
        if now < next {
            return;
        }
        // A look costs as much as there are places for views: a share of what so many transactions cost.
        let after = (self.txns.view_places() as u64 / PLACES_PER_TRANSACTION).max(LOOK_AFTER_MIN);
        if self.prune.look_next.compare_exchange(next, now + after, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.look_for_lagging_views();
        }
    }

    /// The views that lag, as of the last look.
    pub(crate) fn lagging_views(&self) -> Option<Arc<Snapshots>> {
        if !self.prune.on.load(Ordering::Relaxed) {
            return None;
        }
        self.prune.views.lock().clone()
    }

    /// Purges what lagging views do not need: a batch of each of these shards. Returns how many transactions were purged, at least 1 when there is more to look at.
    pub(crate) fn prune_shards(self: &Arc<Engine>, session: &mut Session, shards: impl Iterator<Item = usize>) -> usize {
        let mut count = 0;
        for shard in shards {
            self.look_at_views_again();
            let Some(views) = self.lagging_views() else { continue };
            count += self.notice_passed(session, shard, &views);
            self.history.look_again(shard, views.oldest());
            let taken = self.history.take_between(shard, BATCH, |finished| views.settled(finished.txn));
            // There may be more to look at.
            count += usize::from(taken.len() == BATCH);
            for finished in taken {
                let pruned = self.prune_unread(session, &views, shard, finished).unwrap_or_else(|| {
                    !self.is_still_needed(session, &views, shard, finished)
                        && self.prune_or_keep(session, &views, Postponed::new(shard, finished))
                });
                count += usize::from(pruned);
            }
        }
        count
    }

    /// Hears from settled transactions of which records nobody comes by any more, purges those of whose nobody does, and has those looked at again that were kept for such
    /// a one. Returns how many were purged.
    pub(crate) fn notice_passed(&self, session: &mut Session, shard: usize, views: &Snapshots) -> usize {
        for record in self.history.take_passed(shard, |by| views.settled(by)) {
            self.undo.note_passed(record);
        }
        let go = self.history.ask_kept(shard, views, |record| self.undo.is_passed(record));
        self.prune.pruned.fetch_add(go.len() as u64, Ordering::Relaxed);
        go.iter().for_each(|finished| self.purge_whole(session, shard, *finished));
        go.len()
    }

    /// Of a transaction whose writer has told what it left behind, and that no old view comes by it: removes that, and nothing else is read. Then the transaction is purged, or
    /// kept until nobody comes by any other record of it. Returns whether it is purged; `None` when it is to be looked at.
    pub(crate) fn prune_unread(
        self: &Arc<Engine>,
        session: &mut Session,
        views: &Snapshots,
        shard: usize,
        finished: Finished,
    ) -> Option<bool> {
        if finished.left != LeftBehind::Listed {
            return None;
        }
        let ways = self.history.take_ways(shard, &finished).filter(|ways| ways.asked_all_blind(views, finished.txn))?;
        let left = self.history.take_left(shard, &finished)?;
        if !self.purge_records(session, finished, Why::NeededByNobody, left.records(finished.last_undo)).is_empty() {
            self.history.keep(shard, finished, UndoPtr::NONE);
            return Some(false);
        }
        let Some(finished) = self.history.left_is_gone(shard, &finished, ways, |record| self.undo.is_passed(record)) else {
            return Some(false);
        };
        self.prune.pruned.fetch_add(1, Ordering::Relaxed);
        self.purge_whole(session, shard, finished);
        Some(true)
    }

    /// Whether the record that kept a transaction when it was last looked at keeps it still, or another that tells so by itself; then it is back among those that are kept.
    pub(crate) fn is_still_needed(self: &Arc<Engine>, session: &mut Session, views: &Snapshots, shard: usize, finished: Finished) -> bool {
        // What cannot be read now is purged in its turn, which tells of it.
        let needed = match finished.needed {
            UndoPtr::NONE => None,
            passed if self.undo.is_passed(passed) => self.another_on_a_way(session, views, finished),
            record => self.is_needed(session, views, record).unwrap_or(true).then_some(record),
        };
        if let Some(needed) = needed {
            self.history.keep(shard, finished, needed);
        }
        needed.is_some()
    }

    /// Of a transaction that has left nothing but undo, the newest record that leads to a row which an old view sees, and past which nobody is led: then nothing else of it
    /// need be read. `None` when all of it is to be looked at.
    fn another_on_a_way(&self, session: &mut Session, views: &Snapshots, finished: Finished) -> Option<UndoPtr> {
        let mut at = if finished.left == LeftBehind::Nothing { finished.last_undo } else { UndoPtr::NONE };
        while !at.is_none() {
            let look = |bytes: &[u8]| decode(bytes).map(|record| (record.previous, glance(views, &record).keeps()));
            let (previous, keeps) = self.undo.read_near(&mut session.buffers.near, at, look).ok()?.ok()?;
            if keeps && !self.undo.is_passed(at) {
                return Some(at);
            }
            at = previous;
        }
        None
    }

    /// Purges a transaction, of which nothing is purged yet, if no view needs any of its undo records; else it is kept, and only what no view needs of what it left
    /// behind goes. Returns whether it is purged.
    pub(crate) fn prune_or_keep(self: &Arc<Engine>, session: &mut Session, views: &Snapshots, work: Postponed) -> bool {
        let (shard, finished) = work.place();
        match self.prune_transaction(session, views, work) {
            Ok(None) => {
                self.prune.pruned.fetch_add(1, Ordering::Relaxed);
                true
            }
            Ok(Some(needed)) => {
                self.history.keep(shard, finished, needed);
                false
            }
            Err(_) => {
                self.history.keep(shard, finished, UndoPtr::NONE);
                false
            }
        }
    }

    /// Purges a transaction if no view needs any of its undo records. Else tells one that is needed, if it knows one, and removes those entries and deleted rows that
    /// the transaction left behind and no view needs: readers would step over them for as long as the view is open. Its undo stays as it is, and it is purged once more in its turn.
    fn prune_transaction(self: &Arc<Engine>, session: &mut Session, views: &Snapshots, mut work: Postponed) -> Result<Option<UndoPtr>> {
        #[cfg(test)]
        self.prune.looked_at.fetch_add(1, Ordering::Relaxed);
        let mut glances = SmallVec::<[Glance; 32]>::new();
        for (address, _) in &work.records {
            let look = |bytes: &[u8]| decode(bytes).map(|record| glance(views, &record));
            glances.push(self.undo.read_near(&mut session.buffers.near, *address, look)??);
        }
        if !self.read_and_look(session, &mut work, |record| glances.push(glance(views, record))) {
            return Ok(Some(UndoPtr::NONE));
        }
        let is_new = work.finished.needed.is_none();
        // One that was kept for a record that was passed: its others are passed in time as well, and until then needed. Else the rows tell.
        let trusts = is_new || self.undo.is_passed(work.finished.needed);
        let looks = || work.records.iter().map(|(address, _)| *address).zip(&glances);
        // What tells by itself that the transaction stays spares the looks at the rows of the others.
        let stays = |glance: &Glance| matches!(glance, Glance::NeverBetween) || is_new && matches!(glance, Glance::FirstChange);
        // Newer changes of the row may lead past a first one, but hardly so soon.
        let mut needed = looks().find(|(_, glance)| stays(glance)).map_or(UndoPtr::NONE, |(address, _)| address);
        let mut garbage = SmallVec::<[UndoPtr; 16]>::new();
        for (address, glance) in looks() {
            match glance {
                Glance::RollbackOnly | Glance::NeverBetween => {}
                Glance::FirstChange => {
                    if needed.is_none() && self.is_on_a_way(session, views, address, trusts)? {
                        needed = address;
                    }
                }
                Glance::Leaves(Left::Nothing, skips) => {
                    if needed.is_none() && self.is_on_a_way(session, views, address, trusts && *skips)? {
                        needed = address;
                    }
                }
                Glance::Leaves(Left::Entries, skips) => {
                    if needed.is_none() && self.is_on_a_way(session, views, address, trusts && *skips)? {
                        needed = address;
                    }
                    // The way may lead by the record, and the version that has the entries may yet be needed by nobody.
                    garbage.push(address);
                }
                Glance::Leaves(Left::Row, _) => {
                    if self.is_needed(session, views, address)? {
                        needed = address;
                    } else {
                        garbage.push(address);
                    }
                }
            }
        }
        if !needed.is_none() {
            // What has to wait is dealt with when the transaction is purged.
            self.purge_records(session, work.finished, Why::NeededByNobody, garbage.into_iter());
            return Ok(Some(needed));
        }
        let leaving: SmallVec<[UndoPtr; 16]> = looks().filter(|(_, glance)| glance.leaves_more()).map(|(address, _)| address).collect();
        Ok((!self.purge_between(session, work, &leaving)).then_some(UndoPtr::NONE))
    }

    /// Purges a transaction that was read, and of which no view needs anything; `leaving` are those of its records that may have left something behind.
    /// `false` when some of it has to wait.
    pub(crate) fn purge_between(self: &Arc<Engine>, session: &mut Session, work: Postponed, leaving: &[UndoPtr]) -> bool {
        if !self.purge_records(session, work.finished, Why::NeededByNobody, leaving.iter().copied()).is_empty() {
            return false;
        }
        self.end_purge(work);
        true
    }

    /// Whether `f` says so of a version of a row that somebody needs: the newest, those that it may be rolled back to, and those that old views see.
    pub(crate) fn any_needed_version(&self, value: &[u8], mut f: impl FnMut(RowHeader, &[u8]) -> Result<bool>) -> Result<bool> {
        // As of the last round: what was needed then may be needed no more, never the other way round.
        let mut views = self.prune.views.lock().clone();
        loop {
            if self.any_met(views.as_deref(), value, &mut f)? {
                return Ok(true);
            }
            let now = self.prune.views.lock().clone();
            if now.as_ref().map(Arc::as_ptr) == views.as_ref().map(Arc::as_ptr) {
                return Ok(false);
            }
            views = now;
        }
    }

    /// [`Engine::is_needed`], without a look at the row where notes tell: `until_passed` says that the record is needed until it is passed.
    fn is_on_a_way(self: &Arc<Engine>, session: &mut Session, views: &Snapshots, address: UndoPtr, until_passed: bool) -> Result<bool> {
        if self.undo.is_passed(address) {
            return Ok(false);
        }
        if until_passed { Ok(true) } else { self.is_needed(session, views, address) }
    }

    /// Whether a view comes by this undo record on its way to a row that it sees. Also of records that purge deals with when all see them only.
    ///
    /// What is said of views that are looked at anew meanwhile is asked again: by an older copy a way leads over versions that it takes for not settled yet, and it ends too soon
    /// where what lies behind them was released since, as by the newer copy nobody comes by there.
    fn is_needed(self: &Arc<Engine>, session: &mut Session, views: &Snapshots, address: UndoPtr) -> Result<bool> {
        let mut newer: Option<Arc<Snapshots>> = None;
        loop {
            let views = newer.as_deref().unwrap_or(views);
            if self.is_needed_by(session, views, address)? {
                return Ok(true);
            }
            match self.lagging_views() {
                Some(now) if !std::ptr::eq(&*now, views) => newer = Some(now),
                _ => return Ok(false),
            }
        }
    }

    fn is_needed_by(self: &Arc<Engine>, session: &mut Session, views: &Snapshots, address: UndoPtr) -> Result<bool> {
        #[cfg(test)]
        self.prune.looks_at_rows.fetch_add(1, Ordering::Relaxed);
        let bytes = self.undo.read_near(&mut session.buffers.near, address, SmallVec::<[u8; 256]>::from_slice)?;
        let record = decode(&bytes)?;
        match record.change {
            // Only a rollback would ask for these.
            Change::Insert | Change::InsertRun { .. } | Change::Chain { .. } => return Ok(false),
            Change::Update { old, .. } if old.flags & EXTERNAL != 0 => return Ok(true),
            Change::Delete { external, .. } if !external.is_empty() => return Ok(true),
            Change::Update { .. } | Change::Delete { .. } => {}
        }
        loop {
            let Some(table) = self.table_to_purge(session, record.table)? else { return Ok(false) };
            let _shared = table.lock.share(Share::Definition, session.shard, session.purge_wait(), &session.cancel)?;
            if self.is_current(&table) {
                return table.primary().tree.get(record.key, |value| match value {
                    Some(value) => self.is_on_the_way(views, value, address),
                    None => Ok(false),
                })?;
            }
        }
    }

    /// The way of [`Engine::any_met`], of which only the records count: nothing of the rows is rebuilt.
    fn is_on_the_way(&self, views: &Snapshots, value: &[u8], address: UndoPtr) -> Result<bool> {
        let mut headers = Headers::new(&self.undo, header(value)?);
        let mut steps = 0;
        while !views.settled(headers.version().txn) {
            // A rollback may take the versions above away, and then the way begins here.
            if headers.version().undo == address || steps == LOOK_STEPS_MAX {
                return Ok(true);
            }
            match headers.step_direct() {
                Ok(Some(_)) => steps += 1,
                Ok(None) | Err(Error::UndoGone) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        let settled = headers.version();
        for view in views.blind_to(settled.txn) {
            let mut headers = Headers::new(&self.undo, settled);
            let mut comes_by = false;
            for step in 0.. {
                if step == LOOK_STEPS_MAX {
                    return Ok(true);
                }
                comes_by |= !headers.skips() && headers.version().undo == address;
                match headers.step() {
                    Ok(Some(version)) if view.sees(version.txn, TxnId::NONE) => {
                        if comes_by && version.flags & DELETE_MARK == 0 {
                            return Ok(true);
                        }
                        break;
                    }
                    Ok(Some(_)) => {}
                    Ok(None) | Err(Error::UndoGone) => break,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(false)
    }

    /// Whether `f` says so of what is met on the way from a row's newest version to the newest one that is settled, and from there to what each old view sees
    /// that does not see that. Also when a way is longer than [`LOOK_STEPS_MAX`].
    fn any_met(&self, views: Option<&Snapshots>, value: &[u8], mut f: impl FnMut(RowHeader, &[u8]) -> Result<bool>) -> Result<bool> {
        let mut chain = Chain::new(&self.undo, header(value)?, value, Vec::new());
        let mut steps = 0;
        loop {
            let version = chain.version();
            let settled = views.is_some_and(|views| views.settled(version.txn));
            if f(version, &chain.buffer)? || steps == LOOK_STEPS_MAX {
                return Ok(true);
            }
            if settled {
                break;
            }
            match chain.step_direct() {
                Ok(Some(_)) => steps += 1,
                Ok(None) | Err(Error::UndoGone) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        let (settled, bytes) = (chain.version(), std::mem::take(&mut chain.buffer));
        for view in views.into_iter().flat_map(|views| views.blind_to(settled.txn)) {
            let mut chain = Chain::new(&self.undo, settled, &bytes, std::mem::take(&mut chain.buffer));
            for step in 0.. {
                if step == LOOK_STEPS_MAX {
                    return Ok(true);
                }
                match chain.step() {
                    Ok(Some(version)) if view.sees(version.txn, TxnId::NONE) => {
                        if f(version, &chain.buffer)? {
                            return Ok(true);
                        }
                        break;
                    }
                    Ok(Some(_)) => {}
                    Ok(None) | Err(Error::UndoGone) => break,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(false)
    }

    /// Whether some open view does not see a finished transaction that all later views see.
    pub(crate) fn some_view_is_blind_to(&self, txn: TxnId) -> bool {
        self.open_views().is_none_or(|views| !views.settled(txn) || views.blind_to(txn).next().is_some())
    }

    /// The open views; `None` when there is always one that is just being opened.
    pub(crate) fn open_views(&self) -> Option<Snapshots> {
        #[cfg(test)]
        self.prune.looks_at_views.fetch_add(1, Ordering::Relaxed);
        for _ in 0..1000 {
            if let Some(views) = self.txns.snapshots(0) {
                return Some(views);
            }
            std::hint::spin_loop();
        }
        None
    }

    /// Finished transactions that were purged although an old view does not see them.
    pub fn pruned(&self) -> u64 {
        self.prune.pruned.load(Ordering::Relaxed)
    }
}
