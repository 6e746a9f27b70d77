//! The session as planner and executor see it.

use crate::counters::profiles::Profiles;
use crate::diagnostics::Diagnostics;
use crate::error_map::catalog_error;
use crate::front::command::Login;
use crate::front::connections::{Connection, Stop};
use crate::reply::charsets::ClientCharsets;
use crate::shared::{SERVER_VERSION, Shared};
use crate::statement::samples::Moment;
use crate::temporary::TemporaryTables;
use crate::variables::{Definition, Scope, SessionVariables, deprecated, find, variable};
use crate::virtual_tables::{self, LockPicture};
use admission::Ticket;
use catalog::{TableEntry, ViewEntry, VirtualRequest, VirtualTableDef};
use engine::{Cancel, HandlerCalls, Isolation, KeyRange};
use env::SplitMix64;
use executor::{AutoIncrementSettings, StatementContext, UserVariable, VirtualRows};
use mysql_error::{SqlError, Warning, WarningLevel, codes};
use planner::PlanContext;
use planner::expr::VariableScope;
use planner::sample::{Sample, SampleOf};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use types::{Collation, ColumnType, LocalTime, SqlMode, TimeZone, TypeKind, Value};

/// Settings that statements need at hand, derived from variables when these are set.
pub struct Settings {
    /// `autocommit`.
    pub autocommit: bool,
    /// `transaction_isolation`.
    pub isolation: Isolation,
    /// `transaction_read_only`.
    pub read_only: bool,
    /// `snapshot_isolation`.
    pub snapshot_isolation: bool,
    /// `sql_mode`.
    pub sql_mode: SqlMode,
    /// The part of it that changes how text is read.
    pub lexical_mode: parser::SqlMode,
    /// `time_zone`.
    pub zone: Arc<TimeZone>,
    /// `lc_time_names`, by number.
    pub lc_time_names: usize,
    /// `collation_connection`.
    pub collation: Collation,
    /// `character_set_client` and `character_set_results`.
    pub charsets: ClientCharsets,
    /// `lock_wait_timeout`, seconds.
    pub lock_wait_timeout_s: u64,
    /// `max_allowed_packet`.
    pub max_allowed_packet: usize,
    /// `connection_memory_limit`: what a statement may hold.
    pub statement_bytes_max: u64,
    /// `max_execution_time`, 0 = no limit.
    pub max_execution_time_ms: u32,
    /// `sql_notes`.
    pub notes: bool,
    /// `timestamp`: the time that statements see, in seconds; 0 for the clock's.
    pub timestamp: f64,
    /// `sql_select_limit`.
    pub select_limit: u64,
    /// `max_join_size`, unless `sql_big_selects` lets all through.
    pub max_join_size: u64,
    /// `optimizer_switch`.
    pub switches: planner::switches::Switches,
    /// `sql_safe_updates`.
    pub safe_updates: bool,
    /// `completion_type`: 0 NO_CHAIN, 1 CHAIN, 2 RELEASE.
    pub completion_type: u8,
    /// What its temporary tables make of names: a number that no other session and no other moment has; 0 without such tables.
    pub temporary: u64,
    /// How AUTO_INCREMENT values are made.
    pub auto_increment: AutoIncrementSettings,
}

impl Default for Settings {
    /// Until the session's variables are looked at (`settings_from_variables`).
    fn default() -> Settings {
        Settings {
            autocommit: true,
            isolation: Isolation::RepeatableRead,
            read_only: false,
            snapshot_isolation: false,
            sql_mode: SqlMode::DEFAULT,
            lexical_mode: parser::SqlMode::default(),
            zone: Arc::new(TimeZone::utc()),
            lc_time_names: 0,
            collation: Collation::DEFAULT,
            charsets: ClientCharsets::default(),
            lock_wait_timeout_s: 60,
            max_allowed_packet: 64 << 20,
            statement_bytes_max: executor::STATEMENT_BYTES_MAX as u64,
            max_execution_time_ms: 0,
            notes: true,
            timestamp: 0.0,
            select_limit: u64::MAX,
            max_join_size: u64::MAX,
            switches: Default::default(),
            safe_updates: false,
            completion_type: 0,
            temporary: 0,
            auto_increment: executor::AutoIncrementSettings::default(),
        }
    }
}

/// An operator goes to disk when it holds this part of `connection_memory_limit`: allocated is up to twice what is held, and a statement has several operators.
const OPERATOR_SHARE: usize = 4;

/// The database that [`Core::new_table`] is found in: no other one can have this name, so that the statement's query may read a table of the new one's name.
pub const NEW_TABLE_DATABASE: &str = "\0";

/// What a session knows beside its engine transaction.
pub struct Core {
    /// What all sessions share.
    pub shared: Arc<Shared>,
    /// What `profiling` keeps of its statements.
    pub profiles: Option<Box<Profiles>>,
    /// The connection.
    pub connection: Arc<Connection>,
    /// Who is there.
    pub login: Login,
    /// What it may do.
    pub standing: crate::accounts::Standing,
    /// Current database.
    pub database: Option<Box<str>>,
    /// System variables.
    pub variables: SessionVariables,
    /// Derived settings.
    pub settings: Settings,
    /// User variables, by lower-case name.
    pub user_variables: UserVariables,
    /// Names that GET_LOCK took, and how often.
    pub user_locks: HashMap<Box<str>, u64>,
    /// Conditions of the last statement.
    pub diagnostics: Diagnostics,
    /// LAST_INSERT_ID().
    pub last_insert_id: u64,
    /// insert_id: the next value to be generated; 0 for the table's.
    pub insert_id: u64,
    /// ROW_COUNT().
    pub row_count: i64,
    /// What the client has said of the running statement.
    pub query_attributes: Vec<crate::components::KeptAttribute>,
    /// FOUND_ROWS().
    pub found_rows: u64,
    /// What the session had asked of tables when it last said FLUSH STATUS.
    pub calls_before: HandlerCalls,
    /// Microseconds since the epoch when the statement began; 0 until somebody asks.
    pub statement_micros: std::cell::Cell<i64>,
    /// Whether LOCK TABLES is in force.
    pub tables_locked: bool,
    /// A query is planned for EXPLAIN ANALYZE.
    pub analyzes: bool,
    /// KILL's flag; the engine session's.
    pub cancel: Arc<Cancel>,
    /// Whose the session's locks are; the engine session's.
    pub lock_owner: Arc<lock_manager::Owner>,
    /// The session's place in admission.
    pub ticket: Arc<Ticket>,
    /// State of RAND().
    pub random: SplitMix64,
    /// What the running statement has done that taking back its changes does not undo: it cannot be run again.
    pub acted: bool,
    /// Its temporary tables.
    pub temporary: Option<Box<TemporaryTables>>,
    /// The table that the running CREATE TABLE … SELECT makes: nobody else finds it yet, and only in [`NEW_TABLE_DATABASE`].
    pub new_table: Option<Arc<TableEntry>>,
    /// The view that the running statement makes or replaces (database, name): its query cannot name it.
    pub view_being_made: Option<(String, String)>,
    /// Locks and transactions as the running statement sees them, once it has asked.
    pub lock_picture: Option<Arc<LockPicture>>,
}

/// Values of user variables that are no longer than this are small.
const PACKED_BYTES_MAX: usize = 1024;
/// More variables fill pages by themselves.
const PACKED_VARIABLES_MAX: usize = 64;

impl Core {
    /// Of a session that begins: nothing was said yet.
    pub(crate) fn new(
        shared: Arc<Shared>,
        connection: Arc<Connection>,
        login: Login,
        standing: crate::accounts::Standing,
        variables: SessionVariables,
        engine: &engine::Session,
        ticket: Arc<Ticket>,
    ) -> Core {
        Core {
            random: SplitMix64::new(u64::from(connection.id()) ^ shared.engine.wall_micros() as u64),
            standing,
            database: None,
            variables,
            settings: Settings::default(),
            user_variables: HashMap::new(),
            user_locks: HashMap::new(),
            diagnostics: Diagnostics::default(),
            last_insert_id: 0,
            insert_id: 0,
            row_count: 0,
            query_attributes: Vec::new(),
            found_rows: 0,
            calls_before: HandlerCalls::default(),
            statement_micros: std::cell::Cell::new(0),
            tables_locked: false,
            analyzes: false,
            cancel: Arc::clone(engine.cancel()),
            lock_owner: Arc::clone(engine.lock_owner()),
            acted: false,
            temporary: None,
            new_table: None,
            view_being_made: None,
            lock_picture: None,
            profiles: None,
            ticket,
            shared,
            login,
            connection,
        }
    }

    /// See [`crate::front::service::Session::pack`].
    pub(crate) fn pack(&mut self) {
        self.lock_owner.pack();
        self.database = self.database.clone();
        if self.user_variables.len() > PACKED_VARIABLES_MAX {
            return;
        }
        let mut packed = UserVariables::with_capacity(self.user_variables.len());
        packed.extend(std::mem::take(&mut self.user_variables).into_iter().map(|(name, variable)| {
            let variable = match &variable.value {
                Value::Bytes(text) | Value::Json(text) if text.len() > PACKED_BYTES_MAX => variable,
                _ => variable.clone(),
            };
            (Box::<str>::from(&*name), variable)
        }));
        self.user_variables = packed;
    }

    /// What a stopped statement is told.
    pub fn stop_error(&self) -> SqlError {
        match memory::excess() {
            memory::Excess::None => {}
            memory::Excess::Statement => return codes::out_of_sortmemory(),
            memory::Excess::Server => return codes::out_of_resources(),
        }
        match self.connection.stop_requested() {
            Stop::QueryTimeout => codes::query_timeout(),
            Stop::Shutdown => codes::server_shutdown(),
            _ => codes::query_interrupted(),
        }
    }

    /// An error of the catalogue, as executing statements fail with it.
    pub fn catalog_error(&self, error: catalog::CatalogError) -> executor::Error {
        catalog_error(error, || self.stop_error()).error.into()
    }

    fn now_micros(&self) -> i64 {
        self.shared.engine.wall_micros()
    }
}

impl LocalTime for Core {
    fn offset_at_utc(&self, utc_micros: i64) -> i32 {
        self.settings.zone.offset_at_utc(utc_micros)
    }

    fn local_to_utc(&self, local_micros: i64) -> Option<i64> {
        self.settings.zone.local_to_utc(local_micros)
    }
}

impl StatementContext for Core {
    fn statement_micros(&self) -> i64 {
        if self.statement_micros.get() == 0 {
            let fixed = self.settings.timestamp;
            let micros = if fixed > 0.0 { (fixed * 1e6) as i64 } else { self.now_micros() };
            self.statement_micros.set(micros);
        }
        self.statement_micros.get()
    }

    fn current_micros(&self) -> i64 {
        self.now_micros()
    }

    fn sql_mode(&self) -> SqlMode {
        self.settings.sql_mode
    }

    fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    fn user(&self) -> String {
        format!("{}@{}", self.login.user, self.login.host)
    }

    fn current_user(&self) -> String {
        format!("{}@{}", self.login.account_user, self.login.account_host)
    }

    fn current_role(&self) -> String {
        self.role_names()
    }

    fn version(&self) -> String {
        SERVER_VERSION.to_owned()
    }

    fn connection_id(&self) -> u64 {
        u64::from(self.connection.id())
    }

    fn account_of_connection(&self, id: u64) -> Option<String> {
        let connection = self.shared.connections.find(u32::try_from(id).ok()?)?;
        let label = connection.label();
        let own = label.account_user == self.login.account_user && !self.login.account_user.is_empty();
        // As in lists of connections: without PROCESS one sees one's own. The client's port is no part of the account.
        let host = label.host.split(':').next().unwrap_or_default();
        (own || self.require_process().is_ok()).then(|| format!("{}@{host}", label.user))
    }

    fn last_insert_id(&self) -> u64 {
        self.last_insert_id
    }

    fn set_last_insert_id(&mut self, id: u64) {
        self.last_insert_id = id;
    }

    fn row_count(&self) -> i64 {
        self.row_count
    }

    fn query_attribute(&self, name: &[u8]) -> Value {
        crate::components::query_attribute(self, name)
    }

    fn found_rows(&self) -> u64 {
        self.found_rows
    }

    fn user_variable(&self, name: &str) -> UserVariable {
        self.user_variables.get(name.to_lowercase().as_str()).cloned().unwrap_or_default()
    }

    fn set_user_variable(&mut self, name: &str, value: Value, collation: Option<Collation>) {
        self.acted = true;
        // A variable holds a document's text.
        let value = match value {
            Value::Json(document) => {
                let mut text = Vec::new();
                executor::append_json_text(&document, &mut text);
                Value::Bytes(text.into())
            }
            other => other,
        };
        let collation = collation.unwrap_or(self.settings.collation);
        self.user_variables.insert(name.to_lowercase().into(), UserVariable { value, collation });
    }

    fn system_variable(&self, scope: VariableScope, name: &str) -> executor::Result<Value> {
        let definition = find(name).ok_or_else(|| codes::unknown_system_variable(name))?;
        let global = match scope {
            VariableScope::Global if definition.scope == Scope::Session => {
                return Err(codes::incorrect_global_local_var(name, "SESSION").into());
            }
            VariableScope::Session if definition.scope == Scope::Global => {
                return Err(codes::incorrect_global_local_var(name, "GLOBAL").into());
            }
            VariableScope::Global => true,
            VariableScope::Session => false,
            VariableScope::Default => definition.scope == Scope::Global,
        };
        if global {
            return Ok(self.shared.variables.get(definition));
        }
        Ok(match definition.name {
            "last_insert_id" | "identity" => Value::UInt(self.last_insert_id),
            "insert_id" => Value::UInt(self.insert_id),
            "pseudo_thread_id" => Value::UInt(u64::from(self.connection.id())),
            "warning_count" => Value::UInt(u64::from(self.diagnostics.before().0)),
            "error_count" => Value::UInt(u64::from(self.diagnostics.before().1)),
            "timestamp" => Value::Double(self.statement_micros() as f64 / 1e6),
            _ => self.variables.get(definition).clone(),
        })
    }

    fn warn(&mut self, warning: Warning) {
        if warning.level != WarningLevel::Note || self.settings.notes {
            self.diagnostics.push(warning);
        }
    }

    fn warning_total(&self) -> u32 {
        self.diagnostics.total()
    }

    fn take_warnings(&mut self, since: u32) -> (Vec<Warning>, u32) {
        self.diagnostics.take(since)
    }

    fn count_warnings(&mut self, count: u32) {
        self.diagnostics.count(count);
    }

    fn random(&mut self) -> f64 {
        self.random.fraction()
    }

    fn sleep(&mut self, seconds: f64) -> bool {
        let wanted = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
        let deadline = Instant::now().checked_add(wanted);
        self.cancel.sleep_until(deadline)
    }

    fn user_lock(&mut self, call: executor::UserLockCall, name: Option<&str>) -> executor::Result<Value> {
        self.acted = true;
        self.call_user_lock(call, name)
    }

    fn release_all_user_locks(&mut self) -> executor::Result<u64> {
        self.acted = true;
        Ok(self.release_user_locks())
    }

    fn is_cancelled(&self) -> bool {
        // Executors ask every few hundred rows, with no latch held: a long statement may have to let others work here.
        self.ticket.pulse(&self.cancel);
        self.cancel.is_cancelled()
    }

    fn cancel_error(&self) -> SqlError {
        self.stop_error()
    }

    fn auto_increment(&self) -> AutoIncrementSettings {
        self.settings.auto_increment
    }

    fn insert_id(&self) -> u64 {
        self.insert_id
    }

    fn foreign_key_checks(&self) -> bool {
        self.number(variable!("foreign_key_checks")) != 0
    }

    fn group_concat_max_len(&self) -> usize {
        self.number(variable!("group_concat_max_len")) as usize
    }

    fn cte_max_recursion_depth(&self) -> u64 {
        self.number(variable!("cte_max_recursion_depth"))
    }

    fn join_buffer_bytes(&self) -> usize {
        self.number(variable!("join_buffer_size")) as usize
    }

    fn max_allowed_packet(&self) -> usize {
        self.settings.max_allowed_packet
    }

    fn statement_memory_max(&self) -> usize {
        usize::try_from(self.settings.statement_bytes_max).unwrap_or(usize::MAX)
    }

    fn operator_memory_max(&self) -> usize {
        match self.shared.spill_directory() {
            Some(_) => self.statement_memory_max() / OPERATOR_SHARE,
            None => usize::MAX,
        }
    }

    fn lc_time_names(&self) -> usize {
        self.settings.lc_time_names
    }

    fn may_name_table(&self, database: &str, table: &str) -> bool {
        let rights = &self.standing.rights;
        self.standing.everything || !rights.on_table(database, table).and(::accounts::Privileges::ALL_TABLE).is_empty()
    }

    fn spill_directory(&self) -> Option<Arc<spill::Directory>> {
        self.shared.spill_directory().cloned()
    }

    fn default_week_format(&self) -> u8 {
        self.number(variable!("default_week_format")) as u8
    }

    fn load_file(&mut self, name: &[u8]) -> executor::Result<Option<Vec<u8>>> {
        match self.file_content(name, self.settings.max_allowed_packet) {
            Ok(content) => Ok(content),
            Err(error) if error.code == codes::ER_WARN_ALLOWED_PACKET_OVERFLOWED => {
                self.warn(error.into());
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn virtual_rows(&mut self, table: &'static VirtualTableDef, request: VirtualRequest) -> executor::Result<VirtualRows> {
        virtual_tables::rows(self, table, &request)
    }
}

impl Core {
    /// `insert_id`.
    pub fn set_insert_id(&mut self, id: u64) {
        self.insert_id = id;
        let settings = &mut self.settings.auto_increment;
        settings.lock_mode = settings.lock_mode & !executor::FORCED | if id > 0 { executor::FORCED } else { 0 };
    }

    /// A value was generated: one that was said is used up.
    #[inline]
    pub fn note_generated(&mut self, id: u64) {
        self.last_insert_id = id;
        if self.settings.auto_increment.lock_mode & executor::FORCED != 0 && id == self.insert_id {
            self.set_insert_id(0);
        }
    }

    /// A whole number that is a system variable's value in this session.
    pub fn number(&self, definition: &'static Definition) -> u64 {
        match self.variables.get(definition) {
            Value::UInt(n) => *n,
            Value::Int(n) => *n as u64,
            _ => 0,
        }
    }
}

/// A session's user variables, by lower-case name.
pub type UserVariables = HashMap<Box<str>, UserVariable>;

/// What a user variable is of; `None` for one that has no value.
pub fn variable_type(variable: Option<&UserVariable>) -> Option<ColumnType> {
    let UserVariable { value, collation } = variable?;
    match value {
        Value::Null => None,
        Value::Int(_) => Some(ColumnType::bigint()),
        Value::UInt(_) => Some(ColumnType::bigint_unsigned()),
        Value::Float(_) | Value::Double(_) => Some(ColumnType::double()),
        // As precise as they get; shown with the digits that it has.
        Value::Decimal(decimal) => Some(ColumnType::decimal(65, decimal.scale())),
        _ => Some(planner::typing::of_variable(*collation)),
    }
}

/// What planning asks of the session.
pub struct Planning<'a> {
    /// The session.
    pub core: &'a Core,
    /// Its engine handle, for index dives.
    pub engine: &'a engine::Session,
    /// Values of the parameters at hand.
    pub params: &'a [Value],
    /// Their types, where known.
    pub param_types: &'a [ColumnType],
}

impl PlanContext for Planning<'_> {
    fn database(&self) -> Option<&str> {
        self.core.database.as_deref()
    }

    fn locks_rows(&self) -> bool {
        !self.core.analyzes
    }

    fn table(&self, database: &str, name: &str) -> Result<Arc<TableEntry>, SqlError> {
        if let Some(entry) = &self.core.new_table
            && database == NEW_TABLE_DATABASE
        {
            return Ok(Arc::clone(entry));
        }
        if let Some(entry) = self.core.temporary_table(database, name) {
            return Ok(Arc::clone(entry));
        }
        let found = self.core.shared.catalog.table(database, name);
        if self.core.tables_locked && matches!(found, Err(catalog::CatalogError::UnknownTable { .. })) {
            // Under LOCK TABLES nobody is told whether there is a table that was not locked.
            return Err(codes::table_not_locked(name));
        }
        found.map_err(|error| catalog_error(error, || self.core.stop_error()).error)
    }

    fn view(&self, database: &str, name: &str) -> Result<Option<Arc<ViewEntry>>, SqlError> {
        if self.core.view_being_made.as_ref().is_some_and(|(d, n)| d == database && n == name) {
            return Ok(None);
        }
        self.core.shared.catalog.view(database, name).map_err(|error| catalog_error(error, || self.core.stop_error()).error)
    }

    fn view_being_made(&self) -> Option<&(String, String)> {
        self.core.view_being_made.as_ref()
    }

    fn related_table(&self, database: &str, name: &str) -> Result<Arc<TableEntry>, SqlError> {
        self.core.shared.catalog.table(database, name).map_err(|error| catalog_error(error, || self.core.stop_error()).error)
    }

    fn virtual_table(&self, database: &str, name: &str) -> Result<Option<&'static VirtualTableDef>, SqlError> {
        virtual_tables::database(database).map(|database| database.table(name)).transpose()
    }

    fn virtual_table_denied(&self, table: &VirtualTableDef, command: &str) -> SqlError {
        virtual_tables::denied(self.core, table, command)
    }

    fn may_use(&self, database: &str, table: &str, wants: ::accounts::Privileges) -> Result<bool, SqlError> {
        // The table that CREATE TABLE … SELECT fills is its session's, too: what that takes was asked of the name that it gets.
        if self.core.temporary_table(database, table).is_some() || database == NEW_TABLE_DATABASE {
            return Ok(false);
        }
        self.core.may_use_table(database, table, wants).map(|()| true)
    }

    fn may_execute(&self, database: &str, name: &str) -> Result<(), SqlError> {
        self.core.may_execute_routine(database, name)
    }

    fn sql_mode(&self) -> SqlMode {
        self.core.settings.sql_mode
    }

    fn connection_collation(&self) -> Collation {
        self.core.settings.collation
    }

    fn client_charset(&self) -> types::Charset {
        self.core.settings.charsets.client
    }

    fn params(&self) -> &[Value] {
        self.params
    }

    fn value_now(&self, expr: &planner::expr::Expr) -> Option<Value> {
        executor::value_now(expr, self.params, self.core)
    }

    fn zone(&self) -> &dyn LocalTime {
        self.core
    }

    fn param_types(&self) -> &[ColumnType] {
        self.param_types
    }

    fn bound_type(&self, n: u32) -> Option<ColumnType> {
        // With types at hand they are literals of the text.
        let bound = |value| crate::statement::prepared::bound_type(value, self.core.settings.collation);
        if self.param_types.is_empty() { self.params.get(n as usize).and_then(bound) } else { None }
    }

    fn user_variable_type(&self, name: &str) -> Option<ColumnType> {
        variable_type(self.core.user_variables.get(name))
    }

    fn has_query_attributes(&self) -> bool {
        self.core.shared.query_attributes.load(sync::atomic::Ordering::Relaxed)
    }

    fn select_limit(&self) -> u64 {
        self.core.settings.select_limit
    }

    fn div_precision_increment(&self) -> u8 {
        self.core.number(variable!("div_precision_increment")) as u8
    }

    fn max_join_size(&self) -> u64 {
        self.core.settings.max_join_size
    }

    fn auto_is_null(&self) -> bool {
        self.core.number(variable!("sql_auto_is_null")) == 1
    }

    fn switches(&self) -> planner::switches::Switches {
        self.core.settings.switches
    }

    fn safe_updates(&self) -> bool {
        self.core.settings.safe_updates
    }

    fn name_chars(&self) -> (u64, u64) {
        let (days, months) = executor::locales::LOCALES[self.core.settings.lc_time_names].names.chars_max();
        (days as u64, months as u64)
    }

    fn column_type(
        &self,
        column: &str,
        ty: &parser::ast::DataType<'_>,
        collation: Collation,
    ) -> Result<(ColumnType, Vec<Warning>), SqlError> {
        crate::ddl::of_table_function(column, ty, collation)
    }

    fn system_variable_type(&self, name: &str) -> Result<ColumnType, SqlError> {
        use crate::variables::Kind;
        let definition = find(name).ok_or_else(|| codes::unknown_system_variable(name))?;
        Ok(match definition.kind {
            Kind::Switch => planner::widths::whole(planner::widths::TRUTH, false),
            Kind::Number { .. } => planner::widths::whole(planner::widths::ANY, true),
            Kind::Real { .. } => ColumnType { length: 22, decimals: 6, ..ColumnType::new(TypeKind::Double) },
            Kind::Choice(_) | Kind::Set(_) | Kind::Text | Kind::SqlMode | Kind::Switches => ColumnType::varchar(1024, Collation::DEFAULT),
        })
    }

    fn system_variable_warning(&self, name: &str) -> Option<SqlError> {
        deprecated::of_reading(name)
    }

    fn estimate(&self, table: &TableEntry, index_no: usize, range: &KeyRange) -> Option<u64> {
        self.engine.estimate(&table.storage, index_no, range).ok()
    }

    fn rows_per_key(&self, table: &TableEntry, index_no: usize, parts: usize) -> Option<f64> {
        self.engine.rows_per_key(&table.storage, index_no, parts).ok().flatten()
    }

    fn sample(&self, table: &TableEntry, column: usize) -> Option<Vec<Value>> {
        self.engine.sample_column(&table.storage, column).ok()
    }

    fn kept_sample(&self, of: &SampleOf, rows: u64, take: &mut dyn FnMut() -> Option<Sample>) -> Option<Arc<Sample>> {
        let shared = &self.core.shared;
        shared.samples.of(Moment::now(&shared.engine), of, rows, take)
    }

    fn column_of_keys(&self, table: &TableEntry, keys: &[Vec<u8>], column: usize) -> Option<Vec<Value>> {
        self.engine.column_of_keys(&table.storage, keys, column).ok()
    }

    fn rows_estimate(&self, table: &TableEntry) -> u64 {
        table.storage.rows_estimate()
    }
}
