//! Settings of the log.

use base::Lsn;
use env::{DIRECT_ALIGN, FileKind};

/// Settings; [`WalConfig::default`] is what the server uses.
#[derive(Clone, Debug)]
pub struct WalConfig {
    /// Bytes of a segment file. Fixed when the log is created; an existing log keeps its own.
    pub segment_bytes: u64,
    /// Bytes of the ring, a power of two. The largest record is half of it.
    pub buffer_bytes: usize,
    /// Bytes of the stream that the link buffer covers, a power of two; costs as much memory.
    pub link_window_bytes: usize,
    /// Bytes of all segments: writers wait for a checkpoint beyond it.
    pub capacity_bytes: u64,
    /// What [`crate::Wal::ensure_space`] keeps free for mini-transactions that are already past it.
    pub space_margin_bytes: u64,
    /// Bytes of log below what recovery needs that pins (backups, the archive) may keep.
    pub keep_bytes_max: u64,
    /// Keep, from the start, the log from this position on, if it is there still: what is not archived.
    pub keep_from: Option<Lsn>,
    /// Each batch of committers is woken on a word of its own. Off: one word for all batches, every wake reaches the members of the next one, too;
    /// for measuring what that costs.
    pub exact_wakeups: bool,
    /// Bytes of log that become durable from one mark of that to the next (`mark.rs`).
    pub mark_bytes: u64,
    /// How segments are written. `Direct` is as fast as anything for durable commits and leaves the page cache alone.
    pub file_kind: FileKind,
}

impl Default for WalConfig {
    fn default() -> Self {
        WalConfig {
            segment_bytes: 64 << 20,
            buffer_bytes: 64 << 20,
            link_window_bytes: 4 << 20,
            capacity_bytes: 1 << 30,
            space_margin_bytes: 16 << 20,
            keep_bytes_max: 16 << 30,
            keep_from: None,
            exact_wakeups: true,
            mark_bytes: crate::mark::MARK_BYTES,
            file_kind: FileKind::Direct,
        }
    }
}

impl WalConfig {
    /// A small log for tests: 64 KiB segments, 32 KiB ring, 1 MiB in all.
    pub fn small() -> Self {
        WalConfig {
            segment_bytes: 64 << 10,
            buffer_bytes: 32 << 10,
            link_window_bytes: 16 << 10,
            capacity_bytes: 1 << 20,
            space_margin_bytes: 16 << 10,
            keep_bytes_max: 16 << 20,
            keep_from: None,
            exact_wakeups: true,
            mark_bytes: crate::mark::MARK_BYTES,
            file_kind: FileKind::Direct,
        }
    }

    /// Checks what the algorithms rely on; a wrong setting is a bug of the caller, who checks what users set.
    pub(crate) fn check(&self) {
        assert!(self.segment_bytes.is_multiple_of(DIRECT_ALIGN as u64) && self.segment_bytes > 0, "segment_bytes {}", self.segment_bytes);
        assert!(self.buffer_bytes.is_power_of_two() && self.buffer_bytes >= DIRECT_ALIGN, "buffer_bytes {}", self.buffer_bytes);
        let window = self.link_window_bytes;
        assert!(window.is_power_of_two() && window >= 1024 && window <= self.buffer_bytes, "link_window_bytes {window}");
        assert!(self.capacity_bytes >= 3 * self.segment_bytes, "capacity_bytes {} is below three segments", self.capacity_bytes);
        assert!(self.space_margin_bytes <= self.segment_bytes, "space_margin_bytes {}", self.space_margin_bytes);
    }
}

/// How durable a commit is before it is acknowledged (`innodb_flush_log_at_trx_commit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FlushPolicy {
    /// 1: written and synced.
    #[default]
    Durable,
    /// 2: written; synced within about a second. Survives the death of the process, not of the machine.
    Write,
    /// 0: neither; both within about a second.
    Lazy,
}
