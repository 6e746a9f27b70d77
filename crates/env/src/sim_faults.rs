//! What the simulated disk does wrong on demand: errors that are told, and damage that nobody is told of.
//!
//! Told: failed, torn and short writes, failed reads and syncs, no room. Not told: writes that vanish or go to another place, bits that flip, a read
//! that brings other bytes than are there. Damage is kept in a list with the bytes that ought to be there, so that [`crate::SimDisk::heal`] can put them back
//! wherever nobody has written since: what a program must not lose by the damage of one place can then be looked at.
//!
//! # Invariant
//! A flipped bit ([`Flip`]) is followed through every write, sync and crash, so it is known exactly where it is still wrong: files that are appended to are not
//! written by pages, and what lies beside the bit tells nothing. Stretches ([`Damage`]) are compared; they hold what the file would without flipped bits.

use crate::sim_file::{Change, Inode};
use std::collections::BTreeMap;

/// What happens to one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFault {
    /// An error; nothing was written.
    Error,
    /// An error; some sectors were written.
    Torn,
    /// An error; a part from the beginning was written.
    Short,
    /// No room; a part from the beginning was written.
    Full,
    /// Success, and nothing was written.
    Lost,
    /// Success, and the bytes are in another place of the file.
    Misdirected,
}

/// What happens to one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFault {
    /// An error.
    Error,
    /// Success, with one bit of the bytes flipped; the next read is right.
    Garbled,
}

/// A fault that waits for the n-th operation on a file whose path begins with `path`.
#[derive(Debug)]
pub(crate) struct Planned<F> {
    path: String,
    left: u64,
    fault: F,
}

impl<F: Copy> Planned<F> {
    pub(crate) fn new(path: &str, n: u64, fault: F) -> Option<Self> {
        Some(Planned { path: path.to_owned(), left: n, fault })
    }

    /// One more operation; the fault, when it is the one.
    pub(crate) fn meets(planned: &mut Option<Self>, path: &str) -> Option<F> {
        let waiting = planned.as_mut().filter(|planned| path.starts_with(&planned.path))?;
        waiting.left = waiting.left.saturating_sub(1);
        let fault = (waiting.left == 0).then_some(waiting.fault);
        if fault.is_some() {
            *planned = None;
        }
        fault
    }
}

/// A stretch of a file that holds other bytes than were written to it.
#[derive(Debug)]
pub(crate) struct Damage {
    inode: u64,
    offset: u64,
    good: Vec<u8>,
    bad: Vec<u8>,
}

/// A bit that the medium has turned over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flip {
    pub(crate) offset: u64,
    pub(crate) mask: u8,
    /// Whether it is wrong in what readers see.
    pub(crate) in_current: bool,
    /// Whether it is wrong in what a crash leaves.
    pub(crate) in_durable: bool,
}

/// Turns back the flipped bits of `bytes`, which a file holds from `offset` on.
pub(crate) fn without_flips(flips: &[Flip], offset: u64, mut bytes: Vec<u8>) -> Vec<u8> {
    for flip in flips.iter().filter(|flip| flip.in_current && flip.offset >= offset) {
        if let Some(byte) = bytes.get_mut((flip.offset - offset) as usize) {
            *byte ^= flip.mask;
        }
    }
    bytes
}

/// Notes that `[offset, offset + good.len())` of a file ought to hold `good` and holds `bad`; in pieces that are written as wholes, as far as alignment tells.
pub(crate) fn note(list: &mut Vec<Damage>, inode: u64, offset: u64, good: &[u8], bad: &[u8]) {
    let page = 16 * 1024;
    let whole_pages = offset.is_multiple_of(page as u64) && good.len().is_multiple_of(page);
    let piece = if whole_pages { page } else { 4096 };
    for (no, (good, bad)) in good.chunks(piece).zip(bad.chunks(piece)).enumerate() {
        if good != bad {
            list.push(Damage { inode, offset: offset + (no * piece) as u64, good: good.to_vec(), bad: bad.to_vec() });
        }
    }
}

/// Puts right what is still wrong, the last damage first; returns how many places.
pub(crate) fn heal(list: Vec<Damage>, inodes: &mut BTreeMap<u64, Inode>) -> u64 {
    let mut healed = 0;
    for file in inodes.values_mut() {
        healed += file.turn_back_flips();
    }
    for damage in list.into_iter().rev() {
        let Some(file) = inodes.get_mut(&damage.inode) else { continue };
        let was_unsynced = file.current != file.durable;
        let mut found = false;
        for contents in [&mut file.current, &mut file.durable] {
            if contents.at(damage.offset, damage.bad.len()) == damage.bad {
                contents.apply(&Change::Write { offset: damage.offset, bytes: damage.good.clone().into() });
                found = true;
            }
        }
        // What was not synced yet would bring the damage back.
        if found && was_unsynced {
            file.pending.push(Change::Write { offset: damage.offset, bytes: file.current.at(damage.offset, damage.good.len()).into() });
        }
        healed += u64::from(found);
    }
    healed
}
