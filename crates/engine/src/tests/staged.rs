//! Rows inserted in runs, against a naive model: random batches with duplicates and NULLs, rollbacks, snapshots, crashes.

use super::*;
use std::collections::BTreeMap;

type Content = (i64, String, Option<i64>);
type Model = BTreeMap<i64, Content>;

impl Fixture {
    /// Inserts rows together; `false` when something is in the way.
    pub(super) fn insert_together(&self, session: &mut Session, rows: &[(i64, Content)]) -> bool {
        let mut staged = Staged::default();
        for (id, (k, s, u)) in rows {
            assert!(session.stage(&self.table, &mut staged, &self.row(*id, *k, s, *u)).unwrap());
        }
        session.insert_staged(&self.table, &mut staged).unwrap()
    }

    /// Nobody else makes room in the log.
    fn make_room(&self) {
        self.engine.pool.flush_all().unwrap();
        self.engine.checkpoint().unwrap();
    }

    /// Every index shows the rows of a model.
    fn shows(&self, session: &mut Session, model: &Model) {
        let ids: Vec<i64> = model.keys().copied().collect();
        assert_eq!(self.ids(session, 0, Direction::Forward), ids);
        for index_no in 1..3 {
            let mut by_index = self.ids(session, index_no, Direction::Backward);
            by_index.sort_unstable();
            assert_eq!(by_index, ids, "index {index_no}");
        }
        if let Some((id, (k, s, _))) = model.iter().nth(model.len() / 2) {
            assert_eq!(self.get(session, *id), Some((*k, s.clone())));
        }
    }
}

fn content(random: &mut Random, domain: u64) -> Content {
    let length = if random.below(20) == 0 { random.below(900) } else { random.below(30) };
    let u = (random.below(3) > 0).then(|| random.below(domain * 20) as i64);
    (random.below(50) as i64, "x".repeat(length as usize), u)
}

fn random_batches(seed: u64) {
    println!("replay: ENGINE_SEED={seed}");
    let mut random = Random::new(seed);
    let mut f = Fixture::new();
    let domain = [300, 2_000, 50_000][random.below(3) as usize];
    let (mut committed, mut runs, mut singles) = (Model::new(), 0, 0);
    for _ in 0..12 {
        // Rows that come and go, so that runs meet deleted rows and half-empty leaves.
        let mut reader = f.session();
        let seen = committed.clone();
        f.shows(&mut reader, &seen);
        let mut writer = f.session();
        let mut model = committed.clone();
        for _ in 0..random.below(12) {
            f.make_room();
            writer.statement_start();
            let before = model.clone();
            match random.below(10) {
                0..7 => {
                    let ascending = random.below(3) == 0;
                    let first = random.below(domain) as i64;
                    let count = if random.below(4) == 0 { random.below(1_200) } else { random.below(60) };
                    let mut rows = Vec::new();
                    for no in 0..count as i64 {
                        let id = if ascending { first + no } else { random.below(domain) as i64 };
                        rows.push((id, content(&mut random, domain)));
                    }
                    // Mostly of those that may go in.
                    if random.below(4) > 0 {
                        let mut all = model.clone();
                        let mut users: std::collections::HashSet<i64> = all.values().filter_map(|content| content.2).collect();
                        rows.retain(|(id, content)| {
                            let free = !all.contains_key(id) && content.2.is_none_or(|u| users.insert(u));
                            if free {
                                all.insert(*id, content.clone());
                            }
                            free
                        });
                    }
                    let mut expected = model.clone();
                    let mut all_free = true;
                    let mut users: std::collections::HashSet<i64> = model.values().filter_map(|content| content.2).collect();
                    for (id, content) in &rows {
                        let free = !expected.contains_key(id) && content.2.is_none_or(|u| users.insert(u));
                        all_free &= free;
                        if free {
                            expected.insert(*id, content.clone());
                        }
                    }
                    if f.insert_together(&mut writer, &rows) {
                        assert!(all_free, "a duplicate went in");
                        model = expected;
                        runs += 1;
                    } else {
                        // Nothing of it is in; then one by one.
                        let mut users: std::collections::HashSet<i64> = model.values().filter_map(|content| content.2).collect();
                        for (id, content) in rows {
                            let free = !model.contains_key(&id) && content.2.is_none_or(|u| !users.contains(&u));
                            let (k, s, u) = &content;
                            match f.insert(&mut writer, id, *k, s, *u) {
                                Ok(()) => {
                                    users.extend(content.2);
                                    assert!(free && model.insert(id, content).is_none());
                                }
                                Err(Error::DuplicateKey { .. }) => assert!(!free),
                                Err(error) => panic!("{error}"),
                            }
                        }
                        singles += 1;
                    }
                }
                7 => {
                    let ids: Vec<i64> = model.keys().copied().filter(|_| random.below(3) == 0).collect();
                    for (no, id) in ids.into_iter().enumerate() {
                        if no % 500 == 499 {
                            f.make_room();
                        }
                        assert_eq!(f.delete(&mut writer, id).unwrap(), Modified::Deleted);
                        model.remove(&id);
                    }
                }
                8 => {
                    let ids: Vec<i64> = model.keys().copied().filter(|_| random.below(5) == 0).collect();
                    for (no, id) in ids.into_iter().enumerate() {
                        if no % 500 == 499 {
                            f.make_room();
                        }
                        let (k, s) = (random.below(50) as i64, "y".repeat(random.below(40) as usize));
                        assert_eq!(f.update(&mut writer, id, k, &s).unwrap(), Modified::Replaced);
                        let content = model.get_mut(&id).unwrap();
                        (content.0, content.1) = (k, s);
                    }
                }
                _ => {}
            }
            f.make_room();
            if random.below(5) == 0 {
                writer.statement_rollback().unwrap();
                model = before;
            }
            f.shows(&mut reader, &seen);
        }
        f.shows(&mut writer, &model);
        f.make_room();
        match random.below(4) {
            0 => writer.rollback().unwrap(),
            _ => {
                writer.commit().unwrap();
                committed = model;
            }
        }
        f.shows(&mut reader, &seen);
        drop((reader, writer));
        f.make_room();
        if random.below(3) == 0 {
            f.engine.purge_all();
        }
        if random.below(4) == 0 {
            // A transaction in the middle of its runs.
            let mut lost = f.session();
            let rows: Vec<_> = (0..random.below(1_500) as i64).map(|no| (1_000_000 + no, (no % 7, "lost".into(), None))).collect();
            assert!(f.insert_together(&mut lost, &rows));
            if random.below(2) == 0 {
                f.engine.wal.flush_to(f.engine.wal.lsn_head()).unwrap();
            }
            if random.below(2) == 0 {
                f.make_room();
            }
            std::mem::forget(lost);
            f = f.crash();
        }
        f.check();
        f.shows(&mut f.session(), &committed);
    }
    f.check_purged(committed.len() as u64);
    println!("{runs} batches went in together, {singles} one by one; {} rows", committed.len());
}

#[test]
fn batches_of_rows_agree_with_a_model() {
    let first = seed();
    for seed in (1..=4).chain([first]) {
        random_batches(seed);
    }
}

#[test]
fn what_is_in_the_way_leaves_nothing_of_a_batch() {
    let f = Fixture::new();
    let rows = |ids: std::ops::Range<i64>| ids.map(|id| (id, (id % 5, format!("row {id}"), Some(id)))).collect::<Vec<_>>();
    let mut s = f.session();
    assert!(f.insert_together(&mut s, &rows(0..1000)));
    s.commit().unwrap();
    let undo_is_gone = |f: &Fixture| f.check_purged(1000);
    undo_is_gone(&f);

    // A key that is there, one that comes twice, one of a unique index that is there, and one that comes twice.
    let mut double = rows(2000..2100);
    double.push(double[3].clone());
    let mut twice = rows(2000..2100);
    twice[50].1.2 = Some(2010);
    let mut there = rows(2000..2100);
    there[50].1.2 = Some(10);
    for batch in [rows(990..1010), double, there, twice] {
        s.begin(Isolation::RepeatableRead, false);
        assert!(!f.insert_together(&mut s, &batch));
        f.shows(&mut s, &rows(0..1000).into_iter().collect());
        // Of it nothing is locked, either.
        let mut other = f.session();
        f.insert(&mut other, 2003, 1, "another's", None).unwrap();
        other.rollback().unwrap();
        s.commit().unwrap();
        undo_is_gone(&f);
    }

    // Somebody's row, and somebody's gap.
    let mut other = f.session();
    f.insert(&mut other, 2050, 1, "another's", None).unwrap();
    s.begin(Isolation::RepeatableRead, false);
    assert!(!f.insert_together(&mut s, &rows(2000..2100)));
    assert_eq!(s.insert(&f.table, &mut f.row(2050, 1, "", None)), Err(Error::LockWaitTimeout));
    other.rollback().unwrap();
    other.begin(Isolation::RepeatableRead, false);
    let found = other.get(&f.table, &f.key(2050), Read::Exclusive(Wait::Block), |_| ()).unwrap();
    assert_eq!(found, None);
    assert!(!f.insert_together(&mut s, &rows(2000..2100)));
    assert_eq!(s.insert(&f.table, &mut f.row(2040, 1, "", None)), Err(Error::LockWaitTimeout));
    other.commit().unwrap();
    assert!(f.insert_together(&mut s, &rows(2000..2100)));
    s.rollback().unwrap();
    undo_is_gone(&f);

    // Too large to be staged.
    s.begin(Isolation::RepeatableRead, false);
    let mut staged = Staged::default();
    assert!(!s.stage(&f.table, &mut staged, &f.row(1, 1, &"long".repeat(2000), None)).unwrap());
    assert!(staged.is_empty());
}

#[test]
fn rows_that_go_in_together_take_little_log() {
    let f = Fixture::new();
    let mut s = f.session();
    let rows: Vec<_> = (0..10_000).map(|id| (id, (id * 7919 % 10_007, "a text of thirty bytes, or so".to_owned(), None))).collect();
    assert!(f.insert_together(&mut s, &rows[..100]));
    let before = f.engine.wal.lsn_head().0;
    assert!(f.insert_together(&mut s, &rows[100..]));
    let together = (f.engine.wal.lsn_head().0 - before) as f64 / 9_900.0;
    s.commit().unwrap();
    let alone = Fixture::new();
    let mut s = alone.session();
    let before = alone.engine.wal.lsn_head().0;
    for (id, (k, text, u)) in &rows {
        alone.insert(&mut s, *id, *k, text, *u).unwrap();
    }
    let one_by_one = (alone.engine.wal.lsn_head().0 - before) as f64 / 10_000.0;
    println!("log bytes per row with two secondary indexes: {together:.1} together, {one_by_one:.1} one by one");
    assert!(together < 90.0 && together < one_by_one / 2.0);
    s.commit().unwrap();
    f.check_purged(10_000);
    // The rows in other leaves than the ones they would have been in by themselves are as many.
    let pages = |f: &Fixture| f.table.indexes.iter().map(|index| f.engine.space.pages_of(index.id)).sum::<u64>();
    println!("pages: {} together, {} one by one", pages(&f), pages(&alone));
    assert!(pages(&f) <= pages(&alone));
}

#[test]
fn entries_that_wait_for_the_end_go_in_once() {
    let seed = seed();
    let mut random = Random::new(seed);
    for bytes_max in [100, 20_000, 1 << 20] {
        let f = Fixture::new();
        let directory = Arc::new(spill::Directory::on(Arc::new(SimDisk::new(seed)), "tmp").unwrap());
        let mut s = f.session();
        let mut model = Model::new();
        for round in 0..3 {
            let mut deferred = Deferred::new(&f.table, directory.clone()).with_bytes_max(bytes_max);
            s.statement_start();
            f.make_room();
            let before = model.clone();
            for batch in 0..8 {
                let mut staged = Staged::default();
                for no in 0..1_000i64 {
                    let id = round * 100_000 + batch * 10_000 + no * 7 % 1_000;
                    let content = (random.below(100_000) as i64, format!("row {id}"), (no % 3 > 0).then_some(id));
                    assert!(s.stage(&f.table, &mut staged, &f.row(id, content.0, &content.1, content.2)).unwrap());
                    model.insert(id, content);
                }
                assert!(s.insert_staged_or_defer(&f.table, &mut staged, Some(&mut deferred)).unwrap());
                // Of the unique index no entry waits.
                assert_eq!(f.entries(2), f.entries(0));
            }
            if round == 1 {
                s.statement_rollback().unwrap();
                model = before;
                // What was taken back is locked until the transaction ends.
                s.commit().unwrap();
                s.begin(Isolation::RepeatableRead, false);
                continue;
            }
            s.insert_deferred(&f.table, deferred).unwrap();
            assert_eq!(f.entries(1), model.len() as u64);
        }
        f.shows(&mut s, &model);
        s.commit().unwrap();
        f.check_purged(model.len() as u64);
        assert_eq!(directory.counters().bytes_now(), 0);
        // Half of them, and then the power fails.
        let mut deferred = Deferred::new(&f.table, directory.clone()).with_bytes_max(bytes_max);
        s.begin(Isolation::RepeatableRead, false);
        let mut staged = Staged::default();
        for id in 500_000..502_000 {
            assert!(s.stage(&f.table, &mut staged, &f.row(id, id % 77, "lost", None)).unwrap());
        }
        assert!(s.insert_staged_or_defer(&f.table, &mut staged, Some(&mut deferred)).unwrap());
        f.engine.wal.flush_to(f.engine.wal.lsn_head()).unwrap();
        drop(deferred);
        std::mem::forget(s);
        let f = f.crash();
        f.shows(&mut f.session(), &model);
        f.check_purged(model.len() as u64);
    }
}
