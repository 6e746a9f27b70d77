//! Space map: which index owns which page of the data file, and which pages are free.
//!
//! The file is divided into regions of 63 extents of 64 pages. The second page of each region is its map page: a kind for each extent and an
//! owner (index id, 0 = free) for each page. Small indexes share mixed extents for their first pages; a larger one takes whole extents, leaves and
//! inner nodes apart, so that a scan of leaves reads neighbours and a drop returns extents.
//!
//! # Invariants
//! 1. A page has at most one owner. What the map pages say after redo is the truth; the index in memory is built from them, each when it is wanted first
//!    (`read_region`), so that opening does not depend on their number.
//! 2. Map pages change only in the caller's mini-transaction, under the map page's exclusive latch, which is held until its commit. So a freed page
//!    is given to nobody before the freeing record is in the log, and redo sees free and reuse in that order.
//! 3. The index in memory changes under the map page's latch too. It may call a page used that is free (an index being dropped), never the other way round.
//! 4. Pages of a dropped index are forgotten by the pool and punched out of the file only when the record that frees them is durable, and given out
//!    again only after that; who drops it does not wait for it (`drop_index.rs`).
//! 5. A page is given out only when it has room on the device: its extent is new at the file's end, or was reserved (`backed.rs`). So what is acknowledged can
//!    be written however full the disk gets.
//!
//! # Lock order
//! B+tree page latches → map page latches, ascending; one out of order is tried, not waited for → the index's mutex (never held while a latch is taken).
//!
//! # Start at
//! [`SpaceMap::allocate`], then `layout.rs`.

mod allocate;
mod backed;
mod drop_index;
mod error;
mod image;
mod index;
mod layout;
mod map;

pub use error::SpaceError;
pub use image::MapImage;
pub use layout::Redo;
pub use map::{PageKind, SpaceMap, SpaceUsage};
