//! The driver against the canned server: every workload is understood by both, and a server that stalls is charged for all who would have come.

use bench::ceiling::Durable;
use bench::options::{Action, CeilingOptions, CommandLine, RunOptions, WorkloadName};
use bench::outcome::Outcome;
use bench::progress::{Now, Phase, Progress, Silent};
use bench::{ceiling, run};
use clap::{Parser, ValueEnum};
use env::SimDisk;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Arc, Mutex, Rank};

/// A canned server of this process; its port.
fn canned(before: impl Fn() + Clone + Send + 'static) -> u16 {
    canned_with(None, before)
}

fn canned_with(durable: Option<Durable>, before: impl Fn() + Clone + Send + 'static) -> u16 {
    let options = CeilingOptions { listen: "127.0.0.1:0".parse().expect("an address"), durable: None };
    let listener = ceiling::listen(&options).expect("a port");
    let port = listener.port().expect("a port");
    std::thread::spawn(move || ceiling::accept(&listener, durable, before));
    port
}

fn options(port: u16, workload: &str, connections: usize, more: &[&str]) -> RunOptions {
    let address = format!("127.0.0.1:{port}");
    let arguments = ["bench", "run", "--server", &address, "--workload", workload];
    match CommandLine::try_parse_from(arguments.iter().chain(more)).expect("well formed").action {
        Action::Run(command) => command.options(connections),
        _ => unreachable!("run was asked for"),
    }
}

#[test]
fn every_workload_runs_against_canned_answers() {
    let port = canned(|| ());
    for name in WorkloadName::value_variants() {
        for text in [&[][..], &["--text"]] {
            let more = ["--seconds", "0.05", "--warmup", "0.02", "--long-seconds", "0.01", "--join-rows", "10", "--batch-rows", "500"];
            let options = options(port, &name.name(), 9, &[&more[..], text].concat());
            let measured = run::measure_in_full(&options, &mut Silent).expect("a run");
            let tally = &measured.tally;
            let none = (tally.refused, tally.lost, tally.unfinished, tally.wrong, tally.errors.len());
            assert_eq!(none, (0, 0, 0, 0, 0), "{}", measured.json());
            assert!(tally.acknowledged.iter().sum::<u64>() > 0, "{}", measured.json());
            assert!(measured.outcome.version.contains("ceiling"), "{}", measured.outcome.version);
        }
    }
}

#[test]
fn a_unix_socket_serves_and_names_its_process() {
    let directory = std::env::temp_dir().join(format!("altiplano-test-ceiling-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let path = directory.join("c.sock");
    // What a server that died has left is replaced.
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
    let address = path.to_str().expect("a name");
    let options = CeilingOptions { listen: address.parse().expect("an address"), durable: None };
    let file = directory.join("data");
    std::fs::write(&file, "data").expect("written");
    let at_file = CeilingOptions { listen: file.to_str().expect("a name").parse().expect("an address"), durable: None };
    assert!(ceiling::listen(&at_file).is_err_and(|why| why.contains("what is there is no socket")), "a file");
    assert_eq!(std::fs::read(&file).expect("still there"), b"data");
    let listener = ceiling::listen(&options).expect("a socket");
    assert!(ceiling::listen(&options).is_err_and(|why| why.contains("in use")), "two at one path");
    std::thread::spawn(move || ceiling::accept(&listener, None, || ()));
    let arguments = ["bench", "run", "--server", address, "--workload", "oltp_read_write", "--seconds", "0.1", "--warmup", "0.02"];
    let options = match CommandLine::try_parse_from(arguments).expect("well formed").action {
        Action::Run(command) => command.options(40),
        _ => unreachable!("run was asked for"),
    };
    let measured = run::measure_in_full(&options, &mut Silent).expect("a run");
    let tally = &measured.tally;
    assert_eq!((tally.refused, tally.lost, tally.unfinished, tally.wrong, tally.errors.len()), (0, 0, 0, 0, 0), "{}", measured.json());
    assert!(tally.acknowledged.iter().sum::<u64>() > 0 && measured.outcome.local.is_some(), "{}", measured.json());
    std::fs::remove_dir_all(&directory).expect("removed");
}

#[test]
fn any_password_is_taken() {
    let port = canned(|| ());
    let options = options(port, "oltp_point_select", 2, &["--password", "secret", "--seconds", "0.05", "--warmup", "0"]);
    assert!(run::measure(&options, &mut Silent).expect("a run").lost == 0);
}

/// Changes of the disk that a run makes: a write and a sync each for what is to be durable.
fn changes(disk: &SimDisk, port: u16, workload: &str, more: &[&str]) -> (u64, Outcome) {
    let before = disk.counts().changes;
    let more = [&["--seconds", "0.1", "--warmup", "0"][..], more].concat();
    let outcome = run::measure(&options(port, workload, 3, &more), &mut Silent).expect("a run");
    (disk.counts().changes - before, outcome)
}

#[test]
fn changes_are_durable_before_they_are_answered_and_reads_wait_for_nothing() {
    let disk = SimDisk::new(5);
    let port = canned_with(Some(Durable::on(Arc::new(disk.clone())).expect("written")), || ());
    for text in [&[][..], &["--text"]] {
        assert_eq!(changes(&disk, port, "oltp_point_select", text).0, 0);
        let (changed, outcome) = changes(&disk, port, "oltp_update_index", text);
        assert!(outcome.transactions() > 0 && changed >= 2 * outcome.transactions(), "{changed} for {}", outcome.transactions());
    }
    // The next sync fails: one statement is refused, and the error tells why.
    disk.fail_sync(1);
    let measured = run::measure_in_full(&options(port, "oltp_update_index", 1, &["--seconds", "0.1", "--warmup", "0"]), &mut Silent);
    let tally = measured.expect("a run").tally;
    assert_eq!(tally.errors.keys().copied().collect::<Vec<_>>(), [1026], "{:?}", tally.errors);
    let nowhere = Durable::open(std::path::Path::new("/proc/nowhere"));
    assert!(nowhere.is_err_and(|why| why.contains("cannot write in /proc/nowhere")));
}

/// The least that the server stops for.
const STALL: Duration = Duration::from_millis(400);
const RATE: u64 = 1000;

/// Lets a server go on that has stopped, when the run has been told to be so much further.
struct EndOfStall {
    has_stopped: Arc<AtomicBool>,
    go_on: Sender<()>,
    /// How far the run was when this first saw that the server had stopped.
    since: Option<f64>,
}

impl Progress for EndOfStall {
    fn begin(&mut self, _: &str) {}

    fn show(&mut self, now: &Now) {
        if now.phase != Phase::Measure || !self.has_stopped.load(Ordering::SeqCst) {
            return;
        }
        let since = *self.since.get_or_insert(now.done);
        if now.done >= since + STALL.as_secs_f64() {
            // Who has gone on needs to be told no more.
            let _ = self.go_on.send(());
        }
    }

    fn clear(&mut self) {}
}

/// A run beside a server that stops once for everybody, in the midst of the measured time.
fn stalled(more: &[&str]) -> Outcome {
    let has_stopped = Arc::new(AtomicBool::new(false));
    let (go_on, told) = channel();
    let (count, gate) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Rank::Leaf, told)));
    let mut watcher = EndOfStall { has_stopped: Arc::clone(&has_stopped), go_on, since: None };
    let port = canned(move || {
        let told = gate.lock();
        if count.fetch_add(1, Ordering::SeqCst) == RATE / 4 {
            has_stopped.store(true, Ordering::SeqCst);
            told.recv().expect("the run goes on");
        }
    });
    let more = [&["--seconds", "3", "--warmup", "0"][..], more].concat();
    run::measure(&options(port, "oltp_point_select", 4, &more), &mut watcher).expect("a run")
}

/// How many took at least so long.
fn slow(outcome: &Outcome, at_least: Duration) -> u64 {
    let (latency, wanted) = (&outcome.kinds[0].latency, at_least.as_secs_f64() * 1e3);
    let total = latency.count();
    // The percentile falls as more are counted from the top.
    (1..=total).take_while(|top| latency.percentile_ms((total - top + 1) as f64 / total as f64) >= wanted).count() as u64
}

#[test]
fn a_stall_is_charged_for_all_who_would_have_come() {
    let rate = RATE.to_string();
    let (by_rate, closed) = (stalled(&["--rate", &rate]), stalled(&[]));
    // Who was due in the first half of the stall waited for the second half, however slow this machine is; a tenth for what had not ended.
    let (due, waited) = (RATE * STALL.as_millis() as u64 / 2000, STALL / 2);
    let found = slow(&by_rate, waited);
    assert!(found >= due * 9 / 10, "{found} of {due} waited for {waited:?}");
    // Without a rate only those who were there have waited: this is what is omitted.
    let omitted = slow(&closed, waited);
    assert!(omitted < found / 2, "{omitted} of a closed loop, {found} of an open one");
    // A second for the moments between phases on a machine that is busy with others.
    let due = RATE as f64 * (by_rate.seconds + 1.0);
    assert!(by_rate.transactions() as f64 <= due, "{} of {due} that were due", by_rate.transactions());
}

/// Notes the phases that it is shown.
#[derive(Default)]
struct Phases(Vec<Phase>);

impl Progress for Phases {
    fn begin(&mut self, what: &str) {
        assert_eq!(what, "hot_row x3");
    }

    fn show(&mut self, now: &Now) {
        if self.0.last() != Some(&now.phase) {
            self.0.push(now.phase);
        }
    }

    fn clear(&mut self) {}
}

#[test]
fn whoever_watches_sees_warming_up_before_measuring() {
    let port = canned(|| ());
    let mut phases = Phases::default();
    let options = options(port, "hot_row", 3, &["--seconds", "0.5", "--warmup", "0.5"]);
    let outcome = run::measure(&options, &mut phases).expect("a run");
    phases.0.retain(|phase| matches!(phase, Phase::Warmup | Phase::Measure));
    assert_eq!(phases.0, [Phase::Warmup, Phase::Measure]);
    assert_eq!(outcome.connections, 3);
}

#[test]
fn a_server_that_goes_away_ends_a_run() {
    let count = Arc::new(AtomicU64::new(0));
    // Panics end the connections' threads, and so the connections; the first statements are the run's own.
    let port = canned(move || assert!(count.fetch_add(1, Ordering::SeqCst) < 1000, "the server goes away"));
    let options = options(port, "oltp_point_select", 5, &["--seconds", "3600", "--warmup", "0"]);
    let measured = run::measure_in_full(&options, &mut Silent).expect("a run");
    assert_eq!((measured.tally.lost, measured.outcome.lost), (5, 5), "{}", measured.json());
    assert!(measured.tally.lost_reason.is_some_and(|why| why.contains("closed") || why.contains("reset")));
}
