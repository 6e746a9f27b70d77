//! [`Channel`]: packets over a socket, with the buffers that a connection reuses.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use memory::{Kind, Tally};
use mysql_error::{SqlError, codes};
use protocol::compressed::Algorithm;
use protocol::packet::PACKET_BYTES_LIMIT;
use protocol::reader::{IDLE_BYTES, PacketPlace};
use protocol::{ClientGone, ClientIo, ErrReply, PacketReader, PacketWriter, ReadError};
use session::connections::{Connection, Phase, STATEMENT_BYTES_KEPT, Stop};

use crate::attention::{Attention, Pace};
use crate::pool::REPLY_BYTES_MAX;
use crate::socket::Socket;
use crate::transport::Layers;
use sync::Moment;

/// A buffer above this is given back once the connection is idle.
const BUFFER_BYTES_KEPT: usize = 2 * IDLE_BYTES;
/// How long a connection with a large buffer must be silent before the buffer goes.
const SHRINK_AFTER: Duration = Duration::from_millis(500);

/// Why no packet came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// The client has gone or was hung up: see the connection's stop.
    End,
    /// The client broke the framing.
    OutOfOrder,
    /// It is not there yet; said by [`Channel::read_ready`] and `Channel::read_a_while` only.
    NotYet,
}

/// What [`Channel::read`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// A packet.
    Packet(PacketPlace),
    /// A packet over the limit, which was thrown away; the reply takes this sequence id.
    TooLarge(u8),
    /// A packet that there was no memory for, thrown away; the reply takes this sequence id.
    NoMemory(u8),
}

/// Buffers that a thread lends to the channels that it serves in turns.
#[derive(Debug, Default)]
pub struct Buffers {
    input: Vec<u8>,
    out: PacketWriter,
}

/// A client's packets in and out.
#[derive(Debug)]
pub struct Channel {
    /// The socket.
    pub socket: Socket,
    /// What lies between it and the packets.
    pub layers: Layers,
    /// The connection's entry in the registry.
    pub connection: Arc<Connection>,
    /// Received bytes.
    pub reader: PacketReader,
    /// Bytes to send.
    pub out: PacketWriter,
    /// What both hold.
    held: Tally,
    /// The socket may hold more than was received last: there was no room, or a layer lies between.
    more: bool,
    /// It may whatever was received: until nothing is.
    until_empty: bool,
    /// Waits for the client come to an end, and whoever waits gives back memory then.
    patient: bool,
    /// How its client has answered of late.
    pace: Pace,
}

impl Channel {
    /// A channel with empty buffers.
    pub fn new(socket: Socket, connection: Arc<Connection>) -> Self {
        let held = Tally::new(Kind::Network);
        Self {
            socket,
            layers: Layers::default(),
            connection,
            reader: PacketReader::new(),
            out: PacketWriter::with_capacity(IDLE_BYTES),
            held,
            more: true,
            until_empty: false,
            patient: false,
            pace: Pace::default(),
        }
    }

    /// Whether bytes have arrived that no packet has used yet, in the reader or in a layer: a wait for the socket would not see them.
    #[inline]
    pub fn has_input(&mut self) -> bool {
        self.reader.has_bytes() || self.layers.has_input()
    }

    /// Whether there may be something to receive that arrived before the last bytes were received, and is not told of any more where each arrival is told once.
    #[inline]
    pub fn may_have_more(&mut self) -> bool {
        self.more || self.until_empty || self.has_input()
    }

    /// Something has come, or the client has gone, which is seen only behind all that it has said.
    pub fn expect_more(&mut self) {
        self.until_empty = true;
    }

    /// From now on `Channel::read_a_while` waits for so long, and whoever calls it lets the channel [rest](Channel::rest) then; zero: without end.
    pub fn set_patience(&mut self, patience: Duration) {
        self.socket.set_patience(patience);
        self.patient = !patience.is_zero();
    }

    /// From now on bytes go in compressed frames.
    pub fn compress(&mut self, algorithm: Algorithm) {
        self.layers.compress(algorithm, self.reader.take_unread());
        self.reader.accept_any_sequence();
    }

    /// Waits for the next packet. Marks the connection as reading while a packet is incomplete, except in the
    /// handshake, whose time is bounded as a whole.
    #[inline]
    pub fn read(&mut self, limit: usize) -> Result<Received, Lost> {
        self.read_with::<false>(limit, None)
    }

    /// As [`Channel::read`], but when the client has been silent for the socket's patience: [`Lost::NotYet`], and what has arrived of the packet is kept. With `attention` it may look for the client for a moment before it
    /// sleeps.
    #[inline]
    pub(crate) fn read_a_while(&mut self, limit: usize, attention: Option<&Attention>) -> Result<Received, Lost> {
        self.read_with::<true>(limit, attention)
    }

    #[inline]
    fn read_with<const A_WHILE: bool>(&mut self, limit: usize, attention: Option<&Attention>) -> Result<Received, Lost> {
        loop {
            match self.reader.next(limit.min(PACKET_BYTES_LIMIT)) {
                Ok(Some(place)) => return Ok(Received::Packet(place)),
                Ok(None) => {}
                Err(ReadError::TooLarge { sequence }) => return Ok(Received::TooLarge(sequence)),
                Err(ReadError::NoMemory { sequence }) => return Ok(Received::NoMemory(sequence)),
                Err(ReadError::OutOfOrder) => return Err(Lost::OutOfOrder),
            }
            if self.reader.has_bytes() {
                if self.connection.phase() != Phase::Handshake {
                    self.connection.enter(Phase::Reading);
                }
            } else if !self.patient && (self.reader.capacity() > BUFFER_BYTES_KEPT || self.out.capacity() > BUFFER_BYTES_KEPT) {
                self.shrink_when_silent();
            }
            self.more = true;
            let room = self.reader.room();
            let received = if A_WHILE {
                match attention {
                    Some(attention) => attention.receive(&mut self.pace, &mut self.layers, &self.socket, &self.connection, room),
                    None => self.layers.receive_a_while(&self.socket, &self.connection, room),
                }
            } else {
                self.layers.receive(&self.socket, &self.connection, room)
            };
            match received {
                None => return Err(Lost::End),
                Some(0) if A_WHILE => return Err(Lost::NotYet),
                Some(count) => self.reader.filled(count),
            }
        }
    }

    /// A command has come at about this moment, and is served in turns.
    #[inline]
    pub(crate) fn comes_in_turn(&mut self, attention: &Attention, now: Moment) {
        attention.came_in_turn(&mut self.pace, now);
    }

    /// Waits, however long, until the client speaks or has gone.
    pub fn wait(&self) {
        self.socket.wait_readable(None);
    }

    /// The next packet, if it is there or has arrived; otherwise [`Lost::NotYet`], and what has arrived of it is kept.
    pub fn read_ready(&mut self, limit: usize) -> Result<Received, Lost> {
        loop {
            match self.reader.next(limit.min(PACKET_BYTES_LIMIT)) {
                Ok(Some(place)) => return Ok(Received::Packet(place)),
                Ok(None) => {}
                Err(ReadError::TooLarge { sequence }) => return Ok(Received::TooLarge(sequence)),
                Err(ReadError::NoMemory { sequence }) => return Ok(Received::NoMemory(sequence)),
                Err(ReadError::OutOfOrder) => return Err(Lost::OutOfOrder),
            }
            let room = self.reader.room();
            let all = room.len();
            let received = self.layers.receive_ready(&self.socket, &self.connection, room);
            // A socket that gives less than was asked for has no more (epoll(7)).
            self.more = !self.layers.is_plain() && received != Some(0) || received == Some(all);
            match received {
                None => return Err(Lost::End),
                Some(0) => {
                    self.until_empty = false;
                    if self.reader.has_bytes() {
                        // Entered anew each time that something has come, so that the watcher sees it.
                        self.connection.enter(Phase::Reading);
                    }
                    return Err(Lost::NotYet);
                }
                Some(count) => self.reader.filled(count),
            }
        }
    }

    /// Exchanges its buffers for these, where nothing is in them. Between commands only.
    pub fn exchange_buffers(&mut self, buffers: &mut Buffers) {
        if self.reader.capacity() > BUFFER_BYTES_KEPT || self.out.capacity() > BUFFER_BYTES_KEPT {
            self.reader.shrink();
            self.out.shrink_to(IDLE_BYTES);
        }
        self.reader.exchange_buffer(&mut buffers.input);
        if self.out.is_empty() {
            std::mem::swap(&mut self.out, &mut buffers.out);
        }
        self.book();
    }

    /// Gives back what a connection does not need that has been silent for a while.
    pub fn rest(&mut self) {
        self.reader.release();
        self.out.shrink_to(0);
        self.layers.shrink();
        self.connection.shrink_statement(0);
        self.book();
    }

    /// A connection that sent or received much, and whose waits have no end, gives the memory back when it falls silent. Costs a system call.
    #[cold]
    fn shrink_when_silent(&mut self) {
        if !self.layers.has_input() && !self.socket.wait_readable(Some(SHRINK_AFTER)) {
            self.reader.shrink();
            self.out.shrink_to(IDLE_BYTES);
            self.layers.shrink();
            self.connection.shrink_statement(STATEMENT_BYTES_KEPT);
        }
        self.book();
    }

    /// Books what the buffers hold.
    #[inline]
    pub fn book(&mut self) {
        self.held.set(self.reader.capacity() + self.out.capacity() + self.layers.bytes());
    }

    /// Sends what was written; false when the client has gone.
    #[inline]
    pub fn send(&mut self) -> bool {
        self.book();
        if self.out.is_empty() {
            return true;
        }
        let sent = self.layers.send(&self.socket, &self.connection, self.out.bytes());
        self.out.clear();
        sent
    }

    /// Sends what was written to a client that has no layers yet, if the kernel takes all of it at once: for who must not wait.
    pub(crate) fn send_at_once(&mut self) -> bool {
        let bytes = self.out.bytes();
        self.connection.count_sent(bytes.len());
        let sent = env::send_at_once(self.socket.as_fd(), bytes) == bytes.len();
        self.out.clear();
        sent
    }

    /// Whether what was written can be sent by others, together with what they have to send.
    #[inline]
    pub(crate) fn may_be_sent_by_others(&self) -> bool {
        self.layers.is_plain() && (1..=REPLY_BYTES_MAX).contains(&self.out.len())
    }

    /// Gives what was written to who sends it.
    #[inline]
    pub(crate) fn give_reply(&mut self, to: &mut Vec<u8>) {
        self.book();
        to.clear();
        to.extend_from_slice(self.out.bytes());
        self.connection.count_sent(to.len());
        self.out.clear();
    }

    /// Writes an error and sends it; the client may already be gone.
    pub fn send_error(&mut self, error: &SqlError) {
        ErrReply::from(error).write(&mut self.out);
        self.send();
    }

    /// The last word to a client whose connection ends for `stop`, if MySQL has one.
    pub fn send_farewell(&mut self, stop: Stop, was: Phase) {
        let error = match stop {
            Stop::Shutdown => codes::server_shutdown(),
            Stop::ConnectionTimeout if was == Phase::Idle => codes::client_interaction_timeout(),
            Stop::ConnectionTimeout if was == Phase::Reading => codes::net_read_interrupted(),
            _ => return,
        };
        self.out.set_sequence(0);
        self.send_error(&error);
    }
}

/// The channel as a running statement sees it. The command's bytes stay borrowed meanwhile, so uploads have a reader of their own.
pub struct StatementIo<'a> {
    socket: &'a Socket,
    layers: &'a mut Layers,
    connection: &'a Connection,
    /// Bytes that arrived with the command and belong to what follows it.
    unread: &'a [u8],
    upload: Option<Box<Upload>>,
    sequence: u8,
    limit: usize,
    may_reply_later: bool,
}

struct Upload {
    reader: PacketReader,
    last: Option<PacketPlace>,
    ended: bool,
}

impl<'a> StatementIo<'a> {
    /// For a command whose bytes are still in the channel's reader.
    pub fn new(
        socket: &'a Socket,
        layers: &'a mut Layers,
        connection: &'a Connection,
        unread: &'a [u8],
        limit: usize,
        may_reply_later: bool,
    ) -> Self {
        Self { socket, layers, connection, unread, upload: None, sequence: 0, limit, may_reply_later }
    }

    /// After the command: whether an upload was read, was it read to its end, and what came after it.
    pub fn finish(self) -> UploadState {
        match self.upload {
            None => UploadState::None,
            Some(upload) if upload.ended => UploadState::Ended(upload.reader),
            Some(_) => UploadState::Broken,
        }
    }
}

/// See [`StatementIo::finish`].
pub enum UploadState {
    /// The command read nothing.
    None,
    /// An upload was read to its end; the reader holds what followed.
    Ended(PacketReader),
    /// An upload was left in the middle: the connection is of no use any more.
    Broken,
}

impl ClientIo for StatementIo<'_> {
    fn flush(&mut self, out: &mut PacketWriter) -> Result<(), ClientGone> {
        self.sequence = out.sequence();
        let sent = self.layers.send(self.socket, self.connection, out.bytes());
        out.clear();
        if sent { Ok(()) } else { Err(ClientGone::Disconnected) }
    }

    fn read_packet(&mut self) -> Result<&[u8], ClientGone> {
        let unread = self.unread;
        let (sequence, compressed) = (self.sequence, self.layers.is_compressed());
        let upload = self.upload.get_or_insert_with(|| {
            let mut reader = PacketReader::new();
            if compressed {
                reader.accept_any_sequence();
            }
            let mut rest = unread;
            while !rest.is_empty() {
                let room = reader.room();
                let count = room.len().min(rest.len());
                room[..count].copy_from_slice(&rest[..count]);
                reader.filled(count);
                rest = &rest[count..];
            }
            reader.expect_sequence(sequence);
            Box::new(Upload { reader, last: None, ended: false })
        });
        if upload.ended {
            // A second file in the same command goes on with the sequence of its own request.
            upload.reader.expect_sequence(sequence);
            upload.ended = false;
        }
        let place = loop {
            match upload.reader.next(self.limit) {
                Ok(Some(place)) => break place,
                Ok(None) => {}
                Err(ReadError::OutOfOrder) => return Err(ClientGone::Protocol),
                Err(ReadError::TooLarge { sequence }) => {
                    self.sequence = sequence;
                    return Err(ClientGone::PacketTooLarge);
                }
                Err(ReadError::NoMemory { sequence }) => {
                    self.sequence = sequence;
                    return Err(ClientGone::NoMemory);
                }
            }
            self.connection.enter(Phase::Reading);
            self.connection.client_wait_begins();
            let received = self.layers.receive(self.socket, self.connection, upload.reader.room());
            self.connection.client_wait_ends();
            self.connection.enter(Phase::Running);
            let Some(count) = received else { return Err(ClientGone::Disconnected) };
            upload.reader.filled(count);
        };
        self.sequence = place.reply_sequence();
        upload.ended = place.is_empty();
        let place = upload.last.insert(place);
        Ok(upload.reader.payload(place))
    }

    fn reply_sequence(&self) -> u8 {
        self.sequence
    }

    fn may_reply_later(&self) -> bool {
        self.may_reply_later
    }
}
