//! Random schedules of ids, views and purge, over the product's sources with a ring of 256 ids. Each property is checked a second time with
//! a bug planted that it must find. More schedules: `TXN_SCHEDULES=1000000 cargo test -p txn --release --test shuttle_views`.

#![allow(clippy::disallowed_types)] // shuttle's are behind the same names

use base::TxnId;
use shuttle::rand::Rng;
use shuttle::sync::Arc;

/// What `crate::platform` of the product is, over shuttle and small.
mod platform {
    pub(crate) use crate::futex;
    pub use models::planted;
    pub use shuttle::sync::Arc;
    pub use shuttle::sync::{Condvar, Mutex, atomic};
    pub use shuttle::{hint, lazy_static, thread};
    pub use sync::CachePadded;

    pub(crate) use crate::latch;

    pub const RING_IDS: u64 = 256;
    pub const BLOCK_IDS: u64 = 64;
    pub const BITMAP_WORDS: usize = 1;
    pub const RELEASED_WORDS: u64 = 2;
    pub const LONG_INLINE: usize = 2;
    pub const COPY_ATTEMPTS: u32 = 2;
}

#[allow(dead_code)]
#[path = "../src/classic.rs"]
mod classic;
#[allow(dead_code)]
#[path = "../src/commit_queue.rs"]
mod commit_queue;
#[allow(clippy::enum_variant_names)] // crate-private here, public there
#[path = "../../sync/src/futex_model.rs"]
mod futex;
#[allow(dead_code)]
#[path = "../src/ids.rs"]
mod ids;
#[path = "model/latch.rs"]
mod latch;
#[allow(dead_code)]
#[path = "../src/released.rs"]
mod released;
#[allow(dead_code)]
#[path = "../src/slots.rs"]
mod slots;
#[allow(dead_code)]
#[path = "../src/system.rs"]
mod system;
#[allow(dead_code)]
#[path = "../src/view.rs"]
mod view;

use models::Schedules;
use system::TxnSystem;
use view::ReadView;

const SCHEDULES: Schedules = Schedules { count: 9_000, variable: "TXN_SCHEDULES" };

/// T1 and T2 lie in different words. T2 finishes only after a view of its own saw T1.
fn views_are_closed() {
    let system = Arc::new(TxnSystem::new(TxnId(62), &[]));
    let ids: Vec<TxnId> = (0..4).map(|_| system.allocate_id()).collect();
    // A later id in an earlier word, and an earlier id in a later word of the copy, are both tried.
    let pair = if shuttle::rand::thread_rng().gen_bool(0.5) { (ids[0], ids[3]) } else { (ids[3], ids[0]) };
    let (first, second) = pair;
    let finisher = {
        let system = Arc::clone(&system);
        shuttle::thread::spawn(move || {
            system.finish(first);
        })
    };
    let follower = {
        let system = Arc::clone(&system);
        shuttle::thread::spawn(move || {
            let slot = system.register_slot();
            let mut view = ReadView::new();
            system.open_view(&mut view, &slot);
            let saw = view.sees(first, second);
            system.finish(second);
            saw
        })
    };
    let slot = system.register_slot();
    let mut view = ReadView::new();
    system.open_view(&mut view, &slot);
    let (sees_first, sees_second) = (view.sees(first, TxnId::NONE), view.sees(second, TxnId::NONE));
    finisher.join().expect("no panic");
    let saw = follower.join().expect("no panic");
    assert!(!(sees_second && saw && !sees_first), "sees {second} but not {first}, which {second} saw");
    // The content does not change by what happens later.
    assert_eq!((view.sees(first, TxnId::NONE), view.sees(second, TxnId::NONE)), (sees_first, sees_second));
    system.open_view(&mut view, &slot);
    assert!(view.sees(first, TxnId::NONE) && view.sees(second, TxnId::NONE));
}

#[test]
fn a_view_is_closed_under_what_its_transactions_saw() {
    SCHEDULES.check(views_are_closed, &["copy_without_recheck"]);
}

/// The window moves on while old transactions finish and views are copied.
fn window_moves() {
    // ring_low is 64; id 288 moves it to 128, so that 70 and 71 become long unless they finish before.
    let system = Arc::new(TxnSystem::new(TxnId(255), &[TxnId(70), TxnId(71), TxnId(200)]));
    for _ in 255..288 {
        system.finish(system.allocate_id());
    }
    assert_eq!((system.next_id(), system.long_count()), (TxnId(288), 0));
    let finishers: Vec<_> = [70, 71]
        .into_iter()
        .map(|id| {
            let system = Arc::clone(&system);
            shuttle::thread::spawn(move || {
                assert!(system.is_active(TxnId(id)));
                system.finish(TxnId(id));
                assert!(!system.is_active(TxnId(id)));
            })
        })
        .collect();
    let writer = {
        let system = Arc::clone(&system);
        shuttle::thread::spawn(move || {
            let ids = [system.allocate_id(), system.allocate_id()];
            ids.iter().for_each(|id| {
                system.finish(*id);
            });
            ids[1]
        })
    };
    let slot = system.register_slot();
    let mut view = ReadView::new();
    system.open_view(&mut view, &slot);
    assert!(!view.sees(TxnId(200), TxnId::NONE) && view.sees(TxnId(199), TxnId::NONE) && view.sees(TxnId(69), TxnId::NONE));
    assert!(system.is_active(TxnId(200)) && !system.is_active(TxnId(72)));
    finishers.into_iter().for_each(|finisher| finisher.join().expect("no panic"));
    let last = writer.join().expect("no panic");
    assert_eq!(system.long_count(), 0);
    system.open_view(&mut view, &slot);
    for id in [1, 70, 71, 199, 201, last.0] {
        assert!(view.sees(TxnId(id), TxnId::NONE) && !system.is_active(TxnId(id)), "{id} in {view:?}");
    }
    // Nothing was set for ids to come, which use the cleared words.
    assert!((0..70).all(|_| system.is_active(system.allocate_id())), "an id is born finished");
    system.finish(TxnId(200));
    assert!(system.low_id() >= TxnId(256), "{system:?}");
}

#[test]
fn the_window_moves_under_finishers_and_readers() {
    SCHEDULES.check(window_moves, &["move_without_drain"]);
}

/// A view is opened while others finish and purge asks what it may remove.
fn purge_against_views(opened_before: bool) {
    let system = Arc::new(TxnSystem::new(TxnId(60), &[]));
    let ids: Vec<TxnId> = (0..4).map(|_| system.allocate_id()).collect();
    let slot = system.register_slot();
    let mut view = ReadView::new();
    if opened_before {
        // Closed again, so that the second opening may reuse it.
        system.open_view(&mut view, &slot);
        system.close_view(&slot);
    }
    // The last of them, 63, fills the first word, so that the low mark moves as well.
    let finisher = {
        let (system, ids) = (Arc::clone(&system), ids.clone());
        shuttle::thread::spawn(move || ids.into_iter().map(|id| (id, system.finish(id))).collect::<Vec<_>>())
    };
    let reader = {
        let system = Arc::clone(&system);
        shuttle::thread::spawn(move || {
            system.open_view(&mut view, &slot);
            (view, slot)
        })
    };
    let limits = [system.purge_limit(), system.purge_limit()];
    let (view, slot) = reader.join().expect("no panic");
    let finished = finisher.join().expect("no panic");
    for limit in limits.into_iter().chain([system.purge_limit()]) {
        for (id, seq) in &finished {
            let covered = limit.covers(*id) || limit.covers_finish(*seq);
            assert!(!covered || view.sees(*id, TxnId::NONE), "{limit:?} covers {id}, which {view:?} does not see");
        }
    }
    drop(slot);
    assert_eq!(system.purge_limit().below, TxnId(64));
}

#[test]
fn purge_takes_nothing_from_a_view_being_opened() {
    SCHEDULES.check(|| purge_against_views(false), &["copy_before_publish"]);
}

#[test]
fn purge_takes_nothing_from_a_view_being_reused() {
    SCHEDULES.check(|| purge_against_views(true), &["reuse_before_publish"]);
}

/// Two words fill up at the same time; the low mark must pass both, and reach into the one behind them.
fn low_mark_follows() {
    let unfinished = [TxnId(10), TxnId(100)];
    let system = Arc::new(TxnSystem::new(TxnId(191), &unfinished));
    let finishers: Vec<_> = unfinished
        .into_iter()
        .map(|id| {
            let system = Arc::clone(&system);
            shuttle::thread::spawn(move || system.finish(id))
        })
        .collect();
    finishers.into_iter().for_each(|finisher| {
        finisher.join().expect("no panic");
    });
    assert_eq!(system.low_id(), TxnId(191));
}

#[test]
fn the_low_mark_does_not_stick() {
    SCHEDULES.check(low_mark_follows, &["low_without_recheck"]);
}

/// What finished before a view was opened is seen, also when the view is an old one.
fn reuse_is_current() {
    let system = Arc::new(TxnSystem::new(TxnId(1), &[]));
    let ids = [system.allocate_id(), system.allocate_id()];
    let other = {
        let system = Arc::clone(&system);
        shuttle::thread::spawn(move || system.finish(ids[1]))
    };
    let slot = system.register_slot();
    let mut view = ReadView::new();
    system.open_view(&mut view, &slot);
    system.finish(ids[0]);
    system.open_view(&mut view, &slot);
    assert!(view.sees(ids[0], TxnId::NONE), "its own commit");
    other.join().expect("no panic");
    system.open_view(&mut view, &slot);
    assert!(view.sees(ids[1], TxnId::NONE), "a commit that was acknowledged");
}

#[test]
fn a_reused_view_is_as_good_as_a_new_one() {
    SCHEDULES.check(reuse_is_current, &[]);
}
