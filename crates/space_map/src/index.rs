//! The index in memory: from owner to its extents with room, and the extents that nobody owns.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use base::{EXTENT_PAGES, IndexId, PageNo};

use crate::layout::{ExtentKind, REGION_EXTENTS, SELF, extent_of, first_page};

/// Pages that an index takes from mixed extents before it gets extents of its own.
pub(crate) const SMALL_PAGES: u64 = 32;

const FULL: u64 = u64::MAX;

/// What is known of an extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub kind: ExtentKind,
    /// The owner of a leaf or inner extent; none for others.
    pub owner: IndexId,
    /// Pages in use, bit by bit.
    pub used: u64,
}

impl Extent {
    const FREE: Extent = Extent { kind: ExtentKind::Free, owner: IndexId::NONE, used: 0 };
    /// Of a region that does not exist: not to be given out.
    const ABSENT: Extent = Extent { kind: ExtentKind::Free, owner: IndexId::NONE, used: FULL };
}

/// What an index owns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Owner {
    pub pages: u64,
    /// Its own leaf extents that have free pages.
    leaf_room: BTreeSet<u64>,
    /// Its own inner extents that have free pages.
    inner_room: BTreeSet<u64>,
    /// All its own extents.
    pub extents: BTreeSet<u64>,
    /// Its pages in mixed extents.
    pub mixed: BTreeMap<u64, u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Index {
    extents: Vec<Extent>,
    free: BTreeSet<u64>,
    /// Mixed extents with free pages.
    mixed: BTreeSet<u64>,
    owners: HashMap<IndexId, Owner>,
    /// Pages by extent that are in use here and no longer on the map page: see [`Index::give_back`].
    held: HashMap<u64, u64>,
    /// Regions below the last one that have no map page (a crash can leave such a gap).
    gaps: BTreeSet<u64>,
    /// Regions whose map page nobody has read yet, if there is one: nothing is known of their extents, which are [`Extent::ABSENT`].
    unread: BTreeSet<u64>,
}

/// A page that seems free, and what its extent becomes by taking it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub page: PageNo,
    pub kind: ExtentKind,
}

impl Owner {
    /// Its own extents of a kind that have free pages; free and mixed extents are no index's own.
    fn room(&self, kind: ExtentKind) -> Option<&BTreeSet<u64>> {
        match kind {
            ExtentKind::Leaf => Some(&self.leaf_room),
            ExtentKind::Inner => Some(&self.inner_room),
            ExtentKind::Free | ExtentKind::Mixed => None,
        }
    }

    fn room_mut(&mut self, kind: ExtentKind) -> Option<&mut BTreeSet<u64>> {
        match kind {
            ExtentKind::Leaf => Some(&mut self.leaf_room),
            ExtentKind::Inner => Some(&mut self.inner_room),
            ExtentKind::Free | ExtentKind::Mixed => None,
        }
    }

    /// An extent is no longer one of its own.
    fn lose(&mut self, extent: u64) {
        self.extents.remove(&extent);
        self.leaf_room.remove(&extent);
        self.inner_room.remove(&extent);
    }
}

/// The free page nearest after `bit`, else the lowest.
fn free_bit(used: u64, after: u32) -> Option<u32> {
    let free = !used;
    let later = free & (FULL.checked_shl(after).unwrap_or(0));
    [later, free].into_iter().find(|&set| set != 0).map(u64::trailing_zeros)
}

impl Index {
    pub fn regions(&self) -> u64 {
        self.extents.len() as u64 / REGION_EXTENTS
    }

    /// The region to be made next, at `from` or later.
    pub fn next_region(&self, from: u64) -> u64 {
        self.gaps.range(from..).next().copied().unwrap_or(self.regions())
    }

    pub fn has_region(&self, region: u64) -> bool {
        region < self.regions() && !self.gaps.contains(&region) && !self.unread.contains(&region)
    }

    /// Begins with `count` regions of which nothing is known.
    pub fn unread(count: u64) -> Index {
        Index { extents: vec![Extent::ABSENT; (count * REGION_EXTENTS) as usize], unread: (0..count).collect(), ..Index::default() }
    }

    pub fn is_unread(&self, region: u64) -> bool {
        self.unread.contains(&region)
    }

    /// The last unread region but those of `except`: what was added last is most likely to have room.
    pub fn last_unread(&self, except: &[u64]) -> Option<u64> {
        self.unread.iter().rev().find(|region| !except.contains(region)).copied()
    }

    /// Some unread regions, from `first` on.
    pub fn unread_from(&self, first: u64, count: usize) -> Vec<u64> {
        self.unread.range(first..).take(count).copied().collect()
    }

    /// An unread region is read: it has a map page or not. Its pages are free until the caller says otherwise.
    pub fn fill_in(&mut self, region: u64, exists: bool) {
        assert!(self.unread.remove(&region), "region {region} was read before");
        self.gaps.insert(region);
        if exists {
            return self.add_region(region, true);
        }
        // What lies behind the last map page is no gap: it is where regions are made next.
        while self.regions() > 0 && self.gaps.remove(&(self.regions() - 1)) {
            self.extents.truncate(self.extents.len() - REGION_EXTENTS as usize);
        }
    }

    /// Adds a region whose pages are all free, or an absent one.
    pub fn add_region(&mut self, region: u64, exists: bool) {
        let first = region * REGION_EXTENTS;
        while self.regions() <= region {
            let gap = self.regions();
            self.gaps.insert(gap);
            self.extents.extend([Extent::ABSENT; REGION_EXTENTS as usize]);
        }
        if exists {
            assert!(self.gaps.remove(&region), "region {region} exists already");
            for extent in first..first + REGION_EXTENTS {
                self.extents[extent as usize] = Extent::FREE;
                self.free.insert(extent);
            }
        }
    }

    pub fn extent(&self, extent: u64) -> Option<Extent> {
        self.extents.get(extent as usize).copied()
    }

    pub fn owner(&self, owner: IndexId) -> Option<&Owner> {
        self.owners.get(&owner)
    }

    pub fn owners(&self) -> impl Iterator<Item = (IndexId, &Owner)> {
        self.owners.iter().map(|(&id, owner)| (id, owner))
    }

    pub fn free_extents(&self) -> u64 {
        self.free.len() as u64
    }

    /// Finds a page for `owner`, in an extent that `allowed` lets pass. `None`: a new region is needed.
    pub fn pick(&self, owner: IndexId, kind: ExtentKind, near: Option<PageNo>, allowed: impl Fn(u64) -> bool) -> Option<Candidate> {
        let allowed = |extent: &u64| allowed(*extent);
        let in_extent = |extent: u64, after: u32, kind: ExtentKind| {
            let bit = free_bit(self.extents[extent as usize].used, after)?;
            Some(Candidate { page: PageNo(first_page(extent).0 + u64::from(bit)), kind })
        };
        let known = self.owners.get(&owner);
        // Beside its neighbour, if that lies in an extent of the same use.
        if let Some(near) = near
            && let Some(extent) = self.extent(extent_of(near))
            && extent.kind == kind
            && extent.owner == owner
            && extent.used != FULL
            && allowed(&extent_of(near))
        {
            return in_extent(extent_of(near), (near.0 % EXTENT_PAGES) as u32, kind);
        }
        // In any extent of its own; the highest, where an index that grows at its end has its room.
        if let Some(&extent) = known.and_then(|known| known.room(kind)?.iter().rev().find(|e| allowed(e))) {
            return in_extent(extent, 0, kind);
        }
        if known.is_none_or(|known| known.pages < SMALL_PAGES) {
            let shared = known.and_then(|known| known.mixed.keys().find(|e| self.mixed.contains(e) && allowed(e)));
            if let Some(&extent) = shared.or_else(|| self.mixed.iter().find(|e| allowed(e))) {
                return in_extent(extent, 0, ExtentKind::Mixed);
            }
            let &extent = self.free.iter().find(|e| allowed(e))?;
            return in_extent(extent, 0, ExtentKind::Mixed);
        }
        match self.free.iter().find(|e| allowed(e)) {
            Some(&extent) => in_extent(extent, 0, kind),
            // Better a page among others than a larger file.
            None => self.mixed.iter().find(|e| allowed(e)).and_then(|&extent| in_extent(extent, 0, ExtentKind::Mixed)),
        }
    }

    /// Whether `owner` may still take the candidate.
    pub fn is_available(&self, candidate: Candidate, owner: IndexId) -> bool {
        let Some(extent) = self.extent(extent_of(candidate.page)) else { return false };
        let kind_fits = match extent.kind {
            ExtentKind::Free => true,
            ExtentKind::Mixed => candidate.kind == ExtentKind::Mixed,
            kind => kind == candidate.kind && extent.owner == owner,
        };
        kind_fits && extent.used >> (candidate.page.0 % EXTENT_PAGES) & 1 == 0
    }

    /// Notes that `owner` has the pages `set` of an extent, which is of `kind` from now on.
    pub fn take(&mut self, extent: u64, kind: ExtentKind, set: u64, owner: IndexId) {
        let info = &mut self.extents[extent as usize];
        assert_eq!(info.used & set, 0, "extent {extent}: pages given out twice");
        if info.kind == ExtentKind::Free {
            self.free.remove(&extent);
            info.kind = kind;
            info.owner = if kind == ExtentKind::Mixed { IndexId::NONE } else { owner };
        }
        info.used |= set;
        let info = *info;
        if owner != SELF {
            let known = self.owners.entry(owner).or_default();
            known.pages += u64::from(set.count_ones());
            if kind == ExtentKind::Mixed {
                *known.mixed.entry(extent).or_default() |= set;
            } else {
                known.extents.insert(extent);
            }
        }
        self.note_room(extent, info);
    }

    /// Notes that the pages `set` of an extent are `owner`'s no more. With `hold` they stay unavailable until [`Index::open_up`].
    pub fn give_back(&mut self, extent: u64, set: u64, owner: IndexId, hold: bool) {
        let info = &mut self.extents[extent as usize];
        assert_eq!(info.used & set, set, "extent {extent}: free pages freed");
        match hold {
            true => *self.held.entry(extent).or_default() |= set,
            false => info.used &= !set,
        }
        let info = *info;
        if let Some(known) = self.owners.get_mut(&owner) {
            known.pages -= u64::from(set.count_ones());
            if info.kind == ExtentKind::Mixed {
                let left = known.mixed.get_mut(&extent).map_or(0, |pages| {
                    *pages &= !set;
                    *pages
                });
                if left == 0 {
                    known.mixed.remove(&extent);
                }
            } else if hold {
                known.lose(extent);
            }
            if !hold {
                self.note_room(extent, info);
            }
        }
        self.drop_empty(extent, owner);
    }

    /// The pages `set`, held back since [`Index::give_back`], can be had by all. The map page says so already.
    pub fn open_up(&mut self, extent: u64, set: u64) {
        if let Some(held) = self.held.get_mut(&extent) {
            *held &= !set;
            if *held == 0 {
                self.held.remove(&extent);
            }
        }
        let info = &mut self.extents[extent as usize];
        info.used &= !set;
        if info.kind != ExtentKind::Mixed {
            assert_eq!(info.used, 0, "extent {extent} of a dropped index has pages left");
            *info = Extent::FREE;
            self.free.insert(extent);
        } else {
            let info = *info;
            self.note_room(extent, info);
            self.drop_empty(extent, IndexId::NONE);
        }
    }

    /// What `kind` an extent has on its map page once `set` is freed there.
    pub fn kind_after(&self, extent: u64, set: u64) -> ExtentKind {
        let info = self.extents[extent as usize];
        let held = self.held.get(&extent).copied().unwrap_or_default();
        if info.used & !(set | held) == 0 { ExtentKind::Free } else { info.kind }
    }

    fn note_room(&mut self, extent: u64, info: Extent) {
        let rooms = match info.kind {
            ExtentKind::Mixed => Some(&mut self.mixed),
            kind => self.owners.get_mut(&info.owner).and_then(|known| known.room_mut(kind)),
        };
        let Some(rooms) = rooms else { return };
        if info.used == FULL {
            rooms.remove(&extent);
        } else {
            rooms.insert(extent);
        }
    }

    fn drop_empty(&mut self, extent: u64, owner: IndexId) {
        let info = self.extents[extent as usize];
        if info.used == 0 && info.kind != ExtentKind::Free {
            if info.kind == ExtentKind::Mixed {
                self.mixed.remove(&extent);
            } else if let Some(known) = self.owners.get_mut(&info.owner) {
                known.lose(extent);
            }
            self.extents[extent as usize] = Extent::FREE;
            self.free.insert(extent);
        }
        if self.owners.get(&owner).is_some_and(|known| known.pages == 0 && known.extents.is_empty()) {
            self.owners.remove(&owner);
        }
    }
}
