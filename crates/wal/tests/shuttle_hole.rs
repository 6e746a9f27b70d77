//! Random schedules of a leader that waits for records to be filled, in whatever order that happens: it never sleeps for ever.
//!
//! The sources of `hole.rs` and `link_buffer.rs` are compiled here over shuttle, without the look of its own that ends a wait in the product; planted
//! bugs must be found. More schedules: `WAL_SCHEDULES=1000000 cargo test -p wal --release --test shuttle_hole`.

use models::Schedules;
use shuttle::sync::Arc;

/// What `crate::platform` of the product is, over shuttle.
mod platform {
    pub(crate) use crate::futex;
    pub use models::planted;
    pub use shuttle::sync::atomic::{self, AtomicU32, AtomicU64, Ordering};
    pub use shuttle::sync::{Condvar, Mutex};
    pub use shuttle::{lazy_static, thread};
    pub use sync::CachePadded;

    pub(crate) fn backstop() -> Option<std::time::Instant> {
        None
    }
}

#[allow(clippy::enum_variant_names)] // public in its own crate
#[path = "../../sync/src/futex_model.rs"]
mod futex;
#[path = "../src/hole.rs"]
mod hole;
#[allow(dead_code)] // what the model does not use
#[path = "../src/link_buffer.rs"]
mod link_buffer;

use hole::{Hole, Waited};
use link_buffer::LinkBuffer;
use platform::{AtomicU64, Ordering};

const UNIT: u64 = 8;
const START: u64 = 64;

struct Model {
    links: LinkBuffer,
    hole: Hole,
    head: AtomicU64,
}

fn run(threads: u64, each: u64) {
    let model = Arc::new(Model { links: LinkBuffer::new(64 * UNIT, START), hole: Hole::new(), head: AtomicU64::new(START) });
    let fillers: Vec<_> = (0..threads)
        .map(|thread| {
            let model = model.clone();
            shuttle::thread::spawn(move || {
                for n in 0..each {
                    let bytes = (1 + (thread + n) % 2) * UNIT;
                    let start = model.head.fetch_add(bytes, Ordering::SeqCst);
                    model.links.mark(start, start + bytes);
                    model.hole.filled(start);
                }
            })
        })
        .collect();
    // The leader needs what is reserved now, and then what is reserved later.
    for _ in 0..3 {
        let need = model.head.load(Ordering::SeqCst);
        loop {
            let complete = model.links.advance();
            if complete >= need {
                break;
            }
            let waited = model.hole.wait(complete, || model.links.advance() > complete);
            assert_ne!(waited, Waited::Backstop);
        }
    }
    fillers.into_iter().for_each(|filler| filler.join().expect("no panic"));
    assert_eq!(model.links.advance(), model.head.load(Ordering::SeqCst));
}

fn explore() {
    Schedules { count: 6_000, variable: "WAL_SCHEDULES" }.explore(|| run(3, 3));
}

#[test]
fn a_leader_is_woken_by_who_fills_the_hole() {
    explore();
}

#[test]
fn a_leader_that_does_not_look_again_is_found() {
    models::must_find("sleep_without_second_look", &["deadlock"], explore);
}

#[test]
fn a_filler_that_does_not_wake_is_found() {
    models::must_find("no_wake_of_the_leader", &["deadlock"], explore);
}
