//! What a hot operation costs: `cargo run --profile fast -p btree --example point_get`.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::time::Instant;

use base::IndexId;
use btree::{BTree, Seek};
use buffer_pool::{BufferPool, PoolConfig};
use env::{Disk, SimDisk};
use page_store::{PageStore, StoreConfig};
use space_map::SpaceMap;
use wal::{Wal, WalConfig};

const ENTRIES: u64 = 100_000;

fn measure(what: &str, count: u64, mut f: impl FnMut()) {
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        f();
        best = best.min(start.elapsed().as_nanos() as f64 / count as f64);
    }
    println!("{what:40} {best:8.1} ns");
}

fn put(tree: &BTree, key: &[u8], value: &[u8]) {
    loop {
        let mut write = tree.write(key).expect("write");
        let done = if write.found().is_some() { write.replace(value, |_| {}) } else { write.insert(value, |_| {}) };
        if done.expect("change").is_ok() {
            write.finish();
            return;
        }
        drop(write);
        tree.make_room(key, value.len()).expect("make_room");
    }
}

fn main() {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
    let wal = Arc::new(Wal::create(disk.clone(), WalConfig { capacity_bytes: 8 << 30, ..WalConfig::default() }).expect("wal"));
    let _background = wal.start_background().expect("background");
    let store = Arc::new(PageStore::create(&disk, StoreConfig { doublewrite: true }).expect("store"));
    let pool = BufferPool::new(store, wal, PoolConfig { frames: 8192, ..PoolConfig::default() }).expect("pool");
    let space = SpaceMap::create(pool.clone()).expect("space");
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 33
    };
    let keys: Vec<[u8; 8]> = (0..1_000_000).map(|_| ((random() % ENTRIES) | (1 << 63)).to_be_bytes()).collect();

    for (index, value_bytes) in [(1, 8), (2, 100), (3, 200)] {
        let tree = BTree::create(&pool, &space, IndexId(index)).expect("create");
        let value = vec![7; value_bytes];
        let start = Instant::now();
        for n in 0..ENTRIES {
            put(&tree, &(n | (1 << 63)).to_be_bytes(), &value);
        }
        println!("values of {value_bytes} bytes; {:?}", tree.check().expect("check"));
        println!("{:40} {:8.1} ns", "append", start.elapsed().as_nanos() as f64 / ENTRIES as f64);
        if let Some(rounds) = std::env::args().nth(1).and_then(|rounds| rounds.parse::<usize>().ok()) {
            // For a profiler: nothing but gets.
            for key in keys[..1000].iter().cycle().take(rounds) {
                assert!(tree.get(key, |value| value.is_some()).expect("get"));
            }
            return;
        }
        measure("get, one key", 1_000_000, || {
            for _ in 0..1_000_000 {
                assert!(tree.get(&keys[0], |value| value.is_some()).expect("get"));
            }
        });
        let near: Vec<_> = keys[..1000].to_vec();
        measure("get, 1000 keys", 1_000_000, || {
            for key in near.iter().cycle().take(1_000_000) {
                assert!(tree.get(key, |value| value.is_some()).expect("get"));
            }
        });
        measure("get, random keys", 1_000_000, || {
            for key in &keys {
                assert!(tree.get(key, |value| value.is_some()).expect("get"));
            }
        });
        measure("update in place, random keys", 1_000_000, || {
            for key in &keys {
                let mut write = tree.write(key).expect("write");
                write.patch(0, &[9; 4], |_| {});
                write.finish();
            }
        });
        measure("cursor next", ENTRIES, || {
            let mut cursor = tree.cursor();
            cursor.first().expect("first");
            let mut sum = 0;
            while cursor.valid() {
                sum += u64::from(cursor.value()[0]);
                cursor.next().expect("next");
            }
            assert!(sum > 0);
        });
        measure("scan_leaf", ENTRIES, || {
            let mut cursor = tree.scan_cursor();
            cursor.first().expect("first");
            let mut sum = 0;
            while cursor.valid() {
                cursor
                    .scan_leaf(Bound::Unbounded, |_, value| {
                        sum += u64::from(value[0]);
                        ControlFlow::Continue(())
                    })
                    .expect("scan");
            }
            assert!(sum > 0);
        });
        measure("seek, ten entries", 100_000, || {
            let mut cursor = tree.cursor();
            for key in &keys[..100_000] {
                cursor.seek(key, Seek::AtOrAfter).expect("seek");
                for _ in 0..10 {
                    if !cursor.valid() || !cursor.next().expect("next") {
                        break;
                    }
                }
            }
        });
        measure("count_estimate", 100_000, || {
            for key in keys[..100_000].chunks(2) {
                tree.count_estimate(Bound::Included(&key[0]), Bound::Included(&key[1])).expect("estimate");
            }
        });
    }
    let tree = BTree::create(&pool, &space, IndexId(4)).expect("create");
    let start = Instant::now();
    for n in 0..ENTRIES {
        put(&tree, &n.wrapping_mul(0x9e3779b97f4a7c15).to_be_bytes(), &[7; 100]);
    }
    println!("{:40} {:8.1} ns", "insert at random", start.elapsed().as_nanos() as f64 / ENTRIES as f64);
    let tree = BTree::create(&pool, &space, IndexId(5)).expect("create");
    let start = Instant::now();
    tree.build((0..ENTRIES).map(|n| (n.to_be_bytes(), [7; 100]))).expect("build");
    println!("{:40} {:8.1} ns", "bulk build", start.elapsed().as_nanos() as f64 / ENTRIES as f64);
}
