//! The tests of the front once more, with sessions that are parked as soon as their client has been silent for a moment, though they are few; and what only those can do.

#[path = "front.rs"]
mod front;

use front::{Fixture, command, raw_login, read_packet};
use harness::until;
use std::io::Write;

#[test]
fn silent_sessions_lose_their_threads_and_find_others() {
    let fixture = Fixture::new();
    let mut streams: Vec<_> = (0..100).map(|_| raw_login(&fixture)).collect();
    for _ in 0..3 {
        fixture.until_parked(100);
        // Sixteen of those that log in, sixteen others.
        until("few threads are left", || {
            let counts = fixture.server.front().thread_counts();
            counts.shared <= 4 && counts.cached <= 32
        });
        // All wake up at once.
        for stream in &mut streams {
            stream.write_all(&command(b"\x0E")).expect("sent");
        }
        for stream in &mut streams {
            assert_eq!(read_packet(stream).1[0], 0);
        }
    }
    drop(streams);
    fixture.stop();
}

#[test]
fn half_a_packet_keeps_no_thread() {
    let fixture = Fixture::new();
    let mut stream = raw_login(&fixture);
    let bytes = command(b"\x03LENGTH 123");
    for (from, to) in [(0, 2), (2, 6), (6, bytes.len())] {
        fixture.until_parked(1);
        stream.write_all(&bytes[from..to]).expect("sent");
        if to < bytes.len() {
            until("it is read", || fixture.service.connections.list()[0].phase() == session::connections::Phase::Reading);
        }
    }
    let (sequence, reply) = read_packet(&mut stream);
    assert_eq!((sequence, &reply[..2]), (1, &[0, 10][..]), "OK, and the length of LENGTH 123");
    drop(stream);
    fixture.stop();
}

#[test]
fn clients_that_hang_up_are_noticed() {
    let fixture = Fixture::new();
    for _ in 0..3 {
        let streams: Vec<_> = (0..30).map(|_| raw_login(&fixture)).collect();
        fixture.until_parked(30);
        drop(streams);
        until("all sessions have ended", || fixture.service.connections.count() == 0);
    }
    fixture.stop();
}
