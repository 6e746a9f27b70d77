//! Statements by kind: those with a plan, and those that the session carries out itself.

use crate::accounts::{run_grant, run_role, run_user};
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::privileges::authorize;
use crate::statement::planning::is_planned;
use crate::statement::query::empty_query;
use crate::statement::run::Ran;
use crate::{ddl, show};
use mysql_error::{SqlError, codes};
use parser::ast::{self, Statement};
use protocol::ResultSink;
use std::sync::Arc;

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

    /// Carries out a statement that has no plan. What a kind of statement does stands in its room; here is where that is.
    #[inline]
    fn carry_out_statement(&mut self, statement: &Statement<'_>, sql: &[u8], sink: &mut ResultSink<'_>) -> Result<Answer, Outcome> {
        match statement {
            // Transactions.
            Statement::Begin(options) => {
                self.shared().status.com_begin.inc();
                done(self.begin(options.consistent_snapshot, options.read_only))
            }
            Statement::Commit(completion) => said(self.commit_statement(completion, sink)),
            Statement::Rollback(completion) => said(self.rollback_statement(completion, sink)),
            Statement::Savepoint(name) => done(self.savepoint(name)),
            Statement::RollbackTo(name) => done(self.rollback_to(name)),
            Statement::ReleaseSavepoint(name) => done(self.release_savepoint(name)),
            Statement::SetTransaction(set) => done(self.set_transaction(set)),
            Statement::Xa(ast::Xa::Recover { convert }) => {
                self.xa_recover(*convert, sink);
                Ok(Answer::Said)
            }
            Statement::Xa(xa) => done(self.xa(xa)),
            // Locks.
            Statement::LockTables(locks) => done(self.lock_tables_statement(locks)),
            Statement::UnlockTables => done(self.unlock_tables_statement()),
            Statement::LockInstance => done(self.lock_instance()),
            Statement::UnlockInstance => {
                self.unlock_instance();
                Ok(Answer::Done)
            }
            // Definitions.
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
            | Statement::Truncate(_) => said(self.change_definitions(statement, sql, sink)),
            Statement::TableMaintenance(maintenance) => said(ddl::maintain(self, maintenance, sink)),
            Statement::Call(call) => Err(ddl::no_procedure(self, &call.name)?.into()),
            // What is shown.
            Statement::Show(what) => said(show::execute(self, what, sql, sink)),
            Statement::Describe { table, column } => said(show::describe(self, table, *column, sink)),
            Statement::Explain(explain) => said(self.explain(explain, sql, sink)),
            Statement::GetDiagnostics(get) => said(self.get_diagnostics(get, sql, sink)),
            Statement::Help => {
                show::help(self, sink);
                Ok(Answer::Said)
            }
            // The session and its variables.
            Statement::Use(name) => done(self.use_database(name)),
            Statement::Set(items) => {
                self.shared().status.com_set_option.inc();
                done(self.set(items, sql))
            }
            Statement::ResetPersist { name, if_exists } => done(self.reset_persist(*name, *if_exists)),
            // A comment alone is a statement that does nothing; dumps begin with such.
            Statement::Empty if sql.iter().any(|byte| !byte.is_ascii_whitespace() && *byte != b';') => done(self.statement_done()),
            Statement::Empty => Err(empty_query()),
            Statement::Do(exprs) => {
                self.evaluate(exprs, sql)?;
                done(self.statement_done())
            }
            Statement::Signal(signal) => {
                self.signal(signal, sql)?;
                // A warning: the statement is done.
                done(self.statement_done())
            }
            // Prepared statements.
            Statement::Prepare { name, source } => said(self.prepare_statement(name, source, sink)),
            Statement::Execute { name, using } => said(self.execute_named(name, using, sink)),
            Statement::Deallocate(name) => done(self.deallocate(name)),
            // Files.
            Statement::LoadData(load) => {
                self.count_change()?;
                said(self.withdrawing(|session| session.load_data(load, sql, sink)))
            }
            // Other queries, and changes, have plans.
            Statement::Query(query) => said(self.withdrawing(|session| session.select_into_file(statement, query, sql, sink))),
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => unsupported("this statement here"),
            // Accounts.
            Statement::SetPassword(_)
            | Statement::CreateUser(_)
            | Statement::AlterUser(_)
            | Statement::DropUser { .. }
            | Statement::RenameUser(_) => {
                self.count_change()?;
                self.connection.set_statement(sql);
                said(run_user(self, statement, sink))
            }
            Statement::SetRole(_) => done(run_role(self, statement)),
            Statement::CreateRole { .. }
            | Statement::DropRole { .. }
            | Statement::GrantRole(_)
            | Statement::RevokeRole(_)
            | Statement::SetDefaultRole { .. } => {
                self.count_change()?;
                done(run_role(self, statement))
            }
            Statement::Grant(_) | Statement::Revoke(_) => {
                self.count_change()?;
                done(run_grant(self, statement))
            }
            // The server.
            Statement::Kill { kind, id } => done(self.kill(*kind, id, sql)),
            Statement::Flush(flush) => done(self.flush(flush)),
            Statement::Backup { word, numbers } => said(self.backup(word, numbers, sink)),
            Statement::Component { install, urns } => done(self.component(*install, urns)),
            Statement::ReloadTls { keep_on_error } => done(self.reload_tls(*keep_on_error)),
            Statement::Shutdown => done(self.shared().shut_down(&self.core.login.account_user)),
            Statement::Unsupported(name) => unsupported(name),
        }
    }

    /// A statement that changes definitions: `ddl/`.
    fn change_definitions(&mut self, statement: &Statement<'_>, sql: &[u8], sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        self.count_change()?;
        let done = ddl::execute(self, statement, sql)?;
        if done.copied || ddl::says_records(statement) {
            self.reply_records(done.affected, sink);
        } else {
            self.reply_ok(done.affected, sink);
        }
        Ok(())
    }

    /// Runs a statement that announces its changes; whatever comes of it, none is announced any more then.
    fn withdrawing(&mut self, run: impl FnOnce(&mut ClientSession) -> Result<(), Outcome>) -> Result<(), Outcome> {
        let ran = run(self);
        self.server_locks.withdraw();
        ran
    }

    /// Counts a statement that changes something, of an account that may run only so many. Those with plans are counted where they ask for their rights.
    fn count_change(&self) -> Result<(), SqlError> {
        if self.core.standing.is_limited() { self.core.standing.count_update(&self.core.shared) } else { Ok(()) }
    }
}

/// What was carried out is to be answered by an OK packet.
#[inline(always)]
fn done<E: Into<Outcome>>(result: Result<(), E>) -> Result<Answer, Outcome> {
    result.map(|()| Answer::Done).map_err(Into::into)
}

/// What was carried out has written its reply.
#[inline(always)]
fn said(result: Result<(), Outcome>) -> Result<Answer, Outcome> {
    result.map(|()| Answer::Said)
}

fn unsupported(what: &str) -> Result<Answer, Outcome> {
    Err(codes::not_supported_yet(what).into())
}
