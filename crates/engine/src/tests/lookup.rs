//! Rows of one key of a secondary index, against a scan of the keys that begin with it.

use super::*;

/// (id, k) of a row, and its primary key.
type Shown = Vec<(i64, i64, Vec<u8>)>;

fn by_scan(f: &Fixture, session: &mut Session, index_no: usize, key: &[u8], restore: Option<&KeyRestore>) -> Shown {
    let mut rows = Vec::new();
    let mut scan = session.scan(&f.table, index_no, KeyRange::prefix(key), Direction::Forward, Read::Snapshot).unwrap();
    scan.for_each_with(restore, |row, key| {
        rows.push((int(row, 0), int(row, 1), key.to_vec()));
        Step::Continue
    })
    .unwrap();
    rows
}

/// The first `wanted` rows, and whether a scan had to show the last of them.
fn by_lookup(
    f: &Fixture,
    session: &mut Session,
    index_no: usize,
    key: &[u8],
    direction: Direction,
    wanted: u64,
    restore: Option<&KeyRestore>,
) -> (Shown, bool) {
    let mut rows = Vec::new();
    let mut lookup = session.look_up(&f.table, index_no, key, direction, wanted, restore).unwrap();
    while let Some(row) = lookup.next(|row, key| (int(row, 0), int(row, 1), key.to_vec())).unwrap() {
        rows.push(row);
        if rows.len() as u64 == wanted {
            return (rows, false);
        }
    }
    let Some(rest) = lookup.into_rest() else { return (rows, false) };
    session
        .resume(rest)
        .for_each_with(restore, |row, key| {
            rows.push((int(row, 0), int(row, 1), key.to_vec()));
            if rows.len() as u64 == wanted { Step::Stop } else { Step::Continue }
        })
        .unwrap();
    (rows, true)
}

/// All rows by a scan whose reader says that it wants few, and asks for so many until there is no more.
fn by_pieces(
    f: &Fixture,
    session: &mut Session,
    index_no: usize,
    key: &[u8],
    direction: Direction,
    wanted: u64,
    restore: Option<&KeyRestore>,
) -> Shown {
    let mut rows = Vec::new();
    let mut scan = session.scan(&f.table, index_no, KeyRange::prefix(key), direction, Read::Snapshot).unwrap().wanting(wanted);
    loop {
        let mut left = wanted;
        let more = scan.for_each_with(restore, |row, key| {
            rows.push((int(row, 0), int(row, 1), key.to_vec()));
            left -= 1;
            if left == 0 { Step::Stop } else { Step::Continue }
        });
        if !more.unwrap() {
            return rows;
        }
        let parked = scan.park();
        scan = session.resume(parked);
    }
}

/// Views from before, between and after changes that move rows between keys, give a unique key from one row to another, or are not committed. Few keys have many rows.
#[test]
fn a_lookup_shows_what_a_scan_of_its_key_shows() {
    let f = Fixture::new();
    let mut r = Random::new(seed());
    let text = "some text that fills leaves, so that there are many of them ".repeat(4);
    // A third of the rows has one of two keys.
    let key_of = |r: &mut Random| if r.below(3) == 0 { r.below(2) as i64 } else { r.below(300) as i64 };
    let mut s = f.session();
    for id in 0..1500 {
        let k = key_of(&mut r);
        f.insert(&mut s, id * 2, k, &text, (id < 400).then_some(id)).unwrap();
    }
    s.commit().unwrap();
    let mut sessions = Vec::new();
    for round in 0..6 {
        let mut reader = f.session();
        f.get(&mut reader, 0);
        sessions.push(reader);
        let mut w = f.session();
        for _ in 0..120 {
            let (id, k) = (r.below(800) as i64 * 2, key_of(&mut r));
            let _ = match r.below(3) {
                0 => f.update(&mut w, id, k, &text).map(|_| ()),
                1 => f.delete(&mut w, id).map(|_| ()),
                // The key of a row that goes is another's.
                _ => f.delete(&mut w, id).and_then(|_| f.insert(&mut w, id + 1, k, &text, Some(id / 2))),
            };
        }
        match round {
            2 => w.rollback().unwrap(),
            3 => sessions.push(w),
            _ => w.commit().unwrap(),
        }
    }
    let restores = [f.restore(1, [0, 1]), f.restore(2, [0, 0])];
    let (mut shown, mut with_rest, mut moved) = (0, [0, 0], 0);
    for _ in 0..1500 {
        let at = r.below(sessions.len() as u64) as usize;
        let session = &mut sessions[at];
        let (index_no, key) = match r.below(2) {
            0 => (1, encoded(&ColumnType::int().not_null(), key_of(&mut r))),
            _ => (2, encoded(&ColumnType::int(), r.below(410) as i64)),
        };
        let restore = (r.below(2) == 0).then_some(&restores[index_no - 1]);
        // What is not of the index comes back as nothing, or not: it is left out.
        let known = |rows: Shown| if index_no == 2 { rows.into_iter().map(|(id, _, key)| (id, 0, key)).collect() } else { rows };
        let expect = known(by_scan(&f, session, index_no, &key, restore));
        let wanted = r.below(expect.len() as u64 + 1) + 1;
        for direction in [Direction::Forward, Direction::Backward] {
            let expect: Shown = match direction {
                Direction::Forward => expect.clone(),
                Direction::Backward => expect.iter().rev().cloned().collect(),
            };
            let (found, rest) = by_lookup(&f, session, index_no, &key, direction, u64::MAX, restore);
            assert_eq!(known(found), expect, "session {at}, index {index_no}, {key:?}, {direction:?}");
            let (first, _) = by_lookup(&f, session, index_no, &key, direction, wanted, restore);
            assert_eq!(known(first), expect[..expect.len().min(wanted as usize)], "the first {wanted}, {direction:?}");
            let pieces = known(by_pieces(&f, session, index_no, &key, direction, wanted, restore));
            assert_eq!(pieces, expect, "{wanted} at a time, {direction:?}");
            with_rest[usize::from(direction == Direction::Backward)] += usize::from(rest);
        }
        shown += expect.len();
        moved += usize::from(index_no == 2 && expect.iter().any(|(id, ..)| id % 2 == 1));
    }
    assert!(
        shown > 1500 && with_rest[0] > 10 && with_rest[1] > 10 && moved > 10,
        "{shown} rows, {with_rest:?} times a scan for the rest, {moved} keys of other rows"
    );
}

/// Of a unique key that has gone from row to row each reader sees one, however many entries there are.
#[test]
fn a_unique_key_that_moves_is_seen_where_each_view_has_it() {
    let f = Fixture::new();
    let mut readers = Vec::new();
    // More entries than a lookup takes at once.
    for id in 0..140 {
        let mut w = f.session();
        if id > 0 {
            f.delete(&mut w, id - 1).unwrap();
        }
        f.insert(&mut w, id, 100 + id, "", Some(7)).unwrap();
        w.commit().unwrap();
        let mut reader = f.session();
        f.get(&mut reader, 0);
        readers.push(reader);
    }
    // Who is at work beside them: entries do not answer for their rows.
    let mut busy = f.session();
    f.insert(&mut busy, 1000, 1, "", Some(8)).unwrap();
    assert_eq!(f.entries(2), 141);
    let key = encoded(&ColumnType::int(), 7);
    for (id, reader) in readers.iter_mut().enumerate() {
        for direction in [Direction::Forward, Direction::Backward] {
            let (found, _) = by_lookup(&f, reader, 2, &key, direction, u64::MAX, None);
            assert_eq!(found, [(id as i64, 100 + id as i64, f.key(id as i64))]);
        }
        let found = reader.get_unique(&f.table, 2, &key, Read::Snapshot, |row, _, _| int(row, 0)).unwrap();
        assert_eq!(found, Some(id as i64));
    }
}

#[test]
fn what_a_lookup_reads_is_counted_as_mysql_counts_it() {
    let f = Fixture::new();
    let mut s = f.session();
    for id in 0..3 {
        f.insert(&mut s, id, 7, "", Some(id)).unwrap();
    }
    s.commit().unwrap();
    let mut s = f.session();
    let mut counted = |index_no: usize, ty: &ColumnType, n: i64| {
        let mut counted_to = |direction, steps| {
            let calls = [HandlerCall::ReadKey, steps];
            let before = calls.map(|call| s.handler_counts().now().of(call));
            let key = encoded(ty, n);
            let mut lookup = s.look_up(&f.table, index_no, &key, direction, u64::MAX, None).unwrap();
            while lookup.next(|_, _| ()).unwrap().is_some() {}
            lookup.count(true);
            [0, 1].map(|no| s.handler_counts().now().of(calls[no]) - before[no])
        };
        let forward = counted_to(Direction::Forward, HandlerCall::ReadNext);
        assert_eq!(counted_to(Direction::Backward, HandlerCall::ReadPrevious), forward, "from the end");
        forward
    };
    let (k, u) = (ColumnType::int().not_null(), ColumnType::int());
    assert_eq!(counted(1, &k, 7), [1, 3], "three rows, and a look behind them");
    assert_eq!(counted(1, &k, 8), [1, 0]);
    assert_eq!(counted(2, &u, 2), [1, 0], "a unique key has no other row");
    assert_eq!(counted(2, &u, 9), [1, 0]);
}

#[test]
fn a_killed_statement_looks_nothing_up() {
    let f = Fixture::new();
    let mut s = f.session();
    f.get(&mut s, 1);
    s.cancel().cancel(1);
    assert!(matches!(s.look_up(&f.table, 1, &f.key(1), Direction::Forward, u64::MAX, None).map(|_| ()), Err(Error::Killed)));
}
