//! Temporary tables: trees and definitions that one session knows and no dictionary names.
//!
//! # Invariants
//! 1. A temporary table is never in the dictionary: to recovery, to a rollback after a restart and to purge after its end it is a table that was dropped, and
//!    its trees are orphans that the next start frees ([`Catalog::free_orphans`]).
//! 2. Its id is one that is never given out again, like all others: what an old log tells of it never meets another table.
//! 3. Nobody shares its metadata lock but purge, which asks for it again after each row; [`Catalog::free_temporary`] waits for that.
//!
//! Why this way: `docs/design/temporary-tables.md`.

use crate::catalog::{Catalog, TableEntry};
use crate::ddl::duplicate;
use crate::def::TableDef;
use crate::error::Result;
use crate::online::CopiedRows;
use crate::open::table_spec;
use engine::format::Feature;
use engine::{BuildError, BuildLimits, Session};
use std::sync::Arc;

impl Catalog {
    /// A new, empty temporary table. Ids and root pages of `def` are filled in.
    pub fn temporary_table(&self, mut def: TableDef) -> Result<Arc<TableEntry>> {
        // The definition is written nowhere; rows are.
        if def.columns.iter().any(|column| column.ty.kind == types::TypeKind::Json) {
            self.engine().allows(Feature::JsonColumns)?;
        }
        def.id = self.engine().allocate_table_id();
        self.make_trees(&mut def, |_| true)?;
        match table_spec(&def).and_then(|spec| Ok(self.engine().open_table(spec)?)) {
            Ok(storage) => {
                storage.forget_counter();
                Ok(Arc::new(TableEntry { def, storage, children: Vec::new(), temporary: true }))
            }
            Err(error) => {
                self.free_trees(&def, |_| true)?;
                Err(error)
            }
        }
    }

    /// A temporary table with another definition and the rows of `entry`, each converted: what ALTER TABLE makes of it. `session` runs no transaction, and none
    /// that wrote to the table is open. `entry` stands as it is.
    pub fn copy_temporary(
        &self,
        session: &Session,
        entry: &TableEntry,
        new: TableDef,
        rows: CopiedRows<'_>,
        limits: BuildLimits,
    ) -> Result<Arc<TableEntry>> {
        let made = self.temporary_table(new)?;
        match self.fill_temporary(session, entry, &made, rows, limits) {
            Ok(()) => Ok(made),
            Err(error) => {
                self.free_temporary(&made)?;
                Err(error)
            }
        }
    }

    fn fill_temporary(
        &self,
        session: &Session,
        entry: &TableEntry,
        made: &TableEntry,
        rows: CopiedRows<'_>,
        limits: BuildLimits,
    ) -> Result<()> {
        let mut build = self.engine().begin_online_copy(&entry.storage, rows.into_row_copy(&made.storage), limits, Arc::default())?;
        let filled = build.build(session.cancel()).and_then(|()| build.finish(session.cancel()));
        filled.map(drop).map_err(|error| match error {
            BuildError::Duplicate { index_no, row } => duplicate(&made.def, index_no, &row),
            error => error.into(),
        })
    }

    /// Forgets a temporary table and leaves its pages to the next start: a rollback that has failed before may be at work in them.
    pub fn leave_temporary(&self, entry: &TableEntry) -> Result<()> {
        Ok(self.engine().retire_table(&entry.storage)?)
    }

    /// Gives all that a temporary table has back. What a transaction has written to it needs neither to be taken back nor purged any more.
    pub fn free_temporary(&self, entry: &TableEntry) -> Result<()> {
        self.engine().retire_table(&entry.storage)?;
        self.free_trees(&entry.def, |_| true)
    }
}
