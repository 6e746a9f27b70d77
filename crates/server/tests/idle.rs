//! Sessions whose clients are silent, on a server with few connections: they give back threads and memory, lose nothing else, and have threads of their own as soon as they
//! are spoken to.

mod numbers;
mod wire_client;

use harness::{Server, run_all, until};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use numbers::connect;
use protocol::Capabilities;
use std::collections::HashMap;
use std::io::Write;
use std::time::{Duration, Instant};
use wire_client::{BASE, Wire, Wish, trusting};

/// `altiplano_rest_after` of the servers here.
const REST_AFTER: Duration = Duration::from_secs(1);

fn server() -> Server {
    // Few connections, as far as threads go.
    let few = ["--set", "altiplano_shared_threads_from=100000", "--set", "altiplano_shared_threads_at_work=0"];
    numbers::server(&[&["--set", "altiplano_rest_after=1"][..], &few].concat(), 100)
}

fn counters(watcher: &mut Conn) -> HashMap<String, u64> {
    let sql = "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Altiplano_sessions%' OR Variable_name LIKE 'Altiplano_threads%' OR Variable_name LIKE 'Threads%'";
    let list: Vec<(String, u64)> = watcher.query(sql).expect("counters");
    list.into_iter().collect()
}

/// Waits until so many sessions are parked and have given back memory. The watcher is not silent.
fn until_resting(watcher: &mut Conn, count: u64) {
    until("they rest", || counters(watcher)["Altiplano_sessions_resting"] == count);
}

#[test]
fn a_session_that_rested_has_lost_nothing() {
    let server = server();
    let mut watcher = connect(&server);
    let mut connections: Vec<Conn> = (0..5).map(|_| connect(&server)).collect();
    let mut statements = Vec::new();
    for (n, connection) in connections.iter_mut().enumerate() {
        connection.query_drop(format!("SET @a = {n}, SESSION group_concat_max_len = {}", 100_000 + n)).expect("variables");
        connection.query_drop("CREATE TEMPORARY TABLE mine (v INT)").expect("a table");
        connection.query_drop(format!("INSERT INTO mine VALUES ({n})")).expect("a row");
        statements.push(connection.prep("SELECT v + ? FROM n WHERE id = ?").expect("prepared"));
        connection.query_drop("SELECT CAST('x' AS SIGNED)").expect("with a warning");
    }
    let count = connections.len() as u64;
    for round in 0..3 {
        until_resting(&mut watcher, count);
        // The listeners alone are left, and a few that wait for work.
        let counts = counters(&mut watcher);
        assert_eq!((counts["Altiplano_sessions_parked"], counts["Threads_connected"]), (count, count + 1));
        assert!(counts["Altiplano_threads_shared"] <= 4, "{counts:?}");
        let slept: Vec<u64> =
            watcher.query("SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND = 'Sleep' AND TIME >= 1").expect("a list");
        assert_eq!(slept.len() as u64, count);
        for (n, (connection, statement)) in connections.iter_mut().zip(&statements).enumerate() {
            if round == 0 {
                let warnings: Vec<(String, u16, String)> = connection.query("SHOW WARNINGS").expect("a list");
                assert_eq!(warnings.iter().map(|w| w.1).collect::<Vec<_>>(), [1292]);
            }
            let kept: Option<(usize, usize, usize)> =
                connection.query_first("SELECT @a, @@group_concat_max_len, (SELECT v FROM mine)").expect("an answer");
            assert_eq!(kept, Some((n, 100_000 + n, n)));
            assert_eq!(connection.exec_first::<u32, _, _>(statement, (n, 7)).expect("an answer"), Some(n as u32 + 1));
        }
    }
    // Another user may come after a rest as well.
    until_resting(&mut watcher, count);
    for connection in &mut connections {
        connection.change_user(mysql::ChangeUserOpts::new().with_db_name(Some("d".to_owned()))).expect("as root again");
        assert_eq!(connection.query_first::<Option<u32>, _>("SELECT @a").expect("an answer"), Some(None));
    }
}

#[test]
fn encrypted_and_compressed_connections_rest() {
    let server = server();
    let mut watcher = connect(&server);
    let mut wires: Vec<Wire> =
        [(false, Capabilities::COMPRESS), (true, BASE), (true, Capabilities::COMPRESS), (true, Capabilities::ZSTD_COMPRESSION)]
            .into_iter()
            .map(|(encrypted, also)| {
                let tls = encrypted.then(|| trusting(&server.data_dir().join("ca.pem"), None));
                let zstd_level = (also == Capabilities::ZSTD_COMPRESSION).then_some(7);
                Wire::connect(server.port(), Wish { tls, capabilities: BASE | also, zstd_level, ..Wish::default() }).expect("a connection")
            })
            .collect();
    for _ in 0..3 {
        for (n, wire) in wires.iter_mut().enumerate() {
            assert_eq!(wire.value(&format!("SELECT {n} + 1")), (n + 1).to_string());
            assert_eq!(wire.value("SELECT REPEAT('ab', 400000)"), "ab".repeat(400_000));
        }
        until_resting(&mut watcher, wires.len() as u64);
    }
    // Half a packet within a layer, silence, and the rest of it.
    for wire in &mut wires {
        let attributes = if wire.capabilities.contains(Capabilities::QUERY_ATTRIBUTES) { "\0\x01" } else { "" };
        let statement = format!("\x03{attributes}SELECT '{}'", "x".repeat(1000));
        let mut packet = (statement.len() as u32).to_le_bytes().to_vec();
        packet.extend_from_slice(statement.as_bytes());
        wire.stream.write_all(&packet[..500]).expect("sent");
        wire.stream.flush().expect("sent");
        until_resting(&mut watcher, 4);
        wire.stream.write_all(&packet[500..]).expect("sent");
        wire.stream.flush().expect("sent");
        wire.sequence = 1;
        assert_eq!(wire.rows().expect("a row")[0][0].as_ref().map(String::len), Some(1000));
    }
}

#[test]
fn a_session_has_its_own_thread_again_while_it_is_spoken_to() {
    let server = server();
    let (mut watcher, mut other) = (connect(&server), connect(&server));
    until_resting(&mut watcher, 1);
    let mut looks = 0;
    while looks < 30 {
        let begun = Instant::now();
        assert_eq!(other.query_first::<u32, _>("SELECT COUNT(*) FROM n").expect("an answer"), Some(100));
        let parked = counters(&mut watcher)["Altiplano_sessions_parked"];
        // On a busy machine it may have been silent for long enough.
        if begun.elapsed() < REST_AFTER {
            assert_eq!(parked, 0);
            looks += 1;
        }
    }
    until_resting(&mut watcher, 1);
}

#[test]
fn many_that_wake_up_at_once_are_all_answered() {
    const COUNT: u64 = 80;
    let server = server();
    let mut watcher = connect(&server);
    let mut connections: Vec<Conn> = (0..COUNT).map(|_| connect(&server)).collect();
    for _ in 0..3 {
        until_resting(&mut watcher, COUNT);
        watcher.query_drop("DO GET_LOCK('gate', 0)").expect("the lock");
        std::thread::scope(|scope| {
            for connection in &mut connections {
                std::thread::Builder::new()
                    .stack_size(256 << 10)
                    .spawn_scoped(scope, move || {
                        connection.query_drop("DO GET_LOCK('gate', 90), RELEASE_LOCK('gate')").expect("the lock");
                        connection.query_drop("UPDATE n SET v = v + 1 WHERE id = 1").expect("a change");
                    })
                    .expect("a thread");
            }
            // Each has a thread while all others wait.
            until("all wait", || {
                let sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User lock'";
                watcher.query_first::<u64, _>(sql).expect("a count") == Some(COUNT)
            });
            watcher.query_drop("DO RELEASE_LOCK('gate')").expect("the lock is free");
        });
    }
    assert_eq!(watcher.query_first::<u64, _>("SELECT v FROM n WHERE id = 1").expect("a row"), Some(1 + 3 * COUNT));
}

#[test]
fn who_holds_what_others_may_wait_for_keeps_its_thread() {
    let server = server();
    let (mut watcher, mut holder, mut bystander) = (connect(&server), connect(&server), connect(&server));
    for (takes, gives) in [
        (&["BEGIN", "UPDATE n SET v = 2 WHERE id = 1"][..], "COMMIT"),
        (&["START TRANSACTION WITH CONSISTENT SNAPSHOT", "SELECT * FROM n"], "COMMIT"),
        (&["DO GET_LOCK('l', 0)"], "DO RELEASE_LOCK('l')"),
        (&["LOCK TABLES n WRITE"], "UNLOCK TABLES"),
    ] {
        run_all(&mut holder, takes);
        bystander.query_drop("DO 1").expect("an answer");
        // The holder has been silent for longer than the bystander.
        until_resting(&mut watcher, 1);
        let slept = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {} AND TIME >= 2", holder.connection_id());
        until("it has slept", || watcher.query_first::<u8, _>(&slept).expect("a count") == Some(1));
        assert_eq!(counters(&mut watcher)["Altiplano_sessions_parked"], 1);
        // Within its transaction it goes on, also after a second silence.
        assert_eq!(holder.query_first::<u32, _>("SELECT COUNT(*) FROM n").expect("an answer"), Some(100));
        until("it has slept", || watcher.query_first::<u8, _>(&slept).expect("a count") == Some(1));
        holder.query_drop(gives).unwrap_or_else(|error| panic!("{gives}: {error}"));
        until_resting(&mut watcher, 2);
    }
    assert_eq!(watcher.query_first::<u32, _>("SELECT v FROM n WHERE id = 1").expect("a row"), Some(2));
}

#[test]
fn resting_sessions_are_killed_time_out_and_end_with_their_clients() {
    let server = server();
    let (mut watcher, mut victim, mut other) = (connect(&server), connect(&server), connect(&server));
    until_resting(&mut watcher, 2);
    watcher.query_drop(format!("KILL QUERY {}", victim.connection_id())).expect("a kill");
    assert_eq!(victim.query_first::<u32, _>("SELECT COUNT(*) FROM n").expect("an answer"), Some(100));
    until_resting(&mut watcher, 2);
    watcher.query_drop(format!("KILL {}", victim.connection_id())).expect("a kill");
    until("it has gone", || counters(&mut watcher)["Threads_connected"] == 2);
    assert!(victim.query_drop("SELECT 1").is_err());
    // wait_timeout and interactive_timeout, beyond the time after which they rest.
    other.query_drop("SET SESSION wait_timeout = 3").expect("a time");
    until_resting(&mut watcher, 1);
    until("it has timed out", || counters(&mut watcher)["Threads_connected"] == 1);
    assert!(other.query_drop("SELECT 1").is_err());
    watcher.query_drop("SET GLOBAL interactive_timeout = 3").expect("a time");
    let capabilities = mysql::consts::CapabilityFlags::CLIENT_INTERACTIVE;
    let interactive = Conn::new(OptsBuilder::from_opts(server.options(None)).additional_capabilities(capabilities)).expect("a connection");
    until_resting(&mut watcher, 1);
    until("it has timed out", || counters(&mut watcher)["Threads_connected"] == 1);
    drop(interactive);
    let clients: Vec<Conn> = (0..10).map(|_| connect(&server)).collect();
    until_resting(&mut watcher, 10);
    drop(clients);
    until("the clients' ends are seen", || counters(&mut watcher)["Threads_connected"] == 1);
    assert_eq!(counters(&mut watcher)["Altiplano_sessions_parked"], 0);
}

#[test]
fn a_stop_ends_resting_sessions() {
    let mut server = server();
    let mut watcher = connect(&server);
    let mut connections: Vec<Conn> = (0..50).map(|_| connect(&server)).collect();
    // One in a transaction, which keeps its thread.
    connections[0].query_drop("BEGIN").expect("a transaction");
    until_resting(&mut watcher, 49);
    assert_eq!(server.stop(), Some(0));
    for mut connection in connections {
        assert!(connection.query_drop("SELECT 1").is_err());
    }
}
