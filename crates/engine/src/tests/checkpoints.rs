//! Checkpoints while unfinished transactions move between sessions and lists.

use super::*;
use crate::checkpoint::{CheckpointStep, Payload};
use base::TxnId;

/// A transaction that has changed row 1 and added row 2 and is not finished; and the session it is in.
fn unfinished(f: &Fixture) -> (Session, TxnId) {
    let mut s = f.session();
    f.insert(&mut s, 1, 10, "kept", None).unwrap();
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    f.update(&mut s, 1, 11, "unfinished").unwrap();
    f.insert(&mut s, 2, 20, "unfinished", None).unwrap();
    let txn = s.running.id;
    (s, txn)
}

fn checkpoint_with(f: &Fixture, step: CheckpointStep, work: impl FnOnce() + Send + 'static) {
    *f.engine.checkpoint_hook.lock() = Some((step, Box::new(work)));
    // Pages are written, so that recovery reads the log from the checkpoint on only, and has the transaction from there.
    f.engine.pool.flush_all().unwrap();
    f.engine.checkpoint().unwrap();
    assert!(f.engine.checkpoint_hook.lock().is_none(), "the hook was called");
}

fn check_taken_back(f: Fixture) {
    let f = f.crash();
    assert_eq!(f.get(&mut f.session(), 1), Some((10, "kept".into())));
    f.check_purged(1);
}

#[test]
fn a_loser_that_leaves_its_session_while_a_checkpoint_looks_is_rolled_back_after_the_next_crash() {
    for step in [CheckpointStep::Begun, CheckpointStep::SlotsRead] {
        let f = Fixture::new();
        let (mut session, txn) = unfinished(&f);
        let engine = Arc::clone(&f.engine);
        checkpoint_with(&f, step, move || session.leave_unfinished(|undo| engine.losers.lock().waiting.push((txn, undo))));
        check_taken_back(f);
    }
}

#[test]
fn a_failed_rollback_that_is_tried_again_while_a_checkpoint_looks_is_rolled_back_after_the_next_crash() {
    for step in [CheckpointStep::Begun, CheckpointStep::SlotsRead] {
        let f = Fixture::new();
        let (mut session, txn) = unfinished(&f);
        session.abandon();
        drop(session);
        let engine = Arc::clone(&f.engine);
        checkpoint_with(&f, step, move || {
            // What `roll_back_abandoned` does up to the first step back, unless it would have to wait here.
            let Some(_handover) = engine.handover.try_read() else { return };
            let last_undo = engine.abandoned.lock()[0].1;
            let mut session = engine.connect();
            session.adopt(txn, last_undo);
            engine.abandoned.lock().clear();
            std::mem::forget(session);
        });
        check_taken_back(f);
    }
}

#[test]
fn a_history_in_blocks_outlives_crashes_and_is_purged() {
    let seed = seed();
    let mut random = Random::new(seed);
    let mut f = Fixture::new();
    let mut s = f.session();
    for id in 1..=60 {
        f.insert(&mut s, id, id, "first", None).unwrap();
    }
    s.commit().unwrap();
    for life in 1..=5 {
        // What this one needs stays; the rest is pruned, so that blocks become sparse.
        let mut idle = f.session();
        assert_eq!(f.ids(&mut idle, 0, Direction::Forward).len(), 60);
        let mut listed = 0;
        for round in 1..=300 {
            s.begin(Isolation::RepeatableRead, false);
            let id = random.below(60) as i64 + 1;
            f.update(&mut s, id, random.below(1000) as i64, &format!("{life} {round}")).unwrap();
            s.commit().unwrap();
            if round % 100 == 0 {
                f.engine.purge_all();
            }
            if random.below(12) == 0 {
                let _one = f.engine.checkpoint_latch.lock();
                let payload = Payload::read(&f.engine.checkpoint_latched().unwrap().payload).unwrap();
                assert!(payload.history.len() <= 8, "{} entries one by one", payload.history.len());
                listed = listed.max(payload.history_blocks.len());
            }
        }
        assert!(listed >= 8, "{listed} blocks at most");
        let waited = f.engine.history_length();
        assert!(waited >= 30, "{waited}");
        // The same once more, with the log only.
        if random.below(2) == 0 {
            f.engine.checkpoint().unwrap();
        }
        f.engine.wal.flush_to(f.engine.wal.lsn_head()).unwrap();
        drop((idle, s));
        f = f.crash();
        // What was purged since the last checkpoint, and what stood in a block with others, is there again.
        assert!(f.engine.history_length() >= waited, "{} of {waited}", f.engine.history_length());
        if random.below(2) == 0 {
            // Blocks of the life before are read once more.
            f = f.crash();
            assert!(f.engine.history_length() >= waited, "{} of {waited}", f.engine.history_length());
        }
        if random.below(2) == 0 {
            f.engine.count_undo(&sync::atomic::AtomicBool::new(false));
            f.engine.checkpoint().unwrap();
            f = f.crash();
            assert!(f.engine.history_length() >= waited, "{} of {waited}", f.engine.history_length());
        }
        s = f.session();
        s.commit().unwrap();
    }
    drop(s);
    f.engine.purge_all();
    f.check_purged(60);
    let _one = f.engine.checkpoint_latch.lock();
    let payload = Payload::read(&f.engine.checkpoint_latched().unwrap().payload).unwrap();
    assert_eq!((payload.history.len(), payload.history_blocks.len()), (0, 0));
}

#[test]
fn a_directory_of_an_older_format_has_its_history_listed_one_by_one() {
    let disk = Arc::new(SimDisk::new(1));
    let engine = open_with(&disk, EngineConfig { new_format: 2, ..EngineConfig::small() });
    let f = Fixture::on(disk, engine);
    let mut s = f.session();
    f.insert(&mut s, 1, 1, "", None).unwrap();
    s.commit().unwrap();
    for round in 2..50 {
        s.begin(Isolation::RepeatableRead, false);
        f.update(&mut s, 1, round, "").unwrap();
        s.commit().unwrap();
    }
    let bytes = {
        let _one = f.engine.checkpoint_latch.lock();
        f.engine.checkpoint_latched().unwrap().payload
    };
    assert_eq!(bytes[0], 1, "a version that format 2 has");
    let waited = f.engine.history_length();
    assert!(waited >= 48, "{waited}");
    assert_eq!(Payload::read(&bytes).unwrap().history.len() as u64, waited);
    drop(s);
    let f = f.crash();
    // The log does not say of the first that it left nothing behind.
    assert!(f.engine.history_length() >= waited);
    f.check_purged(1);
}
