//! Exact decimals: up to 65 digits, up to 30 of them after the point.
//!
//! Numbers whose digits fit in an `i128` (38 of them; all of TPC-C's) are kept inline and computed with machine arithmetic; the rest
//! lives in a boxed 256-bit magnitude. A decimal is always in its smallest form, so equal numbers of equal scale have equal fields.

mod wide;

pub(crate) use wide::U256;

/// Most digits of a decimal.
pub const DIGITS_MAX: u32 = 65;
/// Most digits after the point of a column or a result.
pub const SCALE_MAX: u8 = 30;

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

impl Decimal {
    /// Zero without digits after the point.
    pub const ZERO: Decimal = Decimal(Repr::Small { low: 0, high: 0, scale: 0 });

    /// `unscaled / 10^scale`.
    #[inline]
    pub const fn new(unscaled: i128, scale: u8) -> Decimal {
        Decimal(Repr::Small { low: unscaled as u64, high: (unscaled >> 64) as i64, scale })
    }

    /// Digits after the point.
    #[inline]
    pub fn scale(&self) -> u8 {
        match &self.0 {
            Repr::Small { scale, .. } => *scale,
            Repr::Wide(wide) => wide.scale,
        }
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

impl std::fmt::Debug for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Repr::Small { low, high, scale } => write!(f, "{}e-{scale}", i128::from(*high) << 64 | i128::from(*low)),
            Repr::Wide(wide) => write!(f, "{}{:?}e-{}", if wide.negative { "-" } else { "" }, wide.magnitude, wide.scale),
        }
    }
}
