//! A bar that fills on a terminal; elsewhere a line now and then.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

const REDRAW: Duration = Duration::from_millis(200);
const LINE: Duration = Duration::from_secs(10);
const WIDTH: u64 = 30;

/// How far something is that is measured in bytes.
pub(super) struct Bar {
    what: &'static str,
    terminal: bool,
    quiet: bool,
    started: Instant,
    drawn: Option<Instant>,
}

impl Bar {
    pub(super) fn new(what: &'static str, quiet: bool) -> Bar {
        Bar { what, terminal: std::io::stderr().is_terminal(), quiet, started: Instant::now(), drawn: None }
    }

    /// `done` of `total` units; `bytes` moved so far.
    pub(super) fn show(&mut self, done: u64, total: u64, bytes: u64) {
        let pause = if self.terminal { REDRAW } else { LINE };
        if self.quiet || self.drawn.unwrap_or(self.started).elapsed() < pause {
            return;
        }
        self.drawn = Some(Instant::now());
        let total = total.max(done).max(1);
        let percent = done * 100 / total;
        let seconds = self.started.elapsed().as_secs_f64();
        let rate = bytes as f64 / seconds / 1e6;
        let left = if done == 0 { String::new() } else { format!(", {:.0} s left", seconds * (total - done) as f64 / done as f64) };
        let text = format!("{percent:3} %  {:.1} MB at {rate:.0} MB/s{left}", bytes as f64 / 1e6);
        // Progress that cannot be shown is no reason to stop.
        let _ = match self.terminal {
            true => {
                let filled = done * WIDTH / total;
                let bar: String = (0..WIDTH).map(|no| if no < filled { '#' } else { '.' }).collect();
                write!(std::io::stderr(), "\r{} [{bar}] {text}\x1b[K", self.what)
            }
            false => writeln!(std::io::stderr(), "{} {text}", self.what),
        };
    }

    /// Takes the bar away.
    pub(super) fn clear(&mut self) {
        if self.terminal && self.drawn.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
