//! `altiplano salvage DIR --to FILE`: what can be read of a data directory, as SQL.

use super::progress::{self, ProgressLine};
use check::{Report, SalvageReport, Source};
use clap::Args;
use env::ReadOnlyDisk;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Options of `salvage`.
#[derive(Debug, Args)]
pub struct SalvageOptions {
    /// The data directory; nothing in it is changed
    pub dir: PathBuf,
    /// Where the SQL goes, a file that there is not yet; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
    /// Where recovery writes what it would change: room for about what the log holds [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR")]
    pub temp: Option<PathBuf>,
}

/// Salvages; 0 when all could be read, 1 when something is missing in the output, 2 when there is none.
pub fn run(options: &SalvageOptions) -> ExitCode {
    let progress = Arc::new(ProgressLine::on_terminal());
    let report = progress::report(&progress, |finding| eprintln!("{finding}"));
    let salvaged = write(options, &report);
    progress.clear();
    match salvaged {
        Ok(done) => {
            let broken = if done.rows_broken > 0 { format!(", {} rows could not be read", done.rows_broken) } else { String::new() };
            let lost = if done.pages_lost > 0 { format!(", {} pages could not be read", done.pages_lost) } else { String::new() };
            eprintln!("{} tables, {} rows{broken}{lost}", done.tables, done.rows);
            ExitCode::from(u8::from(report.errors() > 0))
        }
        Err(error) => {
            eprintln!("altiplano: {error}");
            ExitCode::from(2)
        }
    }
}

fn write(options: &SalvageOptions, report: &Report) -> Result<SalvageReport, Box<dyn std::error::Error>> {
    let disk = ReadOnlyDisk::open(&options.dir).map_err(|error| format!("{}: {error}", options.dir.display()))?;
    let scratch = options.temp.clone().unwrap_or_else(std::env::temp_dir);
    let source = Source { disk: Arc::new(disk), scratch: &scratch };
    let mut out: Box<dyn Write> = if options.to == Path::new("-") {
        Box::new(std::io::stdout().lock())
    } else {
        let file = File::create_new(&options.to).map_err(|error| format!("{}: {error}", options.to.display()))?;
        Box::new(file)
    };
    let mut buffered = BufWriter::with_capacity(1 << 20, &mut out);
    let done = check::salvage(&source, &session::create_table_text, &mut buffered, report)?;
    buffered.flush()?;
    Ok(done)
}
