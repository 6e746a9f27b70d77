//! Window functions: partitions, orders, frames, named windows, windows over groups and over joins.
//!
//! # Invariants
//! 1. What tells rows of one order apart is ordered by as well where a function or a frame asks which comes first.

use crate::node::{MARK, Node, Sort};
use crate::rows;
use env::SplitMix64 as Random;

/// Whether what a function says depends on which of two equal rows comes first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ties {
    Matter,
    /// Only under a frame of rows.
    Share,
}

/// The next query.
pub fn query(r: &mut Random) -> Node {
    match r.below(8) {
        0 | 1 => over_groups(r),
        _ => over_rows(r),
    }
}

fn over_rows(r: &mut Random) -> Node {
    let (from, aliases) = rows::from(r);
    let filter = rows::filter(r, aliases);
    let ids = rows::ids(aliases);
    let named = match r.below(4) {
        0 => Some(specification(r, aliases, Ties::Matter, &ids)),
        _ => None,
    };
    let count = 1 + r.below(3) as usize;
    let mut list = Node::leaf(Sort::List, ids.clone());
    for _ in 0..count {
        let call = match &named {
            Some(_) if r.coin() => {
                let (function, _) = function(r, aliases);
                Node::new(
                    Sort::Scalar,
                    format!("{MARK} OVER {}", r.pick(&["w", "w", "(w)", "(w ROWS UNBOUNDED PRECEDING)"])),
                    vec![function],
                )
            }
            _ => call(r, aliases, &ids),
        };
        let item = match r.below(8) {
            0 => Node::new(Sort::Scalar, format!("({MARK} + 1)"), vec![call]),
            1 => Node::new(Sort::Scalar, format!("COALESCE({MARK}, 0)"), vec![call]),
            _ => call,
        };
        list = Node::new(Sort::List, format!("{MARK}, {MARK}"), vec![list, Node::new(Sort::List, MARK.to_string(), vec![item])]);
    }
    let window = match named {
        Some(specification) => Node::new(Sort::Clause, format!(" WINDOW w AS ({MARK})"), vec![specification]),
        None => Node::leaf(Sort::Clause, ""),
    };
    let order = match r.below(6) {
        0 => Node::leaf(Sort::Clause, format!(" ORDER BY {ids} LIMIT {}{}", r.below(6), rows::TOTAL)),
        1 => Node::new(Sort::Clause, format!(" ORDER BY {MARK}, {ids}{}", rows::TOTAL), vec![call(r, aliases, &ids)]),
        2 => Node::leaf(Sort::Clause, format!(" ORDER BY {} DESC, {ids} LIMIT 5{}", aliases.len() + 1, rows::TOTAL)),
        _ => Node::leaf(Sort::Clause, ""),
    };
    Node::new(Sort::Query, format!("SELECT {MARK} FROM {MARK}{MARK}{MARK}{MARK}"), vec![list, from, filter, window, order])
}

fn over_groups(r: &mut Random) -> Node {
    let (from, aliases) = rows::from(r);
    let filter = rows::filter(r, aliases);
    let key = rows::column(r, aliases[0], &['I', 'I', 'S', 'D', 'Y', 'N']);
    let inner = rows::column(r, aliases[aliases.len() - 1], &['I', 'N']);
    let of_group = r.pick(&["COUNT(*)", "SUM(%)", "MIN(%)", "MAX(%)", "COUNT(%)"]).replace('%', &inner);
    let rollup = r.pick(&["", "", "", " WITH ROLLUP"]);
    // The row over all groups and the group of NULL show the same key.
    let told_apart = if rollup.is_empty() { key.clone() } else { format!("GROUPING({key}), {key}") };
    let partition = r.pick(&["", "PARTITION BY COUNT(*) "]);
    let over = format!("OVER ({partition}ORDER BY {}{told_apart})", r.pick(&["", "COUNT(*) DESC, ", "SUM(1), "]));
    let item = match r.below(6) {
        0 => format!("ROW_NUMBER() {over}"),
        1 => format!("RANK() OVER (ORDER BY {of_group})"),
        2 => format!("SUM({of_group}) {over}"),
        3 => format!("LAG({of_group}) {over}"),
        4 => format!("SUM({of_group}) OVER ()"),
        _ => format!("{of_group} / SUM({of_group}) OVER ()"),
    };
    let having = r.pick(&["", "", " HAVING COUNT(*) > 1"]);
    let tail = Node::leaf(Sort::Clause, format!(" GROUP BY {key}{rollup}{having}"));
    Node::new(Sort::Query, format!("SELECT {key}, {of_group}, {item} FROM {MARK}{MARK}{MARK}"), vec![from, filter, tail])
}

/// A function over a window of its own.
fn call(r: &mut Random, aliases: &[&str], ids: &str) -> Node {
    let (function, ties) = function(r, aliases);
    let specification = specification(r, aliases, ties, ids);
    Node::new(Sort::Scalar, format!("{MARK} OVER ({MARK})"), vec![function, specification])
}

fn function(r: &mut Random, aliases: &[&str]) -> (Node, Ties) {
    let argument = |r: &mut Random, kinds: &[char]| {
        let kind = r.pick(kinds);
        let depth = r.below(2) as u32;
        rows::scalar(r, aliases, kind, depth)
    };
    let any = rows::PLAIN_KINDS;
    let (template, parts, ties) = match r.below(12) {
        0 => ("ROW_NUMBER()", Vec::new(), Ties::Matter),
        1 => (r.pick(&["RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()"]), Vec::new(), Ties::Share),
        2 => (r.pick(&["NTILE(1)", "NTILE(3)", "NTILE(100)"]), Vec::new(), Ties::Matter),
        3 => (r.pick(&["LAG(%)", "LEAD(%)", "LAG(%, 2)", "LEAD(%, 0)"]), vec![argument(r, any)], Ties::Matter),
        4 => {
            let kind = r.pick(any);
            let parts = vec![argument(r, &[kind]), if r.below(4) == 0 { argument(r, any) } else { argument(r, &[kind]) }];
            (r.pick(&["LAG(%, 1, %)", "LEAD(%, 2, %)"]), parts, Ties::Matter)
        }
        5 => (r.pick(&["FIRST_VALUE(%)", "LAST_VALUE(%)", "NTH_VALUE(%, 2)", "NTH_VALUE(%, 1)"]), vec![argument(r, any)], Ties::Matter),
        6 => (r.pick(&["COUNT(*)", "SUM(1)", "COUNT(1)"]), Vec::new(), Ties::Share),
        7 => (r.pick(&["MIN(%)", "MAX(%)", "COUNT(%)"]), vec![argument(r, any)], Ties::Share),
        8 => (r.pick(&["BIT_AND(%)", "BIT_OR(%)", "BIT_XOR(%)"]), vec![argument(r, &['I'])], Ties::Share),
        _ => (r.pick(&["SUM(%)", "SUM(%)", "AVG(%)"]), vec![argument(r, &['I', 'I', 'N', 'N', 'F'])], Ties::Share),
    };
    (Node::new(Sort::Scalar, template.replace('%', &MARK.to_string()), parts), ties)
}

/// What stands in the parentheses behind OVER.
fn specification(r: &mut Random, aliases: &[&str], ties: Ties, ids: &str) -> Node {
    let partition = match r.below(3) {
        0 => Node::leaf(Sort::Clause, ""),
        _ => {
            let kind = r.pick(&['I', 'I', 'S', 'D', 'Y', 'N']);
            Node::new(Sort::Clause, format!("PARTITION BY {MARK} "), vec![rows::scalar(r, aliases, kind, 0)])
        }
    };
    if r.below(4) == 0 {
        return Node::new(Sort::Fixed, MARK.to_string().repeat(2), vec![partition, range(r, aliases, ties, ids)]);
    }
    let by_rows = r.below(3) == 0;
    let direction = r.pick(&["", "", " DESC"]);
    let order = match ties == Ties::Matter || by_rows {
        true => {
            let key = rows::any(r, aliases, 0);
            Node::new(Sort::Fixed, format!("ORDER BY {MARK}{direction}, {ids}"), vec![key])
        }
        false if r.below(4) == 0 => Node::leaf(Sort::Clause, ""),
        false => Node::new(Sort::Clause, format!("ORDER BY {MARK}{direction}"), vec![rows::any(r, aliases, 1)]),
    };
    let frame = match by_rows {
        true => Node::leaf(Sort::Clause, format!(" ROWS {}", extent(r, &["1", "2", "0", "5"]))),
        false => Node::leaf(Sort::Clause, ""),
    };
    Node::new(Sort::Fixed, MARK.to_string().repeat(3), vec![partition, order, frame])
}

/// ORDER BY and a frame by RANGE.
fn range(r: &mut Random, aliases: &[&str], ties: Ties, ids: &str) -> Node {
    let direction = r.pick(&["", "", " DESC"]);
    if ties == Ties::Matter {
        let frame = r.pick(&["RANGE UNBOUNDED PRECEDING", "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "RANGE CURRENT ROW"]);
        let key = rows::any(r, aliases, 0);
        return Node::new(Sort::Fixed, format!("ORDER BY {MARK}{direction}, {ids} {frame}"), vec![key]);
    }
    let (kind, steps) = match r.below(7) {
        0 => ('D', &["INTERVAL 1 DAY", "INTERVAL 1 MONTH", "INTERVAL 2 WEEK"][..]),
        1 => ('M', &["INTERVAL 1 SECOND", "INTERVAL 1 DAY", "INTERVAL '1:30' MINUTE_SECOND"][..]),
        2 => ('T', &["INTERVAL 1 HOUR", "INTERVAL 1 DAY"][..]),
        3 => ('N', &["1", "0.5", "2.25"][..]),
        4 => ('F', &["1", "0.5", "1e2"][..]),
        _ => ('I', &["1", "2", "0", "1.5", "300"][..]),
    };
    let alias = r.pick(aliases);
    let key = rows::column(r, alias, &[kind]);
    let frame = extent(r, steps);
    Node::leaf(Sort::Clause, format!("ORDER BY {key}{direction} RANGE {frame}"))
}

fn extent(r: &mut Random, steps: &[&str]) -> String {
    let bound = |r: &mut Random, from: u64| match from + r.below(3) {
        0 => "UNBOUNDED PRECEDING".to_owned(),
        1 => format!("{} PRECEDING", r.pick(steps)),
        2 => "CURRENT ROW".to_owned(),
        3 => format!("{} FOLLOWING", r.pick(steps)),
        _ => "UNBOUNDED FOLLOWING".to_owned(),
    };
    match r.below(3) {
        0 => bound(r, 0),
        _ => {
            // Now and then one that ends before it begins, which is refused or empty.
            let (start, end) = (bound(r, 0), bound(r, 2));
            match r.below(12) {
                0 => format!("BETWEEN {end} AND {start}"),
                _ => format!("BETWEEN {start} AND {end}"),
            }
        }
    }
}
