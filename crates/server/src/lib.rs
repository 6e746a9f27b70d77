//! The network front of Altiplano and the `altiplano` program: listener, thread per connection, authentication, shutdown.
//!
//! # Invariants
//! 1. One thread serves one connection, or (`pool`) several in turns; a small command costs one receive and one send, or in turns a share of one.
//! 2. Whatever a client sends, at most its own connection ends.
//! 3. A session is dropped (and so rolled back) before its connection is counted as ended; a stop waits for that count.
//!
//! # Latches
//! All are leaves: the thread list, the line of those who log in, the memory of logins, the shards of the registry (`session::connections`).
//!
//! # Start at
//! [`front::Front`] for the life of a connection, [`watcher`] for timeouts, [`server::Server`] for start and stop,
//! [`client`] for `altiplano sql`.

mod attention;
pub mod channel;
pub mod client;
pub mod commands;
mod crowd;
pub mod front;
pub mod keys;
pub mod listener;
pub mod log;
pub mod login;
mod logins;
pub mod options;
mod pool;
pub mod serve;
pub mod server;
mod service_manager;
pub mod socket;
mod stand_in;
pub mod threads;
pub mod transport;
pub mod watcher;
