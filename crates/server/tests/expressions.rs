//! Stored expressions under random changes: what generated columns and functional indexes hold is what their expressions yield, after any DML, ALTER TABLE,
//! rollback and `kill -9`; a format that has no such definitions refuses them.

use env::SplitMix64;
use harness::Server;
use mysql::prelude::Queryable;
use mysql::{Conn, Error};
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_altiplano");
const ROUNDS: usize = 6;
const STATEMENTS: usize = 250;
const IDS: u64 = 120;

/// Errors that random statements may meet: duplicates, violated constraints, values out of range.
const EXPECTED: [u16; 4] = [1062, 3819, 1264, 3751];

struct Random(SplitMix64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0.next() % n
    }

    fn value(&mut self) -> String {
        match self.below(12) {
            0 => "NULL".into(),
            1 => "DEFAULT".into(),
            _ => (self.below(400) as i64 - 150).to_string(),
        }
    }

    fn text(&mut self) -> String {
        match self.below(10) {
            0 => "NULL".into(),
            _ => format!("'{}{}'", ["Ab", "aB", "x", "ÄÖ", ""][self.below(5) as usize], self.below(50)),
        }
    }
}

fn run(c: &mut Conn, sql: &str) {
    match c.query_drop(sql) {
        Ok(()) => {}
        Err(Error::MySqlError(error)) if EXPECTED.contains(&error.code) => {}
        Err(error) => panic!("{sql}: {error}"),
    }
}

fn change(random: &mut Random, c: &mut Conn) {
    let id = random.below(IDS);
    let (a, b, d) = (random.value(), random.text(), random.value());
    let ignore = if random.below(4) == 0 { "IGNORE " } else { "" };
    let sql = match random.below(12) {
        0..=2 => format!("INSERT {ignore}INTO t (id, a, b, d) VALUES ({id}, {a}, {b}, {d})"),
        3 => format!("INSERT {ignore}INTO t (id, b) VALUES ({id}, {b}), ({}, {b})", random.below(IDS)),
        4 => format!(
            "INSERT INTO t (id, a, b) VALUES ({id}, {a}, {b}) ON DUPLICATE KEY UPDATE a = VALUES(a), b = CONCAT(b, 'y'), v = DEFAULT"
        ),
        5 => format!("REPLACE INTO t (id, a, b) VALUES ({id}, {a}, {b})"),
        6 => format!("UPDATE {ignore}t SET a = {a} WHERE id = {id}"),
        7 => format!("UPDATE {ignore}t SET b = {b}, d = DEFAULT WHERE v BETWEEN {} AND {}", random.below(200), random.below(400)),
        8 => format!("UPDATE {ignore}t SET a = a + 1 WHERE LOWER(b) = LOWER({b})"),
        9 => format!("DELETE FROM t WHERE s = CONCAT({a}, '-', {b})").replace("DEFAULT", "0"),
        10 => format!("INSERT {ignore}INTO t (id, a, b) SELECT id + {}, a, b FROM t WHERE id < 10", random.below(IDS)),
        _ => format!("UPDATE {ignore}t x JOIN t y ON x.id = y.id + 1 SET x.a = y.a WHERE y.id < {}", random.below(20)),
    };
    run(c, &sql);
}

/// All statements leave the definition as it began, by one way or another.
fn alter(random: &mut Random, c: &mut Conn) {
    let pairs: [(&str, &str); 6] = [
        ("ALTER TABLE t DROP KEY kv", "ALTER TABLE t ADD KEY kv (v)"),
        ("ALTER TABLE t DROP COLUMN v", "ALTER TABLE t ADD COLUMN v BIGINT AS (a * 2 + 1) VIRTUAL AFTER d, ADD KEY kv (v)"),
        ("ALTER TABLE t DROP COLUMN s", "ALTER TABLE t ADD COLUMN s VARCHAR(60) AS (CONCAT(a, '-', b)) STORED AFTER v, ADD KEY ks (s)"),
        ("ALTER TABLE t DROP KEY kf", "CREATE INDEX kf ON t ((LOWER(b)), a)"),
        ("ALTER TABLE t MODIFY a BIGINT DEFAULT 3", "ALTER TABLE t MODIFY a INT DEFAULT 3"),
        ("ALTER TABLE t MODIFY v BIGINT AS (a * 3) VIRTUAL", "ALTER TABLE t MODIFY v BIGINT AS (a * 2 + 1) VIRTUAL"),
    ];
    let (there, back) = pairs[random.below(6) as usize];
    c.query_drop(there).expect(there);
    for _ in 0..5 {
        let (id, a, b) = (random.below(IDS), random.value(), random.text());
        run(c, &format!("REPLACE INTO t (id, a, b) VALUES ({id}, {a}, {b})"));
    }
    c.query_drop(back).expect(back);
}

fn verify(c: &mut Conn, random: &mut Random, seed: u64) {
    let count = |c: &mut Conn, sql: &str| c.query_first::<u64, _>(sql).expect(sql).expect("a count");
    let wrong = "SELECT COUNT(*) FROM t IGNORE INDEX (kv, ks, kf) \
                 WHERE NOT (v <=> a * 2 + 1) OR NOT (s <=> CONCAT(a, '-', b)) OR a <= -100 OR LENGTH(s) >= 40";
    assert_eq!(count(c, wrong), 0, "seed {seed}");
    for (index, column) in [("kv", "v"), ("ks", "s")] {
        let by_index = format!("SELECT COUNT({column}) FROM t FORCE INDEX ({index}) WHERE {column} IS NOT NULL");
        let by_rows = format!("SELECT COUNT({column}) FROM t IGNORE INDEX (kv, ks, kf)");
        assert_eq!(count(c, &by_index), count(c, &by_rows), "{index}, seed {seed}");
    }
    for _ in 0..5 {
        let b = random.text().replace("NULL", "'x1'");
        let with = |hint: &str| format!("SELECT COUNT(*), SUM(a), SUM(id) FROM t {hint} WHERE LOWER(b) = LOWER({b})");
        let (by_index, by_rows) = (with("FORCE INDEX (kf)"), with("IGNORE INDEX (kf)"));
        let plan: String = c
            .query_first(format!("EXPLAIN FORMAT=TREE SELECT id FROM t FORCE INDEX (kf) WHERE LOWER(b) = {b}"))
            .expect("plan")
            .expect("a row");
        assert!(plan.contains("kf"), "{plan}");
        type Sums = (u64, Option<i64>, Option<i64>);
        let read = |c: &mut Conn, sql: &str| c.query_first::<Sums, _>(sql).expect(sql);
        assert_eq!(read(c, &by_index), read(c, &by_rows), "{by_index}, seed {seed}");
    }
    let told: Vec<(String, String, String, String)> = c.query("CHECK TABLE t").expect("checked");
    assert!(told.len() == 1 && told[0].3 == "OK", "{told:?}, seed {seed}");
}

#[test]
fn what_is_computed_stays_what_its_expression_yields() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| u64::from(std::process::id()));
    println!("SEED={seed}");
    let mut random = Random(SplitMix64::new(seed));
    let mut server = Server::start(PROGRAM, &[]);
    let mut c = server.connect();
    c.query_drop("CREATE DATABASE d").expect("made");
    let table = "CREATE TABLE d.t (id INT PRIMARY KEY, a INT DEFAULT 3, b VARCHAR(20), d INT DEFAULT (a + 1), v BIGINT AS (a * 2 + 1) VIRTUAL, \
                 s VARCHAR(60) AS (CONCAT(a, '-', b)) STORED, KEY kv (v), KEY ks (s), KEY kf ((LOWER(b)), a), CHECK (a > -100), CHECK (LENGTH(s) < 40))";
    c.query_drop(table).expect("made");
    for round in 0..ROUNDS {
        c.query_drop("USE d").expect("used");
        for _ in 0..STATEMENTS {
            match random.below(40) {
                0 => alter(&mut random, &mut c),
                1 => {
                    c.query_drop("BEGIN").expect("begun");
                    (0..random.below(20)).for_each(|_| change(&mut random, &mut c));
                    c.query_drop(if random.below(2) == 0 { "ROLLBACK" } else { "COMMIT" }).expect("ended");
                }
                _ => change(&mut random, &mut c),
            }
        }
        verify(&mut c, &mut random, seed);
        if round % 2 == 0 {
            c.query_drop("BEGIN").expect("begun");
            (0..10).for_each(|_| change(&mut random, &mut c));
            server.kill();
            server.restart();
            c = server.connect();
            c.query_drop("USE d").expect("used");
            verify(&mut c, &mut random, seed);
        }
    }
    drop(c);
    assert_eq!(server.stop(), Some(0));
    let checked = Command::new(PROGRAM).arg("check").arg(server.data_dir()).stdin(Stdio::null()).output().expect("runs");
    assert!(checked.status.success(), "{}{}", String::from_utf8_lossy(&checked.stdout), String::from_utf8_lossy(&checked.stderr));
}

#[test]
fn a_format_without_sections_refuses_them() {
    let server = Server::start(PROGRAM, &["--new-format", "3"]);
    let mut c = server.connect();
    c.query_drop("CREATE DATABASE d; USE d; CREATE TABLE plain (a INT)").expect("made");
    for sql in [
        "CREATE TABLE t (a INT CHECK (a > 0))",
        "CREATE TABLE t (a INT, b INT AS (a))",
        "CREATE TABLE t (a INT DEFAULT (1 + 1))",
        "CREATE TABLE t (a INT, b INT INVISIBLE)",
        "CREATE TABLE t (a INT, KEY ((a + 1)))",
        "ALTER TABLE plain ADD CHECK (a > 0)",
    ] {
        let Err(Error::MySqlError(error)) = c.query_drop(sql) else { panic!("{sql} was done") };
        assert!(error.code == 1235 && error.message.contains("format 4"), "{sql}: {error:?}");
    }
}
