//! How many gap locks there are, roughly by index: what an insertion looks at before it looks for one.
//!
//! # Why a relaxed load is enough
//! An insertion loads the count while it has the leaf of its key latched exclusively. Who locks a gap does so (and counts it) before it lets go of
//! its last latch on the leaves that the gap spans (`docs/design/gap-locks.md`). So of the two, one comes first on that leaf, and the latch
//! orders what they did: either the insertion sees the count, or the reader sees the inserted record.
//!
//! Counts are kept under the latches of the table's shards; several indexes may share one, which costs a needless look.

use crate::holders::GapChange;
use crate::platform::atomic::{AtomicU32, Ordering};
use base::IndexId;

const COUNTS: usize = 1024;

pub(crate) struct GapCounts {
    counts: Box<[AtomicU32]>,
}

impl GapCounts {
    pub(crate) fn new() -> GapCounts {
        GapCounts { counts: (0..COUNTS).map(|_| AtomicU32::new(0)).collect() }
    }

    #[inline]
    fn count(&self, index: IndexId) -> &AtomicU32 {
        &self.counts[index.0 as usize % COUNTS]
    }

    /// Whether there may be a gap lock in `index`.
    #[inline]
    pub(crate) fn any(&self, index: IndexId) -> bool {
        self.count(index).load(Ordering::Relaxed) != 0
    }

    #[inline]
    pub(crate) fn note(&self, index: IndexId, change: GapChange) {
        match change {
            GapChange::Same => {}
            GapChange::Locked => {
                self.count(index).fetch_add(1, Ordering::Relaxed);
            }
            GapChange::Unlocked => {
                let before = self.count(index).fetch_sub(1, Ordering::Relaxed);
                assert!(before > 0, "a gap lock was not counted");
            }
        }
    }
}
