//! Texts as digits and bytes, and back; weights, sounds and quotes.

use super::not_answered;
use crate::exec::Exec;
use crate::functions::bounded::{Growing, Made};
use crate::run::Result;
use planner::expr::Expr;
use planner::func::Func;
use types::{Collation, Value};

impl Exec<'_> {
    /// Calls one of them. `e` is the call itself, for its result type.
    #[inline(never)]
    pub(super) fn call_encoding(&mut self, func: Func, args: &[Expr], e: &Expr) -> Result<Value> {
        use Func as F;
        match func {
            F::Hex => {
                let v = self.eval(&args[0])?;
                match &v {
                    Value::Null => Ok(v),
                    Value::Bytes(b) => self.grown(hex_digits(b), "hex"),
                    Value::Date(_) | Value::Time(_) | Value::DateTime(_) | Value::Timestamp(_) | Value::Json(_) => {
                        self.grown(hex_digits(&self.text_of(&v, &args[0])), "hex")
                    }
                    other => Ok(Value::from(format!("{:X}", self.bits_of(other)?))),
                }
            }
            F::Unhex => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                match unhex(&t) {
                    Some(bytes) => Ok(Value::Bytes(bytes.into())),
                    None => self.wrong_for("string", &args[0], "unhex"),
                }
            }
            F::Ascii => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(Value::Int(t.first().map_or(0, |b| i64::from(*b))))
            }
            F::Ord => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                let binary = args[0].ty.collation == Collation::Binary;
                let bytes = if binary { t.len().min(1) } else { Collation::DEFAULT.chars_prefix_bytes(&t, 1) };
                Ok(Value::Int(t[..bytes].iter().fold(0, |n, b| n << 8 | i64::from(*b))))
            }
            F::Char => {
                let mut out = Vec::new();
                for a in args {
                    if let Some(n) = self.bits_arg(a)? {
                        let bytes = (n as u32).to_be_bytes();
                        let skip = bytes.iter().take(3).take_while(|b| **b == 0).count();
                        out.extend_from_slice(&bytes[skip..]);
                    }
                }
                if e.ty.collation == Collation::Binary { Ok(Value::from(out.as_slice())) } else { self.text_of_bytes(&out) }
            }
            F::WeightString => self.weight_string(args),
            F::Quote => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::from("NULL")) };
                let made = quoted(&t, self.growing());
                self.grown(made, "quote")
            }
            F::Bin | F::Oct => {
                // As CONV(n, 10, 2): by the digits of the text.
                self.conv(&args[0], 10, if func == F::Bin { 2 } else { 8 })
            }
            F::ToBase64 => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                let made = to_base64(&t, self.growing());
                self.grown(made, "to_base64")
            }
            F::FromBase64 => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(from_base64(&t).map_or(Value::Null, |b| Value::Bytes(b.into())))
            }
            F::Soundex => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(Value::from(soundex(&String::from_utf8_lossy(&t))))
            }
            _ => Err(not_answered(func)),
        }
    }
}

fn quoted(t: &[u8], mut out: Growing) -> Made<Growing> {
    out.push(b"'")?;
    let special = |b: &u8| matches!(b, b'\'' | b'\\' | 0 | 26);
    let mut rest = t;
    while let Some(at) = rest.iter().position(special) {
        out.push(&rest[..at])?;
        match rest[at] {
            0 => out.push(b"\\0")?,
            26 => out.push(b"\\Z")?,
            other => out.push(&[b'\\', other])?,
        }
        rest = &rest[at + 1..];
    }
    out.push(rest)?;
    out.push(b"'")?;
    Ok(out)
}

/// The digits of HEX(), which MySQL bounds not.
fn hex_digits(b: &[u8]) -> Made<Growing> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = Growing::unbounded();
    out.reserve(b.len().saturating_mul(2))?;
    b.iter().try_for_each(|x| out.push(&[DIGITS[usize::from(x >> 4)], DIGITS[usize::from(x & 15)]]))?;
    Ok(out)
}

/// Hexadecimal digits.
pub fn hex(b: &[u8], upper: bool) -> String {
    let digits: &[u8; 16] = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    b.iter().flat_map(|x| [digits[usize::from(x >> 4)] as char, digits[usize::from(x & 15)] as char]).collect()
}

fn unhex(t: &[u8]) -> Option<Vec<u8>> {
    let digit = |c: u8| (c as char).to_digit(16).map(|d| d as u8);
    let mut out = Vec::with_capacity(t.len() / 2 + 1);
    let mut rest = t;
    if t.len() % 2 == 1 {
        out.push(digit(t[0])?);
        rest = &t[1..];
    }
    for pair in rest.chunks_exact(2) {
        out.push(digit(pair[0])? << 4 | digit(pair[1])?);
    }
    Some(out)
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64(t: &[u8], mut out: Growing) -> Made<Growing> {
    let mut line = 0;
    for chunk in t.chunks(3) {
        // MySQL breaks lines after 76 characters.
        if line == 76 {
            out.push(b"\n")?;
            line = 0;
        }
        let n = chunk.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        let digit = |i: usize| if i <= chunk.len() { BASE64[(n >> (18 - 6 * i) & 63) as usize] } else { b'=' };
        out.push(&[digit(0), digit(1), digit(2), digit(3)])?;
        line += 4;
    }
    Ok(out)
}

fn from_base64(t: &[u8]) -> Option<Vec<u8>> {
    let text: Vec<u8> = t.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for (i, chunk) in text.chunks(4).enumerate() {
        let padding = chunk.iter().rev().take_while(|b| **b == b'=').count();
        if padding > 2 || (padding > 0 && (i + 1) * 4 != text.len()) {
            return None;
        }
        let mut n = 0u32;
        for b in &chunk[..4 - padding] {
            n = n << 6 | BASE64.iter().position(|c| c == b)? as u32;
        }
        n <<= 6 * padding;
        out.extend_from_slice(&n.to_be_bytes()[1..4 - padding]);
    }
    Some(out)
}

fn soundex(s: &str) -> String {
    let code = |c: char| match c.to_ascii_uppercase() {
        'B' | 'F' | 'P' | 'V' => Some('1'),
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => Some('2'),
        'D' | 'T' => Some('3'),
        'L' => Some('4'),
        'M' | 'N' => Some('5'),
        'R' => Some('6'),
        _ => None,
    };
    let mut letters = s.chars().filter(|c| c.is_alphabetic());
    let Some(first) = letters.next() else { return String::new() };
    let mut out = String::from(first.to_ascii_uppercase());
    let mut last = code(first);
    for c in letters {
        let this = code(c);
        if this.is_some() && this != last {
            out.extend(this);
        }
        // H and W do not part equal codes; vowels do not either in MySQL's original algorithm, which drops them first.
        if this.is_some() {
            last = this;
        }
    }
    while out.chars().count() < 4 {
        out.push('0');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_follow_the_manual() {
        let text = |made: Made<Growing>| made.map(Growing::into_bytes).expect("room");
        assert_eq!(text(to_base64(b"abc", Growing::unbounded())), b"YWJj");
        assert_eq!(text(quoted(b"a'\0\x1a\\", Growing::unbounded())), b"'a\\'\\0\\Z\\\\'");
        assert_eq!(from_base64(b"YWI="), Some(b"ab".to_vec()));
        assert_eq!(unhex(b"4D7953514C"), Some(b"MySQL".to_vec()));
        assert_eq!(soundex("Hello"), "H400");
        assert_eq!(soundex("Quadratically"), "Q36324");
    }
}
