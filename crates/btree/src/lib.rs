//! B+tree over pages; keys and values are bytes, keys compare by `memcmp` and are unique in their tree.
//!
//! # Invariants
//! 1. The root page's number never changes; when the root splits its content moves down, when it has one child that moves up.
//! 2. A leaf holds the keys from its separator (inclusive) to its right neighbour's (exclusive). Separators are as short as they can be.
//! 3. Every structure change (split, merge, root growth) is one mini-transaction, after which the tree is whole. A split that needs room in
//!    the parent splits the parent before, in another.
//! 4. A page that leaves the tree is marked as no page of it in the mini-transaction that frees it.
//! 5. A change of a page is a function of its bytes and the logged operation alone; redo runs the same function.
//!
//! # Latch order
//! Parent → child, left → right, tree pages → space map pages. Inner pages are read optimistically and latched only by structure changes.
//! No call descends while its thread holds a leaf, of whatever tree: park cursors and finish writes before ([`Cursor`], [`LeafWrite`]; debug builds check).
//! Whoever needs a left sibling tries, and otherwise lets go and comes from the left. `ensure_space` of the log is called with no latch held.
//!
//! # Not here
//! What keys and values mean, locks, versions, visibility: crate `engine`. One entry is at most [`ENTRY_BYTES_MAX`]; larger values go to [`overflow`] chains.
//!
//! # Start at
//! [`BTree::get`], then `descend.rs`; the page's bytes are in `docs/format/btree.md` and `node.rs`.

mod ahead;
mod build;
mod check;
mod cursor;
mod delta;
mod descend;
mod edit;
mod error;
mod estimate;
mod holding;
pub mod image;
mod keys_ahead;
mod layout;
mod leaf_scan;
mod merge;
mod near;
mod node;
mod onward;
mod ops;
pub mod overflow;
#[cfg(test)]
mod page_tests;
mod run;
mod search;
mod split;
mod tree;
mod write;

pub use ahead::Pace;
pub use build::Builder;
pub use check::{CheckError, TreeStats};
pub use cursor::{Cursor, Direction, Resumed, SavedCursor, Scanned, Seek};
pub use edit::NoRoom;
pub use error::{Error, Result};
pub use keys_ahead::KeysAhead;
pub use layout::{ENTRY_BYTES_MAX, figures_of};
pub use leaf_scan::Entries;
pub use near::{KEYS_NEAR_MAX, Near};
pub use node::KeyRef;
pub use ops::{DELTAS_FROM_FORMAT, Redo};
pub use run::{RunEnd, RunPlan, RunWrite};
pub use tree::BTree;
pub use write::LeafWrite;
