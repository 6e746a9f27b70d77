//! Purge between snapshots: what a finished transaction left behind goes although an old view does not see the transaction, when no view needs it.
//!
//! A view that idles for an hour needs one version of each row, not those that were made since (`txn::Snapshots`). Two things see to it:
//! - who writes a row whose older versions nobody needs says in his undo record how readers go on who do not see the version he replaces
//!   ([`Session::plan_skip`]): so a chain is as long as there are versions that are needed, plus two;
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
use crate::external::EXTERNAL;
use crate::history::Finished;
use crate::purge::Why;
use crate::purge_rounds::BATCH;
use crate::session::Session;
use crate::undo_record::{Change, Difference, NOTHING, OldHeader, Skip, UndoRecord, common_ends, compose};
use crate::version::{Chain, ChainBuffers, Headers, header, is_nothing};
use crate::{Error, purge::Postponed};
use base::{TxnId, UndoPtr};
use lock_manager::metadata::Share;
use record::header::{DELETE_MARK, HEADER_BYTES, RowHeader};
use smallvec::SmallVec;
use std::sync::Arc;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Mutex, Rank};
use txn::{ReadView, Snapshots};
use undo::UndoStore;

/// Versions that a writer looks at, as a rule, for those that nobody needs.
const PLAN_STEPS: usize = 16;
/// And once in so many times that this did not do, so many: a row whose writers were not settled as often as that, one after the other, gets its skip all the same, and the next one is near.
const PLAN_FAR_EACH: u32 = 32;
const PLAN_STEPS_FAR: usize = 1024;
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
}

/// A session's copy of the views.
#[derive(Default)]
pub(crate) struct CachedViews {
    generation: u64,
    views: Option<Arc<Snapshots>>,
    /// Times that [`PLAN_STEPS`] did not do.
    too_far: u32,
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
        }
    }

    /// Whether some view lagged when somebody last looked.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
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

/// A [`Skip`] that owns its bytes.
pub(crate) struct PlannedSkip {
    old: OldHeader,
    prefix: usize,
    suffix: usize,
    middle: SmallVec<[u8; 64]>,
}

impl PlannedSkip {
    fn to_nothing() -> PlannedSkip {
        PlannedSkip { old: NOTHING, prefix: 0, suffix: 0, middle: SmallVec::new() }
    }

    /// To `target`, from a version that is replaced.
    fn new(target: RowHeader, bytes: &[u8], replaced: &[u8]) -> PlannedSkip {
        let (older, newer) = (&bytes[HEADER_BYTES..], &replaced[HEADER_BYTES..]);
        let (prefix, suffix) = common_ends(older, newer);
        PlannedSkip { old: target.into(), prefix, suffix, middle: SmallVec::from_slice(&older[prefix..older.len() - suffix]) }
    }

    pub(crate) fn as_skip(&self) -> Skip<'_> {
        Skip { old: self.old, prefix: self.prefix, suffix: self.suffix, middle: &self.middle }
    }
}

/// What a writer finds out about the undo record of a change to come.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) skip: Option<PlannedSkip>,
    /// An old view comes by the record until the row is changed again, which it is not often.
    pub(crate) stays: bool,
}

/// What an undo record tells by itself of who needs it.
enum Glance {
    /// Nobody comes by it but a rollback.
    RollbackOnly,
    /// It is left to the ordinary purge.
    NeverBetween,
    /// It replaced the version that an old view sees.
    FirstChange,
    /// Whether a view comes by it is to be looked for.
    Leaves(Left),
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
    let first = old.flags & DELETE_MARK == 0 && views.blind_to(record.txn).any(|view| view.sees(old.txn, TxnId::NONE));
    if first { Glance::FirstChange } else { Glance::Leaves(left) }
}

fn decode(bytes: &[u8]) -> Result<UndoRecord<'_>> {
    UndoRecord::decode(bytes).map_err(|_| Error::corrupt("undo record"))
}

impl Session {
    /// How readers go on that do not see the version `replaced`, when versions behind it are needed by nobody. One load when no view lags. Reads no file: it is called
    /// with the row's leaf latched exclusively.
    #[inline]
    pub(crate) fn plan_skip(&mut self, replaced: &[u8]) -> Plan {
        if self.engine.prune.on.load(Ordering::Relaxed) { self.plan_skip_among(replaced).unwrap_or_default() } else { Plan::default() }
    }

    #[cold]
    fn plan_skip_among(&mut self, replaced: &[u8]) -> Option<Plan> {
        let prune = &self.engine.prune;
        let generation = prune.generation.load(Ordering::Acquire);
        if self.buffers.prune.generation != generation {
            let cached = &mut self.buffers.prune;
            (cached.generation, cached.views) = (generation, prune.views.lock().clone());
        }
        let CachedViews { views, too_far, .. } = &mut self.buffers.prune;
        let views = views.as_deref()?;
        let newest = header(replaced).ok()?;
        if newest.flags & EXTERNAL != 0 || newest.txn == self.running.id || !views.settled(newest.txn) {
            return None;
        }
        let mut seen_alive = newest.flags & DELETE_MARK == 0 && views.some_sees(newest.txn);
        let mut skip = None;
        let blind: SmallVec<[&ReadView; Snapshots::OLD_MAX]> = views.blind_to(newest.txn).collect();
        if !newest.undo.is_none() && !blind.is_empty() {
            let told = |bytes: &[u8]| told_by_record(bytes, newest, replaced, &blind, &mut seen_alive);
            skip = match self.engine.undo.read_in_memory(newest.undo, told) {
                Ok(Some(Told::Skip(skip))) => Some(skip),
                // What cannot be read is told of when it is read for more than this.
                Ok(Some(Told::NoSkip) | None) | Err(_) => None,
                Ok(Some(Told::Further)) => {
                    let behind = SkipBehind {
                        undo: &self.engine.undo,
                        newest,
                        replaced,
                        blind: &blind,
                        loses_older_skips: &prune.loses_older_skips,
                    };
                    behind.skip(too_far, &mut self.buffers.chain, &mut seen_alive)
                }
            };
        }
        // Soon replaced again: then nobody comes by the record any more.
        let is_hot = newest.txn.0.saturating_add(self.engine.config.prune_lag) >= self.running.id.0;
        Some(Plan { skip, stays: seen_alive && !is_hot })
    }
}

/// What the record of a row's newest change tells about a skip from there.
enum Told {
    Skip(PlannedSkip),
    /// The ordinary step leads to what an old view sees, or somebody else deals with the row.
    NoSkip,
    /// What is behind it must be looked at.
    Further,
}

/// [`SkipBehind`] where the record of the newest change tells all: nearly always, for its writer planned as well. No version is built.
fn told_by_record(bytes: &[u8], newest: RowHeader, replaced: &[u8], blind: &[&ReadView], seen_alive: &mut bool) -> Told {
    let Ok(UndoRecord { txn, change, .. }) = decode(bytes) else { return Told::Further };
    let (old, prefix, suffix, middle, skip) = match change {
        Change::Update { old, prefix, suffix, middle, skip, .. } => (old, prefix, suffix, middle, skip),
        // Nobody sees what was before the row was there: the ordinary step says so.
        Change::Insert | Change::InsertRun { .. } => return Told::NoSkip,
        Change::Delete { .. } | Change::Chain { .. } => return Told::Further,
    };
    let is_seen = |writer: TxnId| blind.iter().any(|view| view.sees(writer, TxnId::NONE));
    if txn != newest.txn || old.flags & EXTERNAL != 0 {
        return Told::NoSkip;
    }
    if is_seen(old.txn) {
        *seen_alive |= old.flags & DELETE_MARK == 0;
        return Told::NoSkip;
    }
    let Some(skip) = skip.filter(|skip| is_seen(skip.old.txn)) else { return Told::Further };
    if skip.old.flags & EXTERNAL != 0 {
        return Told::NoSkip;
    }
    if is_nothing(&skip.old.into()) {
        return Told::Skip(PlannedSkip::to_nothing());
    }
    *seen_alive |= skip.old.flags & DELETE_MARK == 0;
    let (first, second) =
        (Difference { prefix, suffix, middle }, Difference { prefix: skip.prefix, suffix: skip.suffix, middle: skip.middle });
    match compose(&replaced[HEADER_BYTES..], first, second) {
        Some((prefix, suffix, middle)) => Told::Skip(PlannedSkip { old: skip.old, prefix, suffix, middle }),
        None => Told::NoSkip,
    }
}

/// Where the views `blind`, which do not see the version `replaced`, go on from it, found by going back from there.
struct SkipBehind<'a> {
    undo: &'a UndoStore,
    /// The header of `replaced`.
    newest: RowHeader,
    replaced: &'a [u8],
    blind: &'a [&'a ReadView],
    loses_older_skips: &'a AtomicBool,
}

/// What the headers behind a version tell of a skip from it.
enum Way {
    /// To nothing: those views see no version at all.
    Nothing,
    /// To the version so many steps behind.
    Steps(usize),
    /// There is none: the ordinary step leads to what they see, or somebody else deals with the row, or what is needed for it is not in memory.
    None,
    /// It is further away than was looked.
    TooFar,
}

impl SkipBehind<'_> {
    /// Notes in `seen_alive` when one of the views is found to see the row.
    fn skip(&self, too_far: &mut u32, buffers: &mut ChainBuffers, seen_alive: &mut bool) -> Option<PlannedSkip> {
        let steps = if *too_far % PLAN_FAR_EACH == PLAN_FAR_EACH - 1 { PLAN_STEPS_FAR } else { PLAN_STEPS };
        match self.way(steps, seen_alive) {
            Way::Nothing => Some(PlannedSkip::to_nothing()),
            Way::Steps(steps) => self.build(steps, buffers),
            Way::None => None,
            Way::TooFar => {
                *too_far = too_far.wrapping_add(1);
                None
            }
        }
    }

    fn is_seen(&self, version: RowHeader) -> bool {
        self.blind.iter().any(|view| view.sees(version.txn, TxnId::NONE))
    }

    /// By headers alone: most of what is met is passed by.
    fn way(&self, steps: usize, seen_alive: &mut bool) -> Way {
        let mut headers = Headers::new(self.undo, self.newest);
        for step in 0..steps {
            let above_skips = headers.skips();
            let version = match headers.step_unless_spilled() {
                Ok(Some(Some(version))) => version,
                Ok(Some(None)) | Err(Error::UndoGone) if step > 0 => return Way::Nothing,
                _ => return Way::None,
            };
            if version.flags & EXTERNAL != 0 {
                return Way::None;
            }
            if !self.is_seen(version) {
                continue;
            }
            *seen_alive |= version.flags & DELETE_MARK == 0;
            if step == 0 {
                return Way::None;
            }
            if is_nothing(&version) {
                return Way::Nothing;
            }
            let all_see = || self.blind.iter().all(|view| view.sees(version.txn, TxnId::NONE));
            if !headers.skips() || all_see() || self.loses_older_skips.load(Ordering::Relaxed) {
                return Way::Steps(step + 1);
            }
            // Older views go on from there by a skip of the record that leads there, and what is behind it otherwise may be released: all have to come by that record.
            return if step > 1 && !above_skips { Way::Steps(step) } else { Way::None };
        }
        Way::TooFar
    }

    fn build(&self, steps: usize, buffers: &mut ChainBuffers) -> Option<PlannedSkip> {
        let mut chain = Chain::with(self.undo, self.newest, self.replaced, std::mem::take(buffers));
        let there = (0..steps).all(|_| matches!(chain.step_unless_spilled(), Ok(Some(Some(_)))));
        let skip = there.then(|| PlannedSkip::new(chain.version(), &chain.buffer, self.replaced));
        *buffers = chain.into_buffers();
        skip
    }
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
            self.history.look_again(shard, views.oldest());
            let taken = self.history.take_between(shard, BATCH, |finished| views.settled(finished.txn));
            // There may be more to look at.
            count += usize::from(taken.len() == BATCH);
            for finished in taken {
                let pruned = !self.is_still_needed(session, &views, shard, finished)
                    && self.prune_or_keep(session, &views, Postponed::new(shard, finished));
                count += usize::from(pruned);
            }
        }
        count
    }

    /// Whether the record that kept a transaction when it was last looked at keeps it still; then it is back among those that are kept.
    pub(crate) fn is_still_needed(self: &Arc<Engine>, session: &mut Session, views: &Snapshots, shard: usize, finished: Finished) -> bool {
        // What cannot be read now is purged in its turn, which tells of it.
        let needed = !finished.needed.is_none() && self.is_needed(session, views, finished.needed).unwrap_or(true);
        if needed {
            self.history.keep(shard, finished, finished.needed);
        }
        needed
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
        let looks = || work.records.iter().map(|(address, _)| *address).zip(&glances);
        // What tells by itself that the transaction stays spares the looks at the rows of the others.
        let stays = |glance: &Glance| matches!(glance, Glance::NeverBetween) || is_new && matches!(glance, Glance::FirstChange);
        // Newer changes of the row may lead past a first one, but hardly so soon.
        let mut needed = looks().find(|(_, glance)| stays(glance)).map_or(UndoPtr::NONE, |(address, _)| address);
        let mut garbage = SmallVec::<[UndoPtr; 16]>::new();
        for (address, glance) in looks() {
            match glance {
                Glance::RollbackOnly | Glance::NeverBetween => {}
                Glance::FirstChange | Glance::Leaves(Left::Nothing) => {
                    if needed.is_none() && self.is_needed(session, views, address)? {
                        needed = address;
                    }
                }
                Glance::Leaves(Left::Entries) => {
                    if needed.is_none() && self.is_needed(session, views, address)? {
                        needed = address;
                    }
                    // The way may lead by the record, and the version that has the entries may yet be needed by nobody.
                    garbage.push(address);
                }
                Glance::Leaves(Left::Row) => {
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
        Ok((!self.purge_between(session, work)).then_some(UndoPtr::NONE))
    }

    /// Purges a transaction that was read, and of which no view needs anything; `false` when some of it has to wait.
    pub(crate) fn purge_between(self: &Arc<Engine>, session: &mut Session, work: Postponed) -> bool {
        let addresses: Vec<UndoPtr> = work.records.iter().map(|(address, _)| *address).collect();
        if !self.purge_records(session, work.finished, Why::NeededByNobody, addresses.into_iter()).is_empty() {
            return false;
        }
        self.end_purge(work);
        true
    }

    /// Whether `f` says so of a version of a row that somebody needs: the newest, those that it may be rolled back to, and those that old views see.
    pub(crate) fn any_needed_version(&self, value: &[u8], f: impl FnMut(RowHeader, &[u8]) -> Result<bool>) -> Result<bool> {
        // As of the last round: what was needed then may be needed no more, never the other way round.
        let views = self.prune.views.lock().clone();
        self.any_met(views.as_deref(), value, f)
    }

    /// Whether a view comes by this undo record on its way to a row that it sees. Also of records that purge deals with when all see them only.
    fn is_needed(self: &Arc<Engine>, session: &mut Session, views: &Snapshots, address: UndoPtr) -> Result<bool> {
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
