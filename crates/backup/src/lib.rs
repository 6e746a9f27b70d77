//! Backup of a running engine, and restore: also to a point in time, from archived log.
//!
//! # Invariants
//! 1. A backup counts as one only when its `manifest` is there, which is written last.
//! 2. What is in a backup has its checksum checked when it is written, when it is verified and when it is restored: frames, and what is in them by its
//!    own: pages, records of the log and of undo.
//! 3. No page of a backup is newer than its end LSN, and none lacks a change from before its redo LSN (`docs/design/backup.md` says why).
//! 4. A restored directory becomes a data directory by the last file that is written, `log/control`.
//!
//! # Not here
//! How frames travel from a server (`session`, `server`); what recovery does with a restored directory (`engine`).
//!
//! # Start at
//! [`take`], with [`Source`] for what it reads from; [`restore`]. Bytes: `docs/format/backup.md`.

mod error;
mod frame;
mod log_disk;
mod manifest;
mod online;
mod parts;
mod point_in_time;
mod prune;
mod restore;
mod set;
mod source;
mod take;

/// The file of a data directory that keeps variables over restarts (SET PERSIST). Beside data, undo and log a backup has it, too.
pub const SETTINGS: &str = "persisted.json";

pub use error::{Error, Result};
pub use frame::{Begin, Frame, Kind};
pub use manifest::Manifest;
pub use online::{Activity, ActivityFigures, Online};
pub use point_in_time::Until;
pub use prune::{Pruned, prune_archive};
pub use restore::{Restored, restore};
pub use set::{BackupSet, Verified, is_empty_directory};
pub use source::{Source, Step};
pub use take::{Options, Outcome, Progress, take};
