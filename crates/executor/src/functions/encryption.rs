//! Digests, encryption, compression: the way to them.

use super::digest::md5;
use super::encoding::hex;
use super::not_answered;
use crate::exec::Exec;
use crate::run::Result;
use env::Entropy;
use mysql_error::codes;
use planner::expr::Expr;
use planner::func::Func;
use types::Value;

/// Most bytes of RANDOM_BYTES.
const RANDOM_BYTES_MAX: i64 = 1024;

impl Exec<'_> {
    /// Calls one of them.
    #[inline(never)]
    pub(super) fn call_encryption(&mut self, func: Func, args: &[Expr]) -> Result<Value> {
        use Func as F;
        match func {
            F::Md5 => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(Value::from(hex(&md5(&t), false)))
            }
            F::Sha1 => {
                use sha1::Digest;
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(Value::from(hex(&sha1::Sha1::digest(&t), false)))
            }
            F::Sha2 => {
                use sha2::Digest;
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                let Some(bits) = self.int_arg(&args[1])? else { return Ok(Value::Null) };
                Ok(match bits {
                    0 | 256 => Value::from(hex(&sha2::Sha256::digest(&t), false)),
                    224 => Value::from(hex(&sha2::Sha224::digest(&t), false)),
                    384 => Value::from(hex(&sha2::Sha384::digest(&t), false)),
                    512 => Value::from(hex(&sha2::Sha512::digest(&t), false)),
                    _ => Value::Null,
                })
            }
            F::RandomBytes => {
                let Some(length) = self.int_arg(&args[0])? else { return Ok(Value::Null) };
                if !(1..=RANDOM_BYTES_MAX).contains(&length) {
                    return Err(codes::data_out_of_range("length", "random_bytes").into());
                }
                let mut bytes = vec![0; length as usize];
                env::RealEntropy.fill(&mut bytes);
                Ok(Value::bytes(bytes))
            }
            F::AesEncrypt | F::AesDecrypt => self.call_aes(func, args),
            F::Compress | F::Uncompress | F::UncompressedLength => self.call_compression(func, args),
            // What a MySQL answers that has no component that judges passwords.
            F::ValidatePasswordStrength => Ok(if self.eval(&args[0])?.is_null() { Value::Null } else { Value::Int(0) }),
            F::StatementDigest | F::StatementDigestText => self.statement_digest(func, &args[0]),
            _ => Err(not_answered(func)),
        }
    }
}
