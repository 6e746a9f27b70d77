//! Time: real, and simulated so that a test moves it.

use std::time::{Instant, SystemTime, UNIX_EPOCH};
use sync::atomic::{AtomicU64, Ordering};

/// Where time comes from.
pub trait Clock: Send + Sync {
    /// Nanoseconds since some fixed moment; never goes back.
    fn monotonic_ns(&self) -> u64;
    /// Microseconds since 1970-01-01 UTC; may jump.
    fn wall_us(&self) -> i64;
}

/// The machine's clocks.
#[derive(Debug)]
pub struct RealClock {
    start: Instant,
}

impl RealClock {
    /// Monotonic time starts at zero now.
    pub fn new() -> Self {
        RealClock { start: Instant::now() }
    }
}

impl Default for RealClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for RealClock {
    fn monotonic_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn wall_us(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => since.as_micros() as i64,
            Err(before) => -(before.duration().as_micros() as i64),
        }
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct SimClock {
    monotonic_ns: AtomicU64,
    wall_us_at_zero: i64,
}

impl SimClock {
    /// Monotonic time is zero; wall time is `wall_us`.
    pub fn new(wall_us: i64) -> Self {
        SimClock { monotonic_ns: AtomicU64::new(0), wall_us_at_zero: wall_us }
    }

    /// Moves both clocks on.
    pub fn advance_ns(&self, ns: u64) {
        // AcqRel: what happened before the move is visible to who sees the new time.
        self.monotonic_ns.fetch_add(ns, Ordering::AcqRel);
    }
}

impl Clock for SimClock {
    fn monotonic_ns(&self) -> u64 {
        self.monotonic_ns.load(Ordering::Acquire)
    }

    fn wall_us(&self) -> i64 {
        self.wall_us_at_zero + (self.monotonic_ns() / 1000) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sim_clock_moves_only_when_told() {
        let clock = SimClock::new(1_000_000);
        assert_eq!((clock.monotonic_ns(), clock.wall_us()), (0, 1_000_000));
        clock.advance_ns(5_000);
        assert_eq!((clock.monotonic_ns(), clock.wall_us()), (5_000, 1_000_005));
    }

    #[test]
    fn real_clock_does_not_go_back() {
        let clock = RealClock::default();
        let first = clock.monotonic_ns();
        assert!(clock.monotonic_ns() >= first);
        assert!(clock.wall_us() > 1_500_000_000_000_000);
    }
}
