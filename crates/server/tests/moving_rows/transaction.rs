//! What one session does: transactions at all levels, branches of XA, and tables that are its own.

use crate::look::{Row, View, all_rows, compare, lost, rows, unless_lost};
use crate::shape::{Shape, Table, below, one_of};
use env::SplitMix64;
use mysql::prelude::Queryable;
use std::collections::BTreeSet;
use sync::{Mutex, Rank};

const LEVELS: [&str; 4] = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// Branches of XA that are prepared and that somebody is to end.
pub struct Branches(Mutex<Prepared>);

#[derive(Default)]
struct Prepared {
    waiting: Vec<String>,
    /// Those that have changed something and that nobody has begun to end.
    lasting: BTreeSet<String>,
}

impl Branches {
    pub fn new() -> Self {
        Branches(Mutex::new(Rank::Leaf, Prepared::default()))
    }

    fn add(&self, name: String, has_changed: bool) {
        let mut prepared = self.0.lock();
        if has_changed {
            prepared.lasting.insert(name.clone());
        }
        prepared.waiting.push(name);
    }

    /// Ends one, if there is one.
    pub fn end_one(&self, c: &mut mysql::Conn, commit: bool) -> Result<(), mysql::Error> {
        let mut prepared = self.0.lock();
        let Some(name) = prepared.waiting.pop() else { return Ok(()) };
        prepared.lasting.remove(&name);
        drop(prepared);
        control(c, &format!("XA {} '{name}'", if commit { "COMMIT" } else { "ROLLBACK" }))
    }

    /// Ends all, of this life of the server or of the one before, as it knows them; what had been prepared is among them.
    pub fn end_all(&self, c: &mut mysql::Conn, seed: u64) {
        let known: BTreeSet<String> = rows(c, "XA RECOVER").expect("reads").into_iter().filter_map(|row| row[3].clone()).collect();
        let prepared = std::mem::take(&mut *self.0.lock());
        assert!(prepared.lasting.is_subset(&known), "seed {seed}: of {:?} there are {known:?}", prepared.lasting);
        for (number, name) in known.iter().enumerate() {
            c.query_drop(format!("XA {} '{name}'", if number % 2 == 0 { "COMMIT" } else { "ROLLBACK" })).expect("ended");
        }
    }
}

/// A locking read, its repetition by what it has locked, and what both show.
#[derive(Clone)]
struct Seen {
    table: &'static Table,
    /// What holds for the rows that it has locked, and for no others.
    condition: String,
    statement: String,
    again: String,
    rows: Vec<Row>,
}

impl Seen {
    /// Repeats it: nothing was changed by us, and nobody else may have.
    fn expect_again(&self, c: &mut mysql::Conn, level: &str, after: &str) -> Result<(), mysql::Error> {
        let mut second = rows(c, &self.again)?;
        second.sort();
        assert_eq!(self.rows, second, "{level}: {}; {after}; {}", self.statement, self.again);
        Ok(())
    }

    /// Changes or deletes all of what it has locked, and nothing else; fewer where `cascades` delete some of them before.
    fn change_all(&self, c: &mut mysql::Conn, random: &mut SplitMix64, level: &str, cascades: bool) -> Result<(), mysql::Error> {
        let change = self.table.change_where(random, &self.condition);
        c.query_drop(&change)?;
        let matched = match c.info_str().split_ascii_whitespace().nth(2) {
            Some(matched) => matched.parse().expect("Rows matched: N"),
            None => c.affected_rows(),
        };
        let count = self.rows.len() as u64;
        assert!(
            matched == count || cascades && matched < count,
            "{level}: {}, then {change}: {matched} of {:?}",
            self.statement,
            self.rows
        );
        Ok(())
    }

    fn keys(&self) -> Vec<String> {
        self.rows.iter().filter_map(|row| row[0].clone()).collect()
    }
}

/// A locking read by an index; all that it shows must fit, and stay.
fn lock_some(c: &mut mysql::Conn, random: &mut SplitMix64, table: &'static Table, level: &str) -> Result<Seen, mysql::Error> {
    let index = one_of(random, table.indexes);
    let (condition, order) = table.range(index, random);
    let how = one_of(random, &["SHARE", "UPDATE", "UPDATE", "UPDATE NOWAIT"]);
    let columns = format!("SELECT {} FROM {} FORCE INDEX", table.shown(), table.name);
    let statement = format!("{columns} ({}) WHERE {condition}{order} FOR {how}", index.name);
    let mut found = rows(c, &statement)?;
    found.sort();
    let locks_gaps = matches!(level, "REPEATABLE READ" | "SERIALIZABLE");
    // By other paths: what is locked is as it was shown, and at the levels that lock gaps nothing has come to it.
    let condition = if locks_gaps {
        condition
    } else {
        let ids: Vec<&str> = found.iter().filter_map(|row| row[0].as_deref()).chain(["NULL"]).collect();
        format!("{} IN ({}) AND {condition}", table.key(), ids.join(", "))
    };
    let by = if locks_gaps && below(random, 4) > 0 { index.name } else { "PRIMARY" };
    let again = format!("{columns} ({by}) WHERE {condition}{order} FOR SHARE");
    let seen = Seen { table, condition, statement, again, rows: found };
    seen.expect_again(c, level, "at once")?;
    Ok(seen)
}

/// A transaction in the making.
struct Work<'a> {
    shape: &'static Shape,
    level: &'a str,
    /// Rows that were locked before.
    held: Option<Seen>,
    /// What was locked and not changed since.
    seen: Option<Seen>,
    /// What `seen` was at the savepoint, if there is one.
    saved: Option<Option<Seen>>,
    changed: bool,
}

impl Work<'_> {
    /// One step. What fails leaves no trace; nor does what is rolled back.
    fn step(&mut self, c: &mut mysql::Conn, random: &mut SplitMix64) -> Result<(), mysql::Error> {
        let end = match below(random, 16) {
            0..=4 => {
                let table = one_of(random, self.shape.tables);
                let seen = lock_some(c, random, table, self.level)?;
                self.held = Some(seen.clone());
                self.seen = Some(seen);
                return Ok(());
            }
            // At READ UNCOMMITTED rows are read one by one.
            5 if self.level != "READ UNCOMMITTED" => {
                let view = if self.level == "REPEATABLE READ" { View::WrittenOver } else { View::Shared };
                assert_eq!(compare(c, self.shape, view)?, None, "{}", self.level);
                return Ok(());
            }
            6..=7 => match &self.saved {
                None => {
                    self.saved = Some(self.seen.clone());
                    return control(c, "SAVEPOINT s");
                }
                Some(saved) => {
                    control(c, "ROLLBACK TO SAVEPOINT s")?;
                    self.seen = saved.clone();
                    Err("ROLLBACK TO SAVEPOINT".to_owned())
                }
            },
            8..=9 if self.seen.is_some() => {
                told(self.seen.as_ref().expect("some").change_all(c, random, self.level, !self.shape.orphans.is_empty()))?
            }
            _ => {
                let held = self.held.as_ref().map(|held| (held.table.name, held.keys()));
                let change = self.shape.change(random, held.as_ref());
                told(c.query_drop(&change))?.map_err(|error| format!("{change}: {error}"))
            }
        };
        match (end, &self.seen) {
            (Ok(()), _) if c.affected_rows() > 0 => {
                self.seen = None;
                self.changed = true;
                Ok(())
            }
            (Err(what), Some(seen)) => seen.expect_again(c, self.level, &what),
            _ => Ok(()),
        }
    }
}

/// What a statement ended with that is undone, as text, unless its whole transaction is.
fn told(end: Result<(), mysql::Error>) -> Result<Result<(), String>, mysql::Error> {
    match end {
        Err(error) if lost(&error) != Some(false) => Err(error),
        end => Ok(end.map_err(|error| error.to_string())),
    }
}

/// A statement that must not fail, but that somebody may KILL.
fn control(c: &mut mysql::Conn, statement: &str) -> Result<(), mysql::Error> {
    loop {
        match c.query_drop(statement) {
            Err(mysql::Error::MySqlError(error)) if error.code == 1317 => {}
            end => return end,
        }
    }
}

/// Steps until the end or until all is lost, which is told.
fn steps(c: &mut mysql::Conn, random: &mut SplitMix64, work: &mut Work) -> Result<bool, mysql::Error> {
    for _ in 0..1 + below(random, 7) {
        let done = work.step(c, random);
        match done.as_ref().map_err(lost) {
            Ok(()) | Err(Some(false)) => {}
            Err(Some(true)) => return Ok(true),
            Err(None) => return done.map(|()| false),
        }
    }
    Ok(false)
}

pub fn transaction(c: &mut mysql::Conn, random: &mut SplitMix64, shape: &'static Shape, branches: &Branches) -> Result<(), mysql::Error> {
    let level = one_of(random, &LEVELS);
    let mut work = Work { shape, level, held: None, seen: None, saved: None, changed: false };
    control(c, &format!("SET TRANSACTION ISOLATION LEVEL {level}"))?;
    match below(random, 16) {
        0..=2 => return branch(c, random, &mut work, branches),
        3..=4 => return alone(c, random, shape),
        _ => {}
    }
    control(c, "BEGIN")?;
    if steps(c, random, &mut work)? {
        return Ok(());
    }
    control(c, if below(random, 4) == 0 { "ROLLBACK" } else { "COMMIT" })
}

/// A branch of XA, which this session or another ends.
fn branch(c: &mut mysql::Conn, random: &mut SplitMix64, work: &mut Work, branches: &Branches) -> Result<(), mysql::Error> {
    let name = format!("b{:x}", random.next());
    control(c, &format!("XA START '{name}'"))?;
    let is_lost = steps(c, random, work)?;
    match control(c, &format!("XA END '{name}'")) {
        Ok(()) => assert!(!is_lost, "the victim of a deadlock goes on"),
        Err(error) if is_lost && lost(&error) == Some(true) => {}
        Err(error) => return Err(error),
    }
    match below(random, 6) {
        0 => return control(c, &format!("XA ROLLBACK '{name}'")),
        _ if is_lost => return control(c, &format!("XA ROLLBACK '{name}'")),
        1 => return control(c, &format!("XA COMMIT '{name}' ONE PHASE")),
        _ => control(c, &format!("XA PREPARE '{name}'"))?,
    }
    branches.add(name, work.changed && work.saved.is_none());
    if below(random, 2) == 0 {
        return branches.end_one(c, below(random, 3) > 0);
    }
    Ok(())
}

/// With the tables locked nobody else changes them: what fails or is rolled back leaves all rows as they were.
fn alone(c: &mut mysql::Conn, random: &mut SplitMix64, shape: &Shape) -> Result<(), mysql::Error> {
    // By all names that statements call them.
    let locks: Vec<String> =
        shape.tables.iter().map(|table| format!("{0} WRITE, {0} AS {0}1 WRITE, {0} AS {0}2 WRITE", table.name)).collect();
    control(c, "SET autocommit = 0")?;
    let done = c.query_drop(format!("LOCK TABLES {}", locks.join(", "))).and_then(|()| change_alone(c, random, shape));
    control(c, "ROLLBACK")?;
    control(c, "UNLOCK TABLES")?;
    control(c, "SET autocommit = 1")?;
    unless_lost(done).map(|_| ())
}

fn change_alone(c: &mut mysql::Conn, random: &mut SplitMix64, shape: &Shape) -> Result<(), mysql::Error> {
    let mut done = Vec::new();
    // What the tables were at each savepoint; the first is the begin of the transaction.
    let mut savepoints = vec![all_rows(c, shape)?];
    let mut before = savepoints[0].clone();
    for _ in 0..3 + below(random, 8) {
        let (statement, due) = match (below(random, 8), savepoints.len() - 1) {
            (0..=1, count) => {
                savepoints.push(before.clone());
                (format!("SAVEPOINT s{}", count + 1), Some(before.clone()))
            }
            (2..=3, count @ 1..) => {
                let to = 1 + below(random, count as u64) as usize;
                savepoints.truncate(to + 1);
                (format!("ROLLBACK TO SAVEPOINT s{to}"), Some(savepoints[to].clone()))
            }
            (4, count @ 2..) => {
                savepoints.pop();
                (format!("RELEASE SAVEPOINT s{count}"), Some(before.clone()))
            }
            _ => (shape.change(random, None), None),
        };
        let end = if due.is_some() { Ok(control(c, &statement)?) } else { told(c.query_drop(&statement))? };
        let due = if end.is_err() { Some(before) } else { due };
        done.push(format!("{statement}: {end:?}"));
        let after = all_rows(c, shape)?;
        assert!(due.as_ref().is_none_or(|due| *due == after), "{done:#?}\nleft {after:?}\nof {due:?}");
        assert_eq!(compare(c, shape, View::Locked)?, None, "{done:#?}");
        before = after;
    }
    if below(random, 2) == 0 {
        return control(c, "COMMIT");
    }
    control(c, "ROLLBACK")?;
    let after = all_rows(c, shape)?;
    assert!(after == savepoints[0], "{done:#?}\nROLLBACK left {after:?}\nof {:?}", savepoints[0]);
    Ok(())
}
