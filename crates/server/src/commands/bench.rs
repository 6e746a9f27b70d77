//! `altiplano bench`: the load client of the crate `bench`.

use bench::options::Action;
use clap::Args;
use std::process::ExitCode;

/// Options of `bench`.
#[derive(Debug, Args)]
pub struct BenchOptions {
    /// What to do with which server
    #[command(subcommand)]
    action: Action,
}

/// Does it; what went wrong is told in one line.
pub fn run(options: &BenchOptions) -> ExitCode {
    match bench::command::execute(&options.action) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("altiplano: {error}");
            ExitCode::FAILURE
        }
    }
}
