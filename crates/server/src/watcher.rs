//! The watcher: one thread that looks at all connections a few times a second.
//!
//! It ends connections that stay too long in a phase (handshake, idle, half a packet, slow reader) and stops statements
//! whose client has gone or whose `max_execution_time` has passed (up to two looks late). So no command pays for a clock, a timer or a registration: it only marks its phase.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use session::connections::{Connection, Phase, Stop};
use session::service::{FrontSettings, Service};
use sync::Event;

/// How often the watcher looks.
pub const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// What a connection was seen doing, and since when.
#[derive(Debug, Clone, Copy)]
struct Seen {
    activity: u64,
    since: Instant,
}

/// Watches until `stop` is set.
pub fn watch<S: Service>(service: &S, interval: Duration, stop: &Event) {
    let mut seen = HashMap::new();
    while !stop.wait(Some(Instant::now() + interval)) {
        look(&service.connections().list(), &service.settings(), Instant::now(), &mut seen);
    }
}

/// One look at all connections.
fn look(connections: &[Arc<Connection>], settings: &FrontSettings, now: Instant, seen: &mut HashMap<u32, Seen>) {
    let mut still = HashMap::with_capacity(connections.len());
    for connection in connections {
        let activity = connection.activity();
        let fresh = Seen { activity, since: now };
        let entry = seen.get(&connection.id()).copied().filter(|entry| entry.activity == activity).unwrap_or(fresh);
        still.insert(connection.id(), entry);
        judge(connection, settings, entry, now);
    }
    *seen = still;
}

fn judge(connection: &Connection, settings: &FrontSettings, entry: Seen, now: Instant) {
    if connection.stop_requested().ends_connection() {
        // Wake it again: it may have gone into a wait just after it was hung up.
        connection.hang_up();
        return;
    }
    let unchanged = now.saturating_duration_since(entry.since);
    let limit = match Connection::phase_of(entry.activity) {
        Phase::Handshake => settings.connect_timeout,
        Phase::Idle => Duration::from_secs(u64::from(connection.wait_timeout_s())),
        Phase::Reading => settings.net_read_timeout,
        Phase::Writing => settings.net_write_timeout,
        Phase::Running => {
            let limit = u128::from(connection.time_limit_ms());
            if limit > 0 && unchanged.as_millis() >= limit {
                connection.stop(Stop::QueryTimeout);
            }
            // Only statements that were running at the last look already: short ones cost nothing.
            if !unchanged.is_zero() && connection.client_is_gone() {
                connection.stop(Stop::ClientGone);
            }
            return;
        }
        Phase::Closed => return,
    };
    if unchanged >= limit {
        connection.stop(Stop::ConnectionTimeout);
    }
}
