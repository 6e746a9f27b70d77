//! [`Crowd`]: whether so many sessions are at work that they share threads.
//!
//! Sessions that have threads of their own wake idle processors for each command, unless they are many or one; shared threads ([`crate::pool`]) do not, from three sessions on that are at work at once (docs/design/threads.md). How many
//! connections are open tells little of that: most of a pool's may be idle. So the sessions are counted that send commands within the same 10 ms.
//!
//! # Invariants
//! 1. Each session counts once in a window, and nobody is counted past what makes a crowd: so many writes of the shared word in a window, however many sessions there are.
//! 2. It takes [`BUSY`] windows in a row to become crowded and [`CALM`] to become calm: what lasts shorter costs less than to move sessions to and fro.

use std::time::Duration;
use sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use sync::moment::nanoseconds;
use sync::{CachePadded, Moment};

const WINDOW: Duration = Duration::from_millis(10);
/// So many windows in a row in which as many sessions were at work, or more.
const BUSY: u32 = 3;
/// So many in which there were fewer.
const CALM: u32 = 20;

/// More than there can be sessions.
const SESSIONS_BITS: u32 = 20;

/// A window's word.
fn word(window: u64, sessions: u32) -> u64 {
    window << SESSIONS_BITS | u64::from(sessions)
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Crowd {
    /// So many sessions at work, or more; 0: never.
    from: u32,
    origin: Moment,
    /// The number of the window, and in the lowest [`SESSIONS_BITS`] how many sessions have sent commands in it.
    window: CachePadded<AtomicU64>,
    /// Windows in a row that say other than `is_there`. Written by who begins a window. Relaxed, as all here: nothing else depends on it.
    contrary: AtomicU32,
    is_there: AtomicBool,
}

/// In which window a session was counted last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counted(u64);

impl Crowd {
    pub(crate) fn new(from: u32) -> Self {
        Self {
            from: from.min((1 << SESSIONS_BITS) - 1),
            origin: Moment::now(),
            window: CachePadded::new(AtomicU64::new(0)),
            contrary: AtomicU32::new(0),
            is_there: AtomicBool::new(false),
        }
    }

    /// Whether anybody is to be counted.
    #[inline]
    pub(crate) fn counts(&self) -> bool {
        self.from > 0
    }

    #[inline]
    pub(crate) fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Relaxed)
    }

    /// A session has sent a command at about this moment.
    #[inline]
    pub(crate) fn came(&self, now: Moment, counted: &mut Counted) {
        // From 1 on, so that a new session was counted in none.
        let window = now.since(self.origin) / nanoseconds(WINDOW) + 1;
        if window > counted.0 && self.counts() {
            self.count(window, counted);
        }
    }

    #[cold]
    fn count(&self, window: u64, counted: &mut Counted) {
        let mut before = self.window.load(Ordering::Relaxed);
        loop {
            let (current, sessions) = (before >> SESSIONS_BITS, before as u32 & ((1 << SESSIONS_BITS) - 1));
            if current == counted.0 {
                if window <= current {
                    return;
                }
            } else if window <= current {
                if sessions >= self.from {
                    return counted.0 = current;
                }
                // Where the window is a later one, another's clock is ahead, by a moment.
                let more = word(current, sessions + 1);
                match self.window.compare_exchange_weak(before, more, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => return counted.0 = current,
                    Err(other) => before = other,
                }
                continue;
            }
            match self.window.compare_exchange_weak(before, word(window, 1), Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    counted.0 = window;
                    // Nobody was at work in those between.
                    return self.judge(sessions >= self.from, u32::try_from(window - current - 1).unwrap_or(u32::MAX));
                }
                Err(other) => before = other,
            }
        }
    }

    /// A window is over in which there were many or not, and behind it some in which nobody came.
    fn judge(&self, many: bool, silent: u32) {
        let mut is_there = self.is_there.load(Ordering::Relaxed);
        let mut contrary = self.contrary.load(Ordering::Relaxed);
        contrary = if many == is_there { 0 } else { contrary.saturating_add(1) };
        if silent > 0 {
            contrary = if is_there { contrary.saturating_add(silent) } else { 0 };
        }
        if contrary >= if is_there { CALM } else { BUSY } {
            is_there = !is_there;
            self.is_there.store(is_there, Ordering::Relaxed);
            contrary = 0;
        }
        self.contrary.store(contrary, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows in which so many of five sessions send three commands each; whether the crowd was there behind each.
    fn play(crowd: &Crowd, sessions: &mut [Counted; 5], at_work: &[usize], first: u32) -> Vec<bool> {
        let mut seen = Vec::new();
        for (window, count) in at_work.iter().enumerate() {
            for command in 0..3 {
                let now = crowd.origin + (first + window as u32) * WINDOW + command * WINDOW / 4;
                sessions[..*count].iter_mut().for_each(|session| crowd.came(now, session));
            }
            seen.push(crowd.is_there());
        }
        seen
    }

    #[test]
    fn three_at_work_for_some_windows_are_a_crowd_until_they_are_fewer_for_many() {
        let crowd = Crowd::new(3);
        let mut sessions = [Counted::default(); 5];
        // A window is judged when the next one begins.
        assert_eq!(play(&crowd, &mut sessions, &[5, 3, 2, 3, 3, 3, 1], 0), [false, false, false, false, false, false, true]);
        let fewer = play(&crowd, &mut sessions, &[2; 25], 7);
        assert_eq!(fewer.iter().filter(|there| **there).count(), CALM as usize - 1, "the window before was one of them: {fewer:?}");
        assert_eq!(play(&crowd, &mut sessions, &[4, 4, 4, 0, 0], 100), [false; 5], "nobody comes who would tell");
        assert_eq!(play(&crowd, &mut sessions, &[1], 105), [false], "windows without anybody are between");
        assert_eq!(play(&crowd, &mut sessions, &[4, 4, 4, 4], 110), [false, false, false, true]);
        assert_eq!(play(&crowd, &mut sessions, &[1], 110 + 4 + CALM), [false], "long silence");
    }

    #[test]
    fn a_session_counts_once_in_a_window_also_if_its_clock_is_behind() {
        let crowd = Crowd::new(3);
        let (mut one, mut other) = (Counted::default(), Counted::default());
        let at = |window: u32| crowd.origin + window * WINDOW;
        let count = || crowd.window.load(Ordering::Relaxed) & ((1 << SESSIONS_BITS) - 1);
        crowd.came(at(7), &mut one);
        crowd.came(at(7), &mut one);
        assert_eq!(count(), 1);
        // The other looked at the clock before the window began, twice.
        crowd.came(at(6), &mut other);
        crowd.came(at(6), &mut other);
        crowd.came(at(7), &mut other);
        assert_eq!(count(), 2);
        crowd.came(at(8), &mut other);
        assert_eq!(count(), 1);
        let never = Crowd::new(0);
        (0..100).for_each(|window| never.came(at(window), &mut Counted::default()));
        assert!(!never.is_there() && never.window.load(Ordering::Relaxed) == 0);
    }

    #[test]
    fn many_threads_are_all_counted() {
        let crowd = Crowd::new(4);
        for window in 1..200 {
            let now = crowd.origin + window * WINDOW;
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let mut counted = Counted::default();
                        (0..10).for_each(|_| crowd.came(now, &mut counted));
                    });
                }
            });
            assert_eq!(crowd.window.load(Ordering::Relaxed), word(u64::from(window) + 1, 4));
            assert_eq!(crowd.is_there(), window > BUSY);
        }
    }
}
