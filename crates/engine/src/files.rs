//! Which files make a data directory; each is named by the crate that writes it. The format of each: `docs/format/README.md`.

/// Directories in it.
pub const DIRECTORIES: [&str; 2] = [wal::DIR, undo::DIR];

/// Files beside them that hold data.
pub const IN_ROOT: [&str; 2] = [page_store::DATA, page_store::DOUBLEWRITE];
