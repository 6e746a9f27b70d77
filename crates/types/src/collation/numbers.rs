//! Numbers of the generated files. These are part of the binary: a malformed one is a bug of the build, and only ends a table early.

/// What is left of a file.
#[derive(Clone, Copy)]
pub(super) struct Numbers(pub(super) &'static [u8]);

impl Numbers {
    /// Seven bits a byte, the lowest first.
    #[inline]
    pub(super) fn varint(&mut self) -> u32 {
        let (mut value, mut shift) = (0, 0);
        while let Some((&byte, rest)) = self.0.split_first() {
            self.0 = rest;
            value |= u32::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 || shift >= 28 {
                break;
            }
            shift += 7;
        }
        value
    }

    /// A number with a sign, that in the lowest bit.
    #[inline]
    pub(super) fn zigzag(&mut self) -> i32 {
        let number = self.varint();
        if number & 1 == 0 { (number >> 1) as i32 } else { -((number >> 1) as i32) - 1 }
    }

    /// Steps over bytes.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.0 = self.0.get(bytes..).unwrap_or_default();
    }
}
