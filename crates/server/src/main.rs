//! The `altiplano` binary: `serve`, `sql`, `version`, and the commands of `server::commands`.

mod damage;
mod futex_hash;
mod give_back;
mod heap;
mod open;

use std::process::ExitCode;

use clap::Parser;
use server::options::{Action, CommandLine, ServeOptions, complaint};
use server::{client, commands, serve};

fn main() -> ExitCode {
    heap::allow_huge_pages_elsewhere();
    let command_line = match CommandLine::try_parse() {
        Ok(command_line) => command_line,
        Err(error) if error.use_stderr() => {
            eprintln!("altiplano: {}", complaint(&error));
            return ExitCode::FAILURE;
        }
        // The help, or the version. Who asked for it may have gone.
        Err(help) => return if help.print().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE },
    };
    match command_line.command {
        None => run_server(command_line.serve),
        Some(Action::Serve(options)) => run_server(options),
        Some(Action::Sql(options)) => ExitCode::from(u8::from(client::shell::run(options) != 0)),
        Some(Action::Backup(options)) => commands::backup::run(options),
        Some(Action::Restore(options)) => commands::restore::run(options),
        Some(Action::PruneArchive(options)) => commands::prune_archive::run(options),
        Some(Action::Check(options)) => commands::check::run(&options),
        Some(Action::Salvage(options)) => commands::salvage::run(&options),
        Some(Action::Seal(options)) => commands::seal::run(&options),
        Some(Action::Bench(options)) => commands::bench::run(&options),
        Some(Action::Version(options)) => commands::version::run(&options),
    }
}

fn run_server(options: ServeOptions) -> ExitCode {
    let environment = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let result = options.resolve(environment).map_err(serve::Failure::from).and_then(|settings| {
        futex_hash::enlarge();
        give_back::start()?;
        serve::serve(&settings, open::open, open::close)
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("altiplano: {error}");
            ExitCode::FAILURE
        }
    }
}
