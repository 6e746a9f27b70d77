//! Statements from a seed.

use crate::functions::{AGGREGATES, FUNCTIONS, literals, words};
use crate::node::{MARK, Node, Sort};
use crate::schema::{COLUMNS, TABLES, value};
use crate::{collations, json_tables, lateral, parameters, paths, ranges, rollup, sets, stores, types, using, windows, with, writes};
use env::SplitMix64 as Random;

/// What a statement is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Expressions over literals.
    Expressions,
    /// Queries of one or more tables.
    Queries,
    /// INSERT, UPDATE, DELETE, with the table as it is afterwards.
    Changes,
    /// Queries that can be planned in many ways.
    Paths,
    /// Joins by USING and NATURAL among others.
    Joins,
    /// Window functions.
    Windows,
    /// WITH, plain and recursive.
    With,
    /// LATERAL derived tables.
    Lateral,
    /// GROUP BY … WITH ROLLUP.
    Rollup,
    /// JSON_TABLE.
    JsonTables,
    /// UNION, INTERSECT and EXCEPT one within another.
    Sets,
    /// Strings under many collations.
    Collations,
    /// Constants of other types than the column's, beside an index.
    Ranges,
    /// Changes of several tables, REPLACE, ON DUPLICATE KEY UPDATE.
    Writes,
    /// Prepared statements with parameters.
    Parameters,
    /// Values of each type stored into columns of each other.
    Stores,
    /// Columns of each type as arguments of each function, and beside each other.
    Types,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 17] = [
        Kind::Expressions,
        Kind::Queries,
        Kind::Changes,
        Kind::Paths,
        Kind::Joins,
        Kind::Windows,
        Kind::With,
        Kind::Lateral,
        Kind::Rollup,
        Kind::JsonTables,
        Kind::Sets,
        Kind::Collations,
        Kind::Ranges,
        Kind::Writes,
        Kind::Parameters,
        Kind::Stores,
        Kind::Types,
    ];

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Expressions => "expressions",
            Kind::Queries => "queries",
            Kind::Changes => "changes",
            Kind::Paths => "paths",
            Kind::Joins => "joins",
            Kind::Windows => "windows",
            Kind::With => "with",
            Kind::Lateral => "lateral",
            Kind::Rollup => "rollup",
            Kind::JsonTables => "json-tables",
            Kind::Sets => "sets",
            Kind::Collations => "collations",
            Kind::Ranges => "ranges",
            Kind::Writes => "writes",
            Kind::Parameters => "parameters",
            Kind::Stores => "stores",
            Kind::Types => "types",
        }
    }
}

/// Makes statements.
pub struct Generator {
    random: Random,
    /// Functions that are not called: their names, as a template has them before the parenthesis.
    without: Vec<String>,
}

/// Where an expression stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// Tables whose columns it may name.
    tables: &'a [&'static str],
    /// Levels that it may still go down.
    depth: u32,
}

impl Generator {
    /// The same seed gives the same statements.
    pub fn new(seed: u64, without: Vec<String>) -> Generator {
        Generator { random: Random::new(seed), without }
    }

    /// The next statement.
    pub fn statement(&mut self, kind: Kind) -> Node {
        match kind {
            Kind::Expressions => {
                let depth = 1 + self.random.below(3) as u32;
                let kind = self.any_kind();
                let expression = self.expression(kind, Place { tables: &[], depth });
                Node::new(Sort::Fixed, format!("SELECT {MARK}"), vec![expression])
            }
            Kind::Queries => self.query(true),
            Kind::Changes => self.change(),
            Kind::Paths => paths::query(&mut self.random, ""),
            Kind::Joins => using::query(&mut self.random),
            Kind::Windows => windows::query(&mut self.random),
            Kind::With => with::query(&mut self.random),
            Kind::Lateral => lateral::query(&mut self.random),
            Kind::Rollup => rollup::query(&mut self.random),
            Kind::JsonTables => json_tables::query(&mut self.random),
            Kind::Sets => sets::query(&mut self.random),
            Kind::Collations => collations::query(&mut self.random),
            Kind::Ranges => ranges::query(&mut self.random),
            Kind::Writes => writes::change(&mut self.random),
            Kind::Parameters => parameters::statement(&mut self.random),
            Kind::Stores => stores::change(&mut self.random),
            Kind::Types => types::query(&mut self.random, &self.without),
        }
    }

    fn any_kind(&mut self) -> char {
        self.random.pick(&['I', 'N', 'F', 'S', 'S', 'B', 'D', 'M', 'T', 'J', 'C'])
    }

    /// An expression that is of this kind as a rule: what functions get is now and then of another.
    fn expression(&mut self, kind: char, place: Place<'_>) -> Node {
        let kind = if kind == 'A' || self.random.below(8) == 0 { self.any_kind() } else { kind };
        if place.depth == 0 || self.random.below(5) == 0 {
            return self.simple(kind, place);
        }
        let is_left_out = |template: &str| self.without.iter().any(|name| template.contains(name.as_str()));
        let fitting: Vec<&str> = FUNCTIONS
            .iter()
            .filter(|(out, template)| (*out == kind || *out == 'A') && !is_left_out(template))
            .map(|(_, template)| *template)
            .collect();
        let template = self.random.pick(&fitting);
        self.fill(template, Place { depth: place.depth - 1, ..place })
    }

    /// A template with arguments.
    fn fill(&mut self, template: &str, place: Place<'_>) -> Node {
        let mut text = String::new();
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            let Some((word, behind)) = after.split_once('}') else { break };
            match words(word) {
                Some(list) => {
                    let chosen = self.random.pick(list);
                    if matches!(word, "unit" | "units") {
                        text.push_str(chosen);
                    } else {
                        text.push(MARK);
                        parts.push(Node::leaf(Sort::Scalar, chosen));
                    }
                }
                None => {
                    text.push(MARK);
                    parts.push(self.expression(word.chars().next().unwrap_or('A'), place));
                }
            }
            rest = behind;
        }
        text.push_str(rest);
        Node::new(Sort::Scalar, text, parts)
    }

    fn simple(&mut self, kind: char, place: Place<'_>) -> Node {
        if !place.tables.is_empty() && self.random.below(4) != 0 {
            let table = self.random.pick(place.tables);
            let fitting: Vec<&str> =
                COLUMNS.iter().filter(|(_, of, _)| *of == kind || kind == 'C' && *of == 'I').map(|(name, ..)| *name).collect();
            if !fitting.is_empty() {
                return Node::leaf(Sort::Scalar, format!("{table}.{}", self.random.pick(&fitting)));
            }
        }
        Node::leaf(Sort::Scalar, self.random.pick(literals(kind)))
    }

    fn condition(&mut self, place: Place<'_>) -> Node {
        match self.random.below(10) {
            0 if place.depth > 0 => self.subquery_condition(place),
            1..=6 => self.sargable(place),
            _ => self.expression('C', place),
        }
    }

    /// A condition that an index may serve.
    fn sargable(&mut self, place: Place<'_>) -> Node {
        let table = self.random.pick(place.tables);
        let (name, kind, _) = self.random.pick(COLUMNS);
        let column = format!("{table}.{name}");
        let constant = |me: &mut Self| Node::leaf(Sort::Scalar, value(&mut me.random, name, kind));
        let (first, second) = (constant(self), constant(self));
        let (template, parts) = match self.random.below(7) {
            0 => (format!("{column} BETWEEN {MARK} AND {MARK}"), vec![first, second]),
            1 => (format!("{column} IN ({MARK}, {MARK})"), vec![first, second]),
            2 => (format!("{column} IS NULL"), Vec::new()),
            3 => (format!("({column} < {MARK} OR {column} > {MARK})"), vec![first, second]),
            4 => (format!("{column} >= {MARK}"), vec![first]),
            5 => {
                let other = self.random.pick(place.tables);
                (format!("{column} = {other}.{name}"), Vec::new())
            }
            _ => (format!("{column} = {MARK}"), vec![first]),
        };
        let condition = Node::new(Sort::Scalar, template, parts);
        if self.random.below(3) == 0 && place.depth > 0 {
            let other = self.condition(Place { depth: place.depth - 1, ..place });
            return Node::new(Sort::Scalar, format!("({MARK} {} {MARK})", self.random.pick(&["AND", "OR"])), vec![condition, other]);
        }
        condition
    }

    fn subquery_condition(&mut self, place: Place<'_>) -> Node {
        let inner = Place { tables: &["t3", "t2"], depth: 0 };
        let (table, _) = self.random.pick(&TABLES[1..]);
        let condition = self.sargable(Place { tables: if table == "t3" { &["t3"] } else { &["t2"] }, ..inner });
        let (name, ..) = self.random.pick(&COLUMNS[..12]);
        let outer = format!("{}.{name}", place.tables[0]);
        let template = match self.random.below(5) {
            0 => format!("{outer} IN (SELECT {table}.{name} FROM {table} WHERE {MARK})"),
            1 => format!("{outer} NOT IN (SELECT {table}.{name} FROM {table} WHERE {MARK})"),
            2 => format!("EXISTS (SELECT 1 FROM {table} WHERE {table}.{name} = {outer} AND {MARK})"),
            3 => format!("{outer} > ALL (SELECT {table}.{name} FROM {table} WHERE {MARK})"),
            _ => format!("{outer} <= (SELECT MAX({table}.{name}) FROM {table} WHERE {MARK})"),
        };
        // The outer table may be of the same name: then the condition is about the inner one, in both servers.
        Node::new(Sort::Scalar, template, vec![condition])
    }

    fn from(&mut self) -> (Node, &'static [&'static str]) {
        let on = |me: &mut Self, tables: &'static [&'static str]| {
            let (name, ..) = me.random.pick(&COLUMNS[..17]);
            let base = Node::leaf(Sort::Scalar, format!("{}.{name} = {}.{name}", tables[0], tables[1]));
            if me.random.coin() {
                let more = me.sargable(Place { tables, depth: 0 });
                return Node::new(Sort::Scalar, format!("{MARK} {} {MARK}", me.random.pick(&["AND", "AND", "OR"])), vec![base, more]);
            }
            base
        };
        match self.random.below(8) {
            0..=2 => (Node::leaf(Sort::Fixed, "t1"), &["t1"]),
            3 => (Node::leaf(Sort::Fixed, "t2"), &["t2"]),
            4 => {
                let condition = on(self, &["t1", "t2"]);
                (Node::new(Sort::Fixed, format!("t1 LEFT JOIN t2 ON {MARK}"), vec![condition]), &["t1", "t2"])
            }
            5 => {
                let condition = on(self, &["t1", "t2"]);
                (Node::new(Sort::Fixed, format!("t1 JOIN t2 ON {MARK}"), vec![condition]), &["t1", "t2"])
            }
            6 => {
                let (name, ..) = self.random.pick(&COLUMNS[..17]);
                let join = self.random.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN"]);
                (Node::leaf(Sort::Fixed, format!("t1 {join} t2 USING ({name})")), &["t1", "t2"])
            }
            _ => {
                let condition = on(self, &["t2", "t3"]);
                (Node::new(Sort::Fixed, format!("t2 RIGHT JOIN t3 ON {MARK}"), vec![condition]), &["t2", "t3"])
            }
        }
    }

    fn query(&mut self, outermost: bool) -> Node {
        let (from, tables) = self.from();
        let place = Place { tables, depth: 1 };
        let filter = match self.random.below(4) {
            0 => Node::leaf(Sort::Clause, ""),
            _ => Node::new(Sort::Clause, format!(" WHERE {MARK}"), vec![self.condition(Place { depth: 2, ..place })]),
        };
        if outermost && self.random.below(6) == 0 {
            let (one, other) = (self.query(false), self.query(false));
            let operator = self.random.pick(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT"]);
            return Node::new(Sort::Query, format!("{MARK} {operator} {MARK}"), vec![one, other]);
        }
        if !outermost {
            let kind = self.any_kind();
            let item = self.expression(kind, place);
            return Node::new(Sort::Query, format!("SELECT {MARK} FROM {MARK}{MARK}"), vec![item, from, filter]);
        }
        if self.random.below(3) == 0 {
            return self.grouped(from, filter, place);
        }
        let list = self.list(place, 3);
        let order = match self.random.below(3) {
            0 => {
                let ids: Vec<String> = tables.iter().map(|table| format!("{table}.id")).collect();
                let direction = self.random.pick(&["", " DESC"]);
                Node::leaf(
                    Sort::Clause,
                    format!(" ORDER BY {}{direction} LIMIT {}", ids.join(&format!("{direction}, ")), self.random.below(6)),
                )
            }
            _ => Node::leaf(Sort::Clause, ""),
        };
        let distinct = Node::leaf(Sort::Clause, if order.template.is_empty() && self.random.below(6) == 0 { "DISTINCT " } else { "" });
        Node::new(Sort::Query, format!("SELECT {MARK}{MARK} FROM {MARK}{MARK}{MARK}"), vec![distinct, list, from, filter, order])
    }

    fn grouped(&mut self, from: Node, filter: Node, place: Place<'_>) -> Node {
        // What stands for a group of strings that compare equal is any of them: groups are of what has one form.
        let keys = ["i", "ti", "u", "d", "y", "bi", "e", "sb"];
        let key = format!("{}.{}", place.tables[0], self.random.pick(&keys));
        let mut aggregates = Vec::new();
        for _ in 0..1 + self.random.below(2) {
            let (_, template) = self.random.pick(AGGREGATES);
            let ids: Vec<String> = place.tables.iter().map(|table| format!("{table}.id")).collect();
            let template = template.replace(", id)", &format!(", {})", ids.join(", ")));
            aggregates.push(self.fill(&template, Place { depth: 0, ..place }));
        }
        let list = Node::list(aggregates);
        let having = match self.random.below(4) {
            0 => {
                let bound = self.random.pick(literals('I'));
                Node::new(Sort::Clause, format!(" HAVING COUNT(*) > {MARK}"), vec![Node::leaf(Sort::Scalar, bound)])
            }
            _ => Node::leaf(Sort::Clause, ""),
        };
        if self.random.below(4) == 0 {
            return Node::new(Sort::Query, format!("SELECT {MARK} FROM {MARK}{MARK}"), vec![list, from, filter]);
        }
        Node::new(Sort::Query, format!("SELECT {key}, {MARK} FROM {MARK}{MARK} GROUP BY {key}{MARK}"), vec![list, from, filter, having])
    }

    fn list(&mut self, place: Place<'_>, most: u64) -> Node {
        let count = 1 + self.random.below(most);
        let items = (0..count)
            .map(|_| {
                let kind = self.any_kind();
                self.expression(kind, place)
            })
            .collect();
        Node::list(items)
    }

    /// What a metamorphic check reads: one to three tables, or one behind a derived table.
    pub(crate) fn tables(&mut self) -> (Node, &'static [&'static str]) {
        match self.random.below(7) {
            0 => {
                let condition = self.sargable(Place { tables: &["t1"], depth: 1 });
                (Node::new(Sort::Fixed, format!("(SELECT * FROM t1 WHERE {MARK}) AS t1"), vec![condition]), &["t1"])
            }
            1 => {
                let (one, other) =
                    (self.sargable(Place { tables: &["t1", "t2"], depth: 0 }), self.sargable(Place { tables: &["t2", "t3"], depth: 0 }));
                let join = self.random.pick(&["JOIN", "LEFT JOIN"]);
                (
                    Node::new(Sort::Fixed, format!("t1 JOIN t2 ON t1.i = t2.i AND {MARK} {join} t3 ON {MARK}"), vec![one, other]),
                    &["t1", "t2", "t3"],
                )
            }
            _ => self.from(),
        }
    }

    /// A hint, and a query with it.
    pub(crate) fn hinted(&mut self) -> (String, Node) {
        let hint = paths::switches(&mut self.random);
        let query = paths::query(&mut self.random, &hint);
        (hint, query)
    }

    /// A change of the rows of such a table by its parts, and a condition to read it by afterwards.
    pub(crate) fn changed(&mut self) -> Vec<Node> {
        paths::changed(&mut self.random)
    }

    /// A change of the definition of a table that [`Kind::Paths`] reads; now and then one that is refused.
    pub fn alteration(&mut self) -> String {
        paths::alteration(&mut self.random)
    }

    /// A condition on these tables.
    pub(crate) fn predicate(&mut self, tables: &'static [&'static str]) -> Node {
        self.condition(Place { tables, depth: 3 })
    }

    /// A select list over these tables.
    pub(crate) fn items(&mut self, tables: &'static [&'static str]) -> Node {
        self.list(Place { tables, depth: 1 }, 3)
    }

    /// An expression of any kind over these tables.
    pub(crate) fn any(&mut self, tables: &'static [&'static str]) -> Node {
        let kind = self.any_kind();
        self.expression(kind, Place { tables, depth: 1 })
    }

    /// One of these.
    pub(crate) fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        self.random.pick(of)
    }

    fn change(&mut self) -> Node {
        let (table, tables): (&str, &[&'static str]) = if self.random.coin() { ("t1", &["t1"]) } else { ("t2", &["t2"]) };
        let place = Place { tables, depth: 1 };
        let ignore = self.random.pick(&["", "", " IGNORE"]);
        let (name, kind, _) = self.random.pick(COLUMNS);
        match self.random.below(7) {
            0 => {
                let condition = self.condition(Place { depth: 2, ..place });
                Node::new(Sort::Fixed, format!("DELETE{ignore} FROM {table} WHERE {MARK}"), vec![condition])
            }
            1 | 2 => {
                let expression = self.expression(kind, Place { depth: 2, ..place });
                let condition = Node::new(Sort::Clause, format!(" WHERE {MARK}"), vec![self.sargable(place)]);
                Node::new(Sort::Fixed, format!("UPDATE{ignore} {table} SET {name} = {MARK}{MARK}"), vec![expression, condition])
            }
            3 => {
                let expression = self.expression(kind, Place { tables: &[], depth: 2 });
                Node::new(Sort::Fixed, format!("INSERT{ignore} INTO {table} (id, {name}) VALUES (100, {MARK})"), vec![expression])
            }
            4 => {
                // A row has one partner at most: which one comes first would be chance.
                let both = Place { tables: &["t1", "t2"], depth: 1 };
                let (expression, condition) = (self.expression(kind, both), self.sargable(Place { depth: 0, ..both }));
                let join = self.random.pick(&["JOIN t2 USING (id)", "LEFT JOIN t2 USING (id)"]);
                let template = format!("UPDATE{ignore} t1 {join} SET t1.{name} = {MARK} WHERE id > 1 AND {MARK}");
                Node::new(Sort::Fixed, template, vec![expression, condition])
            }
            5 => {
                let expression = self.expression(kind, Place { tables: &["t3"], depth: 1 });
                Node::new(
                    Sort::Fixed,
                    format!("INSERT{ignore} INTO {table} (id, {name}) SELECT t3.id + 200, {MARK} FROM t3"),
                    vec![expression],
                )
            }
            _ => {
                let expression = self.expression(kind, Place { depth: 1, ..place });
                Node::new(
                    Sort::Fixed,
                    format!("INSERT{ignore} INTO {table} (id, u) VALUES (1, 5) ON DUPLICATE KEY UPDATE {name} = {MARK}"),
                    vec![expression],
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each mark has its part.
    fn is_whole(node: &Node) -> bool {
        node.template.matches(MARK).count() == node.parts.len() && node.parts.iter().all(is_whole)
    }

    #[test]
    fn statements_of_each_kind_are_whole_and_follow_from_the_seed() {
        for kind in Kind::ALL {
            let make = || {
                let mut generator = Generator::new(7, Vec::new());
                (0..300).map(|_| generator.statement(kind)).collect::<Vec<_>>()
            };
            let statements = make();
            assert_eq!(statements, make());
            for statement in &statements {
                assert!(is_whole(statement), "{}: {}", kind.name(), statement.text());
            }
        }
    }
}
