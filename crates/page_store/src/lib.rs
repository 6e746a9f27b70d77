//! Page store: where a page lives on disk. It seals and verifies pages, and makes a batch of page writes survive a crash
//! in the middle (doublewrite).
//!
//! # Invariants
//! 1. A page that is read back has a correct checksum and its own page number, and is the image that this process wrote last there, if it wrote one;
//!    anything else, twice in a row, is an error, never data.
//! 2. A page is overwritten in place only after a complete copy of the new image is durable in `doublewrite`; so after a crash
//!    every page is old, new, or can be restored by [`PageStore::open`]'s repair. The copies are not written over before the pages are
//!    whole in place, durably, also after a write in place that failed.
//! 3. A page whose place holds neither a good image nor a good copy is reported and left as it is.
//! 4. After a failed sync the store refuses every later write: the kernel may have dropped what it acknowledged.
//!
//! # Lock order
//! One write lock orders batches; it is held over the writes of a batch and nothing else is taken inside it.
//!
//! # Not here
//! What a page holds past its header, when it is written, and which pages are free.
//!
//! # Start at
//! [`PageStore`], then `doublewrite.rs`.

mod batch;
mod doublewrite;
mod error;
pub mod header;
mod lacking;
mod store;
mod written;

pub use batch::Batch;
pub use error::StoreError;
pub use header::PageType;
pub use lacking::Lacking;
pub use store::{DATA, DOUBLEWRITE, DamageObserver, FORMAT_NEWEST, FORMAT_OLDEST, PageRead, PageStore, StoreConfig, StoreStats};
