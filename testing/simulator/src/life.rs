//! What lies between two crashes: opening and recovery, a stretch of random steps, faults, and the end.

use crate::options::Faults;
use crate::planted::Plant;
use crate::random::{Purpose, Random};
use crate::schema::DATABASE;
use crate::world::{Client, Live, Result, Stop, World};
use base::Lsn;
use catalog::{Catalog, CatalogError};
use engine::{Engine, Isolation};
use env::SimClock;
use std::sync::Arc;
use std::time::Duration;
use txn::Snapshots;
use types::Collation;

impl World {
    /// Opens the engine and compares what recovery has made with the model.
    pub(crate) fn open(&mut self) -> Result<()> {
        self.given.clear();
        self.abandoned = false;
        let config = self.options.engine(&self.warnings);
        let opened = Engine::open(Arc::clone(&self.access), Arc::new(SimClock::new(0)), config);
        let engine = match opened {
            Ok(engine) => engine,
            Err(error) => {
                self.excuse(&error, "open")?;
                return Err(Stop::Restart(format!("open: {error}")));
            }
        };
        self.log_marked = engine.wal().redo_lsn().0;
        let catalog = Catalog::open(&engine).map_err(|error| Stop::Violation(format!("open the catalogue: {error}")))?;
        let clients = (0..self.options.sessions)
            .map(|no| {
                let mut session = engine.connect();
                session.set_lock_wait_timeout(Duration::ZERO);
                Some(Client { no, session, txn: None, committing: None, temporary: None })
            })
            .collect();
        let mut admin = engine.connect();
        admin.set_lock_wait_timeout(Duration::ZERO);
        self.trace.line(format!("opened, log head {}", engine.wal().lsn_head()));
        for lacking in engine.pool().store().lacking() {
            self.trace.line(format!("page {} lacks changes from {} to {}", lacking.page, lacking.from, lacking.to));
            self.count("pages that redo needed and that were served around");
        }
        let horizon = catalog.orphan_horizon();
        self.live = Some(Live { engine, catalog, clients, admin, horizon, online: None });
        self.unfinished = true;
        self.begin_warm()?;
        self.settle()?;
        self.check_branches()?;
        if self.random.percent(70) {
            self.finish_recovery()?;
        } else {
            self.check_contents()?;
        }
        self.make_database()?;
        self.check_warnings()
    }

    /// Rolls back all losers and checks everything.
    pub(crate) fn finish_recovery(&mut self) -> Result<()> {
        while self.engine().roll_back_loser() {}
        self.check_warnings()?;
        self.unfinished = false;
        self.losers.clear();
        self.check_contents()?;
        if self.nobody_works() && !self.abandoned && !self.armed { self.check_idle() } else { Ok(()) }
    }

    fn make_database(&mut self) -> Result<()> {
        let made = self.database_made;
        let live = self.live();
        match live.catalog.database(DATABASE) {
            Ok(_) => self.database_made = true,
            Err(CatalogError::UnknownDatabase(_)) if !made => {
                let made = live.catalog.create_database(&mut live.admin, DATABASE, Collation::DEFAULT);
                match made {
                    Ok(()) => self.database_made = true,
                    Err(CatalogError::Engine(engine::Error::LockWaitTimeout)) if self.unfinished => {
                        return Err(Stop::Restart("the database is in the hands of a loser".into()));
                    }
                    Err(error) => {
                        self.excuse_catalog(&error, "create database")?;
                        return Err(Stop::Restart("create database".into()));
                    }
                }
            }
            Err(error) => {
                self.excuse_catalog(&error, "look up the database")?;
                return Err(Stop::Restart("look up the database".into()));
            }
        }
        Ok(())
    }

    /// A stretch of steps. Which of them are left out does not change what the others draw.
    pub(crate) fn work(&mut self) -> Result<()> {
        let steps = self.random.between(self.options.steps / 4, self.options.steps);
        let fault_at = self.random.below(steps);
        let full_until = fault_at + self.random.between(5, 40);
        let crash_at = self.random.percent(85).then(|| self.random.below(steps));
        let crash_after = 1 + self.random.below(*self.random.clone().one_of(&[4, 10, 60, 300])) as u64;
        let first = self.steps_planned;
        self.steps_planned += steps as u32;
        for step in 0..steps {
            let no = first + step as u32;
            self.random = Random::new(self.seed, Purpose::Step(no));
            if step == fault_at {
                self.inject_fault()?;
            }
            if step == full_until && self.options.faults == Faults::Full {
                self.give_room()?;
            }
            if crash_at == Some(step) && !self.is_last_life {
                self.disk.crash_at(crash_after);
                self.trace.line(format!("crash planned at change {crash_after}"));
            }
            if self.cuts.takes(no) {
                self.steps_taken.push(no);
                let wal = self.engine().wal();
                let (durable, head) = (wal.durable(), wal.lsn_head());
                // With how far the log is: two runs that differ there only come apart much later.
                self.trace.line(format!("step {no}, log {durable} of {head}"));
                self.keep_log_short()?;
                self.step()?;
                self.check_warnings()?;
            }
        }
        self.disk.set_capacity(None);
        self.disk.set_full(None);
        Ok(())
    }

    /// Nobody takes checkpoints in the background, and a writer would wait for one for ever.
    fn keep_log_short(&mut self) -> Result<()> {
        let engine = Arc::clone(self.engine());
        let (age, capacity) = (engine.wal().age(), engine.wal().capacity());
        if age < capacity / 4 {
            return Ok(());
        }
        let done = engine.pool().flush_all().map_err(engine::Error::from).and_then(|()| engine.checkpoint());
        self.trace.line(format!("checkpoint of a long log: {}", crate::read::outcome(&done)));
        if let Err(error) = done {
            self.excuse(&error, "checkpoint")?;
        }
        match engine.wal().age() < capacity / 2 {
            true => Ok(()),
            false if self.armed => Err(Stop::Restart("the log cannot be cut".into())),
            false => Err(Stop::Violation(format!("the log has an age of {} after a sharp checkpoint", engine.wal().age()))),
        }
    }

    fn step(&mut self) -> Result<()> {
        self.warm_step()?;
        if let Some(story) = self.options.story
            && self.random.percent(5)
        {
            return self.story(story);
        }
        if self.options.keys {
            self.make_family()?;
        }
        self.watch_online();
        if self.options.ddl && self.online_turn() {
            return self.online_step();
        }
        match self.random.below(100) {
            0..3 if self.options.hot && self.random.percent(90) => Ok(()),
            13..20 if self.options.hot => {
                let before = self.engine().pruned();
                self.purge();
                // What was pruned is then in no history that a restart finds, nor in the log that it reads.
                if self.engine().pruned() == before || self.random.percent(40) {
                    return Ok(());
                }
                if let Err(error) = self.engine().pool().flush_all() {
                    return self.excuse(&error.into(), "flush");
                }
                self.checkpoint()
            }
            0..3 => self.checkpoint(),
            13..40 if self.options.watchers > 0 => {
                self.purge();
                Ok(())
            }
            3..7 => self.flush_some(),
            7..11 => {
                self.purge();
                Ok(())
            }
            11 | 12 => self.housekeeping(),
            13..16 if self.options.ddl => self.ddl(),
            16 | 17 if self.unfinished => {
                let more = self.engine().roll_back_loser();
                self.trace.line(format!("roll back a loser: {more}"));
                if more { Ok(()) } else { self.finish_recovery() }
            }
            _ if self.newest().tables.is_empty() => self.create_table(),
            _ => {
                let mut no = self.random.below(self.options.sessions);
                if self.is_idle(no) && self.random.percent(70) {
                    no = self.random.below(self.options.sessions);
                }
                let mut client = self.live().clients[no].take().expect("put back after each step");
                let result = self.client_step(&mut client);
                self.live().clients[no] = Some(client);
                result
            }
        }
    }

    fn is_idle(&self, no: usize) -> bool {
        let client = self.live.as_ref().and_then(|live| live.clients[no].as_ref());
        client.and_then(|client| client.txn.as_ref()).is_some_and(|txn| txn.idle)
    }

    pub(crate) fn purge(&mut self) {
        let left = engine::simulation::leftovers(self.engine());
        self.count_by("entries that rollbacks left to purge", left as u64);
        let before = self.engine().pruned();
        if self.plant == Some(Plant::PrunedNeeded) {
            engine::simulation::prune_needed(self.engine());
        }
        if self.plant == Some(Plant::OlderSkipLost) {
            engine::simulation::lose_older_skips(self.engine());
        }
        if self.plant == Some(Plant::KeptRowsPurged) {
            engine::simulation::prune_rows_of_kept(self.engine());
        }
        self.engine().purge_all();
        if self.seed.is_multiple_of(2) {
            // What is released is gone at once: readers that come by it have lost their way.
            engine::simulation::forget_released_undo(self.engine());
        }
        let pruned = self.engine().pruned() - before;
        let views = self.other_transactions(usize::MAX).filter(|txn| txn.model.snapshot().is_some()).count();
        self.trace.line(format!("purge: {pruned} transactions between {views} snapshots"));
        self.count_by("transactions pruned between snapshots", pruned);
        if views > Snapshots::OLD_MAX {
            self.count_by("of those, with more snapshots than are looked at one by one", pruned);
        }
    }

    /// What the other background threads do.
    fn housekeeping(&mut self) -> Result<()> {
        let engine = Arc::clone(self.engine());
        if self.random.percent(30) {
            // As when there is little to do: nothing waits for purge, and the checkpoint says so.
            self.purge();
            return self.checkpoint();
        }
        let done = match self.random.percent(50) {
            true => engine::simulation::spill_undo(&engine).map(|bytes| format!("{bytes} bytes of undo spilled")),
            false => engine::simulation::write_counters(&engine).map(|()| "counters written".into()),
        };
        match done {
            Ok(done) => {
                self.trace.line(done);
                Ok(())
            }
            Err(error) => self.excuse(&error, "housekeeping"),
        }
    }

    pub(crate) fn checkpoint(&mut self) -> Result<()> {
        let done = self.engine().checkpoint();
        self.trace.line(format!("checkpoint: {}", crate::read::outcome(&done)));
        match done {
            Ok(()) => {
                self.count("checkpoints");
                // It has made the log durable.
                self.commits.all_durable();
                Ok(())
            }
            Err(error) => self.excuse(&error, "checkpoint"),
        }
    }

    fn flush_some(&mut self) -> Result<()> {
        let engine = Arc::clone(self.engine());
        let head = engine.wal().lsn_head();
        let below = if self.random.percent(50) { Lsn(head.0 + 1) } else { Lsn(engine.wal().redo_lsn().0.midpoint(head.0)) };
        let pages = self.random.between(1, 30);
        let done = engine.pool().flush_some(below, pages);
        self.trace.line(format!("flush {pages} pages below {below}: {done:?}"));
        match done {
            Ok(_) => Ok(()),
            Err(error) => self.excuse(&error.into(), "flush"),
        }
    }

    fn client_step(&mut self, client: &mut Client) -> Result<()> {
        if client.committing.is_some() {
            // The others go on meanwhile.
            return if self.random.percent(30) { self.commit(client) } else { Ok(()) };
        }
        if client.txn.is_none() {
            if !self.branches.is_empty() && self.random.percent(25) {
                return self.end_branch(client);
            }
            if self.options.temporary && self.random.percent(15) {
                return self.temporary_between(client);
            }
            return self.begin(client);
        }
        let is_branch = client.txn.as_ref().is_some_and(|txn| txn.branch.is_some());
        let idle = client.txn.as_ref().is_some_and(|txn| txn.idle);
        match self.random.below(100) {
            // Another takes its place, which sees more.
            0..4 if idle && self.options.watchers > 0 => return self.commit(client),
            0..96 if idle => {}
            0..12 if is_branch && self.random.percent(70) => return self.prepare(client),
            0..12 => return self.commit(client),
            20..80 if !idle && self.options.watchers > 0 && client.session.has_writes() => {
                return self.commit(client);
            }
            20..32 if self.options.keys && client.session.has_writes() => return self.commit(client),
            12 => return self.rollback(client),
            16..32 if self.options.hot && !idle => return self.rollback(client),
            13..16 => {
                self.savepoint(client);
                return Ok(());
            }
            16..19 => return self.rollback_to(client),
            _ => {}
        }
        if self.options.temporary && self.random.percent(30) && self.temporary_statement(client)? {
            return Ok(());
        }
        let newest = self.newest();
        let names: Vec<&String> = newest.tables.keys().collect();
        let name = (*self.random.one_of(&names)).clone();
        let Some(entry) = self.entry(&name)? else { return Ok(()) };
        client.session.statement_start();
        if let Some(txn) = &mut client.txn {
            txn.used.insert(name.clone());
            if txn.isolation == Isolation::ReadCommitted {
                txn.model.close_snapshot();
            }
        }
        match self.random.below(100) {
            0..55 if idle => self.read_point(client, &name, &entry),
            0..85 if self.options.watchers > 0 => self.write_statement(client, &name, &entry),
            0..85 if self.options.keys => self.statement_with_keys(client, &name),
            0..55 => self.write_statement(client, &name, &entry),
            55..70 => self.read_point(client, &name, &entry),
            70..74 => self.read_unique(client, &name, &entry),
            _ => self.read_range(client, &name, &entry),
        }
    }

    /// Ends all transactions, checks everything, and shuts the engine down as an operator would.
    pub(crate) fn close(&mut self) -> Result<()> {
        for no in 0..self.options.sessions {
            let mut client = self.live().clients[no].take().expect("put back after each step");
            let ended = if self.random.percent(50) { self.commit(&mut client) } else { self.rollback(&mut client) };
            self.live().clients[no] = Some(client);
            ended?;
        }
        self.finish_commits()?;
        self.end_temporary()?;
        while !self.branches.is_empty() && self.random.percent(95) {
            let mut client = self.live().clients[0].take().expect("put back after each step");
            let ended = self.end_branch(&mut client);
            self.live().clients[0] = Some(client);
            ended?;
        }
        self.finish_recovery()?;
        if self.options.warm {
            self.write_list()?;
        }
        let closed = self.engine().close(true);
        self.trace.line(format!("close: {}", crate::read::outcome(&closed)));
        match closed {
            Ok(()) => {
                self.commits.all_durable();
                Ok(())
            }
            Err(error) => self.excuse(&error, "close"),
        }
    }

    /// After a failed sync or log write: nothing is acknowledged any more.
    pub(crate) fn check_refusal(&mut self) -> Result<()> {
        let engine = Arc::clone(self.engine());
        if !engine.wal().has_failed() || self.disk.is_down() {
            return Ok(());
        }
        self.count("failed logs");
        // Whoever waits for its commit gets an error, or what it was told stands.
        for client in self.live.iter_mut().flat_map(|live| &mut live.clients).flatten() {
            if let Some(committing) = client.committing.take()
                && client.session.finish_commit().is_ok()
            {
                self.commits.must_stand(committing.number);
            }
        }
        let mut session = engine.connect();
        session.set_lock_wait_timeout(Duration::ZERO);
        session.begin(Isolation::RepeatableRead, false);
        let dictionary = Arc::clone(engine.dictionary());
        let mut row = Vec::new();
        let values = [types::Value::bytes(&b"X"[..]), types::Value::bytes(&b"never"[..])];
        if dictionary.layout().encode(&values, &mut row).is_err() {
            return Err(Stop::Violation("a dictionary row cannot be encoded".into()));
        }
        let written = session.insert(&dictionary, &mut row).and_then(|()| session.commit());
        self.trace.line(format!("a commit on a failed log: {}", crate::read::outcome(&written)));
        match written {
            Ok(()) => Err(Stop::Violation("a commit was acknowledged after the log had failed".into())),
            Err(_) => match engine.checkpoint() {
                Ok(()) => Err(Stop::Violation("a checkpoint was written after the log had failed".into())),
                Err(_) => Ok(()),
            },
        }
    }

    /// The engine is gone: by power loss, or because the process died.
    pub(crate) fn bring_down(&mut self, power_loss: bool) {
        self.end_no += 1;
        self.disk.reseed(Random::new(self.seed, Purpose::Disk(self.end_no)).next());
        if let Some(live) = &self.live {
            self.log_marked = self.log_marked.max(live.engine.wal().marked().0);
        }
        // The disk first: what sessions do as they are dropped must not reach it.
        if power_loss {
            let report = self.disk.crash();
            self.trace.line(format!("crash: {report:?} {:?}", self.disk.counts()));
            self.count("crashes");
        } else {
            self.disk.kill();
            self.trace.line("kill".into());
        }
        self.power_lost |= power_loss;
        self.branches.clear();
        self.former.clear();
        self.disk.set_capacity(None);
        self.disk.set_full(None);
        if let Some(mut live) = self.live.take() {
            for client in live.clients.iter_mut().flatten() {
                if client.committing.take().is_some() {
                    engine::simulation::leave_commit(&mut client.session);
                }
                if let Some(txn) = client.txn.take() {
                    self.losers.push(txn.model);
                }
            }
        }
        self.warnings.lock().clear();
        self.armed = self.damage.is_some();
    }
}
