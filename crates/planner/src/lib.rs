//! Bind, rewrite, optimize.
