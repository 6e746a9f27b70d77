//! [`Ring`]: many calls of the kernel by one (io_uring).
//!
//! # Invariants
//! 1. A batch that was submitted is finished: [`Batch::finish`] does not return before the kernel has answered for all that it took. So the kernel never holds what is not borrowed any more.
//! 2. What the kernel did not take it never will: after a failure, or when a batch was dropped, the ring is not used again.
//!
//! `ALTIPLANO_IO_URING=0` in the environment keeps the server from using it: for tools that watch system calls.

use std::io;

use io_uring::{IoUring, squeue};

/// Calls of one batch.
pub(crate) const DEPTH: usize = 128;

/// See the module.
pub(crate) struct Ring {
    ring: IoUring,
    /// It is not to be used again.
    broken: bool,
}

/// Calls that go together.
pub(crate) struct Batch<'r> {
    ring: &'r mut Ring,
    /// Not answered for.
    pushed: usize,
}

impl Ring {
    /// Whether the environment forbids it.
    pub(crate) fn is_forbidden() -> bool {
        std::env::var_os("ALTIPLANO_IO_URING").is_some_and(|value| value == "0")
    }

    /// One for [`DEPTH`] calls at a time; an error where the kernel has none for us.
    pub(crate) fn new() -> io::Result<Ring> {
        Ok(Ring { ring: IoUring::new(DEPTH as u32)?, broken: false })
    }

    /// No calls yet.
    pub(crate) fn begin(&mut self) -> Batch<'_> {
        Batch { ring: self, pushed: 0 }
    }
}

impl Batch<'_> {
    /// Adds a call; false when there is no room, or the ring is not to be used again.
    ///
    /// # Safety
    /// What the entry points to stays where it is, and is not used otherwise, until the batch has been finished or dropped.
    pub(crate) unsafe fn push(&mut self, entry: &squeue::Entry) -> bool {
        // SAFETY: as the caller has promised. The kernel looks at entries in `finish` only, and at none of a batch that was dropped.
        let pushed = !self.ring.broken && unsafe { self.ring.ring.submission().push(entry) }.is_ok();
        self.pushed += usize::from(pushed);
        pushed
    }

    /// Submits all, and waits for what the kernel takes: `answer` gets what names each call, and its result. False when the ring is not to be used again.
    pub(crate) fn finish(mut self, mut answer: impl FnMut(u64, i32)) -> bool {
        let pushed = std::mem::take(&mut self.pushed);
        let Ring { ring, broken } = &mut *self.ring;
        let mut answered = 0;
        loop {
            let untaken = ring.submission().len();
            for completion in ring.completion() {
                answered += 1;
                answer(completion.user_data(), completion.result());
            }
            // After a failure only what the kernel has is waited for.
            let expected = if *broken { pushed.saturating_sub(untaken) } else { pushed };
            if answered >= expected {
                return !*broken;
            }
            match ring.submit_and_wait(expected - answered) {
                Ok(_) => {}
                Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => {}
                Err(_) if !*broken => *broken = true,
                // It cannot even be waited for; answers still come into shared memory.
                Err(_) => sync::thread::yield_now(),
            }
        }
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        // Entries that were not submitted would go with the next batch.
        self.ring.broken |= self.pushed > 0;
    }
}
