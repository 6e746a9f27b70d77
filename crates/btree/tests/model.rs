//! Random operations against a `BTreeMap`.

mod common;

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use base::IndexId;
use btree::{BTree, Direction, Resumed, RunEnd, RunPlan, Scanned, Seek};
use common::{Rig, Rng, get, put, put_all, remove, seek_model, verify};
use sync::atomic::{AtomicBool, Ordering};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Shapes of keys and values.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Integers,
    Ascending,
    LongShared,
    Mixed,
}

fn key(rng: &mut Rng, shape: Shape, counter: &mut u64) -> Vec<u8> {
    match shape {
        Shape::Integers => rng.below(3000).to_be_bytes().to_vec(),
        Shape::Ascending => {
            *counter += rng.below(3);
            counter.to_be_bytes().to_vec()
        }
        Shape::LongShared => {
            let mut key = vec![b'p'; 200 + (rng.below(4) * 150) as usize];
            key.extend_from_slice(&rng.below(500).to_be_bytes()[5..]);
            key
        }
        Shape::Mixed => {
            let length = if rng.below(10) == 0 { rng.below(1500) } else { rng.below(20) };
            (0..length).map(|_| [0, 1, b'a', 255][rng.below(4) as usize]).collect()
        }
    }
}

fn value(rng: &mut Rng, shape: Shape) -> Vec<u8> {
    let length = match shape {
        Shape::Mixed => {
            let most = if rng.below(8) == 0 { 2500 } else { 100 };
            rng.below(most)
        }
        Shape::LongShared => rng.below(60),
        _ => rng.below(120),
    };
    vec![rng.next() as u8; length as usize]
}

fn random_operations(shape: Shape, seed: u64, steps: usize, frames: usize) {
    println!("seed {seed} shape {shape:?}");
    let rig = Rig::new(seed, frames);
    let tree = rig.tree(7);
    let mut rng = Rng::new(seed);
    let mut model = Model::new();
    let mut counter = 0;
    for step in 0..steps {
        // Grow, then shrink to nothing, then grow again.
        let growing = step % (steps / 2) < steps / 4;
        let key = key(&mut rng, shape, &mut counter);
        match rng.below(20) {
            0..11 if growing => {
                let value = value(&mut rng, shape);
                put(&tree, &key, &value);
                model.insert(key, value);
            }
            0..13 => {
                let key = model.range(key.clone()..).next().map_or(key, |(key, _)| key.clone());
                assert_eq!(remove(&tree, &key).is_some(), model.remove(&key).is_some());
            }
            13 => {
                let mut write = tree.write(&key).unwrap();
                assert_eq!(write.found().map(<[u8]>::to_vec), model.get(&key).cloned());
                if let Some(value) = model.get_mut(&key)
                    && value.len() > 2
                {
                    write.patch(1, &[9, 9], |_| {});
                    value[1..3].copy_from_slice(&[9, 9]);
                }
                let expect = seek_model(&model, &key, Seek::After);
                assert_eq!(write.with_next_key(|next| next.map(<[u8]>::to_vec)).unwrap(), expect);
                write.finish();
            }
            14 if growing => {
                let many = if rng.below(10) == 0 { 2000 } else { 60 };
                let entries: Model =
                    (0..rng.below(many)).map(|_| (self::key(&mut rng, shape, &mut counter), value(&mut rng, shape))).collect();
                put_all(&tree, &entries);
                model.extend(entries);
            }
            14..16 => {
                assert_eq!(get(&tree, &key), model.get(&key).cloned());
                scan_one_leaf(&tree, &model, &key, Direction::Forward, &mut rng);
                scan_one_leaf(&tree, &model, &key, Direction::Backward, &mut rng);
            }
            _ => walk(&tree, &model, &key, &mut rng),
        }
        if step % (steps / 10) == 0 {
            verify(&rig, &tree, &model);
        }
    }
    verify(&rig, &tree, &model);
    for key in model.keys().cloned().collect::<Vec<_>>() {
        remove(&tree, &key);
    }
    model.clear();
    verify(&rig, &tree, &model);
    assert_eq!(tree.height().unwrap(), 1, "an emptied tree is one page");
}

/// Entries from a key on, or those below it, until enough were seen or the leaf ends.
fn scan_one_leaf(tree: &BTree, model: &Model, key: &[u8], direction: Direction, rng: &mut Rng) {
    let wanted = rng.below(20) as usize + 1;
    let (mut above, mut below) = (model.range(key.to_vec()..), model.range(..key.to_vec()).rev());
    let mut expect = || if direction == Direction::Forward { above.next() } else { below.next() };
    let mut seen = 0;
    let is_answered = tree
        .scan_one_leaf(key, direction, |entry, value, _| {
            let (next, stored) = expect().expect("an entry");
            assert_eq!((entry.compare(next), value), (std::cmp::Ordering::Equal, stored.as_slice()));
            let start = &next[..rng.below(next.len() as u64 + 1) as usize];
            assert!(entry.starts_with(start) && !entry.starts_with(&[next, &[0][..]].concat()));
            if let Some((last, others)) = start.split_last() {
                assert!(!entry.starts_with(&[others, &[last ^ 1]].concat()));
            }
            seen += 1;
            if seen == wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert!(!is_answered || seen == wanted || expect().is_none(), "{seen} of {wanted}, and there are more");
    assert!(is_answered || seen < wanted);
}

/// A seek, some steps, and a park, at random.
fn walk(tree: &BTree, model: &Model, key: &Vec<u8>, rng: &mut Rng) {
    let seek = [Seek::AtOrAfter, Seek::After, Seek::AtOrBefore, Seek::Before][rng.below(4) as usize];
    let mut expect = seek_model(model, key, seek);
    let mut cursor = tree.cursor();
    cursor.seek(key, seek).unwrap();
    let forward = rng.below(2) == 0;
    for _ in 0..rng.below(200) {
        assert_eq!(cursor.valid().then(|| cursor.key().to_vec()), expect);
        let Some(at) = expect else { break };
        assert_eq!(cursor.value(), model[&at]);
        if rng.below(10) == 0 {
            let saved = cursor.save();
            cursor = tree.cursor_of(saved);
            assert_eq!(cursor.resume(if forward { Direction::Forward } else { Direction::Backward }).unwrap(), Resumed::Same);
            assert_eq!(cursor.key(), at);
        }
        expect = seek_model(model, &at, if forward { Seek::After } else { Seek::Before });
        if forward {
            cursor.next().unwrap()
        } else {
            cursor.prev().unwrap()
        };
    }
}

#[test]
fn integers_agree_with_the_model() {
    random_operations(Shape::Integers, 101, 12_000, 400);
}

#[test]
fn ascending_keys_agree_with_the_model() {
    random_operations(Shape::Ascending, 102, 12_000, 400);
}

#[test]
fn long_shared_keys_agree_with_the_model() {
    random_operations(Shape::LongShared, 103, 8_000, 400);
}

#[test]
fn mixed_keys_agree_with_the_model() {
    random_operations(Shape::Mixed, 104, 12_000, 400);
}

#[test]
fn a_tiny_pool_agrees_with_the_model() {
    random_operations(Shape::Mixed, 105, 3_000, 24);
}

/// Keys of every tenth number, then runs of what is between them.
#[test]
fn a_run_goes_into_neighbouring_leaves_at_once() {
    let rig = Rig::new(1, 400);
    let tree = rig.tree(7);
    let mut model: Model = (0u64..20_000).map(|n| ((n * 10).to_be_bytes().to_vec(), vec![7; 50])).collect();
    put_all(&tree, &model);
    let sparse: Model = (0u64..40).map(|n| ((n * 1_500 + 3).to_be_bytes().to_vec(), vec![8; 50])).collect();
    let list: Vec<(&[u8], &[u8])> = sparse.iter().map(|(key, value)| (key.as_slice(), value.as_slice())).collect();
    // Leaves that ascending keys have filled have no room: each run of one key makes some in its own, so that all have.
    for (key, value) in &list {
        tree.make_room(key, value.len()).unwrap();
    }
    let pages = |from: usize| {
        let mut run = tree.write_run(list[from].0, RunPlan::default()).unwrap();
        let planned = run.plan(|no| list.get(from + no).copied()).unwrap();
        (planned, run.page_no())
    };
    let ((count, _), last) = pages(0);
    assert!(count >= 16, "{count} entries of as many leaves");
    // Somebody has the last of these leaves: the run ends before it, and goes on with it next time.
    let reader = rig.pool.shared(last).unwrap();
    let ((fewer, end), _) = pages(0);
    assert_eq!((fewer, end), (count - 1, RunEnd::Elsewhere));
    drop(reader);
    let ends = put_all(&tree, &sparse);
    assert!(ends[..count].iter().all(|end| *end == ends[0]), "one record");
    model.extend(sparse);
    verify(&rig, &tree, &model);
}

#[test]
fn keys_that_are_brought_near_are_counted_by_leaf() {
    let rig = Rig::new(3, 4096);
    let tree = rig.tree(7);
    let keys: Vec<Vec<u8>> = (0u64..40_000).map(|n| (n * 7).to_be_bytes().to_vec()).collect();
    let mut builder_order = keys.clone();
    let mut rng = Rng::new(11);
    for at in (1..builder_order.len()).rev() {
        builder_order.swap(at, rng.below(at as u64 + 1) as usize);
    }
    for key in &builder_order {
        put(&tree, key, &[1; 30]);
    }
    for step in [1usize, 40, 900] {
        let asked: Vec<&[u8]> = keys.iter().step_by(step).take(btree::KEYS_NEAR_MAX).map(|key| &key[..]).collect();
        let leaves: std::collections::BTreeSet<_> = asked.iter().map(|key| tree.leaf_hint(key).expect("all is in memory")).collect();
        assert_eq!(tree.bring_near(asked.iter().copied()), leaves.len(), "every {step}th key");
    }
    assert_eq!(tree.bring_near(std::iter::empty()), 0);
    let above_all: Vec<_> = (1u64..50).map(|n| (u64::MAX - 50 + n).to_be_bytes()).collect();
    assert_eq!(tree.bring_near(above_all.iter().map(|key| &key[..])), 1, "the last leaf takes all");
    let small = rig.tree(8);
    for key in &keys[..2000] {
        put(&small, key, &[1; 30]);
    }
    assert_eq!(small.bring_near(keys[..2000].iter().step_by(40).map(|key| &key[..])), 0, "a small tree is near anyhow");
}

#[test]
fn batches_of_leaves_cover_a_range_once() {
    let rig = Rig::new(1, 400);
    let tree = rig.tree(7);
    let all: Vec<[u8; 8]> = (0u64..5000).map(|n| (n * 3).to_be_bytes()).collect();
    for key in &all {
        put(&tree, key, &[1; 40]);
    }
    let mut rng = Rng::new(5);
    for _ in 0..100 {
        let (low, high) = (rng.below(15_100).to_be_bytes(), rng.below(15_100).to_be_bytes());
        let expect: Vec<Vec<u8>> = all.iter().filter(|key| **key >= low && **key <= high).map(|key| key.to_vec()).collect();
        let mut seen = Vec::new();
        let mut cursor = tree.cursor();
        cursor.seek(&low, Seek::AtOrAfter).unwrap();
        loop {
            let scanned = cursor
                .scan_leaf(Bound::Included(&high), |key, _| {
                    let mut whole = Vec::new();
                    key.append_to(&mut whole);
                    seen.push(whole);
                    ControlFlow::Continue(())
                })
                .unwrap();
            match scanned {
                Scanned::NextLeaf => cursor = tree.cursor_of(cursor.save()),
                _ => break,
            }
            cursor.resume(Direction::Forward).unwrap();
        }
        assert_eq!(seen, expect);
        // And back, stopping at every 50th.
        let mut back = Vec::new();
        cursor = tree.cursor();
        cursor.seek(&high, Seek::AtOrBefore).unwrap();
        loop {
            let scanned = cursor
                .scan_leaf_backward(Bound::Included(&low), |key, _| {
                    let mut whole = Vec::new();
                    key.append_to(&mut whole);
                    back.push(whole);
                    if back.len() % 50 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })
                .unwrap();
            match scanned {
                Scanned::EndOfRange => break,
                Scanned::NextLeaf => {}
                Scanned::Stopped => {
                    if !cursor.prev().unwrap() {
                        break;
                    }
                }
            }
        }
        back.reverse();
        assert_eq!(back, expect);
        drop(cursor);
        let estimate = tree.count_estimate(Bound::Included(&low), Bound::Included(&high)).unwrap() as usize;
        assert!(estimate.abs_diff(expect.len()) <= 300, "estimate {estimate} of {}", expect.len());
    }
}

/// However the tree has grown: its last leaf and its last inner page, which growth at the end leaves as empty as it happens, do not tell what the others are like.
#[test]
fn estimates_are_near_whatever_the_ends_of_the_tree_are_like() {
    let rig = Rig::new(3, 4000);
    let tree = rig.tree(7);
    let mut worst = 0.0f64;
    let (all, rows) = (Bound::Unbounded, 60_000u64);
    for n in 0..rows {
        // Keys of which an inner page holds some hundred: the root has more than one child soon.
        let mut key = n.to_be_bytes().to_vec();
        key.resize(60, 7);
        put(&tree, &key, &[0; 300]);
        if n > 1000 && n % 37 == 0 {
            let estimate = tree.count_estimate(all, all).unwrap();
            let off = (estimate as f64 - (n + 1) as f64).abs() / (n + 1) as f64;
            assert!(off < 0.1, "estimate {estimate} of {}", n + 1);
            worst = worst.max(off);
        }
    }
    // The same of parts.
    let mut rng = Rng::new(3);
    for _ in 0..2000 {
        let (a, b) = (rng.below(rows), rng.below(rows));
        let (low, high) = (a.min(b).to_be_bytes(), a.max(b).to_be_bytes());
        let (estimate, real) = (tree.count_estimate(Bound::Included(&low), Bound::Excluded(&high)).unwrap(), a.abs_diff(b));
        assert!(estimate.abs_diff(real) <= 100 + real / 10, "estimate {estimate} of {real} from {a} to {b}");
    }
    println!("at most {:.1} % off", 100.0 * worst);
}

#[test]
fn ascending_inserts_fill_pages() {
    let rig = Rig::new(1, 2000);
    let tree = rig.tree(7);
    for n in 0u64..40_000 {
        put(&tree, &n.to_be_bytes(), &[0; 90]);
    }
    let stats = tree.check().unwrap();
    let filled = stats.leaf_bytes as f64 / (stats.leaf_pages as f64 * 16296.0);
    assert!(filled > 0.97, "leaves are filled to {filled}");
    // Ascending runs in the middle of the key space, as in an order table with several districts.
    let tree = rig.tree(8);
    let mut rng = Rng::new(8);
    let mut counters = [0u64; 10];
    for _ in 0..20_000 {
        let district = rng.below(10);
        let counter = &mut counters[district as usize];
        // An order has ten lines.
        for _ in 0..10 {
            *counter += 1;
        }
        for line in *counter - 10..*counter {
            put(&tree, &[district.to_be_bytes(), line.to_be_bytes()].concat(), &[0; 50]);
        }
        if counters.iter().sum::<u64>() >= 40_000 {
            break;
        }
    }
    let stats = tree.check().unwrap();
    let filled = stats.leaf_bytes as f64 / (stats.leaf_pages as f64 * 16296.0);
    assert!(filled > 0.85, "leaves are filled to {filled}");
}

#[test]
fn bulk_build_agrees_with_the_model() {
    for count in [0u64, 1, 100, 5_000, 60_000] {
        let rig = Rig::new(1, 2000);
        let tree = rig.tree(7);
        let model: Model = (0..count).map(|n| ((n * 7).to_be_bytes().to_vec(), vec![n as u8; (n % 50) as usize])).collect();
        assert_eq!(tree.build(&model).unwrap(), count);
        verify(&rig, &tree, &model);
        if count > 1 {
            assert!(matches!(tree.build(&model), Err(btree::Error::NotEmpty)));
        }
        let mut model = model;
        for n in 0..500u64 {
            let key = (n * 11 % (count + 1)).to_be_bytes().to_vec();
            put(&tree, &key, &[3; 33]);
            model.insert(key, vec![3; 33]);
        }
        verify(&rig, &tree, &model);
    }
    // Long keys make a tall tree.
    let rig = Rig::new(1, 2000);
    let tree = rig.tree(7);
    let model: Model =
        (0..4_000u64).map(|n| ([vec![(n / 700) as u8; 900], n.to_be_bytes().to_vec(), vec![0; 700]].concat(), vec![1; 20])).collect();
    tree.build(&model).unwrap();
    assert!(tree.height().unwrap() >= 3);
    verify(&rig, &tree, &model);
    let unsorted = rig.tree(9);
    assert!(matches!(unsorted.build([(b"b", b"1"), (b"a", b"2")]), Err(btree::Error::NotAscending)));
}

#[test]
fn a_parked_cursor_survives_changes_under_it() {
    let rig = Rig::new(3, 400);
    let tree = rig.tree(7);
    let mut model: Model = (0..4000u64).map(|n| (n.to_be_bytes().to_vec(), vec![1; 60])).collect();
    for (key, value) in &model {
        put(&tree, key, value);
    }
    let mut rng = Rng::new(77);
    let mut cursor = tree.cursor();
    cursor.seek(&2000u64.to_be_bytes(), Seek::AtOrAfter).unwrap();
    for round in 0..300 {
        let at = cursor.key().to_vec();
        cursor.park();
        assert!(!cursor.valid() && cursor.is_parked());
        assert_eq!(cursor.key(), at);
        for _ in 0..rng.below(30) {
            let key = rng.below(4000).to_be_bytes().to_vec();
            if rng.below(3) > 0 {
                remove(&tree, &key);
                model.remove(&key);
            } else {
                put(&tree, &key, &[2; 60]);
                model.insert(key, vec![2; 60]);
            }
        }
        let (direction, seek) =
            if round % 2 == 0 { (Direction::Forward, Seek::AtOrAfter) } else { (Direction::Backward, Seek::AtOrBefore) };
        let resumed = cursor.resume(direction).unwrap();
        let expect = seek_model(&model, &at, seek);
        assert_eq!(cursor.valid().then(|| cursor.key().to_vec()), expect);
        assert_eq!(resumed == Resumed::Same, expect.as_ref() == Some(&at));
        if expect.is_none() {
            cursor.seek(&2000u64.to_be_bytes(), Seek::AtOrAfter).unwrap();
        }
        if !cursor.valid() {
            break;
        }
    }
    drop(cursor);
    verify(&rig, &tree, &model);
}

#[test]
fn entries_of_a_leaf_can_be_walked_and_changed_under_one_latch() {
    let rig = Rig::new(4, 400);
    let tree = rig.tree(7);
    for n in 0..100u64 {
        put(&tree, &(n * 2).to_be_bytes(), &[n as u8; 8]);
    }
    let key = 51u64.to_be_bytes();
    let mut write = tree.write(&key).unwrap();
    assert!(write.found().is_none());
    assert_eq!(write.value(), Some(&[26; 8][..]));
    assert!(write.next());
    assert_eq!(write.value(), Some(&[27; 8][..]));
    write.remove(|_| {});
    assert_eq!(write.value(), Some(&[28; 8][..]));
    assert!(write.prev() && write.prev());
    assert_eq!(write.value(), Some(&[25; 8][..]));
    write.remove(|_| {});
    write.reset();
    assert_eq!(write.value(), Some(&[26; 8][..]));
    write.insert(&[99; 3], |_| {}).unwrap().unwrap();
    assert_eq!(write.found(), Some(&[99; 3][..]));
    write.replace(&[98; 5], |_| {}).unwrap().unwrap();
    write.raise_txn_max(base::TxnId(12));
    write.raise_txn_max(base::TxnId(11));
    write.with_next_key(|next| assert_eq!(next, Some(&52u64.to_be_bytes()[..]))).unwrap();
    assert!(!write.finish().is_none());
    assert_eq!(tree.get_with_txn_max(&key, |value, txn| (value.map(<[u8]>::to_vec), txn)).unwrap(), (Some(vec![98; 5]), base::TxnId(12)));
    assert_eq!(get(&tree, &50u64.to_be_bytes()), None);
    assert_eq!(get(&tree, &54u64.to_be_bytes()), None);
    assert_eq!(tree.check().unwrap().entries, 99);
    // Too large is refused, the largest is taken.
    assert!(matches!(tree.write(b"x").unwrap().insert(&[0; 4000], |_| {}), Err(btree::Error::TooLarge { bytes: 4001 })));
    put(&tree, b"x", &[0; 3999]);
}

/// A reader lets its leaf go while the sibling is read; a key that comes there meanwhile, below the one sought, is not what was asked for.
#[test]
fn a_seek_past_the_end_of_a_leaf_finds_no_key_below_the_one_sought() {
    let rig = Rig::new(5, 400);
    let tree = rig.tree(7);
    for n in 0..2000u64 {
        put(&tree, &(n * 10).to_be_bytes(), &[1; 50]);
    }
    let mut cursor = tree.cursor();
    cursor.first().unwrap();
    while !cursor.is_last_on_leaf() {
        cursor.next().unwrap();
    }
    let last = u64::from_be_bytes(cursor.key().try_into().unwrap());
    drop(cursor);
    let root = tree.root;
    rig.pool.flush_all().unwrap();
    rig.checkpoint();
    for (seek, expect) in [(Seek::AtOrAfter, last + 10), (Seek::After, last + 10)] {
        rig.disk.crash();
        let rig = Rig::recover(rig.disk.clone(), 400);
        let tree = Arc::new(BTree::open(&rig.pool, &rig.space, IndexId(7), root));
        // Everything on the way to the leaf is in memory then, its sibling is not.
        assert_eq!(get(&tree, &last.to_be_bytes()), Some(vec![1; 50]));
        let other = Arc::clone(&tree);
        let came = Arc::new(AtomicBool::new(false));
        let comes = Arc::clone(&came);
        rig.disk.before_read(move || {
            let writer = std::thread::spawn(move || put(&other, &(last + 2).to_be_bytes(), &[2; 8]));
            writer.join().unwrap();
            comes.store(true, Ordering::Relaxed);
        });
        let mut cursor = tree.cursor();
        cursor.seek(&(last + 5).to_be_bytes(), seek).unwrap();
        assert!(came.load(Ordering::Relaxed), "nothing was read");
        assert_eq!(u64::from_be_bytes(cursor.key().try_into().unwrap()), expect);
    }
}
