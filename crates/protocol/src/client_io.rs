//! [`ClientIo`]: what a running statement may ask of its client's connection.

use crate::writer::PacketWriter;

/// Why a statement cannot go on talking to its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientGone {
    /// The connection broke or was closed.
    Disconnected,
    /// The client broke the protocol; the connection cannot be used any more.
    Protocol,
    /// A packet of the client is longer than `max_allowed_packet`.
    PacketTooLarge,
    /// There is no memory for a packet.
    NoMemory,
}

impl std::fmt::Display for ClientGone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Disconnected => "the client has gone",
            Self::Protocol => "the client broke the protocol",
            Self::NoMemory => "there is no memory for a packet",
            Self::PacketTooLarge => "the client sent a packet bigger than max_allowed_packet",
        })
    }
}

impl std::error::Error for ClientGone {}

/// The client's connection as a statement sees it while it runs. `server` implements it over a socket.
pub trait ClientIo {
    /// Sends everything in `out` and leaves it empty. Blocks while the client is slow, at most `net_write_timeout`.
    fn flush(&mut self, out: &mut PacketWriter) -> Result<(), ClientGone>;

    /// The next packet of a LOCAL INFILE upload; empty at its end. `out` must have been flushed with the request in it.
    ///
    /// After the empty packet, and after an error that leaves the connection usable, the caller goes on with
    /// [`PacketWriter::set_sequence`] of [`ClientIo::reply_sequence`].
    fn read_packet(&mut self) -> Result<&[u8], ClientGone>;

    /// The sequence id that follows the last packet read.
    fn reply_sequence(&self) -> u8;

    /// Whether what is left in `out` when the command ends may be sent later, so that no thread waits until it can be.
    fn may_reply_later(&self) -> bool {
        false
    }
}

/// A client that takes everything at once and sends nothing: for statements whose reply stays in the buffer, and tests.
#[derive(Debug, Default)]
pub struct NoClient {
    /// Everything flushed so far.
    pub sent: Vec<u8>,
}

impl ClientIo for NoClient {
    fn flush(&mut self, out: &mut PacketWriter) -> Result<(), ClientGone> {
        self.sent.extend_from_slice(out.bytes());
        out.clear();
        Ok(())
    }

    fn read_packet(&mut self) -> Result<&[u8], ClientGone> {
        Err(ClientGone::Disconnected)
    }

    fn reply_sequence(&self) -> u8 {
        0
    }
}
