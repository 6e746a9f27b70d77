//! [`Rows`]: guests whose clients have spoken, and who have not been served yet.
//!
//! Others may wait for what those hold that are in a transaction, and they have a slot of admission, or are to be given one at once: the *engaged* come first, each at the post that
//! watches it, or at one that has nothing to do. The others are *newcomers*. Those who asked for a slot when they came last, *askers*, stand apart: they are let in when there is one, so that no thread waits with
//! them; the rest as long as few wait for slots. All stand at the post that watches them: who serves a client from the processor that it is on need not call it from another. Posts may have more newcomers than
//! others; none is to wait much longer than another for that, so who has waited for long at one post is taken by who serves at another.

use super::platform::atomic::{AtomicU32, AtomicU64, Ordering};
use super::platform::{CachePadded, Moment, Mutex, Rank};
use std::collections::VecDeque;
use std::time::Duration;
use sync::moment::nanoseconds;

/// Newcomers are taken from another post that have waited for so much longer than those here.
const PATIENCE: Duration = Duration::from_millis(20);
/// Where there is no slot for so long, an asker is let in all the same, and waits for one: whoever else waits for slots does not keep askers outside for ever.
const STUCK_AFTER: Duration = Duration::from_millis(10);

/// Whose row it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Others may wait for them.
    Engaged,
    /// They hold nothing, and asked for no slot last time.
    Newcomer,
    /// They hold nothing, and asked for a slot last time.
    Asker,
}

/// Those that hold nothing.
pub(crate) const NEW: [Kind; 2] = [Kind::Newcomer, Kind::Asker];

/// Guests with the moment at which they came ([`Moment::to_bits`]).
type Line<G> = VecDeque<(u64, Box<G>)>;

/// Guests who have come, before they stand in rows.
pub(crate) struct Came<G> {
    engaged: Vec<Box<G>>,
    newcomers: Vec<Box<G>>,
    askers: Vec<Box<G>>,
}

impl<G> Default for Came<G> {
    fn default() -> Self {
        Self { engaged: Vec::new(), newcomers: Vec::new(), askers: Vec::new() }
    }
}

impl<G> Came<G> {
    /// One more.
    pub(crate) fn push(&mut self, kind: Kind, guest: Box<G>) {
        let row = match kind {
            Kind::Engaged => &mut self.engaged,
            Kind::Newcomer => &mut self.newcomers,
            Kind::Asker => &mut self.askers,
        };
        row.push(guest);
    }

    /// Whether others may wait for one of them.
    pub(crate) fn has_engaged(&self) -> bool {
        !self.engaged.is_empty()
    }
}

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

    /// `told`: how it is told how many stand here now.
    fn change<T>(&self, told: Ordering, change: impl FnOnce(&mut Line<G>) -> T) -> T {
        let mut guests = self.guests.lock();
        let changed = change(&mut guests);
        // Relaxed: what it is for may be done a little later.
        self.since.store(guests.front().map_or(u64::MAX, |(since, _)| *since), Ordering::Relaxed);
        self.count.store(guests.len() as u32, told);
        changed
    }

    /// All of them come at this moment.
    fn add(&self, came: &mut Vec<Box<G>>, now: u64) {
        if !came.is_empty() {
            // SeqCst: see `Posts::waits`.
            self.change(Ordering::SeqCst, |guests| guests.extend(came.drain(..).map(|guest| (now, guest))));
        }
    }

    fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    fn pop(&self) -> Option<Box<G>> {
        // Release: who still sees one that has gone looks in vain.
        if self.is_empty() { None } else { self.change(Ordering::Release, VecDeque::pop_front).map(|(_, guest)| guest) }
    }
}

/// The rows of a post.
struct Post<G> {
    engaged: Row<G>,
    newcomers: Row<G>,
    askers: Row<G>,
    /// When an asker was let in last, like [`Row::since`].
    let_in: AtomicU64,
}

/// See the module.
pub(crate) struct Rows<G> {
    posts: Box<[CachePadded<Post<G>>]>,
}

impl<G> Rows<G> {
    /// Nobody, at so many posts.
    pub(crate) fn new(posts: usize) -> Self {
        let post = |_| CachePadded::new(Post { engaged: Row::new(), newcomers: Row::new(), askers: Row::new(), let_in: AtomicU64::new(0) });
        Self { posts: (0..posts).map(post).collect() }
    }

    fn row(&self, post: usize, kind: Kind) -> &Row<G> {
        let post = &self.posts[post];
        match kind {
            Kind::Engaged => &post.engaged,
            Kind::Newcomer => &post.newcomers,
            Kind::Asker => &post.askers,
        }
    }

    fn since(&self, post: usize, kind: Kind) -> u64 {
        self.row(post, kind).since.load(Ordering::Relaxed)
    }

    /// One that others may wait for.
    pub(crate) fn add_engaged(&self, post: usize, guest: Box<G>) {
        self.row(post, Kind::Engaged).change(Ordering::SeqCst, |guests| guests.push_back((0, guest)));
    }

    /// Those who came at this moment, of whom none is left in `came`: who is engaged stands at `post`, who holds nothing at the post that watches it. Each row is changed once.
    pub(crate) fn add_all(&self, came: &mut Came<G>, post: usize, watching: usize, now: Moment) {
        self.row(post, Kind::Engaged).add(&mut came.engaged, 0);
        self.row(watching, Kind::Newcomer).add(&mut came.newcomers, now.to_bits());
        self.row(watching, Kind::Asker).add(&mut came.askers, now.to_bits());
    }

    /// The next one at this post.
    pub(crate) fn pop(&self, post: usize, kind: Kind) -> Option<Box<G>> {
        self.row(post, kind).pop()
    }

    /// The next one at any other post.
    pub(crate) fn pop_elsewhere(&self, but: usize, kind: Kind) -> Option<Box<G>> {
        (0..self.posts.len()).filter(|post| *post != but).find_map(|post| self.pop(post, kind))
    }

    /// The next one at this post, or at `other` (which may be the same) if who stands there has waited for much longer.
    pub(crate) fn pop_patiently(&self, post: usize, other: usize, kind: Kind) -> Option<Box<G>> {
        let here = self.since(post, kind);
        if here != u64::MAX && self.since(other, kind).saturating_add(nanoseconds(PATIENCE)) < here {
            self.pop(other, kind).or_else(|| self.pop(post, kind))
        } else {
            self.pop(post, kind)
        }
    }

    /// Whether anybody stands at any post.
    pub(crate) fn has(&self, kind: Kind) -> bool {
        (0..self.posts.len()).any(|post| self.has_at(post, kind))
    }

    /// Whether anybody stands at this post.
    pub(crate) fn has_at(&self, post: usize, kind: Kind) -> bool {
        !self.row(post, kind).is_empty()
    }

    /// Whether more than one waits at this post for whom others may wait.
    pub(crate) fn is_long(&self, post: usize) -> bool {
        self.row(post, Kind::Engaged).count.load(Ordering::SeqCst) > 1
    }

    /// Those of [`NEW`], in the order in which their first ones came to this post.
    pub(crate) fn new_by_age(&self, post: usize) -> [Kind; 2] {
        if self.since(post, Kind::Asker) < self.since(post, Kind::Newcomer) { [Kind::Asker, Kind::Newcomer] } else { NEW }
    }

    /// Whether an asker stands at this post for long by now, and none was let in for as long.
    pub(crate) fn is_stuck(&self, post: usize, now: Moment) -> bool {
        let since = self.since(post, Kind::Asker).max(self.posts[post].let_in.load(Ordering::Relaxed));
        since.saturating_add(nanoseconds(STUCK_AFTER)) < now.to_bits()
    }

    /// An asker of this post is let in now.
    pub(crate) fn note_let_in(&self, post: usize, now: Moment) {
        self.posts[post].let_in.store(now.to_bits(), Ordering::Relaxed);
    }

    /// Everybody, for the end.
    pub(crate) fn clear(&self) {
        for post in &self.posts {
            for row in [&post.engaged, &post.newcomers, &post.askers] {
                let guests = row.change(Ordering::SeqCst, std::mem::take);
                drop(guests);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(guests: &[(usize, Kind, i32, u64)]) -> Rows<i32> {
        let rows = Rows::new(2);
        for (post, kind, guest, millis) in guests {
            let mut came = Came::default();
            came.push(*kind, Box::new(*guest));
            rows.add_all(&mut came, *post, *post, Moment::BEGIN + Duration::from_millis(*millis));
        }
        rows
    }

    /// Each post's own come first, in their order, unless others have waited for much longer.
    #[test]
    fn newcomers_are_taken_near_and_none_waits_much_longer() {
        use Kind::Newcomer;
        let rows = rows(&[(0, Newcomer, 1, 0), (0, Newcomer, 2, 5), (1, Newcomer, 3, 10), (1, Newcomer, 4, 30), (0, Newcomer, 5, 31)]);
        let next = |post: usize| rows.pop_patiently(post, 1 - post, Newcomer).map(|guest| *guest);
        assert_eq!(next(1), Some(3), "the other's first has waited for 10 ms more");
        assert_eq!(next(1), Some(1), "for 30");
        assert_eq!(next(1), Some(2), "for 25");
        assert_eq!((next(1), next(1)), (Some(4), None), "who has none of its own asks elsewhere");
        assert_eq!(rows.pop_elsewhere(1, Newcomer).map(|guest| *guest), Some(5));
        assert!(!rows.has(Newcomer));
    }

    /// Those who ask for slots stand apart; who came first of all is told.
    #[test]
    fn who_came_first_is_known() {
        use Kind::{Asker, Newcomer};
        let rows = rows(&[(0, Newcomer, 1, 3), (0, Asker, 2, 2), (0, Asker, 3, 4), (1, Asker, 4, 0)]);
        assert_eq!(rows.new_by_age(0), [Asker, Newcomer]);
        assert_eq!(rows.pop(0, Asker).map(|guest| *guest), Some(2));
        assert_eq!(rows.new_by_age(0), [Newcomer, Asker]);
        assert_eq!(rows.pop(0, Newcomer).map(|guest| *guest), Some(1));
        assert_eq!(rows.new_by_age(0), [Asker, Newcomer], "nobody is no first");
        assert!(!rows.has(Newcomer) && rows.has_at(0, Asker) && !rows.has(Kind::Engaged));
    }

    /// Who is engaged stands where it was asked for, the others at their own post, each kind in its order.
    #[test]
    fn those_who_come_at_once_stand_in_their_rows() {
        let (rows, mut came) = (Rows::new(2), Came::default());
        for (guest, kind) in [Kind::Newcomer, Kind::Engaged, Kind::Asker, Kind::Engaged, Kind::Newcomer].into_iter().enumerate() {
            came.push(kind, Box::new(guest));
        }
        assert!(came.has_engaged());
        rows.add_all(&mut came, 0, 1, Moment::BEGIN);
        let next = |post, kind| rows.pop(post, kind).map(|guest| *guest);
        assert_eq!([0, 0, 1, 1, 1].map(|post| next(post, Kind::Engaged)), [Some(1), Some(3), None, None, None]);
        assert_eq!([0, 1, 1, 1].map(|post| next(post, Kind::Newcomer)), [None, Some(0), Some(4), None]);
        assert_eq!([0, 1, 1].map(|post| next(post, Kind::Asker)), [None, Some(2), None]);
    }

    /// An asker that has stood for long where none was let in for as long is told.
    #[test]
    fn who_is_kept_outside_for_long_is_known() {
        let rows = rows(&[(0, Kind::Asker, 1, 100), (0, Kind::Asker, 2, 101), (1, Kind::Newcomer, 3, 0)]);
        let stuck = |millis: u64| rows.is_stuck(0, Moment::BEGIN + Duration::from_millis(millis));
        assert_eq!((stuck(109), stuck(111)), (false, true));
        rows.note_let_in(0, Moment::BEGIN + Duration::from_millis(111));
        assert_eq!((stuck(120), stuck(122)), (false, true));
        assert!(!rows.is_stuck(1, Moment::BEGIN + Duration::from_secs(1)), "no asker stands there");
    }
}
