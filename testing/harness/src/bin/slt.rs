//! `slt HOST:PORT [FILE|DIRECTORY]…`: runs SQL logic tests against a server that runs already (as root without password) and prints where it
//! answers differently. `UPDATE_EXPECT=1` writes its answers into the files; `SLT_PREPARED=1` sends prepared statements. `cargo xtask compare` calls it.

use harness::{Target, slt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("slt: {why}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<usize, String> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("usage: slt HOST:PORT [FILE|DIRECTORY]...")?;
    let mut target = Target::external(&address)?;
    let protocol = if std::env::var_os("SLT_PREPARED").is_some() { slt::Protocol::Prepared } else { slt::Protocol::Text };
    let mut roots: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    if roots.is_empty() {
        roots.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql"));
    }
    let (mut statements, mut files, mut different) = (0, 0, 0);
    for root in roots {
        for file in slt::files(&root).map_err(|e| format!("{}: {e}", root.display()))? {
            files += 1;
            match slt::run_file(&mut target, &file, slt::Mode::from_env(), protocol) {
                Ok(count) => statements += count,
                Err(differences) => {
                    different += 1;
                    println!("{differences}");
                }
            }
        }
    }
    println!("{files} files, {different} with differences; {statements} statements in the others");
    Ok(different)
}
