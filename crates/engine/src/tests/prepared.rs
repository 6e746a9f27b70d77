//! Prepared transactions: detached, over crashes and checkpoints, ended by anybody.

use super::*;
use lock_manager::metadata::Share;
use lock_manager::shares::SharedTables;

fn xid(name: &str) -> Xid {
    Xid { format_id: 1, gtrid: name.as_bytes().into(), bqual: (*b"branch").into() }
}

fn share(f: &Fixture, s: &Session) -> SharedTables {
    let mut tables = SharedTables::new(s.lock_owner());
    assert!(tables.share_now(&f.table.lock, Share::Write, 0));
    tables
}

/// Rows 1 to 3 committed; a prepared transaction changed 1, deleted 2, and inserted 4.
fn prepare(f: &Fixture, name: &str) {
    let mut s = f.session();
    for id in 1..=3 {
        f.insert(&mut s, id, id * 10, "old", Some(id)).unwrap();
    }
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    assert!(s.claim_xid(&xid(name)));
    f.update(&mut s, 1, 11, "new").unwrap();
    f.delete(&mut s, 2).unwrap();
    f.insert(&mut s, 4, 40, "fresh", Some(4)).unwrap();
    let tables = share(f, &s);
    s.prepare(&xid(name), tables).unwrap();
    assert!(!s.in_transaction());
}

fn rows(f: &Fixture) -> Vec<(i64, i64)> {
    let mut s = f.session();
    let ids = f.ids(&mut s, 0, Direction::Forward);
    ids.into_iter().map(|id| (id, f.get(&mut s, id).unwrap().0)).collect()
}

const OLD: [(i64, i64); 3] = [(1, 10), (2, 20), (3, 30)];
const NEW: [(i64, i64); 3] = [(1, 11), (3, 30), (4, 40)];

fn assert_waiting(f: &Fixture, name: &str) {
    assert_eq!(f.engine.prepared_xids(), [xid(name)]);
    assert_eq!(rows(f), OLD);
    let mut s = f.session();
    assert!(!s.claim_xid(&xid(name)), "the name is taken");
    assert_eq!(f.update(&mut s, 1, 99, "locked"), Err(Error::LockWaitTimeout));
    assert_eq!(f.insert(&mut s, 4, 99, "locked", None), Err(Error::LockWaitTimeout));
}

#[test]
fn any_session_ends_what_another_prepared() {
    for commit in [true, false] {
        let f = Fixture::new();
        prepare(&f, "a");
        assert_waiting(&f, "a");
        assert_eq!(f.table.lock.shared_count(), 1, "its share of the metadata lock stays");
        let mut s = f.engine.connect();
        assert_eq!(s.commit_prepared(&xid("b")), Ok(false));
        let ended = if commit { s.commit_prepared(&xid("a")) } else { s.rollback_prepared(&xid("a")) };
        assert_eq!(ended, Ok(true));
        assert_eq!(s.commit_prepared(&xid("a")), Ok(false));
        assert_eq!(rows(&f), if commit { NEW } else { OLD });
        assert_eq!(f.table.lock.shared_count(), 0);
        // The session that ended it goes on with what it took over.
        s.begin(Isolation::RepeatableRead, false);
        f.update(&mut s, 1, 77, "after").unwrap();
        s.commit().unwrap();
        assert!(f.engine.prepared_xids().is_empty());
        f.check_purged(3);
        let f = f.crash();
        assert_eq!(rows(&f)[0], (1, 77));
    }
}

#[test]
fn prepared_transaction_survives_crashes_and_checkpoints() {
    // Bits: checkpoint before the prepare, after it, all pages written, a second crash before the end, commit or rollback.
    for case in 0..32 {
        let f = Fixture::new();
        if case & 1 != 0 {
            f.engine.checkpoint().unwrap();
        }
        prepare(&f, "a");
        if case & 2 != 0 {
            f.engine.checkpoint().unwrap();
        }
        if case & 4 != 0 {
            f.engine.sharp_checkpoint().unwrap();
        }
        let mut f = f.crash();
        assert_waiting(&f, "a");
        if case & 8 != 0 {
            f.engine.checkpoint().unwrap();
            f = f.crash();
            assert_waiting(&f, "a");
        }
        f.engine.share_tables_of_prepared().unwrap();
        assert_eq!(f.table.lock.shared_count(), 1, "case {case}");
        let mut s = f.engine.connect();
        let commit = case & 16 != 0;
        let ended = if commit { s.commit_prepared(&xid("a")) } else { s.rollback_prepared(&xid("a")) };
        assert_eq!(ended, Ok(true), "case {case}");
        assert_eq!(f.table.lock.shared_count(), 0);
        drop(s);
        f.check_purged(3);
        let f = f.crash();
        assert!(f.engine.prepared_xids().is_empty());
        assert_eq!(rows(&f), if commit { NEW } else { OLD }, "case {case}");
    }
}

#[test]
fn a_branch_without_a_change_does_not_come_back_once_it_is_committed() {
    let f = Fixture::new();
    let mut s = f.session();
    assert!(s.claim_xid(&xid("a")));
    f.delete(&mut s, 99).unwrap();
    let tables = share(&f, &s);
    s.prepare(&xid("a"), tables).unwrap();
    assert_eq!(s.commit_prepared(&xid("a")), Ok(true));
    // Behind that the session is as any.
    s.begin(Isolation::RepeatableRead, false);
    f.delete(&mut s, 99).unwrap();
    let durable = f.engine.wal.durable();
    s.commit().unwrap();
    assert_eq!(f.engine.wal.durable(), durable);
    drop(s);
    let f = f.crash();
    assert!(f.engine.prepared_xids().is_empty());
}

#[test]
fn checkpoints_after_the_end_forget_it() {
    let f = Fixture::new();
    prepare(&f, "a");
    f.engine.checkpoint().unwrap();
    let mut s = f.engine.connect();
    s.commit_prepared(&xid("a")).unwrap();
    f.engine.checkpoint().unwrap();
    drop(s);
    let f = f.crash();
    assert!(f.engine.prepared_xids().is_empty());
    assert_eq!(rows(&f), NEW);
}

#[test]
fn what_was_not_prepared_is_rolled_back_and_its_name_is_free() {
    let f = Fixture::new();
    let mut s = f.session();
    assert!(s.claim_xid(&xid("a")));
    f.insert(&mut s, 1, 1, "lost", None).unwrap();
    f.engine.wal.flush_to(f.engine.wal.lsn_head()).unwrap();
    std::mem::forget(s);
    let f = f.crash();
    f.engine.wait_for_recovered(Duration::ZERO).unwrap();
    assert!(f.engine.prepared_xids().is_empty());
    assert!(f.engine.connect().claim_xid(&xid("a")));
    f.check_purged(0);
}

#[test]
fn rollback_that_a_crash_cut_off_is_finished_by_recovery() {
    let f = Fixture::new();
    prepare(&f, "a");
    f.engine.checkpoint().unwrap();
    let s = f.engine.connect();
    // As `rollback_prepared` begins, with the first of three steps.
    let xid_a = xid("a");
    f.engine.wal.flush_to(f.engine.wal.lsn_head()).unwrap();
    let txn = f.engine.branches.listed()[0].0;
    let step = crate::log_op::LogOp::RolledBackTo { txn, next: base::UndoPtr::NONE };
    let mut body = Vec::new();
    buffer_pool::put_op(&mut body, step.code(), PageNo::NONE, |out| step.put_payload(out));
    let lsn = f.engine.wal.append(&body);
    f.engine.wal.flush_to(lsn).unwrap();
    drop(s);
    let f = f.crash();
    assert!(f.engine.prepared_xids().is_empty(), "half rolled back: {xid_a:?} cannot be committed any more");
    f.engine.wait_for_recovered(Duration::ZERO).unwrap();
}

/// Power fails while the log of a rollback is written, at many places: the branch waits with all its changes, or is gone with all of them.
#[test]
fn rollback_whose_log_is_torn_leaves_a_branch_whole_or_nothing_of_it() {
    let (mut whole, mut gone) = (0, 0);
    for seed in 0..60 {
        let f = Fixture::new();
        f.disk.reseed(seed);
        let mut s = f.session();
        (1..=5).for_each(|id| f.insert(&mut s, id, id * 10, "old", Some(id)).unwrap());
        s.commit().unwrap();
        let before = rows(&f);
        s.begin(Isolation::RepeatableRead, false);
        assert!(s.claim_xid(&xid("a")));
        let run: Vec<_> = (100..130).map(|id| (id, (id, "fresh".repeat(seed as usize % 7), Some(id)))).collect();
        // What is newest is taken back first.
        let updates = |s: &mut Session| (1..=5).for_each(|id| assert_eq!(f.update(s, id, id * 10 + 1, "new"), Ok(Modified::Replaced)));
        if seed % 2 == 0 {
            updates(&mut s);
        }
        assert!(f.insert_together(&mut s, &run));
        if seed % 2 == 1 {
            updates(&mut s);
        }
        let tables = share(&f, &s);
        s.prepare(&xid("a"), tables).unwrap();
        let mut other = f.engine.connect();
        other.set_flush_policy(FlushPolicy::Write);
        assert_eq!(other.rollback_prepared(&xid("a")), Ok(true));
        drop((s, other));
        let f = f.crash();
        if f.engine.prepared_xids().is_empty() {
            gone += 1;
            assert_eq!(rows(&f), before, "seed {seed}");
        } else {
            whole += 1;
            assert_eq!(rows(&f), before, "seed {seed}");
            assert_eq!(f.engine.connect().commit_prepared(&xid("a")), Ok(true));
            let committed: Vec<_> = (1..=5).map(|id| (id, id * 10 + 1)).chain((100..130).map(|id| (id, id))).collect();
            assert_eq!(rows(&f), committed, "seed {seed}: a branch that can be committed is whole");
        }
        f.check();
    }
    assert!(whole > 0 && gone > 0, "{whole} whole, {gone} gone");
}

#[test]
fn branch_without_changes_holds_its_name_only() {
    let f = Fixture::new();
    let mut s = f.session();
    f.insert(&mut s, 1, 10, "row", None).unwrap();
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    assert!(s.claim_xid(&xid("a")));
    assert!(s.get(&f.table, &f.key(1), Read::Exclusive(Wait::Block), short).unwrap().is_some());
    let tables = SharedTables::new(s.lock_owner());
    s.prepare(&xid("a"), tables).unwrap();
    assert_eq!(f.engine.prepared_xids(), [xid("a")]);
    // Its row lock is gone, as in MySQL.
    let mut other = f.session();
    f.update(&mut other, 1, 11, "new").unwrap();
    other.commit().unwrap();
    assert_eq!(other.commit_prepared(&xid("a")), Ok(true));
    assert!(other.claim_xid(&xid("a")));
    other.release_xid(&xid("a"));
    drop((s, other));
    assert!(f.crash().engine.prepared_xids().is_empty());
}

#[test]
fn prepares_and_checkpoints_at_random_lose_nothing() {
    let seed = seed();
    let mut random = Random::new(seed);
    let mut f = Fixture::new();
    let mut model = std::collections::BTreeMap::<i64, i64>::new();
    let mut waiting = std::collections::BTreeMap::<i64, Option<i64>>::new();
    for round in 0..120 {
        let id = random.below(6) as i64;
        let mut s = f.session();
        match random.below(8) {
            0 => f.engine.checkpoint().unwrap(),
            1 => f.engine.sharp_checkpoint().unwrap(),
            2 => {
                drop(s);
                f = f.crash();
                continue;
            }
            3 | 4 => {
                let Some((&id, &to)) = waiting.iter().nth(random.below(waiting.len().max(1) as u64) as usize) else { continue };
                waiting.remove(&id);
                s.commit().unwrap();
                if random.below(2) == 0 {
                    assert_eq!(s.commit_prepared(&xid(&id.to_string())), Ok(true), "round {round}");
                    match to {
                        Some(k) => model.insert(id, k),
                        None => model.remove(&id),
                    };
                } else {
                    assert_eq!(s.rollback_prepared(&xid(&id.to_string())), Ok(true), "round {round}");
                }
            }
            _ if waiting.contains_key(&id) => assert!(!s.claim_xid(&xid(&id.to_string()))),
            _ => {
                let k = round;
                assert!(s.claim_xid(&xid(&id.to_string())));
                let to = match (model.contains_key(&id), random.below(3)) {
                    (false, _) => {
                        f.insert(&mut s, id, k, "new", None).unwrap();
                        Some(k)
                    }
                    (true, 0) => {
                        f.delete(&mut s, id).unwrap();
                        None
                    }
                    (true, _) => {
                        f.update(&mut s, id, k, "changed").unwrap();
                        Some(k)
                    }
                };
                let tables = SharedTables::new(s.lock_owner());
                s.prepare(&xid(&id.to_string()), tables).unwrap();
                waiting.insert(id, to);
            }
        }
        drop(s);
        assert_eq!(rows(&f), model.iter().map(|(id, k)| (*id, *k)).collect::<Vec<_>>(), "round {round}");
        assert_eq!(f.engine.prepared_xids().len(), waiting.len());
    }
}

/// A directory of this format with a prepared branch of 3,000 changes, after a crash; undo is in its file alone if all was written.
fn large_branch(format: u32, written: bool) -> Fixture {
    let disk = Arc::new(SimDisk::new(1));
    let f = Fixture::on(Arc::clone(&disk), open_with(&disk, EngineConfig { new_format: format, ..EngineConfig::small() }));
    let mut s = f.session();
    assert!(s.claim_xid(&xid("large")));
    for id in 1..=3_000 {
        f.insert(&mut s, id, id, "row", None).unwrap();
        if id % 500 == 0 {
            f.engine.pool.flush_all().unwrap();
            f.engine.checkpoint().unwrap();
        }
    }
    let tables = share(&f, &s);
    s.prepare(&xid("large"), tables).unwrap();
    if written {
        f.engine.sharp_checkpoint().unwrap();
    }
    drop(s);
    let f = f.crash();
    assert_eq!(f.engine.format(), format);
    f
}

#[test]
fn a_start_learns_the_tables_of_a_branch_without_reading_its_undo() {
    for written in [false, true] {
        let f = large_branch(crate::format::FORMAT_NEWEST, written);
        assert_eq!(f.engine.branches.named(&xid("large")).as_deref(), Some(&[f.spec.id][..]), "written: {written}");
        let before = f.engine.undo.stats().file_reads;
        f.engine.share_tables_of_prepared().unwrap();
        assert_eq!(f.engine.undo.stats().file_reads, before);
        assert_eq!(f.table.lock.shared_count(), 1);
        // It goes on from checkpoint to checkpoint.
        f.engine.sharp_checkpoint().unwrap();
        let f = f.crash();
        assert!(f.engine.branches.named(&xid("large")).is_some());
        f.engine.share_tables_of_prepared().unwrap();
        assert_eq!(f.table.lock.shared_count(), 1);
        assert_eq!(f.engine.connect().rollback_prepared(&xid("large")), Ok(true));
        assert_eq!(f.table.lock.shared_count(), 0);
        f.check_purged(0);
    }
}

#[test]
fn a_branch_of_an_older_format_has_its_undo_walked() {
    let f = large_branch(4, true);
    assert_eq!(f.engine.branches.named(&xid("large")), None);
    let before = f.engine.undo.stats().file_reads;
    f.engine.share_tables_of_prepared().unwrap();
    assert!(f.engine.undo.stats().file_reads - before >= 3_000);
    assert_eq!(f.table.lock.shared_count(), 1);
    let _one = f.engine.checkpoint_latch.lock();
    let payload = f.engine.checkpoint_latched().unwrap().payload;
    assert!(payload[0] < 5, "version {} of a checkpoint in format 4", payload[0]);
}

/// The directory is sealed while a branch of before waits: some are named then, and some are not.
#[test]
fn named_branches_stand_beside_unnamed_ones() {
    let f = large_branch(4, false);
    f.engine.sharp_checkpoint().unwrap();
    let Fixture { disk, engine, spec, table } = f;
    drop((engine, table));
    crate::format::seal(&*disk, 5).unwrap();
    let engine = open(&disk);
    let f = Fixture::with(disk, engine, spec);
    let mut s = f.session();
    f.insert(&mut s, 5_000, 1, "of another branch", None).unwrap();
    assert!(s.claim_xid(&xid("b")));
    let tables = share(&f, &s);
    s.prepare(&xid("b"), tables).unwrap();
    // One whose changes were all taken back names their tables: too many do no harm.
    s.begin(Isolation::RepeatableRead, false);
    let savepoint = s.savepoint();
    f.insert(&mut s, 6_000, 1, "taken back", None).unwrap();
    s.rollback_to(savepoint).unwrap();
    assert!(s.claim_xid(&xid("c")));
    let tables = share(&f, &s);
    s.prepare(&xid("c"), tables).unwrap();
    drop(s);
    f.engine.checkpoint().unwrap();
    let f = f.crash();
    let named = |name: &str| f.engine.branches.named(&xid(name)).map(|tables| tables.to_vec());
    assert_eq!((named("large"), named("b"), named("c")), (None, Some(vec![f.spec.id]), Some(vec![f.spec.id])));
    f.engine.share_tables_of_prepared().unwrap();
    assert_eq!(f.table.lock.shared_count(), 3);
    for name in ["large", "b", "c"] {
        assert_eq!(f.engine.connect().commit_prepared(&xid(name)), Ok(true));
    }
    assert_eq!(f.table.lock.shared_count(), 0);
    f.check_purged(3_001);
}
