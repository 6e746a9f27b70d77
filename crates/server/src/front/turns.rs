//! A connection's turns on threads that others use as well: parked while its client says nothing, and served by whoever holds the post that watches it (`pool/`).
//!
//! With few connections a session has a thread of its own, which waits for its client's next command, but only for some seconds (`altiplano_rest_after`). Then the session gives
//! back its memory and is parked, and the thread goes. When the client speaks again, the holder of the post hands that on, and is the session's own thread from then on.

use super::{Front, Guest, Next, Unsent};
use crate::channel::{Buffers, Channel};
use crate::pool::{
    Came, Habit, HasHabit, Kept, Kind, Member, NEW, Outbox, Posts, Replies, Seats, Sits, Stands, Thread, Ticket, WaitsForRow, Watch,
    Worker, while_held,
};
use crate::stand_in::StandIn;
use crate::threads::{self, After};
use base::bring_all_near;
use env::Sends;
use session::connections::ThreadCounts;
use session::service::{Service, Session, WaitOver};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use sync::blocking::{self, GivesWay};
use sync::{Moment, Mutex, Rank};

/// Newcomers are let in while fewer wait for slots of admission: enough that admission sees that its slots are wanted, and that one which becomes free finds its next at once.
const SLOTS_AWAITED: u32 = 4;
/// How often who has nothing to do looks whether newcomers may be let in.
const NEWCOMERS_AGAIN: Duration = Duration::from_millis(1);
/// Newcomers in line are served one after the other for so long before somebody looks whether clients of transactions have spoken, for whom others may wait.
const LOOK_AFTER: Duration = Duration::from_micros(50);
/// After so many turns it is asked on which processor a client's packets come in.
const FOLLOW_AFTER: u32 = 8;
/// So many other posts are looked at for guests whose clients have spoken, by who has nothing to do.
const OTHERS_ASKED: usize = 4;
/// What is lent is kept for so many at each post.
const LENT_KEPT: usize = 64;

/// What whoever serves guests in turns keeps of one.
#[derive(Debug)]
pub(super) struct Turns {
    /// When it was served last, about.
    served: Moment,
    /// How often.
    count: u32,
    /// It asked for a slot of admission when it came last without holding anything.
    asks: bool,
    /// As what it comes when its client speaks next.
    comes_as: Kind,
    /// For which row its last statements have waited.
    habit: Habit,
    /// Until it has a thread of its own: how long that will wait for its client.
    patience: Option<Duration>,
}

/// What becomes of a connection that a thread has served alone.
pub(super) enum Served<S: Service> {
    /// It has ended.
    Ended,
    /// It is parked.
    Parked,
    /// It has no thread of its own yet, and its client is silent.
    Silent(Box<Guest<S>>),
}

impl Turns {
    /// None yet, nor a thread of its own; one will wait for so long, or without end.
    pub(super) fn new(patience: Duration) -> Self {
        let (comes_as, habit) = (Kind::Newcomer, Habit::default());
        Self { served: Moment::BEGIN, count: 0, asks: false, comes_as, habit, patience: Some(patience) }
    }

    /// Whether it has no thread of its own yet.
    #[inline]
    pub(super) fn are_first(&self) -> bool {
        self.patience.is_some()
    }
}

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
    /// Keeps as what it comes next, so that who finds it then need not ask for all that it may hold. Whether it holds nothing.
    #[inline]
    fn settles(&mut self) -> bool {
        let holds_nothing = self.session.holds_nothing();
        self.turns.comes_as = match holds_nothing {
            true if self.turns.asks => Kind::Asker,
            true => Kind::Newcomer,
            false => Kind::Engaged,
        };
        holds_nothing
    }

    fn exchange(&mut self, lent: &mut Lent<S>) {
        self.session.exchange_tools(&mut lent.tools);
        self.visitor.channel.exchange_buffers(&mut lent.buffers);
    }
}

/// Where the holder of a post looks for guests.
struct Lookout<S: Service> {
    post: usize,
    /// About this moment: read when a statement has ended, and at each look.
    now: Moment,
    /// When it looked last for those whose clients have spoken, or began to.
    looked: Moment,
    /// Another post, whose newcomers may have waited for longer; another at each look.
    other: usize,
    /// Who was found by a look; empty between looks.
    came: Came<Guest<S>>,
}

impl<S: Service> Lookout<S> {
    /// It looks.
    fn looks(&mut self) {
        self.now = Moment::now();
        self.looked = self.now;
    }
}

/// The reply of a guest has been left at the post.
#[derive(Clone, Copy)]
struct Answered {
    at: Moment,
    /// All replies that wait there are to be sent.
    are_due: bool,
}

/// A post's replies that are sent together, and by what.
pub(super) struct Mail<S: Service> {
    outbox: Outbox<Guest<S>>,
    sends: Mutex<Sends>,
    /// Replies that went together, and in how many calls. (Relaxed: figures.)
    sent: [AtomicU64; 2],
}

impl<S: Service> Mail<S> {
    /// `None` where the kernel does not send several at once.
    pub(super) fn new() -> Option<Self> {
        Some(Self { outbox: Outbox::new(), sends: Mutex::new(Rank::Leaf, Sends::new()?), sent: Default::default() })
    }
}

/// What a member of the crew needs to send, made once: a post may be handed on at each statement.
struct Desk<S: Service> {
    /// What was lent to the last guest, for the next one.
    lent: Option<Lent<S>>,
    /// The reply of who was served last.
    reply: Vec<u8>,
    /// What is just being sent, with its guests.
    replies: Replies<Guest<S>>,
    /// How much of each was sent.
    sent: Vec<usize>,
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
        let (looks_found, looks_in_vain) = self.attention.looks();
        let sent = |what: usize| self.mail.iter().flatten().map(|mail| mail.sent[what].load(Ordering::Relaxed)).sum();
        ThreadCounts {
            created: self.threads.created() + self.login_threads.created(),
            cached: self.threads.cached() + self.login_threads.cached(),
            shared: self.posts.count(),
            parked,
            resting,
            waiting_for_rows: self.left.count() as u32,
            behind_rows: self.behind.count() as u32,
            stood_behind_rows: self.behind.stood(),
            looks_found,
            looks_in_vain,
            stand_ins: self.attention.stand_in().map_or(0, StandIn::calls),
            replies_together: sent(0),
            reply_batches: sent(1),
        }
    }

    /// Whether [`Front::stand_in`] wants a thread.
    pub fn has_stand_in(&self) -> bool {
        self.attention.stand_in().is_some()
    }

    /// The life of the thread that keeps a processor busy beside a lone client; at once over where none is wanted.
    pub fn stand_in(&self) {
        if let Some(stand_in) = self.attention.stand_in() {
            self.processors.this_thread(self.processors.count() - 1).pin();
            stand_in.work();
        }
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
        guest.settles();
        match self.seats[guest.visitor.guard.post].park(guest, Watch::Once) {
            Ok(()) => Ok(()),
            // Cannot be watched, or a report of who had the seat before: this guest waits for its first command on a thread of its own.
            Err(Kept::Unwatched(guest) | Kept::Spoken(guest)) => Err(guest),
        }
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
        sync::take_lane(post);
        blocking::tell(Some(Arc::new(HandsOn { posts: Arc::clone(&self.posts), member: Arc::clone(&member) })));
        let (mut alone, mut desk) = (None, Desk::<S> { lent: None, reply: Vec::new(), replies: Replies::default(), sent: Vec::new() });
        while alone.is_none() && self.posts.obtain(&member, self.is_crowded(), threads::give_back_free) {
            member.worker().pin();
            alone = while_held(&mut desk, |desk| self.send_together(post, desk), |desk| self.serve_while_holding(&member, desk));
            if let Some(lent) = desk.lent.take() {
                self.keep_lent(post, lent);
            }
        }
        blocking::tell(None);
        sync::leave_lane();
        self.posts.leave(&member);
        member.worker().let_loose();
        let Some(guest) = alone else { return After::Spare };
        // Its client has spoken, and there are few connections: from now on this is the session's own thread.
        let id = guest.visitor.guard.id;
        let mut after = After::Ready;
        self.guarded(id, || after = self.serve_on_its_own(guest, false));
        after
    }

    /// Serves guests as long as the member holds its post, or until one is to have this thread for its own.
    fn serve_while_holding(&self, member: &Member<Thread>, desk: &mut Desk<S>) -> Option<Box<Guest<S>>> {
        let now = Moment::now();
        let mut lookout = Lookout { post: member.post(), now, looked: now, other: member.post(), came: Came::default() };
        while self.posts.holds(member) {
            let at_hand = self.guest_at_hand(&lookout).or_else(|| {
                self.send_together(member.post(), desk);
                self.next_guest(&mut lookout)
            });
            let Some(mut guest) = at_hand else {
                // All is over, for everybody here.
                self.posts.hand_on(member);
                return None;
            };
            // Refused only when no thread is to be had: then nobody else would serve the others. In the middle of a statement what is lent must stay.
            if !self.is_crowded()
                && !matches!(guest.reply, Some(Unsent::Unwritten))
                && !guest.visitor.channel.connection.stop_requested().ends_connection()
                && self.posts.hands_over(member)
            {
                self.lay_down(desk, member.post(), &mut guest);
                self.seats[guest.visitor.guard.post].leave(&mut guest);
                return Some(guest);
            }
            guest.turns.served = lookout.now;
            guest.visitor.channel.comes_in_turn(&self.attention, lookout.now);
            self.posts.begins(member);
            let mut answered = None;
            self.guarded(guest.visitor.guard.id, || answered = self.serve_shared(member.post(), guest, desk));
            // The one look at the clock for a statement.
            lookout.now = answered.map_or_else(Moment::now, |answered| answered.at);
            if answered.is_some_and(|answered| answered.are_due) {
                self.send_together(member.post(), desk);
            }
            self.posts.ends(member);
        }
        None
    }

    /// Sends the replies that wait at a post. Their guests wait for their clients again; those whose clients have spoken already, or did not take all, are served next.
    fn send_together(&self, post: usize, desk: &mut Desk<S>) {
        let Some(mail) = &self.mail else { return };
        let mail = &mail[post];
        let Desk { replies, sent, .. } = desk;
        if !mail.outbox.take(replies) {
            return;
        }
        if replies.len() > 1 {
            mail.sent[0].fetch_add(replies.len() as u64, Ordering::Relaxed);
            mail.sent[1].fetch_add(1, Ordering::Relaxed);
            mail.sends.lock().send(replies.iter().map(|(guest, reply)| (guest.as_fd(), reply)), sent);
        } else {
            sent.clear();
            sent.extend(replies.iter().map(|(guest, reply)| env::send_at_once(guest.as_fd(), reply)));
        }
        let (mut sent, mut in_row) = (sent.iter(), false);
        replies.drain(|guest, reply| {
            if let Err(guest) = self.park_answered(guest, reply, sent.next().copied().unwrap_or(0)) {
                let Some(guest) = self.stands_apart(guest, Moment::now) else { return };
                self.rows.add_engaged(post, guest);
                in_row = true;
            }
        });
        // Another may hold the post by now, and wait.
        if in_row && self.posts.take_idle(post) {
            self.seats[post].poller().call();
        }
    }

    /// A guest waits for its client again if all of its reply was sent. Given back if it is to be served: its client did not take all, or has gone, or has spoken already, or it cannot be watched, which is seen to there.
    fn park_answered(&self, mut guest: Box<Guest<S>>, reply: &[u8], sent: usize) -> Result<(), Box<Guest<S>>> {
        if sent < reply.len() {
            guest.reply = Some(Unsent::Rest(reply[sent..].into()));
            return Err(guest);
        }
        self.follow_client(&mut guest);
        self.seats[guest.visitor.guard.post].park(guest, Watch::Always).map_err(|kept| match kept {
            Kept::Spoken(mut guest) => {
                guest.visitor.channel.expect_more();
                guest
            }
            Kept::Unwatched(guest) => guest,
        })
    }

    /// The next one to be served of those who stand here, without a look whether others have spoken, if there is one.
    fn guest_at_hand(&self, lookout: &Lookout<S>) -> Option<Box<Guest<S>>> {
        let post = lookout.post;
        if let Some(guest) = self.rows.pop(post, Kind::Engaged, lookout.now) {
            return Some(guest);
        }
        // A look for each newcomer is a call of the kernel for each statement of those that commit by themselves.
        let is_new = NEW.iter().any(|kind| self.rows.has_at(post, *kind)) && !lookout.now.is_past(lookout.looked, LOOK_AFTER);
        // Nor is it asked for each how long others wait elsewhere: that is a cache line which the other post writes for each of its own.
        if is_new { self.newcomer(lookout, post) } else { None }
    }

    /// The next one to be served by who holds this post; waits for it. `None` when all is over.
    fn next_guest(&self, lookout: &mut Lookout<S>) -> Option<Box<Guest<S>>> {
        let post = lookout.post;
        loop {
            if let Some(guest) = self.guest_at_hand(lookout) {
                return Some(guest);
            }
            lookout.looks();
            if self.collect(lookout, post, Some(Duration::ZERO))? {
                if self.rows.is_long(post) {
                    self.call_idle(post);
                }
                continue;
            }
            lookout.other = if lookout.other + 1 < self.seats.len() { lookout.other + 1 } else { 0 };
            if let Some(guest) = self.newcomer(lookout, lookout.other) {
                return Some(guest);
            }
            if let Some(guest) = self.rows.pop_elsewhere(post, Kind::Engaged, lookout.now) {
                return Some(guest);
            }
            if let Some(guest) = self.newcomer_elsewhere(lookout) {
                return Some(guest);
            }
            let posts = self.seats.len();
            let mut found = false;
            for other in (1..posts.min(OTHERS_ASKED + 1)).map(|next| (post + next) % posts) {
                found |= self.collect(lookout, other, Some(Duration::ZERO))?;
            }
            if found {
                continue;
            }
            // Whoever has more than it can do sees that this one waits, or this one sees what there is to do.
            self.posts.waits(post);
            let has_new = NEW.iter().any(|kind| self.rows.has(*kind));
            let waited = if self.rows.has(Kind::Engaged) || NEW.iter().any(|kind| self.rows.has(*kind) && self.lets_in(*kind, lookout)) {
                Some(false)
            } else {
                self.collect(lookout, post, has_new.then_some(NEWCOMERS_AGAIN))
            };
            self.posts.waited(post);
            // Another look follows where it has slept for long: more have come since, whose replies can go together.
            waited?;
        }
    }

    /// Those whose clients have spoken, of those that `watching` watches, stand in rows, here if they are engaged. Whether there was one of those; `None` when all is over.
    fn collect(&self, lookout: &mut Lookout<S>, watching: usize, patience: Option<Duration>) -> Option<bool> {
        let (seats, post, came) = (&self.seats[watching], lookout.post, &mut lookout.came);
        let stands = |seat, gone| {
            let Some(guest) = seats.take(seat, gone) else { return };
            came.take_in(guest);
        };
        let waited = if watching == post { seats.poller().wait(patience, stands).map(drop) } else { seats.poller().look(stands) };
        // It may have waited.
        lookout.now = Moment::now();
        let now = lookout.now;
        came.sort_out(now, |guest| self.stands_apart(guest, || now));
        let engaged = came.has_engaged();
        self.rows.add_all(came, post, watching, lookout.now);
        waited.ok().map(|()| engaged)
    }

    /// A guest's statement has been served. Whether it holds nothing.
    #[inline]
    fn settles(&self, guest: &mut Guest<S>) -> bool {
        self.is_done(guest);
        guest.turns.habit.ends();
        guest.settles()
    }

    /// A guest's statement wants no row any more.
    #[inline]
    fn is_done(&self, guest: &mut Guest<S>) {
        if let Some(next) = self.behind.is_done(guest) {
            self.comes_in(next);
        }
    }

    /// Who would only wait for a row behind others stands apart; anybody else is given back.
    #[inline]
    fn stands_apart(&self, guest: Box<Guest<S>>, came: impl FnOnce() -> Moment) -> Option<Box<Guest<S>>> {
        // Who has more to be told is told it first.
        let may = guest.turns.comes_as == Kind::Newcomer && guest.reply.is_none() && !self.stopping.load(Ordering::Relaxed);
        if may { self.behind.stand(guest, came) } else { Some(guest) }
    }

    /// Who stood apart comes in.
    fn comes_in(&self, (guest, came): (Box<Guest<S>>, Moment)) {
        let post = guest.visitor.guard.post;
        self.rows.add_waiting(post, guest, came);
        if self.posts.take_idle(post) {
            self.seats[post].poller().call();
        }
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
                self.rows.add_engaged(guest.visitor.guard.post, guest);
            }
            for post in (0..self.seats.len()).filter(|post| self.rows.has_at(*post, Kind::Engaged)) {
                if self.posts.take_idle(post) {
                    self.seats[post].poller().call();
                } else if self.rows.is_long(post) {
                    self.call_idle(post);
                }
            }
        });
        // Who came back after the crew was sent home.
        self.rows.clear();
        self.attention.stand_in().into_iter().for_each(StandIn::dismiss);
    }

    /// The wait of this connection's statement for a row is over, or was: if the guest is here its statement goes on.
    fn wait_is_over(&self, id: u32) {
        if let Some(guest) = self.left.take(id) {
            self.goes_on(guest);
        }
    }

    /// Ends the waits for rows whose time is over.
    pub fn end_late_waits(&self) {
        self.left.take_late(Instant::now(), |guest| self.goes_on(guest));
        self.behind.let_in_stalled(|guest| self.comes_in(guest));
    }

    /// A statement that has been waiting for a row is to go on.
    fn goes_on(&self, guest: Box<Guest<S>>) {
        let post = guest.visitor.guard.post;
        self.rows.add_granted(post, guest);
        if self.posts.take_idle(post) {
            self.seats[post].poller().call();
        } else if self.rows.is_long(post) {
            self.call_idle(post);
        }
    }

    /// Whether one of these, who hold nothing, may be let in.
    fn lets_in(&self, kind: Kind, lookout: &Lookout<S>) -> bool {
        match kind {
            Kind::Engaged => true,
            Kind::Newcomer => self.service.waiting_for_slots() < SLOTS_AWAITED,
            Kind::Asker => {
                self.service.has_room()
                    || self.rows.is_stuck(lookout.post, lookout.looked) && self.service.waiting_for_slots() < SLOTS_AWAITED
            }
        }
    }

    /// The next newcomer of this post, or one who has waited at the `other` (which may be the same) for much longer, if it may be let in.
    fn newcomer(&self, lookout: &Lookout<S>, other: usize) -> Option<Box<Guest<S>>> {
        let post = lookout.post;
        let kinds = self.rows.new_by_age(post);
        let kind = kinds.into_iter().find(|kind| self.rows.has_at(post, *kind) && self.lets_in(*kind, lookout))?;
        if kind == Kind::Asker {
            self.rows.note_let_in(post, lookout.looked);
        }
        self.rows.pop_patiently(post, other, kind, lookout.now)
    }

    /// One of another post, if it may be let in.
    fn newcomer_elsewhere(&self, lookout: &Lookout<S>) -> Option<Box<Guest<S>>> {
        NEW.into_iter()
            .filter(|kind| self.rows.has(*kind) && self.lets_in(*kind, lookout))
            .find_map(|kind| self.rows.pop_elsewhere(lookout.post, kind, lookout.now))
    }

    /// Serves a guest whose client has spoken, at this post, until it waits for its client again. Its reply may be left at the post.
    fn serve_shared(&self, post: usize, mut guest: Box<Guest<S>>, desk: &mut Desk<S>) -> Option<Answered> {
        if let Some(ticket) = guest.visitor.guard.ticket {
            self.seats[guest.visitor.guard.post].bring_near(ticket);
        }
        // Who holds something keeps what was lent to it; whose reply has waited is in the middle of a command.
        let mut is_new = guest.lent.is_none() && guest.reply.is_none();
        let mut waits = false;
        loop {
            // Whose client has spoken before it was parked has laid down what it had. A statement that is left keeps its parameters and its place in the reply in what is lent, and goes on with that.
            if guest.lent.is_none() {
                debug_assert!(!matches!(guest.reply, Some(Unsent::Unwritten)), "a statement that was left has lost what was lent to it");
                let mut lent = desk.lent.take().unwrap_or_else(|| self.lent[post].lock().pop().unwrap_or_default());
                guest.exchange(&mut lent);
                guest.lent = Some(lent);
            }
            let next = self.command_loop(&mut guest, waits, true);
            if std::mem::take(&mut is_new) {
                guest.turns.asks = guest.session.take_asked();
            }
            match next {
                // The latter only of who is served alone.
                Next::Park | Next::Move => {}
                Next::Reply => {
                    guest.visitor.channel.give_reply(&mut desk.reply);
                    if self.settles(&mut guest) {
                        self.lay_down(desk, post, &mut guest);
                    }
                    let (mail, at) = (self.mail.as_ref()?, Moment::now());
                    return Some(Answered { at, are_due: mail[post].outbox.add(guest, &desk.reply, at) });
                }
                Next::Wait => {
                    self.is_done(&mut guest);
                    self.lay_down(desk, post, &mut guest);
                    self.late.add(guest.session.awaits(), guest);
                    return None;
                }
                Next::Leave => {
                    let row = guest.session.waits_for();
                    if let Some(next) = self.behind.waits(row, &mut guest) {
                        self.comes_in(next);
                    }
                    match self.left.leave(guest.visitor.guard.id, guest) {
                        Ok(()) => return None,
                        // The row is its own already.
                        Err(over) => {
                            guest = over;
                            continue;
                        }
                    }
                }
                Next::End => {
                    self.is_done(&mut guest);
                    self.lay_down(desk, post, &mut guest);
                    Self::end(*guest);
                    return None;
                }
            }
            if self.settles(&mut guest) {
                self.lay_down(desk, post, &mut guest);
            }
            self.follow_client(&mut guest);
            match self.seats[guest.visitor.guard.post].park(guest, Watch::Always) {
                Ok(()) => return None,
                Err(Kept::Spoken(mut kept)) => {
                    kept.visitor.channel.expect_more();
                    (guest, waits) = (self.stands_apart(kept, Moment::now)?, false);
                }
                // Not to be watched, for want of memory or such: it keeps this thread for its next command.
                Err(Kept::Unwatched(kept)) => {
                    (guest, waits) = (kept, true);
                    blocking::begins();
                }
            }
        }
    }

    /// A guest that waits for its client again is to be watched by the post of the processor on which the client's packets come in: that of the client itself, if it is on this machine, or of the network card's queue. A
    /// reply from another processor wakes it by an interrupt, which costs a virtual machine some microseconds; so did more than half of the replies to sixteen threads of sysbench on two processors.
    fn follow_client(&self, guest: &mut Guest<S>) {
        guest.turns.count = guest.turns.count.wrapping_add(1);
        let old = guest.visitor.guard.post;
        if !guest.turns.count.is_multiple_of(FOLLOW_AFTER) || !self.processors.differ() || !self.follows[old].may() {
            return;
        }
        let processor = rustix::net::sockopt::socket_incoming_cpu(&guest.visitor.channel.socket);
        let Some(post) = processor.ok().and_then(|processor| self.processors.post_on(processor as usize)) else { return };
        // Where all packets come in on one processor the others are not to be without guests.
        let fair = self.open.load(Ordering::Relaxed) / self.seats.len() as u32;
        if post != old && self.seats[post].given() < fair + fair / 4 + 2 {
            self.follows[old].goes();
            self.seats[old].leave(guest);
            guest.visitor.guard.post = post;
        }
    }

    /// What was lent to it can serve the next one of this desk, or of the post at which it was served.
    fn lay_down(&self, desk: &mut Desk<S>, post: usize, guest: &mut Guest<S>) {
        let Some(mut lent) = guest.lent.take() else { return };
        guest.exchange(&mut lent);
        match &desk.lent {
            None => desk.lent = Some(lent),
            Some(_) => self.keep_lent(post, lent),
        }
    }

    #[inline(never)]
    fn keep_lent(&self, post: usize, lent: Lent<S>) {
        let mut kept = self.lent[post].lock();
        if kept.len() < LENT_KEPT {
            kept.push(lent);
        }
    }

    /// A client has been silent for a while: its session gives back what can be made again. True when it can be parked; otherwise others may wait for what it holds, and
    /// the client has spoken again, or has gone, when this returns.
    #[cold]
    pub(super) fn rest(&self, channel: &mut Channel, session: &mut S::Session, shared: bool) -> bool {
        channel.rest();
        session.rest();
        if session.holds_nothing() {
            return true;
        }
        threads::give_back_free();
        let _asleep = (!shared).then(|| self.attention.sleeps());
        channel.wait();
        false
    }

    /// The calling thread is a connection's own, until that is parked or ends. `waits`: for its first command, if that is not there.
    pub(super) fn serve_on_its_own(&self, mut guest: Box<Guest<S>>, waits: bool) -> After {
        if let Some(patience) = guest.turns.patience.take() {
            guest.visitor.channel.set_patience(patience);
        }
        match self.serve_alone(guest, waits) {
            Served::Parked => After::Spare,
            Served::Ended | Served::Silent(_) => After::Ready,
        }
    }

    /// Serves a connection and no other. `waits`: for its first command, if that is not there.
    pub(super) fn serve_alone(&self, mut guest: Box<Guest<S>>, mut waits: bool) -> Served<S> {
        let _awake = self.attention.comes();
        loop {
            match self.command_loop(&mut guest, waits, false) {
                Next::End => {
                    Self::end(*guest);
                    return Served::Ended;
                }
                Next::Move => return Served::Silent(guest),
                Next::Park | Next::Reply | Next::Wait | Next::Leave => {}
            }
            self.settles(&mut guest);
            match self.seats[guest.visitor.guard.post].park(guest, Watch::Once) {
                Ok(()) => return Served::Parked,
                Err(Kept::Spoken(kept)) => {
                    (guest, waits) = (kept, false);
                    guest.visitor.channel.expect_more();
                }
                // Not to be watched, for want of memory or such: it keeps this thread for its next command.
                Err(Kept::Unwatched(kept)) => (guest, waits) = (kept, true),
            }
        }
    }

    /// Whether there are so many connections, or so many at work, that they share threads.
    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        self.attention.is_crowded() || self.open.load(Ordering::Relaxed) >= self.shared_from
    }

    /// Sends the crew home; no connection is left.
    pub fn dismiss_crew(&self) {
        self.posts.close();
        self.late.close();
        self.seats.iter().for_each(|seats| seats.poller().close());
        self.rows.clear();
        self.left.clear();
        self.behind.clear();
    }

    /// Parked sessions whose clients have been silent for some calls of this give back memory that can be made again, and keep the rest on this thread's heap, if they had
    /// threads of their own: of those that share threads it lies together already.
    pub fn tidy_parked(&self) {
        let had_their_own = !self.is_crowded();
        let rest = |guest: &mut Guest<S>| {
            guest.visitor.channel.rest();
            guest.session.rest();
            if had_their_own && guest.session.holds_nothing() {
                guest.session.pack();
            }
        };
        for (post, seats) in self.seats.iter().enumerate() {
            seats.tidy(rest, |mut guest| {
                guest.visitor.channel.expect_more();
                self.rows.add_engaged(post, guest);
                if self.posts.take_idle(post) {
                    seats.poller().call();
                }
            });
        }
    }
}

/// Is told when waits of a connection's statements for rows are over.
pub(super) struct TellsOfWait<S: Service> {
    pub(super) front: Weak<Front<S>>,
    pub(super) id: u32,
}

impl<S: Service> WaitOver for TellsOfWait<S> {
    fn wait_is_over(&self) {
        if let Some(front) = self.front.upgrade() {
            front.wait_is_over(self.id);
        }
    }
}

impl<S: Service> HasHabit for Guest<S> {
    #[inline]
    fn habit(&mut self) -> &mut Habit {
        &mut self.turns.habit
    }
}

impl<S: Service> WaitsForRow for Guest<S> {
    fn is_over(&self) -> bool {
        self.session.wait_is_over()
    }

    fn until(&self) -> Option<Instant> {
        self.session.waits_until()
    }

    fn time_is_over(&self) -> bool {
        self.session.time_is_over()
    }
}

impl<S: Service> Stands for Guest<S> {
    #[inline]
    fn kind(&self) -> Kind {
        self.turns.comes_as
    }

    #[inline]
    fn served(&self) -> Moment {
        self.turns.served
    }

    #[inline]
    fn bring_place_near(&self) {
        bring_all_near(&self.turns);
    }

    #[inline]
    fn bring_parts_near(&self) {
        self.visitor.channel.socket.bring_near();
        self.visitor.channel.connection.bring_near();
        self.session.bring_near();
    }
}

impl<S: Service> Sits for Guest<S> {
    fn ticket(&mut self) -> &mut Option<Ticket> {
        &mut self.visitor.guard.ticket
    }
}

impl<S: Service> AsFd for Guest<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.visitor.channel.socket.as_fd()
    }
}
