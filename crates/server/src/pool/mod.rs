//! Threads shared by sessions: once there are many connections, and by those whose clients are silent.
//!
//! A session that waits for its client is *parked*: it lies on a seat (`seats.rs`) and its socket is watched by epoll. There is a *post* for each processor (`posts.rs`): who holds it
//! takes those whose clients have spoken, of those that this post watches, and serves each until it waits for its client again: a statement, mostly. Who is in a transaction comes before newcomers
//! (`rows.rs`). With few connections who holds the post hands it on instead, and serves that session alone until its client falls silent. So thousands of sessions work on the stacks,
//! heaps and kernel structures of a few dozen threads, without a switch of threads between them, and one that is silent takes no thread. Nor does one whose commit waits for the log (`late.rs`), or whose statement waits for a row (`left.rs`). Where many wait for one row others stand behind it, before their statements are read (`behind.rs`). Short replies go together
//! (`outbox.rs`).
//!
//! # Invariants
//! 1. A guest is on a seat, in a row, among those whose replies wait for the log, among those whose statements wait for rows, behind a row, in an outbox, or in the hands of one thread.
//! 2. Whoever holds a post does not block: it hands the post on before (`sync::blocking`), or loses it to the monitor. So whatever a parked session holds, somebody will serve it.
//! 3. A member waits for a client only within a statement, without a post: half a packet is parked like silence.

mod behind;
#[cfg(test)]
mod behind_tests;
mod epoll;
mod follows;
mod late;
mod left;
mod outbox;
pub(crate) mod platform;
mod posts;
mod processors;
mod rows;
mod seats;

pub(crate) use behind::{Behind, Habit, HasHabit};
pub(crate) use epoll::Epoll;
pub(crate) use follows::Follows;
pub(crate) use late::Late;
pub(crate) use left::{Left, WaitsForRow};
pub(crate) use outbox::{Outbox, REPLY_BYTES_MAX, Replies, while_held};
pub(crate) use posts::{Member, Posts, Worker};
pub(crate) use processors::{Processors, Thread, stand_aside};
pub(crate) use rows::{Came, Kind, NEW, Rows, Stands};
pub(crate) use seats::{Kept, Seats, Sits, Ticket, Watch};
