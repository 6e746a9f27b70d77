//! Foreign keys: what a change of a row asks of other rows, and does to them.
//!
//! # Invariants
//! 1. Who writes a reference has locked the row that it refers to (shared) before, and keeps that lock to the end of the transaction. Who deletes a row, or
//!    changes what is referred to, has it locked exclusively before it looks for references, and looks at the newest rows, whoever wrote them. So of a
//!    session that writes a reference and one that takes its row away one waits for the other and then sees what it did, at every isolation level.
//!    Where the reference is to a unique key other than the primary one it is that key which the one locks and the other takes, and the rest of the row may change
//!    meanwhile (`engine/src/write/unique.rs`); both know by [`lookup::is_kept_by_key`].
//! 2. What the actions of one row have done is taken back with the row's own change (`IGNORE`), or with the statement.
//! 3. The rows whose changes have led to a change form a chain of at most [`DEPTH_MAX`]; none is in it twice.
//! 4. The plan has all tables that can be reached ([`planner::foreign_keys`]); statements on other tables never come here.
//!
//! # Start at
//! [`Exec::check_parents`], then `actions.rs`.

mod actions;
mod lookup;
mod parent;

use crate::errors::Error;
use crate::exec::Exec;
use crate::run::Result;
use planner::foreign_keys::{ForeignKeys, TableKeys};
use std::borrow::Cow;
use types::Value;

pub(crate) use actions::Removal;
pub use lookup::reference_key;
pub(crate) use parent::Child;

/// Rows in a chain of changes.
const DEPTH_MAX: usize = 15;

const ROW_IS_REFERENCED: u16 = 1451;
const NO_REFERENCED_ROW: u16 = 1452;

/// A row whose change has led to others.
struct Link {
    table: u32,
    key: Vec<u8>,
    is_update: bool,
}

impl<'a> Exec<'a> {
    /// The foreign keys that count in this statement.
    pub(crate) fn foreign_keys(&self) -> Option<&'a ForeignKeys> {
        let plan = self.plan;
        plan.foreign_keys.as_deref().filter(|_| self.context.foreign_key_checks())
    }

    /// The keys of a table that the statement changes; `None` where they have no say.
    pub(crate) fn keys_of(&self, table: u32) -> Option<&'a TableKeys> {
        self.foreign_keys().and_then(|keys| keys.of(table))
    }

    /// Locks the rows that a new row refers to, or says which is not there (1452).
    pub(crate) fn check_parents(&mut self, table: u32, values: &[Value]) -> Result<()> {
        let (Some(keys), child) = (self.keys_of(table), Child { plan: self.plan, table }) else { return Ok(()) };
        let Some(session) = self.session.as_deref_mut() else { return Err(crate::errors::internal("engine in use")) };
        child.lock_parents(keys, |column| Cow::Borrowed(&values[column]), session, self.context)
    }

    /// The outcome of a row's change that the statement may leave out: takes back what it did and warns, where IGNORE says so. `None` then.
    pub(crate) fn unless_ignored<T>(&mut self, ignore: bool, mark: engine::Savepoint, result: Result<T>) -> Result<Option<T>> {
        match result {
            Err(Error::Sql(error)) if ignore && matches!(error.code, ROW_IS_REFERENCED | NO_REFERENCED_ROW) => {
                self.engine()?.take_back(mark)?;
                self.warn(error.code, error.message);
                Ok(None)
            }
            result => result.map(Some),
        }
    }

    /// The engine's session.
    pub(crate) fn engine(&mut self) -> Result<&mut engine::Session> {
        self.session.as_deref_mut().ok_or_else(|| crate::errors::internal("engine in use"))
    }
}
