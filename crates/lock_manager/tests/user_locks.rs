//! Named locks: recursion, hand-over in order, deadlocks, cancelling.

use lock_manager::user_locks::{Released, UserLocks};
use lock_manager::{Cancel, LockError, WaitPolicy};
use std::sync::Arc;

const FOREVER: WaitPolicy = WaitPolicy::Wait(None);

fn wait_until_waiting(locks: &UserLocks, name: &str, count: usize) {
    while locks.list().iter().find(|lock| &*lock.name == name).is_none_or(|lock| lock.waiters.len() < count) {
        std::thread::yield_now();
    }
}

#[test]
fn a_name_is_held_as_often_as_it_was_taken() {
    let locks = UserLocks::new();
    let cancel = Cancel::new();
    for _ in 0..3 {
        locks.acquire(1, "a", WaitPolicy::NoWait, &cancel).unwrap();
    }
    assert_eq!(locks.acquire(2, "a", WaitPolicy::NoWait, &cancel), Err(LockError::WouldBlock));
    assert_eq!(locks.release(2, "a"), Released::NotHolder);
    for _ in 0..3 {
        assert_eq!(locks.holder("a"), Some(1));
        assert_eq!(locks.release(1, "a"), Released::Yes);
    }
    assert_eq!(locks.release(1, "a"), Released::Free);
    assert!(locks.list().is_empty());
}

#[test]
fn waiters_are_served_in_order_and_a_cancelled_one_is_passed_over() {
    let locks = UserLocks::new();
    locks.acquire(1, "a", WaitPolicy::NoWait, &Cancel::new()).unwrap();
    let cancels: Vec<_> = (0..3).map(|_| Arc::new(Cancel::new())).collect();
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (no, cancel) in cancels.iter().enumerate() {
            let locks = &locks;
            threads.push(scope.spawn(move || locks.acquire(no as u64 + 2, "a", FOREVER, cancel)));
            wait_until_waiting(locks, "a", no + 1);
        }
        cancels[0].cancel(1);
        let mut threads = threads.into_iter();
        assert_eq!(threads.next().unwrap().join().unwrap(), Err(LockError::Killed));
        locks.release(1, "a");
        assert_eq!(threads.next().unwrap().join().unwrap(), Ok(()));
        assert_eq!(locks.holder("a"), Some(3));
        locks.release(3, "a");
        assert_eq!(threads.next().unwrap().join().unwrap(), Ok(()));
        assert_eq!(locks.holder("a"), Some(4));
    });
}

#[test]
fn the_last_to_wait_in_a_circle_is_the_victim() {
    let locks = UserLocks::new();
    let names = ["a", "b", "c"];
    for (no, name) in names.iter().enumerate() {
        locks.acquire(no as u64, name, WaitPolicy::NoWait, &Cancel::new()).unwrap();
    }
    std::thread::scope(|scope| {
        let locks = &locks;
        let first = scope.spawn(move || locks.acquire(0, "b", FOREVER, &Cancel::new()));
        wait_until_waiting(locks, "b", 1);
        let second = scope.spawn(move || locks.acquire(1, "c", FOREVER, &Cancel::new()));
        wait_until_waiting(locks, "c", 1);
        assert_eq!(locks.acquire(2, "a", FOREVER, &Cancel::new()), Err(LockError::Deadlock));
        locks.release(2, "c");
        assert_eq!(second.join().unwrap(), Ok(()));
        locks.release(1, "b");
        assert_eq!(first.join().unwrap(), Ok(()));
    });
    // Two at a time: one of them always finds the circle.
    for _ in 0..200 {
        let locks = UserLocks::new();
        locks.acquire(1, "a", WaitPolicy::NoWait, &Cancel::new()).unwrap();
        locks.acquire(2, "b", WaitPolicy::NoWait, &Cancel::new()).unwrap();
        std::thread::scope(|scope| {
            let run = |owner: u64, own: &'static str, other: &'static str| {
                let locks = &locks;
                scope.spawn(move || {
                    let got = locks.acquire(owner, other, FOREVER, &Cancel::new());
                    locks.release(owner, own);
                    got
                })
            };
            let (one, two) = (run(1, "a", "b"), run(2, "b", "a"));
            let results = [one.join().unwrap(), two.join().unwrap()];
            assert!(results.contains(&Ok(())), "{results:?}");
        });
    }
}
