//! What an uncontended row lock costs.
//!
//! `cargo run --profile fast -p lock_manager --example lock_cost`

use base::{IndexId, TxnId};
use lock_manager::metadata::TableLock;
use lock_manager::{Cancel, LockKeyRef, LockManager, LockMode, WaitPolicy};
use std::sync::Arc;
use std::time::Instant;

fn nanos(mut work: impl FnMut(u64)) -> f64 {
    const ROUNDS: u64 = 200_000;
    let mut slices: Vec<f64> = (0..7)
        .map(|_| {
            let start = Instant::now();
            (0..ROUNDS).for_each(&mut work);
            start.elapsed().as_nanos() as f64 / ROUNDS as f64
        })
        .collect();
    slices.sort_by(f64::total_cmp);
    slices[3]
}

fn main() {
    let manager = LockManager::new(1024);
    let owner = manager.new_owner();
    let cancel = Cancel::new();
    let lock = |name: &[u8]| {
        let key = LockKeyRef { index: IndexId(1), key: name };
        manager.lock(&owner, key, LockMode::Exclusive, WaitPolicy::Wait(None), &cancel).expect("free");
    };
    println!(
        "lock + release_all of one row   {:6.1} ns",
        nanos(|n| {
            lock(&n.to_be_bytes());
            manager.release_all(&owner);
        })
    );
    println!(
        "lock + release_all, per row, 100 {:5.1} ns",
        nanos(|n| {
            lock(&n.to_be_bytes());
            if n % 100 == 99 {
                manager.release_all(&owner);
            }
        })
    );
    manager.release_all(&owner);
    lock(b"held");
    println!("lock again what is held         {:6.1} ns", nanos(|_| lock(b"held")));
    manager.release_all(&owner);
    println!(
        "set_txn + release_all           {:6.1} ns",
        nanos(|n| {
            manager.set_txn(&owner, TxnId(n + 1));
            manager.release_all(&owner);
        })
    );
    let table = Arc::new(TableLock::new());
    println!(
        "metadata lock, shared           {:6.1} ns",
        nanos(|_| {
            drop(table.shared(0, WaitPolicy::Wait(None), &cancel).expect("free"));
        })
    );
}
