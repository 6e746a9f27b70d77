//! How far a long command is: one line that changes, on a terminal only.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};
use sync::{Mutex, Rank};

/// How often the line changes.
const PAUSE: Duration = Duration::from_millis(200);

/// A line on standard error, or nothing when that is no terminal.
pub(super) struct ProgressLine {
    /// When it was written last, and how long it is; `None` when nobody looks.
    state: Option<Mutex<(Option<Instant>, usize)>>,
}

impl ProgressLine {
    pub(super) fn new() -> ProgressLine {
        ProgressLine { state: std::io::stderr().is_terminal().then(|| Mutex::new(Rank::Leaf, (None, 0))) }
    }

    /// `total` 0: not known.
    pub(super) fn show(&self, phase: &str, done: u64, total: u64) {
        let Some(state) = &self.state else { return };
        let mut state = state.lock();
        if state.0.is_some_and(|at| at.elapsed() < PAUSE) && done != total {
            return;
        }
        let percent = (done * 100).checked_div(total).map_or_else(String::new, |percent| format!(" of {total} ({percent} %)"));
        let text = format!("{phase}: {done}{percent}");
        let width = state.1;
        // A terminal that does not take the line does not keep the work from going on.
        let _ = write!(std::io::stderr(), "\r{text:<width$}");
        *state = (Some(Instant::now()), text.len());
    }

    /// Takes the line away, for what is to stand there.
    pub(super) fn clear(&self) {
        let Some(state) = &self.state else { return };
        let mut state = state.lock();
        let width = std::mem::take(&mut state.1);
        let _ = write!(std::io::stderr(), "\r{:width$}\r", "");
        state.0 = None;
    }
}
