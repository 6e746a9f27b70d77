//! Project commands: `cargo xtask check` before a push, `cargo xtask tidy` for the rules that no compiler checks, `cargo xtask sim` for the crash simulator.

mod levels;
mod tidy;

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("tidy") => tidy::run(),
        Some("check") => check(),
        Some("sim") => sim(&arguments[1..]),
        _ => {
            eprintln!(
                "usage: cargo xtask <command>\n\n  check   format, lints, tidy and the fast tests\n  tidy    crate levels, module documentation, file rules\n  sim     the crash simulator: [--seeds N] [--start S] [--minutes M] [--seed S] [--plant NAME|all]"
            );
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
