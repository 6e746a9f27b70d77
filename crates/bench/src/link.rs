//! One socket: sends commands, cuts what arrives into packets and feeds them to the reply.

use crate::endpoint::Endpoint;
use crate::process;
use crate::reply::Reply;
use protocol::packet::{FRAME_PAYLOAD_MAX, HEADER_BYTES};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, sockopt};
use std::cell::{Ref, RefCell, RefMut};
use std::future::poll_fn;
use std::net::SocketAddrV4;
use std::task::Poll;

/// A connection's socket and the reply that is arriving on it. Used by one thread.
pub struct Link {
    socket: OwnedFd,
    /// Nobody on the way can listen.
    private: bool,
    state: RefCell<Wire>,
}

struct Wire {
    out: Vec<u8>,
    sent: usize,
    /// What has arrived and was not taken: the beginning of a packet, or packets that nobody has asked for yet.
    partial: Vec<u8>,
    reply: Reply,
    lost: Option<String>,
}

impl Link {
    /// Begins to connect, from an address of this machine's own if one is given (each has its own ports).
    pub fn connect(to: &Endpoint, from: Option<SocketAddrV4>) -> Result<Link, String> {
        let socket = to.begin(from)?;
        let mut reply = Reply::default();
        reply.expect_packet();
        let state = RefCell::new(Wire { out: Vec::new(), sent: 0, partial: Vec::new(), reply, lost: None });
        Ok(Link { socket, private: matches!(to, Endpoint::Unix(_)), state })
    }

    /// The socket, to be waited on.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether nobody on the way can listen, so that a password may go in the clear.
    pub fn is_private(&self) -> bool {
        self.private
    }

    /// The process at the other end, when that is on this machine and may be looked into.
    pub fn server_process(&self, to: &Endpoint) -> Option<u32> {
        match to {
            Endpoint::Tcp(server) => process::listening(net::getsockname(&self.socket).ok()?.try_into().ok()?, *server),
            Endpoint::Unix(_) => u32::try_from(sockopt::socket_peercred(&self.socket).ok()?.pid.as_raw_nonzero().get()).ok(),
        }
    }

    /// Whether something waits for room in the kernel's buffer.
    pub fn is_sending(&self) -> bool {
        !self.state.borrow().out.is_empty()
    }

    /// The last reply.
    pub fn reply(&self) -> Ref<'_, Reply> {
        Ref::map(self.state.borrow(), |wire| &wire.reply)
    }

    /// The reply that is to come.
    pub fn reply_mut(&self) -> RefMut<'_, Reply> {
        RefMut::map(self.state.borrow_mut(), |wire| &mut wire.reply)
    }

    /// Sends one packet, which `payload` appends; the kernel's buffer seldom has no room, then the rest goes when it has.
    pub fn send(&self, sequence: u8, payload: impl FnOnce(&mut Vec<u8>)) {
        let mut wire = self.state.borrow_mut();
        let start = wire.out.len();
        wire.out.extend_from_slice(&[0; HEADER_BYTES]);
        payload(&mut wire.out);
        let length = wire.out.len() - start - HEADER_BYTES;
        assert!(length < FRAME_PAYLOAD_MAX, "a command of {length} bytes");
        let header = [length as u8, (length >> 8) as u8, (length >> 16) as u8, sequence];
        wire.out[start..start + HEADER_BYTES].copy_from_slice(&header);
        self.flush(&mut wire);
    }

    /// Waits until all that was to be sent is with the kernel: for those who stream, so that nothing piles up here.
    pub async fn sent(&self) -> Result<(), String> {
        poll_fn(|_| {
            let wire = self.state.borrow();
            match &wire.lost {
                Some(why) => Poll::Ready(Err(why.clone())),
                None if wire.out.is_empty() => Poll::Ready(Ok(())),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Waits until the server has closed the connection, or it broke.
    pub async fn closed(&self) {
        poll_fn(|_| if self.state.borrow().lost.is_some() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Waits until the reply is complete.
    pub async fn done(&self) -> Result<(), String> {
        poll_fn(|_| {
            let wire = &mut *self.state.borrow_mut();
            if !wire.partial.is_empty() && !wire.reply.is_done() && wire.receive(&[]).is_err() {
                wire.lost.get_or_insert_with(|| MALFORMED.to_owned());
            }
            match &wire.lost {
                Some(why) => Poll::Ready(Err(why.clone())),
                None if wire.reply.is_done() => Poll::Ready(Ok(())),
                None => Poll::Pending,
            }
        })
        .await
    }

    fn flush(&self, wire: &mut Wire) {
        while wire.sent < wire.out.len() {
            match net::send(&self.socket, &wire.out[wire.sent..], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => wire.sent += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::INPROGRESS | Errno::NOTCONN) => return,
                Err(error) => {
                    wire.lost.get_or_insert_with(|| format!("send: {error}"));
                    break;
                }
            }
        }
        wire.out.clear();
        wire.sent = 0;
    }

    /// The socket is ready: sends what is left, receives into `buffer` and takes what has come; to the connection's end when that has come,
    /// too, because nothing tells of it again. Whether the task may go on.
    pub fn ready(&self, buffer: &mut [u8], has_ended: bool) -> bool {
        let mut wire = self.state.borrow_mut();
        let was_sending = wire.sent < wire.out.len();
        if was_sending {
            self.flush(&mut wire);
        }
        loop {
            match net::recv(&self.socket, &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((_, 0)) => {
                    wire.lost.get_or_insert_with(|| "the server closed the connection".to_owned());
                    break;
                }
                Ok((_, count)) => {
                    if wire.receive(&buffer[..count]).is_err() {
                        wire.lost.get_or_insert_with(|| MALFORMED.to_owned());
                        break;
                    }
                    if count < buffer.len() && !has_ended {
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::NOTCONN) => break,
                Err(error) => {
                    wire.lost.get_or_insert_with(|| format!("receive: {error}"));
                    break;
                }
            }
        }
        wire.reply.is_done() || wire.lost.is_some() || was_sending && wire.out.is_empty()
    }
}

impl Wire {
    fn receive(&mut self, bytes: &[u8]) -> Result<(), protocol::Malformed> {
        if self.partial.is_empty() {
            let used = packets(&mut self.reply, bytes)?;
            self.partial.extend_from_slice(&bytes[used..]);
            return Ok(());
        }
        self.partial.extend_from_slice(bytes);
        let used = packets(&mut self.reply, &self.partial)?;
        self.partial.drain(..used);
        Ok(())
    }
}

const MALFORMED: &str = "the server sent a malformed packet";

/// Feeds whole packets to the reply until it is complete; how many bytes they took. What follows stays for the next reply: a login's
/// last packet comes together with the one before it.
fn packets(reply: &mut Reply, bytes: &[u8]) -> Result<usize, protocol::Malformed> {
    let mut used = 0;
    while !reply.is_done()
        && let [a, b, c, sequence, rest @ ..] = &bytes[used..]
    {
        let length = usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16;
        if length >= FRAME_PAYLOAD_MAX {
            return Err(protocol::Malformed);
        }
        let Some(payload) = rest.get(..length) else { break };
        reply.take(payload, *sequence)?;
        used += HEADER_BYTES + length;
    }
    Ok(used)
}
