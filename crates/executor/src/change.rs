//! UPDATE and DELETE.

pub(crate) mod auto_increment;
pub(crate) mod duplicate;
pub(crate) mod in_place;
pub(crate) mod insert;
pub(crate) mod load;
pub(crate) mod met;
pub(crate) mod placed;
pub(crate) mod rules;
pub(crate) mod store;
pub(crate) mod together;

use crate::change::duplicate::duplicate_entry;
use crate::change::in_place::Assigned;
use crate::change::insert::{same_row, same_value};
use crate::document::with_table;
use crate::errors::{Error, internal};
use crate::exec::Exec;
use crate::execute::Changes;
use crate::foreign_keys::Removal;
use crate::hash_key::{KeySet, insert_key};
use crate::run::{Flow, Result};
use planner::expr::{Expr, Slot};
use planner::plan::{Delete, DeleteTarget, Update, UpdateTarget};
use smallvec::SmallVec;
use std::ops::Range;
use types::Value;

/// A change that waits for the end of the read: key, new values.
type Pending = (Value, Vec<Value>);

/// How far an UPDATE is with one of its targets.
#[derive(Default)]
struct Progress {
    /// Keys of the rows that were met: one that is reached through several joined rows is changed once.
    met: KeySet,
    pending: Vec<Pending>,
}

impl<'a> Exec<'a> {
    /// Runs an UPDATE.
    pub(crate) fn run_update(&mut self, update: &'a Update) -> Result<Changes> {
        let mode = self.context.sql_mode();
        self.lenient = update.ignore || !mode.is_strict();
        self.null_lenient = self.lenient;
        self.pass_by_unmatched(update);
        let mut changes = Changes::default();
        let mut left = self.rows_max(update.limit.as_ref())?;
        if left == 0 {
            return Ok(changes);
        }
        if let Some(assigned) = Assigned::by_update(update) {
            return self.update_in_place(update, assigned, left);
        }
        let mut progress: Vec<Progress> = update.targets.iter().map(|_| Progress::default()).collect();
        // Of the target that is shown to those behind it: the key of the row that was met last, and what that becomes.
        let mut shown: Option<(Value, Vec<Value>)> = None;
        let several = update.targets.len() > 1 || !matches!(update.input, planner::plan::Node::Table(_) | planner::plan::Node::Sort { .. });
        let read = self.run(&update.input, &mut |x| {
            for (n, (target, Progress { met, pending })) in update.targets.iter().zip(&mut progress).enumerate() {
                let key = x.hand_over(target.key_slot, several);
                let Value::Bytes(key_bytes) = &key else { continue };
                if several && !insert_key(met, key_bytes)? {
                    continue;
                }
                changes.matched += 1;
                let seen = update.shown.map(|first| &update.targets[first]).zip(shown.as_ref());
                let values = match seen {
                    Some((first, (key, row))) if x.get(first.key_slot) == key => {
                        let slots = first.first_slot as usize..first.first_slot as usize + row.len();
                        x.keeping(slots.clone(), |x| {
                            x.frame[slots].clone_from_slice(row);
                            x.new_values(target, changes.matched, several)
                        })
                    }
                    _ => x.new_values(target, changes.matched, several),
                };
                let values = match values {
                    Ok(Some(values)) => values,
                    Ok(None) => continue,
                    Err(Error::Sql(error)) if update.ignore && crate::change::rules::is_ignorable(&error) => {
                        x.warn(error.code, error.message);
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                if update.shown == Some(n) {
                    shown = Some((key.clone(), values.clone()));
                }
                if update.buffered {
                    let bytes = crate::memory::value_bytes(&key) + values.iter().map(crate::memory::value_bytes).sum::<usize>();
                    x.memory.take(bytes + 64)?;
                    ::memory::reserve(pending, 1)?;
                    pending.push((key, values));
                } else {
                    x.write_update(target, &key, values, update.ignore, &mut changes)?;
                }
            }
            left -= 1;
            Ok(if left == 0 { Flow::Stop } else { Flow::Continue })
        });
        if let Err(error) = read {
            return Err(self.earlier_failure(update, progress, error, changes));
        }
        self.write_pending(update, progress, &mut changes)?;
        Ok(changes)
    }

    /// Writes one table after the other.
    fn write_pending(&mut self, update: &'a Update, progress: Vec<Progress>, changes: &mut Changes) -> Result<()> {
        for (target, Progress { pending, .. }) in update.targets.iter().zip(progress) {
            for (key, values) in pending {
                self.tick()?;
                self.write_update(target, &key, values, update.ignore, changes)?;
            }
        }
        Ok(())
    }

    /// What is wrong with a row is told after what is wrong with those before it, which were to be changed when all are read.
    #[cold]
    fn earlier_failure(&mut self, update: &'a Update, progress: Vec<Progress>, failure: Error, mut changes: Changes) -> Error {
        match failure {
            Error::Engine(_) => failure,
            Error::Sql(_) => self.write_pending(update, progress, &mut changes).err().unwrap_or(failure),
        }
    }

    /// A slot's value: a copy where the row in the frame may be used again (`keeps`).
    fn hand_over(&mut self, slot: Slot, keeps: bool) -> Value {
        let value = &mut self.frame[slot as usize];
        if keeps { value.clone() } else { std::mem::take(value) }
    }

    /// New values of the row in the frame, `None` when nothing changes. The frame `keeps` the row as it was read where joined rows that follow, or other
    /// tables' assignments, go by it.
    fn new_values(&mut self, target: &'a UpdateTarget, row_no: u64, keeps: bool) -> Result<Option<Vec<Value>>> {
        let first = target.first_slot as usize;
        let row = first..first + self.plan.tables[target.table as usize].def.columns.len();
        if !keeps {
            return self.take_new_values(target, row, row_no);
        }
        self.keeping(row.clone(), |x| x.take_new_values(target, row, row_no))
    }

    /// Does something to some slots of the frame, and puts back what was in them.
    fn keeping<T>(&mut self, slots: Range<usize>, act: impl FnOnce(&mut Self) -> T) -> T {
        let kept = self.frame[slots.clone()].to_vec();
        let done = act(self);
        self.frame[slots].iter_mut().zip(kept).for_each(|(slot, value)| *slot = value);
        done
    }

    /// New values of the row in these slots of the frame, which are left without it; `None` when nothing changes.
    fn take_new_values(&mut self, target: &'a UpdateTarget, row: Range<usize>, row_no: u64) -> Result<Option<Vec<Value>>> {
        let plan = self.plan;
        let def = &plan.tables[target.table as usize].def;
        // By column what it was; of a column that is set twice the first is what the row has.
        let mut before: SmallVec<[(usize, Value); 4]> = SmallVec::new();
        for (column, e) in &target.set {
            let v = self.eval(e)?;
            let own = target.first_slot + *column;
            let v = self.store_assigned(v, e, own, &def.columns[*column as usize], row_no).map_err(|e| with_table(e, &def.name))?;
            let column = own as usize;
            before.push((column, std::mem::replace(&mut self.frame[column], v)));
        }
        before.sort_by_key(|(column, _)| *column);
        before.dedup_by_key(|(column, _)| *column);
        let is_same = |old: &Value, new: &Value| same_value(new, old) || crate::document::are_equal(new, old, &*self.context);
        if before.iter().all(|(column, old)| is_same(old, &self.frame[*column])) {
            return Ok(None);
        }
        let mut values: Vec<Value> = self.frame[row].iter_mut().map(std::mem::take).collect();
        for (i, c) in def.columns.iter().enumerate() {
            if c.on_update_now && !target.set.iter().any(|(s, _)| *s as usize == i) {
                values[i] = self.current_timestamp(c);
            }
        }
        if let Some(rules) = &target.rules {
            self.generated_columns(rules, def, &mut values, row_no)?;
            self.ask_checks(rules, &values)?;
        }
        Ok(Some(values))
    }

    fn write_update(
        &mut self,
        target: &'a UpdateTarget,
        key: &Value,
        values: Vec<Value>,
        ignore: bool,
        changes: &mut Changes,
    ) -> Result<()> {
        let plan = self.plan;
        let entry = &plan.tables[target.table as usize];
        let Value::Bytes(key) = key else { return Err(internal("row without a key")) };
        let mut bytes = Vec::with_capacity(values.iter().map(crate::memory::value_bytes).sum());
        entry.storage.layout().encode(&values, &mut bytes).map_err(|e| internal(&format!("{e:?}")))?;
        // The counter moves with an update, too, so that the next insert does not meet the row.
        if let Some(at) = entry.def.auto_increment_column()
            && target.set.iter().any(|(c, _)| *c as usize == at)
        {
            match values[at] {
                Value::Int(i) if i > 0 => entry.storage.note_auto_increment(i as u64),
                Value::UInt(u) if u > 0 => entry.storage.note_auto_increment(u),
                _ => {}
            }
        }
        let written = if target.shared || self.keys_of(target.table).is_some() {
            self.update_as_it_is(target, key, &values, ignore)
        } else {
            self.engine()?.update(&entry.storage, key, &mut bytes).map(|()| true).map_err(Error::from)
        };
        match written {
            Ok(false) => Ok(()),
            Ok(true) => {
                changes.affected += 1;
                Ok(())
            }
            Err(Error::Engine(engine::Error::DuplicateKey { index_no })) => {
                let error = duplicate_entry(&entry.def, index_no, &values, &*self.context);
                if ignore {
                    self.warn(error.code, error.message);
                    return Ok(());
                }
                Err(Error::Sql(error))
            }
            Err(Error::Sql(error)) if ignore && crate::change::rules::is_ignorable(&error) => {
                self.warn(error.code, error.message);
                Ok(())
            }
            Err(e) => Err(e),
        }
    }

    /// Changes a row that may be another one than was read: an action of a foreign key for another row, or a further target that is the same table, has changed
    /// it. So only what the target sets is set. Whether it was changed.
    fn update_as_it_is(&mut self, target: &UpdateTarget, key: &[u8], values: &[Value], ignore: bool) -> Result<bool> {
        let def = &self.plan.tables[target.table as usize].def;
        let mark = self.engine()?.savepoint();
        let updated = self.update_with_keys(target.table, key, |x, row| {
            let before = row.clone();
            for (column, _) in &target.set {
                row[*column as usize] = values[*column as usize].clone();
            }
            if same_row(&before, row) {
                return Ok(false);
            }
            for (at, _) in def.columns.iter().enumerate().filter(|(_, column)| column.on_update_now) {
                row[at] = values[at].clone();
            }
            if let Some(rules) = &target.rules {
                x.generated_columns(rules, def, row, 1)?;
                x.ask_checks(rules, row)?;
            }
            Ok(true)
        });
        if ignore && matches!(updated, Err(Error::Engine(engine::Error::DuplicateKey { .. }))) {
            self.engine()?.take_back(mark)?;
        }
        Ok(self.unless_ignored(ignore, mark, updated)?.unwrap_or(false))
    }

    /// Deletes a row; whether it was there.
    fn delete_target(&mut self, table: u32, key: &[u8], ignore: bool) -> Result<bool> {
        if self.keys_of(table).is_some() {
            let mark = self.engine()?.savepoint();
            let deleted = self.delete_with_keys(table, key, Removal::Deleted);
            return Ok(self.unless_ignored(ignore, mark, deleted)?.unwrap_or(false));
        }
        let plan = self.plan;
        self.engine()?.delete(&plan.tables[table as usize].storage, key)?;
        Ok(true)
    }

    /// Rows that a LIMIT lets through.
    fn rows_max(&mut self, limit: Option<&Expr>) -> Result<u64> {
        match limit {
            Some(e) => {
                let v = self.eval(e)?;
                crate::convert::limit_value(&v)
            }
            None => Ok(u64::MAX),
        }
    }

    /// Runs a DELETE.
    pub(crate) fn run_delete(&mut self, delete: &'a Delete) -> Result<Changes> {
        let mut changes = Changes::default();
        let mut left = self.rows_max(delete.limit.as_ref())?;
        if left == 0 {
            return Ok(changes);
        }
        let single = delete.targets.len() == 1 && !delete.buffered && matches!(delete.input, planner::plan::Node::Table(_));
        // By target the first one that is the same table: a row goes once, whichever of its names it is met by.
        let id = |target: &DeleteTarget| self.plan.tables[target.table as usize].def.id;
        let tables =
            delete.targets.iter().map(|target| delete.targets.iter().position(|other| id(other) == id(target)).unwrap_or_default());
        let tables: SmallVec<[usize; 4]> = tables.collect();
        let mut met: SmallVec<[KeySet; 1]> = delete.targets.iter().map(|_| KeySet::default()).collect();
        let mut pending: Vec<(usize, Value)> = Vec::new();
        self.run(&delete.input, &mut |x| {
            for (n, target) in delete.targets.iter().enumerate() {
                let key = x.get(target.key_slot).clone();
                let Value::Bytes(key_bytes) = &key else { continue };
                if single {
                    changes.affected += u64::from(x.delete_target(target.table, key_bytes, delete.ignore)?);
                } else if insert_key(&mut met[tables[n]], key_bytes)? {
                    x.memory.take(key_bytes.len() + 96)?;
                    ::memory::reserve(&mut pending, 1)?;
                    pending.push((n, key));
                }
            }
            left -= 1;
            Ok(if left == 0 { Flow::Stop } else { Flow::Continue })
        })?;
        let turns = self.turns(delete);
        pending.sort_by_key(|(n, _)| turns[*n]);
        for (n, key) in pending {
            self.tick()?;
            let Value::Bytes(key) = &key else { continue };
            changes.affected += u64::from(self.delete_target(delete.targets[n].table, key, delete.ignore)?);
        }
        Ok(changes)
    }

    /// By target when its rows go: those that refer to others of the statement before these, so that no parent goes while a child of it is still to go.
    fn turns(&self, delete: &Delete) -> Vec<usize> {
        let id = |table: u32| self.plan.tables[table as usize].def.id;
        let refers = |child: u32, parent: u32| {
            let keys = self.keys_of(child).map_or(&[][..], |keys| &keys.parents);
            id(child) != id(parent) && keys.iter().any(|key| key.parent.is_some_and(|(table, _)| id(table) == id(parent)))
        };
        let mut turns = vec![0; delete.targets.len()];
        let mut left: Vec<usize> = (0..delete.targets.len()).collect();
        for turn in 0..delete.targets.len() {
            let is_free = |n: &usize| !left.iter().any(|other| refers(delete.targets[*other].table, delete.targets[*n].table));
            // Tables that refer to each other go as they are named.
            let at = left.iter().position(is_free).unwrap_or(0);
            turns[left.remove(at)] = turn;
        }
        turns
    }
}
