//! A server that is started anew has in memory what the one before had: after a shutdown, after `kill -9`, and without a good list it serves all the same.

use harness::{Server, run_all, until};
use mysql::Conn;
use mysql::prelude::Queryable;

/// Four MiB of rows; the pool takes them several times.
const ROWS: u32 = 1 << 14;
const LIST: &str = "ib_buffer_pool";

fn start(arguments: &[&str]) -> Server {
    Server::start(env!("CARGO_BIN_EXE_altiplano"), arguments)
}

/// A table of some hundred pages, with a secondary index.
fn fill(c: &mut Conn) {
    run_all(
        c,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY, k INT NOT NULL, pad CHAR(200) NOT NULL, KEY (k))",
            "INSERT INTO d.t VALUES (0, 0, REPEAT('x', 200))",
        ],
    );
    let mut rows = 1;
    while rows < ROWS {
        c.query_drop(format!("INSERT INTO d.t SELECT id + {rows}, -id, pad FROM d.t")).expect("twice as many");
        rows *= 2;
    }
}

fn status(c: &mut Conn, name: &str) -> String {
    let row: Option<(String, String)> = c.query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'")).expect("a status");
    row.expect("a row").1
}

fn count(c: &mut Conn, name: &str) -> u64 {
    status(c, name).parse().expect("a number")
}

fn load_status(c: &mut Conn) -> String {
    status(c, "Innodb_buffer_pool_load_status")
}

fn dump_status(c: &mut Conn) -> String {
    status(c, "Innodb_buffer_pool_dump_status")
}

/// Until the pages of the list were read, or it was given up.
fn wait_for_load(c: &mut Conn) -> String {
    until("the load ends", || {
        let status = load_status(c);
        !status.starts_with("Loading ") && !status.starts_with("Loaded ")
    });
    load_status(c)
}

fn dump_now(c: &mut Conn) -> String {
    c.query_drop("SET GLOBAL innodb_buffer_pool_dump_now = ON").expect("asked for");
    until("the list is written", || !dump_status(c).starts_with("Dumping buffer"));
    dump_status(c)
}

/// Reads every row through both indexes and says how many pages had to be read for it.
fn reads_of_all_rows(c: &mut Conn) -> u64 {
    let before = count(c, "Innodb_buffer_pool_reads") + count(c, "Innodb_buffer_pool_read_ahead");
    let rows: Option<(u64, i64)> = c.query_first("SELECT COUNT(*), SUM(LENGTH(pad)) FROM d.t FORCE INDEX (PRIMARY)").expect("rows");
    assert_eq!(rows, Some((ROWS.into(), i64::from(ROWS) * 200)));
    let entries: Option<u64> = c.query_first("SELECT COUNT(*) FROM d.t FORCE INDEX (k) WHERE k <= 0").expect("entries");
    assert_eq!(entries, Some(ROWS.into()));
    count(c, "Innodb_buffer_pool_reads") + count(c, "Innodb_buffer_pool_read_ahead") - before
}

#[test]
fn after_a_shutdown_all_pages_are_read_before_they_are_asked_for() {
    let mut server = start(&[]);
    fill(&mut server.connect());
    assert_eq!(server.stop(), Some(0));
    server.restart();
    let mut c = server.connect();
    let ended = wait_for_load(&mut c);
    assert!(ended.starts_with("Buffer pool(s) load completed at "), "{ended}");
    assert!(count(&mut c, "Innodb_buffer_pool_pages_data") > 200);
    assert_eq!(reads_of_all_rows(&mut c), 0);
    drop(c);
    assert!(server.log().contains(" pages listed in ib_buffer_pool read in "), "{}", server.log());
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn after_a_kill_the_list_that_was_written_last_serves() {
    let mut server = start(&[]);
    let mut c = server.connect();
    fill(&mut c);
    assert_eq!(dump_status(&mut c), "Dumping of buffer pool not started");
    let ended = dump_now(&mut c);
    assert!(ended.starts_with("Buffer pool(s) dump completed at "), "{ended}");
    // What is dropped, and made, since.
    run_all(&mut c, &["CREATE TABLE d.u SELECT * FROM d.t", "DROP TABLE d.u"]);
    c.query_drop("UPDATE d.t SET pad = REPEAT('y', 200) WHERE id < 1000").expect("changed");
    server.kill();
    server.restart();
    let mut c = server.connect();
    let ended = wait_for_load(&mut c);
    assert!(ended.starts_with("Buffer pool(s) load completed at "), "{ended}");
    assert_eq!(reads_of_all_rows(&mut c), 0);
    let changed: Option<u64> = c.query_first("SELECT COUNT(*) FROM d.t WHERE pad LIKE 'y%'").expect("rows");
    assert_eq!(changed, Some(1000));
    drop(c);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn without_a_list_the_server_starts_cold() {
    let mut server = start(&["--set", "innodb_buffer_pool_load_at_startup=OFF"]);
    let mut c = server.connect();
    fill(&mut c);
    drop(c);
    assert_eq!(server.stop(), Some(0));
    server.restart();
    let mut c = server.connect();
    assert_eq!(load_status(&mut c), "Loading of buffer pool not started");
    assert!(reads_of_all_rows(&mut c) > 100, "this test would show nothing");
    drop(c);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn garbage_in_place_of_the_list_does_no_harm() {
    let mut server = start(&[]);
    fill(&mut server.connect());
    assert_eq!(server.stop(), Some(0));
    let list = server.data_dir().join(LIST);
    let good = std::fs::read(&list).expect("a list");
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 4;
    let torn = good[..good.len() - 7].to_vec();
    let all = [b"0,1\n0,2\n".to_vec(), vec![0; 100_000], torn, flipped, b"ALTIWARM".to_vec()];
    for (at, garbage) in all.into_iter().enumerate() {
        std::fs::write(&list, &garbage).expect("written");
        server.restart();
        let mut c = server.connect();
        let ended = wait_for_load(&mut c);
        let path = server.data_dir().join(LIST).display().to_string();
        assert_eq!(ended, format!("Error parsing '{path}', unable to load buffer pool (stage 1)"));
        assert!(reads_of_all_rows(&mut c) > 100);
        let told = server.log().matches("ib_buffer_pool is no list of the buffer pool's pages").count();
        assert_eq!(told, at + 1, "{}", server.log());
        drop(c);
        // And the next list is a good one.
        assert_eq!(server.stop(), Some(0));
        assert!(std::fs::read(&list).expect("a list").starts_with(b"ALTIWARM"));
    }
    std::fs::remove_file(&list).expect("removed");
    server.restart();
    let ended = wait_for_load(&mut server.connect());
    assert!(ended.ends_with("/ib_buffer_pool' for reading: No such file or directory"), "{ended}");
    assert!(!server.log().contains("pages, ib_buffer_pool:"), "a new directory has none: {}", server.log());
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn lists_are_written_and_read_when_somebody_says_so() {
    let mut server = start(&["--set", "innodb_buffer_pool_load_at_startup=OFF", "--set", "innodb_buffer_pool_dump_at_shutdown=OFF"]);
    let mut c = server.connect();
    fill(&mut c);
    c.query_drop("SET GLOBAL innodb_buffer_pool_filename = 'warm'").expect("set");
    assert!(dump_now(&mut c).starts_with("Buffer pool(s) dump completed at "));
    let whole = std::fs::read(server.data_dir().join("warm")).expect("a list").len();
    run_all(&mut c, &["SET GLOBAL innodb_buffer_pool_dump_pct = 10", "SET GLOBAL innodb_buffer_pool_filename = 'tenth'"]);
    assert!(dump_now(&mut c).starts_with("Buffer pool(s) dump completed at "));
    let tenth = std::fs::read(server.data_dir().join("tenth")).expect("a list").len();
    assert!(tenth < whole / 3, "{tenth} bytes for a tenth of {whole}");
    // Files of others are never written over, and nothing outside of the directory.
    let data = std::fs::metadata(server.data_dir().join("data")).expect("the data file").len();
    for name in ["data", "doublewrite", "../x", "/tmp/x", "undo"] {
        c.query_drop(format!("SET GLOBAL innodb_buffer_pool_filename = '{name}'")).expect("set");
        let ended = dump_now(&mut c);
        assert!(ended.starts_with("Cannot open '") && ended.contains(".incomplete' for writing: "), "{name}: {ended}");
    }
    assert_eq!(std::fs::metadata(server.data_dir().join("data")).expect("the data file").len(), data);
    drop(c);
    assert_eq!(server.stop(), Some(0));
    assert!(!server.data_dir().join(LIST).exists(), "written at the shutdown");

    server.restart();
    let mut c = server.connect();
    assert_eq!(load_status(&mut c), "Loading of buffer pool not started");
    c.query_drop("SET GLOBAL innodb_buffer_pool_filename = 'warm'").expect("set");
    // Whether it has begun or not, it ends; on a busy machine it may be done before.
    until("a load is ended", || {
        c.query_drop("SET GLOBAL innodb_buffer_pool_load_now = ON, GLOBAL innodb_buffer_pool_load_abort = ON").expect("set");
        wait_for_load(&mut c) == "Buffer pool(s) load aborted on request"
    });
    // Without anything to end it does nothing, also not to the next.
    c.query_drop("SET GLOBAL innodb_buffer_pool_load_abort = ON").expect("set");
    c.query_drop("SET GLOBAL innodb_buffer_pool_load_now = ON").expect("set");
    let ended = wait_for_load(&mut c);
    assert!(ended.starts_with("Buffer pool(s) load completed at "), "{ended}");
    assert_eq!(reads_of_all_rows(&mut c), 0);
    let off: Option<(u8, u8, u8)> = c
        .query_first("SELECT @@innodb_buffer_pool_dump_now, @@innodb_buffer_pool_load_now, @@innodb_buffer_pool_load_abort")
        .expect("values");
    assert_eq!(off, Some((0, 0, 0)));
    drop(c);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_start_that_is_told_to_load_or_to_write_now_does_neither() {
    let mut server = start(&["--set", "innodb_buffer_pool_dump_now=ON", "--set", "innodb_buffer_pool_load_now=ON"]);
    let mut c = server.connect();
    assert_eq!(dump_status(&mut c), "Dumping of buffer pool not started");
    let off: Option<(u8, u8)> = c.query_first("SELECT @@innodb_buffer_pool_dump_now, @@innodb_buffer_pool_load_now").expect("values");
    assert_eq!(off, Some((0, 0)));
    drop(c);
    assert_eq!(server.stop(), Some(0));
}
