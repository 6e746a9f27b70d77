//! What one connection's operations cost, in instructions: the program that `cargo xtask budgets` runs under callgrind.
//!
//! Each operation is run a fixed number of times on one thread, in [`window::budget_window`]; callgrind counts in there only and writes
//! what it has counted when [`window::budget_done`] returns, which prints the operation's name and number. The engine's background threads
//! are not started, keys come from fixed seeds, and everything lies in memory: the same build counts the same, whatever else the machine does.
//!
//! The names of sections as arguments run these alone.
//!
//! # Not here
//! Sockets (a statement enters as a packet's payload and leaves in the packet buffer), contention, time.
//!
//! # Start at
//! `statements.rs` for whole statements (with `pages.rs` and `inserts.rs`), `commands.rs` for what is no work on rows, `tpcc.rs` for transactions of several,
//! `texts.rs` and `parts.rs` for what they are made of; `instant.rs` for reads after changes of columns, `bulk.rs` for statements of a thousand rows; `recovery.rs` for redo.

mod bulk;
mod client;
mod commands;
mod inserts;
mod instant;
mod pages;
mod parts;
mod recovery;
mod statements;
mod texts;
mod tpcc;
mod window;

use std::path::Path;

// As the server's program has it: allocation is part of what a statement costs.
#[global_allocator]
static ALLOCATOR: memory::Heap<mimalloc::MiMalloc> = memory::Heap::new(mimalloc::MiMalloc);

/// What is counted together, in order.
const SECTIONS: [(&str, fn(&Path)); 8] = [
    ("parts", parts::run),
    ("statements", statements::run),
    ("texts", |_| texts::run()),
    ("tpcc", tpcc::run),
    ("instant", instant::run),
    ("bulk", bulk::run),
    ("recovery", recovery::run),
    ("commands", commands::run),
];

fn main() {
    // What counting itself costs: once for each call of a loop, and once for each window around a single call. It is in all other figures.
    window::count("window", 1000, |_| {});
    window::count_apart("window_apart", 1000, |_| {}, |_| {});
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let directory = tempfile::tempdir().expect("a directory for the data");
    for (name, run) in SECTIONS {
        if wanted.is_empty() || wanted.iter().any(|section| section == name) {
            run(&directory.path().join(name));
        }
    }
}
