//! The gate: slots, those who wait for one, and how a slot goes from one to the next.
//!
//! # Why no wake-up is lost
//! Who leaves frees its slot and then looks at `pressure`; who queues counts itself in `pressure` and then, if it is the first or an overdraft had kept
//! slots unserved, looks at all slots. One of the two sees the other (all four accesses are sequentially consistent). Those who queue later need not look: since the
//! first one was counted every leaver has seen `pressure` and served the queue with its own slot.
//!
//! # Those outside
//! Whoever has many transactions to begin need not have them queue: [`Gate::has_room`] says whether the next one would find a slot. Where it says no it has put up `full` and then looked at all slots;
//! who frees one frees it and then takes `full` down, if it is up. So as long as it is up there is nothing to look at, and a slot that becomes free is not overlooked (all four accesses are sequentially
//! consistent). Those outside are told nothing: they ask again.

use crate::platform::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::platform::latch::{Mutex, Rank};
use crate::platform::{Arc, Cancel, WaitCell, WaitState, WaitsFor, planted};
use crate::slot::{Held, Slot, State};
use std::collections::VecDeque;

/// Most slots that can be asked for.
pub const SLOTS_MAX: u32 = 1024;
/// Slots in all: some for overdrafts, and to make up for those that stand still.
const SLOTS: u32 = SLOTS_MAX + 1024;
/// Overdrafts begin to look for a slot at so many places.
pub(crate) const SPREAD: u32 = 64;

/// One of those who wait, in `pressure`.
const WAITER: u64 = 1;
const WAITERS_MASK: u64 = u32::MAX as u64;
/// One overdraft, in `pressure`.
const DEBT: u64 = 1 << 32;

/// What a waiter sleeps on, and the slot that it is given.
pub(crate) struct Waiter {
    pub(crate) wait: Arc<WaitCell>,
    index: AtomicU32,
    word: AtomicU64,
}

impl Waiter {
    pub(crate) fn new() -> Waiter {
        Waiter { wait: Arc::new(WaitCell::new()), index: AtomicU32::new(0), word: AtomicU64::new(0) }
    }
}

/// Who asks for a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rights {
    /// A transaction that has not worked yet: behind all who wait.
    Newcomer,
    /// A transaction that has begun: before all newcomers.
    Open,
}

#[derive(Default)]
struct Queue {
    open: VecDeque<Arc<Waiter>>,
    new: VecDeque<Arc<Waiter>>,
    long: VecDeque<Arc<Waiter>>,
    long_running: u32,
}

impl Queue {
    fn pop(&mut self, newcomers_too: bool) -> Option<Arc<Waiter>> {
        if planted("newcomers_first")
            && let Some(waiter) = self.new.pop_front()
        {
            return Some(waiter);
        }
        self.open.pop_front().or_else(|| if newcomers_too { self.new.pop_front() } else { None })
    }

    fn remove(&mut self, waiter: &Arc<Waiter>) -> bool {
        for queue in [&mut self.open, &mut self.new] {
            if let Some(place) = queue.iter().position(|other| Arc::ptr_eq(other, waiter)) {
                queue.remove(place);
                return true;
            }
        }
        false
    }
}

/// Slots and their waiters.
pub(crate) struct Gate {
    pressure: Line<Pressure>,
    /// Slots in use: those with a lower index may be taken.
    settings: Line<Settings>,
    /// Places in the long lane.
    long_limit: u32,
    /// Who waits for one; changed under the queue's mutex.
    long_waiting: Line<AtomicU32>,
    slots: Box<[Slot]>,
    queue: Line<Mutex<Queue>>,
}

/// What each leaver looks at. Nobody writes it in quiet times.
struct Pressure {
    /// Those who wait (low half) and overdrafts (high half).
    count: AtomicU64,
    /// No slot has become free since somebody outside found none.
    full: AtomicBool,
    /// The last slot that became free while this was so: the first to be looked at. Relaxed: a hint.
    vacant: AtomicU32,
}

/// What is read often and written seldom.
struct Settings {
    limit: AtomicU32,
    /// Counts on while somebody waits.
    tick: AtomicU32,
    /// Slots from here on were never taken: who looks at all of them need not look there. Relaxed: one that was taken just now is seen next time.
    reach: AtomicU32,
}

/// On a cache line of its own.
#[repr(align(64))]
struct Line<T>(T);

impl Gate {
    pub(crate) fn new(limit: u32, long_limit: u32) -> Gate {
        Self::with_slots(SLOTS, limit, long_limit)
    }

    /// With another number of slots in all, for models.
    pub(crate) fn with_slots(slots: u32, limit: u32, long_limit: u32) -> Gate {
        Gate {
            pressure: Line(Pressure { count: AtomicU64::new(0), full: AtomicBool::new(false), vacant: AtomicU32::new(0) }),
            settings: Line(Settings { limit: AtomicU32::new(limit), tick: AtomicU32::new(0), reach: AtomicU32::new(0) }),
            long_limit,
            long_waiting: Line(AtomicU32::new(0)),
            slots: (0..slots).map(|_| Slot::new()).collect(),
            queue: Line(Mutex::with_order(Rank::Admission, 1, Queue::default())),
        }
    }

    /// Slots that may be taken.
    #[inline]
    pub(crate) fn limit(&self) -> u32 {
        self.settings.0.limit.load(Ordering::Relaxed)
    }

    /// The tick.
    #[inline]
    pub(crate) fn tick(&self) -> u32 {
        self.settings.0.tick.load(Ordering::Relaxed)
    }

    /// Sets it.
    pub(crate) fn set_tick(&self, tick: u32) {
        self.settings.0.tick.store(tick, Ordering::Relaxed);
    }

    /// How many wait for a slot.
    #[inline]
    pub(crate) fn waiting(&self) -> u32 {
        (self.pressure.0.count.load(Ordering::SeqCst) & WAITERS_MASK) as u32
    }

    /// How many have a slot beyond the limit.
    pub(crate) fn debt(&self) -> u32 {
        (self.pressure.0.count.load(Ordering::Relaxed) / DEBT) as u32
    }

    /// How many wait for a place in the long lane.
    #[inline]
    pub(crate) fn long_waiting(&self) -> u32 {
        self.long_waiting.0.load(Ordering::SeqCst)
    }

    /// How many work in the long lane.
    pub(crate) fn long_running(&self) -> u32 {
        self.queue.0.lock().long_running
    }

    /// States of the slots that were ever taken; all others are free.
    pub(crate) fn states(&self) -> impl Iterator<Item = State> + '_ {
        self.reached().iter().map(Slot::state)
    }

    /// Slots that were ever taken.
    fn reached(&self) -> &[Slot] {
        &self.slots[..self.settings.0.reach.load(Ordering::Relaxed) as usize]
    }

    /// Takes this slot if it is free.
    #[inline]
    fn claim_at(&self, index: u32, tick: u32, extra: bool) -> Option<Held> {
        let held = self.slots[index as usize].claim(index, tick, extra)?;
        if index >= self.settings.0.reach.load(Ordering::Relaxed) {
            self.settings.0.reach.fetch_max(index + 1, Ordering::Relaxed);
        }
        Some(held)
    }

    /// Changes the number of slots. More of them are given to who waits; of fewer the surplus goes as it becomes free.
    pub(crate) fn set_limit(&self, limit: u32) {
        let limit = limit.clamp(1, self.slots.len() as u32);
        self.settings.0.limit.store(limit, Ordering::SeqCst);
        self.serve_all();
        self.tell_outside(limit - 1);
    }

    /// Whether a transaction that begins now would find a slot, and nobody who waits comes before it; another may be faster. No more than a load while it would not.
    pub(crate) fn has_room(&self) -> bool {
        let pressure = &self.pressure.0;
        if pressure.count.load(Ordering::SeqCst) != 0 || pressure.full.load(Ordering::SeqCst) {
            return false;
        }
        let limit = self.limit();
        let vacant = pressure.vacant.load(Ordering::Relaxed);
        if vacant < limit && self.slots[vacant as usize].state() == State::Free {
            return true;
        }
        if planted("full_after_looking") {
            let found = self.vacancy(limit);
            pressure.full.store(!found, Ordering::SeqCst);
            return found;
        }
        pressure.full.store(true, Ordering::SeqCst);
        if !self.vacancy(limit) {
            return false;
        }
        pressure.full.store(false, Ordering::SeqCst);
        true
    }

    /// Looks at all slots for one that is free, and remembers it.
    fn vacancy(&self, limit: u32) -> bool {
        let free = (0..limit).find(|index| self.slots[*index as usize].is_free());
        if let Some(index) = free {
            self.pressure.0.vacant.store(index, Ordering::Relaxed);
        }
        free.is_some()
    }

    /// A slot has become free.
    #[inline]
    fn tell_outside(&self, index: u32) {
        let pressure = &self.pressure.0;
        if pressure.full.load(Ordering::SeqCst) && !planted("silent_leaver") {
            pressure.vacant.store(index, Ordering::Relaxed);
            pressure.full.store(false, Ordering::SeqCst);
        }
    }

    /// Any free slot, the one at `hint` first, then the one that became free last.
    #[inline]
    pub(crate) fn claim(&self, hint: u32) -> Option<Held> {
        let (limit, tick) = (self.settings.0.limit.load(Ordering::SeqCst), self.tick());
        let mut index = if hint < limit { hint } else { hint % limit };
        if let Some(held) = self.claim_at(index, tick, false) {
            return Some(held);
        }
        index = self.pressure.0.vacant.load(Ordering::Relaxed).min(limit - 1);
        for _ in 0..limit {
            if let Some(held) = self.claim_at(index, tick, false) {
                return Some(held);
            }
            index = if index + 1 < limit { index + 1 } else { 0 };
        }
        None
    }

    /// A free slot without waiting, as far as the rights go.
    #[inline]
    pub(crate) fn try_enter(&self, rights: Rights, hint: u32) -> Option<Held> {
        // A newcomer that passed those who wait, or an overdraft, would break the order.
        if rights == Rights::Newcomer && self.pressure.0.count.load(Ordering::SeqCst) != 0 {
            return None;
        }
        self.claim(hint)
    }

    /// Waits for a slot; calls `queued` once it stands in the queue. `None` when the statement was cancelled.
    #[cold]
    pub(crate) fn enter(&self, rights: Rights, waiter: &Arc<Waiter>, cancel: &Cancel, queued: impl FnOnce()) -> Option<Held> {
        waiter.wait.begin();
        let mut wakes = Wakes::default();
        {
            let mut queue = self.queue.0.lock();
            match rights {
                Rights::Newcomer => queue.new.push_back(Arc::clone(waiter)),
                Rights::Open => queue.open.push_back(Arc::clone(waiter)),
            }
            let before = self.pressure.0.count.fetch_add(WAITER, Ordering::SeqCst);
            if (before & WAITERS_MASK == 0 || before >= DEBT) && !planted("no_look_after_queueing") {
                self.serve(&mut queue, &mut wakes, || self.claim(0));
            }
        }
        wakes.wake();
        queued();
        match cancel.sleep(&waiter.wait, WaitsFor::Admission, None) {
            WaitState::Granted => Some(Held { index: waiter.index.load(Ordering::Relaxed), word: waiter.word.load(Ordering::Relaxed) }),
            _ => {
                // Whoever found it killed before us has taken it out and counted it out. Both under the mutex: who queues next must not take us for
                // somebody who waits (found by `shuttle_gate`).
                let mut queue = self.queue.0.lock();
                if queue.remove(waiter) && !planted("killed_stays_counted") {
                    self.pressure.0.count.fetch_sub(WAITER, Ordering::SeqCst);
                }
                None
            }
        }
    }

    /// Gives slots to those who wait, as long as `slot` finds one.
    fn serve(&self, queue: &mut Queue, wakes: &mut Wakes, mut slot: impl FnMut() -> Option<Held>) {
        loop {
            let newcomers_too = self.newcomers_may_enter();
            if queue.open.is_empty() && (queue.new.is_empty() || !newcomers_too) {
                return;
            }
            let Some(held) = slot() else { return };
            if !self.hand_over(held, queue, newcomers_too, wakes) {
                self.slots[held.index as usize].free(held);
                return self.tell_outside(held.index);
            }
        }
    }

    /// Whether no more work than there are slots, one more included: those beyond the limit count for as many free ones.
    fn newcomers_may_enter(&self) -> bool {
        let debt = self.pressure.0.count.load(Ordering::SeqCst) / DEBT;
        let limit = self.limit() as usize;
        debt == 0 || self.slots[..limit].iter().filter(|slot| slot.state() == State::Free).count() as u64 > debt
    }

    /// Gives a slot to the first waiter that was not killed.
    fn hand_over(&self, held: Held, queue: &mut Queue, newcomers_too: bool, wakes: &mut Wakes) -> bool {
        while let Some(waiter) = queue.pop(newcomers_too) {
            self.pressure.0.count.fetch_sub(WAITER, Ordering::SeqCst);
            waiter.index.store(held.index, Ordering::Relaxed);
            waiter.word.store(held.word, Ordering::Relaxed);
            // Releases what was just stored to the waiter.
            if waiter.wait.end(WaitState::Granted) {
                wakes.0.push(waiter);
                return true;
            }
            if planted("grant_to_the_killed") {
                return true;
            }
        }
        false
    }

    /// Leaves with a slot.
    #[inline]
    pub(crate) fn leave(&self, held: Held) {
        // A slot that was taken away is somebody else's.
        if self.slots[held.index as usize].free(held) {
            self.freed(held.index, held.is_extra());
        }
    }

    #[inline]
    fn freed(&self, index: u32, extra: bool) {
        if extra {
            self.repay();
        } else {
            if self.pressure.0.count.load(Ordering::SeqCst) & WAITERS_MASK != 0 {
                self.serve_with(index);
            }
            // Even if it was given to who waited: they look in vain once.
            self.tell_outside(index);
        }
    }

    /// Gives the slot that has just become free to who waits for one.
    #[cold]
    fn serve_with(&self, index: u32) {
        if planted("leave_without_serving") {
            return;
        }
        let mut wakes = Wakes::default();
        let mut queue = self.queue.0.lock();
        if index < self.settings.0.limit.load(Ordering::SeqCst) {
            self.serve(&mut queue, &mut wakes, || self.claim_at(index, self.tick(), false));
        }
        drop(queue);
        wakes.wake();
    }

    fn serve_all(&self) {
        let mut wakes = Wakes::default();
        let mut queue = self.queue.0.lock();
        self.serve(&mut queue, &mut wakes, || self.claim(0));
        drop(queue);
        wakes.wake();
    }

    /// A slot beyond the limit, for a transaction that has begun and is not to wait: no newcomer enters until it is made good. `None` when even of
    /// these there are no more.
    #[cold]
    pub(crate) fn overdraw(&self, hint: u32) -> Option<Held> {
        let (limit, slots) = (self.limit(), self.slots.len() as u32);
        let beyond = slots.checked_sub(limit).filter(|beyond| *beyond > 0)?;
        let held = (0..beyond).find_map(|at| self.claim_at(limit + (hint % SPREAD + at) % beyond, self.tick(), true))?;
        self.pressure.0.count.fetch_add(DEBT, Ordering::SeqCst);
        Some(held)
    }

    /// An overdraft is made good.
    #[cold]
    fn repay(&self) {
        let before = self.pressure.0.count.fetch_sub(DEBT, Ordering::SeqCst);
        debug_assert!(before >= DEBT, "an overdraft that was not taken");
        if before & WAITERS_MASK != 0 && !planted("repay_without_serving") {
            self.serve_all();
        }
    }

    /// The holder waits for its client; its slot may be taken away, and false when it was.
    #[inline]
    pub(crate) fn rest(&self, held: &mut Held) -> bool {
        self.slots[held.index as usize].rest(held, self.tick())
    }

    /// The holder goes on; false when its slot was taken away.
    #[inline]
    pub(crate) fn go_on(&self, held: &mut Held) -> bool {
        self.slots[held.index as usize].go_on(held, self.tick())
    }

    /// Takes slots away from holders that have been idle for `grace` ticks. Returns how many.
    pub(crate) fn revoke_idle(&self, grace: u32) -> u32 {
        let (now, mut count) = (self.tick(), 0);
        for (index, slot) in self.reached().iter().enumerate() {
            if let Some(extra) = slot.revoke(now, grace) {
                count += 1;
                self.freed(index as u32, extra);
            }
        }
        count
    }

    /// Waits for a place in the long lane, and calls `queued` when it must; false when the statement was cancelled.
    pub(crate) fn enter_long(&self, waiter: &Arc<Waiter>, cancel: &Cancel, queued: impl FnOnce()) -> bool {
        {
            let mut queue = self.queue.0.lock();
            if queue.long.is_empty() && queue.long_running < self.long_limit {
                queue.long_running += 1;
                return true;
            }
            self.join_long(&mut queue, waiter);
        }
        queued();
        self.sleep_long(waiter, cancel)
    }

    /// Lets the next of the long lane have a turn, and waits for the next own one. False when the statement was cancelled; it then has no place.
    pub(crate) fn rotate_long(&self, waiter: &Arc<Waiter>, cancel: &Cancel) -> bool {
        let mut wakes = Wakes::default();
        {
            let mut queue = self.queue.0.lock();
            if queue.long.is_empty() {
                return true;
            }
            self.join_long(&mut queue, waiter);
            self.pass_on_long(&mut queue, &mut wakes);
        }
        wakes.wake();
        self.sleep_long(waiter, cancel)
    }

    /// Leaves the long lane.
    pub(crate) fn leave_long(&self) {
        let mut wakes = Wakes::default();
        self.pass_on_long(&mut self.queue.0.lock(), &mut wakes);
        wakes.wake();
    }

    /// Lets all of the long lane work, for when admission is switched off.
    pub(crate) fn open_long(&self) {
        let mut wakes = Wakes::default();
        {
            let mut queue = self.queue.0.lock();
            while let Some(waiter) = queue.long.pop_front() {
                if waiter.wait.end(WaitState::Granted) {
                    queue.long_running += 1;
                    wakes.0.push(waiter);
                }
            }
            self.long_waiting.0.store(0, Ordering::SeqCst);
        }
        wakes.wake();
    }

    fn join_long(&self, queue: &mut Queue, waiter: &Arc<Waiter>) {
        waiter.wait.begin();
        queue.long.push_back(Arc::clone(waiter));
        self.long_waiting.0.store(queue.long.len() as u32, Ordering::SeqCst);
    }

    fn sleep_long(&self, waiter: &Arc<Waiter>, cancel: &Cancel) -> bool {
        if cancel.sleep(&waiter.wait, WaitsFor::Admission, None) == WaitState::Granted {
            return true;
        }
        let mut queue = self.queue.0.lock();
        queue.long.retain(|other| !Arc::ptr_eq(other, waiter));
        self.long_waiting.0.store(queue.long.len() as u32, Ordering::SeqCst);
        false
    }

    /// A place in the long lane becomes free.
    fn pass_on_long(&self, queue: &mut Queue, wakes: &mut Wakes) {
        loop {
            let Some(waiter) = queue.long.pop_front() else {
                queue.long_running -= 1;
                break;
            };
            if waiter.wait.end(WaitState::Granted) {
                wakes.0.push(waiter);
                break;
            }
        }
        self.long_waiting.0.store(queue.long.len() as u32, Ordering::SeqCst);
    }
}

/// Waiters to be woken once the mutex is let go.
#[derive(Default)]
struct Wakes(Vec<Arc<Waiter>>);

impl Wakes {
    fn wake(self) {
        self.0.iter().for_each(|waiter| waiter.wait.wake());
    }
}
