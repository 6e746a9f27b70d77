//! The hybrid read view: bounds, a bitmap for recent ids, and a sorted vector for the old ones still running.

use crate::ring_of_bits::ring::BITMAP_WORDS;
use base::TxnId;

/// What a reader sees: a consistent set of finished transactions. A session keeps one and opens it again and again.
///
/// A test costs two compares and one bit test; only for an id below the bitmap it costs a binary search among a few words.
pub struct BitView {
    /// All ids below are seen.
    low: u64,
    /// No id from here on is seen.
    high: u64,
    /// Number of the first word of `bits`.
    first_word: u64,
    /// Words of 64 ids from `first_word` to `high`, bit = seen. Normally at most 2 KiB, allocated once; as large as the ring when very
    /// many old transactions run.
    bits: Vec<u64>,
    /// Words between `low` and `first_word` that are not full, by word number. An id whose word is not here is seen.
    old: Vec<OldWord>,
    /// Finishes begun, and ended, when it was copied; equal when none was under way.
    begun: u64,
    ended: u64,
}

#[derive(Clone, Copy)]
struct OldWord {
    word_no: u64,
    seen: u64,
}

impl BitView {
    /// A view that sees nothing; to be opened by [`crate::ring_of_bits::BitSystem::open_view`].
    pub fn new() -> BitView {
        // `begun` differs from `ended`, so that it is not taken for a view to be reused.
        BitView { low: 0, high: 0, first_word: 0, bits: Vec::new(), old: Vec::new(), begun: 1, ended: 0 }
    }

    /// Whether the effects of `writer` are seen by a reader whose own transaction is `own` (`TxnId::NONE` when it has none).
    #[inline]
    pub fn sees(&self, writer: TxnId, own: TxnId) -> bool {
        writer.0 < self.low || writer == own || self.sees_recent(writer.0)
    }

    #[inline]
    fn sees_recent(&self, id: u64) -> bool {
        if id >= self.high {
            return false;
        }
        let word_no = id / 64;
        let seen = match word_no.checked_sub(self.first_word) {
            Some(at) => self.bits[at as usize],
            None => match self.old.binary_search_by_key(&word_no, |old| old.word_no) {
                Ok(at) => self.old[at].seen,
                Err(_) => return true,
            },
        };
        seen >> (id % 64) & 1 == 1
    }

    /// All transactions below this id are seen.
    pub fn low(&self) -> TxnId {
        TxnId(self.low)
    }

    /// No transaction from this id on is seen (but the reader's own).
    pub fn high(&self) -> TxnId {
        TxnId(self.high)
    }

    /// Bytes that opening this view copied, for the benches.
    pub fn copied_bytes(&self) -> usize {
        let inline = self.high.div_ceil(64).saturating_sub(self.first_word) as usize;
        inline * 8 + self.old.len() * size_of::<OldWord>()
    }

    /// Sets the bounds and returns the bitmap to be filled.
    pub(crate) fn start(&mut self, low_word: u64, first_word: u64, high: u64) -> &mut [u64] {
        self.low = low_word * 64;
        self.first_word = first_word;
        self.high = high;
        self.old.clear();
        let count = high.div_ceil(64).saturating_sub(first_word) as usize;
        if count > self.bits.len() {
            self.bits.resize(count.max(BITMAP_WORDS), 0);
        } else if count <= BITMAP_WORDS && self.bits.len() > BITMAP_WORDS {
            // A session does not keep the memory of a wide moment.
            self.bits.truncate(BITMAP_WORDS);
            self.bits.shrink_to_fit();
        }
        &mut self.bits[..count]
    }

    /// Notes an unfinished id below the window; ids come in ascending order, and before [`Self::add_old_word`].
    pub(crate) fn add_old_unfinished(&mut self, id: u64) {
        let (word_no, bit) = (id / 64, 1u64 << (id % 64));
        match self.old.last_mut() {
            Some(last) if last.word_no == word_no => last.seen &= !bit,
            _ => self.old.push(OldWord { word_no, seen: !bit }),
        }
    }

    pub(crate) fn add_old_word(&mut self, word_no: u64, seen: u64) {
        self.old.push(OldWord { word_no, seen });
    }

    pub(crate) fn stamp(&mut self, begun: u64, ended: u64) {
        self.begun = begun;
        self.ended = ended;
    }

    /// Whether the view is still what a fresh copy would be while `begun` has not moved from the returned number.
    pub(crate) fn reusable_at(&self) -> Option<u64> {
        (self.begun == self.ended).then_some(self.begun)
    }

    pub(crate) fn ended(&self) -> u64 {
        self.ended
    }
}

impl Default for BitView {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for BitView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields = (self.low, self.high, self.first_word, self.old.len(), self.begun, self.ended);
        write!(f, "BitView(low, high, first word, old words, begun, ended = {fields:?})")
    }
}
