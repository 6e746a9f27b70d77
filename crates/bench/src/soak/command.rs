//! The command line of `soak`.
