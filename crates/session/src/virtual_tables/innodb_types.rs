//! How `information_schema.INNODB_COLUMNS` writes types: MTYPE, PRTYPE and LEN as MySQL 9.7 shows them for the same column.
//!
//! Rows lie differently here (`record`), so the numbers say what MySQL would keep: tools read them to tell types apart.

use catalog::ColumnDef;
use types::{Collation, ColumnType, TypeKind};

/// MTYPE of VARCHAR and CHAR in `latin1_swedish_ci`.
const VARCHAR: i64 = 1;
const CHAR: i64 = 2;
/// Bytes of a length, DECIMAL and most temporal types among them; bytes of any length; large values.
const FIXED_BINARY: i64 = 3;
const BINARY: i64 = 4;
const BLOB: i64 = 5;
const INTEGER: i64 = 6;
const FLOAT: i64 = 9;
const DOUBLE: i64 = 10;
/// Text in other collations.
const VARCHAR_OF_ANY: i64 = 12;
const CHAR_OF_ANY: i64 = 13;

/// PRTYPE's flags, above the type's number.
const NOT_NULL: i64 = 0x100;
const UNSIGNED: i64 = 0x200;
const IS_BINARY: i64 = 0x400;
const LONG_VARCHAR: i64 = 0x1000;
const VIRTUAL: i64 = 0x2000;
/// Bit where the collation's number begins.
const COLLATION_SHIFT: u32 = 16;

/// Bytes of the longest VARCHAR whose length takes one byte.
const SHORT_VARCHAR_BYTES_MAX: u32 = 255;
/// Bytes of a pointer to a large value.
const POINTER_BYTES: u32 = 8;

/// MTYPE, PRTYPE and LEN of a column.
pub(super) fn storage_type(column: &ColumnDef) -> (i64, i64, i64) {
    let ty = &column.ty;
    let (main, length) = main_type(ty);
    let mut precise = type_number(ty.kind) | i64::from(collation(ty)) << COLLATION_SHIFT;
    let flags = [
        (!ty.nullable, NOT_NULL),
        (ty.unsigned || matches!(ty.kind, TypeKind::Enum | TypeKind::Set | TypeKind::Year), UNSIGNED),
        (is_binary(ty), IS_BINARY),
        (matches!(ty.kind, TypeKind::VarChar | TypeKind::VarBinary) && length > SHORT_VARCHAR_BYTES_MAX, LONG_VARCHAR),
        (column.is_virtual(), VIRTUAL),
    ];
    for (_, flag) in flags.into_iter().filter(|(has, _)| *has) {
        precise |= flag;
    }
    (main, precise, i64::from(length))
}

fn type_number(kind: TypeKind) -> i64 {
    match kind {
        TypeKind::TinyInt => 1,
        TypeKind::SmallInt => 2,
        TypeKind::Int => 3,
        TypeKind::Float => 4,
        TypeKind::Double => 5,
        TypeKind::Timestamp => 7,
        TypeKind::BigInt => 8,
        TypeKind::MediumInt => 9,
        TypeKind::Date => 10,
        TypeKind::Time => 11,
        TypeKind::DateTime => 12,
        TypeKind::Year => 13,
        TypeKind::VarChar | TypeKind::VarBinary => 15,
        TypeKind::Bit => 16,
        TypeKind::Json => 245,
        TypeKind::Decimal => 246,
        kind if kind.is_blob() => 252,
        _ => 254,
    }
}

/// Whether values are compared by their bytes, of types where MySQL says so: text of `_bin` collations is not among them.
fn is_binary(ty: &ColumnType) -> bool {
    match ty.kind {
        TypeKind::Enum | TypeKind::Set => false,
        TypeKind::Char | TypeKind::VarChar | TypeKind::TinyText | TypeKind::Text | TypeKind::MediumText | TypeKind::LongText => {
            ty.collation == Collation::Binary
        }
        _ => true,
    }
}

/// The number of the collation that MySQL keeps with the type.
fn collation(ty: &ColumnType) -> u16 {
    /// Of DECIMAL and temporal types with a fraction: that of the server's old default.
    const LATIN1_SWEDISH: u16 = 8;
    const BINARY: u16 = 63;
    /// JSON: utf8mb4_bin.
    const UTF8MB4_BIN: u16 = 46;
    match ty.kind {
        TypeKind::Char | TypeKind::VarChar | TypeKind::TinyText | TypeKind::Text | TypeKind::MediumText | TypeKind::LongText => {
            ty.collation.id()
        }
        TypeKind::Decimal | TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => LATIN1_SWEDISH,
        TypeKind::Json => UTF8MB4_BIN,
        TypeKind::Binary | TypeKind::VarBinary | TypeKind::Bit => BINARY,
        kind if kind.is_blob() => BINARY,
        _ => 0,
    }
}

/// MTYPE and LEN.
fn main_type(ty: &ColumnType) -> (i64, u32) {
    let bytes = ty.length.saturating_mul(ty.collation.charset().bytes_per_char_max());
    let is_latin1 = ty.collation == Collation::Latin1SwedishCi;
    if let Some(bytes) = ty.packed_bytes() {
        let main = match ty.kind {
            TypeKind::Float => FLOAT,
            TypeKind::Double => DOUBLE,
            TypeKind::Decimal | TypeKind::Time | TypeKind::Timestamp | TypeKind::DateTime | TypeKind::Bit => FIXED_BINARY,
            _ => INTEGER,
        };
        return (main, bytes);
    }
    match ty.kind {
        TypeKind::Binary => (FIXED_BINARY, ty.length),
        TypeKind::VarBinary => (BINARY, ty.length),
        TypeKind::Char => (if is_latin1 { CHAR } else { CHAR_OF_ANY }, bytes),
        TypeKind::VarChar => (if is_latin1 { VARCHAR } else { VARCHAR_OF_ANY }, bytes),
        TypeKind::TinyBlob | TypeKind::TinyText => (BLOB, POINTER_BYTES + 1),
        TypeKind::MediumBlob | TypeKind::MediumText => (BLOB, POINTER_BYTES + 3),
        TypeKind::LongBlob | TypeKind::LongText | TypeKind::Json => (BLOB, POINTER_BYTES + 4),
        _ => (BLOB, POINTER_BYTES + 2),
    }
}
