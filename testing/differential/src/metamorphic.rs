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

use crate::answer::{Answer, Difference};
use crate::functions::literals;
use crate::generate::{Generator, Kind};
use crate::node::{MARK, Node, Sort, shrink};
use crate::pair::Side;
use crate::paths;
use crate::schema;
use env::SplitMix64 as Random;
use harness::Target;
use std::collections::BTreeMap;

/// Questions that making one check smaller may cost, each of a few statements.
const SHRINK_TRIES: usize = 200;
/// Well below the deadline of the harness's clients, which makes a failure of a server that does not answer.
const PATIENCE_MS: u32 = 10_000;
const DATABASE: &str = "metamorphic";
const DATABASE_WITHOUT_KEYS: &str = "metamorphic_plain";
/// Columns whose values that compare equal are written alike, so that any of them may stand for a group or be the least.
const ONE_FORM: [&str; 8] = ["i", "ti", "u", "n", "d", "dt", "y", "sb"];

/// What a check compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// TLP on rows.
    Rows,
    /// TLP on distinct rows.
    Distinct,
    /// TLP on aggregates.
    Aggregates,
    /// TLP on groups.
    Groups,
    /// ROLLUP by its groups.
    Rollup,
    /// Partitions by groups.
    Windows,
    /// A running sum by its steps.
    Running,
    /// A query by its pages.
    Pages,
    /// Set operations by subqueries.
    Sets,
    /// A CTE by its query.
    Kept,
    /// NoREC.
    Count,
    /// NoREC of a join's condition.
    Join,
    /// A left join by its parts.
    Outer,
    /// A semi-join by a join.
    Semi,
    /// With and without keys.
    Keys,
    /// With and without some flags of `optimizer_switch`.
    Switches,
    /// Changes by queries.
    Changes,
}

impl Relation {
    /// All of them.
    pub const ALL: [Relation; 17] = [
        Relation::Rows,
        Relation::Distinct,
        Relation::Aggregates,
        Relation::Groups,
        Relation::Rollup,
        Relation::Windows,
        Relation::Running,
        Relation::Pages,
        Relation::Sets,
        Relation::Kept,
        Relation::Count,
        Relation::Join,
        Relation::Outer,
        Relation::Semi,
        Relation::Keys,
        Relation::Switches,
        Relation::Changes,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Relation::Rows => "rows",
            Relation::Distinct => "distinct",
            Relation::Aggregates => "aggregates",
            Relation::Groups => "groups",
            Relation::Rollup => "rollup",
            Relation::Windows => "windows",
            Relation::Running => "running",
            Relation::Pages => "pages",
            Relation::Sets => "sets",
            Relation::Kept => "kept",
            Relation::Count => "count",
            Relation::Join => "join",
            Relation::Outer => "outer",
            Relation::Semi => "semi",
            Relation::Keys => "keys",
            Relation::Switches => "switches",
            Relation::Changes => "changes",
        }
    }

    /// The relation of this name.
    pub fn from_name(name: &str) -> Option<Relation> {
        Relation::ALL.into_iter().find(|relation| relation.name() == name)
    }
}

/// Statements whose rows together are to be the same on both sides.
struct Sides {
    one: Vec<String>,
    other: Vec<String>,
    /// Equal as sets only.
    as_sets: bool,
}

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

/// The next check: a root of fixed form whose parts are what `sides` makes statements of.
pub fn check(generator: &mut Generator, relation: Relation) -> Node {
    let parts = match relation {
        Relation::Switches => {
            let (hint, query) = generator.hinted();
            vec![Node::leaf(Sort::Fixed, hint), query]
        }
        Relation::Changes => generator.changed(),
        Relation::Keys if generator.pick(&["types", "paths"]) == "paths" => vec![generator.statement(Kind::Paths)],
        Relation::Rows | Relation::Keys => {
            let (from, tables) = generator.tables();
            vec![generator.items(tables), from, generator.predicate(tables)]
        }
        Relation::Distinct => {
            let (from, tables) = generator.tables();
            let column = generator.pick(&ONE_FORM);
            let list =
                Node::leaf(Sort::Fixed, format!("{}.{column}, {}.{}", tables[0], tables[tables.len() - 1], generator.pick(&ONE_FORM)));
            vec![list, from, generator.predicate(tables)]
        }
        Relation::Aggregates => {
            let (from, tables) = generator.tables();
            let column = |generator: &mut Generator| format!("{}.{}", generator.pick(tables), generator.pick(&ONE_FORM));
            // What sums and least values are of is fixed; what is counted is any expression.
            let list = Node::leaf(
                Sort::Fixed,
                format!(
                    "SUM({}.{}), MIN({}), MAX({})",
                    tables[0],
                    generator.pick(&["i", "ti", "u", "n"]),
                    column(generator),
                    column(generator)
                ),
            );
            vec![generator.any(tables), list, from, generator.predicate(tables)]
        }
        Relation::Groups => {
            let (from, tables) = generator.tables();
            let key = format!("{}.{}", tables[0], generator.pick(&ONE_FORM));
            let bound = Node::leaf(Sort::Scalar, generator.pick(literals('I')));
            let aggregate = generator
                .pick(&["COUNT(*)", "SUM(%.i)", "MIN(%.n)", "MAX(%.ti)", "COUNT(DISTINCT %.s)", "MAX(%.d)"])
                .replace('%', tables[0]);
            let having = Node::new(Sort::Fixed, format!("({aggregate} {} {MARK})", generator.pick(&["=", "<", ">=", "<>"])), vec![bound]);
            vec![Node::leaf(Sort::Fixed, key), from, generator.predicate(tables), having]
        }
        Relation::Rollup => {
            let (from, tables) = generator.tables();
            // All but texts, whose sums depend on the order of the rows.
            let mut key = || format!("{}.{}", generator.pick(tables), generator.pick(&ONE_FORM[..7]));
            let one = key();
            // A column that is named twice is shown where its first key is.
            let other = std::iter::repeat_with(key).find(|other| *other != one).unwrap_or_default();
            // The keys are summed up, too, and what is above a sum may be computed row by row.
            let summed = generator.pick(&["i", "ti", "u", "n"]);
            let aggregates = generator
                .pick(&[
                    "SUM(%.#), COUNT(2)",
                    "ABS(SUM(2)), MIN(1), COUNT(*)",
                    "GROUP_CONCAT(DISTINCT 2 ORDER BY 2), ABS(SUM(1))",
                    "MAX(2), -COUNT(1)",
                ])
                .replace('%', tables[0])
                .replace('#', summed)
                .replace("(1)", &format!("({one})"))
                .replace("(2)", &format!("({other})"))
                .replace(" 2", &format!(" {other}"));
            vec![
                Node::leaf(Sort::Fixed, one),
                Node::leaf(Sort::Fixed, other),
                Node::leaf(Sort::Fixed, aggregates),
                from,
                generator.predicate(tables),
            ]
        }
        Relation::Windows => {
            let (from, tables) = generator.tables();
            let key = format!("{}.{}", generator.pick(tables), generator.pick(&ONE_FORM));
            let aggregates = generator
                .pick(&[
                    "SUM(%) AS a, COUNT(*) AS b",
                    "MIN(%) AS a, COUNT(%) AS b",
                    "MAX(%) AS a, SUM(%) AS b",
                    "BIT_XOR(%) AS a, SUM(%) AS b",
                ])
                .replace('%', &format!("{}.{}", generator.pick(tables), generator.pick(&["i", "ti", "u", "n"])));
            vec![Node::leaf(Sort::Fixed, key), Node::leaf(Sort::Fixed, aggregates), from, generator.predicate(tables)]
        }
        Relation::Running => {
            let (from, tables) = generator.tables();
            let key = format!("{}.{}", generator.pick(tables), generator.pick(&ONE_FORM));
            let added = format!("{}.{}", generator.pick(tables), generator.pick(&["i", "ti", "u", "n"]));
            let frame = generator.pick(&["", " ROWS UNBOUNDED PRECEDING", " RANGE UNBOUNDED PRECEDING"]);
            let window = format!("(PARTITION BY {key} ORDER BY {}{frame})", identity(tables));
            vec![Node::leaf(Sort::Fixed, added), Node::leaf(Sort::Fixed, window), from, generator.predicate(tables)]
        }
        Relation::Pages => {
            let (from, tables) = generator.tables();
            let key = format!("{}.{}{}", generator.pick(tables), generator.pick(&ONE_FORM), generator.pick(&["", " DESC"]));
            let order = format!("{}{}", generator.pick(&["", &format!("{key}, ")]), identity(tables));
            let size = generator.pick(&["1", "3", "10", "100", "1500"]).to_owned();
            let list = generator.items(tables);
            vec![list, Node::leaf(Sort::Fixed, order), Node::leaf(Sort::Fixed, size), from, generator.predicate(tables)]
        }
        Relation::Sets => {
            let ((one, of_one), (other, of_other)) = (generator.tables(), generator.tables());
            let column = generator.pick(&ONE_FORM);
            let columns = [of_one[0], of_other[of_other.len() - 1]].map(|table| Node::leaf(Sort::Fixed, format!("{table}.{column}")));
            let [of_this, of_that] = columns;
            let operation = Node::leaf(Sort::Fixed, generator.pick(&["INTERSECT", "EXCEPT"]));
            vec![operation, of_this, one, generator.predicate(of_one), of_that, other, generator.predicate(of_other)]
        }
        Relation::Kept => {
            let (from, tables) = generator.tables();
            vec![generator.any(tables), Node::leaf(Sort::Fixed, format!("{}.id", tables[0])), from, generator.predicate(tables)]
        }
        Relation::Count => {
            let (from, tables) = generator.tables();
            vec![from, generator.predicate(tables)]
        }
        Relation::Join | Relation::Outer | Relation::Semi => vec![generator.predicate(&["t1", "t2"])],
    };
    Node::new(Sort::Fixed, vec![MARK.to_string(); parts.len()].join(" "), parts)
}

fn sides(relation: Relation, node: &Node) -> Option<Sides> {
    let texts: Vec<String> = node.parts.iter().map(Node::text).collect();
    let three = |condition: &str| [format!("({condition})"), format!("NOT ({condition})"), format!("({condition}) IS NULL")];
    let (one, other) = match (relation, texts.as_slice()) {
        (Relation::Rows, [list, from, condition]) => {
            let all = format!("SELECT {list} FROM {from}");
            (vec![all.clone()], three(condition).map(|part| format!("{all} WHERE {part}")).to_vec())
        }
        (Relation::Distinct, [list, from, condition]) => {
            let all = format!("SELECT DISTINCT {list} FROM {from}");
            (vec![all.clone()], three(condition).map(|part| format!("{all} WHERE {part}")).to_vec())
        }
        (Relation::Keys, [list, from, condition]) => {
            let asked = vec![format!("SELECT {list} FROM {from} WHERE {condition}")];
            (asked.clone(), asked)
        }
        (Relation::Keys, [query]) => (vec![query.clone()], vec![query.clone()]),
        (Relation::Changes, [form, column, value, condition, after]) => {
            // What reads the table itself would be asked of it before and behind the change (and is 1093 in a change).
            if format!("{condition} {after}").contains("FROM p1") {
                return None;
            }
            let (met, from) = match form.split_once(' ') {
                Some((_, key)) => {
                    let tied = format!("x.{key} = y.{key}");
                    (format!("EXISTS (SELECT 1 FROM p2 AS y WHERE {tied} AND {condition})"), format!("p1 AS x JOIN p2 AS y ON {tied}"))
                }
                None => (format!("({condition}) IS TRUE"), "p1 AS x".to_owned()),
            };
            let is_delete = form.starts_with("DELETE");
            let left = if is_delete {
                format!("SELECT x.* FROM p1 AS x WHERE NOT {met}")
            } else {
                let columns = paths::columns().map(|name| match name == column {
                    true => format!("IF({met}, {value}, x.{name}) AS {name}"),
                    false => format!("x.{name}"),
                });
                format!("SELECT {} FROM p1 AS x", columns.collect::<Vec<_>>().join(", "))
            };
            let change = match is_delete {
                true if from.contains("JOIN") => format!("DELETE x FROM {from}"),
                true => format!("DELETE FROM {from}"),
                false => format!("UPDATE {from} SET x.{column} = {value}"),
            };
            let all = paths::columns().map(|name| format!("x.{name}")).collect::<Vec<_>>().join(", ");
            (
                vec![format!("SELECT {all} FROM ({left}) AS x"), format!("SELECT x.id FROM ({left}) AS x WHERE {after}")],
                vec![
                    "BEGIN".to_owned(),
                    format!("{change} WHERE {condition}"),
                    format!("SELECT {all} FROM p1 AS x"),
                    format!("SELECT x.id FROM p1 AS x WHERE {after}"),
                ],
            )
        }
        (Relation::Switches, [hint, query]) => (vec![query.replacen(hint.as_str(), "", 1)], vec![query.clone()]),
        (Relation::Aggregates, [counted, list, from, condition]) => {
            let all = format!("SELECT COUNT(*), COUNT({counted}), {list} FROM {from}");
            let names = named(&format!("COUNT(*), COUNT({counted}), {list}"), list);
            let parts = three(condition).map(|part| format!("SELECT {names} FROM {from} WHERE {part}")).join(" UNION ALL ");
            (vec![all], vec![format!("SELECT SUM(a0), SUM(a1), SUM(a2), MIN(a3), MAX(a4) FROM ({parts}) AS parts")])
        }
        (Relation::Groups, [key, from, condition, having]) => {
            let all = format!("SELECT {key}, COUNT(*) FROM {from} WHERE {condition} GROUP BY {key}");
            (vec![all.clone()], three(having).map(|part| format!("{all} HAVING {part}")).to_vec())
        }
        (Relation::Rollup, [one, other, aggregates, from, condition]) => {
            let rows = format!("FROM {from} WHERE {condition}");
            (
                vec![format!("SELECT {one}, {other}, {aggregates} {rows} GROUP BY {one}, {other} WITH ROLLUP")],
                vec![
                    format!("SELECT {one}, {other}, {aggregates} {rows} GROUP BY {one}, {other}"),
                    format!("SELECT {one}, NULL, {aggregates} {rows} GROUP BY {one}"),
                    format!("SELECT NULL, NULL, {aggregates} {rows}"),
                ],
            )
        }
        (Relation::Windows, [key, aggregates, from, condition]) => {
            let rows = format!("FROM {from} WHERE {condition}");
            let over = aggregates.replace(" AS ", &format!(" OVER (PARTITION BY {key}) AS "));
            (
                vec![format!("SELECT {key}, {over} {rows}")],
                vec![format!(
                    "SELECT r.k, g.a, g.b FROM (SELECT {key} AS k {rows}) AS r JOIN (SELECT {key} AS k, {aggregates} {rows} GROUP BY {key}) AS g ON r.k <=> g.k"
                )],
            )
        }
        (Relation::Running, [added, window, from, condition]) => {
            let order = window.trim_end_matches(')').split(" ROWS").next()?.split(" RANGE").next()?;
            let rows = format!("FROM {from} WHERE {condition}");
            (
                vec![format!("SELECT COALESCE({added}, 0) {rows}")],
                vec![format!(
                    "SELECT COALESCE(s, 0) - COALESCE(before_it, 0) FROM (SELECT s, LAG(s) OVER (PARTITION BY p ORDER BY nth) AS before_it FROM \
                     (SELECT SUM({added}) OVER {window} AS s, ROW_NUMBER() OVER {order}) AS nth, {} AS p {rows}) AS sums) AS steps",
                    order.strip_prefix("(PARTITION BY ")?.split(" ORDER BY ").next()?
                )],
            )
        }
        (Relation::Pages, [list, order, size, from, condition]) => {
            let all = format!("SELECT {list} FROM {from} WHERE {condition} ORDER BY {order}");
            (
                vec![all.clone()],
                vec![
                    format!("{all} LIMIT {size}"),
                    format!("{all} LIMIT 2 OFFSET {size}"),
                    format!("{all} LIMIT 999999 OFFSET {}", size.parse::<u32>().ok()? + 2),
                ],
            )
        }
        (Relation::Sets, [operation, this, one, where_one, that, other, where_other]) => {
            let exists = if operation == "EXCEPT" { "NOT EXISTS" } else { "EXISTS" };
            (
                vec![format!("SELECT {this} FROM {one} WHERE {where_one} {operation} SELECT {that} FROM {other} WHERE {where_other}")],
                vec![format!(
                    "SELECT DISTINCT l.k FROM (SELECT {this} AS k FROM {one} WHERE {where_one}) AS l \
                     WHERE {exists} (SELECT 1 FROM (SELECT {that} AS k FROM {other} WHERE {where_other}) AS r WHERE r.k <=> l.k)"
                )],
            )
        }
        (Relation::Kept, [list, id, from, condition]) => {
            let query = format!("SELECT {list} AS v, {id} AS id FROM {from} WHERE {condition}");
            (
                vec![format!(
                    "WITH c AS ({query}) SELECT v, id FROM c UNION ALL SELECT d.v, d.id FROM c AS d JOIN (SELECT COUNT(*) AS n FROM c) AS e WHERE e.n > 0"
                )],
                vec![query.clone(), query],
            )
        }
        (Relation::Count, [from, condition]) => (
            vec![format!("SELECT COUNT(*) FROM {from} WHERE {condition}")],
            vec![format!("SELECT COALESCE(SUM(({condition}) IS TRUE), 0) FROM {from}")],
        ),
        (Relation::Join, [condition]) => (
            vec![format!("SELECT COUNT(*) FROM t1 JOIN t2 ON {condition}")],
            vec![format!("SELECT COALESCE(SUM(({condition}) IS TRUE), 0) FROM t1 CROSS JOIN t2")],
        ),
        (Relation::Outer, [condition]) => (
            vec![format!("SELECT t1.id, t2.id FROM t1 LEFT JOIN t2 ON {condition}")],
            vec![
                format!("SELECT t1.id, t2.id FROM t1 JOIN t2 ON {condition}"),
                format!("SELECT t1.id, NULL FROM t1 WHERE NOT EXISTS (SELECT 1 FROM t2 WHERE {condition})"),
            ],
        ),
        (Relation::Semi, [condition]) => (
            vec![format!("SELECT t1.id FROM t1 WHERE EXISTS (SELECT 1 FROM t2 WHERE {condition})")],
            vec![format!("SELECT t1.id FROM t1 JOIN t2 ON {condition}")],
        ),
        // Making it smaller took a part away.
        _ => return None,
    };
    Some(Sides { one, other, as_sets: matches!(relation, Relation::Distinct | Relation::Semi) })
}

/// What tells each row of a join of these tables from all others.
fn identity(tables: &[&str]) -> String {
    tables.iter().map(|table| format!("{table}.id")).collect::<Vec<_>>().join(", ")
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

/// The aggregates of [`Relation::Aggregates`] with names: two counts, and three of `list`, which have no comma within.
fn named(all: &str, list: &str) -> String {
    let counts = all.strip_suffix(list).unwrap_or_default();
    let counted = counts.strip_prefix("COUNT(*), ").unwrap_or_default().trim_end_matches(", ");
    let list: Vec<String> = list.split(", ").zip(2..).map(|(item, at)| format!("{item} AS a{at}")).collect();
    format!("COUNT(*) AS a0, {counted} AS a1, {}", list.join(", "))
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
