//! Checkpoints while unfinished transactions move between sessions and lists.

use super::*;
use crate::checkpoint::CheckpointStep;
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
