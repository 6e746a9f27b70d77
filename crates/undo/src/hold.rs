//! For backups: the file as a checkpoint's directory lists it, kept as it is while it is copied.

use crate::checkpoint::{Listed, check_frames, read_directory};
use crate::error::UndoError;
use crate::frame::SEGMENT_BYTES;
use crate::store::UndoStore;
use std::sync::Arc;
use sync::atomic::{AtomicU32, Ordering};

/// While it lives, no place of the file that was in use when it was made is given to another segment.
#[derive(Debug)]
pub struct PlacesHold(Arc<AtomicU32>);

impl Drop for PlacesHold {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// A stretch of the undo file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoExtent {
    /// Number of the segment.
    pub segment: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
}

impl UndoExtent {
    /// What a directory lists, in its order.
    pub fn listed(directory: &[u8]) -> Result<Vec<UndoExtent>, UndoError> {
        let extent =
            |listed: &Listed| UndoExtent { segment: listed.number, offset: listed.place * SEGMENT_BYTES as u64, bytes: listed.tail };
        Ok(read_directory(directory)?.1.iter().map(extent).collect())
    }

    /// Whether a copy of it is whole: each record fits its checksum. How many there are.
    pub fn check(&self, copy: &[u8]) -> Result<u64, UndoError> {
        if copy.len() as u64 != self.bytes {
            return Err(UndoError::Corrupt { what: "length of a segment" });
        }
        check_frames(self.segment, copy)
    }
}

impl UndoStore {
    /// Keeps the places that the next checkpoint's directory will list from being written by others.
    pub fn hold_places(&self) -> PlacesHold {
        self.segments.holds.fetch_add(1, Ordering::AcqRel);
        PlacesHold(Arc::clone(&self.segments.holds))
    }

    /// Bytes of the file that a directory lists.
    pub fn read_extent(&self, extent: UndoExtent) -> Result<Vec<u8>, UndoError> {
        let mut bytes = vec![0; extent.bytes as usize];
        self.file.read_at(&mut bytes, extent.offset)?;
        Ok(bytes)
    }
}
