//! Random schedules of commits that let go of their locks before they are durable, over the product's sources with a small ring. Each
//! property is checked again with bugs planted that it must find. More schedules: `TXN_SCHEDULES=1000000 cargo test -p txn --release --test shuttle_commits`.

#![allow(clippy::disallowed_types)] // shuttle's are behind the same names

use base::{Lsn, TxnId};
use shuttle::sync::{Arc, Mutex};

#[path = "model/platform.rs"]
mod platform;

/// Of the `platform`.
pub const RELEASED_WORDS: u64 = 1;

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
#[allow(dead_code, clippy::modulo_one)] // one word here
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

use commit_queue::CommitPlace;
use models::{Schedules, planted};
use platform::atomic::{AtomicBool, AtomicU64, Ordering};
use released::Released;
use system::{Standing, TxnSystem};
use view::ReadView;

const SCHEDULES: Schedules = Schedules { count: 9_000, variable: "TXN_SCHEDULES" };

const RECORDS: usize = 8;

/// A log that makes durable what is complete, and one row.
struct Model {
    system: TxnSystem,
    head: AtomicU64,
    filled: [AtomicBool; RECORDS],
    durable: AtomicU64,
    leader: Mutex<()>,
    /// The writers of the row's versions, the newest last, and where their commit records end.
    row: Mutex<Vec<(TxnId, u64)>>,
}

impl Model {
    fn new(writers: u64) -> Model {
        let system = TxnSystem::new(TxnId(1), &[]);
        (1..=writers).for_each(|id| assert_eq!(system.allocate_id(), TxnId(id)));
        Model {
            system,
            head: AtomicU64::new(0),
            filled: std::array::from_fn(|_| AtomicBool::new(false)),
            durable: AtomicU64::new(0),
            leader: Mutex::new(()),
            row: Mutex::new(Vec::new()),
        }
    }

    /// Writes the row once nobody has it locked.
    fn write(&self, own: TxnId) {
        loop {
            let mut row = self.row.lock().unwrap();
            let free = row.last().is_none_or(|(writer, _)| !self.system.holds_locks(*writer));
            if free {
                row.push((own, u64::MAX));
                return;
            }
            drop(row);
            shuttle::thread::yield_now();
        }
    }

    fn commit(&self, own: TxnId, place: &CommitPlace) {
        let lsn = self.head.fetch_add(1, Ordering::SeqCst) + 1;
        self.row.lock().unwrap().iter_mut().filter(|(writer, _)| *writer == own).for_each(|(_, end)| *end = lsn);
        let late = planted("queue_after_fill");
        assert!(late || self.system.queue_commit(place, own, Lsn(lsn)));
        shuttle::thread::yield_now();
        assert_ne!(self.system.standing(own), Standing::Finished, "finished before its record is filled");
        self.filled[lsn as usize - 1].store(true, Ordering::SeqCst);
        assert!(!late || self.system.queue_commit(place, own, Lsn(lsn)));
        self.system.release(own);
        while self.durable.load(Ordering::SeqCst) < lsn {
            let _leads = self.leader.lock().unwrap();
            let complete = self.filled.iter().take_while(|filled| filled.load(Ordering::SeqCst)).count() as u64;
            if complete > self.durable.load(Ordering::SeqCst) {
                self.system.finish_durable(Lsn(complete));
                self.durable.store(complete, Ordering::SeqCst);
            }
        }
        assert_eq!(self.system.standing(own), Standing::Finished, "durable and not finished");
    }
}

/// Writers build one upon the other; a reader looks in between.
fn writers_build_on_each_other(writers: u64) {
    let model = Arc::new(Model::new(writers));
    let handles: Vec<_> = (1..=writers)
        .map(|id| {
            let model = Arc::clone(&model);
            shuttle::thread::spawn(move || {
                let place = model.system.register_committer();
                model.write(TxnId(id));
                model.commit(TxnId(id), &place);
            })
        })
        .collect();
    let slot = model.system.register_slot();
    let mut view = ReadView::new();
    for _ in 0..2 {
        model.system.open_view(&mut view, &slot);
        let known = model.head.load(Ordering::SeqCst);
        let complete = model.filled.iter().take_while(|filled| filled.load(Ordering::SeqCst)).count() as u64;
        let versions = model.row.lock().unwrap().clone();
        let seen: Vec<bool> = versions.iter().map(|(writer, _)| view.sees(*writer, TxnId::NONE)).collect();
        assert!(seen.windows(2).all(|pair| pair[0] || !pair[1]), "sees a writer without what it built on: {versions:?} {seen:?}");
        for ((writer, end), seen) in versions.iter().zip(&seen) {
            assert!(!seen || (*end <= known && *end <= complete), "sees {writer}, whose record at {end} cannot be durable");
        }
    }
    handles.into_iter().for_each(|handle| handle.join().expect("no panic"));
    model.system.open_view(&mut view, &slot);
    assert!((1..=writers).all(|id| view.sees(TxnId(id), TxnId::NONE)), "an acknowledged commit");
}

#[test]
fn a_view_sees_what_the_commits_it_sees_built_on() {
    SCHEDULES.check(|| writers_build_on_each_other(3), &["drain_unsorted", "drain_all", "queue_after_fill"]);
}

/// A word of released bits serves later ids while earlier ones are still to finish.
fn words_go_over() {
    let released = Arc::new(Released::new());
    let finished = Arc::new(AtomicBool::new(false));
    // 3 releases before or after 20 takes the word over, which 40 takes over again. 4 never releases.
    let spawn = |id: u64| {
        let (released, finished) = (Arc::clone(&released), Arc::clone(&finished));
        shuttle::thread::spawn(move || {
            released.release(id, |other| other != 20 && (other != 3 || !finished.load(Ordering::SeqCst)));
            assert!(released.has_released(id) || id == 20, "{id} has released");
        })
    };
    let handles = [spawn(3), spawn(20), spawn(40)];
    assert!(!released.has_released(4) && !released.has_released(21) && !released.has_released(41));
    if released.has_released(3) {
        shuttle::thread::yield_now();
        assert!(released.has_released(3), "who has released does not take its locks back");
    }
    handles.into_iter().for_each(|handle| handle.join().expect("no panic"));
    assert!(released.has_released(3) && released.has_released(40));
    assert!(!released.has_released(4) && !released.has_released(21) && !released.has_released(41));
}

#[test]
fn a_release_outlives_its_word() {
    SCHEDULES.check(words_go_over, &["word_taken_without_list"]);
}
