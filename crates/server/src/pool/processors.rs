//! Which processors the crew may use, and what its threads do there.
//!
//! Members stay on the processor of their post (sched_setaffinity(2)) as long as they hold it. A kernel as busy as a server's looks for no idle processor when it wakes a thread: of two processors one was seen
//! idle for a quarter to a third of the time while threads stood in line at the other. With a post on each that has guests to serve none is idle. Where the process may not use all of the processors that it is allowed to run on
//! (a quota of a container), nothing is pinned: others may be pinned to the same.

use super::posts::{Doing, Worker};
use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_setaffinity};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The processors that posts are on.
pub(crate) struct Processors {
    all: CpuSet,
    /// One for each post; none where nothing is pinned.
    each: Vec<usize>,
    count: usize,
}

impl Processors {
    /// Those of this process.
    pub(crate) fn new() -> Self {
        let count = std::thread::available_parallelism().map_or(1, |count| count.get());
        let all = sched_getaffinity(None).unwrap_or_default();
        let each: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|processor| all.is_set(*processor)).collect();
        Self { all, each: if each.len() == count { each } else { Vec::new() }, count }
    }

    /// How many.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Whether there are posts on several.
    pub(crate) fn differ(&self) -> bool {
        self.each.len() > 1
    }

    /// Whether they are two, and the machine has no others.
    pub(crate) fn are_the_machines_two(&self) -> bool {
        // proc(5) has no such file, sysfs's documentation has: "0-1". Where it cannot be read, there may be more.
        self.each.len() == 2 && std::fs::read_to_string("/sys/devices/system/cpu/online").is_ok_and(|online| online.trim() == "0-1")
    }

    /// The post on this processor.
    pub(crate) fn post_on(&self, processor: usize) -> Option<usize> {
        self.each.binary_search(&processor).ok()
    }

    /// The calling thread, which becomes a member of the crew at this post.
    pub(crate) fn this_thread(&self, post: usize) -> Thread {
        let pinned_to = self.each.get(post).map(|processor| {
            let mut one = CpuSet::new();
            one.set(*processor);
            one
        });
        Thread { id: gettid(), all: self.all, one: pinned_to, pinned: AtomicBool::new(false) }
    }
}

/// A thread of the crew.
pub(crate) struct Thread {
    id: Pid,
    all: CpuSet,
    one: Option<CpuSet>,
    /// Relaxed: pinned by itself, let loose by the monitor or itself; what the kernel did last counts, and both come to that again.
    pinned: AtomicBool,
}

impl Thread {
    /// It stays on its post's processor from now on. Called on the thread itself.
    pub(crate) fn pin(&self) {
        if let Some(one) = &self.one
            && !self.pinned.load(Ordering::Relaxed)
        {
            // Refused: it runs anywhere.
            let _ = sched_setaffinity(None, one);
            self.pinned.store(true, Ordering::Relaxed);
        }
    }
}

impl Worker for Thread {
    fn doing(&self) -> Option<Doing> {
        let told = |what: &str| std::fs::read_to_string(format!("/proc/self/task/{}/{what}", self.id.as_raw_nonzero())).ok();
        // proc_pid_stat(5): number, name in parentheses, state.
        let stat = told("stat")?;
        if !stat.rsplit(')').next()?.trim_start().starts_with('R') {
            return Some(Doing::Blocked);
        }
        // Time on processors in nanoseconds, time in line, slices.
        let ran = told("schedstat")?.split(' ').next()?.parse().ok()?;
        Some(Doing::Running(Duration::from_nanos(ran)))
    }

    fn let_loose(&self) {
        if self.pinned.swap(false, Ordering::Relaxed) {
            let _ = sched_setaffinity(Some(self.id), &self.all);
        }
    }
}

/// The calling thread, which may run anywhere, goes to another processor than this one, if there is any. The kernel wakes a client where the thread runs that answers it; if that does not sleep then, one waits for the other.
pub(crate) fn stand_aside(from: usize) {
    let Ok(all) = sched_getaffinity(None) else { return };
    let mut others = all;
    others.unset(from);
    if others.count() > 0 && sched_setaffinity(None, &others).is_ok() {
        // What fails here leaves it where it has just been put.
        let _ = sched_setaffinity(None, &all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_told_asleep_and_at_work_and_stays_where_it_is_pinned() {
        let processors = Processors::new();
        let own = processors.this_thread(0);
        assert!(matches!(own.doing(), Some(Doing::Running(_))));
        own.pin();
        let pinned = sched_getaffinity(None).expect("allowed");
        assert_eq!(pinned.count(), if processors.each.is_empty() { processors.all.count() } else { 1 });
        own.let_loose();
        assert_eq!(sched_getaffinity(None).expect("allowed"), processors.all);
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                tell.send(Processors::new().this_thread(0)).expect("somebody listens");
                let _ = ended.recv();
            });
            let sleeper = told.recv().expect("somebody tells");
            while sleeper.doing() != Some(Doing::Blocked) {
                std::thread::yield_now();
            }
            drop(end);
        });
    }
}
