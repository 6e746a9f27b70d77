//! Which columns of a table something touches, in one word.

/// A set of columns by their positions. Those from the 64th on are one: it has all of them or none, so that it tells "perhaps" and never a wrong "no".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ColumnSet(u64);

impl ColumnSet {
    /// All columns.
    pub const ALL: ColumnSet = ColumnSet(u64::MAX);

    /// Whether some column may be in both.
    #[inline]
    pub fn meets(self, other: ColumnSet) -> bool {
        self.0 & other.0 != 0
    }
}

impl FromIterator<usize> for ColumnSet {
    fn from_iter<T: IntoIterator<Item = usize>>(columns: T) -> ColumnSet {
        ColumnSet(columns.into_iter().fold(0, |set, column| set | 1 << column.min(63)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(columns: &[usize]) -> ColumnSet {
        columns.iter().copied().collect()
    }

    #[test]
    fn sets_meet_where_they_share_a_column() {
        assert!(set(&[0, 5]).meets(set(&[5, 62])));
        assert!(!set(&[0, 5]).meets(set(&[1, 62])));
        assert!(!set(&[]).meets(ColumnSet::ALL));
        assert!(set(&[62]).meets(ColumnSet::ALL));
        // Far columns are not told apart.
        assert!(set(&[63]).meets(set(&[4000])));
        assert!(!set(&[62]).meets(set(&[63])));
    }
}
