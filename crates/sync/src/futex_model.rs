//! The futex under loom and shuttle: a table of waiting threads under the checker's own mutex and condition variable.
//!
//! It may also be included by path into a test crate that has a `crate::platform` over one of the checkers.
//! The kernel compares the word under the lock of the wait queue; the table's mutex plays that part.

use crate::platform::atomic::{AtomicU32, Ordering};
use crate::platform::{Condvar, Mutex, lazy_static};
use std::time::Instant;

/// Why [`wait`] returned. Wakes may be spurious: look at the word again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Woken by [`wake`].
    Woken,
    /// The word did not hold the expected value; the thread did not sleep.
    Changed,
    /// The deadline passed.
    TimedOut,
}

#[derive(Default)]
struct Table {
    next_ticket: u64,
    /// (address of the word, ticket), oldest first.
    waiting: Vec<(usize, u64)>,
}

lazy_static! {
    static ref TABLE: Mutex<Table> = Mutex::new(Table::default());
    static ref WAKE: Condvar = Condvar::new();
}

fn address(word: &AtomicU32) -> usize {
    std::ptr::from_ref(word) as usize
}

/// Sleeps while `word` holds `expected`. A wait with a deadline times out at once, which is among the things that can happen.
pub fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) -> Woken {
    let mut table = TABLE.lock().expect("model mutex");
    if word.load(Ordering::SeqCst) != expected {
        return Woken::Changed;
    }
    if deadline.is_some() {
        drop(table);
        crate::platform::thread::yield_now();
        return Woken::TimedOut;
    }
    table.next_ticket += 1;
    let me = table.next_ticket;
    table.waiting.push((address(word), me));
    while table.waiting.iter().any(|&(_, ticket)| ticket == me) {
        table = WAKE.wait(table).expect("model condvar");
    }
    Woken::Woken
}

/// Wakes up to `count` threads that wait on `word`, oldest first; returns how many.
pub fn wake(word: &AtomicU32, count: u32) -> u32 {
    let mut table = TABLE.lock().expect("model mutex");
    let mut woken = 0;
    table.waiting.retain(|&(at, _)| {
        let hit = at == address(word) && woken < count;
        woken += u32::from(hit);
        !hit
    });
    if woken > 0 {
        WAKE.notify_all();
    }
    woken
}
