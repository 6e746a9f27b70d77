//! Join keys of several whole numbers, packed into one: it is hashed, kept and compared as a lone integer is.
//!
//! Each part has so many bits, by its place and how many there are; the last ones have more, since keys mostly lead with what has few values (a tenant, a
//! warehouse, a district). A key with a part that is no whole number, or has no room, stays bytes.
//!
//! # Invariants
//! 1. Whether a key is packed, and into what, follows from the values of its parts alone: both sides of a join come to the same, by rows and by chunks.
//! 2. Different keys of one join are packed into different numbers.

use crate::batch::column::Data;
use crate::batch::expression::Vector;

/// Bits of each part of a key of so many parts.
fn widths(parts: usize) -> Option<&'static [u32]> {
    Some(match parts {
        2 => &[32, 32],
        3 => &[16, 16, 32],
        4 => &[12, 12, 20, 20],
        _ => return None,
    })
}

/// The bits that do not fit, of a signed number of so many bits; and the number in as many.
#[inline(always)]
fn cut(value: i64, width: u32) -> (i64, i64) {
    let unused = 64 - width;
    ((value << unused >> unused) ^ value, value & (u64::MAX >> unused) as i64)
}

/// The key of a row, if it is packed.
#[inline]
pub(super) fn pack(parts: &[Vector<'_>], at: usize) -> Option<i64> {
    let mut packed = 0;
    for (part, width) in parts.iter().zip(widths(parts.len())?) {
        let (surplus, bits) = cut(part.integer(at)?, *width);
        if surplus != 0 {
            return None;
        }
        packed = packed << width | bits;
    }
    Some(packed)
}

/// The keys of all rows of a chunk of `len`, if they are packed and found out in loops.
pub(super) fn pack_all(parts: &[Vector<'_>], len: usize) -> Option<Vec<i64>> {
    let mut packed = vec![0; len];
    let mut surplus_of_all = 0;
    for (part, width) in parts.iter().zip(widths(parts.len())?) {
        match part.column() {
            None => {
                let (surplus, bits) = cut(part.integer(0)?, *width);
                surplus_of_all |= surplus;
                packed.iter_mut().for_each(|packed| *packed = *packed << width | bits);
            }
            Some(column) => {
                let Data::Int(values) = column.data() else { return None };
                if column.has_nulls() || values.len() < len {
                    return None;
                }
                for (packed, value) in packed.iter_mut().zip(values) {
                    let (surplus, bits) = cut(*value, *width);
                    surplus_of_all |= surplus;
                    *packed = *packed << width | bits;
                }
            }
        }
    }
    (surplus_of_all == 0).then_some(packed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::column::Column;
    use env::SplitMix64 as Random;
    use std::collections::HashMap;
    use types::{Decimal, Value};

    #[test]
    fn different_keys_are_packed_into_different_numbers() {
        let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_261_122);
        println!("SEED={seed}");
        let mut r = Random::new(seed);
        let (mut together, mut by_rows, mut not) = (0, 0, 0);
        for _ in 0..300 {
            let (count, rows) = (1 + r.below(5) as usize, 1 + r.below(60) as usize);
            let (bits, strange) = (r.pick(&[2, 11, 15, 31, 40]), r.below(3) == 0);
            let mut number = || {
                let n = r.below(1 << bits) as i64 - (1 << (bits - 1));
                match r.below(9) {
                    0 if strange => Value::Null,
                    1 if strange => Value::Decimal(Decimal::new(i128::from(n) * 10, 1)),
                    2 if strange => Value::Decimal(Decimal::new(i128::from(n) * 10 + 5, 1)),
                    _ => Value::Int(n),
                }
            };
            let columns: Vec<Column> = (0..count)
                .map(|_| {
                    let mut column = Column::new();
                    (0..rows).for_each(|_| column.push(&number()));
                    column
                })
                .collect();
            let mut parts: Vec<Vector<'_>> = columns.iter().map(Vector::Shared).collect();
            if r.below(4) == 0 {
                parts.push(Vector::Constant(Value::Int(r.below(1 << 11) as i64)));
            }
            let all = pack_all(&parts, rows);
            let mut seen: HashMap<i64, Vec<Value>> = HashMap::new();
            for at in 0..rows {
                let packed = pack(&parts, at);
                if let Some(all) = &all {
                    assert_eq!(Some(all[at]), packed);
                }
                let Some(packed) = packed else {
                    not += 1;
                    continue;
                };
                by_rows += 1;
                let key: Vec<Value> = parts.iter().filter_map(|part| part.integer(at)).map(Value::Int).collect();
                assert_eq!(key.len(), parts.len(), "a part that is no whole number has no place");
                assert_eq!(seen.entry(packed).or_insert_with(|| key.clone()), &key);
            }
            together += usize::from(all.is_some());
        }
        assert!(together > 30 && by_rows > 1_000 && not > 1_000, "{together} chunks, {by_rows} rows, {not} not packed");
    }
}
