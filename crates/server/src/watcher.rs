//! The watcher: one thread that looks at all connections a few times a second.
//!
//! It ends connections that stay too long in a phase (handshake, idle, half a packet, slow reader) and stops statements
//! whose client has gone or whose `max_execution_time` has passed (up to two looks late). So no command pays for a clock, a timer or a registration: it only marks its phase.

use std::sync::Arc;
use std::time::{Duration, Instant};

use session::connections::{Connection, Phase, Stop};
use session::service::{FrontSettings, Service};
use sync::Event;

/// How often the watcher looks.
pub const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// Watches until `stop` is set. After each look it calls `tidy`.
pub fn watch<S: Service>(service: &S, interval: Duration, stop: &Event, tidy: impl Fn()) {
    while !stop.wait(Some(Instant::now() + interval)) {
        let (connections, settings) = (service.connections(), service.settings());
        let now_ms = connections.now_ms();
        service.tick();
        // Those for whom nothing is due, ten thousand mostly, are looked at where they are: a list of all would write each one's count of users.
        let mut due = Vec::new();
        connections.for_each(|connection| {
            let what = what_is_due(connection, &settings, now_ms);
            let counts = !connections.is_slow_counted() && matches!(what, Some(Due::LookAtStatement(_)));
            if counts && connection.is_newly_slow(connection.activity(), now_ms) {
                connections.count_slow();
            }
            due.extend(what.map(|what| (Arc::clone(connection), what)));
        });
        for (connection, what) in due {
            what.done_to(&connection);
        }
        tidy();
    }
}

/// What is to be done about a connection.
enum Due {
    /// It was stopped; it may have gone into a wait just after it was hung up.
    HangUpAgain,
    /// It has been in its phase for too long.
    End,
    /// A statement was running at the last look already, for at least so many milliseconds. (Short ones cost nothing.)
    LookAtStatement(u64),
}

/// A look at a connection: atomic loads and stores only, as the registry's latch is held.
fn what_is_due(connection: &Connection, settings: &FrontSettings, now_ms: u64) -> Option<Due> {
    let (activity, unchanged_ms) = connection.look(now_ms);
    if connection.stop_requested().ends_connection() {
        return Some(Due::HangUpAgain);
    }
    let limit = match Connection::phase_of(activity) {
        Phase::Handshake => settings.connect_timeout,
        Phase::Idle => Duration::from_secs(u64::from(connection.wait_timeout_s())),
        Phase::Reading => settings.net_read_timeout,
        Phase::Writing => settings.net_write_timeout,
        Phase::Running => return (unchanged_ms > 0).then_some(Due::LookAtStatement(unchanged_ms)),
        Phase::Closed => return None,
    };
    (Duration::from_millis(unchanged_ms) >= limit).then_some(Due::End)
}

impl Due {
    fn done_to(self, connection: &Connection) {
        match self {
            Due::HangUpAgain => connection.hang_up(),
            Due::End => connection.stop(Stop::ConnectionTimeout),
            Due::LookAtStatement(unchanged_ms) => {
                let limit = u64::from(connection.time_limit_ms());
                if limit > 0 && unchanged_ms >= limit {
                    connection.stop(Stop::QueryTimeout);
                }
                if connection.client_is_gone() {
                    connection.stop(Stop::ClientGone);
                }
            }
        }
    }
}
