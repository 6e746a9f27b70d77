//! Where the statements of a data file go.

use crate::Server;
use std::time::Duration;

/// A statement that has not answered after this long counts as broken: longer than any lock wait that a file sets.
const ANSWER_DEADLINE: Duration = Duration::from_secs(30);

/// A server of our own, or a running one.
pub enum Target {
    /// Ours: it is killed and started again where a file says `restart`.
    Own(Server),
    /// Somebody's: `restart` only opens the connections anew, and files that only Altiplano can answer are passed over.
    External {
        /// Name or address.
        host: String,
        /// TCP port.
        port: u16,
    },
}

impl Target {
    /// A running server at `HOST:PORT`.
    pub fn external(address: &str) -> Result<Target, String> {
        let (host, port) = address.rsplit_once(':').ok_or(format!("{address}: expected HOST:PORT"))?;
        let port = port.parse().map_err(|_| format!("{address}: no port number"))?;
        Ok(Target::External { host: host.into(), port })
    }

    /// Whether this is a server that the harness did not start.
    pub fn is_external(&self) -> bool {
        matches!(self, Target::External { .. })
    }

    /// A connection as root.
    pub fn connect(&self, database: Option<&str>) -> Result<mysql::Conn, mysql::Error> {
        self.connect_patiently(database, ANSWER_DEADLINE)
    }

    /// A connection of another user, in no database.
    pub fn connect_as(&self, user: &str, password: Option<&str>) -> Result<mysql::Conn, mysql::Error> {
        mysql::Conn::new(self.options(None, ANSWER_DEADLINE).user(Some(user)).pass(password))
    }

    /// As [`Target::connect`], for a client whose statements may take longer.
    pub fn connect_patiently(&self, database: Option<&str>, deadline: Duration) -> Result<mysql::Conn, mysql::Error> {
        mysql::Conn::new(self.options(database, deadline))
    }

    fn options(&self, database: Option<&str>, deadline: Duration) -> mysql::OptsBuilder {
        let (host, port) = match self {
            Target::Own(server) => ("127.0.0.1", server.port()),
            Target::External { host, port } => (host.as_str(), *port),
        };
        mysql::OptsBuilder::new()
            .ip_or_hostname(Some(host))
            .tcp_port(port)
            .user(Some("root"))
            .db_name(database)
            .read_timeout(Some(deadline))
            .prefer_socket(false)
    }

    /// Kill -9 and start again, where that is ours to do; how long the start took.
    pub fn restart(&mut self) -> Option<Duration> {
        match self {
            Target::Own(server) => Some(server.restart()),
            Target::External { .. } => None,
        }
    }
}
