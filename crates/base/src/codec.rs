//! Little-endian encoding into a `Vec<u8>` and bounds-checked decoding from a slice.

/// The bytes end early or hold a value out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("malformed bytes")
    }
}

impl std::error::Error for Malformed {}

/// Appends one byte.
pub fn put_u8(out: &mut Vec<u8>, v: u8) {
    out.push(v);
}

/// Appends two bytes, little-endian.
pub fn put_u16(out: &mut Vec<u8>, v: u16) {
    out.extend_from_slice(&v.to_le_bytes());
}

/// Appends four bytes, little-endian.
pub fn put_u32(out: &mut Vec<u8>, v: u32) {
    out.extend_from_slice(&v.to_le_bytes());
}

/// Appends eight bytes, little-endian.
pub fn put_u64(out: &mut Vec<u8>, v: u64) {
    out.extend_from_slice(&v.to_le_bytes());
}

/// Appends a LEB128 integer: seven bits a byte, low bits first (1 to 10 bytes).
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// Bytes that [`put_varint`] writes.
pub const fn varint_len(v: u64) -> usize {
    let bits = 64 - (v | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Appends a varint length and the bytes.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads what the `put_` functions wrote; never panics.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// What has not been read.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether all was read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(Malformed)?;
        self.rest = rest;
        Ok(head)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*head)
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes, little-endian.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Four bytes, little-endian.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Eight bytes, little-endian.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A LEB128 integer.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, Malformed> {
        // Most are of one byte.
        if let [byte @ 0..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(u64::from(*byte));
        }
        self.long_varint()
    }

    /// All bytes at once where there are eight to be looked at: seven bits of each are moved together pair by pair.
    fn long_varint(&mut self) -> Result<u64, Malformed> {
        const CONTINUES: u64 = 0x8080_8080_8080_8080;
        let Some(word) = self.rest.first_chunk::<8>() else { return self.varint_by_bytes() };
        let word = u64::from_le_bytes(*word);
        let ends = !word & CONTINUES;
        if ends == 0 {
            return self.varint_by_bytes();
        }
        let bits = ends.trailing_zeros() + 1;
        let value = word & !CONTINUES & (u64::MAX >> (64 - bits));
        let value = value & 0x007f_007f_007f_007f | (value & 0x7f00_7f00_7f00_7f00) >> 1;
        let value = value & 0x0000_3fff_0000_3fff | (value & 0x3fff_0000_3fff_0000) >> 2;
        let value = value & 0x0000_0000_0fff_ffff | (value & 0x0fff_ffff_0000_0000) >> 4;
        self.rest = &self.rest[bits as usize / 8..];
        Ok(value)
    }

    /// Of nine bytes and more, or near the end.
    #[cold]
    fn varint_by_bytes(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            if shift == 63 && byte > 1 {
                return Err(Malformed);
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    /// A varint length and that many bytes.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.varint()?;
        self.take(usize::try_from(length).map_err(|_| Malformed)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip_at_every_width() {
        for shift in 0..64 {
            for v in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut out = Vec::new();
                put_varint(&mut out, v);
                assert_eq!(out.len(), varint_len(v));
                let mut r = Reader::new(&out);
                assert_eq!(r.varint(), Ok(v));
                assert!(r.is_empty());
            }
        }
    }

    #[test]
    fn varints_are_the_same_all_at_once_and_byte_by_byte() {
        let mut random = 7u64;
        for _ in 0..100_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Runs of bytes that go on, of every length, some of them written longer than they need be.
            let mut bytes = (random ^ random >> 29).to_le_bytes().to_vec();
            bytes.iter_mut().take(random as usize >> 60).for_each(|byte| *byte |= 0x80);
            bytes.extend([random as u8 >> 1; 3]);
            let (mut at_once, mut by_bytes) = (Reader::new(&bytes), Reader::new(&bytes));
            assert_eq!(at_once.varint(), by_bytes.varint_by_bytes(), "{bytes:x?}");
            assert_eq!(at_once.rest(), by_bytes.rest(), "{bytes:x?}");
        }
    }

    #[test]
    fn overlong_varint_is_malformed() {
        assert_eq!(Reader::new(&[0xff; 11]).varint(), Err(Malformed));
        assert_eq!(Reader::new(&[0x80]).varint(), Err(Malformed));
    }

    #[test]
    fn bytes_longer_than_the_input_are_malformed() {
        assert_eq!(Reader::new(&[5, 1, 2]).bytes(), Err(Malformed));
    }
}
