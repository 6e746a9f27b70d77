//! What rollback leaves to purge, and the other way round.

use super::*;
use base::TxnId;
use btree::overflow;

#[test]
fn row_deleted_again_by_rollback_is_still_purged() {
    let f = Fixture::new();
    let mut s = f.session();
    f.insert(&mut s, 1, 10, "first", Some(100)).unwrap();
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    f.delete(&mut s, 1).unwrap();
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    f.insert(&mut s, 1, 11, "second", Some(100)).unwrap();
    // Purge comes by while the deleted row is covered by one that will not stay.
    f.engine.purge_all();
    s.rollback().unwrap();
    f.check_purged(0);
}

#[test]
fn entry_given_up_again_by_rollback_is_still_purged() {
    let f = Fixture::new();
    let mut s = f.session();
    f.insert(&mut s, 1, 10, "row", None).unwrap();
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    f.update(&mut s, 1, 20, "row").unwrap();
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    f.update(&mut s, 1, 10, "row").unwrap();
    f.update(&mut s, 1, 30, "row").unwrap();
    f.engine.purge_all();
    assert_eq!(f.engine.history_length(), 1);
    s.rollback().unwrap();
    assert_eq!(f.ids(&mut f.session(), 1, Direction::Forward), [1]);
    f.check_purged(1);
}

#[test]
fn rollback_does_not_read_chains_that_purge_has_freed() {
    let f = Fixture::new();
    let mut s = f.session();
    let large = "x".repeat(30_000);
    f.insert(&mut s, 1, 10, &large, None).unwrap();
    f.insert(&mut s, 2, 10, "other", None).unwrap();
    s.commit().unwrap();
    for (k, text) in [(20, "small"), (30, "again")] {
        s.begin(Isolation::RepeatableRead, false);
        f.update(&mut s, 1, k, text).unwrap();
        s.commit().unwrap();
    }
    // The undo records keep their segment, so that they can be read after purge has released them.
    s.begin(Isolation::RepeatableRead, false);
    f.update(&mut s, 2, 11, "open").unwrap();
    f.update(&mut s, 1, 40, "moved").unwrap();
    f.engine.purge_all();
    s.rollback().unwrap();
    f.check_purged(2);
}

#[test]
fn failed_row_of_a_statement_leaves_what_came_before() {
    let f = Fixture::new();
    let mut s = f.session();
    f.insert(&mut s, 1, 10, "one", Some(1)).unwrap();
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    s.statement_start();
    f.insert(&mut s, 2, 20, "two", Some(2)).unwrap();
    s.statement_start();
    f.insert(&mut s, 3, 30, "three", Some(3)).unwrap();
    assert_eq!(f.insert(&mut s, 4, 40, &"large".repeat(10_000), Some(1)), Err(Error::DuplicateKey { index_no: 2 }));
    assert_eq!(f.ids(&mut s, 1, Direction::Forward), [1, 2, 3]);
    s.statement_rollback().unwrap();
    assert_eq!(f.ids(&mut s, 1, Direction::Forward), [1, 2]);
    s.commit().unwrap();
    f.check_purged(2);
}

#[test]
fn lock_taken_to_keep_a_row_is_waited_for_when_another_has_it() {
    let f = Fixture::new();
    let mut s = f.session();
    f.insert(&mut s, 1, 10, "one", None).unwrap();
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    let kept = s.modify(&f.table, &f.key(1), |_, _| Modify::Keep);
    assert_eq!(kept, Ok(Modified::Kept));
    let mut other = f.session();
    assert_eq!(other.modify(&f.table, &f.key(1), |_, _| Modify::Keep), Err(Error::LockWaitTimeout));
    s.commit().unwrap();
    assert_eq!(other.modify(&f.table, &f.key(1), |_, _| Modify::Keep), Ok(Modified::Kept));
}

#[test]
fn a_key_that_is_rolled_back_does_not_stay_for_a_purged_version() {
    let f = Fixture::new();
    let mut s = f.session();
    f.insert(&mut s, 1, 10, "", None).unwrap();
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    f.update(&mut s, 1, 20, "").unwrap();
    s.commit().unwrap();
    f.engine.purge_all();
    assert_eq!(f.entries(1), 1);
    // The version with key 10 is purged, though its undo record may still be readable.
    s.begin(Isolation::RepeatableRead, false);
    f.update(&mut s, 1, 10, "").unwrap();
    s.rollback().unwrap();
    f.engine.purge_all();
    assert_eq!(f.entries(1), 1);
    f.check();
}

#[test]
fn a_key_that_is_rolled_back_stays_while_a_view_sees_an_older_version_with_it() {
    let f = Fixture::new();
    let mut s = f.session();
    f.insert(&mut s, 1, 10, "", None).unwrap();
    s.commit().unwrap();
    let mut reader = f.session();
    assert_eq!(f.ids(&mut reader, 1, Direction::Forward), [1]);
    s.begin(Isolation::RepeatableRead, false);
    f.update(&mut s, 1, 20, "").unwrap();
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    f.update(&mut s, 1, 10, "").unwrap();
    s.rollback().unwrap();
    f.engine.purge_all();
    assert_eq!(f.ids(&mut reader, 1, Direction::Forward), [1]);
    reader.commit().unwrap();
    f.engine.purge_all();
    assert_eq!(f.entries(1), 1);
    f.check();
}

#[test]
fn purge_that_met_a_failing_read_comes_back() {
    let f = Fixture::new();
    let mut s = f.session();
    let large = "x".repeat(3000);
    for id in 1..=300 {
        f.insert(&mut s, id, id, &large, None).unwrap();
    }
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    for id in 1..=300 {
        f.delete(&mut s, id).unwrap();
    }
    s.commit().unwrap();
    f.disk.fail_read(20);
    f.engine.purge_all();
    f.engine.purge_all();
    f.check_purged(0);
}

#[test]
fn chain_of_a_deleted_row_is_freed_though_a_crash_took_purge_after_the_row() {
    let f = Fixture::new();
    let mut s = f.session();
    let pages = |f: &Fixture| f.engine.space.pages_of(f.table.indexes[0].id);
    let before = pages(&f);
    f.insert(&mut s, 1, 10, &"x".repeat(50_000), Some(1)).unwrap();
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    f.delete(&mut s, 1).unwrap();
    s.commit().unwrap();
    drop(s);
    // What purge does, up to the row: the entries go, then the row, and then power fails before the chain goes.
    for index in f.table.indexes.iter().rev() {
        let mut cursor = index.tree.cursor();
        cursor.first().unwrap();
        let key = cursor.key().to_vec();
        drop(cursor);
        let mut leaf = index.tree.write(&key).unwrap();
        leaf.remove(|_| {});
        leaf.finish();
    }
    f.engine.wal.flush_to(f.engine.wal.lsn_head()).unwrap();
    let f = f.crash();
    assert_ne!(pages(&f), before);
    f.check_purged(0);
    assert_eq!(pages(&f), before, "the chain is given back");
}

/// Forty rows that a statement of `s` has made small, and no room on the disk to let all of them grow back: others have taken their place, in a transaction of its own.
fn rows_that_cannot_grow_back(f: &Fixture, s: &mut Session, large: &str) -> Session {
    for id in 1..=40 {
        f.insert(s, id, id, large, None).unwrap();
    }
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    s.statement_start();
    for id in 1..=40 {
        f.update(s, id, id, "small").unwrap();
    }
    let mut other = f.session();
    f.disk.set_capacity(Some(0));
    for id in 1000.. {
        other.statement_start();
        if f.insert(&mut other, id, id, large, None).is_err() {
            break;
        }
    }
    other
}

#[test]
fn a_statement_that_is_taken_back_in_part_is_not_committed_with_what_follows() {
    let f = Fixture::new();
    let (mut s, large) = (f.session(), "x".repeat(3000));
    let other = rows_that_cannot_grow_back(&f, &mut s, &large);
    assert_eq!(s.statement_rollback(), Err(Error::DiskFull));
    f.disk.set_capacity(None);
    // Another statement, which is taken back whole.
    s.statement_start();
    f.insert(&mut s, 500, 500, "new", None).unwrap();
    s.statement_rollback().unwrap();
    assert!(s.commit().is_err(), "half of a failed statement would be committed");
    drop(other);
    let mut reader = f.session();
    for id in 1..=40 {
        assert_eq!(f.get(&mut reader, id), Some((id, large.clone())));
    }
    drop(reader);
    f.check();
}

#[test]
fn what_a_later_try_takes_back_whole_may_be_committed() {
    let f = Fixture::new();
    let (mut s, large) = (f.session(), "x".repeat(3000));
    let other = rows_that_cannot_grow_back(&f, &mut s, &large);
    assert_eq!(s.statement_rollback(), Err(Error::DiskFull));
    f.disk.set_capacity(None);
    s.statement_rollback().unwrap();
    f.insert(&mut s, 500, 500, "new", None).unwrap();
    s.commit().unwrap();
    drop(other);
    let mut reader = f.session();
    assert_eq!((f.get(&mut reader, 1), f.get(&mut reader, 500)), (Some((1, large)), Some((500, "new".to_owned()))));
    drop(reader);
    f.check();
}

#[test]
fn rollback_that_met_a_full_disk_is_tried_again() {
    let f = Fixture::new();
    let mut s = f.session();
    let large = "x".repeat(3000);
    let mut other = rows_that_cannot_grow_back(&f, &mut s, &large);
    let locked = || {
        let mut probe = f.session();
        let taken = |id: &i64| probe.get(&f.table, &f.key(*id), Read::Exclusive(Wait::NoWait), short) == Err(Error::LockNotAvailable);
        (1..=40).filter(taken).count()
    };
    assert_eq!(s.rollback(), Err(Error::DiskFull));
    assert_eq!(f.engine.rollbacks_pending(), 1);
    assert!(locked() > 0);
    assert_eq!(f.engine.roll_back_abandoned(), 0);
    assert_eq!(f.engine.rollbacks_pending(), 1);
    f.disk.set_capacity(None);
    assert_eq!(f.engine.roll_back_abandoned(), 1);
    assert_eq!((f.engine.rollbacks_pending(), locked()), (0, 0));
    let mut reader = f.session();
    for id in 1..=40 {
        assert_eq!(f.get(&mut reader, id), Some((id, large.clone())));
    }
    // The row that did not fit may have been taken back in part only.
    other.statement_rollback().unwrap();
    other.commit().unwrap();
    f.check();
}

/// Purge frees chains again after a crash. A copied row's chain has no writer to tell it by; its page may go on another row's chain by then.
#[test]
fn a_page_that_another_chain_goes_on_with_is_not_freed_with_a_copied_row() {
    let f = Fixture::new();
    let tree = &f.table.primary().tree;
    let value = |bytes: usize| (0..bytes).map(|n| n as u8).collect::<Vec<u8>>();
    let lower = overflow::write(tree, &value(10), |_, _| {}).unwrap();
    let copied = overflow::write(tree, &value(10), |_, _| {}).unwrap();
    for first in [lower, copied] {
        f.engine.free_chain(&f.table, tree.index, first, TxnId::NONE).unwrap();
    }
    let long = value(overflow::OVERFLOW_PAGE_BYTES + 100);
    let first = overflow::write(tree, &long, |_, _| {}).unwrap();
    assert_eq!(overflow::pages(tree, first).unwrap(), [lower, copied]);
    f.engine.free_chain(&f.table, tree.index, copied, TxnId::NONE).unwrap();
    let mut read = Vec::new();
    overflow::read(tree, first, long.len(), &mut read).unwrap();
    assert_eq!(read, long);
}
