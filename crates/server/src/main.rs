//! The `altiplano` binary.

fn main() {}
