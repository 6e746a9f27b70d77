//! [`StandIn`]: a thread that works on nothing, so that a lone client and the thread that serves it share a processor.
//!
//! With one client at work on a machine of two processors the kernel wakes the client, and the thread that serves it, on whichever processor is idle, and to wake an idle processor takes several times as long as a point
//! select. Where the other one is busy it wakes them beside each other, and who goes to sleep hands the processor on: a round trip of 14 µs instead of 53 (docs/design/attention.md). So while a client is alone and quick,
//! a thread as nice as can be keeps the other processor busy; whoever has work for it takes it away.
//!
//! # Invariants
//! 1. It works for [`STAYS`] at most after the last command for which it was called.
//! 2. There is one only where the machine has two processors, and the process may use both: with more it would take one for each of the others.
//! 3. Nobody waits for it, and it holds nothing.

use std::time::Duration;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::moment::nanoseconds;
use sync::{CachePadded, Moment, Signal};

/// So long it stays after a command: longer than the commit of a transaction waits for most disks, since to call it costs as much as it saves for one command.
/// 500 to 2,000 µs did alike (docs/design/attention.md).
const STAYS: Duration = Duration::from_micros(500);
/// The least that it is worth telling it to stay longer.
const STEP: Duration = Duration::from_micros(50);
/// Pauses of the processor between two looks at the clock: one to three microseconds.
const PAUSES: u32 = 64;
/// Nobody can be nicer.
const NICE: i32 = 19;

/// See the module.
#[derive(Debug)]
pub(crate) struct StandIn {
    /// It stays to this moment ([`Moment::to_bits`]). Written by who serves a lone client, for one command in several.
    until: CachePadded<AtomicU64>,
    /// Whether its thread runs, and is nice.
    is_there: AtomicBool,
    stopping: AtomicBool,
    call: Signal,
    /// How often it was called. Relaxed.
    calls: AtomicU64,
}

impl StandIn {
    pub(crate) fn new() -> Self {
        Self {
            until: CachePadded::new(AtomicU64::new(0)),
            is_there: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            call: Signal::new(),
            calls: AtomicU64::new(0),
        }
    }

    /// Whether it can be called at all.
    pub(crate) fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Relaxed)
    }

    /// A command of a lone, quick client came at this moment: it stands in for a while.
    #[inline]
    pub(crate) fn stay(&self, came: Moment) {
        let until = (came + STAYS).to_bits();
        // Relaxed: an old moment costs a store more, or less.
        if self.until.load(Ordering::Relaxed) + nanoseconds(STEP) < until {
            // Relaxed: the signal shows it to the wait that it ends. While nobody waits it is a swap.
            self.until.store(until, Ordering::Relaxed);
            self.call.notify();
        }
    }

    /// How often it was called.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    fn is_over(&self) -> bool {
        self.stopping.load(Ordering::Relaxed) || Moment::now().to_bits() >= self.until.load(Ordering::Relaxed)
    }

    /// The life of its thread.
    pub(crate) fn work(&self) {
        if rustix::process::nice(NICE).is_err() {
            // It would take the processor from those who have work for it.
            return;
        }
        self.is_there.store(true, Ordering::Relaxed);
        while !self.stopping.load(Ordering::Relaxed) {
            self.call.wait(None);
            // One that came while it worked, and is over, is none.
            if self.is_over() {
                continue;
            }
            self.calls.fetch_add(1, Ordering::Relaxed);
            while !self.is_over() {
                (0..PAUSES).for_each(|_| std::hint::spin_loop());
            }
        }
    }

    /// Its thread ends.
    pub(crate) fn dismiss(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        // Whoever consumes it sees the flag.
        self.call.notify();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn it_comes_when_it_is_called_goes_by_itself_and_ends() {
        let stand_in = Arc::new(StandIn::new());
        assert!(!stand_in.is_there());
        let its = Arc::clone(&stand_in);
        let thread = std::thread::spawn(move || its.work());
        for calls in 1..=20 {
            // It comes again only after it has gone.
            while stand_in.calls() < calls {
                if stand_in.is_over() {
                    stand_in.stay(Moment::now());
                }
                std::thread::yield_now();
            }
            assert!(stand_in.is_there());
        }
        stand_in.dismiss();
        thread.join().expect("no panic");
    }

    #[test]
    fn it_is_told_to_stay_once_in_a_while() {
        let stand_in = StandIn::new();
        let came = Moment::now();
        stand_in.stay(came);
        let until = stand_in.until.load(Ordering::Relaxed);
        stand_in.stay(came + STEP);
        assert_eq!(stand_in.until.load(Ordering::Relaxed), until, "it stays for long enough");
        stand_in.stay(came + STEP + Duration::from_nanos(1));
        assert_eq!(stand_in.until.load(Ordering::Relaxed), until + STEP.as_nanos() as u64 + 1);
    }
}
