//! What a client's text comes and goes in: `character_set_client` and `character_set_results`.
//!
//! Inside the server text is UTF-8 (`types::Charset`). A statement is converted when it comes in, a value when it is written into a row; for clients
//! that speak UTF-8 neither does anything.

use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::variables::{Definition, variable};
use executor::StatementContext;
use mysql_error::{SqlError, codes};
use protocol::ResultSink;
use protocol::reply::ErrReply;
use std::borrow::Cow;
use types::{Charset, Collation, ColumnType, TypeKind, Value};

/// What a client sends and wants to get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientCharsets {
    /// `character_set_client`.
    pub client: Charset,
    /// `character_set_results`, by the collation that heads of results tell of it: the login's, that of SET NAMES, or the character set's default.
    /// `None`: no conversion, every text in its own character set.
    pub results: Option<Collation>,
}

impl Default for ClientCharsets {
    fn default() -> Self {
        ClientCharsets { client: Charset::Utf8mb4, results: Some(Collation::DEFAULT) }
    }
}

/// Results as they are inside.
pub const UTF8: Option<Charset> = Some(Charset::Utf8mb4);

impl ClientCharsets {
    /// What came from the client, as the server holds it.
    pub fn incoming<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        if self.client.is_utf8_bytes() { Cow::Borrowed(text) } else { self.client.decode_lossy(text) }
    }

    /// What rows are converted to.
    pub fn of_rows(&self) -> Option<Charset> {
        self.results.map(Collation::charset)
    }

    /// A number that differs where plans do.
    pub fn number(&self) -> u32 {
        (self.client as u32) << 16 | self.results.map_or(0xFFFF, |results| results.id().into())
    }

    /// Tells the client of an error.
    #[cold]
    pub fn send_error(&self, sink: &mut ResultSink<'_>, error: &SqlError) {
        let text = &error.message;
        match self.of_rows() {
            Some(results) if results.is_unicode() || results == Charset::Binary || text.is_ascii() => sink.error(error),
            None => sink.error(error),
            Some(results) => {
                let mut message = Vec::with_capacity(text.len());
                for c in text.chars() {
                    if results.holds(c) {
                        results.encode(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut message);
                    } else {
                        message.extend_from_slice(format!("\\{:04X}", u32::from(c)).as_bytes());
                    }
                }
                ErrReply { code: error.code, sql_state: error.sqlstate, message: &message }.write(sink.packets());
            }
        }
    }
}

/// The character set that values of a type must be written in, where that differs from how the server holds them.
pub fn conversion(ty: &ColumnType, results: Option<Charset>) -> Option<Charset> {
    if !ty.is_character() {
        return None;
    }
    let own = if ty.kind == TypeKind::Json { Charset::Utf8mb4 } else { ty.collation.charset() };
    let to = match results {
        None | Some(Charset::Binary) => own,
        Some(results) => results,
    };
    (!to.is_utf8_bytes() || !to.holds_all_of(own)).then_some(to)
}

/// A text in what a client wants, for names in the heads of results.
pub fn outgoing(text: &str, results: Option<Charset>) -> Cow<'_, [u8]> {
    match results {
        Some(results) if !results.is_unicode() && results != Charset::Binary && !text.is_ascii() => {
            let mut out = Vec::with_capacity(text.len());
            results.encode(text.as_bytes(), &mut out);
            Cow::Owned(out)
        }
        _ => Cow::Borrowed(text.as_bytes()),
    }
}

/// The character set of a collation's number, where no client may have it: its texts are no ASCII, so that statements in it could not be read.
pub(crate) fn no_client_charset(collation: u16) -> Option<&'static str> {
    match collation {
        35 | 90 | 128..=151 | 159 => Some("ucs2"),
        54 | 55 | 101..=124 => Some("utf16"),
        56 | 62 => Some("utf16le"),
        60 | 61 | 160..=183 => Some("utf32"),
        _ => None,
    }
}

/// The character set of a collation's number, where it is one of MySQL's that are not here: statements in it would be read as something else, and what a client
/// has escaped in it (a backslash may be the second byte of a character) would not be.
pub(crate) fn unknown_client_charset(collation: u16) -> Option<&'static str> {
    Some(match collation {
        1 | 84 => "big5",
        2 | 9 | 21 | 27 | 77 => "latin2",
        3 | 69 => "dec8",
        4 | 80 => "cp850",
        6 | 72 => "hp8",
        7 | 74 => "koi8r",
        10 | 82 => "swe7",
        12 | 91 => "ujis",
        13 | 88 => "sjis",
        14 | 23 | 50..=52 => "cp1251",
        16 | 71 => "hebrew",
        18 | 89 => "tis620",
        19 | 85 => "euckr",
        20 | 41 | 42 | 79 => "latin7",
        22 | 75 => "koi8u",
        24 | 86 => "gb2312",
        25 | 70 => "greek",
        26 | 34 | 44 | 66 | 99 => "cp1250",
        28 | 87 => "gbk",
        29 | 58 | 59 => "cp1257",
        30 | 78 => "latin5",
        32 | 64 => "armscii8",
        36 | 68 => "cp866",
        37 | 73 => "keybcs2",
        38 | 43 => "macce",
        39 | 53 => "macroman",
        40 | 81 => "cp852",
        57 | 67 => "cp1256",
        92 | 93 => "geostd8",
        95 | 96 => "cp932",
        97 | 98 => "eucjpms",
        248..=250 => "gb18030",
        _ => return None,
    })
}

/// Whether a variable names a character set or a collation, and can be set.
pub(crate) fn is_charset_variable(name: &str) -> bool {
    matches!(
        name,
        "character_set_client"
            | "character_set_connection"
            | "character_set_database"
            | "character_set_results"
            | "character_set_server"
            | "collation_connection"
            | "collation_database"
            | "collation_server"
    )
}

fn charset_of(name: &str) -> Result<Charset, Outcome> {
    Charset::from_name(name).ok_or_else(|| codes::unknown_character_set(name).into())
}

fn collation_of(name: &str) -> Result<Collation, Outcome> {
    Collation::from_name(name).ok_or_else(|| codes::unknown_collation(name).into())
}

impl ClientSession {
    /// The value that SET gives a variable of character sets, by its proper name.
    pub(crate) fn charset_value(&mut self, definition: &Definition, value: Value) -> Result<Value, Outcome> {
        let name = match &value {
            Value::Bytes(name) => name.to_text().into_owned(),
            Value::Null if definition.name == "character_set_results" => return Ok(value),
            _ => return Err(codes::wrong_value_for_var(definition.name, "NULL").into()),
        };
        if definition.name.starts_with("collation") {
            let collation = collation_of(&name)?;
            self.warn_if(planner::charsets::of_collation(collation));
            return Ok(Value::from(collation.name()));
        }
        let charset = charset_of(&name)?;
        self.warn_if(planner::charsets::of_charset(&name));
        Ok(Value::from(charset.name()))
    }

    pub(crate) fn warn_if(&mut self, warning: Option<SqlError>) {
        if let Some(warning) = warning {
            self.core.warn(warning.into());
        }
    }

    /// What a login and SET NAMES say.
    pub(crate) fn set_client_charset(&mut self, charset: Charset, collation: Collation) {
        for (definition, name) in [
            (variable!("character_set_client"), charset.name()),
            (variable!("character_set_results"), charset.name()),
            (variable!("character_set_connection"), charset.name()),
            (variable!("collation_connection"), collation.name()),
        ] {
            self.take_variable(definition, Value::from(name));
        }
        // The variable tells of the character set alone.
        self.core.settings.charsets.results = Some(collation);
    }

    /// SET NAMES.
    pub(crate) fn set_names(&mut self, charset: Option<&str>, collation: Option<&str>) -> Result<(), Outcome> {
        let name = charset.unwrap_or(Charset::Utf8mb4.name());
        let charset = charset_of(name)?;
        self.warn_if(planner::charsets::of_charset(name));
        let chosen = match collation {
            None => charset.default_collation(),
            Some(name) => {
                let collation = collation_of(name)?;
                if collation.charset() != charset {
                    return Err(codes::collation_charset_mismatch(collation.name(), charset.name()).into());
                }
                self.warn_if(planner::charsets::of_collation(collation));
                collation
            }
        };
        self.set_client_charset(charset, chosen);
        Ok(())
    }

    /// SET CHARACTER SET: literals are in the current database's.
    pub(crate) fn set_character_set(&mut self, charset: Option<&str>) -> Result<(), Outcome> {
        let name = charset.unwrap_or(Charset::Utf8mb4.name());
        let charset = charset_of(name)?;
        self.warn_if(planner::charsets::of_charset(name));
        let collation = match self.core.variables.get(variable!("collation_database")) {
            Value::Bytes(name) => Collation::from_name(&name.to_text()).unwrap_or(Collation::DEFAULT),
            _ => Collation::DEFAULT,
        };
        self.set_client_charset(charset, charset.default_collation());
        self.take_variable(variable!("character_set_connection"), Value::from(collation.charset().name()));
        self.take_variable(variable!("collation_connection"), Value::from(collation.name()));
        Ok(())
    }

    /// The current database's defaults, as variables show them.
    pub(crate) fn set_database_charset(&mut self, collation: Collation) {
        self.take_variable(variable!("character_set_database"), Value::from(collation.charset().name()));
        self.take_variable(variable!("collation_database"), Value::from(collation.name()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_converted() {
        let check = |of: Collation, results: Option<Charset>, expect: Option<Charset>| {
            assert_eq!(conversion(&ColumnType::varchar(5, of), results), expect, "{} {results:?}", of.name());
        };
        check(Collation::DEFAULT, UTF8, None);
        check(Collation::Latin1Bin, UTF8, None);
        check(Collation::Latin1Bin, None, Some(Charset::Latin1));
        check(Collation::Latin1Bin, Some(Charset::Binary), Some(Charset::Latin1));
        check(Collation::Utf8mb3Bin, None, None);
        check(Collation::DEFAULT, Some(Charset::Utf8mb3), Some(Charset::Utf8mb3));
        check(Collation::Latin1Bin, Some(Charset::Utf8mb3), None);
        check(Collation::AsciiBin, Some(Charset::Ascii), None);
        check(Collation::DEFAULT, Some(Charset::Latin1), Some(Charset::Latin1));
        check(Collation::Binary, Some(Charset::Latin1), None);
    }
}
