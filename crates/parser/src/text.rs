//! Text of tokens: UTF-8 checks, escapes, digits.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use crate::error::ParseError;
use crate::mode::SqlMode;

/// Whether `name` (in any case) is a character set that may stand as an introducer.
pub(crate) fn is_charset(name: &[u8]) -> bool {
    const NAMES: &[&str] = &[
        "utf8mb4", "utf8", "utf8mb3", "binary", "latin1", "ascii", "ucs2", "utf16", "utf16le", "utf32", "big5", "dec8", "cp850", "hp8",
        "koi8r", "latin2", "swe7", "ujis", "sjis", "hebrew", "tis620", "euckr", "koi8u", "gb2312", "greek", "cp1250", "gbk", "latin5",
        "armscii8", "cp866", "keybcs2", "macce", "macroman", "cp852", "latin7", "cp1251", "cp1256", "cp1257", "geostd8", "cp932",
        "eucjpms", "gb18030",
    ];
    NAMES.iter().any(|n| name.eq_ignore_ascii_case(n.as_bytes()))
}

/// 1300: `bytes` are not UTF-8.
pub(crate) fn invalid_utf8(bytes: &[u8]) -> Box<ParseError> {
    let valid = std::str::from_utf8(bytes).map_or_else(|e| e.valid_up_to(), str::len);
    let shown: String = bytes[valid..].iter().take(6).map(|b| format!("\\x{b:02X}")).collect();
    Box::new(ParseError::new(1300, "HY000", format!("Invalid utf8mb4 character string: '{shown}'")))
}

/// `bytes` as text.
#[inline]
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, Box<ParseError>> {
    std::str::from_utf8(bytes).map_err(|_| invalid_utf8(bytes))
}

/// The inside of a string literal with doubled quotes and escapes resolved, appended by `push`.
pub(crate) fn unescape(inside: &[u8], quote: u8, mode: SqlMode, mut push: impl FnMut(&[u8])) {
    let backslash = !mode.has(SqlMode::NO_BACKSLASH_ESCAPES);
    let mut rest = inside;
    while let Some(at) = memchr::memchr2(quote, if backslash { b'\\' } else { quote }, rest) {
        push(&rest[..at]);
        let Some(&escaped) = rest.get(at + 1) else {
            push(&rest[at..]);
            return;
        };
        if rest[at] == quote {
            push(&[quote]);
        } else {
            match escaped {
                b'0' => push(&[0]),
                b'b' => push(&[8]),
                b'n' => push(b"\n"),
                b'r' => push(b"\r"),
                b't' => push(b"\t"),
                b'Z' => push(&[26]),
                b'%' => push(b"\\%"),
                b'_' => push(b"\\_"),
                other => push(&[other]),
            }
        }
        rest = &rest[at + 2..];
    }
    push(rest);
}

/// `unescape` into the arena.
pub(crate) fn unescape_in<'a>(inside: &[u8], quote: u8, mode: SqlMode, arena: &'a Bump) -> &'a [u8] {
    let mut out = Vec::with_capacity_in(inside.len(), arena);
    unescape(inside, quote, mode, |part| out.extend_from_slice_copy(part));
    out.into_bump_slice()
}

/// A quoted name with doubled quotes resolved.
pub(crate) fn unquote_name<'a>(inside: &[u8], quote: u8, arena: &'a Bump) -> &'a [u8] {
    unescape_in(inside, quote, SqlMode::NO_BACKSLASH_ESCAPES, arena)
}

/// Bytes of hexadecimal digits; an odd count gets a leading zero. `None` for other characters.
pub(crate) fn hex_bytes<'a>(digits: &[u8], arena: &'a Bump) -> Option<&'a [u8]> {
    let mut out = Vec::with_capacity_in(digits.len().div_ceil(2), arena);
    let mut value = 0u8;
    for (i, &digit) in digits.iter().enumerate() {
        value = (value << 4) | (digit as char).to_digit(16)? as u8;
        if (digits.len() - i) % 2 == 1 {
            out.push(value);
            value = 0;
        }
    }
    Some(out.into_bump_slice())
}

/// Bytes of binary digits, right aligned. `None` for other characters.
pub(crate) fn bit_bytes<'a>(digits: &[u8], arena: &'a Bump) -> Option<&'a [u8]> {
    let mut out = Vec::with_capacity_in(digits.len().div_ceil(8), arena);
    let mut value = 0u8;
    for (i, &digit) in digits.iter().enumerate() {
        value = (value << 1) | (digit as char).to_digit(2)? as u8;
        if (digits.len() - i) % 8 == 1 {
            out.push(value);
            value = 0;
        }
    }
    Some(out.into_bump_slice())
}

/// The number in decimal digits, or `None` when it does not fit.
#[inline]
pub(crate) fn int_value(digits: &[u8]) -> Option<u64> {
    if digits.len() < 20 {
        return Some(digits.iter().fold(0, |n, &d| n * 10 + u64::from(d.wrapping_sub(b'0') & 15)));
    }
    digits.iter().try_fold(0u64, |n, &d| n.checked_mul(10)?.checked_add(u64::from(d.wrapping_sub(b'0') & 15)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_string(inside: &str, mode: SqlMode, expect: &[u8]) {
        assert_eq!(unescape_in(inside.as_bytes(), b'\'', mode, &Bump::new()), expect, "{inside}");
    }

    #[test]
    fn escapes_follow_mysql() {
        let normal = SqlMode::default();
        check_string("abc", normal, b"abc");
        check_string("it''s", normal, b"it's");
        check_string(r"a\nb\tc\0d\Ze\\f\'g\%h\_i\q", normal, b"a\nb\tc\0d\x1ae\\f'g\\%h\\_iq");
        check_string(r"a\nb''", SqlMode::NO_BACKSLASH_ESCAPES, br"a\nb'");
    }

    #[test]
    fn digits_become_bytes() {
        let arena = Bump::new();
        assert_eq!(hex_bytes(b"4D7", &arena), Some(&[0x04, 0xD7][..]));
        assert_eq!(hex_bytes(b"", &arena), Some(&[][..]));
        assert_eq!(hex_bytes(b"4G", &arena), None);
        assert_eq!(bit_bytes(b"100000001", &arena), Some(&[1, 1][..]));
        assert_eq!(int_value(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(int_value(b"18446744073709551616"), None);
    }
}
