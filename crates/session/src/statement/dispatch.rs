//! Statements by kind: those with a plan, and those that the session carries out itself.

use crate::accounts::{SYSTEM_USER, run_grant, run_role, run_user};
use crate::client_session::ClientSession;
use crate::context::Planning;
use crate::error_map::Outcome;
use crate::front::connections::Stop;
use crate::privileges::authorize;
use crate::query_logs::Log;
use crate::reply::fixed_columns::Columns;
use crate::reply::output::Output;
use crate::statement::planning::is_planned;
use crate::statement::query::empty_query;
use crate::statement::run::Ran;
use crate::transaction::Completion;
use crate::{ddl, show};
use admission::Work;
use executor::{RowConsumer, Scratch, StatementContext};
use mysql_error::{SqlError, codes};
use parser::ast::{self, KillKind, PrepareSource, Statement};
use planner::Plan;
use protocol::{OkReply, ResultSink};
use std::sync::Arc;
use types::{ColumnType, Value};

/// What is left to say when a statement without a plan has been carried out.
enum Answer {
    /// Its reply is written.
    Said,
    /// An OK packet.
    Done,
}

impl ClientSession {
    /// Carries out a parsed statement of the text `sql` and writes its reply.
    pub(crate) fn run_statement(&mut self, statement: &Statement<'_>, sql: &[u8], sink: &mut ResultSink<'_>) -> Result<Ran, Outcome> {
        if is_planned(statement) {
            // Cleared first: what planning complains about belongs to this statement.
            self.core.diagnostics.clear();
            let (hinted, warnings) = crate::statement::hinted::assignments(self, statement);
            return self.with_variables(&hinted, |session| {
                session.stage("optimizing", "run_statement");
                let mut plan = session.plan(statement, sql)?;
                plan.plan.warnings.extend(warnings);
                session.run_cached(&Arc::new(plan), sink)
            });
        }
        self.shared().kinds.count(statement);
        // SHOW WARNINGS and its like report on the statement before, and so does GET DIAGNOSTICS; all others begin a new list, those that are refused, too.
        if !matches!(statement, Statement::Show(_) | Statement::GetDiagnostics(_)) {
            self.core.diagnostics.clear();
        }
        authorize(self, statement)?;
        self.stage("executing", "run_statement");
        match self.carry_out_statement(statement, sql, sink)? {
            Answer::Said => {}
            Answer::Done => self.reply_ok(0, sink),
        }
        Ok(Ran::Done)
    }

    /// Carries out a statement that has no plan.
    #[inline]
    fn carry_out_statement(&mut self, statement: &Statement<'_>, sql: &[u8], sink: &mut ResultSink<'_>) -> Result<Answer, Outcome> {
        match statement {
            Statement::Begin(options) => {
                self.shared().status.com_begin.inc();
                self.begin(options.consistent_snapshot, options.read_only)?;
                Ok(Answer::Done)
            }
            Statement::Commit(completion) => {
                self.shared().status.com_commit.inc();
                self.refuse_in_branch()?;
                let next = self.completion(completion);
                if matches!(next, Completion::Nothing) {
                    self.commit_before_reply(sink)?
                } else {
                    self.commit()?
                }
                self.transaction.forget_next();
                self.complete(next, sink).map(|()| Answer::Said)
            }
            // A comment alone is a statement that does nothing; dumps begin with such.
            Statement::Empty if sql.iter().any(|byte| !byte.is_ascii_whitespace() && *byte != b';') => self.done(),
            Statement::Empty => Err(empty_query()),
            Statement::Do(exprs) => {
                self.evaluate(exprs, sql)?;
                self.done()
            }
            Statement::LoadData(load) => {
                self.count_change()?;
                let loaded = self.load_data(load, sql, sink);
                self.server_locks.withdraw();
                loaded.map(|()| Answer::Said)
            }
            Statement::CreateDatabase(_)
            | Statement::AlterDatabase(_)
            | Statement::DropDatabase { .. }
            | Statement::CreateTable(_)
            | Statement::AlterTable(_)
            | Statement::DropTable(_)
            | Statement::RenameTable(_)
            | Statement::CreateIndex(_)
            | Statement::DropIndex(_)
            | Statement::CreateView(_)
            | Statement::DropView(_)
            | Statement::DropProgram { .. }
            | Statement::Truncate(_) => {
                self.count_change()?;
                let done = ddl::execute(self, statement, sql)?;
                if done.copied || ddl::says_records(statement) {
                    self.reply_records(done.affected, sink);
                } else {
                    self.reply_ok(done.affected, sink);
                }
                Ok(Answer::Said)
            }
            Statement::TableMaintenance(maintenance) => ddl::maintain(self, maintenance, sink).map(|()| Answer::Said),
            Statement::Show(what) => show::execute(self, what, sql, sink).map(|()| Answer::Said),
            Statement::Describe { table, column } => show::describe(self, table, *column, sink).map(|()| Answer::Said),
            Statement::Explain(explain) => self.explain(explain, sql, sink).map(|()| Answer::Said),
            Statement::Use(name) => {
                self.use_database(name)?;
                Ok(Answer::Done)
            }
            Statement::Set(items) => {
                self.shared().status.com_set_option.inc();
                self.set(items, sql)?;
                Ok(Answer::Done)
            }
            Statement::SetTransaction(set) => {
                self.set_transaction(set)?;
                Ok(Answer::Done)
            }
            Statement::Rollback(completion) => {
                self.shared().status.com_rollback.inc();
                self.refuse_in_branch()?;
                let next = self.completion(completion);
                let lasting = self.transaction.lasting;
                self.rollback()?;
                self.warn_of_lasting_tables(lasting);
                self.transaction.forget_next();
                self.complete(next, sink).map(|()| Answer::Said)
            }
            Statement::Savepoint(name) => {
                self.refuse_in_ended_branch()?;
                self.savepoint(name);
                Ok(Answer::Done)
            }
            Statement::RollbackTo(name) => {
                self.rollback_to(name)?;
                Ok(Answer::Done)
            }
            Statement::ReleaseSavepoint(name) => {
                self.release_savepoint(name)?;
                Ok(Answer::Done)
            }
            Statement::Prepare { name, source } => {
                let text = match source {
                    PrepareSource::Text(text) => text.to_vec(),
                    PrepareSource::UserVar(variable) => match self.core.user_variable(variable) {
                        Value::Bytes(text) => text.to_vec(),
                        _ => return Err(empty_query()),
                    },
                };
                self.prepare_named(name, &text)?;
                self.reply_info(0, b"Statement prepared", sink);
                Ok(Answer::Said)
            }
            Statement::Execute { name, using } => {
                let (name, using) = (name.to_string(), using.to_vec());
                self.execute_named(&name, &using, sink).map(|()| Answer::Said)
            }
            Statement::Deallocate(name) => {
                self.deallocate(name)?;
                Ok(Answer::Done)
            }
            Statement::Kill { kind, id } => {
                self.kill(*kind, id, sql)?;
                Ok(Answer::Done)
            }
            Statement::Flush(flush) => self.flush(flush),
            Statement::UnlockTables => {
                self.unlock_tables_statement()?;
                Ok(Answer::Done)
            }
            Statement::Backup { word, numbers } => self.backup(word, numbers, sink).map(|()| Answer::Said),
            Statement::LockInstance => {
                self.lock_instance()?;
                Ok(Answer::Done)
            }
            Statement::Component { install, urns } => {
                self.component(*install, urns)?;
                Ok(Answer::Done)
            }
            Statement::ReloadTls { keep_on_error } => {
                self.reload_tls(*keep_on_error)?;
                Ok(Answer::Done)
            }
            Statement::UnlockInstance => {
                self.unlock_instance();
                Ok(Answer::Done)
            }
            Statement::LockTables(locks) => {
                self.lock_tables_statement(locks)?;
                Ok(Answer::Done)
            }
            Statement::Query(query) => {
                let written = self.select_into_file(statement, query, sql, sink);
                self.server_locks.withdraw();
                written.map(|()| Answer::Said)
            }
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => unsupported("this statement here"),
            Statement::Call(call) => Err(ddl::no_procedure(self, &call.name)?.into()),
            Statement::SetPassword(_)
            | Statement::CreateUser(_)
            | Statement::AlterUser(_)
            | Statement::DropUser { .. }
            | Statement::RenameUser(_) => {
                self.count_change()?;
                self.connection.set_statement(sql);
                run_user(self, statement, sink).map(|()| Answer::Said)
            }
            Statement::SetRole(_) => {
                run_role(self, statement)?;
                Ok(Answer::Done)
            }
            Statement::CreateRole { .. }
            | Statement::DropRole { .. }
            | Statement::GrantRole(_)
            | Statement::RevokeRole(_)
            | Statement::SetDefaultRole { .. } => {
                self.count_change()?;
                run_role(self, statement)?;
                Ok(Answer::Done)
            }
            Statement::Grant(_) | Statement::Revoke(_) => {
                self.count_change()?;
                run_grant(self, statement)?;
                Ok(Answer::Done)
            }
            Statement::ResetPersist { name, if_exists } => {
                self.reset_persist(*name, *if_exists)?;
                Ok(Answer::Done)
            }
            Statement::Signal(signal) => {
                self.signal(signal, sql)?;
                // A warning: the statement is done.
                self.done()
            }
            Statement::GetDiagnostics(get) => self.get_diagnostics(get, sql, sink).map(|()| Answer::Said),
            Statement::Help => {
                show::help(self, sink);
                Ok(Answer::Said)
            }
            Statement::Shutdown => {
                self.shared().shut_down(&self.core.login.account_user)?;
                Ok(Answer::Done)
            }
            Statement::Xa(ast::Xa::Recover { convert }) => {
                self.xa_recover(*convert, sink);
                Ok(Answer::Said)
            }
            Statement::Xa(xa) => {
                self.xa(xa)?;
                Ok(Answer::Done)
            }
            Statement::Unsupported(name) => unsupported(name),
        }
    }

    /// Counts a statement that changes something, of an account that may run only so many. Those with plans are counted where they ask for their rights.
    fn count_change(&self) -> Result<(), SqlError> {
        if self.core.standing.is_limited() { self.core.standing.count_update(&self.core.shared) } else { Ok(()) }
    }

    fn done(&mut self) -> Result<Answer, Outcome> {
        self.statement_done()?;
        Ok(Answer::Done)
    }

    /// Values of expressions without a table.
    pub(crate) fn evaluate(&mut self, exprs: &[ast::Expr<'_>], sql: &[u8]) -> Result<Vec<Value>, Outcome> {
        self.compute(&|planning| planner::plan_expressions(exprs, sql, planning), executor::evaluate)
    }

    /// Which rows of a result with these columns satisfy a condition.
    pub(crate) fn matching(
        &mut self,
        condition: &ast::Expr<'_>,
        columns: &[(&str, ColumnType)],
        rows: &[Vec<Value>],
        sql: &[u8],
    ) -> Result<Vec<bool>, Outcome> {
        let plan = |planning: &Planning<'_>| planner::plan_condition(condition, columns, sql, planning);
        self.compute(&plan, |plan, params, session, context, scratch| executor::matching(plan, rows, params, session, context, scratch))
    }

    fn compute<T>(
        &mut self,
        plan: &dyn Fn(&Planning<'_>) -> Result<Plan, SqlError>,
        run: impl FnOnce(&Plan, &[Value], &mut engine::Session, &mut dyn StatementContext, &mut Scratch) -> executor::Result<T>,
    ) -> Result<T, Outcome> {
        // One that this is a part of may have announced, and goes on.
        let announced = self.server_locks.is_announced();
        let values = self.compute_values(plan, run);
        if !announced {
            self.server_locks.withdraw();
        }
        values
    }

    fn compute_values<T>(
        &mut self,
        plan: &dyn Fn(&Planning<'_>) -> Result<Plan, SqlError>,
        run: impl FnOnce(&Plan, &[Value], &mut engine::Session, &mut dyn StatementContext, &mut Scratch) -> executor::Result<T>,
    ) -> Result<T, Outcome> {
        let long = |plan: &Plan| plan.uses_tables().then_some(Work::Long);
        let plan = self.plan_and_enter(long, |session, _| {
            let planning = Planning { core: &session.core, engine: &session.engine, params: &session.params, param_types: &[] };
            let plan = plan(&planning)?;
            session.core.check_accesses(&plan.accesses)?;
            if session.changes.tells_transaction() {
                session.note_use(&plan);
            }
            Ok(plan)
        })?;
        self.warn_of(&plan);
        if !plan.uses_tables() {
            let values = run(&plan, &self.params, &mut self.engine, &mut self.core, &mut self.scratch);
            return values.map_err(|error| self.failed_run(error));
        }
        // A subquery reads tables.
        let values = self.run_entered(|params, engine, core, scratch| run(&plan, params, engine, core, scratch));
        let values = values.map_err(|error| self.failed_run(error))?;
        self.statement_done()?;
        Ok(values)
    }

    fn kill(&mut self, kind: KillKind, id: &ast::Expr<'_>, sql: &[u8]) -> Result<(), Outcome> {
        let values = self.evaluate(std::slice::from_ref(id), sql)?;
        let number = match values.first() {
            Some(Value::Int(n)) => u64::try_from(*n).ok(),
            Some(Value::UInt(n)) => Some(*n),
            // As an integer, whatever else it is.
            Some(value) if !value.is_null() => u64::try_from(executor::to_i64(value, &self.core)).ok(),
            _ => None,
        };
        let unknown = || codes::no_such_thread(number.unwrap_or(0));
        let target = number.and_then(|n| u32::try_from(n).ok()).ok_or_else(unknown)?;
        let stop = match kind {
            KillKind::Query => Stop::Query,
            KillKind::Connection => Stop::Connection,
        };
        self.may_kill(target)?;
        if !self.shared().connections.kill(target, stop) {
            return Err(unknown().into());
        }
        if target == self.connection.id() {
            self.killed_itself |= stop == Stop::Connection;
            return Err(self.stop_error().into());
        }
        Ok(())
    }

    /// One's own connections may be killed, and with CONNECTION_ADMIN those of others, but of system users by system users only; who may not see them is not
    /// told of them.
    fn may_kill(&self, target: u32) -> Result<(), SqlError> {
        let rights = &self.core.standing.rights;
        let is_admin = rights.has_dynamic("CONNECTION_ADMIN") || rights.global.has(::accounts::Privileges::SUPER);
        let Some(connection) = self.shared().connections.find(target) else { return Err(codes::no_such_thread(target)) };
        if connection.label().account_user == self.core.login.account_user {
            return Ok(());
        }
        match is_admin && (!connection.is_system_user() || rights.has_dynamic(SYSTEM_USER)) {
            true => Ok(()),
            false if is_admin || self.core.require_process().is_ok() => Err(codes::kill_denied_error(target)),
            false => Err(codes::no_such_thread(target)),
        }
    }

    /// FLUSH of what exists here: nothing is cached that a statement could find stale, so what remains is the log.
    fn flush(&mut self, flush: &ast::Flush<'_>) -> Result<Answer, Outcome> {
        if flush.for_export {
            // Made for copying a table's file, and a table has none.
            return unsupported("FLUSH TABLES ... FOR EXPORT");
        }
        if flush.read_lock {
            if flush.tables.is_empty() {
                self.take_read_lock()?
            } else {
                self.flush_tables_and_lock(flush.tables)?
            }
            return Ok(Answer::Done);
        }
        if flush.what == ["TABLES"] {
            self.refuse_flush_of_locked(flush.tables)?;
        }
        self.implicit_commit()?;
        for what in flush.what {
            match *what {
                "USER_RESOURCES" => self.shared().accounts.forget_usage(|_| true),
                "STATUS" => {
                    self.shared().flush_status();
                    self.core.calls_before = self.connection.handler_counts.now();
                }
                "PRIVILEGES" => self.core.warn(codes::warn_deprecated_syntax_no_replacement("FLUSH PRIVILEGES").into()),
                // Errors go to the standard error, which nobody moves away.
                "TABLES" | "HOSTS" | "OPTIMIZER_COSTS" | "ERROR LOGS" => {}
                "GENERAL LOGS" => self.shared().reopen_query_log(Log::General)?,
                "SLOW LOGS" => self.shared().reopen_query_log(Log::Slow)?,
                "LOGS" | "ENGINE LOGS" => {
                    if *what == "LOGS" {
                        [Log::General, Log::Slow].into_iter().try_for_each(|log| self.shared().reopen_query_log(log))?;
                    }
                    let wal = self.engine.engine().wal();
                    wal.flush_all().map_err(|error| crate::error_map::engine_error(error.into(), || self.stop_error()))?;
                }
                other => return unsupported(&format!("FLUSH {other}")),
            }
        }
        Ok(Answer::Done)
    }

    /// Writes a result that the session made itself.
    pub(crate) fn send_rows(&mut self, columns: &Columns, rows: &[Vec<Value>], sink: &mut ResultSink<'_>) {
        self.send_result(columns, rows, self.core.diagnostics.warning_count(), sink);
    }

    /// The same, with conditions at hand that are not this statement's.
    pub(crate) fn send_rows_without_warnings(&mut self, columns: &Columns, rows: &[Vec<Value>], sink: &mut ResultSink<'_>) {
        // Nor do they count as rows that were found.
        let found = self.core.found_rows;
        self.send_result(columns, rows, 0, sink);
        self.core.found_rows = found;
    }

    fn send_result(&mut self, columns: &Columns, rows: &[Vec<Value>], warnings: u32, sink: &mut ResultSink<'_>) {
        let results = self.core.settings.charsets.results;
        let block = columns.block(results);
        let columns = columns.output();
        let status = self.server_status();
        let zone = &self.zone;
        let mut output = Output { sink, block: &block, columns, zone, results, status, begun: false, dependencies: None };
        // A client that has gone is noticed when the reply is sent.
        let _ = output.begin(columns).and_then(|()| rows.iter().try_for_each(|row| output.row(row)));
        self.core.row_count = -1;
        self.core.found_rows = rows.len() as u64;
        self.note_rows_sent();
        let session_state = self.session_state_behind_rows(sink);
        sink.finish(&OkReply { status, warnings, session_state: &session_state, ..OkReply::default() });
    }
}

fn unsupported(what: &str) -> Result<Answer, Outcome> {
    Err(codes::not_supported_yet(what).into())
}
