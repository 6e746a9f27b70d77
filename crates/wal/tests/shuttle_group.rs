//! Random schedules of group commit: nobody sleeps for ever, one thread leads at a time, every wake is useful.
//!
//! The source of `group.rs` is compiled here over shuttle. Bugs planted in it must be found. Replay a failure with the schedule that
//! shuttle prints: `shuttle::replay`. More schedules: `WAL_SCHEDULES=1000000 cargo test -p wal --release --test shuttle_group`.

use models::Schedules;
use shuttle::sync::Arc;

/// What `crate::platform` of the product is, over shuttle.
mod platform {
    pub(crate) use crate::futex;
    pub use models::planted;
    pub use shuttle::sync::atomic::{self, AtomicBool, AtomicU32, AtomicU64, Ordering};
    pub use shuttle::sync::{Condvar, Mutex};
    pub use shuttle::{lazy_static, thread};
    pub use sync::CachePadded;
}

#[allow(clippy::enum_variant_names)] // public in its own crate
#[path = "../../sync/src/futex_model.rs"]
mod futex;
#[allow(dead_code)] // what the model does not use
#[path = "../src/group.rs"]
mod group;

use group::Group;
use platform::{AtomicBool, AtomicU64, Ordering};

struct Model {
    group: Group,
    head: AtomicU64,
    durable: AtomicU64,
    wanted: AtomicU64,
    leading: AtomicBool,
}

impl Model {
    /// One commit; returns whether a wake was in vain.
    fn commit(&self) -> bool {
        let lsn = self.head.fetch_add(1, Ordering::SeqCst) + 1;
        let report = self.group.wait(
            || self.durable.load(Ordering::SeqCst) >= lsn,
            || {
                self.wanted.fetch_max(lsn, Ordering::SeqCst);
            },
            || {
                assert!(!self.leading.swap(true, Ordering::SeqCst), "two leaders at once");
                // Only what was announced becomes durable: less than the product does, so that a missed announcement shows.
                let need = lsn.max(self.wanted.load(Ordering::SeqCst));
                shuttle::thread::yield_now();
                self.durable.fetch_max(need, Ordering::SeqCst);
                self.leading.store(false, Ordering::SeqCst);
            },
        );
        assert!(self.durable.load(Ordering::SeqCst) >= lsn, "acknowledged before it is durable");
        report.wakes_useless > 0
    }
}

fn run(threads: usize, commits: usize, exact: bool) {
    let model = Arc::new(Model {
        group: Group::new(exact),
        head: AtomicU64::new(0),
        durable: AtomicU64::new(0),
        wanted: AtomicU64::new(0),
        leading: AtomicBool::new(false),
    });
    let handles: Vec<_> = (0..threads)
        .map(|_| {
            let model = model.clone();
            shuttle::thread::spawn(move || {
                for _ in 0..commits {
                    let in_vain = model.commit();
                    assert!(!in_vain || !exact, "a member was woken in vain");
                }
            })
        })
        .collect();
    for handle in handles {
        handle.join().expect("no panic");
    }
}

fn explore(count: usize, threads: usize, commits: usize) {
    Schedules { count, variable: "WAL_SCHEDULES" }.explore(move || run(threads, commits, true));
}

fn finds(bug: &'static str, complaints: &[&str]) {
    models::must_find(bug, complaints, || explore(20_000, 4, 2));
}

#[test]
fn every_committer_becomes_durable_and_no_wake_is_in_vain() {
    explore(3_000, 4, 2);
    explore(1_000, 6, 3);
}

#[test]
fn nobody_sleeps_for_ever_on_one_word_for_all_batches() {
    Schedules { count: 2_000, variable: "WAL_SCHEDULES" }.explore(|| run(5, 2, false));
}

#[test]
fn a_leader_that_goes_idle_past_a_joiner_is_found() {
    finds("idle_by_store", &["deadlock", "only the first member closes a batch"]);
}

#[test]
fn a_promotion_without_a_wake_is_found() {
    finds("no_promotion_wake", &["deadlock"]);
}

#[test]
fn waking_one_member_of_many_is_found() {
    finds("wake_one", &["deadlock"]);
}

#[test]
fn announcing_after_joining_is_found() {
    finds("announce_after_join", &["woken in vain"]);
}
