//! The computations of `mysql_native_password` and `caching_sha2_password`, for both sides.
//!
//! | plugin | what the server stores | what the client sends |
//! |---|---|---|
//! | native | `*` + hex of SHA1(SHA1(password)) | SHA1(password) XOR SHA1(challenge + SHA1(SHA1(password))) |
//! | caching_sha2 | `$A$005$` + 20 bytes salt + SHA-256 crypt | SHA256(password) XOR SHA256(SHA256(SHA256(password)) + challenge) |
//!
//! The stored form of caching_sha2 cannot check a challenge. The server keeps SHA256(SHA256(password)) of those who
//! logged in before (fast path) and asks the others for the password itself: in the clear over a unix socket or TLS,
//! under the server's RSA key otherwise (`server` owns the key).

use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::sha256_crypt::{DIGEST_CHARS, sha256_crypt};

/// Name of the native plugin.
pub const NATIVE_PASSWORD: &str = "mysql_native_password";
/// Name of the default plugin.
pub const CACHING_SHA2_PASSWORD: &str = "caching_sha2_password";
/// Name of the client plugin that sends the password in the clear.
pub const CLEAR_PASSWORD: &str = "mysql_clear_password";

/// Bytes of a challenge.
pub const CHALLENGE_BYTES: usize = 20;
/// A challenge: random, without zero bytes, because old clients read it as a string.
pub type Challenge = [u8; CHALLENGE_BYTES];

/// After auth more data: the fast path worked.
pub const FAST_AUTH_SUCCESS: u8 = 3;
/// After auth more data: send the password.
pub const PERFORM_FULL_AUTHENTICATION: u8 = 4;
/// Client asks for the server's public key.
pub const REQUEST_PUBLIC_KEY: u8 = 2;

/// Longest password that caching_sha2_password takes.
pub const PASSWORD_BYTES_MAX: usize = 256;

const SALT_BYTES: usize = 20;
/// Rounds are stored in thousands, in hex.
const ROUNDS_DEFAULT: u32 = 5_000;
const ROUNDS_MAX: u32 = 0xFFF * 1_000;

/// Makes a challenge of random bytes: seven bits each, never zero and never `$`.
pub fn challenge_from_random(random: [u8; CHALLENGE_BYTES]) -> Challenge {
    random.map(|byte| match byte & 0x7F {
        0 | b'$' => (byte >> 7) + 1,
        other => other,
    })
}

fn xor<const N: usize>(mut a: [u8; N], b: &[u8; N]) -> [u8; N] {
    for (x, y) in a.iter_mut().zip(b) {
        *x ^= y;
    }
    a
}

/// Compares without telling by time where the difference is.
fn equal_constant_time(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (x, y)| difference | (x ^ y)) == 0
}

fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    parts.iter().fold(Sha1::new(), |hash, part| hash.chain_update(part)).finalize().into()
}

fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part)).finalize().into()
}

/// The client's answer to a challenge under mysql_native_password; empty for an empty password.
pub fn native_scramble(password: &[u8], challenge: &Challenge) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = sha1(&[password]);
    let twice = sha1(&[&once]);
    xor(once, &sha1(&[challenge, &twice])).to_vec()
}

/// The stored form of a password under mysql_native_password: empty, or `*` and 40 hex digits.
pub fn native_hash(password: &[u8]) -> String {
    use std::fmt::Write;
    if password.is_empty() {
        return String::new();
    }
    let twice = sha1(&[&sha1(&[password])]);
    twice.iter().fold(String::from("*"), |mut text, byte| {
        // Writing into a String cannot fail.
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// Checks an answer under mysql_native_password against the stored form.
pub fn native_check(stored: &[u8], challenge: &Challenge, answer: &[u8]) -> bool {
    if stored.is_empty() {
        return answer.is_empty();
    }
    let (Some(twice), Ok(answer)) = (parse_native_hash(stored), <[u8; 20]>::try_from(answer)) else { return false };
    let once = xor(answer, &sha1(&[challenge, &twice]));
    equal_constant_time(&sha1(&[&once]), &twice)
}

/// SHA1(SHA1(password)) out of `*…`.
fn parse_native_hash(stored: &[u8]) -> Option<[u8; 20]> {
    let hex = stored.strip_prefix(b"*")?;
    if hex.len() != 40 {
        return None;
    }
    let mut hash = [0; 20];
    for (byte, pair) in hash.iter_mut().zip(hex.chunks_exact(2)) {
        let digit = |c: u8| (c as char).to_digit(16);
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(hash)
}

/// The client's answer to a challenge under caching_sha2_password; empty for an empty password.
pub fn sha2_scramble(password: &[u8], challenge: &Challenge) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = sha256(&[password]);
    let twice = sha256(&[&once]);
    xor(once, &sha256(&[&twice, challenge])).to_vec()
}

/// What the server remembers of somebody who logged in: SHA256(SHA256(password)).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FastDigest([u8; 32]);

impl std::fmt::Debug for FastDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FastDigest(..)")
    }
}

impl FastDigest {
    /// Of a password.
    pub fn of(password: &[u8]) -> Self {
        Self(sha256(&[&sha256(&[password])]))
    }

    /// Checks an answer under caching_sha2_password.
    pub fn check(&self, challenge: &Challenge, answer: &[u8]) -> bool {
        let Ok(answer) = <[u8; 32]>::try_from(answer) else { return false };
        let once = xor(answer, &sha256(&[&self.0, challenge]));
        equal_constant_time(&sha256(&[&once]), &self.0)
    }
}

/// The stored form of a password under caching_sha2_password, 70 bytes; empty for an empty password.
/// The salt is made of `random` bytes.
pub fn sha2_hash(password: &[u8], random: [u8; SALT_BYTES]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let salt = challenge_from_random(random);
    let mut stored = b"$A$005$".to_vec();
    stored.extend_from_slice(&salt);
    stored.extend_from_slice(&sha256_crypt(password, &salt, ROUNDS_DEFAULT));
    stored
}

/// Whether bytes are a stored form of caching_sha2_password (`CREATE USER … IDENTIFIED WITH … AS`).
pub fn is_sha2_hash(stored: &[u8]) -> bool {
    stored.is_empty() || parse_sha2_hash(stored).is_some()
}

/// Whether bytes are a stored form of mysql_native_password.
pub fn is_native_hash(stored: &[u8]) -> bool {
    stored.is_empty() || parse_native_hash(stored).is_some()
}

fn parse_sha2_hash(stored: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let rest = stored.strip_prefix(b"$A$")?;
    let (rounds, rest) = rest.split_at_checked(3)?;
    let rest = rest.strip_prefix(b"$")?;
    let rounds = u32::from_str_radix(std::str::from_utf8(rounds).ok()?, 16).ok()?.checked_mul(1_000)?;
    let (salt, digest) = rest.split_at_checked(SALT_BYTES)?;
    (digest.len() == DIGEST_CHARS && (ROUNDS_DEFAULT..=ROUNDS_MAX).contains(&rounds)).then_some((rounds, salt, digest))
}

/// Checks a password against the stored form; takes some milliseconds by intent.
pub fn sha2_check(stored: &[u8], password: &[u8]) -> bool {
    if stored.is_empty() {
        return password.is_empty();
    }
    let Some((rounds, salt, digest)) = parse_sha2_hash(stored) else { return false };
    password.len() <= PASSWORD_BYTES_MAX && equal_constant_time(&sha256_crypt(password, salt, rounds), digest)
}

/// Masks a password (with its final zero) before it goes under RSA, and takes the mask off again.
pub fn xor_with_challenge(bytes: &mut [u8], challenge: &Challenge) {
    for (byte, mask) in bytes.iter_mut().zip(challenge.iter().cycle()) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHALLENGE: Challenge = *b"abcdefghijklmnopqrst";

    #[test]
    fn native_answers_are_checked() {
        let stored = native_hash(b"bench");
        assert_eq!(stored.len(), 41);
        assert_eq!(native_hash(b"password"), "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
        let answer = native_scramble(b"bench", &CHALLENGE);
        assert!(native_check(stored.as_bytes(), &CHALLENGE, &answer));
        assert!(!native_check(stored.as_bytes(), &CHALLENGE, &native_scramble(b"Bench", &CHALLENGE)));
        assert!(!native_check(stored.as_bytes(), &CHALLENGE, b""));
        assert!(!native_check(b"*not hex", &CHALLENGE, &answer));
        assert!(native_check(b"", &CHALLENGE, b""));
        assert!(!native_check(b"", &CHALLENGE, &answer));
    }

    #[test]
    fn sha2_answers_are_checked_on_the_fast_path() {
        let digest = FastDigest::of(b"secret");
        assert!(digest.check(&CHALLENGE, &sha2_scramble(b"secret", &CHALLENGE)));
        assert!(!digest.check(&CHALLENGE, &sha2_scramble(b"other", &CHALLENGE)));
        assert!(!digest.check(&CHALLENGE, b"short"));
    }

    #[test]
    fn a_stored_sha2_form_checks_its_password() {
        let stored = sha2_hash(b"secret", *b"01234567890123456789");
        assert_eq!(stored.len(), 70);
        assert!(is_sha2_hash(&stored));
        assert!(sha2_check(&stored, b"secret"));
        assert!(!sha2_check(&stored, b"Secret"));
        assert!(!sha2_check(&stored[..69], b"secret"));
        assert!(!sha2_check(b"$A$00", b"secret"));
        assert!(sha2_check(b"", b""));
    }

    #[test]
    fn challenges_hold_no_zero_and_no_dollar() {
        for byte in 0..=255 {
            let challenge = challenge_from_random([byte; CHALLENGE_BYTES]);
            assert!(challenge.iter().all(|&b| b != 0 && b != b'$' && b < 128));
        }
    }
}
