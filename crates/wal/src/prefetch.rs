//! Reading the log from the disk while what was read is parsed: a thread reads piece after piece and hands the buffers over.
//!
//! It is only ever ahead: who meets an error, the end of the files or a record that does not fit reads for himself, and says what is wrong.

use crate::segments::Segments;
use env::{AlignedBuf, DIRECT_ALIGN};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use sync::thread::{Builder, JoinHandle};

/// Bytes of log in a piece.
const PIECE_BYTES: usize = 2 << 20;
/// Pieces that wait.
const PIECES_WAITING: usize = 3;
/// Room before a piece for the beginning of a record that goes on in it. A longer one is read by who parses.
pub(crate) const ROOM_BYTES: usize = 1 << 20;

const _: () = assert!(PIECE_BYTES.is_multiple_of(DIRECT_ALIGN) && ROOM_BYTES.is_multiple_of(DIRECT_ALIGN));

/// A piece of the log: `buf[ROOM_BYTES..][..len]` is what lies at `start`.
pub(crate) struct Piece {
    pub(crate) start: u64,
    pub(crate) len: usize,
    pub(crate) buf: AlignedBuf,
}

/// The thread that reads ahead, and what it has read.
pub(crate) struct Prefetch {
    /// `None` only while dropped.
    pieces: Option<Receiver<Piece>>,
    used: Sender<AlignedBuf>,
    thread: Option<JoinHandle<()>>,
}

impl Prefetch {
    /// Begins at `start`, which is aligned for direct reads.
    pub(crate) fn start(segments: Arc<Segments>, start: u64) -> std::io::Result<Prefetch> {
        let (sender, pieces) = sync_channel(PIECES_WAITING);
        let (used, empty) = channel();
        let thread = Builder::new().name("log-ahead".into()).stack_size(128 << 10).spawn(move || run(&segments, start, &sender, &empty))?;
        Ok(Prefetch { pieces: Some(pieces), used, thread: Some(thread) })
    }

    /// The next piece; `None` when there is none more: the rest is not read ahead.
    pub(crate) fn next(&self) -> Option<Piece> {
        self.pieces.as_ref()?.recv().ok()
    }

    /// Gives a buffer back.
    pub(crate) fn reuse(&self, buf: AlignedBuf) {
        if buf.len() == ROOM_BYTES + PIECE_BYTES {
            // The thread may have ended.
            let _ = self.used.send(buf);
        }
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        // Its next piece finds nobody, and it ends.
        self.pieces = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed by its hook; what it did not read is read without it.
            let _ = thread.join();
        }
    }
}

fn run(segments: &Segments, mut start: u64, pieces: &SyncSender<Piece>, empty: &Receiver<AlignedBuf>) {
    memory::begin_thread();
    loop {
        let mut buf = empty.try_recv().unwrap_or_else(|_| AlignedBuf::new(ROOM_BYTES + PIECE_BYTES));
        // What cannot be read is left to who wants it.
        let Ok(len) = segments.read_on(&mut buf[ROOM_BYTES..], start) else { return };
        if pieces.send(Piece { start, len, buf }).is_err() || len < PIECE_BYTES {
            return;
        }
        start += len as u64;
    }
}
