//! The bytes of a simulated file, and which of its blocks have room on the device.
//!
//! Zeros behind what was written last take no memory, so a file that was only grown is as cheap as a small one.

use crate::sim_file::Change;
use std::ops::Range;

/// What has room, or not, as a whole.
const BLOCK_BYTES: u64 = 4096;

/// A length, bytes, and room. Equal are those that read the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    /// From the beginning of the file; what is behind, up to `len`, is zero.
    bytes: Vec<u8>,
    len: u64,
    /// By block: whether it has room on the device. Those behind have none.
    backed: Vec<bool>,
}

impl PartialEq for Contents {
    fn eq(&self, other: &Contents) -> bool {
        let common = self.bytes.len().min(other.bytes.len());
        let rest = self.bytes[common..].iter().chain(&other.bytes[common..]);
        self.len == other.len && self.bytes[..common] == other.bytes[..common] && rest.into_iter().all(|byte| *byte == 0)
    }
}

fn blocks(range: &Range<u64>) -> Range<usize> {
    (range.start / BLOCK_BYTES) as usize..range.end.div_ceil(BLOCK_BYTES) as usize
}

/// Bytes of a block before the end of a file.
fn within(block: usize, len: u64) -> u64 {
    len.saturating_sub(block as u64 * BLOCK_BYTES).min(BLOCK_BYTES)
}

impl Contents {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Fills `out`; `false` when the file ends before.
    pub(crate) fn read(&self, out: &mut [u8], offset: u64) -> bool {
        let fits = offset.checked_add(out.len() as u64).is_some_and(|end| end <= self.len);
        if fits {
            out.fill(0);
            let start = (offset as usize).min(self.bytes.len());
            let there = &self.bytes[start..self.bytes.len().min(start + out.len())];
            out[..there.len()].copy_from_slice(there);
        }
        fits
    }

    /// What is in a range, zeros past the file's end.
    pub(crate) fn at(&self, offset: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let there = self.len.saturating_sub(offset).min(len as u64) as usize;
        self.read(&mut bytes[..there], offset);
        bytes
    }

    /// Turns bits of a byte over, if the file has it.
    pub(crate) fn turn_over(&mut self, offset: u64, mask: u8) -> bool {
        let there = offset < self.len;
        if there {
            self.hold(offset + 1);
            self.bytes[offset as usize] ^= mask;
        }
        there
    }

    /// Bytes of the device that the file takes.
    pub(crate) fn used(&self) -> u64 {
        let backed = self.backed.iter().enumerate().filter(|(_, backed)| **backed);
        backed.map(|(no, _)| within(no, self.len)).sum()
    }

    /// How much more of the device the file takes with the change.
    pub(crate) fn wants(&self, change: &Change) -> u64 {
        let range = match change {
            Change::Write { offset, bytes } => *offset..offset + bytes.len() as u64,
            Change::Reserve(range) => range.clone(),
            Change::SetLen(_) | Change::Punch { .. } => return 0,
        };
        let len = self.len.max(range.end);
        let new = blocks(&range).filter(|no| !self.is_backed(*no)).map(|no| within(no, len)).sum::<u64>();
        // The last block is counted up to the end of the file.
        let last = (self.len / BLOCK_BYTES) as usize;
        let grown = if self.is_backed(last) { within(last, len) - within(last, self.len) } else { 0 };
        new + grown
    }

    fn is_backed(&self, block: usize) -> bool {
        self.backed.get(block).copied().unwrap_or(false)
    }

    /// Has bytes up to here in memory.
    fn hold(&mut self, end: u64) {
        if (self.bytes.len() as u64) < end {
            self.bytes.resize(end as usize, 0);
        }
    }

    fn back(&mut self, range: &Range<u64>) {
        let blocks = blocks(range);
        if self.backed.len() < blocks.end {
            self.backed.resize(blocks.end, false);
        }
        self.backed[blocks].fill(true);
    }

    pub(crate) fn apply(&mut self, change: &Change) {
        match change {
            Change::Write { offset, bytes } => {
                let range = *offset..offset + bytes.len() as u64;
                self.hold(range.end);
                self.bytes[range.start as usize..range.end as usize].copy_from_slice(bytes);
                self.len = self.len.max(range.end);
                self.back(&range);
            }
            Change::SetLen(len) => {
                self.bytes.truncate(*len as usize);
                self.backed.truncate(len.div_ceil(BLOCK_BYTES) as usize);
                self.len = *len;
            }
            Change::Reserve(range) => {
                self.len = self.len.max(range.end);
                self.back(range);
            }
            Change::Punch { offset, len } => {
                let range = *offset..offset.saturating_add(*len).min(self.len);
                let (start, end) = ((range.start as usize).min(self.bytes.len()), (range.end as usize).min(self.bytes.len()));
                self.bytes[start..end.max(start)].fill(0);
                // Whole blocks only; the last one of the file is whole where it ends.
                let last = if range.end == self.len { range.end.div_ceil(BLOCK_BYTES) } else { range.end / BLOCK_BYTES } as usize;
                let first = range.start.div_ceil(BLOCK_BYTES) as usize;
                let last = last.min(self.backed.len());
                self.backed[first.min(last)..last].fill(false);
            }
        }
    }
}
