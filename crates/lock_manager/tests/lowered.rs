//! Exclusive metadata locks that are lowered for a while, and raised again: DDL that works beside readers and writers.

use lock_manager::metadata::{ExclusiveWait, Lowered, Share, TableLock};
use lock_manager::shares::SharedTables;
use lock_manager::user_locks::UserLocks;
use lock_manager::{Asker, Cancel, LockError, LockManager, WaitPolicy};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const FOREVER: WaitPolicy = WaitPolicy::Wait(None);

fn now() -> ExclusiveWait {
    ExclusiveWait::until(Some(Instant::now()))
}

#[test]
fn a_lowered_lock_lets_shares_pass_and_nobody_have_the_table() {
    for (to, writers_pass) in [(Lowered::BesideWriters, true), (Lowered::BesideReaders, false)] {
        let (table, cancel) = (Arc::new(TableLock::new()), Cancel::new());
        let share = |share| table.share(share, 0, WaitPolicy::NoWait, &cancel).map(drop);
        let ddl = table.exclusive(now(), &cancel).expect("free");
        let lowered = ddl.lower(to, &cancel);
        assert_eq!(share(Share::Read), Ok(()), "{to:?}");
        assert_eq!(share(Share::Definition), Ok(()), "{to:?}");
        assert_eq!(share(Share::Write).is_ok(), writers_pass, "{to:?}");
        // Whoever wants more than a share waits for its end.
        assert_eq!(table.exclusive(now(), &cancel).map(drop), Err(LockError::Timeout));
        assert_eq!(table.rows(now(), &cancel).map(drop), Err(LockError::Timeout));
        assert_eq!(table.read_only(now(), &cancel).map(drop), Err(LockError::Timeout));
        lowered.raise(now(), &cancel).expect("nobody is there");
        assert_eq!(share(Share::Definition), Err(LockError::WouldBlock));
        drop(ddl);
        assert_eq!(share(Share::Write), Ok(()));
    }
}

#[test]
fn raising_waits_for_those_who_came_and_when_it_fails_they_go_on() {
    let (table, cancel) = (Arc::new(TableLock::new()), Cancel::new());
    let ddl = table.exclusive(now(), &cancel).expect("free");
    let writer = {
        let lowered = ddl.lower(Lowered::BesideWriters, &cancel);
        let writer = table.share(Share::Write, 0, WaitPolicy::NoWait, &cancel).expect("lowered");
        let soon = ExclusiveWait::until(Some(Instant::now() + Duration::from_millis(20)));
        assert_eq!(lowered.raise(soon, &cancel), Err(LockError::Timeout));
        writer
    };
    drop(table.share(Share::Write, 1, WaitPolicy::NoWait, &cancel).expect("the gate is open"));
    drop(ddl);
    drop(writer);
    let [is_lowered, has_writer, is_raised, release] = [const { AtomicBool::new(false) }; 4];
    let until = |flag: &AtomicBool| {
        while !flag.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    };
    std::thread::scope(|scope| {
        let raised = scope.spawn(|| {
            let ddl = table.exclusive(now(), &Cancel::new()).expect("handed on");
            let lowered = ddl.lower(Lowered::BesideWriters, &Cancel::new());
            is_lowered.store(true, Ordering::Release);
            until(&has_writer);
            let raised = lowered.raise(ExclusiveWait::until(None), &Cancel::new());
            is_raised.store(true, Ordering::Release);
            until(&release);
            raised
        });
        until(&is_lowered);
        let writer = table.share(Share::Write, 0, WaitPolicy::NoWait, &cancel).expect("lowered");
        // Whoever is behind it in the queue is next.
        let next = scope.spawn(|| table.exclusive(ExclusiveWait::until(None), &Cancel::new()).map(drop));
        has_writer.store(true, Ordering::Release);
        while table.share(Share::Read, 2, WaitPolicy::NoWait, &cancel).is_ok() {
            std::thread::yield_now();
        }
        drop(writer);
        until(&is_raised);
        assert!(table.is_exclusive() && !next.is_finished(), "it must wait for the one that was lowered");
        release.store(true, Ordering::Release);
        assert_eq!(raised.join().expect("no panic"), Ok(()));
        assert_eq!(next.join().expect("no panic"), Ok(()));
    });
}

#[test]
fn a_circle_through_a_lowered_lock_is_found() {
    let (manager, names) = (LockManager::new(1), UserLocks::new());
    let table = Arc::new(TableLock::new());
    let (ddl_owner, other_owner) = (manager.new_owner(), manager.new_owner());
    ddl_owner.set_client(1);
    other_owner.set_client(2);
    let (ddl_cancel, other_cancel) = (Cancel::new(), Cancel::new());
    let asker = |owner, cancel| Asker::new(&manager, owner, cancel);
    let forever = ExclusiveWait::until(None);
    let ddl = table.exclusive(forever, asker(&ddl_owner, &ddl_cancel)).expect("free");
    names.acquire(1, "a", FOREVER, asker(&ddl_owner, &ddl_cancel)).expect("free");
    let lowered = ddl.lower(Lowered::BesideWriters, asker(&ddl_owner, &ddl_cancel));
    let results = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut shares = SharedTables::new(&other_owner);
            assert!(shares.share_now(&table, Share::Write, 0));
            let named = names.acquire(2, "a", FOREVER, asker(&other_owner, &other_cancel));
            shares.release();
            named
        });
        while table.shared_count() == 0 {
            std::thread::yield_now();
        }
        let raised = lowered.raise(forever, asker(&ddl_owner, &ddl_cancel));
        names.release(1, "a");
        (raised, other.join().expect("no panic"))
    });
    // One of the two is the victim, and the other goes on.
    match results {
        (Err(LockError::Deadlock), Ok(())) => {}
        (Ok(()), Err(LockError::Deadlock)) => {}
        other => panic!("{other:?}"),
    }
}
