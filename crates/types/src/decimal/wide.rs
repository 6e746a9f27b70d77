//! Unsigned integers of 256 and 512 bits: what the wide decimals need and no more.

/// 256 bits, least significant limb first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct U256(pub [u64; 4]);
