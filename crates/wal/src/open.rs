//! Making a log, opening one, going on after recovery, and checkpoints.

use crate::control::{Control, Slot};
use crate::frame::LSN_FIRST;
use crate::group::Group;
use crate::hole::Hole;
use crate::link_buffer::LinkBuffer;
use crate::pins::Pins;
use crate::reader::LogReader;
use crate::reserve::Reserver;
use crate::ring::Ring;
use crate::segments::{DIR, Segments};
use crate::space::{Room, Space};
use crate::stats::Counters;
use crate::wal::{Positions, Waits, Wanted};
use crate::writer::Writer;
use crate::{Checkpoint, Wal, WalConfig, WalError};
use base::Lsn;
use env::Disk;
use std::sync::{Arc, OnceLock};
use sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use sync::{CachePadded, Mutex, Rank, Signal};

impl Wal {
    /// Whether there is a log in the directory.
    pub fn exists(disk: &dyn Disk) -> Result<bool, WalError> {
        Control::exists(disk)
    }

    /// Makes a log and starts it. A crash meanwhile leaves none.
    pub fn create(disk: Arc<dyn Disk>, config: WalConfig) -> Result<Wal, WalError> {
        config.check();
        disk.create_dir_all(DIR)?;
        if Control::exists(&*disk)? {
            return Err(WalError::Exists);
        }
        let slot = Slot {
            sequence: 1,
            epoch: 1,
            redo: LSN_FIRST,
            durable: LSN_FIRST,
            segment_bytes: config.segment_bytes,
            has_payload: false,
            payload_file: 0,
            payload_len: 0,
            payload_crc: 0,
        };
        let counters = Arc::new(Counters::default());
        let pins = Pins::new(config.keep_bytes_max);
        let segments = Segments::new(disk.clone(), config.file_kind, config.segment_bytes, counters.clone(), Arc::clone(&pins))
            .with_capacity(config.capacity_bytes);
        segments.remove_all()?;
        segments.start_at(LSN_FIRST);
        segments.prepare(LSN_FIRST)?;
        let control = Control::create(disk, slot)?;
        let wal = Wal::assemble(&config, segments, pins, control, counters)?;
        wal.start_at(LSN_FIRST, 1)?;
        Ok(wal)
    }

    /// Opens the log for recovery: gives the newest checkpoint (`None` before the first) and a reader that starts at its `redo_lsn`.
    /// Appending is allowed after [`Wal::start_after_recovery`].
    pub fn open(disk: Arc<dyn Disk>, config: WalConfig) -> Result<(Wal, Option<Checkpoint>, LogReader), WalError> {
        let (control, checkpoint) = Control::open(disk.clone())?;
        let slot = *control.newest();
        let config = WalConfig {
            segment_bytes: slot.segment_bytes,
            capacity_bytes: config.capacity_bytes.max(3 * slot.segment_bytes),
            space_margin_bytes: config.space_margin_bytes.min(slot.segment_bytes),
            ..config
        };
        config.check();
        let counters = Arc::new(Counters::default());
        let pins = Pins::new(config.keep_bytes_max);
        let segments = Segments::new(disk.clone(), config.file_kind, slot.segment_bytes, counters.clone(), Arc::clone(&pins))
            .with_capacity(config.capacity_bytes);
        segments.open_existing(slot.redo, config.keep_from.map_or(u64::MAX, |from| from.0))?;
        // What recovery reads counts as durable: a page may be written as soon as its changes were read, and a loss of power after that must not
        // take the log back behind the page.
        segments.make_durable()?;
        let reading = Segments::new(disk, config.file_kind, slot.segment_bytes, counters.clone(), Pins::new(0));
        reading.open_existing(slot.redo, u64::MAX)?;
        let reader = LogReader::new(reading, &slot);
        Ok((Wal::assemble(&config, segments, pins, control, counters)?, checkpoint, reader))
    }

    fn assemble(
        config: &WalConfig,
        segments: Segments,
        pins: Arc<Pins>,
        control: Control,
        counters: Arc<Counters>,
    ) -> Result<Wal, WalError> {
        let redo = control.newest().redo;
        let positions = Positions {
            written: AtomicU64::new(0),
            durable: AtomicU64::new(0),
            redo: AtomicU64::new(redo),
            started_at: AtomicU64::new(0),
            marked: AtomicU64::new(0),
            mark_end: AtomicU64::new(0),
            epoch: AtomicU32::new(0),
            failed: AtomicBool::new(false),
        };
        Ok(Wal {
            ring: Ring::new(config.buffer_bytes)?,
            links: LinkBuffer::new(config.link_window_bytes as u64, 0),
            reserver: Reserver::new(0),
            group: Group::new(config.exact_wakeups),
            positions: CachePadded::new(positions),
            wanted: CachePadded::new(Wanted::default()),
            writer: Mutex::new(Rank::LogWriter, Writer::new(config.buffer_bytes)),
            space: Space::new(config, segments.segment_bytes()),
            waits: CachePadded::new(Waits { room: Room::new(), hole: Hole::new() }),
            kept_at_open: Mutex::new(Rank::Leaf, config.keep_from.map(|from| pins.add(from))),
            archive: crate::archive::no_archive(),
            pins,
            segments,
            control: Mutex::with_order(Rank::LogWriter, 1, control),
            pressure: Signal::new(),
            grow: Signal::new(),
            counters,
            background: AtomicBool::new(false),
            observer: OnceLock::new(),
            failure: Mutex::new(Rank::Leaf, None),
            mark_bytes: config.mark_bytes,
        })
    }

    /// Recovery has read everything below `end`: pages with those changes may be written, before the log goes on.
    pub fn read_up_to(&self, end: Lsn) {
        debug_assert!(self.positions.epoch.load(Ordering::Relaxed) == 0, "the log is started");
        // Release: pairs with the acquire loads of those who write pages.
        self.positions.durable.store(end.0, Ordering::Release);
    }

    /// Recovery has read everything up to `end_of_valid` ([`LogReader::end_of_valid`] after its last record): the log goes on there,
    /// in a new epoch. What was read is durable afterwards.
    pub fn start_after_recovery(&self, end_of_valid: Lsn) -> Result<(), WalError> {
        assert!(self.positions.epoch.load(Ordering::Relaxed) == 0, "the log is started once");
        assert!(end_of_valid >= self.redo_lsn(), "the log ends at {end_of_valid}, before {}", self.redo_lsn());
        self.segments.resume_at(end_of_valid.0)?;
        let epoch = {
            let mut control = self.control.lock();
            let epoch = control.newest().epoch + 1;
            control.write_epoch(epoch, end_of_valid.0)?;
            epoch
        };
        self.segments.prepare(end_of_valid.0)?;
        self.start_at(end_of_valid.0, epoch)
    }

    fn start_at(&self, end: u64, epoch: u32) -> Result<(), WalError> {
        self.writer.lock().resume_at(&self.segments, end)?;
        self.positions.epoch.store(epoch, Ordering::Relaxed);
        self.positions.started_at.store(end, Ordering::Relaxed);
        // The control file says it of what lies before.
        self.positions.marked.store(end, Ordering::Relaxed);
        self.positions.written.store(end, Ordering::Release);
        self.positions.durable.store(end, Ordering::Release);
        self.space.move_to(self.positions.redo.load(Ordering::Relaxed), &self.segments);
        self.links.restart(end);
        self.reserver.restart(end);
        Ok(())
    }

    /// Makes a checkpoint durable and frees the segments below its `redo_lsn`. `redo_lsn` never goes back, and is at most
    /// [`Wal::written_contiguous`]. `DiskFull` leaves the previous checkpoint in force; any other error fails the log.
    pub fn write_checkpoint(&self, checkpoint: Checkpoint) -> Result<(), WalError> {
        let redo = checkpoint.redo_lsn;
        self.wait_durable(redo)?;
        let mut control = self.control.lock();
        assert!(redo.0 >= control.newest().redo, "checkpoint at {redo} after one at {}", control.newest().redo);
        if self.has_failed() {
            return Err(WalError::Failed);
        }
        let mut written = control.write_checkpoint(&checkpoint, self.durable().0);
        if matches!(written, Err(WalError::DiskFull)) && self.make_room() {
            written = control.write_checkpoint(&checkpoint, self.durable().0);
        }
        match written {
            Ok(()) => {}
            Err(WalError::DiskFull) => return Err(WalError::DiskFull),
            Err(error) => {
                // The slot may or may not have reached the disk, so neither payload file may be written again.
                self.fail(error.clone());
                return Err(error);
            }
        }
        self.positions.redo.store(redo.0, Ordering::Relaxed);
        self.segments.retire_below(redo.0);
        // What pins kept for a while is not kept for ever. A file that cannot be removed is tried again at the next checkpoint.
        let _ = self.segments.trim();
        self.space.move_to(redo.0, &self.segments);
        if self.has_failed() {
            // Failed meanwhile: the line above may have opened what the failure closed.
            self.space.close();
        }
        self.counters.checkpoints.inc();
        Ok(())
    }
}
