//! SET: system variables with their effects, user variables, names and character sets, transaction characteristics.

use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::query_logs::Log;
use crate::reply::charsets::is_charset_variable;
use crate::variables::effects::{brought, check_effect, isolation_of};
use crate::variables::{Definition, Kind, Scope, check, deprecated, find, mode_warnings, switched, variable};
use executor::StatementContext;
use mysql_error::{SqlError, codes};
use parser::ast::{self, ExprKind, IsolationLevel, Literal, SetItem, VarScope};
use types::Value;

/// What a SET does to a variable of the server.
struct ServerChange {
    definition: &'static Definition,
    value: Value,
    /// For the next start.
    kept: bool,
    /// Now.
    applies: bool,
}

impl ClientSession {
    /// SET with its items, in order; the first wrong one ends it. Those of the session before it stand; the server's variables change at the end, and what is kept of
    /// them is written down together: all or nothing.
    pub(crate) fn set(&mut self, items: &[SetItem<'_>], sql: &[u8]) -> Result<(), Outcome> {
        let mut of_server = Vec::new();
        for item in items {
            match item {
                SetItem::User { name, value } => {
                    let (value, collation) = self.evaluate_for_variable(value, sql)?;
                    self.core.set_user_variable(name, value, collation);
                    self.changes.note_state();
                }
                SetItem::System { scope, component, name, value } => {
                    if component.is_some() {
                        return Err(codes::unknown_system_variable(name).into());
                    }
                    of_server.extend(self.set_system(*scope, name, value.as_ref(), sql)?);
                }
                SetItem::Names { charset, collation } => self.set_names(*charset, *collation)?,
                SetItem::Charset(charset) => self.set_character_set(*charset)?,
            }
        }
        if of_server.is_empty() { Ok(()) } else { self.change_server(of_server) }
    }

    /// Gives the server's variables their new values.
    fn change_server(&mut self, changes: Vec<ServerChange>) -> Result<(), Outcome> {
        if changes.iter().any(|change| change.kept) {
            let kept = changes.iter().filter(|change| change.kept);
            self.keep_values(kept.map(|change| (change.definition, &change.value)))?;
        }
        for ServerChange { definition, value, .. } in changes.into_iter().filter(|change| change.applies) {
            let before = self.shared().variables.get(definition);
            self.shared().variables.set(definition, value.clone());
            if let Err(error) = self.shared().apply_query_log_variable(definition) {
                // A log that cannot be opened stays as it was.
                self.shared().variables.set(definition, before);
                self.shared().apply_query_log_variable(definition).unwrap_or_default();
                return Err(error.into());
            }
            self.note_origin(definition);
            if let Some((other, value)) = brought(definition, &value) {
                self.shared().variables.set(other, value);
            }
            self.shared().apply(definition)?;
        }
        Ok(())
    }

    /// Sets a variable of the session, or says what is to become of one of the server.
    fn set_system(
        &mut self,
        scope: Option<VarScope>,
        name: &str,
        value: Option<&ast::Expr<'_>>,
        sql: &[u8],
    ) -> Result<Option<ServerChange>, Outcome> {
        let definition = find(name).ok_or_else(|| codes::unknown_system_variable(name))?;
        let global = match scope {
            Some(VarScope::PersistOnly) => {
                let value = self.value_to_persist_only(definition, value, sql)?;
                self.persisted()?;
                return Ok(Some(ServerChange { definition, value, kept: true, applies: false }));
            }
            Some(VarScope::Global | VarScope::Persist) => true,
            Some(VarScope::Session) | None => false,
        };
        if global {
            self.may_set_global(definition)?;
        } else {
            self.may_set_session(definition)?;
        }
        if !definition.dynamic {
            return Err(codes::incorrect_global_local_var(definition.name, "read only").into());
        }
        match (definition.scope, global) {
            (Scope::Global, false) => return Err(codes::global_variable(definition.name).into()),
            (Scope::Session, true) => return Err(codes::local_variable(definition.name).into()),
            // Buffers grow as far: the server's value at the login is the session's for good.
            (Scope::Both, false) if definition.name == "max_allowed_packet" => {
                return Err(codes::variable_is_readonly("SESSION", definition.name, "SET GLOBAL").into());
            }
            _ => {}
        }
        if scope.is_none() && !global && matches!(definition.name, "transaction_isolation" | "transaction_read_only") {
            return self.set_next_transaction(definition, value, sql).map(|()| None);
        }
        let value = match value {
            // DEFAULT: of the server the built-in value, of a session the server's.
            None if Log::of_file_variable(definition.name).is_some() => {
                Log::of_file_variable(definition.name).map_or(Value::Null, |log| Value::from(self.shared().default_log_name(log)))
            }
            None if global || definition.scope == Scope::Session => crate::variables::default_value(definition),
            None => self.shared().variables.get(definition),
            Some(expr) => self.value_to_set(expr, sql)?,
        };
        let given = value;
        let (value, clamped) = check(definition, &given)?;
        if let Some(warning) = deprecated::of_setting(definition.name) {
            self.core.warn(warning);
        }
        if clamped {
            let shown = crate::variables::show(definition, &given);
            self.core.warn(codes::truncated_wrong_value(definition.name, shown).into());
        }
        let value = match definition.kind {
            Kind::Switches if global => switched(&self.shared().variables.get(definition), &value),
            Kind::Switches => switched(self.core.variables.get(definition), &value),
            _ => value,
        };
        let value = if is_charset_variable(definition.name) { self.charset_value(definition, value)? } else { value };
        check_effect(self.shared(), definition, &value)?;
        mode_warnings(definition, &value).into_iter().for_each(|warning| self.core.warn(warning.into()));
        if definition.name == "session_track_system_variables" {
            self.warn_of_unknown_tracked(&value);
        }
        if global {
            let kept = scope == Some(VarScope::Persist);
            if kept {
                self.persisted()?;
            }
            return Ok(Some(ServerChange { definition, value, kept, applies: true }));
        }
        // `transaction_isolation` without a scope word is the session's; SET TRANSACTION without one is the next transaction's.
        self.set_session_variable(definition, value)?;
        Ok(None)
    }

    /// The value of an expression behind `=`.
    pub(super) fn value_to_set(&mut self, expr: &ast::Expr<'_>, sql: &[u8]) -> Result<Value, Outcome> {
        match constant(expr) {
            Some(value) => Ok(value),
            None => Ok(self.evaluate(std::slice::from_ref(expr), sql)?.pop().unwrap_or_default()),
        }
    }

    /// `SET @@transaction_isolation = …` without a scope: as SET TRANSACTION, for the next one.
    fn set_next_transaction(&mut self, definition: &'static Definition, value: Option<&ast::Expr<'_>>, sql: &[u8]) -> Result<(), Outcome> {
        let value = match value {
            None => self.core.variables.get(definition).clone(),
            Some(expr) => self.value_to_set(expr, sql)?,
        };
        let (value, _) = check(definition, &value)?;
        self.refuse_in_transaction()?;
        match &value {
            Value::Bytes(name) => self.transaction.next_isolation = Some(isolation_of(&name.to_text())),
            switch => self.transaction.next_read_only = Some(*switch == Value::Int(1)),
        }
        Ok(())
    }

    fn refuse_in_transaction(&self) -> Result<(), SqlError> {
        if self.is_in_transaction() { Err(codes::cant_change_tx_characteristics()) } else { Ok(()) }
    }

    /// SET [GLOBAL | SESSION] TRANSACTION.
    pub(crate) fn set_transaction(&mut self, set: &ast::SetTransaction) -> Result<(), Outcome> {
        let level = set.isolation.map(|level| match level {
            IsolationLevel::ReadUncommitted => "READ-UNCOMMITTED",
            IsolationLevel::ReadCommitted => "READ-COMMITTED",
            IsolationLevel::RepeatableRead => "REPEATABLE-READ",
            IsolationLevel::Serializable => "SERIALIZABLE",
        });
        let isolation = level.map(isolation_of);
        let changes = [
            (variable!("transaction_isolation"), level.map(Value::from)),
            (variable!("transaction_read_only"), set.read_only.map(Value::bool)),
        ];
        match set.scope {
            None => {
                self.refuse_in_transaction()?;
                self.transaction.next_isolation = isolation.or(self.transaction.next_isolation);
                self.transaction.next_read_only = set.read_only.or(self.transaction.next_read_only);
            }
            Some(scope) => {
                for (definition, value) in changes {
                    let Some(value) = value else { continue };
                    if scope != VarScope::Session {
                        self.may_set_global(definition)?;
                    }
                    if scope == VarScope::Session {
                        self.set_session_variable(definition, value)?;
                    } else {
                        self.shared().variables.set(definition, value);
                        self.note_origin(definition);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The value of an expression that needs no plan: what clients and frameworks set at each login.
fn constant(expr: &ast::Expr<'_>) -> Option<Value> {
    match expr.kind {
        // A bare word is a value here: SET x = ON.
        ExprKind::Column(column) if column.table.is_none() => Some(Value::from(column.column)),
        ExprKind::Literal(Literal::Null) => Some(Value::Null),
        ExprKind::Literal(Literal::Bool(is)) => Some(Value::bool(is)),
        ExprKind::Literal(Literal::Int(number)) => i64::try_from(number).ok().map(Value::Int),
        // The same in all character sets.
        ExprKind::Literal(Literal::String(text)) if text.is_ascii() => Some(Value::bytes(text)),
        _ => None,
    }
}
