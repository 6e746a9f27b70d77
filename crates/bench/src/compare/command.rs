//! The command line of `compare`.
