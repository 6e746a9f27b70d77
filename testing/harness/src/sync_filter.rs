//! A program whose syncs take longer or fail, by a filter of system calls (`scripts/sync_filter.c`).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes to `dir` a program that is `program` under the filter with `settings` (`SYNC_DELAY_MS`, `SYNC_FAIL_WHEN`, `SYNC_FAIL_FILE`).
///
/// `None`, and a line on standard output that says why, where there is no C compiler or no right to filter.
pub fn with_sync_filter(program: &str, dir: &Path, settings: &[(&str, &str)]) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/sync_filter.c");
    let library = dir.join("sync_filter.so");
    let compiled = Command::new("cc").args(["-O2", "-shared", "-fPIC", "-pthread"]).arg(&source).arg("-o").arg(&library).output();
    if !compiled.as_ref().is_ok_and(|output| output.status.success()) {
        println!("left out: no C compiler here: {compiled:?}");
        return None;
    }
    let settings: String = settings.iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
    let script = dir.join("altiplano");
    let text = format!("#!/bin/sh\n{settings}LD_PRELOAD='{}' exec {program} \"$@\"\n", library.display());
    std::fs::write(&script, text).expect("a script in a directory of the test");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("made executable");
    // It says so where the filter is refused. A process that another thread has just forked may hold the script open for writing until it runs its own program.
    let output = loop {
        match Command::new(&script).arg("version").output() {
            Err(busy) if busy.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => break output.expect("the program runs"),
        }
    };
    if String::from_utf8_lossy(&output.stderr).contains("sync_filter:") {
        println!("left out: no right to filter system calls");
        return None;
    }
    Some(script)
}
