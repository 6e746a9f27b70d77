//! Runners for data-file tests, and a server under test as its own process.
//!
//! - [`Server`]: starts the `altiplano` binary on a data directory of its own and a free port.
//! - [`slt`]: SQL logic tests, `tests/sql/**/*.slt`.
//!
//! The binary's path is the caller's to give (`env!("CARGO_BIN_EXE_altiplano")` in the tests of crate `server`).

mod server;
pub mod slt;

pub use server::Server;
