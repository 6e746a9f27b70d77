//! When transactions are to begin under a rate, whatever the server does: what waits because the server is slow is timed from then.

use std::time::{Duration, Instant};

/// Moments at a fixed distance from each other; whoever is free takes the next one, which may have passed already.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    begun: Instant,
    interval: f64,
    taken: u64,
}

impl Schedule {
    /// So many a second, the first after `share` (0 to 1) of the interval, so that threads do not begin all at once.
    pub fn new(begun: Instant, rate: f64, share: f64) -> Schedule {
        let interval = 1.0 / rate.max(f64::MIN_POSITIVE);
        // An interval of years is as good as none.
        let first = Duration::try_from_secs_f64(interval * share).unwrap_or(Duration::MAX / 4).min(Duration::from_secs(1 << 30));
        Schedule { begun: begun + first, interval: interval.min(1e9), taken: 0 }
    }

    /// The next moment.
    pub fn take(&mut self) -> Instant {
        let moment = self.at(self.taken);
        self.taken += 1;
        moment
    }

    fn at(&self, number: u64) -> Instant {
        self.begun + Duration::from_secs_f64((number as f64 * self.interval).min(1e9))
    }

    /// Moments that have passed and were not taken.
    pub fn behind(&self, now: Instant) -> u64 {
        let passed = now.saturating_duration_since(self.begun).as_secs_f64() / self.interval;
        let due = if now < self.begun { 0 } else { passed as u64 + 1 };
        due.saturating_sub(self.taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_do_not_depend_on_when_they_are_taken() {
        let begun = Instant::now();
        let mut schedule = Schedule::new(begun, 100.0, 0.5);
        let moments: Vec<Duration> = (0..4).map(|_| schedule.take() - begun).collect();
        assert_eq!(moments, [5, 15, 25, 35].map(Duration::from_millis));
        // A stall of a second: a hundred moments have passed, and are to be taken one by one.
        let after = begun + Duration::from_millis(1036);
        assert_eq!(schedule.behind(after), 100);
        let late: Vec<Duration> = (0..100).map(|_| after - schedule.take()).collect();
        assert_eq!((late[0], late[99]), (Duration::from_millis(991), Duration::from_millis(1)));
        assert_eq!(schedule.behind(after), 0);
        assert!(schedule.take() > after);
        assert_eq!(Schedule::new(after, 10.0, 0.0).behind(begun), 0);
        // No rate is so small that moments overflow.
        let mut never = Schedule::new(begun, 1e-300, 1.0);
        assert!(never.take() >= begun && never.take() > begun);
    }
}
