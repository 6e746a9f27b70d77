//! The side that the network sees: what `server` calls, hands over and learns back. Of the rest it knows accounts, for logins, and the server's variables, for the start.
//!
//! # Invariants
//! 1. `server` calls sessions by [`service::Session`] only, one command at a time; whatever else it, or another session, wants of one it does to its [`connections::Connection`], which is shared.
//! 2. Between commands nothing in `tools.rs` is one session's rather than another's.
//!
//! # In this room
//! - `service.rs`: the calls; `command.rs`: what they carry.
//! - `connections.rs`, `connections/connection.rs`: who is there, what they do, and how they are stopped.
//! - `tools.rs`: buffers that sessions in turns lend one another.
//! - `encryption.rs`, `compression.rs`: what variables and counters say of a connection's bytes; the bytes themselves are the server's.
//!
//! # Start at
//! `service.rs`.

pub mod command;
pub(crate) mod compression;
pub mod connections;
pub(crate) mod encryption;
pub mod service;
pub(crate) mod tools;
