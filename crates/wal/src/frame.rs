//! Framing of a record: `[len u32][crc u32][epoch u32][body][zeros to a multiple of 8]`; `len` is the body's.

use base::{crc32c, crc32c_extend};

/// Bytes before the body.
pub(crate) const HEADER_BYTES: usize = 12;
/// Records start at multiples of this.
pub(crate) const ALIGN: usize = 8;
/// No record's body is longer, whatever the settings were when it was written.
pub(crate) const BODY_BYTES_MAX: usize = 256 << 20;
/// The stream begins here, so that no record has the LSN "none" and the first is at a block's start.
pub(crate) const LSN_FIRST: u64 = 4096;

/// Bytes of the whole record.
pub(crate) const fn record_bytes(body_len: usize) -> usize {
    (HEADER_BYTES + body_len).next_multiple_of(ALIGN)
}

fn checksum(start: u64, epoch: u32, body: &[u8]) -> u32 {
    crc32c_extend(crc32c(body), start, u64::from(epoch) << 32 | body.len() as u64)
}

pub(crate) fn header(start: u64, epoch: u32, body: &[u8]) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..4].copy_from_slice(&(body.len() as u32).to_le_bytes());
    bytes[4..8].copy_from_slice(&checksum(start, epoch, body).to_le_bytes());
    bytes[8..].copy_from_slice(&epoch.to_le_bytes());
    bytes
}

/// A header as read, not yet believed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) body_len: usize,
    crc: u32,
    pub(crate) epoch: u32,
}

impl Header {
    pub(crate) fn parse(bytes: &[u8; HEADER_BYTES]) -> Header {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Header { body_len: word(0) as usize, crc: word(4), epoch: word(8) }
    }

    /// Whether the record can be one of epochs `epoch_min..=epoch_max`; epoch 0 never is.
    pub(crate) fn plausible(&self, epoch_min: u32, epoch_max: u32) -> bool {
        self.epoch != 0 && (epoch_min..=epoch_max).contains(&self.epoch) && self.body_len <= BODY_BYTES_MAX
    }

    pub(crate) fn fits(&self, start: u64, body: &[u8]) -> bool {
        body.len() == self.body_len && self.crc == checksum(start, self.epoch, body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_fits_only_its_place_epoch_and_body() {
        let bytes = header(4096, 3, b"body");
        let parsed = Header::parse(&bytes);
        assert!(parsed.plausible(1, 3) && !parsed.plausible(4, 9) && !parsed.plausible(1, 2));
        assert!(parsed.fits(4096, b"body"));
        assert!(!parsed.fits(4104, b"body") && !parsed.fits(4096, b"bodz") && !parsed.fits(4096, b"bod"));
        let mut other_epoch = bytes;
        other_epoch[8] = 2;
        assert!(!Header::parse(&other_epoch).fits(4096, b"body"));
        assert!(!Header::parse(&[0; HEADER_BYTES]).plausible(0, 9));
    }

    #[test]
    fn records_are_padded() {
        assert_eq!((record_bytes(0), record_bytes(4), record_bytes(5)), (16, 16, 24));
    }
}
