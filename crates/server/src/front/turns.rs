//! A connection's turns on threads that others use as well: parked between transactions, or when its client is silent, and served by the crew (`pool/`).
//!
//! With few connections a session has a thread of its own, which waits for its client's next command, but only for some seconds (`altiplano_rest_after`). Then the session gives
//! back its memory and is parked, and the thread goes. When the client speaks again, the member of the crew that takes the session leaves the crew with it, and another takes the
//! member's place.

use super::{Front, Guest, Next};
use crate::channel::{Buffers, Channel};
use crate::pool::{Member, Sits, Taken};
use crate::threads::{self, After};
use session::connections::ThreadCounts;
use session::service::{Service, Session};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Members of the crew while each session has a thread of its own as soon as it speaks.
const LISTENERS: u32 = 2;

/// What a thread lends to those whom it serves in turns.
pub(super) struct Lent<S: Service> {
    tools: <S::Session as Session>::Tools,
    buffers: Buffers,
}

impl<S: Service> Default for Lent<S> {
    fn default() -> Self {
        Self { tools: Default::default(), buffers: Buffers::default() }
    }
}

impl<S: Service> Guest<S> {
    /// Takes up what the thread lends, or lays it down.
    fn exchange(&mut self, lent: &mut Lent<S>) {
        self.session.exchange_tools(&mut lent.tools);
        self.visitor.channel.exchange_buffers(&mut lent.buffers);
    }
}

impl<S: Service> Front<S> {
    /// The threads that serve connections, and the sessions that need none now.
    pub fn thread_counts(&self) -> ThreadCounts {
        let (parked, resting) = self.seats.count();
        ThreadCounts { created: self.threads.created(), cached: self.threads.cached(), shared: self.crew.count(), parked, resting }
    }

    /// The end of a login that needs no thread any more. Gives back a guest that cannot be watched.
    pub(super) fn welcome_and_park(self: &Arc<Self>, mut guest: Box<Guest<S>>) -> Result<(), Box<Guest<S>>> {
        if !Self::welcome(&mut guest) {
            Self::end(*guest);
            return Ok(());
        }
        if guest.visitor.channel.has_input() {
            // A client that did not wait for the OK.
            return Err(guest);
        }
        self.seats.park(guest)?;
        if self.crew.wants_more(self.crew_least()) && !self.strengthen_crew() && self.crew.is_empty() {
            // Somebody must.
            self.serve_others();
        }
        Ok(())
    }

    /// Starts a thread that joins the crew; false when the system gives none.
    fn strengthen_crew(self: &Arc<Self>) -> bool {
        let front = Arc::clone(self);
        self.threads.run(Box::new(move || front.serve_others())).is_ok()
    }

    /// How many members the crew has at least: few, who only wait for those that wake up, unless there are so many connections that they share threads.
    fn crew_least(&self) -> u32 {
        if self.is_crowded() { self.crew.base() } else { LISTENERS }
    }

    /// The life of a thread that has no connection of its own: with the crew while that wants one more, and with the sessions that it takes from there.
    pub(super) fn serve_others(self: &Arc<Self>) -> After {
        while let Some(member) = self.crew.enlist(self.crew_least()) {
            if !self.is_crowded() {
                // What it had for one that has fallen silent is of no use to the next.
                threads::give_back_free();
            }
            let Some(guest) = self.serve_in_crew(&member) else { break };
            // Its client has spoken, and there are few connections: from now on this is the session's own thread.
            let id = guest.visitor.guard.id;
            let mut parked = false;
            self.guarded(id, || parked = self.serve_turn(guest, false, None));
            if !parked {
                return After::Ready;
            }
        }
        After::Spare
    }

    /// Serves parked sessions, until there are too many members, or one is to have this thread for its own.
    fn serve_in_crew(self: &Arc<Self>, member: &Arc<Member>) -> Option<Box<Guest<S>>> {
        let mut lent = Lent::default();
        loop {
            let leaves = match self.crew.listen(|| self.seats.take()) {
                Taken::Of(guest) => {
                    if self.leaves_with(member, &guest) {
                        return Some(guest);
                    }
                    self.serve_parked(member, guest, &mut lent);
                    self.crew.dismisses(member, self.crew_least())
                }
                Taken::Silence => {
                    lent = Lent::default();
                    self.crew.retires(member, self.crew_least())
                }
                Taken::Closed => true,
            };
            if leaves {
                return None;
            }
        }
    }

    /// Whether a member that has taken a guest is its own thread from now on, and a member no more. Only when another takes its place.
    fn leaves_with(self: &Arc<Self>, member: &Arc<Member>, guest: &Guest<S>) -> bool {
        if self.is_crowded() || guest.visitor.channel.connection.stop_requested().ends_connection() {
            return false;
        }
        self.crew.leave(member);
        if !self.crew.wants_more(LISTENERS) || self.strengthen_crew() || !self.crew.is_empty() {
            return true;
        }
        // No thread is to be had, and nobody else would listen.
        !self.crew.enlist_again(member)
    }

    fn serve_parked(&self, member: &Member, guest: Box<Guest<S>>, lent: &mut Lent<S>) {
        let connection = &guest.visitor.channel.connection;
        member.serve(connection);
        self.guarded(connection.id(), || {
            self.serve_turn(guest, false, Some(lent));
        });
        member.served();
    }

    /// A client has been silent for a while: its session gives back what can be made again. True when it can be parked; otherwise others may wait for what it holds, and
    /// the client has spoken again, or has gone, when this returns.
    #[cold]
    pub(super) fn rest(channel: &mut Channel, session: &mut S::Session) -> bool {
        channel.rest();
        session.rest();
        if session.holds_nothing() {
            return true;
        }
        threads::give_back_free();
        channel.wait();
        false
    }

    /// Serves a connection until it is parked, or ends, of which it tells the former. `waits`: for its first command, if that is not there. `lent`: what a
    /// member of the crew lends; the session is parked as soon as it can be, however few connections there are.
    pub(super) fn serve_turn(&self, mut guest: Box<Guest<S>>, mut waits: bool, mut lent: Option<&mut Lent<S>>) -> bool {
        let shared = lent.is_some();
        loop {
            if let Some(lent) = &mut lent {
                guest.exchange(lent);
            }
            let next = self.command_loop(&mut guest, waits, shared);
            if let Some(lent) = &mut lent {
                guest.exchange(lent);
            }
            if next == Next::End {
                Self::end(*guest);
                return false;
            }
            match self.seats.park(guest) {
                Ok(()) => return true,
                // Not to be watched, for want of memory or such: it keeps this thread for its next command.
                Err(kept) => (guest, waits) = (kept, true),
            }
        }
    }

    /// Whether there are so many connections that they share threads.
    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        self.open.load(Ordering::Relaxed) >= self.shared_from
    }

    /// The life of the thread that sees to it that parked sessions find threads.
    pub fn watch_crew(self: &Arc<Self>) {
        self.crew.monitor(
            self.seats.poller(),
            || self.strengthen_crew(),
            || self.open_connections(),
            || self.crew_least(),
            || self.service.load(),
        );
    }

    /// Sends the crew home; no connection is left.
    pub fn dismiss_crew(&self) {
        self.crew.close();
        self.seats.poller().close();
    }

    /// Parked sessions whose clients have been silent for some calls of this give back memory that can be made again, and keep the rest on this thread's heap, if they had
    /// threads of their own: of those that share threads it lies together already. `interval`: between calls.
    pub fn tidy_parked(&self, interval: Duration) {
        let had_their_own = !self.is_crowded();
        // Under load, who has been lying for as long as the row is may have spoken long ago, and waits for a thread.
        let row_rounds = Duration::from_millis(self.crew.row_ms().into()).as_micros().div_ceil(interval.as_micros().max(1));
        self.seats.tidy(u32::try_from(row_rounds).unwrap_or(u32::MAX), |guest| {
            guest.visitor.channel.rest();
            guest.session.rest();
            if had_their_own {
                guest.session.pack();
            }
        });
    }
}

impl<S: Service> Sits for Guest<S> {
    fn seat(&mut self) -> &mut Option<u32> {
        &mut self.visitor.guard.seat
    }
}

impl<S: Service> AsFd for Guest<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.visitor.channel.socket.as_fd()
    }
}
