//! The commands, each to its end.

use crate::options::{Action, RunCommand, WorkloadName};
use crate::table;
use crate::{ceiling, progress, report, run, workload};
use clap::ValueEnum;
use std::io::Write;

/// Does what the command line asks for.
pub fn execute(action: &Action) -> Result<(), String> {
    match action {
        Action::Prepare(options) => workload::prepare(options),
        Action::Run(command) => ramp(command),
        Action::Compare(command) => command.execute(),
        Action::Plain(command) => command.execute(),
        Action::Soak(command) => command.execute(),
        Action::Report(command) => command.execute(),
        Action::Check(options) => {
            let said = workload::check(options)?;
            print(&said)
        }
        Action::Ceiling(options) => ceiling::serve(options),
        Action::Workloads => workloads(),
    }
}

/// To stdout; who reads it may have gone.
fn print(text: &str) -> Result<(), String> {
    writeln!(std::io::stdout(), "{text}").map_err(|e| format!("stdout: {e}"))
}

/// One run for each number of connections.
fn ramp(command: &RunCommand) -> Result<(), String> {
    command.output.iter().try_for_each(|path| report::Form::of(path).map(drop))?;
    let mut report = report::Report::here();
    let mut watcher = progress::of_terminal();
    let mut all = Vec::new();
    for connections in &command.connections {
        let options = command.options(*connections as usize);
        let measured = run::measure_in_full(&options, watcher.as_mut())?;
        if command.json {
            print(&measured.json())?;
            eprintln!("{}", measured.summary());
        }
        report.outcomes.push(measured.outcome.clone());
        all.push(measured);
        // After each: of a ramp that is broken off what was measured is there.
        command.output.iter().try_for_each(|path| report::write(path, std::slice::from_ref(&report)))?;
    }
    if !command.json {
        print(table::of(&all).trim_end())?;
    }
    match all.iter().find(|measured| measured.is_wrong()) {
        Some(wrong) => Err(format!("{}: {}", wrong.outcome.workload, wrong.verdict.as_deref().unwrap_or_default())),
        None => Ok(()),
    }
}

/// The list of workloads.
fn workloads() -> Result<(), String> {
    for name in WorkloadName::value_variants() {
        let help = name.to_possible_value().and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default();
        print(&format!("{:22} {help}", name.name()))?;
    }
    Ok(())
}
