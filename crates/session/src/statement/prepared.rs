//! Prepared statements: COM_STMT_* and PREPARE/EXECUTE.
//!
//! A statement with a plan keeps it and runs it with bound values; when the catalogue has changed it is planned again from its text.
//! Other statements are parsed at each execution. What a session has of them is in [`statements`].

mod handles;
mod statements;

use crate::client_session::ClientSession;
use crate::context::Planning;
use crate::error_map::{Outcome, parse_error};
use crate::privileges::authorize;
use crate::reply::charsets::ClientCharsets;
use crate::reply::fixed_columns::Columns;
use crate::reply::result_columns;
use crate::reply::sink::PrepareReply;
use crate::statement::deep;
use crate::statement::enter::{STALE_PLANS_MAX, too_stale};
use crate::statement::plan_cache::{CachedPlan, PlanKey};
use crate::statement::planning::is_planned;
use crate::statement::preparable::is_preparable;
use crate::statement::query::empty_query;
use crate::statement::run::Ran;
use executor::StatementContext;
use mysql_error::{SqlError, codes};
use parser::ast::{self, PrepareSource};
use protocol::command::Execute;
use protocol::{BadParams, BoundParam, ColumnDefinition, ColumnType as WireType, ParamValue, ResultSink, ServerStatus};
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use types::{ColumnType, Decimal, TypeKind, Value};

use statements::{Counted, Prepared, Setting};
pub(crate) use statements::{CursorUse, PreparedStatements};

/// How long a bound text may be by what its column says: as MySQL states it.
const BOUND_TEXT_CHARS: u32 = 16_383;

impl ClientSession {
    /// COM_STMT_PREPARE.
    #[inline(never)]
    pub(crate) fn prepare(&mut self, sql: &[u8], sink: &mut ResultSink<'_>) {
        self.shared().status.com_stmt_prepare.inc();
        self.connection.set_statement(sql);
        self.core.diagnostics.clear();
        let added = self.prepare_text(sql).and_then(|(prepared, counted, head)| {
            let (plan, param_count) = (prepared.plan.clone(), prepared.param_count);
            Ok((self.prepared.add(prepared, counted)?, plan, head, param_count))
        });
        let (statement_id, plan, head, param_count) = match added {
            Ok(added) => added,
            Err(outcome) => {
                self.core.diagnostics.push_error(&outcome.error);
                self.core.settings.charsets.send_error(sink, &outcome.error);
                return;
            }
        };
        if self.logged.is_some() {
            self.log_prepared(sql);
        }
        let columns = plan.as_ref().map_or(&[][..], |plan| &plan.plan.columns);
        let column_count = head.as_ref().map_or(columns.len(), Columns::len);
        let reply = PrepareReply {
            statement_id,
            column_count: column_count as u16,
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
        if column_count > 0 {
            for column in columns {
                result_columns::write_definition(column, results, out);
            }
            if let Some(head) = head {
                head.write(results, out);
            }
            if !deprecate_eof {
                protocol::reply::write_eof(status, 0, out);
            }
        }
    }

    /// What MySQL looks at when it prepares a statement that has no plan here: whether the rights are there, and for queries the tables. (Most others are looked at only when
    /// they run.) Of what is a query to MySQL it knows the columns then.
    fn look_at_prepared(&mut self, statement: &ast::Statement<'_>, sql: &[u8]) -> Result<Option<Columns>, Outcome> {
        match statement {
            ast::Statement::CreateTable(_) | ast::Statement::CreateView(_) => authorize(self, statement)?,
            ast::Statement::Show(show) => {
                crate::show::look(self, &show.what)?;
                return Ok(crate::show::head(self, show));
            }
            ast::Statement::Describe { table, .. } => {
                crate::show::look_at_table(self, table)?;
                return Ok(Some(crate::show::describe_head(self, table)));
            }
            ast::Statement::Explain(explain) => match explain.target {
                ast::ExplainTarget::Statement(statement) if is_planned(statement) => {
                    self.in_explained_database(explain, |session| session.plan_ahead(statement, sql).map(drop))??;
                }
                _ => {}
            },
            ast::Statement::Do(exprs) => {
                self.tools.params.clear();
                let planning = Planning { core: &self.core, engine: &self.engine, params: &[], param_types: &[] };
                let plan = planner::plan_expressions(exprs, sql, &planning)?;
                self.core.check_accesses(&plan.accesses)?;
            }
            _ => {}
        }
        Ok(None)
    }

    fn prepare_text(&mut self, sql: &[u8]) -> Result<(Prepared, Counted, Option<Columns>), Outcome> {
        let key = self.prepared_key(sql);
        let arena = std::mem::take(&mut self.tools.arena);
        let result = self.prepare_parsed(sql, key, &arena);
        self.give_back(arena);
        result
    }

    fn prepare_parsed(&mut self, sql: &[u8], key: PlanKey, arena: &parser::Bump) -> Result<(Prepared, Counted, Option<Columns>), Outcome> {
        let parsed = match parser::parse(sql, self.lexical_mode(), arena).and_then(deep::checked) {
            Err(error) if deep::asks_for_room(&error) => return deep::with_room(|| self.prepare_parsed(sql, key, arena)),
            parsed => parsed.map_err(parse_error)?,
        };
        if parsed.rest < sql.len() && !crate::statement::query::is_blank(&sql[parsed.rest..]) {
            return Err(parse_error(parser::ParseError::syntax(sql, parsed.rest)).into());
        }
        if parsed.param_count as usize > protocol::execute::PARAMS_MAX {
            return Err(codes::ps_many_param().into());
        }
        let counted = Counted::one(self.shared())?;
        let statement = &parsed.statement;
        let (hinted, warnings) = crate::statement::hinted::assignments(self, statement);
        warnings.into_iter().for_each(|warning| self.core.warn(warning));
        let looks = !parsed.reads_conditions && is_preparable(statement);
        let head = if looks { self.look_at_prepared(statement, sql)? } else { None };
        let plan = match statement {
            ast::Statement::Empty => return Err(empty_query()),
            _ if parsed.reads_conditions || !is_preparable(statement) => return Err(codes::unsupported_ps().into()),
            // Planned and kept under the values that it will run under.
            _ if is_planned(statement) && !hinted.is_empty() => {
                Some(self.with_variables(&hinted, |session| session.plan_ahead(statement, sql).map(Arc::new))?)
            }
            _ if is_planned(statement) => Some(match self.shared().plans.get(&key, self.shared().catalog.version(), &self.core) {
                Some(plan) => plan,
                None => {
                    let plan = Arc::new(self.plan_ahead(statement, sql)?);
                    if !parsed.is_deep {
                        self.keep_plan(key, &plan);
                    }
                    plan
                }
            }),
            // These are evaluated from their text, with the values at hand.
            // A query here is one into a file.
            ast::Statement::Query(_)
            | ast::Statement::Set(_)
            | ast::Statement::Do(_)
            | ast::Statement::Explain(_)
            | ast::Statement::Show(_) => None,
            ast::Statement::CreateView(_) if parsed.param_count > 0 => return Err(codes::view_select_variable().into()),
            _ if parsed.param_count > 0 => return Err(codes::unsupported_ps().into()),
            _ => None,
        };
        let mut prepared = Prepared::new(sql, statement, parsed.param_count as u16, hinted);
        if parsed.is_deep {
            prepared.run_with_room();
        }
        if let Some(plan) = plan {
            // Before its columns are told.
            self.core.check_accesses(&plan.plan.accesses)?;
            plan.plan.warnings.iter().for_each(|warning| self.core.warn(warning.clone()));
            prepared.run_by(plan);
        }
        Ok((prepared, counted, head))
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
        let Some(prepared) = self.prepared.get_mut(id) else {
            return Err(codes::unknown_stmt_handler(id, "mysql_stmt_precheck").into());
        };
        self.connection.set_prepared_statement(id, &prepared.sql);
        if let Some(error) = prepared.unfit() {
            return Err(error.into());
        }
        self.tools.params.clear();
        let (params, mut bad, mut attributes) = (&mut self.tools.params, None, Vec::new());
        let charsets = self.core.settings.charsets;
        let param_count = usize::from(prepared.param_count);
        let (types, long_data) = prepared.bound();
        let decoded = execute.params_and_attributes(
            param_count,
            types,
            |index| long_data.get(index).is_some(),
            |index, param| match bind(param, long_data.get(index), charsets) {
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
        if prepared.is_rare() {
            self.prepared.forget_long_data(id);
        }
        decoded.map_err(bad_params)?;
        if let Some(error) = bad {
            return Err(error.into());
        }
        if self.logged.is_some()
            && let Some(prepared) = self.prepared.get(id)
        {
            let sql = Arc::clone(&prepared.sql);
            self.profile_execute(&sql);
            self.log_execute(&sql);
            return self.run_prepared(id, sink, true);
        }
        let version = self.core.shared.catalog.version();
        // As most are: the plan is good as it is.
        let plan = self.prepared.get_mut(id).and_then(|prepared| prepared.take_plan(version, &self.core));
        if let Some(plan) = plan
            && self.run_and_keep(id, plan, sink, Self::run_or_leave)? != Ran::Stale
        {
            return Ok(());
        }
        self.run_prepared(id, sink, true)
    }

    /// Runs a prepared statement's plan, which it has again afterwards.
    #[inline]
    fn run_and_keep<'s>(
        &mut self,
        id: u32,
        plan: Arc<CachedPlan>,
        sink: &mut ResultSink<'s>,
        run: impl FnOnce(&mut Self, &Arc<CachedPlan>, &mut ResultSink<'s>) -> Result<Ran, Outcome>,
    ) -> Result<Ran, Outcome> {
        let ran = run(self, &plan, sink);
        if let Some(prepared) = self.prepared.get_mut(id) {
            prepared.plan = Some(plan);
        }
        ran
    }

    /// Runs a prepared statement with the values in `self.tools.params`. It `may_be_left` where it waits for a row and nothing is done behind it; so it is where nothing is set for it that is set back.
    fn run_prepared(&mut self, id: u32, sink: &mut ResultSink<'_>, may_be_left: bool) -> Result<(), Outcome> {
        match self.prepared.get(id).and_then(Prepared::setting) {
            None => self.run_prepared_as_is(id, sink, may_be_left),
            Some(setting) if setting.with_room => deep::with_room(|| self.run_prepared_in(setting, id, sink)),
            Some(setting) => self.run_prepared_in(setting, id, sink),
        }
    }

    /// The same in the database that the statement was prepared in, with the variables set that its hints name, if it asks for either.
    #[cold]
    fn run_prepared_in(&mut self, setting: Setting, id: u32, sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        let mut run =
            |session: &mut ClientSession| session.with_variables(&setting.hinted, |session| session.run_prepared_as_is(id, sink, false));
        match setting.elsewhere {
            None => run(self),
            Some(database) => self.in_database(database.as_deref().map(Box::from), run),
        }
    }

    fn run_prepared_as_is(&mut self, id: u32, sink: &mut ResultSink<'_>, may_be_left: bool) -> Result<(), Outcome> {
        for _ in 0..STALE_PLANS_MAX {
            let version = self.shared().catalog.version();
            let Some(prepared) = self.prepared.get_mut(id) else {
                return Err(codes::unknown_stmt_handler(id, "EXECUTE").into());
            };
            if !prepared.planned {
                let sql = Arc::clone(&prepared.sql);
                return self.run_text(&sql, sink);
            }
            // Taken out while it runs, so that nothing shared is written.
            let core = &self.core;
            let shown = prepared.plan.as_ref().map(|plan| plan.plan.columns.len());
            let ready = prepared.plan.take_if(|plan| plan.is_ready(version, core));
            let plan = match ready.filter(|plan| self.suits_values(plan)) {
                Some(plan) => plan,
                None => {
                    let Some(sql) = self.prepared.get(id).map(|prepared| Arc::clone(&prepared.sql)) else {
                        return Err(codes::unknown_stmt_handler(id, "EXECUTE").into());
                    };
                    let plan = self.plan_again(&sql)?;
                    if shown.is_some_and(|shown| shown != plan.plan.columns.len()) {
                        self.told_status.insert(ServerStatus::METADATA_CHANGED);
                    }
                    plan
                }
            };
            let plan = if plan.plan.free_params.is_empty() { plan } else { self.suited_to_params(id, plan)? };
            let ran = if may_be_left {
                self.run_and_keep(id, plan, sink, Self::run_or_leave)?
            } else {
                self.run_and_keep(id, plan, sink, Self::run_cached)?
            };
            if ran != Ran::Stale {
                return Ok(());
            }
        }
        Err(too_stale())
    }

    /// The plan, or another where parameters that the select list shows were planned as something else than what is bound now.
    fn suited_to_params(&mut self, id: u32, plan: Arc<CachedPlan>) -> Result<Arc<CachedPlan>, Outcome> {
        let collation = self.core.settings.collation;
        let suits = |(n, planned): &(u32, Option<(TypeKind, bool)>)| match self.tools.params.get(*n as usize) {
            None | Some(Value::Null) => true,
            Some(value) => bound_type(value, collation).map(|ty| (ty.kind, ty.unsigned)) == *planned,
        };
        if plan.plan.free_params.iter().all(suits) {
            return Ok(plan);
        }
        let sql = self.prepared.get(id).map(|prepared| Arc::clone(&prepared.sql));
        match sql {
            // Others may bind other types to the same text: this plan is not for them.
            Some(sql) => Ok(Arc::new(self.plan_with_params(&sql)?)),
            None => Ok(plan),
        }
    }

    /// Plans a prepared text with values at hand: at its first execution, after DDL, and where another plan does not suit them.
    #[cold]
    fn plan_again(&mut self, sql: &[u8]) -> Result<Arc<CachedPlan>, Outcome> {
        let key = self.prepared_key(sql);
        if let Some(plan) = self.shared().plans.get(&key, self.shared().catalog.version(), &self.core)
            && !plan.provisional
            && self.suits_values(&plan)
        {
            return Ok(plan);
        }
        let plan = Arc::new(self.plan_with_params(sql)?);
        // A deep one is this session's.
        if !parser::has_room() {
            self.keep_plan(key, &plan);
        }
        Ok(plan)
    }

    #[cold]
    fn plan_with_params(&mut self, sql: &[u8]) -> Result<CachedPlan, Outcome> {
        let arena = std::mem::take(&mut self.tools.arena);
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
        let arena = std::mem::take(&mut self.tools.arena);
        let result = match parser::parse(sql, self.lexical_mode(), &arena) {
            Ok(parsed) => self.run_statement(&parsed.statement, sql, sink).map(|_| ()),
            Err(error) => Err(parse_error(error).into()),
        };
        self.give_back(arena);
        result
    }

    /// PREPARE name FROM a text, or from a variable that holds one.
    pub(crate) fn prepare_statement(&mut self, name: &str, source: &PrepareSource<'_>, sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        let text = match source {
            PrepareSource::Text(text) => text.to_vec(),
            PrepareSource::UserVar(variable) => match self.core.user_variable(variable).value {
                Value::Bytes(text) => text.to_vec(),
                _ => return Err(empty_query()),
            },
        };
        self.prepare_named(name, &text)?;
        self.reply_info(0, b"Statement prepared", sink);
        Ok(())
    }

    fn prepare_named(&mut self, name: &str, sql: &[u8]) -> Result<(), Outcome> {
        let lower = name.to_lowercase();
        self.prepared.close_named(&lower);
        let outer = std::mem::take(&mut self.tools.arena);
        let prepared = self.prepare_text(sql);
        self.tools.arena = outer;
        let (prepared, counted, _) = prepared?;
        let id = self.prepared.add(prepared, counted)?;
        if self.logged.is_some() {
            self.log_prepared(sql);
        }
        self.changes.note_state();
        self.prepared.name(lower, id);
        Ok(())
    }

    /// EXECUTE name USING variables.
    pub(crate) fn execute_named(&mut self, name: &str, using: &[&str], sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        let unknown = || codes::unknown_stmt_handler(name, "EXECUTE");
        let id = self.prepared.named(&name.to_lowercase()).ok_or_else(unknown)?;
        let count = self.prepared.get(id).ok_or_else(unknown)?.param_count;
        if usize::from(count) != using.len() {
            return Err(codes::wrong_arguments("EXECUTE").into());
        }
        self.tools.params.clear();
        for variable in using {
            let value = self.core.user_variable(variable).value;
            self.tools.params.push(value);
        }
        if self.logged.is_some()
            && let Some(sql) = self.prepared.get(id).map(|prepared| Arc::clone(&prepared.sql))
        {
            self.log_execute(&sql);
        }
        self.run_prepared(id, sink, false)
    }

    /// DEALLOCATE PREPARE.
    pub(crate) fn deallocate(&mut self, name: &str) -> Result<(), Outcome> {
        if self.prepared.close_named(&name.to_lowercase()) {
            Ok(())
        } else {
            Err(codes::unknown_stmt_handler(name, "DEALLOCATE PREPARE").into())
        }
    }
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
        value => Some(crate::statement::planning::literal_type(value, collation)),
    }
}

/// Whether a client says that a parameter is bytes, not text.
fn is_blob(ty: WireType) -> bool {
    matches!(ty, WireType::TinyBlob | WireType::MediumBlob | WireType::LongBlob | WireType::Blob)
}

/// A string or bytes of a client.
#[inline]
fn text(bytes: &[u8], ty: WireType, charsets: ClientCharsets) -> Value {
    if charsets.client.is_utf8_bytes() || is_blob(ty) { Value::bytes(bytes) } else { Value::bytes(&*charsets.incoming(bytes)) }
}

#[cold]
fn bad_params(why: BadParams) -> SqlError {
    match why {
        BadParams::Malformed => codes::malformed_packet(),
        BadParams::Types => codes::wrong_arguments("mysqld_stmt_execute"),
    }
}

/// A moment or a time with a field that is out of its range.
#[cold]
fn out_of_range(ty: WireType) -> SqlError {
    let kind = match ty {
        WireType::Date | WireType::NewDate => "DATE",
        WireType::Time | WireType::Time2 => "TIME",
        _ => "DATETIME",
    };
    codes::data_out_of_range(kind, "set_parameter_value")
}

/// A parameter as a value. Inlined: each parameter of each statement passes here.
#[inline(always)]
fn bind(param: BoundParam<'_>, long_data: Option<&Vec<u8>>, charsets: ClientCharsets) -> Result<Value, SqlError> {
    Ok(match param.value {
        ParamValue::Null => Value::Null,
        ParamValue::LongData => text(long_data.map_or(&[][..], Vec::as_slice), param.param_type.column_type, charsets),
        ParamValue::Int(n) => Value::Int(n),
        ParamValue::UInt(n) => Value::UInt(n),
        ParamValue::Float(n) => Value::Float(n),
        ParamValue::Double(n) => Value::Double(n),
        ParamValue::Bytes(bytes) => match param.param_type.column_type {
            WireType::NewDecimal | WireType::Decimal => match Decimal::parse_exact(bytes) {
                Some(decimal) => Value::Decimal(decimal),
                None => return Err(codes::truncated_wrong_value("DECIMAL", String::from_utf8_lossy(bytes))),
            },
            ty => text(bytes, ty, charsets),
        },
        ParamValue::DateTime(datetime) => match param.param_type.column_type {
            WireType::Date => Value::Date(datetime.date()),
            _ => Value::DateTime(datetime),
        },
        ParamValue::Time(time) => Value::Time(time),
        ParamValue::OutOfRange => return Err(out_of_range(param.param_type.column_type)),
    })
}
