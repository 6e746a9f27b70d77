//! What locking reads lock, show and give back.

use super::*;
use crate::locks::row_lock::Obstacle;
use lock_manager::LockMode;

/// Three rows, and sessions at READ COMMITTED.
fn three() -> (Fixture, Session, Session) {
    let f = Fixture::new();
    let mut s = f.session();
    for id in 1..=3 {
        f.insert(&mut s, id, id * 10, "old", None).unwrap();
    }
    s.commit().unwrap();
    let [a, b] = [(), ()].map(|()| {
        let mut session = f.engine.connect();
        session.set_lock_wait_timeout(Duration::ZERO);
        session.begin(Isolation::ReadCommitted, false);
        session
    });
    (f, a, b)
}

/// Ids, texts and locks of a batch.
fn shown(f: &Fixture, batch: &RowBatch) -> Vec<(i64, String, RowLock)> {
    let row = |no| {
        let row = batch.row(&f.table, no).unwrap();
        (int(row, 0), short(row).1, batch.lock(no))
    };
    (0..batch.len()).map(row).collect()
}

#[test]
fn locking_scan_shows_what_it_has_before_it_waits() {
    for index_no in [0, 1] {
        for direction in [Direction::Forward, Direction::Backward] {
            let (f, mut a, mut b) = three();
            f.update(&mut a, 2, 20, "new").unwrap();
            let first = if direction == Direction::Forward { 1 } else { 3 };
            let mut batch = RowBatch::default();
            let mut scan = b.scan(&f.table, index_no, KeyRange::all(), direction, Read::Exclusive(Wait::Block)).unwrap();
            assert_eq!(scan.next_batch(&mut batch, 10), Ok(1));
            assert_eq!(shown(&f, &batch), [(first, "old".into(), RowLock::New)]);
            assert_eq!(scan.next_batch(&mut batch, 10), Err(Error::LockWaitTimeout));
            a.commit().unwrap();
            assert_eq!(scan.next_batch(&mut batch, 10), Ok(2));
            assert_eq!(shown(&f, &batch), [(2, "new".into(), RowLock::New), (4 - first, "old".into(), RowLock::New)]);
            assert_eq!(scan.next_batch(&mut batch, 10), Ok(0));
        }
    }
}

#[test]
fn locking_scan_locks_no_row_behind_the_last_one_shown() {
    for index_no in [0, 1] {
        let (f, mut a, mut b) = three();
        let mut batch = RowBatch::default();
        let mut scan = a.scan(&f.table, index_no, KeyRange::all(), Direction::Forward, Read::Exclusive(Wait::Block)).unwrap();
        assert_eq!(scan.next_batch(&mut batch, 1), Ok(1));
        f.update(&mut b, 2, 20, "free").unwrap();
        assert_eq!(f.update(&mut b, 1, 10, "locked"), Err(Error::LockWaitTimeout));
    }
}

#[test]
fn rows_given_back_are_free() {
    let (f, mut a, mut b) = three();
    let (_, lock) = a.get_locking(&f.table, &f.key(1), Read::Exclusive(Wait::Block), short).unwrap().unwrap();
    assert_eq!(lock, RowLock::New);
    assert_eq!(f.update(&mut b, 1, 10, "locked"), Err(Error::LockWaitTimeout));
    a.give_back(&f.table, &f.key(1), lock);
    f.update(&mut b, 1, 10, "free").unwrap();
    // What it had before stays.
    let read = |a: &mut Session| a.get_locking(&f.table, &f.key(2), Read::Exclusive(Wait::Block), short).unwrap().unwrap().1;
    assert_eq!((read(&mut a), read(&mut a)), (RowLock::New, RowLock::Held));
    a.give_back(&f.table, &f.key(2), RowLock::Held);
    assert_eq!(f.update(&mut b, 2, 10, "locked"), Err(Error::LockWaitTimeout));
}

#[test]
fn rows_of_others_are_passed_by_as_they_were_committed() {
    let (f, mut a, mut b) = three();
    f.update(&mut a, 1, 10, "new").unwrap();
    f.update(&mut a, 1, 11, "newer").unwrap();
    f.delete(&mut a, 2).unwrap();
    f.insert(&mut a, 4, 40, "inserted", None).unwrap();
    a.get_locking(&f.table, &f.key(3), Read::Share(Wait::Block), short).unwrap();
    let mut batch = RowBatch::default();
    let mut scan = b.scan(&f.table, 0, KeyRange::all(), Direction::Forward, Read::Exclusive(Wait::IfMatches)).unwrap();
    assert_eq!(scan.next_batch(&mut batch, 10), Ok(3));
    assert_eq!(shown(&f, &batch), [1, 2, 3].map(|id| (id, "old".into(), RowLock::Unlocked)));
    a.commit().unwrap();
    let mut scan = b.scan(&f.table, 0, KeyRange::all(), Direction::Forward, Read::Exclusive(Wait::IfMatches)).unwrap();
    assert_eq!(scan.next_batch(&mut batch, 10), Ok(3));
    let rows = [(1, "newer"), (3, "old"), (4, "inserted")].map(|(id, text)| (id, text.to_owned(), RowLock::New));
    assert_eq!(shown(&f, &batch), rows);
}

#[test]
fn what_a_writer_passed_through_is_not_shown_when_it_finishes_during_the_look() {
    let (f, mut a, _) = three();
    f.update(&mut a, 1, 10, "new").unwrap();
    f.update(&mut a, 1, 11, "newer").unwrap();
    f.delete(&mut a, 2).unwrap();
    f.insert(&mut a, 2, 21, "again", None).unwrap();
    for id in [1, 2] {
        let mut buffer = Vec::new();
        let seen = f.table.primary().tree.get(&f.key(id), |value| {
            let version = crate::version::last_committed(&f.engine.undo, |_| false, value.unwrap(), &mut buffer)?;
            f.engine.with_version_row(&f.table, version.expect("the row was there before"), short)
        });
        assert_eq!(seen.unwrap().unwrap().map(|row| row.1), Some("old".to_owned()), "row {id}");
    }
}

#[test]
fn rows_taken_back_to_a_savepoint_stay_locked() {
    let (f, mut a, mut b) = three();
    f.update(&mut a, 1, 10, "before").unwrap();
    let savepoint = a.savepoint();
    f.update(&mut a, 2, 20, "new").unwrap();
    f.delete(&mut a, 3).unwrap();
    a.rollback_to(savepoint).unwrap();
    for id in 1..=3 {
        assert_eq!(f.update(&mut b, id, 10, "locked"), Err(Error::LockWaitTimeout), "row {id}");
    }
    a.rollback().unwrap();
    for id in 1..=3 {
        f.update(&mut b, id, 10, "free").unwrap();
    }
    b.commit().unwrap();
    f.check();
}

/// One look at a row for locking it, which finds it written by a running transaction: the page is let go before that is waited for.
fn look(f: &Fixture, session: &mut Session, id: i64) -> Obstacle {
    let seen = session.try_get_locked(&f.table, &f.key(id), LockMode::Exclusive, &mut Some(|row: RowRef<'_>, _| short(row)));
    match seen.unwrap() {
        Err(obstacle) => obstacle,
        Ok(_) => panic!("the row is free"),
    }
}

/// What comes of such a look: the lock is asked for.
fn ask(f: &Fixture, session: &mut Session, id: i64, seen: Obstacle) -> Result<bool> {
    session.wait_for_row(f.table.primary().id, &f.key(id), LockMode::Exclusive, seen, Wait::NoWait)
}

#[test]
fn a_row_that_is_taken_back_while_others_ask_for_it_is_locked_by_one_of_them() {
    for third_asks_first in [false, true] {
        let (f, mut first, mut reader) = three();
        let [mut writer, mut third] = [(), ()].map(|()| f.engine.connect());
        for session in [&mut writer, &mut third] {
            session.set_lock_wait_timeout(Duration::ZERO);
            session.begin(Isolation::ReadUncommitted, false);
        }
        f.update(&mut first, 1, 10, "first").unwrap();
        let by_first = look(&f, &mut reader, 1);
        first.commit().unwrap();
        // `reader` has not asked yet: the row is free, and `writer`'s next, where `third` finds it.
        let savepoint = writer.savepoint();
        f.update(&mut writer, 1, 10, "taken back").unwrap();
        let by_writer = look(&f, &mut third, 1);
        // Nobody has a lock on the key, so this one is granted; the row would tell that it came too late, but for what follows.
        assert_eq!(ask(&f, &mut reader, 1, by_first), Ok(true));
        let mut by_writer = Some(by_writer);
        if third_asks_first {
            assert_eq!(ask(&f, &mut third, 1, by_writer.take().unwrap()), Err(Error::LockNotAvailable));
        }
        writer.rollback_to(savepoint).unwrap();
        let read = reader.get(&f.table, &f.key(1), Read::Exclusive(Wait::Block), short);
        assert_eq!(read, Ok(Some((10, "first".to_owned()))));
        if let Some(by_writer) = by_writer {
            assert_eq!(ask(&f, &mut third, 1, by_writer), Err(Error::LockNotAvailable));
        }
        // What is written now would be lost: `reader` is about to write what it has made of what it read.
        assert_eq!(f.update(&mut writer, 1, 10, "lost"), Err(Error::LockWaitTimeout), "third asks first: {third_asks_first}");
        reader.update(&f.table, &f.key(1), &mut f.row(1, 11, "first, reader", None)).unwrap();
        reader.commit().unwrap();
        f.update(&mut writer, 1, 12, "writer").unwrap();
        writer.commit().unwrap();
        third.rollback().unwrap();
        assert_eq!(f.get(&mut f.session(), 1), Some((12, "writer".to_owned())));
        f.check();
    }
}

#[test]
fn a_row_that_came_again_after_it_was_taken_back_is_not_its_first_writers() {
    let (f, mut first, mut reader) = three();
    let [mut writer, mut third] = [(), ()].map(|()| f.engine.connect());
    for session in [&mut writer, &mut third] {
        session.set_lock_wait_timeout(Duration::ZERO);
        session.begin(Isolation::ReadCommitted, false);
    }
    let savepoint = writer.savepoint();
    f.insert(&mut writer, 4, 40, "taken back", None).unwrap();
    let by_writer = look(&f, &mut third, 4);
    writer.rollback_to(savepoint).unwrap();
    f.insert(&mut first, 4, 40, "first", None).unwrap();
    first.commit().unwrap();
    let read = reader.get(&f.table, &f.key(4), Read::Exclusive(Wait::Block), short);
    assert_eq!(read, Ok(Some((40, "first".to_owned()))));
    assert_eq!(ask(&f, &mut third, 4, by_writer), Err(Error::LockNotAvailable));
    assert_eq!(f.update(&mut writer, 4, 40, "lost"), Err(Error::LockWaitTimeout));
    reader.commit().unwrap();
    f.update(&mut writer, 4, 41, "writer").unwrap();
    writer.commit().unwrap();
    f.check();
}

#[test]
fn reader_without_isolation_reads_newest_versions() {
    let (f, mut a, _) = three();
    let mut reader = f.engine.connect();
    reader.begin(Isolation::ReadUncommitted, false);
    f.update(&mut a, 1, 35, "new").unwrap();
    f.delete(&mut a, 2).unwrap();
    f.insert(&mut a, 4, 5, "inserted", None).unwrap();
    assert_eq!(f.get(&mut reader, 1), Some((35, "new".into())));
    assert_eq!(f.get(&mut reader, 2), None);
    assert_eq!(f.ids(&mut reader, 0, Direction::Forward), [1, 3, 4]);
    assert_eq!(f.ids(&mut reader, 1, Direction::Forward), [4, 3, 1]);
    a.rollback().unwrap();
    assert_eq!(f.ids(&mut reader, 1, Direction::Forward), [1, 2, 3]);
    // Its next transaction has a snapshot again.
    reader.commit().unwrap();
    reader.begin(Isolation::RepeatableRead, false);
    assert_eq!(f.ids(&mut reader, 0, Direction::Forward), [1, 2, 3]);
    a.begin(Isolation::RepeatableRead, false);
    f.update(&mut a, 1, 35, "unseen").unwrap();
    assert_eq!(f.get(&mut reader, 1), Some((10, "old".into())));
}
