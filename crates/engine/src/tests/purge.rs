//! Several who purge at once, and those who help.

use super::*;
use sync::atomic::{AtomicBool, Ordering};

fn crowd(disk: &Arc<SimDisk>, purge_threads: usize) -> Fixture {
    let engine = open_with(disk, EngineConfig { purge_threads, ..EngineConfig::small() });
    Fixture::on(Arc::clone(disk), engine)
}

#[test]
fn workers_purge_rows_that_are_changed_deleted_and_made_again_by_many() {
    const WORKERS: usize = 3;
    const ROWS: u64 = 6;
    let f = &crowd(&Arc::new(SimDisk::new(1)), WORKERS);
    let stop = &AtomicBool::new(false);
    let seed = seed();
    let before = f.engine.space.pages_of(f.table.indexes[0].id);
    std::thread::scope(|scope| {
        scope.spawn(|| f.engine.purge_loop(stop));
        (1..WORKERS).for_each(|number| drop(scope.spawn(move || f.engine.purge_more_loop(number, stop))));
        let writers: Vec<_> = (0..3u64)
            .map(|number| {
                scope.spawn(move || {
                    let mut random = Random::new(seed ^ number);
                    let mut s = f.session();
                    s.commit().unwrap();
                    s.set_client(number + 1);
                    for round in 0..200 {
                        s.begin(Isolation::ReadCommitted, false);
                        for _ in 0..random.below(3) + 1 {
                            // Short rows, and rows with a chain of pages: which a deletion and what comes after it name both.
                            let id = random.below(ROWS) as i64;
                            let text = "x".repeat([10, 20_000, 40_000][random.below(3) as usize]);
                            let k = random.below(5) as i64;
                            let done = match random.below(3) {
                                0 => f.insert(&mut s, id, k, &text, None),
                                1 => f.update(&mut s, id, k, &text).map(drop),
                                _ => f.delete(&mut s, id).map(drop),
                            };
                            if done.is_err() {
                                s.rollback().unwrap();
                                break;
                            }
                        }
                        match random.below(8) {
                            _ if !s.in_transaction() => {}
                            0 => s.rollback().unwrap(),
                            _ => s.commit().unwrap(),
                        }
                        if round % 4 == 0 {
                            f.engine.sharp_checkpoint().unwrap();
                        }
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        stop.store(true, Ordering::SeqCst);
        f.engine.wake_purge();
    });
    let mut s = f.session();
    for id in f.ids(&mut s, 0, Direction::Forward) {
        f.delete(&mut s, id).unwrap();
    }
    s.commit().unwrap();
    drop(s);
    f.check_purged(0);
    assert_eq!(f.engine.space.pages_of(f.table.indexes[0].id), before, "all chains are given back, once");
    assert!(f.engine.purged() > 0);
}

/// A history of one shard that was kept by a view, and may go.
fn long_history(f: &Fixture, transactions: i64) -> Session {
    let mut writer = f.session();
    writer.set_client(7);
    for id in 0..transactions {
        f.insert(&mut writer, id, id, "first", None).unwrap();
        if id % 50 == 0 {
            writer.commit().unwrap();
            f.engine.sharp_checkpoint().unwrap();
            writer.begin(Isolation::RepeatableRead, false);
        }
    }
    writer.commit().unwrap();
    let mut idle = f.session();
    assert_eq!(f.ids(&mut idle, 0, Direction::Forward).len() as i64, transactions);
    for id in 0..transactions {
        writer.begin(Isolation::RepeatableRead, false);
        f.update(&mut writer, id, -id, "second").unwrap();
        writer.commit().unwrap();
        if id % 50 == 0 {
            f.engine.sharp_checkpoint().unwrap();
        }
    }
    f.engine.tell_purge_limit();
    assert!(f.engine.history_length() >= transactions as u64);
    idle.commit().unwrap();
    writer
}

#[test]
fn who_commits_purges_more_than_it_adds_where_the_history_is_long() {
    let f = Fixture::new();
    let mut writer = long_history(&f, 700);
    assert_eq!(f.engine.purged_by_writers(), 0);
    // As a worker's next round sees it: what the view needed may go.
    let limit = f.engine.tell_purge_limit();
    for shard in 0..f.engine.history.shard_count() {
        f.engine.history.take(shard, 0, limit.finished);
    }
    for round in 0..90 {
        let before = f.engine.history_length();
        writer.begin(Isolation::RepeatableRead, false);
        f.update(&mut writer, round, 1000 + round, "third").unwrap();
        writer.commit().unwrap();
        assert_eq!(f.engine.history_length(), before - 2, "one more, three less");
    }
    assert_eq!(f.engine.purged_by_writers(), 270);
    // A table that somebody has alone is left to the workers, and what was begun with it is not forgotten.
    let cancel = lock_manager::Cancel::new();
    let alone = f.table.lock.exclusive(lock_manager::metadata::ExclusiveWait::until(None), &cancel).expect("nobody uses it");
    writer.help_purge();
    assert_eq!(f.engine.postponed.lock().len(), 3);
    drop(alone);
    drop(writer);
    f.check_purged(700);
}

#[test]
fn a_transaction_of_many_changes_is_left_to_the_workers() {
    let f = Fixture::new();
    let mut writer = long_history(&f, 600);
    f.engine.purge_all();
    let helped = f.engine.purged_by_writers();
    writer.begin(Isolation::RepeatableRead, false);
    for id in 0..100 {
        f.update(&mut writer, id, 5000 + id, "long").unwrap();
    }
    writer.commit().unwrap();
    for id in 0..600 {
        writer.begin(Isolation::RepeatableRead, false);
        f.update(&mut writer, id, 9000 + id, "short").unwrap();
        writer.commit().unwrap();
        f.engine.tell_purge_limit();
        if id % 50 == 0 {
            f.engine.sharp_checkpoint().unwrap();
        }
    }
    assert_eq!((f.engine.history_length(), f.engine.purged_by_writers()), (601, helped));
    drop(writer);
    f.check_purged(600);
}

#[test]
fn delays_grow_with_the_history_by_the_formula_of_the_manual() {
    let f = Fixture::new();
    for n in 1..=300 {
        let entry = crate::purge::history::Finished::new(base::TxnId(n), txn::FinishSeq(u64::MAX), base::UndoPtr::NONE);
        let _ = f.engine.history.push(0, entry);
    }
    let delay = |max, bound| {
        f.engine.set_max_purge_lag(max, bound);
        f.engine.purge_delay()
    };
    assert_eq!(delay(0, 0), Duration::ZERO);
    assert_eq!(delay(300, 0), Duration::ZERO);
    assert_eq!(delay(299, 0), Duration::from_micros(38));
    assert_eq!(delay(100, 0), Duration::from_micros(20_005));
    assert_eq!(delay(100, 700), Duration::from_micros(700));
    // Sessions of clients are delayed, each time that they begin to write.
    f.engine.set_max_purge_lag(299, 0);
    let mut s = f.session();
    f.insert(&mut s, 1, 1, "not delayed", None).unwrap();
    s.commit().unwrap();
    assert_eq!(f.engine.purge_delays(), 0);
    s.set_client(1);
    s.begin(Isolation::RepeatableRead, false);
    f.insert(&mut s, 2, 2, "delayed", None).unwrap();
    f.insert(&mut s, 3, 3, "delayed no more", None).unwrap();
    s.commit().unwrap();
    assert_eq!(f.engine.purge_delays(), 1);
}

#[test]
fn purge_that_is_behind_does_not_walk_a_row_over_and_over() {
    const CHANGES: u64 = 3000;
    let f = Fixture::with_undo(undo::UndoConfig { shards: 4, memory_bytes_max: 0 });
    let mut s = f.session();
    f.insert(&mut s, 1, 0, "row", None).unwrap();
    s.commit().unwrap();
    for round in 1..=CHANGES as i64 {
        s.begin(Isolation::RepeatableRead, false);
        f.update(&mut s, 1, round, &["a", "b"][round as usize % 2].repeat(1000)).unwrap();
        s.commit().unwrap();
        if round % 100 == 0 {
            f.engine.sharp_checkpoint().unwrap();
        }
    }
    assert!(f.engine.history_length() >= CHANGES);
    f.engine.undo.spill().unwrap();
    let before = f.engine.undo.stats();
    assert!(before.spilled > 0, "{before:?}");
    f.engine.purge_all();
    let reads = f.engine.undo.stats().file_reads - before.file_reads;
    // Each record is read for its chain, and for what it left behind.
    assert!(reads <= 3 * CHANGES, "{reads} reads from the file");
    drop(s);
    f.check_purged(1);
}

#[test]
fn an_idle_server_purges_to_zero_and_says_so() {
    let f = &crowd(&Arc::new(SimDisk::new(1)), 2);
    let stop = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| f.engine.purge_loop(stop));
        scope.spawn(|| f.engine.purge_more_loop(1, stop));
        // Nobody wakes purge but purge.
        let until = |done: &dyn Fn() -> bool| {
            while !done() {
                std::thread::yield_now();
            }
        };
        let mut s = f.session();
        for id in 1..=20 {
            f.insert(&mut s, id, id, "first", None).unwrap();
        }
        s.commit().unwrap();
        let mut idle = f.session();
        assert_eq!(f.ids(&mut idle, 0, Direction::Forward).len(), 20);
        for id in 1..=20 {
            s.begin(Isolation::RepeatableRead, false);
            f.update(&mut s, id, -id, "second").unwrap();
            s.commit().unwrap();
        }
        until(&|| f.engine.history_age() > Duration::ZERO);
        assert_eq!(f.engine.status().history_length, 20);
        idle.commit().unwrap();
        until(&|| f.engine.history_length() == 0 && f.engine.undo.live_bytes() == 0 && f.engine.history_age() == Duration::ZERO);
        stop.store(true, Ordering::SeqCst);
    });
    f.check_purged(20);
}

#[test]
fn writers_alone_keep_the_history_short_that_an_old_view_does_not_need() {
    const ROWS: i64 = 200;
    let f = Fixture::new();
    let mut s = f.session();
    for id in 0..ROWS {
        f.insert(&mut s, id, id, "first", None).unwrap();
    }
    s.commit().unwrap();
    s.set_client(7);
    let mut idle = f.session();
    assert_eq!(f.ids(&mut idle, 0, Direction::Forward).len() as i64, ROWS);
    let mut most = 0;
    for round in 0..4000 {
        s.begin(Isolation::RepeatableRead, false);
        f.update(&mut s, round % ROWS, -round, "changed").unwrap();
        s.commit().unwrap();
        most = most.max(f.engine.history_length());
        if round % 50 == 0 {
            // All that is left of the workers.
            f.engine.look_for_lagging_views();
            f.engine.sharp_checkpoint().unwrap();
        }
    }
    assert!(most <= 1200, "{most} transactions were kept");
    assert!(f.engine.pruned() > 2000 && f.engine.purged_by_writers() == f.engine.pruned(), "{}", f.engine.pruned());
    assert_eq!(f.get(&mut idle, 7), Some((7, "first".into())));
    idle.commit().unwrap();
    drop(s);
    f.check_purged(ROWS as u64);
}
