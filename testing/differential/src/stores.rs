//! Values of each type stored into columns of each other: out of columns, as literals, and computed; strictly and with IGNORE.
//!
//! # Invariants
//! 1. A statement stores into one row at most, so that what it says of a value is said of that one.

use crate::node::{MARK, Node, Sort};
use env::SplitMix64 as Random;

/// A column of this type, and values that it holds: its ends, usual ones, and texts that are more or less than what another type takes.
type Values = (&'static str, &'static [&'static str]);

const COLUMNS: &[Values] = &[
    ("TINYINT", &["-128", "0", "5", "127"]),
    ("TINYINT UNSIGNED", &["0", "255"]),
    ("SMALLINT", &["-300", "300"]),
    ("INT", &["-70000", "1", "2024", "20240131", "101112"]),
    ("INT UNSIGNED", &["4000000000"]),
    ("BIGINT", &["-9000000000", "20240131101112", "9223372036854775807"]),
    ("BIGINT UNSIGNED", &["18446744073709551615"]),
    ("DECIMAL(5,2)", &["-999.99", "0.00", "1.50", "1.25", "0.4"]),
    ("DECIMAL(20,6)", &["12345678901234.567891"]),
    ("FLOAT", &["1.5", "-0.25", "0.75"]),
    ("DOUBLE", &["1.5", "-2.5", "0.1", "1e300"]),
    ("DATE", &["'2024-01-31'", "'1999-12-31'"]),
    ("DATETIME", &["'2024-01-31 10:11:12'"]),
    ("DATETIME(3)", &["'2024-01-31 23:59:59.987'", "'9999-12-31 23:59:59.999'"]),
    ("TIMESTAMP NULL", &["'2024-01-31 10:11:12'"]),
    ("TIME", &["'10:11:12'", "'-100:00:01'"]),
    ("TIME(2)", &["'10:11:12.99'", "'838:59:59'"]),
    ("YEAR", &["1999", "2024", "0"]),
    (
        "VARCHAR(30)",
        &["''", "'a'", "'12'", "'12abc'", "'1.75'", "'2024-01-31'", "'2024-02-31'", "'10:11'", "'[1]'", "'x,y'", "'é'", "'000'", "'1e3'"],
    ),
    ("VARCHAR(3)", &["'abc'", "'2'"]),
    ("CHAR(5)", &["'ab'", "'12'"]),
    ("TEXT", &["'a text longer than most'", "'5'"]),
    ("VARBINARY(10)", &["'ab'", "x'00ff'", "'12'"]),
    ("BINARY(4)", &["'ab'"]),
    ("BLOB", &["'12'", "x'ff'"]),
    ("ENUM('a','12','x')", &["'a'", "'12'", "'x'"]),
    ("SET('x','y','12')", &["'x,y'", "''", "'12'"]),
    ("BIT(8)", &["b'101'", "b'11111111'"]),
    ("JSON", &["'1'", "'\"12\"'", "'[1, 2]'", "'null'", "'1.5'", "'true'"]),
    ("VARCHAR(10) CHARACTER SET latin1", &["'é'", "'12'"]),
];

/// Literals that no column of the tables gives.
const LITERALS: &[&str] =
    &["1.5e0", "-0.4", "1e30", "NULL", "TRUE", "x'4142'", "TIMESTAMP'2024-01-31 10:11:12.5'", "TIME'10:11:12'", "DATE'2024-02-29'"];

/// The table that is stored into; it is looked at after a change.
pub const TABLES: &[&str] = &["k_into"];

/// How many columns the tables have, from `v0` on.
pub fn columns() -> usize {
    COLUMNS.len()
}

/// Makes the tables and fills them: `k_from` with all values, `k_into` with a row of NULLs.
pub fn statements() -> Vec<String> {
    let definitions: Vec<String> = COLUMNS.iter().enumerate().map(|(at, (ty, _))| format!("v{at} {ty}")).collect();
    let mut made = vec!["DROP TABLE IF EXISTS k_from, k_into".to_owned()];
    for table in ["k_from", "k_into"] {
        made.push(format!("CREATE TABLE {table} (id INT PRIMARY KEY, {})", definitions.join(", ")));
    }
    let rows = COLUMNS.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    let names: Vec<String> = (0..COLUMNS.len()).map(|at| format!("v{at}")).collect();
    for row in 0..rows {
        let values: Vec<&str> = COLUMNS.iter().map(|(_, values)| values[row % values.len()]).collect();
        made.push(format!("INSERT INTO k_from (id, {}) VALUES ({}, {})", names.join(", "), row + 1, values.join(", ")));
    }
    made.push("INSERT INTO k_into (id) VALUES (1)".to_owned());
    made
}

/// What is stored: a column of `y`, something computed of it, or a literal.
fn source(r: &mut Random) -> String {
    let from = r.below(COLUMNS.len() as u64) as usize;
    match r.below(8) {
        0 => r.pick(LITERALS).to_owned(),
        1 => r.pick(COLUMNS[from].1).to_owned(),
        2 => r
            .pick(&["CONCAT(y.v%)", "IFNULL(y.v%, 1)", "COALESCE(y.v%)", "y.v% + 0", "IF(y.id, y.v%, NULL)", "CAST(y.v% AS CHAR)"])
            .replace('%', &from.to_string()),
        _ => format!("y.v{from}"),
    }
}

/// The next change.
pub fn change(r: &mut Random) -> Node {
    let into = r.below(COLUMNS.len() as u64);
    let row = 1 + r.below(13);
    let ignore = r.pick(&["", "", " IGNORE"]);
    let value = Node::leaf(Sort::Scalar, source(r));
    let template = match r.below(4) {
        0 => format!("UPDATE{ignore} k_into AS x JOIN k_from AS y ON y.id = {row} SET x.v{into} = {MARK}"),
        1 => format!(
            "INSERT{ignore} INTO k_into (id, v{into}) SELECT 1, {MARK} FROM k_from AS y WHERE y.id = {row} ON DUPLICATE KEY UPDATE v{into} = VALUES(v{into})"
        ),
        2 => format!("REPLACE INTO k_into (id, v{into}) SELECT 1, {MARK} FROM k_from AS y WHERE y.id = {row}"),
        _ => format!("INSERT{ignore} INTO k_into (id, v{into}) SELECT 2, {MARK} FROM k_from AS y WHERE y.id = {row}"),
    };
    Node::new(Sort::Fixed, template, vec![value])
}
