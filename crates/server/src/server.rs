//! [`Server`]: front, acceptor and watcher together, from start to a clean stop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use session::service::Service;
use sync::Event;
use sync::thread::JoinHandle;

use crate::front::Front;
use crate::listener::{Listeners, Waker};
use crate::log;
use crate::watcher;

/// How long a stop waits for sessions to notice.
pub const STOP_TIME_MAX: Duration = Duration::from_secs(30);

/// How nice the thread is that has the log made durable for replies: on busy processors it gets its turn when who serves has had a slice, and one sync does for
/// more commits; on idle ones it runs at once (docs/design/threads.md, Commits without a thread).
const NICE_OF_REPLIES: i32 = 10;

/// Lets the threads that serve go before the calling one.
fn stand_back() {
    if let Err(error) = rustix::process::nice(NICE_OF_REPLIES) {
        log::warning(&format!(
            "the thread that syncs the log for replies is as nice as others ({error}): more syncs, fewer commits a second"
        ));
    }
}

/// A running server.
pub struct Server<S: Service> {
    front: Arc<Front<S>>,
    waker: Waker,
    stop_watching: Arc<Event>,
    acceptor: JoinHandle<()>,
    threads: Vec<JoinHandle<()>>,
}

impl<S: Service> Server<S> {
    /// Starts accepting and watching.
    pub fn start(service: Arc<S>, listeners: Listeners, watch_interval: Duration) -> std::io::Result<Self> {
        let front = Front::new(service)?;
        let waker = listeners.waker();
        let stop_watching = Arc::new(Event::new());
        let lobby = listeners.lobby()?;
        let accepting = Arc::clone(&front);
        let acceptor = sync::thread::Builder::new().name("acceptor".to_owned()).spawn(move || listeners.accept_all(&accepting, lobby))?;
        let (watched, stop) = (Arc::clone(&front), Arc::clone(&stop_watching));
        let watcher = sync::thread::Builder::new().name("watcher".to_owned()).spawn(move || {
            watcher::watch(&*watched.service, watch_interval, &stop, || {
                watched.end_late_waits();
                watched.tidy_parked();
            })
        })?;
        let crewed = Arc::clone(&front);
        let monitor = sync::thread::Builder::new().name("crew".to_owned()).spawn(move || crewed.watch_crew())?;
        let late = Arc::clone(&front);
        let replies = sync::thread::Builder::new().name("replies".to_owned()).spawn(move || {
            stand_back();
            late.send_late_replies()
        })?;
        let mut threads = vec![watcher, monitor, replies];
        if front.has_stand_in() {
            let stood = Arc::clone(&front);
            threads.push(sync::thread::Builder::new().name("stand-in".to_owned()).spawn(move || stood.stand_in())?);
        }
        Ok(Self { front, waker, stop_watching, acceptor, threads })
    }

    /// What the connections share.
    pub fn front(&self) -> &Arc<Front<S>> {
        &self.front
    }

    /// Stops: no new connections, idle ones end, statements are cancelled and rolled back. Waits for all sessions to
    /// end, at most `time_max`; returns how many had not.
    pub fn stop(self, time_max: Duration) -> u32 {
        let ended = |thread: JoinHandle<()>| {
            if thread.join().is_err() {
                log::warning("a background thread of the front had panicked");
            }
        };
        let deadline = Instant::now() + time_max;
        self.waker.stop();
        // First, as it does not wait for clients: one that it took after the others were counted would outlive the stop.
        ended(self.acceptor);
        let left = self.front.stop_connections(deadline);
        self.stop_watching.set();
        self.front.dismiss_crew();
        self.threads.into_iter().for_each(ended);
        left
    }
}
