//! All tables, and what a statement does to them: those of one table are handed to it, what goes from one to another is here.

use crate::model::{Applied, Codes, Counter, Foreign, Key, Row, Rule, Table, Value, only, refuse, unless_any};
use crate::statement::{Action, Statement};
use std::collections::{BTreeMap, BTreeSet};

/// All there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Database {
    /// Tables by name.
    pub(crate) tables: BTreeMap<String, Table>,
    /// The next numbers of their AUTO_INCREMENT columns. Transactions do not take them back.
    pub(crate) counters: BTreeMap<String, Counter>,
}

impl Database {
    /// The names of all constraints.
    pub(crate) fn check_names(&self) -> BTreeSet<String> {
        self.tables.values().flat_map(|table| &table.checks).map(|check| check.name.clone()).collect()
    }

    fn found(&self, name: &str, code: u16) -> Result<&Table, Codes> {
        self.tables.get(name).ok_or_else(|| only(code))
    }

    fn is_free(&self, name: &str) -> Result<(), Codes> {
        if self.tables.contains_key(name) { refuse(1050) } else { Ok(()) }
    }

    /// The next number of a table's AUTO_INCREMENT column, if it has one and the number is known.
    pub(crate) fn counter(&self, name: &str) -> Counter {
        self.counters.get(name).copied().flatten()
    }

    /// The tables whose rows refer to this one's.
    pub(crate) fn children<'d>(&'d self, name: &'d str) -> impl Iterator<Item = (&'d String, &'d Foreign)> {
        let foreign = |(child, table): (&'d String, &'d Table)| Some((child, table.foreign.as_ref()?));
        self.tables.iter().filter_map(foreign).filter(move |(_, foreign)| foreign.parent == name)
    }

    /// The columns of a table that a foreign key is about, of its own or of another.
    pub(crate) fn tied(&self, name: &str) -> BTreeSet<String> {
        let own = self.tables.get(name).and_then(|table| table.foreign.as_ref()).map(|foreign| foreign.column.clone());
        self.children(name).map(|(_, foreign)| foreign.parent_column.clone()).chain(own).collect()
    }

    /// What a foreign key may say.
    fn keys(&self, foreign: Option<&Foreign>) -> Option<BTreeSet<Value>> {
        let foreign = foreign?;
        let parent = &self.tables[&foreign.parent];
        let at = parent.position(&foreign.parent_column);
        Some(parent.rows.iter().map(|row| row[at].clone()).collect())
    }

    /// Does a statement that is not one of transactions, wholly or not at all. Returns the rows affected where they are certain, or which errors may be told.
    pub(crate) fn apply(&mut self, statement: &Statement) -> Applied {
        let mut after = self.clone();
        match after.carry_out(statement) {
            Ok(affected) => {
                *self = after;
                Ok(affected)
            }
            Err(codes) => {
                // How many numbers it used up before it failed is not said anywhere.
                if let Statement::Insert { name, .. } = statement
                    && let Some(counter) = self.counters.get_mut(name)
                {
                    *counter = None;
                }
                Err(codes)
            }
        }
    }

    fn carry_out(&mut self, statement: &Statement) -> Applied {
        match statement {
            Statement::Create { name, table } => {
                self.is_free(name)?;
                self.add(name, table.clone());
                Ok(Some(0))
            }
            Statement::CreateLike { name, source } => {
                let table = self.found(source, 1146)?.clone();
                if name == source {
                    return refuse(1066);
                }
                self.is_free(name)?;
                self.add(name, Table { rows: Vec::new(), foreign: None, ..table });
                Ok(Some(0))
            }
            Statement::CreateSelect { name, source } => {
                let mut table = self.found(source, 1146)?.clone();
                self.is_free(name)?;
                let affected = table.rows.len() as u64;
                for column in &mut table.columns {
                    column.generated = None;
                    if std::mem::take(&mut column.counts) {
                        column.default = Some(Value::Int(0));
                    }
                }
                self.add(name, Table { keys: Vec::new(), checks: Vec::new(), foreign: None, ..table });
                Ok(Some(affected))
            }
            Statement::Drop { names, if_exists } => {
                let mut codes = Codes::new();
                if !if_exists && names.iter().any(|name| !self.tables.contains_key(name)) {
                    codes.insert(1051);
                }
                if names.iter().any(|name| self.children(name).any(|(child, _)| !names.contains(child))) {
                    codes.insert(3730);
                }
                unless_any(codes)?;
                for name in names {
                    self.tables.remove(name);
                    self.counters.remove(name);
                }
                Ok(Some(0))
            }
            Statement::Truncate { name } => {
                self.found(name, 1146)?;
                if self.children(name).next().is_some() {
                    return refuse(1701);
                }
                self.table(name).rows.clear();
                self.counters.entry(name.clone()).and_modify(|counter| *counter = Some(1));
                Ok(Some(0))
            }
            Statement::Rename { pairs } => {
                for (old, new) in pairs {
                    let table = self.found(old, 1146)?.clone();
                    self.is_free(new)?;
                    self.tables.remove(old);
                    self.tables.insert(new.clone(), table);
                    if let Some(counter) = self.counters.remove(old) {
                        self.counters.insert(new.clone(), counter);
                    }
                    let named = self.tables.values_mut().filter_map(|table| table.foreign.as_mut());
                    named.filter(|foreign| foreign.parent == *old).for_each(|foreign| foreign.parent.clone_from(new));
                }
                Ok(Some(0))
            }
            Statement::Alter { name, actions, .. } => {
                self.alter(name, actions)?;
                // The rows, if they were copied.
                Ok(None)
            }
            Statement::Insert { name, columns, rows, how } => {
                let table = self.found(name, 1146)?;
                let is_said = |column: usize| rows.iter().any(|row| row[column].is_some());
                if (0..columns.len()).any(|no| is_said(no) && table.columns[table.position(&columns[no])].generated.is_some()) {
                    return refuse(3105);
                }
                let (keys, before) = (self.keys(table.foreign.as_ref()), table.rows.len());
                let mut next = self.counter(name);
                let table = self.table(name);
                let affected = table.insert(columns, rows, how, keys.as_ref(), &mut next)?;
                // Rows that met others may have used up numbers, or not.
                let is_plain = table.rows.len() == before + rows.len();
                self.counters.entry(name.clone()).and_modify(|counter| *counter = next.filter(|_| is_plain));
                Ok(affected)
            }
            Statement::Update { name, set, condition, order, limit } => {
                let table = self.found(name, 1146)?;
                let chosen = table.chosen(condition.as_ref(), order, *limit);
                let keys = self.keys(table.foreign.as_ref());
                let mut changed = 0;
                for no in chosen {
                    let old = self.tables[name].rows[no].clone();
                    let done = self.table(name).change(no, set, keys.as_ref()).and_then(|differs| {
                        let new = self.tables[name].rows[no].clone();
                        if differs { self.follow(name, &old, Some(&new)).map(|()| true) } else { Ok(false) }
                    });
                    changed += u64::from(done.map_err(|codes| self.referential(name, codes))?);
                }
                Ok(Some(changed))
            }
            Statement::Delete { name, condition, order, limit } => {
                let mut chosen = self.found(name, 1146)?.chosen(condition.as_ref(), order, *limit);
                chosen.sort_unstable();
                let table = self.table(name);
                let gone: Vec<Row> = chosen.iter().rev().map(|no| table.rows.remove(*no)).collect();
                gone.iter().try_for_each(|row| self.follow(name, row, None))?;
                Ok(Some(chosen.len() as u64))
            }
            Statement::Begin | Statement::Commit | Statement::Rollback | Statement::Savepoint(_) | Statement::RollbackTo(_) => {
                unreachable!("statements of transactions are the run's")
            }
        }
    }

    /// A new table.
    fn add(&mut self, name: &str, table: Table) {
        if table.counting().is_some() {
            self.counters.insert(name.to_owned(), Some(1));
        }
        self.tables.insert(name.to_owned(), table);
    }

    fn alter(&mut self, name: &str, actions: &[Action]) -> Result<(), Codes> {
        let names_taken = self.check_names();
        let mut table = self.found(name, 1146)?.clone();
        match actions {
            [Action::AddForeign(foreign)] => {
                let keys = self.keys(Some(foreign));
                let at = table.position(&foreign.column);
                if table.rows.iter().any(|row| row[at] != Value::Null && keys.as_ref().is_some_and(|keys| !keys.contains(&row[at]))) {
                    return refuse(1452);
                }
                // Without a key that begins with the column there will be one.
                if table.keys.iter().all(|key| key.columns[0] != foreign.column) {
                    table.keys.push(Key { name: foreign.name.clone(), columns: vec![foreign.column.clone()], unique: false });
                }
                table.foreign = Some(foreign.clone());
            }
            [Action::DropForeign(_)] => table.foreign = None,
            [Action::Counter(next)] => {
                let at = table.counting().map(|column| table.position(&column.name)).expect("it is drawn for tables that count");
                let used = table.rows.iter().filter_map(|row| if let Value::Int(number) = row[at] { Some(number) } else { None }).max();
                self.counters.insert(name.to_owned(), Some(used.map_or(*next, |used| (used + 1).max(*next))));
            }
            actions => table.alter(actions, &names_taken)?,
        }
        if table.counting().is_none() {
            self.counters.remove(name);
        }
        self.tables.insert(name.to_owned(), table);
        Ok(())
    }

    /// What becomes of the rows that refer to one that has gone, or has become another.
    fn follow(&mut self, name: &str, old: &Row, new: Option<&Row>) -> Result<(), Codes> {
        let children: Vec<(String, Foreign)> = self.children(name).map(|(child, foreign)| (child.clone(), foreign.clone())).collect();
        for (child, foreign) in children {
            let at = self.tables[name].position(&foreign.parent_column);
            let key = new.map(|row| row[at].clone());
            let table = self.table(&child);
            let column = table.position(&foreign.column);
            let (referring, others): (Vec<Row>, Vec<Row>) =
                std::mem::take(&mut table.rows).into_iter().partition(|row| row[column] == old[at]);
            table.rows = others;
            if referring.is_empty() || key.as_ref() == Some(&old[at]) {
                table.rows.extend(referring);
                continue;
            }
            let becomes = match (if new.is_some() { foreign.on_update } else { foreign.on_delete }, key) {
                (Rule::Restrict, _) => return refuse(1451),
                (Rule::Cascade, key) => key,
                (Rule::SetNull, _) => Some(Value::Null),
            };
            for mut row in referring {
                match &becomes {
                    Some(value) => {
                        let table = self.table(&child);
                        row[column] = value.clone();
                        table.compute(&mut row);
                        table.rows.push(row);
                    }
                    None => self.follow(&child, &row, None)?,
                }
            }
        }
        Ok(())
    }

    /// Of a row of a table with foreign keys several things may be wrong, and which is told first is the order of its indexes.
    fn referential(&self, name: &str, codes: Codes) -> Codes {
        let either = Codes::from([1062, 1451, 1452]);
        if self.tied(name).is_empty() || codes.is_disjoint(&either) { codes } else { either }
    }

    fn table(&mut self, name: &str) -> &mut Table {
        self.tables.get_mut(name).expect("looked for before")
    }
}
