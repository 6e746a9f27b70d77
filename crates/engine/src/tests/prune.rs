//! Old views beside many changes: what they see stays, what lies between them goes. (`mvcc.rs` compares random interleavings with a naive model, purging between
//! snapshots on the way.)

use super::*;
use std::collections::BTreeMap;

type Rows = BTreeMap<i64, (i64, String)>;

fn rows(f: &Fixture, session: &mut Session) -> Rows {
    f.ids(session, 0, Direction::Forward).into_iter().map(|id| (id, f.get(session, id).expect("a row that was scanned"))).collect()
}

/// Commits, and begins the next transaction.
fn commit(writer: &mut Session) {
    writer.commit().unwrap();
    writer.begin(Isolation::RepeatableRead, false);
}

/// Changes each of the rows once, in transactions of three, with a key that moves.
fn change_all(f: &Fixture, writer: &mut Session, ids: std::ops::RangeInclusive<i64>, round: i64) {
    for id in ids {
        f.update(writer, id, round * 1000 + id, &format!("round {round}")).unwrap();
        if id % 3 == 0 {
            commit(writer);
        }
    }
    commit(writer);
}

#[test]
fn an_idle_snapshot_keeps_one_version_of_each_row_and_its_entries() {
    let f = Fixture::new();
    let mut writer = f.session();
    for id in 1..=30 {
        f.insert(&mut writer, id, id, "first", None).unwrap();
    }
    writer.commit().unwrap();
    writer.begin(Isolation::RepeatableRead, false);
    let mut idle = f.session();
    let first = rows(&f, &mut idle);
    let (mut later, mut second, mut most) = (f.session(), Rows::new(), (0, 0, 0));
    for round in 1..=120 {
        change_all(&f, &mut writer, 1..=30, round);
        if round == 60 {
            second = rows(&f, &mut later);
        }
        f.engine.purge_all();
        if round > 3 {
            most.0 = f.engine.history_length().max(most.0);
            most.1 = f.engine.undo.live_bytes().max(most.1);
            most.2 = f.entries(1).max(most.2);
        }
    }
    // Ten transactions a round. One round leads to what each view sees, and the last ones are the way from the newest versions.
    assert!(most.0 <= 60, "{} transactions were kept", most.0);
    assert!(most.2 <= 30 * 5, "{} entries of 30 rows were kept", most.2);
    assert!(f.engine.pruned() >= 1000, "{}", f.engine.pruned());
    let reads = f.engine.undo.stats();
    assert_eq!(rows(&f, &mut idle), first, "{reads:?}");
    assert_eq!(rows(&f, &mut later), second);
    assert_eq!(f.ids(&mut idle, 1, Direction::Forward), (1..=30).collect::<Vec<_>>());
    // One of the two goes: what it needed goes, the other's stays.
    idle.commit().unwrap();
    f.engine.purge_all();
    assert_eq!(rows(&f, &mut later), second);
    later.commit().unwrap();
    f.check_purged(30);
}

#[test]
fn rows_that_no_snapshot_sees_go_while_it_is_open() {
    let f = Fixture::new();
    let mut writer = f.session();
    f.insert(&mut writer, 1, 1, "seen", None).unwrap();
    writer.commit().unwrap();
    let mut idle = f.session();
    assert_eq!(rows(&f, &mut idle).len(), 1);
    for id in 2..200 {
        writer.begin(Isolation::RepeatableRead, false);
        f.insert(&mut writer, id, id, "queued", Some(id)).unwrap();
        writer.commit().unwrap();
        writer.begin(Isolation::RepeatableRead, false);
        f.update(&mut writer, id, -id, "at work").unwrap();
        writer.commit().unwrap();
        writer.begin(Isolation::RepeatableRead, false);
        f.delete(&mut writer, id).unwrap();
        writer.commit().unwrap();
    }
    f.engine.purge_all();
    assert_eq!((f.engine.history_length(), f.engine.undo.live_bytes()), (0, 0));
    assert_eq!([f.entries(0), f.entries(1), f.entries(2)], [1, 1, 1]);
    // A row that it sees stays for it.
    writer.begin(Isolation::RepeatableRead, false);
    f.delete(&mut writer, 1).unwrap();
    writer.commit().unwrap();
    f.engine.purge_all();
    assert_eq!(rows(&f, &mut idle)[&1], (1, "seen".into()));
    idle.commit().unwrap();
    f.check_purged(0);
}

#[test]
fn what_a_rollback_puts_back_leads_on_to_what_a_snapshot_sees() {
    let f = Fixture::new();
    let mut writer = f.session();
    f.insert(&mut writer, 1, 1, "first", None).unwrap();
    writer.commit().unwrap();
    let mut idle = f.session();
    let first = rows(&f, &mut idle);
    for round in 2..40 {
        writer.begin(Isolation::RepeatableRead, false);
        f.update(&mut writer, 1, round, &format!("round {round}")).unwrap();
        writer.commit().unwrap();
        f.engine.purge_all();
        // Twice over the committed version, then away with it, while purge looks at what lies below.
        writer.begin(Isolation::RepeatableRead, false);
        f.update(&mut writer, 1, -round, "taken back").unwrap();
        f.update(&mut writer, 1, -round - 1, "taken back too").unwrap();
        f.engine.purge_all();
        assert_eq!(rows(&f, &mut idle), first, "round {round}");
        writer.rollback().unwrap();
        f.engine.purge_all();
        assert_eq!(rows(&f, &mut idle), first, "round {round}");
    }
    assert!(f.engine.history_length() <= 3, "{}", f.engine.history_length());
    idle.commit().unwrap();
    f.check_purged(1);
}

#[test]
fn a_crash_beside_an_idle_snapshot_leaves_nothing_behind() {
    let mut f = Fixture::new();
    let mut writer = f.session();
    for id in 1..=9 {
        f.insert(&mut writer, id, id, "first", None).unwrap();
    }
    writer.commit().unwrap();
    writer.begin(Isolation::RepeatableRead, false);
    for life in 0..4 {
        let mut idle = f.session();
        assert_eq!(rows(&f, &mut idle).len(), 9);
        for round in 1..=10 {
            change_all(&f, &mut writer, 1..=9, 100 * life + round);
            if round % 3 == 0 {
                f.engine.purge_all();
            }
            if round == 7 {
                f.engine.checkpoint().unwrap();
            }
        }
        // One that recovery takes back.
        f.update(&mut writer, 5, -1, "unfinished").unwrap();
        f.engine.wal.flush_to(f.engine.wal.lsn_head()).unwrap();
        let last = rows(&f, &mut f.session());
        drop((idle, writer));
        f = f.crash();
        assert_eq!(rows(&f, &mut f.session()), last);
        writer = f.session();
    }
    drop(writer);
    f.check_purged(9);
}

#[test]
fn undo_under_a_snapshot_goes_to_disk_and_is_read_from_there() {
    let f = Fixture::with_undo(undo::UndoConfig { shards: 4, memory_bytes_max: 6 << 20 });
    let mut writer = f.session();
    let long = |id: i64, round: usize| format!("{id} {}", ["a", "b", "c"][round % 3].repeat(2000));
    for id in 1..=400 {
        f.insert(&mut writer, id, id, &long(id, 0), None).unwrap();
        if id % 200 == 0 {
            f.engine.sharp_checkpoint().unwrap();
        }
    }
    writer.commit().unwrap();
    writer.begin(Isolation::RepeatableRead, false);
    let mut idle = f.session();
    let first = rows(&f, &mut idle);
    for round in 1..=30 {
        // One long transaction keeps all that it has replaced; the snapshot needs what its first changes have replaced.
        for id in 1..=400 {
            f.update(&mut writer, id, id, &long(id, round)).unwrap();
            if id % 200 == 0 {
                f.engine.sharp_checkpoint().unwrap();
            }
        }
        if round % 10 == 0 {
            writer.commit().unwrap();
            writer.begin(Isolation::RepeatableRead, false);
        }
        f.engine.undo.spill().unwrap();
        let stats = f.engine.undo.stats();
        assert!(stats.memory_bytes <= 7 << 20, "round {round}: {stats:?}");
    }
    let stats = f.engine.undo.stats();
    assert!(stats.spilled >= 8 && stats.live_bytes > 3 * stats.memory_bytes, "{stats:?}");
    assert_eq!(rows(&f, &mut idle), first);
    assert!(f.engine.undo.stats().file_reads >= 400);
    writer.commit().unwrap();
    idle.commit().unwrap();
    f.check_purged(400);
}

/// A row that changed a hundred times while some younger view did not see who changed it gets a skip over all of that afterwards: else each later version of it would stay, too.
#[test]
fn a_row_that_was_not_settled_for_long_is_skipped_over_later() {
    check_skip_over(300);
}

/// And past what is looked through at first, however long that is.
#[test]
fn a_row_that_was_not_settled_for_very_long_is_skipped_over_later() {
    check_skip_over(2500);
}

/// Many write a row, and only now and then one of them finds the version that he replaces settled: he steps over all that found it otherwise.
#[test]
fn a_row_that_is_seldom_settled_is_skipped_over_each_time() {
    let f = Fixture::new();
    let mut writer = f.session();
    f.insert(&mut writer, 1, 0, "first", None).unwrap();
    writer.commit().unwrap();
    // As many as are looked at one by one; the next one bounds what counts as seen by all others.
    let mut old: Vec<Session> = (0..txn::Snapshots::OLD_MAX).map(|_| f.session()).collect();
    let seen: Vec<Rows> = old.iter_mut().map(|view| rows(&f, view)).collect();
    for time in 0..20 {
        let mut change = |round: i64| {
            writer.begin(Isolation::RepeatableRead, false);
            f.update(&mut writer, 1, round, &format!("round {round} of {time}")).unwrap();
            writer.commit().unwrap();
        };
        let mut younger = f.session();
        rows(&f, &mut younger);
        (0..100).for_each(&mut change);
        younger.commit().unwrap();
        f.engine.purge_as_worker();
        change(100);
    }
    f.engine.purge_all();
    assert!(f.engine.history_length() < 60, "{} transactions are kept", f.engine.history_length());
    for (view, seen) in old.iter_mut().zip(seen) {
        assert_eq!(rows(&f, view), seen);
        view.commit().unwrap();
    }
    f.check_purged(1);
}

fn check_skip_over(unsettled: i64) {
    let f = Fixture::new();
    let mut writer = f.session();
    f.insert(&mut writer, 1, 0, "first", None).unwrap();
    writer.commit().unwrap();
    let mut change = |round: i64| {
        writer.begin(Isolation::RepeatableRead, false);
        f.update(&mut writer, 1, round, &format!("round {round}")).unwrap();
        writer.commit().unwrap();
    };
    // As many as are looked at one by one; the next one bounds what counts as seen by all others.
    let mut old: Vec<Session> = (0..txn::Snapshots::OLD_MAX).map(|_| f.session()).collect();
    let seen: Vec<Rows> = old.iter_mut().map(|view| rows(&f, view)).collect();
    (1..=3).for_each(&mut change);
    let mut younger = f.session();
    let seen_by_younger = rows(&f, &mut younger);
    (4..=unsettled).for_each(&mut change);
    f.engine.purge_all();
    assert!(f.engine.history_length() >= unsettled as u64 - 3, "{}", f.engine.history_length());
    assert_eq!(rows(&f, &mut younger), seen_by_younger);
    younger.commit().unwrap();
    for round in unsettled + 1..=unsettled + 150 {
        f.engine.purge_as_worker();
        change(round);
    }
    f.engine.purge_all();
    assert!(f.engine.history_length() < 20, "{} transactions are kept", f.engine.history_length());
    for (view, seen) in old.iter_mut().zip(seen) {
        assert_eq!(rows(&f, view), seen);
        view.commit().unwrap();
    }
    f.check_purged(1);
}

/// Who changes a row whose chain is too long to look through does not know whether an old view comes by: then it may.
#[test]
fn a_change_of_a_row_that_nobody_looked_through_is_kept() {
    const ROWS: std::ops::RangeInclusive<i64> = 1..=80;
    let f = Fixture::new();
    f.engine.undo.forget_released_at_once();
    let mut writer = f.session();
    for id in ROWS {
        f.insert(&mut writer, id, id, "first", None).unwrap();
    }
    writer.commit().unwrap();
    writer.begin(Isolation::RepeatableRead, false);
    let change = |writer: &mut Session, round: i64| {
        for id in ROWS {
            f.update(writer, id, id, &format!("round {round}")).unwrap();
            writer.commit().unwrap();
            writer.begin(Isolation::RepeatableRead, false);
        }
    };
    let mut old: Vec<Session> = (0..txn::Snapshots::OLD_MAX).map(|_| f.session()).collect();
    let seen: Vec<Rows> = old.iter_mut().map(|view| rows(&f, view)).collect();
    // It bounds what counts as seen by all others: nobody gets a skip.
    let mut younger = f.session();
    younger.open_snapshot();
    (1..=20).for_each(|round| change(&mut writer, round));
    younger.commit().unwrap();
    f.engine.purge_as_worker();
    // Of another shard of the history, where nothing else is asked.
    change(&mut f.session(), 21);
    (0..3).for_each(|_| f.engine.purge_as_worker());
    for (view, seen) in old.iter_mut().zip(seen) {
        assert_eq!(rows(&f, view), seen);
        view.commit().unwrap();
    }
    drop((old, younger, writer));
    f.check_purged(80);
}

/// A rollback takes the entry of its own version away only where no older one needs it, also behind a transaction that was purged between snapshots.
#[test]
fn a_rollback_leaves_the_entry_that_an_old_view_needs_behind_a_pruned_version() {
    let f = Fixture::new();
    let mut writer = f.session();
    f.insert(&mut writer, 1, 10, "old", None).unwrap();
    commit(&mut writer);
    let mut idle = f.session();
    idle.open_snapshot();
    f.update(&mut writer, 1, 10, "newer").unwrap();
    commit(&mut writer);
    f.delete(&mut writer, 1).unwrap();
    commit(&mut writer);
    // It sees the deletion, so the way from what comes next leads by it.
    let mut second = f.session();
    second.open_snapshot();
    f.engine.purge_all();
    f.insert(&mut writer, 1, 1, "again", None).unwrap();
    commit(&mut writer);
    f.engine.purge_all();
    assert!(f.engine.pruned() > 0, "what lies between the snapshots is to be purged");
    // The key that the old view sees comes back, and goes again.
    f.update(&mut writer, 1, 10, "back").unwrap();
    writer.rollback().unwrap();
    for direction in [Direction::Forward, Direction::Backward] {
        assert_eq!(f.ids(&mut idle, 1, direction), [1], "{direction:?}");
    }
    assert_eq!(f.get(&mut idle, 1), Some((10, "old".into())));
    assert_eq!(f.get(&mut second, 1), None);
    idle.commit().unwrap();
    second.commit().unwrap();
    drop((idle, second, writer));
    f.check_purged(1);
}

#[test]
fn an_entry_that_a_rollback_left_is_removed_after_a_crash_by_the_log_alone() {
    let f = Fixture::new();
    let mut writer = f.session();
    f.insert(&mut writer, 2, 20, "beside", None).unwrap();
    writer.commit().unwrap();
    writer.begin(Isolation::RepeatableRead, false);
    let mut idle = f.session();
    idle.open_snapshot();
    // One transaction, two versions: nobody needs the first.
    f.insert(&mut writer, 1, 10, "first", None).unwrap();
    f.update(&mut writer, 1, 1, "second").unwrap();
    writer.commit().unwrap();
    let mut later = f.session();
    later.open_snapshot();
    f.engine.purge_all();
    assert!(f.engine.pruned() > 0, "the older view does not keep it");
    // No history that a restart finds has it, nor the log that it reads.
    f.engine.sharp_checkpoint().unwrap();
    // The key of the first version comes back and goes again.
    writer.begin(Isolation::RepeatableRead, false);
    f.update(&mut writer, 1, 10, "back").unwrap();
    writer.rollback().unwrap();
    let left = crate::simulation::leftovers(&f.engine);
    assert_eq!(left, 1, "what the rollback leaves is on the list");
    f.engine.wal().flush_to(f.engine.wal().lsn_head()).unwrap();
    drop((idle, later, writer));
    let f = f.crash();
    f.check_purged(2);
}

/// A skip for a newer snapshot leads to a version from which an older one went on by a skip of its own: what lay between was released.
#[test]
fn a_skip_to_what_one_snapshot_sees_leads_an_older_one_further() {
    let f = Fixture::new();
    f.engine.undo.forget_released_at_once();
    let mut writer = f.session();
    let commit = |writer: &mut Session| {
        commit(writer);
        f.engine.purge_all();
    };
    f.insert(&mut writer, 1, 0, "first", None).unwrap();
    commit(&mut writer);
    let mut oldest = f.session();
    oldest.open_snapshot();
    for n in 1..=2 {
        f.update(&mut writer, 1, n, "between").unwrap();
        commit(&mut writer);
    }
    f.update(&mut writer, 1, 3, "second").unwrap();
    commit(&mut writer);
    let mut second = f.session();
    second.open_snapshot();
    for n in 4..=12 {
        f.update(&mut writer, 1, n, "later").unwrap();
        commit(&mut writer);
        assert_eq!(f.get(&mut oldest, 1), Some((0, "first".into())), "after {n}");
        assert_eq!(f.get(&mut second, 1), Some((3, "second".into())), "after {n}");
    }
    oldest.commit().unwrap();
    second.commit().unwrap();
    drop((oldest, second, writer));
    f.check_purged(1);
}

/// One change that a snapshot needs keeps a transaction in the history, not the rows and entries that it left behind elsewhere: readers would step over them.
#[test]
fn what_a_kept_transaction_left_behind_elsewhere_goes() {
    let f = Fixture::new();
    f.engine.undo.forget_released_at_once();
    let mut writer = f.session();
    for id in 1..=40 {
        f.insert(&mut writer, id, id, "seen", None).unwrap();
    }
    writer.commit().unwrap();
    let mut idle = f.session();
    let first = rows(&f, &mut idle);
    for id in 101..=140 {
        writer.begin(Isolation::RepeatableRead, false);
        f.insert(&mut writer, id, id, "queued", Some(id)).unwrap();
        writer.commit().unwrap();
        // The first change of a row that the snapshot sees, beside the deletion of one, and a key left behind of another, that it does not see.
        writer.begin(Isolation::RepeatableRead, false);
        f.update(&mut writer, id - 100, -id, "worked").unwrap();
        f.delete(&mut writer, id).unwrap();
        f.insert(&mut writer, id + 100, id + 100, "next", None).unwrap();
        writer.commit().unwrap();
        writer.begin(Isolation::RepeatableRead, false);
        f.update(&mut writer, id + 100, id + 200, "moved").unwrap();
        f.update(&mut writer, id - 100, -id - 1, "worked").unwrap();
        writer.commit().unwrap();
        f.engine.purge_all();
    }
    assert!(f.engine.history_length() >= 40, "{}", f.engine.history_length());
    // Of the rows that it sees one entry for it and one for the newest; of the others the newest.
    assert_eq!([f.entries(0), f.entries(1), f.entries(2)], [80, 120, 80]);
    assert_eq!(rows(&f, &mut idle), first);
    assert_eq!(f.ids(&mut idle, 1, Direction::Forward).len(), 40);
    // A row that it sees stays for it beside a row that goes.
    writer.begin(Isolation::RepeatableRead, false);
    f.delete(&mut writer, 1).unwrap();
    f.delete(&mut writer, 201).unwrap();
    writer.commit().unwrap();
    f.engine.purge_all();
    assert_eq!(f.entries(0), 79);
    assert_eq!(rows(&f, &mut idle), first);
    idle.commit().unwrap();
    f.check_purged(78);
}

/// A rollback that takes index entries back asks the views whether they see what lies behind, once for each entry, and nobody else: not the transactions that wait for purge.
#[test]
fn what_a_rollback_asks_does_not_grow_with_the_history() {
    let looks = |history: i64| {
        let f = Fixture::new();
        let mut writer = f.session();
        for id in 1..=30 {
            f.insert(&mut writer, id, id, "row", None).unwrap();
        }
        writer.commit().unwrap();
        let mut idle = f.session();
        idle.open_snapshot();
        for n in 0..history {
            writer.begin(Isolation::RepeatableRead, false);
            f.update(&mut writer, 1 + n % 30, 1_000 + n, "changed").unwrap();
            writer.commit().unwrap();
        }
        assert_eq!(f.engine.history_length(), history as u64);
        writer.begin(Isolation::RepeatableRead, false);
        for id in 1..=30 {
            f.update(&mut writer, id, 5_000 + id, "taken back").unwrap();
        }
        let before = f.engine.prune.looks_at_views.load(sync::atomic::Ordering::Relaxed);
        writer.rollback().unwrap();
        let looks = f.engine.prune.looks_at_views.load(sync::atomic::Ordering::Relaxed) - before;
        idle.commit().unwrap();
        drop((idle, writer));
        f.check_purged(30);
        looks
    };
    let (few, many) = (looks(60), looks(2_400));
    assert_eq!(few, many);
    assert!((1..=30).contains(&few), "{few}");
}

/// What a snapshot needs, and what left nothing but undo, stays without having been looked at: the writer knew.
#[test]
fn a_change_that_a_snapshot_needs_is_kept_by_its_writer() {
    let f = Fixture::new();
    let mut writer = f.session();
    for id in 1..=40 {
        f.insert(&mut writer, id, id, "first", None).unwrap();
    }
    commit(&mut writer);
    let mut idle = f.session();
    let first = rows(&f, &mut idle);
    // The first change of all is looked at: nobody has seen yet that the view lags.
    f.update(&mut writer, 40, 40, "tells").unwrap();
    commit(&mut writer);
    f.engine.purge_all();
    let looked_at = || f.engine.prune.looked_at.load(sync::atomic::Ordering::Relaxed);
    let before = looked_at();
    for id in 1..=30 {
        f.update(&mut writer, id, id, "changed").unwrap();
        commit(&mut writer);
    }
    f.engine.purge_all();
    assert_eq!((looked_at() - before, f.engine.history_length()), (0, 31));
    // Changed twice more they go, but for the last change of each row: its record leads to the version before, and from there on to what the snapshot sees.
    for round in ["again", "and again"] {
        for id in 1..=30 {
            f.update(&mut writer, id, id, round).unwrap();
            commit(&mut writer);
        }
        f.engine.purge_all();
    }
    assert!((30..=31).contains(&f.engine.history_length()), "{}", f.engine.history_length());
    assert_eq!(rows(&f, &mut idle), first);
    // What was taken back keeps nothing. Of what left an entry behind that is taken out, and nothing is looked at: the writer knew that no view comes by its record.
    let before = (looked_at(), f.engine.history_length());
    f.insert(&mut writer, 100, 100, "new", None).unwrap();
    commit(&mut writer);
    let entries = f.entries(1);
    let savepoint = writer.savepoint();
    f.update(&mut writer, 31, 31, "taken back").unwrap();
    writer.rollback_to(savepoint).unwrap();
    f.update(&mut writer, 100, 100, "of a row that no view sees").unwrap();
    commit(&mut writer);
    (0..2).for_each(|_| f.engine.purge_as_worker());
    let seen_through = looked_at();
    f.update(&mut writer, 100, 101, "with another key").unwrap();
    commit(&mut writer);
    f.engine.purge_as_worker();
    assert_eq!((looked_at() - seen_through, f.entries(1)), (0, entries));
    f.engine.purge_all();
    assert_eq!((looked_at() - before.0, f.engine.history_length()), (1, before.1));
    assert_eq!(rows(&f, &mut idle), first);
    idle.commit().unwrap();
    drop((idle, writer));
    f.check_purged(41);
}

/// A transaction that a snapshot needed goes when its row was changed twice more, and nobody looks at the row, nor reads its records, for it: who changed it has told.
#[test]
fn what_later_changes_lead_past_goes_without_a_look_at_the_row() {
    const ROWS: i64 = 300;
    let f = Fixture::new();
    let mut writer = f.session();
    for id in 1..=ROWS {
        f.insert(&mut writer, id, id, "first", None).unwrap();
    }
    writer.commit().unwrap();
    let mut idle = f.session();
    let first = rows(&f, &mut idle);
    let prune = &f.engine.prune;
    let looks = || [&prune.looks_at_rows, &prune.looked_at].map(|looks| looks.load(sync::atomic::Ordering::Relaxed));
    let (mut before, mut longest) = ([0; 2], 0);
    for round in 1..=12 {
        if round == 6 {
            before = looks();
        }
        for id in 1..=ROWS {
            writer.begin(Isolation::RepeatableRead, false);
            f.update(&mut writer, id, id, &format!("round {round}")).unwrap();
            writer.commit().unwrap();
            if id % 30 == 0 {
                f.engine.purge_as_worker();
                longest = longest.max(f.engine.history_length());
            }
        }
    }
    assert_eq!(looks(), before, "looks at rows and transactions for {} of these, of which {} were pruned", 7 * ROWS, f.engine.pruned());
    // The last two changes of each row, and a quarter more until somebody asks.
    assert!(longest <= 1000, "{longest}");
    assert_eq!(rows(&f, &mut idle), first);
    idle.commit().unwrap();
    drop((idle, writer));
    f.check_purged(ROWS as u64);
}

/// Who changes rows asks the views that lag as he knows them. One that lags later may see what none of them did: before a transaction goes unread it is looked at.
#[test]
fn a_view_that_was_not_asked_keeps_what_it_sees() {
    const ROWS: std::ops::RangeInclusive<i64> = 100..=400;
    let f = Fixture::new();
    f.engine.undo.forget_released_at_once();
    let mut writer = f.session();
    f.insert(&mut writer, 1, 1, "first", None).unwrap();
    commit(&mut writer);
    let mut old = f.session();
    old.open_snapshot();
    f.update(&mut writer, 1, 1, "changed").unwrap();
    commit(&mut writer);
    for id in ROWS {
        f.insert(&mut writer, id, id, "new", None).unwrap();
    }
    commit(&mut writer);
    // From now on it is known that the one view lags, which sees none of the new rows.
    f.engine.purge_as_worker();
    let mut later = f.session();
    let seen = rows(&f, &mut later);
    for id in ROWS {
        f.update(&mut writer, id, id, "changed").unwrap();
        commit(&mut writer);
    }
    (0..3).for_each(|_| f.engine.purge_as_worker());
    assert_eq!(rows(&f, &mut later), seen);
    assert_eq!(f.get(&mut old, 1), Some((1, "first".into())));
    assert_eq!(f.get(&mut old, 100), None);
    // With the views that were asked it goes unread.
    later.commit().unwrap();
    let looked_at = || f.engine.prune.looked_at.load(sync::atomic::Ordering::Relaxed);
    f.engine.purge_all();
    assert!(f.engine.history_length() < 3, "{}", f.engine.history_length());
    let before = looked_at();
    for id in ROWS {
        f.update(&mut writer, id, id, "again").unwrap();
        commit(&mut writer);
    }
    (0..3).for_each(|_| f.engine.purge_as_worker());
    assert_eq!((looked_at() - before, f.engine.history_length() < 130), (0, true), "{}", f.engine.history_length());
    old.commit().unwrap();
    drop((old, later, writer));
    f.check_purged(302);
}

/// Rows that were made and deleted under a snapshot, by transactions that changed much else: what goes is found by the records that their writers have listed, and no other record
/// is read; but a view that nobody asked keeps what it sees.
#[test]
fn rows_that_come_and_go_are_removed_by_the_records_that_their_writers_list() {
    const ROWS: i64 = 60;
    let f = Fixture::new();
    f.engine.undo.forget_released_at_once();
    let mut writer = f.session();
    for id in 1..=ROWS {
        f.insert(&mut writer, id, id, "seen", None).unwrap();
    }
    commit(&mut writer);
    let mut idle = f.session();
    let first = rows(&f, &mut idle);
    f.update(&mut writer, 1, 1, "tells").unwrap();
    commit(&mut writer);
    f.engine.purge_all();
    for id in 101..=100 + ROWS {
        f.insert(&mut writer, id, id, "queued", Some(id)).unwrap();
        commit(&mut writer);
    }
    f.engine.purge_as_worker();
    let mut later = f.session();
    let seen_later = rows(&f, &mut later);
    let looked_at = || f.engine.prune.looked_at.load(sync::atomic::Ordering::Relaxed);
    let before = looked_at();
    let half = 100 + ROWS / 2;
    for id in 101..=half {
        f.delete(&mut writer, id).unwrap();
        commit(&mut writer);
    }
    f.engine.purge_as_worker();
    assert_eq!(rows(&f, &mut later), seen_later);
    assert!(looked_at() > before, "the later view was not asked");
    later.commit().unwrap();
    f.engine.purge_all();
    assert_eq!(f.entries(0), (ROWS + ROWS / 2) as u64);
    // Now all that lag are asked.
    let before = looked_at();
    for id in half + 1..=100 + ROWS {
        // Each deletes one, and changes one that the snapshot sees: it stays in the history for that.
        f.delete(&mut writer, id).unwrap();
        f.update(&mut writer, id - 100, id - 100, "worked").unwrap();
        commit(&mut writer);
    }
    (0..2).for_each(|_| f.engine.purge_as_worker());
    assert_eq!((looked_at() - before, f.entries(0)), (0, ROWS as u64));
    assert_eq!(f.entries(2), ROWS as u64);
    assert!(f.engine.history_length() >= ROWS as u64 / 2, "{}", f.engine.history_length());
    // One that the snapshot sees stays for it, beside one that goes.
    f.insert(&mut writer, 500, 500, "queued", None).unwrap();
    commit(&mut writer);
    f.engine.purge_as_worker();
    f.delete(&mut writer, 2).unwrap();
    f.delete(&mut writer, 500).unwrap();
    commit(&mut writer);
    (0..2).for_each(|_| f.engine.purge_as_worker());
    assert_eq!(f.entries(0), ROWS as u64);
    assert_eq!(rows(&f, &mut idle), first);
    idle.commit().unwrap();
    // Without a view as well.
    f.engine.purge_all();
    for id in 3..=20 {
        f.delete(&mut writer, id).unwrap();
        commit(&mut writer);
    }
    drop((idle, later, writer));
    f.check_purged(ROWS as u64 - 19);
}

/// A deletion's writer asks what views see that do not see the deleted version: the one before it, which leads the oldest view to nothing.
#[test]
fn a_deleted_row_stays_for_the_view_between() {
    let f = Fixture::new();
    f.engine.undo.forget_released_at_once();
    let mut writer = f.session();
    let commit = |writer: &mut Session| {
        commit(writer);
        f.engine.purge_as_worker();
    };
    f.insert(&mut writer, 1, 1, "first", None).unwrap();
    commit(&mut writer);
    let mut oldest = f.session();
    oldest.open_snapshot();
    f.update(&mut writer, 1, 1, "tells").unwrap();
    commit(&mut writer);
    f.insert(&mut writer, 100, 100, "made", None).unwrap();
    commit(&mut writer);
    f.update(&mut writer, 100, 100, "seen between").unwrap();
    commit(&mut writer);
    let mut between = f.session();
    let seen = rows(&f, &mut between);
    // Its record leads who does not see the version between to nothing.
    f.update(&mut writer, 100, 100, "last").unwrap();
    commit(&mut writer);
    f.delete(&mut writer, 100).unwrap();
    commit(&mut writer);
    commit(&mut writer);
    assert_eq!(rows(&f, &mut between), seen);
    assert_eq!(rows(&f, &mut oldest).len(), 1);
    between.commit().unwrap();
    f.engine.purge_all();
    assert_eq!(f.entries(0), 1);
    drop((oldest, between, writer));
    f.check_purged(1);
}

/// Until who leads past a record is seen by all others, ways begin below it and lead by that record: an entry that an old view needs is found by it.
#[test]
fn a_record_is_kept_until_who_leads_past_it_is_settled() {
    let f = Fixture::new();
    f.engine.undo.forget_released_at_once();
    let mut writer = f.session();
    f.insert(&mut writer, 1, 10, "first", None).unwrap();
    writer.commit().unwrap();
    writer.begin(Isolation::RepeatableRead, false);
    let mut old: Vec<Session> = (0..txn::Snapshots::OLD_MAX).map(|_| f.session()).collect();
    old.iter_mut().for_each(Session::open_snapshot);
    let change = |writer: &mut Session, key: i64, text: &str| {
        f.update(writer, 1, key, text).unwrap();
        writer.commit().unwrap();
        writer.begin(Isolation::RepeatableRead, false);
    };
    // The entry of the first key is left to the old views; a second change leads to the first.
    change(&mut writer, 1, "moved");
    f.engine.purge_all();
    change(&mut writer, 1, "again");
    f.engine.purge_all();
    // It sees what was changed so far, and not who leads past it: one more than are looked at one by one.
    let mut younger = f.session();
    younger.open_snapshot();
    // Of another shard of the history, so that the first is not behind it.
    change(&mut f.session(), 1, "leads past both");
    (0..8).for_each(|_| f.engine.purge_all());
    let found = |view: &mut Session| [Direction::Forward, Direction::Backward].map(|direction| f.ids(view, 1, direction));
    for view in &mut old {
        assert_eq!((found(view), f.get(view, 1)), ([vec![1], vec![1]], Some((10, "first".into()))));
    }
    assert_eq!(f.get(&mut younger, 1), Some((1, "again".into())));
    // Then they go.
    younger.commit().unwrap();
    (0..3).for_each(|_| f.engine.purge_all());
    for view in &mut old {
        assert_eq!((found(view), f.get(view, 1)), ([vec![1], vec![1]], Some((10, "first".into()))));
        view.commit().unwrap();
    }
    drop((old, younger, writer));
    f.check_purged(1);
}

/// A row whose last change has been spilled since gets its skip all the same: the record is read before the row is latched again.
#[test]
fn a_row_whose_last_change_was_spilled_is_skipped_over_too() {
    const ROWS: i64 = 600;
    let f = Fixture::with_undo(undo::UndoConfig { shards: 4, memory_bytes_max: 1 << 20 });
    let mut writer = f.session();
    let long = |id: i64, round: usize| format!("{id} {}", ["a", "b", "c"][round % 3].repeat(2000));
    let room = |id: i64| {
        if id % 200 == 0 {
            f.engine.sharp_checkpoint().unwrap();
        }
    };
    for id in 1..=ROWS {
        f.insert(&mut writer, id, id, &long(id, 0), None).unwrap();
        room(id);
    }
    writer.commit().unwrap();
    let mut idle = f.session();
    let first = rows(&f, &mut idle);
    for round in 1..=8 {
        for id in 1..=ROWS {
            writer.begin(Isolation::RepeatableRead, false);
            f.update(&mut writer, id, id, &long(id, round)).unwrap();
            writer.commit().unwrap();
            room(id);
            if id % 50 == 0 {
                f.engine.purge_as_worker();
                f.engine.undo.spill().unwrap();
            }
        }
    }
    let (history, stats) = (f.engine.history_length(), f.engine.undo.stats());
    assert!(stats.spilled >= 4, "{stats:?}");
    assert!(history <= 2000, "{history} transactions are kept, {stats:?}");
    assert_eq!(rows(&f, &mut idle), first);
    idle.commit().unwrap();
    drop((idle, writer));
    f.check_purged(ROWS as u64);
}
