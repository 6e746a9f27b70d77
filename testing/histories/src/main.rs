//! `histories`: random histories against a server, judged by their level.
//!
//! ```text
//! cargo run --profile fast -p histories -- --program target/fast/altiplano --level each --histories 1000 --parallel 16
//! cargo run --profile fast -p histories -- --program target/fast/altiplano --level each --histories 200 --parallel 8 --kills 1 --faults
//! cargo run --profile fast -p histories -- --server 127.0.0.1:13306 --level serializable --histories 1000 --seed 7
//! cargo run --profile fast -p histories -- --program target/fast/altiplano --workload all --clients 1000 --txns 20 --level all
//! ```

mod options;
mod total;

use histories::history::History;
use histories::workloads::{self, Baseline, Load};
use histories::{Level, check, drive};
use options::{Options, USAGE, options};
use std::process::ExitCode;
use std::time::Instant;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Mutex, Rank, thread};
use total::Total;

/// Histories between two creations of the tables, for each that runs at the same time: the tables grow in between.
const HISTORIES_PER_TABLE: u64 = 50;

fn main() -> ExitCode {
    let mut options = match options() {
        Ok(options) => options,
        Err(why) => {
            eprintln!("histories: {why}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if options.workload.is_some() {
        return workload(&options);
    }
    let names = |levels: &[Level]| levels.iter().map(|level| level.name()).collect::<Vec<_>>().join(",");
    let settings = &options.settings;
    println!(
        "seed {}: {} histories at {}{}, {} at a time, {} clients x {} transactions, {} kills each{}",
        options.seed,
        options.histories,
        names(&settings.levels),
        if options.each { " each and side by side" } else { "" },
        options.parallel,
        settings.clients,
        settings.txns,
        settings.kills,
        if settings.faults { ", with faults" } else { "" }
    );
    let mut runs: Vec<Vec<Level>> = vec![settings.levels.clone()];
    if options.each {
        runs.splice(0..0, settings.levels.iter().map(|level| vec![*level]));
    }
    let baseline = Baseline::of(&options.place);
    let mut rows = Vec::new();
    for levels in runs {
        let name = if levels.len() > 1 { "side by side".to_string() } else { names(&levels) };
        options.settings.levels = levels;
        let total = run(&options, baseline);
        let failed = total.failed > 0;
        rows.push((name, total));
        if failed && !options.keep_going {
            break;
        }
    }
    total::print_head();
    rows.iter().for_each(|(name, total)| total.print(name));
    if rows.iter().all(|(_, total)| total.failed == 0) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the histories at some levels; afterwards nothing may be left in the server.
fn run(options: &Options, baseline: Baseline) -> Total {
    let begin = Instant::now();
    let before = options.place.resident_kib();
    let total = Mutex::new(Rank::Leaf, Total::default());
    let failed = |why: String| {
        println!("seed {}, {why}", options.seed);
        total.lock().failed += 1;
    };
    let end = options.from + options.histories;
    let mut from = options.from;
    while from < end && (options.keep_going || total.lock().failed == 0) {
        let to = end.min(from + HISTORIES_PER_TABLE * options.parallel);
        if let Err(why) = options.place.through_kills(|| drive::create_tables(&options.place)) {
            failed(format!("the tables: {why}"));
            break;
        }
        let next = AtomicU64::new(from);
        thread::scope(|scope| {
            for _ in 0..options.parallel {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= to || !options.keep_going && total.lock().failed > 0 {
                            break;
                        }
                        match one(options, number) {
                            Ok(history) => {
                                let report = check(&history);
                                total.lock().add(&history, &report);
                                if !report.violations.is_empty() {
                                    println!("seed {}, history {number}:\n{}", options.seed, report.describe(&history));
                                }
                            }
                            Err(why) => failed(format!("history {number}: {why}")),
                        }
                    }
                });
            }
        });
        from = to;
    }
    if let Err(why) = options.place.through_kills(|| drive::drop_tables(&options.place)) {
        failed(format!("dropping the tables: {why}"));
    }
    match workloads::leftovers(&options.place, baseline) {
        Ok(left) if left.is_empty() => {}
        Ok(left) => failed(format!("left behind in the server: {}", left.join(", "))),
        Err(why) => failed(why),
    }
    let mut total = total.into_inner();
    total.elapsed = begin.elapsed();
    total.resident_kib = before.zip(options.place.resident_kib());
    total
}

fn one(options: &Options, number: u64) -> Result<History, String> {
    let mut settings = options.settings.clone();
    if !number.is_multiple_of(options.parallel) {
        settings.kills = 0;
    }
    let mut history = drive::run(&options.place, &settings, drive::seed_of(options.seed, number), number)?;
    if let Some(level) = options.judge_as {
        history.txns.iter_mut().for_each(|txn| txn.level = level);
    }
    Ok(history)
}

fn workload(options: &Options) -> ExitCode {
    let all = [
        ("counter", workloads::counter as fn(&_, &_) -> _),
        ("deadlocks", workloads::deadlocks),
        ("bank", workloads::bank),
        ("queue", workloads::queue),
        ("numbers", workloads::numbers),
        ("seats", workloads::seats),
    ];
    let asked = options.workload.as_deref().unwrap_or_default();
    let chosen: Vec<_> = all.into_iter().filter(|(name, _)| asked == "all" || *name == asked).collect();
    if chosen.is_empty() {
        eprintln!("histories: {asked}: no workload\n{USAGE}");
        return ExitCode::from(2);
    }
    let settings = &options.settings;
    let runs: Vec<Vec<Level>> =
        if options.each { settings.levels.iter().map(|level| vec![*level]).collect() } else { vec![settings.levels.clone()] };
    let mut good = true;
    for levels in runs {
        for (name, run) in &chosen {
            let load = Load {
                connections: settings.clients,
                txns: settings.txns,
                levels: levels.clone(),
                seed: options.seed,
                kills: settings.kills,
                faults: settings.faults,
            };
            let names: Vec<&str> = levels.iter().map(|level| level.name()).collect();
            println!("seed {}: {name}, {} connections x {} transactions at {}", load.seed, load.connections, load.txns, names.join(","));
            let baseline = Baseline::of(&options.place);
            good &= report(options, baseline, run(&options.place, &load));
        }
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Tells what came of a workload; whether it was as it must be.
fn report(options: &Options, baseline: Baseline, done: Result<workloads::Done, String>) -> bool {
    let done = match done {
        Ok(done) => done,
        Err(why) => {
            println!("failed: {why}");
            return false;
        }
    };
    println!(
        "{} committed ({} per second), {} deadlocks, {} timeouts, {} interrupted, {} commits without an answer, in {:?}",
        done.committed,
        (done.committed as f64 / done.elapsed.as_secs_f64()) as u64,
        done.deadlocks,
        done.timeouts,
        done.interrupted,
        done.unanswered,
        done.elapsed
    );
    match workloads::leftovers(&options.place, baseline) {
        Ok(left) if left.is_empty() => {
            let resident = options.place.resident_kib().map_or(String::new(), |kib| format!("; the server has {} MiB", kib >> 10));
            println!("totals exact; nothing left behind{resident}");
            true
        }
        Ok(left) => {
            println!("left behind: {}", left.join(", "));
            false
        }
        Err(why) => {
            println!("failed: {why}");
            false
        }
    }
}
