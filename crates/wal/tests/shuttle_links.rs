//! Random schedules of reservation and link buffer: the contiguous prefix holds only filled records, over many laps of a tiny ring.
//!
//! The sources of `link_buffer.rs` and `reserve.rs` are compiled here over shuttle; planted bugs must be found.
//! More schedules: `WAL_SCHEDULES=1000000 cargo test -p wal --release --test shuttle_links`. Memory orders: `loom_links.rs`.

use models::Schedules;
use shuttle::sync::Arc;

mod platform {
    pub use models::planted;
    pub use shuttle::sync::atomic::{AtomicU64, Ordering};
    pub use sync::CachePadded;
}

#[allow(dead_code)] // what the model does not use
#[path = "../src/link_buffer.rs"]
mod link_buffer;
#[allow(dead_code)]
#[path = "../src/reserve.rs"]
mod reserve;

use link_buffer::LinkBuffer;
use platform::{AtomicU64, Ordering};
use reserve::Reserver;

const UNIT: u64 = 8;
const RING: u64 = 4 * UNIT;
const START: u64 = 4096;

struct Model {
    links: LinkBuffer,
    reserver: Reserver,
    written: AtomicU64,
    /// One word per unit: the position it was last filled for.
    ring: Vec<AtomicU64>,
}

impl Model {
    fn word(&self, at: u64) -> &AtomicU64 {
        &self.ring[(at % RING / UNIT) as usize]
    }

    fn append(&self, units: u64) {
        let start = self.reserver.take(units * UNIT);
        let end = start + units * UNIT;
        while !self.reserver.has_room(end) {
            let tail = self.links.advance();
            self.reserver.raise_limit((self.written.load(Ordering::SeqCst) + RING).min(tail + self.links.window()));
            shuttle::thread::yield_now();
        }
        for at in (start..end).step_by(UNIT as usize) {
            let before = self.word(at).swap(at, Ordering::SeqCst);
            assert!(before < self.written.load(Ordering::SeqCst), "position {before} is overwritten before it is written out");
        }
        self.links.mark(start, end);
    }

    fn drain(&self, to: u64) {
        let mut written = START;
        while written < to {
            let tail = self.links.advance();
            assert!(tail <= self.reserver.head(), "the tail {tail} is past the head");
            for at in (written..tail).step_by(UNIT as usize) {
                assert_eq!(self.word(at).load(Ordering::SeqCst), at, "below the tail but not filled");
            }
            written = tail;
            self.written.store(written, Ordering::SeqCst);
            self.reserver.raise_limit((written + RING).min(tail + self.links.window()));
            shuttle::thread::yield_now();
        }
    }
}

fn run() {
    let model = Arc::new(Model {
        links: LinkBuffer::new(RING, START),
        reserver: Reserver::new(START),
        written: AtomicU64::new(START),
        ring: (0..RING / UNIT).map(|_| AtomicU64::new(0)).collect(),
    });
    let sizes = [[1, 2, 1, 1, 2, 1, 1], [2, 1, 1, 2, 1, 1, 1]];
    let total: u64 = sizes.iter().flatten().sum::<u64>() * UNIT;
    let mut handles: Vec<_> = sizes
        .into_iter()
        .map(|sizes| {
            let model = model.clone();
            shuttle::thread::spawn(move || sizes.into_iter().for_each(|units| model.append(units)))
        })
        .collect();
    for _ in 0..2 {
        // Walkers besides the writer: a checkpointer asking for the contiguous prefix.
        let model = model.clone();
        handles.push(shuttle::thread::spawn(move || {
            let mut last = 0;
            for _ in 0..6 {
                let tail = model.links.advance();
                assert!(tail >= last && tail <= model.reserver.head(), "the tail goes from {last} to {tail}");
                last = tail;
            }
        }));
    }
    model.drain(START + total);
    for handle in handles {
        handle.join().expect("no panic");
    }
}

fn explore(count: usize) {
    Schedules { count, variable: "WAL_SCHEDULES" }.explore(run);
}

fn finds(bug: &'static str, complaints: &[&str]) {
    models::must_find(bug, complaints, || explore(100_000));
}

#[test]
fn the_contiguous_prefix_is_filled_over_many_laps() {
    explore(4_000);
}

#[test]
fn following_a_link_of_a_later_lap_is_found() {
    finds("no_lap_check", &["below the tail but not filled", "the tail"]);
}

#[test]
fn filling_without_room_is_found() {
    finds("no_room_check", &["overwritten before it is written out", "below the tail but not filled"]);
}
