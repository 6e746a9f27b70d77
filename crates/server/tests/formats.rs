//! Formats of a data directory: an old one stays as it is until it is sealed, is read by the frozen reader of that format, and what is newer or foreign is
//! refused by name. What docs/format says is enough to read one: a reader in Python that was written from these pages prints what the server answered.

use engine::format::{FORMAT_NEWEST, FORMAT_OLDEST, Feature};
use harness::Server;
use mysql::prelude::Queryable;
use reader_v1::{Directory, Field};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_altiplano");

fn run(arguments: &[&str], dir: &Path) -> Output {
    Command::new(PROGRAM).args(arguments).arg(dir).stdin(Stdio::null()).output().expect("runs")
}

fn refused(dir: &Path) -> String {
    harness::refused(PROGRAM, dir)
}

/// Changes page 0 and seals it again.
fn change_header(dir: &Path, change: impl FnOnce(&mut [u8])) {
    let data = OpenOptions::new().read(true).write(true).open(dir.join("data")).expect("opens");
    let mut page = vec![0; 16_384];
    data.read_exact_at(&mut page, 0).expect("reads");
    change(&mut page);
    let sum = base::crc32c(&page[4..]);
    page[..4].copy_from_slice(&sum.to_le_bytes());
    data.write_all_at(&page, 0).expect("writes");
}

fn fill(c: &mut mysql::Conn) {
    for statement in [
        "CREATE DATABASE d",
        "CREATE TABLE d.kinds (i TINYINT UNSIGNED, d DECIMAL(20,5), f DOUBLE, v VARBINARY(20), t LONGTEXT, e ENUM('x','y'), dt DATETIME(6), \
         da DATE, y YEAR, bi BIT(10), se SET('a','b'), c CHAR(5) NOT NULL, PRIMARY KEY (c, i))",
        "INSERT INTO d.kinds VALUES (1, -12345.67891, 0.1, x'00FF27', REPEAT('ü', 40000), 'y', '2026-01-02 03:04:05.678901', \
         '2026-02-28', 2026, b'1010101010', 'a,b', 'k'), (2, NULL, NULL, NULL, 'z', NULL, NULL, NULL, NULL, NULL, NULL, 'l')",
        "ALTER TABLE d.kinds ADD COLUMN added INT DEFAULT 7, ALGORITHM=INSTANT",
        "INSERT INTO d.kinds (i, c, added) VALUES (3, 'm', -5)",
        "CREATE TABLE d.many (id INT PRIMARY KEY, s VARCHAR(100) NOT NULL, KEY (s))",
    ] {
        c.query_drop(statement).expect(statement);
    }
    for start in (0..3_000).step_by(500) {
        let rows: Vec<String> = (start..start + 500).map(|id| format!("({id}, '{id:05} {}')", "x".repeat(50))).collect();
        c.query_drop(format!("INSERT INTO d.many VALUES {}", rows.join(","))).expect("rows");
    }
    c.query_drop("DELETE FROM d.many WHERE id % 3 = 0").expect("deleted");
}

/// What clients ask for that takes a feature of a later format than the first, over the table `d.plain`.
const LATER: [(Feature, &[&str]); 11] = [
    (
        Feature::PreparedTransactions,
        &["XA START 'b'", "INSERT INTO d.plain VALUES (9, 'i', 9)", "XA END 'b'", "XA PREPARE 'b'", "XA ROLLBACK 'b'"],
    ),
    (Feature::DefinitionSections, &["CREATE TABLE d.later (a INT CHECK (a > 0))"]),
    (Feature::DefinitionSections, &["CREATE TABLE d.child (a INT, FOREIGN KEY (a) REFERENCES d.plain (id))"]),
    (Feature::JsonColumns, &["CREATE TABLE d.documents (j JSON)"]),
    (Feature::Collations, &["ALTER TABLE d.plain MODIFY s VARCHAR(5) CHARACTER SET latin1"]),
    (Feature::Collations, &["CREATE DATABASE other COLLATE utf8mb4_de_pb_0900_ai_ci"]),
    (Feature::Accounts, &["CREATE USER somebody@localhost"]),
    (Feature::Views, &["CREATE VIEW d.v AS SELECT id FROM d.plain"]),
    (Feature::Histograms, &["ANALYZE TABLE d.plain UPDATE HISTOGRAM ON n WITH 2 BUCKETS"]),
    (Feature::RowVersions, &["ALTER TABLE d.plain DROP COLUMN n, ALGORITHM=INSTANT"]),
    (
        Feature::ComputedColumns,
        &["ALTER TABLE d.plain ADD COLUMN v INT AS (id + 1) VIRTUAL, ALGORITHM=INSTANT", "ALTER TABLE d.plain DROP COLUMN v"],
    ),
];
/// What the server does by itself, and leaves undone in an older format. Tests of the engine look at that: `prune.rs`, `checkpoints.rs`, `prepared.rs`, `runs.rs`;
/// `damage.rs` here at pages that lack changes; `recovery.rs` of the tree at leaves in the log.
const BY_ITSELF: [Feature; 7] = [
    Feature::PrunedVersions,
    Feature::HistoryBlocks,
    Feature::LackingPages,
    Feature::PreparedTables,
    Feature::InsertRuns,
    Feature::LeafDeltas,
    Feature::WrittenOptions,
];

/// The number and text of the error that a statement gets; ANALYZE TABLE tells its own in a row, and no other then.
fn refusal(c: &mut mysql::Conn, statement: &str) -> Option<(u16, String)> {
    match c.query::<mysql::Row, _>(statement) {
        Ok(rows) => {
            let told = rows.iter().find(|row| row.get::<String, _>(2).as_deref() == Some("Error"))?;
            assert_eq!(rows.len(), 1, "{rows:?}");
            told.get(3).map(|text: String| (1235, text))
        }
        Err(mysql::Error::MySqlError(error)) => Some((error.code, error.message)),
        Err(error) => panic!("{statement}: {error}"),
    }
}

/// Asks for each of [`LATER`] over a connection of its own: a directory of `format` has what has come by then, and refuses the others by both numbers.
fn ask_for_all(server: &Server, format: u32) {
    for (feature, statements) in LATER {
        let mut c = server.connect();
        let (refused, is_later) = (statements.iter().find_map(|statement| refusal(&mut c, statement)), feature.format() > format);
        assert_eq!(refused.is_some(), is_later, "{statements:?} in format {format}: {refused:?}");
        match refused {
            // Columns go by a copy, where rows have no versions.
            Some((code, text)) if feature == Feature::RowVersions => {
                assert_eq!(code, 1845, "{text}");
                c.query_drop("ALTER TABLE d.plain DROP COLUMN n").expect("by a copy");
            }
            // They come by a copy, where definitions can have them at all.
            Some((code, text)) if feature == Feature::ComputedColumns => assert_eq!(code, 1845, "{text}"),
            Some((code, text)) => {
                let numbers = [format!("format {format}"), format!("format {}", feature.format())];
                assert!(code == 1235 && numbers.iter().all(|number| text.contains(number)), "{statements:?} in format {format}: {text}");
            }
            None => {}
        }
    }
}

#[test]
fn each_format_has_what_has_come_by_then_and_refuses_the_rest() {
    // Who adds a feature says above which statement asks for it, or that the server does it by itself.
    for feature in Feature::ALL {
        let asked = LATER.iter().any(|(later, _)| *later == feature);
        assert!(asked != BY_ITSELF.contains(&feature), "{feature:?}");
    }
    for format in FORMAT_OLDEST..=FORMAT_NEWEST {
        let mut server = Server::start(PROGRAM, &["--new-format", &format.to_string()]);
        let mut c = server.connect();
        for statement in [
            "CREATE DATABASE d",
            "CREATE TABLE d.plain (id INT PRIMARY KEY, s VARCHAR(5) NOT NULL, n INT)",
            "INSERT INTO d.plain VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)",
        ] {
            c.query_drop(statement).expect(statement);
        }
        drop(c);
        ask_for_all(&server, format);
        let rows: Vec<(i32, String)> = server.connect().query("SELECT * FROM d.plain ORDER BY id").expect("rows");
        assert_eq!(rows, [(1, "a".to_owned()), (2, "b".to_owned()), (3, "c".to_owned())], "format {format}");
        assert_eq!(server.stop(), Some(0));
        let dir = server.data_dir();
        let header = std::fs::read(dir.join("data")).expect("reads");
        assert_eq!(header[56..60], format.to_le_bytes(), "nobody but `seal` changes the format");
        let checked = run(&["check"], &dir);
        assert!(checked.status.success(), "format {format}: {}", String::from_utf8_lossy(&checked.stdout));
        if format == FORMAT_OLDEST {
            // All that was refused has left nothing that the oldest reader does not know.
            let directory = Directory::open(&dir).expect("opens");
            let tables = directory.tables().expect("definitions");
            assert_eq!(tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>(), ["plain"]);
            assert_eq!(directory.rows(&tables[0]).expect("rows").len(), 3);
        }
    }
}

#[test]
fn a_directory_of_the_last_format_is_read_by_that_formats_reader_until_it_is_sealed() {
    let mut server = Server::start(PROGRAM, &["--new-format", "1"]);
    fill(&mut server.connect());
    // What only a later format has is refused, says why, and leaves nothing behind.
    let mut c = server.connect();
    c.query_drop("XA START 'a'; UPDATE d.many SET s = 'never' WHERE id = 1; XA END 'a'").expect("begun");
    let error = c.query_drop("XA PREPARE 'a'").expect_err("needs format 2");
    let mysql::Error::MySqlError(error) = error else { panic!("{error}") };
    assert!(error.code == 1235 && error.message.contains("format 1") && error.message.contains("format 2"), "{error:?}");
    drop(c);
    assert_eq!(server.connect().query_first::<i64, _>("SELECT COUNT(*) FROM d.many WHERE s = 'never'").expect("reads"), Some(0));
    assert_eq!(server.stop(), Some(0));

    let dir = server.data_dir();
    let directory = Directory::open(&dir).expect("opens");
    let tables = directory.tables().expect("definitions");
    assert_eq!(tables.len(), 2);
    let table = |name: &str| tables.iter().find(|table| table.name == name).expect("a table");
    let rows = directory.rows(table("kinds")).expect("rows");
    let text = |text: &str| Field::Text(text.to_owned());
    let long = "ü".repeat(40_000);
    let expected = ["1", "-12345.67891", "0.1", "", &long, "y", "2026-01-02 03:04:05.678901", "2026-02-28", "2026", "682", "a,b", "k", "7"];
    let mut expected: Vec<Field> = expected.map(text).into();
    expected[3] = Field::Bytes(vec![0, 255, 39]);
    assert!(rows[0] == expected, "the first row is another");
    let nulls = rows[1].iter().filter(|field| **field == Field::Null).count();
    assert_eq!((nulls, &rows[1][12], &rows[2][12]), (9, &text("7"), &text("-5")));
    let many = directory.rows(table("many")).expect("rows");
    let ids: Vec<Field> = (0..3_000).filter(|id| id % 3 != 0).map(|id| text(&id.to_string())).collect();
    assert!(many.iter().map(|row| row[0].clone()).eq(ids));
    assert_eq!(directory.entries(&table("many").indexes[1]).expect("entries").len(), many.len());

    // Sealed, it can what it could not, and the old reader refuses it by name.
    let sealed = run(&["seal"], &dir);
    assert!(sealed.status.success() && String::from_utf8_lossy(&sealed.stdout).contains("format 5 now, it had 1"), "{sealed:?}");
    let again = run(&["seal"], &dir);
    assert!(again.status.success() && String::from_utf8_lossy(&again.stdout).contains("already"), "{again:?}");
    let problem = Directory::open(&dir).expect_err("another format");
    assert!(problem.contains("format 5") && problem.contains("format 1"), "{problem}");
    server.restart();
    let locked = run(&["seal"], &dir);
    assert!(!locked.status.success() && String::from_utf8_lossy(&locked.stderr).contains("in use"), "{locked:?}");
    let mut c = server.connect();
    c.query_drop("XA START 'a'; UPDATE d.many SET s = 'now' WHERE id = 1; XA END 'a'; XA PREPARE 'a'; XA COMMIT 'a'").expect("sealed");
    assert_eq!(c.query_first::<i64, _>("SELECT COUNT(*) FROM d.many WHERE s = 'now'").expect("reads"), Some(1));
}

#[test]
fn newer_and_foreign_directories_are_refused_by_name() {
    let mut server = Server::start(PROGRAM, &[]);
    assert_eq!(server.stop(), Some(0));
    let dir = server.data_dir();
    let commands: [&[&str]; 3] = [&["check"], &["seal"], &["salvage", "--to", "-"]];
    let both = |text: &str| assert!(text.contains("format 9") && text.contains("formats 1 to 5"), "{text}");
    change_header(&dir, |page| page[56] = 9);
    both(&refused(&dir));
    for command in commands {
        let output = run(command, &dir);
        assert!(!output.status.success());
        both(&(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)));
    }
    change_header(&dir, |page| {
        page[56] = 3;
        page[60..64].copy_from_slice(&4_096_u32.to_le_bytes());
    });
    let said = refused(&dir);
    assert!(said.contains("pages of 4096 bytes") && said.contains("pages of 16384 bytes"), "{said}");
    change_header(&dir, |page| {
        page[60..64].copy_from_slice(&16_384_u32.to_le_bytes());
        page[48..56].copy_from_slice(b"ELSEBODY");
    });
    assert!(refused(&dir).contains("does not name an Altiplano data file"));
    change_header(&dir, |page| page[48..56].copy_from_slice(b"ALTIPLAN"));
    server.restart();
    assert_eq!(server.stop(), Some(0));
    // A format that there is not.
    let output = run(&["seal", "--format", "7"], &dir);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("formats to 5"), "{output:?}");
}

/// What only the newest format can hold, in tables of `d`.
const NEWEST: [&str; 26] = [
    "CREATE TABLE d.documents (id INT PRIMARY KEY, j JSON, CHECK (id > 0))",
    "INSERT INTO d.documents VALUES (1, '{\"a\": [1, 2.5, \"x\", null, true], \"longer name\": {\"d\": -70000}}'), (2, NULL), (3, '[]')",
    "INSERT INTO d.documents VALUES (4, JSON_ARRAY(CAST('2026-01-02' AS DATE), CAST(1.50 AS DECIMAL(5, 2)), 18446744073709551615))",
    "INSERT INTO d.documents VALUES (5, CONCAT('[\"', REPEAT('y', 70000), '\"]'))",
    "CREATE TABLE d.moved (a INT PRIMARY KEY, b VARCHAR(10), c INT)",
    "INSERT INTO d.moved VALUES (1, 'one', 1), (2, 'two', NULL)",
    "ALTER TABLE d.moved DROP COLUMN b, ALGORITHM=INSTANT",
    "INSERT INTO d.moved VALUES (3, 3)",
    "ALTER TABLE d.moved ADD COLUMN x VARCHAR(5) DEFAULT 'new' FIRST, ALGORITHM=INSTANT",
    "INSERT INTO d.moved VALUES ('y', 4, 4)",
    "ALTER TABLE d.moved MODIFY c INT FIRST, ALGORITHM=INSTANT",
    "UPDATE d.moved SET c = 20 WHERE a = 2",
    "CREATE TABLE d.latin (id INT PRIMARY KEY, s VARCHAR(10) CHARACTER SET latin1, u VARCHAR(10) CHARACTER SET utf8mb3, KEY (s))",
    "INSERT INTO d.latin VALUES (1, 'é', 'ü'), (2, NULL, '')",
    "CREATE TABLE d.child (id INT PRIMARY KEY, m INT, e INT DEFAULT (1 + 1), g INT AS (m * 2), KEY ((m + 1)), FOREIGN KEY (m) REFERENCES d.many (id))",
    "INSERT INTO d.child (id, m) VALUES (1, 1), (2, 4)",
    "CREATE VIEW d.v AS SELECT id FROM d.many",
    "CREATE USER somebody@localhost",
    "ANALYZE TABLE d.many UPDATE HISTOGRAM ON s WITH 4 BUCKETS",
    "CREATE TABLE d.counted (id INT AUTO_INCREMENT PRIMARY KEY, s LONGTEXT)",
    "INSERT INTO d.counted (s) VALUES ('x'), (REPEAT('y', 2000000))",
    "XA START 'branch'",
    "UPDATE d.counted SET s = 'short'",
    "INSERT INTO d.counted (id) VALUES (100)",
    "XA END 'branch'",
    "XA PREPARE 'branch'",
];
/// What the reader prints of each table, asked of the server.
static CONTENTS: [(&str, &str); 6] = [
    ("kinds", "SELECT i, d, f, LOWER(CONCAT('0x', HEX(v))), t, e, dt, da, y, bi + 0, se, c, added FROM d.kinds ORDER BY c, i"),
    ("many", "SELECT * FROM d.many ORDER BY id"),
    ("documents", "SELECT * FROM d.documents ORDER BY id"),
    ("moved", "SELECT * FROM d.moved ORDER BY a"),
    ("latin", "SELECT * FROM d.latin ORDER BY id"),
    ("child", "SELECT * FROM d.child ORDER BY id"),
];

/// What `scripts/read_directory.py` prints; `None` where there is no Python.
fn read_by_the_pages(dir: &Path, log: bool) -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/read_directory.py");
    let output =
        match Command::new("python3").arg("-B").arg(script).arg(dir).args(log.then_some("--log")).env("PYTHONIOENCODING", "utf-8").output()
        {
            Ok(output) => output,
            Err(error) => {
                println!("left out: python3 does not run here: {error}");
                return None;
            }
        };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}

/// A row of the text protocol as the reader prints it.
fn shown(row: mysql::Row) -> String {
    let values = row.unwrap().into_iter().map(|value| match value {
        mysql::Value::NULL => "NULL".to_owned(),
        mysql::Value::Bytes(text) => String::from_utf8(text).expect("UTF-8"),
        other => panic!("{other:?}"),
    });
    values.collect::<Vec<_>>().join(" | ")
}

#[test]
fn what_the_pages_of_the_format_say_is_enough_to_read_a_directory() {
    let mut logs = String::new();
    for format in FORMAT_OLDEST..=FORMAT_NEWEST {
        let mut server = Server::start(PROGRAM, &["--new-format", &format.to_string()]);
        let mut c = server.connect();
        fill(&mut c);
        if format == FORMAT_NEWEST {
            harness::run_all(&mut c, &NEWEST);
        }
        let count = if format == FORMAT_NEWEST { CONTENTS.len() } else { 2 };
        let expected = CONTENTS[..count].iter().map(|(name, select)| {
            let rows: Vec<mysql::Row> = c.query(*select).expect(select);
            (*name, rows.into_iter().map(shown).collect::<Vec<_>>())
        });
        let expected: Vec<(&str, Vec<String>)> = expected.collect();
        drop(c);
        // The log behind the newest checkpoint, after a death; then what stands in the files.
        server.kill();
        let Some(log) = read_by_the_pages(&server.data_dir(), true) else { return };
        assert!(!log.contains("row: insert of several") || format == FORMAT_NEWEST, "format {format} has rows of a run");
        logs.push_str(&log);
        server.restart();
        assert_eq!(server.stop(), Some(0));
        let read = read_by_the_pages(&server.data_dir(), false).expect("it ran before");
        assert!(read.starts_with(&format!("format {format}\n")), "{}", &read[..100.min(read.len())]);
        for (name, rows) in expected {
            let title = format!("\ntable d.{name}");
            let section = read.split(&title).nth(1).unwrap_or_else(|| panic!("format {format}: no table {name}"));
            let found = section.lines().skip(1).map_while(|line| line.strip_prefix("  "));
            for (no, (found, row)) in found.clone().zip(&rows).enumerate() {
                assert!(found == row, "format {format}, {name}, row {no}:\n{found}\n{row}");
            }
            assert_eq!(found.count(), rows.len(), "format {format}, {name}");
        }
        assert!(read.contains("table d.many (s: 2000)\n"), "entries of the secondary index");
        if format == FORMAT_NEWEST {
            for what in [
                "account somebody@localhost by ",
                "view d.v: select `d`.`many`.`id`",
                "next value of d.counted: 101\n",
                "prepared branch\n",
            ] {
                assert!(read.contains(&format!("\n{what}")), "no {what}");
            }
            assert!(!read.contains("\nundo: 0 records"), "the branch may be rolled back");
        }
    }
    for what in ["insert on ", "row: insert", "commit", "new page on ", "set owner on ", "next ids"] {
        assert!(logs.contains(what), "no {what} in any log");
    }
}
