//! [`Crew`]: the threads that serve parked sessions, and how many they are.
//!
//! A crew has at least `base` members, which bounds how many transactions are open while all goes well. It grows while guests are ready and too few members work
//! to keep the processors busy, whatever the others wait for: locks, the disk, silent clients. It shrinks again when more work than that. Who waits for a slot of admission
//! is as good as at work: more members would wait there as well, and those whose clients have spoken wait better on their seats, where they take no thread. So under load the crew is as
//! large as the slots are many, and a few more, so that admission sees that its slots are wanted; how many more is told by several looks (`recent_load.rs`), as who leaves takes along buffers and plans that are warm. (Making up for each member that
//! waits, one by one, lets a busy machine run away: more open transactions, slower ones, more that wait. So does taking statements that run for long for such that wait, while no processor is idle: they wait for a turn there.) Nothing is told by those who begin to wait: while no member listens,
//! the monitor looks at what each serves, once in a tick, by what its connection shows anyway.
//!
//! Where turns take long, whatever for, those who want a short one must not stand behind them: a *probe* in the row of those whose clients have spoken tells that the row
//! does not move; when hardly any turn ends meanwhile, the crew grows by half at a time.

use super::epoll::Epoll;
use super::listening::Listening;
use super::recent_load::{RecentLoad, Seen};
use super::seats::Report;
use env::IdleTime;
use session::connections::{Connection, Phase};
use session::service::Load;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use sync::{Mutex, Rank};

/// How often the monitor looks while nobody listens.
pub(crate) const TICK: Duration = Duration::from_millis(5);
/// A statement that runs counts as working for so many ticks, or for as long as no processor is idle, which is looked at as often.
const RUNNING_TICKS: u64 = 20;
/// A row that has not moved for so many ticks is looked at.
const ROW_TICKS: u32 = 4;
/// It stands, if fewer turns for each processor have ended in that time: they take longer than some milliseconds.
const ROW_TURNS: u64 = 2;

/// A thread of the crew.
pub(crate) struct Member {
    /// Whom it serves.
    serves: Mutex<Option<Arc<Connection>>>,
    /// What the monitor saw last, and in how many ticks since; it alone writes here.
    seen: AtomicU64,
    still: AtomicU64,
    /// Turns that have ended here. Relaxed: written by the member alone, summed by the monitor.
    turns: AtomicU64,
}

impl Member {
    /// Serves a guest from now on.
    pub(crate) fn serve(&self, connection: &Arc<Connection>) {
        *self.serves.lock() = Some(Arc::clone(connection));
    }

    /// The guest's turn has ended.
    pub(crate) fn served(&self) {
        self.turns.store(self.turns.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        *self.serves.lock() = None;
    }
}

/// See the module.
pub(crate) struct Crew {
    processors: u32,
    base: u32,
    members: Mutex<Vec<Arc<Member>>>,
    /// Those in `members`, and those about to be.
    count: AtomicU32,
    /// By the monitor; `least` of those who ask may be more.
    wanted: AtomicU32,
    /// Turns that ended at members that have gone.
    past_turns: AtomicU64,
    /// See [`Crew::row_ms`]. Relaxed: an estimate.
    row_ms: AtomicU32,
    listening: Listening,
    closed: AtomicBool,
}

impl Crew {
    /// Nobody yet.
    pub(crate) fn new(processors: u32) -> Self {
        // As many as `admission` begins with.
        let base = processors.saturating_mul(8).clamp(16, 256);
        Self {
            processors,
            base,
            members: Mutex::new(Rank::Leaf, Vec::new()),
            count: AtomicU32::new(0),
            wanted: AtomicU32::new(0),
            past_turns: AtomicU64::new(0),
            row_ms: AtomicU32::new(0),
            listening: Listening::new(),
            closed: AtomicBool::new(false),
        }
    }

    /// How many members there are at least while sessions share threads.
    pub(crate) fn base(&self) -> u32 {
        self.base
    }

    /// Whether a thread that enlists now would be taken.
    #[inline]
    pub(crate) fn wants_more(&self, least: u32) -> bool {
        self.count.load(Ordering::Relaxed) < self.wanted(least)
    }

    #[inline]
    fn wanted(&self, least: u32) -> u32 {
        self.wanted.load(Ordering::Relaxed).max(least)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::SeqCst)
    }

    /// Whether there is nobody at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The calling thread becomes a member, if one is wanted.
    pub(crate) fn enlist(&self, least: u32) -> Option<Arc<Member>> {
        let wanted = self.wanted(least);
        self.count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| (count < wanted).then_some(count + 1)).ok()?;
        let member = Arc::new(Member {
            serves: Mutex::new(Rank::Leaf, None),
            seen: AtomicU64::new(0),
            still: AtomicU64::new(0),
            turns: AtomicU64::new(0),
        });
        self.members.lock().push(Arc::clone(&member));
        Some(member)
    }

    /// A member goes, whoever is left.
    pub(crate) fn leave(&self, member: &Arc<Member>) {
        self.lets_go(member, 0);
    }

    /// A member that has left is one again, if there is none.
    pub(crate) fn enlist_again(&self, member: &Arc<Member>) -> bool {
        if self.count.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return false;
        }
        self.members.lock().push(Arc::clone(member));
        true
    }

    /// A member that has served a guest: whether there are too many, as the monitor says, in which case it is none any more.
    #[inline]
    pub(crate) fn dismisses(&self, member: &Arc<Member>, least: u32) -> bool {
        let wanted = self.wanted(least);
        self.count.load(Ordering::Relaxed) > wanted && self.lets_go(member, wanted)
    }

    /// Fewer at work than these may leave a processor idle.
    fn few(&self) -> u32 {
        2 * self.processors
    }

    /// More at work than these are too many.
    fn many(&self) -> u32 {
        4 * self.processors
    }

    /// A member that has listened for long in vain: whether it is none any more. There were more of them for something that is over.
    pub(crate) fn retires(&self, member: &Arc<Member>, least: u32) -> bool {
        if !self.lets_go(member, least) {
            return false;
        }
        self.wanted.fetch_min(self.count().max(least), Ordering::Relaxed);
        true
    }

    #[cold]
    fn lets_go(&self, member: &Arc<Member>, most: u32) -> bool {
        if self.count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| (count > most).then(|| count - 1)).is_err() {
            return false;
        }
        let mut members = self.members.lock();
        members.retain(|other| !Arc::ptr_eq(other, member));
        self.past_turns.fetch_add(member.turns.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        true
    }

    /// A member listens while `take` runs.
    #[inline]
    pub(crate) fn listen<T>(&self, take: impl FnOnce() -> Report<T>) -> Report<T> {
        self.listening.during(take)
    }

    /// The life of the monitor, until [`Crew::close`]. `start` starts a thread that will enlist, `open` tells how many connections there are, `least` how many members
    /// there must be, `load` how busy the slots of admission are.
    pub(crate) fn monitor(
        &self,
        poller: &Epoll,
        start: impl Fn() -> bool,
        open: impl Fn() -> u32,
        least: impl Fn() -> u32,
        load: impl Fn() -> Option<Load>,
    ) {
        // Ticks in which the row has not moved, and turns that had ended when that was looked at last.
        let (mut late, mut turns) = (0, 0);
        let (mut idle, mut ticks, mut busy) = (IdleTime::new(), 0, false);
        let probe_sent = Cell::new(None);
        let mut recent = RecentLoad::new(self.few(), self.many());
        loop {
            self.listening.sleep_while(|listened| {
                let quiet = (listened || self.is_empty()) && !self.is_closed();
                if quiet {
                    // What was measured before the sleep says nothing of the row behind it.
                    self.row_ms.store(0, Ordering::Relaxed);
                    probe_sent.set(None);
                }
                quiet
            });
            if self.is_closed() {
                return;
            }
            self.listening.sleep_until(Instant::now() + TICK);
            if self.listening.somebody() {
                (late, ticks, busy) = (0, 0, false);
                recent.forget();
                self.row_ms.store(0, Ordering::Relaxed);
                probe_sent.set(None);
                continue;
            }
            ticks += 1;
            if ticks % RUNNING_TICKS == 0 {
                busy = idle.share().is_some_and(|share| share < IdleTime::SPARE);
            }
            let row_ms = probe_sent.get().map_or(0, |sent: Instant| u32::try_from(sent.elapsed().as_millis()).unwrap_or(u32::MAX));
            if poller.probe() {
                late += 1;
                self.row_ms.fetch_max(row_ms, Ordering::Relaxed);
            } else {
                late = 0;
                self.row_ms.store(row_ms, Ordering::Relaxed);
                probe_sent.set(Some(Instant::now()));
            }
            let mut stands = false;
            if late % ROW_TICKS == 0 {
                let now = self.turns();
                stands = late > 0 && now.wrapping_sub(turns) < ROW_TURNS * u64::from(self.processors);
                turns = now;
            }
            let count = self.count();
            let wanted = self.judge(count, self.working(busy), stands, open(), least(), recent.note(load()));
            self.wanted.store(wanted, Ordering::Relaxed);
            for _ in count..wanted {
                if !start() {
                    break;
                }
            }
        }
    }

    /// Turns that have ended.
    fn turns(&self) -> u64 {
        let members = self.members.lock();
        members.iter().fold(self.past_turns.load(Ordering::Relaxed), |sum, member| sum.wrapping_add(member.turns.load(Ordering::Relaxed)))
    }

    /// For how many milliseconds those whose clients have spoken lie in the row before they are taken, about; 0 when somebody listens.
    pub(crate) fn row_ms(&self) -> u32 {
        self.row_ms.load(Ordering::Relaxed)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Ends the monitor.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.listening.notify();
    }

    /// How many members work, or would if they had a processor. `busy`: no processor is idle, so what runs for long does not wait for a disk but for its turn.
    fn working(&self, busy: bool) -> u32 {
        let members = self.members.lock().clone();
        let works = |member: &Arc<Member>| {
            let Some(connection) = member.serves.lock().clone() else { return true };
            let activity = connection.activity();
            let still =
                if member.seen.swap(activity, Ordering::Relaxed) == activity { member.still.load(Ordering::Relaxed) + 1 } else { 0 };
            member.still.store(still, Ordering::Relaxed);
            if Connection::phase_of(activity) != Phase::Running || connection.is_committing() {
                return false;
            }
            match connection.waits_for() {
                None => busy || still < RUNNING_TICKS,
                Some(what) => what == session::ADMISSION_WAIT,
            }
        };
        members.iter().filter(|member| works(member)).count() as u32
    }

    /// How many members there should be, of whom so many work. `stands`: those whose clients have spoken are not taken, and hardly a turn ends. `open`: connections.
    fn judge(&self, count: u32, working: u32, stands: bool, open: u32, least: u32, load: Option<Seen>) -> u32 {
        let (few, many) = (self.few(), self.many());
        let wanted = match working {
            // However slowly it goes, more members would wait for slots as well. Admission sees to it that those get on.
            _ if load.is_some_and(|load| load.queued > many) => count - load.map_or(0, |load| load.too_many).min(count),
            // That may be a thousand long statements, to be got past in a few rounds.
            _ if stands => count + count / 2,
            0 => count + count / 2,
            _ if working < few => count + few - working,
            // Whether another number of slots would be better can be told only while somebody waits for one.
            _ if load.is_some_and(|load| load.full && load.too_few) => count + self.processors,
            // Who works has a slot, or waits for one: admission says how many may.
            _ if load.is_some_and(|load| load.bounds) => count,
            _ if working > many => count.saturating_sub(working - many),
            _ => count,
        };
        wanted.min(open).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crew_grows_while_too_few_work_and_shrinks_when_many_do() {
        let crew = Crew::new(2);
        assert_eq!(crew.judge(32, 6, false, 10_000, 32, None), 32, "busy enough");
        assert_eq!(crew.judge(32, 1, false, 10_000, 32, None), 35);
        assert_eq!(crew.judge(32, 0, false, 10_000, 32, None), 48);
        assert_eq!(crew.judge(32, 20, true, 10_000, 32, None), 48, "busy with what takes long");
        assert_eq!(crew.judge(9_900, 0, false, 10_000, 32, None), 10_000, "never more than there are connections");
        assert_eq!(crew.judge(500, 60, false, 10_000, 32, None), 448);
        assert_eq!(crew.judge(40, 40, false, 10_000, 32, None), 32);
        assert_eq!(crew.judge(32, 0, false, 1, 32, None), 32);
        let full = |queued, too_few, too_many| Some(Seen { queued, full: true, too_few, too_many, bounds: true });
        assert_eq!(crew.judge(64, 6, false, 10_000, 32, full(0, true, 0)), 66, "nobody waits for a slot, as far as admission can see");
        assert_eq!(crew.judge(64, 6, false, 10_000, 32, full(0, false, 0)), 64, "somebody did a moment ago");
        assert_eq!(crew.judge(64, 30, false, 10_000, 32, full(6, false, 0)), 64, "who has a slot is not one too many");
        assert_eq!(crew.judge(64, 10, true, 10_000, 32, full(10, false, 2)), 62, "it stands, but there are enough who wait for slots");
        assert_eq!(crew.judge(64, 10, true, 10_000, 32, full(10, false, 0)), 64, "as many only now");
        let free = Some(Seen { queued: 0, full: false, too_few: true, too_many: 0, bounds: false });
        assert_eq!(crew.judge(64, 6, false, 10_000, 32, free), 64, "slots are free");
        assert_eq!(crew.judge(64, 20, false, 10_000, 32, free), 52);
        assert_eq!(crew.judge(2, 2, false, 100, 2, None), 4, "few connections");
    }
}
