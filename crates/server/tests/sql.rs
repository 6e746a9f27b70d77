//! The SQL logic tests of `tests/sql`, all against one server process, as text and then as prepared statements.
//!
//! `SLT=part-of-a-path` runs only the files whose path contains it; `UPDATE_EXPECT=known` writes down where we answer otherwise than the files,
//! which hold MySQL's answers, say, and `UPDATE_EXPECT=1` our answers as they are.
//! `ALTIPLANO_TEST_SERVER=HOST:PORT` asks a server that runs already instead (a MySQL: `cargo xtask compare --with HOST:PORT`).

use harness::slt::{self, Mode, Protocol};
use harness::{Server, Target};
use std::path::Path;

#[test]
fn every_file_of_tests_sql_is_answered_as_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql").canonicalize().expect("tests/sql");
    let only = std::env::var("SLT").unwrap_or_default();
    let files: Vec<_> = slt::files(&root).expect("a directory").into_iter().filter(|f| f.to_string_lossy().contains(&only)).collect();
    let mut target = match std::env::var("ALTIPLANO_TEST_SERVER") {
        Ok(address) => Target::external(&address).unwrap_or_else(|why| panic!("{why}")),
        // The first login with a password makes an RSA key, which takes long in a build without optimisation on a busy machine.
        Err(_) => {
            Target::Own(Server::start(env!("CARGO_BIN_EXE_altiplano"), &["--set", "secure_file_priv=", "--set", "connect_timeout=300"]))
        }
    };
    let mode = Mode::from_env();
    let protocols: &[Protocol] = if mode == Mode::Check { &[Protocol::Text, Protocol::Prepared] } else { &[Protocol::Text] };
    let mut failures = Vec::new();
    let mut statements = 0;
    for protocol in protocols {
        for file in &files {
            match slt::run_file(&mut target, file, mode, *protocol) {
                Ok(count) => statements += count,
                Err(differences) => failures.push(format!("{protocol:?}:\n{differences}")),
            }
        }
    }
    println!("{statements} statements in {} files", files.len());
    assert!(failures.is_empty(), "{} files differ:\n{}", failures.len(), failures.join("\n"));
}
