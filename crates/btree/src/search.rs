//! Binary search in a page, over latched bytes and over bytes that may change under the reader.
//!
//! # Invariants
//! 1. Nothing read is trusted: every offset is checked by the reader, so that torn bytes give a wrong answer (which the caller's validation
//!    refuses) and never a fault.

use std::cmp::Ordering;
use std::hint::select_unpredictable;

use base::PAGE_BYTES;
use buffer_pool::OptimisticGuard;

use crate::layout::{
    CHILD_BYTES, COUNT, HEAD_BYTES, PREFIX_LEN, PREFIX_WORD, Page, SLOT_BYTES, SLOTS, Slot, VALUE_LEN_BYTES, head_of, word_of,
};

/// Most slots a page can have.
pub(crate) const SLOTS_MAX: usize = (PAGE_BYTES - SLOTS) / SLOT_BYTES;

/// Bytes of a page, latched or not. Reads out of range give zeros.
pub(crate) trait Bytes {
    fn u16_at(&self, offset: usize) -> u16;
    fn u64_at(&self, offset: usize) -> u64;
    /// A slot; 0 past the page.
    fn slot_at(&self, slot: usize) -> Slot;
    /// Compares `length` bytes at `offset` with `other`, as byte strings.
    fn compare(&self, offset: usize, length: usize, other: &[u8]) -> Ordering;
    /// Asks the processor for the line of this offset.
    fn bring_near(&self, offset: usize);
}

impl Bytes for Page {
    #[inline(always)]
    fn u16_at(&self, offset: usize) -> u16 {
        self.get(offset..offset + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
    }

    #[inline(always)]
    fn u64_at(&self, offset: usize) -> u64 {
        self.get(offset..offset + 8).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
    }

    #[inline(always)]
    fn slot_at(&self, slot: usize) -> Slot {
        let slots: &[[u8; 8]] = self[SLOTS..].as_chunks().0;
        slots.get(slot).map_or(Slot(0), |bytes| Slot(u64::from_le_bytes(*bytes)))
    }

    #[inline]
    fn compare(&self, offset: usize, length: usize, other: &[u8]) -> Ordering {
        self.get(offset..offset + length).unwrap_or(&[]).cmp(other)
    }

    #[inline]
    fn bring_near(&self, offset: usize) {
        base::bring_near(self, offset);
    }
}

impl Bytes for OptimisticGuard<'_> {
    #[inline(always)]
    fn u16_at(&self, offset: usize) -> u16 {
        OptimisticGuard::u16_at(self, offset)
    }

    #[inline(always)]
    fn u64_at(&self, offset: usize) -> u64 {
        OptimisticGuard::u64_at(self, offset)
    }

    #[inline(always)]
    fn slot_at(&self, slot: usize) -> Slot {
        Slot(OptimisticGuard::u64_at(self, SLOTS + slot * SLOT_BYTES))
    }

    fn compare(&self, offset: usize, length: usize, other: &[u8]) -> Ordering {
        let common = length.min(other.len());
        OptimisticGuard::compare(self, offset, &other[..common]).then(length.cmp(&other.len()))
    }

    #[inline]
    fn bring_near(&self, offset: usize) {
        OptimisticGuard::bring_near(self, offset);
    }
}

/// Position of a key: the slot that has it, or the slot it would be inserted at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) slot: usize,
    pub(crate) found: bool,
}

/// Finds `key` in a page. The first slot of an inner page has no key (it stands for everything below the second) and is not searched.
#[inline]
pub(crate) fn search<B: Bytes, const INNER: bool>(page: &B, key: &[u8]) -> Position {
    let first = INNER as usize;
    let count = (page.u16_at(COUNT) as usize).min(SLOTS_MAX);
    let prefix_len = page.u16_at(PREFIX_LEN) as usize;
    if count <= first {
        return Position { slot: count, found: false };
    }
    let suffix = match without_prefix(page, prefix_len, key) {
        Ok(suffix) => suffix,
        Err(Ordering::Less) => return Position { slot: first, found: false },
        Err(_) => return Position { slot: count, found: false },
    };
    let slot_at = |slot: usize| page.slot_at(slot);
    let head = head_of(suffix);
    // First slot whose head is not below ours. Without branches: they would be mispredicted every second time.
    let bound = u64::from(head) << 32;
    let mut low = first;
    let mut size = count - first;
    while size > 1 {
        let half = size / 2;
        let middle = low + half;
        low = select_unpredictable(slot_at(middle).0 < bound, middle, low);
        size -= half;
    }
    low += (slot_at(low).0 < bound) as usize;
    // Slots with the same head: mostly none or one.
    let compare = |slot: Slot| compare_rest::<B, INNER>(page, slot, suffix);
    if low >= count {
        return Position { slot: count, found: false };
    }
    let slot = slot_at(low);
    if slot.head() != head {
        return Position { slot: low, found: false };
    }
    match compare(slot) {
        Ordering::Equal => return Position { slot: low, found: true },
        Ordering::Greater => return Position { slot: low, found: false },
        Ordering::Less => {}
    }
    let (mut low, mut high) = (low + 1, count);
    while low < high {
        let middle = low + (high - low) / 2;
        let slot = slot_at(middle);
        match slot.head().cmp(&head).then_with(|| compare(slot)) {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return Position { slot: middle, found: true },
            Ordering::Greater => high = middle,
        }
    }
    Position { slot: low, found: false }
}

/// Whether `key` is above every key of a leaf that has some.
#[inline]
pub(crate) fn is_above_all<B: Bytes>(page: &B, key: &[u8]) -> bool {
    let count = (page.u16_at(COUNT) as usize).min(SLOTS_MAX);
    let prefix_len = page.u16_at(PREFIX_LEN) as usize;
    if count == 0 {
        return false;
    }
    let suffix = match without_prefix(page, prefix_len, key) {
        Ok(suffix) => suffix,
        Err(order) => return order == Ordering::Greater,
    };
    order_of_slot::<B, false>(page, count - 1, suffix) == Ordering::Less
}

/// How a slot's key compares with one that has the page's prefix and then this suffix.
#[inline]
fn order_of_slot<B: Bytes, const INNER: bool>(page: &B, slot: usize, suffix: &[u8]) -> Ordering {
    let slot = page.slot_at(slot);
    slot.head().cmp(&head_of(suffix)).then_with(|| compare_rest::<B, INNER>(page, slot, suffix))
}

/// Whether a key that has the page's prefix and then this suffix lies between those of two slots, where there are such.
pub(crate) fn lies_between<B: Bytes, const INNER: bool>(page: &B, left: Option<usize>, right: Option<usize>, suffix: &[u8]) -> bool {
    let order = |slot: usize| order_of_slot::<B, INNER>(page, slot, suffix);
    left.is_none_or(|left| order(left).is_lt()) && right.is_none_or(|right| order(right).is_gt())
}

/// What follows the page's prefix in `key`; an error where it has another one.
pub(crate) fn suffix_in<'k, B: Bytes>(page: &B, key: &'k [u8]) -> Result<&'k [u8], Ordering> {
    without_prefix(page, page.u16_at(PREFIX_LEN) as usize, key)
}

/// What follows the page's prefix in `key`, or how the key compares with all keys that begin with the prefix.
#[inline(always)]
fn without_prefix<'k, B: Bytes>(page: &B, prefix_len: usize, key: &'k [u8]) -> Result<&'k [u8], Ordering> {
    if prefix_len == 0 {
        return Ok(key);
    }
    let bits = 64 - 8 * prefix_len.min(8) as u32;
    let (ours, theirs) = (word_of(key) >> bits, page.u64_at(PREFIX_WORD) >> bits);
    if ours != theirs {
        return Err(ours.cmp(&theirs));
    }
    // A key that ends inside the prefix is below it; padding may have hidden that.
    let Some((start, suffix)) = key.split_at_checked(prefix_len) else {
        return Err(match key.get(8..) {
            Some(rest) if prefix_len <= PAGE_BYTES => {
                page.compare(PAGE_BYTES - prefix_len + 8, rest.len(), rest).reverse().then(Ordering::Less)
            }
            _ => Ordering::Less,
        });
    };
    if prefix_len > 8 && prefix_len <= PAGE_BYTES {
        match page.compare(PAGE_BYTES - prefix_len + 8, prefix_len - 8, &start[8..]) {
            Ordering::Equal => {}
            order => return Err(order.reverse()),
        }
    }
    Ok(suffix)
}

/// Compares a slot's suffix with one that has the same head.
#[inline]
pub(crate) fn compare_rest<B: Bytes, const INNER: bool>(page: &B, slot: Slot, suffix: &[u8]) -> Ordering {
    let length = slot.suffix_len();
    if length <= HEAD_BYTES || suffix.len() <= HEAD_BYTES {
        return length.cmp(&suffix.len());
    }
    let rest = slot.offset() + if INNER { CHILD_BYTES } else { VALUE_LEN_BYTES };
    page.compare(rest, length - HEAD_BYTES, &suffix[HEAD_BYTES..])
}

/// Slot of the child of an inner page that is responsible for `key`.
#[inline]
pub(crate) fn child_slot<B: Bytes>(page: &B, key: &[u8]) -> usize {
    let position = search::<B, true>(page, key);
    // The child's own separator is its smallest possible key. An empty page has no children; torn bytes may look like one.
    if position.found { position.slot } else { position.slot.saturating_sub(1) }
}

/// The same for a key that is not below what the child in slot `from` is responsible for: fast where it belongs to one soon behind.
pub(crate) fn child_slot_from<B: Bytes>(page: &B, from: usize, key: &[u8]) -> usize {
    let count = (page.u16_at(COUNT) as usize).min(SLOTS_MAX);
    let suffix = match without_prefix(page, page.u16_at(PREFIX_LEN) as usize, key) {
        Ok(suffix) => suffix,
        Err(Ordering::Less) => return from,
        Err(_) => return count.saturating_sub(1).max(from),
    };
    let is_reached = |slot: usize| slot < count && order_of_slot::<B, true>(page, slot, suffix) != Ordering::Greater;
    // Steps that double until one goes too far, then halves of the last one. `low` is reached, `low + step` is not.
    let (mut low, mut step) = (from, 1);
    while is_reached(low + step) {
        low += step;
        step *= 2;
    }
    while step > 1 {
        let half = step / 2;
        if is_reached(low + half) {
            low += half;
            step -= half;
        } else {
            step = half;
        }
    }
    low
}

/// How the separator behind `slot` of an inner page compares with `key`; `None` where there is none.
pub(crate) fn order_of_next<B: Bytes>(page: &B, slot: usize, key: &[u8]) -> Option<Ordering> {
    let count = (page.u16_at(COUNT) as usize).min(SLOTS_MAX);
    if slot + 1 >= count {
        return None;
    }
    Some(match without_prefix(page, page.u16_at(PREFIX_LEN) as usize, key) {
        Ok(suffix) => order_of_slot::<B, true>(page, slot + 1, suffix),
        Err(order) => order.reverse(),
    })
}

/// Page number of the child in `slot`.
#[inline]
pub(crate) fn child_at<B: Bytes>(page: &B, slot: usize) -> u64 {
    let slot = Slot(page.u64_at(SLOTS + slot * SLOT_BYTES));
    page.u64_at(slot.offset())
}
