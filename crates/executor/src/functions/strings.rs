//! String functions.

use crate::context::StatementContext;
use crate::convert;
use crate::exec::Exec;
use crate::functions::pair_collation;
use crate::run::Result;
use planner::expr::{Expr, ExprKind};
use planner::func::Func;
use planner::typing::{Class, class, comparison_collation, is_string_class};
use std::cmp::Ordering;
use types::{Collation, ColumnType, TypeKind, Value};

/// The number of an address of four bytes, or of fewer parts: `127.1` is 127.0.0.1.
fn short_address(text: &[u8]) -> Option<u64> {
    let parts: Vec<u64> = text
        .split(|byte| *byte == b'.')
        .map(|part| {
            std::str::from_utf8(part).ok().filter(|part| part.bytes().all(|b| b.is_ascii_digit()))?.parse().ok().filter(|n| *n < 256)
        })
        .collect::<Option<_>>()?;
    let (last, first) = parts.split_last().filter(|(_, first)| first.len() < 4)?;
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
                let mut out = Vec::new();
                for a in args {
                    let v = self.eval(a)?;
                    if v.is_null() {
                        return Ok(v);
                    }
                    out.extend_from_slice(&convert::text(&v, &a.ty, &*self.context));
                }
                self.bounded(out, "concat")
            }
            F::ConcatWs => {
                let Some(separator) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                let mut out = Vec::new();
                let mut first = true;
                for a in &args[1..] {
                    let Some(t) = self.text_arg(a)? else { continue };
                    if !first {
                        out.extend_from_slice(&separator);
                    }
                    first = false;
                    out.extend_from_slice(&t);
                }
                self.bounded(out, "concat_ws")
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
                Ok(Value::from(cut(&t, start as usize, length.min(count - start) as usize, binary)))
            }
            F::SubstringIndex => {
                let Some(parts) = self.texts(&args[..2])? else { return Ok(Value::Null) };
                let Some(count) = self.int_arg(&args[2])? else { return Ok(Value::Null) };
                Ok(Value::from(substring_index(&parts[0], &parts[1], count).as_slice()))
            }
            F::Left | F::Right => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                let Some(n) = self.int_arg(&args[1])? else { return Ok(Value::Null) };
                let count = count_chars(&t, binary);
                let n = (n.max(0) as usize).min(count);
                Ok(Value::from(if func == F::Left { cut(&t, 0, n, binary) } else { cut(&t, count - n, n, binary) }))
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
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                if binary {
                    return Ok(Value::from(t.as_slice()));
                }
                Ok(match std::str::from_utf8(&t) {
                    // One character maps to one character: no special casing rules.
                    Ok(s) => {
                        let charset = e.ty.collation.charset();
                        let change = if func == F::Upper { upper } else { lower };
                        Value::from(s.chars().map(|c| if charset.keeps_case_of(c) { c } else { change(c) }).collect::<String>())
                    }
                    Err(_) => Value::from(t.as_slice()),
                })
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
                Ok(Value::from(s))
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
                    return Ok(Value::from(cut(&t, 0, n, binary)));
                }
                if n > self.context.max_allowed_packet() {
                    return self.too_long(if func == F::LPad { "lpad" } else { "rpad" });
                }
                if pad.is_empty() {
                    return self.bounded(t.to_vec(), "pad");
                }
                let pad_chars = count_chars(&pad, binary);
                let missing = n - count;
                let mut fill = pad.repeat(missing / pad_chars);
                fill.extend_from_slice(cut(&pad, 0, missing % pad_chars, binary));
                let out = if func == F::LPad { [fill, t].concat() } else { [t, fill].concat() };
                self.bounded(out, "pad")
            }
            F::Replace => {
                let Some(t) = self.texts(args)? else { return Ok(Value::Null) };
                self.bounded(replace(&t[0], &t[1], &t[2]), "replace")
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
                Ok(Value::Int(locate(&h, &n, from, pair_collation(haystack, needle))))
            }
            F::Repeat => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                let Some(n) = self.int_arg(&args[1])? else { return Ok(Value::Null) };
                if n <= 0 || t.is_empty() {
                    return Ok(Value::from(""));
                }
                if (n as u128) * t.len() as u128 > self.context.max_allowed_packet() as u128 {
                    return self.too_long("repeat");
                }
                Ok(Value::from(t.repeat(n as usize).as_slice()))
            }
            F::Space => {
                let Some(n) = self.int_arg(&args[0])? else { return Ok(Value::Null) };
                if n > self.context.max_allowed_packet() as i64 {
                    return self.too_long("space");
                }
                Ok(Value::from(" ".repeat(n.max(0) as usize)))
            }
            F::Reverse => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(match std::str::from_utf8(&t) {
                    Ok(s) if !binary => Value::from(s.chars().rev().collect::<String>()),
                    _ => Value::from(t.iter().rev().copied().collect::<Vec<u8>>().as_slice()),
                })
            }
            F::Hex => {
                let v = self.eval(&args[0])?;
                Ok(match &v {
                    Value::Null => v,
                    Value::Bytes(b) => Value::from(hex(b, true)),
                    Value::Date(_) | Value::Time(_) | Value::DateTime(_) | Value::Timestamp(_) | Value::Json(_) => {
                        Value::from(hex(&self.text_of(&v, &args[0]), true))
                    }
                    other => Value::from(format!("{:X}", convert::to_u64(other, &*self.context))),
                })
            }
            F::Unhex => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(unhex(&t).map_or(Value::Null, |b| Value::from(b.as_slice())))
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
                    if let Some(n) = self.int_arg(a)? {
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
                let Some(bits) = self.int_arg(&args[0])? else { return Ok(Value::Null) };
                let mut parts = Vec::new();
                for (i, a) in args[1..].iter().enumerate().take(64) {
                    if bits >> i & 1 == 1
                        && let Some(t) = self.text_arg(a)?
                    {
                        parts.push(t);
                    }
                }
                Ok(Value::from(parts.join(&b',').as_slice()))
            }
            F::ExportSet => {
                let Some(bits) = self.int_arg(&args[0])? else { return Ok(Value::Null) };
                let Some(on_off) = self.texts(&args[1..3])? else { return Ok(Value::Null) };
                let separator = match args.get(3) {
                    Some(a) => match self.text_arg(a)? {
                        Some(s) => s,
                        None => return Ok(Value::Null),
                    },
                    None => b",".to_vec(),
                };
                let count = match args.get(4) {
                    Some(a) => self.int_arg(a)?.unwrap_or(64).clamp(0, 64),
                    None => 64,
                };
                let parts: Vec<&[u8]> = (0..count).map(|i| on_off[usize::from(bits >> i & 1 == 0)].as_slice()).collect();
                Ok(Value::from(parts.join(separator.as_slice()).as_slice()))
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
                    return Ok(Value::from(t.as_slice()));
                }
                let start = (from - 1) as usize;
                let behind = count as usize - start;
                let length = usize::try_from(length).map_or(behind, |length| length.min(behind));
                let rest = start + length;
                let out = [cut(&t, 0, start, binary), &new, cut(&t, rest, count as usize - rest, binary)].concat();
                self.bounded(out, "insert")
            }
            F::WeightString => self.weight_string(args),
            F::Quote => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::from("NULL")) };
                let mut out = vec![b'\''];
                for b in t {
                    match b {
                        b'\'' | b'\\' => out.extend_from_slice(&[b'\\', b]),
                        0 => out.extend_from_slice(b"\\0"),
                        26 => out.extend_from_slice(b"\\Z"),
                        _ => out.push(b),
                    }
                }
                out.push(b'\'');
                Ok(Value::from(out.as_slice()))
            }
            F::Bin | F::Oct => {
                // As CONV(n, 10, 2): by the digits of the text.
                let Some(t) = (if args[0].ty.kind == types::TypeKind::Bit {
                    self.int_arg(&args[0])?.map(|n| n.to_string().into_bytes())
                } else {
                    self.text_arg(&args[0])?
                }) else {
                    return Ok(Value::Null);
                };
                Ok(crate::functions::numbers::conv(&t, 10, if func == F::Bin { 2 } else { 8 }).map_or(Value::Null, Value::from))
            }
            F::ToBase64 => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(Value::from(to_base64(&t)))
            }
            F::FromBase64 => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(from_base64(&t).map_or(Value::Null, |b| Value::from(b.as_slice())))
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
                Ok(short_address(&t).map_or(Value::Null, Value::UInt))
            }
            F::InetNtoa => {
                let Some(n) = self.int_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(u32::try_from(n).map_or(Value::Null, |n| Value::from(std::net::Ipv4Addr::from(n).to_string())))
            }
            F::IsUuid => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                let text = String::from_utf8_lossy(&t).into_owned();
                let inner = text.strip_prefix('{').and_then(|s| s.strip_suffix('}')).unwrap_or(&text);
                let digits = inner.bytes().filter(u8::is_ascii_hexdigit).count();
                let dashes: Vec<usize> = inner.bytes().enumerate().filter(|(_, b)| *b == b'-').map(|(i, _)| i).collect();
                let shaped = digits == 32 && digits + dashes.len() == inner.len() && (dashes.is_empty() || dashes == [8, 13, 18, 23]);
                Ok(Value::bool(shaped))
            }
            _ => self.call_number(func, args, e),
        }
    }

    /// A string result; NULL with warning 1301 past max_allowed_packet.
    pub(super) fn bounded(&mut self, bytes: Vec<u8>, function: &str) -> Result<Value> {
        if bytes.len() > self.context.max_allowed_packet() { self.too_long(function) } else { Ok(Value::Bytes(bytes.into())) }
    }

    fn too_long(&mut self, function: &str) -> Result<Value> {
        let max = self.context.max_allowed_packet();
        self.warn(1301, format!("Result of {function}() was larger than max_allowed_packet ({max}) - truncated"));
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

fn find(h: &[u8], n: &[u8]) -> Option<usize> {
    memchr::memmem::find(h, n)
}

fn substring_index(t: &[u8], delimiter: &[u8], count: i64) -> Vec<u8> {
    if delimiter.is_empty() || count == 0 {
        return Vec::new();
    }
    let positions: Vec<usize> = memchr::memmem::find_iter(t, delimiter).collect();
    let n = count.unsigned_abs() as usize;
    if n > positions.len() {
        return t.to_vec();
    }
    if count > 0 { t[..positions[n - 1]].to_vec() } else { t[positions[positions.len() - n] + delimiter.len()..].to_vec() }
}

fn replace(t: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    if from.is_empty() {
        return t.to_vec();
    }
    let mut out = Vec::with_capacity(t.len());
    let mut rest = t;
    while let Some(at) = find(rest, from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// Character position (from 1) of a needle at or after position `from`; 0 when absent.
fn locate(h: &[u8], n: &[u8], from: i64, collation: Collation) -> i64 {
    let binary = collation == Collation::Binary;
    let count = count_chars(h, binary) as i64;
    if from < 1 || from > count + 1 {
        return 0;
    }
    let start = if binary { from as usize - 1 } else { Collation::DEFAULT.chars_prefix_bytes(h, from as usize - 1) };
    if n.is_empty() {
        return from;
    }
    if collation.is_binary() {
        return find(&h[start..], n).map_or(0, |at| count_chars(&h[..start + at], binary) as i64 + 1);
    }
    // Under other collations compare windows of the needle's length in characters.
    let chars = count_chars(n, false);
    // A character may weigh as several: where the weights begin with the needle's it is found, an 's' in 'ß' as well.
    let weights = if h.is_ascii() && n.is_ascii() { None } else { collation.weight_levels(n) };
    let weights = weights.filter(|levels| levels.first().is_some_and(|primary| !primary.is_empty()));
    let weighed_chars = weights.iter().flat_map(|levels| levels.first()).map(Vec::len).max().unwrap_or(0).max(chars);
    let begins = |rest: &[u8]| {
        let Some(needle) = &weights else { return false };
        let here = collation.weight_levels(cut(rest, 0, weighed_chars, false)).unwrap_or_default();
        here.len() == needle.len() && here.iter().zip(needle).all(|(here, needle)| here.starts_with(needle))
    };
    let mut position = from;
    let mut rest = &h[start..];
    while !rest.is_empty() {
        let window = cut(rest, 0, chars, false);
        if collation.equal(window, n) || begins(rest) {
            return position;
        }
        let step = Collation::DEFAULT.chars_prefix_bytes(rest, 1).max(1);
        rest = &rest[step..];
        position += 1;
    }
    0
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

fn to_base64(t: &[u8]) -> String {
    let mut out = String::new();
    let mut line = 0;
    for chunk in t.chunks(3) {
        // MySQL breaks lines after 76 characters.
        if line == 76 {
            out.push('\n');
            line = 0;
        }
        let n = chunk.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            out.push(if i <= chunk.len() { BASE64[(n >> (18 - 6 * i) & 63) as usize] as char } else { '=' });
        }
        line += 4;
    }
    out
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
        assert_eq!(replace(b"www.mysql.com", b"w", b"Ww"), b"WwWwWw.mysql.com");
        assert_eq!(locate(b"foobarbar", b"bar", 1, Collation::DEFAULT), 4);
        assert_eq!(locate(b"foobarbar", b"bar", 5, Collation::DEFAULT), 7);
        assert_eq!(locate(b"foobarbar", b"xbar", 1, Collation::DEFAULT), 0);
        assert_eq!(to_base64(b"abc"), "YWJj");
        assert_eq!(from_base64(b"YWI="), Some(b"ab".to_vec()));
        assert_eq!(unhex(b"4D7953514C"), Some(b"MySQL".to_vec()));
        assert_eq!(soundex("Hello"), "H400");
        assert_eq!(soundex("Quadratically"), "Q36324");
    }
}
