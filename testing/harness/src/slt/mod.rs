//! SQL logic tests: statements with their errors, row counts and results, as text.
//!
//! ```text
//! # description: what the file shows
//! statement ok                       statement that succeeds
//! statement count 2                  … and affects two rows
//! statement error 1062 23000         … or fails with this number and SQLSTATE, and this message where one follows after ----
//! query [rowsort] [names]            rows follow after ----, one a line, values separated by " | "; names: their columns' names first
//! connection NAME                    what follows runs on that connection (opened at first use, in the same database)
//! connection NAME USER [PASSWORD]    … as another user than root, with no database in use
//! disconnect NAME                    that connection is closed
//! send                               the statement runs on while the file goes on; the connection is busy until …
//! reap statement ok | reap query     … its answer is taken (any form of statement and query)
//! restart                            kill -9 and start again; all connections are opened anew
//! ```
//!
//! In a statement `$FILES` stands for how the paths of this run's files on the server's machine begin: `'$FILES-a.txt'`.
//!
//! Blocks are separated by blank lines. Each file runs in a fresh database. A line `# only: altiplano` at its top, or a place in `known/`,
//! keeps a file from being run against other servers. A line `# only: text` keeps it from being run by prepared statements: it is about what preparing
//! changes.
//!
//! Where Altiplano answers otherwise than MySQL, a block holds both: what stands before `---- mysql: DIRECTIVE` is Altiplano's present answer,
//! what follows is MySQL's. So every known difference is asserted on both servers and found by one search. [`Mode::Known`] writes such parts
//! (and removes those that are no longer needed) from files that hold MySQL's answers.
//!
//! In [`Mode::Update`] the answers are written into the file. A block without a directive is then plain SQL, statements ending in `;` at the
//! end of a line, and becomes blocks with directives: so a new file is written as SQL and completed by a MySQL.

mod block;
mod runner;
mod values;

pub use runner::{Mode, Protocol, run_file};

use std::path::{Path, PathBuf};

/// All `.slt` files below a directory (or the file itself), in order of their names.
pub fn files(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    if root.is_file() {
        return Ok(vec![root.into()]);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|e| e == "slt") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
