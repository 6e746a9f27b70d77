//! The row that a new one meets: it has its key in the primary or another unique index, and REPLACE removes it, ON DUPLICATE KEY UPDATE changes it.
//!
//! Where its new values can be computed under its latch (`planner::plan::Met`) it is changed where it lies ([`Exec::change_met`], also for the short plan); otherwise all of its values are
//! read and written.

use crate::change::duplicate::duplicate_entry;
use crate::change::in_place::{Assigned, Change};
use crate::change::insert::{Inserter, id_of, same_row, same_value};
use crate::document::with_table;
use crate::errors::{Error, internal};
use crate::exec::Exec;
use crate::execute::Changes;
use crate::foreign_keys::Removal;
use crate::run::Result;
use catalog::TableEntry;
use engine::{HandlerCall, Read, Wait};
use planner::expr::Slot;
use planner::plan::Insert;
use std::borrow::Cow;
use types::Value;

/// Appends a row's key in an index.
pub(crate) fn key_in<'v>(entry: &TableEntry, index_no: usize, value: impl Fn(usize) -> Cow<'v, Value>, key: &mut Vec<u8>) -> Result<()> {
    for part in &entry.def.indexes[index_no].parts {
        record::key::try_encode_part(&entry.def.columns[part.column].ty, part, &value(part.column), key)?;
    }
    Ok(())
}

/// The same of a row of values.
fn key_of(entry: &TableEntry, values: &[Value], index_no: usize) -> Result<Vec<u8>> {
    let mut key = Vec::new();
    key_in(entry, index_no, |column| Cow::Borrowed(&values[column]), &mut key)?;
    Ok(key)
}

impl<'a> Exec<'a> {
    /// Reads (and locks) the row that holds the new row's key in an index. It may be of an older layout than the table's.
    fn conflicting_row(&mut self, entry: &TableEntry, values: &[Value], index_no: usize) -> Result<Option<engine::RowBatch>> {
        let key = key_of(entry, values, index_no)?;
        let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
        session.handler_counts().add(HandlerCall::ReadKey, 1);
        let read = Read::Exclusive(Wait::Block);
        let mut batch = engine::RowBatch::default();
        let count = session
            .scan(&entry.storage, index_no, engine::KeyRange::prefix(&key), engine::Direction::Forward, read)?
            .next_batch(&mut batch, 1)?;
        Ok((count > 0).then_some(batch))
    }

    /// Removes the row that stands in the way of a new one, `values`, of REPLACE. One that is the same stays, as in MySQL where the table has but one unique key and no foreign
    /// key refers to it; then the new row is done with.
    pub(crate) fn replace_row(
        &mut self,
        (insert, entry): (&'a Insert, &'a TableEntry),
        index_no: usize,
        values: &[Value],
        changes: &mut Changes,
    ) -> Result<bool> {
        let Some(found) = self.conflicting_row(entry, values, index_no)? else { return Ok(false) };
        let is_parent =
            || self.plan.foreign_keys.as_ref().and_then(|keys| keys.of(insert.table)).is_some_and(|keys| !keys.children.is_empty());
        if entry.def.indexes.iter().filter(|index| index.unique && !index.parts.is_empty()).count() == 1 && !is_parent() {
            let mut old = Vec::with_capacity(entry.def.columns.len());
            found.row(&entry.storage, 0)?.values(&mut old)?;
            if same_row(&old, values) {
                changes.affected += 1;
                return Ok(true);
            }
        }
        if self.keys_of(insert.table).is_some() {
            self.delete_with_keys(insert.table, found.key(0), Removal::Replaced(values))?;
            // In a table that refers to itself that may have been the row that the new one refers to.
            self.check_parents(insert.table, values)?;
        } else {
            self.engine()?.delete(&entry.storage, found.key(0))?;
        }
        changes.affected += 1;
        changes.deleted += 1;
        changes.duplicates += 1;
        Ok(false)
    }

    /// Changes the row that has the new one's key; `false` when there is none any more.
    pub(super) fn update_duplicate(&mut self, state: &mut Inserter<'a>, index_no: usize) -> Result<bool> {
        match Assigned::by_insert(state.insert) {
            Some(assigned) => self.update_duplicate_in_place(state, index_no, assigned),
            None => self.update_duplicate_row(state, index_no),
        }
    }

    /// The same where it lies.
    fn update_duplicate_in_place(&mut self, state: &mut Inserter<'a>, index_no: usize, assigned: Assigned<'a>) -> Result<bool> {
        let key = key_of(state.entry, &state.values, index_no)?;
        let Inserter { insert, entry, values, row_no, changes, .. } = state;
        self.change_met((insert, entry), assigned, (index_no, &key), |column| Cow::Borrowed(&values[column]), *row_no, changes)
    }

    /// Changes the row of a whole key of a unique index, which a new row, the `row_no`th of the statement, has as well; `false` when there is none any more.
    pub(crate) fn change_met<'v>(
        &mut self,
        (insert, entry): (&'a Insert, &'a TableEntry),
        assigned: Assigned<'a>,
        (index_no, key): (usize, &[u8]),
        new_row: impl Fn(usize) -> Cow<'v, Value>,
        row_no: u64,
        changes: &mut Changes,
    ) -> Result<bool> {
        self.count_calls(HandlerCall::ReadKey, 1);
        for column in insert.met.iter().flat_map(|met| &met.new_reads) {
            self.set(insert.new_slots + *column, new_row(*column as usize).into_owned());
        }
        match self.change_in_place(entry, assigned, (index_no as u32, key), None, row_no)? {
            Change::NotFound => return Ok(false),
            Change::Same => changes.unchanged += 1,
            Change::Changed => {
                changes.affected += 2;
                changes.duplicates += 1;
                let number = entry.def.auto_increment_column();
                changes.row_id = number.and_then(|at| id_of(self.get(insert.existing_slots + at as Slot)));
            }
        }
        Ok(true)
    }

    /// The same by all of its values.
    fn update_duplicate_row(&mut self, state: &mut Inserter<'a>, index_no: usize) -> Result<bool> {
        let entry = state.entry;
        let Some(found) = self.conflicting_row(entry, &state.values, index_no)? else { return Ok(false) };
        let old = found.row(&entry.storage, 0)?;
        let mut values = Vec::with_capacity(entry.def.columns.len());
        old.values(&mut values)?;
        let (new_first, old_first) = (state.insert.new_slots, state.insert.existing_slots);
        for (i, v) in state.values.iter().enumerate() {
            self.frame[new_first as usize + i] = v.clone();
        }
        for (i, v) in values.iter().enumerate() {
            self.frame[old_first as usize + i] = v.clone();
        }
        let before = values.clone();
        for (column, e) in &state.insert.on_duplicate {
            let v = self.eval(e)?;
            let own = old_first + *column;
            let v = self
                .store_assigned(v, e, own, &entry.def.columns[*column as usize], state.row_no)
                .map_err(|e| with_table(e, &entry.def.name))?;
            self.frame[own as usize] = v.clone();
            values[*column as usize] = v;
        }
        let is_same = |(old, new): (&Value, &Value)| same_value(old, new) || crate::document::are_equal(old, new, &*self.context);
        if before.iter().zip(&values).all(is_same) {
            state.changes.unchanged += 1;
            return Ok(true);
        }
        let assigned: Vec<u32> = state.insert.on_duplicate.iter().map(|(c, _)| *c).collect();
        for (i, c) in entry.def.columns.iter().enumerate() {
            if c.on_update_now && !assigned.contains(&(i as u32)) {
                values[i] = self.current_timestamp(c);
            }
        }
        if let Some(rules) = &state.insert.rules {
            self.generated_columns(rules, &entry.def, &mut values, state.row_no)?;
            match self.ask_checks(rules, &values) {
                Err(Error::Sql(error)) if state.insert.ignore && crate::change::rules::is_ignorable(&error) => {
                    self.warn(error.code, error.message);
                    return Ok(true);
                }
                asked => asked?,
            }
        }
        let mut bytes = Vec::new();
        entry.storage.layout().encode(&values, &mut bytes).map_err(|e| internal(&format!("{e:?}")))?;
        let written = if self.keys_of(state.insert.table).is_some() {
            let mark = self.engine()?.savepoint();
            let updated = self.update_with_keys(state.insert.table, found.key(0), |_, row| {
                row.clone_from(&values);
                Ok(true)
            });
            if state.insert.ignore && matches!(updated, Err(Error::Engine(engine::Error::DuplicateKey { .. }))) {
                self.engine()?.take_back(mark)?;
            }
            match self.unless_ignored(state.insert.ignore, mark, updated) {
                Ok(None) => return Ok(true),
                updated => updated.map(|_| ()),
            }
        } else {
            self.engine()?.update(&entry.storage, found.key(0), &mut bytes).map_err(Error::from)
        };
        match written {
            Ok(()) => {
                state.changes.affected += 2;
                state.changes.duplicates += 1;
                state.changes.row_id = state.auto_column.and_then(|at| id_of(&values[at]));
                Ok(true)
            }
            Err(Error::Engine(engine::Error::DuplicateKey { index_no })) => {
                let error = duplicate_entry(&entry.def, index_no, &values, &*self.context);
                if state.insert.ignore {
                    self.warn(error.code, error.message);
                    return Ok(true);
                }
                Err(Error::Sql(error))
            }
            Err(e) => Err(e),
        }
    }
}
