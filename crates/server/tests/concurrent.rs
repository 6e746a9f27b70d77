//! Many connections at once against the real server: nothing is lost, nothing is counted twice, every snapshot is one.
//!
//! Each test prints its seed; `ALTIPLANO_TEST_SEED=N` runs it again with the same choices (not with the same schedule). Work is bounded by
//! counts, not by time.

mod bank;

use bank::{ACCOUNTS, Bank, Locking, Rng, START_BALANCE, again_after_deadlock, at_level, in_parallel, seed};
use harness::Server;
use mysql::prelude::Queryable;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Mutex, Rank};

const LEVELS: [&str; 2] = ["READ COMMITTED", "REPEATABLE READ"];

fn server() -> Server {
    Server::start(env!("CARGO_BIN_EXE_altiplano"), &[])
}

#[test]
fn transfers_of_64_connections_keep_the_total() {
    let seed = seed("transfers_of_64_connections_keep_the_total");
    let server = server();
    let bank = Bank::create(&server);
    for (round, (level, locking)) in
        LEVELS.iter().flat_map(|level| [Locking::ForUpdate, Locking::Arithmetic].map(|locking| (level, locking))).enumerate()
    {
        in_parallel(64, |worker| {
            let mut connection = at_level(&server, level);
            let mut random = Rng::new(seed ^ (round as u64 * 1000 + worker));
            for _ in 0..40 {
                bank.transfer(&mut connection, &mut random, locking).expect("a transfer");
            }
        });
        bank.check(&mut server.connect());
    }
}

#[test]
fn a_hot_counter_loses_no_update() {
    let server = server();
    let mut connection = server.connect();
    connection.query_drop("CREATE DATABASE c").expect("a database");
    connection.query_drop("CREATE TABLE c.counter (id INT PRIMARY KEY, n BIGINT NOT NULL)").expect("a table");
    connection.query_drop("INSERT INTO c.counter VALUES (1, 0)").expect("a row");
    for (level, statement_only) in LEVELS.iter().flat_map(|level| [(level, true), (level, false)]) {
        let before: i64 = connection.query_first("SELECT n FROM c.counter").expect("an answer").expect("a row");
        in_parallel(32, |_| {
            let mut connection = at_level(&server, level);
            for _ in 0..40 {
                if statement_only {
                    connection.query_drop("UPDATE c.counter SET n = n + 1 WHERE id = 1").expect("an update");
                } else {
                    connection.query_drop("BEGIN").expect("begin");
                    let n: Option<i64> = connection.query_first("SELECT n FROM c.counter WHERE id = 1 FOR UPDATE").expect("a read");
                    connection.exec_drop("UPDATE c.counter SET n = ? WHERE id = 1", (n.expect("a row") + 1,)).expect("an update");
                    connection.query_drop("COMMIT").expect("commit");
                }
            }
        });
        let after: i64 = connection.query_first("SELECT n FROM c.counter").expect("an answer").expect("a row");
        assert_eq!(after - before, 32 * 40, "{level}, one statement: {statement_only}");
    }
}

#[test]
fn a_unique_key_has_exactly_one_winner() {
    const KEYS: u64 = 40;
    const RIVALS: u64 = 16;
    let seed = seed("a_unique_key_has_exactly_one_winner");
    let server = server();
    let mut connection = server.connect();
    connection.query_drop("CREATE DATABASE u").expect("a database");
    for (level, by_secondary) in LEVELS.iter().flat_map(|level| [(level, false), (level, true)]) {
        connection.query_drop("DROP TABLE IF EXISTS u.t").expect("no table");
        connection.query_drop("CREATE TABLE u.t (id INT PRIMARY KEY, k INT NOT NULL, who INT NOT NULL, UNIQUE KEY (k))").expect("a table");
        let wins: Vec<AtomicU64> = (0..KEYS).map(|_| AtomicU64::new(u64::MAX)).collect();
        in_parallel(RIVALS, |worker| {
            let mut connection = at_level(&server, level);
            let mut random = Rng::new(seed ^ worker);
            for key in 0..KEYS {
                // Some who have inserted change their mind: then another may win.
                let keeps = random.below(4) != 0;
                let id = if by_secondary { key * RIVALS + worker } else { key };
                let won = again_after_deadlock(&mut connection, |connection| {
                    connection.exec_drop("INSERT INTO u.t VALUES (?, ?, ?)", (id, key, worker))?;
                    connection.query_drop(if keeps { "COMMIT" } else { "ROLLBACK" })
                });
                match won {
                    Ok(()) if keeps => {
                        let before = wins[key as usize].swap(worker, Ordering::Relaxed);
                        assert_eq!(before, u64::MAX, "key {key} was won by {before} and {worker}");
                    }
                    Ok(()) => {}
                    Err(mysql::Error::MySqlError(error)) if error.code == 1062 => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let rows: Vec<(u64, u64)> = connection.query("SELECT k, who FROM u.t ORDER BY k").expect("rows");
        let expected: Vec<(u64, u64)> = wins
            .iter()
            .enumerate()
            .map(|(key, who)| (key as u64, who.load(Ordering::Relaxed)))
            .filter(|(_, who)| *who != u64::MAX)
            .collect();
        assert_eq!(rows, expected, "{level}, by a secondary key: {by_secondary}");
        let by_key: Vec<u64> = connection.query("SELECT k FROM u.t FORCE INDEX (k) WHERE k >= 0 ORDER BY k").expect("keys");
        assert_eq!(by_key, rows.iter().map(|(key, _)| *key).collect::<Vec<_>>());
    }
}

/// What is counted by name while counters are taken away, and take another's name, is neither lost nor counted twice: each statement adds to the one of that name, or makes it.
#[test]
fn upserts_count_once_while_rows_come_and_go() {
    const NAMES: u64 = 5;
    let seed = seed("upserts_count_once_while_rows_come_and_go");
    let server = server();
    let mut connection = server.connect();
    connection.query_drop("CREATE DATABASE n").expect("a database");
    for (level, by_secondary) in LEVELS.iter().flat_map(|level| [(level, false), (level, true)]) {
        let keys = if by_secondary { "id INT AUTO_INCREMENT PRIMARY KEY, UNIQUE KEY (name)" } else { "id INT, PRIMARY KEY (name)" };
        connection.query_drop("DROP TABLE IF EXISTS n.counters").expect("no table");
        connection.query_drop(format!("CREATE TABLE n.counters (name VARCHAR(20) NOT NULL, n BIGINT NOT NULL, {keys})")).expect("a table");
        let told: Vec<(u64, u64)> = in_parallel(16, |worker| {
            let mut connection = at_level(&server, level);
            let mut random = Rng::new(seed ^ worker);
            let (mut added, mut taken) = (0, 0);
            for _ in 0..120 {
                let [name, other] = [(); 2].map(|()| format!("Name {}", random.below(NAMES)));
                let kind = random.below(10);
                let mut change = || -> Result<u64, mysql::Error> {
                    let mut taken = 0;
                    match kind {
                        // Takes the counter away, with what it has counted.
                        0 => {
                            connection.query_drop("BEGIN")?;
                            let n: Option<u64> = connection.exec_first("SELECT n FROM n.counters WHERE name = ? FOR UPDATE", (&name,))?;
                            // At READ COMMITTED one may come to be where there was none.
                            if n.is_some() {
                                connection.exec_drop("DELETE FROM n.counters WHERE name = ?", (&name,))?;
                            }
                            connection.query_drop("COMMIT")?;
                            taken = n.unwrap_or(0);
                        }
                        // Gives it a name that is free, perhaps.
                        1 => match connection.exec_drop("UPDATE n.counters SET name = ? WHERE name = ?", (&other, &name)) {
                            Err(mysql::Error::MySqlError(error)) if error.code == 1062 => {}
                            result => result?,
                        },
                        2 => {
                            let sql = "INSERT INTO n.counters (name, n) VALUES (?, 1), (?, 1) ON DUPLICATE KEY UPDATE n = n + VALUES(n)";
                            connection.exec_drop(sql, (&name, &other))?;
                        }
                        3 => {
                            let sql = format!(
                                "INSERT INTO n.counters (name, n) VALUES ('{name}', 1) AS new ON DUPLICATE KEY UPDATE n = counters.n + new.n"
                            );
                            connection.query_drop(sql)?;
                        }
                        _ => {
                            let sql = "INSERT INTO n.counters (name, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE n = n + 1";
                            connection.exec_drop(sql, (&name,))?;
                        }
                    }
                    Ok(taken)
                };
                // A victim of a deadlock has done nothing.
                taken += loop {
                    match change() {
                        Err(mysql::Error::MySqlError(error)) if error.code == 1213 => {}
                        result => break result.expect("a change"),
                    }
                };
                added += [0, 0, 2].get(kind as usize).copied().unwrap_or(1);
            }
            (added, taken)
        });
        let left: u64 =
            connection.query_first("SELECT CAST(IFNULL(SUM(n), 0) AS UNSIGNED) FROM n.counters").expect("an answer").expect("a row");
        let (added, taken) = told.iter().fold((0, 0), |sum, told| (sum.0 + told.0, sum.1 + told.1));
        assert_eq!(left + taken, added, "{level}, by a secondary key: {by_secondary}");
        let check: (String, String, String, String) = connection.query_first("CHECK TABLE n.counters").expect("an answer").expect("a row");
        assert_eq!(check.3, "OK");
    }
}

#[test]
fn auto_increment_gives_each_number_once() {
    let server = server();
    let mut connection = server.connect();
    connection.query_drop("CREATE DATABASE i").expect("a database");
    connection.query_drop("CREATE TABLE i.t (id BIGINT AUTO_INCREMENT PRIMARY KEY, who INT NOT NULL, n INT NOT NULL)").expect("a table");
    let told: Vec<Vec<u64>> = in_parallel(32, |worker| {
        let mut connection = at_level(&server, LEVELS[worker as usize % 2]);
        let mut told = Vec::new();
        for n in 0..12 {
            if n % 4 == 3 {
                connection.query_drop("BEGIN").expect("begin");
                connection.query_drop("INSERT INTO i.t (who, n) VALUES (0, 0)").expect("an insert");
                connection.query_drop("ROLLBACK").expect("rollback");
            }
            // Two rows a statement: the client is told the first one's number, the second's is the next.
            connection.exec_drop("INSERT INTO i.t (who, n) VALUES (?, ?), (?, ?)", (worker, n, worker, n)).expect("an insert");
            let first = connection.last_insert_id();
            told.extend([first, first + 1]);
        }
        told
    });
    let distinct: HashSet<u64> = told.iter().flatten().copied().collect();
    assert_eq!(distinct.len(), 32 * 12 * 2);
    let rows: Vec<(u64, usize)> = connection.query("SELECT id, who FROM i.t").expect("rows");
    assert_eq!(rows.len(), distinct.len());
    for (id, who) in rows {
        assert!(told[who].contains(&id), "row {id} is not one that connection {who} was told");
    }
}

#[test]
fn every_snapshot_has_the_same_total() {
    let seed = seed("every_snapshot_has_the_same_total");
    let server = server();
    let bank = Bank::create(&server);
    let done = AtomicBool::new(false);
    let reads = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for reader in 0..6 {
            let (server, done, reads) = (&server, &done, &reads);
            scope.spawn(move || {
                // A single statement is one snapshot at either level; several are in one REPEATABLE READ transaction.
                let mut connection = at_level(server, LEVELS[reader % 2]);
                let mut last_look = false;
                while !last_look {
                    last_look = done.load(Ordering::Acquire);
                    let repeatable = reader % 2 == 1;
                    if repeatable {
                        connection.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT").expect("begin");
                    }
                    for sql in [
                        "SELECT SUM(balance), COUNT(*) FROM bank.account",
                        "SELECT SUM(balance), COUNT(*) FROM bank.account FORCE INDEX (balance) WHERE balance > -1000000000",
                        "SELECT SUM(a.balance), COUNT(*) FROM bank.account b FORCE INDEX (branch) JOIN bank.account a ON a.id = b.id WHERE b.branch >= 0",
                    ] {
                        let (sum, count): (i64, u64) = connection.query_first(sql).expect("an answer").expect("a row");
                        assert_eq!((sum, count), (ACCOUNTS as i64 * START_BALANCE, ACCOUNTS), "{sql}");
                        reads.fetch_add(1, Ordering::Relaxed);
                    }
                    if repeatable {
                        connection.query_drop("COMMIT").expect("commit");
                    }
                }
            });
        }
        in_parallel(10, |worker| {
            let mut connection = at_level(&server, LEVELS[worker as usize % 2]);
            let mut random = Rng::new(seed ^ worker);
            for _ in 0..200 {
                bank.transfer(&mut connection, &mut random, Locking::Arithmetic).expect("a transfer");
            }
        });
        done.store(true, Ordering::Release);
    });
    println!("{} sums", reads.load(Ordering::Relaxed));
    bank.check(&mut server.connect());
}

#[test]
fn what_was_acknowledged_before_kill_9_is_there_after_it() {
    const WORKERS: u64 = 16;
    let seed = seed("what_was_acknowledged_before_kill_9_is_there_after_it");
    let mut random = Rng::new(seed);
    let mut server = server();
    let bank = Bank::create(&server);
    // The ledger is outside the server: of each worker the last transfer that was acknowledged and the last that was tried.
    let ledger: Vec<(AtomicU64, AtomicU64)> = (0..WORKERS).map(|_| Default::default()).collect();
    for round in 0..6 {
        let enough = AtomicU64::new(150 + random.below(250));
        let killed = AtomicBool::new(false);
        let pid = server.pid();
        // All are connected before anybody begins: a fast one could kill the server while a slow one still logs in.
        let connections: Vec<_> =
            LEVELS.iter().cycle().take(WORKERS as usize).map(|level| Mutex::new(Rank::Leaf, Some(at_level(&server, level)))).collect();
        in_parallel(WORKERS, |worker| {
            let mut connection = connections[worker as usize].lock().take().expect("one each");
            let mut random = Rng::new(seed ^ (round * 1000 + worker));
            let (acknowledged, tried) = &ledger[worker as usize];
            loop {
                let number = tried.fetch_add(1, Ordering::Relaxed) + 1;
                match bank.transfer_with_ledger(&mut connection, &mut random, worker, number) {
                    Ok(()) => acknowledged.store(number, Ordering::Relaxed),
                    // The server has gone; anything else is a failure of the test.
                    Err(mysql::Error::IoError(_) | mysql::Error::DriverError(_) | mysql::Error::CodecError(_)) => {
                        assert!(killed.load(Ordering::Relaxed), "the connection broke before the kill");
                        return;
                    }
                    Err(error) => panic!("{error}"),
                }
                // Whoever makes the last transfer of the round kills, in the middle of the others' work.
                if enough.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) == Ok(1) {
                    killed.store(true, Ordering::Relaxed);
                    let status = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
                    assert!(status.is_ok_and(|s| s.success()), "kill cannot be run");
                }
            }
        });
        server.restart();
        let mut connection = server.connect();
        bank.check(&mut connection);
        for (worker, (acknowledged, tried)) in ledger.iter().enumerate() {
            let (acknowledged, tried) = (acknowledged.load(Ordering::Relaxed), tried.load(Ordering::Relaxed));
            let found: Vec<u64> =
                connection.exec("SELECT number FROM bank.transfer WHERE worker = ? ORDER BY number", (worker,)).expect("the transfers");
            let known: HashSet<u64> = found.iter().copied().collect();
            assert_eq!(known.len(), found.len());
            assert!(found.last().is_none_or(|last| *last <= tried), "a transfer that nobody tried");
            let lost = bank.acknowledged(worker).into_iter().filter(|number| !known.contains(number)).collect::<Vec<_>>();
            assert!(lost.is_empty(), "round {round}, worker {worker}: acknowledged up to {acknowledged}, lost {lost:?}");
        }
    }
}
