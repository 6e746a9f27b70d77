//! LATERAL: derived tables that read what stands before them.
//!
//! # Invariants
//! 1. What LIMIT leaves of a lateral table is told by its order, which ends with the key.

use crate::node::{MARK, Node, Sort};
use crate::rows;
use env::SplitMix64 as Random;

/// The next query.
pub fn query(r: &mut Random) -> Node {
    let (from, aliases) = match r.below(3) {
        0 => rows::from(r),
        _ => (Node::leaf(Sort::Fixed, format!("{} AS x", rows::table(r))), &["x"][..]),
    };
    let inner = inner(r, aliases);
    let join = match r.below(6) {
        0 => format!("{MARK}, LATERAL ({MARK}) AS l"),
        1 => format!("{MARK} JOIN LATERAL ({MARK}) AS l (a, b)"),
        2 => format!("{MARK} LEFT JOIN LATERAL ({MARK}) AS l ON TRUE"),
        3 => format!("{MARK} LEFT JOIN LATERAL ({MARK}) AS l ON l.a > 1"),
        4 => format!("{MARK} LEFT JOIN LATERAL ({MARK}) AS l ON l.a <=> x.g"),
        _ => format!("{MARK} JOIN LATERAL ({MARK}) AS l ON l.a IS NOT NULL"),
    };
    let mut joined = Node::new(Sort::Fixed, join, vec![from, inner]);
    let mut more = "";
    match r.below(6) {
        0 => {
            let also = Node::leaf(Sort::Query, r.pick(&["SELECT l.a + 1 AS e", "SELECT MAX(o.i) AS e FROM w2 AS o WHERE o.g < l.a"]));
            joined = Node::new(Sort::Fixed, format!("{MARK} LEFT JOIN LATERAL ({MARK}) AS m ON TRUE"), vec![joined, also]);
            more = ", m.e";
        }
        1 => {
            joined = Node::new(Sort::Fixed, format!("{MARK} LEFT JOIN w3 AS m ON m.id = l.a"), vec![joined]);
            more = ", m.id";
        }
        _ => {}
    }
    let ids = rows::ids(aliases);
    let filter = match r.below(4) {
        0 => Node::leaf(Sort::Clause, r.pick(&[" WHERE l.a > 0", " WHERE l.b IS NULL", " WHERE l.a = x.g OR l.a IS NULL"])),
        1 => rows::filter(r, aliases),
        _ => Node::leaf(Sort::Clause, ""),
    };
    let template = match r.below(6) {
        0 => format!("SELECT COUNT(*), SUM(l.a), COUNT(l.b) FROM {MARK}{MARK}"),
        1 => format!("SELECT x.g, COUNT(*), MAX(l.a) FROM {MARK}{MARK} GROUP BY x.g"),
        2 => format!("SELECT {ids}, RANK() OVER (ORDER BY l.a) FROM {MARK}{MARK}"),
        3 => format!("SELECT {ids}, (SELECT COUNT(*) FROM w2 AS o WHERE o.g = l.a) FROM {MARK}{MARK}"),
        _ => format!("SELECT {ids}, l.a, l.b{more} FROM {MARK}{MARK}"),
    };
    Node::new(Sort::Query, template, vec![joined, filter])
}

/// A query of two columns, `a` a number, about the rows of `aliases`.
fn inner(r: &mut Random, aliases: &[&str]) -> Node {
    let table = rows::table(r);
    let link = match r.below(5) {
        0 => "y.g = x.g",
        1 => "y.id <= x.id",
        2 => "y.p = x.id",
        3 => "y.g <=> x.g AND y.id <> x.id",
        _ => "y.i < x.i",
    };
    let from = format!("FROM {table} AS y WHERE {link}");
    let (mut all, kind) = (aliases.to_vec(), r.pick(rows::PLAIN_KINDS));
    all.push("y");
    let (number, value) = (rows::scalar(r, &all, 'I', 1), rows::scalar(r, &all, kind, 1));
    let own = |r: &mut Random, kind: char| rows::scalar(r, aliases, kind, 1);
    let (template, parts) = match r.below(11) {
        0 => (format!("SELECT {MARK} AS a, {MARK} AS b {from}"), vec![number, value]),
        1 => (format!("SELECT y.i AS a, {MARK} AS b {from} ORDER BY y.i DESC, y.id LIMIT {}", r.below(4)), vec![value]),
        2 => (format!("SELECT COUNT(*) AS a, MAX({MARK}) AS b {from}"), vec![value]),
        3 => (format!("SELECT y.g AS a, MIN({MARK}) AS b {from} GROUP BY y.g"), vec![value]),
        4 => (format!("SELECT DISTINCT y.g AS a, {MARK} AS b {from}"), vec![own(r, 'S')]),
        5 => (format!("SELECT {MARK} AS a, {MARK} AS b"), vec![own(r, 'I'), own(r, kind)]),
        6 => (format!("SELECT {MARK} AS a, {MARK} AS b UNION SELECT y.g, {MARK} {from}"), vec![own(r, 'I'), own(r, kind), value]),
        7 => (format!("SELECT SUM(y.i) OVER (ORDER BY y.id) AS a, {MARK} AS b {from}"), vec![value]),
        8 => (format!("WITH c AS (SELECT {MARK} AS v {from}) SELECT MAX(c.v) AS a, COUNT(*) AS b FROM c"), vec![number]),
        9 => (format!("SELECT y.g AS a, COUNT(*) AS b {from} GROUP BY y.g WITH ROLLUP"), Vec::new()),
        _ => {
            let having = r.pick(&["a > 0", "b IS NOT NULL", "COUNT(*) > 1"]);
            (format!("SELECT SUM(y.i) AS a, MAX({MARK}) AS b {from} HAVING {having}"), vec![value])
        }
    };
    Node::new(Sort::Query, template, parts)
}
