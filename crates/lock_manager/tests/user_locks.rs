//! Named locks: recursion, hand-over in order, deadlocks, cancelling.

use lock_manager::user_locks::{Released, UserLocks};
use lock_manager::{Asker, Cancel, LockError, LockManager, Owner, WaitPolicy};
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

/// Members of the graph that deadlocks are found in, by number.
fn members(count: u64) -> (LockManager, Vec<Arc<Owner>>) {
    let manager = LockManager::new(1);
    let owners = (0..count).map(|no| {
        let owner = manager.new_owner();
        owner.set_client(no + 1);
        owner
    });
    let owners = owners.collect();
    (manager, owners)
}

#[test]
fn one_of_those_who_wait_in_a_circle_is_the_victim() {
    for _ in 0..200 {
        let (manager, owners) = members(3);
        let locks = UserLocks::new();
        let cancel = Cancel::new();
        let names = ["a", "b", "c"];
        let ask = |no: usize, name: &str, policy| locks.acquire(no as u64 + 1, name, policy, Asker::new(&manager, &owners[no], &cancel));
        for (no, name) in names.iter().enumerate() {
            ask(no, name, WaitPolicy::NoWait).unwrap();
        }
        std::thread::scope(|scope| {
            let run = |no: usize| {
                let (ask, locks) = (&ask, &locks);
                scope.spawn(move || {
                    // Each has a cancel flag of its own in a server; here nobody is cancelled, and the flag only notes who sleeps.
                    let got = ask(no, names[(no + 1) % 3], FOREVER);
                    if got.is_ok() {
                        locks.release(no as u64 + 1, names[(no + 1) % 3]);
                    }
                    locks.release(no as u64 + 1, names[no]);
                    got
                })
            };
            let threads = [run(0), run(1), run(2)];
            let results = threads.map(|thread| thread.join().unwrap());
            let victims = results.iter().filter(|result| **result == Err(LockError::Deadlock)).count();
            // All three wait in a circle, or somebody was done before the last one came.
            assert!(victims <= 1 && results.iter().filter(|result| result.is_ok()).count() == 3 - victims, "{results:?}");
        });
        assert!(locks.list().is_empty());
    }
}
