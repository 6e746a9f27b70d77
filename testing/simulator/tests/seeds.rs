//! A stretch of seeds with every test run, that runs repeat, and that planted bugs are found.

use simulator::{Plant, run};
use std::collections::BTreeMap;

/// Enough to meet most kinds of crashes, few enough to run with every change. `cargo xtask sim --minutes M` runs more.
const SEEDS: u64 = 120;
/// Planted bugs that a few seeds find; `cargo xtask sim --plant all` tries every one.
const EASY_PLANTS: [(Plant, u64); 18] = [
    (Plant::NoLogSync, 40),
    (Plant::NoDataSync, 200),
    (Plant::LostPageWrite, 200),
    (Plant::LostLogWrite, 600),
    (Plant::UndurableShown, 40),
    (Plant::UnlockedEarly, 40),
    (Plant::PrepareNotSynced, 150),
    (Plant::BranchRollbackNotSynced, 150),
    (Plant::PreparedUnlocked, 150),
    (Plant::PrunedNeeded, 100),
    (Plant::KeptRowsPurged, 100),
    (Plant::OlderSkipLost, 500),
    (Plant::LazyOverUndurable, 100),
    (Plant::PreparedTablesUnnamed, 100),
    (Plant::ParentUnlocked, 100),
    (Plant::TemporaryLeft, 100),
    (Plant::UnloggedRun, 200),
    (Plant::UnseenChangeForgotten, 300),
];

/// Finds nothing, and comes where the seeds should come.
fn run_seeds(seeds: std::ops::Range<u64>) {
    let mut totals = BTreeMap::new();
    for seed in seeds {
        let report = run(seed, None, false).unwrap_or_else(|failure| panic!("{failure}"));
        report.counts.into_iter().for_each(|(what, count)| *totals.entry(what).or_insert(0) += count);
    }
    for what in [
        "transactions pruned between snapshots",
        "statements refused because a row had changed since the snapshot",
        "crashes in recovery",
        "faults: silent damage",
        "replies that waited for others' commits",
        "prepared branches found after a crash",
        "rows of temporary tables",
        "batches of rows that went in together",
        "batches of rows that had something in the way",
        "indexes built beside writers",
        "trees that a crash left and a start freed",
        "rows written that refer to others",
        "commits built on one that is not durable, as a story",
    ] {
        assert!(totals.get(what).is_some_and(|count| *count > 0), "no {what} in {totals:#?}");
    }
}

#[test]
fn first_half_of_the_seeds_finds_nothing() {
    run_seeds(0..SEEDS / 2);
}

#[test]
fn second_half_of_the_seeds_finds_nothing() {
    run_seeds(SEEDS / 2..SEEDS);
}

#[test]
fn a_seed_gives_the_same_run_again() {
    for seed in [3, 11, 27, 58, 90] {
        let once = run(seed, None, false).unwrap_or_else(|failure| panic!("{failure}"));
        let again = run(seed, None, false).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(once, again, "seed {seed}");
    }
}

#[test]
fn planted_bugs_are_found() {
    for (plant, seeds_max) in EASY_PLANTS {
        let found = (0..seeds_max).any(|seed| std::panic::catch_unwind(|| run(seed, Some(plant), false).is_err()).unwrap_or(true));
        assert!(found, "{plant:?} is not found by {seeds_max} seeds");
    }
}
