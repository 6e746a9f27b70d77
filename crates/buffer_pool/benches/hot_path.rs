//! Cost of the hot paths on a resident page, one thread: `cargo bench -p buffer_pool`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use base::{IndexId, PageNo};
use buffer_pool::{BufferPool, Mtr, PoolConfig};
use env::{Disk, SimDisk};
use page_store::{PageStore, StoreConfig};
use wal::{Wal, WalConfig};

const ROUNDS: u64 = 5_000_000;

fn measure(name: &str, rounds: u64, mut f: impl FnMut(u64)) {
    let mut best = f64::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        (0..rounds).for_each(&mut f);
        best = best.min(start.elapsed().as_nanos() as f64 / rounds as f64);
    }
    println!("{name:<40} {best:8.1} ns");
}

fn main() {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
    let store = Arc::new(PageStore::create(&disk, StoreConfig::default()).expect("store"));
    let wal = Arc::new(Wal::create(disk, WalConfig { buffer_bytes: 64 << 20, ..WalConfig::default() }).expect("log"));
    let pool = BufferPool::new(store, wal, PoolConfig { frames: 4096, ..PoolConfig::default() }).expect("pool");
    for page in 1..=1024 {
        let mut mtr = Mtr::begin(&pool);
        mtr.new_page(PageNo(page), 6, IndexId(1), 0).expect("page");
        mtr.commit();
    }
    measure("shared, one page", ROUNDS, |_| {
        black_box(pool.shared(PageNo(7)).expect("page")[100]);
    });
    measure("shared, 1,024 pages", ROUNDS, |i| {
        black_box(pool.shared(PageNo(1 + ((i * 619) & 1023))).expect("page")[100]);
    });
    measure("exclusive, one page", ROUNDS, |_| {
        black_box(pool.exclusive(PageNo(7)).expect("page")[100]);
    });
    measure("optimistic, 8 loads and validate", ROUNDS, |i| {
        let guard = pool.optimistic(PageNo(7)).expect("page");
        let mut sum = 0;
        for k in 0..8 {
            sum += guard.u32_at(black_box(64 + (i as usize & 63) * 4 + k * 64));
        }
        black_box((sum, guard.validate()));
    });
    measure("mini-transaction, nothing changed", ROUNDS, |_| {
        let mut mtr = Mtr::begin(&pool);
        mtr.latch(PageNo(7)).expect("page");
        mtr.commit();
    });
    measure("mini-transaction, no page", ROUNDS, |_| {
        black_box(Mtr::begin(&pool)).commit();
    });
    measure("mini-transaction, 8 bytes logged", 300_000, |i| {
        let mut mtr = Mtr::begin(&pool);
        let page = mtr.latch(PageNo(7)).expect("page");
        mtr.write_bytes(page, 64, &i.to_le_bytes());
        let end = mtr.commit();
        if i % 100_000 == 0 {
            pool.wal().wait_durable(end).expect("durable");
        }
    });
    for threads in [1, 16, 128, 1024] {
        crowd(&pool, threads);
    }
}

/// Threads that all change one page.
fn crowd(pool: &BufferPool, threads: u64) {
    let each = 200_000 / threads;
    let waits = pool.stats().latch_waits;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let change = move || {
                for i in 0..each {
                    let mut mtr = Mtr::begin(pool);
                    let page = mtr.latch(PageNo(7)).expect("page");
                    mtr.write_bytes(page, 64, &(thread + i).to_le_bytes());
                    mtr.commit();
                }
            };
            std::thread::Builder::new().stack_size(64 << 10).spawn_scoped(scope, change).expect("thread");
        }
    });
    let nanos = start.elapsed().as_nanos() as f64 / (each * threads) as f64;
    println!("{threads:>5} threads change one page               {nanos:8.1} ns a change, {} sleeps", pool.stats().latch_waits - waits);
}
