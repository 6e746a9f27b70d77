//! The relations: of what parts a check of each is made, and which statements it asks on both sides.
//!
//! # Invariants
//! 1. What [`check`] makes `sides` takes apart: the same parts in the same order, for each relation.
//! 2. The one side's statements say how the other's answers have to be; neither knows the rows.

use crate::functions::literals;
use crate::generate::{Generator, Kind};
use crate::node::{MARK, Node, Sort};
use crate::paths;

/// Columns whose values that compare equal are written alike, so that any of them may stand for a group or be the least.
const ONE_FORM: [&str; 8] = ["i", "ti", "u", "n", "d", "dt", "y", "sb"];
/// Those of them whose sums do not depend on the order of the rows.
const ONE_SUM: [&str; 7] = ["i", "ti", "u", "n", "d", "dt", "y"];
/// Columns of exact numbers.
const EXACT: [&str; 4] = ["i", "ti", "u", "n"];

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
pub(super) struct Sides {
    pub(super) one: Vec<String>,
    pub(super) other: Vec<String>,
    /// Equal as sets only.
    pub(super) as_sets: bool,
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
            // What sums and least values are of is fixed; what is counted is any expression.
            let list = Node::leaf(
                Sort::Fixed,
                format!(
                    "SUM({}), MIN({}), MAX({})",
                    column(generator, &tables[..1], &EXACT),
                    column(generator, tables, &ONE_FORM),
                    column(generator, tables, &ONE_FORM)
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
            let one = column(generator, tables, &ONE_SUM);
            // A column that is named twice is shown where its first key is.
            let other = std::iter::repeat_with(|| column(generator, tables, &ONE_SUM)).find(|other| *other != one).unwrap_or_default();
            // The keys are summed up, too, and what is above a sum may be computed row by row.
            let summed = column(generator, &tables[..1], &EXACT);
            let aggregates = generator
                .pick(&[
                    "SUM(#), COUNT(2)",
                    "ABS(SUM(2)), MIN(1), COUNT(*)",
                    "GROUP_CONCAT(DISTINCT 2 ORDER BY 2), ABS(SUM(1))",
                    "MAX(2), -COUNT(1)",
                ])
                .replace('#', &summed)
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
            let key = column(generator, tables, &ONE_FORM);
            let aggregates = generator
                .pick(&[
                    "SUM(%) AS a, COUNT(*) AS b",
                    "MIN(%) AS a, COUNT(%) AS b",
                    "MAX(%) AS a, SUM(%) AS b",
                    "BIT_XOR(%) AS a, SUM(%) AS b",
                ])
                .replace('%', &column(generator, tables, &EXACT));
            vec![Node::leaf(Sort::Fixed, key), Node::leaf(Sort::Fixed, aggregates), from, generator.predicate(tables)]
        }
        Relation::Running => {
            let (from, tables) = generator.tables();
            let frame = generator.pick(&["", "ROWS UNBOUNDED PRECEDING", "RANGE UNBOUNDED PRECEDING"]);
            let [added, key] = [&EXACT[..], &ONE_FORM[..]].map(|of| Node::leaf(Sort::Fixed, column(generator, tables, of)));
            let [order, frame] = [identity(tables), frame.to_owned()].map(|text| Node::leaf(Sort::Fixed, text));
            vec![added, key, order, frame, from, generator.predicate(tables)]
        }
        Relation::Pages => {
            let (from, tables) = generator.tables();
            let key = format!("{}{}, ", column(generator, tables, &ONE_FORM), generator.pick(&["", " DESC"]));
            let order = format!("{}{}", generator.pick(&["", &key]), identity(tables));
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

/// A column of one of these tables.
fn column(generator: &mut Generator, tables: &[&str], of: &[&str]) -> String {
    format!("{}.{}", generator.pick(tables), generator.pick(of))
}

/// The statements of a check; `None` where a part is missing since it was made smaller.
pub(super) fn sides(relation: Relation, node: &Node) -> Option<Sides> {
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
        (Relation::Changes, [form, column, value, condition, after]) => changed(form, column, value, condition, after)?,
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
        (Relation::Running, [added, key, order, frame, from, condition]) => {
            let window = format!("PARTITION BY {key} ORDER BY {order}");
            let rows = format!("FROM {from} WHERE {condition}");
            (
                vec![format!("SELECT COALESCE({added}, 0) {rows}")],
                vec![format!(
                    "SELECT COALESCE(s, 0) - COALESCE(before_it, 0) FROM (SELECT s, LAG(s) OVER (PARTITION BY p ORDER BY nth) AS before_it FROM \
                     (SELECT SUM({added}) OVER ({window} {frame}) AS s, ROW_NUMBER() OVER ({window}) AS nth, {key} AS p {rows}) AS sums) AS steps"
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
        _ => return None,
    };
    Some(Sides { one, other, as_sets: matches!(relation, Relation::Distinct | Relation::Semi) })
}

/// The sides of [`Relation::Changes`], `None` where one of them could not say anything.
fn changed(form: &str, column: &str, value: &str, condition: &str, after: &str) -> Option<(Vec<String>, Vec<String>)> {
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
    Some((
        vec![format!("SELECT {all} FROM ({left}) AS x"), format!("SELECT x.id FROM ({left}) AS x WHERE {after}")],
        vec![
            "BEGIN".to_owned(),
            format!("{change} WHERE {condition}"),
            format!("SELECT {all} FROM p1 AS x"),
            format!("SELECT x.id FROM p1 AS x WHERE {after}"),
        ],
    ))
}

/// What tells each row of a join of these tables from all others.
fn identity(tables: &[&str]) -> String {
    tables.iter().map(|table| format!("{table}.id")).collect::<Vec<_>>().join(", ")
}

/// The aggregates of [`Relation::Aggregates`] with names: two counts, and three of `list`, which have no comma within.
fn named(all: &str, list: &str) -> String {
    let counts = all.strip_suffix(list).unwrap_or_default();
    let counted = counts.strip_prefix("COUNT(*), ").unwrap_or_default().trim_end_matches(", ");
    let list: Vec<String> = list.split(", ").zip(2..).map(|(item, at)| format!("{item} AS a{at}")).collect();
    format!("COUNT(*) AS a0, {counted} AS a1, {}", list.join(", "))
}
