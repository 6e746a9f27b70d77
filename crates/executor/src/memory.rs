//! Memory accounting of one statement.
//!
//! Operators that keep rows take what they keep, before they keep it; past the statement's limit it fails with 1038 and when the server has no
//! memory left with 1041, so that one query cannot take the server's memory. Operators that can go to disk do before that ([`Watch`]). What nobody takes here is
//! still counted by the allocator: crate `memory`. Vectors and tables that grow with the data grow by [`heap::reserve`], so that an allocator that
//! gives nothing is an error of the statement.

use crate::run::Result;
use ::memory::{self as heap, Excess, Kind, Use};
use types::Value;

/// Default limit of a statement.
pub const STATEMENT_BYTES_MAX: usize = 1 << 30;
/// What is held is booked for the server to see in steps of this: small statements book nothing.
const BOOKED_STEP_BYTES: usize = 512 << 10;

/// What an operator holds when it is first asked whether it is to go to disk.
const FIRST_LOOK_BYTES: usize = 1 << 20;

/// What operators keep, in the order of [`Memory::kinds`].
const KINDS: [Kind; 4] = [Kind::Rows, Kind::Sorts, Kind::Joins, Kind::Groups];

/// The place of a kind in [`KINDS`]; what operators do not keep counts as rows.
const fn place(kind: Kind) -> usize {
    match kind {
        Kind::Sorts => 1,
        Kind::Joins => 2,
        Kind::Groups => 3,
        _ => 0,
    }
}

/// What a statement holds.
#[derive(Debug)]
pub struct Memory {
    used: usize,
    limit: usize,
    /// What one operator may hold before it goes to disk.
    operator_limit: usize,
    /// Past this the slow path books and looks at limits.
    look_at: usize,
    /// What of it is for what.
    kinds: [usize; KINDS.len()],
    booked: Option<Box<[Use; KINDS.len()]>>,
}

impl Memory {
    /// Nothing held.
    pub fn new(limit: usize) -> Memory {
        Memory::with_operators(limit, usize::MAX)
    }

    /// The same, with a bound past which an operator goes to disk; [`usize::MAX`] where there is none to go to.
    pub fn with_operators(limit: usize, operator_limit: usize) -> Memory {
        Memory { used: 0, limit, operator_limit, look_at: limit.min(BOOKED_STEP_BYTES), kinds: [0; KINDS.len()], booked: None }
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
        let of_kind = &mut self.kinds[place(kind)];
        *of_kind = of_kind.saturating_add(bytes);
        if self.used > self.look_at { self.look(bytes) } else { Ok(()) }
    }

    /// Books what is held, and asks for room for the last `bytes` of it; the rest is allocated already.
    #[cold]
    #[inline(never)]
    fn look(&mut self, bytes: usize) -> Result<()> {
        if self.used > self.limit {
            return Err(crate::errors::out_of_sort_memory());
        }
        self.book();
        self.look_at = self.limit.min(self.used.saturating_add(BOOKED_STEP_BYTES.max(self.used / 8)));
        let excess = match heap::excess() {
            Excess::None => heap::excess_with(bytes),
            excess => excess,
        };
        if excess == Excess::None { Ok(()) } else { Err(excess.into()) }
    }

    fn book(&mut self) {
        let booked = self.booked.get_or_insert_with(|| Box::new(KINDS.map(|kind| Use::new(kind, 0))));
        booked.iter_mut().zip(self.kinds).for_each(|(booked, bytes)| booked.resize(bytes as u64));
    }

    /// Bytes held.
    pub fn used(&self) -> usize {
        self.used
    }

    /// What the statement may hold.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes held of a kind.
    pub fn used_for(&self, kind: Kind) -> usize {
        self.kinds[place(kind)]
    }

    /// What one operator may hold before it goes to disk.
    pub fn operator_limit(&self) -> usize {
        self.operator_limit
    }

    /// Whether an operator that holds so much is to go to disk: it has its share, or all operators together have theirs, or what is left to the statement, or
    /// to the server, could not take as much again (vectors double).
    #[cold]
    #[inline(never)]
    fn is_pressed(&self, own: usize) -> bool {
        self.operator_limit != usize::MAX
            && (own >= self.operator_limit || self.used >= self.limit / 2 || heap::room() < own.saturating_mul(2) as u64)
    }

    /// Gives back bytes that are held no longer.
    pub fn give_back(&mut self, bytes: usize) {
        self.give_back_for(Kind::Rows, bytes);
    }

    /// The same, for what.
    pub fn give_back_for(&mut self, kind: Kind, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
        let of_kind = &mut self.kinds[place(kind)];
        *of_kind = of_kind.saturating_sub(bytes);
        if self.booked.as_ref().is_some_and(|booked| (self.used as u64) < booked.iter().map(Use::bytes).sum::<u64>() / 2) {
            match self.used {
                small if small < BOOKED_STEP_BYTES => self.booked = None,
                _ => self.book(),
            }
            self.look_at = self.limit.min(self.used.saturating_add(BOOKED_STEP_BYTES));
        }
    }
}

/// Tells an operator when to go to disk: one comparison, most of the time.
#[derive(Debug)]
pub struct Watch {
    look_at: usize,
}

impl Watch {
    /// Of an operator that holds nothing yet. One that holds less than a sixteenth of its share, or 1 MiB, is left alone whatever others hold.
    pub fn new(memory: &Memory) -> Watch {
        let first = if memory.operator_limit == usize::MAX { usize::MAX } else { (memory.operator_limit / 16).clamp(1, FIRST_LOOK_BYTES) };
        Watch { look_at: first }
    }

    /// Whether the operator, which holds so much, is to go to disk.
    #[inline]
    pub fn is_pressed(&mut self, own: usize, memory: &Memory) -> bool {
        own >= self.look_at && self.look(own, memory)
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, own: usize, memory: &Memory) -> bool {
        if memory.is_pressed(own) {
            return true;
        }
        self.look_at = own.saturating_add(own / 8).clamp(own, memory.operator_limit.max(own));
        false
    }
}

/// Bytes of a value, heap included.
pub fn value_bytes(value: &Value) -> usize {
    let heap = match value {
        Value::Bytes(b) | Value::Json(b) => b.len() + 16,
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
        held.give_back_for(Kind::Joins, 20 << 20);
        assert_eq!(heap::figures(Kind::Joins).bytes, joins);
        assert!(heap::figures(Kind::Sorts).bytes >= sorts + (10 << 20), "the sort is there still, as a sort");
        held.give_back_for(Kind::Sorts, 10 << 20);
        assert_eq!((heap::figures(Kind::Sorts).bytes, heap::figures(Kind::Joins).bytes), (sorts, joins));
        held.take_for(Kind::Joins, 30 << 20).expect("room");
        assert!(held.take_for(Kind::Joins, 80 << 20).is_err(), "past the limit");
        drop(held);
        assert_eq!((heap::figures(Kind::Sorts).bytes, heap::figures(Kind::Joins).bytes), (sorts, joins));
    }
}
