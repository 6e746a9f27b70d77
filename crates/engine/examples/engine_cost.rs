//! What an operation of the engine costs on one thread, everything in memory: `cargo run --profile fast -p engine --example engine_cost [DIR]`.
//!
//! Transactions commit lazily, so that no disk is measured. With `COUNT=n` and `ONLY=name` it fits under a profiler.

use engine::{Engine, EngineConfig, FlushPolicy, IndexSpec, Isolation, Modify, Read, Session, Table, TableSpec};
use env::{Disk, RealClock, RealDisk};
use record::{KeyPart, RowLayout, RowRef};
use std::sync::Arc;
use std::time::Instant;
use types::{Collation, ColumnType, Value};

const ROWS: u64 = 100_000;

struct Bench {
    engine: Arc<Engine>,
    session: Session,
    table: Arc<Table>,
    key: Vec<u8>,
    random: u64,
    count: u64,
    only: Option<String>,
}

impl Bench {
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % ROWS
    }

    fn seek(&mut self, id: u64) {
        self.key.clear();
        record::key::encode_part(&ColumnType::int().not_null(), &KeyPart::ascending(0), &Value::Int(id as i64), &mut self.key);
    }

    fn begin(&mut self) {
        self.session.begin(Isolation::RepeatableRead, false);
    }

    fn get(&mut self) -> i64 {
        let id = self.next();
        self.seek(id);
        let k = |row: RowRef<'_>| row.column(1).and_then(|k| k.as_i64()).expect("a column").expect("no NULL");
        self.session.get(&self.table, &self.key, Read::Snapshot, k).expect("a read").expect("a row")
    }

    fn update(&mut self) {
        let id = self.next();
        self.seek(id);
        let change = |row: RowRef<'_>, new: &mut Vec<u8>| {
            // One byte of `k` differs; a real executor patches or encodes, here only the engine counts.
            new.clear();
            new.extend_from_slice(row.bytes());
            // After the byte of null bits and `id`.
            new[record::header::HEADER_BYTES + 5] ^= 1;
            Modify::Replace
        };
        self.session.modify(&self.table, &self.key, change).expect("an update");
    }

    fn measure(&mut self, name: &str, per_round: u64, mut round: impl FnMut(&mut Bench)) {
        if self.only.as_deref().is_some_and(|only| only != name) {
            return;
        }
        let (mut best, mut bytes) = (f64::MAX, 0.0);
        for _ in 0..5 {
            let rounds = (self.count / per_round).max(1);
            let (lsn, start) = (self.engine.wal().lsn_head().0, Instant::now());
            for _ in 0..rounds {
                round(self);
            }
            let count = (rounds * per_round) as f64;
            best = best.min(start.elapsed().as_nanos() as f64 / count);
            bytes = (self.engine.wal().lsn_head().0 - lsn) as f64 / count;
        }
        println!("{name:28} {best:8.0} ns {bytes:8.0} log bytes");
    }
}

fn main() {
    let dir = std::env::args().nth(1).unwrap_or_else(|| format!("/tmp/engine_cost.{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(&dir).expect("a disk"));
    let mut config = EngineConfig::default();
    config.pool.frames = 16 * 1024;
    let engine = Engine::open(disk, Arc::new(RealClock::new()), config).expect("an engine");
    let text = || ColumnType::varchar(120, Collation::DEFAULT);
    let types = [ColumnType::int().not_null(), ColumnType::int().not_null(), text(), text()];
    let index = |parts: Vec<KeyPart>, unique| {
        let (id, root) = engine.create_index_tree().expect("a tree");
        IndexSpec { id, root, parts, unique }
    };
    // Like sysbench's table, but for the secondary index, which is on a column that updates leave alone.
    let spec = TableSpec {
        id: engine.allocate_table_id(),
        layouts: vec![Arc::new(RowLayout::new(&types, 1))],
        indexes: vec![index(vec![KeyPart::ascending(0)], true), index(vec![KeyPart::ascending(2)], false)],
        auto_increment_start: 1,
        auto_increment_column: Some(0),
    };
    engine.set_table_source(Arc::new(One(spec.clone())));
    let table = engine.open_table(spec).expect("a table");
    engine.start_background().expect("threads");
    let mut session = engine.connect();
    session.set_flush_policy(FlushPolicy::Lazy);
    let row = |id: u64, row: &mut Vec<u8>| {
        let values =
            [Value::Int(id as i64), Value::Int(7), format!("{:060}", id * 7919 % ROWS).as_str().into(), "y".repeat(60).as_str().into()];
        row.clear();
        table.layout().encode(&values, row).expect("a row");
    };
    let mut buffer = Vec::new();
    for first in (0..ROWS).step_by(1000) {
        session.begin(Isolation::RepeatableRead, false);
        for id in first..first + 1000 {
            row(id, &mut buffer);
            session.insert(&table, &mut buffer).expect("an insert");
        }
        session.commit().expect("a commit");
    }
    let count = std::env::var("COUNT").ok().and_then(|n| n.parse().ok()).unwrap_or(200_000);
    let mut b = Bench {
        engine: engine.clone(),
        session,
        table: table.clone(),
        key: Vec::new(),
        random: 1,
        count,
        only: std::env::var("ONLY").ok(),
    };
    b.measure("begin, commit", 1, |b| {
        b.begin();
        b.session.commit().expect("a commit");
    });
    b.measure("autocommit get", 1, |b| {
        b.begin();
        std::hint::black_box(b.get());
        b.session.commit().expect("a commit");
    });
    b.measure("get in a transaction", 1000, |b| {
        b.begin();
        for _ in 0..1000 {
            std::hint::black_box(b.get());
        }
        b.session.commit().expect("a commit");
    });
    b.measure("get for update", 100, |b| {
        b.begin();
        for _ in 0..100 {
            let id = b.next();
            b.seek(id);
            b.session.get(&b.table, &b.key, Read::Exclusive(engine::Wait::Block), |_| ()).expect("a read");
        }
        b.session.commit().expect("a commit");
    });
    b.measure("autocommit update", 1, |b| {
        b.begin();
        b.update();
        b.session.commit().expect("a commit");
    });
    b.measure("update in a transaction", 100, |b| {
        b.begin();
        for _ in 0..100 {
            b.update();
        }
        b.session.commit().expect("a commit");
    });
    let mut id = ROWS;
    let mut buffer = Vec::new();
    b.measure("insert in a transaction", 100, |b| {
        b.begin();
        for _ in 0..100 {
            id += 1;
            row(id, &mut buffer);
            b.session.insert(&b.table, &mut buffer).expect("an insert");
        }
        b.session.commit().expect("a commit");
    });
    b.measure("  of which encoding", 100, |_| {
        for _ in 0..100 {
            id += 1;
            row(id, &mut buffer);
            std::hint::black_box(&buffer);
        }
    });
    drop(b);
    engine.close(false).expect("a close");
    if std::env::args().len() < 2 {
        let _ = std::fs::remove_dir_all(&dir);
    }
}

struct One(TableSpec);

impl engine::TableSource for One {
    fn table_spec(&self, id: engine::TableId) -> engine::Result<Option<TableSpec>> {
        Ok((id == self.0.id).then(|| self.0.clone()))
    }

    fn table_ids(&self) -> engine::Result<Vec<engine::TableId>> {
        Ok(vec![self.0.id])
    }
}
