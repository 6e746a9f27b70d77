//! Accounts as authentication sees them.

use crate::command::ClientAddress;

/// How an account's password is stored and checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuthPlugin {
    /// `caching_sha2_password`, the default.
    #[default]
    CachingSha2,
    /// `mysql_native_password`.
    Native,
}

impl AuthPlugin {
    /// The name on the wire and in `mysql.user`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CachingSha2 => protocol::auth::CACHING_SHA2_PASSWORD,
            Self::Native => protocol::auth::NATIVE_PASSWORD,
        }
    }

    /// The plugin with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::CachingSha2, Self::Native].into_iter().find(|plugin| plugin.name().eq_ignore_ascii_case(name))
    }
}

/// An account that a client may log in to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// User part.
    pub user: String,
    /// Host part as it was created, such as `%` or `localhost`.
    pub host: String,
    /// Plugin.
    pub plugin: AuthPlugin,
    /// The stored form of the password; empty for none. Such an account lets in only clients on this machine.
    pub stored: Vec<u8>,
    /// `ACCOUNT LOCK`.
    pub locked: bool,
}

/// Looks accounts up. Called at each login, not on any statement's path.
pub trait Accounts: Send + Sync {
    /// The account for a user from an address: the one with the most specific host, as MySQL sorts them.
    fn find(&self, user: &str, address: &ClientAddress) -> Option<Account>;
}

/// Just `root@localhost` without password: what a new data directory begins with.
#[derive(Debug, Clone, Copy, Default)]
pub struct RootOnly;

impl Accounts for RootOnly {
    fn find(&self, user: &str, address: &ClientAddress) -> Option<Account> {
        (user == "root" && address.is_local()).then(|| Account {
            user: "root".to_owned(),
            host: "localhost".to_owned(),
            plugin: AuthPlugin::CachingSha2,
            stored: Vec::new(),
            locked: false,
        })
    }
}

/// Whether an account's host part covers an address: a name or address, `%` and `_` as in LIKE, or `address/netmask`.
pub fn host_matches(pattern: &str, address: &ClientAddress) -> bool {
    let local = address.is_local() && (pattern.eq_ignore_ascii_case("localhost") || pattern == "127.0.0.1" || pattern == "::1");
    if local {
        return true;
    }
    let ClientAddress::Tcp(socket) = address else { return pattern == "%" || pattern.is_empty() };
    let ip = socket.ip().to_canonical();
    if let Some((network, mask)) = pattern.split_once('/') {
        return in_network(ip, network, mask);
    }
    pattern.is_empty() || like(pattern.as_bytes(), ip.to_string().as_bytes())
}

fn in_network(ip: std::net::IpAddr, network: &str, mask: &str) -> bool {
    use std::net::{IpAddr, Ipv4Addr};
    let (IpAddr::V4(ip), Ok(network)) = (ip, network.parse::<Ipv4Addr>()) else { return false };
    let mask = match mask.parse::<u32>() {
        Ok(bits @ 0..=32) => u32::MAX.checked_shl(32 - bits).unwrap_or(0),
        Ok(_) => return false,
        Err(_) => match mask.parse::<Ipv4Addr>() {
            Ok(mask) => mask.to_bits(),
            Err(_) => return false,
        },
    };
    ip.to_bits() & mask == network.to_bits() & mask
}

/// LIKE with `%` and `_`, greedy with one step back.
fn like(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        if p < pattern.len() && pattern[p] == b'%' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == b'_' || pattern[p].eq_ignore_ascii_case(&text[t])) {
            p += 1;
            t += 1;
        } else if let Some((star_p, star_t)) = star {
            star = Some((star_p, star_t + 1));
            p = star_p + 1;
            t = star_t + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'%')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_patterns_match_as_in_mysql() {
        let from = |text: &str| ClientAddress::Tcp(text.parse().expect("an address"));
        for (pattern, address, expect) in [
            ("%", from("10.1.2.3:1"), true),
            ("%", ClientAddress::Unix, true),
            ("localhost", ClientAddress::Unix, true),
            ("localhost", from("127.0.0.1:1"), true),
            ("localhost", from("10.1.2.3:1"), false),
            ("10.1.%", from("10.1.2.3:1"), true),
            ("10.2.%", from("10.1.2.3:1"), false),
            ("10.1.2._", from("10.1.2.3:1"), true),
            ("10.1.0.0/255.255.0.0", from("10.1.2.3:1"), true),
            ("10.1.0.0/16", from("10.2.2.3:1"), false),
            ("0.0.0.0/0", from("10.2.2.3:1"), true),
            ("10.1.0.0/99", from("10.1.0.0:1"), false),
        ] {
            assert_eq!(host_matches(pattern, &address), expect, "{pattern} {address:?}");
        }
    }

    #[test]
    fn root_comes_only_from_this_machine() {
        assert!(RootOnly.find("root", &ClientAddress::Unix).is_some());
        assert!(RootOnly.find("root", &ClientAddress::Tcp("10.0.0.1:1".parse().expect("an address"))).is_none());
        assert!(RootOnly.find("bench", &ClientAddress::Unix).is_none());
    }
}
