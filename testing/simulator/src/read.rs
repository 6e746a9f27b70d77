//! Reads of one client, compared with the model.

use crate::schema::{self, Row};
use crate::world::{Client, Result, Rows, Stop, Table, World};
use catalog::TableEntry;
use engine::{Direction, Error, Isolation, KeyRange, Read, RowBatch, Step, Wait};
use record::RowRef;
use std::sync::Arc;
use types::Value;

/// More rows than any table has: a scan that shows them goes in circles.
const ROWS_MAX: usize = 200_000;

/// A row that the engine showed: primary key and values.
pub(crate) type Seen = (Vec<u8>, Vec<Value>);

/// All values of a row.
pub(crate) fn values(row: RowRef<'_>) -> std::result::Result<Vec<Value>, String> {
    let mut values = Vec::new();
    row.values(&mut values).map_err(|_| "a row that cannot be decoded".to_owned())?;
    Ok(values)
}

/// A short form of a row for messages.
pub(crate) fn show(row: &[Value]) -> String {
    let shown: Vec<String> = row
        .iter()
        .map(|value| match value {
            Value::Bytes(bytes) if bytes.len() > 24 => format!("<{} bytes, {:08x}>", bytes.len(), base::crc32c(bytes)),
            Value::Bytes(bytes) => format!("{:?}", bytes.to_text()),
            Value::Int(v) => v.to_string(),
            Value::Null => "NULL".into(),
            other => format!("{other:?}"),
        })
        .collect();
    format!("({})", shown.join(", "))
}

/// Rows in the order of an index: full key of the index, primary key, row.
pub(crate) fn in_order<'r>(table: &Table, index_no: usize, rows: &'r Rows) -> Vec<(Vec<u8>, &'r Vec<u8>, &'r Row)> {
    let parts = &table.def.indexes[index_no].parts;
    let mut ordered: Vec<_> = rows
        .iter()
        .map(|(key, row)| {
            let mut full = if index_no == 0 { Vec::new() } else { schema::encode(&table.def, parts, row) };
            full.extend_from_slice(key);
            (full, key, row)
        })
        .collect();
    ordered.sort_by(|a, b| a.0.cmp(&b.0));
    ordered
}

impl World {
    /// The rows that a read of this kind sees; opens the snapshot of a plain read. `None` when the snapshot is older than the table.
    pub(crate) fn expected(&mut self, client: &mut Client, name: &str, read: Read) -> Option<Rows> {
        if read == Read::Snapshot && client.txn.as_ref().is_some_and(|txn| txn.model.snapshot().is_none()) {
            // An error meets the read itself.
            let _ = engine::simulation::settle_for_a_snapshot(&mut client.session);
        }
        if read != Read::Snapshot && !self.before_locks(client, name) {
            return None;
        }
        let (newest, visible) = (self.newest(), self.visible());
        if read == Read::Snapshot && client.txn.as_ref()?.isolation == Isolation::ReadUncommitted {
            return self.newest_of_all(client, name);
        }
        let txn = client.txn.as_mut()?;
        if read != Read::Snapshot {
            return Some(txn.model.rows(&newest, name));
        }
        let defined_at = newest.tables.get(name)?.defined_at;
        let snapshot = Arc::clone(txn.model.snapshot().unwrap_or(&visible));
        if snapshot.number < defined_at {
            return None;
        }
        let snapshot = txn.model.open_snapshot(&visible);
        Some(txn.model.rows(&snapshot, name))
    }

    /// READ UNCOMMITTED: the newest version of each row, whoever wrote it. `None` while somebody runs whose changes are not known.
    fn newest_of_all(&self, client: &Client, name: &str) -> Option<Rows> {
        if self.unfinished || self.abandoned {
            return None;
        }
        let mut rows = client.txn.as_ref()?.model.rows(&self.newest(), name);
        for (key, row) in self.foreign(client.no).flat_map(|model| model.changes_of(name)) {
            match row {
                Some(row) => rows.insert(key.clone(), Arc::clone(row)),
                None => rows.remove(key),
            };
        }
        Some(rows)
    }

    fn draw_read(&mut self, client: &Client) -> Read {
        if client.txn.as_ref().is_some_and(|txn| txn.idle) {
            return client.session.plain_read();
        }
        let wait = *self.random.one_of(&[Wait::NoWait, Wait::SkipLocked, Wait::SkipLocked, Wait::Block]);
        match self.random.below(10) {
            0..6 => client.session.plain_read(),
            6 | 7 => Read::Share(wait),
            _ => Read::Exclusive(wait),
        }
    }

    /// One point read.
    pub(crate) fn read_point(&mut self, client: &mut Client, name: &str, entry: &TableEntry) -> Result<()> {
        let read = self.draw_read(client);
        let Some(rows) = self.expected(client, name, read) else { return Ok(()) };
        let key = self.draw_key(&rows, name);
        let found = client.session.get(&entry.storage, &key, read, values);
        self.trace.line(format!("c{} get {name} {key:02x?} {read:?}: {}", client.no, outcome(&found)));
        let expected = rows.get(&key);
        let found = match self.check_locking(client, name, read, found, "get")? {
            Some(found) => found.transpose().map_err(Stop::Violation)?,
            None => return Ok(()),
        };
        let found_some = found.is_some();
        self.compare_one(client, name, read, &key, expected, found)?;
        // What another has made anew and not committed is passed over, not found missing.
        let passed_over = matches!(read, Read::Share(Wait::SkipLocked) | Read::Exclusive(Wait::SkipLocked))
            && self.changed_by_others(client.no, name, &key);
        if read != Read::Snapshot && (found_some || expected.is_none() && !passed_over) {
            self.met(client, name, &key);
            self.watch_row(client, name, &key, read, found_some);
            self.check_unchanged(client, name, &key)?;
        }
        self.tell(client)
    }

    /// One read by a unique secondary key.
    pub(crate) fn read_unique(&mut self, client: &mut Client, name: &str, entry: &TableEntry) -> Result<()> {
        let table = self.newest().tables[name].clone();
        let Some(index_no) = (1..table.def.indexes.len()).find(|no| table.def.indexes[*no].unique) else { return Ok(()) };
        let parts = &table.def.indexes[index_no].parts;
        let read = self.draw_read(client);
        let Some(rows) = self.expected(client, name, read) else { return Ok(()) };
        let probe = match rows.len() {
            0 => schema::row(&mut self.random, &self.options, &table.def),
            _ if self.random.percent(20) => schema::row(&mut self.random, &self.options, &table.def),
            count => rows.values().nth(self.random.below(count)).expect("counted").to_vec(),
        };
        if schema::has_null(parts, &probe) {
            // Nothing is read. The model has opened its snapshot: for a plain read, or before locks under a true snapshot.
            if client.txn.as_ref().is_some_and(|txn| txn.model.snapshot().is_some()) {
                client.session.open_snapshot();
            }
            return Ok(());
        }
        let user = schema::encode(&table.def, parts, &probe);
        let expected = rows.iter().find(|(_, row)| schema::encode(&table.def, parts, row) == user);
        let found = client.session.get_unique(&entry.storage, index_no, &user, read, |row, _, _| values(row));
        self.trace.line(format!("c{} get {name}.{index_no} {user:02x?} {read:?}: {}", client.no, outcome(&found)));
        let Some(found) = self.check_locking(client, name, read, found, "get by unique key")? else { return Ok(()) };
        let found = found.transpose().map_err(Stop::Violation)?;
        let key = expected.map(|(key, _)| key.clone()).unwrap_or_default();
        let found_some = found.is_some();
        self.compare_one(client, name, read, &key, expected.map(|(_, row)| row), found)?;
        if read != Read::Snapshot && found_some {
            self.met(client, name, &key);
            self.watch_row(client, name, &key, read, true);
            self.check_unchanged(client, name, &key)?;
        } else if expected.is_none() {
            self.watch_range(client, name, index_no, KeyRange::prefix(&user), read);
        }
        self.tell(client)
    }

    pub(crate) fn compare_one(
        &mut self,
        client: &Client,
        name: &str,
        read: Read,
        key: &[u8],
        expected: Option<&Row>,
        found: Option<Vec<Value>>,
    ) -> Result<()> {
        let skips = matches!(read, Read::Share(Wait::SkipLocked) | Read::Exclusive(Wait::SkipLocked));
        match (expected, found) {
            (None, None) => Ok(()),
            (Some(expected), Some(found)) if **expected == found => {
                if read != Read::Snapshot && self.changed_by_others(client.no, name, key) {
                    return Err(Stop::Violation(format!("{name} {key:02x?}: locked although another transaction has changed it")));
                }
                Ok(())
            }
            (Some(_), None) if skips && self.others_hold_locks(client.no) => Ok(()),
            (expected, found) => Err(Stop::Violation(format!(
                "{name} {key:02x?} read {read:?}: {} where {} is",
                found.map_or("nothing".into(), |row| show(&row)),
                expected.map_or("nothing".into(), |row| show(row))
            ))),
        }
    }

    /// Notes locks and sorts out errors. `None` when the statement ended without an answer.
    pub(crate) fn check_locking<T>(
        &mut self,
        client: &mut Client,
        name: &str,
        read: Read,
        result: engine::Result<T>,
        doing: &str,
    ) -> Result<Option<T>> {
        if read != Read::Snapshot
            && let Some(txn) = &mut client.txn
        {
            txn.locks_rows_of(name);
        }
        let error = match result {
            Ok(answer) => return Ok(Some(answer)),
            Err(error) => error,
        };
        let conflict = match read {
            Read::Share(Wait::NoWait) | Read::Exclusive(Wait::NoWait) => error == Error::LockNotAvailable,
            Read::Share(Wait::Block) | Read::Exclusive(Wait::Block) => error == Error::LockWaitTimeout,
            _ => false,
        };
        if error == Error::Changed {
            return self.first_updater_won(client, name).map(|()| None);
        }
        if conflict && self.others_hold_locks(client.no) {
            self.count("lock conflicts");
            return Ok(None);
        }
        self.excuse(&error, doing)?;
        self.give_up(client)?;
        Ok(None)
    }

    /// A scan of an index in a range, in one piece or in several.
    pub(crate) fn read_range(&mut self, client: &mut Client, name: &str, entry: &TableEntry) -> Result<()> {
        let table = self.newest().tables[name].clone();
        let read = self.draw_read(client);
        let Some(rows) = self.expected(client, name, read) else { return Ok(()) };
        let index_no = self.random.below(table.def.indexes.len());
        let ordered = in_order(&table, index_no, &rows);
        let range = self.draw_range(&ordered);
        let direction = *self.random.one_of(&[Direction::Forward, Direction::Backward]);
        let mut expected: Vec<_> = ordered.iter().filter(|(full, _, _)| *full >= range.lower && range.below_upper(full)).collect();
        if direction == Direction::Backward {
            expected.reverse();
        }
        let stop_after = if self.random.percent(30) { self.random.below(8) + 1 } else { usize::MAX };
        let in_batches = self.random.percent(30);
        let seen = scan(&mut client.session, entry, index_no, range.clone(), direction, read, stop_after, in_batches);
        self.trace.line(format!(
            "c{} scan {name}.{index_no} {direction:?} {read:?} [{:02x?}, {:02x?}): {}",
            client.no,
            range.lower,
            range.upper,
            match &seen {
                Ok(rows) => format!("{} rows", rows.len()),
                Err(error) => error.to_string(),
            }
        ));
        let Some(seen) = self.check_locking(client, name, read, seen, "scan")? else { return Ok(()) };
        let exact = read == Read::Snapshot || !self.others_hold_locks(client.no);
        let mut expected = expected.into_iter();
        for (key, row) in &seen {
            let found = expected.by_ref().find(|(_, expected_key, _)| *expected_key == key || exact);
            let Some((_, expected_key, expected_row)) = found else {
                return Err(Stop::Violation(format!(
                    "scan of {name}.{index_no} {direction:?} {read:?}: unexpected row {key:02x?} {}",
                    show(row)
                )));
            };
            if *expected_key != key || ***expected_row != *row {
                return Err(Stop::Violation(format!(
                    "scan of {name}.{index_no} {direction:?} {read:?}: {key:02x?} {} where {expected_key:02x?} {} is",
                    show(row),
                    show(expected_row)
                )));
            }
            if read != Read::Snapshot && self.changed_by_others(client.no, name, key) {
                return Err(Stop::Violation(format!("{name} {key:02x?}: locked by a scan although another transaction has changed it")));
            }
        }
        match expected.next() {
            Some((_, key, row)) if exact => {
                Err(Stop::Violation(format!("scan of {name}.{index_no} {direction:?} {read:?}: row {key:02x?} {} is missing", show(row))))
            }
            _ if read == Read::Snapshot => self.tell(client),
            _ => {
                seen.iter().for_each(|(key, _)| self.met(client, name, key));
                seen.iter().for_each(|(key, _)| self.watch_row(client, name, key, read, true));
                if exact {
                    self.met_range(client, name, &table, index_no, &range);
                    self.check_range_unchanged(client, name, index_no, &range)?;
                }
                self.watch_range(client, name, index_no, range, read);
                self.tell(client)
            }
        }
    }

    /// A locking scan of a range has met what others have moved into it or out of it.
    pub(crate) fn met_range(&self, client: &mut Client, name: &str, table: &Table, index_no: usize, range: &KeyRange) {
        let parts = &table.def.indexes[index_no].parts;
        let inside = |key: &[u8], row: &Row| {
            let mut full = if index_no == 0 { Vec::new() } else { schema::encode(&table.def, parts, row) };
            full.extend_from_slice(key);
            full >= range.lower && range.below_upper(&full)
        };
        for (key, before, after) in self.commits.undurable_changes(name) {
            if before.is_some_and(|row| inside(&key, &row)) || after.is_some_and(|row| inside(&key, &row)) {
                self.met(client, name, &key);
            }
        }
    }

    /// A primary key: mostly one that is there.
    pub(crate) fn draw_key(&mut self, rows: &Rows, name: &str) -> Vec<u8> {
        if !rows.is_empty() && self.random.percent(85) {
            return rows.keys().nth(self.random.below(rows.len())).expect("counted").clone();
        }
        let table = &self.newest().tables[name];
        if table.def.has_hidden_key() {
            return (self.random.below(50) as u64).to_be_bytes().to_vec();
        }
        let row = schema::row(&mut self.random, &self.options, &table.def);
        schema::encode(&table.def, &table.def.indexes[0].parts, &row)
    }

    fn draw_range(&mut self, ordered: &[(Vec<u8>, &Vec<u8>, &Row)]) -> KeyRange {
        if ordered.is_empty() || self.random.percent(40) {
            return KeyRange::all();
        }
        let mut draw = || {
            let full = &ordered[self.random.below(ordered.len())].0;
            let bytes = if self.random.percent(50) { full.len() } else { self.random.between(1, full.len()) };
            full[..bytes].to_vec()
        };
        let (a, b) = (draw(), draw());
        match self.random.below(4) {
            0 => KeyRange::prefix(&a),
            1 => KeyRange { lower: a, upper: Vec::new() },
            2 => KeyRange { lower: Vec::new(), upper: b },
            _ => KeyRange { lower: a.clone().min(b.clone()), upper: a.max(b) },
        }
    }
}

/// Reads a range, stopping and going on after every `stop_after` rows.
pub(crate) fn scan(
    session: &mut engine::Session,
    entry: &TableEntry,
    index_no: usize,
    range: KeyRange,
    direction: Direction,
    read: Read,
    stop_after: usize,
    in_batches: bool,
) -> engine::Result<Vec<Seen>> {
    let mut seen: Vec<Seen> = Vec::new();
    let mut scan = session.scan(&entry.storage, index_no, range, direction, read)?;
    let undecodable = |_| Error::Io("a row that cannot be decoded".into());
    loop {
        if in_batches {
            let mut batch = RowBatch::default();
            if scan.next_batch(&mut batch, stop_after.min(100))? == 0 {
                return Ok(seen);
            }
            for no in 0..batch.len() {
                seen.push((batch.key(no).to_vec(), values(batch.row(&entry.storage, no)?).map_err(undecodable)?));
            }
        } else {
            let mut count = 0;
            let mut failed = None;
            let more = scan.for_each(|row, key| {
                match values(row) {
                    Ok(row) => seen.push((key.to_vec(), row)),
                    Err(error) => failed = Some(error),
                }
                count += 1;
                let last = || seen.iter().rev().take(4).map(|row| &row.0).collect::<Vec<_>>();
                assert!(seen.len() < ROWS_MAX, "{}.{index_no}, a scan that does not end: {:02x?}", entry.def.name, last());
                if count == stop_after { Step::Stop } else { Step::Continue }
            })?;
            if let Some(error) = failed {
                return Err(undecodable(error));
            }
            if !more {
                return Ok(seen);
            }
        }
        let state = scan.park();
        scan = session.resume(state);
    }
}

/// A result for the trace.
pub(crate) fn outcome<T>(result: &engine::Result<T>) -> String {
    match result {
        Ok(_) => "ok".into(),
        Err(error) => error.to_string(),
    }
}
