//! New indexes of ALTER TABLE and CREATE INDEX, built while others use the table: they wait for two short moments only, one before and one after the work.
//!
//! The engine's part and why it is right: `docs/design/online-index.md`.

use super::{DdlGuard, LockedTable};
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use catalog::{Change, OnlineAlter, Renamed, TableDef};
use engine::{BuildLimits, BuildProgress};
use lock_manager::LockError;
use lock_manager::metadata::{ExclusiveGuard, ExclusiveWait, Lowered, LoweredGuard};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Memory for sorting keys, of all indexes of a statement together.
const SORT_BYTES_MAX: usize = 64 << 20;
/// How long it waits for those who use the table before it looks again at what they have changed.
const PATIENCE: Duration = Duration::from_secs(1);
/// Changed keys past which it does not leave them to the last round.
const KEYS_LEFT_MAX: u64 = 1000;

/// Who else may use the tables of a statement while it works on rows.
pub(super) struct Beside<'l> {
    /// All that it has taken.
    pub(super) tables: &'l [LockedTable],
    /// LOCK as written.
    pub(super) lock: Option<&'l str>,
    /// Whether what the statement has looked at stays true while others write.
    pub(super) allowed: bool,
}

impl Beside<'_> {
    /// What the locks go down to for as long as indexes are built, and the locks; `None` when they stay.
    fn lowered(&self, new: &TableDef) -> Option<(Lowered, Vec<&ExclusiveGuard>)> {
        let builds = new.indexes.iter().any(|index| index.id.is_none());
        let to = match self.lock {
            Some("EXCLUSIVE") => return None,
            Some("SHARED") => Lowered::BesideReaders,
            _ => Lowered::BesideWriters,
        };
        let guards = self.tables.iter().map(|table| match &table.guard {
            DdlGuard::Taken { guard } => Some(guard),
            // LOCK TABLES: its rows are the session's anyway.
            DdlGuard::Locked { .. } => None,
        });
        let guards = guards.collect::<Option<Vec<_>>>()?;
        (builds && self.allowed).then_some((to, guards))
    }
}

/// Carries out a change of definition that leaves the rows as they are; indexes are built beside others where `beside` allows it.
pub(super) fn alter_in_place(
    session: &mut ClientSession,
    table: &LockedTable,
    new: TableDef,
    renamed: &[Renamed],
    beside: &Beside<'_>,
) -> Result<(), Outcome> {
    let catalog = session.shared().catalog.clone();
    let Some((to, guards)) = beside.lowered(&new) else {
        let changed = catalog.alter_table_renaming(&mut session.engine, &table.entry, new, Change::InPlace, renamed);
        return changed.map_err(|error| session.catalog_error(error));
    };
    let limits = BuildLimits {
        changed_bytes_max: session.shared().number("innodb_online_alter_log_max_size"),
        sort_bytes_max: SORT_BYTES_MAX,
        directory: session.shared().spill_directory().cloned(),
    };
    let progress = Arc::new(BuildProgress::default());
    let shared = Arc::clone(session.shared());
    let _shown = shared.stages.begin(session.core.connection.id(), &progress);
    let begun = catalog.begin_online(&table.entry, new, limits, progress);
    let mut alter = begun.map_err(|error| session.catalog_error(error))?;
    let lowered: Vec<LoweredGuard<'_>> = guards.into_iter().map(|guard| guard.lower(to, session.engine.asker())).collect();
    let built = build_and_raise(session, &mut alter, &lowered);
    drop(lowered);
    match built {
        Ok(()) => {
            let finished = catalog.finish_online(&mut session.engine, &table.entry, alter, renamed);
            finished.map_err(|error| session.catalog_error(error))
        }
        Err(outcome) => {
            catalog.give_up(alter).map_err(|error| session.catalog_error(error))?;
            Err(outcome)
        }
    }
}

/// Builds, then takes the tables alone again, as ALTER TABLE waits for them at its begin.
fn build_and_raise(session: &ClientSession, alter: &mut OnlineAlter, lowered: &[LoweredGuard<'_>]) -> Result<(), Outcome> {
    let cancel = session.engine.cancel();
    alter.build(cancel).map_err(|error| session.catalog_error(error))?;
    let deadline = session.metadata_deadline();
    for guard in lowered {
        loop {
            let until = (Instant::now() + PATIENCE).min(deadline);
            match guard.raise(ExclusiveWait::until(Some(until)), session.engine.asker()) {
                Ok(()) => break,
                Err(LockError::Timeout) if until < deadline => {
                    // Others write meanwhile.
                    if alter.waiting() > KEYS_LEFT_MAX {
                        alter.catch_up(cancel).map_err(|error| session.catalog_error(error))?;
                    }
                }
                Err(error) => return Err(session.metadata_error(error)),
            }
        }
    }
    Ok(())
}
