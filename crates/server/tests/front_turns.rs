//! The tests of the front once more, with sessions that share threads, and turns that go on with a client's next command while others wait; and what only those can do.

#[path = "front.rs"]
mod front;

use front::{Fixture, command, raw_login, read_packet};
use std::io::Write;

#[test]
fn a_turn_ends_after_its_transactions_and_when_the_client_is_late() {
    let fixture = Fixture::new();
    let mut streams: Vec<_> = (0..50).map(|_| raw_login(&fixture)).collect();
    // Prompt clients, one after the other: however many commands each sends, it is parked in the end, and the others are answered.
    for round in 0..4 {
        for stream in &mut streams {
            for _ in 0..=round {
                stream.write_all(&command(b"\x0E")).expect("sent");
                assert_eq!(read_packet(stream).1[0], 0);
            }
        }
        fixture.until_parked(50);
    }
    // Half a packet is not waited for.
    let bytes = command(b"\x03LENGTH 123");
    for stream in &mut streams {
        stream.write_all(&[&command(b"\x0E"), &bytes[..6]].concat()).expect("sent");
        assert_eq!(read_packet(stream).1[0], 0);
    }
    fixture.until_parked(50);
    for stream in &mut streams {
        stream.write_all(&bytes[6..]).expect("sent");
        assert_eq!(read_packet(stream).1[..2], [0, 10]);
    }
    drop(streams);
    fixture.stop();
}
