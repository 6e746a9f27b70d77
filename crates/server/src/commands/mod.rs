//! Subcommands that do one thing and end: one file each, with its options.

pub mod backup;
mod bar;
pub mod check;
mod progress;
pub mod restore;
pub mod salvage;
pub mod seal;
