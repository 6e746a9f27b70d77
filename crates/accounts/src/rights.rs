//! What an account and its active roles may do, merged for looking up.
//!
//! On a database the most specific entry that fits its name counts, as in MySQL: an entry without wildcards in front of all patterns. Account and
//! each role choose their own entry, and what they chose is added up.

use crate::account::{AccountName, Grants};
use crate::host::{covers, first_wildcard, name_like};
use crate::privilege::Privileges;
use crate::registry::Accounts;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Privileges on a table and on its columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableRights {
    /// On the table.
    pub table: Privileges,
    /// On columns, by their names in lower case.
    columns: HashMap<Box<str>, Privileges>,
    /// What any column has.
    pub some_column: Privileges,
}

impl TableRights {
    /// On a column alone.
    pub fn column(&self, name: &str) -> Privileges {
        let granted = self.columns.get(name).copied();
        granted.unwrap_or_else(|| {
            match self.columns.is_empty() || !name.bytes().any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii()) {
                true => Privileges::NONE,
                false => self.columns.get(name.to_lowercase().as_str()).copied().unwrap_or_default(),
            }
        })
    }
}

/// The database entries of an account or a role.
#[derive(Debug, Default)]
struct Databases {
    exact: HashMap<Box<str>, Privileges>,
    /// Patterns, the most specific first.
    patterns: Vec<(Box<str>, Privileges)>,
}

impl Databases {
    fn of(grants: &Grants) -> Databases {
        let mut databases = Databases::default();
        let mut patterns: Vec<(usize, &String, Privileges)> = Vec::new();
        for (name, privileges) in &grants.databases {
            match first_wildcard(name) {
                None => {
                    databases.exact.insert(unescaped(name).into(), *privileges);
                }
                Some(at) => patterns.push((at, name, *privileges)),
            }
        }
        patterns.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| b.1.len().cmp(&a.1.len())).then_with(|| a.1.cmp(b.1)));
        databases.patterns = patterns.into_iter().map(|(_, name, privileges)| (name.as_str().into(), privileges)).collect();
        databases
    }

    fn of_database(&self, name: &str) -> Privileges {
        if let Some(privileges) = self.exact.get(name) {
            return *privileges;
        }
        let fits = self.patterns.iter().find(|(pattern, _)| name_like(pattern.as_bytes(), name.as_bytes()));
        fits.map_or(Privileges::NONE, |(_, privileges)| *privileges)
    }

    /// On all databases whose names fit a pattern.
    fn of_pattern(&self, pattern: &str) -> Privileges {
        if first_wildcard(pattern).is_none() {
            return self.of_database(&unescaped(pattern));
        }
        let above = self.patterns.iter().find(|(own, _)| covers(own.as_bytes(), pattern.as_bytes()));
        above.map_or(Privileges::NONE, |(_, privileges)| *privileges)
    }
}

/// A name in which `\_` and `\%` stand for the characters themselves.
fn unescaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some('_' | '%') if c == '\\' => {}
            _ => out.push(c),
        }
    }
    out
}

/// What an account and its active roles may do.
#[derive(Debug, Default)]
pub struct Rights {
    /// On `*.*`.
    pub global: Privileges,
    /// All static privileges on `*.*`: no statement needs a closer look.
    pub everything: bool,
    /// Dynamic ones, and whether with GRANT OPTION.
    pub dynamic: BTreeMap<String, bool>,
    databases: Vec<Databases>,
    tables: HashMap<Box<str>, HashMap<Box<str>, TableRights>>,
    /// The roles that are active, those granted to them included.
    pub roles: BTreeSet<AccountName>,
}

impl Rights {
    /// Of an account with these roles active. An account that is gone has none.
    pub fn of(accounts: &Accounts, account: &AccountName, active: &BTreeSet<AccountName>) -> Rights {
        let mut rights = Rights { roles: accounts.closure(active), ..Rights::default() };
        let Some(own) = accounts.get(account) else { return rights };
        let roles: Vec<_> = rights.roles.iter().filter_map(|role| accounts.get(role)).map(Arc::clone).collect();
        rights.add(&own.grants);
        roles.iter().for_each(|role| rights.add(&role.grants));
        rights.everything = rights.global.has(Privileges::ALL_GLOBAL);
        rights
    }

    fn add(&mut self, grants: &Grants) {
        self.global = self.global.with(grants.global);
        for (name, grantable) in &grants.dynamic {
            *self.dynamic.entry(name.clone()).or_default() |= grantable;
        }
        if !grants.databases.is_empty() {
            self.databases.push(Databases::of(grants));
        }
        for ((database, table), grant) in &grants.tables {
            let rights = self.tables.entry(database.as_str().into()).or_default().entry(table.as_str().into()).or_default();
            rights.table = rights.table.with(grant.privileges);
            rights.some_column = rights.some_column.with(grant.of_columns());
            for (column, privileges) in &grant.columns {
                let of_column = rights.columns.entry(column.to_lowercase().into()).or_default();
                *of_column = of_column.with(*privileges);
            }
        }
    }

    /// Whether a dynamic privilege is held. SUPER stands for those that were parts of it.
    pub fn has_dynamic(&self, name: &str) -> bool {
        self.dynamic.contains_key(name)
    }

    /// On all of a database: what is granted on `*.*` and on it.
    pub fn database(&self, database: &str) -> Privileges {
        self.databases.iter().fold(self.global, |all, entries| all.with(entries.of_database(database)))
    }

    /// On all databases that a pattern in GRANT … ON stands for.
    pub fn databases_like(&self, pattern: &str) -> Privileges {
        self.databases.iter().fold(self.global, |all, entries| all.with(entries.of_pattern(pattern)))
    }

    /// What is granted on a table and its columns themselves.
    pub fn table(&self, database: &str, table: &str) -> Option<&TableRights> {
        self.tables.get(database)?.get(table)
    }

    /// On a table: what is granted on `*.*`, on the database and on it.
    pub fn on_table(&self, database: &str, table: &str) -> Privileges {
        let own = self.table(database, table).map_or(Privileges::NONE, |rights| rights.table);
        self.database(database).with(own)
    }

    /// On a table or some column of it.
    pub fn on_some_column(&self, database: &str, table: &str) -> Privileges {
        let own = self.table(database, table).map_or(Privileges::NONE, |rights| rights.table.with(rights.some_column));
        self.database(database).with(own)
    }

    /// On a column.
    pub fn on_column(&self, database: &str, table: &str, column: &str) -> Privileges {
        let own = self.table(database, table).map_or(Privileges::NONE, |rights| rights.table.with(rights.column(column)));
        self.database(database).with(own)
    }

    fn does_something_in(&self, database: &str) -> bool {
        !self.database(database).and(Privileges::ALL_DATABASE).is_empty()
    }

    /// Whether the database may be the current one: something may be done with it or in it. GRANT OPTION alone is nothing.
    pub fn uses_database(&self, database: &str) -> bool {
        let does = |rights: &TableRights| !rights.table.with(rights.some_column).without(Privileges::GRANT).is_empty();
        self.does_something_in(database) || self.tables.get(database).is_some_and(|tables| tables.values().any(does))
    }

    /// Whether the tables of the database are listed: something is granted on it or in it.
    pub fn looks_into_database(&self, database: &str) -> bool {
        self.does_something_in(database) || self.tables.contains_key(database)
    }

    /// Whether the database is listed: the same, and GRANT OPTION on it.
    pub fn sees_database(&self, database: &str) -> bool {
        let grants = |entries: &Databases| entries.of_database(database).has(Privileges::GRANT);
        self.looks_into_database(database) || self.databases.iter().any(grants)
    }

    /// Whether the table is shown: something may be done with it, or is granted on itself, if only GRANT OPTION.
    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        !self.database(database).and(Privileges::ALL_TABLE).is_empty() || self.names_table(database, table)
    }

    /// Whether something is granted on a table itself or on columns of it.
    pub fn names_table(&self, database: &str, table: &str) -> bool {
        self.table(database, table).is_some_and(|rights| !rights.table.with(rights.some_column).is_empty())
    }
}
