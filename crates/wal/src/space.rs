//! Back-pressure: writers wait while the log has no room before what the last checkpoint still needs.

use crate::segments::Segments;
use crate::wal::Wal;
use crate::{WalConfig, WalError};
use std::time::{Duration, Instant};
use sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use sync::{Signal, futex};

pub(crate) struct Space {
    capacity: u64,
    margin: u64,
    /// Half a segment (or the margin, if more) before the end of what is prepared, the background thread is told.
    early: u64,
    /// Position that the log may fill: start of the oldest needed segment + capacity. Release/acquire with the checkpoint that moved it.
    fill_end: AtomicU64,
    /// Counts checkpoints and the failure of the log; waiters sleep on it.
    changed: AtomicU32,
    has_waiters: AtomicBool,
    /// No checkpoint can be taken for want of room on a disk. SeqCst with `changed`, as `has_waiters`.
    checkpoints_blocked: AtomicBool,
}

impl Space {
    pub(crate) fn new(config: &WalConfig, segment_bytes: u64) -> Self {
        let margin = config.space_margin_bytes.min(segment_bytes);
        Space {
            capacity: config.capacity_bytes.max(3 * segment_bytes),
            margin,
            early: margin + segment_bytes / 2,
            fill_end: AtomicU64::new(0),
            changed: AtomicU32::new(0),
            has_waiters: AtomicBool::new(false),
            checkpoints_blocked: AtomicBool::new(false),
        }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The checkpoint at `redo` is durable.
    pub(crate) fn move_to(&self, redo: u64, segments: &Segments) {
        let start = redo / segments.segment_bytes() * segments.segment_bytes();
        self.fill_end.store(start + self.capacity, Ordering::Release);
        self.wake_all();
    }

    /// The log has failed: from now on every `ensure_space` looks closer.
    pub(crate) fn close(&self) {
        self.fill_end.store(0, Ordering::Release);
        self.wake_all();
    }

    /// Lets waiters look again.
    fn wake_all(&self) {
        self.changed.fetch_add(1, Ordering::SeqCst);
        if self.has_waiters.swap(false, Ordering::SeqCst) {
            futex::wake(&self.changed, u32::MAX);
        }
    }
}

/// Where appenders wait for the ring. Its writer announces each piece it gives free.
pub(crate) struct Room {
    changed: AtomicU32,
    has_waiters: AtomicBool,
    /// Largest position that anyone waited for, and the limit at the last announcement by an appender (relaxed, they only avoid wakes in vain).
    highest: AtomicU64,
    announced: AtomicU64,
}

/// A waiter looks again after this long in any case: what it waits for may be another appender that was interrupted in its copy, and
/// appenders look for waiters without a fence.
const ROOM_WAIT_MAX: Duration = Duration::from_millis(1);

impl Room {
    pub(crate) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Room { changed: AtomicU32::new(0), has_waiters: AtomicBool::new(false), highest: zero(), announced: zero() }
    }

    /// Whether somebody waits, as far as this thread sees; who is missed looks again by itself.
    #[inline]
    pub(crate) fn has_waiters(&self) -> bool {
        self.has_waiters.load(Ordering::Relaxed)
    }

    /// Room was freed. One load when nobody waits.
    pub(crate) fn announce(&self) {
        if self.has_waiters.load(Ordering::SeqCst) && self.has_waiters.swap(false, Ordering::SeqCst) {
            self.changed.fetch_add(1, Ordering::SeqCst);
            futex::wake(&self.changed, u32::MAX);
        }
    }

    /// An appender raised the limit, maybe by one record: announces it when all waiters have room, or after `step` bytes.
    pub(crate) fn announce_limit(&self, limit: u64, step: u64) {
        if limit >= self.highest.load(Ordering::Relaxed) || limit >= self.announced.load(Ordering::Relaxed) + step {
            self.announced.store(limit, Ordering::Relaxed);
            self.announce();
        }
    }

    /// Sleeps until room was announced, unless `has_room` already. `end` is what the caller waits for.
    pub(crate) fn wait(&self, end: u64, has_room: impl Fn() -> bool) {
        self.highest.fetch_max(end, Ordering::Relaxed);
        let seen = self.changed.load(Ordering::SeqCst);
        self.has_waiters.store(true, Ordering::SeqCst);
        if !has_room() {
            futex::wait(&self.changed, seen, Some(Instant::now() + ROOM_WAIT_MAX));
        }
    }
}

impl Wal {
    /// Waits until the log has room for more mini-transactions. Call with no latch held, before each one; never from who writes checkpoints.
    ///
    /// `DiskFull` when a segment cannot be made; `Failed` once the log has failed.
    #[inline]
    pub fn ensure_space(&self) -> Result<(), WalError> {
        sync::spun_for::assert_none();
        let head = self.reserver.head();
        let prepared_end = self.segments.prepared_end();
        if head.saturating_sub(self.positions.written.load(Ordering::Relaxed)) > self.ring.capacity() / 4 {
            // Much is appended and little committed: the background thread writes before the ring is full.
            self.grow.notify();
        }
        if head + self.space.early > prepared_end || head + self.space.margin > self.space.fill_end.load(Ordering::Acquire) {
            return self.ensure_space_slowly();
        }
        Ok(())
    }

    #[cold]
    fn ensure_space_slowly(&self) -> Result<(), WalError> {
        let space = &self.space;
        let mut waited = false;
        loop {
            if self.has_failed() {
                return Err(WalError::Failed);
            }
            let seen = space.changed.load(Ordering::SeqCst);
            let need = self.reserver.head() + space.margin;
            let fill_end = space.fill_end.load(Ordering::Acquire);
            if need > fill_end {
                if !waited {
                    waited = true;
                    self.counters.space_waits.inc();
                }
                self.pressure.notify();
                if space.checkpoints_blocked.load(Ordering::SeqCst) {
                    return Err(WalError::DiskFull);
                }
                // SeqCst with `wake_all`: either it sees the flag, or the word changed and the wait returns at once.
                space.has_waiters.store(true, Ordering::SeqCst);
                if space.changed.load(Ordering::SeqCst) == seen && !self.has_failed() {
                    futex::wait(&space.changed, seen, None);
                }
                continue;
            }
            let prepared_end = self.segments.prepared_end();
            if need <= prepared_end {
                if self.has_background() && prepared_end < fill_end {
                    self.grow.notify();
                    return Ok(());
                }
                let early = (self.reserver.head() + space.early).min(fill_end - 1);
                if early < prepared_end {
                    return Ok(());
                }
                // Nobody else does it: now, but an error is only one when there is no room at all.
                let _ = self.segments.prepare(prepared_end);
                return Ok(());
            }
            self.segments.prepare(need)?;
        }
    }

    /// Says whether checkpoints fail for want of room on a disk. While they do, writers for whom only a checkpoint could make space in the log get
    /// `DiskFull` instead of waiting.
    pub fn set_checkpoints_blocked(&self, blocked: bool) {
        if self.space.checkpoints_blocked.swap(blocked, Ordering::SeqCst) != blocked && blocked {
            self.space.wake_all();
        }
    }

    /// Makes the next segment when the head comes near the end of the prepared ones; for the background thread.
    pub(crate) fn prepare_early(&self) {
        let position = self.reserver.head() + self.space.early;
        if position < self.space.fill_end.load(Ordering::Acquire) && !self.has_failed() {
            // A full disk is told to the writers that need the segment.
            let _ = self.segments.prepare(position);
        }
    }

    /// Notified when writers wait for a checkpoint. The checkpointer may wait on it, with a deadline of its own.
    pub fn pressure(&self) -> &Signal {
        &self.pressure
    }
}
