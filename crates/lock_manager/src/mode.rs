//! Lock modes: what each takes hold of, and what stands in its way.
//!
//! A mode is a set of *parts*: the record or the gap before it, each shared or exclusive, or the intention to insert into that gap. What an owner
//! has on a key is the union of the parts it was granted. Which parts of others are in the way of a mode is one mask, so every rule
//! is an `and` of two bytes:
//!
//! | asked for | in its way, of another owner |
//! |---|---|
//! | record, shared | record, exclusive |
//! | record, exclusive | record, shared or exclusive |
//! | gap | nothing: gap locks hold only insertions back |
//! | insert intention | gap, shared or exclusive |
//! | next-key | as record; its gap part is granted at once |

/// How a key is locked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum LockMode {
    /// The record, against writers.
    Shared,
    /// The record, against everybody.
    Exclusive,
    /// The gap before the record, against insertions.
    SharedGap,
    /// The same; it differs by its name only.
    ExclusiveGap,
    /// The record against writers, and the gap before it.
    SharedNextKey,
    /// The record against everybody, and the gap before it.
    ExclusiveNextKey,
    /// To insert into the gap before the record: waits for gap locks of others, and is in nobody's way.
    InsertIntention,
}

/// Parts of a key that somebody has, or asks for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Parts(u8);

impl Parts {
    pub(crate) const NONE: Parts = Parts(0);
    /// The record, shared or exclusive.
    pub(crate) const RECORD: Parts = Parts(0b0_0001);
    const RECORD_EXCLUSIVE: Parts = Parts(0b0_0011);
    /// The gap, shared or exclusive.
    pub(crate) const GAP: Parts = Parts(0b0_0100);
    const GAP_EXCLUSIVE: Parts = Parts(0b0_1100);
    pub(crate) const INTENTION: Parts = Parts(0b1_0000);
    /// The record, exclusive, noted for the writer of its row ([`Parts::implicit`]).
    const IMPLICIT: Parts = Parts(0b10_0000);
    const ALL_OF_RECORD: Parts = Parts::RECORD_EXCLUSIVE;
    const ALL_OF_GAP: Parts = Parts::GAP_EXCLUSIVE;

    pub(crate) const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The record, exclusive, as others note it for a running transaction that has written the row. That may put an older version back, and
    /// then this is no lock any more, while somebody else may have been granted one: it counts once its owner has asked for it.
    pub(crate) const fn implicit() -> Parts {
        Parts(Parts::RECORD_EXCLUSIVE.0 | Parts::IMPLICIT.0)
    }

    /// Whether the record was noted, and not asked for since.
    pub(crate) const fn is_implicit(self) -> bool {
        self.0 & Parts::IMPLICIT.0 != 0
    }

    #[must_use]
    pub(crate) const fn with(self, other: Parts) -> Parts {
        let both = Parts(self.0 | other.0);
        let asked_for = self.is_asked_for() || other.is_asked_for();
        if asked_for { Parts(both.0 & !Parts::IMPLICIT.0) } else { both }
    }

    const fn is_asked_for(self) -> bool {
        self.is_record_exclusive() && !self.is_implicit()
    }

    #[must_use]
    pub(crate) const fn without(self, other: Parts) -> Parts {
        let rest = Parts(self.0 & !other.0);
        if rest.is_record_exclusive() { rest } else { Parts(rest.0 & !Parts::IMPLICIT.0) }
    }

    pub(crate) const fn has_all(self, other: Parts) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) const fn has_record(self) -> bool {
        self.0 & Parts::RECORD.0 != 0
    }

    pub(crate) const fn is_record_exclusive(self) -> bool {
        self.has_all(Parts::RECORD_EXCLUSIVE)
    }

    pub(crate) const fn has_gap(self) -> bool {
        self.0 & Parts::GAP.0 != 0
    }

    /// The gap part alone.
    pub(crate) const fn gap(self) -> Parts {
        Parts(self.0 & Parts::ALL_OF_GAP.0)
    }

    /// What remains of a lock when its record is removed: the gap that the record leaves is as strongly locked as the record was.
    pub(crate) const fn as_gap(self) -> Parts {
        let record = (self.0 & Parts::ALL_OF_RECORD.0) << 2;
        Parts(record | self.0 & Parts::ALL_OF_GAP.0)
    }

    /// The modes that make these parts up, as few as can be.
    pub(crate) fn modes(self) -> impl Iterator<Item = LockMode> {
        let record = match (self.has_record(), self.is_record_exclusive()) {
            (false, _) => None,
            (true, false) => Some(LockMode::Shared),
            (true, true) => Some(LockMode::Exclusive),
        };
        let gap = match (self.has_gap(), self.has_all(Parts::GAP_EXCLUSIVE)) {
            (false, _) => None,
            (true, false) => Some(LockMode::SharedGap),
            (true, true) => Some(LockMode::ExclusiveGap),
        };
        let (record, gap) = match (record, gap) {
            (Some(LockMode::Shared), Some(LockMode::SharedGap)) => (Some(LockMode::SharedNextKey), None),
            (Some(LockMode::Exclusive), Some(LockMode::ExclusiveGap)) => (Some(LockMode::ExclusiveNextKey), None),
            apart => apart,
        };
        let intention = self.has_all(Parts::INTENTION).then_some(LockMode::InsertIntention);
        record.into_iter().chain(gap).chain(intention)
    }
}

impl LockMode {
    /// Every mode.
    pub const ALL: [LockMode; 7] = [
        LockMode::Shared,
        LockMode::Exclusive,
        LockMode::SharedGap,
        LockMode::ExclusiveGap,
        LockMode::SharedNextKey,
        LockMode::ExclusiveNextKey,
        LockMode::InsertIntention,
    ];

    pub(crate) const fn parts(self) -> Parts {
        match self {
            LockMode::Shared => Parts::RECORD,
            LockMode::Exclusive => Parts::RECORD_EXCLUSIVE,
            LockMode::SharedGap => Parts::GAP,
            LockMode::ExclusiveGap => Parts::GAP_EXCLUSIVE,
            LockMode::SharedNextKey => Parts::RECORD.with(Parts::GAP),
            LockMode::ExclusiveNextKey => Parts::RECORD_EXCLUSIVE.with(Parts::GAP_EXCLUSIVE),
            LockMode::InsertIntention => Parts::INTENTION,
        }
    }

    /// Whether it asks for the record exclusively.
    pub(crate) const fn is_record_exclusive(self) -> bool {
        self.parts().is_record_exclusive()
    }

    /// Whether it takes hold of the gap before the record.
    pub const fn has_gap(self) -> bool {
        self.parts().has_gap()
    }

    /// Whether somebody who has `held` is in the way of another owner who asks for this mode.
    pub const fn waits_for(self, held: LockMode) -> bool {
        self.blocked_by(held.parts())
    }

    /// The same for parts.
    pub(crate) const fn blocked_by(self, held: Parts) -> bool {
        let mask = match self {
            LockMode::Shared | LockMode::SharedNextKey => 0b0_0010,
            LockMode::Exclusive | LockMode::ExclusiveNextKey => Parts::RECORD.0,
            LockMode::SharedGap | LockMode::ExclusiveGap => 0,
            LockMode::InsertIntention => Parts::GAP.0,
        };
        held.0 & mask != 0
    }

    /// The mode for the gap alone, where this one takes the gap and a record.
    #[must_use]
    pub const fn gap_only(self) -> LockMode {
        match self {
            LockMode::Shared | LockMode::SharedNextKey | LockMode::SharedGap => LockMode::SharedGap,
            LockMode::Exclusive | LockMode::ExclusiveNextKey | LockMode::ExclusiveGap => LockMode::ExclusiveGap,
            LockMode::InsertIntention => LockMode::InsertIntention,
        }
    }

    /// The mode for the record alone, where this one takes the gap, too.
    #[must_use]
    pub const fn record_only(self) -> LockMode {
        match self {
            LockMode::Shared | LockMode::SharedNextKey | LockMode::SharedGap => LockMode::Shared,
            LockMode::Exclusive | LockMode::ExclusiveNextKey | LockMode::ExclusiveGap => LockMode::Exclusive,
            LockMode::InsertIntention => LockMode::InsertIntention,
        }
    }

    /// The mode for the record and the gap before it, as strong as this one.
    #[must_use]
    pub const fn next_key(self) -> LockMode {
        match self {
            LockMode::Shared | LockMode::SharedNextKey | LockMode::SharedGap => LockMode::SharedNextKey,
            LockMode::Exclusive | LockMode::ExclusiveNextKey | LockMode::ExclusiveGap => LockMode::ExclusiveNextKey,
            LockMode::InsertIntention => LockMode::InsertIntention,
        }
    }

    /// As `performance_schema.data_locks` spells it, for a record. (For the end of an index see [`crate::LockInfo::mode_name`].)
    pub const fn name(self) -> &'static str {
        match self {
            LockMode::Shared => "S,REC_NOT_GAP",
            LockMode::Exclusive => "X,REC_NOT_GAP",
            LockMode::SharedGap => "S,GAP",
            LockMode::ExclusiveGap => "X,GAP",
            LockMode::SharedNextKey => "S",
            LockMode::ExclusiveNextKey => "X",
            LockMode::InsertIntention => "X,GAP,INSERT_INTENTION",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table in the module's documentation, by names.
    fn in_the_way(asked: LockMode, held: LockMode) -> bool {
        let record = |mode: LockMode| !mode.name().contains("GAP") || mode.name().contains("NOT_GAP");
        let gap = |mode: LockMode| !mode.name().contains("INTENTION") && !mode.name().contains("REC_NOT_GAP");
        if asked == LockMode::InsertIntention {
            return gap(held);
        }
        record(asked) && record(held) && (asked.name().starts_with('X') || held.name().starts_with('X'))
    }

    #[test]
    fn modes_wait_for_each_other_as_the_table_says() {
        for asked in LockMode::ALL {
            for held in LockMode::ALL {
                assert_eq!(asked.waits_for(held), in_the_way(asked, held), "{} against {}", asked.name(), held.name());
            }
        }
    }

    #[test]
    fn parts_are_spelled_by_the_fewest_modes() {
        let spelled = |parts: Parts| parts.modes().map(LockMode::name).collect::<Vec<_>>().join(" + ");
        for mode in LockMode::ALL {
            assert_eq!(spelled(mode.parts()), mode.name());
        }
        assert_eq!(spelled(LockMode::Exclusive.parts().with(LockMode::SharedGap.parts())), "X,REC_NOT_GAP + S,GAP");
        assert_eq!(spelled(LockMode::SharedNextKey.parts().with(LockMode::ExclusiveNextKey.parts())), "X");
        assert_eq!(spelled(Parts::NONE), "");
    }

    #[test]
    fn what_was_noted_for_a_writer_is_so_until_it_asks() {
        let noted = LockMode::Shared.parts().with(Parts::implicit()).with(LockMode::ExclusiveGap.parts());
        assert!(noted.is_implicit() && noted.is_record_exclusive());
        assert!(!noted.with(LockMode::Exclusive.parts()).is_implicit());
        assert!(!LockMode::Exclusive.parts().with(Parts::implicit()).is_implicit());
        assert_eq!(noted.without(LockMode::Exclusive.parts()), LockMode::ExclusiveGap.parts());
        assert!(Parts::implicit().without(LockMode::Exclusive.parts()).is_none());
    }

    #[test]
    fn a_removed_record_leaves_a_gap_as_strongly_locked() {
        assert_eq!(LockMode::Shared.parts().as_gap(), LockMode::SharedGap.parts());
        assert_eq!(LockMode::ExclusiveNextKey.parts().as_gap(), LockMode::ExclusiveGap.parts());
        assert_eq!(LockMode::InsertIntention.parts().as_gap(), Parts::NONE);
    }
}
