//! The order in which latches are taken, and its check in debug builds.

/// Rank of a latch: a thread acquires in ascending rank. Latches of one rank are ordered by their order number
/// ([`crate::Mutex::with_order`]); without one, two of the same rank are never held at once.
///
/// What must never happen while a rank is held is written beside each; the long form is the table in ARCHITECTURE.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Rank {
    /// Catalogue cache. Never: I/O, lock wait.
    Catalog = 10,
    /// B+tree page (page latches themselves live in `buffer_pool`). Never: lock wait, fsync.
    BtreePage = 20,
    /// Space-map page, ascending page number. Never: lock wait, fsync.
    SpaceMap = 30,
    /// Deadlock search, which latches one shard of the lock table after the other. Never: any wait.
    LockDetector = 38,
    /// Shard of the lock table, ascending shard number. Never: any wait.
    LockShard = 40,
    /// Shard of the keys that change beside the build of an index. Never: any wait.
    ChangedKeys = 45,
    /// One spill or checkpoint of undo at a time; held over its I/O, and nothing but I/O and the list of segments is taken under it.
    UndoMaintenance = 48,
    /// List of undo segments. Never: I/O.
    UndoSegments = 50,
    /// Held by whom writes dirty pages. Never: waiting for a page latch. It waits for the log and writes and syncs under it.
    Flush = 65,
    /// Eviction queue and free frames, ascending shard number. Never: I/O.
    Eviction = 70,
    /// Dirty-list shard, ascending shard number. Never: I/O.
    DirtyList = 80,
    /// The log writer's own state; only the batch leader takes it, and it writes and syncs under it.
    LogWriter = 88,
    /// Making or recycling a log segment; only who finds too few prepared takes it, and it writes and syncs under it.
    LogGrow = 89,
    /// Log segment table. Never: fsync.
    LogSegment = 90,
    /// Order of write batches to the data file; writes and syncs under it.
    DataFile = 95,
    /// Commits that wait for the log; their leader finishes them under it.
    CommitQueue = 96,
    /// List of long transactions. Never: I/O.
    LongTxns = 97,
    /// Admission queue. Never: any wait.
    Admission = 100,
    /// A latch under which nothing else is taken.
    Leaf = 255,
}

#[cfg(debug_assertions)]
pub(crate) use checked::{Held, Place};
#[cfg(not(debug_assertions))]
pub(crate) use unchecked::{Held, Place};

#[cfg(debug_assertions)]
mod checked {
    use super::Rank;
    use std::cell::RefCell;
    use std::panic::Location;

    /// Where a latch stands in the order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) struct Place {
        rank: Rank,
        order: u32,
    }

    struct Entry {
        place: Place,
        at: &'static Location<'static>,
        ticket: u64,
    }

    // A plain std thread-local also under the model checkers: each of loom's threads is a generator on one OS thread, so
    // the check is left out there.
    thread_local! {
        static HELD: RefCell<(u64, Vec<Entry>)> = const { RefCell::new((0, Vec::new())) };
    }

    impl Place {
        pub(crate) const fn new(rank: Rank, order: u32) -> Self {
            Place { rank, order }
        }

        /// Panics when this thread holds a latch that comes later.
        #[track_caller]
        pub(crate) fn check(self) {
            if cfg!(any(loom, shuttle)) {
                return;
            }
            let _ = HELD.try_with(|held| {
                for entry in &held.borrow().1 {
                    assert!(
                        entry.place < self,
                        "latch order: {self:?} acquired at {} while {:?} is held since {}",
                        Location::caller(),
                        entry.place,
                        entry.at
                    );
                }
            });
        }

        /// Notes that this thread holds the latch, until the returned value is dropped.
        #[track_caller]
        pub(crate) fn hold(self) -> Held {
            let at = Location::caller();
            let ticket = HELD.try_with(|held| {
                let (next, entries) = &mut *held.borrow_mut();
                *next += 1;
                entries.push(Entry { place: self, at, ticket: *next });
                *next
            });
            Held(ticket.unwrap_or(0))
        }
    }

    pub(crate) struct Held(u64);

    impl Drop for Held {
        fn drop(&mut self) {
            let _ = HELD.try_with(|held| held.borrow_mut().1.retain(|entry| entry.ticket != self.0));
        }
    }
}

#[cfg(not(debug_assertions))]
mod unchecked {
    use super::Rank;

    #[derive(Clone, Copy)]
    pub(crate) struct Place;

    impl Place {
        pub(crate) const fn new(_rank: Rank, _order: u32) -> Self {
            Place
        }
        #[inline(always)]
        pub(crate) fn check(self) {}
        #[inline(always)]
        pub(crate) fn hold(self) -> Held {
            Held
        }
    }

    pub(crate) struct Held;
}
