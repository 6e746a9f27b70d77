//! How far a run is, for whoever watches.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;

/// What a run is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Connections log in.
    Login,
    /// Work that is not measured yet.
    Warmup,
    /// Work that is measured.
    Measure,
    /// Waiting for what is under way.
    Drain,
}

impl Phase {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Login => "logging in",
            Phase::Warmup => "warming up",
            Phase::Measure => "measuring",
            Phase::Drain => "ending",
        }
    }
}

/// Where a run is.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// What it is about.
    pub phase: Phase,
    /// Seconds of the phase that have passed; connections while they log in.
    pub done: f64,
    /// Of so many.
    pub total: f64,
    /// Transactions a second since the last look.
    pub rate: f64,
}

/// Somebody who watches a run.
pub trait Progress {
    /// What is going to be done, in a few words; told before the first look.
    fn begin(&mut self, what: &str);
    /// Called some times a second.
    fn show(&mut self, now: &Now);
    /// The run has ended, or something else is to be printed.
    fn clear(&mut self);
}

/// Nobody.
#[derive(Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&mut self, _what: &str) {}
    fn show(&mut self, _now: &Now) {}
    fn clear(&mut self) {}
}

/// A bar on stderr.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    what: String,
}

/// Parts of the bar's whole.
const PARTS: u64 = 1000;

impl Progress for Bar {
    fn begin(&mut self, what: &str) {
        what.clone_into(&mut self.what);
    }

    fn show(&mut self, now: &Now) {
        let part = if now.total > 0.0 { (now.done / now.total).clamp(0.0, 1.0) * PARTS as f64 } else { 0.0 };
        self.bar.set_prefix(self.what.clone());
        self.bar.set_position(part as u64);
        let far = match now.phase {
            Phase::Login => format!("{} of {} connections", now.done, now.total),
            phase => format!("{:.0} of {:.0} s, {:.0}/s", now.done, now.total, if phase == Phase::Drain { 0.0 } else { now.rate }),
        };
        self.bar.set_message(format!("{} {far}", now.phase.name()));
    }

    fn clear(&mut self) {
        self.bar.finish_and_clear();
        self.bar.reset();
    }
}

/// A bar when stderr is a terminal, nothing otherwise.
pub fn of_terminal() -> Box<dyn Progress> {
    if !std::io::stderr().is_terminal() {
        return Box::new(Silent);
    }
    let bar = ProgressBar::new(PARTS);
    if let Ok(style) = ProgressStyle::with_template("{prefix} [{bar:30}] {msg}") {
        bar.set_style(style.progress_chars("#>."));
    }
    Box::new(Bar { bar, what: String::new() })
}
