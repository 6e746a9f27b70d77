//! Values too large for a leaf: chains of pages that the index owns. The leaf keeps the first page's number.
//!
//! # Invariants
//! 1. Between mini-transactions a chain is whole: every page is filled, the last one has no next. So a chain cut short by a crash can be freed
//!    like any other.
//! 2. A chain is written once and never changed, only freed; who reads it knows by its read view that it is still there.
//!
//! # Nothing leaks
//! The pages are logged before the row that refers to them, page by page, as a large value would not fit one log record. [`write()`] gives the first
//! page's number to `note` in the mini-transaction that allocates it: an undo record logged there lets rollback free the chain after a
//! crash or an error at any later point. Freeing goes the other way: [`free_tail`] leaves the first page alone, and [`free_head`] frees it in the
//! mini-transaction that removes the last reference. A crash in between finds the reference, and frees again.

use base::{IndexId, Malformed, PAGE_BYTES, PageNo, Reader, put_varint};
use buffer_pool::{Mtr, PageRef};
use page_store::PageType;

use crate::error::{Error, Result};
use crate::layout::{INDEX_ID, TXN_MAX, TYPE};
use crate::ops::{OVERFLOW_FILL, OVERFLOW_LINK};
use crate::tree::BTree;

/// Offset of the next page's number.
const NEXT: usize = 48;
/// Offset of the count of data bytes.
const LENGTH: usize = 56;
/// Offset of the data.
const DATA: usize = 64;
/// In the header's field for a writer, which on a chain's first page is its owner's to fill (0: nobody's): a page that is not the first. Who frees a
/// chain a second time, after a crash, must not take a page for its first that another chain goes on with.
const NOT_FIRST: u64 = u64::MAX;
/// Data bytes of a full page of a chain.
pub const OVERFLOW_PAGE_BYTES: usize = PAGE_BYTES - DATA;

/// Writes a value into a new chain and returns its first page. Called with no latch held. `note` logs who will own the chain, see above. After
/// an error that comes later than `note` the chain so far stands and is the note's owner's to free.
pub fn write(tree: &BTree, value: &[u8], note: impl FnOnce(&mut Mtr<'_>, PageNo)) -> Result<PageNo> {
    let (piece, rest) = value.split_at(value.len().min(OVERFLOW_PAGE_BYTES));
    tree.pool().wal().ensure_space()?;
    let mut mtr = Mtr::begin(tree.pool());
    let first = match add_page(tree, &mut mtr, None, piece) {
        Ok(page) => mtr.page_no(page),
        Err(error) => {
            mtr.commit();
            return Err(error);
        }
    };
    note(&mut mtr, first);
    mtr.commit();
    let mut last = first;
    for piece in rest.chunks(OVERFLOW_PAGE_BYTES) {
        tree.pool().wal().ensure_space()?;
        let mut mtr = Mtr::begin(tree.pool());
        let before = mtr.latch(last)?;
        let added = add_page(tree, &mut mtr, Some(last), piece);
        if let Ok(page) = added {
            last = mtr.page_no(page);
            link(&mut mtr, before, last);
        }
        mtr.commit();
        added?;
    }
    Ok(first)
}

/// Allocates and fills a page. After an error the mini-transaction must still be committed.
fn add_page<'t>(tree: &'t BTree, mtr: &mut Mtr<'t>, near: Option<PageNo>, piece: &[u8]) -> Result<PageRef> {
    let page = tree.allocate(mtr, 0, near)?;
    mtr.reset_page(page, PageType::Overflow as u8, tree.index, 0);
    fill(mtr.bytes_mut(page), PageNo::NONE, piece);
    let number = mtr.page_no(page);
    mtr.log(OVERFLOW_FILL, Some(number), |out| {
        put_varint(out, PageNo::NONE.0);
        out.extend_from_slice(piece);
    });
    if near.is_some() {
        mtr.write_bytes(page, TXN_MAX, &NOT_FIRST.to_le_bytes());
    }
    Ok(page)
}

fn link(mtr: &mut Mtr<'_>, page: PageRef, next: PageNo) {
    mtr.bytes_mut(page)[NEXT..NEXT + 8].copy_from_slice(&next.0.to_le_bytes());
    let number = mtr.page_no(page);
    mtr.log(OVERFLOW_LINK, Some(number), |out| put_varint(out, next.0));
}

fn fill(page: &mut [u8], next: PageNo, piece: &[u8]) {
    page[NEXT..NEXT + 8].copy_from_slice(&next.0.to_le_bytes());
    page[LENGTH..LENGTH + 4].copy_from_slice(&(piece.len() as u32).to_le_bytes());
    page[DATA..DATA + piece.len()].copy_from_slice(piece);
}

pub(crate) fn redo_fill(page: &mut [u8], payload: &[u8]) -> std::result::Result<(), Malformed> {
    let mut reader = Reader::new(payload);
    let next = PageNo(reader.varint()?);
    if reader.rest().len() > OVERFLOW_PAGE_BYTES {
        return Err(Malformed);
    }
    fill(page, next, reader.rest());
    Ok(())
}

pub(crate) fn redo_link(page: &mut [u8], payload: &[u8]) -> std::result::Result<(), Malformed> {
    let next = Reader::new(payload).varint()?;
    page[NEXT..NEXT + 8].copy_from_slice(&next.to_le_bytes());
    Ok(())
}

/// Next page and data of a page that should belong to a chain of this tree.
fn parse<'a>(tree: &BTree, page: PageNo, bytes: &'a [u8]) -> Result<(PageNo, &'a [u8])> {
    parse_image(bytes, tree.index).ok_or(Error::Corrupt { index: tree.index, page, what: "not a page of an overflow chain of this index" })
}

/// The same of any index; `None` when it is no such page.
pub(crate) fn parse_image(bytes: &[u8], index: IndexId) -> Option<(PageNo, &[u8])> {
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let length = word(LENGTH) as usize;
    if bytes[TYPE] != PageType::Overflow as u8 || word(INDEX_ID) != index.0 || length > OVERFLOW_PAGE_BYTES {
        return None;
    }
    let next = u64::from(word(NEXT)) | u64::from(word(NEXT + 4)) << 32;
    Some((PageNo(next), &bytes[DATA..DATA + length]))
}

/// Appends the `length` bytes of a chain to `out`.
pub fn read(tree: &BTree, first: PageNo, length: usize, out: &mut Vec<u8>) -> Result<()> {
    let wanted = out.len() + length;
    out.reserve(length);
    let mut page = first;
    loop {
        let guard = tree.pool().shared_once(page)?;
        let (next, piece) = parse(tree, page, &guard)?;
        out.extend_from_slice(piece);
        // A chain that goes on for ever is longer than wanted, too.
        if out.len() > wanted || (next.is_none() && out.len() < wanted) || (!next.is_none() && piece.is_empty()) {
            return Err(Error::Corrupt { index: tree.index, page, what: "an overflow chain of another length" });
        }
        if next.is_none() {
            return Ok(());
        }
        page = next;
    }
}

/// The pages of a chain, in order.
pub fn pages(tree: &BTree, first: PageNo) -> Result<Vec<PageNo>> {
    let most = tree.space().pages_at_most(tree.index);
    let mut pages = vec![first];
    loop {
        let page = pages[pages.len() - 1];
        let (next, _) = parse(tree, page, &tree.pool().shared_once(page)?)?;
        if next.is_none() {
            return Ok(pages);
        }
        if pages.len() as u64 > most {
            return Err(Error::Corrupt { index: tree.index, page, what: "an overflow chain without end" });
        }
        pages.push(next);
    }
}

/// Frees all pages of a chain but the first, which stays as a chain of one page. Called with no latch held, by whoever is alone with the chain.
pub fn free_tail(tree: &BTree, first: PageNo) -> Result<()> {
    let pages = pages(tree, first)?;
    // From the end, so that the chain stays whole.
    for pair in pages.windows(2).rev() {
        let (before, last) = (pair[0], pair[1]);
        tree.pool().wal().ensure_space()?;
        let mut mtr = Mtr::begin(tree.pool());
        let before = mtr.latch(before)?;
        free_page(tree, &mut mtr, last)?;
        link(&mut mtr, before, PageNo::NONE);
        mtr.commit();
    }
    Ok(())
}

/// Latches what [`free_head`] needs, so that it cannot fail after the caller's own changes. Called before them.
pub fn prepare_free_head(tree: &BTree, mtr: &mut Mtr<'_>, first: PageNo) -> Result<()> {
    let page = mtr.latch(first)?;
    let (next, _) = parse(tree, first, mtr.bytes(page))?;
    if !next.is_none() {
        return Err(Error::Corrupt { index: tree.index, page: first, what: "the tail of an overflow chain is not freed" });
    }
    tree.space().prepare_free(mtr, first)?;
    Ok(())
}

/// Frees the first page of a chain whose tail is freed, in the mini-transaction that removes the reference to it.
pub fn free_head(tree: &BTree, mtr: &mut Mtr<'_>, first: PageNo) -> Result<()> {
    free_page(tree, mtr, first)
}

/// Frees a whole chain that nothing refers to.
pub fn free(tree: &BTree, first: PageNo) -> Result<()> {
    free_tail(tree, first)?;
    tree.pool().wal().ensure_space()?;
    let mut mtr = Mtr::begin(tree.pool());
    free_page(tree, &mut mtr, first)?;
    mtr.commit();
    Ok(())
}

/// Frees one page; on an error nothing was changed.
fn free_page(tree: &BTree, mtr: &mut Mtr<'_>, page: PageNo) -> Result<()> {
    let held = mtr.latch(page)?;
    parse(tree, page, mtr.bytes(held))?;
    tree.space().free(mtr, page)?;
    crate::ops::retire(mtr, held);
    Ok(())
}
