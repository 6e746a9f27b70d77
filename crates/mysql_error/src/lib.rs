//! MySQL error numbers, SQLSTATEs and message templates.
//!
//! One table ([`codes`]) names every error that the server raises: number, symbol, SQLSTATE and text as the public
//! "Server Error Message Reference" of MySQL documents them. It yields a constant per symbol (`ER_DUP_ENTRY`) and a constructor
//! per symbol ([`codes::dup_entry`]) whose parameters are the holes of the text, so a message cannot be built with the wrong arguments.
//!
//! # Invariants
//! 1. A number and a symbol occur once in the table (tested).
//! 2. SQLSTATE is five ASCII letters or digits; the class `00` never occurs.
//!
//! # Not here
//! How much a failed statement undoes: the session's error map decides that.

mod error;
mod table;

pub use error::{SqlError, Warning, WarningLevel};
pub use table::{ErrorInfo, codes, lookup};
