//! System variables: which there are, what values they take, and where they are kept.
//!
//! # Invariants
//! 1. A variable is here only if setting it has its effect, or if it cannot be set and tells the truth, or if what it switches does
//!    not exist here (`foreign_key_checks`) so that both values behave alike.
//! 2. A session keeps only what differs from the global value at its start, so an idle session stays small.
//!
//! # In this room
//! - `table.rs`: the list; `deprecated.rs`: which of them MySQL warns of; `languages.rs`: values of one.
//! - `global.rs`, `session.rs`: the values of the server and of a session.
//! - `effects.rs`: what a variable does at once, by SET, at a login, by a hint, at a start.
//! - `set.rs`: SET.
//! - `warm_start.rs`: the variables of the list of the buffer pool's pages, and how it is told.
//! - `persist.rs`: SET PERSIST as a statement; `persisted.rs`: what it keeps; `kept_file.rs`: the files for that and for `server_uuid.rs`.
//!
//! # Start at
//! [`Definition`], `table.rs` for the list, [`SessionVariables`].

pub(crate) mod deprecated;
pub(crate) mod effects;
mod global;
mod kept_file;
mod languages;
pub(crate) mod persist;
mod persisted;
mod server_uuid;
mod session;
pub(crate) mod set;
mod table;
pub(crate) mod warm_start;

pub use global::{GlobalVariables, default_value, parse_size};
pub(crate) use global::{Origin, Source};
pub(crate) use persisted::is_read_at_start;
pub use persisted::{Kept, KeptValues, Persisted};
pub use server_uuid::server_uuid;
pub use session::SessionVariables;
pub use table::{DEFINITIONS, Definition, Kind, Scope, find};
pub(crate) use table::{known, position, variable};

use executor::locales;
use mysql_error::{SqlError, codes};
use planner::switches::Switches;
use std::borrow::Cow;
use types::{SqlMode, Value};

/// How many places for flags MySQL's `sql_mode` has, used or not.
const SQL_MODE_BITS: u32 = 34;

fn is_engine(name: &str) -> bool {
    matches!(name, "default_storage_engine" | "default_tmp_storage_engine")
}

/// Brings a value that SET gives into the form that the variable holds: names of choices as text, switches as 0 and 1.
///
/// Errors: 1231 for a value the variable cannot have (1286 for an engine that is not here), 1232 for one of another type. Numbers out of bounds are clamped, as MySQL
/// does with a warning (1292); the second result says so.
pub fn check(definition: &Definition, value: &Value) -> Result<(Value, bool), SqlError> {
    let wrong = || match definition.name {
        "lc_messages" if !value.is_null() => codes::unknown_locale(shown(value)),
        name if is_engine(name) && !value.is_null() => codes::unknown_storage_engine(shown(value)),
        name => codes::wrong_value_for_var(name, shown(value)),
    };
    let wrong_type = || codes::wrong_type_for_var(definition.name);
    if definition.name == "lc_time_names" {
        return match value {
            Value::Null => Err(wrong()),
            value => locale(value).ok_or_else(wrong_type)?.map(|name| (Value::from(name), false)),
        };
    }
    // Engines have no numbers.
    if is_engine(definition.name) && !matches!(value, Value::Bytes(_) | Value::Null) {
        return Err(wrong_type());
    }
    match definition.kind {
        Kind::Switch => match value {
            Value::Int(n @ 0..=1) => Ok((Value::Int(*n), false)),
            Value::UInt(n @ 0..=1) => Ok((Value::Int(*n as i64), false)),
            Value::Bytes(text) if is_any(text, &["ON", "TRUE", "1"]) => Ok((Value::Int(1), false)),
            Value::Bytes(text) if is_any(text, &["OFF", "FALSE", "0"]) => Ok((Value::Int(0), false)),
            Value::Float(_) | Value::Double(_) | Value::Decimal(_) => Err(wrong_type()),
            _ => Err(wrong()),
        },
        Kind::Number { min, max } => {
            let number = match value {
                Value::Int(n) => i128::from(*n),
                Value::UInt(n) => i128::from(*n),
                _ => return Err(wrong_type()),
            };
            let clamped = number.clamp(i128::from(min), i128::from(max));
            Ok((Value::UInt(clamped as u64), clamped != number))
        }
        Kind::Real { min, max } => {
            let number = match value {
                Value::Int(n) => *n as f64,
                Value::UInt(n) => *n as f64,
                Value::Double(n) => *n,
                Value::Decimal(d) => d.to_f64(),
                _ => return Err(wrong_type()),
            };
            let clamped = number.clamp(min, max);
            Ok((Value::Double(clamped), clamped != number))
        }
        Kind::Text => match value {
            Value::Null if matches!(definition.name, "init_connect" | "mandatory_roles") => Ok((Value::from(""), false)),
            Value::Bytes(_) | Value::Null => Ok((value.clone(), false)),
            _ => Err(wrong_type()),
        },
        // Words, or what their numbers and bits stand for.
        Kind::Choice(names) => {
            let name = match words_of(value, wrong, wrong_type)? {
                Words::Text(text) => names.iter().find(|name| text.eq_ignore_ascii_case(name)),
                Words::Number(n) => usize::try_from(n).ok().and_then(|n| names.get(n)),
            };
            Ok((Value::from(*name.ok_or_else(wrong)?), false))
        }
        Kind::Set(names) => {
            let bits = match words_of(value, wrong, wrong_type)? {
                Words::Text(text) => bits_of(&text, names).map_err(|word| codes::wrong_value_for_var(definition.name, word))?,
                Words::Number(bits) => bits,
            };
            if bits == 0 || bits >> names.len() != 0 {
                return Err(wrong());
            }
            let chosen: Vec<&str> = names.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1).map(|(_, name)| *name).collect();
            Ok((Value::from(chosen.join(",")), false))
        }
        Kind::SqlMode => {
            let mode = match words_of(value, wrong, wrong_type)? {
                Words::Text(text) => SqlMode::parse(&text).map_err(|bad| codes::wrong_value_for_var(definition.name, &bad))?,
                Words::Number(bits) if bits >> SQL_MODE_BITS != 0 => return Err(wrong()),
                Words::Number(bits) => SqlMode::from_bits(bits).map_err(|bits| codes::unsupported_sql_mode(format!("{bits:#010x}")))?,
            };
            Ok((Value::from(mode.to_string()), false))
        }
        Kind::Switches => match words_of(value, wrong, wrong_type)? {
            // Whoever sets it puts it over what is there: [`switched`].
            Words::Text(text) => match Switches::default().with(&text) {
                Ok(_) => Ok((Value::from(&*text), false)),
                Err(rest) => Err(codes::wrong_value_for_var(definition.name, rest)),
            },
            Words::Number(bits) => Ok((Value::from(Switches::from_bits(bits).ok_or_else(wrong)?.to_string()), false)),
        },
    }
}

/// What a variable is set to whose values are words.
enum Words<'v> {
    Text(Cow<'v, str>),
    /// What stands for some of them.
    Number(u64),
}

fn words_of<'v>(value: &'v Value, wrong: impl FnOnce() -> SqlError, wrong_type: impl FnOnce() -> SqlError) -> Result<Words<'v>, SqlError> {
    match value {
        Value::Bytes(text) => Ok(Words::Text(text.to_text())),
        Value::UInt(n) => Ok(Words::Number(*n)),
        Value::Int(n) => u64::try_from(*n).map(Words::Number).map_err(|_| wrong()),
        Value::Null => Err(wrong()),
        _ => Err(wrong_type()),
    }
}

/// The bits of words with commas between them; else the word that is none of `names`.
fn bits_of<'t>(text: &'t str, names: &[&str]) -> Result<u64, &'t str> {
    text.split(',').try_fold(0, |bits, word| {
        let at = names.iter().position(|name| name.eq_ignore_ascii_case(word));
        at.map(|at| bits | 1 << at).ok_or(word)
    })
}

/// What MySQL warns of when `sql_mode` becomes a checked value.
pub fn mode_warnings(definition: &Definition, value: &Value) -> Vec<SqlError> {
    let mut warnings = Vec::new();
    if let (Kind::SqlMode, Value::Bytes(text)) = (definition.kind, value)
        && let Ok(mode) = SqlMode::parse(&text.to_text())
    {
        if !mode.is_whole() {
            warnings.push(codes::sql_mode_merged());
        }
        if mode.contains(SqlMode::PAD_CHAR_TO_FULL_LENGTH) {
            warnings.push(codes::warn_deprecated_sqlmode("PAD_CHAR_TO_FULL_LENGTH"));
        }
    }
    warnings
}

/// The flags that are in force once a checked text has been put over others.
pub fn switched(flags: &Value, text: &Value) -> Value {
    let said = |value: &Value, over: Switches| match value {
        Value::Bytes(text) => over.with(&text.to_text()).unwrap_or(over),
        _ => over,
    };
    Value::from(said(text, said(flags, Switches::default())).to_string())
}

/// The locale that a name or a number means, or 1649; `None` for what is neither.
fn locale(value: &Value) -> Option<Result<&'static str, SqlError>> {
    let number = match value {
        Value::Bytes(name) => locales::find(name),
        Value::Int(n) => usize::try_from(*n).ok(),
        Value::UInt(n) => usize::try_from(*n).ok(),
        _ => return None,
    };
    let found = number.and_then(|number| locales::LOCALES.get(number)).map(|locale| locale.name);
    Some(found.ok_or_else(|| SqlError::with_message(1649, format!("Unknown locale: '{}'", shown(value)))))
}

fn is_any(text: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Bytes(text) => text.to_text().into_owned(),
        Value::Int(n) => n.to_string(),
        Value::UInt(n) => n.to_string(),
        Value::Double(n) => n.to_string(),
        other => format!("{other:?}"),
    }
}

/// A value as SHOW VARIABLES shows it.
pub fn show(definition: &Definition, value: &Value) -> String {
    match (definition.kind, value) {
        (Kind::Switch, Value::Int(1)) => "ON".into(),
        (Kind::Switch, _) => "OFF".into(),
        (Kind::Real { .. }, Value::Double(n)) => format!("{n:.6}"),
        (_, Value::Null) if matches!(definition.name, "secure_file_priv" | "external_user" | "proxy_user") => "NULL".into(),
        (_, Value::Null) => String::new(),
        (_, value) => shown(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_checked_as_the_variable_wants() {
        let variable = |name| find(name).expect("a variable");
        assert_eq!(check(variable("autocommit"), &"off".into()).unwrap().0, Value::Int(0));
        assert_eq!(check(variable("autocommit"), &Value::Int(2)).unwrap_err().code, 1231);
        assert_eq!(check(variable("innodb_lock_wait_timeout"), &Value::Int(0)).unwrap(), (Value::UInt(1), true));
        assert_eq!(check(variable("innodb_lock_wait_timeout"), &"5".into()).unwrap_err().code, 1232);
        assert_eq!(check(variable("transaction_isolation"), &"read-committed".into()).unwrap().0, "READ-COMMITTED".into());
        assert_eq!(check(variable("sql_mode"), &"ansi_quotes".into()).unwrap().0, "ANSI_QUOTES".into());
        assert_eq!(check(variable("sql_mode"), &"no_such".into()).unwrap_err().code, 1231);
        assert_eq!(check(variable("sql_mode"), &Value::Int(4)).unwrap().0, "ANSI_QUOTES".into());
        assert_eq!(check(variable("sql_mode"), &Value::Int(1 << 8)).unwrap_err().code, 3899);
        assert_eq!(check(variable("sql_mode"), &Value::UInt(1 << 34)).unwrap_err().code, 1231);
    }

    #[test]
    fn names_are_unique_and_sorted() {
        for pair in DEFINITIONS.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} before {}", pair[0].name, pair[1].name);
        }
    }

    #[test]
    fn each_is_found_by_its_name_in_any_case_and_no_other() {
        for (at, definition) in DEFINITIONS.iter().enumerate() {
            for name in [definition.name.to_owned(), definition.name.to_ascii_uppercase()] {
                assert!(find(&name).is_some_and(|found| std::ptr::eq(found, definition)), "{name}");
            }
            assert_eq!(table::index_of(definition), at);
            assert!(find(&definition.name[1..]).is_none_or(|found| found.name == &definition.name[1..]), "{}", definition.name);
        }
        assert!(find("").is_none());
        assert!(find("no_such_variable").is_none());
    }
}
