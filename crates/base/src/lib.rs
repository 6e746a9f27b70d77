//! Ids, units and byte codecs that every crate shares.
//!
//! # Invariants
//! 1. Ids are newtypes; zero means "none" for all of them.
//! 2. On disk every integer is little-endian, except inside memory-comparable keys (crate `record`).
//!
//! # Not here
//! Anything that allocates per call, locks, or does I/O.

mod checksum;
mod codec;
mod ids;
mod near;

pub use checksum::{crc32c, crc32c_extend};
pub use codec::{Malformed, Reader, put_bytes, put_u8, put_u16, put_u32, put_u64, put_varint, varint_len};
pub use ids::{FrameNo, IndexId, Lsn, PageNo, TableId, TxnId, UndoPtr};
pub use near::{CACHE_LINE_BYTES, bring_all_near, bring_near};

/// Bytes of a data page.
pub const PAGE_BYTES: usize = 16 * 1024;
/// Pages of an extent.
pub const EXTENT_PAGES: u64 = 64;
