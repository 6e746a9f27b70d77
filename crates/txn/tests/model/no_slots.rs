//! `slots.rs` without slots: publication needs one order of all accesses, which loom does not model. Views that are open while the window moves must
//! see all that it leaves.

#![allow(clippy::unused_self)]

/// Where nothing is published.
pub struct ViewSlotHandle;

impl ViewSlotHandle {
    pub(crate) fn publish(&self, _low: u64, _number: u64) {}
    pub(crate) fn publish_bounds(&self, _number: u64, _high: u64) {}
}

/// No slots.
pub(crate) struct Slots;

impl Slots {
    pub(crate) fn open_views(&self, newest: u64) -> OpenViews {
        OpenViews { newest }
    }
}

/// No open views.
pub(crate) struct OpenViews {
    newest: u64,
}

impl OpenViews {
    pub(crate) fn may_ask(&self, _id: u64, number: u64) -> bool {
        number > self.newest
    }
}
