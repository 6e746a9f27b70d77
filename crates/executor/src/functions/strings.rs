//! Cutting, joining and filling of texts.

use super::not_answered;
use crate::convert;
use crate::exec::Exec;
use crate::functions::bounded::{Growing, Made, copied, part_of};
use crate::run::Result;
use planner::expr::Expr;
use planner::func::Func;
use types::{Collation, Value};

impl Exec<'_> {
    /// Calls one of them. `e` is the call itself, for its result type.
    #[inline(never)]
    pub(super) fn call_string(&mut self, func: Func, args: &[Expr], e: &Expr) -> Result<Value> {
        use Func as F;
        let binary = e.ty.collation == Collation::Binary;
        match func {
            F::Concat => {
                let mut out = self.growing();
                for a in args {
                    let v = self.eval(a)?;
                    if v.is_null() {
                        return Ok(v);
                    }
                    if let Err(refusal) = out.push(&convert::text(&v, &a.ty, &*self.context)) {
                        return self.refused(refusal, "concat");
                    }
                }
                self.grown(Ok(out), "concat")
            }
            F::ConcatWs => {
                let Some(separator) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                self.joined(self.growing(), &separator, args[1..].iter(), "concat_ws")
            }
            F::Substring => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                let Some(from) = self.int_arg(&args[1])? else { return Ok(Value::Null) };
                let length = match args.get(2) {
                    Some(a) => match self.int_arg(a)? {
                        Some(n) => n,
                        None => return Ok(Value::Null),
                    },
                    None => i64::MAX,
                };
                let count = count_chars(&t, binary) as i64;
                let start = match from {
                    0 => return Ok(Value::from("")),
                    n if n > 0 => n - 1,
                    n => count + n,
                };
                if start < 0 || start >= count || length <= 0 {
                    return Ok(Value::from(""));
                }
                Ok(chars_of(t, start as usize, length.min(count - start) as usize, binary))
            }
            F::SubstringIndex => {
                let Some(parts) = self.texts(&args[..2])? else { return Ok(Value::Null) };
                let Some(count) = self.int_arg(&args[2])? else { return Ok(Value::Null) };
                copied(substring_index(&parts[0], &parts[1], count))
            }
            F::Left | F::Right => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                let Some(n) = self.int_arg(&args[1])? else { return Ok(Value::Null) };
                let count = count_chars(&t, binary);
                let n = (n.max(0) as usize).min(count);
                Ok(chars_of(t, if func == F::Left { 0 } else { count - n }, n, binary))
            }
            F::Length | F::CharLength | F::BitLength => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                let binary = args[0].ty.collation == Collation::Binary && planner::typing::is_string_class(&args[0].ty);
                Ok(Value::Int(match func {
                    F::Length => t.len() as i64,
                    F::BitLength => t.len() as i64 * 8,
                    _ => count_chars(&t, binary) as i64,
                }))
            }
            F::Upper | F::Lower => {
                let Some(mut t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                if binary {
                    return Ok(Value::Bytes(t.into()));
                }
                if t.is_ascii() {
                    if func == F::Upper {
                        t.make_ascii_uppercase()
                    } else {
                        t.make_ascii_lowercase()
                    }
                    return Ok(Value::Bytes(t.into()));
                }
                let Ok(text) = std::str::from_utf8(&t) else { return Ok(Value::Bytes(t.into())) };
                // One character maps to one character: no special casing rules.
                let charset = e.ty.collation.charset();
                let change = if func == F::Upper { upper } else { lower };
                let made = by_chars(text.len(), text.chars().map(|c| if charset.keeps_case_of(c) { c } else { change(c) }));
                self.grown(made, func.name())
            }
            F::Trim | F::LTrim | F::RTrim => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                let remove = match args.get(1) {
                    Some(a) => match self.text_arg(a)? {
                        Some(r) => r,
                        None => return Ok(Value::Null),
                    },
                    None => b" ".to_vec(),
                };
                let mut s = t.as_slice();
                if !remove.is_empty() {
                    if func != F::RTrim {
                        while let Some(rest) = s.strip_prefix(remove.as_slice()) {
                            s = rest;
                        }
                    }
                    if func != F::LTrim {
                        while let Some(rest) = s.strip_suffix(remove.as_slice()) {
                            s = rest;
                        }
                    }
                }
                copied(s)
            }
            F::LPad | F::RPad => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                let Some(n) = self.int_arg(&args[1])? else { return Ok(Value::Null) };
                let Some(pad) = self.text_arg(&args[2])? else { return Ok(Value::Null) };
                if n < 0 {
                    return Ok(Value::Null);
                }
                let count = count_chars(&t, binary);
                let n = n as usize;
                if n <= count {
                    return Ok(chars_of(t, 0, n, binary));
                }
                // As MySQL, which counts the most that its characters may take.
                let bytes_max = n.saturating_mul(e.ty.collation.charset().bytes_per_char_max() as usize);
                if bytes_max > self.context.max_allowed_packet() {
                    return self.too_long(func.name());
                }
                let missing = if pad.is_empty() { 0 } else { n - count };
                let made = pad_with(self.growing(), &t, &pad, missing, binary, func == F::LPad);
                self.grown(made, func.name())
            }
            F::Replace => {
                let Some(t) = self.texts(args)? else { return Ok(Value::Null) };
                let made = replace(&t[0], &t[1], &t[2], self.growing());
                self.grown(made, "replace")
            }
            F::Repeat => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                let Some(n) = self.int_arg(&args[1])? else { return Ok(Value::Null) };
                if n <= 0 || t.is_empty() {
                    return Ok(Value::from(""));
                }
                let mut out = self.growing();
                let made = out.repeat(&t, n as usize);
                self.grown(made.map(|()| out), "repeat")
            }
            F::Space => {
                let Some(n) = self.int_arg(&args[0])? else { return Ok(Value::Null) };
                let mut out = self.growing();
                let made = out.repeat(b" ", n.max(0) as usize);
                self.grown(made.map(|()| out), "space")
            }
            F::Reverse => {
                let Some(mut t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                match std::str::from_utf8(&t) {
                    Ok(text) if !binary && !t.is_ascii() => self.grown(by_chars(text.len(), text.chars().rev()), "reverse"),
                    _ => {
                        t.reverse();
                        Ok(Value::Bytes(t.into()))
                    }
                }
            }
            F::Insert => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                let (Some(from), Some(length)) = (self.int_arg(&args[1])?, self.int_arg(&args[2])?) else { return Ok(Value::Null) };
                let Some(new) = self.text_arg(&args[3])? else { return Ok(Value::Null) };
                let count = count_chars(&t, binary) as i64;
                if from < 1 || from > count {
                    return Ok(Value::Bytes(t.into()));
                }
                let start = (from - 1) as usize;
                let behind = count as usize - start;
                let length = usize::try_from(length).map_or(behind, |length| length.min(behind));
                let rest = start + length;
                let mut out = self.growing();
                let parts = [cut(&t, 0, start, binary), &new, cut(&t, rest, count as usize - rest, binary)];
                let made = parts.into_iter().try_for_each(|part| out.push(part));
                self.grown(made.map(|()| out), "insert")
            }
            _ => Err(not_answered(func)),
        }
    }
}

fn upper(c: char) -> char {
    let mut u = c.to_uppercase();
    match (u.next(), u.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

fn lower(c: char) -> char {
    let mut l = c.to_lowercase();
    match (l.next(), l.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

fn count_chars(t: &[u8], binary: bool) -> usize {
    if binary { t.len() } else { Collation::DEFAULT.char_count(t) }
}

/// `count` characters from character `start`.
fn cut(t: &[u8], start: usize, count: usize, binary: bool) -> &[u8] {
    if binary {
        return &t[start.min(t.len())..(start + count).min(t.len())];
    }
    let from = Collation::DEFAULT.chars_prefix_bytes(t, start);
    let rest = &t[from..];
    &rest[..Collation::DEFAULT.chars_prefix_bytes(rest, count)]
}

/// The same as a value.
fn chars_of(t: Vec<u8>, start: usize, count: usize, binary: bool) -> Value {
    let from = if binary { start.min(t.len()) } else { Collation::DEFAULT.chars_prefix_bytes(&t, start) };
    let bytes = cut(&t[from..], 0, count, binary).len();
    part_of(t, from, bytes)
}

/// A text of about so many bytes, character by character.
fn by_chars(bytes: usize, mut chars: impl Iterator<Item = char>) -> Made<Growing> {
    let mut out = Growing::unbounded();
    out.reserve(bytes)?;
    chars.try_for_each(|c| out.push_char(c))?;
    Ok(out)
}

fn substring_index<'t>(t: &'t [u8], delimiter: &[u8], count: i64) -> &'t [u8] {
    if delimiter.is_empty() || count == 0 {
        return &[];
    }
    let nth = usize::try_from(count.unsigned_abs() - 1).unwrap_or(usize::MAX);
    if count > 0 {
        return memchr::memmem::find_iter(t, delimiter).nth(nth).map_or(t, |at| &t[..at]);
    }
    // Where delimiters overlap those count that are met from the left.
    let met = memchr::memmem::find_iter(t, delimiter).count();
    let from_left = met.checked_sub(nth.saturating_add(1)).and_then(|before| memchr::memmem::find_iter(t, delimiter).nth(before));
    from_left.map_or(t, |at| &t[at + delimiter.len()..])
}

fn replace(t: &[u8], from: &[u8], to: &[u8], mut out: Growing) -> Made<Growing> {
    let mut copied = 0;
    if !from.is_empty() {
        for at in memchr::memmem::find_iter(t, from) {
            out.push(&t[copied..at])?;
            out.push(to)?;
            copied = at + from.len();
        }
    }
    out.push(&t[copied..])?;
    Ok(out)
}

/// A text behind, or before, so many characters of another one that is repeated.
fn pad_with(mut out: Growing, t: &[u8], pad: &[u8], chars: usize, binary: bool, before: bool) -> Made<Growing> {
    // Bytes that are no text count as no character.
    let pad_chars = count_chars(pad, binary).max(1);
    if !before {
        out.push(t)?;
    }
    out.repeat(pad, chars / pad_chars)?;
    out.push(cut(pad, 0, chars % pad_chars, binary))?;
    if before {
        out.push(t)?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_follow_the_manual() {
        assert_eq!(substring_index(b"www.mysql.com", b".", 2), b"www.mysql");
        assert_eq!(substring_index(b"www.mysql.com", b".", -2), b"mysql.com");
        assert_eq!(substring_index(b"aaaaa", b"aa", -1), b"a");
        assert_eq!(substring_index(b"aaaaa", b"aa", -2), b"aaa");
        assert_eq!(substring_index(b"aaaaa", b"aa", -3), b"aaaaa");
        assert_eq!(substring_index(b"a", b"a", i64::MIN), b"a");
        let text = |made: Made<Growing>| made.map(Growing::into_bytes).expect("room");
        assert_eq!(text(replace(b"www.mysql.com", b"w", b"Ww", Growing::unbounded())), b"WwWwWw.mysql.com");
        assert_eq!(text(pad_with(Growing::unbounded(), b"a", "éß".as_bytes(), 3, false, true)), "éßéa".as_bytes());
        // Bytes that are no character do not divide by zero.
        assert_eq!(text(pad_with(Growing::up_to(5), b"a", b"\x80", 2, false, false)), b"a\x80\x80");
        assert!(replace(b"aaaa", b"a", b"bb", Growing::up_to(7)).is_err());
    }
}
