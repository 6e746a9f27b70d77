//! Hash keys of rows whose key parts are vectors.

use crate::batch::column::{Column, Data};
use crate::batch::expression::Vector;
use crate::hash_key::{self, Key};
use types::Collation;

/// A part of a key; what else comes with it is the caller's.
pub trait Part<'c> {
    /// Its values.
    fn vector(&self) -> &Vector<'c>;
}

impl<'c> Part<'c> for Vector<'c> {
    #[inline]
    fn vector(&self) -> &Vector<'c> {
        self
    }
}

impl<'c, T> Part<'c> for (T, Vector<'c>) {
    #[inline]
    fn vector(&self) -> &Vector<'c> {
        &self.1
    }
}

/// Keys that are integers, none of them NULL: which rows have the same is seen without making keys of them. Rows often come in runs, when what they are
/// put together by leads the index that they are read in.
pub struct Integers<'v> {
    parts: Vec<&'v [i64]>,
}

impl<'v> Integers<'v> {
    /// `None` of other keys.
    pub fn of<'c>(parts: &'v [impl Part<'c>]) -> Option<Integers<'v>>
    where
        'c: 'v,
    {
        let mut out = Vec::with_capacity(parts.len());
        for part in parts {
            match part.vector() {
                // The same for all rows.
                Vector::Constant(_) => {}
                vector => match vector.column().map(Column::data) {
                    Some(Data::Int(values)) if !vector.has_nulls() => out.push(values.as_slice()),
                    _ => return None,
                },
            }
        }
        Some(Integers { parts: out })
    }

    /// Whether two rows have the same key.
    #[inline]
    pub fn are_same(&self, a: usize, b: usize) -> bool {
        self.parts.iter().all(|values| values[a] == values[b])
    }
}

/// The key of a row: a lone integer as itself, all else as bytes in `buffer`. Equal to what `hash_key::lone_key` and `hash_key::append` give for
/// the row's values.
#[inline]
pub fn key_at<'k, 'c>(parts: &[impl Part<'c>], collations: &[Collation], at: usize, buffer: &'k mut Vec<u8>) -> Key<'k> {
    if let [part] = parts
        && let Some(integer) = part.vector().integer(at)
    {
        return Key::Int(integer);
    }
    buffer.clear();
    for (part, collation) in parts.iter().zip(collations) {
        append(part.vector(), at, *collation, buffer);
    }
    Key::Bytes(buffer)
}

/// Appends one part.
#[inline]
pub fn append(part: &Vector<'_>, at: usize, collation: Collation, out: &mut Vec<u8>) {
    match part.column() {
        Some(column) => column.append_key(at, collation, out),
        None => hash_key::append(&part.value(at), collation, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::SplitMix64 as Random;
    use types::Value;

    #[test]
    fn rows_are_the_same_whose_keys_are() {
        let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(7);
        println!("SEED={seed}");
        let mut r = Random::new(seed);
        let (mut told, mut not_told) = (0, 0);
        for _ in 0..500 {
            let rows = 1 + r.below(20) as usize;
            let strange = r.below(3) == 0;
            let columns: Vec<Column> = (0..1 + r.below(3))
                .map(|_| {
                    let mut column = Column::new();
                    for _ in 0..rows {
                        match r.below(8) {
                            0 if strange => column.push_null(),
                            1 if strange => column.push(&Value::from("7")),
                            _ => column.push_int(r.below(3) as i64 * r.pick(&[1, 1 << 40])),
                        }
                    }
                    column
                })
                .collect();
            let mut parts: Vec<Vector<'_>> = columns.iter().map(Vector::Shared).collect();
            if r.below(4) == 0 {
                parts.push(Vector::Constant(Value::from("x")));
            }
            let collations = vec![Collation::DEFAULT; parts.len()];
            let key = |at: usize| format!("{:?}", key_at(&parts, &collations, at, &mut Vec::new()));
            let Some(integers) = Integers::of(&parts) else {
                not_told += 1;
                continue;
            };
            told += 1;
            for a in 0..rows {
                for b in 0..rows {
                    assert_eq!(integers.are_same(a, b), key(a) == key(b), "{columns:?}, rows {a} and {b}");
                }
            }
        }
        assert!(told > 100 && not_told > 100, "{told} told, {not_told} not");
    }
}
