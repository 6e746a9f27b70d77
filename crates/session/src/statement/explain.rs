//! EXPLAIN: the plan of a statement, or with ANALYZE what its operators did when it ran.

use crate::client_session::ClientSession;
use crate::context::Planning;
use crate::error_map::Outcome;
use crate::front::connections::Phase;
use crate::reply::fixed_columns::{Columns, lists};
use crate::temporary::Changed;
use crate::variables::variable;
use executor::StatementContext;
use mysql_error::{SqlError, codes};
use parser::ast::{self, ExplainFormat, ExplainTarget};
use planner::Plan;
use planner::plan::Body;
use protocol::ResultSink;
use types::{Collation, Value};

/// How the plan is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Traditional,
    Tree,
    /// By the members that a query block has.
    Json,
    /// By operators.
    JsonTree,
}

/// Most bytes of a statement's text that JSON repeats.
const TEXT_BYTES_MAX: usize = 1 << 20;

fn unsupported<T>(what: &str) -> Result<T, Outcome> {
    Err(codes::not_supported_yet(what).into())
}

fn name_of(format: ExplainFormat) -> &'static str {
    match format {
        ExplainFormat::Traditional => "TRADITIONAL",
        ExplainFormat::Json => "JSON",
        ExplainFormat::Tree => "TREE",
    }
}

impl ClientSession {
    /// EXPLAIN of a statement.
    pub(crate) fn explain(&mut self, explain: &ast::Explain<'_>, sql: &[u8], sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        if explain.into.is_some() {
            match explain.format {
                Some(ExplainFormat::Json) => {}
                Some(format) => return Err(codes::explain_into_format_not_supported(name_of(format)).into()),
                None => return Err(codes::explain_into_implicit_format_not_supported().into()),
            }
        }
        let statement = match explain.target {
            ExplainTarget::Statement(statement) => statement,
            ExplainTarget::Connection(_) if explain.analyze => return unsupported("EXPLAIN ANALYZE FOR CONNECTION"),
            ExplainTarget::Connection(_) if explain.into.is_some() => {
                return Err(codes::explain_into_for_connection_not_supported().into());
            }
            ExplainTarget::Connection(id) => return self.explain_connection(explain, id, sink),
        };
        let (hinted, warnings) = crate::statement::hinted::assignments(self, statement);
        warnings.into_iter().for_each(|warning| self.core.warn(warning));
        let (from, to) = (explain.text.0 as usize, explain.text.1 as usize);
        let text = sql.get(from..to).unwrap_or(sql);
        self.in_explained_database(explain, |session| {
            session.with_variables(&hinted, |session| session.explain_statement(explain, statement, sql, text, sink))
        })?
    }

    /// Runs something with the database of FOR SCHEMA as the current one, if there is one.
    pub(crate) fn in_explained_database<T>(&mut self, explain: &ast::Explain<'_>, run: impl FnOnce(&mut Self) -> T) -> Result<T, Outcome> {
        let Some(schema) = explain.schema else { return Ok(run(self)) };
        let database = self.explained_database(schema)?;
        Ok(self.in_database(Some(database), run))
    }

    /// The database of FOR SCHEMA, if the user may use it.
    fn explained_database(&self, name: &str) -> Result<Box<str>, Outcome> {
        if !self.core.may_use_database(name) {
            return Err(self.core.database_denied(name).into());
        }
        match crate::virtual_tables::database(name) {
            Some(database) => Ok(database.name.into()),
            None => match self.shared().catalog.database(name) {
                Ok(_) => Ok(name.into()),
                Err(error) => Err(crate::error_map::catalog_error(error, || self.stop_error())),
            },
        }
    }

    /// EXPLAIN FOR CONNECTION: the plan that the statement gets which another session runs, read from its text and planned here.
    fn explain_connection(&mut self, explain: &ast::Explain<'_>, id: u64, sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        let unknown = || codes::no_such_thread(id);
        let connection = u32::try_from(id).ok().and_then(|id| self.shared().connections.find(id)).ok_or_else(unknown)?;
        let label = connection.label();
        if label.account_user != self.core.login.account_user && self.core.require_process().is_err() {
            return Err(unknown().into());
        }
        if connection.id() != self.connection.id() && connection.phase() != Phase::Running {
            self.reply_ok(0, sink);
            return Ok(());
        }
        let (arena, text) = (parser::Bump::new(), connection.statement());
        let parsed = parser::parse(&text, self.lexical_mode(), &arena).ok();
        let Some(parsed) = parsed.filter(|parsed| crate::statement::planning::is_planned(&parsed.statement)) else {
            let message = "EXPLAIN FOR CONNECTION command is supported only for SELECT/UPDATE/INSERT/DELETE/REPLACE";
            return Err(SqlError::with_message(3012, message).into());
        };
        self.in_database(label.database.map(Into::into), |session| {
            session.explain_statement(explain, &parsed.statement, &text, &text, sink)
        })
    }

    /// The format that is asked for, by the statement or by variables.
    fn explain_format(&self, explain: &ast::Explain<'_>) -> Format {
        let setting = self.session_text(variable!("explain_format"));
        let format = explain.format.unwrap_or(match setting.as_str() {
            "TREE" => ExplainFormat::Tree,
            "JSON" => ExplainFormat::Json,
            // ANALYZE has a tree where the table is no more than the variable's.
            _ if explain.analyze => ExplainFormat::Tree,
            _ => ExplainFormat::Traditional,
        });
        match format {
            ExplainFormat::Traditional => Format::Traditional,
            ExplainFormat::Tree => Format::Tree,
            ExplainFormat::Json if self.session_text(variable!("explain_json_format_version")) == "1" => Format::Json,
            ExplainFormat::Json => Format::JsonTree,
        }
    }

    fn explain_statement(
        &mut self,
        explain: &ast::Explain<'_>,
        statement: &ast::Statement<'_>,
        sql: &[u8],
        text: &[u8],
        sink: &mut ResultSink<'_>,
    ) -> Result<(), Outcome> {
        let format = self.explain_format(explain);
        let query = String::from_utf8_lossy(&text[..text.len().min(TEXT_BYTES_MAX)]);
        let query = query.trim_end();
        let told = if explain.analyze {
            if format == Format::Traditional {
                return unsupported("EXPLAIN ANALYZE with TRADITIONAL format");
            }
            let told = self.analyzed(statement, sql, format, query)?;
            // The counts tell of rows.
            self.settle()?;
            told
        } else {
            let plan = self.plan_to_explain(statement, sql, 0)?;
            if !plan.tables.is_empty() || plan.reads_dictionary {
                // As MySQL, which opens the tables.
                self.ensure_transaction();
                self.statement_done()?;
            }
            match format {
                Format::Traditional => {
                    let rows = planner::explain::traditional(&plan);
                    self.send_rows(&Columns::of(&[lists::EXPLAIN]), &rows, sink);
                    return Ok(());
                }
                Format::Tree => planner::explain::tree(&plan),
                Format::Json => planner::explain::json(&plan),
                Format::JsonTree => planner::explain::json_tree(&plan, query),
            }
        };
        match explain.into {
            Some(variable) => {
                self.core.set_user_variable(variable, Value::from(told), Some(Collation::DEFAULT));
                self.reply_ok(0, sink);
            }
            None => self.send_text(told, sink),
        }
        Ok(())
    }

    fn send_text(&mut self, text: String, sink: &mut ResultSink<'_>) {
        self.send_rows(&Columns::of(&[lists::EXPLAIN_TEXT]), &[vec![Value::from(text)]], sink);
    }

    /// The plan. What it is warned of is said at the first of its tries.
    fn plan_to_explain(&mut self, statement: &ast::Statement<'_>, sql: &[u8], tries: usize) -> Result<Plan, Outcome> {
        let planning = Planning { core: &self.core, engine: &self.engine, params: &self.tools.params, param_types: &[] };
        let plan = planner::plan_statement(statement, sql, &planning).map_err(|error| self.planning_error(statement, error))?;
        self.core.check_accesses(&plan.accesses)?;
        self.core.may_explain(&plan)?;
        if tries == 0 {
            self.warn_of(&plan);
        }
        if !matches!(plan.body, Body::Query(_)) && Changed::by(&plan) == Changed::Stored {
            self.refuse_read_only()?;
        }
        if self.transaction.restricted && !(plan.tables.is_empty() && plan.views.is_empty()) {
            self.check_restrictions(&plan)?;
        }
        Ok(plan)
    }

    /// Runs a query for its counts. A change is not carried out: as in MySQL, only its plan is told.
    fn analyzed(&mut self, statement: &ast::Statement<'_>, sql: &[u8], format: Format, query: &str) -> Result<String, Outcome> {
        let as_json = format == Format::JsonTree;
        let plan_it = |session: &mut ClientSession, tries: usize| -> Result<Plan, Outcome> {
            session.core.analyzes = true;
            let plan = session.lending(
                (),
                |session, ()| session.core.analyzes = false,
                |session| session.plan_to_explain(statement, sql, tries),
            )?;
            match format {
                Format::Json => Err(codes::explain_analyze_json_format_version_not_supported(1).into()),
                _ => Ok(plan),
            }
        };
        if !matches!(statement, ast::Statement::Query(_)) {
            let plan = plan_it(self, 0)?;
            return Ok(match (&plan.body, as_json) {
                (Body::Insert(_) | Body::Query(_), true) => planner::explain::json_tree(&plan, query),
                (Body::Insert(_) | Body::Query(_), false) => planner::explain::tree(&plan),
                (Body::Update(_) | Body::Delete(_), true) => planner::explain::not_executable_json_tree(&plan),
                (Body::Update(_) | Body::Delete(_), false) => format!("-> {}\n", planner::explain::NOT_EXECUTABLE),
            });
        }
        let plan = self.plan_and_enter(|plan: &Plan| plan.uses_tables().then_some(admission::Work::Long), plan_it)?;
        self.limit_time(&plan);
        let counted = self.run_entered(|params, engine, core, scratch| executor::analyze(&plan, params, engine, core, scratch));
        let (actuals, ended) = counted.map_err(|error| self.failed_run(error))?;
        if let Err(error) = ended {
            let failed = self.failed_run(error);
            if failed.error.code != codes::ER_QUERY_TIMEOUT {
                return Err(failed);
            }
            // Of a query past its time the counts tell how far it came.
            self.core.warn(codes::query_interrupted().into());
        }
        self.statement_done()?;
        Ok(match as_json {
            true => planner::explain::analyzed_json_tree(&plan, query, &actuals),
            false => planner::explain::analyzed_tree(&plan, &actuals),
        })
    }
}
