//! The log archive on simulated disks: full, failing, given up; and what pins promise.
#![cfg(not(any(loom, shuttle)))]

use base::Lsn;
use env::{AlignedBuf, Disk, FileKind, OpenMode, SimDisk};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wal::{ArchiveState, Checkpoint, LogArchive, Wal, WalConfig, WalError, segment_name};

const SEGMENT_BYTES: u64 = 64 << 10;

fn create(disk: &SimDisk, config: WalConfig) -> Arc<Wal> {
    Arc::new(Wal::create(Arc::new(disk.clone()), config).expect("creates"))
}

/// Appends about so many bytes, durably.
fn grow(wal: &Wal, bytes: u64) {
    let end = wal.lsn_head().0 + bytes;
    while wal.lsn_head().0 < end {
        wal.ensure_space().expect("room");
        wal.append(&vec![wal.lsn_head().0 as u8 | 1; 1000]);
        wal.flush_all().expect("durable");
    }
}

fn checkpoint(wal: &Wal) {
    wal.write_checkpoint(Checkpoint { redo_lsn: wal.written_contiguous(), payload: vec![7; 3000] }).expect("a checkpoint");
}

fn contents(disk: &SimDisk, path: &str) -> Vec<u8> {
    let file = disk.open(path, OpenMode::Existing, FileKind::Buffered).expect("opens");
    let mut bytes = vec![0; file.len().expect("length") as usize];
    file.read_at(&mut bytes, 0).expect("reads");
    bytes
}

/// The log's bytes as far as they are durable, noted before a checkpoint lets go of them.
fn note(wal: &Wal, stream: &mut Vec<u8>) {
    let mut buffer = AlignedBuf::new(16 << 10);
    loop {
        let from = stream.len() / 4096 * 4096;
        let count = wal.read_durable(Lsn(from as u64), &mut buffer).expect("reads");
        if from + count <= stream.len() {
            return;
        }
        stream.truncate(from);
        stream.extend_from_slice(&buffer[..count]);
    }
}

/// What the archive says it has, it has.
fn check_archive(stream: &[u8], archive: &SimDisk) -> ArchiveState {
    let state = ArchiveState::read(archive).expect("reads").expect("an archive");
    let mut at = state.from.0;
    while at < state.to.0 {
        let (number, offset) = (at / SEGMENT_BYTES, (at % SEGMENT_BYTES) as usize);
        let count = (SEGMENT_BYTES - offset as u64).min(state.to.0 - at) as usize;
        let theirs = contents(archive, &segment_name(number));
        let ours = &stream[at as usize..at as usize + count];
        assert!(theirs.len() >= offset + count && theirs[offset..offset + count] == *ours, "segment {number}");
        at += count as u64;
    }
    state
}

#[test]
fn a_failed_sync_of_the_archive_claims_nothing() {
    for failing in 1..=4 {
        for seed in 0..8 {
            let (log_disk, archive_disk) = (SimDisk::new(1), SimDisk::new(seed));
            let wal = create(&log_disk, WalConfig::small());
            let mut archive = LogArchive::open(&wal, Arc::new(archive_disk.clone())).expect("opens");
            let mut stream = Vec::new();
            grow(&wal, 3 * SEGMENT_BYTES + 5000);
            note(&wal, &mut stream);
            // The first sync of a segment fails before there is a state, later ones when there is one.
            archive_disk.plan_sync("segment-", failing);
            assert!(archive.catch_up().is_err());
            assert!(wal.archive_status().expect("status").failing);
            archive.catch_up().expect("goes on");
            assert_eq!(archive.state().to, wal.durable());
            archive_disk.crash();
            assert_eq!(check_archive(&stream, &archive_disk).to, wal.durable(), "sync {failing} seed {seed}");
        }
    }
}

#[test]
fn a_full_archive_keeps_the_log_and_goes_on_when_there_is_room() {
    let (log_disk, archive_disk) = (SimDisk::new(1), SimDisk::new(2));
    let wal = create(&log_disk, WalConfig::small());
    archive_disk.set_capacity(Some(100 << 10));
    let mut archive = LogArchive::open(&wal, Arc::new(archive_disk.clone())).expect("opens");
    let (mut errors, mut stream) = (0, Vec::new());
    for _ in 0..12 {
        grow(&wal, SEGMENT_BYTES);
        note(&wal, &mut stream);
        checkpoint(&wal);
        match archive.catch_up() {
            Ok(()) => {}
            Err(WalError::DiskFull) => errors += 1,
            Err(error) => panic!("{error}"),
        }
    }
    let status = wal.archive_status().expect("status");
    assert!(errors > 8 && status.failing && status.failures == errors && status.gaps == 0, "{errors} {status:?}");
    assert!(status.lag_bytes > 10 * SEGMENT_BYTES);
    archive_disk.set_capacity(None);
    archive.catch_up().expect("there is room");
    let status = wal.archive_status().expect("status");
    assert!(!status.failing && status.lag_bytes == 0 && status.gaps == 0, "{status:?}");
    // What was kept goes at the next checkpoint, and the archive has it all.
    let state = check_archive(&stream, &archive_disk);
    assert_eq!((state.from, state.to), (Lsn(0), wal.durable()));
    archive_disk.crash();
    check_archive(&stream, &archive_disk);
}

#[test]
fn a_dead_archive_gives_way_on_a_full_disk_and_its_space_is_free() {
    let (log_disk, archive_disk) = (SimDisk::new(1), SimDisk::new(2));
    // Three segments of its own.
    let wal = create(&log_disk, WalConfig { capacity_bytes: 4 * SEGMENT_BYTES, ..WalConfig::small() });
    let segments = || log_disk.list("log").expect("lists").iter().filter(|name| name.starts_with("segment-")).count() as u64;
    let mut archive = LogArchive::open(&wal, Arc::new(archive_disk.clone())).expect("opens");
    archive.catch_up().expect("archives");
    archive_disk.set_capacity(Some(0));
    let mut stream = Vec::new();
    for _ in 0..40 {
        grow(&wal, SEGMENT_BYTES);
        note(&wal, &mut stream);
        checkpoint(&wal);
        assert!(archive.catch_up().is_err());
    }
    assert!(segments() >= 40, "{} segments are kept", segments());
    // Full: what the archive wants gives way to writers, and the space comes back at once.
    let used: u64 = segments() * SEGMENT_BYTES;
    log_disk.set_capacity(Some(used));
    for _ in 0..8 {
        grow(&wal, SEGMENT_BYTES / 4);
        note(&wal, &mut stream);
    }
    assert!(segments() <= 6, "{} segments are left", segments());
    assert!(archive.catch_up().is_err(), "the archive is full still");
    archive_disk.set_capacity(None);
    archive.catch_up().expect("begins anew");
    assert_eq!(wal.archive_status().expect("status").gaps, 1);
    check_archive(&stream, &archive_disk);
}

#[test]
fn a_checkpoint_on_a_full_disk_takes_the_room_of_what_is_kept() {
    let log_disk = SimDisk::new(1);
    let wal = create(&log_disk, WalConfig { capacity_bytes: 4 * SEGMENT_BYTES, ..WalConfig::small() });
    let pin = wal.pin(Lsn(0)).expect("all is there");
    checkpoint(&wal);
    for _ in 0..10 {
        grow(&wal, SEGMENT_BYTES);
        checkpoint(&wal);
    }
    assert!(!pin.is_overrun());
    let used: usize = log_disk.list("log").expect("lists").iter().map(|name| contents(&log_disk, &format!("log/{name}")).len()).sum();
    log_disk.set_capacity(Some(used as u64));
    wal.write_checkpoint(Checkpoint { redo_lsn: wal.written_contiguous(), payload: vec![1; 100_000] }).expect("room was made");
    assert!(pin.is_overrun());
    // With nothing left to give up it is an error, and the log goes on after it.
    log_disk.set_capacity(Some(0));
    let large = vec![1; 500_000];
    let error = wal.write_checkpoint(Checkpoint { redo_lsn: wal.written_contiguous(), payload: large.clone() });
    assert!(matches!(error, Err(WalError::DiskFull)), "{error:?}");
    log_disk.set_capacity(None);
    wal.write_checkpoint(Checkpoint { redo_lsn: wal.written_contiguous(), payload: large.clone() }).expect("there is room");
    drop(wal);
    log_disk.crash();
    let (_, found, _) = Wal::open(Arc::new(log_disk), WalConfig::small()).expect("opens");
    assert!(found.expect("a checkpoint").payload == large);
}

/// An archive that ends where a segment does is compared, too.
#[test]
fn another_history_is_seen_at_the_border_of_a_segment() {
    let (log_disk, other_disk, archive_disk) = (SimDisk::new(1), SimDisk::new(2), SimDisk::new(3));
    let (wal, other) = (create(&log_disk, WalConfig::small()), create(&other_disk, WalConfig::small()));
    let border = 2 * SEGMENT_BYTES;
    for (wal, byte) in [(&wal, 1), (&other, 2)] {
        let before = wal.lsn_head().0;
        let overhead = wal.append(&[byte; 1000]).0 - before - 1000;
        while wal.lsn_head().0 < border {
            wal.ensure_space().expect("room");
            let left = border - wal.lsn_head().0;
            let record = if left > 3000 { 1000 + overhead } else { left };
            wal.append(&vec![byte; (record - overhead) as usize]);
        }
        wal.flush_all().expect("durable");
        assert_eq!(wal.durable(), Lsn(border));
    }
    LogArchive::open(&wal, Arc::new(archive_disk.clone())).expect("opens").catch_up().expect("archives");
    let state = ArchiveState::read(&archive_disk).expect("reads").expect("a state");
    assert_eq!((state.to, state.compare_from()), (Lsn(border), Lsn(border - 4096)));
    assert!(LogArchive::open(&wal, Arc::new(archive_disk.clone())).is_ok(), "its own");
    assert!(LogArchive::open(&other, Arc::new(archive_disk.clone())).is_err(), "another history");
    for wal in [&wal, &other] {
        grow(wal, SEGMENT_BYTES);
    }
    assert!(LogArchive::open(&other, Arc::new(archive_disk.clone())).is_err(), "another history");
    LogArchive::open(&wal, Arc::new(archive_disk)).expect("its own").catch_up().expect("goes on");
}

/// Whoever gets a pin has the log from there on, or is told that it was overrun: whatever checkpoints come meanwhile.
#[test]
fn a_pin_holds_against_checkpoints_that_come_meanwhile() {
    let disk = SimDisk::new(1);
    let wal = create(&disk, WalConfig::small());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = sync::SetAtEnd(&stop);
        scope.spawn(|| {
            let _stop = sync::SetAtEnd(&stop);
            while !stop.load(Ordering::Relaxed) {
                grow(&wal, SEGMENT_BYTES);
                checkpoint(&wal);
            }
        });
        let mut buffer = AlignedBuf::new(4096);
        let mut pinned = 0;
        for _ in 0..30_000 {
            let from = Lsn(wal.redo_lsn().0 / SEGMENT_BYTES * SEGMENT_BYTES);
            let Some(pin) = wal.pin(from) else { continue };
            pinned += 1;
            std::thread::yield_now();
            // Asked before: what is durable by now may not have been when the log was read.
            let durable = wal.durable();
            let there = wal.read_durable(from, &mut buffer).expect("reads");
            assert!(there > 0 || pin.is_overrun() || durable == from, "pinned at {from}, and it is gone: pin {pinned}");
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        assert!(pinned > 0);
    });
}
