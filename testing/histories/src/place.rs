//! The server that clients talk to, which may be killed and started again under them.

use harness::{Server, Target};
use mysql::prelude::Queryable;
use std::time::Duration;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Mutex, Rank, RwLock};

/// How long a patient client waits for an answer: longer is a hang.
const PATIENCE: Duration = Duration::from_secs(240);

/// A server: one that runs somewhere, or one of our own.
pub struct Place {
    target: RwLock<Target>,
    /// Odd while the server is being killed and started; so a broken connection can be told from a defect.
    lives: AtomicU64,
    restarts: Mutex<Vec<Restart>>,
}

/// Ends a restart, also one that failed: who waits for its end must see it.
struct Begun<'a>(&'a AtomicU64);

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// How a start after kill -9 went.
#[derive(Debug, Clone, Copy)]
pub struct Restart {
    /// From the start of the process until it accepted connections.
    pub ready: Duration,
    /// Its memory then.
    pub resident_kib: u64,
}

impl Place {
    /// A server at `HOST:PORT`, which is never killed.
    pub fn external(address: &str) -> Result<Place, String> {
        Ok(Place::new(Target::external(address)?))
    }

    /// A server of our own, which may be killed.
    pub fn own(server: Server) -> Place {
        Place::new(Target::Own(server))
    }

    fn new(target: Target) -> Place {
        Place { target: RwLock::new(Rank::Catalog, target), lives: AtomicU64::new(0), restarts: Mutex::new(Rank::Leaf, Vec::new()) }
    }

    /// A connection as root.
    pub fn connect(&self, database: Option<&str>) -> Result<mysql::Conn, String> {
        self.target.read().connect(database).map_err(|error| format!("connect: {error}"))
    }

    /// A connection for statements that may take minutes.
    pub fn connect_patiently(&self, database: Option<&str>) -> Result<mysql::Conn, String> {
        self.target.read().connect_patiently(database, PATIENCE).map_err(|error| format!("connect: {error}"))
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        match &*self.target.read() {
            Target::Own(server) => format!("127.0.0.1:{}", server.port()),
            Target::External { host, port } => format!("{host}:{port}"),
        }
    }

    /// The server's process, if it is our own.
    pub fn pid(&self) -> Option<u32> {
        match &*self.target.read() {
            Target::Own(server) => Some(server.pid()),
            Target::External { .. } => None,
        }
    }

    /// Resident memory of the server's process, if it is our own.
    pub fn resident_kib(&self) -> Option<u64> {
        resident_kib(self.pid()?)
    }

    /// Whether the server can be killed.
    pub fn can_restart(&self) -> bool {
        !self.target.read().is_external()
    }

    /// How often the server has been killed (twice that, and one more while it is being started).
    pub fn lives(&self) -> u64 {
        self.lives.load(Ordering::SeqCst)
    }

    /// kill -9, and start again on the same data. Returns once it accepts connections.
    pub fn restart(&self) {
        // Counted under the latch: of two that kill at the same time the second waits with its count, too.
        let mut target = self.target.write();
        self.lives.fetch_add(1, Ordering::SeqCst);
        let begun = Begun(&self.lives);
        let ready = target.restart();
        drop((begun, target));
        if let Some(ready) = ready {
            let resident_kib = self.resident_kib().unwrap_or(0);
            self.restarts.lock().push(Restart { ready, resident_kib });
        }
    }

    /// How all starts after kill -9 went.
    pub fn restarts(&self) -> Vec<Restart> {
        self.restarts.lock().clone()
    }

    /// Runs statements on a connection of their own.
    pub fn run(&self, statements: &[String]) -> Result<(), String> {
        let mut connection = self.connect(None)?;
        statements.iter().try_for_each(|sql| connection.query_drop(sql).map_err(|error| format!("{sql}: {error}")))
    }
}

impl Place {
    /// Runs statements that may be run twice, again where the server was killed meanwhile.
    pub fn insist(&self, statements: &[String]) -> Result<(), String> {
        self.through_kills(|| self.run(statements))
    }

    /// Does something again as long as the server was killed meanwhile.
    pub fn through_kills<T>(&self, mut attempt: impl FnMut() -> Result<T, String>) -> Result<T, String> {
        loop {
            let lives = self.lives();
            match attempt() {
                Err(_) if lives % 2 == 1 || lives != self.lives() => {}
                other => return other,
            }
        }
    }
}

fn resident_kib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Whether an error means that the connection is gone (not that an answer is late).
pub fn is_broken(error: &mysql::Error) -> bool {
    match error {
        mysql::Error::IoError(error) => !is_late(error),
        // The library wraps what the socket said; its text names the system's error.
        mysql::Error::CodecError(error) => !error.to_string().contains("os error 11"),
        mysql::Error::DriverError(error) => !matches!(error, mysql::DriverError::Timeout),
        _ => false,
    }
}

fn is_late(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}
