//! INSERT, REPLACE, UPDATE, DELETE.

mod support;

use catalog::DefaultValue;
use executor::Outcome;
use support::Database;
use types::{Collation, ColumnType, SqlMode, TypeKind, Value};

fn database() -> Database {
    let mut db = Database::new();
    db.table_with(
        "t",
        &[
            ("id", ColumnType::int().not_null()),
            ("k", ColumnType::int().not_null()),
            ("c", ColumnType::varchar(10, Collation::DEFAULT)),
            ("at", ColumnType::temporal(TypeKind::DateTime, 0)),
        ],
        &[("PRIMARY", true, &["id"]), ("k", true, &["k"])],
        |def| {
            def.columns[0].auto_increment = true;
            def.columns[1].default = DefaultValue::Constant(Value::Int(7));
            def.columns[3].on_update_now = true;
        },
    );
    db
}

#[test]
fn insert_counts_defaults_and_auto_increment() {
    let mut db = database();
    assert_eq!(db.change("INSERT INTO t (k, c) VALUES (1,'a'),(2,'b')"), 2);
    assert_eq!(db.context.last_insert_id, 1);
    assert_eq!(db.change("INSERT INTO t (c) VALUES ('d')"), 1);
    assert_eq!(db.context.last_insert_id, 3);
    assert_eq!(db.change("INSERT INTO t SET id = 10, k = id + 1"), 1);
    assert_eq!(db.change("INSERT INTO t VALUES (NULL, 20, DEFAULT, '2024-01-01')"), 1);
    assert_eq!(db.query("SELECT id, k, c FROM t ORDER BY id"), "1|1|a, 2|2|b, 3|7|d, 10|11|NULL, 11|20|NULL");
    assert_eq!(db.error("INSERT INTO t (id, k) VALUES (1, 99)"), "1062 Duplicate entry '1' for key 't.PRIMARY'");
    assert_eq!(db.error("INSERT INTO t (k) VALUES (20)"), "1062 Duplicate entry '20' for key 't.k'");
    assert_eq!(db.error("INSERT INTO t (k) VALUES (NULL)"), "1048 Column 'k' cannot be null");
    assert_eq!(db.error("INSERT INTO t (k, c) VALUES (30, 'longer than ten')"), "1406 Data too long for column 'c' at row 1");
    assert_eq!(db.error("INSERT INTO t (k) VALUES ('x')"), "1366 Incorrect integer value: 'x' for column 'k' at row 1");
    assert_eq!(db.error("INSERT INTO t (k) VALUES (99999999999)"), "1264 Out of range value for column 'k' at row 1");
    assert_eq!(db.error("INSERT INTO t (k) VALUES (1,2)"), "1136 Column count doesn't match value count at row 1");
    assert_eq!(db.error("INSERT INTO t (nope) VALUES (1)"), "1054 Unknown column 'nope' in 'field list'");
    assert_eq!(db.error("INSERT INTO t (k, k) VALUES (1,2)"), "1110 Column 'k' specified twice");
    assert_eq!(db.error("INSERT INTO t (k) VALUES (1/0)"), "1365 Division by 0");
    assert_eq!(db.query("SELECT COUNT(*) FROM t"), "5");
    assert_eq!(db.change("INSERT INTO t (k, c) SELECT k + 1000, c FROM t WHERE id < 3"), 2);
    assert_eq!(db.query("SELECT COUNT(*) FROM t"), "7");
}

#[test]
fn ignore_replace_and_on_duplicate() {
    let mut db = database();
    db.change("INSERT INTO t (id, k, c) VALUES (1,1,'a'),(2,2,'b')");
    assert_eq!(db.change("INSERT IGNORE INTO t (id, k) VALUES (1,5),(3,3)"), 1);
    assert_eq!(db.context.warnings.last().map(|w| w.code), Some(1062));
    assert_eq!(db.change("REPLACE INTO t (id, k, c) VALUES (1,2,'z')"), 3);
    assert_eq!(db.query("SELECT id, k, c FROM t ORDER BY id"), "1|2|z, 3|3|NULL");
    assert_eq!(db.change("INSERT INTO t (id, k) VALUES (3, 9) ON DUPLICATE KEY UPDATE k = k + VALUES(k), c = 'up'"), 2);
    assert_eq!(db.change("INSERT INTO t (id, k) VALUES (3, 9) AS n ON DUPLICATE KEY UPDATE k = n.k + 3"), 0);
    assert_eq!(db.change("INSERT INTO t (id, k) VALUES (4, 9) ON DUPLICATE KEY UPDATE k = 0"), 1);
    assert_eq!(db.query("SELECT id, k, c FROM t ORDER BY id"), "1|2|z, 3|12|up, 4|9|NULL");
}

#[test]
fn update_and_delete() {
    let mut db = database();
    db.change("INSERT INTO t (id, k, c) VALUES (1,1,'a'),(2,2,'b'),(3,3,'c'),(4,4,'d')");
    assert_eq!(db.change("UPDATE t SET c = 'x' WHERE id = 2"), 1);
    assert_eq!(db.query("SELECT at FROM t WHERE id = 2"), "2024-05-06 07:08:09");
    match db.execute("UPDATE t SET c = 'x' WHERE id IN (2, 3)", &[]).expect("an update").0 {
        Outcome::Changes(c) => assert_eq!((c.matched, c.affected), (2, 1)),
        other => panic!("{other:?}"),
    }
    assert_eq!(db.change("UPDATE t SET k = k + 10 WHERE k > 2"), 2);
    assert_eq!(db.query("SELECT k FROM t ORDER BY id"), "1, 2, 13, 14");
    assert_eq!(db.change("UPDATE t SET id = id + 100 ORDER BY id DESC LIMIT 2"), 2);
    assert_eq!(db.query("SELECT id FROM t ORDER BY id"), "1, 2, 103, 104");
    assert_eq!(db.error("UPDATE t SET k = 2 WHERE id = 1"), "1062 Duplicate entry '2' for key 't.k'");
    assert_eq!(db.error("UPDATE t SET nope = 2"), "1054 Unknown column 'nope' in 'field list'");
    assert_eq!(db.error("UPDATE t SET k = NULL WHERE id = 1"), "1048 Column 'k' cannot be null");
    assert_eq!(db.change("UPDATE t a JOIN t b ON a.id = b.id + 1 SET a.c = 'multi', b.c = 'both'"), 4);
    assert_eq!(db.query("SELECT c FROM t ORDER BY id"), "both, multi, both, multi");
    assert_eq!(db.change("DELETE FROM t WHERE id = 1"), 1);
    assert_eq!(db.change("DELETE FROM t WHERE id = 1"), 0);
    assert_eq!(db.change("DELETE FROM t WHERE k > 2 ORDER BY k DESC LIMIT 1"), 1);
    assert_eq!(db.query("SELECT id FROM t ORDER BY id"), "2, 103");
    assert_eq!(db.change("DELETE a FROM t a JOIN t b ON a.id = b.id WHERE b.k = 2"), 1);
    assert_eq!(db.change("DELETE FROM t"), 1);
    assert_eq!(db.query("SELECT COUNT(*) FROM t"), "0");
}

#[test]
fn not_strict_adjusts_and_warns() {
    let mut db = database();
    db.context.mode = SqlMode::NONE;
    assert_eq!(db.change("INSERT INTO t (k, c) VALUES (99999999999, 'longer than ten')"), 1);
    assert_eq!(db.query("SELECT k, c FROM t"), "2147483647|longer tha");
    assert_eq!(db.context.warnings.iter().map(|w| w.code).collect::<Vec<_>>(), [1264, 1265]);
}

#[test]
fn no_primary_key() {
    let mut db = Database::new();
    db.table("h", &[("a", ColumnType::int()), ("b", ColumnType::int())], &[("a", false, &["a"])]);
    assert_eq!(db.change("INSERT INTO h VALUES (1,1),(1,2),(2,3)"), 3);
    assert_eq!(db.change("UPDATE h SET a = 5 WHERE b = 2"), 1);
    assert_eq!(db.change("DELETE FROM h WHERE a = 1"), 1);
    assert_eq!(db.query("SELECT a, b FROM h ORDER BY b"), "5|2, 2|3");
    assert_eq!(db.query("SELECT b FROM h WHERE a = 2"), "3");
}

/// Statements whose values are constants, run by the short plan and by the ordinary one: everything that can be seen is the same.
#[test]
fn short_inserts_do_as_ordinary_ones() {
    let make = || {
        let mut db = Database::new();
        db.table_with(
            "t",
            &[
                ("id", ColumnType::int().not_null()),
                ("k", ColumnType::int().not_null()),
                ("c", ColumnType { kind: TypeKind::Char, ..ColumnType::varchar(10, Collation::DEFAULT) }),
                ("v", ColumnType::varchar(10, Collation::DEFAULT)),
                ("d", ColumnType::decimal(6, 2)),
                ("u", ColumnType::bigint_unsigned()),
                ("f", ColumnType::double()),
                ("at", ColumnType::temporal(TypeKind::DateTime, 0)),
                ("must", ColumnType::int().not_null()),
            ],
            &[("PRIMARY", true, &["id"]), ("k", true, &["k"]), ("c", false, &["c", "v"])],
            |def| {
                def.columns[0].auto_increment = true;
                def.columns[1].default = DefaultValue::Constant(Value::Int(7));
                def.columns[7].default = DefaultValue::CurrentTimestamp;
                def.columns[7].on_update_now = true;
            },
        );
        db.table("plain", &[("a", ColumnType::varchar(20_000, Collation::DEFAULT)), ("b", ColumnType::int())], &[("b", true, &["b"])]);
        db
    };
    let long = "x".repeat(9_000);
    let statements: Vec<(String, Vec<Value>)> = [
        "INSERT INTO t (must) VALUES (1)",
        "INSERT INTO t (k, must) VALUES (8, 1), (9, '2'), (10, 3.4)",
        "INSERT INTO t VALUES (0, 11, 'abc', 'abc', 1.5, 5, 1.5, '2024-01-02 03:04:05', 1)",
        "INSERT INTO t VALUES (100, 12, 'abc  ', 'abc   ', '1.555', 18446744073709551615, '2e3', 20240102030405, 1), (NULL, 13, 'é', 'é', 7, 0, 7, NULL, 1)",
        "INSERT INTO t (id, k, must, d) VALUES (0, 14, 1, 9999.999)",
        "INSERT INTO t (id, k, must, d) VALUES (0, 14, 1, 99999)",
        "INSERT INTO t (k, must) VALUES (15, 1), (15, 1)",
        "INSERT INTO t (id, k, must) VALUES (100, 16, 1)",
        "INSERT INTO t (k, must, v) VALUES (17, 1, '12345678901')",
        "INSERT INTO t (k, must, v) VALUES (17, 1, '1234567890  ')",
        "INSERT INTO t (k, must, c) VALUES (18, 1, '1234567890  ')",
        "INSERT INTO t (k, must) VALUES (19, 1), (NULL, 1)",
        "INSERT INTO t (k) VALUES (20)",
        "INSERT INTO t (k, must) VALUES (99999999999, 1)",
        "INSERT INTO t (k, must) VALUES ('21', 1), ('x', 1)",
        "INSERT INTO t (k, must, u) VALUES (22, 1, '-1')",
        "INSERT INTO t (k, must, at) VALUES (23, 1, '2024-13-01')",
        "INSERT INTO t (id, k, must) VALUES (2147483647, 24, 1)",
        "INSERT INTO t (k, must) VALUES (25, 1)",
        "INSERT INTO plain VALUES ()",
        "INSERT INTO plain VALUES (), ()",
        "INSERT INTO plain () VALUES ()",
        "INSERT INTO t (id, k, must) VALUES (200, 50, 1) ON DUPLICATE KEY UPDATE must = must + 1",
        "INSERT INTO t (id, k, must) VALUES (200, 51, 5) ON DUPLICATE KEY UPDATE must = must + VALUES(must), v = 'met'",
        "INSERT INTO t (id, k, must) VALUES (200, 51, 5) ON DUPLICATE KEY UPDATE v = 'met'",
        "INSERT INTO t (k, must, v) VALUES (50, 7, 'abc') ON DUPLICATE KEY UPDATE v = VALUES(v), c = v, must = VALUES(must) + t.must",
        "INSERT INTO t (k, must) VALUES (50, 1), (52, 1), (50, 2), (53, 1) ON DUPLICATE KEY UPDATE must = must * 10 + VALUES(must)",
        "INSERT INTO t (k, must) VALUES (52, 1) AS new ON DUPLICATE KEY UPDATE k = new.k + 2",
        "INSERT INTO t (k, must) VALUES (54, 1) ON DUPLICATE KEY UPDATE k = 53",
        "INSERT INTO t (k, must) VALUES (54, 1) ON DUPLICATE KEY UPDATE v = '12345678901'",
        "INSERT INTO t (k, must) VALUES (54, 1) ON DUPLICATE KEY UPDATE must = NULL",
        "INSERT INTO t (k, must) VALUES (54, 1) ON DUPLICATE KEY UPDATE u = u - 1, f = k / 0, d = '1.23456'",
        "INSERT INTO t (k, must) VALUES (54, 'x') ON DUPLICATE KEY UPDATE must = 3",
        "INSERT INTO t (k, must) VALUES (11, 1) ON DUPLICATE KEY UPDATE must = must",
        "INSERT INTO t (k, must) VALUES (11, 1) ON DUPLICATE KEY UPDATE must = must + 1",
        "INSERT INTO plain VALUES ('a', 50), ('b', NULL), ('c', 50) ON DUPLICATE KEY UPDATE a = CONCAT(a, VALUES(a))",
        "REPLACE INTO t (id, k, must) VALUES (300, 70, 1)",
        "REPLACE INTO t (id, k, must) VALUES (300, 70, 1)",
        "REPLACE INTO t (id, k, must) VALUES (300, 71, 2)",
        "REPLACE INTO t (id, k, must) VALUES (301, 71, 3)",
        "REPLACE INTO t (id, k, must, v) VALUES (301, 50, 3, '12345678901')",
        "REPLACE INTO t (id, k, must, v) VALUES (302, 50, 3, '1234567890  ')",
        "REPLACE INTO t (k, must) VALUES (50, 3), (72, 4), (50, 5), (72, 6)",
        "REPLACE INTO t (k, must) VALUES (72, NULL)",
        "REPLACE INTO t (k, must) VALUES (73, 1)",
        "REPLACE INTO plain VALUES ('a', 50), ('b', NULL), ('c', 50), ('c', 50)",
        "REPLACE INTO plain VALUES ('c', 50)",
        "INSERT IGNORE INTO t (k, must) VALUES (60, 1)",
        "INSERT IGNORE INTO t (k, must) VALUES (60, 2)",
        "INSERT IGNORE INTO t (id, k, must) VALUES (100, 61, 2)",
        "INSERT IGNORE INTO t (k, must) VALUES (61, 2)",
        "INSERT IGNORE INTO t (k, must, v, d, at) VALUES (62, 'x', '12345678901', 99999, '2024-13-01')",
        "INSERT IGNORE INTO t (k, must) VALUES (NULL, NULL)",
        "INSERT IGNORE INTO t (k) VALUES (63)",
        "INSERT IGNORE INTO t (must, k) VALUES ('3x', '64x')",
        "INSERT IGNORE INTO t (k, must, u) VALUES (99999999999, 1, '-1')",
        "INSERT IGNORE INTO plain VALUES ()",
        "INSERT IGNORE INTO plain VALUES ('a', 50)",
    ]
    .into_iter()
    .map(|sql| (sql.to_owned(), Vec::new()))
    .chain([
        (format!("INSERT INTO plain VALUES ('{long}', 1), ('{long}', 2)"), Vec::new()),
        (format!("INSERT INTO plain VALUES ('{long}', 3), ('{long}', 1)"), Vec::new()),
        ("INSERT INTO plain VALUES (?, ?), (?, 31)".to_owned(), vec![Value::from("ä"), Value::Double(30.5), Value::Null]),
        ("INSERT INTO plain VALUES (?, ?)".to_owned(), vec![Value::Bytes(b"\xFF".into()), Value::Int(40)]),
        ("INSERT INTO plain VALUES (?, ?)".to_owned(), vec![Value::Int(12), Value::UInt(u64::MAX)]),
        (format!("INSERT INTO plain VALUES ('{long}', 50) ON DUPLICATE KEY UPDATE a = VALUES(a)"), Vec::new()),
        ("INSERT INTO plain VALUES (?, ?) ON DUPLICATE KEY UPDATE a = ?".to_owned(), vec![Value::Int(1), Value::Int(50), Value::from("ä")]),
        ("INSERT IGNORE INTO plain VALUES (?, ?)".to_owned(), vec![Value::Bytes(b"\xFF".into()), Value::Double(70.5)]),
        ("INSERT IGNORE INTO plain VALUES (?, ?)".to_owned(), vec![Value::Null, Value::Int(50)]),
        ("INSERT INTO plain VALUES (?, ?) ON DUPLICATE KEY UPDATE b = ?".to_owned(), vec![Value::Int(1), Value::Int(50), Value::Int(1)]),
    ])
    .collect();
    let lenient = SqlMode::parse("").expect("a mode");
    let on_zero = SqlMode::parse("STRICT_TRANS_TABLES,NO_AUTO_VALUE_ON_ZERO").expect("a mode");
    for mode in [SqlMode::DEFAULT, lenient, on_zero] {
        let mut short = make();
        short.context.mode = mode;
        // A row that is met is changed where it lies, or all of it is written.
        let mut ordinary = [true, false].map(|in_place| (in_place, make()));
        ordinary.iter_mut().for_each(|(_, db)| db.context.mode = mode);
        for (sql, params) in &statements {
            let by_short = short.plan(sql, params).expect("a plan");
            assert!(matches!(by_short.short, Some(planner::short::ShortPlan::Insert)), "{sql}");
            let one = short.run_plan(&by_short, params).map(|(outcome, _)| outcome).map_err(|e| e.to_string());
            for (in_place, ordinary) in &mut ordinary {
                let mut by_operators = ordinary.plan(sql, params).expect("a plan");
                by_operators.short = None;
                if let planner::plan::Body::Insert(insert) = &mut by_operators.body
                    && !*in_place
                {
                    insert.met = None;
                }
                let other = ordinary.run_plan(&by_operators, params).map(|(outcome, _)| outcome).map_err(|e| e.to_string());
                assert_eq!(one, other, "{sql}");
                assert_eq!(format!("{:?}", short.context.warnings), format!("{:?}", ordinary.context.warnings), "{sql}");
                for table in ["t", "plain"] {
                    let all = format!("SELECT * FROM {table}");
                    assert_eq!(short.query(&all), ordinary.query(&all), "{sql}");
                }
            }
        }
    }
    let db = make();
    for sql in [
        "INSERT INTO t (k, must) VALUES (1 + 1, 1)",
        "INSERT IGNORE INTO t (k, must) VALUES (1, 1), (2, 2)",
        "REPLACE INTO t (k, must) VALUES (1 + 1, 1)",
        "INSERT INTO t (k, must) VALUES (1, 1) ON DUPLICATE KEY UPDATE id = 3",
        "INSERT INTO t (k, must) VALUES (1, 1) ON DUPLICATE KEY UPDATE must = LAST_INSERT_ID(k)",
        "INSERT INTO t (k, must) VALUES (1, 1) ON DUPLICATE KEY UPDATE must = @a := 1",
        "INSERT IGNORE INTO t (k, must) VALUES (1, 1) ON DUPLICATE KEY UPDATE must = 3",
        "INSERT INTO t (k, must) SELECT 1, 1",
        "INSERT INTO t (k, must, at) VALUES (1, 1, NOW())",
    ] {
        assert!(db.plan(sql, &[]).expect("a plan").short.is_none(), "{sql}");
    }
}
