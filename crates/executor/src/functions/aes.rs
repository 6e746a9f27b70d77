//! AES_ENCRYPT and AES_DECRYPT: AES in the mode of `block_encryption_mode`, with a key as given (folded to the key's size) or derived by HKDF or
//! PBKDF2 over SHA-512.
//!
//! # Not here
//! The cipher itself is the crate `aes`; the modes are few lines over its blocks, among them CFB1, which crates of modes leave out.

use crate::convert::to_i64;
use crate::exec::Exec;
use crate::run::Result;
use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use mysql_error::{SqlError, codes};
use planner::expr::{Expr, VariableScope};
use planner::func::Func;
use types::Value;

/// Bytes of a block.
const BLOCK: usize = 16;
/// Bytes of a salt or an information past which they are refused.
const OPTION_BYTES_MAX: usize = 256;
/// Bytes between two looks whether the statement is to end: with one bit fed back at a time each takes eight blocks of the cipher. A multiple of a block.
const PIECE: usize = 16 << 10;
/// Iterations of PBKDF2 where none are given, and the fewest.
const ITERATIONS_MIN: i64 = 1000;
/// The most.
const ITERATIONS_MAX: i64 = 65535;

type Block = [u8; BLOCK];

/// How blocks are chained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chaining {
    Ecb,
    Cbc,
    /// With so many bits fed back at a time.
    Cfb(usize),
    Ofb,
}

/// A value of `block_encryption_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mode {
    key_bytes: usize,
    chaining: Chaining,
}

impl Mode {
    fn parse(name: &str) -> Option<Mode> {
        let mut parts = name.split('-');
        let ("aes", bits, chaining) = (parts.next()?, parts.next()?, parts.next()?) else { return None };
        let chaining = match chaining {
            "ecb" => Chaining::Ecb,
            "cbc" => Chaining::Cbc,
            "cfb1" => Chaining::Cfb(1),
            "cfb8" => Chaining::Cfb(8),
            "cfb128" => Chaining::Cfb(128),
            "ofb" => Chaining::Ofb,
            _ => return None,
        };
        let key_bytes = match bits {
            "128" => 16,
            "192" => 24,
            "256" => 32,
            _ => return None,
        };
        Some(Mode { key_bytes, chaining })
    }
}

/// AES with a key of any size.
enum Cipher {
    Aes128(Aes128),
    Aes192(Aes192),
    Aes256(Aes256),
}

impl Cipher {
    fn new(key: &[u8]) -> Cipher {
        match key.len() {
            16 => Cipher::Aes128(Aes128::new(GenericArray::from_slice(key))),
            24 => Cipher::Aes192(Aes192::new(GenericArray::from_slice(key))),
            _ => Cipher::Aes256(Aes256::new(GenericArray::from_slice(key))),
        }
    }

    fn encrypt(&self, block: &mut Block) {
        let block = GenericArray::from_mut_slice(block);
        match self {
            Cipher::Aes128(cipher) => cipher.encrypt_block(block),
            Cipher::Aes192(cipher) => cipher.encrypt_block(block),
            Cipher::Aes256(cipher) => cipher.encrypt_block(block),
        }
    }

    fn decrypt(&self, block: &mut Block) {
        let block = GenericArray::from_mut_slice(block);
        match self {
            Cipher::Aes128(cipher) => cipher.decrypt_block(block),
            Cipher::Aes192(cipher) => cipher.decrypt_block(block),
            Cipher::Aes256(cipher) => cipher.decrypt_block(block),
        }
    }
}

fn xor(block: &mut Block, with: &Block) {
    block.iter_mut().zip(with).for_each(|(byte, with)| *byte ^= with);
}

/// `look` fails when the statement is to end.
fn encrypt(mode: Mode, key: &[u8], vector: &Block, text: &mut Vec<u8>, look: impl FnMut() -> Result<()>) -> Result<()> {
    if matches!(mode.chaining, Chaining::Ecb | Chaining::Cbc) {
        let padding = BLOCK - text.len() % BLOCK;
        text.resize(text.len() + padding, padding as u8);
    }
    convert(mode, key, vector, text, true, look)
}

/// `None` for what no key of this size has encrypted.
fn decrypt(mode: Mode, key: &[u8], vector: &Block, text: &mut Vec<u8>, look: impl FnMut() -> Result<()>) -> Result<Option<()>> {
    let padded = matches!(mode.chaining, Chaining::Ecb | Chaining::Cbc);
    if padded && (text.is_empty() || !text.len().is_multiple_of(BLOCK)) {
        return Ok(None);
    }
    convert(mode, key, vector, text, false, look)?;
    Ok(if padded { remove_padding(text) } else { Some(()) })
}

fn remove_padding(text: &mut Vec<u8>) -> Option<()> {
    let padding = usize::from(*text.last()?);
    let content = text.len().checked_sub(padding)?;
    if padding == 0 || padding > BLOCK || text[content..].iter().any(|byte| usize::from(*byte) != padding) {
        return None;
    }
    text.truncate(content);
    Some(())
}

/// Whole blocks where the mode wants them.
fn convert(mode: Mode, key: &[u8], vector: &Block, text: &mut [u8], encrypts: bool, mut look: impl FnMut() -> Result<()>) -> Result<()> {
    let cipher = Cipher::new(key);
    let mut state = *vector;
    for piece in text.chunks_mut(PIECE) {
        look()?;
        match mode.chaining {
            Chaining::Ecb => in_blocks(&cipher, None, piece, encrypts),
            Chaining::Cbc => in_blocks(&cipher, Some(&mut state), piece, encrypts),
            Chaining::Cfb(bits) => feed_back(&cipher, bits, &mut state, piece, encrypts),
            Chaining::Ofb => stream(&cipher, &mut state, piece),
        }
    }
    Ok(())
}

/// ECB, or CBC with the block that was encrypted last.
fn in_blocks(cipher: &Cipher, mut last: Option<&mut Block>, text: &mut [u8], encrypts: bool) {
    for chunk in text.chunks_exact_mut(BLOCK) {
        let before: Block = (&*chunk).try_into().unwrap_or_default();
        let mut block = before;
        if let Some(last) = last.as_deref().filter(|_| encrypts) {
            xor(&mut block, last);
        }
        match encrypts {
            true => cipher.encrypt(&mut block),
            false => cipher.decrypt(&mut block),
        }
        if let Some(last) = last.as_deref_mut() {
            if !encrypts {
                xor(&mut block, last);
            }
            *last = if encrypts { block } else { before };
        }
        chunk.copy_from_slice(&block);
    }
}

/// OFB: what is encrypted over and over is a stream of bytes.
fn stream(cipher: &Cipher, state: &mut Block, text: &mut [u8]) {
    for chunk in text.chunks_mut(BLOCK) {
        cipher.encrypt(state);
        chunk.iter_mut().zip(&*state).for_each(|(byte, with)| *byte ^= with);
    }
}

/// CFB: what comes out goes in again, so many bits at a time.
fn feed_back(cipher: &Cipher, bits: usize, state: &mut Block, text: &mut [u8], encrypts: bool) {
    match bits {
        128 => {
            for chunk in text.chunks_mut(BLOCK) {
                cipher.encrypt(state);
                for (byte, with) in chunk.iter_mut().zip(&mut *state) {
                    let before = *byte;
                    *byte ^= *with;
                    *with = if encrypts { *byte } else { before };
                }
            }
        }
        8 => {
            for byte in text {
                let mut block = *state;
                cipher.encrypt(&mut block);
                let before = *byte;
                *byte ^= block[0];
                state.copy_within(1.., 0);
                state[BLOCK - 1] = if encrypts { *byte } else { before };
            }
        }
        _ => {
            for byte in text {
                for bit in (0..8).rev() {
                    let mut block = *state;
                    cipher.encrypt(&mut block);
                    let before = *byte >> bit & 1;
                    let after = before ^ block[0] >> 7;
                    *byte = *byte & !(1 << bit) | after << bit;
                    let shifted = u128::from_be_bytes(*state) << 1 | u128::from(if encrypts { after } else { before });
                    *state = shifted.to_be_bytes();
                }
            }
        }
    }
}

/// A key of any length as one of the cipher's: each byte is xored into its place.
fn folded(key: &[u8], key_bytes: usize) -> Vec<u8> {
    let mut out = vec![0; key_bytes];
    for (at, byte) in key.iter().enumerate() {
        out[at % key_bytes] ^= byte;
    }
    out
}

impl Exec<'_> {
    /// Text, key, and maybe: initialization vector, name of a key derivation function, its salt, its information or iterations.
    #[inline(never)]
    pub(super) fn call_aes(&mut self, func: Func, args: &[Expr]) -> Result<Value> {
        let Value::Bytes(name) = self.context.system_variable(VariableScope::Session, "block_encryption_mode")? else {
            return Ok(Value::Null);
        };
        let Some(mode) = Mode::parse(&name.to_text()) else { return Err(crate::errors::internal("block_encryption_mode")) };
        let text = self.text_arg(&args[0])?;
        let key = self.text_arg(&args[1])?;
        let vector = match (mode.chaining, args.get(2)) {
            (Chaining::Ecb, _) => {
                // ECB chains nothing. Nobody is warned where a key derivation function follows: the argument must be there then.
                if args.len() == 3 {
                    self.warn(1618, "<IV> option ignored".to_owned());
                }
                [0; BLOCK]
            }
            (_, None) => {
                let message = format!("Incorrect parameter count in the call to native function '{}'", func.name());
                return Err(SqlError::with_message(1582, message).into());
            }
            (_, Some(vector)) => {
                if text.is_none() || key.is_none() {
                    return Ok(Value::Null);
                }
                match self.text_arg(vector)?.as_deref().and_then(|vector| vector.first_chunk::<BLOCK>()) {
                    Some(vector) => *vector,
                    None => {
                        let name = func.name();
                        let message =
                            format!("The initialization vector supplied to {name} is too short. Must be at least {BLOCK} bytes long");
                        return Err(SqlError::with_message(1882, message).into());
                    }
                }
            }
        };
        let (Some(mut text), Some(key)) = (text, key) else { return Ok(Value::Null) };
        let key = match args.len() {
            0..=3 => {
                if key.len() > mode.key_bytes {
                    let message = format!(
                        "AES key size should be {} bytes length or secure KDF methods hkdf or pbkdf2_hmac should be used, please provide exact AES key size or use KDF methods for better security.",
                        mode.key_bytes
                    );
                    self.warn(3237, message);
                }
                folded(&key, mode.key_bytes)
            }
            _ => self.derived_key(&key, mode.key_bytes, &args[3..])?,
        };
        if func == Func::AesEncrypt {
            memory::reserve(&mut text, BLOCK).map_err(|_| codes::out_of_resources())?;
            encrypt(mode, &key, &vector, &mut text, || self.check_cancel())?;
            return Ok(Value::bytes(text));
        }
        Ok(decrypt(mode, &key, &vector, &mut text, || self.check_cancel())?.map_or(Value::Null, |()| Value::bytes(text)))
    }

    /// `args`: the function's name, its salt, its information or iterations.
    fn derived_key(&mut self, key: &[u8], key_bytes: usize, args: &[Expr]) -> Result<Vec<u8>> {
        let name = self.derivation_option(Some(&args[0]))?;
        let by_password = match name.as_slice() {
            b"hkdf" => false,
            b"pbkdf2_hmac" => true,
            _ => {
                let message = "KDF method name is not valid. Please use hkdf or pbkdf2_hmac method name";
                return Err(SqlError::with_message(3235, message).into());
            }
        };
        let salt = self.derivation_option(args.get(1))?;
        let mut out = vec![0; key_bytes];
        if by_password {
            let iterations = match args.get(2) {
                None => ITERATIONS_MIN,
                Some(count) => {
                    let count = self.eval(count)?;
                    to_i64(&count, &*self.context)
                }
            };
            if !(ITERATIONS_MIN..=ITERATIONS_MAX).contains(&iterations) {
                let message = "For KDF method pbkdf2_hmac iterations value less than 1000 or more than 65535 is not allowed due to security reasons. Please provide iterations >= 1000 and iterations < 65535";
                return Err(SqlError::with_message(3236, message).into());
            }
            pbkdf2::pbkdf2_hmac::<sha2::Sha512>(key, &salt, iterations as u32, &mut out);
        } else {
            let information = self.derivation_option(args.get(2))?;
            let derivation = hkdf::Hkdf::<sha2::Sha512>::new(Some(&salt), key);
            derivation.expand(&information, &mut out).map_err(|_| crate::errors::internal("length of a derived key"))?;
        }
        Ok(out)
    }

    /// A salt or an information; empty where there is none.
    fn derivation_option(&mut self, arg: Option<&Expr>) -> Result<Vec<u8>> {
        let Some(arg) = arg else { return Ok(Vec::new()) };
        match self.text_arg(arg)? {
            Some(option) if option.len() < OPTION_BYTES_MAX => Ok(option),
            _ => {
                let message = "KDF option size is invalid, please provide valid size < 256 bytes and not NULL";
                Err(SqlError::with_message(3238, message).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAININGS: [&str; 6] = ["ecb", "cbc", "cfb1", "cfb8", "cfb128", "ofb"];
    const VECTOR: &Block = b"0123456789abcdef";

    #[test]
    fn what_is_encrypted_is_decrypted_in_every_mode() {
        let text: Vec<u8> = (0..=255).cycle().take(PIECE + 500).collect();
        for bits in ["128", "192", "256"] {
            for chaining in CHAININGS {
                let mode = Mode::parse(&format!("aes-{bits}-{chaining}")).expect("a mode");
                let key = folded(b"a key that is longer than any of them is", mode.key_bytes);
                for length in [0, 1, 15, 16, 17, 256, PIECE - 1, PIECE, text.len()] {
                    let mut encrypted = text[..length].to_vec();
                    encrypt(mode, &key, VECTOR, &mut encrypted, || Ok(())).expect("nobody ends it");
                    assert!(length < 15 || encrypted[..length] != text[..length], "{mode:?}");
                    let mut decrypted = encrypted.clone();
                    assert_eq!(decrypt(mode, &key, VECTOR, &mut decrypted, || Ok(())).ok(), Some(Some(())), "{mode:?} {length}");
                    assert_eq!(decrypted, &text[..length], "{mode:?}");
                }
            }
        }
    }

    /// The second piece of a text is chained to the first, in the modes that chain.
    #[test]
    fn pieces_are_chained() {
        for chaining in CHAININGS {
            let mode = Mode::parse(&format!("aes-128-{chaining}")).expect("a mode");
            let mut text = vec![7; 2 * PIECE];
            encrypt(mode, b"0123456789012345", VECTOR, &mut text, || Ok(())).expect("nobody ends it");
            let repeats = text[..PIECE] == text[PIECE..2 * PIECE];
            assert_eq!(repeats, chaining == "ecb", "{chaining}");
        }
    }

    #[test]
    fn a_long_text_is_left_when_the_statement_is_to_end() {
        for chaining in CHAININGS {
            let mode = Mode::parse(&format!("aes-128-{chaining}")).expect("a mode");
            for encrypts in [true, false] {
                let (mut text, mut looks) = (vec![7; 8 * PIECE], 0);
                let look = || {
                    looks += 1;
                    if looks == 3 { Err(codes::query_interrupted().into()) } else { Ok(()) }
                };
                let ended = match encrypts {
                    true => encrypt(mode, b"0123456789012345", VECTOR, &mut text, look).is_err(),
                    false => decrypt(mode, b"0123456789012345", VECTOR, &mut text, look).is_err(),
                };
                assert!(ended && looks == 3, "{chaining}: {looks} looks");
                assert!(text[3 * PIECE..8 * PIECE].iter().all(|byte| *byte == 7), "{chaining}");
            }
        }
    }
}
