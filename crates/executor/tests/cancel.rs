//! Statements that work long before they give a row out look at whether they are cancelled while they do.

mod support;

use env::{Disk, SimDisk};
use std::sync::Arc;
use support::Database;
use types::ColumnType;

const ROWS: u32 = 400;

/// One table of numbers; a join with itself without a key, or by `k` that all rows share, has `ROWS` times `ROWS` pairs.
fn numbers() -> Database {
    let mut db = Database::new();
    db.table("t", &[("n", ColumnType::bigint()), ("d", ColumnType::double()), ("k", ColumnType::bigint())], &[]);
    let rows: Vec<String> = (1..=ROWS).map(|n| format!("({n}, {n}e0, 1)")).collect();
    db.change(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    db
}

/// How often a query looks, whose answer is one number.
#[track_caller]
fn looks(db: &mut Database, sql: &str, answer: u32) -> u32 {
    db.context.looks_left.set(u32::MAX);
    assert_eq!(db.query(sql), answer.to_string(), "{sql}");
    u32::MAX - db.context.looks_left.get()
}

/// Joins that find no pair, and the like: what each answers.
const QUERIES: &[(&str, u32)] = &[
    ("SELECT COUNT(*) FROM t a JOIN t b ON a.n + b.n < 0", 0),
    ("SELECT COUNT(*) FROM t a STRAIGHT_JOIN t b WHERE a.n + b.n < 0", 0),
    ("SELECT COUNT(b.n) FROM t a LEFT JOIN t b ON a.n + b.n < 0", 0),
    ("SELECT COUNT(*) FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE a.n + b.n < 0)", 0),
    ("SELECT COUNT(*) FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b WHERE a.n + b.n < 0)", ROWS),
    ("SELECT COUNT(b.n) FROM t a LEFT JOIN t b ON a.k = b.k AND a.n + b.n < 0", 0),
    ("SELECT COUNT(*) FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE a.k = b.k AND a.n + b.n < 0)", 0),
    ("SELECT COUNT(*) FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b WHERE a.k = b.k AND a.n + b.n < 0)", ROWS),
    ("SELECT COUNT(*) FROM t a WHERE a.n + 1 > ALL (SELECT b.n - 1000 FROM t b)", ROWS),
    ("SELECT COUNT(s) FROM (SELECT SUM(d) OVER (ORDER BY n ROWS BETWEEN 300 PRECEDING AND CURRENT ROW) AS s FROM t) w", ROWS),
];

#[test]
fn what_works_long_looks_often() {
    let mut db = numbers();
    for (sql, answer) in QUERIES {
        let looks = looks(&mut db, sql, *answer);
        println!("{looks} looks: {sql}");
        // Not more than some two thousand pairs or values between two of them.
        assert!(looks >= ROWS * ROWS / 2048, "{looks} looks: {sql}");
    }
}

#[test]
fn so_do_joins_in_pieces() {
    let mut db = numbers();
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
    db.context.spill = Some(Arc::new(spill::Directory::on(disk, "tmp").expect("a directory")));
    db.context.operator_max = 3000;
    for (sql, answer) in &QUERIES[..8] {
        let looks = looks(&mut db, sql, *answer);
        println!("{looks} looks: {sql}");
        assert!(looks >= ROWS * ROWS / 2048, "{looks} looks: {sql}");
    }
}
