//! Ranges of memory-comparable keys.

use std::ops::Bound;

/// A range of keys: `lower <= key < upper`. An empty `upper` means no upper bound.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyRange {
    /// First key of the range, or a prefix of it.
    pub lower: Vec<u8>,
    /// First key beyond the range; empty for none.
    pub upper: Vec<u8>,
}

impl KeyRange {
    /// Every key.
    pub fn all() -> KeyRange {
        KeyRange::default()
    }

    /// Every key that starts with `prefix`.
    pub fn prefix(prefix: &[u8]) -> KeyRange {
        KeyRange { lower: prefix.to_vec(), upper: after_prefix(prefix) }
    }

    /// Whether no key can lie in the range.
    pub fn is_empty(&self) -> bool {
        !self.upper.is_empty() && self.lower >= self.upper
    }

    /// The upper end as a bound.
    #[inline]
    pub fn upper_bound(&self) -> Bound<&[u8]> {
        upper_bound(&self.upper)
    }

    /// Whether `key` lies below the upper bound.
    #[inline]
    pub fn below_upper(&self, key: &[u8]) -> bool {
        self.upper.is_empty() || key < self.upper.as_slice()
    }
}

/// The upper end of a range as a bound.
#[inline]
pub(crate) fn upper_bound(upper: &[u8]) -> Bound<&[u8]> {
    if upper.is_empty() { Bound::Unbounded } else { Bound::Excluded(upper) }
}

/// The smallest key greater than every key that starts with `prefix`; empty when there is none (all bytes 0xff).
pub fn after_prefix(prefix: &[u8]) -> Vec<u8> {
    let mut upper = Vec::with_capacity(prefix.len());
    put_after_prefix(prefix, &mut upper);
    upper
}

/// The same into an empty buffer.
#[inline]
pub(crate) fn put_after_prefix(prefix: &[u8], upper: &mut Vec<u8>) {
    if let Some(at) = prefix.iter().rposition(|byte| *byte < 0xff) {
        upper.extend_from_slice(&prefix[..at]);
        upper.push(prefix[at] + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_prefix_carries() {
        assert_eq!(after_prefix(&[1, 2]), [1, 3]);
        assert_eq!(after_prefix(&[1, 0xff]), [2]);
        assert_eq!(after_prefix(&[0xff, 0xff]), Vec::<u8>::new());
    }

    #[test]
    fn prefix_range_holds_its_extensions_only() {
        let range = KeyRange::prefix(&[5]);
        assert!(range.below_upper(&[5, 0xff, 0xff]));
        assert!(!range.below_upper(&[6]));
        assert!(!range.is_empty());
    }
}
