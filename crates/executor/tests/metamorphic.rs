//! The same question asked of an indexed table and of a copy without indexes gets the same answer.

mod support;

use env::SplitMix64 as Random;
use support::Database;
use types::{Collation, ColumnType, TypeKind};

fn value(r: &mut Random, column: &str) -> String {
    let n = r.below(12) as i64 - 2;
    match column {
        "s" => format!("'{}{}'", r.pick(&["a", "b", "B", "c", "ä"]), r.pick(&["", "x", "y%", " "])),
        "d" => format!("'2024-01-{:02}'", r.below(20) + 1),
        "m" => format!("{}.{}", n, r.pick(&["0", "5", "25"])),
        _ if r.below(12) == 0 => "NULL".into(),
        _ if r.below(12) == 0 => format!("{n}.5"),
        _ if r.below(12) == 0 => format!("'{n}'"),
        _ => n.to_string(),
    }
}

fn condition(r: &mut Random, depth: u32) -> String {
    if depth > 0 && r.below(3) == 0 {
        let op = r.pick(&["AND", "OR", "AND"]);
        return format!("({} {op} {})", condition(r, depth - 1), condition(r, depth - 1));
    }
    let column = r.pick(&["id", "a", "b", "s", "d", "m", "a", "b"]);
    match r.below(9) {
        0 => format!("{column} BETWEEN {} AND {}", value(r, column), value(r, column)),
        1 => format!("{column} IN ({}, {}, {})", value(r, column), value(r, column), value(r, column)),
        2 => format!("{column} IS {}NULL", r.pick(&["", "NOT "])),
        3 => format!("s LIKE '{}'", r.pick(&["a%", "b_", "%x", "B%", "ay\\\\%"])),
        4 => format!("(a, b) IN (({}, {}), ({}, {}))", value(r, "a"), value(r, "b"), value(r, "a"), value(r, "b")),
        5 => format!("{column} <=> {}", value(r, column)),
        _ => format!("{column} {} {}", r.pick(&["=", "=", "<", "<=", ">", ">=", "<>"]), value(r, column)),
    }
}

#[test]
fn indexes_do_not_change_answers() {
    let seed = 20_240_506;
    println!("seed {seed}");
    let mut r = Random::new(seed);
    let mut db = Database::new();
    let columns = [
        ("id", ColumnType::int().not_null()),
        ("a", ColumnType::int()),
        ("b", ColumnType::bigint().unsigned()),
        ("s", ColumnType::varchar(10, Collation::DEFAULT)),
        ("d", ColumnType::new(TypeKind::Date)),
        ("m", ColumnType::decimal(8, 2)),
    ];
    let indexes: [(&str, bool, &[&str]); 6] = [
        ("PRIMARY", true, &["id"]),
        ("a", false, &["a", "b"]),
        ("b", false, &["b"]),
        ("s", false, &["s", "a"]),
        ("d", false, &["d"]),
        ("m", false, &["m", "id"]),
    ];
    db.table("x", &columns, &indexes);
    db.table("y", &columns, &[]);
    let null = |r: &mut Random, v: String| if r.below(8) == 0 { "NULL".to_owned() } else { v };
    for id in 0..120 {
        let (a, b) = (r.below(10) as i64 - 2, r.below(9));
        let (s, d, m) = (value(&mut r, "s"), value(&mut r, "d"), value(&mut r, "m"));
        let row =
            [id.to_string(), null(&mut r, a.to_string()), null(&mut r, b.to_string()), null(&mut r, s), null(&mut r, d), null(&mut r, m)];
        for t in ["x", "y"] {
            db.change(&format!("INSERT INTO {t} VALUES ({})", row.join(",")));
        }
    }
    for round in 0..600 {
        let c = condition(&mut r, 2);
        let order = r.pick(&["id", "a, id", "s, id", "b DESC, id", "m DESC, id DESC", "d, id"]);
        let limit = r.pick(&["", "", " LIMIT 7", " LIMIT 3, 5"]);
        let ask = |t: &str| format!("SELECT id, a, b, s FROM {t} WHERE {c} ORDER BY {order}{limit}");
        let (x, y) = (db.query(&ask("x")), db.query(&ask("y")));
        assert_eq!(x, y, "round {round}: {}\n{}", ask("x"), db.explain(&ask("x")));
        let join = |t: &str, u: &str| {
            format!(
                "SELECT COUNT(*), SUM(p.id), SUM(q.id) FROM {t} p LEFT JOIN {u} q ON p.a = q.b AND q.id < 40 WHERE p.id IN (SELECT a FROM {t} WHERE {c})"
            )
        };
        if round % 5 == 0 {
            let (x, y) = (db.query(&join("x", "x")), db.query(&join("y", "y")));
            assert_eq!(x, y, "round {round}: {}\n{}", join("x", "x"), db.explain(&join("x", "x")));
            let aggregate = |t: &str| format!("SELECT a, COUNT(*), COUNT(s), MAX(m) FROM {t} WHERE {c} GROUP BY a ORDER BY a");
            assert_eq!(db.query(&aggregate("x")), db.query(&aggregate("y")), "round {round}: {}", aggregate("x"));
            let extreme = |t: &str| format!("SELECT MAX(b) FROM {t} WHERE {c}");
            assert_eq!(db.query(&extreme("x")), db.query(&extreme("y")), "round {round}: {}\n{}", extreme("x"), db.explain(&extreme("x")));
            let least = |t: &str| format!("SELECT MIN(a) FROM {t} WHERE {c}");
            assert_eq!(db.query(&least("x")), db.query(&least("y")), "round {round}: {}\n{}", least("x"), db.explain(&least("x")));
        }
    }
}

/// A text that compares otherwise than it is written, or what is beside one.
fn text(r: &mut Random) -> String {
    match r.below(14) {
        0 => "NULL".into(),
        1 => r.pick(&["0", "1", "1e0"]).into(),
        2 => format!("'{}'", "a".repeat(40)),
        _ => format!("'{}{}'", r.pick(&["a", "A", "ä", "b", "ß", "ss", "1", ""]), r.pick(&["", "", "", " ", "b"])),
    }
}

fn text_condition(r: &mut Random, depth: u32) -> String {
    if depth > 0 && r.below(2) == 0 {
        let op = r.pick(&["AND", "AND", "AND", "OR"]);
        return format!("({} {op} {})", text_condition(r, depth - 1), text_condition(r, depth - 1));
    }
    let column = r.pick(&["k", "k", "s", "s", "b", "f", "n"]);
    let mut value = || match column {
        "f" => r.pick(&["0.5", "-0.0", "0", "1", "1e16", "'0.5'", "NULL"]).to_owned(),
        "n" => r.below(9).to_string(),
        _ => text(r),
    };
    let (first, second) = (value(), value());
    match r.below(10) {
        0 => format!("{column} BETWEEN {first} AND {second}"),
        1 => format!("{column} IN ({first}, {second})"),
        2 => format!("{column} IS {}NULL", r.pick(&["", "NOT "])),
        3 => format!("{column} <=> {first}"),
        4 => format!("k LIKE '{}'", r.pick(&["a%", "A_", "ss%", "%b"])),
        5 => format!("(k, s) IN (({first}, {second}), ('a', 'b'))"),
        _ => format!("{column} {} {first}", r.pick(&["=", "=", "=", "=", "<", "<=", ">", ">="])),
    }
}

/// A question of a table `TABLE` in which texts are tested and hardly ever shown.
fn text_question(r: &mut Random) -> String {
    let c = text_condition(r, 2);
    let (first, second) = (text(r), text(r));
    match r.below(11) {
        0 => format!("SELECT COUNT(*), SUM(n), MAX(id) FROM TABLE WHERE {c}"),
        1 => format!("SELECT n, id FROM TABLE WHERE {c} ORDER BY n, id LIMIT {}", r.pick(&[3, 50])),
        2 => format!("SELECT n, COUNT(*), MIN(id) FROM TABLE WHERE {c} GROUP BY n ORDER BY n"),
        3 => format!("SELECT DISTINCT n FROM TABLE WHERE k = {first} AND s = {second} ORDER BY n"),
        4 => format!("SELECT id, n FROM TABLE WHERE k = {first} AND s = {second} ORDER BY n DESC, id DESC"),
        5 => format!("SELECT COUNT(*), SUM(d.n) FROM (SELECT n, id FROM TABLE WHERE {c} ORDER BY n, id LIMIT 20) d"),
        6 => {
            format!(
                "SELECT p.id, q.n, q.id FROM TABLE p JOIN TABLE q ON q.n = p.m AND q.k = {first} WHERE p.id < 90 ORDER BY p.id, q.n, q.id"
            )
        }
        7 => format!(
            "SELECT p.id, COUNT(q.n), SUM(q.id) FROM TABLE p LEFT JOIN TABLE q ON q.k = p.s AND q.s = {first} WHERE p.id < 90 GROUP BY p.id ORDER BY p.id"
        ),
        8 => format!(
            "SELECT p.id FROM TABLE p WHERE {}EXISTS (SELECT 1 FROM TABLE q WHERE q.k = p.s AND q.n = p.n) AND p.id < 90 ORDER BY p.id",
            r.pick(&["", "NOT "])
        ),
        // Of a double past 9e15 there is no key, so that what is behind it in the index is tested.
        9 => format!(
            "SELECT p.id, COUNT(*), SUM(q.id) FROM TABLE p JOIN TABLE q ON q.m = p.f AND q.k = {first} WHERE p.id < 90 GROUP BY p.id ORDER BY p.id"
        ),
        _ => format!("SELECT id, ROW_NUMBER() OVER (ORDER BY n, id) FROM TABLE WHERE {c} ORDER BY id LIMIT 30"),
    }
}

/// Rows of a plan, or the error.
fn rows_of(db: &mut Database, plan: &planner::Plan, params: &[types::Value]) -> String {
    match db.run_plan(plan, params) {
        Ok((_, rows)) => rows.rows.iter().map(|row| row.join("|")).collect::<Vec<_>>().join("\n"),
        Err(e) => format!("error {e}"),
    }
}

/// Two tables with the same rows: `x` has indexes with texts, `y` none.
fn tables_of_texts(r: &mut Random) -> Database {
    let mut db = Database::new();
    let folded = |chars| ColumnType::varchar(chars, Collation::DEFAULT);
    let columns = [
        ("id", ColumnType::int().not_null()),
        ("k", folded(12).not_null()),
        ("s", folded(12)),
        ("b", ColumnType::varchar(12, Collation::Utf8mb4Bin)),
        ("f", ColumnType::double()),
        ("n", ColumnType::int().not_null()),
        ("m", ColumnType::bigint()),
    ];
    let indexes: [(&str, bool, &[&str]); 7] = [
        ("PRIMARY", true, &["id"]),
        ("ksn", false, &["k", "s", "n"]),
        ("sn", false, &["s", "n"]),
        ("bn", false, &["b", "n"]),
        ("fn", false, &["f", "n"]),
        ("nk", false, &["n", "k"]),
        ("mk", false, &["m", "k"]),
    ];
    db.table("x", &columns, &indexes);
    db.table("y", &columns, &[]);
    let rows: Vec<String> = (0..1_200)
        .map(|id| {
            let text = |r: &mut Random| {
                format!("'{}{}'", r.pick(&["a", "A", "ä", "b", "B", "ß", "ss", "SS", "1", ""]), r.pick(&["", "", " ", "b"]))
            };
            let (k, s, b) = (text(r), text(r), text(r));
            let f = r.pick(&["0.5", "0", "1", "1", "2", "1e16", "NULL"]);
            let m = r.pick(&["0", "1", "2", "3", "10000000000000000", "NULL"]);
            let null = |r: &mut Random, value: String| if r.below(8) == 0 { "NULL".to_owned() } else { value };
            format!("({id}, {k}, {}, {}, {f}, {}, {m})", null(r, s), null(r, b), r.below(9))
        })
        .collect();
    for (table, rows) in [("x", &rows), ("y", &rows)] {
        for rows in rows.chunks(200) {
            db.change(&format!("INSERT INTO {table} VALUES {}", rows.join(",")));
        }
    }
    db
}

/// How many tables a plan reads by entries that have not all that its filter reads.
fn read_by_less(plan: &planner::Plan) -> usize {
    let mut count = 0;
    plan.for_each_table(&mut |table| count += usize::from(table.exact.as_ref().is_some_and(|read| read.cover.is_some())));
    count
}

#[test]
fn texts_that_ranges_say_need_not_be_read() {
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_261_128);
    println!("SEED={seed}");
    let mut r = Random::new(seed);
    let mut db = tables_of_texts(&mut r);
    let mut by_less = 0;
    for round in 0..500 {
        let question = text_question(&mut r);
        let ask = |table: &str| question.replace("TABLE", table);
        if r.coin() {
            // Keys are looked up wherever there are some.
            db.context.switches = planner::switches::Switches::default().with("block_nested_loop=off").expect("a switch");
        }
        let mut plan = db.plan(&ask("x"), &[]).unwrap_or_else(|e| panic!("{question}: {e}"));
        let mut whole = db.plan(&ask("y"), &[]).unwrap_or_else(|e| panic!("{question}: {e}"));
        by_less += read_by_less(&plan);
        whole.volatile = true;
        let expect = rows_of(&mut db, &whole, &[]);
        let told = |way: &str, db: &Database| format!("round {round}, {way}: {}\n{}", ask("x"), db.explain(&ask("x")));
        assert_eq!(rows_of(&mut db, &plan, &[]), expect, "{}", told("as it comes", &db));
        plan.short = None;
        assert_eq!(rows_of(&mut db, &plan, &[]), expect, "{}", told("by chunks", &db));
        plan.volatile = true;
        assert_eq!(rows_of(&mut db, &plan, &[]), expect, "{}", told("by rows", &db));
        db.context.switches = planner::switches::Switches::default();
    }
    assert!(by_less > 150, "{by_less} tables were read by entries alone that have less than is tested");
}

#[test]
fn parameters_that_are_no_texts_have_the_rows_tested() {
    let mut r = Random::new(20_261_128);
    let mut db = tables_of_texts(&mut r);
    let texts = [types::Value::from("a"), types::Value::from("b")];
    let others = [types::Value::Int(0), types::Value::Int(1), types::Value::Double(0.5), types::Value::Null, types::Value::from("ss")];
    let questions = [
        "SELECT COUNT(*), SUM(n), MAX(id) FROM TABLE WHERE k = ? AND s = ? AND n + id > 3",
        "SELECT n, id FROM TABLE WHERE k = ? AND s > ? ORDER BY n, id",
        "SELECT n, COUNT(*) FROM TABLE WHERE s IN (?, ?) GROUP BY n ORDER BY n",
        "SELECT p.id, COUNT(*), SUM(q.id) FROM TABLE p JOIN TABLE q ON q.n = p.m AND q.k = ? AND p.s <> ? WHERE p.id < 90 GROUP BY p.id ORDER BY p.id",
    ];
    for question in questions {
        let mut plan = db.plan(&question.replace("TABLE", "x"), &texts).expect("a plan");
        let mut whole = db.plan(&question.replace("TABLE", "y"), &texts).expect("a plan");
        assert_eq!(read_by_less(&plan), 1, "{}", db.explain(&question.replace("TABLE", "x").replace('?', "'a'")));
        (plan.short, whole.volatile) = (None, true);
        for first in texts.iter().chain(&others) {
            for second in texts.iter().chain(&others) {
                let params = [first.clone(), second.clone()];
                let expect = rows_of(&mut db, &whole, &params);
                for volatile in [false, true] {
                    plan.volatile = volatile;
                    assert_eq!(rows_of(&mut db, &plan, &params), expect, "{question} with {params:?}");
                }
            }
        }
    }
}
