//! Commits: whole, or in two halves with other sessions at work between them.
//!
//! # Invariants
//! 1. Between the halves the row locks are gone: writers and locking reads of others work on the model's newest state, plain reads on what is
//!    durable by then.
//! 2. Whatever was told to a client (a commit's OK, rows after [`World::tell`]) must stand after every crash, with all it was built on.

use crate::planted::Plant;
use crate::read::outcome;
use crate::world::{Client, Committing, OpenTransaction, Result, State, Stop, World};
use base::Lsn;
use engine::{FlushPolicy, simulation};
use std::sync::Arc;

impl World {
    pub(crate) fn commit(&mut self, client: &mut Client) -> Result<()> {
        if client.committing.is_some() {
            return self.finish_commit(client);
        }
        let Some(mut txn) = client.txn.take() else { return Ok(()) };
        if !client.session.has_writes() || client.session.is_without_effect() {
            return self.commit_reader(client, txn);
        }
        txn.model.close_snapshot();
        let state = txn.model.apply(&self.newest());
        self.check_references(&state)?;
        if let Some(temporary) = &mut client.temporary {
            temporary.keep(&txn.model);
        }
        if txn.branch.is_none() && self.options.halves && txn.policy == FlushPolicy::Durable && self.random.percent(60) {
            return self.begin_commit(client, txn, state);
        }
        if txn.policy != FlushPolicy::Durable && self.plant == Some(Plant::LazyOverUndurable) {
            simulation::forget_dependencies(&client.session);
        }
        let result = client.session.commit();
        self.trace.line(format!("c{} commit {:?}: {}", client.no, txn.policy, outcome(&result)));
        match result {
            Ok(()) => {
                self.count("commits");
                self.release_name(client, &txn);
                self.acknowledge(state, Some(txn.model), txn.policy, txn.depends_on);
                Ok(())
            }
            Err(error) => {
                self.commits.doubt(state);
                self.losers.push(txn.model);
                self.excuse(&error, "commit")?;
                Err(Stop::Restart(format!("commit: {error}")))
            }
        }
    }

    /// It has nothing to make durable but what it has met: it has not changed anything, or nothing is left of that.
    fn commit_reader(&mut self, client: &mut Client, txn: OpenTransaction) -> Result<()> {
        if self.plant == Some(Plant::ToldTooEarly) {
            simulation::forget_dependencies(&client.session);
        }
        let result = client.session.commit();
        self.trace.line(format!("c{} commit of a reader: {}", client.no, outcome(&result)));
        match result {
            Ok(()) => {
                self.release_name(client, &txn);
                self.told(txn.depends_on);
                Ok(())
            }
            Err(error) => self.excuse(&error, "commit of a reader"),
        }
    }

    pub(crate) fn begin_commit(&mut self, client: &mut Client, txn: OpenTransaction, state: State) -> Result<()> {
        let appended = client.session.commit_to_log();
        self.trace.line(format!("c{} commit record: {}", client.no, outcome(&appended)));
        match appended {
            Ok(Some(lsn)) => {
                self.count("commits in two halves");
                let number = self.commits.append(state, Some(Arc::new(txn.model)), lsn.0);
                client.committing = Some(Committing { number, used: txn.used });
                if self.plant == Some(Plant::UndurableShown) {
                    simulation::show_undurable(self.engine(), lsn);
                }
                Ok(())
            }
            Ok(None) => Err(Stop::Violation("a commit that changes rows did not wait for the log".into())),
            Err(error) => {
                self.commits.doubt(state);
                self.losers.push(txn.model);
                self.excuse(&error, "commit record")?;
                Err(Stop::Restart(format!("commit record: {error}")))
            }
        }
    }

    /// The second half: from here on it must stand.
    fn finish_commit(&mut self, client: &mut Client) -> Result<()> {
        let Some(Committing { number, .. }) = client.committing.take() else { return Ok(()) };
        let result = client.session.finish_commit();
        self.trace.line(format!("c{} commit record is durable: {}", client.no, outcome(&result)));
        match result {
            Ok(()) => {
                self.count("commits");
                self.commits.must_stand(number);
                Ok(())
            }
            Err(error) => {
                self.excuse(&error, "commit")?;
                Err(Stop::Restart(format!("commit: {error}")))
            }
        }
    }

    /// All that is between its halves ends.
    pub(crate) fn finish_commits(&mut self) -> Result<()> {
        for no in 0..self.options.sessions {
            let Some(mut client) = self.live().clients[no].take() else { continue };
            let result = self.finish_commit(&mut client);
            self.live().clients[no] = Some(client);
            result?;
        }
        Ok(())
    }

    /// A record that leads to `state` is in the log and its session has its OK.
    pub(crate) fn acknowledge(
        &mut self,
        state: State,
        changes: Option<crate::world::Transaction>,
        policy: FlushPolicy,
        depends_on: Option<u64>,
    ) {
        let end = self.engine().wal().lsn_head();
        let number = self.commits.append(state, changes.map(Arc::new), end.0);
        self.commits.show(number);
        self.told(depends_on);
        self.acknowledged(number, policy);
    }

    /// What the policy promises for the state of this number.
    pub(crate) fn acknowledged(&mut self, number: u64, policy: FlushPolicy) {
        match policy {
            FlushPolicy::Durable => self.commits.must_stand(number),
            FlushPolicy::Write => self.commits.note_written(number),
            FlushPolicy::Lazy => {}
        }
    }

    /// Somebody was told of the commit of this number.
    fn told(&mut self, number: Option<u64>) {
        if let Some(number) = number {
            self.commits.must_stand(number);
        }
    }

    /// Sometimes the rows of a statement go to the client: then what they depend on must stand.
    pub(crate) fn tell(&mut self, client: &mut Client) -> Result<()> {
        let Some(depends_on) = client.txn.as_ref().map(|txn| txn.depends_on) else { return Ok(()) };
        if !self.random.percent(40) {
            return Ok(());
        }
        if self.plant == Some(Plant::ToldTooEarly) {
            simulation::forget_dependencies(&client.session);
        }
        if client.session.dependencies().is_open() {
            self.count("replies that waited for others' commits");
        }
        let result = client.session.settle();
        self.trace.line(format!("c{} told, {depends_on:?}: {}", client.no, outcome(&result)));
        match result {
            Ok(()) => {
                self.told(depends_on);
                Ok(())
            }
            Err(error) => {
                self.excuse(&error, "settle")?;
                Err(Stop::Restart(format!("settle: {error}")))
            }
        }
    }

    /// The client has met the newest version of a row.
    pub(crate) fn met(&self, client: &mut Client, name: &str, key: &[u8]) {
        if let Some(txn) = &mut client.txn {
            txn.depends_on = txn.depends_on.max(self.commits.undurable_writer(name, key));
        }
    }

    /// What a snapshot that is opened now sees.
    pub(crate) fn visible(&mut self) -> Arc<State> {
        let Lsn(durable) = self.engine().wal().durable();
        self.commits.durable_up_to(durable);
        self.commits.visible()
    }
}
