//! What the threads of a run and its owner share: the phase, counters, where tallies are handed over.

use crate::endpoint::Endpoint;
use crate::options::RunOptions;
use crate::seconds::Seconds;
use crate::tally::Tally;
use crate::workload::Workload;
use std::time::{Duration, Instant};
use sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use sync::{Mutex, Rank};

/// What connections do at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// They log in; who is in waits.
    Login,
    /// They work, and it is not measured.
    Warm,
    /// They work, and it is measured.
    Measure,
    /// They end what is under way and wait.
    Paused,
    /// They say goodbye.
    Quit,
}

impl Phase {
    /// Whether transactions begin.
    pub fn is_active(self) -> bool {
        matches!(self, Phase::Warm | Phase::Measure)
    }
}

const PHASES: [Phase; 5] = [Phase::Login, Phase::Warm, Phase::Measure, Phase::Paused, Phase::Quit];

/// See the module's text. All atomics are SeqCst: they change a few times a second at most, but for `ended`.
pub struct Control {
    /// What is run.
    pub options: RunOptions,
    /// Where the server is.
    pub to: Endpoint,
    /// The server answers without looking at what it is asked.
    pub canned: bool,
    /// What connections do.
    pub workload: Workload,
    phase: AtomicU8,
    /// How often work was paused; each thread hands its tally over once for each time.
    pauses: AtomicU64,
    /// Connections that are logged in, or were.
    pub ready: AtomicUsize,
    /// Connections that could not log in.
    pub refused: AtomicUsize,
    /// Connections that were lost after their login.
    pub lost: AtomicUsize,
    /// Transactions that ended well, for whoever watches; added to now and then (Relaxed).
    pub ended: AtomicU64,
    /// Seconds of the measured time.
    pub seconds: Seconds,
    handed: Mutex<Vec<Tally>>,
    begun: Instant,
    /// Moments in nanoseconds after `begun`, each stored before the phase that it belongs to.
    resumed_ns: AtomicU64,
    measuring_ns: AtomicU64,
    drain_until_ns: AtomicU64,
    owner: std::thread::Thread,
}

impl Control {
    /// For a run of this thread.
    pub fn new(options: RunOptions, to: Endpoint, canned: bool, workload: Workload) -> Control {
        Control {
            options,
            to,
            canned,
            workload,
            phase: AtomicU8::new(Phase::Login as u8),
            pauses: AtomicU64::new(0),
            ready: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            ended: AtomicU64::new(0),
            seconds: Seconds::default(),
            handed: Mutex::new(Rank::Leaf, Vec::new()),
            begun: Instant::now(),
            resumed_ns: AtomicU64::new(0),
            measuring_ns: AtomicU64::new(0),
            drain_until_ns: AtomicU64::new(0),
            owner: std::thread::current(),
        }
    }

    fn moment(&self, ns: &AtomicU64) -> Instant {
        self.begun + Duration::from_nanos(ns.load(Ordering::SeqCst))
    }

    fn set(&self, ns: &AtomicU64, moment: Instant) {
        ns.store(moment.saturating_duration_since(self.begun).as_nanos() as u64, Ordering::SeqCst);
    }

    /// What connections do.
    pub fn phase(&self) -> Phase {
        PHASES[usize::from(self.phase.load(Ordering::SeqCst))]
    }

    /// How often work was paused.
    pub fn pauses(&self) -> u64 {
        self.pauses.load(Ordering::SeqCst)
    }

    /// When the run began.
    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// When work went on.
    pub fn resumed(&self) -> Instant {
        self.moment(&self.resumed_ns)
    }

    /// When measuring began.
    pub fn measuring(&self) -> Instant {
        self.moment(&self.measuring_ns)
    }

    /// How long transactions under way are waited for.
    pub fn drain_until(&self) -> Instant {
        self.moment(&self.drain_until_ns)
    }

    /// Work goes on.
    pub fn resume(&self) {
        self.set(&self.resumed_ns, Instant::now());
        self.phase.store(Phase::Warm as u8, Ordering::SeqCst);
    }

    /// Measuring begins; at this moment.
    pub fn begin_measuring(&self) -> Instant {
        let now = Instant::now();
        self.set(&self.measuring_ns, now);
        self.phase.store(Phase::Measure as u8, Ordering::SeqCst);
        now
    }

    /// Work is paused, or ended.
    pub fn pause(&self, phase: Phase, drain: Duration) {
        self.set(&self.drain_until_ns, Instant::now() + drain);
        self.handed.lock().clear();
        self.pauses.fetch_add(1, Ordering::SeqCst);
        self.phase.store(phase as u8, Ordering::SeqCst);
    }

    /// A thread's tally, after a pause.
    pub fn hand_over(&self, tally: Tally) {
        self.handed.lock().push(tally);
        self.owner.unpark();
    }

    /// What was handed over, if all have.
    pub fn take_handed(&self, threads: usize) -> Option<Tally> {
        let mut handed = self.handed.lock();
        (handed.len() >= threads).then(|| {
            let mut all = Tally::default();
            handed.drain(..).for_each(|tally| all.merge(tally));
            all
        })
    }

    /// Lets the owner look at what has changed.
    pub fn tell_owner(&self) {
        self.owner.unpark();
    }
}
