//! What the server hands to a session, and what it learns back.

use std::net::SocketAddr;

pub use protocol::{ClientGone, ClientIo, Command, NoClient, PacketWriter};

use protocol::{Capabilities, CommandError};

/// Whether the connection goes on after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Send what is in the buffer and wait for the next command.
    Continue,
    /// The same, once the log is durable up to [`Session::awaits`](crate::front::service::Session::awaits) and [`Session::finish`](crate::front::service::Session::finish) has said that all is well.
    Later,
    /// Nothing is in the buffer yet: the statement waits for a row. [`Session::go_on`](crate::front::service::Session::go_on) follows when that is over.
    Left,
    /// Send what is in the buffer and close.
    Quit,
}

/// Where a client sits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientAddress {
    /// The unix socket: certainly this machine.
    Unix,
    /// TCP.
    Tcp(SocketAddr),
}

impl ClientAddress {
    /// Whether the client is on this machine.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Unix => true,
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
        }
    }

    /// The host as accounts, the process list and error messages name it: `localhost` for this machine, else the address.
    pub fn host(&self) -> String {
        match self {
            Self::Tcp(address) if !self.is_local() => address.ip().to_canonical().to_string(),
            _ => "localhost".to_owned(),
        }
    }

    /// `host:port` for the process list.
    pub fn host_and_port(&self) -> String {
        match self {
            Self::Unix => "localhost".to_owned(),
            Self::Tcp(address) => format!("{}:{}", self.host(), address.port()),
        }
    }
}

/// Who logged in, and with what wishes. Given at the start of a session and again by COM_CHANGE_USER.
#[derive(Debug, Clone)]
pub struct Login {
    /// User name the client gave.
    pub user: String,
    /// Host the client came from.
    pub host: String,
    /// The account that let it in: user part.
    pub account_user: String,
    /// The account that let it in: host part.
    pub account_host: String,
    /// Database to use.
    pub database: Option<String>,
    /// Collation id the client asked for.
    pub charset: u16,
    /// What client and server agreed on.
    pub capabilities: Capabilities,
    /// Address.
    pub address: ClientAddress,
    /// Connection attributes.
    pub attributes: Vec<(String, String)>,
}

/// The error for a packet that is no command.
pub fn command_error(error: CommandError) -> mysql_error::SqlError {
    match error {
        CommandError::Unknown(_) => mysql_error::codes::unknown_com_error(),
        CommandError::Malformed => mysql_error::codes::malformed_packet(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_in_any_notation_is_local() {
        for (address, local, host) in [
            ("127.0.0.1:5", true, "localhost"),
            ("[::1]:5", true, "localhost"),
            ("[::ffff:127.0.0.1]:5", true, "localhost"),
            ("[::ffff:10.0.0.1]:5", false, "10.0.0.1"),
            ("192.168.0.7:5", false, "192.168.0.7"),
        ] {
            let address = ClientAddress::Tcp(address.parse().expect("an address"));
            assert_eq!((address.is_local(), address.host().as_str()), (local, host));
        }
        assert!(ClientAddress::Unix.is_local());
    }
}
