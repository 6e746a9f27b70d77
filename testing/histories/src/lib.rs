//! Histories: random transactions over real connections, and a checker that tells whether what they saw is allowed.
//!
//! The idea is Elle's (Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations", arXiv 2003.10554): clients
//! append unique elements to lists and read them, so the reads themselves tell in which order versions came; from that follow the
//! dependencies between transactions, and their cycles are the anomalies that Adya named.
//!
//! - [`history`]: what clients did and saw.
//! - [`levels`]: what each isolation level promises, and why.
//! - [`check`](mod@check): finds and names what is wrong; `tests/anomalies.rs` feeds it one history of each kind.
//! - [`drive`]: runs random transactions against a server, with kill -9, KILL and clients that vanish if asked to.
//! - [`workloads`]: a bank, a hot counter, deadlocks, a queue, numbers given out under a lock, seats behind a gate, with as many connections as asked for; totals must be exact and nothing may be
//!   left behind.
//!
//! # Not here
//! Explicit interleavings with their expected answers: `tests/isolation`, run by crate `harness`.

pub mod anomaly;
pub mod check;
mod disturb;
pub mod drive;
pub mod history;
pub mod levels;
pub mod place;
pub mod seed;
pub mod workloads;

pub use anomaly::{Anomaly, Kind};
pub use check::{Report, check};
pub use history::History;
pub use levels::Level;
pub use place::Place;
