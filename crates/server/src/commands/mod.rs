//! Subcommands that do one thing and end: one file each, with its options.

pub mod backup;
mod bar;
mod reading;
pub mod restore;
