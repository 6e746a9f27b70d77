//! Random definitions and changes in SQL, held against tables that are lists of rows in memory.
//!
//! The model knows nothing of indexes, undo, versions of rows or online changes: a key is a condition on the list, ALTER TABLE makes another list, a transaction is a
//! copy of everything. It was written from MySQL's documentation, and is itself checked by running it against a MySQL (`cargo xtask model --server HOST:PORT`).
//!
//! # Start at
//! `statement.rs`, `Database::apply` in `database.rs`, then [`survey`].
//!
//! # Invariants
//! 1. The same seed makes the same statements, whatever the server answers: they are drawn from the model's state alone, and the run ends where both differ.
//! 2. What the documentation leaves open (which of several foreign keys is followed first, how many numbers a failing INSERT uses up) is not asked.
//! 3. No statement's outcome depends on an order of rows that it does not ask for, nor on which of two errors is told first: then the model allows either.

mod check;
mod database;
mod draw;
mod model;
mod run;
mod statement;

pub use run::{Counts, survey};
