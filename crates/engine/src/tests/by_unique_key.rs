//! Rows that are locked and changed by a unique key other than the primary, beside a scan of that key.

use super::*;
use lock_manager::LockMode;
use record::ColumnSet;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The unique index of the table.
const U: usize = 2;
const LEVELS: [Isolation; 3] = [Isolation::RepeatableRead, Isolation::ReadCommitted, Isolation::Serializable];

fn user(n: i64) -> Vec<u8> {
    encoded(&ColumnType::int(), n)
}

/// What a statement came to: the row's id, or the error.
type Outcome = Result<Option<i64>>;

fn with_k(row: RowRef<'_>, new: &mut Vec<u8>, k: i64) {
    let values = [row.value(0).unwrap(), Value::Int(k), row.value(2).unwrap(), row.value(3).unwrap()];
    row.layout().encode(&values, new).unwrap();
}

/// As a statement that goes by operators does it.
fn by_scan(f: &Fixture, s: &mut Session, u: i64, read: Read) -> Outcome {
    let mut found = None;
    let mut scan = s.scan(&f.table, U, KeyRange::prefix(&user(u)), Direction::Forward, read)?;
    scan.for_each(|row, _| {
        found = Some(int(row, 0));
        Step::Stop
    })?;
    Ok(found)
}

/// Rows 1 to 9 with u of ten times that; of 4 the u has moved to 14, of 6 it was taken over by 16; 8 is gone, 9 is purged.
fn rows(f: &Fixture) {
    let mut s = f.session();
    for id in 1..10 {
        f.insert(&mut s, id, id, "row", Some(10 * id)).unwrap();
    }
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    f.delete(&mut s, 9).unwrap();
    s.commit().unwrap();
    f.engine.purge_all();
    s.begin(Isolation::RepeatableRead, false);
    set_u(f, &mut s, 4, Some(140)).unwrap();
    set_u(f, &mut s, 6, None).unwrap();
    f.insert(&mut s, 16, 16, "row", Some(60)).unwrap();
    f.delete(&mut s, 8).unwrap();
    s.commit().unwrap();
}

fn set_u(f: &Fixture, s: &mut Session, id: i64, u: Option<i64>) -> Result<Modified> {
    s.modify(&f.table, &f.key(id), |row, new| {
        let values = [row.value(0).unwrap(), row.value(1).unwrap(), row.value(2).unwrap(), u.into()];
        row.layout().encode(&values, new).unwrap();
        Modify::Replace
    })
}

/// What somebody else, or the session itself before, has done when the key is asked for.
#[derive(Clone, Copy, Debug)]
enum Beside {
    Nothing,
    /// Another has changed the row; another has locked it, or its entry.
    Changed,
    Shared,
    Locked,
    /// Another has made the row leave its key, or has deleted it.
    Left,
    Deleted,
    /// The session itself has.
    OwnChanged,
    OwnLeft,
    OwnDeleted,
    OwnMovedIn,
}

const ALL: [Beside; 10] = [
    Beside::Nothing,
    Beside::Changed,
    Beside::Shared,
    Beside::Locked,
    Beside::Left,
    Beside::Deleted,
    Beside::OwnChanged,
    Beside::OwnLeft,
    Beside::OwnDeleted,
    Beside::OwnMovedIn,
];

/// Does it to row 2, whose u is 20.
fn do_beside(f: &Fixture, beside: Beside, other: &mut Session, own: &mut Session) {
    let done = match beside {
        Beside::Nothing => return,
        Beside::Changed => f.update(other, 2, 1, "other"),
        Beside::Shared => by_scan(f, other, 20, Read::Share(Wait::Block)).map(|_| Modified::Kept),
        Beside::Locked => by_scan(f, other, 20, Read::Exclusive(Wait::Block)).map(|_| Modified::Kept),
        Beside::Left => set_u(f, other, 2, Some(21)),
        Beside::Deleted => f.delete(other, 2),
        Beside::OwnChanged => f.update(own, 2, 1, "own"),
        Beside::OwnLeft => set_u(f, own, 2, Some(21)),
        Beside::OwnDeleted => f.delete(own, 2),
        Beside::OwnMovedIn => f.delete(own, 2).and_then(|_| set_u(f, own, 7, Some(20))),
    };
    done.expect("a change");
}

/// What is locked of each index, and how; and what the table's rows are.
type State = (Vec<Lock>, Vec<(i64, i64)>);
/// Position of the index, key, mode, and who: 1 for the session that is looked at.
type Lock = (Option<usize>, Vec<u8>, LockMode, u64);

fn state(f: &Fixture, first: u64) -> State {
    let position = |id: IndexId| f.table.indexes.iter().position(|index| index.id == id);
    let locks = f.engine.locks.snapshot(1000).locks;
    let mut locks: Vec<Lock> = locks.into_iter().map(|lock| (position(lock.index), lock.key, lock.mode, lock.owner - first)).collect();
    locks.sort_by_key(|lock| format!("{lock:?}"));
    let mut session = f.engine.connect();
    session.begin(Isolation::ReadUncommitted, false);
    let mut rows = Vec::new();
    let mut scan = session.scan(&f.table, 0, KeyRange::all(), Direction::Forward, Read::Snapshot).unwrap();
    scan.for_each(|row, _| {
        rows.push((int(row, 0), int(row, 1)));
        Step::Continue
    })
    .unwrap();
    (locks, rows)
}

/// One statement on a table of its own: its outcome, and how it leaves all.
fn run(level: Isolation, beside: Beside, statement: impl FnOnce(&Fixture, &mut Session) -> Outcome) -> (Outcome, State) {
    let f = Fixture::new();
    rows(&f);
    let [mut other, mut own] = [(); 2].map(|()| f.engine.connect());
    let first = other.owner.number();
    for session in [&mut other, &mut own] {
        session.set_lock_wait_timeout(Duration::from_millis(1));
        session.begin(level, false);
    }
    do_beside(&f, beside, &mut other, &mut own);
    let outcome = statement(&f, &mut own);
    (outcome, state(&f, first))
}

/// Whatever has been done before: the row that is found, the error, and what is locked are those of a scan.
#[test]
fn locking_reads_find_and_lock_what_a_scan_does() {
    for level in LEVELS {
        for beside in ALL {
            for u in [20, 40, 60, 80, 90, 95, 140] {
                for wait in [Wait::Block, Wait::NoWait, Wait::SkipLocked] {
                    for read in [Read::Share(wait), Read::Exclusive(wait)] {
                        let short = run(level, beside, |f, s| s.get_unique(&f.table, U, &user(u), read, |row, _, _| int(row, 0)));
                        let long = run(level, beside, |f, s| by_scan(f, s, u, read));
                        assert_eq!(short, long, "{level:?} {beside:?} u = {u} {read:?}");
                    }
                }
            }
        }
    }
}

/// And a change is that of a row which a scan has found and locked. Where the row was changed, its writer has it with or without a lock of its own.
#[test]
fn changes_are_those_of_a_row_that_a_scan_finds() {
    for level in LEVELS {
        for beside in ALL {
            for u in [20, 40, 60, 80, 90, 95, 140] {
                for change in [Modify::Keep, Modify::Pass, Modify::Replace, Modify::Delete] {
                    let decide = |row: RowRef<'_>, new: &mut Vec<u8>| {
                        with_k(row, new, 77);
                        change
                    };
                    let mut id = None;
                    let short = run(level, beside, |f, s| {
                        let modified = s.modify_unique(&f.table, U, &user(u), ColumnSet::ALL, |row, new| {
                            id = Some(int(row, 0));
                            decide(row, new)
                        })?;
                        Ok(id.filter(|_| modified != Modified::NotFound))
                    });
                    let long = run(level, beside, |f, s| {
                        let found = by_scan(f, s, u, Read::Exclusive(Wait::Block))?;
                        if let Some(id) = found {
                            s.modify(&f.table, &f.key(id), decide)?;
                        }
                        Ok(found.filter(|_| change != Modify::Pass))
                    });
                    let of_row = |(outcome, (locks, rows)): (Outcome, State)| {
                        let is_own_row = |lock: &Lock| (lock.0, lock.2, lock.3) == (Some(0), LockMode::Exclusive, 1);
                        (outcome, locks.into_iter().filter(|lock| !is_own_row(lock)).collect::<Vec<_>>(), rows)
                    };
                    assert_eq!(of_row(short), of_row(long), "{level:?} {beside:?} u = {u} {change:?}");
                }
            }
        }
    }
}

/// Keys go from row to row while others lock and change rows by them: who is shown has the key, and no change is lost.
#[test]
fn who_is_found_has_the_key_while_keys_move() {
    const KEYS: i64 = 6;
    const CHANGES: u64 = 5_000;
    let (f, seed) = (&Fixture::new(), seed());
    f.engine.start_background().unwrap();
    let mut s = f.session();
    for id in 1..=KEYS {
        f.insert(&mut s, id, 0, "row", Some(id)).unwrap();
    }
    s.commit().unwrap();
    let (changed, done) = (AtomicU64::new(0), AtomicBool::new(false));
    // Some row has each key at any time, and who is shown has it.
    let wrong = sync::Mutex::new(sync::Rank::Leaf, Vec::new());
    let session = || {
        let mut session = f.engine.connect();
        session.set_lock_wait_timeout(Duration::from_secs(60));
        session.set_flush_policy(FlushPolicy::Lazy);
        session
    };
    std::thread::scope(|scope| {
        let (changed, done, session, wrong) = (&changed, &done, &session, &wrong);
        for thread in 0..2 {
            scope.spawn(move || {
                let (mut s, mut random) = (session(), Random::new(seed ^ thread));
                while !done.load(Ordering::Relaxed) {
                    s.begin(LEVELS[random.below(2) as usize], false);
                    let (a, b) = (1 + random.below(KEYS as u64) as i64, 1 + random.below(KEYS as u64) as i64);
                    let u_of = |s: &mut Session, id| {
                        s.get(&f.table, &f.key(id), Read::Exclusive(Wait::Block), |row| int(row, 3)).map(|u| u.expect("a row that stays"))
                    };
                    let mut swap = || -> Result<()> {
                        let (u, v) = (u_of(&mut s, a.min(b))?, u_of(&mut s, a.max(b))?);
                        if a != b {
                            set_u(f, &mut s, a.min(b), None)?;
                            set_u(f, &mut s, a.max(b), Some(u))?;
                            set_u(f, &mut s, a.min(b), Some(v))?;
                        }
                        Ok(())
                    };
                    match swap() {
                        Ok(()) => s.commit().unwrap(),
                        Err(Error::Deadlock) => s.rollback().unwrap(),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        let changers: Vec<_> = (2..4)
            .map(|thread| {
                scope.spawn(move || {
                    let (mut s, mut random) = (session(), Random::new(seed ^ thread));
                    for _ in 0..CHANGES {
                        let u = 1 + random.below(KEYS as u64) as i64;
                        let level = LEVELS[random.below(2) as usize];
                        s.begin(level, false);
                        // Shown under a latch: told afterwards.
                        let mut shown = None;
                        let result = match random.below(3) {
                            0 => s
                                .get_unique(&f.table, U, &user(u), Read::Exclusive(Wait::Block), |row, key, _| {
                                    shown = Some((int(row, 3), key.to_vec() == f.key(int(row, 0))));
                                })
                                .map(|_| 0),
                            _ => s
                                .modify_unique(&f.table, U, &user(u), ColumnSet::ALL, |row, new| {
                                    shown = Some((int(row, 3), true));
                                    with_k(row, new, int(row, 1) + 1);
                                    Modify::Replace
                                })
                                .map(|modified| u64::from(modified == Modified::Replaced)),
                        };
                        match result {
                            Ok(changes) => {
                                if shown != Some((u, true)) {
                                    wrong.lock().push((level, u, shown));
                                    return;
                                }
                                changed.fetch_add(changes, Ordering::Relaxed);
                                s.commit().unwrap();
                            }
                            Err(Error::Deadlock) => s.rollback().unwrap(),
                            Err(error) => panic!("{error}"),
                        }
                    }
                })
            })
            .collect();
        let ended: Vec<_> = changers.into_iter().map(|changer| changer.join()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(|ended| ended.is_ok()), "seed {seed}");
    });
    assert_eq!(*wrong.lock(), [], "seed {seed}");
    let mut s = f.session();
    let sum: i64 = (1..=KEYS).map(|id| f.get(&mut s, id).unwrap().0).sum();
    assert_eq!(sum as u64, changed.load(Ordering::Relaxed));
    s.commit().unwrap();
    drop(s);
    f.engine.close(true).unwrap();
    f.check_purged(KEYS as u64);
}
