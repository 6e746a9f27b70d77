//! Instruction budgets: what one connection's operations cost, compared with what `docs/budgets.toml` holds.
//!
//! `count.rs` counts (callgrind over the program of `testing/budgets`), `record.rs` holds the two files (budgets, and the history of
//! recordings), `judge.rs` says what is wrong, `plot.rs` draws the history.
//!
//! # Invariants
//! 1. A recording leaves a budget alone whose operation is within its bound: what grows by one per cent a month passes the bound all the same.
//! 2. Budgets change only together with their reason, and each recording is in the history.

mod count;
mod judge;
mod plot;
mod record;

use count::{Counts, count};
use judge::Standing;
use record::{Budgets, History, Recording};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const USAGE: &str = "usage: cargo xtask budgets [--check | --record REASON | --plot] [--runs N] [--program PATH]

  (nothing)          counts and prints, beside what docs/budgets.toml holds
  --check            fails when an operation takes more than 2 % above its budget, or budgets were changed without a reason
  --record REASON    writes the budgets of operations that are new or out of their bounds to docs/budgets.toml, and all that was
                     counted to docs/budgets/history.toml; then does as --plot
  --plot             draws docs/budgets/history.toml: docs/budgets/history.svg, and a table in docs/budgets/README.md; counts nothing
  --runs N           counts N times and shows the spread
  --program PATH     counts this build of testing/budgets instead of building it";

const BUDGETS: &str = "docs/budgets.toml";
const HISTORY: &str = "docs/budgets/history.toml";
const PLOT: &str = "docs/budgets/history.svg";
const TABLE: &str = "docs/budgets/README.md";

struct Options {
    check: bool,
    record: Option<String>,
    plot: bool,
    runs: usize,
    program: Option<PathBuf>,
}

/// The command.
pub fn run(arguments: &[String]) -> ExitCode {
    let Some(options) = parse(arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let done = if options.plot { plot().map(|()| true) } else { measure(&options) };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("budgets: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: &[String]) -> Option<Options> {
    let mut options = Options { check: false, record: None, plot: false, runs: 1, program: None };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--check" => options.check = true,
            "--record" => options.record = Some(rest.next().filter(|reason| !reason.trim().is_empty())?.clone()),
            "--plot" => options.plot = true,
            "--runs" => options.runs = rest.next()?.parse().ok().filter(|n| *n > 0)?,
            "--program" => options.program = Some(PathBuf::from(rest.next()?)),
            _ => return None,
        }
    }
    Some(options)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// A file of the workspace, empty where it is not there.
fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_default()
}

fn write(path: &str, text: &str) -> Result<(), String> {
    let path = root().join(path);
    path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text)).map_err(|e| format!("{}: {e}", path.display()))
}

fn plot() -> Result<(), String> {
    let (history, budgets) = (History::read(&text(HISTORY)), Budgets::read(&text(BUDGETS)));
    write(PLOT, &plot::svg(&history, &budgets))?;
    write(TABLE, &plot::table(&history))?;
    println!("written to {PLOT} and {TABLE}");
    Ok(())
}

fn measure(options: &Options) -> Result<bool, String> {
    let budgets = Budgets::read(&text(BUDGETS));
    let mut wrong = if options.check { unexplained(&budgets) } else { Vec::new() };
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success()) {
        let runs = counted(options)?;
        let counts = lowest(&runs);
        print(&runs, &counts, &budgets);
        if let Some(reason) = &options.record {
            record(&budgets, &counts, reason)?;
            return Ok(true);
        }
        wrong.extend(judge::counts(&counts, &budgets));
    } else {
        println!(
            "budgets: not counted, valgrind is not installed (Debian, Ubuntu: apt-get install valgrind; Fedora: dnf install valgrind)"
        );
        if options.record.is_some() {
            return Ok(false);
        }
    }
    if options.check {
        wrong.iter().for_each(|line| println!("{line}"));
    }
    Ok(wrong.is_empty() || !options.check)
}

/// What is wrong with the files themselves: budgets that changed without a reason, or without a recording.
fn unexplained(now: &Budgets) -> Vec<String> {
    let mut wrong = judge::history(now, &History::read(&text(HISTORY)));
    let git = |arguments: &[&str]| git(arguments).filter(|said| !said.is_empty());
    let at = |commit: &str| git(&["show", &format!("{commit}:{BUDGETS}")]).map(|text| Budgets::read(&text));
    // What is not committed yet, and what the last commit that touched the file did to it. A shallow clone may have neither.
    if let Some(head) = at("HEAD") {
        wrong.extend(judge::change("HEAD", &head, now));
    }
    if let Some(commit) = git(&["log", "-1", "--format=%h", "--", BUDGETS]) {
        match (at(&format!("{commit}^")), at(&commit)) {
            (Some(before), Some(after)) => wrong.extend(judge::change(&format!("the parent of {commit}"), &before, &after)),
            _ => println!("budgets: {commit} has no parent here to compare its reason with"),
        }
    }
    wrong
}

fn counted(options: &Options) -> Result<Vec<Counts>, String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let program = match &options.program {
        Some(program) => program.clone(),
        None => {
            let build = ["build", "--quiet", "--profile", "fast", "--package", "budgets"];
            let built = Command::new(env!("CARGO")).args(build).status().map_err(|e| format!("cannot run cargo: {e}"))?;
            if !built.success() {
                return Err("the program could not be built".to_owned());
            }
            target.join("fast/budgets")
        }
    };
    (0..options.runs).map(|_| count(&program, &target.join("budgets"))).collect()
}

/// The lowest count of each operation.
fn lowest(runs: &[Counts]) -> Counts {
    let least = |at: usize| runs.iter().map(|run| run[at].1).fold(f64::MAX, f64::min);
    runs[0].iter().enumerate().map(|(at, (name, _))| (name.clone(), least(at))).collect()
}

fn print(runs: &[Counts], counts: &Counts, budgets: &Budgets) {
    println!("{:32} {:>10} {:>10} {:>8} {:>8}", "instructions", "now", "budget", "change", "spread");
    for (at, (name, now)) in counts.iter().enumerate() {
        let most = runs.iter().map(|run| run[at].1).fold(0.0, f64::max);
        let spread = if runs.len() > 1 { format!("{:.2}%", 100.0 * (most / now - 1.0)) } else { String::new() };
        match budgets.of(name) {
            None => println!("{name:32} {now:>10.1} {:>10} {:>8} {spread:>8}", "-", "new"),
            Some(budget) => {
                let change = format!("{:+.1}%", 100.0 * (now / budget - 1.0));
                let mark = match judge::standing(*now, budget) {
                    Standing::Above => "  ABOVE",
                    Standing::Near => "  NEAR: a little more, or another machine, and it fails",
                    Standing::Fits => "",
                };
                println!("{name:32} {now:>10.1} {budget:>10.1} {change:>8} {spread:>8}{mark}");
            }
        }
    }
}

/// Writes new budgets, and what was counted to the history.
fn record(budgets: &Budgets, counts: &Counts, reason: &str) -> Result<(), String> {
    let commit = commit();
    let new = judge::recorded(budgets, counts, reason, &commit);
    let mut history = History::read(&text(HISTORY));
    let date = Command::new("date").args(["-u", "+%F"]).output().map_err(|e| format!("cannot run date: {e}"))?;
    let date = String::from_utf8_lossy(&date.stdout).trim().to_owned();
    history.recordings.push(Recording { commit, date, reason: reason.to_owned(), instructions: counts.clone() });
    write(BUDGETS, &new.write())?;
    write(HISTORY, &history.write())?;
    println!("written to {BUDGETS} and {HISTORY}");
    plot()
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root()).args(arguments).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// What the working tree stands on.
fn commit() -> String {
    let changed = git(&["status", "--porcelain", "--", "crates"]).is_some_and(|said| !said.is_empty());
    format!("{}{}", git(&["rev-parse", "--short", "HEAD"]).unwrap_or_default(), if changed { " and changes" } else { "" })
}
