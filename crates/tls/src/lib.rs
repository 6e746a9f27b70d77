//! Certificates, keys and the settings under which connections are encrypted.
//!
//! A server without certificates makes its own at the first start, as MySQL does: an authority, and what it signs for the server and
//! for a client. [`Tls`] holds what is in force; `ALTER INSTANCE RELOAD TLS` exchanges it, connections that are open keep theirs.
//!
//! # Invariants
//! 1. What is in force was loaded as a whole: certificate and key belong together, or nothing is exchanged.
//! 2. A key's file is readable by its owner only from the moment it exists.
//! 3. A file that is there is never overwritten.
//!
//! # Not here
//! The bytes of a connection (`server/src/transport.rs`), variables (`session`).
//!
//! # Start at
//! [`Tls`], then `files.rs`.

mod context;
mod files;
mod peer;

pub use context::{Current, Figures, Settings, Tls, TlsError};
pub use files::{CA_CERT, CLIENT_CERT, CLIENT_KEY, SERVER_CERT, SERVER_KEY, make_missing};
pub use peer::{PeerCertificate, Secured};
pub use rustls;
