//! [`Rows`]: guests whose clients have spoken, and who have not been served yet.
//!
//! Others may wait for what those hold that are in a transaction, and they have a slot of admission, or are to be given one at once: they come first, each at the post that
//! watches it, or at one that has nothing to do. The others, *newcomers*, are let in as long as few wait for slots; so those who would wait take no thread meanwhile. They stand at the post that
//! watches them, too: who serves a client from the processor that it is on need not call it from another.

use super::platform::atomic::{AtomicU32, Ordering};
use super::platform::{CachePadded, Mutex, Rank};
use std::collections::VecDeque;

struct Row<G> {
    guests: Mutex<VecDeque<Box<G>>>,
    /// How many; changed under the latch, looked at without.
    count: AtomicU32,
}

impl<G> Row<G> {
    fn new() -> Self {
        Self { guests: Mutex::new(Rank::Leaf, VecDeque::new()), count: AtomicU32::new(0) }
    }

    fn change<T>(&self, change: impl FnOnce(&mut VecDeque<Box<G>>) -> T) -> T {
        let mut guests = self.guests.lock();
        let changed = change(&mut guests);
        // SeqCst: see `Posts::waits`.
        self.count.store(guests.len() as u32, Ordering::SeqCst);
        changed
    }

    fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    fn pop(&self) -> Option<Box<G>> {
        if self.is_empty() { None } else { self.change(VecDeque::pop_front) }
    }
}

/// See the module.
pub(crate) struct Rows<G> {
    engaged: Box<[CachePadded<Row<G>>]>,
    newcomers: Box<[CachePadded<Row<G>>]>,
}

impl<G> Rows<G> {
    /// Nobody, at so many posts.
    pub(crate) fn new(posts: usize) -> Self {
        Self {
            engaged: (0..posts).map(|_| CachePadded::new(Row::new())).collect(),
            newcomers: (0..posts).map(|_| CachePadded::new(Row::new())).collect(),
        }
    }

    /// One that others may wait for.
    pub(crate) fn add_engaged(&self, post: usize, guest: Box<G>) {
        self.engaged[post].change(|guests| guests.push_back(guest));
    }

    /// One that holds nothing, at the post that watches it.
    pub(crate) fn add_newcomer(&self, post: usize, guest: Box<G>) {
        self.newcomers[post].change(|guests| guests.push_back(guest));
    }

    /// The next one at this post.
    pub(crate) fn engaged(&self, post: usize) -> Option<Box<G>> {
        self.engaged[post].pop()
    }

    /// The next one at any other post.
    pub(crate) fn engaged_elsewhere(&self, but: usize) -> Option<Box<G>> {
        self.engaged.iter().enumerate().filter(|(post, _)| *post != but).find_map(|(_, row)| row.pop())
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

    /// The next newcomer at this post.
    pub(crate) fn newcomer(&self, post: usize) -> Option<Box<G>> {
        self.newcomers[post].pop()
    }

    /// The next one at any other post.
    pub(crate) fn newcomer_elsewhere(&self, but: usize) -> Option<Box<G>> {
        self.newcomers.iter().enumerate().filter(|(post, _)| *post != but).find_map(|(_, row)| row.pop())
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
