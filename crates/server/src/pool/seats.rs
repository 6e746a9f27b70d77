//! [`Seats`]: where parked guests lie until their clients speak.
//!
//! # Why no guest is lost, and none is in two hands
//! A guest is laid on its seat under the seat's latch, and then its socket is armed for one report, still under the latch. Arming looks at the socket: what came before is reported as well.
//! Each arming makes one report at most, which goes to one thread, and that thread takes the guest from the seat under the latch. Nobody else takes guests but who could not arm.
//! [`Seats::tidy`] visits guests where they lie, under the latch.

use super::platform::atomic::{AtomicU32, Ordering};
use super::platform::{Mutex, OnceLock, Rank, planted};

/// Seats are made by so many.
const CHUNK: usize = 1024;
/// Most chunks: more seats than there can be connections.
const CHUNKS: usize = 128;
/// A guest that has lain still in so many rounds of tidying is told to rest.
const ROUNDS_BEFORE_REST: u32 = 3;

/// Tells whose client has spoken.
pub(crate) trait Poller<G> {
    /// From now on the guest's client is watched: once it has spoken, or has already, `seat` is reported once, and it is watched no more. `known`: it was
    /// armed before. False when that is not to be had.
    fn arm(&self, guest: &G, seat: u32, known: bool) -> bool;
}

/// Who can lie on a seat.
pub(crate) trait Sits {
    /// Its seat, kept from the first parking to the end.
    fn seat(&mut self) -> &mut Option<u32>;
}

struct Place<G> {
    guest: Option<Box<G>>,
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
        let empty = || Mutex::new(Rank::Seat, Place { guest: None, since: 0, rests: false });
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

    /// Parks a guest, who may be in other hands when this returns. Gives it back when it cannot be watched.
    pub(crate) fn park(&self, mut guest: Box<G>) -> Result<(), Box<G>> {
        let known = guest.seat().is_some();
        let seat = match *guest.seat() {
            Some(seat) => seat,
            None => match self.unused_seat() {
                Some(seat) => *guest.seat().insert(seat),
                None => return Err(guest),
            },
        };
        if planted("arm_before_sitting") {
            self.poller.arm(&guest, seat, known);
            self.at(seat).lock().guest = Some(guest);
            return Ok(());
        }
        let mut place = self.at(seat).lock();
        (place.since, place.rests) = (self.round.load(Ordering::Relaxed), false);
        let lying = place.guest.insert(guest);
        if self.poller.arm(lying, seat, known) || planted("lost_refusal") {
            return Ok(());
        }
        let guest = place.guest.take();
        drop(place);
        match guest {
            Some(mut guest) => {
                if !known {
                    *guest.seat() = None;
                    self.give_back(seat);
                }
                Err(guest)
            }
            // Not so under the latch that it was laid down under.
            None => Ok(()),
        }
    }

    /// The guest on a seat that was reported: its client has spoken, or has gone.
    pub(crate) fn take(&self, seat: u32) -> Option<Box<G>> {
        let guest = self.at(seat).lock().guest.take();
        debug_assert!(guest.is_some(), "a report for an empty seat");
        guest
    }

    /// The seat of a guest that has ended, which no report is to be expected for: it was in a thread's hands.
    pub(crate) fn give_back(&self, seat: u32) {
        self.unused.lock().free.push(seat);
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
