//! ALTER TABLE that builds indexes while others use the table: begun and ended while the caller has the table alone, with the long part in between.
//!
//! # Invariants
//! 1. The definition changes at the end only, by [`Catalog::alter_table_renaming`] with [`Change::Built`]; until then the new trees are in no definition.
//! 2. A change that was begun is ended by that, or by [`Catalog::give_up`]; what neither did is an orphan of the next start.

use crate::catalog::{Catalog, TableEntry};
use crate::ddl::{Change, RECOVERED_WAIT, duplicate};
use crate::def::TableDef;
use crate::error::{CatalogError, Result};
use crate::open::table_spec;
use crate::references::Renamed;
use engine::{BuildError, BuildLimits, BuildProgress, Cancel, IndexSpec, OnlineBuild, Session, TableSpec};
use std::collections::HashSet;
use std::sync::Arc;

/// A round that looks at so few keys is the last one before the table is taken alone.
const FEW_KEYS: u64 = 1000;
/// Rounds after each other that find no fewer keys: more would not either.
const ROUNDS_IN_VAIN: u32 = 4;

/// An ALTER TABLE whose indexes are under construction.
#[derive(Debug)]
pub struct OnlineAlter {
    /// The definition, with the new trees.
    pub(crate) new: TableDef,
    /// Positions of the new indexes.
    pub(crate) is_new: HashSet<usize>,
    /// The same, ascending.
    numbers: Vec<usize>,
    build: OnlineBuild,
}

impl OnlineAlter {
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

    /// The definition that is to be.
    pub fn definition(&self) -> &TableDef {
        &self.new
    }

    /// The engine's part.
    pub fn engine_build(&self) -> &OnlineBuild {
        &self.build
    }

    fn failure(&self, error: BuildError) -> CatalogError {
        match error {
            BuildError::Duplicate { index_no, row } => duplicate(&self.new, self.numbers[index_no], &row),
            BuildError::TooManyChanges => CatalogError::TooManyChanges { index: self.new.indexes[self.numbers[0]].name.clone() },
            BuildError::Engine(error) => error.into(),
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
    ) -> Result<OnlineAlter> {
        self.admit(&new)?;
        self.engine().wait_for_recovered(RECOVERED_WAIT)?;
        let numbers: Vec<usize> = (0..new.indexes.len()).filter(|no| new.indexes[*no].id.is_none()).collect();
        let is_new: HashSet<usize> = numbers.iter().copied().collect();
        self.make_trees(&mut new, |no| is_new.contains(&no))?;
        let begun = table_spec(&new).and_then(|spec| {
            let wanted: Vec<IndexSpec> = numbers.iter().map(|no| spec.indexes[*no].clone()).collect();
            // The rows are read by the new layouts: an index may name a column that is added in the same statement.
            let reader = self.engine().table_view(TableSpec { indexes: vec![spec.indexes[0].clone()], ..spec })?;
            Ok(self.engine().begin_online_build(&entry.storage, reader, wanted, limits, progress)?)
        });
        match begun {
            Ok(build) => Ok(OnlineAlter { new, is_new, numbers, build }),
            Err(error) => {
                self.free_trees(&new, |no| is_new.contains(&no))?;
                Err(error)
            }
        }
    }

    /// Ends a change: the rest of the rows, then the definition. The caller has the table alone. What fails is given up.
    pub fn finish_online(&self, session: &mut Session, entry: &TableEntry, mut alter: OnlineAlter, renamed: &[Renamed]) -> Result<()> {
        let new = alter.new.clone();
        self.alter_table_renaming(session, entry, new, Change::Built(&mut alter), renamed)
    }

    /// Takes a change back that was begun.
    pub fn give_up(&self, alter: OnlineAlter) -> Result<()> {
        let OnlineAlter { new, is_new, build, .. } = alter;
        drop(build);
        self.free_trees(&new, |no| is_new.contains(&no))
    }
}
