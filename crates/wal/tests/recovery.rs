//! Appending, crashing and reading back on the simulated disk.
#![cfg(not(any(loom, shuttle)))]

use base::Lsn;
use env::SplitMix64 as Rng;
use env::{Disk, File, FileKind, OpenMode, RealDisk, SimDisk};
use std::sync::Arc;
use wal::{Checkpoint, FlushPolicy, Wal, WalConfig, WalError};

/// Reads the whole log, checks that it has no gaps, and returns (bodies, end).
fn read_all(disk: &SimDisk) -> (Wal, Option<Checkpoint>, Vec<(Lsn, Vec<u8>)>, Lsn) {
    let (wal, checkpoint, mut reader) = Wal::open(Arc::new(disk.clone()), WalConfig::small()).expect("opens");
    let mut at = wal.redo_lsn();
    let mut bodies = Vec::new();
    while let Some(entry) = reader.next().expect("reads") {
        assert_eq!(entry.start, at);
        at = entry.end;
        bodies.push((entry.end, entry.body.to_vec()));
    }
    let end = reader.end_of_valid();
    assert_eq!(end, at);
    (wal, checkpoint, bodies, end)
}

fn body(n: u64, len: usize) -> Vec<u8> {
    let mut bytes = n.to_le_bytes().to_vec();
    bytes.resize(8 + len, n as u8);
    bytes
}

#[test]
fn committed_records_are_read_back_after_every_kind_of_end() {
    for crash in [false, true] {
        let disk = SimDisk::new(1);
        let wal = Wal::create(Arc::new(disk.clone()), WalConfig::small()).expect("creates");
        let ends: Vec<Lsn> = (0..100).map(|n| wal.append(&body(n, n as usize * 7))).collect();
        wal.wait_durable(ends[99]).expect("durable");
        assert!(wal.durable() >= ends[99] && wal.stats().syncs <= 2);
        if crash {
            disk.crash();
        } else {
            disk.kill();
        }
        let (_, checkpoint, bodies, end) = read_all(&disk);
        assert_eq!(checkpoint, None);
        assert_eq!(end, ends[99]);
        assert_eq!(bodies.len(), 100);
        assert!(bodies.iter().enumerate().all(|(n, (at, bytes))| *at == ends[n] && *bytes == body(n as u64, n * 7)));
    }
}

/// A sync of the log fails, and the process stops, on a file system without O_DIRECT: what the next one reads counts as durable, so it must be.
#[test]
fn what_is_read_of_the_log_after_a_sync_that_failed_is_durable() {
    let mut shorter = 0;
    for seed in 0..60 {
        let disk = SimDisk::new(seed);
        disk.set_refuses_direct(true);
        let wal = Wal::create(Arc::new(disk.clone()), WalConfig::small()).expect("creates");
        let known = wal.append(&body(1, 3000));
        wal.wait_durable(known).expect("durable");
        disk.plan_sync("log/segment", 1);
        let lost = wal.append(&body(2, 3000));
        wal.wait_durable(lost).expect_err("planned");
        drop(wal);
        disk.kill();
        let (wal, _, bodies, end) = read_all(&disk);
        assert!(!bodies.is_empty() && end >= known, "seed {seed}");
        drop(wal);
        disk.crash();
        let (_, _, again, end_again) = read_all(&disk);
        assert_eq!((again, end_again), (bodies, end), "seed {seed}");
        shorter += u32::from(end < lost);
    }
    assert!(shorter > 0, "nothing was lost");
}

#[test]
fn a_real_disk_keeps_the_log_over_restarts() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut expect = Vec::new();
    for life in 0..4u64 {
        let disk = Arc::new(RealDisk::open(dir.path()).expect("opens"));
        let wal = if life == 0 {
            Wal::create(disk, WalConfig::small()).expect("creates")
        } else {
            let (wal, _, mut reader) = Wal::open(disk, WalConfig::small()).expect("opens");
            let mut found = Vec::new();
            while let Some(entry) = reader.next().expect("reads") {
                found.push(entry.body.to_vec());
            }
            assert!(found == expect, "life {life}: {} records of {}", found.len(), expect.len());
            wal.start_after_recovery(reader.end_of_valid()).expect("starts");
            wal
        };
        for n in 0..200 {
            let bytes = body(life << 32 | n, (n * 7) as usize);
            let end = wal.append(&bytes);
            expect.push(bytes);
            if n % 50 == 49 {
                wal.wait_durable(end).expect("durable");
            }
        }
    }
}

#[test]
fn a_log_is_made_once_and_must_be_there_to_be_opened() {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
    assert!(!Wal::exists(&*disk).expect("asks"));
    assert!(matches!(Wal::open(disk.clone(), WalConfig::small()), Err(WalError::Missing)));
    drop(Wal::create(disk.clone(), WalConfig::small()).expect("creates"));
    assert!(Wal::exists(&*disk).expect("asks"));
    assert!(matches!(Wal::create(disk, WalConfig::small()), Err(WalError::Exists)));
}

#[test]
fn a_crash_while_the_log_is_made_leaves_it_or_none() {
    for seed in 0..10 {
        for at in 1.. {
            let disk = SimDisk::new(seed);
            disk.crash_at(at);
            let made = Wal::create(Arc::new(disk.clone()), WalConfig::small()).is_ok();
            disk.crash();
            if !Wal::exists(&disk).expect("asks") {
                assert!(!made);
                Wal::create(Arc::new(disk.clone()), WalConfig::small()).expect("the second attempt");
                disk.crash();
            }
            let (wal, _, bodies, end) = read_all(&disk);
            assert!(bodies.is_empty());
            wal.start_after_recovery(end).expect("starts");
            if made {
                break;
            }
        }
    }
}

/// How many seeds the property test tries: `WAL_SEEDS=5000 cargo test -p wal --release --test recovery`.
fn seeds() -> u64 {
    std::env::var("WAL_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

/// Many lives: random appends, commits and checkpoints, a crash at a random operation, recovery. What was acknowledged is there, and what is there
/// is a prefix of what was appended.
#[test]
fn what_survives_is_a_prefix_with_everything_acknowledged() {
    let mut torn_ends = 0;
    for seed in 1..=seeds() {
        let disk = SimDisk::new(seed);
        let mut rng = Rng::new(seed);
        let mut wal = Wal::create(Arc::new(disk.clone()), WalConfig::small()).expect("creates");
        let mut number = 0;
        // Records above the newest acknowledged checkpoint, in order; whether a checkpoint may or may not have got through.
        let mut log: Vec<(Lsn, Vec<u8>)> = Vec::new();
        let mut start = Lsn(4096);
        for life in 0..6 {
            match rng.below(8) {
                0 => disk.fail_sync(1 + rng.below(30)),
                1 => disk.fail_write(1 + rng.below(30)),
                _ => disk.crash_at(1 + rng.below(120)),
            }
            let mut acknowledged = start;
            let mut redo_maybe = wal.redo_lsn();
            // Bounded, because a planned fault may hit what does no harm: a segment that is made early.
            for _ in 0..500 {
                if disk.is_down() || wal.has_failed() {
                    break;
                }
                // Making a segment may be what was planned to fail: that alone does not fail the log.
                if wal.ensure_space().is_err() {
                    break;
                }
                let len = if rng.below(20) == 0 { rng.below(14_000) } else { rng.below(300) };
                let bytes = body(number, len as usize);
                number += 1;
                let end = wal.append(&bytes);
                log.push((end, bytes));
                let is_filling = wal.age() > wal.capacity() / 2;
                match rng.below(6) {
                    0 | 1 if wal.commit(end, FlushPolicy::Durable).is_ok() => acknowledged = end,
                    2 => {
                        let _ = wal.commit(end, FlushPolicy::Write);
                    }
                    3 if is_filling || rng.below(4) == 0 => {
                        let redo = if is_filling { end } else { log[log.len() / 2].0.max(wal.redo_lsn()) };
                        redo_maybe = redo;
                        let checkpoint = Checkpoint { redo_lsn: redo, payload: body(redo.0, 5000) };
                        if wal.write_checkpoint(checkpoint).is_ok() {
                            acknowledged = acknowledged.max(redo);
                        }
                    }
                    _ => {}
                }
            }
            let redo_before = wal.redo_lsn();
            disk.crash();
            if rng.below(3) == 0 {
                // Recovery itself is interrupted.
                disk.crash_at(1 + rng.below(6));
                if let Ok((wal, _, mut reader)) = Wal::open(Arc::new(disk.clone()), WalConfig::small()) {
                    while let Ok(Some(_)) = reader.next() {}
                    let _ = wal.start_after_recovery(reader.end_of_valid());
                }
                disk.crash();
            }
            let (reopened, checkpoint, bodies, end) = read_all(&disk);
            let redo = reopened.redo_lsn();
            let what =
                format!("seed {seed} life {life}: redo {redo} of {redo_before}..{redo_maybe}, end {end}, acknowledged {acknowledged}");
            assert!(redo == redo_before || redo == redo_maybe, "{what}");
            if let Some(checkpoint) = checkpoint {
                assert_eq!(checkpoint.payload, body(redo.0, 5000), "{what}");
            }
            assert!(end >= acknowledged, "{what}");
            log.retain(|(at, _)| *at > redo);
            assert!(bodies.len() <= log.len() && log[..bodies.len()] == bodies[..], "{what}: not a prefix");
            torn_ends += usize::from(bodies.len() < log.len());
            log.truncate(bodies.len());
            start = end;
            wal = reopened;
            wal.start_after_recovery(end).expect("starts");
        }
    }
    assert!(torn_ends as u64 > seeds() / 2, "crashes lose something most of the time: {torn_ends}");
}

#[test]
fn a_record_larger_than_the_link_window_or_a_segment_goes_through() {
    let disk = SimDisk::new(1);
    let config = WalConfig {
        segment_bytes: 8192,
        buffer_bytes: 64 << 10,
        link_window_bytes: 4096,
        capacity_bytes: 1 << 20,
        space_margin_bytes: 4096,
        ..WalConfig::small()
    };
    let wal = Wal::create(Arc::new(disk.clone()), config.clone()).expect("creates");
    assert!(wal.body_bytes_max() > 30_000);
    let sizes = [10, 30_000, 5, 5, 31_000, 1020, 31_000, 0, 3000];
    for (n, len) in sizes.into_iter().enumerate() {
        wal.append(&body(n as u64, len));
    }
    wal.flush_all().expect("durable");
    disk.crash();
    let (_, _, mut reader) = Wal::open(Arc::new(disk), config).expect("opens");
    for (n, len) in sizes.into_iter().enumerate() {
        let entry = reader.next().expect("reads").expect("is there");
        assert_eq!(entry.body, body(n as u64, len));
    }
    assert_eq!(reader.next().expect("reads"), None);
}

#[test]
fn a_failed_sync_fails_the_log_for_good() {
    let disk = SimDisk::new(1);
    let wal = Wal::create(Arc::new(disk.clone()), WalConfig::small()).expect("creates");
    let first = wal.append(b"first");
    wal.wait_durable(first).expect("durable");
    disk.fail_sync(1);
    let second = wal.append(b"second");
    assert!(matches!(wal.wait_durable(second), Err(WalError::Failed)));
    assert!(matches!(wal.wait_durable(second), Err(WalError::Failed)), "although the disk would sync again");
    assert!(wal.wait_durable(first).is_ok(), "what was durable stays");
    assert!(matches!(wal.commit(second, FlushPolicy::Lazy), Err(WalError::Failed)));
    assert!(matches!(wal.ensure_space(), Err(WalError::Failed)));
    assert!(matches!(wal.failure(), Some(WalError::Io(_))));
    // Appending goes on without a hang, into nothing.
    for n in 0..1000 {
        wal.append(&body(n, 1000));
    }
    assert!(matches!(wal.flush_all(), Err(WalError::Failed)));
}

#[test]
fn a_full_disk_is_an_error_for_writers_and_passes() {
    let disk = SimDisk::new(1);
    let wal = Wal::create(Arc::new(disk.clone()), WalConfig::small()).expect("creates");
    disk.set_capacity(Some(200 << 10));
    let mut error = None;
    for n in 0..400 {
        if let Err(e) = wal.ensure_space() {
            error = Some(e);
            break;
        }
        wal.append(&body(n, 500));
    }
    assert!(matches!(error, Some(WalError::DiskFull)), "{error:?}");
    wal.flush_all().expect("what was let in becomes durable");
    disk.set_capacity(None);
    wal.ensure_space().expect("room again");
}

#[test]
fn writers_wait_for_a_checkpoint_and_segments_are_recycled() {
    let disk = SimDisk::new(1);
    let config = WalConfig { capacity_bytes: 256 << 10, ..WalConfig::small() };
    let wal = Arc::new(Wal::create(Arc::new(disk.clone()), config).expect("creates"));
    let background = wal.start_background().expect("starts");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for n in 0..3000 {
                wal.ensure_space().expect("room in the end");
                wal.append(&body(n, 500));
            }
        });
        while !writer.is_finished() {
            if wal.pressure().wait(Some(std::time::Instant::now() + std::time::Duration::from_millis(5))) {
                wal.write_checkpoint(Checkpoint { redo_lsn: wal.written_contiguous(), payload: vec![] }).expect("writes");
            }
        }
    });
    drop(background);
    let stats = wal.stats();
    assert!(stats.space_waits > 0 && stats.checkpoints > 3 && stats.segments_recycled > 10, "{stats:?}");
    let names = disk.list("log").expect("lists");
    assert!(names.iter().filter(|name| name.starts_with("segment-")).count() <= 6, "{names:?}");
    disk.kill();
    read_all(&disk);
}

#[test]
fn a_durable_record_that_is_damaged_is_reported() {
    let disk = SimDisk::new(1);
    let wal = Wal::create(Arc::new(disk.clone()), WalConfig::small()).expect("creates");
    let redo = wal.append(b"one");
    let end = wal.append(b"two");
    wal.wait_durable(end).expect("durable");
    wal.write_checkpoint(Checkpoint { redo_lsn: redo, payload: vec![1] }).expect("writes");
    disk.flip_bit("log/segment-00000000", redo.0 + 13, 3).expect("is there");
    disk.crash();
    let (_, _, mut reader) = Wal::open(Arc::new(disk), WalConfig::small()).expect("opens");
    assert!(matches!(reader.next(), Err(WalError::Corrupt { lsn, .. }) if lsn == redo));
    assert_eq!(reader.next().expect("then the end"), None);
}

/// A record of an earlier life that survived past a lost one does not continue the log of the next life.
#[test]
fn damage_below_a_mark_is_not_taken_for_the_end() {
    for has_mark in [false, true] {
        let disk = SimDisk::new(1);
        let config = WalConfig { mark_bytes: 4 << 10, ..WalConfig::small() };
        let wal = Wal::create(Arc::new(disk.clone()), config).expect("creates");
        let mut ends = Vec::new();
        for n in 0..100 {
            ends.push(wal.append(&body(n, 200)));
            wal.wait_durable(ends[n as usize]).expect("durable");
            if has_mark {
                wal.mark_durable();
            }
        }
        drop(wal);
        let Lsn(damaged) = ends[20];
        disk.flip_bit("log/segment-00000000", damaged + 50, 3).expect("is there");
        disk.kill();
        let (_, _, mut reader) = Wal::open(Arc::new(disk.clone()), WalConfig::small()).expect("opens");
        let mut count = 0;
        let end = loop {
            match reader.next() {
                Ok(Some(_)) => count += 1,
                end => break end.map(|_| ()),
            }
        };
        assert!((21..30).contains(&count), "{count}");
        match has_mark {
            true => assert!(matches!(end, Err(WalError::Corrupt { lsn, .. }) if lsn.0 <= damaged + 50), "{end:?}"),
            false => assert!(end.is_ok(), "nothing can tell: {end:?}"),
        }
        // A wrong bit that only one read sees is no damage.
        assert_eq!(disk.heal(), 1);
        disk.plan_read("log/segment", 1, env::ReadFault::Garbled);
        let (_, _, mut reader) = Wal::open(Arc::new(disk.clone()), WalConfig::small()).expect("opens");
        while reader.next().expect("reads").is_some() {}
        assert!(reader.end_of_valid() >= ends[99]);
        disk.kill();
    }
}

/// Records of all sizes, over pieces, segments and the room before a piece, are read ahead as they are read without.
#[test]
fn reading_ahead_reads_the_same() {
    let disk = SimDisk::new(1);
    let config = WalConfig { segment_bytes: 4 << 20, buffer_bytes: 4 << 20, capacity_bytes: 128 << 20, ..WalConfig::small() };
    let wal = Wal::create(Arc::new(disk.clone()), config.clone()).expect("creates");
    let mut rng = Rng::new(7);
    let mut ends = Vec::new();
    for n in 0..6000 {
        let len = match rng.below(400) {
            0 => rng.below(1_900_000),
            1..20 => rng.below(100_000),
            _ => rng.below(300),
        };
        ends.push(wal.append(&body(n, len as usize)));
        if n == 3000 {
            wal.flush_all().expect("durable");
            wal.write_checkpoint(Checkpoint { redo_lsn: ends[2500], payload: vec![] }).expect("writes");
        }
        wal.flush_all().expect("durable");
    }
    assert!(ends[5999].0 > 20 << 20, "{}", ends[5999]);
    drop(wal);
    disk.kill();
    let read = |ahead: bool, garbled: bool| {
        let (_, _, mut reader) = Wal::open(Arc::new(disk.clone()), config.clone()).expect("opens");
        if garbled {
            disk.plan_read("log/segment", 5, env::ReadFault::Garbled);
        }
        if ahead {
            reader.read_ahead().expect("starts");
        }
        let mut crcs = Vec::new();
        while let Some(entry) = reader.next().expect("reads") {
            crcs.push((entry.end, base::crc32c(entry.body)));
        }
        crcs
    };
    let plain = read(false, false);
    assert_eq!(plain.iter().map(|(end, _)| *end).collect::<Vec<_>>(), ends[2501..]);
    assert!(read(true, false) == plain);
    assert!(read(true, true) == plain, "a wrong bit that only one read sees");
}

/// Commits that wait for no sync: what marks there are, the thread that flushes wrote. `lose` does its damage to the durable log below `up_to`.
fn damage_of_a_log_without_durable_commits_is_found(config: &WalConfig, records: u64, len: usize, lose: impl Fn(&SimDisk, Lsn)) {
    let disk = SimDisk::new(1);
    let wal = Wal::create(Arc::new(disk.clone()), config.clone()).expect("creates");
    for n in 0..records {
        let end = wal.append(&body(n, len));
        wal.commit(end, FlushPolicy::Lazy).expect("commits");
    }
    wal.flush_and_mark().expect("flushes");
    let up_to = wal.durable();
    wal.flush_and_mark().expect("flushes the mark");
    drop(wal);
    disk.crash();
    lose(&disk, up_to);
    let (_, _, mut reader) = Wal::open(Arc::new(disk), config.clone()).expect("opens");
    let mut count = 0;
    let end = loop {
        match reader.next() {
            Ok(Some(_)) => count += 1,
            end => break end.map(|_| ()),
        }
    };
    assert!(count < records && matches!(end, Err(WalError::Corrupt { .. })), "{count} of {records}: {end:?}");
}

#[test]
fn damage_far_before_the_only_mark_is_found() {
    let config = WalConfig { segment_bytes: 16 << 20, capacity_bytes: 128 << 20, ..WalConfig::small() };
    damage_of_a_log_without_durable_commits_is_found(&config, 7000, 11_000, |disk, up_to| {
        assert!(up_to.0 > 70 << 20);
        disk.flip_bit("log/segment-00000000", 50_000, 3).expect("is there");
    });
}

#[test]
fn a_lost_segment_before_the_one_with_the_mark_is_found() {
    let lost = "log/segment-00000001";
    let remove = |disk: &SimDisk, _| disk.remove(lost).expect("is there");
    damage_of_a_log_without_durable_commits_is_found(&WalConfig::small(), 400, 500, remove);
    let cut = |disk: &SimDisk, _| disk.open(lost, OpenMode::Existing, FileKind::Buffered).expect("opens").set_len(8192).expect("cuts");
    damage_of_a_log_without_durable_commits_is_found(&WalConfig::small(), 400, 500, cut);
}

#[test]
fn a_spare_segment_that_cannot_be_removed_is_tried_again() {
    let disk = SimDisk::new(1);
    let wal = Wal::create(Arc::new(disk.clone()), WalConfig { capacity_bytes: 256 << 10, ..WalConfig::small() }).expect("creates");
    let segments = || disk.list("log").expect("lists").iter().filter(|name| name.starts_with("segment-")).count();
    let checkpoint = |wal: &Wal| wal.write_checkpoint(Checkpoint { redo_lsn: wal.written_contiguous(), payload: vec![] }).expect("writes");
    // A pin makes the log longer than it is by itself.
    let pin = wal.pin(Lsn(4096)).expect("is there");
    while segments() < 10 {
        for n in 0..100 {
            wal.ensure_space().expect("room");
            wal.append(&body(n, 500));
        }
        wal.flush_all().expect("durable");
        checkpoint(&wal);
    }
    drop(pin);
    disk.set_removes_fail(true);
    checkpoint(&wal);
    disk.set_removes_fail(false);
    let after_failure = segments();
    assert!(after_failure >= 10, "{after_failure}");
    checkpoint(&wal);
    assert!(segments() <= 6, "{}", segments());
}

#[test]
fn a_control_file_that_says_what_cannot_be_is_refused() {
    let disk = SimDisk::new(1);
    drop(Wal::create(Arc::new(disk.clone()), WalConfig::small()).expect("creates"));
    let file = disk.open("log/control", OpenMode::Existing, FileKind::Buffered).expect("opens");
    // The first slot is the second in the file.
    let mut slot = [0; 512];
    file.read_at(&mut slot, 4096).expect("reads");
    for (at, value) in [(36, 65_537u64), (36, 1 << 41), (20, u64::MAX - 7), (28, u64::MAX)] {
        let mut other = slot;
        other[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let crc = base::crc32c(&other[..58]);
        other[58..62].copy_from_slice(&crc.to_le_bytes());
        file.write_at(&other, 4096).expect("writes");
        let opened = Wal::open(Arc::new(disk.clone()), WalConfig::small());
        assert!(matches!(opened, Err(WalError::Corrupt { .. })), "{value} at {at}");
    }
    file.write_at(&slot, 4096).expect("writes");
    assert!(Wal::open(Arc::new(disk), WalConfig::small()).is_ok());
}

#[test]
fn a_lost_slot_of_the_control_file_does_not_hide_the_epoch_after_it() {
    let disk = SimDisk::new(3);
    drop(Wal::create(Arc::new(disk.clone()), WalConfig::small()).expect("creates"));
    disk.kill();
    let (wal, _, _, end) = read_all(&disk);
    wal.start_after_recovery(end).expect("starts");
    let end = wal.append(&body(1, 100));
    wal.wait_durable(end).expect("durable");
    drop(wal);
    // The second slot that was written, the one of the epoch of that record.
    disk.flip_bit("log/control", 12, 0).expect("is there");
    disk.kill();
    let (_, _, mut reader) = Wal::open(Arc::new(disk), WalConfig::small()).expect("opens by the other slot");
    assert!(matches!(reader.next(), Err(WalError::Corrupt { .. })));
}

#[test]
fn stale_records_past_a_lost_one_are_not_resurrected() {
    let disk = SimDisk::new(1);
    let wal = Wal::create(Arc::new(disk.clone()), WalConfig::small()).expect("creates");
    let first = wal.append(&[1; 500]);
    let second = wal.append(&[2; 500]);
    wal.append(&[3; 500]);
    wal.flush_all().expect("durable");
    // Damage the second, so that the log ends before it while the third is whole.
    disk.flip_bit("log/segment-00000000", first.0 + 100, 0).expect("is there");
    disk.crash();
    let (wal, _, bodies, end) = read_all(&disk);
    assert_eq!((bodies.len(), end), (1, first));
    wal.start_after_recovery(end).expect("starts");
    assert_eq!(wal.append(&[4; 500]), second, "the new record ends where the stale one begins");
    // Only the sector that changed is put in place, as a torn rewrite of the block would.
    let file: Arc<dyn File> = disk.open("log/segment-00000000", OpenMode::Existing, FileKind::Buffered).expect("opens");
    let mut stale = vec![0; 512];
    file.read_at(&mut stale, second.0).expect("reads");
    wal.flush_all().expect("durable");
    file.write_at(&stale, second.0).expect("writes");
    file.sync().expect("syncs");
    disk.crash();
    let (_, _, bodies, end) = read_all(&disk);
    assert_eq!((bodies.len(), end), (2, second));
    assert_eq!(bodies[1].1, [4; 500]);
}

#[test]
fn threads_commit_together_and_nothing_is_lost() {
    let disk = SimDisk::new(3);
    let config = WalConfig { capacity_bytes: 16 << 20, ..WalConfig::small() };
    let wal = Wal::create(Arc::new(disk.clone()), config).expect("creates");
    const THREADS: u64 = 8;
    const EACH: u64 = 300;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let wal = &wal;
            scope.spawn(move || {
                for n in 0..EACH {
                    wal.ensure_space().expect("room");
                    let end = wal.append(&body(thread << 32 | n, (n * 13 % 400) as usize));
                    wal.commit(end, if n % 7 == 0 { FlushPolicy::Write } else { FlushPolicy::Durable }).expect("commits");
                }
                wal.flush_all().expect("durable");
            });
        }
    });
    let stats = wal.stats();
    assert_eq!(stats.records, THREADS * EACH);
    disk.crash();
    let (_, _, bodies, _) = read_all(&disk);
    let mut next = [0; THREADS as usize];
    for (_, bytes) in bodies {
        let tag = u64::from_le_bytes(bytes[..8].try_into().expect("eight"));
        let (thread, n) = (tag >> 32, tag & 0xffff_ffff);
        assert_eq!(next[thread as usize], n, "the records of a thread are in its order");
        next[thread as usize] += 1;
    }
    assert_eq!(next, [EACH; THREADS as usize]);
}
