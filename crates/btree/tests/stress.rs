//! Several threads on one tree. Each thread owns the keys that end in its number, so that it knows what it must find.

mod common;

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use btree::{BTree, Direction, Scanned, Seek};
use common::{Rig, Rng, get, put, remove, rounds, verify};
use sync::atomic::{AtomicBool, Ordering};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn owner(tree: &BTree, thread: u64, seed: u64, steps: u64) -> Model {
    let mut rng = Rng::new(seed * 100 + thread);
    let mut model = Model::new();
    for step in 0..steps {
        let shrinking = step % 2000 > 1200;
        let number = match rng.below(4) {
            0 => 1_000_000 + step,
            _ => rng.below(1500),
        };
        let mut key = (number * 16 + thread).to_be_bytes().to_vec();
        if number % 5 == 0 {
            key.extend_from_slice(&[3; 300]);
        }
        match rng.below(10) {
            0..5 if !shrinking => {
                let value = vec![thread as u8; 8 + rng.below(200) as usize];
                put(tree, &key, &value);
                model.insert(key, value);
            }
            0..8 => {
                // The thread's own nearest key, so that removing really removes.
                let key = model.range(key.clone()..).next().map_or(key, |(key, _)| key.clone());
                assert_eq!(remove(tree, &key).is_some(), model.remove(&key).is_some());
            }
            _ => assert_eq!(get(tree, &key), model.get(&key).cloned()),
        }
    }
    model
}

/// Scans see keys in strict order, and every key that is there all the time.
fn scanner(tree: &BTree, stop: &AtomicBool, steady: &[Vec<u8>], seed: u64) {
    let mut rng = Rng::new(seed);
    while !stop.load(Ordering::Relaxed) {
        let forward = rng.below(2) == 0;
        let batched = rng.below(2) == 0;
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let mut cursor = tree.cursor();
        if forward {
            cursor.first().unwrap()
        } else {
            cursor.last().unwrap()
        };
        while cursor.valid() {
            if batched {
                let mut take = |key: btree::KeyRef<'_>, _: &[u8]| {
                    let mut whole = Vec::new();
                    key.append_to(&mut whole);
                    keys.push(whole);
                    ControlFlow::Continue(())
                };
                let scanned = if forward {
                    cursor.scan_leaf(Bound::Unbounded, &mut take)
                } else {
                    cursor.scan_leaf_backward(Bound::Unbounded, &mut take)
                };
                if scanned.unwrap() == Scanned::EndOfRange {
                    break;
                }
            } else {
                keys.push(cursor.key().to_vec());
                if forward {
                    cursor.next().unwrap()
                } else {
                    cursor.prev().unwrap()
                };
            }
            if cursor.valid() && rng.below(20) == 0 {
                cursor.park();
                sync::thread::yield_now();
                cursor.resume(if forward { Direction::Forward } else { Direction::Backward }).unwrap();
            }
        }
        drop(cursor);
        if !forward {
            keys.reverse();
        }
        assert!(keys.is_sorted_by(|a, b| a < b), "a scan saw keys out of order");
        let mut at = keys.iter();
        for key in steady {
            assert!(at.any(|seen| seen == key), "a scan missed a key that was there all the time");
        }
        let probe = &steady[rng.below(steady.len() as u64) as usize];
        let mut cursor = tree.cursor();
        cursor.seek(probe, Seek::AtOrBefore).unwrap();
        assert_eq!(cursor.key(), probe);
        drop(cursor);
        assert!(tree.count_estimate(Bound::Unbounded, Bound::Unbounded).is_ok());
    }
}

/// Checks the tree again and again while it is written.
fn checker(tree: &BTree, stop: &AtomicBool) {
    let mut checks = 0;
    while checks == 0 || !stop.load(Ordering::Relaxed) {
        match tree.check_beside_writers(&|| false) {
            Ok(_) => checks += 1,
            Err(error) => panic!("after {checks} checks: {error}"),
        }
    }
    println!("{checks} checks");
}

fn stress(seed: u64, frames: usize, threads: u64, steps: u64) {
    println!("seed {seed}");
    let rig = Arc::new(Rig::new(seed, frames));
    let tree = rig.tree(7);
    let steady: Vec<Vec<u8>> = (0..1500u64).step_by(7).map(|n| (n * 16 + 15).to_be_bytes().to_vec()).collect();
    for key in &steady {
        put(&tree, key, b"steady");
    }
    let stop = AtomicBool::new(false);
    let mut model: Model = steady.iter().map(|key| (key.clone(), b"steady".to_vec())).collect();
    std::thread::scope(|scope| {
        let scanners: Vec<_> = (0..2)
            .map(|i| {
                scope.spawn({
                    let (tree, stop, steady) = (&tree, &stop, &steady);
                    move || scanner(tree, stop, steady, seed + i)
                })
            })
            .collect();
        let checker = scope.spawn(|| checker(&tree, &stop));
        let owners: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn({
                    let tree = &tree;
                    move || owner(tree, thread, seed, steps)
                })
            })
            .collect();
        let results: Vec<_> = owners.into_iter().map(|handle| handle.join()).collect();
        stop.store(true, Ordering::Relaxed);
        for scanner in scanners {
            scanner.join().unwrap();
        }
        checker.join().unwrap();
        for result in results {
            model.extend(result.unwrap());
        }
    });
    verify(&rig, &tree, &model);
}

#[test]
fn threads_in_a_large_pool_lose_nothing() {
    for round in 0..rounds() {
        stress(11 + round, 2000, 4, 30_000);
    }
}

#[test]
fn threads_in_a_tiny_pool_lose_nothing() {
    for round in 0..rounds() {
        stress(1012 + round, 64, 3, 8_000);
    }
}

#[test]
fn many_appending_threads_lose_nothing() {
    let rig = Rig::new(13, 2000);
    let tree = rig.tree(7);
    let next = sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..8000 {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    put(&tree, &number.to_be_bytes(), &[5; 80]);
                }
            });
        }
    });
    let model: Model = (0..32_000u64).map(|n| (n.to_be_bytes().to_vec(), vec![5; 80])).collect();
    verify(&rig, &tree, &model);
    let stats = tree.check().unwrap();
    println!("{stats:?}");
    assert!(stats.leaf_bytes as f64 / (stats.leaf_pages as f64 * 16296.0) > 0.6);
}

/// Who splits a leaf whose parent somebody has waits for the parent. Turns around it, each of which allocates a page and gives it back, would fill the log, and keep the leaf from who has the parent and wants it.
#[test]
fn a_split_waits_for_a_parent_that_somebody_has() {
    let rig = Rig::new(14, 2000);
    let tree = rig.tree(7);
    let mut number = 0u64;
    while tree.height().unwrap() < 2 {
        put(&tree, &number.to_be_bytes(), &[5; 80]);
        number += 1;
    }
    let wal = rig.pool.wal();
    let before = wal.lsn_head();
    std::thread::scope(|scope| {
        // Let go also by a panic, or the writer would never end.
        let parent = rig.pool.shared(tree.root).unwrap();
        scope.spawn(|| {
            for more in 0..2000 {
                put(&tree, &(number + more).to_be_bytes(), &[5; 80]);
            }
        });
        // Filling a leaf takes less than 20 KiB of log; what is more is turns. Each look lets the writer go on.
        for _ in 0..300_000 {
            assert!(wal.lsn_head().0 - before.0 < 32 << 10, "the log grows while nothing can be done");
            sync::thread::yield_now();
        }
        drop(parent);
    });
    assert_eq!(tree.check().unwrap().entries, number + 2000);
}
