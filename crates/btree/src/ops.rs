//! The tree's operations in the log: one function that changes a page, one code, one payload each.
//!
//! # Invariants
//! 1. `redo` calls the same function of `edit.rs` that made the change, so the same page gives the same bytes.
//! 2. A payload holds nothing that depends on other pages. What it leaves out ([`INSERT_RUN`]) the page itself has.
//!
//! The payloads' table is in `docs/format/btree.md`.

use base::{IndexId, Malformed, PAGE_BYTES, PageNo, Reader, TxnId, put_bytes, put_u8, put_varint};
use buffer_pool::{Mtr, PageRef, RedoHandler};
use smallvec::SmallVec;

use crate::delta::{self, Image};
use crate::edit::{Identity, NodeMut};
use crate::layout::{CAPACITY, CHILD_BYTES, ENTRY_BYTES_MAX, SLOT_BYTES, SLOTS, Slot};
use crate::node::Node;
use crate::overflow;
use crate::search;
use crate::tree::BTree;

/// Makes the page a B+tree page with these entries.
pub const LOAD: u8 = 0x20;
/// Inserts an entry.
pub const INSERT: u8 = 0x21;
/// Removes an entry.
pub const REMOVE: u8 = 0x22;
/// Gives an entry another value.
pub const REPLACE: u8 = 0x23;
/// Overwrites bytes of a value.
pub const PATCH: u8 = 0x24;
/// Removes the entries from a slot on and sets the right sibling: the left half of a split.
pub const TRUNCATE: u8 = 0x25;
/// Appends entries and sets the right sibling: the left page of a merge.
pub const APPEND: u8 = 0x26;
/// Sets the left sibling.
pub const SET_LEFT: u8 = 0x27;
/// Raises the highest writer transaction id.
pub const RAISE_TXN_MAX: u8 = 0x28;
/// The page left its tree.
pub const RETIRE: u8 = 0x29;
/// Fills a page of an overflow chain.
pub const OVERFLOW_FILL: u8 = 0x2a;
/// Sets the next page of an overflow chain.
pub const OVERFLOW_LINK: u8 = 0x2b;
/// Inserts entries in ascending order. A feature of format 5 (`engine/src/format.rs`).
pub const INSERT_RUN: u8 = 0x2c;
/// Makes the page a leaf with these entries, each told by what differs from the one before. From [`DELTAS_FROM_FORMAT`] on; before, [`LOAD`] does it.
pub const LOAD_LEAF: u8 = 0x2d;

/// First format of a directory in whose log operation 0x2d may stand.
pub const DELTAS_FROM_FORMAT: u32 = 5;

/// Forms of [`INSERT_RUN`]: under the page's prefix, or in an empty page, which gets one. Each entry is told by what differs from the one on its left (`delta.rs`).
const RUN_IN_PLACE: u8 = 2;
const RUN_IN_EMPTY: u8 = 3;
/// The same of builds before: of the entries is told what differs from a head that all values have, and from the key before.
const OLD_RUN_IN_PLACE: u8 = 0;
const OLD_RUN_IN_EMPTY: u8 = 1;

/// How much of the key an insert's payload leaves out.
const WHOLE_KEY: u8 = 0;
const WITHOUT_PREFIX: u8 = 1;

/// Does and logs [`INSERT`]. There is room. The page's own prefix is left out of the logged key when the key has it.
#[inline]
pub(crate) fn insert(mtr: &mut Mtr<'_>, page: PageRef, slot: usize, key: &[u8], value: &[u8]) {
    let prefix = Node::new(mtr.bytes(page)).prefix();
    let skip = if key.starts_with(prefix) { prefix.len() } else { 0 };
    NodeMut::new(mtr.bytes_mut(page)).insert(slot, key, value).expect("room was looked for");
    let number = mtr.page_no(page);
    mtr.log(INSERT, Some(number), |out| encode_insert(out, skip, slot, key, value));
}

#[inline]
fn encode_insert(out: &mut Vec<u8>, skip: usize, slot: usize, key: &[u8], value: &[u8]) {
    put_u8(out, if skip > 0 { WITHOUT_PREFIX } else { WHOLE_KEY });
    put_varint(out, slot as u64);
    put_bytes(out, &key[skip..]);
    out.extend_from_slice(value);
}

/// Does and logs [`INSERT_RUN`]: entries for these slots, ascending; there is room. With a `prefix` the page is empty, and gets it; without, all keys begin with the page's.
pub(crate) fn insert_run<'e>(
    mtr: &mut Mtr<'_>,
    page: PageRef,
    prefix: Option<&[u8]>,
    slots: &[u16],
    txn_max: TxnId,
    entry: impl Fn(usize) -> (&'e [u8], &'e [u8]),
) {
    let mut node = NodeMut::new(mtr.bytes_mut(page));
    if let Some(prefix) = prefix {
        node.begin(prefix);
    }
    let skip = node.node().prefix_len();
    let bytes = (0..slots.len()).map(&entry).map(|(key, value)| layout_bytes(key.len() - skip, value.len())).sum();
    node.open_slots(slots, bytes).expect("room was looked for");
    for (no, slot) in slots.iter().enumerate() {
        let (key, value) = entry(no);
        node.put_at(*slot as usize, &key[skip..], value);
    }
    if !txn_max.is_none() {
        node.set_txn_max(txn_max);
    }
    mtr.log_of_page(INSERT_RUN, page, |page, out| encode_run(out, Node::new(page), prefix, slots, bytes, txn_max));
}

fn layout_bytes(suffix_len: usize, value_len: usize) -> usize {
    crate::layout::entry_bytes(false, suffix_len, value_len)
}

/// Payload of [`INSERT_RUN`] for a leaf in which the entries stand already, their bytes as given.
fn encode_run(out: &mut Vec<u8>, node: Node<'_>, prefix: Option<&[u8]>, slots: &[u16], bytes: usize, txn_max: TxnId) {
    put_u8(out, if prefix.is_some() { RUN_IN_EMPTY } else { RUN_IN_PLACE });
    put_varint(out, txn_max.0);
    if let Some(prefix) = prefix {
        put_bytes(out, prefix);
    }
    put_varint(out, slots.len() as u64);
    let (mut entries, mut next) = (delta::Writer::new(out, slots.len(), bytes), 0);
    for slot in slots {
        entries.number((slot - next).into());
        entries.entry(left_of(node, *slot), node.image(usize::from(*slot)));
        next = slot + 1;
    }
    entries.finish();
}

/// The entry on the left of a slot of a leaf; an empty one for the first.
#[inline]
fn left_of(node: Node<'_>, slot: u16) -> Image<'_> {
    slot.checked_sub(1).map_or_else(Image::default, |left| node.image(usize::from(left)))
}

/// Reads the entries of runs as builds before told them: behind a head that all values have, and what the suffix shares with the one before.
struct OldRun<'p> {
    head: &'p [u8],
    suffix: Vec<u8>,
    value: Vec<u8>,
}

impl OldRun<'_> {
    /// Passes over an entry; returns the lengths of suffix and value. `before` is the length of the suffix before.
    fn skip(&self, reader: &mut Reader<'_>, before: usize) -> Result<(usize, usize), Malformed> {
        let shared: usize = narrow(reader.varint()?)?;
        if shared > before {
            return Err(Malformed);
        }
        Ok((shared + reader.bytes()?.len(), self.head.len() + reader.bytes()?.len()))
    }

    /// Reads one that was passed over.
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        self.suffix.truncate(narrow(reader.varint()?)?);
        self.suffix.extend_from_slice(reader.bytes()?);
        self.value.clear();
        self.value.extend_from_slice(self.head);
        self.value.extend_from_slice(reader.bytes()?);
        Ok(())
    }
}

/// Carries out [`INSERT_RUN`]: all of the payload is looked at before the page is touched.
fn redo_run(page: &mut [u8], payload: &[u8]) -> Result<(), Malformed> {
    let mut reader = Reader::new(payload);
    let form = reader.u8()?;
    let txn_max = TxnId(reader.varint()?);
    let mut node = NodeMut::new(page);
    if node.node().is_inner() {
        return Err(Malformed);
    }
    let prefix = match form {
        RUN_IN_PLACE | OLD_RUN_IN_PLACE => None,
        RUN_IN_EMPTY | OLD_RUN_IN_EMPTY if node.node().count() == 0 => {
            Some(reader.bytes()?).filter(|prefix| prefix.len() <= ENTRY_BYTES_MAX)
        }
        _ => return Err(Malformed),
    };
    if matches!(form, RUN_IN_EMPTY | OLD_RUN_IN_EMPTY) != prefix.is_some() {
        return Err(Malformed);
    }
    let count: usize = narrow(reader.varint()?)?;
    let mut old = match form {
        OLD_RUN_IN_PLACE | OLD_RUN_IN_EMPTY => Some(OldRun { head: reader.bytes()?, suffix: Vec::new(), value: Vec::new() }),
        _ => None,
    };
    let mut entries = reader.clone();
    let (mut slots, mut bytes, mut suffix_len, mut next) = (Vec::new(), 0usize, 0usize, 0u64);
    for _ in 0..count {
        let slot = next.checked_add(reader.varint()?).ok_or(Malformed)?;
        slots.push(u16::try_from(slot).map_err(|_| Malformed)?);
        next = slot + 1;
        let value_len;
        (suffix_len, value_len) = match &old {
            None => delta::skip(&mut reader)?,
            Some(old) => old.skip(&mut reader, suffix_len)?,
        };
        if suffix_len + value_len > PAGE_BYTES {
            return Err(Malformed);
        }
        bytes += layout_bytes(suffix_len, value_len);
    }
    if !reader.is_empty() {
        return Err(Malformed);
    }
    if let Some(prefix) = prefix {
        node.begin(prefix);
    }
    node.open_slots(&slots, bytes).map_err(|_| Malformed)?;
    let mut told = delta::Told::default();
    for (no, &slot) in slots.iter().enumerate() {
        entries.varint()?;
        let (suffix, value) = match &mut old {
            None => {
                told.set(left_of(node.node(), slot));
                delta::read(&mut entries, &mut told)?;
                (told.suffix(), told.value())
            }
            Some(old) => {
                old.read(&mut entries)?;
                (&*old.suffix, &*old.value)
            }
        };
        // As [`is_between`]. The next slot may be one of those that are filled yet.
        let right = (slots.get(no + 1) != Some(&(slot + 1))).then_some(usize::from(slot) + 1).filter(|right| *right < node.node().count());
        if !search::lies_between::<_, false>(node.node().0, slot.checked_sub(1).map(usize::from), right, suffix) {
            return Err(Malformed);
        }
        node.put_at(slot as usize, suffix, value);
    }
    if txn_max > node.node().txn_max() {
        node.set_txn_max(txn_max);
    }
    Ok(())
}

/// Whether a key lies between those that it comes between. An image of the page from before other changes, which a write that was lost has left on the disk, has room for most
/// insertions; this finds many of them out.
fn is_between(node: Node<'_>, slot: usize, key: &[u8]) -> bool {
    let left = slot.checked_sub(1).filter(|left| *left >= node.first_keyed());
    let right = (slot < node.count()).then_some(slot);
    match search::suffix_in(node.0, key) {
        Ok(suffix) if node.is_inner() => search::lies_between::<_, true>(node.0, left, right, suffix),
        Ok(suffix) => search::lies_between::<_, false>(node.0, left, right, suffix),
        Err(order) => {
            if order.is_lt() {
                left.is_none()
            } else {
                right.is_none()
            }
        }
    }
}

/// Does and logs [`REMOVE`].
pub(crate) fn remove(mtr: &mut Mtr<'_>, page: PageRef, slot: usize) {
    NodeMut::new(mtr.bytes_mut(page)).remove(slot);
    let number = mtr.page_no(page);
    mtr.log(REMOVE, Some(number), |out| put_varint(out, slot as u64));
}

/// Does and logs [`REPLACE`]. There is room.
pub(crate) fn replace(mtr: &mut Mtr<'_>, page: PageRef, slot: usize, value: &[u8]) {
    NodeMut::new(mtr.bytes_mut(page)).replace(slot, value).expect("room was looked for");
    let number = mtr.page_no(page);
    mtr.log(REPLACE, Some(number), |out| {
        put_varint(out, slot as u64);
        out.extend_from_slice(value);
    });
}

/// Does and logs [`PATCH`].
pub(crate) fn patch(mtr: &mut Mtr<'_>, page: PageRef, slot: usize, offset: usize, bytes: &[u8]) {
    NodeMut::new(mtr.bytes_mut(page)).patch(slot, offset, bytes);
    let number = mtr.page_no(page);
    mtr.log(PATCH, Some(number), |out| {
        put_varint(out, slot as u64);
        put_varint(out, offset as u64);
        out.extend_from_slice(bytes);
    });
}

/// Does and logs [`TRUNCATE`].
pub(crate) fn truncate(mtr: &mut Mtr<'_>, page: PageRef, keep: usize, right: PageNo) {
    let mut node = NodeMut::new(mtr.bytes_mut(page));
    node.truncate(keep);
    node.set_right(right);
    let number = mtr.page_no(page);
    mtr.log(TRUNCATE, Some(number), |out| {
        put_varint(out, keep as u64);
        put_varint(out, right.0);
    });
}

/// Does and logs [`SET_LEFT`].
pub(crate) fn set_left(mtr: &mut Mtr<'_>, page: PageRef, left: PageNo) {
    NodeMut::new(mtr.bytes_mut(page)).set_left(left);
    let number = mtr.page_no(page);
    mtr.log(SET_LEFT, Some(number), |out| put_varint(out, left.0));
}

/// Does and logs [`RAISE_TXN_MAX`]. The id is above the one noted.
pub(crate) fn raise_txn_max(mtr: &mut Mtr<'_>, page: PageRef, txn: TxnId) {
    NodeMut::new(mtr.bytes_mut(page)).set_txn_max(txn);
    let number = mtr.page_no(page);
    mtr.log(RAISE_TXN_MAX, Some(number), |out| put_varint(out, txn.0));
}

/// Does and logs [`RETIRE`].
pub(crate) fn retire(mtr: &mut Mtr<'_>, page: PageRef) {
    NodeMut::new(mtr.bytes_mut(page)).retire();
    let number = mtr.page_no(page);
    mtr.log(RETIRE, Some(number), |_| {});
}

/// Does and logs [`LOAD`], by the same payload. A page just allocated is `fresh`: nothing of its old bytes counts.
pub(crate) fn load_page(mtr: &mut Mtr<'_>, page: PageRef, content: &Load, fresh: bool) {
    if fresh {
        let id = &content.identity;
        mtr.reset_page(page, BTree::page_type(id.level) as u8, id.index, id.level);
    }
    let mut payload = Vec::new();
    content.encode(&mut payload);
    load(mtr.bytes_mut(page), &payload).expect("content fits a page");
    let number = mtr.page_no(page);
    mtr.log(LOAD, Some(number), |out| out.extend_from_slice(&payload));
}

/// Does and logs [`LOAD`] or [`LOAD_LEAF`] of a page just allocated with the entries of `left` from `keep` on: the right half of a split.
pub(crate) fn load_upper(mtr: &mut Mtr<'_>, right: PageRef, left: PageRef, keep: usize, identity: Identity, deltas: bool) {
    let node = Node::new(mtr.bytes(left));
    if node.is_inner() {
        // The first entry loses its key.
        let content = Load::copy_of(node, keep..node.count(), identity);
        return load_page(mtr, right, &content, true);
    }
    mtr.reset_page(right, BTree::page_type(identity.level) as u8, identity.index, identity.level);
    let (left, page) = mtr.bytes_mut_pair(left, right);
    copy_upper(page, Node::new(left), keep, identity);
    log_leaf(mtr, right, deltas);
}

/// The same with all entries of an image that is in no pool: a page of an index that is built.
pub(crate) fn load_image(mtr: &mut Mtr<'_>, page: PageRef, image: Node<'_>, identity: Identity, deltas: bool) {
    if image.is_inner() {
        return load_page(mtr, page, &Load::copy_of(image, 0..image.count(), identity), true);
    }
    mtr.reset_page(page, BTree::page_type(identity.level) as u8, identity.index, identity.level);
    copy_upper(mtr.bytes_mut(page), image, 0, identity);
    log_leaf(mtr, page, deltas);
}

fn log_leaf(mtr: &mut Mtr<'_>, page: PageRef, deltas: bool) {
    if deltas {
        mtr.log_of_page(LOAD_LEAF, page, |page, out| encode_leaf_deltas(out, Node::new(page)));
    } else {
        mtr.log_of_page(LOAD, page, |page, out| encode_leaf(out, Node::new(page)));
    }
}

/// Makes `page`, which is zero but for its common header, a leaf with the entries of another one from `keep` on.
pub(crate) fn copy_upper(page: &mut [u8], old: Node<'_>, keep: usize, identity: Identity) {
    let moved = keep..old.count();
    let mut prefix = if moved.is_empty() { Vec::new() } else { old.key_vec(keep) };
    prefix.truncate(old.prefix_for(moved.clone()));
    let mut node = NodeMut::new(page);
    node.init_zeroed(identity, &prefix);
    node.copy_slots(old, moved).expect("a part of a page fits a page");
}

/// Payload of [`LOAD`] that makes a leaf as this one is, which has been filled in ascending order.
pub(crate) fn encode_leaf(out: &mut Vec<u8>, node: Node<'_>) {
    encode_load(out, &identity_of(node), node.prefix(), node.count());
    for slot in 0..node.count() {
        let key = node.key(slot);
        let [_, head, rest] = key.pieces();
        put_varint(out, (head.len() + rest.len()) as u64);
        out.extend_from_slice(head);
        out.extend_from_slice(rest);
        put_bytes(out, node.leaf_value(slot));
    }
}

/// Payload of [`LOAD_LEAF`] for the same.
pub(crate) fn encode_leaf_deltas(out: &mut Vec<u8>, node: Node<'_>) {
    encode_load(out, &identity_of(node), node.prefix(), node.count());
    let bytes = PAGE_BYTES - node.heap_top();
    let (mut entries, mut left) = (delta::Writer::new(out, node.count(), bytes), Image::default());
    for slot in 0..node.count() {
        let image = node.image(slot);
        entries.entry(left, image);
        left = image;
    }
    entries.finish();
}

fn identity_of(node: Node<'_>) -> Identity {
    Identity { index: node.index(), level: node.level(), left: node.left(), right: node.right(), txn_max: node.txn_max(), run: node.run() }
}

fn encode_load(out: &mut Vec<u8>, id: &Identity, prefix: &[u8], count: usize) {
    for number in [u64::from(id.index.0), u64::from(id.level), id.left.0, id.right.0, id.txn_max.0, u64::from(id.run)] {
        put_varint(out, number);
    }
    put_bytes(out, prefix);
    put_varint(out, count as u64);
}

/// Does and logs [`APPEND`] with the entries of `right`, whose first separator in an inner page is `separator`. They fit.
pub(crate) fn append_page(mtr: &mut Mtr<'_>, left: PageRef, right: PageRef, prefix_len: usize, separator: &[u8]) {
    let mut payload = Vec::new();
    encode_append(&mut payload, prefix_len, Node::new(mtr.bytes(right)), separator);
    append(mtr.bytes_mut(left), &payload).expect("merged size was computed");
    let number = mtr.page_no(left);
    mtr.log(APPEND, Some(number), |out| out.extend_from_slice(&payload));
}

/// What [`LOAD`] puts into a page: the entries of some slots of another page, or collected ones.
pub(crate) struct Load {
    pub(crate) identity: Identity,
    prefix: Vec<u8>,
    count: usize,
    /// `count` times suffix and value, each with its length.
    entries: Vec<u8>,
}

impl Load {
    /// A page without entries.
    pub(crate) fn empty(identity: Identity) -> Load {
        Load { identity, prefix: Vec::new(), count: 0, entries: Vec::new() }
    }

    /// Adds an entry; the key without the prefix.
    pub(crate) fn push(&mut self, suffix: &[u8], value: &[u8]) {
        put_bytes(&mut self.entries, suffix);
        put_bytes(&mut self.entries, value);
        self.count += 1;
    }

    /// The entries of `slots` of `node`. In an inner page the first entry loses its key.
    pub(crate) fn copy_of(node: Node<'_>, slots: std::ops::Range<usize>, identity: Identity) -> Load {
        let keyed = slots.start + identity_first(identity);
        // Slots that hold keys decide the prefix; a page that keeps all old slots may have to keep the old prefix to fit.
        let mut prefix_len = 0;
        if slots.end > keyed {
            prefix_len = node.prefix_of(keyed..slots.end);
            let keyless = (keyed - slots.start) * (SLOT_BYTES + CHILD_BYTES);
            if node.rewritten_bytes(keyed..slots.end, prefix_len) + keyless > CAPACITY {
                prefix_len = node.prefix_len();
            }
        }
        let mut load = Load::empty(identity);
        let mut key = Vec::new();
        if slots.end > keyed {
            node.key(keyed).append_to(&mut load.prefix);
            load.prefix.truncate(prefix_len);
        }
        for slot in slots {
            key.clear();
            if slot >= keyed {
                node.key(slot).append_to(&mut key);
                load.push(&key[prefix_len..], node.value(slot));
            } else {
                load.push(&[], node.value(slot));
            }
        }
        load
    }

    /// Payload of [`LOAD`].
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        encode_load(out, &self.identity, &self.prefix, self.count);
        out.extend_from_slice(&self.entries);
    }
}

fn identity_first(identity: Identity) -> usize {
    (identity.level > 0) as usize
}

/// Carries out [`LOAD`].
pub(crate) fn load(page: &mut [u8], payload: &[u8]) -> Result<(), Malformed> {
    let mut reader = Reader::new(payload);
    let (mut node, count) = begin_load(page, &mut reader)?;
    let inner = node.node().is_inner();
    for _ in 0..count {
        let (suffix, value) = (reader.bytes()?, reader.bytes()?);
        if inner && value.len() != 8 {
            return Err(Malformed);
        }
        node.push(suffix, value).map_err(|_| Malformed)?;
    }
    if reader.is_empty() { Ok(()) } else { Err(Malformed) }
}

/// Carries out [`LOAD_LEAF`].
pub(crate) fn load_leaf(page: &mut [u8], payload: &[u8]) -> Result<(), Malformed> {
    let mut reader = Reader::new(payload);
    let (mut node, count) = begin_load(page, &mut reader)?;
    if node.node().is_inner() {
        return Err(Malformed);
    }
    let mut told = delta::Told::default();
    for _ in 0..count {
        delta::read(&mut reader, &mut told)?;
        node.push(told.suffix(), told.value()).map_err(|_| Malformed)?;
    }
    if reader.is_empty() { Ok(()) } else { Err(Malformed) }
}

/// Reads what a page is, and how many entries come; makes it one without entries.
fn begin_load<'p>(page: &'p mut [u8], reader: &mut Reader<'_>) -> Result<(NodeMut<'p>, u64), Malformed> {
    let identity = Identity {
        index: IndexId(narrow(reader.varint()?)?),
        level: narrow(reader.varint()?)?,
        left: PageNo(reader.varint()?),
        right: PageNo(reader.varint()?),
        txn_max: TxnId(reader.varint()?),
        run: narrow(reader.varint()?)?,
    };
    let prefix = reader.bytes()?;
    if prefix.len() > ENTRY_BYTES_MAX {
        return Err(Malformed);
    }
    let mut node = NodeMut::new(page);
    node.init(identity, prefix);
    Ok((node, reader.varint()?))
}

fn narrow<T: TryFrom<u64>>(number: u64) -> Result<T, Malformed> {
    T::try_from(number).map_err(|_| Malformed)
}

/// Payload of [`APPEND`]: the entries of `right`, whose first separator in an inner page is `separator`.
fn encode_append(out: &mut Vec<u8>, prefix_len: usize, right: Node<'_>, separator: &[u8]) {
    put_varint(out, prefix_len as u64);
    put_varint(out, right.right().0);
    put_varint(out, right.count() as u64);
    let mut key = Vec::new();
    for slot in 0..right.count() {
        key.clear();
        if slot >= right.first_keyed() {
            right.key(slot).append_to(&mut key)
        } else {
            key.extend_from_slice(separator)
        }
        put_bytes(out, &key);
        put_bytes(out, right.value(slot));
    }
}

/// Carries out [`APPEND`].
fn append(page: &mut [u8], payload: &[u8]) -> Result<(), Malformed> {
    let mut reader = Reader::new(payload);
    let prefix_len = narrow(reader.varint()?)?;
    let right = PageNo(reader.varint()?);
    let count = reader.varint()?;
    let mut entries = Vec::new();
    let inner = Node::new(page).is_inner();
    for _ in 0..count {
        let (key, value) = (reader.bytes()?, reader.bytes()?);
        if inner && value.len() != 8 {
            return Err(Malformed);
        }
        entries.push((key, value));
    }
    let mut node = NodeMut::new(page);
    node.append(prefix_len, entries.iter().copied()).map_err(|_| Malformed)?;
    node.set_right(right);
    Ok(())
}

/// Redo of the tree's operations, to be registered for codes 0x20–0x3F.
#[derive(Debug, Clone, Copy, Default)]
pub struct Redo;

impl RedoHandler for Redo {
    fn redo(&self, op: u8, payload: &[u8], page: &mut [u8]) -> Result<(), Malformed> {
        redo(op, payload, page)
    }

    /// The slot; where operations before this one move slots, a neighbour.
    #[inline]
    fn place_word(&self, op: u8, payload: &[u8]) -> Option<usize> {
        let slot = match op {
            INSERT => Reader::new(payload.get(1..)?).varint(),
            REMOVE | REPLACE | PATCH => Reader::new(payload).varint(),
            _ => return None,
        };
        Some(SLOTS + usize::try_from(slot.ok()?).ok()?.min(PAGE_BYTES) * SLOT_BYTES)
    }

    /// The entry.
    #[inline]
    fn place(&self, word: u64) -> usize {
        Slot(word).offset()
    }
}

fn redo(op: u8, payload: &[u8], page: &mut [u8]) -> Result<(), Malformed> {
    if page.len() != PAGE_BYTES {
        return Err(Malformed);
    }
    match op {
        LOAD => return load(page, payload),
        LOAD_LEAF => return load_leaf(page, payload),
        OVERFLOW_FILL => return overflow::redo_fill(page, payload),
        OVERFLOW_LINK => return overflow::redo_link(page, payload),
        RETIRE => {
            NodeMut::new(page).retire();
            return Ok(());
        }
        _ => {}
    }
    if !Node::new(page).header_is_sound() {
        return Err(Malformed);
    }
    match op {
        APPEND => return append(page, payload),
        INSERT_RUN => return redo_run(page, payload),
        _ => {}
    }
    let mut reader = Reader::new(payload);
    let mut node = NodeMut::new(page);
    let (first, count) = (node.node().first_keyed(), node.node().count());
    let existing = |number: u64| -> Result<usize, Malformed> {
        let slot = narrow(number)?;
        if slot < count { Ok(slot) } else { Err(Malformed) }
    };
    match op {
        INSERT => {
            let form = reader.u8()?;
            let slot: usize = narrow(reader.varint()?)?;
            let key = reader.bytes()?;
            let value = reader.rest();
            if slot > count || slot < first || (first == 1 && value.len() != 8) || key.len() + value.len() > PAGE_BYTES {
                return Err(Malformed);
            }
            let mut whole = SmallVec::<[u8; 64]>::new();
            let key = match form {
                WHOLE_KEY => key,
                WITHOUT_PREFIX => {
                    whole.extend_from_slice(node.node().prefix());
                    whole.extend_from_slice(key);
                    &whole
                }
                _ => return Err(Malformed),
            };
            if !is_between(node.node(), slot, key) {
                return Err(Malformed);
            }
            node.insert(slot, key, value).map_err(|_| Malformed)
        }
        REMOVE => {
            node.remove(existing(reader.varint()?)?);
            Ok(())
        }
        REPLACE => {
            let slot = existing(reader.varint()?)?;
            if first == 1 {
                return Err(Malformed);
            }
            node.replace(slot, reader.rest()).map_err(|_| Malformed)
        }
        PATCH => {
            let slot = existing(reader.varint()?)?;
            let offset: usize = narrow(reader.varint()?)?;
            let bytes = reader.rest();
            if offset.checked_add(bytes.len()).is_none_or(|end| end > node.node().value(slot).len()) {
                return Err(Malformed);
            }
            node.patch(slot, offset, bytes);
            Ok(())
        }
        TRUNCATE => {
            let keep = narrow(reader.varint()?)?;
            let right = PageNo(reader.varint()?);
            if keep > count {
                return Err(Malformed);
            }
            node.truncate(keep);
            node.set_right(right);
            Ok(())
        }
        SET_LEFT => {
            node.set_left(PageNo(reader.varint()?));
            Ok(())
        }
        RAISE_TXN_MAX => {
            let txn = TxnId(reader.varint()?);
            if txn > node.node().txn_max() {
                node.set_txn_max(txn);
            }
            Ok(())
        }
        _ => Err(Malformed),
    }
}
