//! The tests of the front once more, with sessions that share threads from the first connection on; and what only those can do.

#[path = "front.rs"]
mod front;

use front::{Fixture, command, raw_login, read_packet};
use harness::until;
use std::io::{Read, Write};
use std::sync::atomic::Ordering;

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

/// Has a session served once, after which each arrival at its socket is told once.
fn ping(stream: &mut std::net::TcpStream) {
    stream.write_all(&command(b"\x0E")).expect("sent");
    assert_eq!(read_packet(stream).1[0], 0);
}

/// What arrives at once is told once, also where it is read in several turns: buffers hold a power of two, and so do these commands, so nothing that is left in one shows that there is more.
#[test]
fn what_one_receive_leaves_in_the_socket_is_not_forgotten() {
    let fixture = Fixture::new();
    let mut streams: Vec<_> = (0..20).map(|_| raw_login(&fixture)).collect();
    streams.iter_mut().for_each(ping);
    fixture.until_parked(20);
    let text = command(b"\x03LENGTH 1234");
    assert_eq!(text.len(), 16);
    for stream in &mut streams {
        stream.write_all(&text.repeat(2048)).expect("sent");
        (0..2048).for_each(|_| assert_eq!(read_packet(stream).1[0], 0));
    }
    drop(streams);
    fixture.stop();
}

/// That a client has gone is told together with its last words, here while its session waits for the log; it is read behind them.
#[test]
fn an_end_that_is_told_with_last_words_is_noticed() {
    // On a machine that is busy with something else the watcher may find first that the client of a running statement has gone, and hang up.
    let heard = (0..20).any(|_| both_replies_come_before_the_end());
    assert!(heard, "not once in twenty times");
}

/// Whether they do; the session ends in any case.
fn both_replies_come_before_the_end() -> bool {
    let fixture = Fixture::new();
    let mut stream = raw_login(&fixture);
    ping(&mut stream);
    // Logged in before, so that it takes less time than the watcher's.
    let mut others: Vec<_> = (0..64).map(|_| raw_login(&fixture)).collect();
    stream.write_all(&command(b"\x03LATE 1")).expect("sent");
    until("it waits", || fixture.service.log.asked.load(Ordering::SeqCst) > 0);
    stream.write_all(&command(b"\x0E")).expect("sent");
    stream.shutdown(std::net::Shutdown::Write).expect("a socket");
    // Each post has looked at its epoll, where the report was first, once it has served others behind it.
    others.iter_mut().for_each(ping);
    fixture.service.log.make_durable(1);
    let mut replies = Vec::new();
    stream.read_to_end(&mut replies).expect("the server's end");
    drop(others);
    until("all sessions have ended", || fixture.service.connections.count() == 0);
    fixture.stop();
    // Two packets that say OK.
    let mut rest = &replies[..];
    let mut count = 0;
    while let [length, _, _, _, 0, ..] = rest {
        rest = &rest[4 + usize::from(*length)..];
        count += 1;
    }
    assert!(rest.is_empty(), "{replies:?}");
    count == 2
}

/// Replies that wait for the log take no thread, and none goes before its time.
#[test]
fn replies_that_wait_for_the_log_take_no_thread() {
    let fixture = Fixture::new();
    let log = &fixture.service.log;
    let mut streams: Vec<_> = (0..200).map(|_| raw_login(&fixture)).collect();
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.write_all(&command(format!("\x03LATE {}", 1 + number / 100).as_bytes())).expect("sent");
    }
    until("some wait", || fixture.service.log.asked.load(Ordering::SeqCst) > 0);
    // Others are served meanwhile, and there are threads for few.
    let mut other = raw_login(&fixture);
    other.write_all(&command(b"\x0E")).expect("sent");
    assert_eq!(read_packet(&mut other).1[0], 0);
    fixture.until_parked(1);
    assert!(fixture.server.front().thread_counts().shared < 100);
    for stream in &mut streams {
        stream.set_nonblocking(true).expect("a socket");
        assert_eq!(stream.read(&mut [0; 8]).map_err(|error| error.kind()), Err(std::io::ErrorKind::WouldBlock), "a reply before its time");
        stream.set_nonblocking(false).expect("a socket");
    }
    log.make_durable(2);
    for stream in &mut streams {
        let (sequence, reply) = read_packet(stream);
        assert_eq!((sequence, reply[0]), (1, 0), "OK");
    }
    // They are parked again, and go on.
    fixture.until_parked(201);
    for stream in &mut streams {
        stream.write_all(&command(b"\x03LATE 2")).expect("sent");
        assert_eq!(read_packet(stream).1[0], 0, "durable already");
    }
    assert!((1..=200).contains(&log.asked_for.load(Ordering::SeqCst)), "each at most once, and none for what was durable already");
    drop((streams, other));
    fixture.stop();
}

#[test]
fn a_late_reply_may_be_an_error_or_none() {
    let fixture = Fixture::new();
    let mut streams: Vec<_> = (0..3).map(|_| raw_login(&fixture)).collect();
    for (stream, text) in streams.iter_mut().zip(["\x03LATE 1 FAILS", "\x03LATE 1", "\x03LATE 1"]) {
        // What follows has to wait for the reply.
        stream.write_all(&[command(text.as_bytes()), command(b"\x0E")].concat()).expect("sent");
    }
    until("all wait", || {
        let running =
            |connection: &std::sync::Arc<session::connections::Connection>| connection.phase() == session::connections::Phase::Running;
        fixture.service.connections.list().iter().filter(|connection| running(connection)).count() == 3
    });
    // The last one is killed, and another client hangs up.
    let list = fixture.service.connections.list();
    let killed = list.iter().map(|connection| connection.id()).max().expect("three");
    assert!(fixture.service.connections.kill(killed, session::connections::Stop::Connection));
    let gone = streams.remove(1);
    drop(gone);
    fixture.service.log.make_durable(1);
    let (sequence, reply) = read_packet(&mut streams[0]);
    assert_eq!((sequence, reply[0], u16::from_le_bytes([reply[1], reply[2]])), (1, 0xFF, 1317));
    assert_eq!(read_packet(&mut streams[0]).1[0], 0, "the command behind it");
    assert_eq!(streams[1].read(&mut [0; 64]).unwrap_or(0), 0, "it was killed: not a word");
    until("one is left", || fixture.service.connections.count() == 1);
    drop(streams);
    fixture.stop();
}

/// Where the kernel takes several replies at once they go so, as soon as several clients have spoken.
#[test]
fn replies_go_together_and_each_to_its_own_client() {
    let fixture = Fixture::new();
    let mut streams: Vec<_> = (0..200).map(|_| raw_login(&fixture)).collect();
    let counts = || fixture.server.front().thread_counts();
    until("many have gone together", || {
        for (number, stream) in streams.iter_mut().enumerate() {
            stream.write_all(&command(format!("\x03LENGTH {}", "x".repeat(number)).as_bytes())).expect("sent");
        }
        for (number, stream) in streams.iter_mut().enumerate() {
            let (sequence, reply) = read_packet(stream);
            assert_eq!((sequence, &reply[..2]), (1, &[0, 7 + number as u8][..]), "OK, and the length of the statement");
        }
        counts().replies_together > 1000 || env::Sends::new().is_none()
    });
    let counts = counts();
    assert!(counts.replies_together >= 2 * counts.reply_batches);
    drop(streams);
    fixture.stop();
}

/// A client that does not read is told the rest once it does, and nobody else waits for it.
#[test]
fn a_client_that_does_not_read_gets_every_reply_in_the_end() {
    let fixture = Fixture::new();
    let (mut slow, mut others) = (raw_login(&fixture), (0..20).map(|_| raw_login(&fixture)).collect::<Vec<_>>());
    ping(&mut slow);
    let connection = fixture.service.connections.list().into_iter().min_by_key(|connection| connection.id()).expect("the first one");
    let mut asked = 0;
    // Short enough to go together with others; many of them fill the buffers of both sockets.
    until("it is written to in vain", || {
        for stream in &mut others {
            stream.write_all(&command(b"\x0E")).expect("sent");
        }
        slow.write_all(&command(b"\x03ROWS 20")).expect("sent");
        asked += 1;
        others.iter_mut().for_each(|stream| assert_eq!(read_packet(stream).1[0], 0));
        connection.phase() == session::connections::Phase::Writing
    });
    // What it asks now is read once its replies have been sent.
    slow.write_all(&command(b"\x0E")).expect("sent");
    others.iter_mut().for_each(ping);
    for _ in 0..asked {
        let packets: Vec<_> = (0..24).map(|_| read_packet(&mut slow)).collect();
        assert!(packets.iter().map(|(sequence, _)| usize::from(*sequence)).eq(1..25));
        assert!(packets[3..23].iter().all(|(_, row)| row.len() == packets[3].1.len()));
    }
    assert_eq!(read_packet(&mut slow).1[0], 0);
    drop((slow, others));
    fixture.stop();
}

/// Clients that go before they are answered end, and cost nobody else a reply.
#[test]
fn clients_that_go_before_they_are_answered_end_alone() {
    let fixture = Fixture::new();
    for round in 0..20 {
        let mut streams: Vec<_> = (0..40).map(|_| raw_login(&fixture)).collect();
        for stream in &mut streams {
            stream.write_all(&command(b"\x03ROWS 5")).expect("sent");
        }
        let mut number = 0;
        streams.retain(|_| {
            number += 1;
            (number + round) % 3 > 0
        });
        for stream in &mut streams {
            assert!((0..9).map(|_| read_packet(stream).0).eq(1..10));
        }
        let left = streams.len() as u32;
        until("the others have ended", || fixture.service.connections.count() == left);
        streams.iter_mut().for_each(ping);
        drop(streams);
        until("all have ended", || fixture.service.connections.count() == 0);
    }
    fixture.stop();
}
