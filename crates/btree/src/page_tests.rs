//! The slotted page against a `BTreeMap`.

use std::collections::BTreeMap;

use base::{IndexId, PAGE_BYTES, PageNo, TxnId};
use proptest::prelude::*;

use crate::check::{check_layout, check_order};
use crate::edit::{Identity, NodeMut};
use crate::layout::{CAPACITY, Page};
use crate::node::Node;
use crate::ops::{self, Load};
use crate::split::split_point;

const PAGE: PageNo = PageNo(9);

fn identity(level: u16) -> Identity {
    Identity { index: IndexId(5), level, left: PageNo::NONE, right: PageNo::NONE, txn_max: TxnId::NONE, run: 0 }
}

fn empty(level: u16) -> Box<Page> {
    let mut page = Box::new([0; PAGE_BYTES]);
    NodeMut::new(&mut *page).init(identity(level), &[]);
    page
}

#[derive(Debug, Clone)]
enum Op {
    Put(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    Patch(Vec<u8>, u8),
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        (0u64..600).prop_map(|n| n.to_be_bytes().to_vec()),
        (0u32..300).prop_map(|n| n.to_be_bytes().to_vec()),
        prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], 0..7),
        (prop::collection::vec(any::<u8>(), 0..3), 0usize..400).prop_map(|(tail, n)| [vec![7; n], tail].concat()),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        5 => (key(), prop_oneof![0usize..60, 0usize..2000]).prop_map(|(key, n)| { let fill = key.len() as u8 ^ n as u8; Op::Put(key, vec![fill; n]) }),
        2 => key().prop_map(Op::Remove),
        1 => (key(), any::<u8>()).prop_map(|(key, byte)| Op::Patch(key, byte)),
    ]
}

fn verify(page: &Page, model: &BTreeMap<Vec<u8>, Vec<u8>>) {
    let node = Node(page);
    check_layout(node, PAGE).unwrap();
    check_order(node, PAGE, None, None).unwrap();
    assert_eq!(node.count(), model.len());
    for (slot, (key, value)) in model.iter().enumerate() {
        assert_eq!(&node.key_vec(slot), key);
        assert_eq!(node.leaf_value(slot), value);
        assert!(node.key(slot).compare(key).is_eq());
    }
    check_copies(page);
}

/// Entries that are copied, as they are or under a longer prefix, leave the bytes that rebuilt ones do: redo may meet what either has done.
fn check_copies(page: &Page) {
    let old = Node(page);
    let all = 0..old.count();
    let prefix = if all.is_empty() { Vec::new() } else { old.key_vec(old.count() - 1) };
    let longest = old.prefix_len().max(old.prefix_of(all.clone()));
    for prefix_len in [old.prefix_len(), old.prefix_len().midpoint(longest), longest] {
        let [mut copied, mut rebuilt] = [(); 2].map(|()| Box::new(*empty(old.level())));
        let [a, b] = [(&mut copied, true), (&mut rebuilt, false)].map(|(page, copy)| {
            let mut node = NodeMut::new(&mut **page);
            node.begin(if prefix_len == old.prefix_len() { old.prefix() } else { &prefix[..prefix_len] });
            if copy { node.copy_slots(old, all.clone()) } else { node.rebuild_entries(old, all.clone()) }
        });
        // Short suffixes lie in the slots: a longer prefix may cost more than it saves.
        assert!(a == b && (a.is_ok() || prefix_len > old.prefix_len()), "{a:?}, {b:?}");
        if a.is_ok() {
            assert!(copied == rebuilt, "copied and rebuilt entries differ under a prefix of {prefix_len}, which was {}", old.prefix_len());
            check_layout(Node(&copied), PAGE).unwrap();
        }
    }
}

proptest! {
    #[test]
    fn page_agrees_with_the_model(ops in prop::collection::vec(op(), 1..250)) {
        let mut page = empty(0);
        let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        for op in ops {
            let before = page.clone();
            match op {
                Op::Put(key, value) => {
                    let at = Node(&page).find(&key);
                    let mut node = NodeMut::new(&mut *page);
                    let done = if at.found { node.replace(at.slot, &value) } else { node.insert(at.slot, &key, &value) };
                    if done.is_ok() {
                        model.insert(key, value);
                    } else {
                        prop_assert!(before == page, "a refused change left traces");
                        let used: usize = model.iter().map(|(k, v)| k.len() + v.len() + 20).sum();
                        prop_assert!(used + key.len() + value.len() > CAPACITY * 3 / 4 || !key.starts_with(Node(&page).prefix()));
                        check_split(&page, &key, &value);
                    }
                }
                Op::Remove(key) => {
                    let at = Node(&page).find(&key);
                    prop_assert_eq!(at.found, model.remove(&key).is_some());
                    if at.found {
                        NodeMut::new(&mut *page).remove(at.slot);
                    }
                }
                Op::Patch(key, byte) => {
                    let at = Node(&page).find(&key);
                    if let Some(value) = model.get_mut(&key) && !value.is_empty() {
                        let offset = byte as usize % value.len();
                        value[offset] = byte;
                        NodeMut::new(&mut *page).patch(at.slot, offset, &[byte]);
                    }
                }
            }
            verify(&page, &model);
            for probe in [vec![], vec![0], vec![7; 5], 300u64.to_be_bytes().to_vec(), vec![255; 9]] {
                let at = Node(&page).find(&probe);
                prop_assert_eq!(at.found, model.contains_key(&probe));
                prop_assert_eq!(at.slot, model.range::<Vec<u8>, _>(..&probe).count());
            }
        }
    }

    #[test]
    fn inner_page_finds_the_responsible_child(keys in prop::collection::btree_set(key(), 0..200), probes in prop::collection::vec(key(), 20)) {
        let mut page = empty(1);
        NodeMut::new(&mut *page).push(&[], &1000u64.to_le_bytes()).unwrap();
        let mut separators: Vec<Vec<u8>> = Vec::new();
        for key in keys.into_iter().filter(|key| !key.is_empty()) {
            let at = Node(&page).find(&key);
            let child = 1001 + separators.len() as u64;
            if NodeMut::new(&mut *page).insert(at.slot, &key, &child.to_le_bytes()).is_ok() {
                separators.push(key);
            } else {
                let point = split_point(Node(&page), &key, 8).unwrap();
                prop_assert!(point.keep >= 1 && point.keep < Node(&page).count());
                prop_assert_eq!(&point.separator, &Node(&page).key_vec(point.keep));
                break;
            }
        }
        check_layout(Node(&page), PAGE).unwrap();
        check_order(Node(&page), PAGE, None, None).unwrap();
        for probe in probes {
            let expect = separators.iter().filter(|separator| **separator <= probe).count();
            prop_assert_eq!(crate::search::child_slot(&*page, &probe), expect);
            prop_assert_eq!(crate::search::child_at(&*page, expect), 1000 + expect as u64);
            prop_assert_eq!(Node(&page).slot(expect).offset() % 8, 0);
        }
        check_copies(&page);
    }
}

/// Splitting where `split_point` says makes room on the right side, and loses nothing.
fn check_split(page: &Page, key: &[u8], value: &[u8]) {
    let node = Node(page);
    let found = node.find(key).found;
    let point = split_point(node, key, value.len()).expect("it did not fit");
    let mut left = Box::new(*page);
    NodeMut::new(&mut *left).truncate(point.keep);
    let load = Load::copy_of(node, point.keep..node.count(), identity(0));
    let mut payload = Vec::new();
    load.encode(&mut payload);
    let mut right = Box::new([0; PAGE_BYTES]);
    ops::load(&mut *right, &payload).unwrap();
    // What a split does and logs in its stead.
    let mut copied = Box::new([0; PAGE_BYTES]);
    ops::copy_upper(&mut *copied, node, point.keep, identity(0));
    let mut logged = Vec::new();
    ops::encode_leaf(&mut logged, Node(&copied));
    assert!(copied == right && logged == payload, "the right page of a split is not what redo makes");
    let mut deltas = Vec::new();
    ops::encode_leaf_deltas(&mut deltas, Node(&copied));
    let mut redone = Box::new([0; PAGE_BYTES]);
    ops::load_leaf(&mut *redone, &deltas).unwrap();
    assert!(redone == right, "the right page of a split is not what redo makes of what differs");
    assert_eq!(Node(&left).count() + Node(&right).count(), node.count());
    check_layout(Node(&left), PAGE).unwrap();
    check_layout(Node(&right), PAGE).unwrap();
    check_order(Node(&left), PAGE, None, Some(&point.separator)).unwrap();
    check_order(Node(&right), PAGE, Some(&point.separator), None).unwrap();
    let side = if key < point.separator.as_slice() { &mut left } else { &mut right };
    let at = Node(side).find(key);
    assert_eq!(at.found, found);
    if found {
        assert!(NodeMut::new(&mut **side).replace(at.slot, value).is_ok(), "no room after the split");
    } else {
        assert!(NodeMut::new(&mut **side).insert(at.slot, key, value).is_ok(), "no room after the split");
    }
}

#[test]
fn ascending_inserts_split_at_the_end() {
    let mut page = empty(0);
    for n in 0u64.. {
        let key = n.to_be_bytes();
        let slot = Node(&page).count();
        if NodeMut::new(&mut *page).insert(slot, &key, &[0; 100]).is_err() {
            let point = split_point(Node(&page), &key, 100).unwrap();
            assert!(point.ascending);
            assert_eq!(point.keep, slot);
            break;
        }
    }
    assert!(Node(&page).free_bytes() < 120);
}

#[test]
fn payloads_that_do_not_fit_the_page_are_malformed() {
    use buffer_pool::RedoHandler;
    let mut page = empty(0);
    for n in 0u8..50 {
        NodeMut::new(&mut *page).insert(n as usize, &[n; 6], &[n; 10]).unwrap();
    }
    let mut state = 88172645463325252u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    println!("seed 88172645463325252");
    for _ in 0..20_000 {
        let op = 0x20 + (random() % 14) as u8;
        let payload: Vec<u8> = (0..random() % 40).map(|_| if random() % 3 == 0 { random() as u8 } else { random() as u8 % 60 }).collect();
        let mut copy = page.clone();
        // Whatever it says, it must not panic.
        let _ = ops::Redo.redo(op, &payload, &mut *copy);
        let _ = ops::Redo.place_word(op, &payload).map(|at| ops::Redo.place(at as u64));
    }
}

/// Builds before told runs otherwise (forms 0 and 1): their logs are redone.
#[test]
fn runs_of_older_builds_are_redone() {
    use buffer_pool::RedoHandler;
    let payload = |form: u8, prefix: Option<&[u8]>, entries: &[(u8, u8, &[u8], &[u8])]| {
        let mut out = vec![form, 7];
        prefix.into_iter().for_each(|prefix| base::put_bytes(&mut out, prefix));
        out.push(entries.len() as u8);
        base::put_bytes(&mut out, b"head");
        for (gap, shared, suffix, value) in entries {
            out.extend_from_slice(&[*gap, *shared]);
            base::put_bytes(&mut out, suffix);
            base::put_bytes(&mut out, value);
        }
        out
    };
    let mut page = empty(0);
    ops::Redo.redo(ops::INSERT_RUN, &payload(1, Some(b"key "), &[(0, 0, b"abcdef", b"1"), (0, 3, b"x", b"22")]), &mut *page).unwrap();
    ops::Redo.redo(ops::INSERT_RUN, &payload(0, None, &[(1, 0, b"abcg", b""), (1, 5, b"z", b"4")]), &mut *page).unwrap_err();
    ops::Redo.redo(ops::INSERT_RUN, &payload(0, None, &[(1, 0, b"abcg", b""), (1, 1, b"z", b"4")]), &mut *page).unwrap();
    let model = [("key abcdef", "head1"), ("key abcg", "head"), ("key abcx", "head22"), ("key az", "head4")];
    verify(&page, &model.map(|(key, value)| (key.into(), value.into())).into());
    assert_eq!(Node(&page).txn_max(), TxnId(7));
}

#[test]
fn redo_finds_the_slot_and_the_entry_that_an_operation_is_about() {
    use buffer_pool::RedoHandler;
    let mut page = empty(0);
    for n in 0u16..300 {
        NodeMut::new(&mut *page).insert(n.into(), &[&[7; 5], &n.to_be_bytes()[..]].concat(), &[n as u8; 10]).unwrap();
    }
    for slot in [0usize, 1, 127, 128, 299] {
        let slot_payload = |out: &mut Vec<u8>| base::put_varint(out, slot as u64);
        for (op, form) in [(ops::REMOVE, None), (ops::REPLACE, None), (ops::PATCH, None), (ops::INSERT, Some(0u8))] {
            let mut payload: Vec<u8> = form.into_iter().collect();
            slot_payload(&mut payload);
            payload.extend_from_slice(&[1, 2, 3]);
            let at = ops::Redo.place_word(op, &payload).unwrap();
            let word = u64::from_le_bytes(page[at..at + 8].try_into().unwrap());
            assert_eq!(
                (word, ops::Redo.place(word)),
                (Node(&page).slot(slot).0, Node(&page).slot(slot).offset()),
                "operation {op:#x} at slot {slot}"
            );
        }
    }
    assert_eq!(ops::Redo.place_word(ops::LOAD, &[0; 8]), None);
}

/// A page that lacks changes from before, as a write that was lost leaves it.
#[test]
fn redo_refuses_what_does_not_lie_between_its_neighbours() {
    use buffer_pool::RedoHandler;
    let insert = |slot: u64, key: &[u8]| {
        let mut out = vec![0u8];
        base::put_varint(&mut out, slot);
        base::put_bytes(&mut out, key);
        out.extend_from_slice(b"value");
        out
    };
    let mut page = empty(0);
    for (slot, key) in [b"bbbbb", b"ddddd", b"fffff"].into_iter().enumerate() {
        ops::Redo.redo(ops::INSERT, &insert(slot as u64, key), &mut *page).unwrap();
    }
    for (slot, key) in [
        (0, b"ccccc"),
        (0, b"bbbbb"),
        (1, b"ddddd"),
        (1, b"eeeee"),
        (1, b"aaaaa"),
        (2, b"ccccc"),
        (2, b"zzzzz"),
        (3, b"fffff"),
        (3, b"aaaaa"),
    ] {
        ops::Redo.redo(ops::INSERT, &insert(slot, key), &mut *page.clone()).unwrap_err();
    }
    for (slot, key) in [(0, b"aaaaa"), (1, b"ccccc"), (2, b"eeeee"), (3, b"ggggg")] {
        ops::Redo.redo(ops::INSERT, &insert(slot, key), &mut *page.clone()).unwrap();
    }
    // Runs, as builds before told them: slot, how much of the suffix is the one before, the rest of it.
    let run = |entries: &[(u64, &[u8])]| {
        let mut out = vec![0u8];
        base::put_varint(&mut out, 0);
        base::put_varint(&mut out, entries.len() as u64);
        base::put_bytes(&mut out, b"");
        for (slot, suffix) in entries {
            base::put_varint(&mut out, *slot);
            base::put_varint(&mut out, 0);
            base::put_bytes(&mut out, suffix);
            base::put_bytes(&mut out, b"value");
        }
        out
    };
    for (entries, fits) in [
        (vec![(1u64, b"ccccc".as_slice()), (1, b"eeeee")], true),
        (vec![(1, b"ccccc"), (0, b"ccddd")], true),
        (vec![(3, b"ggggg"), (0, b"hhhhh")], true),
        (vec![(3, b"eeeee")], false),
        (vec![(1, b"ccddd"), (0, b"ccccc")], false),
        (vec![(1, b"ccccc"), (0, b"ddddd")], false),
        (vec![(0, b"bbbbb")], false),
        (vec![(1, b"bbbbb")], false),
    ] {
        let done = ops::Redo.redo(ops::INSERT_RUN, &run(&entries), &mut *page.clone());
        assert_eq!(done.is_ok(), fits, "{entries:?}");
    }
}
