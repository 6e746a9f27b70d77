//! What snapshots cost: the hybrid view against the classic sorted vector, by number of active transactions.
//!
//! `cargo run --profile fast -p txn --example view_cost`

use base::TxnId;
use std::hint::black_box;
use std::time::Instant;
use txn::classic::{ClassicSystem, ClassicView};
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
    (Costs { open: both - write, sees: 0.0, write }, load.active)
}

fn probes(active: &[TxnId]) -> Vec<TxnId> {
    let (low, high) = (active.iter().min().expect("some").0, active.iter().max().expect("some").0);
    let mut random = Random(7);
    (0..1024).map(|_| TxnId(low + random.next() % (high - low + 1))).collect()
}

fn compare(active: usize, ages: Ages) {
    let (hybrid, classic) = (TxnSystem::new(TxnId(1), &[]), ClassicSystem::new(TxnId(1), &[]));
    let slot = hybrid.register_slot();
    let (mut view, mut classic_view) = (ReadView::new(), ClassicView::default());
    let finish = |id| {
        black_box(hybrid.finish(id));
    };
    let (mut ours, ids) = measure(
        active,
        ages,
        || hybrid.allocate_id(),
        finish,
        || {
            hybrid.open_view(black_box(&mut view), &slot);
            hybrid.close_view(&slot);
        },
    );
    let ids = probes(&ids);
    let mut seen = 0u32;
    ours.sees = nanos(|n| seen += u32::from(view.sees(black_box(ids[n as usize % 1024]), TxnId::NONE)));
    let bytes = view.copied_bytes();
    let (mut old, ids) = measure(
        active,
        ages,
        || classic.allocate_id(),
        |id| classic.finish(id),
        || {
            classic.open_view(black_box(&mut classic_view));
        },
    );
    let ids = probes(&ids);
    old.sees = nanos(|n| seen += u32::from(classic_view.sees(black_box(ids[n as usize % 1024]), TxnId::NONE)));
    black_box(seen);
    println!(
        "{active:>7} {ages:>7?} | {:>7.1} {:>6.2} {:>6.1} {bytes:>6} | {:>8.1} {:>6.2} {:>6.1} {:>6}",
        ours.open,
        ours.sees,
        ours.write,
        old.open,
        old.sees,
        old.write,
        active * 8
    );
}

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
    println!("one thread, ns per operation, and bytes copied");
    println!(
        "{:>7} {:>7} | {:>7} {:>6} {:>6} {:>6} | {:>8} {:>6} {:>6} {:>6}",
        "active", "ages", "open", "sees", "write", "bytes", "classic", "sees", "write", "bytes"
    );
    for ages in [Ages::Equal, Ages::Random] {
        [1, 10, 100, 1_000, 10_000].into_iter().for_each(|active| compare(active, ages));
    }
    let system = TxnSystem::new(TxnId(1), &[]);
    let slot = system.register_slot();
    let mut view = ReadView::new();
    let reopen = nanos(|_| {
        system.open_view(black_box(&mut view), &slot);
        system.close_view(&slot);
    });
    system.open_view(&mut view, &slot);
    let kept = nanos(|_| system.open_view(black_box(&mut view), &slot));
    println!("nothing finished since: close and open again {reopen:.1} ns, open what is open {kept:.1} ns");
    println!("two threads, each: write transaction, two views, about a microsecond of other work; ns per loop less that work");
    println!("{:>7} | {:>8} | {:>8}", "active", "hybrid", "classic");
    let work = nanos(|_| other_work());
    for active in [1, 100, 1_000, 10_000] {
        let hybrid = TxnSystem::new(TxnId(1), &[]);
        let classic = ClassicSystem::new(TxnId(1), &[]);
        for _ in 0..active {
            hybrid.allocate_id();
            classic.allocate_id();
        }
        let hybrid_ns = contended(|go_on| {
            let slot = hybrid.register_slot();
            let mut view = ReadView::new();
            while go_on() {
                let id = hybrid.allocate_id();
                for _ in 0..2 {
                    hybrid.open_view(&mut view, &slot);
                    black_box(view.sees(id, id));
                    hybrid.close_view(&slot);
                }
                other_work();
                hybrid.finish(id);
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
        println!("{active:>7} | {:>8.0} | {:>8.0}", hybrid_ns - work, classic_ns - work);
    }
}

fn other_work() {
    let mut random = Random(3);
    for _ in 0..400 {
        black_box(random.next());
    }
}
