//! What many waiters cost: the table is driven without sleeping, so that ten thousand owners need no threads.

use crate::cancel::WaitState;
use crate::manager::{LockKeyRef, LockManager};
use crate::mode::LockMode::{self, Exclusive, ExclusiveGap, InsertIntention, Shared};
use crate::owner::{Owner, Wait};
use crate::queue::OVERTAKEN_MAX;
use crate::table::Request;
use crate::{Cancel, LockError, WaitPolicy};
use base::IndexId;
use std::sync::Arc;

const OWNERS: usize = 10_000;

fn key(key: &[u8]) -> LockKeyRef<'_> {
    LockKeyRef { index: IndexId(3), key }
}

/// A request that queues when it must wait, and comes back at once.
fn ask(manager: &LockManager, owner: &Arc<Owner>, name: &[u8], mode: LockMode) -> Option<Wait> {
    let (id, shard, request) = manager.request_for_test(owner, key(name), mode);
    match request {
        Request::Blocked { upgrade } => Some(manager.begin_wait(shard, id, owner, mode, upgrade, false)),
        Request::New => {
            owner.inner().locks.push(id);
            None
        }
        Request::Upgraded | Request::Held => None,
    }
}

/// The waiter wakes up.
fn wake(manager: &LockManager, owner: &Arc<Owner>, wait: Wait) -> Result<crate::Granted, LockError> {
    manager.end_wait(wait, owner, owner.cell.state())
}

/// Owners that hold a key of their own each, so that each could be part of a cycle.
fn owners(manager: &LockManager, count: usize) -> Vec<Arc<Owner>> {
    let owner = |n: usize| {
        let owner = manager.new_owner();
        assert!(ask(manager, &owner, &(n as u64).to_be_bytes(), Exclusive).is_none());
        owner
    };
    (0..count).map(owner).collect()
}

#[test]
fn ten_thousand_waiters_for_one_row_cost_their_number() {
    let manager = LockManager::new(64);
    let holder = manager.new_owner();
    assert!(ask(&manager, &holder, b"hot", Exclusive).is_none());
    let owners = owners(&manager, OWNERS);
    let waits: Vec<_> = owners.iter().map(|owner| ask(&manager, owner, b"hot", Exclusive).expect("it waits")).collect();
    let stats = manager.stats();
    assert_eq!((stats.searches, stats.looked_at), (0, OWNERS as u64));
    // They go one after the other, and nothing more is looked at.
    manager.release_all(&holder);
    for (owner, wait) in owners.iter().zip(waits) {
        wake(&manager, owner, wait).expect("it is its turn");
        manager.release_all(owner);
    }
    let stats = manager.stats();
    assert_eq!((stats.searches, stats.looked_at, stats.waiting), (0, OWNERS as u64, 0));
    assert_eq!(manager.snapshot(1), Default::default());
}

#[test]
fn behind_a_holder_that_waits_each_waiter_follows_the_chain() {
    let manager = LockManager::new(64);
    // A chain of five: each holds what the one before waits for.
    let chain: Vec<_> = (0..5u8).map(|_| manager.new_owner()).collect();
    for (n, owner) in chain.iter().enumerate() {
        assert!(ask(&manager, owner, &[n as u8], Exclusive).is_none());
    }
    for (n, owner) in chain.iter().enumerate().take(4) {
        assert!(ask(&manager, owner, &[n as u8 + 1], Exclusive).is_some());
    }
    let before = manager.stats().looked_at;
    for owner in &owners(&manager, OWNERS) {
        assert!(ask(&manager, owner, &[0], Exclusive).is_some());
    }
    let stats = manager.stats();
    assert_eq!(stats.searches, 0, "no chain branches");
    assert!(stats.looked_at - before <= 6 * OWNERS as u64, "{stats:?}");
    assert_eq!(chain[0].waited_by(), OWNERS as u32);
}

#[test]
fn a_search_through_ten_thousand_waiters_looks_at_their_holders_once() {
    let manager = LockManager::new(64);
    let holder = manager.new_owner();
    assert!(ask(&manager, &holder, b"hot", Exclusive).is_none());
    let owners = owners(&manager, OWNERS);
    for owner in &owners {
        assert!(ask(&manager, owner, b"hot", Exclusive).is_some());
    }
    // All of them share another row; who wants it alone waits for all of them.
    let writer = manager.new_owner();
    assert!(ask(&manager, &writer, b"own", Exclusive).is_none());
    for owner in &owners {
        let (id, shard, request) = manager.request_for_test(owner, key(b"shared"), Shared);
        drop(shard);
        assert_eq!(request, Request::New);
        owner.inner().locks.push(id);
    }
    let before = manager.stats();
    assert!(ask(&manager, &writer, b"shared", Exclusive).is_some());
    let stats = manager.stats();
    assert_eq!((stats.searches - before.searches, stats.deadlocks), (1, 0));
    assert!(stats.looked_at - before.looked_at <= 4 * OWNERS as u64, "{stats:?}");
    // The holder of the hot row closes the circle.
    assert!(ask(&manager, &holder, b"own", Exclusive).is_some());
    assert_eq!(manager.stats().deadlocks, 1);
    assert!(manager.stats().looked_at - stats.looked_at <= 6 * OWNERS as u64, "{:?}", manager.stats());
}

#[test]
fn waiters_that_give_up_from_the_end_cost_their_number() {
    let manager = LockManager::new(4);
    let holder = manager.new_owner();
    assert!(ask(&manager, &holder, b"hot", Shared).is_none());
    let owners = owners(&manager, OWNERS);
    let waits: Vec<_> = owners.iter().map(|owner| ask(&manager, owner, b"hot", Exclusive).expect("it waits")).collect();
    for (owner, wait) in owners.iter().zip(waits).rev() {
        assert!(owner.cell.end(WaitState::TimedOut));
        assert_eq!(wake(&manager, owner, wait), Err(LockError::Timeout));
    }
    assert_eq!((manager.stats().looked_at, holder.waited_by()), (OWNERS as u64, 0));
}

#[test]
fn ten_thousand_readers_of_one_row_cost_their_number() {
    let manager = LockManager::new(4);
    let owners: Vec<_> = (0..OWNERS).map(|_| manager.new_owner()).collect();
    for owner in &owners {
        assert!(ask(&manager, owner, b"parent", Shared).is_none());
        assert!(ask(&manager, owner, b"parent", ExclusiveGap).is_none());
    }
    let writer = manager.new_owner();
    let wait = ask(&manager, &writer, b"parent", InsertIntention).expect("somebody has the gap");
    owners.iter().for_each(|owner| manager.release_all(owner));
    wake(&manager, &writer, wait).expect("nobody has the gap any more");
}

#[test]
fn who_holds_up_others_goes_first_and_the_oldest_is_overtaken_a_bounded_number_of_times() {
    let manager = LockManager::new(4);
    let mut holder = manager.new_owner();
    assert!(ask(&manager, &holder, b"hot", Exclusive).is_none());
    let oldest = manager.new_owner();
    let oldest_wait = ask(&manager, &oldest, b"hot", Exclusive).expect("it waits");
    let mut overtaken = 0;
    loop {
        // A new one, who holds up another by then.
        let heavy = manager.new_owner();
        let name = [b'h', overtaken as u8];
        assert!(ask(&manager, &heavy, &name, Exclusive).is_none());
        let wait = ask(&manager, &heavy, b"hot", Exclusive).expect("it waits");
        assert!(ask(&manager, &manager.new_owner(), &name, Exclusive).is_some());
        assert_eq!(heavy.waited_by(), 1);
        manager.release_all(&holder);
        if oldest.cell.state() == WaitState::Granted {
            break;
        }
        wake(&manager, &heavy, wait).expect("the heaviest is next");
        overtaken += 1;
        holder = heavy;
    }
    assert_eq!(overtaken, OVERTAKEN_MAX);
    wake(&manager, &oldest, oldest_wait).expect("its turn");
}

#[test]
fn a_removed_record_leaves_its_gap_to_lockers_and_waiters() {
    let manager = LockManager::new(4);
    let [maker, waiter, reader, other] = [0; 4].map(|_| manager.new_owner());
    other.set_locks_gaps(false);
    assert!(ask(&manager, &maker, b"5", Exclusive).is_none());
    assert!(ask(&manager, &reader, b"5", ExclusiveGap).is_none());
    let wait = ask(&manager, &waiter, b"5", Shared).expect("it waits");
    let other_wait = ask(&manager, &other, b"5", Shared).expect("it waits");
    assert!(manager.enter_gap(&reader, key(b"5"), b"4"), "its own gap");
    assert!(!manager.enter_gap(&maker, key(b"4"), b"3"), "both halves are the reader's");
    assert!(ask(&manager, &maker, b"6", ExclusiveGap).is_none());
    manager.record_removed(None, key(b"6"), key(b"7"));
    assert!(!manager.enter_gap(&reader, key(b"7"), b"6"), "who goes on keeps its gap");
    manager.record_removed(Some(&maker), key(b"7"), key(b"8"));
    assert!(manager.enter_gap(&reader, key(b"8"), b"7"), "who ends does not");
    manager.record_removed(Some(&maker), key(b"5"), LockKeyRef::supremum(IndexId(3)));
    assert_eq!(wake(&manager, &waiter, wait), Ok(crate::Granted::Vanished));
    assert_eq!(wake(&manager, &other, other_wait), Ok(crate::Granted::Vanished));
    let names = |owner: &Arc<Owner>| {
        let locks = manager.snapshot(100).locks.into_iter().filter(|lock| lock.owner == owner.number());
        let mut names: Vec<_> = locks.map(|lock| format!("{:?} {}", String::from_utf8_lossy(&lock.key), lock.mode_name())).collect();
        names.sort();
        names
    };
    assert_eq!(names(&waiter), ["\"\" S"]);
    assert_eq!(names(&reader), ["\"\" X", "\"4\" X,GAP"]);
    assert_eq!((names(&maker), names(&other)), (vec![], vec![]), "the maker ends, the other locks no gaps");
    assert!(manager.has_gap_locks(IndexId(3), &manager.new_owner()));
    for owner in [&maker, &waiter, &reader, &other] {
        manager.release_all(owner);
    }
    assert!(!manager.has_gap_locks(IndexId(3), &manager.new_owner()));
    assert_eq!(manager.snapshot(1), Default::default());
}

#[test]
fn a_gap_given_back_lets_insertions_in_and_keeps_the_record() {
    let manager = LockManager::new(4);
    let [reader, writer] = [0; 2].map(|_| manager.new_owner());
    assert!(ask(&manager, &reader, b"k", LockMode::ExclusiveNextKey).is_none());
    let wait = ask(&manager, &writer, b"k", InsertIntention).expect("it waits");
    manager.release_gap(&reader, key(b"k"));
    wake(&manager, &writer, wait).expect("the gap is free");
    let asked = manager.lock(&writer, key(b"k"), Shared, WaitPolicy::NoWait, &Cancel::new());
    assert_eq!(asked, Err(LockError::WouldBlock));
    // The intention that was granted does not serve a second time.
    assert!(ask(&manager, &reader, b"k", ExclusiveGap).is_none());
    assert!(ask(&manager, &writer, b"k", InsertIntention).is_some());
}
