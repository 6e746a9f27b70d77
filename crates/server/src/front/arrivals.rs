//! A connection's way in: greeted by the acceptor, watched by it until the client answers, logged in by the crew of logins (`logins/`), and served from then on.
//!
//! A login takes more stack and makes more small allocations than anything an idle connection keeps. Done on threads that go from one login to the next, it leaves nothing on a connection's own thread, and the
//! session's parts lie side by side. With few connections the thread that has logged a client in serves it as well, until the client is silent for a moment: who connects for a request, as web applications do, has
//! gone by then, and no second thread was woken for it.

use super::{Front, Guest, OpenGuard, Visitor, set_label, turns};
use crate::channel::{Channel, Received};
use crate::login::{Greeted, Refused};
use crate::logins::{Enters, Place};
use crate::socket::Socket;
use crate::threads::{After, Threads};
use mysql_error::{SqlError, codes};
use protocol::reply::OkReply;
use protocol::{ErrReply, PacketWriter};
use session::command::{ClientAddress, Login};
use session::connections::{Connection, Hangup, Stop};
use session::service::{FrontSettings, Service, Session};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use sync::blocking::{self, GivesWay};

/// So long the thread that has logged a client in waits for its next command. Requests of web applications ask for one thing after the other; pools connect ahead, and are silent.
const FIRST_SILENCE: Duration = Duration::from_millis(20);

/// A client that has been greeted.
pub(crate) struct Arrival<S: Service> {
    visitor: Visitor<S>,
    settings: FrontSettings,
    address: ClientAddress,
    /// It came when all places were taken.
    over: bool,
    greeted: Greeted,
}

impl<S: Service> Arrival<S> {
    /// Its connection's id.
    pub(crate) fn id(&self) -> u32 {
        self.visitor.guard.id
    }
}

/// How the crew of logins starts a thread.
pub(super) fn starts(threads: &Arc<Threads>) -> impl Fn(crate::logins::Work) -> io::Result<()> + Send + Sync + 'static {
    let threads = Arc::clone(threads);
    move |work| {
        let job = Box::new(move || {
            work();
            After::Ready
        });
        threads.run(job).map_err(|(_, error)| error)
    }
}

impl<S: Service> Front<S> {
    /// Takes an accepted socket and greets its client, without waiting for it. `None` when it was turned away, or has gone.
    pub(crate) fn greet(self: &Arc<Self>, fd: OwnedFd, address: ClientAddress) -> Option<Arrival<S>> {
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
            return None;
        }
        connections.add(Arc::clone(&connection));
        if self.stopping.load(Ordering::SeqCst) {
            // The shutdown may have counted before this connection was in the registry.
            connection.stop(Stop::Shutdown);
        }
        self.threads.set_idle_max(settings.thread_cache_size);
        let mut visitor = Visitor { channel: Channel::new(socket, connection), guard };
        let greeted = self.authenticator.greet(&mut visitor.channel, &settings, self.service.tls());
        match greeted {
            Ok(greeted) if visitor.channel.send_at_once() => Some(Arrival { visitor, settings, address, over, greeted }),
            greeted => {
                self.turn_away(&mut visitor.channel, greeted.err().unwrap_or(Refused::Gone));
                None
            }
        }
    }

    /// A client that was greeted has answered, or has gone.
    pub(crate) fn let_in(&self, arrival: Arrival<S>) {
        self.logins.take(arrival);
    }

    /// From the client's answer to its session, and on.
    fn log_in(self: &Arc<Self>, arrival: Arrival<S>, place: &Place<Arrival<S>>) {
        let Arrival { mut visitor, settings, address, over, greeted } = arrival;
        let Some((mut session, login)) = self.open_session(&mut visitor.channel, &settings, &greeted, &address, over) else {
            visitor.channel.layers.close(&visitor.channel.socket);
            return visitor.channel.socket.hang_up(true);
        };
        let (front, id) = (Arc::downgrade(self), visitor.guard.id);
        session.tell_of_waits(Arc::new(turns::TellsOfWait { front, id }));
        let turns = turns::Turns::new(settings.rest_after);
        let mut guest = Box::new(Guest { session, login, visitor, lent: None, reply: None, turns });
        if let Some(error) = guest.session.init_error() {
            Self::answer_once(&mut guest, &error);
            return Self::end(*guest);
        }
        // A session that shares threads needs none of its own to wait for its first command. Nor does one whose thread the next logins need, where no other is to be had.
        let welcomed = self.is_crowded() || !place.leave();
        if welcomed {
            guest = match self.welcome_and_park(guest) {
                Ok(()) => return,
                Err(kept) => kept,
            };
        }
        if place.leave() {
            blocking::tell(None);
        }
        self.serve_at_first(guest, welcomed);
    }

    /// Greets, checks, and begins the session. `None` when the client was refused, and told so.
    fn open_session(
        &self,
        channel: &mut Channel,
        settings: &FrontSettings,
        greeted: &Greeted,
        address: &ClientAddress,
        over: bool,
    ) -> Option<(S::Session, Login)> {
        let logged_in = self.authenticator.log_in(channel, self.service.accounts(), settings, greeted, self.service.tls(), address);
        let login = match logged_in {
            Ok(login) => login,
            Err(refused) => {
                self.turn_away(channel, refused);
                return None;
            }
        };
        if over && !self.service.is_administrator(&login) {
            self.turn_away(channel, Refused::Error(codes::con_count_error()));
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
                self.turn_away(channel, Refused::Error(error));
                None
            }
        }
    }

    /// Tells a client that it is not let in, and counts it.
    fn turn_away(&self, channel: &mut Channel, refused: Refused) {
        let error = match &refused {
            Refused::Error(error) | Refused::EarlyError(error) => Some(error),
            Refused::Gone => None,
        };
        self.service.login_refused(channel.connection.id(), error);
        Self::send_refusal(channel, refused);
    }

    /// Sends the first OK; false when the client has gone.
    pub(super) fn welcome(guest: &mut Guest<S>) -> bool {
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

    /// Welcomes a client, and answers whatever it asks first with an error.
    #[cold]
    fn answer_once(guest: &mut Guest<S>, error: &SqlError) {
        if !Self::welcome(guest) {
            return;
        }
        let Guest { session, visitor: Visitor { channel, .. }, .. } = guest;
        channel.reader.expect_sequence(0);
        blocking::begins();
        if let Ok(Received::Packet(place)) = channel.read(session.max_allowed_packet()) {
            channel.out.set_sequence(place.reply_sequence());
            channel.send_error(error);
        }
        session.client_is_lost();
    }

    /// From the end of the login on, on the thread that did it: to the end of the connection, until it is parked, or until its client is silent; then it goes on on a thread of its own.
    fn serve_at_first(self: &Arc<Self>, mut guest: Box<Guest<S>>, welcomed: bool) {
        if !welcomed && !Self::welcome(&mut guest) {
            return Self::end(*guest);
        }
        guest.visitor.channel.set_patience(FIRST_SILENCE);
        let turns::Served::Silent(guest) = self.serve_alone(guest, true) else { return };
        let front = Arc::clone(self);
        let job = Box::new(move || {
            let id = guest.visitor.guard.id;
            let mut after = After::Ready;
            front.guarded(id, || after = front.serve_on_its_own(guest, true));
            after
        });
        // No thread is to be had: then this is its own.
        if let Err((job, _)) = self.threads.run(job) {
            job();
        }
    }
}

impl<S: Service> Enters for Arrival<S> {
    fn see_to(self, place: &Arc<Place<Self>>) {
        let (front, id) = (Arc::clone(&self.visitor.guard.front), self.visitor.guard.id);
        blocking::tell(Some(Arc::clone(place) as Arc<dyn GivesWay>));
        front.guarded(id, || front.log_in(self, place));
        blocking::tell(None);
    }

    fn turn_away(mut self, error: &io::Error) {
        let channel = &mut self.visitor.channel;
        // The greeting was the first packet, the client's answer the second.
        channel.out.set_sequence(2);
        let error = codes::cant_create_thread(error.raw_os_error().unwrap_or(0));
        self.visitor.guard.front.turn_away(channel, Refused::Error(error));
    }
}

impl<S: Service> AsFd for Arrival<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.visitor.channel.socket.as_fd()
    }
}

/// Turns away a client that was not even greeted.
fn refuse(socket: &Socket, connection: &Connection, error: &SqlError) {
    let mut out = PacketWriter::new();
    ErrReply::from(error).write_before_handshake(&mut out);
    socket.send(out.bytes(), connection);
}
