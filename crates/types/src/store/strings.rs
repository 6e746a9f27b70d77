//! Storing into character and binary strings, ENUM, SET.

use super::{StoreContext, numeric, text_of};
use crate::{ByteString, ColumnType, TypeKind, Value, utf8};
use mysql_error::SqlError;

type Result<T> = std::result::Result<T, SqlError>;

/// Bytes of a wrong string that the message shows.
const SHOWN_BYTES_MAX: usize = 6;

/// The text of a value for a column. A double that goes into a CHAR or VARCHAR (or one of bytes) is written as short as it must be.
fn bytes_of(value: Value, ty: &ColumnType, context: &mut StoreContext<'_>) -> Result<ByteString> {
    let mut text = Vec::new();
    match value {
        Value::Bytes(text) => return Ok(text),
        other if ty.kind.is_blob() => text_of(&other, &mut text),
        other => {
            if !numeric::text_within(&other, ty.length as usize, &mut text) {
                let (strict, lax) = (context.too_long(), context.truncated());
                context.fault(strict, lax)?;
            }
        }
    }
    Ok(text.into())
}

/// `\xFF` for bytes that are not text, as message 1366 shows them.
fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in &bytes[..bytes.len().min(SHOWN_BYTES_MAX)] {
        match byte {
            0x20..0x7F => text.push(char::from(*byte)),
            _ => text.push_str(&format!("\\x{byte:02X}")),
        }
    }
    if bytes.len() > SHOWN_BYTES_MAX {
        text.push_str("...");
    }
    text
}

pub(super) fn string(value: Value, ty: &ColumnType, context: &mut StoreContext<'_>) -> Result<Value> {
    let mut text = bytes_of(value, ty, context)?;
    let binary = ty.kind.is_binary_string();
    let charset = ty.collation.charset();
    if !binary {
        let valid = charset.valid_prefix_bytes(&text);
        if valid < text.len() {
            let error = context.incorrect("string", shown(&text[valid..]).as_bytes());
            context.fault(error.clone(), error)?;
            // What is no text at all ends it; what is text of another character set becomes a question mark.
            let known = utf8::valid_prefix_bytes(&text);
            text = ByteString::from(&*charset.fit(&text[..known]));
        }
    }
    // CHAR and VARCHAR count characters, all others bytes of their character set; a character is never cut in two.
    let keep = match ty.kind {
        TypeKind::Char | TypeKind::VarChar => utf8::chars_prefix_bytes(&text, ty.length as usize),
        _ if binary => text.len().min(ty.length as usize),
        _ => charset.prefix_of_encoded(&text, ty.length as usize),
    };
    if keep < text.len() {
        let only_spaces = !binary && text[keep..].iter().all(|byte| *byte == b' ');
        if !only_spaces {
            let (strict, lax) = (context.too_long(), context.truncated());
            context.fault(strict, lax)?;
        } else if ty.kind != TypeKind::Char {
            let note = context.truncated();
            context.note(note);
        }
        text = ByteString::from(&text[..keep]);
    }
    match ty.kind {
        TypeKind::Char if text.last() == Some(&b' ') => {
            let end = text.iter().rposition(|byte| *byte != b' ').map_or(0, |at| at + 1);
            text = ByteString::from(&text[..end]);
        }
        TypeKind::Binary if text.len() < ty.length as usize => {
            let mut padded = text.into_vec();
            padded.resize(ty.length as usize, 0);
            text = padded.into();
        }
        _ => {}
    }
    Ok(Value::Bytes(text))
}

/// A member number as text or as a number: `Some` when the value is one.
fn number_of(value: &Value) -> Option<u64> {
    match value {
        Value::Int(v) => u64::try_from(*v).ok(),
        Value::UInt(v) => Some(*v),
        Value::Double(v) if *v > -1.0 => Some(*v as u64),
        Value::Float(v) if *v > -1.0 => Some(*v as u64),
        Value::Decimal(v) => v.truncate(0).to_u64().ok(),
        Value::Bytes(text) if !text.is_empty() && text.iter().all(u8::is_ascii_digit) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

fn trimmed(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|byte| *byte != b' ').map_or(0, |at| at + 1)]
}

fn member(ty: &ColumnType, name: &[u8]) -> Option<usize> {
    let name = trimmed(name);
    ty.member_list().iter().position(|member| ty.collation.equal(trimmed(member), name))
}

pub(super) fn enumeration(value: Value, ty: &ColumnType, context: &mut StoreContext<'_>) -> Result<Value> {
    let by_name = match &value {
        Value::Bytes(text) => member(ty, text),
        Value::Date(_) | Value::Time(_) | Value::DateTime(_) => {
            let mut text = Vec::new();
            text_of(&value, &mut text);
            member(ty, &text)
        }
        _ => None,
    };
    let position = by_name.or_else(|| usize::try_from(number_of(&value)?.checked_sub(1)?).ok());
    match position.and_then(|position| ty.member_list().get(position)) {
        Some(member) => Ok(Value::Bytes(member.clone())),
        None => {
            let error = context.truncated();
            context.fault(error.clone(), error)?;
            Ok(Value::Bytes(ty.enum_text(0).unwrap_or_default()))
        }
    }
}

pub(super) fn set(value: Value, ty: &ColumnType, context: &mut StoreContext<'_>) -> Result<Value> {
    let members = ty.member_list();
    let mut bits = 0u64;
    let mut wrong = false;
    match &value {
        Value::Bytes(text) if text.is_empty() => {}
        Value::Bytes(text) => {
            for name in text.split(|byte| *byte == b',') {
                match member(ty, name) {
                    Some(at) => bits |= 1 << at.min(63),
                    None => wrong = true,
                }
            }
            if wrong && let Some(number) = number_of(&value) {
                (bits, wrong) = (number, false);
            }
        }
        other => match number_of(other) {
            Some(number) => bits = number,
            None => wrong = true,
        },
    }
    if members.len() < 64 && bits >> members.len() != 0 {
        bits &= (1 << members.len()) - 1;
        wrong = true;
    }
    if wrong {
        let error = context.truncated();
        context.fault(error.clone(), error)?;
    }
    Ok(Value::Bytes(ty.set_text(bits).unwrap_or_default()))
}
