//! The files of a stopped server from outside: which pages of `data` are whose, and damage to order.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of a page of `data`.
pub const PAGE_BYTES: u64 = 16_384;
/// Type of a leaf, as a page's header has it.
pub const LEAF: u8 = 3;

/// Flips one bit of a file.
///
/// # Panics
/// When the file is not there or ends before.
pub fn flip(file: &Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(file).expect("opens");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("reads");
    file.write_all_at(&[byte[0] ^ 0x10], at).expect("writes");
}

/// Pages of a directory's data file of which `want` (type, index) is true.
///
/// # Panics
/// When there is no such file.
pub fn pages(dir: &Path, want: impl Fn(u8, u32) -> bool) -> Vec<u64> {
    let data = File::open(dir.join("data")).expect("opens");
    let mut header = [0; 48];
    let count = data.metadata().expect("length").len() / PAGE_BYTES;
    let index = |header: &[u8; 48]| u32::from_le_bytes([header[24], header[25], header[26], header[27]]);
    (0..count).filter(|page| data.read_exact_at(&mut header, page * PAGE_BYTES).is_ok() && want(header[4], index(&header))).collect()
}
