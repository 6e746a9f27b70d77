//! CHECK TABLE's work: beside writers it finds nothing wrong where nothing is, and what is wrong it finds.

use super::*;
use sync::atomic::{AtomicBool, Ordering};

/// All that a check tells, with the index.
fn told(f: &Fixture, depth: Depth) -> Vec<(usize, String)> {
    let mut s = f.session();
    let mut told = Vec::new();
    s.check_table(&f.table, depth, &mut |index_no, error| told.push((index_no, error.to_string()))).expect("looked at all of it");
    s.commit().expect("ended");
    told
}

/// The entry of a row in an index, and its value.
fn entry(f: &Fixture, index_no: usize, id: i64, k: i64) -> (Vec<u8>, [u8; 3]) {
    let row = f.row(id, k, "any", Some(id));
    let mut entry = Vec::new();
    let row = f.table.row_ref(&row).expect("a row");
    let user_bytes = f.table.secondary_key(&f.table.indexes[index_no], row, &f.key(id), &mut entry).expect("a key");
    (entry, crate::table::new_entry_value(0, user_bytes))
}

fn edit(f: &Fixture, index_no: usize, key: &[u8], change: impl FnOnce(&mut btree::LeafWrite<'_>)) {
    let mut leaf = f.table.indexes[index_no].tree.write(key).expect("a leaf");
    change(&mut leaf);
    leaf.finish();
}

#[test]
fn what_disagrees_is_found_beside_an_open_transaction() {
    let f = Fixture::new();
    let mut s = f.session();
    for id in 0..500 {
        f.insert(&mut s, id, id % 7, "row", Some(id)).expect("a row");
    }
    s.commit().expect("committed");
    let mut open = f.session();
    f.update(&mut open, 3, 3, "not committed").expect("an update");
    f.insert(&mut open, 900, 1, "nor this", Some(900)).expect("a row");
    assert_eq!(told(&f, Depth::Rows), []);

    // A row without its entry; the open transaction has written to this leaf.
    let (key, value) = entry(&f, 1, 10, 10 % 7);
    edit(&f, 1, &key, |leaf| leaf.remove(|_| {}));
    let found = told(&f, Depth::Rows);
    assert!(matches!(&found[..], [(1, what)] if what.contains("no entry")), "{found:?}");
    assert_eq!(told(&f, Depth::Trees), []);
    edit(&f, 1, &key, |leaf| leaf.insert(&value, |_| {}).expect("a key").expect("room"));
    assert_eq!(told(&f, Depth::Rows), []);

    // An entry without a row, and one that its row has no more, on leaves that the open transaction has written.
    for (id, k) in [(12_345, 3), (10, 5)] {
        let (stray, value) = entry(&f, 1, id, k);
        edit(&f, 1, &stray, |leaf| leaf.insert(&value, |_| {}).expect("a key").expect("room"));
        let found = told(&f, Depth::Rows);
        assert!(matches!(&found[..], [(1, what)] if what.contains("has no row")), "{id}: {found:?}");
        edit(&f, 1, &stray, |leaf| leaf.remove(|_| {}));
    }
    assert_eq!(told(&f, Depth::Rows), []);

    // An entry whose own parts end elsewhere by its value.
    edit(&f, 1, &key, |leaf| leaf.patch(1, &[value[1] - 1], |_| {}));
    let found = told(&f, Depth::Rows);
    assert!(found.iter().any(|(index_no, what)| *index_no == 1 && what.contains("no entry")), "{found:?}");
    edit(&f, 1, &key, |leaf| leaf.patch(1, &[value[1]], |_| {}));
    open.rollback().expect("rolled back");
    assert_eq!(told(&f, Depth::Rows), []);

    // The same with nobody open, and an entry without a row.
    edit(&f, 1, &key, |leaf| leaf.patch(1, &[value[1] - 1], |_| {}));
    let found = told(&f, Depth::Rows);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(f.engine.check_table(&f.table).is_err());
    edit(&f, 1, &key, |leaf| leaf.patch(1, &[value[1]], |_| {}));
    let (key, value) = entry(&f, 1, 5_000, 3);
    edit(&f, 1, &key, |leaf| leaf.insert(&value, |_| {}).expect("a key").expect("room"));
    let found = told(&f, Depth::Rows);
    assert!(matches!(&found[..], [(1, what)] if what.contains("disagree")), "{found:?}");
    edit(&f, 1, &key, |leaf| leaf.remove(|_| {}));
    f.check();
}

#[test]
fn writers_do_not_disturb_a_check() {
    let seed = seed();
    let f = &Fixture::new();
    f.engine.start_background().expect("threads");
    let mut s = f.session();
    for id in 0..2_000 {
        f.insert(&mut s, id, id % 50, &"x".repeat(100), Some(id)).expect("a row");
    }
    s.commit().expect("committed");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..3_u64 {
            let stop = &stop;
            scope.spawn(move || {
                let mut random = Random::new(seed + thread);
                let mut s = f.engine.connect();
                s.set_flush_policy(FlushPolicy::Lazy);
                s.set_lock_wait_timeout(Duration::from_secs(5));
                while !stop.load(Ordering::Relaxed) {
                    s.begin(Isolation::ReadCommitted, false);
                    let mut done = Ok(());
                    for _ in 0..random.next() % 20 {
                        // Each thread has rows of its own, and all share the indexes.
                        let id = (random.next() % 1_500) as i64 * 3 + thread as i64;
                        let k = (random.next() % 60) as i64;
                        let text = "y".repeat(random.next() as usize % 300);
                        done = match random.next() % 4 {
                            0 => f.delete(&mut s, id).map(drop),
                            1 | 2 => f.update(&mut s, id, k, &text).map(drop),
                            _ => match f.insert(&mut s, id, k, &text, Some(id)) {
                                Err(Error::DuplicateKey { .. }) => s.statement_rollback(),
                                other => other,
                            },
                        };
                        s.statement_start();
                        if done.is_err() {
                            break;
                        }
                    }
                    match done {
                        Ok(()) if !random.next().is_multiple_of(4) => s.commit().expect("committed"),
                        Ok(()) | Err(Error::Deadlock | Error::LockWaitTimeout) => s.rollback().expect("rolled back"),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for round in 0..60 {
                assert_eq!(told(f, if round % 3 == 0 { Depth::Trees } else { Depth::Rows }), [], "round {round}");
            }
        }));
        stop.store(true, Ordering::Relaxed);
        checked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    f.engine.close(false).expect("stopped");
    f.check();
}
