//! Loom models of the hybrid latch: every schedule (up to a bound of preemptions) and every value that a relaxed load may return. Each model is
//! also run with a planted bug, which it must catch.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use super::{Acquired, Cell, Park, Parked, Want};
use super::{
    before_filling, claim_absent, exclusive, peek, readable, release_evicted, release_exclusive, release_shared, set_frame, shared,
    try_exclusive, validate,
};

/// The word on loom's atomics. `FENCED` false plants the bug of a writer without its release fence.
struct ModelCell<const FENCED: bool>(AtomicU64);

impl<const FENCED: bool> ModelCell<FENCED> {
    /// A page in memory, in `frame`, latched by nobody.
    fn resident(frame: usize) -> Self {
        let cell = ModelCell(AtomicU64::new(0));
        assert!(claim_absent(&cell));
        set_frame(&cell, frame);
        release_exclusive(&cell, 1, &NoLot, false);
        cell
    }
}

impl<const FENCED: bool> Cell for ModelCell<FENCED> {
    fn load(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }
    fn exchange(&self, current: u64, new: u64, success: Ordering) -> Result<u64, u64> {
        self.0.compare_exchange(current, new, success, Ordering::Relaxed)
    }
    fn add(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_add(value, order)
    }
    fn clear(&self, bits: u64, order: Ordering) -> u64 {
        self.0.fetch_and(!bits, order)
    }
    fn fence(order: Ordering) {
        if FENCED || order != Ordering::Release {
            fence(order);
        }
    }
    fn pauses() -> u32 {
        0
    }
    fn pause() {}
}

/// For setting up: nobody waits.
struct NoLot;

impl Park for NoLot {
    fn park(&self, _: u64, _: Want, _: bool, _: Option<Instant>, _: impl FnOnce() -> bool, _: impl FnOnce()) -> Parked {
        unreachable!("nobody waits while a model is set up")
    }
    fn unpark(&self, _: u64, _: impl FnOnce()) {}
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<(u64, u64, Want)>,
    /// Tickets, and whether others were left when they were chosen.
    chosen: BTreeMap<u64, bool>,
    tickets: u64,
}

/// The parking lot without time: who parks sleeps until chosen, so a lost wake-up is a deadlock that loom reports. `RECHECKS` false plants the bug
/// of going to sleep without a second look, `TELLS` false that of not telling a woken thread that others are parked.
struct ModelLot<const RECHECKS: bool, const TELLS: bool> {
    queue: Mutex<Queue>,
    wake: Condvar,
}

impl<const RECHECKS: bool, const TELLS: bool> ModelLot<RECHECKS, TELLS> {
    fn new() -> Self {
        ModelLot { queue: Mutex::new(Queue::default()), wake: Condvar::new() }
    }
}

impl<const RECHECKS: bool, const TELLS: bool> Park for ModelLot<RECHECKS, TELLS> {
    fn park(
        &self,
        key: u64,
        want: Want,
        again: bool,
        _: Option<Instant>,
        still_blocked: impl FnOnce() -> bool,
        _: impl FnOnce(),
    ) -> Parked {
        let mut queue = self.queue.lock().expect("not poisoned");
        if RECHECKS && !still_blocked() {
            return Parked::Retry;
        }
        queue.tickets += 1;
        let ticket = queue.tickets;
        if again {
            queue.waiting.push_front((ticket, key, want));
        } else {
            queue.waiting.push_back((ticket, key, want));
        }
        loop {
            if let Some(others) = queue.chosen.remove(&ticket) {
                // The planted bug of a woken thread that does not answer for the others.
                return Parked::Chosen { others: others && TELLS };
            }
            queue = self.wake.wait(queue).expect("not poisoned");
        }
    }

    fn unpark(&self, key: u64, clear: impl FnOnce()) {
        let mut queue = self.queue.lock().expect("not poisoned");
        let mut taken = false;
        let mut chosen = Vec::new();
        while let Some(place) = queue.waiting.iter().position(|w| w.1 == key) {
            let (ticket, _, want) = queue.waiting[place];
            if want == Want::Exclusive && taken {
                break;
            }
            queue.waiting.remove(place);
            chosen.push(ticket);
            taken |= want != Want::Look;
            if want == Want::Exclusive {
                break;
            }
        }
        let others = queue.waiting.iter().any(|w| w.1 == key);
        clear();
        queue.chosen.extend(chosen.into_iter().map(|ticket| (ticket, others)));
        drop(queue);
        self.wake.notify_all();
    }
}

fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

struct Page<const FENCED: bool, const RECHECKS: bool, const TELLS: bool = true> {
    cell: ModelCell<FENCED>,
    lot: ModelLot<RECHECKS, TELLS>,
    left: AtomicU64,
    right: AtomicU64,
}

impl<const FENCED: bool, const RECHECKS: bool, const TELLS: bool> Page<FENCED, RECHECKS, TELLS> {
    fn new() -> Arc<Self> {
        let zero = || AtomicU64::new(0);
        Arc::new(Page { cell: ModelCell::resident(7), lot: ModelLot::new(), left: zero(), right: zero() })
    }

    /// Adds one to both halves, as plain stores would: relaxed.
    fn change(&self) {
        assert!(matches!(exclusive(&self.cell, 1, &self.lot, None), Acquired::Held(..)));
        let left = self.left.load(Ordering::Relaxed);
        let right = self.right.load(Ordering::Relaxed);
        assert_eq!(left, right, "a writer saw another at work");
        self.left.store(left + 1, Ordering::Relaxed);
        self.right.store(right + 1, Ordering::Relaxed);
        release_exclusive(&self.cell, 1, &self.lot, true);
    }
}

/// In the models with an optimistic reader the main thread writes: loom looks for races by the last access to each object, and a writer that first loads
/// what it then stores would hide the reader's earlier loads from it.
fn optimistic_reader<const FENCED: bool>() {
    check(3, || {
        let page = Page::<FENCED, true>::new();
        let reader = {
            let page = Arc::clone(&page);
            thread::spawn(move || {
                let seen = peek(&page.cell)?;
                let (left, right) = (page.left.load(Ordering::Relaxed), page.right.load(Ordering::Relaxed));
                validate(&page.cell, seen).then_some((left, right))
            })
        };
        page.change();
        if let Some((left, right)) = reader.join().expect("no panic") {
            assert_eq!(left, right, "a torn read was taken for good");
        }
    });
}

#[test]
fn optimistic_reader_never_takes_a_torn_read_for_good() {
    optimistic_reader::<true>();
}

#[test]
#[should_panic(expected = "a torn read was taken for good")]
fn model_catches_a_writer_without_release_fence() {
    optimistic_reader::<false>();
}

fn two_writers_and_a_reader<const RECHECKS: bool, const TELLS: bool>() {
    check(2, || {
        let page = Page::<true, RECHECKS, TELLS>::new();
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let page = Arc::clone(&page);
                thread::spawn(move || page.change())
            })
            .collect();
        assert!(matches!(shared(&page.cell, 1, &page.lot, None), Acquired::Held(..)));
        let (left, right) = (page.left.load(Ordering::Relaxed), page.right.load(Ordering::Relaxed));
        assert_eq!(left, right, "a shared reader saw a writer at work");
        release_shared(&page.cell, 1, &page.lot);
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        assert_eq!(page.left.load(Ordering::Relaxed), 2);
        assert!(matches!(readable(&page.cell, 1, &page.lot, None), Acquired::Held(..)));
    });
}

#[test]
fn latch_excludes_and_wakes_everybody() {
    two_writers_and_a_reader::<true, true>();
}

/// A thread that waits to look takes no latch: the writer queued behind it must not depend on a release of its.
#[test]
fn looking_does_not_use_up_the_wake_up_of_a_writer() {
    check(3, || {
        let page = Page::<true, true>::new();
        assert!(matches!(exclusive(&page.cell, 1, &page.lot, None), Acquired::Held(..)));
        let looker = {
            let page = Arc::clone(&page);
            thread::spawn(move || assert!(matches!(readable(&page.cell, 1, &page.lot, None), Acquired::Held(..))))
        };
        let writer = {
            let page = Arc::clone(&page);
            thread::spawn(move || page.change())
        };
        release_exclusive(&page.cell, 1, &page.lot, true);
        looker.join().expect("no panic");
        writer.join().expect("no panic");
    });
}

/// A page that is evicted while two wait for it: both learn that it is gone.
#[test]
fn eviction_wakes_everybody() {
    check(3, || {
        let page = Page::<true, true>::new();
        assert!(matches!(try_exclusive(&page.cell), Acquired::Held(..)));
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let page = Arc::clone(&page);
                thread::spawn(move || match exclusive(&page.cell, 1, &page.lot, None) {
                    Acquired::Held(..) => release_exclusive(&page.cell, 1, &page.lot, false),
                    other => assert_eq!(other, Acquired::Absent),
                })
            })
            .collect();
        release_evicted(&page.cell, 1, &page.lot);
        waiters.into_iter().for_each(|waiter| waiter.join().expect("no panic"));
    });
}

/// Runs only as the child of the tests below: loom reports a deadlock by a panic that unwinds into another and aborts the process.
#[test]
fn planted_lost_wake_up() {
    match std::env::var(PLANT).as_deref() {
        Ok("no second look") => two_writers_and_a_reader::<false, true>(),
        Ok("others forgotten") => two_writers_and_a_reader::<true, false>(),
        _ => {}
    }
}

const PLANT: &str = "BUFFER_POOL_PLANT";

fn deadlocks(plant: &str) {
    let name = "word::loom_model::planted_lost_wake_up";
    let test_binary = std::env::current_exe().expect("the test runs from a file");
    let child =
        std::process::Command::new(test_binary).args(["--exact", name, "--nocapture"]).env(PLANT, plant).output().expect("it starts");
    assert!(!child.status.success());
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(said.contains("deadlock"), "{said}");
}

#[test]
fn model_catches_a_sleep_without_second_look() {
    deadlocks("no second look");
}

#[test]
fn model_catches_a_woken_thread_that_forgets_the_others() {
    deadlocks("others forgotten");
}

/// Where the thread that fills a frame issues its release fence.
#[derive(Clone, Copy)]
enum Fence {
    BeforeFilling,
    /// Planted: with the claim of the page, before the frame is looked for.
    AtClaim,
    /// Planted.
    None,
}

/// The frame goes from page 1, which one thread evicts, to page 2, whose content is 9: who brings that one in has claimed it before it comes to the frame.
fn refilled_frame(fence: Fence) {
    check(3, move || {
        let old = Page::<true, true>::new();
        let page_of_frame = Arc::new(AtomicU64::new(1));
        let reader = {
            let old = Arc::clone(&old);
            thread::spawn(move || {
                let seen = peek(&old.cell)?;
                let read = old.left.load(Ordering::Relaxed);
                validate(&old.cell, seen).then_some(read)
            })
        };
        let evictor = {
            let (old, page_of_frame) = (Arc::clone(&old), Arc::clone(&page_of_frame));
            thread::spawn(move || {
                assert!(matches!(try_exclusive(&old.cell), Acquired::Held(..)));
                release_evicted(&old.cell, 1, &old.lot);
                page_of_frame.store(0, Ordering::Release);
            })
        };
        let new = ModelCell::<true>(AtomicU64::new(0));
        assert!(claim_absent(&new));
        if matches!(fence, Fence::AtClaim) {
            before_filling::<ModelCell<true>>();
        }
        if page_of_frame.load(Ordering::Acquire) == 0 {
            if matches!(fence, Fence::BeforeFilling) {
                before_filling::<ModelCell<true>>();
            }
            old.left.store(9, Ordering::Relaxed);
            set_frame(&new, 7);
        }
        release_exclusive(&new, 2, &old.lot, false);
        evictor.join().expect("no panic");
        if let Some(read) = reader.join().expect("no panic") {
            assert_eq!(read, 0, "another page's bytes were taken for good");
        }
    });
}

#[test]
fn optimistic_reader_notices_that_the_frame_went_to_another_page() {
    refilled_frame(Fence::BeforeFilling);
}

#[test]
#[should_panic(expected = "another page's bytes were taken for good")]
fn model_catches_a_refilled_frame_without_release_fence() {
    refilled_frame(Fence::None);
}

#[test]
#[should_panic(expected = "another page's bytes were taken for good")]
fn model_catches_a_fence_before_the_frame_is_taken() {
    refilled_frame(Fence::AtClaim);
}
