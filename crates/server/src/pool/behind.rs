//! [`Behind`]: guests who would only lengthen the queue of a row that others wait for already.
//!
//! Where thousands update one row, a session would be touched twice while it is in no cache: when its statement comes and joins the row's queue, and when it has the row, thousands of others later.
//! So a guest whose last statement has waited for a row stands *behind* that row, its next statement unread, while enough others are *inside*: in the row's queue, or let in and yet to come to it. What they
//! lead to is near when the row is theirs; many of them find it free, and never stand in its queue.
//!
//! That the next statement wants the same row is a guess ([`Habit`]). Where it is wrong the statement waits as long as the last one did; then the guest is doubted, and stands behind a row only after more statements in
//! a row have waited for it. So who updates such a row and then reads others is wrongly kept once.
//!
//! # Invariants
//! 1. While a guest stands behind a row, enough others are inside. Who is done with the row, or wanted another, lets the next one in.
//! 2. Those behind a row are let in in the order in which they came; who comes while somebody stands behind the row, and has the habit, stands behind it, too. They keep the moment at which they came, by which newcomers are served (`rows.rs`).
//! 3. Where nobody is done with a row for a while all those behind it are let in ([`Behind::let_in_stalled`]), and nobody is counted as inside any more: some may want something else, and who has ended without a word is forgotten.

use super::platform::atomic::{AtomicU64, Ordering};
use super::platform::{CachePadded, Moment, Mutex, Rank, planted};
use std::collections::{HashMap, VecDeque};

/// So many are inside for each post before others stand behind the row: what they lead to has room in a cache of the second level (1 MiB, of which each takes some 5 KiB here and as much in the kernel), and the row finds
/// somebody in its queue whenever it is given back. With a quarter of them 128 connections were slower by 8 %, for they are near without this.
const INSIDE_FOR_EACH_POST: u32 = 64;
/// How sure a guess can become, and how much a guest can be doubted.
const SURE_MAX: u8 = 8;

/// A row that statements wait for. Another one may be called the same once nobody waits for this one.
pub(crate) type RowName = u64;

/// Where a guest's statement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    /// It has waited for no row.
    #[default]
    Outside,
    /// The guest was let in.
    LetIn,
    /// It waits for the row, or has waited.
    InQueue,
    /// It is done with the row, and may yet wait for the log.
    Done,
}

/// For which row the last statements of a guest have waited.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Habit {
    row: RowName,
    place: Place,
    /// How many statements have waited for it, less those since then that have not.
    times: u8,
    /// So many are not enough to guess that the next one will.
    doubt: u8,
}

impl Habit {
    /// The row for which the next statement waits, most likely.
    #[inline]
    pub(crate) fn guess(&self) -> Option<RowName> {
        (self.times > self.doubt).then_some(self.row)
    }

    /// The row that it is counted as inside for.
    fn inside(&self) -> Option<RowName> {
        matches!(self.place, Place::LetIn | Place::InQueue).then_some(self.row)
    }

    fn waits(&mut self, row: RowName) {
        let (same, before) = (self.row == row, std::mem::replace(&mut self.place, Place::InQueue));
        match before {
            // Once more: it has looked at the row again.
            Place::InQueue if same => {}
            _ if !same => (self.row, self.times) = (row, 1),
            _ => {
                self.times = (self.times + 1).min(SURE_MAX);
                if before == Place::LetIn {
                    self.doubt = 0;
                }
            }
        }
    }

    /// The reply has gone.
    #[inline]
    pub(crate) fn ends(&mut self) {
        self.place = Place::Outside;
    }
}

/// Who has a habit.
pub(crate) trait HasHabit {
    /// It.
    fn habit(&mut self) -> &mut Habit;
}

/// A guest, and when it came.
pub(crate) type Since<G> = (Box<G>, Moment);

struct Row<G> {
    /// Those in its queue, and those who were let in.
    inside: u32,
    /// The former alone.
    queued: u32,
    /// Somebody was done with it since the last look at those that stall.
    moves: bool,
    behind: VecDeque<Since<G>>,
}

impl<G> Default for Row<G> {
    fn default() -> Self {
        Self { inside: 0, queued: 0, moves: true, behind: VecDeque::new() }
    }
}

type Part<G> = Mutex<HashMap<RowName, Row<G>>>;

/// See the module. Latches are leaves; nobody is let in under one.
pub(crate) struct Behind<G> {
    parts: Box<[CachePadded<Part<G>>]>,
    inside_max: u32,
    /// How often a guest has stood behind a row. (Relaxed: a figure.)
    stood: AtomicU64,
}

impl<G: HasHabit> Behind<G> {
    /// Nobody, where there are so many posts.
    pub(crate) fn new(posts: usize) -> Self {
        Self::with(posts, INSIDE_FOR_EACH_POST * posts as u32)
    }

    /// Nobody, in so many parts; so many are to be inside before others stand behind.
    pub(crate) fn with(parts: usize, inside_max: u32) -> Self {
        Self {
            parts: (0..parts).map(|_| CachePadded::new(Mutex::new(Rank::Leaf, HashMap::new()))).collect(),
            inside_max,
            stood: AtomicU64::new(0),
        }
    }

    fn part(&self, row: RowName) -> &Part<G> {
        &self.parts[((row ^ row >> 32) % self.parts.len() as u64) as usize]
    }

    /// A guest who came at this moment stands behind the row for which its statement waits most likely, if enough others are inside. Given back otherwise.
    #[inline]
    pub(crate) fn stand(&self, mut guest: Box<G>, came: impl FnOnce() -> Moment) -> Option<Box<G>> {
        match guest.habit().guess() {
            Some(row) => self.stand_behind(row, guest, came()),
            None => Some(guest),
        }
    }

    fn stand_behind(&self, row: RowName, guest: Box<G>, came: Moment) -> Option<Box<G>> {
        let is_full = |row: Option<&Row<G>>| row.is_some_and(|row| row.inside >= self.inside_max);
        let before = planted("stands_by_an_old_look") && is_full(self.part(row).lock().get(&row));
        let mut part = self.part(row).lock();
        if !before && !is_full(part.get(&row)) {
            return Some(guest);
        }
        part.entry(row).or_default().behind.push_back((guest, came));
        self.stood.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// A guest's statement waits for this row. Gives who is let in, if this guest was inside for another row.
    pub(crate) fn waits(&self, row: RowName, guest: &mut G) -> Option<Since<G>> {
        let before = (guest.habit().inside(), guest.habit().place);
        guest.habit().waits(row);
        if before == (Some(row), Place::InQueue) {
            return None;
        }
        {
            let mut part = self.part(row).lock();
            let entry = part.entry(row).or_default();
            entry.inside += u32::from(before.0 != Some(row));
            entry.queued += 1;
        }
        let other = before.0.filter(|other| *other != row)?;
        self.goes_out(other, before.1).1
    }

    /// A guest's statement wants no row any more; it may yet wait for the log. Gives who is let in.
    #[inline]
    pub(crate) fn is_done(&self, guest: &mut G) -> Option<Since<G>> {
        let habit = guest.habit();
        let place = std::mem::replace(&mut habit.place, Place::Done);
        match place {
            Place::Done => None,
            Place::Outside => {
                habit.times = habit.times.saturating_sub(1);
                None
            }
            Place::LetIn | Place::InQueue => {
                let (others_wait, next) = self.goes_out(habit.row, place);
                if place == Place::LetIn {
                    habit.times = habit.times.saturating_sub(1);
                    // Had it wanted the row it would have had to wait behind those. (Where nobody waits it may have found the row free.)
                    if others_wait {
                        habit.doubt = (habit.doubt + 1).min(SURE_MAX);
                    }
                }
                next
            }
        }
    }

    /// One who was inside in this place is so no more. Whether anybody is in the row's queue, and who comes in.
    fn goes_out(&self, row: RowName, place: Place) -> (bool, Option<Since<G>>) {
        let mut part = self.part(row).lock();
        // Forgotten as one that stalls.
        let Some(entry) = part.get_mut(&row) else { return (false, None) };
        entry.inside = entry.inside.saturating_sub(1);
        entry.queued = entry.queued.saturating_sub(u32::from(place == Place::InQueue));
        entry.moves = true;
        let others_wait = entry.queued > 0;
        let mut next = if entry.inside < self.inside_max { entry.behind.pop_front() } else { None };
        if let Some((guest, _)) = &mut next {
            entry.inside += 1;
            guest.habit().place = Place::LetIn;
        } else if entry.inside == 0 {
            part.remove(&row);
        }
        (others_wait, next)
    }

    /// Lets those in who stand behind rows that nobody was done with since this was called last.
    pub(crate) fn let_in_stalled(&self, mut let_in: impl FnMut(Since<G>)) {
        for part in &self.parts {
            let mut stalled = VecDeque::new();
            part.lock().retain(|_, row| {
                let moves = std::mem::take(&mut row.moves);
                if !moves {
                    stalled.append(&mut row.behind);
                }
                moves
            });
            stalled.into_iter().for_each(&mut let_in);
        }
    }

    /// How many stand behind rows.
    pub(crate) fn count(&self) -> usize {
        self.parts.iter().map(|part| part.lock().values().map(|row| row.behind.len()).sum::<usize>()).sum()
    }

    /// How often a guest has stood behind a row.
    pub(crate) fn stood(&self) -> u64 {
        self.stood.load(Ordering::Relaxed)
    }

    /// Everybody, for the end.
    pub(crate) fn clear(&self) {
        for part in &self.parts {
            let rows = std::mem::take(&mut *part.lock());
            drop(rows);
        }
    }
}
