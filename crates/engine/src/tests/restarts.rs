//! Restarts again and again: in the middle of redo, in the middle of a rollback, with workers; nothing grows, and how far they are is told.

use super::*;
use crate::rollback::STRETCH;
use sync::atomic::AtomicBool;
use sync::{Mutex, Rank};

fn configured(redo_workers: usize) -> EngineConfig {
    let on_warning = Arc::new(|text: &str| panic!("warning: {text}"));
    EngineConfig { redo_workers, on_warning, ..EngineConfig::small() }
}

fn open_with(disk: &Arc<SimDisk>, config: EngineConfig) -> Result<Arc<Engine>> {
    let disk: Arc<dyn Disk> = disk.clone();
    Engine::open(disk, Arc::new(SimClock::new(0)), config)
}

impl Fixture {
    /// The process dies; what it has written stays. Recovery with workers.
    fn kill(self, redo_workers: usize) -> Fixture {
        let Fixture { disk, engine, spec, table } = self;
        disk.kill();
        drop((engine, table));
        Fixture::with(disk.clone(), open_with(&disk, configured(redo_workers)).unwrap(), spec)
    }

    /// Inserts and updates in an order of its own, one transaction for each.
    fn load(&self, random: &mut Random, count: u64, ids: u64) {
        let mut s = self.engine.connect();
        s.set_flush_policy(FlushPolicy::Lazy);
        for _ in 0..count {
            s.begin(Isolation::RepeatableRead, false);
            let (id, k) = (random.below(ids) as i64, random.below(1000) as i64);
            let text = "t".repeat(random.below(400) as usize);
            match self.update(&mut s, id, k, &text).unwrap() {
                Modified::NotFound => self.insert(&mut s, id, k, &text, None).unwrap(),
                other => assert_eq!(other, Modified::Replaced),
            }
            s.commit().unwrap();
        }
        self.engine.wal.flush_to(self.engine.wal.lsn_head()).unwrap();
    }

    fn contents(&self) -> Vec<(i64, i64, usize)> {
        let mut session = self.session();
        let mut rows = Vec::new();
        let mut scan = session.scan(&self.table, 0, KeyRange::all(), Direction::Forward, Read::Snapshot).unwrap();
        scan.for_each(|row, _| {
            rows.push((int(row, 0), int(row, 1), row.column_bytes(2).unwrap().unwrap().len()));
            Step::Continue
        })
        .unwrap();
        rows
    }

    fn roll_back(&self) {
        self.engine.roll_back_losers(&AtomicBool::new(false));
    }
}

#[test]
fn workers_redo_what_one_thread_redoes() {
    let mut random = Random::new(seed());
    for workers in [1, 2, 3, 8] {
        let f = Fixture::new();
        f.load(&mut random, 1500, 600);
        let before = f.contents();
        let f = f.kill(workers);
        assert!(f.engine.redo_report().page_ops > 1500);
        assert_eq!(f.contents(), before, "{workers} workers");
        f.check_purged(before.len() as u64);
    }
}

#[test]
fn a_crash_at_any_change_that_redo_makes_is_recovered() {
    let mut random = Random::new(seed());
    let mut crashed = 0;
    for round in 0..24 {
        let f = Fixture::new();
        // More pages than frames: redo writes.
        f.load(&mut random, 1500, 4000);
        let before = f.contents();
        let Fixture { disk, engine, spec, table } = f;
        disk.kill();
        drop((engine, table));
        for _ in 0..2 {
            disk.crash_at(1 + random.below(15));
            let opened = open_with(&disk, configured(round % 4));
            crashed += u32::from(opened.is_err());
            drop(opened);
            match random.below(2) {
                0 => _ = disk.crash(),
                _ => disk.kill(),
            }
        }
        let f = Fixture::with(disk.clone(), open_with(&disk, configured(round % 4)).unwrap(), spec);
        assert_eq!(f.contents(), before);
        f.check_purged(before.len() as u64);
    }
    assert!(crashed > 4, "{crashed} of 48");
}

#[test]
fn thirty_kills_make_neither_memory_nor_the_log_to_read_grow() {
    let mut random = Random::new(seed());
    let mut f = Fixture::new();
    let mut expected = Vec::new();
    for round in 0..30 {
        f.load(&mut random, 200, 200);
        // A transaction that stays unfinished, each time.
        let mut loser = f.session();
        f.insert(&mut loser, 1_000_000, 1, "lost", None).unwrap();
        f.engine.wal.flush_to(f.engine.wal.lsn_head()).unwrap();
        std::mem::forget(loser);
        let before = f.contents();
        f = f.kill(2);
        let redone = f.engine.redo_report().log_bytes;
        assert!(redone < 1 << 20, "round {round}: {redone} bytes of log to read");
        f.roll_back();
        f.engine.settle(&AtomicBool::new(false)).unwrap();
        assert_eq!(f.engine.wal.redo_lsn(), f.engine.wal.lsn_head(), "round {round}");
        f.engine.purge_all();
        f.engine.undo.trim();
        assert_eq!(f.engine.undo.live_bytes(), 0);
        assert!(f.engine.undo.stats().memory_bytes <= 8 << 20, "round {round}: {:?}", f.engine.undo.stats());
        expected = f.contents();
        assert_eq!(expected, before);
    }
    f.check_purged(expected.len() as u64);
}

/// One transaction of `rows` rows, not finished, its changes in the log.
fn large_loser(f: &Fixture, rows: i64) {
    let mut s = f.session();
    for id in 0..rows {
        f.insert(&mut s, id, id, "large", Some(id)).unwrap();
    }
    f.engine.wal.flush_to(f.engine.wal.lsn_head()).unwrap();
    std::mem::forget(s);
}

#[test]
fn an_interrupted_rollback_goes_on_where_it_was() {
    let rows = 3000;
    let f = Fixture::new();
    let mut s = f.session();
    f.insert(&mut s, -1, 0, "stays", Some(-1)).unwrap();
    s.commit().unwrap();
    drop(s);
    large_loser(&f, rows);
    // Its undo is in the checkpoint from here on, not in the log that is read.
    f.engine.pool.flush_all().unwrap();
    f.engine.checkpoint().unwrap();
    let mut f = f.kill(0);
    let mut left = rows as u64;
    for round in 0.. {
        // Serving while it is rolled back.
        let mut s = f.session();
        assert_eq!(f.get(&mut s, -1).unwrap().1, "stays");
        s.commit().unwrap();
        drop(s);
        assert!(f.engine.undo_records_to_count() <= left, "round {round}: the restart found more to take back than was left");
        let again = f.engine.roll_back_next(&AtomicBool::new(true));
        if !again || f.engine.losers.lock().waiting.is_empty() {
            break;
        }
        left -= STRETCH;
        if round % 2 == 0 {
            f.engine.checkpoint().unwrap();
        } else {
            f.engine.wal.flush_to(f.engine.wal.lsn_head()).unwrap();
        }
        f = f.kill(0);
    }
    assert!(left <= STRETCH);
    f.engine.wait_for_recovered(Duration::ZERO).unwrap();
    f.check_purged(1);
}

#[test]
fn how_far_redo_and_rollback_are_is_told() {
    const ROWS: i64 = 3000;
    let f = Fixture::new();
    large_loser(&f, ROWS);
    let told = Arc::new(Mutex::new(Rank::Leaf, Vec::new()));
    let notes = Arc::clone(&told);
    let on_note = Arc::new(move |text: &str| notes.lock().push(text.to_owned()));
    let Fixture { disk, engine, spec, table } = f;
    disk.kill();
    drop((engine, table));
    let f = Fixture::with(disk.clone(), open_with(&disk, EngineConfig { on_note, ..configured(2) }).unwrap(), spec);
    let said: Vec<String> = std::mem::take(&mut *told.lock());
    let percent = |line: &String| line.strip_suffix(" % of what there may be")?.rsplit(' ').next()?.parse::<u64>().ok();
    let percents: Vec<u64> = said.iter().filter_map(percent).collect();
    assert!(percents.len() >= 2 && percents.is_sorted() && percents.iter().all(|percent| *percent <= 100), "{said:?}");
    let last = said.last().unwrap();
    assert!(last.contains(" MiB of log redone in ") && last.contains("; 1 transactions to roll back, 0 prepared"), "{last}");

    f.roll_back();
    let said: Vec<String> = std::mem::take(&mut *told.lock());
    assert!(said[0].contains(&format!(" goes on: {STRETCH} changes taken back")), "{said:?}");
    assert!(said.last().unwrap().contains(&format!(" done: {ROWS} changes taken back")), "{said:?}");
    assert_eq!(said.len() as u64, ROWS as u64 / STRETCH + 1, "{said:?}");
    f.check_purged(0);
}

#[test]
fn stopping_the_server_does_not_wait_for_a_long_rollback() {
    let f = Fixture::new();
    large_loser(&f, 2000);
    let f = f.kill(0);
    assert!(f.engine.roll_back_next(&AtomicBool::new(true)));
    assert_eq!(f.engine.losers.lock().waiting.len(), 1, "it waits again");
    f.engine.close(true).unwrap();
    let f = f.kill(0);
    assert_eq!(f.engine.redo_report().log_bytes, 0);
    assert_eq!(f.engine.undo_records_to_count(), 2000 - STRETCH);
    f.roll_back();
    f.check_purged(0);
}

#[test]
fn long_and_short_losers_are_rolled_back_by_several_threads() {
    let f = Fixture::new();
    large_loser(&f, 1000);
    for id in 2000..2040 {
        let mut s = f.session();
        f.insert(&mut s, id, id, "short", Some(id)).unwrap();
        std::mem::forget(s);
    }
    f.engine.wal.flush_to(f.engine.wal.lsn_head()).unwrap();
    let f = f.kill(2);
    assert_eq!(f.engine.status().recovering, 41);
    f.engine.start_background().unwrap();
    f.engine.wait_for_recovered(Duration::from_secs(60)).unwrap();
    f.engine.close(true).unwrap();
    f.check_purged(0);
}

#[test]
fn a_disk_too_full_to_spill_undo_refuses_no_start_until_memory_is_at_its_bound() {
    let f = Fixture::new();
    let mut config = configured(0);
    config.wal.capacity_bytes = 16 << 20;
    let Fixture { disk, engine, spec, table } = f;
    engine.close(true).unwrap();
    drop((engine, table));
    let f = Fixture::with(disk.clone(), open_with(&disk, config.clone()).unwrap(), spec);
    // One transaction with some MiB of undo, in the log only.
    let (rows, text) = (50, "u".repeat(2000));
    let mut s = f.session();
    for id in 0..rows {
        f.insert(&mut s, id, 0, &text, Some(id)).unwrap();
    }
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    for k in 0..1500 {
        let text = format!("{k:2000}");
        assert_eq!(f.update(&mut s, i64::from(k) % rows, i64::from(k), &text).unwrap(), Modified::Replaced);
    }
    f.engine.wal.flush_to(f.engine.wal.lsn_head()).unwrap();
    let undo_bytes = f.engine.undo.memory_bytes();
    assert!(undo_bytes > 2 << 20, "{undo_bytes}");
    std::mem::forget(s);
    let Fixture { disk, engine, spec, table } = f;
    disk.kill();
    drop((engine, table));

    disk.set_full(Some("undo"));
    config.undo.memory_bytes_max = undo_bytes / 4;
    let warnings = Arc::new(Mutex::new(Rank::Leaf, Vec::new()));
    let told = Arc::clone(&warnings);
    config.on_warning = Arc::new(move |text: &str| told.lock().push(text.to_owned()));
    assert_eq!(open_with(&disk, config.clone()).err(), Some(Error::DiskFull), "past twice its memory");
    disk.kill();
    warnings.lock().clear();
    config.undo.memory_bytes_max = undo_bytes * 2 / 3;
    let f = Fixture::with(disk.clone(), open_with(&disk, config).unwrap(), spec);
    let told = std::mem::take(&mut *warnings.lock());
    assert_eq!(told.len(), 1, "{told:?}");
    f.roll_back();
    disk.set_full(None);
    f.check_purged(rows as u64);
    assert!(f.contents().iter().all(|(_, k, len)| (*k, *len) == (0, 2000)));
}
