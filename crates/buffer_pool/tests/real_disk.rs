//! The same on a real directory: alignment of buffers for direct I/O, allocation, holes, reopening.

mod common;

use std::sync::Arc;

use base::PageNo;
use buffer_pool::{Mtr, RedoHandlers};
use common::{checkpoint, create, make_page, recover};
use env::{Disk, RealDisk};

#[test]
fn pages_survive_on_a_real_disk() {
    let dir = tempfile::tempdir().expect("a directory");
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(dir.path()).expect("open"));
    let pool = create(&disk, 16).expect("create");
    for page in 1..=100u64 {
        make_page(&pool, PageNo(page)).expect("page");
        let mut mtr = Mtr::begin(&pool);
        let held = mtr.latch(PageNo(page)).expect("latch");
        mtr.write_bytes(held, 5000, &page.to_le_bytes());
        let end = mtr.commit();
        if page == 100 {
            pool.wal().wait_durable(end).expect("durable");
        }
        if page % 30 == 0 {
            pool.flush_some(end, 1000).expect("flush");
            checkpoint(&pool).expect("checkpoint");
        }
    }
    pool.discard(PageNo(10), 2).expect("discard");
    pool.store().punch(PageNo(10), 2).expect("punch");
    drop(pool);
    let (pool, _) = recover(&disk, 16, &RedoHandlers::new()).expect("recover");
    for page in 1..=100u64 {
        match pool.shared(PageNo(page)) {
            Ok(guard) => assert_eq!(guard[5000..5008], page.to_le_bytes()),
            Err(error) => assert!((10..12).contains(&page), "{error}"),
        }
    }
}
