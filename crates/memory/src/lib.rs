//! Memory: what the server, its parts, a session's thread and its statement hold, and what they may.
//!
//! Two books are kept. The **heap's** is exact: [`Heap`] wraps the allocator of the program and counts what each thread has allocated less
//! what it has freed. The **kinds'** ([`Kind`]) says what for; who keeps much of something books it there ([`Use`], [`book`]).
//!
//! ```text
//! server ── limit(): pool and other mappings + heap
//!   ├── kinds: buffer pool, log, undo, plans …            book(), Use
//!   └── threads: heap of each, in credit of 16 KiB and more
//!         └── statement: heap since begin_statement(), with a limit of its own
//! ```
//!
//! A statement that crosses its own limit, or grows while the server is past its limit, is *marked* ([`excess`]); whoever looks whether it was
//! cancelled sees the mark, and it ends with an error of its own. An allocator cannot return an error to code that does not expect one,
//! so the mark comes after the allocation that crossed a limit; what is about to allocate much asks first ([`reserve`], [`excess_with`]),
//! and an allocator that gives nothing is an error there, too. All others live off what [`Heap`] has set aside when the system gives nothing more, and their
//! statement is marked; only when that is used up does a failed allocation end the process. The next start recovers then, as from any crash.
//!
//! # Invariants
//! 1. An allocation writes only to its thread's own counts; the server's are written once per credit. A thread whose use swings by less than
//!    [`SLACK_BYTES`] writes nothing shared.
//! 2. The server's count is the sum of the threads' to within a credit and the slack of each; exact for a thread that has ended, if it called
//!    [`begin_thread`]. Every thread of the server that may end before the process does calls it.
//! 3. Only threads that run statements are marked, and a mark lasts until the next statement begins.
//! 4. Nothing here allocates, waits or fails on the way of an allocation.
//!
//! # Not here
//! Which errors clients see, and system variables: crate `session`. What operators book: `executor::Memory`.
//!
//! # Start at
//! `thread.rs`, then `heap.rs` and `kind.rs`.

mod heap;
mod kind;
mod machine;
mod reserve;
mod server;
mod thread;

pub use heap::{Heap, rescues};
pub use kind::{Figures, Kind, Tally, Use, book, figures, unbook};
pub use machine::{bytes_available, bytes_of_machine};
pub use reserve::{LARGE_BYTES, ask, failed, reserve, reserve_shared};
pub use server::{excess_with, heap_bytes, heap_bytes_max, limit, mapped, refusals, room, set_limit, total};
pub use thread::{Excess, SLACK_BYTES, begin_statement, begin_thread, excess, excuse, fallible, held, transfer};
