//! [`Seats`]: where parked guests lie until their clients speak.
//!
//! A guest's socket is watched in one of two ways. *Once*: it is armed each time that the guest is parked, and reported once. *Always*: it is armed when the guest is first parked so, and each arrival is reported, whoever has
//! the guest then: no call of the kernel for each turn. Who parks such a guest must have received all that was there.
//!
//! # Why no guest is lost, and none is in two hands
//! A seat is one word, which is exchanged whole: who takes a guest out of it has it, and nobody else. Who gets a report takes the guest; if nobody lies there it leaves the report on the seat
//! and looks again. Who parks a guest looks for such a report, has the socket armed, if need be (which looks at the socket: what came before is reported as well), lays the guest down, and looks again
//! for a report; if there is one it takes the guest back, if that is still there. Of the exchange that lays the guest down and the second look of the report one comes first: if the look does, the
//! exchange reads what it has written, and so its report is seen; if the exchange does, the look finds the guest. (Acquire and release are enough for that.)
//! A guest that was taken back, or was not laid down for a report, is served until there is nothing: what arrived after it had received all is not overlooked. That a client has gone is told together with
//! what it said before, so that report stays on the seat although the guest was taken. A report that finds the next one on the seat, or none, costs a look in vain.
//! [`Seats::tidy`] takes guests out to visit them, and lays them down like who parks them.

use super::platform::atomic::{AtomicBool, AtomicU32, Ordering};
use super::platform::{AtomicCell, Mutex, OnceLock, Rank, planted};

/// Seats are made by so many.
const CHUNK: usize = 1024;
/// Most chunks: more seats than there can be connections.
const CHUNKS: usize = 128;
/// A guest that has lain still in so many rounds of tidying is told to rest.
const ROUNDS_BEFORE_REST: u32 = 3;

/// How a guest's socket is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watch {
    /// One report, then no more.
    Once,
    /// A report for each arrival.
    Always,
}

/// Tells whose client has spoken.
pub(crate) trait Poller<G> {
    /// From now on the guest's client is watched: when it speaks, or has already, `seat` is reported. `known`: it was armed before. False when that is not to be had.
    fn arm(&self, guest: &G, seat: u32, known: bool, watch: Watch) -> bool;

    /// It is watched no more; a report may be under way.
    fn disarm(&self, guest: &G);
}

/// A guest's seat, kept from one parking to the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticket {
    seat: u32,
    /// How its socket was armed last.
    watch: Watch,
}

/// Who can lie on a seat.
pub(crate) trait Sits {
    /// Its seat, if it has one.
    fn ticket(&mut self) -> &mut Option<Ticket>;
}

/// A guest that was not parked.
pub(crate) enum Kept<G> {
    /// It cannot be watched.
    Unwatched(Box<G>),
    /// Its client may have spoken meanwhile, or has gone, which is told once: it is to be received until there is nothing.
    Spoken(Box<G>),
}

struct Seat<G> {
    guest: AtomicCell<Option<Box<G>>>,
    /// There was a report that the guest has not been served for. (Released before the guest's word is exchanged, acquired behind that.)
    spoke: AtomicBool,
    /// Whether somebody lies here. Relaxed, as are those below: for who counts and who tidies, which may be a moment late.
    is_taken: AtomicBool,
    /// The round of tidying in which the guest was laid down.
    since: AtomicU32,
    /// It was told to rest since.
    rests: AtomicBool,
}

impl<G> Seat<G> {
    fn new() -> Self {
        Self {
            guest: AtomicCell::new(None),
            spoke: AtomicBool::new(false),
            is_taken: AtomicBool::new(false),
            since: AtomicU32::new(0),
            rests: AtomicBool::new(false),
        }
    }

    /// Takes the guest out, if one lies here.
    fn lift(&self) -> Option<Box<G>> {
        let guest = self.guest.take()?;
        self.is_taken.store(false, Ordering::Relaxed);
        Some(guest)
    }

    /// Lays a guest down, who may be in other hands when this returns. Given back if there was a report meanwhile.
    fn lay(&self, guest: Box<G>) -> Result<(), Box<G>> {
        self.is_taken.store(true, Ordering::Relaxed);
        self.guest.swap(Some(guest));
        if !self.spoke.load(Ordering::Acquire) || planted("sits_without_a_look") {
            return Ok(());
        }
        // Who left the report may have found it by its second look.
        let Some(guest) = self.lift() else { return Ok(()) };
        self.spoke.store(false, Ordering::Relaxed);
        Err(guest)
    }

    /// Whether there was a report; forgotten by that.
    fn has_spoken(&self) -> bool {
        let spoke = self.spoke.load(Ordering::Acquire);
        if spoke {
            self.spoke.store(false, Ordering::Relaxed);
        }
        spoke
    }
}

#[derive(Default)]
struct Unused {
    /// Given back.
    free: Vec<u32>,
    /// Never used: this one and those above.
    next: u32,
}

/// Seats, and what watches over them.
pub(crate) struct Seats<G, P> {
    poller: P,
    chunks: Box<[OnceLock<Box<[Seat<G>]>>]>,
    unused: Mutex<Unused>,
    /// Rounds of tidying. Relaxed: an old value makes a guest rest a round earlier.
    round: AtomicU32,
}

impl<G: Sits, P: Poller<G>> Seats<G, P> {
    /// No guest.
    pub(crate) fn new(poller: P) -> Self {
        let chunks = (0..CHUNKS).map(|_| OnceLock::new()).collect();
        Self { poller, chunks, unused: Mutex::new(Rank::Leaf, Unused::default()), round: AtomicU32::new(0) }
    }

    /// What watches.
    pub(crate) fn poller(&self) -> &P {
        &self.poller
    }

    fn at(&self, seat: u32) -> &Seat<G> {
        let chunk = self.chunks[seat as usize / CHUNK].get_or_init(|| (0..CHUNK).map(|_| Seat::new()).collect());
        &chunk[seat as usize % CHUNK]
    }

    /// Asks the processor's caches for the seat of a guest that is about to be served: hundreds were taken from theirs since it was taken from it.
    #[inline]
    pub(crate) fn bring_near(&self, ticket: Ticket) {
        if let Some(chunk) = self.chunks[ticket.seat as usize / CHUNK].get() {
            base::bring_near(chunk, ticket.seat as usize % CHUNK);
        }
    }

    fn unused_seat(&self) -> Option<u32> {
        let mut unused = self.unused.lock();
        if let Some(seat) = unused.free.pop() {
            return Some(seat);
        }
        let seat = unused.next;
        if seat as usize >= CHUNK * CHUNKS {
            return None;
        }
        if !planted("seat_of_another") {
            unused.next += 1;
        }
        Some(seat)
    }

    /// Parks a guest, who may be in other hands when this returns. Gives it back when it is to be served first, or cannot be watched. To be watched always it must have received all that was there.
    pub(crate) fn park(&self, mut guest: Box<G>, watch: Watch) -> Result<(), Kept<G>> {
        let before = *guest.ticket();
        let Some(seat) = before.map(|ticket| ticket.seat).or_else(|| self.unused_seat()) else {
            return Err(Kept::Unwatched(guest));
        };
        let ticket = *guest.ticket().insert(Ticket { seat, watch });
        let place = self.at(seat);
        let spoke = place.has_spoken();
        let arms = watch == Watch::Once || before.is_none_or(|before| before.watch == Watch::Once);
        if spoke || arms && !self.poller.arm(&guest, seat, before.is_some(), watch) && !planted("lost_refusal") {
            *guest.ticket() = before;
            if before.is_none() {
                self.give_back(ticket);
            }
            return Err(if spoke { Kept::Spoken(guest) } else { Kept::Unwatched(guest) });
        }
        place.since.store(self.round.load(Ordering::Relaxed), Ordering::Relaxed);
        place.rests.store(false, Ordering::Relaxed);
        place.lay(guest).map_err(Kept::Spoken)
    }

    /// The guest on a seat that was reported: its client has spoken, or has gone, for which `gone` stands. `None`: it is being served, or has ended.
    pub(crate) fn take(&self, seat: u32, gone: bool) -> Option<Box<G>> {
        let place = self.at(seat);
        let guest = place.lift();
        if guest.is_some() {
            if gone && !planted("forgotten_end") {
                place.spoke.store(true, Ordering::Release);
            }
            return guest;
        }
        if !planted("forgotten_report") {
            place.spoke.store(true, Ordering::Release);
        }
        if planted("report_without_a_second_look") { None } else { place.lift() }
    }

    /// Seats that guests have.
    pub(crate) fn given(&self) -> u32 {
        let unused = self.unused.lock();
        unused.next - unused.free.len() as u32
    }

    /// A guest gives up its seat: another post is to watch it, or a thread of its own serves it from now on. A report may be under way.
    pub(crate) fn leave(&self, guest: &mut G) {
        if let Some(ticket) = guest.ticket().take() {
            self.poller.disarm(guest);
            self.give_back(ticket);
        }
    }

    /// The seat of a guest that has ended in a thread's hands, or sits elsewhere.
    pub(crate) fn give_back(&self, ticket: Ticket) {
        self.unused.lock().free.push(ticket.seat);
    }

    /// How many guests lie here, and how many of them rest.
    pub(crate) fn count(&self) -> (u32, u32) {
        let used = self.unused.lock().next;
        (0..used)
            .map(|seat| self.at(seat))
            .filter(|place| place.is_taken.load(Ordering::Relaxed))
            .fold((0, 0), |(lying, resting), place| (lying + 1, resting + u32::from(place.rests.load(Ordering::Relaxed))))
    }

    /// Another round of tidying: those who have lain still for some rounds are told to rest, once. One thread calls this, now and then. (Whose client has spoken stands
    /// in a row soon, not here: under load it would only make again what it gave back.) Whose client speaks meanwhile goes to `spoken`, to be served until there is nothing.
    pub(crate) fn tidy(&self, rest: impl Fn(&mut G), mut spoken: impl FnMut(Box<G>)) {
        let round = self.round.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let used = self.unused.lock().next;
        for place in (0..used).map(|seat| self.at(seat)) {
            let is_still =
                || !place.rests.load(Ordering::Relaxed) && round.wrapping_sub(place.since.load(Ordering::Relaxed)) >= ROUNDS_BEFORE_REST;
            if !place.is_taken.load(Ordering::Relaxed) || !is_still() {
                continue;
            }
            let Some(mut guest) = place.lift() else { continue };
            // It may have been laid down since.
            if is_still() {
                rest(&mut guest);
                place.rests.store(true, Ordering::Relaxed);
            }
            if let Err(guest) = place.lay(guest) {
                spoken(guest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    /// With a latch within, a seat would cost four locked instructions a statement where two are enough.
    #[test]
    fn a_seat_is_exchanged_without_a_latch() {
        assert!(sync::AtomicCell::<Option<Box<u64>>>::is_lock_free());
    }
}
