//! Writes of one client, compared with the model.

use crate::planted::Plant;
use crate::read::{outcome, show, values};
use crate::schema::{self, Row};
use crate::world::{Client, OpenTransaction, Result, Rows, Stop, Table, World};
use catalog::TableEntry;
use engine::{Direction, Error, FlushPolicy, Isolation, KeyRange, Modified, Modify, Read, RowBatch, Staged, Step, Wait, simulation};
use record::{ColumnSet, RowRef};
use std::sync::Arc;
use types::Value;

/// Tables do not grow past this.
const ROWS_MAX: usize = 400;

impl World {
    pub(crate) fn begin(&mut self, client: &mut Client) -> Result<()> {
        let branch = self.draw_branch(client)?;
        let idle = match self.options.watchers {
            0 => branch.is_none() && self.options.prune_lag < 512 && self.random.percent(if self.options.sessions > 4 { 70 } else { 20 }),
            watchers => client.no < watchers,
        };
        let isolation = match idle {
            true => Isolation::RepeatableRead,
            false if self.options.levels && self.random.percent(40) => {
                *self.random.one_of(&[Isolation::ReadUncommitted, Isolation::Serializable, Isolation::Serializable])
            }
            false => *self.random.one_of(&[Isolation::RepeatableRead, Isolation::RepeatableRead, Isolation::ReadCommitted]),
        };
        // Where gaps are locked they alone keep a reference from a row that goes.
        let isolation = if self.options.keys && !idle && self.random.percent(60) { Isolation::ReadCommitted } else { isolation };
        let read_only = self.random.percent(8);
        let policy = self.draw_policy();
        client.session.begin(isolation, read_only);
        client.session.set_flush_policy(policy);
        let true_snapshot = self.options.levels && !idle && !read_only && isolation == Isolation::RepeatableRead && self.random.percent(60);
        if true_snapshot {
            client.session.let_first_updater_win();
        }
        let more = match (read_only, true_snapshot) {
            (true, _) => " read only",
            (_, true) => " with a true snapshot",
            _ => "",
        };
        self.trace.line(format!("c{} begin {isolation:?}{more}", client.no));
        client.txn = Some(OpenTransaction { read_only, true_snapshot, idle, branch, ..OpenTransaction::new(isolation, policy) });
        if idle || (isolation != Isolation::ReadUncommitted && self.random.percent(10)) {
            let visible = self.visible();
            client.session.open_snapshot();
            client.txn.as_mut().expect("just begun").model.open_snapshot(&visible);
        }
        Ok(())
    }

    pub(crate) fn draw_policy(&mut self) -> FlushPolicy {
        match self.options.lazy_commits && self.random.percent(50) {
            true => *self.random.one_of(&[FlushPolicy::Lazy, FlushPolicy::Write]),
            false => FlushPolicy::Durable,
        }
    }

    pub(crate) fn rollback(&mut self, client: &mut Client) -> Result<()> {
        if client.committing.is_some() {
            return self.commit(client);
        }
        let Some(txn) = client.txn.take() else { return Ok(()) };
        let result = client.session.rollback();
        self.trace.line(format!("c{} rollback: {}", client.no, outcome(&result)));
        self.count("rollbacks");
        self.crash_with_leftovers();
        self.release_name(client, &txn);
        if let Err(error) = result {
            self.losers.push(txn.model);
            self.abandoned = true;
            self.excuse(&error, "rollback")?;
        }
        Ok(())
    }

    /// A rollback has left an entry to purge, which only the log knows: often it is all that is left of it.
    fn crash_with_leftovers(&mut self) {
        let engine = Arc::clone(self.engine());
        if !self.options.hot || self.is_last_life || engine::simulation::leftovers(&engine) == 0 || self.random.percent(50) {
            return;
        }
        let flushed = engine.wal().flush_to(engine.wal().lsn_head());
        self.disk.crash_at(1 + self.random.below(3) as u64);
        self.trace.line(format!("crash planned behind a rollback that has left an entry; the log is durable: {}", flushed.is_ok()));
        self.count("crashes behind a rollback that left an entry");
    }

    pub(crate) fn savepoint(&mut self, client: &mut Client) {
        let savepoint = client.session.savepoint();
        let Some(txn) = &mut client.txn else { return };
        txn.savepoints.push((savepoint, txn.model.savepoint()));
        self.trace.line(format!("c{} savepoint", client.no));
    }

    pub(crate) fn rollback_to(&mut self, client: &mut Client) -> Result<()> {
        let Some(txn) = &mut client.txn else { return Ok(()) };
        if txn.savepoints.is_empty() {
            return Ok(());
        }
        let chosen = self.random.below(txn.savepoints.len());
        let (savepoint, mark) = txn.savepoints[chosen];
        txn.savepoints.truncate(chosen + 1);
        let result = client.session.rollback_to(savepoint);
        self.trace.line(format!("c{} rollback to savepoint {chosen}: {}", client.no, outcome(&result)));
        self.count("rollbacks to savepoints");
        match result {
            Ok(()) => {
                txn.model.rollback_to(mark);
                Ok(())
            }
            Err(error) => {
                self.excuse(&error, "rollback to savepoint")?;
                self.give_up(client)
            }
        }
    }

    /// A statement of one or several row operations; sometimes it is taken back as a whole.
    pub(crate) fn write_statement(&mut self, client: &mut Client, name: &str, entry: &Arc<TableEntry>) -> Result<()> {
        let mark = client.txn.as_ref().map_or(0, |txn| txn.model.savepoint());
        // Few rows change often, or nothing comes back to what it was.
        let enough = if self.options.watchers > 0 { 2 } else { 5 };
        let grown = self.options.is_hot() && self.current(client, name).len() >= enough;
        let kind = if grown { self.random.between(4, 7) } else { self.random.below(10) };
        let count = match self.random.below(10) {
            0 if kind < 4 => self.random.between(5, 40),
            0..3 => self.random.between(2, 4),
            _ => 1,
        };
        for _ in 0..count {
            match kind {
                0..4 => self.insert(client, name, entry)?,
                4..8 => self.modify(client, name, entry)?,
                _ => self.change_after_read(client, name, entry)?,
            }
            if client.txn.is_none() {
                return Ok(());
            }
        }
        if self.plant == Some(Plant::LostLink) && self.random.percent(2) {
            simulation::leave_hole(self.engine());
        }
        if self.plant == Some(Plant::UnlockedEarly) && self.random.percent(10) {
            simulation::unlock_early(&client.session);
        }
        if self.random.percent(10) {
            self.statement_rollback(client, mark)?;
        }
        Ok(())
    }

    /// Takes back what the statement has changed since it began.
    pub(crate) fn statement_rollback(&mut self, client: &mut Client, mark: usize) -> Result<()> {
        let result = client.session.statement_rollback();
        self.trace.line(format!("c{} statement rollback: {}", client.no, outcome(&result)));
        self.count("statement rollbacks");
        self.crash_with_leftovers();
        match (result, &mut client.txn) {
            (Ok(()), Some(txn)) => txn.model.rollback_to(mark),
            (Err(error), _) => {
                self.excuse(&error, "statement rollback")?;
                self.give_up(client)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Errors that every write may meet. `Ok(())`: the row operation had no effect, or the transaction is gone.
    fn refused(&mut self, client: &mut Client, name: &str, error: Error, doing: &str) -> Result<()> {
        let read_only = client.txn.as_ref().is_some_and(|txn| txn.read_only);
        match error {
            Error::ReadOnlyTransaction if read_only => Ok(()),
            Error::Changed => self.first_updater_won(client, name),
            Error::LockWaitTimeout if self.others_hold_locks(client.no) => {
                self.count("lock conflicts");
                Ok(())
            }
            error => {
                self.excuse(&error, doing)?;
                self.give_up(client)
            }
        }
    }

    /// Rows as a write of this client finds them.
    pub(crate) fn current(&self, client: &Client, name: &str) -> Rows {
        client.txn.as_ref().map(|txn| txn.model.rows(&self.newest(), name)).unwrap_or_default()
    }

    fn written(&mut self, client: &mut Client, name: &str, key: &[u8], row: Option<Vec<Value>>) -> Result<()> {
        self.met(client, name, key);
        let (newest, row) = (self.newest(), row.map(Arc::new));
        if let Some(txn) = &mut client.txn {
            let old = txn.model.row(&newest, name, key);
            if let Some(old) = old.as_ref().filter(|_| row.is_some()) {
                self.former.insert((name.to_owned(), key.to_vec()), Arc::clone(old));
            }
            txn.model.write(name, key, row.clone());
            txn.locks_rows_of(name);
            self.check_watches(client.no, name, key, old.as_ref(), row.as_ref())?;
            self.check_unchanged(client, name, key)?;
        }
        Ok(())
    }

    fn insert(&mut self, client: &mut Client, name: &str, entry: &Arc<TableEntry>) -> Result<()> {
        if !self.before_locks(client, name) {
            return Ok(());
        }
        let table = self.newest().tables[name].clone();
        let rows = self.current(client, name);
        if rows.len() >= ROWS_MAX {
            return Ok(());
        }
        // Drawn apart: what does not insert many stays what it was.
        if !table.def.has_hidden_key() && self.random.clone().percent(12) {
            return self.insert_together(client, name, entry);
        }
        let row = schema::row(&mut self.random, &self.options, &table.def);
        let gives = table.def.auto_increment_column().is_some() && self.random.percent(70);
        self.insert_row(client, name, entry, row, gives)
    }

    /// INSERT of many rows at once.
    fn insert_together(&mut self, client: &mut Client, name: &str, entry: &Arc<TableEntry>) -> Result<()> {
        let table = self.newest().tables[name].clone();
        let (mut staged, mut rows) = (Staged::default(), Vec::new());
        // Of many rows two have one key nearly always, and then they go in one by one.
        let most = if self.random.percent(50) { 4 } else { 60 };
        for _ in 0..self.random.between(2, most) {
            let row = schema::row(&mut self.random, &self.options, &table.def);
            let mut bytes = Vec::new();
            if let Err(error) = entry.storage.layout().encode(&row, &mut bytes) {
                return Err(Stop::Violation(format!("{name}: encode {}: {error:?}", show(&row))));
            }
            match client.session.stage(&entry.storage, &mut staged, &bytes) {
                Ok(true) => rows.push(row),
                // Too large: it would go in by itself.
                Ok(false) => {}
                Err(error) => return self.refused(client, name, error, "stage"),
            }
        }
        if let Some(txn) = &mut client.txn {
            txn.locks_rows_of(name);
        }
        let result = client.session.insert_staged(&entry.storage, &mut staged);
        self.trace.line(format!("c{} insert {} rows together into {name}: {}", client.no, rows.len(), outcome(&result)));
        match result {
            Ok(true) => {
                self.count("batches of rows that went in together");
                for row in rows {
                    let present = self.current(client, name);
                    let key = schema::encode(&table.def, &table.def.indexes[0].parts, &row);
                    self.check_no_rival(client, name, &table, &present, &key, &row, None)?;
                    if let (Some(column), Some(txn)) = (table.def.auto_increment_column(), &mut client.txn)
                        && let Value::Int(value @ 1..) = row[column]
                    {
                        txn.model.note_counter(name, table.defined_at, value as u64);
                    }
                    self.written(client, name, &key, Some(row))?;
                }
                Ok(())
            }
            Ok(false) => {
                self.count("batches of rows that had something in the way");
                for row in rows {
                    if client.txn.is_none() {
                        break;
                    }
                    self.insert_row(client, name, entry, row, false)?;
                }
                Ok(())
            }
            Err(error) => self.refused(client, name, error, "insert together"),
        }
    }

    /// INSERT of a row; with a value from the counter, if it is to give one.
    pub(crate) fn insert_row(
        &mut self,
        client: &mut Client,
        name: &str,
        entry: &Arc<TableEntry>,
        mut row: Vec<Value>,
        gives: bool,
    ) -> Result<()> {
        let table = self.newest().tables[name].clone();
        let rows = self.current(client, name);
        let mut counter = None;
        if let Some(column) = table.def.auto_increment_column() {
            if gives {
                let value = entry.storage.next_auto_increment(1, 1, 1);
                let floor = table.counter_min.max(self.given.get(&entry.def.id).map_or(0, |given| given + 1));
                if value < floor {
                    return Err(Stop::Violation(format!("{name}: AUTO_INCREMENT gave {value}, after {floor}")));
                }
                self.given.insert(entry.def.id, value);
                row[column] = Value::Int(value as i64);
            }
            if let Value::Int(value @ 1..) = row[column] {
                entry.storage.note_auto_increment(value as u64);
                counter = Some(value as u64);
            }
        }
        let mut bytes = Vec::new();
        if let Err(error) = entry.storage.layout().encode(&row, &mut bytes) {
            return Err(Stop::Violation(format!("{name}: encode {}: {error:?}", show(&row))));
        }
        if let Some(txn) = &mut client.txn {
            txn.locks_rows_of(name);
        }
        let result = client.session.insert(&entry.storage, &mut bytes);
        self.trace.line(format!("c{} insert {name} {}: {}", client.no, show(&row), outcome(&result)));
        match result {
            Ok(()) => {
                self.count("inserts");
                let key = match table.def.has_hidden_key() {
                    true => match self.own_last_key(client, entry)? {
                        Some(key) => key,
                        None => return Ok(()),
                    },
                    false => schema::encode(&table.def, &table.def.indexes[0].parts, &row),
                };
                self.check_no_rival(client, name, &table, &rows, &key, &row, None)?;
                if let (Some(value), Some(txn)) = (counter, &mut client.txn) {
                    txn.model.note_counter(name, table.defined_at, value);
                }
                self.written(client, name, &key, Some(row))
            }
            Err(Error::DuplicateKey { index_no }) => self.check_duplicate(&table, &rows, index_no, &row, None, name),
            Err(error) => self.refused(client, name, error, "insert"),
        }
    }

    /// The hidden key of the row just inserted: the last one, and locked by nobody else.
    fn own_last_key(&mut self, client: &mut Client, entry: &TableEntry) -> Result<Option<Vec<u8>>> {
        let mut last = None;
        let found = client.session.scan(&entry.storage, 0, KeyRange::all(), Direction::Backward, Read::Exclusive(Wait::NoWait)).and_then(
            |mut scan| {
                scan.for_each(|_, key| {
                    last = Some(key.to_vec());
                    Step::Stop
                })
            },
        );
        match (found, last) {
            (Ok(_), Some(key)) => Ok(Some(key)),
            (Ok(_), None) => Err(Stop::Violation("an inserted row is not found".into())),
            (Err(error), _) => {
                self.excuse(&error, "find an inserted row")?;
                self.give_up(client)?;
                Ok(None)
            }
        }
    }

    /// A write went through: no row that this transaction sees, or that another has written, may stand in its way.
    pub(crate) fn check_no_rival(
        &self,
        client: &Client,
        name: &str,
        table: &Table,
        rows: &Rows,
        key: &[u8],
        row: &[Value],
        replaced: Option<&[u8]>,
    ) -> Result<()> {
        if replaced != Some(key) && rows.contains_key(key) {
            return Err(Stop::Violation(format!("{name}: a second row {key:02x?}")));
        }
        if self.changed_by_others(client.no, name, key) {
            return Err(Stop::Violation(format!("{name} {key:02x?}: written although another transaction has changed it")));
        }
        for (index_no, index) in table.def.indexes.iter().enumerate().skip(1).filter(|(_, index)| index.unique) {
            if schema::has_null(&index.parts, row) {
                continue;
            }
            let user = schema::encode(&table.def, &index.parts, row);
            let same = |(rival_key, rival): (&Vec<u8>, &Row)| {
                rival_key != key
                    && Some(rival_key.as_slice()) != replaced
                    && !schema::has_null(&index.parts, rival)
                    && schema::encode(&table.def, &index.parts, rival) == user
            };
            let foreign = self.foreign(client.no).flat_map(|model| model.changes_of(name)).filter_map(|(k, row)| Some((k, row.as_ref()?)));
            if let Some((rival, _)) = rows.iter().chain(foreign).find(|entry| same(*entry)) {
                // A row that got the key it had anyway is not checked again; it conflicts with nobody.
                let unchanged =
                    replaced.and_then(|key| rows.get(key)).is_some_and(|old| schema::encode(&table.def, &index.parts, old) == user);
                if !unchanged {
                    return Err(Stop::Violation(format!(
                        "{name}: rows {key:02x?} and {rival:02x?} with one key of unique index {index_no}"
                    )));
                }
            }
        }
        Ok(())
    }

    /// A write was refused as a duplicate: there must be one.
    pub(crate) fn check_duplicate(
        &mut self,
        table: &Table,
        rows: &Rows,
        index_no: usize,
        row: &[Value],
        replaced: Option<&[u8]>,
        name: &str,
    ) -> Result<()> {
        self.count("duplicates");
        let parts = &table.def.indexes[index_no].parts;
        let user = schema::encode(&table.def, parts, row);
        let rival = rows.iter().any(|(key, rival)| Some(key.as_slice()) != replaced && schema::encode(&table.def, parts, rival) == user);
        let may = index_no == 0 || (table.def.indexes[index_no].unique && !schema::has_null(parts, row));
        if may && rival { Ok(()) } else { Err(Stop::Violation(format!("{name}: no duplicate of {} in index {index_no}", show(row)))) }
    }

    /// A row with some columns changed.
    pub(crate) fn changed_row(&mut self, name: &str, key: &[u8], table: &Table, old: &[Value]) -> Vec<Value> {
        // What it was before: entries of indexes come back that purge has removed, or not yet.
        if self.random.percent(if self.options.hot { 60 } else { 30 })
            && let Some(former) = self.former.get(&(name.to_owned(), key.to_vec()))
            && former.len() == old.len()
        {
            return former.to_vec();
        }
        let mut row = old.to_vec();
        for _ in 0..self.random.between(1, 3) {
            let first = usize::from(self.random.percent(85));
            let column = self.random.between(first, row.len() - 1);
            row[column] = schema::value(&mut self.random, &self.options, &table.def, column);
        }
        row
    }

    pub(crate) fn key_of(&self, table: &Table, old_key: &[u8], row: &[Value]) -> Vec<u8> {
        match table.def.has_hidden_key() {
            true => old_key.to_vec(),
            false => schema::encode(&table.def, &table.def.indexes[0].parts, row),
        }
    }

    /// UPDATE or DELETE of one key, in one descent.
    fn modify(&mut self, client: &mut Client, name: &str, entry: &Arc<TableEntry>) -> Result<()> {
        if !self.before_locks(client, name) {
            return Ok(());
        }
        let table = self.newest().tables[name].clone();
        let rows = self.current(client, name);
        let key = self.draw_key(&rows, name);
        let key = match self.options.is_hot() && self.random.percent(70) {
            true => {
                // Again one that has changed.
                let changed: Vec<&Vec<u8>> =
                    self.former.keys().filter(|(table, key)| table == name && rows.contains_key(key)).map(|(_, key)| key).collect();
                if changed.is_empty() { key } else { (*self.random.clone().one_of(&changed)).clone() }
            }
            false => key,
        };
        let old = rows.get(&key);
        let new_row = old.map(|old| self.changed_row(name, &key, &table, old));
        let decision = match self.random.below(10) {
            1..4 if self.options.is_hot() && self.random.percent(80) => Modify::Replace,
            0 => Modify::Keep,
            1..4 => Modify::Delete,
            _ => Modify::Replace,
        };
        self.modify_at(client, name, entry, &key, decision, new_row)
    }

    /// The same of this key.
    pub(crate) fn modify_at(
        &mut self,
        client: &mut Client,
        name: &str,
        entry: &Arc<TableEntry>,
        key: &[u8],
        decision: Modify,
        new_row: Option<Vec<Value>>,
    ) -> Result<()> {
        let table = self.newest().tables[name].clone();
        let rows = self.current(client, name);
        let old = rows.get(key);
        let mut wrong: Option<String> = None;
        if let Some(txn) = &mut client.txn {
            txn.locks_rows_of(name);
        }
        let unique = self.unique_key_of(&table, old);
        let decide = |row: RowRef<'_>, out: &mut Vec<u8>| {
            match (values(row), old) {
                (Ok(seen), Some(old)) if seen == **old => {}
                (Ok(seen), _) => wrong = Some(format!("{} where {} is", show(&seen), old.map_or("nothing".into(), |row| show(row)))),
                (Err(error), _) => wrong = Some(error),
            }
            match &new_row {
                Some(new_row) if decision == Modify::Replace => match entry.storage.layout().encode(new_row, out) {
                    Ok(()) => Modify::Replace,
                    Err(error) => {
                        wrong = Some(format!("encode: {error:?}"));
                        Modify::Keep
                    }
                },
                None if decision == Modify::Replace => Modify::Keep,
                _ => decision,
            }
        };
        let result = match &unique {
            Some((index_no, user)) => client.session.modify_unique(&entry.storage, *index_no, user, ColumnSet::ALL, decide),
            None => client.session.modify(&entry.storage, key, decide),
        };
        self.trace.line(format!(
            "c{} modify {name} {key:02x?} by {} {decision:?} {}: {}",
            client.no,
            unique.as_ref().map_or(0, |(index_no, _)| *index_no),
            new_row.as_ref().map_or(String::new(), |row| show(row)),
            match &result {
                Ok(modified) => format!("{modified:?}"),
                Err(error) => error.to_string(),
            }
        ));
        if let Some(wrong) = wrong {
            return Err(Stop::Violation(format!("modify of {name} {key:02x?} saw {wrong}")));
        }
        match result {
            Ok(Modified::NotFound) if old.is_none() => match self.changed_by_others(client.no, name, key) {
                true => Err(Stop::Violation(format!("modify of {name} {key:02x?}: not found although another transaction has changed it"))),
                false => {
                    self.watch_row(client, name, key, Read::Exclusive(Wait::Block), false);
                    self.check_unchanged(client, name, key)
                }
            },
            Ok(Modified::Kept | Modified::Deleted | Modified::Replaced) if self.changed_by_others(client.no, name, key) => {
                Err(Stop::Violation(format!("modify of {name} {key:02x?}: went through although another transaction has changed it")))
            }
            Ok(Modified::Kept) if old.is_some() => self.check_unchanged(client, name, key),
            Ok(Modified::Deleted) if old.is_some() => {
                self.count("deletes");
                self.written(client, name, key, None)
            }
            Ok(Modified::Replaced) if old.is_some() => {
                self.count("updates");
                let row = new_row.expect("there was an old row");
                self.replaced(client, name, &table, &rows, key, row)
            }
            Ok(modified) => Err(Stop::Violation(format!("modify of {name} {key:02x?}: {modified:?}"))),
            Err(Error::DuplicateKey { index_no }) => match &new_row {
                Some(row) => self.check_duplicate(&table, &rows, index_no, row, Some(key), name),
                None => Err(Stop::Violation(format!("modify of {name} {key:02x?}: duplicate without a change"))),
            },
            Err(error) => self.refused(client, name, error, "modify"),
        }
    }

    /// Sometimes the key that a row has in a unique secondary index, to be found by.
    fn unique_key_of(&mut self, table: &Table, row: Option<&Row>) -> Option<(usize, Vec<u8>)> {
        let unique = |no: &usize| table.def.indexes[*no].unique;
        let index_no = (1..table.def.indexes.len()).find(unique)?;
        let parts = &table.def.indexes[index_no].parts;
        let row = row.filter(|row| !schema::has_null(parts, row))?;
        self.random.percent(40).then(|| (index_no, schema::encode(&table.def, parts, row)))
    }

    fn replaced(&mut self, client: &mut Client, name: &str, table: &Table, rows: &Rows, key: &[u8], row: Vec<Value>) -> Result<()> {
        let new_key = self.key_of(table, key, &row);
        self.check_no_rival(client, name, table, rows, &new_key, &row, Some(key))?;
        if new_key != key {
            self.count("key changes");
            self.written(client, name, key, None)?;
        }
        self.written(client, name, &new_key, Some(row))
    }

    /// SELECT … FOR UPDATE, then UPDATE or DELETE of what it read.
    fn change_after_read(&mut self, client: &mut Client, name: &str, entry: &Arc<TableEntry>) -> Result<()> {
        if !self.before_locks(client, name) {
            return Ok(());
        }
        let table = self.newest().tables[name].clone();
        let rows = self.current(client, name);
        let key = self.draw_key(&rows, name);
        let mut batch = RowBatch::default();
        if let Some(txn) = &mut client.txn {
            txn.locks_rows_of(name);
        }
        let found =
            client.session.get(&entry.storage, &key, Read::Exclusive(Wait::Block), |row| batch.push(row, engine::RowKey::Whole(&key)));
        match found {
            Ok(None) if !rows.contains_key(&key) => return self.check_unchanged(client, name, &key),
            Ok(Some(())) if rows.contains_key(&key) => {
                self.watch_row(client, name, &key, Read::Exclusive(Wait::Block), true);
                self.check_unchanged(client, name, &key)?;
            }
            Ok(found) => return Err(Stop::Violation(format!("{name} {key:02x?} for update: {found:?}"))),
            Err(error) => return self.refused(client, name, error, "read for update"),
        }
        let old = rows[&key].to_vec();
        if self.random.percent(25) {
            let result = client.session.delete(&entry.storage, &key);
            self.trace.line(format!("c{} delete {name} {key:02x?}: {}", client.no, outcome(&result)));
            return match result {
                Ok(()) => {
                    self.count("deletes");
                    self.written(client, name, &key, None)
                }
                Err(error) => self.refused(client, name, error, "delete"),
            };
        }
        let row = self.changed_row(name, &key, &table, &old);
        let mut bytes = Vec::new();
        if let Err(error) = entry.storage.layout().encode(&row, &mut bytes) {
            return Err(Stop::Violation(format!("{name}: encode {}: {error:?}", show(&row))));
        }
        let result = client.session.update(&entry.storage, &key, &mut bytes);
        self.trace.line(format!("c{} update {name} {key:02x?} {}: {}", client.no, show(&row), outcome(&result)));
        match result {
            Ok(()) => {
                self.count("updates");
                self.replaced(client, name, &table, &rows, &key, row)
            }
            Err(Error::DuplicateKey { index_no }) => self.check_duplicate(&table, &rows, index_no, &row, Some(&key), name),
            Err(error) => self.refused(client, name, error, "update"),
        }
    }
}
