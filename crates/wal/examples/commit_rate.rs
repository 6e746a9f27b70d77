//! Durable commits per second over threads, with the counters that show how they were grouped; figures in docs/design/wal-io.md.
//!
//! `cargo run --release -p wal --example commit_rate -- DIR [SECONDS] [BODY_BYTES] [THREADS…]`

use env::RealDisk;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wal::{Checkpoint, FlushPolicy, Wal, WalConfig};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().unwrap_or_else(|| ".".into());
    let seconds: u64 = arguments.next().map_or(2, |n| n.parse().expect("seconds"));
    let body_bytes: usize = arguments.next().map_or(200, |n| n.parse().expect("bytes"));
    let counts: Vec<usize> = arguments.map(|n| n.parse().expect("threads")).collect();
    let counts = if counts.is_empty() { vec![1, 2, 3, 4, 16, 64, 128, 512, 1024] } else { counts };
    let dir = tempfile::tempdir_in(dir).expect("a directory");
    let disk = Arc::new(RealDisk::open(dir.path()).expect("opens"));
    let wal = Arc::new(Wal::create(disk, WalConfig::default()).expect("creates"));
    let _background = wal.start_background().expect("starts");
    for policy in [FlushPolicy::Durable, FlushPolicy::Write, FlushPolicy::Lazy] {
        println!("{policy:?}: threads, commits/s, mean µs, syncs/commit, members/batch, sleeps/commit, useful wakes, user+sys µs/commit");
        for &count in &counts {
            let (before, cpu_before) = (wal.stats(), cpu_us());
            let stop = AtomicBool::new(false);
            let start = Instant::now();
            std::thread::scope(|scope| {
                for _ in 0..count {
                    let (wal, stop) = (&wal, &stop);
                    let work = move || {
                        let body = vec![7u8; body_bytes];
                        while !stop.load(Ordering::Relaxed) {
                            wal.ensure_space().expect("room");
                            let end = wal.append(&body);
                            wal.commit(end, policy).expect("commits");
                        }
                    };
                    std::thread::Builder::new().stack_size(64 << 10).spawn_scoped(scope, work).expect("spawns");
                }
                while start.elapsed() < Duration::from_secs(seconds) {
                    wal.pressure().wait(Some(Instant::now() + Duration::from_millis(50)));
                    if wal.age() > wal.capacity() / 2 {
                        wal.write_checkpoint(Checkpoint { redo_lsn: wal.durable(), payload: vec![] }).expect("writes");
                    }
                }
                stop.store(true, Ordering::Relaxed);
                // Nobody is left waiting for log space.
                wal.write_checkpoint(Checkpoint { redo_lsn: wal.written_contiguous(), payload: vec![] }).expect("writes");
            });
            let elapsed = start.elapsed().as_secs_f64();
            let after = wal.stats();
            let commits = (after.records - before.records) as f64;
            let wakes = (after.wakes_useful - before.wakes_useful) as f64;
            let useless = (after.wakes_useless - before.wakes_useless) as f64;
            println!(
                "{count:>6} {:>10.0} {:>9.1} {:>8.3} {:>8.1} {:>8.3} {:>8.2}% {:>8.2}",
                commits / elapsed,
                elapsed * 1e6 * count as f64 / commits,
                (after.syncs - before.syncs) as f64 / commits,
                (after.members - before.members) as f64 / ((after.batches - before.batches) as f64).max(1.0),
                (after.sleeps - before.sleeps) as f64 / commits,
                100.0 * wakes / (wakes + useless).max(1.0),
                (cpu_us() - cpu_before) / commits,
            );
        }
    }
    println!("{:?}", wal.stats());
}

/// CPU time of this process so far.
fn cpu_us() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|field| field.parse::<f64>().unwrap_or(0.0)).sum();
    ticks * 10_000.0
}
