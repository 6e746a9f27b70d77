//! What memory is used for.

use crate::server;
use sync::CachePadded;
use sync::atomic::{AtomicU64, Ordering};

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident = $name:literal, $heap:literal;)*) => {
        /// What memory is used for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[doc = $doc])* $kind,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Kind] = &[$(Kind::$kind),*];

            /// As `performance_schema` shows it, behind `memory/`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)*
                }
            }

            /// Whether it is part of the heap, and not mapped by itself.
            pub const fn is_heap(self) -> bool {
                match self {
                    $(Kind::$kind => $heap,)*
                }
            }
        }
    };
}

kinds! {
    /// Frames of the buffer pool.
    BufferPool = "innodb/buf_buf_pool", false;
    /// The log's ring and its segments' buffers.
    Log = "innodb/log_buffer_memory", true;
    /// Undo records in memory.
    Undo = "innodb/undo", false;
    /// What sorts keep.
    Sorts = "sql/Filesort_buffer::sort_keys", true;
    /// Hash tables of joins.
    Joins = "sql/hash_join", true;
    /// Groups and distinct values.
    Groups = "sql/hash_aggregation", true;
    /// Rows that a statement keeps for other reasons: materialised subqueries, rows to be changed.
    Rows = "sql/materialized_rows", true;
    /// Plans of statements.
    Plans = "sql/plan_cache", true;
    /// What prepared statements keep beside their plans.
    Prepared = "sql/Prepared_statement", true;
    /// Packets that clients send and results on their way.
    Network = "sql/NET::buff", true;
    /// Definitions of temporary tables.
    Temporary = "sql/TABLE", true;
    /// Index building and ALTER TABLE by copy.
    Ddl = "sql/index_build", true;
}

/// Figures of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Bytes in use.
    pub bytes: u64,
    /// Most there have been.
    pub bytes_max: u64,
    /// Times something was booked.
    pub booked: u64,
    /// Bytes booked since the start.
    pub booked_bytes: u64,
    /// Times something was taken back.
    pub unbooked: u64,
}

struct Counts {
    // Relaxed throughout: figures order nothing.
    bytes: AtomicU64,
    bytes_max: AtomicU64,
    booked: AtomicU64,
    booked_bytes: AtomicU64,
    unbooked: AtomicU64,
}

static COUNTS: [CachePadded<Counts>; Kind::ALL.len()] = [const {
    CachePadded::new(Counts {
        bytes: AtomicU64::new(0),
        bytes_max: AtomicU64::new(0),
        booked: AtomicU64::new(0),
        booked_bytes: AtomicU64::new(0),
        unbooked: AtomicU64::new(0),
    })
}; Kind::ALL.len()];

/// Books bytes under a kind. Writes a line that all who book this kind share: for uses of many KiB.
pub fn book(kind: Kind, bytes: u64) {
    let counts = &COUNTS[kind as usize];
    let now = counts.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
    if now > counts.bytes_max.load(Ordering::Relaxed) {
        counts.bytes_max.fetch_max(now, Ordering::Relaxed);
    }
    counts.booked.fetch_add(1, Ordering::Relaxed);
    counts.booked_bytes.fetch_add(bytes, Ordering::Relaxed);
    if !kind.is_heap() {
        server::map(bytes as i64);
    }
}

/// Takes back what was booked.
pub fn unbook(kind: Kind, bytes: u64) {
    let counts = &COUNTS[kind as usize];
    let before = counts.bytes.fetch_sub(bytes, Ordering::Relaxed);
    debug_assert!(before >= bytes, "{kind:?}: {bytes} bytes of {before}");
    counts.unbooked.fetch_add(1, Ordering::Relaxed);
    if !kind.is_heap() {
        server::map(-(bytes as i64));
    }
}

/// Figures of a kind.
pub fn figures(kind: Kind) -> Figures {
    let counts = &COUNTS[kind as usize];
    Figures {
        bytes: counts.bytes.load(Ordering::Relaxed),
        bytes_max: counts.bytes_max.load(Ordering::Relaxed),
        booked: counts.booked.load(Ordering::Relaxed),
        booked_bytes: counts.booked_bytes.load(Ordering::Relaxed),
        unbooked: counts.unbooked.load(Ordering::Relaxed),
    }
}

/// Steps in which a [`Tally`] is booked.
const TALLY_STEP_BYTES: u64 = 16 << 10;

/// A booked use; taken back when dropped.
#[derive(Debug)]
pub struct Use {
    kind: Kind,
    bytes: u64,
}

impl Use {
    /// Books bytes.
    pub fn new(kind: Kind, bytes: u64) -> Use {
        if bytes > 0 {
            book(kind, bytes);
        }
        Use { kind, bytes }
    }

    /// Bytes booked.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Books another number of bytes instead.
    pub fn resize(&mut self, bytes: u64) {
        match bytes {
            bytes if bytes > self.bytes => book(self.kind, bytes - self.bytes),
            bytes if bytes < self.bytes => unbook(self.kind, self.bytes - bytes),
            _ => return,
        }
        // One use, however often its size changes: what was booked less what was taken back is how many there are.
        if self.bytes > 0 && bytes > 0 {
            let counts = &COUNTS[self.kind as usize];
            let other = if bytes > self.bytes { &counts.unbooked } else { &counts.booked };
            other.fetch_add(1, Ordering::Relaxed);
        }
        self.bytes = bytes;
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        if self.bytes > 0 {
            unbook(self.kind, self.bytes);
        }
    }
}

/// A use that changes often and by little: it is booked in steps, so that small ones write no shared line.
#[derive(Debug)]
pub struct Tally {
    bytes: u64,
    booked: Use,
}

impl Tally {
    /// Nothing used.
    pub fn new(kind: Kind) -> Tally {
        Tally { bytes: 0, booked: Use::new(kind, 0) }
    }

    /// So many bytes are in use now.
    #[inline]
    pub fn set(&mut self, bytes: usize) {
        self.bytes = bytes as u64;
        if self.bytes.abs_diff(self.booked.bytes) >= TALLY_STEP_BYTES {
            self.booked.resize(self.bytes);
        }
    }

    /// So many more.
    #[inline]
    pub fn add(&mut self, bytes: usize) {
        self.set(self.bytes as usize + bytes);
    }

    /// So many less.
    #[inline]
    pub fn remove(&mut self, bytes: usize) {
        self.set((self.bytes as usize).saturating_sub(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_taken_back_when_it_ends() {
        let before = figures(Kind::Ddl);
        let mut held = Use::new(Kind::Ddl, 1000);
        held.resize(5000);
        assert_eq!(figures(Kind::Ddl).bytes, before.bytes + 5000);
        held.resize(10);
        let now = figures(Kind::Ddl);
        assert_eq!((now.booked - before.booked) - (now.unbooked - before.unbooked), 1, "one use");
        assert_eq!(figures(Kind::Ddl).bytes, before.bytes + 10);
        drop(held);
        let after = figures(Kind::Ddl);
        assert_eq!(after.booked - before.booked, after.unbooked - before.unbooked);
        assert_eq!((after.bytes, after.booked_bytes - before.booked_bytes), (before.bytes, 5000));
        assert!(after.bytes_max >= 5000);
    }

    #[test]
    fn a_tally_is_booked_in_steps() {
        let before = figures(Kind::Prepared);
        let mut held = Tally::new(Kind::Prepared);
        held.add(10 << 10);
        assert_eq!(figures(Kind::Prepared), before, "little");
        held.add(10 << 10);
        assert_eq!(figures(Kind::Prepared).bytes, before.bytes + (20 << 10));
        held.remove(15 << 10);
        assert_eq!(figures(Kind::Prepared).bytes, before.bytes + (20 << 10), "within a step");
        held.remove(5 << 10);
        assert_eq!(figures(Kind::Prepared).bytes, before.bytes);
        held.set(1 << 20);
        drop(held);
        assert_eq!(figures(Kind::Prepared).bytes, before.bytes);
    }

    #[test]
    fn mapped_memory_counts_beside_the_heap() {
        let before = crate::mapped();
        let pool = Use::new(Kind::BufferPool, 1 << 20);
        assert_eq!(crate::mapped() - before, 1 << 20);
        drop(pool);
        assert_eq!(crate::mapped(), before);
    }
}
