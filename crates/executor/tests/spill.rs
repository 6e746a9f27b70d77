//! Operators with a share of memory so small that they go to disk, against themselves in memory; on a disk that is full, fails and lies; cancelled at every
//! look; and what they allocate meanwhile.

mod support;

use env::{Disk, ReadFault, SimDisk, SplitMix64, WriteFault};
use executor::{Error, RowConsumer};
use planner::plan::OutputColumn;
use std::alloc::System;
use std::sync::Arc;
use support::Database;
use types::{Collation, ColumnType, TypeKind, Value};

#[global_allocator]
static HEAP: memory::Heap<System> = memory::Heap::new(System);

/// A database with two tables of random rows, and the disk of its temporary files.
struct Spilling {
    db: Database,
    disk: Arc<SimDisk>,
    directory: Arc<spill::Directory>,
}

impl Spilling {
    fn new(seed: u64, rows: u64) -> Spilling {
        let mut db = Database::new();
        let disk = Arc::new(SimDisk::new(seed));
        let directory = Arc::new(spill::Directory::on(disk.clone() as Arc<dyn Disk>, "tmp").expect("a directory"));
        db.context.spill = Some(directory.clone());
        let nullable = |mut ty: ColumnType| {
            ty.nullable = true;
            ty
        };
        let mut id = ColumnType::bigint();
        id.nullable = false;
        let columns = [
            ("id", id),
            ("n", nullable(ColumnType::bigint())),
            ("u", nullable(ColumnType::bigint_unsigned())),
            ("d", nullable(ColumnType::double())),
            ("m", nullable(ColumnType::decimal(12, 2))),
            ("s", nullable(ColumnType::varchar(300, Collation::DEFAULT))),
            ("t", nullable(ColumnType::temporal(TypeKind::DateTime, 6))),
            ("a", nullable(ColumnType::new(TypeKind::Date))),
        ];
        let mut random = SplitMix64::new(seed);
        let mut below = |n: u64| random.next() % n;
        for (table, rows) in [("t", rows), ("r", rows / 2)] {
            db.table(table, &columns, &[("PRIMARY", true, &["id"])]);
            for at in 0..rows {
                let mut values = vec![(at * 7 % rows.max(1)).to_string()];
                let spread = [3, 50, rows * 4][below(3) as usize].max(1);
                let mut value = |text: String| if below(9) == 0 { "NULL".to_owned() } else { text };
                values.push(value(format!("{}", (at * 31 % spread) as i64 - 20)));
                values.push(value(format!("{}", u64::MAX - at % 5)));
                values.push(value(format!("{}.5e0", at % spread)));
                values.push(value(format!("{}.{:02}", at % 40, at % 7)));
                let text = ["a", "B", "b", "ß", "zz", ""][(at % 6) as usize].repeat((at % spread % 40) as usize);
                values.push(value(format!("'{text}'")));
                values.push(value(format!("'20{:02}-01-02 03:04:05.{:06}'", at % 90 + 10, at % spread)));
                values.push(value(format!("'20{:02}-02-{:02}'", at % 3 + 10, at % 28 + 1)));
                db.change(&format!("INSERT INTO {table} VALUES ({})", values.join(", ")));
            }
        }
        Spilling { db, disk, directory }
    }

    /// Rows of a query as texts, or its error.
    fn rows(&mut self, sql: &str, share: usize) -> Result<Vec<String>, Error> {
        self.db.context.operator_max = share;
        self.db.context.warnings.clear();
        self.db.execute(sql, &[]).map(|(_, rows)| rows.rows.iter().map(|row| row.join("|")).collect())
    }

    /// Nothing is left of files.
    #[track_caller]
    fn nothing_left(&self) {
        assert_eq!(self.directory.counters().bytes_now(), 0);
        assert_eq!(self.disk.list("tmp").expect("names"), Vec::<String>::new());
    }
}

/// Queries, and whether they say the order of their rows (ties are in the order of the input).
const QUERIES: &[(&str, bool)] = &[
    ("SELECT * FROM t ORDER BY s, n DESC", true),
    ("SELECT id, n FROM t ORDER BY n", true),
    ("SELECT id, m, d FROM t ORDER BY m DESC, d, a", true),
    ("SELECT id, t, a FROM t ORDER BY t, a DESC", true),
    ("SELECT id, u FROM t ORDER BY u DESC, s LIMIT 700 OFFSET 40", true),
    ("SELECT id, s FROM t ORDER BY s LIMIT 5", true),
    ("SELECT id, s FROM t ORDER BY s LIMIT 100000 OFFSET 1500", true),
    ("SELECT id, CONCAT(s, n) AS c FROM t ORDER BY c, id + 0", true),
    // The row form: what may warn is evaluated row by row.
    ("SELECT id, CAST(s AS SIGNED) AS c FROM t ORDER BY c DESC", true),
    ("SELECT t.id, r.id FROM t JOIN r ON r.id = t.n ORDER BY r.s, t.d, t.id", true),
    ("SELECT id, IF(id % 2, s, NULL) AS x, m * 1000000000000000000000000000000 AS y FROM t ORDER BY y, x", true),
    ("SELECT t.n, (SELECT MAX(r.d) FROM r WHERE r.id < 20) AS x FROM t ORDER BY 2, 1, t.m", true),
    ("SELECT n, COUNT(*), SUM(m), AVG(d), MIN(s), MAX(t), COUNT(u) FROM t GROUP BY n", false),
    ("SELECT s, n, COUNT(DISTINCT a), SUM(DISTINCT n), STDDEV(m), BIT_XOR(id) FROM t GROUP BY s, n", false),
    ("SELECT m, GROUP_CONCAT(id ORDER BY id), JSON_ARRAYAGG(n), ANY_VALUE(id) FROM t GROUP BY m", false),
    ("SELECT CAST(s AS SIGNED) AS k, COUNT(*), MAX(id) FROM t GROUP BY k", false),
    ("SELECT CONCAT(s, id % 700) AS k, COUNT(*), SUM(CAST(s AS SIGNED)) FROM t GROUP BY k HAVING COUNT(*) > 1", false),
    ("SELECT t, a, COUNT(*) AS c FROM t GROUP BY t, a ORDER BY c DESC, t, a", true),
    ("SELECT COUNT(*), SUM(c) FROM (SELECT d, COUNT(*) AS c FROM t GROUP BY d) g", true),
    ("SELECT DISTINCT s, n FROM t", false),
    ("SELECT DISTINCT id % 1000, CAST(s AS SIGNED) FROM t", false),
    ("SELECT DISTINCT d + 1 AS x FROM t ORDER BY x DESC LIMIT 50", true),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT t, m FROM t) g", true),
    ("SELECT s FROM t UNION SELECT s FROM r UNION SELECT CONCAT(s, n) FROM r", false),
    ("SELECT n, s, COUNT(*) FROM t GROUP BY n, s WITH ROLLUP", false),
    ("SELECT n FROM t WHERE EXISTS (SELECT COUNT(*) FROM r WHERE r.id < 30 GROUP BY r.s HAVING COUNT(*) > t.n)", false),
    ("SELECT COUNT(*), SUM(t.id * 7 + r.id), MAX(r.s) FROM t JOIN r ON r.n = t.n", true),
    ("SELECT t.id, r.id, r.s FROM t JOIN r ON r.d = t.d AND r.m = t.m", false),
    // Keys of several whole numbers; some have no room in one.
    ("SELECT t.id, r.id, r.s, t.m FROM t JOIN r ON r.n = t.n AND r.id % 50 = t.id % 50", false),
    ("SELECT t.id, r.id, r.s FROM t JOIN r ON r.n = t.n AND r.u = t.u", false),
    ("SELECT t.id, r.id, r.a FROM t LEFT JOIN r ON r.u = t.u AND r.t = t.t", false),
    ("SELECT COUNT(*), COUNT(r.id), SUM(r.id) FROM t LEFT JOIN r ON r.n = t.n AND r.d > t.m", true),
    ("SELECT COUNT(*), COUNT(r.id), SUM(r.id) FROM t LEFT JOIN r ON r.s = t.s AND CAST(r.s AS SIGNED) = t.id % 2", true),
    ("SELECT id, s FROM t WHERE s IN (SELECT s FROM r)", false),
    ("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM r WHERE r.n = t.n AND r.id > t.id)", false),
    ("SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.m = t.m)", false),
    ("SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.n = t.n AND r.id > t.id)", false),
    ("SELECT id FROM t WHERE n NOT IN (SELECT n FROM r WHERE n IS NOT NULL AND id > 100)", false),
    ("SELECT id FROM t WHERE n NOT IN (SELECT n FROM r)", false),
    ("SELECT t.id, r.id FROM t JOIN r ON CAST(r.s AS SIGNED) = t.n AND r.id < 900", false),
    ("SELECT t.id, r.id, t.s FROM t JOIN r ON r.t = t.t ORDER BY t.id", true),
    ("SELECT t.id, r.id, x.id FROM t LEFT JOIN r ON r.t = t.t JOIN r x ON x.d = t.d ORDER BY t.id DESC, r.id, x.id LIMIT 500", true),
    ("SELECT COUNT(*) FROM t JOIN r ON r.a = t.a JOIN r q ON q.s = r.s AND q.m = t.m", true),
    ("SELECT t.id, (SELECT COUNT(*) FROM r JOIN r q ON q.t = r.t WHERE r.id < t.id % 5) AS c FROM t WHERE t.id < 200", false),
    (
        "SELECT id, ROW_NUMBER() OVER (PARTITION BY n ORDER BY s, id) AS w, SUM(m) OVER (PARTITION BY n ORDER BY s, id ROWS 2 PRECEDING) AS x FROM t",
        false,
    ),
    ("WITH w AS (SELECT id, n, s, m FROM t) SELECT COUNT(*), MAX(w.s), SUM(v.m) FROM w JOIN w v ON v.id = w.n", true),
    ("WITH w AS (SELECT id, n, u, d, m, s, t, a FROM t ORDER BY s, id) SELECT * FROM w UNION ALL SELECT * FROM w WHERE n IS NULL", true),
    ("SELECT r.id, l.id, l.s FROM r, LATERAL (SELECT id, s FROM t WHERE t.n = r.n ORDER BY t.id DESC) l WHERE r.id < 60", true),
    ("SELECT x.k, x.c, t.id FROM t LEFT JOIN (SELECT s AS k, COUNT(*) AS c FROM r GROUP BY s) x ON x.k > t.s WHERE t.id < 40", false),
    ("WITH w AS (SELECT CAST(s AS SIGNED) AS c, s FROM t) SELECT COUNT(*), (SELECT SUM(c) FROM w), (SELECT MAX(s) FROM w) FROM w", true),
    (
        "WITH RECURSIVE w AS (SELECT id, CAST(s AS CHAR(400)) AS s FROM r WHERE id < 40 UNION ALL SELECT id + 1000, CONCAT(s, '-') FROM w WHERE id < 9000) SELECT * FROM w",
        true,
    ),
    (
        "WITH RECURSIVE w AS (SELECT n AS id FROM t UNION SELECT id + 100 FROM w WHERE id < 900 LIMIT 30, 500) SELECT a.id, b.id FROM w a JOIN w b ON a.id = b.id + 1",
        false,
    ),
    ("SELECT n, s FROM t INTERSECT SELECT n, s FROM r", false),
    ("SELECT n FROM t INTERSECT ALL SELECT n FROM r", false),
    ("SELECT s, m, d FROM t EXCEPT SELECT s, m, d FROM r", false),
    ("SELECT n FROM t EXCEPT ALL SELECT n FROM r", false),
    ("SELECT id, u, a, t FROM t EXCEPT SELECT id, u, a, t FROM r EXCEPT SELECT id, u, a, t FROM t WHERE n < 5", false),
    ("SELECT CAST(s AS SIGNED) FROM t INTERSECT ALL SELECT n FROM r INTERSECT ALL SELECT n FROM t", false),
    ("SELECT s FROM t EXCEPT SELECT CONCAT(s, n) FROM r ORDER BY s LIMIT 100", true),
    (
        "SELECT t.id, (SELECT COUNT(*) FROM (SELECT n FROM r WHERE r.id < t.id EXCEPT SELECT n FROM r WHERE r.id > 90) x) AS c FROM t WHERE t.id < 30",
        false,
    ),
    ("SELECT id, LAG(s) OVER (ORDER BY d DESC, id) AS w, RANK() OVER (PARTITION BY a ORDER BY m) AS x FROM t", false),
];

/// Joins that keep the order of their left side: the plan has no sort.
const ORDERED_JOINS: &[&str] = &["SELECT t.id, r.id, t.s FROM t JOIN r ON r.t = t.t ORDER BY t.id"];

/// A query's rows and warnings with so small a share, compared with those in memory.
fn check(spilling: &mut Spilling, sql: &str, ordered: bool, share: usize) {
    let sorted = |mut rows: Vec<String>| {
        if !ordered {
            rows.sort();
        }
        rows
    };
    let expect = sorted(spilling.rows(sql, usize::MAX).unwrap_or_else(|error| panic!("{sql}: {error}")));
    let warnings = spilling.db.context.warnings.len();
    let rows = sorted(spilling.rows(sql, share).unwrap_or_else(|error| panic!("{sql}, {share} bytes: {error}")));
    assert!(
        rows == expect,
        "{sql}, {share} bytes: {} and {} rows\n{:?}\n{:?}",
        rows.len(),
        expect.len(),
        rows.iter().zip(&expect).find(|(a, b)| a != b),
        spilling.db.explain(sql)
    );
    assert_eq!(spilling.db.context.warnings.len(), warnings, "{sql}, {share} bytes");
    spilling.nothing_left();
}

#[test]
fn what_goes_to_disk_gives_the_rows_that_memory_gives() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_121);
    println!("seed {seed}: SEED={seed} cargo test -p executor --test spill");
    for (round, rows) in [(0, 0), (1, 1), (2, 3000)] {
        let mut spilling = Spilling::new(seed + round, rows);
        for (sql, ordered) in QUERIES {
            let files = spilling.directory.counters().files.get();
            for share in [1, 5000, 40_000] {
                check(&mut spilling, sql, *ordered, share);
            }
            // A small top-N; NOT IN looks into a set.
            let limited = sql.contains("LIMIT 5") || sql.contains("NOT IN");
            assert!(rows < 1000 || limited || spilling.directory.counters().files.get() > files, "{sql}: stayed in memory");
        }
    }
}

#[test]
fn runs_are_merged_in_several_passes() {
    let mut spilling = Spilling::new(5, 3000);
    let before = spilling.directory.counters().merge_passes.get();
    // In the row form each row becomes a run.
    check(&mut spilling, "SELECT id, CAST(s AS SIGNED) AS c FROM t ORDER BY c DESC, n", true, 1);
    let merges = spilling.directory.counters().merge_passes.get() - before;
    assert!(merges > 3000 / 16, "{merges}");
    // What fits stays in memory.
    let files = spilling.directory.counters().files.get();
    check(&mut spilling, "SELECT * FROM t ORDER BY s, n DESC", true, 64 << 20);
    assert_eq!(spilling.directory.counters().files.get(), files);
}

#[test]
fn a_join_whose_order_is_relied_on_keeps_it() {
    let mut spilling = Spilling::new(8, 2000);
    for sql in ORDERED_JOINS {
        let plan = spilling.db.explain(sql);
        assert!(plan.to_lowercase().contains("hash") && !plan.to_lowercase().contains("sort"), "{sql}: {plan}");
        let joins = spilling.directory.counters().joins.get();
        check(&mut spilling, sql, true, 2000);
        assert_eq!(spilling.directory.counters().joins.get(), joins + 1);
    }
}

#[test]
fn a_heavy_key_is_joined_in_pieces() {
    let mut spilling = Spilling::new(9, 10);
    let db = &mut spilling.db;
    let heavy = |from: u64, to: u64| {
        let rows: Vec<String> =
            (from..to).map(|id| format!("({id}, {}, {id}, 1e0, {}, 'x', NULL, NULL)", if id % 50 == 0 { id } else { 7 }, id % 3)).collect();
        rows.join(", ")
    };
    db.change("DELETE FROM t");
    db.change("DELETE FROM r");
    db.change(&format!("INSERT INTO t VALUES {}", heavy(0, 800)));
    db.change(&format!("INSERT INTO r VALUES {}", heavy(100, 700)));
    for sql in [
        "SELECT COUNT(*), SUM(t.id * 11 + r.id) FROM t JOIN r ON r.n = t.n",
        "SELECT COUNT(*), SUM(r.id), COUNT(r.id) FROM t LEFT JOIN r ON r.n = t.n",
        "SELECT COUNT(*), SUM(r.id), COUNT(r.id) FROM t LEFT JOIN r ON r.n = t.n AND r.u + 500 < t.u",
        "SELECT COUNT(*), SUM(id) FROM t WHERE EXISTS (SELECT 1 FROM r WHERE r.n = t.n AND r.u + 500 < t.u)",
        "SELECT COUNT(*), SUM(id) FROM t WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.n = t.n AND r.u + 500 < t.u)",
        "SELECT COUNT(*), SUM(id) FROM t WHERE n IN (SELECT n FROM r)",
        "SELECT COUNT(*), SUM(id) FROM t WHERE n NOT IN (SELECT n FROM r)",
    ] {
        let joins = spilling.directory.counters().joins.get();
        for share in [1, 2000, 9000] {
            check(&mut spilling, sql, false, share);
        }
        let plan = spilling.db.explain(sql);
        assert!(spilling.directory.counters().joins.get() > joins || !plan.contains("Hash"), "{sql}: {plan}");
    }
}

/// Few enough rows for every fault at every call.
const FAULTY_ROWS: u64 = 300;

#[test]
fn a_disk_that_fails_fails_the_statement_alone() {
    let mut spilling = Spilling::new(6, FAULTY_ROWS);
    for (sql, ordered) in QUERIES {
        let sorted = |mut rows: Vec<String>| {
            if !ordered {
                rows.sort();
            }
            rows
        };
        let expect = sorted(spilling.rows(sql, usize::MAX).expect("rows"));
        let mut told = 0;
        let faults = [
            (Some(WriteFault::Full), None, 3),
            (Some(WriteFault::Error), None, 3),
            (Some(WriteFault::Lost), None, 2),
            (None, Some(ReadFault::Error), 2),
            (None, Some(ReadFault::Garbled), 2),
        ];
        for (write, read, code) in faults {
            // Every call at first, then each tenth.
            for nth in (1..20).chain((20..250).step_by(23)) {
                if let Some(fault) = write {
                    spilling.disk.plan_write("tmp", nth, fault);
                }
                if let Some(fault) = read {
                    spilling.disk.plan_read("tmp", nth, fault);
                }
                match spilling.rows(sql, 3000) {
                    Ok(rows) => {
                        // The fault has not been met, or what was lost was not read again (LIMIT).
                        assert!(sorted(rows) == expect, "{sql}: {write:?} {read:?} at {nth}");
                        if nth > 1 || told == 0 {
                            break;
                        }
                    }
                    Err(Error::Sql(error)) => {
                        assert_eq!(error.code, code, "{sql}: {write:?} {read:?} at {nth}: {error}");
                        told += 1;
                    }
                    Err(error) => panic!("{sql}: {error}"),
                }
                spilling.nothing_left();
            }
            // Whatever was planned and not met goes.
            spilling.disk.plan_write("nothing", u64::MAX, WriteFault::Error);
            spilling.disk.plan_read("nothing", u64::MAX, ReadFault::Error);
            assert_eq!(sorted(spilling.rows(sql, 3000).expect("rows")), expect, "{sql}");
        }
        println!("{sql}: {told} failures");
    }
}

#[test]
fn a_statement_that_is_killed_leaves_no_file() {
    let mut spilling = Spilling::new(7, 600);
    let mut with_file = 0;
    for (sql, _) in QUERIES {
        for looks in (1..12).chain((12..300).step_by(29)) {
            spilling.db.context.looks_left.set(looks);
            let files = spilling.directory.counters().files.get();
            match spilling.rows(sql, 3000) {
                Ok(_) => break,
                Err(Error::Sql(error)) => assert_eq!(error.code, 1317, "{sql}"),
                Err(error) => panic!("{sql}: {error}"),
            }
            with_file += u64::from(spilling.directory.counters().files.get() > files);
            spilling.nothing_left();
        }
        spilling.db.context.looks_left.set(u32::MAX);
    }
    assert!(with_file > 50, "{with_file}");
}

/// Counts rows, and looks at the order of the first column.
#[derive(Default)]
struct Counted {
    rows: u64,
    sum: i128,
}

impl RowConsumer for Counted {
    fn begin(&mut self, _: &[OutputColumn]) -> executor::Result<()> {
        Ok(())
    }
    fn row(&mut self, values: &[Value]) -> executor::Result<()> {
        self.rows += 1;
        if let Value::Int(n) = values[0] {
            self.sum += i128::from(n);
        }
        Ok(())
    }
    fn record(&mut self, _: record::RowRef<'_>, _: &[u32]) -> executor::Result<bool> {
        self.rows += 1;
        Ok(false)
    }
    fn drain(&mut self) -> executor::Result<()> {
        Ok(())
    }
}

#[test]
fn memory_stays_within_a_small_multiple_of_the_share() {
    const SHARE: usize = 256 << 10;
    let mut config = engine::EngineConfig::small();
    (config.wal.capacity_bytes, config.pool.frames) = (64 << 20, 1024);
    let mut db = Database::with_config(config);
    let real = tempfile::tempdir().expect("a directory");
    db.context.spill = Some(Arc::new(spill::Directory::real(real.path()).expect("a directory")));
    let mut id = ColumnType::bigint();
    id.nullable = false;
    db.table("t", &[("id", id.clone()), ("s", ColumnType::varchar(300, Collation::DEFAULT))], &[("PRIMARY", true, &["id"])]);
    for from in (0..20_000).step_by(500) {
        let rows: Vec<String> = (from..from + 500).map(|id| format!("({id}, CONCAT({}, REPEAT('x', 200)))", id * 7919 % 20_000)).collect();
        db.change(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    }
    for sql in MEMORY_QUERIES {
        for (share, limit, fits) in [(SHARE, 12 * SHARE, true), (usize::MAX, 12 * SHARE, false)] {
            db.context.operator_max = share;
            let plan = db.plan(sql, &[]).expect("a plan");
            let mut counted = Counted::default();
            memory::begin_statement(limit as u64);
            let outcome = db.run_for(&plan, &[], &mut counted);
            let excess = memory::excess();
            memory::excuse();
            match fits {
                true => {
                    outcome.unwrap_or_else(|error| panic!("{sql}: {error}"));
                    assert_eq!(excess, memory::Excess::None, "{sql}: more than {limit} bytes");
                    assert!(counted.rows >= 20_000, "{sql}: {}", counted.rows);
                }
                false => assert!(outcome.is_err(), "{sql} needs no disk"),
            }
        }
    }
}

/// Each over some 5 MB.
const MEMORY_QUERIES: &[&str] = &[
    "SELECT id, s FROM t ORDER BY s",
    "SELECT COUNT(*), s FROM t GROUP BY s",
    "SELECT DISTINCT s, id % 3 FROM t",
    "SELECT a.id, b.s FROM t a JOIN t b ON b.s = a.s",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY id % 100 ORDER BY s) FROM t",
    "WITH w AS (SELECT id, s FROM t) SELECT id, s FROM w UNION ALL SELECT id, s FROM w",
    "SELECT id, s FROM t EXCEPT SELECT id + 100000, s FROM t",
    "SELECT id, s FROM t INTERSECT ALL SELECT id, s FROM t",
];
