//! Rows of many keys at once, against one scan for each key.

use super::*;

type Shown = Vec<(usize, i64, i64)>;

/// (number of the key, id, k) by one scan after the other.
fn one_by_one(f: &Fixture, session: &mut Session, index_no: usize, wanted: WantedKeys<'_>) -> Shown {
    let mut rows = Vec::new();
    for (no, key) in wanted.keys.iter().enumerate() {
        let mut scan = session.scan(&f.table, index_no, KeyRange::prefix(key), Direction::Forward, Read::Snapshot).unwrap();
        scan.for_each_with(wanted.restore, |row, _| {
            rows.push((no, int(row, 0), int(row, 1)));
            Step::Continue
        })
        .unwrap();
    }
    rows
}

/// The same at once; `None` when not all were shown.
fn together(f: &Fixture, session: &mut Session, index_no: usize, wanted: WantedKeys<'_>, stop_after: usize) -> Option<Shown> {
    let mut rows = Vec::new();
    let all = session
        .for_each_of_keys(&f.table, index_no, wanted, |found, row| {
            rows.push((found.no, (found.key, int(row, 0), int(row, 1))));
            if rows.len() == stop_after { Step::Stop } else { Step::Continue }
        })
        .unwrap();
    rows.sort_unstable();
    all.then(|| rows.into_iter().map(|(_, row)| row).collect())
}

#[test]
fn many_keys_at_once_show_what_a_scan_for_each_shows() {
    let f = Fixture::new();
    let mut r = Random::new(seed());
    let text = "some text that fills leaves, so that there are many of them ".repeat(4);
    let mut s = f.session();
    for id in 0..1500 {
        f.insert(&mut s, id * 2, r.below(300) as i64, &text, None).unwrap();
    }
    s.commit().unwrap();
    // Views from before, between and after changes, some of which are not committed.
    let mut sessions = Vec::new();
    for round in 0..6 {
        let mut reader = f.session();
        f.get(&mut reader, 0);
        sessions.push(reader);
        let mut w = f.session();
        for _ in 0..60 {
            let id = r.below(1500) as i64 * 2;
            let _ = match r.below(3) {
                0 => f.update(&mut w, id, r.below(300) as i64, &text).map(|_| ()),
                1 => f.delete(&mut w, id).map(|_| ()),
                _ => f.insert(&mut w, id + 1, r.below(300) as i64, &text, None),
            };
        }
        if round == 3 { sessions.push(w) } else { w.commit().unwrap() }
    }
    let int_type = ColumnType::int().not_null();
    let restore = f.restore(1, [0, 1]);
    let mut shown = 0;
    for _ in 0..120 {
        let at = r.below(sessions.len() as u64) as usize;
        let session = &mut sessions[at];
        let index_no = r.below(2) as usize;
        let most = if index_no == 0 { 3000 } else { 300 };
        // Neighbours, keys from everywhere, and keys that nobody has.
        let spread = r.pick(&[30, most + 20]);
        let from = if spread == 30 { r.below(most) as i64 } else { 0 };
        let mut keys: Vec<Vec<u8>> = (0..r.below(100)).map(|_| encoded(&int_type, from + r.below(spread) as i64 - 5)).collect();
        keys.sort_unstable();
        keys.dedup();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let restore = (index_no == 1 && r.below(2) == 0).then_some(&restore);
        let wanted = WantedKeys { keys: &keys, whole: index_no == 0 && r.below(2) == 0, first: false, restore };
        let expect = one_by_one(&f, session, index_no, wanted);
        assert_eq!(together(&f, session, index_no, wanted, usize::MAX).as_ref(), Some(&expect));
        if !expect.is_empty() {
            assert_eq!(together(&f, session, index_no, wanted, expect.len().div_ceil(2)), None, "stopped early");
        }
        shown += expect.len();
        // One row of each key: the first, but behind entries that do not cover.
        let mut first = together(&f, session, index_no, WantedKeys { first: true, ..wanted }, usize::MAX).unwrap();
        first.dedup_by_key(|row| row.0);
        let mut expect_first = expect;
        expect_first.dedup_by_key(|row| row.0);
        assert_eq!(first, expect_first);
    }
    assert!(shown > 1000, "{shown} rows");
}

#[test]
fn what_begins_all_keys_shows_all_rows_until_there_are_too_many() {
    let f = Fixture::new();
    let mut s = f.session();
    for id in 0..4097 {
        f.insert(&mut s, id, 7, "", None).unwrap();
    }
    s.commit().unwrap();
    let mut s = f.session();
    let everything: [&[u8]; 1] = [&[]];
    let mut count = |index_no: usize, restore: Option<&KeyRestore>| {
        let wanted = WantedKeys { keys: &everything, whole: false, first: false, restore };
        together(&f, &mut s, index_no, wanted, usize::MAX).map(|rows| rows.len())
    };
    assert_eq!(count(0, None), Some(4097));
    assert_eq!(count(1, Some(&f.restore(1, [0, 1]))), Some(4097));
    assert_eq!(count(1, None), None, "too many entries to be held");
}

#[test]
fn one_row_of_a_key_is_shown_where_one_is_enough() {
    let f = Fixture::new();
    let mut s = f.session();
    for id in 0..300 {
        f.insert(&mut s, id, id / 100, "", None).unwrap();
    }
    s.commit().unwrap();
    let mut s = f.session();
    let int_type = ColumnType::int().not_null();
    let keys = [encoded(&int_type, 0), encoded(&int_type, 1), encoded(&int_type, 2)];
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let restore = f.restore(1, [0, 1]);
    let wanted = WantedKeys { keys: &keys, whole: false, first: true, restore: Some(&restore) };
    assert_eq!(together(&f, &mut s, 1, wanted, usize::MAX), Some(vec![(0, 0, 0), (1, 100, 1), (2, 200, 2)]));
}

#[test]
fn a_killed_statement_looks_for_no_more_keys() {
    let f = Fixture::new();
    let mut s = f.session();
    f.insert(&mut s, 1, 7, "", None).unwrap();
    s.commit().unwrap();
    let mut s = f.session();
    f.get(&mut s, 1);
    s.cancel().cancel(1);
    let key = f.key(1);
    for (index_no, whole) in [(0, true), (0, false), (1, false)] {
        let wanted = WantedKeys { keys: &[&key], whole, first: false, restore: None };
        let found = s.for_each_of_keys(&f.table, index_no, wanted, |_, _| Step::Continue);
        assert!(matches!(found, Err(Error::Killed)), "{index_no} {whole}");
    }
}
