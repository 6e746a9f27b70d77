//! Conditions that an index may serve, with constants and columns of other types than the column's, over columns of every type under every sort of index.
//!
//! # Invariants
//! 1. Values that compare equal under a column's own type are not shown, except where they have one form: `id`, counts and the least of one form are.

use crate::node::{MARK, Node, Sort};
use crate::rows;
use env::SplitMix64 as Random;

/// A column: name, type, sort of values (see [`values`]), whether values that compare equal are written alike.
const COLUMNS: &[(&str, &str, char, bool)] = &[
    ("i", "INT", 'i', true),
    ("tu", "TINYINT UNSIGNED", 'i', true),
    ("bu", "BIGINT UNSIGNED", 'i', true),
    ("n", "DECIMAL(6,2)", 'n', true),
    ("f", "FLOAT", 'n', true),
    ("db", "DOUBLE", 'n', true),
    ("s", "VARCHAR(10)", 's', false),
    ("sb", "VARCHAR(10) COLLATE utf8mb4_bin", 's', false),
    ("c", "CHAR(4)", 's', false),
    ("la", "VARCHAR(10) CHARACTER SET latin1", 's', false),
    ("tx", "TEXT", 's', false),
    ("vb", "VARBINARY(6)", 's', true),
    ("bn", "BINARY(3)", 's', true),
    ("d", "DATE", 'd', true),
    ("dt", "DATETIME(2)", 'd', true),
    ("ts", "TIMESTAMP NULL", 'd', true),
    ("t", "TIME(1)", 't', true),
    ("y", "YEAR", 'y', true),
    ("e", "ENUM('b','a','10','')", 'e', true),
    ("st", "SET('a','b','1')", 'e', true),
    ("bi", "BIT(6)", 'i', true),
];

/// What functional indexes are over.
const EXPRESSIONS: &[&str] =
    &["(i + 1)", "(LOWER(s))", "(CAST(dt AS DATE))", "(n * 2)", "(YEAR(d))", "(CONCAT(c, sb))", "(COALESCE(i, 0))", "(i IS NULL)"];

/// The tables, with their rows.
const TABLES: &[(&str, u64)] = &[("r1", 40), ("r2", 12)];

fn values(sort: char) -> &'static [&'static str] {
    match sort {
        'i' => &["0", "1", "2", "5", "10", "20", "63", "7", "44"],
        'n' => &["0", "0.5", "1.25", "-1.5", "10", "2.5", "99.99", "1e1", "-0.5"],
        's' => &["''", "'a'", "'A'", "'b'", "'ab'", "'10'", "'1'", "' 1'", "'1a'", "'a '", "'0'", "'b\\0'", "'x'"],
        'd' => &["'2024-01-31'", "'2024-02-29'", "'2000-01-01'", "'1999-12-31'", "'2024-02-29 12:00:00'", "'2024-02-29 12:00:00.5'"],
        't' => &["'00:00:00'", "'12:00:00'", "'-01:30:00'", "'12:00:00.5'", "'25:00:00'", "'00:00:10'"],
        'y' => &["2024", "1999", "2000", "0", "1970", "2069"],
        'e' => &["'a'", "'b'", "''", "1", "2"],
        _ => &["NULL"],
    }
}

/// Constants that columns are compared with: of any type, also such that are none of the column's.
const CONSTANTS: &[&str] = &[
    "NULL",
    "0",
    "1",
    "-1",
    "2",
    "10",
    "10.5",
    "0.5",
    "1e1",
    "256",
    "-0.0",
    "18446744073709551615",
    "99",
    "70",
    "2024",
    "TRUE",
    "20240229",
    "20240229120000",
    "120000",
    "'1'",
    "'10'",
    "'10 '",
    "' 10'",
    "'1a'",
    "'a'",
    "'A '",
    "'b'",
    "''",
    "' '",
    "'-1'",
    "'0.5'",
    "'1e1'",
    "'x'",
    "x'61'",
    "x'31'",
    "b'1010'",
    "_binary'a'",
    "'a' COLLATE utf8mb4_bin",
    "_latin1'a'",
    "DATE'2024-02-29'",
    "TIMESTAMP'2024-02-29 12:00:00'",
    "TIMESTAMP'2024-02-29 12:00:00.5'",
    "TIME'12:00:00'",
    "'2024-02-29'",
    "'2024-02-29 12:00:00'",
    "'2024-2-29'",
    "'20240229'",
    "'12:00:00'",
    "'24-02-29'",
    "'2024-02-30'",
    "'12:00'",
    "CAST('10' AS JSON)",
    "CAST(10 AS UNSIGNED)",
    "CAST('2024' AS YEAR)",
    "(1 + 1)",
    "CONCAT('a', '')",
];

/// Makes the tables and fills them.
pub fn statements(r: &mut Random) -> Vec<String> {
    let mut made = Vec::new();
    for (table, rows) in TABLES {
        let columns: Vec<String> = COLUMNS.iter().map(|(name, ty, ..)| format!("{name} {ty}")).collect();
        let keys: Vec<String> = (0..14).map(|_| format!(", KEY ({})", index_columns(r))).collect();
        made.push(format!("DROP TABLE IF EXISTS {table}"));
        made.push(format!("CREATE TABLE {table} (id INT PRIMARY KEY, {}{})", columns.join(", "), keys.concat()));
        for id in 1..=*rows {
            let values: Vec<&str> =
                COLUMNS.iter().map(|(_, _, sort, _)| if r.below(8) == 0 { "NULL" } else { r.pick(values(*sort)) }).collect();
            made.push(format!("INSERT IGNORE INTO {table} VALUES ({id}, {})", values.join(", ")));
        }
    }
    made
}

fn index_columns(r: &mut Random) -> String {
    if r.below(5) == 0 {
        return r.pick(EXPRESSIONS).to_owned().replacen('(', "((", 1) + ")";
    }
    let mut parts: Vec<String> = Vec::new();
    for _ in 0..1 + r.below(3) / 2 {
        let (name, ty, sort, _) = r.pick(COLUMNS);
        if parts.iter().any(|part| part.split(['(', ' ']).next() == Some(name)) {
            continue;
        }
        let prefix = match sort {
            _ if ty == "TEXT" => r.pick(&["(1)", "(2)", "(20)"]),
            's' => r.pick(&["", "", "(1)", "(2)"]),
            _ => "",
        };
        parts.push(format!("{name}{prefix}{}", r.pick(&["", "", " DESC"])));
    }
    parts.join(", ")
}

fn constant(r: &mut Random, sort: char) -> Node {
    Node::leaf(Sort::Scalar, if r.coin() { r.pick(CONSTANTS) } else { r.pick(values(sort)) })
}

/// A condition on the table of this alias, `depth` levels of AND and OR deep.
fn condition(r: &mut Random, alias: &str, depth: u32) -> Node {
    if depth > 0 && r.below(3) == 0 {
        let operator = r.pick(&["AND", "AND", "OR"]);
        let parts = vec![condition(r, alias, depth - 1), condition(r, alias, depth - 1)];
        return Node::new(Sort::Scalar, format!("({MARK} {operator} {MARK})"), parts);
    }
    let ((one, _, sort, _), (other, _, other_sort, _)) = (r.pick(COLUMNS), r.pick(COLUMNS));
    let (one, other) = (format!("{alias}.{one}"), format!("{alias}.{other}"));
    let not = r.pick(&["", "", "NOT "]);
    let operator = r.pick(&["=", "=", "<", "<=", ">", ">=", "<>", "<=>"]);
    let of_one = |r: &mut Random, count: usize| -> Vec<Node> { (0..count).map(|_| constant(r, sort)).collect() };
    let of_both =
        |r: &mut Random, count: usize| -> Vec<Node> { (0..count).flat_map(|_| [sort, other_sort]).map(|sort| constant(r, sort)).collect() };
    let (template, parts) = match r.below(16) {
        0..=3 => (format!("{one} {operator} {MARK}"), of_one(r, 1)),
        4 => (format!("{MARK} {operator} {one}"), of_one(r, 1)),
        5 => (format!("{one} {not}IN ({MARK}, {MARK}, {MARK})"), of_one(r, 3)),
        6 => (format!("{one} {not}BETWEEN {MARK} AND {MARK}"), of_one(r, 2)),
        7 => (format!("({one}, {other}) {operator} ({MARK}, {MARK})"), of_both(r, 1)),
        8 => (format!("({one}, {other}) {not}IN (({MARK}, {MARK}), ({MARK}, {MARK}))"), of_both(r, 2)),
        9 => (format!("{MARK} BETWEEN {one} AND {other}"), of_one(r, 1)),
        10 => {
            let many = r.pick(&["ANY", "ALL"]);
            let operator = operator.replace("<=>", "=");
            let filter = r.pick(&["q.id < 4", "q.id = 2", "q.id < 0", "q.i IS NOT NULL"]);
            let (name, ..) = r.pick(COLUMNS);
            (format!("{one} {operator} {many} (SELECT q.{name} FROM r2 AS q WHERE {filter})"), Vec::new())
        }
        11 => {
            let ((name, ..), (name_of_other, ..)) = (r.pick(COLUMNS), r.pick(COLUMNS));
            match r.coin() {
                true => (format!("{one} {not}IN (SELECT q.{name} FROM r2 AS q)"), Vec::new()),
                false => (format!("({one}, {other}) {not}IN (SELECT q.{name}, q.{name_of_other} FROM r2 AS q)"), Vec::new()),
            }
        }
        12 => {
            let expression =
                r.pick(&["i + 1", "LOWER(s)", "CAST(dt AS DATE)", "n * 2", "YEAR(d)", "CONCAT(c, sb)", "COALESCE(i, 0)", "i IS NULL"]);
            let first = expression.find('(').map_or(0, |at| at + 1);
            let written = match expression {
                "CONCAT(c, sb)" => format!("CONCAT({alias}.c, {alias}.sb)"),
                _ => format!("{}{alias}.{}", &expression[..first], &expression[first..]),
            };
            let sort = r.pick(&['i', 's', 'd', 'n', 'y']);
            (format!("({written}) {operator} {MARK}"), vec![constant(r, sort)])
        }
        13 => (format!("{one} {not}LIKE {}", r.pick(&["'a%'", "'1%'", "'%0'", "'2024-02%'", "'_'", "'A'", "''", "10"])), Vec::new()),
        14 => (format!("{one} {operator} {other}"), Vec::new()),
        _ => (format!("{one} IS {not}NULL"), Vec::new()),
    };
    Node::new(Sort::Scalar, template, parts)
}

/// The next query.
pub fn query(r: &mut Random) -> Node {
    let (name, _, _, has_one_form) = r.pick(COLUMNS);
    if r.below(4) == 0 {
        let (other, ..) = if r.coin() { r.pick(COLUMNS) } else { (name, "", ' ', true) };
        let join = r.pick(&["JOIN", "LEFT JOIN"]);
        let operator = r.pick(&["=", "=", "=", "<=>", "<"]);
        let more = match r.below(3) {
            0 => Node::new(Sort::Clause, format!(" AND {MARK}"), vec![condition(r, "y", 0)]),
            _ => Node::leaf(Sort::Clause, ""),
        };
        let filter = Node::new(Sort::Clause, format!(" WHERE {MARK}"), vec![condition(r, "x", 1)]);
        let template = format!("SELECT x.id, y.id FROM r2 AS x {join} r1 AS y ON y.{name} {operator} x.{other}{MARK}{MARK}");
        return Node::new(Sort::Query, template, vec![more, filter]);
    }
    let filter = Node::new(Sort::Clause, format!(" WHERE {MARK}"), vec![condition(r, "x", 2)]);
    let (list, behind) = match r.below(8) {
        0 if has_one_form => (format!("x.{name}, COUNT(*)"), format!(" GROUP BY x.{name}")),
        1 if has_one_form => (format!("DISTINCT x.{name}"), String::new()),
        2 if has_one_form => (format!("MIN(x.{name}), MAX(x.{name})"), String::new()),
        3 => (format!("COUNT(DISTINCT x.{name})"), String::new()),
        4 => {
            let direction = r.pick(&["", " DESC"]);
            ("x.id".to_owned(), format!(" ORDER BY x.{name}{direction}, x.id{direction} LIMIT {}{}", 1 + r.below(9), rows::TOTAL))
        }
        5 => (format!("x.id, x.{name}"), String::new()),
        _ => ("x.id".to_owned(), String::new()),
    };
    Node::new(Sort::Query, format!("SELECT {list} FROM r1 AS x{MARK}{behind}"), vec![filter])
}
