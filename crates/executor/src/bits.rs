//! Bit operations on strings of bytes, whose first byte holds the highest bits.

use std::iter::{once, repeat_n};

/// `~a`.
pub fn not(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| !byte).collect()
}

/// The bits of two strings of one length, byte by byte; `None` where the lengths differ.
pub fn combined(a: &[u8], b: &[u8], with: impl Fn(u8, u8) -> u8) -> Option<Vec<u8>> {
    (a.len() == b.len()).then(|| a.iter().zip(b).map(|(x, y)| with(*x, *y)).collect())
}

/// `bytes << count`: as long as before, zeros come in.
pub fn shifted_left(bytes: &[u8], count: u64) -> Vec<u8> {
    let (whole, rest) = parts(bytes, count);
    let kept = &bytes[whole..];
    // Each byte takes the highest bits of its right neighbour.
    let neighbours = kept.iter().skip(1).chain(once(&0));
    let shifted = kept.iter().zip(neighbours).map(|(byte, next)| ((u16::from(*byte) << 8 | u16::from(*next)) << rest >> 8) as u8);
    shifted.chain(repeat_n(0, whole)).collect()
}

/// `bytes >> count`.
pub fn shifted_right(bytes: &[u8], count: u64) -> Vec<u8> {
    let (whole, rest) = parts(bytes, count);
    let kept = &bytes[..bytes.len() - whole];
    // Each byte takes the lowest bits of its left neighbour.
    let neighbours = once(&0).chain(kept);
    let shifted = kept.iter().zip(neighbours).map(|(byte, before)| ((u16::from(*before) << 8 | u16::from(*byte)) >> rest) as u8);
    repeat_n(0, whole).chain(shifted).collect()
}

/// By how many whole bytes, at most all, and by how many bits of a byte more.
fn parts(bytes: &[u8], count: u64) -> (usize, u32) {
    let whole = usize::try_from(count / 8).unwrap_or(usize::MAX).min(bytes.len());
    (whole, (count % 8) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::SplitMix64 as Random;

    /// The model: a bit after the other, the highest first.
    fn bits(bytes: &[u8]) -> Vec<bool> {
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1)).collect()
    }

    #[test]
    fn bytes_are_their_bits_one_by_one() {
        let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(11);
        println!("SEED={seed}");
        let mut r = Random::new(seed);
        for _ in 0..5_000 {
            let len = r.below(20);
            let mut string = || (0..len).map(|_| r.below(256) as u8).collect::<Vec<u8>>();
            let (a, b) = (string(), string());
            let (x, y) = (bits(&a), bits(&b));
            let count = r.pick(&[0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 8 * len, 8 * len + 1, u64::MAX - 1, u64::MAX]);
            let count = if r.below(2) == 0 { count } else { r.below(8 * len + 9) };
            let far = count.min(x.len() as u64) as usize;
            let left: Vec<bool> = x[far..].iter().copied().chain(repeat_n(false, far)).collect();
            let right: Vec<bool> = repeat_n(false, far).chain(x[..x.len() - far].iter().copied()).collect();
            let both = |with: fn(bool, bool) -> bool| x.iter().zip(&y).map(|(x, y)| with(*x, *y)).collect::<Vec<bool>>();
            let combine = |with: fn(u8, u8) -> u8| bits(&combined(&a, &b, with).expect("one length"));
            assert_eq!(bits(&shifted_left(&a, count)), left, "{a:?} << {count}");
            assert_eq!(bits(&shifted_right(&a, count)), right, "{a:?} >> {count}");
            assert_eq!(bits(&not(&a)), x.iter().map(|bit| !bit).collect::<Vec<bool>>(), "~{a:?}");
            assert_eq!(combine(|x, y| x & y), both(|x, y| x & y), "{a:?} & {b:?}");
            assert_eq!(combine(|x, y| x | y), both(|x, y| x | y), "{a:?} | {b:?}");
            assert_eq!(combine(|x, y| x ^ y), both(|x, y| x ^ y), "{a:?} ^ {b:?}");
            // What fits a number is shifted as one.
            if len == 8 {
                let number = |bytes: &[u8]| bytes.iter().fold(0, |n: u64, byte| n << 8 | u64::from(*byte));
                let count32 = u32::try_from(count).unwrap_or(u32::MAX);
                assert_eq!(number(&shifted_left(&a, count)), number(&a).checked_shl(count32).unwrap_or(0), "{a:?} << {count}");
                assert_eq!(number(&shifted_right(&a, count)), number(&a).checked_shr(count32).unwrap_or(0), "{a:?} >> {count}");
            }
            let mut longer = b.clone();
            longer.push(0);
            assert_eq!(combined(&a, &longer, |x, y| x & y), None);
        }
    }
}
