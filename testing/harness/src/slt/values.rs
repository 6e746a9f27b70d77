//! Values as a line of a file shows them.

use mysql::Value;
use mysql::consts::ColumnType;

/// A value as the text protocol carries it, whichever carried it. What could be taken for something else, or would be lost at the end of a
/// line, stands in double quotes; bytes that are not text are hex.
pub fn show(value: &Value, column: &mysql::Column) -> String {
    match value {
        Value::NULL => "NULL".into(),
        Value::Bytes(bytes) => show_bytes(bytes),
        Value::Int(i) => zero_filled(i.to_string(), column),
        Value::UInt(u) => zero_filled(u.to_string(), column),
        Value::Float(f) => {
            // As text a FLOAT has six digits.
            let six: f64 = format!("{f:.5e}").parse().unwrap_or(f64::from(*f));
            show_float(six, six.to_string(), format!("{six:e}"), column)
        }
        Value::Double(d) => show_float(*d, d.to_string(), format!("{d:e}"), column),
        Value::Date(y, m, d, ..) if column.column_type() == ColumnType::MYSQL_TYPE_DATE => format!("{y:04}-{m:02}-{d:02}"),
        Value::Date(y, m, d, h, i, s, us) => {
            format!("{y:04}-{m:02}-{d:02} {h:02}:{i:02}:{s:02}{}", fraction(*us, column.decimals()))
        }
        Value::Time(negative, days, h, i, s, us) => {
            let sign = if *negative { "-" } else { "" };
            format!("{sign}{:02}:{i:02}:{s:02}{}", days * 24 + u32::from(*h), fraction(*us, column.decimals()))
        }
    }
}

fn zero_filled(digits: String, column: &mysql::Column) -> String {
    match column.flags().contains(mysql::consts::ColumnFlags::ZEROFILL_FLAG) {
        true => format!("{digits:0>width$}", width = column.column_length() as usize),
        false => digits,
    }
}

/// MySQL writes an exponent from 1e15 up and below 1e-15; a column with a fixed count of digits shows them.
fn show_float(value: f64, plain: String, exponent: String, column: &mysql::Column) -> String {
    let size = value.abs();
    match column.decimals() {
        digits @ 0..=30 => format!("{value:.width$}", width = usize::from(digits)),
        _ if size != 0.0 && !(1e-15..1e15).contains(&size) => exponent,
        _ => plain,
    }
}

fn fraction(microseconds: u32, digits: u8) -> String {
    match digits {
        0 => String::new(),
        _ => format!(".{microseconds:06}")[..=usize::from(digits.min(6))].to_string(),
    }
}

fn show_bytes(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        _ if bytes.is_empty() => "(empty)".into(),
        Ok(text) => show_text(text),
        Err(_) => format!("0x{}", bytes.iter().map(|b| format!("{b:02X}")).collect::<String>()),
    }
}

fn show_text(text: &str) -> String {
    let ambiguous = text.starts_with(['"', ' ']) || text.ends_with(' ') || text == "NULL" || text == "(empty)" || text == "----";
    let escaped = text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t").replace('\0', "\\0");
    if ambiguous { format!("\"{escaped}\"") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_apart() {
        let show = show_bytes;
        assert_eq!(show(b""), "(empty)");
        assert_eq!(show(b"a\nb\\"), "a\\nb\\\\");
        assert_eq!(show(b"NULL"), "\"NULL\"");
        assert_eq!(show(b"a "), "\"a \"");
        assert_eq!(show(b"\xff\x01"), "0xFF01");
    }
}
