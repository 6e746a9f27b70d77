//! Disk, clock and entropy as traits: real, and simulated with crashes and faults.
//!
//! # Invariants
//! 1. All file access of the server goes through [`Disk`] and [`File`]; paths are relative to the data directory, `/`-separated. What users name
//!    outside of it goes through [`outside`].
//! 2. Only what [`File::sync`] covered survives a crash for certain; only what [`Disk::sync_dir`] covered keeps its name.
//! 3. The same seed and the same calls give the same [`SimDisk`] contents after a crash, bit for bit.
//! 4. A data directory is open in one process at a time ([`RealDisk::open`] holds a flock on its file `lock`:
//!    `directory_lock.rs`).
//!
//! # Not here
//! Which file holds what: that is for the crates above. Retrying a failed sync: never done anywhere.
//!
//! # Batches
//! [`File::read_many`] and [`File::write_many`] have all their pieces in flight at once (`ring.rs`: io_uring) where the kernel lets them; a disk that
//! does not know how does them one after another, and a crash in the middle leaves any of them done. [`Sends`] does the same for bytes to many sockets.
//!
//! # Start at
//! `disk.rs` (the traits), then `sim_disk.rs`.

mod aligned_buf;
mod clock;
mod directory_lock;
mod disk;
mod entropy;
mod idle;
mod kernel_ring;
pub mod outside;
mod overlay_disk;
mod read_only_disk;
mod real_disk;
mod ring;
mod sends;
mod sim_contents;
mod sim_disk;
mod sim_faults;
mod sim_file;
mod usage;

pub use aligned_buf::{AlignedBuf, DIRECT_ALIGN};
pub use clock::{Clock, RealClock, SimClock};
pub use disk::{Disk, File, FileKind, OpenMode, ReadPiece, is_disk_full};
pub use entropy::{Entropy, RealEntropy, SimEntropy, SplitMix64};
pub use idle::IdleTime;
pub use overlay_disk::OverlayDisk;
pub use read_only_disk::ReadOnlyDisk;
pub use real_disk::{OpenError, RealDisk, make_directory, open_unnamed};
pub use sends::{Sends, send_at_once};
pub use sim_disk::{CrashReport, SimCounts, SimDisk};
pub use sim_faults::{ReadFault, WriteFault};
pub use usage::ThreadUsage;
