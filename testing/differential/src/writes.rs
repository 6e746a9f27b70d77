//! Changes of several tables at once, REPLACE, ON DUPLICATE KEY UPDATE, IGNORE, ORDER BY and LIMIT, over tables with several unique keys, generated columns, computed
//! defaults, a CHECK and a foreign key.
//!
//! # Invariants
//! 1. What a change leaves does not depend on the plan: a row that is changed has one partner at most, or is given the same by each, and where the order of changes
//!    matters the statement says it.

use crate::node::{MARK, Node, Sort};
use env::SplitMix64 as Random;

/// The tables, with their rows.
const ROWS: &[(&str, u64)] = &[("m1", 12), ("m2", 9), ("m3", 6)];

/// The tables; all of them are looked at after a change.
pub const TABLES: &[&str] = &["m1", "m2", "m3"];

/// The columns that can be given values: name, kind.
const COLUMNS: &[(&str, char)] =
    &[("id", 'K'), ("k", 'K'), ("a", 'I'), ("b", 'I'), ("s", 'S'), ("c", 'S'), ("e", 'E'), ("n", 'N'), ("d", 'D'), ("dt", 'D')];

const DEFINITIONS: &str = "id INT PRIMARY KEY, k INT, a SMALLINT, b TINYINT UNSIGNED NOT NULL DEFAULT 3 CHECK (b < 200), s VARCHAR(6), \
    c CHAR(3) NOT NULL DEFAULT 'q', e ENUM('x','y','z') NOT NULL, n DECIMAL(6,2) DEFAULT (a * 2), d DATE DEFAULT '2024-01-01', \
    dt DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, gv INT AS (a + b) VIRTUAL, gs VARCHAR(14) AS (CONCAT(s, '-', a)) STORED";

/// Makes the tables and fills them.
pub fn statements(r: &mut Random) -> Vec<String> {
    let mut made = vec!["DROP TABLE IF EXISTS m3, m2, m1".to_owned()];
    for (table, rows) in ROWS {
        let keys = match *table {
            "m1" => r.pick(&[", UNIQUE KEY (a, s), KEY (gv)", ", UNIQUE KEY (k), UNIQUE KEY (s)", ", UNIQUE KEY (gs), KEY (k)"]).to_owned(),
            "m2" => r.pick(&[", UNIQUE KEY (k)", ", KEY (a), UNIQUE KEY (gv)", ""]).to_owned(),
            _ => {
                let on = |r: &mut Random| r.pick(&["CASCADE", "SET NULL", "RESTRICT"]);
                format!(", FOREIGN KEY (k) REFERENCES m1 (id) ON DELETE {} ON UPDATE {}", on(r), on(r))
            }
        };
        made.push(format!("CREATE TABLE {table} ({DEFINITIONS}{keys})"));
        for id in 1..=*rows {
            let values: Vec<String> = COLUMNS[1..].iter().map(|(name, _)| literal(r, name)).collect();
            let names: Vec<&str> = COLUMNS[1..].iter().map(|(name, _)| *name).collect();
            made.push(format!("INSERT IGNORE INTO {table} (id, {}) VALUES ({id}, {})", names.join(", "), values.join(", ")));
        }
    }
    made
}

/// A value that a column may be given, now and then one that it cannot hold.
fn literal(r: &mut Random, column: &str) -> String {
    if r.below(9) == 0 {
        return "NULL".to_owned();
    }
    match column {
        "id" => (1 + r.below(16)).to_string(),
        "k" => (1 + r.below(10)).to_string(),
        "a" | "b" => r.pick(&["0", "1", "2", "3", "4", "5", "7", "9", "-1", "199", "300", "'6'", "2.5", "32767"]).to_owned(),
        "s" | "c" => r.pick(&["'a'", "'A'", "'b'", "'c'", "'d'", "''", "'xy '", "'toolong'", "12"]).to_owned(),
        "e" => r.pick(&["'x'", "'y'", "'z'", "'x'", "2", "''", "'no'"]).to_owned(),
        "n" => r.pick(&["1", "2.5", "0.125", "-3", "99999.99", "'4.5'", "1e3"]).to_owned(),
        _ => r.pick(&["'2024-02-29'", "DATE'2023-12-31'", "'2024-02-30'", "20240131", "'2024-01-31 10:00:00'"]).to_owned(),
    }
}

fn column(r: &mut Random) -> &'static str {
    r.pick(&COLUMNS[1..]).0
}

/// A value for this column over tables of these names.
fn value(r: &mut Random, aliases: &[&str], name: &str) -> Node {
    let kind = COLUMNS.iter().find(|(of, _)| *of == name).map_or('I', |(_, kind)| *kind);
    if aliases.is_empty() || r.below(3) == 0 {
        return Node::leaf(Sort::Scalar, literal(r, name));
    }
    let alias = r.pick(aliases);
    let template = match kind {
        'K' => r.pick(&["%.k", "%.id", "%.id + 1", "%.k + 10", "%.a"]),
        'S' => r.pick(&["%.s", "%.c", "CONCAT(%.s, 'x')", "LEFT(%.gs, 3)", "%.e", "%.a", "REVERSE(%.s)", "DEFAULT(%.c)"]),
        'E' => r.pick(&["%.e", "%.e + 0", "IF(%.a > 2, 'x', 'y')", "'z'"]),
        'D' => r.pick(&["%.d", "%.dt", "%.d + INTERVAL 1 MONTH", "LAST_DAY(%.d)", "%.d + INTERVAL %.a DAY"]),
        'N' => r.pick(&["%.n * 2", "%.a / 3", "%.n + %.b", "%.gv", "%.n", "ROUND(%.n)"]),
        _ => r.pick(&["%.a + 1", "%.b", "%.gv", "%.a * 2", "%.n", "%.b - 1", "%.id", "COALESCE(%.a, 0)", "%.k"]),
    };
    Node::leaf(Sort::Scalar, template.replace('%', alias))
}

fn condition(r: &mut Random, aliases: &[&str]) -> Node {
    let (alias, name) = (r.pick(aliases), column(r));
    let fair = r.pick(&["1", "2", "3", "5", "'a'", "'x'", "'2024-01-31'"]);
    let text = match r.below(8) {
        0 => format!("{alias}.id <= {}", 1 + r.below(9)),
        1 => format!("{alias}.id IN ({}, {})", 1 + r.below(9), 1 + r.below(9)),
        2 => format!("{alias}.{name} IS {}NULL", r.pick(&["", "NOT "])),
        3 => format!("{alias}.gv > {}", r.below(9)),
        4 => format!("{alias}.s = 'a'"),
        5 => format!("{alias}.id IN (SELECT q.k FROM m3 AS q)"),
        6 => format!("EXISTS (SELECT 1 FROM m2 AS q WHERE q.id = {alias}.k)"),
        _ => format!("{alias}.{} >= {fair}", r.pick(&["a", "b", "k", "n"])),
    };
    if r.below(4) == 0 {
        let more = condition(r, aliases);
        return Node::new(Sort::Scalar, format!("({MARK} {} {MARK})", r.pick(&["AND", "OR"])), vec![Node::leaf(Sort::Scalar, text), more]);
    }
    Node::leaf(Sort::Scalar, text)
}

fn filter(r: &mut Random, aliases: &[&str]) -> Node {
    match r.below(4) {
        0 => Node::leaf(Sort::Clause, ""),
        _ => Node::new(Sort::Clause, format!(" WHERE {MARK}"), vec![condition(r, aliases)]),
    }
}

/// Different columns.
fn columns(r: &mut Random, most: u64) -> Vec<&'static str> {
    let mut names: Vec<&str> = (0..1 + r.below(most)).map(|_| column(r)).collect();
    names.sort_unstable();
    names.dedup();
    let first = r.below(names.len() as u64) as usize;
    names.swap(0, first);
    names
}

/// Assignments to columns of `target` that read tables of these names; as a clause behind the first one the others can be left out.
fn assignments(r: &mut Random, target: &str, read: &[&str]) -> Node {
    let names = columns(r, 3);
    let mut parts = Vec::new();
    let mut template = String::new();
    for (at, name) in names.iter().enumerate() {
        let value = match r.below(8) {
            0 => Node::leaf(Sort::Scalar, "DEFAULT"),
            1 => {
                Node::leaf(Sort::Scalar, format!("(SELECT MAX(q.{name}) FROM m2 AS q WHERE q.id <= {}.k)", read.first().unwrap_or(&target)))
            }
            _ => value(r, read, name),
        };
        if at == 0 {
            template = format!("{target}.{name} = {MARK}");
            parts.push(value);
        } else {
            template.push(MARK);
            parts.push(Node::new(Sort::Clause, format!(", {target}.{name} = {MARK}"), vec![value]));
        }
    }
    Node::new(Sort::Fixed, template, parts)
}

/// ` ORDER BY id …`, by which a statement's changes come one after the other.
fn order(r: &mut Random, alias: &str) -> String {
    let limit = if r.coin() { format!(" LIMIT {}", r.below(5)) } else { String::new() };
    format!(" ORDER BY {alias}.id{}{limit}", r.pick(&["", " DESC"]))
}

/// The rows of an INSERT or REPLACE, as VALUES with a name for them or as a query.
fn source(r: &mut Random, names: &[&str], alias: &str) -> (Node, Vec<String>) {
    if r.below(3) == 0 {
        let items: Vec<Node> = names
            .iter()
            .map(|name| match *name {
                "id" => Node::leaf(Sort::Fixed, r.pick(&["y.id", "y.id + 3", "y.k", "y.id + 20"])),
                _ => value(r, &["y"], name),
            })
            .collect();
        let table = r.pick(&["m2", "m3", "m1"]);
        let list = vec![MARK.to_string(); items.len()].join(", ");
        let (filter, order) = (filter(r, &["y"]), order(r, "y"));
        let parts = items.into_iter().chain([filter]).collect();
        return (Node::new(Sort::Fixed, format!(" SELECT {list} FROM {table} AS y{MARK}{order}"), parts), Vec::new());
    }
    let mut parts = Vec::new();
    let mut rows = Vec::new();
    for _ in 0..1 + r.below(3) {
        let mut earlier: Vec<&str> = Vec::new();
        for name in names {
            parts.push(match r.below(10) {
                0 => Node::leaf(Sort::Scalar, "DEFAULT"),
                1 if earlier.contains(&"a") => Node::leaf(Sort::Scalar, "a + 1"),
                _ => Node::leaf(Sort::Scalar, literal(r, name)),
            });
            earlier.push(name);
        }
        rows.push(format!("({})", vec![MARK.to_string(); names.len()].join(", ")));
    }
    let named = if alias.is_empty() { String::new() } else { format!(" AS {alias}") };
    let values = names.iter().map(|name| if alias.is_empty() { format!("VALUES({name})") } else { format!("{alias}.{name}") }).collect();
    (Node::new(Sort::Fixed, format!(" VALUES {}{named}", rows.join(", ")), parts), values)
}

/// The next change.
pub fn change(r: &mut Random) -> Node {
    let ignore = r.pick(&["", "", " IGNORE"]);
    let table = r.pick(TABLES);
    match r.below(12) {
        0 | 1 => {
            let (one, other) = r.pick(&[("m1", "m2"), ("m2", "m1"), ("m3", "m1"), ("m3", "m2")]);
            let join = r.pick(&["JOIN", "LEFT JOIN"]);
            let mut parts = vec![assignments(r, "x", &["x", "y"])];
            let also = match r.below(3) {
                0 => {
                    let name = column(r);
                    parts.push(Node::leaf(Sort::Scalar, literal(r, name)));
                    format!(", y.{name} = {MARK}")
                }
                _ => String::new(),
            };
            parts.push(filter(r, &["x", "y"]));
            Node::new(Sort::Fixed, format!("UPDATE{ignore} {one} AS x {join} {other} AS y ON y.id = x.k SET {MARK}{also}{MARK}"), parts)
        }
        2 => {
            let (one, other) = r.pick(&[("m1", "m2"), ("m2", "m3"), ("m3", "m1"), ("m1", "m1")]);
            let join = r.pick(&["JOIN", "LEFT JOIN"]);
            let head = r.pick(&["DELETE% x FROM", "DELETE% x, y FROM", "DELETE% y FROM", "DELETE% FROM x USING"]).replace('%', ignore);
            let on = r.pick(&["y.k = x.id", "y.id = x.k", "y.s = x.s", "y.a = x.a AND y.id > 2"]);
            Node::new(Sort::Fixed, format!("{head} {one} AS x {join} {other} AS y ON {on}{MARK}"), vec![filter(r, &["x", "y"])])
        }
        3 => {
            let parts = vec![assignments(r, "x", &["x"]), filter(r, &["x"])];
            Node::new(Sort::Fixed, format!("UPDATE{ignore} {table} AS x SET {MARK}{MARK}{}", order(r, "x")), parts)
        }
        4 => Node::new(Sort::Fixed, format!("DELETE{ignore} FROM {table} AS x{MARK}{}", order(r, "x")), vec![filter(r, &["x"])]),
        5 => {
            let parts = vec![filter(r, &["z"]), assignments(r, "x", &["x", "q"]), filter(r, &["x"])];
            let rows = "SELECT z.id, MAX(z.k) AS k, MIN(z.a) AS a, MAX(z.b) AS b, MIN(z.s) AS s, MIN(z.c) AS c, MAX(z.n) AS n, MAX(z.d) AS d, \
                MAX(z.dt) AS dt, MAX(z.e + 0) AS e, MAX(z.gv) AS gv, MAX(z.gs) AS gs";
            let template = format!(
                "WITH q AS ({rows} FROM m2 AS z{MARK} GROUP BY z.id) UPDATE{ignore} {table} AS x JOIN q ON q.id = x.k SET {MARK}{MARK}"
            );
            Node::new(Sort::Fixed, template, parts)
        }
        6 | 7 => {
            let mut names = columns(r, 4);
            names.insert(0, "id");
            let (rows, _) = source(r, &names, "");
            Node::new(Sort::Fixed, format!("REPLACE INTO {table} ({}){MARK}", names.join(", ")), vec![rows])
        }
        8 => {
            let mut names = columns(r, 4);
            names.insert(0, "id");
            let (rows, _) = source(r, &names, "");
            Node::new(Sort::Fixed, format!("INSERT{ignore} INTO {table} ({}){MARK}", names.join(", ")), vec![rows])
        }
        _ => {
            let mut names = columns(r, 4);
            names.insert(0, "id");
            let alias = r.pick(&["", "v"]);
            let (rows, values) = source(r, &names, alias);
            let mut updates = Vec::new();
            let mut parts = vec![rows];
            for name in columns(r, 3) {
                let value = match r.below(3) {
                    0 if !values.is_empty() => {
                        let index = r.below(values.len() as u64) as usize;
                        Node::leaf(Sort::Scalar, values[index].clone())
                    }
                    1 if values.is_empty() => value(r, &["y", table], name),
                    2 if !values.is_empty() => {
                        let index = r.below(values.len() as u64) as usize;
                        Node::leaf(Sort::Scalar, format!("CONCAT({}, {table}.{name})", values[index]))
                    }
                    _ => value(r, &[table], name),
                };
                updates.push(format!("{name} = {MARK}"));
                parts.push(value);
            }
            let template =
                format!("INSERT{ignore} INTO {table} ({}){MARK} ON DUPLICATE KEY UPDATE {}", names.join(", "), updates.join(", "));
            Node::new(Sort::Fixed, template, parts)
        }
    }
}
