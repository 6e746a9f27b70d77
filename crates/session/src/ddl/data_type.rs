//! Types as written to column types: lengths, character sets, members, and MySQL's bounds on them.

use super::definition::Definer;
use mysql_error::{SqlError, Warning, WarningLevel, codes};
use parser::ast::{ColumnAttributes, DataType, DataTypeKind};
use types::{ByteString, Charset, Collation, ColumnType, DECIMALS_NOT_FIXED, SqlMode, TypeKind};

const FRACTION_DIGITS_MAX: u64 = 6;
const DECIMAL_PRECISION_MAX: u64 = 65;
const SCALE_MAX: u32 = 30;
const DISPLAY_WIDTH_MAX: u64 = 255;
const BITS_MAX: u64 = 64;
const FIXED_LENGTH_MAX: u64 = 255;
/// Bytes of VARCHAR and VARBINARY.
const VARIABLE_BYTES_MAX: u64 = 65_535;
const SET_MEMBERS_MAX: usize = 64;
const MEMBER_CHARS_MAX: usize = 255;

/// The collation that names of a character set and a collation say; `default` when neither is written.
pub(crate) fn resolve_collation(charset: Option<&str>, collation: Option<&str>, default: Collation) -> Result<Collation, SqlError> {
    let charset = charset.map(find_charset).transpose()?;
    match (charset, collation) {
        (None, None) => Ok(default),
        (Some(charset), None) => Ok(charset.default_collation()),
        (charset, Some(name)) => match Collation::from_name(name) {
            Some(found) if charset.is_none_or(|charset| charset == found.charset()) => Ok(found),
            Some(found) => Err(codes::collation_charset_mismatch(found.name(), charset.map_or("", Charset::name))),
            None => Err(codes::unknown_collation(name)),
        },
    }
}

fn find_charset(name: &str) -> Result<Charset, SqlError> {
    Charset::from_name(name).ok_or_else(|| codes::unknown_character_set(name))
}

fn fraction_digits(column: &str, ty: &DataType<'_>) -> Result<u8, SqlError> {
    let digits = ty.length.unwrap_or(0);
    if digits > FRACTION_DIGITS_MAX {
        return Err(codes::too_big_precision(digits, column, FRACTION_DIGITS_MAX));
    }
    Ok(digits as u8)
}

/// Width that ZEROFILL fills up to when none is written.
fn zerofill_width(kind: TypeKind) -> u32 {
    match kind {
        TypeKind::TinyInt => 3,
        TypeKind::SmallInt => 5,
        TypeKind::MediumInt => 8,
        TypeKind::Int => 10,
        _ => 20,
    }
}

/// The column type of a type as written. `table_collation` is what character columns get that name none.
pub(super) fn column_type(
    definer: &mut Definer<'_>,
    column: &str,
    ty: &DataType<'_>,
    attributes: &ColumnAttributes<'_>,
    table_collation: Collation,
) -> Result<ColumnType, SqlError> {
    use DataTypeKind as K;
    warn_deprecated(definer, ty);
    warn_of_charset(definer, ty.charset, ty.collation.or(attributes.collation));
    let integer = |kind: TypeKind| -> Result<ColumnType, SqlError> {
        let width = ty.length.unwrap_or(0);
        if width > DISPLAY_WIDTH_MAX {
            return Err(codes::too_big_displaywidth(column, DISPLAY_WIDTH_MAX));
        }
        let length = if ty.zerofill && width == 0 { zerofill_width(kind) } else { width as u32 };
        Ok(ColumnType { unsigned: ty.unsigned, zerofill: ty.zerofill, length, ..ColumnType::new(kind) })
    };
    let temporal = |kind| fraction_digits(column, ty).map(|digits| ColumnType::temporal(kind, digits));
    match ty.kind {
        K::TinyInt => integer(TypeKind::TinyInt),
        K::SmallInt => integer(TypeKind::SmallInt),
        K::MediumInt => integer(TypeKind::MediumInt),
        K::Int => integer(TypeKind::Int),
        K::BigInt => integer(TypeKind::BigInt),
        K::Decimal => decimal(column, ty),
        K::Float => float(column, ty),
        K::Double => real(column, ty, TypeKind::Double),
        K::Bit => match ty.length {
            Some(0) => Err(SqlError::with_message(3013, format!("Invalid size for column '{column}'."))),
            Some(bits) if bits > BITS_MAX => Err(codes::too_big_displaywidth(column, BITS_MAX)),
            bits => Ok(ColumnType { length: bits.unwrap_or(1) as u32, ..ColumnType::new(TypeKind::Bit) }),
        },
        K::Date => Ok(ColumnType::new(TypeKind::Date)),
        K::Time => temporal(TypeKind::Time),
        K::DateTime => temporal(TypeKind::DateTime),
        K::Timestamp => temporal(TypeKind::Timestamp),
        K::Year if ty.length.is_some_and(|length| length != 4) => {
            Err(SqlError::with_message(1818, "Invalid display width. Use YEAR instead."))
        }
        K::Year => Ok(ColumnType::new(TypeKind::Year)),
        K::Binary => fixed_length(column, ty, Collation::Binary),
        K::VarBinary => variable_length(column, ty.length.unwrap_or(0), Collation::Binary),
        K::Char => fixed_length(column, ty, text_collation(ty, attributes, table_collation)?),
        K::VarChar => variable_length(column, ty.length.unwrap_or(0), text_collation(ty, attributes, table_collation)?),
        K::TinyBlob => Ok(ColumnType::new(TypeKind::TinyBlob)),
        K::Blob => long_text(column, ty, Collation::Binary, 1),
        K::MediumBlob => Ok(ColumnType::new(TypeKind::MediumBlob)),
        K::LongBlob => Ok(ColumnType::new(TypeKind::LongBlob)),
        K::TinyText => Ok(text(TypeKind::TinyText, text_collation(ty, attributes, table_collation)?)),
        K::Text => {
            let collation = text_collation(ty, attributes, table_collation)?;
            long_text(column, ty, collation, collation.charset().bytes_per_char_max().into())
        }
        K::MediumText => Ok(text(TypeKind::MediumText, text_collation(ty, attributes, table_collation)?)),
        K::LongText => Ok(text(TypeKind::LongText, text_collation(ty, attributes, table_collation)?)),
        K::Enum => members(definer, column, ty, TypeKind::Enum, text_collation(ty, attributes, table_collation)?),
        K::Set => members(definer, column, ty, TypeKind::Set, text_collation(ty, attributes, table_collation)?),
        K::Json => match ty.collation.or(attributes.collation) {
            Some(name) => Err(codes::collation_charset_mismatch(name, "binary")),
            None => Ok(ColumnType::new(TypeKind::Json)),
        },
        K::Vector => Err(codes::not_supported_yet("VECTOR columns")),
        K::Geometry
        | K::Point
        | K::LineString
        | K::Polygon
        | K::MultiPoint
        | K::MultiLineString
        | K::MultiPolygon
        | K::GeometryCollection => Err(codes::not_supported_yet("spatial columns")),
    }
}

/// The type of a column of JSON_TABLE. What a table refuses or makes something else of outside strict modes is that here always: VARCHAR that is too
/// long is a TEXT.
pub(crate) fn of_table_function(column: &str, ty: &DataType<'_>, collation: Collation) -> Result<(ColumnType, Vec<Warning>), SqlError> {
    let bytes_per_char = match ty.kind {
        DataTypeKind::VarBinary => 1,
        _ => u64::from(resolve_collation(ty.charset, ty.collation, collation)?.charset().bytes_per_char_max()),
    };
    let is_long = ty.length.is_some_and(|length| length > VARIABLE_BYTES_MAX / bytes_per_char);
    let kind = match ty.kind {
        DataTypeKind::VarChar if is_long => DataTypeKind::Text,
        DataTypeKind::VarBinary if is_long => DataTypeKind::Blob,
        kind => kind,
    };
    let zone = types::TimeZone::utc();
    let mut definer = Definer {
        mode: SqlMode::NONE,
        zone: &zone,
        now_micros: 0,
        charset: "",
        week_format: 0,
        table: String::new(),
        generates_keys: false,
        warnings: Vec::new(),
    };
    let resolved = column_type(&mut definer, column, &DataType { kind, ..*ty }, &ColumnAttributes::default(), collation)?;
    definer.warnings.retain(|warning| warning.level == WarningLevel::Warning);
    Ok((ColumnType { nullable: true, ..resolved }, definer.warnings))
}

fn warn_deprecated(definer: &mut Definer<'_>, ty: &DataType<'_>) {
    use DataTypeKind as K;
    let integer = matches!(ty.kind, K::TinyInt | K::SmallInt | K::MediumInt | K::Int | K::BigInt);
    // BOOL is TINYINT(1) in the tree, and nobody should be warned of it.
    let is_bool = ty.kind == K::TinyInt && ty.length == Some(1) && !ty.unsigned;
    if ty.zerofill {
        definer.warn_text(
            1681,
            "The ZEROFILL attribute is deprecated and will be removed in a future release. Use the LPAD function to zero-pad numbers, \
             or store the formatted numbers in a CHAR column.",
        );
    }
    if integer && (ty.length.is_some() && !is_bool || ty.zerofill) {
        definer.warn_text(1681, "Integer display width is deprecated and will be removed in a future release.");
    }
    if matches!(ty.kind, K::Float | K::Double) && ty.decimals.is_some() {
        definer.warn_text(
            1681,
            "Specifying number of digits for floating point data types is deprecated and will be removed in a future release.",
        );
    }
    if !ty.zerofill && ty.unsigned && matches!(ty.kind, K::Decimal | K::Float | K::Double) {
        definer.warn_text(
            1681,
            "UNSIGNED for decimal and floating point data types is deprecated and support for it will be removed in a future release.",
        );
    }
    if ty.kind == K::Year && ty.length == Some(4) {
        definer.warn(codes::warn_deprecated_syntax("YEAR(4)", "YEAR"));
    }
}

fn decimal(column: &str, ty: &DataType<'_>) -> Result<ColumnType, SqlError> {
    let scale = ty.decimals.unwrap_or(0);
    // DECIMAL(0) means the default precision.
    let precision = ty.length.filter(|precision| *precision > 0).unwrap_or(10);
    if scale > SCALE_MAX {
        return Err(codes::too_big_scale(scale, column, SCALE_MAX));
    }
    if precision > DECIMAL_PRECISION_MAX {
        return Err(codes::too_big_precision(precision, column, DECIMAL_PRECISION_MAX));
    }
    if u64::from(scale) > precision {
        return Err(codes::m_bigger_than_d(column));
    }
    Ok(ColumnType { unsigned: ty.unsigned, zerofill: ty.zerofill, ..ColumnType::decimal(precision as u32, scale as u8) })
}

/// FLOAT, FLOAT(bits) and FLOAT(M,D).
fn float(column: &str, ty: &DataType<'_>) -> Result<ColumnType, SqlError> {
    match (ty.length, ty.decimals) {
        (Some(bits), None) if bits > 53 => Err(codes::wrong_field_spec(column)),
        (Some(bits), None) => {
            let kind = if bits > 24 { TypeKind::Double } else { TypeKind::Float };
            Ok(ColumnType { unsigned: ty.unsigned, zerofill: ty.zerofill, ..ColumnType::new(kind) })
        }
        _ => real(column, ty, TypeKind::Float),
    }
}

fn real(column: &str, ty: &DataType<'_>, kind: TypeKind) -> Result<ColumnType, SqlError> {
    let (length, decimals) = match (ty.length, ty.decimals) {
        (None, _) => (0, DECIMALS_NOT_FIXED),
        // DOUBLE(M) without D is not MySQL's syntax; the parser takes it.
        (Some(_), None) => return Err(codes::wrong_field_spec(column)),
        (Some(_), Some(decimals)) if decimals > SCALE_MAX => return Err(codes::too_big_scale(decimals, column, SCALE_MAX)),
        (Some(length), Some(_)) if length > DISPLAY_WIDTH_MAX => return Err(codes::too_big_displaywidth(column, DISPLAY_WIDTH_MAX)),
        (Some(length), Some(decimals)) if u64::from(decimals) > length => return Err(codes::m_bigger_than_d(column)),
        (Some(length), Some(decimals)) => (length as u32, decimals as u8),
    };
    Ok(ColumnType { length, decimals, unsigned: ty.unsigned, zerofill: ty.zerofill, ..ColumnType::new(kind) })
}

/// The collation of a character column: its own, else that of its character set, else the table's.
fn text_collation(ty: &DataType<'_>, attributes: &ColumnAttributes<'_>, table: Collation) -> Result<Collation, SqlError> {
    let named = ty.collation.or(attributes.collation);
    // A collation of the table's character set need not name the set.
    let collation = resolve_collation(ty.charset, named, table)?;
    Ok(if ty.binary && named.is_none() { collation.charset().binary_collation() } else { collation })
}

fn fixed_length(column: &str, ty: &DataType<'_>, collation: Collation) -> Result<ColumnType, SqlError> {
    let length = ty.length.unwrap_or(1);
    if length > FIXED_LENGTH_MAX {
        return Err(codes::too_big_fieldlength(column, FIXED_LENGTH_MAX));
    }
    let kind = if collation == Collation::Binary { TypeKind::Binary } else { TypeKind::Char };
    Ok(ColumnType { length: length as u32, collation, ..ColumnType::new(kind) })
}

pub(super) fn variable_length(column: &str, length: u64, collation: Collation) -> Result<ColumnType, SqlError> {
    let max = VARIABLE_BYTES_MAX / u64::from(collation.charset().bytes_per_char_max());
    if length > max {
        return Err(codes::too_big_fieldlength(column, max));
    }
    Ok(ColumnType::varchar(length as u32, collation))
}

fn text(kind: TypeKind, collation: Collation) -> ColumnType {
    let kind = match (kind, collation) {
        (TypeKind::TinyText, Collation::Binary) => TypeKind::TinyBlob,
        (TypeKind::Text, Collation::Binary) => TypeKind::Blob,
        (TypeKind::MediumText, Collation::Binary) => TypeKind::MediumBlob,
        (TypeKind::LongText, Collation::Binary) => TypeKind::LongBlob,
        (kind, _) => kind,
    };
    ColumnType { collation, ..ColumnType::new(kind) }
}

/// TEXT(n) and BLOB(n): the smallest type that holds so many characters.
fn long_text(column: &str, ty: &DataType<'_>, collation: Collation, bytes_per_char: u64) -> Result<ColumnType, SqlError> {
    let Some(length) = ty.length.filter(|length| *length > 0) else { return Ok(text(TypeKind::Text, collation)) };
    if length > u64::from(u32::MAX) {
        return Err(codes::too_big_displaywidth(column, u32::MAX));
    }
    Ok(text(smallest_text(length * bytes_per_char), collation))
}

/// The smallest TEXT that holds so many bytes.
pub(super) fn smallest_text(bytes: u64) -> TypeKind {
    match bytes {
        0..=255 => TypeKind::TinyText,
        256..=65_535 => TypeKind::Text,
        65_536..=16_777_215 => TypeKind::MediumText,
        _ => TypeKind::LongText,
    }
}

/// What the names of character sets and collations in a definition are warned of.
pub(super) fn warn_of_charset(definer: &mut Definer<'_>, charset: Option<&str>, collation: Option<&str>) {
    let of_charset = charset.and_then(planner::charsets::of_charset);
    let of_collation = collation.and_then(Collation::from_name).and_then(planner::charsets::of_collation);
    for warning in of_charset.into_iter().chain(of_collation) {
        definer.warn(warning);
    }
}

fn members(
    definer: &mut Definer<'_>,
    column: &str,
    ty: &DataType<'_>,
    kind: TypeKind,
    collation: Collation,
) -> Result<ColumnType, SqlError> {
    let (word, is_set) = if kind == TypeKind::Set { ("SET", true) } else { ("ENUM", false) };
    let mut list: Vec<ByteString> = Vec::with_capacity(ty.members.len());
    for member in ty.members {
        let trimmed = if collation == Collation::Binary { member } else { without_end_spaces(member) };
        let shown = String::from_utf8_lossy(trimmed).into_owned();
        let charset = collation.charset();
        if std::str::from_utf8(trimmed).is_err() && collation != Collation::Binary {
            return Err(SqlError::with_message(1300, format!("Invalid {} character string: '{shown}'", charset.name())));
        }
        if !collation.is_valid(trimmed) {
            return Err(codes::invalid_default(column));
        }
        if is_set && trimmed.contains(&b',') {
            return Err(SqlError { code: 1367, sqlstate: *b"22007", message: format!("Illegal set '{shown}' value found during parsing") });
        }
        if collation.char_count(trimmed) > MEMBER_CHARS_MAX {
            return Err(codes::too_long_set_enum_value(column));
        }
        if let Some(other) = list.iter().find(|other| collation.equal(other, trimmed)) {
            let error = codes::duplicated_value_in_type(column, other.to_text(), word);
            if definer.mode.is_strict() {
                return Err(error);
            }
            definer.note(error);
        }
        list.push(trimmed.into());
    }
    if is_set && list.len() > SET_MEMBERS_MAX {
        return Err(codes::too_big_set(column));
    }
    Ok(ColumnType::with_members(kind, list, collation))
}

fn without_end_spaces(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    &text[..end]
}
