//! What 1062 says of a key that two rows have.
//!
//! MySQL writes the key in utf8mb3 into 64 bytes, and there the text ends also at its first NUL. Bytes that are no letters are written as `\xHH`.

use crate::context::StatementContext;
use crate::convert::{append_text, number_text};
use catalog::TableDef;
use mysql_error::{SqlError, codes};
use std::borrow::Cow;
use std::fmt::Write;
use types::{ColumnType, TypeKind, Value};

/// Bytes of a key that are shown.
const ENTRY_BYTES_MAX: usize = 64;

/// 1062 for a row that meets an existing key.
pub fn duplicate_entry(def: &TableDef, index_no: usize, values: &[Value], context: &dyn StatementContext) -> SqlError {
    let Some(index) = def.indexes.get(index_no) else { return codes::dup_entry("", "") };
    let parts = index.parts.iter().map(|part| (&values[part.column], &def.columns[part.column].ty, part.prefix_chars));
    let text = |value: &Value, ty: &ColumnType, out: &mut Vec<u8>| append_text(value, ty.decimals, context, out);
    codes::dup_entry(entry_text(parts, text), format!("{}.{}", def.name, index.name))
}

/// A key as it is shown: of each part the value, its type and how many characters count, and how a value that is no bytes is written.
pub fn entry_text<'v>(
    parts: impl Iterator<Item = (&'v Value, &'v ColumnType, Option<u32>)>,
    write: impl Fn(&Value, &ColumnType, &mut Vec<u8>),
) -> String {
    let mut entry = String::new();
    for (at, (value, ty, prefix_chars)) in parts.enumerate() {
        if at > 0 {
            entry.push('-');
        }
        let mut text = Vec::new();
        match value {
            Value::Null => text.extend_from_slice(b"NULL"),
            Value::UInt(bits) if ty.kind == TypeKind::Bit => text = number_text(*bits, ty),
            value => write(value, ty, &mut text),
        }
        if let Some(chars) = prefix_chars {
            text.truncate(ty.collation.chars_prefix_bytes(&text, chars as usize));
        }
        if (ty.kind.is_binary_string() || ty.kind == TypeKind::Bit) && !value.is_null() {
            // What fills a BINARY up is not shown, but for its first byte.
            if ty.kind == TypeKind::Binary {
                text.truncate(text.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1));
            }
            append_bytes(&text, &mut entry);
        } else {
            entry.push_str(&in_error_text(&text));
        }
    }
    cut(&entry).into_owned()
}

/// Bytes, where they are no ASCII that can be printed as `\xHH`.
fn append_bytes(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        match byte {
            b' '..=b'~' => out.push(char::from(*byte)),
            // Writing to a string cannot fail.
            _ => _ = write!(out, "\\x{byte:02X}"),
        }
    }
}

/// As much as fits. Of a character that does not fit as a whole clients get its first bytes, each as a character of latin1.
fn cut(entry: &str) -> Cow<'_, str> {
    let entry = entry.split('\0').next().unwrap_or_default();
    let whole = entry.floor_char_boundary(ENTRY_BYTES_MAX);
    let rest = entry.as_bytes().get(whole..ENTRY_BYTES_MAX).unwrap_or_default();
    if rest.is_empty() {
        return Cow::Borrowed(&entry[..whole]);
    }
    Cow::Owned(entry[..whole].chars().chain(rest.iter().map(|byte| char::from(*byte))).collect())
}

/// A value's text in an error's: MySQL writes these in utf8mb3, which has no characters beyond U+FFFF.
pub fn in_error_text(text: &[u8]) -> String {
    String::from_utf8_lossy(text).chars().map(|c| if c > '\u{FFFF}' { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Collation;

    #[test]
    fn keys_are_shown_as_mysql_shows_them() {
        let check = |values: &[(Value, ColumnType)], expected: &str| {
            let parts = values.iter().map(|(value, ty)| (value, ty, None));
            let text = |value: &Value, _: &ColumnType, out: &mut Vec<u8>| match value {
                Value::Bytes(text) => out.extend_from_slice(text),
                other => out.extend_from_slice(format!("{other:?}").as_bytes()),
            };
            assert_eq!(entry_text(parts, text), expected);
        };
        let bytes = |bytes: &[u8]| (Value::bytes(bytes), ColumnType { length: 200, ..ColumnType::new(TypeKind::VarBinary) });
        let text = |text: &str| (Value::from(text), ColumnType::varchar(200, Collation::DEFAULT));
        check(&[bytes(b"\xF0\x9F")], r"\xF0\x9F");
        check(&[bytes(b"abc\0\n\tz\\'\"\x7F")], r#"abc\x00\x0A\x09z\'"\x7F"#);
        check(&[bytes(&[0xFF; 90])], &r"\xFF".repeat(16));
        check(&[text("a"), bytes(b"\x01"), (Value::Null, ColumnType::int())], r"a-\x01-NULL");
        check(&[(Value::bytes(&b"a\0\0\0"[..]), ColumnType { length: 4, ..ColumnType::new(TypeKind::Binary) })], "a");
        check(&[(Value::bytes(&b"\0\0"[..]), ColumnType { length: 2, ..ColumnType::new(TypeKind::Binary) })], r"\x00");
        check(&[(Value::UInt(0x161), ColumnType { length: 9, ..ColumnType::new(TypeKind::Bit) })], r"\x01a");
        check(&[text(&"a".repeat(100))], &"a".repeat(64));
        check(&[text(&"é".repeat(100))], &"é".repeat(32));
        check(&[text(&"😀".repeat(100))], &"?".repeat(64));
        check(&[text(&"日".repeat(30))], &("日".repeat(21) + "æ"));
        check(&[text(&("aa".to_owned() + &"日".repeat(30)))], &("aa".to_owned() + &"日".repeat(20) + "æ\u{97}"));
        check(&[text("a\0b")], "a");
        check(&[text("a\nb")], "a\nb");
        check(&[text("")], "");
    }
}
