//! Scans by keys alone: which leaves answer by themselves, and what they say.

use super::*;

/// (k, id) of what a reader sees by the index on k, and how many of the rows were whole ones, fetched by their key.
fn by_keys(f: &Fixture, session: &mut Session, direction: Direction) -> (Vec<(i64, i64)>, usize) {
    let restore = f.restore(1, [0, 1]);
    let (mut rows, mut whole) = (Vec::new(), 0);
    let mut scan = session.scan(&f.table, 1, KeyRange::all(), direction, Read::Snapshot).unwrap();
    scan.for_each_covered(&restore, |row, key| {
        assert_eq!(key.to_vec(), f.key(int(row, 0)));
        whole += usize::from(!row.column(2).unwrap().is_null());
        rows.push((int(row, 1), int(row, 0)));
        Step::Continue
    })
    .unwrap();
    (rows, whole)
}

fn loaded(rows: i64) -> Fixture {
    let f = Fixture::new();
    let mut s = f.session();
    for id in 0..rows {
        f.insert(&mut s, id, 100 + id, "text", None).unwrap();
    }
    s.commit().unwrap();
    f
}

fn keys(range: std::ops::Range<i64>) -> Vec<(i64, i64)> {
    range.map(|id| (100 + id, id)).collect()
}

#[test]
fn a_leaf_answers_for_readers_that_see_all_its_writers() {
    let f = loaded(50);
    let mut reader = f.session();
    assert_eq!(by_keys(&f, &mut reader, Direction::Forward), (keys(0..50), 0));
    let mut backward = keys(0..50);
    backward.reverse();
    assert_eq!(by_keys(&f, &mut reader, Direction::Backward), (backward, 0));

    // A writer: its leaf leads others to the rows again, before its commit and, for older views, after it.
    let mut w = f.session();
    f.update(&mut w, 7, 1, "moved").unwrap();
    assert_eq!(by_keys(&f, &mut reader, Direction::Forward), (keys(0..50), 50));
    let (own, whole) = by_keys(&f, &mut w, Direction::Forward);
    assert_eq!((own[0], own.len(), whole), ((1, 7), 50, 50));
    w.commit().unwrap();
    assert_eq!(by_keys(&f, &mut reader, Direction::Forward), (keys(0..50), 50));
    reader.commit().unwrap();
    reader.begin(Isolation::RepeatableRead, true);
    let (new, whole) = by_keys(&f, &mut reader, Direction::Forward);
    assert_eq!((new[0], new.len(), whole), ((1, 7), 50, 0), "with the entry of 107 marked, not purged");
}

#[test]
fn a_change_without_a_change_of_keys_leaves_the_leaf_settled() {
    let f = loaded(20);
    let mut w = f.session();
    f.update(&mut w, 3, 103, "another text").unwrap();
    let mut reader = f.session();
    assert_eq!(by_keys(&f, &mut reader, Direction::Forward), (keys(0..20), 0));
    drop(w);
    assert_eq!(by_keys(&f, &mut reader, Direction::Forward), (keys(0..20), 0));
}

#[test]
fn what_is_taken_back_is_seen_as_it_was() {
    let f = loaded(20);
    let mut w = f.session();
    f.delete(&mut w, 3).unwrap();
    f.update(&mut w, 4, 500, "").unwrap();
    f.insert(&mut w, 90, 190, "new", None).unwrap();
    w.rollback().unwrap();
    let mut reader = f.session();
    assert_eq!(by_keys(&f, &mut reader, Direction::Forward), (keys(0..20), 0));
    // A transaction that had no id at the time of the view.
    w.begin(Isolation::RepeatableRead, false);
    f.delete(&mut w, 5).unwrap();
    assert_eq!(by_keys(&f, &mut reader, Direction::Forward).0, keys(0..20));
    w.rollback().unwrap();
    assert_eq!(by_keys(&f, &mut reader, Direction::Forward).0, keys(0..20));
}

#[test]
fn deleted_rows_are_passed_over_before_purge_and_after() {
    let f = loaded(30);
    let mut old = f.session();
    assert_eq!(by_keys(&f, &mut old, Direction::Forward).1, 0);
    let mut w = f.session();
    for id in 10..30 {
        f.delete(&mut w, id).unwrap();
    }
    w.commit().unwrap();
    let mut new = f.session();
    assert_eq!(by_keys(&f, &mut new, Direction::Forward), (keys(0..10), 0));
    assert_eq!(by_keys(&f, &mut old, Direction::Forward), (keys(0..30), 30));
    old.commit().unwrap();
    f.engine.purge_all();
    assert_eq!(by_keys(&f, &mut new, Direction::Forward), (keys(0..10), 0));
}

#[test]
fn leaves_remember_their_writers_over_splits_and_a_crash() {
    let f = loaded(10);
    let mut w = f.session();
    // Splits the only leaf several times.
    for id in 1000..3000 {
        f.insert(&mut w, id, id, "later", None).unwrap();
    }
    f.engine.wal.flush_to(f.engine.wal.lsn_head()).unwrap();
    let mut reader = f.session();
    assert_eq!(by_keys(&f, &mut reader, Direction::Forward), (keys(0..10), 10));
    drop(reader);
    // The writer is lost with the power and not taken back yet when the reader looks.
    let Fixture { disk, engine, spec, table } = f;
    std::mem::forget(w);
    drop((engine, table));
    disk.crash();
    let engine = open(&disk);
    let f = Fixture::with(disk, engine, spec);
    let mut reader = f.session();
    assert_eq!(by_keys(&f, &mut reader, Direction::Forward), (keys(0..10), 10));
    reader.commit().unwrap();
    f.engine.roll_back_losers(&sync::atomic::AtomicBool::new(false));
    reader.begin(Isolation::RepeatableRead, true);
    assert_eq!(by_keys(&f, &mut reader, Direction::Forward), (keys(0..10), 0));
}

#[test]
fn a_locking_read_fetches_rows_whatever_is_wanted() {
    let f = loaded(5);
    let restore = f.restore(1, [0, 1]);
    let mut s = f.session();
    let mut whole = 0;
    let mut scan = s.scan(&f.table, 1, KeyRange::all(), Direction::Forward, Read::Share(Wait::Block)).unwrap();
    scan.for_each_covered(&restore, |row, _| {
        whole += usize::from(!row.column(2).unwrap().is_null());
        Step::Continue
    })
    .unwrap();
    assert_eq!(whole, 5);
    assert_eq!(f.engine.locks.snapshot(100).locks.len(), 11);
}
