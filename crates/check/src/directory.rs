//! A directory as the next start of a server would see it.

use crate::files;
use crate::report::Report;
use base::TxnId;
use catalog::Catalog;
use engine::offline::{CheckpointFacts, read_checkpoint};
use engine::{Engine, EngineConfig};
use env::{Disk, OverlayDisk, RealClock};
use std::path::Path;
use std::sync::Arc;
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

/// A directory after recovery over an overlay.
pub struct Recovered {
    /// What to read from: the directory, with what recovery has written over it.
    pub(crate) disk: Arc<dyn Disk>,
    /// The newest checkpoint, where it can be read.
    pub(crate) checkpoint: Option<CheckpointFacts>,
    /// Whether the log was applied, so that all pages are of one moment.
    pub(crate) whole: bool,
    /// Whether unfinished transactions were rolled back and old versions purged: nothing may be left over then.
    pub(crate) settled: bool,
    /// Ids from here on were never given out.
    pub(crate) next_txn: Option<TxnId>,
}

impl std::fmt::Debug for Recovered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Recovered({:?}, whole {}, settled {})", self.checkpoint, self.whole, self.settled)
    }
}

impl Source<'_> {
    fn overlay(&self) -> std::io::Result<Arc<dyn Disk>> {
        Ok(Arc::new(OverlayDisk::new(Arc::clone(&self.disk), self.scratch)?))
    }

    /// Recovers the directory as far as it goes. With `undo` the undo records are followed before they are purged.
    pub(crate) fn recover(&self, report: &Report, undo: bool) -> std::io::Result<Recovered> {
        let overlay = self.overlay()?;
        let checkpoint = self.checkpoint()?;
        report.progress("recovery", 0, 1);
        let mut config = EngineConfig::default();
        config.pool.frames = FRAMES;
        config.wal.buffer_bytes = LOG_BUFFER_BYTES;
        let opened = match &checkpoint {
            Some(_) => Engine::open(Arc::clone(&overlay), Arc::new(RealClock::new()), config).map_err(|error| error.to_string()),
            // To open an engine would make a new directory in the overlay.
            None => Err("no checkpoint can be read".to_owned()),
        };
        let engine = match opened {
            Ok(engine) => engine,
            Err(error) => {
                report.error("log", None, None, format!("the directory cannot be recovered: {error}"));
                // From the beginning: what a recovery that stopped halfway has written is of no moment at all. Torn pages are restored.
                let overlay = self.overlay()?;
                files::restore_torn_pages(&overlay, report);
                return Ok(Recovered { disk: overlay, next_txn: None, checkpoint, whole: false, settled: false });
            }
        };
        let mut settled = true;
        match Catalog::open(&engine) {
            Ok(_catalog) => {
                if undo {
                    report.progress("undo", 0, 1);
                    let records = engine.check_undo(&mut |what| report.error("undo/segments", None, None, what));
                    report.progress("undo", records, records);
                }
                for problem in engine.bring_to_rest() {
                    settled = false;
                    report.error(crate::pages::DATA, None, None, problem);
                }
            }
            Err(error) => {
                settled = false;
                report.error(crate::pages::DATA, None, None, format!("the dictionary cannot be opened: {error}"));
            }
        }
        settled &= engine.prepared_xids().is_empty();
        report.progress("recovery", 1, 1);
        let next_txn = Some(engine.txns().next_id());
        drop(engine);
        Ok(Recovered { disk: overlay, checkpoint, whole: true, settled, next_txn })
    }

    /// The newest checkpoint of the directory as it lies there; `None` when none can be read, which `files.rs` tells.
    fn checkpoint(&self) -> std::io::Result<Option<CheckpointFacts>> {
        match Wal::open(self.overlay()?, WalConfig { buffer_bytes: LOG_BUFFER_BYTES, ..WalConfig::default() }) {
            Ok((_, Some(checkpoint), _)) => Ok(read_checkpoint(&checkpoint.payload).ok()),
            Ok((_, None, _)) => Ok(None),
            Err(WalError::Io(error)) => Err(std::io::Error::new(error.kind(), error.to_string())),
            Err(_) => Ok(None),
        }
    }
}
