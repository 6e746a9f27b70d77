//! Statement dispatch, plan cache, variables, error mapping.
//!
//! # Start at
//! `service.rs` is the seam to the server, `command.rs` what comes in, `sink.rs` how replies go out.

pub mod accounts;
pub mod command;
pub mod connections;
pub mod service;
pub mod sink;
