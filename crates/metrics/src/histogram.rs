//! A histogram with buckets of at most 12.5 % width (log-linear), for times in nanoseconds or sizes in bytes.

use std::sync::atomic::{AtomicU64, Ordering};

/// Buckets per power of two.
const LINEAR: usize = 8;
const LINEAR_BITS: u32 = LINEAR.trailing_zeros();
const BUCKETS: usize = LINEAR * (64 - LINEAR_BITS as usize + 1);

/// Counts values by magnitude. Recording is one relaxed add to a bucket; keep one per thread or session where even that is shared too much.
#[derive(Debug)]
pub struct Histogram {
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
}

/// A histogram at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    buckets: Vec<u64>,
    /// How many values.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
}

fn bucket_of(value: u64) -> usize {
    if value < LINEAR as u64 {
        return value as usize;
    }
    let shift = 63 - value.leading_zeros() - LINEAR_BITS;
    (shift as usize + 1) * LINEAR + ((value >> shift) as usize - LINEAR)
}

/// Largest value of a bucket.
fn upper_bound(bucket: usize) -> u64 {
    if bucket < LINEAR {
        return bucket as u64;
    }
    let shift = (bucket / LINEAR - 1) as u32;
    let next = ((bucket % LINEAR + LINEAR) as u128 + 1) << shift;
    (next - 1).min(u128::from(u64::MAX)) as u64
}

impl Histogram {
    /// Empty.
    pub fn new() -> Self {
        Histogram { buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(), sum: AtomicU64::new(0) }
    }

    /// Counts a value.
    #[inline]
    pub fn record(&self, value: u64) {
        self.buckets[bucket_of(value)].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Copies the counts.
    pub fn snapshot(&self) -> Snapshot {
        let buckets: Vec<u64> = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
        Snapshot { count: buckets.iter().sum(), sum: self.sum.load(Ordering::Relaxed), buckets }
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Snapshot {
    /// A value that at least the share `q` (0 to 1) of the values do not exceed, at most 12.5 % too high; 0 when empty.
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = ((self.count as f64 * q).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return upper_bound(bucket);
            }
        }
        0
    }

    /// Mean value; 0 when empty.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_within_an_eighth_of_its_bucket_bound() {
        let powers = (0..64).map(|shift| 1u64 << shift);
        for value in powers.flat_map(|p| [p - 1, p, p + 1, p | p >> 3]).chain([u64::MAX]) {
            let bound = upper_bound(bucket_of(value));
            assert!(bound >= value && bound - value <= value / 8, "{value} {bound}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_of_a_uniform_range() {
        let histogram = Histogram::new();
        assert_eq!(histogram.snapshot().quantile(0.5), 0);
        (1..=1000).for_each(|v| histogram.record(v));
        let snapshot = histogram.snapshot();
        assert_eq!((snapshot.count, snapshot.sum), (1000, 500_500));
        assert!((500..=563).contains(&snapshot.quantile(0.5)));
        assert!((990..=1115).contains(&snapshot.quantile(0.99)));
        assert_eq!(snapshot.mean(), 500.5);
    }
}
