//! `rounds`: crashes of the real server under load; see the crate's documentation.
//!
//! ```text
//! cargo run --profile fast -p rounds -- --program target/fast/altiplano --crashes 200
//! cargo run --profile fast -p rounds -- --program target/fast/altiplano --crashes 200 --power
//! cargo run --profile fast -p rounds -- --program target/fast/altiplano --crashes 50 --power --lie-about /data/log   # must fail
//! ```

use clap::{Parser, ValueEnum};
use harness::Server;
use histories::Place;
use rounds::{Lie, Power};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use sync::Arc;

/// Crashes of the real server under load, with a ledger of what was acknowledged
#[derive(Debug, Parser)]
struct Options {
    /// The server
    #[arg(long)]
    program: PathBuf,
    /// Which load
    #[arg(long, value_enum, default_value = "both")]
    workload: Workload,
    /// Crashes, of each load (half of them each when both run)
    #[arg(long, default_value_t = 200)]
    crashes: usize,
    /// Connections
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Seed of what is random in the load and in the failures
    #[arg(long)]
    seed: Option<u64>,
    /// The power fails: the server runs on a file system in memory that loses what was not synced (needs FUSE)
    #[arg(long)]
    power: bool,
    /// With --power: how long a sync takes
    #[arg(long, value_name = "MS", default_value_t = 2)]
    sync_ms: u64,
    /// With --power: ignores syncs of files in whose path this occurs, as a server would that leaves them out; rounds must then fail
    #[arg(long, value_name = "PART")]
    lie_about: Option<String>,
    /// Options of the server
    #[arg(long = "server-option", allow_hyphen_values = true)]
    server_options: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Workload {
    Bank,
    Tpcc,
    Both,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("failed: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let seed = options.seed.unwrap_or_else(|| std::time::UNIX_EPOCH.elapsed().map_or(1, |time| u64::from(time.subsec_nanos())));
    println!("seed {seed}: {} crashes{}", options.crashes, if options.power { " with power failures" } else { " by kill -9" });
    let server_options: Vec<&str> = options.server_options.iter().map(String::as_str).collect();
    let loads = match options.workload {
        Workload::Both => vec![(Workload::Bank, options.crashes / 2), (Workload::Tpcc, options.crashes - options.crashes / 2)],
        one => vec![(one, options.crashes)],
    };
    for (workload, crashes) in loads {
        let power = if options.power {
            let lie = options.lie_about.clone().map_or(Lie::None, Lie::About);
            let power = Power::mount(seed, Duration::from_millis(options.sync_ms), lie).map_err(|error| format!("FUSE: {error}"))?;
            Some(Arc::new(power))
        } else {
            None
        };
        let server = match &power {
            Some(power) => {
                let mut server = Server::start_in(power.path(), &options.program, &server_options);
                power.settle();
                server.between_lives(power.failing());
                server
            }
            None => Server::start(&options.program, &server_options),
        };
        let place = Place::own(server);
        let report = match workload {
            Workload::Bank => rounds::bank(&place, crashes, options.connections, 8, seed),
            _ => rounds::tpcc(&place, crashes, options.connections, seed),
        };
        let lost = power.as_ref().map_or(String::new(), |power| format!("; {}", power.lost()));
        match report {
            Ok(report) => println!("{workload:?}: {report}{lost}"),
            Err(why) => return Err(format!("{workload:?}: {why}{lost}")),
        }
    }
    Ok(())
}
