//! Project commands: `cargo xtask check` before a push, `cargo xtask tidy` for the rules that no compiler checks, `cargo xtask sim` for the crash simulator.

mod budgets;
mod levels;
mod tidy;

use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask <command>

  budgets                                  instructions of single operations against docs/budgets.toml: [--check | --record REASON] [--runs N]
  check                                    format, lints, tidy and the fast tests
  compare --with HOST:PORT [FILE|DIR]...   runs tests/sql against a MySQL (root without password) and prints where it answers differently
  sim                                      the crash simulator: [--seeds N] [--start S] [--minutes M] [--keep-going] [--seed S] [--shrink] [--plant NAME|all]
  tidy                                     crate levels, module documentation, file rules";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("tidy") => tidy::run(),
        Some("check") => check(),
        Some("budgets") => budgets::run(&arguments[1..]),
        Some("compare") => compare(&arguments[1..]),
        Some("sim") => sim(&arguments[1..]),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn check() -> ExitCode {
    let steps: [&[&str]; 4] = [
        &["fmt", "--all", "--check"],
        &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        &["run", "--quiet", "--package", "xtask", "--", "tidy"],
        &["test", "--workspace"],
    ];
    for step in steps {
        println!("cargo {}", step.join(" "));
        match Command::new(env!("CARGO")).args(step).status() {
            Ok(status) if status.success() => {}
            Ok(_) => return ExitCode::FAILURE,
            Err(e) => {
                eprintln!("cannot run cargo: {e}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Runs the crash simulator, optimised, with the arguments that follow.
fn sim(arguments: &[String]) -> ExitCode {
    let build = ["run", "--quiet", "--profile", "fast", "--package", "simulator", "--"];
    match Command::new(env!("CARGO")).args(build).args(arguments).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("cannot run cargo: {e}");
            ExitCode::FAILURE
        }
    }
}

/// The expectations of `tests/sql` against a server that runs already, which should be a MySQL: so the files stay honest.
fn compare(arguments: &[String]) -> ExitCode {
    let [with, address, files @ ..] = arguments else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if with != "--with" {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "--package", "harness", "--bin", "slt", "--", address]).args(files);
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("cannot run cargo: {e}");
            ExitCode::FAILURE
        }
    }
}
