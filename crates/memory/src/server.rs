//! The counts of the whole process.

use crate::thread::Excess;
use sync::CachePadded;
use sync::atomic::{AtomicI64, AtomicU64, Ordering};

// Relaxed throughout: the counts order nothing, and a limit that is noticed one credit late is noticed.
static HEAP: CachePadded<AtomicI64> = CachePadded::new(AtomicI64::new(0));
static HEAP_MAX: CachePadded<AtomicI64> = CachePadded::new(AtomicI64::new(0));
static MAPPED: AtomicI64 = AtomicI64::new(0);
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
static REFUSALS: AtomicU64 = AtomicU64::new(0);

/// Who holds no more than this may go on past the limit, by a sixteenth of it: the large ones are told first.
const SMALL_BYTES: i64 = 4 << 20;

/// Adds a thread's credit.
pub(crate) fn add_heap(bytes: i64) -> i64 {
    let now = HEAP.fetch_add(bytes, Ordering::Relaxed) + bytes;
    if now > HEAP_MAX.load(Ordering::Relaxed) {
        HEAP_MAX.fetch_max(now, Ordering::Relaxed);
    }
    now
}

pub(crate) fn map(bytes: i64) {
    MAPPED.fetch_add(bytes, Ordering::Relaxed);
}

/// Bytes of the heap, by what was asked for.
pub fn heap_bytes() -> u64 {
    HEAP.load(Ordering::Relaxed).max(0) as u64
}

/// Most there have been.
pub fn heap_bytes_max() -> u64 {
    HEAP_MAX.load(Ordering::Relaxed).max(0) as u64
}

/// Bytes mapped beside the heap.
pub fn mapped() -> u64 {
    MAPPED.load(Ordering::Relaxed).max(0) as u64
}

/// All of it.
pub fn total() -> u64 {
    heap_bytes() + mapped()
}

/// What the server may have.
pub fn limit() -> u64 {
    LIMIT.load(Ordering::Relaxed)
}

/// Sets what the server may have.
pub fn set_limit(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// Statements that were told that there is no memory for them.
pub fn refusals() -> u64 {
    REFUSALS.load(Ordering::Relaxed)
}

pub(crate) fn refused() {
    REFUSALS.fetch_add(1, Ordering::Relaxed);
}

/// Whether a statement that holds so much may not grow.
pub(crate) fn is_past_limit(held: i64) -> bool {
    let limit = limit();
    let limit = if held <= SMALL_BYTES { limit.saturating_add(limit / 16) } else { limit };
    total() > limit
}

/// What the running statement may still take, by its own limit and the server's.
pub fn room() -> u64 {
    crate::thread::statement_room().min(limit().saturating_sub(total()))
}

/// What there would be too much of with so many bytes more: asked before large allocations.
pub fn excess_with(bytes: usize) -> Excess {
    let excess = judge(bytes);
    if excess != Excess::None {
        refused();
    }
    excess
}

/// The same without a refusal: who asks can do with less.
pub(crate) fn judge(bytes: usize) -> Excess {
    if crate::thread::statement_room() < bytes as u64 {
        Excess::Statement
    } else if total().saturating_add(bytes as u64) > limit() {
        Excess::Server
    } else {
        Excess::None
    }
}
