//! Many transfers at once through io_uring.
//!
//! Reads of places that follow each other in the file go to the kernel as one, into their buffers in turn: it costs the kernel nearly as much to begin a read
//! of a page as of thirty, and the device is asked for long runs instead of many short ones. (Writes are put together by who makes them.)
//!
//! A call takes an idle ring (or makes one), submits its transfers, and does not return before the kernel has answered for each that it took ([`Ring`]). What is not
//! answered for in full is left to the caller, who does it by a plain system call; so nothing here is an error, and a kernel without io_uring (or one that forbids it)
//! only costs speed.

use crate::kernel_ring::{DEPTH, Ring};
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{opcode, squeue, types};
use sync::atomic::{AtomicBool, Ordering};
use sync::{Mutex, Rank};

/// Bytes that one read of several places takes at most: longer ones would make the device's answer come late for the first of them.
const RUN_BYTES_MAX: usize = 512 << 10;
/// Places that one read fills at most.
const RUN_PLACES_MAX: usize = 64;
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
    idle: Mutex<Vec<Ring>>,
    /// The kernel has none for us (relaxed: advice).
    refused: AtomicBool,
}

impl Rings {
    pub(crate) fn new() -> Rings {
        Rings { idle: Mutex::new(Rank::Leaf, Vec::new()), refused: AtomicBool::new(Ring::is_forbidden()) }
    }

    fn take(&self) -> Option<Ring> {
        if self.refused.load(Ordering::Relaxed) {
            return None;
        }
        if let Some(ring) = self.idle.lock().pop() {
            return Some(ring);
        }
        match Ring::new() {
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
        let runs = runs_of(transfers);
        let mut from = 0;
        for chunk in runs.chunks(DEPTH) {
            let to = from + chunk.iter().sum::<usize>();
            if !run_chunk(&mut ring, file, &mut transfers[from..to], chunk, &mut done[from..to]) {
                // The ring goes, with what it did not take.
                return;
            }
            from = to;
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

impl Transfer<'_> {
    /// Its place in memory, as the kernel wants it, and where in the file.
    fn place(&mut self) -> (libc::iovec, u64) {
        let (start, length, offset) = match self {
            Transfer::Read(buf, offset) => (buf.as_mut_ptr(), buf.len(), *offset),
            Transfer::Write(buf, offset) => (buf.as_ptr().cast_mut(), buf.len(), *offset),
        };
        (libc::iovec { iov_base: start.cast(), iov_len: length }, offset)
    }
}

/// How many transfers, one after the other, make one for the kernel: reads each of which begins where the one before it ends.
fn runs_of(transfers: &[Transfer<'_>]) -> Vec<usize> {
    let mut runs: Vec<usize> = Vec::with_capacity(transfers.len());
    // Where the last run ends in the file, and its length, if it is of reads.
    let mut last = None;
    for transfer in transfers {
        let Transfer::Read(buf, offset) = transfer else {
            runs.push(1);
            last = None;
            continue;
        };
        let bytes = match (last, runs.last_mut()) {
            (Some((end, bytes)), Some(run)) if end == *offset && bytes + buf.len() <= RUN_BYTES_MAX && *run < RUN_PLACES_MAX => {
                *run += 1;
                bytes + buf.len()
            }
            _ => {
                runs.push(1);
                buf.len()
            }
        };
        last = offset.checked_add(buf.len() as u64).map(|end| (end, bytes));
    }
    runs
}

/// The kernel's transfer for a run: `places` are those of the run, in turn, and stay where they are until it is answered for.
fn entry(file: types::Fd, writes: bool, places: &[libc::iovec], offset: u64) -> squeue::Entry {
    // A transfer is at most a batch of pages, far below 4 GiB; one that were longer would be cut, and its rest done by the caller.
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(1 << 30);
    match places {
        [place] if writes => opcode::Write::new(file, place.iov_base.cast_const().cast(), length(place.iov_len)).offset(offset).build(),
        [place] => opcode::Read::new(file, place.iov_base.cast(), length(place.iov_len)).offset(offset).build(),
        places => opcode::Readv::new(file, places.as_ptr(), length(places.len())).offset(offset).build(),
    }
}

/// Submits transfers, in up to [`DEPTH`] runs, and waits for all that the kernel takes. `false` when the ring is not to be used again.
fn run_chunk(ring: &mut Ring, file: &OwnedFd, transfers: &mut [Transfer<'_>], runs: &[usize], done: &mut [usize]) -> bool {
    let file = types::Fd(file.as_raw_fd());
    let (places, offsets): (Vec<_>, Vec<_>) = transfers.iter_mut().map(Transfer::place).unzip();
    let mut batch = ring.begin();
    let mut from = 0;
    for run in runs {
        let writes = matches!(transfers[from], Transfer::Write(..));
        let entry = entry(file, writes, &places[from..from + run], offsets[from]).user_data(from as u64);
        from += run;
        // SAFETY: buffers and file are borrowed by the caller of `run` for longer than this function runs, `places` lives as long and is not changed.
        let pushed = unsafe { batch.push(&entry) };
        assert!(pushed, "an idle ring has {DEPTH} places");
    }
    batch.finish(|first, result| note_done(&places, done, first as usize, usize::try_from(result).unwrap_or(0)))
}

/// Notes that the kernel moved so many bytes of the run that begins with the place `first`: they fill its places in turn.
fn note_done(places: &[libc::iovec], done: &mut [usize], first: usize, mut bytes: usize) {
    for (place, done) in places.iter().zip(done).skip(first) {
        *done = bytes.min(place.iov_len);
        bytes -= *done;
        if bytes == 0 {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_of_neighbours_and_of_bounded_length() {
        let page = 16 << 10;
        let mut bytes = vec![0; 80 * page];
        let mut pieces = bytes.chunks_mut(page);
        let mut read = |offset: usize| Transfer::Read(pieces.next().expect("a piece"), (offset * page) as u64);
        // Two neighbours, one that stands alone, three, one of them again, and one before it.
        let some: Vec<_> = [4, 5, 9, 20, 21, 22, 22, 21].map(&mut read).into();
        assert_eq!(runs_of(&some), [2, 1, 3, 1, 1]);
        let many: Vec<_> = (0..70).map(&mut read).collect();
        assert_eq!(runs_of(&many), [32, 32, 6], "half a megabyte at most");
        let (first, second) = bytes.split_at_mut(512);
        let written = [Transfer::Write(&first[..256], 0), Transfer::Write(&first[256..], 256), Transfer::Read(second, 512)];
        assert_eq!(runs_of(&written), [1, 1, 1], "writes stay as they are given");
        let small: Vec<_> = bytes.chunks_mut(512).take(100).enumerate().map(|(no, piece)| Transfer::Read(piece, no as u64 * 512)).collect();
        assert_eq!(runs_of(&small), [64, 36], "so many places at most");
        assert_eq!(runs_of(&[]), [0; 0]);
    }

    #[test]
    fn what_a_run_moved_fills_its_places_in_turn() {
        let mut bytes = [0_u8; 12];
        let mut places: Vec<_> = bytes.chunks_mut(4).map(|piece| Transfer::Read(piece, 0).place().0).collect();
        places.push(places[0]);
        let mut done = [0; 4];
        note_done(&places, &mut done, 1, 6);
        assert_eq!(done, [0, 4, 2, 0]);
        note_done(&places, &mut done, 0, 0);
        note_done(&places, &mut done, 3, 4);
        assert_eq!(done, [0, 4, 2, 4]);
    }
}
