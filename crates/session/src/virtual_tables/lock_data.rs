//! `LOCK_DATA`: the values of a locked key.

use catalog::TableEntry;
use record::key::{decode_part, part_bytes};
use types::{ColumnType, Value};

/// The key's values, as MySQL writes them: numbers bare, strings in quotes, separated by commas. What a key does not give back (a string under a
/// collation that folds letters, a float) is written as the key's bytes in hexadecimal, and so is a row id. The end
/// of an index has no values.
pub(crate) fn lock_data(entry: &TableEntry, index_no: usize, mut key: &[u8]) -> String {
    if key.is_empty() {
        return "supremum pseudo-record".to_owned();
    }
    let index = &entry.storage.indexes[index_no];
    let mut out = Vec::new();
    for part in &index.full_parts {
        if key.is_empty() {
            break;
        }
        let Some(ty) = entry.def.columns.get(part.column).map(|column| &column.ty) else { break };
        separate(&mut out);
        let Ok(bytes) = part_bytes(ty, part, key) else {
            hexadecimal(key, &mut out);
            key = &[];
            break;
        };
        let (own, rest) = key.split_at(bytes);
        match decode_part(ty, part, &mut &own[..]) {
            Ok(value) => write(ty, &value, &mut out),
            Err(_) => hexadecimal(own, &mut out),
        }
        key = rest;
    }
    if !key.is_empty() {
        separate(&mut out);
        hexadecimal(key, &mut out);
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn separate(out: &mut Vec<u8>) {
    if !out.is_empty() {
        out.extend_from_slice(b", ");
    }
}

fn write(ty: &ColumnType, value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Bytes(bytes) if ty.kind.is_binary_string() => hexadecimal(bytes, out),
        Value::Null | Value::Int(_) | Value::UInt(_) | Value::Decimal(_) => crate::reply::value_text::write(value, out),
        _ => {
            out.push(b'\'');
            crate::reply::value_text::write(value, out);
            out.push(b'\'');
        }
    }
}

fn hexadecimal(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"0x");
    out.extend(bytes.iter().flat_map(|byte| format!("{byte:02X}").into_bytes()));
}
