//! Many sessions at once on a pool of few frames: nothing is lost, readers see one moment, nobody waits for ever.

use super::*;
use std::collections::HashMap;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn long_wait(f: &Fixture) -> Session {
    let mut session = f.engine.connect();
    session.set_lock_wait_timeout(Duration::from_secs(30));
    session.set_flush_policy(FlushPolicy::Lazy);
    session
}

/// Adds to k of a row.
fn add(f: &Fixture, session: &mut Session, id: i64, amount: i64) -> Result<Modified> {
    session.modify(&f.table, &f.key(id), |row, new| {
        let values = [Value::Int(id), Value::Int(int(row, 1) + amount), row.value(2).unwrap(), row.value(3).unwrap()];
        row.layout().encode(&values, new).unwrap();
        Modify::Replace
    })
}

#[test]
fn many_sessions_on_a_hot_row_lose_no_increment() {
    const THREADS: usize = 12;
    const ROUNDS: usize = 60;
    let f = &Fixture::new();
    let mut s = f.session();
    for id in 0..3 {
        f.insert(&mut s, id, 0, "hot", None).unwrap();
    }
    s.commit().unwrap();
    let (done, gave_up) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (done, gave_up) = (&done, &gave_up);
            scope.spawn(move || {
                let mut s = long_wait(f);
                if thread % 4 == 0 {
                    s.set_lock_wait_timeout(Duration::from_millis(1));
                }
                for round in 0..ROUNDS {
                    s.begin(Isolation::RepeatableRead, false);
                    // Two rows in both orders: deadlocks. Some look first and hold a shared lock: deadlocks of upgrades.
                    let (a, b) = if (thread + round) % 2 == 0 { (0, 1) } else { (1, 0) };
                    let looked = match round % 5 {
                        0 => s.get(&f.table, &f.key(a), Read::Share(Wait::Block), |_| ()).map(drop),
                        1 => s.get(&f.table, &f.key(a), Read::Exclusive(Wait::Block), |_| ()).map(drop),
                        _ => Ok(()),
                    };
                    let outcome =
                        looked.and_then(|()| add(f, &mut s, a, 1)).and_then(|_| add(f, &mut s, b, 1)).and_then(|_| add(f, &mut s, 2, 1));
                    match outcome {
                        Ok(_) => {
                            s.commit().unwrap();
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(Error::Deadlock | Error::LockWaitTimeout) => {
                            s.rollback().unwrap();
                            gave_up.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    let done = done.load(Ordering::Relaxed) as i64;
    assert_eq!(done as u64 + gave_up.load(Ordering::Relaxed), (THREADS * ROUNDS) as u64);
    let mut s = f.session();
    for id in 0..3 {
        assert_eq!(f.get(&mut s, id).unwrap().0, done);
    }
    s.commit().unwrap();
    assert_eq!(f.engine.locks.snapshot(10).locks.len(), 0);
    f.check_purged(3);
}

/// What a reader sees of the table by one index.
fn seen(f: &Fixture, session: &mut Session, index_no: usize, direction: Direction) -> Vec<(i64, i64, String)> {
    let mut rows = Vec::new();
    let mut scan = session.scan(&f.table, index_no, KeyRange::all(), direction, Read::Snapshot).unwrap();
    scan.for_each(|row, _| {
        let (k, s) = short(row);
        rows.push((int(row, 0), k, s));
        Step::Continue
    })
    .unwrap();
    drop(scan);
    rows.sort();
    rows
}

/// What a reader sees of ids and k by the entries of the index on k.
fn seen_by_keys(f: &Fixture, session: &mut Session, direction: Direction) -> Vec<(i64, i64)> {
    let restore = f.restore(1, [1, 0]);
    let mut rows = Vec::new();
    let mut scan = session.scan(&f.table, 1, KeyRange::all(), direction, Read::Snapshot).unwrap();
    scan.for_each_covered(&restore, |row, key| {
        assert_eq!(key.to_vec(), f.key(int(row, 0)));
        rows.push((int(row, 1), int(row, 0)));
        Step::Continue
    })
    .unwrap();
    if direction == Direction::Backward {
        rows.reverse();
    }
    rows
}

fn keys_of(rows: &[(i64, i64, String)]) -> Vec<(i64, i64)> {
    let mut keys: Vec<(i64, i64)> = rows.iter().map(|(id, k, _)| (*k, *id)).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn readers_see_one_moment_by_every_index_while_writers_and_purge_run() {
    const IDS: u64 = 120;
    let seed = seed();
    let f = &Fixture::new();
    f.engine.start_background().unwrap();
    let mut s = long_wait(f);
    s.begin(Isolation::RepeatableRead, false);
    for id in 0..IDS as i64 / 2 {
        f.insert(&mut s, id, id % 10, "start", Some(id)).unwrap();
    }
    s.commit().unwrap();
    let stop = AtomicBool::new(false);
    let (writers_left, scans) = (AtomicU64::new(3), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for writer in 0..3u64 {
            let (stop, writers_left) = (&stop, &writers_left);
            scope.spawn(move || {
                let mut random = Random::new(seed ^ (writer + 1) << 40);
                let mut s = long_wait(f);
                for _ in 0..250 {
                    s.begin(Isolation::RepeatableRead, false);
                    let mut outcome = Ok(());
                    for _ in 0..1 + random.below(6) {
                        let (id, k) = (random.below(IDS) as i64, random.below(12) as i64);
                        let longest = if random.below(20) == 0 { 2500 } else { 40 };
                        let text = "text ".repeat(random.below(longest) as usize);
                        let mark = s.savepoint();
                        let one = match random.below(4) {
                            0 => f.insert(&mut s, id, k, &text, (k < 6).then_some(id + k)),
                            1 => f.delete(&mut s, id).map(drop),
                            _ => f.update(&mut s, id, k, &text).map(drop),
                        };
                        outcome = match one {
                            Err(Error::DuplicateKey { .. }) => Ok(()),
                            // A savepoint is rolled back now and then.
                            Ok(()) if random.below(6) == 0 => s.rollback_to(mark),
                            other => other,
                        };
                        if outcome.is_err() {
                            break;
                        }
                    }
                    match outcome {
                        Ok(()) if random.below(4) > 0 => s.commit().unwrap(),
                        Ok(()) | Err(Error::Deadlock | Error::LockWaitTimeout) => s.rollback().unwrap(),
                        Err(error) => panic!("{error}"),
                    }
                }
                if writers_left.fetch_sub(1, Ordering::SeqCst) == 1 {
                    stop.store(true, Ordering::SeqCst);
                }
            });
        }
        for reader in 0..2u64 {
            let (stop, scans) = (&stop, &scans);
            scope.spawn(move || {
                let mut random = Random::new(seed ^ (reader + 9) << 40);
                let mut s = long_wait(f);
                // At least once, however late the thread comes to run.
                loop {
                    s.begin(Isolation::RepeatableRead, true);
                    let first = seen(f, &mut s, 0, Direction::Forward);
                    for _ in 0..1 + random.below(12) {
                        let direction = if random.below(2) == 0 { Direction::Forward } else { Direction::Backward };
                        let index_no = random.below(3) as usize;
                        assert_eq!(seen(f, &mut s, index_no, direction), first, "by index {index_no} {direction:?}");
                        assert_eq!(seen_by_keys(f, &mut s, direction), keys_of(&first), "by keys {direction:?}");
                        scans.fetch_add(1, Ordering::Relaxed);
                    }
                    for (id, k, text) in &first {
                        assert_eq!(f.get(&mut s, *id), Some((*k, text.clone())));
                    }
                    s.commit().unwrap();
                    if stop.load(Ordering::SeqCst) {
                        break;
                    }
                }
            });
        }
    });
    assert!(scans.load(Ordering::Relaxed) > 0);
    drop(s);
    f.engine.close(true).unwrap();
    f.engine.purge_all();
    let rows = f.ids(&mut f.session(), 0, Direction::Forward).len() as u64;
    f.check_purged(rows);
}

#[test]
fn unique_keys_stay_unique_under_concurrent_moves() {
    const VALUES: u64 = 6;
    let seed = seed();
    let f = &Fixture::new();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            scope.spawn(move || {
                let mut random = Random::new(seed ^ (thread + 1) << 40);
                let mut s = long_wait(f);
                for _ in 0..150 {
                    s.begin(Isolation::RepeatableRead, false);
                    let mut outcome = Ok(());
                    for _ in 0..1 + random.below(3) {
                        let (id, u) = (random.below(10) as i64, random.below(VALUES) as i64);
                        let one = match random.below(3) {
                            0 => f.insert(&mut s, id, 0, "", Some(u)),
                            1 => f.delete(&mut s, id).map(drop),
                            _ => s
                                .modify(&f.table, &f.key(id), |row, new| {
                                    let values = [row.value(0).unwrap(), Value::Int(1), "".into(), Value::Int(u)];
                                    row.layout().encode(&values, new).unwrap();
                                    Modify::Replace
                                })
                                .map(drop),
                        };
                        outcome = match one {
                            Err(Error::DuplicateKey { .. }) => Ok(()),
                            other => other,
                        };
                        if outcome.is_err() {
                            break;
                        }
                    }
                    match outcome {
                        Ok(()) if random.below(4) > 0 => s.commit().unwrap(),
                        Ok(()) | Err(Error::Deadlock) => s.rollback().unwrap(),
                        Err(error) => panic!("{error}"),
                    }
                    s.begin(Isolation::RepeatableRead, true);
                    let mut holders: HashMap<i64, i64> = HashMap::new();
                    let mut scan = s.scan(&f.table, 0, KeyRange::all(), Direction::Forward, Read::Snapshot).unwrap();
                    scan.for_each(|row, _| {
                        let other = holders.insert(int(row, 3), int(row, 0));
                        assert_eq!(other, None, "two rows with u = {}", int(row, 3));
                        Step::Continue
                    })
                    .unwrap();
                    drop(scan);
                    s.commit().unwrap();
                    if thread == 0 {
                        f.engine.purge_all();
                    }
                }
            });
        }
    });
    let rows = f.ids(&mut f.session(), 0, Direction::Forward).len() as u64;
    f.check_purged(rows);
}
