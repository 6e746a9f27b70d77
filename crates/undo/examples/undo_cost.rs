//! What keeping, reading and releasing an undo record costs.
//!
//! `cargo run --profile fast -p undo --example undo_cost`

use env::SimDisk;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use undo::{UndoConfig, UndoStore};

fn main() {
    // Released soon, as short transactions do: the working set is a few segments.
    const RECORDS: usize = 4_000;
    let store = UndoStore::new(Arc::new(SimDisk::new(1)), UndoConfig::default()).expect("a new store");
    let record = [7u8; 120];
    let mut slices = [const { Vec::new() }; 3];
    for _ in 0..101 {
        let mut ptrs = Vec::with_capacity(RECORDS);
        let mut timed = |at: usize, work: &mut dyn FnMut()| {
            let start = Instant::now();
            work();
            slices[at].push(start.elapsed().as_nanos() as f64 / RECORDS as f64);
        };
        timed(0, &mut || ptrs.extend((0..RECORDS).map(|_| store.append(0, &record).expect("room"))));
        timed(1, &mut || {
            ptrs.iter().for_each(|ptr| {
                black_box(store.read(*ptr, |bytes| bytes[5]).expect("live"));
            });
        });
        timed(2, &mut || ptrs.iter().for_each(|ptr| store.release(*ptr, record.len())));
    }
    for (name, mut slices) in ["append", "read", "release"].into_iter().zip(slices) {
        slices.sort_by(f64::total_cmp);
        println!("{name:<8} of 120 bytes: {:6.1} ns (median), {:6.1} ns (best)", slices[50], slices[0]);
    }
}
