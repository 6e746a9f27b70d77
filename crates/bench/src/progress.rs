//! How far a run is, for whoever watches.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};

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

/// A bar on stderr: one line that changes. Taken away when it goes, so that an error does not stand behind it.
#[derive(Debug, Default)]
pub struct Bar {
    what: String,
    stands: bool,
}

/// Parts of a bar where the terminal has room for them.
const PARTS_MAX: usize = 30;
/// What is kept free for the text behind it, so that a longer number does not make it shorter.
const TEXT_COLUMNS: usize = 34;
/// With fewer parts it is left out.
const PARTS_MIN: usize = 5;
/// Where the terminal does not tell its width.
const COLUMNS: u16 = 80;

impl Progress for Bar {
    fn begin(&mut self, what: &str) {
        what.clone_into(&mut self.what);
    }

    fn show(&mut self, now: &Now) {
        // Asked each time: a window changes.
        let columns = rustix::termios::tcgetwinsize(std::io::stderr()).map_or(0, |size| size.ws_col);
        let line = line(&self.what, now, if columns == 0 { COLUMNS } else { columns });
        // A bar that cannot be shown is no reason to stop.
        let _ = write!(std::io::stderr(), "\r{line}\x1b[K");
        self.stands = true;
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.stands) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

/// What stands there, in fewer characters than the terminal has columns: a line that is broken could not be taken back.
fn line(what: &str, now: &Now, columns: u16) -> String {
    // Of a short phase whole seconds tell nothing.
    let digits = usize::from(now.total < 10.0);
    let far = match now.phase {
        Phase::Login => format!("{} of {} connections", now.done, now.total),
        Phase::Drain => format!("{:.digits$} of {:.digits$} s", now.done, now.total),
        Phase::Warmup | Phase::Measure => format!("{:.digits$} of {:.digits$} s, {:.0}/s", now.done, now.total, now.rate),
    };
    let (room, name) = (usize::from(columns).saturating_sub(1), now.phase.name());
    let around = what.chars().count() + " [] ".len() + (name.len() + 1 + far.len()).max(TEXT_COLUMNS);
    let parts = room.saturating_sub(around).min(PARTS_MAX);
    let mut line = what.to_owned();
    if parts >= PARTS_MIN {
        let share = if now.total > 0.0 { (now.done / now.total).clamp(0.0, 1.0) } else { 0.0 };
        let full = (share * parts as f64) as usize;
        let head = if full < parts { ">" } else { "" };
        let _ = write!(line, " [{:.<parts$}]", "#".repeat(full) + head);
    }
    let _ = write!(line, " {name} {far}");
    line.chars().take(room).collect()
}

/// A bar when stderr is a terminal, nothing otherwise.
pub fn of_terminal() -> Box<dyn Progress> {
    if std::io::stderr().is_terminal() { Box::new(Bar::default()) } else { Box::new(Silent) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is_and_fits() {
        let now = |phase, done, total, rate| Now { phase, done, total, rate };
        for (now, columns, expect) in [
            (now(Phase::Login, 3.0, 4.0, 0.0), 80, "bank x4 [######################>.......] logging in 3 of 4 connections"),
            (now(Phase::Warmup, 0.25, 1.0, 7.4), 80, "bank x4 [#######>......................] warming up 0.2 of 1.0 s, 7/s"),
            (now(Phase::Measure, 0.0, 30.0, 12345.6), 80, "bank x4 [>.............................] measuring 0 of 30 s, 12346/s"),
            (now(Phase::Measure, 30.0, 30.0, 1.0), 80, "bank x4 [##############################] measuring 30 of 30 s, 1/s"),
            (now(Phase::Drain, 2.0, 0.0, 1.0), 80, "bank x4 [>.............................] ending 2.0 of 0.0 s"),
            // Narrow: a shorter bar, none, and less than all is said.
            (now(Phase::Measure, 15.0, 30.0, 9.0), 56, "bank x4 [#####>....] measuring 15 of 30 s, 9/s"),
            (now(Phase::Measure, 15.0, 30.0, 999.0), 56, "bank x4 [#####>....] measuring 15 of 30 s, 999/s"),
            (now(Phase::Measure, 15.0, 30.0, 99.0), 40, "bank x4 measuring 15 of 30 s, 99/s"),
            (now(Phase::Measure, 15.0, 30.0, 99.0), 20, "bank x4 measuring 1"),
            (now(Phase::Measure, 15.0, 30.0, 99.0), 1, ""),
        ] {
            let line = line("bank x4", &now, columns);
            assert_eq!(line, expect, "{now:?} in {columns} columns");
            assert!(line.len() < usize::from(columns));
        }
    }
}
