//! A thread's own counts.

use crate::server;
use std::cell::Cell;

/// What a thread's use may fall before the server's count follows.
pub const SLACK_BYTES: i64 = 64 << 10;
/// Smallest and largest credit that a growing thread takes.
const CREDIT_MIN: i64 = 16 << 10;
const CREDIT_MAX: i64 = 4 << 20;

/// What a statement has too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Excess {
    /// Nothing.
    None = 0,
    /// It holds more than one statement may.
    Statement = 1,
    /// It grew while the server held more than it may.
    Server = 2,
}

/// A thread's counts: in one cache line, which no other thread writes.
#[repr(align(64))]
struct Thread {
    /// Allocated less freed. What others free, or what was others', makes it drift; sums over all threads are right.
    held: Cell<i64>,
    /// The server's count has this much for this thread. Past it, or below `low`, the slow path tells that count and looks at limits: a statement's
    /// is thus noticed one credit late, and beginning a statement costs a few stores.
    reported: Cell<i64>,
    low: Cell<i64>,
    /// What `held` was when the statement began.
    base: Cell<i64>,
    /// What it may hold beyond that; negative for a thread without statements.
    limit: Cell<i64>,
    excess: Cell<Excess>,
    /// The thread ends: every change is told at once.
    ended: Cell<bool>,
    /// What allocates now takes no for an answer.
    fallible: Cell<bool>,
}

const _: () = assert!(size_of::<Thread>() == 64);

thread_local! {
    // Without a destructor and made at compile time: access is one instruction, allowed at any time of a thread's life.
    static THREAD: Thread = const {
        Thread {
            held: Cell::new(0),
            low: Cell::new(i64::MIN / 2),
            reported: Cell::new(0),
            base: Cell::new(0),
            limit: Cell::new(-1),
            excess: Cell::new(Excess::None),
            ended: Cell::new(false),
            fallible: Cell::new(false),
        }
    };
    static AT_EXIT: AtExit = const { AtExit };
}

struct AtExit;

impl Drop for AtExit {
    fn drop(&mut self) {
        THREAD.with(|thread| {
            thread.ended.set(true);
            thread.settle();
        });
    }
}

/// Counts an allocation, or by a negative number a release.
#[inline(always)]
pub(crate) fn count(bytes: i64) {
    THREAD.with(|thread| {
        let held = thread.held.get() + bytes;
        thread.held.set(held);
        if held > thread.reported.get() || held < thread.low.get() {
            thread.crossed(held);
        }
    });
}

impl Thread {
    #[cold]
    #[inline(never)]
    fn crossed(&self, held: i64) {
        self.settle();
        self.judge(held);
    }

    /// Tells the server's count, and takes credit for what may come.
    fn settle(&self) {
        let held = self.held.get();
        let credit = if self.ended.get() { 0 } else { (held / 8).clamp(CREDIT_MIN, CREDIT_MAX) };
        let report = held + credit;
        server::add_heap(report - self.reported.get());
        self.reported.set(report);
        self.low.set(if self.ended.get() { held } else { report - 2 * credit - SLACK_BYTES });
    }

    fn judge(&self, held: i64) {
        let (base, limit) = (self.base.get(), self.limit.get());
        if limit < 0 || self.excess.get() != Excess::None {
            return;
        }
        let excess = match held.saturating_sub(base) {
            own if own > limit => Excess::Statement,
            own if own > 0 && server::is_past_limit(own) => Excess::Server,
            _ => return,
        };
        server::refused();
        self.excess.set(excess);
    }
}

/// Called once by a thread that comes and goes: its counts are exact when it ends.
pub fn begin_thread() {
    // Touched here, where registering a destructor may allocate, and not within an allocation.
    AT_EXIT.with(|_| {});
}

/// A statement begins on this thread, which may hold so many bytes beyond what the thread holds now.
#[inline]
pub fn begin_statement(limit: u64) {
    THREAD.with(|thread| {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        thread.base.set(thread.held.get());
        thread.limit.set(limit);
        thread.excess.set(Excess::None);
    });
}

/// What the running statement was found to have too much of.
#[inline]
pub fn excess() -> Excess {
    THREAD.with(|thread| thread.excess.get())
}

/// Marks the running statement: something that it needs was not to be had. The first mark stays; a thread without a statement takes none.
pub(crate) fn mark(excess: Excess) {
    THREAD.with(|thread| {
        if thread.limit.get() >= 0 && thread.excess.get() == Excess::None {
            thread.excess.set(excess);
        }
    });
}

/// Runs what can take a failed allocation: it is told at once, and lives not off what is set aside for those that cannot.
#[inline]
pub fn fallible<T>(allocate: impl FnOnce() -> T) -> T {
    THREAD.with(|thread| {
        thread.fallible.set(true);
        let done = allocate();
        thread.fallible.set(false);
        done
    })
}

/// The allocator gave nothing. Whether the allocation is to be tried again with the help of what is set aside: its statement is marked then.
#[cold]
pub(crate) fn starved() -> bool {
    if THREAD.with(|thread| thread.fallible.get()) {
        return false;
    }
    server::refused();
    mark(Excess::Server);
    true
}

/// The statement has been told; what it undoes now may take what it needs.
pub fn excuse() {
    THREAD.with(|thread| {
        thread.limit.set(-1);
        thread.excess.set(Excess::None);
    });
}

/// What the thread has allocated less what it has freed.
#[inline]
pub fn held() -> i64 {
    THREAD.with(|thread| thread.held.get())
}

/// What the thread has just allocated, so many bytes, is the server's from now on: the statement may not be blamed for it.
pub fn transfer(bytes: i64) {
    THREAD.with(|thread| thread.base.set(thread.base.get().saturating_add(bytes)));
}

/// What the statement may still take.
pub(crate) fn statement_room() -> u64 {
    THREAD.with(|thread| match thread.limit.get() {
        limit if limit < 0 => u64::MAX,
        limit => limit.saturating_sub(thread.held.get().saturating_sub(thread.base.get())).max(0) as u64,
    })
}
