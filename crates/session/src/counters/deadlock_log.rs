//! `innodb_print_all_deadlocks`: reports of deadlocks in the server's log, a bounded number a second.
//!
//! The victim's own thread writes them, so nobody else waits for the log.

use crate::context::Core;
use crate::show::deadlock_text;
use std::time::{Duration, Instant};
use sync::{Mutex, Rank};

/// Reports a second.
const REPORTS_MAX: u32 = 10;
const WINDOW: Duration = Duration::from_secs(1);

/// Which reports were written.
pub struct DeadlockLog {
    state: Mutex<State>,
}

struct State {
    /// The last deadlock that was written or left out.
    seen: u64,
    window_began: Option<Instant>,
    in_window: u32,
    left_out: u64,
}

impl DeadlockLog {
    pub(crate) fn new() -> DeadlockLog {
        let state = State { seen: 0, window_began: None, in_window: 0, left_out: 0 };
        DeadlockLog { state: Mutex::new(Rank::Leaf, state) }
    }

    /// Writes the deadlocks that were found since the last call, as far as the bound allows.
    #[cold]
    pub(crate) fn write_new(&self, core: &Core) {
        let Some(note) = core.shared.notes() else { return };
        let reports = core.shared.engine.locks().deadlocks();
        let mut texts = Vec::new();
        for report in &reports {
            let admitted = self.state.lock().admit(report.number, Instant::now());
            let Some(left_out) = admitted else { continue };
            if left_out > 0 {
                texts.push(format!("InnoDB: {left_out} deadlocks were not printed: more than {REPORTS_MAX} in a second"));
            }
            let mut text = String::from("InnoDB: Transactions deadlock detected, dumping detailed information.\n");
            if deadlock_text(core, report, &mut text).is_ok() {
                texts.push(text);
            }
        }
        texts.iter().for_each(|text| note(text.trim_end()));
    }
}

impl State {
    /// Whether a report is written; how many were left out before it.
    fn admit(&mut self, number: u64, now: Instant) -> Option<u64> {
        if number <= self.seen {
            return None;
        }
        // The engine keeps the last ones only.
        self.left_out += number - self.seen - 1;
        self.seen = number;
        if self.window_began.is_none_or(|began| now.duration_since(began) >= WINDOW) {
            self.window_began = Some(now);
            self.in_window = 0;
        }
        if self.in_window == REPORTS_MAX {
            self.left_out += 1;
            return None;
        }
        self.in_window += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_bound_is_written_and_the_rest_is_counted() {
        let log = DeadlockLog::new();
        let (began, mut state) = (Instant::now(), log.state.lock());
        let written = (1..=100).filter(|number| state.admit(*number, began).is_some()).count();
        assert_eq!(written, REPORTS_MAX as usize);
        assert_eq!(state.admit(100, began), None, "each is written once");
        assert_eq!(state.admit(103, began + WINDOW), Some(92), "and two that nobody saw");
        assert_eq!(state.admit(104, began + WINDOW), Some(0));
    }
}
