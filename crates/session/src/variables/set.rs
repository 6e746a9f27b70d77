//! SET: system variables with their effects, user variables, names and character sets, transaction characteristics.

use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::query_logs::Log;
use crate::reply::charsets::{is_charset_variable, partner};
use crate::shared::{memory_limit_of, memory_of_storage};
use crate::variables::{Definition, Kind, Scope, check, deprecated, find, mode_warnings, switched, variable};
use engine::{FlushPolicy, Isolation};
use executor::StatementContext;
use mysql_error::{SqlError, codes};
use parser::ast::{self, ExprKind, IsolationLevel, SetItem, VarScope};
use std::sync::Arc;
use std::time::Duration;
use types::{SqlMode, TimeZone, Value};

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
                    let value = self.evaluate(std::slice::from_ref(value), sql)?.pop().unwrap_or_default();
                    self.core.set_user_variable(name, value);
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
            if let Some((name, value)) = partner(definition.name, &value) {
                self.shared().variables.set(name, value);
            }
            if let Some((name, value)) = big_selects(definition, &value) {
                self.shared().variables.set(name, value);
            }
            self.apply_global(definition, &value);
            self.apply_to_accounts(definition);
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
            // A bare word is a value here: SET x = ON.
            Some(ast::Expr { kind: ExprKind::Column(column), .. }) if column.table.is_none() => Value::from(column.column),
            Some(expr) => self.evaluate(std::slice::from_ref(expr), sql)?.pop().unwrap_or_default(),
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
        self.check_effect(definition, &value)?;
        mode_warnings(definition, &value).into_iter().for_each(|warning| self.core.warn(warning.into()));
        if definition.name == "mandatory_roles" {
            self.check_mandatory_roles(&value)?;
        }
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
        if is_charset_variable(definition.name) {
            self.set_charset_variable(definition, value);
            return Ok(None);
        }
        // `transaction_isolation` without a scope word is the session's; SET TRANSACTION without one is the next transaction's.
        self.apply_session(definition, &value)?;
        let with_it = big_selects(definition, &value);
        self.core.variables.set(definition, value);
        if let Some((other, value)) = with_it {
            self.core.variables.set(other, value);
        }
        if matches!(definition.name, "max_join_size" | "sql_big_selects") {
            self.derive_join_size();
        }
        Ok(None)
    }

    /// Values that the kind allows and the server cannot carry out.
    pub(crate) fn check_effect(&self, definition: &Definition, value: &Value) -> Result<(), Outcome> {
        if let ("altiplano_memory_limit", Value::UInt(bytes)) = (definition.name, value)
            && memory_limit_of(*bytes) < memory_of_storage()
        {
            // Nearly every statement would be refused from now on.
            return Err(codes::wrong_value_for_var(definition.name, bytes).into());
        }
        // What is not there cannot be switched on; that it is off may be said.
        if let (Kind::Switch, Value::Int(1)) = (definition.kind, value)
            && definition.name == "old_alter_table"
        {
            return Err(codes::not_supported_yet(definition.name).into());
        }
        if Log::of_file_variable(definition.name).is_some() {
            return Ok(self.shared().check_log_name(definition, value)?);
        }
        let Value::Bytes(text) = value else { return Ok(()) };
        let text = text.to_text();
        match definition.name {
            "event_scheduler" if text == "ON" => Err(codes::not_supported_yet("event_scheduler").into()),
            // Told only to clients that can do without, and the greeting offers that to none.
            "resultset_metadata" if text == "NONE" => Err(codes::client_does_not_support("optional metadata transfer").into()),
            "altiplano_admission" => match admission::Mode::parse(&text) {
                Some(_) => Ok(()),
                None => Err(codes::wrong_value_for_var("altiplano_admission", text).into()),
            },
            "protocol_compression_algorithms" if crate::front::compression::CompressionChoice::parse(&text).is_none() => {
                Err(codes::wrong_value_for_var("protocol_compression_algorithms", text).into())
            }
            "tls_version" if !crate::front::encryption::is_version_list(&text) => {
                Err(codes::wrong_value_for_var("tls_version", text).into())
            }
            "transaction_isolation" => isolation_of(&text).map(|_| ()),
            "time_zone" => match TimeZone::parse(&text) {
                Some(_) => Ok(()),
                None => Err(codes::unknown_time_zone(text).into()),
            },
            _ => Ok(()),
        }
    }

    /// Gives a session variable a checked value for a while: nobody is told that it has changed.
    pub(crate) fn let_variable_be(&mut self, definition: &'static Definition, value: Value) {
        if let ("insert_id", Value::UInt(id)) = (definition.name, &value) {
            self.core.set_insert_id(*id);
        }
        self.derive(definition, &value);
        let with_it = big_selects(definition, &value);
        self.core.variables.set_silently(definition, value);
        if matches!(definition.name, "max_join_size" | "sql_big_selects") {
            self.derive_join_size();
        }
        if let Some((_, Value::Int(on))) = with_it {
            // A hint changes the other variable's effect alone.
            self.core.settings.max_join_size = if on == 1 { u64::MAX } else { self.core.number(variable!("max_join_size")) };
        }
    }

    /// What a changed server value does at once.
    fn apply_global(&self, definition: &Definition, value: &Value) {
        if let ("innodb_flush_log_at_trx_commit", Value::UInt(policy)) = (definition.name, value) {
            self.shared().set_flush_policy(*policy);
        }
        if definition.name == "altiplano_memory_limit" {
            self.shared().apply_memory_limit();
        }
        if definition.name == "table_open_cache" {
            self.shared().apply_open_tables();
        }
        if matches!(definition.name, "innodb_max_purge_lag" | "innodb_max_purge_lag_delay") {
            self.shared().apply_max_purge_lag();
        }
        if let ("altiplano_admission", Value::Bytes(text)) = (definition.name, value)
            && let Some(mode) = admission::Mode::parse(&text.to_text())
        {
            self.shared().admission.set_mode(mode);
        }
    }

    /// What a changed session value does at once.
    fn apply_session(&mut self, definition: &Definition, value: &Value) -> Result<(), Outcome> {
        match (definition.name, value) {
            ("autocommit", Value::Int(on)) => {
                let on = *on == 1;
                if on && !self.core.settings.autocommit {
                    self.implicit_commit()?;
                }
                self.core.settings.autocommit = on;
            }
            // What is said for the session holds for its next transaction, too.
            ("transaction_isolation", _) => self.transaction.next_isolation = None,
            ("transaction_read_only", _) => self.transaction.next_read_only = None,
            ("last_insert_id" | "identity", Value::UInt(id)) => self.core.last_insert_id = *id,
            ("insert_id", Value::UInt(id)) => self.core.set_insert_id(*id),
            _ => {}
        }
        self.derive(definition, value);
        Ok(())
    }

    /// Takes a session value into the derived settings.
    fn derive(&mut self, definition: &Definition, value: &Value) {
        let settings = &mut self.core.settings;
        match (definition.name, value) {
            ("autocommit", Value::Int(on)) => settings.autocommit = *on == 1,
            ("sql_mode", Value::Bytes(text)) => {
                if let Ok(mode) = SqlMode::parse(&text.to_text()) {
                    settings.sql_mode = mode;
                    settings.lexical_mode = lexical(mode);
                    self.environment = 0;
                }
            }
            ("time_zone", Value::Bytes(text)) => {
                if let Some(zone) = TimeZone::parse(&text.to_text()) {
                    settings.zone = Arc::new(zone);
                    self.zone = Arc::clone(&settings.zone);
                }
            }
            ("transaction_isolation", Value::Bytes(text)) => {
                if let Ok(isolation) = isolation_of(&text.to_text()) {
                    settings.isolation = isolation;
                }
            }
            ("lc_time_names", Value::Bytes(name)) => {
                settings.lc_time_names = executor::locales::find(name).unwrap_or_default();
                self.environment = 0;
            }
            ("transaction_read_only", Value::Int(on)) => settings.read_only = *on == 1,
            ("snapshot_isolation", Value::Int(on)) => settings.snapshot_isolation = *on == 1,
            ("lock_wait_timeout", Value::UInt(seconds)) => settings.lock_wait_timeout_s = *seconds,
            ("innodb_lock_wait_timeout", Value::UInt(seconds)) => self.engine.set_lock_wait_timeout(Duration::from_secs(*seconds)),
            ("max_allowed_packet", Value::UInt(bytes)) => settings.max_allowed_packet = *bytes as usize,
            ("connection_memory_limit", Value::UInt(bytes)) => settings.statement_bytes_max = *bytes,
            ("max_error_count", Value::UInt(count)) => self.core.diagnostics.set_kept_max(*count as usize),
            ("max_execution_time", Value::UInt(millis)) => settings.max_execution_time_ms = *millis as u32,
            ("completion_type", Value::Bytes(name)) => {
                settings.completion_type = match &*name.to_text() {
                    "CHAIN" => 1,
                    "RELEASE" => 2,
                    _ => 0,
                };
            }
            ("sql_select_limit", Value::UInt(rows)) => {
                settings.select_limit = *rows;
                self.environment = 0;
            }
            ("sql_auto_is_null", _) => self.environment = 0,
            ("sql_safe_updates", Value::Int(on)) => {
                settings.safe_updates = *on == 1;
                self.environment = 0;
            }
            ("optimizer_switch", Value::Bytes(text)) => {
                settings.switches = planner::switches::Switches::default().with(&text.to_text()).unwrap_or_default();
                self.environment = 0;
            }
            ("sql_notes", Value::Int(on)) => settings.notes = *on == 1,
            ("session_track_transaction_info", Value::Bytes(text)) => self.changes.transaction.tell(&text.to_text()),
            ("net_read_timeout", Value::UInt(seconds)) => self.connection.set_net_read_timeout(Duration::from_secs(*seconds)),
            ("net_write_timeout", Value::UInt(seconds)) => self.connection.set_net_write_timeout(Duration::from_secs(*seconds)),
            ("wait_timeout", Value::UInt(seconds)) => self.connection.set_wait_timeout_s(*seconds as u32),
            ("long_query_time", Value::Double(seconds)) => self.connection.set_slow_after_ms((*seconds * 1000.0) as u32),
            ("timestamp", Value::Double(seconds)) => settings.timestamp = *seconds,
            ("profiling", Value::Int(on)) => self.core.switch_profiling(*on == 1),
            ("profiling_history_size", Value::UInt(count)) => self.core.keep_profiles(*count as usize),
            ("auto_increment_increment", Value::UInt(n)) => settings.auto_increment.increment = *n,
            ("auto_increment_offset", Value::UInt(n)) => settings.auto_increment.offset = *n,
            ("div_precision_increment", _) => self.environment = 0,
            _ => {}
        }
    }

    /// Takes `max_join_size` and `sql_big_selects` into the derived settings.
    fn derive_join_size(&mut self) {
        let all = self.core.number(variable!("sql_big_selects")) == 1;
        self.core.settings.max_join_size = if all { u64::MAX } else { self.core.number(variable!("max_join_size")) };
        self.environment = 0;
    }

    /// Derives all settings from the session's variables.
    pub(crate) fn settings_from_variables(&mut self) {
        for name in [
            "autocommit",
            "sql_mode",
            "time_zone",
            "transaction_isolation",
            "transaction_read_only",
            "snapshot_isolation",
            "lock_wait_timeout",
            "innodb_lock_wait_timeout",
            "connection_memory_limit",
            "max_allowed_packet",
            "max_error_count",
            "max_execution_time",
            "completion_type",
            "optimizer_switch",
            "sql_notes",
            "sql_select_limit",
            "sql_safe_updates",
            "wait_timeout",
            "net_read_timeout",
            "net_write_timeout",
            "long_query_time",
            "timestamp",
            "profiling",
            "profiling_history_size",
            "lc_time_names",
            "auto_increment_increment",
            "auto_increment_offset",
        ] {
            if let Some(definition) = find(name) {
                let value = self.core.variables.get(definition).clone();
                self.derive(definition, &value);
            }
        }
        self.charsets_from_variables();
        self.derive_join_size();
        let policy = self.shared().flush_policy();
        self.engine.set_flush_policy(policy);
        self.core.settings.auto_increment.lock_mode = self.shared().number(variable!("innodb_autoinc_lock_mode")) as u8;
        self.environment = 0;
    }

    /// `SET @@transaction_isolation = …` without a scope: as SET TRANSACTION, for the next one.
    fn set_next_transaction(&mut self, definition: &'static Definition, value: Option<&ast::Expr<'_>>, sql: &[u8]) -> Result<(), Outcome> {
        let value = match value {
            None => self.core.variables.get(definition).clone(),
            Some(ast::Expr { kind: ExprKind::Column(column), .. }) if column.table.is_none() => Value::from(column.column),
            Some(expr) => self.evaluate(std::slice::from_ref(expr), sql)?.pop().unwrap_or_default(),
        };
        let (value, _) = check(definition, &value)?;
        self.refuse_in_transaction()?;
        match &value {
            Value::Bytes(name) => self.transaction.next_isolation = Some(isolation_of(&name.to_text())?),
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
        let isolation = level.map(isolation_of).transpose()?;
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
                        self.apply_session(definition, &value)?;
                        self.core.variables.set(definition, value);
                    } else {
                        self.shared().variables.set(definition, value);
                    }
                }
            }
        }
        Ok(())
    }
}

/// What a new `max_join_size` makes of `sql_big_selects`: with a bound they are off, without one on.
fn big_selects(definition: &Definition, value: &Value) -> Option<(&'static Definition, Value)> {
    let is_bound = definition.name == "max_join_size";
    is_bound.then(|| (variable!("sql_big_selects"), Value::bool(*value == Value::UInt(u64::MAX))))
}

/// The engine's level.
fn isolation_of(name: &str) -> Result<Isolation, Outcome> {
    match name {
        "READ-UNCOMMITTED" => Ok(Isolation::ReadUncommitted),
        "READ-COMMITTED" => Ok(Isolation::ReadCommitted),
        "REPEATABLE-READ" => Ok(Isolation::RepeatableRead),
        _ => Ok(Isolation::Serializable),
    }
}

/// The modes that change how text is read, as the parser numbers them.
fn lexical(mode: SqlMode) -> parser::SqlMode {
    let mut lexical = parser::SqlMode::default();
    for (ours, theirs) in [
        (SqlMode::REAL_AS_FLOAT, parser::SqlMode::REAL_AS_FLOAT),
        (SqlMode::PIPES_AS_CONCAT, parser::SqlMode::PIPES_AS_CONCAT),
        (SqlMode::ANSI_QUOTES, parser::SqlMode::ANSI_QUOTES),
        (SqlMode::IGNORE_SPACE, parser::SqlMode::IGNORE_SPACE),
        (SqlMode::NO_BACKSLASH_ESCAPES, parser::SqlMode::NO_BACKSLASH_ESCAPES),
        (SqlMode::HIGH_NOT_PRECEDENCE, parser::SqlMode::HIGH_NOT_PRECEDENCE),
    ] {
        if mode.contains(ours) {
            lexical = lexical.with(theirs);
        }
    }
    lexical
}

/// The flush policy of `innodb_flush_log_at_trx_commit`.
pub(crate) fn flush_policy(number: u64) -> FlushPolicy {
    match number {
        0 => FlushPolicy::Lazy,
        2 => FlushPolicy::Write,
        _ => FlushPolicy::Durable,
    }
}
