//! Numbers and temporal values as text, written straight into a buffer.
//!
//! Integers by two digits at a time; floats as `types` prints them everywhere.

const PAIRS: &[u8; 200] = b"00010203040506070809101112131415161718192021222324252627282930313233343536373839\
4041424344454647484950515253545556575859606162636465666768697071727374757677787980818283848586878889909192939495969798\
99";

/// Longest text of a 64-bit integer.
pub const INT_TEXT_BYTES: usize = 20;

/// Writes the digits at the end of `text` and returns where they begin.
#[inline]
fn digits(mut value: u64, text: &mut [u8; INT_TEXT_BYTES]) -> usize {
    let mut at = INT_TEXT_BYTES;
    while value >= 100 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        at -= 2;
        text[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if value >= 10 {
        let pair = value as usize * 2;
        at -= 2;
        text[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        text[at] = b'0' + value as u8;
    }
    at
}

/// Appends an unsigned integer.
#[inline]
pub fn put_u64_text(out: &mut Vec<u8>, value: u64) {
    let mut text = [0; INT_TEXT_BYTES];
    let at = digits(value, &mut text);
    out.extend_from_slice(&text[at..]);
}

/// Appends a signed integer.
#[inline]
pub fn put_i64_text(out: &mut Vec<u8>, value: i64) {
    let mut text = [0; INT_TEXT_BYTES];
    let mut at = digits(value.unsigned_abs(), &mut text);
    if value < 0 {
        at -= 1;
        text[at] = b'-';
    }
    out.extend_from_slice(&text[at..]);
}

/// Appends `value` padded with zeros to `width` digits.
pub fn put_padded(out: &mut Vec<u8>, value: u64, width: usize) {
    let mut text = [0; INT_TEXT_BYTES];
    let at = digits(value, &mut text);
    for _ in INT_TEXT_BYTES - at..width {
        out.push(b'0');
    }
    out.extend_from_slice(&text[at..]);
}

/// Appends a DOUBLE as MySQL prints one without a fixed number of decimals.
pub fn put_f64_text(out: &mut Vec<u8>, value: f64) {
    types::format_double(value, out);
}

/// Appends a FLOAT as MySQL prints one without a fixed number of decimals: six significant digits.
pub fn put_f32_text(out: &mut Vec<u8>, value: f32) {
    types::format_float(value, out);
}

/// A date and time of day on the wire; fields are not checked, zero dates are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WireDateTime {
    /// 0 to 9999.
    pub year: u16,
    /// 0 to 12.
    pub month: u8,
    /// 0 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999,999.
    pub micros: u32,
}

/// A TIME on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WireTime {
    /// Before zero.
    pub negative: bool,
    /// Whole hours, up to 838.
    pub hours: u32,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999,999.
    pub micros: u32,
}

/// Appends `YYYY-MM-DD`.
pub fn put_date_text(out: &mut Vec<u8>, year: u16, month: u8, day: u8) {
    put_padded(out, u64::from(year), 4);
    out.push(b'-');
    put_padded(out, u64::from(month), 2);
    out.push(b'-');
    put_padded(out, u64::from(day), 2);
}

/// Appends `YYYY-MM-DD hh:mm:ss[.ffffff]` with `decimals` digits of the fraction.
pub fn put_datetime_text(out: &mut Vec<u8>, value: &WireDateTime, decimals: u8) {
    put_date_text(out, value.year, value.month, value.day);
    out.push(b' ');
    put_padded(out, u64::from(value.hour), 2);
    put_minutes(out, value.minute, value.second, value.micros, decimals);
}

/// Appends `[-]hh:mm:ss[.ffffff]` with `decimals` digits of the fraction.
pub fn put_time_text(out: &mut Vec<u8>, value: &WireTime, decimals: u8) {
    if value.negative {
        out.push(b'-');
    }
    put_padded(out, u64::from(value.hours), 2);
    put_minutes(out, value.minute, value.second, value.micros, decimals);
}

fn put_minutes(out: &mut Vec<u8>, minute: u8, second: u8, micros: u32, decimals: u8) {
    out.push(b':');
    put_padded(out, u64::from(minute), 2);
    out.push(b':');
    put_padded(out, u64::from(second), 2);
    let decimals = usize::from(decimals.min(6));
    if decimals > 0 {
        out.push(b'.');
        put_padded(out, u64::from(micros / 10u32.pow(6 - decimals as u32)), decimals);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn integers_print_as_the_standard_library_prints_them() {
        for value in [0, 1, 9, 10, 99, 100, 12_345, -1, -10, i64::MAX, i64::MIN] {
            assert_eq!(text(|out| put_i64_text(out, value)), value.to_string());
        }
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1] {
                assert_eq!(text(|out| put_u64_text(out, value)), value.to_string());
            }
        }
        assert_eq!(text(|out| put_u64_text(out, u64::MAX)), u64::MAX.to_string());
    }

    #[test]
    fn doubles_print_as_in_mysql() {
        for (value, expect) in [
            (0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (100.0, "100"),
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (1.5e20, "1.5e20"),
            (1e-5, "0.00001"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (123456.789, "123456.789"),
            (std::f64::consts::PI, "3.141592653589793"),
            (f64::MAX, "1.7976931348623157e308"),
            (-2.5e-300, "-2.5e-300"),
        ] {
            assert_eq!(text(|out| put_f64_text(out, value)), expect);
        }
    }

    #[test]
    fn floats_have_six_digits() {
        for (value, expect) in [
            (0.1f32, "0.1"),
            (1.234_567_9, "1.23457"),
            (123_456.79, "123457"),
            (16_777_216.0, "16777200"),
            (1e20, "1e20"),
            (3.4e38, "3.4e38"),
        ] {
            assert_eq!(text(|out| put_f32_text(out, value)), expect);
        }
    }

    #[test]
    fn temporal_values_keep_their_decimals() {
        let moment = WireDateTime { year: 2024, month: 2, day: 29, hour: 3, minute: 4, second: 5, micros: 60_700 };
        assert_eq!(text(|out| put_datetime_text(out, &moment, 0)), "2024-02-29 03:04:05");
        assert_eq!(text(|out| put_datetime_text(out, &moment, 3)), "2024-02-29 03:04:05.060");
        assert_eq!(text(|out| put_datetime_text(out, &moment, 6)), "2024-02-29 03:04:05.060700");
        let time = WireTime { negative: true, hours: 838, minute: 59, second: 59, micros: 0 };
        assert_eq!(text(|out| put_time_text(out, &time, 0)), "-838:59:59");
        assert_eq!(text(|out| put_date_text(out, 0, 0, 0)), "0000-00-00");
    }
}
