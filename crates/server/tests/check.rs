//! `altiplano check` and `altiplano salvage` on directories of a real server: sound ones, ones whose server was killed, and damaged ones.

use harness::Server;
use mysql::prelude::Queryable;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};

const PAGE_BYTES: u64 = 16_384;
const PROGRAM: &str = env!("CARGO_BIN_EXE_altiplano");

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().expect("runs")
}

/// Runs `check`; whether all is well, and what it says.
fn check(dir: &Path) -> (bool, String) {
    let output = run(&["check", &dir.to_string_lossy()]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

/// Runs `salvage`; the SQL, and what it says.
fn salvage(dir: &Path) -> (String, String, Option<i32>) {
    let output = run(&["salvage", &dir.to_string_lossy(), "--to", "-"]);
    (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
}

/// A server with two databases: many rows, secondary indexes, long values, every kind of column.
fn populated() -> Server {
    let server = Server::start(PROGRAM, &[]);
    let mut c = server.connect();
    for statement in [
        "CREATE DATABASE d",
        "CREATE DATABASE `e-2` COLLATE utf8mb4_bin",
        "CREATE TABLE d.t (id INT PRIMARY KEY, s VARCHAR(100) NOT NULL, n INT, UNIQUE KEY u (s), KEY k (n))",
        "CREATE TABLE d.long_ones (id BIGINT AUTO_INCREMENT PRIMARY KEY, t LONGTEXT, b LONGBLOB)",
        "CREATE TABLE d.hidden (a INT, b VARCHAR(20), KEY (b))",
        "CREATE TABLE `e-2`.`all ``kinds` (i TINYINT UNSIGNED, d DECIMAL(20,5), f DOUBLE, v VARBINARY(20), j TEXT, e ENUM('x','y''z'), \
         dt DATETIME(3), ts TIMESTAMP NULL, ti TIME(2), da DATE, y YEAR, bi BIT(10), se SET('a','b'), c CHAR(5) NOT NULL DEFAULT 'q', PRIMARY KEY (c, i))",
        "INSERT INTO `e-2`.`all ``kinds` VALUES (1, 12345.67891, 0.1, x'00FF27', '{\"a\": [1, \"x\"]}', 'y''z', '2026-01-02 03:04:05.678', \
         '2026-05-06 07:08:09', '-12:34:56.78', '2026-02-28', 2026, b'1010101010', 'a,b', 'k'), \
         (2, NULL, -1e300, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'it''s')",
        "INSERT INTO d.hidden VALUES (1, 'one'), (2, 'two'), (NULL, NULL)",
    ] {
        c.query_drop(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    for start in (0..4_000).step_by(500) {
        let rows: Vec<String> = (start..start + 500).map(|id| format!("({id}, 'text {id:05} {}', {})", "x".repeat(60), id % 7)).collect();
        c.query_drop(format!("INSERT INTO d.t VALUES {}", rows.join(","))).expect("rows");
    }
    for n in 0..5 {
        c.exec_drop("INSERT INTO d.long_ones (t, b) VALUES (?, ?)", ("long ".repeat(20_000 * n + 10), vec![n as u8; 40_000]))
            .expect("a row");
    }
    c.query_drop("DELETE FROM d.t WHERE id % 10 = 3").expect("deleted");
    c.query_drop("UPDATE d.t SET n = n + 1 WHERE id % 11 = 0").expect("updated");
    server
}

/// Every table's contents, in one order.
fn contents(c: &mut mysql::Conn) -> Vec<String> {
    let mut all = Vec::new();
    for query in [
        "SELECT id, s, n FROM d.t ORDER BY id",
        "SELECT id, t, HEX(b) FROM d.long_ones ORDER BY id",
        "SELECT a, b FROM d.hidden ORDER BY b",
        "SELECT i, d, f, HEX(v), j, e, dt, ts, ti, da, y, HEX(bi), se, c FROM `e-2`.`all ``kinds` ORDER BY i",
        "SELECT COUNT(*) FROM d.t FORCE INDEX (k) WHERE n >= 0",
        "SHOW CREATE TABLE `e-2`.`all ``kinds`",
        "SHOW CREATE TABLE d.t",
    ] {
        let rows: Vec<mysql::Row> = c.query(query).unwrap_or_else(|error| panic!("{query}: {error}"));
        all.extend(rows.into_iter().map(|row| {
            let text = |value| {
                if let mysql::Value::Bytes(bytes) = value { String::from_utf8_lossy(&bytes).into_owned() } else { format!("{value:?}") }
            };
            row.unwrap().into_iter().map(text).collect::<Vec<_>>().join("|")
        }));
    }
    all
}

fn assert_same(found: &[String], expected: &[String]) {
    let cut = |line: Option<&String>| line.map(|line| line.chars().take(700).collect::<String>());
    for at in 0..found.len().max(expected.len()) {
        assert!(found.get(at) == expected.get(at), "line {at}: {:?} where {:?} belongs", cut(found.get(at)), cut(expected.get(at)));
    }
}

/// Loads what was salvaged into a fresh server, statement by statement as a client would; the server.
fn load(sql: &str) -> Server {
    let server = Server::start(PROGRAM, &[]);
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    std::io::Write::write_all(&mut file, sql.as_bytes()).expect("written");
    let loaded = Command::new(PROGRAM)
        .args(["sql", "-h", "127.0.0.1", "-P", &server.port().to_string(), "-u", "root"])
        .stdin(File::open(file.path()).expect("opens"))
        .output()
        .expect("runs");
    assert!(loaded.status.success(), "{}", String::from_utf8_lossy(&loaded.stderr));
    server
}

/// Pages of the data file of which `want` (type, index) is true.
fn pages(dir: &Path, want: impl Fn(u8, u32) -> bool) -> Vec<u64> {
    let data = File::open(dir.join("data")).expect("opens");
    let mut header = [0; 48];
    let count = data.metadata().expect("length").len() / PAGE_BYTES;
    let word = |header: &[u8; 48]| u32::from_le_bytes([header[24], header[25], header[26], header[27]]);
    (0..count).filter(|page| data.read_exact_at(&mut header, page * PAGE_BYTES).is_ok() && want(header[4], word(&header))).collect()
}

fn flip(file: &Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(file).expect("opens");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("reads");
    file.write_all_at(&[byte[0] ^ 0x10], at).expect("writes");
}

/// The index whose leaves there are most of: the primary one of `d.t`.
fn largest_index(dir: &Path) -> u32 {
    (16..60).max_by_key(|index| pages(dir, |kind, of| kind == 3 && of == *index).len()).expect("some index")
}

#[test]
fn sound_directories_are_found_sound_closed_and_killed() {
    let mut server = populated();
    let before = contents(&mut server.connect());
    let (well, text) = check(&server.data_dir());
    assert!(!well && text.contains("in use"), "{text}");
    let mut open = server.connect();
    open.query_drop("BEGIN").expect("begins");
    open.query_drop("UPDATE d.t SET s = CONCAT('never ', id) WHERE id < 500").expect("updates");
    open.query_drop("INSERT INTO d.long_ones (t) VALUES (REPEAT('never', 50000))").expect("inserts");
    server.connect().query_drop("INSERT INTO d.hidden VALUES (9, 'z'); DELETE FROM d.hidden WHERE a = 9").expect("flushes the log");
    server.kill();
    let (well, text) = check(&server.data_dir());
    assert!(well, "{text}");
    assert!(text.contains("no errors") && text.contains("4 tables"), "{text}");
    let (sql, said, code) = salvage(&server.data_dir());
    assert_eq!(code, Some(0), "{said}");
    assert!(!sql.contains("never"), "rows that were not committed");
    let other = load(&sql);
    assert_same(&contents(&mut other.connect()), &before);
    // Nothing was changed: the server starts, and closes.
    server.restart();
    assert_same(&contents(&mut server.connect()), &before);
    assert_eq!(server.stop(), Some(0));
    let (well, text) = check(&server.data_dir());
    assert!(well, "{text}");
    assert!(text.contains(" 0 log records"), "{text}");
}

#[test]
fn damaged_pages_are_named_and_cost_only_themselves() {
    let mut server = populated();
    let before = contents(&mut server.connect());
    assert_eq!(server.stop(), Some(0));
    let dir = server.data_dir();
    let index = largest_index(&dir);
    let leaves = pages(&dir, |kind, of| kind == 3 && of == index);
    let victim = leaves[leaves.len() / 2];
    // No copy in the doublewrite area, from which a start would mend it.
    flip(&dir.join("doublewrite"), 10);
    flip(&dir.join("data"), victim * PAGE_BYTES + 9_000);
    let (well, text) = check(&dir);
    assert!(!well && text.contains(&format!("page {victim}, index {index}: does not fit its checksum")), "{text}");
    assert!(text.contains("d.t.PRIMARY"), "{text}");
    let (sql, said, code) = salvage(&dir);
    assert_eq!(code, Some(1), "{said}");
    assert!(sql.contains(&format!("page {victim} of table d.t")) && sql.contains("cannot be reached in table d.t"), "{said}");
    let mut c = load(&sql).connect_and_keep();
    let rows: Vec<(i64, i64)> = c.0.query("SELECT COUNT(*), MAX(id) FROM d.t").expect("a read");
    assert!(rows[0].0 > 3_000 && rows[0].0 < 3_600 && rows[0].1 == 3_999, "{rows:?}");
    let after = contents(&mut c.0);
    assert!(before.iter().filter(|line| !after.contains(line)).count() as i64 <= 3_600 - rows[0].0 + 2);

    // The root of the tree as well: the leaves are found without it.
    let inner = pages(&dir, |kind, of| kind == 4 && of == index);
    assert_eq!(inner.len(), 1, "a root over the leaves");
    flip(&dir.join("data"), inner[0] * PAGE_BYTES + 100);
    let (well, text) = check(&dir);
    assert!(!well && text.contains(&format!("page {}, index {index}: does not fit its checksum", inner[0])), "{text}");
    let (sql, _, _) = salvage(&dir);
    let mut again = load(&sql).connect_and_keep();
    let found: Option<i64> = again.0.query_first("SELECT COUNT(*) FROM d.t").expect("a read");
    assert_eq!(found, Some(rows[0].0));
}

/// Keeps a server for its connection.
trait Kept {
    fn connect_and_keep(self) -> (mysql::Conn, Server);
}

impl Kept for Server {
    fn connect_and_keep(self) -> (mysql::Conn, Server) {
        (self.connect(), self)
    }
}

#[test]
fn what_disagrees_is_told_where_every_page_is_whole() {
    let mut server = populated();
    assert_eq!(server.stop(), Some(0));
    let dir = server.data_dir();
    // An entry of a secondary index loses its last key byte's truth; the page is sealed again, so no checksum tells.
    let index = largest_index(&dir);
    let secondary = index + 2;
    let page = pages(&dir, |kind, of| kind == 3 && of == secondary)[0];
    rewrite(&dir, page, |image| {
        let word = |at: usize| usize::from(u16::from_le_bytes([image[at], image[at + 1]]));
        // The last byte of the key of the first entry that is not marked deleted: flags stand behind the key's rest.
        let key_end = |slot: usize| word(88 + 8 * slot) + 2 + word(90 + 8 * slot) - 4;
        let slot = (0..word(48)).find(|slot| image[key_end(*slot)] & 1 == 0).expect("a live entry");
        let last = key_end(slot) - 1;
        image[last] ^= 1;
    });
    let (well, text) = check(&dir);
    assert!(!well, "{text}");
    assert!(text.contains("d.t.k") && (text.contains("has no row") || text.contains("order")), "{text}");

    // A page that somebody owns and nothing leads to; a page that somebody has and nobody owns.
    let map = pages(&dir, |kind, _| kind == 2)[0];
    rewrite(&dir, map, |image| {
        let owners: Vec<usize> = (112..16_240).step_by(4).filter(|at| image[*at..*at + 4] == [0; 4]).collect();
        let free_in_mixed = owners.into_iter().find(|at| image[48 + (at - 112) / 256] == 1).expect("a free page");
        image[free_in_mixed..free_in_mixed + 4].copy_from_slice(&index.to_le_bytes());
    });
    let (well, text) = check(&dir);
    assert!(!well && text.contains("that nothing leads to") && text.contains("and index") || text.contains("was never written"), "{text}");
}

/// Changes a page and seals it again.
fn rewrite(dir: &Path, page: u64, change: impl FnOnce(&mut [u8])) {
    let data = OpenOptions::new().read(true).write(true).open(dir.join("data")).expect("opens");
    let mut image = vec![0; PAGE_BYTES as usize];
    data.read_exact_at(&mut image, page * PAGE_BYTES).expect("reads");
    change(&mut image);
    let sum = base::crc32c(&image[4..]);
    image[..4].copy_from_slice(&sum.to_le_bytes());
    data.write_all_at(&image, page * PAGE_BYTES).expect("writes");
}

#[test]
fn salvage_reads_without_log_checkpoint_or_dictionary_pages() {
    let mut server = populated();
    let before = contents(&mut server.connect());
    assert_eq!(server.stop(), Some(0));
    let dir = server.data_dir();
    // No log at all.
    std::fs::remove_dir_all(dir.join("log")).expect("removed");
    let (well, text) = check(&dir);
    assert!(!well && text.contains("log/control"), "{text}");
    let (sql, said, code) = salvage(&dir);
    assert_eq!(code, Some(1), "{said}");
    assert!(sql.contains("The log could not be applied"), "{said}");
    assert_same(&contents(&mut load(&sql).connect()), &before);
    // Nor the file header.
    flip(&dir.join("data"), 20);
    let (sql, _, _) = salvage(&dir);
    assert_same(&contents(&mut load(&sql).connect()), &before);
    // Nor the dictionary: nothing says what the rows mean, and that is said.
    for page in pages(&dir, |kind, of| kind == 3 && of == 1) {
        flip(&dir.join("data"), page * PAGE_BYTES + 5_000);
    }
    let (sql, said, code) = salvage(&dir);
    assert_eq!(code, Some(1), "{said}");
    assert!(sql.contains("no definition of it was found"), "{sql}");
}

#[test]
fn what_is_no_directory_or_of_another_format_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let (well, text) = check(dir.path());
    assert!(!well && text.contains("no data directory"), "{text}");
    let (well, text) = check(&dir.path().join("none"));
    assert!(!well && text.contains("none"), "{text}");
    std::fs::write(dir.path().join("data"), vec![7; 65_536]).expect("written");
    let (well, text) = check(dir.path());
    assert!(!well && text.contains("does not name an Altiplano data file"), "{text}");
    assert!(!dir.path().join("lock").exists());
}
