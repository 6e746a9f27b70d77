//! Skips: how a writer says in his undo record how readers go on who do not see the version that he replaces, when nobody needs what lies between.
//!
//! Which views there are, and what purge does with the records that are led past: `prune.rs`, with the invariants that both keep. The design: docs/design/pruning.md, Chains.
//!
//! # Invariant
//! A plan is made under the leaf's exclusive latch and reads no file.

use crate::Error;
use crate::purge::prune::decode;
use crate::session::Session;
use crate::undo_record::{Change, Difference, NOTHING, OldHeader, Skip, UndoRecord, common_ends, compose};
use crate::version::{AtHand, Chain, ChainBuffers, Headers, header, is_nothing};
use crate::write::external::EXTERNAL;
use base::{TxnId, UndoPtr};
use record::header::{DELETE_MARK, HEADER_BYTES, RowHeader};
use smallvec::SmallVec;
use std::sync::Arc;
use sync::atomic::{AtomicBool, Ordering};
use txn::{ReadView, Snapshots};
use undo::UndoStore;

/// Versions that a writer looks through for those that nobody needs. Where many write a row all the while, hardly one of them finds the version that he replaces settled, and he has all those to
/// step over that got no skip since the last one: a step for each.
const PLAN_STEPS: usize = 1024;
/// Where that did not do, the next looks are short, so many of them; then one is twice as long as the last, and so on: else all later versions of the row would stay until the view closes. It is
/// some milliseconds of the leaf's latch, once.
const PLAN_STEPS_SHORT: usize = 16;
const PLAN_SHORT_LOOKS: u32 = 32;
const PLAN_DOUBLED_MAX: u32 = 6;
/// Records that are read from the file for one skip, at most.
const READ_MAX: usize = 4;

/// A session's copy of the views, and what it plans skips in.
#[derive(Default)]
pub(crate) struct SkipBuffers {
    generation: u64,
    views: Option<Arc<Snapshots>>,
    far: Far,
    /// The records past which the skip leads that was planned last.
    passed: Vec<UndoPtr>,
    /// Records that were read from the file for a skip, with no latch held, until it is planned; at most [`READ_MAX`].
    read: Vec<(UndoPtr, Vec<u8>)>,
}

/// How far a session looks, by how far it has looked in vain.
#[derive(Default)]
struct Far {
    /// Short looks until the next long one.
    short: u32,
    /// Long looks in vain since the last that was not.
    doubled: u32,
}

impl Far {
    /// Versions that are looked at now.
    fn steps(&self) -> usize {
        if self.short == 0 { PLAN_STEPS << self.doubled.min(PLAN_DOUBLED_MAX) } else { PLAN_STEPS_SHORT }
    }

    fn note_in_vain(&mut self) {
        if self.short == 0 {
            self.doubled += 1;
            self.short = PLAN_SHORT_LOOKS;
        }
        self.short -= 1;
    }

    fn note_found(&mut self) {
        if self.short == 0 {
            self.doubled = 0;
        }
    }
}

impl SkipBuffers {
    pub(crate) fn passed(&self) -> &[UndoPtr] {
        &self.passed
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
    /// Who comes by the record until the row is changed again; `None` when no view was asked.
    pub(crate) on_way: Option<OnWay>,
    /// An old view does, and the row is not changed often.
    pub(crate) stays: bool,
    /// A record that was spilled, without which nothing can be said: to be read by [`Session::read_for_skip`], and planned again.
    pub(crate) missing: Option<UndoPtr>,
}

/// Whether old views come by an undo record on their way to a row that they see.
#[derive(Clone, Copy)]
pub(crate) struct OnWay {
    /// One of them may; `false` only when it is certain that none does.
    pub(crate) some: bool,
    /// All views with smaller numbers were asked, if they do not see the change.
    pub(crate) asked_below: u64,
}

impl Session {
    /// How readers go on that do not see the version `replaced`, when versions behind it are needed by nobody. One load when no view lags. Reads no file, as it is called
    /// with the row's leaf latched exclusively: [`Plan::missing`] says what it would read.
    #[inline]
    pub(crate) fn plan_skip(&mut self, replaced: &[u8]) -> Plan {
        if self.engine.prune.is_on() { self.plan_skip_among(replaced).unwrap_or_default() } else { Plan::default() }
    }

    /// Whether old views come by the record of a deletion, of the version with this header. Called with the row's leaf latched exclusively; reads no file.
    #[inline]
    pub(crate) fn plan_deletion(&mut self, deleted: RowHeader) -> Option<OnWay> {
        if self.engine.prune.is_on() { self.plan_deletion_among(deleted) } else { None }
    }

    #[cold]
    fn plan_deletion_among(&mut self, deleted: RowHeader) -> Option<OnWay> {
        let SkipBuffers { generation, views, .. } = &mut self.buffers.skips;
        self.engine.prune.copy_views(generation, views);
        let views = views.as_deref()?;
        let is_settled = deleted.txn != self.running.id && views.settled(deleted.txn);
        let may_show = deleted.flags & EXTERNAL != 0 || !is_settled || views.some_sees(deleted.txn);
        let some = may_show || {
            let blind: SmallVec<[&ReadView; Snapshots::OLD_MAX]> = views.blind_to(deleted.txn).collect();
            !blind.is_empty() && !shows_nothing_behind(&self.engine.undo, deleted, &blind)
        };
        Some(OnWay { some, asked_below: views.old_below() })
    }

    /// Reads a record that a plan misses, with no latch held.
    #[cold]
    pub(crate) fn read_for_skip(&mut self, missing: UndoPtr) {
        // What cannot be read is told of when it is read for more than this: without it there is no skip.
        let record = self.engine.undo.read(missing, <[u8]>::to_vec).unwrap_or_default();
        self.buffers.skips.read.push((missing, record));
    }

    #[cold]
    fn plan_skip_among(&mut self, replaced: &[u8]) -> Option<Plan> {
        let prune = &self.engine.prune;
        let SkipBuffers { generation, views, far, passed, read } = &mut self.buffers.skips;
        prune.copy_views(generation, views);
        passed.clear();
        let views = views.as_deref()?;
        let newest = header(replaced).ok()?;
        let asked_below = views.old_below();
        if newest.flags & EXTERNAL != 0 || newest.txn == self.running.id || !views.settled(newest.txn) {
            return Some(Plan { on_way: Some(OnWay { some: true, asked_below }), ..Plan::default() });
        }
        let replaces_seen = newest.flags & DELETE_MARK == 0 && views.some_sees(newest.txn);
        let (mut skip, mut missing) = (None, None);
        let blind: SmallVec<[&ReadView; Snapshots::OLD_MAX]> = views.blind_to(newest.txn).collect();
        let mut behind = Behind::Unknown;
        if newest.undo.is_none() || blind.is_empty() {
            behind = Behind::Nothing;
        } else {
            let told = |bytes: &[u8]| told_by_record(bytes, newest, replaced, &blind, &mut behind);
            let records = AtHand { undo: &self.engine.undo, read: read.as_slice() };
            skip = match records.read(newest.undo, told) {
                Ok(Some(Told::Skip(skip))) => {
                    passed.push(newest.undo);
                    Some(skip)
                }
                Ok(Some(Told::FirstVersion)) => {
                    behind = Behind::Nothing;
                    Some(PlannedSkip::to_nothing())
                }
                Ok(None) => {
                    missing = Some(newest.undo);
                    None
                }
                // Nobody needs what was there, or it would be there still.
                Err(Error::UndoGone) => {
                    behind = Behind::Nothing;
                    Some(PlannedSkip::to_nothing())
                }
                // What cannot be read is told of when it is read for more than this.
                Ok(Some(Told::NoSkip)) | Err(_) => None,
                Ok(Some(Told::Further)) => {
                    let way = SkipBehind { records, newest, replaced, blind: &blind, loses_older_skips: &prune.loses_older_skips };
                    way.skip(far, &mut self.buffers.chain, &mut behind, passed, &mut missing)
                }
            };
            if missing.is_some() && read.len() < READ_MAX {
                return Some(Plan { missing, ..Plan::default() });
            }
            read.clear();
            if skip.is_none() {
                passed.clear();
            }
        }
        // Soon replaced again: then nobody comes by the record any more.
        let is_hot = newest.txn.0.saturating_add(self.engine.config.prune_lag) >= self.running.id.0;
        let stays = (replaces_seen || behind == Behind::Row) && !is_hot;
        let on_way = OnWay { some: replaces_seen || behind != Behind::Nothing, asked_below };
        Some(Plan { skip, on_way: Some(on_way), stays, missing: None })
    }
}

/// Whether the record of a version that these views do not see tells that they see no row.
fn shows_nothing_behind(undo: &UndoStore, version: RowHeader, blind: &[&ReadView]) -> bool {
    if version.undo.is_none() {
        return true;
    }
    let told = |bytes: &[u8]| {
        decode(bytes).is_ok_and(|record| match record.change {
            _ if record.txn != version.txn => false,
            Change::Insert | Change::InsertRun { .. } => true,
            Change::Update { old, skip: Some(skip), .. } => {
                is_nothing(&skip.old.into()) && !blind.iter().any(|view| view.sees(old.txn, TxnId::NONE))
            }
            _ => false,
        })
    };
    match (AtHand { undo, read: &[] }).read(version.undo, told) {
        Ok(told) => told == Some(true),
        // Nobody needs what was there, or it would be there still.
        Err(error) => matches!(error, Error::UndoGone),
    }
}

/// What the old views find behind a version that they do not see.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// One of them sees the row.
    Row,
    /// None of them does.
    Nothing,
    Unknown,
}

impl Behind {
    /// By the first version behind that one of them sees; the others may see an older one.
    fn of(first_seen: &OldHeader, all_see_it: bool) -> Behind {
        match first_seen.flags & DELETE_MARK {
            0 => Behind::Row,
            _ if all_see_it => Behind::Nothing,
            _ => Behind::Unknown,
        }
    }
}

/// What the record of a row's newest change tells about a skip from there.
enum Told {
    Skip(PlannedSkip),
    /// The row was made by it.
    FirstVersion,
    /// The ordinary step leads to what an old view sees, or somebody else deals with the row.
    NoSkip,
    /// What is behind it must be looked at.
    Further,
}

/// [`SkipBehind`] where the record of the newest change tells all: nearly always, for its writer planned as well. No version is built.
fn told_by_record(bytes: &[u8], newest: RowHeader, replaced: &[u8], blind: &[&ReadView], behind: &mut Behind) -> Told {
    let Ok(UndoRecord { txn, change, .. }) = decode(bytes) else { return Told::Further };
    let (old, prefix, suffix, middle, skip) = match change {
        Change::Update { old, prefix, suffix, middle, skip, .. } => (old, prefix, suffix, middle, skip),
        // Nobody sees what was before the row was there. The ordinary step would say so, but not purge, which is to know it without a look at the row.
        Change::Insert | Change::InsertRun { .. } => return Told::FirstVersion,
        Change::Delete { .. } | Change::Chain { .. } => return Told::Further,
    };
    let is_seen = |writer: TxnId| blind.iter().any(|view| view.sees(writer, TxnId::NONE));
    let find = |version: &OldHeader| Behind::of(version, blind.iter().all(|view| view.sees(version.txn, TxnId::NONE)));
    if txn != newest.txn || old.flags & EXTERNAL != 0 {
        return Told::NoSkip;
    }
    if is_seen(old.txn) {
        *behind = find(&old);
        return Told::NoSkip;
    }
    let Some(skip) = skip.filter(|skip| is_seen(skip.old.txn)) else { return Told::Further };
    if skip.old.flags & EXTERNAL != 0 {
        return Told::NoSkip;
    }
    if is_nothing(&skip.old.into()) {
        *behind = Behind::Nothing;
        return Told::Skip(PlannedSkip::to_nothing());
    }
    *behind = find(&skip.old);
    let (first, second) =
        (Difference { prefix, suffix, middle }, Difference { prefix: skip.prefix, suffix: skip.suffix, middle: skip.middle });
    match compose(&replaced[HEADER_BYTES..], first, second) {
        Some((prefix, suffix, middle)) => Told::Skip(PlannedSkip { old: skip.old, prefix, suffix, middle }),
        None => Told::NoSkip,
    }
}

/// Where the views `blind`, which do not see the version `replaced`, go on from it, found by going back from there.
struct SkipBehind<'a> {
    records: AtHand<'a>,
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
    /// There is none: the ordinary step leads to what they see, or somebody else deals with the row.
    None,
    /// This record is needed to say, and not at hand.
    Missing(UndoPtr),
    /// It is further away than was looked.
    TooFar,
}

impl SkipBehind<'_> {
    /// Notes in `behind` what the views find, and in `passed` the records that the skip leads past.
    fn skip(
        &self,
        far: &mut Far,
        buffers: &mut ChainBuffers,
        behind: &mut Behind,
        passed: &mut Vec<UndoPtr>,
        missing: &mut Option<UndoPtr>,
    ) -> Option<PlannedSkip> {
        match self.way(far.steps(), behind, passed) {
            Way::Nothing => {
                far.note_found();
                *behind = Behind::Nothing;
                Some(PlannedSkip::to_nothing())
            }
            Way::Steps(steps) => {
                far.note_found();
                self.build(steps, buffers)
            }
            Way::None => None,
            Way::Missing(record) => {
                *missing = Some(record);
                None
            }
            Way::TooFar => {
                far.note_in_vain();
                None
            }
        }
    }

    fn is_seen(&self, version: RowHeader) -> bool {
        self.blind.iter().any(|view| view.sees(version.txn, TxnId::NONE))
    }

    /// By headers alone: most of what is met is passed by.
    fn way(&self, steps: usize, behind: &mut Behind, passed: &mut Vec<UndoPtr>) -> Way {
        let mut headers = Headers::new(self.records.undo, self.newest);
        passed.clear();
        for step in 0..steps {
            let (above_skips, record) = (headers.skips(), headers.version().undo);
            if !above_skips {
                passed.push(record);
            }
            let version = match headers.step_at_hand(&self.records) {
                Ok(Some(Some(version))) => version,
                Ok(Some(None)) | Err(Error::UndoGone) if step > 0 => return Way::Nothing,
                Ok(None) => return Way::Missing(record),
                _ => return Way::None,
            };
            if version.flags & EXTERNAL != 0 {
                return Way::None;
            }
            if !self.is_seen(version) {
                continue;
            }
            let all_see = self.blind.iter().all(|view| view.sees(version.txn, TxnId::NONE));
            *behind = Behind::of(&version.into(), all_see);
            if step == 0 {
                return Way::None;
            }
            if is_nothing(&version) {
                return Way::Nothing;
            }
            if !headers.skips() || all_see || self.loses_older_skips.load(Ordering::Relaxed) {
                return Way::Steps(step + 1);
            }
            // Older views go on from there by a skip of the record that leads there, and what is behind it otherwise may be released: all have to come by that record.
            passed.pop();
            return if step > 1 && !above_skips { Way::Steps(step) } else { Way::None };
        }
        Way::TooFar
    }

    fn build(&self, steps: usize, buffers: &mut ChainBuffers) -> Option<PlannedSkip> {
        let mut chain = Chain::with(self.records.undo, self.newest, self.replaced, std::mem::take(buffers));
        let there = (0..steps).all(|_| matches!(chain.step_at_hand(&self.records), Ok(Some(Some(_)))));
        let skip = there.then(|| PlannedSkip::new(chain.version(), &chain.buffer, self.replaced));
        *buffers = chain.into_buffers();
        skip
    }
}
