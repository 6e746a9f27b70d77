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

/// What is known of a branch that is to end after XA PREPARE.
struct Ending {
    /// By XA COMMIT.
    commit: bool,
    /// XA PREPARE was answered.
    prepared: bool,
    /// Its end was asked for before, without an answer.
    asked: bool,
    /// The earliest moment at which it may have ended.
    sent: Moment,
}

impl Ending {
    fn done(&self, answered: Moment) -> End {
        if self.commit { End::Committed { sent: self.sent, answered } } else { End::Aborted }
    }

    /// How it has ended when there is no such branch. `None`: that cannot be.
    fn without_branch(&self, surely_changed: bool, now: Moment) -> Option<End> {
        match (self.prepared, self.asked) {
            // It was done, and the answer did not come.
            (true, true) => Some(self.done(now)),
            // The same, or neither statement was done: it was rolled back with the connection that XA PREPARE was sent on.
            (false, true) if self.commit => Some(End::Unknown { sent: self.sent }),
            (false, _) => Some(End::Aborted),
            // A crash leaves nothing of a branch that has changed nothing; whether it has is not known where some was taken back.
            (true, false) => (!surely_changed).then_some(End::Unknown { sent: self.sent }),
        }
    }
}

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
        let prepared = match self.ask_and_note(&format!("XA PREPARE {xid}")) {
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
        let ended = self.end_prepared(xid, Ending { commit, prepared, asked: false, sent });
        if self.lives != lives {
            self.forget_locking_reads();
        }
        ended
    }

    fn end_prepared(&mut self, xid: &str, mut ending: Ending) -> Result<End, Failure> {
        let sql = format!("XA {} {xid}", if ending.commit { "COMMIT" } else { "ROLLBACK" });
        loop {
            match self.ask_and_note(&sql) {
                Ok(Answer { answered, .. }) => return Ok(ending.done(answered)),
                Err(Failure::Broken(_)) => {
                    ending.asked = true;
                    self.reconnect_after_break()?;
                }
                Err(Failure::Branch(NOTA, what)) => {
                    let ended = ending.without_branch(self.has_surely_changed(), self.run.now());
                    return ended.ok_or_else(|| Failure::Defect(format!("{what}, which was prepared")));
                }
                Err(Failure::Branch(_, what)) => return Err(Failure::Defect(format!("{what}, which was prepared"))),
                Err(other) => return Err(other),
            }
        }
    }

    /// [`Client::ask_until_done`] of a statement that says nothing of rows: it is noted for whoever reads the history.
    fn ask_and_note(&mut self, sql: &str) -> Result<Answer, Failure> {
        let sent = self.run.now();
        let asked = self.ask_until_done(sql);
        let answer = Answer { rows: vec![], affected: 0, sent, answered: self.run.now() };
        let outcome = if asked.is_ok() { "" } else { " (no answer, or an error)" };
        self.note(&format!("{sql}{outcome}"), &answer, Reading::Current, vec![]);
        asked
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

#[cfg(test)]
mod tests {
    use super::*;

    /// How a branch that has changed something ended, when there is none of its name at moment 9.
    fn ended(commit: bool, prepared: bool, asked: bool) -> Option<End> {
        Ending { commit, prepared, asked, sent: 5 }.without_branch(true, 9)
    }

    #[test]
    fn a_branch_that_is_gone_was_committed_only_if_it_was_prepared() {
        assert_eq!(ended(true, true, true), Some(End::Committed { sent: 5, answered: 9 }));
        // XA PREPARE was lost on its way, then XA COMMIT as well.
        assert_eq!(ended(true, false, true), Some(End::Unknown { sent: 5 }));
        assert_eq!(ended(true, false, false), Some(End::Aborted));
        assert_eq!(ended(true, true, false), None);
    }

    #[test]
    fn a_branch_that_was_to_be_rolled_back_and_is_gone_was() {
        assert_eq!([(true, true), (false, true), (false, false)].map(|(p, a)| ended(false, p, a)), [Some(End::Aborted); 3]);
        assert_eq!(ended(false, true, false), None);
    }
}
