//! The RSA key under which clients of caching_sha2_password send their password over a connection without TLS.
//!
//! Made at the first need, because it takes long and most clients never need it; kept in memory only.

use std::sync::OnceLock;

use protocol::auth::{Challenge, xor_with_challenge};
use rsa::pkcs8::{EncodePublicKey, LineEnding};
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPrivateKey};

const KEY_BITS: usize = 2048;

/// A key pair, made at the first call.
#[derive(Debug, Default)]
pub struct Keys {
    pair: OnceLock<Option<Pair>>,
}

#[derive(Debug)]
struct Pair {
    private: RsaPrivateKey,
    public_pem: String,
}

impl Keys {
    fn pair(&self) -> Option<&Pair> {
        self.pair
            .get_or_init(|| {
                let private = RsaPrivateKey::new(&mut OsRng, KEY_BITS).ok()?;
                let public_pem = private.to_public_key().to_public_key_pem(LineEnding::LF).ok()?;
                Some(Pair { private, public_pem })
            })
            .as_ref()
    }

    /// The public key as clients want it; `None` when none could be made.
    pub fn public_pem(&self) -> Option<&str> {
        self.pair().map(|pair| pair.public_pem.as_str())
    }

    /// The password out of what a client sent: OAEP over the zero-terminated password XOR the challenge.
    pub fn decrypt_password(&self, sent: &[u8], challenge: &Challenge) -> Option<Vec<u8>> {
        let mut password = self.pair()?.private.decrypt(Oaep::new::<sha1::Sha1>(), sent).ok()?;
        xor_with_challenge(&mut password, challenge);
        (password.pop() == Some(0)).then_some(password)
    }
}
