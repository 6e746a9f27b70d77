//! A disk that is full (of all, of the log, of undo, of temporary files), under the real server: what needs space fails with MySQL's number, what needs
//! none goes on, and what was acknowledged is there afterwards.
//!
//! The disk is a small tmpfs, which only root may mount; without the right the test says so and does nothing.

use harness::{Server, code, until};
use mysql::Conn;
use mysql::prelude::Queryable;
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::Command;

const DISK_BYTES: u64 = 640 << 20;

/// A tmpfs, taken away when dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<SmallDisk> {
        SmallDisk::mount_of(DISK_BYTES)
    }

    fn mount_of(bytes: u64) -> Option<SmallDisk> {
        let place = tempfile::Builder::new().prefix("altiplano-disk-").tempdir().expect("a directory");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"]).arg(place.path()).output();
        match mounted {
            Ok(output) if output.status.success() => Some(SmallDisk(place)),
            other => {
                println!("left out: a tmpfs cannot be mounted here: {other:?}");
                None
            }
        }
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn free_bytes(&self) -> u64 {
        let facts = rustix::fs::statvfs(self.path()).expect("facts about the disk");
        facts.f_bavail * facts.f_frsize
    }

    /// Leaves `bytes` free, by a file that takes the rest.
    fn fill(&self, bytes: u64) {
        let file = OpenOptions::new().create(true).append(true).open(self.filler()).expect("a file");
        let taken = file.metadata().expect("its length").len();
        let more = self.free_bytes().saturating_sub(bytes);
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, taken + more).expect("space is taken");
    }

    fn free(&self) {
        std::fs::remove_file(self.filler()).expect("the file is there");
    }

    fn filler(&self) -> std::path::PathBuf {
        self.path().join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The server has gone by then.
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

fn connect(server: &Server) -> Conn {
    Conn::new(server.options(Some("d"))).expect("a connection")
}

/// What a row with this id holds; every one is different.
fn text_of(id: u32) -> String {
    format!("{id:07}").repeat(1_000)
}

/// Inserts rows from `next` on until one fails; the error's number. `next` is then the first that was not acknowledged.
fn insert_until_full(connection: &mut Conn, next: &mut u32) -> u16 {
    let limit = *next + 200_000;
    while *next < limit {
        if let Err(error) = connection.exec_drop("INSERT INTO t VALUES (?, ?, 0)", (*next, text_of(*next))) {
            return code(&error);
        }
        *next += 1;
    }
    panic!("{limit} rows found room");
}

/// All rows below `next` are there, whole; and no other.
fn check_rows(connection: &mut Conn, next: u32) {
    let facts: Option<(u32, Option<u32>)> = connection.query_first("SELECT COUNT(*), MAX(id) FROM t").expect("a read");
    assert_eq!(facts, Some((next, next.checked_sub(1))));
    let mut seen = 0;
    let rows = connection.query_iter("SELECT id, s FROM t FORCE INDEX (PRIMARY) ORDER BY id").expect("a read");
    for row in rows {
        let (id, text): (u32, String) = mysql::from_row(row.expect("a row"));
        assert!(id == seen && text == text_of(id), "row {id} where {seen} was expected, {} bytes", text.len());
        seen += 1;
    }
    assert_eq!(seen, next);
}

#[test]
fn a_full_disk_fails_writes_only_and_loses_nothing() {
    let Some(disk) = SmallDisk::mount() else { return };
    let mut server = Server::start_in(disk.path(), env!("CARGO_BIN_EXE_altiplano"), &[]);
    let mut connection = server.connect();
    connection.query_drop("CREATE DATABASE d").expect("a database");
    connection.query_drop("USE d").expect("used");
    connection.query_drop("CREATE TABLE t (id INT PRIMARY KEY, s TEXT NOT NULL, n INT NOT NULL, KEY (n))").expect("a table");
    let mut next = 0;

    // Round 1: the space comes back while the server runs.
    disk.fill(24 << 20);
    let full = insert_until_full(&mut connection, &mut next);
    assert!([1114, 1021].contains(&full), "{full}");
    assert!(next > 100, "{next} rows only");
    check_rows(&mut connection, next);
    // A transaction that meets the full disk can be rolled back, and a second connection can log in and read.
    connection.query_drop("BEGIN").expect("a transaction");
    let mut within = next;
    assert_eq!(insert_until_full(&mut connection, &mut within), full);
    connection.query_drop("ROLLBACK").expect("rolled back");
    check_rows(&mut connect(&server), next);
    disk.free();
    for _ in 0..50 {
        connection.exec_drop("INSERT INTO t VALUES (?, ?, 0)", (next, text_of(next))).expect("there is room again");
        next += 1;
    }
    check_rows(&mut connection, next);

    // Round 2: the log fills the disk by updates that take no pages; then the server dies and starts with more space.
    disk.fill(8 << 20);
    let mut updates = 0_u32;
    let outcome = loop {
        if let Err(error) = connection.exec_drop("UPDATE t SET s = REVERSE(s), n = n + 1 WHERE id = ?", (updates % next,)) {
            break Some(code(&error));
        }
        updates += 1;
        if updates == 40_000 {
            // Checkpoints have made room in the log again and again.
            break None;
        }
    };
    println!("round 2: {outcome:?} after {updates} updates");
    assert!(outcome.is_none_or(|code| [1114, 1021].contains(&code)), "{outcome:?}");
    let sum: Option<u32> = connection.query_first("SELECT SUM(n) FROM t").expect("a read");
    assert_eq!(sum, Some(updates));
    server.kill();
    disk.free();
    server.restart();
    let mut connection = connect(&server);
    let sum: Option<u32> = connection.query_first("SELECT SUM(n) FROM t FORCE INDEX (n) WHERE n >= 0").expect("a read");
    assert_eq!(sum, Some(updates));
    connection.query_drop("UPDATE t SET s = REVERSE(s) WHERE n % 2 = 1").expect("there is room");
    check_rows(&mut connection, next);
    assert_eq!(server.stop(), Some(0));
    drop(File::open(disk.path()).expect("the disk is still there"));
}

/// A stopped server's directory goes to a disk of its own.
fn move_to(disk: &SmallDisk, server: &Server, directory: &str) {
    let from = server.data_dir().join(directory);
    let to = disk.path().join(directory);
    let copied = Command::new("cp").arg("-a").arg(&from).arg(&to).status().expect("cp runs");
    assert!(copied.success());
    std::fs::remove_dir_all(&from).expect("removed");
    std::os::unix::fs::symlink(&to, &from).expect("linked");
}

/// Rows that one statement updates.
const ROWS_AT_ONCE: u32 = 30;

/// Updates rows until it fails, or so often; how many were updated for good, and the error's number.
fn update_until_full(connection: &mut Conn, rows: u32, statements: u32, updated: &mut u32) -> Option<u16> {
    for _ in 0..statements {
        let first = *updated % rows;
        let update = "UPDATE t SET s = REVERSE(s), n = n + 1 WHERE id BETWEEN ? AND ?";
        if let Err(error) = connection.exec_drop(update, (first, first + ROWS_AT_ONCE - 1)) {
            return Some(code(&error));
        }
        *updated += ROWS_AT_ONCE;
    }
    None
}

/// The log, or undo, alone on a disk that is full: writers get 1114 in the end, reads and ROLLBACK go on, with room writes go on in the same process, and
/// after its death nothing is missing.
fn check_full(directory: &str, bytes: u64, left_free: u64, log: &str) {
    let Some(disk) = SmallDisk::mount_of(bytes) else { return };
    let mut server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &["--set", log]);
    let mut connection = server.connect();
    connection
        .query_drop("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, s TEXT NOT NULL, n INT NOT NULL, KEY (n))")
        .expect("made");
    const ROWS: u32 = 300;
    connection.query_drop("USE d").expect("used");
    for id in 0..ROWS {
        connection.exec_drop("INSERT INTO t VALUES (?, ?, 0)", (id, text_of(id))).expect("a row");
    }
    drop(connection);
    assert_eq!(server.stop(), Some(0));
    move_to(&disk, &server, directory);
    server.restart();
    let mut connection = connect(&server);
    // What its undo holds cannot be let go of.
    let mut old = connect(&server);
    old.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT").expect("a snapshot");
    let mut updates = 0;
    assert_eq!(update_until_full(&mut connection, ROWS, 20, &mut updates), None);
    disk.fill(left_free);
    let full = update_until_full(&mut connection, ROWS, 4_000, &mut updates);
    println!("{directory}: {full:?} after {updates} updates");
    assert_eq!(full, Some(1114), "{directory} on a full disk");
    // Reads of the newest and of old versions, a transaction that is taken back, a new connection.
    let sum = |c: &mut Conn| c.query_first::<u32, _>("SELECT SUM(n) FROM t").expect("a read");
    assert_eq!(sum(&mut connect(&server)), Some(updates));
    assert_eq!(sum(&mut old), Some(0));
    connection.query_drop("BEGIN").expect("a transaction");
    let _ = connection.query_drop("UPDATE t SET n = n + 1000 WHERE id < 3");
    connection.query_drop("ROLLBACK").expect("rolled back");
    assert_eq!(sum(&mut connection), Some(updates));
    disk.free();
    harness::until("writes go on", || update_until_full(&mut connection, ROWS, 1, &mut updates).is_none());
    assert_eq!(update_until_full(&mut connection, ROWS, 20, &mut updates), None);
    assert_eq!(sum(&mut old), Some(0));
    server.kill();
    server.restart();
    let mut connection = connect(&server);
    assert_eq!(sum(&mut connection), Some(updates));
    let by_index = connection.query_first::<u32, _>("SELECT SUM(n) FROM t FORCE INDEX (n) WHERE n >= 0").expect("a read");
    assert_eq!(by_index, Some(updates));
    let checked: Vec<(String, String, String, String)> = connection.query("CHECK TABLE t").expect("checks");
    assert_eq!(checked[0].3, "OK");
    drop(connection);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_log_on_a_full_disk_of_its_own_fails_writes_only_and_loses_nothing() {
    check_full("log", 480 << 20, 1 << 20, "innodb_redo_log_capacity=1G");
}

#[test]
fn undo_on_a_full_disk_of_its_own_fails_writes_only_and_loses_nothing() {
    check_full("undo", 64 << 20, 0, "innodb_redo_log_capacity=256M");
}

/// What goes to temporary files, several times what memory allows.
const SPILLING: [&str; 3] = [
    "SELECT id, s FROM t ORDER BY s DESC, id",
    "SELECT s, COUNT(*), MAX(id) FROM t GROUP BY s",
    "SELECT a.id, b.s FROM t a JOIN t b ON b.s = a.s",
];

#[test]
fn temporary_files_on_a_full_disk_of_their_own_fail_what_needs_them_only() {
    let Some(disk) = SmallDisk::mount_of(256 << 20) else { return };
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &["--set", &format!("tmpdir={}", disk.path().display())]);
    let mut connection = server.connect();
    connection.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(7000) NOT NULL)").expect("made");
    connection.query_drop("BEGIN").expect("begun");
    const ROWS: u32 = 3_000;
    for id in 0..ROWS {
        connection.exec_drop("INSERT INTO t VALUES (?, ?)", (id, text_of(id))).expect("a row");
    }
    connection.query_drop("COMMIT; SET SESSION connection_memory_limit = 4000000").expect("committed");
    let rows = |connection: &mut Conn, sql: &str| connection.query::<mysql::Row, _>(sql).map(|rows| rows.len() as u32);
    for sql in SPILLING {
        assert_eq!(rows(&mut connection, sql).expect(sql), ROWS, "{sql}");
    }
    disk.fill(1 << 20);
    connection.query_drop("BEGIN").expect("begun");
    connection.query_drop("UPDATE t SET s = 'changed' WHERE id = 7").expect("updated");
    for sql in SPILLING {
        let error = rows(&mut connection, sql).expect_err(sql);
        assert_eq!(code(&error), 3, "{sql}: {error}");
        // Its transaction goes on, and so does everybody else.
        let text = connection.query_first::<String, _>("SELECT s FROM t WHERE id = 7").expect("a read");
        assert_eq!(text.as_deref(), Some("changed"));
        connect(&server).query_drop("UPDATE t SET s = CONCAT('!', SUBSTRING(s, 2)) WHERE id = 8").expect("others write");
        assert_eq!(connect(&server).query_first::<u32, _>("SELECT COUNT(*) FROM t").expect("a read"), Some(ROWS));
    }
    connection.query_drop("COMMIT").expect("committed");
    disk.free();
    for sql in SPILLING {
        assert_eq!(rows(&mut connection, sql).expect(sql), ROWS, "{sql} with room again");
    }
    assert_eq!(std::fs::read_dir(disk.path()).expect("a directory").count(), 0, "files are left");
}

#[test]
fn a_full_disk_costs_the_logs_of_statements_their_entries_and_no_statement() {
    let Some(disk) = SmallDisk::mount_of(1 << 20) else { return };
    let [slow, general] = ["slow.log", "general.log"].map(|name| disk.path().join(name));
    let places = [("slow_query_log_file", &slow), ("general_log_file", &general)].map(|(name, path)| format!("{name}={}", path.display()));
    let on = ["slow_query_log=1", "general_log=1", "long_query_time=0", &places[0], &places[1]];
    let arguments: Vec<&str> = on.iter().flat_map(|setting| ["--set", setting]).collect();
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &arguments);
    let mut client = server.connect();
    let read = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).expect("a log")).into_owned();
    client.query_drop("SELECT 'before'").expect("an answer");
    assert!(read(&slow).contains("SELECT 'before';") && read(&general).contains("SELECT 'before'"));
    disk.fill(0);
    let long = "x".repeat(8000);
    for no in 0..50 {
        let answer: Option<(u32, String)> = client.query_first(format!("SELECT {no}, '{long}'")).expect("an answer");
        assert_eq!(answer.map(|(number, _)| number), Some(no));
    }
    let complaints = |path: &Path| server.log().matches(&format!("Could not use {} for logging", path.display())).count();
    // The server's words are read by a thread of their own.
    until("both are named", || complaints(&slow) > 0 && complaints(&general) > 0);
    assert_eq!((complaints(&slow), complaints(&general)), (1, 1), "{}", server.log());
    disk.free();
    client.query_drop("SELECT 'after'").expect("an answer");
    for (log, entry) in [(&slow, "SELECT 'after';"), (&general, "SELECT 'after'")] {
        let text = read(log);
        assert!(!text.contains("SELECT 49, "), "{log:?}");
        // An entry that was cut off does not take the next one's first line.
        let whole = text.lines().any(|line| line.ends_with(entry) && (line.starts_with("SELECT") || line.starts_with("20")));
        assert!(whole, "{}", &text[text.len().saturating_sub(1000)..]);
    }
    assert!(read(&slow).lines().filter(|line| line.contains("# Time: ")).all(|line| line.starts_with("# Time: ")));
}
