//! Threads of the engine come and go; what they were counted for goes with them.

use engine::{Engine, EngineConfig};
use env::{Disk, RealClock, RealDisk};
use std::alloc::System;
use std::path::Path;
use std::sync::Arc;

#[global_allocator]
static HEAP: memory::Heap<System> = memory::Heap::new(System);

/// A life of the engine that ends in a crash, and begins with recovery.
fn live(directory: &Path) {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(directory).expect("a directory"));
    let config = EngineConfig { redo_workers: 8, ..EngineConfig::small() };
    let engine = Engine::open(disk, Arc::new(RealClock::new()), config).expect("an engine");
    engine.start_background().expect("threads");
    engine.close(false).expect("stopped");
}

/// One test: the counts are the process's.
#[test]
fn the_servers_count_does_not_drift_with_threads_that_end() {
    let directory = tempfile::tempdir().expect("a directory");
    (0..3).for_each(|_| live(directory.path()));
    let before = memory::heap_bytes() as i64;
    (0..40).for_each(|_| live(directory.path()));
    let drift = memory::heap_bytes() as i64 - before;
    // A thread that does not say goodbye leaves 16 KiB.
    assert!(drift.abs() < 1 << 20, "{} KiB after 40 lives", drift >> 10);
}
