//! Joins by ON, USING, NATURAL and comma, one within another, over tables that share some of their columns: which columns `*` stands for, in which order, what a name
//! without a table means, and where it means several or none.
//!
//! # Invariants
//! 1. A query has neither LIMIT nor a column that its groups do not tell, so that its rows do not depend on the plan.

use crate::node::{MARK, Node, Sort};
use env::SplitMix64 as Random;

/// The tables, each with its columns: no two have the same ones in the same order.
const TABLES: &[(&str, &[&str])] = &[("u1", &["id", "a", "b"]), ("u2", &["b", "id", "c"]), ("u3", &["c", "id", "a"]), ("u4", &["d", "a"])];

/// Rows of each: few, for joins without a condition have them all.
const ROWS: u64 = 6;

type Table = (&'static str, &'static [&'static str]);

/// Makes the tables and fills them.
pub fn statements(r: &mut Random) -> Vec<String> {
    let mut made = Vec::new();
    for (table, columns) in TABLES {
        let types: Vec<String> = columns.iter().map(|column| format!("{column} INT")).collect();
        let key = if r.coin() { format!(", KEY ({})", r.pick(columns)) } else { String::new() };
        made.push(format!("DROP TABLE IF EXISTS {table}"));
        made.push(format!("CREATE TABLE {table} ({}{key})", types.join(", ")));
        for _ in 0..ROWS {
            let values: Vec<String> = columns.iter().map(|_| value(r)).collect();
            made.push(format!("INSERT INTO {table} VALUES ({})", values.join(", ")));
        }
    }
    made
}

fn value(r: &mut Random) -> String {
    if r.below(7) == 0 { "NULL".to_owned() } else { r.below(5).to_string() }
}

/// The next query.
pub fn query(r: &mut Random) -> Node {
    let mut tables = TABLES.to_vec();
    while tables.len() > 2 && r.below(3) == 0 {
        tables.remove(r.below(tables.len() as u64) as usize);
    }
    for at in (1..tables.len()).rev() {
        tables.swap(at, r.below(at as u64 + 1) as usize);
    }
    let from = operand(r, &tables, true);
    let filter = match r.below(3) {
        0 => Node::new(Sort::Clause, format!(" WHERE {MARK}"), vec![condition(r, &tables)]),
        _ => Node::leaf(Sort::Clause, ""),
    };
    if r.below(6) == 0 {
        let key = name(r, &tables);
        let having = if r.coin() { format!(" HAVING {key} > {}", r.below(5)) } else { String::new() };
        let tail = Node::leaf(Sort::Clause, format!(" GROUP BY {key}{having}"));
        return Node::new(Sort::Query, format!("SELECT {key}, COUNT(*) FROM {MARK}{MARK}{MARK}"), vec![from, filter, tail]);
    }
    let mut items: Vec<String> = (0..1 + r.below(3)).map(|_| item(r, &tables)).collect();
    // A star is written first or behind a table, not behind another item.
    items.sort_by_key(|item| item != "*");
    items.dedup();
    let tail = if r.below(4) == 0 { format!(" ORDER BY {}", name(r, &tables)) } else { String::new() };
    let parts = vec![Node::leaf(Sort::List, items.join(", ")), from, filter, Node::leaf(Sort::Clause, tail)];
    Node::new(Sort::Query, format!("SELECT {MARK} FROM {MARK}{MARK}{MARK}"), parts)
}

/// These tables joined.
fn operand(r: &mut Random, tables: &[Table], outermost: bool) -> Node {
    let [(table, columns)] = tables else { return join(r, tables, outermost) };
    match r.below(8) {
        0 => Node::leaf(Sort::Fixed, format!("(SELECT {} FROM {table} WHERE {} < 4) AS {table}", columns.join(", "), columns[0])),
        _ => Node::leaf(Sort::Fixed, *table),
    }
}

fn join(r: &mut Random, tables: &[Table], outermost: bool) -> Node {
    // A chain more often than not.
    let at = if r.coin() { tables.len() - 1 } else { 1 + r.below(tables.len() as u64 - 1) as usize };
    let (left, right) = tables.split_at(at);
    let parts = vec![operand(r, left, outermost), operand(r, right, false)];
    let (first, second) = (if left.len() > 1 && r.coin() { format!("({MARK})") } else { MARK.to_string() }, within(right));
    let kind = r.pick(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "RIGHT JOIN"]);
    let template = match r.below(12) {
        0..=4 => format!("{first} {kind} {second} USING ({})", compared(r, left, right)),
        5..=7 => format!("{first} NATURAL {kind} {second}"),
        8 | 9 => format!("{first} {kind} {second} ON {}", on(r, left, right)),
        // Without parentheses it binds less than the joins around it.
        _ if outermost => format!("{first}, {second}"),
        _ => format!("({}, {second})", within(left)),
    };
    Node::new(Sort::Fixed, template, parts)
}

/// The place of an operand in parentheses where it is a join.
fn within(tables: &[Table]) -> String {
    if tables.len() > 1 { format!("({MARK})") } else { MARK.to_string() }
}

/// What USING names: as a rule what both sides have.
fn compared(r: &mut Random, left: &[Table], right: &[Table]) -> String {
    let has = |side: &[Table], column: &str| side.iter().any(|(_, columns)| columns.contains(&column));
    let mut common: Vec<&str> = ["id", "a", "b", "c"].into_iter().filter(|column| has(left, column) && has(right, column)).collect();
    if common.is_empty() || r.below(12) == 0 {
        common = vec![r.pick(&["id", "a", "b", "c", "d", "e"])];
    }
    let first = r.pick(&common);
    let second = r.pick(&common);
    if first == second { first.to_owned() } else { format!("{first}, {second}") }
}

fn on(r: &mut Random, left: &[Table], right: &[Table]) -> String {
    match r.below(6) {
        0 => "TRUE".to_owned(),
        // Which may be of neither, or of both.
        1 => format!("{} = {}", r.pick(&["id", "a", "b", "c", "d"]), qualified(r, right)),
        _ => format!("{} = {}", qualified(r, left), qualified(r, right)),
    }
}

fn qualified(r: &mut Random, tables: &[Table]) -> String {
    let (table, columns) = r.pick(tables);
    format!("{table}.{}", r.pick(columns))
}

/// A column, with its table or without.
fn name(r: &mut Random, tables: &[Table]) -> String {
    if r.below(3) == 0 { qualified(r, tables) } else { r.pick(&["id", "id", "a", "a", "b", "c", "d"]).to_owned() }
}

fn item(r: &mut Random, tables: &[Table]) -> String {
    match r.below(5) {
        0 | 1 => "*".to_owned(),
        2 => format!("{}.*", r.pick(tables).0),
        _ => name(r, tables),
    }
}

fn condition(r: &mut Random, tables: &[Table]) -> Node {
    let name = name(r, tables);
    let text = match r.below(5) {
        0 => format!("{name} IS {}NULL", r.pick(&["", "NOT "])),
        1 => format!("{name} IN (1, {})", r.below(5)),
        2 => format!("EXISTS (SELECT 1 FROM u4 AS o WHERE o.d = {name})"),
        3 => format!("(SELECT COUNT(*) FROM u1 AS o NATURAL JOIN u4 AS p WHERE o.b = {name}) > 0"),
        _ => format!("{name} {} {}", r.pick(&["=", "<", ">="]), r.below(5)),
    };
    Node::leaf(Sort::Scalar, text)
}
