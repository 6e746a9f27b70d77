//! Random schedules of ids, views and purge, over the product's sources with a ring of 64 ids. Each property is checked a second time with
//! a bug planted that it must find. More schedules: `TXN_SCHEDULES=1000000 cargo test -p txn --release --test shuttle_views`.

#![allow(clippy::disallowed_types)] // shuttle's are behind the same names

use base::TxnId;
use shuttle::rand::Rng;
use shuttle::sync::Arc;

#[path = "model/platform.rs"]
mod platform;

/// Of the `platform`.
pub const RELEASED_WORDS: u64 = 2;

#[allow(dead_code)]
#[path = "../src/classic.rs"]
mod classic;
#[allow(dead_code)]
#[path = "../src/commit_queue.rs"]
mod commit_queue;
#[allow(dead_code)]
#[path = "../src/ids.rs"]
mod ids;
#[path = "model/latch.rs"]
mod latch;
#[allow(dead_code, clippy::modulo_one)] // one word here
#[path = "../src/old_ids.rs"]
mod old_ids;
#[allow(dead_code)]
#[path = "../src/prune.rs"]
mod prune;
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

use ids::Ids;
use models::Schedules;
use platform::atomic::Ordering;
use slots::Slots;
use system::TxnSystem;
use view::ReadView;

const SCHEDULES: Schedules = Schedules { count: 9_000, variable: "TXN_SCHEDULES" };
const NONE: TxnId = TxnId::NONE;

/// One in two.
fn coin() -> bool {
    shuttle::rand::thread_rng().gen_bool(0.5)
}

/// T2 finishes only after it has looked whether T1 has: by a view of its own, or as those do who want its locks.
fn views_are_closed() {
    let system = Arc::new(TxnSystem::new(TxnId(1), &[]));
    let ids = [system.allocate_id(), system.allocate_id()];
    let (first, second) = if coin() { (ids[0], ids[1]) } else { (ids[1], ids[0]) };
    let finisher = {
        let system = Arc::clone(&system);
        shuttle::thread::spawn(move || {
            system.finish(first);
            assert!(!system.is_active(first));
        })
    };
    let follower = {
        let (system, by_view) = (Arc::clone(&system), coin());
        shuttle::thread::spawn(move || {
            let saw = if by_view {
                let (slot, mut view) = (system.register_slot(), ReadView::new());
                system.open_view(&mut view, &slot);
                view.sees(first, second)
            } else {
                !system.is_active(first)
            };
            system.finish(second);
            saw
        })
    };
    let (slot, mut view) = (system.register_slot(), ReadView::new());
    system.open_view(&mut view, &slot);
    let seen = if coin() {
        (view.sees(first, NONE), view.sees(second, NONE))
    } else {
        let sees_second = view.sees(second, NONE);
        (view.sees(first, NONE), sees_second)
    };
    finisher.join().expect("no panic");
    let saw = follower.join().expect("no panic");
    assert!(!(seen.1 && saw && !seen.0), "sees {second} but not {first}, which {second} saw");
    // The content does not change by what happens later.
    assert_eq!((view.sees(first, NONE), view.sees(second, NONE)), seen, "an open view has changed");
    system.open_view(&mut view, &slot);
    assert!(view.sees(first, NONE) && view.sees(second, NONE), "an acknowledged commit");
}

#[test]
fn a_view_is_closed_under_what_its_transactions_saw() {
    SCHEDULES.check(views_are_closed, &["number_before_pending", "pending_is_unfinished", "pending_is_finished"]);
}

/// A finisher is stopped for good once its word is pending; the others go on, and agree on when it finished.
fn finisher_stops() {
    let ids = Arc::new(Ids::new(TxnId(1), &[]));
    let slots = Arc::new(Slots::new());
    let (stopped, other) = (ids.take_next().0, ids.take_next().0);
    let word = ids.word(stopped.0);
    let lap = ids.lap(stopped.0);
    word.compare_exchange(lap, lap | 1 << 62, Ordering::AcqRel, Ordering::Acquire).expect("unfinished");
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (ids, slots) = (Arc::clone(&ids), Arc::clone(&slots));
            shuttle::thread::spawn(move || {
                let (slot, mut view) = (slots.register(), ReadView::new());
                view.attach(&ids);
                ids.open(&mut view, &slot);
                let (sees_stopped, sees_other) = (view.sees(stopped, NONE), view.sees(other, NONE));
                assert!(!ids.is_active(stopped), "it has a number by now");
                assert_eq!((view.sees(stopped, NONE), view.sees(other, NONE)), (sees_stopped, sees_other), "an open view has changed");
                ids.open(&mut view, &slot);
                assert!(view.sees(stopped, NONE));
                view.high()
            })
        })
        .collect();
    ids.finish(other);
    readers.into_iter().for_each(|reader| assert_eq!(reader.join().expect("no panic"), TxnId(3)));
    assert_eq!(ids.low_exact(), 3);
}

#[test]
fn a_stopped_finisher_stops_nobody() {
    SCHEDULES.check(finisher_stops, &["pending_is_unfinished"]);
}

/// The window moves on while old transactions finish and views look at them.
fn window_moves() {
    // The window is 100 to 164; id 140 moves it on to 116.
    let system = Arc::new(TxnSystem::new(TxnId(100), &[TxnId(70), TxnId(71)]));
    let unfinished = [100, 101, 102, 103];
    for _ in 100..140 {
        let id = system.allocate_id();
        if !unfinished.contains(&id.0) {
            system.finish(id);
        }
    }
    assert_eq!((system.next_id(), system.long_count()), (TxnId(140), 2));
    // Opened while 102 runs: for it 102 never finishes.
    let (held_slot, mut held) = (system.register_slot(), ReadView::new());
    system.open_view(&mut held, &held_slot);
    system.finish(TxnId(102));
    let finishers: Vec<_> = [70, 100, 101]
        .into_iter()
        .map(|id| {
            let system = Arc::clone(&system);
            shuttle::thread::spawn(move || {
                assert!(system.is_active(TxnId(id)));
                system.finish(TxnId(id));
                assert!(!system.is_active(TxnId(id)), "{id} has finished");
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
    let (slot, mut view) = (system.register_slot(), ReadView::new());
    system.open_view(&mut view, &slot);
    let in_question = [70, 71, 100, 101, 102, 103, 104, 130].map(TxnId);
    let seen = in_question.map(|id| view.sees(id, NONE));
    assert!(!held.sees(TxnId(102), NONE) && view.sees(TxnId(102), NONE), "102 finished between the two");
    assert!(!seen[1] && !seen[5] && seen[6] && seen[7], "71 and 103 run, 104 and 130 have finished: {seen:?}");
    assert!(system.is_active(TxnId(103)) && !system.is_active(TxnId(104)) && system.is_active(TxnId(71)));
    finishers.into_iter().for_each(|finisher| finisher.join().expect("no panic"));
    let last = writer.join().expect("no panic");
    assert_eq!(in_question.map(|id| view.sees(id, NONE)), seen, "an open view has changed");
    assert!([100, 101, 102, 103].iter().all(|id| !held.sees(TxnId(*id), NONE)) && held.sees(TxnId(104), NONE), "{held:?}");
    while system.long_count() < 2 {
        // The move was put off, because somebody was looking at the list.
        system.finish(system.allocate_id());
    }
    assert_eq!(system.long_count(), 2, "71 and 103");
    system.open_view(&mut view, &slot);
    for id in [1, 70, 100, 101, 102, 104, 139, last.0] {
        assert!(view.sees(TxnId(id), NONE) && !system.is_active(TxnId(id)), "{id} in {view:?}");
    }
    assert_eq!(system.old_count(), 6, "71 and 103 run; 70, 100, 101 and 102 are kept for the view held from before");
    system.close_view(&held_slot);
    // Nothing was left for ids to come, which use the same words.
    for _ in 0..70 {
        let id = system.allocate_id();
        assert!(system.is_active(id), "an id is born finished");
        system.finish(id);
    }
    system.close_view(&slot);
    assert!(!system.is_active(TxnId(102)) && system.old_count() == 2, "kept for nobody: {}", system.old_count());
    system.finish(TxnId(71));
    system.finish(TxnId(103));
    assert_eq!(system.low_id(), system.next_id(), "{system:?}");
}

#[test]
fn the_window_moves_under_finishers_and_readers() {
    SCHEDULES.check(window_moves, &["window_not_looked_at_again", "block_dropped_without_views", "filter_after_window"]);
}

/// A transaction finishes at the moment in which its word goes over to a later id.
fn word_goes_over() {
    let system = Arc::new(TxnSystem::new(TxnId(100), &[]));
    let ids: Vec<TxnId> = (100..140).map(|_| system.allocate_id()).collect();
    ids[1..].iter().for_each(|id| {
        system.finish(*id);
    });
    let finisher = {
        let system = Arc::clone(&system);
        shuttle::thread::spawn(move || system.finish(TxnId(100)))
    };
    let own = system.allocate_id();
    let seq = finisher.join().expect("no panic");
    assert!(!system.is_active(TxnId(100)) && system.is_active(own), "100 has finished");
    let (slot, mut view) = (system.register_slot(), ReadView::new());
    system.open_view(&mut view, &slot);
    assert!(view.sees(TxnId(100), NONE) && view.low().0 + platform::LOW_STEP > own.0 && system.purge_limit().covers_finish(seq));
    let later: Vec<TxnId> = (0..40).map(|_| system.allocate_id()).collect();
    assert!(later.iter().all(|id| system.is_active(*id)), "an id is born finished");
}

#[test]
fn a_word_goes_over_under_its_finisher() {
    SCHEDULES.check(word_goes_over, &["word_taken_by_store"]);
}

/// A transaction that the window has left finishes while a view is opened.
fn old_one_finishes() {
    let system = Arc::new(TxnSystem::new(TxnId(100), &[TxnId(70)]));
    let finisher = {
        let system = Arc::clone(&system);
        shuttle::thread::spawn(move || system.finish(TxnId(70)))
    };
    let (slot, mut view) = (system.register_slot(), ReadView::new());
    system.open_view(&mut view, &slot);
    let seen = view.sees(TxnId(70), NONE);
    finisher.join().expect("no panic");
    assert_eq!(view.sees(TxnId(70), NONE), seen, "an open view has changed");
    system.open_view(&mut view, &slot);
    assert!(view.sees(TxnId(70), NONE) && view.low() >= TxnId(100));
}

#[test]
fn a_transaction_that_the_window_has_left_finishes_at_once() {
    SCHEDULES.check(old_one_finishes, &["old_number_before_latch"]);
}

/// A view is opened while what finishes leaves the window.
fn view_opened_while_the_window_moves() {
    let system = Arc::new(TxnSystem::new(TxnId(100), &[]));
    for _ in 100..140 {
        let id = system.allocate_id();
        if ![100, 101, 130].contains(&id.0) {
            system.finish(id);
        }
    }
    let writer = {
        let system = Arc::clone(&system);
        shuttle::thread::spawn(move || {
            // 101 stays in the window, 130 does as well; 101 has seen 130.
            system.finish(TxnId(130));
            system.finish(TxnId(101));
            system.allocate_id();
        })
    };
    let (slot, mut view) = (system.register_slot(), ReadView::new());
    system.open_view(&mut view, &slot);
    let seen = [101, 130].map(|id| view.sees(TxnId(id), NONE));
    writer.join().expect("no panic");
    assert_eq!([101, 130].map(|id| view.sees(TxnId(id), NONE)), seen, "an open view has changed");
    assert!(!seen[0] || seen[1], "sees 101 but not 130, which 101 saw");
    assert!(!view.sees(TxnId(100), NONE));
}

#[test]
fn what_leaves_the_window_is_kept_for_a_view_being_opened() {
    SCHEDULES.check(view_opened_while_the_window_moves, &["read_before_publish", "block_dropped_without_views"]);
}

/// A view is opened while others finish and purge asks what it may remove.
fn purge_against_views() {
    let system = Arc::new(TxnSystem::new(TxnId(60), &[]));
    let ids: Vec<TxnId> = (0..4).map(|_| system.allocate_id()).collect();
    let slot = system.register_slot();
    let mut view = ReadView::new();
    if coin() {
        system.open_view(&mut view, &slot);
        system.close_view(&slot);
    }
    // The last of them, 63, is the one that moves the low mark.
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
            assert!(!covered || view.sees(*id, NONE), "{limit:?} covers {id}, which {view:?} does not see");
        }
    }
    drop(slot);
    assert_eq!(system.purge_limit().below, TxnId(64));
}

#[test]
fn purge_takes_nothing_from_a_view_being_opened() {
    SCHEDULES.check(purge_against_views, &["read_before_publish"]);
}

/// What purge between snapshots goes by, while views are opened and transactions finish: all views but the old ones see what it calls settled, and of the
/// others it knows which do not.
fn snapshots_against_views() {
    let system = Arc::new(TxnSystem::new(TxnId(60), &[]));
    let ids: Vec<TxnId> = (0..3).map(|_| system.allocate_id()).collect();
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (system, slot) = (Arc::clone(&system), system.register_slot());
            let again = coin();
            shuttle::thread::spawn(move || {
                let mut view = ReadView::new();
                system.open_view(&mut view, &slot);
                if again {
                    system.close_view(&slot);
                    system.open_view(&mut view, &slot);
                }
                (view, slot)
            })
        })
        .collect();
    let finisher = {
        let (system, ids) = (Arc::clone(&system), ids.clone());
        shuttle::thread::spawn(move || {
            ids.into_iter().for_each(|id| {
                system.finish(id);
            })
        })
    };
    let lag = if coin() { 1000 } else { 0 };
    let collected = [system.snapshots(lag), system.snapshots(lag)];
    let views: Vec<_> = readers.into_iter().map(|reader| reader.join().expect("no panic")).collect();
    finisher.join().expect("no panic");
    let last = system.snapshots(lag);
    assert!(last.is_some(), "no view is being opened");
    for snapshots in collected.into_iter().chain([last]).flatten() {
        for id in ids.iter().filter(|id| snapshots.settled(**id)) {
            for (view, _) in views.iter().filter(|(view, _)| !view.sees(*id, NONE)) {
                let known = snapshots.blind_to(*id).any(|old| old.number() == view.number());
                assert!(known, "{snapshots:?} has {id} settled, which {view:?} does not see");
            }
        }
    }
}

#[test]
fn what_is_settled_is_seen_by_all_views_but_the_old() {
    SCHEDULES.check(snapshots_against_views, &["horizon_without_newest"]);
}

/// A view is stopped between its number and its upper bound while another is opened and a transaction comes and finishes that neither sees; then it closes,
/// and the window leaves that transaction behind.
fn stalled_view_is_the_horizon() {
    let system = Arc::new(TxnSystem::new(TxnId(100), &[]));
    let first = system.allocate_id();
    let (tell, told) = shuttle::sync::mpsc::channel::<()>();
    let stalled = {
        let (system, slot) = (Arc::clone(&system), system.register_slot());
        shuttle::thread::spawn(move || {
            let mut view = ReadView::new();
            system.open_view(&mut view, &slot);
            told.recv().expect("told to close");
            system.close_view(&slot);
        })
    };
    system.finish(first);
    let (slot, mut view) = (system.register_slot(), ReadView::new());
    if coin() {
        // Bounds of an earlier view in the same slot, with the same number.
        system.open_view(&mut view, &slot);
        system.close_view(&slot);
    }
    system.open_view(&mut view, &slot);
    let later = system.allocate_id();
    system.finish(later);
    let snapshots = loop {
        match system.snapshots(1000) {
            Some(snapshots) => break snapshots,
            None => shuttle::thread::yield_now(),
        }
    };
    tell.send(()).expect("it waits");
    stalled.join().expect("no panic");
    // The window moves on to 116.
    for _ in 0..42 {
        let id = system.allocate_id();
        system.finish(id);
    }
    assert!(!view.sees(later, NONE) && view.sees(first, NONE));
    assert!(!snapshots.settled(later), "{snapshots:?} has {later} settled, which {view:?} does not see");
}

#[test]
fn the_horizon_of_a_stalled_view_does_not_pass_others() {
    SCHEDULES.check(stalled_view_is_the_horizon, &["horizon_high_of_the_oldest"]);
}

/// All finish, in three threads; the low mark must follow, and be left with somebody who moves it on.
fn low_mark_follows() {
    let system = Arc::new(TxnSystem::new(TxnId(1), &[]));
    let ids: Vec<TxnId> = (0..6).map(|_| system.allocate_id()).collect();
    let finishers: Vec<_> = (0..3)
        .map(|n| {
            let (system, own) = (Arc::clone(&system), [ids[n], ids[5 - n]]);
            shuttle::thread::spawn(move || {
                own.into_iter().for_each(|id| {
                    system.finish(id);
                })
            })
        })
        .collect();
    finishers.into_iter().for_each(|finisher| finisher.join().expect("no panic"));
    assert_eq!(system.low_id(), TxnId(7));
    let (slot, mut view) = (system.register_slot(), ReadView::new());
    system.open_view(&mut view, &slot);
    assert!(view.low().0 + platform::LOW_STEP > 7, "the low mark sticks at {}", view.low());
    (0..8).for_each(|_| {
        system.finish(system.allocate_id());
    });
    system.open_view(&mut view, &slot);
    assert!(view.low().0 + platform::LOW_STEP > 15, "the low mark sticks at {}", view.low());
}

#[test]
fn the_low_mark_does_not_stick() {
    SCHEDULES.check(low_mark_follows, &["low_without_recheck"]);
}
