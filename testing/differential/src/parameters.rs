//! Prepared statements, whose parameters are sent in the binary protocol as clients of all languages send them: numbers, text, bytes, dates and times, NULL.
//!
//! In a statement's text a parameter is written with its value, `«int 5»`, so that it can be shown and made smaller like any other part.
//!
//! # Invariants
//! 1. What has a parameter for an operand has a column beside it, or stands where a value is stored: a bare `? + ?` takes its type from what was sent, and MySQL's
//!    from what it expected (COMPAT.md).

use crate::node::{MARK, Node, Sort};
use crate::schema::COLUMNS;
use env::SplitMix64 as Random;
use mysql::Value;

/// Values as clients send them; the word says the type that is sent.
const VALUES: &[&str] = &[
    "«null»",
    "«int 0»",
    "«int 1»",
    "«int -1»",
    "«int 7»",
    "«int 42»",
    "«int 255»",
    "«int 2147483648»",
    "«int 20240229»",
    "«int 2024»",
    "«uint 18446744073709551615»",
    "«uint 5»",
    "«double 1.5»",
    "«double -2.5»",
    "«double 1e10»",
    "«float 0.5»",
    "«double 42»",
    "«text »",
    "«text a»",
    "«text A»",
    "«text abc»",
    "«text 12»",
    "«text 12abc»",
    "«text -3.7»",
    "«text 1.50»",
    "«text 2024-02-29»",
    "«text é»",
    "«text 2024-02-29 12:34:56»",
    "«text 12:34:56»",
    "«text [1, 2]»",
    "«text a,b»",
    "«bytes 616263»",
    "«bytes 00FF»",
    "«date 2024 2 29 0 0 0 0»",
    "«date 2024 2 29 12 34 56 0»",
    "«date 1999 12 31 23 59 59 999999»",
    "«time 0 12 34 56 0»",
    "«time 1 1 0 0 0»",
];

/// The text with `?` for each parameter, and the values.
pub fn split(text: &str) -> (String, Vec<Value>) {
    let mut sql = String::new();
    let mut values = Vec::new();
    let mut rest = text;
    while let Some((before, (inner, behind))) = rest.split_once('«').and_then(|(before, after)| Some((before, after.split_once('»')?))) {
        sql.push_str(before);
        sql.push('?');
        values.push(value(inner));
        rest = behind;
    }
    sql.push_str(rest);
    (sql, values)
}

fn value(written: &str) -> Value {
    let (word, text) = written.split_once(' ').unwrap_or((written, ""));
    let parts: Vec<u32> = text.split(' ').map(|part| part.parse().unwrap_or(0)).collect();
    match (word, parts.as_slice()) {
        ("int", _) => Value::Int(text.parse().unwrap_or(0)),
        ("uint", _) => Value::UInt(text.parse().unwrap_or(0)),
        ("double", _) => Value::Double(text.parse().unwrap_or(0.0)),
        ("float", _) => Value::Float(text.parse().unwrap_or(0.0)),
        ("text", _) => Value::Bytes(text.as_bytes().to_vec()),
        ("bytes", _) => {
            let digits: Vec<u8> = text.bytes().map(|digit| (digit as char).to_digit(16).unwrap_or(0) as u8).collect();
            Value::Bytes(digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
        }
        ("date", &[year, month, day, hour, minute, second, micros]) => {
            Value::Date(year as u16, month as u8, day as u8, hour as u8, minute as u8, second as u8, micros)
        }
        ("time", &[negative, hours, minutes, seconds, micros]) => {
            Value::Time(negative == 1, hours / 24, (hours % 24) as u8, minutes as u8, seconds as u8, micros)
        }
        _ => Value::NULL,
    }
}

fn parameter(r: &mut Random) -> Node {
    Node::leaf(Sort::Scalar, r.pick(VALUES))
}

fn parameters(r: &mut Random, count: usize) -> Vec<Node> {
    (0..count).map(|_| parameter(r)).collect()
}

/// A condition on this table with parameters in it.
fn condition(r: &mut Random, table: &str) -> Node {
    let ((one, ..), (other, ..)) = (r.pick(COLUMNS), r.pick(COLUMNS));
    let (one, other) = (format!("{table}.{one}"), format!("{table}.{other}"));
    let operator = r.pick(&["=", "=", "<", ">=", "<>", "<=>"]);
    let not = r.pick(&["", "NOT "]);
    let template = match r.below(14) {
        0..=3 => format!("{one} {operator} {MARK}"),
        4 => format!("{MARK} {operator} {one}"),
        5 => format!("{one} {not}IN ({MARK}, {MARK}, {MARK})"),
        6 => format!("{one} {not}BETWEEN {MARK} AND {MARK}"),
        7 => format!("({one}, {other}) = ({MARK}, {MARK})"),
        8 => format!("{one} {not}LIKE {MARK}"),
        9 => format!("{table}.dt > {MARK} + INTERVAL {MARK} DAY"),
        10 => format!("COALESCE({one}, {MARK}) {operator} {MARK}"),
        11 => format!("({MARK} IS NULL OR {one} = {MARK})"),
        12 => format!("{one} = (SELECT MAX(q.{}) FROM t2 AS q WHERE q.{} >= {MARK})", r.pick(COLUMNS).0, r.pick(COLUMNS).0),
        _ => format!("IF({one} > {MARK}, {other}, {MARK}) {operator} {MARK}"),
    };
    let count = template.matches(MARK).count();
    Node::new(Sort::Scalar, template, parameters(r, count))
}

fn filter(r: &mut Random, table: &str) -> Node {
    let mut inner = condition(r, table);
    if r.below(3) == 0 {
        let more = condition(r, table);
        inner = Node::new(Sort::Scalar, format!("({MARK} {} {MARK})", r.pick(&["AND", "OR"])), vec![inner, more]);
    }
    Node::new(Sort::Clause, format!(" WHERE {MARK}"), vec![inner])
}

/// What is selected: a column and a parameter.
fn item(r: &mut Random, table: &str) -> Node {
    let (name, kind, _) = r.pick(COLUMNS);
    let column = format!("{table}.{name}");
    let template = match (kind, r.below(4)) {
        (_, 0) => column,
        ('I' | 'N' | 'F', 1) => format!("({column} + {MARK})"),
        ('I' | 'N' | 'F', 2) => format!("ROUND({column} * {MARK}, 2)"),
        ('D' | 'M', 1) => format!("({column} + INTERVAL {MARK} {})", r.pick(&["DAY", "HOUR", "MONTH"])),
        // Not DATEDIFF: a number for its parameter ends MySQL 9.7 (signal 11).
        ('D' | 'M', 2) => format!("TIMESTAMPDIFF(HOUR, {column}, {MARK})"),
        ('S', 1) => format!("CONCAT({column}, {MARK})"),
        ('S', 2) => format!("LEFT({column}, {MARK})"),
        ('J', _) => format!("JSON_SET({column}, '$.k', {MARK})"),
        (_, 3) => format!("IFNULL({column}, {MARK})"),
        _ => format!("CASE WHEN {column} = {MARK} THEN 1 ELSE 0 END"),
    };
    let count = template.matches(MARK).count();
    Node::new(Sort::Scalar, template, parameters(r, count))
}

/// The next statement; a change is one of `t1` or `t2`.
pub fn statement(r: &mut Random) -> Node {
    let table = r.pick(&["t1", "t1", "t2"]);
    let (name, ..) = r.pick(COLUMNS);
    match r.below(10) {
        0 | 1 => {
            let ignore = r.pick(&["", "", " IGNORE"]);
            Node::new(Sort::Fixed, format!("INSERT{ignore} INTO {table} (id, {name}) VALUES (100, {MARK})"), vec![parameter(r)])
        }
        2 => {
            let filter = filter(r, table);
            Node::new(Sort::Fixed, format!("UPDATE {table} SET {name} = {MARK}{MARK}"), vec![parameter(r), filter])
        }
        3 => Node::new(Sort::Fixed, format!("DELETE FROM {table}{MARK}"), vec![filter(r, table)]),
        4 => {
            let template = format!("SELECT id FROM {table}{MARK} ORDER BY id LIMIT {MARK} OFFSET {MARK}");
            let counts = ["«int 0»", "«int 1»", "«int 3»", "«uint 5»"];
            let (limit, offset) = (r.pick(&counts), r.pick(&counts));
            Node::new(Sort::Fixed, template, vec![filter(r, table), Node::leaf(Sort::Fixed, limit), Node::leaf(Sort::Fixed, offset)])
        }
        _ => {
            let items = Node::list((0..1 + r.below(2)).map(|_| item(r, table)).collect());
            Node::new(Sort::Fixed, format!("SELECT {table}.id, {MARK} FROM {table}{MARK}"), vec![items, filter(r, table)])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_beside_the_text() {
        let (sql, values) = split("SELECT «int -5», «text a b», «bytes 00FF», «null», «time 1 25 0 1 0»");
        assert_eq!(sql, "SELECT ?, ?, ?, ?, ?");
        let expected =
            [Value::Int(-5), Value::Bytes(b"a b".to_vec()), Value::Bytes(vec![0, 255]), Value::NULL, Value::Time(true, 1, 1, 0, 1, 0)];
        assert_eq!(values, expected);
    }
}
