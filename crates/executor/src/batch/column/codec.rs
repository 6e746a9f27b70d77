//! Columns as bytes, and back: for temporary files of this process, so the form is free to change.

use super::{Column, Data, Nulls, Strings};
use types::{ByteString, Date, DateTime, Decimal, Time, Timestamp, Value};

/// Takes so many bytes off the front.
fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (front, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(front)
}

fn take_array<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (front, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*front)
}

fn take_u32(bytes: &mut &[u8]) -> Option<usize> {
    take_array(bytes).map(|b| u32::from_le_bytes(b) as usize)
}

/// `len` values of `N` bytes each.
fn take_many<T, const N: usize>(bytes: &mut &[u8], len: usize, of: impl Fn([u8; N]) -> T) -> Option<Vec<T>> {
    let (values, _) = take(bytes, len.checked_mul(N)?)?.as_chunks::<N>();
    Some(values.iter().map(|value| of(*value)).collect())
}

/// The same for values that not all bytes are.
fn try_take_many<T, const N: usize>(bytes: &mut &[u8], len: usize, of: impl Fn([u8; N]) -> Option<T>) -> Option<Vec<T>> {
    let (values, _) = take(bytes, len.checked_mul(N)?)?.as_chunks::<N>();
    values.iter().map(|value| of(*value)).collect()
}

macro_rules! put_many {
    ($out:expr, $tag:literal, $values:expr, $v:ident => $bytes:expr) => {{
        $out.push($tag);
        for $v in $values {
            $out.extend_from_slice(&$bytes.to_le_bytes());
        }
    }};
}

impl Column {
    /// Appends its bytes; how many values it has is not among them.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.nulls.count as u32).to_le_bytes());
        if self.nulls.count > 0 {
            out.extend_from_slice(&(self.nulls.words.len() as u32).to_le_bytes());
            for word in &self.nulls.words {
                out.extend_from_slice(&word.to_le_bytes());
            }
        }
        match &self.data {
            Data::Untyped => out.push(0),
            Data::Int(values) => put_many!(out, 1, values, v => v),
            Data::UInt(values) => put_many!(out, 2, values, v => v),
            Data::Float(values) => put_many!(out, 3, values, v => v),
            Data::Double(values) => put_many!(out, 4, values, v => v),
            Data::Decimal(values, scale) => {
                put_many!(out, 5, values, v => v);
                out.push(*scale);
            }
            Data::Bytes(strings) => {
                out.push(6);
                let mut start = 0;
                for end in &strings.ends {
                    out.extend_from_slice(&((end - start) as u32).to_le_bytes());
                    start = *end;
                }
                out.extend_from_slice(&strings.bytes);
            }
            Data::Date(values) => put_many!(out, 7, values, v => v.packed()),
            Data::Time(values) => put_many!(out, 8, values, v => v.micros()),
            Data::DateTime(values) => put_many!(out, 9, values, v => v.packed()),
            Data::Timestamp(values) => put_many!(out, 10, values, v => v.micros()),
            Data::Values(values) => {
                out.push(11);
                values.iter().for_each(|value| encode_value(value, out));
            }
        }
    }

    /// Takes a column of `len` values off the front of `bytes`; `None` where they are none.
    pub fn decode(bytes: &mut &[u8], len: usize) -> Option<Column> {
        let mut nulls = Nulls { count: take_u32(bytes)?, words: Vec::new() };
        if nulls.count > 0 {
            let words = take_u32(bytes)?;
            nulls.words = take_many(bytes, words, u64::from_le_bytes)?;
        }
        let [tag] = take_array(bytes)?;
        let data = match tag {
            0 => Data::Untyped,
            1 => Data::Int(take_many(bytes, len, i64::from_le_bytes)?),
            2 => Data::UInt(take_many(bytes, len, u64::from_le_bytes)?),
            3 => Data::Float(take_many(bytes, len, f32::from_le_bytes)?),
            4 => Data::Double(take_many(bytes, len, f64::from_le_bytes)?),
            5 => {
                let values = take_many(bytes, len, i128::from_le_bytes)?;
                let [scale] = take_array(bytes)?;
                Data::Decimal(values, scale)
            }
            6 => {
                let mut ends = take_many(bytes, len, |count| u32::from_le_bytes(count) as usize)?;
                let mut total = 0usize;
                for end in &mut ends {
                    total = total.checked_add(*end)?;
                    *end = total;
                }
                Data::Bytes(Strings { ends, bytes: take(bytes, total)?.to_vec() })
            }
            7 => Data::Date(try_take_many(bytes, len, |b| Date::from_packed(u32::from_le_bytes(b)))?),
            8 => Data::Time(take_many(bytes, len, |b| Time::from_micros(i64::from_le_bytes(b)))?),
            9 => Data::DateTime(try_take_many(bytes, len, |b| DateTime::from_packed(u64::from_le_bytes(b)))?),
            10 => Data::Timestamp(take_many(bytes, len, |b| Timestamp::from_micros(i64::from_le_bytes(b)))?),
            11 => Data::Values((0..len).map(|_| decode_value(bytes)).collect::<Option<_>>()?),
            _ => return None,
        };
        Some(Column { data, nulls, len })
    }
}

fn encode_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0),
        Value::Int(v) => put_many!(out, 1, [v], v => v),
        Value::UInt(v) => put_many!(out, 2, [v], v => v),
        Value::Float(v) => put_many!(out, 3, [v], v => v),
        Value::Double(v) => put_many!(out, 4, [v], v => v),
        Value::Decimal(v) => match v.as_i128() {
            Some((unscaled, scale)) => {
                put_many!(out, 5, [unscaled], v => v);
                out.push(scale);
            }
            None => {
                let mut text = Vec::new();
                v.write_to(&mut text);
                put_text(12, &text, out);
            }
        },
        Value::Bytes(v) => put_text(if v.is_marked() { 13 } else { 6 }, v, out),
        Value::Date(v) => put_many!(out, 7, [v], v => v.packed()),
        Value::Time(v) => put_many!(out, 8, [v], v => v.micros()),
        Value::DateTime(v) => put_many!(out, 9, [v], v => v.packed()),
        Value::Timestamp(v) => put_many!(out, 10, [v], v => v.micros()),
        Value::Json(v) => put_text(11, v, out),
    }
}

fn put_text(tag: u8, text: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text);
}

fn decode_value(bytes: &mut &[u8]) -> Option<Value> {
    let [tag] = take_array(bytes)?;
    Some(match tag {
        0 => Value::Null,
        1 => Value::Int(i64::from_le_bytes(take_array(bytes)?)),
        2 => Value::UInt(u64::from_le_bytes(take_array(bytes)?)),
        3 => Value::Float(f32::from_le_bytes(take_array(bytes)?)),
        4 => Value::Double(f64::from_le_bytes(take_array(bytes)?)),
        5 => {
            let unscaled = i128::from_le_bytes(take_array(bytes)?);
            let [scale] = take_array(bytes)?;
            Value::Decimal(Decimal::new(unscaled, scale))
        }
        7 => Value::Date(Date::from_packed(u32::from_le_bytes(take_array(bytes)?))?),
        8 => Value::Time(Time::from_micros(i64::from_le_bytes(take_array(bytes)?))),
        9 => Value::DateTime(DateTime::from_packed(u64::from_le_bytes(take_array(bytes)?))?),
        10 => Value::Timestamp(Timestamp::from_micros(i64::from_le_bytes(take_array(bytes)?))),
        6 | 11..=13 => {
            let len = take_u32(bytes)?;
            let text = take(bytes, len)?;
            match tag {
                6 => Value::from(text),
                11 => Value::Json(text.into()),
                13 => Value::Bytes(ByteString::from(text).marked()),
                _ => Value::Decimal(Decimal::parse_exact(text)?),
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[Value]) {
        let mut column = Column::new();
        values.iter().for_each(|value| column.push(value));
        let mut bytes = vec![7];
        column.encode(&mut bytes);
        let whole = bytes.len();
        bytes.extend_from_slice(b"rest");
        let mut left = &bytes[1..];
        let back = Column::decode(&mut left, values.len()).expect("a column");
        assert_eq!(left, b"rest");
        assert_eq!((0..back.len()).map(|at| back.value(at)).collect::<Vec<_>>(), values);
        let marks = |value: &Value| matches!(value, Value::Bytes(text) if text.is_marked());
        assert!(values.iter().enumerate().all(|(at, value)| marks(&back.value(at)) == marks(value)));
        assert_eq!(std::mem::discriminant(back.data()), std::mem::discriminant(column.data()));
        // Cut short it is none, and no panic.
        for end in 1..whole {
            let _ = Column::decode(&mut &bytes[1..end], values.len());
        }
        assert!(values.is_empty() || Column::decode(&mut &bytes[1..5], values.len()).is_none());
    }

    #[test]
    fn columns_come_back() {
        let wide = Decimal::parse_exact(b"-12345678901234567890123456789012345678901234567.0010").expect("a decimal");
        assert!(wide.as_i128().is_none());
        let each = [
            Value::Int(-5),
            Value::UInt(u64::MAX),
            Value::Float(1.25),
            Value::Double(-0.0),
            Value::Decimal(Decimal::new(-12345, 3)),
            Value::Decimal(wide),
            Value::from("text"),
            Value::from(""),
            Value::Bytes(ByteString::new().marked()),
            Value::Date(Date::from_fields(2024, 2, 29)),
            Value::Date(Date::default()),
            Value::Time(Time::from_micros(-1)),
            Value::DateTime(DateTime::from_fields(Date::from_fields(9999, 12, 31), 23, 59, 59, 999_999)),
            Value::Timestamp(Timestamp::from_micros(1_700_000_000_000_001)),
            Value::Json(b"\x00document".as_slice().into()),
        ];
        check(&[]);
        check(&[Value::Null, Value::Null]);
        for value in &each {
            check(&[value.clone(), Value::Null, value.clone()]);
            check(&vec![value.clone(); 130]);
        }
        check(&each);
        check(&each.iter().flat_map(|value| [Value::Null, value.clone()]).collect::<Vec<_>>());
    }
}
