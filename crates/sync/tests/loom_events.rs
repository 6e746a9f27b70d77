//! All schedules of events and signals over the modelled futex: no lost wake-up, and what was written before is seen after.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p sync --release --test loom_events --target-dir target/loom`
#![cfg(loom)]

use sync::atomic::{AtomicU64, Ordering};
use sync::{Arc, Event, Mutex, Rank, Signal, thread};

#[test]
fn an_event_wakes_all_waiters_and_orders_what_came_before() {
    loom::model(|| {
        let shared = Arc::new((Event::new(), AtomicU64::new(0)));
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || {
                    assert!(shared.0.wait(None));
                    assert_eq!(shared.1.load(Ordering::Relaxed), 7);
                })
            })
            .collect();
        shared.1.store(7, Ordering::Relaxed);
        shared.0.set();
        for waiter in waiters {
            waiter.join().expect("no panic");
        }
    });
}

#[test]
fn a_notification_is_never_lost() {
    loom::model(|| {
        let shared = Arc::new((Signal::new(), AtomicU64::new(0)));
        let waiter = {
            let shared = shared.clone();
            thread::spawn(move || {
                while shared.1.load(Ordering::Relaxed) < 2 {
                    shared.0.wait(None);
                }
            })
        };
        for n in 1..=2 {
            shared.1.store(n, Ordering::Relaxed);
            shared.0.notify();
        }
        waiter.join().expect("no panic");
    });
}

#[test]
fn a_mutex_excludes() {
    loom::model(|| {
        let mutex = Arc::new(Mutex::new(Rank::Leaf, 0));
        let other = mutex.clone();
        let thread = thread::spawn(move || *other.lock() += 1);
        *mutex.lock() += 1;
        thread.join().expect("no panic");
        assert_eq!(*mutex.lock(), 2);
    });
}
