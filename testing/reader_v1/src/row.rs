//! Rows: columns found and read by their definition.

use crate::Problem;
use crate::bytes::{u16_at, u32_at};
use crate::dictionary::{Column, Table};

/// Bytes of a row's header.
const HEADER: usize = 19;

/// A value; `None` in place of NULL. Text is as a client sees it where that is simple: numbers, strings, dates.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    /// NULL.
    Null,
    /// As text.
    Text(String),
    /// Bytes of a string that is none.
    Bytes(Vec<u8>),
}

/// Key and value of the dictionary's row: two variable columns, never NULL.
pub(crate) fn two_strings(row: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Problem> {
    let (first, second) = (end(row, HEADER, 0)?, end(row, HEADER, 1)?);
    let data = HEADER + 2 * width(row);
    let piece = |from: usize, to: usize| row.get(data + from..data + to).map(<[u8]>::to_vec).ok_or("a column past its row");
    Ok((piece(0, first)?, piece(first, second)?))
}

/// All columns of a row.
pub(crate) fn fields(row: &[u8], table: &Table) -> Result<Vec<Field>, Problem> {
    let version = u64::from(u16_at(row, 1));
    let stored: Vec<&Column> = table.columns.iter().filter(|c| version == table.schema_version || c.added_in <= version).collect();
    let nulls = stored.iter().filter(|c| c.nullable).count().div_ceil(8);
    let (mut fixed_at, mut null_no, mut variable_no) = (HEADER + nulls, 0, 0);
    let ends_at = fixed_at + stored.iter().filter_map(|c| fixed_bytes(c)).sum::<usize>();
    let variable_count = stored.iter().filter(|c| fixed_bytes(c).is_none()).count();
    let data = ends_at + variable_count * width(row);
    let mut found = Vec::new();
    for column in &stored {
        let is_null = column.nullable && {
            null_no += 1;
            row[HEADER + (null_no - 1) / 8] >> ((null_no - 1) % 8) & 1 == 1
        };
        let bytes = match fixed_bytes(column) {
            Some(bytes) => {
                fixed_at += bytes;
                row.get(fixed_at - bytes..fixed_at)
            }
            None => {
                let from = if variable_no == 0 { 0 } else { end(row, ends_at, variable_no - 1)? };
                variable_no += 1;
                row.get(data + from..data + end(row, ends_at, variable_no - 1)?)
            }
        };
        let bytes = bytes.ok_or_else(|| format!("column {} past its row", column.name))?;
        found.push(if is_null { Field::Null } else { value(column, bytes)? });
    }
    let mut found = found.into_iter();
    let is_stored = |column: &Column| version == table.schema_version || column.added_in <= version;
    table.columns.iter().map(|c| if is_stored(c) { found.next().ok_or_else(|| "a column too few".into()) } else { older(c) }).collect()
}

/// What rows older than a column have in it.
fn older(column: &Column) -> Result<Field, Problem> {
    let row = &column.older_rows;
    if row.is_empty() || row[HEADER] & 1 == 1 {
        return Ok(Field::Null);
    }
    match fixed_bytes(column) {
        Some(bytes) => value(column, &row[HEADER + 1..HEADER + 1 + bytes]),
        None => value(column, &row[HEADER + 1 + width(row)..]),
    }
}

/// Bytes of the end of a variable column.
fn width(row: &[u8]) -> usize {
    if row.len() <= 65_535 { 2 } else { 4 }
}

fn end(row: &[u8], ends_at: usize, number: usize) -> Result<usize, Problem> {
    let at = ends_at + number * width(row);
    if at + width(row) > row.len() {
        return Err("an end past its row".into());
    }
    Ok(if width(row) == 2 { usize::from(u16_at(row, at)) } else { u32_at(row, at) as usize })
}

fn fixed_bytes(column: &Column) -> Option<usize> {
    Some(match column.kind {
        1 | 26 => 1,
        2 | 27 => 2,
        3 | 22 => 3,
        4 | 7 => 4,
        5 | 8 | 24 | 25 | 28 => 8,
        6 => decimal_bytes(column.length),
        9 => (column.length as usize).div_ceil(8),
        23 => 6,
        _ => return None,
    })
}

/// The fewest bytes that hold ±(10^digits − 1) in two's complement.
fn decimal_bytes(digits: u64) -> usize {
    // 10^digits − 1 takes ⌊digits · log2(10)⌋ + 1 bits, and one is the sign's.
    let bits = (digits as f64 * std::f64::consts::LOG2_10).floor() as usize + 2;
    bits.div_ceil(8)
}

fn unsigned(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn signed(bytes: &[u8]) -> i64 {
    let shift = 64 - 8 * bytes.len() as u32;
    ((unsigned(bytes) << shift) as i64) >> shift
}

fn value(column: &Column, bytes: &[u8]) -> Result<Field, Problem> {
    let text = |text: String| Ok(Field::Text(text));
    match column.kind {
        1..=5 if column.unsigned => text(unsigned(bytes).to_string()),
        1..=5 => text(signed(bytes).to_string()),
        6 => decimal(bytes, usize::from(column.decimals)).map(Field::Text),
        7 => text(f32::from_bits(unsigned(bytes) as u32).to_string()),
        8 => text(f64::from_bits(unsigned(bytes)).to_string()),
        9 => text(unsigned(bytes).to_string()),
        22 => text(date(unsigned(bytes))),
        23 => text(signed(bytes).to_string()),
        24 => {
            let v = unsigned(bytes);
            text(format!("{} {:02}:{:02}:{:02}.{:06}", date(v >> 37), v >> 32 & 31, v >> 26 & 63, v >> 20 & 63, v & 0xf_ffff))
        }
        25 => text(signed(bytes).to_string()),
        26 => text(match bytes[0] {
            0 => "0000".into(),
            year => (1900 + u32::from(year)).to_string(),
        }),
        27 => match unsigned(bytes) as usize {
            0 => text(String::new()),
            member => text(column.members.get(member - 1).ok_or("a member that there is not")?.clone()),
        },
        28 => {
            let set = unsigned(bytes);
            let members = column.members.iter().enumerate().filter(|(no, _)| set >> no & 1 == 1);
            text(members.map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(","))
        }
        16..=21 => Ok(Field::Bytes(bytes.to_vec())),
        _ => String::from_utf8(bytes.to_vec()).map(Field::Text).map_err(|_| format!("column {}: no UTF-8", column.name)),
    }
}

fn date(packed: u64) -> String {
    format!("{:04}-{:02}-{:02}", packed >> 9, packed >> 5 & 15, packed & 31)
}

/// Big-endian two's complement with the sign bit flipped; up to 38 digits.
fn decimal(bytes: &[u8], decimals: usize) -> Result<String, Problem> {
    if bytes.len() > 16 {
        return Err("a decimal of more digits than this reader counts".into());
    }
    let raw = bytes.iter().fold(0_i128, |value, byte| value << 8 | i128::from(*byte));
    let value = raw - (1 << (8 * bytes.len() - 1));
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = decimals + 1);
    let (whole, part) = digits.split_at(digits.len() - decimals);
    let point = if decimals > 0 { "." } else { "" };
    Ok(format!("{}{whole}{point}{part}", if value < 0 { "-" } else { "" }))
}
