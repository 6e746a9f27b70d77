//! Hash keys of rows whose key parts are vectors.

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
