//! Lock modes and which of them exclude each other.

/// How a key is locked.
///
/// Gap, next-key and insert-intention modes are to join: every rule below is a table lookup over sets of modes, so they need a
/// line in each table and nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum LockMode {
    /// The record, against writers.
    Shared = 0,
    /// The record, against everybody.
    Exclusive = 1,
}

/// A set of modes, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ModeSet(u8);

impl ModeSet {
    /// Modes there are.
    const ALL: ModeSet = ModeSet(0b11);

    pub(crate) fn add(&mut self, mode: LockMode) {
        self.0 |= 1 << mode as u8;
    }

    /// Whether nothing can be granted beside these modes.
    pub(crate) fn excludes_all(self) -> bool {
        [LockMode::Shared, LockMode::Exclusive].iter().all(|mode| mode.conflicts_any(self))
    }
}

impl LockMode {
    const fn conflicts(self) -> ModeSet {
        match self {
            LockMode::Shared => ModeSet(1 << LockMode::Exclusive as u8),
            LockMode::Exclusive => ModeSet::ALL,
        }
    }

    /// Whether two owners cannot have these at once.
    pub(crate) const fn conflicts_with(self, other: LockMode) -> bool {
        self.conflicts().0 & 1 << other as u8 != 0
    }

    /// Whether this cannot be had beside any one of `others`.
    pub(crate) const fn conflicts_any(self, others: ModeSet) -> bool {
        self.conflicts().0 & others.0 != 0
    }

    /// Whether an owner of `self` needs nothing more for `other`.
    pub(crate) const fn covers(self, other: LockMode) -> bool {
        matches!((self, other), (LockMode::Exclusive, _) | (LockMode::Shared, LockMode::Shared))
    }

    /// As `performance_schema.data_locks` spells it.
    pub const fn name(self) -> &'static str {
        match self {
            LockMode::Shared => "S,REC_NOT_GAP",
            LockMode::Exclusive => "X,REC_NOT_GAP",
        }
    }
}
