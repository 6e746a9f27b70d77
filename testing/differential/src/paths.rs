//! Queries for which a planner has ways to choose from, and changes of the tables' definitions between them.
//!
//! The tables have several indexes over columns of few and of many values; the queries join conditions by AND and OR, group by the beginnings of indexes, read derived
//! tables and CTEs that can become part of the query and such that cannot, and ask IN, EXISTS and their negations of columns with NULL.
//!
//! # Invariants
//! 1. A query's rows do not depend on the plan: what LIMIT leaves is told by all that is shown, and aggregates are exact.
//! 2. The columns `a` to `s` stay, whatever [`alteration`] does.

use crate::node::{MARK, Node, Sort};
use env::SplitMix64 as Random;

/// The tables, with their rows.
pub const TABLES: &[(&str, u64)] = &[("p1", 120), ("p2", 50), ("p3", 8)];

/// The columns: name, type.
const COLUMNS: &[(&str, &str)] =
    &[("a", "INT"), ("b", "INT"), ("c", "SMALLINT NOT NULL DEFAULT 4"), ("d", "BIGINT"), ("n", "DECIMAL(8,2)"), ("s", "VARCHAR(20)")];

/// Flags of `optimizer_switch` that may change a plan, and nothing else.
const SWITCHES: &[&str] = &[
    "index_merge=off",
    "index_merge_union=off",
    "index_merge_sort_union=off",
    "index_merge_intersection=off",
    "index_condition_pushdown=off",
    "batched_key_access=on",
    "block_nested_loop=off",
    "materialization=off",
    "semijoin=off",
    "subquery_materialization_cost_based=off",
    "use_index_extensions=off",
    "condition_fanout_filter=off",
    "derived_merge=off",
    "derived_condition_pushdown=off",
    "prefer_ordering_index=off",
    "skip_scan=off",
];

/// Makes the tables and fills them with `factor` times the rows.
pub fn statements(r: &mut Random, factor: usize) -> Vec<String> {
    let mut made = Vec::new();
    for (table, rows) in TABLES {
        let columns: Vec<String> = COLUMNS.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
        let mut keys = vec!["PRIMARY KEY (id)".to_owned()];
        keys.extend((0..2 + r.below(4)).map(|_| format!("KEY ({})", index_columns(r))));
        made.push(format!("DROP TABLE IF EXISTS {table}"));
        made.push(format!("CREATE TABLE {table} (id INT, {}, {})", columns.join(", "), keys.join(", ")));
        let rows: Vec<String> = (1..=rows * factor as u64)
            .map(|id| {
                let values: Vec<String> = COLUMNS
                    .iter()
                    .map(|(name, _)| if *name != "c" && r.below(12) == 0 { "NULL".to_owned() } else { value(r, name) })
                    .collect();
                format!("({id}, {})", values.join(", "))
            })
            .collect();
        made.extend(rows.chunks(100).map(|rows| format!("INSERT INTO {table} VALUES {}", rows.join(", "))));
        made.push(format!("ANALYZE TABLE {table}"));
    }
    made
}

/// A change of a table's definition: an index more or less, a column that comes or goes at once.
pub fn alteration(r: &mut Random) -> String {
    let (table, no) = (r.pick(&["p1", "p2"]), r.below(4));
    match r.below(6) {
        0 | 1 => format!("CREATE INDEX x{no} ON {table} ({})", index_columns(r)),
        2 => format!("DROP INDEX x{no} ON {table}"),
        3 => format!("ALTER TABLE {table} ADD COLUMN z{no} INT DEFAULT {no} FIRST, ALGORITHM=INSTANT"),
        4 => format!("ALTER TABLE {table} ADD COLUMN z{no} VARCHAR(9) DEFAULT 'z' AFTER b, ALGORITHM=INSTANT"),
        _ => format!("ALTER TABLE {table} DROP COLUMN z{no}, ALGORITHM=INSTANT"),
    }
}

/// The columns that stay.
pub fn columns() -> impl Iterator<Item = &'static str> {
    std::iter::once("id").chain(COLUMNS.iter().map(|(name, _)| *name))
}

/// A change of `p1`, as `x`: UPDATE or DELETE, with the column that joins `p2`, as `y`, where it does; the column that an UPDATE sets and its value; whose rows; and a condition for afterwards.
pub fn changed(r: &mut Random) -> Vec<Node> {
    let (column, _) = r.pick(COLUMNS);
    let value = match column {
        "a" | "b" | "c" | "d" if r.coin() => format!("x.{column} + 1"),
        _ => value(r, column),
    };
    let verb = r.pick(&["UPDATE", "UPDATE", "DELETE"]);
    let (form, aliases): (String, &[&'static str]) = match r.below(3) {
        0 => (format!("{verb} {}", r.pick(COLUMNS).0), &["x", "y"]),
        _ => (verb.to_owned(), &["x"]),
    };
    let leaf = |text: String| Node::leaf(Sort::Fixed, text);
    vec![leaf(form), leaf(column.to_owned()), leaf(value), condition(r, aliases, 2), condition(r, &["x"], 1)]
}

/// A hint that has a query planned otherwise.
pub fn switches(r: &mut Random) -> String {
    let mut flags: Vec<&str> = (0..1 + r.below(3)).map(|_| r.pick(SWITCHES)).collect();
    flags.sort_unstable();
    flags.dedup();
    format!("/*+ SET_VAR(optimizer_switch = '{}') */ ", flags.join(","))
}

fn index_columns(r: &mut Random) -> String {
    let mut columns: Vec<String> = Vec::new();
    for _ in 0..1 + r.below(3) {
        let (name, _) = r.pick(COLUMNS);
        if !columns.iter().any(|column| column.starts_with(name)) {
            columns.push(format!("{name}{}{}", if name == "s" { r.pick(&["", "(2)"]) } else { "" }, r.pick(&["", "", "", " DESC"])));
        }
    }
    columns.join(", ")
}

fn value(r: &mut Random, column: &str) -> String {
    match column {
        "d" => r.below(400).to_string(),
        "n" => format!("{}.{}", r.below(20), r.pick(&["0", "25", "50"])),
        "s" => format!("'{}'", r.pick(&["a", "A", "b", "ab", "abc", "B", "x", "xy", "", "z ", "ä", "Zz"])),
        _ => {
            let most = r.pick(&[3, 10, 40]);
            r.below(most).to_string()
        }
    }
}

/// A condition over these tables, `depth` levels of AND and OR deep.
fn condition(r: &mut Random, aliases: &[&'static str], depth: u32) -> Node {
    if depth > 0 && r.below(2) == 0 {
        let operator = r.pick(&["AND", "OR", "OR"]);
        let parts: Vec<Node> = (0..2 + r.below(2)).map(|_| condition(r, aliases, depth - 1)).collect();
        return Node::new(Sort::Scalar, format!("({})", vec![MARK.to_string(); parts.len()].join(&format!(" {operator} "))), parts);
    }
    if depth > 0 && r.below(8) == 0 {
        return Node::new(Sort::Scalar, format!("(NOT {MARK})"), vec![condition(r, aliases, depth - 1)]);
    }
    let table = r.pick(aliases);
    let (name, _) = r.pick(COLUMNS);
    let column = format!("{table}.{name}");
    let (first, second) = (value(r, name), value(r, name));
    let text = match r.below(12) {
        0..=3 => format!("{column} = {first}"),
        4 => format!("{column} IN ({first}, {second})"),
        5 => format!("{column} BETWEEN {first} AND {second}"),
        6 => format!("{column} {} {first}", r.pick(&["<", "<=", ">", ">=", "<>", "<=>"])),
        7 => format!("{column} IS {}NULL", r.pick(&["", "NOT "])),
        8 => format!("{column} NOT IN ({first}, {})", r.pick(&["NULL", second.as_str()])),
        9 => format!("{table}.id {} {}", r.pick(&["=", "<", ">"]), r.below(200)),
        10 => format!("{table}.s LIKE {}", r.pick(&["'a%'", "'%b'", "'ab_'", "'A%'"])),
        _ => return asked_of_subquery(r, table, name),
    };
    Node::leaf(Sort::Scalar, text)
}

/// A condition that a column has of a subquery's rows.
fn asked_of_subquery(r: &mut Random, table: &str, name: &str) -> Node {
    let other = r.pick(&["p1", "p2", "p3"]);
    let also = if r.coin() { String::new() } else { format!(" AND q.c {} {table}.{}", r.pick(&["=", "=", "<"]), r.pick(&["a", "b", "c"])) };
    let rows = format!("FROM {other} AS q WHERE {MARK}{also}");
    let not = r.pick(&["", "NOT "]);
    // A subquery within, which reads the columns of the outermost query, too.
    let (third, within) = (r.pick(&["p2", "p3"]), r.pick(&["a", "b", "c"]));
    let joined = format!("q.c = w.c AND w.{within} = {table}.{within}");
    let template = match r.below(9) {
        0 | 1 => format!("{table}.{name} {not}IN (SELECT q.{name} {rows})"),
        2 => format!("{not}EXISTS (SELECT 1 {rows} AND q.{name} = {table}.{name})"),
        3 => format!("{table}.{name} {} {} (SELECT q.{name} {rows})", r.pick(&["=", "<", ">=", "<>"]), r.pick(&["ANY", "ALL"])),
        4 => format!("{table}.{name} <= (SELECT {}(q.{name}) {rows})", r.pick(&["MIN", "MAX"])),
        5 => format!("({table}.{name}, {table}.c) {not}IN (SELECT q.{name}, q.c {rows})"),
        6 => format!("{not}EXISTS (SELECT 1 {rows} AND {}EXISTS (SELECT 1 FROM {third} AS w WHERE {joined}))", r.pick(&["", "NOT "])),
        7 => format!("{table}.{name} {not}IN (SELECT q.{name} {rows} AND q.c IN (SELECT w.c FROM {third} AS w WHERE {joined}))"),
        _ => {
            let join = r.pick(&["JOIN", "LEFT JOIN"]);
            format!(
                "{not}EXISTS (SELECT 1 FROM {other} AS q {join} {third} AS w ON {joined} WHERE {MARK}{also} AND q.{name} = {table}.{name})"
            )
        }
    };
    Node::new(Sort::Scalar, template, vec![condition(r, &["q"], 0)])
}

/// Something to read: a table, or a query in the place of one.
fn source(r: &mut Random) -> Node {
    let table = r.pick(&["p1", "p1", "p2", "p2", "p3"]);
    if r.below(4) != 0 {
        return Node::leaf(Sort::Fixed, table);
    }
    let all = "v.id, v.a, v.b, v.c, v.d, v.n, v.s";
    let rows = format!("FROM {table} AS v WHERE {MARK}");
    let template = match r.below(7) {
        0 | 1 => format!("(SELECT {all} {rows})"),
        2 => format!("(SELECT {all} {rows} ORDER BY v.id LIMIT {})", r.below(30)),
        3 => format!(
            "(SELECT MIN(v.id) AS id, v.a, COUNT(*) AS b, SUM(v.c) AS c, MAX(v.d) AS d, AVG(v.n) AS n, 'x' AS s {rows} GROUP BY v.a)"
        ),
        4 => format!("(SELECT v.id, v.a, v.b, ROW_NUMBER() OVER (PARTITION BY v.a ORDER BY v.id) AS c, v.d, v.n, v.s {rows})"),
        5 => format!("(SELECT v.id, v.a + 1 AS a, v.b, v.c, COALESCE(v.d, 7) AS d, v.n, CONCAT(v.s, 'x') AS s {rows})"),
        _ => format!("(SELECT DISTINCT {all} {rows})"),
    };
    Node::new(Sort::Fixed, template, vec![condition(r, &["v"], 1)])
}

/// A query with this hint, or with none.
pub fn query(r: &mut Random, hint: &str) -> Node {
    let aliases: &[&'static str] = r.pick(&[&["x"][..], &["x"], &["x", "y"], &["x", "y", "z"]]);
    let mut from = Node::new(Sort::Fixed, format!("{MARK} AS x"), vec![source(r)]);
    for at in 1..aliases.len() {
        let (name, _) = r.pick(COLUMNS);
        let join = r.pick(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN"]);
        let more = match r.below(3) {
            0 => Node::new(Sort::Clause, format!(" AND {MARK}"), vec![condition(r, &aliases[..=at], 0)]),
            _ => Node::leaf(Sort::Clause, ""),
        };
        let template =
            format!("{MARK} {join} {MARK} AS {} ON {}.{name} = {}.{name}{MARK}", aliases[at], aliases[at], r.pick(&aliases[..at]));
        from = Node::new(Sort::Fixed, template, vec![from, source(r), more]);
    }
    let filter = match r.below(8) {
        0 => Node::leaf(Sort::Clause, ""),
        _ => Node::new(Sort::Clause, format!(" WHERE {MARK}"), vec![condition(r, aliases, 2)]),
    };
    let key = r.pick(&["x.a", "x.b", "x.a, x.b", "x.c", "x.b, x.a", "x.a, x.b, x.c", "x.d", "x.n"]);
    let last = aliases[aliases.len() - 1];
    let aggregates =
        r.pick(&["COUNT(*)", "MIN(%.b)", "MAX(%.c)", "MIN(%.d), MAX(%.d)", "COUNT(DISTINCT %.b)", "SUM(%.n)", "MAX(x.a), COUNT(%.a)"]);
    let aggregates = aggregates.replace('%', last);
    let (list, behind) = match r.below(9) {
        0 | 1 => (aliases.iter().map(|alias| format!("{alias}.id")).collect::<Vec<_>>().join(", "), String::new()),
        2 => (format!("x.a, {last}.s"), String::new()),
        3 => (aggregates, String::new()),
        4 => (format!("DISTINCT {key}"), String::new()),
        5 => (key.to_owned(), format!(" ORDER BY {}{} LIMIT {}", key.replace(", ", " DESC, "), " DESC", r.below(20))),
        6 => (key.to_owned(), format!(" ORDER BY {key} LIMIT {} OFFSET {}", r.below(20), r.below(10))),
        _ => (format!("{key}, {aggregates}"), format!(" GROUP BY {key}{}", r.pick(&["", "", " HAVING COUNT(*) > 1", " WITH ROLLUP"]))),
    };
    Node::new(Sort::Query, format!("SELECT {hint}{list} FROM {MARK}{MARK}{behind}"), vec![from, filter])
}
