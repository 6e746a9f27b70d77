//! `manifest`: what makes a directory of parts a backup. A few lines of text.

use crate::{Error, Result};
use base::{Lsn, crc32c};

const HEAD: &str = "altiplano backup 1";

/// A complete backup, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The program it was made from.
    pub program: String,
    /// Recovery of the copy begins here.
    pub redo_lsn: Lsn,
    /// The copy is the server as it was here.
    pub end_lsn: Lsn,
    /// When it was begun and when it was there, by the server's wall clock in microseconds.
    pub begin_us: i64,
    /// See `begin_us`.
    pub end_us: i64,
    /// Bytes of a log segment.
    pub segment_bytes: u64,
    /// Pages of the data file.
    pub pages: u64,
    /// The parts in order.
    pub parts: Vec<Part>,
}

/// A part file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Its length.
    pub bytes: u64,
    /// Frames in it.
    pub frames: u32,
    /// crc32c over the headers of its frames, each of which has the checksum of its body.
    pub crc: u32,
}

impl Manifest {
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "{HEAD}\nprogram {}\nredo_lsn {}\nend_lsn {}\nbegin_us {}\nend_us {}\nsegment_bytes {}\npages {}\nparts {}\n",
            self.program.replace('\n', " "),
            self.redo_lsn.0,
            self.end_lsn.0,
            self.begin_us,
            self.end_us,
            self.segment_bytes,
            self.pages,
            self.parts.len()
        );
        for (number, part) in self.parts.iter().enumerate() {
            text += &format!("part {number} bytes {} frames {} crc {:08x}\n", part.bytes, part.frames, part.crc);
        }
        let crc = crc32c(text.as_bytes());
        text + &format!("crc {crc:08x}\n")
    }

    pub(crate) fn parse(text: &str) -> Result<Manifest> {
        Self::try_parse(text).ok_or_else(|| Error::Damaged("the backup's manifest is damaged or of another version".into()))
    }

    fn try_parse(text: &str) -> Option<Manifest> {
        let end = text.rfind("crc ")?;
        let (body, last) = text.split_at(end);
        if u32::from_str_radix(last.strip_prefix("crc ")?.trim_end(), 16).ok()? != crc32c(body.as_bytes()) {
            return None;
        }
        let mut lines = body.lines();
        if lines.next()? != HEAD {
            return None;
        }
        let mut value = |name: &str| Some(lines.next()?.strip_prefix(name)?.trim().to_owned());
        let mut manifest = Manifest {
            program: value("program")?,
            redo_lsn: Lsn(value("redo_lsn")?.parse().ok()?),
            end_lsn: Lsn(value("end_lsn")?.parse().ok()?),
            begin_us: value("begin_us")?.parse().ok()?,
            end_us: value("end_us")?.parse().ok()?,
            segment_bytes: value("segment_bytes")?.parse().ok()?,
            pages: value("pages")?.parse().ok()?,
            parts: Vec::new(),
        };
        let count: usize = value("parts")?.parse().ok()?;
        for number in 0..count {
            let line = lines.next()?;
            let words: Vec<&str> = line.split(' ').collect();
            let ["part", no, "bytes", bytes, "frames", frames, "crc", crc] = words[..] else { return None };
            if no.parse::<usize>().ok()? != number {
                return None;
            }
            let part = Part { bytes: bytes.parse().ok()?, frames: frames.parse().ok()?, crc: u32::from_str_radix(crc, 16).ok()? };
            manifest.parts.push(part);
        }
        Some(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips_and_a_changed_character_is_found() {
        let part = Part { bytes: 1 << 30, frames: 1024, crc: 0xdead_beef };
        let manifest = Manifest {
            program: "altiplano 0.1.0".into(),
            redo_lsn: Lsn(5000),
            end_lsn: Lsn(9000),
            begin_us: 1,
            end_us: 2,
            segment_bytes: 65536,
            pages: 256,
            parts: vec![part, Part { crc: 1, ..part }],
        };
        let text = manifest.text();
        assert_eq!(Manifest::parse(&text), Ok(manifest));
        assert!(Manifest::parse(&text.replace("9000", "9001")).is_err());
        assert!(Manifest::parse(&text[..text.len() / 2]).is_err());
    }
}
