//! Parameters of COM_STMT_EXECUTE and query attributes: types, NULL bitmap, binary values.

use crate::codec::{Bytes, Malformed};
use crate::command::{Execute, QueryAttributes};
use crate::constants::ColumnType;
use smallvec::SmallVec;
use types::{Date, DateTime, Time};

/// No cursor: send all rows at once.
pub const CURSOR_NONE: u8 = 0;
/// Keep the rows on the server for COM_STMT_FETCH.
pub const CURSOR_READ_ONLY: u8 = 1;
/// Not supported by MySQL either.
pub const CURSOR_FOR_UPDATE: u8 = 2;
/// Not supported by MySQL either.
pub const CURSOR_SCROLLABLE: u8 = 4;
/// A parameter count follows (clients with query attributes).
pub const PARAMETER_COUNT_AVAILABLE: u8 = 8;

/// A parameter's type as the client bound it. Kept with the statement: later executions may leave the types away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParamType {
    /// Type.
    pub column_type: ColumnType,
    /// Unsigned integer.
    pub unsigned: bool,
}

/// Those of a statement: most have few, which a session keeps beside the statement without another line of the cache.
pub type ParamTypes = SmallVec<[ParamType; 8]>;

impl ParamType {
    #[inline]
    fn from_bytes(column_type: u8, flags: u8) -> Option<ParamType> {
        Some(ParamType { column_type: ColumnType::from_byte(column_type)?, unsigned: flags & 0x80 != 0 })
    }
}

/// Why the parameters of an execution cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadParams {
    /// The bytes are no parameters.
    Malformed,
    /// There are no types, or a byte is none.
    Types,
}

impl From<Malformed> for BadParams {
    fn from(_: Malformed) -> BadParams {
        BadParams::Malformed
    }
}

/// A parameter's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParamValue<'a> {
    /// NULL.
    Null,
    /// The value came before by COM_STMT_SEND_LONG_DATA; the session holds it.
    LongData,
    /// Signed integer.
    Int(i64),
    /// Unsigned integer.
    UInt(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// Strings, blobs, and decimals as text; the type tells which.
    Bytes(&'a [u8]),
    /// DATE, DATETIME or TIMESTAMP; fields are in range or zero.
    DateTime(DateTime),
    /// TIME, in its range.
    Time(Time),
    /// A DATE, DATETIME or TIME with a field that is out of its range; the type tells which.
    OutOfRange,
}

/// A parameter with its type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundParam<'a> {
    /// Type.
    pub param_type: ParamType,
    /// Value.
    pub value: ParamValue<'a>,
}

/// Most parameters of a statement (as in MySQL).
pub const PARAMS_MAX: usize = 65_535;

impl<'a> Execute<'a> {
    /// Decodes the parameters of a statement with `param_count` of them and hands each to `each`.
    ///
    /// `types` are those of the last execution; they are replaced when this one brings new ones. `has_long_data` says
    /// which parameters got their value by COM_STMT_SEND_LONG_DATA: for these no value is in the packet.
    /// Query attributes after the parameters are checked and dropped.
    pub fn params(
        &self,
        param_count: usize,
        types: &mut ParamTypes,
        has_long_data: impl Fn(usize) -> bool,
        each: impl FnMut(usize, BoundParam<'a>),
    ) -> Result<(), BadParams> {
        self.params_and_attributes(param_count, types, has_long_data, each, |_| {})
    }

    /// The same, and the query attributes go to `attribute`.
    pub fn params_and_attributes(
        &self,
        param_count: usize,
        types: &mut ParamTypes,
        has_long_data: impl Fn(usize) -> bool,
        mut each: impl FnMut(usize, BoundParam<'a>),
        mut attribute: impl FnMut(Attribute<'a>),
    ) -> Result<(), BadParams> {
        let mut bytes = Bytes::new(self.params);
        let mut total = param_count;
        // A statement with parameters has the count whether or not the flag says so: MySQL's Connector/Python leaves the flag away.
        let counted = self.with_attributes && (param_count > 0 || self.flags & PARAMETER_COUNT_AVAILABLE != 0);
        if counted {
            total = usize::try_from(bytes.lenenc_int()?).map_err(|_| Malformed)?;
            if total < param_count || total > PARAMS_MAX {
                return Err(BadParams::Malformed);
            }
        }
        if total == 0 {
            return Ok(());
        }
        let bitmap = bytes.take(total.div_ceil(8))?;
        let types_follow = bytes.u8()?;
        let mut attribute_types = Vec::new();
        if types_follow == 1 {
            types.clear();
            // Three bytes are the least a type takes with a name, two without: bound the reservation by what arrived.
            types.reserve_exact(param_count.min(bytes.rest().len() / 2));
            if counted {
                for index in 0..total {
                    let param_type = param_type(&mut bytes)?.ok_or(BadParams::Types)?;
                    let name = bytes.lenenc_bytes()?;
                    if index < param_count { types.push(param_type) } else { attribute_types.push((param_type, name)) }
                }
            } else {
                for [column_type, flags] in bytes.take(2 * total)?.as_chunks().0 {
                    types.push(ParamType::from_bytes(*column_type, *flags).ok_or(BadParams::Types)?);
                }
            }
        } else if types.len() != param_count || total != param_count {
            return Err(BadParams::Types);
        }
        for (index, &param_type) in types.iter().enumerate() {
            let value = if has_long_data(index) {
                ParamValue::LongData
            } else if bitmap[index / 8] & 1 << (index % 8) != 0 {
                ParamValue::Null
            } else {
                value(&mut bytes, param_type)?
            };
            each(index, BoundParam { param_type, value });
        }
        for (index, &(param_type, name)) in attribute_types.iter().enumerate() {
            let index = param_count + index;
            let null = bitmap[index / 8] & 1 << (index % 8) != 0;
            let value = if null { ParamValue::Null } else { value(&mut bytes, param_type)? };
            attribute(Attribute { name, param: BoundParam { param_type, value } });
        }
        Ok(())
    }
}

/// One query attribute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attribute<'a> {
    /// Name, may be empty.
    pub name: &'a [u8],
    /// Type and value.
    pub param: BoundParam<'a>,
}

impl<'a> QueryAttributes<'a> {
    /// Decodes the attributes.
    pub fn decode(&self) -> Result<Vec<Attribute<'a>>, Malformed> {
        let mut attributes = Vec::new();
        decode_attributes(self.bytes, self.count, |attribute| attributes.push(attribute))?;
        Ok(attributes)
    }
}

/// Checks `count` attributes at the start of `bytes` and returns what follows.
pub(crate) fn skip_attributes(bytes: &[u8], count: usize) -> Result<&[u8], Malformed> {
    decode_attributes(bytes, count, |_| {})
}

fn decode_attributes<'a>(bytes: &'a [u8], count: usize, mut each: impl FnMut(Attribute<'a>)) -> Result<&'a [u8], Malformed> {
    if count == 0 {
        return Ok(bytes);
    }
    if count > PARAMS_MAX {
        return Err(Malformed);
    }
    let mut bytes = Bytes::new(bytes);
    let bitmap = bytes.take(count.div_ceil(8))?;
    if bytes.u8()? != 1 {
        return Err(Malformed);
    }
    let mut heads = Vec::with_capacity(count.min(bytes.rest().len() / 3));
    for _ in 0..count {
        let param_type = param_type(&mut bytes)?.ok_or(Malformed)?;
        heads.push((param_type, bytes.lenenc_bytes()?));
    }
    for (index, (param_type, name)) in heads.into_iter().enumerate() {
        let null = bitmap[index / 8] & 1 << (index % 8) != 0;
        let value = if null { ParamValue::Null } else { value(&mut bytes, param_type)? };
        each(Attribute { name, param: BoundParam { param_type, value } });
    }
    Ok(bytes.take_rest())
}

/// `None` where the byte is no type.
fn param_type(bytes: &mut Bytes<'_>) -> Result<Option<ParamType>, Malformed> {
    let [column_type, flags] = bytes.array()?;
    Ok(ParamType::from_bytes(column_type, flags))
}

/// Reads one binary value; also what a client reads from a binary row.
pub fn value<'a>(bytes: &mut Bytes<'a>, param_type: ParamType) -> Result<ParamValue<'a>, Malformed> {
    let unsigned = param_type.unsigned;
    Ok(match param_type.column_type {
        ColumnType::Null => ParamValue::Null,
        ColumnType::Tiny => {
            let byte = bytes.u8()?;
            if unsigned { ParamValue::UInt(u64::from(byte)) } else { ParamValue::Int(i64::from(byte as i8)) }
        }
        ColumnType::Short | ColumnType::Year => {
            let int = bytes.u16()?;
            if unsigned { ParamValue::UInt(u64::from(int)) } else { ParamValue::Int(i64::from(int as i16)) }
        }
        ColumnType::Long | ColumnType::Int24 => {
            let int = bytes.u32()?;
            if unsigned { ParamValue::UInt(u64::from(int)) } else { ParamValue::Int(i64::from(int as i32)) }
        }
        ColumnType::LongLong => {
            let int = bytes.u64()?;
            if unsigned { ParamValue::UInt(int) } else { ParamValue::Int(int as i64) }
        }
        ColumnType::Float => ParamValue::Float(f32::from_le_bytes(bytes.array()?)),
        ColumnType::Double => ParamValue::Double(f64::from_le_bytes(bytes.array()?)),
        ColumnType::Date
        | ColumnType::NewDate
        | ColumnType::DateTime
        | ColumnType::DateTime2
        | ColumnType::Timestamp
        | ColumnType::Timestamp2 => datetime(bytes)?.map_or(ParamValue::OutOfRange, ParamValue::DateTime),
        ColumnType::Time | ColumnType::Time2 => time(bytes)?.map_or(ParamValue::OutOfRange, ParamValue::Time),
        ColumnType::Decimal
        | ColumnType::NewDecimal
        | ColumnType::VarChar
        | ColumnType::Bit
        | ColumnType::Vector
        | ColumnType::Json
        | ColumnType::Enum
        | ColumnType::Set
        | ColumnType::TinyBlob
        | ColumnType::MediumBlob
        | ColumnType::LongBlob
        | ColumnType::Blob
        | ColumnType::VarString
        | ColumnType::String
        | ColumnType::Geometry => ParamValue::Bytes(bytes.lenenc_bytes()?),
    })
}

/// `None` where a field is out of its range.
fn datetime(bytes: &mut Bytes<'_>) -> Result<Option<DateTime>, Malformed> {
    let length = bytes.u8()?;
    if !matches!(length, 0 | 4 | 7 | 11) {
        return Err(Malformed);
    }
    let (mut year, mut month, mut day, mut hour, mut minute, mut second, mut micros) = (0, 0, 0, 0, 0, 0, 0);
    if length >= 4 {
        (year, month, day) = (bytes.u16()?, bytes.u8()?, bytes.u8()?);
    }
    if length >= 7 {
        (hour, minute, second) = (bytes.u8()?, bytes.u8()?, bytes.u8()?);
    }
    if length >= 11 {
        micros = bytes.u32()?;
    }
    let in_range = year <= 9999 && month <= 12 && day <= 31 && hour <= 23 && minute <= 59 && second <= 59 && micros <= 999_999;
    Ok(in_range.then(|| DateTime::from_fields(Date::from_fields(year, month, day), hour, minute, second, micros)))
}

/// More hours than any TIME has; beyond them nothing is told apart.
const HOURS_MAX: u32 = 1_000_000;

/// `None` where a field is out of its range, or all of it out of TIME's.
fn time(bytes: &mut Bytes<'_>) -> Result<Option<Time>, Malformed> {
    let length = bytes.u8()?;
    if !matches!(length, 0 | 8 | 12) {
        return Err(Malformed);
    }
    let (mut negative, mut hours, mut minute, mut second, mut micros) = (false, 0, 0, 0, 0);
    if length >= 8 {
        negative = bytes.u8()? != 0;
        let days = bytes.u32()?;
        hours = days.saturating_mul(24).saturating_add(u32::from(bytes.u8()?)).min(HOURS_MAX);
        (minute, second) = (bytes.u8()?, bytes.u8()?);
    }
    if length >= 12 {
        micros = bytes.u32()?;
    }
    let in_range = minute <= 59 && second <= 59 && micros <= 999_999;
    let time = in_range.then(|| Time::from_fields(negative, hours, minute, second, micros));
    Ok(time.filter(|time| time.clamp_range() == *time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_hours_than_any_time_has_are_out_of_range_not_an_overflow() {
        let days = [8, 1, 0xFF, 0xFF, 0xFF, 0xFF, 23, 59, 59];
        assert_eq!(time(&mut Bytes::new(&days)), Ok(None));
        let most = [8, 1, 34, 0, 0, 0, 22, 59, 59];
        assert_eq!(time(&mut Bytes::new(&most)), Ok(Some(Time::from_fields(true, 838, 59, 59, 0))));
    }

    /// As MySQL's Connector/Python sends it: a count and names, and no flag that says so.
    #[test]
    fn the_count_of_parameters_is_there_without_its_flag() {
        let params = [2, 0, 1, 8, 0, 0, 254, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, b'a'];
        for flags in [0, PARAMETER_COUNT_AVAILABLE] {
            let execute = Execute { statement_id: 1, flags, params: &params, with_attributes: true };
            let mut values = Vec::new();
            let decoded = execute.params(2, &mut ParamTypes::new(), |_| false, |_, param| values.push(param.value));
            assert_eq!(decoded, Ok(()));
            assert_eq!(values, [ParamValue::Int(7), ParamValue::Bytes(b"a")]);
        }
        let none = Execute { statement_id: 1, flags: 0, params: &[], with_attributes: true };
        assert_eq!(none.params(0, &mut ParamTypes::new(), |_| false, |_, _| {}), Ok(()));
    }
}
