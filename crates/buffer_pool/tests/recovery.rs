//! Crash at any write or sync, recover by redo, compare with a model; and again, from what was recovered.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{IndexId, Lsn, PAGE_BYTES, PageNo};
use buffer_pool::{BufferPool, Mtr, PoolError, RedoHandlers, RedoOp};
use common::{Random, checkpoint, create, recover, sim};
use env::{Disk, SimDisk};
use page_store::PageType;
use page_store::header::PAGE_HEADER_BYTES;

/// Pages by number, without headers.
type Model = BTreeMap<u64, Vec<u8>>;

const PAGES: u64 = 24;
const FRAMES: usize = 10;

struct Run {
    sim: Arc<SimDisk>,
    disk: Arc<dyn Disk>,
    random: Random,
    /// What the pages held when the log ended there.
    states: BTreeMap<Lsn, Model>,
    model: Model,
    /// The log must not end before this after a crash.
    acknowledged: Lsn,
}

impl Run {
    /// One random mini-transaction on the pool and on the model.
    fn change(&mut self, pool: &BufferPool) -> Result<(), PoolError> {
        pool.wal().ensure_space()?;
        let mut mtr = Mtr::begin(pool);
        let mut next = self.model.clone();
        let count = 1 + self.random.below(3);
        let mut pages: Vec<u64> = (0..count).map(|_| 1 + self.random.below(PAGES)).collect();
        pages.sort_unstable();
        pages.dedup();
        // Latch all first: an error after the first change would abort.
        let mut held = Vec::new();
        for &page in &pages {
            let fresh = !next.contains_key(&page) || self.random.below(20) == 0;
            held.push((page, fresh, if fresh { mtr.latch_unread(PageNo(page))? } else { mtr.latch(PageNo(page))? }));
        }
        for (page, fresh, page_ref) in held {
            if fresh {
                mtr.reset_page(page_ref, PageType::Other as u8, IndexId(1), 0);
                next.insert(page, vec![0; PAGE_BYTES - PAGE_HEADER_BYTES]);
            }
            let image = next.get_mut(&page).expect("present");
            for _ in 0..1 + self.random.below(3) {
                let at = self.random.below(image.len() as u64 - 64) as usize;
                let bytes = self.random.next().to_le_bytes();
                image[at..at + 8].copy_from_slice(&bytes);
                mtr.write_bytes(page_ref, PAGE_HEADER_BYTES + at, &bytes);
            }
            if self.random.below(10) == 0 {
                let from = self.random.below(8000) as usize;
                image[from..from + 5000].fill(0);
                mtr.log_image(page_ref, PAGE_HEADER_BYTES + from..PAGE_HEADER_BYTES + from + 5000);
            }
        }
        let end = mtr.commit();
        self.model = next;
        self.states.insert(end, self.model.clone());
        if self.random.below(3) == 0 {
            pool.wal().wait_durable(end)?;
            self.acknowledged = end;
        }
        match self.random.below(12) {
            0 => checkpoint(pool)?,
            1 => drop(pool.flush_some(pool.wal().lsn_head(), 3)?),
            2 => {
                pool.flush_all()?;
                assert_eq!(pool.stats().pages_dirty, 0);
            }
            3 => {
                // A page write fails; the pages stay dirty, and a checkpoint right after must not pass them.
                pool.wal().wait_durable(end)?;
                self.acknowledged = end;
                self.sim.fail_write(1 + self.random.below(2));
                if pool.flush_some(Lsn(end.0 + 1), 4).is_err() {
                    checkpoint(pool)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn check(&mut self, pool: &BufferPool, end: Lsn, replay: &str) {
        assert!(end >= self.acknowledged, "{replay}: the log ends at {end}, acknowledged up to {}", self.acknowledged);
        let (_, model) = self.states.range(..=end).next_back().unwrap_or_else(|| panic!("{replay}: no state for {end}"));
        self.model = model.clone();
        for page in 1..=PAGES {
            match (pool.shared(PageNo(page)), self.model.get(&page)) {
                (Ok(found), Some(expected)) => assert!(found[PAGE_HEADER_BYTES..] == expected[..], "{replay}: page {page} differs"),
                (Err(PoolError::Store(page_store::StoreError::Unwritten { .. })), None) => {}
                (found, expected) => panic!("{replay}: page {page}: {found:?}, in the model: {}", expected.is_some()),
            }
        }
        assert!(pool.redo_skipped().is_empty(), "{replay}");
    }
}

fn run(seed: u64, crashes: u32, steps: u64) {
    let (sim, disk) = sim(seed);
    let pool = create(&disk, FRAMES).expect("create");
    checkpoint(&pool).expect("first checkpoint");
    let start = pool.wal().lsn_head();
    let mut run = Run {
        sim,
        disk,
        random: Random::new(seed),
        states: BTreeMap::from([(start, Model::new())]),
        model: Model::new(),
        acknowledged: start,
    };
    let mut pool = pool;
    for crash in 0..crashes {
        let replay = format!("replay: seed {seed} crash {crash}");
        let at = 1 + run.random.below(steps);
        run.sim.crash_at(at);
        while run.change(&pool).is_ok() {}
        drop(pool);
        run.sim.crash();
        // Sometimes the machine dies again in the middle of recovery.
        if run.random.below(3) == 0 {
            run.sim.crash_at(1 + run.random.below(40));
            drop(recover(&run.disk, FRAMES, &RedoHandlers::new()));
            run.sim.crash();
        }
        let (recovered, end) = recover(&run.disk, FRAMES, &RedoHandlers::new()).unwrap_or_else(|error| panic!("{replay}: {error}"));
        run.check(&recovered, end, &replay);
        // What was recovered may itself be taken for the state at `end` from now on.
        run.states = BTreeMap::from([(end, run.model.clone())]);
        run.acknowledged = end;
        pool = recovered;
    }
}

#[test]
fn every_crash_is_recovered_to_a_prefix_with_all_that_was_acknowledged() {
    for seed in common::seeds(40) {
        run(seed, 5, 120);
    }
}

#[test]
fn redo_is_idempotent_and_skips_what_the_page_has_seen() {
    let (_sim, disk) = sim(99);
    let pool = create(&disk, FRAMES).expect("create");
    checkpoint(&pool).expect("checkpoint");
    common::make_page(&pool, PageNo(3)).expect("page");
    let mut mtr = Mtr::begin(&pool);
    let page = mtr.latch(PageNo(3)).expect("latch");
    mtr.write_bytes(page, 100, b"first");
    mtr.commit();
    pool.flush_all().expect("flush");
    let mut mtr = Mtr::begin(&pool);
    let page = mtr.latch(PageNo(3)).expect("latch");
    mtr.write_bytes(page, 100, b"other");
    let end = mtr.commit();
    pool.wal().wait_durable(end).expect("durable");
    drop(pool);
    for _ in 0..3 {
        let (pool, _) = recover(&disk, FRAMES, &RedoHandlers::new()).expect("recover");
        let guard = pool.shared(PageNo(3)).expect("page");
        assert_eq!(&guard[100..105], b"other");
        assert_eq!(guard.lsn(), end);
        drop(guard);
        assert_eq!(pool.stats().pages_dirty, 1, "only the second change was missing");
    }
}

#[test]
fn an_operation_that_does_not_fit_its_page_is_reported_and_reaches_no_disk() {
    let (_sim, disk) = sim(7);
    let pool = create(&disk, FRAMES).expect("create");
    checkpoint(&pool).expect("checkpoint");
    common::make_page(&pool, PageNo(3)).expect("page");
    let mut mtr = Mtr::begin(&pool);
    let page = mtr.latch(PageNo(3)).expect("latch");
    mtr.bytes_mut(page)[60] = 1;
    mtr.log(0x0F, Some(PageNo(3)), |out| out.push(1)); // no such operation
    let end = mtr.commit();
    pool.wal().wait_durable(end).expect("durable");
    drop(pool);
    let (pool, _) = recover(&disk, FRAMES, &RedoHandlers::new()).expect("the page may be free by now");
    assert_eq!(pool.redo_skipped(), [PageNo(3)]);
    pool.flush_all().expect("flush");
    assert!(pool.shared(PageNo(3)).is_err(), "nothing of the half-changed page was kept");
}

#[test]
fn a_page_freed_before_the_checkpoint_knew_its_changes_does_not_stop_recovery() {
    let (_sim, disk) = sim(11);
    let pool = create(&disk, FRAMES).expect("create");
    common::make_page(&pool, PageNo(3)).expect("page");
    pool.flush_all().expect("flush");
    // A change that is never written, because the page is freed; the checkpoint lies behind it.
    let mut mtr = Mtr::begin(&pool);
    let page = mtr.latch(PageNo(3)).expect("latch");
    mtr.write_bytes(page, 100, b"lost");
    mtr.commit();
    pool.discard(PageNo(3), 1).expect("discard");
    checkpoint(&pool).expect("checkpoint");
    // What comes next in the log builds on it, and is followed by the page's new life.
    let mut mtr = Mtr::begin(&pool);
    let page = mtr.latch(PageNo(3)).expect("latch");
    mtr.bytes_mut(page)[60] = 1;
    mtr.log(0x0F, Some(PageNo(3)), |out| out.push(1));
    mtr.commit();
    common::make_page(&pool, PageNo(3)).expect("page");
    let mut mtr = Mtr::begin(&pool);
    let page = mtr.latch(PageNo(3)).expect("latch");
    mtr.write_bytes(page, 100, b"anew");
    let end = mtr.commit();
    pool.wal().wait_durable(end).expect("durable");
    drop(pool);
    let (pool, _) = recover(&disk, FRAMES, &RedoHandlers::new()).expect("recover");
    assert_eq!(pool.redo_skipped(), []);
    assert_eq!(&pool.shared(PageNo(3)).expect("page")[100..104], b"anew");
}

#[test]
fn operations_on_a_punched_page_are_skipped_and_reported() {
    let (_sim, disk) = sim(8);
    let pool = create(&disk, FRAMES).expect("create");
    common::make_page(&pool, PageNo(3)).expect("page");
    pool.flush_all().expect("flush");
    checkpoint(&pool).expect("checkpoint");
    let mut mtr = Mtr::begin(&pool);
    let page = mtr.latch(PageNo(3)).expect("latch");
    mtr.write_bytes(page, 100, b"gone");
    let end = mtr.commit();
    pool.wal().wait_durable(end).expect("durable");
    pool.discard(PageNo(3), 1).expect("discard");
    pool.store().punch(PageNo(3), 1).expect("punch");
    drop(pool);
    let (pool, _) = recover(&disk, FRAMES, &RedoHandlers::new()).expect("recover");
    assert_eq!(pool.redo_skipped(), [PageNo(3)]);
    assert!(!pool.is_resident(PageNo(3)));
    assert!(pool.shared(PageNo(3)).is_err());
}

#[test]
fn a_broken_page_does_not_stop_redo_and_a_new_page_replaces_it() {
    let (sim, disk) = sim(10);
    let pool = create(&disk, FRAMES).expect("create");
    for page in 3..=5 {
        common::make_page(&pool, PageNo(page)).expect("page");
    }
    pool.flush_all().expect("flush");
    checkpoint(&pool).expect("checkpoint");
    for page in 3..=5 {
        let mut mtr = Mtr::begin(&pool);
        let held = mtr.latch(PageNo(page)).expect("latch");
        mtr.write_bytes(held, 100, b"redo");
        mtr.commit();
    }
    let end = common::make_page(&pool, PageNo(4)).expect("page 4 anew");
    pool.wal().wait_durable(end).expect("durable");
    // Another batch takes the doublewrite area, so that the broken pages have no copy.
    common::make_page(&pool, PageNo(9)).expect("page");
    drop(pool);
    let store = page_store::PageStore::open(&disk, page_store::StoreConfig::default()).expect("open");
    let mut batch = page_store::Batch::new(1);
    page_store::header::init(batch.push(PageNo(8)), PageNo(8), 6, IndexId(1), 0);
    store.write_batch(&mut batch).expect("write");
    drop(store);
    for page in 3..=4 {
        sim.flip_bit("data", page * PAGE_BYTES as u64 + 99, 1).expect("flip");
    }
    let (pool, _) = recover(&disk, FRAMES, &RedoHandlers::new()).expect("recover");
    assert_eq!(pool.redo_skipped(), [PageNo(3)]);
    assert!(matches!(pool.shared(PageNo(3)), Err(PoolError::Store(page_store::StoreError::Checksum { page: PageNo(3) }))));
    assert_eq!(pool.shared(PageNo(4)).expect("made anew")[100..104], [0; 4]);
    assert_eq!(&pool.shared(PageNo(5)).expect("whole")[100..104], b"redo");
}

#[test]
fn thousands_of_records_that_do_not_fit_need_no_stack() {
    let (_sim, disk) = sim(12);
    let pool = create(&disk, FRAMES).expect("create");
    common::make_page(&pool, PageNo(3)).expect("page");
    pool.flush_all().expect("flush");
    let first = pool.wal().lsn_head().0;
    let unfit = |n: u64| RedoOp { start: Lsn(first + 8 * n), end: Lsn(first + 8 * n + 8), op: 0x0F, payload: &[1] };
    let ops: Vec<RedoOp<'_>> = (0..4000).map(unfit).collect();
    std::thread::scope(|scope| {
        let redo = || pool.redo_page(PageNo(3), &ops, &RedoHandlers::new());
        let thread = std::thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, redo).expect("spawn");
        thread.join().expect("no panic").expect("skipped");
    });
    assert_eq!(pool.redo_skipped(), [PageNo(3)]);
}

/// Threads that change pairs of pages, a cleaner and a checkpointer, then a crash: both pages of a pair have the same count, at least the acknowledged one.
fn run_threads(seed: u64) {
    const THREADS: u64 = 3;
    const PAIRS: u64 = 8;
    let replay = format!("replay: seed {seed} (threads: not exact)");
    let (sim, disk) = sim(seed);
    let pool = create(&disk, FRAMES * 2).expect("create");
    let pages = 2 * THREADS * PAIRS;
    for page in 1..=pages {
        common::make_page(&pool, PageNo(page)).expect("page");
        pool.flush_all().expect("flush");
        checkpoint(&pool).expect("checkpoint");
    }
    let cleaner = pool.start_cleaner().expect("cleaner");
    sim.crash_at(100 + seed * 37 % 400);
    let acknowledged: Vec<(u64, u64, u64)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let pool = &pool;
                scope.spawn(move || {
                    let mut random = Random::new(seed * 10 + thread);
                    let mut counts = vec![(0u64, 0u64); PAIRS as usize];
                    loop {
                        let pair = random.below(PAIRS);
                        let first = 1 + 2 * (thread * PAIRS + pair);
                        if pool.wal().ensure_space().is_err() {
                            break;
                        }
                        let mut mtr = Mtr::begin(pool);
                        let (Ok(a), Ok(b)) = (mtr.latch(PageNo(first)), mtr.latch(PageNo(first + 1))) else { break };
                        let next = counts[pair as usize].0 + 1;
                        mtr.write_bytes(a, 64, &next.to_le_bytes());
                        mtr.write_bytes(b, 9000, &next.to_le_bytes());
                        let end = mtr.commit();
                        counts[pair as usize].0 = next;
                        if random.below(3) == 0 {
                            if pool.wal().wait_durable(end).is_err() {
                                break;
                            }
                            counts[pair as usize].1 = next;
                        }
                    }
                    counts
                        .into_iter()
                        .enumerate()
                        .map(move |(pair, (made, safe))| (1 + 2 * (thread * PAIRS + pair as u64), made, safe))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let (pool, sim) = (&pool, &sim);
        scope.spawn(move || {
            // Until the crash: a checkpoint that fails means it came. Writers that wait for room learn it from the failed log.
            while pool.flush_some(pool.wal().lsn_head(), 6).is_ok() && checkpoint(pool).is_ok() && !sim.is_down() {}
            // A failed checkpoint fails the log only if it wrote; a commit surely finds out.
            let _ = pool.wal().wait_durable(pool.wal().append(b""));
        });
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    });
    cleaner.stop();
    drop(pool);
    sim.crash();
    let (pool, _) = recover(&disk, FRAMES, &RedoHandlers::new()).unwrap_or_else(|error| panic!("{replay}: {error}"));
    for (first, made, safe) in acknowledged {
        let count = |page: u64, at: usize| {
            let guard = pool.shared(PageNo(page)).expect("page");
            u64::from_le_bytes(guard[at..at + 8].try_into().expect("eight bytes"))
        };
        let (a, b) = (count(first, 64), count(first + 1, 9000));
        assert_eq!(a, b, "{replay}: half of a mini-transaction on page {first}");
        assert!((safe..=made).contains(&a), "{replay}: page {first} has {a}, acknowledged {safe}, made {made}");
    }
}

#[test]
fn threads_with_cleaner_and_checkpoints_lose_nothing() {
    for seed in common::seeds(40) {
        run_threads(seed);
    }
}
