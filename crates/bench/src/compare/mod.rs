//! Servers beside one another: short slices in turns, so that what the machine does meanwhile hits all alike, and ratios that say how sure they are.
//!
//! # Invariants
//! 1. In a slice one server works; the others' connections are open and idle.
//! 2. The order differs from round to round: nobody always comes first, or always follows the same neighbour (`in_round`).
//! 3. A ratio is made of pairs of one round. A round in which one of both failed is no pair.
//!
//! # Start at
//! [`measure`]; `command.rs` has the command line. `plain.rs` sets one server beside itself, with several numbers of connections.

pub mod command;
pub mod plain;

use crate::combine;
use crate::options::Work;
use crate::outcome::Outcome;
use crate::report::figures::shown_ratio;
use crate::report::table::Table;
use crate::report::{Comparison, SliceFigures, shown};

/// Connections that stand open, and work for a slice of time when they are told to.
pub trait Slices {
    /// Works so long; what came of it.
    fn slice(&mut self, seconds: f64) -> Result<Outcome, String>;

    /// Closes the connections; an error when what the workload left is wrong.
    fn close(self: Box<Self>) -> Result<(), String> {
        Ok(())
    }
}

/// How long, how often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Slices of each load.
    pub rounds: usize,
    /// Length of one.
    pub slice_seconds: f64,
    /// Before each, not counted.
    pub before_seconds: f64,
    /// Time of each load before the first, not counted.
    pub warmup_seconds: f64,
}

impl Pace {
    /// As the command line says; an error when it makes no sense.
    fn of(work: &Work, rounds: u16, before_seconds: f64) -> Result<Pace, String> {
        if !(0.0..=3600.0).contains(&before_seconds) || work.seconds < 0.1 {
            return Err("a slice lasts a tenth of a second at least, and between slices is an hour at most".to_owned());
        }
        Ok(Pace { rounds: usize::from(rounds), slice_seconds: work.seconds, before_seconds, warmup_seconds: work.warmup })
    }

    /// How long so many loads take, but for logging in.
    pub fn seconds(&self, loads: usize) -> f64 {
        loads as f64 * (self.warmup_seconds + self.rounds as f64 * (self.before_seconds + self.slice_seconds))
    }
}

/// What a comparison gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// For each number of connections and server, its slices as one.
    pub outcomes: Vec<Outcome>,
    /// For each number of connections, the slices.
    pub comparisons: Vec<Comparison>,
    /// Servers that failed, and when.
    pub notes: Vec<String>,
}

impl Measured {
    /// What was measured with so many connections.
    pub fn only(&self, connections: usize) -> Measured {
        let mut it = self.clone();
        it.outcomes.retain(|outcome| outcome.connections == connections);
        it.comparisons.retain(|comparison| comparison.connections == connections);
        it
    }
}

/// Opens connections: the server's number, how many.
pub type Open<'a> = &'a mut dyn FnMut(usize, usize) -> Result<Box<dyn Slices>, String>;

/// Measures with each number of connections; `told` gets a comparison as soon as its last round is over.
pub fn measure(
    workload: &str,
    names: &[String],
    counts: &[usize],
    pace: &Pace,
    open: Open<'_>,
    told: &mut dyn FnMut(&Measured),
) -> Measured {
    let mut all = Measured::default();
    for connections in counts {
        let with_count: Vec<String> = names.iter().map(|name| format!("{name}, {}", crate::report::connections(*connections))).collect();
        let (slices, notes) = in_turns(&with_count, pace, &mut |server| open(server, *connections));
        all.comparisons.push(comparison(workload, *connections, names, &slices));
        all.notes.extend(notes);
        for (outcome, name) in each_together(slices, names.len()).into_iter().zip(names) {
            // Those that were refused are in `lost`; the figure belongs to the number that was asked for.
            all.outcomes.extend(outcome.map(|outcome| Outcome { server: name.clone(), connections: *connections, ..outcome }));
        }
        told(&all);
    }
    all
}

/// What was made of slices, for ratios.
fn comparison(workload: &str, connections: usize, names: &[String], slices: &[Vec<Option<Outcome>>]) -> Comparison {
    let rounds = slices.iter().map(|round| round.iter().map(|slice| slice.as_ref().map(SliceFigures::of)).collect()).collect();
    let settings = slices.iter().flatten().flatten().next().map_or_else(Default::default, |slice| slice.settings.clone());
    Comparison { workload: workload.to_owned(), settings, connections, servers: names.to_vec(), rounds }
}

/// The slices of each of so many loads as one; of those that gave none nothing.
fn each_together(slices: Vec<Vec<Option<Outcome>>>, loads: usize) -> Vec<Option<Outcome>> {
    let mut of_load: Vec<Vec<Outcome>> = (0..loads).map(|_| Vec::new()).collect();
    slices.into_iter().flat_map(|round| round.into_iter().enumerate()).for_each(|(load, slice)| of_load[load].extend(slice));
    of_load.into_iter().map(combine::together).collect()
}

/// In which order so many loads work in a round: the rows of Williams' square (E. J. Williams, Experimental designs balanced for the estimation of residual effects of treatments, 1949), of which each load has each
/// place once, and follows each other one once; of an odd number the next rows are the same ones backwards, and a pair follows each other twice.
fn in_round(loads: usize, round: usize) -> impl Iterator<Item = usize> {
    let (row, backwards) = (round % loads.max(1), !loads.is_multiple_of(2) && round / loads % 2 == 1);
    (0..loads).map(move |turn| {
        let turn = if backwards { loads - 1 - turn } else { turn };
        // 0, 1, n - 1, 2, n - 2, …: neighbours that differ by another number each.
        let step = if turn.is_multiple_of(2) { loads - turn / 2 } else { turn.div_ceil(2) };
        (step + row) % loads
    })
}

/// Loads in turns: what each round and load gave, and who failed. Who did is left out from there on.
fn in_turns(
    names: &[String],
    pace: &Pace,
    open: &mut dyn FnMut(usize) -> Result<Box<dyn Slices>, String>,
) -> (Vec<Vec<Option<Outcome>>>, Vec<String>) {
    let mut notes = Vec::new();
    let mut note = |load: usize, why: String| notes.push(format!("{}: {why}", names[load]));
    let mut opened: Vec<Option<Box<dyn Slices>>> = Vec::new();
    for load in 0..names.len() {
        opened.push(open(load).map_err(|why| note(load, why)).ok());
    }
    let mut slice = |load: usize, seconds: f64| {
        let result = opened[load].as_mut()?.slice(seconds);
        result
            .map_err(|why| {
                note(load, why);
                opened[load] = None;
            })
            .ok()
    };
    if pace.warmup_seconds > 0.0 {
        (0..names.len()).for_each(|load| drop(slice(load, pace.warmup_seconds)));
    }
    let mut rounds = Vec::new();
    for round in 0..pace.rounds {
        let mut of_round: Vec<Option<Outcome>> = vec![None; names.len()];
        for load in in_round(names.len(), round) {
            of_round[load] = slice(load, pace.slice_seconds);
        }
        rounds.push(of_round);
    }
    for (load, connections) in opened.into_iter().enumerate() {
        let _ = connections.map(|connections| connections.close().map_err(|why| note(load, why)));
    }
    (rounds, notes)
}

/// Heads of the columns that [`figures`] fills, of what is compared with `first`.
fn heads(first: &str) -> [String; 9] {
    let ratio = format!("x {first} (95 %)");
    let cpu_ratio = format!("CPU {ratio}");
    ["tx/s", &ratio, "slices' range", "CPU µs/tx", &cpu_ratio, "p50 ms", "p99 ms", "failed", "lost"].map(str::to_owned)
}

/// What a load gave, and how it compares with the first one.
fn figures(outcome: &Outcome, comparison: &Comparison, load: usize) -> [String; 9] {
    let all = crate::report::csv::all_kinds(outcome);
    let rates: Vec<f64> = comparison.rounds.iter().filter_map(|round| Some(round.get(load)?.as_ref()?.rate())).collect();
    let range = crate::statistics::range(&rates).map_or_else(String::new, |(low, high)| format!("{} – {}", shown(low), shown(high)));
    let compared = |ratio: Option<crate::statistics::Ratio>| match (load, ratio) {
        (0, _) | (_, None) => String::new(),
        (_, Some(ratio)) => shown_ratio(&ratio),
    };
    let count = |n: u64| if n == 0 { String::new() } else { n.to_string() };
    [
        shown(outcome.rate()),
        compared(comparison.ratio(load)),
        range,
        outcome.cpu_seconds_each().map_or_else(String::new, |s| shown(s * 1e6)),
        compared(comparison.cpu_ratio(load)),
        shown(all.percentile_ms(0.5)),
        shown(all.percentile_ms(0.99)),
        count(outcome.failed),
        count(outcome.lost),
    ]
}

/// A line for each server and number of connections.
pub fn table(measured: &Measured) -> Table {
    let first = measured.comparisons.first().and_then(|c| c.servers.first()).map_or("", String::as_str);
    let heads = heads(first);
    let head: Vec<&str> = ["connections", "server"].into_iter().chain(heads.iter().map(String::as_str)).collect();
    let mut table = Table::new(2, &head);
    for comparison in &measured.comparisons {
        for (server, name) in comparison.servers.iter().enumerate() {
            let mine = measured.outcomes.iter().find(|o| o.server == *name && o.connections == comparison.connections);
            let figures = mine.map_or_else(|| vec!["–".to_owned()], |outcome| figures(outcome, comparison, server).into());
            table.row([vec![comparison.connections.to_string(), name.clone()], figures].concat());
        }
    }
    table.compact()
}

#[cfg(test)]
mod tests;
