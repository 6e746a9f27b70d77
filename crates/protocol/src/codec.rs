//! Length-encoded integers and strings, and a bounds-checked reader of wire bytes.

pub use base::Malformed;

/// Appends a length-encoded integer (1, 3, 4 or 9 bytes).
#[inline]
pub fn put_lenenc_int(out: &mut Vec<u8>, value: u64) {
    if value < 251 {
        out.push(value as u8);
    } else {
        put_lenenc_int_long(out, value);
    }
}

#[inline(never)]
fn put_lenenc_int_long(out: &mut Vec<u8>, value: u64) {
    let (bytes, count) = lenenc_int(value);
    out.extend_from_slice(&bytes[..count]);
}

/// A length-encoded integer, and how many of the bytes it takes.
#[inline]
pub const fn lenenc_int(value: u64) -> ([u8; 9], usize) {
    let count = lenenc_int_bytes(value);
    let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
    let bytes = match count {
        1 => [a, 0, 0, 0, 0, 0, 0, 0, 0],
        3 => [0xFC, a, b, 0, 0, 0, 0, 0, 0],
        4 => [0xFD, a, b, c, 0, 0, 0, 0, 0],
        _ => [0xFE, a, b, c, d, e, f, g, h],
    };
    (bytes, count)
}

/// Bytes that [`put_lenenc_int`] writes.
pub const fn lenenc_int_bytes(value: u64) -> usize {
    match value {
        0..251 => 1,
        251..0x1_0000 => 3,
        0x1_0000..0x100_0000 => 4,
        _ => 9,
    }
}

/// Appends a length and the bytes.
#[inline]
pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len() + 9);
    put_lenenc_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends the bytes and a zero. A zero inside would end the string early, so the string is cut there.
pub fn put_nul_string(out: &mut Vec<u8>, bytes: &[u8]) {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    out.extend_from_slice(&bytes[..end]);
    out.push(0);
}

/// Reads wire values from a slice; every method is bounds-checked.
#[derive(Debug, Clone, Copy)]
pub struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    /// Reads from the start of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been read.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether all has been read.
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.rest.split_at_checked(count).ok_or(Malformed)?;
        self.rest = tail;
        Ok(head)
    }

    /// Everything that is left.
    pub fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// The next `N` bytes as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(Malformed)?;
        self.rest = tail;
        Ok(*head)
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Three bytes.
    pub fn u24(&mut self) -> Result<u32, Malformed> {
        let b = self.array::<3>()?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], 0]))
    }

    /// Four bytes.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Eight bytes.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A length-encoded integer. The NULL mark 0xFB and the reserved 0xFF are malformed here.
    #[inline]
    pub fn lenenc_int(&mut self) -> Result<u64, Malformed> {
        match self.u8()? {
            b @ 0..=250 => Ok(u64::from(b)),
            0xFC => Ok(u64::from(self.u16()?)),
            0xFD => Ok(u64::from(self.u24()?)),
            0xFE => self.u64(),
            _ => Err(Malformed),
        }
    }

    /// A length-encoded string.
    #[inline]
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.lenenc_int()?).map_err(|_| Malformed)?;
        self.take(length)
    }

    /// A value of a text row: NULL or a length-encoded string.
    pub fn lenenc_nullable(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        if self.rest.first() == Some(&0xFB) {
            self.u8()?;
            return Ok(None);
        }
        self.lenenc_bytes().map(Some)
    }

    /// Bytes up to a zero, which is consumed.
    pub fn nul_string(&mut self) -> Result<&'a [u8], Malformed> {
        let end = self.rest.iter().position(|&b| b == 0).ok_or(Malformed)?;
        let string = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(string)
    }

    /// Bytes up to a zero or the end; old clients leave the last zero away.
    pub fn nul_string_or_rest(&mut self) -> &'a [u8] {
        self.nul_string().unwrap_or_else(|_| self.take_rest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenenc_ints_take_the_shortest_form_and_come_back() {
        for value in [0, 1, 250, 251, 252, 0xFFFF, 0x1_0000, 0xFF_FFFF, 0x100_0000, u64::MAX] {
            let mut out = Vec::new();
            put_lenenc_int(&mut out, value);
            assert_eq!(out.len(), lenenc_int_bytes(value), "{value}");
            let mut bytes = Bytes::new(&out);
            assert_eq!(bytes.lenenc_int(), Ok(value));
            assert!(bytes.is_empty());
            for cut in 0..out.len() {
                assert_eq!(Bytes::new(&out[..cut]).lenenc_int(), Err(Malformed));
            }
        }
        assert_eq!(Bytes::new(&[0xFB]).lenenc_int(), Err(Malformed));
        assert_eq!(Bytes::new(&[0xFF]).lenenc_int(), Err(Malformed));
    }

    #[test]
    fn a_length_beyond_the_end_is_malformed() {
        assert_eq!(Bytes::new(&[5, b'a']).lenenc_bytes(), Err(Malformed));
        assert_eq!(Bytes::new(&[0xFE, 255, 255, 255, 255, 255, 255, 255, 255, 1]).lenenc_bytes(), Err(Malformed));
        assert_eq!(Bytes::new(b"no zero").nul_string(), Err(Malformed));
    }
}
