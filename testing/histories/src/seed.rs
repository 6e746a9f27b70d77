//! Seeds of tests.

use std::hash::{BuildHasher, Hasher};

/// The seed of a test: `ALTIPLANO_TEST_SEED`, or a new one; printed with the command that replays it.
pub fn announce(package: &str, binary: &str, test: &str) -> u64 {
    let given = std::env::var("ALTIPLANO_TEST_SEED").ok().and_then(|text| text.parse().ok());
    // The standard library's hasher is keyed by the system's entropy.
    let seed = given.unwrap_or_else(|| std::collections::hash_map::RandomState::new().build_hasher().finish() & 0xFFFF_FFFF);
    println!("replay: ALTIPLANO_TEST_SEED={seed} cargo test -p {package} --test {binary} {test}");
    seed
}
