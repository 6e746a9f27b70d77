//! The way of a statement: from its text, or the handle of a prepared one, into its plan or what is done without one.
//!
//! # Invariants
//! 1. Whoever runs a plan comes into it by the steps of `enter.rs`, in their order.
//! 2. A plan is used only under the catalogue's version that it was made under (`plan_cache.rs`); one that turns stale on the way is made again, a bounded number of times.
//!
//! # In this room
//! - `query.rs`: texts (COM_QUERY); `prepared.rs` and `prepared/`: handles (COM_STMT_…, PREPARE); `preparable.rs`: which statements those may be; `cursors.rs`: results that are fetched later.
//! - `planning.rs`: a plan is made, kept, found again; `plan_cache.rs`: where it is kept, by text; `samples.rs`: what rows told those who plan; `hinted.rs`: variables that a plan's hints set for it.
//! - `enter.rs`, then `run.rs`: a plan's way to the executor; `replies.rs`: what is answered then; `explain.rs`: to be told instead of run; `restart.rs`: once more under another snapshot; `left.rs`: once more when a row is free.
//! - `dispatch.rs`: statements by kind, and which room carries out those without a plan. Here are `administer.rs` (KILL, FLUSH), `signal.rs`, `get_diagnostics.rs`;
//!   `evaluate.rs`: expressions of such statements.
//!
//! # Start at
//! `ClientSession::query` in `query.rs`.

mod administer;
pub(crate) mod cursors;
pub(crate) mod deep;
pub(crate) mod dispatch;
pub(crate) mod enter;
mod evaluate;
pub(crate) mod explain;
pub(crate) mod get_diagnostics;
pub(crate) mod hinted;
pub(crate) mod left;
pub(crate) mod plan_cache;
pub(crate) mod planning;
pub(crate) mod preparable;
pub(crate) mod prepared;
pub(crate) mod query;
mod replies;
pub(crate) mod restart;
pub(crate) mod run;
pub(crate) mod samples;
pub(crate) mod signal;
