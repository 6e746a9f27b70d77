//! What a table looks like, and the random statements that follow from it.

use env::SplitMix64;

pub fn below(random: &mut SplitMix64, count: u64) -> u64 {
    random.next() % count
}

pub fn one_of<'a, T>(random: &mut SplitMix64, list: &'a [T]) -> &'a T {
    &list[below(random, list.len() as u64) as usize]
}

/// A random value, as it stands in a statement.
pub type Value = fn(&mut SplitMix64) -> String;

/// A column, or an expression that an index is over.
pub struct Column {
    pub name: &'static str,
    /// How it is read: text that differs where its bytes do.
    pub shown: &'static str,
    pub value: Value,
    /// Expressions that it is sometimes set to, so that many rows move at once.
    pub steps: &'static [&'static str],
    /// Not so for generated columns and for expressions.
    pub is_written: bool,
}

pub const fn column(name: &'static str, shown: &'static str, value: Value, steps: &'static [&'static str]) -> Column {
    Column { name, shown, value, steps, is_written: true }
}

pub const fn computed(name: &'static str, shown: &'static str, value: Value) -> Column {
    Column { name, shown, value, steps: &[], is_written: false }
}

pub struct Index {
    pub name: &'static str,
    /// Positions among the table's columns.
    pub columns: &'static [usize],
    /// Conditions that read this index from end to end, or to its NULLs.
    pub whole: &'static [&'static str],
}

/// What somebody adds to a table meanwhile, and takes away.
pub struct Build {
    pub add: &'static str,
    /// True of all entries of index `x`, if one is added.
    pub condition: &'static str,
    pub drop: &'static str,
}

/// An index named `x`.
pub const fn index(add: &'static str, condition: &'static str) -> Build {
    Build { add, condition, drop: "DROP KEY x" }
}

/// A column named `extra`, perhaps with an index `x` over it.
pub const fn extra(add: &'static str, condition: &'static str) -> Build {
    Build { add, condition, drop: "DROP COLUMN extra" }
}

pub struct Table {
    pub name: &'static str,
    pub definition: &'static str,
    /// The primary key first; it is shown as a literal.
    pub columns: &'static [Column],
    pub indexes: &'static [Index],
    /// Lists of columns that no two rows have alike, as far as there is no NULL.
    pub unique: &'static [&'static [&'static str]],
    /// Holds for each row.
    pub always: &'static str,
    /// What each change of a row sets besides, for the former to hold.
    pub upkeep: Option<(&'static str, &'static str)>,
    pub builds: &'static [Build],
}

pub struct Shape {
    pub name: &'static str,
    /// Parents before children.
    pub tables: &'static [Table],
    /// Rows that refer to nothing: a join and its condition.
    pub orphans: &'static [&'static str],
    /// Changes of several tables at once.
    pub joint: &'static [Value],
}

impl Shape {
    /// A random change of a table of which some rows are held, by their keys, or of another.
    pub fn change(&self, random: &mut SplitMix64, held: Option<&(&str, Vec<String>)>) -> String {
        if !self.joint.is_empty() && below(random, 8) == 0 {
            return one_of(random, self.joint)(random);
        }
        let table = one_of(random, self.tables);
        match held {
            Some((name, keys)) if *name == table.name => table.change(random, keys),
            _ => table.change(random, &[]),
        }
    }
}

fn compare(column: &str, operator: &str, value: &str) -> String {
    if value == "NULL" { format!("{column} IS NULL") } else { format!("{column} {operator} {value}") }
}

impl Table {
    pub fn key(&self) -> &'static str {
        self.columns[0].name
    }

    /// The list of what a row is shown as.
    pub fn shown(&self) -> String {
        self.columns.iter().map(|column| column.shown).collect::<Vec<_>>().join(", ")
    }

    /// How many rows an index shows where a condition holds, and what is in them.
    pub fn sums(&self, index: &str, condition: &str) -> String {
        let shown: Vec<String> = self.columns.iter().map(|column| format!("COALESCE({}, '-')", column.shown)).collect();
        format!(
            "(SELECT CONCAT(COUNT(*), ' ', COALESCE(SUM(CRC32(CONCAT_WS(',', {}))), 0)) FROM {} FORCE INDEX ({index}) WHERE {condition})",
            shown.join(", "),
            self.name
        )
    }

    /// The same from what stands in the index itself.
    pub fn covered_sums(&self, index: &str, of: &Index, condition: &str) -> String {
        let inside: Vec<String> = of.columns.iter().map(|at| format!("COALESCE({}, '-')", self.columns[*at].name)).collect();
        let (inside, name) = (inside.join(", "), self.name);
        format!(
            "(SELECT CONCAT(COUNT(*), ' ', COALESCE(SUM(LENGTH(CONCAT_WS(',', {inside}))), 0)) FROM {name} FORCE INDEX ({index}) WHERE {condition})"
        )
    }

    /// A range of an index, and the other way round if not empty: its order.
    pub fn range(&self, index: &Index, random: &mut SplitMix64) -> (String, String) {
        let first = &self.columns[index.columns[0]];
        let mut value = || (first.value)(random);
        let (low, high) = (value(), value());
        let condition = match below(random, 6) {
            0..=2 => match index.columns.get(1) {
                Some(second) if below(random, 2) == 0 => {
                    let second = &self.columns[*second];
                    let operator = *one_of(random, &["=", ">=", "<", "<="]);
                    let rest = compare(second.name, operator, &(second.value)(random));
                    format!("{} AND {rest}", compare(first.name, "=", &low))
                }
                _ => compare(first.name, "=", &low),
            },
            3 => compare(first.name, ">=", &low),
            4 => compare(first.name, "<", &low),
            _ if low == "NULL" || high == "NULL" => format!("{} IS NULL", first.name),
            _ => format!("{} BETWEEN {low} AND {high}", first.name),
        };
        let order = || index.columns.iter().map(|at| format!("{} DESC", self.columns[*at].name)).collect::<Vec<_>>().join(", ");
        let order = if below(random, 4) == 0 { format!(" ORDER BY {}", order()) } else { String::new() };
        (condition, order)
    }

    fn row(&self, random: &mut SplitMix64) -> String {
        let mut values: Vec<String> = self.columns.iter().filter(|column| column.is_written).map(|column| (column.value)(random)).collect();
        values.extend(self.upkeep.map(|(_, value)| value.to_owned()));
        format!("({})", values.join(", "))
    }

    fn written(&self) -> Vec<&'static Column> {
        self.columns.iter().filter(|column| column.is_written).collect()
    }

    /// What follows SET: one column or two.
    fn assignments(&self, random: &mut SplitMix64) -> String {
        let written = self.written();
        let mut set: Vec<String> = Vec::new();
        for _ in 0..1 + below(random, 2) {
            let column = one_of(random, &written);
            let value = match column.steps {
                [] => (column.value)(random),
                steps if below(random, 2) == 0 => (*one_of(random, steps)).to_owned(),
                _ => (column.value)(random),
            };
            set.push(format!("{} = {value}", column.name));
        }
        set.extend(self.upkeep.map(|(name, value)| format!("{name} = {value}")));
        set.join(", ")
    }

    /// A change or a deletion of all rows for which something holds.
    pub fn change_where(&self, random: &mut SplitMix64, condition: &str) -> String {
        let name = self.name;
        match below(random, 4) {
            0 => format!("DELETE FROM {name} WHERE {condition}"),
            at => {
                let hint = if at == 1 { format!(" FORCE INDEX ({})", one_of(random, self.indexes).name) } else { String::new() };
                format!("UPDATE {name}{hint} SET {} WHERE {condition}", self.assignments(random))
            }
        }
    }

    /// A random change of the table; of `held`, rows by their keys, rather than of others.
    fn change(&self, random: &mut SplitMix64, held: &[String]) -> String {
        let (name, key) = (self.name, self.key());
        let mut names: Vec<&str> = self.written().iter().map(|column| column.name).collect();
        names.extend(self.upkeep.map(|(name, _)| name));
        let into = format!("INTO {name} ({}) VALUES", names.join(", "));
        let row = self.row(random);
        let set = self.assignments(random);
        let id = if !held.is_empty() && below(random, 3) > 0 { one_of(random, held).clone() } else { (self.columns[0].value)(random) };
        let index = one_of(random, self.indexes);
        let (range, order) = self.range(index, random);
        let hint = if below(random, 2) == 0 { format!(" FORCE INDEX ({})", index.name) } else { String::new() };
        match below(random, 27) {
            0..=1 => format!("INSERT {into} {row}"),
            2 => format!("INSERT {into} {row}, {}, {}", self.row(random), self.row(random)),
            3 => format!("INSERT IGNORE {into} {row}, {}", self.row(random)),
            4 => format!("REPLACE {into} {row}"),
            5 => format!("REPLACE {into} {row}, {}", self.row(random)),
            6..=7 => format!("INSERT {into} {row} ON DUPLICATE KEY UPDATE {set}"),
            8 => format!("INSERT {into} {row}, {} ON DUPLICATE KEY UPDATE {set}", self.row(random)),
            9 => format!("DELETE FROM {name} WHERE {key} = {id}"),
            10 => format!("DELETE FROM {name} WHERE {range}{order} LIMIT 2"),
            11..=15 => format!("UPDATE {name} SET {set} WHERE {key} = {id}"),
            16..=17 => format!("UPDATE {name}{hint} SET {set} WHERE {range}"),
            18..=19 => format!("UPDATE {name}{hint} SET {set} WHERE {range}{order} LIMIT 3"),
            20 => format!("UPDATE IGNORE {name}{hint} SET {set} WHERE {range}"),
            21 => format!("UPDATE {name} SET {set} WHERE {key} >= {id} ORDER BY {key} LIMIT 4"),
            22 => {
                let values = names.iter().map(|name| if *name == key { id.as_str() } else { name }).collect::<Vec<_>>().join(", ");
                format!("INSERT IGNORE INTO {name} ({0}) SELECT {values} FROM {name} WHERE {range}", names.join(", "))
            }
            23 => format!("REPLACE INTO {name} ({0}) SELECT {0} FROM {name} WHERE {range}", names.join(", ")),
            24 => format!(
                "DELETE {name}1 FROM {name} AS {name}1 JOIN {name} AS {name}2 ON {name}1.{key} = {name}2.{key} WHERE {name}2.{key} = {id}"
            ),
            // Of several tables; there is no order of assignments there.
            _ if self.upkeep.is_some() => format!("UPDATE {name} SET {set} ORDER BY {key} DESC LIMIT 2"),
            _ => {
                let (column, link) = (*one_of(random, &self.written()), self.columns[index.columns[0]].name);
                let value = if column.steps.is_empty() { (column.value)(random) } else { format!("{name}2.{}", column.name) };
                let (set, linked) = (format!("{name}1.{} = {value}", column.name), !link.starts_with('('));
                let on = if linked { format!("{name}1.{link} = {name}2.{link}") } else { format!("{name}1.{key} = {name}2.{key}") };
                format!("UPDATE {name} AS {name}1 JOIN {name} AS {name}2 ON {on} SET {set} WHERE {name}2.{key} = {id}")
            }
        }
    }
}
