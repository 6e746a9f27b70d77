//! [`Rows`]: guests whose clients have spoken, and who have not been served yet.
//!
//! Others may wait for what those hold that are in a transaction, and they have a slot of admission, or are to be given one at once: they come first, each at the post that
//! watches it, or at one that has nothing to do. The others, *newcomers*, are let in as long as few wait for slots; so those who would wait take no thread meanwhile. They stand at the post that
//! watches them, too: who serves a client from the processor that it is on need not call it from another. Posts may have more newcomers than others; none is to wait much longer than another for
//! that, so who has waited for long at one post is taken by who serves at another.

use super::platform::atomic::{AtomicU32, AtomicU64, Ordering};
use super::platform::{CachePadded, Mutex, Rank};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Newcomers are taken from another post that have waited for so much longer than those here.
const PATIENCE: Duration = Duration::from_millis(20);

/// Guests with the moment at which they came, in microseconds since the rows began.
type Line<G> = VecDeque<(u64, Box<G>)>;

struct Row<G> {
    guests: Mutex<Line<G>>,
    /// How many; changed under the latch, looked at without.
    count: AtomicU32,
    /// When the first of them came; `u64::MAX` when there is none. Changed and looked at likewise.
    since: AtomicU64,
}

impl<G> Row<G> {
    fn new() -> Self {
        Self { guests: Mutex::new(Rank::Leaf, VecDeque::new()), count: AtomicU32::new(0), since: AtomicU64::new(u64::MAX) }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Line<G>) -> T) -> T {
        let mut guests = self.guests.lock();
        let changed = change(&mut guests);
        // Relaxed: what it is for may be done a little later. SeqCst: see `Posts::waits`.
        self.since.store(guests.front().map_or(u64::MAX, |(since, _)| *since), Ordering::Relaxed);
        self.count.store(guests.len() as u32, Ordering::SeqCst);
        changed
    }

    fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    fn pop(&self) -> Option<Box<G>> {
        if self.is_empty() { None } else { self.change(VecDeque::pop_front).map(|(_, guest)| guest) }
    }
}

/// See the module.
pub(crate) struct Rows<G> {
    engaged: Box<[CachePadded<Row<G>>]>,
    newcomers: Box<[CachePadded<Row<G>>]>,
    begun: Instant,
}

impl<G> Rows<G> {
    /// Nobody, at so many posts.
    pub(crate) fn new(posts: usize) -> Self {
        let rows = || (0..posts).map(|_| CachePadded::new(Row::new())).collect();
        Self { engaged: rows(), newcomers: rows(), begun: Instant::now() }
    }

    /// One that others may wait for.
    pub(crate) fn add_engaged(&self, post: usize, guest: Box<G>) {
        self.engaged[post].change(|guests| guests.push_back((0, guest)));
    }

    /// One that holds nothing, at the post that watches it; it came at this moment.
    pub(crate) fn add_newcomer(&self, post: usize, guest: Box<G>, now: Instant) {
        let now = now.saturating_duration_since(self.begun).as_micros() as u64;
        self.newcomers[post].change(|guests| guests.push_back((now, guest)));
    }

    /// The next one at this post.
    pub(crate) fn engaged(&self, post: usize) -> Option<Box<G>> {
        self.engaged[post].pop()
    }

    /// The next one at any other post.
    pub(crate) fn engaged_elsewhere(&self, but: usize) -> Option<Box<G>> {
        Self::elsewhere(&self.engaged, but)
    }

    /// Whether anybody stands at any post.
    pub(crate) fn has_engaged(&self) -> bool {
        self.engaged.iter().any(|row| !row.is_empty())
    }

    /// Whether anybody stands at this post.
    pub(crate) fn has_engaged_at(&self, post: usize) -> bool {
        !self.engaged[post].is_empty()
    }

    /// Whether more than one waits at this post.
    pub(crate) fn is_long(&self, post: usize) -> bool {
        self.engaged[post].count.load(Ordering::SeqCst) > 1
    }

    /// The next newcomer at this post, or at `other` (which may be the same) if who stands there has waited for much longer.
    pub(crate) fn newcomer(&self, post: usize, other: usize) -> Option<Box<G>> {
        let since = |post: usize| self.newcomers[post].since.load(Ordering::Relaxed);
        let here = since(post);
        if here != u64::MAX && since(other).saturating_add(PATIENCE.as_micros() as u64) < here {
            self.newcomers[other].pop().or_else(|| self.newcomers[post].pop())
        } else {
            self.newcomers[post].pop()
        }
    }

    /// The next one at any other post.
    pub(crate) fn newcomer_elsewhere(&self, but: usize) -> Option<Box<G>> {
        Self::elsewhere(&self.newcomers, but)
    }

    fn elsewhere(rows: &[CachePadded<Row<G>>], but: usize) -> Option<Box<G>> {
        rows.iter().enumerate().filter(|(post, _)| *post != but).find_map(|(_, row)| row.pop())
    }

    /// Whether there is one at this post.
    pub(crate) fn has_newcomers_at(&self, post: usize) -> bool {
        !self.newcomers[post].is_empty()
    }

    /// Whether there is one.
    pub(crate) fn has_newcomers(&self) -> bool {
        self.newcomers.iter().any(|row| !row.is_empty())
    }

    /// Everybody, for the end.
    pub(crate) fn clear(&self) {
        self.engaged.iter().chain(&self.newcomers).for_each(|row| {
            let guests = row.change(std::mem::take);
            drop(guests);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each post's own come first, in their order, unless others have waited for much longer.
    #[test]
    fn newcomers_are_taken_near_and_none_waits_much_longer() {
        let rows = Rows::new(2);
        let at = |millis: u64| rows.begun + Duration::from_millis(millis);
        for (post, guest, millis) in [(0, 1, 0), (0, 2, 5), (1, 3, 10), (1, 4, 30), (0, 5, 31)] {
            rows.add_newcomer(post, Box::new(guest), at(millis));
        }
        let next = |post: usize| rows.newcomer(post, 1 - post).map(|guest| *guest);
        assert_eq!(next(1), Some(3), "the other's first has waited for 10 ms more");
        assert_eq!(next(1), Some(1), "for 30");
        assert_eq!(next(1), Some(2), "for 25");
        assert_eq!((next(1), next(1)), (Some(4), None), "who has none of its own asks elsewhere");
        assert_eq!(rows.newcomer_elsewhere(1).map(|guest| *guest), Some(5));
        assert!(!rows.has_newcomers());
    }
}
