//! Many transfers at once through io_uring.
//!
//! A call takes an idle ring (or makes one), submits its transfers, and does not return before the kernel has answered for each that it took: so the
//! kernel never holds a buffer whose borrow is over. What is not answered for in full is left to the caller, who does it by a plain system call;
//! so nothing here is an error, and a kernel without io_uring (or one that forbids it) only costs speed.
//!
//! `ALTIPLANO_IO_URING=0` in the environment keeps the server from using it: for tools that watch system calls.

use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{IoUring, opcode, squeue, types};
use sync::atomic::{AtomicBool, Ordering};
use sync::{Mutex, Rank};

/// Transfers in flight in one ring.
const DEPTH: u32 = 128;
/// Rings kept for the next callers: the cleaner's, and those of read-ahead.
const IDLE_MAX: usize = 8;

/// A transfer to be made.
pub(crate) enum Transfer<'b> {
    /// Into the buffer, from the offset.
    Read(&'b mut [u8], u64),
    /// Of the buffer, to the offset.
    Write(&'b [u8], u64),
}

/// Idle rings.
pub(crate) struct Rings {
    idle: Mutex<Vec<IoUring>>,
    /// The kernel has none for us (relaxed: advice).
    refused: AtomicBool,
}

impl Rings {
    pub(crate) fn new() -> Rings {
        let off = std::env::var_os("ALTIPLANO_IO_URING").is_some_and(|value| value == "0");
        Rings { idle: Mutex::new(Rank::Leaf, Vec::new()), refused: AtomicBool::new(off) }
    }

    fn take(&self) -> Option<IoUring> {
        if self.refused.load(Ordering::Relaxed) {
            return None;
        }
        if let Some(ring) = self.idle.lock().pop() {
            return Some(ring);
        }
        match IoUring::new(DEPTH) {
            Ok(ring) => Some(ring),
            Err(error) => {
                // Too many files or too little memory may pass; the rest is for ever.
                let for_ever = !matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM));
                self.refused.fetch_or(for_ever, Ordering::Relaxed);
                None
            }
        }
    }

    /// Makes the transfers, and notes in `done` how many bytes of each were moved: 0 of those that failed or were not tried.
    pub(crate) fn run(&self, file: &OwnedFd, transfers: &mut [Transfer<'_>], done: &mut [usize]) {
        assert_eq!(transfers.len(), done.len());
        let Some(mut ring) = self.take() else { return };
        for (transfers, done) in transfers.chunks_mut(DEPTH as usize).zip(done.chunks_mut(DEPTH as usize)) {
            if !run_chunk(&mut ring, file, transfers, done) {
                // The ring goes, with what it did not take.
                return;
            }
        }
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_MAX {
            idle.push(ring);
        }
    }
}

impl std::fmt::Debug for Rings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rings(refused: {})", self.refused.load(Ordering::Relaxed))
    }
}

fn entry(file: &OwnedFd, transfer: &mut Transfer<'_>) -> squeue::Entry {
    let file = types::Fd(file.as_raw_fd());
    // A transfer is at most a batch of pages, far below 4 GiB; one that were longer would be cut, and its rest done by the caller.
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(1 << 30);
    match transfer {
        Transfer::Read(buf, offset) => opcode::Read::new(file, buf.as_mut_ptr(), length(buf.len())).offset(*offset).build(),
        Transfer::Write(buf, offset) => opcode::Write::new(file, buf.as_ptr(), length(buf.len())).offset(*offset).build(),
    }
}

/// Submits up to [`DEPTH`] transfers and waits for all that the kernel takes. `false` when the ring is not to be used again.
fn run_chunk(ring: &mut IoUring, file: &OwnedFd, transfers: &mut [Transfer<'_>], done: &mut [usize]) -> bool {
    for (no, transfer) in transfers.iter_mut().enumerate() {
        let entry = entry(file, transfer).user_data(no as u64);
        // SAFETY: buffers and file are borrowed by the caller of `run` for longer than this function runs, and it does not return before all
        // entries that the kernel took are answered for; entries that it did not take go with the ring.
        let pushed = unsafe { ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "an idle ring has {DEPTH} places");
    }
    let (mut answered, mut sound) = (0, true);
    loop {
        let untaken = ring.submission().len();
        while let Some(completion) = ring.completion().next() {
            answered += 1;
            if let Some(bytes) = done.get_mut(completion.user_data() as usize) {
                *bytes = usize::try_from(completion.result()).unwrap_or(0);
            }
        }
        // After a failure only what the kernel has is waited for.
        let expected = if sound { transfers.len() } else { transfers.len() - untaken };
        if answered >= expected {
            return sound;
        }
        match ring.submit_and_wait(expected - answered) {
            Ok(_) => {}
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => {}
            Err(_) if sound => sound = false,
            // It cannot even be waited for; answers still come into shared memory.
            Err(_) => sync::thread::yield_now(),
        }
    }
}
