//! Runners for data-file tests, and a server under test as its own process.
//!
//! - [`Server`]: starts the `altiplano` binary on a data directory of its own and a free port.
//! - [`Target`]: where statements go: such a server, or one that runs already (a MySQL, to keep the files honest).
//! - [`slt`]: SQL logic tests, `tests/sql/**/*.slt`; the program `slt` runs them against a server that runs already.
//! - [`data_file`]: the pages of a stopped server, and damage to order.
//! - [`until`]: waits for what another connection can see.
//! - [`code`]: the number of an error that a server told.
//! - [`run_all`]: statements that have to succeed.
//! - [`spec`]: isolation specs, `tests/isolation/**/*.spec`.
//! - [`with_sync_filter`]: a program whose syncs take longer or fail.
//!
//! The binary's path is the caller's to give (`env!("CARGO_BIN_EXE_altiplano")` in the tests of crate `server`).

pub mod data_file;
mod errors;
mod server;
pub mod slt;
pub mod spec;
mod statements;
mod sync_filter;
mod target;
mod wait;

pub use errors::code;
pub use server::{NOT_STARTED, Server, refused};
pub use statements::run_all;
pub use sync_filter::with_sync_filter;
pub use target::Target;
pub use wait::until;
