//! A stretch of seeds with every test run, that runs repeat, that failing ones fail again and become short, and that planted bugs are found.

use simulator::{Cuts, Failure, Plant, replay_command, run, run_cut, shrink};
use std::collections::BTreeMap;
use std::time::Duration;

/// Enough to meet most kinds of crashes, few enough to run with every change. `cargo xtask sim --minutes M` runs more.
const SEEDS: u64 = 160;
/// So many run twice. What a process draws for itself (where rows lie in the lock table, when nobody sets it) showed in 23 of 1,000.
const SEEDS_TWICE: u64 = 400;
/// Planted bugs that a few seeds find; `cargo xtask sim --plant all` tries every one.
const EASY_PLANTS: [(Plant, u64); 19] = [
    (Plant::NoLogSync, 40),
    (Plant::NoDataSync, 200),
    (Plant::LostPageWrite, 200),
    (Plant::LostLogWrite, 600),
    (Plant::UndurableShown, 40),
    (Plant::UnlockedEarly, 40),
    (Plant::PrepareNotSynced, 150),
    (Plant::BranchRollbackNotSynced, 150),
    (Plant::BranchRollbackUntold, 400),
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

/// Those of the disk and of what the log lacks: a missing sync, an unlogged write, a wrong position, no doublewrite.
const PLANTS_OF_THE_DISK: [(Plant, u64); 11] = [
    (Plant::SkippedLogSync, 600),
    (Plant::NoCheckpointSync, 40),
    (Plant::NoUndoSync, 40),
    (Plant::NoListSync, 40),
    (Plant::NoDirectorySync, 40),
    (Plant::NoDoublewrite, 400),
    (Plant::NoPageChecksum, 150),
    (Plant::WrongCheckpointLsn, 40),
    (Plant::UnloggedPageChange, 40),
    (Plant::UnloggedAllocation, 100),
    (Plant::UnloggedCounter, 100),
];
/// How long a failing run is shrunk: some hundred runs of it.
const SHRINK_TIME_MAX: Duration = Duration::from_secs(20);

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
        "idle checks",
        "checkpoints",
        "ddl",
        "faults: writes",
        "faults: syncs",
        "faults: reads",
        "faults: full disks",
        "faults: damage at rest",
        "faults: silent damage",
        "replies that waited for others' commits",
        "prepared branches found after a crash",
        "rows of temporary tables",
        "batches of rows that went in together",
        "batches of rows that had something in the way",
        "indexes built beside writers",
        "tables copied beside writers",
        "trees that a crash left and a start freed",
        "rows written that refer to others",
        "commits built on one that is not durable, as a story",
        "pages that a list brought",
        "spoilt lists passed over",
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
    for seed in 1..SEEDS_TWICE {
        let once = run(seed, None, false).unwrap_or_else(|failure| panic!("{failure}"));
        let again = run(seed, None, false).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(once, again, "seed {seed}");
    }
}

/// The first seed that fails with this bug without a panic, and how.
fn failing_seed(plant: Plant) -> (u64, Box<Failure>) {
    let fails = |seed| std::panic::catch_unwind(|| run(seed, Some(plant), false).err()).ok().flatten().map(|failure| (seed, failure));
    (0..100).find_map(fails).unwrap_or_else(|| panic!("{plant:?}: none of a hundred seeds fails"))
}

#[test]
fn a_failing_seed_fails_again_as_it_did_and_becomes_short() {
    for plant in [Plant::UndurableShown, Plant::UnloggedCounter] {
        let (seed, failure) = failing_seed(plant);
        let again = run(seed, Some(plant), false).expect_err("it has failed before");
        assert_eq!(failure.to_string(), again.to_string(), "{plant:?}");

        let cuts = shrink(SHRINK_TIME_MAX, &Cuts::default(), |cuts| {
            // After a panic nobody knows which steps were taken.
            let outcome = std::panic::catch_unwind(|| run_cut(seed, Some(plant), false, cuts));
            outcome.map_or(Some(None), |run| run.err().map(|failure| Some(failure.steps_taken)))
        });
        let cuts = cuts.expect("it fails");
        let kept = cuts.keep.as_ref().map_or(usize::MAX, |keep| keep.len());
        println!("{plant:?}: {} steps, then {kept}: {}", failure.steps_taken.len(), replay_command(seed, Some(plant), &cuts));
        assert!(kept < failure.steps_taken.len() / 2, "{plant:?}: {kept} of {} steps are left", failure.steps_taken.len());

        // What the printed command says is what is run, and it fails, each time as before.
        let command = replay_command(seed, Some(plant), &cuts);
        let option = |name: &str| command.split_once(name).and_then(|(_, rest)| rest.split_whitespace().next());
        let said = Cuts {
            keep: option("--keep ").and_then(Cuts::parse_keep),
            without: option("--without ").and_then(Cuts::parse_without).unwrap_or_default(),
        };
        assert_eq!(said, cuts, "{command}");
        let outcome = || std::panic::catch_unwind(|| run_cut(seed, Some(plant), false, &said).map_err(|failure| failure.to_string()));
        match (outcome(), outcome()) {
            (Ok(Err(once)), Ok(Err(twice))) => assert_eq!(once, twice, "{command}"),
            (Err(_), Err(_)) => {}
            _ => panic!("{command} does not fail each time"),
        }
    }
}

fn find(plants: &[(Plant, u64)]) {
    for (plant, seeds_max) in plants {
        let found = (0..*seeds_max).find(|seed| std::panic::catch_unwind(|| run(*seed, Some(*plant), false).is_err()).unwrap_or(true));
        println!("{plant:?}: {found:?}");
        assert!(found.is_some(), "{plant:?} is not found by {seeds_max} seeds");
    }
}

#[test]
fn planted_bugs_are_found() {
    find(&EASY_PLANTS);
}

#[test]
fn planted_bugs_of_the_disk_are_found() {
    find(&PLANTS_OF_THE_DISK);
}
