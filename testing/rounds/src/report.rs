//! What rounds have shown.

use histories::place::Restart;
use std::fmt;
use std::time::Duration;

/// Of the rounds of one workload.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Transactions whose commit was acknowledged, and was found after each crash.
    pub acknowledged: u64,
    /// Commits without an answer: they may have happened or not.
    pub unanswered: u64,
    /// The starts after the crashes.
    pub restarts: Vec<Restart>,
}

impl Report {
    /// Memory after the last starts beyond that after the first: the medians of a quarter of them each.
    pub fn growth_kib(&self) -> i64 {
        let quarter = (self.restarts.len() / 4).max(1).min(self.restarts.len());
        let median = |part: &[Restart]| {
            let mut all: Vec<u64> = part.iter().map(|restart| restart.resident_kib).collect();
            all.sort_unstable();
            all.get(all.len() / 2).copied().unwrap_or(0) as i64
        };
        median(&self.restarts[self.restarts.len() - quarter..]) - median(&self.restarts[..quarter])
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ready: Vec<Duration> = self.restarts.iter().map(|restart| restart.ready).collect();
        ready.sort_unstable();
        let resident = self.restarts.iter().map(|restart| restart.resident_kib).max().unwrap_or(0);
        write!(
            f,
            "{} crashes, {} acknowledged transactions all there, {} commits without an answer; ready after {:.0} ms (median), {:.0} ms (worst); \
             memory after a start {} MiB at most, {:+.1} MiB from the first quarter of the starts to the last",
            self.restarts.len(),
            self.acknowledged,
            self.unanswered,
            ready.get(ready.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1000.0),
            ready.last().map_or(0.0, |time| time.as_secs_f64() * 1000.0),
            resident >> 10,
            self.growth_kib() as f64 / 1024.0
        )
    }
}
