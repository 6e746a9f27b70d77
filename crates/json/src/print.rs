//! Documents as text, exactly as MySQL prints them.

use crate::{DEPTH_MAX, Error, Json, Result, View};

/// Appends the text of a binary document.
///
/// # Errors
/// Damage, depth, memory.
pub fn text(view: View<'_>, out: &mut Vec<u8>) -> Result<()> {
    write(view, 0, None, out)
}

/// The text of a tree.
///
/// # Errors
/// As [`text`].
pub fn to_text(value: &Json) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    text(View::new(&crate::encode(value)?), &mut out)?;
    Ok(out)
}

/// Appends the text in lines, indented.
///
/// # Errors
/// As [`text`].
pub fn pretty(view: View<'_>, out: &mut Vec<u8>) -> Result<()> {
    write(view, 0, Some(()), out)
}

fn line(level: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.resize(out.len() + 2 * level, b' ');
}

fn write(view: View<'_>, level: usize, lines: Option<()>, out: &mut Vec<u8>) -> Result<()> {
    memory::reserve(out, 64 + 2 * level)?;
    if let Some(text) = view.as_str()? {
        memory::reserve(out, text.len() + 64)?;
        append_quoted(text, out);
        return Ok(());
    }
    if let Some(scalar) = view.scalar()? {
        write_scalar(&scalar, out);
        return Ok(());
    }
    if level >= DEPTH_MAX {
        return Err(Error::TooDeep);
    }
    let (open, close) = if view.is_array() { (b'[', b']') } else { (b'{', b'}') };
    out.push(open);
    let mut first = true;
    let mut separate = |out: &mut Vec<u8>| {
        let comma: &[u8] = match (first, lines) {
            (true, _) => b"",
            (false, None) => b", ",
            (false, Some(())) => b",",
        };
        out.extend_from_slice(comma);
        if lines.is_some() {
            line(level + 1, out);
        }
        first = false;
    };
    if view.is_array() {
        for item in view.iter_elements()? {
            separate(out);
            write(item?, level + 1, lines, out)?;
        }
    } else {
        for member in view.iter_members()? {
            let (name, item) = member?;
            memory::reserve(out, name.len() + 64)?;
            separate(out);
            append_quoted(name, out);
            out.extend_from_slice(b": ");
            write(item, level + 1, lines, out)?;
        }
    }
    if lines.is_some() && !view.is_empty()? {
        line(level, out);
    }
    out.push(close);
    Ok(())
}

fn write_scalar(value: &Json, out: &mut Vec<u8>) {
    match value {
        Json::Bool(true) => out.extend_from_slice(b"true"),
        Json::Bool(false) => out.extend_from_slice(b"false"),
        Json::Int(v) => types::write_i64(*v, out),
        Json::UInt(v) => types::write_u64(*v, out),
        Json::Double(v) => {
            let start = out.len();
            types::format_double(*v, out);
            if !out[start..].iter().any(|byte| matches!(byte, b'.' | b'e')) {
                out.extend_from_slice(b".0");
            }
        }
        Json::Decimal(v) => v.write_to(out),
        Json::String(v) => append_quoted(v, out),
        Json::Date(v) => quoted(out, |out| v.write_to(out)),
        Json::Time(v) => quoted(out, |out| v.write_to(6, out)),
        Json::DateTime(v) => quoted(out, |out| v.write_to(6, out)),
        Json::Opaque(ty, bytes) => quoted(out, |out| {
            out.extend_from_slice(format!("base64:type{ty}:").as_bytes());
            base64(bytes, out);
        }),
        Json::Null | Json::Array(_) | Json::Object(_) => out.extend_from_slice(b"null"),
    }
}

fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    write(out);
    out.push(b'"');
}

fn base64(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |n, byte| n << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= chunk.len() { digit } else { b'=' });
        }
    }
}

/// Appends a text as a JSON string.
pub fn append_quoted(text: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0C => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => {
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}
