//! A directory as the next start of a server would see it.

use crate::files;
use crate::pages::DATA;
use crate::report::Report;
use base::TxnId;
use catalog::Catalog;
use engine::offline::{CheckpointFacts, read_checkpoint};
use engine::{Engine, EngineConfig};
use env::{Disk, OverlayDisk, RealClock};
use page_store::PageStore;
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use sync::{Mutex, Rank};
use wal::{Wal, WalConfig, WalError};

/// Pages of the pool that recovery works with.
const FRAMES: usize = 4096;
/// Ring of the log that recovery writes to the overlay.
const LOG_BUFFER_BYTES: usize = 16 << 20;

/// A directory that nobody else uses meanwhile, and room for what recovery writes.
pub struct Source<'a> {
    /// The directory, for reading.
    pub disk: Arc<dyn Disk>,
    /// A directory with room for about what the log has changed.
    pub scratch: &'a Path,
}

/// Warnings of the engine that are told.
const WARNINGS_MAX: usize = 1000;

/// A directory after recovery over an overlay.
pub struct Recovered {
    /// What to read from: the directory, with what recovery has written over it.
    pub(crate) disk: Arc<dyn Disk>,
    /// The newest checkpoint, where it can be read.
    pub(crate) checkpoint: Option<CheckpointFacts>,
    /// Whether the log was applied and all that it has changed was written, so that all pages are of one moment.
    pub(crate) whole: bool,
    /// Whether unfinished transactions were rolled back and old versions purged: nothing may be left over then.
    pub(crate) settled: bool,
    /// Unfinished transactions that could not be rolled back: rows that carry their ids were never committed so.
    pub(crate) unfinished: HashSet<TxnId>,
    /// Ids from here on were never given out.
    pub(crate) next_txn: Option<TxnId>,
    /// What recovery has read and written pages by, where the log was applied: it knows which have changes that the log does not have.
    pub(crate) store: Option<Arc<PageStore>>,
}

impl std::fmt::Debug for Recovered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Recovered({:?}, whole {}, settled {})", self.checkpoint, self.whole, self.settled)
    }
}

/// An error that is about the scratch directory and says nothing of the one that is looked at.
fn scratch_error(error: io::Error, scratch: &Path) -> io::Error {
    let what =
        format!("the directory for temporary files, {}: {error}; --temp names another (nothing is known of the data)", scratch.display());
    io::Error::new(error.kind(), what)
}

/// What the engine warns of while it recovers, and is told when nobody writes any more.
struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    fn new() -> Warnings {
        Warnings(Mutex::new(Rank::Leaf, Vec::new()))
    }

    fn add(&self, text: &str) {
        let mut all = self.0.lock();
        if all.len() < WARNINGS_MAX {
            all.push(text.to_owned());
        }
    }

    fn tell(&self, report: &Report) {
        let all = std::mem::take(&mut *self.0.lock());
        all.into_iter().for_each(|text| report.note("recovery", None, None, text));
    }
}

impl Source<'_> {
    fn overlay(&self) -> io::Result<Arc<OverlayDisk>> {
        let overlay = OverlayDisk::new(Arc::clone(&self.disk), self.scratch).map_err(|error| scratch_error(error, self.scratch))?;
        Ok(Arc::new(overlay))
    }

    /// Looks at the log as it lies there; over an overlay, as opening it writes.
    pub(crate) fn check_log(&self, report: &Report) -> io::Result<files::LogFacts> {
        let overlay = self.overlay()?;
        let disk: Arc<dyn Disk> = Arc::<OverlayDisk>::clone(&overlay);
        let facts = files::check_log(&disk, report);
        self.judge_scratch(&overlay)?;
        Ok(facts)
    }

    /// What went wrong came from the scratch file, and not from the directory.
    fn judge_scratch(&self, overlay: &OverlayDisk) -> io::Result<()> {
        overlay.scratch_failure().map_or(Ok(()), |error| Err(scratch_error(error, self.scratch)))
    }

    /// Recovers the directory as far as it goes. With `undo` the undo records are followed before they are purged. The error is one of the scratch
    /// directory; whatever is wrong with the directory itself is told.
    pub(crate) fn recover(&self, report: &Report, undo: bool) -> io::Result<Recovered> {
        let warnings = Arc::new(Warnings::new());
        let recovered = self.recover_with(report, undo, &warnings)?;
        warnings.tell(report);
        Ok(recovered)
    }

    fn recover_with(&self, report: &Report, undo: bool, warnings: &Arc<Warnings>) -> io::Result<Recovered> {
        let overlay = self.overlay()?;
        let checkpoint = self.checkpoint(report)?;
        report.progress("recovery", 0, 1);
        let mut config = EngineConfig::default();
        config.pool.frames = FRAMES;
        config.wal.buffer_bytes = LOG_BUFFER_BYTES;
        let told = Arc::clone(warnings);
        config.on_warning = Arc::new(move |text| told.add(text));
        let opened = match &checkpoint {
            Some(_) => {
                Engine::open(Arc::<OverlayDisk>::clone(&overlay), Arc::new(RealClock::new()), config).map_err(|error| error.to_string())
            }
            // To open an engine would make a new directory in the overlay.
            None => Err("no checkpoint can be read".to_owned()),
        };
        self.judge_scratch(&overlay)?;
        let engine = match opened {
            Ok(engine) => engine,
            Err(error) => {
                report.error("log", None, None, format!("the directory cannot be recovered: {error}"));
                return self.as_it_lies(checkpoint, report);
            }
        };
        let catalog = Catalog::open(&engine);
        let rest = match &catalog {
            Ok(_) => {
                if undo {
                    report.progress("undo", 0, 0);
                    let mut look = |records| {
                        report.progress("undo", records, 0);
                        true
                    };
                    let records = engine.check_undo(&mut look, &mut |what| report.error("undo/segments", None, None, what));
                    report.progress("undo", records, records);
                }
                engine.bring_to_rest()
            }
            Err(error) => {
                report.error(DATA, None, None, format!("the dictionary cannot be opened: {error}"));
                // Nothing says what the rows are whose changes would be taken back.
                engine.write_all()
            }
        };
        self.judge_scratch(&overlay)?;
        let settled = catalog.is_ok() && rest.problems.is_empty() && engine.prepared_xids().is_empty();
        rest.problems.into_iter().for_each(|problem| report.error(DATA, None, None, problem));
        if !rest.written {
            return self.as_it_lies(checkpoint, report);
        }
        report.progress("recovery", 1, 1);
        let next_txn = Some(engine.txns().next_id());
        let store = Some(Arc::clone(engine.pool().store()));
        drop(catalog);
        drop(engine);
        let unfinished = rest.unfinished.into_iter().collect();
        Ok(Recovered { disk: overlay, checkpoint, whole: true, settled, unfinished, next_txn, store })
    }

    /// The directory without its log. From the beginning: what a recovery that stopped halfway has written is of no moment at all. Torn pages are restored.
    fn as_it_lies(&self, checkpoint: Option<CheckpointFacts>, report: &Report) -> io::Result<Recovered> {
        let overlay = self.overlay()?;
        let disk: Arc<dyn Disk> = Arc::<OverlayDisk>::clone(&overlay);
        files::restore_torn_pages(&disk, report);
        self.judge_scratch(&overlay)?;
        Ok(Recovered { disk, next_txn: None, checkpoint, whole: false, settled: false, unfinished: HashSet::new(), store: None })
    }

    /// The newest checkpoint of the directory as it lies there; `None` when none can be read.
    fn checkpoint(&self, report: &Report) -> io::Result<Option<CheckpointFacts>> {
        let overlay = self.overlay()?;
        let config = WalConfig { buffer_bytes: LOG_BUFFER_BYTES, ..WalConfig::default() };
        let opened = Wal::open(Arc::<OverlayDisk>::clone(&overlay), config);
        self.judge_scratch(&overlay)?;
        Ok(match opened {
            Ok((_, Some(checkpoint), _)) => read_checkpoint(&checkpoint.payload).ok(),
            Ok((_, None, _)) => None,
            // What does not fit is told by `files.rs`, which reads on; a device that fails may fail only now.
            Err(WalError::Io(error)) => {
                report.error("log", None, None, format!("cannot be read: {error}"));
                None
            }
            Err(_) => None,
        })
    }
}
