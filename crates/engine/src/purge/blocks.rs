//! How checkpoints list a history of millions: in blocks, each written once.
//!
//! Entries of a shard come in blocks, in the order in which they came. A checkpoint writes the blocks that are full, or at least a good part of one, as records of
//! the undo store, and lists where they are; the few entries of blocks that are smaller it lists one by one. A block goes when its last entry is purged. So a checkpoint costs what was
//! added since the last one, and the place of each block. Where purge keeps up, no block is ever written.
//!
//! # Invariants
//! 1. A checkpoint lists each entry that is in the history when it looks: by itself, or in a block. It may list more: those of its blocks that were purged. Recovery
//!    has them purged again, which does no harm.
//! 2. A written block is released only while no checkpoint is between its list and the end of it (`checkpoint_latch`): what one lists is in the undo store's directory that it holds.
//! 3. Where most entries of a shard's blocks are purged, or blocks are small, those that are left are put into new blocks: one shard a checkpoint.
//! 4. Recovery reads the blocks and forgets them: its history is in new ones, written by the next checkpoint.
//!
//! Layout of a block's record: docs/format/engine.md.

use base::{Malformed, Reader, TxnId, UndoPtr, put_u8, put_varint};
use std::collections::BTreeMap;

/// First byte of a block's record, apart from the kinds of undo records.
const KIND: u8 = 0x80;
/// A block is written when it has at least this part of the entries it may have.
const WRITTEN_PART: usize = 32;
/// Blocks of a shard past which it is asked whether they are too small.
const FEW: usize = 16;

/// Transactions with their newest undo records.
pub(crate) type Entries = Vec<(TxnId, UndoPtr)>;

/// Keeps the entries of a shard's block and says where and in how many bytes; `None` when that cannot be.
pub(crate) type WriteBlock<'w> = dyn FnMut(usize, &[(TxnId, UndoPtr)]) -> Option<(UndoPtr, usize)> + 'w;

/// What a checkpoint lists.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ListedHistory {
    pub(crate) single: Entries,
    /// Addresses and lengths of blocks.
    pub(crate) blocks: Vec<(UndoPtr, usize)>,
}

#[derive(Default)]
struct Block {
    /// Until it is written; all that ever came.
    entries: Entries,
    /// How many came, and how many of them are not purged.
    count: usize,
    left: usize,
    written: Option<(UndoPtr, usize)>,
}

/// The blocks of one shard.
#[derive(Default)]
pub(crate) struct Blocks {
    /// Takes what comes.
    open: Block,
    open_number: u32,
    full: BTreeMap<u32, Block>,
}

impl Blocks {
    /// Adds an entry; returns its block.
    pub(crate) fn add(&mut self, entry: (TxnId, UndoPtr), block_max: usize) -> u32 {
        let number = self.open_number;
        self.open.entries.push(entry);
        self.open.count += 1;
        self.open.left += 1;
        if self.open.count >= block_max {
            self.close_open();
        }
        number
    }

    fn close_open(&mut self) {
        let block = std::mem::take(&mut self.open);
        self.full.insert(self.open_number, block);
        self.open_number += 1;
    }

    /// An entry is purged; returns where its block lies when that was the last of it.
    pub(crate) fn remove(&mut self, number: u32) -> Option<(UndoPtr, usize)> {
        if number == self.open_number {
            self.open.left -= 1;
            if self.open.left == 0 {
                self.open.entries.clear();
                self.open.count = 0;
            }
            return None;
        }
        let block = self.full.get_mut(&number)?;
        block.left -= 1;
        if block.left > 0 {
            return None;
        }
        self.full.remove(&number).and_then(|block| block.written)
    }

    /// Whether it is time to put what is left into new blocks.
    pub(crate) fn are_sparse(&self, block_max: usize) -> bool {
        let (mut count, mut left) = (0, 0);
        for block in self.full.values() {
            count += block.count;
            left += block.left;
        }
        count > 2 * left + block_max || self.full.len() > 2 * (left / block_max) + FEW
    }

    /// Forgets all blocks; returns where written ones lie. The caller adds the entries anew.
    pub(crate) fn forget(&mut self) -> Vec<(UndoPtr, usize)> {
        // Numbers go on, so that no entry is taken for one of another block.
        self.close_open();
        std::mem::take(&mut self.full).into_values().filter_map(|block| block.written).collect()
    }

    /// The entries of blocks that are to be written; each is given back by [`Blocks::written`].
    pub(crate) fn take_unwritten(&mut self, block_max: usize) -> Vec<(u32, Entries)> {
        if self.open.count > block_max / WRITTEN_PART {
            self.close_open();
        }
        let unwritten = self.full.iter_mut().filter(|(_, block)| block.written.is_none());
        unwritten.map(|(number, block)| (*number, std::mem::take(&mut block.entries))).collect()
    }

    /// A block was written, or not; returns where it lies if nobody needs it any more.
    pub(crate) fn written(&mut self, number: u32, entries: Entries, at: Option<(UndoPtr, usize)>) -> Option<(UndoPtr, usize)> {
        let Some(block) = self.full.get_mut(&number) else { return at };
        block.written = at;
        if at.is_none() {
            block.entries = entries;
        }
        None
    }

    /// Adds all to a checkpoint's list.
    pub(crate) fn list(&self, listed: &mut ListedHistory) {
        for block in self.full.values().chain([&self.open]) {
            match block.written {
                Some(at) => listed.blocks.push(at),
                None => listed.single.extend_from_slice(&block.entries),
            }
        }
    }
}

/// The bytes of a block.
pub(crate) fn encode(entries: &[(TxnId, UndoPtr)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 + entries.len() * 12);
    put_u8(&mut out, KIND);
    put_varint(&mut out, entries.len() as u64);
    for (txn, undo) in entries {
        put_varint(&mut out, txn.0);
        put_varint(&mut out, undo.0);
    }
    out
}

/// Adds the entries of a block to `out`.
pub(crate) fn decode(bytes: &[u8], out: &mut Entries) -> Result<(), Malformed> {
    let mut reader = Reader::new(bytes);
    if reader.u8()? != KIND {
        return Err(Malformed);
    }
    for _ in 0..reader.varint()? {
        out.push((TxnId(reader.varint()?), UndoPtr(reader.varint()?)));
    }
    if reader.is_empty() { Ok(()) } else { Err(Malformed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_round_trip_and_cut_ones_are_malformed() {
        let entries = vec![(TxnId(1), UndoPtr::new(1, 2)), (TxnId(u64::MAX), UndoPtr(u64::MAX))];
        let bytes = encode(&entries);
        let mut read = Vec::new();
        assert_eq!(decode(&bytes, &mut read), Ok(()));
        assert_eq!(read, entries);
        (0..bytes.len()).for_each(|end| assert_eq!(decode(&bytes[..end], &mut Vec::new()), Err(Malformed)));
        assert_eq!(decode(&[2, 0], &mut Vec::new()), Err(Malformed));
    }
}
