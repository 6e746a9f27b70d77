//! A connection's turns on threads that others use as well: parked while its client says nothing, and served by whoever holds the post that watches it (`pool/`).
//!
//! With few connections a session has a thread of its own, which waits for its client's next command, but only for some seconds (`altiplano_rest_after`). Then the session gives
//! back its memory and is parked, and the thread goes. When the client speaks again, the holder of the post hands that on, and is the session's own thread from then on.

use super::{Front, Guest, Next};
use crate::channel::{Buffers, Channel};
use crate::pool::{Epoll, Member, Posts, Seats, Sits, Thread, Worker};
use crate::threads::{self, After};
use session::connections::ThreadCounts;
use session::service::{Service, Session};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use sync::blocking::{self, GivesWay};

/// Newcomers are let in while fewer wait for slots of admission: enough that admission sees that its slots are wanted, and that one which becomes free finds its next at once.
const SLOTS_AWAITED: u32 = 4;
/// How often who has nothing to do looks whether newcomers may be let in.
const NEWCOMERS_AGAIN: Duration = Duration::from_millis(1);
/// So many other posts are looked at for guests whose clients have spoken, by who has nothing to do.
const OTHERS_ASKED: usize = 4;
/// What is lent is kept for so many at each post.
const LENT_KEPT: usize = 64;

/// What is lent to those who are served in turns.
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
    fn exchange(&mut self, lent: &mut Lent<S>) {
        self.session.exchange_tools(&mut lent.tools);
        self.visitor.channel.exchange_buffers(&mut lent.buffers);
    }
}

/// A member of the crew is about to block.
struct HandsOn {
    posts: Arc<Posts<Thread>>,
    member: Arc<Member<Thread>>,
}

impl GivesWay for HandsOn {
    fn give_way(&self) {
        self.posts.hand_on(&self.member);
    }
}

impl<S: Service> Front<S> {
    /// The threads that serve connections, and the sessions that need none now.
    pub fn thread_counts(&self) -> ThreadCounts {
        let (parked, resting) = self.seats.iter().map(Seats::count).fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
        ThreadCounts { created: self.threads.created(), cached: self.threads.cached(), shared: self.posts.count(), parked, resting }
    }

    /// The post that watches this connection while it is parked.
    fn post_of(&self, id: u32) -> usize {
        id as usize % self.seats.len()
    }

    /// Where this connection is parked.
    pub(super) fn seats_of(&self, id: u32) -> &Seats<Guest<S>, Epoll> {
        &self.seats[self.post_of(id)]
    }

    /// The end of a login that needs no thread any more. Gives back a guest that cannot be watched.
    pub(super) fn welcome_and_park(&self, mut guest: Box<Guest<S>>) -> Result<(), Box<Guest<S>>> {
        if !Self::welcome(&mut guest) {
            Self::end(*guest);
            return Ok(());
        }
        if guest.visitor.channel.has_input() {
            // A client that did not wait for the OK.
            return Err(guest);
        }
        self.seats_of(guest.visitor.guard.id).park(guest)
    }

    /// Mans the posts, and sees to it that who holds one gets on: the life of the crew's monitor.
    pub fn watch_crew(self: &Arc<Self>) {
        let front = Arc::downgrade(self);
        self.posts.open(move |post| {
            let Some(front) = front.upgrade() else { return false };
            let threads = Arc::clone(&front.threads);
            threads.run(Box::new(move || front.serve_at(post))).is_ok()
        });
        self.posts.monitor();
    }

    /// The life of a member of the crew at this post.
    fn serve_at(self: &Arc<Self>, post: usize) -> After {
        let member = self.posts.enlist(post, self.processors.this_thread(post));
        blocking::tell(Some(Arc::new(HandsOn { posts: Arc::clone(&self.posts), member: Arc::clone(&member) })));
        let mut alone = None;
        while alone.is_none() && self.posts.obtain(&member, self.is_crowded(), threads::give_back_free) {
            member.worker().pin();
            alone = self.serve_while_holding(&member);
        }
        blocking::tell(None);
        self.posts.leave(&member);
        member.worker().let_loose();
        let Some(guest) = alone else { return After::Spare };
        // Its client has spoken, and there are few connections: from now on this is the session's own thread.
        let id = guest.visitor.guard.id;
        let mut parked = false;
        self.guarded(id, || parked = self.serve_alone(guest, false));
        if parked { After::Spare } else { After::Ready }
    }

    /// Serves guests as long as the member holds its post, or until one is to have this thread for its own.
    fn serve_while_holding(&self, member: &Member<Thread>) -> Option<Box<Guest<S>>> {
        while self.posts.holds(member) {
            let Some(mut guest) = self.next_guest(member.post()) else {
                // All is over, for everybody here.
                self.posts.hand_on(member);
                return None;
            };
            // Refused only when no thread is to be had: then nobody else would serve the others.
            if !self.is_crowded() && !guest.visitor.channel.connection.stop_requested().ends_connection() && self.posts.hands_over(member) {
                self.lay_down(&mut guest);
                return Some(guest);
            }
            self.posts.begins(member);
            self.guarded(guest.visitor.guard.id, || self.serve_shared(guest));
            self.posts.ends(member);
        }
        None
    }

    /// The next one to be served by who holds this post; waits for it. `None` when all is over.
    fn next_guest(&self, post: usize) -> Option<Box<Guest<S>>> {
        loop {
            if let Some(guest) = self.rows.engaged(post) {
                return Some(guest);
            }
            if self.collect(post, post, Some(Duration::ZERO))? {
                if self.rows.is_long(post) {
                    self.call_idle(post);
                }
                continue;
            }
            if let Some(guest) = self.newcomer() {
                return Some(guest);
            }
            if let Some(guest) = self.rows.engaged_elsewhere(post) {
                return Some(guest);
            }
            let posts = self.seats.len();
            let mut found = false;
            for other in (1..posts.min(OTHERS_ASKED + 1)).map(|next| (post + next) % posts) {
                found |= self.collect(post, other, Some(Duration::ZERO))?;
            }
            if found {
                continue;
            }
            // Whoever has more than it can do sees that this one waits, or this one sees what there is to do.
            self.posts.waits(post, true);
            let newcomers = self.rows.has_newcomers();
            let waited = if self.rows.has_engaged() || newcomers && self.lets_in() {
                Some(false)
            } else {
                self.collect(post, post, newcomers.then_some(NEWCOMERS_AGAIN))
            };
            self.posts.waits(post, false);
            waited?;
        }
    }

    /// Those whose clients have spoken, of those that `watching` watches, stand in rows, at `post` if they are engaged. Whether there was one of those; `None` when all is over.
    fn collect(&self, post: usize, watching: usize, patience: Option<Duration>) -> Option<bool> {
        let seats = &self.seats[watching];
        let mut engaged = false;
        let stands = |seat| {
            let Some(guest) = seats.take(seat) else { return };
            if guest.session.holds_nothing() {
                self.rows.add_newcomer(guest);
            } else {
                engaged = true;
                self.rows.add_engaged(post, guest);
            }
        };
        let waited = if watching == post { seats.poller().wait(patience, stands).map(drop) } else { seats.poller().look(stands) };
        waited.ok().map(|()| engaged)
    }

    /// Who waits at another post is to take some of what stands here.
    fn call_idle(&self, but: usize) {
        if let Some(post) = self.posts.idle(but) {
            self.seats[post].poller().call();
        }
    }

    /// Has the log made durable for those whose replies wait for it, and sees to it that they are sent.
    pub fn send_late_replies(&self) {
        let make_durable = |up_to, guests| self.service.make_durable(up_to, guests);
        self.late.serve(make_durable, |guests| {
            for guest in guests {
                self.rows.add_engaged(self.post_of(guest.visitor.guard.id), guest);
            }
            for post in (0..self.seats.len()).filter(|post| self.rows.has_engaged_at(*post)) {
                if self.posts.take_idle(post) {
                    self.seats[post].poller().call();
                } else if self.rows.is_long(post) {
                    self.call_idle(post);
                }
            }
        });
        // Who came back after the crew was sent home.
        self.rows.clear();
    }

    fn lets_in(&self) -> bool {
        self.service.waiting_for_slots() < SLOTS_AWAITED
    }

    fn newcomer(&self) -> Option<Box<Guest<S>>> {
        if self.rows.has_newcomers() && self.lets_in() { self.rows.newcomer() } else { None }
    }

    /// Serves a guest whose client has spoken until it waits for its client again.
    fn serve_shared(&self, mut guest: Box<Guest<S>>) {
        if guest.lent.is_none() {
            let mut lent = self.lent.lock().pop().unwrap_or_default();
            guest.exchange(&mut lent);
            guest.lent = Some(lent);
        }
        let mut waits = false;
        loop {
            match self.command_loop(&mut guest, waits, true) {
                Next::Park => {}
                Next::Wait => {
                    self.lay_down(&mut guest);
                    return self.late.add(guest.session.awaits(), guest);
                }
                Next::End => {
                    self.lay_down(&mut guest);
                    return Self::end(*guest);
                }
            }
            if guest.session.holds_nothing() {
                self.lay_down(&mut guest);
            }
            match self.seats_of(guest.visitor.guard.id).park(guest) {
                Ok(()) => return,
                // Not to be watched, for want of memory or such: it keeps this thread for its next command.
                Err(kept) => (guest, waits) = (kept, true),
            }
            blocking::begins();
        }
    }

    /// What was lent to it can serve the next one.
    fn lay_down(&self, guest: &mut Guest<S>) {
        let Some(mut lent) = guest.lent.take() else { return };
        guest.exchange(&mut lent);
        let mut kept = self.lent.lock();
        if kept.len() < LENT_KEPT * self.seats.len() {
            kept.push(lent);
        }
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

    /// Serves a connection on its own thread until it is parked, or ends, of which it tells the former. `waits`: for its first command, if that is not there.
    pub(super) fn serve_alone(&self, mut guest: Box<Guest<S>>, mut waits: bool) -> bool {
        loop {
            if self.command_loop(&mut guest, waits, false) == Next::End {
                Self::end(*guest);
                return false;
            }
            match self.seats_of(guest.visitor.guard.id).park(guest) {
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

    /// Sends the crew home; no connection is left.
    pub fn dismiss_crew(&self) {
        self.posts.close();
        self.late.close();
        self.seats.iter().for_each(|seats| seats.poller().close());
        self.rows.clear();
    }

    /// Parked sessions whose clients have been silent for some calls of this give back memory that can be made again, and keep the rest on this thread's heap, if they had
    /// threads of their own: of those that share threads it lies together already.
    pub fn tidy_parked(&self) {
        let had_their_own = !self.is_crowded();
        for seats in &self.seats {
            seats.tidy(|guest| {
                guest.visitor.channel.rest();
                guest.session.rest();
                if had_their_own && guest.session.holds_nothing() {
                    guest.session.pack();
                }
            });
        }
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
