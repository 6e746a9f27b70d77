//! The type of a column or an expression.

use crate::{ByteString, Collation};
use std::fmt;
use std::sync::Arc;

/// The kind of a type, without its attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum TypeKind {
    /// The type of a bare NULL.
    Null = 0,
    /// 8-bit integer.
    TinyInt = 1,
    /// 16-bit integer.
    SmallInt = 2,
    /// 24-bit integer.
    MediumInt = 3,
    /// 32-bit integer.
    Int = 4,
    /// 64-bit integer.
    BigInt = 5,
    /// Exact decimal, up to 65 digits.
    Decimal = 6,
    /// IEEE single.
    Float = 7,
    /// IEEE double.
    Double = 8,
    /// 1 to 64 bits.
    Bit = 9,
    /// Character string of a fixed count of characters, trailing spaces cut.
    Char = 10,
    /// Character string of bounded length.
    VarChar = 11,
    /// Text up to 255 bytes.
    TinyText = 12,
    /// Text up to 65,535 bytes.
    Text = 13,
    /// Text up to 16 MiB.
    MediumText = 14,
    /// Text up to 4 GiB.
    LongText = 15,
    /// Bytes of a fixed count, padded with zero bytes.
    Binary = 16,
    /// Bytes of bounded length.
    VarBinary = 17,
    /// Bytes up to 255.
    TinyBlob = 18,
    /// Bytes up to 65,535.
    Blob = 19,
    /// Bytes up to 16 MiB.
    MediumBlob = 20,
    /// Bytes up to 4 GiB.
    LongBlob = 21,
    /// Calendar date.
    Date = 22,
    /// Signed duration or time of day.
    Time = 23,
    /// Date and time without a zone.
    DateTime = 24,
    /// An instant.
    Timestamp = 25,
    /// 1901 to 2155, and 0.
    Year = 26,
    /// One of a list of strings.
    Enum = 27,
    /// A subset of a list of strings.
    Set = 28,
    /// JSON document.
    Json = 29,
}

impl TypeKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [TypeKind; 30] = {
        use TypeKind::*;
        [
            Null, TinyInt, SmallInt, MediumInt, Int, BigInt, Decimal, Float, Double, Bit, Char, VarChar, TinyText, Text, MediumText,
            LongText, Binary, VarBinary, TinyBlob, Blob, MediumBlob, LongBlob, Date, Time, DateTime, Timestamp, Year, Enum, Set, Json,
        ]
    };

    /// The kind of a stored number (`kind as u8`).
    pub fn from_u8(number: u8) -> Option<TypeKind> {
        TypeKind::ALL.get(usize::from(number)).copied()
    }

    /// TINYINT to BIGINT.
    pub fn is_integer(self) -> bool {
        matches!(self, TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt)
    }

    /// FLOAT or DOUBLE.
    pub fn is_float(self) -> bool {
        matches!(self, TypeKind::Float | TypeKind::Double)
    }

    /// Anything whose values are numbers: integers, DECIMAL, FLOAT, DOUBLE, BIT, YEAR.
    pub fn is_numeric(self) -> bool {
        self.is_integer() || self.is_float() || matches!(self, TypeKind::Decimal | TypeKind::Bit | TypeKind::Year)
    }

    /// Those of whose columns numbers are stored as such: BIT holds bytes.
    pub fn stores_numbers(self) -> bool {
        self.is_numeric() && self != TypeKind::Bit
    }

    /// Character and binary strings, TEXT and BLOB (not ENUM, SET, JSON).
    #[inline]
    pub fn is_string(self) -> bool {
        (TypeKind::Char as u8..=TypeKind::LongBlob as u8).contains(&(self as u8))
    }

    /// TEXT and BLOB types of any size.
    pub fn is_blob(self) -> bool {
        matches!(
            self,
            TypeKind::TinyText
                | TypeKind::Text
                | TypeKind::MediumText
                | TypeKind::LongText
                | TypeKind::TinyBlob
                | TypeKind::Blob
                | TypeKind::MediumBlob
                | TypeKind::LongBlob
        )
    }

    /// BINARY, VARBINARY and BLOB types: strings of bytes.
    pub fn is_binary_string(self) -> bool {
        (TypeKind::Binary as u8..=TypeKind::LongBlob as u8).contains(&(self as u8))
    }

    /// DATE, TIME, DATETIME, TIMESTAMP.
    pub fn is_temporal(self) -> bool {
        matches!(self, TypeKind::Date | TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp)
    }

    /// DATE, DATETIME, TIMESTAMP.
    pub fn has_date(self) -> bool {
        matches!(self, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp)
    }

    /// DATETIME or TIMESTAMP.
    pub fn is_datetime(self) -> bool {
        matches!(self, TypeKind::DateTime | TypeKind::Timestamp)
    }

    /// Bytes an integer kind takes in a row.
    pub fn integer_bytes(self) -> Option<usize> {
        Some(match self {
            TypeKind::TinyInt => 1,
            TypeKind::SmallInt => 2,
            TypeKind::MediumInt => 3,
            TypeKind::Int => 4,
            TypeKind::BigInt => 8,
            _ => return None,
        })
    }

    /// The word in SHOW CREATE TABLE, in lower case.
    pub fn sql_name(self) -> &'static str {
        match self {
            TypeKind::Null => "null",
            TypeKind::TinyInt => "tinyint",
            TypeKind::SmallInt => "smallint",
            TypeKind::MediumInt => "mediumint",
            TypeKind::Int => "int",
            TypeKind::BigInt => "bigint",
            TypeKind::Decimal => "decimal",
            TypeKind::Float => "float",
            TypeKind::Double => "double",
            TypeKind::Bit => "bit",
            TypeKind::Char => "char",
            TypeKind::VarChar => "varchar",
            TypeKind::TinyText => "tinytext",
            TypeKind::Text => "text",
            TypeKind::MediumText => "mediumtext",
            TypeKind::LongText => "longtext",
            TypeKind::Binary => "binary",
            TypeKind::VarBinary => "varbinary",
            TypeKind::TinyBlob => "tinyblob",
            TypeKind::Blob => "blob",
            TypeKind::MediumBlob => "mediumblob",
            TypeKind::LongBlob => "longblob",
            TypeKind::Date => "date",
            TypeKind::Time => "time",
            TypeKind::DateTime => "datetime",
            TypeKind::Timestamp => "timestamp",
            TypeKind::Year => "year",
            TypeKind::Enum => "enum",
            TypeKind::Set => "set",
            TypeKind::Json => "json",
        }
    }
}

/// `decimals` of FLOAT and DOUBLE without (M,D): as many digits as the value needs.
pub const DECIMALS_NOT_FIXED: u8 = 31;

/// Characters of a FLOAT and of a DOUBLE without (M,D), where they are filled up.
const FLOAT_WIDTH: usize = 12;
const DOUBLE_WIDTH: usize = 22;

/// A type with its attributes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnType {
    /// What kind of type.
    pub kind: TypeKind,
    /// UNSIGNED.
    pub unsigned: bool,
    /// ZEROFILL (implies unsigned): text is padded with zeros to `length`.
    pub zerofill: bool,
    /// Whether NULL may occur.
    pub nullable: bool,
    /// Characters of CHAR and VARCHAR; bytes of BINARY and VARBINARY and the TEXT and BLOB types (their maximum); display width of integers
    /// (0: none given); precision of DECIMAL; bits of BIT; total digits of FLOAT(M,D) and DOUBLE(M,D) (0: none given).
    pub length: u32,
    /// Scale of DECIMAL, FLOAT(M,D), DOUBLE(M,D) ([`DECIMALS_NOT_FIXED`] without); fractional seconds digits of temporal types.
    pub decimals: u8,
    /// Collation of character strings, ENUM and SET; [`Collation::Binary`] for all else.
    pub collation: Collation,
    /// Members of ENUM and SET, in order.
    pub members: Option<Arc<[ByteString]>>,
}

impl ColumnType {
    /// Whether values are strings of bytes, of no character set: of such a column, or computed.
    pub fn is_bytes(&self) -> bool {
        self.kind.is_string() && self.collation == Collation::Binary
    }

    /// A nullable type of a kind with its default attributes.
    pub fn new(kind: TypeKind) -> Self {
        let (length, decimals) = match kind {
            TypeKind::Decimal => (10, 0),
            TypeKind::Float | TypeKind::Double => (0, DECIMALS_NOT_FIXED),
            TypeKind::Bit | TypeKind::Char | TypeKind::Binary => (1, 0),
            TypeKind::TinyText | TypeKind::TinyBlob => (255, 0),
            TypeKind::Text | TypeKind::Blob => (65_535, 0),
            TypeKind::MediumText | TypeKind::MediumBlob => (16_777_215, 0),
            TypeKind::LongText | TypeKind::LongBlob | TypeKind::Json => (u32::MAX, 0),
            TypeKind::Year => (4, 0),
            _ => (0, 0),
        };
        let character = matches!(
            kind,
            TypeKind::Char
                | TypeKind::VarChar
                | TypeKind::TinyText
                | TypeKind::Text
                | TypeKind::MediumText
                | TypeKind::LongText
                | TypeKind::Enum
                | TypeKind::Set
        );
        let collation = match kind {
            TypeKind::Json => Collation::Utf8mb4Bin,
            _ if character => Collation::DEFAULT,
            _ => Collation::Binary,
        };
        ColumnType {
            kind,
            unsigned: matches!(kind, TypeKind::Year | TypeKind::Bit),
            zerofill: kind == TypeKind::Year,
            nullable: true,
            length,
            decimals,
            collation,
            members: None,
        }
    }

    /// What YEAR() gives: a number that clients are told is a YEAR. It may be any year, and two digits stand for themselves.
    pub fn year_number() -> Self {
        ColumnType { zerofill: false, ..ColumnType::new(TypeKind::Year) }
    }

    /// ZEROFILL: puts zeros before the number that stands at the end of `text` from `at` on, up to the width of the column.
    pub fn fill_up(&self, at: usize, text: &mut Vec<u8>) {
        let width = match (self.kind, self.length as usize) {
            (TypeKind::Decimal, digits) => digits + usize::from(self.decimals > 0),
            (TypeKind::Float, 0) => FLOAT_WIDTH,
            (TypeKind::Double, 0) => DOUBLE_WIDTH,
            (_, width) => width,
        };
        let missing = width.saturating_sub(text.len() - at);
        text.splice(at..at, std::iter::repeat_n(b'0', missing));
    }

    /// Whether it is a YEAR as columns have it (1901 to 2155 in four digits, two of which are enough in a comparison), not the number that YEAR() gives.
    pub fn is_year_column(&self) -> bool {
        self.kind == TypeKind::Year && self.zerofill
    }

    /// BIGINT, the type of most integer expressions.
    pub fn bigint() -> Self {
        ColumnType::new(TypeKind::BigInt)
    }

    /// BIGINT UNSIGNED.
    pub fn bigint_unsigned() -> Self {
        ColumnType { unsigned: true, ..ColumnType::new(TypeKind::BigInt) }
    }

    /// INT.
    pub fn int() -> Self {
        ColumnType::new(TypeKind::Int)
    }

    /// DOUBLE.
    pub fn double() -> Self {
        ColumnType::new(TypeKind::Double)
    }

    /// DECIMAL(precision, scale).
    pub fn decimal(precision: u32, scale: u8) -> Self {
        ColumnType { length: precision, decimals: scale, ..ColumnType::new(TypeKind::Decimal) }
    }

    /// VARCHAR(characters) with a collation; with [`Collation::Binary`] it is VARBINARY.
    pub fn varchar(characters: u32, collation: Collation) -> Self {
        let kind = if collation == Collation::Binary { TypeKind::VarBinary } else { TypeKind::VarChar };
        ColumnType { length: characters, collation, ..ColumnType::new(kind) }
    }

    /// A temporal type with fractional digits.
    pub fn temporal(kind: TypeKind, fraction_digits: u8) -> Self {
        ColumnType { decimals: fraction_digits, ..ColumnType::new(kind) }
    }

    /// ENUM or SET with its members.
    pub fn with_members(kind: TypeKind, members: impl IntoIterator<Item = ByteString>, collation: Collation) -> Self {
        ColumnType { members: Some(members.into_iter().collect()), collation, ..ColumnType::new(kind) }
    }

    /// The same type without NULL.
    pub fn not_null(self) -> Self {
        ColumnType { nullable: false, ..self }
    }

    /// The same type, unsigned.
    pub fn unsigned(self) -> Self {
        ColumnType { unsigned: true, ..self }
    }

    /// Whether values are text in a character set (not bytes, not numbers).
    pub fn is_character(&self) -> bool {
        (self.kind.is_string() && !self.kind.is_binary_string()) || matches!(self.kind, TypeKind::Enum | TypeKind::Set | TypeKind::Json)
    }

    /// Members of ENUM or SET; empty for other types.
    pub fn member_list(&self) -> &[ByteString] {
        self.members.as_deref().unwrap_or(&[])
    }

    /// Bytes of a value in MySQL's rows and keys, where all values of the type have as many: what EXPLAIN, prefix lengths and InnoDB's dictionary count by.
    pub fn packed_bytes(&self) -> Option<u32> {
        let with_fraction = |base: u32| base + u32::from(self.decimals).div_ceil(2);
        Some(match self.kind {
            TypeKind::TinyInt | TypeKind::Year => 1,
            TypeKind::SmallInt => 2,
            TypeKind::MediumInt | TypeKind::Date => 3,
            TypeKind::Int | TypeKind::Float => 4,
            TypeKind::BigInt | TypeKind::Double => 8,
            TypeKind::Enum => 1 + u32::from(self.member_list().len() > 255),
            TypeKind::Set => match self.member_list().len().div_ceil(8) as u32 {
                bytes @ 0..=4 => bytes.max(1),
                _ => 8,
            },
            TypeKind::Decimal => packed_decimal_bytes(self.length, u32::from(self.decimals)),
            TypeKind::Time => with_fraction(3),
            TypeKind::Timestamp => with_fraction(4),
            TypeKind::DateTime => with_fraction(5),
            TypeKind::Bit => self.length.div_ceil(8),
            _ => return None,
        })
    }

    /// Most bytes a value takes as a string in a row: four per character of CHAR and VARCHAR.
    pub fn bytes_max(&self) -> u64 {
        match self.kind {
            TypeKind::Char | TypeKind::VarChar => u64::from(self.length) * u64::from(self.collation.charset().bytes_per_char_max()),
            _ => u64::from(self.length),
        }
    }

    /// Smallest and largest value of an integer type (signed bounds as `i128`).
    pub fn integer_range(&self) -> Option<(i128, i128)> {
        let bits = 8 * self.kind.integer_bytes()? as u32;
        Some(if self.unsigned { (0, (1i128 << bits) - 1) } else { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) })
    }
}

/// A text as the literal that SHOW CREATE TABLE prints for it.
pub fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''").replace('\n', "\\n").replace('\r', "\\r").replace('\0', "\\0"))
}

impl fmt::Display for ColumnType {
    /// The type as SHOW CREATE TABLE and DESCRIBE print it, without charset, collation and NULL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.sql_name())?;
        match self.kind {
            // MySQL 8.0.19 and later print an integer's display width only for ZEROFILL and TINYINT(1).
            kind if kind.is_integer() => {
                let is_bool = kind == TypeKind::TinyInt && self.length == 1 && !self.unsigned;
                if self.length > 0 && (self.zerofill || is_bool) {
                    write!(f, "({})", self.length)?;
                }
            }
            TypeKind::Decimal => write!(f, "({},{})", self.length, self.decimals)?,
            TypeKind::Float | TypeKind::Double if self.decimals != DECIMALS_NOT_FIXED => write!(f, "({},{})", self.length, self.decimals)?,
            TypeKind::Bit | TypeKind::Char | TypeKind::VarChar | TypeKind::Binary | TypeKind::VarBinary => write!(f, "({})", self.length)?,
            TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp if self.decimals > 0 => write!(f, "({})", self.decimals)?,
            TypeKind::Enum | TypeKind::Set => {
                for (index, member) in self.member_list().iter().enumerate() {
                    let separator = if index == 0 { '(' } else { ',' };
                    write!(f, "{separator}{}", quoted_text(&member.to_text()))?;
                }
                f.write_str(")")?;
            }
            _ => {}
        }
        // A hexadecimal literal is a string that is unsigned; a column is not.
        if self.unsigned && !matches!(self.kind, TypeKind::Year | TypeKind::Bit) && !self.kind.is_string() {
            f.write_str(" unsigned")?;
        }
        if self.zerofill && self.kind != TypeKind::Year {
            f.write_str(" zerofill")?;
        }
        Ok(())
    }
}

/// Nine digits in four bytes, what is left over in fewer.
fn packed_decimal_bytes(digits: u32, scale: u32) -> u32 {
    const OF_REST: [u32; 9] = [0, 1, 1, 2, 2, 3, 3, 4, 4];
    let bytes = |digits: u32| digits / 9 * 4 + OF_REST[(digits % 9) as usize];
    bytes(digits.saturating_sub(scale)) + bytes(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_keep_their_numbers() {
        for (number, kind) in TypeKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, number);
            assert_eq!(TypeKind::from_u8(number as u8), Some(*kind));
        }
        assert_eq!(TypeKind::from_u8(30), None);
    }

    #[test]
    fn types_print_as_show_create_table_does() {
        let check = |ty: ColumnType, expect: &str| assert_eq!(ty.to_string(), expect);
        check(ColumnType::int(), "int");
        check(ColumnType { length: 11, ..ColumnType::int() }, "int");
        check(ColumnType { length: 1, ..ColumnType::new(TypeKind::TinyInt) }, "tinyint(1)");
        check(ColumnType { length: 5, zerofill: true, ..ColumnType::int().unsigned() }, "int(5) unsigned zerofill");
        check(ColumnType::decimal(12, 2), "decimal(12,2)");
        check(ColumnType::varchar(20, Collation::DEFAULT), "varchar(20)");
        check(ColumnType::temporal(TypeKind::DateTime, 6), "datetime(6)");
        check(ColumnType::new(TypeKind::Year), "year");
        check(ColumnType::new(TypeKind::Double), "double");
        check(ColumnType::with_members(TypeKind::Enum, ["a".into(), "b'c".into()], Collation::DEFAULT), "enum('a','b''c')");
    }
}
