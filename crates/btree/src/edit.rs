//! Changing a B+tree page. Every change is a function of the page's bytes and its arguments alone, so that redo gives the same bytes.
//!
//! # Invariants
//! 1. A change that does not fit leaves the page as it was.
//! 2. Slots are in key order; the first slot of an inner page has no key.
//! 3. `garbage` counts exactly the heap bytes that no slot names.

use base::{IndexId, PAGE_BYTES, PageNo, TxnId};
use page_store::PageType;

use crate::layout::{
    CHILD_BYTES, COUNT, GARBAGE, HEAD_BYTES, HEAP_TOP, HINT, INDEX_ID, LEFT, LEVEL, PREFIX_LEN, PREFIX_WORD, Page, RIGHT, RUN, SLOT_BYTES,
    SLOTS, Slot, TXN_MAX, TYPE, VALUE_LEN_BYTES, entry_bytes, head_of, heap_base, word_of,
};
use crate::node::{Fit, Node};

/// The page has no room for the change, which was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom;

/// What a page is, apart from its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) index: IndexId,
    pub(crate) level: u16,
    pub(crate) left: PageNo,
    pub(crate) right: PageNo,
    pub(crate) txn_max: TxnId,
    /// Length of the run of ascending inserts that this page continues.
    pub(crate) run: u16,
}

/// A B+tree page under an exclusive latch.
pub(crate) struct NodeMut<'a>(&'a mut Page);

impl<'a> NodeMut<'a> {
    /// Takes a whole page.
    #[inline]
    pub(crate) fn new(bytes: &'a mut [u8]) -> NodeMut<'a> {
        NodeMut(bytes.try_into().expect("a page has PAGE_BYTES bytes"))
    }

    /// For reading.
    #[inline]
    pub(crate) fn node(&self) -> Node<'_> {
        Node(self.0)
    }

    #[inline]
    fn set_u16(&mut self, offset: usize, value: usize) {
        debug_assert!(value <= u16::MAX as usize);
        self.0[offset..offset + 2].copy_from_slice(&(value as u16).to_le_bytes());
    }

    fn set_u64(&mut self, offset: usize, value: u64) {
        self.0[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
    }

    #[inline]
    fn set_slot(&mut self, slot: usize, value: Slot) {
        self.set_u64(SLOTS + slot * SLOT_BYTES, value.0);
    }

    /// Sets the link to the left sibling.
    pub(crate) fn set_left(&mut self, page: PageNo) {
        self.set_u64(LEFT, page.0);
    }

    /// Sets the link to the right sibling.
    pub(crate) fn set_right(&mut self, page: PageNo) {
        self.set_u64(RIGHT, page.0);
    }

    /// Sets the highest writer transaction id.
    pub(crate) fn set_txn_max(&mut self, txn: TxnId) {
        self.set_u64(TXN_MAX, txn.0);
    }

    /// Makes this a page without entries. Page number and LSN stay.
    pub(crate) fn init(&mut self, identity: Identity, prefix: &[u8]) {
        self.0[COUNT..].fill(0);
        self.init_zeroed(identity, prefix);
    }

    /// The same where the page is zero behind its common header.
    pub(crate) fn init_zeroed(&mut self, identity: Identity, prefix: &[u8]) {
        self.0[TYPE] = if identity.level == 0 { PageType::Leaf as u8 } else { PageType::Inner as u8 };
        self.set_u16(LEVEL, identity.level as usize);
        self.0[INDEX_ID..INDEX_ID + 4].copy_from_slice(&identity.index.0.to_le_bytes());
        self.set_txn_max(identity.txn_max);
        self.set_left(identity.left);
        self.set_right(identity.right);
        self.set_u16(HINT, u16::MAX as usize);
        self.set_u16(RUN, identity.run as usize);
        self.clear(prefix);
    }

    /// Says that the page is in no tree any more: parked cursors and hints must not take it for what it was.
    pub(crate) fn retire(&mut self) {
        self.0[TYPE] = PageType::Other as u8;
        self.clear(&[]);
    }

    /// Drops all entries and sets the prefix.
    fn clear(&mut self, prefix: &[u8]) {
        self.set_u16(COUNT, 0);
        self.set_u16(GARBAGE, 0);
        self.set_u16(PREFIX_LEN, prefix.len());
        self.set_u16(HEAP_TOP, heap_base(prefix.len()));
        self.set_u64(PREFIX_WORD, word_of(prefix));
        self.0[PAGE_BYTES - prefix.len()..].copy_from_slice(prefix);
    }

    /// Adds an entry behind the last one; the key comes without the page's prefix.
    pub(crate) fn push(&mut self, suffix: &[u8], value: &[u8]) -> Result<(), NoRoom> {
        let count = self.node().count();
        if self.node().contiguous() < SLOT_BYTES + entry_bytes(self.node().is_inner(), suffix.len(), value.len()) {
            return Err(NoRoom);
        }
        self.place(count, suffix, value);
        self.set_u16(COUNT, count + 1);
        Ok(())
    }

    /// Writes an entry into the heap and its slot. There is room.
    #[inline]
    fn place(&mut self, slot: usize, suffix: &[u8], value: &[u8]) {
        let inner = self.node().is_inner();
        let at = self.node().heap_top() - entry_bytes(inner, suffix.len(), value.len());
        let rest = suffix.get(4..).unwrap_or(&[]);
        if inner {
            self.0[at..at + 8].copy_from_slice(value);
            self.0[at + 8..at + 8 + rest.len()].copy_from_slice(rest);
        } else {
            self.set_u16(at, value.len());
            let start = at + VALUE_LEN_BYTES;
            self.0[start..start + rest.len()].copy_from_slice(rest);
            self.0[start + rest.len()..start + rest.len() + value.len()].copy_from_slice(value);
        }
        self.set_slot(slot, Slot::new(suffix, at));
        self.set_u16(HEAP_TOP, at);
    }

    /// Inserts an entry so that it has slot number `slot`.
    pub(crate) fn insert(&mut self, slot: usize, key: &[u8], value: &[u8]) -> Result<(), NoRoom> {
        match self.node().fit(slot, key, value.len()) {
            Fit::NoRoom => return Err(NoRoom),
            Fit::InPlace => {
                let count = self.node().count();
                let from = SLOTS + slot * SLOT_BYTES;
                let to = SLOTS + count * SLOT_BYTES;
                self.0.copy_within(from..to, from + SLOT_BYTES);
                let prefix_len = self.node().prefix_len();
                self.place(slot, &key[prefix_len..], value);
                self.set_u16(COUNT, count + 1);
            }
            Fit::Rewrite(prefix_len) => {
                let old = *self.0;
                let old = Node(&old);
                // A full key at hand whose first bytes are the new prefix; the slots before and behind the new one keep their order.
                self.clear(&key[..prefix_len]);
                self.copy_slots(old, 0..slot).expect("room was computed");
                self.push(&key[prefix_len..], value).expect("room was computed");
                self.copy_slots(old, slot..old.count()).expect("room was computed");
            }
        }
        let run = if slot == self.node().hint().wrapping_add(1) as usize { self.node().run().saturating_add(1) } else { 0 };
        self.set_u16(HINT, slot);
        self.set_u16(RUN, run as usize);
        Ok(())
    }

    /// Makes an empty page ready for entries that all begin with `prefix`.
    pub(crate) fn begin(&mut self, prefix: &[u8]) {
        debug_assert_eq!(self.node().count(), 0);
        self.clear(prefix);
    }

    /// Moves slots apart, so that there is one at each of these numbers, in ascending order, and counts them; [`NodeMut::put_at`] fills them. `bytes`: what the entries take in the heap.
    pub(crate) fn open_slots(&mut self, slots: &[u16], bytes: usize) -> Result<(), NoRoom> {
        let (count, more) = (self.node().count(), slots.len());
        // The one at `slots[no]` stands before the page's own from `slots[no] - no` on.
        let mut before = 0;
        for (no, slot) in slots.iter().enumerate() {
            let own = (*slot as usize).checked_sub(no).filter(|own| *own >= before && *own <= count).ok_or(NoRoom)?;
            before = own;
        }
        if self.node().contiguous() < bytes.saturating_add(more * SLOT_BYTES) {
            return Err(NoRoom);
        }
        let mut end = count;
        for (no, slot) in slots.iter().enumerate().rev() {
            let own = *slot as usize - no;
            let from = SLOTS + own * SLOT_BYTES..SLOTS + end * SLOT_BYTES;
            self.0.copy_within(from, SLOTS + (own + no + 1) * SLOT_BYTES);
            end = own;
        }
        self.set_u16(COUNT, count + more);
        let (mut hint, mut run) = (self.node().hint(), self.node().run());
        for slot in slots {
            run = if *slot == hint.wrapping_add(1) { run.saturating_add(1) } else { 0 };
            hint = *slot;
        }
        self.set_u16(HINT, hint as usize);
        self.set_u16(RUN, run as usize);
        Ok(())
    }

    /// Writes an entry of an opened slot; the key comes without the page's prefix.
    #[inline]
    pub(crate) fn put_at(&mut self, slot: usize, suffix: &[u8], value: &[u8]) {
        self.place(slot, suffix, value);
    }

    /// Appends entries of an old image of this page, under the prefix now set, which they share.
    pub(crate) fn copy_slots(&mut self, old: Node<'_>, slots: std::ops::Range<usize>) -> Result<(), NoRoom> {
        match self.node().prefix_len().checked_sub(old.prefix_len()) {
            Some(0) => self.copy_entries(old, slots),
            Some(longer) if !old.is_inner() => self.copy_shortened(old, slots, longer),
            _ => self.rebuild_entries(old, slots),
        }
    }

    /// The same where the prefix has not changed: entries are copied as they are, which leaves the same bytes as [`NodeMut::rebuild_entries`].
    pub(crate) fn copy_entries(&mut self, old: Node<'_>, slots: std::ops::Range<usize>) -> Result<(), NoRoom> {
        let inner = old.is_inner();
        let (mut count, mut top) = (self.node().count(), self.node().heap_top());
        for slot in slots {
            let (entry, value_len) = (old.slot(slot), old.value(slot).len());
            let bytes = entry_bytes(inner, entry.suffix_len(), value_len);
            if top - (SLOTS + count * SLOT_BYTES) < SLOT_BYTES + bytes {
                return Err(NoRoom);
            }
            top -= bytes;
            // In an inner page what rounds an entry up stays behind.
            let used = if inner { CHILD_BYTES + entry.rest_len() } else { bytes };
            self.0[top..top + used].copy_from_slice(&old.0[entry.offset()..entry.offset() + used]);
            self.set_slot(count, Slot(entry.0 & !0xffff | top as u64));
            count += 1;
        }
        self.set_u16(COUNT, count);
        self.set_u16(HEAP_TOP, top);
        Ok(())
    }

    /// The same for a leaf whose prefix is by so many bytes longer now: suffixes lose them.
    pub(crate) fn copy_shortened(&mut self, old: Node<'_>, slots: std::ops::Range<usize>, longer: usize) -> Result<(), NoRoom> {
        let (mut count, mut top) = (self.node().count(), self.node().heap_top());
        for slot in slots {
            let (entry, value) = (old.slot(slot), old.leaf_value(slot));
            let suffix_len = entry.suffix_len().checked_sub(longer).ok_or(NoRoom)?;
            let bytes = entry_bytes(false, suffix_len, value.len());
            if top - (SLOTS + count * SLOT_BYTES) < SLOT_BYTES + bytes {
                return Err(NoRoom);
            }
            top -= bytes;
            self.set_u16(top, value.len());
            // What is left of the suffix in the heap stands directly before the value there, too.
            let start = entry.offset() + VALUE_LEN_BYTES;
            let end = start + entry.rest_len() + value.len();
            let used = bytes - VALUE_LEN_BYTES;
            self.0[top + VALUE_LEN_BYTES..top + bytes].copy_from_slice(&old.0[end - used..end]);
            let rest = &old.0[start..start + entry.rest_len()];
            let head = match longer.checked_sub(HEAD_BYTES) {
                Some(skipped) => head_of(rest.get(skipped..).unwrap_or(&[])),
                None => ((u64::from(entry.head()) << 32 | u64::from(head_of(rest))) << (8 * longer) >> 32) as u32,
            };
            self.set_slot(count, Slot(u64::from(head) << 32 | (suffix_len as u64) << 16 | top as u64));
            count += 1;
        }
        self.set_u16(COUNT, count);
        self.set_u16(HEAP_TOP, top);
        Ok(())
    }

    /// The same under any prefix that the entries share.
    pub(crate) fn rebuild_entries(&mut self, old: Node<'_>, slots: std::ops::Range<usize>) -> Result<(), NoRoom> {
        let prefix_len = self.node().prefix_len();
        let mut key = Vec::new();
        for slot in slots {
            key.clear();
            if slot >= old.first_keyed() {
                old.key(slot).append_to(&mut key);
                self.push(key.get(prefix_len..).ok_or(NoRoom)?, old.value(slot))?;
            } else {
                self.push(&[], old.value(slot))?;
            }
        }
        Ok(())
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, slot: usize) {
        let node = self.node();
        let (count, bytes, offset, top) = (node.count(), node.entry_bytes(slot), node.slot(slot).offset(), node.heap_top());
        assert!(slot < count, "remove of slot {slot} of {count}");
        let (garbage, hint) = (node.garbage(), node.hint());
        let from = SLOTS + (slot + 1) * SLOT_BYTES;
        self.0.copy_within(from..SLOTS + count * SLOT_BYTES, from - SLOT_BYTES);
        self.set_u16(COUNT, count - 1);
        if offset == top {
            self.set_u16(HEAP_TOP, top + bytes);
        } else {
            self.set_u16(GARBAGE, garbage + bytes);
        }
        if hint != u16::MAX && slot <= hint as usize {
            self.set_u16(HINT, hint.wrapping_sub(1) as usize);
        }
    }

    /// Whether a value of `length` can stand in for the one in `slot`.
    pub(crate) fn can_replace(node: Node<'_>, slot: usize, length: usize) -> bool {
        let old = node.leaf_value(slot).len();
        length <= old || node.contiguous() >= entry_bytes(false, node.slot(slot).suffix_len(), length) || node.free_bytes() + old >= length
    }

    /// Gives a leaf entry another value.
    pub(crate) fn replace(&mut self, slot: usize, value: &[u8]) -> Result<(), NoRoom> {
        let node = self.node();
        debug_assert!(!node.is_inner());
        let entry = node.slot(slot);
        let (old_len, garbage) = (node.leaf_value(slot).len(), node.garbage());
        if !Self::can_replace(node, slot, value.len()) {
            return Err(NoRoom);
        }
        let need = entry_bytes(false, entry.suffix_len(), value.len());
        if value.len() <= old_len {
            let start = entry.offset() + VALUE_LEN_BYTES + entry.rest_len();
            self.set_u16(entry.offset(), value.len());
            self.0[start..start + value.len()].copy_from_slice(value);
            self.set_u16(GARBAGE, garbage + old_len - value.len());
            return Ok(());
        }
        if node.contiguous() >= need {
            let old_bytes = node.entry_bytes(slot);
            let at = node.heap_top() - need;
            let rest = entry.offset() + VALUE_LEN_BYTES;
            self.set_u16(at, value.len());
            self.0.copy_within(rest..rest + entry.rest_len(), at + VALUE_LEN_BYTES);
            let start = at + VALUE_LEN_BYTES + entry.rest_len();
            self.0[start..start + value.len()].copy_from_slice(value);
            self.set_slot(slot, Slot(entry.0 & !0xffff | at as u64));
            self.set_u16(HEAP_TOP, at);
            self.set_u16(GARBAGE, garbage + old_bytes);
            return Ok(());
        }
        let old = *self.0;
        let old = Node(&old);
        let prefix = old.prefix();
        self.clear(prefix);
        self.copy_slots(old, 0..slot).expect("room was computed");
        self.push(&old.key_vec(slot)[prefix.len()..], value).expect("room was computed");
        self.copy_slots(old, slot + 1..old.count()).expect("room was computed");
        Ok(())
    }

    /// Overwrites bytes inside a value. The range is inside.
    pub(crate) fn patch(&mut self, slot: usize, offset: usize, bytes: &[u8]) {
        let node = self.node();
        let entry = node.slot(slot);
        let length = node.value(slot).len();
        assert!(offset + bytes.len() <= length, "patch of {}..{} in a value of {length}", offset, offset + bytes.len());
        let start = if node.is_inner() { entry.offset() } else { entry.offset() + VALUE_LEN_BYTES + entry.rest_len() } + offset;
        self.0[start..start + bytes.len()].copy_from_slice(bytes);
    }

    /// Keeps the slots below `keep` only.
    pub(crate) fn truncate(&mut self, keep: usize) {
        let old = *self.0;
        let old = Node(&old);
        assert!(keep <= old.count());
        if keep == old.count() {
            return;
        }
        let prefix_len = old.prefix_for(0..keep);
        let prefix = if keep > old.first_keyed() {
            old.key_vec(old.first_keyed())[..prefix_len].to_vec()
        } else {
            old.prefix()[..prefix_len].to_vec()
        };
        self.clear(&prefix);
        self.copy_slots(old, 0..keep).expect("room was computed");
        // A run of ascending inserts that ends below goes on.
        if old.hint() as usize >= keep {
            self.set_u16(HINT, u16::MAX as usize);
            self.set_u16(RUN, 0);
        }
    }

    /// Appends the entries of the right sibling, given with whole keys; the page gets a prefix of this length, which all keys share.
    pub(crate) fn append<'e>(
        &mut self,
        prefix_len: usize,
        entries: impl Iterator<Item = (&'e [u8], &'e [u8])> + Clone,
    ) -> Result<(), NoRoom> {
        let old = *self.0;
        let node = Node(&old);
        let prefix = if node.count() > node.first_keyed() {
            node.key_vec(node.first_keyed())
        } else {
            entries.clone().next().map_or(Vec::new(), |(key, _)| key.to_vec())
        };
        self.clear(prefix.get(..prefix_len).ok_or(NoRoom)?);
        let whole = self
            .copy_slots(node, 0..node.count())
            .and_then(|()| entries.into_iter().try_for_each(|(key, value)| self.push(key.get(prefix_len..).ok_or(NoRoom)?, value)));
        if whole.is_err() {
            *self.0 = old;
        }
        whole
    }
}
