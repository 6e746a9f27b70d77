//! A vector of values, typed where all of them are of one type.
//!
//! The type follows from what is put in: the first value that is not NULL decides, and a value of another type turns the whole
//! column into plain [`Value`]s. So a column holds anything, and loops over numbers run over plain arrays.

mod codec;
mod strings;
mod typed;

use crate::hash_key;
use ::memory::Excess;
pub use strings::Strings;
pub use typed::Fixed;
use types::{Collation, Date, DateTime, Decimal, Time, Timestamp, Value};

/// One column of a chunk, or of what an operator keeps.
#[derive(Debug, Default)]
pub struct Column {
    data: Data,
    nulls: Nulls,
    len: usize,
}

/// The values; those of NULLs are defaults.
#[derive(Debug, Default)]
pub enum Data {
    /// NULLs only.
    #[default]
    Untyped,
    /// Signed integers.
    Int(Vec<i64>),
    /// Unsigned integers.
    UInt(Vec<u64>),
    /// FLOAT.
    Float(Vec<f32>),
    /// DOUBLE.
    Double(Vec<f64>),
    /// Decimals of one scale whose digits fit in 128 bits.
    Decimal(Vec<i128>, u8),
    /// Strings.
    Bytes(Strings),
    /// DATE.
    Date(Vec<Date>),
    /// TIME.
    Time(Vec<Time>),
    /// DATETIME.
    DateTime(Vec<DateTime>),
    /// TIMESTAMP.
    Timestamp(Vec<Timestamp>),
    /// Of several types.
    Values(Vec<Value>),
}

/// Which places are NULL: a bitmap that ends at the last NULL, and so is empty where there is none.
#[derive(Debug, Default)]
struct Nulls {
    words: Vec<u64>,
    count: usize,
}

impl Nulls {
    #[inline]
    fn get(&self, at: usize) -> bool {
        self.words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    fn set(&mut self, at: usize) {
        if self.words.len() <= at / 64 {
            self.words.resize(at / 64 + 1, 0);
        }
        self.words[at / 64] |= 1 << (at % 64);
        self.count += 1;
    }
}

/// Runs `$body` with the vector of whatever fixed type the column has.
macro_rules! for_fixed {
    ($data:expr, $v:ident => $body:expr, $strings:pat => $text:expr, _ => $rest:expr) => {
        match $data {
            Data::Int($v) => $body,
            Data::UInt($v) => $body,
            Data::Float($v) => $body,
            Data::Double($v) => $body,
            Data::Decimal($v, _) => $body,
            Data::Date($v) => $body,
            Data::Time($v) => $body,
            Data::DateTime($v) => $body,
            Data::Timestamp($v) => $body,
            Data::Values($v) => $body,
            $strings => $text,
            Data::Untyped => $rest,
        }
    };
}

/// A typed push; the slow way is for the first value of a column and for a mixture.
macro_rules! push_fixed {
    ($($(#[$doc:meta])* $name:ident, $variant:ident, $ty:ty;)*) => {
        $($(#[$doc])*
        #[inline]
        pub fn $name(&mut self, value: $ty) {
            match &mut self.data {
                Data::$variant(values) => {
                    values.push(value);
                    self.len += 1;
                }
                _ => self.push_other(Value::$variant(value)),
            }
        })*
    };
}

impl Column {
    /// No values.
    pub fn new() -> Column {
        Column::default()
    }

    /// A typed column without NULLs; `len` is the length of the data.
    pub fn of(data: Data, len: usize) -> Column {
        Column { data, nulls: Nulls::default(), len }
    }

    /// How many values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The values.
    #[inline]
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// Whether any value is NULL.
    #[inline]
    pub fn has_nulls(&self) -> bool {
        self.nulls.count > 0
    }

    /// Whether a value is NULL.
    #[inline]
    pub fn is_null(&self, at: usize) -> bool {
        self.nulls.get(at)
    }

    /// Makes a value NULL that is there already.
    pub fn set_null(&mut self, at: usize) {
        debug_assert!(at < self.len);
        if !self.nulls.get(at) {
            self.nulls.set(at);
        }
        if let Data::Values(values) = &mut self.data {
            values[at] = Value::Null;
        }
    }

    /// Makes room for more values of the type that the column has, strings of so many bytes in all.
    #[inline]
    pub fn reserve(&mut self, count: usize, text_bytes: usize) -> Result<(), Excess> {
        for_fixed!(&mut self.data, v => ::memory::reserve(v, count), Data::Bytes(s) => {
            ::memory::reserve(&mut s.ends, count)?;
            ::memory::reserve(&mut s.bytes, text_bytes)
        }, _ => Ok(()))
    }

    /// Makes room for a value.
    #[inline]
    pub fn reserve_for(&mut self, value: &Value) -> Result<(), Excess> {
        let text_bytes = match value {
            Value::Bytes(text) => text.len(),
            _ => 0,
        };
        self.reserve(1, text_bytes)
    }

    /// Makes room for the values of another column at some places, to be gathered.
    pub fn reserve_from(&mut self, from: &Column, rows: impl ExactSizeIterator<Item = usize>) -> Result<(), Excess> {
        if self.len == 0 {
            self.become_like(from);
        }
        let count = rows.len();
        let text_bytes = match (&self.data, &from.data) {
            (Data::Bytes(_), Data::Bytes(strings)) => rows.map(|at| strings.get(at).len()).sum(),
            _ => 0,
        };
        self.reserve(count, text_bytes)
    }

    /// Forgets the values; memory and type stay for the next ones.
    pub fn clear(&mut self) {
        for_fixed!(&mut self.data, v => v.clear(), Data::Bytes(s) => s.clear(), _ => {});
        if matches!(self.data, Data::Values(_)) {
            self.data = Data::Untyped;
        }
        self.nulls.words.clear();
        self.nulls.count = 0;
        self.len = 0;
    }

    /// Bytes held, for memory accounting.
    pub fn bytes(&self) -> usize {
        let heap = match &self.data {
            Data::Untyped => 0,
            Data::Float(_) | Data::Date(_) => 4 * self.len,
            Data::Int(_) | Data::UInt(_) | Data::Double(_) | Data::Time(_) | Data::DateTime(_) | Data::Timestamp(_) => 8 * self.len,
            Data::Decimal(..) => 16 * self.len,
            Data::Bytes(s) => s.bytes.len() + 8 * self.len,
            Data::Values(values) => values.iter().map(crate::memory::value_bytes).sum(),
        };
        heap + 8 * self.nulls.words.len()
    }

    push_fixed! {
        /// Appends a signed integer.
        push_int, Int, i64;
        /// Appends an unsigned integer.
        push_uint, UInt, u64;
        /// Appends a FLOAT.
        push_float, Float, f32;
        /// Appends a DOUBLE.
        push_double, Double, f64;
        /// Appends a DATE.
        push_date, Date, Date;
        /// Appends a TIME.
        push_time, Time, Time;
        /// Appends a DATETIME.
        push_datetime, DateTime, DateTime;
        /// Appends a TIMESTAMP.
        push_timestamp, Timestamp, Timestamp;
    }

    /// Appends a string.
    #[inline]
    pub fn push_bytes(&mut self, text: &[u8]) {
        match &mut self.data {
            Data::Bytes(strings) => {
                strings.push(text);
                self.len += 1;
            }
            _ => self.push_other(Value::from(text)),
        }
    }

    /// Appends a decimal.
    #[inline]
    pub fn push_decimal(&mut self, decimal: Decimal) {
        match (&mut self.data, decimal.as_i128()) {
            (Data::Decimal(values, scale), Some((unscaled, own))) if *scale == own => {
                values.push(unscaled);
                self.len += 1;
            }
            _ => self.push_other(Value::Decimal(decimal)),
        }
    }

    /// Appends NULL.
    #[inline]
    pub fn push_null(&mut self) {
        self.nulls.set(self.len);
        for_fixed!(&mut self.data, v => v.push(Default::default()), Data::Bytes(s) => s.push(&[]), _ => {});
        self.len += 1;
    }

    /// Appends a value of any type.
    #[inline]
    pub fn push(&mut self, value: &Value) {
        match value {
            Value::Null => self.push_null(),
            Value::Int(v) => self.push_int(*v),
            Value::UInt(v) => self.push_uint(*v),
            Value::Float(v) => self.push_float(*v),
            Value::Double(v) => self.push_double(*v),
            Value::Decimal(v) => self.push_decimal(v.clone()),
            Value::Bytes(v) if v.is_marked() => self.push_other(value.clone()),
            Value::Bytes(v) => self.push_bytes(v),
            Value::Date(v) => self.push_date(*v),
            Value::Time(v) => self.push_time(*v),
            Value::DateTime(v) => self.push_datetime(*v),
            Value::Timestamp(v) => self.push_timestamp(*v),
            Value::Json(_) => self.push_other(value.clone()),
        }
    }

    /// Appends a value that the column has already.
    #[inline]
    pub fn push_own(&mut self, at: usize) {
        let value = self.value(at);
        self.push(&value);
    }

    /// Appends a value that the column's type does not hold.
    #[cold]
    #[inline(never)]
    fn push_other(&mut self, value: Value) {
        if self.nulls.count == self.len {
            self.retype(&value);
        } else if !matches!(self.data, Data::Values(_)) {
            let values = (0..self.len).map(|at| self.value(at)).collect();
            self.data = Data::Values(values);
        }
        match &mut self.data {
            Data::Values(values) => {
                values.push(value);
                self.len += 1;
            }
            _ => self.push(&value),
        }
    }

    /// Gives a column without values (but NULLs) the type of a value.
    fn retype(&mut self, value: &Value) {
        let len = self.len;
        self.data = match value {
            Value::Null => return,
            Value::Int(_) => Data::Int(filled(0, len)),
            Value::UInt(_) => Data::UInt(filled(0, len)),
            Value::Float(_) => Data::Float(filled(0.0, len)),
            Value::Double(_) => Data::Double(filled(0.0, len)),
            Value::Decimal(d) => match d.as_i128() {
                Some((_, scale)) => Data::Decimal(filled(0, len), scale),
                None => Data::Values(vec![Value::Null; len]),
            },
            // An arena has no room for marks.
            Value::Bytes(text) if text.is_marked() => Data::Values(vec![Value::Null; len]),
            Value::Bytes(_) => Data::Bytes(Strings { ends: filled(0, len), bytes: Vec::new() }),
            Value::Date(_) => Data::Date(filled(Date::default(), len)),
            Value::Time(_) => Data::Time(filled(Time::default(), len)),
            Value::DateTime(_) => Data::DateTime(filled(DateTime::default(), len)),
            Value::Timestamp(_) => Data::Timestamp(filled(Timestamp::default(), len)),
            Value::Json(_) => Data::Values(vec![Value::Null; len]),
        };
    }

    /// A value.
    #[inline]
    pub fn value(&self, at: usize) -> Value {
        if self.has_nulls() && self.is_null(at) {
            return Value::Null;
        }
        match &self.data {
            Data::Untyped => Value::Null,
            Data::Int(v) => Value::Int(v[at]),
            Data::UInt(v) => Value::UInt(v[at]),
            Data::Float(v) => Value::Float(v[at]),
            Data::Double(v) => Value::Double(v[at]),
            Data::Decimal(v, scale) => Value::Decimal(Decimal::new(v[at], *scale)),
            Data::Bytes(s) => Value::from(s.get(at)),
            Data::Date(v) => Value::Date(v[at]),
            Data::Time(v) => Value::Time(v[at]),
            Data::DateTime(v) => Value::DateTime(v[at]),
            Data::Timestamp(v) => Value::Timestamp(v[at]),
            Data::Values(v) => v[at].clone(),
        }
    }

    /// A string's bytes; none of what is no string.
    #[inline]
    pub fn bytes_at(&self, at: usize) -> &[u8] {
        match &self.data {
            Data::Bytes(s) => s.get(at),
            _ => &[],
        }
    }

    /// Bytes that a value takes, for memory accounting.
    pub fn value_bytes(&self, at: usize) -> usize {
        match &self.data {
            Data::Untyped => 0,
            Data::Bytes(s) => s.get(at).len() + 8,
            Data::Values(values) => crate::memory::value_bytes(&values[at]),
            Data::Decimal(..) => 16,
            _ => 8,
        }
    }

    /// The integer of 64 bits that a number equals.
    #[inline]
    pub fn integer(&self, at: usize) -> Option<i64> {
        if self.has_nulls() && self.is_null(at) {
            return None;
        }
        match &self.data {
            Data::Int(v) => Some(v[at]),
            Data::UInt(v) => i64::try_from(v[at]).ok(),
            Data::Decimal(..) | Data::Values(_) => hash_key::integer_of(&self.value(at)),
            _ => None,
        }
    }

    /// Appends a value's bytes as `hash_key::append` does.
    #[inline]
    pub fn append_key(&self, at: usize, collation: Collation, out: &mut Vec<u8>) {
        match &self.data {
            Data::Int(v) if !self.is_null(at) => hash_key::append_integer(i128::from(v[at]), out),
            Data::Bytes(s) if !self.is_null(at) => hash_key::append_bytes(s.get(at), collation, out),
            _ => hash_key::append(&self.value(at), collation, out),
        }
    }

    /// Appends a value's bytes as `hash_key::append_ordered` does.
    #[inline]
    pub fn append_ordered(&self, at: usize, collation: Collation, out: &mut Vec<u8>) {
        match &self.data {
            Data::Bytes(s) if !self.is_null(at) => hash_key::append_ordered_bytes(s.get(at), collation, out),
            _ => hash_key::append_ordered(&self.value(at), collation, out),
        }
    }

    /// The same value many times.
    pub fn repeat(value: &Value, count: usize) -> Column {
        let mut column = Column::new();
        match value {
            Value::Int(v) => {
                column.data = Data::Int(vec![*v; count]);
                column.len = count;
            }
            _ => (0..count).for_each(|_| column.push(value)),
        }
        column
    }

    /// Loads the values at some places, so that whoever uses them one after the other, much later each, does not wait for each by itself.
    pub fn load_ahead(&self, places: &[u32]) {
        macro_rules! touch {
            ($values:expr, $v:ident => $word:expr) => {{
                std::hint::black_box(places.iter().fold(0u64, |all, at| all ^ $values.get(*at as usize).map_or(0, |$v| $word)));
            }};
        }
        match &self.data {
            Data::Int(values) => touch!(values, v => *v as u64),
            Data::UInt(values) => touch!(values, v => *v),
            Data::Decimal(values, _) => touch!(values, v => *v as u64),
            Data::Bytes(strings) => strings.load_ahead(places),
            _ => {}
        }
    }

    /// Appends a value of another column.
    pub fn push_from(&mut self, from: &Column, at: usize) {
        if from.is_null(at) {
            return self.push_null();
        }
        match &from.data {
            Data::Bytes(s) => self.push_bytes(s.get(at)),
            Data::Int(v) => self.push_int(v[at]),
            _ => self.push(&from.value(at)),
        }
    }

    /// Appends the values of another column at some places.
    pub fn gather(&mut self, from: &Column, rows: impl Iterator<Item = usize> + Clone) {
        macro_rules! copy {
            ($to:expr, $values:expr) => {{
                let start = $to.len();
                $to.extend(rows.clone().map(|at| $values[at].clone()));
                self.len += $to.len() - start;
            }};
        }
        if self.len == 0 {
            // Takes over the type, so that the loops below are the usual case.
            self.become_like(from);
        }
        if from.has_nulls() {
            return rows.for_each(|at| self.push_from(from, at));
        }
        match (&mut self.data, &from.data) {
            (Data::Int(to), Data::Int(values)) => copy!(to, values),
            (Data::UInt(to), Data::UInt(values)) => copy!(to, values),
            (Data::Float(to), Data::Float(values)) => copy!(to, values),
            (Data::Double(to), Data::Double(values)) => copy!(to, values),
            (Data::Decimal(to, scale), Data::Decimal(values, own)) if scale == own => copy!(to, values),
            (Data::Date(to), Data::Date(values)) => copy!(to, values),
            (Data::Time(to), Data::Time(values)) => copy!(to, values),
            (Data::DateTime(to), Data::DateTime(values)) => copy!(to, values),
            (Data::Timestamp(to), Data::Timestamp(values)) => copy!(to, values),
            (Data::Values(to), Data::Values(values)) => copy!(to, values),
            (Data::Bytes(to), Data::Bytes(values)) => {
                let start = to.ends.len();
                for at in rows {
                    to.push(values.get(at));
                }
                self.len += to.ends.len() - start;
            }
            _ => rows.for_each(|at| self.push_from(from, at)),
        }
    }

    /// An empty column takes over another one's type; what is of that type already keeps its memory.
    fn become_like(&mut self, from: &Column) {
        if std::mem::discriminant(&self.data) != std::mem::discriminant(&from.data) || matches!(from.data, Data::Decimal(..)) {
            self.adopt(&from.data);
        }
    }

    /// Becomes an empty column of the same type.
    fn adopt(&mut self, data: &Data) {
        self.data = match data {
            Data::Untyped => Data::Untyped,
            Data::Int(_) => Data::Int(Vec::new()),
            Data::UInt(_) => Data::UInt(Vec::new()),
            Data::Float(_) => Data::Float(Vec::new()),
            Data::Double(_) => Data::Double(Vec::new()),
            Data::Decimal(_, scale) => match std::mem::take(&mut self.data) {
                Data::Decimal(mut values, _) => {
                    values.clear();
                    Data::Decimal(values, *scale)
                }
                _ => Data::Decimal(Vec::new(), *scale),
            },
            Data::Bytes(_) => Data::Bytes(Strings::default()),
            Data::Date(_) => Data::Date(Vec::new()),
            Data::Time(_) => Data::Time(Vec::new()),
            Data::DateTime(_) => Data::DateTime(Vec::new()),
            Data::Timestamp(_) => Data::Timestamp(Vec::new()),
            Data::Values(_) => Data::Values(Vec::new()),
        };
    }
}

/// Placeholders of NULLs, with room for the first values.
fn filled<T: Clone>(value: T, len: usize) -> Vec<T> {
    let mut values = Vec::with_capacity(len.max(16));
    values.resize(len, value);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[Value]) {
        let mut column = Column::new();
        for v in values {
            column.push(v);
        }
        let back: Vec<Value> = (0..column.len()).map(|at| column.value(at)).collect();
        assert_eq!(back, values);
        // Copied in reverse, and once more behind what is there.
        let mut copy = Column::new();
        copy.gather(&column, (0..values.len()).rev());
        copy.gather(&column, 0..values.len());
        let expect: Vec<Value> = values.iter().rev().chain(values).cloned().collect();
        assert_eq!((0..copy.len()).map(|at| copy.value(at)).collect::<Vec<_>>(), expect);
        // All of it once more.
        copy.append(&column).expect("room");
        let expect: Vec<Value> = expect.iter().chain(values).cloned().collect();
        assert_eq!((0..copy.len()).map(|at| copy.value(at)).collect::<Vec<_>>(), expect);
        let mut copy = Column::new();
        copy.append(&column).expect("room");
        copy.load_ahead(&(0..values.len() as u32).collect::<Vec<_>>());
        assert_eq!((0..copy.len()).map(|at| copy.value(at)).collect::<Vec<_>>(), values);
        // Used again for something else.
        copy.clear();
        copy.push_null();
        copy.push_bytes(b"x");
        assert_eq!((copy.value(0), copy.value(1)), (Value::Null, Value::from("x")));
    }

    #[test]
    fn strings_of_any_length_come_back() {
        let text: Vec<u8> = (0..100).collect();
        let texts: Vec<Value> = (0..100).map(|length| Value::from(&text[100 - length..])).collect();
        check(&texts);
        let mut column = Column::new();
        texts.iter().for_each(|text| column.push(text));
        let Data::Bytes(strings) = column.data() else { panic!("strings are strings") };
        for at in 0..100 {
            match strings.window::<32>(at) {
                Some((window, length)) => assert_eq!(&window[..length], strings.get(at)),
                None => assert!(at > 32 || strings.end(at).is_some_and(|end| end - at + 32 > strings.arena().len())),
            }
        }
    }

    #[test]
    fn holds_any_values() {
        let decimal = |n, scale| Value::Decimal(Decimal::new(n, scale));
        check(&[]);
        check(&[Value::Null, Value::Null]);
        check(&[Value::Int(1), Value::Null, Value::Int(-3)]);
        check(&[Value::Null, Value::from("abc"), Value::from(""), Value::Null]);
        check(&[Value::Int(1), Value::UInt(2), Value::Null, Value::from("x")]);
        check(&[decimal(150, 2), Value::Null, decimal(-1, 2)]);
        check(&[decimal(150, 2), decimal(1, 0)]);
        check(&[Value::Double(1.5), Value::Null, Value::Float(2.5)]);
        check(&[Value::Date(Date::from_fields(2024, 1, 2)), Value::Null]);
        check(&(0..200).map(|i| if i % 65 == 64 { Value::Null } else { Value::Int(i) }).collect::<Vec<_>>());
    }
}
