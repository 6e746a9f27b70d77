//! Exact decimals: up to 65 digits, up to 30 of them after the point.
//!
//! Numbers whose digits fit in an `i128` (38 of them; all of TPC-C's) are kept inline and computed with machine arithmetic; the rest
//! lives in a boxed 256-bit magnitude. A decimal is always in its smallest form, so equal numbers of equal scale have equal fields.

mod arithmetic;
mod text;
mod wide;

#[cfg(test)]
mod tests;

pub use text::ParsedDecimal;

use std::cmp::Ordering;
use wide::{Cut, U256, Uint};

/// An exact decimal number.
#[derive(Clone, PartialEq)]
pub struct Decimal(Repr);

#[derive(Clone, PartialEq)]
enum Repr {
    /// The number is `(high << 64 | low) / 10^scale`.
    Small {
        low: u64,
        high: i64,
        scale: u8,
    },
    Wide(Box<Wide>),
}

/// Sign, magnitude and scale of a number past `i128`.
#[derive(Clone, PartialEq)]
struct Wide {
    negative: bool,
    scale: u8,
    magnitude: U256,
}

const _: () = assert!(size_of::<Decimal>() == 24);

/// Powers of ten that fit in 128 bits.
static POW10: [u128; 39] = {
    let mut powers = [1u128; 39];
    let mut i = 1;
    while i < 39 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

fn pow10_i128(exponent: u32) -> Option<i128> {
    (exponent <= 38).then(|| POW10[exponent as usize] as i128)
}

impl Decimal {
    /// Most digits of a decimal.
    pub const DIGITS_MAX: u32 = 65;
    /// Most digits after the point of a column or a result.
    pub const SCALE_MAX: u8 = 30;
    /// Zero without digits after the point.
    pub const ZERO: Decimal = Decimal(Repr::Small { low: 0, high: 0, scale: 0 });

    /// `unscaled / 10^scale`.
    #[inline]
    pub const fn new(unscaled: i128, scale: u8) -> Decimal {
        Decimal(Repr::Small { low: unscaled as u64, high: (unscaled >> 64) as i64, scale })
    }

    /// Sign, magnitude and scale; small where it can be.
    fn from_parts(negative: bool, magnitude: U256, scale: u8) -> Decimal {
        match magnitude.to_u128().and_then(|small| i128::try_from(small).ok()) {
            Some(small) => Decimal::new(if negative { -small } else { small }, scale),
            None => Decimal(Repr::Wide(Box::new(Wide { negative, scale, magnitude }))),
        }
    }

    fn parts(&self) -> (bool, U256, u8) {
        match &self.0 {
            Repr::Small { scale, .. } => {
                let unscaled = self.small_unscaled();
                (unscaled < 0, Uint::from_u128(unscaled.unsigned_abs()), *scale)
            }
            Repr::Wide(wide) => (wide.negative, wide.magnitude, wide.scale),
        }
    }

    /// The unscaled integer of a small decimal; 0 for a wide one (its callers have matched).
    #[inline]
    fn small_unscaled(&self) -> i128 {
        match self.0 {
            Repr::Small { low, high, .. } => i128::from(high) << 64 | i128::from(low),
            Repr::Wide(_) => 0,
        }
    }

    /// The unscaled integer and scale, where the integer fits in 128 bits.
    #[inline]
    pub fn as_i128(&self) -> Option<(i128, u8)> {
        match self.0 {
            Repr::Small { scale, .. } => Some((self.small_unscaled(), scale)),
            Repr::Wide(_) => None,
        }
    }

    /// Digits after the point.
    #[inline]
    pub fn scale(&self) -> u8 {
        match &self.0 {
            Repr::Small { scale, .. } => *scale,
            Repr::Wide(wide) => wide.scale,
        }
    }

    /// Digits before the point, without leading zeros.
    pub fn integer_digits(&self) -> u32 {
        self.digits().saturating_sub(u32::from(self.scale()))
    }

    /// Digits of the unscaled integer; 0 has none.
    pub fn digits(&self) -> u32 {
        match &self.0 {
            Repr::Small { .. } => self.small_unscaled().unsigned_abs().checked_ilog10().map_or(0, |log| log + 1),
            Repr::Wide(wide) => wide.magnitude.digits(),
        }
    }

    /// Precision of the smallest DECIMAL that holds it: at least one digit.
    pub fn precision(&self) -> u32 {
        self.digits().max(u32::from(self.scale())).max(1)
    }

    /// Whether the number is zero.
    pub fn is_zero(&self) -> bool {
        matches!(self.0, Repr::Small { low: 0, high: 0, .. })
    }

    /// Whether the number is less than zero.
    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Repr::Small { high, .. } => *high < 0,
            Repr::Wide(wide) => wide.negative,
        }
    }

    /// The largest value of DECIMAL(precision, scale).
    pub fn max_value(precision: u32, scale: u8) -> Decimal {
        debug_assert!(precision <= Self::DIGITS_MAX);
        let magnitude = U256::from_u128(1)
            .checked_mul_pow10(precision.min(Self::DIGITS_MAX))
            .map_or(U256::ZERO, |power| power.sub(&U256::from_u128(1)));
        Decimal::from_parts(false, magnitude, scale)
    }

    /// Whether DECIMAL(precision, scale) holds it without rounding.
    pub fn fits(&self, precision: u32, scale: u8) -> bool {
        self.scale() <= scale && self.integer_digits() + u32::from(scale) <= precision
    }

    /// Compares two numbers, whatever their scales.
    pub fn compare(&self, other: &Decimal) -> Ordering {
        if let (Some((a, scale_a)), Some((b, scale_b))) = (self.as_i128(), other.as_i128()) {
            if scale_a == scale_b {
                return a.cmp(&b);
            }
            let up = u32::from(scale_a.abs_diff(scale_b));
            let scaled = if scale_a < scale_b {
                pow10_i128(up).and_then(|power| a.checked_mul(power)).map(|a| a.cmp(&b))
            } else {
                pow10_i128(up).and_then(|power| b.checked_mul(power)).map(|b| a.cmp(&b))
            };
            if let Some(ordering) = scaled {
                return ordering;
            }
        }
        let (negative_a, a, scale_a) = self.parts();
        let (negative_b, b, scale_b) = other.parts();
        match (negative_a, negative_b) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (negative, _) => {
                let ordering = compare_magnitudes(&a, scale_a, &b, scale_b);
                if negative { ordering.reverse() } else { ordering }
            }
        }
    }

    /// The number without trailing zeros after the point: equal numbers become identical.
    pub fn normalize(&self) -> Decimal {
        let (negative, mut magnitude, mut scale) = self.parts();
        if magnitude.is_zero() {
            return Decimal::ZERO;
        }
        if let Some(mut small) = magnitude.to_u128() {
            while scale > 0 && small.is_multiple_of(10) {
                small /= 10;
                scale -= 1;
            }
            return Decimal::from_parts(negative, Uint::from_u128(small), scale);
        }
        while scale > 0 {
            let (quotient, remainder) = magnitude.div_rem_u64(10);
            if remainder != 0 {
                break;
            }
            magnitude = quotient;
            scale -= 1;
        }
        Decimal::from_parts(negative, magnitude, scale)
    }

    /// Bytes of the order-preserving form of DECIMAL(precision, _): see [`Decimal::encode_ordered`].
    pub fn ordered_bytes(precision: u32) -> usize {
        ORDERED_BYTES[precision.min(Self::DIGITS_MAX) as usize] as usize
    }

    /// Appends the order-preserving form: the integer `value * 10^scale` plus half the range, big-endian, in the fewest bytes that hold
    /// every value of DECIMAL(precision, scale). The value is rounded to `scale`; `false` (nothing written) when it does not fit.
    pub fn encode_ordered(&self, precision: u32, scale: u8, out: &mut Vec<u8>) -> bool {
        let bytes = Self::ordered_bytes(precision);
        // Sort keys of ordinary columns: a number of 64 bits and some zeros behind it.
        if let Repr::Small { scale: own, .. } = self.0
            && own <= scale
            && bytes > 16
            && precision >= u32::from(scale) + 20
            && let Ok(unscaled) = i64::try_from(self.small_unscaled())
        {
            let power = POW10[usize::from(scale - own)];
            let magnitude = u128::from(unscaled.unsigned_abs());
            let low = magnitude * (power & u128::from(u64::MAX));
            let high = magnitude * (power >> 64) + (low >> 64);
            append_biased(unscaled < 0, [low as u64, high as u64, (high >> 64) as u64, 0], bytes, out);
            return true;
        }
        let rounded;
        let source = if self.scale() == scale {
            self
        } else {
            rounded = self.round(i32::from(scale));
            &rounded
        };
        let padding = u32::from(scale - source.scale().min(scale));
        if source.integer_digits() + u32::from(scale) > precision.max(u32::from(scale)) {
            return false;
        }
        if bytes <= 16 {
            let Some((unscaled, _)) = source.as_i128() else { return false };
            let Some(unscaled) = pow10_i128(padding).and_then(|power| unscaled.checked_mul(power)) else { return false };
            let biased = (unscaled as u128) ^ (1u128 << (8 * bytes - 1));
            out.extend_from_slice(&biased.to_be_bytes()[16 - bytes..]);
            return true;
        }
        let (negative, magnitude, _) = source.parts();
        let Some(magnitude) = magnitude.checked_mul_pow10(padding) else { return false };
        append_biased(negative, magnitude.0, bytes, out);
        true
    }

    /// Reads what [`Decimal::encode_ordered`] wrote; the slice has [`Decimal::ordered_bytes`] bytes.
    #[inline]
    pub fn decode_ordered(bytes: &[u8], scale: u8) -> Option<Decimal> {
        // Up to 18 digits: one word.
        if (1..=8).contains(&bytes.len()) {
            let shift = 64 - 8 * bytes.len() as u32;
            let number = bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte)) << shift;
            return Some(Decimal::new(i128::from((number ^ 1 << 63) as i64 >> shift), scale));
        }
        Decimal::decode_ordered_long(bytes, scale)
    }

    fn decode_ordered_long(bytes: &[u8], scale: u8) -> Option<Decimal> {
        let count = bytes.len();
        if count == 0 || count > 32 {
            return None;
        }
        let negative = bytes[0] & 0x80 == 0;
        let fill = if negative { 0xFF } else { 0 };
        if count <= 16 {
            let mut all = [fill; 16];
            all[16 - count..].copy_from_slice(bytes);
            all[16 - count] ^= 0x80;
            return Some(Decimal::new(i128::from_be_bytes(all), scale));
        }
        let mut all = [fill; 32];
        all[32 - count..].copy_from_slice(bytes);
        all[32 - count] ^= 0x80;
        let mut limbs = [0u64; 4];
        for (limb, chunk) in limbs.iter_mut().rev().zip(all.chunks_exact(8)) {
            *limb = u64::from_be_bytes([chunk[0], chunk[1], chunk[2], chunk[3], chunk[4], chunk[5], chunk[6], chunk[7]]);
        }
        if negative {
            let mut carry = true;
            for limb in &mut limbs {
                let (sum, overflow) = (!*limb).overflowing_add(u64::from(carry));
                *limb = sum;
                carry = overflow;
            }
        }
        Some(Decimal::from_parts(negative, Uint(limbs), scale))
    }
}

/// Appends a number of 256 bits in offset binary: its last bytes, big-endian.
fn append_biased(negative: bool, mut limbs: [u64; 4], bytes: usize, out: &mut Vec<u8>) {
    if negative {
        let mut carry = true;
        for limb in &mut limbs {
            let (sum, overflow) = (!*limb).overflowing_add(u64::from(carry));
            *limb = sum;
            carry = overflow;
        }
    }
    let mut all = [0u8; 32];
    for (chunk, limb) in all.chunks_exact_mut(8).zip(limbs.iter().rev()) {
        chunk.copy_from_slice(&limb.to_be_bytes());
    }
    all[32 - bytes] ^= 0x80;
    out.extend_from_slice(&all[32 - bytes..]);
}

/// Bytes that hold `±(10^p - 1)` in offset binary, by precision: one more bit than the magnitude.
static ORDERED_BYTES: [u8; 66] = {
    let mut table = [1u8; 66];
    let mut p = 1;
    // log2(10) as a ratio slightly above the true one, so that bits are never too few; exact for every p up to 65 (tested).
    while p <= 65 {
        let bits = p * 33_219_281 / 10_000_000 + 1;
        table[p] = ((bits + 1).div_ceil(8)) as u8;
        p += 1;
    }
    table
};

fn compare_magnitudes(a: &U256, scale_a: u8, b: &U256, scale_b: u8) -> Ordering {
    let up = u32::from(scale_a.abs_diff(scale_b));
    if scale_a <= scale_b {
        // What overflows 256 bits when brought to the larger scale is greater than anything that has it.
        a.checked_mul_pow10(up).map_or(Ordering::Greater, |a| a.cmp(b))
    } else {
        b.checked_mul_pow10(up).map_or(Ordering::Less, |b| a.cmp(&b))
    }
}

impl From<i64> for Decimal {
    fn from(v: i64) -> Self {
        Decimal::new(i128::from(v), 0)
    }
}

impl From<u64> for Decimal {
    fn from(v: u64) -> Self {
        Decimal::new(i128::from(v), 0)
    }
}

impl std::hash::Hash for Decimal {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let (negative, magnitude, scale) = self.normalize().parts();
        (negative, magnitude.0, scale).hash(state);
    }
}
