//! Data dictionary.
