//! A table that grows by chunks and never moves or frees what it holds, so that it is read without a latch.

use std::sync::OnceLock;

const CHUNK: usize = 256;

pub(crate) struct Chunked<T> {
    chunks: Box<[OnceLock<Box<[T]>>]>,
}

impl<T: Default> Chunked<T> {
    /// A table that can grow to `capacity`.
    pub(crate) fn new(capacity: usize) -> Self {
        Chunked { chunks: (0..capacity.div_ceil(CHUNK)).map(|_| OnceLock::new()).collect() }
    }

    /// The element, when its chunk exists.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at / CHUNK)?.get().map(|chunk| &chunk[at % CHUNK])
    }

    /// The element, with its chunk made when absent. `at` is below the capacity.
    pub(crate) fn at(&self, at: usize) -> &T {
        let chunk = self.chunks[at / CHUNK].get_or_init(|| (0..CHUNK).map(|_| T::default()).collect());
        &chunk[at % CHUNK]
    }

    /// All elements of existing chunks, with their positions.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let chunks = self.chunks.iter().enumerate().filter_map(|(at, chunk)| Some((at, chunk.get()?)));
        chunks.flat_map(|(at, chunk)| chunk.iter().enumerate().map(move |(within, item)| (at * CHUNK + within, item)))
    }
}
