//! GROUP BY … WITH ROLLUP and GROUPING().
//!
//! # Invariants
//! 1. Aggregates do not depend on the order of their rows; what LIMIT leaves is told by all columns.

use crate::node::{MARK, Node, Sort};
use crate::rows;
use env::SplitMix64 as Random;

/// The next query.
pub fn query(r: &mut Random) -> Node {
    let (from, aliases) = rows::from(r);
    let filter = rows::filter(r, aliases);
    let mut keys: Vec<String> = (0..1 + r.below(3)).map(|_| key(r, aliases)).collect();
    keys.sort();
    keys.dedup();
    let mut items: Vec<String> = keys.iter().map(|key| shown_key(r, key, &keys)).collect();
    items.extend((0..1 + r.below(2)).map(|_| aggregate(r, aliases)));
    let count = items.len();
    // HAVING and ORDER BY find a key that is a column.
    let columns: Vec<String> = keys.iter().filter(|key| !key.contains('(')).cloned().collect();
    let key = if columns.is_empty() { "NULL".to_owned() } else { r.pick(&columns) };
    let having = match r.below(5) {
        0 if !columns.is_empty() => format!(" HAVING GROUPING({key}) = {}", r.below(2)),
        1 => " HAVING COUNT(*) > 1".to_owned(),
        2 => format!(" HAVING {key} IS NOT NULL"),
        _ => String::new(),
    };
    let groups = match r.below(4) {
        0 => format!("ROLLUP ({})", keys.join(", ")),
        _ => format!("{} WITH ROLLUP", keys.join(", ")),
    };
    let distinct = r.pick(&["", "", "", "", "DISTINCT "]);
    let parts = |tail: String| {
        let items = items.iter().map(|item| Node::leaf(Sort::Scalar, item.as_str())).collect();
        vec![Node::list(items), from.clone(), filter.clone(), Node::leaf(Sort::Clause, having.clone()), Node::leaf(Sort::Clause, tail)]
    };
    let template = format!("SELECT {distinct}{MARK} FROM {MARK}{MARK} GROUP BY {groups}{MARK}{MARK}");
    match r.below(5) {
        0 => {
            let limit = r.coin();
            let order = rows::order_of_all(r, count, limit);
            Node::new(Sort::Query, template, parts(format!("{order}{}", rows::TOTAL)))
        }
        1 if distinct.is_empty() && !columns.is_empty() => {
            let order = format!(" ORDER BY GROUPING({key}), {}{}", places(count), rows::TOTAL);
            Node::new(Sort::Query, template, parts(order))
        }
        2 => {
            let names: Vec<String> = (0..count).map(|at| format!("k{at}")).collect();
            let inner = Node::new(Sort::Query, template, parts(String::new()));
            let condition = r.pick(&["k0 IS NULL", "k0 IS NOT NULL", "k0 > 1", "TRUE"]);
            Node::new(Sort::Query, format!("SELECT * FROM ({MARK}) AS q ({}) WHERE {condition}", names.join(", ")), vec![inner])
        }
        _ => Node::new(Sort::Query, template, parts(String::new())),
    }
}

fn places(count: usize) -> String {
    (1..=count).map(|place| place.to_string()).collect::<Vec<_>>().join(", ")
}

/// What is grouped by.
fn key(r: &mut Random, aliases: &[&str]) -> String {
    let alias = r.pick(aliases);
    match r.below(6) {
        0 => r.pick(&["YEAR(%.d)", "(%.i > 1)", "LEFT(%.s, 1)", "(%.g + 1)", "COALESCE(%.s, 'none')", "MONTH(%.dt)"]).replace('%', alias),
        _ => rows::column(r, alias, &['I', 'I', 'I', 'S', 'N', 'D', 'M', 'T', 'Y', 'F', 'B']),
    }
}

/// What is shown of a key.
fn shown_key(r: &mut Random, key: &str, keys: &[String]) -> String {
    match r.below(9) {
        0 => format!("GROUPING({key})"),
        1 => format!("GROUPING({})", keys.join(", ")),
        2 => format!("IF(GROUPING({key}), 'all', {key})"),
        3 => format!("COALESCE({key}, 'all')"),
        4 => format!("({key} IS NULL)"),
        _ => key.to_owned(),
    }
}

fn aggregate(r: &mut Random, aliases: &[&str]) -> String {
    let alias = r.pick(aliases);
    let (template, kinds) = r.pick(&[
        ("COUNT(*)", "I"),
        ("COUNT(%)", "ISND"),
        ("SUM(%)", "INF"),
        ("AVG(%)", "INF"),
        ("MIN(%)", "INFSDMTBY"),
        ("MAX(%)", "INFSDMTBY"),
        ("COUNT(DISTINCT %)", "ISDB"),
        ("SUM(DISTINCT %)", "IN"),
        ("BIT_OR(%)", "I"),
        ("BIT_XOR(%)", "I"),
        ("ROUND(STDDEV(%), 6)", "IN"),
        ("GROUP_CONCAT(% ORDER BY @)", "ISD"),
        ("GROUP_CONCAT(DISTINCT % ORDER BY 1 DESC)", "IS"),
        ("(COUNT(%) + COUNT(*))", "I"),
    ]);
    let kinds: Vec<char> = kinds.chars().collect();
    let column = rows::column(r, alias, &kinds);
    template.replace('%', &column).replace('@', &rows::ids(aliases))
}
