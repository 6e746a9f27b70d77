//! Where the leader waits for a hole: a record that was reserved before the ones it is to write, and is not filled yet.
//!
//! Filling is a copy of some hundred bytes, so a short look around is enough, unless the thread that fills has lost the CPU. Then looking on only keeps
//! the CPU from it: the leader says which position it waits for and sleeps, and whoever fills exactly that record wakes it.
//!
//! The filler pays one load. It marks its record, then looks whether it is awaited; the leader says what it awaits, then looks at the marks again. For
//! one of them to see the other, the store of the mark must come before the load. On x86 the count of records between the two sees to that; where
//! it does not, a wake can be missed, and the leader looks again by itself after [`backstop`](crate::platform::backstop).

use crate::platform::{AtomicU32, AtomicU64, Ordering, backstop, futex, planted};

/// One leader waits here at a time.
pub(crate) struct Hole {
    /// The position that the leader waits for, plus one; 0 for none. SeqCst: see above.
    awaited: AtomicU64,
    /// Counts wakes; the leader sleeps on it.
    woken: AtomicU32,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The hole was filled before the leader slept.
    NotAtAll,
    /// Who filled it woke the leader.
    Woken,
    /// The leader looked by itself.
    Backstop,
}

impl Hole {
    pub(crate) fn new() -> Hole {
        Hole { awaited: AtomicU64::new(0), woken: AtomicU32::new(0) }
    }

    /// Sleeps until the record that begins at `position` is filled, unless `is_filled` by now.
    pub(crate) fn wait(&self, position: u64, is_filled: impl Fn() -> bool) -> Waited {
        let seen = self.woken.load(Ordering::SeqCst);
        self.awaited.store(position + 1, Ordering::SeqCst);
        if is_filled() && !planted("sleep_without_second_look") {
            self.awaited.store(0, Ordering::SeqCst);
            return Waited::NotAtAll;
        }
        let woken = futex::wait(&self.woken, seen, backstop());
        self.awaited.store(0, Ordering::SeqCst);
        if woken == futex::Woken::TimedOut { Waited::Backstop } else { Waited::Woken }
    }

    /// The record that begins at `start` was marked as filled. One load when nobody waits for it.
    #[inline]
    pub(crate) fn filled(&self, start: u64) {
        let awaited = self.awaited.load(Ordering::SeqCst);
        if awaited == start + 1 {
            self.wake();
        }
    }

    /// The leader looks again whatever it waits for.
    #[cold]
    pub(crate) fn wake(&self) {
        self.woken.fetch_add(1, Ordering::SeqCst);
        if !planted("no_wake_of_the_leader") {
            futex::wake(&self.woken, 1);
        }
    }
}
