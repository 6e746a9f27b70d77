//! Latencies by logarithmic buckets: 32 to each power of two, so that a percentile is right within about 3 %; the maximum is exact.

use std::time::Duration;

const SUB_BITS: u32 = 5;
const BUCKETS: usize = 32 << SUB_BITS;

/// How long things took.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum_us: u64,
    max_us: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: vec![0; BUCKETS], count: 0, sum_us: 0, max_us: 0 }
    }
}

fn bucket(us: u64) -> usize {
    let us = us.min(u64::from(u32::MAX));
    if us < 1 << SUB_BITS {
        return us as usize;
    }
    let shift = us.ilog2() - SUB_BITS;
    ((shift as usize) << SUB_BITS) + (us >> shift) as usize
}

/// The largest value of a bucket.
fn top(bucket: usize) -> u64 {
    if bucket < 2 << SUB_BITS {
        return bucket as u64;
    }
    let shift = (bucket >> SUB_BITS) - 1;
    let head = (bucket - (shift << SUB_BITS)) as u64;
    ((head + 1) << shift) - 1
}

impl Histogram {
    /// Counts one.
    pub fn add(&mut self, took: Duration) {
        let us = took.as_micros() as u64;
        self.counts[bucket(us)] += 1;
        self.count += 1;
        self.sum_us += us;
        self.max_us = self.max_us.max(us);
    }

    /// Takes in another's counts.
    pub fn merge(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
        self.count += other.count;
        self.sum_us += other.sum_us;
        self.max_us = self.max_us.max(other.max_us);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Milliseconds below which this share (0 to 1) of all stays, rounded up to its bucket's end.
    pub fn percentile_ms(&self, share: f64) -> f64 {
        let rank = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut below = 0;
        for (index, count) in self.counts.iter().enumerate() {
            below += count;
            if below >= rank {
                return top(index).min(self.max_us) as f64 / 1e3;
            }
        }
        0.0
    }

    /// Mean in milliseconds.
    pub fn mean_ms(&self) -> f64 {
        self.sum_us as f64 / self.count.max(1) as f64 / 1e3
    }

    /// The longest in milliseconds.
    pub fn max_ms(&self) -> f64 {
        self.max_us as f64 / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_one_another_and_hold_their_values() {
        let mut last = 0;
        for us in (0..100_000u64).chain([1 << 20, 1 << 31, u64::from(u32::MAX)]) {
            let at = bucket(us);
            assert!(at == last || at == last + 1 || us > 100_000, "{us}");
            assert!(top(at) >= us && top(at) as f64 <= us as f64 * 1.04 + 1.0, "{us} is in a bucket up to {}", top(at));
            last = at;
        }
        assert!(bucket(u64::MAX) < BUCKETS);
    }

    #[test]
    fn percentiles_of_known_values() {
        let mut h = Histogram::default();
        (1..=1000).for_each(|n| h.add(Duration::from_millis(n)));
        for (share, ms) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = h.percentile_ms(share);
            assert!(found >= ms && found <= ms * 1.04, "{share}: {found}");
        }
        assert_eq!((h.max_ms(), h.count(), h.mean_ms()), (1000.0, 1000, 500.5));
        let mut both = Histogram::default();
        both.merge(&h);
        both.merge(&h);
        assert_eq!(both.count(), 2000);
        assert_eq!(Histogram::default().percentile_ms(0.99), 0.0);
    }
}
