//! Scans of an index with a page that is an older image of itself.

use super::*;
use btree::image::NodeImage;
use buffer_pool::Mtr;

const ROWS: usize = 8000;

/// Offsets in a page's header of its siblings.
const LEFT: usize = 56;
const RIGHT: usize = 64;

/// Has a leaf near the end of an index lead back to one near its beginning, and the other way round.
fn bend(f: &Fixture, index_no: usize) {
    let index = &f.table.indexes[index_no];
    let pool = f.engine.pool();
    let root = pool.shared(index.tree.root).unwrap();
    let image = NodeImage::open(&root, index.tree.root, index.id).unwrap();
    assert_eq!(image.level(), 1);
    let leaves: Vec<base::PageNo> = (0..image.count()).map(|slot| image.child(slot)).collect();
    drop(root);
    assert!(leaves.len() > 3, "{leaves:?}");
    let (early, late) = (leaves[1], leaves[leaves.len() - 2]);
    for (page, offset, sibling) in [(late, RIGHT, early), (early, LEFT, late)] {
        let mut mtr = Mtr::begin(pool);
        let page = mtr.latch(page).unwrap();
        mtr.write_bytes(page, offset, &sibling.0.to_le_bytes());
        mtr.commit();
    }
}

#[test]
fn keys_that_go_back_end_a_scan() {
    let f = Fixture::new();
    let mut w = f.session();
    for id in 0..ROWS as i64 {
        f.insert(&mut w, id, id, "some text that fills the leaves", None).unwrap();
    }
    w.commit().unwrap();
    drop(w);
    let mut session = f.session();
    for index_no in [0, 1] {
        bend(&f, index_no);
        for direction in [Direction::Forward, Direction::Backward] {
            let mut seen = 0;
            let mut scan = session.scan(&f.table, index_no, KeyRange::all(), direction, Read::Snapshot).unwrap();
            let ended = scan.for_each(|_, _| {
                seen += 1;
                if seen < 2 * ROWS { Step::Continue } else { Step::Stop }
            });
            assert!(matches!(ended, Err(Error::Corruption { .. })), "{index_no} {direction:?}: {seen} rows, {ended:?}");
            let (mut batch, mut seen) = (RowBatch::default(), 0);
            let mut scan = session.scan(&f.table, index_no, KeyRange::all(), direction, Read::Snapshot).unwrap();
            let error = loop {
                match scan.next_batch(&mut batch, 100) {
                    Ok(0) => panic!("the damage is not on the way"),
                    Ok(count) => seen += count,
                    Err(error) => break error,
                }
                assert!(seen < 2 * ROWS, "{index_no} {direction:?} goes round for ever");
            };
            assert!(matches!(error, Error::Corruption { .. }), "{index_no} {direction:?}: {error}");
        }
    }
}
