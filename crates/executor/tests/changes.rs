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
