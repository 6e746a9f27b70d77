//! `SHOW ENGINE INNODB STATUS`: what the engine does, in the shape of InnoDB's report, which monitoring programs take apart by its headings and
//! words. Every figure is counted or measured; what does not exist here (an adaptive hash index, an insert buffer) has no section, and
//! where a line needs a number that nobody keeps (`query id`) it is 0.

use super::{Table, deadlock};
use crate::client_session::ClientSession;
use crate::context::Core;
use crate::error_map::{Outcome, executor_error};
use crate::reply::fixed_columns::lists;
use crate::virtual_tables::{LockPicture, ShownLock, running_statement, transaction_id};
use engine::{EngineStatus, TransactionInfo};
use std::fmt::Write;
use std::time::Instant;

/// Transactions that are listed at most; the count in the section's head is of all.
const TRANSACTIONS_MAX: usize = 1000;

/// Figures at the last report, from which the next one computes what a second brought.
pub(crate) struct Sample {
    at: Instant,
    status: EngineStatus,
}

/// The result's columns, without a row.
pub(super) fn head() -> Table {
    Table::new(lists::ENGINE_STATUS)
}

pub(super) fn engine_status(session: &mut ClientSession) -> Result<Table, Outcome> {
    let mut report = String::new();
    let written = write(&mut session.core, &mut report);
    session.core.lock_picture = None;
    written.map_err(|error| executor_error(error, || session.stop_error()))?;
    let mut table = head();
    table.row(vec!["InnoDB".into(), "".into(), report.into()]);
    Ok(table)
}

fn section(name: &str, out: &mut String) {
    let line = "-".repeat(name.len());
    let _ = writeln!(out, "{line}\n{name}\n{line}");
}

fn write(core: &mut Core, out: &mut String) -> executor::Result<()> {
    let picture = LockPicture::of(core)?;
    let core = &*core;
    let status = core.shared.engine.status();
    let now = Instant::now();
    let last = core.shared.last_report.lock().replace(Sample { at: now, status });
    let (since, before) = last.map_or((core.shared.started, None), |sample| (sample.at, Some(sample.status)));
    let seconds = now.duration_since(since).as_secs_f64();
    let rates = Rates { seconds: seconds.max(0.001), before };

    let title = format!("{} 0 INNODB MONITOR OUTPUT", deadlock::local_time(core, core.shared.engine.wall_micros()));
    let line = "=".repeat(title.len());
    let _ = writeln!(out, "\n{line}\n{title}\n{line}");
    let _ = writeln!(out, "Per second averages calculated from the last {} seconds", seconds.round() as u64);
    section("BACKGROUND THREAD", out);
    let _ = writeln!(
        out,
        "Checkpoints {}, dirty pages {}, undo segments {}, spilled {}",
        status.wal.checkpoints, status.pool.pages_dirty, status.undo.segments, status.undo.spilled
    );
    section("SEMAPHORES", out);
    let _ = writeln!(out, "Page latch waits {}", status.pool.latch_waits);
    let _ = writeln!(
        out,
        "Log: ring waits {}, space waits {}, sleeps for a batch {}",
        status.wal.ring_waits, status.wal.space_waits, status.wal.sleeps
    );
    if let Some(report) = core.shared.engine.locks().latest_deadlock() {
        section("LATEST DETECTED DEADLOCK", out);
        deadlock::write(core, &report, out)?;
    }
    section("TRANSACTIONS", out);
    transactions(core, &picture, &status, out);
    section("FILE I/O", out);
    file_io(&status, &rates, out);
    section("LOG", out);
    log(core, &status, &rates, out);
    section("BUFFER POOL AND MEMORY", out);
    buffer_pool(core, &status, &rates, out);
    section("ROW OPERATIONS", out);
    let admission = core.shared.admission.stats();
    let _ = writeln!(out, "{} queries inside InnoDB, {} queries in queue", admission.working, admission.queued);
    let _ = writeln!(out, "{} read views open inside InnoDB", status.views_open);
    let _ = writeln!(out, "Process ID={}", std::process::id());
    let _ = writeln!(out, "----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================");
    Ok(())
}

/// What a second brought.
struct Rates {
    seconds: f64,
    before: Option<EngineStatus>,
}

impl Rates {
    fn of(&self, now: &EngineStatus, figure: impl Fn(&EngineStatus) -> u64) -> f64 {
        let before = self.before.as_ref().map_or(0, &figure);
        figure(now).saturating_sub(before) as f64 / self.seconds
    }
}

fn transactions(core: &Core, picture: &LockPicture, status: &EngineStatus, out: &mut String) {
    let _ = writeln!(out, "Trx id counter {}", status.next_txn_id);
    let _ = writeln!(out, "Purge done for trx's n:o < {} undo n:o < 0 state: running", status.low_txn_id);
    let _ = writeln!(out, "History list length {}", status.history_length);
    let _ = writeln!(
        out,
        "History: the oldest of it is {} s old; {} purged between snapshots",
        core.shared.engine.history_age().as_secs(),
        core.shared.engine.pruned()
    );
    let locks = &status.locks;
    let _ = writeln!(
        out,
        "Row lock waits {}, waiting {}, deadlocks {}, timeouts {}",
        locks.waits, locks.waiting, locks.deadlocks, locks.timeouts
    );
    let _ = writeln!(out, "LIST OF TRANSACTIONS FOR EACH SESSION:");
    // Those that wait first, then the oldest.
    let mut by_owner: std::collections::HashMap<u64, Vec<&ShownLock>> = std::collections::HashMap::new();
    for lock in &picture.locks {
        by_owner.entry(lock.info.owner).or_default().push(lock);
    }
    let none = Vec::new();
    let locks_of = |t: &TransactionInfo| by_owner.get(&t.owner).unwrap_or(&none);
    let mut list: Vec<&TransactionInfo> = picture.transactions.iter().collect();
    list.sort_by_key(|t| (locks_of(t).iter().all(|lock| lock.info.granted), t.begun_ms));
    for t in list.iter().take(TRANSACTIONS_MAX) {
        transaction(core, t, locks_of(t), out);
    }
    if list.len() > TRANSACTIONS_MAX {
        let _ = writeln!(out, "({} more transactions)", list.len() - TRANSACTIONS_MAX);
    }
}

fn transaction(core: &Core, t: &TransactionInfo, locks: &[&ShownLock], out: &mut String) {
    let engine = &core.shared.engine;
    let id = transaction_id(t.txn.0, t.owner);
    let active = (engine.wall_micros() as u64 / 1000).saturating_sub(t.begun_ms) / 1000;
    let waits = locks.iter().find(|lock| !lock.info.granted);
    let _ = writeln!(out, "---TRANSACTION {id}, ACTIVE {active} sec");
    let changed = if t.txn.is_none() { 0 } else { engine.locks().find_owner(t.txn).map_or(0, |owner| owner.work()) };
    let wait = if waits.is_some() { "LOCK WAIT " } else { "" };
    let undo = if changed > 0 { format!(", undo log entries {changed}") } else { String::new() };
    let _ = writeln!(out, "{wait}{} lock struct(s), heap size 0, {} row lock(s){undo}", locks.len(), locks.len());
    if let Some(connection) = u32::try_from(t.client).ok().and_then(|id| core.shared.connections.find(id)) {
        let label = connection.label();
        let statement = running_statement(&connection);
        let state = statement.as_ref().and_then(|_| connection.waits_for()).unwrap_or_default();
        let _ = writeln!(out, "MySQL thread id {}, OS thread handle 0, query id 0 {} {state}", t.client, label.place());
        if let Some(statement) = statement {
            let _ = writeln!(out, "{statement}");
        }
    }
    if let Some(lock) = waits {
        let seconds = lock.info.since.map_or(0, |since| since.elapsed().as_secs());
        let _ = writeln!(out, "------- TRX HAS BEEN WAITING {seconds} SEC FOR THIS LOCK TO BE GRANTED:");
        let table = lock.table.as_ref().map(|(entry, index)| (&**entry, *index));
        deadlock::lock(table, &lock.info.key, id, lock.info.mode_name(), true, out);
        let _ = writeln!(out, "------------------");
    }
}

fn file_io(status: &EngineStatus, rates: &Rates, out: &mut String) {
    let reads = |s: &EngineStatus| s.pool.reads + s.undo.file_reads;
    let writes = |s: &EngineStatus| s.pool.writes + s.wal.writes;
    let syncs = |s: &EngineStatus| s.wal.syncs;
    let _ = writeln!(out, "{} OS file reads, {} OS file writes, {} OS fsyncs", reads(status), writes(status), syncs(status));
    let _ = writeln!(
        out,
        "{:.2} reads/s, 16384 avg bytes/read, {:.2} writes/s, {:.2} fsyncs/s",
        rates.of(status, reads),
        rates.of(status, writes),
        rates.of(status, syncs)
    );
}

fn log(core: &Core, status: &EngineStatus, rates: &Rates, out: &mut String) {
    let wal = core.shared.engine.wal();
    let _ = writeln!(out, "Log capacity                 {}", status.wal_capacity_bytes);
    let _ = writeln!(out, "Log capacity used            {}", status.wal_age_bytes);
    let _ = writeln!(out, "Log sequence number          {}", wal.lsn_head());
    let _ = writeln!(out, "Log buffer completed up to   {}", wal.written_contiguous());
    let _ = writeln!(out, "Log flushed up to            {}", wal.durable());
    let _ = writeln!(out, "Last checkpoint at           {}", wal.redo_lsn());
    let _ = writeln!(out, "{} log i/o's done, {:.2} log i/o's/second", status.wal.writes, rates.of(status, |s| s.wal.writes));
    let wal = &status.wal;
    let _ = writeln!(
        out,
        "{} batches of {} commits, {} fsyncs, {} wake-ups useful, {} useless",
        wal.batches, wal.members, wal.syncs, wal.wakes_useful, wal.wakes_useless
    );
}

fn buffer_pool(core: &Core, status: &EngineStatus, rates: &Rates, out: &mut String) {
    let pool = &status.pool;
    let _ = writeln!(out, "Total large memory allocated {}", pool.frames_total * 16_384);
    let _ = writeln!(out, "Dictionary memory allocated 0");
    let _ = writeln!(out, "Plans in the plan cache {}", core.shared.plans.len());
    let _ = writeln!(out, "Buffer pool size   {}", pool.frames_total);
    let _ = writeln!(out, "Free buffers       {}", pool.frames_free);
    let _ = writeln!(out, "Database pages     {}", pool.frames_total.saturating_sub(pool.frames_free));
    let _ = writeln!(out, "Modified db pages  {}", pool.pages_dirty);
    let _ = writeln!(out, "Pages read {}, written {}, evicted {}", pool.reads, pool.writes, pool.evictions);
    let _ = writeln!(
        out,
        "{:.2} reads/s, {:.2} writes/s, {:.2} evictions/s",
        rates.of(status, |s| s.pool.reads),
        rates.of(status, |s| s.pool.writes),
        rates.of(status, |s| s.pool.evictions)
    );
    let hits = rates.of(status, |s| s.pool.hits);
    let asked = hits + rates.of(status, |s| s.pool.misses);
    match asked > 0.0 {
        true => {
            let _ = writeln!(out, "Buffer pool hit rate {} / 1000", (hits / asked * 1000.0) as u64);
        }
        false => {
            let _ = writeln!(out, "No buffer pool page gets since the last printout");
        }
    }
}
