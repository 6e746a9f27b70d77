//! Wait on a 32-bit word and wake its waiters: the one blocking primitive everything else is built on.

use crate::platform::atomic::AtomicU32;
use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};
use std::time::Instant;

/// Why [`wait`] returned. Wakes may be spurious: look at the word again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Woken by [`wake`] or a signal.
    Woken,
    /// The word did not hold the expected value; the thread did not sleep.
    Changed,
    /// The deadline passed.
    TimedOut,
}

/// Sleeps while `word` holds `expected`, until a wake or the deadline.
pub fn wait(word: &AtomicU32, expected: u32, deadline: Option<Instant>) -> Woken {
    let timeout = match deadline {
        None => None,
        Some(deadline) => {
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Woken::TimedOut;
            }
            // A duration past what a timespec holds (centuries) is a wait without deadline.
            rustix::time::Timespec::try_from(rest).ok()
        }
    };
    match futex::wait(word, Flags::PRIVATE, expected, timeout.as_ref()) {
        Ok(()) | Err(Errno::INTR) => Woken::Woken,
        Err(Errno::AGAIN) => Woken::Changed,
        Err(Errno::TIMEDOUT) => Woken::TimedOut,
        Err(error) => panic!("futex wait: {error}"),
    }
}

/// Wakes up to `count` threads that wait on `word` with one system call; returns how many.
pub fn wake(word: &AtomicU32, count: u32) -> u32 {
    match futex::wake(word, Flags::PRIVATE, count.min(i32::MAX as u32)) {
        Ok(woken) => woken as u32,
        Err(error) => panic!("futex wake: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    #[test]
    fn a_changed_word_does_not_sleep() {
        assert_eq!(wait(&AtomicU32::new(1), 0, None), Woken::Changed);
    }

    #[test]
    fn a_past_deadline_times_out() {
        let word = AtomicU32::new(0);
        assert_eq!(wait(&word, 0, Some(Instant::now())), Woken::TimedOut);
        assert_eq!(wait(&word, 0, Some(Instant::now() + Duration::from_millis(1))), Woken::TimedOut);
    }

    #[test]
    fn wake_reports_how_many_it_woke() {
        let word = AtomicU32::new(0);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                while word.load(Ordering::Acquire) == 0 {
                    wait(&word, 0, None);
                }
            });
            // The thread is asleep once a wake finds it there; it then sleeps again because the word is unchanged.
            while wake(&word, 1) == 0 {
                std::thread::yield_now();
            }
            word.store(1, Ordering::Release);
            wake(&word, u32::MAX);
            waiter.join().expect("no panic");
        });
        assert_eq!(wake(&word, 1), 0);
    }
}
