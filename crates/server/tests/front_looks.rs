//! The tests of the front once more, with threads that look for their clients' next commands for a second before they sleep; and what only those can do.

#[path = "front.rs"]
mod front;

use front::{Fixture, command, raw_login, read_packet};
use session::service::FrontSettings;
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

/// A prompt client of this machine is not looked for on two processors: the other one is kept busy.
#[test]
fn a_prompt_client_has_a_stand_in_where_there_are_two_processors() {
    let fixture = Fixture::with(FrontSettings::default());
    let mut stream = raw_login(&fixture);
    let machine = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let is_wanted = std::thread::available_parallelism().expect("some").get() == 2 && machine.trim() == "0-1";
    let mut counts = fixture.server.front().thread_counts();
    // Beside other tests commands may come soon only now and then; a few thousand are enough where nothing else runs.
    for _ in 0..if is_wanted { 200_000 } else { 1_000 } {
        stream.write_all(&command(b"\x0E")).expect("sent");
        assert_eq!(read_packet(&mut stream).1[0], 0);
        counts = fixture.server.front().thread_counts();
        if counts.stand_ins > 0 {
            break;
        }
    }
    assert_eq!(counts.stand_ins > 0, is_wanted, "{counts:?}");
    drop(stream);
    fixture.stop();
}
