//! The engine end to end on a simulated disk.

use crate::*;
use env::SplitMix64 as Random;
use env::{Disk, SimClock, SimDisk};
use record::{KeyPart, KeyRestore, RowLayout, RowRef};
use std::sync::Arc;
use std::time::Duration;
use types::{Collation, ColumnType, Value};

mod by_unique_key;
mod check;
mod checkpoints;
mod concurrent;
mod copies;
mod covered;
mod damage;
mod definitions;
mod disk_full;
mod early_release;
pub(crate) mod gaps;
mod keys_scan;
mod locking;
mod log_bytes;
mod lookup;
mod mvcc;
mod offline;
mod prepared;
mod prune;
mod purge;
mod recovery;
mod restarts;
mod runs;
mod staged;
mod statistics;
mod undone;
mod warm;

/// A seed: `ENGINE_SEED` to replay a run, else another one each time.
fn seed() -> u64 {
    let fresh = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |t| t.as_nanos() as u64 | 1);
    let seed = std::env::var("ENGINE_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or_else(fresh);
    println!("replay: ENGINE_SEED={seed}");
    seed
}

struct Fixture {
    disk: Arc<SimDisk>,
    engine: Arc<Engine>,
    spec: TableSpec,
    table: Arc<Table>,
}

fn open(disk: &Arc<SimDisk>) -> Arc<Engine> {
    open_with(disk, EngineConfig::small())
}

fn open_with(disk: &Arc<SimDisk>, config: EngineConfig) -> Arc<Engine> {
    let disk: Arc<dyn Disk> = disk.clone();
    let on_warning = Arc::new(|text: &str| panic!("warning: {text}"));
    Engine::open(disk, Arc::new(SimClock::new(0)), EngineConfig { on_warning, ..config }).expect("an engine")
}

/// Gives the engine the definition of one table by id.
struct OneTable(TableSpec);

impl TableSource for OneTable {
    fn table_spec(&self, id: TableId) -> Result<Option<TableSpec>> {
        Ok((id == self.0.id).then(|| self.0.clone()))
    }

    fn table_ids(&self) -> Result<Vec<TableId>> {
        Ok(vec![self.0.id])
    }
}

impl Fixture {
    /// A table (id INT primary key, k INT key, s VARCHAR, unique key (u INT)).
    fn new() -> Fixture {
        let disk = Arc::new(SimDisk::new(1));
        let engine = open(&disk);
        Fixture::on(disk, engine)
    }

    /// The same with an undo store of this size.
    fn with_undo(undo: undo::UndoConfig) -> Fixture {
        let disk = Arc::new(SimDisk::new(1));
        let engine = open_with(&disk, EngineConfig { undo, ..EngineConfig::small() });
        Fixture::on(disk, engine)
    }

    fn on(disk: Arc<SimDisk>, engine: Arc<Engine>) -> Fixture {
        let types = [
            ColumnType::int().not_null(),
            ColumnType::int().not_null(),
            ColumnType::varchar(100_000, Collation::DEFAULT),
            ColumnType::int(),
        ];
        let index = |parts: Vec<KeyPart>, unique| {
            let (id, root) = engine.create_index_tree().expect("a tree");
            IndexSpec { id, root, parts, unique }
        };
        let spec = TableSpec {
            id: engine.allocate_table_id(),
            layouts: vec![Arc::new(RowLayout::new(&types, 1))],
            indexes: vec![
                index(vec![KeyPart::ascending(0)], true),
                index(vec![KeyPart::ascending(1)], false),
                index(vec![KeyPart::ascending(3)], true),
            ],
            auto_increment_start: 1,
            auto_increment_column: Some(0),
        };
        // As the commit of a CREATE TABLE would: a crash may come before anything else is durable.
        engine.wal.flush_to(engine.wal.lsn_head()).expect("a log");
        Fixture::with(disk, engine, spec)
    }

    fn with(disk: Arc<SimDisk>, engine: Arc<Engine>, spec: TableSpec) -> Fixture {
        engine.set_table_source(Arc::new(OneTable(spec.clone())));
        let table = engine.open_table(spec.clone()).expect("a table");
        Fixture { disk, engine, spec, table }
    }

    /// Power loss, then recovery.
    fn crash(self) -> Fixture {
        let Fixture { disk, engine, spec, table } = self;
        drop((engine, table));
        disk.crash();
        let engine = open(&disk);
        let fixture = Fixture::with(disk, engine, spec);
        fixture.engine.roll_back_losers(&sync::atomic::AtomicBool::new(false));
        fixture
    }

    fn row(&self, id: i64, k: i64, s: &str, u: Option<i64>) -> Vec<u8> {
        let mut row = Vec::new();
        let values = [Value::Int(id), Value::Int(k), s.into(), u.into()];
        self.table.layout().encode(&values, &mut row).expect("a row");
        row
    }

    fn key(&self, id: i64) -> Vec<u8> {
        encoded(&ColumnType::int().not_null(), id)
    }

    fn session(&self) -> Session {
        let mut session = self.engine.connect();
        session.set_lock_wait_timeout(Duration::from_millis(50));
        session.begin(Isolation::RepeatableRead, false);
        session
    }

    fn insert(&self, session: &mut Session, id: i64, k: i64, s: &str, u: Option<i64>) -> Result<()> {
        session.insert(&self.table, &mut self.row(id, k, s, u))
    }

    fn get(&self, session: &mut Session, id: i64) -> Option<(i64, String)> {
        session.get(&self.table, &self.key(id), Read::Snapshot, short).expect("a read")
    }

    fn try_get(&self, session: &mut Session, id: i64) -> Result<Option<(i64, String)>> {
        session.get(&self.table, &self.key(id), Read::Snapshot, short)
    }

    /// Sets k and s.
    fn update(&self, session: &mut Session, id: i64, k: i64, s: &str) -> Result<Modified> {
        session.modify(&self.table, &self.key(id), |row, new| {
            let values = [row.value(0).unwrap(), Value::Int(k), s.into(), row.value(3).unwrap()];
            row.layout().encode(&values, new).expect("a row");
            Modify::Replace
        })
    }

    fn delete(&self, session: &mut Session, id: i64) -> Result<Modified> {
        session.modify(&self.table, &self.key(id), |_, _| Modify::Delete)
    }

    /// Ids in the order of an index.
    fn ids(&self, session: &mut Session, index_no: usize, direction: Direction) -> Vec<i64> {
        let mut ids = Vec::new();
        let mut scan = session.scan(&self.table, index_no, KeyRange::all(), direction, Read::Snapshot).expect("a scan");
        scan.for_each(|row, _| {
            ids.push(int(row, 0));
            Step::Continue
        })
        .expect("a scan");
        ids
    }

    /// How columns come back from the entries of an index.
    fn restore(&self, index_no: usize, columns: [usize; 2]) -> KeyRestore {
        KeyRestore::new(self.table.layout(), &self.table.indexes[index_no].full_parts, columns).expect("columns that the index holds")
    }

    /// Every index is sound, and each has exactly the rows.
    fn check(&self) {
        self.engine.check_table(&self.table).expect("a sound table");
        let mut session = self.session();
        let mut by_key = self.ids(&mut session, 0, Direction::Forward);
        for index_no in 1..3 {
            let mut by_index = self.ids(&mut session, index_no, Direction::Forward);
            by_index.sort_unstable();
            by_key.sort_unstable();
            assert_eq!(by_index, by_key, "index {index_no}");
        }
    }

    /// Purges all; then nothing is left but `rows` rows and their entries.
    fn check_purged(&self, rows: u64) {
        self.engine.purge_all();
        self.check();
        assert_eq!(self.engine.history_length(), 0);
        assert_eq!(self.engine.undo.live_bytes(), 0);
        for index_no in 0..self.table.indexes.len() {
            assert_eq!(self.entries(index_no), rows, "index {index_no}");
        }
    }

    fn entries(&self, index_no: usize) -> u64 {
        let mut cursor = self.table.indexes[index_no].tree.cursor();
        cursor.first().expect("a cursor");
        let mut count = 0;
        while cursor.valid() {
            count += 1;
            cursor.next().expect("a cursor");
        }
        count
    }
}

/// The key of a whole number in an index of one part.
fn encoded(ty: &ColumnType, n: i64) -> Vec<u8> {
    let mut key = Vec::new();
    record::key::encode_part(ty, &KeyPart::ascending(0), &Value::Int(n), &mut key);
    key
}

fn int(row: RowRef<'_>, column: usize) -> i64 {
    match row.value(column).expect("a value") {
        Value::Int(v) => v,
        other => panic!("{other:?}"),
    }
}

fn short(row: RowRef<'_>) -> (i64, String) {
    let Value::Bytes(s) = row.value(2).expect("a value") else { panic!("no string") };
    (int(row, 1), s.to_text().into_owned())
}

#[test]
fn rows_are_read_back_and_survive_a_crash() {
    let f = Fixture::new();
    let mut s = f.session();
    for id in 1..=500 {
        f.insert(&mut s, id, 1000 - id, &format!("row {id}"), Some(id)).unwrap();
    }
    assert_eq!(f.get(&mut s, 77), Some((923, "row 77".into())));
    assert_eq!(f.get(&mut s, 501), None);
    s.commit().unwrap();
    drop(s);
    f.check();
    let f = f.crash();
    f.check();
    let mut s = f.session();
    assert_eq!(f.get(&mut s, 500), Some((500, "row 500".into())));
    assert_eq!(f.ids(&mut s, 0, Direction::Backward).first(), Some(&500));
    assert_eq!(f.ids(&mut s, 1, Direction::Forward).first(), Some(&500));
    assert_eq!(f.table.auto_increment(), 501);
}

#[test]
fn reader_keeps_its_snapshot_until_it_ends() {
    let f = Fixture::new();
    let mut w = f.session();
    f.insert(&mut w, 1, 10, "old", None).unwrap();
    f.insert(&mut w, 2, 20, "gone", None).unwrap();
    w.commit().unwrap();

    let mut reader = f.session();
    assert_eq!(f.get(&mut reader, 1), Some((10, "old".into())));
    w.begin(Isolation::RepeatableRead, false);
    f.update(&mut w, 1, 11, "new and longer").unwrap();
    f.update(&mut w, 1, 12, "newest").unwrap();
    assert_eq!(f.delete(&mut w, 2).unwrap(), Modified::Deleted);
    f.insert(&mut w, 3, 30, "fresh", None).unwrap();
    assert_eq!(f.get(&mut reader, 1), Some((10, "old".into())));
    w.commit().unwrap();
    f.engine.purge_all();
    assert_eq!(f.get(&mut reader, 1), Some((10, "old".into())));
    assert_eq!(f.get(&mut reader, 2), Some((20, "gone".into())));
    assert_eq!(f.get(&mut reader, 3), None);
    assert_eq!(f.ids(&mut reader, 1, Direction::Forward), [1, 2]);
    assert_eq!(f.ids(&mut reader, 1, Direction::Backward), [2, 1]);
    reader.commit().unwrap();
    reader.begin(Isolation::RepeatableRead, false);
    assert_eq!(f.get(&mut reader, 1), Some((12, "newest".into())));
    assert_eq!(f.ids(&mut reader, 1, Direction::Forward), [1, 3]);
    reader.commit().unwrap();
    f.engine.purge_all();
    assert_eq!(f.engine.history_length(), 0);
    assert_eq!(f.engine.undo.live_bytes(), 0);
    for index_no in 0..3 {
        assert_eq!(f.entries(index_no), 2, "index {index_no}");
    }
}

#[test]
fn rollback_restores_rows_and_entries() {
    let f = Fixture::new();
    let mut s = f.session();
    f.insert(&mut s, 1, 10, "one", Some(100)).unwrap();
    f.insert(&mut s, 2, 20, "two", Some(200)).unwrap();
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    f.update(&mut s, 1, 11, "changed").unwrap();
    f.delete(&mut s, 2).unwrap();
    f.insert(&mut s, 2, 21, "again", Some(200)).unwrap();
    f.insert(&mut s, 3, 30, "three", Some(300)).unwrap();
    let savepoint = s.savepoint();
    f.delete(&mut s, 3).unwrap();
    f.insert(&mut s, 4, 40, "four", None).unwrap();
    s.rollback_to(savepoint).unwrap();
    assert_eq!(f.ids(&mut s, 1, Direction::Forward), [1, 2, 3]);
    assert_eq!(f.get(&mut s, 2), Some((21, "again".into())));
    s.rollback().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    assert_eq!(f.get(&mut s, 1), Some((10, "one".into())));
    assert_eq!(f.get(&mut s, 2), Some((20, "two".into())));
    assert_eq!(f.ids(&mut s, 1, Direction::Forward), [1, 2]);
    s.commit().unwrap();
    f.engine.purge_all();
    f.check();
    assert_eq!(f.engine.undo.live_bytes(), 0);
    for index_no in 0..3 {
        assert_eq!(f.entries(index_no), 2, "index {index_no}");
    }
}

#[test]
fn duplicate_keys_are_refused_and_leave_nothing() {
    let f = Fixture::new();
    let mut s = f.session();
    f.insert(&mut s, 1, 10, "one", Some(100)).unwrap();
    assert_eq!(f.insert(&mut s, 1, 11, "uno", Some(101)), Err(Error::DuplicateKey { index_no: 0 }));
    assert_eq!(f.insert(&mut s, 2, 20, "two", Some(100)), Err(Error::DuplicateKey { index_no: 2 }));
    f.insert(&mut s, 3, 30, "null is no key", None).unwrap();
    f.insert(&mut s, 4, 30, "null is no key", None).unwrap();
    s.commit().unwrap();
    f.check();
    s.begin(Isolation::RepeatableRead, false);
    assert_eq!(f.ids(&mut s, 0, Direction::Forward), [1, 3, 4]);
    // A deleted row's unique key is free again, for its own transaction at once.
    f.delete(&mut s, 1).unwrap();
    f.insert(&mut s, 5, 50, "takes over", Some(100)).unwrap();
    s.commit().unwrap();
    f.check();
}

#[test]
fn unfinished_transactions_are_rolled_back_after_a_crash() {
    let f = Fixture::new();
    let mut s = f.session();
    for id in 1..=50 {
        f.insert(&mut s, id, id, "committed", Some(id)).unwrap();
    }
    s.commit().unwrap();
    let mut loser = f.session();
    for id in 1..=25 {
        f.update(&mut loser, id, -id, "lost").unwrap();
    }
    for id in 26..=40 {
        f.delete(&mut loser, id).unwrap();
    }
    for id in 100..=140 {
        f.insert(&mut loser, id, id, "lost", None).unwrap();
    }
    // Part of it lies before the checkpoint.
    f.engine.checkpoint().unwrap();
    for id in 41..=50 {
        f.update(&mut loser, id, -id, &"longer ".repeat(20)).unwrap();
    }
    s.begin(Isolation::RepeatableRead, false);
    f.insert(&mut s, 60, 60, "after", None).unwrap();
    s.commit().unwrap();
    std::mem::forget(loser);
    drop(s);
    let f = f.crash();
    let mut s = f.session();
    let expected: Vec<i64> = (1..=50).chain([60]).collect();
    assert_eq!(f.ids(&mut s, 0, Direction::Forward), expected);
    for id in 1..=50 {
        assert_eq!(f.get(&mut s, id), Some((id, "committed".into())));
    }
    s.commit().unwrap();
    f.engine.purge_all();
    f.check();
    assert_eq!(f.engine.undo.live_bytes(), 0);
    let f = f.crash();
    f.check();
    for index_no in 0..3 {
        assert_eq!(f.entries(index_no), 51, "index {index_no}");
    }
}

#[test]
fn large_rows_go_to_chains_and_come_back() {
    let f = Fixture::new();
    let mut s = f.session();
    let pages = |f: &Fixture| f.engine.space.pages_of(f.table.indexes[0].id);
    let before = pages(&f);
    let large = "x".repeat(50_000);
    f.insert(&mut s, 1, 10, &large, Some(1)).unwrap();
    assert_eq!(f.get(&mut s, 1), Some((10, large.clone())));
    s.commit().unwrap();
    let mut reader = f.session();
    assert_eq!(f.get(&mut reader, 1), Some((10, large.clone())));
    s.begin(Isolation::RepeatableRead, false);
    let larger = "y".repeat(70_000);
    f.update(&mut s, 1, 11, &larger).unwrap();
    s.commit().unwrap();
    assert_eq!(f.get(&mut reader, 1), Some((10, large.clone())));
    reader.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    f.update(&mut s, 1, 12, &large).unwrap();
    s.rollback().unwrap();
    f.engine.purge_all();
    let f = {
        drop((s, reader));
        f.crash()
    };
    let mut s = f.session();
    assert_eq!(f.get(&mut s, 1), Some((11, larger)));
    f.update(&mut s, 1, 13, "small again").unwrap();
    s.commit().unwrap();
    f.engine.purge_all();
    f.check();
    assert_eq!(pages(&f), before, "chains are given back");
}

#[test]
fn writer_waits_for_a_writer_and_gives_up_in_time() {
    let f = Fixture::new();
    let mut a = f.session();
    f.insert(&mut a, 1, 10, "one", None).unwrap();
    a.commit().unwrap();
    a.begin(Isolation::RepeatableRead, false);
    f.update(&mut a, 1, 11, "a").unwrap();
    let mut b = f.session();
    assert_eq!(f.update(&mut b, 1, 12, "b"), Err(Error::LockWaitTimeout));
    assert_eq!(b.get(&f.table, &f.key(1), Read::Exclusive(Wait::NoWait), |_| ()), Err(Error::LockNotAvailable));
    assert_eq!(b.get(&f.table, &f.key(1), Read::Share(Wait::SkipLocked), |_| ()), Ok(None));
    a.commit().unwrap();
    f.update(&mut b, 1, 12, "b").unwrap();
    b.commit().unwrap();
    // A locking read keeps writers out as well.
    a.begin(Isolation::RepeatableRead, false);
    assert_eq!(a.get(&f.table, &f.key(1), Read::Share(Wait::Block), |row| int(row, 1)), Ok(Some(12)));
    b.begin(Isolation::RepeatableRead, false);
    assert_eq!(f.update(&mut b, 1, 13, "b"), Err(Error::LockWaitTimeout));
    a.rollback().unwrap();
    f.update(&mut b, 1, 13, "b").unwrap();
    b.commit().unwrap();
}

#[test]
fn concurrent_transfers_keep_the_sum() {
    const ACCOUNTS: i64 = 8;
    const THREADS: u64 = 4;
    const TRANSFERS: u64 = 200;
    let f = Fixture::new();
    let mut s = f.session();
    for id in 0..ACCOUNTS {
        f.insert(&mut s, id, 100, "", None).unwrap();
    }
    s.commit().unwrap();
    let f = &f;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let mut session = f.session();
                session.commit().unwrap();
                session.set_lock_wait_timeout(Duration::from_secs(20));
                let mut state = thread + 1;
                let mut random = |below: i64| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) as i64 % below
                };
                for _ in 0..TRANSFERS {
                    let (from, to, amount) = (random(ACCOUNTS), random(ACCOUNTS), random(10));
                    session.begin(Isolation::RepeatableRead, false);
                    let add = |session: &mut Session, id: i64, amount: i64| {
                        session.modify(&f.table, &f.key(id), |row, new| {
                            let k = int(row, 1) + amount;
                            row.layout().encode(&[Value::Int(id), Value::Int(k), "".into(), Value::Null], new).unwrap();
                            Modify::Replace
                        })
                    };
                    match add(&mut session, from, -amount).and_then(|_| add(&mut session, to, amount)) {
                        Ok(_) => session.commit().unwrap(),
                        Err(Error::Deadlock) => session.rollback().unwrap(),
                        Err(error) => panic!("{error}"),
                    }
                    session.begin(Isolation::RepeatableRead, false);
                    let mut sum = 0;
                    let mut scan = session.scan(&f.table, 0, KeyRange::all(), Direction::Forward, Read::Snapshot).unwrap();
                    scan.for_each(|row, _| {
                        sum += int(row, 1);
                        Step::Continue
                    })
                    .unwrap();
                    assert_eq!(sum, 100 * ACCOUNTS);
                    session.commit().unwrap();
                }
            });
        }
    });
    f.engine.purge_all();
    f.check();
    assert_eq!(f.engine.undo.live_bytes(), 0);
}
