//! Rounding, the four operations, remainder, and conversion to machine numbers. `None` means: more than 65 digits.

use super::wide::{U512, Uint};
use super::{Cut, Decimal, Repr, U256, pow10_i128};

/// Quotients keep digits in groups of nine behind the wanted scale, so that `1/3*3` prints as 1.0000 with four digits.
const QUOTIENT_GROUP: u32 = 9;
/// Most digits of a quotient behind the point.
const QUOTIENT_SCALE_MAX: u32 = 36;

/// How surplus digits go.
#[derive(Clone, Copy, PartialEq)]
enum Rounding {
    HalfAway,
    Truncate,
    Ceiling,
    Floor,
}

impl Decimal {
    /// `-self`.
    pub fn negate(&self) -> Decimal {
        match self.as_i128() {
            Some((unscaled, scale)) if unscaled != i128::MIN => Decimal::new(-unscaled, scale),
            _ => {
                let (negative, magnitude, scale) = self.parts();
                Decimal::from_parts(!negative, magnitude, scale)
            }
        }
    }

    /// The magnitude.
    pub fn abs(&self) -> Decimal {
        if self.is_negative() { self.negate() } else { self.clone() }
    }

    /// Rounds half away from zero to `digits` after the point (negative: before it). A value of smaller scale stays as it is.
    pub fn round(&self, digits: i32) -> Decimal {
        self.cut(digits, Rounding::HalfAway)
    }

    /// Cuts to `digits` after the point (negative: before it).
    pub fn truncate(&self, digits: i32) -> Decimal {
        self.cut(digits, Rounding::Truncate)
    }

    /// The smallest integer not below.
    pub fn ceiling(&self) -> Decimal {
        self.cut(0, Rounding::Ceiling)
    }

    /// The largest integer not above.
    pub fn floor(&self) -> Decimal {
        self.cut(0, Rounding::Floor)
    }

    fn cut(&self, digits: i32, rounding: Rounding) -> Decimal {
        let scale = self.scale();
        if digits >= i32::from(scale) {
            return self.clone();
        }
        let surplus = (i32::from(scale) - digits).min(100) as u32;
        let (negative, magnitude, _) = self.parts();
        let (mut kept, cut) = magnitude.div_pow10(surplus);
        let up = match rounding {
            Rounding::HalfAway => cut == Cut::HalfOrMore,
            Rounding::Truncate => false,
            Rounding::Ceiling => cut != Cut::Nothing && !negative,
            Rounding::Floor => cut != Cut::Nothing && negative,
        };
        if up {
            // The kept part is at least ten times smaller than 256 bits: this cannot overflow.
            kept = kept.checked_add(&U256::from_u128(1)).unwrap_or(kept);
        }
        if digits < 0 {
            // ROUND(x, -2): the zeros come back before the point. At most one digit more than before, so it fits 256 bits.
            let zeros = digits.unsigned_abs();
            kept = if zeros > 76 { U256::ZERO } else { kept.checked_mul_pow10(zeros).unwrap_or(U256::ZERO) };
        }
        Decimal::from_parts(negative && !kept.is_zero(), kept, digits.max(0) as u8)
    }

    /// The same number with exactly `scale` digits after the point: rounded or padded. `None` when padding passes 65 digits.
    pub fn rescale(&self, scale: u8) -> Option<Decimal> {
        let own = self.scale();
        if own == scale {
            return Some(self.clone());
        }
        if own > scale {
            return Some(self.round(i32::from(scale)));
        }
        let up = u32::from(scale - own);
        if let Some((unscaled, _)) = self.as_i128()
            && let Some(unscaled) = pow10_i128(up).and_then(|power| unscaled.checked_mul(power))
        {
            return Some(Decimal::new(unscaled, scale));
        }
        let (negative, magnitude, _) = self.parts();
        limit(Decimal::from_parts(negative, magnitude.checked_mul_pow10(up)?, scale))
    }

    /// `self + other`, with the larger scale.
    #[inline]
    pub fn add(&self, other: &Decimal) -> Option<Decimal> {
        if let (Some((a, scale_a)), Some((b, scale_b))) = (self.as_i128(), other.as_i128())
            && scale_a == scale_b
            && let Some(sum) = a.checked_add(b)
        {
            return Some(Decimal::new(sum, scale_a));
        }
        self.add_slow(other)
    }

    fn add_slow(&self, other: &Decimal) -> Option<Decimal> {
        let scale = self.scale().max(other.scale());
        if let (Some((a, scale_a)), Some((b, scale_b))) = (self.as_i128(), other.as_i128()) {
            let a = pow10_i128(u32::from(scale - scale_a)).and_then(|power| a.checked_mul(power));
            let b = pow10_i128(u32::from(scale - scale_b)).and_then(|power| b.checked_mul(power));
            if let (Some(a), Some(b)) = (a, b)
                && let Some(sum) = a.checked_add(b)
            {
                return Some(Decimal::new(sum, scale));
            }
        }
        let (negative_a, a, scale_a) = self.parts();
        let (negative_b, b, scale_b) = other.parts();
        // 65 digits and 36 zeros more need 512 bits.
        let a: U512 = a.resize::<8>()?.checked_mul_pow10(u32::from(scale - scale_a))?;
        let b: U512 = b.resize::<8>()?.checked_mul_pow10(u32::from(scale - scale_b))?;
        let (negative, magnitude) = match (negative_a == negative_b, a >= b) {
            (true, _) => (negative_a, a.checked_add(&b)?),
            (false, true) => (negative_a, a.sub(&b)),
            (false, false) => (negative_b, b.sub(&a)),
        };
        fit(negative, magnitude, u32::from(scale))
    }

    /// `self - other`, with the larger scale.
    #[inline]
    pub fn sub(&self, other: &Decimal) -> Option<Decimal> {
        if let (Some((a, scale_a)), Some((b, scale_b))) = (self.as_i128(), other.as_i128())
            && scale_a == scale_b
            && let Some(difference) = a.checked_sub(b)
        {
            return Some(Decimal::new(difference, scale_a));
        }
        self.add_slow(&other.negate())
    }

    /// `self * other`; the scale is the sum of the scales, at most 30 (rounded).
    #[inline]
    pub fn mul(&self, other: &Decimal) -> Option<Decimal> {
        if let (Some((a, scale_a)), Some((b, scale_b))) = (self.as_i128(), other.as_i128())
            && scale_a + scale_b <= Decimal::SCALE_MAX
            && let Some(product) = a.checked_mul(b)
        {
            return Some(Decimal::new(product, scale_a + scale_b));
        }
        let (negative_a, a, scale_a) = self.parts();
        let (negative_b, b, scale_b) = other.parts();
        fit(negative_a != negative_b, a.mul_wide(&b), u32::from(scale_a) + u32::from(scale_b))
    }

    /// `self / other`. `scale_increment` is `div_precision_increment`: the result's type has `self.scale() + scale_increment` digits after
    /// the point (at most 30), and the quotient carries some more, cut, so that later operations and the final [`Decimal::round`] see them.
    /// `None` when the divisor is zero (check first) or there are too many digits.
    pub fn div(&self, other: &Decimal, scale_increment: u32) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let wanted = (u32::from(self.scale()) + scale_increment).min(u32::from(Decimal::SCALE_MAX));
        // Digits behind the wanted ones are there to round by, but where a whole group of digits is wanted of a whole divisor, as in MySQL.
        let more = if other.scale() > 0 && wanted.is_multiple_of(QUOTIENT_GROUP) { QUOTIENT_GROUP } else { 0 };
        let scale = (wanted.next_multiple_of(QUOTIENT_GROUP) + more).min(QUOTIENT_SCALE_MAX);
        // self/10^sa / (other/10^sb) = self * 10^(scale + sb - sa) / other, in units of 10^-scale. The exponent may be negative only
        // for a quotient of a quotient; then digits of the dividend are surplus.
        let exponent = scale as i32 + i32::from(other.scale()) - i32::from(self.scale());
        if let (Some((a, _)), Some((b, _))) = (self.as_i128(), other.as_i128())
            && let Ok(up) = u32::try_from(exponent)
            && let Some(numerator) = pow10_i128(up).and_then(|power| a.checked_mul(power))
            && let Some(quotient) = div_i128(numerator, b)
        {
            return Some(Decimal::new(quotient, scale as u8));
        }
        let (negative_a, a, _) = self.parts();
        let (negative_b, b, _) = other.parts();
        let mut numerator: U512 = a.resize()?;
        let mut denominator: U512 = b.resize()?;
        if exponent >= 0 {
            numerator = numerator.checked_mul_pow10(exponent as u32)?;
        } else {
            denominator = denominator.checked_mul_pow10(exponent.unsigned_abs())?;
        }
        let (quotient, _) = numerator.div_rem(&denominator);
        // The group digits must not push a legal quotient past 65 digits.
        let surplus = quotient.digits().saturating_sub(Decimal::DIGITS_MAX);
        if surplus > scale {
            return None;
        }
        let (quotient, _) = quotient.div_pow10(surplus);
        let magnitude = quotient.resize::<4>()?;
        Some(Decimal::from_parts(negative_a != negative_b && !magnitude.is_zero(), magnitude, (scale - surplus) as u8))
    }

    /// The remainder of the division cut to an integer, with the sign of `self` and the larger scale. `None` when `other` is zero.
    pub fn rem(&self, other: &Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale().max(other.scale());
        let (negative, a, scale_a) = self.parts();
        let (_, b, scale_b) = other.parts();
        let a: U512 = a.resize::<8>()?.checked_mul_pow10(u32::from(scale - scale_a))?;
        let b: U512 = b.resize::<8>()?.checked_mul_pow10(u32::from(scale - scale_b))?;
        let (_, remainder) = a.div_rem(&b);
        fit(negative, remainder, u32::from(scale))
    }

    /// The quotient cut to an integer (DIV). `None` when `other` is zero or there are too many digits.
    pub fn div_integer(&self, other: &Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale().max(other.scale());
        let (negative_a, a, scale_a) = self.parts();
        let (negative_b, b, scale_b) = other.parts();
        let a: U512 = a.resize::<8>()?.checked_mul_pow10(u32::from(scale - scale_a))?;
        let b: U512 = b.resize::<8>()?.checked_mul_pow10(u32::from(scale - scale_b))?;
        let (quotient, _) = a.div_rem(&b);
        fit(negative_a != negative_b, quotient, 0)
    }

    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        match self.as_i128() {
            // Both integers are exact doubles and so the quotient is correctly rounded.
            Some((unscaled, scale)) if unscaled.unsigned_abs() < 1 << 53 && scale <= 22 => unscaled as f64 / 10f64.powi(i32::from(scale)),
            _ => self.to_string().parse().unwrap_or(f64::NAN),
        }
    }

    /// The decimal of a double's shortest digits, rounded to 30 digits after the point. `None`: not finite or more than 65 digits.
    pub fn from_f64(v: f64) -> Option<Decimal> {
        if !v.is_finite() {
            return None;
        }
        let parsed = Decimal::parse(format!("{v:e}").as_bytes());
        if parsed.overflow { None } else { Some(parsed.value) }
    }

    /// The nearest integer, half away from zero; `Err` holds the bound when it is past `i64`.
    pub fn to_i64(&self) -> Result<i64, i64> {
        let bound = if self.is_negative() { i64::MIN } else { i64::MAX };
        self.round(0).as_i128().and_then(|(v, _)| i64::try_from(v).ok()).ok_or(bound)
    }

    /// The nearest integer, half away from zero; `Err` holds the bound when it is past `u64` or negative.
    pub fn to_u64(&self) -> Result<u64, u64> {
        let bound = if self.is_negative() { 0 } else { u64::MAX };
        self.round(0).as_i128().and_then(|(v, _)| u64::try_from(v).ok()).ok_or(bound)
    }
}

/// `i128` division that uses the 64-bit instruction where it can: the general routine is five times slower.
fn div_i128(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => a.checked_div(b).map(i128::from),
        _ => a.checked_div(b),
    }
}

/// Brings a magnitude of any scale into the limits: at most 30 digits after the point, at most 65 in all; digits after the point give way.
fn fit(negative: bool, magnitude: U512, scale: u32) -> Option<Decimal> {
    let over_scale = scale.saturating_sub(QUOTIENT_SCALE_MAX);
    let over_digits = magnitude.digits().saturating_sub(Decimal::DIGITS_MAX);
    let mut surplus = over_scale.max(over_digits);
    // Products of ordinary operands keep 30 digits; only sums with quotients keep their group digits.
    if scale > QUOTIENT_SCALE_MAX {
        surplus = surplus.max(scale - u32::from(Decimal::SCALE_MAX));
    }
    if surplus > scale {
        return None;
    }
    let (mut kept, cut) = magnitude.div_pow10(surplus);
    if cut == Cut::HalfOrMore {
        kept = kept.checked_add(&Uint::from_u128(1))?;
    }
    let kept = kept.resize::<4>()?;
    limit(Decimal::from_parts(negative && !kept.is_zero(), kept, (scale - surplus) as u8))
}

/// The decimal where it has at most 65 digits.
fn limit(value: Decimal) -> Option<Decimal> {
    match &value.0 {
        Repr::Wide(wide) if wide.magnitude.digits() > Decimal::DIGITS_MAX => None,
        _ => Some(value),
    }
}
