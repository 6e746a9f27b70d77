//! EXPLAIN: the plan of a statement, or with ANALYZE what its operators did when it ran.

use crate::client_session::ClientSession;
use crate::connections::Phase;
use crate::context::Planning;
use crate::error_map::{Outcome, executor_error};
use crate::result_columns;
use crate::run::{STALE_PLANS_MAX, too_stale};
use crate::temporary::Changed;
use executor::StatementContext;
use mysql_error::{SqlError, codes};
use parser::ast::{self, ExplainFormat, ExplainTarget};
use planner::Plan;
use planner::plan::{Body, OutputColumn};
use protocol::ResultSink;
use types::Value;

fn unsupported<T>(what: &str) -> Result<T, Outcome> {
    Err(codes::not_supported_yet(what).into())
}

impl ClientSession {
    /// EXPLAIN of a statement.
    pub(crate) fn explain(&mut self, explain: &ast::Explain<'_>, sql: &[u8], sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        let statement = match explain.target {
            ExplainTarget::Statement(statement) => statement,
            ExplainTarget::Connection(_) if explain.analyze => return unsupported("EXPLAIN ANALYZE FOR CONNECTION"),
            ExplainTarget::Connection(id) => return self.explain_connection(explain, id, sink),
        };
        if explain.into.is_some() || explain.schema.is_some() {
            return unsupported(if explain.into.is_some() { "EXPLAIN INTO" } else { "EXPLAIN FOR SCHEMA" });
        }
        let (hinted, warnings) = crate::hinted::assignments(statement);
        warnings.into_iter().for_each(|warning| self.core.warn(warning));
        self.with_variables(&hinted, |session| session.explain_statement(explain, statement, sql, sink))
    }

    /// EXPLAIN FOR CONNECTION: the plan that the statement gets which another session runs, read from its text and planned here.
    fn explain_connection(&mut self, explain: &ast::Explain<'_>, id: u64, sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        let unknown = || codes::no_such_thread(id);
        let connection = u32::try_from(id).ok().and_then(|id| self.shared().connections.find(id)).ok_or_else(unknown)?;
        let label = connection.label();
        if label.user != self.core.login.account_user && self.core.require_process().is_err() {
            return Err(unknown().into());
        }
        if connection.id() != self.connection.id() && connection.phase() != Phase::Running {
            self.reply_ok(0, sink);
            return Ok(());
        }
        let arena = parser::Bump::new();
        let parsed = parser::parse(&label.statement, self.lexical_mode(), &arena).ok();
        let Some(parsed) = parsed.filter(|parsed| crate::query::is_planned(&parsed.statement)) else {
            let message = "EXPLAIN FOR CONNECTION command is supported only for SELECT/UPDATE/INSERT/DELETE/REPLACE";
            return Err(SqlError::with_message(3012, message).into());
        };
        let own = std::mem::replace(&mut self.core.database, label.database.map(Into::into));
        let explained = self.explain_statement(explain, &parsed.statement, &label.statement, sink);
        self.core.database = own;
        explained
    }

    fn explain_statement(
        &mut self,
        explain: &ast::Explain<'_>,
        statement: &ast::Statement<'_>,
        sql: &[u8],
        sink: &mut ResultSink<'_>,
    ) -> Result<(), Outcome> {
        let setting = self.session_text("explain_format");
        if explain.analyze {
            match explain.format {
                None if setting == "JSON" => return unsupported("EXPLAIN ANALYZE with JSON format"),
                None | Some(ExplainFormat::Tree) => {}
                Some(ExplainFormat::Traditional) => return unsupported("EXPLAIN ANALYZE with TRADITIONAL format"),
                Some(ExplainFormat::Json) => return unsupported("EXPLAIN ANALYZE with JSON format"),
            }
            let text = self.analyzed(statement, sql)?;
            // The counts tell of rows.
            self.settle()?;
            self.send_text(text, sink);
            return Ok(());
        }
        let plan = self.plan_to_explain(statement, sql)?;
        if !plan.tables.is_empty() || plan.reads_dictionary {
            // As MySQL, which opens the tables.
            self.ensure_transaction();
            self.statement_done()?;
        }
        let format = explain.format.unwrap_or(match setting.as_str() {
            "TREE" => ExplainFormat::Tree,
            "JSON" => ExplainFormat::Json,
            _ => ExplainFormat::Traditional,
        });
        match format {
            ExplainFormat::Traditional => {
                let columns: Vec<OutputColumn> =
                    planner::explain::columns().into_iter().map(|(name, ty)| result_columns::plain(name, ty)).collect();
                let rows = planner::explain::traditional(&plan);
                self.send_rows(&columns, &rows, sink);
            }
            ExplainFormat::Tree => self.send_text(planner::explain::tree(&plan), sink),
            ExplainFormat::Json => self.send_text(planner::explain::json(&plan), sink),
        }
        Ok(())
    }

    fn send_text(&mut self, text: String, sink: &mut ResultSink<'_>) {
        let columns = [result_columns::plain("EXPLAIN", types::ColumnType::varchar(65_535, types::Collation::DEFAULT))];
        self.send_rows(&columns, &[vec![Value::from(text)]], sink);
    }

    fn plan_to_explain(&mut self, statement: &ast::Statement<'_>, sql: &[u8]) -> Result<Plan, Outcome> {
        let planning = Planning { core: &self.core, engine: &self.engine, params: &self.params, param_types: &[] };
        let plan = planner::plan_statement(statement, sql, &planning).map_err(|error| self.planning_error(statement, error))?;
        self.core.check_accesses(&plan.accesses)?;
        self.warn_of(&plan);
        if !matches!(plan.body, Body::Query(_)) && Changed::by(&plan) == Changed::Stored {
            self.refuse_read_only()?;
        }
        if self.transaction.restricted && !(plan.tables.is_empty() && plan.views.is_empty()) {
            self.check_restrictions(&plan)?;
        }
        Ok(plan)
    }

    /// Runs a query for its counts. A change is not carried out: as in MySQL, only its plan is told.
    fn analyzed(&mut self, statement: &ast::Statement<'_>, sql: &[u8]) -> Result<String, Outcome> {
        for _ in 0..STALE_PLANS_MAX {
            let version = self.shared().catalog.version();
            let plan = self.plan_to_explain(statement, sql)?;
            match &plan.body {
                Body::Query(_) => {}
                Body::Insert(_) => return Ok(planner::explain::tree(&plan)),
                Body::Update(_) | Body::Delete(_) => return Ok("<not executable by iterator executor>\n".to_owned()),
            }
            let reads = !plan.tables.is_empty() || plan.reads_dictionary || !plan.views.is_empty();
            if reads && !self.enter(&plan, version, Some(admission::Work::Long))? {
                continue;
            }
            self.limit_time(&plan);
            self.engine.statement_start();
            let counted = executor::analyze(&plan, &self.params, &mut self.engine, &mut self.core, &mut self.scratch);
            self.core.lock_picture = None;
            let actuals = counted.map_err(|error| executor_error(error, || self.core.stop_error()))?;
            self.statement_done()?;
            return Ok(planner::explain::analyzed_tree(&plan, &actuals));
        }
        Err(too_stale())
    }
}
