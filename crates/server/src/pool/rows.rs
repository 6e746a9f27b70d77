//! [`Rows`]: guests whose clients have spoken, and who have not been served yet.
//!
//! Others may wait for what those hold that are in a transaction, and they have a slot of admission, or are to be given one at once: the *engaged* come first, each at the post that
//! watches it, or at one that has nothing to do. The others are *newcomers*. Those who asked for a slot when they came last, *askers*, stand apart: they are let in when there is one, so that no thread waits with
//! them; the rest as long as few wait for slots. All stand at the post that watches them: who serves a client from the processor that it is on need not call it from another. Posts may have more newcomers than
//! others; none is to wait much longer than another for that, so who has waited for long at one post is taken by who serves at another. While one is served the next comes near: what a session
//! among a thousand touches is in none of the processor's caches, and is asked for all at once (docs/design/bring-near.md).

use super::platform::atomic::{AtomicU32, AtomicU64, Ordering};
use super::platform::{CachePadded, Moment, Mutex, Rank};
use base::bring_all_near;
use std::collections::VecDeque;
use std::time::Duration;
use sync::moment::nanoseconds;

/// Newcomers are taken from another post that have waited for so much longer than those here.
const PATIENCE: Duration = Duration::from_millis(20);
/// Where there is no slot for so long, an asker is let in all the same, and waits for one: whoever else waits for slots does not keep askers outside for ever.
const STUCK_AFTER: Duration = Duration::from_millis(10);

/// Who was served so long ago is most likely in none of the processor's caches: as many are served meanwhile as have room in one of the second level (1 MiB), of which each takes some 5 KiB here and as much in the kernel.
const FAR_AFTER: Duration = Duration::from_micros(500);

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

/// Who can stand in a row.
pub(crate) trait Stands {
    /// As what it comes.
    fn kind(&self) -> Kind;

    /// When it was served last.
    fn served(&self) -> Moment;

    /// Asks the processor's caches for what tells these two.
    fn bring_place_near(&self);

    /// The same for what lies apart and is touched while it is served. It is itself near.
    fn bring_parts_near(&self);
}

/// A guest in a row.
struct Standing<G> {
    guest: Box<G>,
    /// When it came ([`Moment::to_bits`]).
    since: u64,
    /// When it was served last.
    served: Moment,
}

impl<G: Stands> Standing<G> {
    fn is_far(&self, now: Moment) -> bool {
        now.is_past(self.served, FAR_AFTER)
    }

    fn bring_near(&self, now: Moment) {
        if self.is_far(now) {
            bring_all_near(&*self.guest);
        }
    }

    fn bring_parts_near(&self, now: Moment) {
        if self.is_far(now) {
            self.guest.bring_parts_near();
        }
    }
}

type Line<G> = VecDeque<Standing<G>>;

/// Guests who have come, before they stand in rows.
pub(crate) struct Came<G> {
    unsorted: Vec<Box<G>>,
    /// By [`Kind`].
    rows: [Vec<Standing<G>>; 3],
}

impl<G> Default for Came<G> {
    fn default() -> Self {
        Self { unsorted: Vec::new(), rows: [const { Vec::new() }; 3] }
    }
}

impl<G: Stands> Came<G> {
    /// One more; as what it comes is asked by [`Came::sort_out`]: until then it comes near.
    pub(crate) fn take_in(&mut self, guest: Box<G>) {
        guest.bring_place_near();
        self.unsorted.push(guest);
    }

    /// Asks all that were taken in as what they come, at this moment; but not those whom `stands_apart` keeps.
    pub(crate) fn sort_out(&mut self, now: Moment, stands_apart: impl Fn(Box<G>) -> Option<Box<G>>) {
        for guest in self.unsorted.drain(..).filter_map(stands_apart) {
            let (kind, served) = (guest.kind(), guest.served());
            self.rows[kind as usize].push(Standing { guest, since: now.to_bits(), served });
        }
    }

    /// Whether others may wait for one of those that were asked.
    pub(crate) fn has_engaged(&self) -> bool {
        !self.rows[Kind::Engaged as usize].is_empty()
    }
}

struct Row<G> {
    guests: Mutex<Line<G>>,
    /// How many; changed under the latch, looked at without.
    count: AtomicU32,
    /// When the first of them came; `u64::MAX` when there is none. Changed and looked at likewise.
    since: AtomicU64,
}

impl<G: Stands> Row<G> {
    fn new() -> Self {
        Self { guests: Mutex::new(Rank::Leaf, VecDeque::new()), count: AtomicU32::new(0), since: AtomicU64::new(u64::MAX) }
    }

    /// `told`: how it is told how many stand here now.
    fn change<T>(&self, told: Ordering, change: impl FnOnce(&mut Line<G>) -> T) -> T {
        let mut guests = self.guests.lock();
        let changed = change(&mut guests);
        // Relaxed: what it is for may be done a little later.
        self.since.store(guests.front().map_or(u64::MAX, |first| first.since), Ordering::Relaxed);
        self.count.store(guests.len() as u32, told);
        changed
    }

    /// All of them stand here from now on.
    fn add(&self, came: &mut Vec<Standing<G>>, now: Moment) {
        if came.is_empty() {
            return;
        }
        // SeqCst: see `Posts::waits`.
        self.change(Ordering::SeqCst, |guests| {
            let stood = guests.len();
            guests.extend(came.drain(..));
            // Of those who stood here the first two have been asked for.
            guests.iter().take(2).skip(stood).for_each(|standing| standing.bring_near(now));
        });
    }

    fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// The first one. Those behind it come near while it is served.
    fn pop(&self, now: Moment) -> Option<Box<G>> {
        if self.is_empty() {
            return None;
        }
        // Release: who still sees one that has gone looks in vain.
        self.change(Ordering::Release, |guests| {
            let first = guests.pop_front()?;
            // Under the latch: nobody takes them out meanwhile.
            if let Some(second) = guests.front() {
                second.bring_parts_near(now);
            }
            if let Some(third) = guests.get(1) {
                third.bring_near(now);
            }
            Some(first.guest)
        })
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

impl<G: Stands> Rows<G> {
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

    /// One that others may wait for, and that was at work just now.
    pub(crate) fn add_engaged(&self, post: usize, guest: Box<G>) {
        let standing = Standing { served: guest.served(), guest, since: 0 };
        self.row(post, Kind::Engaged).change(Ordering::SeqCst, |guests| guests.push_back(standing));
    }

    /// A newcomer who came at that moment and has stood elsewhere since: before those who came later. It is far.
    pub(crate) fn add_waiting(&self, post: usize, guest: Box<G>, came: Moment) {
        bring_all_near(&*guest);
        let standing = Standing { served: guest.served(), guest, since: came.to_bits() };
        self.row(post, Kind::Newcomer).change(Ordering::SeqCst, |guests| {
            let place = guests.partition_point(|other| other.since <= standing.since);
            guests.insert(place, standing);
        });
    }

    /// One whose statement has been waiting for a row, which is its own now: it holds up those who wait for the same row, so it is not to wait for all who stand here. Behind the first, so
    /// that a row which goes from hand to hand does not hold up everybody else.
    pub(crate) fn add_granted(&self, post: usize, guest: Box<G>) {
        let standing = Standing { served: guest.served(), guest, since: 0 };
        self.row(post, Kind::Engaged).change(Ordering::SeqCst, |guests| guests.insert(guests.len().min(1), standing));
    }

    /// Those who came at this moment, of whom none is left in `came`: who is engaged stands at `post`, who holds nothing at the post that watches it. Each row is changed once.
    pub(crate) fn add_all(&self, came: &mut Came<G>, post: usize, watching: usize, now: Moment) {
        for (kind, at) in [(Kind::Engaged, post), (Kind::Newcomer, watching), (Kind::Asker, watching)] {
            self.row(at, kind).add(&mut came.rows[kind as usize], now);
        }
    }

    /// The next one at this post.
    pub(crate) fn pop(&self, post: usize, kind: Kind, now: Moment) -> Option<Box<G>> {
        self.row(post, kind).pop(now)
    }

    /// The next one at any other post.
    pub(crate) fn pop_elsewhere(&self, but: usize, kind: Kind, now: Moment) -> Option<Box<G>> {
        (0..self.posts.len()).filter(|post| *post != but).find_map(|post| self.pop(post, kind, now))
    }

    /// The next one at this post, or at `other` (which may be the same) if who stands there has waited for much longer.
    pub(crate) fn pop_patiently(&self, post: usize, other: usize, kind: Kind, now: Moment) -> Option<Box<G>> {
        let here = self.since(post, kind);
        if here != u64::MAX && self.since(other, kind).saturating_add(nanoseconds(PATIENCE)) < here {
            self.pop(other, kind, now).or_else(|| self.pop(post, kind, now))
        } else {
            self.pop(post, kind, now)
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
    use std::cell::Cell;

    struct Person {
        number: i32,
        kind: Kind,
        served: Moment,
        /// How often its parts were asked for.
        asked: Cell<u32>,
    }

    fn person(number: i32, kind: Kind, served: Moment) -> Box<Person> {
        Box::new(Person { number, kind, served, asked: Cell::new(0) })
    }

    impl Stands for Person {
        fn kind(&self) -> Kind {
            self.kind
        }

        fn served(&self) -> Moment {
            self.served
        }

        fn bring_place_near(&self) {}

        fn bring_parts_near(&self) {
            self.asked.set(self.asked.get() + 1);
        }
    }

    fn rows(guests: &[(usize, Kind, i32, u64)]) -> Rows<Person> {
        let rows = Rows::new(2);
        for (post, kind, number, millis) in guests {
            let mut came = Came::default();
            came.take_in(person(*number, *kind, Moment::BEGIN));
            came.sort_out(Moment::BEGIN + Duration::from_millis(*millis), Some);
            rows.add_all(&mut came, *post, *post, Moment::BEGIN);
        }
        rows
    }

    /// Each post's own come first, in their order, unless others have waited for much longer.
    #[test]
    fn newcomers_are_taken_near_and_none_waits_much_longer() {
        use Kind::Newcomer;
        let rows = rows(&[(0, Newcomer, 1, 0), (0, Newcomer, 2, 5), (1, Newcomer, 3, 10), (1, Newcomer, 4, 30), (0, Newcomer, 5, 31)]);
        let next = |post: usize| rows.pop_patiently(post, 1 - post, Newcomer, Moment::BEGIN).map(|guest| guest.number);
        assert_eq!(next(1), Some(3), "the other's first has waited for 10 ms more");
        assert_eq!(next(1), Some(1), "for 30");
        assert_eq!(next(1), Some(2), "for 25");
        assert_eq!((next(1), next(1)), (Some(4), None), "who has none of its own asks elsewhere");
        assert_eq!(rows.pop_elsewhere(1, Newcomer, Moment::BEGIN).map(|guest| guest.number), Some(5));
        assert!(!rows.has(Newcomer));
    }

    /// Who has stood elsewhere stands where it would have stood here.
    #[test]
    fn who_came_earlier_stands_in_front_of_those_who_came_later() {
        let rows = rows(&[(0, Kind::Newcomer, 1, 10), (0, Kind::Newcomer, 2, 30)]);
        for (number, millis) in [(3, 20), (4, 5), (5, 40), (6, 10)] {
            rows.add_waiting(0, person(number, Kind::Newcomer, Moment::BEGIN), Moment::BEGIN + Duration::from_millis(millis));
        }
        let all: Vec<_> = std::iter::from_fn(|| rows.pop(0, Kind::Newcomer, Moment::BEGIN)).map(|guest| guest.number).collect();
        assert_eq!(all, [4, 1, 6, 3, 2, 5]);
    }

    /// Those who ask for slots stand apart; who came first of all is told.
    #[test]
    fn who_came_first_is_known() {
        use Kind::{Asker, Newcomer};
        let rows = rows(&[(0, Newcomer, 1, 3), (0, Asker, 2, 2), (0, Asker, 3, 4), (1, Asker, 4, 0)]);
        assert_eq!(rows.new_by_age(0), [Asker, Newcomer]);
        assert_eq!(rows.pop(0, Asker, Moment::BEGIN).map(|guest| guest.number), Some(2));
        assert_eq!(rows.new_by_age(0), [Newcomer, Asker]);
        assert_eq!(rows.pop(0, Newcomer, Moment::BEGIN).map(|guest| guest.number), Some(1));
        assert_eq!(rows.new_by_age(0), [Asker, Newcomer], "nobody is no first");
        assert!(!rows.has(Newcomer) && rows.has_at(0, Asker) && !rows.has(Kind::Engaged));
    }

    /// Who is engaged stands where it was asked for, the others at their own post, each kind in its order.
    #[test]
    fn those_who_come_at_once_stand_in_their_rows() {
        let (rows, mut came) = (Rows::new(2), Came::default());
        for (number, kind) in (0..).zip([Kind::Newcomer, Kind::Engaged, Kind::Asker, Kind::Engaged, Kind::Newcomer]) {
            came.take_in(person(number, kind, Moment::BEGIN));
        }
        came.sort_out(Moment::BEGIN, Some);
        assert!(came.has_engaged());
        rows.add_all(&mut came, 0, 1, Moment::BEGIN);
        let next = |post, kind| rows.pop(post, kind, Moment::BEGIN).map(|guest| guest.number);
        assert_eq!([0, 0, 1, 1, 1].map(|post| next(post, Kind::Engaged)), [Some(1), Some(3), None, None, None]);
        assert_eq!([0, 1, 1, 1].map(|post| next(post, Kind::Newcomer)), [None, Some(0), Some(4), None]);
        assert_eq!([0, 1, 1].map(|post| next(post, Kind::Asker)), [None, Some(2), None]);
    }

    /// While one is served the next one's parts come near, once, unless they are.
    #[test]
    fn who_is_far_comes_near_in_time() {
        let (rows, mut came) = (Rows::new(1), Came::default());
        let now = Moment::BEGIN + Duration::from_secs(1);
        for (number, ago) in (0..).zip([2 * FAR_AFTER, 2 * FAR_AFTER, FAR_AFTER / 2, 2 * FAR_AFTER]) {
            came.take_in(person(number, Kind::Newcomer, Moment::BEGIN + (Duration::from_secs(1) - ago)));
        }
        came.sort_out(now, Some);
        rows.add_all(&mut came, 0, 0, now);
        let asked: Vec<_> =
            std::iter::from_fn(|| rows.pop(0, Kind::Newcomer, now)).map(|guest| (guest.number, guest.asked.get())).collect();
        assert_eq!(asked, [(0, 0), (1, 1), (2, 0), (3, 1)], "there was no time for the first");
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
