//! WITH, plain and recursive.
//!
//! # Invariants
//! 1. A recursion ends by itself, or by `cte_max_recursion_depth`: its condition bounds a number that grows with each round.
//! 2. What LIMIT leaves of a recursion is the same whatever the order within a round: such a round has one row.

use crate::node::{MARK, Node, Sort};
use crate::rows;
use env::SplitMix64 as Random;

/// The next query.
pub fn query(r: &mut Random) -> Node {
    match r.below(5) {
        0 | 1 => plain(r),
        2 => tree(r),
        _ => counter(r),
    }
}

/// Expressions that are not recursive, and a query that names them.
fn plain(r: &mut Random) -> Node {
    let body = body(r);
    let more = match r.below(4) {
        0 => Node::new(Sort::Clause, format!(", d AS (SELECT c.k, c.v FROM c WHERE {MARK})"), vec![about(r, "c")]),
        1 => Node::leaf(Sort::Clause, ", d AS (SELECT o.k, COUNT(*) AS v FROM c AS o GROUP BY o.k)"),
        _ => Node::leaf(Sort::Clause, ""),
    };
    let other = if more.template.is_empty() { "c" } else { "d" };
    let (template, parts) = match r.below(8) {
        0 => (format!("SELECT c.k, y.v FROM c JOIN {other} AS y ON c.k = y.k"), Vec::new()),
        1 => (format!("SELECT c.k, y.v FROM c LEFT JOIN {other} AS y ON c.k = y.k AND {MARK}"), vec![about(r, "y")]),
        2 => (format!("SELECT x.id FROM w1 AS x WHERE x.g {}IN (SELECT y.k FROM {other} AS y)", r.pick(&["", "NOT "])), Vec::new()),
        3 => (format!("SELECT x.id, (SELECT COUNT(*) FROM {other} AS y WHERE y.k <=> x.g) FROM w1 AS x"), Vec::new()),
        4 => (format!("SELECT {other}.k, COUNT(*), MIN({other}.v) FROM {other} GROUP BY {other}.k"), Vec::new()),
        // The inner one hides the outer one.
        5 => (format!("SELECT y.v, (WITH c AS (SELECT y.k + 1 AS k) SELECT MAX(c.k) FROM c) FROM {other} AS y"), Vec::new()),
        6 => (format!("SELECT c.k FROM c UNION SELECT {other}.k FROM {other}"), Vec::new()),
        _ => (format!("SELECT {other}.k, {other}.v FROM {other} WHERE {MARK}"), vec![about(r, other)]),
    };
    let main = Node::new(Sort::Query, template, parts);
    Node::new(Sort::Query, format!("WITH c (k, v) AS ({MARK}){MARK} {MARK}"), vec![body, more, main])
}

/// A condition on an expression's columns.
fn about(r: &mut Random, name: &str) -> Node {
    let text = match r.below(4) {
        0 => format!("{name}.k > {}", r.below(3)),
        1 => format!("{name}.v IS NOT NULL"),
        2 => format!("{name}.k IN (1, 3)"),
        _ => format!("EXISTS (SELECT 1 FROM w2 AS o WHERE o.g = {name}.k)"),
    };
    Node::leaf(Sort::Scalar, text)
}

/// A query of two columns, the first a number.
fn body(r: &mut Random) -> Node {
    let (from, aliases) = rows::from(r);
    let filter = rows::filter(r, aliases);
    let number = rows::scalar(r, aliases, 'I', 1);
    match r.below(5) {
        0 => {
            let key = rows::column(r, aliases[0], &['I']);
            let aggregate = r.pick(&["COUNT(*)", "MAX(%.n)", "MIN(%.s)", "SUM(%.i)"]).replace('%', aliases[0]);
            Node::new(Sort::Query, format!("SELECT {key}, {aggregate} FROM {MARK}{MARK} GROUP BY {key}"), vec![from, filter])
        }
        1 => {
            let ids = rows::ids(aliases);
            let template = format!("SELECT {MARK}, {MARK} FROM {MARK}{MARK} ORDER BY {ids} LIMIT {}", r.below(6));
            Node::new(Sort::Query, template, vec![number, rows::any(r, aliases, 1), from, filter])
        }
        2 => {
            let kind = r.pick(rows::PLAIN_KINDS);
            let parts = vec![number, rows::scalar(r, aliases, kind, 1), from, filter, rows::scalar(r, &[], kind, 0)];
            Node::new(Sort::Query, format!("SELECT {MARK}, {MARK} FROM {MARK}{MARK} UNION SELECT 7, {MARK}"), parts)
        }
        _ => {
            Node::new(Sort::Query, format!("SELECT {MARK}, {MARK} FROM {MARK}{MARK}"), vec![number, rows::any(r, aliases, 1), from, filter])
        }
    }
}

/// A recursion that counts, with a value that changes on the way: its column is as wide as the first row makes it.
fn counter(r: &mut Random) -> Node {
    let kind = r.pick(&['I', 'I', 'N', 'F', 'S', 'S', 'S', 'D', 'M', 'B', 'Y']);
    let seed = match r.below(5) {
        0 => format!("SELECT {}, {} FROM w3 AS x", r.below(3), rows::column(r, "x", &[kind])),
        1 if kind == 'S' => format!("SELECT {}, CAST({} AS CHAR(9))", r.below(3), rows::literal(r, kind)),
        2 => format!("SELECT {}, NULL", r.below(3)),
        _ => format!("SELECT {}, {}", r.below(3), rows::literal(r, kind)),
    };
    let one_row = !seed.contains("w3");
    let bound = r.below(7);
    let change = change(r, kind);
    let union = r.pick(&["UNION ALL", "UNION ALL", "UNION ALL", "UNION"]);
    let step = format!("SELECT c.n + 1, {change} FROM c WHERE c.n < {bound}");
    let (step, whole) = match r.below(10) {
        0 => (refused(r, &change), String::new()),
        1 => (format!("{step} UNION ALL SELECT c.n + 2, c.v FROM c WHERE c.n < 3"), String::new()),
        2 => (format!("{step} UNION SELECT c.n * 2 + 1, c.v FROM c WHERE c.n < 4"), String::new()),
        3 => (format!("SELECT c.n + 1, o.s FROM c JOIN w2 AS o ON o.id = c.n WHERE c.n < {bound}"), String::new()),
        4 => (format!("SELECT c.n + 1, {change} FROM c LEFT JOIN w3 AS o ON o.id = c.n WHERE c.n < {bound}"), String::new()),
        5 if one_row => (step, format!(" LIMIT {}", r.below(8))),
        6 if one_row => (step, format!(" LIMIT {} OFFSET {}", r.below(5), r.below(4))),
        _ => (step, String::new()),
    };
    let main = main_query(r, "n");
    let recursion = Node::leaf(Sort::Fixed, format!("{seed} {union} {step}{whole}"));
    Node::new(Sort::Query, format!("WITH RECURSIVE c (n, v) AS ({MARK}) {MARK}"), vec![recursion, main])
}

fn change(r: &mut Random, kind: char) -> String {
    let list: &[&str] = match kind {
        'I' => &["c.v + 1", "c.v * 1000", "- c.v", "c.v", "NULL", "c.v * 1.5", "c.n"],
        'N' => &["c.v / 3", "c.v * 10.5", "c.v + 1", "c.v", "1.234"],
        'F' => &["c.v * 2", "c.v / 4", "c.n"],
        'S' => &["CONCAT(c.v, 'b')", "LEFT(CONCAT('x', c.v), 2)", "UPPER(c.v)", "c.v", "c.n", "'a  '", "''", "NULL"],
        'D' => &["c.v + INTERVAL 1 DAY", "c.v + INTERVAL 1 HOUR", "'2024-05-05'", "LAST_DAY(c.v)", "c.v"],
        'M' => &["c.v + INTERVAL 1 MONTH", "DATE(c.v)", "c.v"],
        'B' => &["CONCAT(c.v, x'00')", "c.v", "LEFT(c.v, 1)"],
        _ => &["c.v + 1", "c.v", "c.v + 100"],
    };
    r.pick(list).to_owned()
}

/// What MySQL does not take as a recursive part.
fn refused(r: &mut Random, change: &str) -> String {
    r.pick(&[
        "SELECT MAX(c.n) + 1, MAX(c.v) FROM c",
        "SELECT DISTINCT c.n + 1, @ FROM c WHERE c.n < 3",
        "SELECT c.n + 1, @ FROM c WHERE c.n < 3 GROUP BY c.n, c.v",
        "SELECT ROW_NUMBER() OVER () + c.n, @ FROM c WHERE c.n < 3",
        "(SELECT c.n + 1, @ FROM c WHERE c.n < 3 LIMIT 2)",
        "(SELECT c.n + 1, @ FROM c WHERE c.n < 3 ORDER BY c.n)",
        "SELECT c.n + o.n, @ FROM c JOIN c AS o WHERE c.n < 3",
        "SELECT c.n + 1, @ FROM c WHERE c.n < (SELECT MAX(o.n) FROM c AS o)",
        "SELECT c.n + 1, @ FROM (SELECT o.n, o.v FROM c AS o) AS c WHERE c.n < 3",
        "SELECT x.id, @ FROM w2 AS x LEFT JOIN c ON c.n = x.id WHERE c.n < 3",
        "SELECT c.n + 1, @ FROM c WHERE c.n < 3 UNION ALL SELECT 9, NULL",
        "SELECT c.n + 1, @ FROM c WHERE c.n < 3 INTERSECT SELECT 1, NULL",
        "SELECT c.n + 1, @ FROM c WHERE c.n < 3 ORDER BY 1",
        "SELECT c.n + 1 FROM c WHERE c.n < 3",
        "SELECT c.n + 1, @ FROM c",
    ])
    .replace('@', change)
}

/// A recursion from parents to children, of which some are their own ancestors.
fn tree(r: &mut Random) -> Node {
    let root = r.pick(&["x.p = 0", "x.p IS NULL", "x.id = 1", "x.id < 4", "x.p > 2"]);
    let (table, depth) = (r.pick(&["w1", "w2"]), 1 + r.below(4));
    let (union, distance) = match r.below(3) {
        // Which way came first does not matter where all ways look the same.
        0 => ("UNION", "0"),
        _ => ("UNION ALL", "c.n + 1"),
    };
    let also = r.pick(&["", "", ", w3 AS o", " JOIN w2 AS o ON o.id = c.id"]);
    let bound = if distance == "0" { String::new() } else { format!(" WHERE c.n < {depth}") };
    let seed = format!("SELECT x.id, x.p, 0 FROM {table} AS x WHERE {root}");
    let step = match r.coin() {
        true => format!("SELECT y.id, y.p, {distance} FROM {table} AS y JOIN c ON y.p = c.id{also}{bound}"),
        false => format!("SELECT y.id, y.p, {distance} FROM c JOIN {table} AS y ON c.id = y.p{also}{bound}"),
    };
    let recursion = Node::leaf(Sort::Fixed, format!("{seed} {union} {step}"));
    let main = match r.coin() {
        true => main_query(r, "id"),
        false => Node::leaf(Sort::Query, "SELECT c.id, c.p, c.n FROM c"),
    };
    Node::new(Sort::Query, format!("WITH RECURSIVE c (id, p, n) AS ({MARK}) {MARK}"), vec![recursion, main])
}

/// What reads a recursion, by one of its columns.
fn main_query(r: &mut Random, column: &str) -> Node {
    let text = match r.below(8) {
        0 => format!("SELECT COUNT(*), SUM(c.{column}), MAX(c.{column}) FROM c"),
        1 => format!("SELECT x.id, c.{column} FROM w1 AS x LEFT JOIN c ON c.{column} = x.g"),
        2 => format!("SELECT x.id FROM w1 AS x WHERE x.id {}IN (SELECT c.{column} FROM c)", r.pick(&["", "NOT "])),
        3 => format!("SELECT c.{column}, COUNT(*) FROM c GROUP BY c.{column} WITH ROLLUP"),
        4 => format!("SELECT y.{column}, COUNT(*) FROM c JOIN c AS y ON y.{column} <= c.{column} GROUP BY y.{column}"),
        _ => "SELECT * FROM c".to_owned(),
    };
    Node::leaf(Sort::Query, text)
}
