//! [`lane`]: a small number that threads on different processors do not share, for counters that are spread over cache lines.
//!
//! # Invariants
//! 1. Only advice: whoever counts on a lane's line counts atomically, and remembers on which line.
//! 2. Threads that serve by turns on one processor have that processor's lane ([`take_lane`]); each other thread has one of its own.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Far from the numbers of processors, so that who has left a lane has none of theirs soon.
static NEXT: AtomicUsize = AtomicUsize::new(1 << 16);

thread_local! {
    static LANE: Cell<usize> = Cell::new(NEXT.fetch_add(1, Ordering::Relaxed));
}

/// The calling thread's lane.
#[inline]
pub fn lane() -> usize {
    // A thread that is ending has lost its local; any lane will do.
    LANE.try_with(Cell::get).unwrap_or(0)
}

/// The calling thread works on this processor from now on, by turns with others.
pub fn take_lane(processor: usize) {
    // As above.
    let _ = LANE.try_with(|lane| lane.set(processor));
}

/// The calling thread works by itself from now on.
pub fn leave_lane() {
    take_lane(NEXT.fetch_add(1, Ordering::Relaxed));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_lanes_of_their_own_unless_they_take_one() {
        let of_another = || std::thread::spawn(lane).join().expect("it ends well");
        assert!(lane() == lane() && of_another() != of_another() && of_another() != lane());
        let taken = std::thread::spawn(|| {
            take_lane(7);
            let taken = lane();
            leave_lane();
            (taken, lane() != taken)
        });
        assert_eq!(taken.join().expect("it ends well"), (7, true));
    }
}
