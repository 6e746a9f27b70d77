//! [`Late`]: guests whose replies wait for the log.
//!
//! A statement that commits has done all it can when its record is in the log. No thread waits with it until that is durable: its guest is handed in here, with how far the log must be. One
//! thread has the log made durable for all that have come meanwhile, then for those that have come during that, and so on; each guest goes back to its post's row, and whoever holds the post
//! sends the reply. So what a commit costs in switches of threads is shared by all that wait for the same write.
//!
//! # Invariants
//! 1. A guest that is handed in is given back once.
//! 2. The thread sleeps only while nobody waits: who comes first puts its guest there, then tells.

use super::platform::atomic::{AtomicBool, Ordering};
use super::platform::{Mutex, Rank, Signal, planted};
use base::Lsn;

/// See the module.
pub(crate) struct Late<G> {
    waiting: Mutex<Vec<(Lsn, Box<G>)>>,
    signal: Signal,
    closed: AtomicBool,
}

impl<G> Late<G> {
    /// Nobody waits.
    pub(crate) fn new() -> Self {
        Self { waiting: Mutex::new(Rank::Leaf, Vec::new()), signal: Signal::new(), closed: AtomicBool::new(false) }
    }

    /// Hands in a guest whose reply may go when the log is durable up to there.
    pub(crate) fn add(&self, up_to: Lsn, guest: Box<G>) {
        if planted("late_told_too_early") {
            self.signal.notify();
        }
        let first = {
            let mut waiting = self.waiting.lock();
            waiting.push((up_to, guest));
            waiting.len() == 1
        };
        if first && !planted("late_told_too_early") {
            self.signal.notify();
        }
    }

    /// The life of the thread, until [`Late::close`] and nobody waits any more. `make_durable`: for so many guests, up to there; `give_back`: the guests whose turn has come.
    pub(crate) fn serve(&self, make_durable: impl Fn(Lsn, u32), mut give_back: impl FnMut(&mut dyn Iterator<Item = Box<G>>)) {
        let mut batch = Vec::new();
        loop {
            std::mem::swap(&mut batch, &mut *self.waiting.lock());
            let Some(up_to) = batch.iter().map(|(up_to, _)| *up_to).max() else {
                if self.closed.load(Ordering::SeqCst) {
                    return;
                }
                self.signal.wait(None);
                continue;
            };
            make_durable(up_to, batch.len() as u32);
            give_back(&mut batch.drain(..).map(|(_, guest)| guest));
        }
    }

    /// Nobody comes any more.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.signal.notify();
    }
}
