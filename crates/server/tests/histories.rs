//! Random transactions of many connections, judged by what their isolation level promises (`testing/histories` says how).
//!
//! Each test prints its seed; `ALTIPLANO_TEST_SEED=N` runs it again with the same choices (not with the same schedule). Thousands of
//! histories: `cargo run --profile fast -p histories -- --program target/fast/altiplano --level each --histories 1000 --parallel 16`.

use harness::Server;
use histories::drive::{self, Settings};
use histories::{Kind, Level, Place, check};

/// Levels that the server has.
const LEVELS: [Level; 5] = Level::ALL;

fn seed(test: &str) -> u64 {
    histories::seed::announce("server", env!("CARGO_CRATE_NAME"), test)
}

fn settings(levels: &[Level]) -> Settings {
    Settings { levels: levels.to_vec(), clients: 6, txns: 12, kills: 0, faults: false, without_gaps: false }
}

fn place() -> Place {
    let place = Place::own(Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]));
    drive::create_tables(&place).expect("the tables");
    place
}

/// Runs histories and expects nothing that their levels forbid.
fn expect_clean(place: &Place, settings: &Settings, seed: u64, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let history = drive::run(place, settings, drive::seed_of(seed, number), number).unwrap_or_else(|why| panic!("{why}"));
        let report = check(&history);
        assert!(report.violations.is_empty(), "history {number}:\n{}", report.describe(&history));
    }
}

#[test]
fn no_level_shows_what_it_forbids() {
    let seed = seed("no_level_shows_what_it_forbids");
    let place = place();
    for (at, level) in LEVELS.into_iter().enumerate() {
        let first = at as u64 * 10;
        expect_clean(&place, &settings(&[level]), seed, first..first + 6);
    }
}

#[test]
fn levels_side_by_side_keep_what_they_promise() {
    let seed = seed("levels_side_by_side_keep_what_they_promise");
    expect_clean(&place(), &settings(&LEVELS), seed, 0..8);
}

#[test]
fn what_was_answered_holds_after_kill_9() {
    let seed = seed("what_was_answered_holds_after_kill_9");
    expect_clean(&place(), &Settings { kills: 1, ..settings(&LEVELS[1..]) }, seed, 0..4);
}

/// Statements and connections are killed, clients vanish in the middle of a statement.
#[test]
fn killed_sessions_leave_nothing_half_done() {
    let seed = seed("killed_sessions_leave_nothing_half_done");
    let place = place();
    expect_clean(&place, &Settings { faults: true, ..settings(&LEVELS) }, seed, 0..6);
    expect_clean(&place, &Settings { faults: true, kills: 1, ..settings(&LEVELS[1..]) }, seed, 6..8);
}

/// The test of the test: a server that acknowledges before anything is written, and is killed. It starts again with the default.
#[test]
fn a_server_that_acknowledges_too_early_is_told_by_what_it_loses() {
    let seed = seed("a_server_that_acknowledges_too_early_is_told_by_what_it_loses");
    let place = place();
    let settings = Settings { kills: 1, ..settings(&[Level::ReadCommitted]) };
    let found = (0..20).any(|number| {
        place.run(&["SET GLOBAL innodb_flush_log_at_trx_commit = 0".into()]).expect("the setting");
        let history = drive::run(&place, &settings, drive::seed_of(seed, number), number);
        history.is_ok_and(|history| check(&history).violations.iter().any(|anomaly| anomaly.kind == Kind::LostCommit))
    });
    assert!(found, "twenty crashes lost nothing that had been acknowledged without having been written");
}

/// The test of the test: what READ COMMITTED lets happen is found when it is judged as a stricter level.
#[test]
fn histories_of_a_weaker_level_are_told_from_those_of_a_stricter_one() {
    let seed = seed("histories_of_a_weaker_level_are_told_from_those_of_a_stricter_one");
    let place = place();
    for (number, (run_at, judge_as, kinds)) in [
        (Level::ReadUncommitted, Level::ReadCommitted, [Kind::G1a, Kind::G1b, Kind::Realtime].as_slice()),
        (Level::ReadCommitted, Level::RepeatableRead, &[Kind::Fractured, Kind::GSingle]),
        (Level::RepeatableRead, Level::SnapshotIsolation, &[Kind::LostUpdate, Kind::GSingle]),
        (Level::RepeatableRead, Level::Serializable, &[Kind::G2, Kind::GSingle, Kind::LostUpdate]),
    ]
    .into_iter()
    .enumerate()
    {
        let found = (0..20).any(|more| {
            let number = number as u64 * 20 + more;
            let mut history =
                drive::run(&place, &settings(&[run_at]), drive::seed_of(seed, number), number).unwrap_or_else(|why| panic!("{why}"));
            history.txns.iter_mut().for_each(|txn| txn.level = judge_as);
            check(&history).violations.iter().any(|anomaly| kinds.contains(&anomaly.kind))
        });
        assert!(found, "nothing of {kinds:?} was found in twenty histories of {} judged as {}", run_at.name(), judge_as.name());
    }
}
