//! `altiplano serve`: from settings to a running server and down again.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use session::service::Service;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::listener::Listeners;
use crate::log::{self, Level};
use crate::options::Settings;
use crate::server::{STOP_TIME_MAX, Server};
use crate::service_manager;
use crate::watcher::WATCH_INTERVAL;

/// Why the server does not run; one line for the operator.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Longest path of a unix socket that the system takes.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Serves until SIGTERM or SIGINT. `open` opens the data directory, `close` closes it when all sessions have ended.
pub fn serve<S: Service>(
    settings: &Settings,
    open: impl FnOnce(&Settings) -> Result<Arc<S>, Failure>,
    close: impl FnOnce(&S) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // Before any thread starts, so that a signal during recovery is not lost.
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    raise_file_limit();
    env::make_directory(&settings.data_dir).map_err(|error| format!("cannot make {}: {error}", settings.data_dir.display()))?;
    let socket = usable_socket(&settings.socket);
    let listeners = Listeners::bind(&settings.bind, settings.port, socket)?;
    log::write(Level::System, 0, &format!("altiplano {} opens {}", env!("CARGO_PKG_VERSION"), settings.data_dir.display()));
    let service = open(settings)?;
    announce(&listeners, &settings.data_dir);
    let server = Server::start(Arc::clone(&service), listeners, WATCH_INTERVAL)?;
    service.accepts();
    service_manager::tell(service_manager::SERVES);

    let signal = signals.forever().next();
    service_manager::tell(service_manager::STOPS);
    log::write(Level::System, 0, &format!("{} received, stopping", signal_name(signal)));
    sync::thread::Builder::new().name("second signal".to_owned()).spawn(move || {
        if signals.forever().next().is_some() {
            log::write(Level::System, 0, "second signal received, leaving at once");
            std::process::exit(1);
        }
    })?;
    let left = server.stop(STOP_TIME_MAX);
    if left > 0 {
        // Their transactions are rolled back by recovery at the next start.
        log::warning(&format!("{left} connections did not end in time"));
    }
    close(&service)?;
    log::write(Level::System, 0, "stopped");
    Ok(())
}

fn signal_name(signal: Option<i32>) -> &'static str {
    match signal {
        Some(SIGTERM) => "SIGTERM",
        Some(SIGINT) => "SIGINT",
        _ => "signal",
    }
}

/// Where the server listens and how to connect, for people at a terminal and for the log.
fn announce(listeners: &Listeners, data_dir: &Path) {
    for address in listeners.addresses() {
        log::write(Level::System, 0, &format!("listening on {address}"));
    }
    if let Some(path) = listeners.socket_path() {
        log::write(Level::System, 0, &format!("listening on {}", path.display()));
    }
    let Some(port) = listeners.addresses().first().map(std::net::SocketAddr::port) else { return };
    let text =
        format!("ready; data in {}. Connect: altiplano sql -P {port}   or: mysql -h 127.0.0.1 -P {port} -u root", data_dir.display());
    log::write(Level::System, 0, &text);
}

/// The socket's path, or nothing when the system could not bind it.
fn usable_socket(path: &Path) -> Option<&Path> {
    let fits = path.as_os_str().as_bytes().len() <= SOCKET_PATH_BYTES_MAX;
    if !fits {
        log::warning(&format!("no unix socket: {} is too long a path; choose one with --socket", path.display()));
    }
    fits.then_some(path)
}

/// Ten thousand connections need as many descriptors; take what the system allows.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            log::warning(&format!("cannot raise the limit of open files: {error}"));
        }
    }
}
