//! Freeing all pages of an index.

use base::{EXTENT_PAGES, IndexId, Lsn, PageNo};
use buffer_pool::{Mtr, PoolError};

use crate::error::SpaceError;
use crate::layout::{Change, REGION_EXTENTS, first_page, map_page, region_of};
use crate::map::{SpaceMap, run};

/// Extents of one mini-transaction.
const EXTENTS_PER_MTR: usize = 16;
/// Extents that wait for one sync of the log, at most, before their pages go: what is freed and cannot be used yet.
const EXTENTS_PER_WAIT: usize = 1024;

/// Pages of an extent, as bits.
type Pages = (u64, u64);

/// What nobody owns any more and is not given out yet.
#[derive(Default)]
struct Waiting {
    extents: Vec<Pages>,
    /// The log says so up to here.
    end: Lsn,
}

impl SpaceMap {
    /// Frees all pages of an index that nobody uses any more (the catalogue's record of its drop is durable), in several mini-transactions. A crash in between
    /// leaves it an owner of fewer pages; call again. Called with no latch held. Returns how many pages were freed.
    pub fn free_index(&self, owner: IndexId) -> Result<u64, SpaceError> {
        self.free_indexes(&[owner])
    }

    /// [`SpaceMap::free_index`] of several, with one wait for the log unless they are large.
    pub fn free_indexes(&self, owners: &[IndexId]) -> Result<u64, SpaceError> {
        self.read_all()?;
        let (mut freed, mut waiting, mut outcome) = (0, Waiting::default(), Ok(()));
        for &owner in owners {
            while outcome.is_ok() {
                match self.disown_some(owner, &mut waiting) {
                    Ok(true) if waiting.extents.len() < EXTENTS_PER_WAIT => {}
                    Ok(true) => outcome = self.let_go(&mut waiting).map(|pages| freed += pages),
                    Ok(false) => break,
                    Err(error) => outcome = Err(error),
                }
            }
        }
        // Also after an error: what has been taken from its owner is nobody's.
        freed += self.let_go(&mut waiting)?;
        outcome.map(|()| freed)
    }

    /// Logs that the pages of some extents of one region are nobody's; `false` when the owner has none left.
    fn disown_some(&self, owner: IndexId, waiting: &mut Waiting) -> Result<bool, SpaceError> {
        let chosen = self.some_extents(owner);
        let Some(&(extent, _)) = chosen.first() else { return Ok(false) };
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
        waiting.end = mtr.commit();
        waiting.extents.extend(chosen);
        Ok(true)
    }

    /// Gives the pages that wait for it to those who look for room, once the log is durable. Returns how many.
    fn let_go(&self, waiting: &mut Waiting) -> Result<u64, SpaceError> {
        let Waiting { extents: chosen, end } = std::mem::take(waiting);
        if chosen.is_empty() {
            return Ok(0);
        }
        // Before the content goes: were a record lost, its index would own pages that are no more.
        self.pool.wal().wait_durable(end).map_err(PoolError::Wal)?;
        let mut freed = 0;
        let mut outcome = Ok(());
        for &(extent, set) in &chosen {
            for (first, count) in runs(set) {
                let page = PageNo(first_page(extent).0 + u64::from(first));
                outcome = outcome.and(self.pool.discard(page, u64::from(count)));
                outcome = outcome.and(self.pool.store().punch(page, u64::from(count)).map_err(PoolError::Store));
                freed += u64::from(count);
            }
        }
        chosen.iter().for_each(|(extent, _)| self.backed.lock().punched(*extent));
        let mut index = self.index.lock();
        for &(extent, set) in &chosen {
            index.open_up(extent, set);
        }
        outcome?;
        Ok(freed)
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
