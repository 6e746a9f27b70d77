//! One place where a server listens: an address with a port, or a unix socket of this machine.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fmt;
use std::net::{SocketAddr, SocketAddrV4};
use std::path::Path;
use std::time::Duration;

/// See the module's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// Address and port.
    Tcp(SocketAddr),
    /// Unix socket, by its path.
    Unix(SocketAddrUnix),
}

/// How long a connection may wait for room in the queue of a unix socket.
const QUEUE_SECONDS: u64 = 20;

impl Endpoint {
    /// The unix socket of a path, which may be some hundred bytes long.
    pub fn unix(path: &Path) -> Result<Endpoint, String> {
        SocketAddrUnix::new(path).map(Endpoint::Unix).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Whether it is one of the loopback addresses of version 4, each of which has its own ports.
    pub fn has_many_addresses(&self) -> bool {
        matches!(self, Endpoint::Tcp(to) if to.is_ipv4() && to.ip().is_loopback())
    }

    /// Begins to connect, from an address of this machine's own if one is given; whether it did shows when something is sent or received.
    pub fn begin(&self, from: Option<SocketAddrV4>) -> Result<OwnedFd, String> {
        let failed = |what: &str, error: Errno| format!("{what}: {error}");
        match self {
            Endpoint::Tcp(to) => {
                let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
                let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
                let socket = net::socket_with(family, SocketType::STREAM, flags, None).map_err(|e| failed("socket", e))?;
                sockopt::set_tcp_nodelay(&socket, true).map_err(|e| failed("TCP_NODELAY", e))?;
                if let Some(from) = from {
                    net::bind(&socket, &from).map_err(|e| format!("cannot bind to {from}: {e}"))?;
                }
                match net::connect(&socket, to) {
                    Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
                    Err(error) => Err(format!("cannot connect to {to}: {error}")),
                }
            }
            Endpoint::Unix(to) => {
                // Without O_NONBLOCK, since a full queue would refuse at once; all that is sent and received says MSG_DONTWAIT.
                let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                    .map_err(|e| failed("socket", e))?;
                sockopt::set_socket_timeout(&socket, Timeout::Send, Some(Duration::from_secs(QUEUE_SECONDS)))
                    .map_err(|e| failed("SO_SNDTIMEO", e))?;
                net::connect(&socket, to).map_err(|e| format!("cannot connect to {self}: {e}"))?;
                Ok(socket)
            }
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp(address) => address.fmt(f),
            Endpoint::Unix(path) => f.write_str(&String::from_utf8_lossy(path.path_bytes().unwrap_or_default())),
        }
    }
}
