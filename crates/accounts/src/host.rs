//! Host parts of accounts: which clients they cover, and which of several is the most specific.

use std::cmp::Ordering;
use std::net::{IpAddr, Ipv4Addr};

/// Where a client comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    /// From this machine: by the unix socket, or by a loopback address.
    pub local: bool,
    /// Its address; `None` by the unix socket.
    pub ip: Option<IpAddr>,
}

/// Whether an account's host part covers a client: a name or address, `%` and `_` as in LIKE, or `address/netmask`.
pub fn host_matches(pattern: &str, client: &Client) -> bool {
    if pattern.is_empty() || pattern == "%" {
        return true;
    }
    if client.local && (pattern == "127.0.0.1" || pattern == "::1" || like(pattern.as_bytes(), b"localhost")) {
        return true;
    }
    let Some(ip) = client.ip else { return false };
    match pattern.split_once('/') {
        Some((network, mask)) => in_network(ip, network, mask),
        None => like(pattern.as_bytes(), ip.to_string().as_bytes()),
    }
}

fn in_network(ip: IpAddr, network: &str, mask: &str) -> bool {
    let (IpAddr::V4(ip), Ok(network)) = (ip, network.parse::<Ipv4Addr>()) else { return false };
    let mask = match mask.parse::<u32>() {
        Ok(bits @ 0..=32) => u32::MAX.checked_shl(32 - bits).unwrap_or(0),
        Ok(_) => return false,
        Err(_) => match mask.parse::<Ipv4Addr>() {
            Ok(mask) => mask.to_bits(),
            Err(_) => return false,
        },
    };
    // As in MySQL: a network with bits outside its mask covers nobody.
    ip.to_bits() & mask == network.to_bits()
}

/// LIKE with `%`, `_` and `\`, without case of ASCII letters: hosts.
pub fn like(pattern: &[u8], text: &[u8]) -> bool {
    fits(pattern, text, byte_at, |a, b| a.eq_ignore_ascii_case(&b))
}

/// The same with case: names of databases.
pub(crate) fn name_like(pattern: &[u8], name: &[u8]) -> bool {
    fits(pattern, name, byte_at, |a, b| a == b)
}

/// Whether every name that fits the other pattern fits this one.
pub(crate) fn covers(pattern: &[u8], other: &[u8]) -> bool {
    fits(pattern, other, part_at, |a, b| a == b)
}

/// What stands in a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Byte(u8),
    One,
    Any,
}

fn byte_at(text: &[u8], at: usize) -> Option<(Part, usize)> {
    text.get(at).map(|byte| (Part::Byte(*byte), at + 1))
}

/// The part of a pattern that begins there, and where the next one does.
fn part_at(pattern: &[u8], at: usize) -> Option<(Part, usize)> {
    match *pattern.get(at)? {
        b'%' => Some((Part::Any, at + 1)),
        b'_' => Some((Part::One, at + 1)),
        b'\\' if at + 1 < pattern.len() => Some((Part::Byte(pattern[at + 1]), at + 2)),
        byte => Some((Part::Byte(byte), at + 1)),
    }
}

/// Greedy with one step back.
fn fits(pattern: &[u8], text: &[u8], text_at: impl Fn(&[u8], usize) -> Option<(Part, usize)>, same: impl Fn(u8, u8) -> bool) -> bool {
    let covers = |own, part| match (own, part) {
        (Part::Byte(own), Part::Byte(other)) => same(own, other),
        (Part::Byte(_), _) | (Part::One, Part::Any) => false,
        (Part::One, _) | (Part::Any, _) => true,
    };
    let (mut p, mut t, mut star) = (0, 0, None);
    loop {
        let own = part_at(pattern, p);
        if let Some((Part::Any, p_next)) = own {
            star = Some((p_next, t));
            p = p_next;
            continue;
        }
        let Some((part, t_next)) = text_at(text, t) else { return own.is_none() };
        match (own, star) {
            (Some((own, p_next)), _) if covers(own, part) => (p, t) = (p_next, t_next),
            (_, Some((p_star, t_star))) => {
                let Some((_, t_star)) = text_at(text, t_star) else { return false };
                star = Some((p_star, t_star));
                (p, t) = (p_star, t_star);
            }
            (_, None) => return false,
        }
    }
}

/// Where a host part stands: exact ones, networks by the length of their masks, patterns by what is written before their first wildcard, `%`, nothing.
fn specificity(host: &str) -> (u8, usize) {
    if host.is_empty() {
        return (0, 0);
    }
    if host == "%" {
        return (1, 0);
    }
    if let Some((_, mask)) = host.split_once('/') {
        let bits = match mask.parse::<Ipv4Addr>() {
            Ok(mask) => mask.to_bits().count_ones(),
            Err(_) => mask.parse().unwrap_or(0),
        };
        return (3, bits as usize);
    }
    match first_wildcard(host) {
        None => (4, 0),
        Some(at) => (2, at),
    }
}

/// Where the first wildcard of a pattern stands.
pub(crate) fn first_wildcard(pattern: &str) -> Option<usize> {
    let bytes = pattern.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'%' | b'_' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    None
}

/// The order in which accounts are tried: the more specific host first.
pub(crate) fn by_specificity(a: &str, b: &str) -> Ordering {
    specificity(b).cmp(&specificity(a)).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_patterns_match_as_in_mysql() {
        let from = |text: &str| {
            let ip: IpAddr = text.parse().expect("an address");
            Client { local: ip.is_loopback(), ip: Some(ip) }
        };
        let unix = Client { local: true, ip: None };
        for (pattern, client, expect) in [
            ("%", from("10.1.2.3"), true),
            ("", from("10.1.2.3"), true),
            ("%", unix, true),
            ("localhost", unix, true),
            ("local%", unix, true),
            ("localhost", from("127.0.0.1"), true),
            ("127.%", from("127.0.0.1"), true),
            ("127.%", unix, false),
            ("localhost", from("10.1.2.3"), false),
            ("10.1.%", from("10.1.2.3"), true),
            ("10.2.%", from("10.1.2.3"), false),
            ("10.1.2._", from("10.1.2.3"), true),
            ("10.1.0.0/255.255.0.0", from("10.1.2.3"), true),
            ("10.1.1.0/255.255.0.0", from("10.1.2.3"), false),
            ("10.1.0.0/16", from("10.2.2.3"), false),
            ("0.0.0.0/0", from("10.2.2.3"), true),
            ("10.1.0.0/99", from("10.1.0.0"), false),
        ] {
            assert_eq!(host_matches(pattern, &client), expect, "{pattern} {client:?}");
        }
    }

    #[test]
    fn like_knows_escapes() {
        for (pattern, text, expect) in [
            ("a%", "abc", true),
            (r"a\_c", "abc", false),
            (r"a\_c", "a_c", true),
            ("a_c", "abc", true),
            (r"a\%", "a%", true),
            ("%b%", "abc", true),
            ("%", "", true),
            ("", "x", false),
            ("a%c%", "axxcyy", true),
        ] {
            assert_eq!(like(pattern.as_bytes(), text.as_bytes()), expect, "{pattern} {text}");
        }
    }

    #[test]
    fn a_pattern_covers_what_fits_no_more_than_it() {
        for (own, given, expect) in [
            ("my_app", "my%app", false),
            ("my_app", "my_app", true),
            ("my_app", r"my\_app", true),
            ("my_app", r"my\%app", true),
            ("my_app", "myxapp", true),
            ("my_app", "my_ap_", false),
            ("my_app", "my__app", false),
            (r"my\_app", "my_app", false),
            (r"my\_app", r"my\_app", true),
            (r"my\_app", "my%", false),
            ("my%", "my%app", true),
            ("my%", "my_", true),
            ("my%", "my", true),
            ("my%", "m%", false),
            ("%app%", "a%app_", true),
            ("%a%b%", "%b%a%", false),
            ("%a%b%", "a%xb", true),
            ("%", "", true),
            ("_", "%", false),
            ("my%", "My%", false),
        ] {
            assert_eq!(covers(own.as_bytes(), given.as_bytes()), expect, "{own} {given}");
        }
    }

    #[test]
    fn the_most_specific_host_comes_first() {
        let mut hosts = ["%", "", "10.%", "10.1.%", "10.1.0.0/255.255.0.0", "10.0.0.0/8", "localhost", "10.1.2.3"];
        hosts.sort_by(|a, b| by_specificity(a, b));
        assert_eq!(hosts, ["10.1.2.3", "localhost", "10.1.0.0/255.255.0.0", "10.0.0.0/8", "10.1.%", "10.%", "%", ""]);
    }
}
