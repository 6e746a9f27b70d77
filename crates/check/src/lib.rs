//! Looking at a data directory that no server runs on: is everything as it must be (`altiplano check`), and what can still be read
//! (`altiplano salvage`).
//!
//! Both recover the directory first, over an overlay that keeps what recovery writes apart (`env::OverlayDisk`), so that a directory whose
//! server was killed is seen as the next start would make it. Then pages are read as images, with no buffer pool: a page that cannot be read costs
//! itself, and the rest is still looked at.
//!
//! # Invariants
//! 1. Nothing in the directory is changed.
//! 2. No bytes on disk make it panic; each thing that is wrong is a [`Finding`], and the work goes on.
//! 3. `check` keeps a few bytes for each page of the data file (its owner, a bit whether it was reached), not a share of the data. `salvage` does
//!    the same where trees lead to their rows; of a table whose tree is damaged, or whose log is gone, it keeps 16 bytes for each key that is
//!    looked for on leaves the tree does not lead to, since a key may be on several.
//!
//! # Not here
//! CHECK TABLE on a running server (`engine`), texts of SQL (the caller gives them).
//!
//! # Start at
//! [`check()`], [`salvage()`].

mod dictionary;
mod directory;
mod files;
mod literal;
mod pages;
mod report;
mod row;
mod salvage;
mod salvaged_table;
mod salvaged_views;
mod table;
mod verify;
mod walk;

pub use directory::{Recovered, Source};
pub use report::{Finding, Report, Weight};
pub use salvage::{SalvageReport, TableText, Texts, salvage};
pub use salvaged_views::ViewText;
pub use verify::{CheckReport, check};
