//! The SHA-256 crypt digest that `caching_sha2_password` stores, after Ulrich Drepper's public specification
//! "Unix crypt using SHA-256 and SHA-512". MySQL differs in one point: its salt has 20 bytes, not at most 16.

use sha2::{Digest, Sha256};

const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Characters of the result.
pub(crate) const DIGEST_CHARS: usize = 43;

fn add_repeated(hash: &mut Sha256, block: &[u8; 32], mut count: usize) {
    while count > 32 {
        hash.update(block);
        count -= 32;
    }
    hash.update(&block[..count]);
}

fn repeat_to(block: &[u8; 32], count: usize) -> Vec<u8> {
    block.iter().copied().cycle().take(count).collect()
}

/// The digest in crypt's base 64.
pub(crate) fn sha256_crypt(password: &[u8], salt: &[u8], rounds: u32) -> [u8; DIGEST_CHARS] {
    let b: [u8; 32] = Sha256::new().chain_update(password).chain_update(salt).chain_update(password).finalize().into();
    let mut a = Sha256::new().chain_update(password).chain_update(salt);
    add_repeated(&mut a, &b, password.len());
    let mut bits = password.len();
    while bits > 0 {
        if bits & 1 == 1 {
            a.update(b)
        } else {
            a.update(password)
        }
        bits >>= 1;
    }
    let a: [u8; 32] = a.finalize().into();

    let mut dp = Sha256::new();
    for _ in 0..password.len() {
        dp.update(password);
    }
    let p = repeat_to(&dp.finalize().into(), password.len());
    let mut ds = Sha256::new();
    for _ in 0..16 + usize::from(a[0]) {
        ds.update(salt);
    }
    let s = repeat_to(&ds.finalize().into(), salt.len());

    let mut c = a;
    for round in 0..rounds {
        let mut hash = Sha256::new();
        if round % 2 == 1 {
            hash.update(&p)
        } else {
            hash.update(c)
        }
        if round % 3 != 0 {
            hash.update(&s);
        }
        if round % 7 != 0 {
            hash.update(&p);
        }
        if round % 2 == 1 {
            hash.update(c)
        } else {
            hash.update(&p)
        }
        c = hash.finalize().into();
    }
    encode(&c)
}

/// crypt's order of bytes: three at a time from three thirds, rotating.
fn encode(c: &[u8; 32]) -> [u8; DIGEST_CHARS] {
    let mut out = [0; DIGEST_CHARS];
    let mut at = 0;
    let mut put = |value: u32, chars: usize| {
        for i in 0..chars {
            out[at] = ALPHABET[(value >> (6 * i) & 63) as usize];
            at += 1;
        }
    };
    let (mut x, mut y, mut z) = (0, 10, 20);
    for _ in 0..10 {
        put(u32::from(c[x]) << 16 | u32::from(c[y]) << 8 | u32::from(c[z]), 4);
        (x, y, z) = (z + 1, x + 1, y + 1);
    }
    put(u32::from(c[31]) << 8 | u32::from(c[30]), 3);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_openssl_come_out() {
        for (password, salt, expect) in [
            ("Hello world!", "saltstring", "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"),
            ("x", "sa", "9NYuDjJzFoMCsnrwGCjsF1024k9f1tjOb4wySqdDwFB"),
            (
                "a very much longer text to encrypt.  This one even stretches over more than one line.",
                "anotherlongsalts",
                "bkTGmWa6xczHOcako3jsC0d.iElajyZG6gO/U7RylL9",
            ),
        ] {
            assert_eq!(std::str::from_utf8(&sha256_crypt(password.as_bytes(), salt.as_bytes(), 5_000)), Ok(expect));
        }
    }
}
