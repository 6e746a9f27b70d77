//! Rows of `mysql.general_log` and `mysql.slow_log` as lines: fields in the order of the columns, tabs between them, `\` before what would end one. It is LOAD DATA's own format but for
//! times: instants are microseconds since the epoch, intervals microseconds.

use super::slow::Entry;
use super::text::who;
use catalog::{VirtualRow, VirtualTableDef};
use types::{ColumnType, Time, Timestamp, TypeKind, Value};

/// A row of `mysql.general_log`.
pub(super) fn general(micros: i64, user_host: &[u8], id: u32, server_id: u64, command: &str, argument: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + user_host.len() + argument.len());
    field(micros.to_string().as_bytes(), &mut out);
    field(user_host, &mut out);
    field(format!("{id}").as_bytes(), &mut out);
    field(format!("{server_id}").as_bytes(), &mut out);
    field(command.as_bytes(), &mut out);
    field(argument, &mut out);
    end(out)
}

/// A row of `mysql.slow_log`. Its time is that of the statement's end, whatever the column's name says: so it is in MySQL.
pub(super) fn slow(entry: &Entry<'_>, server_id: u64) -> Vec<u8> {
    let mut user_host = Vec::new();
    match entry.login {
        Some(login) => who(login, &mut user_host),
        None => user_host.extend_from_slice(b"[] @  []"),
    }
    let text = entry.text.strip_prefix(b"# administrator command: ").unwrap_or(entry.text);
    let mut out = Vec::with_capacity(128 + text.len());
    field(entry.ended_micros.to_string().as_bytes(), &mut out);
    field(&user_host, &mut out);
    for number in [entry.micros, entry.lock_micros, entry.rows_sent, entry.rows_examined] {
        field(number.to_string().as_bytes(), &mut out);
    }
    field(entry.database.unwrap_or_default().as_bytes(), &mut out);
    // What LAST_INSERT_ID() was and became is not kept for logs.
    field(b"0", &mut out);
    field(b"0", &mut out);
    field(server_id.to_string().as_bytes(), &mut out);
    field(text, &mut out);
    field(entry.id.to_string().as_bytes(), &mut out);
    end(out)
}

fn field(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            byte => out.push(*byte),
        }
    }
    out.push(b'\t');
}

/// The last field ends its line.
fn end(mut out: Vec<u8>) -> Vec<u8> {
    out.pop();
    out.push(b'\n');
    out
}

/// A line as a row; `None` of one that is there in part, or was never one.
pub(crate) fn row(def: &VirtualTableDef, line: &[u8]) -> Option<VirtualRow> {
    let mut fields = line.strip_suffix(b"\n")?.split(|byte| *byte == b'\t');
    let row: Option<VirtualRow> = def.columns.iter().map(|column| value(&column.ty, fields.next()?)).collect();
    row.filter(|_| fields.next().is_none())
}

fn value(ty: &ColumnType, field: &[u8]) -> Option<Value> {
    let number = || std::str::from_utf8(field).ok()?.parse::<i64>().ok();
    Some(match ty.kind {
        TypeKind::Timestamp => Value::Timestamp(Timestamp::from_micros(number()?)),
        TypeKind::Time => Value::Time(Time::from_micros(number()?.clamp(0, Time::MAX.micros()))),
        TypeKind::Int | TypeKind::BigInt if ty.unsigned => Value::UInt(u64::try_from(number()?).ok()?),
        TypeKind::Int => Value::Int(number()?.clamp(0, i64::from(i32::MAX))),
        _ => Value::bytes(unescaped(field)?),
    })
}

fn unescaped(field: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(field.len());
    let mut bytes = field.iter();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'\\' => match bytes.next()? {
                b't' => b'\t',
                b'n' => b'\n',
                b'\\' => b'\\',
                _ => return None,
            },
            byte => *byte,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::virtual_tables::{MYSQL, database};

    #[test]
    fn a_row_comes_back_whatever_it_holds_and_a_torn_line_is_none() {
        let def = database(MYSQL).expect("there").table("general_log").expect("there");
        let text = b"SELECT '\t\\n\n\\' \xff\0";
        let line = general(1_795_416_647_742_320, b"a\tb", 7, 1, "Query", text);
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let expect = vec![
            Value::Timestamp(Timestamp::from_micros(1_795_416_647_742_320)),
            Value::bytes(b"a\tb".to_vec()),
            Value::UInt(7),
            Value::UInt(1),
            Value::bytes(b"Query".to_vec()),
            Value::bytes(text.to_vec()),
        ];
        assert_eq!(row(def, &line), Some(expect));
        for torn in 0..line.len() {
            assert_eq!(row(def, &line[..torn]), None);
        }
        for garbage in [&b"\n"[..], b"x\ty\tz\tz\tz\tz\n", b"1\ta\t1\t1\tq\t\\x\n", b"1\ta\t-1\t1\tq\tx\n", b"1\ta\t1\t1\tq\tx\tmore\n"] {
            assert_eq!(row(def, garbage), None);
        }
    }
}
