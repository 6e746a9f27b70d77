//! Foreign keys as the engine sees them: the locks and changes that a statement asks of it when rows refer to each other, in the order of `executor/src/foreign_keys`.
//!
//! A family is three tables, each of which refers to the one before by a key with actions of its own. Who writes a reference locks the row that it refers to; who deletes a row, or gives
//! it another key, has it locked before it looks for rows that refer to it, and they follow or it stays.
//!
//! # Invariant
//! In each state that is committed, shown, or left by a crash, every row that refers to another has it: [`World::check_references`].

use crate::planted::Plant;
use crate::read::{outcome, scan, values};
use crate::schema::{self, DATABASE, Row};
use crate::world::{Client, Result, State, Stop, Table, World};
use catalog::{ForeignKeyDef, IndexDef, ReferenceAction, TableDef};
use engine::{Direction, KeyRange, Modify, Read, Wait};
use record::KeyPart;
use types::{TypeKind, Value};

/// Tables of a family.
const GENERATIONS: usize = 3;
/// Rows of a table past which rows are changed and deleted only.
const ROWS_ENOUGH: usize = 6;
/// The column that is referred to, and the one that refers.
const ID: usize = 0;
const REFERENCE: usize = 1;
/// The index of the column that refers.
const INDEX: &str = "refers";

/// What became of a part of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Done,
    /// The statement is to be taken back.
    Refused,
}

use Step::{Done, Refused};

fn key_of(def: &TableDef) -> Option<&ForeignKeyDef> {
    def.foreign_keys.first()
}

/// The key of the row of `parent` with this id.
fn parent_key(parent: &TableDef, id: &Value) -> Vec<u8> {
    schema::encode(parent, &parent.indexes[0].parts, std::slice::from_ref(id))
}

impl World {
    /// Makes the next table of the family, if one is missing.
    pub(crate) fn make_family(&mut self) -> Result<()> {
        let newest = self.newest();
        let generation = newest.tables.len();
        if generation >= GENERATIONS {
            return Ok(());
        }
        let mut def = loop {
            let def = schema::table(&mut self.random, &self.options, &format!("t{generation}"));
            let fits = def.columns[ID].ty.kind == TypeKind::Int && !def.has_hidden_key() && def.columns[REFERENCE].ty.nullable;
            if fits {
                break def;
            }
        };
        def.columns[ID].auto_increment = false;
        // Few rows, which refuse each other by their keys alone.
        let mut is_first = true;
        def.indexes.retain(|index| std::mem::take(&mut is_first) || !index.unique);
        if generation > 0 {
            let actions = [ReferenceAction::Restrict, ReferenceAction::Cascade, ReferenceAction::Cascade, ReferenceAction::SetNull];
            def.indexes.insert(1, IndexDef::new(INDEX, false, vec![KeyPart::ascending(REFERENCE)]));
            def.foreign_keys.push(ForeignKeyDef {
                name: format!("f{generation}"),
                columns: vec![REFERENCE],
                parent_database: DATABASE.into(),
                parent_table: format!("t{}", generation - 1),
                parent_columns: vec!["id".into()],
                on_delete: *self.random.one_of(&actions),
                on_update: *self.random.one_of(&actions),
                made_index: String::new(),
            });
        }
        self.create_table_as(def)
    }

    /// Whether every reference of a state leads to a row.
    pub(crate) fn check_references(&self, state: &State) -> Result<()> {
        for (name, table) in &state.tables {
            let Some(key) = key_of(&table.def) else { continue };
            let Some(parent) = state.tables.get(&key.parent_table) else {
                return Err(Stop::Violation(format!("{name} refers to {}, which is not there", key.parent_table)));
            };
            for row in table.rows.values().filter(|row| !row[REFERENCE].is_null()) {
                if !parent.rows.contains_key(&parent_key(&parent.def, &row[REFERENCE])) {
                    let (row, parent) = (crate::read::show(row), &key.parent_table);
                    return Err(Stop::Violation(format!("{name}: {row} refers to a row of {parent} that is not there")));
                }
            }
        }
        Ok(())
    }

    /// INSERT, UPDATE or DELETE of a row with all that its keys ask for.
    pub(crate) fn statement_with_keys(&mut self, client: &mut Client, name: &str) -> Result<()> {
        let mark = client.txn.as_ref().map_or(0, |txn| txn.model.savepoint());
        let mut done = Done;
        for _ in 0..*self.random.one_of(&[1, 1, 2, 4]) {
            if done == Done && client.txn.is_some() {
                done = self.row_with_keys(client, name)?;
            }
        }
        self.end_statement(client, done, mark)
    }

    fn row_with_keys(&mut self, client: &mut Client, name: &str) -> Result<Step> {
        let rows = self.current(client, name);
        match self.random.below(10) {
            0..5 if rows.len() < ROWS_ENOUGH => self.insert_child(client, name),
            0..8 if !rows.is_empty() => {
                let key = self.draw_key(&rows, name);
                self.change_keyed(client, name, &key)
            }
            _ => {
                let key = self.draw_key(&rows, name);
                self.delete_keyed(client, name, &key)
            }
        }
    }

    /// A statement that was refused is taken back.
    fn end_statement(&mut self, client: &mut Client, done: Step, mark: usize) -> Result<()> {
        if done == Done || client.txn.is_none() {
            return Ok(());
        }
        self.count("statements that foreign keys or locks refused");
        let result = client.session.statement_rollback();
        self.trace.line(format!("c{} statement rollback: {}", client.no, outcome(&result)));
        match (result, &mut client.txn) {
            (Ok(()), Some(txn)) => {
                txn.model.rollback_to(mark);
                Ok(())
            }
            (Err(error), _) => {
                self.excuse(&error, "statement rollback")?;
                self.give_up(client)
            }
            _ => Ok(()),
        }
    }

    fn table_of(&self, name: &str) -> Table {
        self.newest().tables[name].clone()
    }

    /// Locks a row. `None` when that was refused, or there is no transaction any more.
    fn lock_row(&mut self, client: &mut Client, name: &str, key: &[u8], read: Read) -> Result<Option<Option<Row>>> {
        if !self.before_locks(client, name) {
            return Ok(None);
        }
        let Some(entry) = self.entry(name)? else { return Ok(None) };
        self.use_table(client, name);
        let rows = self.current(client, name);
        let found = client.session.get(&entry.storage, key, read, values);
        self.trace.line(format!("c{} lock {name} {key:02x?} {read:?}: {}", client.no, outcome(&found)));
        let Some(found) = self.check_locking(client, name, read, found, "lock a row")? else { return Ok(None) };
        let found = found.transpose().map_err(Stop::Violation)?;
        let is_there = found.is_some();
        self.compare_one(client, name, read, key, rows.get(key), found)?;
        self.met(client, name, key);
        self.watch_row(client, name, key, read, is_there);
        self.check_unchanged(client, name, key)?;
        Ok(Some(rows.get(key).cloned()))
    }

    fn use_table(&self, client: &mut Client, name: &str) {
        if let Some(txn) = &mut client.txn {
            txn.used.insert(name.to_owned());
        }
    }

    /// Locks the row that this one refers to.
    fn lock_parent(&mut self, client: &mut Client, table: &Table, row: &[Value]) -> Result<Step> {
        let Some(key) = key_of(&table.def).filter(|_| !row[REFERENCE].is_null()) else { return Ok(Done) };
        let parent = self.table_of(&key.parent_table);
        let wanted = parent_key(&parent.def, &row[REFERENCE]);
        if self.plant == Some(Plant::ParentUnlocked) {
            let is_there = self.current(client, &key.parent_table).contains_key(&wanted);
            return Ok(if is_there { Done } else { Refused });
        }
        match self.lock_row(client, &key.parent_table, &wanted, Read::Share(Wait::Block))? {
            Some(Some(_)) => Ok(Done),
            _ => Ok(Refused),
        }
    }

    /// Whether the transaction has changed something since: what a row operation did not do it was refused.
    fn step_since(client: &Client, mark: usize) -> Step {
        if client.txn.as_ref().is_some_and(|txn| txn.model.savepoint() > mark) { Done } else { Refused }
    }

    fn mark(client: &Client) -> usize {
        client.txn.as_ref().map_or(0, |txn| txn.model.savepoint())
    }

    fn insert_child(&mut self, client: &mut Client, name: &str) -> Result<Step> {
        let table = self.table_of(name);
        let row = schema::row(&mut self.random, &self.options, &table.def);
        let mut row = self.with_reference(client, &table, row);
        let rows = self.current(client, name);
        for _ in 0..4 {
            if rows.contains_key(&parent_key(&table.def, &row[ID])) {
                row[ID] = schema::value(&mut self.random, &self.options, &table.def, ID);
            }
        }
        if self.lock_parent(client, &table, &row)? == Refused {
            return Ok(Refused);
        }
        let Some(entry) = self.entry(name)? else { return Ok(Refused) };
        if !self.before_locks(client, name) {
            return Ok(Refused);
        }
        let mark = Self::mark(client);
        self.insert_row(client, name, &entry, row, false)?;
        let step = Self::step_since(client, mark);
        if step == Done && key_of(&table.def).is_some() {
            self.count("rows written that refer to others");
        }
        Ok(step)
    }

    /// Mostly one that is there, often one that somebody else is about to change or delete.
    fn with_reference(&mut self, client: &Client, table: &Table, mut row: Vec<Value>) -> Vec<Value> {
        if let Some(key) = key_of(&table.def)
            && self.random.percent(75)
        {
            let parents = self.current(client, &key.parent_table);
            let contended: Vec<&Row> =
                parents.iter().filter(|(id, _)| self.changed_by_others(client.no, &key.parent_table, id)).map(|(_, row)| row).collect();
            if !contended.is_empty() && self.random.clone().percent(60) {
                row[REFERENCE] = self.random.one_of(&contended)[ID].clone();
            } else if !parents.is_empty() {
                row[REFERENCE] = parents.values().nth(self.random.below(parents.len())).expect("counted")[ID].clone();
            }
        }
        row
    }

    fn delete_keyed(&mut self, client: &mut Client, name: &str, key: &[u8]) -> Result<Step> {
        let row = match self.lock_row(client, name, key, Read::Exclusive(Wait::Block))? {
            None => return Ok(Refused),
            // It may have gone with one before.
            Some(None) => return Ok(Done),
            Some(Some(row)) => row,
        };
        for (child, action) in self.children(name, |key| key.on_delete) {
            let step = match action {
                ReferenceAction::Cascade => {
                    let Some(keys) = self.referring(client, &child, &row, Read::Exclusive(Wait::Block))? else { return Ok(Refused) };
                    let mut step = Done;
                    for key in keys {
                        self.count("rows deleted by a cascade");
                        step = self.delete_keyed(client, &child, &key)?;
                        if step == Refused {
                            break;
                        }
                    }
                    step
                }
                ReferenceAction::SetNull => self.refer_to(client, &child, &row, Value::Null)?,
                _ => self.refuse_referenced(client, &child, &row)?,
            };
            if step == Refused {
                return Ok(Refused);
            }
        }
        self.change(client, name, key, Modify::Delete, None)
    }

    /// UPDATE of a row: of its reference, its key, or something else.
    fn change_keyed(&mut self, client: &mut Client, name: &str, key: &[u8]) -> Result<Step> {
        let Some(Some(row)) = self.lock_row(client, name, key, Read::Exclusive(Wait::Block))? else { return Ok(Refused) };
        let table = self.table_of(name);
        let mut new = self.changed_row(name, key, &table, &row);
        if self.random.percent(50) {
            new = self.with_reference(client, &table, new);
        }
        if self.random.percent(30) {
            new[ID] = schema::value(&mut self.random, &self.options, &table.def, ID);
        }
        if new[REFERENCE] != row[REFERENCE] && self.lock_parent(client, &table, &new)? == Refused {
            return Ok(Refused);
        }
        if new[ID] != row[ID] {
            for (child, action) in self.children(name, |key| key.on_update) {
                let step = match action {
                    ReferenceAction::Cascade => self.refer_to(client, &child, &row, new[ID].clone())?,
                    ReferenceAction::SetNull => self.refer_to(client, &child, &row, Value::Null)?,
                    _ => self.refuse_referenced(client, &child, &row)?,
                };
                if step == Refused {
                    return Ok(Refused);
                }
            }
        }
        self.change(client, name, key, Modify::Replace, Some(new))
    }

    /// The row's own change, which comes last.
    fn change(&mut self, client: &mut Client, name: &str, key: &[u8], how: Modify, row: Option<Vec<Value>>) -> Result<Step> {
        let Some(entry) = self.entry(name)? else { return Ok(Refused) };
        let mark = Self::mark(client);
        self.modify_at(client, name, &entry, key, how, row)?;
        Ok(Self::step_since(client, mark))
    }

    /// The tables that refer to this one, with what they do.
    fn children(&self, name: &str, action: impl Fn(&ForeignKeyDef) -> ReferenceAction) -> Vec<(String, ReferenceAction)> {
        let newest = self.newest();
        let of = |(child, table): (&String, &Table)| {
            key_of(&table.def).filter(|key| key.parent_table == name).map(|key| (child.clone(), action(key)))
        };
        newest.tables.iter().filter_map(of).collect()
    }

    /// The keys of the rows that refer to this one, locked. `None` when that was refused.
    fn referring(&mut self, client: &mut Client, child: &str, parent: &Row, read: Read) -> Result<Option<Vec<Vec<u8>>>> {
        if !self.before_locks(client, child) {
            return Ok(None);
        }
        let Some(entry) = self.entry(child)? else { return Ok(None) };
        self.use_table(client, child);
        let table = self.table_of(child);
        let rows = self.current(client, child);
        let Some(index_no) = table.def.index_no(INDEX) else { return Err(Stop::Violation(format!("{child} has no index {INDEX}"))) };
        let mut probe = vec![Value::Null; table.def.columns.len()];
        probe[REFERENCE] = parent[ID].clone();
        let range = KeyRange::prefix(&schema::encode(&table.def, &table.def.indexes[index_no].parts, &probe));
        let found = scan(&mut client.session, &entry, index_no, range.clone(), Direction::Forward, read, usize::MAX, false);
        self.trace.line(format!(
            "c{} rows of {child} that refer to {}, {read:?}: {}",
            client.no,
            crate::read::show(&parent[..1]),
            outcome(&found)
        ));
        let Some(found) = self.check_locking(client, child, read, found, "rows that refer")? else { return Ok(None) };
        let mut found: Vec<Vec<u8>> = found.into_iter().map(|(key, _)| key).collect();
        let expected: Vec<&Vec<u8>> = rows.iter().filter(|(_, row)| row[REFERENCE] == parent[ID]).map(|(key, _)| key).collect();
        found.sort_unstable();
        if !found.iter().eq(expected) {
            return Err(Stop::Violation(format!("{child}: {found:02x?} refer to {}", crate::read::show(parent))));
        }
        for key in &found {
            self.met(client, child, key);
            self.watch_row(client, child, key, read, true);
        }
        self.met_range(client, child, &table, index_no, &range);
        self.check_range_unchanged(client, child, index_no, &range)?;
        self.watch_range(client, child, index_no, range, read);
        Ok(Some(found))
    }

    fn refuse_referenced(&mut self, client: &mut Client, child: &str, parent: &Row) -> Result<Step> {
        match self.referring(client, child, parent, Read::Share(Wait::Block))? {
            Some(keys) if keys.is_empty() => Ok(Done),
            _ => Ok(Refused),
        }
    }

    /// Gives the rows that refer to this one another reference, which need not be there yet.
    fn refer_to(&mut self, client: &mut Client, child: &str, parent: &Row, to: Value) -> Result<Step> {
        let Some(keys) = self.referring(client, child, parent, Read::Exclusive(Wait::Block))? else { return Ok(Refused) };
        for key in keys {
            let Some(Some(row)) = self.lock_row(client, child, &key, Read::Exclusive(Wait::Block))? else { return Ok(Refused) };
            let mut row = row.to_vec();
            row[REFERENCE] = to.clone();
            if self.change(client, child, &key, Modify::Replace, Some(row))? == Refused {
                return Ok(Refused);
            }
            self.count("rows changed by a cascade");
        }
        Ok(Done)
    }
}
