//! [`Seats`]: where parked guests lie until their clients speak.
//!
//! A guest's socket is watched in one of two ways. *Once*: it is armed each time that the guest is parked, and reported once. *Always*: it is armed when the guest is first parked so, and each arrival is reported, whoever has
//! the guest then: no call of the kernel for each turn. Who parks such a guest must have received all that was there.
//!
//! # Why no guest is lost, and none is in two hands
//! A guest is laid on its seat under the seat's latch, and then its socket is armed, if need be, still under the latch. Arming looks at the socket: what came before is reported as well.
//! Who gets a report takes the guest from the seat under the latch; nobody else takes guests but who could not arm. If nobody lies there the report stays on the seat, and who would park
//! the guest next gets it back at once, so that it is served again: what arrived after it had received all is not overlooked. That a client has gone is told together with what it said before,
//! so that report stays on the seat although the guest was taken. A report that finds the next one on the seat, or none, costs a look in vain.
//! [`Seats::tidy`] visits guests where they lie, under the latch.

use super::platform::atomic::{AtomicU32, Ordering};
use super::platform::{Mutex, OnceLock, Rank, planted};

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

struct Place<G> {
    guest: Option<Box<G>>,
    /// There was a report that the guest has not been served for.
    spoke: bool,
    /// The round of tidying in which it was laid down.
    since: u32,
    /// It was told to rest since.
    rests: bool,
}

type Seat<G> = Mutex<Place<G>>;

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
        let empty = || Mutex::new(Rank::Seat, Place { guest: None, spoke: false, since: 0, rests: false });
        let chunk = self.chunks[seat as usize / CHUNK].get_or_init(|| (0..CHUNK).map(|_| empty()).collect());
        &chunk[seat as usize % CHUNK]
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
        let arms = watch == Watch::Once || before.is_none_or(|before| before.watch == Watch::Once);
        if planted("arm_before_sitting") {
            self.poller.arm(&guest, seat, before.is_some(), watch);
            self.at(seat).lock().guest = Some(guest);
            return Ok(());
        }
        let mut place = self.at(seat).lock();
        let spoke = std::mem::take(&mut place.spoke);
        if !spoke {
            (place.since, place.rests) = (self.round.load(Ordering::Relaxed), false);
            let lying = place.guest.insert(guest);
            if !arms || self.poller.arm(lying, seat, before.is_some(), watch) || planted("lost_refusal") {
                return Ok(());
            }
            // Still under the latch that it was laid down under.
            let Some(lying) = place.guest.take() else { return Ok(()) };
            guest = lying;
        }
        drop(place);
        *guest.ticket() = before;
        if before.is_none() {
            self.give_back(ticket);
        }
        Err(if spoke { Kept::Spoken(guest) } else { Kept::Unwatched(guest) })
    }

    /// The guest on a seat that was reported: its client has spoken, or has gone, for which `gone` stands. `None`: it is being served, or has ended.
    pub(crate) fn take(&self, seat: u32, gone: bool) -> Option<Box<G>> {
        let mut place = self.at(seat).lock();
        let guest = place.guest.take();
        let served_for_it = planted("forgotten_report") || guest.is_some() && (!gone || planted("forgotten_end"));
        place.spoke |= !served_for_it;
        guest
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

    /// How many guests lie here, and how many of them rest; those that are just being moved are not counted.
    pub(crate) fn count(&self) -> (u32, u32) {
        let used = self.unused.lock().next;
        (0..used).fold((0, 0), |(lying, resting), seat| match self.at(seat).try_lock() {
            Some(place) if place.guest.is_some() => (lying + 1, resting + u32::from(place.rests)),
            _ => (lying, resting),
        })
    }

    /// Another round of tidying: those who have lain still for some rounds are told to rest, once. One thread calls this, now and then. (Whose client has spoken stands
    /// in a row soon, not here: under load it would only make again what it gave back.)
    pub(crate) fn tidy(&self, rest: impl Fn(&mut G)) {
        let round = self.round.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let used = self.unused.lock().next;
        for seat in 0..used {
            // Who holds the latch lays a guest down or takes it: not a silent one.
            let Some(mut place) = self.at(seat).try_lock() else { continue };
            if place.rests || round.wrapping_sub(place.since) < ROUNDS_BEFORE_REST {
                continue;
            }
            if let Some(guest) = &mut place.guest {
                rest(guest);
                place.rests = true;
            }
        }
    }
}
