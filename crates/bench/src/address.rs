//! Where the server is and who logs in.

use crate::blocking::Blocking;
use crate::endpoint::Endpoint;
use crate::session::Account;
use clap::Args;
use std::fmt;
use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::str::FromStr;

const PORT: u16 = 3306;

/// A host, by name or number, and a port; or a unix socket of this machine, told by a path that begins with a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Host { host: String, port: u16 },
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        if text.starts_with('/') {
            return Ok(Address(Kind::Unix(text.into())));
        }
        let complaint = || format!("`{text}` is not HOST:PORT");
        let (host, port) = match text.rsplit_once(':') {
            // A number of version 6 without a port, or in brackets.
            Some((host, _)) if host.contains(':') && !host.ends_with(']') => (text, None),
            Some((_, rest)) if rest.ends_with(']') => (text, None),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        };
        let port = port.map_or(Ok(PORT), |port| port.parse().map_err(|_| complaint()))?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() { Err(complaint()) } else { Ok(Address(Kind::Host { host: host.to_owned(), port })) }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Host { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Kind::Host { host, port } => write!(f, "{host}:{port}"),
            Kind::Unix(path) => path.display().fmt(f),
        }
    }
}

impl Address {
    /// What the name stands for: at least one.
    pub fn resolve(&self) -> Result<Vec<Endpoint>, String> {
        let (host, port) = match &self.0 {
            Kind::Host { host, port } => (host.as_str(), *port),
            Kind::Unix(path) => return Ok(vec![Endpoint::unix(path)?]),
        };
        let addresses = (host, port).to_socket_addrs().map_err(|e| format!("{host}: cannot be resolved: {e}"))?;
        let found: Vec<Endpoint> = addresses.map(Endpoint::Tcp).collect();
        if found.is_empty() { Err(format!("{host}: has no address")) } else { Ok(found) }
    }
}

/// Who logs in.
#[derive(Debug, Clone, Args)]
pub struct Login {
    /// User
    #[arg(long, default_value = "root")]
    pub user: String,
    /// Password
    #[arg(long, env = "MYSQL_PWD", hide_env_values = true, default_value = "", hide_default_value = true)]
    pub password: String,
    /// Database
    #[arg(long, default_value = "sbtest")]
    pub database: String,
}

/// Where the server is and who logs in.
#[derive(Debug, Clone, Args)]
pub struct Server {
    /// Server; the port may be left out. A path that begins with a slash is a unix socket
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:3306")]
    pub server: Address,
    /// Login
    #[command(flatten)]
    pub login: Login,
}

impl Server {
    /// The account, with or without the database.
    pub fn account(&self, with_database: bool) -> Account {
        let Login { user, password, database } = self.login.clone();
        Account { user, password, database: if with_database { database } else { String::new() } }
    }

    /// Logs in at the first of the server's addresses that answers; where it does is in [`Blocking::endpoint`].
    pub fn connect(&self, with_database: bool) -> Result<Blocking, String> {
        let account = self.account(with_database);
        let mut why = String::new();
        for to in self.server.resolve()? {
            match Blocking::connect(to, &account) {
                Ok(connection) => return Ok(connection),
                Err(error) => why = error,
            }
        }
        Err(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        for (text, shown) in [
            ("localhost:3307", "localhost:3307"),
            ("10.0.0.1", "10.0.0.1:3306"),
            ("[::1]:3308", "[::1]:3308"),
            ("::1", "[::1]:3306"),
            ("[::1]", "[::1]:3306"),
            ("/run/altiplano:1/a.sock", "/run/altiplano:1/a.sock"),
        ] {
            assert_eq!(text.parse::<Address>().map(|address| address.to_string()), Ok(shown.to_owned()), "{text}");
        }
        for wrong in ["host:port", ":3306", "host:70000", ""] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
        let unknown: Address = "no-such-host.invalid:1".parse().expect("well formed");
        assert!(unknown.resolve().expect_err("no such host").starts_with("no-such-host.invalid: "));
    }
}
