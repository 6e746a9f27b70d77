//! A session's way through the gate.

use crate::admission::{Admission, SLICE_TICKS};
use crate::gate::{Rights, Waiter};
use crate::slot::{Held, ticks_between};
use lock_manager::{Cancel, WaitObserver};
use std::sync::Arc;
use sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// The statement was cancelled while it waited for a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Killed;

/// What a statement is about to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Less than a context switch costs.
    Brief,
    /// Anything else.
    Long,
}

/// Where a session stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
enum Lane {
    /// It works not, or uncounted.
    Out = 0,
    /// It has a slot.
    Slot = 1,
    /// It has a place in the long lane.
    Long = 2,
}

/// Beside the lane: the transaction has been let in before.
const OPEN: u32 = 4;

impl Lane {
    fn from_u32(lane: u32) -> Lane {
        match lane & !OPEN {
            1 => Lane::Slot,
            2 => Lane::Long,
            _ => Lane::Out,
        }
    }
}

/// A session's place before, in or behind the gate. Only the session's thread calls it; the fields are atomics (all relaxed) because the lock manager
/// tells of waits through a shared reference.
pub struct Ticket {
    admission: Arc<Admission>,
    /// The [`Lane`], and [`OPEN`] once the transaction has been let in. 0, as between transactions, asks for nothing when one ends.
    standing: AtomicU32,
    /// Its slot, or the one it had last: the first to be tried next time.
    index: AtomicU32,
    word: AtomicU64,
    /// Tick at which its turn began.
    turn: AtomicU32,
    /// The lane that a wait interrupted.
    interrupted: AtomicU32,
    /// A transaction that was not inside has asked for a slot, see [`Ticket::take_asked`].
    asked: AtomicBool,
    waiter: Arc<Waiter>,
}

impl Ticket {
    /// For a new session; `number` spreads sessions over the slots.
    pub fn new(admission: &Arc<Admission>, number: u32) -> Arc<Ticket> {
        Arc::new(Ticket {
            admission: Arc::clone(admission),
            standing: AtomicU32::new(Lane::Out as u32),
            index: AtomicU32::new(number.wrapping_mul(0x9E37_79B1) >> 16),
            word: AtomicU64::new(0),
            turn: AtomicU32::new(0),
            interrupted: AtomicU32::new(Lane::Out as u32),
            asked: AtomicBool::new(false),
            waiter: Arc::new(Waiter::new()),
        })
    }

    #[inline]
    fn lane(&self) -> Lane {
        Lane::from_u32(self.standing.load(Ordering::Relaxed))
    }

    fn set_lane(&self, lane: Lane) {
        self.standing.store(self.standing.load(Ordering::Relaxed) & OPEN | lane as u32, Ordering::Relaxed);
    }

    fn is_open(&self) -> bool {
        self.standing.load(Ordering::Relaxed) & OPEN != 0
    }

    fn set_open(&self, open: bool) {
        self.standing.store(self.lane() as u32 | if open { OPEN } else { 0 }, Ordering::Relaxed);
    }

    fn held(&self) -> Held {
        Held { index: self.index.load(Ordering::Relaxed), word: self.word.load(Ordering::Relaxed) }
    }

    fn take(&self, held: Held) {
        self.index.store(held.index, Ordering::Relaxed);
        self.word.store(held.word, Ordering::Relaxed);
        self.set_lane(Lane::Slot);
    }

    fn take_turn(&self) {
        self.turn.store(self.admission.gate.tick(), Ordering::Relaxed);
    }

    /// A statement is about to work. `goes_on`: it belongs to a transaction that does not end with it. Waits where there is no slot, with no latch
    /// held.
    #[inline]
    pub fn begin(&self, work: Work, goes_on: bool, cancel: &Cancel) -> Result<(), Killed> {
        // A brief statement that is its own transaction asks for nothing.
        if work == Work::Brief && !goes_on { Ok(()) } else { self.begin_counted(work, goes_on, cancel) }
    }

    #[inline(never)]
    fn begin_counted(&self, work: Work, goes_on: bool, cancel: &Cancel) -> Result<(), Killed> {
        match self.lane() {
            Lane::Slot => {
                let mut held = self.held();
                if self.admission.gate.go_on(&mut held) {
                    self.word.store(held.word, Ordering::Relaxed);
                    self.take_turn();
                    return Ok(());
                }
                self.set_lane(Lane::Out);
            }
            Lane::Out => {}
            // Between statements nobody is there; a statement within a statement stays where it is.
            Lane::Long => return Ok(()),
        }
        if self.admission.is_off() {
            return Ok(());
        }
        let rights = if self.is_open() {
            Rights::Open
        } else {
            self.asked.store(true, Ordering::Relaxed);
            Rights::Newcomer
        };
        let hint = self.index.load(Ordering::Relaxed);
        if let Some(held) = self.admission.gate.try_enter(rights, hint) {
            self.take(held);
        } else if rights == Rights::Open && work == Work::Brief {
            self.overdraw();
        } else {
            self.admission.counters.waits.inc();
            let queued = || self.admission.wake_ticker();
            let held = self.admission.gate.enter(rights, &self.waiter, cancel, queued).ok_or(Killed)?;
            self.take(held);
        }
        self.set_open(goes_on);
        self.take_turn();
        Ok(())
    }

    /// Whether a transaction that was not inside has asked for a slot since this was asked last.
    pub fn take_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) && self.asked.swap(false, Ordering::Relaxed)
    }

    /// The statement has ended, and its transaction goes on: until the client says more the slot may be taken away.
    #[inline]
    pub fn rest(&self) {
        if self.lane() != Lane::Out {
            self.rest_in_place();
        }
    }

    #[inline(never)]
    fn rest_in_place(&self) {
        if self.lane() == Lane::Long {
            return self.give_up_place();
        }
        let mut held = self.held();
        if self.admission.gate.rest(&mut held) {
            self.word.store(held.word, Ordering::Relaxed);
        } else {
            self.set_lane(Lane::Out);
        }
    }

    #[cold]
    fn overdraw(&self) {
        self.admission.counters.overdrafts.inc();
        if let Some(held) = self.admission.gate.overdraw(self.index.load(Ordering::Relaxed)) {
            self.take(held);
        }
    }

    /// The transaction ends, or is about to wait for its durability: it works no more. One load for who has asked for nothing.
    #[inline]
    pub fn leave(&self) {
        if self.standing.load(Ordering::Relaxed) != 0 {
            self.leave_place();
        }
    }

    #[inline(never)]
    fn leave_place(&self) {
        if self.lane() != Lane::Out {
            self.admission.counters.completed.inc();
            self.give_up_place();
        }
        self.set_open(false);
    }

    fn give_up_place(&self) {
        let lane = self.lane();
        self.set_lane(Lane::Out);
        match lane {
            Lane::Out => {}
            Lane::Slot => self.admission.gate.leave(self.held()),
            Lane::Long => self.admission.gate.leave_long(),
        }
    }

    /// Called every few hundred rows, with no latch held: a statement that has worked for long while others waited goes on in the long lane, or lets
    /// the next one there have a turn. What cancels it meanwhile is to be asked for afterwards.
    #[inline]
    pub fn pulse(&self, cancel: &Cancel) {
        if ticks_between(self.turn.load(Ordering::Relaxed), self.admission.gate.tick()) >= SLICE_TICKS {
            self.turn_is_over(cancel);
        }
    }

    #[cold]
    fn turn_is_over(&self, cancel: &Cancel) {
        let gate = &self.admission.gate;
        match self.lane() {
            Lane::Out => return,
            _ if self.admission.is_off() => self.give_up_place(),
            Lane::Slot if !self.admission.others_wait() => {}
            Lane::Slot => {
                self.give_up_place();
                self.admission.counters.long.inc();
                if gate.enter_long(&self.waiter, cancel, || self.admission.wake_ticker()) {
                    self.set_lane(Lane::Long);
                }
            }
            Lane::Long => {
                if !gate.rotate_long(&self.waiter, cancel) {
                    self.set_lane(Lane::Out);
                }
            }
        }
        self.take_turn();
    }

    /// The statement begins to wait for something else than a processor: its slot may be taken away like that of a silent client.
    pub fn interrupt(&self) {
        self.interrupted.store(self.lane() as u32, Ordering::Relaxed);
        self.rest();
    }

    /// The wait is over. Does not wait again: who has just been given a lock is not to keep others waiting for it.
    pub fn resume(&self) {
        let lane = Lane::from_u32(self.interrupted.swap(Lane::Out as u32, Ordering::Relaxed));
        if lane == Lane::Out {
            return;
        }
        if self.lane() == Lane::Slot {
            let mut held = self.held();
            if self.admission.gate.go_on(&mut held) {
                self.word.store(held.word, Ordering::Relaxed);
                return;
            }
            self.set_lane(Lane::Out);
        }
        if self.admission.is_off() {
            return;
        }
        match self.admission.gate.try_enter(Rights::Open, self.index.load(Ordering::Relaxed)) {
            Some(held) => self.take(held),
            None => self.overdraw(),
        }
        // The turn goes on where it was: a long statement is long, however often it waits.
    }
}

impl WaitObserver for Ticket {
    fn wait_begins(&self) {
        self.interrupt();
    }

    fn wait_ends(&self) {
        self.resume();
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.give_up_place();
    }
}

#[cfg(test)]
mod tests {
    use crate::slot::{Slot, State};

    #[test]
    fn who_rests_twice_does_not_touch_a_slot_that_has_become_anothers() {
        let slot = Slot::new();
        let mut first = slot.claim(0, 1, true).expect("free");
        assert!(slot.rest(&mut first, 1));
        assert!(slot.rest(&mut first, 2), "a command that did not work changes nothing");
        assert_eq!(slot.revoke(9, 3), Some(true));
        let second = slot.claim(0, 9, false).expect("free again");
        assert!(!slot.rest(&mut first, 9));
        assert_eq!(slot.state(), State::Working(9));
        assert!(!slot.free(first));
        assert!(slot.free(second));
    }
}
