//! Reading a B+tree page that is latched.

use std::cmp::Ordering;

use base::{CACHE_LINE_BYTES, IndexId, PAGE_BYTES, PageNo, TxnId, bring_near};
use page_store::PageType;

use crate::delta::Image;
use crate::error::{Error, Result};
use crate::layout::{
    CAPACITY, CHILD_BYTES, COUNT, GARBAGE, HEAP_TOP, HINT, INDEX_ID, LEFT, LEVEL, PREFIX_LEN, Page, RIGHT, RUN, SLOT_BYTES, SLOTS, Slot,
    TXN_MAX, TYPE, VALUE_LEN_BYTES, common_prefix, entry_bytes, heap_base,
};
use crate::search::{self, Position};

/// A B+tree page under a latch, or in the hand of its only user.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a>(pub(crate) &'a Page);

/// What an insert has to do to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// There is room in one piece.
    InPlace,
    /// There is room once the page is rewritten under a prefix of this length.
    Rewrite(usize),
    /// There is none.
    NoRoom,
}

/// So many lines have the header and the slots of a leaf whose rows have 200 bytes or more.
const LINES_ASKED: usize = 11;

impl<'a> Node<'a> {
    /// Takes a whole page.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Node<'a> {
        Node(bytes.try_into().expect("a page has PAGE_BYTES bytes"))
    }

    /// Asks the processor for a page's header and first slots, before it is known how many there are: a search would wait for the header and then for one line after the other.
    #[inline(always)]
    pub(crate) fn bring_slots_near(self) {
        for line in 0..LINES_ASKED {
            // The place is known to be in the page when this is compiled.
            bring_near(self.0, line * CACHE_LINE_BYTES);
        }
    }

    /// Takes a page that should be of `index`; pages come from disk, so what they say of themselves is checked.
    #[inline]
    pub(crate) fn open(bytes: &'a [u8], page: PageNo, index: IndexId) -> Result<Node<'a>> {
        let node = Node::new(bytes);
        if node.is_of(index) && node.header_is_sound() {
            Ok(node)
        } else {
            Err(Error::Corrupt { index, page, what: "not a page of this index" })
        }
    }

    /// Whether this is a leaf or inner page of `index`.
    #[inline]
    pub(crate) fn is_of(self, index: IndexId) -> bool {
        let expected = if self.level() == 0 { PageType::Leaf } else { PageType::Inner };
        self.0[TYPE] == expected as u8 && self.index() == index
    }

    /// Whether counts and offsets of the header agree with each other.
    #[inline]
    pub(crate) fn header_is_sound(self) -> bool {
        let top = self.heap_top();
        SLOTS + self.count() * SLOT_BYTES <= top && top <= heap_base(self.prefix_len().min(CAPACITY)) && self.prefix_len() < CAPACITY
    }

    #[inline]
    fn u16_at(self, offset: usize) -> u16 {
        u16::from_le_bytes([self.0[offset], self.0[offset + 1]])
    }

    #[inline]
    fn u64_at(self, offset: usize) -> u64 {
        search::Bytes::u64_at(self.0, offset)
    }

    /// 0 for a leaf.
    #[inline]
    pub(crate) fn level(self) -> u16 {
        self.u16_at(LEVEL)
    }

    /// Whether values are child page numbers.
    #[inline]
    pub(crate) fn is_inner(self) -> bool {
        self.level() > 0
    }

    /// First slot that has a key.
    #[inline]
    pub(crate) fn first_keyed(self) -> usize {
        self.is_inner() as usize
    }

    pub(crate) fn index(self) -> IndexId {
        IndexId(u32::from_le_bytes([self.0[INDEX_ID], self.0[INDEX_ID + 1], self.0[INDEX_ID + 2], self.0[INDEX_ID + 3]]))
    }

    /// Slots in use.
    #[inline]
    pub(crate) fn count(self) -> usize {
        self.u16_at(COUNT) as usize
    }

    pub(crate) fn heap_top(self) -> usize {
        self.u16_at(HEAP_TOP) as usize
    }

    pub(crate) fn garbage(self) -> usize {
        self.u16_at(GARBAGE) as usize
    }

    #[inline]
    pub(crate) fn prefix_len(self) -> usize {
        self.u16_at(PREFIX_LEN) as usize
    }

    /// What all keys begin with.
    #[inline]
    pub(crate) fn prefix(self) -> &'a [u8] {
        &self.0[PAGE_BYTES - self.prefix_len()..]
    }

    #[inline]
    pub(crate) fn left(self) -> PageNo {
        PageNo(self.u64_at(LEFT))
    }

    #[inline]
    pub(crate) fn right(self) -> PageNo {
        PageNo(self.u64_at(RIGHT))
    }

    pub(crate) fn hint(self) -> u16 {
        self.u16_at(HINT)
    }

    pub(crate) fn run(self) -> u16 {
        self.u16_at(RUN)
    }

    pub(crate) fn txn_max(self) -> TxnId {
        TxnId(self.u64_at(TXN_MAX))
    }

    #[inline]
    pub(crate) fn slot(self, slot: usize) -> Slot {
        Slot(self.u64_at(SLOTS + slot * SLOT_BYTES))
    }

    /// Finds a key in a leaf.
    #[inline]
    pub(crate) fn find(self, key: &[u8]) -> Position {
        if self.is_inner() { search::search::<_, true>(self.0, key) } else { search::search::<_, false>(self.0, key) }
    }

    /// Finds a key; the page is known to be a leaf.
    #[inline]
    pub(crate) fn find_in_leaf(self, key: &[u8]) -> Position {
        search::search::<_, false>(self.0, key)
    }

    /// Value of a leaf entry, or the child page number of an inner one.
    #[inline]
    pub(crate) fn value(self, slot: usize) -> &'a [u8] {
        let slot = self.slot(slot);
        let at = slot.offset();
        if self.is_inner() {
            return &self.0[at..at + CHILD_BYTES];
        }
        self.value_of(slot)
    }

    /// Value of a leaf entry; the page is known to be a leaf.
    #[inline]
    pub(crate) fn leaf_value(self, slot: usize) -> &'a [u8] {
        self.value_of(self.slot(slot))
    }

    #[inline]
    fn value_of(self, slot: Slot) -> &'a [u8] {
        let at = slot.offset();
        let length = self.u16_at(at) as usize;
        let start = at + VALUE_LEN_BYTES + slot.rest_len();
        &self.0[start..start + length]
    }

    /// Child page of an inner entry.
    #[inline]
    pub(crate) fn child(self, slot: usize) -> PageNo {
        PageNo(search::child_at(self.0, slot))
    }

    /// The key in pieces, as the page keeps it.
    #[inline]
    pub(crate) fn key(self, slot: usize) -> KeyRef<'a> {
        let slot = self.slot(slot);
        let rest = slot.offset() + if self.is_inner() { CHILD_BYTES } else { VALUE_LEN_BYTES };
        KeyRef {
            prefix: self.prefix(),
            head: slot.head().to_be_bytes(),
            head_len: slot.suffix_len().min(4) as u8,
            rest: &self.0[rest..rest + slot.rest_len()],
        }
    }

    /// The key as one byte string.
    pub(crate) fn key_vec(self, slot: usize) -> Vec<u8> {
        let mut key = Vec::new();
        self.key(slot).append_to(&mut key);
        key
    }

    /// A leaf's entry as it lies here.
    #[inline]
    pub(crate) fn image(self, slot: usize) -> Image<'a> {
        let slot = self.slot(slot);
        let at = slot.offset();
        Image {
            head: slot.head().to_be_bytes(),
            suffix_len: slot.suffix_len(),
            value_len: self.u16_at(at).into(),
            heap: &self.0[at + VALUE_LEN_BYTES..],
        }
    }

    /// Asks the processor for the entry on the left of a place, by which one that comes there is told to the log: it lies anywhere in the heap.
    #[inline]
    pub(crate) fn bring_left_near(self, slot: usize) {
        if let Some(left) = slot.checked_sub(1) {
            let at = self.slot(left).offset();
            bring_near(self.0, at);
            bring_near(self.0, at + CACHE_LINE_BYTES);
        }
    }

    /// Heap bytes of an entry.
    #[inline]
    pub(crate) fn entry_bytes(self, slot: usize) -> usize {
        let entry = self.slot(slot);
        match self.is_inner() {
            true => entry_bytes(true, entry.suffix_len(), CHILD_BYTES),
            false => entry_bytes(false, entry.suffix_len(), self.u16_at(entry.offset()) as usize),
        }
    }

    /// Free bytes between the slots and the heap.
    pub(crate) fn contiguous(self) -> usize {
        self.heap_top() - (SLOTS + self.count() * SLOT_BYTES)
    }

    /// Free bytes, counting what a rewrite gives back.
    pub(crate) fn free_bytes(self) -> usize {
        self.contiguous() + self.garbage()
    }

    /// Bytes in use.
    pub(crate) fn used_bytes(self) -> usize {
        CAPACITY - self.free_bytes()
    }

    /// Bytes of all slots and entries.
    pub(crate) fn all_entry_bytes(self) -> usize {
        self.count() * SLOT_BYTES + heap_base(self.prefix_len()) - self.heap_top() - self.garbage()
    }

    /// How an entry would go in at `slot`.
    pub(crate) fn fit(self, slot: usize, key: &[u8], value_len: usize) -> Fit {
        let first = self.first_keyed();
        let inner = self.is_inner();
        let count = self.count();
        if count > first && key.starts_with(self.prefix()) {
            let need = SLOT_BYTES + entry_bytes(inner, key.len() - self.prefix_len(), value_len);
            return if self.contiguous() >= need {
                Fit::InPlace
            } else if self.free_bytes() >= need {
                // Short suffixes lie in the slots, so a longer prefix may cost more than it saves.
                let longer = self.common_prefix_with(slot, key);
                if longer == self.prefix_len() {
                    return Fit::Rewrite(longer);
                }
                let total = self.rewritten_bytes(0..count, longer) + SLOT_BYTES + entry_bytes(inner, key.len() - longer, value_len);
                Fit::Rewrite(if total <= CAPACITY { longer } else { self.prefix_len() })
            } else {
                Fit::NoRoom
            };
        }
        let prefix_len = self.common_prefix_with(slot, key);
        let need = SLOT_BYTES + entry_bytes(inner, key.len() - prefix_len, value_len);
        if self.rewritten_bytes(0..count, prefix_len) + need <= CAPACITY { Fit::Rewrite(prefix_len) } else { Fit::NoRoom }
    }

    /// Bytes of prefix, slots and entries if only these slots were kept, under a prefix of another length.
    pub(crate) fn rewritten_bytes(self, slots: std::ops::Range<usize>, prefix_len: usize) -> usize {
        let inner = self.is_inner();
        let old = self.prefix_len();
        let entries: usize = slots
            .map(|slot| {
                let keyed = slot >= self.first_keyed();
                let suffix_len = if keyed { self.slot(slot).suffix_len() + old - prefix_len } else { 0 };
                SLOT_BYTES + entry_bytes(inner, suffix_len, self.value(slot).len())
            })
            .sum();
        PAGE_BYTES - heap_base(prefix_len) + entries
    }

    /// Length of the prefix under which these slots are kept when the others go: what they share, unless the old one takes less room.
    pub(crate) fn prefix_for(self, slots: std::ops::Range<usize>) -> usize {
        let shared = self.prefix_of(slots.clone());
        // Under the prefix that they have they fit.
        if shared == self.prefix_len() || self.rewritten_bytes(slots, shared) <= CAPACITY { shared } else { self.prefix_len() }
    }

    /// Length of the prefix that the page's keys share with `key`, which stands at `slot` among them. A lone key leaves its last four
    /// bytes to the slot, so that its successors do not each shorten the prefix.
    fn common_prefix_with(self, slot: usize, key: &[u8]) -> usize {
        let (first, count) = (self.first_keyed(), self.count());
        if count <= first {
            return key.len().saturating_sub(4);
        }
        // Keys are in order, so what the outermost two share, all share.
        if slot <= first {
            self.key(count - 1).common_prefix(key)
        } else if slot >= count {
            self.key(first).common_prefix(key)
        } else {
            self.prefix_of(first..count)
        }
    }

    /// Length of the prefix that the keys of these slots share.
    pub(crate) fn prefix_of(self, slots: std::ops::Range<usize>) -> usize {
        let start = slots.start.max(self.first_keyed());
        match slots.end.saturating_sub(start) {
            0 => 0,
            1 => self.key(start).len().saturating_sub(4),
            _ => common_prefix(&self.key_vec(start), &self.key_vec(slots.end - 1)),
        }
    }
}

/// A key as a page keeps it: the page's prefix, up to four bytes in the slot, the rest in the heap.
#[derive(Debug, Clone, Copy)]
pub struct KeyRef<'a> {
    prefix: &'a [u8],
    head: [u8; 4],
    head_len: u8,
    rest: &'a [u8],
}

impl<'a> KeyRef<'a> {
    /// Bytes of the key.
    #[inline]
    pub fn len(&self) -> usize {
        self.prefix.len() + self.head_len as usize + self.rest.len()
    }

    /// Whether the key has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The three pieces, in order; all keys of a leaf have the same first piece.
    #[inline]
    pub fn pieces(&self) -> [&[u8]; 3] {
        [self.prefix, &self.head[..self.head_len as usize], self.rest]
    }

    /// Appends the key.
    #[inline]
    pub fn append_to(&self, out: &mut Vec<u8>) {
        out.reserve(self.len());
        out.extend_from_slice(self.prefix);
        out.extend_from_slice(&self.head[..self.head_len as usize]);
        out.extend_from_slice(self.rest);
    }

    /// Whether the key begins with these bytes.
    #[inline]
    pub fn starts_with(&self, start: &[u8]) -> bool {
        let mut left = start;
        for piece in self.pieces() {
            let shared = piece.len().min(left.len());
            let (expected, behind) = left.split_at(shared);
            if piece[..shared] != *expected {
                return false;
            }
            left = behind;
        }
        left.is_empty()
    }

    /// Compares the key as a byte string.
    pub fn compare(&self, other: &[u8]) -> Ordering {
        let mut rest = other;
        for piece in self.pieces() {
            let shared = piece.len().min(rest.len());
            match piece[..shared].cmp(&rest[..shared]) {
                Ordering::Equal if shared == piece.len() => rest = &rest[shared..],
                Ordering::Equal => return Ordering::Greater,
                unequal => return unequal,
            }
        }
        if rest.is_empty() { Ordering::Equal } else { Ordering::Less }
    }

    /// Bytes that both begin with.
    fn common_prefix(&self, other: &[u8]) -> usize {
        let mut total = 0;
        for piece in self.pieces() {
            let shared = common_prefix(piece, &other[total..]);
            total += shared;
            if shared < piece.len() {
                break;
            }
        }
        total
    }
}
