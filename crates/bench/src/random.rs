//! Random numbers: one small generator for each connection, seeded by the run's seed and the connection's number.

/// xorshift64* on a mixed seed.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> Random {
        let mut x = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Random((x ^ (x >> 31)) | 1)
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// In `0..1`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// In `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + ((u128::from(self.bits()) * u128::from(high - low + 1)) >> 64) as u64
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.between(1, 100) <= percent
    }

    /// Appends groups of eleven digits with dashes between, as sysbench fills its columns.
    pub fn digit_groups(&mut self, groups: usize, out: &mut String) {
        for group in 0..groups {
            if group > 0 {
                out.push('-');
            }
            let mut n = self.between(0, 99_999_999_999);
            let mut digits = [b'0'; 11];
            for digit in digits.iter_mut().rev() {
                *digit = b'0' + (n % 10) as u8;
                n /= 10;
            }
            out.extend(digits.iter().map(|d| char::from(*d)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_their_range_and_reach_both_ends() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..1000).map(|_| random.between(3, 7)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&3), Some(&7)));
        assert_eq!(random.between(9, 9), 9);
        let mut text = String::new();
        random.digit_groups(10, &mut text);
        assert_eq!(text.len(), 119);
    }
}
