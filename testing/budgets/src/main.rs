//! What one connection's operations cost, in instructions: the program that `cargo xtask budgets` runs under callgrind.
//!
//! Each operation is run a fixed number of times on one thread, in [`window::budget_window`]; callgrind counts in there only and writes
//! what it has counted when [`window::budget_done`] returns, which prints the operation's name and number. The engine's background threads
//! are not started, keys come from fixed seeds, and everything lies in memory: the same build counts the same, whatever else the machine does.
//!
//! # Not here
//! Sockets (a statement enters as a packet's payload and leaves in the packet buffer), contention, time.
//!
//! # Start at
//! `statements.rs` for whole statements, `tpcc.rs` for transactions of several, `texts.rs` and `parts.rs` for what they are made of; `instant.rs` for reads after
//! changes of columns, `bulk.rs` for statements of a thousand rows; `recovery.rs` for redo.

mod bulk;
mod client;
mod instant;
mod parts;
mod recovery;
mod statements;
mod texts;
mod tpcc;
mod window;

// As the server's program has it: allocation is part of what a statement costs.
#[global_allocator]
static ALLOCATOR: memory::Heap<mimalloc::MiMalloc> = memory::Heap::new(mimalloc::MiMalloc);

fn main() {
    // What counting itself costs: once for each call of a loop, and once for each window around a single call. It is in all other figures.
    window::count("window", 1000, |_| {});
    window::count_apart("window_apart", 1000, |_| {}, |_| {});
    let directory = tempfile::tempdir().expect("a directory for the data");
    parts::run(&directory.path().join("log"));
    statements::run(&directory.path().join("data"));
    texts::run();
    tpcc::run(&directory.path().join("tpcc"));
    instant::run(&directory.path().join("instant"));
    bulk::run(&directory.path().join("bulk"));
    recovery::run(&directory.path().join("recovery"));
}
