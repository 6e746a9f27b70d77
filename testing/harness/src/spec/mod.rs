//! Isolation specs: an explicit interleaving of the statements of several sessions, and what each of them is told.
//!
//! ```text
//! # What the file shows.
//! levels READ COMMITTED, REPEATABLE READ     the whole file runs once at each (without the line: REPEATABLE READ)
//! setup CREATE TABLE t (id INT PRIMARY KEY, v INT)
//!
//! a: BEGIN                                   session a (opened at its first step) runs a statement …
//!   ok                                       … and is told this: `ok`, `ok COUNT` after a change, `error NUMBER SQLSTATE`, rows
//! b: UPDATE t SET v = 2 WHERE id = 1
//!   waits                                    a lock is in the way: b answers later
//! a: COMMIT
//!   ok
//!   b: ok 1                                  … namely after this step
//! await b                                    b answers without another's help: its lock wait times out
//! close b                                    the client of b hangs up
//! repeat 100 a: UPDATE t SET v = v + 1       the last answer counts
//! ```
//!
//! `$b` in a statement is the connection id of b. Where the levels differ, lines begin with `RU| `, `RC| `, `RR| `, `SE| ` (SERIALIZABLE) or `SI| ` (SNAPSHOT ISOLATION,
//! REPEATABLE READ with `snapshot_isolation=ON`). With `UPDATE_EXPECT=1` what the
//! server answered is written into the file. Nothing sleeps: whether a statement waits or still works is asked of the server (`waits.rs`).

mod file;
mod runner;
mod session;
mod waits;

pub use file::{Level, SpecFile};
pub use runner::{Place, attempt};

use std::path::{Path, PathBuf};

/// All spec files under a directory, in order of their names.
pub fn files(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "spec") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Runs one file at all its levels; gives the count of steps. `Err` tells each difference.
pub fn run_file(place: &Place, path: &Path) -> Result<usize, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let spec = SpecFile::parse(&text).map_err(|e| format!("{}:{e}", path.display()))?;
    let mut answers = Vec::new();
    for level in &spec.levels {
        answers.push(runner::run(place, &spec, *level).map_err(|e| format!("{}, {}: {e}", path.display(), level.name()))?);
    }
    let written = spec.with_answers(&answers);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        if written != text {
            std::fs::write(path, written).map_err(|e| e.to_string())?;
        }
        return Ok(spec.step_count() * spec.levels.len());
    }
    let differences = file::differences(&text, &written);
    if differences.is_empty() { Ok(spec.step_count() * spec.levels.len()) } else { Err(format!("{}:\n{differences}", path.display())) }
}
