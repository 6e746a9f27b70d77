//! Values and keys as SQL writes them.

use record::key::{decode_part, is_reversible, part_bytes};
use record::{KeyPart, RowLayout};
use std::io::Write;
use types::{ColumnType, LocalTime, Value};

/// Local time is UTC: the output says so first.
struct Utc;

impl LocalTime for Utc {
    fn offset_at_utc(&self, _utc_micros: i64) -> i32 {
        0
    }

    fn local_to_utc(&self, local_micros: i64) -> Option<i64> {
        Some(local_micros)
    }
}

/// Appends a value of a column as a literal that any MySQL reads as the same value.
pub(crate) fn put(ty: &ColumnType, value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(n) => put_display(n, out),
        Value::UInt(n) => put_display(n, out),
        // The shortest text that reads back as the same number, with an exponent: without one it would be a DECIMAL, which holds less.
        Value::Float(n) => put_display(format_args!("{n:e}"), out),
        Value::Double(n) => put_display(format_args!("{n:e}"), out),
        Value::Decimal(n) => n.write_to(out),
        Value::Bytes(bytes) if ty.kind.is_binary_string() => put_hex(bytes, out),
        Value::Bytes(bytes) => put_text(bytes, out),
        Value::Json(document) => {
            let mut text = Vec::new();
            match json::text(json::View::new(document), &mut text) {
                Ok(()) => put_text(&text, out),
                Err(_) => out.extend_from_slice(b"NULL"),
            }
        }
        Value::Date(date) => quoted(out, |out| date.write_to(out)),
        Value::Time(time) => quoted(out, |out| time.write_to(ty.decimals, out)),
        Value::DateTime(at) => quoted(out, |out| at.write_to(ty.decimals, out)),
        Value::Timestamp(at) => {
            let at = Utc.to_local(*at);
            quoted(out, |out| at.write_to(ty.decimals, out));
        }
    }
}

fn put_display(number: impl std::fmt::Display, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = write!(out, "{number}");
}

fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'\'');
    write(out);
    out.push(b'\'');
}

fn put_hex(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.is_empty() {
        return out.extend_from_slice(b"''");
    }
    out.extend_from_slice(b"0x");
    bytes.iter().for_each(|byte| {
        let _ = write!(out, "{byte:02X}");
    });
}

/// Appends a text in quotes.
pub(crate) fn put_text(text: &[u8], out: &mut Vec<u8>) {
    // What is not UTF-8 cannot stand in a text.
    if std::str::from_utf8(text).is_err() {
        return put_hex(text, out);
    }
    out.push(b'\'');
    for &byte in text {
        match byte {
            b'\'' => out.extend_from_slice(b"''"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0 => out.extend_from_slice(b"\\0"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0x1a => out.extend_from_slice(b"\\Z"),
            other => out.push(other),
        }
    }
    out.push(b'\'');
}

/// A name in backquotes.
pub(crate) fn name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A key for people: its values where they can be read back, hexadecimal digits otherwise.
pub(crate) fn key_text(layout: &RowLayout, parts: &[KeyPart], key: &[u8]) -> String {
    if parts.is_empty() {
        return match key.try_into() {
            Ok(bytes) => format!("row {}", u64::from_be_bytes(bytes)),
            Err(_) => hex(key),
        };
    }
    let (mut rest, mut texts) = (key, Vec::new());
    for part in parts {
        if rest.is_empty() {
            break;
        }
        let ty = layout.column_type(part.column);
        let Ok(length) = part_bytes(ty, part, rest) else {
            // A separator is cut where it says enough.
            texts.push(hex(rest));
            break;
        };
        let (mut bytes, after) = rest.split_at(length.min(rest.len()));
        let decoded = if is_reversible(ty) && part.reversible(ty) { decode_part(ty, part, &mut bytes).ok() } else { None };
        match decoded {
            Some(value) => {
                let mut text = Vec::new();
                put(ty, &value, &mut text);
                texts.push(String::from_utf8_lossy(&text).into_owned());
            }
            None => texts.push(hex(&rest[..length.min(rest.len())])),
        }
        rest = after;
    }
    format!("({})", texts.join(", "))
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::from("x'");
    for byte in bytes.iter().take(64) {
        out.push_str(&format!("{byte:02X}"));
    }
    out.push_str(if bytes.len() > 64 { "…'" } else { "'" });
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Collation, TypeKind};

    #[test]
    fn literals() {
        let check = |ty: &ColumnType, value: Value, expect: &str| {
            let mut out = Vec::new();
            put(ty, &value, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expect);
        };
        let text = ColumnType::varchar(9, Collation::DEFAULT);
        let binary = ColumnType::varchar(9, Collation::Binary);
        check(&text, Value::Null, "NULL");
        check(&text, Value::from("it's \\ \n"), "'it''s \\\\ \\n'");
        check(&binary, Value::bytes(&[0, 255]), "0x00FF");
        check(&binary, Value::bytes(&[]), "''");
        check(&ColumnType::new(TypeKind::Timestamp), Value::Timestamp(types::Timestamp::ZERO), "'0000-00-00 00:00:00'");
        check(&ColumnType::bigint(), Value::Int(i64::MIN), "-9223372036854775808");
        check(&ColumnType::new(TypeKind::Double), Value::Double(0.1 + 0.2), "3.0000000000000004e-1");
        check(&ColumnType::new(TypeKind::Float), Value::Float(16_777_217.0), "1.6777216e7");
    }

    #[test]
    fn keys_for_people() {
        let layout = RowLayout::new(&[ColumnType::int().not_null(), ColumnType::varchar(9, Collation::DEFAULT)], 0);
        let parts = [KeyPart::ascending(0), KeyPart::ascending(1)];
        let mut key = Vec::new();
        record::key::encode_part(layout.column_type(0), &parts[0], &Value::Int(-7), &mut key);
        assert_eq!(key_text(&layout, &parts, &key), "(-7)");
        assert_eq!(key_text(&layout, &parts, &key[..2]), "(x'7FFF')");
        assert_eq!(key_text(&layout, &[], &9_u64.to_be_bytes()), "row 9");
    }
}
