//! The classic snapshot: active ids in a sorted vector, copied under a mutex. The oracle of the tests, the baseline of the benches, and what a
//! [`crate::TxnSystem`] made by `with_classic_views` opens its views from, to measure what the ring of numbers is worth.

use crate::platform::latch::{Mutex, Rank};

use crate::view::ReadView;
use base::TxnId;

/// The registry: next id and the sorted active ids.
#[derive(Debug)]
pub struct ClassicSystem {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    next: u64,
    active: Vec<u64>,
}

impl ClassicSystem {
    /// See [`crate::TxnSystem::new`].
    pub fn new(next: TxnId, unfinished: &[TxnId]) -> ClassicSystem {
        let mut active: Vec<u64> = unfinished.iter().map(|id| id.0).collect();
        active.sort_unstable();
        active.dedup();
        ClassicSystem { state: Mutex::with_order(Rank::LongTxns, 0, State { next: next.0.max(1), active }) }
    }

    /// A new id.
    pub fn allocate_id(&self) -> TxnId {
        let mut state = self.state.lock();
        let id = state.next;
        state.next += 1;
        state.active.push(id);
        TxnId(id)
    }

    /// Adds the id that `allocate` returns, the next one.
    pub(crate) fn allocate_with(&self, allocate: impl FnOnce() -> TxnId) -> TxnId {
        let mut state = self.state.lock();
        let id = allocate();
        state.next = id.0 + 1;
        state.active.push(id.0);
        id
    }

    /// Makes `view` a copy of the active ids.
    pub(crate) fn copy(&self, view: &mut ReadView) {
        let state = self.state.lock();
        view.start_list(state.next, &state.active);
    }

    /// Removes an active id.
    pub fn finish(&self, id: TxnId) {
        let mut state = self.state.lock();
        let at = state.active.binary_search(&id.0).expect("an active transaction");
        state.active.remove(at);
    }

    /// Whether `id` is active.
    pub fn is_active(&self, id: TxnId) -> bool {
        self.state.lock().active.binary_search(&id.0).is_ok()
    }

    /// Copies the active ids into `view`.
    pub fn open_view(&self, view: &mut ClassicView) {
        let state = self.state.lock();
        view.active.clear();
        view.active.extend_from_slice(&state.active);
        view.high = state.next;
        view.low = state.active.first().copied().unwrap_or(state.next);
    }
}

/// A copy of the active ids.
#[derive(Debug, Default, Clone)]
pub struct ClassicView {
    low: u64,
    high: u64,
    active: Vec<u64>,
}

impl ClassicView {
    /// See [`crate::ReadView::sees`].
    pub fn sees(&self, writer: TxnId, own: TxnId) -> bool {
        let id = writer.0;
        writer == own || id < self.low || (id < self.high && self.active.binary_search(&id).is_err())
    }
}
