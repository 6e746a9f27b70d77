//! Simple models that tests compare with: slow, obvious, and written without a look at what they judge.
//!
//! # Start at
//! [`mvcc`]: tables, transactions and snapshots, kept as whole copies.

pub mod mvcc;
