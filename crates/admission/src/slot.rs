//! One slot: a word on a cache line of its own, which in quiet times only its holder touches.
//!
//! The word is a generation (32 bits; changes with each holder), the tick at which its state began (29 bits), whether it is an extra one, and the state. Only the holder leaves
//! `Working`; from `Idle` both the holder (who goes on) and the ticker (who takes the slot away) want to leave, and the exchange decides.

use crate::platform::atomic::{AtomicU64, Ordering};
use crate::platform::planted;

const STATE_MASK: u64 = 3;
const FREE: u64 = 0;
const WORKING: u64 = 1;
const IDLE: u64 = 2;
/// Taken beyond the limit, by an open transaction: an overdraft.
const EXTRA: u64 = 4;
const TICK_SHIFT: u32 = 3;
const TICK_MASK: u64 = (1 << 29) - 1;
const GENERATION_SHIFT: u32 = 32;

/// Ticks from `then` to `now`, both cut to 29 bits.
#[inline]
pub(crate) fn ticks_between(then: u32, now: u32) -> u32 {
    now.wrapping_sub(then) & TICK_MASK as u32
}

/// How a slot stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Free,
    /// Since this tick.
    Working(u32),
    /// Its holder's client has been silent since this tick.
    Idle(u32),
}

fn word(generation: u64, tick: u32, state: u64) -> u64 {
    generation << GENERATION_SHIFT | (u64::from(tick) & TICK_MASK) << TICK_SHIFT | state
}

/// A slot. As large as a line of the cache.
#[repr(align(64))]
pub(crate) struct Slot(AtomicU64);

/// A slot that was taken, as its holder last wrote it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    pub(crate) index: u32,
    pub(crate) word: u64,
}

impl Held {
    /// Whether it was taken beyond the limit.
    #[inline]
    pub(crate) fn is_extra(self) -> bool {
        self.word & EXTRA != 0
    }
}

impl Slot {
    pub(crate) fn new() -> Slot {
        Slot(AtomicU64::new(FREE))
    }

    /// Whether it is free. SeqCst, as for [`Slot::claim`].
    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        self.0.load(Ordering::SeqCst) & STATE_MASK == FREE
    }

    /// Takes it if it is free.
    #[inline]
    pub(crate) fn claim(&self, index: u32, tick: u32, extra: bool) -> Option<Held> {
        // SeqCst: whoever queues announces itself and then looks here, whoever leaves writes here and then looks for waiters.
        let old = self.0.load(Ordering::SeqCst);
        if old & STATE_MASK != FREE {
            return None;
        }
        let new = word((old >> GENERATION_SHIFT).wrapping_add(1) & u64::from(u32::MAX), tick, WORKING | if extra { EXTRA } else { 0 });
        self.0.compare_exchange(old, new, Ordering::SeqCst, Ordering::Relaxed).is_ok().then_some(Held { index, word: new })
    }

    /// Frees it; false when it was taken away meanwhile. The caller then looks for waiters.
    #[inline]
    pub(crate) fn free(&self, held: Held) -> bool {
        let free = held.word & !(STATE_MASK | EXTRA);
        self.0.compare_exchange(held.word, free, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// The holder waits for its client; false when the slot was taken away. It may be idle already: a command that does not work (a preparation, SET)
    /// comes and ends without going on, and meanwhile the slot may have become another's, whose word is not to be overwritten.
    #[inline]
    pub(crate) fn rest(&self, held: &mut Held, tick: u32) -> bool {
        let new = word(held.word >> GENERATION_SHIFT, tick, IDLE | held.word & EXTRA);
        if planted("rest_overwrites") {
            self.0.store(new, Ordering::Release);
            held.word = new;
            return true;
        }
        let kept = self.0.compare_exchange(held.word, new, Ordering::Release, Ordering::Relaxed).is_ok();
        held.word = new;
        kept
    }

    /// The holder goes on; false when the slot was taken away.
    #[inline]
    pub(crate) fn go_on(&self, held: &mut Held, tick: u32) -> bool {
        let new = word(held.word >> GENERATION_SHIFT, tick, WORKING | held.word & EXTRA);
        let kept = self.0.compare_exchange(held.word, new, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        held.word = new;
        kept
    }

    /// Frees it if its holder has been idle for `grace` ticks or more; tells whether it was an extra one.
    pub(crate) fn revoke(&self, now: u32, grace: u32) -> Option<bool> {
        let old = self.0.load(Ordering::Acquire);
        match state(old) {
            State::Idle(since) if ticks_between(since, now) >= grace => {
                let free = old & !(STATE_MASK | EXTRA);
                self.0.compare_exchange(old, free, Ordering::SeqCst, Ordering::Relaxed).is_ok().then_some(old & EXTRA != 0)
            }
            _ => None,
        }
    }

    pub(crate) fn state(&self) -> State {
        state(self.0.load(Ordering::Relaxed))
    }
}

fn state(word: u64) -> State {
    let tick = (word >> TICK_SHIFT & TICK_MASK) as u32;
    match word & STATE_MASK {
        FREE => State::Free,
        WORKING => State::Working(tick),
        _ => State::Idle(tick),
    }
}
