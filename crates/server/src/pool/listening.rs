//! [`Listening`]: how many members wait for a guest, and the sleep of the monitor while any does.
//!
//! # Why the monitor does not sleep while nobody listens
//! The last to stop listening writes `count`, then reads `asleep`; the monitor writes `asleep`, then reads `count`. All four are SeqCst, so one of the two sees the
//! other: the monitor stays awake, or is notified.

use super::platform::atomic::{AtomicBool, AtomicU32, Ordering};
use super::platform::{CachePadded, Signal, planted};
use std::time::Instant;

/// See the module.
pub(crate) struct Listening {
    count: CachePadded<AtomicU32>,
    asleep: AtomicBool,
    signal: Signal,
}

impl Listening {
    /// Nobody.
    pub(crate) fn new() -> Self {
        Self { count: CachePadded::new(AtomicU32::new(0)), asleep: AtomicBool::new(false), signal: Signal::new() }
    }

    /// A member listens while `take` runs.
    #[inline]
    pub(crate) fn during<T>(&self, take: impl FnOnce() -> T) -> T {
        self.count.fetch_add(1, Ordering::SeqCst);
        let taken = take();
        let last = self.count.fetch_sub(1, Ordering::SeqCst) == 1;
        if last && self.asleep.load(Ordering::SeqCst) && !planted("silent_leave") {
            self.signal.notify();
        }
        taken
    }

    /// Whether anybody listens.
    pub(crate) fn somebody(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }

    /// The monitor sleeps while all is `quiet`, which is asked with whether somebody listens; other changes are told by [`Listening::notify`].
    pub(crate) fn sleep_while(&self, quiet: impl Fn(bool) -> bool) {
        loop {
            let early = planted("look_before_sleeping").then(|| quiet(self.somebody()));
            self.asleep.store(true, Ordering::SeqCst);
            if !early.unwrap_or_else(|| quiet(self.somebody())) {
                break;
            }
            self.signal.wait(None);
        }
        self.asleep.store(false, Ordering::SeqCst);
    }

    /// The monitor sleeps until then, or until it is notified.
    pub(crate) fn sleep_until(&self, deadline: Instant) {
        self.signal.wait(Some(deadline));
    }

    /// Wakes the monitor.
    pub(crate) fn notify(&self) {
        self.signal.notify();
    }
}
