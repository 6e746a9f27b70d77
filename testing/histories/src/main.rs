//! `histories`: random histories against a server, judged by their level.
//!
//! ```text
//! cargo run --profile fast -p histories -- --server 127.0.0.1:13306 --level serializable --histories 1000 --seed 7
//! cargo run --profile fast -p histories -- --program target/fast/altiplano --level all --histories 50 --kills 2
//! cargo run --profile fast -p histories -- --program target/fast/altiplano --workload counter --clients 1000 --txns 20
//! ```

use histories::history::History;
use histories::workloads::{self, Load};
use histories::{Kind, Level, Place, check, drive};
use std::collections::BTreeMap;
use std::process::ExitCode;

const USAGE: &str =
    "usage: histories (--server HOST:PORT | --program PATH) [--level LEVEL[,LEVEL…]|all] [--judge-as LEVEL] [--histories N] [--seed S]
                 [--workload counter|deadlocks|bank|queue] [--from N] [--clients N] [--txns N] [--kills N] [--keep-going] [--without-gaps] [--server-option OPTION]…
  levels: read-uncommitted read-committed repeatable-read snapshot-isolation serializable
  --judge-as  checks the histories as if they had been made at another level: what must be found then proves the checker
  --without-gaps  for a server without gap locks: rows that were not found are kept away by nobody
  --workload  instead of histories: so many clients with so many transactions each; totals must be exact, and nothing may be left behind
  --kills     so many times per history the server (of --program) is killed with -9 and started again";

/// Histories between two creations of the tables: they grow in between.
const HISTORIES_PER_TABLE: u64 = 50;

struct Options {
    place: Place,
    settings: drive::Settings,
    judge_as: Option<Level>,
    histories: u64,
    from: u64,
    seed: u64,
    keep_going: bool,
    workload: Option<String>,
}

fn options() -> Result<Options, String> {
    let mut arguments = std::env::args().skip(1);
    let (mut server, mut program, mut server_options) = (None, None, Vec::new());
    let mut settings = drive::Settings { levels: vec![Level::RepeatableRead], clients: 8, txns: 25, kills: 0, without_gaps: false };
    let (mut judge_as, mut histories, mut from, mut keep_going, mut workload) = (None, 100, 0, false, None);
    let mut seed = std::time::UNIX_EPOCH.elapsed().map_or(1, |time| u64::from(time.subsec_nanos()));
    while let Some(name) = arguments.next() {
        if name == "--keep-going" {
            keep_going = true;
            continue;
        }
        if name == "--without-gaps" {
            settings.without_gaps = true;
            continue;
        }
        let value = arguments.next().ok_or(format!("{name}: a value is missing"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{name} {value}: no number"));
        let level = |name: &str| Level::parse(name).ok_or(format!("{name}: no level"));
        match name.as_str() {
            "--server" => server = Some(value),
            "--program" => program = Some(value),
            "--server-option" => server_options.push(value),
            "--level" if value == "all" => settings.levels = Level::ALL.to_vec(),
            "--level" => settings.levels = value.split(',').map(level).collect::<Result<_, _>>()?,
            "--workload" => workload = Some(value),
            "--judge-as" => judge_as = Some(level(&value)?),
            "--histories" => histories = number()?,
            "--from" => from = number()?,
            "--seed" => seed = number()?,
            "--clients" => settings.clients = number()? as usize,
            "--txns" => settings.txns = number()? as usize,
            "--kills" => settings.kills = number()? as usize,
            _ => return Err(format!("{name}: no such option")),
        }
    }
    let place = match (server, program) {
        (Some(address), None) => Place::external(&address)?,
        (None, Some(program)) => {
            let server_options: Vec<&str> = server_options.iter().map(String::as_str).collect();
            Place::own(harness::Server::start(program, &server_options))
        }
        _ => return Err("either --server or --program".into()),
    };
    if settings.kills > 0 && !place.can_restart() {
        return Err("--kills needs --program".into());
    }
    Ok(Options { place, settings, judge_as, histories, from, seed, keep_going, workload })
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(why) => {
            eprintln!("histories: {why}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if let Some(name) = &options.workload {
        return workload(&options, name);
    }
    let levels: Vec<&str> = options.settings.levels.iter().map(|level| level.name()).collect();
    let settings = &options.settings;
    println!(
        "seed {}: {} histories at {}, {} clients x {} transactions, {} kills each",
        options.seed,
        options.histories,
        levels.join(","),
        settings.clients,
        settings.txns,
        settings.kills
    );
    let mut total = Total::default();
    for number in options.from..options.from + options.histories {
        match one(&options, number) {
            Ok(history) => total.add(&options, number, history),
            Err(why) => {
                println!("seed {}, history {number}: {why}", options.seed);
                total.failed += 1;
            }
        }
        if total.failed > 0 && !options.keep_going {
            break;
        }
    }
    total.print();
    if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn workload(options: &Options, name: &str) -> ExitCode {
    let run = match name {
        "counter" => workloads::counter,
        "deadlocks" => workloads::deadlocks,
        "bank" => workloads::bank,
        "queue" => workloads::queue,
        _ => {
            eprintln!("histories: {name}: no workload\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let settings = &options.settings;
    let load = Load {
        connections: settings.clients,
        txns: settings.txns,
        levels: settings.levels.clone(),
        seed: options.seed,
        kills: settings.kills,
    };
    println!("seed {}: {name}, {} connections x {} transactions", load.seed, load.connections, load.txns);
    let baseline = workloads::Baseline::of(&options.place);
    let done = match run(&options.place, &load) {
        Ok(done) => done,
        Err(why) => {
            println!("failed: {why}");
            return ExitCode::FAILURE;
        }
    };
    println!(
        "{} committed ({} per second), {} deadlocks, {} timeouts, {} commits without an answer, in {:?}",
        done.committed,
        (done.committed as f64 / done.elapsed.as_secs_f64()) as u64,
        done.deadlocks,
        done.timeouts,
        done.unanswered,
        done.elapsed
    );
    match workloads::leftovers(&options.place, baseline) {
        Ok(left) if left.is_empty() => {
            println!("totals exact; nothing left behind");
            ExitCode::SUCCESS
        }
        Ok(left) => {
            println!("left behind: {}", left.join(", "));
            ExitCode::FAILURE
        }
        Err(why) => {
            println!("failed: {why}");
            ExitCode::FAILURE
        }
    }
}

fn one(options: &Options, number: u64) -> Result<History, String> {
    if number == options.from || number.is_multiple_of(HISTORIES_PER_TABLE) {
        drive::create_tables(&options.place)?;
    }
    let mut history = drive::run(&options.place, &options.settings, drive::seed_of(options.seed, number), number)?;
    if let Some(level) = options.judge_as {
        history.txns.iter_mut().for_each(|txn| txn.level = level);
    }
    Ok(history)
}

#[derive(Default)]
struct Total {
    histories: u64,
    failed: u64,
    committed: usize,
    aborted: usize,
    unknown: usize,
    statements: usize,
    violations: BTreeMap<Kind, usize>,
    allowed: BTreeMap<Kind, usize>,
}

impl Total {
    fn add(&mut self, options: &Options, number: u64, history: History) {
        use histories::history::End;
        let report = check(&history);
        self.histories += 1;
        for txn in &history.txns {
            self.statements += txn.statements.len();
            match txn.end {
                End::Committed { .. } => self.committed += 1,
                End::Aborted => self.aborted += 1,
                End::Unknown { .. } => self.unknown += 1,
            }
        }
        for anomaly in &report.violations {
            *self.violations.entry(anomaly.kind).or_default() += 1;
        }
        for (kind, count) in &report.allowed {
            *self.allowed.entry(*kind).or_default() += count;
        }
        if !report.violations.is_empty() {
            self.failed += 1;
            println!("seed {}, history {number}:\n{}", options.seed, report.describe(&history));
        }
    }

    fn print(&self) {
        let kinds = |counts: &BTreeMap<Kind, usize>| {
            let all: Vec<String> = counts.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
            if all.is_empty() { "none".into() } else { all.join(", ") }
        };
        println!(
            "{} histories, {} failed; {} transactions committed, {} aborted, {} without an answer; {} statements",
            self.histories, self.failed, self.committed, self.aborted, self.unknown, self.statements
        );
        println!("forbidden: {}\nallowed and seen: {}", kinds(&self.violations), kinds(&self.allowed));
    }
}
