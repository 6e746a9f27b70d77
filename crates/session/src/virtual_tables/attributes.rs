//! Keys, defaults and the like of computed tables, as MySQL's tables of the same names declare them. They are told and have no effect: rows are made when they are
//! read, and cannot be changed.
//!
//! They were asked of MySQL 9.7 and lie in `attributes.txt`: `=database.table`, then a line of what columns it is about for each key and value: `primary|columns`,
//! `unique NAME|columns`, `index NAME|columns`, `default VALUE|columns`, `extra WORDS|columns`. A column with ` desc` behind it descends.

use catalog::VirtualTableDef;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What is declared of a table.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    /// The primary key first.
    pub keys: Vec<DeclaredKey>,
    defaults: HashMap<&'static str, &'static str>,
    extras: HashMap<&'static str, &'static str>,
}

/// A key of a computed table.
#[derive(Debug)]
pub(crate) struct DeclaredKey {
    /// Name.
    pub name: &'static str,
    /// Whether it is unique.
    pub unique: bool,
    /// Its columns, and whether each descends.
    pub columns: Vec<(&'static str, bool)>,
}

/// The name of a primary key.
const PRIMARY: &str = "PRIMARY";

impl DeclaredKey {
    pub fn is_primary(&self) -> bool {
        self.name == PRIMARY
    }

    fn begins_with(&self, column: &str) -> bool {
        self.columns.first().is_some_and(|(first, _)| *first == column)
    }

    fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|(own, _)| *own == column)
    }
}

impl Attributes {
    /// What COLUMN_KEY says of a column.
    pub fn key_word(&self, def: &VirtualTableDef, column: &str) -> &'static str {
        // Without a primary key MySQL takes the first unique one whose columns cannot be NULL for it.
        let is_full = |name: &str| def.column_index(name).is_some_and(|at| !def.columns[at].ty.nullable);
        let primary = self.keys.iter().find(|key| key.unique && key.columns.iter().all(|(name, _)| is_full(name)));
        if primary.is_some_and(|key| key.has(column)) {
            return "PRI";
        }
        let words = self.keys.iter().filter(|key| key.begins_with(column)).map(|key| match key.unique && key.columns.len() == 1 {
            true => "UNI",
            false => "MUL",
        });
        // As they sort, the stronger one is last.
        words.max().unwrap_or_default()
    }

    /// A column's default as COLUMN_DEFAULT tells it.
    pub fn default_of(&self, column: &str) -> Option<&'static str> {
        self.defaults.get(column).copied()
    }

    /// What EXTRA says of a column.
    pub fn extra(&self, column: &str) -> &'static str {
        self.extras.get(column).copied().unwrap_or_default()
    }
}

static ALL: LazyLock<HashMap<&'static str, Attributes>> = LazyLock::new(|| {
    let tables = include_str!("attributes.txt").split('=').filter(|part| !part.trim().is_empty());
    tables.map(|part| part.split_once('\n').map_or((part, Attributes::default()), |(name, lines)| (name, parse(lines)))).collect()
});
static NONE: LazyLock<Attributes> = LazyLock::new(Attributes::default);

/// What is declared of a computed table.
pub(crate) fn attributes(def: &VirtualTableDef) -> &'static Attributes {
    ALL.get(format!("{}.{}", def.database, def.name).as_str()).unwrap_or(&NONE)
}

fn parse(lines: &'static str) -> Attributes {
    let mut all = Attributes::default();
    for (what, columns) in lines.lines().filter_map(|line| line.rsplit_once('|')) {
        let (word, rest) = what.split_once(' ').unwrap_or((what, ""));
        let columns = columns.split(',').map(|column| column.strip_suffix(" desc").map_or((column, false), |name| (name, true)));
        let names = columns.clone().map(|(name, _)| (name, rest));
        match word {
            "default" => all.defaults.extend(names),
            "extra" => all.extras.extend(names),
            _ => {
                let name = if word == "primary" { PRIMARY } else { rest };
                all.keys.push(DeclaredKey { name, unique: word != "index", columns: columns.collect() });
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::virtual_tables::TABLES;

    /// A name that is written wrong would be told of nothing.
    #[test]
    fn every_line_is_about_columns_that_are_there() {
        let mut known: HashMap<String, &VirtualTableDef> = HashMap::new();
        known.extend(TABLES.iter().map(|table| (format!("{}.{}", table.def.database, table.def.name), &table.def)));
        let mut unknown = Vec::new();
        for (name, attributes) in ALL.iter() {
            let Some(def) = known.get(*name) else {
                unknown.push(*name);
                continue;
            };
            let keys = attributes.keys.iter().flat_map(|key| key.columns.iter().map(|(column, _)| *column));
            for column in keys.chain(attributes.defaults.keys().copied()).chain(attributes.extras.keys().copied()) {
                assert!(def.columns.iter().any(|own| own.name == column), "{name} has no column {column}");
            }
        }
        unknown.sort_unstable();
        assert!(unknown.is_empty(), "no such tables: {unknown:?}");
        let lines = include_str!("attributes.txt").lines().filter(|line| !line.starts_with('='));
        let words = ["primary|", "unique ", "index ", "default ", "extra "];
        lines.for_each(|line| assert!(words.iter().any(|word| line.starts_with(word)), "{line}"));
    }

    #[test]
    fn key_words_are_those_of_mysql() {
        let word = |table: &str, column: &str| {
            let def = TABLES.iter().map(|table| &table.def).find(|def| def.name == table).expect(table);
            attributes(def).key_word(def, column)
        };
        assert_eq!([word("db", "Host"), word("db", "User"), word("db", "Select_priv")], ["PRI", "PRI", ""]);
        assert_eq!([word("accounts", "USER"), word("accounts", "HOST")], ["MUL", ""], "a unique key with columns that may be NULL");
        assert_eq!([word("threads", "THREAD_ID"), word("threads", "PROCESSLIST_USER")], ["PRI", "MUL"]);
        assert_eq!([word("help_topic", "help_topic_id"), word("help_topic", "name")], ["PRI", "UNI"]);
    }
}
