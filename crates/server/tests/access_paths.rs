//! Ways to read a table that are chosen by cost, against the same statements read whole: skip scans, loose index scans and merged indexes, under random
//! changes, own and others', in new and old snapshots, in reads, locking reads, UPDATE and DELETE. And how many rows a join is expected to have.

use env::SplitMix64;
use harness::Server;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

const ROUNDS: usize = 12;
const ROWS: u64 = 900;
const QUESTIONS: usize = 24;
/// Every secondary index: without them all rows are read.
const WHOLE: &str = "IGNORE INDEX (abc, down, sb, ub, pre, ka, kd)";

struct Random(SplitMix64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0.next() % n
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }

    /// A value of a column with few values, or of one with many.
    fn value(&mut self, column: &str) -> String {
        match (column, self.below(9)) {
            ("a" | "c" | "s" | "d", 0) => "NULL".into(),
            ("a" | "c", _) => self.below(5).to_string(),
            ("s", _) => format!("'{}'", self.pick(&["Ab", "aB", "AB", "x", "Xa", "é", "E"])),
            ("u", _) => format!("'{}'", self.pick(&["k", "K", "kk", ""])),
            _ => self.below(300).to_string(),
        }
    }

    /// A condition on a column.
    fn condition(&mut self, column: &str) -> String {
        let (x, y) = (self.value(column), self.value(column));
        match self.below(8) {
            0 => format!("{column} > {x}"),
            1 => format!("{column} <= {x}"),
            2 => format!("{column} BETWEEN {x} AND {y}"),
            3 => format!("{column} IN ({x}, {y})"),
            4 => format!("{column} IS NULL"),
            5 => format!("{column} <=> {x}"),
            6 => format!("({column} < {x} OR {column} > {y})"),
            _ => format!("{column} = {x}"),
        }
    }
}

fn rows(c: &mut Conn, sql: &str) -> Vec<String> {
    let found: Vec<Row> = c.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let mut found: Vec<String> = found.into_iter().map(|row| format!("{:?}", row.unwrap())).collect();
    found.sort_unstable();
    found
}

fn change(random: &mut Random, c: &mut Conn) {
    let id = random.below(ROWS * 2);
    let column = random.pick(&["a", "b", "c", "s", "u", "d"]);
    let value = random.value(column);
    let values = ["a", "b", "c", "s", "u", "d"].map(|column| random.value(column)).join(", ");
    let sql = match random.below(4) {
        0 => format!("DELETE FROM r WHERE id BETWEEN {id} AND {}", id + random.below(6)),
        1 => format!("REPLACE INTO r VALUES ({id}, {values})"),
        _ => format!("UPDATE r SET {column} = {value} WHERE id BETWEEN {id} AND {}", id + random.below(20)),
    };
    c.query_drop(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// A statement with places for its hint and for index hints, and the hint and the word of EXPLAIN that belong to it.
fn question(random: &mut Random) -> (String, &'static str, &'static str) {
    let skip = ("/*+ SKIP_SCAN(r) */", "skip scan");
    let loose = ("", "group-by");
    let merge = ("/*+ INDEX_MERGE(r) */", "Using");
    let (sql, (hint, word)) = match random.below(12) {
        0 => (format!("SELECT {{}} a, b FROM r {{}} WHERE {}", random.condition("b")), skip),
        1 => (format!("SELECT {{}} a, b, c, id FROM r {{}} WHERE {} AND {}", random.condition("b"), random.condition("c")), skip),
        2 => (format!("SELECT {{}} c, a FROM r {{}} WHERE {} AND {}", random.condition("a"), random.condition("c")), skip),
        3 => (format!("SELECT {{}} b FROM r FORCE INDEX (sb) {{}} WHERE {}", random.condition("b")), skip),
        4 => (format!("SELECT {{}} u, b FROM r FORCE INDEX (ub) {{}} WHERE {} AND {}", random.condition("u"), random.condition("b")), skip),
        5 => (format!("SELECT {{}} b, COUNT(*) FROM r FORCE INDEX (pre) {{}} WHERE {} GROUP BY b", random.condition("b")), skip),
        6 => (format!("SELECT {{}} a, MIN(b), MAX(b) FROM r {{}} WHERE {} GROUP BY a", random.condition("b")), loose),
        7 => (format!("SELECT {{}} a, MIN(c) FROM r {{}} WHERE b = {} GROUP BY a", random.value("b")), loose),
        8 => (format!("SELECT {{}} a, {}(b) FROM r {{}} WHERE {} GROUP BY a", random.pick(&["MIN", "MAX"]), random.condition("a")), loose),
        9 => (format!("SELECT {{}} DISTINCT u FROM r {{}} WHERE {}", random.condition("b")), loose),
        10 => {
            let (x, y) = (random.condition("a"), random.condition("d"));
            (format!("SELECT {{}} * FROM r {{}} WHERE ({x} OR {y}) AND id <> {}", random.below(ROWS)), merge)
        }
        _ => (format!("SELECT {{}} * FROM r {{}} WHERE a = {} AND d = {}", random.below(5), random.below(300)), merge),
    };
    (sql, hint, word)
}

fn filled(sql: &str, hint: &str, indexes: &str) -> String {
    let sql = if indexes.is_empty() { sql.to_owned() } else { forced_out(sql) };
    sql.replacen("{}", hint, 1).replacen("{}", indexes, 1)
}

/// Without the index that the statement names.
fn forced_out(sql: &str) -> String {
    ["sb", "ub", "pre"].iter().fold(sql.to_owned(), |sql, index| sql.replace(&format!("FORCE INDEX ({index}) "), ""))
}

#[test]
fn what_is_skipped_and_merged_is_what_is_there() {
    let seed = std::env::var("SEED").map_or(20_261_121, |seed| seed.parse().expect("a number"));
    println!("seed {seed}; replay: SEED={seed} cargo test -p server --test access_paths");
    let mut random = Random(SplitMix64::new(seed));
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let connect = || server.connect();
    let (mut c, mut old) = (connect(), connect());
    c.query_drop("CREATE DATABASE paths").expect("a database");
    for c in [&mut c, &mut old] {
        c.query_drop("USE paths").expect("a database");
    }
    c.query_drop(
        "CREATE TABLE r (id INT PRIMARY KEY, a INT, b INT NOT NULL, c INT, s VARCHAR(10), u VARCHAR(10) COLLATE utf8mb4_0900_bin NOT NULL, d INT, \
         KEY abc (a, b, c), KEY down (a DESC, b DESC), KEY sb (s, b), KEY ub (u, b DESC), KEY pre (s(1), c, b), KEY ka (a), KEY kd (d))",
    )
    .expect("a table");
    c.query_drop("BEGIN").expect("a transaction");
    for id in 0..ROWS {
        let values = ["a", "b", "c", "s", "u", "d"].map(|column| random.value(column)).join(", ");
        c.query_drop(format!("INSERT INTO r VALUES ({}, {values})", id * 2)).expect("a row");
    }
    c.query_drop("COMMIT").expect("an end");
    c.query_drop("ANALYZE TABLE r").expect("statistics");
    let mut taken = [0usize; 3];
    for round in 0..ROUNDS {
        old.query_drop("COMMIT").expect("an end");
        old.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT").expect("a snapshot");
        (0..10).for_each(|_| change(&mut random, &mut c));
        c.query_drop("BEGIN").expect("a transaction");
        (0..10).for_each(|_| change(&mut random, &mut c));
        for _ in 0..QUESTIONS {
            let (sql, hint, word) = question(&mut random);
            let by_path = filled(&sql, hint, "");
            let plan: Row = c.query_first(format!("EXPLAIN FORMAT=TRADITIONAL {by_path}")).expect("a plan").expect("a row");
            let extra: Option<String> = plan.get("Extra").expect("a column");
            let access: Option<String> = plan.get("type").expect("a column");
            let is_merge = word == "Using";
            let used = if is_merge { access.as_deref() == Some("index_merge") } else { extra.is_some_and(|extra| extra.contains(word)) };
            taken[if is_merge { 2 } else { usize::from(word == "group-by") }] += usize::from(used);
            let locks = word != "group-by";
            let lock = if locks { random.pick(&["", " FOR UPDATE", " FOR SHARE"]) } else { "" };
            let by_path = format!("{by_path}{lock}");
            let whole = filled(&sql, "/*+ NO_SKIP_SCAN(r) NO_INDEX_MERGE(r) */", WHOLE);
            for (who, c) in [("own changes", &mut c), ("old snapshot", &mut old)] {
                // What somebody has changed, others wait for.
                let by_path = if who == "old snapshot" { by_path.strip_suffix(lock).unwrap_or(&by_path) } else { by_path.as_str() };
                assert_eq!(rows(c, by_path), rows(c, &whole), "{who}, round {round}: {by_path}\n{whole}");
            }
            // A skip scan of which groups are made is one of a query alone.
            if locks && !sql.contains("GROUP BY") {
                let condition = sql.split_once("WHERE").expect("a condition").1;
                for change in [
                    "UPDATE {} r {} SET c = IFNULL(c, 0) + 7 WHERE",
                    "UPDATE {} r {} SET a = 4, d = d + 1 WHERE",
                    "DELETE {} FROM r {} WHERE",
                ] {
                    let left = |c: &mut Conn, hint: &str, indexes: &str| {
                        // Of one table DELETE has no index hints.
                        let indexes = if change.starts_with("DELETE") { "" } else { indexes };
                        let sql = format!("{}{condition}", change.replacen("{}", hint, 1).replacen("{}", indexes, 1));
                        c.query_drop("SAVEPOINT mark").expect("a savepoint");
                        c.query_drop(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
                        let left = (c.affected_rows(), rows(c, "SELECT * FROM r"));
                        c.query_drop("ROLLBACK TO mark").expect("a way back");
                        left
                    };
                    let by_path = left(&mut c, hint, "");
                    assert_eq!(
                        by_path,
                        left(&mut c, "/*+ NO_SKIP_SCAN(r) NO_INDEX_MERGE(r) */", WHOLE),
                        "round {round}: {change}{condition}"
                    );
                }
            }
        }
        c.query_drop(random.pick(&["COMMIT", "ROLLBACK"])).expect("an end");
    }
    println!("taken: {taken:?} (skip, loose, merge)");
    assert!(taken.iter().all(|taken| *taken > 10), "{taken:?}: a test that seldom takes the ways checks little");
}

/// Rows of a join that EXPLAIN lets expect.
fn expected_rows(c: &mut Conn, sql: &str) -> f64 {
    let plan: Vec<Row> = c.query(format!("EXPLAIN FORMAT=TRADITIONAL {sql}")).expect("a plan");
    let number = |row: &Row, column: &str| row.get::<f64, _>(column).expect("a number");
    plan.iter().map(|row| number(row, "rows") * number(row, "filtered") / 100.0).product()
}

#[test]
fn a_join_expects_the_rows_that_refer_to_the_row_it_finds() {
    const FILMS: u32 = 20_000;
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let mut c = server.connect();
    // Half of the films have the first word, and the others a few each. Of `film` word_id is indexed, of `scene` it is not.
    for sql in [
        "CREATE DATABASE partners".to_owned(),
        "USE partners".to_owned(),
        format!("SET cte_max_recursion_depth = {FILMS}"),
        "CREATE TABLE word (id INT PRIMARY KEY, word VARCHAR(20) NOT NULL)".to_owned(),
        "CREATE TABLE film (id INT PRIMARY KEY, word_id INT, year INT NOT NULL, KEY (word_id))".to_owned(),
        "INSERT INTO word WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i, CONCAT('word ', i) FROM n".to_owned(),
        format!(
            "INSERT INTO film WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {FILMS}) \
             SELECT i, IF(i % 2, 1, 1 + i % 1000), 1980 + i % 40 FROM n"
        ),
        "CREATE TABLE scene (id INT PRIMARY KEY, word_id INT, year INT NOT NULL) SELECT * FROM film".to_owned(),
        "ANALYZE TABLE word, film, scene".to_owned(),
        // A hash join's line tells what is put into the table, not what is found there.
        "SET optimizer_switch = 'block_nested_loop=off'".to_owned(),
    ] {
        c.query_drop(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    for (table, word, factor) in
        [("film", "= 'word 1'", 2.0), ("film", "LIKE '%d 1'", 2.0), ("film", "= 'word 7'", 5.0), ("scene", "= 'word 1'", 2.0)]
    {
        for hint in ["", "JOIN_PREFIX(w)", "JOIN_PREFIX(f)"] {
            let join = format!("FROM word w, {table} f WHERE f.word_id = w.id AND w.word {word}");
            let is: f64 = c.query_first(format!("SELECT COUNT(*) {join}")).expect("a count").expect("a row");
            let told = expected_rows(&mut c, &format!("SELECT /*+ {hint} */ f.year, w.word {join}"));
            assert!(told > is / factor && told < is * factor, "{hint} {join}: {told} rows are expected, {is} are there");
        }
    }
    // A histogram tells nothing of patterns: rows do.
    c.query_drop("ANALYZE TABLE word UPDATE HISTOGRAM ON word").expect("a histogram");
    let told = expected_rows(&mut c, "SELECT * FROM word WHERE word LIKE '%ord%'");
    assert!(told > 500.0, "{told} rows are expected, 1,000 are there");
}
