//! The log as its users see it: reserving, filling, appending, and where it stands.

use crate::archive::ArchiveFigures;
use crate::control::Control;
use crate::frame::{ALIGN, HEADER_BYTES, header, record_bytes};
use crate::group::Group;
use crate::hole::Hole;
use crate::link_buffer::LinkBuffer;
use crate::pins::{LogPin, Pins};
use crate::reserve::Reserver;
use crate::ring::Ring;
use crate::segments::{LiveSegment, Segments};
use crate::space::{Room, Space};
use crate::stats::Counters;
use crate::writer::Writer;
use crate::{WalError, WalStats};
use base::Lsn;
use std::sync::atomic::compiler_fence;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use sync::{CachePadded, Mutex, Signal, futex, hint, thread};

/// The log. Shared by all threads; every method takes `&self`.
pub struct Wal {
    pub(crate) ring: Ring,
    pub(crate) links: LinkBuffer,
    pub(crate) reserver: Reserver,
    pub(crate) group: Group,
    pub(crate) positions: CachePadded<Positions>,
    pub(crate) wanted: CachePadded<Wanted>,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) segments: Segments,
    pub(crate) pins: Arc<Pins>,
    /// What [`crate::WalConfig::keep_from`] asked for, until the archive takes over.
    pub(crate) kept_at_open: Mutex<Option<LogPin>>,
    pub(crate) archive: ArchiveFigures,
    pub(crate) space: Space,
    pub(crate) waits: CachePadded<Waits>,
    pub(crate) control: Mutex<Control>,
    pub(crate) pressure: Signal,
    pub(crate) grow: Signal,
    pub(crate) counters: Arc<Counters>,
    pub(crate) background: AtomicBool,
    pub(crate) observer: OnceLock<Arc<dyn DurableObserver>>,
    /// What the log failed with first.
    pub(crate) failure: Mutex<Option<WalError>>,
    /// How much becomes durable from one mark to the next.
    pub(crate) mark_bytes: u64,
}

/// Told by whoever has made the log durable, before those who wait for it are.
pub trait DurableObserver: Send + Sync {
    /// Everything below `up_to` is complete and durable. Called by one thread at a time, with growing positions, with none of the log's latches
    /// held; [`Wal::durable`] does not tell the position before this returns. It must not wait for the log.
    fn durable(&self, up_to: Lsn);
}

/// How far the log is, written once per batch and read by every committer.
pub(crate) struct Positions {
    /// Handed to the disk. Release after the ring bytes were read, Acquire before they are overwritten.
    pub(crate) written: AtomicU64,
    /// Synced. Release/acquire: who sees it may acknowledge.
    pub(crate) durable: AtomicU64,
    /// Start of what recovery needs (relaxed, advice for flushing).
    pub(crate) redo: AtomicU64,
    /// Where this life of the log began (relaxed, for statistics).
    pub(crate) started_at: AtomicU64,
    /// The position that the newest mark names, and where that mark ends (relaxed, see `mark.rs`).
    pub(crate) marked: AtomicU64,
    pub(crate) mark_end: AtomicU64,
    /// Epoch of new records; 0 until recovery is done (relaxed; `limit` of the reserver is what lets appenders pass).
    pub(crate) epoch: AtomicU32,
    /// SeqCst with the waits of `ensure_space`; everyone else only needs to see it some time.
    pub(crate) failed: AtomicBool,
}

/// What everybody who fills a record looks at; written when somebody waits.
pub(crate) struct Waits {
    pub(crate) room: Room,
    pub(crate) hole: Hole,
}

/// What joining committers need, for the leader of their batch. Relaxed: the gate of the group orders it.
#[derive(Default)]
pub(crate) struct Wanted {
    pub(crate) written: AtomicU64,
    pub(crate) durable: AtomicU64,
}

/// A range of the stream for one record. It must be filled: the log does not get past a reservation that is not.
#[must_use = "the log stops at a reservation that is not filled"]
#[derive(Debug)]
pub struct Reservation {
    /// Where the record starts.
    pub start: Lsn,
    /// Where the next one starts; waiting for this makes the record durable.
    pub end: Lsn,
    body_len: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Marked by a link.
    Linked,
    /// Too long for a link: marked at the tail, by whoever owns the record there.
    Huge,
    /// The log failed; the bytes go nowhere.
    Dead,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.kind != Kind::Dead {
            // Only a panic between `reserve` and `fill` gets here: pages may be half changed and the log cannot go on. Recovery can.
            eprintln!("fatal: a log reservation at {} was dropped without its record", self.start);
            std::process::abort();
        }
    }
}

/// Gives way to others: spins, then yields, then sleeps a little. For waits that end within a memory copy of another thread.
pub(crate) fn pause(round: u32) {
    match round {
        0..8 => (0..1 << round).for_each(|_| hint::spin_loop()),
        8..64 => thread::yield_now(),
        _ => {
            let nobody_wakes = AtomicU32::new(0);
            futex::wait(&nobody_wakes, 0, Some(Instant::now() + Duration::from_micros(50)));
        }
    }
}

impl Wal {
    /// Longest body that a record may have.
    pub fn body_bytes_max(&self) -> usize {
        (self.ring.capacity() / 2) as usize - HEADER_BYTES
    }

    /// Takes the next range of the stream for a body of `body_len` bytes. One `fetch_add`; waits only while the ring is full, never for a
    /// checkpoint. Between this and [`Reservation::fill`] the caller stamps its pages.
    #[inline]
    pub fn reserve(&self, body_len: usize) -> Reservation {
        let bytes = record_bytes(body_len) as u64;
        assert!(bytes <= self.ring.capacity() / 2, "record of {body_len} bytes; the longest is {}", self.body_bytes_max());
        let start = self.reserver.take(bytes);
        let end = start + bytes;
        let mut kind = Kind::Linked;
        if bytes > self.links.window() / 4 {
            kind = Kind::Huge;
        }
        if (kind == Kind::Huge || !self.reserver.has_room(end)) && !self.wait_for_room(start, end, kind) {
            kind = Kind::Dead;
        }
        Reservation { start: Lsn(start), end: Lsn(end), body_len, kind }
    }

    /// Waits until the ring may be overwritten up to `end`; `false` when the log has failed.
    #[cold]
    fn wait_for_room(&self, start: u64, end: u64, kind: Kind) -> bool {
        assert!(self.positions.epoch.load(Ordering::Relaxed) != 0, "append before start_after_recovery");
        for round in 0.. {
            if self.has_failed() {
                return false;
            }
            let (tail, ring_end) = self.refresh_limit();
            let room = match kind {
                Kind::Huge => tail == start && end <= ring_end,
                _ => self.reserver.has_room(end),
            };
            if room {
                return true;
            }
            if round == 0 && kind == Kind::Linked {
                self.counters.ring_waits.inc();
            }
            // Nobody may be committing: then this thread makes the room.
            if ring_end < end && self.group.try_lead(|| self.drain()) {
                continue;
            }
            if round < 8 {
                pause(round);
            } else {
                self.waits.room.wait(end, || kind == Kind::Linked && self.reserver.has_room(end));
            }
        }
        unreachable!("the loop ends by return")
    }

    /// Follows the links and raises the limit; returns the tail and how far the ring has room.
    fn refresh_limit(&self) -> (u64, u64) {
        let tail = self.links.advance();
        let ring_end = self.positions.written.load(Ordering::Acquire) + self.ring.capacity();
        self.reserver.raise_limit(ring_end.min(tail + self.links.window()));
        (tail, ring_end)
    }

    /// A record was marked while others wait: if it is the one that held them up, they go on.
    #[cold]
    fn announce_room(&self) {
        let (tail, ring_end) = self.refresh_limit();
        self.waits.room.announce_limit(ring_end.min(tail + self.links.window()), self.links.window() / 4);
    }

    /// Appends a record; returns its end.
    #[inline]
    pub fn append(&self, body: &[u8]) -> Lsn {
        let reservation = self.reserve(body.len());
        let end = reservation.end;
        reservation.fill(self, body);
        end
    }

    /// Tells `observer` from now on how far the log is durable. Once, before the first commit.
    pub fn set_observer(&self, observer: Arc<dyn DurableObserver>) {
        assert!(self.observer.set(observer).is_ok(), "the observer is set once");
    }

    /// Everything below is completely in the ring, and thus whatever its writers did before filling is visible to the caller.
    pub fn written_contiguous(&self) -> Lsn {
        Lsn(self.links.advance())
    }

    /// Everything below survives a crash.
    #[inline]
    pub fn durable(&self) -> Lsn {
        Lsn(self.positions.durable.load(Ordering::Acquire))
    }

    /// Where the next record will start.
    #[inline]
    pub fn lsn_head(&self) -> Lsn {
        Lsn(self.reserver.head())
    }

    /// `redo_lsn` of the newest checkpoint.
    pub fn redo_lsn(&self) -> Lsn {
        Lsn(self.positions.redo.load(Ordering::Relaxed))
    }

    /// Bytes that recovery would have to read now.
    pub fn age(&self) -> u64 {
        self.reserver.head().saturating_sub(self.positions.redo.load(Ordering::Relaxed))
    }

    /// Bytes of all segments; writers wait when `age` comes near it.
    pub fn capacity(&self) -> u64 {
        self.space.capacity()
    }

    /// The segments in use that hold something, oldest first.
    pub fn segments(&self) -> Vec<LiveSegment> {
        let head = self.lsn_head();
        self.segments.live().into_iter().filter(|segment| segment.start < head).collect()
    }

    /// Whether a write or sync has failed: then nothing more becomes durable.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.positions.failed.load(Ordering::SeqCst)
    }

    /// What the log failed with.
    pub fn failure(&self) -> Option<WalError> {
        self.failure.lock().clone()
    }

    /// Fails the log for good and lets everyone who waits see it.
    pub(crate) fn fail(&self, error: WalError) {
        self.failure.lock().get_or_insert(error);
        self.positions.failed.store(true, Ordering::SeqCst);
        self.space.close();
        self.waits.room.announce();
        self.waits.hole.wake();
    }

    pub(crate) fn has_background(&self) -> bool {
        self.background.load(Ordering::Relaxed)
    }

    /// Counts since the log was opened.
    pub fn stats(&self) -> WalStats {
        let record_bytes = self.reserver.head().saturating_sub(self.positions.started_at.load(Ordering::Relaxed));
        self.counters.snapshot(record_bytes)
    }
}

impl Reservation {
    /// Copies the record into the ring and marks it complete. `body` has the reserved length.
    #[inline]
    pub fn fill(mut self, wal: &Wal, body: &[u8]) {
        assert_eq!(body.len(), self.body_len, "the body has the reserved length");
        let kind = std::mem::replace(&mut self.kind, Kind::Dead);
        if kind == Kind::Dead {
            return;
        }
        let (start, end) = (self.start.0, self.end.0);
        let header = header(start, wal.positions.epoch.load(Ordering::Relaxed), body);
        // SAFETY: the range is this reservation's alone, `reserve` returned because there is room, and it is marked only below. The last word lies
        // within the record: none is shorter than its header, which is longer than a word.
        unsafe {
            // The zeros of the last word that header and body leave.
            wal.ring.copy_in(end - ALIGN as u64, &[0; ALIGN]);
            wal.ring.copy_in(start, &header);
            wal.ring.copy_in(start + HEADER_BYTES as u64, body);
        }
        match kind {
            Kind::Huge => wal.links.mark_at_tail(start, end),
            _ => wal.links.mark(start, end),
        }
        // Between the mark and the looks for who waits for it: on x86 the count orders them (`hole.rs`).
        wal.counters.records.inc();
        compiler_fence(Ordering::SeqCst);
        wal.waits.hole.filled(start);
        if wal.waits.room.has_waiters() {
            wal.announce_room();
        }
    }
}

impl std::fmt::Debug for Wal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Wal(head {}, durable {}, redo {})", self.lsn_head(), self.durable(), self.redo_lsn())
    }
}
