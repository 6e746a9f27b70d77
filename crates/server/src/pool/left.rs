//! [`Left`]: guests whose statements wait for rows.
//!
//! A statement that waits for a row needs no thread when it can be run again from its beginning (`session::statement::left`). Its guest is handed in here; whoever ends the wait, by giving
//! the row back most often, takes the guest out and has it stand in a row of its post. Guests are told apart by a number of their own, and lie in as many parts as there are posts.
//!
//! # Invariants
//! 1. A guest that is handed in is taken out once.
//! 2. Who hands one in looks under the part's latch whether its wait is over; who ends a wait does so first, then looks for the guest under that latch. So one of the two finds that both have been there.
//! 3. Who is told that a wait is over may mean an earlier one: a guest is taken out only when its own is.

use super::platform::{CachePadded, Mutex, Rank, planted};
use std::collections::HashMap;
use std::time::Instant;

/// What a guest tells of its wait. Each is a look at a word, for it is asked under a latch.
pub(crate) trait WaitsForRow {
    /// It is over.
    fn is_over(&self) -> bool;

    /// When its time is over.
    fn until(&self) -> Option<Instant>;

    /// Ends it at its time; nobody is told. `false` where it was over.
    fn time_is_over(&self) -> bool;
}

/// By number, with when the time of the wait is over: those of many are looked at often, and the guests lie far apart.
type Part<G> = Mutex<HashMap<u32, (Option<Instant>, Box<G>)>>;

/// See the module.
pub(crate) struct Left<G> {
    parts: Box<[CachePadded<Part<G>>]>,
}

impl<G: WaitsForRow> Left<G> {
    /// Nobody waits, in so many parts.
    pub(crate) fn new(parts: usize) -> Self {
        Self { parts: (0..parts).map(|_| CachePadded::new(Mutex::new(Rank::Leaf, HashMap::new()))).collect() }
    }

    fn part(&self, number: u32) -> &Part<G> {
        &self.parts[number as usize % self.parts.len()]
    }

    /// Hands in the guest of this number. It comes back where its wait is over.
    pub(crate) fn leave(&self, number: u32, guest: Box<G>) -> Result<(), Box<G>> {
        let looked_before = planted("left_looks_before") && guest.is_over();
        let mut part = self.part(number).lock();
        if looked_before || !planted("left_looks_before") && guest.is_over() {
            return Err(guest);
        }
        part.insert(number, (guest.until(), guest));
        Ok(())
    }

    /// Takes out the guest of this number, if it is there and its wait is over.
    pub(crate) fn take(&self, number: u32) -> Option<Box<G>> {
        let mut part = self.part(number).lock();
        let is_over = part.get(&number).is_some_and(|(_, guest)| guest.is_over() || planted("left_taken_too_early"));
        if is_over { part.remove(&number).map(|(_, guest)| guest) } else { None }
    }

    /// Takes out those whose time is over by then. (Those whose waits are over otherwise are taken out by who has ended them.)
    pub(crate) fn take_late(&self, now: Instant, mut take: impl FnMut(Box<G>)) {
        for part in &self.parts {
            let late: Vec<_> = {
                let mut part = part.lock();
                part.extract_if(|_, (until, guest)| until.is_some_and(|until| until <= now) && guest.time_is_over())
                    .map(|(_, (_, guest))| guest)
                    .collect()
            };
            late.into_iter().for_each(&mut take);
        }
    }

    /// How many wait.
    pub(crate) fn count(&self) -> usize {
        self.parts.iter().map(|part| part.lock().len()).sum()
    }

    /// Everybody, for the end.
    pub(crate) fn clear(&self) {
        for part in &self.parts {
            let guests = std::mem::take(&mut *part.lock());
            drop(guests);
        }
    }
}
