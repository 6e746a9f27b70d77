//! What row changes cost in the log: bounds, so that a wasteful record is noticed.

use super::*;

/// Log bytes that `change` takes, in a transaction that has written before.
fn log_bytes(f: &Fixture, s: &mut Session, change: impl FnOnce(&Fixture, &mut Session)) -> u64 {
    let before = f.engine.wal.lsn_head().0;
    change(f, s);
    f.engine.wal.lsn_head().0 - before
}

#[test]
fn small_changes_of_long_rows_make_small_records() {
    let f = Fixture::new();
    let mut s = f.session();
    let long = "x".repeat(600);
    for id in 1..=3 {
        f.insert(&mut s, id, 10, &long, None).unwrap();
    }
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    f.update(&mut s, 1, 10, &format!("{long}y")).unwrap();
    let one_byte = log_bytes(&f, &mut s, |f, s| {
        s.modify(&f.table, &f.key(2), |row, new| {
            new.extend_from_slice(row.bytes());
            let last = new.len() - 1;
            new[last] = b'z';
            Modify::Replace
        })
        .unwrap();
    });
    let deleted = log_bytes(&f, &mut s, |f, s| assert_eq!(f.delete(s, 3).unwrap(), Modified::Deleted));
    s.rollback().unwrap();
    println!("one byte updated: {one_byte}, deleted with two entries: {deleted}");
    assert!(one_byte <= 130, "{one_byte} bytes for one byte of a long row");
    assert!(deleted <= 260, "{deleted} bytes for a delete with two entries to mark");
}
