//! The text of a prepared statement with the values of an execution in the places of its parameters.

use crate::reply::value_text;
use types::Value;

/// The text with values; parameters that have none stay as they are.
pub(super) fn with_values(sql: &[u8], values: &[Value], mode: parser::SqlMode) -> Vec<u8> {
    let escapes = !mode.has(parser::SqlMode::NO_BACKSLASH_ESCAPES);
    let (mut out, mut from) = (Vec::with_capacity(sql.len()), 0);
    for (place, value) in parser::parameter_places(sql, mode).into_iter().zip(values) {
        out.extend_from_slice(&sql[from..place]);
        put(value, escapes, &mut out);
        from = place + 1;
    }
    out.extend_from_slice(&sql[from..]);
    out
}

fn put(value: &Value, escapes: bool, out: &mut Vec<u8>) {
    match value {
        Value::Null | Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Double(_) | Value::Decimal(_) => {
            value_text::write(value, out)
        }
        Value::Bytes(bytes) => quote(bytes, escapes, out),
        other => {
            let mut text = Vec::new();
            value_text::write(other, &mut text);
            quote(&text, escapes, out);
        }
    }
}

fn quote(bytes: &[u8], escapes: bool, out: &mut Vec<u8>) {
    out.push(b'\'');
    for byte in bytes {
        match (byte, escapes) {
            (b'\'', false) => out.extend_from_slice(b"''"),
            (_, false) => out.push(*byte),
            (0, true) => out.extend_from_slice(b"\\0"),
            (b'\n', true) => out.extend_from_slice(b"\\n"),
            (b'\r', true) => out.extend_from_slice(b"\\r"),
            (0x1A, true) => out.extend_from_slice(b"\\Z"),
            (b'\\' | b'\'' | b'"', true) => out.extend_from_slice(&[b'\\', *byte]),
            (_, true) => out.push(*byte),
        }
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_their_parameters_were() {
        let values = [Value::Int(-5), Value::bytes(b"it's\\\n\0"), Value::Double(1.5), Value::Null];
        let text = |sql: &str, mode| String::from_utf8(with_values(sql.as_bytes(), &values, mode)).expect("text");
        let plain = parser::SqlMode::default();
        assert_eq!(text("select ?, ?, '?', ?,? from t -- ?", plain), "select -5, 'it\\'s\\\\\\n\\0', '?', 1.5,NULL from t -- ?");
        assert_eq!(text("select 1", plain), "select 1");
        assert_eq!(text("? ? ? ? ?", plain), "-5 'it\\'s\\\\\\n\\0' 1.5 NULL ?");
        let verbatim = plain.with(parser::SqlMode::NO_BACKSLASH_ESCAPES);
        assert_eq!(text("?,?", verbatim), "-5,'it''s\\\n\0'");
    }
}
