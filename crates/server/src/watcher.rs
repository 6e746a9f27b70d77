//! The watcher: one thread that looks at all connections a few times a second.
//!
//! It ends connections that stay too long in a phase (handshake, idle, half a packet, slow reader) and stops statements
//! whose client has gone or whose `max_execution_time` has passed (up to two looks late). So no command pays for a clock, a timer or a registration: it only marks its phase.

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
        for connection in connections.list() {
            judge(&connection, &settings, now_ms);
        }
        tidy();
    }
}

fn judge(connection: &Connection, settings: &FrontSettings, now_ms: u64) {
    let (activity, unchanged_ms) = connection.look(now_ms);
    if connection.stop_requested().ends_connection() {
        // Wake it again: it may have gone into a wait just after it was hung up.
        connection.hang_up();
        return;
    }
    let unchanged = Duration::from_millis(unchanged_ms);
    let limit = match Connection::phase_of(activity) {
        Phase::Handshake => settings.connect_timeout,
        Phase::Idle => Duration::from_secs(u64::from(connection.wait_timeout_s())),
        Phase::Reading => settings.net_read_timeout,
        Phase::Writing => settings.net_write_timeout,
        Phase::Running => {
            let limit = u64::from(connection.time_limit_ms());
            if limit > 0 && unchanged_ms >= limit {
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
