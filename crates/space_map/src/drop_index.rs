//! Freeing all pages of an index.
//!
//! Its pages are nobody's as soon as the log says so, and are given out once that is durable. Nobody waits for that, unless there are many: they are kept
//! ([`Freed`]) until who frees the next index, or the engine's background, finds that the log is durable by then.

use base::{EXTENT_PAGES, IndexId, Lsn, PageNo};
use buffer_pool::{Mtr, PoolError};
use std::collections::VecDeque;
use sync::atomic::Ordering;

use crate::error::SpaceError;
use crate::layout::{Change, REGION_EXTENTS, first_page, map_page, region_of};
use crate::map::{SpaceMap, run};

/// Extents of one mini-transaction.
const EXTENTS_PER_MTR: usize = 16;
/// Extents that one sync of the log is waited for, at most, before their pages go: what is freed and cannot be used yet.
const EXTENTS_PER_WAIT: usize = 1024;
/// Pages that are kept without a wait, at most: 4 MiB, by which the file grows instead.
const PAGES_KEPT: u64 = 256;

/// Pages of an extent, as bits.
type Pages = (u64, u64);

/// What nobody owns any more and is not given out yet.
#[derive(Default)]
struct Disowned {
    extents: Vec<Pages>,
    /// The log says so up to here.
    end: Lsn,
}

impl Disowned {
    fn pages(&self) -> u64 {
        self.extents.iter().map(|(_, set)| u64::from(set.count_ones())).sum()
    }
}

/// Pages of dropped indexes that are given out once the log is durable.
#[derive(Default)]
pub(crate) struct Freed {
    /// About in the order of the log.
    batches: VecDeque<Disowned>,
    pages: u64,
}

impl Freed {
    fn keep(&mut self, disowned: Disowned) {
        if !disowned.extents.is_empty() {
            self.pages += disowned.pages();
            self.batches.push_back(disowned);
        }
    }

    /// The first batch, if the log is durable as far as it says, or `anyway`.
    fn take(&mut self, durable: Lsn, anyway: bool) -> Option<Disowned> {
        let disowned = self.batches.pop_front_if(|first| anyway || first.end <= durable)?;
        self.pages -= disowned.pages();
        Some(disowned)
    }
}

impl SpaceMap {
    /// Frees all pages of an index that nobody uses any more (the catalogue's record of its drop is in the log), in several mini-transactions. A crash in between
    /// leaves it an owner of fewer pages; call again. Called with no latch held. Returns how many pages were freed.
    pub fn free_index(&self, owner: IndexId) -> Result<u64, SpaceError> {
        self.free_indexes(&[owner])
    }

    /// [`SpaceMap::free_index`] of several. Their pages can be had once the log is durable, which is waited for only where they are many, or the disk was full.
    pub fn free_indexes(&self, owners: &[IndexId]) -> Result<u64, SpaceError> {
        self.read_all()?;
        let (mut freed, mut disowned, mut outcome) = (0, Disowned::default(), Ok(()));
        for &owner in owners {
            while outcome.is_ok() {
                match self.disown_some(owner, &mut disowned) {
                    Ok(0) => break,
                    Ok(pages) => {
                        freed += pages;
                        if disowned.extents.len() >= EXTENTS_PER_WAIT {
                            outcome = self.let_go(std::mem::take(&mut disowned));
                        }
                    }
                    Err(error) => outcome = Err(error),
                }
            }
        }
        // Also after an error: what has been taken from its owner is nobody's.
        let are_many = {
            let mut kept = self.freed.lock();
            kept.keep(disowned);
            kept.pages > PAGES_KEPT
        };
        // Who is out of room finds it when a drop returns.
        let waits = self.was_full.swap(false, Ordering::Relaxed) || are_many;
        outcome.and(self.give_out_freed(waits)).map(|()| freed)
    }

    /// Gives the pages of dropped indexes to those who look for room, as far as the log is durable; all of them if it `waits` for that. Called with no latch held.
    pub fn give_out_freed(&self, waits: bool) -> Result<(), SpaceError> {
        let mut outcome = Ok(());
        loop {
            let durable = self.pool.wal().durable();
            let Some(disowned) = self.freed.lock().take(durable, waits) else { return outcome };
            outcome = outcome.and(self.let_go(disowned));
        }
    }

    /// Logs that the pages of some extents of one region are nobody's; how many, 0 when the owner has none left.
    fn disown_some(&self, owner: IndexId, disowned: &mut Disowned) -> Result<u64, SpaceError> {
        let chosen = self.some_extents(owner);
        let Some(&(extent, _)) = chosen.first() else { return Ok(0) };
        let region = region_of(extent);
        self.pool.wal().ensure_space().map_err(PoolError::Wal)?;
        let mut mtr = Mtr::begin(&self.pool);
        let map = mtr.latch(map_page(region))?;
        {
            let mut index = self.index.lock();
            for &(extent, set) in &chosen {
                let kind = index.kind_after(extent, set);
                for (first, count) in runs(set) {
                    let slot = (extent % REGION_EXTENTS) as u8;
                    Change { slot, kind, first, count, owner: IndexId::NONE }.make(&mut mtr, map);
                }
                index.give_back(extent, set, owner, true);
            }
        }
        disowned.end = mtr.commit();
        disowned.extents.extend(&chosen);
        Ok(chosen.iter().map(|(_, set)| u64::from(set.count_ones())).sum())
    }

    /// Gives pages out once the log is durable.
    fn let_go(&self, disowned: Disowned) -> Result<(), SpaceError> {
        let Disowned { extents: chosen, end } = disowned;
        // Before the content goes: were a record lost, its index would own pages that are no more.
        self.pool.wal().wait_durable(end).map_err(PoolError::Wal)?;
        let mut outcome = Ok(());
        for &(extent, set) in &chosen {
            for (first, count) in runs(set) {
                let page = PageNo(first_page(extent).0 + u64::from(first));
                outcome = outcome.and(self.pool.discard(page, u64::from(count)));
                outcome = outcome.and(self.pool.store().punch(page, u64::from(count)).map_err(PoolError::Store));
            }
        }
        chosen.iter().for_each(|(extent, _)| self.backed.lock().punched(*extent));
        let mut index = self.index.lock();
        for &(extent, set) in &chosen {
            index.open_up(extent, set);
        }
        Ok(outcome?)
    }

    /// Some extents of the owner, all in one region, with its pages in each.
    fn some_extents(&self, owner: IndexId) -> Vec<Pages> {
        let index = self.index.lock();
        let Some(known) = index.owner(owner) else { return Vec::new() };
        let own = known.extents.iter().map(|&extent| (extent, index.extent(extent).map_or(0, |info| info.used)));
        let mut all = own.chain(known.mixed.iter().map(|(&extent, &set)| (extent, set))).filter(|&(_, set)| set != 0);
        let Some(first) = all.next() else { return Vec::new() };
        let same_region = all.filter(|&(extent, _)| region_of(extent) == region_of(first.0));
        std::iter::once(first).chain(same_region).take(EXTENTS_PER_MTR).collect()
    }
}

/// The runs of consecutive pages in a set: first and count.
fn runs(mut set: u64) -> impl Iterator<Item = (u8, u8)> {
    std::iter::from_fn(move || {
        if set == 0 {
            return None;
        }
        let first = set.trailing_zeros();
        let count = (set >> first).trailing_ones();
        debug_assert!(u64::from(first + count) <= EXTENT_PAGES);
        set &= !run(first as u8, count as u8);
        Some((first as u8, count as u8))
    })
}

#[cfg(test)]
mod tests {
    use super::runs;

    #[test]
    fn runs_cover_the_set() {
        assert_eq!(runs(u64::MAX).collect::<Vec<_>>(), [(0, 64)]);
        assert_eq!(runs(0).count(), 0);
        assert_eq!(runs(0b1_0110 | 1 << 63).collect::<Vec<_>>(), [(1, 2), (4, 1), (63, 1)]);
    }
}
