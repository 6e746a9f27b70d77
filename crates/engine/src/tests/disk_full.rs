//! A disk that is full for one kind of file: who needs room there gets an error, everybody else goes on, and nothing that was committed is lost.

use super::*;
use sync::{Mutex, Rank};

/// An engine whose warnings are kept, and a table with rows 1 to 40.
fn populated(config: EngineConfig) -> (Fixture, Arc<Mutex<Vec<String>>>) {
    let disk = Arc::new(SimDisk::new(1));
    let warnings = Arc::new(Mutex::new(Rank::Leaf, Vec::new()));
    let kept = Arc::clone(&warnings);
    let on_warning = Arc::new(move |text: &str| kept.lock().push(text.to_owned()));
    let as_disk: Arc<dyn Disk> = disk.clone();
    let engine = Engine::open(as_disk, Arc::new(SimClock::new(0)), EngineConfig { on_warning, ..config }).expect("an engine");
    let f = Fixture::on(disk, engine);
    let mut s = f.session();
    for id in 1..=40 {
        f.insert(&mut s, id, 0, &text(0), None).unwrap();
    }
    s.commit().unwrap();
    drop(s);
    f.engine.pool.flush_all().unwrap();
    f.engine.checkpoint().unwrap();
    (f, warnings)
}

fn text(k: i64) -> String {
    format!("{k:07}").repeat(400)
}

/// One update in a transaction of its own; rolled back when it fails.
fn update(f: &Fixture, s: &mut Session, n: i64) -> Result<()> {
    s.begin(Isolation::RepeatableRead, false);
    match f.update(s, n % 40 + 1, n, &text(n)) {
        Ok(_) => s.commit(),
        Err(error) => {
            // For want of room in the log it may be done by the background later.
            let _ = s.rollback();
            Err(error)
        }
    }
}

/// Updates until there is no room; how many were committed.
fn update_until_full(f: &Fixture, s: &mut Session) -> i64 {
    for n in 1..200_000 {
        match update(f, s, n) {
            Ok(()) => {}
            Err(error) => {
                assert_eq!(error, Error::DiskFull);
                return n - 1;
            }
        }
    }
    panic!("there is room for everything");
}

/// Each row holds what the last committed update of it wrote.
fn check_rows(f: &Fixture, done: i64) {
    let mut reader = f.session();
    for id in 1..=40 {
        let last = (1..=done).rev().find(|n| n % 40 + 1 == id).unwrap_or(0);
        assert_eq!(f.get(&mut reader, id), Some((last, text(last))), "row {id} after {done} updates");
    }
}

/// With undo that cannot be written out: `config` says which bound is met. Background work runs, as in a server.
fn full_undo(config: EngineConfig, warning: &str) {
    let (f, warnings) = populated(config);
    let mut old = f.session();
    assert_eq!(f.get(&mut old, 1), Some((0, text(0))));
    f.disk.set_full(Some("undo"));
    f.engine.start_background().unwrap();
    let mut s = f.engine.connect();
    let done = update_until_full(&f, &mut s);
    assert!(done > 40, "{done}");
    // Reads go on, of what is old, too.
    check_rows(&f, done);
    assert_eq!(f.get(&mut old, 1), Some((0, text(0))));
    // Writers may be refused a moment before it is told why.
    let told = || warnings.lock().iter().any(|said| said.contains(warning));
    assert!(
        (0..100_000_000_u64).any(|_| told() || {
            std::thread::yield_now();
            false
        }),
        "{:?}",
        *warnings.lock()
    );
    // With room again writes go on, by themselves; until what waits is written out one may be refused once more.
    f.disk.set_full(None);
    let mut tries = 0_u64;
    for n in done + 1..done + 100 {
        while let Err(error) = update(&f, &mut s, n) {
            assert!(matches!(error, Error::DiskFull | Error::LockWaitTimeout), "{error}");
            tries += 1;
            assert!(tries < 100_000_000, "it stays full");
            std::thread::yield_now();
        }
    }
    assert_eq!(f.get(&mut old, 1), Some((0, text(0))));
    drop((s, old));
    f.engine.close(false).expect("closes");
    let f = f.crash();
    check_rows(&f, done + 99);
    // What is to be purged may need more log than is left: somebody has to take checkpoints.
    f.engine.start_background().unwrap();
    while f.engine.history.len() > 0 {
        std::thread::yield_now();
    }
    f.engine.close(true).expect("closes");
    f.crash().check_purged(40);
}

#[test]
fn undo_past_twice_its_memory_fails_writers_until_there_is_room() {
    let wal = wal::WalConfig { capacity_bytes: 64 << 20, segment_bytes: 1 << 20, ..EngineConfig::small().wal };
    let undo = undo::UndoConfig { memory_bytes_max: 6 << 20, ..EngineConfig::small().undo };
    full_undo(EngineConfig { wal, undo, prune_lag: u64::MAX / 2, ..EngineConfig::small() }, "undo file: disk full; it stays in memory");
}

#[test]
fn checkpoints_without_room_fail_writers_for_whom_the_log_has_none() {
    full_undo(EngineConfig::small(), "checkpoint: disk full");
}

#[test]
fn a_full_data_file_or_log_fails_writers_until_there_is_room() {
    for path in ["data", "log/"] {
        let (f, _) = populated(EngineConfig::small());
        f.disk.set_full(Some(path));
        let mut s = f.engine.connect();
        let mut next = 100;
        let rolled_back = loop {
            s.begin(Isolation::RepeatableRead, false);
            match f.insert(&mut s, next, next, &text(next), None) {
                Ok(()) => s.commit().unwrap(),
                Err(error) => {
                    assert_eq!(error, Error::DiskFull, "{path}");
                    break s.rollback();
                }
            }
            next += 1;
            assert!(next < 100_000, "{path} is never full");
            // For want of a room in the file of a checkpoint the log may only fill what it has.
            if path == "data" && f.engine.wal.age() > f.engine.wal.capacity() / 2 {
                f.engine.pool.flush_all().unwrap();
                f.engine.checkpoint().unwrap();
            }
        };
        assert!(next > 110, "{path}: {next}");
        let has_all = |f: &Fixture, end: i64| {
            let mut reader = f.session();
            assert!((100..end).all(|id| f.get(&mut reader, id) == Some((id, text(id)))), "{path}");
            assert_eq!(f.get(&mut reader, end), None);
        };
        has_all(&f, next);
        f.disk.set_full(None);
        match rolled_back {
            Ok(()) => {}
            Err(error) => assert_eq!((error, f.engine.roll_back_abandoned()), (Error::DiskFull, 1), "{path}"),
        }
        for _ in 0..50 {
            s.begin(Isolation::RepeatableRead, false);
            f.insert(&mut s, next, next, &text(next), None).unwrap();
            s.commit().unwrap();
            next += 1;
        }
        drop(s);
        let f = f.crash();
        has_all(&f, next);
        f.check();
    }
}
