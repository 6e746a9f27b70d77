//! The binary form: written once, read by offsets without decoding what lies around. The layout is in `docs/format/json.md`.

use crate::value::name_order;
use crate::{DEPTH_MAX, Error, Json, Kind, Object, Result};
use std::cmp::Ordering;
use types::{Date, DateTime, Decimal, Time};

mod tag {
    pub const NULL: u8 = 0;
    pub const FALSE: u8 = 1;
    pub const TRUE: u8 = 2;
    pub const INT: u8 = 3;
    pub const UINT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const DECIMAL: u8 = 6;
    pub const STRING: u8 = 7;
    pub const ARRAY: u8 = 8;
    pub const OBJECT: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const OPAQUE: u8 = 13;
    /// On the tag of a container: its numbers have four bytes each, else two.
    pub const WIDE: u8 = 0x80;
}

/// Largest number of a narrow container.
const NARROW_MAX: usize = 0xFFFF;

/// Bytes of an encoded value, or more than `limit` when it is past that (then it is not counted to the end).
fn size_up_to(value: &Json, limit: usize) -> usize {
    match value {
        Json::Null | Json::Bool(_) => 1,
        Json::Int(v) => 1 + int_bytes(*v),
        Json::UInt(v) => 1 + uint_bytes(*v),
        Json::Double(_) | Json::Time(_) | Json::DateTime(_) => 9,
        Json::Date(_) => 5,
        Json::Decimal(v) => 1 + decimal_text(v).len(),
        Json::String(text) => 1 + text.len(),
        Json::Opaque(_, bytes) => 2 + bytes.len(),
        Json::Array(list) => {
            let mut size = 3 + 2 * list.len();
            for item in list {
                if size > limit {
                    break;
                }
                size += size_up_to(item, limit);
            }
            size
        }
        Json::Object(object) => {
            let mut size = 3 + 4 * object.len();
            for (name, item) in object.iter() {
                if size > limit {
                    break;
                }
                size += name.len() + size_up_to(item, limit);
            }
            size
        }
    }
}

fn decimal_text(decimal: &Decimal) -> Vec<u8> {
    let mut text = Vec::new();
    decimal.write_to(&mut text);
    text
}

/// Bytes that hold a signed number: 1, 2, 4 or 8.
fn int_bytes(v: i64) -> usize {
    if i8::try_from(v).is_ok() {
        1
    } else if i16::try_from(v).is_ok() {
        2
    } else if i32::try_from(v).is_ok() {
        4
    } else {
        8
    }
}

fn uint_bytes(v: u64) -> usize {
    if v <= 0xFF {
        1
    } else if v <= 0xFFFF {
        2
    } else if v <= 0xFFFF_FFFF {
        4
    } else {
        8
    }
}

/// The binary form of a tree.
///
/// # Errors
/// [`Error::TooDeep`]; [`Error::TooBig`] for documents of more than 4 GiB; no memory.
pub fn encode(value: &Json) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    append(value, 0, &mut out)?;
    Ok(out)
}

fn push(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    memory::reserve(out, bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}

fn append(value: &Json, depth: usize, out: &mut Vec<u8>) -> Result<()> {
    let tagged = |out: &mut Vec<u8>, tag: u8, bytes: &[u8]| {
        push(out, &[tag])?;
        push(out, bytes)
    };
    match value {
        Json::Null => push(out, &[tag::NULL]),
        Json::Bool(v) => push(out, &[if *v { tag::TRUE } else { tag::FALSE }]),
        Json::Int(v) => tagged(out, tag::INT, &v.to_le_bytes()[..int_bytes(*v)]),
        Json::UInt(v) => tagged(out, tag::UINT, &v.to_le_bytes()[..uint_bytes(*v)]),
        Json::Double(v) => tagged(out, tag::DOUBLE, &v.to_le_bytes()),
        Json::Decimal(v) => tagged(out, tag::DECIMAL, &decimal_text(v)),
        Json::String(v) => tagged(out, tag::STRING, v.as_bytes()),
        Json::Date(v) => tagged(out, tag::DATE, &v.packed().to_le_bytes()),
        Json::Time(v) => tagged(out, tag::TIME, &v.micros().to_le_bytes()),
        Json::DateTime(v) => tagged(out, tag::DATETIME, &v.packed().to_le_bytes()),
        Json::Opaque(ty, bytes) => {
            push(out, &[tag::OPAQUE, *ty])?;
            push(out, bytes)
        }
        Json::Array(list) => {
            let mut table = Table::open(tag::ARRAY, value, list.len(), 1, depth, out)?;
            for item in list {
                append(item, depth + 1, out)?;
                table.end(out)?;
            }
            Ok(())
        }
        Json::Object(object) => {
            let mut table = Table::open(tag::OBJECT, value, object.len(), 2, depth, out)?;
            for (name, _) in object.iter() {
                push(out, name.as_bytes())?;
                table.end(out)?;
            }
            for (_, item) in object.iter() {
                append(item, depth + 1, out)?;
                table.end(out)?;
            }
            Ok(())
        }
    }
}

/// The table of a container that is being written: where each of its parts ends.
struct Table {
    width: usize,
    next: usize,
    data_at: usize,
}

impl Table {
    fn open(tag: u8, container: &Json, count: usize, ends_each: usize, depth: usize, out: &mut Vec<u8>) -> Result<Table> {
        if depth >= DEPTH_MAX {
            return Err(Error::TooDeep);
        }
        let wide = size_up_to(container, NARROW_MAX) > NARROW_MAX;
        let width = if wide { 4 } else { 2 };
        let count_bytes = u32::try_from(count).map_err(|_| Error::TooBig)?.to_le_bytes();
        push(out, &[if wide { tag | tag::WIDE } else { tag }])?;
        push(out, &count_bytes[..width])?;
        let next = out.len();
        let table_bytes = count.checked_mul(ends_each * width).ok_or(Error::TooBig)?;
        memory::reserve(out, table_bytes)?;
        out.resize(next + table_bytes, 0);
        Ok(Table { width, next, data_at: out.len() })
    }

    /// The next part ends here.
    fn end(&mut self, out: &mut [u8]) -> Result<()> {
        let end = u32::try_from(out.len() - self.data_at).map_err(|_| Error::TooBig)?.to_le_bytes();
        out[self.next..self.next + self.width].copy_from_slice(&end[..self.width]);
        self.next += self.width;
        Ok(())
    }
}

/// A value of a binary document: its bytes and nothing around them.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    bytes: &'a [u8],
}

/// A container opened: how many parts, and where their ends stand.
struct Parts<'a> {
    count: usize,
    width: usize,
    ends: &'a [u8],
    data: &'a [u8],
}

impl<'a> Parts<'a> {
    fn end(&self, at: usize) -> Result<usize> {
        let bytes = self.ends.get(at * self.width..(at + 1) * self.width).ok_or(Error::Malformed)?;
        Ok(bytes.iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte)))
    }

    fn part(&self, at: usize) -> Result<&'a [u8]> {
        let start = if at == 0 { 0 } else { self.end(at - 1)? };
        self.data.get(start..self.end(at)?).ok_or(Error::Malformed)
    }
}

/// A sign-extended number of 1, 2, 4 or 8 bytes.
fn signed(bytes: &[u8]) -> Result<i64> {
    let shift = 64 - 8 * bytes.len() as u32 % 64;
    match bytes.len() {
        8 => Ok(unsigned(bytes)? as i64),
        1 | 2 | 4 => Ok(((unsigned(bytes)? << shift) as i64) >> shift),
        _ => Err(Error::Malformed),
    }
}

fn unsigned(bytes: &[u8]) -> Result<u64> {
    match bytes.len() {
        1 | 2 | 4 | 8 => Ok(bytes.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte))),
        _ => Err(Error::Malformed),
    }
}

fn eight(bytes: &[u8]) -> Result<[u8; 8]> {
    bytes.try_into().map_err(|_| Error::Malformed)
}

impl<'a> View<'a> {
    /// A document in binary form. No bytes are looked at yet.
    pub fn new(bytes: &'a [u8]) -> View<'a> {
        View { bytes }
    }

    /// Its bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    fn tag(self) -> Result<u8> {
        self.bytes.first().map(|tag| tag & !tag::WIDE).ok_or(Error::Malformed)
    }

    fn body(self) -> &'a [u8] {
        self.bytes.get(1..).unwrap_or_default()
    }

    fn parts(self, wanted: u8, ends_each: usize) -> Result<Parts<'a>> {
        let first = *self.bytes.first().ok_or(Error::Malformed)?;
        if first & !tag::WIDE != wanted {
            return Err(Error::Malformed);
        }
        let width = if first & tag::WIDE != 0 { 4 } else { 2 };
        let body = self.body();
        let count = body.get(..width).ok_or(Error::Malformed)?.iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte));
        let ends_bytes = count.checked_mul(ends_each * width).ok_or(Error::Malformed)?;
        let rest = &body[width..];
        if rest.len() < ends_bytes {
            return Err(Error::Malformed);
        }
        let (ends, data) = rest.split_at(ends_bytes);
        Ok(Parts { count, width, ends, data })
    }

    fn elements(self) -> Result<Parts<'a>> {
        self.parts(tag::ARRAY, 1)
    }

    fn members(self) -> Result<Parts<'a>> {
        self.parts(tag::OBJECT, 2)
    }

    /// Whether it is an array.
    pub fn is_array(self) -> bool {
        self.tag() == Ok(tag::ARRAY)
    }

    /// Whether it is an object.
    pub fn is_object(self) -> bool {
        self.tag() == Ok(tag::OBJECT)
    }

    /// Whether it is the JSON null.
    pub fn is_null(self) -> bool {
        self.tag() == Ok(tag::NULL)
    }

    /// Elements of an array, members of an object; 1 for a scalar.
    pub fn len(self) -> Result<usize> {
        match self.tag()? {
            tag::ARRAY => Ok(self.elements()?.count),
            tag::OBJECT => Ok(self.members()?.count),
            _ => Ok(1),
        }
    }

    /// Whether it is a container without parts.
    pub fn is_empty(self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// An element of an array.
    pub fn element(self, at: usize) -> Result<Option<View<'a>>> {
        let parts = self.elements()?;
        if at >= parts.count { Ok(None) } else { Ok(Some(View::new(parts.part(at)?))) }
    }

    /// The name and value of a member by its place.
    pub fn member(self, at: usize) -> Result<Option<(&'a str, View<'a>)>> {
        let parts = self.members()?;
        if at >= parts.count {
            return Ok(None);
        }
        let name = std::str::from_utf8(parts.part(at)?).map_err(|_| Error::Malformed)?;
        Ok(Some((name, View::new(parts.part(parts.count + at)?))))
    }

    /// The value of a member by its name: a binary search over the names.
    pub fn get(self, name: &str) -> Result<Option<View<'a>>> {
        let parts = self.members()?;
        let (mut low, mut high) = (0, parts.count);
        while low < high {
            let middle = low + (high - low) / 2;
            match name_order(parts.part(middle)?, name.as_bytes()) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(Some(View::new(parts.part(parts.count + middle)?))),
            }
        }
        Ok(None)
    }

    /// The text of a string; `None` for all else.
    pub fn as_str(self) -> Result<Option<&'a str>> {
        match self.tag()? {
            tag::STRING => std::str::from_utf8(self.body()).map(Some).map_err(|_| Error::Malformed),
            _ => Ok(None),
        }
    }

    /// Its kind.
    pub fn kind(self) -> Result<Kind> {
        Ok(match self.tag()? {
            tag::NULL => Kind::Null,
            tag::FALSE | tag::TRUE => Kind::Bool,
            tag::INT | tag::UINT | tag::DOUBLE | tag::DECIMAL => Kind::Number,
            tag::STRING => Kind::String,
            tag::ARRAY => Kind::Array,
            tag::OBJECT => Kind::Object,
            tag::DATE => Kind::Date,
            tag::TIME => Kind::Time,
            tag::DATETIME => Kind::DateTime,
            tag::OPAQUE => Kind::of_opaque(*self.bytes.get(1).ok_or(Error::Malformed)?),
            _ => return Err(Error::Malformed),
        })
    }

    /// What JSON_TYPE calls it.
    pub fn type_name(self) -> Result<&'static str> {
        Ok(match self.tag()? {
            tag::INT => "INTEGER",
            tag::UINT => "UNSIGNED INTEGER",
            tag::DOUBLE => "DOUBLE",
            tag::DECIMAL => "DECIMAL",
            _ => match self.kind()? {
                Kind::Null => "NULL",
                Kind::Number => return Err(Error::Malformed),
                Kind::String => "STRING",
                Kind::Object => "OBJECT",
                Kind::Array => "ARRAY",
                Kind::Bool => "BOOLEAN",
                Kind::Date => "DATE",
                Kind::Time => "TIME",
                Kind::DateTime => "DATETIME",
                Kind::Opaque => "OPAQUE",
                Kind::Bit => "BIT",
                Kind::Blob => "BLOB",
            },
        })
    }

    /// A scalar as a tree; `None` for a container.
    pub fn scalar(self) -> Result<Option<Json>> {
        let body = self.body();
        Ok(Some(match self.tag()? {
            tag::NULL => Json::Null,
            tag::FALSE => Json::Bool(false),
            tag::TRUE => Json::Bool(true),
            tag::INT => Json::Int(signed(body)?),
            tag::UINT => Json::UInt(unsigned(body)?),
            tag::DOUBLE => {
                let number = f64::from_le_bytes(eight(body)?);
                if !number.is_finite() {
                    return Err(Error::Malformed);
                }
                Json::Double(number)
            }
            tag::DECIMAL => {
                let digit = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
                if body.is_empty() || body.len() > 80 || !body.iter().all(digit) {
                    return Err(Error::Malformed);
                }
                Json::Decimal(Decimal::parse(body).value)
            }
            tag::STRING => {
                let text = std::str::from_utf8(body).map_err(|_| Error::Malformed)?;
                let mut owned = Vec::new();
                push(&mut owned, text.as_bytes())?;
                Json::String(String::from_utf8(owned).map_err(|_| Error::Malformed)?)
            }
            tag::DATE => {
                let packed = u32::from_le_bytes(body.try_into().map_err(|_| Error::Malformed)?);
                Json::Date(Date::from_packed(packed).ok_or(Error::Malformed)?)
            }
            tag::TIME => Json::Time(Time::from_micros(i64::from_le_bytes(eight(body)?))),
            tag::DATETIME => Json::DateTime(DateTime::from_packed(u64::from_le_bytes(eight(body)?)).ok_or(Error::Malformed)?),
            tag::OPAQUE => {
                let mut owned = Vec::new();
                push(&mut owned, body.get(1..).ok_or(Error::Malformed)?)?;
                Json::Opaque(body[0], owned)
            }
            tag::ARRAY | tag::OBJECT => return Ok(None),
            _ => return Err(Error::Malformed),
        }))
    }

    /// The tree.
    pub fn to_tree(self) -> Result<Json> {
        self.tree_at(0)
    }

    fn tree_at(self, depth: usize) -> Result<Json> {
        if let Some(scalar) = self.scalar()? {
            return Ok(scalar);
        }
        if depth >= DEPTH_MAX {
            return Err(Error::TooDeep);
        }
        if self.is_array() {
            let mut list = Vec::new();
            for item in self.iter_elements()? {
                memory::reserve(&mut list, 1)?;
                list.push(item?.tree_at(depth + 1)?);
            }
            return Ok(Json::Array(list));
        }
        let mut members = Vec::new();
        for member in self.iter_members()? {
            let (name, item) = member?;
            memory::reserve(&mut members, 1)?;
            members.push((name.to_owned(), item.tree_at(depth + 1)?));
        }
        Ok(Json::Object(Object::from_members(members)))
    }

    /// The elements of an array.
    pub fn iter_elements(self) -> Result<impl Iterator<Item = Result<View<'a>>>> {
        let parts = self.elements()?;
        Ok((0..parts.count).map(move |at| parts.part(at).map(View::new)))
    }

    /// The members of an object, sorted by name.
    pub fn iter_members(self) -> Result<impl Iterator<Item = Result<(&'a str, View<'a>)>>> {
        let parts = self.members()?;
        Ok((0..parts.count).map(move |at| {
            let name = std::str::from_utf8(parts.part(at)?).map_err(|_| Error::Malformed)?;
            Ok((name, View::new(parts.part(parts.count + at)?)))
        }))
    }

    /// Containers within one another: 1 for a scalar and for an empty container.
    pub fn depth(self) -> Result<usize> {
        self.depth_at(0)
    }

    fn depth_at(self, depth: usize) -> Result<usize> {
        if depth > DEPTH_MAX {
            return Err(Error::TooDeep);
        }
        let mut deepest = 0;
        if self.is_array() {
            for item in self.iter_elements()? {
                deepest = deepest.max(item?.depth_at(depth + 1)?);
            }
        } else if self.is_object() {
            for member in self.iter_members()? {
                deepest = deepest.max(member?.1.depth_at(depth + 1)?);
            }
        }
        Ok(deepest + 1)
    }
}
