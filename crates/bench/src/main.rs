//! The `load` program: prepares data, runs a workload, checks what it left.

use bench::options::{Action, CommandLine};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = match CommandLine::parse().action {
        Action::Prepare(options) => bench::workload::prepare(&options),
        Action::Run(options) => bench::run::run(&options).map(|report| {
            eprintln!("{}", report.summary());
            println!("{}", report.json());
        }),
        Action::Check(options) => bench::workload::check(&options).map(|said| println!("{said}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("load: {error}");
            ExitCode::FAILURE
        }
    }
}
