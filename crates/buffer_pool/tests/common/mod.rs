//! What the tests of the pool share: a small server's storage on a simulated disk, and a generator of random numbers.
#![allow(dead_code)] // each test binary uses its part

#[allow(unused_imports)] // Not every test draws numbers.
pub use env::SplitMix64 as Random;
use std::sync::Arc;
use std::time::Duration;

use base::{IndexId, Lsn, PageNo};
use buffer_pool::{BufferPool, Mtr, PoolConfig, PoolError, RedoHandlers};
use env::{Disk, SimDisk};
use page_store::{PageStore, PageType, StoreConfig};
use wal::{Checkpoint, Wal, WalConfig};

pub fn sim(seed: u64) -> (Arc<SimDisk>, Arc<dyn Disk>) {
    let sim = Arc::new(SimDisk::new(seed));
    let disk: Arc<dyn Disk> = Arc::clone(&sim) as Arc<dyn Disk>;
    (sim, disk)
}

/// A small log whose ring holds records of several page images.
pub fn log_config() -> WalConfig {
    WalConfig { buffer_bytes: 256 << 10, link_window_bytes: 128 << 10, ..WalConfig::small() }
}

pub fn config(frames: usize) -> PoolConfig {
    PoolConfig { frames, pages_max: 1 << 20, frame_wait: Duration::from_millis(300), batch_pages: 8, ..PoolConfig::default() }
}

pub fn create(disk: &Arc<dyn Disk>, frames: usize) -> Result<Arc<BufferPool>, PoolError> {
    let store = Arc::new(PageStore::create(disk, StoreConfig::default())?);
    let wal = Arc::new(Wal::create(Arc::clone(disk), log_config())?);
    Ok(BufferPool::new(store, wal, config(frames)).expect("memory"))
}

/// Opens what a crash left and redoes the log. Returns the end of the valid log too.
pub fn recover(disk: &Arc<dyn Disk>, frames: usize, handlers: &RedoHandlers) -> Result<(Arc<BufferPool>, Lsn), PoolError> {
    let store = Arc::new(PageStore::open(disk, StoreConfig::default())?);
    let (wal, _, mut reader) = Wal::open(Arc::clone(disk), log_config())?;
    while reader.next()?.is_some() {}
    let end = reader.end_of_valid();
    wal.start_after_recovery(end)?;
    let pool = BufferPool::new(store, Arc::new(wal), config(frames)).expect("memory");
    reader.rewind();
    while let Some(entry) = reader.next()? {
        pool.redo_record(entry.start, entry.end, entry.body, handlers)?;
    }
    Ok((pool, end))
}

/// A fuzzy checkpoint as the engine makes it.
pub fn checkpoint(pool: &BufferPool) -> Result<(), PoolError> {
    let contiguous = pool.wal().written_contiguous();
    let redo_lsn = pool.min_dirty_lsn().map_or(contiguous, |dirty| dirty.min(contiguous));
    pool.wal().write_checkpoint(Checkpoint { redo_lsn, payload: Vec::new() })?;
    Ok(())
}

/// Makes `page` an empty page.
pub fn make_page(pool: &BufferPool, page: PageNo) -> Result<Lsn, PoolError> {
    pool.wal().ensure_space()?;
    let mut mtr = Mtr::begin(pool);
    mtr.new_page(page, PageType::Other as u8, IndexId(1), 0)?;
    Ok(mtr.commit())
}

/// How many seeds a randomised test runs: `SEEDS=n` in the environment asks for more.
pub fn seeds(default: u64) -> std::ops::RangeInclusive<u64> {
    1..=std::env::var("SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
