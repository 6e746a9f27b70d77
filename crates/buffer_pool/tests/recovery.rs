//! Crash at any write or sync, recover by redo, compare with a model; and again, from what was recovered.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{IndexId, Lsn, PAGE_BYTES, PageNo};
use buffer_pool::{BufferPool, Mtr, PoolError, RedoHandlers};
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
    for seed in 1..=40 {
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
fn a_malformed_operation_fails_redo_and_reaches_no_disk() {
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
    assert!(matches!(recover(&disk, FRAMES, &RedoHandlers::new()), Err(PoolError::Malformed(PageNo(3)))));
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
