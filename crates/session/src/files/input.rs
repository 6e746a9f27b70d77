//! The bytes of a file, from the client or from the server's disk, a piece at a time.
//!
//! # Invariants
//! 1. Only a piece, and the field that is being read, is in memory.
//! 2. What failed is kept until somebody asks; from then on the file has ended.

use memory::Excess;
use protocol::{ClientGone, ResultSink};
use std::fs::File;
use std::io::{self, Read};

/// Bytes that are read from the disk at once.
const PIECE_BYTES: usize = 64 << 10;

/// Where the bytes come from.
pub(super) enum Source<'a, 's> {
    /// Packets of the client.
    Client(&'a mut ResultSink<'s>),
    /// A file of this machine.
    Disk(File),
}

/// Why reading has ended before the end.
#[derive(Debug)]
pub(super) enum Failure {
    /// The client has gone.
    Gone(ClientGone),
    /// There was no memory.
    Starved(Excess),
    /// The disk.
    Io(io::Error),
}

/// The bytes not yet read.
pub(super) struct Input<'a, 's> {
    source: Source<'a, 's>,
    buffer: Vec<u8>,
    at: usize,
    ended: bool,
    failure: Option<Failure>,
}

impl<'a, 's> Input<'a, 's> {
    /// From the beginning of a file.
    pub fn new(source: Source<'a, 's>) -> Input<'a, 's> {
        Input { source, buffer: Vec::new(), at: 0, ended: false, failure: None }
    }

    /// The bytes at hand.
    #[inline]
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// So many of them have been read.
    #[inline]
    pub fn skip(&mut self, count: usize) {
        self.at += count;
        debug_assert!(self.at <= self.buffer.len());
    }

    /// Gets more bytes behind those at hand; false at the end of the file.
    pub fn fill(&mut self) -> bool {
        if self.ended || self.failure.is_some() {
            return false;
        }
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        let more = match &mut self.source {
            Source::Client(sink) => match sink.client().1.read_packet() {
                Ok([]) => Ok(false),
                Ok(bytes) => memory::reserve(&mut self.buffer, bytes.len()).map_err(Failure::Starved).map(|()| {
                    self.buffer.extend_from_slice(bytes);
                    true
                }),
                Err(gone) => Err(Failure::Gone(gone)),
            },
            Source::Disk(file) => memory::reserve(&mut self.buffer, PIECE_BYTES).map_err(Failure::Starved).and_then(|()| {
                let read = file.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut self.buffer);
                read.map(|count| count > 0).map_err(Failure::Io)
            }),
        };
        match more {
            Ok(true) => true,
            Ok(false) => {
                self.ended = true;
                false
            }
            Err(failure) => {
                self.fail(failure);
                false
            }
        }
    }

    /// Nothing more is read.
    #[cold]
    fn fail(&mut self, failure: Failure) {
        // A client whose bytes do not fit goes on sending them.
        self.ended = !matches!((&self.source, &failure), (Source::Client(_), Failure::Starved(_)));
        self.buffer = Vec::new();
        self.at = 0;
        self.failure.get_or_insert(failure);
    }

    /// Whether reading has failed.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Why.
    pub fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }

    /// Appends bytes to a field.
    #[inline]
    pub fn push(&mut self, field: &mut Vec<u8>, count: usize) {
        match memory::reserve(field, count) {
            Ok(()) => {
                field.extend_from_slice(&self.buffer[self.at..self.at + count]);
                self.at += count;
            }
            Err(excess) => self.fail(Failure::Starved(excess)),
        }
    }

    /// Appends a byte to a field.
    #[inline]
    pub fn push_byte(&mut self, field: &mut Vec<u8>, byte: u8) {
        match memory::reserve(field, 1) {
            Ok(()) => field.push(byte),
            Err(excess) => self.fail(Failure::Starved(excess)),
        }
    }

    /// Reads the rest of what the client sends away, so that the connection can go on, and gives it back its turn.
    pub fn finish(&mut self) {
        let Source::Client(sink) = &mut self.source else { return };
        self.buffer = Vec::new();
        self.at = 0;
        while !self.ended {
            match sink.client().1.read_packet() {
                Ok([]) => self.ended = true,
                Ok(_) => {}
                Err(gone) => {
                    self.ended = true;
                    self.failure.get_or_insert(Failure::Gone(gone));
                }
            }
        }
        let sequence = sink.client().1.reply_sequence();
        sink.packets().set_sequence(sequence);
    }
}

#[cfg(test)]
impl<'a, 's> Input<'a, 's> {
    /// Over a text, which comes in pieces of a few bytes.
    pub fn of_text(text: &[u8]) -> Input<'a, 's> {
        use std::io::{Seek, Write};
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(text).expect("written");
        file.rewind().expect("at its beginning");
        Input::new(Source::Disk(file))
    }
}
