//! [`Admission`]: the gate, its settings and counters, and the thread that ticks while somebody waits.

use crate::controller::{Controller, Sample};
use crate::gate::{Gate, SLOTS_MAX};
use crate::mode::Mode;
use crate::slot::{State, ticks_between};
use env::IdleTime;
use metrics::Counter;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::atomic::{AtomicBool, AtomicU32, Ordering};
use sync::{Mutex, Rank, Signal};

/// Length of a tick. Ticks pass only while somebody waits.
pub const TICK: Duration = Duration::from_millis(5);
/// How long a transaction keeps its slot while its client says nothing. Longer than a round trip to a busy client: a slot that is taken away in the middle
/// of a transaction lets one more transaction in, and these would pile up.
pub const GRACE_TICKS: u32 = 8;
/// How long a statement works before it goes to the long lane, and how long a turn there is.
pub const SLICE_TICKS: u32 = 6;
/// A slot whose statement has neither ended nor looked around for so long is made up for by another one, see [`Control::make_up_for`].
const STILL_TICKS: u32 = 20;
/// Ticks from one sample of throughput to the next.
const SAMPLE_TICKS: u32 = 20;

/// It goes on ticking for so long after somebody outside was refused: those ask again at least every millisecond.
const OUTSIDE_TICKS: u32 = 2;

const ASLEEP: u32 = 0;
const AWAKE: u32 = 1;

#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) waits: Counter,
    pub(crate) overdrafts: Counter,
    pub(crate) completed: Counter,
    pub(crate) long: Counter,
    revoked: Counter,
}

/// What SHOW STATUS tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Slots; 0 when off.
    pub limit: u32,
    /// Slots whose holders work.
    pub working: u32,
    /// Slots whose holders wait for their clients.
    pub idle: u32,
    /// Slots beyond the limit, which transactions took that were not to wait.
    pub overdraft: u32,
    /// Statements that wait for a slot.
    pub queued: u32,
    /// Statements at work in the long lane.
    pub long_working: u32,
    /// Statements that wait for their turn in the long lane.
    pub long_queued: u32,
    /// Waits for a slot so far.
    pub waits: u64,
    /// Overdrafts so far.
    pub overdrafts: u64,
    /// Slots that were taken from idle transactions so far.
    pub revoked: u64,
    /// Statements that went to the long lane so far.
    pub long: u64,
    /// Transactions, or statements that were their own, that had a slot and ended.
    pub completed: u64,
    /// Decisions of the controller for more slots so far.
    pub raised: u64,
    /// Decisions of the controller for fewer slots so far.
    pub lowered: u64,
}

struct Control {
    mode: Mode,
    controller: Controller,
    last: Instant,
    completed: u64,
    /// Since the last sample; and those at which somebody waited.
    ticks: u32,
    waited: u32,
    idle: IdleTime,
    /// The share of processor time that was idle before the last sample; all of it, as long as that is not known.
    spare: f64,
    /// Transactions that had ended by the last tick at which some had since the one before, and ticks since then.
    ended: u64,
    ticks_without_end: u32,
    /// Slots beyond the limit, for those that stand still.
    extra: u32,
}

/// Who may work.
pub struct Admission {
    pub(crate) gate: Gate,
    /// Whether slots are given at all; changed under `control`.
    on: AtomicBool,
    /// SeqCst against the counts of those who wait: a waiter counts itself, then looks here; the ticker writes here, then looks at the counts.
    ticker: AtomicU32,
    /// Ticks for which those who stand outside still count. Ordered like the count of those who wait.
    outside: AtomicU32,
    stop: AtomicBool,
    signal: Signal,
    control: Mutex<Control>,
    pub(crate) counters: Counters,
}

impl std::fmt::Debug for Admission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admission").field("stats", &self.stats()).finish()
    }
}

impl Admission {
    /// For a machine with so many processors.
    pub fn new(mode: Mode, processors: u32) -> Arc<Admission> {
        let processors = processors.max(1);
        // Threads at work are bounded elsewhere (`server::pool`): a slot more costs the caches, not the scheduler.
        let controller = Controller::new((2 * processors).clamp(4, SLOTS_MAX), SLOTS_MAX, (32 * processors).clamp(32, 512));
        let admission = Arc::new(Admission {
            gate: Gate::new(controller.limit(), processors.max(2)),
            on: AtomicBool::new(false),
            ticker: AtomicU32::new(AWAKE),
            outside: AtomicU32::new(0),
            stop: AtomicBool::new(false),
            signal: Signal::new(),
            control: Mutex::with_order(
                Rank::Admission,
                0,
                Control {
                    mode: Mode::Off,
                    controller,
                    last: Instant::now(),
                    completed: 0,
                    ticks: 0,
                    waited: 0,
                    idle: IdleTime::new(),
                    spare: 1.0,
                    ended: 0,
                    ticks_without_end: 0,
                    extra: 0,
                },
            ),
            counters: Counters::default(),
        });
        admission.set_mode(mode);
        admission
    }

    /// The mode in force.
    pub fn mode(&self) -> Mode {
        self.control.lock().mode
    }

    /// Changes it. Who waits goes on by the new one.
    pub fn set_mode(&self, mode: Mode) {
        let mut control = self.control.lock();
        control.mode = mode;
        self.on.store(mode != Mode::Off, Ordering::SeqCst);
        self.gate.set_limit(match mode {
            Mode::Adaptive => control.controller.limit(),
            Mode::Fixed(count) => count,
            // For those who wait now; nobody asks any more.
            Mode::Off => SLOTS_MAX,
        });
        if mode == Mode::Off {
            self.gate.open_long();
        }
        drop(control);
        self.wake_ticker();
    }

    #[inline]
    pub(crate) fn is_off(&self) -> bool {
        !self.on.load(Ordering::Relaxed)
    }

    /// Somebody has begun to wait.
    pub(crate) fn wake_ticker(&self) {
        if self.ticker.load(Ordering::SeqCst) == ASLEEP {
            self.signal.notify();
        }
    }

    /// Ticks until [`Admission::stop`]: the life of a thread.
    pub fn run_ticker(&self) {
        while !self.stop.load(Ordering::Acquire) {
            if self.is_wanted() || self.tries_more() {
                self.signal.wait(Some(Instant::now() + TICK));
                self.on_tick();
                continue;
            }
            self.ticker.store(ASLEEP, Ordering::SeqCst);
            if !self.is_wanted() && !self.stop.load(Ordering::Acquire) {
                self.signal.wait(None);
            }
            self.ticker.store(AWAKE, Ordering::SeqCst);
            self.control.lock().restart(self.counters.completed.get());
        }
    }

    /// Whether anybody waits for anything.
    fn is_wanted(&self) -> bool {
        self.others_wait() || self.gate.long_waiting() > 0
    }

    /// Whether anybody waits for a slot, inside or outside.
    pub(crate) fn others_wait(&self) -> bool {
        self.gate.waiting() > 0 || self.outside.load(Ordering::SeqCst) > 0
    }

    /// Whether a transaction that begins now would find a slot. Whoever has some to begin, and is told no, is to ask again within a millisecond or so: until then they count as waiting, so that slots are taken from
    /// the idle, and their number is measured.
    #[inline]
    pub fn has_room(&self) -> bool {
        if self.is_off() || self.gate.has_room() {
            return true;
        }
        if self.outside.load(Ordering::Relaxed) != OUTSIDE_TICKS {
            self.outside.store(OUTSIDE_TICKS, Ordering::SeqCst);
            self.wake_ticker();
        }
        false
    }

    /// Whether more slots are being tried. Those samples count also while nobody waits; if the ticker slept then, the trial would never end, and its number stay in force.
    fn tries_more(&self) -> bool {
        let control = self.control.lock();
        control.mode == Mode::Adaptive && control.controller.tries_more()
    }

    /// Ends the ticker.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.signal.notify();
    }

    /// One tick: takes slots from the idle, makes up for those that stand still, samples throughput.
    pub(crate) fn on_tick(&self) {
        let now = self.gate.tick().wrapping_add(1);
        self.gate.set_tick(now);
        let revoked = self.gate.revoke_idle(GRACE_TICKS);
        self.counters.revoked.add(revoked.into());
        let mut control = self.control.lock();
        let completed = self.counters.completed.get();
        control.tick(self.others_wait(), completed);
        // Who is refused just now, and so counts for a tick less, asks again.
        self.outside.store(self.outside.load(Ordering::Relaxed).saturating_sub(1), Ordering::SeqCst);
        let limit = control.limit();
        let still = self.gate.states().filter(|state| matches!(state, State::Working(since) if ticks_between(*since, now) > STILL_TICKS));
        let limit = limit.saturating_add(control.make_up_for(still.count() as u32));
        if limit != self.gate.limit() {
            self.gate.set_limit(limit);
        }
    }

    /// How many slots there are now.
    #[inline]
    pub fn slots(&self) -> u32 {
        self.gate.limit()
    }

    /// How many statements wait for a slot; not those outside, see [`Admission::has_room`].
    pub fn waiting(&self) -> u32 {
        self.gate.waiting()
    }

    /// Figures for SHOW STATUS.
    pub fn stats(&self) -> Stats {
        let control = self.control.lock();
        let (raised, lowered) = control.controller.decisions();
        let limit = match control.mode {
            Mode::Off => 0,
            Mode::Fixed(count) => count,
            Mode::Adaptive => control.controller.limit(),
        };
        drop(control);
        let (mut working, mut idle) = (0, 0);
        for state in self.gate.states() {
            match state {
                State::Free => {}
                State::Working(_) => working += 1,
                State::Idle(_) => idle += 1,
            }
        }
        Stats {
            limit,
            working,
            idle,
            overdraft: self.gate.debt(),
            queued: self.gate.waiting(),
            long_working: self.gate.long_running(),
            long_queued: self.gate.long_waiting(),
            waits: self.counters.waits.get(),
            overdrafts: self.counters.overdrafts.get(),
            revoked: self.counters.revoked.get(),
            long: self.counters.long.get(),
            completed: self.counters.completed.get(),
            raised,
            lowered,
        }
    }
}

impl Control {
    fn restart(&mut self, completed: u64) {
        // What was idle while nobody waited is not this load's. (Not looked at where pauses are short and many: it is a file to be read.)
        if self.last.elapsed() >= TICK * SAMPLE_TICKS {
            self.idle.share();
        }
        self.begin_sample(completed);
        self.spare = 1.0;
        (self.ended, self.ticks_without_end) = (completed, 0);
    }

    fn begin_sample(&mut self, completed: u64) {
        self.last = Instant::now();
        self.completed = completed;
        self.ticks = 0;
        self.waited = 0;
    }

    /// A tick at which somebody waited, or not, and so many transactions have ended in all.
    fn tick(&mut self, waits: bool, completed: u64) {
        self.ticks_without_end = if completed == self.ended { self.ticks_without_end + 1 } else { 0 };
        self.ended = completed;
        self.waited += u32::from(waits);
        self.ticks += 1;
        if self.ticks < SAMPLE_TICKS {
            return;
        }
        self.spare = self.idle.share().unwrap_or(1.0);
        if self.mode == Mode::Adaptive {
            let micros = u64::try_from(self.last.elapsed().as_micros()).unwrap_or(u64::MAX);
            // Where threads are shared the queue may be empty for a moment while hundreds of clients have spoken.
            let binding = self.waited * 4 >= self.ticks * 3;
            self.controller.sample(Sample { completed: completed.saturating_sub(self.completed), micros, binding, spare: self.spare });
        }
        self.begin_sample(completed);
    }

    /// Slots in all, but for those that stand still.
    fn limit(&self) -> u32 {
        match self.mode {
            Mode::Off => SLOTS_MAX,
            Mode::Fixed(count) => count,
            Mode::Adaptive => self.controller.limit(),
        }
    }

    /// Slots beyond the limit where so many stand still. On processors that are busy they may only wait for their turn there: another one would make that longer for all, and so stand still others. Then
    /// none is added, unless nothing ends at all.
    fn make_up_for(&mut self, still: u32) -> u32 {
        let adds = self.spare >= IdleTime::SPARE || self.ticks_without_end > STILL_TICKS;
        self.extra = if adds { still } else { self.extra.min(still) };
        self.extra
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::SPREAD;
    use crate::ticket::{Ticket, Work};
    use lock_manager::Cancel;

    /// Who stands outside counts as waiting as long as it asks, and no longer: an idle slot is taken away for it, and it finds that.
    #[test]
    fn those_outside_count_as_waiting() {
        let admission = Admission::new(Mode::Fixed(1), 2);
        let (ticket, cancel) = (Ticket::new(&admission, 7), Cancel::new());
        assert!(!ticket.take_asked());
        assert!(admission.has_room() && !admission.is_wanted());
        assert_eq!(ticket.begin(Work::Brief, false, &cancel), Ok(()));
        assert!(!ticket.take_asked(), "brief work asks for nothing");
        assert_eq!(ticket.begin(Work::Long, true, &cancel), Ok(()));
        assert!(ticket.take_asked() && !ticket.take_asked());
        ticket.rest();
        let mut ticks = 0;
        while !admission.has_room() {
            assert!(admission.is_wanted(), "the ticker would sleep");
            admission.on_tick();
            ticks += 1;
            assert!(ticks <= GRACE_TICKS, "the slot stays with the idle transaction");
        }
        assert_eq!((ticks, admission.stats().revoked), (GRACE_TICKS, 1));
        (0..OUTSIDE_TICKS).for_each(|_| admission.on_tick());
        assert!(!admission.is_wanted(), "nobody asks any more");
        assert_eq!(ticket.begin(Work::Brief, true, &cancel), Ok(()));
        assert!(!ticket.take_asked(), "a transaction that was inside before");
        assert!(!admission.has_room());
        ticket.leave();
        assert!(admission.has_room());
    }

    /// Who looks at all slots leaves out those that nobody has taken, and none that somebody has: an overdraft beyond the limit, and one behind a limit that has gone down.
    #[test]
    fn all_slots_that_were_ever_taken_are_looked_at() {
        let gate = Gate::new(8, 1);
        assert_eq!(gate.states().count(), 0);
        let mut last = gate.claim(7).expect("free");
        assert_eq!((last.index, gate.states().count()), (7, 8));
        let mut beyond = gate.overdraw(u32::MAX).expect("free");
        assert!(beyond.index >= 8 && beyond.index < 8 + SPREAD);
        assert_eq!(gate.states().filter(|state| *state != State::Free).count(), 2);
        gate.set_limit(4);
        assert!(gate.rest(&mut last) && gate.rest(&mut beyond));
        gate.set_tick(100);
        assert_eq!((gate.revoke_idle(8), gate.debt()), (2, 0));
        assert!(!gate.go_on(&mut last) && !gate.go_on(&mut beyond), "both are to ask again");
    }

    /// Overdrafts find a place as long as there is one.
    #[test]
    fn overdrafts_use_all_places_beyond_the_limit() {
        let gate = Gate::with_slots(100, 90, 1);
        let mut places: Vec<u32> = (0..10).map(|hint| gate.overdraw(hint * 77).expect("one is free").index).collect();
        places.sort_unstable();
        assert_eq!(places, (90..100).collect::<Vec<_>>());
        assert!(gate.overdraw(3).is_none());
    }
}
