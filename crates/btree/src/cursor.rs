//! Walking over the entries in order, forward and backward.
//!
//! # Invariants
//! 1. A cursor holds the shared latch of one leaf, or none (parked, or ended). It takes the right sibling's latch while holding its own (left → right),
//!    the left sibling's only by trying; when that fails it lets go, comes from the left, and checks that nothing changed.
//! 2. An entry that is in the tree for as long as a scan lasts is visited once; keys come in strict order. That is checked wherever another leaf is entered: a
//!    page that is an older image of itself (a write that the device lost, after a restart) can lead back to where a scan has been, for ever.
//!
//! # Coming back to a parked position
//! The page may have been changed, merged away, freed and used again. Any change moves its LSN; retiring a page changes it and moves the tree's
//! count of retired pages before the latch is released. Same page, same LSN, same count: nothing happened to it. Otherwise the key is sought.

use base::{Lsn, PageNo, TxnId};
use buffer_pool::{BufferPool, PoolError, SharedGuard};

use crate::ahead::Pace;
use crate::descend::Target;
use crate::error::Result;
use crate::holding::Holding;
use crate::node::{KeyRef, Node};
use crate::tree::BTree;

/// Which entry a seek goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seek {
    /// The key or the first one above.
    AtOrAfter,
    /// The first one above the key.
    After,
    /// The key or the last one below.
    AtOrBefore,
    /// The last one below the key.
    Before,
}

/// Which way a scan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Backward,
}

/// What [`Cursor::resume`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resumed {
    /// The cursor is on the entry it was parked on (whose value may be another).
    Same,
    /// That entry is gone; the cursor is on the next one in the direction asked for, or has ended.
    Moved,
}

/// Why [`Cursor::scan_leaf`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scanned {
    /// The callback stopped; the cursor is on the entry it was last given.
    Stopped,
    /// Everything up to the bound was visited. The cursor is on the first entry past the bound, or has ended.
    EndOfRange,
    /// Everything on this leaf was visited, and the cursor is on the first entry of the next one.
    NextLeaf,
}

/// Where a parked cursor was.
#[derive(Debug, Clone, Copy)]
struct Parked {
    page: PageNo,
    lsn: Lsn,
    retired: u64,
    slot: usize,
}

/// A parked position without its tree: what a statement keeps between two batches.
#[derive(Debug, Default)]
pub struct SavedCursor {
    key: Vec<u8>,
    parked: Option<Parked>,
    passing: bool,
}

/// Walks over a tree. Not parked and not ended, it holds a leaf's shared latch: whoever does anything slow, waits for a lock, or calls any tree
/// (this or another, even to read one key) parks it first. Debug builds check the latter.
pub struct Cursor<'t> {
    pub(crate) tree: &'t BTree,
    leaf: Option<(SharedGuard<'t>, Holding)>,
    pub(crate) slot: usize,
    pub(crate) count: usize,
    /// The current key when `key_is_current`, else memory to be reused.
    key: Vec<u8>,
    pub(crate) key_is_current: bool,
    parked: Option<Parked>,
    /// Pages passed claim no place in the pool.
    pub(crate) passing: bool,
    /// Leaves passed since the last descent.
    pub(crate) pace: Pace,
    /// The entry is on another leaf than the one that the last move began on.
    pub(crate) hopped: bool,
}

impl BTree {
    /// A cursor, not on any entry yet.
    pub fn cursor(&self) -> Cursor<'_> {
        self.cursor_of(SavedCursor::default())
    }

    /// A cursor for a long scan: the leaves it passes do not push others out of the pool.
    pub fn scan_cursor(&self) -> Cursor<'_> {
        self.cursor_of(SavedCursor { passing: true, ..SavedCursor::default() })
    }

    /// The cursor that was saved by [`Cursor::save`], parked.
    pub fn cursor_of(&self, saved: SavedCursor) -> Cursor<'_> {
        let SavedCursor { key, parked, passing } = saved;
        Cursor {
            tree: self,
            leaf: None,
            slot: 0,
            count: 0,
            key,
            key_is_current: parked.is_some(),
            parked,
            passing,
            pace: Pace::default(),
            hopped: false,
        }
    }
}

impl<'t> Cursor<'t> {
    #[inline]
    fn latch(&self, page: PageNo) -> std::result::Result<SharedGuard<'t>, PoolError> {
        Self::latch_in(self.tree.pool(), page, self.passing)
    }

    #[inline]
    fn latch_in(pool: &BufferPool, page: PageNo, passing: bool) -> std::result::Result<SharedGuard<'_>, PoolError> {
        if passing { pool.shared_once(page) } else { pool.shared(page) }
    }

    #[inline]
    pub(crate) fn node(&self) -> Option<Node<'_>> {
        self.leaf.as_ref().map(|(leaf, _)| Node::new(leaf))
    }

    /// Takes the leaf; the caller sets the slot.
    #[inline]
    fn enter(&mut self, leaf: SharedGuard<'t>) {
        self.count = Node::new(&leaf).count();
        self.leaf = Some((leaf, Holding::new()));
        self.key_is_current = false;
        self.parked = None;
    }

    fn end(&mut self) {
        self.leaf = None;
        self.key_is_current = false;
        self.parked = None;
    }

    fn descend(&mut self, target: Target<'_>) -> Result<()> {
        self.leaf = None;
        self.hopped = false;
        self.pace = Pace::default();
        let passing = self.passing;
        let leaf = self.tree.leaf(target, |pool, page| Self::latch_in(pool, page, passing))?;
        self.enter(leaf);
        Ok(())
    }

    /// Goes to the first entry of the tree.
    pub fn first(&mut self) -> Result<()> {
        self.descend(Target::First)?;
        self.slot = 0;
        if self.count == 0 {
            self.hop_right(false)?;
        }
        Ok(())
    }

    /// Goes to the last entry of the tree.
    pub fn last(&mut self) -> Result<()> {
        self.descend(Target::Last)?;
        // A split since the parent was read leaves a right sibling.
        while let Some(right) = self.node().map(Node::right).filter(|page| !page.is_none()) {
            self.step_to(right)?;
        }
        if self.count > 0 {
            self.slot = self.count - 1;
            return Ok(());
        }
        match self.hop_left()? {
            Hop::Done => Ok(()),
            Hop::Lost => self.last(),
        }
    }

    /// Goes to a key or its neighbour; see [`Seek`].
    #[inline]
    pub fn seek(&mut self, key: &[u8], seek: Seek) -> Result<()> {
        let mut may_let_go = true;
        loop {
            self.descend(Target::Key(key))?;
            let position = self.node().map_or_else(|| unreachable!("descend enters a leaf"), |node| node.find_in_leaf(key));
            let below = match seek {
                Seek::AtOrAfter => {
                    self.slot = position.slot;
                    false
                }
                Seek::After => {
                    self.slot = position.slot + position.found as usize;
                    false
                }
                Seek::AtOrBefore if position.found => {
                    self.slot = position.slot;
                    false
                }
                Seek::AtOrBefore | Seek::Before => {
                    self.slot = position.slot.wrapping_sub(1);
                    position.slot == 0
                }
            };
            if below {
                match self.hop_left()? {
                    Hop::Done => return self.check_goes_on(key, Direction::Backward),
                    Hop::Lost => continue,
                }
            }
            if self.slot < self.count {
                return Ok(());
            }
            // Whoever comes back to a leaf it has let go stands behind that leaf's last key, and a key may have come between it and the sought one.
            // The sibling is in memory now; should it not be any more, it is read under the latch.
            if self.hop_right(may_let_go)? == Way::Kept {
                return self.check_goes_on(key, Direction::Forward);
            }
            may_let_go = false;
        }
    }

    /// Whether the cursor is on an entry: not ended, not parked.
    #[inline]
    pub fn valid(&self) -> bool {
        self.leaf.is_some()
    }

    /// Whether the last [`Cursor::seek`] or [`Cursor::next`] left the leaf that it began on: then keys may have come between, which were not
    /// there when that leaf was let go.
    #[inline]
    pub fn hopped(&self) -> bool {
        self.hopped
    }

    /// Whether the current entry is the last of its leaf.
    #[inline]
    pub fn is_last_on_leaf(&self) -> bool {
        self.slot + 1 >= self.count
    }

    /// Whether the cursor is parked.
    pub fn is_parked(&self) -> bool {
        self.parked.is_some()
    }

    fn current(&self) -> Node<'_> {
        self.node().expect("the cursor is on an entry")
    }

    /// The current entry's value.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.current().leaf_value(self.slot)
    }

    /// The current entry's key in the pieces the page keeps.
    #[inline]
    pub fn key_ref(&self) -> KeyRef<'_> {
        self.current().key(self.slot)
    }

    /// The current entry's key. It is put together when first asked for; a parked cursor still has it.
    pub fn key(&mut self) -> &[u8] {
        self.fill_key();
        &self.key
    }

    /// The current entry's key and value.
    pub fn entry(&mut self) -> (&[u8], &[u8]) {
        self.fill_key();
        let node = self.leaf.as_ref().map(|(leaf, _)| Node::new(leaf)).expect("the cursor is on an entry");
        (&self.key, node.leaf_value(self.slot))
    }

    fn fill_key(&mut self) {
        if !self.key_is_current {
            let mut key = std::mem::take(&mut self.key);
            key.clear();
            self.key_ref().append_to(&mut key);
            self.key = key;
            self.key_is_current = true;
        }
    }

    /// The highest writer transaction id noted on the current leaf.
    pub fn leaf_txn_max(&self) -> TxnId {
        self.current().txn_max()
    }

    /// Moves to the next entry; false when there is none, and the cursor has ended.
    #[allow(clippy::should_implement_trait)] // entries are borrowed from the leaf: no iterator
    #[inline]
    pub fn next(&mut self) -> Result<bool> {
        debug_assert!(self.valid(), "next without a current entry");
        self.key_is_current = false;
        self.hopped = false;
        self.slot += 1;
        if self.slot >= self.count {
            self.hop_right(true)?;
        }
        Ok(self.valid())
    }

    /// Moves to the previous entry; false when there is none, and the cursor has ended.
    #[inline]
    pub fn prev(&mut self) -> Result<bool> {
        debug_assert!(self.valid(), "prev without a current entry");
        if self.slot > 0 {
            self.key_is_current = false;
            self.slot -= 1;
            return Ok(true);
        }
        self.prev_leaf()?;
        Ok(self.valid())
    }

    pub(crate) fn prev_leaf(&mut self) -> Result<()> {
        self.fill_key();
        let key = std::mem::take(&mut self.key);
        let outcome = match self.hop_left() {
            Ok(Hop::Done) => Ok(()),
            Ok(Hop::Lost) => self.seek(&key, Seek::Before),
            Err(error) => Err(error),
        };
        let outcome = outcome.and_then(|()| self.check_goes_on(&key, Direction::Backward));
        self.key = key;
        self.key_is_current = false;
        outcome
    }

    /// An entry that another leaf was entered for is behind where the way began, or there is none.
    fn check_goes_on(&self, from: &[u8], direction: Direction) -> Result<()> {
        let Some((leaf, _)) = &self.leaf else { return Ok(()) };
        let order = Node::new(leaf).key(self.slot).compare(from);
        match direction {
            Direction::Forward if order.is_gt() => Ok(()),
            Direction::Backward if order.is_lt() => Ok(()),
            _ => Err(crate::Error::Corrupt { index: self.tree.index, page: leaf.page_no(), what: "keys go back from a leaf to the next" }),
        }
    }

    /// Enters the right sibling while holding this leaf.
    fn step_to(&mut self, right: PageNo) -> Result<()> {
        let leaf = self.latch(right)?;
        let node = Node::open(&leaf, right, self.tree.index)?;
        if node.is_inner() {
            return Err(crate::Error::Corrupt { index: self.tree.index, page: right, what: "a leaf's sibling is no leaf" });
        }
        self.enter(leaf);
        Ok(())
    }

    /// Goes to the first entry right of this leaf. Whoever `may_let_go` of the leaf does so while its sibling is read from the disk.
    pub(crate) fn hop_right(&mut self, may_let_go: bool) -> Result<Way> {
        self.hopped = true;
        let mut way = Way::Kept;
        // The last key is in `key`.
        let mut has_before = false;
        while let Some(node) = self.node() {
            let right = node.right();
            if right.is_none() {
                self.end();
                break;
            }
            if may_let_go && way == Way::Kept && self.count > 0 && !self.tree.pool().is_resident(right) {
                way = Way::LetGo;
                if self.fetch_right(right)? {
                    break;
                }
                continue;
            }
            if self.count > 0 {
                self.slot = self.count - 1;
                self.key_is_current = false;
                self.fill_key();
                has_before = true;
            }
            self.step_to(right)?;
            self.pass_leaf();
            self.slot = 0;
            if self.count > 0 {
                if has_before {
                    self.check_goes_on(&self.key, Direction::Forward)?;
                }
                break;
            }
        }
        Ok(way)
    }

    /// Has the right sibling read with no latch held, so that nobody waits for this leaf while the disk is read, and comes back to the last entry of
    /// the leaf. `true` when that is not the last any more, or gone: then the cursor is on the entry after it, or has ended.
    #[cold]
    fn fetch_right(&mut self, right: PageNo) -> Result<bool> {
        let pace = self.pace;
        self.key_is_current = false;
        self.slot = self.count - 1;
        self.park();
        // Whether it can be read, and still is the sibling, shows when it is latched from here.
        drop(self.latch(right));
        let resumed = self.resume(Direction::Forward)?;
        self.pace = pace;
        self.hopped = true;
        if resumed == Resumed::Moved {
            return Ok(true);
        }
        let more = self.slot + 1 < self.count;
        if more {
            self.slot += 1;
            self.key_is_current = false;
        }
        Ok(more)
    }

    /// Goes to the last entry left of this leaf, or says that the way was lost and the key must be sought.
    fn hop_left(&mut self) -> Result<Hop> {
        loop {
            let Some((here, _holding)) = self.leaf.take() else { return Ok(Hop::Lost) };
            let left = Node::new(&here).left();
            if left.is_none() {
                self.end();
                return Ok(Hop::Done);
            }
            let leaf = match self.tree.pool().try_shared(left)? {
                Some(leaf) => leaf,
                None => {
                    let (page, lsn) = (here.page_no(), here.lsn());
                    drop(here);
                    match self.come_from_left(left, page, lsn) {
                        Some(leaf) => leaf,
                        None => return Ok(Hop::Lost),
                    }
                }
            };
            if Node::open(&leaf, left, self.tree.index)?.is_inner() {
                return Err(crate::Error::Corrupt { index: self.tree.index, page: left, what: "a leaf's sibling is no leaf" });
            }
            self.enter(leaf);
            if self.count > 0 {
                self.slot = self.count - 1;
                return Ok(Hop::Done);
            }
        }
    }

    /// Latches the left sibling of a page let go, if that page has not changed since.
    #[cold]
    fn come_from_left(&self, left: PageNo, page: PageNo, lsn: Lsn) -> Option<SharedGuard<'t>> {
        let retired = self.tree.retired();
        let leaf = self.latch(left).ok()?;
        let node = Node::new(&leaf);
        if !node.is_of(self.tree.index) || node.is_inner() || node.right() != page {
            return None;
        }
        let here = self.latch(page).ok()?;
        (here.lsn() == lsn && self.tree.retired() == retired).then_some(leaf)
    }

    /// Lets go of the latch and remembers the entry. Does nothing when ended or parked.
    pub fn park(&mut self) {
        if self.leaf.is_none() {
            return;
        }
        self.fill_key();
        if let Some((leaf, _)) = self.leaf.take() {
            self.parked = Some(Parked { page: leaf.page_no(), lsn: leaf.lsn(), retired: self.tree.retired(), slot: self.slot });
        }
    }

    /// Latches again and goes back to the entry parked on or, when that is gone, to the next one in this direction.
    pub fn resume(&mut self, direction: Direction) -> Result<Resumed> {
        let Some(parked) = self.parked else { return Ok(if self.valid() { Resumed::Same } else { Resumed::Moved }) };
        // A page that cannot be read may have been freed: then the key leads elsewhere.
        if let Ok(leaf) = self.latch(parked.page) {
            let node = Node::new(&leaf);
            if leaf.lsn() == parked.lsn && node.is_of(self.tree.index) && !node.is_inner() && self.tree.retired() == parked.retired {
                self.enter(leaf);
                self.slot = parked.slot;
                self.key_is_current = true;
                return Ok(Resumed::Same);
            }
        }
        let key = std::mem::take(&mut self.key);
        let seek = match direction {
            Direction::Forward => Seek::AtOrAfter,
            Direction::Backward => Seek::AtOrBefore,
        };
        let sought = self.seek(&key, seek);
        let same = self.valid() && self.key_ref().compare(&key).is_eq();
        self.key = key;
        self.key_is_current = same;
        sought?;
        Ok(if same { Resumed::Same } else { Resumed::Moved })
    }

    /// Parks, and gives the position as a value without borrow. An ended cursor gives one that resumes as ended.
    pub fn save(mut self) -> SavedCursor {
        self.park();
        SavedCursor { key: std::mem::take(&mut self.key), parked: self.parked, passing: self.passing }
    }
}

/// How a step to the right was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Under latches all the way: nothing came between the leaf's last entry and the next.
    Kept,
    /// The leaf was let go meanwhile: the cursor is on what now follows its last entry.
    LetGo,
}

/// Outcome of a step to the left.
enum Hop {
    /// On an entry, or ended.
    Done,
    /// Something changed while no latch was held.
    Lost,
}

impl std::fmt::Debug for Cursor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cursor")
            .field("leaf", &self.leaf.as_ref().map(|(leaf, _)| leaf))
            .field("slot", &self.slot)
            .field("parked", &self.parked)
            .finish_non_exhaustive()
    }
}
