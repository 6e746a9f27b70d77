//! Sessions: statement dispatch, plan cache, transactions, variables, error mapping, DDL, SHOW.
//!
//! # Invariants
//! 1. One command is answered by exactly one reply (or one for each of its statements), whatever fails.
//! 2. Engine errors get their MySQL numbers in `error_map.rs` and nowhere else.
//!
//! # Not here
//! Sockets and authentication (`server`), packets (`protocol`), plans (`planner`), rows (`executor`).
//!
//! # Start at
//! `front/service.rs` is the seam to the server; `client_session.rs` tells the way of a statement. Each folder is a room, and its head says what is in it; ARCHITECTURE.md lists them.

pub mod accounts;
mod backup;
mod client_session;
pub mod components;
mod context;
mod counters;
mod ddl;
mod diagnostics;
mod error_map;
mod files;
mod front;
mod lent;
mod privileges;
mod query_logs;
mod reply;
mod shared;
mod show;
mod statement;
mod temporary;
mod transaction;
pub mod variables;
mod virtual_tables;

/// What the process list says of a statement that waits for a slot of `admission`.
pub const ADMISSION_WAIT: &str = "Waiting for admission";

/// Lets the catalogue read columns that are computed; to be called before the first table is opened.
pub fn begin_expressions() {
    catalog::set_expressions(&executor::GeneratedColumns);
}

pub use accounts::AccountStore;
pub use client_session::ClientSession;
pub use front::{command, connections, service};
pub use query_logs::Place as QueryLogPlace;
pub use reply::sink;
pub use shared::{SERVER_VERSION, Shared, SqlService, memory_limit_of, memory_of_storage};
pub use show::{create_table_text, whole_view_text};
