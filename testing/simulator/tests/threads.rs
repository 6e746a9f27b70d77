//! The engine with its threads on a simulated disk that crashes at random moments: nothing acknowledged is lost, and a planted bug is found.

use simulator::{Plant, ThreadReport, run_threads};

const CRASHES: u64 = 12;

fn seed(test: &str) -> u64 {
    let fresh = || std::time::UNIX_EPOCH.elapsed().map_or(1, |time| u64::from(time.subsec_nanos()));
    let seed = std::env::var("SIM_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(fresh);
    println!("seed of {test}: SIM_SEED={seed}");
    seed
}

#[test]
fn crashes_under_threads_lose_nothing_that_was_acknowledged() {
    let seed = seed("crashes_under_threads_lose_nothing_that_was_acknowledged");
    let mut total = ThreadReport::default();
    for no in 0..3 {
        total.add(
            &run_threads(seed.wrapping_add(no), CRASHES, None).unwrap_or_else(|what| panic!("seed {}: {what}", seed.wrapping_add(no))),
        );
    }
    println!("{total:?}");
    assert!(total.crashes == 3 * CRASHES && total.acknowledged > 0, "{total:?}");
}

#[test]
fn a_log_that_is_not_synced_is_found_under_threads() {
    let seed = seed("a_log_that_is_not_synced_is_found_under_threads");
    let found = (0..10).find_map(|no| run_threads(seed.wrapping_add(no), CRASHES, Some(Plant::NoLogSync)).err());
    println!("{}", found.as_deref().unwrap_or("nothing"));
    assert!(found.is_some(), "not found by ten seeds from {seed}");
}
