//! ALTER TABLE that builds indexes, or copies all rows into a new table, while others use the table: begun and ended while the caller has the table alone, with the long
//! part in between.
//!
//! # Invariants
//! 1. The definition changes at the end only, by [`Catalog::alter_table_renaming`] with [`Change::Built`]; until then the new trees are in no definition.
//! 2. A change that was begun is ended by that, or by [`Catalog::give_up`]; what neither did is an orphan of the next start.
//! 3. This is the one way in which rows are copied: who lets nobody use the table meanwhile has rounds in which there is nothing to do.

use crate::catalog::{Catalog, TableEntry};
use crate::ddl::{Change, RECOVERED_WAIT, duplicate};
use crate::def::TableDef;
use crate::error::{CatalogError, Result};
use crate::open::table_spec;
use crate::references::Renamed;
use engine::{BuildError, BuildLimits, BuildProgress, Cancel, OnlineBuild, RowCopy, Session, Table};
use record::RowRef;
use std::collections::HashSet;
use std::sync::Arc;

/// A round that looks at so few keys is the last one before the table is taken alone.
const FEW_KEYS: u64 = 1000;
/// Rounds after each other that find no fewer keys: more would not either.
const ROUNDS_IN_VAIN: u32 = 4;

/// Converts a row of the old definition to an encoded one of the new.
pub type Convert<'c> = dyn FnMut(RowRef<'_>, &mut Vec<u8>) -> Result<()> + 'c;

/// How rows become rows of a new definition.
pub struct CopiedRows<'c> {
    /// Converts one. Where others write meanwhile, the same row to the same bytes each time.
    pub convert: Box<Convert<'c>>,
    /// Primary keys stay what they are: same columns, same types, hidden or not.
    pub keeps_key: bool,
}

impl<'c> CopiedRows<'c> {
    pub(crate) fn into_row_copy(self, target: &Arc<Table>) -> RowCopy<'c> {
        let CopiedRows { mut convert, keeps_key } = self;
        let convert = move |row: RowRef<'_>, out: &mut Vec<u8>| {
            convert(row, out).map_err(|error| match error {
                CatalogError::Damaged(what) => what,
                other => other.to_string(),
            })
        };
        RowCopy::new(Arc::clone(target), keeps_key, Box::new(convert))
    }
}

/// An ALTER TABLE whose indexes, or whose whole table, is under construction.
#[derive(Debug)]
pub struct OnlineAlter<'c> {
    /// The definition, with the new trees.
    pub(crate) new: TableDef,
    /// Positions of the new indexes.
    pub(crate) is_new: HashSet<usize>,
    /// The same, ascending.
    numbers: Vec<usize>,
    /// The table that rows are copied to.
    pub(crate) target: Option<Arc<Table>>,
    /// The AUTO_INCREMENT counter that a copy was asked to begin with.
    counter: Option<u64>,
    build: OnlineBuild<'c>,
}

impl OnlineAlter<'_> {
    /// Builds the indexes, and carries over what is changed meanwhile until little is left.
    pub fn build(&mut self, cancel: &Cancel) -> Result<()> {
        self.build.build(cancel).map_err(|error| self.failure(error))?;
        let (mut fewest, mut in_vain) = (u64::MAX, 0);
        while in_vain < ROUNDS_IN_VAIN {
            let keys = self.catch_up(cancel)?;
            if keys <= FEW_KEYS {
                break;
            }
            in_vain = if keys < fewest { 0 } else { in_vain + 1 };
            fewest = fewest.min(keys);
        }
        Ok(())
    }

    /// Fills the trees, without the rounds.
    pub fn fill(&mut self, cancel: &Cancel) -> Result<()> {
        self.build.build(cancel).map_err(|error| self.failure(error))
    }

    /// One round.
    pub fn catch_up(&mut self, cancel: &Cancel) -> Result<u64> {
        self.build.catch_up(cancel).map_err(|error| self.failure(error))
    }

    /// Keys that were changed since the last round.
    pub fn waiting(&self) -> u64 {
        self.build.waiting()
    }

    /// The last round.
    pub(crate) fn finish(&mut self, cancel: &Cancel) -> Result<()> {
        self.build.finish(cancel).map(drop).map_err(|error| self.failure(error))
    }

    /// The AUTO_INCREMENT counter that a copy begins with, unless rows have larger values. Without, it goes on where the old one has come to.
    pub fn set_counter(&mut self, counter: u64) {
        self.counter = Some(counter);
    }

    /// The AUTO_INCREMENT counter of a copy that has all rows, for its definition, which makes it durable.
    pub(crate) fn counter_of_copy(&self, entry: &TableEntry) -> Option<u64> {
        let target = self.target.as_ref()?;
        let counter = self.counter.unwrap_or_else(|| entry.counter_of_copy()).max(target.auto_increment());
        target.set_auto_increment(counter);
        Some(counter)
    }

    /// The definition that is to be.
    pub fn definition(&self) -> &TableDef {
        &self.new
    }

    /// The engine's part.
    pub fn engine_build(&self) -> &OnlineBuild<'_> {
        &self.build
    }

    fn failure(&self, error: BuildError) -> CatalogError {
        match error {
            BuildError::Duplicate { index_no, row } => duplicate(&self.new, self.numbers[index_no], &row),
            BuildError::TooManyChanges => CatalogError::TooManyChanges { index: self.new.indexes[self.numbers[0]].name.clone() },
            error => error.into(),
        }
    }
}

impl Catalog {
    /// Begins a change in place of `entry` whose new indexes (those of `new` without an id; there is one at least) are built beside writers. The caller has the table alone, lets others
    /// use it for [`OnlineAlter::build`], and has it alone again for [`Catalog::finish_online`].
    pub fn begin_online(
        &self,
        entry: &TableEntry,
        mut new: TableDef,
        limits: BuildLimits,
        progress: Arc<BuildProgress>,
    ) -> Result<OnlineAlter<'static>> {
        self.admit(&mut new)?;
        self.engine().wait_for_recovered(RECOVERED_WAIT)?;
        let is_new: HashSet<usize> = (0..new.indexes.len()).filter(|no| new.indexes[*no].id.is_none()).collect();
        self.make_trees(&mut new, |no| is_new.contains(&no))?;
        let begun = self.wanted_indexes(&new, &is_new).and_then(|(numbers, wanted, reader)| {
            Ok((numbers, self.engine().begin_online_build(&entry.storage, reader, wanted, limits, progress)?))
        });
        match begun {
            Ok((numbers, build)) => Ok(OnlineAlter { new, is_new, numbers, target: None, counter: None, build }),
            Err(error) => {
                self.free_trees(&new, |no| is_new.contains(&no))?;
                Err(error)
            }
        }
    }

    /// Begins a change of `entry` for which all rows are copied, converted, into new trees: `new` becomes another table, with an id of its own. Otherwise like
    /// [`Catalog::begin_online`].
    pub fn begin_copy<'c>(
        &self,
        entry: &TableEntry,
        mut new: TableDef,
        rows: CopiedRows<'c>,
        limits: BuildLimits,
        progress: Arc<BuildProgress>,
    ) -> Result<OnlineAlter<'c>> {
        self.admit(&mut new)?;
        self.engine().wait_for_recovered(RECOVERED_WAIT)?;
        new.id = self.engine().allocate_table_id();
        // Rows move it on; what it is to be is known at the end only.
        new.auto_increment_start = 1;
        self.make_trees(&mut new, |_| true)?;
        let begun = table_spec(&new).and_then(|spec| {
            let target = self.engine().open_table(spec)?;
            let build = self.engine().begin_online_copy(&entry.storage, rows.into_row_copy(&target), limits, progress)?;
            Ok((target, build))
        });
        let numbers: Vec<usize> = (0..new.indexes.len()).collect();
        match begun {
            Ok((target, build)) => {
                Ok(OnlineAlter { new, is_new: numbers.iter().copied().collect(), numbers, target: Some(target), counter: None, build })
            }
            Err(error) => {
                self.engine().close_table(new.id);
                self.free_trees(&new, |_| true)?;
                Err(error)
            }
        }
    }

    /// Ends a change: the rest of the rows, then the definition. The caller has the table alone. What fails is given up.
    pub fn finish_online(&self, session: &mut Session, entry: &TableEntry, mut alter: OnlineAlter<'_>, renamed: &[Renamed]) -> Result<()> {
        let new = alter.new.clone();
        self.alter_table_renaming(session, entry, new, Change::Built(&mut alter), renamed)
    }

    /// Takes a change back that was begun.
    pub fn give_up(&self, alter: OnlineAlter<'_>) -> Result<()> {
        let OnlineAlter { new, is_new, target, build, .. } = alter;
        drop(build);
        if target.is_some() {
            self.engine().close_table(new.id);
        }
        self.free_trees(&new, |no| is_new.contains(&no))
    }
}
