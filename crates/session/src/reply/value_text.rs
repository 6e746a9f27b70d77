//! Values as text, where no column type says more: SHOW results, messages, user variables.

use types::{LocalTime, Utc, Value, format_double, format_float};

/// Appends a value; NULL as the word.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(n) => out.extend_from_slice(n.to_string().as_bytes()),
        Value::UInt(n) => out.extend_from_slice(n.to_string().as_bytes()),
        Value::Float(n) => format_float(*n, out),
        Value::Double(n) => format_double(*n, out),
        Value::Decimal(d) => d.write_to(out),
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
        Value::Json(document) => executor::append_json_text(document, out),
        Value::Date(date) => date.write_to(out),
        Value::Time(time) => time.write_to(digits(time.microsecond()), out),
        Value::DateTime(datetime) => datetime.write_to(digits(datetime.microsecond()), out),
        Value::Timestamp(instant) => {
            let datetime = Utc.to_local(*instant);
            datetime.write_to(digits(datetime.microsecond()), out);
        }
    }
}

fn digits(microsecond: u32) -> u8 {
    if microsecond == 0 { 0 } else { 6 }
}
