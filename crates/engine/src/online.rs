//! Indexes, and tables with other definitions, that are built while others write the table.
//!
//! # Start at
//! `build.rs`: the snapshot, and the rounds that follow it. What they take from the rest: `changed_keys.rs` (which rows changed meanwhile), `key_sort.rs` (the keys in their order), `row_copy.rs`
//! (rows of the new definition), `compare.rs` (whether rows and entries agree). What others see: `outcome.rs` (why a build ended), `progress.rs`, `remade.rs` (tables that a session has made anew).

pub(crate) mod build;
pub(crate) mod changed_keys;
pub mod compare;
pub(crate) mod key_sort;
pub(crate) mod outcome;
pub(crate) mod progress;
pub(crate) mod remade;
pub(crate) mod row_copy;
