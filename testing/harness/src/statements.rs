//! Statements that are part of a test's way, not what it asks.

use mysql::prelude::Queryable;

/// Runs statements one after the other. Panics with the first that fails, and its error.
pub fn run_all(connection: &mut mysql::Conn, statements: &[&str]) {
    for sql in statements {
        connection.query_drop(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}
