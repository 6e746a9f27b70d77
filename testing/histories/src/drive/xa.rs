//! Transactions that are branches of XA: ended in one phase, or prepared and then ended, by their own connection, by another one, after a crash.
//!
//! What was prepared, and answered, must be there until it is ended: so a client that is cut off, or whose server was killed, asks again until it knows.

use super::client::Client;
use super::statement::{Answer, Failure};
use super::{DATABASE, Run};
use crate::history::{End, Event, Moment, Reading};
use crate::levels::Level;
use mysql::prelude::Queryable;
use std::time::Instant;

/// There is no such branch.
const NOTA: u16 = 1397;

impl Client<'_, '_> {
    /// A name for the client's next branch.
    pub(super) fn next_branch(&mut self) -> String {
        self.branches += 1;
        format!("'{}','{}.{}'", self.run.number, self.number, self.branches)
    }

    /// Ends a branch all of whose statements were done.
    pub(super) fn end_branch(&mut self, xid: &str, lives: u64) -> Result<End, Failure> {
        match self.random.below(12) {
            0 => self.roll_back_branch(xid),
            // It hangs up: what is not prepared is rolled back.
            1 if self.random.below(4) == 0 => self.reconnect().map(|()| End::Aborted).map_err(Failure::Defect),
            2 | 3 => {
                self.ask_until_done(&format!("XA END {xid}"))?;
                let sent = self.run.now();
                match self.ask_until_done(&format!("XA COMMIT {xid} ONE PHASE")) {
                    Ok(done) => Ok(End::Committed { sent: done.sent, answered: done.answered }),
                    Err(Failure::Broken(_)) => Ok(End::Unknown { sent }),
                    Err(other) => Err(other),
                }
            }
            way => self.prepare_and_end(xid, way != 4, lives),
        }
    }

    /// Rolls back a branch that has not been prepared.
    pub(super) fn roll_back_branch(&mut self, xid: &str) -> Result<End, Failure> {
        match self.ask_until_done(&format!("XA END {xid}")) {
            // A deadlock has ended it.
            Ok(_) | Err(Failure::Branch(..)) => {}
            Err(other) => return Err(other),
        }
        self.ask_until_done(&format!("XA ROLLBACK {xid}")).map(|_| End::Aborted)
    }

    fn prepare_and_end(&mut self, xid: &str, commit: bool, lives: u64) -> Result<End, Failure> {
        self.ask_until_done(&format!("XA END {xid}"))?;
        let preparing = self.run.now();
        let prepared = match self.ask_until_done(&format!("XA PREPARE {xid}")) {
            Ok(_) => true,
            // It is, or it has been rolled back.
            Err(Failure::Broken(_)) => {
                self.reconnect_after_break()?;
                false
            }
            Err(other) => return Err(other),
        };
        if prepared && self.random.below(3) == 0 {
            // The branch is nobody's now.
            self.reconnect().map_err(Failure::Defect)?;
        }
        // What has changed nothing lets go of its locks when it is prepared, as in MySQL: it may have ended from there on.
        let sent = if self.has_surely_changed() { self.run.now() } else { preparing };
        let ended = self.end_prepared(xid, commit, prepared, sent);
        if self.lives != lives {
            self.forget_locking_reads();
        }
        ended
    }

    /// `sent` is the earliest moment at which it may have ended.
    fn end_prepared(&mut self, xid: &str, commit: bool, prepared: bool, sent: Moment) -> Result<End, Failure> {
        let sql = format!("XA {} {xid}", if commit { "COMMIT" } else { "ROLLBACK" });
        let mut asked = false;
        let committed = |answered| if commit { End::Committed { sent, answered } } else { End::Aborted };
        loop {
            match self.ask_until_done(&sql) {
                Ok(Answer { answered, .. }) => return Ok(committed(answered)),
                Err(Failure::Broken(_)) => {
                    asked = true;
                    self.reconnect_after_break()?;
                }
                // Done before, without an answer.
                Err(Failure::Branch(NOTA, _)) if asked => return Ok(committed(self.run.now())),
                Err(Failure::Branch(NOTA, _)) if !prepared => return Ok(End::Aborted),
                // A crash leaves nothing of a branch that has changed nothing; whether it has is not known where some was taken back.
                Err(Failure::Branch(NOTA, _)) if !self.has_surely_changed() => return Ok(End::Unknown { sent }),
                Err(Failure::Branch(_, what)) => return Err(Failure::Defect(format!("{what}, which was prepared"))),
                Err(other) => return Err(other),
            }
        }
    }

    fn has_surely_changed(&self) -> bool {
        let mut events = self.statements.iter().flat_map(|statement| &statement.events);
        let changes = |event: &Event| matches!(event, Event::Append { .. } | Event::Insert { .. } | Event::Remove { .. });
        events.clone().any(changes) && !events.any(|event| *event == Event::RollbackToSavepoint)
    }

    /// After a crash a prepared branch has what it has changed locked, as in MySQL, and no longer what it has only read.
    fn forget_locking_reads(&mut self) {
        let all = self.level == Level::Serializable;
        for statement in self.statements.iter_mut().filter(|statement| all || statement.reading == Reading::Current) {
            statement.events.retain(|event| !event.is_read() || matches!(event, Event::Oddity(_)));
        }
    }

    /// A new connection for one that was broken by a fault, once the session of the old one has ended: whatever it did is done then.
    fn reconnect_after_break(&mut self) -> Result<(), Failure> {
        let (old, lives) = (self.wire.id(), self.lives);
        if lives == self.run.place.lives() && !self.wire.is_doomed() {
            return Err(Failure::Defect("a connection broke, and neither it nor the server was killed".into()));
        }
        self.reconnect().map_err(Failure::Defect)?;
        if self.lives == lives { wait_for_session(self.run, old).map_err(Failure::Defect) } else { Ok(()) }
    }
}

/// Returns when a session is gone, or its server.
fn wait_for_session(run: &Run<'_>, id: u32) -> Result<(), String> {
    let lives = run.place.lives();
    let deadline = Instant::now() + super::end::DEADLINE;
    let look = || -> Result<bool, String> {
        let mut connection = run.place.connect(Some(DATABASE))?;
        let sql = format!("SELECT id FROM information_schema.processlist WHERE id = {id}");
        loop {
            let left: Vec<u64> = connection.query(&sql).map_err(|error| format!("{sql}: {error}"))?;
            if left.is_empty() || Instant::now() > deadline {
                return Ok(left.is_empty());
            }
            std::thread::yield_now();
        }
    };
    match run.place.through_kills(|| if run.place.lives() == lives { look() } else { Ok(true) }) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("session {id} has not ended")),
        Err(why) => Err(why),
    }
}
