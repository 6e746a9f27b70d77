//! What entries of both logs are made of.

use crate::front::command::{ClientAddress, Login};
use types::DateTime;

/// An instant in UTC as `log_timestamps=UTC` writes it: `2026-11-23T06:50:47.742356Z`.
pub(super) fn instant(micros: i64, out: &mut Vec<u8>) {
    let start = out.len();
    DateTime::from_unix_micros(micros).unwrap_or(DateTime::ZERO).write_to(6, out);
    if let Some(between) = out.get_mut(start + 10) {
        *between = b'T';
    }
    out.push(b'Z');
}

/// Who a session is: `account[user] @ host [address]`.
pub(super) fn who(login: &Login, out: &mut Vec<u8>) {
    let (host, address) = match &login.address {
        ClientAddress::Unix => ("localhost", String::new()),
        // Addresses are not looked up: this machine's is known.
        ClientAddress::Tcp(address) => (if login.address.is_local() { "localhost" } else { "" }, address.ip().to_canonical().to_string()),
    };
    out.extend_from_slice(format!("{}[{}] @ {host} [{address}]", login.account_user, login.user).as_bytes());
}

/// One statement of a text, without the white space around it; the semicolon stays where others follow.
pub(super) fn trimmed(statement: &[u8], is_last: bool) -> &[u8] {
    let text = statement.trim_ascii_start();
    let ends = |byte: &u8| byte.is_ascii_whitespace() || is_last && matches!(byte, b';' | 0);
    let length = text.iter().rposition(|byte| !ends(byte)).map_or(0, |last| last + 1);
    &text[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_written_as_mysql_does() {
        let mut out = Vec::new();
        instant(1_795_416_647_742_356, &mut out);
        assert_eq!(out, b"2026-11-23T06:50:47.742356Z");
        for (text, last, expect) in [
            (" select 1 ;", false, "select 1 ;"),
            ("  select 7  ;  ", true, "select 7"),
            ("select 2;\n", false, "select 2;"),
            (";", true, ""),
            ("", true, ""),
        ] {
            assert_eq!(String::from_utf8_lossy(trimmed(text.as_bytes(), last)), expect);
        }
    }
}
