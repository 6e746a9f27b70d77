//! Who holds what on one key.
//!
//! # Invariants
//! 1. An owner has one grant on a key at most; its parts are all that it was granted. A grant without parts is what remains when the
//!    record was removed: its owner's list still names the key.
//! 2. The counts are those of the grants. They answer "is anybody else in the way" without a look at the grants.

use crate::mode::{LockMode, Parts};
use crate::owner::Owner;
use crate::platform::Arc;
use smallvec::SmallVec;
use std::collections::HashMap;

/// Grants that are looked through one by one; with more there is an index.
const LISTED_MAX: usize = 16;

pub(crate) struct Grant {
    pub(crate) owner: Arc<Owner>,
    pub(crate) parts: Parts,
    /// Waiters of this key that [`Owner::waited_by`] counts for it.
    pub(crate) credit: u32,
}

/// The grants of a key.
#[derive(Default)]
pub(crate) struct Holders {
    grants: SmallVec<[Grant; 1]>,
    /// Positions by [`Owner::number`], when there are many.
    #[expect(clippy::box_collection, reason = "nearly every key has one holder: eight bytes instead of 32 in each")]
    positions: Option<Box<HashMap<u64, u32, foldhash::fast::FixedState>>>,
    readers: u32,
    writers: u32,
    gaps: u32,
}

/// What a change of an owner's parts did to the key's counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GapChange {
    Same,
    Locked,
    Unlocked,
}

impl Holders {
    pub(crate) fn is_empty(&self) -> bool {
        self.grants.is_empty()
    }

    pub(crate) fn grants(&self) -> &[Grant] {
        &self.grants
    }

    pub(crate) fn grants_mut(&mut self) -> &mut [Grant] {
        &mut self.grants
    }

    /// How many have the gap.
    pub(crate) fn gaps(&self) -> u32 {
        self.gaps
    }

    /// Whether anybody has the record.
    pub(crate) fn has_record_holder(&self) -> bool {
        self.readers + self.writers > 0
    }

    fn position(&self, owner: &Arc<Owner>) -> Option<usize> {
        match &self.positions {
            Some(positions) => positions.get(&owner.number()).map(|at| *at as usize),
            None => self.grants.iter().position(|grant| Arc::ptr_eq(&grant.owner, owner)),
        }
    }

    /// What an owner has; `None` when the key is not in its list.
    pub(crate) fn parts_of(&self, owner: &Arc<Owner>) -> Option<Parts> {
        self.position(owner).map(|at| self.grants[at].parts)
    }

    /// Whether an owner other than the one that has `own` is in the way of `mode`.
    pub(crate) fn others_block(&self, own: Parts, mode: LockMode) -> bool {
        if mode == LockMode::InsertIntention {
            return self.gaps > u32::from(own.has_gap());
        }
        if !mode.parts().has_record() {
            return false;
        }
        let own_writes = own.is_record_exclusive();
        let other_writers = self.writers - u32::from(own_writes);
        let other_readers = self.readers - u32::from(own.has_record() && !own_writes);
        other_writers > 0 || mode.is_record_exclusive() && other_readers > 0
    }

    fn count(&mut self, before: Parts, after: Parts) -> GapChange {
        let kind = |parts: Parts| (parts.has_record() && !parts.is_record_exclusive(), parts.is_record_exclusive());
        let ((read, wrote), (reads, writes)) = (kind(before), kind(after));
        self.readers = self.readers + u32::from(reads) - u32::from(read);
        self.writers = self.writers + u32::from(writes) - u32::from(wrote);
        match (before.has_gap(), after.has_gap()) {
            (false, true) => {
                self.gaps += 1;
                GapChange::Locked
            }
            (true, false) => {
                self.gaps -= 1;
                GapChange::Unlocked
            }
            _ => GapChange::Same,
        }
    }

    /// Gives an owner more. Returns whether it had no grant before.
    pub(crate) fn add(&mut self, owner: &Arc<Owner>, parts: Parts) -> (bool, GapChange) {
        match self.position(owner) {
            Some(at) => {
                let before = self.grants[at].parts;
                let after = before.with(parts);
                self.grants[at].parts = after;
                (false, self.count(before, after))
            }
            None => {
                let at = self.grants.len();
                self.grants.push(Grant { owner: Arc::clone(owner), parts, credit: 0 });
                match &mut self.positions {
                    Some(positions) => {
                        positions.insert(owner.number(), at as u32);
                    }
                    None if at >= LISTED_MAX => {
                        let positions = self.grants.iter().enumerate().map(|(at, grant)| (grant.owner.number(), at as u32));
                        self.positions = Some(Box::new(positions.collect()));
                    }
                    None => {}
                }
                (true, self.count(Parts::NONE, parts))
            }
        }
    }

    /// The first grant of a key that nobody has.
    #[inline]
    pub(crate) fn add_first(&mut self, owner: &Arc<Owner>, parts: Parts) -> GapChange {
        debug_assert!(self.grants.is_empty());
        self.grants.push(Grant { owner: Arc::clone(owner), parts, credit: 0 });
        let writes = parts.is_record_exclusive();
        self.writers = u32::from(writes);
        self.readers = u32::from(parts.has_record() && !writes);
        self.gaps = u32::from(parts.has_gap());
        if parts.has_gap() { GapChange::Locked } else { GapChange::Same }
    }

    /// Takes parts away from the grant at a position, which stays.
    pub(crate) fn reduce_at(&mut self, at: usize, parts: Parts) -> GapChange {
        let before = self.grants[at].parts;
        let after = before.without(parts);
        self.grants[at].parts = after;
        self.count(before, after)
    }

    /// Takes parts away from an owner's grant, which stays. `None` when it has none.
    pub(crate) fn reduce(&mut self, owner: &Arc<Owner>, parts: Parts) -> Option<GapChange> {
        self.position(owner).map(|at| self.reduce_at(at, parts))
    }

    /// Removes an owner's grant, if no other is there.
    #[inline]
    pub(crate) fn remove_only(&mut self, owner: &Arc<Owner>) -> Option<(Grant, GapChange)> {
        match &self.grants[..] {
            [only] if self.positions.is_none() && Arc::ptr_eq(&only.owner, owner) => {}
            _ => return None,
        }
        let grant = self.grants.pop()?;
        let change = if self.gaps > 0 { GapChange::Unlocked } else { GapChange::Same };
        (self.readers, self.writers, self.gaps) = (0, 0, 0);
        Some((grant, change))
    }

    /// Removes an owner's grant.
    pub(crate) fn remove(&mut self, owner: &Arc<Owner>) -> Option<(Grant, GapChange)> {
        let at = self.position(owner)?;
        let grant = self.grants.swap_remove(at);
        if let Some(positions) = &mut self.positions {
            positions.remove(&owner.number());
            if let Some(moved) = self.grants.get(at) {
                positions.insert(moved.owner.number(), at as u32);
            }
            if self.grants.is_empty() {
                self.positions = None;
            }
        }
        let change = self.count(grant.parts, Parts::NONE);
        Some((grant, change))
    }
}
