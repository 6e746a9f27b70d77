//! `altiplano check` and `altiplano salvage` on directories of a real server: sound ones, ones whose server was killed, and damaged ones.

use check::{Report, Source};
use env::{Disk, FileKind, OpenMode};
use harness::Server;
use harness::data_file::{LEAF, PAGE_BYTES, flip, pages};
use mysql::prelude::Queryable;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use sync::{Mutex, Rank};

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
        // What SHOW CREATE TABLE has written of a column's collation was not written of the table it was asked of: of a loaded one it shows the character set, too, as in MySQL.
        all.extend(rows.into_iter().map(|row| line(row).replace("CHARACTER SET utf8mb4 COLLATE", "COLLATE")));
    }
    all
}

/// A row as a line.
fn line(row: mysql::Row) -> String {
    let text =
        |value| if let mysql::Value::Bytes(bytes) = value { String::from_utf8_lossy(&bytes).into_owned() } else { format!("{value:?}") };
    row.unwrap().into_iter().map(text).collect::<Vec<_>>().join("|")
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

/// The index whose leaves there are most of: the primary one of `d.t`.
fn largest_index(dir: &Path) -> u32 {
    (16..60).max_by_key(|index| pages(dir, |kind, of| kind == LEAF && of == *index).len()).expect("some index")
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

/// What a dump is easily made without: tables whose columns are all computed, days that no month has, counters past the last row, views.
#[test]
fn salvage_leaves_nothing_out_of_a_sound_directory() {
    let mut server = Server::start(PROGRAM, &[]);
    let mut c = server.connect();
    for statement in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE computed (a INT AS (1) VIRTUAL, b INT AS (a + 1) STORED)",
        "INSERT INTO computed VALUES (DEFAULT, DEFAULT), (DEFAULT, DEFAULT)",
        "CREATE TABLE numbered (id INT AUTO_INCREMENT PRIMARY KEY, n INT)",
        "INSERT INTO numbered (n) VALUES (1), (2), (3), (4)",
        "DELETE FROM numbered WHERE id > 2",
        "CREATE TABLE begins (id INT AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 100",
        "SET sql_mode = 'ALLOW_INVALID_DATES'",
        "CREATE TABLE days (id INT PRIMARY KEY, a DATE, b DATETIME(6), c TIMESTAMP NULL)",
        "INSERT INTO days VALUES (1, '2004-02-31', '2004-04-31 10:00:00', '2004-04-30 10:00:00'), (2, '0000-00-00', '2004-00-01 00:00:00', NULL)",
        "SET sql_mode = DEFAULT",
        // Named so that the names' order is none in which they can be made; one reads of another database, one has its literals' collation.
        "CREATE VIEW a_view AS SELECT z.n + 1 AS n, computed.b FROM z_view z, computed",
        "CREATE TABLE e (n INT)",
        "DROP TABLE e",
        "CREATE DATABASE `o``ther`",
    ] {
        if statement.contains("z_view") {
            c.query_drop("CREATE SQL SECURITY INVOKER VIEW z_view (`n``s`, n) AS SELECT 'it''s', n FROM numbered WHERE n < 9 WITH LOCAL CHECK OPTION")
                .expect("a view");
        }
        c.query_drop(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    c.query_drop("SET NAMES utf8mb4 COLLATE utf8mb4_bin").expect("set");
    c.query_drop("CREATE VIEW `o``ther`.v AS SELECT 'x' = 'X' AS same, a.n FROM d.a_view a").expect("a view");
    let queries = [
        "SELECT * FROM d.computed",
        "SELECT * FROM d.numbered",
        "SELECT id, CAST(a AS CHAR), CAST(b AS CHAR), CAST(c AS CHAR) FROM d.days ORDER BY id",
        "SELECT * FROM d.a_view ORDER BY n",
        "SELECT * FROM d.z_view ORDER BY n",
        "SELECT * FROM `o``ther`.v ORDER BY n",
        "SHOW CREATE VIEW d.z_view",
        "SHOW CREATE VIEW d.a_view",
        "SHOW CREATE VIEW `o``ther`.v",
        "SHOW CREATE TABLE d.numbered",
        "SHOW CREATE TABLE d.begins",
    ];
    let answers = |c: &mut mysql::Conn| -> Vec<String> {
        let all = queries.iter().flat_map(|query| c.query(query).unwrap_or_else(|error| panic!("{query}: {error}")));
        all.map(line).collect()
    };
    // As another session sees them, with no database in use.
    let before = answers(&mut server.connect());
    assert!(
        before.iter().any(|line| line.contains("2004-02-31")) && before.iter().any(|line| line.contains("AUTO_INCREMENT=5")),
        "{before:?}"
    );
    server.kill();
    let (sql, said, code) = salvage(&server.data_dir());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("4 tables, 3 views, "), "{said}");
    assert_same(&answers(&mut load(&sql).connect()), &before);

    // A view whose table is gone does not end the load.
    server.restart();
    server.connect().query_drop("DROP TABLE d.computed").expect("dropped");
    assert_eq!(server.stop(), Some(0));
    let (sql, said, code) = salvage(&server.data_dir());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("view d.a_view is in a comment only") && sql.contains("\n-- CREATE ALGORITHM"), "{said}");
    let rows: Vec<(String, i64)> = load(&sql).connect().query("SELECT * FROM d.z_view ORDER BY 2").expect("a read");
    assert_eq!(rows.len(), 2);
}

#[test]
fn damaged_pages_are_named_and_cost_only_themselves() {
    let mut server = populated();
    let before = contents(&mut server.connect());
    assert_eq!(server.stop(), Some(0));
    let dir = server.data_dir();
    let index = largest_index(&dir);
    let leaves = pages(&dir, |kind, of| kind == LEAF && of == index);
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
    let page = pages(&dir, |kind, of| kind == LEAF && of == secondary)[0];
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
}

#[test]
fn check_and_checksum_table_run_beside_open_and_prepared_transactions() {
    let server = populated();
    let mut c = server.connect();
    c.query_drop("SET lock_wait_timeout = 1").expect("set");
    let checked = |c: &mut mysql::Conn| -> Vec<(String, String, String, String)> {
        c.query("CHECK TABLE d.t, d.hidden, d.long_ones").expect("checks")
    };
    let sum = |c: &mut mysql::Conn| -> Vec<(String, Option<u64>)> { c.query("CHECKSUM TABLE d.t, d.hidden, d.long_ones").expect("sums") };
    let before = sum(&mut c);
    let (mut open, mut prepared) = (server.connect(), server.connect());
    open.query_drop("BEGIN").expect("begins");
    open.query_drop("UPDATE d.t SET n = n + 1000, s = CONCAT('open ', id) WHERE id < 1000").expect("updates");
    open.query_drop("DELETE FROM d.long_ones WHERE id = 1").expect("deletes");
    for statement in
        ["XA START 'x'", "INSERT INTO d.hidden VALUES (7, 'prepared')", "DELETE FROM d.t WHERE id = 2001", "XA END 'x'", "XA PREPARE 'x'"]
    {
        prepared.query_drop(statement).expect(statement);
    }
    assert!(checked(&mut c).iter().all(|(_, _, _, text)| text == "OK"), "{:?}", checked(&mut c));
    assert_eq!(sum(&mut c), before);
    // Within a transaction the sum is of its snapshot, and the transaction goes on.
    c.query_drop("BEGIN").expect("begins");
    assert_eq!(sum(&mut c), before);
    open.query_drop("COMMIT").expect("commits");
    prepared.query_drop("XA COMMIT 'x'").expect("commits");
    assert_eq!(sum(&mut c), before);
    c.query_drop("COMMIT").expect("commits");
    assert!(sum(&mut c).iter().zip(&before).all(|(now, before)| now.1.is_some() && now != before));
    assert!(checked(&mut c).iter().all(|(_, _, _, text)| text == "OK"));
}

#[test]
fn check_table_tells_what_disagrees_beside_an_open_transaction() {
    let (mut server, index) = closed();
    let dir = server.data_dir();
    let page = pages(&dir, |kind, of| kind == LEAF && of == index + 2)[0];
    rewrite(&dir, page, |image| {
        let word = |at: usize| usize::from(u16::from_le_bytes([image[at], image[at + 1]]));
        let key_end = |slot: usize| word(88 + 8 * slot) + 2 + word(90 + 8 * slot) - 4;
        let slot = (0..word(48)).find(|slot| image[key_end(*slot)] & 1 == 0).expect("a live entry");
        image[key_end(slot) + 1] = 4;
    });
    // The left sibling of a leaf of the other index.
    let leaf = pages(&dir, |kind, of| kind == LEAF && of == index + 1)[3];
    rewrite(&dir, leaf, |image| image[56] ^= 1);
    server.restart();
    let mut open = server.connect();
    open.query_drop("BEGIN").expect("begins");
    open.query_drop("INSERT INTO d.t VALUES (1000000, 'open', NULL)").expect("inserts");
    let mut c = server.connect();
    c.query_drop("SET lock_wait_timeout = 1").expect("set");
    let told: Vec<(String, String, String, String)> = c.query("CHECK TABLE d.t").expect("checks");
    let has = |kind: &str, what: &str| told.iter().any(|(_, _, of, text)| of == kind && text.contains(what));
    assert!(has("Warning", "Index k: ") && has("Warning", "Index u: ") && has("error", "Corrupt"), "{told:?}");
    assert!(has("Warning", "sibling"), "{told:?}");
    let quick: Vec<(String, String, String, String)> = c.query("CHECK TABLE d.t QUICK").expect("checks");
    assert!(quick.iter().any(|(_, _, _, text)| text.contains("Index u: ")) && quick.len() == 2, "{quick:?}");
}

#[test]
fn a_stored_length_that_does_not_fit_is_told() {
    let mut server = populated();
    assert_eq!(server.stop(), Some(0));
    let dir = server.data_dir();
    // Which part of an entry is the index's own and which the primary key's: readers cut by it. The key itself stays as it was.
    let index = largest_index(&dir);
    let page = pages(&dir, |kind, of| kind == LEAF && of == index + 2)[0];
    rewrite(&dir, page, |image| {
        let word = |at: usize| usize::from(u16::from_le_bytes([image[at], image[at + 1]]));
        let key_end = |slot: usize| word(88 + 8 * slot) + 2 + word(90 + 8 * slot) - 4;
        let slot = (0..word(48)).find(|slot| image[key_end(*slot)] & 1 == 0).expect("a live entry");
        let length = key_end(slot) + 1;
        assert_eq!(image[length], 5, "a nullable INT");
        image[length] = 4;
    });
    let (well, text) = check(&dir);
    assert!(!well && text.contains("d.t.k"), "{text}");
}

/// A sound closed directory, and the index that most leaves are of.
fn closed() -> (Server, u32) {
    let mut server = populated();
    assert_eq!(server.stop(), Some(0));
    let index = largest_index(&server.data_dir());
    (server, index)
}

#[test]
fn a_page_that_nothing_leads_to_and_one_that_nobody_owns_are_told() {
    let (server, index) = closed();
    let dir = server.data_dir();
    let map = pages(&dir, |kind, _| kind == 2)[0];
    rewrite(&dir, map, |image| {
        let owners: Vec<usize> = (112..16_240).step_by(4).filter(|at| image[*at..*at + 4] == [0; 4]).collect();
        let free_in_mixed = owners.into_iter().find(|at| image[48 + (at - 112) / 256] == 1).expect("a free page");
        image[free_in_mixed..free_in_mixed + 4].copy_from_slice(&index.to_le_bytes());
    });
    let (well, text) = check(&dir);
    assert!(!well && text.contains("d.t.PRIMARY: owns 1 pages that nothing leads to"), "{text}");

    let (server, index) = closed();
    let dir = server.data_dir();
    let leaves = pages(&dir, |kind, of| kind == LEAF && of == index);
    let map = pages(&dir, |kind, _| kind == 2)[0];
    let victim = leaves[leaves.len() / 2];
    rewrite(&dir, map, |image| {
        let at = 112 + 4 * victim as usize;
        assert_eq!(image[at..at + 4], index.to_le_bytes(), "the owner of page {victim}");
        image[at..at + 4].fill(0);
    });
    let (well, text) = check(&dir);
    assert!(
        !well && text.contains(&format!("page {victim}, d.t.PRIMARY: is nobody's by the space map, and index {index} has it")),
        "{text}"
    );
}

#[test]
fn a_definition_that_cannot_be_read_makes_no_leftovers() {
    let (server, _) = closed();
    let dir = server.data_dir();
    // The length of the table's name in its definition; the row with its id by name says it differently.
    let name = b"\x09long_ones";
    let mut changed = 0;
    for page in pages(&dir, |kind, of| kind == LEAF && of == 1) {
        rewrite(&dir, page, |image| {
            if let Some(at) = image.windows(name.len()).position(|bytes| bytes == name) {
                image[at] = 0xff;
                changed += 1;
            }
        });
    }
    assert_eq!(changed, 1, "the definition");
    let (well, text) = check(&dir);
    assert!(!well && text.contains("cannot be read"), "{text}");
    assert!(!text.contains("no table: left by DDL") && !text.contains("has a name and no definition"), "{text}");
}

/// A directory whose device refuses to read some of the files.
struct Failing {
    base: Arc<dyn Disk>,
    path: String,
}

struct FailingFile(Arc<dyn env::File>);

impl Disk for Failing {
    fn open(&self, path: &str, mode: OpenMode, kind: FileKind) -> io::Result<Arc<dyn env::File>> {
        let file = self.base.open(path, mode, kind)?;
        if path.starts_with(&self.path) { Ok(Arc::new(FailingFile(file))) } else { Ok(file) }
    }
    fn exists(&self, path: &str) -> io::Result<bool> {
        self.base.exists(path)
    }
    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        self.base.list(dir)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.base.rename(from, to)
    }
    fn remove(&self, path: &str) -> io::Result<()> {
        self.base.remove(path)
    }
    fn create_dir_all(&self, dir: &str) -> io::Result<()> {
        self.base.create_dir_all(dir)
    }
    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        self.base.sync_dir(dir)
    }
}

impl env::File for FailingFile {
    fn read_at(&self, _buf: &mut [u8], _offset: u64) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(5))
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(buf, offset)
    }
    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
    fn reserve(&self, range: std::ops::Range<u64>) -> io::Result<()> {
        self.0.reserve(range)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn punch_hole(&self, offset: u64, len: u64) -> io::Result<()> {
        self.0.punch_hole(offset, len)
    }
}

/// What a report was told.
fn report() -> (Report, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::with_order(Rank::Leaf, 1, Vec::new()));
    let sink = Arc::clone(&told);
    (Report::new(move |finding| (sink.lock()).push(finding.to_string()), |_, _, _| {}), told)
}

#[test]
fn a_device_that_fails_under_the_log_is_told_and_the_rest_is_looked_at() {
    let mut server = populated();
    let before = contents(&mut server.connect());
    assert_eq!(server.stop(), Some(0));
    let scratch = tempfile::tempdir().expect("a directory");
    let segment = std::fs::read_dir(server.data_dir().join("log")).expect("lists").map(|entry| entry.expect("an entry").file_name());
    let segment = segment.map(|name| name.to_string_lossy().into_owned()).find(|name| !name.starts_with('c')).expect("a segment");
    for path in ["log/control", "log/checkpoint", &format!("log/{segment}")] {
        let base: Arc<dyn Disk> = Arc::new(env::ReadOnlyDisk::open(server.data_dir()).expect("opens"));
        let disk: Arc<dyn Disk> = Arc::new(Failing { base, path: path.to_owned() });
        let source = Source { disk, scratch: scratch.path() };
        let (to, told) = report();
        let done = check::check(&source, &to).expect("goes on");
        let told = told.lock().join("\n");
        assert!(to.errors() > 0 && told.contains("Input/output error"), "{path}: {told}");
        assert!(done.pages > 100 && !done.whole, "{path}: {done:?}");
        let (to, _) = report();
        let mut sql = Vec::new();
        let texts = check::Texts { table: &session::create_table_text, view: &session::whole_view_text };
        let done = check::salvage(&source, &texts, &mut sql, &to).expect("goes on");
        assert!(!done.whole && done.rows > 3_600 && to.errors() > 0, "{path}: {done:?}");
        assert_same(&contents(&mut load(&String::from_utf8(sql).expect("text")).connect()), &before);
    }
}

#[test]
fn what_cannot_be_rolled_back_is_in_comments_only() {
    let mut server = populated();
    let mut open = server.connect();
    open.query_drop("BEGIN").expect("begins");
    open.query_drop("UPDATE d.t SET n = 1000000 + id WHERE id < 10").expect("updates");
    open.query_drop("DELETE FROM d.t WHERE id = 10").expect("deletes");
    server.connect().query_drop("INSERT INTO d.hidden VALUES (9, 'z'); DELETE FROM d.hidden WHERE a = 9").expect("flushes the log");
    server.kill();
    drop(open);
    let dir = server.data_dir();
    {
        // The pages are written as the crash left them, so that the damage is not in the way of redo.
        let disk = Arc::new(env::RealDisk::open(&dir).expect("opens"));
        let config = engine::EngineConfig::default();
        let engine = engine::Engine::open(disk, Arc::new(env::RealClock::new()), config).expect("recovers");
        assert_eq!(engine.write_all().unfinished.len(), 1);
    }
    let index = largest_index(&dir);
    flip(&dir.join("doublewrite"), 10);
    for leaf in pages(&dir, |kind, of| kind == LEAF && of == index + 2) {
        flip(&dir.join("data"), leaf * PAGE_BYTES + 9_000);
    }
    let (well, text) = check(&dir);
    assert!(!well && text.contains("1 unfinished transactions cannot be rolled back"), "{text}");
    assert!(!text.contains("that nothing leads to: "), "{text}");
    let (sql, said, code) = salvage(&dir);
    assert_eq!(code, Some(1), "{said}");
    assert!(sql.contains("-- 1 transactions were not committed"), "{said}");
    // In comments, and only there; what the rollback reached before it failed is as it was.
    let loaded: String = sql.lines().filter(|line| !line.starts_with("-- ")).collect();
    assert!(!loaded.contains(",10000"), "rows that were not committed");
    assert!(sql.contains("-- written by a transaction that was not committed"), "{said}");
    let mut c = load(&sql).connect_and_keep();
    let count: Option<i64> = c.0.query_first("SELECT COUNT(*) FROM d.t").expect("a read");
    assert!((3_580..3_600).contains(&count.expect("a number")), "{count:?}");
}

#[test]
fn scratch_without_room_says_nothing_of_the_directory() {
    let place = tempfile::Builder::new().prefix("altiplano-scratch-").tempdir().expect("a directory");
    let mut server = populated();
    server.kill();
    let dir = server.data_dir();
    let (mut refused, mut sound) = (0, 0);
    for kib in [16, 128, 512, 1024, 2048, 3072, 4096, 6144, 8192, 16_384, 65_536] {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "tmpfs"]).arg(place.path()).output();
        if !mounted.as_ref().is_ok_and(|output| output.status.success()) {
            println!("left out: a tmpfs cannot be mounted here: {mounted:?}");
            return;
        }
        let output = run(&["check", &dir.to_string_lossy(), "--temp", &place.path().to_string_lossy()]);
        let file = dir.with_extension("sql");
        let salvaged =
            run(&["salvage", &dir.to_string_lossy(), "--temp", &place.path().to_string_lossy(), "--to", &file.to_string_lossy()]);
        let unmounted = Command::new("umount").arg(place.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()));
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            sound += 1;
            assert_eq!(salvaged.status.code(), Some(0));
            std::fs::remove_file(&file).expect("salvaged");
        } else {
            refused += 1;
            assert!(text.contains("directory for temporary files") && !text.contains("error: "), "{kib} KiB: {text}");
            assert_eq!(salvaged.status.code(), Some(2), "{kib} KiB");
            assert!(!file.exists(), "{kib} KiB: a file of something that failed");
        }
    }
    assert!(refused > 1 && sound > 1, "{refused} refused, {sound} sound");
}

#[test]
fn salvage_writes_a_file_only_when_there_is_something_to_write() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("data"), vec![7; 65_536]).expect("written");
    let file = dir.path().join("out.sql");
    let run_to = |file: &Path| run(&["salvage", &dir.path().to_string_lossy(), "--to", &file.to_string_lossy()]).status.code();
    assert_eq!(run_to(&file), Some(2));
    assert!(!file.exists());
    std::fs::write(&file, "mine").expect("written");
    assert_eq!(run_to(&file), Some(2));
    assert_eq!(std::fs::read(&file).expect("reads"), b"mine");
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
    for page in pages(&dir, |kind, of| kind == LEAF && of == 1) {
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
