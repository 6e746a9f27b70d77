//! Tables that a session makes anew while it has the old ones alone for more than the statement (LOCK TABLES): the new ones are its own as well, before anybody else can find
//! them, so that nobody comes between.

use crate::session::Session;
use crate::table::Table;
use base::TableId;
use lock_manager::LockError;
use lock_manager::metadata::{ExclusiveGuard, ExclusiveWait};
use std::time::Instant;

/// A table that took the place of another.
pub struct Remade {
    /// The one that is no more.
    pub old: TableId,
    /// The rows of the new one, taken alone.
    pub guard: ExclusiveGuard,
}

impl Session {
    /// From now on tables that this session makes in the place of others are its own, until [`Session::take_remade`].
    pub fn keep_remade(&mut self) {
        self.remade = Some(Vec::new());
    }

    /// Those that were made since [`Session::keep_remade`].
    pub fn take_remade(&mut self) -> Vec<Remade> {
        self.remade.take().unwrap_or_default()
    }

    /// `table`, which nobody else can find yet, takes the place of `old`.
    pub fn note_remade(&mut self, old: TableId, table: &Table) -> Result<(), LockError> {
        if self.remade.is_none() {
            return Ok(());
        }
        // Nobody is in the way, so there is no wait.
        let guard = table.lock.rows(ExclusiveWait::until(Some(Instant::now())), self.asker())?;
        if let Some(remade) = &mut self.remade {
            remade.push(Remade { old, guard });
        }
        Ok(())
    }
}
