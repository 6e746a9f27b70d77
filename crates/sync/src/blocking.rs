//! Who is told before a thread blocks: one that holds what others could use meanwhile, as a member of the server's crew holds its post.
//!
//! Whoever is about to sleep for longer than a latch is held (for a row, a slot, the log, the disk, a client) says so by [`begins`]. Most threads have nobody to tell; then it is
//! a look at a word of the thread's own.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Is told.
pub trait GivesWay {
    /// This thread is about to block. Called with whatever latches the caller holds: may take none but leaves, and must not block itself.
    fn give_way(&self);
}

thread_local! {
    static TOLD: RefCell<Option<Arc<dyn GivesWay>>> = const { RefCell::new(None) };
    static TIMES: Cell<u64> = const { Cell::new(0) };
}

/// Sets who is told before the calling thread blocks, or that nobody is.
pub fn tell(who: Option<Arc<dyn GivesWay>>) {
    let before = TOLD.with(|told| std::mem::replace(&mut *told.borrow_mut(), who));
    drop(before);
}

/// The calling thread is about to block.
#[inline]
pub fn begins() {
    let _ = TIMES.try_with(|times| times.set(times.get().wrapping_add(1)));
    // A thread that ends may block in a destructor, when there is nobody to tell any more.
    let _ = TOLD.try_with(|told| {
        if let Ok(told) = told.try_borrow()
            && let Some(who) = &*told
        {
            who.give_way();
        }
    });
}

/// How often the calling thread has said so.
#[inline]
pub fn times() -> u64 {
    TIMES.try_with(Cell::get).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    struct Counts(AtomicU32);

    impl GivesWay for Counts {
        fn give_way(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            // What it does may block in turn.
            if self.0.load(Ordering::Relaxed) < 3 {
                begins();
            }
        }
    }

    #[test]
    fn only_who_asked_is_told_and_on_its_own_thread() {
        let counts = Arc::new(Counts(AtomicU32::new(2)));
        begins();
        tell(Some(Arc::clone(&counts) as Arc<dyn GivesWay>));
        begins();
        std::thread::scope(|scope| scope.spawn(begins).join()).expect("no panic");
        assert_eq!(counts.0.load(Ordering::Relaxed), 3);
        tell(None);
        begins();
        assert_eq!(counts.0.load(Ordering::Relaxed), 3);
        counts.0.store(0, Ordering::Relaxed);
        tell(Some(Arc::clone(&counts) as Arc<dyn GivesWay>));
        begins();
        assert_eq!(counts.0.load(Ordering::Relaxed), 3, "told while it is being told");
    }
}
