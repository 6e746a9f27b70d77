//! AUTO_INCREMENT with `innodb_autoinc_lock_mode` 0 and 1: the files of `tests/autoinc`, each folder against a server that was started so.

use harness::slt::{self, Mode, Protocol};
use harness::spec::{self, Place};
use harness::{Server, Target};
use std::path::Path;

/// Runs all files of a folder.
fn check(mode: &str, folder: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/autoinc").join(folder).canonicalize().expect("the folder");
    let setting = format!("innodb_autoinc_lock_mode={mode}");
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &["--set", &setting]);
    let place = Place::parse(&format!("127.0.0.1:{}", server.port()), "autoinc").expect("an address");
    for file in spec::files(&root).expect("a directory") {
        spec::run_file(&place, &file).unwrap_or_else(|why| panic!("{why}"));
    }
    let mut target = Target::Own(server);
    for protocol in [Protocol::Text, Protocol::Prepared] {
        for file in slt::files(&root).expect("a directory") {
            slt::run_file(&mut target, &file, Mode::Check, protocol).unwrap_or_else(|why| panic!("{protocol:?}:\n{why}"));
        }
    }
}

#[test]
fn traditional_inserts_have_the_lock_to_their_end() {
    check("0", "traditional");
}

#[test]
fn consecutive_bulk_inserts_have_the_lock_to_their_end() {
    check("1", "consecutive");
}
