//! Room in a vector whose size comes from data or from clients: it is asked for before it is taken, and not to be had is an error.

use crate::server::{self, excess_with, judge, refused};
use crate::thread::{Excess, fallible, mark};

/// Smaller growth is not asked for; the allocator's count notices what many small ones come to.
pub const LARGE_BYTES: usize = 64 << 10;

/// Makes room for `more` elements, as [`Vec::reserve`] does. Past a limit, or where the allocator has nothing, it fails, and the running statement is
/// marked ([`crate::excess`]): who only looks whether it was cancelled ends it with the right error.
#[inline]
pub fn reserve<T>(vec: &mut Vec<T>, more: usize) -> Result<(), Excess> {
    if vec.capacity() - vec.len() >= more { Ok(()) } else { grow(vec, more) }
}

#[cold]
#[inline(never)]
fn grow<T>(vec: &mut Vec<T>, more: usize) -> Result<(), Excess> {
    let least = vec.len().saturating_add(more);
    let doubled = least.max(vec.capacity().saturating_mul(2));
    let bytes = |elements: usize| (elements - vec.capacity()).saturating_mul(size_of::<T>());
    if bytes(doubled) < LARGE_BYTES || judge(bytes(doubled)) == Excess::None {
        if fallible(|| vec.try_reserve(more)).is_ok() {
            return Ok(());
        }
    } else {
        // Not twice as much, then, but somewhat more than is needed now.
        let modest = least.saturating_add(least / 8);
        ask(bytes(modest))?;
        if fallible(|| vec.try_reserve_exact(modest - vec.len())).is_ok() {
            return Ok(());
        }
    }
    Err(failed())
}

/// The same for what belongs to no statement (a connection's buffers): nobody is marked, and the server's limit alone counts.
pub fn reserve_shared<T>(vec: &mut Vec<T>, more: usize) -> Result<(), Excess> {
    if vec.capacity() - vec.len() >= more {
        return Ok(());
    }
    let bytes = more.saturating_mul(size_of::<T>());
    let fits = bytes < LARGE_BYTES || server::total().saturating_add(bytes as u64) <= server::limit();
    if fits && fallible(|| vec.try_reserve(more)).is_ok() {
        return Ok(());
    }
    refused();
    Err(Excess::Server)
}

/// Asks before something that is no vector allocates so many bytes; small ones are not looked at. As [`reserve`], it marks the statement.
#[inline]
pub fn ask(bytes: usize) -> Result<(), Excess> {
    if bytes < LARGE_BYTES {
        return Ok(());
    }
    match excess_with(bytes) {
        Excess::None => Ok(()),
        excess => {
            mark(excess);
            Err(excess)
        }
    }
}

/// The allocator had nothing: the running statement is marked and counted.
#[cold]
pub fn failed() -> Excess {
    refused();
    mark(Excess::Server);
    Excess::Server
}
