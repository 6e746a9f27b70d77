//! From a parsed statement to a plan that is kept, and to one that was kept before: what both ways of a statement, by its text and by a handle, share.

use crate::client_session::ClientSession;
use crate::context::Planning;
use crate::reply::result_columns;
use crate::statement::plan_cache::{CachedPlan, PlanKey};
use crate::temporary::Changed;
use crate::variables::variable;
use executor::StatementContext;
use mysql_error::SqlError;
use parser::ast;
use planner::Plan;
use planner::short::ShortPlan;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use types::{ColumnType, TypeKind, Value};

/// What a plan takes beside what is counted while it is made.
const PLAN_BYTES_MIN: usize = 512;

impl ClientSession {
    /// Plans a statement under the present catalogue. The parameter values at hand have the types of the text's literals.
    pub(crate) fn plan(&self, statement: &ast::Statement<'_>, sql: &[u8]) -> Result<CachedPlan, SqlError> {
        let collation = self.core.settings.collation;
        let param_types: Vec<ColumnType> = self.tools.params.iter().map(|value| literal_type(value, collation)).collect();
        self.plan_with(statement, sql, &param_types)
    }

    /// Plans a statement that is being prepared: by the time that it runs, what its estimates rest on may be otherwise.
    pub(crate) fn plan_ahead(&mut self, statement: &ast::Statement<'_>, sql: &[u8]) -> Result<CachedPlan, SqlError> {
        self.tools.params.clear();
        let mut plan = self.plan_prepared(statement, sql)?;
        plan.provisional |= plan.plan.drifts;
        // What runs next is another statement.
        self.planned.set(false);
        Ok(plan)
    }

    /// Plans a prepared statement: its parameters have no types of their own. Values at hand are used for estimates.
    pub(crate) fn plan_prepared(&self, statement: &ast::Statement<'_>, sql: &[u8]) -> Result<CachedPlan, SqlError> {
        let mut plan = self.plan_with(statement, sql, &[])?;
        plan.prepared = true;
        plan.text = Some(sql.into());
        Ok(plan)
    }

    fn plan_with(&self, statement: &ast::Statement<'_>, sql: &[u8], param_types: &[ColumnType]) -> Result<CachedPlan, SqlError> {
        let catalog_version = self.shared().catalog.version();
        let held_before = memory::held();
        let planning = Planning { core: &self.core, engine: &self.engine, params: &self.tools.params, param_types };
        let mut plan: Plan = planner::plan_statement(statement, sql, &planning).map_err(|error| self.planning_error(statement, error))?;
        crate::virtual_tables::as_sent(&mut plan.columns);
        self.shared().status.plan_cache_misses.inc();
        self.planned.set(true);
        let results = self.core.settings.charsets.results;
        let columns = result_columns::block(&plan.columns, results);
        let of_rows = self.core.settings.charsets.of_rows();
        let converts = plan.columns.iter().any(|column| crate::reply::charsets::conversion(&column.ty, of_rows).is_some());
        let written_in = if converts { of_rows } else { crate::reply::charsets::UTF8 };
        let provisional =
            self.tools.params.len() < plan.param_count as usize && !plan.short.as_ref().is_some_and(ShortPlan::suits_any_size);
        let work = crate::transaction::admit::work_of(&plan);
        let may_be_left = crate::statement::left::may_be_left(&plan);
        let shape = planner::shape::Shape::of(&plan);
        let uses_tables = plan.uses_tables();
        let changed = Changed::by(&plan);
        let rests_on_values =
            !(plan.dives.is_empty() && plan.limits.is_empty()) && plan.short.as_ref().is_none_or(ShortPlan::rests_on_limit);
        let made_micros = if plan.drifts { self.core.statement_micros() } else { 0 };
        Ok(CachedPlan {
            plan,
            columns,
            serial: crate::privileges::next_serial(),
            catalog_version,
            made_micros,
            rests_on_values,
            provisional,
            prepared: false,
            select_limit: self.core.settings.select_limit,
            max_join_size: self.core.settings.max_join_size,
            switches: self.core.settings.switches,
            results,
            written_in,
            uses_tables,
            changed,
            temporary: self.core.settings.temporary,
            work,
            may_be_left,
            shape,
            template: None,
            text: None,
            text_bytes: sql.len(),
            // Nothing is counted where the program's allocator is another one: then the text says how large a plan may be.
            bytes: (memory::held() - held_before).max(0) as usize + 2 * sql.len() + PLAN_BYTES_MIN,
            used: AtomicBool::new(false),
        })
    }

    /// What a statement is told that could not be planned: first of all, in a READ ONLY transaction, that it may not write.
    #[cold]
    pub(crate) fn planning_error(&self, statement: &ast::Statement<'_>, error: SqlError) -> SqlError {
        let writes = match statement {
            ast::Statement::Query(query) => query.locking.iter().any(|clause| clause.strength == ast::LockStrength::Update),
            _ => true,
        };
        if writes { self.refuse_read_only().err().unwrap_or(error) } else { error }
    }

    /// Keeps a plan for all sessions, unless it is of names that only this one knows.
    pub(crate) fn keep_plan(&self, key: PlanKey, plan: &Arc<CachedPlan>) {
        if plan.temporary == 0 {
            self.shared().plans.put(key, plan);
        }
    }

    /// A plan from the session's own cache or the server's. Who has run it puts it into the session's own cache.
    #[inline]
    pub(crate) fn take_plan(&mut self, key: &PlanKey) -> Option<Arc<CachedPlan>> {
        let version = self.shared().catalog.version();
        let core = &self.core;
        self.tools.plans.take(key, version, core).or_else(|| core.shared.plans.get(key, version, core))
    }

    /// Whether a plan is one for the parameters' values at hand.
    #[inline]
    pub(crate) fn suits_values(&self, plan: &CachedPlan) -> bool {
        !plan.rests_on_values || self.is_told_alike(plan)
    }

    #[inline(never)]
    fn is_told_alike(&self, plan: &CachedPlan) -> bool {
        plan.plan.suits_values(&Planning { core: &self.core, engine: &self.engine, params: &self.tools.params, param_types: &[] })
    }

    /// Hash of what plans depend on beside the text.
    #[inline]
    pub(crate) fn environment(&mut self) -> u64 {
        if self.environment == 0 {
            let mut hasher = foldhash::fast::FixedState::default().build_hasher();
            hasher.write(self.core.database.as_deref().unwrap_or("\0").as_bytes());
            hasher.write_u64(self.core.settings.sql_mode.bits());
            hasher.write_u16(self.core.settings.collation.id());
            hasher.write_u32(self.core.settings.charsets.number());
            hasher.write_u64(self.core.number(variable!("div_precision_increment")));
            hasher.write_u64(self.core.settings.select_limit);
            hasher.write_u64(self.core.settings.max_join_size);
            hasher.write_u64(self.core.number(variable!("sql_auto_is_null")));
            hasher.write_u32(self.core.settings.switches.bits());
            hasher.write_usize(self.core.settings.lc_time_names);
            hasher.write_u8(self.core.settings.safe_updates.into());
            hasher.write_u64(self.core.settings.temporary);
            self.environment = hasher.finish() | 1;
        }
        self.environment
    }
}

/// Whether a statement is run by a plan.
pub(crate) fn is_planned(statement: &ast::Statement<'_>) -> bool {
    match statement {
        ast::Statement::Query(query) => !matches!(query.into, Some(ast::SelectInto::Outfile { .. } | ast::SelectInto::Dumpfile(_))),
        _ => matches!(statement, ast::Statement::Insert(_) | ast::Statement::Update(_) | ast::Statement::Delete(_)),
    }
}

/// The type of a parameter value.
pub(crate) fn literal_type(value: &Value, collation: types::Collation) -> ColumnType {
    match value {
        Value::Null => ColumnType::new(TypeKind::Null),
        Value::Int(_) => ColumnType::bigint(),
        Value::UInt(_) => ColumnType::bigint_unsigned(),
        Value::Float(_) | Value::Double(_) => ColumnType::double(),
        Value::Decimal(d) => ColumnType::decimal(d.precision().max(1), d.scale()),
        Value::Bytes(text) => ColumnType::varchar(text.len().max(1) as u32, collation),
        Value::Json(_) => ColumnType::new(TypeKind::Json),
        Value::Date(_) => ColumnType::new(TypeKind::Date),
        Value::Time(_) => ColumnType::temporal(TypeKind::Time, 6),
        Value::DateTime(_) | Value::Timestamp(_) => ColumnType::temporal(TypeKind::DateTime, 6),
    }
}
