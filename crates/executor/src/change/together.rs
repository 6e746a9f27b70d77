//! Rows of an INSERT that go into their table together: gathered while they are computed, then inserted in the order of their keys (`engine::Staged`).
//!
//! # Invariants
//! 1. What can be seen is as if each row had gone in before the next one was computed. Where the engine cannot insert them together (a key that is there, a lock), none is in, and
//!    they go in one by one, in their order: the first that fails decides, what was told of rows behind it is taken back, and what IGNORE tells of a row stands before what is told of the next.
//! 2. So only rows are gathered whose computing does nothing that outlasts a failure: nobody's variables are set by it, and the AUTO_INCREMENT counter is read when nothing waits
//!    ([`AutoIncrement::reads_counter`]).

use crate::change::auto_increment::AutoIncrement;
use crate::change::duplicate::duplicate_entry;
use crate::change::insert::id_of;
use crate::context::StatementContext;
use crate::execute::Changes;
use crate::run::Result;
use catalog::TableEntry;
use engine::{Deferred, Staged};
use mysql_error::{Warning, WarningLevel};
use record::RowRef;
use std::sync::Arc;
use types::Value;

/// Fewer rows go in one by one.
pub(crate) const ROWS_MIN: u64 = 8;
/// Rows of a first batch; each that goes in lets the next one be twice as long.
const ROWS_FIRST: usize = 16_384;
/// After rows that had to go in one by one: what stood in the way may come again soon.
const ROWS_AFTER_FAILURE: usize = 64;

/// The rows that wait.
pub(crate) struct Together<'e> {
    entry: &'e Arc<TableEntry>,
    staged: Staged,
    /// Of each row how many conditions were told when it had been computed; only as long as there are any.
    told: Vec<u32>,
    /// How many were told before the first.
    told_before: u32,
    rows_max: usize,
    /// Secondary entries of the batches so far, where more than one may come.
    deferred: Option<Deferred>,
    ignore: bool,
    auto_column: Option<usize>,
    /// The last row's AUTO_INCREMENT value.
    row_id: Option<u64>,
    /// One row on its way in by itself.
    row: Vec<u8>,
}

impl<'e> Together<'e> {
    /// For a statement whose rows may be gathered; `None` where the settings or the directory's format do not let them.
    pub fn new(
        entry: &'e Arc<TableEntry>,
        ignore: bool,
        session: &engine::Session,
        context: &dyn StatementContext,
    ) -> Option<Together<'e>> {
        let auto_column = entry.def.auto_increment_column();
        let counts = auto_column.is_none() || matches!(context.auto_increment().lock_mode, 1 | 2);
        (counts && session.may_stage()).then(|| Together {
            entry,
            staged: Staged::default(),
            told: Vec::new(),
            told_before: 0,
            rows_max: ROWS_FIRST,
            deferred: None,
            ignore,
            auto_column,
            row_id: None,
            row: Vec::new(),
        })
    }

    /// Whether rows wait.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        !self.staged.is_empty()
    }

    /// Whether those that wait must be in before the next row gets its AUTO_INCREMENT value.
    #[inline]
    pub fn must_be_in(&self, counter: &AutoIncrement, value: &Value, context: &dyn StatementContext) -> bool {
        self.is_waiting() && counter.reads_counter(value, context)
    }

    /// Adds a row; `false` when it must go in by itself, those that wait first. `told` is the count of conditions before the row was computed.
    pub fn add(
        &mut self,
        row: &[u8],
        row_id: impl FnOnce() -> Option<u64>,
        told: u32,
        session: &mut engine::Session,
        context: &dyn StatementContext,
    ) -> Result<bool> {
        let first = self.staged.is_empty();
        if !session.stage(&self.entry.storage, &mut self.staged, row)? {
            return Ok(false);
        }
        if first {
            self.told_before = told;
            self.told.clear();
        }
        let total = context.warning_total();
        if total != self.told_before {
            // All before it had told nothing.
            self.told.resize(self.staged.len() - 1, told);
            self.told.push(total);
        }
        self.row_id = row_id();
        Ok(true)
    }

    /// Whether enough rows wait.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.staged.len() >= self.rows_max || self.staged.is_full()
    }

    /// Inserts the rows that wait.
    pub fn put_in(&mut self, session: &mut engine::Session, context: &mut dyn StatementContext, changes: &mut Changes) -> Result<()> {
        if self.staged.is_empty() {
            return Ok(());
        }
        let may_defer = || self.entry.def.indexes.iter().skip(1).any(|index| !index.unique);
        if self.deferred.is_none() && self.staged.len() >= ROWS_FIRST && may_defer() {
            self.deferred = context.spill_directory().map(|directory| Deferred::new(&self.entry.storage, directory));
        }
        let done = if session.insert_staged_or_defer(&self.entry.storage, &mut self.staged, self.deferred.as_mut())? {
            changes.affected += self.staged.len() as u64;
            changes.row_id = self.row_id;
            self.rows_max = self.rows_max.saturating_mul(2);
            Ok(())
        } else {
            self.rows_max = ROWS_AFTER_FAILURE;
            self.put_in_one_by_one(session, context, changes)
        };
        self.staged.clear();
        self.told.clear();
        done
    }

    /// The statement's rows are at an end: all of them go in, and what was put off.
    pub fn finish(&mut self, session: &mut engine::Session, context: &mut dyn StatementContext, changes: &mut Changes) -> Result<()> {
        self.put_in(session, context, changes)?;
        match self.deferred.take() {
            Some(deferred) => Ok(session.insert_deferred(&self.entry.storage, deferred)?),
            None => Ok(()),
        }
    }

    /// [`Together::put_in`] while a row is being computed: what that has told since `told` comes after what there is to tell of those that wait.
    pub fn put_in_ahead(
        &mut self,
        told: u32,
        session: &mut engine::Session,
        context: &mut dyn StatementContext,
        changes: &mut Changes,
    ) -> Result<()> {
        if context.warning_total() == told {
            return self.put_in(session, context, changes);
        }
        let (own, unkept) = context.take_warnings(told);
        self.put_in(session, context, changes)?;
        own.into_iter().for_each(|condition| context.warn(condition));
        context.count_warnings(unkept);
        Ok(())
    }

    #[cold]
    fn put_in_one_by_one(
        &mut self,
        session: &mut engine::Session,
        context: &mut dyn StatementContext,
        changes: &mut Changes,
    ) -> Result<()> {
        let (list, _) = if self.told.is_empty() { (Vec::new(), 0) } else { context.take_warnings(self.told_before) };
        let (mut list, mut told) = (list.into_iter(), self.told_before);
        let storage = &self.entry.storage;
        for no in 0..self.staged.len() {
            if no % 256 == 255 && context.is_cancelled() {
                return Err(context.cancel_error().into());
            }
            // What was told of the row comes first. Behind the end of a full list nothing has a place any more.
            let total = self.told.get(no).copied().unwrap_or(told);
            for _ in told..total {
                match list.next() {
                    Some(condition) => context.warn(condition),
                    None => context.count_warnings(1),
                }
            }
            told = total;
            self.row.clear();
            self.row.extend_from_slice(self.staged.row(no));
            match session.insert(storage, &mut self.row) {
                Ok(()) => {
                    changes.affected += 1;
                    if let Some(at) = self.auto_column {
                        changes.row_id = values_of(self.entry, self.staged.row(no))?.get(at).and_then(id_of);
                    }
                }
                Err(engine::Error::DuplicateKey { index_no }) => {
                    let values = values_of(self.entry, self.staged.row(no))?;
                    let error = duplicate_entry(&self.entry.def, index_no, &values, context);
                    if !self.ignore {
                        return Err(error.into());
                    }
                    context.warn(Warning { level: WarningLevel::Warning, code: error.code, message: error.message });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn values_of(entry: &TableEntry, row: &[u8]) -> Result<Vec<Value>> {
    let mut values = Vec::with_capacity(entry.def.columns.len());
    RowRef::new(entry.storage.layout(), row).values(&mut values)?;
    Ok(values)
}
