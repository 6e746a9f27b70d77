//! [`RecentLoad`]: what the queue of admission was like in the last ticks of the crew's monitor.
//!
//! How many wait for a slot changes with each transaction, several times in a tick. A crew that followed each look would let members go in one and make others in the next, and with each the buffers
//! and plans that it lends; so it grows only when hardly anybody waited in several looks, and shrinks only by those who waited in all of many.

use session::service::Load;

/// Looks by which members are too many.
const LOOKS: usize = 16;
/// Looks by which they are too few: a slot for which nobody waits may lie idle.
const SHORT: usize = 4;

/// What the last looks say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    /// How many wait for a slot now.
    pub(super) queued: u32,
    /// All slots are taken.
    pub(super) full: bool,
    /// Fewer than few waited in each of the last looks.
    pub(super) too_few: bool,
    /// So many above many waited in each of more looks.
    pub(super) too_many: u32,
    /// Somebody waited in one of them.
    pub(super) bounds: bool,
}

/// See the module.
pub(super) struct RecentLoad {
    few: u32,
    many: u32,
    queued: [u32; LOOKS],
    next: usize,
}

impl RecentLoad {
    /// Nothing was seen yet. Fewer than `few` who wait are too few, more than `many` too many.
    pub(super) fn new(few: u32, many: u32) -> Self {
        Self { few, many, queued: [few; LOOKS], next: 0 }
    }

    /// What was seen is over.
    pub(super) fn forget(&mut self) {
        self.queued = [self.few; LOOKS];
    }

    /// Another look; None while there is no limit.
    pub(super) fn note(&mut self, load: Option<Load>) -> Option<Seen> {
        let Some(Load { queued, full }) = load else {
            self.forget();
            return None;
        };
        self.queued[self.next] = queued;
        self.next = (self.next + 1) % LOOKS;
        let last = |back: usize| self.queued[(self.next + LOOKS - back) % LOOKS];
        Some(Seen {
            queued,
            full,
            too_few: (1..=SHORT).all(|back| last(back) < self.few),
            too_many: self.queued.iter().min().map_or(0, |least| least.saturating_sub(self.many)),
            bounds: self.queued.iter().any(|&queued| queued > 0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(recent: &mut RecentLoad, queued: u32) -> Seen {
        recent.note(Some(Load { queued, full: true })).unwrap()
    }

    #[test]
    fn only_what_lasts_is_too_few_or_too_many() {
        let mut recent = RecentLoad::new(4, 8);
        for _ in 0..SHORT - 1 {
            assert!(!look(&mut recent, 0).too_few);
        }
        assert!(look(&mut recent, 0).too_few);
        assert!(!look(&mut recent, 5).too_few);
        for _ in 0..LOOKS - 1 {
            assert_eq!(look(&mut recent, 20).too_many, 0);
        }
        assert_eq!(look(&mut recent, 11).too_many, 3, "five were over, then twenty, now eleven");
        assert_eq!(look(&mut recent, 9).too_many, 1);
        for _ in 0..LOOKS {
            look(&mut recent, 20);
        }
        assert_eq!(recent.note(None), None);
        assert_eq!(look(&mut recent, 20).too_many, 0, "there was no limit in between");
    }

    #[test]
    fn a_queue_that_swings_about_what_is_wanted_changes_nothing() {
        let mut recent = RecentLoad::new(4, 8);
        for queued in [0, 12, 3, 9, 5, 1, 10, 6].into_iter().cycle().take(100) {
            let seen = look(&mut recent, queued);
            assert!(!seen.too_few && seen.too_many == 0 && seen.bounds);
        }
        for _ in 0..LOOKS {
            look(&mut recent, 0);
        }
        assert!(!look(&mut recent, 0).bounds);
    }
}
