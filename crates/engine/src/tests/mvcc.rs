//! Sessions interleaved on one thread against a naive model: what each read sees, by rows and by keys alone, which writes meet a lock, what
//! rollback restores.

use super::*;
use std::collections::{BTreeMap, BTreeSet};

type Rows = BTreeMap<i64, (i64, String)>;

/// What the model knows of a session.
struct Reader {
    session: Session,
    isolation: Isolation,
    /// Committed rows when the view was opened.
    snapshot: Option<Rows>,
    /// Own changes, newest last; `None` for a deleted row.
    changes: Vec<(i64, Option<(i64, String)>)>,
    savepoint: Option<(Savepoint, usize)>,
    /// It has locked a gap: looked in vain for a row, or taken an insertion back.
    gaps: bool,
    /// Rows touched since the transaction began, taken back or not: others may find them locked.
    touched: BTreeSet<i64>,
}

impl Reader {
    /// The session's newest change of a row.
    fn own(&self, id: i64) -> Option<&Option<(i64, String)>> {
        self.changes.iter().rev().find(|(changed, _)| *changed == id).map(|(_, row)| row)
    }

    fn sees(&mut self, committed: &Rows) -> Rows {
        let mut rows = self.snapshot.get_or_insert_with(|| committed.clone()).clone();
        for (id, row) in &self.changes {
            match row {
                Some(row) => rows.insert(*id, row.clone()),
                None => rows.remove(id),
            };
        }
        rows
    }

    fn begin(&mut self, isolation: Isolation) {
        self.isolation = isolation;
        self.session.begin(isolation, false);
        self.forget();
    }

    fn forget(&mut self) {
        self.snapshot = None;
        self.changes.clear();
        self.savepoint = None;
        self.touched.clear();
        self.gaps = false;
    }
}

fn run(seed: u64, steps: usize) {
    let mut random = Random::new(seed);
    let mut f = Fixture::new();
    let mut committed = Rows::new();
    let ids = 4 + random.below(30) as i64;
    let connect = |f: &Fixture| Reader {
        session: {
            let mut session = f.engine.connect();
            session.set_lock_wait_timeout(Duration::ZERO);
            session.begin(Isolation::RepeatableRead, false);
            session
        },
        isolation: Isolation::RepeatableRead,
        snapshot: None,
        changes: Vec::new(),
        savepoint: None,
        touched: BTreeSet::new(),
        gaps: false,
    };
    // Often more views than purge looks at one by one.
    let sessions = 3 + random.below(6);
    let mut readers: Vec<Reader> = (0..sessions).map(|_| connect(&f)).collect();
    for step in 0..steps {
        let at = random.below(readers.len() as u64) as usize;
        let (id, k) = (random.below(ids as u64) as i64, random.below(5) as i64);
        let longest = if random.below(30) == 0 { 6000 } else { 30 };
        let text = format!("{step} {}", "x".repeat(random.below(longest) as usize));
        let newest = |reader: &Reader| reader.own(id).cloned().unwrap_or_else(|| committed.get(&id).cloned());
        let held_by_other = readers.iter().enumerate().any(|(no, other)| no != at && other.own(id).is_some());
        let may_be_locked = readers.iter().enumerate().any(|(no, other)| no != at && other.touched.contains(&id));
        // A row that goes leaves its lockers the gap, so whoever has touched any may have one.
        let gaps = readers.iter().enumerate().any(|(no, other)| no != at && (other.gaps || !other.touched.is_empty()));
        let reader = &mut readers[at];
        let action = random.below(20);
        if matches!(action, 0..=13) {
            reader.session.statement_start();
            if reader.isolation == Isolation::ReadCommitted {
                reader.snapshot = None;
            }
        }
        let context = format!("step {step}, session {at}, action {action}, id {id}");
        match action {
            0..=6 => {
                let before = newest(reader);
                let outcome = match action {
                    0 | 1 => f.insert(&mut reader.session, id, k, &text, None).map(|()| Modified::Replaced),
                    2 => f.delete(&mut reader.session, id),
                    _ => f.update(&mut reader.session, id, k, &text),
                };
                let row = (action != 2).then_some((k, text));
                match outcome {
                    Err(Error::LockWaitTimeout) => assert!(may_be_locked || action < 2 && gaps, "{context}: no one has it"),
                    _ if held_by_other => panic!("{context}: {outcome:?} though another session has the row"),
                    Err(Error::DuplicateKey { index_no: 0 }) => {
                        assert!(action < 2 && before.is_some(), "{context}");
                        // It is locked against change.
                        reader.touched.insert(id);
                    }
                    Ok(Modified::NotFound) => {
                        assert!(action >= 2 && before.is_none(), "{context}");
                        reader.gaps = true;
                        // What is left of a deleted row is locked.
                        reader.touched.insert(id);
                    }
                    Ok(_) => {
                        assert_eq!(action < 2, before.is_none(), "{context}");
                        reader.changes.push((id, row));
                        reader.touched.insert(id);
                    }
                    Err(error) => panic!("{context}: {error}"),
                }
            }
            7..=9 => {
                let expected = reader.sees(&committed).get(&id).cloned();
                assert_eq!(f.get(&mut reader.session, id), expected, "{context}");
            }
            10..=13 => {
                let expected = reader.sees(&committed);
                let direction = if action.is_multiple_of(2) { Direction::Forward } else { Direction::Backward };
                let index_no = (action / 12) as usize;
                // By keys alone: the text is not in the index.
                let covered = index_no == 1 && random.below(2) == 0;
                let restore = f.restore(1, [0, 1]);
                let mut got = Vec::new();
                // In batches of a few rows, parked in between.
                let range = if random.below(2) == 0 { KeyRange::all() } else { KeyRange { lower: f.key(id), upper: Vec::new() } };
                let (lower, by_id) = (range.lower.clone(), index_no == 0);
                let mut scan = reader.session.scan(&f.table, index_no, range, direction, Read::Snapshot).unwrap();
                let (mut batch, rows_max) = (RowBatch::default(), 1 + random.below(7) as usize);
                loop {
                    let count = if covered {
                        scan.next_batch_covered(&restore, &mut batch, rows_max).unwrap()
                    } else {
                        scan.next_batch(&mut batch, rows_max).unwrap()
                    };
                    if count == 0 {
                        break;
                    }
                    for no in 0..batch.len() {
                        let row = batch.row(&f.table, no).unwrap();
                        got.push((int(row, 0), if covered { (int(row, 1), String::new()) } else { short(row) }));
                        assert_eq!(batch.key(no), f.key(int(row, 0)), "{context}");
                    }
                    let state = scan.park();
                    scan = reader.session.resume(state);
                }
                drop(scan);
                let mut wanted: Vec<(i64, (i64, String))> = expected.into_iter().collect();
                if !lower.is_empty() {
                    // The range is over encoded ids, in either index: its first part is one INT.
                    wanted.retain(|(row_id, (k, _))| if by_id { *row_id >= id } else { *k >= id });
                }
                if !by_id {
                    wanted.sort_by_key(|(id, (k, _))| (*k, *id));
                }
                if direction == Direction::Backward {
                    wanted.reverse();
                }
                if covered {
                    wanted.iter_mut().for_each(|(_, (_, text))| text.clear());
                }
                assert_eq!(got, wanted, "{context}");
            }
            14 => reader.savepoint = Some((reader.session.savepoint(), reader.changes.len())),
            15 => {
                if let Some((savepoint, length)) = reader.savepoint {
                    reader.session.rollback_to(savepoint).unwrap();
                    reader.changes.truncate(length);
                }
            }
            16 | 17 => {
                reader.session.commit().unwrap();
                for (id, row) in reader.changes.drain(..) {
                    match row {
                        Some(row) => committed.insert(id, row),
                        None => committed.remove(&id),
                    };
                }
                reader.begin(if random.below(3) == 0 { Isolation::ReadCommitted } else { Isolation::RepeatableRead });
            }
            18 => {
                reader.session.rollback().unwrap();
                reader.begin(Isolation::RepeatableRead);
            }
            _ => match random.below(12) {
                0 => {
                    // Power fails; every session's transaction is lost.
                    readers.clear();
                    if random.below(2) == 0 {
                        f.engine.checkpoint().unwrap();
                    }
                    f = f.crash();
                    readers = (0..sessions).map(|_| connect(&f)).collect();
                }
                1..=3 => f.engine.checkpoint().unwrap(),
                _ => f.engine.purge_all(),
            },
        }
    }
    readers.iter_mut().for_each(|reader| reader.session.rollback().unwrap());
    drop(readers);
    assert_eq!(f.ids(&mut f.session(), 0, Direction::Forward), committed.keys().copied().collect::<Vec<_>>());
    f.check_purged(committed.len() as u64);
}

#[test]
fn interleaved_sessions_see_what_a_naive_model_sees() {
    let seed = seed();
    for round in 0..12 {
        run(seed.wrapping_add(round * 7919), 500);
    }
}

/// The same rows in new trees, as ALTER TABLE copies them.
fn copied(f: Fixture) -> Fixture {
    let mut spec = f.spec.clone();
    let limits = BuildLimits { changed_bytes_max: 1 << 20, sort_bytes_max: 1 << 20, directory: None };
    let (copy, mut build) = super::copies::begin_copy(&f, &mut spec, true, limits);
    let cancel = Cancel::new();
    build.build(&cancel).unwrap();
    build.finish(&cancel).unwrap();
    drop(build);
    Fixture { disk: f.disk, engine: f.engine, spec, table: copy }
}

/// Nor are they the rows of a transaction that has no id because it only reads: it locks them.
#[test]
fn copied_rows_are_locked_by_locking_reads() {
    let f = Fixture::new();
    let mut writer = f.session();
    for id in 1..4 {
        f.insert(&mut writer, id, 10 * id, "old", Some(id)).unwrap();
    }
    writer.commit().unwrap();
    drop(writer);
    let f = copied(f);
    let no_wait = || {
        let mut session = f.session();
        session.set_lock_wait_timeout(Duration::ZERO);
        session
    };
    // Both have begun, and have no id.
    let (mut reader, mut writer) = (no_wait(), no_wait());
    assert_eq!(reader.get(&f.table, &f.key(1), Read::Share(Wait::Block), |_| ()), Ok(Some(())));
    assert_eq!(f.update(&mut writer, 1, 1, "new"), Err(Error::LockWaitTimeout));
    let mut scan = reader.scan(&f.table, 1, KeyRange::all(), Direction::Forward, Read::Exclusive(Wait::Block)).unwrap();
    scan.for_each(|_, _| Step::Continue).unwrap();
    drop(scan);
    for id in 1..4 {
        assert_eq!(writer.get(&f.table, &f.key(id), Read::Share(Wait::NoWait), |_| ()), Err(Error::LockNotAvailable), "row {id}");
        assert_eq!(f.update(&mut writer, id, 1, "new"), Err(Error::LockWaitTimeout), "row {id}");
    }
    reader.commit().unwrap();
    assert_eq!(f.update(&mut writer, 1, 1, "new"), Ok(Modified::Replaced));
    writer.commit().unwrap();
}

/// Rows that ALTER TABLE has copied have no writer: not like rows that are not there.
#[test]
fn a_copied_row_under_an_open_change_is_seen_as_it_was() {
    let f = Fixture::new();
    let mut writer = f.session();
    f.insert(&mut writer, 1, 10, "old", None).unwrap();
    writer.commit().unwrap();
    let f = copied(f);
    writer.begin(Isolation::RepeatableRead, false);
    f.update(&mut writer, 1, 11, "new").unwrap();
    f.update(&mut writer, 1, 12, "newer").unwrap();
    let mut reader = f.session();
    assert_eq!(f.get(&mut reader, 1), Some((10, "old".into())));
    f.delete(&mut writer, 1).unwrap();
    assert_eq!(f.get(&mut reader, 1), Some((10, "old".into())));
    writer.rollback().unwrap();
    assert_eq!(f.get(&mut reader, 1), Some((10, "old".into())));
}
