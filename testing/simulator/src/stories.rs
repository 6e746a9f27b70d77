//! Short stories: sequences of steps that chance alone puts together once in thousands of seeds, played now and then in seeds of their own, with all else going on as before.
//!
//! # Invariant
//! A story is told with the steps of the others and held to the same model: what is demanded at its end is demanded everywhere.

use crate::schema::{self, Row};
use crate::world::{Client, OpenTransaction, Result, World};
use catalog::TableEntry;
use engine::{FlushPolicy, Isolation, Modify};
use std::sync::Arc;
use types::Value;

/// What a seed's stories are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Story {
    /// A commit that need not wait for the disk is built on one that waits for it, and somebody looks, or the power fails.
    BuiltOn,
    /// A rollback leaves an entry to purge that nothing else knows of, and the power fails.
    Leftover,
}

/// Sessions that a story needs.
pub(crate) const ACTORS: usize = 3;

impl World {
    /// Tells the story once, if there is a table for it.
    pub(crate) fn story(&mut self, story: Story) -> Result<()> {
        let newest = self.newest();
        let Some(name) = newest.tables.keys().next().cloned() else { return self.create_table() };
        if self.unfinished || self.abandoned || self.armed || self.branches.values().any(|branch| branch.used.contains(&name)) {
            return Ok(());
        }
        let mut actors = Vec::new();
        for no in 0..ACTORS {
            let client = self.live().clients[no].take().expect("put back after each step");
            actors.push(client);
        }
        let result = self.end_all(&mut actors).and_then(|()| match self.entry(&name)? {
            Some(entry) if story == Story::BuiltOn => self.built_on(&mut actors, &name, &entry),
            Some(entry) => self.leftover(&mut actors, &name, &entry),
            None => Ok(()),
        });
        for client in actors {
            let no = client.no;
            self.live().clients[no] = Some(client);
        }
        result
    }

    fn end_all(&mut self, actors: &mut [Client]) -> Result<()> {
        for client in actors {
            if client.committing.is_none()
                && (client.txn.as_ref().is_some_and(|txn| txn.idle || txn.branch.is_some()) || self.random.percent(50))
            {
                self.rollback(client)?;
            } else {
                self.commit(client)?;
            }
            if client.committing.is_some() {
                self.commit(client)?;
            }
        }
        Ok(())
    }

    /// Begins a transaction that works on `table`, which no definition changes until its commit is durable; without one, it holds a snapshot and nothing else.
    fn begin_as(&mut self, client: &mut Client, isolation: Isolation, policy: FlushPolicy, table: Option<&str>) {
        client.session.begin(isolation, false);
        client.session.set_flush_policy(policy);
        self.trace.line(format!("c{} begin {isolation:?} {policy:?} in a story", client.no));
        let mut txn = OpenTransaction::new(isolation, policy);
        match table {
            Some(name) => _ = txn.used.insert(name.to_owned()),
            None => {
                txn.idle = true;
                let visible = self.visible();
                client.session.open_snapshot();
                txn.model.open_snapshot(&visible);
            }
        }
        client.txn = Some(txn);
        client.session.statement_start();
    }

    /// Whether the client's transaction goes on and has changed something since.
    fn has_written_since(client: &Client, mark: usize) -> bool {
        client.txn.as_ref().is_some_and(|txn| txn.model.savepoint() > mark)
    }

    fn built_on(&mut self, actors: &mut [Client], name: &str, entry: &Arc<TableEntry>) -> Result<()> {
        let [first, second, ..] = actors else { return Ok(()) };
        self.begin_as(first, Isolation::ReadCommitted, FlushPolicy::Durable, Some(name));
        for _ in 0..self.random.between(2, 4) {
            first.session.statement_start();
            self.write_statement(first, name, entry)?;
            if first.txn.is_none() {
                return Ok(());
            }
        }
        let newest = self.newest();
        let Some(txn) = first.txn.take() else { return Ok(()) };
        let changed: Vec<Vec<u8>> = txn.model.changes_of(name).filter(|(_, row)| row.is_some()).map(|(key, _)| key.clone()).collect();
        if !first.session.has_writes() || changed.len() < 2 {
            first.txn = Some(txn);
            return self.rollback(first);
        }
        let state = txn.model.apply(&newest);
        self.begin_commit(first, txn, state)?;
        let policy = *self.random.one_of(&[FlushPolicy::Lazy, FlushPolicy::Write]);
        self.begin_as(second, Isolation::ReadCommitted, policy, Some(name));
        let key = self.random.one_of(&changed).clone();
        let rows = self.current(second, name);
        let Some(old) = rows.get(&key) else { return self.rollback(second) };
        let row = self.with_new_value(name, old);
        self.modify_at(second, name, entry, &key, Modify::Replace, Some(row))?;
        if !Self::has_written_since(second, 0) {
            return self.rollback(second);
        }
        self.commit(second)?;
        self.count("commits built on one that is not durable, as a story");
        if !self.is_last_life && self.random.percent(50) {
            self.disk.crash_at(1);
            self.trace.line("crash planned at the next change".into());
            return Ok(());
        }
        self.check_contents()
    }

    /// The row with another value in a column that only the plain index on `k` may have.
    fn with_new_value(&mut self, name: &str, old: &Row) -> Vec<Value> {
        let table = self.newest().tables[name].clone();
        let mut row = old.to_vec();
        row[1] = schema::value(&mut self.random, &self.options, &table.def, 1);
        row
    }

    fn leftover(&mut self, actors: &mut [Client], name: &str, entry: &Arc<TableEntry>) -> Result<()> {
        let [older, newer, writer, ..] = actors else { return Ok(()) };
        let table = self.newest().tables[name].clone();
        self.begin_as(older, Isolation::RepeatableRead, FlushPolicy::Durable, None);
        // One transaction, two versions: nobody needs the first.
        self.begin_as(writer, Isolation::RepeatableRead, FlushPolicy::Durable, Some(name));
        let mut row = schema::row(&mut self.random, &self.options, &table.def);
        let (old_key, new_key) = (Value::Int(1_000 + self.random.below(50) as i64), Value::Int(2_000 + self.random.below(50) as i64));
        row[1] = old_key.clone();
        self.insert_row(writer, name, entry, row, false)?;
        let key = writer.txn.as_ref().and_then(|txn| {
            let mine = txn.model.changes_of(name).find(|(_, row)| row.as_ref().is_some_and(|row| row[1] == old_key));
            mine.map(|(key, row)| (key.clone(), row.as_ref().map(|row| row.to_vec()).unwrap_or_default()))
        });
        let Some((key, mut row)) = key else { return self.rollback(writer) };
        row[1] = new_key;
        self.modify_at(writer, name, entry, &key, Modify::Replace, Some(row.clone()))?;
        if !Self::has_written_since(writer, 1) {
            return self.rollback(writer);
        }
        self.commit(writer)?;
        if writer.committing.is_some() {
            self.commit(writer)?;
        }
        self.begin_as(newer, Isolation::RepeatableRead, FlushPolicy::Durable, None);
        let before = self.engine().pruned();
        self.purge();
        if self.engine().pruned() == before {
            return Ok(());
        }
        // No history that a restart finds has it, nor the log that it reads.
        if let Err(error) = self.engine().pool().flush_all() {
            return self.excuse(&error.into(), "flush");
        }
        self.checkpoint()?;
        // The key of the first version comes back, and goes again.
        self.begin_as(writer, Isolation::RepeatableRead, FlushPolicy::Durable, Some(name));
        row[1] = old_key;
        self.modify_at(writer, name, entry, &key, Modify::Replace, Some(row))?;
        if writer.txn.is_some() {
            self.rollback(writer)?;
        }
        let left = engine::simulation::leftovers(self.engine());
        self.count_by("entries that a story's rollback left to purge", left as u64);
        if left > 0 && !self.is_last_life && self.random.percent(60) {
            let flushed = self.engine().wal().flush_to(self.engine().wal().lsn_head());
            self.disk.crash_at(1);
            self.trace.line(format!("crash planned behind the story; the log is durable: {}", flushed.is_ok()));
        }
        Ok(())
    }
}
