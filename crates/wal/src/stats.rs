//! Counters of the log.

use metrics::Counter;

/// What the log did since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalStats {
    /// Records appended.
    pub records: u64,
    /// Bytes of the stream they took.
    pub record_bytes: u64,
    /// Times a thread led (a lone committer leads a batch of one).
    pub batches: u64,
    /// Committers served by those, leaders included.
    pub members: u64,
    /// Times a member slept.
    pub sleeps: u64,
    /// Wakes of members that were satisfied then.
    pub wakes_useful: u64,
    /// Wakes of members that had to go on waiting.
    pub wakes_useless: u64,
    /// Times a leader slept until a record that was reserved before was filled, and was woken by who filled it.
    pub hole_wakes: u64,
    /// Times it looked by itself instead, after a millisecond.
    pub hole_timeouts: u64,
    /// Writes handed to the disk.
    pub writes: u64,
    /// Bytes of those writes (whole blocks).
    pub write_bytes: u64,
    /// fdatasync calls on segments.
    pub syncs: u64,
    /// Reservations that found no room in the ring at first.
    pub ring_waits: u64,
    /// Times a writer waited for a checkpoint to free log space.
    pub space_waits: u64,
    /// Segments made new.
    pub segments_created: u64,
    /// Segments recycled.
    pub segments_recycled: u64,
    /// Checkpoints written.
    pub checkpoints: u64,
}

#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) records: Counter,
    pub(crate) batches: Counter,
    pub(crate) members: Counter,
    pub(crate) sleeps: Counter,
    pub(crate) wakes_useful: Counter,
    pub(crate) wakes_useless: Counter,
    pub(crate) hole_wakes: Counter,
    pub(crate) hole_timeouts: Counter,
    pub(crate) writes: Counter,
    pub(crate) write_bytes: Counter,
    pub(crate) syncs: Counter,
    pub(crate) ring_waits: Counter,
    pub(crate) space_waits: Counter,
    pub(crate) segments_created: Counter,
    pub(crate) segments_recycled: Counter,
    pub(crate) checkpoints: Counter,
}

impl Counters {
    pub(crate) fn snapshot(&self, record_bytes: u64) -> WalStats {
        WalStats {
            records: self.records.get(),
            record_bytes,
            batches: self.batches.get(),
            members: self.members.get(),
            sleeps: self.sleeps.get(),
            wakes_useful: self.wakes_useful.get(),
            wakes_useless: self.wakes_useless.get(),
            hole_wakes: self.hole_wakes.get(),
            hole_timeouts: self.hole_timeouts.get(),
            writes: self.writes.get(),
            write_bytes: self.write_bytes.get(),
            syncs: self.syncs.get(),
            ring_waits: self.ring_waits.get(),
            space_waits: self.space_waits.get(),
            segments_created: self.segments_created.get(),
            segments_recycled: self.segments_recycled.get(),
            checkpoints: self.checkpoints.get(),
        }
    }
}
