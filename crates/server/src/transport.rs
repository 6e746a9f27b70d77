//! [`Layers`]: what lies between packets and the socket: encryption and compression, both or (mostly) none.
//!
//! A connection without layers pays one branch at each receive and send. With them, bytes are copied as rustls and the decompressor do, and
//! no more; compression is below packets and above encryption. A long reply is encrypted in pieces of `PIECE_BYTES`, so that what waits to be sent is bounded.
//!
//! # Invariants
//! 1. Once a connection is encrypted nothing goes past the encryption: bytes that came behind the request for it are the handshake's.
//! 2. Bytes that are broken (a bad record, a frame that is not what it announces) end this connection and no other.

use std::io::{self, IoSlice, Read, Write};
use std::sync::Arc;

use protocol::compressed::{Algorithm, CompressedReader, CompressedWriter};
use session::connections::Connection;
use tls::Secured;
use tls::rustls::{ServerConfig, ServerConnection};

use crate::socket::Socket;

/// Plain bytes that are encrypted at once.
const PIECE_BYTES: usize = 64 * 1024;
/// What an encrypted connection holds beside its buffers, roughly: keys, buffers of records.
const TLS_BYTES: usize = 24 * 1024;

/// What lies between packets and the socket.
#[derive(Debug, Default)]
pub struct Layers(Option<Box<Stack>>);

#[derive(Debug, Default)]
struct Stack {
    tls: Option<ServerConnection>,
    compressed: Option<(CompressedReader, CompressedWriter)>,
}

/// Counts what was received: bytes of packets, whatever lies between them and the wire.
#[inline]
fn counted(connection: &Connection, received: Option<usize>) -> Option<usize> {
    if let Some(count) = received {
        connection.count_received(count);
    }
    received
}

impl Layers {
    /// Receives what is there into `room`, or waits for it. `None` at the end of the stream or when the connection broke.
    #[inline]
    pub fn receive(&mut self, socket: &Socket, connection: &Connection, room: &mut [u8]) -> Option<usize> {
        let received = match &mut self.0 {
            None => socket.receive(room),
            Some(stack) => stack.receive(socket, connection, room),
        };
        counted(connection, received)
    }

    /// The same, but not for ever: as [`Socket::receive_a_while`].
    #[inline]
    pub fn receive_a_while(&mut self, socket: &Socket, connection: &Connection, room: &mut [u8]) -> Option<usize> {
        let received = match &mut self.0 {
            None => socket.receive_a_while(room),
            Some(stack) => stack.receive_or_nothing(Source { socket, waits: true }, connection, room),
        };
        counted(connection, received)
    }

    /// Receives what is there; `Some(0)` when nothing is.
    pub fn receive_ready(&mut self, socket: &Socket, connection: &Connection, room: &mut [u8]) -> Option<usize> {
        let received = match &mut self.0 {
            None => socket.receive_now(room),
            Some(stack) => stack.receive_or_nothing(Source { socket, waits: false }, connection, room),
        };
        counted(connection, received)
    }

    /// Sends all bytes, as [`Socket::send`] does.
    #[inline]
    pub fn send(&mut self, socket: &Socket, connection: &Connection, bytes: &[u8]) -> bool {
        connection.count_sent(bytes.len());
        match &mut self.0 {
            None => socket.send(bytes, connection),
            Some(stack) => stack.send(socket, connection, bytes),
        }
    }

    /// Whether bytes go to the socket as they are.
    #[inline]
    pub const fn is_plain(&self) -> bool {
        self.0.is_none()
    }

    /// Whether bytes have arrived that wait in a layer: a wait for the socket would not see them.
    #[inline]
    pub fn has_input(&mut self) -> bool {
        self.0.as_mut().is_some_and(|stack| stack.has_input())
    }

    /// Memory that the layers hold.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |stack| stack.bytes())
    }

    /// Carries out the server's part of a TLS handshake. `arrived` came behind the client's request for it. `None` when it failed: the client
    /// has been told, if it speaks TLS at all.
    pub fn encrypt(&mut self, socket: &Socket, connection: &Connection, config: &Arc<ServerConfig>, arrived: &[u8]) -> Option<Secured> {
        let mut tls = ServerConnection::new(Arc::clone(config)).ok()?;
        tls.set_buffer_limit(Some(PIECE_BYTES));
        let done = shake_hands(&mut tls, socket, connection, arrived);
        let secured = done.is_some().then(|| Secured::of(&tls));
        self.0.get_or_insert_default().tls = Some(tls);
        secured
    }

    /// From now on bytes go in compressed frames. `arrived` came before, and belongs to the first of them.
    pub fn compress(&mut self, algorithm: Algorithm, arrived: Vec<u8>) {
        let compressed = (CompressedReader::new(algorithm, arrived), CompressedWriter::new(algorithm));
        self.0.get_or_insert_default().compressed = Some(compressed);
    }

    /// Whether bytes go in compressed frames.
    pub fn is_compressed(&self) -> bool {
        self.0.as_ref().is_some_and(|stack| stack.compressed.is_some())
    }

    /// Gives back what an idle connection does not need.
    pub fn shrink(&mut self) {
        if let Some((reader, writer)) = self.0.as_mut().and_then(|stack| stack.compressed.as_mut()) {
            reader.shrink();
            writer.shrink();
        }
    }

    /// Tells the client that nothing more will come, as far as it takes that at once.
    pub fn close(&mut self, socket: &Socket) {
        let Some(tls) = self.0.as_mut().and_then(|stack| stack.tls.as_mut()) else { return };
        tls.send_close_notify();
        // A client that does not read does not get it.
        let _ = tls.write_tls(&mut AtOnce(socket));
    }
}

impl Stack {
    fn receive(&mut self, socket: &Socket, connection: &Connection, room: &mut [u8]) -> Option<usize> {
        let Some((reader, _)) = &mut self.compressed else {
            return receive_below(&mut self.tls, socket, connection, room);
        };
        loop {
            let count = reader.take(room);
            if count > 0 {
                return Some(count);
            }
            if !reader.decode().ok()? {
                let count = receive_below(&mut self.tls, socket, connection, reader.room().ok()?)?;
                reader.filled(count);
            }
        }
    }

    fn receive_or_nothing(&mut self, from: Source<'_>, connection: &Connection, room: &mut [u8]) -> Option<usize> {
        let Some((reader, _)) = &mut self.compressed else {
            return below_or_nothing(&mut self.tls, from, connection, room);
        };
        loop {
            let count = reader.take(room);
            if count > 0 {
                return Some(count);
            }
            if !reader.decode().ok()? {
                match below_or_nothing(&mut self.tls, from, connection, reader.room().ok()?)? {
                    0 => return Some(0),
                    count => reader.filled(count),
                }
            }
        }
    }

    fn send(&mut self, socket: &Socket, connection: &Connection, bytes: &[u8]) -> bool {
        let Some((reader, writer)) = &mut self.compressed else {
            return send_below(&mut self.tls, socket, connection, bytes);
        };
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let sequence = reader.reply_sequence();
            let (frame, count) = writer.frame(bytes, sequence);
            if !send_below(&mut self.tls, socket, connection, frame) {
                return false;
            }
            reader.set_sequence(sequence.wrapping_add(1));
            bytes = &bytes[count..];
        }
        true
    }

    fn has_input(&mut self) -> bool {
        if self.compressed.as_ref().is_some_and(|(reader, _)| reader.has_input()) {
            return true;
        }
        let plain = self.tls.as_mut().map(|tls| tls.process_new_packets());
        // A stream that broke has something to say, too.
        plain.is_some_and(|state| state.map_or(true, |state| state.plaintext_bytes_to_read() > 0 || state.peer_has_closed()))
    }

    fn bytes(&self) -> usize {
        let compressed = self.compressed.as_ref().map_or(0, |(reader, writer)| reader.bytes() + writer.bytes());
        compressed + if self.tls.is_some() { TLS_BYTES } else { 0 }
    }
}

fn receive_below(tls: &mut Option<ServerConnection>, socket: &Socket, connection: &Connection, room: &mut [u8]) -> Option<usize> {
    match tls {
        Some(tls) => receive_encrypted(tls, socket, connection, room),
        None => socket.receive(room),
    }
}

fn below_or_nothing(tls: &mut Option<ServerConnection>, from: Source<'_>, connection: &Connection, room: &mut [u8]) -> Option<usize> {
    match tls {
        Some(tls) => encrypted_or_nothing(tls, from, connection, room),
        None => from.receive(room),
    }
}

fn send_below(tls: &mut Option<ServerConnection>, socket: &Socket, connection: &Connection, bytes: &[u8]) -> bool {
    match tls {
        Some(tls) => send_encrypted(tls, socket, connection, bytes),
        None => socket.send(bytes, connection),
    }
}

/// Takes what has arrived, and more when nothing has; what the protocol answers by itself is sent.
fn pull(tls: &mut ServerConnection, socket: &Socket, connection: &Connection, from: &mut dyn Read) -> Option<()> {
    match tls.read_tls(from) {
        Ok(0) | Err(_) => return None,
        Ok(_) => {}
    }
    let processed = tls.process_new_packets();
    // The answer may be an alert that says what was wrong.
    push(tls, socket, connection)?;
    processed.ok().map(|_| ())
}

/// Sends what is encrypted.
fn push(tls: &mut ServerConnection, socket: &Socket, connection: &Connection) -> Option<()> {
    while tls.wants_write() {
        tls.write_tls(&mut Outgoing { socket, connection }).ok()?;
    }
    Some(())
}

fn shake_hands(tls: &mut ServerConnection, socket: &Socket, connection: &Connection, mut arrived: &[u8]) -> Option<()> {
    while !arrived.is_empty() {
        pull(tls, socket, connection, &mut arrived)?;
    }
    while tls.is_handshaking() {
        pull(tls, socket, connection, &mut Incoming(socket))?;
    }
    Some(())
}

fn receive_encrypted(tls: &mut ServerConnection, socket: &Socket, connection: &Connection, room: &mut [u8]) -> Option<usize> {
    loop {
        match tls.reader().read(room) {
            Ok(0) => return None,
            Ok(count) => return Some(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
        pull(tls, socket, connection, &mut Incoming(socket))?;
    }
}

/// As [`receive_encrypted`], without a wait or with one that ends: `Some(0)` when no whole record is there.
fn encrypted_or_nothing(tls: &mut ServerConnection, mut from: Source<'_>, connection: &Connection, room: &mut [u8]) -> Option<usize> {
    loop {
        match tls.reader().read(room) {
            Ok(0) => return None,
            Ok(count) => return Some(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
        match tls.read_tls(&mut from) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Some(0),
            Err(_) => return None,
        }
        let processed = tls.process_new_packets();
        push(tls, from.socket, connection)?;
        processed.ok()?;
    }
}

fn send_encrypted(tls: &mut ServerConnection, socket: &Socket, connection: &Connection, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match tls.writer().write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(_) => return false,
        }
        if push(tls, socket, connection).is_none() {
            return false;
        }
    }
    true
}

/// The socket as rustls reads it.
struct Incoming<'a>(&'a Socket);

impl Read for Incoming<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        Ok(self.0.receive(room).unwrap_or(0))
    }
}

/// The same without waiting, or with a wait that ends.
#[derive(Clone, Copy)]
struct Source<'a> {
    socket: &'a Socket,
    waits: bool,
}

impl Source<'_> {
    fn receive(self, room: &mut [u8]) -> Option<usize> {
        if self.waits { self.socket.receive_a_while(room) } else { self.socket.receive_now(room) }
    }
}

impl Read for Source<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self.receive(room) {
            Some(0) => Err(io::ErrorKind::WouldBlock.into()),
            Some(count) => Ok(count),
            None => Ok(0),
        }
    }
}

/// The socket as rustls writes it. It gives its records in pieces; several go in one call.
struct Outgoing<'a> {
    socket: &'a Socket,
    connection: &'a Connection,
}

impl Write for Outgoing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.socket.send(bytes, self.connection) { Ok(bytes.len()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match pieces {
            [one] => self.write(one),
            [first, ..] => match self.socket.send_now(pieces) {
                Some(0) => self.write(first),
                Some(count) => Ok(count),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            },
            [] => Ok(0),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The socket, as far as it takes bytes without a wait.
struct AtOnce<'a>(&'a Socket);

impl Write for AtOnce<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.send_now(pieces).ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
