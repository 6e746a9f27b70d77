//! The long run: one server under load for hours, a second's figures for each second and what the server holds for each minute, and at the end
//! a verdict whether it is still what it was.
//!
//! # Invariants
//! 1. What has been measured is handed over after each minute, whole: a run that is killed leaves a report up to its last minute.
//! 2. The verdict follows from what is in the report alone; a report that is read again gives the same one.
//!
//! # Start at
//! [`run`]; `verdict.rs` judges, `probe.rs` asks the server what it holds, `command.rs` has the command line.

pub mod command;
pub mod probe;
pub mod verdict;

use crate::combine;
use crate::compare::Slices;
use crate::outcome::{Outcome, Second};
use crate::report::plot::{Axis, Plot, Series};
use crate::report::shown;
use crate::report::table::Table;
use crate::statistics::{median, range};
use std::collections::{BTreeMap, BTreeSet};
use verdict::Verdict;

/// A long run, as far as it has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Soak {
    /// How long it was to be.
    pub planned_seconds: f64,
    /// What was measured so far; a second's figures for each.
    pub outcome: Outcome,
    /// What the server held, minute by minute.
    pub samples: Vec<Sample>,
}

/// What a server holds at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Seconds of measured time before it.
    pub at_seconds: f64,
    /// Resident memory, when it is on this machine.
    pub resident_kib: Option<u64>,
    /// What it says of itself, by the names of `probe`, those that it knows; and what a transaction of the time since the sample before took of
    /// processors, by [`CLIENT_US`] and, of a server on this machine, [`SERVER_US`].
    pub gauges: BTreeMap<String, f64>,
}

/// Says what a server holds.
pub trait Probe {
    /// By name; what cannot be found out is left out.
    fn gauges(&mut self) -> BTreeMap<String, f64>;
}

/// The client's own processor time a transaction, in microseconds.
pub const CLIENT_US: &str = "client_us";
/// The server's.
pub const SERVER_US: &str = "server_us";

/// What a transaction took of processors, by the names of gauges.
fn processor_time(slice: &Outcome) -> BTreeMap<String, f64> {
    let transactions = slice.transactions() as f64;
    if transactions == 0.0 {
        return BTreeMap::new();
    }
    let client = (CLIENT_US.to_owned(), slice.client_cpu_seconds * 1e6 / transactions);
    let server = slice.cpu_seconds_each().map(|seconds| (SERVER_US.to_owned(), seconds * 1e6));
    std::iter::once(client).chain(server).collect()
}

/// Measured at once, and between two samples.
const SLICE_SECONDS: f64 = 60.0;

/// Runs so long; `keep` gets all that there is after each minute.
pub fn run(
    server: &mut dyn Slices,
    probe: &mut dyn Probe,
    seconds: f64,
    keep: &mut dyn FnMut(&Soak) -> Result<(), String>,
) -> Result<Soak, String> {
    let mut so_far: Option<Soak> = None;
    let mut gauges_before = Some(probe.gauges());
    loop {
        let done = so_far.as_ref().map_or(0.0, |soak| soak.outcome.seconds);
        // What is left of less than a second would be no second.
        let left = seconds - done;
        if left < 1.0
            && let Some(soak) = so_far
        {
            return Ok(soak);
        }
        let slice = server.slice(left.clamp(1.0, SLICE_SECONDS))?;
        if slice.seconds <= 0.0 {
            return Err("a slice of no time".to_owned());
        }
        let resident_at_begin = slice.each_second.first().and_then(|second| second.resident_kib);
        let resident_kib = slice.local.map(|local| local.resident_kib);
        let processor_time = processor_time(&slice);
        let soak = match so_far.take() {
            Some(mut soak) => {
                combine::add(&mut soak.outcome, slice);
                so_far.insert(soak)
            }
            None => so_far.insert(Soak { planned_seconds: seconds, outcome: slice, samples: Vec::new() }),
        };
        if let Some(gauges) = gauges_before.take() {
            soak.samples.push(Sample { at_seconds: 0.0, resident_kib: resident_at_begin, gauges });
        }
        let mut gauges = probe.gauges();
        gauges.extend(processor_time);
        soak.samples.push(Sample { at_seconds: soak.outcome.seconds, resident_kib, gauges });
        keep(soak)?;
    }
}

impl Soak {
    /// Whether the server is still what it was.
    pub fn verdict(&self) -> Verdict {
        verdict::judge(self)
    }

    /// What was measured: at the beginning, at the end, the least and the most. Rates and latencies by minutes.
    pub fn table(&self) -> Table {
        let mut table = Table::new(1, &["by the minute", "first", "last", "least", "median", "most"]);
        let mut row = |name: &str, values: Vec<f64>| {
            if let (Some(first), Some(last), Some((low, high)), Some(middle)) =
                (values.first(), values.last(), range(&values), median(&values))
            {
                table.row(std::iter::once(name.to_owned()).chain([*first, *last, low, middle, high].map(shown)).collect());
            }
        };
        let minutes = || self.outcome.each_second.chunks(60).filter(|minute| minute.len() == 60);
        let worst = |minute: &[Second]| minute.iter().map(|second| second.p99_us).max().unwrap_or(0) as f64 / 1e3;
        row("transactions a second", minutes().map(|m| m.iter().map(|s| s.transactions).sum::<u64>() as f64 / 60.0).collect());
        row("worst second's rate", minutes().map(|m| m.iter().map(|s| s.transactions).min().unwrap_or(0) as f64).collect());
        row("worst second's p99, ms", minutes().map(worst).collect());
        row("memory, MiB", self.samples.iter().filter_map(|s| Some(s.resident_kib? as f64 / 1024.0)).collect());
        for name in self.gauge_names() {
            let (title, scale) = probe::title(name);
            row(&title, self.gauge(name).map(|(_, value)| value * scale).collect());
        }
        table
    }

    fn gauge_names(&self) -> BTreeSet<&str> {
        self.samples.iter().flat_map(|sample| sample.gauges.keys().map(String::as_str)).collect()
    }

    fn gauge(&self, name: &str) -> impl Iterator<Item = (f64, f64)> {
        self.samples.iter().filter_map(move |sample| Some((sample.at_seconds, *sample.gauges.get(name)?)))
    }

    /// All that was measured, over time.
    pub fn charts(&self, color: usize) -> Vec<Plot> {
        let plot = |title: String, y: Axis, points: Vec<(f64, f64)>| Plot {
            title,
            across: "minutes".to_owned(),
            x: Axis::Linear,
            y,
            unit: String::new(),
            series: vec![Series::new(&self.outcome.server, color, points.into_iter().map(|(at, value)| (at / 60.0, value)))],
        };
        let seconds = |of: fn(&Second) -> f64| {
            self.outcome.each_second.iter().enumerate().map(|(at, s)| ((at + 1) as f64, of(s))).collect::<Vec<_>>()
        };
        let mut out = vec![
            plot("Transactions in each second".to_owned(), Axis::Linear, seconds(|s| s.transactions as f64)),
            plot("Latency p99 in each second, ms".to_owned(), Axis::Log, seconds(|s| s.p99_us as f64 / 1e3)),
            plot(
                "Memory, MiB".to_owned(),
                Axis::Linear,
                self.samples.iter().filter_map(|s| Some((s.at_seconds, s.resident_kib? as f64 / 1024.0))).collect(),
            ),
        ];
        for name in self.gauge_names() {
            let (title, scale) = probe::title(name);
            out.push(plot(title, Axis::Linear, self.gauge(name).map(|(at, value)| (at, value * scale)).collect()));
        }
        out.retain(|plot| plot.series.iter().any(|s| !s.points.is_empty()));
        out
    }
}

#[cfg(test)]
mod tests;
