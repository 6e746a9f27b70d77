//! Keys that will be looked up: leaves of them that are not in memory are read ahead, all at once, and everybody finds what is there.

mod common;

use btree::{BTree, KeysAhead};
use common::{Rig, Rng, put_all};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

const ROWS: u64 = 120_000;

fn key(no: u64) -> Vec<u8> {
    no.to_be_bytes().to_vec()
}

fn value(no: u64) -> Vec<u8> {
    vec![no as u8; 260]
}

/// Some two thousand leaves, and memory for half of them.
fn large_tree(rig: &Rig) -> BTree {
    let tree = rig.tree(7);
    for from in (0..ROWS).step_by(4000) {
        put_all(&tree, &(from..from + 4000).map(|no| (key(no), value(no))).collect::<BTreeMap<_, _>>());
        rig.pool.flush_all().expect("flush");
        rig.checkpoint();
    }
    tree
}

/// Waits until `done`, for a thread of the pool.
fn wait_until(done: impl Fn() -> bool) {
    let late = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !done() {
        assert!(std::time::Instant::now() < late, "nothing came of it");
        std::thread::yield_now();
    }
}

#[test]
fn leaves_of_keys_in_any_order_are_read_ahead() {
    let rig = Rig::new(5, 1024);
    let tree = large_tree(&rig);
    let threads = rig.pool.start_read_ahead().expect("threads");
    // What was written first is out of memory; each in a leaf of its own.
    let mut wanted: Vec<u64> = (0..48).map(|no| no * 300).collect();
    let mut random = Rng::new(9);
    (1..wanted.len()).rev().for_each(|at| wanted.swap(at, random.below(at as u64 + 1) as usize));
    let keys: Vec<Vec<u8>> = wanted.iter().map(|no| key(*no)).collect();
    let key_of = |no: usize| keys.get(no).map(Vec::as_slice);
    let before = rig.pool.stats().reads_ahead;
    let mut ahead = KeysAhead::of_some();
    ahead.keep(&tree, 0, key_of);
    assert_eq!(rig.pool.stats().reads_ahead, before, "nobody knows whether a second is wanted");
    for (no, key) in keys.iter().enumerate() {
        ahead.keep(&tree, no, key_of);
        // 8 of them, then 16, and the rest.
        let asked = [1, 9, 25].into_iter().filter(|from| *from <= no).map(|from| [8, 16, 23][from / 9]).sum::<u64>();
        wait_until(|| rig.pool.stats().reads_ahead == before + asked);
        assert_eq!(common::get(&tree, key), Some(value(wanted[no])));
    }
    let misses = rig.pool.stats().misses;
    let mut again = KeysAhead::of_all();
    (0..keys.len()).for_each(|no| again.keep(&tree, no, key_of));
    assert_eq!(rig.pool.stats().reads_ahead, before + 47, "all are there");
    assert_eq!(rig.pool.stats().misses, misses);
    drop(threads);
}

#[test]
fn ascending_keys_find_what_is_there_while_it_is_read_ahead() {
    let rig = Rig::new(6, 1024);
    let tree = large_tree(&rig);
    let threads = rig.pool.start_read_ahead().expect("threads");
    let before = rig.pool.stats().reads_ahead;
    for step in [1, 7, 190, 331] {
        // Every third key is not there: it is longer.
        let wanted: Vec<(u64, bool)> = (0..ROWS).step_by(step).map(|no| (no, no % 3 > 0)).collect();
        let keys: Vec<Vec<u8>> = wanted.iter().map(|(no, there)| if *there { key(*no) } else { [&key(*no)[..], b"x"].concat() }).collect();
        let mut found = Vec::new();
        tree.get_ascending(&keys, |no, stored| {
            found.push((no, stored.map(<[u8]>::to_vec)));
            ControlFlow::Continue(())
        })
        .expect("a sound tree");
        let expected: Vec<_> = wanted.iter().enumerate().map(|(at, (no, there))| (at, there.then(|| value(*no)))).collect();
        assert!(found == expected, "keys {step} apart");
    }
    assert!(rig.pool.stats().reads_ahead > before, "leaves that many keys are apart are read ahead");
    drop(threads);
}
