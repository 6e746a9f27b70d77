//! A client: one transaction after the other on a connection of its own.

use super::lists::Locking;
use super::profile::Focus;
use super::statement::{Answer, Failure, ask};
use super::{DATABASE, Run};
use crate::disturb::Wire;
use crate::history::{End, Event, Reading, Statement, Txn};
use crate::levels::{Level, PlainRead};
use crate::place::is_broken;
use env::SplitMix64;
use mysql::Value;
use sync::Arc;

/// Members that a client remembers having seen.
const MEMBERS_KNOWN: usize = 24;

/// A member of a set: its row, where it was, its element there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) id: u64,
    pub(super) group: u32,
    pub(super) tag: u64,
}

/// One thing done within a transaction.
pub(super) type Step = Result<(), Failure>;

/// What a transaction consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Anything.
    Mixed,
    /// Plain reads only.
    Reads,
    /// Changes and locking reads only: serialisable wherever gaps are locked.
    Current,
    /// Many plain reads, while others come and go.
    Long,
    /// Reads what others write, writes what others read.
    Skew,
}

pub(super) struct Client<'r, 'p> {
    pub(super) run: &'r Run<'p>,
    pub(super) random: SplitMix64,
    connection: mysql::Conn,
    pub(super) wire: Arc<Wire>,
    /// Of the server, when the connection was made.
    pub(super) lives: u64,
    pub(super) number: usize,
    pub(super) level: Level,
    /// Branches of XA so far.
    pub(super) branches: u64,
    autocommit: bool,
    prepared: bool,
    /// Of the transaction that runs.
    pub(super) statements: Vec<Statement>,
    members: Vec<Member>,
}

impl<'r, 'p> Client<'r, 'p> {
    /// Runs a client to its end.
    pub(super) fn run(run: &'r Run<'p>, number: usize) -> Result<Vec<Txn>, String> {
        let mut random = SplitMix64::new(run.seed ^ (number as u64 + 1).wrapping_mul(0xD134_2543_DE82_EF95));
        let level = random.pick(&run.settings.levels);
        let (connection, wire, lives) = connect(run, number, level)?;
        let mut client = Client {
            run,
            random,
            connection,
            wire,
            lives,
            number,
            level,
            branches: 0,
            autocommit: false,
            prepared: false,
            statements: vec![],
            members: vec![],
        };
        let mut txns = Vec::new();
        for _ in 0..run.settings.txns {
            let (txn, broken) = client.transaction()?;
            txns.push(txn);
            if broken && client.lives == run.place.lives() && !client.wire.is_doomed() {
                return Err(format!(
                    "a connection broke, and neither it nor the server was killed\n{}",
                    txns.last().expect("just pushed").describe(0)
                ));
            }
            if broken || client.random.below(40) == 0 {
                // Whatever the transaction was, the connection's end ends it.
                client.reconnect()?;
            }
        }
        Ok(txns)
    }

    /// A transaction, and whether the connection is gone.
    fn transaction(&mut self) -> Result<(Txn, bool), String> {
        self.statements = Vec::new();
        self.autocommit = self.random.below(6) == 0;
        self.prepared = self.random.below(3) == 0;
        let mut txn = Txn {
            client: self.number,
            level: self.level,
            autocommit: self.autocommit,
            snapshot: None,
            statements: vec![],
            end: End::Aborted,
        };
        let ended = if self.autocommit { self.single() } else { self.several(&mut txn) };
        txn.statements = std::mem::take(&mut self.statements);
        match ended {
            Ok(end) => txn.end = end,
            Err(Failure::Defect(what) | Failure::Branch(_, what)) => return Err(format!("{what}\n{}", txn.describe(0))),
            // The server may have done what it did not answer, if that was a commit.
            Err(Failure::Broken(sent)) => {
                if self.autocommit {
                    txn.end = End::Unknown { sent };
                }
                return Ok((txn, true));
            }
            Err(Failure::Aborted | Failure::Refused | Failure::TimedOut | Failure::Interrupted) => {}
        }
        Ok((txn, false))
    }

    /// One statement outside of a transaction.
    fn single(&mut self) -> Result<End, Failure> {
        match self.step(Shape::Mixed) {
            Ok(()) | Err(Failure::Refused) => {}
            // Also Failure::Interrupted: it is as if it had never been.
            Err(other) => return Err(other),
        }
        Ok(self.statements.last().map_or(End::Aborted, |s| End::Committed { sent: s.sent, answered: s.answered }))
    }

    fn several(&mut self, txn: &mut Txn) -> Result<End, Failure> {
        let shape = if self.random.below(self.run.profile.long_one_in) == 0 {
            Shape::Long
        } else {
            self.random.pick(&[Shape::Mixed, Shape::Mixed, Shape::Mixed, Shape::Reads, Shape::Current, Shape::Skew])
        };
        let branch = (self.random.below(7) == 0).then(|| self.next_branch());
        let begin = match &branch {
            Some(xid) => &format!("XA START {xid}"),
            None => self.begin(shape),
        };
        let lives = self.lives;
        let begun = self.ask(begin)?;
        if begin.ends_with("SNAPSHOT") && self.level.plain_read(false) == PlainRead::OfTransaction {
            txn.snapshot = Some((begun.sent, begun.answered));
        }
        let done = self.steps(shape);
        let end = match done {
            Ok(()) => match &branch {
                Some(xid) => self.end_branch(xid, lives),
                None => self.end(),
            },
            Err(Failure::TimedOut | Failure::Aborted) if branch.is_some() => self.roll_back_branch(&branch.unwrap_or_default()),
            // After a deadlock in a READ ONLY transaction MySQL keeps to reading until it is told that the transaction has ended.
            Err(Failure::TimedOut | Failure::Aborted) => self.ask_until_done("ROLLBACK").map(|_| End::Aborted),
            Err(other) => return Err(other),
        };
        if begin == "SET autocommit = 0" {
            // It would commit: what runs has ended by now.
            match self.ask_until_done("SET autocommit = 1") {
                // The transaction's own end is known; the connection's end is seen by the next one.
                Ok(_) | Err(Failure::Broken(_)) => {}
                Err(other) => return Err(other),
            }
        }
        end
    }

    fn begin(&mut self, shape: Shape) -> &'static str {
        match self.random.below(8) {
            0 | 1 => "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            2 if matches!(shape, Shape::Reads | Shape::Long) => "START TRANSACTION READ ONLY",
            3 => "SET autocommit = 0",
            4 => "START TRANSACTION",
            _ => "BEGIN",
        }
    }

    fn steps(&mut self, shape: Shape) -> Step {
        if shape == Shape::Skew {
            return self.skew();
        }
        let count = match shape {
            Shape::Long => 15 + self.random.below(25),
            _ => 1 + self.random.below(9).min(self.random.below(9) + 1),
        };
        let writes = !matches!(shape, Shape::Reads | Shape::Long);
        // Savepoints within one another.
        let (mut depth, mut begun) = (0, false);
        for _ in 0..count {
            // Not as the first statement: MySQL takes a rollback to there for one of the whole transaction, with its locks and snapshot.
            if begun && writes && depth < 3 && self.random.below(8) == 0 && self.mark(&format!("SAVEPOINT s{depth}"), Event::Savepoint)? {
                depth += 1;
            }
            match self.step(shape) {
                Ok(()) => begun = true,
                Err(Failure::Refused | Failure::Interrupted) => {}
                Err(other) => return Err(other),
            }
            if depth > 0 {
                depth = self.end_of_savepoint(depth)?;
            }
        }
        Ok(())
    }

    /// Perhaps goes back to a savepoint, the last one or one before it, or forgets the last; gives how many there are.
    fn end_of_savepoint(&mut self, depth: usize) -> Result<usize, Failure> {
        match self.random.below(9) {
            0 | 1 => {
                self.mark(&format!("ROLLBACK TO SAVEPOINT s{}", depth - 1), Event::RollbackToSavepoint)?;
            }
            // The one before the last: the last goes with it.
            2 if depth > 1 && self.mark(&format!("ROLLBACK TO SAVEPOINT s{}", depth - 2), Event::RollbackToSavepoint)? => {
                let statement = self.statements.last_mut().expect("just noted");
                statement.events.insert(0, Event::ReleaseSavepoint);
                return Ok(depth - 1);
            }
            3 if self.mark(&format!("RELEASE SAVEPOINT s{}", depth - 1), Event::ReleaseSavepoint)? => return Ok(depth - 1),
            _ => {}
        }
        Ok(depth)
    }

    fn end(&mut self) -> Result<End, Failure> {
        match self.random.below(12) {
            0 => self.ask_until_done("ROLLBACK").map(|_| End::Aborted),
            // It hangs up: the server rolls back.
            1 if self.random.below(4) == 0 => self.reconnect().map(|()| End::Aborted).map_err(Failure::Defect),
            _ => {
                let sent = self.run.now();
                match self.ask("COMMIT") {
                    Ok(done) => Ok(End::Committed { sent: done.sent, answered: done.answered }),
                    Err(Failure::Broken(_)) => Ok(End::Unknown { sent }),
                    Err(Failure::Interrupted) => Err(Failure::Defect("COMMIT was interrupted".into())),
                    Err(other) => Err(other),
                }
            }
        }
    }

    fn step(&mut self, shape: Shape) -> Step {
        let locking = match shape {
            Shape::Reads | Shape::Long | Shape::Skew => Locking::None,
            Shape::Current => {
                self.random.pick(&[Locking::Update, Locking::Update, Locking::Share, Locking::UpdateNoWait, Locking::UpdateSkip])
            }
            Shape::Mixed if self.random.below(4) == 0 => self.random.pick(&[Locking::Update, Locking::Share]),
            Shape::Mixed => Locking::None,
        };
        let lists = match self.run.profile.focus {
            Focus::All => self.random.below(14) < 9,
            Focus::Lists => self.random.below(14) > 0,
            Focus::Sets => self.random.below(14) == 0,
        };
        if !matches!(shape, Shape::Mixed | Shape::Current) || self.random.below(5) < 2 {
            self.read(lists, locking)
        } else if lists {
            self.change_lists(shape)
        } else {
            self.change_sets()
        }
    }

    fn read(&mut self, lists: bool, locking: Locking) -> Step {
        let (of_level, gaps) = (self.random.below(10), self.locks_gaps());
        match of_level {
            0 if locking == Locking::None => self.read_all(),
            _ if !lists && locking != Locking::UpdateSkip => self.read_sets(locking),
            1..=3 => self.read_range(locking),
            4 => self.read_joined(locking),
            // Without gap locks a row may pass by a locking scan of an index that it moves in.
            5 if locking == Locking::None || gaps => self.read_last(locking),
            _ => self.read_list(locking),
        }
    }

    fn change_lists(&mut self, shape: Shape) -> Step {
        let keeps_reads = matches!(self.level, Level::SnapshotIsolation | Level::Serializable);
        match self.random.below(10) {
            0 => self.append_to_range(),
            1..=2 => self.upsert(),
            3 => self.insert(),
            4 if !self.autocommit => self.rewrite(),
            5 if !self.autocommit && keeps_reads && shape == Shape::Mixed => self.read_and_write(),
            _ => self.append(),
        }
    }

    fn change_sets(&mut self) -> Step {
        match self.random.below(10) {
            0..=1 => self.move_member(),
            2 => self.remove_member(),
            // At REPEATABLE READ a row is seen as it is now by who has changed it, and this change is not told to the checker.
            3 if self.autocommit || self.level != Level::RepeatableRead => self.touch_members(),
            4 if !self.autocommit && self.locks_gaps() => self.remove_range(),
            _ => self.insert_members(),
        }
    }

    /// Whether a locking read keeps away what it did not find.
    pub(super) fn locks_gaps(&self) -> bool {
        self.level.locks_gaps() && !self.run.settings.without_gaps
    }

    /// Whether a read may see anything that was ever written.
    pub(super) fn reads_dirty(&self, locking: Locking) -> bool {
        locking == Locking::None && self.level.plain_read(self.autocommit) == PlainRead::Dirty
    }

    pub(super) fn remember(&mut self, member: Member) {
        if self.members.len() == MEMBERS_KNOWN {
            self.members.remove(0);
        }
        self.members.push(member);
    }

    pub(super) fn known_member(&mut self) -> Option<Member> {
        if self.members.is_empty() { None } else { Some(self.members[self.random.below(self.members.len() as u64) as usize]) }
    }

    fn ask(&mut self, sql: &str) -> Result<Answer, Failure> {
        ask(self.run, &mut self.connection, sql, false)
    }

    /// What is to be repeated when somebody kills it.
    pub(super) fn ask_until_done(&mut self, sql: &str) -> Result<Answer, Failure> {
        loop {
            match self.ask(sql) {
                Err(Failure::Interrupted) => {}
                other => return other,
            }
        }
    }

    /// Whether a statement about a savepoint was done.
    fn mark(&mut self, sql: &str, event: Event) -> Result<bool, Failure> {
        match self.ask(sql) {
            Ok(answer) => {
                self.note(sql, &answer, Reading::Current, vec![event]);
                Ok(true)
            }
            Err(Failure::Interrupted) => Ok(false),
            Err(other) => Err(other),
        }
    }

    pub(super) fn reconnect(&mut self) -> Result<(), String> {
        (self.connection, self.wire, self.lives) = connect(self.run, self.number, self.level)?;
        Ok(())
    }

    pub(super) fn note(&mut self, sql: &str, answer: &Answer, reading: Reading, events: Vec<Event>) {
        self.statements.push(Statement { sql: sql.into(), sent: answer.sent, answered: answer.answered, reading, events });
    }

    /// A SELECT; what it tells is taken from its rows.
    pub(super) fn select(&mut self, sql: &str, locking: Locking, events: impl FnOnce(&mut Self, &[Vec<Value>]) -> Vec<Event>) -> Step {
        let sent = self.run.now();
        match ask(self.run, &mut self.connection, sql, self.prepared) {
            Ok(answer) => {
                let events = events(self, &answer.rows);
                self.note(sql, &answer, locking.reading(), events);
                Ok(())
            }
            Err(failure) => {
                let answer = Answer { rows: vec![], affected: 0, sent, answered: self.run.now() };
                self.note(sql, &answer, locking.reading(), vec![Event::TriedRead]);
                Err(failure)
            }
        }
    }

    /// A change; what it did follows from the count of rows.
    pub(super) fn change(&mut self, sql: &str, events: impl FnOnce(&mut Self, u64) -> Vec<Event>) -> Step {
        let sent = self.run.now();
        match ask(self.run, &mut self.connection, sql, self.prepared) {
            Ok(answer) => {
                let events = events(self, answer.affected);
                self.note(sql, &answer, Reading::Current, events);
                Ok(())
            }
            // The server may have done it, where it would also have committed it.
            Err(Failure::Broken(sent)) if self.autocommit => {
                let answer = Answer { rows: vec![], affected: 1, sent, answered: self.run.now() };
                let events = events(self, 1);
                let changes = events.into_iter().filter(|event| !event.is_read()).collect();
                self.note(sql, &answer, Reading::Current, changes);
                Err(Failure::Broken(sent))
            }
            Err(failure) => {
                let answer = Answer { rows: vec![], affected: 1, sent, answered: self.run.now() };
                let tried = events(self, 1).into_iter().filter_map(|event| match event {
                    Event::Append { key, element } => Some(Event::TriedAppend { key, element }),
                    Event::Insert { element, group } => Some(Event::TriedInsert { element, group }),
                    _ => None,
                });
                self.note(sql, &answer, Reading::Current, tried.collect());
                Err(failure)
            }
        }
    }
}

/// A connection at a level; while the server is being started again, that takes as long as it does.
fn connect(run: &Run<'_>, number: usize, level: Level) -> Result<(mysql::Conn, Arc<Wire>, u64), String> {
    use mysql::prelude::Queryable;
    // A KILL that was meant for a session of the life before may hit this one: numbers begin anew with each life.
    let mut hits_left = 3;
    run.place.through_kills(|| {
        let (lives, connection) = loop {
            let lives = run.place.lives();
            let mut connection = run.place.connect(Some(DATABASE))?;
            match level.set().iter().try_for_each(|sql| connection.query_drop(sql)) {
                Ok(()) => break (lives, connection),
                Err(error) if is_broken(&error) && lives > 0 && hits_left > 0 => hits_left -= 1,
                Err(error) => return Err(format!("{:?}: {error}", level.set())),
            }
        };
        if run.place.lives() != lives {
            // Connected to the next life: who takes it for this one does not see that it has crossed a crash.
            return Err("the server was killed meanwhile".into());
        }
        // Not known to those who disturb before it is ready.
        let wire = run.disturber.register(number, &connection, lives);
        Ok((connection, wire, lives))
    })
}
