//! Views by commit timestamps, and those by the ring of bits, against the classic sorted-vector view over random histories.

use base::TxnId;
use proptest::prelude::*;
use txn::classic::{ClassicSystem, ClassicView};
use txn::ring_of_bits::{BitSystem, BitView};
use txn::{ReadView, TxnSystem};

#[derive(Clone, Debug)]
enum Step {
    /// Allocate this many ids and finish all but every n-th at once.
    Burst { count: u32, keep_every: u32 },
    /// Finish the unfinished id at this position (modulo).
    Finish(usize),
    /// Finish the oldest.
    FinishOldest,
    /// Open view number n.
    Open(usize),
}

fn step(burst_max: u32) -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1..burst_max, 1..burst_max).prop_map(|(count, keep_every)| Step::Burst { count, keep_every }),
        4 => any::<usize>().prop_map(Step::Finish),
        2 => Just(Step::FinishOldest),
        4 => (0..3usize).prop_map(Step::Open),
    ]
}

struct Pair {
    ours: TxnSystem,
    /// The same system with its views switched to the classic ones.
    switched: TxnSystem,
    classic: ClassicSystem,
    bits: BitSystem,
    active: Vec<TxnId>,
}

impl Pair {
    fn new(next: u64, unfinished: &[u64]) -> Pair {
        let active: Vec<TxnId> = unfinished.iter().copied().map(TxnId).collect();
        let next = TxnId(next);
        Pair {
            ours: TxnSystem::new(next, &active),
            switched: TxnSystem::with_classic_views(next, &active),
            classic: ClassicSystem::new(next, &active),
            bits: BitSystem::new(next, &active),
            active,
        }
    }

    fn burst(&mut self, count: u32, keep_every: u32) {
        for n in 0..count {
            let id = self.ours.allocate_id();
            assert_eq!(id, self.classic.allocate_id());
            assert_eq!(id, self.switched.allocate_id());
            assert_eq!(id, self.bits.allocate_id());
            if n % keep_every == 0 {
                self.active.push(id);
            } else {
                self.ours.finish(id);
                self.classic.finish(id);
                self.switched.finish(id);
                self.bits.finish(id);
            }
        }
    }

    fn finish(&mut self, at: usize) {
        if !self.active.is_empty() {
            let id = self.active.remove(at % self.active.len());
            self.ours.finish(id);
            self.classic.finish(id);
            self.switched.finish(id);
            self.bits.finish(id);
        }
    }

    fn compare(&self, view: &ReadView, classic: &ClassicView) {
        for id in self.probes() {
            assert_eq!(view.sees(id, TxnId::NONE) || id.is_none(), classic.sees(id, TxnId::NONE), "{id} in {view:?}");
            assert!(view.sees(id, id));
        }
        // Nothing else runs, so the low mark lags by a step at most.
        let unseen = |id: &u64| !classic.sees(TxnId(*id), TxnId::NONE);
        let first = (view.low().0.max(1)..view.high().0).take(32).find(unseen).unwrap_or(view.high().0);
        assert!(first < view.low().0.max(1) + 32 && unseen(&first), "the low mark lags: {first} in {view:?}");
        assert!(view.sees_all_to(TxnId(first - 1)) && !view.sees_all_to(TxnId(first)), "{first} in {view:?}");
        assert!(!view.sees_finished_to(view.low()) && (view.low().0 == 0 || view.sees_finished_to(TxnId(view.low().0 - 1))), "{view:?}");
    }

    /// Ids about which views are asked.
    fn probes(&self) -> impl Iterator<Item = TxnId> {
        let next = self.ours.next_id().0;
        let mut probes: Vec<u64> = self.active.iter().flat_map(|id| [id.0 - 1, id.0, id.0 + 1]).collect();
        probes.extend((next.saturating_sub(300)..next + 3).chain(0..3));
        probes.extend((0..200).map(|n| next * n / 200));
        probes.into_iter().map(TxnId)
    }

    fn compare_bits(&self, view: &BitView, classic: &ClassicView) {
        for id in self.probes() {
            assert_eq!(view.sees(id, TxnId::NONE) || id.is_none(), classic.sees(id, TxnId::NONE), "{id} in {view:?}");
        }
    }

    fn compare_active(&self) {
        let next = self.ours.next_id().0;
        for id in self.active.iter().map(|id| id.0).chain((0..100).map(|n| next * n / 100 + 1)) {
            let active = self.classic.is_active(TxnId(id));
            assert_eq!((self.ours.is_active(TxnId(id)), self.bits.is_active(TxnId(id))), (active, active), "{id}");
        }
        assert!(self.active.iter().all(|id| self.ours.low_id() <= *id));
    }
}

fn check(next: u64, unfinished: &[u64], steps: &[Step]) {
    let mut pair = Pair::new(next, unfinished);
    let slots: Vec<_> = (0..3).map(|_| pair.ours.register_slot()).collect();
    let bit_slot = pair.bits.register_slot();
    let mut views: Vec<(ReadView, BitView, ClassicView)> = (0..3).map(|_| Default::default()).collect();
    for step in steps {
        match *step {
            Step::Burst { count, keep_every } => pair.burst(count, keep_every),
            Step::Finish(at) => pair.finish(at),
            Step::FinishOldest => pair.finish(0),
            Step::Open(at) => {
                let (view, bits, classic) = &mut views[at];
                pair.ours.open_view(view, &slots[at]);
                pair.bits.open_view(bits, &bit_slot);
                pair.classic.open_view(classic);
                pair.compare(view, classic);
                pair.compare_bits(bits, classic);
                let (slot, mut switched) = (pair.switched.register_slot(), ReadView::new());
                pair.switched.open_view(&mut switched, &slot);
                pair.compare(&switched, classic);
                pair.compare_active();
                assert!(views.iter().all(|(view, ..)| view.high().is_none() || pair.ours.purge_limit().below.0 < view.low().0 + 32));
            }
        }
    }
    // Views of long ago still say what they said.
    for (view, bits, classic) in views.iter().filter(|(view, ..)| view.high() > TxnId::NONE) {
        pair.compare(view, classic);
        pair.compare_bits(bits, classic);
    }
    while !pair.active.is_empty() {
        pair.finish(0);
    }
    for (slot, (view, _, classic)) in slots.iter().zip(&views).filter(|(_, (view, ..))| view.high() > TxnId::NONE) {
        pair.compare(view, classic);
        pair.ours.close_view(slot);
    }
    let limit = pair.ours.purge_limit();
    assert_eq!(limit.below, pair.ours.next_id(), "the low mark follows when all have finished: {:?}", pair.ours);
}

proptest! {
    #[test]
    fn small_histories_agree(steps in prop::collection::vec(step(200), 1..60)) {
        check(1, &[], &steps);
    }

    #[test]
    fn histories_after_a_restart_agree(next in 1u64..3_000_000, back in prop::collection::vec(1u64..1_000_000, 0..20),
                                       steps in prop::collection::vec(step(200), 1..20)) {
        let mut unfinished: Vec<u64> = back.iter().filter_map(|back| next.checked_sub(*back)).filter(|id| *id > 0).collect();
        unfinished.sort_unstable();
        unfinished.dedup();
        check(next, &unfinished, &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.div_ceil(64), ..ProptestConfig::default() })]

    /// Spans past the inline bitmap (16,384 ids) and past the ring (524,288 ids), wrapping it.
    #[test]
    fn wide_histories_agree(steps in prop::collection::vec(step(150_000), 10..30)) {
        check(1, &[], &steps);
    }
}

#[test]
fn a_writer_sleeps_for_a_day() {
    let mut pair = Pair::new(1, &[]);
    pair.burst(1, 1);
    let slot = pair.ours.register_slot();
    let (mut view, mut classic) = (ReadView::new(), ClassicView::default());
    for _ in 0..12 {
        pair.burst(100_000, 100_000);
        pair.ours.open_view(&mut view, &slot);
        pair.classic.open_view(&mut classic);
        pair.compare(&view, &classic);
        pair.compare_active();
        assert!(pair.ours.purge_limit().covers_finish(pair.ours.finished_now()), "purge by order of finish goes on");
    }
    assert!(pair.ours.long_count() > 1, "ids of the first rounds have left the ring");
    assert_eq!(pair.ours.old_count() as u64, pair.ours.long_count(), "and nobody else is kept");
    pair.finish(0);
    while !pair.active.is_empty() {
        pair.finish(0);
    }
    assert_eq!(pair.ours.long_count(), 0);
    pair.ours.open_view(&mut view, &slot);
    assert!(view.sees(TxnId(1), TxnId::NONE));
}

#[test]
fn a_view_is_held_for_a_day() {
    let mut pair = Pair::new(1, &[]);
    pair.burst(1_000, 10);
    let (held_slot, slot) = (pair.ours.register_slot(), pair.ours.register_slot());
    let (mut held, mut held_classic) = (ReadView::new(), ClassicView::default());
    pair.ours.open_view(&mut held, &held_slot);
    pair.classic.open_view(&mut held_classic);
    let limit = pair.ours.purge_limit();
    while !pair.active.is_empty() {
        pair.finish(0);
    }
    let (mut view, mut classic) = (ReadView::new(), ClassicView::default());
    for _ in 0..12 {
        pair.burst(100_000, 200_000);
        pair.ours.open_view(&mut view, &slot);
        pair.classic.open_view(&mut classic);
        pair.compare(&view, &classic);
        pair.compare(&held, &held_classic);
        pair.compare_active();
        assert_eq!(pair.ours.purge_limit(), limit);
    }
    // The hundred that ran when it was opened, and those that run now.
    assert!((100..=112).contains(&pair.ours.old_count()), "{} old ids", pair.ours.old_count());
    pair.ours.close_view(&held_slot);
    assert!(pair.ours.purge_limit().finished > limit.finished);
    pair.burst(100_000, 200_000);
    assert!(pair.ours.old_count() <= 13, "{} old ids", pair.ours.old_count());
}

#[test]
fn many_long_transactions() {
    let unfinished: Vec<u64> = (1..=200).map(|n| n * 10).collect();
    let mut pair = Pair::new(2_000_000, &unfinished);
    assert_eq!(pair.ours.long_count(), 200);
    let slot = pair.ours.register_slot();
    let (mut view, mut classic) = (ReadView::new(), ClassicView::default());
    while !pair.active.is_empty() {
        pair.ours.open_view(&mut view, &slot);
        pair.classic.open_view(&mut classic);
        pair.compare(&view, &classic);
        pair.compare_active();
        pair.finish(pair.active.len() / 2);
    }
}

#[test]
fn prepared_transactions_of_an_earlier_run_stay_hidden() {
    let system = TxnSystem::new(TxnId(5_000_000), &[TxnId(7), TxnId(4_999_999)]);
    let slot = system.register_slot();
    let mut view = ReadView::new();
    system.open_view(&mut view, &slot);
    assert!(!view.sees(TxnId(7), TxnId::NONE) && !view.sees(TxnId(4_999_999), TxnId::NONE));
    assert!(view.sees(TxnId(7), TxnId(7)) && view.sees(TxnId(8), TxnId::NONE) && view.sees(TxnId(4_999_998), TxnId::NONE));
    assert!(!view.sees(TxnId(5_000_000), TxnId::NONE));
    system.finish(TxnId(7));
    system.finish(TxnId(4_999_999));
    system.open_view(&mut view, &slot);
    assert!(view.sees(TxnId(7), TxnId::NONE) && view.sees(TxnId(4_999_999), TxnId::NONE));
}

#[test]
fn a_reader_that_turns_writer_sees_itself_and_keeps_its_view() {
    let system = TxnSystem::new(TxnId(1), &[]);
    let slot = system.register_slot();
    let mut view = ReadView::new();
    system.open_view(&mut view, &slot);
    let own = system.allocate_id();
    let other = system.allocate_id();
    system.finish(other);
    assert!(view.sees(own, own) && !view.sees(other, own) && !view.sees(own, TxnId::NONE));
}

#[test]
fn purge_limit_follows_the_oldest_open_view() {
    let system = TxnSystem::new(TxnId(1), &[]);
    let (old_slot, new_slot) = (system.register_slot(), system.register_slot());
    let (mut old, mut new) = (ReadView::new(), ReadView::new());
    let sleeper = system.allocate_id();
    system.open_view(&mut old, &old_slot);
    let done = system.finish(system.allocate_id());
    system.open_view(&mut new, &new_slot);
    assert!(!system.purge_limit().covers_finish(done), "the old view does not see it");
    system.close_view(&old_slot);
    assert!(system.purge_limit().covers_finish(done), "an idle writer does not hold back by order of finish");
    assert!(!system.purge_limit().covers(sleeper));
    assert_eq!(system.open_view_count(), 1);
    drop(new_slot);
    assert_eq!(system.open_view_count(), 0);
}

#[test]
fn a_view_opened_again_is_current() {
    let system = TxnSystem::new(TxnId(1), &[]);
    let slot = system.register_slot();
    let mut view = ReadView::new();
    let a = system.allocate_id();
    system.open_view(&mut view, &slot);
    system.close_view(&slot);
    assert!(!slot.is_open());
    let b = system.allocate_id();
    system.open_view(&mut view, &slot);
    assert!(slot.is_open());
    assert!(!view.sees(a, TxnId::NONE) && !view.sees(b, TxnId::NONE));
    system.finish(a);
    assert!(!view.sees(a, TxnId::NONE));
    system.open_view(&mut view, &slot);
    assert!(view.sees(a, TxnId::NONE) && !view.sees(b, TxnId::NONE));
}

#[test]
fn read_uncommitted_sees_all() {
    let system = TxnSystem::new(TxnId(1), &[]);
    let (slot, mut view) = (system.register_slot(), ReadView::new());
    assert!(!view.sees(TxnId(1), TxnId::NONE), "not opened yet");
    let id = system.allocate_id();
    view.see_all();
    assert!(view.sees(id, TxnId::NONE) && view.sees_all_to(id) && !view.sees_finished_to(id), "it has not finished");
    system.open_view(&mut view, &slot);
    assert!(!view.sees(id, TxnId::NONE) && !view.sees_all_to(id));
}

#[test]
#[should_panic(expected = "finished twice")]
fn finishing_twice_is_a_bug() {
    let system = TxnSystem::new(TxnId(1), &[]);
    let id = system.allocate_id();
    system.finish(id);
    system.finish(id);
}

#[test]
fn threads_in_a_storm_leave_nothing_behind() {
    let system = TxnSystem::new(TxnId(1), &[]);
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let system = &system;
            scope.spawn(move || {
                let slot = system.register_slot();
                let mut view = ReadView::new();
                let mut last = TxnId::NONE;
                for n in 0..200_000u64 {
                    let id = system.allocate_id();
                    if n % (thread + 2) == 0 {
                        system.open_view(&mut view, &slot);
                        assert!(view.sees(last, TxnId::NONE), "sees its own earlier commit");
                        assert!(!view.sees(id, TxnId::NONE));
                        system.close_view(&slot);
                    }
                    system.finish(id);
                    last = id;
                }
            });
        }
    });
    assert_eq!(system.next_id(), TxnId(800_001));
    assert_eq!(system.purge_limit().below, TxnId(800_001));
}
