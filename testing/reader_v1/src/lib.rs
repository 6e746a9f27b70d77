//! A reader of data directories of format 1, written from `docs/format` alone and frozen: it uses none of the program's code, and it is not changed when
//! the program is. What it cannot read any more is a change of the format that was not sealed.
//!
//! It reads directories that were closed in order: whose log has nothing behind the checkpoint.
//!
//! # Start at
//! [`Directory::open`], [`Directory::tables`], [`Directory::rows`].

mod bytes;
mod dictionary;
mod row;
mod tree;

pub use dictionary::{Column, Index, Table};
pub use row::Field;

use bytes::{Cursor, crc32c, u32_at, u64_at};
use std::fs;
use std::path::Path;

/// The only format that this reader knows.
pub const FORMAT: u32 = 1;
const PAGE: usize = 16_384;

/// Why something cannot be read.
pub type Problem = String;

/// A directory.
#[derive(Debug)]
pub struct Directory {
    data: Vec<u8>,
    dictionary_root: u64,
}

impl Directory {
    /// Opens a directory that no server uses.
    pub fn open(dir: &Path) -> Result<Directory, Problem> {
        let read = |name: &str| fs::read(dir.join(name)).map_err(|error| format!("{name}: {error}"));
        let data = read("data")?;
        let directory = Directory { data, dictionary_root: 0 };
        let header = directory.page(0)?;
        if &header[48..56] != b"ALTIPLAN" {
            return Err("data: no magic".into());
        }
        let (format, page) = (u32_at(header, 56), u32_at(header, 60));
        if format != FORMAT || page as usize != PAGE {
            return Err(format!("data: format {format} with pages of {page}; this reader knows format {FORMAT} with pages of {PAGE}"));
        }
        let payload = checkpoint(dir, &read("log/control")?)?;
        let mut cursor = Cursor::new(&payload);
        let version = cursor.varint()?;
        if version != 1 {
            return Err(format!("checkpoint payload of version {version}"));
        }
        for _ in 0..3 {
            cursor.varint()?; // next transaction, table, index
        }
        let dictionary_root = cursor.varint()?;
        Ok(Directory { dictionary_root, ..directory })
    }

    /// Definitions of all tables.
    pub fn tables(&self) -> Result<Vec<Table>, Problem> {
        let mut tables = Vec::new();
        for (_, value) in tree::entries(self, 1, self.dictionary_root)? {
            let Some(row) = self.whole(1, &value)? else { continue };
            // Two variable columns that are never NULL: key and value.
            let (key, value) = row::two_strings(&row)?;
            if key.first() == Some(&b'T') {
                tables.push(dictionary::table(&value)?);
            }
        }
        Ok(tables)
    }

    /// The rows of a table in the order of its primary key, deleted ones left out.
    pub fn rows(&self, table: &Table) -> Result<Vec<Vec<Field>>, Problem> {
        let primary = &table.indexes[0];
        let mut rows = Vec::new();
        for (_, value) in tree::entries(self, primary.id, primary.root)? {
            if let Some(row) = self.whole(primary.id, &value)? {
                rows.push(row::fields(&row, table)?);
            }
        }
        Ok(rows)
    }

    /// Entries of an index that are not marked deleted: keys as bytes.
    pub fn entries(&self, index: &Index) -> Result<Vec<Vec<u8>>, Problem> {
        let all = tree::entries(self, index.id, index.root)?;
        Ok(all.into_iter().filter(|(_, value)| value.first().is_some_and(|flags| flags & 1 == 0)).map(|(key, _)| key).collect())
    }

    /// A page whose checksum and number are right.
    fn page(&self, number: u64) -> Result<&[u8], Problem> {
        let at = number as usize * PAGE;
        let page = self.data.get(at..at + PAGE).ok_or_else(|| format!("page {number}: past the end"))?;
        if u32_at(page, 0) != crc32c(&page[4..], 0) {
            return Err(format!("page {number}: checksum"));
        }
        if u64_at(page, 8) != number {
            return Err(format!("page {number}: holds page {}", u64_at(page, 8)));
        }
        Ok(page)
    }

    /// A live row with its overflow chain behind its header; `None` when it is marked deleted.
    fn whole(&self, index: u32, stored: &[u8]) -> Result<Option<Vec<u8>>, Problem> {
        let flags = *stored.first().ok_or("an empty row")?;
        if flags & 1 != 0 {
            return Ok(None);
        }
        if flags & 2 == 0 {
            return Ok(Some(stored.to_vec()));
        }
        let (total, mut next) = (u64_at(stored, 19), u64_at(stored, 27));
        let mut row = stored[..19].to_vec();
        while next != 0 {
            let page = self.page(next)?;
            if page[4] != 5 || u32_at(page, 24) != index {
                return Err(format!("page {next}: not of a chain of index {index}"));
            }
            row.extend_from_slice(&page[64..64 + u32_at(page, 56) as usize]);
            next = u64_at(page, 48);
        }
        if row.len() as u64 != 19 + total {
            return Err(format!("a chain of {} bytes where there are to be {total}", row.len() - 19));
        }
        Ok(Some(row))
    }
}

/// The payload of the newest checkpoint, when the log has nothing behind it.
fn checkpoint(dir: &Path, control: &[u8]) -> Result<Vec<u8>, Problem> {
    let slot = |at: usize| {
        let slot = control.get(at..at + 512)?;
        let good = &slot[..8] == b"ALTIWAL1" && u32_at(slot, 58) == crc32c(&slot[..58], 0);
        good.then_some(slot)
    };
    let newest = [slot(0), slot(4_096)].into_iter().flatten().max_by_key(|slot| u64_at(slot, 8)).ok_or("log/control: no good slot")?;
    let (redo, segment) = (u64_at(newest, 20), u64_at(newest, 36));
    let name = format!("log/segment-{:08}", redo / segment);
    let log = fs::read(dir.join(&name)).map_err(|error| format!("{name}: {error}"))?;
    if record_at(&log, redo, (redo % segment) as usize) {
        return Err(format!("there is a record at {redo}: the directory was not closed in order"));
    }
    let name = format!("log/checkpoint-{}", newest[45]);
    let payload = fs::read(dir.join(&name)).map_err(|error| format!("{name}: {error}"))?;
    let payload = payload.get(..u64_at(newest, 46) as usize).ok_or_else(|| format!("{name}: too short"))?;
    if newest[44] != 1 || crc32c(payload, 0) != u32_at(newest, 54) {
        return Err(format!("{name}: checksum"));
    }
    Ok(payload.to_vec())
}

/// Whether a valid record starts at a position.
fn record_at(segment: &[u8], position: u64, at: usize) -> bool {
    let Some(header) = segment.get(at..at + 12) else { return false };
    let (length, epoch) = (u32_at(header, 0), u32_at(header, 8));
    let Some(body) = segment.get(at + 12..at + 12 + length as usize) else { return false };
    let mut covered = [0; 16];
    covered[..8].copy_from_slice(&position.to_le_bytes());
    covered[8..].copy_from_slice(&(u64::from(epoch) << 32 | u64::from(length)).to_le_bytes());
    let sum = crc32c(&[crc32c(body, 0).to_le_bytes().as_slice(), &covered].concat(), 0);
    epoch > 0 && u32_at(header, 4) == sum
}
