//! [`Front`]: what all connections share, and the life of one connection: `arrivals.rs` has its way in, `commands.rs` its commands, `turns.rs` on whose thread they are served.

mod arrivals;
mod commands;
mod turns;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use protocol::ErrReply;
use session::command::Login;
use session::connections::{Connection, Hangup, Phase, Stop, ThreadCounts};
use session::service::Service;
use sync::{CachePadded, Mutex, Rank, futex};

pub(crate) use arrivals::Arrival;

use crate::attention::Attention;
use crate::channel::Channel;
use crate::log::{self, Level};
use crate::login::{Authenticator, Refused};
use crate::logins::Crew;
use crate::pool::{Behind, Epoll, Follows, Late, Left, Posts, Processors, Rows, Seats, Thread, Ticket};
use crate::threads::Threads;

/// Threads that wait for the next client to log in, which some of them then serve.
const LOGIN_THREADS_KEPT: u32 = 16;

/// What all connections share.
pub struct Front<S: Service> {
    /// What answers commands.
    pub service: Arc<S>,
    authenticator: Authenticator,
    /// Those whose clients have answered the greeting, and who logs them in.
    logins: Arc<Crew<arrivals::Arrival<S>>>,
    /// Threads for logins, from one to the next.
    login_threads: Arc<Threads>,
    /// Threads for connections that are logged in.
    threads: Arc<Threads>,
    /// Sessions that wait for their clients without a thread: on the seats of the post that watches them.
    seats: Box<[Seats<Guest<S>, Epoll>]>,
    /// Those of them whose clients have spoken.
    rows: Rows<Guest<S>>,
    /// Those whose replies wait for the log.
    late: Late<Guest<S>>,
    /// Those whose statements wait for rows.
    left: Left<Guest<S>>,
    /// Those who would only lengthen the queues of such rows.
    behind: Behind<Guest<S>>,
    /// Replies of each post that are sent together; `None` where each is sent for itself.
    mail: Option<Box<[CachePadded<turns::Mail<S>>]>>,
    /// Who serves them.
    posts: Arc<Posts<Thread>>,
    processors: Processors,
    /// How often guests may go from each post to another, for their clients have gone there.
    follows: Box<[CachePadded<Follows>]>,
    /// Of threads that serve one session each.
    attention: Attention,
    /// What is lent to those who are being served, of each post: it stays in the caches of one processor.
    lent: Box<[CachePadded<Mutex<Vec<turns::Lent<S>>>>]>,
    /// `altiplano_shared_threads_from`: with so many connections or more, sessions are parked; with fewer, while many of them are at work (`attention`).
    shared_from: u32,
    /// Connections from acceptance to the end of their session.
    open: AtomicU32,
    /// Bumped when a connection ends; the shutdown waits on it.
    ended: AtomicU32,
    stopping: AtomicBool,
    incidents: AtomicU64,
}

impl<S: Service> Front<S> {
    /// A front without connections.
    pub fn new(service: Arc<S>) -> std::io::Result<Arc<Self>> {
        let threads = Threads::new("connection", 0);
        let login_threads = Threads::new("login", LOGIN_THREADS_KEPT);
        let settings = service.settings();
        let (shared_from, many) = (settings.shared_threads_from, settings.shared_threads_at_work);
        let (look, stands_in) = (settings.look_for_client, settings.stand_in);
        let processors = Processors::new();
        let posts = processors.count();
        let front = Arc::new(Self {
            service,
            authenticator: Authenticator::default(),
            logins: Crew::new(posts, arrivals::starts(&login_threads)),
            login_threads,
            threads,
            seats: (0..posts).map(|_| Ok(Seats::new(Epoll::new()?))).collect::<std::io::Result<_>>()?,
            rows: Rows::new(posts),
            late: Late::new(),
            left: Left::new(posts),
            behind: Behind::new(posts),
            mail: if settings.replies_together { (0..posts).map(|_| turns::Mail::new().map(CachePadded::new)).collect() } else { None },
            follows: (0..posts).map(|_| CachePadded::default()).collect(),
            posts: Arc::new(Posts::new(posts)),
            attention: Attention::new(&processors, look, stands_in, many),
            processors,
            lent: (0..posts).map(|_| CachePadded::new(Mutex::new(Rank::Leaf, Vec::new()))).collect(),
            shared_from,
            open: AtomicU32::new(0),
            ended: AtomicU32::new(0),
            stopping: AtomicBool::new(false),
            incidents: AtomicU64::new(0),
        });
        let counted = Arc::downgrade(&front);
        front
            .service
            .connections()
            .set_thread_probe(move || counted.upgrade().map_or_else(ThreadCounts::default, |front| front.thread_counts()));
        Ok(front)
    }

    /// Runs a part of a connection's life. A panic that the session did not catch costs this connection only; the panic hook has logged where.
    fn guarded(&self, id: u32, part: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(part)).is_err() {
            let incident = self.incidents.fetch_add(1, Ordering::Relaxed) + 1;
            log::write(Level::Error, id, &format!("connection ended by an internal error, incident {incident}"));
        }
    }

    fn end(guest: Guest<S>) {
        let Guest { session, visitor: Visitor { mut channel, guard }, .. } = guest;
        channel.connection.enter(Phase::Closed);
        drop(session);
        channel.layers.close(&channel.socket);
        // Others may hold the connection's entry, and with it the socket, for a while; the client must see the end now.
        channel.socket.hang_up(true);
        drop(guard);
    }

    fn send_refusal(channel: &mut Channel, refused: Refused) {
        match refused {
            Refused::Error(error) => channel.send_error(&error),
            Refused::EarlyError(error) => {
                ErrReply::from(&error).write_before_handshake(&mut channel.out);
                channel.send();
            }
            Refused::Gone => {}
        }
    }

    /// Connections from acceptance to the end of their session.
    pub fn open_connections(&self) -> u32 {
        self.open.load(Ordering::Acquire)
    }

    /// Stops all connections (idle ones at once, statements as soon as they notice) and waits for their sessions to
    /// end, at most until `deadline`. Returns how many are left.
    pub fn stop_connections(&self, deadline: Instant) -> u32 {
        self.stopping.store(true, Ordering::SeqCst);
        for connection in self.service.connections().list() {
            connection.stop(Stop::Shutdown);
        }
        loop {
            let ended = self.ended.load(Ordering::Acquire);
            let open = self.open_connections();
            if open == 0 || Instant::now() >= deadline {
                return open;
            }
            futex::wait(&self.ended, ended, Some(deadline));
        }
    }
}

/// A connection that is not logged in.
struct Visitor<S: Service> {
    channel: Channel,
    guard: OpenGuard<S>,
}

/// A connection with its session. Dropped in this order: the session, and so its transaction, ends before the connection does.
struct Guest<S: Service> {
    session: S::Session,
    login: Login,
    visitor: Visitor<S>,
    /// While it is being served in turns, and in between if others may wait for it: what it has laid down for what is lent to it.
    lent: Option<turns::Lent<S>>,
    /// What its client is to be told before anything else.
    reply: Option<Unsent>,
    turns: turns::Turns,
}

/// A reply that is yet to be sent.
enum Unsent {
    /// It waits for the log, or what is left of it does. `sequence`: of its first packet, or of an error in its place.
    Late { sequence: u8, packets: Box<[u8]> },
    /// The client did not take it all at once.
    Rest(Box<[u8]>),
    /// Its statement waits for a row, or goes on now; there is no reply yet.
    Unwritten,
}

/// Counts a connection out when its session has ended, however that came about.
struct OpenGuard<S: Service> {
    front: Arc<Front<S>>,
    id: u32,
    /// Where it is parked, from the first time on.
    ticket: Option<Ticket>,
    /// The post that watches it while it is parked.
    post: usize,
}

/// What becomes of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// It may be parked until its client speaks.
    Park,
    /// Its client is silent, and it may go to a thread of its own.
    Move,
    /// Its reply is written, and may be sent by others; then it may be parked.
    Reply,
    /// Its reply waits for the log.
    Wait,
    /// Its statement waits for a row.
    Leave,
    /// It ends.
    End,
}

impl<S: Service> Drop for OpenGuard<S> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.front.seats[self.post].give_back(ticket);
        }
        self.front.service.connections().remove(self.id);
        self.front.open.fetch_sub(1, Ordering::AcqRel);
        self.front.ended.fetch_add(1, Ordering::Release);
        futex::wake(&self.front.ended, 1);
    }
}

fn set_label(connection: &Connection, login: &Login) {
    connection.set_label(|label| {
        label.user.clone_from(&login.user);
        label.account_user.clone_from(&login.account_user);
        label.database.clone_from(&login.database);
    });
}
