//! What snapshots cost while a view is held for minutes, and with writers that have left the ring's window: the three variants, in instructions.
//!
//! `cargo run --profile fast -p txn --example view_counts` runs itself under callgrind, which counts the operations and not what leads up to
//! them: the same build gives the same figures, whatever else the machine does. A minute stands for 600,000 transactions.

use base::TxnId;
use std::hint::black_box;
use std::process::Command;
use txn::classic::{ClassicSystem, ClassicView};
use txn::ring_of_bits::{BitSystem, BitView};
use txn::{ReadView, TxnSystem, ViewSlotHandle};

/// Transactions a minute, at 10,000 a second.
const MINUTE: u64 = 600_000;
/// Short transactions that are active at any moment.
const ACTIVE: usize = 100;
/// Calls that are counted of an operation.
const TIMES: u64 = 10_000;
/// Transactions that are counted: so many that the window moves several times.
const WRITES: u64 = 100_000;

/// One way to keep snapshots.
trait Variant {
    const NAME: &'static str;
    type View: Default;
    type Slot;
    fn new() -> Self;
    fn allocate(&self) -> TxnId;
    fn finish(&self, id: TxnId);
    fn slot(&self) -> Self::Slot;
    fn open(&self, view: &mut Self::View, slot: &Self::Slot);
    fn close(&self, slot: &Self::Slot);
    fn sees(view: &Self::View, id: TxnId) -> bool;
}

struct Numbers(TxnSystem);

#[derive(Default)]
struct NumbersView(Option<ReadView>);

impl Variant for Numbers {
    const NAME: &'static str = "commit timestamps";
    type View = NumbersView;
    type Slot = ViewSlotHandle;
    fn new() -> Self {
        Numbers(TxnSystem::new(TxnId(1), &[]))
    }
    fn allocate(&self) -> TxnId {
        self.0.allocate_id()
    }
    fn finish(&self, id: TxnId) {
        black_box(self.0.finish(id));
    }
    fn slot(&self) -> ViewSlotHandle {
        self.0.register_slot()
    }
    fn open(&self, view: &mut NumbersView, slot: &ViewSlotHandle) {
        self.0.open_view(view.0.get_or_insert_with(ReadView::new), slot);
    }
    fn close(&self, slot: &ViewSlotHandle) {
        self.0.close_view(slot);
    }
    fn sees(view: &NumbersView, id: TxnId) -> bool {
        view.0.as_ref().is_some_and(|view| view.sees(id, TxnId::NONE))
    }
}

struct Bits(BitSystem);

#[derive(Default)]
struct BitsView(Option<BitView>);

impl Variant for Bits {
    const NAME: &'static str = "ring of bits";
    type View = BitsView;
    type Slot = ViewSlotHandle;
    fn new() -> Self {
        Bits(BitSystem::new(TxnId(1), &[]))
    }
    fn allocate(&self) -> TxnId {
        self.0.allocate_id()
    }
    fn finish(&self, id: TxnId) {
        self.0.finish(id);
    }
    fn slot(&self) -> ViewSlotHandle {
        self.0.register_slot()
    }
    fn open(&self, view: &mut BitsView, slot: &ViewSlotHandle) {
        self.0.open_view(view.0.get_or_insert_with(BitView::new), slot);
    }
    fn close(&self, slot: &ViewSlotHandle) {
        self.0.close_view(slot);
    }
    fn sees(view: &BitsView, id: TxnId) -> bool {
        view.0.as_ref().is_some_and(|view| view.sees(id, TxnId::NONE))
    }
}

struct Classic(ClassicSystem);

impl Variant for Classic {
    const NAME: &'static str = "classic";
    type View = ClassicView;
    type Slot = ();
    fn new() -> Self {
        Classic(ClassicSystem::new(TxnId(1), &[]))
    }
    fn allocate(&self) -> TxnId {
        self.0.allocate_id()
    }
    fn finish(&self, id: TxnId) {
        self.0.finish(id);
    }
    fn slot(&self) {}
    fn open(&self, view: &mut ClassicView, (): &()) {
        self.0.open_view(view);
    }
    fn close(&self, (): &()) {}
    fn sees(view: &ClassicView, id: TxnId) -> bool {
        view.sees(id, TxnId::NONE)
    }
}

/// Callgrind counts in here.
#[inline(never)]
fn counted_window(work: &mut dyn FnMut()) {
    black_box(work)();
}

/// Callgrind writes what it has counted when this returns.
#[inline(never)]
fn counted_done(what: &str, times: u64) {
    println!("{what}\t{times}");
}

fn count(what: &str, times: u64, mut op: impl FnMut(u64)) {
    op(0);
    counted_window(&mut || (0..times).for_each(|n| op(black_box(n))));
    counted_done(what, times);
}

/// A steady state: with every id given out, one of the active ones, chosen at random, finishes.
struct Load {
    active: Vec<TxnId>,
    random: u64,
}

impl Load {
    fn new<V: Variant>(system: &V) -> Load {
        Load { active: (0..ACTIVE).map(|_| system.allocate()).collect(), random: 42 }
    }

    fn step<V: Variant>(&mut self, system: &V) {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (self.random >> 33) as usize % self.active.len();
        system.finish(std::mem::replace(&mut self.active[at], system.allocate()));
    }
}

/// What everybody else pays: opening, tests, and a write transaction.
fn others<V: Variant>(label: &str, system: &V, load: &mut Load) {
    let (slot, mut view) = (system.slot(), V::View::default());
    for _ in 0..TIMES {
        // Something has finished, so that no view can be used again.
        load.step(system);
        counted_window(&mut || {
            system.open(black_box(&mut view), &slot);
            system.close(&slot);
        });
    }
    counted_done(&format!("{label}: open and close|{}", V::NAME), TIMES);
    let recent = load.active.clone();
    system.open(&mut view, &slot);
    (0..1000).for_each(|_| load.step(system));
    count(&format!("{label}: test of a recent writer|{}", V::NAME), TIMES, |n| {
        black_box(V::sees(&view, recent[n as usize % recent.len()]));
    });
    system.close(&slot);
    count(&format!("{label}: id and finish|{}", V::NAME), WRITES, |_| load.step(system));
}

fn held<V: Variant>(minutes: u64) {
    let system = V::new();
    let mut load = Load::new(&system);
    (0..MINUTE / 10).for_each(|_| load.step(&system));
    let (slot, mut view) = (system.slot(), V::View::default());
    system.open(&mut view, &slot);
    let unseen = load.active.clone();
    let seen = TxnId(unseen.iter().map(|id| id.0).min().unwrap_or(2) - 1);
    (0..minutes * MINUTE).for_each(|_| load.step(&system));
    let label = format!("a view held for {minutes} min");
    others(&label, &system, &mut load);
    count(&format!("{label}, it tests what was finished before|{}", V::NAME), TIMES, |_| {
        black_box(V::sees(&view, black_box(seen)));
    });
    count(&format!("{label}, it tests what was active at its opening|{}", V::NAME), TIMES, |n| {
        black_box(V::sees(&view, unseen[n as usize % unseen.len()]));
    });
    let later = load.active.clone();
    count(&format!("{label}, it tests what came later|{}", V::NAME), TIMES, |n| {
        black_box(V::sees(&view, later[n as usize % later.len()]));
    });
    system.close(&slot);
}

fn long<V: Variant>(writers: usize) {
    let system = V::new();
    let long: Vec<TxnId> = (0..writers).map(|_| system.allocate()).collect();
    let mut load = Load::new(&system);
    (0..MINUTE).for_each(|_| load.step(&system));
    let label = format!("{writers} writers of a minute");
    others(&label, &system, &mut load);
    let (slot, mut view) = (system.slot(), V::View::default());
    system.open(&mut view, &slot);
    count(&format!("{label}, a new view tests one of them|{}", V::NAME), TIMES, |n| {
        black_box(V::sees(&view, long[n as usize % long.len()]));
    });
    system.close(&slot);
    let mut left = long.into_iter();
    let times = (writers - 1) as u64;
    counted_window(&mut || left.by_ref().take(times as usize).for_each(|id| system.finish(id)));
    counted_done(&format!("{label}, one of them finishes|{}", V::NAME), times);
}

fn all<V: Variant>() {
    [0, 1, 5].into_iter().for_each(held::<V>);
    [10, 1000].into_iter().for_each(long::<V>);
}

/// Instructions of the dumps, in their order.
fn totals(folder: &std::path::Path, count: usize) -> Vec<u64> {
    let total = |n: usize| -> Option<u64> {
        let text = std::fs::read_to_string(folder.join(format!("out.{n}"))).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("summary: ").or_else(|| line.strip_prefix("totals: ")))?;
        line.trim().parse().ok()
    };
    (1..=count).map(|n| total(n).unwrap_or_else(|| panic!("callgrind has written no dump {n}"))).collect()
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("counted") {
        all::<Numbers>();
        all::<Bits>();
        all::<Classic>();
        return;
    }
    let folder = std::env::temp_dir().join(format!("view_counts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a directory for callgrind's files");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--toggle-collect=*counted_window*", "--dump-after=*counted_done*"])
        .arg(format!("--callgrind-out-file={}", folder.join("out").display()))
        .arg(std::env::current_exe().expect("this program"))
        .arg("counted")
        .output()
        .expect("valgrind runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<(&str, f64)> =
        text.lines().filter_map(|line| line.split_once('\t')).map(|(what, n)| (what, n.parse().expect("a number"))).collect();
    let totals = totals(&folder, lines.len());
    let each: Vec<(&str, &str, f64)> = lines
        .iter()
        .zip(&totals)
        .map(|((what, times), total)| {
            (what.split('|').next().unwrap_or(what), what.rsplit('|').next().unwrap_or(what), *total as f64 / times)
        })
        .collect();
    println!("| instructions | {} | {} | {} |\n|---|--:|--:|--:|", Numbers::NAME, Bits::NAME, Classic::NAME);
    let mut told: Vec<&str> = Vec::new();
    for (what, _, _) in &each {
        if told.contains(what) {
            continue;
        }
        told.push(what);
        let cell = |name: &str| {
            each.iter().find(|(of, variant, _)| of == what && *variant == name).map_or(String::new(), |(_, _, n)| format!("{n:.1}"))
        };
        println!("| {what} | {} | {} | {} |", cell(Numbers::NAME), cell(Bits::NAME), cell(Classic::NAME));
    }
    std::fs::remove_dir_all(&folder).expect("the directory is ours");
}
