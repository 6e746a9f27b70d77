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
        format!("{} [{}]", what.split("  (cost").next().unwrap_or(what).trim_end(), actual.trim_end_matches(')'))
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
        -> Filter: (a.s <> 's3') [rows=45 loops=1]
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

/// Statements with operators of each kind, in many combinations.
const STATEMENTS: &[&str] = &[
    "SELECT 1",
    "VALUES ROW(1, 2), ROW(3, 4)",
    "SELECT * FROM a",
    "SELECT * FROM a WHERE id = 1",
    "SELECT * FROM a WHERE id IN (1, 2, 3, 4, 5) AND s > 'a'",
    "SELECT * FROM a WHERE id > 3 AND id < 6 OR id = 20 ORDER BY id DESC",
    "SELECT b FROM a FORCE INDEX (b) WHERE b = 3",
    "SELECT * FROM a FORCE INDEX (b) WHERE b BETWEEN 3 AND 5 OR b IS NULL",
    "SELECT * FROM a USE INDEX (sb) WHERE s LIKE 's1%' AND b > 2",
    "SELECT s, b FROM a WHERE b = 4",
    "SELECT s, MIN(b) FROM a GROUP BY s",
    "SELECT * FROM a WHERE b = 3 OR id < 4",
    "SELECT a.s, c.n FROM a JOIN c ON c.id = a.b WHERE a.s LIKE '%\"x\\\\' ORDER BY a.s LIMIT 3",
    "SELECT a.s, c.n FROM a LEFT JOIN c ON c.id = a.b AND c.n > 2",
    "SELECT x.s, c.n FROM a x JOIN c ON c.n = x.x",
    "SELECT a.s, c.n FROM a LEFT JOIN c ON c.n = a.x AND c.id > a.id",
    "SELECT * FROM a x, a y, c WHERE x.x < y.x AND y.b = c.n",
    "SELECT /*+ BKA(a) */ * FROM c STRAIGHT_JOIN a ON a.b = c.n",
    "SELECT id FROM a WHERE b IN (SELECT n FROM c) AND NOT EXISTS (SELECT 1 FROM c WHERE c.id = a.id)",
    "SELECT id FROM a WHERE x NOT IN (SELECT n FROM c)",
    "SELECT id FROM a WHERE x > ALL (SELECT n FROM c WHERE c.id < a.id) OR (x, b) = (SELECT MAX(n), 1 FROM c)",
    "SELECT (SELECT MAX(n) FROM c WHERE c.id = a.b), (SELECT COUNT(*) FROM c) FROM a",
    "SELECT id FROM a ORDER BY (SELECT n FROM c WHERE c.id = a.b), s DESC LIMIT 2, 3",
    "SELECT COUNT(*), SUM(DISTINCT b), GROUP_CONCAT(s ORDER BY id DESC SEPARATOR '-'), MAX(x) FROM a",
    "SELECT s, COUNT(*) FROM a GROUP BY s HAVING COUNT(*) > 1",
    "SELECT s, x, SUM(b), GROUPING(s) FROM a GROUP BY s, x WITH ROLLUP",
    "SELECT DISTINCT s FROM a ORDER BY s LIMIT 0",
    "SELECT * FROM c LIMIT 5 OFFSET 2",
    "SELECT MAX(b) FROM a",
    "SELECT id, SUM(b) OVER (PARTITION BY s ORDER BY id), RANK() OVER (ORDER BY x), LAG(b, 2, 0) OVER () FROM a",
    "SELECT id FROM a UNION SELECT id FROM c",
    "SELECT id FROM a UNION ALL SELECT id FROM c ORDER BY 1 LIMIT 2",
    "SELECT id FROM a EXCEPT SELECT id FROM c",
    "SELECT id FROM a INTERSECT ALL SELECT id FROM c",
    "SELECT * FROM (SELECT b, COUNT(*) n FROM a GROUP BY b) d WHERE n > 1",
    "WITH w AS (SELECT n, COUNT(*) k FROM c GROUP BY n) SELECT * FROM w JOIN w w2 ON w.n = w2.k",
    "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r JOIN a ON a.id = r.n",
    "WITH RECURSIVE r AS (SELECT 1 n UNION SELECT n + 1 FROM r WHERE n < 5 LIMIT 3) SELECT * FROM r",
    "SELECT * FROM a, LATERAL (SELECT MAX(n) m FROM c WHERE c.id < a.id) l WHERE m > 1",
    "SELECT * FROM a, JSON_TABLE('[1, 2]', '$[*]' COLUMNS (v FOR ORDINALITY)) t WHERE v = a.b",
    "SELECT * FROM a WHERE 1 = 0",
    "SELECT * FROM a WHERE id = 3 FOR UPDATE",
    "UPDATE a SET s = 'q' WHERE b = 2",
    "UPDATE a JOIN c ON c.id = a.b SET a.s = (SELECT MAX(id) FROM e), c.n = 3",
    "DELETE FROM a WHERE id = 1",
    "DELETE a, c FROM a JOIN c ON c.id = a.b WHERE a.x IN (SELECT id FROM e)",
    "INSERT INTO c VALUES (100, 2)",
    "INSERT INTO c SELECT id + 100, b FROM a WHERE x = 3",
    "REPLACE INTO c SELECT id, b FROM a ORDER BY b LIMIT 4",
];

fn rich_database() -> Database {
    let mut db = Database::new();
    let int = || ColumnType::int().not_null();
    db.table(
        "a",
        &[("id", int()), ("b", ColumnType::int()), ("s", ColumnType::varchar(20, Collation::DEFAULT)), ("x", ColumnType::int())],
        &[("PRIMARY", true, &["id"]), ("b", false, &["b"]), ("sb", false, &["s", "b"])],
    );
    db.table("c", &[("id", int()), ("n", int())], &[("PRIMARY", true, &["id"])]);
    db.table("e", &[("id", int())], &[("PRIMARY", true, &["id"])]);
    let rows = |count: usize, row: &dyn Fn(usize) -> String| (0..count).map(row).collect::<Vec<_>>().join(",");
    db.change(&format!("INSERT INTO a VALUES {}", rows(600, &|i| format!("({i},{},'s{}',{})", i % 30, i % 4, i % 7))));
    db.change(&format!("INSERT INTO c VALUES {}", rows(20, &|i| format!("({i},{})", i % 5))));
    db
}

fn member<'j>(object: &'j json::Json, name: &str) -> Option<&'j json::Json> {
    match object {
        json::Json::Object(members) => members.get(name),
        _ => None,
    }
}

fn string(value: Option<&json::Json>) -> Option<&str> {
    match value {
        Some(json::Json::String(text)) => Some(text),
        _ => None,
    }
}

/// The lines that an operation and those below it take: depth, text, and whether it was counted.
fn lines_of(operation: &json::Json, depth: usize, out: &mut Vec<(usize, String)>) {
    let heading = string(member(operation, "heading"));
    out.extend(heading.map(|heading| (depth, heading.to_owned())));
    let own = depth + usize::from(heading.is_some());
    out.push((own, string(member(operation, "operation")).expect("an operation").to_owned()));
    for (list, depth) in [("inputs", own + 1), ("inputs_from_select_list", depth)] {
        if let Some(json::Json::Array(list)) = member(operation, list) {
            list.iter().for_each(|operation| lines_of(operation, depth, out));
        }
    }
}

/// The tree's lines, without estimates and counts.
fn lines_of_tree(tree: &str) -> Vec<(usize, String)> {
    let line = |line: &str| {
        let text = line.trim_start();
        let end =
            ["  (cost=", "  (rows=", "  (actual time=", "  (never executed)"].iter().filter_map(|estimate| text.rfind(estimate)).min();
        let told = text[..end.unwrap_or(text.len())].strip_prefix("-> ").expect("an arrow");
        ((line.len() - text.len()) / 4, told.to_owned())
    };
    tree.lines().map(line).collect()
}

#[test]
fn json_of_version_2_says_what_the_tree_says() {
    let mut db = rich_database();
    for sql in STATEMENTS {
        let plan = db.plan(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
        let (tree, text) = (planner::explain::tree(&plan), planner::explain::json_tree(&plan, sql));
        let document = json::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{sql}: {e:?}\n{text}"));
        let mut lines = Vec::new();
        lines_of(member(&document, "query_plan").expect("a plan"), 0, &mut lines);
        assert_eq!(lines, lines_of_tree(&tree), "{sql}\n{tree}\n{text}");
        assert_eq!(string(member(&document, "query")), Some(*sql));
        assert_eq!(string(member(&document, "json_schema_version")), Some("2.0"));
        assert!(!text.contains("<value>"), "{sql}\n{text}");
        if matches!(plan.body, planner::plan::Body::Query(_)) {
            let analyzed = db.analyze(sql);
            assert_eq!(lines, lines_of_tree(&analyzed), "{sql}\n{tree}\n{analyzed}");
        }
    }
}

#[test]
fn json_of_version_2_has_the_members_of_mysql() {
    let mut db = rich_database();
    let check = |sql: &str, members: &[&str]| {
        let text = planner::explain::json_tree(&db.plan(sql, &[]).expect("a plan"), sql);
        for member in members {
            assert!(text.contains(member), "{sql}: no {member} in\n{text}");
        }
    };
    check(
        "SELECT b, s FROM a y FORCE INDEX (b) WHERE b = 3 AND s > 's1'",
        &[
            "\"access_type\": \"filter\"",
            "\"condition\": \"",
            "\"filter_columns\": [",
            "\"access_type\": \"index\"",
            "\"index_access_type\": \"index_lookup\"",
            "\"index_name\": \"b\"",
            "\"alias\": \"y\"",
            "\"table_name\": \"a\"",
            "\"schema_name\": \"test\"",
            "\"covering\": false",
            "\"lookup_condition\": \"b = 3\"",
            "\"lookup_references\": [",
            "\"key_columns\": [",
            "\"used_columns\": [",
            "\"estimated_rows\": ",
            "\"estimated_total_cost\": ",
        ],
    );
    check(
        "SELECT * FROM a JOIN c ON c.n = a.x ORDER BY n DESC LIMIT 2, 3",
        &[
            "\"join_algorithm\": \"hash\"",
            "\"join_type\": \"inner join\"",
            "\"hash_condition\": [",
            "\"heading\": \"Hash\"",
            "\"sort_fields\": [\n",
            "\"c.n DESC\"",
            "\"per_chunk_limit\": 5",
            "\"limit\": 5",
            "\"limit_offset\": 2",
        ],
    );
    check("SELECT * FROM a WHERE id > 3 AND id < 6 OR id = 20", &["\"(3 < id < 6) OR (id = 20)\"", "\"index_range_scan\""]);
    check("SELECT * FROM a WHERE id IN (1, 2, 3, 4, 5)", &["over (id = 1) OR (id = 2) OR (3 more)", "(id = 4) OR (id = 5)\""]);
    check("SELECT s, COUNT(*) FROM a GROUP BY s", &["\"group_by\": true", "\"count(0)\""]);
    check(
        "SELECT (SELECT MAX(n) FROM c WHERE c.id = a.b LIMIT 1) FROM a",
        &["\"inputs_from_select_list\": [", "\"subquery_location\": \"projection\""],
    );
    let sql = "SELECT a.id FROM a STRAIGHT_JOIN c ON c.id = a.b WHERE a.id < 0";
    let plan = db.plan(sql, &[]).expect("a plan");
    let text = planner::explain::analyzed_json_tree(&plan, sql, &db.counts(&plan));
    for member in
        ["\"actual_rows\": 0.0", "\"actual_loops\": 1", "\"actual_first_row_ms\": ", "\"actual_last_row_ms\": ", "\"actual_rows\": null"]
    {
        assert!(text.contains(member), "{member} in\n{text}");
    }
}
