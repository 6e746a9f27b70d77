//! The watcher: one thread that looks at all connections a few times a second.
//!
//! It ends connections that stay too long in a phase (handshake, idle, half a packet, slow reader) and stops statements
//! whose client has gone or whose `max_execution_time` has passed (up to one look late). So no command pays for a clock, a timer or a registration: it only marks its phase.

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
            let counts = !connections.is_slow_counted() && matches!(what, Some(Due::LookAtStatement));
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
    /// A statement was running at the last look already. (Short ones cost nothing.)
    LookAtStatement,
    /// The statement of this turn that had to end by then runs on.
    OutOfTime { turn: u64, deadline_ms: u64 },
}

/// A look at a connection: atomic loads and stores only, as the registry's latch is held.
fn what_is_due(connection: &Connection, settings: &FrontSettings, now_ms: u64) -> Option<Due> {
    let (activity, unchanged_ms) = connection.look(now_ms);
    if connection.stop_requested().ends_connection() {
        return Some(Due::HangUpAgain);
    }
    let (phase, deadline_ms) = (Connection::phase_of(activity), connection.deadline_ms());
    // Rows that are sent take their time, too, however often the client keeps the statement waiting.
    if matches!(phase, Phase::Running | Phase::Writing) && deadline_ms > 0 && now_ms >= deadline_ms {
        return Some(Due::OutOfTime { turn: Connection::turn_of(activity), deadline_ms });
    }
    let limit = match phase {
        Phase::Handshake => settings.connect_timeout,
        Phase::Idle => Duration::from_secs(u64::from(connection.wait_timeout_s())),
        Phase::Reading => connection.net_read_timeout(),
        Phase::Writing => connection.net_write_timeout(),
        Phase::Running => return (unchanged_ms > 0).then_some(Due::LookAtStatement),
        Phase::Closed => return None,
    };
    (Duration::from_millis(unchanged_ms) >= limit).then_some(Due::End)
}

impl Due {
    fn done_to(self, connection: &Connection) {
        match self {
            Due::HangUpAgain => connection.hang_up(),
            Due::End => connection.stop(Stop::ConnectionTimeout),
            Due::OutOfTime { turn, deadline_ms } => {
                // Another statement may have begun since the look.
                if Connection::turn_of(connection.activity()) == turn && connection.deadline_ms() == deadline_ms {
                    connection.stop(Stop::QueryTimeout);
                }
            }
            Due::LookAtStatement => {
                if connection.client_is_gone() {
                    connection.stop(Stop::ClientGone);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::connections::Hangup;

    struct NoSocket;

    impl Hangup for NoSocket {
        fn hang_up(&self, _writes_too: bool) {}

        fn is_gone(&self) -> bool {
            false
        }
    }

    const COM_QUERY: u8 = 3;

    fn out_of_time(connection: &Connection, now_ms: u64) -> Option<Due> {
        what_is_due(connection, &FrontSettings::default(), now_ms).filter(|due| matches!(due, Due::OutOfTime { .. }))
    }

    #[test]
    fn a_statement_ends_in_time_however_its_client_takes_its_rows() {
        let connection = Connection::new(1, String::new(), Box::new(NoSocket));
        assert!(connection.begin_command(COM_QUERY));
        connection.set_deadline_ms(5_000);
        for now_ms in (1_000..5_000).step_by(100) {
            connection.enter(if now_ms % 200 == 0 { Phase::Writing } else { Phase::Running });
            assert!(out_of_time(&connection, now_ms).is_none(), "{now_ms}");
        }
        for phase in [Phase::Writing, Phase::Running] {
            connection.enter(phase);
            assert!(out_of_time(&connection, 5_000).is_some(), "{phase:?}");
        }
        out_of_time(&connection, 5_000).expect("due").done_to(&connection);
        assert_eq!(connection.stop_requested(), Stop::QueryTimeout);
        // Nothing is left of it while the connection is idle.
        connection.end_command();
        assert!(out_of_time(&connection, 6_000).is_none());
    }

    #[test]
    fn a_statement_that_began_since_the_look_is_not_stopped_for_the_one_before() {
        let connection = Connection::new(1, String::new(), Box::new(NoSocket));
        assert!(connection.begin_command(COM_QUERY));
        connection.set_deadline_ms(5_000);
        let of_the_text = out_of_time(&connection, 5_000).expect("due");
        // The next one of the same text, with a time of its own.
        connection.set_deadline_ms(9_000);
        of_the_text.done_to(&connection);
        assert_eq!(connection.stop_requested(), Stop::No);
        let of_the_command = out_of_time(&connection, 9_000).expect("due");
        connection.end_command();
        assert!(connection.begin_command(COM_QUERY));
        of_the_command.done_to(&connection);
        assert_eq!(connection.stop_requested(), Stop::No);
    }
}
