//! Rounds of crashes with a ledger outside of the server: kill -9, and failing power (on a file system in memory, where FUSE may be mounted).
//!
//! Hundreds of them: `cargo run --profile fast -p rounds -- --program target/fast/altiplano --crashes 200 [--power]`.

use harness::Server;
use histories::Place;
use rounds::{Lie, Power};
use std::time::Duration;
use sync::Arc;

const ALTIPLANO: &str = env!("CARGO_BIN_EXE_altiplano");

#[test]
fn ten_kills_under_transfers_lose_nothing() {
    let seed = histories::seed::announce("server", env!("CARGO_CRATE_NAME"), "ten_kills_under_transfers_lose_nothing");
    let place = Place::own(Server::start(ALTIPLANO, &[]));
    println!("{}", rounds::bank(&place, 10, 16, 6, seed).unwrap_or_else(|why| panic!("{why}")));
}

#[test]
fn ten_kills_under_tpcc_lose_nothing() {
    let seed = histories::seed::announce("server", env!("CARGO_CRATE_NAME"), "ten_kills_under_tpcc_lose_nothing");
    let place = Place::own(Server::start(ALTIPLANO, &[]));
    println!("{}", rounds::tpcc(&place, 10, 16, seed).unwrap_or_else(|why| panic!("{why}")));
}

/// A server on a file system whose power fails with each crash; `None` where it cannot be mounted.
fn on_failing_power(seed: u64, lie: Lie) -> Option<(Arc<Power>, Place)> {
    let power = match Power::mount(seed, Duration::from_millis(5), lie) {
        Ok(power) => Arc::new(power),
        Err(error) => {
            println!("left out: FUSE cannot be mounted here: {error}");
            return None;
        }
    };
    let mut server = Server::start_in(power.path(), ALTIPLANO, &[]);
    power.settle();
    server.between_lives(power.failing());
    Some((power, Place::own(server)))
}

#[test]
fn power_failures_lose_nothing_that_was_acknowledged() {
    let seed = histories::seed::announce("server", env!("CARGO_CRATE_NAME"), "power_failures_lose_nothing_that_was_acknowledged");
    let Some((power, place)) = on_failing_power(seed, Lie::None) else { return };
    println!("{}", rounds::bank(&place, 6, 16, 6, seed).unwrap_or_else(|why| panic!("{why}; {}", power.lost())));
    println!("{}", rounds::tpcc(&place, 4, 16, seed).unwrap_or_else(|why| panic!("{why}; {}", power.lost())));
    println!("{}", power.lost());
    assert_eq!(power.lost().failures, 10);
    drop(place);
}

/// What the bank says when something is gone that was acknowledged: transfers, what a reader was shown, or the tables themselves.
const LOSSES: [&str; 8] = [
    "is not there",
    "and the counter is",
    "a plain read showed",
    "a snapshot shows",
    "balances are not what the transfers make them",
    "doesn't exist",
    "Unknown database",
    "no row",
];

/// What a server would do that leaves out the syncs of its log: rounds must find it.
#[test]
fn a_missing_sync_of_the_log_is_found() {
    let seed = histories::seed::announce("server", env!("CARGO_CRATE_NAME"), "a_missing_sync_of_the_log_is_found");
    let Some((power, place)) = on_failing_power(seed, Lie::About("/data/log".into())) else { return };
    let why = match rounds::bank(&place, 20, 16, 6, seed) {
        Ok(report) => panic!("not found: {report}; {}", power.lost()),
        Err(why) => why,
    };
    let failures = power.lost().failures;
    assert!(failures > 0, "found before the power had failed once: {why}");
    // Who finds that the server does not start panics in a thread of the bank's; then it starts no other time either.
    if !LOSSES.iter().any(|loss| why.contains(loss)) {
        let started = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| place.restart()));
        let text = started.err().and_then(|panic| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        assert!(text.contains(harness::NOT_STARTED), "that is not what a missing sync does: {why}; the start: {text:?}");
    }
    println!("found after {failures} failures: {why}");
}
