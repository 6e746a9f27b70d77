//! Waiting for what another connection can see.

use std::time::{Duration, Instant};

/// Longest wait: a test that gets there has failed, however slow the machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks `condition`, which asks the server, until it holds: what happens inside is told by its lists and counters only. Panics with `what` after a minute.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}: not after {} s", PATIENCE.as_secs());
        std::thread::yield_now();
    }
}
