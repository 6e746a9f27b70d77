//! JSON_TABLE: documents taken apart into rows, by constants and from columns.

use crate::node::{MARK, Node, Sort};
use env::SplitMix64 as Random;

/// Documents, as text in a statement.
const DOCUMENTS: &[&str] = &[
    r#"'[1, "2", null, true, 2.75, {"a": 3}, [4, 5]]'"#,
    r#"'[{"a": 1, "b": [1, 2]}, {"a": "x", "b": []}, {"b": [3, {"c": 4}]}, {}]'"#,
    r#"'{"a": [{"b": "2024-02-29"}, {"b": "12:34:56"}, {"b": 20240229}], "k": "text longer than most"}'"#,
    r#"'{"a": {"b": {"c": [true, false]}}, "k": -0.5}'"#,
    r#"'[[1, 2], [3], []]'"#,
    r#"'"text"'"#,
    "'17'",
    "'[]'",
    "'null'",
    "NULL",
    "'no document'",
    r#"'["low", "a", "abcdefgh", "é", ""]'"#,
    r#"'[-1, 255, 300, 9223372036854775807, 1e300, 0.1, 99999]'"#,
];

const TYPES: &[&str] = &[
    "INT",
    "INT",
    "TINYINT",
    "INT UNSIGNED",
    "BIGINT",
    "DECIMAL(5,1)",
    "DOUBLE",
    "FLOAT",
    "VARCHAR(4)",
    "VARCHAR(30)",
    "CHAR(3)",
    "TEXT",
    "JSON",
    "JSON",
    "DATE",
    "DATETIME(1)",
    "YEAR",
    "VARCHAR(9) COLLATE utf8mb4_bin",
];

const PATHS: &[&str] = &["$", "$", "$.a", "$.b", "$[0]", "$.a.b", "$.b[*]", "$.c", "$.k", "$[last]", "$**.c"];

/// The next query.
pub fn query(r: &mut Random) -> Node {
    let mut names = 0;
    let columns = columns(r, &mut names, 2);
    let rows_path = r.pick(&["$[*]", "$[*]", "$[*]", "$", "$.a[*]", "$.a", "$[*].b[*]", "$.*", "$[1 to 2]", "$**.b"]);
    let of_columns = r.below(3) == 0;
    let document = if of_columns { "x.j" } else { r.pick(DOCUMENTS) };
    let table = Node::new(Sort::Fixed, format!("JSON_TABLE({document}, '{rows_path}' COLUMNS ({MARK})) AS j"), vec![columns]);
    let first = format!("j.c{}", r.below(names));
    if of_columns {
        let join = r.pick(&[", %", " JOIN %", " LEFT JOIN % ON TRUE", " LEFT JOIN % ON @ IS NOT NULL"]);
        let from = format!("w1 AS x{}", join.replace('%', &MARK.to_string()).replace('@', &first));
        let template = match r.below(3) {
            0 => format!("SELECT x.id, COUNT({first}), MAX({first}) FROM {from} GROUP BY x.id"),
            _ => format!("SELECT x.id, j.* FROM {from}"),
        };
        return Node::new(Sort::Query, template, vec![table]);
    }
    let template = match r.below(8) {
        0 => format!("SELECT {first}, COUNT(*) FROM {MARK} GROUP BY {first}"),
        1 => format!("SELECT * FROM {MARK} WHERE {first} IS NOT NULL"),
        2 => format!("SELECT * FROM {MARK} WHERE {first} = 1"),
        3 => format!("SELECT x.id FROM w1 AS x WHERE x.i IN (SELECT {first} FROM {MARK})"),
        _ => format!("SELECT * FROM {MARK}"),
    };
    Node::new(Sort::Query, template, vec![table])
}

/// Columns, of which NESTED ones go `depth` levels down. `names` counts those that have a name.
fn columns(r: &mut Random, names: &mut u64, depth: u32) -> Node {
    let columns: Vec<Node> = (0..1 + r.below(3)).map(|at| column(r, names, if at == 0 { 0 } else { depth })).collect();
    let template = vec![MARK.to_string(); columns.len()].join(", ");
    Node::new(Sort::Fixed, template, columns)
}

fn column(r: &mut Random, names: &mut u64, depth: u32) -> Node {
    if depth > 0 && r.below(3) == 0 {
        let path = r.pick(&["$.b[*]", "$[*]", "$.a[*]", "$.b", "$.c"]);
        return Node::new(Sort::Fixed, format!("NESTED PATH '{path}' COLUMNS ({MARK})"), vec![columns(r, names, depth - 1)]);
    }
    let name = format!("c{names}");
    *names += 1;
    let path = r.pick(PATHS);
    match r.below(7) {
        0 => return Node::leaf(Sort::Fixed, format!("{name} FOR ORDINALITY")),
        1 => return Node::leaf(Sort::Fixed, format!("{name} {} EXISTS PATH '{path}'", r.pick(&["INT", "INT", "VARCHAR(2)"]))),
        _ => {}
    }
    let mut reaction = |on: &str| {
        let what = r.pick(&["", "", "", "NULL", "ERROR", "DEFAULT '7'", "DEFAULT '\"a\"'", "DEFAULT '[1]'", "DEFAULT '1.5'"]);
        Node::leaf(Sort::Clause, if what.is_empty() { String::new() } else { format!(" {what} ON {on}") })
    };
    let parts = vec![reaction("EMPTY"), reaction("ERROR")];
    Node::new(Sort::Fixed, format!("{name} {} PATH '{path}'{MARK}{MARK}", r.pick(TYPES)), parts)
}
