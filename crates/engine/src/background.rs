//! What the engine does by itself: checkpoints before the log is full, and writing undo out when memory is short. Purge has a file of its own.
//!
//! # Invariants
//! 1. The thread that takes checkpoints waits for nothing that waits for a checkpoint: it changes no page.
//! 2. Pages that hold up the log are written by the cleaner long before (`buffer_pool`'s `age_target_percent`); when writers wait for log
//!    space all the same, the checkpoint thread writes the oldest pages itself.

use crate::Error;
use crate::engine::Engine;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::atomic::{AtomicBool, Ordering};

/// How often the checkpoint thread looks at the age of the log.
const LOOK: Duration = Duration::from_millis(100);
/// Share of the log's capacity, in percent, that may be written since the last checkpoint's redo position before the next one is tried.
const AGE_PERCENT: u64 = 25;
/// Share of the log's capacity past which the checkpoint thread writes pages itself.
const URGENT_PERCENT: u64 = 75;
/// Share of the capacity that the log is brought down to then.
const URGENT_TARGET_PERCENT: u64 = 50;
/// Shortest time between two checkpoints that only age asked for: each costs a sync of the undo file and two of the log.
const AGE_PAUSE: Duration = Duration::from_millis(500);
/// Pages that are written at once after a recovery; those who need frames get between.
const SETTLE_PAGES: usize = 1024;
/// How often the spill thread looks at the undo store's memory.
const SPILL_LOOK: Duration = Duration::from_millis(100);
/// How many times what undo should take of memory it may take when it cannot be written out. Past that rows are not changed any more.
pub(crate) const UNDO_MEMORY_TIMES_MAX: u64 = 2;

impl Engine {
    /// Takes a checkpoint whenever a good part of the log's capacity has been written since the last, when writers wait for space, and at
    /// least every so often.
    pub(crate) fn checkpoint_loop(self: &Arc<Engine>, stop: &AtomicBool) {
        if let Err(error) = self.settle(stop) {
            (self.config.on_warning)(&format!("checkpoint after the recovery: {error}; tried again"));
        }
        let mut last = Instant::now();
        let mut failing = false;
        while !stop.load(Ordering::SeqCst) {
            let pressed = self.wal.pressure().wait(Some(Instant::now() + LOOK));
            self.look_for_failed_sync();
            if stop.load(Ordering::SeqCst) {
                return;
            }
            self.give_out_freed(false);
            let (age, capacity) = (self.wal.age(), self.wal.capacity());
            let since = last.elapsed();
            let due = since >= self.config.checkpoint_interval && age > 0;
            let old = age > capacity / 100 * AGE_PERCENT && since >= AGE_PAUSE;
            let urgent = pressed || age > capacity / 100 * URGENT_PERCENT;
            if !(due || old || urgent) {
                continue;
            }
            let outcome = if urgent { self.urgent_checkpoint() } else { self.checkpoint() };
            last = Instant::now();
            // Writers that wait for the log's space get an error instead, for as long as no checkpoint can be taken.
            self.wal.set_checkpoints_blocked(outcome == Err(Error::DiskFull));
            match outcome {
                Ok(()) => {
                    failing = false;
                    self.undo.trim();
                }
                // Said once, not each time.
                Err(error) if !failing => {
                    failing = true;
                    (self.config.on_warning)(&format!("checkpoint: {error}; tried again"));
                }
                Err(_) => {}
            }
        }
    }

    /// Gives out the pages of dropped tables, as far as the log is durable; all of them if it `waits` for that. What goes wrong costs room on the device, no more.
    pub(crate) fn give_out_freed(&self, waits: bool) {
        if let Err(error) = self.space.give_out_freed(waits) {
            (self.config.on_warning)(&format!("pages of dropped tables: {error}"));
        }
    }

    /// After a recovery: writes the pages that it has changed, the oldest first, with checkpoints on the way, so that the log that a next recovery reads gets
    /// shorter however soon it comes. The checkpoint thread begins with this.
    pub fn settle(&self, stop: &AtomicBool) -> crate::Result<()> {
        let recovered = self.redo;
        if recovered.log_bytes == 0 {
            return Ok(());
        }
        let begun = Instant::now();
        let (mut last, mut pages) = (begun, 0);
        while !stop.load(Ordering::SeqCst) {
            let written = self.pool.flush_some(recovered.end, SETTLE_PAGES)?;
            pages += written;
            if written == 0 {
                break;
            }
            if last.elapsed() >= AGE_PAUSE {
                self.checkpoint()?;
                last = Instant::now();
            }
        }
        self.checkpoint()?;
        if pages > 0 {
            let seconds = begun.elapsed().as_secs_f64();
            (self.config.on_note)(&format!("recovery: {pages} pages written and a checkpoint taken in {seconds:.2} s"));
        }
        Ok(())
    }

    /// Writes the pages that keep the log long, then a checkpoint.
    fn urgent_checkpoint(&self) -> crate::Result<()> {
        let target = self.wal.capacity() / 100 * URGENT_TARGET_PERCENT;
        let below = base::Lsn(self.wal.lsn_head().0.saturating_sub(target));
        self.pool.flush_some(below, usize::MAX)?;
        self.checkpoint()
    }

    /// Writes cold undo out when there is more of it than memory should hold.
    pub(crate) fn spill_loop(self: &Arc<Engine>, stop: &AtomicBool) {
        let mut failing = false;
        while !stop.load(Ordering::SeqCst) {
            self.spill_wake.wait(Some(Instant::now() + SPILL_LOOK));
            if !self.undo.wants_spill() {
                self.undo_stuck.store(false, Ordering::Relaxed);
                continue;
            }
            let mut spilled = self.undo.spill().map_err(Error::from);
            if spilled == Err(Error::DiskFull) && self.wal.give_up_kept() {
                spilled = self.undo.spill().map_err(Error::from);
            }
            let too_much = self.undo.memory_bytes() > UNDO_MEMORY_TIMES_MAX * self.config.undo.memory_bytes_max;
            self.undo_stuck.store(spilled.is_err() && too_much, Ordering::Relaxed);
            match spilled {
                Ok(_) => failing = false,
                Err(error) if !failing => {
                    failing = true;
                    (self.config.on_warning)(&format!("undo file: {error}; it stays in memory and is tried again"));
                }
                Err(_) => {}
            }
        }
    }
}
