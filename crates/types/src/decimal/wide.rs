//! Unsigned integers of 256 and 512 bits: what the wide decimals need and no more.

use std::cmp::Ordering;

/// An unsigned integer of `64 * N` bits, least significant limb first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Uint<const N: usize>(pub [u64; N]);

/// Holds any 77-digit number.
pub(crate) type U256 = Uint<4>;
/// Holds any product of two `U256`.
pub(crate) type U512 = Uint<8>;

impl<const N: usize> Uint<N> {
    /// 0.
    pub const ZERO: Self = Uint([0; N]);

    /// From 128 bits.
    pub const fn from_u128(v: u128) -> Self {
        let mut limbs = [0; N];
        limbs[0] = v as u64;
        limbs[1] = (v >> 64) as u64;
        Uint(limbs)
    }

    /// The value where it fits in 128 bits.
    pub fn to_u128(self) -> Option<u128> {
        self.0[2..].iter().all(|&limb| limb == 0).then(|| u128::from(self.0[1]) << 64 | u128::from(self.0[0]))
    }

    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|&limb| limb == 0)
    }

    /// The value in `M` limbs, where it fits.
    pub fn resize<const M: usize>(&self) -> Option<Uint<M>> {
        if self.0.iter().skip(M).any(|&limb| limb != 0) {
            return None;
        }
        let mut limbs = [0; M];
        for (to, from) in limbs.iter_mut().zip(&self.0) {
            *to = *from;
        }
        Some(Uint(limbs))
    }

    pub fn checked_add(&self, other: &Self) -> Option<Self> {
        let mut limbs = [0; N];
        let mut carry = false;
        for (limb, (a, b)) in limbs.iter_mut().zip(self.0.iter().zip(&other.0)) {
            let (sum, c1) = a.overflowing_add(*b);
            let (sum, c2) = sum.overflowing_add(u64::from(carry));
            *limb = sum;
            carry = c1 | c2;
        }
        (!carry).then_some(Uint(limbs))
    }

    /// `self - other`; the caller knows that `self >= other`.
    pub fn sub(&self, other: &Self) -> Self {
        debug_assert!(*self >= *other);
        let mut limbs = [0; N];
        let mut borrow = false;
        for (limb, (a, b)) in limbs.iter_mut().zip(self.0.iter().zip(&other.0)) {
            let (difference, b1) = a.overflowing_sub(*b);
            let (difference, b2) = difference.overflowing_sub(u64::from(borrow));
            *limb = difference;
            borrow = b1 | b2;
        }
        Uint(limbs)
    }

    /// `self * factor + addend`.
    pub fn checked_mul_add_u64(&self, factor: u64, addend: u64) -> Option<Self> {
        let mut limbs = [0; N];
        let mut carry = u128::from(addend);
        for (limb, own) in limbs.iter_mut().zip(&self.0) {
            let product = u128::from(*own) * u128::from(factor) + carry;
            *limb = product as u64;
            carry = product >> 64;
        }
        (carry == 0).then_some(Uint(limbs))
    }

    /// Quotient and remainder by a nonzero machine word.
    pub fn div_rem_u64(&self, divisor: u64) -> (Self, u64) {
        let mut limbs = [0; N];
        let mut remainder = 0u128;
        for i in (0..N).rev() {
            let part = remainder << 64 | u128::from(self.0[i]);
            limbs[i] = (part / u128::from(divisor)) as u64;
            remainder = part % u128::from(divisor);
        }
        (Uint(limbs), remainder as u64)
    }

    /// `self * 10^exponent`.
    pub fn checked_mul_pow10(&self, mut exponent: u32) -> Option<Self> {
        let mut value = *self;
        while exponent > 0 && !value.is_zero() {
            let step = exponent.min(19);
            value = value.checked_mul_add_u64(10u64.pow(step), 0)?;
            exponent -= step;
        }
        Some(value)
    }

    /// `self / 10^exponent` cut towards zero, and what was cut compared with one half.
    pub fn div_pow10(&self, exponent: u32) -> (Self, Cut) {
        if exponent == 0 {
            return (*self, Cut::Nothing);
        }
        let mut value = *self;
        let mut sticky = false;
        let mut rest = exponent - 1;
        while rest > 0 {
            let step = rest.min(19);
            let (quotient, remainder) = value.div_rem_u64(10u64.pow(step));
            value = quotient;
            sticky |= remainder != 0;
            rest -= step;
        }
        let (value, digit) = value.div_rem_u64(10);
        let cut = match (digit, sticky) {
            (0, false) => Cut::Nothing,
            (0..=4, _) => Cut::BelowHalf,
            _ => Cut::HalfOrMore,
        };
        (value, cut)
    }

    /// Bits up to the highest that is set.
    pub fn bits(&self) -> u32 {
        self.0.iter().enumerate().rev().find(|(_, limb)| **limb != 0).map_or(0, |(i, limb)| 64 * i as u32 + 64 - limb.leading_zeros())
    }

    /// Decimal digits; 0 has none.
    pub fn digits(&self) -> u32 {
        let mut value = *self;
        let mut digits = 0;
        loop {
            match value.to_u128() {
                Some(small) if small < 10u128.pow(19) => return digits + (small as u64).checked_ilog10().map_or(0, |log| log + 1),
                _ => {
                    value = value.div_rem_u64(10u64.pow(19)).0;
                    digits += 19;
                }
            }
        }
    }

    fn shl1_or(&mut self, bit: bool) {
        let mut carry = u64::from(bit);
        for limb in &mut self.0 {
            let next = *limb >> 63;
            *limb = *limb << 1 | carry;
            carry = next;
        }
    }

    fn bit(&self, at: u32) -> bool {
        self.0[at as usize / 64] >> (at % 64) & 1 == 1
    }

    /// Quotient and remainder by a nonzero divisor. Word division where the divisor fits one, else long division by bits: wide
    /// decimals with wide divisors are rare.
    pub fn div_rem(&self, divisor: &Self) -> (Self, Self) {
        if divisor.0[1..].iter().all(|&limb| limb == 0) {
            let (quotient, remainder) = self.div_rem_u64(divisor.0[0]);
            return (quotient, Self::from_u128(u128::from(remainder)));
        }
        let mut quotient = Self::ZERO;
        let mut remainder = Self::ZERO;
        for at in (0..self.bits()).rev() {
            remainder.shl1_or(self.bit(at));
            let fits = remainder >= *divisor;
            if fits {
                remainder = remainder.sub(divisor);
            }
            quotient.shl1_or(fits);
        }
        (quotient, remainder)
    }
}

/// What a division by a power of ten cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    Nothing,
    BelowHalf,
    HalfOrMore,
}

impl U256 {
    /// The full product.
    pub fn mul_wide(&self, other: &U256) -> U512 {
        let mut limbs = [0u64; 8];
        for (i, &a) in self.0.iter().enumerate() {
            let mut carry = 0u128;
            for (j, &b) in other.0.iter().enumerate() {
                let sum = u128::from(a) * u128::from(b) + u128::from(limbs[i + j]) + carry;
                limbs[i + j] = sum as u64;
                carry = sum >> 64;
            }
            limbs[i + 4] = carry as u64;
        }
        Uint(limbs)
    }
}

impl<const N: usize> PartialOrd for Uint<N> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const N: usize> Ord for Uint<N> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
}
