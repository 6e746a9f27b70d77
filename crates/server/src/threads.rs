//! The threads that serve connections, one each, kept for a while when a connection ends.
//!
//! A storm of short connections then costs no thread creation. An idle thread waits on its own signal, so a new
//! connection wakes exactly one.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use sync::atomic::{AtomicU32, AtomicU64, Ordering};
use sync::{Mutex, Rank, Signal};

/// Stack of a connection's thread. Touched lazily, so that a session pays for what its statements nest; parser, planner and executor bound their recursion to
/// fit (`planner::check_stack`); statements that nest deeper get a stack of their own (`session::statement::deep`). Less than a huge page: of one the first touch would take all. Unoptimised code needs more.
pub const STACK_BYTES: usize = if cfg!(debug_assertions) { 4 << 20 } else { 1920 << 10 };

/// How long a thread stays idle before it ends.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// A thread that does not stand ready after its job is kept while fewer than so many are idle.
const SPARE_KEPT: u32 = 16;

/// After so long without a job it gives back its memory. Not at once: where their number swings, the next job comes within milliseconds.
const GIVE_BACK_AFTER: Duration = Duration::from_secs(1);

/// What a thread does for a connection.
pub type Job = Box<dyn FnOnce() -> After + Send>;

/// What becomes of a thread after its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// It waits for the next one, as many as the list takes.
    Ready,
    /// Its memory is what matters: it ends, unless hardly a thread is idle.
    Spare,
}

/// What gives back what is free in the calling thread's heap.
static GIVE_BACK: OnceLock<fn()> = OnceLock::new();

/// The program's allocator can give back what is free in the calling thread's heap, by this.
pub fn set_give_back(give_back: fn()) {
    // The program has one allocator.
    let _ = GIVE_BACK.set(give_back);
}

/// The calling thread may have nothing to do for long: what is free in its heap goes.
pub fn give_back_free() {
    if let Some(give_back) = GIVE_BACK.get() {
        give_back();
    }
}

struct Seat {
    job: Option<Job>,
}

struct Worker {
    seat: Mutex<Seat>,
    signal: Signal,
}

/// Starts jobs on idle threads or new ones.
pub struct Threads {
    name: &'static str,
    idle: Mutex<Vec<Arc<Worker>>>,
    /// Idle threads kept at most.
    idle_max: AtomicU32,
    created: AtomicU64,
}

impl std::fmt::Debug for Threads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Threads").field("idle", &self.idle.lock().len()).finish()
    }
}

impl Threads {
    /// No thread yet; of those that have nothing to do any more `idle_max` are kept for a while.
    pub fn new(name: &'static str, idle_max: u32) -> Arc<Self> {
        Arc::new(Self { name, idle: Mutex::new(Rank::Leaf, Vec::new()), idle_max: AtomicU32::new(idle_max), created: AtomicU64::new(0) })
    }

    /// Changes how many are kept.
    pub fn set_idle_max(&self, count: u32) {
        if self.idle_max.load(Ordering::Relaxed) != count {
            self.idle_max.store(count, Ordering::Relaxed);
        }
    }

    /// Threads made so far.
    pub fn created(&self) -> u64 {
        self.created.load(Ordering::Relaxed)
    }

    /// Threads that wait for something to do.
    pub fn cached(&self) -> u32 {
        self.idle.lock().len() as u32
    }

    /// Runs `job` on a thread of its own. When the system gives no more threads the job is given back, with the reason.
    pub fn run(self: &Arc<Self>, job: Job) -> Result<(), (Job, std::io::Error)> {
        let idle = self.idle.lock().pop();
        if let Some(worker) = idle {
            worker.seat.lock().job = Some(job);
            worker.signal.notify();
            return Ok(());
        }
        let worker = Arc::new(Worker { seat: Mutex::new(Rank::Leaf, Seat { job: Some(job) }), signal: Signal::new() });
        let (threads, new) = (Arc::clone(self), Arc::clone(&worker));
        let started = sync::thread::Builder::new().name(self.name.to_owned()).stack_size(STACK_BYTES).spawn(move || threads.work(&new));
        if let Err(error) = started {
            let job = worker.seat.lock().job.take();
            return job.map_or(Ok(()), |job| Err((job, error)));
        }
        self.created.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn work(&self, worker: &Arc<Worker>) {
        memory::begin_thread();
        let Some(first) = worker.seat.lock().job.take() else { return };
        let mut after = first();
        loop {
            {
                let mut idle = self.idle.lock();
                let kept = self.idle_max.load(Ordering::Relaxed).min(if after == After::Spare { SPARE_KEPT } else { u32::MAX });
                if idle.len() >= kept as usize {
                    return;
                }
                idle.push(Arc::clone(worker));
            }
            let mut gave_back = after != After::Spare;
            let job = loop {
                let patience = if gave_back { IDLE_TIME } else { GIVE_BACK_AFTER };
                worker.signal.wait(Some(Instant::now() + patience));
                if let Some(job) = worker.seat.lock().job.take() {
                    break job;
                }
                if !gave_back {
                    give_back_free();
                    gave_back = true;
                    continue;
                }
                let mut idle = self.idle.lock();
                let Some(place) = idle.iter().position(|other| Arc::ptr_eq(other, worker)) else {
                    // Somebody has just taken this thread off the list and is about to hand it a job.
                    continue;
                };
                idle.remove(place);
                return;
            };
            after = job();
        }
    }
}
