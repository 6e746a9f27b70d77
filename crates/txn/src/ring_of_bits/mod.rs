//! Snapshots by a ring of bits, for comparison only: one bit for each recent id, set when it has finished, and views that copy the bits of the window.
//!
//! It carried the server before the ring of numbers did. Tests compare it with that and with the classic list over random histories
//! (`tests/against_classic.rs`), `examples/view_cost.rs` compares what they cost, `docs/design/snapshots.md` tells why it went.

mod ring;
mod view;

pub use view::BitView;

use crate::slots::{Slots, ViewSlotHandle};
use base::TxnId;
use ring::Ring;

/// Ids, finished bits and published views.
pub struct BitSystem {
    ring: Ring,
    slots: Slots,
}

impl BitSystem {
    /// See [`crate::TxnSystem::new`].
    pub fn new(next: TxnId, unfinished: &[TxnId]) -> BitSystem {
        BitSystem { ring: Ring::new(next, unfinished), slots: Slots::new() }
    }

    /// A new id.
    #[inline]
    pub fn allocate_id(&self) -> TxnId {
        self.ring.allocate()
    }

    /// Marks `id` finished.
    #[inline]
    pub fn finish(&self, id: TxnId) {
        self.ring.finish(id);
    }

    /// Whether `id` was given out and has not finished.
    pub fn is_active(&self, id: TxnId) -> bool {
        self.ring.is_active(id)
    }

    /// All ids below have finished.
    pub fn low_id(&self) -> TxnId {
        TxnId(self.ring.low_exact())
    }

    /// Unfinished transactions older than the ring.
    pub fn long_count(&self) -> u64 {
        self.ring.long_count()
    }

    /// A place to publish views.
    pub fn register_slot(&self) -> ViewSlotHandle {
        self.slots.register()
    }

    /// Opens `view` at the present; as it is when nothing has finished since.
    #[inline]
    pub fn open_view(&self, view: &mut BitView, slot: &ViewSlotHandle) {
        if let Some(begun) = view.reusable_at()
            && self.ring.begun() == begun
        {
            slot.publish(view.low().0, view.ended());
            if self.ring.begun() == begun {
                return;
            }
        }
        slot.publish(self.ring.low(), self.ring.ended());
        self.ring.copy(view);
    }

    /// Closes the view that `slot` publishes.
    #[inline]
    pub fn close_view(&self, slot: &ViewSlotHandle) {
        slot.close();
    }
}
