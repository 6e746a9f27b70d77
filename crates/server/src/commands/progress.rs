//! How far a long command is: one line that changes, on a terminal; elsewhere a line now and then, or nothing.

use check::{Finding, Report};
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::{Mutex, Rank};

/// Between two changes of the line on a terminal.
const CHANGE_PAUSE: Duration = Duration::from_millis(200);
/// Between two lines elsewhere.
const LINE_PAUSE: Duration = Duration::from_secs(10);

/// A line on standard error.
pub(super) struct ProgressLine {
    terminal: bool,
    /// `None`: nobody looks.
    pause: Option<Duration>,
    drawn: Mutex<Drawn>,
}

struct Drawn {
    at: Instant,
    stands: bool,
}

impl ProgressLine {
    /// On a terminal only.
    pub(super) fn on_terminal() -> ProgressLine {
        let terminal = std::io::stderr().is_terminal();
        ProgressLine::new(terminal, terminal.then_some(CHANGE_PAUSE))
    }

    /// Elsewhere, too; nowhere when `quiet`.
    pub(super) fn everywhere(quiet: bool) -> ProgressLine {
        let terminal = std::io::stderr().is_terminal();
        let pause = if terminal { CHANGE_PAUSE } else { LINE_PAUSE };
        ProgressLine::new(terminal, (!quiet).then_some(pause))
    }

    fn new(terminal: bool, pause: Option<Duration>) -> ProgressLine {
        let drawn = Drawn { at: Instant::now(), stands: false };
        ProgressLine { terminal, pause, drawn: Mutex::new(Rank::Leaf, drawn) }
    }

    pub(super) fn is_on_terminal(&self) -> bool {
        self.terminal
    }

    /// Shows a text when it is time for one, or when it is the `last`.
    pub(super) fn draw(&self, last: bool, text: impl FnOnce() -> String) {
        let Some(pause) = self.pause else { return };
        let mut drawn = self.drawn.lock();
        if !last && drawn.at.elapsed() < pause {
            return;
        }
        *drawn = Drawn { at: Instant::now(), stands: true };
        // Progress that cannot be shown is no reason to stop.
        let _ = match self.terminal {
            true => write!(std::io::stderr(), "\r{}\x1b[K", text()),
            false => writeln!(std::io::stderr(), "{}", text()),
        };
    }

    /// Shows how many of what there is are done; `total` 0: not known.
    pub(super) fn show(&self, phase: &str, done: u64, total: u64) {
        self.draw(done == total, || {
            let percent = (done * 100).checked_div(total).map_or_else(String::new, |percent| format!(" of {total} ({percent} %)"));
            format!("{phase}: {done}{percent}")
        });
    }

    /// Takes the line away, for what is to stand there.
    pub(super) fn clear(&self) {
        if self.terminal && std::mem::take(&mut self.drawn.lock().stands) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// A report whose findings are told by `say`, with the line out of their way, and whose progress the line shows.
pub(super) fn report(line: &Arc<ProgressLine>, mut say: impl FnMut(&Finding) + Send + 'static) -> Report {
    let (told, shown) = (Arc::clone(line), Arc::clone(line));
    Report::new(
        move |finding| {
            told.clear();
            say(finding);
        },
        move |phase, done, total| shown.show(phase, done, total),
    )
}
