//! Crashes of the real server under load, round after round, with a ledger outside of it: what was acknowledged is there, everything else is
//! there wholly or not at all, and money is constant.
//!
//! - [`bank()`]: the bank of `histories`, whose ledger also holds what plain reads have shown.
//! - [`tpcc()`]: TPC-C of `load` with a ledger of its orders, payments and deliveries; all of the standard's conditions that they touch.
//! - [`Power`]: a file system in memory that keeps what was not synced apart. kill -9 loses nothing that the kernel has; when the power fails
//!   between the lives of the server, unsynced writes are lost, torn by sector or outlive later ones, and unsynced names are lost.
//!
//! The moment of a crash is a number of acknowledged transactions, so it needs no clock; where in the server's work it falls is chance.
//!
//! # Not here
//! The same for the engine alone, with schedules and faults that a seed repeats exactly: `testing/simulator`.

mod bank;
mod power;
mod report;
mod tpcc;

pub use bank::bank;
pub use power::{Lie, Lost, Power};
pub use report::Report;
pub use tpcc::tpcc;
