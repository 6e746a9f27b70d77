//! Two servers are asked the same random statements; where they answer differently, the statement is made smaller and shown.
//!
//! The reference is a MySQL that runs (`../shared/peers`), so this is no part of CI: `cargo xtask compare --with HOST:PORT --random`. CI asks a server of our own
//! alone ([`survive`]): whatever is asked, it answers. [`metamorphic`] asks one server alone, and finds wrong answers all the same.
//!
//! # Start at
//! [`Generator::statement`], then [`Pair::compare`].
//!
//! # Invariants
//! 1. The same seed makes the same tables, rows and statements.
//! 2. No statement depends on the clock, on chance, on the connection, or on an order that it does not ask for.

mod answer;
mod collations;
pub mod functions;
mod generate;
mod json_tables;
mod lateral;
pub mod metamorphic;
mod node;
mod pair;
mod parameters;
mod paths;
mod ranges;
mod rollup;
mod rows;
pub mod schedules;
mod schema;
mod sets;
mod stores;
mod types;
mod using;
mod windows;
mod with;
mod writes;

pub use answer::{Answer, Difference};
pub use generate::{Generator, Kind};
pub use node::{Node, Sort, shrink};
pub use pair::{Pair, Side, survive};

/// The server that a program of this crate asks: at an address, or one that is started from a program and lives as long as what is returned beside its address.
pub fn server_of(address: Option<&str>, program: Option<&str>) -> Option<(Option<harness::Server>, String)> {
    if let Some(address) = address {
        return Some((None, address.to_owned()));
    }
    let own = harness::Server::start(program?, &[]);
    let address = format!("127.0.0.1:{}", own.port());
    Some((Some(own), address))
}

/// The end of a program of this crate: what `run` finds, 1 where something differed, 2 for wrong arguments or a server that cannot be asked.
pub fn exit_code<O>(options: Option<O>, usage: &str, run: impl FnOnce(&O) -> Result<bool, String>) -> std::process::ExitCode {
    let outcome = options.ok_or_else(|| usage.to_owned()).and_then(|options| run(&options));
    match outcome {
        Ok(true) => std::process::ExitCode::SUCCESS,
        Ok(false) => std::process::ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            std::process::ExitCode::from(2)
        }
    }
}
