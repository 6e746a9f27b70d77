//! Locking, waiting, hand-over, cancellation, deadlocks, implicit locks, metadata locks: one behaviour a test.

use base::{IndexId, Lsn, TxnId};
use lock_manager::metadata::{ExclusiveWait, TableLock};
use lock_manager::{Cancel, ClientTold, DeadlockWitness, Granted, LockError, LockKeyRef, LockManager, LockMode, Owner, WaitPolicy};
use std::sync::Arc;
use std::time::{Duration, Instant};

use LockMode::{Exclusive, Shared};
const FOREVER: WaitPolicy = WaitPolicy::Wait(None);

fn key(key: &[u8]) -> LockKeyRef<'_> {
    LockKeyRef { index: IndexId(7), key }
}

fn lock(manager: &LockManager, owner: &Arc<Owner>, name: &[u8], mode: LockMode, policy: WaitPolicy) -> Result<Granted, LockError> {
    manager.lock(owner, key(name), mode, policy, &Cancel::new())
}

fn try_lock(manager: &LockManager, owner: &Arc<Owner>, name: &[u8], mode: LockMode) -> Result<Granted, LockError> {
    lock(manager, owner, name, mode, WaitPolicy::NoWait)
}

/// Until the manager has this many waiters, all of which have told those whom they wait for: they are queued before that, and counted behind it.
fn until_waiting(manager: &LockManager, count: u64) {
    let queued = || manager.snapshot(usize::MAX).locks.iter().filter(|lock| !lock.granted).count() as u64;
    while queued() < count || manager.stats().waiting < count {
        std::thread::yield_now();
    }
}

/// Each way to a lock tells which commit comes before it.
#[test]
fn who_has_a_lock_after_an_undurable_commit_comes_after_it() {
    let manager = LockManager::new(1);
    let (first, next, waiter) = (manager.new_owner(), manager.new_owner(), manager.new_owner());
    let take = |owner: &Arc<Owner>, name: &[u8], mode| try_lock(&manager, owner, name, mode).unwrap();
    take(&first, b"k", Exclusive);
    manager.release_all(&first);
    take(&next, b"k", Shared);
    assert_eq!(next.comes_after(), Lsn::NONE, "what was durable is seen");
    take(&first, b"k", Shared);
    manager.release_before_durable(&first, Lsn(10));
    assert_eq!(next.comes_after(), Lsn::NONE, "it had the lock beside it");
    assert_eq!(take(&next, b"k", Exclusive), Granted::Upgraded);
    assert_eq!(next.comes_after(), Lsn(10));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lock(&manager, &waiter, b"k", Shared, FOREVER));
        until_waiting(&manager, 1);
        manager.release_before_durable(&next, Lsn(20));
        assert_eq!(waiting.join().unwrap(), Ok(Granted::New));
    });
    assert_eq!(waiter.comes_after(), Lsn(20));
    // A key that others have, a gap that was given back, and a transaction that ends for all: what it comes after stays.
    take(&first, b"k", Shared);
    assert_eq!(first.comes_after(), Lsn(20));
    manager.release_all(&first);
    assert_eq!(first.comes_after(), Lsn(20));
    take(&waiter, b"gap", LockMode::ExclusiveGap);
    manager.release_before_durable(&waiter, Lsn(30));
    assert!(manager.enter_gap(&first, key(b"gap"), b"f"));
    assert_eq!(first.comes_after(), Lsn(30));
}

#[test]
fn modes_exclude_each_other_and_owners_reenter() {
    let manager = LockManager::new(8);
    let (a, b) = (manager.new_owner(), manager.new_owner());
    assert_eq!(try_lock(&manager, &a, b"k", Shared), Ok(Granted::New));
    assert_eq!(try_lock(&manager, &a, b"k", Shared), Ok(Granted::Held));
    assert_eq!(try_lock(&manager, &b, b"k", Shared), Ok(Granted::New));
    assert_eq!(try_lock(&manager, &a, b"k", Exclusive), Err(LockError::WouldBlock));
    assert!(manager.release(&b, key(b"k")));
    assert!(!manager.release(&b, key(b"k")));
    assert_eq!(try_lock(&manager, &a, b"k", Exclusive), Ok(Granted::Upgraded));
    assert_eq!(try_lock(&manager, &a, b"k", Shared), Ok(Granted::Held));
    assert_eq!(try_lock(&manager, &b, b"k", Shared), Err(LockError::WouldBlock));
    assert_eq!(try_lock(&manager, &b, b"other", Exclusive), Ok(Granted::New));
    assert_eq!((a.lock_count(), b.lock_count()), (1, 1));
    manager.release_all(&a);
    manager.release_all(&b);
    assert_eq!(manager.snapshot(10), Default::default());
}

#[test]
fn same_key_of_two_indexes_is_two_locks() {
    let manager = LockManager::new(1);
    let (a, b) = (manager.new_owner(), manager.new_owner());
    let of = |index| LockKeyRef { index: IndexId(index), key: b"k" };
    let cancel = Cancel::new();
    assert_eq!(manager.lock(&a, of(1), Exclusive, WaitPolicy::NoWait, &cancel), Ok(Granted::New));
    assert_eq!(manager.lock(&b, of(2), Exclusive, WaitPolicy::NoWait, &cancel), Ok(Granted::New));
}

#[test]
fn waiters_are_granted_in_order_of_arrival() {
    let manager = LockManager::new(4);
    let first = manager.new_owner();
    lock(&manager, &first, b"k", Exclusive, FOREVER).expect("free");
    let order = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for n in 0..8u64 {
            let (manager, order) = (&manager, &order);
            scope.spawn(move || {
                let owner = manager.new_owner();
                assert_eq!(lock(manager, &owner, b"k", Exclusive, FOREVER), Ok(Granted::New));
                assert_eq!(order.fetch_add(1, std::sync::atomic::Ordering::SeqCst), n);
                manager.release_all(&owner);
            });
            until_waiting(manager, n + 1);
        }
        manager.release_all(&first);
    });
    assert_eq!(manager.stats().waits, 8);
}

#[test]
fn a_reader_does_not_overtake_a_waiting_writer() {
    let manager = LockManager::new(4);
    let (reader, writer, late) = (manager.new_owner(), manager.new_owner(), manager.new_owner());
    lock(&manager, &reader, b"k", Shared, FOREVER).expect("free");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lock(&manager, &writer, b"k", Exclusive, FOREVER));
        until_waiting(&manager, 1);
        assert_eq!(try_lock(&manager, &late, b"k", Shared), Err(LockError::WouldBlock));
        manager.release_all(&reader);
        assert_eq!(waiting.join().expect("no panic"), Ok(Granted::New));
    });
}

#[test]
fn a_waiter_that_leaves_lets_those_behind_it_pass() {
    let manager = LockManager::new(4);
    let (reader, writer, late) = (manager.new_owner(), manager.new_owner(), manager.new_owner());
    lock(&manager, &reader, b"k", Shared, FOREVER).expect("free");
    let cancel = Cancel::new();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| manager.lock(&writer, key(b"k"), Exclusive, FOREVER, &cancel));
        until_waiting(&manager, 1);
        let reading = scope.spawn(|| lock(&manager, &late, b"k", Shared, FOREVER));
        until_waiting(&manager, 2);
        cancel.cancel(1);
        assert_eq!(writing.join().expect("no panic"), Err(LockError::Killed));
        assert_eq!(reading.join().expect("no panic"), Ok(Granted::New));
    });
}

#[test]
fn an_upgrade_passes_the_queue() {
    let manager = LockManager::new(4);
    let (a, b, writer) = (manager.new_owner(), manager.new_owner(), manager.new_owner());
    lock(&manager, &a, b"k", Shared, FOREVER).expect("free");
    lock(&manager, &b, b"k", Shared, FOREVER).expect("free");
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| lock(&manager, &writer, b"k", Exclusive, FOREVER));
        until_waiting(&manager, 1);
        let upgrading = scope.spawn(|| lock(&manager, &a, b"k", Exclusive, FOREVER));
        until_waiting(&manager, 2);
        manager.release_all(&b);
        assert_eq!(upgrading.join().expect("no panic"), Ok(Granted::Upgraded));
        manager.release_all(&a);
        assert_eq!(writing.join().expect("no panic"), Ok(Granted::New));
    });
}

#[test]
fn deadlines_and_cancels_end_waits() {
    let manager = LockManager::new(4);
    let (a, b) = (manager.new_owner(), manager.new_owner());
    lock(&manager, &a, b"k", Exclusive, FOREVER).expect("free");
    let past = WaitPolicy::Wait(Some(Instant::now()));
    assert_eq!(lock(&manager, &b, b"k", Exclusive, past), Err(LockError::Timeout));
    let soon = WaitPolicy::Wait(Some(Instant::now() + Duration::from_millis(2)));
    assert_eq!(lock(&manager, &b, b"k", Exclusive, soon), Err(LockError::Timeout));
    assert_eq!(lock(&manager, &b, b"k", Exclusive, WaitPolicy::SkipLocked), Err(LockError::WouldBlock));
    let cancel = Cancel::new();
    cancel.cancel(3);
    cancel.cancel(4);
    assert_eq!(cancel.reason(), Some(3));
    assert_eq!(manager.lock(&b, key(b"k"), Shared, FOREVER, &cancel), Err(LockError::Killed));
    cancel.reset();
    assert!(!cancel.is_cancelled());
    manager.release_all(&a);
    assert_eq!(manager.lock(&b, key(b"k"), Shared, FOREVER, &cancel), Ok(Granted::New));
    let stats = manager.stats();
    assert_eq!((stats.timeouts, stats.waiting), (2, 0));
}

struct Witness;

impl DeadlockWitness for Witness {
    fn client(&self, client: u64) -> ClientTold {
        ClientTold { statement: format!("statement of {client}").into_bytes(), ..ClientTold::default() }
    }

    fn wall_micros(&self) -> i64 {
        77
    }
}

/// `count` owners in a ring; owner n has done `work(n)`. Returns who became the victim.
fn ring(count: usize, work: impl Fn(usize) -> u64) -> usize {
    let manager = LockManager::new(4);
    manager.set_deadlock_witness(Box::new(Witness));
    let owners: Vec<_> = (0..count).map(|_| manager.new_owner()).collect();
    for (n, owner) in owners.iter().enumerate() {
        owner.set_client(100 + n as u64);
        lock(&manager, owner, &[n as u8], Exclusive, FOREVER).expect("free");
        owner.add_work(work(n));
    }
    let mut victims = Vec::new();
    std::thread::scope(|scope| {
        let manager = &manager;
        let mut waits = Vec::new();
        for (n, owner) in owners.iter().enumerate() {
            let wanted = [((n + 1) % count) as u8];
            waits.push(scope.spawn(move || {
                let result = lock(manager, owner, &wanted, Exclusive, FOREVER);
                manager.release_all(owner);
                result
            }));
            if n + 1 < count {
                until_waiting(manager, n as u64 + 1);
            }
        }
        for (n, wait) in waits.into_iter().enumerate() {
            match wait.join().expect("no panic") {
                Ok(granted) => assert_eq!(granted, Granted::New),
                Err(error) => {
                    assert_eq!(error, LockError::Deadlock);
                    victims.push(n);
                }
            }
        }
    });
    assert_eq!(victims.len(), 1, "one victim of {count}");
    let report = manager.latest_deadlock().expect("a report");
    assert_eq!(report.members.len(), count);
    assert_eq!(report.members[report.victim].owner, owners[victims[0]].number());
    assert_eq!(report.wall_micros, 77);
    for member in &report.members {
        assert_eq!(member.told.statement, format!("statement of {}", member.client).into_bytes());
        assert_eq!(member.held, Some(Exclusive));
    }
    assert_eq!(manager.stats().deadlocks, 1);
    assert_eq!(manager.snapshot(10), Default::default());
    victims[0]
}

#[test]
fn deadlock_rings_of_two_to_ten_have_the_victim_with_least_work() {
    for count in 2..=10 {
        for least in 0..count {
            assert_eq!(ring(count, |n| if n == least { 1 } else { 5 }), least);
        }
        assert_eq!(ring(count, |_| 3), count - 1, "among equals the one that closed the ring");
    }
}

#[test]
fn two_upgrades_are_a_deadlock() {
    let manager = LockManager::new(4);
    let (a, b) = (manager.new_owner(), manager.new_owner());
    lock(&manager, &a, b"k", Shared, FOREVER).expect("free");
    lock(&manager, &b, b"k", Shared, FOREVER).expect("free");
    a.add_work(1);
    std::thread::scope(|scope| {
        let upgrading = scope.spawn(|| lock(&manager, &a, b"k", Exclusive, FOREVER));
        until_waiting(&manager, 1);
        assert_eq!(lock(&manager, &b, b"k", Exclusive, FOREVER), Err(LockError::Deadlock));
        manager.release_all(&b);
        assert_eq!(upgrading.join().expect("no panic"), Ok(Granted::Upgraded));
    });
    let report = manager.latest_deadlock().expect("a report");
    assert_eq!(report.members.len(), 2);
}

#[test]
fn a_long_queue_is_no_deadlock() {
    let manager = LockManager::new(4);
    let holder = manager.new_owner();
    lock(&manager, &holder, b"hot", Exclusive, FOREVER).expect("free");
    std::thread::scope(|scope| {
        for n in 0..50u8 {
            let manager = &manager;
            scope.spawn(move || {
                let owner = manager.new_owner();
                lock(manager, &owner, &[n], Exclusive, FOREVER).expect("its own");
                lock(manager, &owner, b"hot", Exclusive, FOREVER).expect("no cycle");
                manager.release_all(&owner);
            });
        }
        until_waiting(&manager, 50);
        manager.release_all(&holder);
    });
    assert_eq!(manager.stats().deadlocks, 0);
}

#[test]
fn an_implicit_lock_is_waited_for() {
    let manager = LockManager::new(4);
    let holder = manager.register(TxnId(5));
    let reader = manager.new_owner();
    let cancel = Cancel::new();
    let lock_it = |policy| manager.lock_after_implicit(&reader, key(b"k"), Shared, TxnId(5), || true, policy, &cancel);
    assert_eq!(lock_it(WaitPolicy::NoWait), Err(LockError::WouldBlock));
    assert_eq!(holder.lock_count(), 1, "explicit now");
    assert_eq!(try_lock(&manager, &holder, b"k", Exclusive), Ok(Granted::Held));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lock_it(FOREVER));
        until_waiting(&manager, 1);
        let snapshot = manager.snapshot(100);
        assert_eq!((snapshot.locks.len(), snapshot.waits.len()), (2, 1));
        assert_eq!(snapshot.locks[snapshot.waits[0].blocking].txn, TxnId(5));
        manager.release_all(&holder);
        assert_eq!(waiting.join().expect("no panic"), Ok(Granted::New));
    });
    assert!(manager.find_owner(TxnId(5)).is_none());
}

#[test]
fn an_implicit_lock_of_a_finished_holder_is_none() {
    let manager = LockManager::new(4);
    let holder = manager.register(TxnId(5));
    let (a, b) = (manager.new_owner(), manager.new_owner());
    let cancel = Cancel::new();
    let lock_it =
        |owner, active| manager.lock_after_implicit(owner, key(b"k"), Exclusive, TxnId(5), || active, WaitPolicy::NoWait, &cancel);
    assert_eq!(lock_it(&a, false), Ok(Granted::New), "finished for readers, but not released yet");
    manager.release_all(&holder);
    manager.release_all(&a);
    manager.set_txn(&holder, TxnId(6));
    assert_eq!(lock_it(&b, true), Ok(Granted::New), "the owner serves another transaction now");
    assert_eq!(holder.lock_count(), 0);
}

#[test]
fn readers_share_a_table_and_ddl_has_it_alone() {
    let table = Arc::new(TableLock::new());
    let cancel = Cancel::new();
    let short = || ExclusiveWait::until(Some(Instant::now()));
    let a = table.shared(0, WaitPolicy::NoWait, &cancel).expect("free");
    let b = table.shared(1, WaitPolicy::NoWait, &cancel).expect("shared");
    assert_eq!(table.shared_count(), 2);
    assert_eq!(table.exclusive(short(), &cancel).map(|_| ()), Err(LockError::Timeout));
    drop((a, b));
    let alone = table.exclusive(short(), &cancel).expect("nobody is there");
    assert!(table.is_exclusive());
    assert_eq!(table.shared(0, WaitPolicy::NoWait, &cancel).map(|_| ()), Err(LockError::WouldBlock));
    let past = WaitPolicy::Wait(Some(Instant::now()));
    assert_eq!(table.shared(0, past, &cancel).map(|_| ()), Err(LockError::Timeout));
    assert_eq!(table.exclusive(short(), &cancel).map(|_| ()), Err(LockError::Timeout));
    drop(alone);
    drop(table.shared(0, WaitPolicy::NoWait, &cancel).expect("free again"));
}

#[test]
fn waiting_ddl_lets_newcomers_pass_after_a_bound() {
    let table = Arc::new(TableLock::new());
    let cancel = Cancel::new();
    let idle = table.shared(0, WaitPolicy::NoWait, &cancel).expect("free");
    let ddl_cancel = Cancel::new();
    std::thread::scope(|scope| {
        let ddl = scope.spawn(|| {
            let wait = ExclusiveWait { deadline: None, block: Duration::from_millis(5), pass: Duration::from_millis(5) };
            table.exclusive(wait, &ddl_cancel).map(drop)
        });
        // The idle transaction never ends, and yet statements that come later go through, again and again.
        for _ in 0..20 {
            drop(table.shared(1, FOREVER, &cancel).expect("passes"));
            std::thread::yield_now();
        }
        ddl_cancel.cancel(1);
        assert_eq!(ddl.join().expect("no panic"), Err(LockError::Killed));
    });
    drop(idle);
    drop(table.shared(1, WaitPolicy::NoWait, &cancel).expect("the gate is open again"));
}

#[test]
fn ddl_comes_in_turn_when_readers_leave() {
    let table = Arc::new(TableLock::new());
    let total = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for n in 0..3usize {
            let (table, total) = (&table, &total);
            scope.spawn(move || {
                let cancel = Cancel::new();
                for _ in 0..300 {
                    let guard = table.shared(n, FOREVER, &cancel).expect("no deadline");
                    assert!(!table.is_exclusive());
                    drop(guard);
                }
            });
            scope.spawn(move || {
                let cancel = Cancel::new();
                for _ in 0..30 {
                    let guard = table.exclusive(ExclusiveWait::until(None), &cancel).expect("no deadline");
                    assert!(table.is_exclusive());
                    total.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    drop(guard);
                }
            });
        }
    });
    assert_eq!(total.into_inner(), 90);
}

#[test]
fn sleep_ends_at_its_deadline_or_when_cancelled() {
    let cancel = Arc::new(Cancel::new());
    assert!(!cancel.sleep_until(Some(Instant::now())));
    assert!(!cancel.sleep_until(Some(Instant::now() + Duration::from_millis(2))));
    let sleeper = std::thread::spawn({
        let cancel = Arc::clone(&cancel);
        move || cancel.sleep_until(None)
    });
    cancel.cancel(1);
    assert!(sleeper.join().expect("a sleeper"));
    // Cancelled before: no sleep.
    assert!(cancel.sleep_until(None));
    cancel.reset();
    assert!(!cancel.sleep_until(Some(Instant::now())));
}

#[test]
fn lock_granted_after_the_row_was_written_does_not_count() {
    let manager = LockManager::new(4);
    let (late, writer) = (manager.new_owner(), manager.new_owner());
    manager.set_txn(&writer, TxnId(9));
    // `late` let the page go to wait; the lock became free; `writer` found none and wrote the row.
    assert_eq!(try_lock(&manager, &late, b"row", Exclusive), Ok(Granted::New));
    let ask = |policy| manager.lock_after_implicit(&late, key(b"row"), Exclusive, TxnId(9), || true, policy, &Cancel::new());
    assert_eq!(ask(WaitPolicy::NoWait), Err(LockError::WouldBlock));
    assert_eq!(late.lock_count(), 0);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| ask(FOREVER));
        until_waiting(&manager, 1);
        manager.release_all(&writer);
        assert_eq!(waiter.join().expect("a waiter"), Ok(Granted::New));
    });
    manager.release_all(&late);
    assert!(manager.is_free(key(b"row"), &late));
}

#[test]
fn lock_noted_for_a_writer_that_took_its_change_back_is_not_granted_beside_anothers() {
    let manager = LockManager::new(4);
    let (reader, writer, third) = (manager.new_owner(), manager.new_owner(), manager.new_owner());
    manager.set_txn(&writer, TxnId(9));
    // `third` has seen the row as `writer`'s, and asks when that has put an older version back, and `reader` has locked it.
    assert_eq!(try_lock(&manager, &reader, b"row", Shared), Ok(Granted::New));
    let ask = || manager.lock_after_implicit(&third, key(b"row"), Exclusive, TxnId(9), || true, WaitPolicy::NoWait, &Cancel::new());
    assert_eq!(ask(), Err(LockError::WouldBlock));
    assert_eq!(try_lock(&manager, &writer, b"row", Exclusive), Err(LockError::WouldBlock));
    assert_eq!(try_lock(&manager, &writer, b"row", Shared), Ok(Granted::Held));
    assert_eq!(try_lock(&manager, &writer, b"row", Exclusive), Err(LockError::WouldBlock));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| lock(&manager, &writer, b"row", Exclusive, FOREVER));
        until_waiting(&manager, 1);
        manager.release_all(&reader);
        waiting.join().expect("a waiter").expect("granted");
    });
    // From here on it is a lock like any other.
    assert_eq!(try_lock(&manager, &writer, b"row", Exclusive), Ok(Granted::Held));
    assert_eq!(ask(), Err(LockError::WouldBlock));
    assert_eq!(try_lock(&manager, &writer, b"row", Exclusive), Ok(Granted::Held));
    assert_eq!(try_lock(&manager, &reader, b"row", Shared), Err(LockError::WouldBlock));
    manager.release_all(&writer);
    assert!(manager.is_free(key(b"row"), &writer));
}

#[test]
fn who_waits_for_a_lock_that_came_too_late_has_it_when_that_is_given_up() {
    // Without, and with one who waits before it.
    for before in [false, true] {
        let manager = LockManager::new(4);
        let (late, writer, other) = (manager.new_owner(), manager.new_owner(), manager.new_owner());
        manager.set_txn(&writer, TxnId(9));
        // `late` has seen the row as `writer`'s. That has put an older version back, and is about to write it again.
        assert_eq!(try_lock(&manager, &late, b"row", Exclusive), Ok(Granted::New));
        let soon = WaitPolicy::Wait(Some(Instant::now() + Duration::from_secs(20)));
        std::thread::scope(|scope| {
            let another = before.then(|| scope.spawn(|| lock(&manager, &other, b"row", Exclusive, soon)));
            until_waiting(&manager, u64::from(before));
            let writing = scope.spawn(|| lock(&manager, &writer, b"row", Exclusive, soon));
            until_waiting(&manager, 1 + u64::from(before));
            let ask = || manager.lock_after_implicit(&late, key(b"row"), Exclusive, TxnId(9), || true, soon, &Cancel::new());
            let waiting = scope.spawn(ask);
            assert_eq!(writing.join().expect("a writer"), Ok(Granted::Upgraded), "behind another: {before}");
            manager.release_all(&writer);
            if let Some(another) = another {
                assert_eq!(another.join().expect("a waiter"), Ok(Granted::New));
                manager.release_all(&other);
            }
            assert_eq!(waiting.join().expect("a waiter"), Ok(Granted::New));
        });
        manager.release_all(&late);
        assert!(manager.is_free(key(b"row"), &late));
    }
}

#[test]
fn cycle_closed_by_making_a_waiting_holders_lock_explicit_is_found() {
    let manager = LockManager::new(4);
    let owners: Vec<_> = (0..4).map(|_| manager.new_owner()).collect();
    let [late, writer, behind, third] = &owners[..] else { panic!("four owners") };
    manager.set_txn(writer, TxnId(9));
    writer.add_work(1);
    behind.add_work(5);
    let after_implicit = |owner| manager.lock_after_implicit(owner, key(b"row"), Exclusive, TxnId(9), || true, FOREVER, &Cancel::new());
    // `late` has a lock that does not count, and `behind` waits for it; the row is the writer's.
    assert_eq!(try_lock(&manager, late, b"row", Exclusive), Ok(Granted::New));
    assert_eq!(try_lock(&manager, behind, b"other", Exclusive), Ok(Granted::New));
    std::thread::scope(|scope| {
        let behind_waits = scope.spawn(|| lock(&manager, behind, b"row", Exclusive, FOREVER));
        until_waiting(&manager, 1);
        let writer_waits = scope.spawn(|| lock(&manager, writer, b"other", Exclusive, FOREVER));
        until_waiting(&manager, 2);
        // Neither has looked for the other's: only a third one tells that `behind` waits for the writer.
        let third_waits = scope.spawn(|| after_implicit(third));
        assert_eq!(writer_waits.join().expect("a thread"), Err(LockError::Deadlock));
        manager.release_all(writer);
        manager.release_all(late);
        assert_eq!(behind_waits.join().expect("a thread"), Ok(Granted::New));
        manager.release_all(behind);
        assert_eq!(third_waits.join().expect("a thread"), Ok(Granted::New));
        manager.release_all(third);
    });
}
