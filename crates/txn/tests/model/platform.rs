//! What `crate::platform` of the product is, over shuttle and small; shared by the models of this crate.

pub use models::planted;
pub use shuttle::sync::{Arc, atomic};
pub use sync::CachePadded;

pub(crate) use crate::latch;

pub const RING_IDS: u64 = 64;
pub const BLOCK_IDS: u64 = 16;
pub const LOW_STEP: u64 = 4;
pub const COARSE_STEP: u64 = 8;
pub const OLD_FILTER_WORDS: usize = 1;
pub use crate::RELEASED_WORDS;

pub fn zeroed_words() -> Box<[atomic::AtomicU64; RING_IDS as usize]> {
    Box::new(std::array::from_fn(|_| atomic::AtomicU64::new(0)))
}
