//! UNION, INTERSECT and EXCEPT one within another, with parentheses, ORDER BY and LIMIT at each level, alone and as subqueries.
//!
//! # Invariants
//! 1. What LIMIT leaves is told by all columns. A VALUES has neither ORDER BY nor LIMIT of its own: MySQL 9.7 does not obey them.

use crate::node::{MARK, Node, Sort};
use crate::rows;
use env::SplitMix64 as Random;

/// The next query.
pub fn query(r: &mut Random) -> Node {
    let kinds: Vec<char> = (0..1 + r.below(2)).map(|_| r.pick(rows::PLAIN_KINDS)).collect();
    let body = operation(r, &kinds, 2);
    match r.below(8) {
        0 => {
            let order = rows::order_of_all(r, kinds.len(), true);
            Node::new(Sort::Query, format!("SELECT * FROM ({MARK}) AS q{order}{}", rows::TOTAL), vec![body])
        }
        1 => {
            let asked: Vec<String> = kinds.iter().map(|kind| rows::column(r, "x", &[*kind])).collect();
            let not = r.pick(&["", "", "NOT "]);
            let asked = if asked.len() == 1 { asked.concat() } else { format!("({})", asked.join(", ")) };
            Node::new(Sort::Query, format!("SELECT x.id FROM w1 AS x WHERE {asked} {not}IN ({MARK})"), vec![body])
        }
        2 => Node::new(Sort::Query, format!("SELECT x.id, EXISTS ({MARK}) FROM w3 AS x"), vec![body]),
        3 => {
            let kind = kinds[0];
            let (asked, body) = (rows::column(r, "x", &[kind]), operation(r, &[kind], 1));
            let (operator, many) = (r.pick(&["=", "<", ">=", "<>"]), r.pick(&["ANY", "ALL"]));
            Node::new(Sort::Query, format!("SELECT x.id FROM w2 AS x WHERE {asked} {operator} {many} ({MARK})"), vec![body])
        }
        4 | 5 => {
            let limit = r.coin();
            let order = Node::leaf(Sort::Clause, format!("{}{}", rows::order_of_all(r, kinds.len(), limit), rows::TOTAL));
            Node::new(Sort::Query, format!("{MARK}{MARK}"), vec![body, order])
        }
        _ => body,
    }
}

/// Two operands and what is done with them.
fn operation(r: &mut Random, kinds: &[char], depth: u32) -> Node {
    let operator = r.pick(&["UNION", "UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"]);
    let parts = vec![operand(r, kinds, depth - 1), operand(r, kinds, depth - 1)];
    Node::new(Sort::Query, format!("{MARK} {operator} {MARK}"), parts)
}

fn operand(r: &mut Random, kinds: &[char], depth: u32) -> Node {
    match r.below(6) {
        0 | 1 if depth > 0 => {
            let body = operation(r, kinds, depth);
            let limit = r.coin();
            let tail = Node::leaf(Sort::Clause, rows::order_of_all(r, kinds.len(), limit));
            Node::new(Sort::Query, format!("({MARK}{MARK})"), vec![body, tail])
        }
        2 => {
            let rows: Vec<String> = (0..1 + r.below(3))
                .map(|_| {
                    let values: Vec<&str> = kinds.iter().map(|kind| rows::literal(r, *kind)).collect();
                    format!("ROW({})", values.join(", "))
                })
                .collect();
            Node::leaf(Sort::Query, format!("VALUES {}", rows.join(", ")))
        }
        3 => {
            let tail = Node::leaf(Sort::Clause, rows::order_of_all(r, kinds.len(), true));
            Node::new(Sort::Query, format!("({MARK}{MARK})"), vec![block(r, kinds), tail])
        }
        _ => block(r, kinds),
    }
}

/// A SELECT of these kinds, now and then of others.
fn block(r: &mut Random, kinds: &[char]) -> Node {
    let (from, aliases) = rows::from(r);
    let items = kinds
        .iter()
        .map(|kind| {
            let kind = if r.below(8) == 0 { r.pick(rows::PLAIN_KINDS) } else { *kind };
            let depth = r.below(2) as u32;
            rows::scalar(r, aliases, kind, depth)
        })
        .collect();
    let distinct = Node::leaf(Sort::Clause, r.pick(&["", "", "", "DISTINCT "]));
    let parts = vec![distinct, Node::list(items), from, rows::filter(r, aliases)];
    Node::new(Sort::Query, format!("SELECT {MARK}{MARK} FROM {MARK}{MARK}"), parts)
}
