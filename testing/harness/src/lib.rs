//! Runners for data-file tests.
