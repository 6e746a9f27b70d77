//! The in-memory home of data-file pages; mini-transactions.
