//! A run whose connections stay: they log in once, work in slices, and idle between them.

use crate::blocking::Blocking;
use crate::control::{Control, Phase};
use crate::cpu::{CpuTime, context_switches, resident_kib};
use crate::drive::drive;
use crate::measured::Measured;
use crate::options::RunOptions;
use crate::outcome::{Kind, Local, Outcome, Second};
use crate::progress::{self, Now, Progress};
use crate::reactor::Call;
use crate::tally::Tally;
use crate::workload::{KINDS_MAX, Workload};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use sync::atomic::Ordering;

/// Between two looks at how far a run is.
const LOOK: Duration = Duration::from_millis(100);
/// Longer than the longest wait for transactions under way.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest wait for transactions under way when a run ends that was paused before.
const GOODBYE: Duration = Duration::from_secs(2);

/// Connections that are logged in. They idle until [`Running::resume`], and again after [`Running::pause`].
pub struct Running {
    control: Arc<Control>,
    threads: Vec<(JoinHandle<Result<(), String>>, Call)>,
    connection: Blocking,
    version: String,
    /// The server's process, when it is on this machine.
    pid: Option<u32>,
    login: Duration,
    total_before: Option<i64>,
    acknowledged: [u64; KINDS_MAX],
    unknown: u64,
    slice: Slice,
}

/// What a workload's tables held before and after, and what was acknowledged between.
#[derive(Debug, Clone, Copy)]
pub struct Totals {
    before: Option<i64>,
    after: Option<i64>,
    acknowledged: [u64; KINDS_MAX],
    /// Transactions whose end nobody knows.
    unknown: u64,
}

impl Totals {
    /// Of two runs on the same tables, the other of which began before either worked and ended last.
    pub fn and(mut self, other: Totals) -> Totals {
        self.acknowledged.iter_mut().zip(&other.acknowledged).for_each(|(all, more)| *all += more);
        self.unknown += other.unknown;
        self.after = other.after;
        self
    }

    /// Whether they fit, where the workload has totals.
    pub fn verdict(&self, workload: &Workload) -> Option<String> {
        workload.verdict(self.before, self.after, &self.acknowledged, self.unknown)
    }
}

/// What was there when a slice began.
#[derive(Default)]
struct Slice {
    status: Vec<(String, f64)>,
    switches: Option<u64>,
    own: Option<CpuTime>,
    server: Option<CpuTime>,
    start: Option<Instant>,
    each_second: Vec<Second>,
}

impl Running {
    /// Logs everybody in; an error when the server cannot be reached, the login is wrong, the tables are not there, or nobody was let in.
    pub fn start(options: &RunOptions, progress: &mut dyn Progress) -> Result<Running, String> {
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        let all = rustix::process::Rlimit { current: files.maximum, maximum: files.maximum };
        // A limit that cannot be raised shows when a socket cannot be made.
        let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, all);
        let mut connection = options.server.connect(true)?;
        let version = connection.version();
        let workload = Workload::new(options);
        workload.probe(&mut connection, options)?;
        let canned = is_canned(&version);
        let total_before = if canned { None } else { workload.total(&mut connection) };
        let to = connection.endpoint().clone();
        let found = connection.server_process();
        let control = Arc::new(Control::new(options.clone(), to, canned, workload));
        let mut running = Running {
            control,
            threads: Vec::new(),
            connection,
            version,
            pid: options.pid.or(found),
            login: Duration::ZERO,
            total_before,
            acknowledged: [0; KINDS_MAX],
            unknown: 0,
            slice: Slice::default(),
        };
        // Those that there are end with `running`.
        for thread in 0..usize::from(options.work.threads) {
            let (control, call) = (Arc::clone(&running.control), Call::new()?);
            let called = call.clone();
            let spawned = std::thread::Builder::new().name(format!("load {thread}")).spawn(move || drive(&control, thread, called));
            running.threads.push((spawned.map_err(|e| format!("a thread cannot be made: {e}"))?, call));
        }
        running.log_in(progress)?;
        Ok(running)
    }

    fn log_in(&mut self, progress: &mut dyn Progress) -> Result<(), String> {
        let control = Arc::clone(&self.control);
        let deadline = control.begun() + Duration::from_secs_f64(control.options.work.login_seconds);
        let wanted = control.options.connections;
        loop {
            let (ready, refused) = (control.ready.load(Ordering::SeqCst), control.refused.load(Ordering::SeqCst));
            if ready + refused >= wanted || Instant::now() >= deadline {
                break;
            }
            progress.show(&Now { phase: progress::Phase::Login, done: ready as f64, total: wanted as f64, rate: 0.0 });
            self.threads_live()?;
            std::thread::park_timeout(LOOK);
        }
        self.login = control.begun().elapsed();
        if control.ready.load(Ordering::SeqCst) > 0 {
            return Ok(());
        }
        let tally = self.hand_over(Phase::Quit, progress)?;
        Err(format!("none of {wanted} connections was let in: {}", tally.lost_reason.as_deref().unwrap_or("no answer")))
    }

    /// An error when a thread has ended, which it does only when it cannot go on.
    fn threads_live(&mut self) -> Result<(), String> {
        match self.threads.iter().position(|(thread, _)| thread.is_finished()) {
            None => Ok(()),
            Some(at) => {
                let ended = self.threads.swap_remove(at).0.join();
                Err(ended.map_or_else(|_| "a thread of the client panicked".to_owned(), |ended| ended.err().unwrap_or_default()))
            }
        }
    }

    fn call_threads(&self) {
        self.threads.iter().for_each(|(_, call)| call.call());
    }

    /// The options that it was started with.
    pub fn options(&self) -> &RunOptions {
        &self.control.options
    }

    /// `SELECT VERSION()` and the comment.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The server's process, when it is on this machine.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Connections begin to work; nothing is measured yet.
    pub fn resume(&mut self) {
        self.slice = Slice { status: self.status(), ..Slice::default() };
        self.control.seconds.clear();
        self.control.resume();
        self.call_threads();
    }

    /// Measuring begins.
    pub fn begin_measuring(&mut self) {
        // With thousands of threads looking at all of them takes a while: only for those who ask, and outside of what is timed.
        self.slice.switches = self.control.options.pid.map(context_switches);
        self.slice.own = CpuTime::of(std::process::id());
        self.slice.server = self.pid.and_then(CpuTime::of);
        self.slice.start = Some(self.control.begin_measuring());
        self.call_threads();
    }

    /// Lets so many seconds pass while connections work; fewer when all of them are lost.
    pub fn watch(&mut self, seconds: f64, progress: &mut dyn Progress) -> Result<(), String> {
        let start = Instant::now();
        let end = start + Duration::from_secs_f64(seconds);
        let phase = if self.slice.start.is_some() { progress::Phase::Measure } else { progress::Phase::Warmup };
        let mut last = (start, self.control.ended.load(Ordering::Relaxed));
        loop {
            let now = Instant::now();
            let lost = self.control.lost.load(Ordering::SeqCst);
            if now >= end || lost > 0 && lost >= self.control.ready.load(Ordering::SeqCst) {
                return Ok(());
            }
            self.threads_live()?;
            let ended = self.control.ended.load(Ordering::Relaxed);
            let rate = (ended - last.1) as f64 / (now - last.0).as_secs_f64().max(1e-9);
            if now - last.0 >= LOOK {
                progress.show(&Now { phase, done: (now - start).as_secs_f64(), total: seconds, rate });
                last = (now, ended);
            }
            self.close_seconds(now, 1);
            std::thread::park_timeout(LOOK.min(end.saturating_duration_since(Instant::now())));
        }
    }

    /// Closes the seconds that ended `ago` whole seconds before: threads put theirs a little later.
    fn close_seconds(&mut self, now: Instant, ago: usize) {
        let Some(start) = self.slice.start else { return };
        let end = (now.saturating_duration_since(start).as_secs() as usize).saturating_sub(ago);
        if end > self.slice.each_second.len() {
            let resident = self.pid.map(resident_kib).filter(|kib| *kib > 0);
            self.control.seconds.close(end, &mut self.slice.each_second, resident);
        }
    }

    /// Work pauses: transactions under way end, connections stay. What was measured since [`Running::begin_measuring`].
    pub fn pause(&mut self, progress: &mut dyn Progress) -> Result<Measured, String> {
        let end = Instant::now();
        let slice = std::mem::take(&mut self.slice);
        let start = slice.start.unwrap_or(end);
        let own = CpuTime::of(std::process::id()).zip(slice.own).map(|(now, before)| now.since(before));
        let server = self.pid.and_then(CpuTime::of).zip(slice.server).map(|(now, before)| now.since(before));
        let resident = self.pid.map(resident_kib).filter(|kib| *kib > 0);
        let tally = self.hand_over(Phase::Paused, progress)?;
        let measured = end.saturating_duration_since(start);
        let switches = slice.switches.zip(self.control.options.pid.map(context_switches));
        let mut each_second = slice.each_second;
        self.control.seconds.close(measured.as_secs() as usize, &mut each_second, resident);
        self.acknowledged.iter_mut().zip(&tally.acknowledged).for_each(|(all, new)| *all += new);
        self.unknown += tally.lost + tally.unfinished;
        let status = growth(&slice.status, self.status());
        let options = &self.control.options;
        let kinds = self.control.workload.kinds();
        let outcome = Outcome {
            server: if options.label.is_empty() { options.server.server.to_string() } else { options.label.clone() },
            version: self.version.clone(),
            workload: options.work.workload.name(),
            settings: options.work.settings(),
            connections: self.control.ready.load(Ordering::SeqCst),
            seconds: measured.as_secs_f64(),
            kinds: kinds
                .iter()
                .zip(&tally.kinds)
                .map(|(name, latency)| Kind { name: (*name).to_owned(), latency: latency.clone() })
                .collect(),
            each_second,
            retries: tally.retries,
            failed: tally.failed,
            errors: tally.errors.clone(),
            lost: tally.lost + tally.refused + tally.unfinished,
            local: server.zip(resident).map(|(cpu, resident_kib)| Local {
                user_seconds: cpu.user_us / 1e6,
                system_seconds: cpu.system_us / 1e6,
                resident_kib,
            }),
            client_cpu_seconds: own.map_or(0.0, |cpu| (cpu.user_us + cpu.system_us) / 1e6),
        };
        Ok(Measured {
            options: options.clone(),
            outcome,
            tally,
            login: self.login,
            server_cpu: server,
            client_cpu: own,
            switches: switches.map(|(before, after)| after.saturating_sub(before)),
            resident,
            status,
            verdict: None,
        })
    }

    /// A slice: resumes, warms up, measures, pauses.
    pub fn slice(&mut self, warmup: f64, seconds: f64, progress: &mut dyn Progress) -> Result<Measured, String> {
        self.resume();
        self.watch(warmup, progress)?;
        self.begin_measuring();
        self.watch(seconds, progress)?;
        self.pause(progress)
    }

    /// Says goodbye. What the workload's totals say of all slices together, where it has totals: an error when they are wrong.
    pub fn stop(self) -> Result<Option<String>, String> {
        let control = Arc::clone(&self.control);
        Ok(self.leave()?.verdict(&control.workload))
    }

    /// Says goodbye; the totals, for whoever works on the same tables in several runs.
    pub fn leave(mut self) -> Result<Totals, String> {
        if self.control.phase() != Phase::Quit {
            self.hand_over(Phase::Quit, &mut progress::Silent)?;
        }
        for (thread, _) in self.threads.drain(..) {
            thread.join().map_err(|_| "a thread of the client panicked".to_owned())??;
        }
        let after = self.control.workload.total(&mut self.connection);
        Ok(Totals { before: self.total_before, after, acknowledged: self.acknowledged, unknown: self.unknown })
    }

    /// Pauses or ends the work and takes what all threads have counted.
    fn hand_over(&mut self, phase: Phase, progress: &mut dyn Progress) -> Result<Tally, String> {
        let drain = match phase {
            // Whoever works on did not come to an end in the pause before.
            Phase::Quit => GOODBYE,
            _ => Duration::from_secs_f64(self.control.options.work.drain_seconds),
        };
        let begun = Instant::now();
        self.control.pause(phase, drain);
        self.call_threads();
        loop {
            if let Some(tally) = self.control.take_handed(self.threads.len()) {
                return Ok(tally);
            }
            if phase == Phase::Paused {
                self.threads_live()?;
            }
            let waited = begun.elapsed();
            if waited > drain + PATIENCE {
                return Err("a thread of the client does not answer".to_owned());
            }
            if waited > LOOK {
                let (done, total) = (waited.as_secs_f64(), drain.as_secs_f64());
                progress.show(&Now { phase: progress::Phase::Drain, done, total, rate: 0.0 });
            }
            std::thread::park_timeout(LOOK);
        }
    }

    /// Status counters whose names begin with one of the prefixes.
    fn status(&mut self) -> Vec<(String, f64)> {
        let prefixes: Vec<String> =
            self.control.options.work.status.split(',').filter(|p| !p.is_empty()).map(str::to_ascii_lowercase).collect();
        if prefixes.is_empty() {
            return Vec::new();
        }
        let all = self.connection.pairs("SHOW GLOBAL STATUS").unwrap_or_default();
        let wanted = |name: &str| prefixes.iter().any(|prefix| name.to_ascii_lowercase().starts_with(prefix));
        all.into_iter().filter(|(name, _)| wanted(name)).filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect()
    }
}

impl Drop for Running {
    /// Of a run that was given up: its threads end by themselves.
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.control.pause(Phase::Quit, Duration::ZERO);
            self.call_threads();
        }
    }
}

/// Servers of canned answers say what they are, or have no version at all.
fn is_canned(version: &str) -> bool {
    version.contains(crate::ceiling::VERSION) || !version.starts_with(|first: char| first.is_ascii_digit())
}

fn growth(before: &[(String, f64)], after: Vec<(String, f64)>) -> BTreeMap<String, f64> {
    let of = |name: &str| before.iter().find(|(known, _)| known == name).map_or(0.0, |(_, value)| *value);
    after.into_iter().map(|(name, value)| (name.clone(), value - of(&name))).collect()
}
