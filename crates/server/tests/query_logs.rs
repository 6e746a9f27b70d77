//! The slow query log and the general query log: their files, read by the grammar that `mysqldumpslow` and `pt-query-digest` read them by.

use harness::Server;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Params};
use std::path::PathBuf;

fn start(arguments: &[&str]) -> Server {
    Server::start(env!("CARGO_BIN_EXE_altiplano"), arguments)
}

fn run(client: &mut Conn, statements: &[&str]) {
    for sql in statements {
        client.query_drop(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

fn code(result: mysql::Result<()>) -> u16 {
    match result {
        Err(mysql::Error::MySqlError(error)) => error.code,
        other => panic!("no error of the server: {other:?}"),
    }
}

fn variable(client: &mut Conn, name: &str) -> String {
    client.query_first(format!("SELECT @@GLOBAL.{name}")).expect("answers").expect("a row")
}

fn log_file(client: &mut Conn, name: &str) -> PathBuf {
    PathBuf::from(variable(client, name))
}

/// An entry of the slow log.
#[derive(Debug, Default, Clone, PartialEq)]
struct Slow {
    user: String,
    host: String,
    id: u32,
    query_time: f64,
    lock_time: f64,
    rows_sent: u64,
    rows_examined: u64,
    extra: Vec<(String, String)>,
    database: Option<String>,
    timestamp: u64,
    text: String,
}

/// Reads `Name: value` pairs, which one or two blanks part.
fn figures(line: &str) -> Vec<(String, String)> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    assert_eq!(words.len() % 2, 0, "{line}");
    let pair = |pair: &[&str]| (pair[0].strip_suffix(':').unwrap_or_else(|| panic!("{line}")).to_owned(), pair[1].to_owned());
    words.chunks(2).map(pair).collect()
}

/// The grammar: heads of three lines at each opening, then entries. Anything else fails the test.
fn slow_entries(text: &str) -> Vec<Slow> {
    let (mut lines, mut entries) = (text.lines().peekable(), Vec::new());
    while let Some(line) = lines.next() {
        if line.starts_with('/') && line.contains(", Version: ") {
            assert!(line.ends_with("). started with:"), "{line}");
            assert!(lines.next().is_some_and(|line| line.starts_with("Tcp port: ") && line.contains("  Unix socket: ")));
            assert_eq!(lines.next(), Some("Time                 Id Command    Argument"));
            continue;
        }
        let time = line.strip_prefix("# Time: ").unwrap_or_else(|| panic!("no entry begins: {line}"));
        assert_eq!((time.len(), &time[10..11], &time[26..]), ("2026-11-23T06:50:47.742356Z".len(), "T", "Z"));
        let who = lines.next().and_then(|line| line.strip_prefix("# User@Host: ")).expect("who");
        let (who, id) = who.split_once("  Id: ").expect("an id");
        let (user, host) = who.split_once(" @ ").expect("a host");
        assert_eq!(id.len(), 5, "{id}");
        let all = figures(lines.next().and_then(|line| line.strip_prefix("# ")).expect("figures"));
        let names: Vec<&str> = all[..4].iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Query_time", "Lock_time", "Rows_sent", "Rows_examined"]);
        let number = |at: usize| all[at].1.parse::<u64>().expect("a number");
        let seconds = |at: usize| {
            let text: &String = &all[at].1;
            assert_eq!(text.split_once('.').map(|(_, micros)| micros.len()), Some(6), "{text}");
            text.parse::<f64>().expect("seconds")
        };
        let mut entry = Slow {
            user: user.to_owned(),
            host: host.to_owned(),
            id: id.trim().parse().expect("a number"),
            query_time: seconds(0),
            lock_time: seconds(1),
            rows_sent: number(2),
            rows_examined: number(3),
            extra: all[4..].to_vec(),
            ..Slow::default()
        };
        if let Some(database) = lines.peek().and_then(|line| line.strip_prefix("use ")) {
            entry.database = Some(database.strip_suffix(';').expect("a semicolon").to_owned());
            lines.next();
        }
        let timestamp = lines.next().and_then(|line| line.strip_prefix("SET timestamp=")).expect("a time");
        entry.timestamp = timestamp.strip_suffix(';').and_then(|number| number.parse().ok()).expect("a number");
        let mut statement = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("# Time: ") && !line.contains(", Version: ")) {
            statement.push(line);
        }
        let statement = statement.join("\n");
        assert!(statement.ends_with(';') || statement.starts_with("# administrator command: "), "{statement}");
        entry.text = statement.trim_end_matches(';').to_owned();
        entries.push(entry);
    }
    entries
}

fn read_slow(path: &PathBuf) -> Vec<Slow> {
    slow_entries(&std::fs::read_to_string(path).expect("a log"))
}

/// Lines of the general log: id, command, argument.
fn read_general(path: &PathBuf) -> Vec<(u32, String, String)> {
    let text = std::fs::read_to_string(path).expect("a log");
    let mut lines = text.lines();
    let mut entries: Vec<(u32, String, String)> = Vec::new();
    while let Some(line) = lines.next() {
        if line.starts_with('/') && line.ends_with("). started with:") {
            assert!(lines.next().is_some_and(|line| line.starts_with("Tcp port: ")));
            assert_eq!(lines.next(), Some("Time                 Id Command    Argument"));
            continue;
        }
        let mut parts = line.splitn(3, '\t');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(time), Some(middle), Some(argument)) if time.len() == 27 && time.ends_with('Z') => {
                let (id, command) = middle.trim_start().split_once(' ').expect("an id and a command");
                entries.push((id.parse().expect("an id"), command.to_owned(), argument.to_owned()));
            }
            // A statement of several lines goes on.
            _ => entries.last_mut().expect("an entry").2.push_str(&format!("\n{line}")),
        }
    }
    entries
}

fn of(entries: &[(u32, String, String)], id: u32) -> Vec<(&str, &str)> {
    entries.iter().filter(|(own, ..)| *own == id).map(|(_, command, argument)| (command.as_str(), argument.as_str())).collect()
}

#[test]
fn slow_statements_are_in_the_file_as_mysql_writes_them() {
    let server = start(&[]);
    let mut root = server.connect();
    let mut client = server.connect();
    run(&mut root, &["CREATE DATABASE d", "SET GLOBAL slow_query_log = ON"]);
    let path = log_file(&mut root, "slow_query_log_file");
    assert_eq!(path.parent(), std::fs::canonicalize(server.data_dir()).ok().as_deref());
    assert!(path.to_string_lossy().ends_with("-slow.log"));
    run(
        &mut client,
        &[
            "CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)",
            "SET long_query_time = 0",
            "USE d",
            "INSERT INTO t (v) VALUES (1), (2), (3), (4)",
            "SELECT * FROM t",
            "SELECT * FROM t WHERE v = 2",
            "SELECT * FROM t WHERE id = 3",
            "SELECT 'one\ntwo', '; #'",
            "UPDATE t SET v = v + 1 WHERE v > 2",
            "CREATE USER u IDENTIFIED BY 'geheim'",
            "PREPARE s FROM 'SELECT * FROM t WHERE id = ? AND v > ?'",
            "SET @a = 2, @b = '0'",
            "EXECUTE s USING @a, @b",
            "SET timestamp = 1000000",
            "SELECT NOW()",
            "SET timestamp = DEFAULT",
            "  SELECT 7 ;  ",
            "SELECT 8; SELECT v FROM t LIMIT 2 ; SELECT 9",
        ],
    );
    let _: Option<mysql::Row> = client.exec_first("SELECT v, ? FROM t WHERE id = ?", ("it's", 1)).expect("a row");
    assert_eq!(code(client.query_drop("SELECT nosuch FROM t")), 1054);
    assert_eq!(code(client.query_drop("SELEC 1 IDENTIFIED BY 'geheim'")), 1064);
    run(&mut client, &["ALTER TABLE t ADD c INT", "ANALYZE TABLE t"]);
    run(&mut root, &["SET GLOBAL log_slow_admin_statements = 1"]);
    run(&mut client, &["ALTER TABLE t DROP c", "SET long_query_time = 10", "SELECT 'not slow'"]);
    run(&mut root, &["SET GLOBAL slow_query_log = OFF"]);
    run(&mut client, &["SET long_query_time = 0", "SELECT 'off'"]);

    let entries = read_slow(&path);
    let shown: Vec<(&str, u64, u64)> = entries.iter().map(|entry| (entry.text.as_str(), entry.rows_sent, entry.rows_examined)).collect();
    let expect = [
        ("SET long_query_time = 0", 0, 0),
        ("USE d", 0, 0),
        ("INSERT INTO t (v) VALUES (1), (2), (3), (4)", 0, 0),
        ("SELECT * FROM t", 4, 4),
        ("SELECT * FROM t WHERE v = 2", 1, 4),
        ("SELECT * FROM t WHERE id = 3", 1, 1),
        ("SELECT 'one\ntwo', '; #'", 1, 0),
        ("UPDATE t SET v = v + 1 WHERE v > 2", 0, 4),
        ("CREATE USER u IDENTIFIED BY <secret>", 0, 0),
        ("PREPARE s FROM ...", 0, 0),
        ("SET @a = 2, @b = '0'", 0, 0),
        ("SELECT * FROM t WHERE id = 2 AND v > '0'", 1, 1),
        ("SET timestamp = 1000000", 0, 0),
        ("SELECT NOW()", 1, 0),
        ("SET timestamp = DEFAULT", 0, 0),
        ("SELECT 7", 1, 0),
        ("SELECT 8", 1, 0),
        ("SELECT v FROM t LIMIT 2", 2, 2),
        ("SELECT 9", 1, 0),
        ("# administrator command: Prepare", 0, 0),
        ("SELECT v, 'it\\'s' FROM t WHERE id = 1", 1, 1),
        ("SELECT nosuch FROM t", 0, 0),
        ("ALTER TABLE t DROP c", 0, 0),
    ];
    let shown: Vec<_> =
        shown.iter().map(|(text, sent, examined)| (text.trim_end().trim_end_matches(';').trim_end(), *sent, *examined)).collect();
    assert_eq!(shown, expect);
    let id = client.connection_id();
    assert!(entries.iter().all(|entry| entry.user == "root[root]" && entry.host == "localhost [127.0.0.1]" && entry.id == id));
    assert_eq!((entries[0].database.as_deref(), entries[3].database.as_deref()), (None, Some("d")));
    let named = entries.iter().find(|entry| entry.text == "SELECT NOW()").expect("there");
    assert_eq!(named.timestamp, 1_000_000);
    assert!(entries[3].timestamp > 1_700_000_000 && entries.iter().all(|entry| entry.extra.is_empty()));
}

#[test]
fn slow_statements_are_counted_to_the_microsecond_while_the_log_is_on() {
    let server = start(&["--set", "slow_query_log=1", "--set", "long_query_time=0.05"]);
    let mut client = server.connect();
    let path = log_file(&mut client, "slow_query_log_file");
    run(&mut client, &["DO SLEEP(0.1)", "SELECT 1"]);
    let (_, slow): (String, u64) = client.query_first("SHOW GLOBAL STATUS LIKE 'Slow_queries'").expect("answers").expect("a row");
    assert_eq!(slow, 1);
    let entries = read_slow(&path);
    assert_eq!(entries.len(), 1);
    assert!(entries[0].text == "DO SLEEP(0.1)" && entries[0].query_time >= 0.1, "{entries:?}");
    run(&mut client, &["SET min_examined_row_limit = 1", "DO SLEEP(0.1)"]);
    assert_eq!(read_slow(&path).len(), 1);
    // It was slow all the same.
    let (_, slow): (String, u64) = client.query_first("SHOW GLOBAL STATUS LIKE 'Slow_queries'").expect("answers").expect("a row");
    assert_eq!(slow, 2);
}

#[test]
fn waits_for_locks_are_told_apart() {
    let server = start(&["--set", "slow_query_log=1"]);
    let (mut holder, mut waiter) = (server.connect(), server.connect());
    let path = log_file(&mut holder, "slow_query_log_file");
    run(
        &mut holder,
        &["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1)", "BEGIN", "DELETE FROM d.t"],
    );
    run(&mut waiter, &["SET innodb_lock_wait_timeout = 1, long_query_time = 0.5"]);
    assert_eq!(code(waiter.query_drop("DELETE FROM d.t WHERE id = 1")), 1205);
    let entries = read_slow(&path);
    assert_eq!(entries.len(), 1);
    assert!(entries[0].lock_time >= 1.0 && entries[0].query_time >= entries[0].lock_time, "{entries:?}");
}

#[test]
fn statements_without_an_index_are_logged_and_throttled() {
    let server = start(&["--set", "slow_query_log=1", "--set", "log_queries_not_using_indexes=1"]);
    let mut client = server.connect();
    let path = log_file(&mut client, "slow_query_log_file");
    run(
        &mut client,
        &[
            "CREATE DATABASE d",
            "USE d",
            "CREATE TABLE t (id INT PRIMARY KEY, k INT, v INT, KEY (k))",
            "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)",
            "SELECT * FROM t WHERE id = 1",
            "SELECT * FROM t WHERE k = 1",
            "SELECT 1",
            "SHOW TABLES",
            "SELECT * FROM t",
            "UPDATE t SET v = 5",
            "DELETE FROM t WHERE v = 77",
            "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA LIMIT 1",
            "SET min_examined_row_limit = 100",
            "SELECT 0, v FROM t",
            "SET min_examined_row_limit = 0",
            "SET GLOBAL log_throttle_queries_not_using_indexes = 2",
            "SELECT id FROM t",
            "SELECT 1, v FROM t",
            "SELECT 2, v FROM t",
            "SELECT 3 FROM t WHERE v = 5",
            "SELECT 4 FROM t WHERE v = 6",
            "SET GLOBAL log_throttle_queries_not_using_indexes = 0",
            "SELECT 5",
        ],
    );
    let texts: Vec<String> = read_slow(&path).into_iter().map(|entry| entry.text).collect();
    let expect = [
        "SELECT * FROM t",
        "UPDATE t SET v = 5",
        "DELETE FROM t WHERE v = 77",
        "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA LIMIT 1",
        "SELECT 1, v FROM t",
        "SELECT 2, v FROM t",
        "throttle:          2 'index not used' warning(s) suppressed.",
    ];
    assert_eq!(texts, expect);
    let sum = read_slow(&path).pop().expect("there");
    assert_eq!((sum.user.as_str(), sum.host.as_str(), sum.rows_sent, sum.rows_examined), ("[]", " []", 3, 6));
}

#[test]
fn log_slow_extra_tells_more() {
    let server = start(&["--set", "slow_query_log=1", "--set", "log_slow_extra=1"]);
    let mut client = server.connect();
    let path = log_file(&mut client, "slow_query_log_file");
    run(
        &mut client,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)",
            "INSERT INTO d.t VALUES (1, 2), (2, 1)",
            "SET long_query_time = 0",
        ],
    );
    run(&mut client, &["SELECT * FROM d.t ORDER BY v"]);
    assert_eq!(code(client.query_drop("SELECT nosuch FROM d.t")), 1054);
    let entries = read_slow(&path);
    let value =
        |at: usize, name: &str| entries[at].extra.iter().find(|(own, _)| own == name).unwrap_or_else(|| panic!("no {name}")).1.clone();
    assert_eq!(entries[1].text, "SELECT * FROM d.t ORDER BY v");
    let names: Vec<&str> = entries[1].extra.iter().map(|(name, _)| name.as_str()).collect();
    let expect = "Thread_id Errno Killed Bytes_received Bytes_sent Read_first Read_last Read_key Read_next Read_prev Read_rnd Read_rnd_next \
        Sort_merge_passes Sort_range_count Sort_rows Sort_scan_count Created_tmp_disk_tables Created_tmp_tables Count_hit_tmp_table_size Start End";
    assert_eq!(names.join(" "), expect);
    assert_eq!((value(1, "Errno"), value(1, "Sort_scan_count"), value(1, "Read_rnd_next")), ("0".into(), "1".into(), "3".into()));
    assert_eq!(value(1, "Bytes_received"), (5 + "SELECT * FROM d.t ORDER BY v".len()).to_string());
    assert!(value(1, "Bytes_sent").parse::<u64>().is_ok_and(|bytes| bytes > 40), "{}", value(1, "Bytes_sent"));
    assert_eq!((value(2, "Errno"), value(2, "Thread_id")), ("1054".into(), client.connection_id().to_string()));
}

#[test]
fn flush_opens_the_file_anew_after_it_was_moved() {
    let server = start(&["--set", "slow_query_log=1", "--set", "general_log=1"]);
    let mut client = server.connect();
    run(&mut client, &["SET long_query_time = 0"]);
    let flushes =
        [("slow_query_log_file", "FLUSH SLOW LOGS"), ("general_log_file", "FLUSH GENERAL LOGS"), ("slow_query_log_file", "FLUSH LOGS")];
    for (no, (variable, flush)) in flushes.into_iter().enumerate() {
        let path = log_file(&mut client, variable);
        let moved = path.with_extension(format!("{no}"));
        let [before, between, after] = ["before", "between", "after"].map(|word| format!("SELECT '{word} {no}'"));
        run(&mut client, &[&before]);
        std::fs::rename(&path, &moved).expect("moved");
        run(&mut client, &[&between, flush, &after]);
        let read = |path| std::fs::read_to_string(path).expect("a log");
        let (old, new) = (read(&moved), read(&path));
        assert!(old.contains(&before) && old.contains(&between) && !old.contains(&after), "{old}");
        assert!(new.contains("started with:") && new.contains(&after) && !new.contains(&between), "{new}");
    }
}

#[test]
fn the_general_log_has_what_clients_send() {
    let server = start(&[]);
    let mut root = server.connect();
    run(&mut root, &["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "SET GLOBAL general_log = 1"]);
    let path = log_file(&mut root, "general_log_file");
    let opts = OptsBuilder::from_opts(server.options(Some("d")));
    let mut client = Conn::new(opts).expect("logged in");
    let id = client.connection_id();
    run(&mut client, &["SELECT 1; SELECT 2 ; SELECT 3;"]);
    client.select_db("mysql").expect("a database");
    client.exec_drop("SELECT ? + 1", (41,)).expect("an answer");
    client.exec_drop("SELECT 'x'", Params::Empty).expect("an answer");
    run(&mut client, &["CREATE USER u IDENTIFIED BY 'geheim'", "PREPARE s FROM 'SELECT \\'geheim\\''", "EXECUTE s", "SELECT 'a\nb'"]);
    assert_eq!(code(client.query_drop("CREATE USER w IDENTIFIED BY 'geheim' NONSENSE")), 1064);
    assert_eq!(code(client.query_drop("SELECT nosuch FROM d.t")), 1054);
    run(&mut client, &["SET SESSION sql_log_off = 1", "SELECT 'unheard'", "SET SESSION sql_log_off = 0", "SELECT 'heard'"]);
    drop(client);
    let opts = OptsBuilder::from_opts(server.options(None)).user(Some("nobody")).pass(Some("x"));
    Conn::new(opts).expect_err("nobody may log in by that name");
    // The session's end is seen by its own thread: it is there when the log has it.
    harness::until("the connection's end is in the log", || of(&read_general(&path), id).contains(&("Quit", "")));
    run(&mut root, &["SET GLOBAL log_raw = 1"]);
    assert_eq!(code(root.query_drop("CREATE USER w IDENTIFIED BY 'raw' NONSENSE")), 1064);
    run(&mut root, &["SELECT 1; SELECT 2", "SET GLOBAL log_raw = 0"]);
    run(&mut root, &["SET GLOBAL general_log = 0", "SELECT 'off'"]);
    let entries = read_general(&path);
    let raw: Vec<&str> = of(&entries, root.connection_id()).into_iter().map(|(_, text)| text).collect();
    let expect =
        ["CREATE USER w IDENTIFIED BY 'raw' NONSENSE", "SELECT 1; SELECT 2", "SET GLOBAL log_raw = 0", "SET GLOBAL general_log = 0"];
    assert_eq!(raw[raw.len() - 4..], expect);
    let own = of(&entries, id);
    assert!(own[0].0 == "Connect" && own[0].1.starts_with("root@localhost on d using "), "{own:?}");
    let mut rest: Vec<_> = own[1..].iter().copied().filter(|(_, text)| !text.contains("@@")).collect();
    // The client prepares, and closes, as it likes.
    rest.retain(|(command, _)| *command != "Close stmt");
    let expect = [
        ("Query", "SELECT 1;"),
        ("Query", "SELECT 2 ;"),
        ("Query", "SELECT 3"),
        ("Init DB", "mysql"),
        ("Prepare", "SELECT ? + 1"),
        ("Execute", "SELECT 41 + 1"),
        ("Prepare", "SELECT 'x'"),
        ("Execute", "SELECT 'x'"),
        ("Query", "CREATE USER u IDENTIFIED BY <secret>"),
        ("Query", "PREPARE s FROM ..."),
        ("Prepare", "SELECT 'geheim'"),
        ("Query", "EXECUTE s"),
        ("Execute", "SELECT 'geheim'"),
        ("Query", "SELECT 'a\nb'"),
        ("Query", "SELECT nosuch FROM d.t"),
        ("Query", "SET SESSION sql_log_off = 1"),
        ("Query", "SELECT 'heard'"),
        ("Quit", ""),
    ];
    assert_eq!(rest, expect);
    assert!(
        entries.iter().any(|(_, command, text)| command == "Connect" && text.starts_with("Access denied for user 'nobody'@'localhost'"))
    );
    assert_eq!(entries.last().map(|(_, _, text)| text.as_str()), Some("SET GLOBAL general_log = 0"));
}

#[test]
fn a_log_that_cannot_be_opened_stays_off_and_is_told_of() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().join("logs");
    std::fs::create_dir(&place).expect("made");
    let name = place.join("slow.log");
    let server = start(&["--set", &format!("slow_query_log_file={}", place.display()), "--set", "slow_query_log=1"]);
    let mut client = server.connect();
    assert_eq!(variable(&mut client, "slow_query_log"), "0");
    assert!(server.log().contains("slow_query_log is off"), "{}", server.log());
    run(&mut client, &[&format!("SET GLOBAL slow_query_log_file = '{}'", name.display())]);
    std::fs::remove_dir(&place).expect("removed");
    assert_eq!(code(client.query_drop("SET GLOBAL slow_query_log = 1")), 29);
    assert_eq!(variable(&mut client, "slow_query_log"), "0");
    std::fs::create_dir(&place).expect("made");
    run(&mut client, &["SET GLOBAL slow_query_log = 1", "SET long_query_time = 0", "SELECT 1"]);
    assert_eq!(read_slow(&name).pop().map(|entry| entry.text), Some("SELECT 1".to_owned()));
    // To switch on what is on changes nothing.
    run(&mut client, &["SET GLOBAL slow_query_log = ON"]);
    let text = std::fs::read_to_string(&name).expect("a log");
    assert_eq!(text.matches("started with:").count(), 1, "{text}");
    // While it cannot be opened anew, the file that is open goes on.
    std::fs::rename(&place, directory.path().join("elsewhere")).expect("moved");
    assert_eq!(code(client.query_drop("FLUSH SLOW LOGS")), 29);
    run(&mut client, &["SELECT 2"]);
    let moved = directory.path().join("elsewhere/slow.log");
    assert_eq!(read_slow(&moved).pop().map(|entry| entry.text), Some("SELECT 2".to_owned()));
    // NONE switches files off, whatever else is said.
    run(&mut client, &["SET GLOBAL log_output = 'FILE,NONE'", "SELECT 3"]);
    assert_eq!(read_slow(&moved).pop().map(|entry| entry.text), Some("SELECT 2".to_owned()));
}

/// `command_type` and `argument` of a connection's rows.
fn general_rows(client: &mut Conn, id: u32) -> Vec<(String, String)> {
    client.query(format!("SELECT command_type, argument FROM mysql.general_log WHERE thread_id = {id} ORDER BY event_time")).expect("rows")
}

#[test]
fn tables_hold_what_log_output_sends_there_and_survive_restarts() {
    let mut server = start(&[]);
    let mut root = server.connect();
    run(&mut root, &["CREATE DATABASE d", "SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = ON"]);
    let file = log_file(&mut root, "general_log_file");
    let mut client = server.connect();
    let id = client.connection_id();
    run(&mut client, &["SELECT 'tab\t, line\n and \\\\ sign'", "CREATE USER u IDENTIFIED BY 'geheim'"]);
    assert_eq!(code(client.query_drop("INSERT INTO mysql.general_log VALUES (NOW(), '', 1, 1, '', '')")), 1556);
    let queries = |rows: Vec<(String, String)>| -> Vec<String> {
        rows.into_iter().filter(|(command, text)| command == "Query" && !text.contains("@@")).map(|(_, text)| text).collect()
    };
    // The statement that reads is there too, as in MySQL.
    let own = queries(general_rows(&mut client, id));
    let expect = [
        "SELECT 'tab\t, line\n and \\\\ sign'",
        "CREATE USER u IDENTIFIED BY <secret>",
        "INSERT INTO mysql.general_log VALUES (NOW(), '', 1, 1, '', '')",
    ];
    assert_eq!(own[..3], expect);
    assert!(own.len() == 4 && own[3].contains("ORDER BY event_time"), "{own:?}");
    let who: (String, u32) = client
        .query_first(format!("SELECT user_host, server_id FROM mysql.general_log WHERE thread_id = {id} AND command_type = 'Query'"))
        .expect("answers")
        .expect("a row");
    assert_eq!(who, ("root[root] @ localhost [127.0.0.1]".to_owned(), 1));
    let connect: String = client
        .query_first(format!("SELECT user_host FROM mysql.general_log WHERE thread_id = {id} AND command_type = 'Connect'"))
        .expect("answers")
        .expect("a row");
    assert_eq!(connect, "[root] @ localhost [127.0.0.1]");
    assert!(!file.exists(), "TABLE alone writes no file");

    // Both places at once, and the slow log.
    run(&mut root, &["SET GLOBAL log_output = 'FILE,TABLE'", "SET GLOBAL slow_query_log = ON"]);
    run(&mut client, &["USE d", "SET long_query_time = 0", "SELECT 5 FROM DUAL"]);
    let row: (String, u64, String, u32, bool) = client
        .query_first(
            "SELECT db, rows_sent, sql_text, thread_id, query_time < '00:10:00' AND start_time > '2026-01-01' FROM mysql.slow_log WHERE sql_text LIKE 'SELECT 5%'",
        )
        .expect("answers")
        .expect("a row");
    assert_eq!(row, ("d".to_owned(), 1, "SELECT 5 FROM DUAL".to_owned(), id, true));
    let slow = log_file(&mut client, "slow_query_log_file");
    assert!(read_slow(&slow).iter().any(|entry| entry.text == "SELECT 5 FROM DUAL"));
    assert!(read_general(&file).iter().any(|(_, _, text)| text == "SELECT 5 FROM DUAL"));

    // While a log is written its table stays what it is.
    assert_eq!(code(root.query_drop("DROP TABLE mysql.general_log")), 1580);
    assert_eq!(code(root.query_drop("RENAME TABLE mysql.slow_log TO mysql.slow_log_2")), 1581);
    run(&mut root, &["SET GLOBAL slow_query_log = OFF", "SET GLOBAL general_log = OFF", "CREATE USER v"]);
    let mut other = Conn::new(OptsBuilder::from_opts(server.options(None)).user(Some("v"))).expect("let in");
    assert_eq!(code(other.query_drop("SELECT * FROM mysql.general_log")), 1142);
    assert_eq!(code(other.query_drop("TRUNCATE TABLE mysql.general_log")), 1142);

    // What has been read is on the disk: a kill costs at most what waited.
    let before = general_rows(&mut client, id);
    assert!(before.len() > 5);
    server.restart();
    let mut client = server.connect();
    assert_eq!(general_rows(&mut client, id), before);
    let lost: (String, u64) =
        client.query_first("SHOW GLOBAL STATUS LIKE 'Altiplano_log_table_rows_lost'").expect("answers").expect("a row");
    assert_eq!(lost.1, 0);
    run(&mut client, &["TRUNCATE TABLE mysql.general_log"]);
    assert_eq!(general_rows(&mut client, id), []);
    let left: u64 = client.query_first("SELECT COUNT(*) FROM mysql.slow_log").expect("answers").expect("a row");
    assert!(left > 0);
}

#[test]
fn many_sessions_write_whole_entries() {
    let server = start(&["--set", "slow_query_log=1", "--set", "long_query_time=0"]);
    let mut client = server.connect();
    let path = log_file(&mut client, "slow_query_log_file");
    let text = "x".repeat(3000);
    std::thread::scope(|scope| {
        for no in 0..4 {
            let (server, text) = (&server, &text);
            scope.spawn(move || {
                let mut own = server.connect();
                for turn in 0..100 {
                    own.query_drop(format!("SELECT 'mark {no} {turn}', '{text}'")).expect("an answer");
                }
            });
        }
    });
    // The parser takes no torn entry.
    let marks: Vec<String> = read_slow(&path).into_iter().map(|entry| entry.text).filter(|text| text.contains("mark")).collect();
    assert_eq!(marks.len(), 400);
    for no in 0..4 {
        let own = marks.iter().filter(|mark| mark.contains(&format!("mark {no} ")));
        assert!(own.enumerate().all(|(turn, mark)| mark.contains(&format!("mark {no} {turn}'"))));
    }
}
