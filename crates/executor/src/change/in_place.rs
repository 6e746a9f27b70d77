//! Rows that a statement changes where they lie: what they become is computed under the row's latch, from the columns that its expressions read, and everything
//! else is copied as it is stored. When that may be done the planner says (`planner::plan::Update::in_place`, `planner::plan::Met`); `short.rs` does it to the row of a key,
//! `met.rs` to the row that is in a new one's place.

use crate::change::duplicate::duplicate_entry;
use crate::document::{are_equal, with_table};
use crate::errors::internal;
use crate::exec::Exec;
use crate::execute::Changes;
use crate::run::{Flow, Result};
use crate::short::tested::unwanted;
use catalog::TableEntry;
use engine::{Modified, Modify};
use planner::expr::{Expr, Slot};
use planner::plan::{InPlace, Insert, Update};
use planner::short::Tested;
use record::RowRef;
use smallvec::SmallVec;
use types::Value;

/// How a row is changed.
#[derive(Clone, Copy)]
pub(crate) struct Assigned<'a> {
    /// Of the row's columns.
    first_slot: Slot,
    /// (column, new value).
    set: &'a [(u32, Expr)],
    needs: &'a InPlace,
}

impl<'a> Assigned<'a> {
    /// By an UPDATE of one table.
    pub(crate) fn by_update(update: &'a Update) -> Option<Assigned<'a>> {
        let (Some(needs), [target]) = (&update.in_place, &update.targets[..]) else { return None };
        Some(Assigned { first_slot: target.first_slot, set: &target.set, needs })
    }

    /// By ON DUPLICATE KEY UPDATE.
    pub(crate) fn by_insert(insert: &'a Insert) -> Option<Assigned<'a>> {
        let met = insert.met.as_ref()?;
        Some(Assigned { first_slot: insert.existing_slots, set: &insert.on_duplicate, needs: &met.in_place })
    }
}

/// What became of the row of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// There is none.
    NotFound,
    /// It is what the statement makes of it.
    Same,
    Changed,
}

impl Changes {
    /// Counts a row.
    pub(crate) fn count(&mut self, change: Change) {
        self.matched += u64::from(change != Change::NotFound);
        self.affected += u64::from(change == Change::Changed);
    }
}

impl<'a> Exec<'a> {
    /// Changes the rows that are read, which are locked by then; at most `rows_max`.
    pub(crate) fn update_in_place(&mut self, update: &'a Update, assigned: Assigned<'a>, rows_max: u64) -> Result<Changes> {
        let mut changes = Changes::default();
        let mut left = rows_max;
        let [target] = update.targets.as_slice() else { return Err(internal("several tables changed in place")) };
        let entry = &self.plan.tables[target.table as usize];
        self.run(&update.input, &mut |x| {
            let Value::Bytes(key) = std::mem::take(&mut x.frame[target.key_slot as usize]) else { return Ok(Flow::Continue) };
            changes.count(x.change_in_place(entry, assigned, (0, &key), None, changes.matched + 1)?);
            left -= 1;
            Ok(if left == 0 { Flow::Stop } else { Flow::Continue })
        })?;
        Ok(changes)
    }

    /// Changes the row of a whole key of a unique index, the `row_no`th of the statement, if it passes what is `tested`.
    pub(crate) fn change_in_place(
        &mut self,
        entry: &'a TableEntry,
        assigned: Assigned<'a>,
        (index, key): (u32, &[u8]),
        tested: Option<&Tested>,
        row_no: u64,
    ) -> Result<Change> {
        let Some(session) = self.session.take() else { return Err(internal("engine in use")) };
        let (mut failed, mut is_wanted, unwanted) = (None, true, unwanted(tested, session));
        let (told, mut is_again) = (self.context.warning_total(), false);
        // What a duplicate key's message shows.
        let keeps_row = entry.def.indexes.iter().skip(1).any(|index| index.unique);
        let mut kept = Vec::new();
        let decide = |row: RowRef<'_>, out: &mut Vec<u8>| {
            failed = None;
            is_wanted = true;
            if std::mem::replace(&mut is_again, true) {
                // The page had no room, or somebody got the row's lock before: what there is to be told is told again.
                self.context.take_warnings(told);
            }
            let changed = match self.is_wanted(tested, row) {
                Ok(true) => self.changed_row(entry, assigned, row, row_no, out),
                Ok(false) => {
                    is_wanted = false;
                    return unwanted;
                }
                Err(error) => Err(error),
            };
            match changed {
                Ok(false) => Modify::Keep,
                Ok(true) => {
                    if keeps_row {
                        kept.clone_from(out);
                    }
                    Modify::Replace
                }
                Err(e) => {
                    failed = Some(e);
                    Modify::Keep
                }
            }
        };
        let result = match index {
            0 => session.modify_columns(&entry.storage, key, assigned.needs.changes, decide),
            index => session.modify_unique(&entry.storage, index as usize, key, assigned.needs.changes, decide),
        };
        self.session = Some(session);
        if let Some(e) = failed {
            return Err(e);
        }
        match result {
            Ok(_) if !is_wanted => Ok(Change::NotFound),
            Ok(Modified::NotFound) => Ok(Change::NotFound),
            Ok(Modified::Replaced) => Ok(Change::Changed),
            Ok(_) => Ok(Change::Same),
            Err(engine::Error::DuplicateKey { index_no }) => {
                let mut values = Vec::new();
                RowRef::new(entry.storage.layout(), &kept).values(&mut values)?;
                Err(duplicate_entry(&entry.def, index_no, &values, &*self.context).into())
            }
            Err(e) => Err(e.into()),
        }
    }

    /// Writes the new row to `out`; false when nothing changes.
    fn changed_row(&mut self, entry: &TableEntry, assigned: Assigned<'a>, row: RowRef<'_>, row_no: u64, out: &mut Vec<u8>) -> Result<bool> {
        let (first, columns) = (assigned.first_slot as usize, &entry.def.columns);
        for column in &assigned.needs.reads {
            self.frame[first + *column as usize] = row.value(*column as usize)?;
        }
        for (column, e) in assigned.set {
            let v = self.eval(e)?;
            let own = assigned.first_slot + *column;
            let v = self.store_assigned(v, e, own, &columns[*column as usize], row_no).map_err(|e| with_table(e, &entry.def.name))?;
            self.frame[first + *column as usize] = v;
        }
        let layout = entry.storage.layout();
        let encode = |x: &Exec<'_>, changed: &[usize], out: &mut Vec<u8>| {
            let changes: SmallVec<[(usize, &Value); 8]> = changed.iter().map(|column| (*column, &x.frame[first + *column])).collect();
            out.clear();
            layout.encode_changed(row, &changes, out).map_err(|e| internal(&format!("{e:?}")))
        };
        let mut changed: SmallVec<[usize; 8]> = assigned.set.iter().map(|(column, _)| *column as usize).collect();
        encode(self, &changed, out)?;
        let new = RowRef::new(layout, out);
        let mut differs = false;
        for column in &changed {
            if !differs && !row.same_bytes(new, *column)? {
                let set = &self.frame[first + *column];
                differs = !matches!(set, Value::Json(_)) || !are_equal(set, &row.value(*column)?, &*self.context);
            }
        }
        if differs {
            let set = changed.len();
            for (at, column) in columns.iter().enumerate().filter(|(_, column)| column.on_update_now) {
                if !changed[..set].contains(&at) {
                    self.frame[first + at] = self.current_timestamp(column);
                    changed.push(at);
                }
            }
            if changed.len() > set {
                encode(self, &changed, out)?;
            }
        }
        Ok(differs)
    }
}
