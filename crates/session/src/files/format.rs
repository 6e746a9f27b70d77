//! FIELDS and LINES with MySQL's defaults filled in.

use crate::reply::result_columns::wire_length;
use mysql_error::{SqlError, codes};
use parser::ast::FileFormat;
use types::{Charset, ColumnType};

/// Bytes that are read as a value of a type where nothing stands between fields; text is in `charset`.
pub(super) fn width_read(ty: &ColumnType, charset: Charset) -> usize {
    wire_length(ty, charset.bytes_per_char_max()) as usize
}

/// Bytes that are written: the same, but for ZEROFILL numbers, which are as wide as their type is whatever they are filled to. (As MySQL does it.)
pub(super) fn width_written(ty: &ColumnType, charset: Charset) -> usize {
    width_read(&ColumnType { zerofill: false, ..ty.clone() }, charset)
}

/// How lines and fields are told apart.
#[derive(Debug, Clone)]
pub(super) struct Format {
    /// FIELDS TERMINATED BY.
    pub field_end: Vec<u8>,
    /// FIELDS ENCLOSED BY.
    pub enclosed: Option<u8>,
    /// Only strings are enclosed.
    pub optionally: bool,
    /// FIELDS ESCAPED BY.
    pub escape: Option<u8>,
    /// LINES STARTING BY.
    pub line_start: Vec<u8>,
    /// LINES TERMINATED BY.
    pub line_end: Vec<u8>,
}

impl Format {
    /// What a statement says.
    pub fn new(format: &FileFormat<'_>) -> Result<Format, SqlError> {
        let one = |text: Option<&[u8]>, default: Option<u8>| match text {
            None => Ok(default),
            Some([]) => Ok(None),
            Some([byte]) => Ok(Some(*byte)),
            Some(_) => Err(codes::wrong_field_terminators()),
        };
        Ok(Format {
            field_end: format.fields_terminated.unwrap_or(b"\t").to_vec(),
            enclosed: one(format.enclosed, None)?,
            optionally: format.optionally_enclosed,
            escape: one(format.escaped, Some(b'\\'))?,
            line_start: format.lines_starting.unwrap_or(b"").to_vec(),
            line_end: format.lines_terminated.unwrap_or(b"\n").to_vec(),
        })
    }

    /// Fields have the width of their columns, and nothing between them.
    pub fn is_fixed(&self) -> bool {
        self.field_end.is_empty() && self.enclosed.is_none()
    }

    /// Whether a separator is more than ASCII: MySQL warns of it.
    pub fn is_beyond_ascii(&self) -> bool {
        let texts = [&self.field_end, &self.line_start, &self.line_end];
        texts.iter().any(|text| !text.is_ascii()) || [self.enclosed, self.escape].iter().flatten().any(|byte| !byte.is_ascii())
    }
}
