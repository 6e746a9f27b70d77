//! Locks go with the commit record, readers see the commit when it is durable, replies wait for what they tell of.

use super::*;
use std::collections::HashMap;
use sync::atomic::{AtomicI64, Ordering};

impl Fixture {
    fn k(&self, id: i64) -> Option<i64> {
        let mut session = self.session();
        let row = self.get(&mut session, id);
        session.commit().unwrap();
        row.map(|(k, _)| k)
    }

    /// One row with k = 1, durable.
    fn with_row() -> Fixture {
        let f = Fixture::new();
        let mut s = f.session();
        f.insert(&mut s, 1, 1, "old", Some(1)).unwrap();
        s.commit().unwrap();
        f
    }
}

/// The commit record is in the log, nothing is durable.
fn append(session: &mut Session) -> base::Lsn {
    session.commit_to_log().unwrap().expect("it waits for the log")
}

fn finish(session: &mut Session, lsn: base::Lsn) {
    assert!(!session.in_transaction(), "for its client it is over");
    session.finish_commit().unwrap();
    assert!(session.engine.wal.durable() >= lsn);
}

#[test]
fn a_session_that_goes_between_the_halves_of_its_commit_has_committed() {
    let f = Fixture::with_row();
    let mut first = f.session();
    f.update(&mut first, 1, 2, "first").unwrap();
    append(&mut first);
    drop(first);
    assert_eq!(f.k(1), Some(2));
    // What changes nothing, or need not be durable, has no second half.
    let mut second = f.session();
    f.get(&mut second, 1);
    assert_eq!(second.commit_to_log().unwrap(), None);
    second.begin(Isolation::RepeatableRead, false);
    f.update(&mut second, 1, 3, "second").unwrap();
    second.set_flush_policy(wal::FlushPolicy::Write);
    assert_eq!(second.commit_to_log().unwrap(), None);
    assert!(!second.in_transaction());
    second.finish_commit().unwrap();
    assert_eq!(f.k(1), Some(3));
    f.check_purged(1);
}

#[test]
fn rows_are_free_at_the_record_and_seen_when_durable() {
    let f = Fixture::with_row();
    let (mut first, mut second) = (f.session(), f.session());
    f.update(&mut first, 1, 2, "first").unwrap();
    let first_lsn = append(&mut first);
    assert!(f.engine.wal.durable() < first_lsn);
    f.update(&mut second, 1, 3, "second").unwrap();
    assert!(second.dependencies().is_open(), "it has built on what is not durable");
    let own = second.get(&f.table, &f.key(1), Read::Share(Wait::NoWait), short).unwrap();
    assert_eq!(own, Some((3, "second".into())));
    assert_eq!(f.k(1), Some(1));
    let second_lsn = append(&mut second);
    assert_eq!(f.k(1), Some(1));
    finish(&mut second, second_lsn);
    assert_eq!(f.k(1), Some(3));
    assert!(f.engine.wal.durable() >= first_lsn);
    finish(&mut first, first_lsn);
    assert_eq!(f.engine.history_length(), 2);
    f.check_purged(1);
}

/// Found by histories at READ COMMITTED (a fractured read): the rows that the reader has changed showed the other's changes below its own, the others did not.
#[test]
fn a_snapshot_shows_all_of_what_its_transaction_has_built_on() {
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead] {
        let f = Fixture::with_row();
        let mut s = f.session();
        f.insert(&mut s, 2, 1, "old", Some(2)).unwrap();
        s.commit().unwrap();
        let (mut writer, mut reader) = (f.session(), f.engine.connect());
        reader.begin(isolation, false);
        f.update(&mut writer, 1, 2, "new").unwrap();
        f.update(&mut writer, 2, 2, "new").unwrap();
        let lsn = append(&mut writer);
        f.update(&mut reader, 1, 3, "upon it").unwrap();
        assert!(f.engine.wal.durable() < lsn);
        assert_eq!(f.get(&mut reader, 2), Some((2, "new".into())), "{isolation:?}");
        assert!(f.engine.wal.durable() >= lsn);
        reader.commit().unwrap();
        finish(&mut writer, lsn);
    }
}

/// A lock is taken for what is committed under it, which need not be the locked row: Optuna locks its study, counts the trials and numbers the next one by that.
#[test]
fn a_snapshot_shows_what_was_committed_under_its_locks() {
    for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead] {
        for (waits, barrier, changes) in [(false, false, false), (true, false, false), (false, true, false), (false, false, true)] {
            let f = &Fixture::with_row();
            let mut first = f.engine.connect();
            first.begin(isolation, false);
            let locked = |session: &mut Session| session.get(&f.table, &f.key(1), Read::Exclusive(Wait::Block), short).unwrap();
            locked(&mut first);
            f.insert(&mut first, 2, 1, "under the lock", Some(2)).unwrap();
            let lock = move || {
                let mut second = f.engine.connect();
                second.set_lock_wait_timeout(Duration::from_secs(60));
                second.begin(isolation, false);
                if changes {
                    f.update(&mut second, 1, 2, "changed").unwrap();
                } else {
                    locked(&mut second);
                }
                second
            };
            std::thread::scope(|scope| {
                let waiter = waits.then(|| scope.spawn(lock));
                while waits && f.engine.locks.stats().waiting == 0 {
                    std::thread::yield_now();
                }
                let lsn = append(&mut first);
                let mut second = waiter.map_or_else(lock, |waiter| waiter.join().unwrap());
                if barrier {
                    second.commit().unwrap();
                    second.begin(isolation, false);
                }
                assert!(f.engine.wal.durable() < lsn, "the lock itself waits for nothing");
                assert!(f.get(&mut second, 2).is_some(), "{isolation:?}, waits {waits}, barrier {barrier}, changes {changes}");
                assert!(f.engine.wal.durable() >= lsn);
                second.commit().unwrap();
                finish(&mut first, lsn);
            });
        }
    }
}

/// A gap is locked for what must not come into it, and an insertion that finds it free comes after: it may not have met anything else of that transaction.
#[test]
fn a_snapshot_shows_what_was_committed_by_who_had_the_gap() {
    for runs in [false, true] {
        let f = &Fixture::with_row();
        let mut first = f.engine.connect();
        first.begin(Isolation::RepeatableRead, false);
        assert!(first.get(&f.table, &f.key(50), Read::Exclusive(Wait::Block), short).unwrap().is_none(), "the gap is locked");
        f.update(&mut first, 1, 2, "under the lock").unwrap();
        let lsn = append(&mut first);
        let mut second = f.engine.connect();
        second.begin(Isolation::ReadCommitted, false);
        if runs {
            let rows: Vec<_> = (50..60).map(|id| (id, (1, "into the gap".to_string(), Some(id)))).collect();
            assert!(f.insert_together(&mut second, &rows));
        } else {
            f.insert(&mut second, 50, 1, "into the gap", Some(50)).unwrap();
        }
        assert!(f.engine.wal.durable() < lsn, "the insertion itself waits for nothing");
        assert_eq!(f.get(&mut second, 1).map(|(k, _)| k), Some(2), "in runs: {runs}");
        assert!(f.engine.wal.durable() >= lsn);
        second.commit().unwrap();
        finish(&mut first, lsn);
    }
}

#[test]
fn a_waiter_gets_the_row_before_its_holder_is_durable() {
    let f = &Fixture::with_row();
    let mut first = f.session();
    f.update(&mut first, 1, 2, "first").unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            let mut second = f.session();
            second.set_lock_wait_timeout(Duration::from_secs(60));
            f.update(&mut second, 1, 3, "second").unwrap();
            second
        });
        while f.engine.locks.stats().waiting == 0 {
            std::thread::yield_now();
        }
        let lsn = append(&mut first);
        let mut second = waiter.join().unwrap();
        assert!(f.engine.wal.durable() < lsn);
        second.commit().unwrap();
        finish(&mut first, lsn);
    });
    assert_eq!(f.k(1), Some(3));
}

#[test]
fn what_a_locking_read_has_seen_is_durable_before_it_is_told() {
    let f = Fixture::with_row();
    let mut writer = f.session();
    f.update(&mut writer, 1, 2, "new").unwrap();
    let lsn = append(&mut writer);
    let mut reader = f.session();
    let seen = reader.get(&f.table, &f.key(1), Read::Share(Wait::NoWait), short).unwrap();
    assert_eq!(seen, Some((2, "new".into())));
    assert!(f.engine.wal.durable() < lsn);
    reader.settle().unwrap();
    assert!(f.engine.wal.durable() >= lsn && !reader.dependencies().is_open());
    reader.commit().unwrap();
    assert_eq!(f.k(1), Some(2), "durable is finished");
    finish(&mut writer, lsn);
    // By a commit of one that has only read, too.
    f.update(&mut { f.session() }, 7, 7, "").unwrap();
    let mut writer = f.session();
    f.delete(&mut writer, 1).unwrap();
    let lsn = append(&mut writer);
    let mut reader = f.session();
    assert!(reader.get(&f.table, &f.key(1), Read::Exclusive(Wait::NoWait), short).unwrap().is_none());
    reader.commit().unwrap();
    assert!(f.engine.wal.durable() >= lsn);
    finish(&mut writer, lsn);
}

#[test]
fn duplicates_and_places_of_deleted_rows_are_noted() {
    let f = Fixture::with_row();
    let mut writer = f.session();
    f.insert(&mut writer, 2, 2, "", Some(5)).unwrap();
    f.delete(&mut writer, 1).unwrap();
    let lsn = append(&mut writer);
    let mut other = f.session();
    assert_eq!(f.insert(&mut other, 3, 3, "", Some(5)), Err(Error::DuplicateKey { index_no: 2 }));
    assert!(other.dependencies().is_open());
    other.settle().unwrap();
    assert!(f.engine.wal.durable() >= lsn);
    other.rollback().unwrap();
    finish(&mut writer, lsn);

    let mut writer = f.session();
    f.delete(&mut writer, 2).unwrap();
    let lsn = append(&mut writer);
    let mut other = f.session();
    f.insert(&mut other, 2, 20, "", Some(5)).unwrap();
    assert!(other.dependencies().is_open());
    assert_eq!(f.k(2), Some(2));
    other.commit().unwrap();
    assert_eq!(f.k(2), Some(20));
    finish(&mut writer, lsn);
    f.check_purged(1);
}

#[test]
fn what_was_built_on_an_undurable_commit_is_taken_back_to_it() {
    let f = Fixture::with_row();
    let (mut first, mut second) = (f.session(), f.session());
    f.update(&mut first, 1, 2, "first").unwrap();
    let lsn = append(&mut first);
    second.statement_start();
    f.update(&mut second, 1, 3, "second").unwrap();
    second.statement_rollback().unwrap();
    assert_eq!(f.k(1), Some(1), "others see what is durable; a snapshot of its own would wait for the first");
    second.statement_start();
    f.update(&mut second, 1, 4, "again").unwrap();
    f.insert(&mut second, 2, 2, "", None).unwrap();
    second.rollback().unwrap();
    assert_eq!(f.k(1), Some(1));
    // Purge leaves alone what is not finished.
    f.engine.purge_all();
    assert_eq!(f.k(1), Some(1));
    finish(&mut first, lsn);
    assert_eq!(f.k(1), Some(2));
    f.check_purged(1);
}

#[test]
fn a_commit_that_need_not_be_durable_waits_for_one_that_must_be() {
    let f = Fixture::with_row();
    let (mut first, mut second) = (f.session(), f.session());
    f.update(&mut first, 1, 2, "first").unwrap();
    let lsn = append(&mut first);
    second.set_flush_policy(FlushPolicy::Lazy);
    f.update(&mut second, 1, 3, "second").unwrap();
    second.commit().unwrap();
    assert!(f.engine.wal.durable() >= lsn);
    assert_eq!(f.k(1), Some(3));
    finish(&mut first, lsn);
    // Without such a dependency it waits for nothing.
    let durable = f.engine.wal.durable();
    let mut lazy = f.session();
    lazy.set_flush_policy(FlushPolicy::Lazy);
    f.update(&mut lazy, 1, 4, "lazy").unwrap();
    lazy.commit().unwrap();
    assert_eq!(f.engine.wal.durable(), durable);
    assert_eq!(f.k(1), Some(4));
}

#[test]
fn a_branch_is_prepared_once_what_it_has_built_on_is_durable() {
    let f = Fixture::with_row();
    let (mut first, mut branch) = (f.session(), f.session());
    let xid = Xid { format_id: 1, gtrid: (*b"global").into(), bqual: (*b"branch").into() };
    f.update(&mut first, 1, 2, "first").unwrap();
    let lsn = append(&mut first);
    branch.set_flush_policy(FlushPolicy::Lazy);
    assert!(branch.claim_xid(&xid));
    f.update(&mut branch, 1, 3, "branch").unwrap();
    let tables = lock_manager::shares::SharedTables::new(branch.lock_owner());
    branch.prepare(&xid, tables).unwrap();
    // Whoever commits it does not know of that.
    assert!(f.engine.wal.durable() >= lsn);
    finish(&mut first, lsn);
    let mut other = f.session();
    assert_eq!(f.update(&mut other, 1, 4, "other"), Err(Error::LockWaitTimeout), "prepared is not released");
    other.rollback().unwrap();
    assert_eq!(f.k(1), Some(2));
    let mut ender = f.engine.connect();
    assert_eq!(ender.commit_prepared(&xid), Ok(true));
    assert_eq!(f.k(1), Some(3));
}

#[test]
fn a_checkpoint_does_not_wait_for_a_commit_and_takes_it_for_one() {
    for inserts_only in [false, true] {
        let f = Fixture::with_row();
        let mut session = f.session();
        f.insert(&mut session, 2, 2, "new", Some(2)).unwrap();
        if !inserts_only {
            f.update(&mut session, 1, 2, "new").unwrap();
        }
        f.engine.pool.flush_all().unwrap();
        append(&mut session);
        // Recovery begins behind the commit record, which only the checkpoint tells of.
        f.engine.checkpoint().unwrap();
        std::mem::forget(session);
        let f = f.crash();
        assert_eq!((f.k(1), f.k(2)), (Some(if inserts_only { 1 } else { 2 }), Some(2)));
        f.check_purged(2);
    }
}

#[test]
fn nothing_is_told_once_the_log_has_failed() {
    let f = Fixture::with_row();
    let (mut first, mut reader) = (f.session(), f.session());
    f.update(&mut first, 1, 2, "first").unwrap();
    append(&mut first);
    f.disk.fail_sync(1);
    let seen = reader.get(&f.table, &f.key(1), Read::Share(Wait::NoWait), short).unwrap();
    assert_eq!(seen, Some((2, "first".into())));
    assert_eq!(reader.settle(), Err(Error::LogFailed));
    assert_eq!(reader.commit(), Err(Error::LogFailed));
    assert_eq!(first.finish_commit(), Err(Error::LogFailed));
    assert_eq!(f.engine.roll_back_abandoned(), 0, "it may be durable: recovery decides");
    let mut snapshot = f.session();
    assert_eq!(f.get(&mut snapshot, 1), Some((1, "old".into())));
}

#[test]
fn without_the_mechanism_locks_stay_until_durable() {
    let Fixture { disk, engine, spec, table } = Fixture::with_row();
    engine.close(true).unwrap();
    drop((engine, table));
    let config = EngineConfig { mechanisms: Mechanisms { early_lock_release: false, ..Mechanisms::default() }, ..EngineConfig::small() };
    let engine = Engine::open(disk.clone(), Arc::new(SimClock::new(0)), config).unwrap();
    let f = Fixture::with(disk, engine, spec);
    let (mut first, mut second) = (f.session(), f.session());
    f.update(&mut first, 1, 2, "first").unwrap();
    let lsn = first.append_commit().unwrap();
    second.set_lock_wait_timeout(Duration::from_millis(1));
    assert_eq!(f.update(&mut second, 1, 3, "second"), Err(Error::LockWaitTimeout));
    f.engine.wal.wait_durable(lsn).unwrap();
    first.committed(Ok(())).unwrap();
    f.update(&mut second, 1, 3, "second").unwrap();
    second.commit().unwrap();
    assert_eq!(f.k(1), Some(3));
}

#[test]
fn a_crash_leaves_a_prefix_of_what_was_built_one_upon_the_other() {
    let mut survivors = HashMap::new();
    for seed in 0..40 {
        let f = Fixture::with_row();
        let mut random = Random::new(seed);
        let mut sessions = Vec::new();
        for k in 2..6 {
            let mut session = f.session();
            f.update(&mut session, 1, k, "built").unwrap();
            append(&mut session);
            if random.below(4) == 0 {
                // In the file, not synced: the crash may keep it or not.
                f.engine.wal.wait_written(f.engine.wal.lsn_head()).unwrap();
            }
            sessions.push(session);
        }
        // As the process would end: nothing of the sessions happens any more.
        sessions.into_iter().for_each(std::mem::forget);
        let f = f.crash();
        let k = f.k(1).unwrap();
        assert!((1..6).contains(&k), "k = {k}");
        *survivors.entry(k).or_insert(0) += 1;
        f.check();
    }
    assert!(survivors.len() > 1, "crashes of one kind only: {survivors:?}");
}

/// Adds one to k of a row; returns what it has become.
fn increment(f: &Fixture, session: &mut Session, id: i64) -> Result<i64> {
    let mut became = 0;
    session.modify(&f.table, &f.key(id), |row, new| {
        became = int(row, 1) + 1;
        let values = [Value::Int(id), Value::Int(became), row.value(2).unwrap(), row.value(3).unwrap()];
        row.layout().encode(&values, new).unwrap();
        Modify::Replace
    })?;
    Ok(became)
}

/// Threads increment one row and read it in every way while the disk dies under them. What anybody was told is there after the restart.
fn told_survives(seed: u64, lazy_ones: bool) {
    const WRITERS: u64 = 4;
    let f = &Fixture::with_row();
    let mut random = Random::new(seed);
    f.engine.checkpoint().unwrap();
    let (told, tried) = (&AtomicI64::new(1), &AtomicI64::new(0));
    f.disk.crash_at(5 + random.below(120));
    std::thread::scope(|scope| {
        for thread in 0..WRITERS {
            let mut random = Random::new(seed ^ (thread + 1) << 20);
            scope.spawn(move || {
                let mut s = f.engine.connect();
                s.set_lock_wait_timeout(Duration::from_millis(100));
                let end = loop {
                    s.begin(Isolation::RepeatableRead, false);
                    let lazy = lazy_ones && random.below(3) == 0;
                    s.set_flush_policy(if lazy { FlushPolicy::Lazy } else { FlushPolicy::Durable });
                    let outcome = increment(f, &mut s, 1).and_then(|k| {
                        tried.fetch_add(1, Ordering::SeqCst);
                        match random.below(8) {
                            0 => return s.rollback(),
                            // A result set inside the transaction shows what is below its own change.
                            1 if !lazy_ones => s.settle().map(|()| told.fetch_max(k - 1, Ordering::SeqCst)).map(|_| ())?,
                            _ => {}
                        }
                        s.commit()?;
                        // A lazy commit was promised nothing, and one that builds on it brings it along.
                        if !lazy {
                            told.fetch_max(k, Ordering::SeqCst);
                        }
                        Ok(())
                    });
                    match outcome {
                        Ok(()) => {}
                        // Whoever could not take back its change after the crash keeps the row.
                        Err(Error::LockWaitTimeout) if !f.disk.is_down() => s.rollback().unwrap(),
                        Err(error) => break error,
                    }
                };
                assert!(matches!(end, Error::LogFailed | Error::Io(_) | Error::LockWaitTimeout), "{end}");
                // The process is dead.
                std::mem::forget(s);
            });
        }
        for reader in 0..2u64 {
            let mut random = Random::new(seed ^ (reader + 9) << 20);
            scope.spawn(move || {
                let mut s = f.engine.connect();
                s.set_lock_wait_timeout(Duration::from_millis(100));
                while !f.disk.is_down() && !f.engine.wal.has_failed() {
                    s.begin(Isolation::ReadCommitted, false);
                    let read = [Read::Share(Wait::Block), Read::Exclusive(Wait::Block), Read::Snapshot][random.below(3) as usize];
                    s.statement_start();
                    let seen = s.get(&f.table, &f.key(1), read, |row| int(row, 1));
                    if let Ok(Some(k)) = seen
                        && s.settle().is_ok()
                        && !lazy_ones
                    {
                        told.fetch_max(k, Ordering::SeqCst);
                    }
                    if s.commit().is_err() {
                        break;
                    }
                }
                std::mem::forget(s);
            });
        }
    });
    let (told, tried) = (told.load(Ordering::SeqCst), tried.load(Ordering::SeqCst));
    let Fixture { disk, spec, .. } = f;
    disk.crash();
    let f = Fixture::with(disk.clone(), open(disk), spec.clone());
    f.engine.roll_back_losers(&sync::atomic::AtomicBool::new(false));
    let k = f.k(1).unwrap();
    assert!(k >= told && k <= tried + 1, "seed {seed}: {told} was told, {tried} were tried, {k} is there");
    f.check();
}

#[test]
fn what_anybody_was_told_survives_a_crash() {
    let seed = seed();
    for round in 0..16 {
        told_survives(seed ^ round << 40, round % 4 == 3);
    }
}

/// What leaves nothing behind: rows that are not there, are what they were to become, or whose changes are taken back.
fn come_to_nothing(f: &Fixture, s: &mut Session, case: usize) {
    match case {
        0 => assert_eq!(f.delete(s, 99), Ok(Modified::NotFound)),
        1 => assert_eq!(s.modify(&f.table, &f.key(1), |_, _| Modify::Keep), Ok(Modified::Kept)),
        2 => assert!(matches!(f.insert(s, 1, 5, "there already", None), Err(Error::DuplicateKey { .. }))),
        3 => assert!(matches!(f.insert(s, 7, 5, "its unique key is there", Some(1)), Err(Error::DuplicateKey { .. }))),
        _ => {
            f.insert(s, 8, 8, "taken back", Some(8)).unwrap();
            f.update(s, 1, 8, "taken back").unwrap();
            s.undo_to(base::UndoPtr::NONE).unwrap();
        }
    }
}

#[test]
fn a_commit_of_nothing_waits_for_no_log() {
    for policy in [FlushPolicy::Durable, FlushPolicy::Write] {
        for case in 0..5 {
            for in_halves in [false, true] {
                let f = Fixture::with_row();
                let mut s = f.session();
                s.set_flush_policy(policy);
                come_to_nothing(&f, &mut s, case);
                if case % 2 == 0 {
                    f.engine.checkpoint().unwrap();
                }
                let (syncs, durable) = (f.engine.wal.stats().syncs, f.engine.wal.durable());
                if in_halves {
                    assert_eq!(s.commit_to_log(), Ok(None));
                } else {
                    s.commit().unwrap();
                }
                assert!(!s.in_transaction());
                assert_eq!((f.engine.wal.stats().syncs, f.engine.wal.durable()), (syncs, durable), "case {case}");
                // Its locks are gone, and it is forgotten.
                let mut other = f.session();
                f.update(&mut other, 1, 3, "other").unwrap();
                f.insert(&mut other, 7, 7, "other", Some(7)).unwrap();
                other.commit().unwrap();
                drop((s, other));
                f.check_purged(2);
                let f = f.crash();
                assert_eq!((f.k(1), f.k(7), f.k(8)), (Some(3), Some(7), None));
                f.check_purged(2);
            }
        }
    }
}

#[test]
fn a_commit_of_nothing_waits_for_what_it_has_seen() {
    let f = Fixture::with_row();
    let (mut first, mut second) = (f.session(), f.session());
    f.update(&mut first, 1, 2, "first").unwrap();
    let lsn = append(&mut first);
    // That there is a row with this key is known from a row that may still be lost.
    come_to_nothing(&f, &mut second, 2);
    assert!(second.dependencies().is_open());
    second.commit().unwrap();
    assert!(f.engine.wal.durable() >= lsn);
    finish(&mut first, lsn);
}
