//! `spec HOST:PORT FILE…`: runs isolation specs against a server that runs already (as root without password) and prints where it answers differently.
//! `UPDATE_EXPECT=1` writes its answers into the files.

use harness::spec::{self, Place};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let place = match arguments
        .next()
        .ok_or("usage: spec HOST:PORT FILE|DIRECTORY...".to_owned())
        .and_then(|at| Place::parse(&at, "altiplano_isolation"))
    {
        Ok(place) => place,
        Err(why) => {
            eprintln!("spec: {why}");
            return ExitCode::from(2);
        }
    };
    let mut different = 0;
    for root in arguments {
        let files = if root.ends_with(".spec") { Ok(vec![Path::new(&root).to_path_buf()]) } else { spec::files(Path::new(&root)) };
        for file in files.unwrap_or_default() {
            if let Err(why) = spec::run_file(&place, &file) {
                different += 1;
                println!("{why}");
            }
        }
    }
    if different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
