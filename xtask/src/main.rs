//! Project commands: `cargo xtask check` before a push, `cargo xtask tidy` for the rules that no compiler checks, `cargo xtask sim` for the crash simulator.

mod budgets;
mod levels;
mod release;
mod tidy;

use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask <command>

  budgets                                  instructions of single operations against docs/budgets.toml: [--check | --record REASON | --plot] [--runs N]
  check                                    format, lints, tidy and the fast tests
  compare --with HOST:PORT [FILE|DIR]...   runs tests/sql against a MySQL (root without password) and prints where it answers differently
  compare --with HOST:PORT --random ...    random statements to a server of ours and to that MySQL: [--seed S] [--minutes M | --statements N] [--kind NAME]
                                           [--sql-mode MODE] [--without NAME,...] [--show broken,result,error,warnings,types,texts]
  metamorphic [--server HOST:PORT] ...     TLP and NoREC over connections to that server, or to a new one of ours: [--seed S] [--minutes M | --rounds N] [--relation NAME] [--factor F]
  model [--server HOST:PORT] ...           random definitions and changes beside tables in memory, to that server or to a new one of ours, which is killed now and then:
                                           [--seed S] [--seeds N | --minutes M] [--statements N]
  schedules --with HOST:PORT ...           random interleavings of three sessions on a server of ours and on that MySQL: who waits, what each is told:
                                           [--server HOST:PORT] [--seed S] [--minutes M | --schedules N] [--each N] [--all]
  release                                  the program for users (link-time optimisation, profile guidance) and its packages: docs/release.md
  sim                                      the crash simulator: [--seeds N] [--start S] [--minutes M] [--keep-going] [--seed S] [--shrink] [--plant NAME|all]
  tidy                                     crate levels, module documentation, file rules";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("tidy") => tidy::run(),
        Some("check") => check(),
        Some("budgets") => budgets::run(&arguments[1..]),
        Some("compare") => compare(&arguments[1..]),
        Some("metamorphic") => one_server(&["--package", "differential", "--bin", "metamorphic"], &arguments[1..]),
        Some("model") => one_server(&["--package", "table_model"], &arguments[1..]),
        Some("schedules") => one_server(&["--package", "differential", "--bin", "schedules"], &arguments[1..]),
        Some("release") => release::run(&arguments[1..]),
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
    cargo(&["run", "--quiet", "--profile", "fast", "--package", "simulator", "--"], arguments)
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
    if let [option, rest @ ..] = files
        && option == "--random"
    {
        return compare_random(address, rest);
    }
    cargo(&["run", "--quiet", "--package", "harness", "--bin", "slt", "--", address], files)
}

/// Random statements to both: what the files do not think of.
fn compare_random(address: &str, arguments: &[String]) -> ExitCode {
    let built = cargo(&["build", "--quiet", "--profile", "fast", "--package", "server"], &[]);
    if built != ExitCode::SUCCESS {
        return built;
    }
    let run = ["run", "--quiet", "--profile", "fast", "--package", "differential", "--"];
    cargo(&[&run[..], &["--program", "target/fast/altiplano", "--with", address]].concat(), arguments)
}

/// What one server says, held against itself or a model: one that is named, or ours.
fn one_server(program: &[&str], arguments: &[String]) -> ExitCode {
    let mut server: &[&str] = &[];
    if !arguments.iter().any(|argument| argument == "--server") {
        let built = cargo(&["build", "--quiet", "--profile", "fast", "--package", "server"], &[]);
        if built != ExitCode::SUCCESS {
            return built;
        }
        server = &["--program", "target/fast/altiplano"];
    }
    cargo(&[&["run", "--quiet", "--profile", "fast"], program, &["--"], server].concat(), arguments)
}

fn cargo(command: &[&str], arguments: &[String]) -> ExitCode {
    match Command::new(env!("CARGO")).args(command).args(arguments).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("cannot run cargo: {e}");
            ExitCode::FAILURE
        }
    }
}
