//! The tests of the front once more, with threads that look for their clients' next commands for a second before they sleep; and what only those can do.

#[path = "front.rs"]
mod front;

use front::{Fixture, command, raw_login, read_packet};
use std::io::Write;

/// A client that answers at once is found awake; where there is one processor nobody looks.
#[test]
fn a_quick_client_is_looked_for() {
    let fixture = Fixture::new();
    let mut stream = raw_login(&fixture);
    for _ in 0..200 {
        stream.write_all(&command(b"\x0E")).expect("sent");
        assert_eq!(read_packet(&mut stream).1[0], 0);
    }
    let counts = fixture.server.front().thread_counts();
    let processors = std::thread::available_parallelism().expect("some").get();
    // The first commands find it asleep; so does one behind which the machine stood still for two seconds.
    assert!(if processors > 1 { counts.looks_found > 50 } else { counts.looks_found == 0 }, "{counts:?}");
    drop(stream);
    fixture.stop();
}
