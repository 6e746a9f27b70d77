//! Subcommands that do one thing and end: one file each, with its options.

pub mod backup;
mod bar;
pub mod bench;
pub mod check;
mod progress;
pub mod prune_archive;
pub mod restore;
pub mod salvage;
pub mod seal;
pub mod version;

use std::fmt::Display;
use std::process::ExitCode;

/// Tells how a command ended: its summary, or what it complains of.
fn finish(done: Result<String, impl Display>) -> ExitCode {
    match done {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("altiplano: {error}");
            ExitCode::FAILURE
        }
    }
}
