//! Memory accounting of one statement.
//!
//! Operators that keep rows take what they keep, before they keep it; past the statement's limit it fails with 1038 and when the server has no
//! memory left with 1041 (spilling to disk comes later), so that one query cannot take the server's memory. What nobody takes here is
//! still counted by the allocator: crate `memory`.

use crate::run::Result;
use ::memory::{self as heap, Excess, Kind};
use types::Value;

/// Default limit of a statement.
pub const STATEMENT_BYTES_MAX: usize = 1 << 30;
/// What is held is booked for the server to see in steps of this: small statements book nothing.
const BOOKED_STEP_BYTES: usize = 512 << 10;

/// What a statement holds.
#[derive(Debug)]
pub struct Memory {
    used: usize,
    limit: usize,
    /// Past this the slow path books and looks at limits.
    look_at: usize,
    booked: Option<Box<Booked>>,
}

/// What of it is booked, by kind.
#[derive(Debug, Default)]
struct Booked {
    total: usize,
    kinds: Vec<(Kind, u64)>,
}

impl Memory {
    /// Nothing held.
    pub fn new(limit: usize) -> Memory {
        Memory { used: 0, limit, look_at: limit.min(BOOKED_STEP_BYTES), booked: None }
    }

    /// Accounts for bytes about to be kept.
    #[inline]
    pub fn take(&mut self, bytes: usize) -> Result<()> {
        self.take_for(Kind::Rows, bytes)
    }

    /// The same, for what.
    #[inline]
    pub fn take_for(&mut self, kind: Kind, bytes: usize) -> Result<()> {
        self.used = self.used.saturating_add(bytes);
        if self.used > self.look_at { self.look(kind) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, kind: Kind) -> Result<()> {
        if self.used > self.limit {
            return Err(crate::errors::out_of_sort_memory());
        }
        let booked = self.booked.get_or_insert_default();
        let more = self.used.saturating_sub(booked.total);
        booked.total += more;
        heap::book(kind, more as u64);
        match booked.kinds.iter_mut().find(|(of, _)| *of == kind) {
            Some((_, bytes)) => *bytes += more as u64,
            None => booked.kinds.push((kind, more as u64)),
        }
        self.look_at = self.limit.min(self.used.saturating_add(BOOKED_STEP_BYTES.max(self.used / 8)));
        if heap::excess() == Excess::None && heap::room(more) { Ok(()) } else { Err(crate::errors::out_of_memory()) }
    }

    /// Bytes held.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Gives back bytes that are held no longer.
    pub fn give_back(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
        if self.booked.as_ref().is_some_and(|booked| self.used < booked.total / 2) {
            // What remains is booked again when it grows.
            self.booked = None;
            self.look_at = self.limit.min(self.used.saturating_add(BOOKED_STEP_BYTES));
        }
    }
}

impl Drop for Booked {
    fn drop(&mut self) {
        self.kinds.iter().for_each(|(kind, bytes)| heap::unbook(*kind, *bytes));
    }
}

/// Bytes of a value, heap included.
pub fn value_bytes(value: &Value) -> usize {
    let heap = match value {
        Value::Bytes(b) => b.len() + 16,
        _ => 0,
    };
    std::mem::size_of::<Value>() + heap
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_booked_by_kind_and_taken_back() {
        let (sorts, joins) = (heap::figures(Kind::Sorts).bytes, heap::figures(Kind::Joins).bytes);
        let mut held = Memory::new(100 << 20);
        held.take_for(Kind::Sorts, 1000).expect("room");
        assert_eq!(heap::figures(Kind::Sorts).bytes, sorts, "small ones are not booked");
        held.take_for(Kind::Sorts, 10 << 20).expect("room");
        held.take_for(Kind::Joins, 20 << 20).expect("room");
        assert!(heap::figures(Kind::Sorts).bytes >= sorts + (10 << 20) && heap::figures(Kind::Joins).bytes >= joins + (20 << 20));
        held.give_back(29 << 20);
        assert_eq!(heap::figures(Kind::Joins).bytes, joins);
        held.take_for(Kind::Joins, 30 << 20).expect("room");
        assert!(held.take_for(Kind::Joins, 80 << 20).is_err(), "past the limit");
        drop(held);
        assert_eq!((heap::figures(Kind::Sorts).bytes, heap::figures(Kind::Joins).bytes), (sorts, joins));
    }
}
