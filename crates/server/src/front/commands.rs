//! The commands of one connection: received, answered, and the answers sent.

use super::{Front, Guest, Next, Unsent, Visitor, set_label};
use crate::channel::{Channel, Lost, Received, StatementIo, UploadState};
use crate::login::Refused;
use mysql_error::{SqlError, codes};
use protocol::reader::PacketPlace;
use protocol::reply::OkReply;
use protocol::{Command, ErrReply};
use session::command::{Flow, Login, command_error};
use session::connections::{Phase, SLEEP, Stop};
use session::service::{Service, Session};
use std::convert::Infallible;
use std::ops::ControlFlow;

/// Longest reply that may wait for the log without a thread; one that says OK has a few dozen bytes.
const LATE_BYTES_MAX: usize = 512;

/// What a step of a command's way came to; a break says what becomes of the connection, which is not served any longer here.
type Step<T> = ControlFlow<Next, T>;

impl<S: Service> Front<S> {
    /// Receive, answer, send, until one side has enough or the session can be parked. `waits`: whether it waits for the first command; `shared`: whether it is parked even
    /// when there are few connections.
    #[inline(never)]
    pub(super) fn command_loop(&self, guest: &mut Guest<S>, waits: bool, shared: bool) -> Next {
        let ControlFlow::Break(next) = self.serve_on(guest, waits, shared);
        next
    }

    // The steps are inlined: a connection's thread has one frame for all of them, and calls nothing more for each command.
    #[inline(always)]
    fn serve_on(&self, guest: &mut Guest<S>, mut waits: bool, shared: bool) -> Step<Infallible> {
        if let Some(unsent) = guest.reply.take() {
            self.send_unsent(guest, unsent, shared)?;
            waits = self.waits_for_next(guest, shared)?;
        }
        // It was parked with half a packet.
        let mut resumes = guest.visitor.channel.connection.phase() == Phase::Reading;
        loop {
            let place = self.receive(guest, waits, shared, std::mem::take(&mut resumes))?;
            let flow = self.answer(guest, &place, shared)?;
            self.end_command(guest, flow, shared)?;
            waits = self.waits_for_next(guest, shared)?;
        }
    }

    /// After a reply: whether this thread waits for the client's next command. Otherwise what has come already is answered, and then the session is parked.
    #[inline(always)]
    fn waits_for_next(&self, guest: &mut Guest<S>, shared: bool) -> Step<bool> {
        let waits = !(shared || self.is_crowded());
        if !waits && !guest.visitor.channel.may_have_more() {
            return ControlFlow::Break(Next::Park);
        }
        ControlFlow::Continue(waits)
    }

    /// The next packet; those that cannot be taken are refused on the way. `resumes`: a part of it has come before.
    #[inline(always)]
    fn receive(&self, guest: &mut Guest<S>, waits: bool, shared: bool, mut resumes: bool) -> Step<PacketPlace> {
        let attention = (!shared).then_some(&self.attention);
        let Guest { session, visitor: Visitor { channel, .. }, turns, .. } = guest;
        loop {
            if !std::mem::take(&mut resumes) {
                channel.reader.expect_sequence(0);
            }
            let limit = session.max_allowed_packet();
            let received = if waits { channel.read_a_while(limit, attention) } else { channel.read_ready(limit) };
            match received {
                Ok(Received::Packet(place)) => return ControlFlow::Continue(place),
                Ok(Received::TooLarge(sequence)) => Self::refuse_packet(channel, sequence, &codes::net_packet_too_large()),
                Ok(Received::NoMemory(sequence)) => Self::refuse_packet(channel, sequence, &codes::out_of_resources()),
                Err(Lost::OutOfOrder) => {
                    channel.out.set_sequence(0);
                    channel.send_error(&codes::net_packets_out_of_order());
                    return ControlFlow::Break(Next::End);
                }
                Err(Lost::NotYet) if waits && !shared && turns.are_first() => return ControlFlow::Break(Next::Move),
                Err(Lost::NotYet) if waits && !self.rest(channel, session, shared) => resumes = true,
                Err(Lost::NotYet) => return ControlFlow::Break(Next::Park),
                Err(Lost::End) => {
                    let was = channel.connection.phase();
                    channel.send_farewell(channel.connection.stop_requested(), was);
                    session.client_is_lost();
                    return ControlFlow::Break(Next::End);
                }
            }
        }
    }

    /// Answers a packet that was thrown away; the connection goes on.
    #[cold]
    fn refuse_packet(channel: &mut Channel, sequence: u8, error: &SqlError) {
        channel.out.set_sequence(sequence);
        channel.send_error(error);
        channel.connection.end_command();
    }

    /// Has a command answered; the reply is left in the channel.
    #[inline(always)]
    fn answer(&self, guest: &mut Guest<S>, place: &PacketPlace, shared: bool) -> Step<Flow> {
        let Guest { session, login, visitor: Visitor { channel, .. }, .. } = guest;
        let byte = channel.reader.payload(place).first().copied().unwrap_or(SLEEP);
        if !channel.connection.begin_command(byte) {
            channel.send_farewell(channel.connection.stop_requested(), Phase::Running);
            return ControlFlow::Break(Next::End);
        }
        channel.out.set_sequence(place.reply_sequence());
        match Command::parse(channel.reader.payload(place), login.capabilities) {
            Ok(Command::Quit) => {
                session.client_quits();
                ControlFlow::Break(Next::End)
            }
            Ok(Command::ChangeUser(payload)) => {
                let payload = payload.to_vec();
                self.answer_change_user(guest, place, &payload)
            }
            Ok(command) => {
                let limit = session.max_allowed_packet();
                let unread = channel.reader.unread();
                let mut io = StatementIo::new(&channel.socket, &mut channel.layers, &channel.connection, unread, limit, shared);
                let flow = session.handle(command, &mut channel.out, &mut io);
                let upload = io.finish();
                Self::end_upload(channel, upload)?;
                ControlFlow::Continue(flow)
            }
            Err(error) => {
                ErrReply::from(&command_error(error)).write(&mut channel.out);
                ControlFlow::Continue(Flow::Continue)
            }
        }
    }

    /// Has a command go on whose statement has been waiting for a row.
    #[inline(never)]
    fn go_on(guest: &mut Guest<S>, shared: bool) -> Flow {
        let Guest { session, visitor: Visitor { channel, .. }, .. } = guest;
        let limit = session.max_allowed_packet();
        let unread = channel.reader.unread();
        let mut io = StatementIo::new(&channel.socket, &mut channel.layers, &channel.connection, unread, limit, shared);
        session.go_on(&mut channel.out, &mut io)
    }

    /// What the client has sent of a file is not read as commands.
    #[inline(always)]
    fn end_upload(channel: &mut Channel, upload: UploadState) -> Step<()> {
        match upload {
            UploadState::None => ControlFlow::Continue(()),
            UploadState::Ended(rest) => {
                channel.reader = rest;
                ControlFlow::Continue(())
            }
            UploadState::Broken => {
                // The rest of the upload cannot be told from commands; the reply still goes out, but to who was killed.
                if channel.connection.stop_requested() != Stop::Connection {
                    channel.send();
                }
                ControlFlow::Break(Next::End)
            }
        }
    }

    /// COM_CHANGE_USER, which begins a login of its own.
    #[cold]
    fn answer_change_user(&self, guest: &mut Guest<S>, place: &PacketPlace, payload: &[u8]) -> Step<Flow> {
        let Guest { session, login, visitor: Visitor { channel, .. }, .. } = guest;
        channel.reader.expect_sequence(place.reply_sequence().wrapping_add(1));
        match self.change_user(channel, session, login, payload) {
            Ok(new) => {
                *login = new;
                ControlFlow::Continue(Flow::Continue)
            }
            Err(refused) => {
                if matches!(refused, Refused::Gone) {
                    session.client_is_lost();
                }
                Self::send_refusal(channel, refused);
                ControlFlow::Break(Next::End)
            }
        }
    }

    fn change_user(&self, channel: &mut Channel, session: &mut S::Session, old: &Login, payload: &[u8]) -> Result<Login, Refused> {
        let login = self.authenticator.change_user(channel, self.service.accounts(), old, payload)?;
        set_label(&channel.connection, &login);
        session.change_user(login.clone()).map_err(Refused::Error)?;
        OkReply { status: session.status(), ..OkReply::default() }.write(login.capabilities, &mut channel.out);
        Ok(login)
    }

    /// Ends a command that was answered, and sends the reply, unless that is to wait for the log or for others.
    #[inline(always)]
    fn end_command(&self, guest: &mut Guest<S>, flow: Flow, shared: bool) -> Step<()> {
        let Guest { session, visitor: Visitor { channel, .. }, reply, .. } = guest;
        if matches!(flow, Flow::Left | Flow::Later) {
            if flow == Flow::Left {
                *reply = Some(Unsent::Unwritten);
                return ControlFlow::Break(Next::Leave);
            }
            // Not that of the reply: its beginning may have been sent, answers to statements before this one or the request for a file.
            let sequence = channel.out.first_sequence();
            if shared && channel.out.len() <= LATE_BYTES_MAX && !self.service.is_durable(session.awaits()) {
                *reply = Some(Unsent::Late { sequence, packets: channel.out.bytes().into() });
                channel.out.clear();
                return ControlFlow::Break(Next::Wait);
            }
            Self::finish_late(channel, session, sequence);
        }
        if channel.connection.stop_requested() == Stop::Connection && flow != Flow::Quit {
            // Another killed it: MySQL closes such a connection without a word.
            return ControlFlow::Break(Next::End);
        }
        channel.connection.end_command();
        if shared && flow != Flow::Quit && self.goes_with_others(channel) {
            return ControlFlow::Break(Next::Reply);
        }
        if !channel.send() || flow == Flow::Quit {
            return ControlFlow::Break(Next::End);
        }
        ControlFlow::Continue(())
    }

    /// Sends what the client is to be told before anything else; a command that has waited for a row goes on to that.
    fn send_unsent(&self, guest: &mut Guest<S>, unsent: Unsent, shared: bool) -> Step<()> {
        let sent = match unsent {
            Unsent::Unwritten => {
                let flow = Self::go_on(guest, shared);
                return self.end_command(guest, flow, shared);
            }
            Unsent::Late { sequence, packets } => {
                let Guest { session, visitor: Visitor { channel, .. }, .. } = guest;
                let goes_on = Self::end_late(channel, session, sequence, &packets);
                if goes_on && shared && self.goes_with_others(channel) {
                    return ControlFlow::Break(Next::Reply);
                }
                goes_on && channel.send()
            }
            Unsent::Rest(bytes) => {
                let channel = &guest.visitor.channel;
                channel.socket.send(&bytes, &channel.connection)
            }
        };
        if sent { ControlFlow::Continue(()) } else { ControlFlow::Break(Next::End) }
    }

    /// Whether the reply in a channel may be sent together with others.
    #[inline]
    fn goes_with_others(&self, channel: &mut Channel) -> bool {
        self.mail.is_some() && channel.may_be_sent_by_others() && !channel.may_have_more()
    }

    /// Ends a command whose reply has waited for the log; false when the connection is to end.
    fn end_late(channel: &mut Channel, session: &mut S::Session, sequence: u8, packets: &[u8]) -> bool {
        channel.out.set_sequence(sequence);
        channel.out.append_numbered(packets);
        Self::finish_late(channel, session, sequence);
        if channel.connection.stop_requested() == Stop::Connection {
            return false;
        }
        channel.connection.end_command();
        true
    }

    /// Has the session finish a command that ended with [`Flow::Later`]. An error takes the place of what is in the channel, which begins with this sequence id.
    fn finish_late(channel: &mut Channel, session: &mut S::Session, sequence: u8) {
        if let Err(error) = session.finish() {
            channel.out.clear();
            channel.out.set_sequence(sequence);
            ErrReply::from(&error).write(&mut channel.out);
        }
    }
}
