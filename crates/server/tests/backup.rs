//! `altiplano backup` and `altiplano restore` with a server that is being written to: a bank whose transfers keep the sum.

use harness::{Server, run_all};
use mysql::prelude::Queryable;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

const BINARY: &str = env!("CARGO_BIN_EXE_altiplano");
const ACCOUNTS: u64 = 2000;

fn altiplano(arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ALTIPLANO_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(arguments: &[&str]) -> Output {
    altiplano(arguments).output().expect("the program starts")
}

fn fine(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn complaint(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn make_bank(server: &Server) {
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE bank").expect("a database");
    conn.query_drop("CREATE TABLE bank.account (id INT PRIMARY KEY, balance INT NOT NULL, pad VARCHAR(2000), KEY (balance))")
        .expect("a table");
    conn.query_drop("CREATE TABLE bank.ledger (no BIGINT AUTO_INCREMENT PRIMARY KEY, amount INT)").expect("a table");
    for first in (0..ACCOUNTS).step_by(100) {
        let rows: Vec<String> = (first..first + 100).map(|id| format!("({id}, 1000, REPEAT('x', 1000))")).collect();
        conn.query_drop(format!("INSERT INTO bank.account VALUES {}", rows.join(","))).expect("rows");
    }
}

/// Transfers until told to stop; each is one transaction that also writes the ledger.
struct Writers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<u64>>,
}

impl Writers {
    fn start(server: &Server, count: u64) -> Writers {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (0..count)
            .map(|no| {
                let (mut conn, stop) = (server.connect(), Arc::clone(&stop));
                std::thread::spawn(move || {
                    let (mut done, mut random) = (0, no * 7919 + 1);
                    while !stop.load(Ordering::Relaxed) {
                        let mut next = || {
                            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                            random >> 33
                        };
                        let (from, to, amount) = (next() % ACCOUNTS, next() % ACCOUNTS, next() % 50);
                        // In one order, so that there is no deadlock.
                        let (low, high) = (from.min(to), from.max(to));
                        let sign = if low == from { "-" } else { "+" };
                        let other = if low == from { "+" } else { "-" };
                        conn.query_drop("BEGIN").expect("begins");
                        conn.query_drop(format!("UPDATE bank.account SET balance = balance {sign} {amount} WHERE id = {low}"))
                            .expect("takes");
                        conn.query_drop(format!("UPDATE bank.account SET balance = balance {other} {amount} WHERE id = {high}"))
                            .expect("gives");
                        conn.query_drop(format!("INSERT INTO bank.ledger (amount) VALUES ({amount})")).expect("notes");
                        conn.query_drop("COMMIT").expect("commits");
                        done += 1;
                    }
                    done
                })
            })
            .collect();
        Writers { stop, threads }
    }

    fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().map(|thread| thread.join().expect("a writer")).sum()
    }
}

/// A server on a directory that exists.
struct On {
    child: Child,
    port: u16,
}

impl On {
    fn start(directory: &Path) -> On {
        use std::io::{BufRead, BufReader};
        let mut child = altiplano(&["--port", "0", "--buffer-pool-size", "64M", "--data-dir", path(directory)]).spawn().expect("starts");
        let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
        let (mut line, mut port) = (String::new(), None);
        while !line.contains("ready") {
            line.clear();
            assert!(log.read_line(&mut line).expect("text") > 0, "the server ended");
            if let Some((_, address)) = line.trim().split_once("listening on 127.0.0.1:") {
                port = address.parse().ok();
            }
        }
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        On { child, port: port.expect("a port") }
    }

    fn connect(&self) -> mysql::Conn {
        mysql::Conn::new(
            mysql::OptsBuilder::new().ip_or_hostname(Some("127.0.0.1")).tcp_port(self.port).user(Some("root")).prefer_socket(false),
        )
        .expect("a connection")
    }
}

impl Drop for On {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sum of balances and count of transfers.
fn totals(conn: &mut mysql::Conn) -> (i64, u64) {
    let sum: i64 = conn.query_first("SELECT CAST(SUM(balance) AS SIGNED) FROM bank.account").expect("a sum").expect("a row");
    let count: u64 = conn.query_first("SELECT COUNT(*) FROM bank.ledger").expect("a count").expect("a row");
    (sum, count)
}

fn status(conn: &mut mysql::Conn, name: &str) -> u64 {
    let row: Option<(String, u64)> = conn.query_first(format!("SHOW STATUS LIKE '{name}'")).expect("status");
    row.unwrap_or_else(|| panic!("no {name}")).1
}

fn check_tables(conn: &mut mysql::Conn) {
    let rows: Vec<(String, String, String, String)> = conn.query("CHECK TABLE bank.account, bank.ledger").expect("a check");
    assert!(rows.iter().all(|row| row.3 == "OK"), "{rows:?}");
}

#[test]
fn a_backup_under_load_restores_to_a_committed_state() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(BINARY, &[]);
    make_bank(&server);
    let port = server.port().to_string();
    let mut conn = server.connect();
    // A prepared transaction comes along.
    conn.query_drop("CREATE TABLE bank.prepared (id INT PRIMARY KEY)").expect("a table");
    run_all(&mut conn, &["XA START 'x'", "INSERT INTO bank.prepared VALUES (1)", "XA END 'x'", "XA PREPARE 'x'"]);
    let writers = Writers::start(&server, 4);
    let before = totals(&mut conn).1;
    let to = dir.path().join("full");
    let said = fine(&run(&["backup", "-P", &port, "--to", path(&to), "--compress", "--quiet"]));
    let after = totals(&mut conn).1;
    assert!(said.contains("backup complete"), "{said}");
    assert_eq!(status(&mut conn, "Altiplano_backup_completed"), 1);
    assert_eq!(status(&mut conn, "Altiplano_backup_running"), 0);
    assert!(status(&mut conn, "Altiplano_backup_last_lsn") > 0);
    assert!(writers.stop() > 0);
    assert!(fine(&run(&["backup", "--verify", path(&to), "--quiet"])).contains("is whole"));
    // Not over what is there.
    assert!(complaint(&run(&["backup", "-P", &port, "--to", path(&to)])).contains("complete backup here already"));
    let data = dir.path().join("data");
    fine(&run(&["restore", path(&to), "--to", path(&data), "--quiet"]));
    assert!(complaint(&run(&["restore", path(&to), "--to", path(&data)])).contains("not empty"));
    let restored = On::start(&data);
    let mut conn = restored.connect();
    let (sum, count) = totals(&mut conn);
    assert_eq!(sum, 1000 * ACCOUNTS as i64);
    assert!((before..=after).contains(&count), "{count} transfers, {before} before and {after} after");
    check_tables(&mut conn);
    conn.query_drop("XA COMMIT 'x'").expect("it was prepared");
    let ids: Vec<i32> = conn.query("SELECT id FROM bank.prepared").expect("a query");
    assert_eq!(ids, [1]);
    drop(restored);
    // A flipped bit is found before anything is made of it.
    let part = to.join("part-00000");
    let mut bytes = std::fs::read(&part).expect("a part");
    let at = bytes.len() / 2;
    bytes[at] ^= 4;
    std::fs::write(&part, bytes).expect("writes");
    assert!(complaint(&run(&["backup", "--verify", path(&to), "--quiet"])).contains("part-00000"));
    complaint(&run(&["restore", path(&to), "--to", path(&dir.path().join("never")), "--quiet"]));
}

/// With none, with some, and when they were reset; the restored server starts with them, and with a UUID of its own.
#[test]
fn persisted_variables_come_along() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(BINARY, &[]);
    let port = server.port().to_string();
    let mut conn = server.connect();
    let copies = [
        ("none", None),
        ("some", Some("SET PERSIST max_connect_errors = 77, PERSIST_ONLY back_log = 99")),
        ("reset", Some("RESET PERSIST")),
    ];
    let mut uuids = vec![conn.query_first::<String, _>("SELECT @@server_uuid").expect("a query").expect("a row")];
    for (name, statement) in copies {
        if let Some(statement) = statement {
            conn.query_drop(statement).expect(statement);
        }
        let (to, data) = (dir.path().join(name), dir.path().join(format!("{name}-data")));
        fine(&run(&["backup", "-P", &port, "--to", path(&to), "--quiet"]));
        assert!(fine(&run(&["backup", "--verify", path(&to), "--quiet"])).contains("is whole"));
        fine(&run(&["restore", path(&to), "--to", path(&data), "--quiet"]));
        assert_eq!(data.join("persisted.json").exists(), name == "some");
        let restored = On::start(&data);
        let mut conn = restored.connect();
        let values: Option<(u64, u64)> = conn.query_first("SELECT @@GLOBAL.max_connect_errors, @@back_log").expect("a query");
        assert_eq!(values, Some(if name == "some" { (77, 99) } else { (100, 151) }), "{name}");
        let kept: Vec<String> = conn.query("SELECT variable_name FROM performance_schema.persisted_variables ORDER BY 1").expect("a query");
        uuids.push(conn.query_first::<String, _>("SELECT @@server_uuid").expect("a query").expect("a row"));
        assert_eq!(kept.len(), if name == "some" { 2 } else { 0 }, "{kept:?}");
        drop(restored);
        // What was restored keeps the UUID that it has made.
        let again: Option<String> = On::start(&data).connect().query_first("SELECT @@server_uuid").expect("a query");
        assert_eq!(again.as_ref(), uuids.last());
    }
    uuids.sort_unstable();
    uuids.dedup();
    assert_eq!(uuids.len(), 4, "each server has its own: {uuids:?}");
}

#[test]
fn a_killed_backup_goes_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(BINARY, &[]);
    make_bank(&server);
    let port = server.port().to_string();
    let to = dir.path().join("killed");
    let writers = Writers::start(&server, 2);
    let mut killed = 0;
    let said = loop {
        // Slow at first, so that it is caught in the middle.
        let rate = if killed < 3 { "2" } else { "10000" };
        let mut child = altiplano(&["backup", "-P", &port, "--to", path(&to), "--rate", rate, "--quiet"]).spawn().expect("starts");
        if killed == 3 {
            break fine(&child.wait_with_output().expect("ends"));
        }
        // Until it has written more than the time before.
        let part = to.join("part-00000");
        let before = part.metadata().map_or(0, |data| data.len());
        while part.metadata().map_or(0, |data| data.len()) <= before && child.try_wait().expect("waits").is_none() {
            std::thread::yield_now();
        }
        child.kill().expect("kills");
        child.wait().expect("ends");
        killed += 1;
    };
    assert!(said.contains("it went on"), "{said}");
    writers.stop();
    let data = dir.path().join("data");
    fine(&run(&["restore", path(&to), "--to", path(&data), "--quiet"]));
    let restored = On::start(&data);
    let mut conn = restored.connect();
    assert_eq!(totals(&mut conn).0, 1000 * ACCOUNTS as i64);
    check_tables(&mut conn);
}

#[test]
fn archived_log_leads_to_any_point() {
    let dir = tempfile::tempdir().expect("a directory");
    let archive = dir.path().join("archive");
    let mut server = Server::start(BINARY, &["--log-archive", path(&archive)]);
    make_bank(&server);
    let port = server.port().to_string();
    let to = dir.path().join("full");
    fine(&run(&["backup", "-P", &port, "--to", path(&to), "--quiet"]));
    let mut conn = server.connect();
    // The ledger of the test: after each commit, where the log was.
    let mut points = Vec::new();
    for no in 1..=40u64 {
        conn.query_drop(format!("INSERT INTO bank.ledger (amount) VALUES ({no})")).expect("a row");
        points.push((status(&mut conn, "Altiplano_log_durable_lsn"), no));
        if no == 20 {
            // Over a restart, and one without warning.
            drop(conn);
            server.kill();
            server.restart();
            conn = server.connect();
        }
    }
    let time: String = conn.query_first("SELECT NOW(6)").expect("a time").expect("a row");
    // The accident is to be later by the server's clock.
    while conn.query_first::<bool, _>(format!("SELECT NOW(6) > '{time}'")).expect("a time") != Some(true) {}
    conn.query_drop("DROP TABLE bank.account").expect("an accident");
    drop(conn);
    // From the archive of a server that runs, as soon as the point is in it.
    let data = dir.path().join("beside");
    let until = points[25].0.to_string();
    let mut conn = server.connect();
    while status(&mut conn, "Altiplano_log_archive_lsn") < points[25].0 {
        std::thread::yield_now();
    }
    drop(conn);
    fine(&run(&["restore", path(&to), "--to", path(&data), "--archive", path(&archive), "--until-lsn", &until, "--quiet"]));
    assert_eq!(totals(&mut On::start(&data).connect()).1, 26);
    assert_eq!(server.stop(), Some(0));
    for (lsn, expect) in [points[4], points[19], points[20], points[33]] {
        let data = dir.path().join(format!("at-{lsn}"));
        let until = lsn.to_string();
        fine(&run(&["restore", path(&to), "--to", path(&data), "--archive", path(&archive), "--until-lsn", &until, "--quiet"]));
        let restored = On::start(&data);
        let mut conn = restored.connect();
        assert_eq!(totals(&mut conn), (1000 * ACCOUNTS as i64, expect), "at {lsn}");
    }
    let data = dir.path().join("at-time");
    let said = fine(&run(&["restore", path(&to), "--to", path(&data), "--archive", path(&archive), "--until-time", &time, "--quiet"]));
    assert!(said.contains("last commit"), "{said}");
    let restored = On::start(&data);
    let mut conn = restored.connect();
    assert_eq!(totals(&mut conn), (1000 * ACCOUNTS as i64, 40));
    check_tables(&mut conn);
    drop(restored);
    // The new history does not go into the old one's archive.
    let refused = run(&["--port", "0", "--data-dir", path(&data), "--log-archive", path(&archive)]);
    assert!(complaint(&refused).contains("another history"), "{refused:?}");
}

#[test]
fn an_idle_server_is_restored_to_where_its_backup_ends() {
    let dir = tempfile::tempdir().expect("a directory");
    let archive = dir.path().join("archive");
    let server = Server::start(BINARY, &["--log-archive", path(&archive)]);
    let to = dir.path().join("full");
    fine(&run(&["backup", "-P", &server.port().to_string(), "--to", path(&to), "--quiet"]));
    let restore = |data: &Path, until: Option<u64>| {
        let until = until.map(|lsn| lsn.to_string());
        let mut arguments = vec!["restore", path(&to), "--to", path(data), "--archive", path(&archive), "--quiet"];
        arguments.extend(until.iter().flat_map(|lsn| ["--until-lsn", lsn]));
        run(&arguments)
    };
    let said = fine(&restore(&dir.path().join("last"), None));
    let end: u64 = said.split_once("LSN ").and_then(|(_, rest)| rest.split([',', ' ', '\n', ';']).next()?.parse().ok()).expect(&said);
    // The root of a file system has a directory in it, which must not be in the way of another attempt.
    let data = dir.path().join("disk");
    std::fs::create_dir_all(data.join("lost+found")).expect("a directory");
    let said = complaint(&restore(&data, Some(end + (1 << 40))));
    assert!(said.contains("the log archive ends at"), "{said}");
    fine(&restore(&data, Some(end)));
    let rows: Option<i64> = On::start(&data).connect().query_first("SELECT 1").expect("a read");
    assert_eq!(rows, Some(1));
}

/// The client of MySQL or MariaDB, where one is installed.
fn mysqldump() -> Option<&'static str> {
    ["mysqldump", "mariadb-dump"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success()))
}

#[test]
fn a_dump_under_load_is_of_one_moment() {
    let Some(program) = mysqldump() else {
        println!("no mysqldump here; scripts/dump.py tells what is needed");
        return;
    };
    let server = Server::start(BINARY, &[]);
    make_bank(&server);
    let dump = |server: &Server| {
        let port = format!("-P{}", server.port());
        let arguments = ["-h127.0.0.1", &port, "-uroot", "--single-transaction", "--skip-dump-date", "--hex-blob", "--databases", "bank"];
        let output = Command::new(program).args(arguments).output().expect("it runs");
        fine(&output)
    };
    let writers = Writers::start(&server, 4);
    while totals(&mut server.connect()).1 < 100 {
        std::thread::yield_now();
    }
    let before = totals(&mut server.connect()).1;
    let text = dump(&server);
    let after = totals(&mut server.connect()).1;
    writers.stop();
    let other = Server::start(BINARY, &[]);
    let load = |text: &str| {
        let mut client = altiplano(&["sql", "-P", &other.port().to_string()]).stdin(Stdio::piped()).spawn().expect("starts");
        std::io::Write::write_all(&mut client.stdin.take().expect("a pipe"), text.as_bytes()).expect("is read");
        fine(&client.wait_with_output().expect("ends"));
    };
    load(&text);
    let (sum, count) = totals(&mut other.connect());
    assert_eq!(sum, 1000 * ACCOUNTS as i64);
    assert!((before..=after).contains(&count), "{count} transfers, {before} before and {after} after");
    // With nobody writing: loaded back, it dumps the same.
    let text = dump(&server);
    load("DROP DATABASE bank;");
    load(&text);
    assert!(text == dump(&other), "the dump of what was loaded differs");
}
