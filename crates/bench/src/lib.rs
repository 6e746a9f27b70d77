//! A load client for any MySQL-speaking server: up to tens of thousands of connections over a few threads, so that it is not what falls.
//!
//! Each connection is a task (a future) that runs its transactions one after the other as plain code; a thread polls a task when the
//! reply that it waits for has wholly arrived, or its moment has come. There is no queue and no allocation per statement between socket and task.
//!
//! # Invariants
//! 1. Closed loop: a connection sends its next command only after the reply to the last.
//! 2. A transaction counts when its last reply has arrived, within the measured time; its latency begins with the first attempt, so a
//!    transaction that was a deadlock's victim costs the time of all its attempts. With a rate it begins when the schedule says, whether
//!    or not a connection was free, so that a server which stalls is charged for all who would have come meanwhile.
//! 3. What was acknowledged is counted in warm-up too, so that totals can be compared with the data (`check`).
//!
//! # Not here
//! Which servers, connection counts and repetitions make a report: `scripts/plain.py`.
//!
//! # Start at
//! `command.rs`, then `running.rs` (a run), `drive.rs` (its threads and tasks), `reactor.rs`, `session.rs` (what a task can do), `workload/` (what it does), `outcome.rs` (what came of it).

pub mod address;
pub mod blocking;
pub mod ceiling;
pub mod combine;
pub mod command;
pub mod compare;
pub mod control;
pub mod cpu;
pub mod distribution;
pub mod drive;
pub mod endpoint;
pub mod histogram;
pub mod json;
pub mod ledger;
pub mod link;
pub mod measured;
pub mod options;
pub mod outcome;
pub mod process;
pub mod progress;
pub mod random;
pub mod reactor;
pub mod reply;
pub mod report;
pub mod run;
pub mod running;
pub mod schedule;
pub mod seconds;
pub mod session;
pub mod soak;
pub mod statistics;
pub mod table;
pub mod tally;
pub mod workload;
