//! Random interleavings of a few sessions, run step by step on two servers: who waits, what each is told, and when.
//!
//! # Start at
//! [`Schedule::random`], then [`differ`].
//!
//! # Invariants
//! 1. A schedule is run on the reference first; what cannot be run there (a step of a session that waits) is left out of it, so that both servers are asked the same.
//! 2. Every schedule ends: its last steps roll back who does not wait, until nobody does.
//! 3. Which index a statement reads is said by the statement wherever a table of a few rows leaves the choice to the optimizer: what is locked follows from it.

use env::SplitMix64 as Random;
use harness::spec::{self, Level, Place, SpecFile};

/// Sessions of a schedule.
const SESSIONS: [&str; 3] = ["a", "b", "c"];

/// What there is in a schedule beside its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    /// A table whose rows refer to it.
    Child,
    /// A table that is joined to it, copied from it, and looked into.
    Other,
    /// LOCK TABLES.
    TableLocks,
}

/// What runs before, and the statements of the sessions.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// The level that all sessions begin with.
    pub level: Level,
    setup: Vec<String>,
    /// `SESSION: SQL`.
    pub steps: Vec<String>,
}

/// The first step that two servers answer differently.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The level that the sessions began with.
    pub level: Level,
    /// The schedule as it was run, with the reference's answers, in the form of a spec file.
    pub text: String,
    /// Which of its steps.
    pub step: String,
    /// Our answer.
    pub ours: Vec<String>,
    /// The reference's.
    pub theirs: Vec<String>,
}

impl Difference {
    /// What a difference is about, without its values: many schedules meet the same one.
    pub fn signature(&self) -> String {
        let shape = |lines: &[String]| -> String {
            let mut words: Vec<String> = lines.iter().map(|line| kind_of(line)).collect();
            words.dedup();
            words.join(" ")
        };
        let verb = self.step.split_whitespace().nth(1).unwrap_or_default();
        format!("{}, {verb}: {} / {}", self.level.name(), shape(&self.ours), shape(&self.theirs))
    }

    /// We went on where the reference waits, or let more sessions go on: it locks the entry behind a range, and at READ COMMITTED entries of indexes, which we do not
    /// (docs/design/gap-locks.md). That nobody goes on who must not is for the histories to say.
    pub fn locks_less(&self) -> bool {
        let stopped = |lines: &[String]| lines.iter().any(|line| line == "waits" || line.starts_with("error 3572"));
        let let_go = |lines: &[String]| lines.iter().filter(|line| kind_of(line).starts_with('*')).cloned().collect::<Vec<_>>();
        let (ours, theirs) = (let_go(&self.ours), let_go(&self.theirs));
        !stopped(&self.ours) && stopped(&self.theirs) || ours.len() > theirs.len() && theirs.iter().all(|line| ours.contains(line))
    }

    /// Both servers ended a deadlock here, by another victim: which one is the least work is each server's to say.
    pub fn is_another_victim(&self) -> bool {
        let deadlock = |lines: &[String]| lines.iter().any(|line| line.contains("error 1213"));
        deadlock(&self.ours) && deadlock(&self.theirs)
    }
}

/// An answer's kind: `waits`, `ok`, `error NUMBER`, `rows`; of another session with a star.
fn kind_of(line: &str) -> String {
    let (star, line) = match line.split_once(": ") {
        Some((name, rest)) if SESSIONS.contains(&name) => ("*", rest),
        _ => ("", line),
    };
    let kind = if line.starts_with("error") {
        line.split(' ').take(2).collect::<Vec<_>>().join(" ")
    } else if line.starts_with("ok") || line == "waits" {
        line.split(' ').next().unwrap_or_default().to_owned()
    } else {
        "rows".to_owned()
    };
    format!("{star}{kind}")
}

impl Schedule {
    /// The schedule of a seed.
    pub fn random(r: &mut Random) -> Schedule {
        let level =
            r.pick(&[Level::ReadUncommitted, Level::ReadCommitted, Level::RepeatableRead, Level::RepeatableRead, Level::Serializable]);
        let beside = match r.below(12) {
            0..=2 => Beside::Child,
            3..=6 => Beside::Other,
            7 => Beside::TableLocks,
            _ => Beside::Nothing,
        };
        let setup = tables(r, beside);
        let mut steps = Vec::new();
        if r.below(4) == 0 {
            let other = r.pick(&["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]);
            steps.push(format!("{}: SET SESSION TRANSACTION ISOLATION LEVEL {other}", r.pick(&SESSIONS)));
        }
        let mut begun = [false; SESSIONS.len()];
        for _ in 0..6 + r.below(12) {
            let at = r.below(SESSIONS.len() as u64) as usize;
            let sql = match (begun[at], r.below(10)) {
                (false, 0..=6) => {
                    begun[at] = true;
                    r.pick(&["BEGIN", "BEGIN", "BEGIN", "START TRANSACTION WITH CONSISTENT SNAPSHOT"]).to_owned()
                }
                (true, 0) => {
                    begun[at] = false;
                    r.pick(&["COMMIT", "COMMIT", "ROLLBACK"]).to_owned()
                }
                (true, 1) if r.coin() => r.pick(&["SAVEPOINT s", "ROLLBACK TO s"]).to_owned(),
                _ if beside == Beside::Child && r.below(3) == 0 => of_child(r),
                _ if beside == Beside::Other && r.below(3) > 0 => of_other(r),
                _ if beside == Beside::TableLocks && r.below(5) == 0 => {
                    begun[at] = false;
                    r.pick(&["LOCK TABLES t READ", "LOCK TABLES t WRITE", "UNLOCK TABLES"]).to_owned()
                }
                _ => statement(r),
            };
            steps.push(format!("{}: {sql}", SESSIONS[at]));
        }
        // Who does not wait ends; of three sessions the last one has been let go after three rounds.
        for _ in SESSIONS {
            steps.extend(SESSIONS.iter().map(|name| format!("{name}: {}", r.pick(&["COMMIT", "ROLLBACK"]))));
            if beside == Beside::TableLocks {
                steps.extend(SESSIONS.iter().map(|name| format!("{name}: UNLOCK TABLES")));
            }
        }
        steps.push("a: SELECT id, k, u, v FROM t".to_owned());
        match beside {
            Beside::Child => steps.push("a: SELECT id, p FROM c".to_owned()),
            Beside::Other => steps.push("a: SELECT id, x, y FROM o".to_owned()),
            Beside::Nothing | Beside::TableLocks => {}
        }
        Schedule { level, setup, steps }
    }

    fn text(&self, answers: Option<&[Vec<String>]>) -> String {
        let mut text = format!("levels {}\n", self.level.name());
        for sql in &self.setup {
            text.push_str(&format!("setup {sql}\n"));
        }
        text.push('\n');
        for (at, step) in self.steps.iter().enumerate() {
            text.push_str(&format!("{step}\n"));
            for line in answers.into_iter().flat_map(|answers| answers.get(at)).flatten() {
                text.push_str(&format!("  {line}\n"));
            }
        }
        text
    }

    /// Without one of its steps.
    fn without(&self, at: usize) -> Schedule {
        let mut smaller = self.clone();
        smaller.steps.remove(at);
        smaller
    }
}

/// Runs a schedule on both. `Ok(None)` when they agree; `Err` when one of them left a statement unanswered.
pub fn differ(ours: &Place, theirs: &Place, schedule: &Schedule) -> Result<Option<Difference>, String> {
    let run = |place: &Place, schedule: &Schedule| -> Result<Vec<Option<Vec<String>>>, String> {
        spec::attempt(place, &SpecFile::parse(&schedule.text(None))?, schedule.level)
    };
    let told = run(theirs, schedule).map_err(|why| format!("the reference: {why}"))?;
    let mut ran = schedule.clone();
    ran.steps = schedule.steps.iter().zip(&told).filter(|(_, told)| told.is_some()).map(|(step, _)| step.clone()).collect();
    let theirs: Vec<Vec<String>> = told.into_iter().flatten().map(in_order).collect();
    let ours = run(ours, &ran).map_err(|why| format!("ours: {why}\n{}", ran.text(Some(&theirs))))?;
    for (at, (ours, theirs_here)) in ours.into_iter().zip(&theirs).enumerate() {
        let ours = in_order(ours.unwrap_or_else(|| vec!["still waits".to_owned()]));
        if ours != *theirs_here {
            let difference = Difference {
                level: ran.level,
                text: ran.text(Some(&theirs)),
                step: ran.steps[at].clone(),
                ours,
                theirs: theirs_here.clone(),
            };
            return Ok(Some(difference));
        }
    }
    Ok(None)
}

/// Rows in the order of their text: which order a server reads in is not compared here.
fn in_order(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

/// Leaves out steps as long as a difference of this signature is left.
pub fn shrink(ours: &Place, theirs: &Place, schedule: Schedule, signature: &str) -> Result<Schedule, String> {
    let mut small = schedule;
    let mut at = small.steps.len();
    while at > 0 {
        at -= 1;
        let smaller = small.without(at);
        if differ(ours, theirs, &smaller).is_ok_and(|found| found.is_some_and(|found| found.signature() == signature)) {
            small = smaller;
        }
    }
    Ok(small)
}

/// The tables of a schedule: one with every sort of key, and perhaps another one.
fn tables(r: &mut Random, beside: Beside) -> Vec<String> {
    let keys = r.pick(&["KEY k (k), UNIQUE KEY u (u)", "KEY k (k, v), UNIQUE KEY u (u)", "KEY k (k), UNIQUE KEY u (u, v)"]);
    let mut setup = vec![format!("CREATE TABLE t (id INT PRIMARY KEY, k INT, u INT, v INT NOT NULL DEFAULT 0, {keys})")];
    let rows: Vec<String> = (1..=2 + r.below(5))
        .map(|n| {
            let u = if r.below(6) == 0 { "NULL".to_owned() } else { (n * 10).to_string() };
            format!("({}, {}, {u}, 0)", n * 10, 10 + 10 * r.below(5))
        })
        .collect();
    setup.push(format!("INSERT INTO t VALUES {}", rows.join(", ")));
    if beside == Beside::Other {
        setup.push("CREATE TABLE o (id INT PRIMARY KEY, x INT, y INT NOT NULL DEFAULT 0, KEY x (x), KEY y (y))".to_owned());
        let rows: Vec<String> = (1..=2 + r.below(4)).map(|n| format!("({}, {}, {})", n * 10, 10 + 10 * r.below(5), r.below(2))).collect();
        setup.push(format!("INSERT INTO o VALUES {}", rows.join(", ")));
        setup.push("ANALYZE TABLE o".to_owned());
    }
    if beside == Beside::Child {
        let (on_delete, on_update) = (r.pick(&["CASCADE", "SET NULL", "RESTRICT"]), r.pick(&["CASCADE", "RESTRICT"]));
        let target = r.pick(&["id", "id", "u"]);
        let target = if target == "u" && keys.ends_with("(u, v)") { "id" } else { target };
        let actions = format!("ON DELETE {on_delete} ON UPDATE {on_update}");
        setup.push(format!("CREATE TABLE c (id INT PRIMARY KEY, p INT, KEY p (p), FOREIGN KEY (p) REFERENCES t ({target}) {actions})"));
        setup.push("INSERT IGNORE INTO c VALUES (1, 10), (2, 20), (3, NULL), (4, 20)".to_owned());
        setup.push("ANALYZE TABLE c".to_owned());
    }
    setup.push("ANALYZE TABLE t".to_owned());
    setup
}

/// One statement about the rows that refer to others.
fn of_child(r: &mut Random) -> String {
    let (id, parent) = (1 + r.below(6), value(r));
    match r.below(8) {
        0..=2 => format!("INSERT INTO c VALUES ({id}, {parent})"),
        3 => format!("DELETE FROM c WHERE id = {id}"),
        4 => format!("UPDATE c SET p = {parent} WHERE id = {id}"),
        5 => format!("INSERT IGNORE INTO c SELECT id, id FROM t FORCE INDEX (PRIMARY) WHERE id >= {parent}"),
        6 => format!("SELECT id, p FROM c FORCE INDEX (p) WHERE p = {parent} FOR UPDATE"),
        _ => format!("SELECT id, p FROM c FORCE INDEX (PRIMARY) WHERE id = {id} FOR SHARE"),
    }
}

/// One statement about the other table, or both.
fn of_other(r: &mut Random) -> String {
    let (index, condition) = condition(r);
    let from_t = format!("t FORCE INDEX ({index})");
    let joined = |r: &mut Random| {
        let (own, column) = r.pick(&[("PRIMARY", "id"), ("x", "x")]);
        format!("{from_t} STRAIGHT_JOIN o FORCE INDEX ({own}) ON o.{column} = t.{}", r.pick(&["id", "k", "u"]))
    };
    let of_t = condition.replace(" v ", " t.v ");
    let of_t = ["id", "k", "u"].iter().find(|column| of_t.starts_with(*column)).map_or(of_t.clone(), |_| format!("t.{of_t}"));
    let (own, column) = r.pick(&[("PRIMARY", "id"), ("PRIMARY", "id"), ("x", "x")]);
    let from_o = format!("o FORCE INDEX ({own}) WHERE {column} {} {}", r.pick(&["=", "=", ">=", "<"]), value(r));
    match r.below(20) {
        0 => format!("INSERT INTO o SELECT id + {}, k, v FROM {from_t} WHERE {condition}", r.pick(&[0, 0, 5, 100])),
        1 => format!("INSERT INTO o SELECT id, k, v FROM {from_t} WHERE {condition} ON DUPLICATE KEY UPDATE y = y + 1"),
        2 => format!("REPLACE INTO o SELECT id, k, v FROM {from_t} WHERE {condition}"),
        3 => format!("UPDATE {from_t} SET v = v + 1 + (SELECT COUNT(*) FROM {from_o}) WHERE {condition}"),
        4 => format!(
            "UPDATE {from_t} SET v = v + 1 WHERE {index_column} = 10 * (SELECT COUNT(*) FROM {from_o})",
            index_column = column_of(index)
        ),
        5 | 6 => {
            let set = r.pick(&["t.v = t.v + 1", "o.y = o.y + 1", "t.v = t.v + 1, o.y = o.y + 1"]);
            format!("UPDATE {} SET {set} WHERE {of_t}", joined(r))
        }
        7 => format!("DELETE {} FROM {} WHERE {of_t}", r.pick(&["t", "o", "t, o"]), joined(r)),
        8 | 9 => {
            let lock = r.pick(&[
                "FOR UPDATE",
                "FOR SHARE",
                "FOR UPDATE OF t",
                "FOR UPDATE OF o",
                "FOR UPDATE NOWAIT",
                "FOR UPDATE SKIP LOCKED",
                "FOR SHARE OF t FOR UPDATE OF o SKIP LOCKED",
            ]);
            format!("SELECT t.id, t.v, o.id, o.y FROM {} WHERE {of_t} {lock}", joined(r))
        }
        10 => format!("DELETE FROM t WHERE id = {} AND EXISTS (SELECT /*+ NO_SEMIJOIN() */ 1 FROM {from_o})", value(r)),
        11 => {
            let (x, y) = (value(r), r.below(2));
            format!("SELECT /*+ INDEX_MERGE(o x, y) */ id, x, y FROM o WHERE x = {x} AND y = {y} FOR UPDATE")
        }
        12 => format!("UPDATE /*+ INDEX_MERGE(o x, y) */ o SET x = x + 5 WHERE x = {} OR y = {}", value(r), r.below(3)),
        13 | 14 => format!("INSERT INTO o VALUES ({}, {}, {})", value(r), value(r), r.below(2)),
        15 => format!("DELETE FROM o WHERE id = {}", value(r)),
        16 => format!("SELECT id, x, y FROM {from_o} FOR UPDATE"),
        17 => format!("INSERT INTO t SELECT id, x, x + 1, y FROM {from_o}"),
        _ => format!("UPDATE o SET {} WHERE id = {}", r.pick(&["y = y + 1", "x = x + 5", "id = id + 5"]), value(r)),
    }
}

/// A value that a row may have, or that lies between two.
fn value(r: &mut Random) -> u64 {
    5 * (1 + r.below(14))
}

/// An index and a condition by it.
fn condition(r: &mut Random) -> (&'static str, String) {
    let (index, column) = r.pick(&[("PRIMARY", "id"), ("PRIMARY", "id"), ("k", "k"), ("k", "k"), ("u", "u")]);
    let text = match r.below(9) {
        0..=3 => format!("{column} = {}", value(r)),
        4 => format!("{column} > {}", value(r)),
        5 => format!("{column} <= {}", value(r)),
        6 => {
            let low = value(r);
            format!("{column} BETWEEN {low} AND {}", low + 5 * r.below(5))
        }
        7 => format!("{column} IN ({}, {})", value(r), value(r)),
        _ => format!("{column} >= {} AND v < {}", value(r), r.below(3)),
    };
    (index, text)
}

/// The first column of an index of the table.
fn column_of(index: &str) -> &str {
    match index {
        "PRIMARY" => "id",
        first => first,
    }
}

fn order(r: &mut Random, index: &str) -> String {
    let column = column_of(index);
    let direction = r.pick(&["", " DESC"]);
    // All rows that are equal, or none: of some of them the server may choose.
    let limit = if index == "k" { 9 } else { 1 + r.below(2) };
    if r.below(3) == 0 { format!(" ORDER BY {column}{direction} LIMIT {limit}") } else { String::new() }
}

/// One statement that reads or changes rows.
fn statement(r: &mut Random) -> String {
    let (index, condition) = condition(r);
    let force = format!("FORCE INDEX ({index})");
    match r.below(17) {
        0 | 1 => format!("SELECT id, k, u, v FROM t {force} WHERE {condition}"),
        16 => {
            let condition = match r.below(3) {
                0 => format!("k = {} OR u = {}", value(r), value(r)),
                1 => format!("id = {} OR k = {}", value(r), value(r)),
                _ => format!("(k = {} OR u > {}) AND v < {}", value(r), value(r), 1 + r.below(2)),
            };
            match r.below(3) {
                0 => format!("UPDATE /*+ INDEX_MERGE(t) */ t SET v = v + 1 WHERE {condition}"),
                1 => format!("DELETE /*+ INDEX_MERGE(t) */ FROM t WHERE {condition}"),
                _ => format!("SELECT /*+ INDEX_MERGE(t) */ id, k, u, v FROM t WHERE {condition} FOR UPDATE"),
            }
        }
        2..=4 => {
            let lock =
                r.pick(&["FOR UPDATE", "FOR UPDATE", "FOR SHARE", "FOR UPDATE NOWAIT", "FOR SHARE NOWAIT", "FOR UPDATE SKIP LOCKED"]);
            format!("SELECT id, k, u, v FROM t {force} WHERE {condition}{} {lock}", order(r, index))
        }
        5..=8 => {
            let set = match r.below(8) {
                0 => format!("k = {}", value(r)),
                1 => format!("u = {}", value(r)),
                2 => format!("id = {}", value(r)),
                3 => "k = k + 5".to_owned(),
                _ => "v = v + 1".to_owned(),
            };
            format!("UPDATE t {force} SET {set} WHERE {condition}{}", order(r, index))
        }
        9 | 10 => format!("DELETE /*+ INDEX(t {index}) */ FROM t WHERE {condition}{}", order(r, index)),
        _ => {
            let row = format!("({}, {}, {}, {})", value(r), value(r), value(r), r.below(3));
            match r.below(10) {
                0 => format!("REPLACE INTO t VALUES {row}"),
                1 => format!("INSERT IGNORE INTO t VALUES {row}"),
                2 => format!("INSERT INTO t VALUES {row} ON DUPLICATE KEY UPDATE v = v + 1"),
                8 => format!("INSERT INTO t VALUES {row} ON DUPLICATE KEY UPDATE {} = {}", r.pick(&["k", "u", "id"]), value(r)),
                9 => format!("REPLACE INTO t SELECT id, k, u, v + 1 FROM t {force} WHERE {condition}"),
                3 => format!("INSERT INTO t SELECT id + 1, k, u + 1, v FROM t {force} WHERE {condition}"),
                _ => format!("INSERT INTO t VALUES {row}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_schedule_and_every_schedule_is_a_spec() {
        for seed in 0..200 {
            let schedule = Schedule::random(&mut Random::new(seed));
            assert_eq!(schedule.steps, Schedule::random(&mut Random::new(seed)).steps);
            let spec = SpecFile::parse(&schedule.text(None)).expect("a spec");
            assert_eq!(spec.step_count(), schedule.steps.len(), "seed {seed}");
        }
    }

    #[test]
    fn a_signature_leaves_values_out() {
        let told = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        let difference = Difference {
            level: Level::Serializable,
            text: String::new(),
            step: "a: UPDATE t SET v = 1".into(),
            ours: told(&["ok 2", "b: error 1213 40001"]),
            theirs: told(&["c: 1 | 2", "c: 2 | 3", "waits"]),
        };
        assert_eq!(difference.signature(), "SERIALIZABLE, UPDATE: ok *error 1213 / *rows waits");
        assert!(!difference.is_another_victim() && difference.locks_less());
    }
}
