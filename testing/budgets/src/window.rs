//! The functions by whose names callgrind is told what to count.

use std::hint::black_box;

/// How often each operation is run uncounted, so that caches (of plans, of memory) are as they will stay.
const WARM: u64 = 200;
/// The same of operations on many rows.
const WARM_LARGE: u64 = 10;

/// Callgrind counts in here (`--toggle-collect`).
#[inline(never)]
pub fn budget_window(work: &mut dyn FnMut()) {
    black_box(work)();
}

/// Callgrind writes what it has counted since the last time when this returns (`--dump-after`).
#[inline(never)]
pub fn budget_done(name: &str, times: u64) {
    println!("{name} {times}");
}

/// Counts `times` calls of `op` at once.
pub fn count(name: &str, times: u64, mut op: impl FnMut(u64)) {
    (0..WARM).for_each(|n| op(black_box(n)));
    budget_window(&mut || (WARM..WARM + times).for_each(|n| op(black_box(n))));
    budget_done(name, times);
}

/// Counts `times` calls of `op`, with `prepare` uncounted before each.
pub fn count_apart(name: &str, times: u64, prepare: impl FnMut(u64), op: impl FnMut(u64)) {
    windows(WARM, times, prepare, op);
    budget_done(name, times);
}

/// The same of an operation on so many rows: instructions of a row.
pub fn count_rows(name: &str, times: u64, rows: u64, prepare: impl FnMut(u64), op: impl FnMut(u64)) {
    windows(WARM_LARGE, times, prepare, op);
    budget_done(name, times * rows);
}

fn windows(warm: u64, times: u64, mut prepare: impl FnMut(u64), mut op: impl FnMut(u64)) {
    for n in 0..warm {
        prepare(n);
        op(black_box(n));
    }
    for n in warm..warm + times {
        prepare(n);
        budget_window(&mut || op(black_box(n)));
    }
}

/// Numbers that look random and are the same in each run.
pub struct Random(u64);

impl Random {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
