//! Queries in batches and row by row: the same rows, errors and warnings, in the same order.
//!
//! The row form is the same plan marked volatile: its scans, filters and projections go row by row through the evaluator.

mod support;

use env::SplitMix64 as Random;
use support::Database;
use types::{Collation, ColumnType, TypeKind};

fn database(r: &mut Random, rows: u64) -> Database {
    let mut db = Database::new();
    let columns = [
        ("id", ColumnType::int().not_null()),
        ("a", ColumnType::int()),
        ("b", ColumnType::bigint().unsigned()),
        ("s", ColumnType::varchar(10, Collation::DEFAULT)),
        ("d", ColumnType::new(TypeKind::Date)),
        ("m", ColumnType::decimal(8, 2)),
        ("f", ColumnType::double()),
    ];
    db.table("x", &columns, &[("PRIMARY", true, &["id"]), ("b", false, &["b"])]);
    db.table("y", &columns, &[]);
    for (table, count) in [("x", rows), ("y", rows / 4)] {
        let mut all = Vec::new();
        for id in 0..count {
            let mut row = vec![id.to_string()];
            for column in 0..6 {
                let n = r.below(if table == "x" { 30 } else { 12 }) as i64 - 3;
                row.push(match column {
                    _ if r.below(9) == 0 => "NULL".to_owned(),
                    0 => n.to_string(),
                    1 => n.unsigned_abs().to_string(),
                    2 => format!("'{}{}'", r.pick(&["a", "b", "B", "c", "ä"]), r.pick(&["", "x", "y%", " "])),
                    3 => format!("'2024-01-{:02}'", r.below(20) + 1),
                    4 => format!("{n}.{}", r.pick(&["0", "5", "25"])),
                    _ => format!("{n}.5"),
                });
            }
            all.push(format!("({})", row.join(",")));
        }
        for part in all.chunks(100) {
            db.change(&format!("INSERT INTO {table} VALUES {}", part.join(",")));
        }
    }
    db
}

/// A number; some divide by zero or leave the range.
fn number(r: &mut Random, t: &str) -> String {
    match r.below(12) {
        0 => format!("{t}.a + {t}.m"),
        1 => format!("{t}.a * 3 - {t}.b"),
        2 => format!("{t}.m * {t}.m / {t}.a"),
        3 => format!("{t}.f + {t}.a"),
        4 => format!("{t}.b - 1"),
        5 => format!("CASE WHEN {t}.a > 5 THEN {t}.m ELSE {t}.a END"),
        6 => format!("IFNULL({t}.m, {t}.a)"),
        7 => format!("LENGTH({t}.s)"),
        8 => format!("{t}.m"),
        9 => format!("{t}.f"),
        _ => format!("{t}.a"),
    }
}

fn condition(r: &mut Random, t: &str, depth: u32) -> String {
    if depth > 0 && r.below(3) == 0 {
        let op = r.pick(&["AND", "OR", "AND"]);
        return format!("({} {op} {})", condition(r, t, depth - 1), condition(r, t, depth - 1));
    }
    match r.below(10) {
        0 => format!("{t}.d > '2024-01-{:02}'", r.below(20) + 1),
        1 => format!("{t}.a IN (1, 2, {})", r.below(9)),
        2 => format!("{t}.s IS {}NULL", r.pick(&["", "NOT "])),
        3 => format!("{t}.s LIKE '{}'", r.pick(&["a%", "b_", "%x", "%B%", "%y\\%", "%xy%"])),
        4 => format!("{t}.a <> 0 AND 10 / {t}.a > 1"),
        5 => format!("SUBSTRING({t}.s, 2, 1) = 'x'"),
        6 => format!("{t}.m BETWEEN 1 AND {}", r.below(20)),
        7 => format!("{} > {}", number(r, t), r.below(20)),
        8 => format!("{t}.s {} 'b'", r.pick(&["=", "<", ">="])),
        _ => format!("{t}.a {} {}", r.pick(&["=", "<", ">=", "<>", "<=>"]), r.below(15)),
    }
}

fn query(r: &mut Random) -> String {
    let limit = match r.below(4) {
        0 => format!(" LIMIT {}", r.below(8)),
        1 => format!(" LIMIT {}, {}", r.below(30), r.below(40)),
        _ => String::new(),
    };
    let filter = match r.below(4) {
        0 => String::new(),
        _ => format!(" WHERE {}", condition(r, "x", 2)),
    };
    let order = r.pick(&["x.id", "x.a, x.id", "x.s DESC, x.id", "x.m + x.a, x.id DESC", "x.d DESC, x.m, x.id"]);
    match r.below(13) {
        0 => format!("SELECT x.id, {}, x.s FROM x{filter}{limit}", number(r, "x")),
        1 => format!("SELECT x.*, {} FROM x{filter} ORDER BY {order}{limit}", number(r, "x")),
        2 => {
            let aggregate = r.pick(&["COUNT(*)", "SUM(x.a)", "AVG(x.m)", "MIN(x.s)", "MAX(x.d)", "SUM(x.f)", "COUNT(DISTINCT x.s)"]);
            let key = r.pick(&["x.a", "x.s", "x.a, x.d", "x.m", "x.a + 1"]);
            let having = r.pick(&["", " HAVING COUNT(*) > 3"]);
            format!("SELECT {key}, {aggregate}, SUM({}) FROM x{filter} GROUP BY {key}{having} ORDER BY {key}{limit}", number(r, "x"))
        }
        3 => format!("SELECT COUNT(*), SUM({}), MAX(x.m), GROUP_CONCAT(DISTINCT x.a) FROM x{filter}", number(r, "x")),
        4 | 5 => {
            let join = r.pick(&["JOIN", "LEFT JOIN"]);
            let on = r.pick(&[
                "y.a = x.a",
                "y.s = x.s",
                "y.a = x.a AND y.m > x.m",
                "y.a = x.b AND y.s = x.s",
                "y.m = x.a",
                "y.a = x.a AND 10 / y.a > x.m",
                // Keys of several whole numbers, with and without NULL, of one type and of several.
                "y.a = x.a AND y.b = x.b",
                "y.a = x.id AND y.b = x.id",
                "y.id = x.id AND y.id % 7 = x.id % 7",
                "y.a = x.a AND y.m = x.m AND y.b <=> x.b",
            ]);
            // Columns alone go from both sides straight to the consumer.
            let shown = r.pick(&["x.id, y.id, y.s", "y.m, x.s, y.d, y.f, x.s, x.b, y.a", "y.b + 0, x.s", "COUNT(*), SUM(y.m), SUM(x.id)"]);
            format!("SELECT {shown} FROM x {join} y ON {on}{filter}{limit}")
        }
        6 => {
            let not = r.pick(&["", "NOT "]);
            let column = r.pick(&["a", "s", "b"]);
            format!("SELECT x.id FROM x WHERE x.{column} {not}IN (SELECT y.{column} FROM y WHERE {}){limit}", condition(r, "y", 1))
        }
        7 => {
            // By an index of the right side.
            let on = r.pick(&[
                "x.id = y.a",
                "x.b = y.a",
                "x.id = y.b AND x.m > y.m",
                "x.b = y.b AND 10 / x.a > y.m",
                "x.id = y.m",
                "x.b <=> y.b",
            ]);
            let shown = r.pick(&["x.id, y.id, y.s", "COUNT(*), SUM(x.m), SUM(y.id)"]);
            format!("SELECT {shown} FROM y STRAIGHT_JOIN x ON {on} WHERE y.id < {}{limit}", 20 + r.below(200))
        }
        8 => {
            let not = r.pick(&["", "NOT "]);
            let key = r.pick(&["x.b = y.a", "x.id = y.a", "x.b = y.b"]);
            let more = condition(r, "x", 1);
            format!("SELECT y.id FROM y WHERE y.id < {} AND {not}EXISTS (SELECT 1 FROM x WHERE {key} AND {more}){limit}", 20 + r.below(200))
        }
        9 => {
            let (value, outer) = (number(r, "x"), r.pick(&["t.v", "t.v + 1", "t.id"]));
            // With a LIMIT the row form fails for rows that the other, as MySQL, does not come to.
            format!("SELECT {outer}, t.id FROM (SELECT {value} AS v, x.id FROM x{filter}) t WHERE t.id > {}", r.below(40))
        }
        10 => {
            format!("SELECT t.k, t.n FROM (SELECT x.a AS k, COUNT(*) AS n FROM x{filter} GROUP BY x.a) t WHERE t.n > 3 ORDER BY t.k{limit}")
        }
        11 => {
            let inner = r.pick(&["", " WHERE y.a = x.a", " WHERE y.s = x.s AND y.m > 2", " WHERE y.d = '2024-01-03'"]);
            let asked = r.pick(&["AVG(y.m)", "MAX(y.a)", "SUM(10 / y.a)"]);
            format!("SELECT x.id FROM x WHERE x.m > (SELECT {asked} FROM y{inner}){limit}")
        }
        _ => {
            let columns = r.pick(&["x.a", "x.s", "x.a, x.s", "x.m"]);
            format!("SELECT DISTINCT {columns} FROM x{filter} ORDER BY {columns}{limit}")
        }
    }
}

/// Rows or the error, and the warnings.
fn answer(db: &mut Database, sql: &str, volatile: bool) -> String {
    let mut plan = match db.plan(sql, &[]) {
        Ok(plan) => plan,
        Err(e) => panic!("{sql}: {e}"),
    };
    plan.volatile = volatile;
    plan.short = None;
    db.context.warnings.clear();
    let rows = match db.run_plan(&plan, &[]) {
        Ok((_, rows)) => rows.rows.iter().map(|r| r.join("|")).collect::<Vec<_>>().join("\n"),
        Err(e) => format!("error {e}"),
    };
    let warnings: Vec<String> = db.context.warnings.iter().map(|w| format!("{} {}", w.code, w.message)).collect();
    format!("{rows}\nwarnings: {}\n{}", warnings.len(), warnings.join("\n"))
}

#[test]
fn batches_answer_as_rows_do() {
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(4_711);
    println!("SEED={seed}");
    let mut r = Random::new(seed);
    // More rows than a chunk holds.
    let mut db = database(&mut r, 1_300);
    for round in 0..400 {
        let sql = query(&mut r);
        let (rows, batch) = (answer(&mut db, &sql, true), answer(&mut db, &sql, false));
        assert_eq!(rows, batch, "SEED={seed} round {round}: {sql}\n{}", db.explain(&sql));
    }
}

#[test]
fn rows_past_a_limit_are_not_evaluated() {
    let mut db = Database::new();
    let int = || ColumnType::int().not_null();
    db.table("t", &[("id", int()), ("a", ColumnType::bigint().not_null())], &[("PRIMARY", true, &["id"])]);
    for first in (0..600).step_by(100) {
        let rows: Vec<String> = (first..first + 100).map(|i| format!("({i}, {})", if i < 3 { i + 1 } else { 0 })).collect();
        db.change(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    }
    db.change("UPDATE t SET a = 9223372036854775807 WHERE id = 500");
    db.context.warnings.clear();
    // Row 3 and all later ones would warn, and row 500 would fail.
    assert_eq!(db.query("SELECT id FROM t WHERE 10 / a > 1 LIMIT 3"), "0, 1, 2");
    assert_eq!(db.context.warnings.len(), 0);
    assert_eq!(db.query("SELECT id FROM t WHERE a + 1 > 1 LIMIT 2"), "0, 1");
    assert!(db.error("SELECT id FROM t WHERE a + 1 > 5 LIMIT 2").starts_with("1690 "));
    assert_eq!(db.query("SELECT COUNT(*) FROM t WHERE a <> 0 AND 10 / a > 2"), "3");
    assert_eq!(db.context.warnings.len(), 0);
    assert_eq!(db.query("SELECT COUNT(*) FROM t WHERE id < 5 AND 10 / a > 2"), "3");
    assert_eq!(db.context.warnings.len(), 2);
}

#[test]
fn what_is_kept_is_accounted_and_a_cancelled_statement_ends() {
    let mut r = Random::new(7);
    let mut db = database(&mut r, 1_300);
    let keeping = [
        "SELECT x.id FROM x ORDER BY x.s",
        "SELECT x.id, COUNT(*) FROM x GROUP BY x.id",
        "SELECT DISTINCT x.id + 0, x.s FROM x",
        "SELECT COUNT(*) FROM x p JOIN x q ON p.a + 0 = q.a + 0 AND p.s = q.s",
        "SELECT GROUP_CONCAT(x.s) FROM x",
    ];
    // Room for the chunks, but not for what the operators keep.
    for sql in keeping {
        db.context.memory_max = 48 << 10;
        assert!(db.error(sql).starts_with("1038 "), "{sql}: {}", db.error(sql));
        db.context.memory_max = executor::STATEMENT_BYTES_MAX;
        assert!(!db.query(sql).is_empty(), "{sql}");
    }
    // A scan holds a chunk at a time.
    db.context.memory_max = 48 << 10;
    assert_eq!(db.query("SELECT COUNT(*) FROM x WHERE x.a + 1 > -100 OR x.a IS NULL"), "1300");
    db.context.memory_max = executor::STATEMENT_BYTES_MAX;
    for sql in ["SELECT COUNT(*) FROM x", "SELECT x.id FROM x ORDER BY x.m", "SELECT COUNT(*) FROM y JOIN x ON x.a = y.a"] {
        let mut plan = db.plan(sql, &[]).expect("a plan");
        plan.short = None;
        db.context.looks_left.set(4);
        let result = db.run_plan(&plan, &[]);
        db.context.looks_left.set(u32::MAX);
        assert!(matches!(result, Err(executor::Error::Sql(e)) if e.code == 1317), "{sql}");
    }
}

#[test]
fn the_first_rows_of_an_order_are_those_of_the_whole_order() {
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_261_121);
    println!("SEED={seed}");
    let mut r = Random::new(seed);
    // So many that the surplus is thrown away several times.
    let mut db = database(&mut r, 4_000);
    for _ in 0..60 {
        let (column, direction) = (r.pick(&["a", "b", "s", "d", "m", "f", "m + 1", "-a"]), r.pick(&["", " DESC"]));
        let order = format!("SELECT id, a, m FROM x ORDER BY {column}{direction}, id{}", r.pick(&["", " DESC"]));
        let (skip, count) = (r.pick(&[0, 0, 3, 700]), r.pick(&[1, 10, 400, 2_000]));
        let all = db.query(&order);
        let rows: Vec<&str> = all.split(", ").skip(skip).take(count).collect();
        let limited = db.query(&format!("{order} LIMIT {skip}, {count}"));
        assert_eq!(limited.split(", ").collect::<Vec<_>>(), rows, "{order} LIMIT {skip}, {count}");
    }
}
