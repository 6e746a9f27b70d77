//! The page store on the simulated disk: crash at every write and sync, torn pages, broken pages, full disk.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::{IndexId, Lsn, PAGE_BYTES, PageNo};
use env::{AlignedBuf, Disk, ReadFault, SimDisk, WriteFault};
use page_store::{Batch, PageStore, PageType, StoreConfig, StoreError, header};
use sync::{Mutex, Rank};

fn disk(seed: u64) -> (Arc<SimDisk>, Arc<dyn Disk>) {
    let sim = Arc::new(SimDisk::new(seed));
    let disk: Arc<dyn Disk> = Arc::clone(&sim) as Arc<dyn Disk>;
    (sim, disk)
}

/// A page whose every byte past the header follows from number and generation.
fn fill(image: &mut [u8], page: PageNo, generation: u8) {
    header::init(image, page, PageType::Other as u8, IndexId(1), 0);
    image[header::PAGE_HEADER_BYTES..].fill(generation ^ page.0 as u8);
}

fn generation(store: &PageStore, page: PageNo) -> Result<u8, StoreError> {
    let mut buffer = AlignedBuf::new(PAGE_BYTES);
    store.read(page, &mut buffer)?;
    let body = &buffer[header::PAGE_HEADER_BYTES..];
    assert!(body.iter().all(|&b| b == body[0]), "page {page} is a mixture");
    Ok(body[0] ^ page.0 as u8)
}

fn write(store: &PageStore, batch: &mut Batch, pages: &[u64], generation: u8) -> Result<(), StoreError> {
    batch.clear();
    for &page in pages {
        fill(batch.push(PageNo(page)), PageNo(page), generation);
    }
    store.write_batch(batch)
}

#[test]
fn pages_are_old_or_new_after_a_crash_at_any_write_or_sync() {
    let mut restored = 0;
    for seed in 0..8 {
        for crash_at in 1..40 {
            let (sim, disk) = disk(seed * 1000 + crash_at);
            let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
            let mut batch = Batch::new(8);
            sim.crash_at(crash_at);
            // Pages 3.. and 9.. get a generation each round; the batch shifts, so pages are in some batches and not in others.
            let mut acknowledged: BTreeMap<u64, u8> = BTreeMap::new();
            let mut attempted: BTreeMap<u64, u8> = BTreeMap::new();
            for round in 1..=6u8 {
                let pages = [3, 4, 5 + u64::from(round % 3), 9, 300 + u64::from(round)];
                attempted.extend(pages.iter().map(|&page| (page, round)));
                if write(&store, &mut batch, &pages, round).is_err() {
                    break;
                }
                acknowledged.extend(pages.iter().map(|&page| (page, round)));
            }
            drop(store);
            sim.crash();
            let store = PageStore::open(&disk, StoreConfig::default())
                .unwrap_or_else(|error| panic!("replay: seed {seed} crash_at {crash_at}: {error}"));
            restored += store.stats().pages_restored.load(Ordering::Relaxed);
            for (&page, &newest) in &attempted {
                let known = acknowledged.get(&page).copied();
                match generation(&store, PageNo(page)) {
                    Ok(found) => assert!(
                        Some(found) == known || found == newest,
                        "replay: seed {seed} crash_at {crash_at}: page {page} has generation {found}, acknowledged {known:?}, last tried {newest}"
                    ),
                    Err(StoreError::Unwritten { .. }) => {
                        assert_eq!(known, None, "replay: seed {seed} crash_at {crash_at}: page {page} is lost")
                    }
                    Err(error) => panic!("replay: seed {seed} crash_at {crash_at}: {error}"),
                }
            }
            // The store goes on.
            write(&store, &mut batch, &[3, 4], 99).expect("write after a crash");
            assert_eq!(generation(&store, PageNo(4)).expect("written"), 99);
        }
    }
    assert!(restored > 0, "no crash tore a page; the test proves less than it should");
}

/// A restored directory has no `doublewrite`; nor, for certain, has one whose last process made it and was killed at once.
#[test]
fn an_area_that_opening_makes_keeps_its_name_over_a_loss_of_power() {
    for killed in [false, true] {
        let mut restored = 0;
        for seed in 0..60 {
            let (sim, disk) = disk(seed);
            let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
            let mut batch = Batch::new(8);
            let pages = [2, 9, 12, 40];
            write(&store, &mut batch, &pages, 1).expect("write");
            drop(store);
            disk.remove("doublewrite").expect("is there");
            disk.sync_dir("").expect("sync");
            if killed {
                disk.open("doublewrite", env::OpenMode::CreateNew, env::FileKind::Direct).expect("made");
                sim.kill();
            }
            let store = PageStore::open(&disk, StoreConfig::default()).expect("open");
            // The copies and their sync, then the power fails in the middle of the writes in place.
            sim.crash_at(5);
            write(&store, &mut batch, &pages, 2).expect_err("the power fails");
            drop(store);
            sim.crash();
            let store = PageStore::open(&disk, StoreConfig::default()).expect("open");
            restored += store.stats().pages_restored.load(Ordering::Relaxed);
            for page in pages {
                let found = generation(&store, PageNo(page));
                assert!(matches!(found, Ok(1 | 2)), "seed {seed}, killed {killed}: page {page}: {found:?}");
            }
        }
        assert!(restored > 0, "nothing was torn");
    }
}

#[test]
fn copies_of_a_batch_outlive_its_failed_write_in_place() {
    let mut restored = 0;
    for seed in 0..8 {
        let (sim, disk) = disk(seed);
        let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
        let mut batch = Batch::new(4);
        write(&store, &mut batch, &[2, 3], 1).expect("write");
        // The first write goes to the area, the second in place.
        sim.tear_write(2);
        assert!(write(&store, &mut batch, &[2, 3], 2).is_err(), "seed {seed}");
        write(&store, &mut batch, &[7], 1).expect("another batch takes the area");
        restored += store.stats().pages_restored.load(Ordering::Relaxed);
        drop(store);
        sim.crash();
        let store = PageStore::open(&disk, StoreConfig::default()).expect("open");
        for page in [2, 3] {
            let found = generation(&store, PageNo(page));
            assert!(matches!(found, Ok(1 | 2)), "seed {seed}: page {page}: {found:?}");
        }
        assert_eq!(generation(&store, PageNo(7)).expect("written"), 1);
    }
    assert!(restored > 0, "nothing was torn");
}

/// A sync of `data` fails, and the process stops, on a file system without O_DIRECT: the page cache has what the device has not, and a later sync says nothing.
#[test]
fn what_is_read_after_a_sync_that_failed_is_durable() {
    let mut old = 0;
    for seed in 0..40 {
        let (sim, disk) = disk(seed);
        sim.set_refuses_direct(true);
        let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
        let mut batch = Batch::new(4);
        write(&store, &mut batch, &[2, 9], 1).expect("write");
        sim.plan_sync("data", 1);
        write(&store, &mut batch, &[2, 9], 2).expect_err("planned");
        drop(store);
        sim.kill();
        let store = PageStore::open(&disk, StoreConfig::default()).expect("open");
        let seen = [2, 9].map(|page| generation(&store, PageNo(page)).expect("whole"));
        drop(store);
        sim.crash();
        let store = PageStore::open(&disk, StoreConfig::default()).expect("open");
        assert_eq!([2, 9].map(|page| generation(&store, PageNo(page)).expect("whole")), seen, "seed {seed}");
        old += seen.iter().filter(|generation| **generation == 1).count();
    }
    assert!(old > 0, "nothing was lost");
}

/// Copies of the time when doublewrite was on are not what belongs in a page that was written without it, and torn.
#[test]
fn copies_are_forgotten_when_doublewrite_is_turned_off() {
    let (sim, disk) = disk(15);
    let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
    write(&store, &mut Batch::new(4), &[2, 9], 1).expect("write");
    drop(store);
    let store = PageStore::open(&disk, StoreConfig { doublewrite: false }).expect("open");
    write(&store, &mut Batch::new(4), &[2], 2).expect("write");
    drop(store);
    sim.flip_bit("data", 2 * PAGE_BYTES as u64 + 5000, 1).expect("flips");
    let store = PageStore::open(&disk, StoreConfig { doublewrite: false }).expect("open");
    assert!(matches!(generation(&store, PageNo(2)), Err(StoreError::Checksum { .. })), "an old image is taken for good");
    assert_eq!(store.stats().pages_restored.load(Ordering::Relaxed), 0);
    assert_eq!(generation(&store, PageNo(9)).expect("whole"), 1);
    drop(store);
    PageStore::open(&disk, StoreConfig::default()).expect("turned on again");
}

#[test]
fn what_a_killed_process_wrote_is_durable_once_the_store_is_open_again() {
    for seed in 0..16 {
        let (sim, disk) = disk(seed);
        let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
        let mut batch = Batch::new(4);
        write(&store, &mut batch, &[2, 9], 1).expect("write");
        // The first write goes to the area, the second and third in place: one of them is there and not synced.
        sim.fail_write(3);
        assert!(write(&store, &mut batch, &[2, 9], 2).is_err(), "seed {seed}");
        drop(store);
        sim.kill();
        let store = PageStore::open(&disk, StoreConfig::default()).expect("open");
        let seen = [2, 9].map(|page| generation(&store, PageNo(page)).expect("a whole page"));
        assert!(seen.contains(&2), "seed {seed}");
        drop(store);
        sim.crash();
        let store = PageStore::open(&disk, StoreConfig::default()).expect("open");
        assert_eq!([2, 9].map(|page| generation(&store, PageNo(page)).expect("a whole page")), seen, "seed {seed}");
    }
}

#[test]
fn a_page_with_a_flipped_bit_is_reported_and_left_alone() {
    let (sim, disk) = disk(1);
    let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
    let mut batch = Batch::new(4);
    write(&store, &mut batch, &[2, 3], 1).expect("write");
    write(&store, &mut batch, &[5], 1).expect("write: page 3 leaves the doublewrite area");
    sim.flip_bit("data", 3 * PAGE_BYTES as u64 + 777, 3).expect("flip");
    assert!(matches!(generation(&store, PageNo(3)), Err(StoreError::Checksum { page: PageNo(3) })));
    assert_eq!(generation(&store, PageNo(2)).expect("good"), 1);
    drop(store);
    let store = PageStore::open(&disk, StoreConfig::default()).expect("open");
    assert!(matches!(generation(&store, PageNo(3)), Err(StoreError::Checksum { page: PageNo(3) })));
    assert_eq!(store.stats().pages_broken.load(Ordering::Relaxed), 1);
}

#[test]
fn a_page_in_the_last_batch_is_restored_at_open() {
    let (sim, disk) = disk(2);
    let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
    write(&store, &mut Batch::new(4), &[2, 3], 7).expect("write");
    drop(store);
    sim.flip_bit("data", 3 * PAGE_BYTES as u64 + 777, 3).expect("flip");
    let store = PageStore::open(&disk, StoreConfig::default()).expect("open");
    assert_eq!(store.stats().pages_restored.load(Ordering::Relaxed), 1);
    assert_eq!(generation(&store, PageNo(3)).expect("restored"), 7);
}

#[test]
fn a_misdirected_page_is_not_taken_for_the_one_asked_for() {
    let (_sim, disk) = disk(3);
    let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
    write(&store, &mut Batch::new(4), &[2], 7).expect("write");
    let data = disk.open("data", env::OpenMode::Existing, env::FileKind::Direct).expect("open");
    let mut page = AlignedBuf::new(PAGE_BYTES);
    data.read_at(&mut page, 2 * PAGE_BYTES as u64).expect("read");
    data.write_at(&page, 6 * PAGE_BYTES as u64).expect("write");
    assert!(matches!(generation(&store, PageNo(6)), Err(StoreError::Misdirected { page: PageNo(6), found: PageNo(2) })));
}

#[test]
fn a_write_that_the_device_lost_is_found_when_the_page_is_read() {
    for fault in [WriteFault::Lost, WriteFault::Misdirected] {
        let (sim, disk) = disk(9);
        let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
        let mut batch = Batch::new(4);
        write(&store, &mut batch, &[2], 1).expect("write");
        sim.plan_write("data", 1, fault);
        write(&store, &mut batch, &[2], 2).expect("the device says so");
        assert!(matches!(generation(&store, PageNo(2)), Err(StoreError::Stale { page: PageNo(2) })), "{fault:?}");
        write(&store, &mut batch, &[2], 3).expect("write");
        assert_eq!(generation(&store, PageNo(2)).expect("written"), 3);
        sim.plan_write("data", 1, fault);
        write(&store, &mut batch, &[20], 1).expect("the device says so");
        assert!(matches!(generation(&store, PageNo(20)), Err(StoreError::Stale { page: PageNo(20) })), "{fault:?}, its first write");
        store.punch(PageNo(20), 1).expect("punch");
        assert!(matches!(generation(&store, PageNo(20)), Err(StoreError::Unwritten { .. })));
    }
}

#[test]
fn a_batch_that_failed_halfway_leaves_pages_that_can_be_read() {
    let (sim, disk) = disk(8);
    let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
    let mut batch = Batch::new(4);
    write(&store, &mut batch, &[20, 40], 1).expect("write");
    // Two writes in place: the first arrives, the second does not.
    sim.plan_write("data", 2, WriteFault::Error);
    assert!(matches!(write(&store, &mut batch, &[20, 40], 2), Err(StoreError::Io(_))));
    assert_eq!(generation(&store, PageNo(20)).expect("the new image"), 2);
    assert_eq!(generation(&store, PageNo(40)).expect("the old image"), 1);
    write(&store, &mut batch, &[20, 40], 3).expect("written again");
    assert_eq!((generation(&store, PageNo(20)).expect("read"), generation(&store, PageNo(40)).expect("read")), (3, 3));
    assert_eq!(store.stats().pages_broken.load(Ordering::Relaxed), 0);
}

/// Pages of a log whose end was lost are told from those that this process has written since.
#[test]
fn pages_with_changes_behind_the_end_of_the_log_are_damaged_unless_they_were_written_since() {
    let (sim, disk) = disk(14);
    let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
    let write_at = |store: &PageStore, page: u64, generation: u8, lsn: u64| {
        let mut batch = Batch::new(1);
        let image = batch.push(PageNo(page));
        fill(image, PageNo(page), generation);
        header::set_lsn(image, Lsn(lsn));
        store.write_batch(&mut batch)
    };
    for (page, lsn) in [(2, 1000), (3, 1001), (4, 5000)] {
        write_at(&store, page, 1, lsn).expect("write");
    }
    drop(store);
    sim.kill();
    let store = PageStore::open(&disk, StoreConfig::default()).expect("open");
    assert_eq!(generation(&store, PageNo(4)).expect("nothing is known of the log"), 1);
    store.log_ended_at(Lsn(1000));
    assert_eq!(generation(&store, PageNo(2)).expect("the log has it"), 1);
    assert!(matches!(generation(&store, PageNo(3)), Err(StoreError::Ahead { page: PageNo(3), lsn: Lsn(1001) })));
    assert!(matches!(generation(&store, PageNo(4)), Err(StoreError::Ahead { page: PageNo(4), lsn: Lsn(5000) })));
    assert_eq!(store.stats().pages_broken.load(Ordering::Relaxed), 2);
    // The log goes on: what is written now has later positions, too.
    write_at(&store, 2, 2, 1200).expect("write");
    assert_eq!(generation(&store, PageNo(2)).expect("written since"), 2);
    write_at(&store, 4, 2, 1300).expect("made anew");
    assert_eq!(generation(&store, PageNo(4)).expect("written since"), 2);
    // Nor is a page whose write failed.
    sim.plan_write("data", 1, WriteFault::Error);
    write_at(&store, 2, 3, 1400).expect_err("planned");
    assert_eq!(generation(&store, PageNo(2)).expect("as it was"), 2);
}

#[test]
fn damage_is_told_once_with_its_kind_and_again_after_the_page_was_written() {
    let (sim, disk) = disk(9);
    let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
    let mut batch = Batch::new(4);
    write(&store, &mut batch, &[3, 4, 5], 1).expect("write");
    let told = Arc::new(Mutex::new(Rank::Leaf, Vec::new()));
    // Found before anybody wants to hear of it.
    sim.plan_write("data", 1, WriteFault::Lost);
    write(&store, &mut batch, &[5], 2).expect("the device says so");
    assert!(matches!(generation(&store, PageNo(5)), Err(StoreError::Stale { .. })));
    let hears = Arc::clone(&told);
    store.set_damage_observer(Box::new(move |page, error| hears.lock().push((page.0, error.to_string()))));
    let heard = || told.lock().len();
    assert!(told.lock()[0].1.contains("lost a write"), "{:?}", *told.lock());
    for round in 0..3 {
        sim.flip_bit("data", 3 * PAGE_BYTES as u64 + 900, 1).expect("flips");
        for _ in 0..2 {
            assert!(matches!(generation(&store, PageNo(3)), Err(StoreError::Checksum { .. })));
        }
        assert_eq!(heard(), 2 + round, "once");
        match round {
            1 => store.punch(PageNo(3), 1).expect("punch"),
            _ => write(&store, &mut batch, &[3], 2).expect("written again"),
        }
        if round == 1 {
            write(&store, &mut batch, &[3], 2).expect("written again");
        }
        assert_eq!(generation(&store, PageNo(3)).expect("mended"), 2);
    }
}

#[test]
fn what_was_spoilt_on_its_way_is_read_again() {
    let (sim, disk) = disk(10);
    let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
    write(&store, &mut Batch::new(4), &[2], 1).expect("write");
    sim.plan_read("data", 1, ReadFault::Garbled);
    assert_eq!(generation(&store, PageNo(2)).expect("read again"), 1);
    assert_eq!(store.stats().pages_broken.load(Ordering::Relaxed), 0);
}

#[test]
fn a_full_disk_is_an_error_and_changes_nothing() {
    let (sim, disk) = disk(4);
    let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
    let before = store.page_count();
    sim.set_capacity(Some(before * PAGE_BYTES as u64 + 1));
    assert!(matches!(store.grow(before * 4), Err(StoreError::NoSpace)));
    assert_eq!(store.page_count(), before);
    sim.set_capacity(None);
    store.grow(before * 4).expect("room again");
    assert_eq!(store.page_count(), before * 4);
}

/// Growth asks for what it adds: what was punched out stays with the disk, which may have given it to others.
#[test]
fn growing_takes_back_nothing_that_was_punched_out() {
    let (sim, disk) = disk(8);
    let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
    let before = store.page_count();
    let full = sim.used();
    store.punch(PageNo(10), 200).expect("punch");
    assert_eq!(sim.used(), full - 200 * PAGE_BYTES as u64);
    // Others fill the disk but for a little.
    sim.set_capacity(Some(sim.used() + 40 * PAGE_BYTES as u64));
    store.grow(before + 32).expect("there is room for what is added");
    assert_eq!((store.page_count(), sim.used()), (before + 32, full - 168 * PAGE_BYTES as u64));
    assert!(matches!(store.grow(before + 64), Err(StoreError::NoSpace)));
    assert_eq!(store.page_count(), before + 32);
}

#[test]
fn copies_find_room_however_full_the_disk_is() {
    for reopened in [false, true] {
        let (sim, disk) = disk(12);
        let mut store = PageStore::create(&disk, StoreConfig::default()).expect("create");
        if reopened {
            drop(store);
            disk.remove("doublewrite").expect("is there");
            store = PageStore::open(&disk, StoreConfig::default()).expect("open");
        }
        sim.set_capacity(Some(sim.used()));
        let pages: Vec<u64> = (1..=200).collect();
        write(&store, &mut Batch::new(200), &pages, 1).expect("data and doublewrite have room");
        // A start on a full disk that finds no area works with what there is.
        drop(store);
        disk.remove("doublewrite").expect("is there");
        disk.sync_dir("").expect("sync");
        sim.set_capacity(Some(sim.used()));
        let store = PageStore::open(&disk, StoreConfig::default()).expect("open");
        assert!(matches!(write(&store, &mut Batch::new(4), &[3], 2), Err(StoreError::NoSpace)));
        assert_eq!(generation(&store, PageNo(3)).expect("as it was"), 1);
        sim.set_capacity(None);
        write(&store, &mut Batch::new(4), &[3], 2).expect("room again");
    }
}

#[test]
fn room_is_reserved_for_pages_in_holes() {
    let (sim, disk) = disk(13);
    let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
    store.punch(PageNo(64), 64).expect("punch");
    let punched = sim.used();
    store.reserve(PageNo(64), 32).expect("room");
    assert_eq!(sim.used(), punched + 32 * PAGE_BYTES as u64);
    sim.set_capacity(Some(sim.used()));
    assert!(matches!(store.reserve(PageNo(90), 10), Err(StoreError::NoSpace)));
    store.reserve(PageNo(70), 10).expect("has room already");
    write(&store, &mut Batch::new(4), &[64, 95], 1).expect("has room");
    assert!(matches!(write(&store, &mut Batch::new(4), &[64, 96], 2), Err(StoreError::NoSpace)));
}

/// A write into a hole finds room for a part of the page. The copies may be written over all the same, by this process and by the next.
#[test]
fn a_page_torn_in_a_hole_of_a_full_disk_keeps_no_other_from_being_written() {
    let mut torn = 0;
    for seed in 0..40 {
        for reopened in [false, true] {
            let (sim, disk) = disk(seed);
            let mut store = PageStore::create(&disk, StoreConfig::default()).expect("create");
            write(&store, &mut Batch::new(4), &[7], 1).expect("write");
            store.punch(PageNo(64), 64).expect("punch");
            sim.plan_write("data", 1, WriteFault::Full);
            assert!(matches!(write(&store, &mut Batch::new(4), &[70], 1), Err(StoreError::NoSpace)));
            sim.set_capacity(Some(sim.used()));
            torn += u32::from(matches!(generation(&store, PageNo(70)), Err(StoreError::Checksum { .. })));
            if reopened {
                drop(store);
                store = PageStore::open(&disk, StoreConfig::default()).expect("starts on a full disk");
            }
            write(&store, &mut Batch::new(4), &[7], 2).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert_eq!(generation(&store, PageNo(7)).expect("written"), 2);
            sim.set_capacity(None);
            write(&store, &mut Batch::new(4), &[70], 1).expect("room again");
            assert_eq!(generation(&store, PageNo(70)).expect("written"), 1);
        }
    }
    assert!(torn > 0, "no page was torn");
}

#[test]
fn a_batch_keeps_the_pages_it_is_told_to() {
    let mut batch = Batch::new(4);
    for page in [2u64, 5, 7, 9] {
        fill(batch.push(PageNo(page)), PageNo(page), 1);
    }
    batch.keep([1, 3].into_iter());
    assert_eq!(batch.pages(), [PageNo(5), PageNo(9)]);
    let numbers: Vec<PageNo> = (0..batch.len()).map(|place| header::page_no(batch.image(place))).collect();
    assert_eq!(numbers, batch.pages());
}

#[test]
fn nothing_is_written_after_a_failed_sync() {
    let (sim, disk) = disk(5);
    let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
    let mut batch = Batch::new(4);
    sim.fail_sync(1);
    assert!(matches!(write(&store, &mut batch, &[2], 1), Err(StoreError::Io(_))));
    assert!(store.has_failed());
    assert!(matches!(write(&store, &mut batch, &[2], 1), Err(StoreError::Failed)));
}

#[test]
fn punched_pages_read_as_unwritten() {
    let (_sim, disk) = disk(6);
    let store = PageStore::create(&disk, StoreConfig::default()).expect("create");
    write(&store, &mut Batch::new(4), &[2, 3, 4], 1).expect("write");
    store.punch(PageNo(3), 1).expect("punch");
    assert!(matches!(generation(&store, PageNo(3)), Err(StoreError::Unwritten { .. })));
    assert_eq!(generation(&store, PageNo(4)).expect("kept"), 1);
}

#[test]
fn a_foreign_file_is_refused() {
    let (sim, disk) = disk(7);
    drop(PageStore::create(&disk, StoreConfig { doublewrite: false }).expect("create"));
    assert!(PageStore::create(&disk, StoreConfig::default()).is_err(), "an existing data file is not overwritten");
    sim.flip_bit("data", 100, 1).expect("flip");
    assert!(PageStore::open(&disk, StoreConfig::default()).is_err());
}
