//! The age of the history: how long the oldest transaction has waited for purge.
//!
//! # Invariant
//! Samples are taken by the first purge worker, about one a second; nobody who commits pays for them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};
use txn::FinishSeq;

/// When transactions finished, by samples, so that the age of the oldest that waits can be told.
#[derive(Default)]
pub(crate) struct Ages {
    /// Newest number then, and when; ascending. The first is the oldest entry's, about.
    samples: VecDeque<(FinishSeq, Instant)>,
}

impl Ages {
    /// Samples kept: past that every second one goes.
    const MAX: usize = 4096;

    /// Notes the present, and forgets what was before the oldest entry.
    pub(crate) fn note(&mut self, now: Instant, newest: FinishSeq, oldest: Option<FinishSeq>) {
        let Some(oldest) = oldest else { return self.samples.clear() };
        self.samples.push_back((newest, now));
        while self.samples.get(1).is_some_and(|(seq, _)| *seq <= oldest) {
            self.samples.pop_front();
        }
        if self.samples.len() > Self::MAX {
            let mut odd = false;
            self.samples.retain(|_| {
                odd = !odd;
                odd
            });
        }
    }

    /// How long the oldest entry has waited.
    pub(crate) fn oldest(&self, now: Instant) -> Duration {
        self.samples.front().map_or(Duration::ZERO, |(_, at)| now.saturating_duration_since(*at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_is_that_of_the_oldest_entry_about() {
        let (mut ages, start) = (Ages::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        // One number a second; the oldest entry stays for a day.
        for second in 0..86_400u64 {
            ages.note(at(second), FinishSeq(100 + second), Some(FinishSeq(105)));
        }
        assert!(ages.samples.len() <= Ages::MAX + 1);
        let age = ages.oldest(at(86_400)).as_secs();
        assert!((86_300..=86_400).contains(&age), "{age}");
        ages.note(at(86_400), FinishSeq(90_000), Some(FinishSeq(86_000)));
        let age = ages.oldest(at(86_400)).as_secs();
        assert!((400..=700).contains(&age), "{age}");
        ages.note(at(86_401), FinishSeq(90_001), None);
        assert_eq!(ages.oldest(at(86_500)), Duration::ZERO);
    }
}
