//! The tables that statements are about: one column of each type, with and without an index, and rows that follow from the seed.

use crate::functions::literals;
use crate::{collations, paths, ranges, rows, stores, using, writes};
use env::SplitMix64 as Random;

/// A column: name, kind (see `functions`), type as written.
pub const COLUMNS: &[(&str, char, &str)] = &[
    ("i", 'I', "INT"),
    ("ti", 'I', "TINYINT"),
    ("u", 'I', "BIGINT UNSIGNED"),
    ("n", 'N', "DECIMAL(12,3)"),
    ("f", 'F', "DOUBLE"),
    ("s", 'S', "VARCHAR(20)"),
    ("c", 'S', "CHAR(6)"),
    ("sb", 'S', "VARCHAR(12) COLLATE utf8mb4_bin"),
    ("tx", 'S', "TEXT"),
    ("b", 'B', "VARBINARY(12)"),
    ("d", 'D', "DATE"),
    ("dt", 'M', "DATETIME(3)"),
    ("ts", 'M', "TIMESTAMP NULL"),
    ("t", 'T', "TIME(2)"),
    ("y", 'I', "YEAR"),
    ("e", 'S', "ENUM('a','b','abc')"),
    ("st", 'S', "SET('a','b','x y')"),
    ("bi", 'I', "BIT(10)"),
    ("j", 'J', "JSON"),
];

/// Tables of every type of column: name, rows. Those of [`crate::paths`] and [`crate::using`] are made with them.
pub const TABLES: &[(&str, usize)] = &[("t1", 14), ("t2", 7), ("t3", 1)];

/// Statements that make the tables and fill them, with `factor` times the rows. Rows that a server does not take are left out by both.
pub fn statements(r: &mut Random, factor: usize) -> Vec<String> {
    let mut made = Vec::new();
    // Many rows have few values, so that with more of them hardly one would be new to a unique key.
    let unique = if factor == 1 { "UNIQUE " } else { "" };
    for (table, rows) in TABLES {
        let columns: Vec<String> = COLUMNS.iter().map(|(name, _, ty)| format!("{name} {ty}")).collect();
        let keys = match *table {
            "t1" => format!(", KEY i (i), KEY s (s, i), KEY d (d), KEY n (n), {unique}KEY u (u), KEY sb (sb), KEY dt (dt)"),
            "t2" => ", KEY i (i, n), KEY c (c(3)), KEY e (e), KEY y (y DESC)".to_owned(),
            _ => String::new(),
        };
        made.push(format!("DROP TABLE IF EXISTS {table}"));
        made.push(format!("CREATE TABLE {table} (id INT PRIMARY KEY, {}{keys})", columns.join(", ")));
        made.push("BEGIN".to_owned());
        for row in 0..rows * if *rows == 1 { 1 } else { factor } {
            let values: Vec<String> = COLUMNS.iter().map(|(name, kind, _)| value(r, name, *kind)).collect();
            let names: Vec<&str> = COLUMNS.iter().map(|(name, ..)| *name).collect();
            made.push(format!("INSERT IGNORE INTO {table} (id, {}) VALUES ({}, {})", names.join(", "), row + 1, values.join(", ")));
        }
        made.push("COMMIT".to_owned());
    }
    made.extend(paths::statements(r, factor));
    made.extend(using::statements(r));
    made.extend(rows::statements(r));
    made.extend(collations::statements(r));
    made.extend(ranges::statements(r));
    made.extend(writes::statements(r));
    made.extend(stores::statements());
    made
}

/// A value for a column.
pub fn value(r: &mut Random, name: &str, kind: char) -> String {
    let list = match name {
        "e" => &["'a'", "'b'", "'abc'", "NULL", "1"][..],
        "st" => &["'a'", "'a,b'", "'x y'", "''", "NULL", "5"],
        "y" => &["2024", "1999", "1901", "0", "NULL", "70"],
        "bi" => &["0", "1", "5", "1023", "NULL"],
        "ti" => &["0", "1", "-1", "127", "-128", "NULL", "7"],
        "j" => &["'[1, 2, 3]'", "'{\"a\": 1, \"k\": {\"a\": \"x\"}}'", "'null'", "'\"a\"'", "'12'", "NULL", "'[]'", "'1.5'", "'true'"],
        _ => literals(kind),
    };
    r.pick(list).to_owned()
}
