//! Numbers as digits in room of a fixed size: eight digits at once, without a loop or a branch for each of them.
//!
//! For those who write many numbers one behind the other. What lies behind a number in its room is not kept: the next field goes there.

/// Room for any whole number of 64 bits.
pub const DIGITS_ROOM: usize = 24;
/// Room for what [`put_decimal`] writes.
pub const DECIMAL_ROOM: usize = 48;

/// Numbers below have at most eight digits.
const EIGHT: u64 = 100_000_000;
/// Numbers below have at most sixteen.
const SIXTEEN: u64 = EIGHT * EIGHT;
/// Eight zeros as text.
const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);

/// The digits of a number below [`EIGHT`], leading zeros included, the first one in the lowest byte: as numbers, not as text.
#[inline(always)]
fn eight_digits(value: u32) -> u64 {
    // Two fields of four digits, four of two, eight of one. The factors are 1/100 and 1/10, exact for the few digits that a field has.
    let fours = u64::from(value / 10_000) | u64::from(value % 10_000) << 32;
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | (fours - hundreds * 100) << 16;
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (twos - tens * 10) << 8
}

/// Writes a number to the start of its room; returns how many digits it has.
#[inline(always)]
pub fn put_digits(value: u64, room: &mut [u8; DIGITS_ROOM]) -> usize {
    if value >= EIGHT {
        return put_long(value, room);
    }
    let digits = eight_digits(value as u32);
    // Zero has one digit.
    let skipped = (digits.trailing_zeros() / 8).min(7);
    put_word(room, 0, (digits | ZEROS) >> (8 * skipped));
    8 - skipped as usize
}

fn put_long(value: u64, room: &mut [u8; DIGITS_ROOM]) -> usize {
    let (upper, lower) = (value / EIGHT, (value % EIGHT) as u32);
    // At most 20 digits in all, of which these are the last eight.
    let count = put_digits(upper, room);
    put_word(room, count, eight_digits(lower) | ZEROS);
    count + 8
}

/// Writes the number `unscaled` / 10^`scale` as DECIMAL is shown, with all digits behind the point; returns how many bytes that are. `None` where it has more than
/// sixteen digits.
#[inline(always)]
pub fn put_decimal(unscaled: i64, scale: u8, room: &mut [u8; DECIMAL_ROOM]) -> Option<usize> {
    let (magnitude, scale) = (unscaled.unsigned_abs(), usize::from(scale));
    if magnitude >= SIXTEEN || scale > 15 {
        return None;
    }
    let (upper, lower) = (eight_digits((magnitude / EIGHT) as u32), eight_digits((magnitude % EIGHT) as u32));
    let digits = u128::from(upper) | u128::from(lower) << 64;
    let leading_zeros = (digits.trailing_zeros() / 8) as usize;
    // At least one digit before the point.
    let count = (16 - leading_zeros.min(16)).max(scale + 1);
    let text = digits | u128::from(ZEROS) << 64 | u128::from(ZEROS);
    let last = |count: usize| (text >> (8 * (16 - count))).to_le_bytes();
    room[0] = b'-';
    let start = usize::from(unscaled < 0);
    room[start..start + 16].copy_from_slice(&last(count));
    if scale == 0 {
        return Some(start + count);
    }
    let point = start + count - scale;
    room[point] = b'.';
    room[point + 1..point + 17].copy_from_slice(&last(scale));
    Some(start + count + 1)
}

#[inline(always)]
fn put_word(room: &mut [u8; DIGITS_ROOM], at: usize, word: u64) {
    room[at..at + 8].copy_from_slice(&word.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Decimal;

    fn check_digits(value: u64) {
        let mut room = [b'?'; DIGITS_ROOM];
        let count = put_digits(value, &mut room);
        assert_eq!(std::str::from_utf8(&room[..count]), Ok(value.to_string().as_str()));
    }

    fn check_decimal(unscaled: i64, scale: u8) {
        let mut room = [b'?'; DECIMAL_ROOM];
        let mut expect = Vec::new();
        Decimal::new(i128::from(unscaled), scale).write_to(&mut expect);
        match put_decimal(unscaled, scale, &mut room) {
            Some(count) => assert_eq!(room[..count], expect, "{unscaled} / 10^{scale}"),
            None => assert!(unscaled.unsigned_abs() >= SIXTEEN || scale > 15),
        }
    }

    #[test]
    fn any_number_is_written_as_its_digits() {
        (0..200_000).for_each(check_digits);
        for power in 0..20 {
            let power = 10u64.pow(power);
            for value in [power - 1, power, power + 1, power.saturating_mul(9), power / 3 * 2, u64::MAX - power] {
                check_digits(value);
                for scale in 0..=30 {
                    check_decimal(value as i64, scale);
                    check_decimal((value as i64).wrapping_neg(), scale);
                }
            }
        }
        // Every field of four digits, in both places.
        for four in 0..10_000 {
            check_digits(four * 10_000 + 9_999 - four);
            check_digits(SIXTEEN + four);
        }
    }
}
