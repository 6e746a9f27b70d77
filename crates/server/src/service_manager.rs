//! What the service manager is told that started the server (systemd, `Type=notify`): that it serves, and that it stops.
//!
//! The protocol is that of `sd_notify(3)`: a datagram to the unix socket that `NOTIFY_SOCKET` names. Who was not started so has no such variable, and nobody is told.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::log;

/// Recovery is over and connections are served.
pub const SERVES: &str = "READY=1";
/// It was asked to end, and does.
pub const STOPS: &str = "STOPPING=1";

/// Tells the service manager, where there is one. That it cannot be told is a warning: it would wait in vain, which is for the operator to see.
pub fn tell(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(&name, state) {
        log::warning(&format!("cannot tell the service manager {state}: {error} (NOTIFY_SOCKET is {})", name.display()));
    }
}

fn send(name: &OsStr, state: &str) -> io::Result<()> {
    let address = match name.as_bytes() {
        // Without a file.
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(name)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}
