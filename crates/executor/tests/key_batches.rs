//! Joins whose keys are looked up together answer as those that look them up one by one, and as nested loops over rows, in the same order; hash joins whose
//! sides were turned answer as those that were not.

mod support;

use env::SplitMix64 as Random;
use support::Database;
use types::{Collation, ColumnType};

fn seed() -> u64 {
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_261_121);
    println!("SEED={seed}");
    seed
}

/// `o` asks, `i` is found: by its primary key of three parts (a number, a string that folds, a number), by secondary keys with NULLs, by a prefix.
fn database(r: &mut Random, outer: u64, inner: u64) -> Database {
    let mut db = Database::new();
    let int = || ColumnType::int();
    let text = || ColumnType::varchar(20, Collation::DEFAULT);
    db.table(
        "o",
        &[("id", int().not_null()), ("a", int()), ("s", text()), ("c", int()), ("m", ColumnType::decimal(8, 2))],
        &[("PRIMARY", true, &["id"])],
    );
    let columns = [("a", int().not_null()), ("s", text().not_null()), ("n", int().not_null()), ("b", int()), ("t", text()), ("v", int())];
    let indexes: [(&str, bool, &[&str]); 4] =
        [("PRIMARY", true, &["a", "s", "n"]), ("b", false, &["b"]), ("t", false, &["t", "b"]), ("bv", false, &["b", "v"])];
    db.table("i", &columns, &indexes);
    let string = |r: &mut Random| format!("'{}{}'", r.pick(&["a", "b", "B", "c", "ä", "Ä"]), r.pick(&["", "x", "X", "yy"]));
    let null = |r: &mut Random, value: String| if r.below(9) == 0 { "NULL".to_owned() } else { value };
    let insert = |db: &mut Database, table: &str, rows: Vec<String>| {
        for part in rows.chunks(100) {
            db.change(&format!("INSERT IGNORE INTO {table} VALUES {}", part.join(",")));
        }
    };
    let rows = (0..outer)
        .map(|id| {
            let (a, s, c) = (r.below(60).to_string(), string(r), r.below(60).to_string());
            let (a, s, c) = (null(r, a), null(r, s), null(r, c));
            format!("({id}, {a}, {s}, {c}, {}.{})", r.below(60), r.pick(&["0", "0", "5"]))
        })
        .collect();
    insert(&mut db, "o", rows);
    let rows = (0..inner)
        .map(|_| {
            let (a, s, n, v) = (r.below(60), string(r), r.below(60), r.below(9));
            let (b, t) = (r.below(90).to_string(), string(r));
            let (b, t) = (null(r, b), null(r, t));
            format!("({a}, {s}, {n}, {b}, {t}, {v})")
        })
        .collect();
    insert(&mut db, "i", rows);
    db
}

/// Joins find their rows by keys wherever there are some.
fn by_keys(db: &mut Database) {
    db.context.switches = planner::switches::Switches::default().with("block_nested_loop=off").expect("a switch");
}

/// Whether the table that is asked is looked into by keys.
fn looks_up(db: &Database, sql: &str) -> bool {
    db.explain(sql).contains("lookup on i ")
}

fn query(r: &mut Random) -> String {
    let on = r.pick(&[
        "i.a = o.a AND i.s = o.s AND i.n = o.c",
        "i.a = o.a AND i.s = o.s",
        "i.a = o.a",
        "i.a = 7 AND i.s = o.s",
        "i.a = o.a AND i.s = o.s AND i.n = o.m",
        "i.b = o.a",
        "i.b = o.m",
        "i.b <=> o.a",
        "i.t = o.s AND i.b = o.a",
        "i.t = o.s",
    ]);
    let more = r.pick(&["", "", " AND i.v > 4", " AND i.v + o.id > 20", " AND i.t < o.s"]);
    let which = format!("o.id >= {} AND o.id < {}", r.below(200), r.pick(&[205, 300, 5_000]));
    let limit = r.pick(&["", "", "", " LIMIT 5", " LIMIT 40, 900"]);
    match r.below(6) {
        0 => format!("SELECT HINT COUNT(*), SUM(i.v), SUM(o.id), MAX(i.t) FROM o STRAIGHT_JOIN i ON {on}{more} WHERE {which}"),
        1 => format!("SELECT HINT o.id, i.a, i.b FROM o STRAIGHT_JOIN i ON {on}{more} WHERE {which} ORDER BY o.id, i.a, i.s, i.n{limit}"),
        2 => {
            let not = r.pick(&["", "NOT "]);
            format!("SELECT HINT o.id FROM o WHERE {which} AND {not}EXISTS (SELECT 1 FROM i WHERE {on}{more}){limit}")
        }
        3 => format!("SELECT HINT o.id, i.b, i.a FROM o LEFT JOIN i ON {on}{more} WHERE {which}{limit}"),
        // Not what the index has; then what it has alone.
        4 => format!("SELECT HINT o.id, i.t, i.v FROM o STRAIGHT_JOIN i ON {on}{more} WHERE {which}{limit}"),
        _ => format!("SELECT HINT o.id, o.s, i.b FROM o STRAIGHT_JOIN i ON {on} WHERE {which}{limit}"),
    }
}

/// Rows or the error.
fn answer(db: &mut Database, sql: &str, volatile: bool) -> String {
    let mut plan = db.plan(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    (plan.volatile, plan.short) = (volatile, None);
    match db.run_plan(&plan, &[]) {
        Ok((_, rows)) => rows.rows.iter().map(|r| r.join("|")).collect::<Vec<_>>().join("\n"),
        Err(e) => format!("error {e}"),
    }
}

#[test]
fn keys_looked_up_together_find_what_they_find_one_by_one() {
    let mut r = Random::new(seed());
    let mut db = database(&mut r, 1_300, 2_500);
    by_keys(&mut db);
    let (mut rows, mut lookups) = (0, 0);
    for round in 0..80 {
        let sql = query(&mut r);
        lookups += usize::from(looks_up(&db, &sql.replace("HINT", "")));
        let expect = answer(&mut db, &sql.replace("HINT", ""), true);
        rows += expect.lines().count();
        for hint in ["", "/*+ NO_BKA(i) */", "/*+ BKA(i) */", "/*+ NO_MRR(i) */"] {
            // Batches of one key, of some, of a chunk.
            db.context.join_buffer = r.pick(&[1, 100, 4_000, 1 << 20]);
            let sql = sql.replace("HINT", hint);
            let found = answer(&mut db, &sql, false);
            assert_eq!(found, expect, "round {round}, buffer {}: {sql}\n{}", db.context.join_buffer, db.explain(&sql));
        }
    }
    assert!(rows > 3_000, "{rows} rows");
    assert!(lookups > 60, "{lookups} of 80 look keys up");
}

#[test]
fn keys_that_find_too_much_are_looked_up_one_by_one() {
    let mut r = Random::new(seed());
    let mut db = database(&mut r, 400, 100);
    by_keys(&mut db);
    // 6,000 rows of one key: more than a batch holds, for the primary key, for entries, and for rows behind entries.
    for first in (0..6_000).step_by(500) {
        let rows: Vec<String> = (first..first + 500).map(|n| format!("(1000, 'z', {n}, 1000, 'zz', 1)")).collect();
        db.change(&format!("INSERT INTO i VALUES {}", rows.join(",")));
    }
    db.change("UPDATE o SET a = 1000 WHERE id IN (3, 30, 31, 200)");
    for columns in ["COUNT(*), SUM(i.n)", "COUNT(*), SUM(i.b)", "COUNT(*), SUM(i.b), SUM(i.v)", "COUNT(*), SUM(i.b), MAX(i.n), MAX(i.t)"] {
        for (index, on) in [("PRIMARY", "i.a = o.a"), ("b", "i.b = o.a")] {
            let sql = format!("SELECT HINT {columns}, SUM(o.id) FROM o STRAIGHT_JOIN i FORCE INDEX ({index}) ON {on}");
            let expect = answer(&mut db, &sql.replace("HINT", ""), true);
            for hint in ["", "/*+ BKA(i) */"] {
                let sql = sql.replace("HINT", hint);
                assert!(looks_up(&db, &sql), "{}", db.explain(&sql));
                assert_eq!(answer(&mut db, &sql, false), expect, "{sql}");
            }
        }
    }
}

#[test]
fn batches_that_shrink_to_nothing_leave_the_rest_to_keys_one_by_one() {
    let mut db = Database::new();
    db.table("o", &[("id", ColumnType::int().not_null()), ("a", ColumnType::int())], &[("PRIMARY", true, &["id"])]);
    db.table(
        "i",
        &[("n", ColumnType::int().not_null()), ("t", ColumnType::varchar(6_000, Collation::DEFAULT))],
        &[("PRIMARY", true, &["n"])],
    );
    for first in (0..3_000).step_by(500) {
        let rows: Vec<String> = (first..first + 500).map(|id| format!("({id}, {})", id % 200)).collect();
        db.change(&format!("INSERT INTO o VALUES {}", rows.join(",")));
    }
    // Chunks of left rows grow: 16, 32, 64, 128. What the third finds is too much for a chunk where memory is short, and so it is for a quarter of the
    // keys in the fourth, and for any less.
    for n in 0..200 {
        let bytes = match n {
            0..48 => 10,
            48..112 => 2_000,
            _ => 6_000,
        };
        db.change(&format!("INSERT INTO i VALUES ({n}, REPEAT('x', {bytes}))"));
    }
    by_keys(&mut db);
    db.context.memory_max = 1 << 20;
    let sql = "SELECT COUNT(*), SUM(o.id), SUM(LENGTH(i.t)) FROM o STRAIGHT_JOIN i ON i.n = o.a";
    assert!(looks_up(&db, sql), "{}", db.explain(sql));
    let expect = answer(&mut db, sql, true);
    assert!(expect.starts_with("3000|4498500|"), "{expect}");
    for join_buffer in [1 << 20, 128] {
        db.context.join_buffer = join_buffer;
        // Who goes on for ever looks more often whether it is cancelled.
        db.context.looks_left.set(10_000);
        assert_eq!(answer(&mut db, sql, false), expect, "{join_buffer}");
        db.context.looks_left.set(u32::MAX);
    }
}

#[test]
fn a_key_that_bounds_nothing_leaves_the_rows_of_others_alone() {
    let mut db = Database::new();
    db.table("o", &[("id", ColumnType::int().not_null()), ("d", ColumnType::double())], &[("PRIMARY", true, &["id"])]);
    db.table("i", &[("n", ColumnType::bigint().not_null()), ("v", ColumnType::int())], &[("PRIMARY", true, &["n"])]);
    // 1e16 equals several integers: no key. All rows are read for it, and pairs of others have gone on meanwhile.
    let rows: Vec<String> = (0..40).map(|id| format!("({id}, {})", if id % 3 == 1 { "1e16" } else { "5" })).collect();
    db.change(&format!("INSERT INTO o VALUES {}", rows.join(",")));
    for first in (0..3_000).step_by(500) {
        let rows: Vec<String> = (first..first + 500).map(|n| format!("({n}, {})", n * 7)).collect();
        db.change(&format!("INSERT INTO i VALUES {}", rows.join(",")));
    }
    db.change("INSERT INTO i VALUES (10000000000000000, 1)");
    by_keys(&mut db);
    let sql = "SELECT HINT o.id, i.n, i.v FROM o STRAIGHT_JOIN i ON i.n = o.d";
    let expect = answer(&mut db, &sql.replace("HINT", ""), true);
    assert_eq!(expect.lines().count(), 40);
    for hint in ["", "/*+ NO_BKA(i) */", "/*+ NO_MRR(i) */"] {
        let sql = sql.replace("HINT", hint);
        assert_eq!(answer(&mut db, &sql, false), expect, "{sql}\n{}", db.explain(&sql));
    }
}

#[test]
fn batches_are_accounted_and_a_cancelled_statement_ends() {
    let mut r = Random::new(seed());
    let mut db = database(&mut r, 1_300, 2_500);
    let sql = "SELECT COUNT(*), MAX(i.t) FROM o STRAIGHT_JOIN i ON i.b = o.a";
    // Less memory, smaller batches: it is enough where it is for one key after the other.
    let one_by_one = sql.replace("SELECT", "SELECT /*+ NO_BKA(i) */");
    let mut enough = 0;
    for memory in (16..=256).step_by(16) {
        db.context.memory_max = memory << 10;
        let expect = answer(&mut db, &one_by_one, false);
        if !expect.starts_with("error") {
            enough += 1;
            db.context.memory_max += 16 << 10;
            assert_eq!(answer(&mut db, sql, false), expect, "{memory} KiB");
        }
    }
    assert!(enough > 5, "{enough} sizes are enough");
    db.context.memory_max = 1 << 10;
    assert!(db.error(sql).starts_with("1038 "), "{}", db.error(sql));
    db.context.memory_max = executor::STATEMENT_BYTES_MAX;
    for looks in 1..6 {
        let mut plan = db.plan(sql, &[]).expect("a plan");
        plan.short = None;
        db.context.looks_left.set(looks);
        let result = db.run_plan(&plan, &[]);
        db.context.looks_left.set(u32::MAX);
        assert!(matches!(result, Err(executor::Error::Sql(e)) if e.code == 1317), "after {looks} looks");
    }
}

#[test]
fn turned_hash_joins_find_the_same_pairs() {
    let mut r = Random::new(seed());
    let mut db = database(&mut r, 1_300, 2_500);
    db.table(
        "few",
        &[("id", ColumnType::int().not_null()), ("x", ColumnType::int()), ("s", ColumnType::varchar(20, Collation::DEFAULT))],
        &[("PRIMARY", true, &["id"])],
    );
    for id in 0..40 {
        let (x, s) = (r.pick(&["NULL", "1", "5", "7", "30", "59"]), r.pick(&["NULL", "'a'", "'BX'", "'ä'", "'cyy'"]));
        db.change(&format!("INSERT INTO few VALUES ({id}, {x}, {s})"));
    }
    let mut turned = 0;
    for _ in 0..150 {
        let on = r.pick(&[
            "few.x = o.c",
            "few.s = o.s",
            "few.x = o.c AND few.s = o.s",
            "few.x = o.m AND o.id > few.id",
            "few.x + 0 = o.c AND few.id < 30",
        ]);
        let also = r.pick(&[
            "",
            " JOIN i ON i.v = few.id AND i.t = o.s",
            " LEFT JOIN i ON i.v = few.id AND i.n = 3",
            " JOIN i ON i.v + 1 = few.id",
        ]);
        let filter =
            r.pick(&["", " WHERE few.id > 5", " WHERE o.id IN (SELECT a FROM i)", " WHERE EXISTS (SELECT 1 FROM i WHERE i.v = few.x)"]);
        let shown = r.pick(&["few.id, few.s, o.id, o.a", "COUNT(*), SUM(o.id), SUM(few.id)", "few.x, COUNT(*), MAX(o.s)"]);
        let group = if shown.starts_with("few.x") { " GROUP BY few.x" } else { "" };
        let ask = |hint: &str| format!("SELECT {hint} {shown} FROM few JOIN o ON {on}{also}{filter}{group}");
        let free = ask("/*+ NO_INDEX(o) */");
        let sorted = |text: String| {
            let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
            rows.sort();
            rows
        };
        let tree = db.explain(&free);
        turned += usize::from(tree.contains("-> Hash\n") && tree.find("scan on few") > tree.find("scan on o "));
        let expect = sorted(answer(&mut db, &ask("/*+ JOIN_FIXED_ORDER() NO_INDEX(o) */"), true));
        assert_eq!(sorted(answer(&mut db, &free, false)), expect, "{free}\n{tree}");
        assert_eq!(sorted(answer(&mut db, &ask(""), true)), expect, "{free} by rows\n{tree}");
    }
    assert!(turned > 20, "{turned} turned");
}
