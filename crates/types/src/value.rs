//! One SQL value.

use crate::{ByteString, Date, DateTime, Decimal, Time, Timestamp};

/// One SQL value. Equality (`PartialEq`) is identity of representation, for tests and plan keys; SQL's equality is [`crate::compare()`].
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Value {
    /// NULL.
    #[default]
    Null,
    /// Signed integer types.
    Int(i64),
    /// Unsigned integer types, YEAR, BIT.
    UInt(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL.
    Decimal(Decimal),
    /// Character and binary strings, ENUM and SET (their text).
    Bytes(ByteString),
    /// DATE.
    Date(Date),
    /// TIME.
    Time(Time),
    /// DATETIME.
    DateTime(DateTime),
    /// TIMESTAMP: an instant. It becomes a [`DateTime`] in the session's time zone when an expression uses it.
    Timestamp(Timestamp),
    /// A JSON document in the binary form of crate `json`.
    Json(ByteString),
}

const _: () = assert!(size_of::<Value>() <= 32);

impl Value {
    /// SQL's TRUE and FALSE are the integers 1 and 0.
    pub const TRUE: Value = Value::Int(1);
    /// The integer 0.
    pub const FALSE: Value = Value::Int(0);

    /// 1 or 0.
    pub fn bool(b: bool) -> Value {
        Value::Int(i64::from(b))
    }

    /// A string.
    pub fn bytes(source: impl Into<ByteString>) -> Value {
        Value::Bytes(source.into())
    }

    /// Whether this is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

impl From<i64> for Value {
    fn from(v: i64) -> Self {
        Value::Int(v)
    }
}

impl From<u64> for Value {
    fn from(v: u64) -> Self {
        Value::UInt(v)
    }
}

impl From<f64> for Value {
    fn from(v: f64) -> Self {
        Value::Double(v)
    }
}

impl From<&str> for Value {
    fn from(v: &str) -> Self {
        Value::Bytes(v.into())
    }
}

impl From<String> for Value {
    fn from(v: String) -> Self {
        Value::Bytes(v.into())
    }
}

impl From<&[u8]> for Value {
    fn from(v: &[u8]) -> Self {
        Value::Bytes(v.into())
    }
}

impl From<Decimal> for Value {
    fn from(v: Decimal) -> Self {
        Value::Decimal(v)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(v: Option<T>) -> Self {
        v.map_or(Value::Null, Into::into)
    }
}
