//! Instruction budgets: what one connection's operations cost, compared with what `docs/budgets.toml` holds.
//!
//! The program of `testing/budgets` runs under callgrind, which counts inside `budget_window` only and writes a file at each return of
//! `budget_done`. Instructions do not depend on what else the machine does; address randomisation is off, so that hashes of
//! addresses do not either.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const USAGE: &str = "usage: cargo xtask budgets [--check | --record REASON] [--runs N] [--program PATH]

  (nothing)          counts and prints, beside what docs/budgets.toml holds
  --check            fails when an operation takes more than 2 % above its budget
  --record REASON    writes what was counted to docs/budgets.toml
  --runs N           counts N times and shows the spread
  --program PATH     counts this build of testing/budgets instead of building it";

/// An operation may take so much more than its budget.
const EXCESS_MAX: f64 = 0.02;

struct Options {
    check: bool,
    record: Option<String>,
    runs: usize,
    program: Option<PathBuf>,
}

/// What was counted: instructions per operation, by name, in order.
type Counts = Vec<(String, f64)>;

/// The command.
pub fn run(arguments: &[String]) -> ExitCode {
    let Some(options) = parse(arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if !Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success()) {
        println!("budgets: left out, valgrind is not installed (Debian, Ubuntu: apt-get install valgrind; Fedora: dnf install valgrind)");
        // Nothing was found wrong; but what was asked to be written is not.
        return if options.record.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    match measure(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("budgets: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: &[String]) -> Option<Options> {
    let mut options = Options { check: false, record: None, runs: 1, program: None };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--check" => options.check = true,
            "--record" => options.record = Some(rest.next()?.clone()),
            "--runs" => options.runs = rest.next()?.parse().ok().filter(|n| *n > 0)?,
            "--program" => options.program = Some(PathBuf::from(rest.next()?)),
            _ => return None,
        }
    }
    Some(options)
}

fn measure(options: &Options) -> Result<bool, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
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
    let runs = (0..options.runs).map(|_| count(&program, &target.join("budgets"))).collect::<Result<Vec<Counts>, String>>()?;
    let path = root.join("docs/budgets.toml");
    let recorded = fs::read_to_string(&path).map(|text| read(&text)).unwrap_or_default();
    let within = print(&runs, &recorded);
    if let Some(reason) = &options.record {
        let lowest =
            (0..runs[0].len()).map(|at| (runs[0][at].0.clone(), runs.iter().map(|run| run[at].1).fold(f64::MAX, f64::min))).collect();
        fs::write(&path, write(&lowest, reason, &commit(root))).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("written to docs/budgets.toml");
        return Ok(true);
    }
    if options.check && !within {
        println!("above budget: make it cheaper, or say why it must cost more: cargo xtask budgets --record REASON");
    }
    Ok(within || !options.check)
}

/// One run of the program under callgrind.
fn count(program: &Path, directory: &Path) -> Result<Counts, String> {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let out = directory.join("count");
    let fixed_addresses =
        Command::new("setarch").args(["-R", "true"]).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success());
    let mut command = if fixed_addresses { Command::new("setarch") } else { Command::new("valgrind") };
    if fixed_addresses {
        command.args(["-R", "valgrind"]);
    }
    command.args(["--tool=callgrind", "--quiet", "--toggle-collect=*budget_window*", "--dump-after=*budget_done*"]);
    command.arg(format!("--callgrind-out-file={}", out.display())).arg(program);
    let output = command.stderr(Stdio::inherit()).output().map_err(|e| format!("cannot run valgrind: {e}"))?;
    if !output.status.success() {
        return Err(format!("{} failed under valgrind", program.display()));
    }
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut totals = Vec::new();
    for (number, line) in printed.lines().enumerate() {
        let (name, times) =
            line.split_once(' ').and_then(|(name, n)| Some((name, n.parse::<f64>().ok()?))).ok_or("output not understood")?;
        let file = out.with_extension((number + 1).to_string());
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        totals.push((name.to_owned(), total(&text).ok_or_else(|| format!("{}: no total", file.display()))? / times));
    }
    Ok(totals)
}

/// Instructions of one file of callgrind's.
fn total(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("summary:").or_else(|| line.strip_prefix("totals:")))?;
    line.trim().parse().ok()
}

/// Prints all; whether everything is within its budget.
fn print(runs: &[Counts], recorded: &BTreeMap<String, f64>) -> bool {
    println!("{:32} {:>10} {:>10} {:>8} {:>8}", "instructions", "now", "budget", "change", "spread");
    let mut within = true;
    for (at, (name, _)) in runs[0].iter().enumerate() {
        let of_runs = runs.iter().map(|run| run[at].1);
        let (least, most) = (of_runs.clone().fold(f64::MAX, f64::min), of_runs.fold(0.0, f64::max));
        let spread = if runs.len() > 1 { format!("{:.2}%", 100.0 * (most / least - 1.0)) } else { String::new() };
        let Some(budget) = recorded.get(name) else {
            println!("{name:32} {least:>10.1} {:>10} {:>8} {spread:>8}", "-", "new");
            continue;
        };
        let above = exceeds(least, *budget);
        within &= !above;
        let change = format!("{:+.1}%", 100.0 * (least / budget - 1.0));
        println!("{name:32} {least:>10.1} {budget:>10.1} {change:>8} {spread:>8}{}", if above { "  ABOVE" } else { "" });
    }
    for name in recorded.keys().filter(|name| !runs[0].iter().any(|(counted, _)| counted == *name)) {
        println!("{name:32} has a budget and was not counted");
        within = false;
    }
    within
}

fn exceeds(now: f64, budget: f64) -> bool {
    now > budget * (1.0 + EXCESS_MAX)
}

/// The table `[instructions]`.
fn read(text: &str) -> BTreeMap<String, f64> {
    let table = text.split("[instructions]\n").nth(1).unwrap_or_default();
    table.lines().filter_map(|line| line.split_once(" = ")).filter_map(|(name, n)| Some((name.to_owned(), n.parse().ok()?))).collect()
}

fn write(counts: &Counts, reason: &str, commit: &str) -> String {
    let mut text =
        String::from("# Instructions per operation on one thread, user space: `cargo xtask budgets --record REASON` writes this file,\n");
    text.push_str(
        "# `cargo xtask budgets --check` fails past +2 %. What each is: testing/budgets/src. `window…` is what counting itself costs.\n",
    );
    text.push_str(&format!("commit = {commit:?}\nreason = {reason:?}\n\n[instructions]\n"));
    for (name, instructions) in counts {
        text.push_str(&format!("{name} = {instructions:.1}\n"));
    }
    text
}

/// What the working tree stands on.
fn commit(root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(arguments).output();
        output.ok().filter(|o| o.status.success()).map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned()).unwrap_or_default()
    };
    let changed = !git(&["status", "--porcelain", "--", "crates"]).is_empty();
    format!("{}{}", git(&["rev-parse", "--short", "HEAD"]), if changed { " and changes" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let counts = vec![("a_b".to_owned(), 12.5), ("c".to_owned(), 3000.0)];
        let text = write(&counts, "say \"why\"", "abc");
        assert_eq!(read(&text), counts.into_iter().collect());
    }

    #[test]
    fn two_percent_more_is_within_the_budget_and_more_is_not() {
        assert!(!exceeds(102.0, 100.0));
        assert!(exceeds(102.1, 100.0));
        assert!(!exceeds(50.0, 100.0));
    }

    #[test]
    fn callgrind_files_tell_their_total() {
        assert_eq!(total("events: Ir\nfn=(1)\n1 5\n\ntotals: 1234\n"), Some(1234.0));
        assert_eq!(total("version: 1\n"), None);
    }
}
