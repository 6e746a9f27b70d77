//! Inserting many entries in ascending order, leaf by leaf: one descent, one latch and one log operation for all that go into a leaf.
//!
//! # Invariants
//! 1. A run is planned and made under one latch of its leaf: what was planned fits, is not there yet, and belongs there.
//! 2. What stands above the last entry of a leaf belongs there if no leaf is to the right, or if its parent still says so while the leaf is latched: who
//!    moves the separator behind the leaf needs this latch.
//!
//! A run ends at an entry that is there already, or for which there is no room: what to do about it is the caller's matter.

use base::{Lsn, PageNo, TxnId};
use buffer_pool::{ExclusiveGuard, Mtr, OptimisticGuard, PageRef};

use crate::descend::{Target, Walk};
use crate::error::{Error, Result};
use crate::holding::{self, Holding};
use crate::layout::{COUNT, ENTRY_BYTES_MAX, SLOT_BYTES, SLOTS, common_prefix, entry_bytes, heap_base};
use crate::node::{Fit, Node};
use crate::ops;
use crate::search;
use crate::tree::BTree;
use crate::write::APPEND_RUN;

/// Bytes of a suffix that its slot holds anyhow: a prefix that is set before the keys to come are known leaves them to it.
const SLOT_SUFFIX_BYTES: usize = 4;

/// Descents that may meet a change on the way before the plain descent is taken, which latches.
const TRIES_MAX: usize = 8;

/// Why a run goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// The list has ended, or goes on in another leaf, or in another run.
    Elsewhere,
    /// The next entry's key is there.
    Found,
    /// There is no room for the next entry: [`BTree::make_room`].
    NoRoom,
}

/// The leaf of the first key of a run, latched exclusively. Dropped without [`RunWrite::insert`] it only unlatches.
pub struct RunWrite<'t> {
    tree: &'t BTree,
    mtr: Mtr<'t>,
    page: PageRef,
    /// The page above, as it was read on the way, and the leaf's slot there.
    parent: Option<(OptimisticGuard<'t>, usize)>,
    plan: RunPlan,
    _holding: Holding,
}

/// What a run does; kept from one run to the next for its memory.
#[derive(Debug, Default)]
pub struct RunPlan {
    /// Final slots of the entries.
    slots: Vec<u16>,
    /// The leaf is empty, and gets a prefix of this length.
    prefix: Option<usize>,
    /// The page is to be written anew for its one entry.
    rewrites: bool,
}

impl BTree {
    /// Latches the leaf responsible for `key` for a run that begins with it. Called with no latch held: it may wait for log space.
    pub fn write_run<'t>(&'t self, key: &[u8], plan: RunPlan) -> Result<RunWrite<'t>> {
        holding::assert_none();
        self.pool().wal().ensure_space()?;
        let (leaf, parent) = self.leaf_of_run(key)?;
        let mut mtr = Mtr::begin(self.pool());
        let page = mtr.adopt(leaf);
        Ok(RunWrite { tree: self, mtr, page, parent, plan, _holding: Holding::new() })
    }

    fn leaf_of_run(&self, key: &[u8]) -> Result<(ExclusiveGuard<'_>, Option<(OptimisticGuard<'_>, usize)>)> {
        if let Some(leaf) = self.leaf_for_append(key) {
            return Ok((leaf, None));
        }
        for _ in 0..TRIES_MAX {
            let (guard, slot, child) = match self.walk(Target::Key(key), 1)? {
                Walk::Parent { guard, slot, child } => (guard, slot, child),
                Walk::Restart => continue,
                Walk::RootBelow => break,
            };
            if !guard.validate() {
                continue;
            }
            let leaf = match self.pool().exclusive(child) {
                Ok(leaf) => leaf,
                Err(_) if !guard.validate() => continue,
                Err(error) => return Err(error.into()),
            };
            if guard.validate() {
                let node = Node::open(&leaf, child, self.index)?;
                if node.is_inner() {
                    return Err(Error::Corrupt { index: self.index, page: child, what: "a leaf is expected" });
                }
                return Ok((leaf, Some((guard, slot))));
            }
        }
        Ok((self.leaf(Target::Key(key), |pool, page| pool.exclusive(page))?, None))
    }
}

impl<'t> RunWrite<'t> {
    fn node(&self) -> Node<'_> {
        Node::new(self.mtr.bytes(self.page))
    }

    /// The leaf's page number.
    pub fn page_no(&self) -> PageNo {
        self.mtr.page_no(self.page)
    }

    /// Value of a key, if this leaf has it.
    pub fn find(&self, key: &[u8]) -> Option<&[u8]> {
        let position = self.node().find_in_leaf(key);
        position.found.then(|| self.node().leaf_value(position.slot))
    }

    /// Whether a key above all of the leaf belongs into it.
    fn takes_behind(&self, key: &[u8]) -> bool {
        if self.node().right().is_none() {
            return true;
        }
        let Some((parent, slot)) = &self.parent else { return false };
        // What is above the last separator of its page may belong to the page's right neighbour.
        let inside = slot + 1 < parent.u16_at(COUNT) as usize && search::child_slot(parent, key) == *slot;
        inside && parent.validate()
    }

    /// Plans how many entries, from the first on, whose key this leaf was looked up by, go in; and what comes then. `entry` gives them by number, keys ascending.
    pub fn plan<'e>(&mut self, entry: impl Fn(usize) -> Option<(&'e [u8], &'e [u8])>) -> Result<(usize, RunEnd)> {
        let mut plan = std::mem::take(&mut self.plan);
        plan.slots.clear();
        plan.prefix = None;
        plan.rewrites = false;
        let end = if self.node().count() == 0 { self.plan_empty(&mut plan, entry) } else { self.plan_among(&mut plan, entry) };
        self.plan = plan;
        Ok((self.plan.slots.len(), end?))
    }

    fn plan_empty<'e>(&self, plan: &mut RunPlan, entry: impl Fn(usize) -> Option<(&'e [u8], &'e [u8])>) -> Result<RunEnd> {
        let Some((first, value)) = entry(0) else { return Ok(RunEnd::Elsewhere) };
        refuse_large(first, value)?;
        let mut prefix = first.len().saturating_sub(SLOT_SUFFIX_BYTES);
        let bytes_of = |prefix: usize, key: &[u8], value: &[u8]| SLOT_BYTES + entry_bytes(false, key.len() - prefix, value.len());
        let mut used = bytes_of(prefix, first, value);
        plan.slots.push(0);
        let end = loop {
            let count = plan.slots.len();
            let Some((key, value)) = entry(count) else { break RunEnd::Elsewhere };
            refuse_large(key, value)?;
            if !self.takes_behind(key) {
                break RunEnd::Elsewhere;
            }
            let shared = common_prefix(&first[..prefix], key).min(key.len().saturating_sub(SLOT_SUFFIX_BYTES));
            let so_far = match shared < prefix {
                true => (0..count).filter_map(&entry).map(|(key, value)| bytes_of(shared, key, value)).sum(),
                false => used,
            };
            let with = so_far + bytes_of(shared, key, value);
            if with > heap_base(shared) - SLOTS {
                break RunEnd::NoRoom;
            }
            (prefix, used) = (shared, with);
            plan.slots.push(count as u16);
        };
        plan.prefix = Some(prefix);
        Ok(end)
    }

    fn plan_among<'e>(&self, plan: &mut RunPlan, entry: impl Fn(usize) -> Option<(&'e [u8], &'e [u8])>) -> Result<RunEnd> {
        let node = self.node();
        let (count, prefix) = (node.count(), node.prefix());
        let mut free = node.contiguous();
        // Where the entry before would stand among those of the page.
        let mut at = 0;
        loop {
            let no = plan.slots.len();
            let Some((key, value)) = entry(no) else { return Ok(RunEnd::Elsewhere) };
            refuse_large(key, value)?;
            let found = if no == 0 {
                let position = node.find_in_leaf(key);
                at = position.slot;
                position.found
            } else if at < count {
                match node.key(at).compare(key) {
                    std::cmp::Ordering::Greater => false,
                    std::cmp::Ordering::Equal => true,
                    std::cmp::Ordering::Less => {
                        let position = node.find_in_leaf(key);
                        at = position.slot;
                        position.found
                    }
                }
            } else {
                false
            };
            if found {
                return Ok(RunEnd::Found);
            }
            if no > 0 && at == count && !self.takes_behind(key) {
                return Ok(RunEnd::Elsewhere);
            }
            let need = match key.starts_with(prefix) {
                true => SLOT_BYTES + entry_bytes(false, key.len() - prefix.len(), value.len()),
                false => usize::MAX,
            };
            if need > free {
                if no > 0 {
                    // The prefix goes, or what is dead in the page is gathered, for the first of a run only.
                    return Ok(if need == usize::MAX { RunEnd::Elsewhere } else { RunEnd::NoRoom });
                }
                if node.fit(at, key, value.len()) == Fit::NoRoom {
                    return Ok(RunEnd::NoRoom);
                }
                plan.slots.push(at as u16);
                plan.rewrites = true;
                return Ok(RunEnd::Elsewhere);
            }
            free -= need;
            plan.slots.push((at + no) as u16);
        }
    }

    /// Inserts what was planned, and notes the writer on the leaf unless it is none. `note` adds what belongs to the change to the same record.
    pub fn insert<'e>(&mut self, txn_max: TxnId, entry: impl Fn(usize) -> Option<(&'e [u8], &'e [u8])>, note: impl FnOnce(&mut Mtr<'t>)) {
        let plan = std::mem::take(&mut self.plan);
        let get = |no: usize| entry(no).expect("what was planned is there");
        let Some(last) = plan.slots.last().map(|slot| *slot as usize) else { return };
        let txn_max = if txn_max > self.node().txn_max() { txn_max } else { TxnId::NONE };
        if plan.rewrites {
            let (key, value) = get(0);
            ops::insert(&mut self.mtr, self.page, last, key, value);
            if !txn_max.is_none() {
                ops::raise_txn_max(&mut self.mtr, self.page, txn_max);
            }
        } else {
            let prefix = plan.prefix.map(|length| &get(0).0[..length]);
            ops::insert_run(&mut self.mtr, self.page, prefix, &plan.slots, txn_max, get);
        }
        note(&mut self.mtr);
        let node = self.node();
        if node.right().is_none() && last + 1 == node.count() && node.run() >= APPEND_RUN {
            self.tree.set_append_leaf(self.mtr.page_no(self.page));
        }
        self.plan = plan;
    }

    /// Commits the mini-transaction and unlatches. Returns the end of its record, [`Lsn::NONE`] when nothing was changed, and the plan's memory.
    pub fn finish(self) -> (Lsn, RunPlan) {
        (self.mtr.commit(), self.plan)
    }
}

fn refuse_large(key: &[u8], value: &[u8]) -> Result<()> {
    let bytes = key.len() + value.len();
    if bytes > ENTRY_BYTES_MAX { Err(Error::TooLarge { bytes }) } else { Ok(()) }
}

impl std::fmt::Debug for RunWrite<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunWrite").field("page", &self.page_no()).field("plan", &self.plan).finish_non_exhaustive()
    }
}
