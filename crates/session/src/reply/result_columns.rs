//! Result columns as the wire describes them.

use crate::reply::charsets::{UTF8, outgoing};
use planner::plan::{Kept, OutputColumn};
use protocol::{ColumnBlock, ColumnDefinition, ColumnFlags, ColumnType as WireType, PacketWriter};
use std::borrow::Cow;
use types::{Collation, ColumnType, TypeKind};

/// The longest document that is computed: as many characters as bytes can be counted for.
const COMPUTED_JSON_CHARS: u32 = u32::MAX / 4;

/// The wire's type of a column type.
pub fn wire_type(ty: &ColumnType) -> WireType {
    match ty.kind {
        TypeKind::Null => WireType::Null,
        TypeKind::TinyInt => WireType::Tiny,
        TypeKind::SmallInt => WireType::Short,
        TypeKind::MediumInt => WireType::Int24,
        TypeKind::Int => WireType::Long,
        TypeKind::BigInt => WireType::LongLong,
        TypeKind::Decimal => WireType::NewDecimal,
        TypeKind::Float => WireType::Float,
        TypeKind::Double => WireType::Double,
        TypeKind::Bit => WireType::Bit,
        TypeKind::Char | TypeKind::Binary | TypeKind::Enum | TypeKind::Set => WireType::String,
        TypeKind::VarChar | TypeKind::VarBinary => WireType::VarString,
        kind if kind.is_blob() => WireType::Blob,
        TypeKind::Date => WireType::Date,
        TypeKind::Time => WireType::Time,
        TypeKind::DateTime => WireType::DateTime,
        TypeKind::Timestamp => WireType::Timestamp,
        TypeKind::Year => WireType::Year,
        TypeKind::Json => WireType::Json,
        _ => WireType::VarString,
    }
}

/// The longest value in bytes, as MySQL states it, of text with so many bytes for each character.
pub(crate) fn wire_length(ty: &ColumnType, bytes_per_char: u32) -> u32 {
    let unsigned = ty.unsigned;
    match ty.kind {
        TypeKind::Null => 0,
        // Clients pad to this width.
        kind if ty.zerofill && kind.is_integer() => ty.length,
        TypeKind::TinyInt if ty.length == 1 && !unsigned => 1,
        TypeKind::TinyInt => 4 - u32::from(unsigned),
        TypeKind::SmallInt => 6 - u32::from(unsigned),
        TypeKind::MediumInt => 9 - u32::from(unsigned),
        TypeKind::Int => 11 - u32::from(unsigned),
        // Of what is computed; a column's is any.
        TypeKind::BigInt if ty.length > 0 => ty.length,
        TypeKind::BigInt => 20,
        TypeKind::Decimal => ty.length + u32::from(ty.decimals > 0) + u32::from(!unsigned),
        TypeKind::Float => 12,
        TypeKind::Double => 22,
        TypeKind::Date => 10,
        TypeKind::Time => 10 + fraction(ty.decimals),
        TypeKind::DateTime | TypeKind::Timestamp => 19 + fraction(ty.decimals),
        TypeKind::Enum | TypeKind::Set => {
            let chars = |member: &types::ByteString| types::utf8::char_count(member) as u32;
            let lengths = ty.member_list().iter().map(|member| chars(member) * bytes_per_char + bytes_per_char);
            let all = if ty.kind == TypeKind::Enum { lengths.max().unwrap_or(bytes_per_char) } else { lengths.sum::<u32>() };
            all.saturating_sub(bytes_per_char)
        }
        kind if kind.is_string() && ty.is_character() => ty.length.saturating_mul(bytes_per_char),
        _ => u32::try_from(ty.bytes_max()).unwrap_or(u32::MAX),
    }
}

fn fraction(digits: u8) -> u32 {
    if digits == 0 { 0 } else { u32::from(digits) + 1 }
}

fn wire_flags(column: &OutputColumn) -> ColumnFlags {
    let ty = &column.ty;
    let mut flags = ColumnFlags(0);
    let character = ty.is_character() && ty.kind != TypeKind::Json;
    flags.set(ColumnFlags::NOT_NULL, !ty.nullable);
    flags.set(ColumnFlags::PRI_KEY, column.primary_key);
    flags.set(ColumnFlags::UNIQUE_KEY, column.unique_key);
    flags.set(ColumnFlags::MULTIPLE_KEY, column.multiple_key);
    flags.set(ColumnFlags::BLOB, ty.kind.is_blob() || (ty.kind == TypeKind::Json && !column.org_name.is_empty()));
    flags.set(ColumnFlags::UNSIGNED, ty.unsigned && (ty.kind.is_numeric() || ty.kind.is_string()));
    flags.set(ColumnFlags::ZEROFILL, ty.zerofill);
    // Numbers of tables are not binary, computed ones are: a driver takes a TINYINT(1) or BIT that is binary for bytes.
    let number_of_table = ty.kind.is_numeric() && !column.org_name.is_empty();
    flags.set(ColumnFlags::BINARY, (!character || ty.collation.is_binary()) && !number_of_table);
    flags.set(ColumnFlags::ENUM, ty.kind == TypeKind::Enum);
    flags.set(ColumnFlags::SET, ty.kind == TypeKind::Set);
    flags.set(ColumnFlags::AUTO_INCREMENT, column.auto_increment);
    flags.set(ColumnFlags::NO_DEFAULT_VALUE, column.no_default);
    flags.set(ColumnFlags::ON_UPDATE_NOW, column.on_update_now);
    flags.set(ColumnFlags::PART_KEY, column.part_of_key);
    flags
}

/// A column's definition for a client that gets its text by `results`; that it is told also of texts that have other collations.
pub fn definition(column: &OutputColumn, results: Option<Collation>) -> ColumnDefinition<'_> {
    let ty = &column.ty;
    let expression = column.org_name.is_empty();
    let decimals = match ty.kind {
        TypeKind::Decimal | TypeKind::Float | TypeKind::Double | TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => ty.decimals,
        kind if expression && column.kept == Kept::No && (kind.is_string() && !ty.unsigned || kind == TypeKind::Json) => 31,
        _ => 0,
    };
    // A document that is computed is text to clients, a column of documents is not.
    let text = ty.is_character() && (ty.kind != TypeKind::Json || expression);
    let own = ty.collation.charset();
    let (collation, of) = match results {
        _ if !text => (Collation::Binary, own),
        Some(Collation::Binary) => (Collation::Binary, own),
        Some(results) => (results, results.charset()),
        None => (ty.collation, own),
    };
    let bytes_per_char = match results {
        Some(Collation::Binary) if text => 1,
        // Without conversion the length of a TEXT is counted in its bytes.
        None if ty.kind.is_blob() => 1,
        _ => of.bytes_per_char_max(),
    };
    ColumnDefinition {
        schema: column.database.as_bytes(),
        table: column.table.as_bytes(),
        org_table: column.org_table.as_bytes(),
        name: column.name.as_bytes(),
        org_name: column.org_name.as_bytes(),
        charset: collation.id(),
        length: if expression && ty.kind == TypeKind::Json {
            COMPUTED_JSON_CHARS * bytes_per_char
        } else {
            wire_length(ty, bytes_per_char)
        },
        // The longest text that is computed is told from that of a column.
        column_type: match ty.kind {
            TypeKind::LongText | TypeKind::LongBlob if expression => WireType::LongBlob,
            _ => wire_type(ty),
        },
        flags: wire_flags(column),
        decimals,
    }
}

/// Writes a column's definition, its names in what the client wants.
pub fn write_definition(column: &OutputColumn, results: Option<Collation>, out: &mut PacketWriter) {
    write_definition_as(column, results, |definition| definition, out);
}

/// The same with what else is said of the column.
pub fn write_definition_as(
    column: &OutputColumn,
    results: Option<Collation>,
    told: impl for<'d> Fn(ColumnDefinition<'d>) -> ColumnDefinition<'d>,
    out: &mut PacketWriter,
) {
    let [schema, table, org_table, name, org_name] = names(column, results);
    let plain = told(definition(column, results));
    ColumnDefinition { schema: &schema, table: &table, org_table: &org_table, name: &name, org_name: &org_name, ..plain }.write(out);
}

fn names(column: &OutputColumn, results: Option<Collation>) -> [Cow<'_, [u8]>; 5] {
    [&column.database, &column.table, &column.org_table, &column.name, &column.org_name]
        .map(|name| outgoing(name, results.map(Collation::charset)))
}

/// All definitions, encoded once.
pub fn block(columns: &[OutputColumn], results: Option<Collation>) -> ColumnBlock {
    block_of(columns, results, |_, definition| definition)
}

/// The same with what else is said of the column at each place.
pub fn block_of(
    columns: &[OutputColumn],
    results: Option<Collation>,
    told: impl for<'d> Fn(usize, ColumnDefinition<'d>) -> ColumnDefinition<'d>,
) -> ColumnBlock {
    let plain = columns.iter().enumerate().map(|(at, column)| told(at, definition(column, results)));
    if results.map(Collation::charset) == UTF8 {
        return ColumnBlock::new(&plain.collect::<Vec<_>>());
    }
    let all: Vec<[Cow<'_, [u8]>; 5]> = columns.iter().map(|column| names(column, results)).collect();
    let definitions: Vec<ColumnDefinition<'_>> = plain
        .zip(&all)
        .map(|(plain, [schema, table, org_table, name, org_name])| ColumnDefinition { schema, table, org_table, name, org_name, ..plain })
        .collect();
    ColumnBlock::new(&definitions)
}
