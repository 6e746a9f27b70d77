//! XA: branches of distributed transactions.
//!
//! A branch is the session's transaction with a name and a phase. XA PREPARE detaches it (`engine/src/prepared.rs`, MySQL's
//! `xa_detach_on_prepare=ON`): the session is outside any transaction then, and any session ends the branch.
//!
//! # Invariants
//! 1. While a session has a branch, its name is claimed in the engine; what ends the branch or the session gives it back.
//! 2. In a branch nothing commits but XA: statements that would are refused (1399) by [`ClientSession::implicit_commit`].

use crate::client_session::ClientSession;
use crate::error_map::{Outcome, engine_error};
use crate::reply::fixed_columns::{Columns, lists};
use engine::Xid;
use lock_manager::WaitsFor;
use mysql_error::{SqlError, codes};
use parser::ast::{self, XaStart};
use protocol::ResultSink;
use types::Value;

/// How far a session's branch has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Active,
    Idle,
    RollbackOnly,
}

/// The branch that a session works on.
pub(crate) struct XaBranch {
    xid: Xid,
    phase: Phase,
    /// Its transaction was rolled back under it by a deadlock.
    broken: bool,
}

/// The state's name outside a branch, also when the session is inside a plain transaction.
const NON_EXISTING: &str = "NON-EXISTING";

impl XaBranch {
    fn state(&self) -> &'static str {
        match self.phase {
            Phase::Active => "ACTIVE",
            Phase::Idle => "IDLE",
            Phase::RollbackOnly => "ROLLBACK ONLY",
        }
    }
}

fn xid_of(written: &ast::Xid<'_>) -> Xid {
    Xid { format_id: written.format_id, gtrid: written.gtrid.into(), bqual: written.bqual.into() }
}

impl ClientSession {
    /// Carries out an XA statement that has no result.
    pub(crate) fn xa(&mut self, statement: &ast::Xa<'_>) -> Result<(), Outcome> {
        match *statement {
            ast::Xa::Start { xid, how } => self.xa_start(xid_of(xid), how),
            ast::Xa::End { xid, suspend } => self.xa_end(&xid_of(xid), suspend),
            ast::Xa::Prepare(xid) => self.xa_prepare(&xid_of(xid)),
            ast::Xa::Commit { xid, one_phase } => self.xa_commit(&xid_of(xid), one_phase),
            ast::Xa::Rollback(xid) => self.xa_rollback(&xid_of(xid)),
            ast::Xa::Recover { .. } => Err(codes::not_supported_yet("XA RECOVER here").into()),
        }
    }

    fn xa_start(&mut self, xid: Xid, how: XaStart) -> Result<(), Outcome> {
        if let Some(branch) = &mut self.transaction.xa {
            return match (how, branch.phase) {
                (XaStart::Resume, Phase::Idle) if branch.xid == xid => {
                    branch.phase = Phase::Active;
                    self.transaction.restricted = false;
                    Ok(())
                }
                (XaStart::Resume, Phase::Idle) => Err(codes::xaer_nota().into()),
                (XaStart::New, _) => Err(codes::xaer_rmfail(branch.state()).into()),
                _ => Err(codes::xaer_inval().into()),
            };
        }
        if how != XaStart::New {
            return Err(codes::xaer_inval().into());
        }
        if self.in_plain_transaction() {
            return Err(codes::xaer_outside().into());
        }
        if !self.engine.claim_xid(&xid) {
            return Err(codes::xaer_dupid().into());
        }
        // Nothing is left of an autocommitted statement; the branch's transaction begins with the branch's characteristics. Explicit first: at
        // SERIALIZABLE a transaction of one statement would read without locks.
        self.transaction.explicit = true;
        self.ensure_transaction();
        self.transaction.xa = Some(Box::new(XaBranch { xid, phase: Phase::Active, broken: false }));
        Ok(())
    }

    fn xa_end(&mut self, xid: &Xid, suspend: bool) -> Result<(), Outcome> {
        if suspend {
            return Err(codes::xaer_inval().into());
        }
        let Some(branch) = &mut self.transaction.xa else { return Err(codes::xaer_rmfail(NON_EXISTING).into()) };
        if branch.phase != Phase::Active {
            return Err(codes::xaer_rmfail(branch.state()).into());
        }
        if branch.xid != *xid {
            return Err(codes::xaer_nota().into());
        }
        self.transaction.restricted = true;
        if branch.broken {
            branch.phase = Phase::RollbackOnly;
            return Err(codes::xa_rbdeadlock().into());
        }
        branch.phase = Phase::Idle;
        Ok(())
    }

    fn xa_prepare(&mut self, xid: &Xid) -> Result<(), Outcome> {
        let Some(branch) = &self.transaction.xa else { return Err(codes::xaer_rmfail(NON_EXISTING).into()) };
        if branch.phase != Phase::Idle {
            return Err(codes::xaer_rmfail(branch.state()).into());
        }
        if branch.xid != *xid {
            return Err(codes::xaer_nota().into());
        }
        self.engine.set_flush_policy(self.core.shared.flush_policy());
        if self.engine.has_writes() {
            self.announce(WaitsFor::CommitLock)?;
        }
        let tables = self.transaction.take_tables(self.engine.lock_owner());
        let prepared = self.engine.prepare(xid, tables);
        self.server_locks.withdraw();
        self.renew_lock_owner();
        // The name is the prepared branch's now, or free.
        self.transaction.xa = None;
        self.transaction.forget_next();
        self.transaction_ended();
        prepared.map_err(|error| engine_error(error, || self.stop_error()))
    }

    fn xa_commit(&mut self, xid: &Xid, one_phase: bool) -> Result<(), Outcome> {
        match &self.transaction.xa {
            None => self.end_detached(xid, |engine, xid| engine.commit_prepared(xid)),
            Some(branch) if branch.xid != *xid => Err(codes::xaer_rmfail(branch.state()).into()),
            Some(branch) if branch.phase == Phase::RollbackOnly || (branch.broken && one_phase) => {
                self.end_branch(false)?;
                Err(codes::xa_rbdeadlock().into())
            }
            Some(branch) if branch.phase == Phase::Idle && one_phase => self.end_branch(true),
            Some(branch) => Err(codes::xaer_rmfail(branch.state()).into()),
        }
    }

    fn xa_rollback(&mut self, xid: &Xid) -> Result<(), Outcome> {
        match &self.transaction.xa {
            None => self.end_detached(xid, |engine, xid| engine.rollback_prepared(xid)),
            Some(branch) if branch.xid != *xid || branch.phase == Phase::Active => Err(codes::xaer_rmfail(branch.state()).into()),
            Some(_) => self.end_branch(false),
        }
    }

    /// Ends a prepared branch, whoever prepared it.
    fn end_detached(&mut self, xid: &Xid, end: fn(&mut engine::Session, &Xid) -> engine::Result<bool>) -> Result<(), Outcome> {
        if self.in_plain_transaction() {
            return Err(codes::xaer_rmfail(NON_EXISTING).into());
        }
        // What an autocommitted statement may have left open is empty.
        self.commit()?;
        self.announce(WaitsFor::CommitLock)?;
        self.engine.set_flush_policy(self.core.shared.flush_policy());
        let ended = end(&mut self.engine, xid);
        self.server_locks.withdraw();
        self.renew_lock_owner();
        match ended {
            Ok(true) => Ok(()),
            Ok(false) => Err(codes::xaer_nota().into()),
            Err(error) => Err(engine_error(error, || self.stop_error())),
        }
    }

    fn end_branch(&mut self, commit: bool) -> Result<(), Outcome> {
        let ended = if commit { self.commit() } else { self.rollback() };
        self.forget_branch();
        ended
    }

    /// Gives the branch's name back, its transaction having ended.
    fn forget_branch(&mut self) {
        if let Some(branch) = self.transaction.xa.take() {
            self.engine.release_xid(&branch.xid);
        }
        self.transaction.explicit = false;
        self.transaction.restricted = self.transaction.has_locked_tables();
    }

    /// Rolls back the branch of a session that ends or begins anew. A prepared one is no session's and stays.
    pub(crate) fn abandon_branch(&mut self) {
        if self.transaction.xa.is_some() {
            // What fails is tried again without the session.
            let _ = self.end_branch(false);
        }
    }

    /// Notes that a deadlock has rolled the branch's transaction back: only XA ROLLBACK helps now.
    pub(crate) fn branch_rolled_back(&mut self) {
        if let Some(branch) = &mut self.transaction.xa {
            branch.broken = true;
            self.transaction.restricted = true;
        }
    }

    /// Whether a transaction without XA is open.
    fn in_plain_transaction(&self) -> bool {
        self.transaction.explicit
            || (!self.core.settings.autocommit && self.engine.in_transaction())
            || self.transaction.has_locked_tables()
    }

    /// Refuses a statement that uses tables, when the branch has been ended or rolled back.
    pub(crate) fn check_branch(&mut self) -> Result<(), SqlError> {
        match &mut self.transaction.xa {
            Some(branch) if branch.broken => {
                branch.phase = Phase::RollbackOnly;
                Err(codes::xa_rbdeadlock())
            }
            Some(branch) if branch.phase == Phase::Idle => Err(codes::xaer_rmfail(branch.state())),
            _ => Ok(()),
        }
    }

    /// Refuses what ends or changes a transaction, in a branch of XA.
    pub(crate) fn refuse_in_branch(&self) -> Result<(), SqlError> {
        match &self.transaction.xa {
            Some(branch) => Err(codes::xaer_rmfail(branch.state())),
            None => Ok(()),
        }
    }

    /// Refuses savepoints in a branch that has been ended.
    pub(crate) fn refuse_in_ended_branch(&self) -> Result<(), SqlError> {
        match &self.transaction.xa {
            Some(branch) if branch.phase != Phase::Active => Err(codes::xaer_rmfail(branch.state())),
            _ => Ok(()),
        }
    }

    /// Commits before a statement that is no part of a transaction; in a branch of XA it is refused.
    pub(crate) fn implicit_commit(&mut self) -> Result<(), Outcome> {
        self.refuse_in_branch()?;
        let committed = self.commit();
        self.transaction.forget_next();
        committed
    }

    /// XA RECOVER: all prepared branches.
    pub(crate) fn xa_recover(&mut self, convert: bool, sink: &mut ResultSink<'_>) {
        let xids = self.shared().engine.prepared_xids();
        let rows: Vec<Vec<Value>> = xids
            .iter()
            .map(|xid| {
                let mut data = [&xid.gtrid[..], &xid.bqual[..]].concat();
                if convert {
                    let digits: String = data.iter().map(|byte| format!("{byte:02X}")).collect();
                    data = format!("0x{digits}").into_bytes();
                }
                vec![
                    Value::Int(xid.format_id as i64),
                    Value::Int(xid.gtrid.len() as i64),
                    Value::Int(xid.bqual.len() as i64),
                    Value::bytes(data),
                ]
            })
            .collect();
        self.send_rows(&Columns::of(&[lists::XA_RECOVER]), &rows, sink);
    }
}
