//! The text of an OK packet, such as `Rows matched: 1  Changed: 1  Warnings: 0`: `format!` costs a thousand instructions and an allocation.

/// The longest text: three labels of up to 14 bytes, three numbers of up to 20.
const BYTES_MAX: usize = 102;

/// Such a text, or none.
pub(crate) struct Info {
    bytes: [u8; BYTES_MAX],
    len: usize,
}

impl Info {
    pub(crate) const NONE: Info = Info { bytes: [0; BYTES_MAX], len: 0 };

    /// Labels and the numbers behind them.
    #[inline]
    pub(crate) fn new(labels: [&str; 3], numbers: [u64; 3]) -> Info {
        let mut info = Info::NONE;
        for (label, number) in labels.iter().zip(numbers) {
            info.put(label.as_bytes());
            match number {
                0..10 => info.put(&[b'0' + number as u8]),
                _ => info.number(number),
            }
        }
        info
    }

    // Inlined, so that labels are copied without a call.
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    #[inline(never)]
    fn number(&mut self, mut number: u64) {
        let mut digits = [0; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.put(&digits[first..]);
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_format_writes_them() {
        for number in [0, 1, 9, 10, 99, 100, 1_000_000_007, u64::MAX] {
            let info = Info::new(["Rows matched: ", "  Changed: ", "  Warnings: "], [number, 0, number]);
            let expected = format!("Rows matched: {number}  Changed: 0  Warnings: {number}");
            assert_eq!(std::str::from_utf8(info.as_bytes()), Ok(&*expected));
        }
        assert!(Info::NONE.as_bytes().is_empty());
    }
}
