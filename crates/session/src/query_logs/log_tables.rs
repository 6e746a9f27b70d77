//! The files behind `mysql.general_log` and `mysql.slow_log`: what `log_output=TABLE` writes.
//!
//! # Invariants
//! 1. A statement puts its row into memory and goes on: it waits for no file. A thread appends what has come meanwhile, in one write.
//! 2. What waits in memory, and each file, is bounded; rows past a bound, or that a disk does not take, are lost and counted.
//! 3. Rows stand in the file in the order in which they came: who takes them out of memory holds the file's latch until they are written.
//! 4. Who reads has first written what waits, so that a session finds its own rows, and reads no further than the file went then.
//!
//! Why files, and what a crash costs: `docs/design/log-tables.md`. What a row looks like: `log_rows.rs`.

use super::Log;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Mutex, Rank, Signal};

/// Bytes of rows of one table that wait for the file.
const WAITING_BYTES_MAX: usize = 4 << 20;
/// Bytes that a file may grow to; TRUNCATE TABLE makes room.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Who is told of a failure.
pub(super) type Complain = Arc<dyn Fn(&str) + Send + Sync>;

/// Both tables, and the thread that writes them.
pub(super) struct LogTables {
    inner: Arc<Inner>,
    is_writing: AtomicBool,
}

struct Inner {
    general: LogTable,
    slow: LogTable,
    directory: OnceLock<PathBuf>,
    errors: OnceLock<Complain>,
    work: Signal,
    /// Set once, with release, before the last notification.
    ended: AtomicBool,
    /// Relaxed: a count for SHOW STATUS.
    lost: AtomicU64,
}

struct LogTable {
    name: &'static str,
    waiting: Mutex<Waiting>,
    file: Mutex<Appended>,
}

#[derive(Default)]
struct Waiting {
    rows: Vec<u8>,
    count: u64,
}

#[derive(Default)]
struct Appended {
    file: Option<File>,
    bytes: u64,
    /// The last row may be there in part.
    is_torn: bool,
    /// Rows are being lost, which was told.
    is_failing: bool,
}

impl LogTables {
    pub(super) fn new() -> LogTables {
        let table = |name| LogTable {
            name,
            waiting: Mutex::new(Rank::Leaf, Waiting::default()),
            file: Mutex::new(Rank::DataFile, Appended::default()),
        };
        let inner = Inner {
            general: table("general_log"),
            slow: table("slow_log"),
            directory: OnceLock::new(),
            errors: OnceLock::new(),
            work: Signal::new(),
            ended: AtomicBool::new(false),
            lost: AtomicU64::new(0),
        };
        LogTables { inner: Arc::new(inner), is_writing: AtomicBool::new(false) }
    }

    /// Says where the files lie, and who is told when one fails. Once.
    pub(super) fn place(&self, directory: &Path, errors: &Complain) {
        // Told a second time they stay what they were.
        let _ = self.inner.directory.set(directory.to_owned());
        let _ = self.inner.errors.set(Arc::clone(errors));
    }

    /// Starts the thread that writes, if it does not run yet.
    pub(super) fn begin(&self) -> io::Result<()> {
        // Relaxed: the thread finds what it needs behind its own latches.
        if self.is_writing.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let inner = Arc::clone(&self.inner);
        let work = move || {
            while !inner.ended.load(Ordering::Acquire) {
                inner.work.wait(None);
                inner.write_all();
            }
        };
        let started = sync::thread::Builder::new().name("log tables".to_owned()).stack_size(256 << 10).spawn(work);
        started.map(drop).inspect_err(|_| self.is_writing.store(false, Ordering::Relaxed))
    }

    /// Takes a row, which ends its line.
    pub(super) fn push(&self, log: Log, row: &[u8]) {
        let inner = &*self.inner;
        let fits = {
            let mut waiting = inner.table(log).waiting.lock();
            let fits = waiting.rows.len() + row.len() <= WAITING_BYTES_MAX;
            if fits {
                waiting.rows.extend_from_slice(row);
                waiting.count += 1;
            }
            fits
        };
        if !fits {
            inner.lost.fetch_add(1, Ordering::Relaxed);
        }
        inner.work.notify();
    }

    /// Writes what waits.
    pub(super) fn flush(&self) {
        self.inner.write_all();
    }

    /// How many rows were lost.
    pub(super) fn lost(&self) -> u64 {
        self.inner.lost.load(Ordering::Relaxed)
    }

    /// A table's rows as they are now; none where there never was one.
    pub(super) fn open(&self, log: Log) -> io::Result<Option<io::Take<File>>> {
        let Some(path) = self.inner.path(log) else { return Ok(None) };
        let (opened, complaint) = {
            let mut file = self.inner.table(log).file.lock();
            let complaint = self.inner.write(log, &mut file);
            (env::outside::open(&path).and_then(|file| Ok((file.metadata()?.len(), file))), complaint)
        };
        self.inner.complain(complaint);
        match opened {
            Ok((bytes, file)) => Ok(Some(file.take(bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Empties a table. Who reads it goes on with what was there.
    pub(super) fn truncate(&self, log: Log) -> io::Result<()> {
        let table = self.inner.table(log);
        let mut file = table.file.lock();
        let gone = std::mem::take(&mut *table.waiting.lock());
        drop(gone);
        if let Some(path) = self.inner.path(log)
            && let Err(error) = env::outside::remove(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        *file = Appended::default();
        Ok(())
    }
}

impl Drop for LogTables {
    fn drop(&mut self) {
        self.flush();
        // Release: pairs with the thread's acquire load.
        self.inner.ended.store(true, Ordering::Release);
        self.inner.work.notify();
    }
}

impl Inner {
    fn table(&self, log: Log) -> &LogTable {
        match log {
            Log::General => &self.general,
            Log::Slow => &self.slow,
        }
    }

    fn path(&self, log: Log) -> Option<PathBuf> {
        Some(self.directory.get()?.join(format!("mysql.{}.rows", self.table(log).name)))
    }

    fn complain(&self, complaint: Option<String>) {
        if let (Some(errors), Some(text)) = (self.errors.get(), complaint) {
            errors(&text);
        }
    }

    fn write_all(&self) {
        for log in [Log::General, Log::Slow] {
            let complaint = self.write(log, &mut self.table(log).file.lock());
            self.complain(complaint);
        }
    }

    /// Writes the rows of a table that wait; what the server's log is to say where they have begun to be lost.
    fn write(&self, log: Log, to: &mut Appended) -> Option<String> {
        let Waiting { rows, count } = std::mem::take(&mut *self.table(log).waiting.lock());
        if count == 0 {
            return None;
        }
        let path = self.path(log)?;
        match to.append(&path, &rows) {
            Ok(()) => {
                to.is_failing = false;
                None
            }
            Err(error) => {
                self.lost.fetch_add(count, Ordering::Relaxed);
                let is_known = std::mem::replace(&mut to.is_failing, true);
                (!is_known)
                    .then(|| format!("mysql.{} cannot be written ({error}); its rows are lost until that is mended", self.table(log).name))
            }
        }
    }
}

impl Appended {
    fn append(&mut self, path: &Path, rows: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            self.open(path)?;
        }
        if self.bytes + rows.len() as u64 > FILE_BYTES_MAX {
            return Err(io::Error::other("the table is full; TRUNCATE TABLE empties it"));
        }
        let Some(mut file) = self.file.as_ref() else { return Ok(()) };
        // What is there in part is a line of its own, which readers leave out.
        let written = if self.is_torn { file.write_all(b"\n") } else { Ok(()) }.and_then(|()| file.write_all(rows));
        self.is_torn = written.is_err();
        self.bytes = file.metadata()?.len();
        written
    }

    fn open(&mut self, path: &Path) -> io::Result<()> {
        let file = env::outside::append(path)?;
        self.bytes = file.metadata()?.len();
        if self.bytes > 0 {
            let mut last = [0];
            let mut reader = env::outside::open(path)?;
            reader.seek(SeekFrom::End(-1))?;
            reader.read_exact(&mut last)?;
            // The machine went down, or the disk was full, in a row.
            self.is_torn = last != [b'\n'];
        }
        self.file = Some(file);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tables: &LogTables, log: Log) -> String {
        let mut text = String::new();
        if let Some(mut file) = tables.open(log).expect("opened") {
            file.read_to_string(&mut text).expect("read");
        }
        text
    }

    fn placed(directory: &Path) -> LogTables {
        let tables = LogTables::new();
        tables.place(directory, &(Arc::new(|_: &str| ()) as Complain));
        tables
    }

    #[test]
    fn rows_are_there_for_who_reads_and_after_a_restart_and_a_torn_one_stands_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let tables = placed(directory.path());
        assert_eq!(read(&tables, Log::Slow), "");
        tables.push(Log::Slow, b"one\n");
        assert_eq!((read(&tables, Log::Slow), read(&tables, Log::General)), ("one\n".to_owned(), String::new()));
        drop(tables);
        let path = directory.path().join("mysql.slow_log.rows");
        std::fs::write(&path, "one\ntor").expect("written");
        let tables = placed(directory.path());
        tables.begin().expect("a thread");
        tables.push(Log::Slow, b"two\n");
        assert_eq!(read(&tables, Log::Slow), "one\ntor\ntwo\n");
        let mut before = tables.open(Log::Slow).expect("opened").expect("there");
        tables.truncate(Log::Slow).expect("emptied");
        assert_eq!(read(&tables, Log::Slow), "");
        tables.push(Log::Slow, b"three\n");
        assert_eq!(read(&tables, Log::Slow), "three\n");
        let mut text = String::new();
        before.read_to_string(&mut text).expect("read");
        assert_eq!(text, "one\ntor\ntwo\n");
    }

    #[test]
    fn rows_past_a_bound_are_lost_and_counted() {
        let directory = tempfile::tempdir().expect("a directory");
        let tables = placed(directory.path());
        let large = vec![b'x'; WAITING_BYTES_MAX / 2 + 1];
        tables.push(Log::General, &large);
        tables.push(Log::General, &large);
        assert_eq!(tables.lost(), 1);
        tables.flush();
        tables.inner.general.file.lock().bytes = FILE_BYTES_MAX;
        tables.push(Log::General, b"late\n");
        tables.flush();
        assert_eq!((tables.lost(), tables.inner.general.file.lock().is_failing), (2, true));
        tables.truncate(Log::General).expect("emptied");
        tables.push(Log::General, b"room\n");
        assert_eq!((read(&tables, Log::General), tables.lost()), ("room\n".to_owned(), 2));
    }
}
