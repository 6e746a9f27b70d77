//! Crashes on a simulated disk: what is recovered is what a prefix of the committed mini-transactions made.

mod common;

use std::collections::BTreeMap;

use base::{IndexId, PageNo};
use btree::{BTree, DELTAS_FROM_FORMAT, overflow};
use common::{Rig, Rng, contents, page_bytes, put, put_all, remove, rounds, verify};
use page_store::FORMAT_NEWEST;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Runs random operations until `steps` or the disk dies; gives each operation's record end and effect.
fn run(
    rig: &Rig,
    tree: &BTree,
    rng: &mut Rng,
    steps: usize,
    checkpoints: bool,
    mut after: impl FnMut(base::Lsn, Vec<u8>, Option<Vec<u8>>),
) {
    for step in 0..steps {
        let key = match rng.below(3) {
            0 => rng.below(500).to_be_bytes().to_vec(),
            1 => [vec![b'k'; (rng.below(5) * 100) as usize], rng.below(200).to_be_bytes().to_vec()].concat(),
            _ => (step as u64 + 1_000_000).to_be_bytes().to_vec(),
        };
        let removing = step % 1500 > 900;
        if removing && rng.below(4) > 0 {
            let mut cursor = tree.cursor();
            cursor.seek(&key, btree::Seek::AtOrAfter).unwrap();
            if !cursor.valid() {
                continue;
            }
            let key = cursor.key().to_vec();
            drop(cursor);
            if let Some(lsn) = remove(tree, &key) {
                after(lsn, key, None);
            }
        } else if rng.below(8) == 0 {
            // Some keys beside each other, some far.
            let entries: Model = (0..rng.below(100))
                .map(|no| {
                    let key = match rng.below(3) {
                        0 => (step as u64 + 1_000_000 + no).to_be_bytes().to_vec(),
                        1 => rng.below(500).to_be_bytes().to_vec(),
                        _ => [key.clone(), vec![no as u8]].concat(),
                    };
                    (key, vec![rng.below(2) as u8; rng.below(100) as usize])
                })
                .collect();
            for (lsn, (key, value)) in put_all(tree, &entries).into_iter().zip(entries) {
                after(lsn, key, Some(value));
            }
        } else {
            let value = vec![rng.next() as u8; rng.below(300) as usize];
            after(put(tree, &key, &value), key, Some(value));
        }
        if checkpoints && rng.below(100) == 0 {
            rig.checkpoint();
        }
        if rng.below(50) == 0 {
            rig.pool.flush_some(base::Lsn(u64::MAX), 10).unwrap();
        }
        if rng.below(40) == 0 {
            let end = rig.pool.wal().lsn_head();
            rig.pool.wal().wait_durable(end).unwrap();
        }
    }
}

#[test]
fn redo_gives_the_same_bytes() {
    const LOAD_LEAF: u8 = 0x2d;
    for (seed, format) in [(1, FORMAT_NEWEST), (2, DELTAS_FROM_FORMAT), (3, DELTAS_FROM_FORMAT - 1), (4, FORMAT_NEWEST)] {
        println!("seed {seed}, format {format}");
        let rig = Rig::of_format(seed, 2000, format);
        let tree = rig.tree(7);
        let mut rng = Rng::new(seed);
        run(&rig, &tree, &mut rng, 3000, false, |_, _, _| {});
        let built = (0u64..3000).map(|no| (no.to_be_bytes(), vec![no as u8; no as usize % 60]));
        assert_eq!(rig.tree(8).build(built).unwrap(), 3000);
        let end = rig.pool.wal().lsn_head();
        rig.pool.wal().wait_durable(end).unwrap();
        let pages = rig.pool.store().page_count();
        let owned: Vec<PageNo> = (0..pages)
            .map(PageNo)
            .filter(|&page| rig.space.owner_of(page).ok().flatten().is_some_and(|owner| [7, 8].contains(&owner.0)))
            .collect();
        assert!(owned.len() > 10);
        let images: Vec<Vec<u8>> = owned.iter().map(|&page| page_bytes(&rig.pool, page)).collect();
        rig.disk.crash();
        let leaves = Rig::operations(&rig.disk).get(&LOAD_LEAF).copied().unwrap_or(0);
        assert_eq!(leaves > 10, format >= DELTAS_FROM_FORMAT, "{leaves} leaves in the log by what differs");
        let again = Rig::recover(rig.disk.clone(), 2000);
        for (page, image) in owned.iter().zip(images) {
            // Not the checksum, which is set when a page is written.
            assert!(page_bytes(&again.pool, *page)[4..] == image[4..], "page {page} differs after redo");
        }
    }
}

#[test]
fn a_crash_keeps_a_prefix_of_what_was_committed() {
    for seed in 1..=25 * rounds() {
        println!("seed {seed}");
        let frames = if seed % 2 == 0 { 40 } else { 1000 };
        let mut rng = Rng::new(seed * 1000);
        let mut rig = Rig::new(seed, frames);
        let tree = rig.tree(7);
        let root = tree.root;
        rig.pool.wal().wait_durable(rig.pool.wal().lsn_head()).unwrap();
        let mut model = Model::new();
        drop(tree);
        for round in 0..3 {
            let tree = BTree::open(&rig.pool, &rig.space, IndexId(7), root);
            let mut history = Vec::new();
            let steps = 300 + rng.below(1500) as usize;
            run(&rig, &tree, &mut rng, steps, true, |lsn, key, value| history.push((lsn, key, value)));
            let durable = rig.pool.wal().durable();
            rig.disk.crash();
            let again = Rig::recover(rig.disk.clone(), frames);
            let tree = BTree::open(&again.pool, &again.space, IndexId(7), root);
            let found = contents(&tree);
            // At least everything durable, then some prefix of the rest.
            let mut history = history.into_iter().peekable();
            let apply = |model: &mut Model, (_, key, value): (base::Lsn, Vec<u8>, Option<Vec<u8>>)| {
                match value {
                    Some(value) => model.insert(key, value),
                    None => model.remove(&key),
                };
            };
            while let Some(entry) = history.next_if(|(lsn, _, _)| *lsn <= durable) {
                apply(&mut model, entry);
            }
            while found != model {
                let entry = history.next().unwrap_or_else(|| panic!("seed {seed} round {round}: the contents are no prefix"));
                apply(&mut model, entry);
            }
            verify(&again, &tree, &model);
            drop(tree);
            rig = again;
        }
    }
}

#[test]
fn overflow_chains_are_written_read_and_freed() {
    let rig = Rig::new(1, 200);
    let tree = rig.tree(7);
    let full = overflow::OVERFLOW_PAGE_BYTES;
    let mut chains = Vec::new();
    for length in [0, 1, full - 1, full, full + 1, 5 * full + 100, 40 * full] {
        let value: Vec<u8> = (0..length).map(|i| (i * 7 + length) as u8).collect();
        let mut noted = PageNo::NONE;
        let first = overflow::write(&tree, &value, |_, page| noted = page).unwrap();
        assert_eq!(noted, first);
        chains.push((first, value));
    }
    rig.pool.wal().wait_durable(rig.pool.wal().lsn_head()).unwrap();
    rig.disk.crash();
    let root = tree.root;
    drop(tree);
    let rig = Rig::recover(rig.disk.clone(), 200);
    let tree = BTree::open(&rig.pool, &rig.space, IndexId(7), root);
    for (first, value) in &chains {
        let mut out = vec![1, 2];
        overflow::read(&tree, *first, value.len(), &mut out).unwrap();
        assert!(out[2..] == value[..] && out[..2] == [1, 2]);
        assert!(overflow::read(&tree, *first, value.len() + 1, &mut out).is_err());
    }
    assert!(overflow::read(&tree, root, 10, &mut Vec::new()).is_err());
    for (i, (first, _)) in chains.iter().enumerate() {
        if i % 2 == 0 {
            overflow::free(&tree, *first).unwrap();
        } else {
            // As purge does: the tail before, the head with the entry that names it.
            put(&tree, b"row", &first.0.to_le_bytes());
            overflow::free_tail(&tree, *first).unwrap();
            overflow::free_tail(&tree, *first).unwrap();
            let mut write = tree.write(b"row").unwrap();
            overflow::prepare_free_head(&tree, write.mtr(), *first).unwrap();
            write.remove(|mtr| overflow::free_head(&tree, mtr, *first).unwrap());
            write.finish();
        }
        assert!(overflow::read(&tree, *first, 1, &mut Vec::new()).is_err());
    }
    verify(&rig, &tree, &Model::new());
}

#[test]
fn a_chain_cut_short_by_a_crash_can_be_freed() {
    for seed in 0..12 {
        let rig = Rig::new(seed, 200);
        let tree = rig.tree(7);
        let root = tree.root;
        let value = vec![9; 10 * overflow::OVERFLOW_PAGE_BYTES];
        // The part before is durable, somewhere in the middle of the chain the rest is not.
        let mut first = PageNo::NONE;
        rig.pool.wal().wait_durable(rig.pool.wal().lsn_head()).unwrap();
        rig.disk.crash_at(1 + seed * 3);
        let written = overflow::write(&tree, &value, |mtr, page| {
            first = page;
            let _ = mtr;
        });
        let _ = written.and_then(|_| Ok(rig.pool.wal().wait_durable(rig.pool.wal().lsn_head())?));
        drop(tree);
        rig.disk.crash();
        let rig = Rig::recover(rig.disk.clone(), 200);
        let tree = BTree::open(&rig.pool, &rig.space, IndexId(7), root);
        if rig.space.owner_of(first).unwrap() == Some(tree.index) {
            overflow::free(&tree, first).unwrap();
        }
        verify(&rig, &tree, &Model::new());
    }
}
