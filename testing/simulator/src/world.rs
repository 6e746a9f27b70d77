//! The state of a run: the disk, the engine that lives on it now, the sessions, and the model.

use crate::cuts::Cuts;
use crate::faults::Damage;
use crate::options::{Faults, Options};
use crate::planted::Plant;
use crate::planted_disk::PlantedDisk;
use crate::random::{Purpose, Random};
use crate::schema::Row;
use crate::temporary::Temporary;
use crate::watch::Watch;
use base::TableId;
use catalog::{Catalog, CatalogError, TableDef, TableEntry};
use engine::{Engine, Error, FlushPolicy, Isolation, Savepoint, Session};
use env::{Disk, SimDisk};
use oracle::mvcc;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use sync::Mutex;

pub(crate) type State = mvcc::State<TableDef, Row>;
pub(crate) type Table = mvcc::Table<TableDef, Row>;
pub(crate) type Transaction = mvcc::Transaction<TableDef, Row>;
pub(crate) type Rows = mvcc::Rows<Row>;

/// Why a life of the engine ends before its time.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The planned crash has come.
    Crash,
    /// A fault was injected that only a restart heals.
    Restart(String),
    /// The engine did what it must not do.
    Violation(String),
}

pub(crate) type Result<T> = std::result::Result<T, Stop>;

/// An engine between two crashes.
pub(crate) struct Live {
    pub engine: Arc<Engine>,
    pub catalog: Arc<Catalog>,
    /// Taken out while it works.
    pub clients: Vec<Option<Client>>,
    /// Does the DDL.
    pub admin: Session,
    /// Trees of an index id below this one are from before the start.
    pub horizon: base::IndexId,
    /// An index that is built beside the sessions.
    pub online: Option<crate::online::Online>,
}

/// A session and its transaction.
pub(crate) struct Client {
    pub no: usize,
    pub session: Session,
    pub txn: Option<OpenTransaction>,
    /// Its commit record is in the log, and it waits for that to be durable.
    pub committing: Option<Committing>,
    pub temporary: Option<Temporary>,
}

/// A transaction between the two halves of its commit.
pub(crate) struct Committing {
    /// Of the state that it leads to.
    pub number: u64,
    pub used: BTreeSet<String>,
}

/// A prepared transaction, beside what the model's state says of it.
pub(crate) struct Branch {
    /// Tables that it has used: DDL keeps away from them.
    pub used: BTreeSet<String>,
    /// One that has changed nothing is forgotten by a crash, and has no locks.
    pub has_writes: bool,
}

/// A transaction as the model knows it.
pub(crate) struct OpenTransaction {
    pub model: Transaction,
    pub isolation: Isolation,
    pub read_only: bool,
    /// `snapshot_isolation`: the first of two who change a row wins.
    pub true_snapshot: bool,
    /// What its locking reads hold.
    pub watches: Vec<Watch>,
    /// It only looks, at an old snapshot, for long.
    pub idle: bool,
    pub policy: FlushPolicy,
    /// Its name, if it is a branch of a distributed transaction.
    pub branch: Option<u64>,
    /// The newest commit that it has met before that was durable.
    pub depends_on: Option<u64>,
    /// Whether it may hold row locks.
    pub holds_locks: bool,
    /// Tables that it has used: DDL keeps away from them.
    pub used: BTreeSet<String>,
    pub savepoints: Vec<(Savepoint, usize)>,
}

impl OpenTransaction {
    pub(crate) fn new(isolation: Isolation, policy: FlushPolicy) -> OpenTransaction {
        OpenTransaction {
            model: Default::default(),
            isolation,
            read_only: false,
            true_snapshot: false,
            watches: Vec::new(),
            idle: false,
            policy,
            branch: None,
            depends_on: None,
            holds_locks: false,
            used: Default::default(),
            savepoints: Vec::new(),
        }
    }

    /// From here on it may hold locks on rows of a table, which it must have named among those that it uses: a definition that changes meanwhile would
    /// miss its rows.
    pub(crate) fn locks_rows_of(&mut self, name: &str) {
        assert!(self.used.contains(name), "{name} is worked on, and nobody keeps its definition from changing");
        self.holds_locks = true;
    }
}

pub(crate) struct World {
    pub seed: u64,
    pub cuts: Cuts,
    pub options: Options,
    /// Of the life, or of the step that is taken now.
    pub random: Random,
    /// Steps of the lives so far and of this one, taken or left out.
    pub steps_planned: u32,
    pub steps_taken: Vec<u32>,
    pub is_last_life: bool,
    /// Ends of lives so far.
    pub end_no: u32,
    pub disk: SimDisk,
    pub access: Arc<dyn Disk>,
    pub commits: mvcc::Commits<TableDef, Row>,
    pub plant: Option<Plant>,
    /// Prepared ones.
    pub branches: BTreeMap<u64, Branch>,
    /// Whether a crash since the last recovery took the power too.
    pub power_lost: bool,
    pub live: Option<Live>,
    /// Transactions that a crash cut off, or whose rollback failed: they may hold row locks.
    pub losers: Vec<Transaction>,
    /// Whether recovery may still have something to roll back.
    pub unfinished: bool,
    /// Whether a rollback failed: its rows stay locked until a restart.
    pub abandoned: bool,
    /// Whether an injected fault may still show.
    pub armed: bool,
    /// What is wrong with the medium without anybody having been told.
    pub damage: Option<Damage>,
    /// A life met damage: what purge gave up then may lie around for ever.
    pub scarred: bool,
    /// The log that was left by the last life is known to have been durable up to here.
    pub log_marked: u64,
    /// What has to stand: nothing of it is taken from the engine.
    pub database_made: bool,
    pub warnings: Arc<Mutex<Vec<String>>>,
    pub trace: Trace,
    pub counts: BTreeMap<&'static str, u64>,
    /// What rows were before their last change, so that a change may bring an old key back.
    pub former: BTreeMap<(String, Vec<u8>), Row>,
    /// Largest AUTO_INCREMENT value that each table gave out in this life.
    pub given: BTreeMap<TableId, u64>,
    /// Temporary tables made so far.
    pub temporary_made: u64,
    /// The list of the pages in memory is not as the engine has written it.
    pub list_spoilt: bool,
}

/// What happened: a hash of everything, and the last lines in full.
pub(crate) struct Trace {
    hash: u64,
    lines: VecDeque<String>,
    aloud: bool,
    total: u64,
}

const LINES_KEPT: usize = 60;

impl Trace {
    pub(crate) fn new(aloud: bool) -> Trace {
        Trace { hash: 0xCBF2_9CE4_8422_2325, lines: VecDeque::new(), aloud, total: 0 }
    }

    pub(crate) fn line(&mut self, line: String) {
        for byte in line.bytes().chain([b'\n']) {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
        if self.aloud {
            println!("{:6} {line}", self.total);
        }
        self.total += 1;
        if self.lines.len() == LINES_KEPT {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) fn tail(&self) -> String {
        self.lines.iter().map(|line| format!("  {line}\n")).collect()
    }
}

impl World {
    pub(crate) fn new(seed: u64, plant: Option<Plant>, aloud: bool, cuts: &Cuts) -> World {
        let mut random = Random::new(seed, Purpose::Options);
        let options = Options::draw(&mut random, plant, cuts);
        let disk = SimDisk::new(random.next());
        disk.set_sector_bytes(options.sector_bytes);
        let access: Arc<dyn Disk> = match plant {
            Some(plant) => Arc::new(PlantedDisk::new(disk.clone(), plant)),
            None => Arc::new(disk.clone()),
        };
        let mut trace = Trace::new(aloud);
        trace.line(format!("{options:?}"));
        World {
            seed,
            cuts: cuts.clone(),
            options,
            random,
            steps_planned: 0,
            steps_taken: Vec::new(),
            is_last_life: false,
            end_no: 0,
            damage: None,
            scarred: false,
            log_marked: 0,
            disk,
            access,
            commits: mvcc::Commits::new(),
            plant,
            branches: BTreeMap::new(),
            power_lost: false,
            live: None,
            losers: Vec::new(),
            unfinished: false,
            abandoned: false,
            armed: false,
            database_made: false,
            warnings: crate::options::warnings(),
            trace,
            counts: BTreeMap::new(),
            former: BTreeMap::new(),
            given: BTreeMap::new(),
            temporary_made: 0,
            list_spoilt: false,
        }
    }

    pub(crate) fn live(&mut self) -> &mut Live {
        self.live.as_mut().expect("the engine is up")
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.live.as_ref().expect("the engine is up").engine
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        self.count_by(what, 1);
    }

    pub(crate) fn count_by(&mut self, what: &'static str, by: u64) {
        *self.counts.entry(what).or_default() += by;
    }

    /// The newest acknowledged state.
    pub(crate) fn newest(&self) -> Arc<State> {
        Arc::clone(self.commits.newest())
    }

    /// What an error that the model did not ask for means: `Ok` when the transaction is to be rolled back, and life goes on.
    pub(crate) fn excuse(&mut self, error: &Error, doing: &str) -> Result<()> {
        if self.disk.is_down() {
            return Err(Stop::Crash);
        }
        if !self.armed {
            return Err(Stop::Violation(format!("{doing}: {error}")));
        }
        self.count("errors excused by a fault");
        match error {
            Error::LogFailed => Err(Stop::Restart(format!("{doing}: {error}"))),
            Error::Io(_) | Error::NoFrames => Ok(()),
            Error::DiskFull if matches!(self.options.faults, Faults::Full | Faults::Writes) => Ok(()),
            Error::Corruption { .. } if self.damage.is_some() => Ok(()),
            error => Err(Stop::Violation(format!("{doing}: {error}, which no fault explains"))),
        }
    }

    /// The same for the catalogue.
    pub(crate) fn excuse_catalog(&mut self, error: &CatalogError, doing: &str) -> Result<()> {
        match error {
            CatalogError::Engine(error) => self.excuse(error, doing),
            CatalogError::Damaged(_) if self.damage.is_some() => Ok(()),
            _ if self.disk.is_down() => Err(Stop::Crash),
            error => Err(Stop::Violation(format!("{doing}: {error}"))),
        }
    }

    /// A table of the newest state, opened. `None` after a fault.
    pub(crate) fn entry(&mut self, name: &str) -> Result<Option<Arc<TableEntry>>> {
        let found = self.live().catalog.table(crate::schema::DATABASE, name);
        match found {
            Ok(entry) => Ok(Some(entry)),
            Err(error) => self.excuse_catalog(&error, &format!("look up {name}")).map(|()| None),
        }
    }

    /// Whether anybody but client `no` may hold row locks.
    pub(crate) fn others_hold_locks(&self, no: usize) -> bool {
        let prepared = self.branches.values().any(|branch| branch.has_writes);
        self.unfinished || self.abandoned || prepared || self.other_transactions(no).any(|txn| txn.holds_locks)
    }

    /// Open transactions of the other clients.
    pub(crate) fn other_transactions(&self, no: usize) -> impl Iterator<Item = &OpenTransaction> {
        let clients = self.live.iter().flat_map(|live| &live.clients).flatten();
        clients.filter(move |client| client.no != no).filter_map(|client| client.txn.as_ref())
    }

    /// What running and prepared transactions but that of client `no` have changed.
    pub(crate) fn foreign(&self, no: usize) -> impl Iterator<Item = &Transaction> {
        let prepared = self.commits.newest().prepared.values().map(|model| &**model);
        self.other_transactions(no).map(|txn| &txn.model).chain(prepared)
    }

    /// Whether another running or prepared transaction has changed this row.
    pub(crate) fn changed_by_others(&self, no: usize, table: &str, key: &[u8]) -> bool {
        self.foreign(no).any(|model| model.changed(table, key))
    }

    /// Tables that somebody uses: DDL keeps away from them.
    pub(crate) fn used_tables(&self) -> BTreeSet<String> {
        let running = self.other_transactions(usize::MAX).map(|txn| &txn.used);
        let clients = self.live.iter().flat_map(|live| &live.clients).flatten();
        let committing = clients.filter_map(|client| client.committing.as_ref()).map(|committing| &committing.used);
        let prepared = self.branches.values().map(|branch| &branch.used);
        running.chain(committing).chain(prepared).flatten().cloned().collect()
    }

    /// Whether no transaction runs, waits for its durability, or is prepared.
    pub(crate) fn nobody_works(&self) -> bool {
        let mut clients = self.live.iter().flat_map(|live| &live.clients).flatten();
        let builds = self.live.as_ref().is_some_and(|live| live.online.is_some());
        self.branches.is_empty() && !builds && clients.all(|client| client.txn.is_none() && client.committing.is_none())
    }

    /// A fault hit a statement: the client rolls back, as a client would. A rollback that fails leaves a loser.
    pub(crate) fn give_up(&mut self, client: &mut Client) -> Result<()> {
        self.trace.line(format!("c{} gives up", client.no));
        let Some(txn) = client.txn.take() else { return Ok(()) };
        let result = client.session.rollback();
        self.release_name(client, &txn);
        if let Err(error) = result {
            self.losers.push(txn.model);
            self.abandoned = true;
            self.count("rollbacks that failed");
            self.excuse(&error, "rollback after an error")?;
        }
        Ok(())
    }

    /// Nobody asked for these.
    pub(crate) fn check_warnings(&mut self) -> Result<()> {
        let warnings = std::mem::take(&mut *self.warnings.lock());
        if self.disk.is_down() {
            return Err(Stop::Crash);
        }
        // A loser whose rollback met a fault stays, with its locks.
        self.abandoned |= self.armed && warnings.iter().any(|text| text.starts_with("rollback"));
        match warnings.iter().find(|text| !text.starts_with("recovery:")) {
            Some(text) if !self.armed => Err(Stop::Violation(format!("warning: {text}"))),
            _ => Ok(()),
        }
    }
}
