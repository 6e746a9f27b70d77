//! Scans of an index with a page that is an older image of itself.

use super::*;
use btree::image::NodeImage;
use buffer_pool::Mtr;

const ROWS: usize = 8000;

/// Offsets in a page's header of its siblings.
const LEFT: usize = 56;
const RIGHT: usize = 64;
/// Where a page's slots begin, and how long each is.
const SLOTS: usize = 88;
const SLOT_BYTES: usize = 8;

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

/// What redo of a change made of an image that lacked others: not in order within the page.
#[test]
fn keys_out_of_order_on_a_page_end_a_scan() {
    for index_no in [0, 1] {
        let f = Fixture::new();
        let mut w = f.session();
        for id in 0..60 {
            f.insert(&mut w, id, id, "some text", None).unwrap();
        }
        w.commit().unwrap();
        let index = &f.table.indexes[index_no];
        let count = {
            let root = f.engine.pool().shared(index.tree.root).unwrap();
            let image = NodeImage::open(&root, index.tree.root, index.id).unwrap();
            assert_eq!(image.level(), 0);
            image.count()
        };
        let mut mtr = Mtr::begin(f.engine.pool());
        let page = mtr.latch(index.tree.root).unwrap();
        let slot = |no: usize| SLOTS + no * SLOT_BYTES..SLOTS + (no + 1) * SLOT_BYTES;
        let [left, right] = [count - 2, count - 1].map(|no| mtr.bytes(page)[slot(no)].to_vec());
        mtr.write_bytes(page, slot(count - 2).start, &right);
        mtr.write_bytes(page, slot(count - 1).start, &left);
        mtr.commit();
        let mut session = f.session();
        let mut told = 0;
        for (direction, read, rows_max) in [
            (Direction::Forward, Read::Snapshot, 1),
            (Direction::Forward, Read::Snapshot, 1000),
            (Direction::Backward, Read::Snapshot, 1),
            (Direction::Backward, Read::Snapshot, 1000),
            (Direction::Forward, Read::Exclusive(Wait::Block), 1),
            (Direction::Forward, Read::Exclusive(Wait::Block), 1000),
            (Direction::Backward, Read::Exclusive(Wait::Block), 1),
            (Direction::Backward, Read::Exclusive(Wait::Block), 1000),
        ] {
            let (mut batch, mut seen) = (RowBatch::default(), 0);
            let mut state = session.scan(&f.table, index_no, KeyRange::all(), direction, read).unwrap().park();
            // Where it does not come by the place again a row may be left out.
            loop {
                let mut scan = session.resume(state);
                match scan.next_batch(&mut batch, rows_max) {
                    Ok(0) => break,
                    Ok(rows) => seen += rows,
                    Err(Error::Corruption { .. }) => {
                        told += 1;
                        break;
                    }
                    Err(error) => panic!("{error}"),
                }
                assert!(seen < 200, "{index_no} {direction:?} {read:?} goes round for ever");
                state = scan.park();
            }
        }
        assert!(index_no == 0 || told > 0, "nothing was told of index {index_no}");
        session.rollback().unwrap();
    }
}
