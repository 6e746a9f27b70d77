//! What is counted and timed of statements, for SHOW STATUS, SHOW PROFILE, `performance_schema` and the log.
//!
//! # Invariants
//! 1. Counting writes no line that other sessions write: counters are sharded. Stages do (a mutex), which long builds alone tell.
//! 2. Profiles, and reports in the log, cost a look at a flag until somebody asks for them.
//!
//! # In this room
//! - `status.rs`: counters of statements with plans, and of all else that is often; `statement_kinds.rs`: of statements without (`Com_…`).
//! - `profiles.rs`: on what a session's statements spent their time; `stages.rs`: what long ones are at.
//! - `deadlock_log.rs`: reports of deadlocks in the server's log.
//!
//! How they are shown is in `show/status.rs`, `show/figures.rs` (with what other parts count), `show/profiles.rs` and `virtual_tables/`.
//!
//! # Start at
//! `status.rs`.

pub(crate) mod deadlock_log;
pub(crate) mod profiles;
pub(crate) mod stages;
pub(crate) mod statement_kinds;
pub(crate) mod status;
