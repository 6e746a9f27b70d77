//! A server under test: the real binary, a temporary data directory, a port of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is done between the death of a server and its next start.
type BetweenLives = Arc<dyn Fn() + Send + Sync>;

/// How the panic begins that says that a server has ended before it accepted connections.
pub const NOT_STARTED: &str = "the server ended before it listened";

/// Environment variable with more arguments for each server, separated by spaces: whole suites under another setting.
const MORE_ARGUMENTS: &str = "HARNESS_SERVER_ARGUMENTS";

/// A running server; killed when dropped.
pub struct Server {
    binary: PathBuf,
    directory: tempfile::TempDir,
    arguments: Vec<String>,
    child: Option<Child>,
    port: u16,
    between_lives: Option<BetweenLives>,
}

impl Server {
    /// Starts `binary` with more arguments after `serve`, on an empty data directory, and waits until it accepts connections.
    pub fn start(binary: impl AsRef<Path>, arguments: &[&str]) -> Server {
        Server::start_in(&std::env::temp_dir(), binary, arguments)
    }

    /// As [`Server::start`], with the data directory somewhere below `parent`.
    pub fn start_in(parent: &Path, binary: impl AsRef<Path>, arguments: &[&str]) -> Server {
        let directory = tempfile::Builder::new().prefix("altiplano-test-").tempdir_in(parent).expect("a temporary directory");
        let more = std::env::var(MORE_ARGUMENTS).unwrap_or_default();
        let arguments = more.split_whitespace().map(str::to_owned).chain(arguments.iter().map(ToString::to_string)).collect();
        let mut server = Server { binary: binary.as_ref().into(), directory, arguments, child: None, port: 0, between_lives: None };
        server.launch();
        server
    }

    /// The TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its unix socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("sock")
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the server runs").id()
    }

    /// The data directory.
    pub fn data_dir(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// A connection as root.
    pub fn connect(&self) -> mysql::Conn {
        mysql::Conn::new(self.options(None)).expect("a connection")
    }

    /// Options for a connection as root, with a default database.
    pub fn options(&self, database: Option<&str>) -> mysql::Opts {
        mysql::OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(self.port)
            .user(Some("root"))
            .db_name(database)
            .prefer_socket(false)
            .into()
    }

    /// What the server has logged so far, of all its starts.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    /// Ends the process with SIGTERM and returns its exit code.
    pub fn stop(&mut self) -> Option<i32> {
        let mut child = self.child.take()?;
        let status = Command::new("kill").arg(child.id().to_string()).status();
        assert!(status.is_ok_and(|s| s.success()), "kill cannot be run");
        child.wait().ok()?.code()
    }

    /// Waits until the process has ended by itself, and returns its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.take()?.wait().ok()?.code()
    }

    /// Ends the process with SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// What [`Server::restart`] does while no server runs: the power fails, for example.
    pub fn between_lives(&mut self, what: impl Fn() + Send + Sync + 'static) {
        self.between_lives = Some(Arc::new(what));
    }

    /// Starts it again on the same data directory; how long it took from the start of the process until it accepted connections.
    pub fn restart(&mut self) -> Duration {
        self.kill();
        if let Some(what) = &self.between_lives {
            what();
        }
        let begin = Instant::now();
        self.launch();
        begin.elapsed()
    }

    /// The server prints `listening on 127.0.0.1:PORT` once it accepts; `--port 0` lets the system choose.
    fn launch(&mut self) {
        let mut child = serve(&self.binary, &self.data_dir())
            .arg("--socket")
            .arg(self.socket())
            .args(&self.arguments)
            .spawn()
            .expect("the server binary");
        let mut lines = BufReader::new(child.stderr.take().expect("piped"));
        let mut seen = String::new();
        self.port = loop {
            let mut line = String::new();
            let count = lines.read_line(&mut line).expect("the server's log");
            assert!(count > 0, "{NOT_STARTED}:\n{seen}");
            seen.push_str(&line);
            if let Some((_, rest)) = line.split_once("listening on 127.0.0.1:") {
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                break digits.parse().expect("a port");
            }
        };
        // The rest of the log is read away, so that the server never blocks on a full pipe; it is shown when a test fails.
        let mut copy = std::fs::OpenOptions::new().create(true).append(true).open(self.log_path()).expect("a file for the log");
        copy.write_all(seen.as_bytes()).expect("the log is kept");
        std::thread::spawn(move || {
            let mut rest = String::new();
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|count| count > 0) {
                // The directory goes when the test ends.
                let _ = copy.write_all(line.as_bytes());
                rest.push_str(&line);
                line.clear();
            }
            eprint!("{rest}");
        });
        self.child = Some(child);
    }
}

/// The command that serves a directory on a port of the system's choice; its log can be read.
fn serve(program: &Path, data: &Path) -> Command {
    let mut command = Command::new(program);
    // Settings of whoever runs the tests are not the server's.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ALTIPLANO_")) {
        command.env_remove(name);
    }
    command.args(["serve", "--port", "0", "--buffer-pool-size", "64M", "--data-dir"]).arg(data);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Starts the program on a directory, which is to fail with exit code 1; what it says. Panics, and ends the server, if it serves.
pub fn refused(program: &str, dir: &Path) -> String {
    let mut child = serve(Path::new(program), dir).spawn().expect("the server binary");
    let mut said = Vec::new();
    for line in BufReader::new(child.stderr.take().expect("piped")).split(b'\n') {
        said.extend_from_slice(&line.expect("the server's log"));
        said.push(b'\n');
        if said.windows(12).any(|words| words == b"listening on") {
            let _ = child.kill();
        }
    }
    let said = String::from_utf8_lossy(&said).into_owned();
    assert_eq!(child.wait().expect("ends").code(), Some(1), "{said}");
    said
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
