//! The tests of the front once more, with sessions that share threads from the first connection on; and what only those can do.

#[path = "front.rs"]
mod front;

use front::{Fixture, command, raw_login, read_packet};
use harness::until;
use std::io::Write;

#[test]
fn commands_sent_together_are_all_answered_and_half_a_packet_keeps_no_thread() {
    let fixture = Fixture::new();
    // More than the crew has members to begin with.
    let mut streams: Vec<_> = (0..200).map(|_| raw_login(&fixture)).collect();
    let (whole, half) = ([command(b"\x0E"), command(b"\x03LENGTH 12"), command(b"\x0E")].concat(), command(b"\x03LENGTH 123"));
    for stream in &mut streams {
        stream.write_all(&[&whole[..], &half[..6]].concat()).expect("sent");
    }
    for stream in &mut streams {
        assert_eq!([0, 0, 0].map(|_| read_packet(stream).1[0]), [0, 0, 0]);
    }
    fixture.until_parked(200);
    assert!(fixture.server.front().thread_counts().shared < 200);
    // They also rest with it, and it is still there.
    let mut other = raw_login(&fixture);
    other.write_all(&command(b"\x0E")).expect("sent");
    assert_eq!(read_packet(&mut other).1[0], 0);
    until("most rest", || fixture.server.front().thread_counts().resting >= 150);
    for stream in &mut streams {
        stream.write_all(&half[6..]).expect("sent");
        let (sequence, reply) = read_packet(stream);
        assert_eq!((sequence, &reply[..2]), (1, &[0, 10][..]), "OK, and the length of LENGTH 123");
    }
    drop((streams, other));
    fixture.stop();
}

#[test]
fn a_packet_of_many_frames_may_pause_anywhere() {
    let fixture = Fixture::new();
    let text = [&b"\x03LENGTH "[..], &vec![b'x'; 17_000_000]].concat();
    let bytes = command(&text);
    let first_frame = 4 + 0xFF_FFFF;
    let mut stream = raw_login(&fixture);
    fixture.until_parked(1);
    let mut from = 0;
    // Within the first header and payload, between the frames, within the second header and payload.
    for to in [2, 1000, first_frame, first_frame + 2, first_frame + 4, first_frame + 5, bytes.len()] {
        stream.write_all(&bytes[from..to]).expect("sent");
        from = to;
        if to < bytes.len() {
            until("it is read", || fixture.service.connections.list()[0].phase() == session::connections::Phase::Reading);
            fixture.until_parked(1);
        }
    }
    let (sequence, reply) = read_packet(&mut stream);
    let length = reply[2..10].try_into().map(u64::from_le_bytes).expect("eight bytes after 254");
    assert_eq!((sequence, reply[0], reply[1], length), (2, 0, 254, text.len() as u64 - 1));
    drop(stream);
    fixture.stop();
}

#[test]
fn a_client_that_does_not_wait_for_its_login_is_served() {
    let fixture = Fixture::new();
    let mut stream = fixture.raw();
    read_packet(&mut stream);
    let together = [front::login_packet(), command(b"\x0E"), command(b"\x0E")].concat();
    stream.write_all(&together).expect("sent");
    assert_eq!([0, 0, 0].map(|_| read_packet(&mut stream).1[0]), [0, 0, 0]);
    fixture.until_parked(1);
    drop(stream);
    fixture.stop();
}

#[test]
fn clients_that_hang_up_are_noticed_while_parked() {
    let fixture = Fixture::new();
    let streams: Vec<_> = (0..50).map(|_| raw_login(&fixture)).collect();
    fixture.until_parked(50);
    drop(streams);
    until("all sessions have ended", || fixture.service.connections.count() == 0);
    // Their seats are given to others.
    let mut streams: Vec<_> = (0..50).map(|_| raw_login(&fixture)).collect();
    for stream in &mut streams {
        stream.write_all(&command(b"\x0E")).expect("sent");
        assert_eq!(read_packet(stream).1[0], 0);
    }
    fixture.until_parked(50);
    drop(streams);
    fixture.stop();
}
