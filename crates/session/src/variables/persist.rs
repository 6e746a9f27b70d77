//! SET PERSIST, SET PERSIST_ONLY, RESET PERSIST: who may, and what is kept.

use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::reply::charsets::is_charset_variable;
use crate::variables::effects::check_effect;
use crate::variables::{Definition, Kept, Origin, Persisted, Scope, Source, check, default_value, find, is_read_at_start, show};
use ::accounts::Privileges;
use executor::StatementContext;
use mysql_error::{SqlError, Warning, WarningLevel, codes};
use parser::ast;
use types::Value;

/// 3615.
fn not_kept(name: &str) -> SqlError {
    SqlError::with_message(3615, format!("Variable {name} does not exist in persisted config file"))
}

impl ClientSession {
    pub(crate) fn persisted(&self) -> Result<&Persisted, SqlError> {
        self.shared().persisted().ok_or_else(|| codes::not_supported_yet("SET PERSIST without a data directory"))
    }

    fn origin(&self) -> Origin {
        let (user, host) = (self.core.login.user.to_string(), self.core.login.host.to_string());
        Origin { source: Source::Dynamic, micros: self.shared().engine.wall_micros(), user, host }
    }

    /// Notes who has set a server value.
    pub(crate) fn note_origin(&self, definition: &'static Definition) {
        self.shared().variables.note_origin(definition, self.origin());
    }

    /// Writes down checked values for the next start, all of them or none.
    pub(crate) fn keep_values<'v>(&self, values: impl Iterator<Item = (&'static Definition, &'v Value)>) -> Result<(), SqlError> {
        let Origin { micros, user, host, .. } = self.origin();
        let kept = |value: String| Kept { value, user: user.clone(), host: host.clone(), micros };
        self.persisted()?.keep(values.map(|(definition, value)| (definition.name.to_owned(), kept(show(definition, value)))))
    }

    /// 3630: what is about variables that only a start reads takes two privileges.
    fn may_persist_only(&self) -> Result<(), SqlError> {
        let rights = &self.core.standing.rights;
        if rights.has_dynamic("SYSTEM_VARIABLES_ADMIN") && rights.has_dynamic("PERSIST_RO_VARIABLES_ADMIN") {
            return Ok(());
        }
        let message = "Access denied; you need SYSTEM_VARIABLES_ADMIN and PERSIST_RO_VARIABLES_ADMIN privileges for this operation";
        Err(SqlError { code: 3630, sqlstate: *b"42000", message: message.into() })
    }

    /// The value that SET PERSIST_ONLY keeps: the running server goes on as it is.
    pub(crate) fn value_to_persist_only(
        &mut self,
        definition: &'static Definition,
        value: Option<&ast::Expr<'_>>,
        sql: &[u8],
    ) -> Result<Value, Outcome> {
        self.may_persist_only()?;
        if definition.scope == Scope::Session {
            return Err(codes::local_variable(definition.name).into());
        }
        if !definition.dynamic && !is_read_at_start(definition) {
            return Err(codes::incorrect_global_local_var(definition.name, "non persistent read only").into());
        }
        let value = match value {
            None => default_value(definition),
            Some(expr) => self.value_to_set(expr, sql)?,
        };
        let given = value;
        let (value, clamped) = check(definition, &given)?;
        if clamped {
            self.core.warn(codes::truncated_wrong_value(definition.name, show(definition, &given)).into());
        }
        let value = if is_charset_variable(definition.name) { self.charset_value(definition, value)? } else { value };
        check_effect(self.shared(), definition, &value)?;
        Ok(value)
    }

    /// RESET PERSIST.
    pub(crate) fn reset_persist(&mut self, name: Option<&str>, if_exists: bool) -> Result<(), Outcome> {
        let values = self.persisted()?.values();
        let lower = name.map(str::to_ascii_lowercase);
        if let (Some(lower), Some(name)) = (&lower, name)
            && !values.contains_key(lower)
        {
            let error = not_kept(name);
            if !if_exists {
                return Err(error.into());
            }
            self.core.warn(Warning { level: WarningLevel::Warning, code: error.code, message: error.message });
            return Ok(());
        }
        let forgotten: Vec<&String> = values.keys().filter(|kept| lower.as_ref().is_none_or(|lower| lower == *kept)).collect();
        if forgotten.iter().any(|kept| find(kept).is_some_and(|definition| !definition.dynamic)) {
            self.may_persist_only()?;
        }
        let rights = &self.core.standing.rights;
        if !forgotten.is_empty() && !rights.global.has(Privileges::SUPER) && !rights.has_dynamic("SYSTEM_VARIABLES_ADMIN") {
            return Err(codes::specific_access_denied_error("SUPER or SYSTEM_VARIABLES_ADMIN").into());
        }
        Ok(self.persisted()?.forget(lower.as_deref())?)
    }
}
