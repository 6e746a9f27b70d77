//! Pages listed by one pool and read again by the next: the order of the list, whose frames they take, and what is passed over.

mod common;

use std::sync::Arc;

use base::{PAGE_BYTES, PageNo};
use buffer_pool::{Brought, BufferPool, Mtr};
use common::{config, log_config, make_page, sim};
use env::{AlignedBuf, Disk, FileKind, OpenMode, SimDisk};
use page_store::{PageStore, StoreConfig};
use wal::Wal;

/// Where tests write into a page.
const BODY: usize = 1000;

fn pages(numbers: impl IntoIterator<Item = u64>) -> Vec<PageNo> {
    numbers.into_iter().map(PageNo).collect()
}

fn touch(pool: &BufferPool, page: u64, times: usize) {
    for _ in 0..times {
        drop(pool.shared(PageNo(page)).expect("page"));
    }
}

/// Pages 1 to `count` on disk.
fn populate(pool: &BufferPool, count: u64) {
    for page in 1..=count {
        make_page(pool, PageNo(page)).expect("page");
        let mut mtr = Mtr::begin(pool);
        let held = mtr.latch(PageNo(page)).expect("latch");
        mtr.write_bytes(held, BODY, &page.to_le_bytes());
        mtr.commit();
        pool.flush_all().expect("flush");
        common::checkpoint(pool).expect("checkpoint");
    }
}

/// A pool of `frames` over a disk on which pages 1 to `count` lie, none of them in memory; and the disk.
fn cold(frames: usize, count: u64) -> (Arc<SimDisk>, Arc<BufferPool>) {
    let (sim, disk) = sim(1);
    populate(&common::create(&disk, frames).expect("create"), count);
    let pool = reopen(&disk, frames);
    (sim, pool)
}

/// Another pool on the disk of one that is gone.
fn reopen(disk: &Arc<dyn Disk>, frames: usize) -> Arc<BufferPool> {
    let store = Arc::new(PageStore::open(disk, StoreConfig::default()).expect("a store"));
    let (wal, _, mut reader) = Wal::open(Arc::clone(disk), log_config()).expect("a log");
    while reader.next().expect("a record").is_some() {}
    wal.start_after_recovery(reader.end_of_valid()).expect("a log");
    BufferPool::new(store, Arc::new(wal), config(frames)).expect("memory")
}

#[test]
fn the_list_begins_with_what_is_used_most_and_goes_by_number_among_equals() {
    let (_sim, pool) = cold(64, 10);
    touch(&pool, 7, 4);
    touch(&pool, 3, 4);
    touch(&pool, 9, 2);
    touch(&pool, 1, 1);
    assert_eq!(pool.resident_pages(), pages([3, 7, 9, 1]));
}

#[test]
fn listed_pages_come_back_once() {
    let (_sim, pool) = cold(64, 20);
    let all = pages(1..=20);
    assert_eq!(pool.bring_kept(&all), Brought { read: 20, out_of_frames: false });
    assert_eq!(pool.bring_kept(&all), Brought { read: 0, out_of_frames: false });
    for page in 1..=20_u64 {
        assert_eq!(pool.shared(PageNo(page)).expect("page")[BODY..BODY + 8], page.to_le_bytes());
    }
    let stats = pool.stats();
    assert_eq!((stats.reads, stats.reads_ahead, stats.frames_free), (0, 0, 44), "{stats:?}");
}

#[test]
fn only_frames_that_nobody_needs_are_taken() {
    // The cleaner keeps two of them.
    let (_sim, pool) = cold(128, 300);
    for page in 1..=100 {
        touch(&pool, page, 1);
    }
    assert_eq!(pool.bring_kept(&pages(101..=300)), Brought { read: 26, out_of_frames: true });
    assert!((1..=126).all(|page| pool.is_resident(PageNo(page))), "a page was given up");
    assert_eq!((pool.stats().evictions, pool.stats().frames_free), (0, 2));
    assert_eq!(pool.bring_kept(&pages([300])), Brought { read: 0, out_of_frames: true });
    assert!(!pool.is_resident(PageNo(300)));
}

#[test]
fn what_was_used_least_goes_first_when_room_is_needed() {
    let (_sim, pool) = cold(64, 200);
    assert_eq!(pool.bring_kept(&pages(1..=63)).read, 63);
    for page in 101..=120 {
        touch(&pool, page, 1);
    }
    let kept: Vec<u64> = (1..=63).filter(|page| pool.is_resident(PageNo(*page))).collect();
    assert_eq!(kept, (1..=kept.len() as u64).collect::<Vec<u64>>(), "the first of the list stay longest");
    assert!((40..63).contains(&kept.len()), "{kept:?}");
}

#[test]
fn what_is_not_there_or_is_broken_is_passed_over_quietly() {
    let (sim, pool) = cold(64, 8);
    let data = sim.open(page_store::DATA, OpenMode::Existing, FileKind::Direct).expect("the file");
    let mut torn = AlignedBuf::new(PAGE_BYTES);
    torn.fill(0x5a);
    data.write_at(&torn, 5 * PAGE_BYTES as u64).expect("written");
    // Unwritten, past the end of the file, past the table, past everything; the header of the file.
    let strange = [200, 4_000, 1 << 20, 1 << 40, u64::MAX, 0];
    let listed = pages([1, 2, 3, 4, 5, 6, 7, 8].into_iter().chain(strange));
    assert_eq!(pool.bring_kept(&listed), Brought { read: 7, out_of_frames: false });
    assert_eq!(pool.stats().frames_free, 64 - 7, "a frame was lost");
    assert!(!pool.is_resident(PageNo(5)));
    assert!(pool.shared(PageNo(5)).is_err(), "who needs it is told");
}

#[test]
fn a_page_that_was_dropped_since_does_not_come() {
    let (_sim, pool) = cold(64, 8);
    touch(&pool, 4, 1);
    let listed = pool.resident_pages();
    pool.discard(PageNo(4), 1).expect("discarded");
    pool.store().punch(PageNo(4), 1).expect("punched");
    assert_eq!(pool.bring_kept(&listed), Brought { read: 0, out_of_frames: false });
    // And it can be made anew.
    make_page(&pool, PageNo(4)).expect("page");
    assert_eq!(pool.shared(PageNo(4)).expect("page")[BODY..BODY + 8], [0; 8]);
}

#[test]
fn a_page_that_was_rewritten_since_comes_as_it_is_now() {
    let (_sim, pool) = cold(64, 8);
    let listed = pages(1..=8);
    let mut mtr = Mtr::begin(&pool);
    let held = mtr.latch(PageNo(6)).expect("latch");
    mtr.write_bytes(held, BODY, b"changed!");
    mtr.commit();
    // In memory and not on disk yet: the frame with the change stays the page's only one.
    assert_eq!(pool.bring_kept(&listed).read, 7);
    assert_eq!(&pool.shared(PageNo(6)).expect("page")[BODY..BODY + 8], b"changed!");
}

#[test]
fn who_comes_for_a_page_meanwhile_shares_its_frame() {
    for round in 0..20 {
        let (_sim, pool) = cold(128, 60);
        let listed = pages(1..=60);
        std::thread::scope(|scope| {
            for reader in 0..3_u64 {
                let pool = &pool;
                scope.spawn(move || {
                    for n in 0..60 {
                        let page = (n * 7 + reader * 13 + round) % 60 + 1;
                        assert_eq!(pool.shared(PageNo(page)).expect("page")[BODY..BODY + 8], page.to_le_bytes());
                    }
                });
            }
            for batch in listed.chunks(32) {
                pool.bring_kept(batch);
            }
        });
        assert_eq!(pool.stats().frames_free, 128 - 60, "a page in two frames, or a frame lost");
        assert_eq!(pool.bring_kept(&listed).read, 0);
    }
}

#[test]
fn a_pool_that_statements_fill_meanwhile_is_left_to_them() {
    let (_sim, pool) = cold(128, 400);
    let _cleaner = pool.start_cleaner().expect("a cleaner");
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| (1..=300).for_each(|page| touch(&pool, page, 2)));
        for batch in pages(301..=400).chunks(8) {
            pool.bring_kept(batch);
        }
        busy.join().expect("read");
    });
    assert_eq!(pool.stats().frame_waits, 0, "a statement waited for a frame");
}
