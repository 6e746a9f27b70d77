//! Branches of distributed transactions: prepared by one session, ended by any, of this life or a later one.

use crate::planted::Plant;
use crate::read::outcome;
use crate::world::{Branch, Client, OpenTransaction, Result, State, Stop, World};
use engine::{Error, FlushPolicy, Isolation, Read, Wait, Xid, simulation};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Names are used again and again.
const NAMES: usize = 6;

fn xid(name: u64) -> Xid {
    Xid { format_id: 1, gtrid: format!("g{name}").into_bytes().into(), bqual: (*b"b").into() }
}

impl World {
    /// Before a transaction begins: sometimes it is a branch.
    pub(crate) fn draw_branch(&mut self, client: &Client) -> Result<Option<u64>> {
        if !self.options.branches || !self.random.percent(40) {
            return Ok(None);
        }
        let name = self.random.below(NAMES) as u64;
        let taken = self.branches.contains_key(&name) || self.other_transactions(client.no).any(|txn| txn.branch == Some(name));
        let claimed = client.session.claim_xid(&xid(name));
        match claimed {
            true if taken => Err(Stop::Violation(format!("the name of branch {name} was given twice"))),
            false if !taken => Err(Stop::Violation(format!("the name of branch {name} is not free"))),
            claimed => Ok(claimed.then_some(name)),
        }
    }

    /// A branch that was not prepared has ended.
    pub(crate) fn release_name(&self, client: &Client, txn: &OpenTransaction) {
        if let Some(name) = txn.branch {
            client.session.release_xid(&xid(name));
        }
    }

    pub(crate) fn prepare(&mut self, client: &mut Client) -> Result<()> {
        let Some(mut txn) = client.txn.take() else { return Ok(()) };
        let Some(name) = txn.branch else { return Err(Stop::Violation("prepare of no branch".into())) };
        let has_writes = client.session.has_writes();
        if self.plant == Some(Plant::PrepareNotSynced) {
            client.session.set_flush_policy(FlushPolicy::Lazy);
        }
        if self.plant == Some(Plant::PreparedTablesUnnamed) {
            simulation::name_no_tables(&mut client.session);
        }
        let tables = engine::SharedTables::new(client.session.lock_owner());
        let result = client.session.prepare(&xid(name), tables);
        self.trace.line(format!("c{} prepare branch {name} {:?}: {}", client.no, txn.policy, outcome(&result)));
        txn.model.close_snapshot();
        let mut state = self.newest().next();
        state.prepared.insert(name, Arc::new(txn.model));
        match result {
            Ok(()) if has_writes => {
                self.count("branches prepared");
                self.branches.insert(name, Branch { used: txn.used, has_writes });
                self.acknowledge(state, None, txn.policy, txn.depends_on);
                Ok(())
            }
            Ok(()) => {
                self.branches.insert(name, Branch { used: txn.used, has_writes });
                Ok(())
            }
            Err(error) => {
                self.commits.doubt(state);
                self.excuse(&error, "prepare")?;
                Err(Stop::Restart(format!("prepare: {error}")))
            }
        }
    }

    /// A session outside a transaction ends some prepared branch.
    pub(crate) fn end_branch(&mut self, client: &mut Client) -> Result<()> {
        let names: Vec<u64> = self.branches.keys().copied().collect();
        if names.is_empty() {
            return Ok(());
        }
        let name = *self.random.one_of(&names);
        let policy = self.draw_policy();
        client.session.set_flush_policy(policy);
        let mut state = self.newest().next();
        let changes = state.prepared.remove(&name);
        let commit = self.random.percent(60);
        let has_writes = self.branches.get(&name).is_some_and(|branch| branch.has_writes);
        let cut_off = !commit && has_writes && self.random.percent(25);
        let result = match commit {
            _ if cut_off => {
                let some = self.random.between(1, 3) as u64;
                // Drawn apart: what is not cut off within a change stays what it was.
                let some = if self.random.clone().percent(40) { 0 } else { some };
                client.session.set_flush_policy(FlushPolicy::Durable);
                let told = self.plant != Some(Plant::BranchRollbackUntold);
                simulation::roll_back_prepared_in_part(&mut client.session, &xid(name), some, told)
            }
            true => client.session.commit_prepared(&xid(name)),
            false => {
                if self.plant == Some(Plant::BranchRollbackNotSynced) {
                    client.session.set_flush_policy(FlushPolicy::Lazy);
                }
                client.session.rollback_prepared(&xid(name))
            }
        };
        let doing = if commit { "commit" } else { "roll back" };
        self.trace.line(format!("c{} {doing} branch {name} {policy:?}: {result:?}", client.no));
        if let (true, Some(changes)) = (commit, &changes) {
            state = State { prepared: state.prepared, ..changes.apply(&self.newest()) };
            self.check_references(&state)?;
        }
        match result {
            Ok(true) => {
                self.count(if commit { "branches committed" } else { "branches rolled back" });
                let has_writes = self.branches.remove(&name).is_some_and(|branch| branch.has_writes);
                if has_writes {
                    let policy = if cut_off { FlushPolicy::Durable } else { policy };
                    self.acknowledge_branch(state, commit.then_some(changes).flatten(), policy);
                }
                match cut_off {
                    true => {
                        self.count("rollbacks of branches cut off");
                        Err(Stop::Restart("the rollback of a branch was cut off".into()))
                    }
                    false => Ok(()),
                }
            }
            Ok(false) => Err(Stop::Violation(format!("branch {name} is not there"))),
            Err(error) => {
                self.commits.doubt(state);
                self.excuse(&error, &format!("{doing} a branch"))?;
                Err(Stop::Restart(format!("{doing} a branch: {error}")))
            }
        }
    }

    fn acknowledge_branch(&mut self, state: State, changes: Option<Arc<crate::world::Transaction>>, policy: FlushPolicy) {
        let end = self.engine().wal().lsn_head();
        let number = self.commits.append(state, changes, end.0);
        self.commits.show(number);
        self.acknowledged(number, policy);
    }

    /// After a recovery: the branches that must be there are, and no others; their names are taken, their rows locked.
    pub(crate) fn check_branches(&mut self) -> Result<()> {
        let newest = self.newest();
        for (name, changes) in &newest.prepared {
            let used = newest.tables.keys().filter(|table| changes.changes_of(table).next().is_some()).cloned().collect();
            self.branches.insert(*name, Branch { used, has_writes: true });
        }
        if self.plant == Some(Plant::PreparedUnlocked) {
            simulation::unlock_prepared(self.engine());
        }
        if let Err(error) = simulation::share_tables_of_prepared(self.engine()) {
            self.excuse(&error, "share the tables of prepared branches")?;
            return Err(Stop::Restart("share the tables of prepared branches".into()));
        }
        let session = self.engine().connect();
        for (name, branch) in &newest.prepared {
            if session.claim_xid(&xid(*name)) {
                return Err(Stop::Violation(format!("the name of the prepared branch {name} is free")));
            }
            self.count("prepared branches found after a crash");
            for table in newest.tables.keys() {
                if branch.changes_of(table).next().is_some() {
                    let Some(entry) = self.entry(table)? else { return Err(Stop::Restart("open a table".into())) };
                    if entry.storage.lock.shared_count() == 0 {
                        return Err(Stop::Violation(format!("{table}: branch {name} has changed it and does not share its metadata lock")));
                    }
                }
            }
        }
        match self.lost_lock(&newest)? {
            Some(lost) => Err(Stop::Violation(lost)),
            None => Ok(()),
        }
    }

    /// Of several states the first whose prepared branches have the rows locked that they have changed.
    pub(crate) fn locked_as_in<'s>(&mut self, states: &[&'s Arc<State>]) -> Result<Option<&'s Arc<State>>> {
        for state in states {
            if self.lost_lock(state)?.is_none() {
                return Ok(Some(state));
            }
        }
        Ok(None)
    }

    /// A row that a prepared branch of a state has changed, and has not locked.
    fn lost_lock(&mut self, state: &State) -> Result<Option<String>> {
        let mut session = self.engine().connect();
        for (name, branch) in &state.prepared {
            for table in state.tables.keys() {
                let keys: BTreeSet<&Vec<u8>> = branch.changes_of(table).map(|(key, _)| key).take(3).collect();
                for key in keys {
                    let Some(entry) = self.entry(table)? else { return Err(Stop::Restart("open a table".into())) };
                    session.begin(Isolation::ReadCommitted, false);
                    let found = session.get(&entry.storage, key, Read::Exclusive(Wait::NoWait), |_| ());
                    let ended = session.rollback();
                    match found.and_then(|found| ended.map(|()| found)) {
                        Err(Error::LockNotAvailable) => {}
                        Ok(_) => return Ok(Some(format!("{table} {key:02x?}: branch {name} has lost its lock"))),
                        Err(error) => {
                            self.excuse(&error, "look for the locks of a branch")?;
                            return Err(Stop::Restart("look for the locks of a branch".into()));
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    /// Names of the branches that a state has prepared, against those of the engine.
    pub(crate) fn branch_difference(&self, state: &State) -> Option<String> {
        let found = self.engine().prepared_xids();
        let expected: Vec<Xid> = state.prepared.keys().map(|name| xid(*name)).collect();
        (found != expected).then(|| format!("prepared are {found:?}, not {expected:?}"))
    }
}
