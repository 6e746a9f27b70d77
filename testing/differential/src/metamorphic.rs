//! Metamorphic checks: what one query answers, other queries about the same rows must answer too. They need no second server to be right.
//!
//! | Relation | One side | The other |
//! |---|---|---|
//! | `rows`, `distinct` | a query without WHERE | the same WHERE p, NOT p, p IS NULL, put together (ternary logic partitioning, TLP) |
//! | `aggregates` | aggregates of all rows | the aggregates of the three parts, aggregated |
//! | `groups` | groups | the groups HAVING p, NOT p, p IS NULL |
//! | `rollup` | groups WITH ROLLUP | the groups by both keys, by the first, and all rows as one |
//! | `windows` | aggregates over partitions | the rows beside the groups of their keys |
//! | `running` | a column | what a running sum over it grows by from row to row |
//! | `pages` | a query by a total order | its pages: LIMIT, and LIMIT with OFFSET, put together |
//! | `sets` | INTERSECT, EXCEPT | the distinct rows of the one that EXISTS, or NOT EXISTS, in the other |
//! | `kept` | a CTE that is read twice | its query, twice |
//! | `count` | rows that WHERE p leaves | how often p, as a column, is true (NoREC: what no optimizer may use) |
//! | `join` | rows that a join ON p has | how often p is true in the cross join |
//! | `outer` | a left join | the join, and the rows that NOT EXISTS a partner for |
//! | `semi` | rows for which a partner EXISTS | the rows of the join, each once |
//! | `keys` | a query | the same on tables without any key |
//! | `switches` | a query | the same, some ways to run it switched off by a hint |
//! | `changes` | what an UPDATE or DELETE ought to leave, by a query before it | what it left, by all rows and by a second condition; then it is taken back |
//!
//! # Invariants
//! 1. The same seed makes the same tables and checks.
//! 2. A check of which any statement is an error says nothing and is counted as passed over: which rows an expression is evaluated for is the plan's affair.
//!    A broken connection or an internal error is a failure.

mod relation;

pub use relation::{Relation, check};

use crate::answer::{Answer, Difference};
use crate::generate::{Generator, Kind};
use crate::node::{Node, shrink};
use crate::pair::Side;
use crate::paths;
use crate::schema;
use env::SplitMix64 as Random;
use harness::Target;
use relation::sides;
use std::collections::BTreeMap;

/// Questions that making one check smaller may cost, each of a few statements.
const SHRINK_TRIES: usize = 200;
/// Well below the deadline of the harness's clients, which makes a failure of a server that does not answer.
const PATIENCE_MS: u32 = 10_000;
const DATABASE: &str = "metamorphic";
const DATABASE_WITHOUT_KEYS: &str = "metamorphic_plain";

/// What a check came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Both sides are equal.
    Holds,
    /// A statement is an error, or takes too long.
    PassedOver,
    /// The sides differ, or the server broke; text to show.
    Fails(String),
}

/// A server with the tables of a seed, twice: with keys, and without.
pub struct Subject {
    keyed: Side,
    plain: Side,
}

impl Subject {
    /// Makes the tables. `factor` multiplies their rows.
    pub fn new(address: &str, seed: u64, factor: usize) -> Result<Subject, String> {
        let made = schema::statements(&mut Random::new(seed), factor);
        let mut keyed = Side::with_tables(Target::external(address)?, DATABASE, &made, None)?;
        let mut plain = Side::with_tables(Target::external(address)?, DATABASE_WITHOUT_KEYS, &copies(), None)?;
        // A condition that is asked of a product of large tables may take minutes by every plan there is: its check is passed over.
        keyed.limit(PATIENCE_MS);
        plain.limit(PATIENCE_MS);
        Ok(Subject { keyed, plain })
    }

    /// Changes rows, for good, and copies them anew.
    pub fn change(&mut self, statements: &[String]) -> Result<(), String> {
        for statement in statements {
            let answer = self.keyed.ask(Kind::Queries, statement);
            if Difference::between(&answer, &answer) == Some(Difference::Broken) {
                return Err(format!("{statement}: {answer:?}"));
            }
        }
        self.plain.run(&copies())
    }

    /// Asks both sides of a check.
    pub fn check(&mut self, relation: Relation, node: &Node) -> Outcome {
        let Some(sides) = sides(relation, node) else { return Outcome::PassedOver };
        let one = match answers(&mut self.keyed, &sides.one) {
            Ok(rows) => rows,
            Err(outcome) => return outcome,
        };
        let other = if relation == Relation::Keys { &mut self.plain } else { &mut self.keyed };
        let answered = answers(other, &sides.other);
        // Also where one of its statements has failed.
        if relation == Relation::Changes
            && let Err(Outcome::Fails(why)) = answers(other, &["ROLLBACK".to_owned()])
        {
            return Outcome::Fails(why);
        }
        let other = match answered {
            Ok(rows) => rows,
            Err(outcome) => return outcome,
        };
        let (one, other) = (settled(one, sides.as_sets), settled(other, sides.as_sets));
        if one == other {
            return Outcome::Holds;
        }
        let (missing, more) = differing(&one, &other);
        Outcome::Fails(format!(
            "  {}\n  {} rows, {} of them not in the other: {}\n  {}\n  {} rows, {} of them not in the one: {}",
            sides.one.join("\n  "),
            one.len(),
            missing.len(),
            brief(&missing),
            sides.other.join("\n  "),
            other.len(),
            more.len(),
            brief(&more)
        ))
    }

    /// A check that fails (`first` says how), made smaller; with what it says then.
    pub fn smaller(&mut self, relation: Relation, node: Node, first: String) -> (Node, String) {
        let small = shrink(node, SHRINK_TRIES, &mut |node| matches!(self.check(relation, node), Outcome::Fails(_)));
        let text = match self.check(relation, &small) {
            Outcome::Fails(text) => text,
            _ => format!("{first}\n  (it does not fail each time)"),
        };
        (small, text)
    }
}

/// Runs `checks` checks of a seed; gives each failure to `found`. Returns how many held and were passed over, by relation.
pub fn survey(
    subject: &mut Subject,
    seed: u64,
    checks: usize,
    relations: &[Relation],
    found: &mut dyn FnMut(Relation, &Node, String),
) -> BTreeMap<Relation, (u64, u64)> {
    let mut generator = Generator::new(seed, Vec::new());
    let mut counts: BTreeMap<Relation, (u64, u64)> = BTreeMap::new();
    for at in 0..checks {
        let relation = relations[at % relations.len()];
        let node = check(&mut generator, relation);
        let (held, passed_over) = counts.entry(relation).or_default();
        match subject.check(relation, &node) {
            Outcome::Holds => *held += 1,
            Outcome::PassedOver => *passed_over += 1,
            Outcome::Fails(first) => {
                let (small, text) = subject.smaller(relation, node, first);
                found(relation, &small, text);
            }
        }
    }
    counts
}

/// Makes the tables without keys. A mode that takes every value, for rows that got in by IGNORE.
fn copies() -> Vec<String> {
    let mut made = vec!["SET sql_mode = ''".to_owned()];
    let tables = schema::TABLES.iter().map(|(table, _)| table).chain(paths::TABLES.iter().map(|(table, _)| table));
    for table in tables {
        made.push(format!("DROP TABLE IF EXISTS {DATABASE_WITHOUT_KEYS}.{table}"));
        made.push(format!("CREATE TABLE {DATABASE_WITHOUT_KEYS}.{table} AS SELECT * FROM {DATABASE}.{table}"));
    }
    made.push("SET sql_mode = DEFAULT".to_owned());
    made
}

/// The rows of all statements.
fn answers(side: &mut Side, statements: &[String]) -> Result<Vec<String>, Outcome> {
    let mut all = Vec::new();
    for statement in statements {
        let answer = side.ask(Kind::Queries, statement);
        if Difference::between(&answer, &answer) == Some(Difference::Broken) {
            return Err(Outcome::Fails(format!("  {statement}\n  {answer:?}")));
        }
        match answer {
            Answer::Rows { rows, .. } => all.extend(rows),
            _ => return Err(Outcome::PassedOver),
        }
    }
    Ok(all)
}

fn settled(mut rows: Vec<String>, as_sets: bool) -> Vec<String> {
    rows.sort();
    if as_sets {
        rows.dedup();
    }
    rows
}

/// What is in one only, and in the other only; both are sorted.
fn differing(one: &[String], other: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    loop {
        match (one.peek(), other.peek()) {
            (Some(a), Some(b)) if a == b => {
                one.next();
                other.next();
            }
            (Some(a), Some(b)) if a < b => left.extend(one.next().cloned()),
            (Some(_), None) => left.extend(one.next().cloned()),
            (_, Some(_)) => right.extend(other.next().cloned()),
            (None, None) => return (left, right),
        }
    }
}

fn brief(rows: &[String]) -> String {
    let text = rows.iter().take(5).cloned().collect::<Vec<_>>().join("; ");
    match text.char_indices().nth(400) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_checks() {
        let made = |seed| {
            let mut generator = Generator::new(seed, Vec::new());
            Relation::ALL.map(|relation| check(&mut generator, relation).text())
        };
        assert_eq!(made(7), made(7));
        assert_ne!(made(7), made(8));
    }

    #[test]
    fn every_relation_makes_statements() {
        let mut generator = Generator::new(3, Vec::new());
        for relation in Relation::ALL.into_iter().cycle().take(90) {
            let node = check(&mut generator, relation);
            let sides = sides(relation, &node).expect("a relation without statements");
            assert!(!sides.one.is_empty() && !sides.other.is_empty());
        }
    }

    #[test]
    fn what_only_one_side_has_is_told() {
        let rows = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(differing(&rows("a b b d"), &rows("b c d")), (rows("a b"), rows("c")));
    }
}
