//! How many gap locks there are, roughly by index, and who has given back some: what an insertion looks at before it looks for one.
//!
//! # Why a relaxed load is enough
//! An insertion loads the count while it has the leaf of its key latched exclusively. Who locks a gap does so (and counts it) before it lets go of
//! its last latch on the leaves that the gap spans (`docs/design/gap-locks.md`). So of the two, one comes first on that leaf, and the latch
//! orders what they did: either the insertion sees the count, or the reader sees the inserted record.
//!
//! # Why an insertion that finds no gap locked comes after those who had it
//! A gap may be given back before its holder's commit is durable ([`crate::LockManager::release_before_durable`]). The commit's position is noted here before
//! the gap is taken from the count, with a release; so whose acquiring load finds the count without it finds the position.
//!
//! Counts are kept under the latches of the table's shards; several indexes may share one, which costs a needless look, or a wait of the log for a new snapshot.

use crate::holders::GapChange;
use crate::platform::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::platform::planted;
use base::{IndexId, Lsn};

const COUNTS: usize = 1024;

/// Of one index, or several.
#[repr(align(16))]
struct Gaps {
    /// The newest commit of those whose gap locks were given back before they were durable.
    released: AtomicU64,
    locked: AtomicU32,
}

pub(crate) struct GapCounts {
    counts: Box<[Gaps]>,
}

impl GapCounts {
    pub(crate) fn new() -> GapCounts {
        GapCounts { counts: (0..COUNTS).map(|_| Gaps { released: AtomicU64::new(Lsn::NONE.0), locked: AtomicU32::new(0) }).collect() }
    }

    #[inline]
    fn of(&self, index: IndexId) -> &Gaps {
        &self.counts[index.0 as usize % COUNTS]
    }

    /// Whether there may be a gap lock in `index`, and the newest commit whose transaction had one and gave it back before it was durable.
    #[inline]
    pub(crate) fn look(&self, index: IndexId) -> (bool, Lsn) {
        let gaps = self.of(index);
        let any = gaps.locked.load(Ordering::Acquire) != 0;
        (any, Lsn(gaps.released.load(Ordering::Relaxed)))
    }

    /// `released`: a position that is not before the commit of whoever gives the gap back, if readers do not see it yet; otherwise any before it.
    #[inline]
    pub(crate) fn note(&self, index: IndexId, change: GapChange, released: Lsn) {
        if change != GapChange::Same {
            self.count(index, change, released);
        }
    }

    /// Apart, so that locks on records alone do not carry it.
    #[inline(never)]
    fn count(&self, index: IndexId, change: GapChange, released: Lsn) {
        if change == GapChange::Locked {
            self.of(index).locked.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.note_released(index, released);
        // After the position; see the module's head.
        let before = self.of(index).locked.fetch_sub(1, Ordering::Release);
        assert!(before > 0, "a gap lock was not counted");
    }

    /// Who has given back a gap, or has had one that was to be its own and has ended.
    #[inline]
    pub(crate) fn note_released(&self, index: IndexId, commit: Lsn) {
        let released = &self.of(index).released;
        if commit.0 > released.load(Ordering::Relaxed) && !planted("gap_not_told") {
            released.fetch_max(commit.0, Ordering::Relaxed);
        }
    }
}
