//! A connection's turns on threads that others use as well: parked between transactions, served by the crew (`pool/`).

use super::{Front, Guest, Next};
use crate::pool::{Member, Sits, Taken};
use session::connections::ThreadCounts;
use session::service::{Service, Session};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
        if self.crew.wants_more() && !self.strengthen_crew() && self.crew.is_empty() {
            // Somebody must.
            self.join_crew();
        }
        Ok(())
    }

    /// Starts a thread that joins the crew; false when the system gives none.
    fn strengthen_crew(self: &Arc<Self>) -> bool {
        let front = Arc::clone(self);
        self.threads.run(Box::new(move || front.join_crew())).is_ok()
    }

    /// Serves parked sessions, if one more thread for them is wanted, until there are too many.
    pub(super) fn join_crew(&self) {
        let Some(member) = self.crew.enlist() else { return };
        loop {
            let leaves = match self.crew.listen(|| self.seats.take()) {
                Taken::Of(guest) => {
                    self.serve_parked(&member, guest);
                    self.crew.dismisses(&member)
                }
                Taken::Silence => self.crew.retires(&member),
                Taken::Closed => true,
            };
            if leaves {
                return;
            }
        }
    }

    fn serve_parked(&self, member: &Member, guest: Box<Guest<S>>) {
        let connection = &guest.visitor.channel.connection;
        member.serve(connection);
        self.guarded(connection.id(), || {
            self.serve_turn(guest, false);
        });
        member.served();
    }

    /// Serves a connection until it is parked, or ends, of which it tells the former. `waits`: for its first command, if that is not there.
    pub(super) fn serve_turn(&self, mut guest: Box<Guest<S>>, mut waits: bool) -> bool {
        loop {
            if self.command_loop(&mut guest, waits) == Next::End {
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
        self.crew.monitor(self.seats.poller(), || self.strengthen_crew(), || self.open_connections());
    }

    /// Sends the crew home; no connection is left.
    pub fn dismiss_crew(&self) {
        self.crew.close();
        self.seats.poller().close();
    }

    /// Parked sessions whose clients have been silent for some calls of this give back memory that can be made again.
    pub fn tidy_parked(&self) {
        self.seats.tidy(|guest| {
            guest.visitor.channel.rest();
            guest.session.rest();
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
