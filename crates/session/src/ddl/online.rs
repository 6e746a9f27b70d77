//! The work of ALTER TABLE, CREATE INDEX and OPTIMIZE TABLE on rows: new indexes, and tables whose rows are all written anew, while others use the table. They wait for two
//! short moments only, one before and one after the work.
//!
//! The engine's part and why it is right: `docs/design/online-index.md`.

use super::alter::counter_for;
use super::convert::{RowConverter, keeps_counter};
use super::create_table::forget_history;
use super::foreign_keys::AwaitedParents;
use super::{DdlGuard, LockedTable};
use crate::client_session::ClientSession;
use crate::error_map::{Outcome, engine_error};
use crate::variables::variable;
use catalog::{Catalog, CatalogError, Change, CopiedRows, OnlineAlter, Renamed, TableDef, TableEntry};
use engine::{BuildLimits, BuildProgress, Direction, Isolation, KeyRange, Read, Session, Step};
use executor::RuleRun;
use lock_manager::LockError;
use lock_manager::metadata::{ExclusiveGuard, ExclusiveWait, Lowered, LoweredGuard};
use mysql_error::SqlError;
use record::RowRef;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    /// Whether what the statement has looked at stays true, and rows become what they become, while others write.
    pub(super) writers: bool,
    /// Why the table must be without rows at the end, if it must.
    pub(super) zero_date: Option<SqlError>,
    /// What new foreign keys refer to that was not there.
    pub(super) awaited: AwaitedParents,
}

impl Beside<'_> {
    /// What the locks go down to for as long as it works, and the locks; `None` when they stay.
    fn lowered(&self) -> Option<(Lowered, Vec<&ExclusiveGuard>)> {
        let to = match self.lock {
            Some("EXCLUSIVE") => return None,
            Some("SHARED") => Lowered::BesideReaders,
            _ if !self.writers => Lowered::BesideReaders,
            _ => Lowered::BesideWriters,
        };
        let guards = self.tables.iter().map(|table| match &table.guard {
            DdlGuard::Taken { guard } => Some(guard),
            // LOCK TABLES: its rows are the session's anyway.
            DdlGuard::Locked { .. } => None,
        });
        Some((to, guards.collect::<Option<Vec<_>>>()?))
    }
}

/// Why the work ended early; named when nobody else has a hold on the session any more.
enum Failure {
    Catalog(CatalogError),
    Engine(engine::Error),
    Lock(LockError),
    Sql(SqlError),
}

impl From<CatalogError> for Failure {
    fn from(error: CatalogError) -> Failure {
        Failure::Catalog(error)
    }
}

impl Failure {
    fn outcome(self, session: &ClientSession) -> Outcome {
        match self {
            Failure::Catalog(error) => session.catalog_error(error),
            Failure::Engine(error) => engine_error(error, || session.stop_error()),
            Failure::Lock(error) => session.metadata_error(error),
            Failure::Sql(error) => error.into(),
        }
    }
}

fn lock_wait(session: &ClientSession) -> Duration {
    Duration::from_secs(session.core.settings.lock_wait_timeout_s)
}

/// Whether there is a row in a table that the caller has alone.
pub(super) fn has_rows(session: &mut Session, entry: &TableEntry) -> engine::Result<bool> {
    let mut found = false;
    session.begin(Isolation::ReadCommitted, true);
    let scanned = session.scan(&entry.storage, 0, KeyRange::all(), Direction::Forward, Read::Snapshot).and_then(|mut scan| {
        scan.for_each(|_, _| {
            found = true;
            Step::Stop
        })
    });
    let ended = session.commit();
    scanned?;
    ended?;
    Ok(found)
}

/// What the work on rows may take.
pub(super) fn limits(session: &ClientSession) -> BuildLimits {
    let shared = session.shared();
    BuildLimits {
        changed_bytes_max: shared.number(variable!("innodb_online_alter_log_max_size")),
        // Of all indexes of a statement together.
        sort_bytes_max: session.core.number(variable!("innodb_ddl_buffer_size")) as usize,
        directory: shared.spill_directory().cloned(),
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
    let is_strict = session.core.settings.sql_mode.is_strict();
    let change = || in_place(session, table, new, renamed, beside);
    // Of what nobody has asked about yet.
    executor::take_failure();
    let changed = if is_strict { executor::strictly(change) } else { change() };
    // What a generated column cannot hold is told by its name, not as a row that cannot be read.
    changed.map_err(|outcome| executor::take_failure().map_or(outcome, Outcome::from))
}

fn in_place(
    session: &mut ClientSession,
    table: &LockedTable,
    new: TableDef,
    renamed: &[Renamed],
    beside: &Beside<'_>,
) -> Result<(), Outcome> {
    let shared = Arc::clone(session.shared());
    if new.indexes.iter().all(|index| !index.id.is_none()) {
        let changed = shared.catalog.alter_table_renaming(&mut session.engine, &table.entry, new, Change::InPlace, renamed);
        return changed.map_err(|error| session.catalog_error(error));
    }
    let work = Work { catalog: &shared.catalog, table, renamed, counter: Counter::GoesOn, lock_wait: lock_wait(session), beside };
    let (limits, progress) = (limits(session), Arc::new(BuildProgress::default()));
    let _shown = shared.stages.begin(session.core.connection.id(), &progress);
    let begun = shared.catalog.begin_online(&table.entry, new, limits, progress);
    let done = begun.map_err(Failure::from).and_then(|alter| work.carry_out(&mut session.engine, alter));
    done.map_err(|failure| failure.outcome(session))
}

/// A table with another definition in the place of one, and its rows, all of them written anew; `from` says where each column comes from.
pub(super) struct TableCopy<'a> {
    pub(super) new: TableDef,
    pub(super) from: &'a [Option<usize>],
    pub(super) renamed: &'a [Renamed],
    /// AUTO_INCREMENT as written.
    pub(super) counter: Option<u64>,
}

/// Copies a table; returns how many rows were converted.
pub(super) fn copy(session: &mut ClientSession, table: &LockedTable, copy: TableCopy<'_>, beside: &Beside<'_>) -> Result<u64, Outcome> {
    let TableCopy { mut new, from, renamed, counter } = copy;
    let shared = Arc::clone(session.shared());
    let counter = match counter {
        // Of the definition: as written, or from the beginning.
        _ if !keeps_counter(&table.entry.def, &new, from) => Counter::Begins(new.auto_increment_start),
        Some(wanted) => Counter::Wanted(wanted),
        None => Counter::GoesOn,
    };
    // An index that stands has kept its tree: its columns have the types that they had.
    let stands = !new.indexes[0].id.is_none();
    for index in &mut new.indexes {
        (index.id, index.root) = (base::IndexId::NONE, base::PageNo::NONE);
    }
    forget_history(&mut new);
    let target = new.clone();
    let rules = planner::plan_row_rules(&target)?;
    let rules = rules.as_ref().map(|(plan, rules)| RuleRun::new(&target, plan, rules));
    let work = Work { catalog: &shared.catalog, table, renamed, counter, lock_wait: lock_wait(session), beside };
    let (limits, progress) = (limits(session), Arc::new(BuildProgress::default()));
    let _shown = shared.stages.begin(session.core.connection.id(), &progress);
    let mut converter = RowConverter::new(&table.entry.def, &target, from, &mut session.core);
    converter.rules = rules;
    let keeps_key = stands && converter.keeps_key();
    let done = {
        let convert = Box::new(|row: RowRef<'_>, out: &mut Vec<u8>| converter.convert(row, out));
        let begun = shared.catalog.begin_copy(&table.entry, new, CopiedRows { convert, keeps_key }, limits, progress);
        begun.map_err(Failure::from).and_then(|alter| work.carry_out(&mut session.engine, alter))
    };
    let (rows, failure) = (converter.rows, converter.failure);
    let result = done.map_err(|error| failure.map_or_else(|| error.outcome(session), Outcome::from));
    result.map(|()| rows)
}

/// Where the AUTO_INCREMENT counter of a copy begins, unless rows have larger values.
#[derive(Clone, Copy)]
enum Counter {
    /// Where the old table's has come to by then.
    GoesOn,
    /// Where the statement says, of a column that has had it before.
    Wanted(u64),
    /// There, whatever the old table's was: it is another column's.
    Begins(u64),
}

/// What a change that was begun needs to come to its end.
struct Work<'a> {
    catalog: &'a Catalog,
    table: &'a LockedTable,
    renamed: &'a [Renamed],
    /// Where the counter of a copy begins.
    counter: Counter,
    /// How long it waits for those who use the table.
    lock_wait: Duration,
    beside: &'a Beside<'a>,
}

impl Work<'_> {
    /// Lets others use the tables, works, takes the tables alone again, and ends the change; takes it back when that fails.
    fn carry_out(&self, session: &mut Session, mut alter: OnlineAlter<'_>) -> Result<(), Failure> {
        let (to, guards) = self.beside.lowered().unwrap_or((Lowered::BesideReaders, Vec::new()));
        let lowered: Vec<LoweredGuard<'_>> = guards.into_iter().map(|guard| guard.lower(to, session.asker())).collect();
        let built = self.build_and_raise(session, &mut alter, &lowered);
        drop(lowered);
        let looked = built.and_then(|()| self.look_again(session, alter.definition()));
        let ready = looked.and_then(|()| {
            match self.counter {
                Counter::GoesOn => {}
                // Not before nobody adds rows any more.
                Counter::Wanted(wanted) => {
                    let counter = counter_for(session, &self.table.entry, wanted).map_err(Failure::Engine)?;
                    alter.set_counter(counter);
                }
                Counter::Begins(first) => alter.set_counter(first),
            }
            Ok(())
        });
        match ready {
            Ok(()) => Ok(self.catalog.finish_online(session, &self.table.entry, alter, self.renamed)?),
            Err(failure) => {
                self.catalog.give_up(alter)?;
                Err(failure)
            }
        }
    }

    /// What the statement has looked at and others may have changed since: asked while nobody can any more.
    fn look_again(&self, session: &mut Session, new: &TableDef) -> Result<(), Failure> {
        if let Some(error) = &self.beside.zero_date
            && has_rows(session, &self.table.entry).map_err(Failure::Engine)?
        {
            return Err(Failure::Sql(error.clone()));
        }
        self.beside.awaited.check(new, self.catalog)?.map_err(Failure::Sql)
    }

    /// Works, then takes the tables alone again, as ALTER TABLE waits for them at its begin.
    fn build_and_raise(&self, session: &Session, alter: &mut OnlineAlter<'_>, lowered: &[LoweredGuard<'_>]) -> Result<(), Failure> {
        let cancel = session.cancel();
        alter.build(cancel)?;
        let deadline = Instant::now() + self.lock_wait;
        for guard in lowered {
            loop {
                let until = (Instant::now() + PATIENCE).min(deadline);
                match guard.raise(ExclusiveWait::until(Some(until)), session.asker()) {
                    Ok(()) => break,
                    Err(LockError::Timeout) if until < deadline => {
                        // Others write meanwhile.
                        if alter.waiting() > KEYS_LEFT_MAX {
                            alter.catch_up(cancel)?;
                        }
                    }
                    Err(error) => return Err(Failure::Lock(error)),
                }
            }
        }
        Ok(())
    }
}
