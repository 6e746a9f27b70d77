//! JSON documents as MySQL has them: a tree, a binary form that is stored, the text, paths, comparison, changes.
//!
//! # Invariants
//! 1. The members of an object are sorted by the length of their names, then by bytes; a name occurs once ([`Object`]).
//! 2. A document nests at most [`DEPTH_MAX`] containers; who reads or makes a deeper one gets an error, so that recursion is bounded.
//! 3. Binary documents are bytes from a disk: each offset is checked when it is followed, and damage is [`Error::Malformed`], never a panic.
//! 4. Equal documents ([`compare()`]) have equal keys ([`append_key`]), and keys order as documents do.
//!
//! The bytes are in `docs/format/json.md`.
//!
//! # Not here
//! SQL's functions, their NULL rules and error numbers (the executor's).
//!
//! # Start at
//! [`View`] (a binary document), [`Json`] (a tree), [`Path`].

mod binary;
mod compare;
mod contains;
mod edit;
mod names;
mod parse;
mod path;
mod path_text;
mod print;
mod steps;
mod value;

pub use binary::{View, encode};
pub use compare::{append_key, compare};
pub use contains::{contains, member_of, overlaps};
pub use edit::{Edit, array_append, array_insert, change, merge_patch, merge_preserve, remove};
pub use names::{STORED_NAME_BYTES_MAX, has_storable_names};
pub use parse::{ParseError, parse};
pub use path::{Found, Leg, Path, Place};
pub use print::{append_quoted, pretty, text, to_text};
pub use steps::Look;
pub use value::{Json, Kind, Object};

/// Most containers within one another.
pub const DEPTH_MAX: usize = 100;

/// Why a document cannot be read or made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// The bytes are no document.
    Malformed,
    /// More than [`DEPTH_MAX`] containers within one another.
    TooDeep,
    /// A document or a name that the binary form has no room for.
    TooBig,
    /// No memory.
    Memory(memory::Excess),
}

impl From<memory::Excess> for Error {
    fn from(excess: memory::Excess) -> Error {
        Error::Memory(excess)
    }
}

/// What reading and making documents gives.
pub type Result<T> = std::result::Result<T, Error>;
