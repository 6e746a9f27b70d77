//! The server's values.

use super::table::{DEFINITIONS, Definition, Kind, Scope, index_of};
use super::{check, find, switched};
use mysql_error::{SqlError, codes};
use std::collections::BTreeMap;
use std::sync::Arc;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Rank, RwLock};
use types::{SqlMode, Value};

/// The server's values of all variables. Read when a session starts and by statements that ask; no statement's hot path reads it.
pub struct GlobalVariables {
    values: RwLock<Arc<[Value]>>,
    /// Counts changes, for who keeps derived settings.
    version: AtomicU64,
    /// Where values come from that are not built in, by position.
    origins: RwLock<BTreeMap<usize, Origin>>,
}

/// What a server value was set by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The command line, the environment or the settings file.
    CommandLine,
    /// SET PERSIST of an earlier run.
    Persisted,
    /// SET GLOBAL.
    Dynamic,
}

/// Where a server value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// What set it.
    pub source: Source,
    /// When, where somebody has: microseconds since the epoch.
    pub micros: i64,
    /// Who.
    pub user: String,
    /// From where.
    pub host: String,
}

impl GlobalVariables {
    /// Values of a server that was told nothing.
    pub fn new() -> GlobalVariables {
        let values = DEFINITIONS.iter().map(default_value).collect();
        let origins = RwLock::new(Rank::Leaf, BTreeMap::new());
        GlobalVariables { values: RwLock::new(Rank::Leaf, values), version: AtomicU64::new(0), origins }
    }

    /// The value of a variable.
    pub fn get(&self, definition: &'static Definition) -> Value {
        self.values.read()[index_of(definition)].clone()
    }

    /// All values, in the order of the definitions.
    pub fn all(&self) -> Arc<[Value]> {
        Arc::clone(&self.values.read())
    }

    /// Sets a checked value.
    pub fn set(&self, definition: &'static Definition, value: Value) {
        let mut values = self.values.write();
        let mut new: Vec<Value> = values.to_vec();
        new[index_of(definition)] = value;
        *values = new.into();
        drop(values);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Notes where a value comes from.
    pub(crate) fn note_origin(&self, definition: &'static Definition, origin: Origin) {
        self.origins.write().insert(index_of(definition), origin);
    }

    /// Where a value comes from; `None` for one that is built in.
    pub(crate) fn origin(&self, definition: &'static Definition) -> Option<Origin> {
        self.origins.read().get(&index_of(definition)).cloned()
    }

    /// Changes seen so far.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Sets a variable by name and text, as the command line and the settings file do; read-only ones too.
    pub fn set_text(&self, name: &str, text: &str) -> Result<(), SqlError> {
        let name = name.replace('-', "_");
        let definition = find(&name).ok_or_else(|| codes::unknown_system_variable(&name))?;
        if definition.scope == Scope::Session {
            return Err(codes::unknown_system_variable(&name));
        }
        let (value, _) = check(definition, &said(definition, text))?;
        if definition.told_only && self.get(definition) != value {
            return Err(codes::wrong_value_for_var(definition.name, text));
        }
        let value = if definition.kind == Kind::Switches { switched(&self.get(definition), &value) } else { value };
        self.set(definition, value);
        self.note_origin(definition, Origin { source: Source::CommandLine, micros: 0, user: String::new(), host: String::new() });
        Ok(())
    }
}

impl Default for GlobalVariables {
    fn default() -> Self {
        Self::new()
    }
}

/// A value written as text, as the variable's kind reads it.
fn from_text(kind: Kind, text: &str) -> Value {
    match kind {
        Kind::Number { .. } => parse_size(text).map_or_else(|| text.into(), Value::UInt),
        Kind::Real { .. } => text.parse().map_or_else(|_| text.into(), Value::Double),
        _ => text.into(),
    }
}

/// The same of a variable: one may be NULL, which says something else than an empty text.
fn said(definition: &Definition, text: &str) -> Value {
    if matches!(definition.name, "secure_file_priv" | "external_user" | "proxy_user") && text.eq_ignore_ascii_case("NULL") {
        return Value::Null;
    }
    from_text(definition.kind, text)
}

/// A number with an optional suffix K, M, G or T.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 10),
        b'm' | b'M' => (&text[..text.len() - 1], 20),
        b'g' | b'G' => (&text[..text.len() - 1], 30),
        b't' | b'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The value of a server that was told nothing.
pub fn default_value(definition: &Definition) -> Value {
    match definition.kind {
        Kind::Switch => Value::Int(i64::from(definition.default == "1")),
        Kind::SqlMode => Value::from(SqlMode::DEFAULT.to_string()),
        Kind::Switches => Value::from(planner::switches::Switches::default().to_string()),
        _ => said(definition, definition.default),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_suffixes() {
        assert_eq!(parse_size("4G"), Some(4 << 30));
        assert_eq!(parse_size("17"), Some(17));
        assert_eq!(parse_size("x"), None);
        assert_eq!(parse_size("99999999999T"), None);
    }

    #[test]
    fn every_default_is_a_value_of_its_variable() {
        for definition in DEFINITIONS {
            let value = default_value(definition);
            assert_eq!(check(definition, &value).map(|c| c.0), Ok(value), "{}", definition.name);
        }
    }

    #[test]
    fn text_settings_are_checked() {
        let variables = GlobalVariables::new();
        variables.set_text("max-connections", "12000").unwrap();
        assert_eq!(variables.get(find("max_connections").unwrap()), Value::UInt(12000));
        assert_eq!(variables.set_text("nonsense", "1").unwrap_err().code, 1193);
        assert_eq!(variables.set_text("autocommit", "maybe").unwrap_err().code, 1231);
        // What would change nothing is refused, and what is so may be said.
        assert_eq!(variables.set_text("init-file", "/etc/hosts").unwrap_err().code, 1231);
        assert_eq!(variables.set_text("innodb_force_recovery", "1").unwrap_err().code, 1231);
        assert_eq!(variables.set_text("innodb_force_recovery", "0"), Ok(()));
    }
}
