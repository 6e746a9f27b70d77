//! Random schedules of the crew of logins: everybody who comes is seen to once, or turned away once where no thread is to be had; no more are at work than are to be; who waits for another has left its place to
//! whoever sees to that one. Each planted bug must be found. More schedules: `LOGIN_SCHEDULES=1000000 cargo test -p server --release --test shuttle_logins`.

#![allow(clippy::disallowed_types)] // shuttle's are behind the same names

use crew::{Crew, Enters, Place};
use models::Schedules;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread::{self, JoinHandle};
use std::io;

/// What `pool::platform` of the product is, over shuttle.
mod platform {
    pub(crate) use crate::latch::{Mutex, Rank};
    pub use models::planted;
    pub use shuttle::sync::{Arc, atomic};
}

#[path = "../src/logins/crew.rs"]
mod crew;
#[allow(dead_code)]
#[path = "../../txn/tests/model/latch.rs"]
mod latch;

const SCHEDULES: Schedules = Schedules { count: 4_000, variable: "LOGIN_SCHEDULES" };

/// What has become of everybody.
struct Told {
    at_work: AtomicUsize,
    most: usize,
    /// How often each was seen to, and turned away.
    counts: Mutex<Vec<(u32, u32)>>,
    changed: Condvar,
}

/// One who comes.
struct Client {
    number: usize,
    /// Leaves its place in the middle, and waits until this one has been seen to.
    waits_for: Option<usize>,
    leaves: bool,
    told: Arc<Told>,
}

impl Enters for Client {
    fn see_to(self, place: &Arc<Place<Self>>) {
        let told = &self.told;
        assert!(told.at_work.fetch_add(1, Ordering::SeqCst) < told.most, "too many are at work");
        thread::yield_now();
        told.at_work.fetch_sub(1, Ordering::SeqCst);
        if self.leaves {
            place.leave();
            // A second time it is nothing.
            place.leave();
        }
        let mut counts = told.counts.lock().expect("model mutex");
        counts[self.number].0 += 1;
        told.changed.notify_all();
        if let Some(other) = self.waits_for {
            while counts[other].0 == 0 {
                counts = told.changed.wait(counts).expect("model mutex");
            }
        }
    }

    fn turn_away(self, _error: &io::Error) {
        self.told.counts.lock().expect("model mutex")[self.number].1 += 1;
    }
}

/// Five clients come to a crew of so many; the second and fourth leave their places, and with `wait` wait for who comes after them. `has_threads`: whether the n-th thread is to be had. How often each was seen to and turned away.
fn all_come(most: usize, wait: bool, has_threads: impl Fn(usize) -> bool + Send + Sync + 'static) -> Vec<(u32, u32)> {
    const CLIENTS: usize = 5;
    let counts = Mutex::new(vec![(0, 0); CLIENTS]);
    let told = Arc::new(Told { at_work: AtomicUsize::new(0), most, counts, changed: Condvar::new() });
    let threads: Arc<Mutex<Vec<JoinHandle<()>>>> = Arc::default();
    let (started, tried) = (Arc::clone(&threads), AtomicUsize::new(0));
    let crew = Crew::new(most, move |work| {
        if !has_threads(tried.fetch_add(1, Ordering::SeqCst)) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let thread = thread::spawn(work);
        started.lock().expect("model mutex").push(thread);
        Ok(())
    });
    for number in 0..CLIENTS {
        let leaves = number % 2 == 1;
        crew.take(Client { number, waits_for: (wait && leaves).then_some(number + 1), leaves, told: Arc::clone(&told) });
    }
    loop {
        let Some(thread) = threads.lock().expect("model mutex").pop() else { break };
        thread.join().expect("no panic");
    }
    let counts = told.counts.lock().expect("model mutex");
    counts.clone()
}

/// (Who is not seen to makes somebody wait for ever, which shuttle tells, or is missing in the end.)
#[test]
fn who_waits_leaves_its_place_to_those_in_line() {
    for most in [1, 2] {
        let model = move || assert_eq!(all_come(most, true, |_| true), vec![(1, 0); 5]);
        SCHEDULES.check(model, &["place_not_passed_on"]);
    }
}

#[test]
fn nobody_is_forgotten_where_threads_are_not_to_be_had() {
    for refused in 0..3 {
        let model = move || {
            let counts = all_come(1, false, move |start| start != refused);
            assert!(counts.iter().all(|(seen, away)| seen + away == 1), "{counts:?}");
            // Only who begins a crew can be turned away, and who came to it meanwhile.
            assert!(refused > 0 || counts[0] == (0, 1), "{counts:?}");
        };
        let bugs: &[&str] = if refused == 1 { &["left_without_another"] } else { &[] };
        SCHEDULES.check(model, bugs);
    }
}
