//! What snapshots cost: commit timestamps against the ring of bits and the classic sorted vector, by number of active transactions.
//!
//! `cargo run --profile fast -p txn --example view_cost`

use base::TxnId;
use std::hint::black_box;
use std::time::Instant;
use txn::classic::{ClassicSystem, ClassicView};
use txn::ring_of_bits::{BitSystem, BitView};
use txn::{ReadView, TxnSystem};

const ROUNDS: u32 = 2_000;
const SLICES: usize = 7;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Median over slices of nanoseconds per call, so that one disturbed slice does not count.
fn nanos(mut work: impl FnMut(u32)) -> f64 {
    let mut slices: Vec<f64> = (0..SLICES)
        .map(|_| {
            let start = Instant::now();
            (0..ROUNDS).for_each(&mut work);
            start.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
        })
        .collect();
    slices.sort_by(f64::total_cmp);
    slices[SLICES / 2]
}

/// How long transactions stay active.
#[derive(Clone, Copy, Debug)]
enum Ages {
    /// The oldest finishes next.
    Equal,
    /// A random one finishes next: some are very old.
    Random,
}

/// A steady state: with every id taken, one of the active ones finishes.
struct Load<F: FnMut(TxnId)> {
    active: Vec<TxnId>,
    at: usize,
    ages: Ages,
    random: Random,
    finish: F,
}

impl<F: FnMut(TxnId)> Load<F> {
    fn new(ages: Ages, finish: F) -> Self {
        Load { active: Vec::new(), at: 0, ages, random: Random(42), finish }
    }

    fn step(&mut self, new: TxnId) {
        let at = match self.ages {
            Ages::Equal => self.at,
            Ages::Random => self.random.next() as usize % self.active.len(),
        };
        self.at = (self.at + 1) % self.active.len();
        (self.finish)(std::mem::replace(&mut self.active[at], new));
    }
}

struct Costs {
    open: f64,
    sees: f64,
    write: f64,
    bytes: usize,
}

fn measure(
    active: usize,
    ages: Ages,
    allocate: impl Fn() -> TxnId,
    finish: impl FnMut(TxnId),
    mut open: impl FnMut(),
) -> (Costs, Vec<TxnId>) {
    let mut load = Load::new(ages, finish);
    load.active = (0..active).map(|_| allocate()).collect();
    (0..20 * active).for_each(|_| load.step(allocate()));
    let write = nanos(|_| load.step(allocate()));
    // The view cannot be reused, because something has finished: the difference is the open.
    let both = nanos(|_| {
        load.step(allocate());
        open();
    });
    (Costs { open: both - write, sees: 0.0, write, bytes: 0 }, load.active)
}

fn probes(active: &[TxnId]) -> Vec<TxnId> {
    let (low, high) = (active.iter().min().expect("some").0, active.iter().max().expect("some").0);
    let mut random = Random(7);
    (0..1024).map(|_| TxnId(low + random.next() % (high - low + 1))).collect()
}

/// Tests of ids between the oldest and the newest active one.
fn tests(active: &[TxnId], sees: impl Fn(TxnId) -> bool) -> f64 {
    let ids = probes(active);
    let mut seen = 0u32;
    let cost = nanos(|n| seen += u32::from(sees(black_box(ids[n as usize % 1024]))));
    black_box(seen);
    cost
}

/// The three at a number of active transactions. `held` views of old stay open; `long` writers began before 600,000 others, so that they have left the window.
fn compare(active: usize, ages: Ages, held: usize, long: usize) -> [Costs; 3] {
    const LONG_SPAN: usize = 600_000;
    let (numbers, classic, bits) = (TxnSystem::new(TxnId(1), &[]), ClassicSystem::new(TxnId(1), &[]), BitSystem::new(TxnId(1), &[]));
    let grow = |allocate: &dyn Fn() -> TxnId, finish: &dyn Fn(TxnId)| {
        if long > 0 {
            (0..long).for_each(|_| {
                black_box(allocate());
            });
            (0..LONG_SPAN).for_each(|_| finish(allocate()));
        }
    };
    grow(&|| numbers.allocate_id(), &|id| {
        black_box(numbers.finish(id));
    });
    grow(&|| bits.allocate_id(), &|id| bits.finish(id));
    grow(&|| classic.allocate_id(), &|id| classic.finish(id));

    let slots: Vec<_> = (0..=held).map(|_| numbers.register_slot()).collect();
    let mut view = ReadView::new();
    slots[1..].iter().for_each(|slot| numbers.open_view(&mut ReadView::new(), slot));
    let (mut stamps, ids) = measure(
        active,
        ages,
        || numbers.allocate_id(),
        |id| {
            black_box(numbers.finish(id));
        },
        || {
            numbers.open_view(black_box(&mut view), &slots[0]);
            numbers.close_view(&slots[0]);
        },
    );
    stamps.sees = tests(&ids, |id| view.sees(id, TxnId::NONE));
    stamps.bytes = 24;

    let slots: Vec<_> = (0..=held).map(|_| bits.register_slot()).collect();
    let mut view = BitView::new();
    slots[1..].iter().for_each(|slot| bits.open_view(&mut BitView::new(), slot));
    let (mut old_ring, ids) = measure(
        active,
        ages,
        || bits.allocate_id(),
        |id| bits.finish(id),
        || {
            bits.open_view(black_box(&mut view), &slots[0]);
            bits.close_view(&slots[0]);
        },
    );
    old_ring.sees = tests(&ids, |id| view.sees(id, TxnId::NONE));
    old_ring.bytes = view.copied_bytes();

    let mut view = ClassicView::default();
    let (mut old, ids) =
        measure(active, ages, || classic.allocate_id(), |id| classic.finish(id), || classic.open_view(black_box(&mut view)));
    old.sees = tests(&ids, |id| view.sees(id, TxnId::NONE));
    old.bytes = (active + long) * 8;
    [stamps, old_ring, old]
}

fn report(label: &str, costs: &[Costs; 3]) {
    print!("{label:>24}");
    for Costs { open, sees, write, bytes } in costs {
        print!(" | {open:>7.1} {sees:>5.2} {write:>7.1} {bytes:>6} {:>7.0}", open + TESTS * sees);
    }
    println!();
}

/// Rows that a short statement tests, all of them written lately: more than most do.
const TESTS: f64 = 10.0;

/// Two threads in the same loop; nanoseconds per loop.
fn contended(per_thread: impl Fn(&mut dyn FnMut() -> bool) + Sync) -> f64 {
    const LOOPS: u32 = 50_000;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let per_thread = &per_thread;
            scope.spawn(move || {
                let mut left = LOOPS;
                per_thread(&mut || {
                    left -= 1;
                    left > 0
                });
            });
        }
    });
    start.elapsed().as_nanos() as f64 / f64::from(LOOPS)
}

fn main() {
    println!("one thread, ns: open, one test, write, bytes copied, open + {TESTS} tests of recent writers");
    println!("{:>24} | {:^36} | {:^36} | {:^36}", "active, ages", "commit timestamps", "ring of bits", "classic");
    for ages in [Ages::Equal, Ages::Random] {
        for active in [1, 10, 100, 1_000, 10_000] {
            report(&format!("{active} {ages:?}"), &compare(active, ages, 0, 0));
        }
    }
    report("100, 64 views held", &compare(100, Ages::Equal, 64, 0));
    report("100, 10 long writers", &compare(100, Ages::Equal, 0, 10));
    report("100, 1000 long writers", &compare(100, Ages::Equal, 0, 1_000));
    let system = TxnSystem::new(TxnId(1), &[]);
    let slot = system.register_slot();
    let mut view = ReadView::new();
    let reopen = nanos(|_| {
        system.open_view(black_box(&mut view), &slot);
        system.close_view(&slot);
    });
    println!("close and open again {reopen:.1} ns");
    println!("two threads, each: write transaction, two views, about a microsecond of other work; ns per loop less that work");
    println!("{:>7} | {:>8} | {:>8} | {:>8}", "active", "stamps", "bits", "classic");
    let work = nanos(|_| other_work());
    for active in [1, 100, 1_000, 10_000] {
        let numbers = TxnSystem::new(TxnId(1), &[]);
        let bits = BitSystem::new(TxnId(1), &[]);
        let classic = ClassicSystem::new(TxnId(1), &[]);
        for _ in 0..active {
            numbers.allocate_id();
            bits.allocate_id();
            classic.allocate_id();
        }
        let numbers_ns = contended(|go_on| {
            let slot = numbers.register_slot();
            let mut view = ReadView::new();
            while go_on() {
                let id = numbers.allocate_id();
                for _ in 0..2 {
                    numbers.open_view(&mut view, &slot);
                    black_box(view.sees(id, id));
                    numbers.close_view(&slot);
                }
                other_work();
                numbers.finish(id);
            }
        });
        let bits_ns = contended(|go_on| {
            let slot = bits.register_slot();
            let mut view = BitView::new();
            while go_on() {
                let id = bits.allocate_id();
                for _ in 0..2 {
                    bits.open_view(&mut view, &slot);
                    black_box(view.sees(id, id));
                    bits.close_view(&slot);
                }
                other_work();
                bits.finish(id);
            }
        });
        let classic_ns = contended(|go_on| {
            let mut view = ClassicView::default();
            while go_on() {
                let id = classic.allocate_id();
                for _ in 0..2 {
                    classic.open_view(&mut view);
                    black_box(view.sees(id, id));
                }
                other_work();
                classic.finish(id);
            }
        });
        println!("{active:>7} | {:>8.0} | {:>8.0} | {:>8.0}", numbers_ns - work, bits_ns - work, classic_ns - work);
    }
}

fn other_work() {
    let mut random = Random(3);
    for _ in 0..400 {
        black_box(random.next());
    }
}
