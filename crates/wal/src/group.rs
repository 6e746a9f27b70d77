//! Group commit: who does the I/O, who waits, and who wakes whom.
//!
//! At most one thread leads (does I/O). Those who come meanwhile join the *forming batch*. When the leader is done it promotes the
//! first member of the forming batch, which closes that batch, leads for all of it, promotes the next one, and only then wakes its own
//! members: with one `FUTEX_WAKE` on a word that only this batch uses. A lone committer finds nobody leading, leads, and leaves.
//!
//! Nothing here knows about positions or files: `satisfied` and `lead` of [`Group::wait`] do.

use crate::platform::{AtomicU32, AtomicU64, CachePadded, Ordering, futex, planted};

/// Batches whose words exist at once. One batch leads and one forms; the rest keeps a slow waker of an old batch away from a new one.
/// Sharing a word is harmless (a wake in vain), so this is no bound on anything.
const SLOTS: usize = 64;
const _: () = assert!(SLOTS.is_power_of_two());

const BUSY: u64 = 1;
const MEMBER: u64 = 2;
const MEMBERS_MASK: u64 = (1 << 32) - 2;
const BATCH_SHIFT: u32 = 32;

struct Slot {
    /// Newest batch on this slot that is over. Members sleep on it.
    done: AtomicU32,
    /// Newest batch on this slot whose first member may lead. That member sleeps on it.
    lead: AtomicU32,
}

/// What a wait cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitReport {
    /// Times this thread led.
    pub(crate) batches_led: u32,
    /// Members of the batches it led, itself included.
    pub(crate) members_led: u32,
    /// Times it slept as a member (not the wait for promotion).
    pub(crate) sleeps: u32,
    /// Wakes after which it was satisfied.
    pub(crate) wakes_useful: u32,
    /// Wakes after which it was not.
    pub(crate) wakes_useless: u32,
}

/// The state of all batches.
pub(crate) struct Group {
    /// Forming batch << 32 | its members << 1 | somebody leads. Every change is AcqRel: a leader that closes a batch sees what its
    /// members announced before they joined.
    gate: CachePadded<AtomicU64>,
    slots: Box<[CachePadded<Slot>]>,
}

fn reached(word: u32, batch: u32) -> bool {
    word.wrapping_sub(batch) as i32 >= 0
}

impl Group {
    /// Not `exact`: all batches share one word, as where committers wait on one condition variable.
    pub(crate) fn new(exact: bool) -> Self {
        let slot = |_| CachePadded::new(Slot { done: AtomicU32::new(0), lead: AtomicU32::new(0) });
        let count = if exact { SLOTS } else { 1 };
        Group { gate: CachePadded::new(AtomicU64::new(1 << BATCH_SHIFT)), slots: (0..count).map(slot).collect() }
    }

    fn slot(&self, batch: u32) -> &Slot {
        &self.slots[batch as usize & (self.slots.len() - 1)]
    }

    /// Returns when `satisfied` holds. `announce` tells leaders what this thread needs; it is called before each joining. `lead` does the
    /// I/O for everything announced and must satisfy (or fail) all of it.
    #[inline]
    pub(crate) fn wait(&self, satisfied: impl Fn() -> bool, announce: impl Fn(), mut lead: impl FnMut()) -> WaitReport {
        let mut report = WaitReport::default();
        while !satisfied() {
            let gate = self.gate.load(Ordering::Acquire);
            if gate & BUSY == 0 {
                if self.gate.compare_exchange(gate, gate | BUSY, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    lead();
                    self.pass_on();
                    report.batches_led += 1;
                    report.members_led += 1;
                }
                continue;
            }
            if !planted("announce_after_join") {
                announce();
            }
            // The announcement must be visible to the leader that closes the batch we join; the failed exchange of a batch that
            // was closed meanwhile only leaves a need that a later leader meets a little early.
            if self.gate.compare_exchange(gate, gate + MEMBER, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                continue;
            }
            if planted("announce_after_join") {
                announce();
            }
            let batch = (gate >> BATCH_SHIFT) as u32;
            if gate & MEMBERS_MASK == 0 {
                self.lead_batch(batch, &mut lead, &mut report);
            } else {
                self.sleep_in_batch(batch, &satisfied, &mut report);
            }
        }
        report
    }

    /// Leads when nobody does; otherwise returns `false` at once.
    pub(crate) fn try_lead(&self, lead: impl FnOnce()) -> bool {
        let gate = self.gate.load(Ordering::Acquire);
        if gate & BUSY != 0 || self.gate.compare_exchange(gate, gate | BUSY, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return false;
        }
        lead();
        self.pass_on();
        true
    }

    /// As the first member: waits for promotion, closes the batch, leads, promotes the next, wakes the members.
    fn lead_batch(&self, batch: u32, lead: &mut impl FnMut(), report: &mut WaitReport) {
        let slot = self.slot(batch);
        loop {
            let word = slot.lead.load(Ordering::Acquire);
            if reached(word, batch) {
                break;
            }
            futex::wait(&slot.lead, word, None);
        }
        let members = self.close(batch);
        lead();
        self.pass_on();
        report.batches_led += 1;
        report.members_led += members;
        if members > 1 {
            // Release: members see what `lead` published.
            self.note_done(slot, batch);
            if planted("wake_one") {
                futex::wake(&slot.done, 1);
            } else {
                futex::wake(&slot.done, u32::MAX);
            }
        }
    }

    fn note_done(&self, slot: &Slot, batch: u32) {
        if self.slots.len() > 1 {
            slot.done.store(batch, Ordering::Release);
            return;
        }
        // One word for all: the leader of the next batch may have been faster, and its mark must stand.
        let newer = |word| (!reached(word, batch)).then_some(batch);
        let _ = slot.done.fetch_update(Ordering::AcqRel, Ordering::Acquire, newer);
    }

    /// As a later member: sleeps until the batch is over, or until it need not.
    fn sleep_in_batch(&self, batch: u32, satisfied: &impl Fn() -> bool, report: &mut WaitReport) {
        let slot = self.slot(batch);
        loop {
            // A leader before ours may have written our record along: then there is nothing to wait for.
            if satisfied() {
                return;
            }
            let word = slot.done.load(Ordering::Acquire);
            if reached(word, batch) {
                return;
            }
            report.sleeps += 1;
            if futex::wait(&slot.done, word, None) == futex::Woken::Woken {
                if satisfied() {
                    report.wakes_useful += 1;
                    return;
                }
                report.wakes_useless += 1;
            }
        }
    }

    /// Ends the forming batch; who comes from here on joins the next one. Returns how many members it has.
    fn close(&self, batch: u32) -> u32 {
        let mut gate = self.gate.load(Ordering::Acquire);
        loop {
            assert_eq!((gate >> BATCH_SHIFT) as u32, batch, "only the first member closes a batch");
            let next = u64::from(batch.wrapping_add(1)) << BATCH_SHIFT | BUSY;
            match self.gate.compare_exchange_weak(gate, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return ((gate & MEMBERS_MASK) / MEMBER) as u32,
                Err(now) => gate = now,
            }
        }
    }

    /// The leader is done: the first member of the forming batch leads next, or nobody.
    fn pass_on(&self) {
        let mut gate = self.gate.load(Ordering::Acquire);
        while gate & MEMBERS_MASK == 0 {
            let idle = gate & !BUSY;
            if planted("idle_by_store") {
                self.gate.store(idle, Ordering::Release);
                return;
            }
            match self.gate.compare_exchange_weak(gate, idle, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(now) => gate = now,
            }
        }
        let batch = (gate >> BATCH_SHIFT) as u32;
        let slot = self.slot(batch);
        slot.lead.store(batch, Ordering::Release);
        if !planted("no_promotion_wake") {
            futex::wake(&slot.lead, 1);
        }
    }
}
