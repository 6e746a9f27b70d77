//! Who waits for one key, and who is next.
//!
//! # The order
//! Those who wait for the record are granted
//! 1. upgrades first: whoever waits for the record waits for the upgrade's owner anyway;
//! 2. then the waiter on whom most others wait ([`Owner::waited_by`]), if nothing stands in its way: the more it holds up, the sooner it is to end;
//! 3. otherwise, and whenever the oldest waiter has been overtaken [`OVERTAKEN_MAX`] times, by arrival.
//!
//! Those who wait to insert into the gap before the record stand in nobody's way and are granted by arrival, all together.
//!
//! Every operation costs in proportion to the logarithm of the number of waiters, and grants to those granted.

use crate::holders::Holders;
use crate::mode::{LockMode, Parts};
use crate::owner::Owner;
use crate::platform::Arc;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// How often the oldest waiter is overtaken before it is granted next, whatever the others hold up.
pub(crate) const OVERTAKEN_MAX: u32 = 32;

/// Weight of an upgrade: before all others.
const UPGRADE: u32 = u32::MAX;

pub(crate) struct Waiter {
    pub(crate) owner: Arc<Owner>,
    pub(crate) mode: LockMode,
    pub(crate) since: Instant,
    /// Place in `preferred`; 0 for none.
    weight: u32,
}

#[derive(Default)]
pub(crate) struct Queue {
    /// Those who wait for the record, by ticket: the order of arrival.
    records: BTreeMap<u64, Waiter>,
    /// Those of them who may be granted out of turn, the heaviest first.
    preferred: BTreeSet<(Reverse<u32>, u64)>,
    /// How many of them wait to have the record exclusively.
    exclusive: u32,
    /// How often the first of them was overtaken.
    overtaken: u32,
    /// Those who wait to insert before the record.
    inserters: BTreeMap<u64, Waiter>,
}

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.inserters.is_empty()
    }

    pub(crate) fn has_record_waiters(&self) -> bool {
        !self.records.is_empty()
    }

    /// Whether somebody waits to have the record exclusively.
    pub(crate) fn has_writers(&self) -> bool {
        self.exclusive > 0
    }

    /// In how many waiters' way `parts` are.
    pub(crate) fn waiting_for(&self, parts: Parts) -> usize {
        let records = match (parts.has_record(), parts.is_record_exclusive()) {
            (false, _) => 0,
            (true, false) => self.exclusive as usize,
            (true, true) => self.records.len(),
        };
        records + if parts.has_gap() { self.inserters.len() } else { 0 }
    }

    /// Whether a newcomer who asks for `mode` and has nothing of the record has to queue behind somebody.
    pub(crate) fn holds_back(&self, mode: LockMode) -> bool {
        match mode {
            LockMode::Exclusive | LockMode::ExclusiveNextKey => !self.records.is_empty(),
            LockMode::Shared | LockMode::SharedNextKey => self.exclusive > 0,
            LockMode::SharedGap | LockMode::ExclusiveGap | LockMode::InsertIntention => false,
        }
    }

    pub(crate) fn push(&mut self, ticket: u64, owner: &Arc<Owner>, mode: LockMode, upgrade: bool, since: Instant) {
        let weight = if upgrade { UPGRADE } else { owner.waited_by() };
        let waiter = Waiter { owner: Arc::clone(owner), mode, since, weight };
        let old = if mode == LockMode::InsertIntention {
            self.inserters.insert(ticket, waiter)
        } else {
            self.exclusive += u32::from(mode.is_record_exclusive());
            if weight > 0 {
                self.preferred.insert((Reverse(weight), ticket));
            }
            self.records.insert(ticket, waiter)
        };
        assert!(old.is_none(), "a ticket serves one wait");
    }

    pub(crate) fn get(&self, ticket: u64) -> Option<&Waiter> {
        self.records.get(&ticket).or_else(|| self.inserters.get(&ticket))
    }

    pub(crate) fn remove(&mut self, ticket: u64) -> Option<Waiter> {
        if let Some(waiter) = self.inserters.remove(&ticket) {
            return Some(waiter);
        }
        if self.records.first_key_value().is_some_and(|(first, _)| *first == ticket) {
            self.overtaken = 0;
        }
        let waiter = self.records.remove(&ticket)?;
        self.exclusive -= u32::from(waiter.mode.is_record_exclusive());
        if waiter.weight > 0 {
            self.preferred.remove(&(Reverse(waiter.weight), ticket));
        }
        Some(waiter)
    }

    /// Gives a waiter the weight that it has by now.
    pub(crate) fn reweigh(&mut self, ticket: u64) {
        let Some(waiter) = self.records.get_mut(&ticket) else { return };
        let weight = waiter.owner.waited_by();
        if waiter.weight == UPGRADE || waiter.weight == weight {
            return;
        }
        if waiter.weight > 0 {
            self.preferred.remove(&(Reverse(waiter.weight), ticket));
        }
        waiter.weight = weight;
        if weight > 0 {
            self.preferred.insert((Reverse(weight), ticket));
        }
    }

    /// A waiter's owner has the record already.
    pub(crate) fn make_upgrade(&mut self, ticket: u64) {
        let Some(waiter) = self.records.get_mut(&ticket) else { return };
        if waiter.weight > 0 {
            self.preferred.remove(&(Reverse(waiter.weight), ticket));
        }
        waiter.weight = UPGRADE;
        self.preferred.insert((Reverse(UPGRADE), ticket));
    }

    /// Takes out the next of those who wait for the record, if it can be granted now.
    pub(crate) fn next_record(&mut self, holders: &Holders) -> Option<Waiter> {
        let (&front, _) = self.records.first_key_value()?;
        if let Some(preferred) = self.heaviest() {
            let waiter = &self.records[&preferred];
            let upgrade = waiter.weight == UPGRADE;
            if upgrade || self.overtaken < OVERTAKEN_MAX {
                if can_be_granted(waiter, holders) {
                    if preferred != front && !upgrade {
                        self.overtaken += 1;
                    }
                    return self.remove(preferred);
                }
                if upgrade {
                    return None;
                }
            }
        }
        // Whatever stands in the way of the first stands in the way of all behind it, or they are in each other's way.
        if can_be_granted(&self.records[&front], holders) { self.remove(front) } else { None }
    }

    /// The ticket of the heaviest waiter. Weights fall unnoticed, and are set right here.
    fn heaviest(&mut self) -> Option<u64> {
        loop {
            let (Reverse(weight), ticket) = *self.preferred.first()?;
            if weight == UPGRADE || self.records[&ticket].owner.waited_by() >= weight {
                return Some(ticket);
            }
            self.reweigh(ticket);
        }
    }

    /// Takes out those who may insert before the record now.
    pub(crate) fn next_inserter(&mut self, holders: &Holders) -> Option<Waiter> {
        match holders.gaps() {
            0 => self.inserters.pop_first().map(|(_, waiter)| waiter),
            1 => {
                // The only one who has the gap may insert into it.
                let only = holders.grants().iter().find(|grant| grant.parts.has_gap())?;
                let wait = only.owner.waiting()?;
                let own = self.inserters.get(&wait.ticket).is_some_and(|waiter| Arc::ptr_eq(&waiter.owner, &only.owner));
                if own { self.inserters.remove(&wait.ticket) } else { None }
            }
            _ => None,
        }
    }

    /// Everybody, by arrival; those who wait for the record first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waiter> {
        self.records.values().chain(self.inserters.values())
    }

    /// Takes everybody out.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Waiter> {
        let all = std::mem::take(self);
        all.records.into_values().chain(all.inserters.into_values())
    }
}

fn can_be_granted(waiter: &Waiter, holders: &Holders) -> bool {
    let own = holders.parts_of(&waiter.owner).unwrap_or(Parts::NONE);
    !holders.others_block(own, waiter.mode)
}
