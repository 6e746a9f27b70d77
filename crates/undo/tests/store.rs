//! Appending, reading, releasing, spilling, checkpoints and recovery, against a map of what was appended.

use base::UndoPtr;
use env::SplitMix64 as Random;
use env::{Disk, SimDisk};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use undo::{UndoConfig, UndoError, UndoStore};

const MIB: usize = 1 << 20;

fn store(disk: &Arc<SimDisk>) -> UndoStore {
    let config = UndoConfig { shards: 2, memory_bytes_max: 3 * MIB as u64 };
    UndoStore::new(Arc::clone(disk) as Arc<dyn Disk>, config).expect("a new store")
}

fn disk(seed: u64) -> Arc<SimDisk> {
    Arc::new(SimDisk::new(seed))
}

fn record(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let byte = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..bytes).map(byte).collect()
}

fn read(store: &UndoStore, ptr: UndoPtr) -> Vec<u8> {
    store.read(ptr, <[u8]>::to_vec).unwrap_or_else(|error| panic!("{ptr:?}: {error}"))
}

#[test]
fn records_of_all_lengths_read_back() {
    let store = store(&disk(1));
    let lengths = [0, 1, 7, 8, 9, 100, 4000, 70_000, MIB - 9, MIB - 8, MIB - 7, MIB, 3 * MIB + 5];
    let ptrs: Vec<_> = lengths.iter().map(|bytes| store.append(*bytes, &record(1, *bytes)).expect("room")).collect();
    for (ptr, bytes) in ptrs.iter().zip(lengths) {
        assert!(read(&store, *ptr) == record(1, bytes), "{bytes} bytes");
    }
    for (ptr, bytes) in ptrs.iter().zip(lengths) {
        store.release(*ptr, bytes);
    }
    assert_eq!(store.live_bytes(), 0);
    assert!(store.stats().segments <= 2, "only those that take appends are left: {store:?}");
    assert!(matches!(store.append(0, &vec![0; undo::RECORD_BYTES_MAX + 1]), Err(UndoError::Full)));
}

#[test]
fn a_released_segment_is_recycled_under_another_number() {
    let store = store(&disk(2));
    let mut seen = std::collections::HashSet::new();
    for n in 0..200u64 {
        let ptr = store.append(0, &record(n, 900_000)).expect("room");
        assert!(seen.insert(ptr), "an address is given out once");
        assert!(read(&store, ptr) == record(n, 900_000));
        store.release(ptr, 900_000);
    }
    let first = *seen.iter().min().expect("some");
    assert!(matches!(store.read(first, |_| ()), Err(UndoError::Released)));
    assert!(store.stats().memory_bytes <= 2 * MIB as u64, "{store:?}");
    store.release(first, 900_000);
}

#[test]
fn spilled_records_are_read_from_the_file() {
    let store = store(&disk(3));
    let ptrs: Vec<_> = (0..20u64).map(|n| store.append(n as usize, &record(n, 500_000)).expect("room")).collect();
    assert!(store.wants_spill());
    assert!(store.spill().expect("no fault") > 0);
    assert!(!store.wants_spill());
    for (n, ptr) in ptrs.iter().enumerate() {
        assert!(read(&store, *ptr) == record(n as u64, 500_000));
    }
    assert!(store.stats().file_reads > 0);
    ptrs.iter().for_each(|ptr| store.release(*ptr, 500_000));
    assert_eq!(store.live_bytes(), 0);
}

#[test]
fn nested_reads_keep_their_bytes() {
    let store = store(&disk(4));
    let (a, b) = (store.append(0, b"first").expect("room"), store.append(0, b"second").expect("room"));
    store
        .read(a, |first| {
            store.read(b, |second| assert_eq!((first, second), (&b"first"[..], &b"second"[..]))).expect("live");
        })
        .expect("live");
}

#[test]
fn wrong_addresses_are_errors() {
    let store = store(&disk(5));
    let ptr = store.append(0, b"some record of some length").expect("room");
    let wrong = |offset| UndoPtr::new(ptr.segment(), offset);
    assert!(matches!(store.read(wrong(4), |_| ()), Err(UndoError::Corrupt { .. })));
    assert!(matches!(store.read(wrong(1 << 19), |_| ()), Err(UndoError::Released)));
    assert!(matches!(store.read(UndoPtr::NONE, |_| ()), Err(UndoError::Released)));
    assert!(matches!(store.read(UndoPtr::new(999_999_999, 0), |_| ()), Err(UndoError::Released)));
}

#[test]
fn broken_directories_are_errors() {
    let sim = disk(6);
    let store_1 = store(&sim);
    store_1.append(0, b"kept").expect("room");
    let directory = store_1.checkpoint().expect("no fault");
    for cut in 0..directory.len() {
        assert!(store(&sim).load(&directory[..cut]).is_err(), "cut at {cut}");
    }
    for at in 0..directory.len() {
        for bit in 0..8 {
            let mut broken = directory.clone();
            broken[at] ^= 1 << bit;
            // No panic; whether it is noticed here or by a record's checksum depends on the bit.
            let _ = store(&sim).load(&broken);
        }
    }
}

#[test]
fn bytes_changed_on_disk_are_noticed() {
    let sim = disk(7);
    let store_1 = store(&sim);
    let ptr = store_1.append(0, &record(1, 300)).expect("room");
    let directory = store_1.checkpoint().expect("no fault");
    let file = sim.open("undo/segments", env::OpenMode::Existing, env::FileKind::Buffered).expect("it is there");
    let mut byte = [0u8];
    file.read_at(&mut byte, 100).expect("inside");
    file.write_at(&[byte[0] ^ 1], 100).expect("no fault");
    let store_2 = store(&sim);
    store_2.load(&directory).expect("the directory is sound");
    assert!(matches!(store_2.read(ptr, |_| ()), Err(UndoError::Corrupt { .. })));
}

#[test]
fn what_a_read_garbles_is_read_once_more() {
    for seed in 0..50 {
        let sim = disk(seed);
        let store = store(&sim);
        let ptrs: Vec<_> = (0..10u64).map(|n| store.append(0, &record(n, 300_000)).expect("room")).collect();
        store.spill().expect("the disk works");
        for nth in [1, 2] {
            sim.plan_read("undo/", nth, env::ReadFault::Garbled);
            assert!(read(&store, ptrs[0]) == record(0, 300_000), "seed {seed}, read {nth}");
        }
    }
}

#[test]
fn a_record_that_recovery_did_not_restore_counts_as_released() {
    let sim = disk(8);
    let store_1 = store(&sim);
    let ptrs: Vec<_> = (0..3).map(|n| store_1.append(0, &record(n, 100)).expect("room")).collect();
    let store_2 = store(&sim);
    // The others were released before the checkpoint, so neither its directory nor the log from there on has them.
    store_2.restore(ptrs[1], &record(1, 100)).expect("sound");
    for gone in [ptrs[0], ptrs[2]] {
        assert!(matches!(store_2.read(gone, |_| ()), Err(UndoError::Released)), "{gone:?}");
    }
    assert!(read(&store_2, ptrs[1]) == record(1, 100));
}

#[test]
fn what_recovery_finds_and_nobody_needs_is_freed_when_all_is_counted() {
    let sim = disk(8);
    let store_1 = store(&sim);
    let ptrs: Vec<_> = (0..10u64).map(|n| store_1.append(0, &record(n, 700_000)).expect("room")).collect();
    let directory = store_1.checkpoint().expect("no fault");
    let store_2 = store(&sim);
    store_2.load(&directory).expect("sound");
    // One is released before it is counted.
    store_2.release(ptrs[5], 700_000);
    for at in [3, 5] {
        store_2.account(ptrs[at], 700_000).expect("there");
    }
    assert_eq!(store_2.stats().segments, 10, "counting is not over");
    let again = store_2.checkpoint().expect("no fault");
    store_2.accounted();
    assert_eq!(store_2.stats().segments, 1);
    assert!(read(&store_2, ptrs[3]) == record(3, 700_000));
    store_2.release(ptrs[3], 700_000);
    assert_eq!(store_2.stats().segments, 0);
    // A checkpoint meanwhile lists everything.
    let store_3 = store(&sim);
    store_3.load(&again).expect("sound");
    assert_eq!(store_3.stats().segments, 10);
}

#[test]
fn recovery_of_more_undo_than_memory_spills_and_gives_memory_back() {
    let sim = disk(21);
    let store_1 = store(&sim);
    let ptrs: Vec<_> = (0..60u64).map(|n| store_1.append(n as usize, &record(n, 300_000)).expect("room")).collect();
    let store_2 = store(&sim);
    let mut most = 0;
    for (n, ptr) in ptrs.iter().enumerate() {
        store_2.restore(*ptr, &record(n as u64, 300_000)).expect("sound");
        if store_2.wants_spill() {
            store_2.spill().expect("no fault");
        }
        most = most.max(store_2.stats().memory_bytes);
    }
    assert!(most <= 4 * MIB as u64, "{most}");
    let mut reader = store_2.chain_reader();
    for (n, ptr) in ptrs.iter().enumerate().rev() {
        assert!(reader.read(*ptr, <[u8]>::to_vec).expect("there") == record(n as u64, 300_000));
        store_2.account(*ptr, 300_000).expect("there");
    }
    store_2.accounted();
    store_2.trim();
    for (n, ptr) in ptrs.iter().enumerate() {
        assert!(read(&store_2, *ptr) == record(n as u64, 300_000));
        store_2.release(*ptr, 300_000);
    }
    store_2.trim();
    assert_eq!((store_2.stats().segments, store_2.stats().memory_bytes), (0, 0));
    let ptr = store_2.append(0, b"goes on").expect("room");
    assert_eq!(read(&store_2, ptr), b"goes on");
}

#[test]
fn near_reads_find_what_reads_find_with_few_reads_of_the_file() {
    let mut random = Random::new(11);
    let store = store(&disk(11));
    let lengths: Vec<usize> = (0..9_000)
        .map(|n| match n % 900 {
            0 => 70_000,
            1 => 2 * MIB,
            _ => (random.next() % 1500) as usize,
        })
        .collect();
    let ptrs: Vec<_> =
        lengths.iter().enumerate().map(|(n, bytes)| store.append(n / 1000, &record(n as u64, *bytes)).expect("room")).collect();
    store.spill().expect("no fault");
    let before = store.stats();
    let mut near = undo::Near::default();
    // As a transaction's records are read: the newest first.
    for (n, ptr) in ptrs.iter().enumerate().rev() {
        let found = store.read_near(&mut near, *ptr, <[u8]>::to_vec).expect("there");
        assert!(found == record(n as u64, lengths[n]), "record {n} of {} bytes", lengths[n]);
    }
    let reads = store.stats().file_reads - before.file_reads;
    assert!(before.spilled > 0 && (1..2_000).contains(&reads), "{reads} reads of the file for {} records, {before:?}", ptrs.len());
    // In any order, beside releases that recycle segments: the record while it is there, afterwards nothing else.
    let mut released = vec![false; ptrs.len()];
    for _ in 0..40_000 {
        let n = (random.next() % ptrs.len() as u64) as usize;
        match store.read_near(&mut near, ptrs[n], <[u8]>::to_vec) {
            Ok(found) => assert!(found == record(n as u64, lengths[n]), "record {n}"),
            Err(error) => assert!(released[n] && matches!(error, UndoError::Released), "record {n}: {error}"),
        }
        if !std::mem::replace(&mut released[n], true) {
            store.release(ptrs[n], lengths[n]);
        }
        if random.next().is_multiple_of(100) {
            let other = store.append(0, &record(u64::MAX, 5_000)).expect("room");
            store.release(other, 5_000);
        }
    }
}

#[test]
fn restored_segments_take_no_appends_and_numbers_go_on() {
    let sim = disk(9);
    let store_1 = store(&sim);
    let old: Vec<_> = (0..50u64).map(|n| store_1.append(0, &record(n, 100_000)).expect("room")).collect();
    let store_2 = store(&sim);
    for (n, ptr) in old.iter().enumerate().step_by(3) {
        store_2.restore(*ptr, &record(n as u64, 100_000)).expect("sound");
        store_2.restore(*ptr, &record(n as u64, 100_000)).expect("idempotent");
    }
    old.iter().for_each(|ptr| store_2.note_address(*ptr));
    old.iter().step_by(3).for_each(|ptr| store_2.account(*ptr, 100_000).expect("there"));
    store_2.accounted();
    let new: Vec<_> = (0..50u64).map(|n| store_2.append(0, &record(n, 100_000)).expect("room")).collect();
    assert!(new.iter().all(|ptr| old.iter().all(|old| old.segment() != ptr.segment())));
    for (n, ptr) in old.iter().enumerate().step_by(3) {
        assert!(read(&store_2, *ptr) == record(n as u64, 100_000));
        store_2.release(*ptr, 100_000);
    }
    new.iter().for_each(|ptr| store_2.release(*ptr, 100_000));
    assert_eq!(store_2.live_bytes(), 0);
}

#[test]
fn readers_survive_appends_releases_and_spills_of_others() {
    let store = store(&disk(10));
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let store = &store;
            scope.spawn(move || {
                let mut live = std::collections::VecDeque::new();
                for n in 0..600u64 {
                    let seed = thread * 1_000_000 + n;
                    let bytes = (seed * 7919 % 40_000) as usize;
                    live.push_back((store.append(thread as usize, &record(seed, bytes)).expect("room"), seed, bytes));
                    if live.len() > 100 {
                        let (ptr, seed, bytes) = live.pop_front().expect("not empty");
                        assert!(read(store, ptr) == record(seed, bytes));
                        store.release(ptr, bytes);
                        // Late readers: an error or old bytes, no crash.
                        let _ = store.read(ptr, |_| ());
                    }
                    if n % 50 == 0 {
                        store.spill().expect("no fault");
                    }
                }
                live.iter().for_each(|(ptr, _, bytes)| store.release(*ptr, *bytes));
            });
        }
    });
    assert_eq!(store.live_bytes(), 0);
}

#[test]
fn a_directory_written_beside_appends_and_releases_can_be_loaded() {
    let disk = disk(11);
    let running = store(&disk);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Between any two looks of a checkpoint one segment's account goes to nothing and back, and another's grows past what was written.
        scope.spawn(|| {
            for kept in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let ptr = running.append(0, &[7; 16]).expect("room");
                running.release(ptr, 16);
                if kept < 200_000 {
                    running.append(1, &[7; 16]).expect("room");
                }
            }
        });
        // However the loop ends: the other thread must end with it.
        let _stop = StopOnDrop(&stop);
        for n in 0..3000 {
            let directory = running.checkpoint().expect("written");
            store(&disk).load(&directory).unwrap_or_else(|error| panic!("directory {n}, {directory:?}: {error}"));
            running.checkpoint_written();
        }
    });
}

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_failed_sync_is_final() {
    let sim = disk(11);
    let store = store(&sim);
    let ptr = store.append(0, b"kept").expect("room");
    sim.fail_sync(1);
    assert!(matches!(store.checkpoint(), Err(UndoError::Io(_))));
    assert!(matches!(store.checkpoint(), Err(UndoError::Io(_))), "the bytes may be gone, although a sync would succeed now");
    assert_eq!(read(&store, ptr), b"kept");
}

#[test]
fn a_failed_write_loses_nothing() {
    let sim = disk(12);
    let store_1 = store(&sim);
    let ptrs: Vec<_> = (0..10u64).map(|n| store_1.append(0, &record(n, 700_000)).expect("room")).collect();
    for nth in 1..=3 {
        sim.fail_write(nth);
        assert!(matches!(store_1.spill(), Err(UndoError::Io(_))), "write {nth}");
    }
    for nth in [1, 2, 5] {
        sim.fail_write(nth);
        if store_1.checkpoint().is_ok() {
            break;
        }
    }
    store_1.spill().expect("the disk works again");
    let directory = store_1.checkpoint().expect("the disk works again");
    sim.crash();
    let store_2 = store(&sim);
    store_2.load(&directory).expect("durable");
    for (n, ptr) in ptrs.iter().enumerate() {
        assert!(read(&store_2, *ptr) == record(n as u64, 700_000));
    }
}

/// The crash comes at each change that a checkpoint makes; the checkpoint before it must still load.
#[test]
fn a_crash_inside_a_checkpoint_leaves_the_one_before() {
    for nth in 1..=8 {
        let sim = disk(100 + nth);
        let store_1 = store(&sim);
        let mut kept: Vec<_> = (0..6u64).map(|n| (n, store_1.append(n as usize, &record(n, 400_000)).expect("room"))).collect();
        let first = store_1.checkpoint().expect("no fault");
        store_1.checkpoint_written();
        // Some go, others come; their places must not be taken while `first` counts.
        for (_, ptr) in kept.drain(..4) {
            store_1.release(ptr, 400_000);
        }
        let later: Vec<_> = (10..20u64).map(|n| (n, store_1.append(n as usize, &record(n, 400_000)).expect("room"))).collect();
        sim.crash_at(nth);
        let crashed = store_1.checkpoint().is_err();
        sim.crash();
        let store_2 = store(&sim);
        store_2.load(&first).expect("durable");
        // All that the first one listed reads, also what was released since: recovery may need it.
        for (n, ptr) in &kept {
            assert!(read(&store_2, *ptr) == record(*n, 400_000), "record {n}, crash at change {nth}, crashed: {crashed}");
        }
        for (n, ptr) in &later {
            store_2.restore(*ptr, &record(*n, 400_000)).expect("sound");
        }
        for (n, ptr) in kept.iter().chain(&later) {
            assert!(read(&store_2, *ptr) == record(*n, 400_000));
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Append(UndoPtr, u64, usize),
    Release(UndoPtr),
}

type Live = BTreeMap<UndoPtr, (u64, usize)>;

/// What recovery does: the directory of the last durable checkpoint, then the log up to where it survived.
fn recover(sim: &Arc<SimDisk>, directory: Option<&Vec<u8>>, mut live: Live, log: &[Event]) -> (UndoStore, Live) {
    let store = store(sim);
    if let Some(directory) = directory {
        store.load(directory).expect("durable");
    }
    for event in log {
        match event {
            Event::Append(ptr, seed, bytes) => live.insert(*ptr, (*seed, *bytes)),
            Event::Release(ptr) => live.remove(ptr),
        };
    }
    for event in log {
        if let Event::Append(ptr, seed, bytes) = event {
            store.note_address(*ptr);
            if live.contains_key(ptr) {
                store.restore(*ptr, &record(*seed, *bytes)).expect("sound");
            }
        }
    }
    (store, live)
}

/// Counts what recovery has found to be needed, released since or not.
fn account(store: &UndoStore, found: &mut Option<Live>) {
    if let Some(found) = found.take() {
        found.iter().for_each(|(ptr, (_, bytes))| store.account(*ptr, *bytes).expect("all are there"));
        store.accounted();
    }
}

/// A history with crashes. The log survives up to some event since the last durable checkpoint, so releases may be undone and
/// appends be lost; everything that is live then must read back, whatever the disk did to unsynced writes.
fn crash_history(seed: u64) {
    println!("seed {seed}");
    let mut random = Random::new(seed | 1);
    let sim = disk(seed);
    let mut current = store(&sim);
    let mut live = Live::new();
    let mut log: Vec<Event> = Vec::new();
    let (mut directory, mut live_at_directory) = (None, Live::new());
    let mut uncounted = None;
    for step in 0..300u64 {
        if random.below(10) == 0 {
            account(&current, &mut uncounted);
        }
        match random.below(100) {
            0..55 => {
                let bytes = match random.below(20) {
                    0 => random.below(3 * MIB as u64) as usize,
                    1..4 => random.below(600_000) as usize,
                    _ => random.below(60_000) as usize,
                };
                let ptr = current.append(random.below(3) as usize, &record(step, bytes)).expect("room");
                let named = log.iter().any(|event| matches!(event, Event::Append(other, ..) if *other == ptr));
                assert!(!named && live.insert(ptr, (step, bytes)).is_none(), "{ptr:?} was given out again at step {step}");
                log.push(Event::Append(ptr, step, bytes));
            }
            55..75 => {
                for _ in 0..random.below(live.len() as u64 / 2 + 2) {
                    let at = random.below(live.len().max(1) as u64) as usize;
                    if let Some((ptr, (_, bytes))) = live.iter().nth(at).map(|(ptr, record)| (*ptr, *record)) {
                        live.remove(&ptr);
                        current.release(ptr, bytes);
                        log.push(Event::Release(ptr));
                    }
                }
            }
            75..85 => drop(current.spill().expect("no fault")),
            85..91 => {
                let new = current.checkpoint().expect("no fault");
                // What a backup would copy is whole.
                for extent in undo::UndoExtent::listed(&new).expect("a directory") {
                    let copy = current.read_extent(extent).expect("reads");
                    extent.check(&copy).unwrap_or_else(|error| panic!("{extent:?} at step {step}: {error}"));
                }
                // Sometimes the log's checkpoint does not become durable.
                if random.below(3) > 0 {
                    (directory, live_at_directory) = (Some(new), live.clone());
                    log.clear();
                    current.checkpoint_written();
                }
            }
            91..96 => {
                drop(current);
                sim.crash();
                let lost = random.below(log.len() as u64 + 1) as usize * random.below(2) as usize;
                log.truncate(log.len() - lost);
                (current, live) = recover(&sim, directory.as_ref(), live_at_directory.clone(), &log);
                uncounted = Some(live.clone());
            }
            _ => {
                for (ptr, (seed, bytes)) in &live {
                    assert!(read(&current, *ptr) == record(*seed, *bytes), "{ptr:?} at step {step}");
                }
            }
        }
    }
    account(&current, &mut uncounted);
    for (ptr, (seed, bytes)) in &live {
        assert!(read(&current, *ptr) == record(*seed, *bytes), "{ptr:?} at the end");
        current.release(*ptr, *bytes);
    }
    assert_eq!(current.live_bytes(), 0);
}

#[test]
fn live_records_survive_crashes() {
    let seeds = std::env::var("UNDO_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(8);
    (1..=seeds).map(|n: u64| n.wrapping_mul(0x2545_F491_4F6C_DD1D)).for_each(crash_history);
}
