//! All schedules and memory orders of a small case: reservation, filling, marking, following, reusing the ring.
//!
//! The sources of `link_buffer.rs` and `reserve.rs` are compiled here over loom, whose cells find every access that is not ordered.
//! Deeper: `LOOM_MAX_PREEMPTIONS=4 cargo test -p wal --release --test loom_links`.

use loom::cell::UnsafeCell;
use loom::sync::Arc;

mod platform {
    pub use loom::sync::atomic::{AtomicU64, Ordering};
    pub use models::planted;
    pub use sync::CachePadded;
}

#[allow(dead_code)] // what the model does not use
#[path = "../src/link_buffer.rs"]
mod link_buffer;
#[allow(dead_code)]
#[path = "../src/reserve.rs"]
mod reserve;

use link_buffer::LinkBuffer;
use reserve::Reserver;

const UNIT: u64 = 8;
const RING: u64 = 2 * UNIT;
const START: u64 = 4096;

struct Model {
    links: LinkBuffer,
    reserver: Reserver,
    ring: [UnsafeCell<u64>; 2],
}

// SAFETY: loom checks every access to the cells; that is the test.
unsafe impl Sync for Model {}
// SAFETY: as above.
unsafe impl Send for Model {}

impl Model {
    fn cell(&self, at: u64) -> &UnsafeCell<u64> {
        &self.ring[(at % RING / UNIT) as usize]
    }

    /// Appends one record if there is room; a waiting loop would make the model endless.
    fn append(&self) -> bool {
        let start = self.reserver.take(UNIT);
        if !self.reserver.has_room(start + UNIT) {
            return false;
        }
        // SAFETY: the reservation has room; loom reports it if that is not so.
        self.cell(start).with_mut(|cell| unsafe { *cell = start });
        self.links.mark(start, start + UNIT);
        true
    }

    /// Reads what is complete and gives its room free; returns how far.
    fn drain(&self, written: u64) -> u64 {
        let tail = self.links.advance();
        for at in (written..tail).step_by(UNIT as usize) {
            // SAFETY: below the tail; loom reports it if the filling is not ordered before.
            let found = self.cell(at).with(|cell| unsafe { *cell });
            assert_eq!(found, at, "below the tail but not filled");
        }
        self.reserver.raise_limit((tail + RING).min(tail + self.links.window()));
        tail
    }
}

/// Two threads append, one of them twice into a ring of two, so that the third record overwrites the first; the main thread drains meanwhile.
fn run() {
    let model = Arc::new(Model {
        links: LinkBuffer::new(RING, START),
        reserver: Reserver::new(START),
        ring: [UnsafeCell::new(0), UnsafeCell::new(0)],
    });
    model.reserver.raise_limit(START + RING);
    let other = model.clone();
    let first = loom::thread::spawn(move || u64::from(other.append()) + u64::from(other.append()));
    let other = model.clone();
    let second = loom::thread::spawn(move || u64::from(other.append()));
    let mut written = model.drain(START);
    written = model.drain(written);
    let filled = first.join().expect("no panic") + second.join().expect("no panic");
    written = model.drain(written);
    // The first two positions have room from the start; the third has if the drain came in time.
    assert!(filled >= 2);
    assert_eq!(written, START + filled * UNIT, "{filled} records");
}

fn explore() {
    let mut builder = loom::model::Builder::new();
    if builder.preemption_bound.is_none() {
        builder.preemption_bound = Some(2);
    }
    builder.check(run);
}

fn finds(bug: &'static str, complaints: &[&str]) {
    models::must_find(bug, complaints, explore);
}

#[test]
fn filled_bytes_are_ordered_before_whoever_follows_the_links() {
    explore();
}

#[test]
fn marking_without_release_is_found() {
    finds("mark_relaxed", &["Causality violation"]);
}

#[test]
fn filling_without_room_is_found() {
    finds("no_room_check", &["Causality violation"]);
}
