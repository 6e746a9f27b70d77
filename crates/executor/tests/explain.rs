//! EXPLAIN ANALYZE counts what runs, and EXPLAIN FORMAT=JSON is JSON with the members that tools read.

mod support;

use support::Database;
use types::{Collation, ColumnType};

fn database() -> Database {
    let mut db = Database::new();
    let int = || ColumnType::int().not_null();
    db.table(
        "a",
        &[("id", int()), ("b", int()), ("s", ColumnType::varchar(20, Collation::DEFAULT))],
        &[("PRIMARY", true, &["id"]), ("b", false, &["b"])],
    );
    db.table("c", &[("id", int()), ("n", int())], &[("PRIMARY", true, &["id"])]);
    let rows = |count: usize, row: &dyn Fn(usize) -> String| (0..count).map(row).collect::<Vec<_>>().join(",");
    db.change(&format!("INSERT INTO a VALUES {}", rows(60, &|i| format!("({i},{},'s{}')", i % 30, i % 4))));
    db.change(&format!("INSERT INTO c VALUES {}", rows(20, &|i| format!("({i},{})", i % 5))));
    db
}

/// The tree without times.
fn counts(tree: &str) -> String {
    let line = |line: &str| {
        let (what, actual) =
            line.split_once("(actual time=").map_or((line, ""), |(what, rest)| (what, rest.split_once(' ').map_or("", |(_, rest)| rest)));
        format!("{} [{}]", what.split("  (rows").next().unwrap_or(what).trim_end(), actual.trim_end_matches(')'))
    };
    tree.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn analyze_counts_rows_and_loops() {
    let mut db = database();
    let joined = db.analyze("SELECT a.s, COUNT(*) FROM a STRAIGHT_JOIN c ON c.id = a.b WHERE a.s <> 's3' GROUP BY a.s");
    let expect = "\
-> Aggregate using temporary table [rows=3 loops=1]
    -> Nested loop inner join [rows=30 loops=1]
        -> Filter [rows=45 loops=1]
            -> Table scan on a []";
    assert!(counts(&joined).starts_with(expect), "{joined}");
    let dependent = db.analyze("SELECT id, (SELECT MAX(n) FROM c WHERE c.id = a.b) FROM a WHERE a.id < 10");
    assert!(dependent.contains("rows=10 loops=1"), "{dependent}");
    assert!(dependent.contains("loops=10"), "{dependent}");
    let stopped = db.analyze("SELECT a.id FROM a WHERE a.id < 0 AND EXISTS (SELECT 1 FROM c)");
    assert!(stopped.contains("never executed") || stopped.contains("rows=0"), "{stopped}");
}

#[test]
fn json_is_json_with_the_members_of_mysql() {
    let db = database();
    let queries = [
        "SELECT 1",
        "SELECT * FROM a WHERE id = 1",
        "SELECT a.s, c.n FROM a JOIN c ON c.id = a.b WHERE a.s LIKE '%\"x\\\\' ORDER BY a.s LIMIT 3",
        "SELECT s, COUNT(*) FROM a GROUP BY s HAVING COUNT(*) > 1",
        "SELECT DISTINCT s FROM a",
        "SELECT id FROM a UNION SELECT id FROM c",
        "SELECT (SELECT MAX(n) FROM c WHERE c.id = a.b) FROM a",
        "SELECT * FROM (SELECT b, COUNT(*) n FROM a GROUP BY b) d WHERE n > 1",
        "SELECT id FROM a WHERE b IN (SELECT n FROM c) AND NOT EXISTS (SELECT 1 FROM c WHERE c.id = a.id)",
        "SELECT id, SUM(b) OVER (PARTITION BY s ORDER BY id) FROM a",
        "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r JOIN a ON a.id = r.n",
        "UPDATE a SET s = 'q' WHERE b = 2",
        "DELETE FROM a WHERE id = 1",
        "INSERT INTO c SELECT id + 100, b FROM a",
    ];
    for sql in queries {
        let plan = db.plan(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
        let text = planner::explain::json(&plan);
        assert!(json::parse(text.as_bytes()).is_ok(), "{sql}\n{text}");
        assert!(text.starts_with("{\n  \"query_block\": {"), "{sql}\n{text}");
    }
    let text = planner::explain::json(
        &db.plan("SELECT a.s, c.n FROM a STRAIGHT_JOIN c ON c.id = a.b WHERE a.s = 'x' ORDER BY c.n", &[]).expect("a plan"),
    );
    for member in [
        "\"select_id\": 1",
        "\"query_cost\": \"",
        "\"ordering_operation\": {",
        "\"using_filesort\": true",
        "\"nested_loop\": [",
        "\"table_name\": \"a\"",
        "\"access_type\": \"ALL\"",
        "\"rows_examined_per_scan\": 60",
        "\"attached_condition\": \"(`test`.`a`.`s` = 'x')\"",
        "\"access_type\": \"eq_ref\"",
        "\"used_key_parts\": [\n              \"id\"",
        "\"key_length\": \"4\"",
        "\"test.a.b\"",
        "\"used_columns\": [",
        "\"prefix_cost\": \"",
    ] {
        assert!(text.contains(member), "{member} in\n{text}");
    }
}
