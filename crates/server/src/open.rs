//! From a data directory to the service of SQL sessions, and back down.

use catalog::Catalog;
use engine::{Engine, EngineConfig};
use env::{Disk, OpenError, RealClock, RealDisk, RealEntropy};
use server::log;
use server::options::{ByteSize, Settings};
use server::serve::Failure;
use session::variables::{KeptValues, Persisted, server_uuid};
use session::{AccountStore, QueryLogPlace, Shared, SqlService, memory_limit_of};
use std::sync::Arc;
use types::Value;

/// Smallest buffer pool that leaves room for what statements latch at once.
const FRAMES_MIN: usize = 256;

/// The setting for the size of the log.
const LOG_CAPACITY: &str = "innodb_redo_log_capacity";
/// The setting for where statements may read and write files.
const FILES: &str = "secure_file_priv";
/// The setting for all memory.
const MEMORY_LIMIT: &str = "altiplano_memory_limit";
/// The setting for the threads that purge.
const PURGE_THREADS: &str = "innodb_purge_threads";
/// Processors past which there are several by default, as in MySQL.
const PROCESSORS_FEW: usize = 16;
/// Smallest log: three segments, and one to go on in.
const LOG_BYTES_MIN: u64 = 256 << 20;

/// Opens the data directory, creating it when it is empty; recovers it and starts the background work.
pub fn open(settings: &Settings) -> Result<Arc<SqlService>, Failure> {
    let disk = match RealDisk::open(&settings.data_dir) {
        Ok(disk) => disk,
        Err(OpenError::Locked(_)) => {
            return Err(format!("the data directory {} is in use by another server", settings.data_dir.display()).into());
        }
        Err(error) => return Err(error.into()),
    };
    let disk: Arc<dyn Disk> = Arc::new(disk);
    let persisted = Persisted::open(Arc::clone(&disk))?;
    let (settings, applied) = with_persisted(settings, &persisted)?;
    let settings = &settings;
    let mut config = EngineConfig::default();
    config.pool.frames = usize::try_from(settings.buffer_pool_bytes / base::PAGE_BYTES as u64)?.max(FRAMES_MIN);
    let log_bytes = log_capacity(settings, config.wal.capacity_bytes)?;
    config.wal.capacity_bytes = log_bytes;
    config.mechanisms = settings.mechanisms;
    let archive = open_archive(settings, &mut config)?;
    config.purge_threads = purge_threads(settings)?;
    let purge_threads = config.purge_threads.to_string();
    config.redo_workers = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 16);
    config.new_format = settings.new_format;
    config.on_warning = Arc::new(log::warning);
    config.on_note = Arc::new(log::note);
    config.on_fatal = Arc::new(|text| {
        log::write(log::Level::Error, 0, &format!("{text}; the server stops so that nothing unsafe is acknowledged"));
        // Not exit(): destructors must not write what the failed log does not cover.
        std::process::abort();
    });
    check_memory(settings, &config)?;
    memory::book(memory::Kind::BufferPool, pool_bytes(&config));
    memory::book(memory::Kind::Log, config.wal.buffer_bytes as u64);
    session::begin_expressions();
    let log_buffer_bytes = config.wal.buffer_bytes as u64;
    let engine = Engine::open(Arc::clone(&disk), Arc::new(RealClock::new()), config)?;
    if let Some(directory) = archive {
        engine.archive_log(directory).map_err(|error| format!("log archive {}: {error}", settings.log_archive().unwrap_or_default()))?;
    }
    let catalog = Catalog::open(&engine)?;
    crate::damage::watch(&engine, &catalog)?;
    engine.start_background()?;
    let shared = Shared::new(Arc::clone(&engine), Arc::clone(&catalog), AccountStore::open(&catalog)?);
    shared.set_notes(Box::new(log::note));
    shared.tell("innodb_log_buffer_size", Value::UInt(log_buffer_bytes));
    let pool_bytes = settings.buffer_pool_bytes.to_string();
    let facts = [
        ("innodb_buffer_pool_size", pool_bytes.clone()),
        ("innodb_buffer_pool_chunk_size", pool_bytes),
        (LOG_CAPACITY, log_bytes.to_string()),
        (PURGE_THREADS, purge_threads),
        ("datadir", settings.data_dir.display().to_string()),
        ("port", settings.port.to_string()),
        ("report_port", settings.port.to_string()),
        ("socket", settings.socket.display().to_string()),
        ("bind_address", settings.bind.clone()),
    ];
    for (name, value) in facts {
        shared.set_at_start(name, &value)?;
    }
    if !settings.mechanisms.admission {
        shared.set_at_start("altiplano_admission", "off")?;
    }
    shared.apply_memory_limit();
    let place_of_files = place_of_files(settings)?;
    for (name, value) in settings.variables.iter().filter(|(name, _)| ![LOG_CAPACITY, PURGE_THREADS].contains(&name.as_str())) {
        shared.set_at_start(name, value).map_err(|error| format!("--set {name}={value}: {error}"))?;
    }
    if let Some(directory) = place_of_files {
        shared.set_at_start(FILES, &directory)?;
    }
    shared.take_persisted(persisted, &applied);
    // Not before the settings are known to be good.
    begin_identity(&*disk, &shared)?;
    begin_encryption(settings, &shared)?;
    begin_spilling(settings, &shared)?;
    begin_query_logs(settings, &shared);
    shared.set_stopper(Box::new(|why| {
        log::write(log::Level::System, 0, why);
        // As an operator would: one way down, and a second one leaves at once.
        if let Err(error) = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM) {
            log::warning(&format!("the server could not be told to stop: {error}"));
        }
    }));
    free_orphans(catalog)?;
    let admission = Arc::clone(&shared.admission);
    sync::thread::Builder::new().name("admission".to_owned()).stack_size(64 << 10).spawn(move || admission.run_ticker())?;
    Ok(Arc::new(SqlService::new(shared)))
}

/// The setting for the buffer pool, which has an option of its own.
const BUFFER_POOL: &str = "innodb_buffer_pool_size";
/// The setting that leaves out what was persisted.
const PERSISTED_LOAD: &str = "persisted_globals_load";

/// The settings with what SET PERSIST has kept, which comes before all others, and that part. What is no value of a variable any more is left out
/// with a warning.
fn with_persisted(settings: &Settings, persisted: &Persisted) -> Result<(Settings, KeptValues), Failure> {
    let mut merged = settings.clone();
    let load =
        settings.variables.get(PERSISTED_LOAD).is_none_or(|text| !["0", "OFF", "FALSE"].contains(&text.to_ascii_uppercase().as_str()));
    let mut applied = if load { persisted.values() } else { KeptValues::new() };
    let trial = session::variables::GlobalVariables::new();
    applied.retain(|name, kept| match trial.set_text(name, &kept.value) {
        Ok(()) => true,
        Err(error) => {
            log::warning(&format!("the persisted variable {name} is left out: {error}"));
            false
        }
    });
    for (name, kept) in &applied {
        if name == BUFFER_POOL {
            let size: ByteSize = kept.value.parse().map_err(|error| format!("the persisted {name}: {error}"))?;
            merged.buffer_pool_bytes = size.0;
        } else {
            merged.variables.insert(name.clone(), kept.value.clone());
        }
    }
    Ok((merged, applied))
}

/// The directory's UUID, made at its first start.
fn begin_identity(disk: &dyn Disk, shared: &Shared) -> Result<(), Failure> {
    let (uuid, is_new) = server_uuid(disk, &RealEntropy)?;
    if is_new {
        log::note(&format!("the data directory has no server UUID yet, it gets {uuid}"));
    }
    shared.tell("server_uuid", Value::from(uuid));
    Ok(())
}

/// Certificates are made where there are none, and loaded. What an operator has chosen must load; what is there by itself need not.
fn begin_encryption(settings: &Settings, shared: &Shared) -> Result<(), Failure> {
    let chosen = ["ssl_ca", "ssl_cert", "ssl_key", "ssl_crl", "tls_version"].iter().any(|name| settings.variables.contains_key(*name));
    if !chosen && shared.generates_certificates() {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        match tls::make_missing(&settings.data_dir, host.trim()) {
            Ok(true) => {
                log::note("certificates and keys made in the data directory: ca.pem, server-cert.pem, server-key.pem, client-cert.pem")
            }
            Ok(false) => {}
            Err(error) => log::warning(&format!("no certificates could be made: {error}")),
        }
    }
    match shared.load_tls() {
        Ok(()) => Ok(()),
        Err(error) if chosen => Err(format!("TLS: {error}").into()),
        Err(error) => {
            log::warning(&format!("connections cannot be encrypted: {error}"));
            Ok(())
        }
    }
}

/// Says where the logs of statements lie, and opens those that are on.
fn begin_query_logs(settings: &Settings, shared: &Shared) {
    let real = |path: &std::path::Path| env::outside::real_path(path).unwrap_or_else(|_| path.to_owned());
    let place = QueryLogPlace {
        data_dir: real(&settings.data_dir),
        host: host_name(),
        program: std::env::current_exe().unwrap_or_else(|_| "/altiplano".into()),
        port: settings.port,
        socket: settings.socket.clone(),
    };
    shared.begin_query_logs(place, Box::new(|text| log::write(log::Level::Error, 0, text)));
}

/// The machine's name; `localhost` for one that has none.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() || name == "(none)" { "localhost".to_owned() } else { name.to_owned() }
}

/// The directory of `secure_file_priv`, where one is set, as it lies.
fn place_of_files(settings: &Settings) -> Result<Option<String>, Failure> {
    let Some(text) = settings.variables.get(FILES).filter(|text| !text.is_empty() && !text.eq_ignore_ascii_case("NULL")) else {
        return Ok(None);
    };
    let real = env::outside::real_path(text.as_ref()).map_err(|error| format!("--set {FILES}={text}: {error}"))?;
    if !env::outside::is_directory(&real) {
        return Err(format!("--set {FILES}={text}: not a directory").into());
    }
    Ok(Some(format!("{}/", real.display().to_string().trim_end_matches('/'))))
}

/// The setting for the directory of temporary files.
const TMPDIR: &str = "tmpdir";

/// Makes the directory of temporary files.
fn begin_spilling(settings: &Settings, shared: &Shared) -> Result<(), Failure> {
    let path = match settings.variables.get(TMPDIR).filter(|path| !path.is_empty()) {
        Some(path) => path.into(),
        None => settings.data_dir.join("tmp"),
    };
    let told = |error| format!("{TMPDIR}, the directory for temporary files, {}: {error}", path.display());
    shared.set_spill_directory(Arc::new(spill::Directory::real(&path).map_err(told)?));
    shared.set_at_start(TMPDIR, &path.display().to_string())?;
    Ok(())
}

fn pool_bytes(config: &EngineConfig) -> u64 {
    config.pool.frames as u64 * base::PAGE_BYTES as u64
}

/// What must be left of `altiplano_memory_limit` for statements, or the log says that many will be refused.
const WORKING_BYTES_MIN: u64 = 64 << 20;

/// Refuses to start where pool and log alone are past the limit: nearly every statement would get 1041.
fn check_memory(settings: &Settings, config: &EngineConfig) -> Result<(), Failure> {
    let set = match settings.variables.get(MEMORY_LIMIT) {
        Some(text) => text.parse::<ByteSize>().map_err(|error| format!("--set {MEMORY_LIMIT}={text}: {error}"))?.0,
        None => 0,
    };
    let (limit, pool, log) = (memory_limit_of(set), pool_bytes(config), config.wal.buffer_bytes as u64);
    let mib = |bytes: u64| bytes >> 20;
    let told = || {
        let (pool, log, limit) = (mib(pool), mib(log), mib(limit));
        let why = if set == 0 { " (nine tenths of what the machine or the control group has)" } else { "" };
        format!("of {MEMORY_LIMIT}, {limit} MiB{why}, the buffer pool takes {pool} MiB and the log {log} MiB")
    };
    // A pool of any size may have been asked for.
    if pool.checked_add(log).is_none_or(|both| both > limit) {
        return Err(format!("{}: choose a smaller --buffer-pool-size or a larger limit", told()).into());
    }
    if limit - pool - log < WORKING_BYTES_MIN {
        log::warning(&format!("{}: statements that need more than the {} MiB left will be refused", told(), mib(limit - pool - log)));
    }
    Ok(())
}

/// The archive's directory, if there is to be one; the log is kept from where it ends.
fn open_archive(settings: &Settings, config: &mut EngineConfig) -> Result<Option<Arc<dyn Disk>>, Failure> {
    let Some(path) = settings.log_archive() else { return Ok(None) };
    let disk = RealDisk::open(path).map_err(|error| match error {
        OpenError::Locked(_) => format!("the log archive {path} is in use by another server"),
        error => format!("log archive {path}: {error}"),
    })?;
    let state = wal::ArchiveState::read(&disk).map_err(|error| format!("log archive {path}: {error}"))?;
    config.wal.keep_from = state.map(|state| state.compare_from());
    Ok(Some(Arc::new(disk)))
}

/// Bytes of log that may be there, and so at most be redone after a crash: writers wait for a checkpoint beyond.
fn log_capacity(settings: &Settings, default: u64) -> Result<u64, Failure> {
    let Some(text) = settings.variables.get(LOG_CAPACITY) else { return Ok(default) };
    let size: ByteSize = text.parse().map_err(|error| format!("--set {LOG_CAPACITY}={text}: {error}"))?;
    if size.0 < LOG_BYTES_MIN {
        return Err(format!("--set {LOG_CAPACITY}={text}: at least {LOG_BYTES_MIN}").into());
    }
    Ok(size.0)
}

/// Threads that purge: as set, or by the processors.
fn purge_threads(settings: &Settings) -> Result<usize, Failure> {
    let Some(text) = settings.variables.get(PURGE_THREADS) else {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        return Ok(if processors <= PROCESSORS_FEW { 1 } else { 4 });
    };
    match text.parse() {
        Ok(threads @ 1..=32) => Ok(threads),
        _ => Err(format!("--set {PURGE_THREADS}={text}: 1 to 32").into()),
    }
}

/// What DDL and temporary tables left behind at a crash is freed in the background.
fn free_orphans(catalog: Arc<Catalog>) -> Result<(), Failure> {
    let before = catalog.orphan_horizon();
    sync::thread::Builder::new().name("orphans".to_owned()).spawn(move || {
        memory::begin_thread();
        match catalog.free_orphans(before) {
            Ok(0) => {}
            Ok(count) => log::warning(&format!("{count} trees of interrupted DDL and of temporary tables were freed")),
            Err(error) => log::warning(&format!("trees of interrupted DDL and of temporary tables could not be freed: {error}")),
        }
    })?;
    Ok(())
}

/// Writes everything and a checkpoint. Sessions have ended, or are left to recovery.
pub fn close(service: &SqlService) -> Result<(), Failure> {
    service.shared().admission.stop();
    service.shared().end_query_logs();
    service.shared().engine.close(true)?;
    Ok(())
}
