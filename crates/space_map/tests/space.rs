//! The space map against a model: allocation, free, drop, crash and recovery, threads, full disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use base::{EXTENT_PAGES, IndexId, PageNo};
use buffer_pool::{BufferPool, Mtr, PoolConfig, PoolError, RedoHandlers};
use env::{Disk, SimDisk};
use page_store::{PageStore, PageType, StoreConfig, StoreError};
use space_map::{PageKind, Redo, SpaceError, SpaceMap, SpaceUsage};
use wal::{Checkpoint, Wal, WalConfig};

fn sim(seed: u64) -> (Arc<SimDisk>, Arc<dyn Disk>) {
    let sim = Arc::new(SimDisk::new(seed));
    let disk: Arc<dyn Disk> = Arc::clone(&sim) as Arc<dyn Disk>;
    (sim, disk)
}

fn pool_config() -> PoolConfig {
    PoolConfig { frames: 64, pages_max: 1 << 20, frame_wait: Duration::from_millis(300), batch_pages: 16, ..PoolConfig::default() }
}

fn log_config() -> WalConfig {
    WalConfig { buffer_bytes: 256 << 10, link_window_bytes: 128 << 10, ..WalConfig::small() }
}

fn handlers() -> RedoHandlers {
    RedoHandlers::new().with(0x10..=0x1F, Arc::new(Redo))
}

fn create(disk: &Arc<dyn Disk>) -> (Arc<BufferPool>, Arc<SpaceMap>) {
    let store = Arc::new(PageStore::create(disk, StoreConfig::default()).expect("store"));
    let wal = Arc::new(Wal::create(Arc::clone(disk), log_config()).expect("log"));
    let pool = BufferPool::new(store, wal, pool_config()).expect("pool");
    let map = SpaceMap::create(Arc::clone(&pool)).expect("map");
    (pool, map)
}

fn recover(disk: &Arc<dyn Disk>) -> Result<(Arc<BufferPool>, Arc<SpaceMap>), SpaceError> {
    let store = Arc::new(PageStore::open(disk, StoreConfig::default()).map_err(PoolError::Store)?);
    let (wal, _, mut reader) = Wal::open(Arc::clone(disk), log_config()).map_err(PoolError::Wal)?;
    while reader.next().map_err(PoolError::Wal)?.is_some() {}
    wal.start_after_recovery(reader.end_of_valid()).map_err(PoolError::Wal)?;
    let pool = BufferPool::new(store, Arc::new(wal), pool_config()).expect("pool");
    reader.rewind();
    let handlers = handlers();
    while let Some(entry) = reader.next().map_err(PoolError::Wal)? {
        pool.redo_record(entry.start, entry.end, entry.body, &handlers)?;
    }
    let map = SpaceMap::open(Arc::clone(&pool))?;
    for page in pool.redo_skipped() {
        assert_eq!(map.owner_of(page)?, None, "page {page} was lost");
    }
    Ok((pool, map))
}

fn checkpoint(pool: &BufferPool) -> Result<(), PoolError> {
    let contiguous = pool.wal().written_contiguous();
    let redo_lsn = pool.min_dirty_lsn().map_or(contiguous, |dirty| dirty.min(contiguous));
    pool.wal().write_checkpoint(Checkpoint { redo_lsn, payload: Vec::new() })?;
    Ok(())
}

/// Allocates a page and makes it one of the owner's.
fn allocate(pool: &BufferPool, map: &SpaceMap, owner: IndexId, kind: PageKind, near: Option<PageNo>) -> Result<PageNo, SpaceError> {
    pool.wal().ensure_space().map_err(PoolError::Wal)?;
    let mut mtr = Mtr::begin(pool);
    let page = map.allocate(&mut mtr, owner, kind, near)?;
    mtr.new_page(page, PageType::Leaf as u8, owner, 0).expect("the page is latched already");
    mtr.commit();
    Ok(page)
}

fn free(pool: &BufferPool, map: &SpaceMap, page: PageNo) -> Result<(), SpaceError> {
    pool.wal().ensure_space().map_err(PoolError::Wal)?;
    let mut mtr = Mtr::begin(pool);
    mtr.latch(page)?;
    map.free(&mut mtr, page)?;
    mtr.commit();
    Ok(())
}

#[test]
fn small_indexes_share_an_extent_and_large_ones_own_theirs() {
    let (_sim, disk) = sim(1);
    let (pool, map) = create(&disk);
    for index in 1..=10 {
        for _ in 0..3 {
            let page = allocate(&pool, &map, IndexId(index), PageKind::Leaf, None).expect("page");
            assert_eq!(page.0 / 64, 0, "small indexes share the first extent");
        }
    }
    let mut leaves = BTreeSet::new();
    let mut inner = BTreeSet::new();
    let mut last = None;
    for i in 0..200 {
        let kind = if i % 10 == 9 { PageKind::Inner } else { PageKind::Leaf };
        let page = allocate(&pool, &map, IndexId(50), kind, last.filter(|_| kind == PageKind::Leaf)).expect("page");
        if i >= 40 {
            if kind == PageKind::Leaf {
                last.inspect(|last: &PageNo| assert!(page.0 == last.0 + 1 || page.0.is_multiple_of(64), "leaf {page} after {last}"));
                last = Some(page);
                leaves.insert(page.0 / 64);
            } else {
                inner.insert(page.0 / 64);
            }
        }
    }
    assert!(leaves.is_disjoint(&inner), "leaves and inner nodes lie apart: {leaves:?} {inner:?}");
    assert_eq!(map.pages_of(IndexId(50)), 200);
    assert_eq!(map.owners().expect("reads").len(), 11);
    map.check().expect("the index equals the map pages");
}

#[test]
fn a_freed_page_is_given_out_again_only_after_the_free_is_committed() {
    let (_sim, disk) = sim(2);
    let (pool, map) = create(&disk);
    let page = allocate(&pool, &map, IndexId(1), PageKind::Leaf, None).expect("page");
    let mut mtr = Mtr::begin(&pool);
    mtr.latch(page).expect("latch");
    map.free(&mut mtr, page).expect("free");
    let taken = std::thread::scope(|scope| {
        let other = scope.spawn(|| allocate(&pool, &map, IndexId(2), PageKind::Leaf, None).expect("page"));
        // The other thread sleeps for the map page.
        while pool.stats().latch_waits == 0 {
            std::thread::yield_now();
        }
        let freed = mtr.commit();
        let taken = other.join().expect("no panic");
        assert!(pool.shared(taken).expect("page").lsn() > freed);
        taken
    });
    assert_eq!(taken, page);
    assert!(matches!(free(&pool, &map, PageNo(60)), Err(SpaceError::Pool(_) | SpaceError::NotAllocated(_))));
    map.check().expect("the index equals the map pages");
}

#[test]
fn a_wrong_free_is_an_error() {
    let (_sim, disk) = sim(3);
    let (pool, map) = create(&disk);
    let mut mtr = Mtr::begin(&pool);
    for page in [1, 40, 5000, u64::MAX / 2] {
        assert!(matches!(map.free(&mut mtr, PageNo(page)), Err(SpaceError::NotAllocated(_))), "{page}");
    }
    assert!(!mtr.is_changed());
}

#[test]
fn opening_reads_one_map_page_however_large_the_file_is() {
    let mut reads = Vec::new();
    for count in [100, 13_000] {
        let (sim, disk) = sim(14);
        let (pool, map) = create(&disk);
        let mut pages = Vec::new();
        for n in 0..count {
            // A table of one page each, but for two large ones.
            let owner = if n % 4 == 0 { IndexId(1 + n % 8 / 4) } else { IndexId(100 + n) };
            pages.push((allocate(&pool, &map, owner, PageKind::Leaf, None).expect("page"), owner));
            if n % 50 == 0 {
                pool.flush_all().expect("flush");
                checkpoint(&pool).expect("checkpoint");
            }
        }
        pool.flush_all().expect("flush");
        checkpoint(&pool).expect("checkpoint");
        drop((pool, map));
        sim.kill();
        let (pool, map) = recover(&disk).expect("opens");
        reads.push(pool.stats().reads);
        // What is asked for is there: the owner of a page, room beside a neighbour, room anywhere, a page to free, all owners.
        let (last, owner) = pages[pages.len() - 1];
        assert_eq!(map.owner_of(last).expect("reads"), Some(owner));
        assert!(pool.stats().reads <= reads[reads.len() - 1] + 1);
        let (first, _) = pages[3];
        free(&pool, &map, first).expect("frees");
        let near = allocate(&pool, &map, IndexId(1), PageKind::Leaf, Some(pages[4].0)).expect("page");
        assert!(pages.iter().all(|(page, _)| *page == first || *page != near));
        for (page, owner) in pages.iter().skip(4).step_by(97) {
            assert_eq!(map.owner_of(*page).expect("reads"), Some(*owner));
        }
        let owners: BTreeSet<IndexId> = pages.iter().filter(|(page, _)| *page != first).map(|(_, owner)| *owner).collect();
        assert_eq!(map.owners().expect("reads"), owners.into_iter().collect::<Vec<_>>());
        assert_eq!(map.pages_of(IndexId(2)), pages.iter().filter(|(_, owner)| *owner == IndexId(2)).count() as u64);
        map.check().expect("the index equals the map pages");
    }
    assert_eq!(reads[0], reads[1], "pages read by opening");
}

/// Allocation with nothing read but the first map page finds the room that is there; the file grows by one step at most, for the last region is looked at first.
#[test]
fn room_in_regions_that_nobody_has_read_is_found() {
    let (sim, disk) = sim(15);
    let (pool, map) = create(&disk);
    let mut pages = Vec::new();
    for n in 0..9000 {
        pages.push(allocate(&pool, &map, IndexId(1 + n % 2), PageKind::Leaf, None).expect("page"));
        if n % 50 == 0 {
            pool.flush_all().expect("flush");
            checkpoint(&pool).expect("checkpoint");
        }
    }
    pool.flush_all().expect("flush");
    assert_eq!(map.free_index(IndexId(1)).expect("drops"), 4500);
    pool.flush_all().expect("flush");
    checkpoint(&pool).expect("checkpoint");
    drop((pool, map));
    sim.kill();
    let (pool, map) = recover(&disk).expect("opens");
    let before = pool.store().page_count();
    let mut taken = BTreeSet::new();
    for n in 0..4000 {
        assert!(taken.insert(allocate(&pool, &map, IndexId(3), PageKind::Leaf, None).expect("page")));
        if n % 50 == 0 {
            pool.flush_all().expect("flush");
            checkpoint(&pool).expect("checkpoint");
        }
    }
    let after = pool.store().page_count();
    assert!(after <= before + before / 8 + 64, "{after} pages after {before}");
    assert!(pages.iter().skip(1).step_by(2).all(|page| !taken.contains(page)));
    map.check().expect("the index equals the map pages");
}

#[test]
fn dropping_an_index_gives_back_its_extents_and_their_space() {
    let (_sim, disk) = sim(4);
    let (pool, map) = create(&disk);
    let mut kept = Vec::new();
    for i in 0..6000u64 {
        let (owner, kind) = (IndexId(1 + (i % 3) as u32), if i % 7 == 0 { PageKind::Inner } else { PageKind::Leaf });
        let page = allocate(&pool, &map, owner, kind, None).expect("page");
        if owner == IndexId(2) {
            kept.push(page);
        }
        if i % 50 == 0 {
            pool.flush_all().expect("flush");
            checkpoint(&pool).expect("checkpoint");
        }
    }
    assert!(map.usage().pages_mapped > 4032, "more than one region: {:?}", map.usage());
    let free_before = map.usage().extents_free;
    assert_eq!(map.free_index(IndexId(1)).expect("drop"), 2000);
    assert_eq!(map.free_index(IndexId(1)).expect("nothing left"), 0);
    assert_eq!(map.owners().expect("reads"), [IndexId(2), IndexId(3)]);
    assert!(map.usage().extents_free >= free_before + 2000 / 64 - 3);
    map.check().expect("the index equals the map pages");
    for page in kept {
        assert_eq!(map.owner_of(page).expect("map page"), Some(IndexId(2)));
        assert_eq!(page_store::header::index_id(&pool.shared(page).expect("page")), IndexId(2));
    }
    // The space is used again before the file grows.
    let pages = pool.store().page_count();
    for _ in 0..1500 {
        allocate(&pool, &map, IndexId(9), PageKind::Leaf, None).expect("page");
        pool.flush_all().expect("flush");
        checkpoint(&pool).expect("checkpoint");
    }
    assert_eq!(pool.store().page_count(), pages);
}

/// What nobody waits for: pages of a dropped index are given out when the log is durable as far as it says so, and not before.
#[test]
fn freed_pages_are_given_out_when_the_log_is_durable() {
    let (_sim, disk) = sim(16);
    let (pool, map) = create(&disk);
    let take = |owner| allocate(&pool, &map, IndexId(owner), PageKind::Leaf, None).expect("page");
    let own: BTreeSet<_> = (0..200).map(|_| take(1)).collect();
    pool.wal().wait_durable(pool.wal().lsn_head()).expect("durable");
    assert_eq!(map.free_index(IndexId(1)).expect("dropped"), 200);
    assert_eq!(map.owners().expect("reads"), []);
    map.give_out_freed(false).expect("nothing is durable");
    let others: Vec<_> = (0..200).map(|_| take(2)).collect();
    assert!(others.iter().all(|page| !own.contains(page)), "given out before the log says so");
    pool.wal().wait_durable(pool.wal().lsn_head()).expect("durable");
    assert!(own.iter().all(|page| map.owner_of(*page).expect("map page").is_none()));
    map.give_out_freed(false).expect("given out");
    let again = (0..200).filter(|_| own.contains(&take(3))).count();
    assert!(again > 150, "{again} of 200 are used again");
    map.check().expect("the index equals the map pages");
}

#[test]
fn several_indexes_are_dropped_with_one_wait_for_the_log_if_they_are_large() {
    for pages in [5, 40, 400] {
        let (sim, disk) = sim(5);
        let (pool, map) = create(&disk);
        let new = map.usage();
        for i in 0..5 * pages {
            let kind = if i % 9 == 0 { PageKind::Inner } else { PageKind::Leaf };
            allocate(&pool, &map, IndexId(1 + (i % 5) as u32), kind, None).expect("page");
            if i % 50 == 0 {
                pool.flush_all().expect("flush");
                checkpoint(&pool).expect("checkpoint");
            }
        }
        pool.flush_all().expect("flush");
        checkpoint(&pool).expect("checkpoint");
        let before = sim.counts().syncs;
        let owners = [1, 2, 3, 4].map(IndexId);
        assert_eq!(map.free_indexes(&owners).expect("dropped"), 4 * pages);
        assert_eq!(sim.counts().syncs - before, u64::from(4 * pages > 256), "{pages} pages each");
        assert_eq!(map.owners().expect("reads"), [IndexId(5)]);
        map.check().expect("the index equals the map pages");
        assert_eq!(map.free_index(IndexId(5)).expect("dropped"), pages);
        map.check().expect("the index equals the map pages");
        // Nothing is kept back: as many extents are free as in a new file of the size.
        let usage = map.usage();
        let taken = |usage: SpaceUsage| usage.pages_mapped / EXTENT_PAGES - usage.extents_free;
        assert_eq!((usage.pages_used, taken(usage)), (0, taken(new)), "{pages} pages each");
    }
}

#[test]
fn a_full_disk_is_an_error_and_the_map_goes_on() {
    let (sim, disk) = sim(5);
    let (pool, map) = create(&disk);
    sim.set_capacity(Some(12 << 20));
    let mut given = 0;
    let error = loop {
        match allocate(&pool, &map, IndexId(1), PageKind::Leaf, None) {
            Ok(_) => given += 1,
            Err(error) => break error,
        }
        pool.flush_all().expect("flush");
        checkpoint(&pool).expect("checkpoint");
    };
    assert!(matches!(error, SpaceError::Full), "{error}");
    assert!(given > 100, "{given}");
    map.check().expect("the index equals the map pages");
    sim.set_capacity(None);
    allocate(&pool, &map, IndexId(1), PageKind::Leaf, None).expect("room again");
}

/// Fills the disk with another file, but for this much.
fn fill_disk(sim: &SimDisk, disk: &Arc<dyn Disk>, left: u64) {
    const CAPACITY: u64 = 200 << 20;
    sim.set_capacity(Some(CAPACITY));
    let other = disk.open("other", env::OpenMode::Create, env::FileKind::Buffered).expect("makes");
    other.reserve(0..CAPACITY - sim.used() - left).expect("there is room for it");
}

/// Allocates until there is no room; then all that was given out is written and checked.
fn allocate_until_full(pool: &BufferPool, map: &SpaceMap, owner: IndexId) -> u64 {
    let mut given = 0;
    loop {
        match allocate(pool, map, owner, PageKind::Leaf, None) {
            Ok(_) => given += 1,
            Err(error) => {
                assert!(matches!(error, SpaceError::Full), "{error}");
                break;
            }
        }
        if given % 10 == 0 {
            pool.flush_all().expect("what was given out has room");
            checkpoint(pool).expect("checkpoint");
        }
    }
    pool.flush_all().expect("what was given out has room");
    map.check().expect("the index equals the map pages");
    given
}

/// The space of a dropped index goes to others; who is given its pages then is told, not who writes them later.
#[test]
fn pages_in_holes_are_given_out_only_with_room() {
    let (sim, disk) = sim(11);
    let (pool, map) = create(&disk);
    for i in 0..1200u32 {
        allocate(&pool, &map, IndexId(1 + i % 2), PageKind::Leaf, None).expect("page");
        if i % 30 == 0 {
            pool.flush_all().expect("flush");
            checkpoint(&pool).expect("checkpoint");
        }
    }
    pool.flush_all().expect("flush");
    checkpoint(&pool).expect("checkpoint");
    assert_eq!(map.free_index(IndexId(1)).expect("drop"), 600);
    fill_disk(&sim, &disk, 3 << 20);
    // Three extents' worth, and what is left of extents that have room.
    let given = allocate_until_full(&pool, &map, IndexId(3));
    assert!((3 * 60..3 * 64 + 200).contains(&given), "{given}");
    // What is freed page by page keeps its room.
    let mut mine = Vec::new();
    for extent in 0..20 {
        let pages = (0..EXTENT_PAGES).map(|page| PageNo(extent * EXTENT_PAGES + page));
        mine.extend(pages.filter(|page| map.owner_of(*page).expect("map page") == Some(IndexId(3))));
    }
    mine[..50].iter().for_each(|page| free(&pool, &map, *page).expect("freed"));
    assert!(allocate_until_full(&pool, &map, IndexId(3)) >= 50);
    disk.remove("other").expect("is there");
    disk.sync_dir("").expect("sync");
    for _ in 0..400 {
        allocate(&pool, &map, IndexId(3), PageKind::Leaf, None).expect("room again");
        pool.flush_all().expect("flush");
        checkpoint(&pool).expect("checkpoint");
    }
}

/// A restored data file has holes wherever nothing was written, in extents that are used, too.
#[test]
fn pages_of_a_sparse_file_are_given_out_only_with_room() {
    let (sim, disk) = sim(12);
    let (pool, map) = create(&disk);
    for i in 0..300 {
        allocate(&pool, &map, IndexId(1), PageKind::Leaf, None).expect("page");
        if i % 30 == 0 {
            pool.flush_all().expect("flush");
            checkpoint(&pool).expect("checkpoint");
        }
    }
    pool.flush_all().expect("flush");
    checkpoint(&pool).expect("checkpoint");
    pool.wal().wait_durable(pool.wal().lsn_head()).expect("durable");
    // As a restore writes it: what was never written is not written now.
    let unused = (1..pool.store().page_count()).map(PageNo).filter(|page| map.owner_of(*page).expect("map page").is_none());
    unused.for_each(|page| pool.store().punch(page, 1).expect("punch"));
    drop((pool, map));
    sim.kill();
    let (pool, map) = recover(&disk).expect("recovers");
    fill_disk(&sim, &disk, 1 << 20);
    let given = allocate_until_full(&pool, &map, IndexId(1));
    assert!(given < 70, "{given}");
}

/// One call of the system for each extent that is used again, none for those that are new.
#[test]
fn an_extent_is_reserved_once() {
    let (sim, disk) = sim(13);
    let (pool, map) = create(&disk);
    let mut calls = [0; 2];
    for calls in &mut calls {
        let before = sim.counts().reserves;
        for _ in 0..640 {
            allocate(&pool, &map, IndexId(1), PageKind::Leaf, None).expect("page");
            pool.flush_all().expect("flush");
            checkpoint(&pool).expect("checkpoint");
        }
        *calls = sim.counts().reserves - before;
        map.free_index(IndexId(1)).expect("drop");
        map.give_out_freed(true).expect("durable");
    }
    // The first time the file grows in steps, and has some extents from the beginning; the second time all are used again.
    assert!(calls[0] <= 8 && (10..=12).contains(&calls[1]), "{calls:?}");
}

#[test]
fn threads_get_different_pages() {
    let (_sim, disk) = sim(6);
    let (pool, map) = create(&disk);
    let cleaner = pool.start_cleaner().expect("cleaner");
    let mut all: Vec<(PageNo, IndexId)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4u32)
            .map(|thread| {
                let (pool, map) = (&pool, &map);
                scope.spawn(move || {
                    let mut own = Vec::new();
                    for i in 0..400u32 {
                        let owner = IndexId(1 + (thread + i) % 3);
                        let kind = if i % 5 == 0 { PageKind::Inner } else { PageKind::Leaf };
                        own.push((allocate(pool, map, owner, kind, None).expect("page"), owner));
                        if i % 4 == 3 {
                            let (page, _) = own.swap_remove((i as usize * 7) % own.len());
                            free(pool, map, page).expect("free");
                        }
                        if i % 40 == 0 {
                            pool.flush_all().expect("flush");
                            if thread == 0 {
                                checkpoint(pool).expect("checkpoint");
                            }
                        }
                    }
                    own
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    cleaner.stop();
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0].0 != pair[1].0), "a page has two owners");
    for (page, owner) in all {
        assert_eq!(map.owner_of(page).expect("map page"), Some(owner));
    }
    map.check().expect("the index equals the map pages");
}

#[test]
fn two_pages_of_different_regions_in_one_mini_transaction_do_not_deadlock() {
    let (_sim, disk) = sim(7);
    let (pool, map) = create(&disk);
    // Fill the first region, so that new pages come from the second, then make room in the first.
    let mut pages = Vec::new();
    for i in 0..4100 {
        pages.push(allocate(&pool, &map, IndexId(1), PageKind::Leaf, None).expect("page"));
        if i % 50 == 0 {
            pool.flush_all().expect("flush");
            checkpoint(&pool).expect("checkpoint");
        }
    }
    std::thread::scope(|scope| {
        for thread in 0..4usize {
            let (pool, map) = (&pool, &map);
            let (low, high) = (pages[100 + thread], pages[4040 + thread]);
            scope.spawn(move || {
                for round in 0..50 {
                    let mut mtr = Mtr::begin(pool);
                    // Half of the threads go down, half up.
                    let near = if thread % 2 == 0 { [high, low] } else { [low, high] };
                    let mut taken = Vec::new();
                    for near in near {
                        let page = map.allocate(&mut mtr, IndexId(1), PageKind::Leaf, Some(near)).expect("page");
                        mtr.new_page(page, PageType::Leaf as u8, IndexId(1), 0).expect("page");
                        taken.push(page);
                    }
                    mtr.commit();
                    for page in taken {
                        free(pool, map, page).expect("free");
                    }
                    if round % 10 == 0 {
                        pool.flush_all().expect("flush");
                        if thread == 0 {
                            checkpoint(pool).expect("checkpoint");
                        }
                    }
                }
            });
        }
    });
    map.check().expect("the index equals the map pages");
}

/// Random allocations, frees and drops with a crash at any write; after recovery the map equals the model at the end of the log.
fn crash_run(seed: u64) {
    let replay = format!("replay: seed {seed}");
    let (sim, disk) = sim(seed);
    let (mut pool, mut map) = create(&disk);
    // Creation is durable with the log, as any change.
    pool.wal().wait_durable(pool.wal().lsn_head()).expect("durable");
    checkpoint(&pool).expect("checkpoint");
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = move |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) % bound
    };
    let mut model: BTreeMap<PageNo, IndexId> = BTreeMap::new();
    for _ in 0..4 {
        sim.crash_at(1 + random(150));
        let mut states = vec![(pool.wal().lsn_head(), model.clone())];
        let mut dropping = None;
        // From where to where in the log each other drop went.
        let mut drops = Vec::new();
        let mut acknowledged = pool.wal().durable();
        loop {
            let owner = IndexId(1 + random(4) as u32);
            let step = match random(30) {
                0..=19 => {
                    let kind = if random(4) == 0 { PageKind::Inner } else { PageKind::Leaf };
                    allocate(&pool, &map, owner, kind, None).map(|page| model.extend([(page, owner)]))
                }
                20..=26 if !model.is_empty() => {
                    let page = *model.keys().nth(random(model.len() as u64) as usize).expect("in range");
                    free(&pool, &map, page).map(|()| model.retain(|known, _| *known != page))
                }
                27 => {
                    // Two at once: they share mixed extents. Or one.
                    let owners = [owner, IndexId(1 + random(4) as u32)];
                    dropping = Some(owners);
                    let begin = pool.wal().lsn_head();
                    map.free_indexes(&owners).map(|_| {
                        dropping = None;
                        drops.push((begin..pool.wal().lsn_head(), owners));
                        model.retain(|_, known| !owners.contains(known));
                    })
                }
                28 => checkpoint(&pool).map_err(SpaceError::Pool),
                _ => pool.flush_some(pool.wal().lsn_head(), 5).map(drop).map_err(SpaceError::Pool),
            };
            if step.is_err() {
                break;
            }
            let head = pool.wal().lsn_head();
            states.push((head, model.clone()));
            if random(4) == 0 {
                match pool.wal().wait_durable(head) {
                    Ok(()) => acknowledged = head,
                    Err(_) => break,
                }
            }
        }
        drop(map);
        drop(pool);
        sim.crash();
        (pool, map) = recover(&disk).unwrap_or_else(|error| panic!("{replay}: {error}"));
        map.check().unwrap_or_else(|error| panic!("{replay}: {error}"));
        let end = pool.wal().lsn_head();
        assert!(end >= acknowledged, "{replay}: the log ends at {end}, before {acknowledged}");
        // A drop that was under way, or of which the log has lost the end, may have freed any part of its index; finishing it is what the engine does.
        dropping = drops.iter().find(|(log, _)| log.contains(&end)).map(|(_, owners)| *owners).or(dropping);
        for owner in dropping.into_iter().flatten() {
            map.free_index(owner).unwrap_or_else(|error| panic!("{replay}: {error}"));
        }
        let (_, expected) = states.iter().rev().find(|(lsn, _)| *lsn <= end).expect("the first");
        model = expected.clone();
        if let Some(owners) = dropping {
            model.retain(|_, known| !owners.contains(known));
        }
        for owner in map.owners().expect("reads") {
            let pages = model.values().filter(|known| **known == owner).count() as u64;
            assert_eq!(map.pages_of(owner), pages, "{replay}: pages of {owner}");
        }
        for (&page, &owner) in &model {
            assert_eq!(map.owner_of(page).expect("map page"), Some(owner), "{replay}: page {page}");
            match pool.shared(page) {
                Ok(found) => assert_eq!(page_store::header::index_id(&found), owner, "{replay}: page {page}"),
                Err(error) => panic!("{replay}: page {page}: {error}"),
            }
        }
    }
}

#[test]
fn after_a_crash_the_map_is_what_the_log_says() {
    let seeds = std::env::var("SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    for seed in 1..=seeds {
        crash_run(seed);
    }
}

#[test]
fn the_error_of_a_missing_map_says_so() {
    let (_sim, disk) = sim(9);
    let store = Arc::new(PageStore::create(&disk, StoreConfig::default()).expect("store"));
    let wal = Arc::new(Wal::create(Arc::clone(&disk), log_config()).expect("log"));
    let pool = BufferPool::new(store, wal, pool_config()).expect("pool");
    assert!(matches!(SpaceMap::open(pool), Err(SpaceError::Pool(PoolError::Store(StoreError::Unwritten { page: PageNo(1) })))));
}
