//! The `load` program: prepares data, runs a workload, checks what it left.

use clap::Parser;
use load::options::{Action, CommandLine};
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = match CommandLine::parse().action {
        Action::Prepare(options) => load::workload::prepare(&options),
        Action::Run(options) => load::run::run(&options).map(|report| {
            eprintln!("{}", report.summary());
            println!("{}", report.json());
        }),
        Action::Check(options) => load::workload::check(&options).map(|said| println!("{said}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("load: {error}");
            ExitCode::FAILURE
        }
    }
}
