//! The log in a backup as a log's own directory would hold it, so that the log's reader can look at it. Nothing is written.

use crate::parts::{Place, Reader};
use crate::{Error, Result};
use base::Lsn;
use env::{Disk, File, FileKind, OpenMode};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use sync::{Mutex, Rank};

/// Frames whose bodies are kept at hand: a read goes over the border of two at most.
const BODIES_KEPT: usize = 3;

/// Bytes of the stream out of the frames of a backup.
pub(crate) struct LogFrames {
    /// In order; each ends at or behind the one before, and later ones replace what they overlap.
    places: Vec<Place>,
    disk: Arc<dyn Disk>,
    /// By position in `places`.
    bodies: Mutex<Vec<(usize, Arc<Vec<u8>>)>>,
}

impl LogFrames {
    pub(crate) fn new(disk: Arc<dyn Disk>, places: Vec<Place>) -> Result<LogFrames> {
        if places.windows(2).any(|pair| pair[0].header.next > pair[1].header.next) {
            return Err(Error::Damaged("the backup's log goes back".into()));
        }
        Ok(LogFrames { places, disk, bodies: Mutex::new(Rank::Leaf, Vec::new()) })
    }

    /// Bytes at a position; zeros where there are none.
    pub(crate) fn read(&self, out: &mut [u8], at: Lsn) -> Result<()> {
        out.fill(0);
        let (from, to) = (at.0, at.0 + out.len() as u64);
        let begin = self.places.partition_point(|place| place.header.next <= from);
        for no in begin..self.places.len() {
            let header = self.places[no].header;
            if header.first >= to {
                break;
            }
            let body = self.body(no)?;
            let end = header.first + body.len() as u64;
            let (start, stop) = (from.max(header.first), to.min(end));
            if start < stop {
                let piece = &body[(start - header.first) as usize..(stop - header.first) as usize];
                out[(start - from) as usize..(stop - from) as usize].copy_from_slice(piece);
            }
        }
        Ok(())
    }

    fn body(&self, no: usize) -> Result<Arc<Vec<u8>>> {
        if let Some((_, body)) = self.bodies.lock().iter().find(|(kept, _)| *kept == no) {
            return Ok(Arc::clone(body));
        }
        let body = Arc::new(Reader::new(Arc::clone(&self.disk)).body(&self.places[no])?);
        let mut bodies = self.bodies.lock();
        if bodies.len() == BODIES_KEPT {
            bodies.remove(0);
        }
        bodies.push((no, Arc::clone(&body)));
        Ok(body)
    }
}

/// The directory of a log: `log/segment-N`.
pub(crate) struct LogDisk {
    pub(crate) frames: Arc<LogFrames>,
    pub(crate) segment_bytes: u64,
    /// Numbers of the segments there are.
    pub(crate) first: u64,
    pub(crate) last: u64,
}

struct Segment {
    frames: Arc<LogFrames>,
    start: u64,
    bytes: u64,
}

impl LogDisk {
    fn number(&self, path: &str) -> Option<u64> {
        (self.first..=self.last).find(|number| path == format!("{}/{}", wal::DIR, wal::segment_name(*number)))
    }
}

fn only_read() -> io::Error {
    io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "a backup's log is only read")
}

impl Disk for LogDisk {
    fn open(&self, path: &str, mode: OpenMode, _kind: FileKind) -> io::Result<Arc<dyn File>> {
        let number = self.number(path).filter(|_| mode == OpenMode::Existing).ok_or(io::ErrorKind::NotFound)?;
        let segment = Segment { frames: Arc::clone(&self.frames), start: number * self.segment_bytes, bytes: self.segment_bytes };
        Ok(Arc::new(segment))
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        Ok(self.number(path).is_some())
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        match dir {
            wal::DIR => Ok((self.first..=self.last).map(wal::segment_name).collect()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        Err(only_read())
    }

    fn remove(&self, _path: &str) -> io::Result<()> {
        Err(only_read())
    }

    fn create_dir_all(&self, _dir: &str) -> io::Result<()> {
        Err(only_read())
    }

    fn sync_dir(&self, _dir: &str) -> io::Result<()> {
        Err(only_read())
    }
}

impl File for Segment {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        if offset + buf.len() as u64 > self.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.frames.read(buf, Lsn(self.start + offset)).map_err(|error| io::Error::other(error.to_string()))
    }

    fn write_at(&self, _buf: &[u8], _offset: u64) -> io::Result<()> {
        Err(only_read())
    }

    fn sync(&self) -> io::Result<()> {
        Err(only_read())
    }

    fn reserve(&self, _range: Range<u64>) -> io::Result<()> {
        Err(only_read())
    }

    fn set_len(&self, _len: u64) -> io::Result<()> {
        Err(only_read())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes)
    }

    fn punch_hole(&self, _offset: u64, _len: u64) -> io::Result<()> {
        Err(only_read())
    }
}
