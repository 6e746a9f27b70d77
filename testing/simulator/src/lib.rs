//! Seeded runs of the storage engine and the catalogue on a simulated disk: random schemas, interleaved sessions, commits that others build on
//! before they are durable, prepared branches, checkpoints, page cleaning, purge, DDL, crashes and faults, compared with a naive model after
//! every recovery.
//!
//! # Invariants
//! 1. A run is a function of its seed (and the planted bug): one thread, no clock, no order of a hash map. [`Report::trace`] is the proof.
//! 2. The model (`oracle::mvcc`) never looks at the engine's answers, but where the engine has a choice (hidden row ids, which of the states that
//!    a crash may leave) it follows.
//! 3. What a fault excuses is written where the fault is injected (`faults.rs`); everything else is a violation and ends the run.
//! 4. A step draws from the seed and its own number, so that a run without some of its steps (`cuts.rs`) is much the same run.
//!
//! # Not here
//! SQL. Threads, but for `threads.rs`: elsewhere the engine's background work is driven by hand.
//!
//! # Start at
//! [`run()`], then `world.rs` for the state of a run, `life.rs` for what lies between two crashes.

mod branch;
mod commit;
mod cuts;
mod ddl;
mod faults;
mod foreign;
mod life;
mod online;
mod options;
mod planted;
mod planted_disk;
mod planted_log;
mod random;
mod read;
mod run;
mod schema;
mod shrink;
mod stories;
mod temporary;
mod threads;
mod verify;
mod warm;
mod watch;
mod world;
mod write;

pub use cuts::{Cuts, Feature};
pub use planted::Plant;
pub use run::{Failure, Report, replay_command, run, run_cut};
pub use shrink::shrink;
pub use threads::{ThreadReport, run_threads};
