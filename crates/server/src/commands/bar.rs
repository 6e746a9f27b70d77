//! A bar that fills, with bytes and their rate; elsewhere than on a terminal without the bar.

use super::progress::ProgressLine;
use std::time::Instant;

const WIDTH: u64 = 30;

/// How far something is that is measured in bytes.
pub(super) struct Bar {
    what: &'static str,
    line: ProgressLine,
    started: Instant,
}

impl Bar {
    pub(super) fn new(what: &'static str, quiet: bool) -> Bar {
        Bar { what, line: ProgressLine::everywhere(quiet), started: Instant::now() }
    }

    /// `done` of `total` units; `bytes` moved so far.
    pub(super) fn show(&self, done: u64, total: u64, bytes: u64) {
        self.line.draw(false, || {
            let total = total.max(done).max(1);
            let percent = done * 100 / total;
            let seconds = self.started.elapsed().as_secs_f64();
            let rate = bytes as f64 / seconds / 1e6;
            let left = if done == 0 { String::new() } else { format!(", {:.0} s left", seconds * (total - done) as f64 / done as f64) };
            let bar = match self.line.is_on_terminal() {
                true => {
                    let filled = done * WIDTH / total;
                    let bar: String = (0..WIDTH).map(|no| if no < filled { '#' } else { '.' }).collect();
                    format!("[{bar}] ")
                }
                false => String::new(),
            };
            format!("{} {bar}{percent:3} %  {:.1} MB at {rate:.0} MB/s{left}", self.what, bytes as f64 / 1e6)
        });
    }

    /// Takes the bar away.
    pub(super) fn clear(&self) {
        self.line.clear();
    }
}
