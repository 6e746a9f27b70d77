//! `altiplano sql`: a small synchronous client of the MySQL protocol, and the shell around it.
//!
//! [`connection`] speaks the protocol, [`statements`] cuts input into statements, [`table`] prints results, [`shell`] reads lines.

pub mod connection;
pub mod shell;
pub mod statements;
pub mod table;
