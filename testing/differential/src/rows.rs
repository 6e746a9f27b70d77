//! The tables that whole queries are about (windows, table expressions, ROLLUP and others), and what is asked of their rows.
//!
//! The values are tame: what a query makes of rows is looked at here, what a function makes of a strange value is `generate`'s part.
//!
//! # Invariants
//! 1. Strings that compare equal are the same strings, so that any row of a group, and any of two rows that DISTINCT takes for one, show the same.
//! 2. Sums of floating numbers are exact, so that their order does not matter.
//! 3. `id` tells a table's rows apart.
//! 4. Nothing is computed from the unsigned column but sums: which rows an error is met on is the plan's affair.

use crate::node::{MARK, Node, Sort};
use env::SplitMix64 as Random;

/// The tables, with their rows.
const TABLES: &[(&str, u64)] = &[("w1", 24), ("w2", 9), ("w3", 3), ("w4", 0)];

/// A column: name, kind (see `functions`), type as written.
const COLUMNS: &[(&str, char, &str)] = &[
    ("g", 'I', "INT"),
    ("i", 'I', "INT NOT NULL"),
    ("u", 'U', "BIGINT UNSIGNED"),
    ("p", 'I', "SMALLINT"),
    ("n", 'N', "DECIMAL(8,2)"),
    ("f", 'F', "DOUBLE"),
    ("s", 'S', "VARCHAR(20)"),
    ("c", 'S', "CHAR(3) NOT NULL DEFAULT ''"),
    ("b", 'B', "VARBINARY(8)"),
    ("d", 'D', "DATE"),
    ("dt", 'M', "DATETIME(3)"),
    ("t", 'T', "TIME"),
    ("y", 'Y', "YEAR"),
    ("e", 'S', "ENUM('low','mid','high')"),
    ("j", 'J', "JSON"),
];

/// What ends the text of a query whose rows come in the one order that it asks for.
pub const TOTAL: &str = " /* total order */";

/// Makes the tables and fills them.
pub fn statements(r: &mut Random) -> Vec<String> {
    let mut made = Vec::new();
    for (table, rows) in TABLES {
        let columns: Vec<String> = COLUMNS.iter().map(|(name, _, ty)| format!("{name} {ty}")).collect();
        let keys = r.pick(&["", ", KEY (g)", ", KEY (g, i)", ", KEY (s), KEY (d)", ", KEY (i, g), KEY (p)"]);
        made.push(format!("DROP TABLE IF EXISTS {table}"));
        made.push(format!("CREATE TABLE {table} (id INT PRIMARY KEY, {}{keys})", columns.join(", ")));
        let rows: Vec<String> = (1..=*rows)
            .map(|id| {
                let values: Vec<String> = COLUMNS.iter().map(|(name, ..)| value(r, name, id)).collect();
                format!("({id}, {})", values.join(", "))
            })
            .collect();
        if !rows.is_empty() {
            made.push(format!("INSERT INTO {table} VALUES {}", rows.join(", ")));
        }
    }
    made
}

fn value(r: &mut Random, column: &str, id: u64) -> String {
    if !matches!(column, "i" | "c") && r.below(7) == 0 {
        return "NULL".to_owned();
    }
    match column {
        // A row's parent is mostly an earlier one, and sometimes closes a circle.
        "p" => {
            let most = if r.below(5) == 0 { 12 } else { id };
            r.below(most).to_string()
        }
        "i" => (r.below(9) as i64 - 3).to_string(),
        "u" => r.pick(&["0", "1", "5", "18446744073709551615", "300"]).to_owned(),
        _ => literal(r, kind_of(column)).to_owned(),
    }
}

fn kind_of(column: &str) -> char {
    match column {
        "e" => 'E',
        "c" => 'c',
        "g" => 'g',
        _ => COLUMNS.iter().find(|(name, ..)| *name == column).map_or('I', |(_, kind, _)| *kind),
    }
}

/// A value of this kind, as text in a statement.
pub fn literal(r: &mut Random, kind: char) -> &'static str {
    let list: &[&str] = match kind {
        'g' => &["1", "2", "3"],
        'I' => &["0", "1", "2", "3", "-1", "7"],
        'U' => &["0", "5", "300"],
        'N' => &["0.50", "1.25", "-2.00", "10.75", "3"],
        'F' => &["0.5e0", "1.25e0", "-4e0", "1e3", "2e0"],
        'S' => &["'a'", "'b'", "'cd'", "'xyz'", "''"],
        'c' => &["'a'", "'b'", "'cd'", "''"],
        'E' => &["'low'", "'mid'", "'high'"],
        'B' => &["x'00'", "x'61'", "x'FF01'"],
        'D' => &["DATE'2024-01-31'", "DATE'2024-02-29'", "DATE'2023-12-31'", "DATE'2024-02-01'"],
        'M' => &["TIMESTAMP'2024-02-29 12:34:56'", "TIMESTAMP'2024-02-29 12:34:56.5'", "TIMESTAMP'2023-12-31 23:59:59'"],
        'T' => &["TIME'12:00:00'", "TIME'-01:30:00'", "TIME'00:00:01'"],
        'Y' => &["2024", "1999", "2023"],
        'J' => &["'[1, 2, 3]'", "'{\"a\": 1, \"k\": [{\"a\": 2}, {\"a\": \"x\"}]}'", "'\"a\"'", "'12'", "'{\"k\": []}'"],
        _ => &["NULL"],
    };
    r.pick(list)
}

/// A table to read.
pub fn table(r: &mut Random) -> &'static str {
    r.pick(&["w1", "w1", "w1", "w2", "w2", "w3", "w4"])
}

/// Kinds whose values can be grouped, sorted and compared without much ado.
pub const PLAIN_KINDS: &[char] = &['I', 'I', 'U', 'N', 'F', 'S', 'S', 'B', 'D', 'M', 'T', 'Y'];

/// A column of one of these kinds.
pub fn column(r: &mut Random, alias: &str, kinds: &[char]) -> String {
    let kind = r.pick(kinds);
    let fitting: Vec<&str> = COLUMNS.iter().filter(|(_, of, _)| *of == kind).map(|(name, ..)| *name).collect();
    match fitting.is_empty() {
        true => format!("{alias}.id"),
        false => format!("{alias}.{}", r.pick(&fitting)),
    }
}

/// An expression of this kind over the tables of these aliases, `depth` levels deep.
pub fn scalar(r: &mut Random, aliases: &[&str], kind: char, depth: u32) -> Node {
    if depth == 0 || r.below(3) == 0 {
        return match aliases.is_empty() || r.below(8) == 0 {
            true if r.below(8) == 0 => Node::leaf(Sort::Scalar, "NULL"),
            true => Node::leaf(Sort::Scalar, literal(r, kind)),
            false => {
                let alias = r.pick(aliases);
                Node::leaf(Sort::Scalar, column(r, alias, &[kind]))
            }
        };
    }
    let (template, kinds) = match kind {
        'I' => r.pick(&[
            ("(% + %)", "II"),
            ("(% - %)", "II"),
            ("(% * %)", "II"),
            ("CHAR_LENGTH(%)", "S"),
            ("COALESCE(%, %)", "II"),
            ("IF(% > %, %, %)", "IIII"),
            ("YEAR(%)", "D"),
            ("(% IS NULL)", "S"),
            ("CASE WHEN % < % THEN % END", "DDI"),
        ]),
        'N' => r.pick(&[("(% + %)", "NI"), ("(% * %)", "NN"), ("ROUND(%, 1)", "N"), ("IFNULL(%, %)", "NN"), ("(% / %)", "II")]),
        'F' => r.pick(&[("(% + %)", "FF"), ("(- %)", "F"), ("COALESCE(%, %)", "FI")]),
        'S' => r.pick(&[
            ("CONCAT(%, %)", "SS"),
            ("LEFT(%, 1)", "S"),
            ("COALESCE(%, %)", "SS"),
            ("NULLIF(%, %)", "SS"),
            ("LPAD(%, 4, '-')", "S"),
        ]),
        'D' => r.pick(&[("(% + INTERVAL 1 DAY)", "D"), ("DATE(%)", "M"), ("COALESCE(%, %)", "DD"), ("LAST_DAY(%)", "D")]),
        'M' => r.pick(&[("(% - INTERVAL 1 HOUR)", "M"), ("GREATEST(%, %)", "MM"), ("TIMESTAMP(%)", "D")]),
        _ => return scalar(r, aliases, kind, 0),
    };
    let parts = kinds.chars().map(|kind| scalar(r, aliases, kind, depth - 1)).collect();
    Node::new(Sort::Scalar, template.replace('%', &MARK.to_string()), parts)
}

/// An expression of any plain kind.
pub fn any(r: &mut Random, aliases: &[&str], depth: u32) -> Node {
    let kind = r.pick(PLAIN_KINDS);
    scalar(r, aliases, kind, depth)
}

/// A condition.
pub fn condition(r: &mut Random, aliases: &[&str]) -> Node {
    let kind = r.pick(PLAIN_KINDS);
    let one = scalar(r, aliases, kind, 0);
    let of_rows = r.below(3) == 0;
    let other = scalar(r, if of_rows { aliases } else { &[] }, kind, 0);
    match r.below(6) {
        0 => Node::new(Sort::Scalar, format!("{MARK} IS {}NULL", r.pick(&["", "NOT "])), vec![one]),
        1 => {
            let more = condition(r, aliases);
            Node::new(Sort::Scalar, format!("({MARK} <= {MARK} {} {MARK})", r.pick(&["AND", "OR"])), vec![one, other, more])
        }
        2 => Node::new(Sort::Scalar, format!("{MARK} IN ({MARK}, {})", literal(r, kind)), vec![one, other]),
        _ => Node::new(Sort::Scalar, format!("{MARK} {} {MARK}", r.pick(&["=", "<", ">=", "<>"])), vec![one, other]),
    }
}

/// ` WHERE …`, or nothing.
pub fn filter(r: &mut Random, aliases: &[&str]) -> Node {
    match r.coin() {
        true => Node::new(Sort::Clause, format!(" WHERE {MARK}"), vec![condition(r, aliases)]),
        false => Node::leaf(Sort::Clause, ""),
    }
}

/// What stands behind FROM, and the aliases in it: `x`, now and then joined with `y`.
pub fn from(r: &mut Random) -> (Node, &'static [&'static str]) {
    let one = table(r);
    match r.below(4) {
        0 => {
            let join = r.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN"]);
            let on = match r.coin() {
                true => Node::leaf(Sort::Scalar, "x.g = y.g"),
                false => condition(r, &["x", "y"]),
            };
            (Node::new(Sort::Fixed, format!("{one} AS x {join} {} AS y ON {MARK}", table(r)), vec![on]), &["x", "y"])
        }
        _ => (Node::leaf(Sort::Fixed, format!("{one} AS x")), &["x"]),
    }
}

/// The columns that tell a joined row from all others.
pub fn ids(aliases: &[&str]) -> String {
    aliases.iter().map(|alias| format!("{alias}.id")).collect::<Vec<_>>().join(", ")
}

/// ` ORDER BY 1, …, count`, and LIMIT: total, since equal rows show the same.
pub fn order_of_all(r: &mut Random, count: usize, limit: bool) -> String {
    let mut places: Vec<String> = (1..=count).map(|place| format!("{place}{}", r.pick(&["", "", " DESC"]))).collect();
    let first = r.below(count as u64) as usize;
    places.swap(0, first);
    let limit = match limit {
        true => format!(" LIMIT {}{}", r.below(6), r.pick(&["", "", " OFFSET 1"])),
        false => String::new(),
    };
    format!(" ORDER BY {}{limit}", places.join(", "))
}
