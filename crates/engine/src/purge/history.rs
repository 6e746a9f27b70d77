//! Finished transactions whose undo records still wait for purge.
//!
//! # Invariants
//! 1. A transaction enters the history before it leaves its session's slot, so a checkpoint that reads slots first and history second misses none.
//! 2. Order does not matter to purge: a record is purged once every view sees its transaction.
//! 3. Each entry belongs to a block of its shard (`blocks.rs`), which is how checkpoints list it without writing it again each time.
//!
//! Sharded, so that committers on different undo shards do not meet.

use crate::purge::blocks::{Blocks, Entries, ListedHistory, WriteBlock};
use crate::purge::ways::{Left, Ways};
use base::{TxnId, UndoPtr};
use std::collections::VecDeque;
use sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sync::{CachePadded, Mutex, Rank};
use txn::{FinishSeq, Snapshots};

/// A finished transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finished {
    pub txn: TxnId,
    /// Its place in the order of finishing: purge compares it with what open views see.
    pub seq: FinishSeq,
    pub last_undo: UndoPtr,
    /// The record that a view needed when it was last looked at (`prune.rs`): while that is so, nothing else of it need be looked at. None before.
    pub needed: UndoPtr,
    pub left: LeftBehind,
    /// What its undo takes of the segment that all of it lies in, in bytes: it may be released without being read. 0: not known, or of several segments.
    pub undo_bytes: u32,
    /// Set by the history when it takes the entry. Copies outside of the history may be out of date.
    block: u32,
}

/// What a finished transaction has left behind beside its undo: index entries, deleted rows, chains of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftBehind {
    Nothing,
    /// Something, and the history has the records that tell what.
    Listed,
    /// That is gone.
    Removed,
    /// Any of its records may tell of something.
    Unknown,
}

/// A finished transaction in the history.
#[derive(Debug)]
struct Entry {
    finished: Finished,
    /// Its records by which old views come to rows, when its writer knew all of them.
    ways: Option<Ways>,
    /// Those that left something behind, when they are listed.
    left: Left,
}

/// What is found about one that is kept when it is asked.
enum Answer {
    Stays,
    /// It is to be looked at.
    Look,
    /// Nobody comes by any record of it.
    Goes,
}

impl Entry {
    fn ask(&mut self, views: &Snapshots, is_passed: impl Fn(UndoPtr) -> bool) -> Answer {
        let finished = &self.finished;
        let Some(ways) = &mut self.ways else {
            // One without a record is looked at with all others only.
            return if !finished.needed.is_none() && is_passed(finished.needed) { Answer::Look } else { Answer::Stays };
        };
        if ways.are_left(finished.last_undo, is_passed) || !views.settled(finished.txn) {
            return Answer::Stays;
        }
        if ways.asked_all_blind(views, finished.txn) {
            return Answer::Goes;
        }
        self.ways = None;
        Answer::Look
    }
}

impl Finished {
    /// One of which no more is known.
    pub(crate) fn new(txn: TxnId, seq: FinishSeq, last_undo: UndoPtr) -> Finished {
        Finished { txn, seq, last_undo, needed: UndoPtr::NONE, left: LeftBehind::Unknown, undo_bytes: 0, block: 0 }
    }

    pub(crate) fn having_left(self, left: LeftBehind, undo_bytes: u32) -> Finished {
        Finished { left, undo_bytes, ..self }
    }
}

#[derive(Default)]
struct Shard {
    blocks: Blocks,
    /// Older than those that wait: looked at by `prune.rs`, and needed by a view.
    kept: VecDeque<Entry>,
    /// How many were kept when they were last looked at again, and the oldest view then.
    kept_before: usize,
    oldest_view: Option<u64>,
    /// Of those that are kept the first so many are still to be asked whether the record that they are kept for was passed; 0 when none of this turn is.
    to_ask: usize,
    /// How many were kept after the last turn.
    kept_asked: usize,
    /// Records past which readers are led once the transaction beside is settled.
    passed: VecDeque<(TxnId, UndoPtr)>,
    /// Of those that were kept, the ones to be looked at again, after those that wait: what is new may have left something behind that readers step over.
    again: VecDeque<Entry>,
    waiting: VecDeque<Entry>,
    /// Handed to purge and not yet done: a checkpoint still lists them.
    in_purge: Vec<Entry>,
}

/// So many more are kept than three times as many as before until they are looked at again: each look costs about as much as the first one did.
const KEPT_MORE: usize = 128;
/// So many more than a quarter more are kept until they are asked whether they were passed, which costs little.
const ASK_MORE: usize = 64;
/// Entries that are asked, and records taken, at once: under the shard's latch.
const ASK_MAX: usize = 512;
/// Records that wait in a shard until who has passed them is settled. Past that none is noted: purge finds out by itself.
const PASSED_MAX: usize = 16 * 1024;

impl Shard {
    /// Takes an entry out of those that purge works on.
    fn leave_purge(&mut self, txn: TxnId) -> Option<Entry> {
        let at = self.in_purge.iter().position(|entry| entry.finished.txn == txn)?;
        Some(self.in_purge.swap_remove(at))
    }

    /// Puts the entries that are left into full blocks; returns the written ones that they were in.
    fn pack(&mut self, block_max: usize) -> Vec<(UndoPtr, usize)> {
        let old = self.blocks.forget();
        for entry in self.kept.iter_mut().chain(&mut self.again).chain(&mut self.in_purge).chain(&mut self.waiting) {
            let finished = &mut entry.finished;
            finished.block = self.blocks.add((finished.txn, finished.last_undo), block_max);
        }
        old
    }

    fn look_again(&mut self) {
        self.kept_before = self.kept.len();
        (self.to_ask, self.kept_asked) = (0, 0);
        self.again.append(&mut self.kept);
    }
}

/// Moves up to `max` entries that `may_go` from the front of the lists to those that purge works on.
fn take_front<const N: usize>(
    lists: [&mut VecDeque<Entry>; N],
    in_purge: &mut Vec<Entry>,
    max: usize,
    may_go: impl Fn(&Finished) -> bool,
) -> Vec<Finished> {
    let before = in_purge.len();
    for list in lists {
        let left = max - (in_purge.len() - before);
        let count = list.iter().take(left).take_while(|entry| may_go(&entry.finished)).count();
        in_purge.extend(list.drain(..count));
    }
    in_purge[before..].iter().map(|entry| entry.finished).collect()
}

pub(crate) struct History {
    shards: Vec<CachePadded<Place>>,
    /// Entries of a block.
    block_max: usize,
    /// Written blocks whose entries are all purged, to be released.
    emptied: Mutex<Vec<(UndoPtr, usize)>>,
    /// The shard whose blocks are looked at by the next checkpoint, whether they are to be put together.
    packed_next: AtomicUsize,
}

struct Place {
    shard: Mutex<Shard>,
    /// Entries of the shard. Relaxed: a figure for status and for purge's decision to look.
    length: AtomicU64,
    /// Those that purge could do something about: they wait to be looked at, or what they were kept for is gone. Written under the latch, read without.
    backlog: AtomicU64,
    /// What is at the front of the lists finished here at the earliest; 0 when that is not known. Written under the latch: who purges comes by all the while.
    front: AtomicU64,
}

impl Place {
    fn new() -> Place {
        let zero = || AtomicU64::new(0);
        Place { shard: Mutex::new(Rank::UndoSegments, Shard::default()), length: zero(), backlog: zero(), front: zero() }
    }

    /// Others may be at the front of a list.
    fn forget_front(&self) {
        self.front.store(0, Ordering::Relaxed);
    }

    fn note_backlog(&self, entries: usize) {
        self.backlog.store(entries as u64, Ordering::Relaxed);
    }
}

/// Entries in one shard above which purge is woken instead of coming by itself.
const LONG: u64 = 256;

impl History {
    /// `block_max`: entries that a checkpoint writes as one block.
    pub(crate) fn new(shards: usize, block_max: usize) -> History {
        let place = |_| CachePadded::new(Place::new());
        History {
            shards: (0..shards).map(place).collect(),
            block_max: block_max.max(1),
            emptied: Mutex::new(Rank::Leaf, Vec::new()),
            packed_next: AtomicUsize::new(0),
        }
    }

    /// Adds transactions that recovery has found, each shard its part: nobody is to be woken yet.
    pub(crate) fn restore(&self, found: &[(TxnId, UndoPtr)], seq: FinishSeq) {
        for (no, place) in self.shards.iter().enumerate() {
            let mine = found.iter().skip(no).step_by(self.shards.len());
            let mut shard = place.shard.lock();
            shard.waiting.reserve(mine.len());
            for (txn, last_undo) in mine.copied() {
                let block = shard.blocks.add((txn, last_undo), self.block_max);
                let finished = Finished { block, ..Finished::new(txn, seq, last_undo) };
                shard.waiting.push_back(Entry { finished, ways: None, left: Left::default() });
                place.backlog.fetch_add(1, Ordering::Relaxed);
                place.length.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// [`History::push_known`] of one of which nothing is known.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn push(&self, shard: usize, finished: Finished) -> bool {
        self.push_known(shard, finished, None, Left::default())
    }

    /// Adds a transaction whose records by which old views come to rows, or those that left something behind, may be known; `true` when its shard is so long that purge should
    /// come.
    #[must_use]
    pub(crate) fn push_known(&self, shard: usize, finished: Finished, ways: Option<Ways>, left: Left) -> bool {
        let place = &self.shards[shard % self.shards.len()];
        {
            let mut shard = place.shard.lock();
            let block = shard.blocks.add((finished.txn, finished.last_undo), self.block_max);
            shard.waiting.push_back(Entry { finished: Finished { block, ..finished }, ways, left });
            place.backlog.fetch_add(1, Ordering::Relaxed);
            // Under the latch: purge may take the entry as soon as it is let go, and counts it out.
            (place.length.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(LONG)
        }
    }

    /// Adds a transaction that left nothing but undo behind, of which is known what views need of it: all records by which they come (`ways`), or one that they need.
    /// It is asked, or looked at, when others are that were kept.
    pub(crate) fn push_kept(&self, shard: usize, finished: Finished, ways: Option<Ways>) {
        let needed = ways.as_ref().map_or(finished.needed, |ways| ways.last(finished.last_undo).unwrap_or(UndoPtr::NONE));
        let place = &self.shards[shard % self.shards.len()];
        let mut shard = place.shard.lock();
        let block = shard.blocks.add((finished.txn, finished.last_undo), self.block_max);
        shard.kept.push_back(Entry { finished: Finished { block, needed, ..finished }, ways, left: Left::default() });
        // Under the latch, as in `push`.
        place.length.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes records past which readers are led by a transaction that commits.
    pub(crate) fn note_passed(&self, shard: usize, by: TxnId, records: impl ExactSizeIterator<Item = UndoPtr>) {
        if records.len() == 0 {
            return;
        }
        let mut shard = self.shards[shard % self.shards.len()].shard.lock();
        if shard.passed.len() < PASSED_MAX {
            shard.passed.extend(records.map(|record| (by, record)));
        }
    }

    /// Takes records past which settled transactions lead readers.
    pub(crate) fn take_passed(&self, shard: usize, settled: impl Fn(TxnId) -> bool) -> Vec<UndoPtr> {
        let mut shard = self.shards[shard].shard.lock();
        let count = shard.passed.iter().take(ASK_MAX).take_while(|(by, _)| settled(*by)).count();
        shard.passed.drain(..count).map(|(_, record)| record).collect()
    }

    /// Asks some of those that are kept, when they have become a quarter more: those whose record `is_passed` are to be looked at again. Returns those that go as they are: nobody
    /// comes by any record of theirs. They stay listed until [`History::purged`].
    pub(crate) fn ask_kept(&self, shard: usize, views: &Snapshots, is_passed: impl Fn(UndoPtr) -> bool) -> Vec<Finished> {
        let place = &self.shards[shard];
        let mut go = Vec::new();
        if place.length.load(Ordering::Relaxed) == 0 {
            return go;
        }
        let mut shard = place.shard.lock();
        let Shard { kept, again, waiting, to_ask, kept_asked, in_purge, .. } = &mut *shard;
        if *to_ask == 0 {
            if kept.len() <= *kept_asked + *kept_asked / 4 + ASK_MORE {
                return go;
            }
            *to_ask = kept.len();
        }
        let now = (*to_ask).min(ASK_MAX).min(kept.len());
        place.forget_front();
        for _ in 0..now {
            let Some(mut entry) = kept.pop_front() else { break };
            match entry.ask(views, &is_passed) {
                Answer::Stays => kept.push_back(entry),
                Answer::Look => again.push_back(entry),
                Answer::Goes => {
                    go.push(entry.finished);
                    in_purge.push(entry);
                }
            }
        }
        // What others took meanwhile is not asked.
        *to_ask = if now < ASK_MAX { 0 } else { *to_ask - now };
        if *to_ask == 0 {
            *kept_asked = kept.len();
        }
        place.note_backlog(again.len() + waiting.len());
        go
    }

    /// Entries of a shard that purge could do something about, about.
    pub(crate) fn backlog(&self, shard: usize) -> u64 {
        self.shards[shard % self.shards.len()].backlog.load(Ordering::Relaxed)
    }

    /// Entries of a shard.
    pub(crate) fn shard_len(&self, shard: usize) -> u64 {
        self.shards[shard % self.shards.len()].length.load(Ordering::Relaxed)
    }

    pub(crate) fn len(&self) -> u64 {
        self.shards.iter().map(|place| place.length.load(Ordering::Relaxed)).sum()
    }

    pub(crate) fn shard_count(&self) -> usize {
        self.shards.len()
    }

    /// Takes up to `max` entries that finished no later than `limit` from the front of a shard. They stay listed until [`History::purged`].
    pub(crate) fn take(&self, shard: usize, max: usize, limit: FinishSeq) -> Vec<Finished> {
        let place = &self.shards[shard];
        if place.length.load(Ordering::Relaxed) == 0 || limit.0 < place.front.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let purgeable = |finished: &Finished| finished.seq <= limit;
        let mut shard = place.shard.lock();
        let Shard { kept, again, waiting, in_purge, .. } = &mut *shard;
        let taken = take_front([&mut *kept, &mut *again, &mut *waiting], in_purge, max, purgeable);
        let front = [&*kept, again, waiting].into_iter().filter_map(|list| list.front()).map(|entry| entry.finished.seq.0).min();
        place.front.store(front.unwrap_or(0), Ordering::Relaxed);
        let freed = if kept.front().is_some_and(|entry| purgeable(&entry.finished)) { kept.len() } else { 0 };
        place.note_backlog(again.len() + waiting.len() + freed);
        taken
    }

    /// Takes entries that have not been looked at yet, as [`History::take`] does; each ends in [`History::purged`] or [`History::keep`].
    pub(crate) fn take_between(&self, shard: usize, max: usize, settled: impl Fn(&Finished) -> bool) -> Vec<Finished> {
        let place = &self.shards[shard];
        if place.length.load(Ordering::Relaxed) == 0 {
            return Vec::new();
        }
        let mut shard = place.shard.lock();
        let Shard { again, waiting, in_purge, .. } = &mut *shard;
        let taken = take_front([&mut *waiting, &mut *again], in_purge, max, settled);
        place.note_backlog(again.len() + waiting.len());
        taken
    }

    /// The records of one that purge works on which left something behind, when they are listed. Later it is as if they were not, until [`History::left_is_gone`].
    pub(crate) fn take_left(&self, shard: usize, finished: &Finished) -> Option<Left> {
        self.with_entry(shard, finished, |entry| {
            entry.finished.left = LeftBehind::Unknown;
            std::mem::take(&mut entry.left)
        })
    }

    /// Takes what is known of the ways to such a transaction.
    pub(crate) fn take_ways(&self, shard: usize, finished: &Finished) -> Option<Ways> {
        self.with_entry(shard, finished, |entry| entry.ways.take()).flatten()
    }

    /// What those records left behind is gone: the transaction is kept for these ways, or it is returned, when nobody comes by any record of it.
    pub(crate) fn left_is_gone(
        &self,
        shard: usize,
        finished: &Finished,
        mut ways: Ways,
        is_passed: impl Fn(UndoPtr) -> bool,
    ) -> Option<Finished> {
        let are_left = ways.are_left(finished.last_undo, is_passed);
        let needed = ways.last(finished.last_undo).unwrap_or(UndoPtr::NONE);
        let finished = self.with_entry(shard, finished, |entry| {
            entry.finished.left = LeftBehind::Removed;
            entry.ways = Some(ways);
            entry.finished
        })?;
        if are_left {
            self.keep(shard, finished, needed);
        }
        (!are_left).then_some(finished)
    }

    fn with_entry<R>(&self, shard: usize, finished: &Finished, f: impl FnOnce(&mut Entry) -> R) -> Option<R> {
        let mut shard = self.shards[shard].shard.lock();
        shard.in_purge.iter_mut().find(|entry| entry.finished.txn == finished.txn).map(f)
    }

    /// What [`History::take_between`] gave is needed by a view, for this record of it if that is known.
    pub(crate) fn keep(&self, shard: usize, finished: Finished, needed: UndoPtr) {
        let place = &self.shards[shard];
        let mut shard = place.shard.lock();
        if let Some(entry) = shard.leave_purge(finished.txn) {
            if shard.kept.is_empty() {
                place.forget_front();
            }
            shard.kept.push_back(Entry { finished: Finished { needed, ..entry.finished }, ..entry });
        }
    }

    /// What [`History::take`] or [`History::take_between`] gave is for somebody else, soon.
    pub(crate) fn put_back(&self, shard: usize, finished: &Finished) {
        let place = &self.shards[shard];
        let mut shard = place.shard.lock();
        if let Some(entry) = shard.leave_purge(finished.txn) {
            place.forget_front();
            shard.waiting.push_front(entry);
        }
    }

    /// Lets those that were kept be looked at again when they have become three times as many, or the oldest view is another.
    pub(crate) fn look_again(&self, shard: usize, oldest_view: Option<u64>) {
        let place = &self.shards[shard];
        if place.length.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut shard = place.shard.lock();
        if shard.oldest_view != oldest_view || shard.kept.len() > 3 * shard.kept_before + KEPT_MORE {
            shard.oldest_view = oldest_view;
            shard.look_again();
            place.forget_front();
            place.note_backlog(shard.again.len() + shard.waiting.len());
        }
    }

    /// Lets all that were kept be looked at again.
    pub(crate) fn look_again_at_all(&self) {
        for place in &self.shards {
            let mut shard = place.shard.lock();
            shard.look_again();
            place.forget_front();
        }
    }

    /// The place in the order of finishing of the oldest entry, about: shards are looked at one after the other.
    pub(crate) fn oldest(&self) -> Option<FinishSeq> {
        let oldest = |place: &CachePadded<Place>| {
            let shard = place.shard.lock();
            let fronts = [shard.kept.front(), shard.again.front(), shard.waiting.front()];
            fronts.into_iter().flatten().chain(&shard.in_purge).map(|entry| entry.finished.seq).min()
        };
        self.shards.iter().filter(|place| place.length.load(Ordering::Relaxed) > 0).filter_map(oldest).min()
    }

    /// What was taken from a shard is purged.
    pub(crate) fn purged(&self, shard: usize, finished: &Finished) {
        let place = &self.shards[shard];
        {
            let mut shard = place.shard.lock();
            if let Some(entry) = shard.leave_purge(finished.txn)
                && let Some(written) = shard.blocks.remove(entry.finished.block)
            {
                self.emptied.lock().push(written);
            }
        }
        place.length.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn has_emptied(&self) -> bool {
        !self.emptied.lock().is_empty()
    }

    /// Written blocks that nobody needs any more but the last checkpoint that lists them.
    pub(crate) fn take_emptied(&self) -> Vec<(UndoPtr, usize)> {
        std::mem::take(&mut *self.emptied.lock())
    }

    /// The history for a checkpoint: `write` keeps a block and says where, or declines; then its entries are listed one by one. What is listed of a
    /// block may have been purged. One caller at a time.
    pub(crate) fn list(&self, write: &mut WriteBlock<'_>) -> ListedHistory {
        let mut listed = ListedHistory::default();
        let packed = self.packed_next.fetch_add(1, Ordering::Relaxed) % self.shards.len();
        for (number, place) in self.shards.iter().enumerate() {
            let unwritten = {
                let mut shard = place.shard.lock();
                if number == packed && shard.blocks.are_sparse(self.block_max) {
                    let old = shard.pack(self.block_max);
                    self.emptied.lock().extend(old);
                }
                shard.blocks.take_unwritten(self.block_max)
            };
            let written: Vec<(u32, Entries, Option<(UndoPtr, usize)>)> = unwritten
                .into_iter()
                .map(|(block, entries)| (block, write(number, &entries), entries))
                .map(|(b, at, e)| (b, e, at))
                .collect();
            let mut shard = place.shard.lock();
            for (block, entries, at) in written {
                if let Some(unneeded) = shard.blocks.written(block, entries, at) {
                    self.emptied.lock().push(unneeded);
                }
            }
            shard.blocks.list(&mut listed);
        }
        listed
    }

    /// All entries.
    pub(crate) fn snapshot(&self) -> Vec<Finished> {
        let mut all = Vec::new();
        for place in &self.shards {
            let shard = place.shard.lock();
            let entries = shard.in_purge.iter().chain(&shard.kept).chain(&shard.again).chain(&shard.waiting);
            all.extend(entries.map(|entry| entry.finished));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_entries_stay_listed_until_purged() {
        let history = History::new(2, 4);
        let entry = |n| Finished::new(TxnId(n), FinishSeq(n), UndoPtr(n));
        let ids = |entries: Vec<Finished>| entries.iter().map(|f| f.txn.0).collect::<Vec<_>>();
        for n in 1..=4 {
            assert!(!history.push(0, entry(n)));
        }
        let taken = history.take(0, 10, FinishSeq(2));
        assert_eq!(ids(taken.clone()), [1, 2]);
        assert_eq!(history.snapshot().len(), 4);
        taken.iter().for_each(|finished| history.purged(0, finished));
        assert_eq!(ids(history.snapshot()), [3, 4]);
        assert_eq!(history.len(), 2);
        assert!(history.take(1, 10, FinishSeq(u64::MAX)).is_empty());
    }

    /// What checkpoints wrote, as recovery would read it.
    #[derive(Default)]
    struct Written {
        blocks: std::collections::BTreeMap<UndoPtr, Entries>,
        made: u64,
        entries: usize,
    }

    impl Written {
        fn checkpoint(&mut self, history: &History) -> (usize, Vec<u64>) {
            for (at, _) in history.take_emptied() {
                assert!(self.blocks.remove(&at).is_some(), "released once");
            }
            let listed = history.list(&mut |_, entries| {
                self.made += 1;
                self.entries += entries.len();
                self.blocks.insert(UndoPtr(self.made), entries.to_vec());
                Some((UndoPtr(self.made), 1))
            });
            let size = listed.single.len() + listed.blocks.len();
            let blocks = listed.blocks.iter().flat_map(|(at, _)| self.blocks[at].clone());
            let mut all: Vec<u64> = listed.single.iter().copied().chain(blocks).map(|(txn, _)| txn.0).collect();
            all.sort_unstable();
            (size, all)
        }
    }

    #[test]
    fn checkpoints_list_all_that_waits_and_write_little() {
        let history = History::new(2, 64);
        let mut written = Written::default();
        let entry = |n| Finished::new(TxnId(n), FinishSeq(n), UndoPtr(n));
        let mut most = 0;
        for round in 0..200u64 {
            for n in 0..100 {
                let _ = history.push(n as usize, entry(round * 100 + n));
            }
            let (size, all) = written.checkpoint(&history);
            assert_eq!(all, (0..(round + 1) * 100).collect::<Vec<_>>());
            most = most.max(size);
        }
        // 20,000 entries in blocks of up to 64, each written about once.
        assert!(most < 20_000 / 32 + 200, "{most}");
        assert!(written.entries < 3 * 20_000, "{}", written.entries);
        // Most are purged between snapshots, the rest stays: blocks are put together again.
        for shard in 0..2 {
            history.look_again(shard, None);
            for finished in history.take_between(shard, 1 << 20, |_| true) {
                match finished.txn.0 % 50 {
                    0 | 1 => history.keep(shard, finished, UndoPtr::NONE),
                    _ => history.purged(shard, &finished),
                }
            }
        }
        let left: Vec<u64> = (0..20_000).filter(|n| n % 50 < 2).collect();
        for _ in 0..4 {
            let (_, all) = written.checkpoint(&history);
            assert!(left.iter().all(|n| all.binary_search(n).is_ok()));
        }
        let (size, all) = written.checkpoint(&history);
        assert!(size < 80 && all.len() < 2 * left.len() + 200, "{size} for {} entries", all.len());
        for shard in 0..2 {
            history.take(shard, 1 << 20, FinishSeq(u64::MAX)).iter().for_each(|finished| history.purged(shard, finished));
        }
        assert_eq!(written.checkpoint(&history), (0, Vec::new()));
        assert!(written.blocks.is_empty(), "{} blocks are left", written.blocks.len());
    }
}
