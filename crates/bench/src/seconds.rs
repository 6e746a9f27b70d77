//! Throughput and latency of each second, with one histogram alive for each second that is not closed yet: a run of hours takes no more
//! memory than one of seconds.

use crate::histogram::Histogram;
use crate::outcome::Second;
use std::collections::BTreeMap;
use std::time::Duration;
use sync::{Mutex, Rank};

/// Where threads put their seconds.
pub struct Seconds(Mutex<BTreeMap<usize, Histogram>>);

impl Default for Seconds {
    fn default() -> Seconds {
        Seconds(Mutex::new(Rank::Leaf, BTreeMap::new()))
    }
}

impl Seconds {
    fn put(&self, second: usize, histogram: &Histogram) {
        self.0.lock().entry(second).or_default().merge(histogram);
    }

    /// Takes the seconds before `end` into a list that goes on from its length; `resident_kib` for those that close now.
    pub fn close(&self, end: usize, list: &mut Vec<Second>, resident_kib: Option<u64>) {
        let mut open = self.0.lock();
        while list.len() < end {
            let histogram = open.remove(&list.len()).unwrap_or_default();
            let p99_us = (histogram.percentile_ms(0.99) * 1e3).round() as u64;
            list.push(Second { transactions: histogram.count(), p99_us, resident_kib });
        }
        // Of a thread that was stopped for so long: still counted.
        while let Some((&late, _)) = open.iter().next().filter(|(second, _)| **second < list.len()) {
            list[late].transactions += open.remove(&late).map_or(0, |histogram| histogram.count());
        }
    }

    /// Forgets what is left of a slice.
    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

/// A thread's second that is not over.
#[derive(Default)]
pub struct OpenSecond {
    second: usize,
    histogram: Histogram,
}

impl OpenSecond {
    /// Counts a transaction that ended at `since` of the measured time.
    pub fn add(&mut self, since: Duration, took: Duration, seconds: &Seconds) {
        let second = since.as_secs() as usize;
        if second != self.second {
            self.put(seconds);
            self.second = second;
        }
        self.histogram.add(took);
    }

    /// Puts it where all threads' are.
    pub fn put(&mut self, seconds: &Seconds) {
        if self.histogram.count() > 0 {
            seconds.put(self.second, &std::mem::take(&mut self.histogram));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_close_in_order_and_late_ones_count() {
        let (seconds, mut one, mut other) = (Seconds::default(), OpenSecond::default(), OpenSecond::default());
        let at = Duration::from_millis;
        one.add(at(100), at(5), &seconds);
        other.add(at(900), at(7), &seconds);
        one.add(at(1100), at(1), &seconds);
        let mut list = Vec::new();
        seconds.close(1, &mut list, Some(9));
        assert_eq!((list.len(), list[0].transactions, list[0].resident_kib), (1, 1, Some(9)));
        other.add(at(3000), at(2), &seconds);
        one.put(&seconds);
        other.put(&seconds);
        seconds.close(4, &mut list, None);
        let counts: Vec<u64> = list.iter().map(|second| second.transactions).collect();
        assert_eq!(counts, [2, 1, 0, 1]);
        assert!((5000..=5300).contains(&list[0].p99_us), "{}", list[0].p99_us);
    }
}
