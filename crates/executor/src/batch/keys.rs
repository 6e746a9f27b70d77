//! Hash keys of rows whose key parts are vectors.

use crate::batch::expression::Vector;
use crate::hash_key::{self, Key};
use types::Collation;

/// The key of a row: a lone integer as itself, all else as bytes in `buffer`. Equal to what `hash_key::lone_key` and `hash_key::append` give for
/// the row's values.
#[inline]
pub fn key_at<'k>(parts: &[Vector<'_>], collations: &[Collation], at: usize, buffer: &'k mut Vec<u8>) -> Key<'k> {
    if let [part] = parts
        && let Some(integer) = part.integer(at)
    {
        return Key::Int(integer);
    }
    buffer.clear();
    for (part, collation) in parts.iter().zip(collations) {
        append(part, at, *collation, buffer);
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
