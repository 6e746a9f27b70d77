//! Servers beside one another: short slices in turns, so that what the machine does meanwhile hits all alike, and ratios that say how sure they are.
//!
//! # Invariants
//! 1. In a slice one server works; the others' connections are open and idle.
//! 2. The order rotates with each round: nobody always follows the same neighbour, or always comes first.
//! 3. A ratio is made of pairs of one round. A round in which one of both failed is no pair.
//!
//! # Start at
//! [`measure`]; `command.rs` has the command line.

pub mod command;

use crate::combine;
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
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Numbers of connections.
    pub connections: Vec<usize>,
    /// Slices of each server.
    pub rounds: usize,
    /// Length of one.
    pub slice_seconds: f64,
    /// Time of each server before the first, not counted.
    pub warmup_seconds: f64,
}

impl Plan {
    /// How long all takes, but for logging in.
    pub fn seconds(&self, servers: usize) -> f64 {
        (self.connections.len() * servers) as f64 * (self.warmup_seconds + self.rounds as f64 * self.slice_seconds)
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

/// Measures; `told` gets a comparison as soon as its last round is over.
pub fn measure(workload: &str, names: &[String], plan: &Plan, open: Open<'_>, told: &mut dyn FnMut(&Measured)) -> Measured {
    let mut all = Measured::default();
    for connections in &plan.connections {
        let (slices, notes) = at(*connections, names, plan, open);
        let rounds = slices.iter().map(|round| round.iter().map(|slice| slice.as_ref().map(SliceFigures::of)).collect()).collect();
        let settings = slices.iter().flatten().flatten().next().map_or_else(Default::default, |slice| slice.settings.clone());
        all.comparisons.push(Comparison {
            workload: workload.to_owned(),
            settings,
            connections: *connections,
            servers: names.to_vec(),
            rounds,
        });
        all.notes.extend(notes);
        let mut of_server: Vec<Vec<Outcome>> = names.iter().map(|_| Vec::new()).collect();
        slices.into_iter().flat_map(|round| round.into_iter().enumerate()).for_each(|(server, slice)| of_server[server].extend(slice));
        for (slices, name) in of_server.into_iter().zip(names) {
            // Those that were refused are in `lost`; the figure belongs to the number that was asked for.
            all.outcomes.extend(combine::together(slices).map(|outcome| Outcome {
                server: name.clone(),
                connections: *connections,
                ..outcome
            }));
        }
        told(&all);
    }
    all
}

/// One number of connections: what each round and server gave, and who failed. Who did is left out from there on.
fn at(connections: usize, names: &[String], plan: &Plan, open: Open<'_>) -> (Vec<Vec<Option<Outcome>>>, Vec<String>) {
    let mut notes = Vec::new();
    let mut note =
        |server: usize, why: String| notes.push(format!("{}, {}: {why}", names[server], crate::report::connections(connections)));
    let mut opened: Vec<Option<Box<dyn Slices>>> = Vec::new();
    for server in 0..names.len() {
        opened.push(open(server, connections).map_err(|why| note(server, why)).ok());
    }
    let mut slice = |server: usize, seconds: f64| {
        let result = opened[server].as_mut()?.slice(seconds);
        result
            .map_err(|why| {
                note(server, why);
                opened[server] = None;
            })
            .ok()
    };
    if plan.warmup_seconds > 0.0 {
        (0..names.len()).for_each(|server| drop(slice(server, plan.warmup_seconds)));
    }
    let mut rounds = Vec::new();
    for round in 0..plan.rounds {
        let mut of_round: Vec<Option<Outcome>> = vec![None; names.len()];
        for turn in 0..names.len() {
            let server = (turn + round) % names.len();
            of_round[server] = slice(server, plan.slice_seconds);
        }
        rounds.push(of_round);
    }
    for (server, connections) in opened.into_iter().enumerate() {
        let _ = connections.map(|connections| connections.close().map_err(|why| note(server, why)));
    }
    (rounds, notes)
}

/// A line for each server and number of connections.
pub fn table(measured: &Measured) -> Table {
    let first = measured.comparisons.first().and_then(|c| c.servers.first()).map_or("", String::as_str);
    let (ratio, cpu_ratio) = (format!("x {first} (95 %)"), format!("CPU x {first} (95 %)"));
    let head = ["connections", "server", "tx/s", &ratio, "slices' range", "CPU µs/tx", &cpu_ratio, "p50 ms", "p99 ms", "failed", "lost"];
    let mut table = Table::new(2, &head);
    for comparison in &measured.comparisons {
        for (server, name) in comparison.servers.iter().enumerate() {
            let mine = measured.outcomes.iter().find(|o| o.server == *name && o.connections == comparison.connections);
            let Some(outcome) = mine else {
                table.row(vec![comparison.connections.to_string(), name.clone(), "–".to_owned()]);
                continue;
            };
            let all = crate::report::csv::all_kinds(outcome);
            let rates: Vec<f64> = comparison.rounds.iter().filter_map(|round| Some(round.get(server)?.as_ref()?.rate())).collect();
            let range =
                crate::statistics::range(&rates).map_or_else(String::new, |(low, high)| format!("{} – {}", shown(low), shown(high)));
            let compared = |ratio: Option<crate::statistics::Ratio>| match (server, ratio) {
                (0, _) | (_, None) => String::new(),
                (_, Some(ratio)) => shown_ratio(&ratio),
            };
            let count = |n: u64| if n == 0 { String::new() } else { n.to_string() };
            table.row(vec![
                comparison.connections.to_string(),
                name.clone(),
                shown(outcome.rate()),
                compared(comparison.ratio(server)),
                range,
                outcome.cpu_seconds_each().map_or_else(String::new, |s| shown(s * 1e6)),
                compared(comparison.cpu_ratio(server)),
                shown(all.percentile_ms(0.5)),
                shown(all.percentile_ms(0.99)),
                count(outcome.failed),
                count(outcome.lost),
            ]);
        }
    }
    table.compact()
}

#[cfg(test)]
mod tests;
