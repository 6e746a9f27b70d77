//! [`Crew`]: a few threads that see to those who come, however many come at once.
//!
//! # Invariants
//! 1. While somebody stands in line, `most` threads are at work; fewer only where no more are to be had.
//! 2. Who is at work and is about to wait leaves its place to another thread, if anybody stands in line then; a thread that cannot be had leaves it where it is.
//! 3. Everybody is seen to once; or turned away once, where nobody is at work and no thread is to be had.

use super::platform::{Arc, Mutex, Rank, atomic, planted};
use std::collections::VecDeque;

/// What a thread of the crew does: to be called once.
pub(crate) type Work = Box<dyn FnOnce() + Send>;

/// One who comes to be seen to.
pub(crate) trait Enters: Sized + Send + 'static {
    /// On a thread of the crew, which is at work until it leaves its place.
    fn see_to(self, place: &Arc<Place<Self>>);

    /// No thread is to be had, for this reason.
    fn turn_away(self, error: &std::io::Error);
}

struct Line<T> {
    waiting: VecDeque<T>,
    at_work: usize,
}

/// See the module.
pub(crate) struct Crew<T> {
    /// Threads at work at once, at most.
    most: usize,
    line: Mutex<Line<T>>,
    /// Starts a thread.
    start: Box<dyn Fn(Work) -> std::io::Result<()> + Send + Sync>,
}

/// That a thread counts as at work, until it leaves this.
pub(crate) struct Place<T> {
    crew: Arc<Crew<T>>,
    /// Relaxed: its thread alone reads and writes it.
    left: atomic::AtomicBool,
}

impl<T: Enters> Crew<T> {
    /// Nobody is at work; `start` has work done on a thread, or fails at once.
    pub(crate) fn new(most: usize, start: impl Fn(Work) -> std::io::Result<()> + Send + Sync + 'static) -> Arc<Self> {
        let line = Line { waiting: VecDeque::new(), at_work: 0 };
        Arc::new(Self { most, line: Mutex::new(Rank::Leaf, line), start: Box::new(start) })
    }

    /// Has `who` seen to.
    pub(crate) fn take(self: &Arc<Self>, who: T) {
        let begins = {
            let mut line = self.line.lock();
            line.waiting.push_back(who);
            let begins = line.at_work < self.most;
            line.at_work += usize::from(begins);
            begins
        };
        if begins && let Err(error) = self.begin() {
            let nobodys = {
                let mut line = self.line.lock();
                line.at_work -= 1;
                // Those who are at work come to them.
                if line.at_work == 0 { std::mem::take(&mut line.waiting) } else { VecDeque::new() }
            };
            nobodys.into_iter().for_each(|who| who.turn_away(&error));
        }
    }

    fn begin(self: &Arc<Self>) -> std::io::Result<()> {
        let crew = Arc::clone(self);
        (self.start)(Box::new(move || crew.work()))
    }

    /// A thread's time at work, as which it counts already.
    fn work(self: &Arc<Self>) {
        let place = Arc::new(Place { crew: Arc::clone(self), left: atomic::AtomicBool::new(false) });
        while !place.has_left() {
            let who = {
                let mut line = self.line.lock();
                let who = line.waiting.pop_front();
                line.at_work -= usize::from(who.is_none());
                who
            };
            let Some(who) = who else { return };
            who.see_to(&place);
        }
    }
}

impl<T: Enters> Place<T> {
    fn has_left(&self) -> bool {
        self.left.load(atomic::Ordering::Relaxed)
    }

    /// The thread is about to wait, or has something else to do from now on: another one goes on with those who stand in line. `false`: no thread is to be had
    /// for them, and this one goes back to them. (Takes a leaf latch.)
    pub(crate) fn leave(&self) -> bool {
        if self.has_left() {
            return true;
        }
        let is_needed = {
            let mut line = self.crew.line.lock();
            let is_needed = !line.waiting.is_empty() && !planted("place_not_passed_on");
            line.at_work -= usize::from(!is_needed);
            is_needed
        };
        // The other one counts in this one's place.
        let left = !is_needed || self.crew.begin().is_ok() || planted("left_without_another");
        self.left.store(left, atomic::Ordering::Relaxed);
        left
    }
}
