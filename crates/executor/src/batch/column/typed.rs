//! Many values appended at once: of one type, or all of another column.

use super::{Column, Data};
use ::memory::Excess;
use types::{Date, DateTime, Decimal, Time, Timestamp, Value};

/// A type of values that take the same room each, and have a vector of their own in a column.
pub trait Fixed: Default {
    /// Appends values.
    fn extend(column: &mut Column, values: impl ExactSizeIterator<Item = Self>);
}

macro_rules! fixed {
    ($($ty:ty, $variant:ident;)*) => {
        $(impl Fixed for $ty {
            #[inline(always)]
            fn extend(column: &mut Column, values: impl ExactSizeIterator<Item = $ty>) {
                if column.nulls.count == column.len && !matches!(column.data, Data::$variant(_)) {
                    column.retype(&Value::$variant(<$ty>::default()));
                }
                match &mut column.data {
                    Data::$variant(to) => {
                        column.len += values.len();
                        to.extend(values);
                    }
                    _ => values.for_each(|value| column.push_other(Value::$variant(value))),
                }
            }
        })*
    };
}

fixed! {
    i64, Int;
    u64, UInt;
    f32, Float;
    f64, Double;
    Date, Date;
    Time, Time;
    DateTime, DateTime;
    Timestamp, Timestamp;
}

impl Column {
    /// Appends decimals of one scale, as their unscaled numbers.
    #[inline(always)]
    pub fn extend_decimals(&mut self, scale: u8, values: impl ExactSizeIterator<Item = i128>) {
        if self.nulls.count == self.len && !matches!(&self.data, Data::Decimal(_, own) if *own == scale) {
            self.retype(&Value::Decimal(Decimal::new(0, scale)));
        }
        match &mut self.data {
            Data::Decimal(to, own) if *own == scale => {
                self.len += values.len();
                to.extend(values);
            }
            _ => values.for_each(|value| self.push_decimal(Decimal::new(value, scale))),
        }
    }
}

impl Column {
    /// Appends all values of another column.
    pub fn append(&mut self, from: &Column) -> Result<(), Excess> {
        if self.len == 0 {
            self.become_like(from);
        }
        let text_bytes = if let Data::Bytes(strings) = &from.data { strings.bytes.len() } else { 0 };
        self.reserve(from.len, text_bytes)?;
        match (&mut self.data, &from.data) {
            (Data::Bytes(to), Data::Bytes(strings)) if !from.has_nulls() => {
                let start = to.bytes.len();
                to.bytes.extend_from_slice(&strings.bytes);
                to.ends.extend(strings.ends.iter().map(|end| start + end));
                self.len += from.len;
            }
            _ => self.gather(from, 0..from.len),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_extended_is_what_is_pushed() {
        let mut column = Column::new();
        i64::extend(&mut column, [1, -2].into_iter());
        column.push_null();
        i64::extend(&mut column, [3].into_iter());
        assert!(matches!(column.data(), Data::Int(_)));
        // Another type behind it makes plain values of all.
        u64::extend(&mut column, [4].into_iter());
        column.extend_decimals(2, [5, 6].into_iter());
        let decimal = |n| Value::Decimal(Decimal::new(n, 2));
        let expect = [Value::Int(1), Value::Int(-2), Value::Null, Value::Int(3), Value::UInt(4), decimal(5), decimal(6)];
        assert_eq!((0..column.len()).map(|at| column.value(at)).collect::<Vec<_>>(), expect);
        // NULLs alone take any type; so does what was forgotten.
        column.clear();
        column.push_null();
        column.extend_decimals(3, [7].into_iter());
        assert_eq!((column.value(0), column.value(1)), (Value::Null, Value::Decimal(Decimal::new(7, 3))));
        column.clear();
        column.extend_decimals(1, [8].into_iter());
        assert!(matches!(column.data(), Data::Decimal(values, 1) if values == &[8]));
    }
}
