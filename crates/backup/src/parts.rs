//! Part files: frames one behind the other, written by appending and read back in order.

use crate::frame::{BODY_BYTES_MAX, Frame, HEADER_BYTES, Header};
use crate::manifest::Part;
use crate::{Error, Result};
use base::crc32c;
use env::{Disk, File, FileKind, OpenMode};
use std::sync::Arc;

/// A part is closed when it is longer than this.
const PART_BYTES: u64 = 1 << 30;
/// What is written is synced in steps, so that an interruption leaves most of it, and the disk is not flooded at the end.
const SYNC_BYTES: u64 = 64 << 20;

/// Name of a part file.
pub(crate) fn part_name(number: usize) -> String {
    format!("part-{number:05}")
}

/// Removes the parts from a number on, durably.
fn remove_parts(disk: &dyn Disk, from: usize) -> Result<()> {
    let stale =
        |name: &&String| name.strip_prefix("part-").and_then(|number| number.parse::<usize>().ok()).is_some_and(|number| number >= from);
    let names = disk.list("")?;
    let mut removed = false;
    for name in names.iter().filter(stale) {
        disk.remove(name)?;
        removed = true;
    }
    if removed {
        disk.sync_dir("")?;
    }
    Ok(())
}

/// Checksums of frames' headers, chained.
fn chain(crc: u32, header: &[u8]) -> u32 {
    base::crc32c_extend(crc, u64::from(crc32c(header)), 0)
}

/// Appends frames.
pub(crate) struct Writer {
    disk: Arc<dyn Disk>,
    /// Compression level of zstd; none = stored as it is.
    level: Option<i32>,
    done: Vec<Part>,
    open: Part,
    part_bytes: u64,
    file: Option<Arc<dyn File>>,
    unsynced: u64,
    /// Bytes written by this writer.
    pub(crate) written: u64,
}

impl Writer {
    /// Goes on behind what was read.
    pub(crate) fn new(disk: Arc<dyn Disk>, level: Option<i32>, mut found: Vec<Part>) -> Result<Writer> {
        // What lies behind the cut counts no more: it must not be taken for what follows on what is written now.
        remove_parts(&*disk, found.len())?;
        let open = found.pop();
        let mut writer = Writer {
            disk,
            level,
            done: found,
            open: Part { bytes: 0, frames: 0, crc: 0 },
            part_bytes: PART_BYTES,
            file: None,
            unsynced: 0,
            written: 0,
        };
        if let Some(part) = open {
            let name = part_name(writer.done.len());
            let file = writer.disk.open(&name, OpenMode::Existing, FileKind::Buffered)?;
            // What an interruption has left behind the last whole frame.
            file.set_len(part.bytes)?;
            (writer.open, writer.file) = (part, Some(file));
        }
        Ok(writer)
    }

    pub(crate) fn append(&mut self, frame: &Frame) -> Result<()> {
        if self.file.is_some() && self.open.bytes >= self.part_bytes {
            self.sync()?;
            self.done.push(self.open);
            self.file = None;
        }
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => {
                let file = self.disk.open(&part_name(self.done.len()), OpenMode::Create, FileKind::Buffered)?;
                file.set_len(0)?;
                self.disk.sync_dir("")?;
                self.open = Part { bytes: 0, frames: 0, crc: 0 };
                self.file = Some(Arc::clone(&file));
                file
            }
        };
        let packed = match self.level {
            Some(level) if !frame.body.is_empty() => Some(zstd::bulk::compress(&frame.body, level)?),
            _ => None,
        };
        // What does not shrink is stored as it is.
        let packed = packed.filter(|packed| packed.len() < frame.body.len());
        let stored = packed.as_deref().unwrap_or(&frame.body);
        assert!(frame.body.len() <= BODY_BYTES_MAX, "frame of {} bytes", frame.body.len());
        let header = Header {
            kind: frame.kind,
            compressed: packed.is_some(),
            first: frame.first,
            next: frame.next,
            body_bytes: frame.body.len() as u32,
            stored_bytes: stored.len() as u32,
            stored_crc: crc32c(stored),
            number: self.open.frames,
        };
        let mut bytes = header.encode();
        self.open.crc = chain(self.open.crc, &bytes);
        bytes.extend_from_slice(stored);
        file.write_at(&bytes, self.open.bytes)?;
        self.open.bytes += bytes.len() as u64;
        self.open.frames += 1;
        self.written += bytes.len() as u64;
        self.unsynced += bytes.len() as u64;
        if self.unsynced >= SYNC_BYTES {
            self.sync()?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        if let Some(file) = &self.file {
            file.sync()?;
        }
        self.unsynced = 0;
        Ok(())
    }

    /// Syncs; the parts that there are.
    pub(crate) fn finish(mut self) -> Result<Vec<Part>> {
        self.sync()?;
        if self.file.is_some() {
            self.done.push(self.open);
        }
        Ok(self.done)
    }
}

/// A frame's place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) part: usize,
    /// Where its body begins.
    pub(crate) offset: u64,
    pub(crate) header: Header,
}

/// Reads frames.
pub(crate) struct Reader {
    disk: Arc<dyn Disk>,
    open: Option<(usize, Arc<dyn File>, u64)>,
}

/// How far the parts are good.
pub(crate) enum End {
    /// Up to the end of the last part.
    Whole,
    /// Up to bytes that are no frame.
    Cut,
}

impl Reader {
    pub(crate) fn new(disk: Arc<dyn Disk>) -> Reader {
        Reader { disk, open: None }
    }

    fn file(&mut self, part: usize) -> Result<Option<(Arc<dyn File>, u64)>> {
        if let Some((open, file, bytes)) = &self.open
            && *open == part
        {
            return Ok(Some((Arc::clone(file), *bytes)));
        }
        let name = part_name(part);
        if !self.disk.exists(&name)? {
            return Ok(None);
        }
        let file = self.disk.open(&name, OpenMode::Existing, FileKind::Buffered)?;
        let bytes = file.len()?;
        self.open = Some((part, Arc::clone(&file), bytes));
        Ok(Some((file, bytes)))
    }

    /// The frames' headers in order, up to where they stop being good; and the parts up to there. With `bodies`, frames whose body does not
    /// fit its checksum are not good either.
    pub(crate) fn scan(&mut self, bodies: bool, mut each: impl FnMut(Place)) -> Result<(Vec<Part>, End)> {
        let mut parts = Vec::new();
        loop {
            let Some((file, bytes)) = self.file(parts.len())? else { return Ok((parts, End::Whole)) };
            let mut part = Part { bytes: 0, frames: 0, crc: 0 };
            while part.bytes < bytes {
                let mut header = [0; HEADER_BYTES];
                let mut good = bytes - part.bytes >= HEADER_BYTES as u64;
                let mut place = None;
                if good {
                    file.read_at(&mut header, part.bytes)?;
                    let decoded = Header::decode(&header).filter(|header| header.number == part.frames);
                    place = decoded.map(|header| Place { part: parts.len(), offset: part.bytes + HEADER_BYTES as u64, header });
                    good = place.is_some_and(|place| place.offset + u64::from(place.header.stored_bytes) <= bytes);
                }
                if good && bodies {
                    good = place.is_some_and(|place| self.body(&place).is_ok());
                }
                let Some(place) = place.filter(|_| good) else {
                    // A part without a whole frame is written anew.
                    parts.extend((part.frames > 0).then_some(part));
                    return Ok((parts, End::Cut));
                };
                part.crc = chain(part.crc, &header);
                part.frames += 1;
                part.bytes = place.offset + u64::from(place.header.stored_bytes);
                each(place);
            }
            if part.frames == 0 {
                return Ok((parts, End::Cut));
            }
            parts.push(part);
        }
    }

    /// A frame's body, checked.
    pub(crate) fn body(&mut self, place: &Place) -> Result<Vec<u8>> {
        let missing = || Error::Damaged(format!("{} is missing", part_name(place.part)));
        let (file, _) = self.file(place.part)?.ok_or_else(missing)?;
        let mut stored = vec![0; place.header.stored_bytes as usize];
        if !stored.is_empty() {
            file.read_at(&mut stored, place.offset)?;
        }
        place.header.body(stored).map_err(|error| Error::Damaged(format!("{} at {}: {error}", part_name(place.part), place.offset)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Kind;
    use env::SimDisk;

    fn frame(first: u64) -> Frame {
        Frame { kind: Kind::Pages, first, next: first + 1, body: vec![first as u8; 300] }
    }

    fn firsts(disk: &SimDisk) -> (Vec<u64>, Vec<Part>) {
        let mut firsts = Vec::new();
        let (parts, _) = Reader::new(Arc::new(disk.clone())).scan(true, |place| firsts.push(place.header.first)).expect("scans");
        (firsts, parts)
    }

    /// Parts behind a damaged one are of another attempt: no frame of them comes back, whatever a loss of power does.
    #[test]
    fn parts_behind_a_cut_are_gone_before_anything_is_appended() {
        for seed in 0..20 {
            let disk = SimDisk::new(seed);
            let writer = |found| {
                let mut writer = Writer::new(Arc::new(disk.clone()), None, found).expect("a writer");
                writer.part_bytes = 600;
                writer
            };
            let mut first = writer(Vec::new());
            (0..10).for_each(|no| first.append(&frame(no)).expect("appends"));
            assert_eq!(first.finish().expect("syncs").len(), 5);
            disk.flip_bit(&part_name(1), 400, 1).expect("flips");
            let (found, parts) = firsts(&disk);
            assert_eq!(found, [0, 1, 2]);
            let mut second = writer(parts);
            // Two frames fill the part that was cut, and one more begins the next.
            (20..22).for_each(|no| second.append(&frame(no)).expect("appends"));
            if seed % 2 == 0 {
                second.finish().expect("syncs");
            }
            disk.crash();
            let (found, _) = firsts(&disk);
            assert!([0, 1, 2, 20, 21].starts_with(&found), "seed {seed}: {found:?}");
            assert!(seed % 2 == 1 || found.len() == 5, "seed {seed}: {found:?}");
        }
    }
}
