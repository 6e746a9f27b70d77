//! The one log: ring buffer, group commit, segments, checkpoint header, reader.
//!
//! A change is reserved, copied and marked complete without a latch; a committer makes it durable alone or as a member of a batch.
//!
//! # Invariants
//! 1. An [`base::Lsn`] is a byte position of the stream; records start at multiples of 8 and cover it without gaps.
//! 2. `durable ≤ written ≤ contiguous ≤ head`: synced, handed to the disk, completely in the ring, reserved.
//! 3. A record's checksum binds its bytes to its position and epoch; epochs grow with each start. Recovery takes a record for
//!    valid only when both fit, so stale bytes of a recycled segment or past a lost write never continue the log.
//! 4. Whoever waits for an LSN returns `Ok` only after a successful sync that covers it. One failed write or sync fails the log for good.
//! 5. The newest valid control slot refers to an intact checkpoint payload; no segment at or above its `redo_lsn` is reused.
//! 6. Ring bytes of `[written, head)` are never overwritten by later reservations.
//!
//! # Lock order
//! Commit state (no latch) → `LogWriter` → `LogGrow` → `LogSegment`. Appending takes no latch at all unless the ring is full.
//! Pins (`pins.rs`) hold segments back from recycling, never a writer from writing.
//! [`Wal::ensure_space`] is called with no latch held; [`Wal::reserve`] may be called with page latches held.
//!
//! # Not here
//! What a record means (crates `buffer_pool` and above); when to write a checkpoint (crate `engine`).
//!
//! # Start at
//! `wal.rs` (appending), `commit.rs` (durability), `group.rs` (batches and their wake-ups), `reader.rs` (recovery).
//! Bytes on disk: `docs/format/wal.md`. Why the I/O is as it is: `docs/design/wal-io.md`.

mod archive;
mod background;
mod commit;
mod config;
mod control;
mod error;
mod frame;
mod group;
mod hole;
mod link_buffer;
mod mark;
mod open;
mod pins;
mod platform;
mod prefetch;
mod reader;
mod reserve;
mod restored;
mod ring;
mod segments;
mod space;
mod stats;
mod stream;
mod wal;
mod writer;

pub use archive::{ArchiveState, ArchiveStatus, Archiver, LogArchive, prune as prune_archive};
pub use background::WalBackground;
pub use config::{FlushPolicy, WalConfig};
pub use control::{Checkpoint, ControlSlot, PATH as CONTROL, control_slots};
pub use error::WalError;
pub use pins::LogPin;
pub use reader::{LogEntry, LogReader};
pub use restored::RestoredLog;
pub use segments::{DIR, LiveSegment, segment_name};
pub use stats::WalStats;
pub use wal::{DurableObserver, Reservation, Wal};
