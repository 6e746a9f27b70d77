//! Making the log durable: alone, or as leader or member of a batch.

use crate::hole::Waited;
use crate::wal::Wal;
use crate::writer::Writer;
use crate::{FlushPolicy, WalError};
use base::Lsn;
use sync::atomic::Ordering;
use sync::{hint, thread};

/// Ring space is given free at least this often while much is written.
const WRITE_BYTES_MAX: u64 = 4 << 20;

/// How often a leader looks for an unfilled record, with longer and longer pauses (127 in all), and when it stops giving way and sleeps.
const LOOKS: u32 = 7;
const SLEEPS: u32 = LOOKS + 2;

/// What a thread needs before it may go on.
#[derive(Clone, Copy)]
struct Need {
    written: u64,
    durable: u64,
}

/// A leader that panics would leave everybody waiting for ever, with commits half published. Recovery can go on.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        eprintln!("fatal: a panic while commits were published");
        std::process::abort();
    }
}

impl Wal {
    /// Returns when everything below `lsn` survives a crash. Alone: writes and syncs in this thread. Among others: joins the batch
    /// that forms while another is written. `lsn` is the end of a reserved record; those below it must be on their way to being filled.
    #[inline]
    pub fn wait_durable(&self, lsn: Lsn) -> Result<(), WalError> {
        self.wait_durable_for(lsn, 1)
    }

    /// The same for so many committers, whose threads do something else meanwhile: they count as members of the batch.
    #[inline]
    pub fn wait_durable_for(&self, lsn: Lsn, committers: u32) -> Result<(), WalError> {
        if self.positions.durable.load(Ordering::Acquire) >= lsn.0 {
            return Ok(());
        }
        if committers > 1 {
            self.counters.members.add(u64::from(committers - 1));
        }
        self.wait_for(Need { written: lsn.0, durable: lsn.0 })
    }

    /// The same for the page cleaner: the log must be durable up to a page's newest change before the page is written.
    pub fn flush_to(&self, lsn: Lsn) -> Result<(), WalError> {
        self.wait_durable(lsn)
    }

    /// Returns when everything below `lsn` is handed to the disk, synced or not.
    pub fn wait_written(&self, lsn: Lsn) -> Result<(), WalError> {
        if self.positions.written.load(Ordering::Acquire) >= lsn.0 {
            return Ok(());
        }
        self.wait_for(Need { written: lsn.0, durable: 0 })
    }

    /// Commits as durably as `policy` says.
    #[inline]
    pub fn commit(&self, lsn: Lsn, policy: FlushPolicy) -> Result<(), WalError> {
        match policy {
            FlushPolicy::Durable => self.wait_durable(lsn),
            FlushPolicy::Write => self.wait_written(lsn),
            FlushPolicy::Lazy if self.has_failed() => Err(WalError::Failed),
            FlushPolicy::Lazy => Ok(()),
        }
    }

    fn is_met(&self, need: Need) -> bool {
        self.positions.durable.load(Ordering::Acquire) >= need.durable && self.positions.written.load(Ordering::Acquire) >= need.written
    }

    fn wait_for(&self, need: Need) -> Result<(), WalError> {
        let head = self.reserver.head();
        assert!(need.written <= head, "waiting for {}, past the head {head}", need.written);
        if !self.is_met(need) {
            sync::blocking::begins();
        }
        let report = self.group.wait(
            || self.is_met(need) || self.has_failed(),
            || {
                self.wanted.written.fetch_max(need.written, Ordering::Relaxed);
                if need.durable > 0 {
                    self.wanted.durable.fetch_max(need.durable, Ordering::Relaxed);
                }
            },
            || self.lead(need),
        );
        self.counters.batches.add(report.batches_led.into());
        self.counters.members.add(report.members_led.into());
        if report.sleeps > 0 {
            self.counters.sleeps.add(report.sleeps.into());
            self.counters.wakes_useful.add(report.wakes_useful.into());
            self.counters.wakes_useless.add(report.wakes_useless.into());
        }
        if self.is_met(need) { Ok(()) } else { Err(WalError::Failed) }
    }

    /// Writes, and syncs where asked, everything that this thread and the members of its batch need.
    fn lead(&self, own: Need) {
        let need = Need {
            written: own.written.max(self.wanted.written.load(Ordering::Relaxed)),
            durable: own.durable.max(self.wanted.durable.load(Ordering::Relaxed)),
        };
        if self.is_met(need) || self.has_failed() {
            return;
        }
        let synced = self.write_and_sync(&mut self.writer.lock(), need);
        match synced {
            Ok(Some(durable)) => self.publish_durable(durable),
            Ok(None) => {}
            Err(error) => self.fail(error),
        }
    }

    /// The observer first: who finds the log durable up to a commit finds the transaction finished.
    fn publish_durable(&self, durable: u64) {
        if let Some(observer) = self.observer.get() {
            let alive = AbortOnPanic;
            observer.durable(Lsn(durable));
            std::mem::forget(alive);
        }
        // Release: pairs with the acquire loads of those who wait.
        self.positions.durable.store(durable, Ordering::Release);
    }

    /// Returns how far the log is durable now, if it was synced.
    fn write_and_sync(&self, writer: &mut Writer, need: Need) -> Result<Option<u64>, WalError> {
        for round in 0.. {
            let complete = self.links.advance();
            let enough = complete >= need.written;
            // Whoever has not filled its record yet may be waiting for room in the ring: do not wait for it with room to give.
            if complete > writer.written() && (enough || round >= LOOKS) {
                self.write_to(writer, complete)?;
            }
            if enough {
                break;
            }
            if self.has_failed() {
                // A checkpoint may have failed the log meanwhile; records reserved since then are never filled.
                return Err(WalError::Failed);
            }
            self.wait_for_hole(round, complete);
        }
        if need.durable > self.positions.durable.load(Ordering::Relaxed) {
            writer.sync(&self.counters)?;
            return Ok(Some(writer.written()));
        }
        Ok(None)
    }

    /// As leader: gives whoever fills the record at `position` a moment, then sleeps until it has.
    fn wait_for_hole(&self, round: u32, position: u64) {
        match round {
            0..LOOKS => (0..1 << round).for_each(|_| hint::spin_loop()),
            LOOKS..SLEEPS => thread::yield_now(),
            _ => {
                let waited = self.waits.hole.wait(position, || self.links.advance() > position || self.has_failed());
                match waited {
                    Waited::NotAtAll => {}
                    Waited::Woken => self.counters.hole_wakes.inc(),
                    Waited::Backstop => self.counters.hole_timeouts.inc(),
                }
            }
        }
    }

    /// Writes `[written, complete)` and gives its ring space free, piece by piece so that appenders go on meanwhile.
    fn write_to(&self, writer: &mut Writer, complete: u64) -> Result<(), WalError> {
        while writer.written() < complete {
            let piece_end = complete.min(writer.written() + WRITE_BYTES_MAX);
            writer.write(&self.ring, &self.segments, &self.counters, piece_end)?;
            let written = writer.written();
            self.positions.written.store(written, Ordering::Release);
            self.reserver.raise_limit((written + self.ring.capacity()).min(complete + self.links.window()));
            self.waits.room.announce();
        }
        Ok(())
    }

    /// Writes what is complete unless somebody leads already; for the background thread, long before the ring is full.
    pub(crate) fn drain_early(&self) {
        if self.links.advance() - self.positions.written.load(Ordering::Acquire) > self.ring.capacity() / 8 {
            self.group.try_lead(|| self.drain());
        }
    }

    /// As leader: writes what is complete, without a sync, to make room in the ring.
    pub(crate) fn drain(&self) {
        let mut writer = self.writer.lock();
        let complete = self.links.advance();
        if complete > writer.written()
            && !self.has_failed()
            && let Err(error) = self.write_to(&mut writer, complete)
        {
            self.fail(error);
        }
    }
}
