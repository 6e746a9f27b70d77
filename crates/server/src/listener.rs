//! Listening sockets and the acceptor, which also greets who comes, and watches them until they answer.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use session::command::ClientAddress;
use session::service::Service;

use crate::front::{Arrival, Front};
use crate::log;
use crate::logins::{Lobby, Seen};

/// Connections that may wait to be accepted; the kernel cuts this to its own limit.
const BACKLOG: i32 = 4096;
/// After an error that repeats at once (no descriptors left), the acceptor rests so long.
const REST: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Why the server cannot listen; one line for the operator.
#[derive(Debug)]
pub struct ListenError {
    place: String,
    error: io::Error,
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.error.kind() == io::ErrorKind::AddrInUse {
            write!(f, "{} is in use: another server listens there", self.place)
        } else {
            write!(f, "cannot listen on {}: {}", self.place, self.error)
        }
    }
}

impl std::error::Error for ListenError {}

/// The sockets a server listens on.
#[derive(Debug)]
pub struct Listeners {
    tcp: Vec<TcpListener>,
    unix: Option<(UnixListener, PathBuf)>,
    /// Written to by [`Waker`].
    wake: Arc<OwnedFd>,
}

/// Ends the acceptor from another thread.
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Ends it.
    pub fn stop(&self) {
        // Fails only when the counter is full, and then it is awake.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }
}

impl Listeners {
    /// Binds `host:port` (all addresses of the host) and the unix socket.
    pub fn bind(host: &str, port: u16, socket: Option<&Path>) -> Result<Self, ListenError> {
        let place = format!("{host}:{port}");
        let at = |error| ListenError { place: place.clone(), error };
        let mut tcp = Vec::new();
        let mut port = port;
        for mut address in (host, port).to_socket_addrs().map_err(at)? {
            // With port 0 the first address chooses and the others follow.
            address.set_port(port);
            let listener = TcpListener::bind(address).map_err(at)?;
            port = listener.local_addr().map_err(at)?.port();
            listener.set_nonblocking(true).map_err(at)?;
            rustix::net::listen(&listener, BACKLOG).map_err(|error| at(error.into()))?;
            tcp.push(listener);
        }
        let unix = match socket {
            Some(path) => {
                Some((listen_unix(path).map_err(|error| ListenError { place: path.display().to_string(), error })?, path.to_owned()))
            }
            None => None,
        };
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|error| at(error.into()))?;
        Ok(Self { tcp, unix, wake: Arc::new(wake) })
    }

    /// Addresses bound.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.tcp.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// The unix socket's path.
    pub fn socket_path(&self) -> Option<&Path> {
        self.unix.as_ref().map(|(_, path)| path.as_path())
    }

    /// What ends the acceptor.
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.wake))
    }

    /// What [`Listeners::accept_all`] waits for.
    pub(crate) fn lobby<S: Service>(&self) -> io::Result<Lobby<Arrival<S>>> {
        let tcp = self.tcp.iter().map(AsFd::as_fd);
        Lobby::new(&*self.wake, tcp.chain(self.unix.iter().map(|(listener, _)| listener.as_fd())))
    }

    /// Accepts and greets until the waker is called. Each time it runs it takes all that wait, because among thousands of busy
    /// threads its turn comes seldom.
    pub(crate) fn accept_all<S: Service>(self, front: &Arc<Front<S>>, mut lobby: Lobby<Arrival<S>>) {
        let (mut complained, mut stops, mut seen) = (false, false, Vec::new());
        while !stops {
            lobby.wait(&mut seen);
            let mut trouble = None;
            for seen in seen.drain(..) {
                match seen {
                    Seen::End => stops = true,
                    Seen::Answered(arrival) => front.let_in(arrival),
                    Seen::AtListener(number) => trouble = trouble.or(self.drain(number, front, &mut lobby)),
                }
            }
            if let Some(error) = trouble {
                if !complained {
                    log::warning(&format!("cannot accept connections: {}", io::Error::from(error)));
                    complained = true;
                }
                let mut fds = [PollFd::from_borrowed_fd(self.wake.as_fd(), PollFlags::IN)];
                // Whether the time passed or the waker came shows at the next turn.
                let _ = poll(&mut fds, Some(&REST));
            }
        }
        if let Some((_, path)) = &self.unix {
            // The file is of no use without a listener; the next start would remove it too.
            let _ = std::fs::remove_file(path);
        }
    }

    /// Takes what waits at a listener.
    fn drain<S: Service>(&self, number: usize, front: &Arc<Front<S>>, lobby: &mut Lobby<Arrival<S>>) -> Option<Errno> {
        let mut greet = |client, address| {
            if let Some(arrival) = front.greet(client, address)
                && let Err(arrival) = lobby.seat(arrival.id(), arrival)
            {
                // Not to be watched: whoever logs it in waits for its answer.
                front.let_in(arrival);
            }
        };
        match (self.tcp.get(number), &self.unix) {
            (Some(listener), _) => drain(listener, |client| {
                // A client that has gone already is found out when its greeting is sent.
                let _ = rustix::net::sockopt::set_tcp_nodelay(&client, true);
                let _ = rustix::net::sockopt::set_socket_keepalive(&client, true);
                let address = rustix::net::getpeername(&client).ok().flatten().and_then(|address| SocketAddr::try_from(address).ok());
                if let Some(address) = address {
                    greet(client, ClientAddress::Tcp(address));
                }
            }),
            (None, Some((listener, _))) => drain(listener, |client| greet(client, ClientAddress::Unix)),
            (None, None) => None,
        }
    }
}

/// Takes what waits; an error that concerns the listener, not one client, is returned.
fn drain(fd: impl AsFd, mut take: impl FnMut(OwnedFd)) -> Option<Errno> {
    loop {
        match rustix::net::accept_with(&fd, SocketFlags::CLOEXEC) {
            Ok(client) => take(client),
            Err(Errno::AGAIN) => return None,
            Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => {}
            Err(error) => return Some(error),
        }
    }
}

/// Binds a unix socket and lets many wait there.
fn listen_unix(path: &Path) -> io::Result<UnixListener> {
    let listener = env::outside::bind_unix(path)?;
    listener.set_nonblocking(true)?;
    rustix::net::listen(&listener, BACKLOG)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_socket_that_nobody_listens_at_is_replaced() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("s");
        let bind = || Listeners::bind("127.0.0.1", 0, Some(&path)).map_err(|error| error.to_string());
        std::fs::write(&path, "data").expect("written");
        assert!(bind().expect_err("a file").contains("what is there is no socket"));
        assert_eq!(std::fs::read(&path).expect("still there"), b"data");
        std::fs::remove_file(&path).expect("removed");
        std::os::unix::fs::symlink(dir.path().join("nothing"), &path).expect("a link");
        assert!(bind().expect_err("a link").contains("what is there is no socket"));
        std::fs::remove_file(&path).expect("removed");
        // Whoever listens here does not take streams: the connect fails, but is not refused.
        let other = std::os::unix::net::UnixDatagram::bind(&path).expect("a socket");
        assert!(bind().expect_err("of another kind").contains("is in use"));
        drop(other);
        std::fs::remove_file(&path).expect("removed");
        drop(UnixListener::bind(&path).expect("a socket"));
        let first = bind().expect("what is left is replaced");
        assert!(bind().expect_err("two at one path").contains("is in use"));
        drop(first);
    }
}
