//! One client's socket: receive, send, hang up. The same for TCP and unix sockets.

use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::Timeout;
use rustix::net::{AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, SocketAddrAny, getpeername, getsockname};
use session::connections::{Connection, Hangup, Phase};

/// A connected socket, shared between its thread and those who may hang it up.
#[derive(Debug, Clone)]
pub struct Socket(Arc<OwnedFd>);

impl Socket {
    /// Takes a connected, blocking socket.
    pub fn new(fd: OwnedFd) -> Self {
        Self(Arc::new(fd))
    }

    /// Asks the processor's caches for it.
    #[inline]
    pub(crate) fn bring_near(&self) {
        base::bring_all_near(&*self.0);
    }

    /// How long [`Socket::receive_a_while`] waits; at first, and with zero, without end.
    pub fn set_patience(&self, patience: Duration) {
        let patience = (!patience.is_zero()).then_some(patience);
        // Refused by no system that has sockets; then it waits as before.
        let _ = rustix::net::sockopt::set_socket_timeout(&*self.0, Timeout::Recv, patience);
    }

    /// Whether the other end is on this machine, as far as its address tells.
    pub(crate) fn is_local(&self) -> bool {
        let Ok(own) = getsockname(&*self.0) else { return false };
        let ip = |address: SocketAddrAny| SocketAddr::try_from(address).ok().map(|address| address.ip());
        own.address_family() == AddressFamily::UNIX
            || getpeername(&*self.0).ok().flatten().and_then(ip).is_some_and(|other| ip(own) == Some(other))
    }

    /// Receives what is there into `room`, or waits for it. `None` at the end of the stream or when the connection broke.
    #[inline]
    pub fn receive(&self, room: &mut [u8]) -> Option<usize> {
        loop {
            match self.receive_a_while(room) {
                Some(0) => {}
                received => return received,
            }
        }
    }

    /// Receives what is there into `room`, or waits for it, but not for ever; `Some(0)` when nothing came.
    #[inline]
    pub fn receive_a_while(&self, room: &mut [u8]) -> Option<usize> {
        self.receive_with(room, RecvFlags::empty())
    }

    /// Receives what is there; `Some(0)` when nothing is.
    pub fn receive_now(&self, room: &mut [u8]) -> Option<usize> {
        self.receive_with(room, RecvFlags::DONTWAIT)
    }

    #[inline]
    fn receive_with(&self, room: &mut [u8], flags: RecvFlags) -> Option<usize> {
        loop {
            match rustix::net::recv(&*self.0, &mut *room, flags) {
                Ok((0, _)) => return None,
                Ok((count, _)) => return Some(count),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Some(0),
                Err(_) => return None,
            }
        }
    }

    /// Sends all bytes. While the client is slow, `connection` is marked as writing, so that the watcher sees it.
    /// False when the connection broke.
    #[inline]
    pub fn send(&self, bytes: &[u8], connection: &Connection) -> bool {
        match rustix::net::send(&*self.0, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(count) if count == bytes.len() => true,
            Ok(count) => self.send_slowly(&bytes[count..], connection),
            Err(Errno::AGAIN | Errno::INTR) => self.send_slowly(bytes, connection),
            Err(_) => false,
        }
    }

    /// Sends what is taken without a wait, of several pieces; `Some(0)` when nothing is. `None` when the connection broke.
    pub fn send_now(&self, pieces: &[IoSlice<'_>]) -> Option<usize> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        loop {
            match rustix::net::sendmsg(&*self.0, pieces, &mut SendAncillaryBuffer::default(), flags) {
                Ok(count) => return Some(count),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Some(0),
                Err(_) => return None,
            }
        }
    }

    #[cold]
    fn send_slowly(&self, bytes: &[u8], connection: &Connection) -> bool {
        let before = connection.phase();
        // A statement that waits for its client does not work; one that has ended is out of it anyway.
        if before == Phase::Running {
            connection.client_wait_begins();
        }
        let sent = self.send_pieces(bytes, connection);
        if before == Phase::Running {
            connection.client_wait_ends();
        }
        if sent {
            connection.enter(before);
        }
        sent
    }

    fn send_pieces(&self, mut bytes: &[u8], connection: &Connection) -> bool {
        while !bytes.is_empty() {
            // Entering anew for each piece shows the watcher that the client still takes bytes.
            connection.enter(Phase::Writing);
            if connection.stop_requested().ends_connection() {
                return false;
            }
            // Pieces bound how long one call takes, so that progress is visible.
            match rustix::net::send(&*self.0, &bytes[..bytes.len().min(256 * 1024)], SendFlags::NOSIGNAL) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Waits until there is something to receive, at most `timeout`; false when the time is over.
    pub fn wait_readable(&self, timeout: Option<Duration>) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(self.0.as_fd(), PollFlags::IN)];
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        // An interrupted wait counts as readable: the caller then receives, which waits.
        !matches!(poll(&mut fds, timeout.as_ref()), Ok(0))
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Hangup for Socket {
    fn hang_up(&self, writes_too: bool) {
        // Fails only if the client was faster.
        let _ = rustix::net::shutdown(&*self.0, if writes_too { Shutdown::Both } else { Shutdown::Read });
    }

    fn is_gone(&self) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(self.0.as_fd(), PollFlags::RDHUP)];
        let found = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        found.is_ok_and(|count| count > 0) && fds[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR)
    }
}
