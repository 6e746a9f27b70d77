//! [`Moment`]: a point in time as one number, for hot paths that take the difference of two for each statement.
//!
//! `std::time::Instant` keeps seconds and nanoseconds apart: a difference is some fifty instructions, this one is a subtraction. For deadlines of waits take `Instant`, as the waits do.

use rustix::time::{ClockId, clock_gettime};
use std::ops::Add;
use std::time::Duration;

const NANOSECONDS: u64 = 1_000_000_000;

/// Nanoseconds of the system's monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

impl Moment {
    /// When the clock began.
    pub const BEGIN: Moment = Moment(0);

    /// This moment.
    #[inline]
    pub fn now() -> Self {
        let time = clock_gettime(ClockId::Monotonic);
        // Neither is negative: the clock begins when the system does. It fits for 584 years.
        Moment(time.tv_sec as u64 * NANOSECONDS + time.tv_nsec as u64)
    }

    /// Nanoseconds from `earlier` to this moment; 0 if that one is later.
    #[inline]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Whether more than this has passed since `earlier`.
    #[inline]
    pub const fn is_past(self, earlier: Self, patience: Duration) -> bool {
        self.since(earlier) > nanoseconds(patience)
    }

    /// The number, to be kept in an atomic.
    #[inline]
    pub const fn to_bits(self) -> u64 {
        self.0
    }
}

/// A duration as [`Moment::since`] tells it.
#[inline]
pub const fn nanoseconds(duration: Duration) -> u64 {
    duration.as_secs() * NANOSECONDS + duration.subsec_nanos() as u64
}

impl Add<Duration> for Moment {
    type Output = Self;

    #[inline]
    fn add(self, duration: Duration) -> Self {
        Moment(self.0 + nanoseconds(duration))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn it_tells_the_time_that_instants_tell() {
        let (outer, first) = (Instant::now(), Moment::now());
        let (inner, second) = (Instant::now(), Moment::now());
        let between = second.since(first);
        assert!(between <= nanoseconds(outer.elapsed()), "{between}");
        assert!(inner >= outer && second >= first);
        #[expect(clippy::disallowed_methods, reason = "time is to pass")]
        std::thread::sleep(Duration::from_millis(2));
        assert!(Moment::now().is_past(second, Duration::from_millis(2)) && first.since(Moment::now()) == 0);
        let later = first + Duration::new(3, 7);
        assert_eq!((later.since(first), later.to_bits() - first.to_bits()), (3_000_000_007, 3_000_000_007));
        assert!(!later.is_past(first, Duration::new(3, 7)) && later.is_past(first, Duration::new(3, 6)));
    }
}
