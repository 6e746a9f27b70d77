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
use crate::purge::Why;
use crate::purge_rounds::BATCH;
use crate::session::Session;
use crate::undo_record::{Change, NOTHING, OldHeader, Skip, UndoRecord, common_ends};
use crate::version::{Chain, header, is_nothing};
use crate::{Error, purge::Postponed};
use base::{TxnId, UndoPtr};
use lock_manager::metadata::Share;
use record::header::{DELETE_MARK, HEADER_BYTES, RowHeader};
use smallvec::SmallVec;
use std::sync::Arc;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Mutex, Rank};
use txn::{ReadView, Snapshots};

/// Versions that a writer looks at, at most, for those that nobody needs.
const PLAN_STEPS_MAX: usize = 4;
/// Versions of a row that purge looks at, at most; a row with more keeps them.
const LOOK_STEPS_MAX: usize = 64;

/// The views that writers and purge go by.
pub(crate) struct Prune {
    /// Whether a view lags. Relaxed: a writer that misses the change does a moment longer as before.
    on: AtomicBool,
    /// Grows when the views change; release, after them.
    generation: AtomicU64,
    views: Mutex<Option<Arc<Snapshots>>>,
    /// Transactions purged between snapshots.
    pub(crate) pruned: AtomicU64,
}

/// A session's copy of the views.
#[derive(Default)]
pub(crate) struct CachedViews {
    generation: u64,
    views: Option<Arc<Snapshots>>,
}

impl Prune {
    pub(crate) fn new() -> Prune {
        let views = Mutex::new(Rank::Leaf, None);
        Prune { on: AtomicBool::new(false), generation: AtomicU64::new(0), views, pruned: AtomicU64::new(0) }
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
    middle: Vec<u8>,
}

impl PlannedSkip {
    pub(crate) fn as_skip(&self) -> Skip<'_> {
        Skip { old: self.old, prefix: self.prefix, suffix: self.suffix, middle: &self.middle }
    }
}

/// A version that somebody needs.
enum Met<'c> {
    /// The newest, or one that it may be rolled back to; the last of them is settled.
    Top { version: RowHeader, bytes: &'c [u8], settled: bool },
    /// What an old view sees, and the undo records that it comes by on its way from the newest settled version.
    Seen { version: RowHeader, bytes: &'c [u8], way: &'c [UndoPtr] },
}

impl Session {
    /// How readers go on that do not see the version `replaced`, when versions behind it are needed by nobody. One load when no view lags. Reads no file: it is called
    /// with the row's leaf latched exclusively.
    #[inline]
    pub(crate) fn plan_skip(&mut self, replaced: &[u8]) -> Option<PlannedSkip> {
        if self.engine.prune.on.load(Ordering::Relaxed) { self.plan_skip_among(replaced) } else { None }
    }

    #[cold]
    fn plan_skip_among(&mut self, replaced: &[u8]) -> Option<PlannedSkip> {
        let prune = &self.engine.prune;
        let generation = prune.generation.load(Ordering::Acquire);
        if self.buffers.prune.generation != generation {
            self.buffers.prune = CachedViews { generation, views: prune.views.lock().clone() };
        }
        let views = self.buffers.prune.views.as_deref()?;
        let newest = header(replaced).ok()?;
        if newest.undo.is_none() || newest.flags & EXTERNAL != 0 || newest.txn == self.running.id || !views.settled(newest.txn) {
            return None;
        }
        let blind: SmallVec<[&ReadView; Snapshots::OLD_MAX]> = views.blind_to(newest.txn).collect();
        if blind.is_empty() {
            return None;
        }
        let is_seen = |writer: TxnId| blind.iter().any(|view| view.sees(writer, TxnId::NONE));
        let mut chain = Chain::new(&self.engine.undo, newest, replaced, Vec::new());
        for step in 0..PLAN_STEPS_MAX {
            let direct = match chain.step_in_memory() {
                Ok(Some(Some(version))) => version,
                // Those views see no version at all.
                Ok(Some(None)) | Err(Error::UndoGone) if step > 0 => {
                    return Some(PlannedSkip { old: NOTHING, prefix: 0, suffix: 0, middle: Vec::new() });
                }
                _ => return None,
            };
            let mut target = direct;
            if is_seen(direct.txn) {
                if step == 0 {
                    // The ordinary step leads there.
                    return None;
                }
            } else if chain.skips() {
                target = chain.step().ok()??;
            }
            if (direct.flags | target.flags) & EXTERNAL != 0 {
                return None;
            }
            if is_seen(target.txn) {
                let (older, newer) = (&chain.buffer[HEADER_BYTES..], &replaced[HEADER_BYTES..]);
                if is_nothing(&target) {
                    return Some(PlannedSkip { old: NOTHING, prefix: 0, suffix: 0, middle: Vec::new() });
                }
                let (prefix, suffix) = common_ends(older, newer);
                return Some(PlannedSkip { old: target.into(), prefix, suffix, middle: older[prefix..older.len() - suffix].to_vec() });
            }
        }
        None
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

    /// The views that lag, as of the last look.
    pub(crate) fn lagging_views(&self) -> Option<Arc<Snapshots>> {
        if !self.prune.on.load(Ordering::Relaxed) {
            return None;
        }
        self.prune.views.lock().clone()
    }

    /// Purges what lagging views do not need: a batch of each of these shards. Returns how many transactions were purged.
    pub(crate) fn prune_shards(self: &Arc<Engine>, session: &mut Session, shards: impl Iterator<Item = usize>) -> usize {
        let mut count = 0;
        for shard in shards {
            self.look_at_views_again();
            let Some(views) = self.lagging_views() else { continue };
            self.history.look_again(shard, views.oldest());
            for finished in self.history.take_between(shard, BATCH, |finished| views.settled(finished.txn)) {
                count += usize::from(self.prune_or_keep(session, &views, Postponed::new(shard, finished)));
            }
        }
        count
    }

    /// Purges a transaction, of which nothing is purged yet, if no view needs any of its undo records; else it is kept. Returns whether it is purged.
    pub(crate) fn prune_or_keep(self: &Arc<Engine>, session: &mut Session, views: &Snapshots, work: Postponed) -> bool {
        let (shard, finished) = work.place();
        // What cannot be read now is purged in its turn, which tells of it.
        let pruned = self.prune_transaction(session, views, work).unwrap_or(false);
        if pruned {
            self.prune.pruned.fetch_add(1, Ordering::Relaxed);
        } else {
            self.history.keep(shard, finished);
        }
        pruned
    }

    /// Purges a transaction if no view needs any of its undo records. `false` when it has to stay.
    fn prune_transaction(self: &Arc<Engine>, session: &mut Session, views: &Snapshots, mut work: Postponed) -> Result<bool> {
        if !self.read_all(&mut work) {
            return Ok(false);
        }
        for (address, _) in &work.records {
            if self.is_needed(session, views, *address)? {
                return Ok(false);
            }
        }
        Ok(self.purge_between(session, work))
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
    pub(crate) fn any_needed_version(&self, value: &[u8], mut f: impl FnMut(RowHeader, &[u8]) -> Result<bool>) -> Result<bool> {
        // As of the last round: what was needed then may be needed no more, never the other way round.
        let views = self.prune.views.lock().clone();
        self.any_met(views.as_deref(), value, |met| match met {
            Met::Top { version, bytes, .. } | Met::Seen { version, bytes, .. } => f(version, bytes),
        })
    }

    /// Whether a view comes by this undo record on its way to a row that it sees. Also of records that purge deals with when all see them only.
    fn is_needed(self: &Arc<Engine>, session: &mut Session, views: &Snapshots, address: UndoPtr) -> Result<bool> {
        let bytes = self.undo.read(address, <[u8]>::to_vec)?;
        let record = UndoRecord::decode(&bytes).map_err(|_| Error::corrupt("undo record"))?;
        match record.change {
            // Only a rollback would ask for these.
            Change::Insert | Change::Chain { .. } => return Ok(false),
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

    fn is_on_the_way(&self, views: &Snapshots, value: &[u8], address: UndoPtr) -> Result<bool> {
        self.any_met(Some(views), value, |met| {
            Ok(match met {
                // A rollback may take the versions above away, and then the way begins here.
                Met::Top { version, settled, .. } => !settled && version.undo == address,
                Met::Seen { version, way, .. } => way.contains(&address) && version.flags & DELETE_MARK == 0,
            })
        })
    }

    /// Whether `f` says so of what is met on the way from a row's newest version to the newest one that is settled, and from there to what each old view sees
    /// that does not see that. Also when a way is longer than [`LOOK_STEPS_MAX`].
    fn any_met(&self, views: Option<&Snapshots>, value: &[u8], mut f: impl FnMut(Met<'_>) -> Result<bool>) -> Result<bool> {
        let mut chain = Chain::new(&self.undo, header(value)?, value, Vec::new());
        let mut steps = 0;
        loop {
            let version = chain.version();
            let settled = views.is_some_and(|views| views.settled(version.txn));
            if f(Met::Top { version, bytes: &chain.buffer, settled })? || steps == LOOK_STEPS_MAX {
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
            let mut way = SmallVec::<[UndoPtr; 8]>::new();
            for step in 0.. {
                if step == LOOK_STEPS_MAX {
                    return Ok(true);
                }
                if !chain.skips() {
                    way.push(chain.version().undo);
                }
                match chain.step() {
                    Ok(Some(version)) if view.sees(version.txn, TxnId::NONE) => {
                        if f(Met::Seen { version, bytes: &chain.buffer, way: &way })? {
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
        for _ in 0..1000 {
            if let Some(views) = self.txns.snapshots(0) {
                return !views.settled(txn) || views.blind_to(txn).next().is_some();
            }
            std::hint::spin_loop();
        }
        true
    }

    /// Finished transactions that were purged although an old view does not see them.
    pub fn pruned(&self) -> u64 {
        self.prune.pruned.load(Ordering::Relaxed)
    }
}
