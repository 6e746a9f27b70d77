//! What variables do at once: an entry for each that does anything beside being told. Those that are read where they count ([`Core::number`](crate::context::Core::number))
//! have none; the logs' own are in `query_logs/`, since a log may fail to open.
//!
//! # Invariants
//! 1. A value comes here as `check` has made it: of its variable's kind.
//! 2. [`Effect::derives`] looks at its value, and at variables whose own SET comes back to it. It never fails and may be asked again: at the login, by SET, by the hint
//!    SET_VAR and when that is over.
//! 3. A hint has what `derives` does and nothing else; a login the same of all variables, in the order of the table.

use crate::accounts::role_list;
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::front::compression::CompressionChoice;
use crate::front::encryption::is_version_list;
use crate::shared::{Shared, memory_limit_of, memory_of_storage};
use crate::variables::table::index_of;
use crate::variables::warm_start;
use crate::variables::{DEFINITIONS, Definition, position, variable};
use admission::Mode;
use engine::{FlushPolicy, Isolation};
use mysql_error::{SqlError, codes};
use planner::switches::Switches;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use types::{Charset, Collation, SqlMode, TimeZone, Value};

/// Smallest log that a server starts with.
const LOG_BYTES_MIN: u64 = 256 << 20;

/// What a variable does; see the module.
#[derive(Clone, Copy)]
pub(crate) struct Effect {
    /// Whose it is: a position in [`DEFINITIONS`].
    at: usize,
    /// Refuses what the kind allows and the server cannot carry out.
    refuses: Option<Refuses>,
    /// What SET of a session does beside and before, and neither a login nor a hint; where it fails nothing is changed.
    when_set: Option<fn(&mut ClientSession, &Value) -> Result<(), Outcome>>,
    /// Another variable that SET, of the session or the server, changes with it.
    brings: Option<(usize, fn(&Value) -> Option<Value>)>,
    /// Takes a session's value into what is derived from it.
    derives: Option<fn(&mut ClientSession, &Value)>,
    /// Puts the server's value in force, by SET and at a start.
    of_server: Option<fn(&Shared) -> Result<(), SqlError>>,
    /// Plans depend on it: it is part of [`ClientSession::environment`].
    in_plans: bool,
}

type Refuses = fn(&Shared, &'static Definition, &Value) -> Result<(), Outcome>;

/// The effect of a variable, if it has one.
#[inline]
pub(crate) fn of(definition: &'static Definition) -> Option<&'static Effect> {
    usize::from(PLACES[index_of(definition)]).checked_sub(1).map(|at| &EFFECTS[at])
}

/// Refuses a value that the server cannot carry out.
pub(crate) fn check_effect(shared: &Shared, definition: &'static Definition, value: &Value) -> Result<(), Outcome> {
    of(definition).and_then(|effect| effect.refuses).map_or(Ok(()), |refuses| refuses(shared, definition, value))
}

/// What else is set when a variable gets a value.
pub(crate) fn brought(definition: &'static Definition, value: &Value) -> Option<(&'static Definition, Value)> {
    let (other, value_of) = of(definition)?.brings?;
    Some((&DEFINITIONS[other], value_of(value)?))
}

impl Effect {
    /// Whose it is.
    pub(crate) fn definition(&self) -> &'static Definition {
        &DEFINITIONS[self.at]
    }

    const fn refuses(mut self, refuses: Refuses) -> Effect {
        self.refuses = Some(refuses);
        self
    }

    const fn when_set(mut self, does: fn(&mut ClientSession, &Value) -> Result<(), Outcome>) -> Effect {
        self.when_set = Some(does);
        self
    }

    const fn brings(mut self, name: &str, value: fn(&Value) -> Option<Value>) -> Effect {
        self.brings = Some((position(name), value));
        self
    }

    const fn derives(mut self, takes: fn(&mut ClientSession, &Value)) -> Effect {
        self.derives = Some(takes);
        self
    }

    const fn of_server(mut self, applies: fn(&Shared) -> Result<(), SqlError>) -> Effect {
        self.of_server = Some(applies);
        self
    }

    const fn in_plans(mut self) -> Effect {
        self.in_plans = true;
        self
    }
}

const fn effect(name: &str) -> Effect {
    Effect { at: position(name), refuses: None, when_set: None, brings: None, derives: None, of_server: None, in_plans: false }
}

/// All of them, by name. Where two share what is derived, the later one has the last word at a login.
pub(crate) static EFFECTS: &[Effect] = &[
    effect("altiplano_admission").refuses(not_admission).of_server(|shared| {
        let said = shared.variables.get(variable!("altiplano_admission"));
        let mode = Mode::parse(&text(&said)).ok_or_else(|| codes::wrong_value_for_var("altiplano_admission", text(&said)))?;
        shared.admission.set_mode(mode);
        Ok(())
    }),
    effect("altiplano_memory_limit").refuses(less_than_storage).of_server(|shared| {
        shared.apply_memory_limit();
        Ok(())
    }),
    effect("auto_increment_increment").derives(|session, value| session.core.settings.auto_increment.increment = whole(value)),
    effect("auto_increment_offset").derives(|session, value| session.core.settings.auto_increment.offset = whole(value)),
    effect("autocommit").when_set(commit_first).derives(|session, value| session.core.settings.autocommit = is_on(value)),
    effect("character_set_client")
        .derives(|session, value| session.core.settings.charsets.client = charset(value).unwrap_or(Charset::Utf8mb4))
        .in_plans(),
    effect("character_set_connection").brings("collation_connection", its_collation),
    effect("character_set_database").brings("collation_database", its_collation),
    // A session that begins or says SET NAMES … COLLATE has another collation of it: `set_client_charset`.
    effect("character_set_results")
        .derives(|session, value| session.core.settings.charsets.results = charset(value).map(Charset::default_collation))
        .in_plans(),
    effect("character_set_server").brings("collation_server", its_collation),
    effect("collation_connection")
        .brings("character_set_connection", its_charset)
        .derives(|session, value| session.core.settings.collation = collation(value).unwrap_or(Collation::DEFAULT))
        .in_plans(),
    effect("collation_database").brings("character_set_database", its_charset),
    effect("collation_server").brings("character_set_server", its_charset),
    effect("completion_type").derives(|session, value| {
        session.core.settings.completion_type = match &*text(value) {
            "CHAIN" => 1,
            "RELEASE" => 2,
            _ => 0,
        };
    }),
    effect("connection_memory_limit").derives(|session, value| session.core.settings.statement_bytes_max = whole(value)),
    effect("div_precision_increment").in_plans(),
    effect("event_scheduler").refuses(|_, definition, value| match &*text(value) {
        "ON" => Err(codes::not_supported_yet(definition.name).into()),
        _ => Ok(()),
    }),
    effect("general_log_file").refuses(no_log_name),
    effect("identity").when_set(say_last_id),
    effect("innodb_buffer_pool_dump_at_shutdown").of_server(warm_start::apply),
    effect("innodb_buffer_pool_dump_now").of_server(|shared| {
        warm_start::when_on(shared, variable!("innodb_buffer_pool_dump_now"), engine::Engine::dump_pages_soon);
        Ok(())
    }),
    effect("innodb_buffer_pool_dump_pct").of_server(warm_start::apply),
    effect("innodb_buffer_pool_filename").refuses(warm_start::not_null).of_server(warm_start::apply),
    effect("innodb_buffer_pool_load_abort").of_server(|shared| {
        warm_start::when_on(shared, variable!("innodb_buffer_pool_load_abort"), engine::Engine::abort_load);
        Ok(())
    }),
    effect("innodb_buffer_pool_load_now").of_server(|shared| {
        warm_start::when_on(shared, variable!("innodb_buffer_pool_load_now"), engine::Engine::load_pages_soon);
        Ok(())
    }),
    effect("innodb_flush_log_at_trx_commit").of_server(|shared| {
        shared.set_flush_policy(shared.number(variable!("innodb_flush_log_at_trx_commit")));
        Ok(())
    }),
    effect("innodb_lock_wait_timeout").derives(|session, value| session.engine.set_lock_wait_timeout(seconds(value))),
    effect("innodb_max_purge_lag").of_server(limit_purge_lag),
    effect("innodb_max_purge_lag_delay").of_server(limit_purge_lag),
    // Only PERSIST_ONLY comes so far: it is read at a start.
    effect("innodb_redo_log_capacity").refuses(|_, definition, value| match whole(value) {
        bytes @ ..LOG_BYTES_MIN => Err(codes::wrong_value_for_var(definition.name, bytes).into()),
        _ => Ok(()),
    }),
    effect("insert_id").derives(|session, value| session.core.set_insert_id(whole(value))),
    effect("last_insert_id").when_set(say_last_id),
    effect("lc_time_names")
        .derives(|session, value| {
            session.core.settings.lc_time_names = executor::locales::find(text(value).as_bytes()).unwrap_or_default();
        })
        .in_plans(),
    effect("lock_wait_timeout").derives(|session, value| session.core.settings.lock_wait_timeout_s = whole(value)),
    effect("long_query_time").derives(|session, value| session.connection.set_slow_after_ms((real(value) * 1000.0) as u32)),
    effect("mandatory_roles").refuses(no_roles).of_server(|shared| {
        // What sessions have looked up of the roles that everybody has is to be looked up again.
        shared.accounts.touch();
        Ok(())
    }),
    effect("max_allowed_packet").derives(|session, value| session.core.settings.max_allowed_packet = whole(value) as usize),
    effect("max_error_count").derives(|session, value| session.core.diagnostics.set_kept_max(whole(value) as usize)),
    effect("max_execution_time").derives(|session, value| session.core.settings.max_execution_time_ms = whole(value) as u32),
    // With a bound large selects are off, without one on.
    effect("max_join_size")
        .brings("sql_big_selects", |value| Some(Value::bool(whole(value) == u64::MAX)))
        .derives(|session, value| session.core.settings.max_join_size = whole(value))
        .in_plans(),
    effect("net_read_timeout").derives(|session, value| session.connection.set_net_read_timeout(seconds(value))),
    effect("net_write_timeout").derives(|session, value| session.connection.set_net_write_timeout(seconds(value))),
    // What is not there cannot be switched on; that it is off may be said.
    effect("old_alter_table").refuses(|_, definition, value| match is_on(value) {
        true => Err(codes::not_supported_yet(definition.name).into()),
        false => Ok(()),
    }),
    effect("optimizer_switch")
        .derives(|session, value| session.core.settings.switches = Switches::default().with(&text(value)).unwrap_or_default())
        .in_plans(),
    effect("profiling").derives(|session, value| session.core.switch_profiling(is_on(value))),
    effect("profiling_history_size").derives(|session, value| session.core.keep_profiles(whole(value) as usize)),
    effect("protocol_compression_algorithms").refuses(no_algorithms),
    // Told only to clients that can do without, and the greeting offers that to none.
    effect("resultset_metadata").refuses(|_, _, value| match &*text(value) {
        "NONE" => Err(codes::client_does_not_support("optional metadata transfer").into()),
        _ => Ok(()),
    }),
    effect("session_track_transaction_info").derives(|session, value| session.changes.transaction.tell(&text(value))),
    effect("slow_query_log_file").refuses(no_log_name),
    effect("snapshot_isolation").derives(|session, value| session.core.settings.snapshot_isolation = is_on(value)),
    effect("sql_auto_is_null").in_plans(),
    effect("sql_big_selects")
        .derives(|session, value| {
            let bound = session.core.number(variable!("max_join_size"));
            session.core.settings.max_join_size = if is_on(value) { u64::MAX } else { bound };
        })
        .in_plans(),
    effect("sql_mode")
        .derives(|session, value| {
            if let Ok(mode) = SqlMode::parse(&text(value)) {
                session.core.settings.sql_mode = mode;
                session.core.settings.lexical_mode = lexical(mode);
            }
        })
        .in_plans(),
    effect("sql_notes").derives(|session, value| session.core.settings.notes = is_on(value)),
    effect("sql_safe_updates").derives(|session, value| session.core.settings.safe_updates = is_on(value)).in_plans(),
    effect("sql_select_limit").derives(|session, value| session.core.settings.select_limit = whole(value)).in_plans(),
    effect("table_open_cache").of_server(|shared| {
        shared.apply_open_tables();
        Ok(())
    }),
    effect("time_zone").refuses(no_time_zone).derives(|session, value| {
        if let Some(zone) = TimeZone::parse(&text(value)) {
            session.core.settings.zone = Arc::new(zone);
            session.zone = Arc::clone(&session.core.settings.zone);
        }
    }),
    effect("timestamp").derives(|session, value| session.core.settings.timestamp = real(value)),
    effect("tls_version").refuses(no_versions),
    // What is said for the session holds for its next transaction, too.
    effect("transaction_isolation")
        .when_set(|session, _| {
            session.transaction.next_isolation = None;
            Ok(())
        })
        .derives(|session, value| session.core.settings.isolation = isolation_of(&text(value))),
    effect("transaction_read_only")
        .when_set(|session, _| {
            session.transaction.next_read_only = None;
            Ok(())
        })
        .derives(|session, value| session.core.settings.read_only = is_on(value)),
    effect("wait_timeout").derives(|session, value| session.connection.set_wait_timeout_s(whole(value) as u32)),
];

/// Positions in [`EFFECTS`] plus one, by positions of variables; 0 where there is no effect.
static PLACES: [u8; DEFINITIONS.len()] = {
    let mut places = [0; DEFINITIONS.len()];
    let mut at = 0;
    while at < EFFECTS.len() {
        assert!(at == 0 || EFFECTS[at - 1].at < EFFECTS[at].at, "one for each, by name");
        places[EFFECTS[at].at] = at as u8 + 1;
        at += 1;
    }
    places
};

impl ClientSession {
    /// SET of a session's variable with a checked value, and what goes with it.
    pub(crate) fn set_session_variable(&mut self, definition: &'static Definition, value: Value) -> Result<(), Outcome> {
        if let Some(when_set) = of(definition).and_then(|effect| effect.when_set) {
            when_set(self, &value)?;
        }
        let with_it = brought(definition, &value);
        self.take_variable(definition, value);
        if let Some((other, value)) = with_it {
            self.take_variable(other, value);
        }
        Ok(())
    }

    /// A variable of the session has a value from now on.
    pub(crate) fn take_variable(&mut self, definition: &'static Definition, value: Value) {
        self.core.variables.set(definition, value);
        of(definition).into_iter().for_each(|effect| self.derive(effect));
    }

    /// Gives a session variable a checked value for a while: nobody is told that it has changed.
    pub(crate) fn let_variable_be(&mut self, definition: &'static Definition, value: Value) {
        self.core.variables.set_silently(definition, value);
        of(definition).into_iter().for_each(|effect| self.derive(effect));
    }

    fn derive(&mut self, effect: &Effect) {
        if let Some(derives) = effect.derives {
            let value = self.core.variables.get(effect.definition()).clone();
            derives(self, &value);
        }
        if effect.in_plans {
            self.environment = 0;
        }
    }

    /// Derives all settings from the session's variables.
    pub(crate) fn settings_from_variables(&mut self) {
        EFFECTS.iter().for_each(|effect| self.derive(effect));
        let policy = self.shared().flush_policy();
        self.engine.set_flush_policy(policy);
        self.core.settings.auto_increment.lock_mode = self.shared().number(variable!("innodb_autoinc_lock_mode")) as u8;
        self.environment = 0;
    }
}

impl Shared {
    /// Puts a variable's value of the server in force.
    ///
    /// # Errors
    /// A start may give a variable what SET refuses.
    pub(crate) fn apply(&self, definition: &'static Definition) -> Result<(), SqlError> {
        of(definition).and_then(|effect| effect.of_server).map_or(Ok(()), |applies| applies(self))
    }
}

fn is_on(value: &Value) -> bool {
    *value == Value::Int(1)
}

fn whole(value: &Value) -> u64 {
    if let Value::UInt(n) = value { *n } else { 0 }
}

fn real(value: &Value) -> f64 {
    if let Value::Double(n) = value { *n } else { 0.0 }
}

fn seconds(value: &Value) -> Duration {
    Duration::from_secs(whole(value))
}

/// NULL is no text.
fn text(value: &Value) -> Cow<'_, str> {
    if let Value::Bytes(text) = value { text.to_text() } else { Cow::Borrowed("") }
}

fn charset(name: &Value) -> Option<Charset> {
    Charset::from_name(&text(name))
}

fn collation(name: &Value) -> Option<Collation> {
    Collation::from_name(&text(name))
}

fn its_collation(of_charset: &Value) -> Option<Value> {
    Some(Value::from(charset(of_charset)?.default_collation().name()))
}

fn its_charset(of_collation: &Value) -> Option<Value> {
    Some(Value::from(collation(of_collation)?.charset().name()))
}

fn commit_first(session: &mut ClientSession, value: &Value) -> Result<(), Outcome> {
    if is_on(value) && !session.core.settings.autocommit { session.implicit_commit() } else { Ok(()) }
}

fn say_last_id(session: &mut ClientSession, value: &Value) -> Result<(), Outcome> {
    session.core.last_insert_id = whole(value);
    Ok(())
}

fn limit_purge_lag(shared: &Shared) -> Result<(), SqlError> {
    shared.apply_max_purge_lag();
    Ok(())
}

fn less_than_storage(_: &Shared, definition: &'static Definition, value: &Value) -> Result<(), Outcome> {
    let bytes = whole(value);
    // Nearly every statement would be refused from now on.
    if memory_limit_of(bytes) < memory_of_storage() { Err(codes::wrong_value_for_var(definition.name, bytes).into()) } else { Ok(()) }
}

fn no_log_name(shared: &Shared, definition: &'static Definition, value: &Value) -> Result<(), Outcome> {
    Ok(shared.check_log_name(definition, value)?)
}

/// Refuses a text that is not what it should be, and NULL.
fn unless(is_right: impl FnOnce(&str) -> bool, definition: &Definition, value: &Value) -> Result<(), Outcome> {
    match value {
        Value::Bytes(text) if is_right(&text.to_text()) => Ok(()),
        Value::Bytes(text) => Err(codes::wrong_value_for_var(definition.name, text.to_text()).into()),
        _ => Err(codes::wrong_value_for_var(definition.name, "NULL").into()),
    }
}

fn not_admission(_: &Shared, definition: &'static Definition, value: &Value) -> Result<(), Outcome> {
    unless(|text| Mode::parse(text).is_some(), definition, value)
}

fn no_algorithms(_: &Shared, definition: &'static Definition, value: &Value) -> Result<(), Outcome> {
    unless(|text| CompressionChoice::parse(text).is_some(), definition, value)
}

fn no_versions(_: &Shared, definition: &'static Definition, value: &Value) -> Result<(), Outcome> {
    unless(is_version_list, definition, value)
}

fn no_roles(_: &Shared, definition: &'static Definition, value: &Value) -> Result<(), Outcome> {
    // NULL is no role.
    if value.is_null() { Ok(()) } else { unless(|text| role_list(text).is_some(), definition, value) }
}

fn no_time_zone(_: &Shared, definition: &'static Definition, value: &Value) -> Result<(), Outcome> {
    match value {
        Value::Bytes(text) if TimeZone::parse(&text.to_text()).is_none() => Err(codes::unknown_time_zone(text.to_text()).into()),
        _ => unless(|_| true, definition, value),
    }
}

/// The engine's level.
pub(super) fn isolation_of(name: &str) -> Isolation {
    match name {
        "READ-UNCOMMITTED" => Isolation::ReadUncommitted,
        "READ-COMMITTED" => Isolation::ReadCommitted,
        "REPEATABLE-READ" => Isolation::RepeatableRead,
        _ => Isolation::Serializable,
    }
}

/// The flush policy of `innodb_flush_log_at_trx_commit`.
pub(crate) fn flush_policy(number: u64) -> FlushPolicy {
    match number {
        0 => FlushPolicy::Lazy,
        2 => FlushPolicy::Write,
        _ => FlushPolicy::Durable,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ddl::tests::Server;

    /// A value of each variable that plans depend on, other than a session begins with.
    const OTHERS: [(&str, &str); 12] = [
        ("character_set_client", "latin1"),
        ("character_set_results", "latin1"),
        ("collation_connection", "latin1_bin"),
        ("div_precision_increment", "7"),
        ("lc_time_names", "de_DE"),
        ("max_join_size", "1000000"),
        ("optimizer_switch", "'index_merge=off'"),
        ("sql_auto_is_null", "1"),
        ("sql_big_selects", "0"),
        ("sql_mode", "ANSI_QUOTES"),
        ("sql_safe_updates", "1"),
        ("sql_select_limit", "10"),
    ];

    #[test]
    fn plans_are_kept_apart_by_what_they_depend_on() {
        let named: Vec<&str> = EFFECTS.iter().filter(|effect| effect.in_plans).map(|effect| effect.definition().name).collect();
        assert_eq!(named, OTHERS.map(|(name, _)| name), "all that are marked are tried");
        let server = Server::new();
        let mut client = server.connect();
        // So that `sql_big_selects` alone says whether there is a bound.
        client.run("SET max_join_size = 1000");
        client.run("SET sql_big_selects = 1");
        for (name, value) in OTHERS {
            let before = client.session.environment();
            assert_eq!(client.run(&format!("SET @old = @@{name}, {name} = {value}")), "ok 0", "{name}");
            assert_ne!(client.session.environment(), before, "{name}");
            client.run(&format!("SET {name} = @old"));
            client.run("SET sql_big_selects = 1");
            assert_eq!(client.session.environment(), before, "{name}");
        }
    }

    #[test]
    fn a_start_sets_what_goes_with_a_variable_as_well() {
        let server = Server::new();
        let look = || server.connect().run("SELECT @@max_join_size, @@sql_big_selects, @@character_set_server, @@collation_server");
        let shared = std::sync::Arc::clone(server.connect().session.shared());
        let start = |settings: &[(&str, &str)]| settings.iter().for_each(|(name, value)| shared.set_at_start(name, value).expect(name));
        start(&[("character-set-server", "latin1"), ("max-join-size", "5")]);
        assert_eq!(look(), "5|0|latin1|latin1_swedish_ci");
        start(&[("character_set_server", "latin1"), ("collation_server", "latin1_general_ci"), ("sql_big_selects", "ON")]);
        assert_eq!(look(), "5|1|latin1|latin1_general_ci");
    }

    #[test]
    fn a_login_takes_what_a_set_of_the_server_has_left() {
        let server = Server::new();
        let mut first = server.connect();
        for set in ["max_join_size = 1000", "sql_mode = 'ANSI_QUOTES'", "autocommit = 0", "transaction_isolation = 'SERIALIZABLE'"] {
            assert_eq!(first.run(&format!("SET GLOBAL {set}")), "ok 0", "{set}");
        }
        let second = server.connect();
        let settings = &second.session.core.settings;
        assert_eq!((settings.max_join_size, settings.autocommit, settings.isolation), (1000, false, Isolation::Serializable));
        assert!(settings.sql_mode.contains(SqlMode::ANSI_QUOTES));
        assert_eq!(first.session.core.settings.max_join_size, u64::MAX);
    }
}
