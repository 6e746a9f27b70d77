//! What all sessions share.

use crate::accounts::{AccountStore, Accounts};
use crate::client_session::ClientSession;
use crate::counters::deadlock_log::DeadlockLog;
use crate::counters::stages::Stages;
use crate::counters::status::Status;
use crate::front::command::Login;
use crate::front::connections::{Connection, Connections};
use crate::front::service::{FrontSettings, Service};
use crate::query_logs::QueryLogs;
use crate::show::Sample;
use crate::statement::plan_cache::PlanCache;
use crate::statement::samples::Samples;
use crate::temporary::TemporaryList;
use crate::variables::effects::{brought, flush_policy};
use crate::variables::{Definition, GlobalVariables, Kept, KeptValues, Origin, Persisted, Source, find, variable};
use admission::{Admission, Mode};
use base::Lsn;
use catalog::Catalog;
use engine::{Engine, FlushPolicy};
use lock_manager::metadata::{Protects, TableLock};
use lock_manager::user_locks::UserLocks;
use lock_manager::{ClientTold, DeadlockWitness};
use mysql_error::{SqlError, codes};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};
use sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use sync::{Mutex, Rank};
use tls::Tls;
use types::Value;

/// Version that clients see: MySQL's, by which they choose their dialect, then ours.
pub const SERVER_VERSION: &str = concat!("8.4.3-altiplano-", env!("CARGO_PKG_VERSION"));
/// MySQL's alone.
const MYSQL_VERSION: &str = "8.4.3";

/// The parts of a server that its sessions share.
pub struct Shared {
    /// Storage.
    pub engine: Arc<Engine>,
    /// Definitions.
    pub catalog: Arc<Catalog>,
    /// Connections.
    pub connections: Arc<Connections>,
    /// System variables.
    pub variables: GlobalVariables,
    /// Temporary tables of all sessions.
    pub temporary: TemporaryList,
    /// Plans of statements.
    pub plans: PlanCache,
    /// What rows told those who made them.
    pub(crate) samples: Samples,
    /// Who may work.
    pub admission: Arc<Admission>,
    /// Locks with names.
    pub user_locks: UserLocks,
    /// Names of CHECK constraints, each with its database, that running statements are about to give (`ddl/check.rs`).
    pub(crate) check_names: UserLocks,
    /// Shared by who changes anything; kept from them by FLUSH TABLES WITH READ LOCK.
    pub(crate) changes: Arc<TableLock>,
    /// Shared by DDL; kept from it by LOCK INSTANCE FOR BACKUP.
    pub(crate) definitions: Arc<TableLock>,
    /// Backups that clients make.
    pub backups: Arc<backup::Activity>,
    /// Prepared statements of all sessions.
    pub(crate) prepared_statements: AtomicU64,
    /// What encrypts connections.
    pub tls: Tls,
    /// The component for query attributes is installed.
    pub(crate) query_attributes: AtomicBool,
    /// Counters.
    pub status: Status,
    /// How far long statements are.
    pub(crate) stages: Stages,
    /// The logs of statements.
    pub(crate) query_logs: QueryLogs,
    /// Statements by kind.
    pub(crate) kinds: crate::counters::statement_kinds::Kinds,
    /// Where temporary files are made; without it statements have their memory alone.
    spill: OnceLock<Arc<spill::Directory>>,
    /// What SET PERSIST keeps, where there is a data directory.
    persisted: OnceLock<Persisted>,
    /// Ends the server as an operator's signal does.
    stopper: OnceLock<Stopper>,
    /// Writes notes into the server's log; without it they are lost.
    notes: OnceLock<Notes>,
    /// When the server started.
    pub started: Instant,
    /// When FLUSH STATUS was last said, in milliseconds after that.
    flushed_ms: AtomicU64,
    /// The same by the wall clock: microseconds since the epoch.
    pub started_micros: i64,
    /// `innodb_print_all_deadlocks`.
    pub deadlock_log: DeadlockLog,
    /// Who may log in, and what they may do.
    pub accounts: AccountStore,
    /// Figures of the last SHOW ENGINE INNODB STATUS.
    pub(crate) last_report: Mutex<Option<Sample>>,
    /// `innodb_flush_log_at_trx_commit`; read (relaxed) when a session begins a statement that may commit.
    flush_policy: AtomicU32,
}

/// Begins to stop the server; the text says why, for its log.
type Stopper = Box<dyn Fn(&str) + Send + Sync>;

/// Writes a note into the server's log.
type Notes = Box<dyn Fn(&str) + Send + Sync>;

impl Shared {
    /// Says how the statement SHUTDOWN ends the server. Once, before there are sessions.
    pub fn set_stopper(&self, stopper: Stopper) {
        // Told a second time it stays what it was.
        let _ = self.stopper.set(stopper);
    }

    /// Says where notes for the server's log go. Once, before there are sessions.
    pub fn set_notes(&self, notes: Notes) {
        // Told a second time it stays what it was.
        let _ = self.notes.set(notes);
    }

    /// Where notes for the server's log go, if anywhere.
    pub(crate) fn notes(&self) -> Option<&Notes> {
        self.notes.get()
    }

    /// SHUTDOWN: the server begins to stop, and the statement is answered before its connection ends. 1235 where nobody has said how.
    pub(crate) fn shut_down(&self, user: &str) -> Result<(), SqlError> {
        let stopper = self.stopper.get().ok_or_else(|| mysql_error::codes::not_supported_yet("SHUTDOWN"))?;
        stopper(&format!("SHUTDOWN by {user}"));
        Ok(())
    }

    /// Shared parts over an open engine and catalogue.
    pub fn new(engine: Arc<Engine>, catalog: Arc<Catalog>, accounts: AccountStore) -> Arc<Shared> {
        let variables = GlobalVariables::new();
        let connections = Arc::new(Connections::new());
        let witness = Witness { connections: Arc::clone(&connections), engine: Arc::downgrade(&engine) };
        engine.locks().set_deadlock_witness(Box::new(witness));
        let shared = Shared {
            started_micros: engine.wall_micros(),
            engine,
            catalog,
            connections,
            variables,
            temporary: TemporaryList::new(),
            plans: PlanCache::new(),
            samples: Samples::new(),
            admission: Admission::new(Mode::Adaptive, sync::thread::available_parallelism().map_or(1, |n| n.get() as u32)),
            user_locks: UserLocks::new(),
            check_names: UserLocks::new(),
            changes: Arc::new(TableLock::of(Protects::Changes)),
            definitions: Arc::new(TableLock::of(Protects::Definitions)),
            backups: Arc::default(),
            prepared_statements: AtomicU64::new(0),
            tls: Tls::off(),
            query_attributes: AtomicBool::new(false),
            status: Status::default(),
            stages: Stages::new(),
            query_logs: QueryLogs::new(),
            kinds: Default::default(),
            spill: OnceLock::new(),
            persisted: OnceLock::new(),
            stopper: OnceLock::new(),
            notes: OnceLock::new(),
            started: Instant::now(),
            flushed_ms: AtomicU64::new(0),
            deadlock_log: DeadlockLog::new(),
            accounts,
            last_report: Mutex::new(Rank::Leaf, None),
            flush_policy: AtomicU32::new(1),
        };
        // Storage has no version of its own; tools take this one apart at its dots.
        for (name, version) in [("version", SERVER_VERSION), ("innodb_version", MYSQL_VERSION)] {
            shared.tell(name, Value::from(version));
        }
        Arc::new(shared)
    }

    /// Says what a variable tells that nobody can choose.
    pub fn tell(&self, name: &str, value: Value) {
        if let Some(definition) = find(name) {
            self.variables.set(definition, value);
        }
    }

    /// Says where temporary files are made; once, before there are sessions.
    pub fn set_spill_directory(&self, directory: Arc<spill::Directory>) {
        // Told a second time it stays what it was.
        let _ = self.spill.set(directory);
    }

    /// Where temporary files are made.
    #[inline]
    pub fn spill_directory(&self) -> Option<&Arc<spill::Directory>> {
        self.spill.get()
    }

    /// Takes over what SET PERSIST keeps, once, before there are sessions. Its values are in force already where they are of `applied`: the server was
    /// opened with them.
    pub fn take_persisted(&self, persisted: Persisted, applied: &KeptValues) {
        for (name, kept) in applied {
            let Some(definition) = find(name) else { continue };
            let Kept { user, host, micros, .. } = kept.clone();
            self.variables.note_origin(definition, Origin { source: Source::Persisted, micros, user, host });
        }
        // Told a second time it stays what it was.
        let _ = self.persisted.set(persisted);
    }

    /// What SET PERSIST keeps.
    pub(crate) fn persisted(&self) -> Option<&Persisted> {
        self.persisted.get()
    }

    /// A whole number that is a system variable's global value.
    pub(crate) fn number(&self, definition: &'static Definition) -> u64 {
        match self.variables.get(definition) {
            Value::UInt(n) => n,
            Value::Int(n) => n as u64,
            _ => 0,
        }
    }

    /// Whether certificates are to be made where there are none: `auto_generate_certs`.
    pub fn generates_certificates(&self) -> bool {
        self.number(variable!("auto_generate_certs")) == 1
    }

    /// The flush policy in force.
    #[inline]
    pub fn flush_policy(&self) -> FlushPolicy {
        flush_policy(u64::from(self.flush_policy.load(Ordering::Relaxed)))
    }

    /// Sets it for all sessions.
    pub fn set_flush_policy(&self, number: u64) {
        self.flush_policy.store(number.min(2) as u32, Ordering::Relaxed);
    }

    /// Sets a variable from the command line or the settings file, and what goes with it; read-only ones too. Of two that go with each other the later one has the last word.
    pub fn set_at_start(&self, name: &str, value: &str) -> Result<(), SqlError> {
        self.variables.set_text(name, value)?;
        let Some(definition) = find(&name.replace('-', "_")) else { return Ok(()) };
        if let Some((other, value)) = brought(definition, &self.variables.get(definition)) {
            self.variables.set(other, value);
        }
        self.apply(definition)
    }

    /// Puts `altiplano_memory_limit` in force; 0 stands for nine tenths of what the machine or the control group has.
    pub fn apply_memory_limit(&self) {
        memory::set_limit(memory_limit_of(self.number(variable!("altiplano_memory_limit"))));
    }

    /// Puts `table_open_cache` in force.
    pub fn apply_open_tables(&self) {
        self.engine.set_open_tables_max(self.number(variable!("table_open_cache")));
    }

    /// Puts `innodb_max_purge_lag` and its bound in force.
    pub fn apply_max_purge_lag(&self) {
        self.engine.set_max_purge_lag(self.number(variable!("innodb_max_purge_lag")), self.number(variable!("innodb_max_purge_lag_delay")));
    }

    /// FLUSH STATUS: what is counted since then begins anew.
    pub(crate) fn flush_status(&self) {
        self.connections.forget_most();
        self.flushed_ms.store(self.started.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// How long FLUSH STATUS was not said.
    pub(crate) fn since_flush(&self) -> Duration {
        self.started.elapsed().saturating_sub(Duration::from_millis(self.flushed_ms.load(Ordering::Relaxed)))
    }

    fn seconds(&self, definition: &'static Definition) -> Duration {
        Duration::from_secs(self.number(definition))
    }
}

/// The limit that a value of `altiplano_memory_limit` stands for.
pub fn memory_limit_of(value: u64) -> u64 {
    match value {
        0 => memory::bytes_of_machine() / 10 * 9,
        bytes => bytes,
    }
}

/// Buffer pool and log: what the server holds from its start, and no statement can give back.
pub fn memory_of_storage() -> u64 {
    memory::figures(memory::Kind::BufferPool).bytes + memory::figures(memory::Kind::Log).bytes
}

/// What reports of deadlocks tell of their members.
struct Witness {
    connections: Arc<Connections>,
    engine: Weak<Engine>,
}

impl DeadlockWitness for Witness {
    fn client(&self, client: u64) -> ClientTold {
        let Some(connection) = u32::try_from(client).ok().and_then(|id| self.connections.find(id)) else { return ClientTold::default() };
        let label = connection.label();
        let active_ms = self.engine.upgrade().and_then(|engine| {
            let begun = engine.transaction_begun_ms(client)?;
            Some((engine.wall_micros() as u64 / 1000).saturating_sub(begun))
        });
        let active_seconds = active_ms.unwrap_or(0) / 1000;
        ClientTold { place: label.place(), statement: label.statement, active_seconds }
    }

    fn wall_micros(&self) -> i64 {
        self.engine.upgrade().map_or(0, |engine| engine.wall_micros())
    }
}

/// The service that the network front drives.
#[derive(Clone)]
pub struct SqlService {
    shared: Arc<Shared>,
}

impl SqlService {
    /// Sessions over these shared parts.
    pub fn new(shared: Arc<Shared>) -> SqlService {
        SqlService { shared }
    }

    /// The shared parts.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Service for SqlService {
    type Session = ClientSession;

    fn connections(&self) -> &Arc<Connections> {
        &self.shared.connections
    }

    fn accepts(&self) {
        self.shared.begin_warm_start();
    }

    fn waiting_for_slots(&self) -> u32 {
        self.shared.admission.waiting()
    }

    fn has_room(&self) -> bool {
        self.shared.admission.has_room()
    }

    fn is_durable(&self, up_to: Lsn) -> bool {
        let wal = self.shared.engine.wal();
        wal.durable() >= up_to || wal.has_failed()
    }

    fn make_durable(&self, up_to: Lsn, sessions: u32) {
        // That the log has failed each session is told by itself.
        let _ = self.shared.engine.wal().wait_durable_for(up_to, sessions);
    }

    fn tick(&self) {
        self.shared.engine.set_coarse_time();
    }

    fn accounts(&self) -> &dyn Accounts {
        &*self.shared
    }

    fn tls(&self) -> Option<&Tls> {
        Some(&self.shared.tls)
    }

    fn settings(&self) -> FrontSettings {
        let shared = &self.shared;
        FrontSettings {
            server_version: SERVER_VERSION.to_owned(),
            max_connections: u32::try_from(shared.number(variable!("max_connections"))).unwrap_or(u32::MAX),
            shared_threads_from: shared.number(variable!("altiplano_shared_threads_from")) as u32,
            shared_threads_at_work: shared.number(variable!("altiplano_shared_threads_at_work")) as u32,
            rest_after: shared.seconds(variable!("altiplano_rest_after")),
            look_for_client: Duration::from_micros(shared.number(variable!("altiplano_look_for_client"))),
            stand_in: shared.number(variable!("altiplano_stand_in")) == 1,
            replies_together: shared.number(variable!("altiplano_replies_together")) == 1,
            thread_cache_size: shared.number(variable!("thread_cache_size")) as u32,
            max_allowed_packet: shared.number(variable!("max_allowed_packet")) as usize,
            connect_timeout: shared.seconds(variable!("connect_timeout")),
            wait_timeout: shared.seconds(variable!("wait_timeout")),
            interactive_timeout: shared.seconds(variable!("interactive_timeout")),
            net_read_timeout: shared.seconds(variable!("net_read_timeout")),
            net_write_timeout: shared.seconds(variable!("net_write_timeout")),
            compression: shared.compression(),
            require_secure_transport: shared.number(variable!("require_secure_transport")) == 1,
        }
    }

    fn login_refused(&self, connection: u32, error: Option<&SqlError>) {
        if let Some(error) = error.filter(|_| self.shared.query_logs.is_on()) {
            self.shared.log_refused(connection, error);
        }
        let status = &self.shared.status;
        match error.map(|error| error.code) {
            Some(codes::ER_CON_COUNT_ERROR) => status.over_max_connections.inc(),
            code => {
                status.aborted_connects.inc();
                if code == Some(codes::ER_ACCOUNT_HAS_BEEN_LOCKED) {
                    status.locked_connects.inc();
                }
            }
        }
    }

    fn is_administrator(&self, login: &Login) -> bool {
        let name = ::accounts::AccountName { user: login.account_user.clone(), host: login.account_host.clone() };
        let accounts = self.shared.accounts.snapshot();
        let Some(account) = accounts.get(&name) else { return false };
        account.grants.global.has(::accounts::Privileges::SUPER) || account.grants.dynamic.contains_key("CONNECTION_ADMIN")
    }

    fn begin(&self, connection: Arc<Connection>, login: Login) -> Result<ClientSession, SqlError> {
        if self.shared.query_logs.is_on() {
            self.shared.log_login(&connection, &login, "Connect");
        }
        ClientSession::new(Arc::clone(&self.shared), connection, login)
    }
}
