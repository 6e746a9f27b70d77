//! A page that is an older image of itself leads back to where a scan has been: the scan ends with an error instead of going round for ever.

mod common;

use base::{IndexId, PageNo};
use btree::image::NodeImage;
use btree::{BTree, Cursor, Error, Result, Scanned, Seek};
use buffer_pool::Mtr;
use common::{Rig, put};
use std::ops::{Bound, ControlFlow};

const INDEX: u32 = 7;
const KEYS: u32 = 3000;

/// Offsets in a page's header of its siblings.
const LEFT: usize = 56;
const RIGHT: usize = 64;

/// A tree of which leaves near the end lead back to one near the beginning, and the other way round.
fn damaged(rig: &Rig) -> BTree {
    let tree = rig.tree(INDEX);
    for no in 0..KEYS {
        put(&tree, &no.to_be_bytes(), &[7; 60]);
    }
    let root = rig.pool.shared(tree.root).unwrap();
    let image = NodeImage::open(&root, tree.root, IndexId(INDEX)).unwrap();
    assert_eq!(image.level(), 1);
    let leaves: Vec<PageNo> = (0..image.count()).map(|slot| image.child(slot)).collect();
    drop(root);
    assert!(leaves.len() > 5, "{leaves:?}");
    let (early, late) = (leaves[1], leaves[leaves.len() - 2]);
    for (page, offset, sibling) in [(late, RIGHT, early), (early, LEFT, late)] {
        let mut mtr = Mtr::begin(&rig.pool);
        let page = mtr.latch(page).unwrap();
        mtr.write_bytes(page, offset, &sibling.0.to_le_bytes());
        mtr.commit();
    }
    tree
}

/// Goes on until it is told that keys go back. `step` says how many entries it came by, none at the end.
fn check_ends(mut step: impl FnMut() -> Result<usize>) {
    let mut seen = 0;
    let error = loop {
        match step() {
            Ok(0) => panic!("the damage is not on the way"),
            Ok(count) => seen += count,
            Err(error) => break error,
        }
        assert!(seen < 2 * KEYS as usize, "goes round for ever");
    };
    assert!(matches!(error, Error::Corrupt { what: "keys go back from a leaf to the next", .. }), "{error}");
}

#[test]
fn entries_that_go_back_end_a_scan() {
    let rig = Rig::new(1, 400);
    let tree = damaged(&rig);
    let mut cursor = tree.cursor();
    cursor.first().unwrap();
    check_ends(|| cursor.next().map(usize::from));
    cursor.last().unwrap();
    check_ends(|| cursor.prev().map(usize::from));
}

#[test]
fn leaves_that_go_back_end_a_scan() {
    let rig = Rig::new(2, 400);
    let tree = damaged(&rig);
    let by_leaves = |cursor: &mut Cursor<'_>, forward: bool| {
        let mut count = 0;
        let mut visit = || {
            count += 1;
            ControlFlow::Continue(())
        };
        let scanned = match forward {
            true => cursor.scan_leaf(Bound::Unbounded, |_, _| visit()),
            false => cursor.scan_leaf_backward(Bound::Unbounded, |_, _| visit()),
        };
        scanned.map(|scanned| if scanned == Scanned::NextLeaf { count } else { 0 })
    };
    let mut cursor = tree.cursor();
    cursor.first().unwrap();
    check_ends(|| by_leaves(&mut cursor, true));
    cursor.last().unwrap();
    check_ends(|| by_leaves(&mut cursor, false));
}

#[test]
fn a_scan_that_comes_back_for_each_entry_ends() {
    let rig = Rig::new(3, 400);
    let tree = damaged(&rig);
    for (from, seek) in [(0, Seek::After), (KEYS - 1, Seek::Before)] {
        let mut key = from.to_be_bytes().to_vec();
        check_ends(|| {
            let mut cursor = tree.cursor();
            cursor.seek(&key, seek)?;
            if !cursor.valid() {
                return Ok(0);
            }
            key = cursor.key().to_vec();
            Ok(1)
        });
    }
}
