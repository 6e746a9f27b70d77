//! Inserting many entries in ascending order: one descent and one mini-transaction for all that go into some leaves below one parent, one log operation for all that go into one leaf.
//!
//! # Invariants
//! 1. A run is planned and made under latches of all its leaves: what was planned fits, is not there yet, and belongs there.
//! 2. What stands above the last entry of a leaf belongs there if no leaf is to the right, or if its parent still says so while the leaf is latched: who
//!    moves the separator behind the leaf needs this latch. In the same way the parent tells the leaf of the next entry.
//! 3. A leaf behind the first one is latched only if it is in memory and nobody has it: while leaves are held nothing is waited for, neither a latch nor the disk.
//!
//! A run ends at an entry that is there already, or for which there is no room: what to do about it is the caller's matter.

use std::cmp::Ordering;

use base::{Lsn, PAGE_BYTES, PageNo, TxnId};
use buffer_pool::{ExclusiveGuard, Mtr, OptimisticGuard, PageRef};

use crate::descend::{Target, Walk};
use crate::error::{Error, Result};
use crate::holding::{self, Holding};
use crate::layout::{ENTRY_BYTES_MAX, SLOT_BYTES, SLOTS, common_prefix, entry_bytes, heap_base};
use crate::node::{Fit, Node};
use crate::ops;
use crate::search;
use crate::tree::BTree;
use crate::write::APPEND_RUN;

/// Bytes of a suffix that its slot holds anyhow: a prefix that is set before the keys to come are known leaves them to it.
const SLOT_SUFFIX_BYTES: usize = 4;

/// Descents that may meet a change on the way before the plain descent is taken, which latches.
const TRIES_MAX: usize = 8;

/// Leaves of one run: others wait for them only as long as so many take.
const LEAVES_MAX: usize = 16;

/// Bytes of entries and slots up to which leaves are added to a run, so that its log record is no longer than that of one full leaf.
const BYTES_MAX: usize = PAGE_BYTES;

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

/// The leaf of the first key of a run, latched exclusively, and those that were planned besides. Dropped without [`RunWrite::insert`] it only unlatches.
pub struct RunWrite<'t> {
    tree: &'t BTree,
    mtr: Mtr<'t>,
    /// The last leaf.
    page: PageRef,
    /// The page above, as it was read on the way, and the last leaf's slot there.
    parent: Option<(OptimisticGuard<'t>, usize)>,
    plan: RunPlan,
    _holding: Holding,
}

/// What a run does; kept from one run to the next for its memory.
#[derive(Debug, Default)]
pub struct RunPlan {
    /// Final slots of the entries, leaf after leaf.
    slots: Vec<u16>,
    /// Each leaf, and where its slots end in that list.
    leaves: Vec<(PageRef, usize)>,
    /// Bytes that entries and slots take.
    bytes: usize,
    /// The first leaf is empty, and gets a prefix of this length.
    prefix: Option<usize>,
    /// The first leaf, which is the only one, is to be written anew for its one entry.
    rewrites: bool,
}

impl RunPlan {
    fn clear(&mut self) {
        self.slots.clear();
        self.leaves.clear();
        (self.bytes, self.prefix, self.rewrites) = (0, None, false);
    }
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

    /// The last leaf's page number.
    pub fn page_no(&self) -> PageNo {
        self.mtr.page_no(self.page)
    }

    /// Whether a key above all of the leaf belongs into it.
    fn takes_behind(&self, key: &[u8]) -> bool {
        if self.node().right().is_none() {
            return true;
        }
        let Some((parent, slot)) = &self.parent else { return false };
        // What is above the last separator of its page may belong to the page's right neighbour.
        search::order_of_next(parent, *slot, key) == Some(Ordering::Greater) && parent.validate()
    }

    /// Whether the parent says that a key belongs into a leaf further right: not to be relied on, but cheap.
    fn is_elsewhere(&self, key: &[u8]) -> bool {
        let Some((parent, slot)) = &self.parent else { return false };
        search::order_of_next(parent, *slot, key).is_some_and(|order| order != Ordering::Greater)
    }

    /// Plans how many entries, from the first on, whose key the first leaf was looked up by, go in; and what comes then. `entry` gives them by number, keys ascending.
    pub fn plan<'e>(&mut self, entry: impl Fn(usize) -> Option<(&'e [u8], &'e [u8])>) -> Result<(usize, RunEnd)> {
        let mut plan = std::mem::take(&mut self.plan);
        plan.clear();
        let planned = self.plan_leaves(&mut plan, entry);
        self.plan = plan;
        Ok((self.plan.slots.len(), planned?))
    }

    fn plan_leaves<'e>(&mut self, plan: &mut RunPlan, entry: impl Fn(usize) -> Option<(&'e [u8], &'e [u8])>) -> Result<RunEnd> {
        let first = if self.node().count() == 0 { self.plan_empty(plan, &entry) } else { self.plan_among(plan, &entry) }?;
        if plan.slots.is_empty() {
            return Ok(first);
        }
        plan.leaves.push((self.page, plan.slots.len()));
        let mut end = first;
        while end == RunEnd::Elsewhere && !plan.rewrites && plan.leaves.len() < LEAVES_MAX && plan.bytes < BYTES_MAX {
            let done = plan.slots.len();
            let Some((key, _)) = entry(done) else { break };
            if !self.go_to_leaf_of(key) {
                break;
            }
            end = self.plan_among(plan, |no| entry(done + no))?;
            if plan.slots.len() == done {
                // What is in its way is met again, when it is the first of a run.
                return Ok(RunEnd::Elsewhere);
            }
            plan.leaves.push((self.page, plan.slots.len()));
        }
        Ok(end)
    }

    /// Latches the leaf of a key behind the last leaf, too; `false` where that is below another parent, is empty, or cannot be had at once.
    fn go_to_leaf_of(&mut self, key: &[u8]) -> bool {
        let Some((parent, slot)) = &mut self.parent else { return false };
        let next = search::child_slot_from(parent, *slot, key);
        if next == *slot || search::order_of_next(parent, next, key) != Some(Ordering::Greater) {
            return false;
        }
        let child = PageNo(search::child_at(parent, next));
        if !parent.validate() {
            return false;
        }
        let Some(leaf) = self.tree.pool().exclusive_if_free(child) else { return false };
        // What is wrong with a page is found by who comes to it first.
        if !parent.validate() || !Node::open(&leaf, child, self.tree.index).is_ok_and(|node| !node.is_inner() && node.count() > 0) {
            return false;
        }
        *slot = next;
        self.page = self.mtr.adopt(leaf);
        true
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
        (plan.prefix, plan.bytes) = (Some(prefix), used);
        Ok(end)
    }

    /// Plans entries for the last leaf, which has some. Into a leaf behind the first one goes what has room as it is.
    fn plan_among<'e>(&self, plan: &mut RunPlan, entry: impl Fn(usize) -> Option<(&'e [u8], &'e [u8])>) -> Result<RunEnd> {
        let node = self.node();
        let (count, prefix) = (node.count(), node.prefix());
        let is_first = plan.leaves.is_empty();
        let mut free = if is_first { node.contiguous() } else { node.contiguous().min(BYTES_MAX - plan.bytes) };
        // Where the entry before would stand among those of the page.
        let (mut at, done) = (0, plan.slots.len());
        loop {
            let no = plan.slots.len() - done;
            let Some((key, value)) = entry(no) else { return Ok(RunEnd::Elsewhere) };
            refuse_large(key, value)?;
            let found = if no == 0 {
                let position = node.find_in_leaf(key);
                at = position.slot;
                position.found
            } else if self.is_elsewhere(key) {
                return Ok(RunEnd::Elsewhere);
            } else if at < count {
                match node.key(at).compare(key) {
                    Ordering::Greater => false,
                    Ordering::Equal => true,
                    Ordering::Less => {
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
                if no > 0 || !is_first {
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
            plan.bytes += need;
            let slot = (at + no) as u16;
            if no == 0 || plan.slots.last().is_none_or(|before| *before + 1 != slot) {
                node.bring_left_near(at);
            }
            plan.slots.push(slot);
        }
    }

    /// Inserts what was planned, and notes the writer on the leaves unless it is none. `note` adds what belongs to the change to the same record.
    pub fn insert<'e>(&mut self, txn_max: TxnId, entry: impl Fn(usize) -> Option<(&'e [u8], &'e [u8])>, note: impl FnOnce(&mut Mtr<'t>)) {
        let plan = std::mem::take(&mut self.plan);
        let get = |no: usize| entry(no).expect("what was planned is there");
        if plan.slots.is_empty() {
            return;
        }
        let mut done = 0;
        for (page, end) in plan.leaves.iter().copied() {
            let node = Node::new(self.mtr.bytes(page));
            let txn_max = if txn_max > node.txn_max() { txn_max } else { TxnId::NONE };
            let (slots, first) = (&plan.slots[done..end], done);
            if plan.rewrites {
                let (key, value) = get(first);
                ops::insert(&mut self.mtr, page, slots[0] as usize, key, value);
                if !txn_max.is_none() {
                    ops::raise_txn_max(&mut self.mtr, page, txn_max);
                }
            } else {
                let prefix = plan.prefix.filter(|_| first == 0).map(|length| &get(0).0[..length]);
                ops::insert_run(&mut self.mtr, page, prefix, slots, txn_max, |no| get(first + no));
            }
            let node = Node::new(self.mtr.bytes(page));
            if node.right().is_none() && slots.last().is_some_and(|last| *last as usize + 1 == node.count()) && node.run() >= APPEND_RUN {
                self.tree.set_append_leaf(self.mtr.page_no(page));
            }
            done = end;
        }
        note(&mut self.mtr);
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
