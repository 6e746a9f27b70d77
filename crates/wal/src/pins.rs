//! Pins: positions from which somebody still needs the log, a backup or the archive.
//!
//! A pin keeps segments from being recycled; it never holds writers up. When too much is kept, or the disk has no room for the next
//! segment, pins are overrun: marked before the first byte that they protect is given up, so that a holder who reads and finds the pin
//! whole afterwards has read what he asked for.

use base::Lsn;
use std::sync::Arc;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Mutex, Rank};

/// Keeps the log from a position on, as long as the value lives and is not overrun.
#[derive(Debug)]
pub struct LogPin {
    pin: Arc<Pin>,
    pins: Arc<Pins>,
}

#[derive(Debug)]
struct Pin {
    /// Relaxed: whoever recycles later sees it later.
    from: AtomicU64,
    /// Set with release before the segments are given up; loaded with acquire after they were read.
    overrun: AtomicBool,
}

#[derive(Debug)]
pub(crate) struct Pins {
    list: Mutex<Vec<Arc<Pin>>>,
    /// Bytes below the checkpoint's redo position that pins may keep.
    keep_bytes_max: u64,
}

impl Pins {
    pub(crate) fn new(keep_bytes_max: u64) -> Arc<Pins> {
        Arc::new(Pins { list: Mutex::new(Rank::Leaf, Vec::new()), keep_bytes_max })
    }

    pub(crate) fn add(self: &Arc<Self>, from: Lsn) -> LogPin {
        let pin = Arc::new(Pin { from: AtomicU64::new(from.0), overrun: AtomicBool::new(false) });
        self.list.lock().push(Arc::clone(&pin));
        LogPin { pin, pins: Arc::clone(self) }
    }

    /// From where the log must be kept when a checkpoint needs it from `redo`; pins that ask for more than there may be are overrun.
    pub(crate) fn keep_from(&self, redo: u64) -> u64 {
        let lowest = redo.saturating_sub(self.keep_bytes_max);
        self.overrun_below(lowest);
        let list = self.list.lock();
        let wanted = list.iter().filter(|pin| !pin.overrun.load(Ordering::Relaxed)).map(|pin| pin.from.load(Ordering::Relaxed));
        wanted.min().unwrap_or(redo).min(redo)
    }

    /// Marks the pins that lie below a position.
    pub(crate) fn overrun_below(&self, position: u64) {
        for pin in self.list.lock().iter() {
            if pin.from.load(Ordering::Relaxed) < position {
                pin.overrun.store(true, Ordering::Release);
            }
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.list.lock().len()
    }
}

impl LogPin {
    /// What lies below is no longer needed.
    pub fn move_to(&self, from: Lsn) {
        self.pin.from.fetch_max(from.0, Ordering::Relaxed);
    }

    /// From where the log is kept.
    pub fn from(&self) -> Lsn {
        Lsn(self.pin.from.load(Ordering::Relaxed))
    }

    /// Whether the log was given up all the same. Asked after a read, `false` says that the bytes read were the log's.
    pub fn is_overrun(&self) -> bool {
        self.pin.overrun.load(Ordering::Acquire)
    }
}

impl Drop for LogPin {
    fn drop(&mut self) {
        self.pins.list.lock().retain(|pin| !Arc::ptr_eq(pin, &self.pin));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_pin_keeps_the_log_up_to_the_bound() {
        let pins = Pins::new(1000);
        assert_eq!(pins.keep_from(5000), 5000);
        let (a, b) = (pins.add(Lsn(4500)), pins.add(Lsn(4800)));
        assert_eq!(pins.keep_from(5000), 4500);
        assert_eq!(pins.keep_from(4600), 4500);
        a.move_to(Lsn(4900));
        assert_eq!(pins.keep_from(5000), 4800);
        assert_eq!(pins.keep_from(5850), 4900);
        assert!(b.is_overrun() && !a.is_overrun());
        drop(a);
        assert_eq!((pins.keep_from(5850), pins.count()), (5850, 1));
    }
}
