//! [`Front`]: what all connections share, and the life of one connection: `commands.rs` has its commands, `turns.rs` on whose thread they are served.

mod commands;
mod turns;

use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use mysql_error::{SqlError, codes};
use protocol::reply::OkReply;
use protocol::{ErrReply, PacketWriter};
use session::command::{ClientAddress, Login};
use session::connections::{Connection, Hangup, Phase, Stop, ThreadCounts};
use session::service::{FrontSettings, Service, Session};
use sync::{CachePadded, Mutex, Rank, futex};

use crate::attention::Attention;
use crate::channel::Channel;
use crate::log::{self, Level};
use crate::login::{Authenticator, Refused};
use crate::pool::{Epoll, Follows, Late, Left, Posts, Processors, Rows, Seats, Thread, Ticket};
use crate::socket::Socket;
use crate::threads::{After, Threads};

/// Threads that wait for the next login.
const LOGIN_THREADS_KEPT: u32 = 16;

/// What all connections share.
pub struct Front<S: Service> {
    /// What answers commands.
    pub service: Arc<S>,
    authenticator: Authenticator,
    /// Threads for logins, from one to the next.
    logins: Arc<Threads>,
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
        let settings = service.settings();
        let (shared_from, many) = (settings.shared_threads_from, settings.shared_threads_at_work);
        let (look, stands_in) = (settings.look_for_client, settings.stand_in);
        let processors = Processors::new();
        let posts = processors.count();
        let front = Arc::new(Self {
            service,
            authenticator: Authenticator::default(),
            logins: Threads::new("login", LOGIN_THREADS_KEPT),
            threads,
            seats: (0..posts).map(|_| Ok(Seats::new(Epoll::new()?))).collect::<std::io::Result<_>>()?,
            rows: Rows::new(posts),
            late: Late::new(),
            left: Left::new(posts),
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

    /// Takes an accepted socket and serves it on a thread of its own.
    pub fn serve(self: &Arc<Self>, fd: OwnedFd, address: ClientAddress) {
        let settings = self.service.settings();
        let socket = Socket::new(fd);
        let connections = self.service.connections();
        let connection = Connection::new(connections.allocate_id(), address.host_and_port(), Box::new(socket.clone()));
        if address == ClientAddress::Unix {
            connection.set_unix();
        }
        let open = self.open.fetch_add(1, Ordering::AcqRel) + 1;
        let over = open > settings.max_connections;
        let guard =
            OpenGuard { front: Arc::clone(self), id: connection.id(), post: connection.id() as usize % self.seats.len(), ticket: None };
        if open > settings.max_connections.saturating_add(1) {
            let error = codes::con_count_error();
            self.service.login_refused(connection.id(), Some(&error));
            refuse(&socket, &connection, &error);
            return;
        }
        connections.add(Arc::clone(&connection));
        if self.stopping.load(Ordering::SeqCst) {
            // The shutdown may have counted before this connection was in the registry.
            connection.stop(Stop::Shutdown);
        }
        self.threads.set_idle_max(settings.thread_cache_size);
        let front = Arc::clone(self);
        let channel = Channel::new(socket.clone(), Arc::clone(&connection));
        // A login takes more stack and makes more small allocations than anything an idle connection keeps. Done on threads of their own, which go
        // from one login to the next, it leaves nothing on the connection's own thread, and the session's parts lie side by side.
        let job = Box::new(move || {
            let visitor = Visitor { channel, guard };
            front.guarded(visitor.guard.id, || front.log_in(visitor, &settings, &address, over));
            After::Ready
        });
        if let Err(error) = self.logins.run(job) {
            refuse(&socket, &connection, &codes::cant_create_thread(error.raw_os_error().unwrap_or(0)));
        }
    }

    /// Runs a part of a connection's life. A panic that the session did not catch costs this connection only; the panic hook has logged where.
    fn guarded(&self, id: u32, part: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(part)).is_err() {
            let incident = self.incidents.fetch_add(1, Ordering::Relaxed) + 1;
            log::write(Level::Error, id, &format!("connection ended by an internal error, incident {incident}"));
        }
    }

    /// From greeting to session; the connection goes on on a thread of its own.
    fn log_in(self: &Arc<Self>, mut visitor: Visitor<S>, settings: &FrontSettings, address: &ClientAddress, over: bool) {
        let Some((mut session, login)) = self.open_session(&mut visitor.channel, settings, address, over) else {
            visitor.channel.layers.close(&visitor.channel.socket);
            return visitor.channel.socket.hang_up(true);
        };
        if !settings.rest_after.is_zero() {
            visitor.channel.set_patience(settings.rest_after);
        }
        let (front, id) = (Arc::downgrade(self), visitor.guard.id);
        session.tell_of_waits(Arc::new(turns::TellsOfWait { front, id }));
        let mut guest = Box::new(Guest { session, login, visitor, lent: None, reply: None, turns: turns::Turns::new() });
        // A session that shares threads needs none of its own to wait for its first command.
        let welcomed = self.is_crowded();
        if welcomed {
            guest = match self.welcome_and_park(guest) {
                Ok(()) => return,
                Err(kept) => kept,
            };
        }
        let channel = &guest.visitor.channel;
        let (socket, connection, sequence) = (channel.socket.clone(), Arc::clone(&channel.connection), channel.out.sequence());
        let plain = channel.layers.is_plain();
        let front = Arc::clone(self);
        let job = Box::new(move || {
            let id = guest.visitor.guard.id;
            let mut parked = false;
            front.guarded(id, || parked = front.serve_commands(guest, welcomed));
            if parked { After::Spare } else { After::Ready }
        });
        if let Err(error) = self.threads.run(job) {
            if plain {
                let mut out = PacketWriter::new();
                out.set_sequence(if welcomed { 0 } else { sequence });
                ErrReply::from(&codes::cant_create_thread(error.raw_os_error().unwrap_or(0))).write(&mut out);
                socket.send(out.bytes(), &connection);
            }
            socket.hang_up(true);
        }
    }

    /// Greets, checks, and begins the session. `None` when the client was refused, and told so.
    fn open_session(
        &self,
        channel: &mut Channel,
        settings: &FrontSettings,
        address: &ClientAddress,
        over: bool,
    ) -> Option<(S::Session, Login)> {
        let logged_in = self.authenticator.log_in(channel, self.service.accounts(), settings, self.service.tls(), address);
        let login = match logged_in {
            Ok(login) => login,
            Err(refused) => {
                let error = match &refused {
                    Refused::Error(error) | Refused::EarlyError(error) => Some(error),
                    Refused::Gone => None,
                };
                self.service.login_refused(channel.connection.id(), error);
                Self::send_refusal(channel, refused);
                return None;
            }
        };
        if over && !self.service.is_administrator(&login) {
            let error = codes::con_count_error();
            self.service.login_refused(channel.connection.id(), Some(&error));
            channel.send_error(&error);
            return None;
        }
        set_label(&channel.connection, &login);
        let interactive = login.capabilities.contains(protocol::Capabilities::INTERACTIVE);
        let wait_timeout = if interactive { settings.interactive_timeout } else { settings.wait_timeout };
        channel.connection.set_wait_timeout_s(u32::try_from(wait_timeout.as_secs()).unwrap_or(u32::MAX));
        channel.connection.set_net_read_timeout(settings.net_read_timeout);
        channel.connection.set_net_write_timeout(settings.net_write_timeout);
        match self.service.begin(Arc::clone(&channel.connection), login.clone()) {
            Ok(session) => Some((session, login)),
            Err(error) => {
                self.service.login_refused(channel.connection.id(), Some(&error));
                channel.send_error(&error);
                None
            }
        }
    }

    /// Sends the first OK; false when the client has gone.
    fn welcome(guest: &mut Guest<S>) -> bool {
        let Guest { session, login, visitor: Visitor { channel, .. }, .. } = guest;
        OkReply { status: session.status(), ..OkReply::default() }.write(login.capabilities, &mut channel.out);
        channel.connection.end_command();
        if !channel.send() {
            return false;
        }
        // All up to the end of the login goes as it is.
        if let Some(algorithm) = channel.connection.compression() {
            channel.compress(algorithm);
        }
        true
    }

    /// From the end of the login on. The thread serves its connection to the end, or until it is parked for the first time: then true.
    fn serve_commands(&self, mut guest: Box<Guest<S>>, welcomed: bool) -> bool {
        if !welcomed && !Self::welcome(&mut guest) {
            Self::end(*guest);
            return false;
        }
        self.serve_alone(guest, true)
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

/// Turns away a client that was not even greeted.
fn refuse(socket: &Socket, connection: &Connection, error: &SqlError) {
    let mut out = PacketWriter::new();
    ErrReply::from(error).write_before_handshake(&mut out);
    socket.send(out.bytes(), connection);
}

fn set_label(connection: &Connection, login: &Login) {
    connection.set_label(|label| {
        label.user.clone_from(&login.user);
        label.account_user.clone_from(&login.account_user);
        label.database.clone_from(&login.database);
    });
}
