//! KILL and FLUSH.

use crate::accounts::SYSTEM_USER;
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::front::connections::Stop;
use crate::query_logs::Log;
use executor::StatementContext;
use mysql_error::{SqlError, codes};
use parser::ast::{self, KillKind};
use types::Value;

impl ClientSession {
    /// KILL.
    pub(super) fn kill(&mut self, kind: KillKind, id: &ast::Expr<'_>, sql: &[u8]) -> Result<(), Outcome> {
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
    pub(super) fn flush(&mut self, flush: &ast::Flush<'_>) -> Result<(), Outcome> {
        if flush.for_export {
            // Made for copying a table's file, and a table has none.
            return Err(codes::not_supported_yet("FLUSH TABLES ... FOR EXPORT").into());
        }
        if flush.read_lock {
            return if flush.tables.is_empty() { self.take_read_lock() } else { self.flush_tables_and_lock(flush.tables) };
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
                other => return Err(codes::not_supported_yet(format!("FLUSH {other}")).into()),
            }
        }
        Ok(())
    }
}
