//! `altiplano bench plain`: does a server's rate hold from few connections to many?
//!
//! One server is set beside itself. All connections of all numbers stand open from the beginning, or (`--apart`) those of one number at a time, as in runs of their own; those of one number work at a time, and slices take
//! turns: a machine has fast and slow minutes, and runs one after the other compare those.

use super::command::{Load, Pauses, each_once};
use super::{Comparison, Pace, Slices, comparison, each_together, figures, heads, in_turns};
use crate::address::Server;
use crate::options::{RunOptions, Work};
use crate::outcome::Outcome;
use crate::progress::{self, Progress};
use crate::report;
use crate::report::table::Table;
use crate::running::Totals;
use crate::workload::Workload;
use clap::Args;
use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

/// The `plain` command.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("seconds", |arg| arg.long("slice").default_value("2").help("Length of a slice")))]
pub struct PlainCommand {
    /// Server
    #[command(flatten)]
    pub server: Server,
    /// What is done to it
    #[command(flatten)]
    pub work: Work,
    /// Numbers of connections; the others are compared with the first
    #[arg(long, short, value_name = "N,…", value_delimiter = ',', default_value = "64,2000,10000", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub connections: Vec<u32>,
    /// Slices with each number of connections
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: u16,
    /// Before each slice is measured they work for so long: longer than a transaction takes
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    pub lead: f64,
    /// Connections are opened for each slice and closed behind it. Otherwise those of all numbers stand open all the time, and have been idle before each slice
    #[arg(long)]
    pub apart: bool,
    /// The server's process, where it is not found by its port
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}

/// Of all loads, which work on the same tables.
#[derive(Default)]
struct Ended {
    totals: Option<Totals>,
    /// The first wrong answer.
    wrong: Option<String>,
}

/// One of the loads, which does not judge the tables by itself.
struct Shared {
    load: Load,
    ended: Rc<RefCell<Ended>>,
}

impl Slices for Shared {
    fn slice(&mut self, seconds: f64) -> Result<Outcome, String> {
        self.load.slice(seconds)
    }

    fn close(self: Box<Self>) -> Result<(), String> {
        let (totals, wrong) = self.load.leave()?;
        let mut ended = self.ended.borrow_mut();
        ended.totals = Some(ended.totals.map_or(totals, |before| before.and(totals)));
        ended.wrong = ended.wrong.take().or(wrong);
        Ok(())
    }
}

/// A load whose connections stand open for its slices only.
struct Apart {
    options: RunOptions,
    watcher: Rc<RefCell<Box<dyn Progress>>>,
    pauses: Pauses,
    ended: Rc<RefCell<Ended>>,
}

impl Slices for Apart {
    fn slice(&mut self, seconds: f64) -> Result<Outcome, String> {
        let load = Load::start(&self.options, &self.watcher, self.pauses)?;
        let mut shared = Box::new(Shared { load, ended: Rc::clone(&self.ended) });
        let outcome = shared.slice(seconds)?;
        shared.close()?;
        Ok(outcome)
    }
}

impl PlainCommand {
    fn options(&self, connections: usize) -> RunOptions {
        let (server, work) = (self.server.clone(), self.work.clone());
        RunOptions { server, work, connections, pid: self.pid, label: String::new(), ledger: None }
    }

    /// Measures and prints.
    pub fn execute(&self) -> Result<(), String> {
        let counts = each_once(&self.connections);
        if counts.len() < 2 {
            return Err("two numbers of connections at least: the others are compared with the first".to_owned());
        }
        let pace = Pace::of(&self.work, self.rounds, self.lead)?;
        eprintln!("about {:.0} minutes, and the logins", pace.seconds(counts.len()) / 60.0);
        let watcher = Rc::new(RefCell::new(progress::of_terminal()));
        let pauses = Pauses { lead_seconds: self.lead, ..Pauses::default() };
        let ended = Rc::new(RefCell::new(Ended::default()));
        let mut open = |load: usize| -> Result<Box<dyn Slices>, String> {
            let (options, ended) = (self.options(counts[load]), Rc::clone(&ended));
            if self.apart {
                return Ok(Box::new(Apart { options, watcher: Rc::clone(&watcher), pauses, ended }));
            }
            Ok(Box::new(Shared { load: Load::start(&options, &watcher, pauses)?, ended }))
        };
        let names: Vec<String> = counts.iter().map(|count| report::connections(*count)).collect();
        let (slices, notes) = in_turns(&names, &pace, &mut open);
        watcher.borrow_mut().clear();
        let comparison = comparison(&self.work.workload.name(), counts[0], &names, &slices);
        let outcomes = each_together(slices, counts.len());
        if outcomes.iter().all(Option::is_none) {
            return Err(notes.first().map_or("nothing could be measured", String::as_str).to_owned());
        }
        let mut out = table(&counts, &comparison, &outcomes).text();
        notes.iter().for_each(|note| out.push_str(&format!("{note}\n")));
        write!(std::io::stdout(), "{out}").map_err(|e| format!("stdout: {e}"))?;
        let ended = ended.take();
        // Of one that failed nobody knows what it changed.
        let totals = ended.totals.filter(|_| notes.is_empty());
        let verdict = totals.and_then(|totals| totals.verdict(&Workload::new(&self.options(counts[0])))).filter(|verdict| verdict != "ok");
        notes.into_iter().next().or(ended.wrong).or(verdict).or(too_few(&counts, &outcomes)).map_or(Ok(()), Err)
    }
}

/// What is said of a number of connections that were not all let in: its figures are those of fewer.
fn too_few(counts: &[usize], outcomes: &[Option<Outcome>]) -> Option<String> {
    counts.iter().zip(outcomes).find_map(|(count, outcome)| {
        let let_in = outcome.as_ref()?.connections;
        (let_in < *count).then(|| format!("of {} {let_in} were let in", report::connections(*count)))
    })
}

/// A line for each number of connections.
fn table(counts: &[usize], comparison: &Comparison, outcomes: &[Option<Outcome>]) -> Table {
    let heads = heads(&comparison.servers[0]);
    let head: Vec<&str> = std::iter::once("connections").chain(heads.iter().map(String::as_str)).collect();
    let mut table = Table::new(1, &head);
    for (load, (count, outcome)) in counts.iter().zip(outcomes).enumerate() {
        let figures = outcome.as_ref().map_or_else(|| vec!["–".to_owned()], |outcome| figures(outcome, comparison, load).into());
        table.row([vec![count.to_string()], figures].concat());
    }
    table.compact()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::{Machine, made};

    /// Nine tenths of the rate with many connections, on a machine whose speed drifts by half.
    #[test]
    fn a_rate_that_falls_is_seen_although_the_machine_drifts() {
        let seed = 5;
        println!("seed {seed}");
        let (counts, machine) = ([64, 2000], Rc::new(RefCell::new(Machine::default())));
        let names = counts.map(report::connections);
        let pace = Pace { rounds: 20, slice_seconds: 2.0, before_seconds: 0.0, warmup_seconds: 0.0 };
        let mut open = |load: usize| -> Result<Box<dyn Slices>, String> {
            Ok(Box::new(made(&machine, load, counts[load], [4000.0, 3600.0][load], seed)))
        };
        let (slices, notes) = in_turns(&names, &pace, &mut open);
        let comparison = comparison("tpcc", counts[0], &names, &slices);
        let ratio = comparison.ratio(1).unwrap();
        let (low, high) = ratio.interval.unwrap();
        assert!(low < 0.9 && 0.9 < high && high - low < 0.15, "{ratio:?}");
        let text = table(&counts, &comparison, &each_together(slices, 2)).text();
        assert!(notes.is_empty() && text.contains("x 64 connections (95 %)"), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() == 3 && lines[1].starts_with("64 ") && lines[2].starts_with("2000 "), "{text}");
        assert!(lines[2].contains(" – ") && lines[1].matches(" – ").count() == 1, "the first has no ratio: {text}");
    }

    #[test]
    fn figures_of_fewer_connections_are_told() {
        let machine = Rc::new(RefCell::new(Machine::default()));
        let outcomes = [64, 1976].map(|let_in| made(&machine, 0, let_in, 10.0, 1).slice(2.0).ok());
        assert_eq!(too_few(&[64, 1976], &outcomes), None);
        assert_eq!(too_few(&[64, 2000], &outcomes).as_deref(), Some("of 2000 connections 1976 were let in"));
    }

    #[test]
    fn who_fails_has_a_line_without_figures() {
        let (counts, machine) = ([1, 2], Rc::new(RefCell::new(Machine::default())));
        let names = counts.map(report::connections);
        let pace = Pace { rounds: 2, slice_seconds: 2.0, before_seconds: 0.0, warmup_seconds: 0.0 };
        let mut open = |load: usize| -> Result<Box<dyn Slices>, String> {
            if load == 1 { Err("Too many connections".to_owned()) } else { Ok(Box::new(made(&machine, load, 1, 10.0, 1))) }
        };
        let (slices, notes) = in_turns(&names, &pace, &mut open);
        assert_eq!(notes, ["2 connections: Too many connections"]);
        let comparison = comparison("tpcc", 1, &names, &slices);
        let text = table(&counts, &comparison, &each_together(slices, 2)).text();
        assert!(text.lines().last().is_some_and(|line| line.split_whitespace().eq(["2", "–"])), "{text}");
    }
}
