//! Threads that commit while the disk crashes under them: every acknowledged record is read back, and what is read back is a prefix of the stream.
//!
//! In plain `cargo test` on real threads. The whole log under shuttle's scheduler, where a failure can be replayed:
//! `RUSTFLAGS="--cfg shuttle" cargo test -p wal --release --test concurrent_crash --target-dir target/shuttle`
#![cfg(not(loom))]

use base::Lsn;
use env::SimDisk;
use std::sync::Arc;
use sync::thread;
use wal::{FlushPolicy, Wal, WalConfig};

/// One life: returns nothing, panics on a broken promise. `crash_at` counts disk operations after the log was made.
fn run(seed: u64, threads: u64, each: u64, crash_at: u64) {
    let disk = SimDisk::new(seed);
    let config =
        WalConfig { segment_bytes: 8192, space_margin_bytes: 4096, buffer_bytes: 4096, link_window_bytes: 2048, ..WalConfig::small() };
    let wal = Arc::new(Wal::create(Arc::new(disk.clone()), config.clone()).expect("creates"));
    disk.crash_at(crash_at);
    let workers: Vec<_> = (0..threads)
        .map(|thread_no| {
            let wal = wal.clone();
            thread::spawn(move || {
                let (mut appended, mut acknowledged) = (Vec::new(), Lsn::NONE);
                for n in 0..each {
                    if wal.ensure_space().is_err() {
                        break;
                    }
                    let mut body = (thread_no << 32 | n).to_le_bytes().to_vec();
                    body.resize(8 + ((seed + thread_no * 31 + n * 97) % 300) as usize, n as u8);
                    let end = wal.append(&body);
                    appended.push((end, body));
                    let policy = if n % 3 == 1 { FlushPolicy::Write } else { FlushPolicy::Durable };
                    if wal.commit(end, policy).is_err() {
                        break;
                    }
                    if policy == FlushPolicy::Durable {
                        acknowledged = end;
                    }
                }
                (appended, acknowledged)
            })
        })
        .collect();
    let mut appended = Vec::new();
    let mut acknowledged = Lsn::NONE;
    for worker in workers {
        let (records, lsn) = worker.join().expect("no panic");
        appended.extend(records);
        acknowledged = acknowledged.max(lsn);
    }
    appended.sort();
    drop(wal);
    disk.crash();
    let (_, _, mut reader) = Wal::open(Arc::new(disk), config).expect("opens");
    let mut count = 0;
    while let Some(entry) = reader.next().expect("reads") {
        assert_eq!((entry.end, entry.body), (appended[count].0, &appended[count].1[..]), "seed {seed} crash at {crash_at}");
        count += 1;
    }
    let end = reader.end_of_valid();
    assert!(end >= acknowledged, "seed {seed} crash at {crash_at}: acknowledged {acknowledged}, there is {end}");
}

#[cfg(not(shuttle))]
#[test]
fn acknowledged_records_survive_a_crash_among_threads() {
    for seed in 0..60 {
        run(seed, 4, 40, 1 + seed * 7 % 90);
    }
}

#[cfg(shuttle)]
#[test]
fn acknowledged_records_survive_a_crash_under_every_schedule() {
    use shuttle::rand::{Rng, thread_rng};
    let mut config = shuttle::Config::new();
    config.silence_warnings = true;
    config.stack_size = 1 << 20;
    config.max_steps = shuttle::MaxSteps::FailAfter(10_000_000);
    let schedules = std::env::var("WAL_SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let scheduler = shuttle::scheduler::RandomScheduler::new(schedules);
    shuttle::Runner::new(scheduler, config).run(|| {
        let seed = thread_rng().r#gen::<u64>() % 1_000_000;
        run(seed, 3, 6, 1 + seed % 25);
    });
}
