//! A bank on a simulated disk: backups under writing, interrupted, damaged, and points in time, each compared with a ledger of commits.

use backup::{BackupSet, Frame, Kind, Online, Options, Progress, Source, Step, Until, restore, take};
use base::Lsn;
use engine::*;
use env::{Clock, Disk, FileKind, OpenMode, SimClock, SimDisk, SplitMix64 as Random};
use record::{KeyPart, RowLayout};
use std::sync::Arc;
use types::{Collation, ColumnType, Value};
use wal::LogArchive;

const ACCOUNTS: i64 = 200;
const OPENING: i64 = 1000;

/// A seed: `BACKUP_SEED` to replay a run, else another one each time.
fn seeds(count: u64) -> Vec<u64> {
    let fresh = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |t| t.as_nanos() as u64);
    match std::env::var("BACKUP_SEED").ok().and_then(|s| s.parse().ok()) {
        Some(seed) => vec![seed],
        None => {
            let first = fresh();
            (0..count).map(|no| first.wrapping_add(no)).collect()
        }
    }
}

/// Committed balances, and where the log was durable when the commit had returned.
#[derive(Clone, Debug)]
struct Entry {
    lsn: Lsn,
    wall_us: i64,
    balances: Vec<i64>,
}

struct Bank {
    disk: Arc<SimDisk>,
    clock: Arc<SimClock>,
    engine: Arc<Engine>,
    spec: TableSpec,
    table: Arc<Table>,
    ledger: Vec<Entry>,
    random: Random,
}

struct OneTable(TableSpec);

impl TableSource for OneTable {
    fn table_spec(&self, id: TableId) -> Result<Option<TableSpec>> {
        Ok((id == self.0.id).then(|| self.0.clone()))
    }

    fn table_ids(&self) -> engine::Result<Vec<TableId>> {
        Ok(vec![self.0.id])
    }
}

fn open(disk: &Arc<SimDisk>, clock: &Arc<SimClock>) -> Arc<Engine> {
    let disk: Arc<dyn Disk> = disk.clone();
    let clock: Arc<dyn Clock> = clock.clone();
    Engine::open(disk, clock, EngineConfig::small()).expect("an engine")
}

fn key(id: i64) -> Vec<u8> {
    let mut key = Vec::new();
    record::key::encode_part(&ColumnType::int().not_null(), &KeyPart::ascending(0), &Value::Int(id), &mut key);
    key
}

impl Bank {
    fn new(seed: u64) -> Bank {
        println!("replay: BACKUP_SEED={seed}");
        let (disk, clock) = (Arc::new(SimDisk::new(seed)), Arc::new(SimClock::new(1_700_000_000_000_000)));
        let engine = open(&disk, &clock);
        let types = [ColumnType::int().not_null(), ColumnType::int().not_null(), ColumnType::varchar(10_000, Collation::DEFAULT)];
        let index = |parts: Vec<KeyPart>, unique| {
            let (id, root) = engine.create_index_tree().expect("a tree");
            IndexSpec { id, root, parts, unique }
        };
        let spec = TableSpec {
            id: engine.allocate_table_id(),
            layouts: vec![Arc::new(RowLayout::new(&types, 1))],
            indexes: vec![index(vec![KeyPart::ascending(0)], true), index(vec![KeyPart::ascending(1)], false)],
            auto_increment_start: 1,
            auto_increment_column: None,
        };
        engine.wal().flush_all().expect("a log");
        engine.set_table_source(Arc::new(OneTable(spec.clone())));
        let table = engine.open_table(spec.clone()).expect("a table");
        let mut bank = Bank { disk, clock, engine, spec, table, ledger: Vec::new(), random: Random::new(seed) };
        let mut session = bank.session();
        for id in 0..ACCOUNTS {
            let mut row = bank.row(id, OPENING, "x".repeat(500));
            session.insert(&bank.table, &mut row).expect("an insert");
        }
        session.commit().expect("a commit");
        drop(session);
        bank.note(vec![OPENING; ACCOUNTS as usize]);
        bank.flush();
        bank
    }

    fn session(&self) -> Session {
        let mut session = self.engine.connect();
        session.begin(Isolation::RepeatableRead, false);
        session
    }

    fn row(&self, id: i64, balance: i64, pad: String) -> Vec<u8> {
        let mut row = Vec::new();
        self.table.layout().encode(&[Value::Int(id), Value::Int(balance), pad.into()], &mut row).expect("a row");
        row
    }

    fn set(&self, session: &mut Session, id: i64, balance: i64, pad: usize) {
        let done = session.modify(&self.table, &key(id), |row, new| {
            let values = [row.value(0).unwrap(), Value::Int(balance), "p".repeat(pad).into()];
            row.layout().encode(&values, new).expect("a row");
            Modify::Replace
        });
        assert_eq!(done.expect("an update"), Modified::Replaced);
    }

    fn note(&mut self, balances: Vec<i64>) {
        self.ledger.push(Entry { lsn: self.engine.wal().durable(), wall_us: self.clock.wall_us(), balances });
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random.next() % end
    }

    /// Pages and a checkpoint, as the background work would.
    fn flush(&self) {
        self.engine.pool().flush_all().expect("pages are written");
        self.engine.checkpoint().expect("a checkpoint");
    }

    /// A transfer, committed or taken back; now and then a checkpoint and purge.
    fn work(&mut self) {
        let mut balances = self.ledger.last().expect("opened").balances.clone();
        let (from, to) = (self.below(ACCOUNTS as u64 - 1) as usize, self.below(ACCOUNTS as u64 - 1) as usize);
        let amount = self.below(50) as i64;
        let (commits, pad) = (self.below(8) > 0, self.below(1500) as usize);
        self.clock.advance_ns(1_000_000);
        let mut session = self.session();
        balances[from] -= amount;
        self.set(&mut session, from as i64, balances[from], pad);
        balances[to] += amount;
        self.set(&mut session, to as i64, balances[to], 10);
        if commits {
            session.commit().expect("a commit");
            drop(session);
            self.note(balances);
        } else {
            session.rollback().expect("a rollback");
        }
        match self.below(20) {
            0 => self.flush(),
            1 => self.engine.purge_all(),
            2 => self.engine.checkpoint().expect("a checkpoint"),
            _ => {}
        }
        if self.engine.wal().age() > self.engine.wal().capacity() / 2 {
            self.flush();
        }
    }

    /// What the ledger has at a position.
    fn at(&self, lsn: Lsn) -> &Entry {
        self.ledger.iter().rev().find(|entry| entry.lsn <= lsn).expect("after the opening")
    }

    /// The balances in a restored directory, after recovery.
    fn restored(&self, disk: &Arc<SimDisk>) -> (Vec<i64>, Arc<Engine>) {
        let engine = open(disk, &self.clock);
        engine.set_table_source(Arc::new(OneTable(self.spec.clone())));
        while engine.roll_back_loser() {}
        let table = engine.open_table(self.spec.clone()).expect("a table");
        engine.check_table(&table).expect("a sound table");
        let mut session = engine.connect();
        session.begin(Isolation::RepeatableRead, false);
        let mut balances = Vec::new();
        let mut scan = session.scan(&table, 0, KeyRange::all(), Direction::Forward, Read::Snapshot).expect("a scan");
        scan.for_each(|row, _| {
            match row.value(1).expect("a value") {
                Value::Int(balance) => balances.push(balance),
                other => panic!("{other:?}"),
            }
            engine::Step::Continue
        })
        .expect("a scan");
        drop(scan);
        drop(session);
        (balances, engine)
    }

    fn online(&self) -> Online {
        Online::new(Arc::clone(&self.engine), Arc::default(), "test")
    }

    /// A backup with work between its steps; `stop` ends it after so many.
    fn back_up(&mut self, target: &Arc<SimDisk>, options: &Options, stop: Option<usize>) -> backup::Result<backup::Outcome> {
        let mut online = self.online();
        let clock = Arc::clone(&self.clock);
        let mut steps = 0;
        let mut source = |step: Step| -> backup::Result<Frame> {
            steps += 1;
            if stop.is_some_and(|stop| steps > stop) {
                return Err(backup::Error::Io("the connection is lost".into()));
            }
            let frame = online.step(step)?;
            for _ in 0..self.below(6) {
                self.work();
            }
            Ok(frame)
        };
        let target: Arc<dyn Disk> = target.clone();
        take(&mut source, target, options, &*clock, &mut |_: Progress| {})
    }
}

fn restore_to(set_disk: &Arc<SimDisk>, archive: Option<&SimDisk>, until: Until) -> backup::Result<(Arc<SimDisk>, backup::Restored)> {
    let disk: Arc<dyn Disk> = set_disk.clone();
    let mut set = BackupSet::open(disk)?;
    set.verify(|_| {})?;
    let target = Arc::new(SimDisk::new(7));
    let directory: Arc<dyn Disk> = target.clone();
    let restored = restore(&mut set, directory, archive.map(|disk| disk as &dyn Disk), until, 5, |_, _| {})?;
    // What was not synced is not there.
    target.crash();
    Ok((target, restored))
}

#[test]
fn a_backup_under_writes_is_the_state_at_its_end() {
    for seed in seeds(12) {
        let mut bank = Bank::new(seed);
        for _ in 0..20 {
            bank.work();
        }
        // One that stays open, and one that is prepared: the last account is theirs.
        let mut open_one = bank.session();
        bank.set(&mut open_one, ACCOUNTS - 1, -1, 20);
        let begun = bank.engine.wal().durable();
        let target = Arc::new(SimDisk::new(seed));
        let options = Options { compression: (seed % 2 == 0).then_some(1), rate: None };
        let outcome = bank.back_up(&target, &options, None).expect("a backup");
        assert!(!outcome.resumed && outcome.manifest.end_lsn >= begun);
        assert_eq!(bank.engine.wal().pin_count(), 0, "seed {seed}");
        let (directory, restored) = restore_to(&target, None, Until::Last).expect("a restore");
        assert_eq!(restored.end, outcome.manifest.end_lsn);
        let (balances, engine) = bank.restored(&directory);
        assert_eq!(balances, bank.at(restored.end).balances, "seed {seed}");
        assert_eq!(balances.iter().sum::<i64>(), OPENING * ACCOUNTS);
        // And it is an engine like any other: it goes on, and survives a crash.
        engine.close(true).expect("closes");
        drop(engine);
        directory.crash();
        assert_eq!(bank.restored(&directory).0, balances);
        open_one.rollback().expect("a rollback");
    }
}

#[test]
fn a_prepared_transaction_comes_along() {
    let mut bank = Bank::new(3);
    let xid = Xid { format_id: 1, gtrid: (*b"global").into(), bqual: (*b"b").into() };
    let mut session = bank.session();
    assert!(session.claim_xid(&xid));
    bank.set(&mut session, ACCOUNTS - 1, 77, 20);
    let tables = SharedTables::new(session.lock_owner());
    session.prepare(&xid, tables).expect("prepares");
    let target = Arc::new(SimDisk::new(1));
    bank.back_up(&target, &Options::default(), None).expect("a backup");
    let (directory, _) = restore_to(&target, None, Until::Last).expect("a restore");
    let engine = open(&directory, &bank.clock);
    engine.set_table_source(Arc::new(OneTable(bank.spec.clone())));
    assert_eq!(engine.prepared_xids(), std::slice::from_ref(&xid));
    let mut session = engine.connect();
    assert!(session.commit_prepared(&xid).expect("commits"));
    drop(session);
    drop(engine);
    assert_eq!(bank.restored(&directory).0[ACCOUNTS as usize - 1], 77);
}

#[test]
fn an_interrupted_backup_goes_on() {
    for seed in seeds(12) {
        let mut bank = Bank::new(seed);
        let target = Arc::new(SimDisk::new(seed));
        let mut stop = 1 + bank.below(4) as usize;
        let mut tries = 0;
        // Whether what an attempt has left is certainly there.
        let mut is_left = false;
        loop {
            tries += 1;
            match bank.back_up(&target, &Options::default(), Some(stop)) {
                Ok(outcome) => {
                    assert!(outcome.resumed || !is_left, "seed {seed}: it began anew");
                    break;
                }
                Err(backup::Error::Io(text)) if text == "the connection is lost" => {}
                Err(error) => panic!("seed {seed}: {error}"),
            }
            // The pin is gone: sometimes much is written meanwhile, and the log is recycled.
            for _ in 0..if bank.below(2) == 0 { 600 } else { 5 } {
                bank.work();
            }
            if bank.below(3) == 0 {
                // Power loss at the backup's disk.
                target.crash();
                is_left = false;
            } else {
                is_left = true;
            }
            stop += 1 + bank.below(3) as usize;
        }
        println!("{tries} tries, {} steps at last", stop);
        let (directory, restored) = restore_to(&target, None, Until::Last).expect("a restore");
        assert_eq!(bank.restored(&directory).0, bank.at(restored.end).balances, "seed {seed}");
        let refused = bank.back_up(&target, &Options::default(), None).expect_err("it is complete");
        assert!(matches!(refused, backup::Error::Refused(_)), "{refused}");
    }
}

#[test]
fn a_damaged_backup_is_refused() {
    let mut bank = Bank::new(11);
    let target = Arc::new(SimDisk::new(1));
    bank.back_up(&target, &Options::default(), None).expect("a backup");
    let part = target.open("part-00000", OpenMode::Existing, FileKind::Buffered).expect("a part");
    let bytes = part.len().expect("a length");
    let mut random = Random::new(5);
    for _ in 0..30 {
        let (offset, bit) = (random.next() % bytes, (random.next() % 8) as u8);
        target.flip_bit("part-00000", offset, bit).expect("flips");
        let error = restore_to(&target, None, Until::Last).expect_err("it is damaged");
        assert!(matches!(error, backup::Error::Damaged(_)), "at {offset}: {error}");
        target.flip_bit("part-00000", offset, bit).expect("flips");
    }
    restore_to(&target, None, Until::Last).expect("as it was");
    // A part that is cut, and one that is gone.
    part.set_len(bytes - 1).expect("cuts");
    assert!(matches!(restore_to(&target, None, Until::Last), Err(backup::Error::Damaged(_))));
    target.remove("manifest").expect("removes");
    assert!(matches!(restore_to(&target, None, Until::Last), Err(backup::Error::Refused(_))));
}

#[test]
fn a_damaged_page_of_the_server_ends_the_backup_and_is_named() {
    let bank = Bank::new(12);
    bank.flush();
    bank.disk.flip_bit("data", 5 * 16384 + 900, 3).expect("flips");
    let target: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
    let error = take(&mut bank.online(), target, &Options::default(), &*bank.clock, &mut |_| {}).expect_err("a damaged page");
    assert_eq!(error, backup::Error::DamagedPage(PageNo(5)));
    assert_eq!(bank.engine.wal().pin_count(), 0);
}

#[test]
fn any_point_after_the_backup_can_be_reached() {
    for seed in seeds(8) {
        let mut bank = Bank::new(seed);
        let archive_disk = Arc::new(SimDisk::new(seed));
        let directory: Arc<dyn Disk> = archive_disk.clone();
        let mut archive = LogArchive::open(bank.engine.wal(), directory).expect("an archive");
        for _ in 0..50 {
            bank.work();
        }
        let target = Arc::new(SimDisk::new(seed));
        let outcome = bank.back_up(&target, &Options::default(), None).expect("a backup");
        for _ in 0..300 {
            bank.work();
            if bank.below(10) == 0 {
                archive.catch_up().expect("archives");
            }
        }
        archive.catch_up().expect("archives");
        archive_disk.crash();
        let (first, last) = (outcome.manifest.end_lsn.0, bank.engine.wal().durable().0);
        for _ in 0..6 {
            let lsn = Lsn(first + bank.below(last - first + 1));
            let (directory, restored) = restore_to(&target, Some(&archive_disk), Until::Lsn(lsn)).expect("a restore");
            assert!(restored.end <= lsn);
            assert_eq!(bank.restored(&directory).0, bank.at(lsn).balances, "seed {seed} lsn {lsn}");
        }
        let times: Vec<Entry> = bank.ledger.iter().filter(|entry| entry.lsn >= outcome.manifest.end_lsn).cloned().collect();
        let entry = &times[bank.below(times.len() as u64) as usize];
        let (directory, _) = restore_to(&target, Some(&archive_disk), Until::Time(entry.wall_us)).expect("a restore");
        assert_eq!(bank.restored(&directory).0, entry.balances, "seed {seed} time {}", entry.wall_us);
        // Before the backup's end, or past the archive's, nothing is pretended.
        for lsn in [first - 8, last + 8] {
            let refused = restore_to(&target, Some(&archive_disk), Until::Lsn(Lsn(lsn))).expect_err("out of reach");
            assert!(matches!(refused, backup::Error::Refused(_)), "{refused}");
        }
        let (directory, restored) = restore_to(&target, Some(&archive_disk), Until::Last).expect("a restore");
        assert_eq!((restored.end, bank.restored(&directory).0), (Lsn(last), bank.at(Lsn(last)).balances.clone()));
    }
}

#[test]
fn an_archive_of_another_history_is_refused() {
    let mut bank = Bank::new(21);
    let archive_disk = Arc::new(SimDisk::new(1));
    let dyn_archive: Arc<dyn Disk> = archive_disk.clone();
    let mut archive = LogArchive::open(bank.engine.wal(), Arc::clone(&dyn_archive)).expect("an archive");
    let target = Arc::new(SimDisk::new(1));
    let outcome = bank.back_up(&target, &Options::default(), None).expect("a backup");
    for _ in 0..40 {
        bank.work();
    }
    archive.catch_up().expect("archives");
    drop(archive);
    // A point in time in the past: the restored engine's log ends before the archive does.
    let (directory, _) = restore_to(&target, Some(&archive_disk), Until::Lsn(outcome.manifest.end_lsn)).expect("a restore");
    let (_, engine) = bank.restored(&directory);
    assert!(LogArchive::open(engine.wal(), Arc::clone(&dyn_archive)).is_err());
    // Its log goes on until it is longer than the archive, and still is not what the archive has.
    let mut session = engine.connect();
    let table = engine.open_table(bank.spec.clone()).expect("a table");
    while engine.wal().durable().0 < bank.engine.wal().durable().0 + 1000 {
        session.begin(Isolation::RepeatableRead, false);
        let mut row = bank.row(1000 + engine.wal().durable().0 as i64 % 1_000_000, 0, "z".repeat(200));
        session.insert(&table, &mut row).expect("an insert");
        session.commit().expect("a commit");
    }
    assert!(LogArchive::open(engine.wal(), dyn_archive).is_err());
    // Nor is the archive one for a backup of the new history.
    let mut online = Online::new(Arc::clone(&engine), Arc::default(), "test");
    let second = Arc::new(SimDisk::new(2));
    let second_disk: Arc<dyn Disk> = second.clone();
    take(&mut online, second_disk, &Options::default(), &*bank.clock, &mut |_| {}).expect("a backup");
    let refused = restore_to(&second, Some(&archive_disk), Until::Last).expect_err("another history");
    assert!(matches!(refused, backup::Error::Refused(_)), "{refused}");
}

#[test]
fn a_pin_gives_way_when_too_much_is_kept() {
    let mut bank = Bank::new(31);
    let mut online = bank.online();
    assert_eq!(online.step(Step::Start).expect("starts").kind, Kind::Begin);
    let start = bank.engine.wal().redo_lsn();
    while bank.engine.wal().durable().0 < start.0 + (20 << 20) {
        bank.work();
    }
    assert_eq!(online.step(Step::Log(start.0 / 4096 * 4096)), Err(backup::Error::LogGone));
}

/// A bit of the log or of undo that rots in the server's own files, below what is durable: no backup is said to be complete with it.
#[test]
fn damage_of_log_and_undo_at_the_server_is_found_when_the_backup_is_made() {
    for which in ["log", "undo"] {
        let bank = Bank::new(41);
        // Undo of a transaction that stays open, written out by the backup's checkpoint.
        let mut open_one = bank.session();
        for id in 100..150 {
            bank.set(&mut open_one, id, -1, 20);
        }
        let mut online = bank.online();
        let disk = Arc::clone(&bank.disk);
        let redo = std::cell::Cell::new(0);
        let mut damaged = 0;
        let mut source = |step: Step| -> backup::Result<Frame> {
            if which == "log" && matches!(step, Step::Finish) {
                let segment_bytes = bank.engine.wal().segment_bytes();
                let (number, offset) = (redo.get() / segment_bytes, redo.get() % segment_bytes + 40);
                disk.flip_bit(&format!("log/{}", wal::segment_name(number)), offset, 2).expect("flips");
                damaged += 1;
            }
            let frame = online.step(step)?;
            match step {
                Step::Start => {
                    redo.set(frame.first);
                    for _ in 0..20 {
                        let balances = bank.ledger.last().expect("opened").balances.clone();
                        let mut session = bank.session();
                        bank.set(&mut session, 5, balances[5], 100);
                        session.commit().expect("a commit");
                    }
                    if which == "undo" {
                        disk.flip_bit("undo/segments", 60, 2).expect("flips");
                        damaged += 1;
                    }
                }
                // What is asked for from the log is only copied once it is damaged.
                Step::Log(_) if which == "log" && damaged == 0 => {
                    return Ok(Frame { next: frame.first, body: Vec::new(), ..frame });
                }
                _ => {}
            }
            Ok(frame)
        };
        let target = Arc::new(SimDisk::new(1));
        let directory: Arc<dyn Disk> = target.clone();
        let error = take(&mut source, directory, &Options::default(), &*bank.clock, &mut |_| {}).expect_err("it is damaged");
        assert!(matches!(&error, backup::Error::Damaged(text) if text.contains(which)), "{which}: {error}");
        assert!(damaged > 0 && !target.exists("manifest").expect("asks"));
        open_one.rollback().expect("a rollback");
    }
}

#[test]
fn a_backup_after_a_crash_has_sound_undo() {
    for seed in seeds(6) {
        let mut bank = Bank::new(seed);
        for _ in 0..60 {
            bank.work();
        }
        let mut open_one = bank.session();
        for id in 0..50 {
            bank.set(&mut open_one, id, -1, 20);
        }
        std::mem::forget(open_one);
        bank.engine.wal().flush_all().expect("a log");
        if seed % 2 == 0 {
            bank.engine.checkpoint().expect("a checkpoint");
        }
        bank.disk.crash();
        let engine = open(&bank.disk, &bank.clock);
        engine.set_table_source(Arc::new(OneTable(bank.spec.clone())));
        // What recovery has put back is in the checkpoint that the backup takes.
        let mut online = Online::new(Arc::clone(&engine), Arc::default(), "test");
        let target = Arc::new(SimDisk::new(seed));
        let directory: Arc<dyn Disk> = target.clone();
        take(&mut online, directory, &Options::default(), &*bank.clock, &mut |_| {}).expect("a backup");
        let (directory, _) = restore_to(&target, None, Until::Last).expect("a restore");
        assert_eq!(bank.restored(&directory).0, bank.ledger.last().expect("opened").balances, "seed {seed}");
    }
}

#[test]
fn a_restore_that_is_refused_leaves_an_empty_directory() {
    let mut bank = Bank::new(51);
    let archive_disk = Arc::new(SimDisk::new(1));
    let mut archive = LogArchive::open(bank.engine.wal(), archive_disk.clone()).expect("an archive");
    let target = Arc::new(SimDisk::new(1));
    let outcome = bank.back_up(&target, &Options::default(), None).expect("a backup");
    archive.catch_up().expect("archives");
    let directory: Arc<dyn Disk> = Arc::new(SimDisk::new(9));
    let mut set = BackupSet::open(target.clone()).expect("complete");
    let too_far = Until::Lsn(Lsn(bank.engine.wal().durable().0 + 800));
    let refused = restore(&mut set, Arc::clone(&directory), Some(&*archive_disk), too_far, 5, |_, _| {}).expect_err("out of reach");
    assert!(matches!(refused, backup::Error::Refused(_)), "{refused}");
    assert!(backup::is_empty_directory(&*directory).expect("lists"), "{:?}", directory.list("log"));
    // The same directory takes the next attempt.
    let restored = restore(&mut set, directory, None, Until::Last, 5, |_, _| {}).expect("a restore");
    assert_eq!(restored.end, outcome.manifest.end_lsn);
}

/// After a crash a server's file may end before pages that an interrupted backup has copied: they are asked for anew.
#[test]
fn pages_past_the_end_of_the_file_are_not_compared() {
    let mut bank = Bank::new(61);
    bank.flush();
    let target = Arc::new(SimDisk::new(1));
    let pages = bank.engine.pool().store().page_count();
    // One that was interrupted behind pages that are not there any more.
    let mut online = bank.online();
    let mut source = |step: Step| -> backup::Result<Frame> {
        match step {
            Step::Finish => Err(backup::Error::Io("the connection is lost".into())),
            Step::Pages(first) if first == pages => Ok(Frame { kind: Kind::Pages, first, next: pages + 64, body: Vec::new() }),
            Step::Pages(first) if first > pages => Ok(Frame { kind: Kind::Pages, first, next: first, body: Vec::new() }),
            Step::Check(..) => unreachable!("nothing was copied before"),
            step => online.step(step),
        }
    };
    take(&mut source, target.clone(), &Options::default(), &*bank.clock, &mut |_| {}).expect_err("interrupted");
    drop(online);
    while bank.engine.wal().durable().0 < 24 << 20 {
        bank.work();
    }
    let grown = bank.engine.pool().store().page_count();
    println!("{pages} pages, {grown} later");
    let mut online = bank.online();
    let mut source = |step: Step| -> backup::Result<Frame> {
        match step {
            // As if the file had not grown.
            Step::Resume(lsn) => Ok(Frame { kind: Kind::Gone, first: lsn, next: lsn, body: Vec::new() }),
            Step::Check(_, next, _) if next > grown.max(pages) => panic!("pages past the end are compared"),
            step => online.step(step),
        }
    };
    let outcome = take(&mut source, target.clone(), &Options::default(), &*bank.clock, &mut |_| {}).expect("a backup");
    assert!(outcome.resumed);
    let (directory, restored) = restore_to(&target, None, Until::Last).expect("a restore");
    assert_eq!(bank.restored(&directory).0, bank.at(restored.end).balances);
}

#[test]
fn a_pruned_archive_serves_the_backups_that_are_left() {
    let mut bank = Bank::new(71);
    let archive_disk = Arc::new(SimDisk::new(1));
    let mut archive = LogArchive::open(bank.engine.wal(), archive_disk.clone()).expect("an archive");
    let mut backups = Vec::new();
    for no in 0..3 {
        for _ in 0..300 {
            bank.work();
        }
        archive.catch_up().expect("archives");
        let target = Arc::new(SimDisk::new(no));
        bank.back_up(&target, &Options::default(), None).expect("a backup");
        backups.push(target);
    }
    for _ in 0..100 {
        bank.work();
    }
    let open = |no: usize| BackupSet::open(backups[no].clone()).expect("complete");
    // The archive does not reach the last backup's end yet: it might be another server's.
    assert!(matches!(backup::prune_archive(&*archive_disk, &mut [open(2)]), Err(backup::Error::Refused(_))));
    assert!(backup::prune_archive(&*archive_disk, &mut []).is_err());
    archive.catch_up().expect("archives");
    let before = archive_disk.list("").expect("lists").len();
    let pruned = backup::prune_archive(&*archive_disk, &mut [open(2), open(1)]).expect("prunes");
    assert!(pruned.segments > 0 && pruned.from <= open(1).manifest().expect("complete").redo_lsn, "{pruned:?}");
    assert!(archive_disk.list("").expect("lists").len() < before);
    archive_disk.crash();
    // The server knows nothing of it, and goes on; its own note does not bring back what was removed.
    for _ in 0..100 {
        bank.work();
    }
    let last = bank.engine.wal().durable();
    let mut archive = LogArchive::open(bank.engine.wal(), archive_disk.clone()).expect("its own archive");
    archive.catch_up().expect("archives");
    let state = wal::ArchiveState::read(&*archive_disk).expect("reads").expect("a state");
    assert!(state.from == pruned.from && state.to == last, "{state:?}");
    for (no, is_reached) in [(0, false), (1, true), (2, true)] {
        match restore_to(&backups[no], Some(&archive_disk), Until::Lsn(last)) {
            Ok((directory, restored)) => {
                assert!(is_reached && restored.end == last);
                assert_eq!(bank.restored(&directory).0, bank.at(last).balances);
            }
            Err(error) => assert!(!is_reached && matches!(error, backup::Error::Refused(_)), "{no}: {error}"),
        }
    }
    // Nothing more to remove, and no other server's backup is an argument to remove anything.
    assert_eq!(backup::prune_archive(&*archive_disk, &mut [open(1)]).expect("prunes").segments, 0);
    let mut stranger = Bank::new(72);
    for _ in 0..10 {
        stranger.work();
    }
    let target = Arc::new(SimDisk::new(5));
    stranger.back_up(&target, &Options::default(), None).expect("a backup");
    let set = BackupSet::open(target).expect("complete");
    let refused = backup::prune_archive(&*archive_disk, &mut [set]).expect_err("another server");
    println!("{refused}");
}
