//! A client: one transaction after the other on a connection of its own.

use super::lists::Locking;
use super::statement::{Answer, Failure, ask};
use super::{DATABASE, Run};
use crate::history::{End, Event, Reading, Statement, Txn};
use crate::levels::{Level, PlainRead};
use env::SplitMix64;
use mysql::Value;

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
}

pub(super) struct Client<'r, 'p> {
    pub(super) run: &'r Run<'p>,
    pub(super) random: SplitMix64,
    connection: mysql::Conn,
    /// Of the server, when the connection was made.
    lives: u64,
    number: usize,
    level: Level,
    autocommit: bool,
    prepared: bool,
    /// Of the transaction that runs.
    statements: Vec<Statement>,
    members: Vec<Member>,
}

impl<'r, 'p> Client<'r, 'p> {
    /// Runs a client to its end.
    pub(super) fn run(run: &'r Run<'p>, number: usize) -> Result<Vec<Txn>, String> {
        let mut random = SplitMix64::new(run.seed ^ (number as u64 + 1).wrapping_mul(0xD134_2543_DE82_EF95));
        let level = random.pick(&run.settings.levels);
        let (connection, lives) = connect(run, level)?;
        let mut client = Client {
            run,
            random,
            connection,
            lives,
            number,
            level,
            autocommit: false,
            prepared: false,
            statements: vec![],
            members: vec![],
        };
        let mut txns = Vec::new();
        for _ in 0..run.settings.txns {
            let (txn, broken) = client.transaction()?;
            txns.push(txn);
            if broken && client.lives == run.place.lives() {
                return Err(format!(
                    "a connection broke, and the server was not killed\n{}",
                    txns.last().expect("just pushed").describe(0)
                ));
            }
            if broken || client.random.below(40) == 0 {
                // Whatever the transaction was, the connection's end ends it.
                (client.connection, client.lives) = connect(run, level)?;
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
            Err(Failure::Defect(what)) => return Err(format!("{what}\n{}", txn.describe(0))),
            // The server may have done what it did not answer, if that was a commit.
            Err(Failure::Broken(sent)) => {
                if self.autocommit {
                    txn.end = End::Unknown { sent };
                }
                return Ok((txn, true));
            }
            Err(Failure::Aborted | Failure::Refused | Failure::TimedOut) => {}
        }
        Ok((txn, false))
    }

    /// One statement outside of a transaction.
    fn single(&mut self) -> Result<End, Failure> {
        match self.step(Shape::Mixed) {
            Ok(()) | Err(Failure::Refused) => {}
            Err(other) => return Err(other),
        }
        Ok(self.statements.last().map_or(End::Aborted, |s| End::Committed { sent: s.sent, answered: s.answered }))
    }

    fn several(&mut self, txn: &mut Txn) -> Result<End, Failure> {
        let shape = self.random.pick(&[Shape::Mixed, Shape::Mixed, Shape::Mixed, Shape::Reads, Shape::Current]);
        let begin = match self.random.below(8) {
            0 | 1 => "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            2 if shape == Shape::Reads => "START TRANSACTION READ ONLY",
            3 => "SET autocommit = 0",
            4 => "START TRANSACTION",
            _ => "BEGIN",
        };
        let begun = self.ask(begin)?;
        if begin.ends_with("SNAPSHOT") && self.level.plain_read(false) == PlainRead::OfTransaction {
            txn.snapshot = Some((begun.sent, begun.answered));
        }
        let done = self.steps(shape);
        let end = match done {
            Ok(()) => self.end(),
            // After a deadlock in a READ ONLY transaction MySQL keeps to reading until it is told that the transaction has ended.
            Err(Failure::TimedOut | Failure::Aborted) => self.ask("ROLLBACK").map(|_| End::Aborted),
            Err(other) => return Err(other),
        };
        if begin == "SET autocommit = 0" {
            // It would commit: what runs has ended by now.
            match self.ask("SET autocommit = 1") {
                // The transaction's own end is known; the connection's end is seen by the next one.
                Ok(_) | Err(Failure::Broken(_)) => {}
                Err(other) => return Err(other),
            }
        }
        end
    }

    fn steps(&mut self, shape: Shape) -> Step {
        let count = 1 + self.random.below(9).min(self.random.below(9) + 1);
        let mut savepoint = None;
        for at in 0..count {
            // Not as the first statement: MySQL takes a rollback to there for one of the whole transaction, with its locks and snapshot.
            if at > 0 && shape != Shape::Reads && savepoint.is_none() && self.random.below(12) == 0 {
                self.mark("SAVEPOINT s", Event::Savepoint)?;
                savepoint = Some(at);
            }
            match self.step(shape) {
                Ok(()) | Err(Failure::Refused) => {}
                Err(other) => return Err(other),
            }
            if savepoint.is_some() && self.random.below(3) == 0 {
                self.mark("ROLLBACK TO SAVEPOINT s", Event::RollbackToSavepoint)?;
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<End, Failure> {
        match self.random.below(12) {
            0 => self.ask("ROLLBACK").map(|_| End::Aborted),
            // It hangs up: the server rolls back.
            1 if self.random.below(4) == 0 => match connect(self.run, self.level) {
                Ok((connection, lives)) => {
                    (self.connection, self.lives) = (connection, lives);
                    Ok(End::Aborted)
                }
                Err(why) => Err(Failure::Defect(why)),
            },
            _ => {
                let sent = self.run.now();
                match self.ask("COMMIT") {
                    Ok(done) => Ok(End::Committed { sent: done.sent, answered: done.answered }),
                    Err(Failure::Broken(_)) => Ok(End::Unknown { sent }),
                    Err(other) => Err(other),
                }
            }
        }
    }

    fn step(&mut self, shape: Shape) -> Step {
        let locking = match shape {
            Shape::Reads => Locking::None,
            Shape::Current => self.random.pick(&[Locking::Update, Locking::Update, Locking::Share, Locking::UpdateNoWait]),
            Shape::Mixed if self.random.below(4) == 0 => self.random.pick(&[Locking::Update, Locking::Share]),
            Shape::Mixed => Locking::None,
        };
        if shape == Shape::Reads || self.random.below(5) < 2 {
            return match self.random.below(10) {
                0..=2 => self.read_list(locking),
                3..=4 => self.read_range(locking),
                5 => self.read_joined(locking),
                // Without gap locks a row may pass by a locking scan of an index that it moves in.
                6 if locking == Locking::None || (self.level.locks_gaps() && !self.run.settings.without_gaps) => self.read_last(locking),
                7 if locking == Locking::None => self.read_all(),
                _ => self.read_sets(locking),
            };
        }
        let keeps_reads = matches!(self.level, Level::SnapshotIsolation | Level::Serializable);
        match self.random.below(14) {
            0..=3 => self.append(),
            4 => self.append_to_range(),
            5..=6 => self.upsert(),
            7 => self.insert(),
            8 if !self.autocommit => self.rewrite(),
            9 if !self.autocommit && keeps_reads && shape == Shape::Mixed => self.read_and_write(),
            10 => self.move_member(),
            11 => self.remove_member(),
            _ => self.insert_members(),
        }
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

    fn mark(&mut self, sql: &str, event: Event) -> Step {
        let answer = self.ask(sql)?;
        self.note(sql, &answer, Reading::Current, vec![event]);
        Ok(())
    }

    fn note(&mut self, sql: &str, answer: &Answer, reading: Reading, events: Vec<Event>) {
        self.statements.push(Statement { sql: sql.into(), sent: answer.sent, answered: answer.answered, reading, events });
    }

    /// A SELECT; what it tells is taken from its rows.
    pub(super) fn select(&mut self, sql: &str, locking: Locking, events: impl FnOnce(&mut Self, &[Vec<Value>]) -> Vec<Event>) -> Step {
        let answer = ask(self.run, &mut self.connection, sql, self.prepared)?;
        let events = events(self, &answer.rows);
        self.note(sql, &answer, locking.reading(), events);
        Ok(())
    }

    /// A change; what it did follows from the count of rows.
    pub(super) fn change(&mut self, sql: &str, events: impl FnOnce(&mut Self, u64) -> Vec<Event>) -> Step {
        let attempt = ask(self.run, &mut self.connection, sql, self.prepared);
        match attempt {
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
                let now = self.run.now();
                let answer = Answer { rows: vec![], affected: 1, sent: now, answered: now };
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
fn connect(run: &Run<'_>, level: Level) -> Result<(mysql::Conn, u64), String> {
    use mysql::prelude::Queryable;
    loop {
        let lives = run.place.lives();
        let attempt = run.place.connect(Some(DATABASE)).and_then(|mut connection| {
            for sql in level.set() {
                connection.query_drop(&sql).map_err(|error| format!("{sql}: {error}"))?;
            }
            Ok((connection, lives))
        });
        match attempt {
            Err(_) if lives % 2 == 1 || lives != run.place.lives() => {}
            other => return other,
        }
    }
}
