//! Latencies by the logarithmic buckets of HdrHistogram, three significant digits: a percentile is right within 0.1 %; sum and maximum are exact.
//!
//! # Invariants
//! 1. What is counted is never lost: a value past an hour and a half counts in the last bucket, its exact length in sum and maximum.
//! 2. Buckets are made as they are needed, so that one of fast transactions stays small: there is one for each thread, kind and second.

use hdrhistogram::Histogram as Buckets;
use std::time::Duration;

/// Significant digits of a bucket.
const DIGITS: u8 = 3;
/// The longest that is told apart: 2^33 µs, two hours and a bit.
const LONGEST_US: u64 = 1 << 33;

/// How long things took.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Buckets<u64>,
    sum_us: u64,
    max_us: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        let buckets = Buckets::new(DIGITS).expect("three digits are within the library's bounds");
        Histogram { buckets, sum_us: 0, max_us: 0 }
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        // How many buckets have been made is of no account.
        self.sum_us == other.sum_us && self.max_us == other.max_us && self.counts() == other.counts()
    }
}

impl Histogram {
    /// Counts one.
    pub fn add(&mut self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.add_to_bucket(us, 1);
        self.sum_us = self.sum_us.saturating_add(us);
        self.max_us = self.max_us.max(us);
    }

    fn add_to_bucket(&mut self, us: u64, count: u64) {
        // It refuses only what it may not grow for, and it may grow.
        let counted = self.buckets.record_n(us.min(LONGEST_US), count);
        debug_assert!(counted.is_ok(), "{us}: {counted:?}");
    }

    /// Takes in another's counts.
    pub fn merge(&mut self, other: &Histogram) {
        let merged = self.buckets.add(&other.buckets);
        debug_assert!(merged.is_ok(), "{merged:?}");
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
        self.max_us = self.max_us.max(other.max_us);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// Milliseconds below which this share (0 to 1) of all stays, rounded up to its bucket's end.
    pub fn percentile_ms(&self, share: f64) -> f64 {
        if self.count() == 0 {
            return 0.0;
        }
        let us = self.buckets.value_at_quantile(share);
        // The last bucket may hold what is longer than its end.
        let us = if us >= LONGEST_US { self.max_us } else { us.min(self.max_us) };
        us as f64 / 1e3
    }

    /// Mean in milliseconds.
    pub fn mean_ms(&self) -> f64 {
        self.sum_us as f64 / self.count().max(1) as f64 / 1e3
    }

    /// The longest in milliseconds.
    pub fn max_ms(&self) -> f64 {
        self.max_us as f64 / 1e3
    }

    /// The longest in microseconds.
    pub fn max_us(&self) -> u64 {
        self.max_us
    }

    /// All together in microseconds.
    pub fn sum_us(&self) -> u64 {
        self.sum_us
    }

    /// The buckets that are not empty, in order: the smallest value of each in microseconds, and how many.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        let lowest = |value| self.buckets.lowest_equivalent(value);
        self.buckets.iter_recorded().map(|at| (lowest(at.value_iterated_to()), at.count_at_value())).collect()
    }

    /// From what `counts`, `sum_us` and `max_us` gave.
    pub fn from_counts(counts: impl IntoIterator<Item = (u64, u64)>, sum_us: u64, max_us: u64) -> Histogram {
        let mut it = Histogram::default();
        for (us, count) in counts {
            it.add_to_bucket(us, count);
        }
        (it.sum_us, it.max_us) = (sum_us, max_us);
        it
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percentiles_of_known_values() {
        let mut h = Histogram::default();
        (1..=1000).for_each(|n| h.add(Duration::from_millis(n)));
        for (share, ms) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = h.percentile_ms(share);
            assert!(found >= ms && found <= ms * 1.002, "{share}: {found}");
        }
        assert_eq!((h.max_ms(), h.count(), h.mean_ms()), (1000.0, 1000, 500.5));
        let mut both = Histogram::default();
        both.merge(&h);
        both.merge(&h);
        assert_eq!(both.count(), 2000);
        assert_eq!(Histogram::default().percentile_ms(0.99), 0.0);
    }

    #[test]
    fn what_is_longer_than_all_buckets_counts() {
        let mut h = Histogram::default();
        h.add(Duration::from_secs(100_000));
        h.add(Duration::ZERO);
        assert_eq!((h.count(), h.max_ms(), h.percentile_ms(1.0)), (2, 1e8, 1e8));
        assert_eq!(h, Histogram::from_counts(h.counts(), h.sum_us(), h.max_us()));
    }

    /// The value of this rank of a sorted list, as the definition of a percentile has it.
    fn exact(sorted: &[u64], share: f64) -> u64 {
        let rank = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len());
        sorted[rank - 1]
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_a_sorted_list(mut values in prop::collection::vec(0u64..100_000_000, 1..300), share in 0.01f64..1.0) {
            let mut h = Histogram::default();
            values.iter().for_each(|us| h.add(Duration::from_micros(*us)));
            values.sort_unstable();
            let (found, right) = (h.percentile_ms(share) * 1e3, exact(&values, share) as f64);
            prop_assert!(found >= right - 0.5 && found <= right * 1.001 + 1.0, "{} of {:?}: {} is not {}", share, values, found, right);
            prop_assert_eq!(h.max_us(), values[values.len() - 1]);
        }

        #[test]
        fn merging_is_counting_both(a in prop::collection::vec(0u64..10_000_000, 0..50), b in prop::collection::vec(0u64..10_000_000_000, 0..50)) {
            let of = |values: &[u64]| {
                let mut h = Histogram::default();
                values.iter().for_each(|us| h.add(Duration::from_micros(*us)));
                h
            };
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(&merged, &of(&[a, b].concat()));
            prop_assert_eq!(&Histogram::from_counts(merged.counts(), merged.sum_us(), merged.max_us()), &merged);
        }
    }
}
