//! The parts that statements are made of: transaction ids and views, row locks, the log.

use crate::window::{Random, count, count_apart};
use base::{IndexId, TxnId};
use env::RealDisk;
use lock_manager::metadata::TableLock;
use lock_manager::{Cancel, LockKeyRef, LockManager, LockMode, WaitPolicy};
use std::cell::RefCell;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use txn::{ReadView, TxnSystem};
use wal::{Wal, WalConfig};

/// Counts all parts; the log lies in `directory`.
pub fn run(directory: &Path) {
    transactions();
    for active in [10, 10_000] {
        views(active);
    }
    locks();
    log(directory);
}

fn transactions() {
    let system = TxnSystem::new(TxnId(1), &[]);
    count("txn_id_and_finish", 2000, |_| {
        let id = system.allocate_id();
        black_box(system.finish(id));
    });
}

/// A view among so many active transactions, of which a random one has finished since the last view, and what it tells of a row.
fn views(active: usize) {
    let system = TxnSystem::new(TxnId(1), &[]);
    let slot = system.register_slot();
    let mut running: Vec<TxnId> = (0..active).map(|_| system.allocate_id()).collect();
    let mut random = Random::new(42);
    let mut step = |_| {
        let at = random.below(active as u64) as usize;
        black_box(system.finish(std::mem::replace(&mut running[at], system.allocate_id())));
    };
    // A steady state: ages as they stay.
    (0..20 * active as u64).for_each(&mut step);
    let mut view = ReadView::new();
    count_apart(&format!("view_open_{active}_active"), 500, step, |_| {
        system.open_view(black_box(&mut view), &slot);
        system.close_view(&slot);
    });
    let (low, high) = (view.low().0, view.high().0);
    let mut random = Random::new(7);
    let writers: Vec<TxnId> = (0..1024).map(|_| TxnId(low + random.below(high - low))).collect();
    let mut seen = 0u64;
    count(&format!("visibility_{active}_active"), 4096, |n| {
        seen += u64::from(view.sees(black_box(writers[n as usize % 1024]), TxnId::NONE));
    });
    black_box(seen);
    if active == 10 {
        system.open_view(&mut view, &slot);
        count("view_reuse", 2000, |_| {
            system.close_view(&slot);
            system.open_view(black_box(&mut view), &slot);
        });
    }
}

fn locks() {
    let manager = LockManager::new(256);
    let owner = manager.new_owner();
    let cancel = Cancel::new();
    count("row_lock_and_unlock", 2000, |n| {
        let name = n.to_be_bytes();
        let key = LockKeyRef { index: IndexId(1), key: &name };
        manager.lock(&owner, key, LockMode::Exclusive, WaitPolicy::Wait(None), &cancel).expect("free");
        manager.release_all(&owner);
    });
    let table = Arc::new(TableLock::new());
    count("table_metadata_lock", 2000, |_| {
        drop(table.shared(0, WaitPolicy::Wait(None), &cancel).expect("free"));
    });
}

fn log(directory: &Path) {
    let disk = Arc::new(RealDisk::open(directory).expect("a directory"));
    let wal = Wal::create(disk, WalConfig::default()).expect("a log");
    let body = RefCell::new([7u8; 200]);
    count("log_append_200_bytes", 2000, |n| {
        body.borrow_mut()[0] = n as u8;
        wal.ensure_space().expect("room");
        black_box(wal.append(&*body.borrow()));
    });
}
