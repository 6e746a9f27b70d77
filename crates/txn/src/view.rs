//! The read view: what a reader sees is what had finished up to a number.

use crate::ids::Ids;
use crate::platform::Arc;
use base::TxnId;

/// What a reader sees: a consistent set of finished transactions. A session keeps one and opens it again and again; it says something while it
/// is open.
///
/// A test of an old writer is one comparison; of a recent one, a look at its word in the ring of numbers (`ids.rs`).
pub struct ReadView {
    /// All ids below are seen.
    low: u64,
    /// No id from here on is seen.
    high: u64,
    /// The newest number that is seen, counted down as in the words of the ring.
    floor: u64,
    /// Where the numbers stand. None in a view that copies a list.
    ids: Option<Arc<Ids>>,
    /// Of a view that copies a list: the ids below `high` that are not seen, ascending.
    unseen: Vec<u64>,
}

/// Ids behind the low mark up to which [`ReadView::sees_all_to`] looks: the mark may lag.
const LAG_MAX: u64 = 64;

impl ReadView {
    /// A view that sees nothing; to be opened by [`crate::TxnSystem::open_view`].
    pub fn new() -> ReadView {
        ReadView { low: 0, high: 0, floor: u64::MAX, ids: None, unseen: Vec::new() }
    }

    /// Makes it a view that sees all there is, finished or not: of READ UNCOMMITTED, which reads newest versions only. Opening it again makes it a
    /// snapshot.
    pub fn see_all(&mut self) {
        (self.low, self.high) = (u64::MAX, u64::MAX);
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
        match &self.ids {
            Some(ids) => ids.is_numbered_to(id, self.floor),
            None => self.is_unlisted(id),
        }
    }

    #[cold]
    #[inline(never)]
    fn is_unlisted(&self, id: u64) -> bool {
        self.unseen.binary_search(&id).is_err()
    }

    /// Whether all transactions up to `last` are seen. It may say no when a few more than usual have finished behind an unfinished
    /// one; never when the reader's own transaction is among them.
    #[inline]
    pub fn sees_all_to(&self, last: TxnId) -> bool {
        last.0 < self.low || self.sees_recent_to(last.0)
    }

    /// The same by the low mark alone, which may lag, and of a snapshot only: a view that sees all sees what is not finished, too.
    #[inline]
    pub fn sees_finished_to(&self, last: TxnId) -> bool {
        last.0 < self.low && self.high != u64::MAX
    }

    fn sees_recent_to(&self, last: u64) -> bool {
        last - self.low < LAG_MAX && (self.low..=last).all(|id| self.sees_recent(id))
    }

    /// All transactions below this id are seen.
    pub fn low(&self) -> TxnId {
        TxnId(self.low)
    }

    /// No transaction from this id on is seen (but the reader's own).
    pub fn high(&self) -> TxnId {
        TxnId(self.high)
    }

    /// The newest number that is seen.
    pub(crate) fn number(&self) -> u64 {
        !self.floor
    }

    /// Whether the view looks at the numbers of `ids`.
    #[inline]
    pub(crate) fn reads(&self, ids: &Arc<Ids>) -> bool {
        self.ids.as_ref().is_some_and(|own| Arc::ptr_eq(own, ids))
    }

    /// The view will look at the numbers of `ids`.
    pub(crate) fn attach(&mut self, ids: &Arc<Ids>) {
        self.ids = Some(Arc::clone(ids));
    }

    #[inline]
    pub(crate) fn start_numbers(&mut self, low: u64, newest: u64, high: u64) {
        (self.low, self.high, self.floor) = (low, high, !newest);
    }

    /// Makes it a copy of the unfinished ids.
    pub(crate) fn start_list(&mut self, high: u64, unfinished: &[u64]) {
        (self.low, self.high) = (unfinished.first().copied().unwrap_or(high), high);
        self.ids = None;
        self.unseen.clear();
        self.unseen.extend_from_slice(unfinished);
    }
}

impl Default for ReadView {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for ReadView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ReadView(low {}, high {}, newest {}, {} listed)", self.low, self.high, !self.floor, self.unseen.len())
    }
}
