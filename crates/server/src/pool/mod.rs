//! Threads shared by sessions: between transactions, once there are many connections; and by those whose clients are silent.
//!
//! A session that waits for its client and holds nothing that others may wait for is *parked*: it lies on a seat (`seats.rs`) and its socket is watched by epoll.
//! Members of a *crew* (`crew.rs`) take those whose clients have spoken, in the kernel's order, and serve each until it may be parked again: to the end of
//! its transaction. With few connections the member leaves the crew instead, and serves that session alone until its client falls silent. So thousands of sessions work on the stacks, heaps and kernel structures of a few dozen threads, and one that is silent takes no thread.
//!
//! # Invariants
//! 1. A guest is on a seat, or in the hands of one thread.
//! 2. Who is parked holds nothing that others may wait for (`Session::holds_nothing`): whatever a member waits for has a thread of its own, so no wait depends
//!    on the size of the crew.
//! 3. While a client of a parked session has spoken and no member listens, the crew's monitor looks at the crew every few milliseconds and makes
//!    up for members that wait.
//! 4. A member waits for a client only within a transaction or a statement: half a packet is parked like silence.

mod crew;
mod epoll;
mod listening;
mod platform;
mod recent_load;
mod seats;

pub(crate) use crew::{Crew, Member};
pub(crate) use epoll::Epoll;
pub(crate) use seats::{Seats, Sits, Taken};
