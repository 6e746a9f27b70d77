//! Strings under many collations and character sets: how they compare, sort and group, what functions find in them, and which collation comes of several.
//!
//! # Invariants
//! 1. What stands for strings that compare equal is never shown: their number, their smallest `id` or their weights are.

use crate::node::{MARK, Node, Sort};
use crate::rows;
use env::SplitMix64 as Random;

/// The columns, each with its type.
const COLUMNS: &[(&str, &str)] = &[
    ("ai", "VARCHAR(12)"),
    ("ascs", "VARCHAR(12) COLLATE utf8mb4_0900_as_cs"),
    ("asci", "VARCHAR(12) COLLATE utf8mb4_0900_as_ci"),
    ("bi", "VARCHAR(12) COLLATE utf8mb4_bin"),
    ("b9", "VARCHAR(12) COLLATE utf8mb4_0900_bin"),
    ("ge", "VARCHAR(12) COLLATE utf8mb4_general_ci"),
    ("un", "VARCHAR(12) COLLATE utf8mb4_unicode_ci"),
    ("u5", "CHAR(12) COLLATE utf8mb4_unicode_520_ci"),
    ("de", "VARCHAR(12) COLLATE utf8mb4_de_pb_0900_ai_ci"),
    ("sv", "VARCHAR(12) COLLATE utf8mb4_sv_0900_ai_ci"),
    ("es", "VARCHAR(12) COLLATE utf8mb4_es_trad_0900_as_cs"),
    ("u3", "VARCHAR(12) CHARACTER SET utf8mb3"),
    ("la", "VARCHAR(12) CHARACTER SET latin1"),
    ("lg", "VARCHAR(12) CHARACTER SET latin1 COLLATE latin1_german2_ci"),
    ("lb", "CHAR(12) CHARACTER SET latin1 COLLATE latin1_bin"),
    ("vb", "VARBINARY(24)"),
];

/// Strings that are near each other under one collation or another; all of them have a place in latin1.
const STRINGS: &[&str] = &[
    "'a'", "'A'", "'ä'", "'Ä'", "'ae'", "'æ'", "'b'", "'ß'", "'ss'", "'SS'", "'s'", "'z'", "'z '", "''", "' '", "'o'", "'ö'", "'ø'",
    "'ch'", "'cz'", "'cH'", "'Å'", "'aa'", "'a-b'", "'ab'", "'é'", "'E'", "'e'", "'ñ'", "'n'", "'1'", "'10'", "'a1'", "'ÿ'",
];

/// Makes the tables and fills them: a row has one string, in each of its columns.
pub fn statements(r: &mut Random) -> Vec<String> {
    let mut made = Vec::new();
    for (table, rows) in [("k1", 24), ("k2", 8)] {
        let columns: Vec<String> = COLUMNS.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
        let keys: Vec<String> = (0..r.below(4)).map(|_| format!(", KEY ({})", r.pick(COLUMNS).0)).collect();
        made.push(format!("DROP TABLE IF EXISTS {table}"));
        made.push(format!("CREATE TABLE {table} (id INT PRIMARY KEY, {}{})", columns.join(", "), keys.concat()));
        let rows: Vec<String> = (1..=rows)
            .map(|id| {
                let value = if r.below(10) == 0 { "NULL" } else { r.pick(STRINGS) };
                format!("({id}{})", format!(", {value}").repeat(COLUMNS.len()))
            })
            .collect();
        made.push(format!("INSERT INTO {table} VALUES {}", rows.join(", ")));
    }
    made
}

/// The next query.
pub fn query(r: &mut Random) -> Node {
    let (one, other) = (r.pick(COLUMNS).0, r.pick(COLUMNS).0);
    let filter = match r.below(3) {
        0 => Node::leaf(Sort::Clause, ""),
        _ => Node::new(Sort::Clause, format!(" WHERE {MARK}"), vec![condition(r)]),
    };
    let text = match r.below(14) {
        0 => format!("SELECT x.id FROM k1 AS x{MARK} ORDER BY x.{one}{}, x.id{}", r.pick(&["", " DESC"]), rows::TOTAL),
        1 => format!("SELECT COUNT(*), MIN(x.id) FROM k1 AS x{MARK} GROUP BY x.{one}"),
        2 => format!("SELECT COUNT(DISTINCT x.{one}), COUNT(DISTINCT x.{one}, x.{other}) FROM k1 AS x{MARK}"),
        3 => format!("SELECT HEX(WEIGHT_STRING(MIN(x.{one}))), HEX(WEIGHT_STRING(MAX(x.{one}))) FROM k1 AS x{MARK}"),
        4 => format!("SELECT x.id, RANK() OVER (ORDER BY x.{one}), COUNT(*) OVER (PARTITION BY x.{other}) FROM k1 AS x{MARK}"),
        5 => format!("SELECT x.id, y.id FROM k1 AS x JOIN k2 AS y ON x.{one} = y.{other}{MARK}"),
        6 => format!("SELECT x.id, y.id FROM k1 AS x LEFT JOIN k2 AS y ON x.{one} < y.{other}{MARK}"),
        7 => {
            let not = r.pick(&["", "NOT "]);
            let asked = format!("x.{one} {not}IN (SELECT y.{other} FROM k2 AS y WHERE y.{other} IS NOT NULL)");
            return Node::leaf(Sort::Query, format!("SELECT x.id FROM k1 AS x WHERE {asked}"));
        }
        8 => format!("SELECT COUNT(*) FROM (SELECT x.{one} AS v FROM k1 AS x{MARK} UNION SELECT y.{other} FROM k2 AS y) AS q"),
        9 => {
            let mixed = mixed(r);
            return Node::new(
                Sort::Query,
                format!("SELECT COLLATION({MARK}), COERCIBILITY({MARK}) FROM k2 AS x"),
                vec![mixed.clone(), mixed],
            );
        }
        10 => {
            let mixed = mixed(r);
            return Node::new(Sort::Query, format!("SELECT COUNT(*), MIN(x.id) FROM k1 AS x GROUP BY {MARK}"), vec![mixed]);
        }
        _ => {
            let parts = vec![call(r), filter];
            return Node::new(Sort::Query, format!("SELECT x.id, {MARK} FROM k1 AS x{MARK}"), parts);
        }
    };
    Node::new(Sort::Query, text, vec![filter])
}

/// A column of `x`, a literal, one of them under another collation, or bytes.
fn text(r: &mut Random) -> Node {
    let column = format!("x.{}", r.pick(COLUMNS).0);
    let text = match r.below(10) {
        0 | 1 => r.pick(STRINGS).to_owned(),
        2 => format!("{} COLLATE {}", r.pick(STRINGS), collation(r)),
        3 => format!("CONVERT({column} USING utf8mb4) COLLATE {}", collation(r)),
        4 => bytes(r, &column),
        _ => column,
    };
    Node::leaf(Sort::Scalar, text)
}

/// Bytes: those that are made of text win over text, those that are written as such do not.
fn bytes(r: &mut Random, column: &str) -> String {
    let literal = r.pick(STRINGS);
    match r.below(6) {
        0 => format!("BINARY {literal}"),
        1 => format!("CAST({column} AS BINARY)"),
        2 => format!("CONVERT({literal} USING binary)"),
        3 => format!("CONCAT(BINARY {literal})"),
        4 => format!("_binary{literal}"),
        _ => format!("x'{}'", r.pick(&["61", "7a", "7373", "6162"])),
    }
}

fn collation(r: &mut Random) -> &'static str {
    r.pick(&[
        "utf8mb4_bin",
        "utf8mb4_0900_ai_ci",
        "utf8mb4_0900_as_cs",
        "utf8mb4_general_ci",
        "utf8mb4_unicode_ci",
        "utf8mb4_da_0900_ai_ci",
    ])
}

fn condition(r: &mut Random) -> Node {
    let template = r.pick(&["% = %", "% < %", "% >= %", "% <> %", "% IN (%, %)", "% BETWEEN % AND %", "% LIKE #", "% REGEXP '^a'"]);
    filled(r, template)
}

/// A function that compares, or looks for one string in another.
fn call(r: &mut Random) -> Node {
    let template = r.pick(&[
        "(% = %)",
        "(% > %)",
        "STRCMP(%, %)",
        "INSTR(%, %)",
        "LOCATE(%, %)",
        "LOCATE(%, CONCAT(%, %))",
        "FIND_IN_SET(%, 'a,ss,Z,ae,')",
        "FIND_IN_SET('a', %)",
        "HEX(REPLACE(%, %, '-'))",
        "FIELD(%, %, %)",
        "(% IN (%, %))",
        "(% LIKE #)",
        "(CONCAT(%, 'x') LIKE #)",
        "HEX(UPPER(%))",
        "HEX(LOWER(%))",
        "HEX(TRIM(% FROM %))",
        "HEX(SUBSTRING_INDEX(%, %, 1))",
        "HEX(WEIGHT_STRING(%))",
        "HEX(NULLIF(%, %))",
        "(CASE % WHEN % THEN 1 ELSE 0 END)",
        "(% <=> %)",
        "HEX(CONCAT(%, %))",
        "LENGTH(%)",
    ]);
    filled(r, template)
}

/// A function whose collation comes of several strings.
fn mixed(r: &mut Random) -> Node {
    let template = r.pick(&[
        "CONCAT(%, %)",
        "COALESCE(%, %)",
        "IFNULL(%, %)",
        "IF(x.id > 2, %, %)",
        "CASE WHEN x.id > 2 THEN % ELSE % END",
        "REPLACE(%, %, 'x')",
        "LPAD(%, 5, %)",
        "CONCAT_WS(%, %, %)",
        "ELT(1, %, %)",
        "INSERT(%, 1, 1, %)",
        "SUBSTRING_INDEX(%, %, 1)",
        "TRIM(% FROM %)",
        "NULLIF(%, %)",
        "LEFT(%, 2)",
        "UPPER(%)",
        "MAKE_SET(3, %, %)",
    ]);
    filled(r, template)
}

fn filled(r: &mut Random, template: &str) -> Node {
    let pattern = r.pick(&["'a%'", "'%s'", "'_'", "'%ß%'", "'A_'", "'ss'", "'z '"]);
    let parts = template.chars().filter(|mark| *mark == '%').map(|_| text(r)).collect();
    Node::new(Sort::Scalar, template.replace('%', &MARK.to_string()).replace('#', pattern), parts)
}
