//! The engine with all its threads on a simulated disk: committers, readers, cleaner, purge, checkpoints, the log's background; the disk crashes, or the process
//! dies, at a random moment. Schedules are chance, so a seed repeats only what is drawn; the oracle is a ledger of acknowledged commits.
//!
//! # What is demanded
//! 1. After each crash every acknowledged transfer is there, and every other wholly or not at all: balances are what the transfers make them.
//! 2. What is left is a possible order of early releases: no transfer is there that was built on one which is not (a balance would be wrong).
//! 3. AUTO_INCREMENT goes past all that is there; tables and indexes agree, no page leaks.
//! 4. A snapshot shows one moment, while everything runs.

use crate::options::{Options, warnings};
use crate::planted::Plant;
use crate::planted_disk::PlantedDisk;
use crate::random::{Purpose, Random};
use crate::schema::{DATABASE, encode};
use catalog::{Catalog, ColumnDef, IndexDef, TableDef, TableEntry};
use engine::{
    Direction, Engine, EngineConfig, Error, Isolation, KeyRange, LoadStatus, Modified, Modify, Read, Session, Step, Wait, WarmSettings,
};
use env::{Disk, SimClock, SimDisk};
use record::KeyPart;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Mutex, Rank};
use types::{Collation, ColumnType, Value};

const ACCOUNTS: i64 = 40;
const START_BALANCE: i64 = 1000;
const WORKERS: u64 = 5;
/// Who holds a lock when the disk dies keeps it: others wait no longer than that, so as to see that all is over.
const LOCK_WAIT: Duration = Duration::from_millis(300);

/// What a run has seen.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ThreadReport {
    /// Crashes of the disk, and deaths of the process.
    pub crashes: u64,
    /// Acknowledged transfers: all were there after every crash.
    pub acknowledged: u64,
    /// Transfers that were there without having been acknowledged.
    pub unanswered: u64,
    /// Snapshots that were added up while others wrote.
    pub snapshots: u64,
    /// Lives whose start read the pages that the one before had in memory.
    pub warm_starts: u64,
    /// Waits for a lock that were too long although the disk was alive: a slow machine, or a lock that nobody hands over.
    pub lock_timeouts: u64,
}

impl ThreadReport {
    /// Adds another run's.
    pub fn add(&mut self, other: &ThreadReport) {
        self.crashes += other.crashes;
        self.acknowledged += other.acknowledged;
        self.unanswered += other.unanswered;
        self.snapshots += other.snapshots;
        self.warm_starts += other.warm_starts;
        self.lock_timeouts += other.lock_timeouts;
    }
}

/// What clients were told, and what they may have done.
struct Ledger {
    acknowledged: Mutex<Vec<(i64, i64)>>,
    snapshots: AtomicU64,
    lock_timeouts: AtomicU64,
    violation: Mutex<Option<String>>,
    over: AtomicBool,
}

impl Ledger {
    fn violated(&self, what: String) {
        self.violation.lock().get_or_insert(what);
        self.over.store(true, Ordering::SeqCst);
    }
}

struct Life {
    engine: Arc<Engine>,
    account: Arc<TableEntry>,
    transfer: Arc<TableEntry>,
    disk: SimDisk,
}

fn table(name: &str, columns: &[&str], counter: bool, indexes: Vec<IndexDef>) -> TableDef {
    let mut columns: Vec<_> = columns.iter().map(|name| ColumnDef::new(*name, ColumnType::int().not_null())).collect();
    columns[0].auto_increment = counter;
    TableDef::new(DATABASE, name, columns, indexes)
}

fn key(entry: &TableEntry, id: i64) -> Vec<u8> {
    encode(&entry.def, &entry.def.indexes[0].parts, &[Value::Int(id)])
}

fn ints(row: record::RowRef<'_>) -> Result<Vec<i64>, Error> {
    let mut values = Vec::new();
    row.values(&mut values).map_err(|_| Error::Io("a row that cannot be decoded".into()))?;
    Ok(values.iter().map(|value| if let Value::Int(int) = value { *int } else { 0 }).collect())
}

fn insert(session: &mut Session, entry: &TableEntry, row: &[i64]) -> Result<(), Error> {
    let row: Vec<Value> = row.iter().map(|int| Value::Int(*int)).collect();
    let mut bytes = Vec::new();
    entry.storage.layout().encode(&row, &mut bytes).map_err(|error| Error::Io(format!("encode: {error:?}")))?;
    session.insert(&entry.storage, &mut bytes)
}

fn add(session: &mut Session, entry: &TableEntry, id: i64, amount: i64) -> Result<(), Error> {
    let modified = session.modify(&entry.storage, &key(entry, id), |row, out| {
        let Ok(mut row) = ints(row) else { return Modify::Keep };
        row[1] += amount;
        let row: Vec<Value> = row.into_iter().map(Value::Int).collect();
        out.clear();
        if entry.storage.layout().encode(&row, out).is_ok() { Modify::Replace } else { Modify::Keep }
    })?;
    if modified == Modified::Replaced { Ok(()) } else { Err(Error::Io(format!("account {id}: {modified:?}"))) }
}

fn scan(session: &mut Session, entry: &TableEntry, index_no: usize) -> Result<Vec<Vec<i64>>, Error> {
    let mut rows = Vec::new();
    let mut failed = None;
    let mut scan = session.scan(&entry.storage, index_no, KeyRange::all(), Direction::Forward, Read::Snapshot)?;
    scan.for_each(|row, _| {
        match ints(row) {
            Ok(row) => rows.push(row),
            Err(error) => failed = Some(error),
        }
        Step::Continue
    })?;
    failed.map_or(Ok(rows), Err)
}

/// Both tables by one snapshot, each by its primary index and by its secondary one.
fn look(life: &Life, session: &mut Session) -> Result<(Vec<Vec<i64>>, Vec<Vec<i64>>), Error> {
    session.begin(Isolation::RepeatableRead, true);
    let read = |session: &mut Session| {
        let (accounts, transfers) = (scan(session, &life.account, 0)?, scan(session, &life.transfer, 0)?);
        for (entry, expected) in [(&life.account, &accounts), (&life.transfer, &transfers)] {
            let mut by_other = scan(session, entry, 1)?;
            by_other.sort();
            if by_other != *expected {
                return Err(Error::Io(format!(
                    "{}: {} rows by its second index, {} by its first",
                    entry.def.name,
                    by_other.len(),
                    expected.len()
                )));
            }
        }
        Ok((accounts, transfers))
    };
    let seen = read(session);
    let ended = session.commit();
    seen.and_then(|seen| ended.map(|()| seen))
}

/// Balances are what the transfers make them.
fn judge(accounts: &[Vec<i64>], transfers: &[Vec<i64>]) -> Result<(), String> {
    let mut expected: BTreeMap<i64, i64> = (0..ACCOUNTS).map(|id| (id, START_BALANCE)).collect();
    for transfer in transfers {
        *expected.entry(transfer[3]).or_default() -= transfer[5];
        *expected.entry(transfer[4]).or_default() += transfer[5];
    }
    let found: BTreeMap<i64, i64> = accounts.iter().map(|row| (row[0], row[1])).collect();
    if found == expected { Ok(()) } else { Err(format!("balances {found:?} where {} transfers make {expected:?}", transfers.len())) }
}

impl Life {
    fn is_over(&self, ledger: &Ledger) -> bool {
        ledger.over.load(Ordering::SeqCst) || self.disk.is_down()
    }

    /// One transfer; it is acknowledged when this is `Ok(true)`.
    fn transfer(&self, session: &mut Session, random: &mut Random, worker: i64, number: i64) -> Result<bool, Error> {
        let isolation = *random.one_of(&[Isolation::RepeatableRead, Isolation::ReadCommitted, Isolation::Serializable]);
        session.begin(isolation, false);
        if isolation == Isolation::RepeatableRead && random.percent(30) {
            session.let_first_updater_win();
        }
        session.statement_start();
        let (from, to, amount) = (random.below(ACCOUNTS as usize) as i64, random.below(ACCOUNTS as usize) as i64, random.below(50) as i64);
        if random.percent(20) {
            // Done, and taken back.
            let savepoint = session.savepoint();
            add(session, &self.account, to, 7)?;
            session.rollback_to(savepoint)?;
        }
        if random.percent(20) {
            session.get(&self.account.storage, &key(&self.account, from), Read::Exclusive(Wait::Block), |_| ())?;
        }
        add(session, &self.account, from, -amount)?;
        add(session, &self.account, to, amount)?;
        let id = self.transfer.storage.next_auto_increment(1, 1, 1) as i64;
        self.transfer.storage.note_auto_increment(id as u64);
        insert(session, &self.transfer, &[id, worker, number, from, to, amount])?;
        if random.percent(10) {
            session.rollback()?;
            return Ok(false);
        }
        session.commit().map(|()| true)
    }

    fn work(&self, ledger: &Ledger, mut random: Random, worker: i64, life: i64) {
        let mut session = self.engine.connect();
        session.set_lock_wait_timeout(LOCK_WAIT);
        for number in 0.. {
            if self.is_over(ledger) {
                return;
            }
            let number = life * 1_000_000 + number;
            match self.transfer(&mut session, &mut random, worker, number) {
                Ok(true) => ledger.acknowledged.lock().push((worker, number)),
                Ok(false) => {}
                Err(_) if self.is_over(ledger) => return,
                Err(error @ (Error::Deadlock | Error::Changed | Error::LockWaitTimeout)) => {
                    ledger.lock_timeouts.fetch_add(u64::from(error == Error::LockWaitTimeout), Ordering::Relaxed);
                    if let Err(error) = session.rollback()
                        && !self.is_over(ledger)
                    {
                        return ledger.violated(format!("rollback of worker {worker}: {error}"));
                    }
                }
                Err(error) => return ledger.violated(format!("worker {worker}: {error}")),
            }
        }
    }

    fn read(&self, ledger: &Ledger) {
        let mut session = self.engine.connect();
        while !self.is_over(ledger) {
            match look(self, &mut session).map(|(accounts, transfers)| judge(&accounts, &transfers)) {
                Ok(Ok(())) => drop(ledger.snapshots.fetch_add(1, Ordering::Relaxed)),
                Ok(Err(what)) => return ledger.violated(format!("a snapshot while all work: {what}")),
                Err(_) if self.is_over(ledger) => return,
                Err(error) => return ledger.violated(format!("a reader: {error}")),
            }
        }
    }
}

fn config(random: &mut Random, warnings: &Arc<Mutex<Vec<String>>>) -> EngineConfig {
    let mut options = Options::draw(random, None, &crate::cuts::Cuts::default());
    options.frames = random.between(64, 200);
    EngineConfig {
        checkpoint_interval: Duration::from_millis(*random.one_of(&[2, 20, 200])),
        redo_workers: random.below(3),
        ..options.engine(warnings)
    }
}

/// Opens the engine, and makes the tables when they are not there.
fn open(disk: &SimDisk, access: &Arc<dyn Disk>, config: EngineConfig) -> Result<(Life, Arc<Catalog>), String> {
    let engine = Engine::open(Arc::clone(access), Arc::new(SimClock::new(0)), config).map_err(|error| format!("open: {error}"))?;
    let catalog = Catalog::open(&engine).map_err(|error| format!("open the catalogue: {error}"))?;
    let told = |error: catalog::CatalogError| error.to_string();
    let mut admin = engine.connect();
    if catalog.database(DATABASE).is_err() {
        catalog.create_database(&mut admin, DATABASE, Collation::DEFAULT).map_err(told)?;
    }
    let part = KeyPart::ascending;
    let primary = || IndexDef::new("PRIMARY", true, vec![part(0)]);
    let tables = [
        table("account", &["id", "balance"], false, vec![primary(), IndexDef::new("balance", false, vec![part(1)])]),
        table(
            "transfer",
            &["id", "worker", "number", "from", "to", "amount"],
            true,
            vec![primary(), IndexDef::new("number", true, vec![part(1), part(2)])],
        ),
    ];
    let mut entries = Vec::new();
    for def in tables {
        let name = def.name.clone();
        let entry = match catalog.table(DATABASE, &name) {
            Ok(entry) => entry,
            Err(_) => catalog.create_table(&mut admin, def).map_err(told)?,
        };
        entries.push(entry);
    }
    let (Some(transfer), Some(account)) = (entries.pop(), entries.pop()) else { return Err("two tables".into()) };
    drop(admin);
    Ok((Life { engine, account, transfer, disk: disk.clone() }, catalog))
}

/// After a start: what was acknowledged is there, everything else wholly or not at all.
fn verify(life: &Life, told: &BTreeSet<(i64, i64)>, reports: &mut ThreadReport) -> Result<(), String> {
    let (accounts, transfers) = look(life, &mut life.engine.connect()).map_err(|error| format!("after a crash: {error}"))?;
    judge(&accounts, &transfers).map_err(|what| format!("after a crash: {what}"))?;
    let there: BTreeSet<(i64, i64)> = transfers.iter().map(|row| (row[1], row[2])).collect();
    if let Some((worker, number)) = told.difference(&there).next() {
        return Err(format!("transfer {number} of worker {worker} was acknowledged and is not there; {} are", there.len()));
    }
    let largest = transfers.iter().map(|row| row[0] as u64).max().unwrap_or(0);
    if life.transfer.storage.auto_increment() <= largest {
        return Err(format!("AUTO_INCREMENT is {} after {largest} was used", life.transfer.storage.auto_increment()));
    }
    reports.acknowledged = told.len() as u64;
    reports.unanswered = (there.len() - told.len()) as u64;
    Ok(())
}

/// With nothing running: indexes, rows and pages agree.
fn check(life: &Life) -> Result<(), String> {
    while life.engine.roll_back_loser() {}
    life.engine.purge_all();
    for entry in [&life.account, &life.transfer] {
        let check = life.engine.check_table(&entry.storage).map_err(|error| format!("check {}: {error}", entry.def.name))?;
        let bad = check.indexes.iter().any(|index| index.entries_deleted != 0 || index.pages_owned != index.pages_reached);
        if bad {
            return Err(format!("{}: {check:?}", entry.def.name));
        }
    }
    match (life.engine.undo_live_bytes(), life.engine.history_length()) {
        (0, 0) => Ok(()),
        (undo, history) => Err(format!("idle, but {undo} bytes of undo are live and {history} transactions wait for purge")),
    }
}

/// Runs the engine with its threads through so many crashes.
pub fn run_threads(seed: u64, crashes: u64, plant: Option<Plant>) -> Result<ThreadReport, String> {
    let mut random = Random::new(seed, Purpose::Options);
    let disk = SimDisk::new(random.next());
    let access: Arc<dyn Disk> = match plant {
        Some(plant) => Arc::new(PlantedDisk::new(disk.clone(), plant)),
        None => Arc::new(disk.clone()),
    };
    let mut report = ThreadReport::default();
    let mut told: BTreeSet<(i64, i64)> = BTreeSet::new();
    for no in 0..=crashes {
        random = Random::new(seed, Purpose::Life(no as u32));
        let warnings = warnings();
        let failed = |what: String| format!("life {no}: {what}");
        let (life, catalog) = open(&disk, &access, config(&mut random, &warnings)).map_err(failed)?;
        if no == 0 {
            let mut session = life.engine.connect();
            session.begin(Isolation::RepeatableRead, false);
            let made = (0..ACCOUNTS).try_for_each(|id| insert(&mut session, &life.account, &[id, START_BALANCE]));
            made.and_then(|()| session.commit()).map_err(|error| failed(format!("accounts: {error}")))?;
        }
        verify(&life, &told, &mut report).map_err(failed)?;
        if random.percent(40) || no == crashes {
            check(&life).map_err(failed)?;
        }
        if no == crashes {
            drop(catalog);
            return life.engine.close(true).map(|()| report).map_err(|error| failed(format!("close: {error}")));
        }
        life.engine.start_background().map_err(|error| failed(format!("start: {error}")))?;
        let ledger = Ledger {
            acknowledged: Mutex::new(Rank::Leaf, Vec::new()),
            snapshots: AtomicU64::new(0),
            lock_timeouts: AtomicU64::new(0),
            violation: Mutex::new(Rank::Leaf, None),
            over: AtomicBool::new(false),
        };
        let power_fails = random.percent(75);
        let until = random.between(20, 400) as u64;
        if power_fails {
            disk.crash_at(until * random.between(1, 6) as u64);
        }
        if random.percent(50) {
            let interval = Duration::from_millis(*random.one_of(&[1, 10, 100]));
            life.engine.set_warm_start(WarmSettings { interval, ..WarmSettings::default() });
            life.engine.begin_warm_start().map_err(|error| failed(format!("begin to be warm: {error}")))?;
        }
        let (life_ref, ledger_ref, disk_ref) = (&life, &ledger, &disk);
        std::thread::scope(|scope| {
            for worker in 0..WORKERS as i64 {
                let random = Random::new(seed ^ (worker as u64 + 1) << 48, Purpose::Life(no as u32));
                scope.spawn(move || life_ref.work(ledger_ref, random, worker, no as i64));
            }
            scope.spawn(move || life_ref.read(ledger_ref));
            if !power_fails {
                // The process dies when so many have been acknowledged.
                scope.spawn(move || {
                    while !life_ref.is_over(ledger_ref) && (ledger_ref.acknowledged.lock().len() as u64) < until {
                        std::thread::yield_now();
                    }
                    ledger_ref.over.store(true, Ordering::SeqCst);
                    disk_ref.kill();
                });
            }
        });
        // What background threads still do meets a disk that is dead.
        if !disk.is_down() {
            disk.kill();
        }
        let Life { engine, account, transfer, .. } = life;
        let _ = engine.close(false);
        match engine.load_status() {
            LoadStatus::Done(_) => report.warm_starts += 1,
            LoadStatus::Malformed(name) => return Err(failed(format!("{name} is no list of pages"))),
            _ => {}
        }
        drop((account, transfer, catalog, engine));
        if power_fails {
            disk.crash();
        } else {
            disk.kill();
        }
        report.crashes += 1;
        if let Some(what) = ledger.violation.lock().take() {
            return Err(failed(what));
        }
        report.snapshots += ledger.snapshots.load(Ordering::Relaxed);
        report.lock_timeouts += ledger.lock_timeouts.load(Ordering::Relaxed);
        told.extend(ledger.acknowledged.lock().iter().copied());
    }
    Ok(report)
}
