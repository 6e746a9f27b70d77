//! Workloads of many connections: totals are exact, every wait ends, nothing is left behind in the server.
//!
//! Each test prints its seed; `ALTIPLANO_TEST_SEED=N` runs it again with the same choices (not with the same schedule). With a thousand
//! connections: `cargo run --profile fast -p histories -- --program target/fast/altiplano --workload counter --clients 1000 --txns 20`.

use harness::Server;
use histories::workloads::{self, Baseline, Done, Load};
use histories::{Level, Place};

const LEVELS: [Level; 2] = [Level::ReadCommitted, Level::RepeatableRead];

type Work = fn(&Place, &Load) -> Result<Done, String>;

fn run(test: &str, connections: usize, txns: usize, kills: usize, program: &str, work: Work) {
    run_with(test, connections, txns, kills, program, work, false);
}

fn run_with(test: &str, connections: usize, txns: usize, kills: usize, program: &str, work: Work, faults: bool) {
    let seed = histories::seed::announce("server", env!("CARGO_CRATE_NAME"), test);
    let place = Place::own(Server::start(program, &[]));
    let baseline = Baseline::of(&place);
    let load = Load { connections, txns, levels: LEVELS.to_vec(), seed, kills, faults };
    let done = work(&place, &load).unwrap_or_else(|why| panic!("{why}"));
    println!("{done:?}");
    assert_eq!(done.timeouts, 0, "a deadlock was waited for");
    let left = workloads::leftovers(&place, baseline).unwrap_or_else(|why| panic!("{why}"));
    assert!(left.is_empty(), "left behind: {}", left.join(", "));
}

const ALTIPLANO: &str = env!("CARGO_BIN_EXE_altiplano");

#[test]
fn a_row_that_200_connections_increment_loses_nothing() {
    run("a_row_that_200_connections_increment_loses_nothing", 200, 10, 0, ALTIPLANO, workloads::counter);
}

#[test]
fn deadlocks_of_100_connections_all_end() {
    run("deadlocks_of_100_connections_all_end", 100, 6, 0, ALTIPLANO, workloads::deadlocks);
}

#[test]
fn a_queue_with_skip_locked_hands_each_job_out_once() {
    run("a_queue_with_skip_locked_hands_each_job_out_once", 40, 20, 0, ALTIPLANO, workloads::queue);
}

#[test]
fn numbers_given_out_under_a_lock_are_given_out_once() {
    run("numbers_given_out_under_a_lock_are_given_out_once", 40, 40, 0, ALTIPLANO, workloads::numbers);
}

#[test]
fn nobody_takes_a_seat_behind_a_closed_gate() {
    run("nobody_takes_a_seat_behind_a_closed_gate", 40, 60, 0, ALTIPLANO, workloads::seats);
}

#[test]
fn totals_stay_exact_when_sessions_are_killed_and_clients_vanish() {
    let test = "totals_stay_exact_when_sessions_are_killed_and_clients_vanish";
    for work in [workloads::counter as Work, workloads::deadlocks, workloads::bank, workloads::queue, workloads::numbers, workloads::seats]
    {
        run_with(test, 40, 8, 0, ALTIPLANO, work, true);
    }
}

#[test]
fn a_bank_keeps_what_it_acknowledged_and_showed_through_kill_9() {
    run("a_bank_keeps_what_it_acknowledged_and_showed_through_kill_9", 32, 8, 2, ALTIPLANO, workloads::bank);
}

/// The moment between a commit's record and its durability is made long: what is acknowledged or shown in it is lost by the kill.
#[test]
fn a_bank_on_a_slow_disk_keeps_what_it_acknowledged_and_showed_through_kill_9() {
    let test = "a_bank_on_a_slow_disk_keeps_what_it_acknowledged_and_showed_through_kill_9";
    let directory = tempfile::tempdir().expect("a directory");
    let Some(slow) = harness::with_sync_filter(ALTIPLANO, directory.path(), &[("SYNC_DELAY_MS", "20")]) else { return };
    run(test, 32, 4, 2, slow.to_str().expect("a path in UTF-8"), workloads::bank);
}
