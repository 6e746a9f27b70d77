//! Admission against the real server: it never stalls, whatever holds the slots, and waits for a slot end as other waits do.

mod numbers;

use harness::{Server, code, until};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use numbers::connect;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

/// Runs for hours if nobody stops it.
const ENDLESS: &str = "SELECT COUNT(*) FROM n a JOIN n b JOIN n c JOIN n d WHERE a.v + b.v + c.v + d.v < 0";
/// Some hundred milliseconds of work.
const LONG: &str = "SELECT COUNT(*) FROM n a JOIN n b WHERE a.v + b.v < 0";

fn server(admission: &str) -> Server {
    numbers::server(&["--set", &format!("altiplano_admission={admission}"), "--set", "max_connections=1000"], 1000)
}

/// Admission's counters, without their common prefix.
fn counters(watcher: &mut Conn) -> HashMap<String, u64> {
    let list: Vec<(String, u64)> = watcher.query("SHOW STATUS LIKE 'Altiplano_admission%'").expect("counters");
    list.into_iter().map(|(name, value)| (name["Altiplano_admission_".len()..].to_owned(), value)).collect()
}

type Process = (u32, String, String, Option<String>, String, i64, Option<String>, Option<String>);

fn processes(watcher: &mut Conn) -> Vec<Process> {
    watcher.query("SHOW PROCESSLIST").expect("a list")
}

/// Ids of connections that wait for a slot.
fn queued(watcher: &mut Conn) -> Vec<u32> {
    processes(watcher)
        .into_iter()
        .filter(|process| process.6.as_deref() == Some("Waiting for admission"))
        .map(|process| process.0)
        .collect()
}

fn transfer(connection: &mut Conn, id: u32) {
    for statement in ["BEGIN".to_owned(), format!("UPDATE n SET v = v + 1 WHERE id = {id}"), "COMMIT".to_owned()] {
        connection.query_drop(statement).expect("a short transaction");
    }
}

/// Kills the statements of connections, which run or are about to: KILL QUERY of a connection whose statement has not come in yet would be lost.
fn kill_all(watcher: &mut Conn, ids: &[u32]) {
    until("all have begun", || {
        processes(watcher).iter().filter(|process| process.4 == "Query" && ids.contains(&process.0)).count() == ids.len()
    });
    for id in ids {
        watcher.query_drop(format!("KILL QUERY {id}")).expect("a kill");
    }
}

#[test]
fn endless_queries_do_not_stop_short_transactions() {
    let server = server("fixed:2");
    let mut watcher = connect(&server);
    let mut endless: Vec<Conn> = (0..40).map(|_| connect(&server)).collect();
    let ids: Vec<u32> = endless.iter().map(Conn::connection_id).collect();
    std::thread::scope(|scope| {
        let statements: Vec<_> = endless.iter_mut().map(|connection| scope.spawn(|| connection.query_drop(ENDLESS))).collect();
        until("the slots are full", || counters(&mut watcher)["long_queued"] > 0);
        let mut short = connect(&server);
        (0..20).for_each(|_| transfer(&mut short, 5));
        // New connections, too.
        (0..5).for_each(|_| transfer(&mut connect(&server), 6));
        kill_all(&mut watcher, &ids);
        for statement in statements {
            assert_eq!(code(&statement.join().expect("no panic").expect_err("killed")), 1317);
        }
    });
    let counters = counters(&mut watcher);
    assert!(counters["long"] >= 38, "{counters:?}");
    assert_eq!(
        (counters["queued"], counters["long_queued"], counters["long_working"], counters["overdraft"]),
        (0, 0, 0, 0),
        "{counters:?}"
    );
}

#[test]
fn long_queries_get_on_beside_short_transactions() {
    let server = server("fixed:2");
    let left = AtomicU32::new(12);
    std::thread::scope(|scope| {
        for number in 0..12 {
            let (server, left) = (&server, &left);
            scope.spawn(move || {
                let count: Option<u64> = connect(server).query_first(LONG).expect("an answer");
                assert_eq!(count, Some(0), "query {number}");
                left.fetch_sub(1, Ordering::SeqCst);
            });
        }
        for id in 1..=4 {
            let (server, left) = (&server, &left);
            scope.spawn(move || {
                let mut connection = connect(server);
                while left.load(Ordering::SeqCst) > 0 {
                    transfer(&mut connection, id);
                }
            });
        }
    });
}

#[test]
fn slots_full_of_transactions_that_wait_for_a_queued_one_do_not_stall() {
    let server = server("fixed:8");
    let mut watcher = connect(&server);
    let mut holder = connect(&server);
    holder.query_drop("BEGIN").expect("a transaction");
    holder.query_drop("UPDATE n SET v = 2 WHERE id = 1").expect("a lock");
    let mut endless: Vec<Conn> = (0..20).map(|_| connect(&server)).collect();
    let ids: Vec<u32> = endless.iter().map(Conn::connection_id).collect();
    std::thread::scope(|scope| {
        let waiters: Vec<_> = (0..24)
            .map(|_| {
                let server = &server;
                scope.spawn(move || transfer(&mut connect(server), 1))
            })
            .collect();
        let statements: Vec<_> = endless.iter_mut().map(|connection| scope.spawn(|| connection.query_drop(ENDLESS))).collect();
        until("everybody waits for the row", || {
            let waits: Vec<(String, u64)> = watcher.query("SHOW STATUS LIKE 'Innodb_row_lock_current_waits'").expect("a counter");
            waits[0].1 == 24 && counters(&mut watcher)["long_queued"] > 0
        });
        // Its slot may be gone by now. It reads for a while, among others who do, and commits.
        assert_eq!(holder.query_first::<u64, _>(LONG).expect("it gets on"), Some(0));
        holder.query_drop("COMMIT").expect("it ends");
        waiters.into_iter().for_each(|waiter| waiter.join().expect("it gets the row"));
        kill_all(&mut watcher, &ids);
        statements.into_iter().for_each(|statement| assert!(statement.join().expect("no panic").is_err()));
    });
    assert_eq!(watcher.query_first::<i64, _>("SELECT v FROM n WHERE id = 1").expect("a row"), Some(2 + 24));
}

#[test]
fn a_storm_of_connections_gets_through() {
    let server = server("fixed:8");
    std::thread::scope(|scope| {
        for number in 0..200 {
            let server = &server;
            scope.spawn(move || transfer(&mut connect(server), 1 + number % 10));
        }
    });
    let sum: Option<i64> = connect(&server).query_first("SELECT CAST(SUM(v) AS SIGNED) FROM n").expect("a sum");
    assert_eq!(sum, Some(1000 + 200));
}

#[test]
fn waits_for_a_slot_end_by_kill_time_limit_and_a_client_that_goes() {
    let mut server = server("fixed:1");
    let mut watcher = connect(&server);
    let mut endless: Vec<Conn> = (0..12).map(|_| connect(&server)).collect();
    std::thread::scope(|scope| {
        let statements: Vec<_> = endless.iter_mut().map(|connection| scope.spawn(|| connection.query_drop(ENDLESS))).collect();
        until("the long lane is full", || queued(&mut watcher).len() >= 6);
        // KILL.
        let victim = queued(&mut watcher)[0];
        watcher.query_drop(format!("KILL QUERY {victim}")).expect("a kill");
        until("it was killed", || !queued(&mut watcher).contains(&victim) || statements.iter().any(|statement| statement.is_finished()));
        until("its statement ended", || statements.iter().any(|statement| statement.is_finished()));
        // A time limit.
        let mut limited = connect(&server);
        limited.query_drop("SET max_execution_time = 300").expect("a limit");
        assert_eq!(code(&limited.query_drop(ENDLESS).expect_err("out of time")), 3024);
        // A client that goes.
        let mut client = std::process::Command::new(env!("CARGO_BIN_EXE_altiplano"))
            .args(["sql", "-P", &server.port().to_string(), "-e", &format!("SELECT 4711 IN ({ENDLESS})"), "d"])
            .spawn()
            .expect("a client");
        let sees = |watcher: &mut Conn| {
            let list: Vec<Option<String>> =
                watcher.query_map("SHOW FULL PROCESSLIST", |row: mysql::Row| row.get::<Option<String>, _>(7).flatten()).expect("a list");
            list.iter().flatten().any(|info| info.contains("4711"))
        };
        until("it runs", || sees(&mut watcher));
        client.kill().expect("a kill");
        client.wait().expect("it ended");
        until("its statement ends", || !sees(&mut watcher));
        // And the end of the server.
        assert_eq!(server.stop(), Some(0));
        for statement in statements {
            assert!(statement.join().expect("no panic").is_err());
        }
    });
}

#[test]
fn the_setting_is_checked_and_takes_effect_at_once() {
    let server = server("adaptive");
    let mut watcher = connect(&server);
    assert!(counters(&mut watcher)["limit"] >= 4);
    for (value, limit) in [("fixed:3", 3), ("off", 0), ("FIXED:1", 1)] {
        watcher.query_drop(format!("SET GLOBAL altiplano_admission = '{value}'")).expect("a setting");
        assert_eq!(counters(&mut watcher)["limit"], limit);
    }
    for wrong in ["on", "fixed", "fixed:0"] {
        let refused = watcher.query_drop(format!("SET GLOBAL altiplano_admission = '{wrong}'")).expect_err("no mode");
        assert_eq!(code(&refused), 1231);
    }
    assert_eq!(code(&watcher.query_drop("SET SESSION altiplano_admission = 'off'").expect_err("global only")), 1229);
    // Who waits when it is switched off goes on.
    let mut endless: Vec<Conn> = (0..6).map(|_| connect(&server)).collect();
    let ids: Vec<u32> = endless.iter().map(Conn::connection_id).collect();
    let mut idle = connect(&server);
    idle.query_drop("BEGIN").expect("a transaction");
    idle.query_drop("UPDATE n SET v = 7 WHERE id = 9").expect("it has the slot");
    std::thread::scope(|scope| {
        let statements: Vec<_> = endless.iter_mut().map(|connection| scope.spawn(|| connection.query_drop(ENDLESS))).collect();
        until("they queue", || counters(&mut watcher)["waits"] > 0);
        watcher.query_drop("SET GLOBAL altiplano_admission = 'off'").expect("off");
        until("nobody waits for a slot", || counters(&mut watcher)["queued"] == 0);
        kill_all(&mut watcher, &ids);
        statements.into_iter().for_each(|statement| assert!(statement.join().expect("no panic").is_err()));
    });
    idle.query_drop("COMMIT").expect("it goes on");
    let options = OptsBuilder::from_opts(server.options(Some("d")));
    assert_eq!(Conn::new(options).expect("in").query_first::<i64, _>("SELECT v FROM n WHERE id = 9").expect("a row"), Some(7));
}

#[test]
fn a_transaction_that_did_not_begin_leaves_nothing_for_the_next_one() {
    let server = server("fixed:1");
    let mut watcher = connect(&server);
    let mut endless: Vec<Conn> = (0..12).map(|_| connect(&server)).collect();
    let ids: Vec<u32> = endless.iter().map(Conn::connection_id).collect();
    let mut reader = connect(&server);
    let id = reader.connection_id();
    std::thread::scope(|scope| {
        let statements: Vec<_> = endless.iter_mut().map(|connection| scope.spawn(|| connection.query_drop(ENDLESS))).collect();
        until("the long lane is full", || queued(&mut watcher).len() >= 6);
        let waits = scope.spawn(|| reader.query_drop("START TRANSACTION READ ONLY"));
        until("it waits", || queued(&mut watcher).contains(&id));
        watcher.query_drop(format!("KILL QUERY {id}")).expect("a kill");
        assert_eq!(code(&waits.join().expect("no panic").expect_err("killed")), 1317);
        kill_all(&mut watcher, &ids);
        statements.into_iter().for_each(|statement| assert!(statement.join().expect("no panic").is_err()));
    });
    reader.query_drop("UPDATE n SET v = v + 1 WHERE id = 1").expect("not read only");
}
