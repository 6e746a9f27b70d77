//! The isolation specs of `tests/isolation`, all against one server process.
//!
//! `SPEC=part-of-a-path` runs only the files whose path contains it; `UPDATE_EXPECT=1` writes the answers down;
//! `ALTIPLANO_TEST_SERVER=HOST:PORT` asks a server that runs already instead (a MySQL). What lies under `known` is where MySQL answers
//! otherwise, and no MySQL has the level of `hermitage_snapshot_isolation`: they are asked of Altiplano only.

use harness::Server;
use harness::spec::{self, Place};
use std::path::Path;

/// Directories that only Altiplano answers so.
const OWN: [&str; 2] = ["known", "hermitage_snapshot_isolation"];

#[test]
fn every_interleaving_of_tests_isolation_is_answered_as_it_says() {
    run_all(&[]);
}

/// The same where sessions share threads, and some wait for rows without one.
#[test]
fn it_is_so_with_shared_threads() {
    if std::env::var("ALTIPLANO_TEST_SERVER").is_err() {
        run_all(&["--set", "altiplano_shared_threads_from=0"]);
    }
}

fn run_all(arguments: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/isolation").canonicalize().expect("tests/isolation");
    let only = std::env::var("SPEC").unwrap_or_default();
    let external = std::env::var("ALTIPLANO_TEST_SERVER").ok();
    let server = external.is_none().then(|| Server::start(env!("CARGO_BIN_EXE_altiplano"), arguments));
    let address = external.clone().unwrap_or_else(|| format!("127.0.0.1:{}", server.as_ref().map_or(0, Server::port)));
    let place = Place::parse(&address, "altiplano_isolation").unwrap_or_else(|why| panic!("{why}"));
    let mut failures = Vec::new();
    let (mut steps, mut count) = (0, 0);
    for file in spec::files(&root).expect("the directory can be read") {
        let inside = file.strip_prefix(&root).expect("found below it");
        if !file.to_string_lossy().contains(&only) || (external.is_some() && OWN.iter().any(|own| inside.starts_with(own))) {
            continue;
        }
        count += 1;
        match spec::run_file(&place, &file) {
            Ok(done) => steps += done,
            Err(why) => failures.push(why),
        }
    }
    println!("{steps} steps in {count} files");
    assert!(failures.is_empty(), "{} files differ:\n{}", failures.len(), failures.join("\n"));
}
