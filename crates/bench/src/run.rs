//! A run: logs everybody in, warms up, measures, lets transactions end, and reports.

use crate::blocking::Blocking;
use crate::cpu::{CpuTime, context_switches, resident_kib};
use crate::json::Object;
use crate::link::Link;
use crate::options::RunOptions;
use crate::random::Random;
use crate::reactor::Reactor;
use crate::session::{Failure, Session};
use crate::tally::Tally;
use crate::workload::{Client, Workload};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

const LOGIN: u8 = 0;
const WARM: u8 = 1;
const MEASURE: u8 = 2;
const DRAIN: u8 = 3;

/// Connections from one address of this machine's own; its ports are some 28,000, and closed ones rest for a minute.
const CONNECTIONS_PER_ADDRESS: usize = 4000;
/// Attempts of one transaction, past which it counts as failed.
const ATTEMPTS_MAX: u32 = 1000;
/// A deadlock's victim (its transaction is rolled back), a lock wait timeout, MariaDB's "record has changed".
const DEADLOCK: u16 = 1213;
const RETRIED: [u16; 3] = [DEADLOCK, 1205, 1020];

/// What the threads share.
struct Shared {
    options: RunOptions,
    workload: Workload,
    phase: AtomicU8,
    ready: AtomicUsize,
    refused: AtomicUsize,
    /// Connections that were lost.
    lost: AtomicUsize,
    begun: Instant,
    /// When measuring began, in nanoseconds after `begun`; stored (SeqCst) before the phase.
    measuring_ns: AtomicU64,
}

impl Shared {
    /// Lets time pass; less of it when all of the connections are lost.
    fn pass(&self, seconds: f64, connections: usize) {
        let end = Instant::now() + Duration::from_secs_f64(seconds);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || connections > 0 && self.lost.load(Ordering::SeqCst) >= connections {
                return;
            }
            std::thread::sleep(left.min(Duration::from_millis(20)));
        }
    }
}

/// What the tasks of a thread share.
struct Local {
    shared: Arc<Shared>,
    tally: RefCell<Tally>,
    logging_in: Cell<usize>,
}

impl Local {
    fn phase(&self) -> u8 {
        self.shared.phase.load(Ordering::SeqCst)
    }

    /// The second of the measured time that it is, if it is.
    fn second(&self, now: Instant) -> Option<usize> {
        (self.phase() == MEASURE).then(|| {
            let since = now.duration_since(self.shared.begun).as_nanos() as u64;
            (since.saturating_sub(self.shared.measuring_ns.load(Ordering::SeqCst)) / 1_000_000_000) as usize
        })
    }
}

/// Runs a workload.
pub fn run(options: &RunOptions) -> Result<Report, String> {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let all = rustix::process::Rlimit { current: files.maximum, maximum: files.maximum };
    // A limit that cannot be raised shows when a socket cannot be made.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, all);
    let workload = Workload::new(options);
    let mut control = Blocking::connect(options.server.server, &options.server.account(true))?;
    let (total_before, status_before) = (workload.total(&mut control), status(&mut control, &options.status));
    let shared = Arc::new(Shared {
        options: options.clone(),
        workload,
        phase: AtomicU8::new(LOGIN),
        ready: AtomicUsize::new(0),
        refused: AtomicUsize::new(0),
        lost: AtomicUsize::new(0),
        begun: Instant::now(),
        measuring_ns: AtomicU64::new(0),
    });
    let threads: Vec<_> = (0..options.threads.max(1))
        .map(|thread| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || drive(&shared, thread))
        })
        .collect();
    let deadline = shared.begun + Duration::from_secs_f64(options.login_seconds);
    while shared.ready.load(Ordering::SeqCst) + shared.refused.load(Ordering::SeqCst) < options.connections && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
    let login = shared.begun.elapsed();
    let ready = shared.ready.load(Ordering::SeqCst);
    shared.phase.store(WARM, Ordering::SeqCst);
    shared.pass(options.warmup, ready);

    let own = std::process::id();
    let switches = options.pid.map(context_switches);
    let (client_before, server_before) = (CpuTime::of(own), options.pid.and_then(CpuTime::of));
    let start = Instant::now();
    shared.measuring_ns.store(start.duration_since(shared.begun).as_nanos() as u64, Ordering::SeqCst);
    shared.phase.store(MEASURE, Ordering::SeqCst);
    shared.pass(options.seconds, ready);
    shared.phase.store(DRAIN, Ordering::SeqCst);
    let measured = start.elapsed();
    let since = |pid: u32, before: Option<CpuTime>| Some(CpuTime::of(pid)?.since(before?));
    let (server_cpu, client_cpu) = (options.pid.and_then(|pid| since(pid, server_before)), since(own, client_before));
    let resident = options.pid.map(resident_kib);
    let switches = switches.zip(options.pid.map(context_switches)).map(|(before, after)| after.saturating_sub(before));

    let mut tally = Tally::default();
    for thread in threads {
        tally.merge(thread.join().map_err(|_| "a thread of the client panicked".to_owned())??);
    }
    let total_after = shared.workload.total(&mut control);
    let unknown = tally.lost + tally.unfinished;
    let verdict = shared.workload.verdict(total_before, total_after, tally.acknowledged, unknown);
    let status = growth(status_before, status(&mut control, &options.status));
    Ok(Report {
        options: options.clone(),
        kinds: shared.workload.kinds(),
        tally,
        ready,
        login,
        measured,
        server_cpu,
        client_cpu,
        switches,
        resident,
        verdict,
        status,
    })
}

/// A thread: every so manieth connection.
fn drive(shared: &Arc<Shared>, thread: usize) -> Result<Tally, String> {
    let options = &shared.options;
    let local = Rc::new(Local { shared: Arc::clone(shared), tally: RefCell::default(), logging_in: Cell::new(0) });
    let mut reactor = Reactor::new()?;
    let mut next = thread;
    let mut seen = LOGIN;
    let mut drained: Option<Instant> = None;
    loop {
        while next < options.connections && local.logging_in.get() < options.logins.max(1) && seen == LOGIN {
            let address = Ipv4Addr::new(127, 0, 1, (next / CONNECTIONS_PER_ADDRESS) as u8 + 1);
            let from = options.server.server.ip().is_loopback().then(|| SocketAddrV4::new(address, 0));
            let link = Rc::new(Link::connect(options.server.server, from.filter(|_| options.connections > CONNECTIONS_PER_ADDRESS))?);
            local.logging_in.set(local.logging_in.get() + 1);
            reactor.spawn(Rc::clone(&link), connection(Rc::clone(&local), link, next))?;
            next += options.threads.max(1);
        }
        reactor.turn(if seen == LOGIN { 2 } else { 10 })?;
        let phase = local.phase();
        if phase != seen {
            match phase {
                MEASURE => local.tally.borrow_mut().replies = reactor.replies(),
                DRAIN if seen == MEASURE => {
                    let mut tally = local.tally.borrow_mut();
                    tally.replies = reactor.replies() - tally.replies;
                }
                _ => {}
            }
            seen = phase;
            reactor.poll_all();
        }
        if seen == DRAIN {
            let end = *drained.get_or_insert_with(|| Instant::now() + Duration::from_secs_f64(options.drain_seconds));
            if reactor.running() == 0 || Instant::now() >= end {
                break;
            }
        }
    }
    let mut tally = local.tally.take();
    tally.unfinished = reactor.running() as u64;
    Ok(tally)
}

/// The task of a connection.
async fn connection(local: Rc<Local>, link: Rc<Link>, number: usize) {
    let options = &local.shared.options;
    let logged_in = log_in(link, options).await;
    local.logging_in.set(local.logging_in.get() - 1);
    let session = match logged_in {
        Ok(session) => session,
        Err(failure) => {
            local.shared.refused.fetch_add(1, Ordering::SeqCst);
            let mut tally = local.tally.borrow_mut();
            tally.refused += 1;
            if let Failure::Server(error) = &failure {
                tally.error(error);
            }
            tally.lost_reason.get_or_insert_with(|| failure.to_string());
            return;
        }
    };
    local.shared.ready.fetch_add(1, Ordering::SeqCst);
    poll_fn(|_| if local.phase() == LOGIN { Poll::Pending } else { Poll::Ready(()) }).await;
    let random = Random::new(options.seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
    let mut client = Client { session, random, number };
    while local.phase() != DRAIN {
        if let Err(why) = one(&local, &mut client).await {
            local.tally.borrow_mut().lost(&why);
            local.shared.lost.fetch_add(1, Ordering::SeqCst);
            return;
        }
    }
    client.session.quit();
}

async fn log_in(link: Rc<Link>, options: &RunOptions) -> Result<Session, Failure> {
    let mut session = Session::log_in(link, &options.server.account(true), !options.text).await?;
    if let Some(level) = options.isolation.level() {
        session.query(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")).await?;
    }
    Ok(session)
}

/// One transaction, as often as it takes; fails when the connection is lost.
async fn one(local: &Local, client: &mut Client) -> Result<(), Failure> {
    let workload = &local.shared.workload;
    let kind = workload.choose(client);
    let start = Instant::now();
    for _ in 0..ATTEMPTS_MAX {
        let error = match workload.transaction(client, kind).await {
            Ok(()) => {
                let now = Instant::now();
                local.tally.borrow_mut().finished(kind, now.duration_since(start), local.second(now));
                return Ok(());
            }
            Err(Failure::Server(error)) => error,
            Err(lost) => return Err(lost),
        };
        local.tally.borrow_mut().error(&error);
        if error.code != DEADLOCK {
            // Only the statement was undone.
            client.session.query("ROLLBACK").await?;
        }
        if !RETRIED.contains(&error.code) || local.phase() == DRAIN {
            break;
        }
        if local.phase() == MEASURE {
            local.tally.borrow_mut().retries += 1;
        }
    }
    if local.phase() == MEASURE {
        local.tally.borrow_mut().failed += 1;
    }
    Ok(())
}

/// Status counters whose names begin with one of the prefixes.
fn status(control: &mut Blocking, prefixes: &str) -> Vec<(String, f64)> {
    let prefixes: Vec<String> = prefixes.split(',').filter(|p| !p.is_empty()).map(str::to_ascii_lowercase).collect();
    if prefixes.is_empty() {
        return Vec::new();
    }
    let all = control.pairs("SHOW GLOBAL STATUS").unwrap_or_default();
    let wanted = |name: &str| prefixes.iter().any(|prefix| name.to_ascii_lowercase().starts_with(prefix));
    all.into_iter().filter(|(name, _)| wanted(name)).filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect()
}

fn growth(before: Vec<(String, f64)>, after: Vec<(String, f64)>) -> Vec<(String, f64)> {
    let of = |name: &str| before.iter().find(|(known, _)| known == name).map_or(0.0, |(_, value)| *value);
    after.into_iter().map(|(name, value)| (name.clone(), value - of(&name))).collect()
}

/// What a run has shown.
pub struct Report {
    options: RunOptions,
    kinds: &'static [&'static str],
    tally: Tally,
    ready: usize,
    login: Duration,
    measured: Duration,
    server_cpu: Option<CpuTime>,
    client_cpu: Option<CpuTime>,
    switches: Option<u64>,
    resident: Option<u64>,
    verdict: String,
    status: Vec<(String, f64)>,
}

impl Report {
    fn rate(&self) -> f64 {
        self.tally.all().count() as f64 / self.measured.as_secs_f64()
    }

    /// Transactions of whole seconds.
    fn seconds(&self) -> Vec<u64> {
        (0..self.options.seconds as usize).map(|second| self.tally.seconds.get(second).copied().unwrap_or(0)).collect()
    }

    /// One line for people.
    pub fn summary(&self) -> String {
        let (all, count) = (self.tally.all(), self.tally.all().count().max(1) as f64);
        let cpu =
            self.server_cpu.map_or(String::new(), |cpu| format!(", server {:.1} + {:.1} µs", cpu.user_us / count, cpu.system_us / count));
        let mut text = format!(
            "{} {:?} x{}: {:.0}/s, p95 {:.2} ms, p99 {:.2} ms, max {:.1} ms{cpu}",
            self.options.label,
            self.options.workload,
            self.ready,
            self.rate(),
            all.percentile_ms(0.95),
            all.percentile_ms(0.99),
            all.max_ms()
        );
        for (code, (count, message)) in &self.tally.errors {
            text.push_str(&format!("; {count} x {code} {message}"));
        }
        for (what, count) in [("refused", self.tally.refused), ("lost", self.tally.lost), ("unfinished", self.tally.unfinished)] {
            if count > 0 {
                text.push_str(&format!("; {count} {what} ({})", self.tally.lost_reason.as_deref().unwrap_or("no reason")));
            }
        }
        if self.verdict != "none" {
            text.push_str(&format!("; check {}", self.verdict));
        }
        text
    }

    /// All of it.
    pub fn json(&self) -> String {
        let (options, tally, all) = (&self.options, &self.tally, self.tally.all());
        let count = all.count().max(1) as f64;
        let seconds = self.seconds();
        let list: Vec<String> = seconds.iter().map(u64::to_string).collect();
        let mut object = Object::new()
            .text("label", &options.label)
            .text("workload", clap::ValueEnum::to_possible_value(&options.workload).as_ref().map_or("", |name| name.get_name()))
            .whole("connections", options.connections as u64)
            .whole("ready", self.ready as u64)
            .whole("threads", options.threads as u64)
            .text("keys", &format!("{:?}", options.keys).to_lowercase())
            .text("isolation", options.isolation.level().unwrap_or("default"))
            .text("statements", if options.text { "text" } else { "prepared" })
            .number("login_seconds", self.login.as_secs_f64())
            .number("seconds", self.measured.as_secs_f64())
            .whole("transactions", all.count())
            .whole("replies", tally.replies)
            .number("tps", self.rate())
            .whole("tps_min", seconds.iter().min().copied().unwrap_or(0))
            .raw("per_second", &format!("[{}]", list.join(",")))
            .raw("latency_ms", &latencies(&all));
        if self.kinds.len() > 1 {
            let kinds =
                self.kinds.iter().zip(&tally.kinds).fold(Object::new(), |kinds, (name, histogram)| kinds.raw(name, &latencies(histogram)));
            object = object.raw("kinds", &kinds.end()).number("tpmc", tally.kinds[0].count() as f64 * 60.0 / self.measured.as_secs_f64());
        }
        for (prefix, cpu) in [("server", self.server_cpu), ("client", self.client_cpu)] {
            if let Some(cpu) = cpu {
                object = object
                    .number(&format!("{prefix}_user_us"), cpu.user_us / count)
                    .number(&format!("{prefix}_system_us"), cpu.system_us / count)
                    .number(&format!("{prefix}_cpu_us"), (cpu.user_us + cpu.system_us) / count)
                    .number(&format!("{prefix}_cores"), (cpu.user_us + cpu.system_us) / self.measured.as_micros() as f64);
            }
        }
        if let Some(switches) = self.switches {
            object = object.number("server_switches", switches as f64 / count);
        }
        if let Some(resident) = self.resident {
            object = object.whole("server_resident_kib", resident);
        }
        let errors = tally.errors.iter().fold(Object::new(), |errors, (code, (count, _))| errors.whole(&code.to_string(), *count));
        let status = self.status.iter().fold(Object::new(), |status, (name, value)| status.number(name, *value));
        object
            .whole("retries", tally.retries)
            .whole("failed", tally.failed)
            .raw("errors", &errors.end())
            .whole("refused", tally.refused)
            .whole("lost", tally.lost)
            .whole("unfinished", tally.unfinished)
            .text("reason", tally.lost_reason.as_deref().unwrap_or(""))
            .text("check", &self.verdict)
            .raw("status", &status.end())
            .end()
    }
}

fn latencies(histogram: &crate::histogram::Histogram) -> String {
    Object::new()
        .whole("count", histogram.count())
        .number("mean", histogram.mean_ms())
        .number("p50", histogram.percentile_ms(0.5))
        .number("p95", histogram.percentile_ms(0.95))
        .number("p99", histogram.percentile_ms(0.99))
        .number("max", histogram.max_ms())
        .end()
}
