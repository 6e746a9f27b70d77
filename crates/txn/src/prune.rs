//! What the open views need of a row's versions, so that versions *between* them can go.
//!
//! Of a row's versions, newest first, a view needs the first that it sees. A version is needed by nobody when a newer one is seen by every view, open or to be
//! opened, that sees it. A snapshot that idles for an hour needs one version of each row; without this, it would keep all that were made since.
//!
//! # Why a copy may be stale
//! The open views are copied once and used for a while. Of the views that were open then some may have closed: what they needed is kept a little longer. A
//! view opened later has a number at or above the `horizon`'s, so whatever the horizon sees, it sees. The horizon's upper bound counts as well: an id past the bound
//! of an open view is not kept for that view when the ring's window leaves it (`old_ids.rs`), and then looks as if all saw it; so the horizon has the smallest bound of all.

use crate::ids::Ids;
use crate::platform::{Arc, planted};
use crate::slots::Slots;
use crate::view::ReadView;
use base::TxnId;

/// The oldest open views one by one, and a bound for all others.
#[derive(Debug)]
pub struct Snapshots {
    /// Oldest first; few.
    old: Vec<ReadView>,
    /// All views that are not in `old`, open or to be opened, see what this one sees.
    horizon: ReadView,
}

impl Snapshots {
    /// Views that are looked at one by one, at most. Others bound the horizon.
    pub const OLD_MAX: usize = 4;

    /// The open views; those that lag no more than `lag` finished transactions are not taken one by one. `None` while a view is being opened.
    pub(crate) fn collect(ids: &Arc<Ids>, slots: &Slots, lag: u64) -> Option<Snapshots> {
        let view = |low, number, high| {
            let mut view = ReadView::new();
            view.attach(ids);
            view.start_numbers(low, number, high);
            view
        };
        // In the order in which a view is opened.
        let low = ids.low_exact();
        let newest = ids.newest();
        let high = ids.next().0;
        let open = slots.exact_views()?;
        let lagging = open.partition_point(|(number, ..)| number + lag < newest).min(Self::OLD_MAX);
        // Each bound by itself: the view with the smallest number may have a high bound past another's, of ids given out while it was being opened. And a
        // view that was opened after its slot was looked at has bounds at or above what was read first of all.
        let (mut bound_low, mut bound_number, mut bound_high) = (low, newest, high);
        for (number, low, high) in &open[lagging..] {
            bound_low = bound_low.min(*low);
            bound_number = bound_number.min(*number);
            bound_high = bound_high.min(*high);
        }
        if let Some((number, _, high)) = open.get(lagging) {
            if planted("horizon_high_of_the_oldest") {
                bound_high = *high;
            }
            if planted("horizon_without_newest") {
                bound_number = *number;
            }
        }
        let horizon = view(bound_low, bound_number, bound_high);
        let old = open[..lagging].iter().map(|(number, low, high)| view(*low, *number, *high)).collect();
        Some(Snapshots { old, horizon })
    }

    /// Whether no view lags: then the ordinary purge does all there is to do.
    pub fn is_empty(&self) -> bool {
        self.old.is_empty()
    }

    /// The number of the oldest view, when there is an old one.
    pub fn oldest(&self) -> Option<u64> {
        self.old.first().map(ReadView::number)
    }

    /// All open views with smaller numbers are among the old ones.
    pub fn old_below(&self) -> u64 {
        self.horizon.number()
    }

    /// Whether the old views that do not see `txn` all have smaller numbers than this: then they were among those of an earlier copy that has this for [`Self::old_below`].
    pub fn blind_are_below(&self, txn: TxnId, number: u64) -> bool {
        self.blind_to(txn).all(|view| view.number() < number)
    }

    /// A lag that no view has: then none is taken by itself, and [`Snapshots::settled`] says what all views see.
    pub const NO_LAG: u64 = 1 << 60;

    /// Whether all views but the old ones see `txn`.
    #[inline]
    pub fn settled(&self, txn: TxnId) -> bool {
        self.horizon.sees(txn, TxnId::NONE)
    }

    /// Whether an old view sees `txn`.
    pub fn some_sees(&self, txn: TxnId) -> bool {
        self.old.iter().any(|view| view.sees(txn, TxnId::NONE))
    }

    /// The old views that do not see `txn`.
    pub fn blind_to(&self, txn: TxnId) -> impl Iterator<Item = &ReadView> {
        self.old.iter().filter(move |view| !view.sees(txn, TxnId::NONE))
    }
}
