//! Random schedules of the gate's sources: nobody sleeps for ever, no more than the limit work, open transactions go first. Each planted bug must be found.
//! More schedules: `ADMISSION_SCHEDULES=1000000 cargo test -p admission --release --test shuttle_gate`.

#![allow(clippy::disallowed_types)] // shuttle's are behind the same names

use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use shuttle::thread;

/// What `crate::platform` of the product is, over shuttle; also what the lock manager's `platform` is.
mod platform {
    pub(crate) use crate::cancel::{Cancel, WaitCell, WaitState, WaitsFor};
    pub(crate) use crate::futex;
    pub(crate) use crate::latch;
    pub use models::planted;
    pub use shuttle::sync::{Arc, Condvar, Mutex, atomic};
    pub use shuttle::{lazy_static, thread};
}

#[allow(dead_code)]
#[path = "../../lock_manager/src/cancel.rs"]
mod cancel;
#[allow(clippy::enum_variant_names)] // public in its own crate
#[path = "../../sync/src/futex_model.rs"]
mod futex;
#[allow(dead_code)]
#[path = "../src/gate.rs"]
mod gate;
#[path = "../../txn/tests/model/latch.rs"]
mod latch;
#[allow(dead_code)]
#[path = "../src/slot.rs"]
mod slot;

use cancel::Cancel;
use gate::{Gate, Rights, Waiter};
use models::Schedules;
use slot::Held;

struct Model {
    gate: Gate,
    limit: i32,
    working: AtomicI32,
}

impl Model {
    fn new(limit: u32) -> Arc<Model> {
        let gate = Gate::with_slots(limit + 3, limit, 1);
        Arc::new(Model { gate, limit: limit as i32, working: AtomicI32::new(0) })
    }

    fn enter(&self, rights: Rights, waiter: &Arc<Waiter>, cancel: &Cancel) -> Option<Held> {
        let held = self.gate.try_enter(rights, 0).or_else(|| self.gate.enter(rights, waiter, cancel, || {}))?;
        let now = self.working.fetch_add(1, Ordering::SeqCst) + 1;
        assert!(now <= self.limit, "{now} at work, {} slots", self.limit);
        Some(held)
    }

    fn leave(&self, held: Held) {
        self.working.fetch_sub(1, Ordering::SeqCst);
        self.gate.leave(held);
    }

    /// Nobody waits, nobody works, all slots are free, and those outside are told so.
    fn assert_quiet(&self) {
        assert_eq!((self.gate.waiting(), self.gate.debt()), (0, 0), "somebody is still counted");
        assert!(self.gate.has_room(), "a free slot was overlooked");
        let slots: Vec<_> = (0..self.limit).map(|_| self.gate.try_enter(Rights::Newcomer, 0).expect("a slot was lost")).collect();
        slots.into_iter().for_each(|held| self.gate.leave(held));
    }
}

fn threads(count: usize, body: impl Fn(usize) + Send + Sync + Clone + 'static) {
    let handles: Vec<_> = (0..count)
        .map(|number| {
            let body = body.clone();
            thread::spawn(move || body(number))
        })
        .collect();
    handles.into_iter().for_each(|handle| handle.join().expect("no panic"));
}

/// Transactions that come, work, wait for a lock in between, and go.
fn everybody_gets_through() {
    let model = Model::new(1);
    let shared = Arc::clone(&model);
    threads(3, move |number| {
        let (waiter, cancel) = (Arc::new(Waiter::new()), Cancel::new());
        let held = shared.enter(Rights::Newcomer, &waiter, &cancel).expect("not cancelled");
        thread::yield_now();
        shared.leave(held);
        if number > 0 {
            // It waited for a lock; now it goes on at once, with a slot or without.
            match shared.gate.try_enter(Rights::Open, 0) {
                Some(held) => shared.gate.leave(held),
                None => {
                    let mut held = shared.gate.overdraw(0).expect("there are enough");
                    shared.gate.rest(&mut held);
                    thread::yield_now();
                    shared.gate.leave(held);
                }
            }
        }
    });
    model.assert_quiet();
}

/// The watcher takes a slot away from an idle transaction while that goes on, and others wait.
fn idle_slots_are_taken_away_once() {
    let model = Model::new(1);
    let shared = Arc::clone(&model);
    let taken = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&taken);
    threads(3, move |number| {
        if number == 0 {
            counter.fetch_add(shared.gate.revoke_idle(0), Ordering::SeqCst);
            return;
        }
        let (waiter, cancel) = (Arc::new(Waiter::new()), Cancel::new());
        let mut held = shared.enter(Rights::Newcomer, &waiter, &cancel).expect("not cancelled");
        shared.working.fetch_sub(1, Ordering::SeqCst);
        shared.gate.rest(&mut held);
        thread::yield_now();
        if shared.gate.go_on(&mut held) {
            let now = shared.working.fetch_add(1, Ordering::SeqCst) + 1;
            assert!(now <= 1, "{now} at work with one slot");
            shared.leave(held);
        }
    });
    assert!(taken.load(Ordering::SeqCst) <= 2);
    model.assert_quiet();
}

/// A transaction is silent, a command comes that does not work (it rests a second time), and then it goes on. Meanwhile its slot may have been
/// taken away and have become another's, who must keep it.
fn who_rests_twice_takes_nothing() {
    let model = Model::new(1);
    let shared = Arc::clone(&model);
    threads(3, move |number| {
        if number == 0 {
            for _ in 0..2 {
                shared.gate.revoke_idle(0);
                thread::yield_now();
            }
            return;
        }
        let (waiter, cancel) = (Arc::new(Waiter::new()), Cancel::new());
        let mut held = shared.enter(Rights::Newcomer, &waiter, &cancel).expect("not cancelled");
        if number == 1 {
            shared.working.fetch_sub(1, Ordering::SeqCst);
            // As `Ticket::rest`: who has lost its slot forgets it.
            for _ in 0..2 {
                if !shared.gate.rest(&mut held) {
                    return;
                }
                thread::yield_now();
            }
            if !shared.gate.go_on(&mut held) {
                return;
            }
            let now = shared.working.fetch_add(1, Ordering::SeqCst) + 1;
            assert!(now <= 1, "{now} at work with one slot");
        }
        thread::yield_now();
        shared.leave(held);
    });
    model.assert_quiet();
}

/// A waiter is killed at any moment; the others get on.
fn the_killed_do_no_harm() {
    let model = Model::new(1);
    let shared = Arc::clone(&model);
    let cancels: Arc<Vec<Cancel>> = Arc::new((0..3).map(|_| Cancel::new()).collect());
    threads(4, move |number| {
        if number == 3 {
            cancels[1].cancel(1);
            return;
        }
        if let Some(held) = shared.enter(Rights::Newcomer, &Arc::new(Waiter::new()), &cancels[number]) {
            thread::yield_now();
            shared.leave(held);
        } else {
            assert_eq!(number, 1, "only one was killed");
        }
    });
    model.assert_quiet();
}

/// A holder leaves while an open transaction and a newcomer wait: the open one is first, whenever both were queued by then.
fn open_transactions_go_first() {
    let model = Model::new(1);
    let held = model.enter(Rights::Newcomer, &Arc::new(Waiter::new()), &Cancel::new()).expect("free");
    let shared = Arc::clone(&model);
    let order = Arc::new(AtomicU32::new(0));
    let handles: Vec<_> = [Rights::Newcomer, Rights::Open]
        .into_iter()
        .map(|rights| {
            let (shared, places) = (Arc::clone(&shared), Arc::clone(&order));
            thread::spawn(move || {
                let held = shared.enter(rights, &Arc::new(Waiter::new()), &Cancel::new()).expect("not cancelled");
                let place = places.fetch_add(1, Ordering::SeqCst);
                shared.leave(held);
                place
            })
        })
        .collect();
    while model.gate.waiting() < 2 {
        thread::yield_now();
    }
    model.leave(held);
    let places: Vec<_> = handles.into_iter().map(|handle| handle.join().expect("no panic")).collect();
    assert_eq!(places, [1, 0], "a newcomer passed an open transaction");
    model.assert_quiet();
}

/// Three statements share the one place of the long lane in turns; one of them is killed.
fn the_long_lane_goes_around() {
    let model = Model::new(1);
    let shared = Arc::clone(&model);
    let cancels: Arc<Vec<Cancel>> = Arc::new((0..3).map(|_| Cancel::new()).collect());
    threads(4, move |number| {
        if number == 3 {
            cancels[2].cancel(1);
            return;
        }
        let (waiter, cancel) = (Arc::new(Waiter::new()), &cancels[number]);
        let mut inside = shared.gate.enter_long(&waiter, cancel, || {});
        for _ in 0..2 {
            if !inside {
                assert_eq!(number, 2, "only one was killed");
                return;
            }
            let now = shared.working.fetch_add(1, Ordering::SeqCst) + 1;
            assert!(now <= 1, "{now} in a lane for one");
            thread::yield_now();
            shared.working.fetch_sub(1, Ordering::SeqCst);
            inside = shared.gate.rotate_long(&waiter, cancel);
        }
        if inside {
            shared.gate.leave_long();
        }
    });
    assert_eq!((model.gate.long_running(), model.gate.long_waiting()), (0, 0));
}

/// Somebody outside asks for room while slots are taken, given back, taken away, handed on, overdrawn and changed in number. In the end there is room, and it is seen.
fn room_is_seen_from_outside() {
    let model = Model::new(2);
    let shared = Arc::clone(&model);
    threads(4, move |number| {
        let (waiter, cancel) = (Arc::new(Waiter::new()), Cancel::new());
        match number {
            0 => (0..3).for_each(|_| {
                shared.gate.has_room();
            }),
            1 => {
                let mut held = shared.enter(Rights::Newcomer, &waiter, &cancel).expect("not cancelled");
                shared.working.fetch_sub(1, Ordering::SeqCst);
                shared.gate.rest(&mut held);
                shared.gate.revoke_idle(0);
            }
            2 => {
                let held = shared.gate.try_enter(Rights::Open, 1).or_else(|| shared.gate.overdraw(0)).expect("there are enough");
                shared.gate.leave(held);
                shared.gate.set_limit(1);
                shared.gate.set_limit(2);
            }
            _ => {
                let held = shared.enter(Rights::Newcomer, &waiter, &cancel).expect("not cancelled");
                shared.leave(held);
            }
        }
    });
    model.assert_quiet();
}

fn schedules(count: usize) -> Schedules {
    Schedules { count, variable: "ADMISSION_SCHEDULES" }
}

#[test]
fn every_transaction_gets_its_slot() {
    schedules(4_000).check(everybody_gets_through, &["no_look_after_queueing", "leave_without_serving", "repay_without_serving"]);
}

#[test]
fn a_slot_is_taken_from_an_idle_transaction_by_one() {
    schedules(4_000).explore(idle_slots_are_taken_away_once);
}

#[test]
fn who_rests_twice_leaves_others_their_slot() {
    schedules(4_000).check(who_rests_twice_takes_nothing, &["rest_overwrites"]);
}

#[test]
fn a_killed_waiter_leaves_nothing_behind() {
    schedules(4_000).check(the_killed_do_no_harm, &["grant_to_the_killed", "killed_stays_counted"]);
}

#[test]
fn no_newcomer_passes_an_open_transaction() {
    schedules(2_000).check(open_transactions_go_first, &["newcomers_first"]);
}

#[test]
fn who_asks_from_outside_overlooks_no_slot() {
    schedules(4_000).check(room_is_seen_from_outside, &["silent_leaver", "full_after_looking"]);
}

#[test]
fn long_statements_take_turns() {
    schedules(3_000).explore(the_long_lane_goes_around);
}
