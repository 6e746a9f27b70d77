//! Prepared statements: COM_STMT_* and PREPARE/EXECUTE.
//!
//! A statement with a plan keeps it and runs it with bound values; when the catalogue has changed it is planned again from its text.
//! Other statements are parsed at each execution.

use crate::charsets::ClientCharsets;
use crate::client_session::ClientSession;
use crate::context::{Core, Planning};
use crate::cursors::Cursor;
use crate::error_map::{Outcome, parse_error};
use crate::hinted::Assignment;
use crate::plan_cache::{CachedPlan, PlanKey};
use crate::preparable::is_preparable;
use crate::privileges::authorize;
use crate::query::{empty_query, is_planned};
use crate::result_columns;
use crate::run::{Ran, STALE_PLANS_MAX, too_stale};
use crate::shared::Shared;
use crate::sink::PrepareReply;
use executor::StatementContext;
use memory::{Kind, Tally};
use mysql_error::{SqlError, codes};
use parser::ast;
use protocol::command::Execute;
use protocol::{BoundParam, ColumnDefinition, ColumnType as WireType, ParamType, ParamValue, ResultSink};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use sync::atomic::Ordering;
use types::{ColumnType, Decimal, TypeKind, Value};

/// How long a bound text may be by what its column says: as MySQL states it.
const BOUND_TEXT_CHARS: u32 = 16_383;

/// Prepared statements of a session.
pub struct PreparedStatements {
    /// Boxed: a table is twice as large as what is in it, and a session may keep many statements.
    by_id: HashMap<u32, Box<Prepared>, foldhash::fast::FixedState>,
    by_name: HashMap<String, u32>,
    next_id: u32,
    /// Texts and values that came in pieces. (Plans are the plan cache's.)
    held: Tally,
    /// Open cursors.
    cursors: usize,
}

impl Default for PreparedStatements {
    fn default() -> Self {
        Self { by_id: HashMap::default(), by_name: HashMap::new(), next_id: 0, held: Tally::new(Kind::Prepared), cursors: 0 }
    }
}

/// What a client's wish for a cursor does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CursorUse {
    /// It opens one, if the statement has rows.
    Opens,
    /// Nothing: rows are sent at once.
    Ignored,
    /// SELECT … INTO: 1323.
    Refused,
}

impl CursorUse {
    fn of(statement: &ast::Statement<'_>) -> Self {
        match statement {
            ast::Statement::Query(query) if query.into.is_some() => Self::Refused,
            ast::Statement::Explain(_) => Self::Ignored,
            _ => Self::Opens,
        }
    }
}

/// Counts a prepared statement of the server while it is there.
struct Counted(Arc<Shared>);

impl Counted {
    /// One more, unless there are `max_prepared_stmt_count` (1461).
    fn new(shared: &Arc<Shared>) -> Result<Self, SqlError> {
        let max = shared.number("max_prepared_stmt_count");
        if shared.prepared_statements.fetch_add(1, Ordering::Relaxed) >= max {
            shared.prepared_statements.fetch_sub(1, Ordering::Relaxed);
            return Err(codes::max_prepared_stmt_count_reached(max));
        }
        Ok(Self(Arc::clone(shared)))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.prepared_statements.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Values that came in pieces, by parameter.
#[derive(Default)]
struct LongData(HashMap<u16, Vec<u8>>);

/// One of them.
struct Prepared {
    _counted: Counted,
    sql: Arc<[u8]>,
    /// The text is that of a plan, which many sessions have.
    shares_text: bool,
    /// It runs by a plan, not from its text.
    planned: bool,
    cursor_use: CursorUse,
    param_count: u16,
    plan: Option<Arc<CachedPlan>>,
    cursor: Option<Box<Cursor>>,
    /// Types of the last execution's parameters.
    types: Vec<ParamType>,
    /// Values that came in pieces, where any did: few statements ever have some, and a session may keep many statements.
    long_data: Option<Box<LongData>>,
    /// Why one of them could not be kept: it became longer than `max_allowed_packet`, or there was no memory for it.
    unfit: Option<fn() -> SqlError>,
    /// Variables that its hints set.
    hinted: Box<[Assignment]>,
}

/// Each session has them all, and many sessions have dozens.
const _: () = assert!(size_of::<Prepared>() <= 112);

impl Prepared {
    /// What it holds beside values that came in pieces.
    fn bytes(&self) -> usize {
        size_of::<Prepared>() + if self.shares_text { 0 } else { self.sql.len() }
    }

    /// It runs by this plan, and shares its text.
    fn run_by(&mut self, plan: Arc<CachedPlan>) {
        if let Some(text) = plan.text.as_ref().filter(|text| text.len() <= SHARED_TEXT_MAX && **text == self.sql) {
            self.sql = Arc::clone(text);
            self.shares_text = true;
        }
        self.planned = true;
        self.plan = Some(plan);
    }

    /// Takes out a plan that is good for whatever parameters.
    #[inline]
    fn take_plan(&mut self, version: u64, core: &Core) -> Option<Arc<CachedPlan>> {
        let hinted = !self.hinted.is_empty();
        self.plan.take_if(|plan| !hinted && plan.plan.free_params.is_empty() && plan.is_ready(version, core))
    }

    fn long_data_bytes(&self) -> usize {
        self.long_data.as_ref().map_or(0, |data| data.0.values().map(Vec::capacity).sum())
    }
}

/// Longer texts are each session's own, and booked as such: a plan that its cache has let go of must not keep them from the accounts.
const SHARED_TEXT_MAX: usize = 4096;

/// More prepared statements fill pages by themselves.
const PACKED_MAX: usize = 256;

impl PreparedStatements {
    /// See [`crate::service::Session::pack`].
    pub(crate) fn pack(&mut self) {
        if self.by_id.len() > PACKED_MAX {
            return;
        }
        let mut by_id = HashMap::default();
        by_id.reserve(self.by_id.len());
        by_id.extend(std::mem::take(&mut self.by_id).into_iter().map(|(id, mut prepared)| {
            if !prepared.shares_text {
                prepared.sql = Arc::from(&*prepared.sql);
            }
            prepared.types = prepared.types.clone();
            (id, Box::new(*prepared))
        }));
        self.by_id = by_id;
        self.by_name = self.by_name.iter().map(|(name, id)| (name.clone(), *id)).collect();
    }

    /// COM_STMT_CLOSE.
    pub fn close(&mut self, id: u32) {
        if let Some(prepared) = self.by_id.remove(&id) {
            self.held.remove(prepared.bytes() + prepared.long_data_bytes());
            self.cursors -= usize::from(prepared.cursor.is_some());
        }
    }

    /// COM_STMT_RESET; false when there is no such statement.
    pub fn reset(&mut self, id: u32) -> bool {
        let Some(prepared) = self.by_id.get_mut(&id) else { return false };
        forget_long_data(prepared, &mut self.held);
        prepared.unfit = None;
        self.cursors -= usize::from(prepared.cursor.take().is_some());
        true
    }

    /// What a cursor is to a statement; `None` when there is no such statement.
    pub(crate) fn cursor_use(&self, id: u32) -> Option<CursorUse> {
        self.by_id.get(&id).map(|prepared| prepared.cursor_use)
    }

    /// A statement's cursor; the outer `None` when there is no such statement.
    pub(crate) fn cursor(&mut self, id: u32) -> Option<Option<&mut Cursor>> {
        self.by_id.get_mut(&id).map(|prepared| prepared.cursor.as_deref_mut())
    }

    /// Opens or closes it.
    #[inline]
    pub(crate) fn set_cursor(&mut self, id: u32, cursor: Option<Cursor>) {
        if cursor.is_none() && self.cursors == 0 {
            return;
        }
        if let Some(prepared) = self.by_id.get_mut(&id) {
            self.cursors += usize::from(cursor.is_some());
            self.cursors -= usize::from(std::mem::replace(&mut prepared.cursor, cursor.map(Box::new)).is_some());
        }
    }

    /// COM_STMT_SEND_LONG_DATA: there is no reply, so what is wrong is told at execution.
    pub fn long_data(&mut self, id: u32, param: u16, data: &[u8], bytes_max: usize) {
        if let Some(prepared) = self.by_id.get_mut(&id)
            && param < prepared.param_count
        {
            let value = prepared.long_data.get_or_insert_default().0.entry(param).or_default();
            let before = value.capacity();
            if value.len() + data.len() > bytes_max {
                prepared.unfit = Some(codes::net_packet_too_large);
            } else if memory::reserve_shared(value, data.len()).is_err() {
                prepared.unfit = Some(codes::out_of_resources);
            } else {
                value.extend_from_slice(data);
            }
            self.held.add(value.capacity() - before);
        }
    }

    fn add(&mut self, prepared: Prepared) -> u32 {
        self.next_id = self.next_id.wrapping_add(1).max(1);
        self.held.add(prepared.bytes());
        self.by_id.insert(self.next_id, Box::new(prepared));
        self.next_id
    }
}

impl ClientSession {
    /// COM_STMT_PREPARE.
    #[inline(never)]
    pub(crate) fn prepare(&mut self, sql: &[u8], sink: &mut ResultSink<'_>) {
        self.shared().status.com_stmt_prepare.inc();
        self.connection.set_statement(sql);
        self.core.diagnostics.clear();
        let prepared = match self.prepare_text(sql) {
            Ok(prepared) => prepared,
            Err(outcome) => {
                self.core.diagnostics.push_error(&outcome.error);
                self.core.settings.charsets.send_error(sink, &outcome.error);
                return;
            }
        };
        if self.logged.is_some() {
            self.log_prepared(sql);
        }
        let plan = prepared.plan.clone();
        let param_count = prepared.param_count;
        let statement_id = self.prepared.add(prepared);
        let columns = plan.as_ref().map_or(&[][..], |plan| &plan.plan.columns);
        let reply = PrepareReply {
            statement_id,
            column_count: columns.len() as u16,
            param_count,
            warnings: self.core.diagnostics.warning_count() as u16,
        };
        let results = self.core.settings.charsets.results;
        let status = self.server_status();
        let deprecate_eof = sink.capabilities().contains(protocol::Capabilities::DEPRECATE_EOF);
        let out = sink.packets();
        reply.write(out);
        if param_count > 0 {
            for _ in 0..param_count {
                ColumnDefinition::expression(b"?", WireType::VarString).write(out);
            }
            if !deprecate_eof {
                protocol::reply::write_eof(status, 0, out);
            }
        }
        if !columns.is_empty() {
            for column in columns {
                result_columns::write_definition(column, results, out);
            }
            if !deprecate_eof {
                protocol::reply::write_eof(status, 0, out);
            }
        }
    }

    /// What MySQL looks at when it prepares a statement that has no plan here: whether the rights are there, and for queries the tables. (Most others are looked at only when
    /// they run.)
    fn look_at_prepared(&mut self, statement: &ast::Statement<'_>, sql: &[u8]) -> Result<(), Outcome> {
        match statement {
            ast::Statement::CreateTable(_) | ast::Statement::CreateView(_) => authorize(self, statement),
            ast::Statement::Show(show) => crate::show::look(self, &show.what),
            ast::Statement::Describe { table, .. } => crate::show::look_at_table(self, table),
            ast::Statement::Explain(explain) => match explain.target {
                ast::ExplainTarget::Statement(statement) if is_planned(statement) => {
                    self.in_explained_database(explain, |session| session.plan_ahead(statement, sql).map(drop))??;
                    Ok(())
                }
                _ => Ok(()),
            },
            ast::Statement::Do(exprs) => {
                self.params.clear();
                let planning = Planning { core: &self.core, engine: &self.engine, params: &[], param_types: &[] };
                let plan = planner::plan_expressions(exprs, sql, &planning)?;
                Ok(self.core.check_accesses(&plan.accesses)?)
            }
            _ => Ok(()),
        }
    }

    fn prepare_text(&mut self, sql: &[u8]) -> Result<Prepared, Outcome> {
        let key = self.prepared_key(sql);
        let arena = std::mem::take(&mut self.arena);
        let result = self.prepare_parsed(sql, key, &arena);
        self.give_back(arena);
        result
    }

    fn prepare_parsed(&mut self, sql: &[u8], key: PlanKey, arena: &parser::Bump) -> Result<Prepared, Outcome> {
        let parsed = parser::parse(sql, self.lexical_mode(), arena).map_err(parse_error)?;
        if parsed.rest < sql.len() && !crate::query::is_blank(&sql[parsed.rest..]) {
            return Err(parse_error(parser::ParseError::syntax(sql, parsed.rest)).into());
        }
        if parsed.param_count as usize > protocol::execute::PARAMS_MAX {
            return Err(codes::ps_many_param().into());
        }
        let mut prepared = Prepared {
            _counted: Counted::new(self.shared())?,
            sql: sql.into(),
            shares_text: false,
            planned: false,
            cursor_use: CursorUse::of(&parsed.statement),
            param_count: parsed.param_count as u16,
            plan: None,
            cursor: None,
            types: Vec::new(),
            long_data: None,
            unfit: None,
            hinted: Box::default(),
        };
        let (hinted, warnings) = crate::hinted::assignments(&parsed.statement);
        warnings.into_iter().for_each(|warning| self.core.warn(warning));
        prepared.hinted = hinted.into();
        if !parsed.reads_conditions && is_preparable(&parsed.statement) {
            self.look_at_prepared(&parsed.statement, sql)?;
        }
        match parsed.statement {
            ast::Statement::Empty => return Err(empty_query()),
            statement if parsed.reads_conditions || !is_preparable(&statement) => return Err(codes::unsupported_ps().into()),
            statement if is_planned(&statement) && !prepared.hinted.is_empty() => {
                // Planned and kept under the values that it will run under.
                let hinted = std::mem::take(&mut prepared.hinted);
                let plan = self.with_variables(&hinted, |session| session.plan_ahead(&statement, sql).map(Arc::new))?;
                plan.plan.warnings.iter().for_each(|warning| self.core.warn(warning.clone()));
                prepared.run_by(plan);
                prepared.hinted = hinted;
            }
            statement if is_planned(&statement) => {
                let plan = match self.shared().plans.get(&key, self.shared().catalog.version(), &self.core) {
                    Some(plan) => {
                        self.core.check_accesses(&plan.plan.accesses)?;
                        plan
                    }
                    None => {
                        let plan = Arc::new(self.plan_ahead(&statement, sql)?);
                        self.keep_plan(key, &plan);
                        plan
                    }
                };
                for warning in &plan.plan.warnings {
                    self.core.warn(warning.clone());
                }
                prepared.run_by(plan);
            }
            // These are evaluated from their text, with the values at hand.
            // A query here is one into a file.
            ast::Statement::Query(_)
            | ast::Statement::Set(_)
            | ast::Statement::Do(_)
            | ast::Statement::Explain(_)
            | ast::Statement::Show(_) => {}
            ast::Statement::CreateView(_) if parsed.param_count > 0 => return Err(codes::view_select_variable().into()),
            _ if parsed.param_count > 0 => return Err(codes::unsupported_ps().into()),
            _ => {}
        }
        Ok(prepared)
    }

    /// The cache key of a prepared text: its literals stay in it, so the whole text counts.
    fn prepared_key(&mut self, sql: &[u8]) -> PlanKey {
        let hash = |seed: u64| {
            let mut hasher = foldhash::quality::SeedableRandomState::with_seed(seed, foldhash::SharedSeed::global_random()).build_hasher();
            hasher.write(sql);
            hasher.finish()
        };
        PlanKey { text: u128::from(hash(0x5052)) << 64 | u128::from(hash(0x4550)), environment: self.environment() ^ 0x5EED }
    }

    /// COM_STMT_EXECUTE.
    #[inline(never)]
    pub(crate) fn execute_prepared(&mut self, execute: &Execute<'_>, sink: &mut ResultSink<'_>) {
        if let Err(outcome) = self.try_execute_prepared(execute, sink) {
            self.fail(sink, outcome);
        }
        if let Some(logged) = &mut self.logged {
            logged.rows_sent = sink.row_count();
        }
    }

    pub(crate) fn try_execute_prepared(&mut self, execute: &Execute<'_>, sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        let id = execute.statement_id;
        self.shared().status.com_stmt_execute.inc();
        let Some(prepared) = self.prepared.by_id.get_mut(&id) else {
            return Err(codes::unknown_stmt_handler(id, "mysql_stmt_precheck").into());
        };
        self.connection.set_statement(&prepared.sql);
        if let Some(error) = prepared.unfit.take() {
            forget_long_data(prepared, &mut self.prepared.held);
            return Err(error().into());
        }
        self.params.clear();
        let (params, mut bad, mut attributes) = (&mut self.params, None, Vec::new());
        let long_data = |index: usize| prepared.long_data.as_ref().and_then(|data| data.0.get(&(index as u16)));
        let charsets = self.core.settings.charsets;
        let decoded = execute.params_and_attributes(
            usize::from(prepared.param_count),
            &mut prepared.types,
            |index| long_data(index).is_some(),
            |index, param| match bind(param, long_data(index), charsets) {
                Ok(value) => params.push(value),
                Err(error) => {
                    bad.get_or_insert(error);
                }
            },
            |attribute| attributes.push(crate::components::kept(&attribute)),
        );
        if !attributes.is_empty() || !self.core.query_attributes.is_empty() {
            self.core.query_attributes = attributes;
        }
        if prepared.long_data.is_some() {
            forget_long_data(prepared, &mut self.prepared.held);
        }
        decoded.map_err(|_| codes::malformed_packet())?;
        if let Some(error) = bad {
            return Err(error.into());
        }
        if self.logged.is_some() {
            let sql = Arc::clone(&prepared.sql);
            self.profile_execute(&sql);
            self.log_execute(&sql);
            return self.run_prepared(id, sink);
        }
        let version = self.core.shared.catalog.version();
        // As most are: nothing is looked up again.
        if let Some(plan) = prepared.take_plan(version, &self.core)
            && self.run_and_keep(id, plan, sink)? == Ran::Done
        {
            return Ok(());
        }
        self.run_prepared(id, sink)
    }

    /// Runs a prepared statement's plan, which it has again afterwards.
    fn run_and_keep(&mut self, id: u32, plan: Arc<CachedPlan>, sink: &mut ResultSink<'_>) -> Result<Ran, Outcome> {
        let ran = self.run_cached(&plan, sink);
        if let Some(prepared) = self.prepared.by_id.get_mut(&id) {
            prepared.plan = Some(plan);
        }
        ran
    }

    /// Runs a prepared statement with the values in `self.params`.
    fn run_prepared(&mut self, id: u32, sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        self.run_prepared_with(id, false, sink)
    }

    /// The same with the variables set that the statement's hints name.
    #[cold]
    fn run_prepared_hinted(&mut self, id: u32, hinted: &[Assignment], sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        self.with_variables(hinted, |session| session.run_prepared_with(id, true, sink))
    }

    fn run_prepared_with(&mut self, id: u32, hinted: bool, sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        for _ in 0..STALE_PLANS_MAX {
            let version = self.shared().catalog.version();
            let Some(prepared) = self.prepared.by_id.get_mut(&id) else {
                return Err(codes::unknown_stmt_handler(id, "EXECUTE").into());
            };
            if !prepared.hinted.is_empty() && !hinted {
                let variables = prepared.hinted.clone();
                return self.run_prepared_hinted(id, &variables, sink);
            }
            if !prepared.planned {
                let sql = Arc::clone(&prepared.sql);
                return self.run_text(&sql, sink);
            }
            // Taken out while it runs, so that nothing shared is written.
            let core = &self.core;
            let plan = match prepared.plan.take_if(|plan| plan.is_ready(version, core)) {
                Some(plan) => plan,
                None => {
                    let sql = Arc::clone(&prepared.sql);
                    self.plan_again(&sql)?
                }
            };
            let plan = if plan.plan.free_params.is_empty() { plan } else { self.suited_to_params(id, plan)? };
            if self.run_and_keep(id, plan, sink)? == Ran::Done {
                return Ok(());
            }
        }
        Err(too_stale())
    }

    /// The plan, or another where parameters that the select list shows were planned as something else than what is bound now.
    fn suited_to_params(&mut self, id: u32, plan: Arc<CachedPlan>) -> Result<Arc<CachedPlan>, Outcome> {
        let collation = self.core.settings.collation;
        let suits = |(n, planned): &(u32, Option<(TypeKind, bool)>)| match self.params.get(*n as usize) {
            None | Some(Value::Null) => true,
            Some(value) => bound_type(value, collation).map(|ty| (ty.kind, ty.unsigned)) == *planned,
        };
        if plan.plan.free_params.iter().all(suits) {
            return Ok(plan);
        }
        let sql = self.prepared.by_id.get(&id).map(|prepared| Arc::clone(&prepared.sql));
        match sql {
            // Others may bind other types to the same text: this plan is not for them.
            Some(sql) => Ok(Arc::new(self.plan_with_params(&sql)?)),
            None => Ok(plan),
        }
    }

    /// Plans a prepared text with values at hand: at its first execution, and after DDL.
    #[cold]
    fn plan_again(&mut self, sql: &[u8]) -> Result<Arc<CachedPlan>, Outcome> {
        let key = self.prepared_key(sql);
        if let Some(plan) = self.shared().plans.get(&key, self.shared().catalog.version(), &self.core)
            && !plan.provisional
        {
            return Ok(plan);
        }
        let plan = Arc::new(self.plan_with_params(sql)?);
        self.keep_plan(key, &plan);
        Ok(plan)
    }

    #[cold]
    fn plan_with_params(&mut self, sql: &[u8]) -> Result<CachedPlan, Outcome> {
        let arena = std::mem::take(&mut self.arena);
        let planned = match parser::parse(sql, self.lexical_mode(), &arena) {
            Ok(parsed) => self.plan_prepared(&parsed.statement, sql).map_err(Outcome::from),
            Err(error) => Err(parse_error(error).into()),
        };
        self.give_back(arena);
        planned
    }

    /// Runs a statement without a plan from its text.
    #[inline(never)]
    fn run_text(&mut self, sql: &[u8], sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        let arena = std::mem::take(&mut self.arena);
        let result = match parser::parse(sql, self.lexical_mode(), &arena) {
            Ok(parsed) => self.run_statement(&parsed.statement, sql, sink).map(|_| ()),
            Err(error) => Err(parse_error(error).into()),
        };
        self.give_back(arena);
        result
    }

    /// PREPARE name FROM text.
    pub(crate) fn prepare_named(&mut self, name: &str, sql: &[u8]) -> Result<(), Outcome> {
        let lower = name.to_lowercase();
        if let Some(old) = self.prepared.by_name.remove(&lower) {
            self.prepared.close(old);
        }
        let outer = std::mem::take(&mut self.arena);
        let prepared = self.prepare_text(sql);
        self.arena = outer;
        let id = self.prepared.add(prepared?);
        if self.logged.is_some() {
            self.log_prepared(sql);
        }
        self.changes.note_state();
        self.prepared.by_name.insert(lower, id);
        Ok(())
    }

    /// EXECUTE name USING variables.
    pub(crate) fn execute_named(&mut self, name: &str, using: &[&str], sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        let unknown = || codes::unknown_stmt_handler(name, "EXECUTE");
        let id = *self.prepared.by_name.get(&name.to_lowercase()).ok_or_else(unknown)?;
        let count = self.prepared.by_id.get(&id).ok_or_else(unknown)?.param_count;
        if usize::from(count) != using.len() {
            return Err(codes::wrong_arguments("EXECUTE").into());
        }
        self.params.clear();
        for variable in using {
            let value = self.core.user_variable(variable);
            self.params.push(value);
        }
        if self.logged.is_some()
            && let Some(sql) = self.prepared.by_id.get(&id).map(|prepared| Arc::clone(&prepared.sql))
        {
            self.log_execute(&sql);
        }
        self.run_prepared(id, sink)
    }

    /// DEALLOCATE PREPARE.
    pub(crate) fn deallocate(&mut self, name: &str) -> Result<(), Outcome> {
        match self.prepared.by_name.remove(&name.to_lowercase()) {
            Some(id) => {
                self.prepared.close(id);
                Ok(())
            }
            None => Err(codes::unknown_stmt_handler(name, "DEALLOCATE PREPARE").into()),
        }
    }
}

fn forget_long_data(prepared: &mut Prepared, held: &mut Tally) {
    held.remove(prepared.long_data_bytes());
    prepared.long_data = None;
}

/// What a parameter in a select list is shown as: a number, a time or text, as a literal would be.
pub(crate) fn bound_type(value: &Value, collation: types::Collation) -> Option<ColumnType> {
    match value {
        Value::Null => None,
        // Bytes that are no text go to the client as they came.
        Value::Bytes(bytes) if bytes.as_str().is_none() => {
            Some(ColumnType { length: 4 * BOUND_TEXT_CHARS, ..ColumnType::new(TypeKind::VarBinary) })
        }
        Value::Bytes(_) | Value::Json(_) => Some(ColumnType::varchar(BOUND_TEXT_CHARS, collation)),
        value => Some(crate::query::literal_type(value, collation)),
    }
}

/// Whether a client says that a parameter is bytes, not text.
fn is_blob(ty: WireType) -> bool {
    matches!(ty, WireType::TinyBlob | WireType::MediumBlob | WireType::LongBlob | WireType::Blob)
}

/// A parameter as a value.
fn bind(param: BoundParam<'_>, long_data: Option<&Vec<u8>>, charsets: ClientCharsets) -> Result<Value, SqlError> {
    Ok(match param.value {
        ParamValue::Null => Value::Null,
        ParamValue::LongData => Value::bytes(long_data.map_or(&[][..], Vec::as_slice)),
        ParamValue::Int(n) => Value::Int(n),
        ParamValue::UInt(n) => Value::UInt(n),
        ParamValue::Float(n) => Value::Float(n),
        ParamValue::Double(n) => Value::Double(n),
        ParamValue::Bytes(bytes) => match param.param_type.column_type {
            WireType::NewDecimal | WireType::Decimal => match Decimal::parse_exact(bytes) {
                Some(decimal) => Value::Decimal(decimal),
                None => return Err(codes::truncated_wrong_value("DECIMAL", String::from_utf8_lossy(bytes))),
            },
            _ if charsets.client.is_utf8_bytes() || is_blob(param.param_type.column_type) => Value::bytes(bytes),
            _ => Value::bytes(&*charsets.incoming(bytes)),
        },
        ParamValue::DateTime(datetime) => match param.param_type.column_type {
            WireType::Date => Value::Date(datetime.date()),
            _ => Value::DateTime(datetime),
        },
        ParamValue::Time(time) => Value::Time(time.clamp_range()),
    })
}
