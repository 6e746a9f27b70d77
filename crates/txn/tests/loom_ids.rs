//! Memory orders of the ring of numbers: all schedules, up to a bound of preemptions, and all values that its loads may return, over the product's
//! sources with a ring of 8 ids. `shuttle_views.rs` has more ids and longer runs, but takes every access for sequentially consistent.
//!
//! Each model is run again with an order weakened ([`platform::atomic`]), which it must find. SeqCst accesses are acquire and release here, for loom does not
//! model one order of all: what holds here needs no more. What does need it (publication of views, the low mark's second look) is shuttle's.
//!
//! Deeper: `LOOM_MAX_PREEMPTIONS=4 cargo test -p txn --release --test loom_ids`.

#![allow(clippy::disallowed_types)] // loom's are behind the same names

use base::TxnId;
use loom::thread;
use platform::Arc;

#[path = "model/loom_platform.rs"]
mod platform;
/// Views published nowhere.
#[path = "model/no_slots.rs"]
mod slots;

#[allow(dead_code)]
#[path = "../src/ids.rs"]
mod ids;
#[allow(dead_code, clippy::modulo_one)] // one word here
#[path = "../src/old_ids.rs"]
mod old_ids;
#[allow(dead_code)]
#[path = "../src/view.rs"]
mod view;

use ids::Ids;
use loom::sync::atomic::{AtomicU64, Ordering};
use slots::{Slots, ViewSlotHandle};
use view::ReadView;

const NONE: TxnId = TxnId::NONE;
const FIRST: TxnId = TxnId(1);
const SECOND: TxnId = TxnId(2);
const THIRD: TxnId = TxnId(3);

fn ids_given_out(count: u64) -> Arc<Ids> {
    let ids = Arc::new(Ids::new(FIRST, &[]));
    (0..count).for_each(|_| assert!(!ids.take_next().1, "the window holds them"));
    ids
}

fn open(ids: &Arc<Ids>) -> ReadView {
    let mut view = ReadView::new();
    view.attach(ids);
    ids.open(&mut view, &ViewSlotHandle);
    view
}

/// A view finds the same each time that it looks, and where it sees a transaction it sees what that has done.
fn views_do_not_change() {
    let ids = ids_given_out(1);
    let row = Arc::new(AtomicU64::new(0));
    let finisher = {
        let (ids, row) = (Arc::clone(&ids), Arc::clone(&row));
        thread::spawn(move || {
            row.store(1, Ordering::Relaxed);
            ids.finish(FIRST);
        })
    };
    let view = open(&ids);
    let seen = view.sees(FIRST, NONE);
    if seen {
        assert_eq!(row.load(Ordering::Relaxed), 1, "seen without its row");
    }
    assert_eq!(view.sees(FIRST, NONE), seen, "an open view has changed");
    finisher.join().expect("no panic");
    assert_eq!(view.sees(FIRST, NONE), seen, "an open view has changed");
    assert!(open(&ids).sees(FIRST, NONE), "an acknowledged commit");
}

/// The second transaction finishes once it has found that the first has, and with it what the first has done. Who sees the second sees the first.
fn views_are_closed() {
    let ids = ids_given_out(2);
    let row = Arc::new(AtomicU64::new(0));
    let first = {
        let (ids, row) = (Arc::clone(&ids), Arc::clone(&row));
        thread::spawn(move || {
            row.store(1, Ordering::Relaxed);
            ids.finish(FIRST);
        })
    };
    let second = {
        let ids = Arc::clone(&ids);
        thread::spawn(move || {
            let saw = !ids.is_active(FIRST);
            if saw {
                assert_eq!(row.load(Ordering::Relaxed), 1, "finished without its row");
                ids.finish(SECOND);
            }
            saw
        })
    };
    let view = open(&ids);
    if view.sees(SECOND, NONE) {
        assert!(view.sees(FIRST, NONE), "not closed");
    }
    first.join().expect("no panic");
    if !second.join().expect("no panic") {
        ids.finish(SECOND);
    }
    let view = open(&ids);
    assert!(view.sees(FIRST, NONE) && view.sees(SECOND, NONE), "an acknowledged commit");
}

/// The third transaction finishes, then the first, whose end moves the low mark past itself. A view that sees the first by the mark alone sees the third,
/// which had finished before, by its number.
fn the_low_mark_is_closed() {
    let ids = ids_given_out(3);
    let reader = {
        let ids = Arc::clone(&ids);
        thread::spawn(move || {
            let view = open(&ids);
            if view.sees(FIRST, NONE) {
                assert!(view.sees(THIRD, NONE), "not closed");
            }
        })
    };
    ids.finish(THIRD);
    ids.finish(FIRST);
    reader.join().expect("no panic");
    assert_eq!(open(&ids).low(), SECOND, "the mark did not move");
}

/// The window leaves two ids, one of which finishes meanwhile, and their words go over to ids a lap later.
fn the_window_moves() {
    // The sixth id is the one that moves it.
    let ids = ids_given_out(5);
    ids.finish(SECOND);
    let mover = {
        let ids = Arc::clone(&ids);
        thread::spawn(move || {
            let (id, must_move) = ids.take_next();
            assert!(must_move);
            ids.make_room(id, &Slots);
        })
    };
    let finisher = {
        let ids = Arc::clone(&ids);
        thread::spawn(move || {
            ids.finish(FIRST);
            assert!(!ids.is_active(FIRST), "its own end");
        })
    };
    // It had finished before all of this.
    assert!(!ids.is_active(SECOND), "a finished id");
    assert!(open(&ids).sees(SECOND, NONE), "a finished id");
    mover.join().expect("no panic");
    finisher.join().expect("no panic");
    assert!(!ids.is_active(FIRST) && ids.is_active(TxnId(3)) && !ids.is_active(TxnId(9)), "after the move");
    assert!(open(&ids).sees(FIRST, NONE), "an acknowledged commit");
}

fn explore(model: fn()) {
    let mut builder = loom::model::Builder::new();
    if builder.preemption_bound.is_none() {
        builder.preemption_bound = Some(2);
    }
    builder.check(model);
}

/// The model holds, and fails with each of these orders weakened, or bugs of the product's sources.
fn check(model: fn(), bugs: &[&'static str]) {
    explore(model);
    bugs.iter().for_each(|bug| models::must_find(bug, &[], || explore(model)));
}

#[test]
fn a_view_does_not_change() {
    check(views_do_not_change, &["draw_relaxed", "newest_relaxed", "number_before_pending"]);
}

#[test]
fn a_view_is_closed() {
    check(views_are_closed, &["loads_relaxed", "exchanges_relaxed", "pending_is_finished"]);
}

#[test]
fn the_low_mark_of_a_view_is_closed() {
    check(the_low_mark_is_closed, &["loads_relaxed", "raise_relaxed"]);
}

#[test]
fn the_window_moves_under_finishers_and_readers() {
    check(the_window_moves, &["loads_relaxed", "stores_relaxed"]);
}
