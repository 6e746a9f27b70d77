//! String functions.

use crate::context::StatementContext;
use crate::convert;
use crate::exec::Exec;
use crate::functions::bounded::{Growing, Made, copied, part_of};
use crate::functions::locate::locate;
use crate::functions::pair_collation;
use crate::run::Result;
use planner::expr::{Expr, ExprKind};
use planner::func::Func;
use planner::typing::{Class, class, comparison_collation, is_string_class};
use std::cmp::Ordering;
use types::{Collation, ColumnType, TypeKind, Value};

/// The number of an address of four bytes, or of fewer parts: `127.1` is 127.0.0.1. Empty parts but the last are 0.
fn short_address(text: &[u8]) -> Option<u64> {
    let part =
        |part: &[u8]| part.iter().try_fold(0, |n: u64, b| Some(n * 10 + u64::from(char::from(*b).to_digit(10)?)).filter(|n| *n < 256));
    let parts: Vec<u64> = text.split(|byte| *byte == b'.').take(5).map(part).collect::<Option<_>>()?;
    let (last, first) = parts.split_last().filter(|(_, first)| first.len() < 4)?;
    if !text.last().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    Some(first.iter().zip([24, 16, 8]).fold(*last, |address, (part, shift)| address | part << shift))
}

/// As what FIELD compares: all of its arguments count, not only the two that are compared.
#[derive(Clone, Copy)]
enum Alike {
    /// Integers of 64 bits, whose sign is not looked at.
    Integers,
    /// Numbers without an approximate one among them.
    Exact,
    Doubles,
    /// Texts, under the collation of the one that is looked for.
    Texts(Collation),
}

impl Alike {
    fn of(args: &[Expr]) -> Alike {
        let has = |wanted: Class| args.iter().any(|arg| class(&arg.ty) == wanted);
        if has(Class::Double) {
            Alike::Doubles
        } else if has(Class::Decimal) {
            Alike::Exact
        } else if has(Class::Int) {
            Alike::Integers
        } else if is_string_class(&args[0].ty) {
            Alike::Texts(args[0].ty.collation)
        } else {
            Alike::Texts(comparison_collation(args.iter()).unwrap_or(Collation::Binary))
        }
    }

    fn are_equal(self, (a, a_type): (&Value, &ColumnType), (b, b_type): (&Value, &ColumnType), context: &dyn StatementContext) -> bool {
        match (self, a, b) {
            (Alike::Texts(collation), ..) => collation.equal(&convert::text(a, a_type, context), &convert::text(b, b_type, context)),
            (Alike::Doubles, ..) => convert::to_f64(a, context) == convert::to_f64(b, context),
            (Alike::Integers, Value::Int(i), Value::UInt(u)) | (Alike::Integers, Value::UInt(u), Value::Int(i)) => *i as u64 == *u,
            _ => convert::compare(a, b, Collation::Binary, context) == Some(Ordering::Equal),
        }
    }
}

impl Exec<'_> {
    /// Calls a string function, or passes on.
    #[inline(never)]
    pub fn call_string(&mut self, func: Func, args: &[Expr], e: &Expr) -> Result<Value> {
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
                let mut out = self.growing();
                let mut first = true;
                for a in &args[1..] {
                    let Some(t) = self.text_arg(a)? else { continue };
                    let made = if first { Ok(()) } else { out.push(&separator) };
                    if let Err(refusal) = made.and_then(|()| out.push(&t)) {
                        return self.refused(refusal, "concat_ws");
                    }
                    first = false;
                }
                self.grown(Ok(out), "concat_ws")
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
            F::Instr | F::Locate => {
                let (haystack, needle) = if func == F::Instr { (&args[0], &args[1]) } else { (&args[1], &args[0]) };
                let Some(h) = self.text_arg(haystack)? else { return Ok(Value::Null) };
                let Some(n) = self.text_arg(needle)? else { return Ok(Value::Null) };
                let from = match args.get(2) {
                    Some(a) if func == F::Locate => match self.int_arg(a)? {
                        Some(p) => p,
                        None => return Ok(Value::Null),
                    },
                    _ => 1,
                };
                Ok(Value::Int(locate(&h, &n, from, pair_collation(haystack, needle), || self.check_cancel())?))
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
                Ok(unhex(&t).map_or(Value::Null, |b| Value::Bytes(b.into())))
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
            F::Field => {
                let v = self.eval(&args[0])?;
                if v.is_null() {
                    return Ok(Value::Int(0));
                }
                let alike = Alike::of(args);
                for (i, a) in args[1..].iter().enumerate() {
                    let w = self.eval(a)?;
                    if !w.is_null() && alike.are_equal((&v, &args[0].ty), (&w, &a.ty), &*self.context) {
                        return Ok(Value::Int(i as i64 + 1));
                    }
                }
                Ok(Value::Int(0))
            }
            F::Elt => {
                let Some(n) = self.int_arg(&args[0])? else { return Ok(Value::Null) };
                if n < 1 || n as usize >= args.len() {
                    return Ok(Value::Null);
                }
                self.eval_as(&args[n as usize], e)
            }
            F::FindInSet => {
                let Some(t) = self.texts(args)? else { return Ok(Value::Null) };
                if t[1].is_empty() {
                    return Ok(Value::Int(0));
                }
                let collation = pair_collation(&args[0], &args[1]);
                // Trailing spaces count here also where a comparison pads them.
                let spaces = |text: &[u8]| if collation.pads_space() { text.iter().rev().take_while(|b| **b == b' ').count() } else { 0 };
                let mut at = t[1].split(|b| *b == b',').position(|part| collation.equal(part, &t[0]) && spaces(part) == spaces(&t[0]));
                if at.is_some() && args[1].ty.kind == TypeKind::Set && matches!(args[0].kind, ExprKind::Literal(_)) {
                    // As MySQL, which asks for the bit: the number of the member, wherever it stands in the text.
                    at = args[1].ty.member_list().iter().position(|member| collation.equal(member, &t[0])).or(at);
                }
                Ok(Value::Int(at.map_or(0, |p| p as i64 + 1)))
            }
            F::MakeSet => {
                let Some(bits) = self.bits_arg(&args[0])? else { return Ok(Value::Null) };
                // MySQL bounds it not.
                let mut out = Growing::unbounded();
                let mut first = true;
                for (i, a) in args[1..].iter().enumerate().take(64) {
                    if bits >> i & 1 == 1
                        && let Some(t) = self.text_arg(a)?
                    {
                        let made = if first { Ok(()) } else { out.push(b",") };
                        if let Err(refusal) = made.and_then(|()| out.push(&t)) {
                            return self.refused(refusal, "make_set");
                        }
                        first = false;
                    }
                }
                self.grown(Ok(out), "make_set")
            }
            F::ExportSet => {
                let Some(bits) = self.bits_arg(&args[0])? else { return Ok(Value::Null) };
                let Some(on_off) = self.texts(&args[1..3])? else { return Ok(Value::Null) };
                let separator = match args.get(3) {
                    Some(a) => match self.text_arg(a)? {
                        Some(s) => s,
                        None => return Ok(Value::Null),
                    },
                    None => b",".to_vec(),
                };
                let count = match args.get(4) {
                    Some(a) => match self.int_arg(a)? {
                        Some(count @ 0..64) => count,
                        Some(_) => 64,
                        None => return Ok(Value::Null),
                    },
                    None => 64,
                };
                let mut out = self.growing();
                let made = (0..count).try_for_each(|i| {
                    if i > 0 {
                        out.push(&separator)?;
                    }
                    out.push(&on_off[usize::from(bits >> i & 1 == 0)])
                });
                self.grown(made.map(|()| out), "export_set")
            }
            F::StrCmp => {
                let Some(t) = self.texts(args)? else { return Ok(Value::Null) };
                Ok(Value::Int(pair_collation(&args[0], &args[1]).compare(&t[0], &t[1]) as i64))
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
            F::Md5 => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(Value::from(hex(&crate::functions::digest::md5(&t), false)))
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
            F::Soundex => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(Value::from(soundex(&String::from_utf8_lossy(&t))))
            }
            F::InetAton => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                match short_address(&t) {
                    Some(address) => Ok(Value::UInt(address)),
                    None => self.no_address(&t),
                }
            }
            F::InetNtoa => {
                let Some(n) = self.int_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(u32::try_from(n).map_or(Value::Null, |n| Value::from(std::net::Ipv4Addr::from(n).to_string())))
            }
            F::IsUuid => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(Value::bool(crate::functions::addresses::uuid_bytes(&t).is_some()))
            }
            _ => self.call_number(func, args, e),
        }
    }

    /// NULL with warning 1411 for a text that INET_ATON cannot read, or the error where a strict statement changes rows.
    #[cold]
    fn no_address(&mut self, text: &[u8]) -> Result<Value> {
        let message = format!("Incorrect string value: ''{}'' for function inet_aton", String::from_utf8_lossy(text));
        if self.changes_strictly() {
            return Err(mysql_error::SqlError::with_message(1411, message).into());
        }
        self.warn(1411, message);
        Ok(Value::Null)
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
        assert_eq!(substring_index(b"www.mysql.com", b".", 2), b"www.mysql");
        assert_eq!(substring_index(b"www.mysql.com", b".", -2), b"mysql.com");
        assert_eq!(substring_index(b"aaaaa", b"aa", -1), b"a");
        assert_eq!(substring_index(b"aaaaa", b"aa", -2), b"aaa");
        assert_eq!(substring_index(b"aaaaa", b"aa", -3), b"aaaaa");
        assert_eq!(substring_index(b"a", b"a", i64::MIN), b"a");
        let text = |made: Made<Growing>| made.map(Growing::into_bytes).expect("room");
        assert_eq!(text(replace(b"www.mysql.com", b"w", b"Ww", Growing::unbounded())), b"WwWwWw.mysql.com");
        assert_eq!(text(to_base64(b"abc", Growing::unbounded())), b"YWJj");
        assert_eq!(text(quoted(b"a'\0\x1a\\", Growing::unbounded())), b"'a\\'\\0\\Z\\\\'");
        assert_eq!(text(pad_with(Growing::unbounded(), b"a", "éß".as_bytes(), 3, false, true)), "éßéa".as_bytes());
        // Bytes that are no character do not divide by zero.
        assert_eq!(text(pad_with(Growing::up_to(5), b"a", b"\x80", 2, false, false)), b"a\x80\x80");
        assert!(replace(b"aaaa", b"a", b"bb", Growing::up_to(7)).is_err());
        assert_eq!(from_base64(b"YWI="), Some(b"ab".to_vec()));
        assert_eq!(unhex(b"4D7953514C"), Some(b"MySQL".to_vec()));
        assert_eq!(soundex("Hello"), "H400");
        assert_eq!(soundex("Quadratically"), "Q36324");
    }
}
