//! The files beside the pages: page 0, control file and checkpoints, the log's records, the doublewrite area.

use crate::pages::{DATA, Pages};
use crate::report::Report;
use base::PageNo;
use engine::offline::{check_record, read_checkpoint};
use env::Disk;
use page_store::{PageStore, StoreConfig, StoreError};
use std::sync::Arc;
use sync::atomic::Ordering;
use wal::{ControlSlot, Wal, WalConfig, WalError};

const CONTROL: &str = wal::CONTROL;
/// Bytes of the log between two looks of who waits.
const PROGRESS_BYTES: u64 = 16 << 20;

/// What the log consists of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LogFacts {
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

/// Looks at control file, checkpoints and every record of the log from the checkpoint on.
pub(crate) fn check_log(disk: &Arc<dyn Disk>, report: &Report) -> LogFacts {
    let mut facts = LogFacts::default();
    match wal::control_slots(&**disk) {
        Ok(slots) => check_slots(slots, report),
        Err(error) => {
            report.error(CONTROL, None, None, error.to_string());
            return facts;
        }
    }
    let config = WalConfig { buffer_bytes: 1 << 20, link_window_bytes: 1 << 20, ..WalConfig::default() };
    let (_wal, checkpoint, mut reader) = match Wal::open(Arc::clone(disk), config) {
        Ok(opened) => opened,
        Err(error) => {
            report.error("log", None, None, error.to_string());
            return facts;
        }
    };
    match &checkpoint {
        Some(checkpoint) => {
            if let Err(error) = read_checkpoint(&checkpoint.payload) {
                report.error("log/checkpoint", None, None, error.to_string());
            }
        }
        None => report.error("log/checkpoint", None, None, "there is no checkpoint: the making of the directory was cut off"),
    }
    let mut told = 0;
    loop {
        match reader.next() {
            Ok(Some(entry)) => {
                facts.records += 1;
                facts.bytes += entry.end.0 - entry.start.0;
                if let Err(what) = check_record(entry.body) {
                    report.error("log", None, None, format!("record at {}: {what}", entry.start));
                }
                if facts.bytes - told > PROGRESS_BYTES {
                    told = facts.bytes;
                    report.progress("log", facts.bytes, 0);
                }
            }
            Ok(None) => return facts,
            Err(error) => {
                report.error(segment_of(&error).as_deref().unwrap_or("log"), None, None, error.to_string());
                return facts;
            }
        }
    }
}

fn segment_of(error: &WalError) -> Option<String> {
    match error {
        WalError::Corrupt { lsn, .. } => Some(format!("log (position {lsn})")),
        _ => None,
    }
}

fn check_slots(slots: [ControlSlot; 2], report: &Report) {
    let good = |slot: &ControlSlot| matches!(slot, ControlSlot::Good { .. });
    for (no, slot) in slots.iter().enumerate() {
        if *slot == ControlSlot::Invalid {
            let what = format!("slot {no} does not fit its checksum");
            // A crash while it was written leaves one such, and the other one counts.
            match slots.iter().any(good) {
                true => report.note(CONTROL, None, None, format!("{what}: cut off by a crash, or damaged; the other slot counts")),
                false => report.error(CONTROL, None, None, what),
            }
        }
    }
    let newest = slots.iter().filter_map(|slot| match slot {
        ControlSlot::Good { sequence, payload_fits, .. } => Some((*sequence, *payload_fits)),
        _ => None,
    });
    match newest.max() {
        Some((_, true)) => {}
        Some((_, false)) => report.error("log/checkpoint", None, None, "the newest checkpoint does not fit its checksum"),
        None => report.error(CONTROL, None, None, "has no good slot: nothing says where recovery begins"),
    }
}

/// Looks at page 0, and whether a program of this version may read the file at all. `false`: the pages are of another format.
pub(crate) fn check_format(disk: &Arc<dyn Disk>, report: &Report) -> bool {
    match PageStore::check_format(&**disk) {
        Ok(_) => true,
        Err(StoreError::Format(what)) => {
            report.error(DATA, Some(PageNo(0)), None, what);
            false
        }
        Err(error) => {
            // The page's own damage does not keep the others from being read.
            report.error(DATA, Some(PageNo(0)), None, error.to_string());
            true
        }
    }
}

/// Restores the pages that a crash tore, in the overlay, as a start does.
pub(crate) fn restore_torn_pages(overlay: &Arc<dyn Disk>, report: &Report) {
    // Why it cannot be opened is told by `check_format`.
    if let Ok(store) = PageStore::open(overlay, StoreConfig::default()) {
        let restored = store.stats().pages_restored.load(Ordering::Relaxed);
        if restored > 0 {
            report.note("doublewrite", None, None, format!("{restored} torn pages are restored from their copies"));
        }
    }
}

/// Pages of the data file, or the error that there are none to be had.
pub(crate) fn open_pages(disk: &Arc<dyn Disk>, report: &Report) -> Option<Pages> {
    match Pages::open(&**disk) {
        Ok(pages) => Some(pages),
        Err(error) => {
            report.error(DATA, None, None, format!("cannot be opened: {error}"));
            None
        }
    }
}
