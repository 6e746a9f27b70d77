//! Files on the server's disk: where `secure_file_priv` lets statements read and write, who may, and that neither way takes memory by a file's length.

use harness::Server;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};
use std::io::Write;
use std::path::Path;

fn start(place: Option<&Path>) -> Server {
    let setting = place.map(|place| format!("secure_file_priv={}", place.display()));
    let arguments: Vec<&str> = setting.iter().flat_map(|setting| ["--set", setting.as_str()]).collect();
    Server::start(env!("CARGO_BIN_EXE_altiplano"), &arguments)
}

fn code(result: mysql::Result<()>) -> u16 {
    match result {
        Err(mysql::Error::MySqlError(error)) => error.code,
        other => panic!("no error of the server: {other:?}"),
    }
}

#[test]
fn without_a_place_nobody_reads_or_writes_files() {
    let server = start(None);
    let mut root = server.connect();
    assert_eq!(root.query_first::<Option<String>, _>("SELECT @@secure_file_priv").expect("answers"), Some(None));
    root.query_drop("CREATE DATABASE d; CREATE TABLE d.t (i INT)").expect("made");
    let path = server.data_dir().join("f");
    assert_eq!(code(root.query_drop(format!("SELECT 1 INTO OUTFILE '{}'", path.display()))), 1290);
    assert_eq!(code(root.query_drop("LOAD DATA INFILE '/etc/hostname' INTO TABLE d.t")), 1290);
    assert_eq!(root.query_first::<Option<String>, _>("SELECT LOAD_FILE('/etc/hostname')").expect("answers"), Some(None));
}

#[test]
fn files_lie_below_the_place_and_take_the_privilege() {
    let outside = tempfile::tempdir().expect("a directory");
    let place = outside.path().join("place");
    std::fs::create_dir_all(place.join("deep")).expect("made");
    std::fs::write(outside.path().join("secret"), "1\n").expect("written");
    std::os::unix::fs::symlink(outside.path().join("secret"), place.join("link")).expect("linked");
    std::os::unix::fs::symlink(outside.path(), place.join("up")).expect("linked");
    let server = start(Some(&place));
    let mut root = server.connect();
    root.query_drop("CREATE DATABASE d; CREATE TABLE d.t (i INT)").expect("made");
    let shown: String = root.query_first("SELECT @@secure_file_priv").expect("answers").expect("a row");
    assert_eq!(Path::new(&shown), std::fs::canonicalize(&place).expect("there"));
    let place = place.display();
    root.query_drop(format!("SELECT 7 INTO OUTFILE '{place}/deep/f'")).expect("written");
    root.query_drop(format!("LOAD DATA INFILE '{place}/deep/../deep/f' INTO TABLE d.t")).expect("read");
    assert_eq!(root.query_first::<i32, _>("SELECT i FROM d.t").expect("answers"), Some(7));
    for outside in ["../secret", "link", "up/secret", "../place/../secret"] {
        assert_eq!(code(root.query_drop(format!("LOAD DATA INFILE '{place}/{outside}' INTO TABLE d.t"))), 1290, "{outside}");
        let content = root.query_first::<Option<String>, _>(format!("SELECT LOAD_FILE('{place}/{outside}')"));
        assert_eq!(content.expect("answers"), Some(None), "{outside}");
    }
    for outside in ["../new", "up/new", "deep/../../new"] {
        assert_eq!(code(root.query_drop(format!("SELECT 1 INTO OUTFILE '{place}/{outside}'"))), 1290, "{outside}");
    }
    assert_eq!(code(root.query_drop(format!("LOAD DATA INFILE '{place}/absent' INTO TABLE d.t"))), 13);
    assert_eq!(code(root.query_drop(format!("SELECT 1 INTO OUTFILE '{place}/absent/f'"))), 1);
    // A dangling link is there already, and nothing is made behind it.
    std::os::unix::fs::symlink("nowhere", format!("{place}/dangling")).expect("linked");
    assert_eq!(code(root.query_drop(format!("SELECT 1 INTO OUTFILE '{place}/dangling'"))), 1086);
    // What fails leaves nothing behind.
    assert_eq!(code(root.query_drop(format!("SELECT i, (SELECT 1 UNION SELECT i) FROM d.t INTO OUTFILE '{place}/half'"))), 1242);
    assert!(!Path::new(&format!("{place}/half")).exists());
    root.query_drop("CREATE USER u IDENTIFIED BY 'p'; GRANT ALL ON d.* TO u").expect("made");
    let options: Opts = OptsBuilder::from_opts(server.options(Some("d"))).user(Some("u")).pass(Some("p")).into();
    let mut user = Conn::new(options.clone()).expect("a connection");
    assert_eq!(code(user.query_drop(format!("SELECT 1 INTO OUTFILE '{place}/u'"))), 1227);
    assert_eq!(code(user.query_drop(format!("LOAD DATA INFILE '{place}/deep/f' INTO TABLE t"))), 1045);
    assert_eq!(user.query_first::<Option<String>, _>(format!("SELECT LOAD_FILE('{place}/deep/f')")).expect("answers"), Some(None));
    root.query_drop("GRANT FILE ON *.* TO u").expect("granted");
    let mut user = Conn::new(options).expect("a connection");
    user.query_drop(format!("SELECT 1 INTO OUTFILE '{place}/u'")).expect("written");
    assert_eq!(user.query_first::<String, _>(format!("SELECT LOAD_FILE('{place}/u')")).expect("answers").as_deref(), Some("1\n"));
}

#[test]
fn files_of_any_length_are_read_and_written_by_several_sessions_at_once() {
    const ROWS: u32 = 60_000;
    let place = tempfile::tempdir().expect("a directory");
    let server = start(Some(place.path()));
    let mut root = server.connect();
    root.query_drop("CREATE DATABASE d; SET GLOBAL connection_memory_limit = 2097152").expect("made");
    let source = place.path().join("rows");
    let mut out = std::io::BufWriter::new(std::fs::File::create(&source).expect("made"));
    for row in 0..ROWS {
        writeln!(out, "{row}\t{}", "x".repeat(200)).expect("written");
    }
    out.flush().expect("written");
    assert!(source.metadata().expect("there").len() > 4 * 2_097_152);
    let loads: Vec<_> = (0..3)
        .map(|no| {
            let options = server.options(Some("d"));
            let source = source.clone();
            let copy = place.path().join(format!("copy{no}"));
            std::thread::spawn(move || {
                let mut c = Conn::new(options).expect("a connection");
                c.query_drop(format!("CREATE TABLE t{no} (i INT PRIMARY KEY, s VARCHAR(200))")).expect("made");
                let load = c.query_iter(format!("LOAD DATA INFILE '{}' INTO TABLE t{no}", source.display())).expect("loaded");
                assert_eq!(load.affected_rows(), u64::from(ROWS));
                assert_eq!(load.info_str(), "Records: 60000  Deleted: 0  Skipped: 0  Warnings: 0");
                drop(load);
                c.query_drop(format!("SELECT * FROM t{no} ORDER BY i INTO OUTFILE '{}'", copy.display())).expect("written");
                assert!(std::fs::read(&copy).expect("there") == std::fs::read(&source).expect("there"));
            })
        })
        .collect();
    for load in loads {
        load.join().expect("a session without an error");
    }
}
