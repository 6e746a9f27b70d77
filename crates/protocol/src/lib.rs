//! Bytes to MySQL packets and back; no socket.
//!
//! The server side reads packets with [`PacketReader`], turns them into a [`Command`], and writes replies into a
//! [`PacketWriter`] that is sent in one system call. Rows go straight from raw values into that buffer through
//! [`TextRow`] and [`BinaryRow`]; nothing is allocated per row or per column.
//! The client side (`altiplano sql`, tests) uses the same modules the other way round.
//!
//! # Invariants
//! 1. Nothing a stranger sends can panic this crate or make it allocate more than the limit it was given.
//! 2. A [`PacketWriter`] holds whole packets only, except between `begin` and `end`.
//! 3. Every multi-byte integer on the wire is little-endian.
//!
//! # Not here
//! Sockets, timeouts, TLS, accounts: `server`. What a statement means: `session`.
//!
//! # Start at
//! [`PacketWriter`], then `command.rs`.

pub mod auth;
pub mod client_io;
pub mod codec;
pub mod column;
pub mod command;
pub mod compressed;
pub mod constants;
pub mod execute;
pub mod handshake;
pub mod packet;
pub mod reader;
pub mod reply;
pub mod result;
pub mod row;
pub mod rows;
mod sha256_crypt;
pub mod writer;

pub use client_io::{ClientGone, ClientIo, NoClient};
pub use codec::{Bytes, Malformed};
pub use column::{ColumnBlock, ColumnDefinition};
pub use command::{Command, CommandError};
pub use constants::{Capabilities, ColumnFlags, ColumnType, ServerStatus};
pub use execute::{BadParams, BoundParam, ParamType, ParamTypes, ParamValue};
pub use handshake::{Greeting, HandshakeResponse};
pub use reader::{PacketReader, ReadError};
pub use reply::{ErrReply, OkReply};
pub use result::{ResultSink, RowFormat};
pub use row::{BinaryRow, IntBytes, RowWriter, TextRow, filled};
pub use rows::RowRun;
pub use writer::PacketWriter;
