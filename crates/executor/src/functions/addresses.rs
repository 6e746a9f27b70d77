//! Addresses, UUIDs, readable sizes and times.

use super::not_answered;
use crate::exec::Exec;
use crate::functions::encoding::hex;
use crate::run::Result;
use mysql_error::{SqlError, codes};
use planner::expr::Expr;
use planner::func::Func;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use sync::atomic::{AtomicU64, Ordering};
use types::Value;

/// The last UUID_SHORT. (Relaxed: a counter.)
static LAST_SHORT: AtomicU64 = AtomicU64::new(0);

impl Exec<'_> {
    /// Calls one of them.
    #[inline(never)]
    pub(super) fn call_address(&mut self, func: Func, args: &[Expr]) -> Result<Value> {
        use Func as F;
        match func {
            F::Uuid => Ok(Value::from(self.uuid())),
            F::UuidShort => Ok(Value::UInt(self.uuid_short())),
            F::InetAton => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                match short_address(&t) {
                    Some(address) => Ok(Value::UInt(address)),
                    None => self.wrong_for("string", &args[0], "inet_aton"),
                }
            }
            F::InetNtoa => {
                let Some(n) = self.int_arg(&args[0])? else { return Ok(Value::Null) };
                match u32::try_from(n) {
                    Ok(n) => Ok(Value::from(std::net::Ipv4Addr::from(n).to_string())),
                    Err(_) => self.wrong_for("integer", &args[0], "inet_ntoa"),
                }
            }
            F::IsUuid => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(Value::bool(uuid_bytes(&t).is_some()))
            }
            F::FormatBytes | F::FormatPicoTime => {
                let Some(amount) = self.double_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(Value::from(if func == F::FormatBytes { format_bytes(amount) } else { format_pico_time(amount) }))
            }
            F::UuidToBin | F::BinToUuid => {
                let Some(given) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                let swaps = match args.get(1) {
                    Some(e) => self.int_arg(e)?.is_some_and(|n| n != 0),
                    None => false,
                };
                let wrong = || {
                    SqlError::with_message(
                        1411,
                        format!("Incorrect string value: '{}' for function {}", crate::convert::shown_bytes(&given), func.name()),
                    )
                };
                if func == F::UuidToBin {
                    let bytes = uuid_bytes(&given).ok_or_else(wrong)?;
                    return Ok(Value::bytes(if swaps { swapped(bytes) } else { bytes }.to_vec()));
                }
                let bytes: [u8; 16] = given.as_slice().try_into().map_err(|_| wrong())?;
                Ok(Value::from(uuid_text(if swaps { unswapped(bytes) } else { bytes })))
            }
            F::Inet6Aton | F::Inet6Ntoa | F::IsIpv4 | F::IsIpv6 | F::IsIpv4Compat | F::IsIpv4Mapped => {
                let Some(given) = self.text_arg(&args[0])? else {
                    // A number is no address even where it is NULL.
                    let is_asked = matches!(func, F::IsIpv4 | F::IsIpv6 | F::IsIpv4Compat | F::IsIpv4Mapped);
                    return Ok(if is_asked && planner::typing::is_number(&args[0].ty) { Value::FALSE } else { Value::Null });
                };
                let is_binary = planner::typing::is_string_class(&args[0].ty) && args[0].ty.collation == types::Collation::Binary;
                match (address(func, &given, is_binary), func) {
                    (Value::Null, F::Inet6Aton) => self.wrong_for("string", &args[0], "inet6_aton"),
                    (Value::Null, _) => self.wrong_for("string", &args[0], "inet6_ntoa"),
                    (value, _) => Ok(value),
                }
            }
            _ => Err(not_answered(func)),
        }
    }

    /// Numbers that grow, from a start that no earlier server has reached: the time in seconds above, a count below.
    fn uuid_short(&mut self) -> u64 {
        let seconds = (self.context.current_micros() / 1_000_000) as u64;
        let start = 1 << 56 | (seconds & 0xffff_ffff) << 24;
        let _ = LAST_SHORT.compare_exchange(0, start, Ordering::Relaxed, Ordering::Relaxed);
        LAST_SHORT.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A version 1 UUID of the current time and a random node.
    fn uuid(&mut self) -> String {
        let ticks = (self.context.current_micros() as u64).wrapping_mul(10).wrapping_add(0x01b2_1dd2_1381_4000);
        let mut bits = || (self.context.random() * 65_536.0) as u64;
        let sequence = bits() & 0x3fff | 0x8000;
        let node = (bits() << 32 | bits() << 16 | bits()) | 1 << 40;
        let low_jitter = bits() & 7;
        let ticks = ticks.wrapping_add(low_jitter);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            ticks & 0xffff_ffff,
            ticks >> 32 & 0xffff,
            ticks >> 48 & 0x0fff | 0x1000,
            sequence,
            node & 0xffff_ffff_ffff
        )
    }

    /// NULL for an argument that is none for a function: 1411.
    #[cold]
    pub(crate) fn wrong_for(&mut self, kind: &str, argument: &Expr, function: &str) -> Result<Value> {
        let shown = self.spelled(argument, || "?".to_owned());
        self.tell(codes::wrong_value_for_type(kind, shown, function))?;
        Ok(Value::Null)
    }
}

/// The number of an address of four bytes, or of fewer parts: `127.1` is 127.0.0.1. Empty parts but the last are 0.
fn short_address(text: &[u8]) -> Option<u64> {
    let part =
        |part: &[u8]| part.iter().try_fold(0, |n: u64, b| Some(n * 10 + u64::from(char::from(*b).to_digit(10)?)).filter(|n| *n < 256));
    let parts: Vec<u64> = text.split(|byte| *byte == b'.').take(5).map(part).collect::<Option<_>>()?;
    let (last, first) = parts.split_last().filter(|(_, first)| first.len() < 4)?;
    if !text.last().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    Some(first.iter().zip([24, 16, 8]).fold(*last, |address, (part, shift)| address | part << shift))
}

/// The functions of IPv4 and IPv6 addresses.
fn address(func: Func, given: &[u8], is_binary: bool) -> Value {
    let text = || std::str::from_utf8(given).ok();
    let v6 = || <[u8; 16]>::try_from(given).ok();
    match func {
        Func::Inet6Aton => match text().and_then(parse_address) {
            Some(IpAddr::V4(address)) => Value::bytes(address.octets().to_vec()),
            Some(IpAddr::V6(address)) => Value::bytes(address.octets().to_vec()),
            None => Value::Null,
        },
        Func::Inet6Ntoa if !is_binary => Value::Null,
        Func::Inet6Ntoa => match (<[u8; 4]>::try_from(given), v6()) {
            (Ok(bytes), _) => Value::from(Ipv4Addr::from(bytes).to_string()),
            (_, Some(bytes)) => Value::from(v6_text(bytes)),
            _ => Value::Null,
        },
        Func::IsIpv4 => Value::bool(text().and_then(parse_v4).is_some()),
        Func::IsIpv6 => Value::bool(text().and_then(parse_v6).is_some()),
        // ::a.b.c.d, but neither :: nor ::1.
        Func::IsIpv4Compat => Value::bool(is_binary && v6().is_some_and(|b| u128::from_be_bytes(b) > 1 && b[..12] == [0; 12])),
        _ => Value::bool(is_binary && v6().is_some_and(|b| b[..10] == [0; 10] && b[10..12] == [0xff; 2])),
    }
}

fn parse_address(text: &str) -> Option<IpAddr> {
    match parse_v4(text) {
        Some(address) => Some(IpAddr::V4(address)),
        None => parse_v6(text).map(IpAddr::V6),
    }
}

/// An IPv4 address at its end is read as by [`parse_v4`].
fn parse_v6(text: &str) -> Option<Ipv6Addr> {
    match text.rsplit_once(':') {
        Some((groups, v4)) if v4.contains('.') => {
            let [a, b, c, d] = parse_v4(v4)?.octets();
            format!("{groups}:{a:x}{b:02x}:{c:x}{d:02x}").parse().ok()
        }
        _ => text.parse().ok(),
    }
}

/// Four numbers of up to three digits; unlike elsewhere they may begin with 0.
fn parse_v4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || part.len() > 3 || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *octet = part.parse().ok()?;
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

/// The last of the longest runs of zero groups is left out, and an embedded IPv4 address is shown as one.
fn v6_text(bytes: [u8; 16]) -> String {
    let groups: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_be_bytes(*pair)).collect();
    let (mut at, mut length) = (0, 0);
    let mut no = 0;
    while no < 8 {
        let run = groups[no..].iter().take_while(|group| **group == 0).count();
        if run > length {
            (at, length) = (no, run);
        }
        no += run.max(1);
    }
    if length < 2 {
        (at, length) = (8, 0);
    }
    let embeds = at == 0 && (length == 6 || (length == 5 && groups[5] == 0xffff));
    let mut out = String::new();
    let mut no = 0;
    while no < 8 {
        if no == at {
            out.push_str("::");
            no += length;
            continue;
        }
        if !out.is_empty() && !out.ends_with(':') {
            out.push(':');
        }
        if embeds && no == 6 {
            out.push_str(&Ipv4Addr::new(bytes[12], bytes[13], bytes[14], bytes[15]).to_string());
            break;
        }
        out.push_str(&format!("{:x}", groups[no]));
        no += 1;
    }
    out
}

/// The bytes of a UUID as text: with dashes, without, or with dashes in braces.
fn uuid_bytes(text: &[u8]) -> Option<[u8; 16]> {
    let inner = text.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
    let dashed = |text: &[u8]| text.len() == 36 && [8, 13, 18, 23].iter().all(|at| text[*at] == b'-');
    let digits: Vec<u8> = match (inner, text.len()) {
        (Some(inner), _) if dashed(inner) => inner.iter().copied().filter(|b| *b != b'-').collect(),
        (None, 36) if dashed(text) => text.iter().copied().filter(|b| *b != b'-').collect(),
        (None, 32) => text.to_vec(),
        _ => return None,
    };
    if digits.len() != 32 {
        return None;
    }
    let mut bytes = [0; 16];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
        let digit = |b: u8| char::from(b).to_digit(16);
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(bytes)
}

/// The parts of the time with the slowest first, so that keys grow.
fn swapped(b: [u8; 16]) -> [u8; 16] {
    [b[6], b[7], b[4], b[5], b[0], b[1], b[2], b[3], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]]
}

fn unswapped(b: [u8; 16]) -> [u8; 16] {
    [b[4], b[5], b[6], b[7], b[2], b[3], b[0], b[1], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]]
}

fn uuid_text(bytes: [u8; 16]) -> String {
    let digits = hex(&bytes, false);
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// FORMAT_BYTES(): an amount with a unit.
pub fn format_bytes(bytes: f64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes.abs() < 1024.0 {
        return format!("{:4} bytes", bytes as i64);
    }
    let mut amount = bytes / 1024.0;
    let mut unit = 0;
    while amount.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    with_unit(amount, UNITS[unit])
}

/// With an exponent where it would be long.
fn with_unit(amount: f64, unit: &str) -> String {
    let long = if amount.abs() >= 100_000.0 { format!("{amount:.2e}") } else { return format!("{amount:4.2} {unit}") };
    match long.split_once('e').and_then(|(digits, exponent)| Some((digits, exponent.parse::<i32>().ok()?))) {
        Some((digits, exponent)) => format!("{digits}e{exponent:+03} {unit}"),
        None => format!("{long} {unit}"),
    }
}

fn format_pico_time(picos: f64) -> String {
    const UNITS: [(f64, &str); 7] = [(8.64e16, "d"), (3.6e15, "h"), (6e13, "min"), (1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns")];
    match UNITS.iter().find(|(least, _)| picos.abs() >= *least) {
        Some((unit, name)) => with_unit(picos / unit, name),
        None => format!("{:3} ps", picos as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_as_mysql_shows_them() {
        let check = |text: &str, expect: &str| {
            let Ok(address) = text.parse::<Ipv6Addr>() else { panic!("{text}") };
            assert_eq!(v6_text(address.octets()), expect, "{text}");
        };
        check("::", "::");
        check("::1", "::1");
        check("1:0:0:2:0:0:0:3", "1:0:0:2::3");
        check("abcd:0:1::", "abcd:0:1::");
        check("::ffff:1.2.3.4", "::ffff:1.2.3.4");
        check("::1.2.3.4", "::1.2.3.4");
        check("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8");
    }

    #[test]
    fn an_address_within_another_may_begin_with_zeros() {
        let check = |text: &str, expect: Option<&str>| assert_eq!(parse_v6(text), expect.and_then(|text| text.parse().ok()), "{text}");
        check("::01.2.3.004", Some("::102:304"));
        check("1:2:3:4:5:6:1.2.3.4", Some("1:2:3:4:5:6:102:304"));
        check("::0001.2.3.4", None);
        check("::1.2.3", None);
        check("::1.2.3.4:5", None);
        check("1.2.3.4", None);
        check("1:2:3:4:5:6:7:1.2.3.4", None);
    }

    #[test]
    fn long_amounts_have_an_exponent() {
        assert_eq!(
            (format_bytes(1023.9), format_bytes(-1.5), format_bytes(1e22)),
            ("1023 bytes".into(), "  -1 bytes".into(), "8673.62 EiB".into())
        );
        assert_eq!((format_bytes(1e30), format_bytes(1e300)), ("8.67e+11 EiB".into(), "8.67e+281 EiB".into()));
        assert_eq!((format_pico_time(999.9), format_pico_time(-1e22)), ("999 ps".into(), "-1.16e+05 d".into()));
        assert_eq!((format_pico_time(8.64e16 * 99_999.996), format_pico_time(0.5)), ("100000.00 d".into(), "  0 ps".into()));
    }

    #[test]
    fn uuids_come_back_from_their_bytes() {
        let text = "6ccd780c-baba-1026-9564-5b8c656024db";
        let bytes = uuid_bytes(text.as_bytes()).expect("a UUID");
        assert_eq!(uuid_text(bytes), text);
        assert_eq!(unswapped(swapped(bytes)), bytes);
        assert_eq!(uuid_bytes(b"6ccd780cbaba1026-9564-5b8c656024db"), None);
    }
}
