//! COMPRESS, UNCOMPRESS, UNCOMPRESSED_LENGTH: zlib behind four bytes that say the length.

use crate::exec::Exec;
use crate::run::Result;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use mysql_error::{SqlError, codes};
use planner::expr::Expr;
use planner::func::Func;
use types::Value;

/// Bytes of the length.
const HEAD: usize = 4;
/// The two highest bits of a length mean nothing.
const LENGTH_MASK: u32 = 0x3FFF_FFFF;

fn length_of(compressed: &[u8]) -> Option<usize> {
    let head = compressed.first_chunk::<HEAD>()?;
    (compressed.len() > HEAD).then_some((u32::from_le_bytes(*head) & LENGTH_MASK) as usize)
}

/// The same with what follows.
fn compressed(text: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    if text.is_empty() {
        return Ok(out);
    }
    // What zlib promises at most, and the head and the dot.
    let bound = text.len() + (text.len() >> 12) + (text.len() >> 14) + (text.len() >> 25) + 13 + HEAD + 1;
    memory::reserve(&mut out, bound + 64).map_err(|_| codes::out_of_resources())?;
    out.extend_from_slice(&(text.len() as u32 & LENGTH_MASK).to_le_bytes());
    let done = Compress::new(Compression::default(), true).compress_vec(text, &mut out, FlushCompress::Finish);
    if !matches!(done, Ok(Status::StreamEnd)) {
        return Err(crate::errors::internal("zlib"));
    }
    // CHAR columns cut spaces off.
    if out.last() == Some(&b' ') {
        out.push(b'.');
    }
    Ok(out)
}

impl Exec<'_> {
    /// Calls one of them.
    #[inline(never)]
    pub(super) fn call_compression(&mut self, func: Func, args: &[Expr]) -> Result<Value> {
        let Some(text) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
        match func {
            Func::Compress => Ok(Value::bytes(compressed(&text)?)),
            Func::UncompressedLength if text.is_empty() => Ok(Value::Int(0)),
            Func::UncompressedLength => Ok(Value::Int(match length_of(&text) {
                Some(length) => length as i64,
                None => {
                    self.warn_of(codes::zlib_z_data_error());
                    0
                }
            })),
            _ if text.is_empty() => Ok(Value::bytes(text)),
            _ => match self.uncompressed(&text)? {
                Ok(text) => Ok(Value::bytes(text)),
                Err(warning) => {
                    self.warn_of(warning);
                    Ok(Value::Null)
                }
            },
        }
    }

    fn warn_of(&mut self, warning: SqlError) {
        self.warn(warning.code, warning.message);
    }

    /// What was compressed, or why it cannot be told.
    fn uncompressed(&self, compressed: &[u8]) -> Result<std::result::Result<Vec<u8>, SqlError>> {
        let Some(length) = length_of(compressed) else { return Ok(Err(codes::zlib_z_data_error())) };
        let most = self.context.max_allowed_packet();
        if length > most {
            return Ok(Err(codes::too_big_for_uncompress(most)));
        }
        let mut out = Vec::new();
        memory::reserve(&mut out, length).map_err(|_| codes::out_of_resources())?;
        out.resize(length, 0);
        let mut stream = Decompress::new(true);
        let done = stream.decompress(&compressed[HEAD..], &mut out, FlushDecompress::Finish);
        Ok(match done {
            Ok(Status::StreamEnd) => {
                out.truncate(stream.total_out() as usize);
                Ok(out)
            }
            Ok(_) if stream.total_out() as usize == length => Err(codes::zlib_z_buf_error()),
            _ => Err(codes::zlib_z_data_error()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_tells_the_length() {
        let out = compressed(b"abc").expect("memory");
        assert_eq!(length_of(&out), Some(3));
        assert_eq!(length_of(b"abcd"), None);
        assert!(compressed(b"").expect("memory").is_empty());
        // Nothing that cannot be compressed is longer than was reserved for.
        let noise: Vec<u8> = (0..100_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert_eq!(length_of(&compressed(&noise).expect("memory")), Some(noise.len()));
    }
}
