//! The log's background thread: makes segments before they are needed, writes before the ring is full, and once a second
//! flushes what policies `Write` and `Lazy` left and marks how far the log is durable (`mark.rs`).

use crate::Wal;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::atomic::{AtomicBool, Ordering};
use sync::thread::{self, JoinHandle};

const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// The running thread; dropping it flushes once more and ends it.
pub struct WalBackground {
    wal: Arc<Wal>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Wal {
    /// Starts the background thread. Without it nothing is lost but the one-second promise of `Write` and `Lazy`, and segments are made
    /// by the writers that need them.
    pub fn start_background(self: &Arc<Self>) -> std::io::Result<WalBackground> {
        let stop = Arc::new(AtomicBool::new(false));
        let (wal, stopped) = (self.clone(), stop.clone());
        let thread = thread::Builder::new().name("wal".into()).stack_size(256 << 10).spawn(move || run(&wal, &stopped))?;
        self.background.store(true, Ordering::Relaxed);
        Ok(WalBackground { wal: self.clone(), stop, thread: Some(thread) })
    }

    /// Writes and syncs everything that is complete in the ring.
    pub fn flush_all(&self) -> Result<(), crate::WalError> {
        self.wait_durable(self.written_contiguous())
    }

    /// The same, and says in the log how far it is durable now: committers whose policy waits for no sync write no marks.
    pub fn flush_and_mark(&self) -> Result<(), crate::WalError> {
        self.flush_all()?;
        self.mark_durable();
        Ok(())
    }
}

fn run(wal: &Wal, stop: &AtomicBool) {
    let mut next_flush = Instant::now() + FLUSH_INTERVAL;
    while !stop.load(Ordering::Acquire) {
        wal.grow.wait(Some(next_flush));
        wal.prepare_early();
        wal.drain_early();
        if Instant::now() >= next_flush {
            // A failure is kept in the log; every later commit reports it.
            let _ = wal.flush_and_mark();
            next_flush = Instant::now() + FLUSH_INTERVAL;
        }
    }
    let _ = wal.flush_all();
}

impl Drop for WalBackground {
    fn drop(&mut self) {
        self.wal.background.store(false, Ordering::Relaxed);
        self.stop.store(true, Ordering::Release);
        self.wal.grow.notify();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed by its hook; there is nothing to add while dropping.
            let _ = thread.join();
        }
    }
}
