//! A pool on a simulated disk, and recovery of it.
#![allow(dead_code)] // each test file uses a part

#[allow(unused_imports)] // by some test programs only
pub use env::SplitMix64 as Rng;
use std::collections::BTreeMap;
use std::sync::Arc;

use base::{IndexId, Lsn, PageNo, TxnId};
use btree::{BTree, LeafWrite, RunEnd, RunPlan, Seek};
use buffer_pool::{BufferPool, PoolConfig, RedoHandlers};
use env::{Disk, SimDisk};
use page_store::{PageStore, StoreConfig};
use space_map::SpaceMap;
use wal::{Checkpoint, Wal, WalConfig};

pub struct Rig {
    pub disk: SimDisk,
    pub pool: Arc<BufferPool>,
    pub space: Arc<SpaceMap>,
}

fn wal_config() -> WalConfig {
    WalConfig {
        segment_bytes: 4 << 20,
        buffer_bytes: 1 << 20,
        link_window_bytes: 64 << 10,
        capacity_bytes: 1 << 30,
        space_margin_bytes: 1 << 20,
        ..WalConfig::small()
    }
}

fn pool_config(frames: usize) -> PoolConfig {
    PoolConfig { frames, pages_max: 1 << 20, batch_pages: 16, ..PoolConfig::default() }
}

pub fn handlers() -> RedoHandlers {
    RedoHandlers::new().with(0x10..=0x1f, Arc::new(space_map::Redo)).with(0x20..=0x3f, Arc::new(btree::Redo))
}

impl Rig {
    pub fn new(seed: u64, frames: usize) -> Rig {
        Rig::of_format(seed, frames, page_store::FORMAT_NEWEST)
    }

    pub fn of_format(seed: u64, frames: usize, format: u32) -> Rig {
        let disk = SimDisk::new(seed);
        let dyn_disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let wal = Arc::new(Wal::create(dyn_disk.clone(), wal_config()).unwrap());
        let store = Arc::new(PageStore::create_with_format(&dyn_disk, StoreConfig { doublewrite: true }, format).unwrap());
        let pool = BufferPool::new(store, wal, pool_config(frames)).unwrap();
        let space = SpaceMap::create(pool.clone()).unwrap();
        Rig { disk, pool, space }
    }

    pub fn tree(&self, index: u32) -> BTree {
        BTree::create(&self.pool, &self.space, IndexId(index)).unwrap()
    }

    pub fn checkpoint(&self) {
        let written = self.pool.wal().written_contiguous();
        let redo_lsn = self.pool.min_dirty_lsn().unwrap_or(Lsn(u64::MAX)).min(written);
        self.pool.wal().flush_to(redo_lsn).unwrap();
        self.pool.wal().write_checkpoint(Checkpoint { redo_lsn, payload: Vec::new() }).unwrap();
    }

    /// How often each operation stands in the log that the disk has.
    pub fn operations(disk: &SimDisk) -> BTreeMap<u8, usize> {
        let dyn_disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let (_, _, mut reader) = Wal::open(dyn_disk, wal_config()).unwrap();
        let mut counts = BTreeMap::new();
        while let Some(entry) = reader.next().unwrap() {
            for op in buffer_pool::ops(entry.body) {
                *counts.entry(op.unwrap().op).or_default() += 1;
            }
        }
        counts
    }

    /// Everything in memory is gone; the disk says what is left.
    pub fn recover(disk: SimDisk, frames: usize) -> Rig {
        let dyn_disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let (wal, _, mut reader) = Wal::open(dyn_disk.clone(), wal_config()).unwrap();
        let wal = Arc::new(wal);
        while reader.next().unwrap().is_some() {}
        wal.start_after_recovery(reader.end_of_valid()).unwrap();
        reader.rewind();
        let store = Arc::new(PageStore::open(&dyn_disk, StoreConfig { doublewrite: true }).unwrap());
        let pool = BufferPool::new(store, wal, pool_config(frames)).unwrap();
        let handlers = handlers();
        while let Some(entry) = reader.next().unwrap() {
            pool.redo_record(entry.start, entry.end, entry.body, &handlers).unwrap();
        }
        let space = SpaceMap::open(pool.clone()).unwrap();
        Rig { disk, pool, space }
    }
}

/// How many seeds a test tries: `BTREE_ROUNDS`, for long runs.
pub fn rounds() -> u64 {
    std::env::var("BTREE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1)
}

/// Inserts or replaces; returns the record's end.
pub fn put(tree: &BTree, key: &[u8], value: &[u8]) -> Lsn {
    loop {
        let mut write = tree.write(key).unwrap();
        let done = if write.found().is_some() { write.replace(value, |_| {}) } else { write.insert(value, |_| {}) };
        if done.unwrap().is_ok() {
            return write.finish();
        }
        drop(write);
        tree.make_room(key, value.len()).unwrap();
    }
}

/// Inserts entries in runs, and replaces what is there. Returns the end of each entry's record.
pub fn put_all(tree: &BTree, entries: &BTreeMap<Vec<u8>, Vec<u8>>) -> Vec<Lsn> {
    let list: Vec<(&[u8], &[u8])> = entries.iter().map(|(key, value)| (key.as_slice(), value.as_slice())).collect();
    let (mut ends, mut plan) = (Vec::new(), RunPlan::default());
    while ends.len() < list.len() {
        let done = ends.len();
        let (key, value) = list[done];
        let entry = |no: usize| list.get(done + no).copied();
        let mut run = tree.write_run(key, std::mem::take(&mut plan)).unwrap();
        let (count, end) = run.plan(entry).unwrap();
        let txn = if done.is_multiple_of(2) { TxnId::NONE } else { TxnId(done as u64) };
        run.insert(txn, entry, |_| {});
        let (lsn, kept) = run.finish();
        plan = kept;
        ends.extend(std::iter::repeat_n(lsn, count));
        match end {
            RunEnd::Elsewhere => assert!(count > 0, "a run of nothing that goes on elsewhere"),
            RunEnd::Found if count == 0 => ends.push(put(tree, key, value)),
            RunEnd::NoRoom if count == 0 => tree.make_room(key, value.len()).unwrap(),
            RunEnd::Found | RunEnd::NoRoom => {}
        }
    }
    ends
}

/// Removes, and merges when worth it. Returns whether the key was there, and the record's end.
pub fn remove(tree: &BTree, key: &[u8]) -> Option<Lsn> {
    let mut write: LeafWrite<'_> = tree.write(key).unwrap();
    write.found()?;
    write.remove(|_| {});
    let shrink = write.is_underfull();
    let lsn = write.finish();
    if shrink {
        tree.shrink(key).unwrap();
    }
    Some(lsn)
}

pub fn get(tree: &BTree, key: &[u8]) -> Option<Vec<u8>> {
    tree.get(key, |value| value.map(<[u8]>::to_vec)).unwrap()
}

pub fn contents(tree: &BTree) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut cursor = tree.cursor();
    cursor.first().unwrap();
    while cursor.valid() {
        let (key, value) = cursor.entry();
        if let Some((last, _)) = all.last_key_value() {
            assert!(last < &key.to_vec(), "keys out of order");
        }
        all.insert(key.to_vec(), value.to_vec());
        cursor.next().unwrap();
    }
    all
}

/// The tree is sound, owns exactly the pages it reaches, and holds what the model holds.
pub fn verify(rig: &Rig, tree: &BTree, model: &BTreeMap<Vec<u8>, Vec<u8>>) {
    let stats = tree.check().unwrap_or_else(|error| panic!("{error}"));
    let beside = tree.check_beside_writers(&|| false).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(beside, stats);
    assert_eq!(stats.entries as usize, model.len());
    assert_eq!(rig.space.pages_of(tree.index), stats.leaf_pages + stats.inner_pages, "pages lost or shared: {stats:?}");
    assert_eq!(tree.inner_pages(), stats.inner_pages, "{stats:?}");
    assert!(contents(tree) == *model, "contents differ");
    rig.space.check().unwrap();
}

pub fn seek_model(model: &BTreeMap<Vec<u8>, Vec<u8>>, key: &Vec<u8>, seek: Seek) -> Option<Vec<u8>> {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    match seek {
        Seek::AtOrAfter => model.range::<Vec<u8>, _>((Included(key), Unbounded)).next(),
        Seek::After => model.range::<Vec<u8>, _>((Excluded(key), Unbounded)).next(),
        Seek::AtOrBefore => model.range::<Vec<u8>, _>((Unbounded, Included(key))).next_back(),
        Seek::Before => model.range::<Vec<u8>, _>((Unbounded, Excluded(key))).next_back(),
    }
    .map(|(key, _)| key.clone())
}

pub fn page_bytes(pool: &BufferPool, page: PageNo) -> Vec<u8> {
    pool.shared(page).unwrap().to_vec()
}
