//! Errors as a client of the server hears them.

/// The number of an error that the server told. Panics with what it is when the client made it up: a connection that is gone, a value of another type.
pub fn code(error: &mysql::Error) -> u16 {
    match error {
        mysql::Error::MySqlError(error) => error.code,
        other => panic!("not an error of the server: {other}"),
    }
}
